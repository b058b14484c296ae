#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What README.md and the guides beside it show works: their commands, in their order, beside BUILD, or beside a build that
tools/quickstart made, with which nothing is measured.

usage: readme.py SOURCE_ROOT [BUILD]

Left out: what needs a daemon that stays, Slurm, or the whole proof. What takes long is told to do less of the same."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

# Commands that begin so are for other places; the reason is printed.
ELSEWHERE = {
    "tools/": "has its own test: this one began with quickstart",
    "srun": "needs Slurm",
    "build/nof up": "a daemon that stays", "build/nof down": "a daemon that stays", "build/nof status": "a daemon that stays",
    "build/nof stats": "a daemon that stays", "build/nof features": "a daemon that stays",
    "build/nof set": "a daemon that stays", "build/nof run --nofd": "a daemon that stays",
    "build/nof bind": "needs a NIC to spare",
    "build/nof bench staging": "benches_all, in suite full, has it",
}
LESS = {"--seeds 200": "--seeds 5", "--sizes 64,1k,64k": "--sizes 1k",
        "--hosts 29 --switches 2": "--hosts 8 --switches 2 --sizes 1k", "--sim-hosts 8": "--sim-hosts 2",
        "bench alltoall": "bench alltoall --runs=1 --ms=1", "bench coll": "bench coll --runs=1 --ms=1 --sizes=64 --only=alltoall,scatterv"}
PROGRAMS = {"hello.c": "hello.c", "hello.cxx": "hello.cc", "hello.f90": "hello.f90"}
PATIENCE_S = 600
PAGES = ("README.md", "docs/CHANNELS.md", "docs/COLLECTIVES.md")


def commands(readme):
    """The lines of README's blocks that are commands, without their comments."""
    for line in readme.read_text(encoding="utf-8").splitlines():
        found = re.match(r" {4}((?:[a-z./]+) .*|\./\w+\b.*)$", line)
        if found:
            yield re.sub(r"\s+#.*", "", found[1]).strip()


def run(command, where, env):
    process = subprocess.Popen(command, shell=True, cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", start_new_session=True)
    try:
        out, _ = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"a page shows `{command}`, which did not end")
    if process.returncode != 0:
        sys.exit(f"a page shows `{command}`, which ended with {process.returncode}:\n{out[-4000:]}")


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    missing = subprocess.run([source / "tools/quickstart", "--missing"], stdout=subprocess.PIPE, check=True,
                             encoding="ascii").stdout.strip()
    if missing:
        print(f"skipped: tools/quickstart would install {missing}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        place = pathlib.Path(work)
        env = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "LD_", "MESON"))}
        env.update(NOF_BUILD_DIR=str(place / "build"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
        if len(sys.argv) > 2:
            (place / "build").symlink_to(pathlib.Path(sys.argv[2]).resolve())
        else:
            run(str(source / "tools/quickstart"), source, env)
        (place / "tests").symlink_to(source / "tests")
        for original, name in PROGRAMS.items():
            shutil.copy(source / "tests/mpi/projects" / original, place / name)
        shown = 0
        for command in (command for page in PAGES for command in commands(source / page)):
            why = next((why for start, why in ELSEWHERE.items() if command.startswith(start)), "")
            if not why and len(sys.argv) == 2 and re.match("build/nof (bench|sim)|env NOF_COLL_TABLE", command):
                why = "beside BUILD"
            if not why and not command.startswith(("build/", "./")) and shutil.which(command.split()[0]) is None:
                why = "not installed here"
            if why:
                print(f"left out: {command} ({why})")
                continue
            for much, less in LESS.items():
                command = command.replace(much, less)
            print(f"$ {command}", flush=True)
            run(command, place, env)
            shown += 1
        # Those that need root or another MPI are not in README's blocks, and began with a refusal all the same.
        for name in ("mpi_stream", "mpi_messages", "staging_mpi", "pt2pt_mpi", "idle_mpi", "overlap_mpi"):
            if not os.access(place / "build/bench" / name, os.X_OK):
                sys.exit(f"quickstart did not build bench/{name}, without which a bench refuses")
        if shown < 20:
            sys.exit(f"only {shown} commands of the pages were found: has its form changed?")


main()
