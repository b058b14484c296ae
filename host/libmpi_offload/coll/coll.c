/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll.h"

/* Bytes from the buffer to block i; an empty one is anywhere. False: more than can be said. */
static bool block_at(const struct nof_blocks *b, int i, const struct nof_type *type, ptrdiff_t *at_out)
{
    MPI_Count count = nof_count_at(&b->counts, i), at;
    ptrdiff_t unit = b->types == NULL ? nof_type_extent(type) : 1;
    if (count == 0)
        return true;
    if (b->displs.kind != NOF_COUNTS_NOT_GIVEN)
        at = nof_count_at(&b->displs, i);
    else if (__builtin_mul_overflow(i, count, &at))
        return false;
    return !__builtin_mul_overflow(at, unit, at_out);
}

bool nof_block_fits(const struct nof_blocks *b, int i, const struct nof_type *type)
{
    struct nof_type_block block = {0, (size_t)nof_count_at(&b->counts, i), nof_lib_unconst(type)};
    return block_at(b, i, type, &block.disp) && nof_type_blocks_fit(1, &block);
}

struct nof_data nof_block(const struct nof_blocks *b, int i)
{
    struct nof_type *type = b->type;
    if (nof_block_is_of_no_type(b, i) ||
        (b->types != NULL && nof_type_check(b->types[i], true, &type) != MPI_SUCCESS))
        type = nof_type_byte(); /* the arguments were checked */
    ptrdiff_t at = 0;
    (void)block_at(b, i, type, &at); /* the arguments were checked */
    return (struct nof_data){nof_lib_at(b->buf, at), (size_t)nof_count_at(&b->counts, i), type};
}

size_t nof_blocks_bytes(const struct nof_blocks *b, int size, int first, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++) {
        struct nof_data block = nof_block(b, (first + i) % size);
        bytes += nof_data_bytes(&block);
    }
    return bytes;
}

void nof_coll_send(struct nof_sched *s, const struct nof_data *data, int peer)
{
    if (nof_data_bytes(data) > 0)
        nof_sched_send(s, data->buf, data->count, data->type, peer);
}

void nof_coll_recv(struct nof_sched *s, const struct nof_data *data, int peer)
{
    if (nof_data_bytes(data) > 0)
        nof_sched_recv(s, data->buf, data->count, data->type, peer);
}

void nof_coll_copy(struct nof_sched *s, const struct nof_data *from, const struct nof_data *to)
{
    if (nof_data_bytes(from) > 0)
        nof_sched_copy(s, from->buf, from->count, from->type, to->buf, to->count, to->type);
}

void nof_coll_pack(struct nof_sched *s, const struct nof_data *from, void *packed, size_t room_bytes)
{
    nof_coll_copy(s, from, &(struct nof_data){packed, room_bytes, nof_type_byte()});
}

int nof_coll_other_size(size_t bytes, size_t expected)
{
    return nof_error(bytes > expected ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                     "%zu bytes are for this rank, which expects %zu: the ranks' counts differ", bytes,
                     expected);
}

void nof_coll_unpack(struct nof_sched *s, const void *packed, const struct nof_data *to)
{
    nof_coll_copy(s, &(struct nof_data){nof_lib_unconst(packed), nof_data_bytes(to), nof_type_byte()}, to);
}
