#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# usage: check_summary.sh ROOT
# Who sees only the end of what tools/check prints sees what a failed test printed last, and which failed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The name that meson gives it with --setup full.
mkdir -p "$work/build/meson-logs"
python3 - >"$work/build/meson-logs/testlog-full.json" <<'END'
import json

lines = "".join(f"line {i}\n" for i in range(1, 51))
tests = [("good", "OK", "quiet\n"), ("absent", "SKIP", "no NIC here\n")]
tests += [(f"bad{i}", "FAIL", lines) for i in range(1, 7)]
for name, result, text in tests:
    print(json.dumps({"name": f"nof:mpi / {name}", "result": result, "duration": 1.5, "stdout": text,
                      "stderr": f"{name} is why\n"}))
END
code=0
(cd "$work" && python3 -B "$1/tools/check_summary.py" --must-run mpi --seconds 9 build >said) || code=$?
{
    echo 'skipped: build: mpi: absent: absent is why'
    for suite in unit vectors sim fault fuzz ipc lab lint anew; do echo "suite $suite: nothing of it ran to a pass"; done
    for i in 1 2 3 4 5; do
        printf '\n-- build: mpi: bad%d: fail after 2 s: the last 40 of 51 lines:\n' "$i"
        seq -f 'line %.0f' 12 50
        echo "bad$i is why"
    done
    echo
    for i in 1 2 3 4 5 6; do echo "FAILED: build: mpi: bad$i: fail after 2 s"; done
    printf '9 s\n1 passed, 6 failed, 1 skipped\n'
} >"$work/expected"
diff -u "$work/expected" "$work/said"
[ "$code" -eq 1 ]
