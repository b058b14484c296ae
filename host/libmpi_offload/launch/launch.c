/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/env.h"
#include "nof_private/known_env.h"

static const struct nof_launch_ops *const family[] = {
    &nof_launch_pmi1,
    &nof_launch_pmi2,
#ifdef NOF_HAVE_PMIX
    &nof_launch_pmix,
#endif
    &nof_launch_singleton,
};

#define FAMILY (sizeof(family) / sizeof(family[0]))

const struct nof_launch_ops *nof_launch = &nof_launch_singleton;

/* What launchers leave in the environment of their ranks when there is nothing that this library can speak through.
 * Starting N worlds of one under them would be a silent lie. */
static const struct {
    const char *rank;
    const char *size; /* of the job; NULL: there is no such variable */
    const char *launcher;
} foreign[] = {
#ifndef NOF_HAVE_PMIX
    {"PMIX_RANK", NULL, "a PMIx launcher, and this library was built without PMIx (libpmix-dev)"},
#endif
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "an Open MPI mpirun that offers no PMIx"},
    {"PALS_RANKID", NULL, "Cray PALS"},
    {"ALPS_APP_PE", NULL, "Cray ALPS"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux without PMI"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun_rsh"},
    {"MPIRUN_RANK", "MPIRUN_NPROCS", "mpirun_rsh"},
    {"PMI2_RANK", "PMI2_SIZE", "a PMI-2 launcher without PMI_FD"},
    {"PMI_ID", NULL, "a launcher that offers PMI through PMI_PORT and not through PMI_FD"},
    {"PMI_RANK", "PMI_SIZE", "a launcher with a PMI of its own (no PMI_FD)"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun without PMI (try srun --mpi=pmi2 or --mpi=pmix)"},
};

static int refuse_foreign(char *text, size_t text_bytes)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        int rank, size = 2;
        if (nof_launch_number(foreign[i].rank, &rank) != 0)
            continue;
        if (foreign[i].size != NULL && nof_launch_number(foreign[i].size, &size) != 0)
            size = strcmp(foreign[i].rank, "SLURM_PROCID") == 0 ? 1 : 2; /* a batch script has no step */
        if (size <= 1)
            continue;
        snprintf(
            text, text_bytes,
            "started by %s (%s is set), which libmpi_offload cannot speak to: start it with \"nof run -n N "
            "program\", MPICH's mpiexec or Open MPI's mpirun; NOF_LAUNCH=singleton if it is a world of one",
            foreign[i].launcher, foreign[i].rank);
        return -1;
    }
    return 0;
}

static const struct nof_launch_ops *told(const char *name, char *text, size_t text_bytes)
{
    int len = snprintf(text, text_bytes, "NOF_LAUNCH is %s, and this library knows", name);
    for (size_t i = 0; i < FAMILY; i++) {
        if (strcmp(family[i]->name, name) == 0)
            return family[i];
        if (len > 0 && (size_t)len < text_bytes)
            len += snprintf(text + len, text_bytes - (size_t)len, " %s", family[i]->name);
    }
    return NULL;
}

/* PMI_FD first: it is what `nof run` and Hydra set, also inside another launcher's job. Slurm's plugin for PMI-2 says
 * which job it means. */
static const struct nof_launch_ops *choose(char *text, size_t text_bytes)
{
    const char *name = nof_env("NOF_LAUNCH");
    if (name != NULL)
        return told(name, text, text_bytes);
    if (getenv("PMI_FD") != NULL)
        return getenv("PMI_JOBID") != NULL && getenv("SLURM_JOB_ID") != NULL ? &nof_launch_pmi2
                                                                             : &nof_launch_pmi1;
#ifdef NOF_HAVE_PMIX
    if (getenv("PMIX_RANK") != NULL && getenv("PMIX_NAMESPACE") != NULL)
        return &nof_launch_pmix;
#endif
    return refuse_foreign(text, text_bytes) == 0 ? &nof_launch_singleton : NULL;
}

/* Once a job, by one of its ranks, also where sessions open the library again. */
static void check_environment(void)
{
    static bool checked;
    if (nof_lib.world_rank == 0 && !checked)
        nof_known_env_check("libmpi_offload");
    checked = true;
}

int nof_launch_open(char *text, size_t text_bytes)
{
    const struct nof_launch_ops *chosen = choose(text, text_bytes);
    bool opened = chosen != NULL && chosen->open(text, text_bytes) == 0;
    check_environment(); /* also where a misspelt one may be why it failed */
    if (!opened)
        return -1;
    nof_launch = chosen;
    nof_lib.abort_job = chosen->abort;
    /* Hydra forgets a rank of another host that ends before its barrier, srun one anywhere, and the others wait; `nof run` sees each. */
    nof_lib.abort_early = nof_env("NOF_JOB_ID") == NULL;
    return 0;
}

/* `nof run` looks for the dead before it believes an abort. It is not to wait: where it was a NIC that died, no launcher
 * says anything, and the job is to end within a second of that. */
unsigned nof_launch_death_ms(void)
{
    return nof_env("NOF_JOB_ID") != NULL ? 80 : nof_launch->death_ms;
}

void nof_launch_close(void)
{
    nof_launch->close();
    nof_launch = &nof_launch_singleton;
    nof_lib.abort_job = NULL;
}

static int alone_open(char *text, size_t text_bytes)
{
    (void)text;
    (void)text_bytes;
    nof_lib.world_rank = 0;
    nof_lib.world_size = 1;
    nof_lib.appnum = -1;
    return 0;
}

/* Nobody else can ask for it. */
static int alone_put(const char *key, const char *value)
{
    (void)key;
    (void)value;
    return 0;
}

static int alone_fence(void)
{
    return 0;
}

static int alone_get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    (void)rank;
    (void)key;
    (void)value;
    return -1;
}

static void alone_close(void)
{
}

const struct nof_launch_ops nof_launch_singleton = {
    .name = "singleton",
    .title = "no launcher",
    .open = alone_open,
    .put = alone_put,
    .fence = alone_fence,
    .get = alone_get,
    .close = alone_close,
};
