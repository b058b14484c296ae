/* SPDX-License-Identifier: BSD-3-Clause
 *
 * tests/lint/known_env.py holds the lists to the sources. */
#include "nof_private/known_env.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/nearest.h"

#define PREFIX "NOF_"
#define NAME_BYTES 64u

extern char **environ;

/* Behind NOF_. */
static const char *const known[] = {
    /* of the library, and of what starts it */
    "ALLTOALL", "CHANNELS", "CHANNELS_TABLE", "CHECK_LEAKS", "COLL_TABLE", "DELTA", "DELTA_SIZE",
    "DELTA_TRIGGER", "LAUNCH", "NET", "NIC", "NOFD", "POLLING", "POLL_RATIO", "POLL_UPDATE",
    "REDUCTION_ORDER", "SCHEDULE", "SPIN_US", "UDP_PORTS",
    /* options of nofd */
    "BACKGROUND", "BOUNCE", "BUFFER", "CONFIG", "CONTROL", "CORES", "CORES_PER_NIC", "CORRUPT", "DELAY",
    "DMA", "DMA_TIMEOUT", "DUPLICATE", "FABRIC", "IDLE_TIMEOUT", "IP", "LINK", "LOG", "LOG_TO", "LOSS",
    "MAX_ENDPOINTS", "MAX_PEERS", "MEMORY", "MTU", "MULTICAST", "NETMEM", "PORT", "PREDICT_CALLS", "PRIVATE",
    "READY_FD", "REORDER", "SET", "SOCKET", "STAGING", "STEER", "UDP_PORT", "WATCH_PAUSES"};

/* What programs of ours tell each other, and tests. */
static const char *const others[] = {"BIND_ROOT",     "BOARD_FD",         "CHECK",           "ENV_TOLD",
                                     "FAKE_SEED",     "JOB_ID",           "JOB_KEY",         "FUZZ_SECONDS",
                                     "RECORD_FOLDER", "RECORD_MAX_BYTES", "RECORD_MIN_BYTES"};

/* Whole families of theirs. */
static const char *const beginnings[] = {"TEST_", "VM_"};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool begins(const char *name)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

void nof_known_env_check(const char *self)
{
    char name[NAME_BYTES];

    if (getenv(NOF_ENV_TOLD) != NULL)
        return;
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        const char *equals = strchr(*at, '=');
        const char *near;

        if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0 || equals == NULL || equals[1] == '\0' ||
            (size_t)(equals - *at) >= sizeof(name))
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(equals - *at - (int)strlen(PREFIX)), *at + strlen(PREFIX));
        if (is_one_of(name, known, sizeof(known) / sizeof(known[0])) ||
            is_one_of(name, others, sizeof(others) / sizeof(others[0])) || begins(name))
            continue;
        near = nof_nearest_slip(name, known, sizeof(known) / sizeof(known[0]));
        if (near != NULL)
            fprintf(stderr,
                    "%s: " PREFIX "%s is set, which is no variable of nof's; did you mean " PREFIX "%s?\n",
                    self, name, near);
    }
}
