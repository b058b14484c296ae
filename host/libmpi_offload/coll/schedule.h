/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: a collective as a list of steps, built once and executed by progress.
 *
 *   new() -> send/recv/copy/reduce/fence ... -> run() or start() -> free()
 *
 * Steps between two fences are one round: they are issued in order (copies and reductions are done
 * at once), and the next round begins when all of the round has completed. So a blocking, a
 * non-blocking and a persistent collective are the same schedule.
 *
 * The NIC gets the same list as a program (compile.h, offload.h), goes through it by itself, asks for those copies and
 * reductions between transfers that it cannot do, and tells its end. Where it cannot, the host goes through the list, as above: each
 * rank for itself, because the messages are the same.
 *
 * On an inter-communicator peers are ranks of the remote group, until nof_sched_side() turns to the
 * local group.
 *
 * Tags. Messages carry the schedule's tag in the communicator's context for collectives: the number of
 * the collective, which all ranks count alike because they call collectives in one order. It is taken
 * when the schedule is first started, after the arguments were found good. Those with a request have numbers of their
 * own: they match no blocking ones (MPI 4.1, 6.12), and a program that gets the order of the two wrong between ranks
 * works, as with other libraries. A persistent one has its place in a third kind since it is made, and a tag there for each start.
 *
 * Errors: builders remember the first one; a run of such a schedule ends with it at once, and all ranks are told. A step that fails
 * ends the schedule: its receives are cancelled (a program, as a whole), its sends are left to themselves, and all that it has
 * messages with are told (coll_abort.h), whose schedules end likewise. A message that is longer than
 * its receive, or a copy that is longer than its target, is cut and reported at the end: the other ranks, who know nothing
 * of it, would wait for ever for one that stayed away.
 *
 * Memory: the schedule owns its temporary buffers and references of its types and operations.
 * Threads: under the library's lock. */
#ifndef NOF_MPI_SCHED_H
#define NOF_MPI_SCHED_H

#include "coll/steps/under_way.h"
#include "coll/steps/waited.h"
#include "comm/comm.h"
#include "type/op.h"
#include "type/type.h"

struct nof_offload;
struct nof_request;
struct nof_section;
struct nof_step;

struct nof_sched_temporary { /* `bytes` at memory, malloc'ed; base: what the builder was given */
    char *memory;
    const char *base;
    size_t bytes;
};

struct nof_coll_blame { /* of a failure; zero: there is none that others have to hear of */
    int status; /* enum nof_status */
    int rank; /* job rank whose failure it is */
};

struct nof_sched {
    struct nof_comm *comm; /* a reference */
    int rank; /* in the group that peers are ranks of; on the remote side, in the local one */
    int size; /* of the group that peers are ranks of */
    bool local; /* steps that are added go to comm->local */
    const int *among; /* ranks of the communicator that peers are; NULL: all */
    bool exact;
    size_t meets;
    uint8_t agreed; /* coll/agree.h */
    int tag; /* of the run */
    int local_tag;
    uint32_t kept_at, local_kept_at; /* persistent: which tags are its own */
    uint32_t number; /* of the run, among those with this tag; persistent: of the start */
    struct nof_coll_blame blame;
    bool told; /* the others, of the blame */
    struct nof_waited waited; /* steps of the host alone */
    uint64_t ask_ns; /* when others are asked whether they call the same; 0: it has not waited long */
    uint64_t asked_for_ns; /* how long after the last time */
    size_t ask_at; /* the step whose peer is next */
    int ask_member; /* of one that is multicast: the rank that is; 0: all have been asked */
    struct nof_step *steps;
    size_t count;
    size_t capacity;
    size_t at; /* next step */
    size_t
        pending; /* requests of this round, one while the round is being issued, and one while the NIC runs it */
    bool running;
    bool gives; /* to the NIC, where its steps begin */
    bool done;
    bool ready; /* in the list of those to be run on */
    bool kept; /* persistent */
    bool has_place; /* kept_at and local_kept_at are its own, or NO_PLACE; else a compiled scatter's */
    bool blocking; /* somebody waits for it in the call that made it */
    bool multicast; /* it has a step that is */
    bool leak_temporaries; /* a send that was left to itself may still read them */
    int build_error;
    int too_long; /* a copy does not fit: found while building, told like `truncated` */
    int error;
    int truncated; /* a message was too long: told at the end, because others wait for what follows */
    struct nof_offload *offload; /* NULL: the NIC was never asked to run it */
    struct nof_under_way under_way;
    const void *buffer[2]; /* of the program; NULL: not known */
    struct nof_sched_temporary *temporaries;
    size_t temporary_count;
    struct nof_request *request; /* ended together with the schedule; NULL: blocking call */
    struct nof_sched *next_ready;
    struct nof_sched *next_active;
    struct nof_sched *prev_active;
};

/* Once, before the first: those that wait long are looked after from now on. */
void nof_sched_open(void);

/* NULL: no memory. */
struct nof_sched *nof_sched_new(struct nof_comm *comm);
void nof_sched_free(struct nof_sched *s);

/* The program's buffers, of which steps are parts. They need not be told: a schedule of buffers that were has the same
 * program wherever these lie (compile.h). */
static inline void nof_sched_buffers(struct nof_sched *s, const void *send, const void *recv)
{
    s->buffer[0] = send;
    s->buffer[1] = recv;
}

void nof_sched_send(struct nof_sched *s, const void *buf, size_t count, struct nof_type *type, int peer);
void nof_sched_recv(struct nof_sched *s, void *buf, size_t count, struct nof_type *type, int peer);
struct nof_data;
struct nof_group_step;
/* One message for the group, of bytes that lie together: sent, or received from `root`. */
void nof_sched_multicast(struct nof_sched *s, const struct nof_data *data, const struct nof_group_step *step,
                         bool sends, int root);
/* A source that is longer than its target is cut: MPI_ERR_TRUNCATE when the schedule has ended. */
void nof_sched_copy(struct nof_sched *s, const void *from, size_t from_count, struct nof_type *from_type,
                    void *to, size_t to_count, struct nof_type *to_type);
/* inout = in op inout */
void nof_sched_reduce(struct nof_sched *s, struct nof_op *op, struct nof_type *type, const void *in,
                      void *inout, size_t count);
/* Write to a section of an array, which lies in the schedule's memory, what of `now` is another than `before`. */
void nof_sched_update(struct nof_sched *s, const struct nof_section *section, const void *now,
                      const void *before);
void nof_sched_fence(struct nof_sched *s);
/* Rounds of transfers, none of which touches what another one does: they are for the switches' sake alone.
 * The host begins the next one when little is left of those before it; so does the NIC with the next send, and the receives of
 * later rounds wait for nothing there. */
void nof_sched_turn(struct nof_sched *s);

/* From here on messages have the length that is expected: another one is MPI_ERR_COUNT or MPI_ERR_TRUNCATE when the schedule
 * has ended, and this rank sends empty ones on, so that those behind it that expect something learn of it. */
static inline void nof_sched_exact(struct nof_sched *s, bool exact)
{
    s->exact = exact;
}

/* From here on what is sent meets others on its way to one receiver, so many bytes in all, which their NICs should know for the switches'
 * sake ("Many to one" in nof/desc.h); 0: it does not. */
static inline void nof_sched_meets(struct nof_sched *s, size_t bytes)
{
    s->meets = bytes;
}

/* Of an inter-communicator: a fence, then rank, size and peers are those of the local group, or of the
 * remote one again. */
void nof_sched_side(struct nof_sched *s, bool local);

/* Of an intra-communicator: from here on peers are ranks among these `size` of its ranks, of which this one is number `rank`. They
 * must lie there until another call, of which `members` NULL says: among all. */
void nof_sched_among(struct nof_sched *s, const int *members, int size, int rank);

/* A temporary buffer for `count` elements, as a base address for that type; NULL when memory is
 * short, which is remembered (steps with it are never executed). */
void *nof_sched_temporary(struct nof_sched *s, size_t count, const struct nof_type *type);

/* The request, of kind COLL, ends together with the schedule, and has it from now on. */
void nof_sched_end_with(struct nof_sched *s, struct nof_request *req);

/* It is persistent, and has a place of its own until it is freed. Not MPI_SUCCESS: there is none; it must not be started. */
int nof_sched_keep(struct nof_sched *s);
/* The error of who has none. */
int nof_kept_no_place(void);

/* Begin: 0. It may end at once, with an error. May be called again when done (persistent). */
int nof_sched_start(struct nof_sched *s);

/* start(), wait, free(): a blocking collective. s may be NULL (no memory). */
int nof_sched_run(struct nof_sched *s);

struct nof_chan_failure;
/* Another rank tells of a run that has failed: it ends with `code`, now or when it begins; or it asks (agree.h). */
void nof_sched_fail_run(const struct nof_chan_failure *failure, int code);

/* Job rank `world_rank` is dead: every schedule of a communicator it belongs to ends with `code`. */
void nof_sched_fail_rank(int world_rank, int code);

#endif
