/* SPDX-License-Identifier: BSD-3-Clause */
/* The program that a schedule becomes, step by step: what the NIC is given, what the host keeps before and behind it, where
 * its bytes lie, and what is not compiled. */
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "coll/compile.h"
#include "coll/steps/step.h"
#include "nof/desc.h"
#include "p2p/pt2pt.h"
#include "type/op.h"
#include "type/type_layout.h"

static int world_of[] = {4, 9, 2};
static struct nof_group group = {.size = 3, .world = world_of};
static struct nof_comm comm = {.group = &group, .rank = 0};
static struct nof_type ints = {
    .size = 4, .contiguous = true, .basic = NOF_REDUCE_I32, .uniform = NOF_REDUCE_I32};
static struct nof_type doubles = {.size = 8, .contiguous = true, .basic = NOF_REDUCE_F64};
static struct nof_op sum = {.kind = NOF_REDUCE_SUM}, max = {.kind = NOF_REDUCE_MAX},
                     replace = {.kind = NOF_OP_REPLACE}, user = {.kind = NOF_OP_USER};
static bool computes_as_nic = true;
static struct nof_type walked = {.size = 8,
                                 .layout = {.name = 7, .generation = 3, .state = NOF_LAYOUT_READY}};
static struct nof_type packed = {.size = 8};
static char buffer[64];

/* Of those that the compiler asks. Memory reaches rank 1 of a mixed communicator. */
static const struct nof_chan by_memory;
const struct nof_chan *nof_chan_to_all;
const struct nof_chan *nof_chan_of_coll(const struct nof_comm *of, int peer, bool started)
{
    return of->mixed && peer == 1 && !started ? &by_memory : nof_chan_to_all;
}
bool nof_pt2pt_place(const struct nof_chan *channel, const struct nof_type *type, const void *buf,
                     size_t count, struct nof_pt2pt_place *place_out)
{
    check(channel == NULL);
    *place_out = (struct nof_pt2pt_place){nof_lib_unconst(buf), type->size * count, type == &walked};
    return type != &packed;
}
bool nof_op_computes_as_nic(void)
{
    return computes_as_nic;
}
uint8_t nof_type_elem(const struct nof_type *type)
{
    return type == &ints ? NOF_ELEM_I32 : NOF_ELEM_RAW;
}

#define TRANSFER(what, type_, count_, peer_) \
    { \
        .kind = NOF_SCHED_##what, .from = buffer, .to = buffer + 32, .type = type_, .count = count_, \
        .peer = peer_ \
    }
#define OWN \
    { \
        .kind = NOF_SCHED_UPDATE \
    }
#define REDUCE(op_, type_, count_) \
    { \
        .kind = NOF_SCHED_REDUCE, .from = buffer + 8, .to = buffer + 24, .type = type_, .count = count_, \
        .op = op_ \
    }
#define COPY(from_type, count_, to_type_) \
    { \
        .kind = NOF_SCHED_COPY, .from = buffer + 16, .to = buffer + 48, .type = from_type, .count = count_, \
        .to_type = to_type_, .to_count = 99 \
    }
#define TURN \
    { \
        .kind = NOF_SCHED_TURN \
    }
#define FENCE \
    { \
        .kind = NOF_SCHED_FENCE \
    }

static struct nof_image image;

static enum nof_compiled compile(struct nof_step *steps, size_t count)
{
    struct nof_sched s = {.comm = &comm, .steps = steps, .count = count};
    nof_image_free(&image);
    return nof_compile(&s, NULL, &image);
}

static const struct nof_program_step *step(uint32_t i)
{
    return (const struct nof_program_step *)(const void *)(image.program + 1) + i;
}

static void is(uint32_t i, enum nof_step_opcode opcode, uint32_t origin, uint16_t after)
{
    const struct nof_program_step *s = step(i);
    check(s->opcode == opcode && image.origin[i] == origin);
    check(s->after[0] == after && s->after[1] == NOF_STEP_NONE && s->base == 0);
    check((s->reserved[0] | s->reserved[1]) == 0);
}

/* Of the host, which does it by memory. */
static void is_by_memory(uint32_t i, uint32_t origin, uint16_t after, int world_peer, bool sends)
{
    is(i, NOF_STEP_HOST, origin, after);
    check(step(i)->flags == (NOF_STEP_F_AWAITS | (sends ? NOF_STEP_F_SENDS : 0)) &&
          step(i)->peer == world_peer);
}

static void rounds(void)
{
    struct nof_step steps[] = {
        OWN,
        FENCE,
        OWN, /* 0..2 before all transfers */
        TRANSFER(RECV, &ints, 3, 1),
        OWN,
        OWN,
        TRANSFER(SEND, &ints, 5, 2),
        OWN,
        TRANSFER(SEND, &walked, 2, 0),
        FENCE, /* 3..9 */
        TRANSFER(RECV, &ints, 0, 2),
        FENCE,
        OWN,
        FENCE,
        TRANSFER(SEND, &ints, 1, 1), /* 10..14 */
        OWN,
        FENCE,
        OWN, /* behind all */
    };
    steps[6].exact = true;
    steps[14].meets = 50000;
    check(compile(steps, sizeof(steps) / sizeof(steps[0])) == NOF_COMPILED);
    check(image.begin == 3 && image.end == 15);
    check(image.program->magic == NOF_PROGRAM_MAGIC && image.program->nsteps == 11 &&
          image.program->reserved == 0);
    check(image.bytes == sizeof(struct nof_program_head) + 11 * sizeof(struct nof_program_step));
    is(0, NOF_STEP_RECV, 3, NOF_STEP_NONE);
    is(1, NOF_STEP_HOST, 4, NOF_STEP_NONE);
    is(2, NOF_STEP_SEND, 6, 1);
    is(3, NOF_STEP_HOST, 7, 1);
    is(4, NOF_STEP_SEND, 8, 3);
    is(5, NOF_STEP_FENCE, 9, NOF_STEP_NONE);
    is(6, NOF_STEP_RECV, 10, NOF_STEP_NONE);
    is(7, NOF_STEP_FENCE, 11, NOF_STEP_NONE);
    is(8, NOF_STEP_HOST, 12, NOF_STEP_NONE);
    is(9, NOF_STEP_FENCE, 13, NOF_STEP_NONE);
    is(10, NOF_STEP_SEND, 14, NOF_STEP_NONE);
    check(step(0)->peer == 9 && step(0)->len == 12 && step(0)->elem == 0 && step(0)->flags == 0);
    check(step(0)->offset == (int64_t)(uintptr_t)(buffer + 32) && image.base[0] == 0);
    check(step(2)->peer == 2 && step(2)->len == 20 && step(2)->elem == NOF_ELEM_I32);
    check(step(2)->flags == NOF_STEP_F_EXACT && step(2)->offset == (int64_t)(uintptr_t)buffer);
    check(step(4)->peer == 4 && step(4)->flags == NOF_STEP_F_LAYOUT && step(4)->len == 16);
    check(step(4)->layout == 7 && step(4)->layout_generation == 3);
    check(step(1)->peer == 0 && step(1)->len == 0 && step(5)->peer == 0);
    check(step(10)->flags == NOF_STEP_F_ANNOUNCED && step(10)->from == 50000);
}

static void is_in_turn(uint32_t i, uint32_t origin, uint16_t behind, uint16_t after)
{
    const struct nof_program_step *s = step(i);
    check(s->opcode == NOF_STEP_SEND && image.origin[i] == origin && s->flags == NOF_STEP_F_IN_TURN);
    check(s->after[0] == behind && s->after[1] == after);
}

/* Rounds in turn: no fence, but each send behind the last one before it. */
static void turns(void)
{
    struct nof_step steps[] = {
        TRANSFER(RECV, &ints, 3, 1),
        TRANSFER(SEND, &ints, 3, 2),
        TURN,
        TRANSFER(RECV, &ints, 3, 2),
        OWN,
        TRANSFER(SEND, &ints, 3, 1), /* 5 */
        TURN,
        TRANSFER(RECV, &ints, 3, 0), /* a round without a send */
        TURN,
        TRANSFER(SEND, &ints, 3, 1),
        TRANSFER(SEND, &ints, 3, 2), /* 10: a second one of its round */
        FENCE,
        TRANSFER(SEND, &ints, 3, 2),
    };
    check(compile(steps, sizeof(steps) / sizeof(steps[0])) == NOF_COMPILED);
    check(image.program->nsteps == 10);
    is(0, NOF_STEP_RECV, 0, NOF_STEP_NONE);
    is(1, NOF_STEP_SEND, 1, NOF_STEP_NONE);
    is(2, NOF_STEP_RECV, 3, NOF_STEP_NONE);
    is(3, NOF_STEP_HOST, 4, NOF_STEP_NONE);
    is_in_turn(4, 5, 1, 3);
    is(5, NOF_STEP_RECV, 7, 3);
    is_in_turn(6, 9, 4, 3);
    is_in_turn(7, 10, 6, 3);
    is(8, NOF_STEP_FENCE, 11, NOF_STEP_NONE);
    is(9, NOF_STEP_SEND, 12, NOF_STEP_NONE);
}

/* Receives take up room: after some rounds all of them must be done. */
static void many_turns(void)
{
    struct nof_step steps[120];
    unsigned fences = 0, open = 0;
    for (size_t i = 0; i < 120; i += 3) {
        steps[i] = (struct nof_step)TRANSFER(RECV, &ints, 3, 1);
        steps[i + 1] = (struct nof_step)TRANSFER(SEND, &ints, 3, 1);
        steps[i + 2] = (struct nof_step)TURN;
    }
    check(compile(steps, 119) == NOF_COMPILED);
    for (uint32_t i = 0; i < image.program->nsteps; i++) {
        open = step(i)->opcode == NOF_STEP_FENCE ? 0 : open + (step(i)->opcode == NOF_STEP_RECV);
        fences += step(i)->opcode == NOF_STEP_FENCE;
        check(open <= 32);
    }
    check(fences == 1 && image.program->nsteps == 81);
}

/* The same calls with other buffers: other bases, the same bytes. */
static void bases(void)
{
    static char memory[1000];
    struct nof_program_head *other = NULL;
    size_t other_bytes = 0;
    for (int k = 0; k < 3; k++) {
        /* Send before receive, receive before send, and the temporaries between. */
        char *in = memory + (k == 1 ? 600 : 100), *out = memory + (k == 1 ? 40 : 700 + k);
        struct nof_sched_temporary temporaries[] = {{memory + 300, memory + 300, 50},
                                                    {memory + 400, memory + 396, 50}};
        struct nof_step steps[] = {TRANSFER(SEND, &ints, 0, 1), TRANSFER(SEND, &ints, 3, 1),
                                   TRANSFER(RECV, &ints, 2, 2), TRANSFER(RECV, &walked, 1, 2),
                                   TRANSFER(SEND, &ints, 1, 2), TRANSFER(RECV, &ints, 1, 1)};
        steps[1].from = in + 8;
        steps[2].to = memory + 310;
        steps[3].to = memory + 398;
        steps[4].from = in;
        steps[5].to = memory + 349;
        struct nof_sched s = {.comm = &comm,
                              .steps = steps,
                              .count = 6,
                              .buffer = {in, out},
                              .temporaries = temporaries,
                              .temporary_count = 2};
        nof_image_free(&image);
        check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
        check(step(0)->base == 0 && step(0)->offset == 0 && step(0)->len == 0); /* no bytes: nowhere */
        check(image.base[0] == (uintptr_t)in && image.base[1] == (uintptr_t)(memory + 300) &&
              image.base[2] == (uintptr_t)(memory + 396));
        check(step(1)->base == 0 && step(1)->offset == 8 && step(4)->base == 0 && step(4)->offset == 0);
        check(step(2)->base == 1 && step(2)->offset == 10 && step(5)->base == 1 && step(5)->offset == 49);
        check(step(3)->base == 2 && step(3)->offset == 2);
        check(other == NULL ||
              (image.bytes == other_bytes && memcmp(other, image.program, other_bytes) == 0));
        /* One more than there are bases: it is told from the first. */
        steps[5].to = out + 4;
        nof_image_free(&image);
        check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
        check(step(5)->base == 0 && step(5)->offset == out + 4 - in);
        steps[5].to = memory + 349;
        nof_image_free(&image);
        check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
        free(other);
        other_bytes = image.bytes;
        other = image.program;
        image = (struct nof_image){0};
    }
    free(other);
}

/* What the NIC does by itself, one behind the other, and what comes later behind them. */
static void works(void)
{
    struct nof_step steps[] = {
        COPY(&ints, 2, &ints), /* before all transfers */
        TRANSFER(RECV, &ints, 3, 1),
        FENCE,
        REDUCE(&sum, &ints, 3),
        COPY(&doubles, 1, &ints),
        REDUCE(&max, &doubles, 2),
        TRANSFER(SEND, &ints, 5, 2), /* 6 */
        FENCE,
        REDUCE(&max, &doubles, 2),
        REDUCE(&user, &ints, 2), /* has the host do both */
        TRANSFER(SEND, &ints, 5, 2), /* 10 */
        COPY(&walked, 1, &ints),
        TRANSFER(SEND, &ints, 5, 2),
        COPY(&ints, 1, &packed),
        TRANSFER(SEND, &ints, 5, 2), /* 14 */
        REDUCE(&replace, &ints, 2),
        TRANSFER(SEND, &ints, 5, 2),
        FENCE,
        REDUCE(&sum, &doubles, 1), /* 18, behind all */
        COPY(&ints, 2, &ints),
    };
    struct nof_sched s = {.comm = &comm, .steps = steps, .count = sizeof(steps) / sizeof(steps[0])};
    struct nof_request request;
    s.buffer[0] = buffer + 8;
    s.buffer[1] = buffer + 24;
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.begin == 1 && image.end == 17 && image.program->nsteps == 15);
    const struct nof_program_step *p = step(2);
    check(p[0].opcode == NOF_STEP_REDUCE && p[0].op == NOF_REDUCE_SUM && p[0].elem == NOF_REDUCE_I32);
    check(p[0].len == 12 && p[0].after[0] == NOF_STEP_NONE && image.origin[2] == 3);
    check(image.base[p[0].base] + (uint64_t)p[0].offset == (uintptr_t)(buffer + 24));
    check(image.base[p[0].from_base] + (uint64_t)p[0].from == (uintptr_t)(buffer + 8));
    check(image.base[p[0].from_base] == (uintptr_t)(buffer + 8) && p[0].from_base != p[0].base);
    check(p[1].opcode == NOF_STEP_COPY && p[1].op == 0 && p[1].elem == 0 && p[1].len == 8);
    check(image.base[p[1].base] + (uint64_t)p[1].offset == (uintptr_t)(buffer + 48));
    check(image.base[p[1].from_base] + (uint64_t)p[1].from == (uintptr_t)(buffer + 16));
    check(p[1].after[0] == 2 && p[2].after[0] == 3 && p[3].after[0] == 4);
    check(p[2].opcode == NOF_STEP_REDUCE && p[2].op == NOF_REDUCE_MAX && p[2].len == 16);
    check(step(7)->opcode == NOF_STEP_HOST && image.origin[7] == 8 && step(8)->after[0] == 7);
    check(step(9)->opcode == NOF_STEP_HOST && step(11)->opcode == NOF_STEP_HOST);
    check(step(13)->opcode == NOF_STEP_HOST && image.origin[13] == 15);

    s.request = &request; /* the rest is the NIC's, too */
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.end == 20 && image.program->nsteps == 18);
    check(step(16)->opcode == NOF_STEP_REDUCE && step(16)->len == 8 && step(16)->after[0] == NOF_STEP_NONE);
    check(step(17)->opcode == NOF_STEP_COPY && step(17)->after[0] == 16 && image.origin[17] == 19);

    computes_as_nic = false; /* sums of integers are the same */
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.end == 17 && step(2)->opcode == NOF_STEP_HOST && image.origin[2] == 3);
    steps[5].type = steps[18].type = &ints;
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.end == 20 && step(4)->opcode == NOF_STEP_REDUCE);
    computes_as_nic = true;
}

/* What goes by memory is the host's: before the NIC's first round, behind its last one, and asked for in those between. */
static void beside_memory(void)
{
    struct nof_comm mixed = comm;
    struct nof_step steps[] = {
        TRANSFER(RECV, &packed, 3, 1), /* alone in its round: the host's */
        FENCE,
        OWN,
        TRANSFER(RECV, &packed, 3, 1), /* 3: beside one of the NIC's */
        OWN,
        TRANSFER(SEND, &ints, 3, 2), /* 5 */
        TRANSFER(SEND, &ints, 3, 1),
        FENCE,
        TRANSFER(SEND, &ints, 1, 1),
        FENCE,
        TRANSFER(RECV, &ints, 2, 0), /* 10: the last of the NIC's */
        TRANSFER(SEND, &ints, 2, 1),
        OWN,
        FENCE,
        TRANSFER(SEND, &ints, 2, 1),
    };
    struct nof_sched s = {.comm = &mixed, .steps = steps, .count = sizeof(steps) / sizeof(steps[0])};
    mixed.mixed = true;
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.begin == 3 && image.end == 12 && image.program->nsteps == 9);
    is_by_memory(0, 3, NOF_STEP_NONE, 9, false);
    is(1, NOF_STEP_HOST, 4, NOF_STEP_NONE);
    check(step(1)->flags == 0 && step(1)->peer == 0); /* an own step awaits nobody */
    is(2, NOF_STEP_SEND, 5, 1);
    is_by_memory(3, 6, 1, 9, true); /* nothing waits for it but the fence */
    is(4, NOF_STEP_FENCE, 7, NOF_STEP_NONE);
    is_by_memory(5, 8, NOF_STEP_NONE, 9, true);
    is(6, NOF_STEP_FENCE, 9, NOF_STEP_NONE);
    is(7, NOF_STEP_RECV, 10, NOF_STEP_NONE);
    is_by_memory(8, 11, NOF_STEP_NONE, 9, true);
    s.kept = true; /* its ranks may compute meanwhile */
    for (size_t i = 0; i < s.count; i++)
        if (steps[i].kind == NOF_SCHED_RECV)
            steps[i].type = &ints;
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILED);
    check(image.begin == 0 && image.end == 15 && image.program->nsteps == 15);
    is(0, NOF_STEP_RECV, 0, NOF_STEP_NONE);
    s.kept = false;
    s.count = 2; /* all by memory: nothing for the NIC */
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILE_OWN);
}

static void not_compiled(void)
{
    struct nof_step own[] = {OWN, FENCE, OWN};
    struct nof_step apart[] = {TRANSFER(SEND, &ints, 1, 1), FENCE, TRANSFER(RECV, &packed, 1, 1)};
    check(compile(own, 3) == NOF_COMPILE_OWN && compile(own, 0) == NOF_COMPILE_OWN);
    check(compile(apart, 3) == NOF_COMPILE_TYPE && compile(apart, 2) == NOF_COMPILED);
    struct nof_comm inter = comm;
    inter.remote = &group;
    struct nof_sched s = {.comm = &inter, .steps = apart, .count = 1};
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILE_SHAPE);
    s.comm = &comm;
    s.too_long = MPI_ERR_TRUNCATE;
    nof_image_free(&image);
    check(nof_compile(&s, NULL, &image) == NOF_COMPILE_SHAPE);
}

/* As many as there may be, and one more; own steps that follow each other are one. */
static void many(void)
{
    static struct nof_step steps[NOF_PROGRAM_STEPS_MAX + 1];
    for (size_t i = 0; i <= NOF_PROGRAM_STEPS_MAX; i++)
        steps[i] = (struct nof_step)TRANSFER(SEND, &ints, 1, 1);
    check(compile(steps, NOF_PROGRAM_STEPS_MAX) == NOF_COMPILED &&
          image.program->nsteps == NOF_PROGRAM_STEPS_MAX);
    check(compile(steps, NOF_PROGRAM_STEPS_MAX + 1) == NOF_COMPILE_SHAPE);
    steps[100] = steps[101] = (struct nof_step)OWN;
    check(compile(steps, NOF_PROGRAM_STEPS_MAX + 1) == NOF_COMPILED &&
          image.program->nsteps == NOF_PROGRAM_STEPS_MAX);
    is(100, NOF_STEP_HOST, 100, NOF_STEP_NONE);
    is(101, NOF_STEP_SEND, 102, 100);
    is(NOF_PROGRAM_STEPS_MAX - 1, NOF_STEP_SEND, NOF_PROGRAM_STEPS_MAX, 100);
}

int main(void)
{
    rounds();
    turns();
    many_turns();
    works();
    beside_memory();
    bases();
    not_compiled();
    many();
    nof_image_free(&image);
    check(image.program == NULL && image.origin == NULL);
    return 0;
}
