/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/steps/step.h"

#include <stdlib.h>

#include "base/error.h"
#include "coll/coll.h"
#include "type/op.h"

#define FIRST_STEPS 8 /* of a small collective; malloc() keeps blocks of up to 1 KiB at hand */

void nof_sched_side(struct nof_sched *s, bool local)
{
    nof_sched_fence(s);
    s->local = local;
    s->size = local ? nof_comm_size(s->comm) : nof_comm_peers(s->comm)->size;
}

void nof_sched_among(struct nof_sched *s, const int *members, int size, int rank)
{
    s->among = members;
    s->size = members == NULL ? nof_comm_size(s->comm) : size;
    s->rank = members == NULL ? s->comm->rank : rank;
}

static int peer_of(const struct nof_sched *s, int peer)
{
    return s->among == NULL ? peer : s->among[peer];
}

static void no_memory(struct nof_sched *s)
{
    if (s->build_error == MPI_SUCCESS)
        s->build_error = nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
}

static void append(struct nof_sched *s, const struct nof_step *step)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity == 0 ? FIRST_STEPS : s->capacity * 2;
        struct nof_step *more = realloc(s->steps, capacity * sizeof(*more));
        if (more == NULL) {
            no_memory(s);
            return;
        }
        s->steps = more;
        s->capacity = capacity;
    }
    s->steps[s->count++] = *step;
    if (step->type != NULL)
        nof_type_hold(step->type);
    if (step->to_type != NULL)
        nof_type_hold(step->to_type);
    if (step->op != NULL)
        nof_op_hold(step->op);
}

void nof_sched_send(struct nof_sched *s, const void *buf, size_t count, struct nof_type *type, int peer)
{
    append(s, &(struct nof_step){.kind = NOF_SCHED_SEND,
                                 .local = s->local,
                                 .exact = s->exact,
                                 .meets = s->meets,
                                 .from = buf,
                                 .count = count,
                                 .type = type,
                                 .peer = peer_of(s, peer)});
}

void nof_sched_recv(struct nof_sched *s, void *buf, size_t count, struct nof_type *type, int peer)
{
    append(s, &(struct nof_step){.kind = NOF_SCHED_RECV,
                                 .local = s->local,
                                 .exact = s->exact,
                                 .to = buf,
                                 .count = count,
                                 .type = type,
                                 .peer = peer_of(s, peer)});
}

void nof_sched_multicast(struct nof_sched *s, const struct nof_data *data, const struct nof_group_step *step,
                         bool sends, int root)
{
    s->multicast = true;
    append(s, &(struct nof_step){.kind = sends ? NOF_SCHED_SEND : NOF_SCHED_RECV,
                                 .from = data->buf,
                                 .to = data->buf,
                                 .count = data->count,
                                 .type = data->type,
                                 .multicast = *step,
                                 .peer = root});
}

void nof_sched_copy(struct nof_sched *s, const void *from, size_t from_count, struct nof_type *from_type,
                    void *to, size_t to_count, struct nof_type *to_type)
{
    if (from == to && from_type == to_type)
        return;
    size_t bytes = from_count * from_type->size, room_bytes = to_count * to_type->size;
    if (bytes > room_bytes && s->too_long == MPI_SUCCESS)
        s->too_long = nof_error(MPI_ERR_TRUNCATE, "%zu bytes for a buffer of %zu bytes", bytes, room_bytes);
    append(s, &(struct nof_step){.kind = NOF_SCHED_COPY,
                                 .from = from,
                                 .count = from_count,
                                 .type = from_type,
                                 .to = to,
                                 .to_count = to_count,
                                 .to_type = to_type});
}

void nof_sched_reduce(struct nof_sched *s, struct nof_op *op, struct nof_type *type, const void *in,
                      void *inout, size_t count)
{
    append(s, &(struct nof_step){
                  .kind = NOF_SCHED_REDUCE, .op = op, .type = type, .from = in, .to = inout, .count = count});
}

void nof_sched_update(struct nof_sched *s, const struct nof_section *section, const void *now,
                      const void *before)
{
    append(s, &(struct nof_step){
                  .kind = NOF_SCHED_UPDATE, .section = section, .from = now, .to = nof_lib_unconst(before)});
}

void nof_sched_fence(struct nof_sched *s)
{
    if (s->count == 0)
        return;
    struct nof_step *last = &s->steps[s->count - 1];
    if (nof_step_parts(last))
        last->kind = NOF_SCHED_FENCE;
    else
        append(s, &(struct nof_step){.kind = NOF_SCHED_FENCE});
}

void nof_sched_turn(struct nof_sched *s)
{
    if (s->count > 0 && !nof_step_parts(&s->steps[s->count - 1]))
        append(s, &(struct nof_step){.kind = NOF_SCHED_TURN});
}

void *nof_sched_temporary(struct nof_sched *s, size_t count, const struct nof_type *type)
{
    /* Operations may touch all of the last element, padding included. The bounds fit: the count was checked. */
    ptrdiff_t low = type->tree->lb < type->lb ? type->tree->lb : type->lb;
    ptrdiff_t high = type->tree->ub > type->ub ? type->tree->ub : type->ub;
    ptrdiff_t last = count == 0 ? 0 : nof_type_extent(type) * (ptrdiff_t)(count - 1);
    ptrdiff_t bytes;
    low += last < 0 ? last : 0;
    high += last > 0 ? last : 0;
    if (__builtin_sub_overflow(high, low, &bytes)) {
        no_memory(s);
        return NULL;
    }
    size_t room_bytes = count == 0 ? 1 : (size_t)bytes + 1;
    struct nof_sched_temporary *more = realloc(s->temporaries, (s->temporary_count + 1) * sizeof(*more));
    char *memory = more == NULL ? NULL : malloc(room_bytes);
    if (more != NULL)
        s->temporaries = more;
    if (memory == NULL) {
        no_memory(s);
        return NULL;
    }
    void *base = nof_lib_at(memory, -low);
    s->temporaries[s->temporary_count++] = (struct nof_sched_temporary){memory, base, room_bytes};
    return base;
}

void nof_step_free_all(struct nof_sched *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->steps[i].type != NULL)
            nof_type_release(s->steps[i].type);
        if (s->steps[i].to_type != NULL)
            nof_type_release(s->steps[i].to_type);
        if (s->steps[i].op != NULL)
            nof_op_release(s->steps[i].op);
    }
    if (!s->leak_temporaries)
        for (size_t i = 0; i < s->temporary_count; i++)
            free(s->temporaries[i].memory);
    free(s->temporaries);
    free(s->steps);
}
