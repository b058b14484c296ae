/* SPDX-License-Identifier: BSD-3-Clause */
/* Boards of delta messages by memory: receivers read what senders have set, and say what has come. */
#include <stdatomic.h>
#include <time.h>

#include "../check.h"
#include "delta/delta_in.h"
#include "delta/delta_out.h"

enum { BYTES = 8192 };

struct nof_lib nof_lib;
static struct nof_delta_host host;
static struct nof_delta_nic nic;
static unsigned char from[BYTES], to[BYTES];
static unsigned rings;

uint64_t nof_lib_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct nof_delta_host *get_host(void)
{
    return &host;
}

static const struct nof_delta_nic *get_nic(void)
{
    return &nic;
}

/* One message at a time. */
static struct nof_delta_ready in_memory;

static struct nof_delta_ready *ready_in_memory(uint32_t slot)
{
    return slot == NOF_DELTA_SLOTS ? &in_memory : NULL;
}

static void ring_in_memory(uint32_t slot)
{
    check(slot == NOF_DELTA_SLOTS);
    rings++;
}

static const struct nof_delta_board memory_board = {
    .by_memory = true, .host = get_host, .nic = get_nic, .ready = ready_in_memory, .ring = ring_in_memory};

int main(void)
{
    const struct nof_delta_out_args args = {
        .board = &memory_board, .data = from, .bytes = BYTES, .by_address = true};
    in_memory.unit[0] = UINT64_MAX; /* of the one before */
    struct nof_delta_out *out = nof_delta_out_take(&args), *other = nof_delta_out_take(&args);
    struct nof_delta_in *in = nof_delta_in_take(&memory_board, to, BYTES, false);
    check(out != NULL && other != NULL && in != NULL && out->looked_at && !other->looked_at);
    check(in_memory.unit[0] == 0 && nof_delta_in_state(in) == NOF_DELTA_FREE);
    nof_delta_in_publish(in);
    nof_delta_in_came(in, 0, 4);
    check(nof_delta_in_look(to, 1) == NOF_DELTA_IN_WAITS); /* not matched */
    nof_delta_in_matched(in, 3, 7, BYTES, out->unit_log2);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED && in->arrival->peer == 3 && in->arrival->tag == 7);
    check(nof_delta_in_unheard(in)); /* who waits polls */
    unsigned before = rings;
    size_t unit = (size_t)1 << out->unit_log2;
    check(nof_delta_out_add(out, from + 2 * unit, unit) == NOF_DELTA_OUT_OK);
    check(nof_delta_out_add(other, from, BYTES) == NOF_DELTA_OUT_OK && nof_delta_out_end(other, BYTES));
    check(in_memory.unit[0] == 4 && in_memory.end == 0);
    nof_delta_in_came(in, 70, 2);
    check(nof_delta_in_look(to + 70 * unit, 2 * unit) == NOF_DELTA_IN_THERE &&
          nof_delta_in_look(to + 69 * unit, 2 * unit) == NOF_DELTA_IN_WAITS);
    check(nof_delta_out_end(out, BYTES) && in_memory.end == BYTES + 1 && rings > before);
    nof_delta_in_give(in);
    in = nof_delta_in_take(&memory_board, to, BYTES, false); /* nothing is left of the last one */
    nof_delta_in_matched(in, 3, 7, BYTES, out->unit_log2);
    nof_delta_in_publish(in);
    check(nof_delta_in_look(to + 70 * unit, unit) == NOF_DELTA_IN_WAITS);
    nof_delta_in_give(in);
    nof_delta_out_give(out);
    nof_delta_out_give(other);
    return 0;
}
