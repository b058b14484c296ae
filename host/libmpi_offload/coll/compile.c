/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/compile.h"

#include <stdlib.h>

#include "coll/steps/step.h"
#include "p2p/pt2pt.h"
#include "type/op.h"
#include "type/type_layout.h"

#define TURNS_MOST 32u /* receives of so many rounds take up room at once */

static_assert(NOF_PROGRAM_STEPS_MAX < NOF_STEP_NONE, "a step has a name");

struct writer {
    const struct nof_sched *s;
    const struct nof_chan *channel;
    struct nof_image *image;
    struct nof_program_step *step; /* of the image */
    unsigned bases; /* of the image, that are taken */
    uint16_t own; /* the last own step of this round, which those behind it wait for, or NOF_STEP_NONE */
    uint16_t sent; /* the last SEND of this round, or NOF_STEP_NONE */
    bool in_turn; /* there has been a turn in this round: sends go behind one another */
    unsigned turns; /* of this round */
    bool ieee; /* the host computes floating operations as the NIC does */
};

/* Where the NIC's transfers begin and end, with those of their rounds that go by memory; equal if there are none. */
static void find_transfers(const struct nof_sched *s, struct nof_image *image)
{
    size_t first = s->count; /* of this round */
    bool of_nic = false; /* this round has one */
    image->begin = image->end = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (nof_step_parts(&s->steps[i])) {
            first = s->count;
            of_nic = false;
        }
        if (!nof_step_transfers(&s->steps[i]))
            continue;
        first = first < i ? first : i;
        of_nic = of_nic || !nof_step_by_memory(s, &s->steps[i]);
        if (of_nic && image->end == 0)
            image->begin = first;
        if (of_nic)
            image->end = i + 1;
    }
}

/* The next step of the program, for step `at` of the schedule; NULL: it has too many. */
static struct nof_program_step *add(struct writer *w, enum nof_step_opcode opcode, size_t at)
{
    uint32_t n = w->image->program->nsteps;
    if (n == NOF_PROGRAM_STEPS_MAX)
        return NULL;
    w->image->program->nsteps++;
    w->image->origin[n] = (uint32_t)at;
    w->step[n] = (struct nof_program_step){
        .opcode = (uint8_t)opcode,
        .after = {opcode == NOF_STEP_FENCE ? NOF_STEP_NONE : w->own, NOF_STEP_NONE}};
    return &w->step[n];
}

/* Where the buffer or temporary begins that has this address; 0: not known. */
static uint64_t begin_of(const struct nof_sched *s, uint64_t address)
{
    uint64_t begin = 0;
    for (size_t i = 0; i < s->temporary_count; i++) {
        const struct nof_sched_temporary *t = &s->temporaries[i];
        uint64_t low = (uintptr_t)(t->base < t->memory ? t->base : t->memory);
        if (address >= low && address < (uintptr_t)t->memory + t->bytes)
            return (uintptr_t)t->base;
    }
    for (int i = 0; i < 2; i++)
        if ((uintptr_t)s->buffer[i] <= address && (uintptr_t)s->buffer[i] > begin)
            begin = (uintptr_t)s->buffer[i];
    return begin;
}

static void place_at(struct writer *w, uint64_t address, uint8_t *base_out, int64_t *offset_out)
{
    uint64_t begin = begin_of(w->s, address), *base = w->image->base;
    unsigned i = 0;
    while (i < w->bases && base[i] != begin)
        i++;
    if (i == w->bases && i < NOF_PROGRAM_BASES)
        base[w->bases++] = begin;
    *base_out = (uint8_t)(i < NOF_PROGRAM_BASES ? i : 0);
    *offset_out = (int64_t)(address - base[*base_out]);
}

/* It goes behind the send before it. */
static void take_turn(struct writer *w, struct nof_program_step *step)
{
    if (w->in_turn && w->sent != NOF_STEP_NONE) {
        step->flags |= NOF_STEP_F_IN_TURN;
        step->after[1] = step->after[0];
        step->after[0] = w->sent;
    }
    w->sent = (uint16_t)(w->image->program->nsteps - 1);
}

/* The host's, by memory: the NIC knows whom it waits for, those it receives from before others. */
static enum nof_compiled add_by_memory(struct writer *w, size_t at)
{
    struct nof_program_step *step = add(w, NOF_STEP_HOST, at);
    if (step == NULL)
        return NOF_COMPILE_SHAPE;
    bool sends = w->s->steps[at].kind == NOF_SCHED_SEND;
    step->flags = sends ? NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS : NOF_STEP_F_AWAITS;
    step->peer = nof_comm_peer_world(w->s->comm, w->s->steps[at].peer);
    return NOF_COMPILED;
}

static enum nof_compiled add_transfer(struct writer *w, size_t at)
{
    const struct nof_step *from = &w->s->steps[at];
    bool sends = from->kind == NOF_SCHED_SEND;
    struct nof_pt2pt_place place;
    if (nof_step_by_memory(w->s, from))
        return add_by_memory(w, at);
    if (!nof_pt2pt_place(w->channel, from->type, sends ? from->from : from->to, from->count, &place))
        return NOF_COMPILE_TYPE;
    struct nof_program_step *step = add(w, sends ? NOF_STEP_SEND : NOF_STEP_RECV, at);
    if (step == NULL)
        return NOF_COMPILE_SHAPE;
    step->peer = nof_comm_peer_world(w->s->comm, from->peer);
    if (place.bytes > 0)
        place_at(w, (uintptr_t)place.data, &step->base, &step->offset);
    step->len = place.bytes;
    step->elem = sends ? nof_type_elem(from->type) : 0;
    step->flags = from->exact ? NOF_STEP_F_EXACT : 0;
    if (from->meets > 0) {
        step->flags |= NOF_STEP_F_ANNOUNCED;
        step->from = place.streamed ? 0 : (int64_t)from->meets;
    }
    if (sends)
        take_turn(w, step);
    if (place.streamed) {
        step->flags |= NOF_STEP_F_LAYOUT;
        step->layout = from->type->layout.name;
        step->layout_generation = from->type->layout.generation;
    }
    return NOF_COMPILED;
}

/* What the NIC can do of the own steps. */
struct work {
    uint8_t op;
    uint8_t type; /* NOF_REDUCE_NONE: a copy */
    const void *from, *to;
    uint64_t bytes;
};

static bool is_floating(unsigned type)
{
    return (type >= NOF_REDUCE_F32 && type <= NOF_REDUCE_C128) || type == NOF_REDUCE_F32_I32 ||
           type == NOF_REDUCE_F64_I32 || type >= NOF_REDUCE_LD_I32;
}

static bool find_reduction(const struct writer *w, const struct nof_step *step, struct work *work_out)
{
    unsigned type = step->type->basic;
    uint64_t each = nof_reduce_bytes(type);
    if (!nof_reduce_defined(step->op->kind, type) || (is_floating(type) && !w->ieee) ||
        step->count > INT64_MAX / each)
        return false;
    *work_out =
        (struct work){(uint8_t)step->op->kind, (uint8_t)type, step->from, step->to, step->count * each};
    return true;
}

static bool find_copy(const struct writer *w, const struct nof_step *step, struct work *work_out)
{
    struct nof_pt2pt_place from, to;
    if (!nof_pt2pt_place(w->channel, step->type, step->from, step->count, &from) || from.streamed ||
        !nof_pt2pt_place(w->channel, step->to_type, step->to, step->to_count, &to) || to.streamed)
        return false;
    *work_out = (struct work){.from = from.data, .to = to.data, .bytes = from.bytes};
    return true;
}

static bool find_work(const struct writer *w, size_t at, struct work *work_out)
{
    const struct nof_step *step = &w->s->steps[at];
    return step->kind == NOF_SCHED_REDUCE ? find_reduction(w, step, work_out)
           : step->kind == NOF_SCHED_COPY ? find_copy(w, step, work_out)
                                          : false;
}

/* An own step; what comes later in the round waits for it. */
static struct nof_program_step *add_awaited(struct writer *w, enum nof_step_opcode opcode, size_t at)
{
    struct nof_program_step *step = add(w, opcode, at);
    if (step != NULL)
        w->own = (uint16_t)(w->image->program->nsteps - 1);
    return step;
}

static enum nof_compiled add_work(struct writer *w, size_t at, const struct work *work)
{
    bool copies = work->type == NOF_REDUCE_NONE;
    struct nof_program_step *step = add_awaited(w, copies ? NOF_STEP_COPY : NOF_STEP_REDUCE, at);
    if (step == NULL)
        return NOF_COMPILE_SHAPE;
    step->op = work->op;
    step->elem = work->type;
    step->len = work->bytes;
    if (work->bytes > 0) {
        place_at(w, (uintptr_t)work->to, &step->base, &step->offset);
        place_at(w, (uintptr_t)work->from, &step->from_base, &step->from);
    }
    return NOF_COMPILED;
}

/* `n` own steps: each by the NIC, or all by the host. */
static enum nof_compiled add_own(struct writer *w, size_t at, size_t n)
{
    struct work work;
    enum nof_compiled rc = NOF_COMPILED;
    bool nic = true;
    for (size_t i = at; i < at + n && nic; i++)
        nic = find_work(w, i, &work);
    for (size_t i = at; i < at + n && nic && rc == NOF_COMPILED; i++)
        rc = find_work(w, i, &work) ? add_work(w, i, &work) : NOF_COMPILE_SHAPE;
    if (nic)
        return rc;
    return add_awaited(w, NOF_STEP_HOST, at) == NULL ? NOF_COMPILE_SHAPE : NOF_COMPILED;
}

static enum nof_compiled add_fence(struct writer *w, size_t at)
{
    w->own = w->sent = NOF_STEP_NONE;
    w->turns = 0;
    w->in_turn = false;
    return add(w, NOF_STEP_FENCE, at) == NULL ? NOF_COMPILE_SHAPE : NOF_COMPILED;
}

static enum nof_compiled add_turn(struct writer *w, size_t at)
{
    w->in_turn = true;
    return ++w->turns < TURNS_MOST ? NOF_COMPILED : add_fence(w, at);
}

/* How many own steps follow each other from `at` on. */
static size_t count_own(const struct writer *w, size_t at)
{
    size_t n = 0;
    while (at + n < w->image->end && nof_step_is_own(&w->s->steps[at + n]))
        n++;
    return n;
}

static enum nof_compiled add_all(struct writer *w)
{
    enum nof_compiled rc = NOF_COMPILED;
    for (size_t i = w->image->begin, n; i < w->image->end && rc == NOF_COMPILED; i += n) {
        const struct nof_step *step = &w->s->steps[i];
        n = nof_step_is_own(step) ? count_own(w, i) : 1;
        rc = nof_step_transfers(step)        ? add_transfer(w, i)
             : step->kind == NOF_SCHED_FENCE ? add_fence(w, i)
             : step->kind == NOF_SCHED_TURN  ? add_turn(w, i)
                                             : add_own(w, i, n);
    }
    return rc;
}

/* Nobody waits for this one yet: what is behind the last transfer is the NIC's, too, if it can do all of it. */
static void take_rest(const struct writer *w)
{
    struct work work;
    size_t i = w->image->end;
    while (i < w->s->count && (nof_step_parts(&w->s->steps[i]) || find_work(w, i, &work)))
        i++;
    if (w->s->request != NULL && i == w->s->count)
        w->image->end = i;
}

enum nof_compiled nof_compile(const struct nof_sched *s, const struct nof_chan *channel,
                              struct nof_image *image_out)
{
    *image_out = (struct nof_image){0};
    find_transfers(s, image_out);
    if (image_out->end == 0)
        return NOF_COMPILE_OWN;
    if (s->comm->remote != NULL || s->too_long != MPI_SUCCESS || s->count > UINT32_MAX)
        return NOF_COMPILE_SHAPE;
    struct writer w = {.s = s,
                       .channel = channel,
                       .image = image_out,
                       .own = NOF_STEP_NONE,
                       .sent = NOF_STEP_NONE,
                       .ieee = nof_op_computes_as_nic()};
    image_out->ieee = w.ieee;
    take_rest(&w);
    size_t most = image_out->end - image_out->begin;
    most = most < NOF_PROGRAM_STEPS_MAX ? most : NOF_PROGRAM_STEPS_MAX;
    image_out->program = malloc(sizeof(struct nof_program_head) +
                                most * (sizeof(struct nof_program_step) + sizeof(*image_out->origin)));
    if (image_out->program == NULL)
        return NOF_COMPILE_MEMORY;
    *image_out->program = (struct nof_program_head){.magic = NOF_PROGRAM_MAGIC};
    w.step = (struct nof_program_step *)(void *)(image_out->program + 1);
    image_out->origin = (uint32_t *)(void *)(w.step + most);
    enum nof_compiled rc = add_all(&w);
    image_out->bytes =
        sizeof(struct nof_program_head) + image_out->program->nsteps * sizeof(struct nof_program_step);
    return rc;
}

void nof_image_free(struct nof_image *image)
{
    free(image->program);
    *image = (struct nof_image){0};
}
