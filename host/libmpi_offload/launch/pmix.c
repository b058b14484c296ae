/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx client (Open MPI's mpirun, srun --mpi=pmix). The library is PMIx's own, whose client and server halves find a
 * common version between them; it is opened when a PMIx launcher started us, so that nobody else needs it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>

#include "launch/launch.h"

#define LIBRARY "libpmix.so.2"
#define ANSWER_S 10

static struct {
    __typeof__(PMIx_Init) *init;
    __typeof__(PMIx_Finalize) *finalize;
    __typeof__(PMIx_Put) *put;
    __typeof__(PMIx_Commit) *commit;
    __typeof__(PMIx_Fence) *fence;
    __typeof__(PMIx_Get) *get;
    __typeof__(PMIx_Abort) *abort;
    __typeof__(PMIx_Error_string) *error_string;
    __typeof__(PMIx_Register_event_handler) *on_event;
} pmix;

static pmix_proc_t self;

static int load(char *text, size_t text_bytes)
{
    static const struct {
        const char *name;
        void *where;
    } symbols[] = {
        {"PMIx_Init", &pmix.init},
        {"PMIx_Finalize", &pmix.finalize},
        {"PMIx_Put", &pmix.put},
        {"PMIx_Commit", &pmix.commit},
        {"PMIx_Fence", &pmix.fence},
        {"PMIx_Get", &pmix.get},
        {"PMIx_Abort", &pmix.abort},
        {"PMIx_Error_string", &pmix.error_string},
        {"PMIx_Register_event_handler", &pmix.on_event},
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL)
            library = NULL;
        else
            memcpy(symbols[i].where, &address, sizeof(address));
    }
    if (library != NULL)
        return 0;
    snprintf(text, text_bytes,
             "started by a PMIx launcher (Open MPI's mpirun, srun --mpi=pmix), but PMIx cannot be loaded "
             "(%s): install "
             "libpmix2, or start the program with \"nof run\"",
             dlerror());
    return -1;
}

static pmix_proc_t proc_of(pmix_rank_t rank)
{
    pmix_proc_t proc = self;
    proc.rank = rank;
    return proc;
}

/* A number that the launcher knows of the job or of this process. */
static int ask(pmix_rank_t rank, const char *key, int *number_out)
{
    pmix_proc_t proc = proc_of(rank);
    pmix_value_t *value = NULL;
    if (pmix.get(&proc, key, NULL, 0, &value) != PMIX_SUCCESS || value == NULL)
        return -1;
    int rc = value->type == PMIX_UINT32 && value->data.uint32 <= INT32_MAX ? 0 : -1;
    if (rc == 0)
        *number_out = (int)value->data.uint32;
    free(value);
    return rc;
}

/* On a thread of PMIx. Nobody else would end this rank, and it may be waiting for one that is gone. */
static void launcher_gone(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                          size_t ninfo, pmix_info_t results[], size_t nresults,
                          pmix_event_notification_cbfunc_fn_t done, void *done_arg)
{
    (void)id, (void)status, (void)source, (void)info, (void)ninfo, (void)results, (void)nresults;
    (void)done, (void)done_arg;
    fprintf(stderr, "libmpi_offload: rank %d on %s: the launcher is gone: the job ends\n", nof_lib.world_rank,
            nof_lib.host);
    _exit(1);
}

static int pmix_open(char *text, size_t text_bytes)
{
    if (load(text, text_bytes) != 0)
        return -1;
    pmix_status_t rc = pmix.init(&self, NULL, 0);
    if (rc != PMIX_SUCCESS) {
        snprintf(text, text_bytes,
                 "the launcher's PMIx server does not answer (%s): start the program with mpirun, or with "
                 "\"nof run\"",
                 pmix.error_string(rc));
        return -1;
    }
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    pmix.on_event(&lost, 1, NULL, 0, launcher_gone, NULL, NULL);
    if (self.rank > INT32_MAX || ask(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &nof_lib.world_size) != 0 ||
        (int)self.rank >= nof_lib.world_size) {
        snprintf(text, text_bytes, "the launcher's PMIx server does not say how many ranks the job has");
        return -1;
    }
    nof_lib.world_rank = (int)self.rank;
    if (ask(self.rank, PMIX_APPNUM, &nof_lib.appnum) != 0)
        nof_lib.appnum = -1;
    return 0;
}

static int pmix_put(const char *key, const char *value)
{
    char copy[NOF_LAUNCH_VALUE_BYTES];
    pmix_value_t v = {.type = PMIX_STRING, .data.string = copy};
    snprintf(copy, sizeof(copy), "%s", value);
    return pmix.put(PMIX_GLOBAL, key, &v) == PMIX_SUCCESS && pmix.commit() == PMIX_SUCCESS ? 0 : -1;
}

static int pmix_get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    pmix_proc_t proc = proc_of((pmix_rank_t)rank);
    pmix_info_t limit = {.key = PMIX_TIMEOUT, .value = {.type = PMIX_INT, .data.integer = ANSWER_S}};
    pmix_value_t *v = NULL;
    errno = 0;
    pmix_status_t rc = pmix.get(&proc, key, &limit, 1, &v);
    if (rc != PMIX_SUCCESS || v == NULL) {
        errno = rc == PMIX_ERR_TIMEOUT ? ETIMEDOUT : 0;
        return -1;
    }
    int len = -1;
    if (v->type == PMIX_STRING && v->data.string != NULL) {
        len = snprintf(value, NOF_LAUNCH_VALUE_BYTES, "%s", v->data.string);
        free(v->data.string);
    }
    free(v);
    return len >= 0 && len < NOF_LAUNCH_VALUE_BYTES ? 0 : -1;
}

/* Everybody's keys come along: what is asked for later is on this host already. */
static int pmix_fence(void)
{
    pmix_proc_t all = proc_of(PMIX_RANK_WILDCARD);
    pmix_info_t collect = {.key = PMIX_COLLECT_DATA, .value = {.type = PMIX_BOOL, .data.flag = true}};
    return pmix.fence(&all, 1, &collect, 1) == PMIX_SUCCESS ? 0 : -1;
}

static void pmix_close(void)
{
    (void)pmix.finalize(NULL, 0);
}

static void pmix_abort(int exit_code, const char *why)
{
    (void)pmix.abort(exit_code, why, NULL, 0);
}

static int pmix_ranks_here(void)
{
    int n;
    return ask(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, &n) == 0 ? n : 0;
}

const struct nof_launch_ops nof_launch_pmix = {
    .name = "pmix",
    .title = "PMIx",
    .death_ms = 3000, /* Open MPI's mpirun says nothing for a second, then SIGTERM */
    .open = pmix_open,
    .put = pmix_put,
    .fence = pmix_fence,
    .get = pmix_get,
    .close = pmix_close,
    .abort = pmix_abort,
    .ranks_here = pmix_ranks_here,
};
