#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: corpus.py GCC PLUGIN INCLUDE SOURCE... | none REASON: what the plug-in says of each marked line, and what programs built
with it compute.

Each source is built at -O1, -O2 and -O3, without and with the plug-in, and at -O0 and -Og, where all must be refused. A comment
`delta: TEXT: MORE` (of Fortran: ! and the same) behind a begin or receive wants a line of the report with TEXT and MORE; a
line without one wants none. The mock library ends a program that breaks a claim. What both programs print must be the same.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = ("-O0", "-O1", "-O2", "-O3")
MARK = re.compile(r"(?:/\*|!) delta: (not pipelined|pipelined): (.*?)(?: \*/|$)")


def call(command, **how):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **how)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def wanted(source):
    lines = source.read_text().split("\n")
    return {number: MARK.findall(line) for number, line in enumerate(lines, 1) if MARK.search(line)}


def said(report, source):
    found = {}
    for line in report.read_text().split("\n") if report.exists() else []:
        match = re.match(r"(.*?):(\d+): delta: (not pipelined|pipelined): (.*)", line)
        if match and pathlib.Path(match.group(1)).name == source.name:
            found.setdefault(int(match.group(2)), []).append((match.group(3), match.group(4)))
    return found


def compare(source, level, marks, found):
    for line in sorted(set(marks) | set(found)):
        for kind, text in marks.get(line, []):
            if not any(kind == k and text in t for k, t in found.get(line, [])):
                sys.exit(f"{source}:{line} at {level}: wants '{kind}: {text}', has {found.get(line)}")
        for kind, text in found.get(line, []):
            if not any(kind == k for k, _ in marks.get(line, [])):
                sys.exit(f"{source}:{line} at {level}: '{kind}: {text}', which nothing wants")


def judge(gcc, plugin, include, source, level, mock, folder):
    marks = wanted(source)
    name = folder / f"{source.stem}{level}"
    report = name.with_suffix(".report")
    flags = [level, "-w", "-ffp-contract=off"] + (["-fchecking", "-g"] if level == "-O2" else []) + [ f"-I{HERE}", f"-I{include}"]
    with_plugin = [f"-fplugin={plugin}", f"-fplugin-arg-gcc_delta-report={report}"]
    libraries = ["-lm"] + {".cc": ["-lstdc++"], ".f90": ["-lgfortran"]}.get(source.suffix, [])
    if source.suffix == ".f90":
        call(gcc + ["-O1", f"-I{HERE}", f"-I{include}", "-c", HERE / "fortran_run.c", "-o", f"{name}.run.o"])
        libraries = [f"{name}.run.o"] + libraries
        flags += ["-fallow-argument-mismatch", f"-J{name.with_suffix('.modules')}"]
        name.with_suffix(".modules").mkdir()
    call(gcc + flags + with_plugin + ["-c", source, "-o", f"{name}.o"])
    call(gcc + [f"{name}.o", mock, *libraries, "-o", f"{name}.delta"])
    if level in ("-O0", "-Og"):
        marks = {line: [("not pipelined", "needs -O1 or more")] for line in marks}
    compare(source, level, marks, said(report, source))
    call(gcc + flags + [source, mock, *libraries, "-o", f"{name}.plain"])
    # At these levels every receive must have become one that has come when it returns: a lazy library shows it.
    argument = "lazy" if level in ("-O0", "-Og") else "plugged"
    outputs = [[line for line in call([program, *arguments], cwd=folder).split("\n") if not line.startswith("#")]
               for program, arguments in ((f"{name}.plain", []), (f"{name}.delta", [argument]))]
    for plain, plugged in zip(*outputs):
        if plain != plugged:
            sys.exit(f"{source} at {level}: without the plug-in\n{plain}\nwith it\n{plugged}")
    if len(outputs[0]) != len(outputs[1]):
        sys.exit(f"{source} at {level}: one program prints more than the other")
    return sum(map(len, marks.values()))


def main():
    if sys.argv[1] == "none":
        print(f"skipped: {sys.argv[2]}")
        sys.exit(77)
    gcc, plugin, include = sys.argv[1].split(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    if not plugin.exists():
        sys.exit(f"{plugin} is not there")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mock = folder / "mock.o"
        call(gcc + ["-O1", f"-I{include}", "-c", HERE / "delta_mock.c", "-o", mock])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(judge, gcc, plugin, include, pathlib.Path(source), level, mock, folder)
                    for source in sys.argv[4:] for level in LEVELS + ("-Og",) * ("transform" in source)]
            marks = sum(job.result() for job in jobs)
    print(f"{marks} lines judged as wanted")
    if marks == 0:
        sys.exit("nothing was judged")


main()
