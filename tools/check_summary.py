#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the test logs of build folders and prints, for tools/check, what was skipped and why, and what failed.

The end of what failed tests printed comes right before the last lines, as a CI may show no more than the end. The
last line is 'N passed, N failed, N skipped'. Exit status 1 if anything failed, if a folder is broken, or if
a suite of --must-run did not pass one test in the first folder.
"""
import argparse
import json
import pathlib
import sys

SUITES = ("unit", "vectors", "sim", "fault", "fuzz", "ipc", "mpi", "lab", "lint", "anew")
SHOWN_TESTS, SHOWN_LINES = 5, 40


def read_log(folder):
    """Test results of one build folder, as meson wrote them: one JSON object a line; a set-up's name is in the file's."""
    logs = sorted((pathlib.Path(folder) / "meson-logs").glob("testlog*.json"))
    return [json.loads(line) for log in logs for line in log.read_text(errors="replace").splitlines() if line]


def declared_suites(folder):
    """Suites of the tests that meson knows, by name."""
    path = pathlib.Path(folder) / "meson-info" / "intro-tests.json"
    if not path.exists():
        return {}
    return {test["name"]: {suite.rpartition(":")[2] for suite in test["suite"]} for test in json.loads(path.read_text())}


def suites_of(test, declared):
    """meson's log says 'nof:unit / name', or the bare name where a build has only one suite."""
    head, _, name = test["name"].rpartition(" / ")
    return set(head.rpartition(":")[2].split("+")) - {""} or declared.get(name, set())


def printed(test):
    """Lines that a test printed, without empty ones."""
    text = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def reason(test):
    """The last line that a skipping test printed: by the rule of docs/TESTING.md, the reason."""
    return (printed(test) or ["it gave no reason"])[-1].strip()


def show(title, test):
    """The end of what a failed test printed."""
    lines = printed(test)
    print(f"\n-- {title}: the last {min(SHOWN_LINES, len(lines))} of {len(lines)} lines:")
    print("\n".join(lines[-SHOWN_LINES:]))


def parts_off(folder):
    """Lines 'part : off: reason' of meson's configure summary."""
    path = pathlib.Path(folder) / "meson-logs" / "meson-log.txt"
    if not path.exists():
        return []
    lines = path.read_text(errors="replace").splitlines()
    return sorted({" ".join(line.split()) for line in lines if ": off: " in line})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--must-run", default="")
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("folders", nargs="*")
    args = parser.parse_args()

    passed, skipped = 0, 0
    failures = []  # (sentence, the test or None)
    ran, ran_first = set(), set()  # suites with a passed test: in any folder, in the first
    for number, folder in enumerate(args.folders):
        tests, declared = read_log(folder), declared_suites(folder)
        if not tests:
            failures.append((f"{folder}: no test ran", None))
        for test in tests:
            suites = suites_of(test, declared)
            name = f"{folder}: {'+'.join(sorted(suites))}: {test['name'].rpartition(' / ')[2]}"
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                passed += 1
                ran |= suites
                ran_first |= suites if number == 0 else set()
            elif test["result"] == "SKIP":
                skipped += 1
                print(f"skipped: {name}: {reason(test)}")
            else:
                failures.append((f"{name}: {test['result'].lower()} after {test['duration']:.0f} s", test))

    if args.folders:
        for line in parts_off(args.folders[0]):
            print(f"not built: {line}")
    for suite in SUITES:
        if suite in args.must_run.split() and suite not in ran_first:
            failures.append((f"suite {suite} must run here, and no test of it passed", None))
        elif suite not in ran:
            print(f"suite {suite}: nothing of it ran to a pass")
    for title, test in [failure for failure in failures if failure[1]][:SHOWN_TESTS]:
        show(title, test)
    if failures:
        print()
    for title, _ in failures:
        print(f"FAILED: {title}")
    failed = args.broken + len(failures)
    print(f"{args.seconds} s")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
