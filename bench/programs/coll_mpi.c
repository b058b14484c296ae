/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench alltoall`, `allgather`, `alltoallv` and `coll`: how long one collective takes, from when the last rank
 * may begin until the last has ended. The same source is compiled with the peers' compilers; what is not MPI is ours alone
 * (NOF_COMPILED).
 *
 *   coll_mpi COLLECTIVE BYTES RUNS LEAST_MS [SEED]
 *
 * COLLECTIVE: alltoall, allgather, alltoallv, gather, scatter, with messages of BYTES; bcast, allreduce, reduce, reduce_scatter of
 * as many; barrier of none; ours alone: allgather:unicast, :phased, :multicast, alltoallv:persistent,
 * :level1, :level2, :level3, :at-once. A message has BYTES random bytes; with a SEED those of an alltoallv differ:
 * of 240, 160 have BYTES, 20 a quarter, 60 100 bytes, dealt at random. After one that is verified, each run has as many
 * collectives as fill LEAST_MS, one at least; its figure is their median. Rank 0 prints for each run "run MS BUSY", BUSY: the
 * part of the machine's CPU time that was used, by whomever; with a SEED, before that, "link BYTES": what the fullest link carries;
 * ours, "descs N": what another one like those before gives the NIC of a rank, at most; at the end "done". */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random_pattern.h"

#ifdef NOF_COMPILED
#include "mpi_offload.h"
#include "phases.h"
#endif

#define REPEATS_MOST 400
#define WARM_MULTICAST \
    12 /* rounds until all have agreed that there is a group (docs/decisions/0030-multicast.md) */
#define GROUP_OPENS_MS 20

struct job {
    int rank, size, bytes;
    long seed; /* 0: all messages are alike */
    int *matrix; /* [from * size + to] bytes */
    int *to, *to_at, *from, *from_at; /* this rank's row and column, and where they lie */
    unsigned char *out, *in;
#ifdef NOF_COMPILED
    MPIX_Coll coll;
    MPI_Request request;
#endif
};

static void fail(const char *what)
{
    fprintf(stderr, "coll_mpi: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *room(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (memory == NULL)
        fail("no memory");
    return memory;
}

static unsigned char byte_of(int from, int to, int at)
{
    return (unsigned char)pattern_mixed(((uint64_t)(unsigned)from << 48) ^ ((uint64_t)(unsigned)to << 32) ^
                                        (unsigned)at);
}

static void draw(struct job *j)
{
    int *order = room(sizeof(*order) * (size_t)(j->size * j->size));
    pattern_draw((uint64_t)j->seed, j->size, j->bytes, order, j->matrix);
    free(order);
}

static void say_fullest_link(const struct job *j)
{
    long fullest = 0;
    for (int i = 0; i < j->size; i++) {
        long sent = 0, received = 0;
        for (int k = 0; k < j->size; k++) {
            sent += j->matrix[i * j->size + k];
            received += j->matrix[k * j->size + i];
        }
        fullest = sent > fullest ? sent : fullest;
        fullest = received > fullest ? received : fullest;
    }
    if (j->rank == 0)
        printf("link %ld\n", fullest);
}

/* one: what a rank sends is the same to all, and lies in its buffer once. */
static void lay_out(struct job *j, bool one)
{
    size_t n = (size_t)j->size, ints = n * sizeof(int);
    int out = 0, in = 0;
    j->matrix = room(n * ints);
    j->to = room(ints), j->to_at = room(ints), j->from = room(ints), j->from_at = room(ints);
    for (int i = 0; i < j->size * j->size; i++)
        j->matrix[i] = j->bytes;
    if (j->seed != 0)
        draw(j);
    for (int i = 0; i < j->size; i++) {
        j->to[i] = j->matrix[j->rank * j->size + i];
        j->from[i] = j->matrix[i * j->size + j->rank];
        j->to_at[i] = one ? 0 : out;
        j->from_at[i] = in;
        out += j->to[i];
        in += j->from[i];
    }
    j->out = room((size_t)out);
    j->in = room((size_t)in);
    for (int i = 0; i < (one ? 1 : j->size); i++)
        for (int k = 0; k < j->to[i]; k++)
            j->out[j->to_at[i] + k] = byte_of(j->rank, one ? 0 : i, k);
}

static void verify_exchange(const struct job *j, bool one)
{
    for (int i = 0; i < j->size; i++)
        for (int k = 0; k < j->from[i]; k++)
            if (j->in[j->from_at[i] + k] != byte_of(i, one ? 0 : j->rank, k))
                fail("a wrong byte came");
}

/* Where the root is the only one who gets something. */
static void verify_at_root(const struct job *j, bool one)
{
    if (j->rank == 0)
        verify_exchange(j, one);
}

/* The root's message to everybody. */
static void verify_bcast(const struct job *j, bool one)
{
    (void)one;
    for (int k = 0; k < j->bytes; k++)
        if (j->rank != 0 && j->in[k] != byte_of(0, 0, k))
            fail("a wrong byte came");
}

/* The message of rank 0 to each. */
static void verify_scatter(const struct job *j, bool one)
{
    (void)one;
    for (int k = 0; k < j->bytes; k++)
        if (j->in[k] != byte_of(0, j->rank, k))
            fail("a wrong byte came");
}

/* `count` bytes from `at` on of the exclusive or of all ranks' messages. */
static void verify_sum(const struct job *j, int at, int count)
{
    for (int k = 0; k < count; k++) {
        unsigned char sum = 0;
        for (int i = 0; i < j->size; i++)
            sum ^= byte_of(i, 0, at + k);
        if (j->in[k] != sum)
            fail("a wrong sum came");
    }
}

static void verify_allreduce(const struct job *j, bool one)
{
    (void)one;
    verify_sum(j, 0, j->bytes);
}

static void verify_reduce(const struct job *j, bool one)
{
    (void)one;
    verify_sum(j, 0, j->rank == 0 ? j->bytes : 0);
}

static void verify_nothing(const struct job *j, bool one)
{
    (void)j;
    (void)one;
}

static void verify_reduce_scatter(const struct job *j, bool one)
{
    int each = j->bytes / j->size;
    (void)one;
    verify_sum(j, j->rank * each, each);
}

static void barrier(struct job *j)
{
    (void)j;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void alltoall(struct job *j)
{
    MPI_Alltoall(j->out, j->bytes, MPI_BYTE, j->in, j->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void allgather(struct job *j)
{
    MPI_Allgather(j->out, j->bytes, MPI_BYTE, j->in, j->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv(struct job *j)
{
    MPI_Alltoallv(j->out, j->to, j->to_at, MPI_BYTE, j->in, j->from, j->from_at, MPI_BYTE, MPI_COMM_WORLD);
}

static void gather(struct job *j)
{
    MPI_Gather(j->out, j->bytes, MPI_BYTE, j->in, j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void scatter(struct job *j)
{
    MPI_Scatter(j->out, j->bytes, MPI_BYTE, j->in, j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Equal parts: what it costs that the others do not know. */
static void scatterv(struct job *j)
{
    MPI_Scatterv(j->out, j->to, j->to_at, MPI_BYTE, j->in, j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void bcast(struct job *j)
{
    MPI_Bcast(j->rank == 0 ? j->out : j->in, j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void allreduce(struct job *j)
{
    MPI_Allreduce(j->out, j->in, j->bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
}

static void reduce(struct job *j)
{
    MPI_Reduce(j->out, j->in, j->bytes, MPI_BYTE, MPI_BXOR, 0, MPI_COMM_WORLD);
}

static void reduce_scatter(struct job *j)
{
    MPI_Reduce_scatter_block(j->out, j->in, j->bytes / j->size, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
}

#ifdef NOF_COMPILED
static void control2(struct job *j)
{
    MPIX_Alltoallv_control2(j->matrix, j->to_at, MPI_BYTE, j->from_at, MPI_BYTE, MPI_COMM_WORLD, &j->coll);
}

/* What a compiler would have put into the program: the phases as a table. */
static void load(struct job *j)
{
    size_t n = (size_t)j->size, pairs = 0;
    struct nof_phases_message *message = room(n * n * sizeof(*message));
    struct nof_phases_pattern pattern = {(uint32_t)j->size, message, 0};
    const char *named = getenv("NOF_SCHEDULE");
    enum nof_phases_algorithm algorithm = NOF_PHASES_ALLTOALL;
    struct nof_phases *phases;
    for (size_t i = 0; i < n * n; i++)
        if (j->matrix[i] > 0)
            message[pattern.message_count++] =
                (struct nof_phases_message){(uint32_t)(i / n), (uint32_t)(i % n), (uint64_t)j->matrix[i]};
    if (named != NULL && strcmp(named, nof_phases_algorithm_name(NOF_PHASES_GREEDY)) == 0)
        algorithm = NOF_PHASES_GREEDY;
    if (nof_phases_schedule(algorithm, &pattern, 2048, &phases) != 0)
        fail("no phases");
    int *first = room((phases->phase_count + 1) * sizeof(*first));
    int(*pair)[2] = room(phases->piece_count * sizeof(*pair));
    for (size_t k = 0; k < phases->phase_count; k++) {
        for (size_t i = 0; i < phases->phase[k].piece_count; i++, pairs++) {
            pair[pairs][0] = (int)phases->piece[phases->phase[k].first_piece + i].source;
            pair[pairs][1] = (int)phases->piece[phases->phase[k].first_piece + i].destination;
        }
        first[k + 1] = (int)pairs;
    }
    struct MPIX_Phases table = {j->size, (int)phases->phase_count, first, (const int(*)[2])pair};
    MPIX_Alltoallv_load(&table, j->to, j->to_at, MPI_BYTE, j->from, j->from_at, MPI_BYTE, MPI_COMM_WORLD,
                        &j->coll);
    nof_phases_free(phases);
    free(first);
    free(pair);
    free(message);
}

static void at_once(struct job *j)
{
    MPIX_Alltoallv_data_trans1(j->out, j->in, j->coll);
}

static void phased(struct job *j)
{
    MPIX_Alltoallv_data_trans2(j->out, j->in, j->coll);
}

static void init(struct job *j)
{
    MPI_Alltoallv_init(j->out, j->to, j->to_at, MPI_BYTE, j->in, j->from, j->from_at, MPI_BYTE,
                       MPI_COMM_WORLD, MPI_INFO_NULL, &j->request);
}

static void start(struct job *j)
{
    MPI_Start(&j->request);
    MPI_Wait(&j->request, MPI_STATUS_IGNORE);
}

/* An allgather of broadcasts, those of 32 KiB and more by multicast where that is on. */
static void broadcasts(struct job *j)
{
    memcpy(j->in + j->from_at[j->rank], j->out, (size_t)j->bytes);
    for (int i = 0; i < j->size; i++)
        MPI_Bcast(j->in + j->from_at[i], j->bytes, MPI_BYTE, i, MPI_COMM_WORLD);
}

static void open_group(struct job *j)
{
    for (int i = 0; i < WARM_MULTICAST; i++) {
        broadcasts(j);
        nanosleep(&(struct timespec){.tv_nsec = GROUP_OPENS_MS * 1000000}, NULL);
    }
}

static void level1(struct job *j)
{
    MPIX_Alltoallv_control1(j->to, j->to_at, MPI_BYTE, j->from, j->from_at, MPI_BYTE, MPI_COMM_WORLD,
                            &j->coll);
    phased(j);
    MPIX_Coll_free(&j->coll);
}

static void level2(struct job *j)
{
    control2(j);
    phased(j);
    MPIX_Coll_free(&j->coll);
}
#endif

static const struct kind {
    const char *name;
    void (*prepare)(struct job *j); /* or NULL; not timed */
    void (*once)(struct job *j);
    bool one;
    void (*verify)(const struct job *j, bool one);
} kinds[] = {
    {"alltoall", NULL, alltoall, false, verify_exchange},
    {"allgather", NULL, allgather, true, verify_exchange},
    {"alltoallv", NULL, alltoallv, false, verify_exchange},
    {"gather", NULL, gather, true, verify_at_root},
    {"scatter", NULL, scatter, false, verify_scatter},
    {"scatterv", NULL, scatterv, false, verify_scatter},
    {"barrier", NULL, barrier, true, verify_nothing},
    {"bcast", NULL, bcast, true, verify_bcast},
    {"allreduce", NULL, allreduce, true, verify_allreduce},
    {"reduce", NULL, reduce, true, verify_reduce},
    {"reduce_scatter", NULL, reduce_scatter, true, verify_reduce_scatter},
#ifdef NOF_COMPILED
    {"allgather:unicast", control2, at_once, true, verify_exchange},
    {"allgather:phased", control2, phased, true, verify_exchange},
    {"allgather:multicast", open_group, broadcasts, true, verify_exchange},
    {"alltoallv:persistent", init, start, false, verify_exchange},
    {"alltoallv:level1", NULL, level1, false, verify_exchange},
    {"alltoallv:level2", NULL, level2, false, verify_exchange},
    {"alltoallv:level3", load, phased, false, verify_exchange},
    {"alltoallv:at-once", load, at_once, false, verify_exchange},
#endif
};

/* Seconds, of the slowest rank; known to all. */
static double timed(struct job *j, const struct kind *kind)
{
    double mine, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    kind->once(j);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of all CPUs since boot, in ticks. */
static void cpu_time(double *used_out, double *idle_out)
{
    double t[8] = {0};
    FILE *f = fopen("/proc/stat", "r");
    if (f != NULL && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4],
                            &t[5], &t[6], &t[7]) != 8)
        t[3] = 0;
    if (f != NULL)
        fclose(f);
    *used_out = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    *idle_out = t[3] + t[4];
}

static void run(struct job *j, const struct kind *kind, int repeats)
{
    double values[REPEATS_MOST], used[2], idle[2];
    cpu_time(&used[0], &idle[0]);
    for (int i = 0; i < repeats; i++)
        values[i] = timed(j, kind);
    cpu_time(&used[1], &idle[1]);
    qsort(values, (size_t)repeats, sizeof(*values), by_size);
    double ticks = used[1] - used[0] + idle[1] - idle[0];
    if (j->rank == 0)
        printf("run %.6f %.3f\n", values[repeats / 2] * 1e3, ticks > 0 ? (used[1] - used[0]) / ticks : 0.0);
}

#ifdef NOF_COMPILED
/* That this rank has given its NIC, with those of one barrier more each time. */
static unsigned long long descriptors(void)
{
    unsigned long long n = 0;
    MPI_Barrier(MPI_COMM_WORLD); /* behind what the NIC may not have taken yet */
    MPIX_Nic_counters("host.descs", &n);
    return n;
}

static void say_descriptors(struct job *j, const struct kind *kind)
{
    unsigned long long first = descriptors(), barrier = descriptors() - first, mine, most;
    first = descriptors();
    kind->once(j);
    mine = descriptors() - first - barrier;
    MPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    if (j->rank == 0)
        printf("descs %llu\n", most);
}
#endif

int main(int argc, char **argv)
{
    struct job j = {0};
    const struct kind *kind = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &j.size);
    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            kind = &kinds[i];
    j.bytes = argc > 2 ? atoi(argv[2]) : 0;
    j.seed = argc > 5 ? atol(argv[5]) : 0;
    int runs = argc > 3 ? atoi(argv[3]) : 0;
    double least_s = argc > 4 ? atof(argv[4]) / 1e3 : 0;
    if (kind == NULL || j.bytes < 1 || runs < 1)
        fail("usage: coll_mpi COLLECTIVE BYTES RUNS LEAST_MS [SEED]");
    lay_out(&j, kind->one);
    if (j.seed != 0)
        say_fullest_link(&j);
    if (kind->prepare != NULL)
        kind->prepare(&j);
    kind->once(&j);
    kind->verify(&j, kind->one);
    double once_s = timed(&j, kind);
    once_s = timed(&j, kind);
#ifdef NOF_COMPILED
    say_descriptors(&j, kind);
#endif
    int repeats = once_s > 0 && least_s / once_s < REPEATS_MOST ? (int)(least_s / once_s) : REPEATS_MOST;
    for (int i = 0; i < runs; i++)
        run(&j, kind, repeats > 1 ? repeats : 1);
#ifdef NOF_COMPILED
    if (kind->once == start)
        MPI_Request_free(&j.request);
#endif
    if (j.rank == 0) {
        printf("done\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
