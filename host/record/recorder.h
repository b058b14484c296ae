/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The recorder of `nof record`: a library to preload, whose MPI_X stand in front of the library's and call PMPI_X.
 *
 *   wrap_send.c, wrap_recv.c, wrap_done.c, wrap_coll.c   the functions
 *   state.c     what is recorded of a call, and which receives are named later
 *   real.c      the functions behind, call sites, communicators and types
 *   trace.c     the files
 *
 * It is linked with no MPI library: which of ours the program has is seen when it runs. With another MPI, or outside
 * `nof record`, calls go through untouched.
 *
 * Threads: any; state.c holds a lock for as long as it works, never across a call that can wait. */
#ifndef NOF_RECORD_RECORDER_H
#define NOF_RECORD_RECORDER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

#define EXPORT __attribute__((visibility("default")))

/* Of real.c. */

/* PMPI_name of the program's MPI library; ends the process with a sentence if there is none. */
void *nof_record_find(const char *name);
#define REAL(name) \
    (__extension__({ \
        static void *found_; \
        void *real_ = __atomic_load_n(&found_, __ATOMIC_RELAXED); \
        if (real_ == NULL) { \
            real_ = nof_record_find("PMPI_" #name); \
            __atomic_store_n(&found_, real_, __ATOMIC_RELAXED); \
        } \
        (__typeof__(&PMPI_##name))real_; \
    }))

/* Is this process recorded? The first call opens the files. */
bool nof_record_on(void);
/* The program's call that a function with this frame serves: as an offset in the program where it is there. `frame` is
 * __builtin_frame_address(0) of the wrapper; what the Fortran bindings put between is passed over. */
uint64_t nof_record_site(void *const *frame);
#define SITE() nof_record_site(__builtin_frame_address(0))
/* Is there an MPI_COMM_WORLD? A program of sessions alone has none. */
bool nof_record_has_world(void);
/* Small number of a communicator: 0 is MPI_COMM_WORLD, others as they come. */
uint32_t nof_record_comm_number(MPI_Comm comm);
/* The ranks in MPI_COMM_WORLD of a communicator, until it is freed, and how many; NULL: it has two groups, or is not known.
 * *first_out: nobody has asked this of it before. */
const int *nof_record_members(MPI_Comm comm, uint32_t *number_out, int *n_out, bool *first_out);
/* Rank in MPI_COMM_WORLD of `rank` of comm's (remote) group. */
int nof_record_world_rank(MPI_Comm comm, int rank);
/* Is it a type of the language that is one or two doubles? */
bool nof_record_is_double(MPI_Datatype type);
/* Is every element of the type a double? */
bool nof_record_is_doubles(MPI_Datatype type);
uint64_t nof_record_len_bytes(MPI_Count count, MPI_Datatype type);

/* Of state.c. */

/* What a send call says. */
struct nof_record_send {
    const void *buf;
    MPI_Count count;
    MPI_Datatype type;
    int dest;
    MPI_Comm comm;
};
struct nof_record_request;

/* A message that is sent now, or was. */
void nof_record_sent(const struct nof_record_send *send);
/* A receive call that has ended, with what it got. */
void nof_record_received(const struct nof_trace_call *call);
/* One that has begun. If it is for any source or tag, it waits for the end of `request`. */
void nof_record_posted(const struct nof_trace_call *call, MPI_Request request);
/* A persistent request: exactly one of both (the other NULL). */
void nof_record_made(const struct nof_record_send *send, const struct nof_trace_call *call,
                     MPI_Request request);
/* It is started. */
void nof_record_started(MPI_Request request, uint64_t site);
/* What is known of a request, or NULL; good until that ends. */
struct nof_record_request *nof_record_known(MPI_Request request);
bool nof_record_any_known(void);
/* The request has ended; NULL status: nobody knows with what. `freed`: also if it is persistent. */
void nof_record_ended(struct nof_record_request *known, const MPI_Status *status, bool freed);
/* A message that a matched probe has found: the call gets its length and site when it is received. */
void nof_record_matched(MPI_Message message, const struct nof_trace_call *call);
/* Takes it out; false: there is none. */
bool nof_record_take_matched(MPI_Message message, struct nof_trace_call *call_out);
/* A collective that has ended: its line, and before it that of its communicator, if it is the first there. */
void nof_record_collective(const char *text, size_t len_bytes);
/* One of a kind that is not recorded; one whose ranks have no number in MPI_COMM_WORLD, since there is none. */
void nof_record_other_collective(void);
void nof_record_worldless_collective(void);
/* What this thread does from now on is the program's own, until its next collective: of wrap_coll.c. */
void nof_record_computes(void);
/* Writes what can be written. */
void nof_record_finish(void);

#endif
