#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`nof record`: its traces say what a program did, call by call and byte by byte; `nof replay` and `nof bench dfcm` read
them; and what cannot be recorded, or not whole, is told.

usage: record.py NOF RECORDED REPLAY UNLOOKED SESSIONS [MPIFORT]"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

NOF, RECORDED, REPLAY, UNLOOKED, SESSIONS = map(os.path.realpath, sys.argv[1:6])
MPIFORT = sys.argv[6] if len(sys.argv) > 6 else None
DATA = pathlib.Path(__file__).resolve().parents[2] / "examples/data"
PATIENCE_S = 120
DOUBLES = 256  # of a message of recorded.c
MESSAGES = 16
FORTRAN = """\
program recorded
  use mpi_f08
  double precision :: x(200)
  integer :: rank
  x = 1
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  if (rank == 0) then
    call MPI_Send(x, 200, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD)
    call MPI_Send(x, 200, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD)
  else
    call MPI_Recv(x, 200, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Recv(x, 200, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end if
  call MPI_Finalize()
end program recorded
"""

# MPI 3.1 has no MPI_Type_size_c.
OTHER = """\
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int one = 1, got[1], counts[1] = {1}, at[1] = {0};
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&one, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(&one, 1, MPI_INT, got, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoallv(&one, counts, at, MPI_INT, got, counts, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Finalize();
    fclose(fopen(argv[1], "w"));
    return 0;
}
"""


def run(*args, **kw):
    return subprocess.run([NOF, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          stdin=subprocess.DEVNULL, **kw)


def receives(path):
    """(site, source, tag, communicator, bytes) of each line."""
    return [(int(site, 16), *map(int, rest)) for site, *rest in map(str.split, path.read_text().splitlines())]


def collectives(path):
    """What each line says but for the time that was computed."""
    return [[word for i, word in enumerate(line.split()) if i != 1 or line.startswith("comm")] for line in
            path.read_text().splitlines()]


def messages(path):
    """(destination, payload) of each record; the file ends with a whole one."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        to, n = struct.unpack_from("<ii", data, at)
        found.append((to, data[at + 8:at + 8 + n]))
        assert len(found[-1][1]) == n, f"{path} ends within a record"
        at += 8 + n
    return found


class Record(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="nof-record-"))
        self.addCleanup(shutil.rmtree, self.scratch)
        self.to = self.scratch / "traces"

    def record(self, *args, code=0, **kw):
        done = run("record", "-o", self.to, *args, **kw)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertFalse((self.to / ".recording").exists())
        return done.stderr

    def test_every_call_stands_in_the_trace(self):
        said = self.record("--hosts", 2, "-n", 2, RECORDED)
        whole = 8 * DOUBLES
        for rank in (0, 1):
            peer = 1 - rank
            got = receives(self.to / f"rank{rank}.recv")
            self.assertEqual([g[1:] for g in got], [
                (peer, 1, 0, whole), (peer, 2, 0, whole), (peer, 3, 0, whole), (peer, 4, 1, whole), (peer, 4, 1, whole),
                (peer, 5, 0, whole), (peer, 6, 0, whole), (rank, 7, 2, whole), (peer, 8, 0, 4096), (peer, 9, 0, 8),
                *((peer, 10 + i, 0, whole) for i in range(8))])
            sites = [g[0] for g in got]
            self.assertEqual(len(set(sites[10:])), 1, "one call in a loop has several sites")
            self.assertEqual(len(set(sites[:11])), 11, "different calls have one site")
            self.assertLess(max(sites), os.path.getsize(RECORDED))
            number = collectives(self.to / f"rank{rank}.coll")[2][1]  # of the reversed communicator
            self.assertEqual(collectives(self.to / f"rank{rank}.coll"), [words.split() for words in (
                "comm 0 0,1", "barrier 0 0 0", f"comm {number} 1,0", f"barrier {number} 0 0", "bcast 0 1 64",
                f"reduce {number} 1 64", "allreduce 0 0 64", "alltoall 0 0 64", "allgather 0 0 64", "gather 0 1 64",
                "scatter 0 0 64", ("alltoallv 0 0 8,16 8,24", "alltoallv 0 0 24,32 16,32")[rank])])
            sent = messages(self.to / f"rank{rank}.msg")
            self.assertEqual([to for to, _ in sent], [peer] * MESSAGES)
            for k, (_, payload) in enumerate(sent):
                self.assertEqual(payload, struct.pack(f"<{DOUBLES}d", *(1000 * k + i for i in range(DOUBLES))), k)
        self.assertIn("2 ranks, 36 receive calls, 32 messages (65792 bytes), 20 collectives", said)
        for left_out in ("2 collectives of kinds that are not recorded", "2 messages of other types",
                         "2 messages below 1024 bytes", "2 receives for any source"):
            self.assertIn("left out: " + left_out, said)

    def test_what_is_recorded_can_be_replayed_and_compressed(self):
        self.record("--hosts", 2, "-n", 4, REPLAY, "--repeat", "20", DATA / "mg.W")
        for rank in range(4):
            self.assertEqual((self.to / f"rank{rank}.msg").read_bytes(), (DATA / f"mg.W/rank{rank}.msg").read_bytes() * 20)
        sent = [m for rank in range(4) for m in messages(self.to / f"rank{rank}.msg")]
        replayed = run("replay", "--json", *sorted(self.to.glob("*.recv")))
        self.assertEqual(replayed.returncode, 0, replayed.stderr)
        figures = json.loads(replayed.stdout)
        self.assertEqual(sum(t["calls"] for t in figures["traces"]), len(sent))
        self.assertGreater(figures["min"], 0.8)  # the same few receives, 20 times
        packed = run("bench", "dfcm", "--json", "--passes", 1, *sorted(self.to.glob("*.msg")))
        self.assertEqual(packed.returncode, 0, packed.stderr)
        total = json.loads(packed.stdout)["total"]
        self.assertEqual(total["bytes"], sum(len(payload) for _, payload in sent))
        self.assertGreater(total["ratio"], 1)

    def test_what_mpi_does_not_look_at_is_not_looked_at(self):
        said = self.record("--hosts", 2, "-n", 2, UNLOOKED)
        for rank in (0, 1):
            self.assertEqual(collectives(self.to / f"rank{rank}.coll"), [words.split() for words in (
                "comm 0 0,1", "gather 0 0 4", "scatter 0 0 4")])
        self.assertIn("left out: 10 collectives of kinds that are not recorded", said)

    def test_a_program_of_sessions_alone_is_told_why(self):
        said = self.record("-n", 2, SESSIONS, "alone")
        self.assertRegex(said, r"left out: 8 collectives of sessions: .* without MPI_Init")
        self.assertNotIn("kinds that are not recorded", said)

    @unittest.skipUnless(shutil.which("mpicc.openmpi"), "Open MPI is not installed")
    def test_a_program_of_another_mpi_runs_as_it_is(self):
        program = self.scratch / "other"
        program.with_suffix(".c").write_text(OTHER)
        subprocess.run(["mpicc.openmpi", program.with_suffix(".c"), "-o", program], check=True, timeout=PATIENCE_S)
        env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        said = self.record("-n", 1, program, self.scratch / "end", code=125, env=env)
        self.assertIn("another MPI", said)
        self.assertTrue((self.scratch / "end").exists(), said)

    def test_a_bound_ends_the_trace_behind_a_whole_record(self):
        said = self.record("--max-bytes", "5000", "-n", 2, RECORDED)
        for rank in (0, 1):
            self.assertEqual(len(messages(self.to / f"rank{rank}.msg")), 2)
            self.assertLessEqual(sum(f.stat().st_size for f in self.to.glob(f"rank{rank}.*")), 5000)
        self.assertIn(f"{2 * (MESSAGES - 2)} messages behind the first 5000 bytes", said)

    def test_a_full_disk_ends_the_trace_and_not_the_program(self):
        # The ranks alone: the daemon and the tally need larger files.
        limited = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, "
                   "(100000, 100000)); os.execv(sys.argv[1], sys.argv[1:])"]
        said = self.record("-n", 4, *limited, REPLAY, "--repeat", "50", DATA / "mg.W", code=125)
        self.assertIn("could not write its trace: File too large", said)
        for rank in range(4):
            found = messages(self.to / f"rank{rank}.msg")
            self.assertGreater(len(found), 0)
            whole = messages(DATA / f"mg.W/rank{rank}.msg") * 50
            self.assertLess(len(found), len(whole))
            self.assertEqual(found, whole[:len(found)])

    def test_a_program_without_mpi_leaves_a_sentence_and_no_folder(self):
        self.assertIn("nothing was recorded", self.record("-n", 2, "/bin/true", code=125))
        self.assertFalse(self.to.exists())

    def test_a_folder_that_cannot_be_written_starts_nothing(self):
        (self.scratch / "file").write_text("")
        self.to = self.scratch / "file/traces"
        mark = self.scratch / "started"
        said = self.record("-n", 1, "touch", mark, code=125)
        self.assertRegex(said, r"^nof record: the folder .*/file/traces cannot be made: Not a directory; nothing was started")
        self.assertFalse(mark.exists())

    def test_traces_of_two_runs_do_not_mix(self):
        self.record("-n", 2, RECORDED)
        before = (self.to / "rank0.msg").read_bytes()
        self.assertRegex(self.record("-n", 2, RECORDED, code=125), r"holds traces already \(rank[01]\.(recv|msg|coll)\)")
        self.assertEqual((self.to / "rank0.msg").read_bytes(), before)

    def test_a_missing_library_is_named(self):
        alone = self.scratch / "bin/nof"
        alone.parent.mkdir()
        shutil.copy(NOF, alone)
        done = subprocess.run([alone, "record", "-o", self.to, "-n", "1", "/bin/true"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"^nof record: libnof_record\.so is neither in the folder of this command, .*/bin, nor .* "
                         r"\(ninja -C BUILD\)")

    @unittest.skipUnless(MPIFORT, "no Fortran in this build")
    def test_fortran_calls_have_sites_of_the_program(self):
        program = self.scratch / "program"
        program.with_suffix(".f90").write_text(FORTRAN)
        subprocess.run([MPIFORT, program.with_suffix(".f90"), "-o", program], check=True, timeout=PATIENCE_S)
        self.record("--hosts", 2, "-n", 2, program)
        got = receives(self.to / "rank1.recv")
        self.assertEqual([g[1:] for g in got], [(0, 4, 0, 1600), (0, 5, 0, 1600)])
        self.assertEqual(len({g[0] for g in got}), 2)
        self.assertLess(max(g[0] for g in got), program.stat().st_size)
        self.assertEqual([(to, len(payload)) for to, payload in messages(self.to / "rank0.msg")], [(1, 1600)] * 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
