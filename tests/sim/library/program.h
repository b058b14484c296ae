/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A drawn MPI program: what each rank does, and what came of it. storm.c draws it, image_program.c carries it out and
 * writes down what MPI answered, oracle.c says whether MPI may. */
#ifndef NOF_SIM_LIBRARY_PROGRAM_H
#define NOF_SIM_LIBRARY_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_PROGRAM_RANKS_MAX 256u
#define NOF_PROGRAM_COMMS_MAX 5u /* world, and copies of it */
#define NOF_PROGRAM_ANY (-1) /* source or tag */
#define NOF_PROGRAM_NONE UINT32_MAX
#define NOF_PROGRAM_BLOCK_BYTES 1024u /* what is strided lies in blocks of this, with gaps as long */
#define NOF_PROGRAM_TAG_UNSENT 1000000000 /* nothing is ever sent with it */

struct nof_transfer;

/* By which functions; blocking or not is the step's. */
enum nof_way {
    NOF_WAY_PLAIN,
    NOF_WAY_PERSISTENT,
    NOF_WAY_BUFFERED, /* sends: MPI_Bsend, plain where the buffer is full */
    NOF_WAY_LET_GO, /* sends: MPI_Request_free() at once */
    NOF_WAY_STAGED, /* blocking receives: MPIX_Recv_staged */
    NOF_WAY_PARTS /* partitioned, both sides */
};

/* What is sent: one message, known to both sides by its number. */
struct nof_sent {
    int src, dst;
    unsigned comm;
    int tag;
    uint32_t len; /* bytes */
    bool sync;
    bool strided; /* lies in memory with gaps */
    bool abandoned; /* nobody receives it */
    enum nof_way way;
    unsigned parts;
    /* Written down: */
    bool started;
    bool done;
    bool cancelled;
    uint32_t order; /* among those of src, by start */
    uint64_t done_ns;
    struct nof_transfer *transfer; /* the image's, while it is under way */
};

/* A receive, in the order of `posted`. One that a probe led to has what the probe was asked for. */
struct nof_received {
    int dst;
    unsigned comm;
    int source, tag; /* NOF_PROGRAM_ANY */
    uint32_t capacity;
    bool strided;
    bool ghost; /* nobody sends it: it is to be cancelled */
    enum nof_way way;
    unsigned parts;
    /* Written down: */
    bool posted;
    bool done;
    bool cancelled;
    bool truncated;
    uint32_t order; /* among those of dst, by posting */
    uint64_t posted_ns;
    int got_source, got_tag;
    uint32_t got_len;
    uint64_t sum; /* of what came */
    struct nof_transfer *transfer;
};

enum nof_step_kind {
    SIM_STEP_ISEND, /* item */
    SIM_STEP_SEND, /* item, blocking */
    SIM_STEP_IRECV, /* item */
    SIM_STEP_RECV, /* item, blocking */
    SIM_STEP_SENDRECV, /* item is sent, spare received */
    SIM_STEP_PROBE, /* item: found with style, then received */
    SIM_STEP_CANCEL_RECV, /* item, under way; spare: the receive that takes its place, NONE for a ghost */
    SIM_STEP_CANCEL_SEND, /* item, under way; spare: the message that takes its place */
    SIM_STEP_FINISH, /* whatever is under way, in this style */
    SIM_STEP_BARRIER, /* of comm `item` */
    SIM_STEP_COLLECTIVE, /* style, over comm `item`, of `spare` numbers, with root `ns` */
    SIM_STEP_ICOLLECTIVE, /* the same, under way until FINISH */
    SIM_STEP_WINDOW, /* comm `item`: `spare` one-sided operations in this style, each of `ns` numbers */
    SIM_STEP_RENEW, /* comm `item` is freed and made anew */
    SIM_STEP_POKE, /* comm `item`, style: asks and tests, and waits for nothing */
    SIM_STEP_COMPUTE, /* for `ns` */
    SIM_STEP_OVERLAP, /* collective `style` of comm 0, with blocks of `spare` bytes, is measured */
    SIM_STEP_TIMED, /* enum nof_sim_timed_way `style`, of `spare` bytes or pages, `ns` times */
    SIM_STEP_REPLAY, /* of struct nof_program_replay */
    SIM_STEP_INCREMENTS, /* of struct nof_increments */
    SIM_STEP_DOOM, /* the process is killed after `ns`, wherever it is */
    SIM_STEP_KINDS
};

enum nof_finish_style {
    NOF_FINISH_WAITALL,
    NOF_FINISH_BACKWARDS,
    NOF_FINISH_TEST,
    NOF_FINISH_WAITANY,
    NOF_FINISH_TESTSOME,
    NOF_FINISH_WAITSOME,
    NOF_FINISH_TESTANY,
    NOF_FINISH_TESTALL,
    NOF_FINISH_STYLES
};

enum nof_probe_style {
    NOF_PROBE_BLOCKING,
    NOF_PROBE_POLLING,
    NOF_PROBE_MATCHED,
    NOF_PROBE_MATCHED_POLLING,
    NOF_PROBE_MATCHED_LATER, /* its receive does not block */
    NOF_PROBE_STYLES
};

enum nof_collective {
    NOF_COLLECTIVE_BARRIER,
    NOF_COLLECTIVE_ALLREDUCE,
    NOF_COLLECTIVE_BCAST,
    NOF_COLLECTIVE_REDUCE,
    NOF_COLLECTIVE_ALLGATHER,
    NOF_COLLECTIVE_ALLTOALL,
    NOF_COLLECTIVE_SCAN,
    NOF_COLLECTIVE_KINDS,
    NOF_COLLECTIVE_REDUCE_SCATTER, /* of overlap.c alone, of equal blocks */
    NOF_COLLECTIVE_SCATTERV /* what a blocking broadcast becomes where groups may be opened: by a dynamic one */
};

enum nof_window_style { NOF_WINDOW_FENCE, NOF_WINDOW_LOCK, NOF_WINDOW_LOCK_ALL, NOF_WINDOW_STYLES };

enum nof_poke_style { NOF_POKE_PROBE, NOF_POKE_ASK, NOF_POKE_TEST, NOF_POKE_STYLES };

struct nof_step {
    enum nof_step_kind kind;
    unsigned style;
    uint32_t item;
    uint32_t spare;
    uint64_t ns;
};

struct nof_steps {
    struct nof_step *step;
    unsigned count, room;
    unsigned at; /* written down: where the rank is */
};

/* Of the slowest rank, in nanoseconds; descriptors of this one. */
struct nof_overlap {
    double pure_ns; /* the collective alone */
    double exposed_ns; /* with a computation of that length, what was left of it */
    uint64_t descs; /* for one collective, at most */
};

/* Of the slowest rank; descriptors of this one. */
struct nof_timed {
    double sum_ns; /* of all times */
    double median_ns;
    uint64_t descs; /* in the last time */
};

/* What tasks of bench/programs/delta_patterns.h do. */
struct nof_increments {
    unsigned pattern;
    bool by_os;
    bool alone; /* in the last form alone */
    size_t bytes; /* of a message */
    int64_t page_ns; /* of computing */
    uint64_t write_fault_ns, read_fault_ns, call_ns; /* that they cost the program */
    double taken_ns[3]; /* by form; 0: there is none. Of the slowest */
};

/* Collectives that a program was seen to call. */
struct coll_trace; /* bench/programs/coll_trace.h */
struct nof_program_replay {
    const struct coll_trace *trace; /* of each rank */
    double factor; /* of what was computed */
    uint64_t began_ns, ended_ns; /* written down: by the first, by the last; 0: by none */
};

struct nof_program {
    unsigned nranks;
    unsigned ncomms;
    bool reversed[NOF_PROGRAM_COMMS_MAX]; /* the ranks of this one count the other way round */
    uint32_t buffer_bytes; /* attached for buffered sends */
    uint64_t together_bytes; /* what collectives and windows hold of a process's memory */
    bool abandons; /* sends what nobody receives */
    bool stays; /* until its spill mode is over, before it calls MPI_Finalize */
    bool mortal; /* processes are killed: errors may come after the first death, and: */
    bool
        goes_on; /* a rank goes on after an error, and stays when it has come to the end; else the error is its end */
    struct nof_sent *sent;
    unsigned nsent, sent_room;
    struct nof_received *received;
    unsigned nreceived, received_room;
    struct nof_steps rank[NOF_PROGRAM_RANKS_MAX];
    uint64_t callsites; /* so many places receive */
    /* Written down: */
    struct nof_overlap overlap[NOF_PROGRAM_RANKS_MAX];
    struct nof_timed timed[NOF_PROGRAM_RANKS_MAX];
    struct nof_increments *increments; /* NULL: none */
    struct nof_program_replay *replay; /* NULL: none */
    uint64_t death_ns; /* the first; 0: none yet */
    uint64_t end_ns; /* the last that came to its end */
};

/* The rank that has `rank` of the world in this communicator, and the other way round. */
static inline int nof_program_rank(const struct nof_program *p, unsigned comm, int rank)
{
    return p->reversed[comm] ? (int)p->nranks - 1 - rank : rank;
}

const char *nof_step_name(enum nof_step_kind kind);

/* The payload of message `id` is made of its number. */
static inline uint8_t nof_payload_byte(uint64_t id, uint32_t at)
{
    return (uint8_t)((id * 0x9e3779b97f4a7c15ull >> 56) + at * 31u + (at >> 8));
}

/* FNV-1a, of a byte more. */
#define NOF_SUM_START 0xcbf29ce484222325ull
static inline uint64_t nof_sum_byte(uint64_t sum, uint8_t byte)
{
    return (sum ^ byte) * 0x100000001b3ull;
}

#endif
