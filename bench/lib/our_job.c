/* SPDX-License-Identifier: BSD-3-Clause */
#include "our_job.h"

#include <stdio.h>
#include <string.h>

#define LOUD "/dev/stderr"

int nof_our_job_run(const struct nof_testbed *bed, const char *environment, const char *const *argv,
                    unsigned timeout_s, void (*line)(void *ctx, const char *text), void *ctx)
{
    char hosts[16], ranks[16], into[128];
    const char *words[NOF_CHILD_ARGS_MAX] = {"env", "-u", "NOF_SOCKET", "-u", "NOF_CONTROL"};
    unsigned n = 5;

    /* In a lab to each rank its own host's NIC: the daemon's abstract socket is the one of the namespace that it
     * steps into. */
    snprintf(hosts, sizeof(hosts), "%u", bed->config.lab ? 1 : bed->config.hosts);
    snprintf(ranks, sizeof(ranks), "%u", bed->config.hosts * bed->config.ranks_per_host);
    if (environment != NULL)
        words[n++] = environment;
    words[n++] = bed->nof;
    words[n++] = "run";
    words[n++] = "--nofd";
    words[n++] = bed->socket;
    words[n++] = "--hosts";
    words[n++] = hosts;
    words[n++] = "-n";
    words[n++] = ranks;
    if (bed->config.lab) {
        /* The host's name without its number: PMI_RANK tells which. */
        snprintf(into, sizeof(into), "exec ip netns exec %.*s$PMI_RANK \"$@\"",
                 (int)strlen(bed->lab.host[0]) - 1, bed->lab.host[0]);
        words[n++] = "sh";
        words[n++] = "-c";
        words[n++] = into;
        words[n++] = "sh";
    }
    while (*argv != NULL && n < NOF_CHILD_ARGS_MAX - 1)
        words[n++] = *argv++;
    words[n] = NULL;
    return nof_bench_spawn(words, LOUD, timeout_s, line, ctx);
}
