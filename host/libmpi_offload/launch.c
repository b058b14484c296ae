/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmi1.h"

static bool with_pmi;
static uint64_t host_id;

/* Environment of launchers whose protocol this library does not speak yet: each sets one of these
 * for every rank, and starting N worlds of one under them would be a silent lie. */
static const struct {
    const char *variable;
    const char *launcher;
} foreign[] = {
    {"PMIX_RANK", "a PMIx launcher (Open MPI's mpirun, srun --mpi=pmix)"},
    {"OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"},
    {"PMI2_RANK", "a PMI-2 launcher"},
    {"SLURM_PROCID", "srun without PMI-1"},
};

static int number_of(const char *variable, int *number_out)
{
    const char *text = getenv(variable);
    if (text == NULL)
        return -1;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > INT32_MAX)
        return -1;
    *number_out = (int)value;
    return 0;
}

static int refuse_foreign(char *text, size_t text_bytes)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        int rank;
        if (number_of(foreign[i].variable, &rank) != 0)
            continue;
        int tasks = 0;
        if (strcmp(foreign[i].variable, "SLURM_PROCID") == 0 &&
            (number_of("SLURM_NTASKS", &tasks) != 0 || tasks <= 1))
            continue; /* a batch script runs with SLURM_PROCID=0 too */
        snprintf(text, text_bytes,
                 "started by %s (%s is set), which libmpi_offload cannot speak to: start it with "
                 "\"nof run -n N program\"",
                 foreign[i].launcher, foreign[i].variable);
        return -1;
    }
    return 0;
}

int nof_launch_open(char *text, size_t text_bytes)
{
    nof_lib.world_rank = 0;
    nof_lib.world_size = 1;
    nof_lib.appnum = -1;
    int fd;
    if (getenv("PMI_FD") == NULL)
        return refuse_foreign(text, text_bytes);
    if (number_of("PMI_FD", &fd) != 0 || number_of("PMI_RANK", &nof_lib.world_rank) != 0 ||
        number_of("PMI_SIZE", &nof_lib.world_size) != 0 || nof_lib.world_rank >= nof_lib.world_size) {
        snprintf(text, text_bytes,
                 "PMI_FD is set, but PMI_FD, PMI_RANK and PMI_SIZE are no valid numbers: the "
                 "launcher does not speak PMI-1");
        return -1;
    }
    if (nof_pmi1_open(fd, &nof_lib.appnum, text, text_bytes) != 0)
        return -1;
    with_pmi = true;
    return 0;
}

/* A world of one needs no launcher to remember what nobody else can ask for. */
int nof_launch_put(const char *key, const char *value)
{
    return with_pmi ? nof_pmi1_put(key, value) : 0;
}

int nof_launch_fence(void)
{
    return with_pmi ? nof_pmi1_barrier() : 0;
}

int nof_launch_get(const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    errno = 0;
    return with_pmi ? nof_pmi1_get(key, value, NOF_LAUNCH_VALUE_BYTES) : -1;
}

void nof_launch_close(void)
{
    if (with_pmi)
        nof_pmi1_close();
    with_pmi = false;
}

void nof_launch_abort(int exit_code)
{
    if (with_pmi)
        nof_pmi1_abort(exit_code);
}

static int parse_key(const char *hex, uint8_t key[16])
{
    if (strlen(hex) != 32 || strspn(hex, "0123456789abcdefABCDEF") != 32)
        return -1;
    for (int i = 0; i < 16; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return 0;
}

int nof_launch_job(struct nof_launch_job *job_out, char *text, size_t text_bytes)
{
    *job_out = (struct nof_launch_job){.socket = getenv("NOF_SOCKET"), .nic = UINT32_MAX};
    if (job_out->socket == NULL || job_out->socket[0] == '\0') {
        job_out->socket = NULL;
        return 0;
    }
    const char *id = getenv("NOF_JOB_ID"), *key = getenv("NOF_JOB_KEY");
    char *end = NULL;
    errno = 0;
    if (id != NULL)
        job_out->id = strtoull(id, &end, 0);
    if (id == NULL || errno != 0 || end == id || *end != '\0' || key == NULL ||
        parse_key(key, job_out->key) != 0) {
        snprintf(text, text_bytes,
                 "NOF_SOCKET is set, but NOF_JOB_ID (a number) and NOF_JOB_KEY (32 hex digits) are "
                 "not valid: start the program with \"nof run\"");
        return -1;
    }
    int nic;
    if (number_of("NOF_NIC", &nic) == 0)
        job_out->nic = (uint32_t)nic;
    return 0;
}

uint64_t nof_launch_host_id(void)
{
    return host_id;
}

void nof_launch_set_host_id(uint64_t id)
{
    host_id = id;
}
