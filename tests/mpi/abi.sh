#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: abi.sh BUILD NOF SOURCE_ROOT
# libmpi_abi is what the standard says (MPI 5.0, chapter 20): a program that knows the ABI and no header of ours, linked
# to a stub of another implementation, starts unchanged with `nof run`; one that mpicc_abi built needs libmpi_abi.so.1
# and no other library of ours; all functions of mpi.h are exported.
set -eu
build=$(realpath "$1") nof=$(realpath "$2") root=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset LD_LIBRARY_PATH

# The stub: every function that the program calls, none of which works.
sed -n 's/^[a-z]* \(MPI_[A-Za-z_]*\)(.*/\1/p' "$root/tests/mpi/abi_foreign.c" | sort -u |
    sed 's/.*/int &(void);\nint &(void) { __builtin_abort(); }/' >stub.c
[ "$(grep -c abort stub.c)" -ge 20 ]
for soname in libmpi_abi.so.1 libmpi_abi.so.0; do
    mkdir stub
    cc -shared -fPIC -Wl,-soname,$soname stub.c -o stub/$soname
    ln -s $soname stub/libmpi_abi.so
    cc -Wall -Wextra -Werror "$root/tests/mpi/abi_foreign.c" -o foreign -Lstub -lmpi_abi
    readelf -d foreign | grep -q "NEEDED.*$soname"
    # As it is, with its implementation's folder in the environment, and with that folder in the program.
    timeout 60 "$nof" run --hosts 2 -n 2 ./foreign </dev/null
    LD_LIBRARY_PATH=$work/stub timeout 60 "$nof" run --hosts 2 -n 2 ./foreign </dev/null
    cc "$root/tests/mpi/abi_foreign.c" -o foreign -Lstub -lmpi_abi -Wl,-rpath,"$work/stub" -Wl,--enable-new-dtags
    timeout 60 "$nof" run --hosts 2 -n 2 ./foreign </dev/null
    rm -r stub
done

"$build/mpicc_abi" "$root/tests/mpi/abi_foreign.c" -o ours
readelf -d ours | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | sort >needed
printf 'libc.so.6\nlibmpi_abi.so.1\n' | diff - needed
timeout 60 "$nof" run --hosts 2 -n 2 ./ours </dev/null

# What is not in the ABI is not declared: Fortran's integers in C, and what MPI-3.0 removed.
printf '#include <mpi.h>\nint x(void);\nint x(void) { return MPI_Comm_toint(MPI_COMM_WORLD); }\n' >good.c
printf '#include <mpi.h>\nint x(void);\nint x(void) { return MPI_Comm_c2f(MPI_COMM_WORLD); }\n' >bad.c
"$build/mpicc_abi" -Werror=implicit-function-declaration -c good.c
if "$build/mpicc_abi" -Werror=implicit-function-declaration -c bad.c 2>/dev/null; then
    echo 'mpicc_abi declares MPI_Comm_c2f, which the ABI has not' >&2
    exit 1
fi

for library in libmpi_offload.so libmpi_abi.so; do
    nm -D --defined-only "$build/$library" | awk '{print $3}' | sort >"$library"
done
diff libmpi_offload.so libmpi_abi.so
