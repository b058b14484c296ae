/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/compile.h"

#include <stdlib.h>

#include "coll/step.h"
#include "p2p/pt2pt.h"
#include "type/type_layout.h"

static_assert(NOF_PROGRAM_STEPS_MAX < NOF_STEP_NONE, "a step has a name");

struct writer {
    const struct nof_sched *s;
    const struct nof_chan *channel;
    struct nof_image *image;
    struct nof_program_step *step; /* of the image */
    unsigned bases; /* of the image, that are taken */
    uint16_t host; /* the HOST step that this round waits for, or NOF_STEP_NONE */
};

/* Where the transfers begin and end; equal if there are none. */
static void find_transfers(const struct nof_sched *s, struct nof_image *image)
{
    image->begin = image->end = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!nof_step_transfers(&s->steps[i]))
            continue;
        if (image->end == 0)
            image->begin = i;
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
        .after = {opcode == NOF_STEP_FENCE ? NOF_STEP_NONE : w->host, NOF_STEP_NONE}};
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

static void place_at(struct writer *w, struct nof_program_step *step, uint64_t address)
{
    uint64_t begin = begin_of(w->s, address), *base = w->image->base;
    unsigned i = 0;
    while (i < w->bases && base[i] != begin)
        i++;
    if (i == w->bases && i < NOF_PROGRAM_BASES)
        base[w->bases++] = begin;
    step->base = (uint8_t)(i < NOF_PROGRAM_BASES ? i : 0);
    step->offset = (int64_t)(address - base[step->base]);
}

static enum nof_compiled add_transfer(struct writer *w, size_t at)
{
    const struct nof_step *from = &w->s->steps[at];
    bool sends = from->kind == NOF_SCHED_SEND;
    struct nof_pt2pt_place place;
    if (!nof_pt2pt_place(w->channel, from->type, sends ? from->from : from->to, from->count, &place))
        return NOF_COMPILE_TYPE;
    struct nof_program_step *step = add(w, sends ? NOF_STEP_SEND : NOF_STEP_RECV, at);
    if (step == NULL)
        return NOF_COMPILE_SHAPE;
    step->peer = nof_comm_peer_world(w->s->comm, from->peer);
    if (place.bytes > 0)
        place_at(w, step, (uintptr_t)place.data);
    step->len = place.bytes;
    step->elem = sends ? nof_type_elem(from->type) : 0;
    step->flags = from->exact ? NOF_STEP_F_EXACT : 0;
    if (place.streamed) {
        step->flags |= NOF_STEP_F_LAYOUT;
        step->layout = from->type->layout.name;
        step->layout_generation = from->type->layout.generation;
    }
    return NOF_COMPILED;
}

static enum nof_compiled add_own(struct writer *w, size_t at)
{
    if (at > w->image->begin && nof_step_is_own(&w->s->steps[at - 1]))
        return NOF_COMPILED; /* the HOST step before has it */
    if (add(w, NOF_STEP_HOST, at) == NULL)
        return NOF_COMPILE_SHAPE;
    w->host = (uint16_t)(w->image->program->nsteps - 1);
    return NOF_COMPILED;
}

static enum nof_compiled add_fence(struct writer *w, size_t at)
{
    w->host = NOF_STEP_NONE;
    return add(w, NOF_STEP_FENCE, at) == NULL ? NOF_COMPILE_SHAPE : NOF_COMPILED;
}

static enum nof_compiled add_all(struct writer *w)
{
    enum nof_compiled rc = NOF_COMPILED;
    for (size_t i = w->image->begin; i < w->image->end && rc == NOF_COMPILED; i++) {
        const struct nof_step *step = &w->s->steps[i];
        rc = nof_step_transfers(step)        ? add_transfer(w, i)
             : step->kind == NOF_SCHED_FENCE ? add_fence(w, i)
                                             : add_own(w, i);
    }
    return rc;
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
    size_t most = image_out->end - image_out->begin;
    most = most < NOF_PROGRAM_STEPS_MAX ? most : NOF_PROGRAM_STEPS_MAX;
    image_out->program = malloc(sizeof(struct nof_program_head) +
                                most * (sizeof(struct nof_program_step) + sizeof(*image_out->origin)));
    if (image_out->program == NULL)
        return NOF_COMPILE_MEMORY;
    *image_out->program = (struct nof_program_head){.magic = NOF_PROGRAM_MAGIC};
    struct nof_program_step *steps = (struct nof_program_step *)(void *)(image_out->program + 1);
    image_out->origin = (uint32_t *)(void *)(steps + most);
    struct writer w = {.s = s, .channel = channel, .image = image_out, .step = steps, .host = NOF_STEP_NONE};
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
