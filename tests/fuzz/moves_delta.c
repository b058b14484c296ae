/* SPDX-License-Identifier: BSD-3-Clause */
#include "moves_delta.h"

#include <string.h>

#define UNITS 64u /* of most messages: each goes in a frame of its own */

uint32_t move_slot(uint8_t code)
{
    static const uint32_t none[] = {NOF_DELTA_SLOTS, NOF_DELTA_SLOTS + 1, 255, 1u << 16, UINT32_MAX};
    return code >= 248 ? none[code % 5u] : code >= 240 ? NOF_DELTA_SLOTS - 1 : code % 4u;
}

uint32_t move_least_log2(uint8_t code, uint64_t len)
{
    uint32_t least = code % 14u;
    while (len >> least > (code < 224 ? UNITS : 4 * UNITS))
        least++;
    return least;
}

uint32_t move_unit_log2(uint8_t code, uint64_t len)
{
    return code < 160   ? nof_delta_unit_log2(len, move_least_log2(code, len))
           : code < 240 ? code - 148u
                        : code - 240u;
}

/* Of the units of a message, or, from 240 on, such that hardly one has. */
static uint32_t unit_of(uint8_t code)
{
    return code < 240 ? code : code < 248 ? (code - 239u) * 300u : NOF_DELTA_UNITS - 1 - (code - 248u);
}

static void units(struct nof_delta_ready *ready, const uint8_t *rec, bool set)
{
    uint32_t first = unit_of(rec[MOVE_LEN]), step = 1 + rec[MOVE_HANDLE] % 8u;
    for (uint32_t i = 0; i <= rec[MOVE_LAYOUT] % 64u; i++) {
        uint32_t u = first + i * step;
        uint64_t bit = 1ull << u % 64;
        if (u < NOF_DELTA_UNITS)
            ready->unit[u / 64] = set ? ready->unit[u / 64] | bit : ready->unit[u / 64] & ~bit;
    }
}

void move_board(struct nof_delta_host *board, const uint8_t rec[RECORD_BYTES])
{
    uint32_t slot = move_slot(rec[MOVE_SITE]) % NOF_DELTA_SLOTS;
    struct nof_delta_ready *ready = &board->ready[slot];
    uint64_t word;
    memcpy(&word, rec + MOVE_PEER, sizeof word);
    switch (rec[MOVE_FLAGS] % 16) {
    case 8:
        units(ready, rec, false);
        break;
    case 9: /* most often the length that a send of this code has */
    case 10:
        ready->end = 1 + move_len(rec[MOVE_LEN]);
        break;
    case 11:
        ready->end = rec[MOVE_LAYOUT] & 1 ? word : rec[MOVE_LAYOUT];
        break;
    case 12:
        memset(ready->unit, rec[MOVE_LAYOUT], sizeof ready->unit);
        break;
    case 13:
        ready->unit[rec[MOVE_LEN] % NOF_DELTA_WORDS] = word;
        break;
    case 14:
        board->asleep = (uint32_t)word;
        board->wake += rec[MOVE_LEN];
        ready->reserved[rec[MOVE_LEN] % 7u] = word;
        break;
    case 15:
        board->rung = word;
        break;
    default:
        units(ready, rec, true);
        break;
    }
    if (rec[MOVE_FLAGS] < 224)
        board->rung |= 1ull << slot;
}
