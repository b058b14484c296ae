/* SPDX-License-Identifier: BSD-3-Clause */
/* A gather, in virtual time: what the library chooses is not far behind the best of its algorithms, and drops no frame, on 16 hosts with
 * links of 100 Mbit/s and buffers of 60 kB, though all send to one. Prints what it measures. */
#include "timed.h"

#define BEHIND 1.05
#define FAST_BPS 10000000000u
#define FAST_BUFFER 1000000
#define FAST_MOST 1.35
#define WAY_MS 0.04
#define LIMIT_MOST 1.2 /* of what comes to the root, at the rate of its link */

/* Nothing is announced that a fast link carries in about a round trip. */
static void fast(uint32_t bytes, bool by_nic)
{
    struct nof_sim_timed chosen = measure_at(FAST_BPS, FAST_BUFFER, NOF_SIM_TIMED_GATHER, bytes, by_nic);
    double least_ms = (double)(HOSTS - 1) * bytes * 8 / FAST_BPS * 1e3 + WAY_MS;

    printf("%5u bytes by the %-4s: %7.3f ms of %.3f at 10 Gbit/s, %llu frames dropped\n", bytes,
           by_nic ? "NIC" : "host", chosen.median_ms, least_ms, (unsigned long long)chosen.drops);
    check(chosen.median_ms <= FAST_MOST * least_ms);
    check(chosen.drops == 0);
}

int main(void)
{
    static const uint32_t sizes[] = {4096, 8192, 16384, 65536};

    nof_sim_library_prepare();
    if (nof_sim_library_absent() != NULL) {
        puts(nof_sim_library_absent());
        return 77;
    }
    for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t bytes = sizes[i / 2];
        bool by_nic = i % 2 == 0;
        struct nof_sim_timed chosen = measure(NOF_SIM_TIMED_GATHER, bytes, by_nic);
        struct nof_sim_timed tree = measure(NOF_SIM_TIMED_GATHER_TREE, bytes, by_nic);
        struct nof_sim_timed linear = measure(NOF_SIM_TIMED_GATHER_LINEAR, bytes, by_nic);
        double best_ms = tree.median_ms < linear.median_ms ? tree.median_ms : linear.median_ms;
        double limit_ms = (double)(HOSTS - 1) * bytes * 8 / RATE_BPS * 1e3;

        printf(
            "%5u bytes by the %-4s: %7.3f ms, tree %7.3f, linear %7.3f, limit %7.3f, %3llu frames dropped\n",
            bytes, by_nic ? "NIC" : "host", chosen.median_ms, tree.median_ms, linear.median_ms, limit_ms,
            (unsigned long long)chosen.drops);
        check(chosen.median_ms <= BEHIND * best_ms);
        check(chosen.median_ms <= LIMIT_MOST * limit_ms);
        check(chosen.drops == 0);
    }
    for (unsigned i = 0; i < 4; i++)
        fast(i / 2 == 0 ? 4096 : 8192, i % 2 == 0);
    return 0;
}
