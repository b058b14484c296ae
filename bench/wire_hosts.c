/* SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/scratch.h"
#include "wire_peers.h"

#define SWITCH_BUFFER "60kb"

static struct nof_wire_bench *up; /* what the signal handler and atexit() take down */

void nof_wire_end(void)
{
    if (!up)
        return;
    nof_lab_down(&up->lab);
    if (up->dir[0] != '\0' && !up->keep_logs) {
        nof_bench_empty(up->dir);
        (void)rmdir(up->dir);
    }
    up->dir[0] = '\0';
    up = NULL;
}

/* Children end with us (PDEATHSIG); the namespaces would not. */
static void on_signal(int number)
{
    nof_wire_end();
    _exit(128 + number);
}

const char *nof_wire_begin(struct nof_wire_bench *b, const char *rate)
{
    const char *missing = nof_lab_missing();
    ssize_t n = readlink("/proc/self/exe", b->bin_dir, sizeof(b->bin_dir) - 1);
    char *slash;

    b->bin_dir[n > 0 ? n : 0] = '\0';
    slash = strrchr(b->bin_dir, '/');
    if (slash)
        *slash = '\0';
    if (missing)
        return missing;
    up = b;
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGHUP, on_signal);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)atexit(nof_wire_end);
    snprintf(b->dir, sizeof(b->dir), NOF_WIRE_LOGS "XXXXXX");
    if (!mkdtemp(b->dir)) {
        b->dir[0] = '\0';
        return "no room for temporary files in /tmp";
    }
    if (nof_lab_up(&b->lab, b->nhosts != 0 ? b->nhosts : 2, rate, SWITCH_BUFFER, NOF_LAB_BURST,
                   b->mtu_bytes) != 0)
        return "the network namespaces of the lab cannot be set up";
    return NULL;
}
