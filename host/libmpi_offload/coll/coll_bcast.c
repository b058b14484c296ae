/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier by dissemination; broadcast by a binomial tree, and for large messages by scattering
 * pieces down the tree and handing them to all, which sends every byte about twice whatever the
 * number of ranks: round a ring if the pieces are worth a message, by doubling otherwise. Where ranks share NICs (nics.h)
 * these go between NICs, and a tree goes among the ranks of each. */
#include "coll/coll.h"
#include "coll/nics/nics.h"
#include "coll/select.h"

/* Up to here a message is cut only if that leaves no piece empty, which takes more bytes than the square of the pieces but one:
 * who has another length than the others would leave out a message that they wait for. */
#define PIECES_MIN_BYTES (128u * 1024u)

static void build_dissemination(struct nof_sched *s)
{
    for (int distance = 1; distance < s->size; distance *= 2) {
        nof_sched_send(s, NULL, 0, nof_type_byte(), (s->rank + distance) % s->size);
        nof_sched_recv(s, NULL, 0, nof_type_byte(), (s->rank - distance + s->size) % s->size);
        nof_sched_fence(s);
    }
}

/* An empty message up a binomial tree to rank 0. */
static void build_meeting(struct nof_sched *s)
{
    int mask = 1;
    for (; mask < s->size && (s->rank & mask) == 0; mask *= 2)
        if (s->rank + mask < s->size)
            nof_sched_recv(s, NULL, 0, nof_type_byte(), s->rank + mask);
    nof_sched_fence(s);
    if (s->rank != 0)
        nof_sched_send(s, NULL, 0, nof_type_byte(), s->rank - mask);
}

void nof_coll_build_barrier(struct nof_sched *s)
{
    const struct nof_nics *nics = nof_nics_shared(s);
    uint64_t can =
        NOF_CAN(NOF_BARRIER_DISSEMINATION) | (nics != NULL ? NOF_CAN(NOF_BARRIER_HIERARCHICAL) : 0);
    if (s->size == 1)
        return;
    if (nof_select(s, 0, can) == NOF_BARRIER_DISSEMINATION) {
        build_dissemination(s);
        return;
    }
    nof_nics_here(s, nics);
    build_meeting(s);
    if (nics->self == 0) {
        nof_nics_between(s, nics, nics->leader);
        build_dissemination(s);
        nof_nics_here(s, nics);
    }
    nof_coll_build_bcast_tree(s, &(struct nof_data){NULL, 0, nof_type_byte()}, 0);
    nof_nics_all(s);
}

static int from_root(const struct nof_sched *s, int relative, int root)
{
    return (relative + root) % s->size;
}

void nof_coll_build_bcast_tree(struct nof_sched *s, const struct nof_data *data, int root)
{
    int relative = (s->rank - root + s->size) % s->size;
    int mask = 1;
    while (mask < s->size && (relative & mask) == 0)
        mask *= 2;
    if (relative != 0) {
        nof_sched_recv(s, data->buf, data->count, data->type, from_root(s, relative - mask, root));
        nof_sched_fence(s);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (relative + mask < s->size)
            nof_sched_send(s, data->buf, data->count, data->type, from_root(s, relative + mask, root));
}

/* A packed message cut into one piece per rank; the last ones may be shorter or empty. */
struct pieces {
    char *buf;
    size_t bytes;
    size_t piece;
};

/* Pieces [first, last) as one buffer. */
static struct nof_data span(const struct pieces *p, int first, int last)
{
    size_t from = (size_t)first * p->piece, to = (size_t)last * p->piece;
    from = from < p->bytes ? from : p->bytes;
    to = to < p->bytes ? to : p->bytes;
    return (struct nof_data){p->buf + from, to - from, nof_type_byte()};
}

/* A subtree's root gets the pieces of the whole subtree. */
static void scatter_pieces(struct nof_sched *s, const struct pieces *p, int relative, int root)
{
    int mask = 1;
    while (mask < s->size && (relative & mask) == 0)
        mask *= 2;
    if (relative != 0) {
        struct nof_data mine = span(p, relative, relative + mask < s->size ? relative + mask : s->size);
        nof_coll_recv(s, &mine, from_root(s, relative - mask, root));
        nof_sched_fence(s);
    }
    for (mask /= 2; mask > 0; mask /= 2) {
        int child = relative + mask;
        struct nof_data theirs = span(p, child, child + mask < s->size ? child + mask : s->size);
        if (child < s->size)
            nof_coll_send(s, &theirs, from_root(s, child, root));
        nof_sched_fence(s); /* the longest way has the link first, and alone */
    }
}

/* In round k the piece k places behind mine goes on. */
static void ring(struct nof_sched *s, const struct pieces *p, int relative)
{
    int right = (s->rank + 1) % s->size, left = (s->rank - 1 + s->size) % s->size;
    for (int k = 0; k < s->size - 1; k++) {
        int out = (relative - k + s->size) % s->size, in = (out - 1 + s->size) % s->size;
        struct nof_data from_left = span(p, in, in + 1), to_right = span(p, out, out + 1);
        nof_coll_recv(s, &from_left, left);
        nof_coll_send(s, &to_right, right);
        nof_sched_fence(s);
    }
}

/* Every rank has the `have` pieces from its own on and doubles them: from the one `have` places on it
 * gets those that follow. A row of pieces that goes round the end is two messages. */
static void doubling(struct nof_sched *s, const struct pieces *p, int relative)
{
    for (int have = 1; have < s->size; have *= 2) {
        int more = have < s->size - have ? have : s->size - have;
        int from = (relative + have) % s->size;
        for (int receive = 0; receive < 2; receive++) {
            int first = receive ? from : relative, end = first + more;
            struct nof_data row = span(p, first, end < s->size ? end : s->size);
            struct nof_data rest = span(p, 0, end < s->size ? 0 : end - s->size);
            if (receive) {
                nof_coll_recv(s, &row, (s->rank + have) % s->size);
                nof_coll_recv(s, &rest, (s->rank + have) % s->size);
            } else {
                nof_coll_send(s, &row, (s->rank - have + s->size) % s->size);
                nof_coll_send(s, &rest, (s->rank - have + s->size) % s->size);
            }
        }
        nof_sched_fence(s);
    }
}

static void build_pieces(struct nof_sched *s, enum nof_algorithm algorithm, char *buf, size_t bytes, int root)
{
    struct pieces p = {buf, bytes, (bytes + (size_t)s->size - 1) / (size_t)s->size};
    int relative = (s->rank - root + s->size) % s->size;
    scatter_pieces(s, &p, relative, root);
    if (algorithm == NOF_BCAST_RING)
        ring(s, &p, relative);
    else
        doubling(s, &p, relative);
}

static void build_as(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_data *data, int root,
                     size_t bytes)
{
    if (algorithm == NOF_BCAST_TREE) {
        nof_coll_build_bcast_tree(s, data, root);
        return;
    }
    if (data->type->contiguous) {
        build_pieces(s, algorithm, nof_lib_at(data->buf, data->type->tree->lb), bytes, root);
        return;
    }
    char *packed = nof_sched_temporary(s, bytes, nof_type_byte());
    if (s->rank == root)
        nof_coll_pack(s, data, packed, bytes);
    build_pieces(s, algorithm, packed, bytes, root);
    if (s->rank != root)
        nof_coll_unpack(s, packed, data);
}

static uint64_t can_among(int ranks, size_t bytes)
{
    uint64_t can = NOF_CAN(NOF_BCAST_TREE);
    if (bytes > PIECES_MIN_BYTES || bytes > (size_t)(ranks - 1) * (size_t)(ranks - 1))
        can |= NOF_CAN(NOF_BCAST_DOUBLING) | NOF_CAN(NOF_BCAST_RING);
    return can;
}

/* Once to each NIC, and from there to the ranks beside. */
static void build_levels(struct nof_sched *s, const struct nof_nics *nics, const struct nof_data *data,
                         int root, size_t bytes)
{
    enum nof_algorithm between = nof_select_part(s, nics->count, bytes, can_among(nics->count, bytes));
    const int *leader = nof_nics_leaders(nics, root);
    int first = leader[nics->mine];
    if (s->rank == first) {
        nof_nics_between(s, nics, leader);
        build_as(s, between, data, nics->nic[root], bytes);
    }
    nof_nics_here(s, nics);
    nof_coll_build_bcast_tree(s, data, nics->number[first]);
    nof_nics_all(s);
}

static void build(struct nof_sched *s, const struct nof_data *data, int root, size_t bytes)
{
    const struct nof_nics *nics = nof_nics_shared(s);
    uint64_t levels = nics != NULL ? NOF_CAN(NOF_BCAST_HIERARCHICAL) : 0;
    enum nof_algorithm algorithm = nof_select(s, bytes, can_among(s->size, bytes) | levels);
    if (algorithm == NOF_BCAST_HIERARCHICAL)
        build_levels(s, nics, data, root, bytes);
    else
        build_as(s, algorithm, data, root, bytes);
}

/* A root with nothing to send says so: the others may expect something, and would wait for it. */
void nof_coll_build_bcast(struct nof_sched *s, const struct nof_data *data, int root)
{
    size_t bytes = nof_data_bytes(data);
    if (s->size == 1)
        return;
    nof_sched_exact(s, true);
    build(s, data, root, bytes);
    nof_sched_exact(s, false);
}
