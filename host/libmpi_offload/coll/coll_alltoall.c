/* SPDX-License-Identifier: BSD-3-Clause */
/* All-to-all. With one small count for all and enough ranks, Bruck's algorithm: a logarithmic number
 * of rounds, each block travels up to as many times. Otherwise every pair has a message of its own: in
 * round k every rank sends to the one k places after it and receives from the one k places before it,
 * so no rank is the target of two at a time. Small messages do not fill the link: those of several rounds are under
 * way together (nof_sched_turn()). In place what goes out is copied at first, and the rounds are the same. Where that is
 * too much, or blocks differ, the two ranks of a pair meet in one round, one at a time if blocks are large, which then waits for
 * the one before. No barrier parts rounds in place, whatever was chosen. */
#include "coll/coll.h"
#include "coll/select.h"

/* In place, of blocks that differ: of larger ones, or more in all, it is one round at a time. */
#define TURNS_BLOCK_BYTES (16u * 1024u)
#define COPIES_MAX_BYTES (4u * 1024u * 1024u)

static size_t largest_block(const struct nof_sched *s, const struct nof_blocks *blocks)
{
    size_t largest = 1;
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(blocks, i);
        size_t bytes = nof_data_bytes(&block);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static void build_pairs(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_blocks *send,
                        const struct nof_blocks *recv)
{
    struct nof_data mine = nof_block(send, s->rank), own = nof_block(recv, s->rank);
    nof_coll_copy(s, &mine, &own);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        struct nof_data out = nof_block(send, to), in = nof_block(recv, from);
        nof_coll_recv(s, &in, from);
        nof_coll_send(s, &out, to);
        if (algorithm == NOF_ALLTOALL_PAIRWISE)
            nof_sched_turn(s);
        if (algorithm == NOF_ALLTOALL_BARRIER && k + 1 < s->size) {
            nof_sched_fence(s);
            nof_coll_build_barrier(s);
        }
    }
}

/* In place, of blocks that are alike: everybody has copies of all that goes out. A block is copied before it is received. */
static void build_from_copies(struct nof_sched *s, enum nof_algorithm algorithm,
                              const struct nof_blocks *recv, size_t each)
{
    struct nof_type *byte = nof_type_byte();
    char *copies = nof_sched_temporary(s, each * (size_t)s->size, byte);
    for (int k = 1; k < s->size; k++) {
        int to = (s->rank + k) % s->size, from = (s->rank - k + s->size) % s->size;
        struct nof_data out = nof_block(recv, to), in = nof_block(recv, from);
        struct nof_data out_copy = {copies + each * (size_t)to, nof_data_bytes(&out), byte};
        struct nof_data in_copy = {copies + each * (size_t)from, nof_data_bytes(&in), byte};
        if (2 * k <= s->size) /* later rounds send what earlier ones received over */
            nof_coll_copy(s, &out, &out_copy);
        if (2 * k < s->size)
            nof_coll_copy(s, &in, &in_copy);
        nof_coll_recv(s, &in, from);
        nof_coll_send(s, &out_copy, to);
        if (algorithm == NOF_ALLTOALL_PAIRWISE)
            nof_sched_turn(s);
    }
}

/* In round k the ranks whose sum is k modulo their number exchange their blocks: in this order at all ranks, because how many
 * copies a rank has is its own affair where blocks differ. */
static void build_in_place(struct nof_sched *s, enum nof_algorithm algorithm, const struct nof_blocks *recv)
{
    size_t largest = largest_block(s, recv);
    bool fits = largest <= TURNS_BLOCK_BYTES && largest <= COPIES_MAX_BYTES / (size_t)s->size;
    bool all = algorithm == NOF_ALLTOALL_UNSCHEDULED || (algorithm == NOF_ALLTOALL_PAIRWISE && fits);
    char *copies = nof_sched_temporary(s, largest * (size_t)(all ? s->size : 1), nof_type_byte());
    for (int k = 0; k < s->size; k++) {
        int peer = (k - s->rank + s->size) % s->size;
        if (peer == s->rank)
            continue;
        struct nof_data block = nof_block(recv, peer);
        struct nof_data copy = {copies + (all ? largest * (size_t)k : 0), nof_data_bytes(&block),
                                nof_type_byte()};
        nof_coll_copy(s, &block, &copy);
        nof_coll_recv(s, &block, peer);
        nof_coll_send(s, &copy, peer);
        if (!all)
            nof_sched_fence(s);
        else if (algorithm == NOF_ALLTOALL_PAIRWISE)
            nof_sched_turn(s);
    }
}

/* Copy the runs of slots whose number has the bit `bit`, to one another or apart. Returns the bytes. */
static size_t copy_runs(struct nof_sched *s, char *slots, char *dense, size_t each, int bit, bool collect)
{
    struct nof_type *byte = nof_type_byte();
    size_t at = 0;
    for (int i = bit; i < s->size; i += 2 * bit) {
        size_t run = each * (size_t)(bit < s->size - i ? bit : s->size - i);
        struct nof_data apart = {slots + each * (size_t)i, run, byte}, together = {dense + at, run, byte};
        nof_coll_copy(s, collect ? &apart : &together, collect ? &together : &apart);
        at += run;
    }
    return at;
}

/* Slot i holds what has to go i places on; a round moves the slots with bit k by k places. */
static void build_bruck(struct nof_sched *s, const struct nof_blocks *send, const struct nof_blocks *recv)
{
    struct nof_type *byte = nof_type_byte();
    struct nof_data first = nof_block(recv, 0);
    size_t each = nof_data_bytes(&first), total = each * (size_t)s->size;
    /* One temporary: a program has few bases (compile.h). */
    char *slots = nof_sched_temporary(s, 3 * total, byte), *out = slots + total, *in = out + total;
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(send, (s->rank + i) % s->size);
        nof_coll_pack(s, &block, slots + each * (size_t)i, each);
    }
    for (int bit = 1; bit < s->size; bit *= 2) {
        size_t bytes = copy_runs(s, slots, out, each, bit, true);
        nof_coll_recv(s, &(struct nof_data){in, bytes, byte}, (s->rank - bit + s->size) % s->size);
        nof_coll_send(s, &(struct nof_data){out, bytes, byte}, (s->rank + bit) % s->size);
        nof_sched_fence(s);
        copy_runs(s, slots, in, each, bit, false);
    }
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(recv, (s->rank - i + s->size) % s->size);
        nof_coll_unpack(s, slots + each * (size_t)i, &block);
    }
}

static bool is_uniform(const struct nof_blocks *blocks)
{
    return blocks->counts.kind == NOF_COUNTS_ONE && blocks->types == NULL;
}

/* Where blocks differ each rank chooses by what it receives, which others do not see: the messages are the same. */
static enum nof_algorithm choose(struct nof_sched *s, const struct nof_blocks *recv)
{
    const uint64_t alike = NOF_CAN(NOF_ALLTOALL_PAIRWISE) | NOF_CAN(NOF_ALLTOALL_UNSCHEDULED);
    size_t each = is_uniform(recv) ? (size_t)recv->counts.one * recv->type->size : 0;
    if (is_uniform(recv))
        return nof_select(
            s, each, alike | NOF_CAN(NOF_ALLTOALL_BARRIER) | (each > 0 ? NOF_CAN(NOF_ALLTOALL_BRUCK) : 0));
    if (nof_select_asked(NOF_ALLTOALL_BARRIER))
        return nof_select(s, 0, NOF_CAN(NOF_ALLTOALL_BARRIER));
    return nof_select_alone(s, largest_block(s, recv), alike);
}

void nof_coll_build_alltoall(struct nof_sched *s, const struct nof_blocks *send,
                             const struct nof_blocks *recv)
{
    enum nof_algorithm algorithm = choose(s, recv);
    if (algorithm == NOF_ALLTOALL_BRUCK)
        build_bruck(s, send != NULL ? send : recv, recv);
    else if (send != NULL)
        build_pairs(s, algorithm, send, recv);
    else if (is_uniform(recv) && algorithm != NOF_ALLTOALL_BARRIER &&
             largest_block(s, recv) <= COPIES_MAX_BYTES / (size_t)s->size)
        build_from_copies(s, algorithm, recv, largest_block(s, recv));
    else
        build_in_place(s, algorithm, recv);
}
