/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long collectives, compiled communication and the barriers of a shared memory take, each time from when all ranks may
 * begin until the slowest has ended. */
#include <stdlib.h>
#include <string.h>

#include "image_run.h"
#include "phases.h"
#include "sim.h"

#define NOF_COMPILED 1
#include "../../../bench/programs/dsm.h"

#define WARM 2
#define WARM_MULTICAST \
    12 /* rounds until all have agreed that there is a group (docs/decisions/0030-multicast.md) */
#define GROUP_OPENS_NS 20000000u
#define SMALL_BYTES 2048u /* as the library has it */

struct exchange {
    int n, bytes;
    int *count, *matrix, *to_at, *from_at;
    char *out, *in;
    MPIX_Coll coll;
    MPI_Request request;
    struct dsm dsm;
    int iteration;
};

struct way {
    void (*prepare)(struct exchange *x); /* or NULL */
    void (*once)(struct exchange *x);
    void (*end)(struct exchange *x); /* or NULL */
    bool gathers; /* what a rank sends lies in its buffer once */
    bool to_root; /* and comes to rank 0 alone */
};

static void dsm_fail(const char *what)
{
    nof_run_fail("%s", what);
    abort();
}

static void check(int rc)
{
    nof_run_check(rc, "what is timed", 0);
}

static unsigned char byte_of(int from, int to, int at)
{
    return (unsigned char)dsm_mixed(((uint64_t)(unsigned)from << 48) ^ ((uint64_t)(unsigned)to << 32) ^
                                    (unsigned)at);
}

static void alltoall(struct exchange *x)
{
    check(MPI_Alltoall(x->out, x->bytes, MPI_BYTE, x->in, x->bytes, MPI_BYTE, MPI_COMM_WORLD));
}

/* What is copied there first takes no time (measure.h). */
static void in_place(struct exchange *x)
{
    memcpy(x->in, x->out, (size_t)x->n * (size_t)x->bytes);
    check(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x->in, x->bytes, MPI_BYTE, MPI_COMM_WORLD));
}

static void alltoallv(struct exchange *x)
{
    check(MPI_Alltoallv(x->out, x->count, x->to_at, MPI_BYTE, x->in, x->count, x->from_at, MPI_BYTE,
                        MPI_COMM_WORLD));
}

static void allgather(struct exchange *x)
{
    check(MPI_Allgather(x->out, x->bytes, MPI_BYTE, x->in, x->bytes, MPI_BYTE, MPI_COMM_WORLD));
}

static void gather(struct exchange *x)
{
    check(MPI_Gather(x->out, x->bytes, MPI_BYTE, x->in, x->bytes, MPI_BYTE, 0, MPI_COMM_WORLD));
}

static void broadcasts(struct exchange *x)
{
    memcpy(x->in + (size_t)nof_image->rank * (size_t)x->bytes, x->out, (size_t)x->bytes);
    for (int i = 0; i < x->n; i++)
        check(MPI_Bcast(x->in + (size_t)i * (size_t)x->bytes, x->bytes, MPI_BYTE, i, MPI_COMM_WORLD));
}

static void open_group(struct exchange *x)
{
    for (int i = 0; i < WARM_MULTICAST; i++) {
        broadcasts(x);
        nof_image->ops->nap(nof_image->process, GROUP_OPENS_NS);
    }
}

static void init(struct exchange *x)
{
    check(MPI_Alltoallv_init(x->out, x->count, x->to_at, MPI_BYTE, x->in, x->count, x->from_at, MPI_BYTE,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &x->request));
}

static void start(struct exchange *x)
{
    check(MPI_Start(&x->request));
    check(MPI_Wait(&x->request, MPI_STATUS_IGNORE));
}

static void free_request(struct exchange *x)
{
    check(MPI_Request_free(&x->request));
}

static void control2(struct exchange *x)
{
    check(MPIX_Alltoallv_control2(x->matrix, x->to_at, MPI_BYTE, x->from_at, MPI_BYTE, MPI_COMM_WORLD,
                                  &x->coll));
}

/* What `nof schedule` would have put into the program. */
static void load(struct exchange *x)
{
    size_t n = (size_t)x->n, pairs = 0;
    struct nof_phases_message *message = dsm_room(n * n * sizeof(*message));
    struct nof_phases_pattern pattern = {(uint32_t)n, message, 0};
    struct nof_phases *dealt;
    for (size_t i = 0; i < n * n; i++)
        message[pattern.message_count++] =
            (struct nof_phases_message){(uint32_t)(i / n), (uint32_t)(i % n), (uint64_t)x->bytes};
    if (nof_phases_schedule(NOF_PHASES_ALLTOALL, &pattern, SMALL_BYTES, &dealt) != 0)
        dsm_fail("no phases");
    int *first = dsm_room((dealt->phase_count + 1) * sizeof(*first));
    int(*pair)[2] = dsm_room((dealt->piece_count + 1) * sizeof(*pair));
    for (size_t k = 0; k < dealt->phase_count; k++) {
        for (size_t i = 0; i < dealt->phase[k].piece_count; i++, pairs++) {
            pair[pairs][0] = (int)dealt->piece[dealt->phase[k].first_piece + i].source;
            pair[pairs][1] = (int)dealt->piece[dealt->phase[k].first_piece + i].destination;
        }
        first[k + 1] = (int)pairs;
    }
    struct MPIX_Phases phases = {x->n, (int)dealt->phase_count, first, (const int(*)[2])pair};
    check(MPIX_Alltoallv_load(&phases, x->count, x->to_at, MPI_BYTE, x->count, x->from_at, MPI_BYTE,
                              MPI_COMM_WORLD, &x->coll));
    nof_phases_free(dealt);
    free(first);
    free(pair);
    free(message);
}

static void at_once(struct exchange *x)
{
    check(MPIX_Alltoallv_data_trans1(x->out, x->in, x->coll));
}

static void phased(struct exchange *x)
{
    check(MPIX_Alltoallv_data_trans2(x->out, x->in, x->coll));
}

static void free_coll(struct exchange *x)
{
    check(MPIX_Coll_free(&x->coll));
}

static void level1(struct exchange *x)
{
    check(MPIX_Alltoallv_control1(x->count, x->to_at, MPI_BYTE, x->count, x->from_at, MPI_BYTE,
                                  MPI_COMM_WORLD, &x->coll));
    phased(x);
    free_coll(x);
}

static void level2(struct exchange *x)
{
    control2(x);
    phased(x);
    free_coll(x);
}

static void dsm_by_level1(struct exchange *x)
{
    dsm_write(&x->dsm, x->iteration);
    dsm_barrier(&x->dsm, dsm_level1);
}

static void dsm_by_messages(struct exchange *x)
{
    dsm_write(&x->dsm, x->iteration);
    dsm_barrier(&x->dsm, dsm_dynamic);
}

static const struct way ways[NOF_SIM_TIMED_COUNT] = {
    [NOF_SIM_TIMED_ALLTOALL] = {NULL, alltoall, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALL_PAIRWISE] = {NULL, alltoall, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALL_BARRIER] = {NULL, alltoall, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALL_UNSCHEDULED] = {NULL, alltoall, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALL_IN_PLACE] = {NULL, in_place, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALL_IN_PLACE_AT_ONCE] = {NULL, in_place, NULL, false, false},
    [NOF_SIM_TIMED_ALLTOALLV] = {NULL, alltoallv, NULL, false, false},
    [NOF_SIM_TIMED_LEVEL1] = {NULL, level1, NULL, false, false},
    [NOF_SIM_TIMED_LEVEL2] = {NULL, level2, NULL, false, false},
    [NOF_SIM_TIMED_LEVEL3] = {load, phased, free_coll, false, false},
    [NOF_SIM_TIMED_AT_ONCE] = {load, at_once, free_coll, false, false},
    [NOF_SIM_TIMED_PERSISTENT] = {init, start, free_request, false, false},
    [NOF_SIM_TIMED_ALLGATHER] = {NULL, allgather, NULL, true, false},
    [NOF_SIM_TIMED_ALLGATHER_UNICAST] = {control2, at_once, free_coll, true, false},
    [NOF_SIM_TIMED_ALLGATHER_PHASED] = {control2, phased, free_coll, true, false},
    [NOF_SIM_TIMED_ALLGATHER_MULTICAST] = {open_group, broadcasts, NULL, true, false},
    [NOF_SIM_TIMED_GATHER] = {NULL, gather, NULL, true, true},
    [NOF_SIM_TIMED_GATHER_TREE] = {NULL, gather, NULL, true, true},
    [NOF_SIM_TIMED_GATHER_LINEAR] = {NULL, gather, NULL, true, true},
    [NOF_SIM_TIMED_DSM_LEVEL1] = {NULL, dsm_by_level1, NULL, false, false},
    [NOF_SIM_TIMED_DSM_DYNAMIC] = {NULL, dsm_by_messages, NULL, false, false},
};

static void allocate(struct exchange *x, bool gathers)
{
    size_t n = (size_t)x->n, ints = n * sizeof(int);
    x->count = dsm_room(ints), x->to_at = dsm_room(ints), x->from_at = dsm_room(ints);
    x->matrix = dsm_room(n * ints);
    x->out = dsm_room(n * (size_t)x->bytes), x->in = dsm_room(n * (size_t)x->bytes);
    for (int i = 0; i < x->n * x->n; i++)
        x->matrix[i] = x->bytes;
    for (int i = 0; i < x->n; i++) {
        x->count[i] = x->bytes;
        x->from_at[i] = i * x->bytes;
        x->to_at[i] = gathers ? 0 : i * x->bytes;
        for (int k = 0; k < x->bytes && (i == 0 || !gathers); k++)
            x->out[x->to_at[i] + k] = (char)byte_of(nof_image->rank, gathers ? 0 : i, k);
    }
}

static void verify(const struct exchange *x, const struct way *way)
{
    if (way->to_root && nof_image->rank != 0)
        return;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < x->bytes; k++)
            if (x->in[x->from_at[i] + k] != (char)byte_of(i, way->gathers ? 0 : nof_image->rank, k)) {
                nof_run_fail("byte %d of rank %d is wrong", k, i);
                return;
            }
}

/* Nanoseconds of this rank. */
static double once(struct exchange *x, const struct way *way, bool dsm, struct nof_timed *t)
{
    if (dsm)
        dsm_draw_writers(&x->dsm, x->iteration);
    else
        memset(x->in, 0, (size_t)x->n * (size_t)x->bytes);
    check(MPI_Barrier(MPI_COMM_WORLD));
    uint64_t descs = nof_image->submitted, began_ns = nof_image->ops->now_ns(nof_image->process);
    way->once(x);
    t->descs = nof_image->submitted - descs;
    double ns = (double)(nof_image->ops->now_ns(nof_image->process) - began_ns);
    if (dsm)
        dsm_verify(&x->dsm, x->iteration, DSM_PAGE_WORDS);
    else
        verify(x, way);
    x->iteration++;
    return ns;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(struct exchange *x, const struct way *way, bool dsm, int times, struct nof_timed *t)
{
    double *ns = dsm_room((size_t)times * sizeof(*ns));
    for (int i = -WARM; i < times; i++) {
        double mine = once(x, way, dsm, t), slowest = 0;
        check(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
        if (i >= 0)
            ns[i] = slowest;
        if (i >= 0)
            t->sum_ns += slowest;
    }
    qsort(ns, (size_t)times, sizeof(*ns), compare);
    t->median_ns = ns[times / 2];
    free(ns);
}

void nof_timed_run(const struct nof_step *step)
{
    const struct way *way = &ways[step->style];
    bool dsm = step->style == NOF_SIM_TIMED_DSM_LEVEL1 || step->style == NOF_SIM_TIMED_DSM_DYNAMIC;
    struct exchange x = {.n = nof_image->size, .bytes = dsm ? 1 : (int)step->spare};
    allocate(&x, way->gathers);
    if (dsm) {
        x.dsm = (struct dsm){.rank = nof_image->rank, .size = x.n, .each = (int)step->spare};
        dsm_allocate(&x.dsm);
    }
    if (way->prepare != NULL)
        way->prepare(&x);
    measure(&x, way, dsm, (int)step->ns, &nof_run.program->timed[nof_image->rank]);
    if (way->end != NULL)
        way->end(&x);
    if (dsm)
        dsm_free(&x.dsm);
    free(x.count), free(x.to_at), free(x.from_at), free(x.matrix);
    free(x.out), free(x.in);
}
