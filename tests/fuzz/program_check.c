/* SPDX-License-Identifier: BSD-3-Clause */
#include "program_check.h"

#include <string.h>

#include "nof/desc.h"
#include "nof/program.h"
#include "nof/reductions.h"

#define HEAD 16u
#define STEP 48u

/* Fields by their places, so that a struct of ours that changes is found, too. */
static uint64_t field(const uint8_t *at, unsigned offset, unsigned bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0)
        v = v << 8 | at[offset + bytes];
    return v;
}

struct said {
    uint64_t opcode, flags, elem, base, peer, offset, len, layouts, after[2], op, from_base, reserved, from;
};

static struct said read_step(const uint8_t *at)
{
    return (struct said){.opcode = field(at, 0, 1),
                         .flags = field(at, 1, 1),
                         .elem = field(at, 2, 1),
                         .base = field(at, 3, 1),
                         .peer = field(at, 4, 4),
                         .offset = field(at, 8, 8),
                         .len = field(at, 16, 8),
                         .layouts = field(at, 24, 8),
                         .after = {field(at, 32, 2), field(at, 34, 2)},
                         .op = field(at, 36, 1),
                         .from_base = field(at, 37, 1),
                         .reserved = field(at, 38, 2),
                         .from = field(at, 40, 8)};
}

static int is_among(uint64_t v, const uint8_t *list, unsigned n)
{
    return memchr(list, (int)v, n) != NULL;
}

/* The table at the head of nof/reductions.h, in its order. */
static int reduction_is_defined(uint64_t op, uint64_t type)
{
    static const uint8_t integers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const uint8_t floating[] = {10, 11, 12, 13};
    static const uint8_t complexes[] = {14, 15, 16, 17};
    static const uint8_t logicals[] = {18, 19, 20, 21, 22};
    static const uint8_t pairs[] = {24, 25, 26, 27, 28, 29, 30, 31};
    int integer = is_among(type, integers, sizeof integers), real = is_among(type, floating, sizeof floating);
    switch (op) {
    case NOF_REDUCE_SUM:
    case NOF_REDUCE_PROD:
        return integer || real || is_among(type, complexes, sizeof complexes);
    case NOF_REDUCE_MIN:
    case NOF_REDUCE_MAX:
        return integer || real;
    case NOF_REDUCE_BAND:
    case NOF_REDUCE_BOR:
    case NOF_REDUCE_BXOR:
        return integer || type == NOF_REDUCE_BYTE;
    case NOF_REDUCE_LAND:
    case NOF_REDUCE_LOR:
    case NOF_REDUCE_LXOR:
        return integer || real || is_among(type, logicals, sizeof logicals);
    case NOF_REDUCE_MINLOC:
    case NOF_REDUCE_MAXLOC:
        return is_among(type, pairs, sizeof pairs);
    default:
        return 0;
    }
}

static uint64_t element_bytes(uint64_t type)
{
    static const uint8_t bytes[32] = {0,  1,  1, 2, 2, 4, 4,  8, 8, 16, 4,  8, 16, 16, 8, 16,
                                      32, 32, 1, 2, 4, 8, 16, 1, 8, 16, 16, 8, 8,  32, 8, 16};
    return type < 32 ? bytes[type] : 0;
}

static const char *check_message(const struct said *s, uint32_t ranks)
{
    if (s->flags & ~(s->opcode == NOF_STEP_SEND ? 39ull : 3ull))
        return "unknown flags";
    if (s->peer >= ranks) /* negative ones are larger */
        return "a peer that is no job rank";
    if (s->opcode == NOF_STEP_SEND ? s->elem > NOF_ELEM_C32 : s->elem != 0)
        return "no such element";
    if (!(s->flags & NOF_STEP_F_LAYOUT) && s->layouts != 0)
        return "a layout without the flag";
    return NULL;
}

static const char *check_work(const struct said *s)
{
    if (s->flags != 0 || s->peer != 0 || s->layouts != 0)
        return "what works on memory has neither flags nor peer nor layout";
    if (s->from_base > 2)
        return "no such base to read from";
    if (s->opcode == NOF_STEP_COPY)
        return s->op != 0 || s->elem != 0 ? "a copy with an operation" : NULL;
    if (!reduction_is_defined(s->op, s->elem))
        return "no such reduction";
    return s->len % element_bytes(s->elem) != 0 ? "part of an element" : NULL;
}

/* `i`: its index; `round`: the first step of its round. */
static const char *check_step(const struct said *s, uint64_t i, uint64_t round, uint32_t ranks)
{
    int fence = s->opcode == NOF_STEP_FENCE, host = s->opcode == NOF_STEP_HOST;
    int works = s->opcode == NOF_STEP_REDUCE || s->opcode == NOF_STEP_COPY;
    if (s->opcode < NOF_STEP_SEND || s->opcode > NOF_STEP_COPY)
        return "no such step";
    if (s->reserved != 0)
        return "reserved is not 0";
    if (!works && (s->op != 0 || s->from_base != 0))
        return "fields of a reduction elsewhere";
    if (!works && s->from != 0 && (s->opcode != NOF_STEP_SEND || (s->flags & 34) != 32))
        return "bytes that meet, of what does not say so";
    for (unsigned k = 0; k < 2; k++) {
        if (s->after[k] == NOF_STEP_NONE)
            continue;
        if (fence)
            return "a fence names steps";
        if (s->after[k] >= i || s->after[k] < round)
            return "it names a step that is not before it in its round";
    }
    if (host && (s->flags == 8 || s->flags == 24))
        return (s->elem | s->base | s->offset | s->len | s->layouts) != 0 ? "fields that are not 0"
               : s->peer >= ranks                                         ? "it awaits what is no job rank"
                                                                          : NULL;
    if (fence || host)
        return (s->flags | s->elem | s->base | s->peer | s->offset | s->len | s->layouts) != 0
                   ? "fields that are not 0"
                   : NULL;
    if (s->base > 2)
        return "no such base";
    if (s->len >> 63 != 0)
        return "too long";
    return works ? check_work(s) : check_message(s, ranks);
}

/* In turn: behind a SEND, and nobody else is behind the same. */
static const char *check_turn(const uint8_t *steps, const struct said *s, uint8_t *has_one)
{
    if (s->opcode != NOF_STEP_SEND || !(s->flags & NOF_STEP_F_IN_TURN))
        return NULL;
    if (s->after[0] == NOF_STEP_NONE)
        return "in turn behind nothing";
    struct said before = read_step(steps + s->after[0] * STEP);
    if (before.opcode != NOF_STEP_SEND)
        return "in turn behind what is no send";
    uint8_t *bits = &has_one[s->after[0] / 8], bit = (uint8_t)(1u << s->after[0] % 8);
    if (*bits & bit)
        return "two in turn behind one";
    *bits |= bit;
    return NULL;
}

const char *program_check(const uint8_t *bytes, uint64_t len, uint32_t ranks)
{
    uint8_t has_one[1024 / 8] = {0};
    uint64_t round = 0;
    if (len < HEAD || field(bytes, 0, 4) != NOF_PROGRAM_MAGIC || field(bytes, 8, 8) != 0)
        return "no head";
    uint64_t n = field(bytes, 4, 4);
    if (n == 0 || n > 1024 || len != HEAD + n * STEP)
        return "a wrong number of steps";
    for (uint64_t i = 0; i < n; i++) {
        struct said s = read_step(bytes + HEAD + i * STEP);
        const char *why = check_step(&s, i, round, ranks);
        if (why == NULL)
            why = check_turn(bytes + HEAD, &s, has_one);
        if (why != NULL)
            return why;
        if (s.opcode == NOF_STEP_FENCE)
            round = i + 1;
    }
    return NULL;
}
