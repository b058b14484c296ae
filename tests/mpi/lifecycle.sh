#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: lifecycle.sh NOF LIFECYCLE
# MPI used before MPI_Init, after MPI_Finalize, twice, in a fork's child; MPI_Abort; errors that are fatal; and
# launchers that cannot be spoken to. Each is one clear sentence and an exit code, alone and under nof run.
set -eu
nof=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect CODE TEXT COMMAND...: exit code (! for any but 0; 255 is what mpiexec.hydra makes of it), and TEXT in what it says.
expect() {
    want=$1 text=$2
    shift 2
    timeout -k 5 60 "$@" >"$work/out" 2>&1 </dev/null && code=0 || code=$?
    if [ "$want" = '!' ] && [ "$code" -ne 0 ] && { [ "$code" -lt 124 ] || [ "$code" -eq 255 ]; }; then
        want=$code
    fi
    # The file ends with a line of its own, so that an empty text is found in it.
    echo >>"$work/out"
    if [ "$code" -ne "$want" ] || ! grep -q -e "$text" "$work/out"; then
        echo "$*: exit code $code (not $want), or it does not say \"$text\":" >&2
        cat "$work/out" >&2
        exit 1
    fi
}

for launcher in "" "$nof run --hosts 2 -n 2"; do
    expect 0 '' $launcher "$program"
    expect '!' 'MPI_Comm_rank was called before MPI_Init' $launcher "$program" before
    expect '!' 'MPI_Send was called before MPI_Init' $launcher "$program" send-before
    expect '!' 'MPI_Init was called twice' $launcher "$program" twice
    expect '!' 'MPI_Barrier was called after MPI_Finalize' $launcher "$program" after
    expect '!' 'MPI_Init was called after MPI_Finalize' $launcher "$program" again
    expect 42 'MPI_Abort(MPI_COMM_WORLD, 42)' $launcher "$program" abort
    expect 42 'MPI_Abort(MPI_COMM_WORLD, 42)' $launcher "$program" abort-reading
    expect '!' 'MPI_Send: MPI_ERR_RANK.*99' $launcher "$program" fatal
    expect '!' 'MPI_ERR_COMM' $launcher "$program" fatal-self
    expect 1 'in a child made by fork' $launcher "$program" fork
    expect 0 '' $launcher "$program" fork-busy
done
# A launcher that hears of an end in MPI_Init: not of a child's.
expect 0 'MPI_Init was called' "$nof" run --hosts 2 -n 2 sh -c 'unset NOF_JOB_ID NOF_JOB_KEY; exec "$0" fork-init' "$program"
expect '!' 'this program has closed descriptor' "$nof" run --hosts 2 -n 2 "$program" close-all

# Launchers that cannot be spoken to.
expect '!' 'Open MPI' env OMPI_COMM_WORLD_RANK=0 "$program"
expect '!' 'PMIx' env PMIX_RANK=0 PMIX_NAMESPACE=nobody "$program"
expect '!' 'Cray PALS' env PALS_RANKID=0 "$program"
expect '!' 'no PMI_FD' env PMI_RANK=0 PMI_SIZE=2 "$program"
expect 0 '' env PMI_RANK=0 PMI_SIZE=1 "$program"
expect '!' 'srun without PMI' env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$program"
expect 0 '' env SLURM_PROCID=0 "$program"
expect 0 '' env PALS_RANKID=0 NOF_LAUNCH=singleton "$program"
expect '!' 'pmi1 pmi2' env NOF_LAUNCH=nonsense "$program"
expect '!' 'PMI-1' env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 "$program"
expect '!' 'PMI-1' env PMI_FD=x PMI_RANK=0 PMI_SIZE=2 "$program"
expect '!' 'pairwise, barrier' env PALS_RANKID=0 NOF_LAUNCH=singleton NOF_ALLTOALL=nonsense "$program"
printf 'alltoall 1 64K pairwise\nalltoall 1 any brook\n' >"$work/table"
expect '!' "$work/table:2: 'brook' is no algorithm of alltoall: write one of bruck" \
    env PALS_RANKID=0 NOF_LAUNCH=singleton NOF_COLL_TABLE="$work/table" "$program"
expect '!' 'NOF_COLL_TABLE=/nowhere: No such file' \
    env PALS_RANKID=0 NOF_LAUNCH=singleton NOF_COLL_TABLE=/nowhere "$program"
expect '!' 'PMI-2' env NOF_LAUNCH=pmi2 PMI_FD=77 PMI_RANK=0 "$program"
expect '!' 'NOF_JOB_KEY' env NOF_SOCKET=@nobody-listens-here NOF_JOB_ID=1 "$program"
expect '!' 'nof' env NOF_SOCKET=@nobody-listens-here "$program"
expect '!' 'NOF_NIC is "two"' env NOF_SOCKET=@nobody-listens-here NOF_NIC=two "$program"
expect '!' 'NOF_SPIN_US=20us' env NOF_SPIN_US=20us "$program"
expect '!' 'NOF_SPIN_US=-1' env NOF_SPIN_US=-1 "$program"
