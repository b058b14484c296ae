/* SPDX-License-Identifier: BSD-3-Clause */
#include "overlap_sim.h"

#include <stdio.h>

#include "lib/report.h"
#include "sim.h"

#define BUFFER_BYTES (1u << 20)

_Static_assert(NOF_OVERLAP_SIM_HOSTS_MAX == NOF_SIM_OVERLAP_HOSTS_MAX,
               "as many hosts as the simulator takes");

void nof_overlap_sim_prepare(void)
{
    nof_sim_library_prepare();
}

static bool add_row(json_t *rows, unsigned hosts, enum nof_sim_collective collective, uint32_t bytes)
{
    struct nof_sim_overlap by[2]; /* the host, the NIC */

    for (int nic = 0; nic < 2; nic++) {
        struct nof_sim_overlap_config config = {
            .hosts = hosts, .collective = collective, .by_nic = nic != 0, .bytes = bytes};
        nof_sim_run_overlap(&config, &by[nic]);
        if (by[nic].problem[0] == '\0')
            continue;
        fprintf(stderr, "nof bench overlap: %s of %u simulated hosts, by the %s: %s\n", by[nic].collective,
                hosts, nic ? "NIC" : "host", by[nic].problem);
        return false;
    }
    /* The peer is in no simulator. */
    json_array_append_new(
        rows, json_pack("{s:s, s:i, s:i, s:s, s:f, s:f, s:I, s:f, s:f, s:n, s:n}", "collective",
                        by[1].collective, "hosts", (int)hosts, "bytes", (int)bytes, "where", "sim", "nic",
                        by[1].overlap, "nic_pure_us", by[1].pure_us, "nic_descs", (json_int_t)by[1].descs,
                        "host", by[0].overlap, "host_pure_us", by[0].pure_us, "mpich", "mpich_pure_us"));
    return true;
}

bool nof_overlap_sim_rows(json_t *rows, unsigned hosts, uint32_t bytes)
{
    for (unsigned n = 2; n <= hosts; n *= 2)
        for (int i = 0; i < NOF_SIM_OVERLAPPED; i++) {
            uint32_t most = BUFFER_BYTES / n;

            nof_bench_progress("%u simulated hosts", n);
            if (!add_row(rows, n, (enum nof_sim_collective)i, (bytes < most ? bytes + 7 : most) & ~7u))
                return false;
        }
    return true;
}
