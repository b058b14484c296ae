/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/wait_board.h"
#include "chan/nic/chan_nic.h"
#include "chan/chan.h"
#include "chan/shm/shm.h"
#include "chan/thresholds.h"
#include "chan/ways.h"
#include "coll/left.h"
#include "coll/group/scatter_group.h"
#include "coll/coll.h"
#include "coll/program_cache.h"
#include "coll/select.h"
#include "comm/comm.h"
#include "comm/entry.h"
#include "delta/delta_out.h"
#include "delta/delta_poll.h"
#include "delta/delta_scan.h"
#include "delta/delta_size.h"
#include "delta/delta_watch.h"
#include "delta/delta_way.h"
#include "base/error.h"
#include "base/publish.h"
#include "launch/launch.h"
#include "nof_private/env.h"
#include "api/leaks.h"
#include "tool/nic_control.h"
#include "tool/tool.h"
#include "p2p/delta_p2p.h"
#include "p2p/staged.h"
#include "base/wait.h"

/* Another thread may have had the lock, and is not in the child, where some calls are legal still. */
static void mark_forked(void)
{
    nof_lib.phase = NOF_LIB_FORKED;
    nof_lib.lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

/* NOF_CHANNELS: which channels messages may take. NULL, as where it is empty: as feature "channels" says. By memory delta messages go
 * at their end, and who asks for pages that tell of increments would have none early: such a rank goes by the NIC. */
static const enum nof_channels *wanted_way(const char *func)
{
    static enum nof_channels way;
    const char *channels = nof_env("NOF_CHANNELS");
    if (channels != NULL && !nof_ways_named(channels, &way))
        nof_lib_die(1, "%s: NOF_CHANNELS is \"%s\": must be " NOF_WAYS_LIST, func, channels);
    if (nof_delta_trigger() == NOF_DELTA_EXPLICIT)
        return channels == NULL ? NULL : &way;
    way = NOF_CHANNELS_NIC;
    return &way;
}

/* This rank takes messages by memory, if the NIC has given it a part of any. */
static void publish_shm(const enum nof_channels *way)
{
    char text[256];
    if (nof_shm_publish(way, text, sizeof(text)) || text[0] == '\0')
        return;
    fprintf(stderr,
            "libmpi_offload: rank %d on %s: %s: its messages go by the NIC, also those between ranks of this "
            "host\n",
            nof_lib.world_rank, nof_lib.host, text);
}

/* True: that of a NIC. */
static bool open_channel(const char *func)
{
    char text[512] = "";
    struct nof_launch_job job;
    /* A world of one may have no NIC, and then no way to choose. */
    const enum nof_channels *way = nof_lib.world_size > 1 ? wanted_way(func) : NULL;
    if (nof_launch_job(&job, nof_chan_nic_attach, way, text, sizeof(text)) != 0)
        nof_lib_die(1, "%s: %s", func, text);
    if (job.socket[0] != '\0') {
        way = wanted_way(func);
        if ((!nof_chan_nic_attached() && nof_chan_nic_attach(&job, way, text, sizeof(text)) != 0) ||
            nof_chan_nic_open(text, sizeof(text)) != 0)
            nof_lib_die(1, "%s: %s", func, text);
        publish_shm(way);
        if (nof_chan_nic_publish_places(text, sizeof(text)) != 0)
            nof_lib_die(1, "%s: %s", func, text);
        nof_chan_use(&nof_chan_by_nic);
        nof_shm_open();
        nof_chan_use_both(&nof_chan_by_both);
        nof_nic_control_at(job.socket);
    } else {
        nof_chan_use(&nof_chan_by_self); /* a world of one */
    }
    nof_chan_on_death(nof_sched_fail_rank);
    nof_chan_on_layout_gone(nof_program_cache_forget_layout);
    nof_comm_on_gone(nof_program_cache_forget_comm);
    nof_comm_on_gone(nof_coll_group_forget);
    nof_comm_on_gone(nof_left_comm);
    nof_chan_on_failure(nof_sched_fail_run);
    nof_sched_open();
    return job.socket[0] != '\0';
}

/* That this process may use. */
static int cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* With the other ranks of this host. Whoever has memory with them counts theirs, too (chan/shm/shm_open.c). */
static void share_cpus(void)
{
    int here = nof_launch_ranks_here(), ranks = here > 0 ? here : nof_lib.world_size;
    nof_lib_share_cpus(ranks <= cpus(), ranks + 1 > cpus());
}

static void open_library(const char *func)
{
    char text[512] = "";
    if (gethostname(nof_lib.host, sizeof(nof_lib.host) - 1) != 0)
        nof_lib.host[0] = '\0';
    nof_lib.main_thread = pthread_self();
    /* The launcher first: what is wrong here alone ends the job, not this rank. */
    if (nof_launch_open(text, sizeof(text)) != 0 || nof_select_open(text, sizeof(text)) != 0 ||
        nof_delta_size_open(text, sizeof(text)) != 0 || nof_delta_way_open(text, sizeof(text)) != 0 ||
        nof_thresholds_open(text, sizeof(text)) != 0)
        nof_lib_die(1, "%s: %s", func, text);
    share_cpus();
    bool nic = open_channel(func);
    if (nof_type_init() != 0 || nof_comm_init() != 0)
        nof_lib_die(1, "%s: no memory", func);
    if (nic && nof_lib.world_size > 1)
        nof_chan_nic_notice_start();
    if (nic) {
        nof_board_open();
        nof_publish_open(nof_tool_parts(), nof_chan_nic_library_counts(NOF_LIBRARY_COUNT_MAX));
    }
    pthread_atfork(NULL, NULL, mark_forked);
    nof_lib.open = true;
}

/* Peers may still need this process to take part in transfers: leave together. Where one is dead there is
 * nothing to wait for. Returns the class of a delta send that has failed and that nobody waited for, or MPI_SUCCESS. */
static int close_library(void)
{
    nof_delta_watch_close();
    nof_delta_scan_end();
    nof_delta_poll_end();
    nof_delta_end_all();
    nof_left_all();
    if (nof_leaks_wanted() && nof_chan_dead_member(nof_comm_world()) == MPI_UNDEFINED)
        nof_leaks_report();
    if (nof_chan_dead_member(nof_comm_world()) == MPI_UNDEFINED &&
        nof_coll_barrier(nof_comm_world()) == MPI_SUCCESS) {
        nof_leaks_drop_matched();
        nof_chan_withdraw();
    }
    nof_delta_recv_close(nof_leaks_wanted());
    nof_program_cache_clear();
    nof_scatter_group_close_all();
    nof_coll_group_clear();
    nof_chan_flush();
    int left = nof_error_class(nof_delta_send_close());
    for (int i = 0; i < NOF_LIBRARY_COUNT_MAX; i++)
        nof_board_count((unsigned)i, nof_tool_counted(i));
    nof_publish_close();
    nof_board_close();
    nof_staged_close();
    nof_chan_close();
    nof_launch_close();
    nof_lib.open = false;
    return left;
}

/* Sessions come and go in each process as it likes, so that no session's end is the moment to leave together. */
static void close_at_exit(void)
{
    if (!nof_lib.open || nof_lib.phase != NOF_LIB_FINALIZED)
        return;
    pthread_mutex_lock(&nof_lib.lock);
    nof_lib.phase = NOF_LIB_RUNNING;
    (void)close_library();
    nof_lib.phase = NOF_LIB_FINALIZED;
    pthread_mutex_unlock(&nof_lib.lock);
}

void nof_lib_begin(int required, const char *func)
{
    static bool at_exit;
    if (nof_lib.phase == NOF_LIB_FORKED)
        nof_lib_die(1, "%s was called in a child made by fork()", func);
    if (nof_lib.phase == NOF_LIB_FINALIZED && !nof_lib.open)
        nof_lib_die(1, "%s was called after MPI_Finalize, with which this process left the job", func);
    if (!nof_lib.open)
        open_library(func);
    if (!at_exit && nof_lib.world == NOF_WORLD_NOT_YET) {
        at_exit = true;
        (void)atexit(close_at_exit);
    }
    if (nof_lib.phase != NOF_LIB_RUNNING || required > nof_lib.thread_level)
        nof_lib.thread_level = required < MPI_THREAD_SINGLE     ? MPI_THREAD_SINGLE
                               : required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
                                                                : required;
    nof_lib.shared = nof_lib.phase == NOF_LIB_RUNNING && nof_lib.shared;
    nof_lib.locking = nof_lib.shared || nof_lib.thread_level == MPI_THREAD_MULTIPLE ||
                      nof_delta_trigger() != NOF_DELTA_EXPLICIT;
    nof_lib.phase = NOF_LIB_RUNNING;
}

void nof_lib_end(void)
{
    if (nof_lib.world == NOF_WORLD_ACTIVE || nof_lib.open_sessions > 0)
        return;
    nof_chan_flush();
    nof_lib.phase = NOF_LIB_FINALIZED;
}

static void init(int required, int *provided)
{
    /* The mutex itself: nof_lib_lock() depends on what is about to change. */
    pthread_mutex_lock(&nof_lib.lock);
    if (nof_lib.world == NOF_WORLD_ACTIVE)
        nof_lib_die(1, "MPI_Init was called twice");
    if (nof_lib.world == NOF_WORLD_ENDED)
        nof_lib_die(1, "MPI_Init was called after MPI_Finalize");
    nof_lib_begin(required, "MPI_Init");
    nof_lib.world = NOF_WORLD_ACTIVE;
    nof_lib.thread_required = required;
    nof_error_set_session(NULL);
    if (provided != NULL)
        *provided = nof_lib.thread_level;
    pthread_mutex_unlock(&nof_lib.lock);
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
    if (nof_lib.world != NOF_WORLD_ACTIVE)
        nof_lib_die(1, "MPI_Finalize was called, but MPI_Init was not, or MPI_Finalize was before");
    /* Before all else (MPI 4.1, 11.2.4). What a callback answers changes nothing any more. */
    (void)nof_attr_delete_comm(nof_comm_self());
    (void)nof_attr_delete_comm(nof_comm_world());
    nof_lib.world = NOF_WORLD_ENDED;
    int rc = nof_lib.open_sessions == 0 ? close_library() : MPI_SUCCESS;
    bool locked = nof_lib.locking;
    if (nof_lib.open_sessions == 0)
        nof_lib.phase = NOF_LIB_FINALIZED;
    if (locked)
        pthread_mutex_unlock(&nof_lib.lock);
    return rc;
}

/* What may be asked at any time. */
static int answer(int *place, int value, const char *func)
{
    if (place != NULL) {
        *place = value;
        return MPI_SUCCESS;
    }
    nof_lib_lock();
    return nof_lib_leave_anytime(nof_error_if_null(place, "the place for the answer"), func);
}

NOF_MPI(Initialized)
int PMPI_Initialized(int *flag)
{
    return answer(flag, nof_lib.world != NOF_WORLD_NOT_YET, __func__);
}

NOF_MPI(Finalized)
int PMPI_Finalized(int *flag)
{
    return answer(flag, nof_lib.world == NOF_WORLD_ENDED, __func__);
}

NOF_MPI(Query_thread)
int PMPI_Query_thread(int *provided)
{
    nof_lib_enter(__func__);
    int rc = nof_error_if_null(provided, "the place for the level");
    if (rc == MPI_SUCCESS)
        *provided = nof_lib.thread_level;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Is_thread_main)
int PMPI_Is_thread_main(int *flag)
{
    nof_lib_enter(__func__);
    int rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS)
        *flag = pthread_equal(pthread_self(), nof_lib.main_thread) != 0;
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Abort)
int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    (void)nof_comm_check(comm, &c); /* an invalid communicator is no reason to go on */
    nof_publish(nof_lib_now_ns());
    const char *name = c == NULL ? "invalid communicator" : c->name;
    nof_lib_die(errorcode & 0xff, "MPI_Abort(%s, %d): the job ends",
                name[0] != '\0' ? name : "a communicator without a name", errorcode);
}
