/* SPDX-License-Identifier: BSD-3-Clause */
#include "core_pair.h"

#include <stdlib.h>
#include <string.h>

#include "lib/callgrind.h"

#define STAGING_BYTES (256u << 10)

static struct nof_frame *frame_alloc(void *port, uint32_t len_bytes)
{
    struct nof_pair *p = ((struct nof_pair_side *)port)->pair;
    struct nof_pair_frame *f = p->free;
    if (f == NULL || len_bytes > f->frame.cap_bytes)
        return NULL;
    p->free = f->next;
    f->refs = 1;
    return &f->frame;
}

static void put(struct nof_pair *p, struct nof_frame *frame)
{
    struct nof_pair_frame *f = (void *)frame;
    if (--f->refs > 0)
        return;
    f->next = p->free;
    p->free = f;
}

static void frame_free(void *port, struct nof_frame *frame)
{
    put(((struct nof_pair_side *)port)->pair, frame);
}

static unsigned port_send(void *port, struct nof_frame *const *frames, unsigned n)
{
    struct nof_pair_side *from = port;
    struct nof_pair_side *to = &from->pair->side[from == &from->pair->side[0]];
    for (unsigned i = 0; i < n; i++) {
        if (to->ninbox == NOF_PAIR_FRAMES)
            return i;
        struct nof_pair_frame *f = (void *)frames[i];
        f->refs++;
        to->inbox[to->ninbox++] = frames[i];
    }
    return n;
}

static const struct nof_port_ops port_ops = {
    .frame_alloc = frame_alloc, .frame_free = frame_free, .send = port_send};

static int dma(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
               const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host, (void)endpoint, (void)remote, (void)nremote, (void)local, (void)nlocal, (void)token;
    return NOF_DMA_DONE;
}

static unsigned complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct nof_pair_side *s = host;
    (void)endpoint;
    for (unsigned i = 0; i < n; i++) {
        s->completions[comps[i].opcode & 63]++;
        s->errors += comps[i].status != NOF_OK;
        if (s->on_completion != NULL)
            s->on_completion(s->ctx, &comps[i]);
        if ((comps[i].flags & NOF_COMP_F_STAGED) && s->nstaged < NOF_PAIR_STAGED)
            s->staged[s->nstaged++] = comps[i].staged_offset;
    }
    return n;
}

static void endpoint_failed(void *host, uint32_t endpoint, int status)
{
    (void)endpoint, (void)status;
    ((struct nof_pair_side *)host)->errors++;
}

static uint64_t cycles(void *host)
{
    (void)host;
    return 0;
}

static void log_text(void *host, int level, const char *text)
{
    (void)host, (void)level, (void)text;
}

static const struct nof_host_ops host_ops = {.dma_read = dma,
                                             .dma_write = dma,
                                             .complete = complete,
                                             .endpoint_failed = endpoint_failed,
                                             .cycles = cycles,
                                             .log = log_text};

struct call {
    struct nof_pair_side *s;
    uint64_t now_ns;
    const struct nof_desc *descs;
    struct nof_frame *const *frames;
    unsigned n;
};

static void call_host(void *arg)
{
    const struct call *c = arg;
    nof_nic_host(c->s->nic, c->now_ns, c->s->endpoint, c->descs, c->n);
}

static void call_rx(void *arg)
{
    const struct call *c = arg;
    nof_nic_rx(c->s->nic, c->now_ns, c->frames, c->n);
}

static void call_poll(void *arg)
{
    const struct call *c = arg;
    nof_nic_poll(c->s->nic, c->now_ns, 64);
}

static void enter(struct nof_pair *p, int side, void (*work)(void *), struct call *c)
{
    c->s = &p->side[side];
    c->now_ns = p->now_ns;
    if (p->measured == side)
        nof_callgrind_measured(work, c);
    else
        work(c);
}

void nof_pair_host(struct nof_pair *p, int side, const struct nof_desc *descs, unsigned n)
{
    enter(p, side, call_host, &(struct call){.descs = descs, .n = n});
}

void nof_pair_release(struct nof_pair *p, int side)
{
    struct nof_pair_side *s = &p->side[side];
    struct nof_desc d[NOF_PAIR_STAGED / NOF_RELEASE_MAX + 1];
    unsigned n = 0;
    for (unsigned i = 0; i < s->nstaged; i++) {
        if (i % NOF_RELEASE_MAX == 0)
            d[n++] = (struct nof_desc){.opcode = NOF_DESC_RELEASE};
        d[n - 1].release.offset[d[n - 1].release.count++] = s->staged[i];
    }
    s->nstaged = 0;
    if (n > 0)
        nof_pair_host(p, side, d, n);
}

static int deliver(struct nof_pair *p, int side, unsigned burst)
{
    struct nof_pair_side *s = &p->side[side];
    struct nof_frame *frames[64];
    unsigned n = s->ninbox < burst ? s->ninbox : burst;
    if (n == 0)
        return 0;
    memcpy(frames, s->inbox, n * sizeof(frames[0]));
    memmove(s->inbox, s->inbox + n, (s->ninbox - n) * sizeof(frames[0]));
    s->ninbox -= n;
    enter(p, side, call_rx, &(struct call){.frames = frames, .n = n});
    for (unsigned i = 0; i < n; i++)
        put(p, frames[i]);
    return 1;
}

void nof_pair_turn(struct nof_pair *p, unsigned burst, uint64_t step_ns)
{
    bool busy = true;
    if (burst > 64)
        burst = 64;
    while (busy) {
        busy = false;
        for (int side = 0; side < 2; side++) {
            busy |= deliver(p, side, burst);
            if (nof_nic_next_deadline(p->side[side].nic) > p->now_ns)
                continue;
            enter(p, side, call_poll, &(struct call){.n = 0});
            busy = true;
        }
    }
    p->now_ns += step_ns;
}

static int open_side(struct nof_pair *p, int i, const struct nof_nic_config *cfg)
{
    struct nof_pair_side *s = &p->side[i];
    struct nof_nic_config c = *cfg;
    c.nic_id = 100u + (unsigned)i;
    c.mac[0] = 2;
    c.mac[5] = (uint8_t)i;
    c.ip4 = 0x0a000001u + (unsigned)i;
    memset(c.seed, i + 1, sizeof(c.seed));
    size_t bytes = nof_nic_mem_size(&c);
    if (bytes == 0)
        return -1;
    s->pair = p;
    s->mtu_bytes = c.mtu_bytes;
    s->mem = aligned_alloc(64, (bytes + 63) / 64 * 64);
    s->staging = calloc(1, STAGING_BYTES);
    if (s->mem == NULL || s->staging == NULL ||
        nof_nic_init(s->mem, bytes, &c, &port_ops, s, &host_ops, s, p->now_ns, &s->nic) != NOF_OK)
        return -1;
    struct nof_endpoint_params params = {.job_id = 1,
                                         .rank = (uint32_t)i,
                                         .size = 2,
                                         .staging = s->staging,
                                         .staging_bytes = STAGING_BYTES,
                                         .dma_inline = true};
    return nof_nic_endpoint_open(s->nic, p->now_ns, &params, &s->endpoint, &s->card) == NOF_OK ? 0 : -1;
}

int nof_pair_init(struct nof_pair *p, const struct nof_nic_config *cfg)
{
    size_t stride = sizeof(struct nof_pair_frame) + ((cfg->mtu_bytes + 14 + 63) & ~63u);
    memset(p, 0, sizeof(*p));
    p->measured = -1;
    p->now_ns = 1000000;
    p->pool = calloc(NOF_PAIR_FRAMES, stride);
    if (p->pool == NULL)
        return -1;
    for (unsigned i = 0; i < NOF_PAIR_FRAMES; i++) {
        struct nof_pair_frame *f = (void *)((unsigned char *)p->pool + i * stride);
        f->frame.data = (uint8_t *)(f + 1);
        f->frame.cap_bytes = cfg->mtu_bytes + 14;
        f->next = p->free;
        p->free = f;
    }
    for (int i = 0; i < 2; i++)
        if (open_side(p, i, cfg) != 0)
            return -1;
    for (int i = 0; i < 2; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = 1 - i};
        memcpy(d.inline_data, &p->side[1 - i].card, sizeof(struct nof_card));
        nof_pair_host(p, i, &d, 1);
    }
    for (unsigned i = 0; i < 1000; i++)
        nof_pair_turn(p, 16, 10000);
    return 0;
}

void nof_pair_fini(struct nof_pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->side[i].nic != NULL)
            nof_nic_fini(p->side[i].nic);
        free(p->side[i].mem);
        free(p->side[i].staging);
    }
    free(p->pool);
}
