#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every --json shape is as its schema in docs/schemas says, and is exactly one object.

usage: json_shapes.py NOF SCHEMAS [--all]    (--all: the slow benches too)"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is missing; apt install python3-jsonschema")
    sys.exit(77)

NOF, SCHEMAS = sys.argv[1], pathlib.Path(sys.argv[2])
TRACES = pathlib.Path(__file__).resolve().parent.parent / "vectors/receives"
MESSAGES = TRACES.parent / "messages/lu.W/rank0.msg"
SOCKET = f"@nof-json-shapes-{os.getpid()}"
ENV = {k: v for k, v in os.environ.items() if not k.startswith("NOF_")} | {"NOF_SOCKET": SOCKET}
ALONE = {k: v for k, v in ENV.items() if k != "NOF_SOCKET"}

QUICK = {
    "status": ["status", "--json"],
    "stats": ["stats", "--json"],
    "features": ["features", "--json"],
    "devices": ["devices", "--json"],
    "sim": ["sim", "--seeds", "2", "--json"],
    "replay": ["replay", "--json", str(TRACES / "cg.W.4.recv"), str(TRACES / "mg.W.4.recv")],
    "schedule": ["schedule", "--algorithm", "optimal", "--threshold", "1k", "--json", str(TRACES.parent / "patterns/figure3.txt")],
    "sim-alltoall": ["sim", "alltoall", "--hosts", "4", "--sizes", "32k", "--json"],
    "bench-dfcm": ["bench", "dfcm", "--passes", "1", "--json", str(MESSAGES)],
    "bench-pt2pt": ["bench", "pt2pt", "--rounds", "1", "--ms", "2", "--json"],
    "bench-polling": ["bench", "polling", "--rounds", "1", "--ms", "1", "--ranks", "2", "--json"],
    "bench-channels-tune": ["bench", "channels", "--tune", "--rounds", "1", "--ms", "1", "--max", "1024", "--json"],
    "bench-idle": ["bench", "idle", "--seconds", "1", "--silences", "1", "--json"],
    "bench-overlap": ["bench", "overlap", "--sim-hosts", "2", "--hosts", "2", "--runs", "1", "--rounds", "2", "--bytes", "4096", "--json"],
    "bench-alltoall": ["bench", "alltoall", "--hosts", "2", "--sizes", "64", "--runs", "1", "--ms", "1", "--json"],
    "bench-allgather": ["bench", "allgather", "--hosts", "2", "--sizes", "8", "--runs", "1", "--ms", "1", "--json"],
    "bench-alltoallv": ["bench", "alltoallv", "--random", "--seeds", "1", "--hosts", "3", "--sizes", "4k", "--runs", "1", "--ms", "1",
                        "--json"],
    "bench-coll": ["bench", "coll", "--only", "bcast,reduce_scatter", "--hosts", "2", "--ranks-per-host", "2",
                   "--sizes", "64,4k", "--runs", "1",
                   "--ms", "1", "--tune", "--json"],
    "bench-mixed": ["bench", "mixed", "--ranks-per-host", "2", "--sizes", "8", "--runs", "1", "--ms", "1", "--json"],
    "bench-delta": ["bench", "delta", "--tasks", "2,3", "--sim-tasks", "2,3", "--bytes", "32k", "--page-us", "20",
                    "--scale", "1", "--runs", "1", "--json"],
    "bench-partitioned": ["bench", "partitioned", "--fabric", "--json"],
    "bench-dsm": ["bench", "dsm", "--pages", "1", "--hosts", "2,3", "--iterations", "2", "--runs", "1", "--json"],
    "bench-npb": ["bench", "npb", "--kernel", "is", "--class", "S", "--hosts", "2", "--runs", "1", "--json"],
    "bench-replay": ["bench", "replay", "--runs", "1", "--json", str(TRACES.parent / "collectives/is.S.4")],
    "bench-neighbour": ["bench", "neighbour", "--window", "10", "--only", "recv_cancel", "--json"],
}
SLOW = {
    "sim-scale": ["sim", "scale", "--nics", "16", "--endpoints", "2", "--json"],
    "bench-mcast": ["bench", "mcast", "--hosts", "4", "--sizes", "1,1k", "--repeat", "2", "--json"],
    "bench-channels": ["bench", "channels", "--rounds", "1", "--ms", "1", "--max", "64", "--json"],
    "bench-path": ["bench", "path", "--json"],
    "bench-core": ["bench", "core", "--json"],
    "bench-cores": ["bench", "cores", "--pairs", "1", "--json"],
    "bench-match": ["bench", "match", "--json"],
    "bench-staging": ["bench", "staging", "--runs", "1", "--rounds", "2", "--json"],
    "bench-stream": ["bench", "stream", "--seconds", "0.2", "--json", str(MESSAGES)],
    "bench-wire": ["bench", "wire", "--json"],
    "bench-hostile": ["bench", "hostile", "--seconds", "0.2", "--only", "loss", "--json"],
    "bench-strangers": ["bench", "strangers", "--seconds", "0.1", "--kpps", "20", "--json"],
}


def check(name, text):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.validate(json.loads(text), schema)  # one object and nothing else, or loads() refuses


def daemon_shapes(*options):
    """Shapes that a running daemon answers, with a job on it."""
    with tempfile.TemporaryDirectory() as scratch:
        stats = pathlib.Path(scratch) / "stats.json"
        script = " && ".join(f'"{NOF}" {" ".join(QUICK[name])} >{scratch}/{name}' for name in ("status", "stats", "features"))
        subprocess.run([NOF, "run", "--hosts", "2", "-n", "1", "--stats", stats, *options, "--", "sh", "-c", script], env=ALONE,
                       check=True, timeout=60)
        for name in ("status", "stats", "features"):
            check(name, (pathlib.Path(scratch) / name).read_text())
        check("run-stats", stats.read_text())


def command_shape(name, args):
    done = subprocess.run([NOF, *args], env=ALONE, stdout=subprocess.PIPE, text=True, timeout=300, check=False)
    check(name, done.stdout)
    return f"{name}: exit code {done.returncode}"


def main():
    daemon_shapes()
    daemon_shapes("--cores-per-nic", "2")
    commands = {k: v for k, v in QUICK.items() if k not in ("status", "stats", "features")}
    if "--all" in sys.argv:
        commands |= SLOW
    # All at once: a bench mostly waits, and its figures are not looked at.
    with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
        for said in [pool.submit(command_shape, *command) for command in commands.items()]:
            print(said.result())
    for path in SCHEMAS.glob("*.json"):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))
        if path.stem not in {**QUICK, **SLOW, "run-stats": None}:
            sys.exit(f"{path}: no command is known for this schema; add it to {sys.argv[0]}")


if __name__ == "__main__":
    main()
