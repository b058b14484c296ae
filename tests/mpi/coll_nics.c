/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share a NIC combine first: over communicators whose ranks lie in blocks, in turn, backwards, unevenly, one on
 * each host or all on one, collectives give what they must, and reductions the same bits at all ranks, in all forms, whoever goes
 * through them. Each communicator uses the hierarchical algorithms where it can, and only there. Argument `ranks`, with
 * NOF_REDUCTION_ORDER=ranks: reductions do not, and have the same bits wherever the ranks are. */
#include <stdbool.h>

#include "collective.h"

enum { MOST = 40000, ROOTS = 3 };
static const int counts[] = {1, 7, 600, 5000, MOST};

static MPI_T_pvar_session session;
static MPI_Comm comm;
static int rank, size;
static int host; /* of this rank: the first rank there */
static bool shared, neighbours, even; /* what comm is */
static bool by_ranks;

static unsigned long long by_levels(const char *collective)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_hierarchical", collective);
    unsigned long long n = t_counted(session, name);
    snprintf(name, sizeof(name), "%s_lanes", collective);
    return strncmp(collective, "all", 3) == 0 ? n + t_counted(session, name) : n;
}

static unsigned long long lanes_of_reduce_scatter(void)
{
    return t_counted(session, "reduce_scatter_lanes");
}

/* How many of them since `before`: all, or none. */
static void levels_are(const char *collective, unsigned long long before, unsigned long long calls,
                       bool wanted)
{
    unsigned long long n = by_levels(collective) - before;
    if (n != (wanted ? calls : 0))
        fprintf(stderr, "%s: %llu of %llu were hierarchical\n", collective, n, calls);
    CHECK(n == (wanted ? calls : 0));
}

static void look_at(MPI_Comm of)
{
    int hosts = 0, changes = 0, *all = malloc(sizeof(int) * (size_t)t_size);
    comm = of;
    t_forms = 7; /* others may have called more */
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    OK(MPI_Allgather(&host, 1, MPI_INT, all, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen = seen || all[k] == all[i];
        hosts += !seen;
        changes += i == 0 || all[i] != all[i - 1];
    }
    shared = hosts > 1 && hosts < size;
    even = hosts > 0 && size % hosts == 0;
    for (int i = 0; i < size; i++) {
        int beside = 0;
        for (int k = 0; k < size; k++)
            beside += all[k] == all[i];
        even = even && beside * hosts == size;
    }
    neighbours = shared && changes == hosts;
    free(all);
}

static uint64_t hash_of(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* Values whose sum hangs on the order, zeros of both signs, and, where asked for, what is no number. */
static double operand(int r, int k, bool strange)
{
    uint64_t state = (uint64_t)(r + 1) * 0x9e3779b97f4a7c15u + (uint64_t)k * 0x2545f4914f6cdd1du + 1;
    double value = (double)(int64_t)t_random(&state) * 0x1p-40;
    if (k % 11 == 3)
        return -0.0;
    if (strange && k % 13 == 5 && r % 3 == 1)
        return k % 2 == 0 ? __builtin_nan("7") : __builtin_inf();
    return value;
}

/* With blocking broadcasts votes go, which are allreduces. */
static void bcast(void *at, int count, MPI_Datatype type)
{
    MPI_Request req;
    OK(MPI_Ibcast(at, count, type, 0, comm, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

/* The same bits at all ranks; what they are. */
static uint64_t agreed(const double *out, int count)
{
    uint64_t mine = hash_of(out, sizeof(*out) * (size_t)count), first = mine;
    bcast(&first, 1, MPI_UINT64_T);
    CHECK(first == mine);
    return mine;
}

static uint64_t bits_of(int count, MPI_Op op, bool strange)
{
    static double in[MOST], out[MOST];
    uint64_t bits = 0;
    unsigned long long before = by_levels("allreduce");
    for (int form = 0; form < 4; form++) {
        MPI_Request req;
        for (int k = 0; k < count; k++)
            in[k] = out[k] = operand(rank, k, strange);
        if (form == 0) {
            OK(MPI_Allreduce(in, out, count, MPI_DOUBLE, op, comm));
        } else if (form == 1) {
            OK(MPI_Iallreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, op, comm, &req));
            OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
        } else if (form == 2) {
            OK(MPI_Allreduce_init(in, out, count, MPI_DOUBLE, op, comm, MPI_INFO_NULL, &req));
            for (int turn = 0; turn < 2; turn++) {
                OK(MPI_Start(&req));
                OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
            }
            OK(MPI_Request_free(&req));
        } else {
            OK(MPI_Reduce(in, out, count, MPI_DOUBLE, op, 0, comm));
            bcast(out, count, MPI_DOUBLE);
        }
        uint64_t now = agreed(out, count);
        bits = form == 0 ? now : bits;
        CHECK(now == bits || form == 3); /* Reduce may have another order */
    }
    levels_are("allreduce", before, 3, shared && !by_ranks);
    return bits;
}

static bool is_composed(const unsigned *maps, int k)
{
    unsigned map[2];
    t_composed(size, k, map);
    return maps[2 * k] == map[0] && maps[2 * k + 1] == map[1];
}

static void ordered(int count)
{
    static unsigned in[2 * MOST], out[2 * MOST];
    MPI_Datatype pair;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(t_compose, 0, &op));
    for (int k = 0; k < count; k++)
        t_map_of(rank, k, &in[2 * k]);
    unsigned long long before = by_levels("allreduce"), reduced = by_levels("reduce");
    COLL(Iallreduce, Allreduce, in, out, count, pair, op, comm);
    for (int k = 0; k < count; k++)
        CHECK(is_composed(out, k));
    memcpy(out, in, sizeof(*out) * 2 * (size_t)count);
    COLL(Iallreduce, Allreduce, MPI_IN_PLACE, out, count, pair, op, comm);
    for (int k = 0; k < count; k++)
        CHECK(is_composed(out, k));
    for (int i = 0; i < ROOTS; i++) {
        int root = (count + i) % size;
        COLL(Ireduce, Reduce, in, rank == root ? out : NULL, count, pair, op, root, comm);
        for (int k = 0; rank == root && k < count; k++)
            CHECK(is_composed(out, k));
    }
    levels_are("allreduce", before, 2, neighbours && !by_ranks);
    levels_are("reduce", reduced, ROOTS, neighbours && !by_ranks);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

/* Of the first of each pair of numbers; the second is not the type's. */
static void add_first(void *in, void *inout, int *len, MPI_Datatype *type)
{
    int *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *len; i++)
        b[2 * i] += a[2 * i];
}

static void with_gaps(int count)
{
    static int in[2 * MOST], out[2 * MOST];
    MPI_Datatype first;
    MPI_Op op;
    int sum = size * (size - 1) / 2;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &first));
    OK(MPI_Type_commit(&first));
    OK(MPI_Op_create(add_first, 1, &op));
    for (int k = 0; k < 2 * count; k++) {
        in[k] = k + rank;
        out[k] = -5;
    }
    COLL(Iallreduce, Allreduce, in, out, count, first, op, comm);
    for (int k = 0; k < count; k++)
        CHECK(out[2 * k] == size * 2 * k + sum && out[2 * k + 1] == -5);
    int root = count % size;
    for (int k = 0; k < 2 * count; k++)
        out[k] = rank == root ? k + rank : -5;
    if (rank == root)
        COLL(Ireduce, Reduce, MPI_IN_PLACE, out, count, first, op, root, comm);
    else
        COLL(Ireduce, Reduce, in, NULL, count, first, op, root, comm);
    for (int k = 0; rank == root && k < count; k++)
        CHECK(out[2 * k] == size * 2 * k + sum && out[2 * k + 1] == 2 * k + 1 + rank);
    for (int k = 0; k < 2 * count; k++)
        out[k] = rank == root ? k : -5;
    COLL(Ibcast, Bcast, out, count, first, root, comm);
    for (int k = 0; k < count; k++)
        CHECK(out[2 * k] == 2 * k && out[2 * k + 1] == (rank == root ? 2 * k + 1 : -5));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&first));
}

static void broadcast(int count)
{
    static int out[MOST];
    unsigned long long before = by_levels("bcast");
    for (int i = 0; i < ROOTS; i++) {
        int root = (count + i) % size;
        for (int k = 0; k < count; k++)
            out[k] = rank == root ? 3 * k + root : -1;
        COLL(Ibcast, Bcast, out, count, MPI_INT, root, comm);
        for (int k = 0; k < count; k++)
            CHECK(out[k] == 3 * k + root);
    }
    levels_are("bcast", before, ROOTS, shared);
}

/* Blocks alike; of different lengths, some empty, with room between them; in place. */
static void gathered(int count)
{
    int each = count / size + 1;
    int *in = malloc(sizeof(int) * (size_t)(2 * each)),
        *out = malloc(sizeof(int) * (size_t)(3 * each * size));
    int *lengths = malloc(sizeof(int) * (size_t)size), *at = malloc(sizeof(int) * (size_t)size);
    unsigned long long before = by_levels("allgather");
    for (int k = 0; k < 2 * each; k++)
        in[k] = 1000 * rank + k;
    COLL(Iallgather, Allgather, in, each, MPI_INT, out, each, MPI_INT, comm);
    for (int r = 0; r < size; r++)
        for (int k = 0; k < each; k++)
            CHECK(out[r * each + k] == 1000 * r + k);
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int r = 0; r < size; r++) {
            lengths[r] = r % 3 == 1 ? 0 : each + r % 2 * each;
            at[r] = 3 * each * (size - 1 - r);
        }
        for (int k = 0; k < 3 * each * size; k++)
            out[k] = -7;
        if (in_place)
            memcpy(out + at[rank], in, sizeof(int) * (size_t)lengths[rank]);
        COLL(Iallgatherv, Allgatherv, in_place ? MPI_IN_PLACE : in, lengths[rank], MPI_INT, out, lengths, at,
             MPI_INT, comm);
        for (int r = 0; r < size; r++)
            for (int k = 0; k < 3 * each; k++)
                CHECK(out[at[r] + k] == (k < lengths[r] ? 1000 * r + k : -7));
    }
    levels_are("allgather", before, 3, shared);
    free(in);
    free(out);
    free(lengths);
    free(at);
}

/* Blocks alike; of different lengths, some empty; in place; of a type with gaps. */
static void scattered(int count)
{
    int each = count / size + 1, total = 0, start = 0;
    int *lengths = malloc(sizeof(int) * (size_t)size), *in = malloc(sizeof(int) * (size_t)(4 * each * size)),
        *out = malloc(sizeof(int) * (size_t)(4 * each * size));
    unsigned long long before = lanes_of_reduce_scatter();
    bool large = (size_t)each * (size_t)size * sizeof(int) > 1024;
    MPI_Datatype first;
    MPI_Op op;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &first));
    OK(MPI_Type_commit(&first));
    OK(MPI_Op_create(add_first, 1, &op));
    for (int r = 0; r < size; r++) {
        lengths[r] = r % 3 == 1 ? 0 : each + r % 2 * each;
        start += r < rank ? lengths[r] : 0;
        total += lengths[r];
    }
    for (int k = 0; k < 4 * each * size; k++)
        in[k] = rank + 3 * k;
    COLL(Ireduce_scatter_block, Reduce_scatter_block, in, out, each, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < each; k++)
        CHECK(out[k] == size * (size - 1) / 2 + size * 3 * (rank * each + k));
    for (int k = 0; k < 4 * each * size; k++)
        out[k] = -5;
    COLL(Ireduce_scatter, Reduce_scatter, in, out, lengths, first, op, comm);
    for (int k = 0; k < each; k++)
        CHECK(out[2 * k] == (k < lengths[rank] ? size * (size - 1) / 2 + size * 6 * (start + k) : -5) &&
              out[2 * k + 1] == -5);
    for (int k = 0; k < total; k++)
        out[k] = rank + 3 * k;
    COLL(Ireduce_scatter, Reduce_scatter, MPI_IN_PLACE, out, lengths, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < lengths[rank]; k++)
        CHECK(out[k] == size * (size - 1) / 2 + size * 3 * (start + k));
    if (large && total * (int)sizeof(int) > 1024)
        CHECK(lanes_of_reduce_scatter() - before == (shared && even && !by_ranks ? 3 : 0));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&first));
    free(lengths);
    free(in);
    free(out);
}

static void meet(void)
{
    unsigned long long before = by_levels("barrier");
    COLL(Ibarrier, Barrier, comm);
    levels_are("barrier", before, 1, shared);
}

static void everything(MPI_Comm of)
{
    uint64_t bits[2][2];
    look_at(of);
    if (size == 1)
        return;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (int by_nic = 0; by_nic < 2; by_nic++) {
            t_drive(by_nic);
            bits[by_nic][0] = bits_of(counts[c], MPI_SUM, false);
            bits[by_nic][1] = bits_of(counts[c], MPI_MAX, true);
            ordered(counts[c]);
            with_gaps(counts[c]);
            broadcast(counts[c]);
            gathered(counts[c]);
            scattered(counts[c]);
            meet();
        }
        CHECK(memcmp(bits[0], bits[1], sizeof(bits[0])) == 0);
    }
}

/* Processes that are in none of them wait in t_drive(). */
static void split(int color, int key, bool stays_out)
{
    MPI_Comm made;
    OK(MPI_Comm_split(MPI_COMM_WORLD, stays_out ? MPI_UNDEFINED : color, key, &made));
    if (!stays_out)
        OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    look_at(stays_out ? MPI_COMM_SELF : made);
    if (size > 1) {
        everything(made);
    } else {
        for (size_t c = 0; c < 2 * sizeof(counts) / sizeof(counts[0]); c++)
            t_drive(c % 2 != 0);
    }
    if (!stays_out)
        OK(MPI_Comm_free(&made));
}

/* Operands by rank of the communicator: the same bits, however its ranks lie. */
static void the_same_wherever(int number)
{
    MPI_Comm turned;
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 1000 * number + t_rank, &turned));
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        look_at(MPI_COMM_WORLD);
        uint64_t bits = bits_of(counts[c], MPI_SUM, false);
        look_at(turned);
        CHECK(bits_of(counts[c], MPI_SUM, false) == bits);
    }
    OK(MPI_Comm_free(&turned));
}

int main(int argc, char **argv)
{
    MPI_Comm here;
    int provided, number;
    t_begin(&argc, &argv, 3);
    t_errors_return();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    OK(MPI_Comm_rank(here, &number));
    host = t_rank;
    OK(MPI_Bcast(&host, 1, MPI_INT, 0, here));
    by_ranks = argc > 1 && strcmp(argv[1], "ranks") == 0;
    if (by_ranks) {
        the_same_wherever(number);
    } else {
        everything(MPI_COMM_WORLD);
        split(0, 1000 * number + t_rank, false); /* in turn */
        split(0, -t_rank, false); /* backwards */
        split(0, 0, t_rank == t_size - 1); /* uneven */
        split(t_rank % 2, 0, false); /* two at once, of other shapes */
        split(number > 0, 0, false); /* one on each host, and the others */
        split(host, 0, false); /* those of a host */
    }
    OK(MPI_Comm_free(&here));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
