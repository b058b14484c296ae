/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout programs. The first byte's lowest bit: 0, the rest are the bytes of the program area; 1, the rest is made
 * into a program that is nearly right, five bytes an op, with head and size put right. What is accepted is walked
 * twice: by one cursor that goes on, and by one that is put on every piece anew; they must agree. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/layout_table.h"
#include "nof/status.h"

#define LAYOUTS 2u
#define CHUNKS (NOF_LAYOUT_CHUNKS_MAX + 2u)
#define OPS_MAX 64u
#define PIECES 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
    struct nof_layout_head head;
    struct nof_layout_op op[OPS_MAX];
};

static struct nof_layout layouts[LAYOUTS];
static struct nof_layout_chunk chunks[CHUNKS];
static struct nof_layout_use used[1];
static uint32_t buckets[16];

static void set_up(struct nof_layouts *all)
{
    memset(buckets, 0xff, sizeof(buckets));
    nof_pool_init(&all->pool, layouts, sizeof(layouts[0]), LAYOUTS);
    nof_pool_init(&all->chunks, chunks, sizeof(chunks[0]), CHUNKS);
    all->bucket = buckets;
    all->mask = 15;
    all->used = used;
    nof_layout_shares(all, 1);
}

/* Bytes emitted by ops [at, end), if the counts are small; wrong sizes are refused, which is fine too. */
static uint64_t size_of(const struct nof_layout_op *op, uint64_t at, uint64_t end, unsigned depth)
{
    uint64_t total = 0;

    for (; at < end; at++) {
        uint64_t body = op[at].block;

        if (op[at].opcode == NOF_LAYOUT_LOOP && depth < 2 * NOF_LAYOUT_DEPTH_MAX) {
            body = size_of(op, at + 1, at + 1 + op[at].block < end ? at + 1 + op[at].block : end, depth + 1);
            total += body * op[at].count;
            at += op[at].block;
        } else {
            total += body * op[at].count;
        }
    }
    return total;
}

static int open_nearly(struct nof_layouts *all, const uint8_t *data, size_t size)
{
    static struct program p;
    uint32_t n = (uint32_t)(size / 5 < OPS_MAX ? size / 5 : OPS_MAX);

    for (uint32_t i = 0; i < n; i++, data += 5) {
        struct nof_layout_op *o = &p.op[i];

        *o = (struct nof_layout_op){.opcode = 1 + (data[0] & 1),
                                    .count = 1 + data[1] % 8,
                                    .block = 1 + data[2] % 32,
                                    .offset = (int8_t)data[3],
                                    .stride = (int8_t)data[4]};
        if (o->opcode == NOF_LAYOUT_LOOP && i + 1 < n)
            o->block = 1 + data[2] % (n - i - 1);
        if (data[0] == 0xff)
            o->count = UINT64_MAX / (data[1] + 1u);
    }
    p.head = (struct nof_layout_head){
        .magic = NOF_LAYOUT_MAGIC, .nops = n, .extent = size > 0 ? (int8_t)data[-1] : 1};
    p.head.size = size_of(p.op, 0, n, 0);
    return nof_layout_open(all, 0, 1, 1, (const uint8_t *)&p, sizeof(p.head) + n * sizeof(p.op[0]));
}

static void walk(const struct nof_layouts *all, uint32_t index, uint64_t from)
{
    struct nof_layout_cursor on;
    uint64_t offset = from;

    nof_layout_seek(&on, all, index, 1u << 20, from);
    for (unsigned i = 0; i < PIECES; i++) {
        struct nof_layout_cursor anew;
        uint64_t max = 1 + i * 7 % 23;

        nof_layout_seek(&anew, all, index, 1u << 20, offset);
        struct nof_segment a = nof_layout_next(&on, max);
        struct nof_segment b = nof_layout_next(&anew, max);
        if (a.addr != b.addr || a.len_bytes != b.len_bytes || a.len_bytes == 0 || a.len_bytes > max)
            abort();
        offset += a.len_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nof_layouts all = {.mask = 0};
    struct nof_segment segs[NOF_DMA_SEGMENTS_MAX];
    uint64_t covered;
    uint32_t steps;
    int rc;

    if (size == 0)
        return 0;
    set_up(&all);
    rc = data[0] & 1 ? open_nearly(&all, data + 1, size - 1)
                     : nof_layout_open(&all, 0, 1, 1, data + 1, size - 1);
    if (rc == NOF_OK) {
        uint32_t index = nof_layout_find(&all, 0, 1, 1);

        walk(&all, index, 0);
        walk(&all, index, data[0]);
        walk(&all, index, UINT64_MAX / 4);
        unsigned n = nof_buffer_segments(&all, index, 0, data[0], 65536, segs, &covered, &steps);
        if (n == 0 || steps > NOF_LAYOUT_OPS_MAX + NOF_LAYOUT_STEPS + 4 * NOF_LAYOUT_DEPTH_MAX ||
            n > NOF_DMA_SEGMENTS_MAX || covered == 0 || covered > 65536)
            abort();
        if (nof_layout_close(&all, 0, 1, 1) != NOF_OK)
            abort();
    }
    if (all.pool.used != 0 || all.chunks.used != 0)
        abort();
    return 0;
}
