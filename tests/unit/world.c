/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/crc32c.h"
#include "transport/wire.h"
#include "world_memory.h"
#include "world_state.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_NS 5000u
#define DMA_NS 3000u
#define FRAMES_MAX 100000
#define STANDSTILL 1000000 /* steps in one moment: it will never pass */

static uint64_t draw(struct world *w)
{
    w->rng ^= w->rng << 13;
    w->rng ^= w->rng >> 7;
    w->rng ^= w->rng << 17;
    return w->rng;
}

static bool fails(struct world *w, enum world_op op)
{
    const struct world_fault *f = &w->fault;
    if (!(f->ops >> op & 1))
        return false;
    w->counted++;
    return f->at != 0 && w->counted >= f->at && w->counted - f->at < f->count;
}

static struct wire_frame *buffer_take(struct world *w)
{
    struct wire_frame *f = w->free;
    if (f == NULL) {
        f = malloc(sizeof *f);
        f->every = w->every;
        f->next = NULL;
        f->held = 0;
        w->every = f;
    }
    w->free = f->next;
    allow(f->bytes, FRAME_CAP);
    return f;
}

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct world *w = ((struct port *)port)->w;
    if (fails(w, WORLD_ALLOC) || len_bytes > FRAME_CAP || w->frames >= FRAMES_MAX)
        return NULL;
    struct wire_frame *f = buffer_take(w);
    f->frame = (struct nof_frame){.data = f->bytes, .len_bytes = len_bytes, .cap_bytes = FRAME_CAP};
    if (w->cfg.watch != NULL)
        w->cfg.watch->stale(w->cfg.ctx, f->bytes, len_bytes);
    w->frames++;
    return &f->frame;
}

static void frame_free(void *port, struct nof_frame *frame)
{
    struct world *w = ((struct port *)port)->w;
    void *f = frame;
    w->frames--;
    world_buffer_give(w, f);
}

static struct event *event_take(struct world *w)
{
    struct event *e = w->spare;
    if (e == NULL)
        return calloc(1, sizeof *e);
    w->spare = e->next;
    return e;
}

static void push(struct event **head, struct event **tail, struct event *e)
{
    e->next = NULL;
    if (*head == NULL)
        *head = e;
    else
        (*tail)->next = e;
    *tail = e;
}

static void put_on_wire(struct world *w, unsigned from, unsigned to, const struct nof_frame *frame)
{
    if (to >= w->cfg.nics || w->cut[from] || w->cut[to] || draw(w) % 100 < w->cfg.loss_percent)
        return;
    struct event *e = event_take(w);
    e->at = w->now + WIRE_NS;
    e->nic = to;
    e->len = frame->len_bytes;
    e->frame = buffer_take(w);
    memcpy(e->frame->bytes, frame->data, e->len);
    push(&w->wire, &w->wire_tail, e);
}

static unsigned send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct world *w = ((struct port *)port)->w;
    unsigned from = ((struct port *)port)->nic;
    if (fails(w, WORLD_SEND))
        n = w->fault.how == WORLD_SHORT ? n / 2 : 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned to = frames[i]->data[5], last = to;
        if (w->cfg.watch != NULL &&
            w->cfg.watch->frame(w->cfg.ctx, from, frames[i]->data, frames[i]->len_bytes))
            continue;
        if (frames[i]->data[0] & 1) {
            to = 0;
            last = w->cfg.nics - 1;
        }
        for (; to <= last; to++)
            if (!(frames[i]->data[0] & 1) || (to != from && !w->deaf[to]))
                put_on_wire(w, from, to, frames[i]);
    }
    return n;
}

static int join_group(void *port, uint32_t ip4, const uint8_t mac[6], bool join)
{
    struct world *w = ((struct port *)port)->w;
    assert(ip4 >> 28 == 0xe && mac[0] == 1);
    if (fails(w, WORLD_GROUP))
        return join ? NOF_EAGAIN : NOF_OK;
    w->joined[((struct port *)port)->nic] += join ? 1 : -1;
    return NOF_OK;
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = frame_alloc, .frame_free = frame_free, .send = send, .group = join_group};

static struct world_rank *by_endpoint(struct port *p, uint32_t endpoint)
{
    for (unsigned i = 0; i < p->w->ranks; i++) {
        struct world_rank *r = &p->w->rank[i];
        if (r->open && r->nic == p->nic && r->endpoint == endpoint)
            return r;
    }
    return NULL;
}

static bool in_arena(const struct world_rank *r, size_t bytes, const struct nof_segment *s)
{
    uint64_t base = (uint64_t)(uintptr_t)r->arena;
    return r->open && s->addr >= base && s->addr - base <= bytes && s->len_bytes <= bytes - (s->addr - base);
}

static int copy(struct world *w, const struct world_rank *r, const struct nof_segment *seg, unsigned nseg,
                const struct nof_buf *buf, unsigned nbuf, int write)
{
    uint64_t total = 0, local = 0;
    for (unsigned i = 0; i < nseg; i++)
        total += seg[i].len_bytes;
    for (unsigned i = 0; i < nbuf; i++)
        local += buf[i].len_bytes;
    assert(total == local && total <= NOF_DMA_BLOCK_BYTES && nseg <= NOF_DMA_SEGMENTS_MAX &&
           nbuf <= NOF_DMA_SEGMENTS_MAX && total > 0);
    unsigned b = 0;
    size_t off = 0;
    for (unsigned i = 0; i < nseg; i++)
        if (!in_arena(r, w->cfg.arena_bytes, &seg[i]))
            return NOF_EFAULT;
    for (unsigned i = 0; i < nseg; i++) {
        uint8_t *at = r->arena + (seg[i].addr - (uint64_t)(uintptr_t)r->arena);
        if (write)
            world_touch(w, (unsigned)(r - w->rank), at, seg[i].len_bytes);
        for (uint64_t left = seg[i].len_bytes; left > 0;) {
            size_t n = buf[b].len_bytes - off < left ? buf[b].len_bytes - off : left;
            if (write)
                memcpy(at, (uint8_t *)buf[b].base + off, n);
            else
                memcpy((uint8_t *)buf[b].base + off, at, n);
            at += n;
            left -= n;
            off += n;
            if (off == buf[b].len_bytes) {
                b++;
                off = 0;
            }
        }
    }
    for (unsigned i = 0; i < nbuf; i++)
        if (w->cfg.dma_read_late && buf[i].sum != NULL)
            nof_put32(buf[i].sum, nof_crc32c(buf[i].base, buf[i].len_bytes));
    return NOF_OK;
}

static int dma(struct port *p, uint32_t endpoint, const struct nof_segment *seg, unsigned nseg,
               const struct nof_buf *buf, unsigned nbuf, uint64_t token, int write)
{
    struct world *w = p->w;
    struct world_rank *r = by_endpoint(p, endpoint);
    assert(r != NULL);
    int late = !w->cfg.dma_inline || (!write && w->cfg.dma_read_late);
    int status = NOF_OK;
    enum world_dma how = WORLD_DMA_DO;
    if (w->cfg.watch != NULL)
        how = w->cfg.watch->dma(w->cfg.ctx, (unsigned)(r - w->rank), write, seg, nseg, buf, nbuf);
    if (how == WORLD_DMA_BUSY)
        return NOF_EAGAIN;
    if (how == WORLD_DMA_BROKEN || (how == WORLD_DMA_FAILS && !late))
        return NOF_EFAULT;
    if (how == WORLD_DMA_FAILS)
        status = NOF_EFAULT;
    if (fails(w, write ? WORLD_WRITE : WORLD_READ)) {
        if (w->fault.how < WORLD_BROKEN)
            return NOF_EAGAIN;
        status = w->fault.how == WORLD_GONE ? NOF_EPEERDEAD : NOF_EFAULT;
        if (w->fault.how == WORLD_BROKEN || !late)
            return status;
    }
    if (!late)
        return copy(w, r, seg, nseg, buf, nbuf, write) == NOF_OK ? NOF_DMA_DONE : NOF_EFAULT;
    struct event *e = event_take(w);
    e->at = r->dma_stuck || how == WORLD_DMA_NEVER ? UINT64_MAX : w->now + DMA_NS + draw(w) % 20000;
    e->nic = p->nic;
    e->token = token;
    e->endpoint = endpoint;
    e->write = write;
    e->status = status;
    e->nseg = nseg;
    e->nbuf = nbuf;
    memcpy(e->seg, seg, nseg * sizeof *seg);
    memcpy(e->buf, buf, nbuf * sizeof *buf);
    push(&w->dma, &w->dma_tail, e);
    r->dma_pending++;
    return NOF_DMA_PENDING;
}

static int dma_read(void *host, uint32_t endpoint, const struct nof_segment *seg, unsigned nseg,
                    const struct nof_buf *buf, unsigned nbuf, uint64_t token)
{
    return dma(host, endpoint, seg, nseg, buf, nbuf, token, 0);
}

static int dma_write(void *host, uint32_t endpoint, const struct nof_segment *seg, unsigned nseg,
                     const struct nof_buf *buf, unsigned nbuf, uint64_t token)
{
    return dma(host, endpoint, seg, nseg, buf, nbuf, token, 1);
}

static unsigned complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct port *p = host;
    struct world_rank *r = by_endpoint(p, endpoint);
    assert(r != NULL);
    if (fails(p->w, WORLD_COMPLETE))
        return 0;
    for (unsigned i = 0; i < n; i++) {
        if (r->ring_slots != 0 && r->ring_used == r->ring_slots)
            return i;
        if (r->ncomps == r->comps_cap) {
            r->comps_cap = r->comps_cap == 0 ? 64 : 2 * r->comps_cap;
            r->comps = realloc(r->comps, r->comps_cap * sizeof *r->comps);
        }
        r->comps[r->ncomps++] = comps[i];
        r->ring_used++;
        if (p->w->cfg.watch != NULL)
            p->w->cfg.watch->comp(p->w->cfg.ctx, (unsigned)(r - p->w->rank), &comps[i]);
    }
    return n;
}

static bool claim(void *host, uint32_t endpoint, uint32_t slot, uint32_t generation)
{
    struct port *p = host;
    struct world_rank *r = by_endpoint(p, endpoint);
    assert(slot < NOF_CLAIM_SLOTS);
    if (r != NULL && p->w->cfg.watch != NULL && p->w->cfg.watch->claim_comes != NULL)
        p->w->cfg.watch->claim_comes(p->w->cfg.ctx, (unsigned)(r - p->w->rank), slot, generation);
    bool won = r != NULL && nof_claim_take(&r->claims.word[slot], generation, NOF_CLAIM_NIC);
    if (r != NULL && p->w->cfg.watch != NULL && p->w->cfg.watch->claim != NULL)
        p->w->cfg.watch->claim(p->w->cfg.ctx, (unsigned)(r - p->w->rank), slot, generation, won);
    return won;
}

static void endpoint_failed(void *host, uint32_t endpoint, int status)
{
    struct world_rank *r = by_endpoint(host, endpoint);
    r->failed = status;
}

static uint64_t cycles(void *host)
{
    (void)host;
    return 0;
}

static void log_text(void *host, int level, const char *text)
{
    (void)host;
    if (level == 0 && getenv("WORLD_LOG") != NULL)
        fprintf(stderr, "core: %s\n", text);
}

static const struct nof_host_ops host_ops = {.dma_read = dma_read,
                                             .dma_write = dma_write,
                                             .complete = complete,
                                             .claim = claim,
                                             .endpoint_failed = endpoint_failed,
                                             .cycles = cycles,
                                             .log = log_text};

/* What a world frees the next one takes: to have the kernel zero it in between costs most of a short test. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

struct world *world_init(const struct world_config *cfg)
{
    keep_memory();
    struct world *w = calloc(1, sizeof *w);
    w->cfg = *cfg;
    if (cfg->arena_bytes == 0)
        w->cfg.arena_bytes = WORLD_ARENA;
    if (cfg->area_bytes == 0)
        w->cfg.area_bytes = WORLD_AREA;
    if (cfg->program_bytes == 0)
        w->cfg.program_bytes = w->cfg.area_bytes;
    w->now = 1000000;
    w->rng = cfg->seed * 0x9e3779b97f4a7c15ull + 1;
    for (unsigned i = 0; i < cfg->nics; i++) {
        struct nof_nic_config c = cfg->nic;
        c.nic_id = 1000 + i;
        c.mac[0] = 2;
        c.mac[5] = (uint8_t)i;
        c.ip4 = 0x0a000001 + i;
        c.host_id = i;
        c.mtu_bytes = cfg->mtu;
        memset(c.seed, (int)(i + 1), sizeof c.seed);
        if (c.max_predictors == 0)
            c.max_predictors = 2;
        if (c.predictor_log2 == 0)
            c.predictor_log2 = 8;
        size_t bytes = nof_nic_mem_size(&c);
        assert(bytes > 0);
        w->mem[i] = world_memory_take(bytes, 0);
        w->mem_bytes[i] = bytes;
        memset(w->mem[i], 0xa5, bytes < (1u << 16) ? bytes : 1u << 16);
        w->port[i] = (struct port){.w = w, .nic = i};
        int rc = nof_nic_init(w->mem[i], bytes, &c, &port_ops, &w->port[i], &host_ops, &w->port[i], w->now,
                              &w->nic[i]);
        assert(rc == NOF_OK);
        (void)rc;
    }
    return w;
}

static void free_pools(struct world *w)
{
    while (w->spare != NULL) {
        struct event *e = w->spare;
        w->spare = e->next;
        free(e);
    }
    while (w->every != NULL) {
        struct wire_frame *f = w->every;
        w->every = f->every;
        free(f);
    }
}

void world_fini(struct world *w)
{
    for (unsigned i = 0; i < w->cfg.nics; i++) {
        nof_nic_fini(w->nic[i]);
        world_memory_give(w->mem[i], w->mem_bytes[i]);
    }
    if (w->frames != 0) {
        fprintf(stderr, "%ld frames were never freed\n", w->frames);
        abort();
    }
    world_forget_events(w);
    free_pools(w);
    if (w->saved != NULL)
        world_free_saved(w);
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        struct world_rank *r = &w->rank[i];
        world_memory_give(r->arena, w->cfg.arena_bytes);
        free(r->staging);
        free(r->bounce);
        free(r->program_area);
        free(r->delta_host);
        free(r->delta_nic);
        free(r->comps);
        free(r->backlog);
    }
    free(w);
}

struct world_rank *world_rank(struct world *w, unsigned rank)
{
    return &w->rank[rank];
}

struct nof_nic *world_nic(struct world *w, unsigned nic)
{
    return w->nic[nic];
}

uint64_t world_now(const struct world *w)
{
    return w->now;
}

int world_try_open(struct world *w, unsigned nic, unsigned rank, unsigned job_rank, unsigned size,
                   uint64_t job)
{
    struct world_rank *r = &w->rank[rank];
    size_t staging = w->cfg.staging_bytes == 0 ? 256u << 10 : w->cfg.staging_bytes;
    if (staging == SIZE_MAX)
        staging = 0;
    size_t area = w->cfg.area_bytes;
    if (r->arena == NULL) {
        r->arena = world_memory_take(w->cfg.arena_bytes, 1);
        r->staging = calloc(1, staging + 1);
        r->bounce = calloc(1, area);
        r->program_area = calloc(1, w->cfg.program_bytes);
        if (w->cfg.delta) {
            r->delta_host = calloc(1, sizeof *r->delta_host);
            r->delta_nic = calloc(1, sizeof *r->delta_nic);
        }
        r->staging_bytes = staging;
    } else if (w->cfg.delta) {
        memset(r->delta_host, 0, sizeof *r->delta_host);
        memset(r->delta_nic, 0, sizeof *r->delta_nic);
    }
    struct nof_endpoint_params params = {.job_id = job,
                                         .rank = job_rank,
                                         .size = size,
                                         .bounce = r->bounce,
                                         .bounce_bytes = area,
                                         .program_area = r->program_area,
                                         .program_area_bytes = w->cfg.program_bytes,
                                         .delta_host = r->delta_host,
                                         .delta_nic = r->delta_nic,
                                         .staging = staging > 0 ? r->staging : NULL,
                                         .staging_bytes = staging,
                                         .claim_slots = NOF_CLAIM_SLOTS,
                                         .counters = r->counters,
                                         .dma_inline = w->cfg.dma_inline,
                                         .dma_read_late = w->cfg.dma_read_late,
                                         .dma_read_sums = w->cfg.dma_read_late};
    memset(params.job_key, (int)job, sizeof params.job_key);
    int rc = nof_nic_endpoint_open(w->nic[nic], w->now, &params, &r->endpoint, &r->card);
    if (rc != NOF_OK)
        return rc;
    w->ranks = rank < w->ranks ? w->ranks : rank + 1;
    r->open = 1;
    r->closing = 0;
    r->failed = 0;
    r->nic = nic;
    r->job_rank = job_rank;
    return NOF_OK;
}

void world_open_job(struct world *w, unsigned nic, unsigned rank, unsigned job_rank, unsigned size,
                    uint64_t job)
{
    int rc = world_try_open(w, nic, rank, job_rank, size, job);
    assert(rc == NOF_OK);
    (void)rc;
}

void world_introduce(struct world *w, unsigned rank, unsigned to, unsigned to_job_rank)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = (int32_t)to_job_rank};
    memcpy(d.inline_data, &w->rank[to].card, sizeof(struct nof_card));
    world_post(w, rank, &d);
}

void world_open(struct world *w, unsigned nic, unsigned rank, unsigned size)
{
    world_open_job(w, nic, rank, rank, size, 7);
    for (unsigned i = 0; i < WORLD_RANKS; i++) {
        if (!w->rank[i].open)
            continue;
        world_introduce(w, rank, i, i);
        if (i != rank)
            world_introduce(w, i, rank, rank);
    }
}

void world_close(struct world *w, unsigned rank, int reason)
{
    struct world_rank *r = &w->rank[rank];
    r->closing = 1;
    nof_nic_endpoint_close(w->nic[r->nic], w->now, r->endpoint, reason);
    r->nbacklog = 0;
    r->backlog_next = 0;
    if (r->dma_pending == 0)
        r->open = 0; /* else its requests still have to end */
}

static void feed(struct world *w, struct world_rank *r)
{
    while (r->backlog_next < r->nbacklog) {
        unsigned room = nof_nic_host_room(w->nic[r->nic], r->endpoint);
        unsigned n = r->nbacklog - r->backlog_next;
        if (room == 0)
            return;
        if (n > room)
            n = room;
        r->backlog_next += n;
        nof_nic_host(w->nic[r->nic], w->now, r->endpoint, &r->backlog[r->backlog_next - n], n);
    }
    r->nbacklog = 0;
    r->backlog_next = 0;
}

void world_post(struct world *w, unsigned rank, const struct nof_desc *desc)
{
    struct world_rank *r = &w->rank[rank];
    if (r->nbacklog == r->backlog_cap) {
        r->backlog_cap = r->backlog_cap == 0 ? 64 : 2 * r->backlog_cap;
        r->backlog = realloc(r->backlog, r->backlog_cap * sizeof *r->backlog);
    }
    r->backlog[r->nbacklog++] = *desc;
    r->delta_used |= (desc->flags & NOF_DESC_F_DELTA) != 0;
    feed(w, r);
}

void world_send(struct world *w, unsigned rank, int peer, int tag, const void *buf, uint64_t len,
                uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .ctx = 1,
                         .cookie = cookie,
                         .peer = peer,
                         .tag = tag,
                         .len = len,
                         .addr = (uint64_t)(uintptr_t)buf};
    world_post(w, rank, &d);
}

void world_recv(struct world *w, unsigned rank, int peer, int tag, void *buf, uint64_t len, uint64_t cookie)
{
    struct nof_desc d = {.opcode = NOF_DESC_RECV,
                         .ctx = 1,
                         .cookie = cookie,
                         .peer = peer,
                         .tag = tag,
                         .len = len,
                         .addr = (uint64_t)(uintptr_t)buf};
    world_post(w, rank, &d);
}

static void deliver_wire(struct world *w)
{
    struct event *e = w->wire;
    w->wire = e->next;
    world_inject(w, e->nic, e->frame->bytes, e->len);
    world_event_give(w, e);
}

/* The frame ends where the buffer ends, so that the sanitizer sees a read beyond it. */
void world_inject(struct world *w, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    static uint8_t buffer[FRAME_CAP];
    uint8_t *own = buffer + sizeof buffer - len;
    memcpy(own, bytes, len);
    struct nof_frame frame = {.data = own, .len_bytes = len, .cap_bytes = len};
    struct nof_frame *list[1] = {&frame};
    nof_nic_rx(w->nic[nic], w->now, list, 1);
    memset(own, 0xee, len);
}

static struct event **dma_due(struct world *w)
{
    for (struct event **at = &w->dma; *at != NULL; at = &(*at)->next)
        if ((*at)->at <= w->now)
            return at;
    return NULL;
}

/* Nothing may be assumed of the bytes of a read that failed. */
static void spoil(struct world *w, const struct nof_buf *buf)
{
    memset(buf->base, 0xdb, buf->len_bytes);
    if (w->cfg.watch != NULL)
        w->cfg.watch->stale(w->cfg.ctx, buf->base, buf->len_bytes);
}

static bool finish_dma(struct world *w)
{
    struct event **at = dma_due(w);
    if (at == NULL)
        return false;
    struct event *e = *at;
    *at = e->next;
    w->dma_tail = NULL;
    for (struct event *d = w->dma; d != NULL; d = d->next)
        w->dma_tail = d;
    struct world_rank *r = by_endpoint(&w->port[e->nic], e->endpoint);
    r->dma_pending--;
    int rc = e->status;
    for (unsigned i = 0; rc != NOF_OK && !e->write && i < e->nbuf; i++)
        spoil(w, &e->buf[i]);
    if (rc == NOF_OK)
        rc = copy(w, r, e->seg, e->nseg, e->buf, e->nbuf, e->write);
    if (r->closing && r->dma_pending == 0)
        r->open = 0;
    nof_nic_dma_done(w->nic[e->nic], w->now, e->token, rc);
    world_event_give(w, e);
    return true;
}

/* One step: everything that is due now, else on to the next moment. False: nothing will ever happen. */
static bool step(struct world *w, uint64_t until)
{
    uint64_t next = UINT64_MAX;
    if (++w->steps > STANDSTILL) {
        fprintf(stderr, "the core is never done at %llu ns\n", (unsigned long long)w->now);
        abort();
    }
    if (w->wire != NULL && w->wire->at <= w->now) {
        deliver_wire(w);
        return true;
    }
    if (finish_dma(w))
        return true;
    for (unsigned i = 0; i < w->cfg.nics; i++) {
        uint64_t at = nof_nic_next_deadline(w->nic[i]);
        if (at <= w->now || nof_nic_rung(w->nic[i])) {
            nof_nic_poll(w->nic[i], w->now, 64);
            for (unsigned k = 0; k < w->ranks; k++)
                if (w->rank[k].open)
                    feed(w, &w->rank[k]);
            return true;
        }
        next = at < next ? at : next;
    }
    if (w->wire != NULL && w->wire->at < next)
        next = w->wire->at;
    for (const struct event *e = w->dma; e != NULL; e = e->next)
        next = e->at < next ? e->at : next;
    if (next == UINT64_MAX || next > until)
        return false;
    w->now = next;
    w->steps = 0;
    return true;
}

static bool all_quiet(const struct world *w)
{
    for (unsigned i = 0; i < w->cfg.nics; i++)
        if (!nof_nic_quiet(w->nic[i]))
            return false;
    for (unsigned i = 0; i < w->ranks; i++)
        if (w->rank[i].open && w->rank[i].failed == 0 && w->rank[i].nbacklog > 0)
            return false;
    return w->wire == NULL;
}

void world_run_for(struct world *w, uint64_t ns)
{
    uint64_t until = w->now + ns;
    while (step(w, until))
        for (unsigned i = 0; i < w->ranks; i++)
            if (w->rank[i].open)
                feed(w, &w->rank[i]);
    w->now = until;
}

void world_absent(struct world *w, uint64_t ns)
{
    w->now += ns;
    for (unsigned i = 0; i < w->cfg.nics; i++)
        nof_nic_stalled(w->nic[i], w->now, ns);
}

void world_run(struct world *w)
{
    uint64_t until = w->now + 20000000000ull;
    while (!all_quiet(w) && step(w, until))
        for (unsigned i = 0; i < w->ranks; i++)
            if (w->rank[i].open)
                feed(w, &w->rank[i]);
}

const struct nof_comp *world_take(struct world *w, unsigned rank)
{
    struct world_rank *r = &w->rank[rank];
    if (r->next == r->ncomps)
        return NULL;
    r->ring_used--;
    return &r->comps[r->next++];
}

static const struct nof_comp *expect(unsigned rank, int opcode, uint64_t cookie, const struct nof_comp *c)
{
    if (c == NULL) {
        fprintf(stderr, "rank %u: no completion, wanted %d/%llu\n", rank, opcode, (unsigned long long)cookie);
        abort();
    }
    if (c->opcode != opcode || c->cookie != cookie) {
        fprintf(stderr, "rank %u: completion %d/%llu status %d, wanted %d/%llu\n", rank, c->opcode,
                (unsigned long long)c->cookie, c->status, opcode, (unsigned long long)cookie);
        abort();
    }
    return c;
}

const struct nof_comp *world_expect(struct world *w, unsigned rank, int opcode, uint64_t cookie)
{
    return expect(rank, opcode, cookie, world_take(w, rank));
}

void world_expect_dead(struct world *w, unsigned rank, int opcode, uint64_t cookie, int peer)
{
    const struct nof_comp *c = world_take(w, rank);
    if (c != NULL && c->opcode == NOF_COMP_PEER_DEAD)
        c = world_take(w, rank);
    c = expect(rank, opcode, cookie, c);
    if (c->status != NOF_EPEERDEAD || c->peer != peer) {
        fprintf(stderr, "rank %u: status %d, peer %d, wanted the death of %d\n", rank, c->status, c->peer,
                peer);
        abort();
    }
}

const uint8_t *world_payload(struct world *w, unsigned rank, const struct nof_comp *comp, const void *buf)
{
    if (comp->flags & NOF_COMP_F_INLINE)
        return comp->inline_data;
    if (!(comp->flags & NOF_COMP_F_STAGED))
        return buf;
    struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
    d.release.count = 1;
    d.release.offset[0] = comp->staged_offset;
    const uint8_t *at = w->rank[rank].staging + comp->staged_offset;
    world_post(w, rank, &d); /* tests look before anything else arrives */
    return at;
}

void world_fault(struct world *w, const struct world_fault *fault)
{
    w->fault = *fault;
    w->counted = 0;
}

uint64_t world_counted(const struct world *w)
{
    return w->counted;
}

long world_frames(const struct world *w)
{
    return w->frames;
}

void world_cut(struct world *w, unsigned nic, bool cut)
{
    w->cut[nic] = cut;
}

void world_deaf(struct world *w, unsigned nic, bool deaf)
{
    w->deaf[nic] = deaf;
}

int world_joined(const struct world *w, unsigned nic)
{
    return w->joined[nic];
}
