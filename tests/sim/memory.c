/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the model hosts: buffers and their layouts, payload that can be recognised, the DMA
 * engine, staging slots.
 *
 * Payload of message `id` is the sequence of little-endian words mix(id) + k * STEP: whoever has
 * the first word can check all the others, and words of two messages never agree. */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "nof_private/buf_cursor.h"
#include "transport/wire.h"
#include "world.h"

#define STEP 0x9e3779b97f4a7c15ull
#define ADDRESS_SHIFT 32 /* an address is (operation + 1) << 32 | offset in its buffer */

static unsigned size_class(size_t bytes)
{
    unsigned c = 6;
    while (((size_t)1 << c) < bytes)
        c++;
    return c;
}

void *nof_world_alloc(struct nof_world *w, size_t bytes)
{
    unsigned c = size_class(bytes);
    uint8_t *mem = c < 24 ? w->pool[c] : NULL;
    if (mem != NULL) {
        memcpy(&w->pool[c], mem, sizeof(w->pool[c]));
        return mem;
    }
    mem = malloc((size_t)1 << c);
    if (mem == NULL)
        abort();
    return mem;
}

void nof_world_free(struct nof_world *w, void *mem, size_t bytes)
{
    unsigned c = size_class(bytes);
    if (mem == NULL)
        return;
    if (c >= 24) {
        free(mem);
        return;
    }
    memcpy(mem, &w->pool[c], sizeof(w->pool[c]));
    w->pool[c] = mem;
}

static void layout_add(struct nof_layout_ref *l, int64_t offset, uint64_t len)
{
    l->segment[l->nsegments].offset = offset;
    l->segment[l->nsegments++].len = len;
    l->head.size += len;
}

void nof_layout_ref_make(struct nof_layout_ref *l, struct nof_rng *rng)
{
    memset(l, 0, sizeof(*l));
    uint64_t block = nof_rng_between(rng, 1, 400);
    uint64_t count = nof_rng_between(rng, 1, 8);
    int64_t stride = (int64_t)(block + nof_rng_below(rng, 100));
    int64_t offset = (int64_t)nof_rng_below(rng, 64);
    struct nof_layout_op *inner = &l->op[0];
    int64_t span = stride * (int64_t)count;
    bool loop = nof_rng_chance(rng, 50);
    uint64_t times = loop ? nof_rng_between(rng, 1, 8) : 1;
    int64_t gap = span + (int64_t)nof_rng_below(rng, 200);
    if (nof_rng_chance(rng, 20)) { /* backwards, from the last block to the first */
        offset += stride * (int64_t)(count - 1);
        stride = -stride;
    }
    if (loop) {
        l->op[0] =
            (struct nof_layout_op){.opcode = NOF_LAYOUT_LOOP, .count = times, .block = 1, .stride = gap};
        inner = &l->op[1];
    }
    *inner = (struct nof_layout_op){
        .opcode = NOF_LAYOUT_BLOCK, .count = count, .block = block, .offset = offset, .stride = stride};
    for (uint64_t t = 0; t < times; t++) {
        for (uint64_t i = 0; i < count; i++)
            layout_add(l, (int64_t)t * gap + offset + (int64_t)i * stride, block);
    }
    l->head.magic = NOF_LAYOUT_MAGIC;
    l->head.nops = loop ? 2 : 1;
    l->head.extent = (int64_t)times * gap + 64 + (int64_t)nof_rng_below(rng, 64);
}

size_t nof_layout_ref_bytes(const struct nof_layout_ref *l)
{
    return sizeof(l->head) + l->head.nops * sizeof(l->op[0]);
}

void nof_buffer_open(struct nof_world *w, struct nof_buffer *b, uint64_t len,
                     const struct nof_layout_ref *layout)
{
    *b = (struct nof_buffer){.len = len, .span = len, .fault_at = UINT64_MAX, .layout = layout};
    if (layout != NULL)
        b->span = (len / layout->head.size + 1) * (uint64_t)layout->head.extent;
    b->mem = nof_world_alloc(w, b->span + 8);
}

void nof_buffer_close(struct nof_world *w, struct nof_buffer *b)
{
    nof_world_free(w, b->mem, b->span + 8);
    b->mem = NULL;
}

uint64_t nof_payload_word(uint64_t id, unsigned bytes)
{
    uint64_t word = nof_rng_mix(id * STEP);
    return bytes >= 8 ? word : word & (((uint64_t)1 << 8 * bytes) - 1);
}

/* What follows a word, by what the payload began with: for the codec half of all is a progression, a quarter one
 * with noise below it, and a quarter random. */
static uint64_t next_word(uint64_t first, uint64_t word)
{
    if (first % 4 == 0)
        return nof_rng_mix(word + STEP);
    return word + STEP + (first % 4 == 1 ? nof_rng_mix(word) & 0xffffff : 0);
}

void nof_payload_fill(uint8_t *to, uint64_t id, uint64_t len)
{
    uint64_t first = nof_payload_word(id, 8);
    uint64_t word = first;
    for (; len >= 8; len -= 8, to += 8, word = next_word(first, word))
        memcpy(to, &word, 8);
    memcpy(to, &word, len);
}

bool nof_payload_check(const uint8_t *from, uint64_t len, uint64_t *word_out, unsigned *word_bytes_out)
{
    uint64_t first = 0;
    unsigned n = len < 8 ? (unsigned)len : 8;
    memcpy(&first, from, n);
    *word_out = first;
    *word_bytes_out = n;
    uint64_t word = first;
    for (; len >= 8; len -= 8, from += 8, word = next_word(first, word)) {
        uint64_t seen;
        memcpy(&seen, from, 8);
        if (seen != word)
            return false;
    }
    return n < 8 || memcmp(from, &word, len) == 0;
}

enum move { MOVE_OUT, MOVE_IN, MOVE_COMPARE };

static bool move_piece(uint8_t *mem, uint8_t *flat, uint64_t n, enum move how)
{
    if (how == MOVE_IN)
        memcpy(mem, flat, n);
    else if (how == MOVE_OUT)
        memcpy(flat, mem, n);
    return how != MOVE_COMPARE || memcmp(flat, mem, n) == 0;
}

/* Between len bytes of the message from byte `at` on in the buffer and `flat`; false: they differ. */
static bool buffer_move(const struct nof_buffer *b, uint8_t *flat, uint64_t at, uint64_t len, enum move how)
{
    const struct nof_layout_ref *l = b->layout;
    if (len == 0)
        return true;
    if (l == NULL)
        return move_piece(b->mem + at, flat, len, how);
    uint8_t *run = b->mem + b->base + at / l->head.size * (uint64_t)l->head.extent;
    uint64_t skip = at % l->head.size;
    for (;; run += l->head.extent) {
        for (unsigned i = 0; i < l->nsegments; i++) {
            if (skip >= l->segment[i].len) {
                skip -= l->segment[i].len;
                continue;
            }
            uint64_t n = l->segment[i].len - skip < len ? l->segment[i].len - skip : len;
            if (!move_piece(run + l->segment[i].offset + skip, flat, n, how))
                return false;
            flat += n;
            len -= n;
            skip = 0;
            if (len == 0)
                return true;
        }
    }
}

void nof_buffer_fill(struct nof_world *w, struct nof_buffer *b, uint64_t id, uint64_t len)
{
    if (b->layout == NULL) {
        nof_payload_fill(b->mem, id, len);
        return;
    }
    uint8_t *flat = nof_world_alloc(w, len + 8);
    nof_payload_fill(flat, id, len);
    (void)buffer_move(b, flat, 0, len, MOVE_IN);
    nof_world_free(w, flat, len + 8);
}

void nof_buffer_put(struct nof_buffer *b, const uint8_t *from, uint64_t at, uint64_t len)
{
    /* buffer_move() only reads `flat` but for MOVE_OUT. */
    union {
        const uint8_t *from;
        uint8_t *flat;
    } u = {.from = from};
    (void)buffer_move(b, u.flat, at, len, MOVE_IN);
}

bool nof_buffer_holds(const struct nof_buffer *b, const uint8_t *bytes, uint64_t at, uint64_t len)
{
    union {
        const uint8_t *bytes;
        uint8_t *flat;
    } u = {.bytes = bytes};
    return buffer_move(b, u.flat, at, len, MOVE_COMPARE);
}

void nof_buffer_store(struct nof_buffer *b, const uint8_t *from, uint64_t len)
{
    nof_buffer_put(b, from, 0, len);
}

bool nof_buffer_check(struct nof_world *w, const struct nof_buffer *b, uint64_t len, uint64_t *word_out,
                      unsigned *word_bytes_out)
{
    if (b->layout == NULL)
        return nof_payload_check(b->mem, len, word_out, word_bytes_out);
    uint8_t *flat = nof_world_alloc(w, len + 8);
    (void)buffer_move(b, flat, 0, len, MOVE_OUT);
    bool ok = nof_payload_check(flat, len, word_out, word_bytes_out);
    nof_world_free(w, flat, len + 8);
    return ok;
}

struct transfer {
    struct nof_rank *rank;
    uint32_t incarnation;
    bool write;
    unsigned nremote, nlocal;
    uint64_t token;
    uint64_t sum; /* of the local bytes of a write when it was submitted */
    struct nof_segment remote[NOF_DMA_SEGMENTS_MAX];
    struct nof_buf local[NOF_DMA_SEGMENTS_MAX];
};

static uint64_t local_sum(const struct transfer *t)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < t->nlocal; i++) {
        const uint8_t *p = t->local[i].base;
        for (size_t k = 0; k + 8 <= t->local[i].len_bytes; k += 8) {
            uint64_t word;
            memcpy(&word, p + k, 8);
            sum = sum * 31 + word;
        }
    }
    return sum;
}

/* The buffer that may be read or written at this address now; NULL and a violation if there is none. */
static struct nof_buffer *buffer_at(const struct transfer *t, const struct nof_segment *s)
{
    struct nof_rank *r = t->rank;
    uint64_t index = (s->addr >> ADDRESS_SHIFT) - 1;
    struct nof_op *op = index < r->nops ? r->op[index] : NULL;
    const char *verb = t->write ? "writes" : "reads";
    if (op == NULL || op->buf.mem == NULL) {
        nof_cluster_fail(r->world->cluster,
                         "%s: the NIC %s address %llx, where no operation under way has a buffer", r->name,
                         verb, (unsigned long long)s->addr);
        return NULL;
    }
    bool sends = op->opcode == NOF_DESC_SEND;
    uint64_t offset = s->addr & 0xffffffffu;
    if (sends == t->write || op->state != NOF_OP_NIC || offset > op->buf.span ||
        s->len_bytes > op->buf.span - offset) {
        nof_cluster_fail(r->world->cluster,
                         "%s: the NIC %s %llu bytes at %llu of the buffer of operation %u (%llu bytes)",
                         r->name, verb, (unsigned long long)s->len_bytes, (unsigned long long)offset,
                         op->index, (unsigned long long)op->buf.span);
        return NULL;
    }
    return &op->buf;
}

static int transfer_run(const struct transfer *t)
{
    struct nof_buf_cursor c = nof_buf_begin(t->local, t->nlocal);
    bool whole = true;
    for (unsigned i = 0; i < t->nremote && whole; i++) {
        const struct nof_segment *s = &t->remote[i];
        struct nof_buffer *b = buffer_at(t, s);
        if (b == NULL)
            return NOF_EFAULT;
        uint8_t *user = b->mem + (s->addr & 0xffffffffu);
        uint64_t left = s->len_bytes;
        bool fault = b->fault_at < (uint64_t)(user - b->mem) + left;
        if (fault) /* short: what lies before the bad byte is copied */
            left = b->fault_at > (uint64_t)(user - b->mem) ? b->fault_at - (uint64_t)(user - b->mem) : 0;
        whole = nof_buf_move(&c, user, left, t->write);
        if (fault)
            return NOF_EFAULT;
    }
    if (!whole || !nof_buf_ended(&c)) {
        nof_cluster_fail(t->rank->world->cluster, "%s: the totals of a DMA request differ", t->rank->name);
        return NOF_EFAULT;
    }
    for (unsigned i = 0; i < t->nlocal && t->rank->dma_sums; i++)
        if (t->local[i].sum != NULL)
            nof_put32(t->local[i].sum, nof_crc32c(t->local[i].base, t->local[i].len_bytes));
    return NOF_OK;
}

static void transfer_done(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct transfer *t = user;
    struct nof_rank *r = t->rank;
    (void)arg;
    if (nof_cluster_incarnation(c, r->nic) == t->incarnation) {
        int status = NOF_EFAULT;
        if (t->write && local_sum(t) != t->sum)
            nof_cluster_fail(c, "%s: the bytes of a DMA write changed while it was under way", r->name);
        else if (r->alive)
            status = transfer_run(t);
        nof_cluster_dma_done(c, r->nic, t->incarnation, t->token, status);
    }
    nof_world_free(r->world, t, sizeof(*t));
}

static bool transfer_valid(const struct transfer *t)
{
    uint64_t remote = 0, local = 0;
    for (unsigned i = 0; i < t->nremote; i++)
        remote += t->remote[i].len_bytes;
    for (unsigned i = 0; i < t->nlocal; i++)
        local += t->local[i].len_bytes;
    return remote == local && remote <= NOF_DMA_BLOCK_BYTES && remote > 0;
}

int nof_rank_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                 const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nof_rank *r = host;
    struct nof_world *w = r->world;
    /* A host that copies at once has no queue that could be full; the core may end what it refuses. */
    if (!(write && r->dma_inline) && nof_rng_chance(&r->rng, 2))
        return NOF_EAGAIN;
    struct transfer now;
    struct transfer *t = &now;
    bool pending = !r->dma_inline && nof_rng_chance(&r->rng, 60);
    if (pending)
        t = nof_world_alloc(w, sizeof(*t));
    t->rank = r;
    t->incarnation = r->incarnation;
    t->write = write;
    t->nremote = nremote <= NOF_DMA_SEGMENTS_MAX ? nremote : 0;
    t->nlocal = nlocal <= NOF_DMA_SEGMENTS_MAX ? nlocal : 0;
    t->token = token;
    memcpy(t->remote, remote, t->nremote * sizeof(*remote));
    memcpy(t->local, local, t->nlocal * sizeof(*local));
    if (!transfer_valid(t)) {
        nof_cluster_fail(w->cluster, "%s: invalid DMA request (%u remote, %u local pieces)", r->name, nremote,
                         nlocal);
        return NOF_EFAULT;
    }
    if (!pending) {
        int status = transfer_run(t);
        return status == NOF_OK ? NOF_DMA_DONE : status;
    }
    t->sum = write ? local_sum(t) : 0;
    uint64_t late_ns = nof_rng_below(&r->rng, 20000);
    if (nof_rng_chance(&r->rng, w->dma_late_percent))
        late_ns = nof_rng_below(&r->rng, 5000000);
    nof_cluster_at(w->cluster, nof_cluster_now(w->cluster) + late_ns, transfer_done, t, 0);
    return NOF_DMA_PENDING;
}

const uint8_t *nof_rank_slot_take(struct nof_rank *r, uint32_t offset, uint32_t len)
{
    struct nof_cluster *c = r->world->cluster;
    if (offset > r->staging_bytes || len > r->staging_bytes - offset) {
        nof_cluster_fail(c, "%s: staged payload at %u, %u bytes, lies outside the staging area", r->name,
                         offset, len);
        return NULL;
    }
    for (unsigned i = 0; i < r->nslots; i++) {
        if (r->slot[i].offset == offset ||
            (offset < r->slot[i].offset + r->slot[i].len && r->slot[i].offset < offset + len)) {
            nof_cluster_fail(c, "%s: staging slot at %u is given out twice", r->name, offset);
            return NULL;
        }
    }
    if (r->nslots == NOF_RANK_SLOTS_MAX) {
        nof_cluster_fail(c, "%s: more than %u staging slots are out", r->name, NOF_RANK_SLOTS_MAX);
        return NULL;
    }
    r->slot[r->nslots].offset = offset;
    r->slot[r->nslots++].len = len;
    return r->staging + offset;
}

void nof_rank_slots_release(struct nof_rank *r, bool all)
{
    while (r->nslots > 0 && (all || nof_rng_chance(&r->rng, 70))) {
        struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
        while (d.release.count < NOF_RELEASE_MAX && r->nslots > 0)
            d.release.offset[d.release.count++] = r->slot[--r->nslots].offset;
        nof_rank_submit(r, &d);
    }
}
