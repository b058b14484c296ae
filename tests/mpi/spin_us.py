#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long a blocking call polls before it sleeps: longer where each rank of this host has a CPU, whatever ranks other hosts have, and
as long as NOF_SPIN_US says.

usage: spin_us.py NOF PROGRAM"""
import os
import subprocess
import sys
import unittest

NOF, PROGRAM = sys.argv[1:3]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("NOF_", "PMI", "MPI_LOCAL", "OMPI_", "SLURM_"))}
CPUS = sorted(os.sched_getaffinity(0))
CROWDED_US, SEATED_US = 20, 100
NOTHING = dict.fromkeys((
    "NOF_ALLTOALL", "NOF_CHANNELS", "NOF_CHANNELS_TABLE", "NOF_CHECK_LEAKS", "NOF_COLL_TABLE", "NOF_CONFIG", "NOF_CONTROL",
    "NOF_DELTA", "NOF_DELTA_SIZE", "NOF_DELTA_TRIGGER", "NOF_JOB_ID", "NOF_JOB_KEY", "NOF_LAUNCH", "NOF_NET", "NOF_NIC",
    "NOF_NOFD", "NOF_POLLING", "NOF_POLL_RATIO", "NOF_POLL_UPDATE", "NOF_REDUCTION_ORDER", "NOF_SCHEDULE", "NOF_SOCKET",
    "NOF_SPIN_US", "NOF_UDP_PORTS"), "")


class SpinUs(unittest.TestCase):
    def spin_us(self, ranks, cpus, **env):
        out = subprocess.run([NOF, "run", "-n", str(ranks), PROGRAM], env=ENV | env, stdout=subprocess.PIPE, text=True, check=True,
                             timeout=100, preexec_fn=lambda: os.sched_setaffinity(0, cpus)).stdout
        return int(out)

    def test_ranks_that_share_a_cpu(self):
        self.assertEqual(self.spin_us(2, CPUS[:1]), CROWDED_US)

    @unittest.skipIf(len(CPUS) < 2, "there is one CPU")
    def test_a_cpu_for_each(self):
        self.assertEqual(self.spin_us(2, CPUS[:2]), SEATED_US)
        self.assertEqual(self.spin_us(3, CPUS[:2]), CROWDED_US)

    def test_ranks_of_other_hosts_share_none_of_ours(self):
        self.assertEqual(self.spin_us(2, CPUS[:1], MPI_LOCALNRANKS="1"), SEATED_US)

    def test_the_environment_goes_first(self):
        self.assertEqual(self.spin_us(2, CPUS[:1], NOF_SPIN_US="7"), 7)

    def test_a_variable_that_is_set_to_nothing_is_not_set(self):
        self.assertEqual(self.spin_us(2, CPUS[:1], **NOTHING), CROWDED_US)
        alone = subprocess.run([PROGRAM], env=ENV | NOTHING, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                               timeout=100)
        self.assertEqual((alone.returncode, alone.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
