/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "attr.h"
#include "channel.h"
#include "chan_nic.h"
#include "coll.h"
#include "comm.h"
#include "launch.h"
#include "progress.h"

/* How long a blocking call polls before it sleeps, unless NOF_SPIN_US says otherwise. */
#define DEFAULT_SPIN_US 20u

const struct nof_channel *nof_channel;

static void mark_forked(void)
{
    nof_lib.phase = NOF_LIB_FORKED;
}

static void open_channel(void)
{
    char text[512] = "";
    struct nof_launch_job job;
    if (nof_launch_job(&job, text, sizeof(text)) != 0)
        nof_lib_die(1, "MPI_Init: %s", text);
    if (job.socket[0] != '\0') {
        if (nof_channel_nic_open(&job, text, sizeof(text)) != 0)
            nof_lib_die(1, "MPI_Init: %s", text);
        nof_channel = &nof_channel_nic;
    } else {
        nof_channel = &nof_channel_self; /* a world of one */
    }
}

/* That this process may use. */
static int cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static void init(int required, int *provided)
{
    char text[512] = "";
    if (nof_lib.phase == NOF_LIB_RUNNING)
        nof_lib_die(1, "MPI_Init was called twice");
    if (nof_lib.phase == NOF_LIB_FINALIZED)
        nof_lib_die(1, "MPI_Init was called after MPI_Finalize");
    if (nof_lib.phase == NOF_LIB_FORKED)
        nof_lib_die(1, "MPI_Init was called in a child made by fork()");
    if (gethostname(nof_lib.host, sizeof(nof_lib.host) - 1) != 0)
        nof_lib.host[0] = '\0';
    const char *spin = getenv("NOF_SPIN_US");
    nof_lib.spin_us = spin == NULL ? DEFAULT_SPIN_US : (uint32_t)strtoul(spin, NULL, 10);
    nof_lib.main_thread = pthread_self();
    if (nof_launch_open(text, sizeof(text)) != 0)
        nof_lib_die(1, "MPI_Init: %s", text);
    nof_lib.crowded = nof_lib.world_size + 1 > cpus();
    open_channel();
    if (nof_type_init() != 0 || nof_comm_init() != 0)
        nof_lib_die(1, "MPI_Init: no memory");
    if (nof_channel == &nof_channel_nic && nof_lib.world_size > 1)
        nof_chan_notice_start();
    pthread_atfork(NULL, NULL, mark_forked);
    nof_lib.thread_required = required;
    nof_lib.thread_level = required < MPI_THREAD_SINGLE     ? MPI_THREAD_SINGLE
                           : required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
                                                            : required;
    nof_lib.locking = nof_lib.thread_level == MPI_THREAD_MULTIPLE;
    nof_lib.phase = NOF_LIB_RUNNING;
    if (provided != NULL)
        *provided = nof_lib.thread_level;
}

NOF_MPI(Init)
int PMPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    init(MPI_THREAD_SINGLE, NULL);
    return MPI_SUCCESS;
}

NOF_MPI(Init_thread)
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    init(required, provided);
    return MPI_SUCCESS;
}

NOF_MPI(Finalize)
int PMPI_Finalize(void)
{
    nof_lib_enter(__func__);
    /* Before all else (MPI 4.1, 11.2.4). What a callback answers changes nothing any more. */
    (void)nof_attr_delete_comm(nof_comm_self());
    (void)nof_attr_delete_comm(nof_comm_world());
    /* Peers may still need this process to take part in transfers: leave together. Where one is
     * dead there is nothing to wait for. */
    if (nof_lib.world_size > 1 && nof_channel->dead_member(nof_comm_world()) == MPI_UNDEFINED)
        (void)nof_coll_barrier(nof_comm_world());
    nof_channel->flush();
    nof_channel->close();
    nof_launch_close();
    if (nof_lib.locking)
        nof_lib_unlock();
    nof_lib.phase = NOF_LIB_FINALIZED;
    return MPI_SUCCESS;
}

NOF_MPI(Initialized)
int PMPI_Initialized(int *flag)
{
    *flag = nof_lib.phase != NOF_LIB_BEFORE_INIT;
    return MPI_SUCCESS;
}

NOF_MPI(Finalized)
int PMPI_Finalized(int *flag)
{
    *flag = nof_lib.phase == NOF_LIB_FINALIZED;
    return MPI_SUCCESS;
}

NOF_MPI(Query_thread)
int PMPI_Query_thread(int *provided)
{
    nof_lib_enter(__func__);
    *provided = nof_lib.thread_level;
    return nof_lib_leave(NULL, MPI_SUCCESS, __func__);
}

NOF_MPI(Is_thread_main)
int PMPI_Is_thread_main(int *flag)
{
    nof_lib_enter(__func__);
    *flag = pthread_equal(pthread_self(), nof_lib.main_thread) != 0;
    return nof_lib_leave(NULL, MPI_SUCCESS, __func__);
}

NOF_MPI(Abort)
int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    (void)nof_comm_check(comm, &c); /* an invalid communicator is no reason to go on */
    nof_lib_die(errorcode & 0xff, "MPI_Abort(%s, %d): the job ends",
                c == NULL ? "invalid communicator" : c->name, errorcode);
}
