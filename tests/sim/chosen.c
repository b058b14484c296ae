/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts and reductions of ranks that share no NIC, in virtual time: what the library chooses is never far
 * behind the best of its algorithms, whether the ranks are a power of two or not. T_VERBOSE=1 prints what it measures.
 *
 *   sim-chosen [HOSTS...]    other numbers of hosts, which are not judged */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"

/* What the measurement itself needs. */
#define COMMON "allreduce 3 8 doubling\n"

static const struct {
    const char *name;
    enum nof_sim_collective kind;
} collectives[] = {{"allreduce", NOF_SIM_IALLREDUCE},
                   {"reduce", NOF_SIM_IREDUCE},
                   {"reduce_scatter", NOF_SIM_IREDUCE_SCATTER},
                   {"bcast", NOF_SIM_IBCAST}};

static void compare(const struct nof_sim_overlap_config *config, const char *name, bool judged)
{
    double best = 1e30, chosen = measure(*config, COMMON).pure_us;
    const char *fastest = "";
    for (size_t i = 0; i < ALGORITHMS; i++) {
        char table[128];
        if (strcmp(algorithms[i].collective, name) != 0)
            continue;
        (void)snprintf(table, sizeof(table), COMMON "%s 1 any %s\n", name, algorithms[i].name);
        double us = measure(*config, table).pure_us;
        if (us < best) {
            best = us;
            fastest = algorithms[i].name;
        }
    }
    if (!judged || getenv("T_VERBOSE") != NULL || chosen > best * BEHIND)
        printf("%-14s %2u hosts, %6u bytes a block, %-4s  chosen %9.1f  best %9.1f us: %s\n", name,
               config->hosts, config->bytes, config->by_nic ? "NIC" : "host", chosen, best, fastest);
    check(!judged || chosen <= best * BEHIND);
}

static void compare_hosts(unsigned hosts, bool judged)
{
    static const uint32_t vectors[] = {8 * 1024, 32 * 1024};
    for (size_t c = 0; c < sizeof(collectives) / sizeof(collectives[0]); c++)
        for (size_t v = 0; v < sizeof(vectors) / sizeof(vectors[0]); v++)
            for (int by_nic = 0; by_nic < 2; by_nic++) {
                bool blocks = collectives[c].kind == NOF_SIM_IREDUCE_SCATTER;
                struct nof_sim_overlap_config config = {.hosts = hosts,
                                                        .collective = collectives[c].kind,
                                                        .by_nic = by_nic != 0,
                                                        .bytes =
                                                            blocks ? vectors[v] / hosts / 8 * 8 : vectors[v]};
                compare(&config, collectives[c].name, judged);
            }
}

int main(int argc, char **argv)
{
    static const unsigned hosts[] = {3, 5, 8, 12};
    nof_sim_library_prepare();
    if (nof_sim_library_absent() != NULL) {
        puts(nof_sim_library_absent());
        return 77;
    }
    for (int i = 1; i < argc; i++)
        compare_hosts((unsigned)strtoul(argv[i], NULL, 10), false);
    for (size_t i = 0; argc == 1 && i < sizeof(hosts) / sizeof(hosts[0]); i++)
        compare_hosts(hosts[i], true);
    return 0;
}
