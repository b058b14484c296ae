/* SPDX-License-Identifier: BSD-3-Clause */
/* The library as a whole: its phase, its one lock, its end. What every entry point does first and last is entry.h's.
 *
 * The lock exists for MPI_THREAD_MULTIPLE, where pages of messages are watched, and from the first delta receive by memory on
 * (nof_lib_share()); else the program promises one call at a time.
 * It is recursive (a user's reduction function may ask for a type's extent) and is never held while
 * waiting: see wait.h. Internal functions never call an MPI_ or PMPI_ name. */
#ifndef NOF_MPI_LIB_H
#define NOF_MPI_LIB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/handle.h"
#include "mpi.h"

/* RUNNING: between MPI_Init and MPI_Finalize, or with at least one session. */
enum nof_lib_phase { NOF_LIB_BEFORE_INIT, NOF_LIB_RUNNING, NOF_LIB_FINALIZED, NOF_LIB_FORKED };

/* What MPI_Initialized and MPI_Finalized speak of. */
enum nof_lib_world { NOF_WORLD_NOT_YET, NOF_WORLD_ACTIVE, NOF_WORLD_ENDED };

struct nof_lib {
    enum nof_lib_phase phase;
    enum nof_lib_world world;
    int open_sessions;
    /* Attached to the launcher and the NIC: after the last session, too, until the process exits. */
    bool open;
    int thread_level;
    int thread_required; /* what the program asked for */
    /* Several threads may be in the library: MPI_THREAD_MULTIPLE, one of its own (delta_poll.h), or nof_lib_share(). */
    bool locking;
    bool shared; /* by that alone: others come to wait for bytes of delta messages, and for nothing else */
    bool yields; /* who leaves next, and gives the lock back: it has asked in vain */
    pthread_mutex_t lock;
    pthread_t main_thread;
    int world_rank;
    int world_size;
    int appnum;
    bool crowded; /* ranks of this host and a NIC core may outnumber the CPUs that they may use */
    bool seated; /* the ranks alone do not: each has a CPU */
    uint32_t spin_us; /* how long a blocking call polls before it sleeps */
    char host[MPI_MAX_PROCESSOR_NAME];

    /* The launcher's part in this process's end (launch.h). Asks for the job's end, and may come back; NULL: none is open. */
    void (*abort_job)(int exit_code, const char *why);
    bool abort_early; /* also of a rank that ends in MPI_Init: the launcher may not see to that by itself */

    struct nof_handle_table comms;
    struct nof_handle_table groups;
    struct nof_handle_table types;
    struct nof_handle_table ops;
    struct nof_handle_table requests;
    struct nof_handle_table errhandlers;
    struct nof_handle_table messages;
    struct nof_handle_table infos;
    struct nof_handle_table sessions;
    struct nof_handle_table wins;
    struct nof_handle_table files; /* none is ever made */
    struct nof_handle_table keyvals;
    struct nof_handle_table tool_sessions; /* MPI_T_pvar_session, MPI_T_pvar_handle */
    struct nof_handle_table tool_handles;
    struct nof_handle_table colls; /* MPIX_Coll */
};

extern struct nof_lib nof_lib
    __attribute__((visibility("hidden"))); /* of this library alone: read without a detour */

/* The call of MPI that this thread entered last. */
extern __thread const char *nof_lib_call __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Where the program called MPI, if a binding of another language said so (fortran_hooks.h); 0: it did not. */
extern __thread uint64_t nof_lib_callsite __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* init.c: MPI_Init and sessions share one library. With the mutex held. */

/* Be RUNNING, with this thread level at least (the level the program asks for, of any value). Ends the process with a
 * clear sentence where that cannot be. */
void nof_lib_begin(int required, const char *func);

/* After MPI_Finalize or MPI_Session_finalize: no longer RUNNING unless the other kind still is. */
void nof_lib_end(void);

/* What is known of the CPUs of this host, and so how long a blocking call polls before it sleeps, unless NOF_SPIN_US says. */
void nof_lib_share_cpus(bool seated, bool crowded);

/* Only the lock: for calls that are legal at any time. */
void nof_lib_lock(void);
void nof_lib_unlock(void);
/* In a call: from here on other threads may take the lock, whatever level the program has asked for. */
void nof_lib_share(void);

/* Print "rank on host: ..." and end the process and, where a launcher listens, the job. */
_Noreturn void nof_lib_die(int exit_code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where there is a launcher that may be about to end this process: give it the time to. If this one ended by itself,
 * its peers would take that for news, and the launcher its exit code for the job's. */
void nof_lib_linger(unsigned ms);

/* Nanoseconds of the monotonic clock. */
uint64_t nof_lib_now_ns(void);

/* A handle as the number that the tables know, and back. */
static inline uint64_t nof_lib_bits(const void *handle)
{
    return (uint64_t)(uintptr_t)handle;
}
static inline void *nof_lib_handle(uint64_t bits)
{
    return (void *)(uintptr_t)bits; // NOLINT: a handle, never followed
}

/* The standard's signatures take pointers to const for data that some calls only read; buffers
 * travel through one internal type. This is the only place where const is dropped. */
static inline void *nof_lib_unconst(const void *p)
{
    return (void *)(uintptr_t)p; // NOLINT
}

/* p + bytes for a void pointer. MPI_BOTTOM (NULL) is a legal base: computed on integers. */
static inline void *nof_lib_at(const void *p, ptrdiff_t bytes)
{
    return (void *)((uintptr_t)p + (uintptr_t)bytes); // NOLINT
}

#endif
