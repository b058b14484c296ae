#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: random_nests.py GCC PLUGIN INCLUDE FIRST COUNT [FLAG...] | none REASON: programs drawn from seeds FIRST to FIRST+COUNT-1.

FLAGs go behind the level that the seed chooses. A program is a function with receives, sends and nests of loops over arrays that
may overlap, called with other numbers each time. Built with and without the plug-in, it must compute the same, over a library
that ends it when a claim is broken.
"""
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PER_FILE = 25
LEVELS = ("-O1", "-O2", "-O3")
# gcc 12.2 alone, at -O3, unrolls the inner loop that stores to a[2*j + 5*i + 700] (seed 1251: j by 3, i from 1 to 14), deals what it
# has unrolled over several loops of j, and stores in the wrong order.
DISTRIBUTION = "-fno-tree-loop-distribution"
STRIPS = (64, 1, 1024, 200)  # bytes
ROOM = 4000  # elements behind each pointer


class Loop:
    def __init__(self, draw, depth, outer):
        self.name = f"i{depth}"
        self.type = draw.choice(("int", "int", "int", "long", "unsigned", "size_t"))
        self.step = draw.choice((1, 1, 1, 2, 3))
        self.down = draw.random() < 0.2
        self.first = draw.choice((0, 0, 1, 2))
        self.outer = outer[-1] if outer else None
        self.triangular = bool(outer) and draw.random() < 0.1 and outer[-1].most < 40
        self.bound = draw.choice(("n", "m", "n - 1", "m + 2")) if draw.random() < 0.6 else str(draw.randint(3, 200 if depth == 0 else 40))
        self.most = 0

    def range(self, values):
        """Highest value that the variable can have."""
        end = self.outer.most + 1 if self.triangular else eval(self.bound, {}, values)
        self.most = max(end, self.first + 1)
        return self.most

    def header(self, outer):
        end = f"({self.type})({self.bound})"
        if self.triangular:
            end = f"({self.type})({outer[-1].name} + 1)"
        if self.down:
            return f"for ({self.type} {self.name} = {end}; {self.name}-- > {self.first};)"
        return f"for ({self.type} {self.name} = {self.first}; {self.name} < {end}; {self.name} += {self.step})"


class Program:
    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.seed = seed
        self.values = {"n": self.draw.randint(4, 60), "m": self.draw.randint(3, 40)}
        if self.draw.random() < 0.4:
            self.values["n"] = self.draw.randint(100, 1500)
        self.lines = []
        self.requests = 0

    def index(self, loops):
        """An index inside the room, as text; most are rows, or at least forward."""
        draw = self.draw
        for _ in range(50):
            kind = draw.random()
            terms, most = [], 0
            row = 1
            for loop in reversed(loops):
                width = loop.most + draw.choice((0, 0, 0, 1))
                factor = {True: row, False: draw.choice((0, 1, 2, 5))}[kind < 0.75]
                if factor and draw.random() < 0.08:
                    terms.append(f"({loop.most} - (int){loop.name}) * {factor}")
                    most += factor * loop.most
                elif factor:
                    terms.append(loop.name if factor == 1 else self.product(loop, loops, factor, kind))
                    most += factor * loop.most
                row = row * max(width, 1)
            shift = draw.choice((0, 0, 0, 1, 3, 50, 700))
            if most + shift < ROOM and terms:
                return " + ".join(terms[::-1] + ([str(shift)] if shift else []))
            loops = loops[1:] or loops
        return "0"

    def product(self, loop, loops, factor, kind):
        inner = loops[loops.index(loop) + 1:]
        if kind < 0.5 and len(inner) == 1 and inner[0].bound in ("n", "m") and not inner[0].triangular and factor == inner[0].most:
            return f"{loop.name} * {inner[0].bound}"
        return f"{loop.name} * {factor}"

    def value(self, loops):
        draw = self.draw
        read = f"{draw.choice('abcabcg')}[{self.index(loops)}]"
        if draw.random() < 0.05:
            read = f"{draw.choice('abcabcg')}[at[{self.index(loops)}]]"
        other = draw.choice((loops[-1].name if loops else "3", "sum", "1.5", f"sin({loops[-1].name if loops else '1'})"))
        return f"0.25 * {read} + 0.001 * {other}"

    def statement(self, loops, indent):
        draw = self.draw
        target = f"{draw.choice('aaabbg')}[{self.index(loops)}]"
        kind = draw.random()
        if kind < 0.04:
            target = f"{draw.choice('abcabcg')}[at[{self.index(loops)}]]"
        text = f"{target} {draw.choice(('=', '=', '=', '+='))} {self.value(loops)};"
        if kind > 0.75:
            text = f"sum = sum * 0.5 + {self.value(loops)};"
        if 0.70 < kind < 0.75 and loops:
            text = f"if (({loops[-1].name} + k) % 3) {text}"
        if 0.68 < kind < 0.70:
            text = f"sum += touch({draw.choice('abcabcg')});"
        self.lines.append(" " * indent + text)

    def nest(self):
        draw, loops = self.draw, []
        for depth in range(draw.choice((1, 1, 2, 2, 3))):
            loop = Loop(draw, depth, loops)
            loop.range(self.values)
            loops.append(loop)
            product = 1
            for each in loops:
                product *= each.most
            if product > 60000:
                loops.pop()
                break
        open_loops = []
        for depth, loop in enumerate(loops):
            indent = 4 + 4 * depth
            self.lines.append(" " * indent + loop.header(open_loops) + " {")
            open_loops.append(loop)
            if draw.random() < 0.3 and depth < len(loops) - 1:
                self.statement(open_loops, indent + 4)
        for _ in range(draw.choice((1, 1, 2, 3))):
            self.statement(open_loops, 4 + 4 * len(loops))
        if draw.random() < 0.08:
            leave = draw.choice(("break", "continue"))
            self.lines.append(" " * (4 + 4 * len(loops)) + f"if (sum > 1e6 || limit[{loops[-1].name} % 64]) {leave};")
        while open_loops:
            indent = 4 * len(open_loops)
            open_loops.pop()
            self.lines.append(" " * indent + "}")
            if open_loops and draw.random() < 0.2:
                self.statement(open_loops, indent)

    def message(self):
        """A pointer and a count inside its room."""
        first = self.draw.choice((0, 0, 0, 10, 300))
        count = str(self.draw.randint(1, ROOM - first - 1)) if self.draw.random() < 0.7 else "n"
        return f"{self.draw.choice('aaabbg')} + {first}", count

    def function(self):
        draw, ends = self.draw, []
        conditional = draw.random() < 0.2
        time_loop = draw.random() < 0.15
        if time_loop:
            self.lines.append("    for (int t = 0; t < 3; t++) {")
        for part in range(draw.choice((1, 2, 2, 3))):
            guard = "if (k > 1) " if conditional else ""
            if draw.random() < 0.4:
                self.lines.append(f"    {guard if draw.random() < 0.5 else ''}RECV({', '.join(self.message())}, {draw.randint(0, 99)});")
            if draw.random() < 0.7:
                self.lines.append(f"    {guard}BEGIN({', '.join(self.message())}, &r[{self.requests}]);")
                ends.append((guard, self.requests))
                self.requests += 1
            if draw.random() < 0.15:
                self.statement([], 4)
            for _ in range(draw.choice((1, 1, 2))):
                self.nest()
            if ends and draw.random() < 0.6:
                self.end(ends.pop(draw.randrange(len(ends))))
        while ends:
            self.end(ends.pop())
        if time_loop:
            self.lines.append("    }")
        body = "\n".join(self.lines)
        restrict = "restrict " if draw.random() < 0.15 else ""
        self.apart = bool(restrict)
        return (f"CASE double f{self.seed}(double *{restrict}a, double *{restrict}b, double *{restrict}c, int n, int m, int k)\n{{\n"
                f"    MPI_Request r[{max(self.requests, 1)}];\n    double sum = 0;\n{body}\n"
                f"    (void)r, (void)c;\n    return sum + g[17] + g[1999];\n}}\n")

    def end(self, which):
        guard, number = which
        self.lines.append(f"    {guard}MPIX_Delta_{self.draw.choice(('wait(&r[%d], NULL)', 'send_end(&r[%d])')) % number};")
        if "send_end" in self.lines[-1]:
            self.lines.append(f"    {guard}MPIX_Delta_wait(&r[{number}], NULL);")

    def calls(self):
        """The first three pointers are apart; the second call's may be the same array."""
        draw = self.draw
        sizes = f"{self.values['n']}, {self.values['m']}"
        apart = f"memory[0], memory[1], memory[2], {sizes}"
        yield f"RUN(f{self.seed}, 0, 0, {apart}, {draw.randint(0, 3)});"
        if not self.apart:
            near = ", ".join(f"memory[1] + {draw.choice((0, 0, 1, 8, 500, 1500))}" for _ in range(3))
            yield f"RUN(f{self.seed}, 0, 0, {near}, {sizes}, {draw.randint(0, 3)});"


def source(seeds):
    programs = [Program(seed) for seed in seeds]
    text = ['#include "cases.h"', "static int at[ROOM];".replace("ROOM", str(ROOM)), "static int limit[64];", f"static double g[{ROOM}];",
            "__attribute__((noipa)) static double touch(double *p)\n{\n    p[7] += 0.5;\n    return p[5] * 0.01;\n}"]
    text += [program.function() for program in programs]
    text += ["int main(int argc, char **argv)\n{\n    begin_cases(argc, argv);",
             f"    for (int i = 0; i < {ROOM}; i++)\n        at[i] = (i * 7919) % {ROOM};\n    limit[33] = 1;"]
    text += ["    " + call for program in programs for call in program.calls()]
    return "\n".join(text + ["    return 0;", "}", ""])


def call(command, keep):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout[-600:]}{done.stderr[-3000:]}\n{keep}")
    return done.stdout


def judge(gcc, plugin, include, seeds, more, mock, folder):
    level = LEVELS[seeds[0] // PER_FILE % len(LEVELS)]
    name = folder / f"seeds{seeds[0]}"
    name.with_suffix(".c").write_text(source(seeds))
    strip = STRIPS[seeds[0] // PER_FILE % len(STRIPS)]
    words = f"seeds {seeds[0]} to {seeds[-1]} at {' '.join([level, *more])}"
    flags = [f"-DSTRIP_BYTES={strip}", level, DISTRIBUTION, *more, "-w",
             "-ffp-contract=off", f"-I{HERE}", f"-I{include}", f"{name}.c", mock, "-lm"]
    call(gcc + flags + ["-o", f"{name}.plain"], words)
    call(gcc + flags + ["-o", f"{name}.delta", "-fchecking", f"-fplugin={plugin}", f"-fplugin-arg-gcc_delta-report={name}.report",
                         f"-fplugin-arg-gcc_delta-strip={strip}"], words)
    plain = call([f"{name}.plain"], words).split("\n")
    delta = call([f"{name}.delta", "lazy"], words).split("\n")
    want = [line for line in plain if not line.startswith("#")]
    have = [line for line in delta if not line.startswith("#")]
    for a, b in zip(want, have):
        if a != b:
            sys.exit(f"{words}: without the plug-in\n{a}\nwith it\n{b}")
    if len(want) != len(have) or len(want) < len(seeds):
        sys.exit(f"{words}: {len(want)} lines without the plug-in, {len(have)} with it")
    announced = sum(int(n) for line in delta for n in re.findall(r"^# .*: (\d+) of", line))
    return announced, pathlib.Path(f"{name}.report").read_text().count("delta: pipelined")


def main():
    if sys.argv[1] == "none":
        print(f"skipped: {sys.argv[2]}")
        sys.exit(77)
    gcc, plugin, include = sys.argv[1].split(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    first, count = int(sys.argv[4]), int(sys.argv[5])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mock = folder / "mock.o"
        call(gcc + ["-O1", f"-I{include}", "-c", HERE / "delta_mock.c", "-o", mock], "the mock library")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(judge, gcc, plugin, include, range(at, min(at + PER_FILE, first + count)), sys.argv[6:], mock, folder)
                    for at in range(first, first + count, PER_FILE)]
            done = [job.result() for job in jobs]
    announced, pipelined = (sum(column) for column in zip(*done))
    print(f"{count} programs, {pipelined} pipelined, {announced} bytes announced")
    if pipelined < count // 5 or announced == 0:
        sys.exit("too few are pipelined to tell anything")


main()
