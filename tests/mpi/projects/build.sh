#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: build.sh cmake|meson|pkg-config|installed BUILD PREFIX yes|no [MAN]
# A small project, configured as a user would with this build in front of PATH, built, and run on 3 ranks; with the
# Fortran program if "yes". installed: with what `meson install` puts into an empty place.
set -eu
system=$1 build=$(realpath "$2") prefix=$3 fortran=$4 man=${5:-}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

# The wrappers of this build, whatever other MPI library the machine has.
PATH=$build:$PATH
export PATH
unset LD_LIBRARY_PATH MPICC MPICXX MPIFC MPIF90 MPIF77 MPI_HOME OMPI_CC OMPI_CXX OMPI_FC

programs='hello.c hello.cxx'
[ "$fortran" = no ] || programs="$programs hello.f90"

# run [env NAME=VALUE]: the program, on 3 ranks.
run() {
    timeout 60 "$@" mpiexec -n 3 "$work/program" >"$work/out.txt" </dev/null
    grep '3 ranks, sum 3' "$work/out.txt"
}

# compile_and_run C_FLAGS C_LIBS FORTRAN_FLAGS FORTRAN_LIBS LIB_DIR: all programs, without a wrapper.
compile_and_run() {
    for source in $programs; do
        # shellcheck disable=SC2086 # flags are words
        case $source in
        *.c) cc $1 "$here/$source" -o "$work/program" $2 ;;
        *.cxx) c++ $1 "$here/$source" -o "$work/program" $2 ;;
        *.f90) gfortran $3 "$here/$source" -o "$work/program" $4 ;;
        esac
        run env LD_LIBRARY_PATH="$5"
    done
}

case $system in
cmake)
    command -v cmake >/dev/null || skip 'cmake is missing: apt install cmake'
    cmake -G Ninja -S "$here" -B "$work/out" -DWITH_FORTRAN="$fortran" >"$work/log" || { cat "$work/log"; exit 1; }
    cmake --build "$work/out"
    cd "$work/out"
    ctest --output-on-failure
    ;;
meson)
    command -v meson >/dev/null || skip 'meson is missing: apt install meson'
    meson setup -Dwith_fortran="$([ "$fortran" = yes ] && echo true || echo false)" "$work/out" "$here"
    meson test -C "$work/out" --print-errorlogs
    ;;
pkg-config)
    PKG_CONFIG_PATH=$build/meson-uninstalled
    export PKG_CONFIG_PATH
    compile_and_run "$(pkg-config --cflags mpi_offload)" "$(pkg-config --libs mpi_offload)" \
        "$(pkg-config --cflags mpi_offload_fortran)" "$(pkg-config --libs mpi_offload_fortran)" "$build"
    ;;
installed)
    DESTDIR=$work/root meson install -C "$build" --no-rebuild --quiet
    # Prefixes are known when a build is configured; this place is not: the files are told it.
    find "$work/root" \( -name 'mpi*' -o -name '*.pc' \) -type f ! -name '*.so*' ! -name '*.h' ! -name '*.mod' \
        -exec sed -i "s|$prefix/|$work/root$prefix/|g; s|=$prefix\$|=$work/root$prefix|" {} +
    PATH=$work/root$prefix/bin:$PATH
    for source in $programs; do
        case $source in *.c) wrapper=mpicc ;; *.cxx) wrapper=mpicxx ;; *) wrapper=mpifort ;; esac
        "$wrapper" "$here/$source" -o "$work/program"
        ldd "$work/program" | grep libmpi_offload | grep -q "$work/root"
        run
    done
    # By the standard's name, without a word of where that library lies: nof run knows.
    lib_dir=$(mpicc -showme:libdirs)
    # shellcheck disable=SC2046 # flags are words
    cc $(mpicc_abi -showme:compile) "$here/hello.c" -o "$work/program" -L"$lib_dir" -lmpi_abi
    run
    # The unit's program is there, and systemd understands every line.
    unit=$work/root$prefix/lib/systemd/system/nofd.service
    sed -i "s|$prefix/bin|$work/root&|" "$unit"
    said=$(grep -o "^ExecStart=$work/root$prefix/bin/nofd" "$unit")
    test -x "${said#*=}"
    ! command -v systemd-analyze >/dev/null || test -z "$(systemd-analyze verify --man=no "$unit" 2>&1)"
    [ -z "$man" ] || grep -q 'udp.-port' "$work/root$man/man8/nofd.8"
    [ -z "$man" ] || grep -q schedule "$work/root$man/man1/nof.1"
    ;;
esac
