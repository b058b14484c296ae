/* SPDX-License-Identifier: BSD-3-Clause */
/* An all-to-all in place, in virtual time: what the library chooses is not far behind all messages at once, and drops no frame, on 16
 * hosts with links of 100 Mbit/s and buffers of 60 kB. Prints what it measures. */
#include "timed.h"

#define BEHIND 1.05

int main(void)
{
    static const uint32_t sizes[] = {1024, 4096, 16384, 65536};

    nof_sim_library_prepare();
    if (nof_sim_library_absent() != NULL) {
        puts(nof_sim_library_absent());
        return 77;
    }
    for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t bytes = sizes[i / 2];
        bool by_nic = i % 2 == 0;
        struct nof_sim_timed chosen = measure(NOF_SIM_TIMED_ALLTOALL_IN_PLACE, bytes, by_nic);
        struct nof_sim_timed at_once = measure(NOF_SIM_TIMED_ALLTOALL_IN_PLACE_AT_ONCE, bytes, by_nic);

        printf("%5u bytes by the %-4s: %7.3f ms, at once %7.3f ms, %3llu frames dropped\n", bytes,
               by_nic ? "NIC" : "host", chosen.median_ms, at_once.median_ms,
               (unsigned long long)at_once.drops);
        check(chosen.median_ms <= BEHIND * at_once.median_ms);
        check(chosen.drops == 0);
    }
    return 0;
}
