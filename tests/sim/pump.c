/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pump: a lean host for measurements. */
#include "pump.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/buf_cursor.h"
#include "world.h"

#define COOKIE_SEND (1ull << 32)

__attribute__((format(printf, 2, 3))) static void problem(struct nof_pump *p, const char *format, ...)
{
    if (p->problem[0] != '\0')
        return;
    va_list args;
    va_start(args, format);
    int n = snprintf(p->problem, sizeof(p->problem), "NIC %u rank %u: ", p->nic, p->rank);
    (void)vsnprintf(p->problem + n, sizeof(p->problem) - (size_t)n, format, args);
    va_end(args);
    nof_cluster_fail(p->cluster, "%s", p->problem);
}

static void submit(struct nof_pump *p, const struct nof_desc *d)
{
    if (p->queue_count == p->queue_room) {
        unsigned room = p->queue_room != 0 ? 2 * p->queue_room : 64;
        struct nof_desc *queue = malloc(room * sizeof(*queue));
        if (queue == NULL)
            abort();
        for (unsigned i = 0; i < p->queue_count; i++)
            queue[i] = p->queue[(p->queue_head + i) & (p->queue_room - 1)];
        free(p->queue);
        p->queue = queue;
        p->queue_head = 0;
        p->queue_room = room;
    }
    p->queue[(p->queue_head + p->queue_count++) & (p->queue_room - 1)] = *d;
    nof_cluster_kick(p->cluster, p->nic);
}

static unsigned host_fetch(void *host, struct nof_desc *descs, unsigned max)
{
    struct nof_pump *p = host;
    unsigned n = p->queue_count < max ? p->queue_count : max;
    for (unsigned i = 0; i < n; i++)
        descs[i] = p->queue[p->queue_head++ & (p->queue_room - 1)];
    p->queue_count -= n;
    return n;
}

static void post_recv(struct nof_pump *p, unsigned i)
{
    union {
        uint8_t *mem;
        uint64_t addr;
    } u = {.mem = p->slot[i].mem};
    struct nof_desc d = {.opcode = NOF_DESC_RECV,
                         .ctx = 1,
                         .cookie = i,
                         .peer = p->slot[i].peer,
                         .tag = NOF_ANY_TAG,
                         .len = p->slot_bytes,
                         .addr = u.addr};
    submit(p, &d);
}

static void send_one(struct nof_pump *p, uint32_t peer, uint64_t bytes, uint8_t flags)
{
    union {
        uint8_t *mem;
        uint64_t addr;
    } u = {.mem = p->source};
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .flags = flags,
                         .ctx = 1,
                         .cookie = COOKIE_SEND,
                         .peer = (int32_t)peer,
                         .tag = 1,
                         .len = bytes,
                         .addr = u.addr};
    submit(p, &d);
}

static void received(struct nof_pump *p, const struct nof_comp *c)
{
    struct nof_pump_slot *s = &p->slot[c->cookie];
    uint64_t word;
    unsigned n;
    if (c->flags & NOF_COMP_F_INLINE)
        memcpy(s->mem, c->inline_data, c->len <= NOF_INLINE_BYTES ? c->len : 0);
    if (c->flags & NOF_COMP_F_STAGED) {
        if (c->staged_offset > p->staging_bytes || c->staged_len > p->staging_bytes - c->staged_offset) {
            problem(p, "staged payload outside the staging area");
            return;
        }
        memcpy(s->mem, p->staging + c->staged_offset, c->staged_len);
        struct nof_desc d = {.opcode = NOF_DESC_RELEASE,
                             .release = {.count = 1, .offset = {c->staged_offset}}};
        submit(p, &d);
    }
    if ((c->flags & NOF_COMP_F_BUFFER) == 0)
        s->bytes += c->len;
    bool good =
        nof_payload_check(s->mem, c->len, &word, &n) && word == nof_payload_word((uint64_t)c->peer + 1, n);
    if (!good)
        problem(p, "%llu bytes from rank %d are damaged", (unsigned long long)c->len, c->peer);
    p->recvs_done++;
    post_recv(p, (unsigned)c->cookie);
}

static void send_next(struct nof_pump *p)
{
    if (p->all != NULL && p->next < p->size) {
        const struct nof_pump *peer = &p->all[(p->rank + ++p->next) % p->size];
        nof_pump_peer(p, peer);
        send_one(p, peer->rank, p->send_bytes, NOF_DESC_F_SYNC);
    } else if (p->sends_left > 0) {
        p->sends_left -= p->sends_left != UINT64_MAX;
        send_one(p, p->send_peer, p->send_bytes, 0);
    }
}

static unsigned host_complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct nof_pump *p = host;
    for (unsigned i = 0; i < n; i++) {
        const struct nof_comp *c = &comps[i];
        if (c->status != NOF_OK) {
            problem(p, "completion %u from rank %d: %s", c->opcode, c->peer, nof_strstatus(c->status));
        } else if (c->opcode == NOF_COMP_RECV && c->cookie < p->nslots) {
            received(p, c);
        } else if (c->opcode == NOF_COMP_SEND) {
            p->sends_done++;
            send_next(p);
        } else {
            problem(p, "completion %u is out of place", c->opcode);
        }
    }
    return n;
}

/* Which memory of ours is this? Counts what is written into receives. */
static uint8_t *memory_at(struct nof_pump *p, uint64_t addr, uint64_t len, bool write)
{
    union {
        uint64_t addr;
        uint8_t *mem;
    } u = {.addr = addr};
    if (!write)
        return u.mem >= p->source && u.mem + len <= p->source + p->source_bytes ? u.mem : NULL;
    for (unsigned i = 0; i < p->nslots; i++) {
        if (u.mem >= p->slot[i].mem && u.mem + len <= p->slot[i].mem + p->slot_bytes) {
            p->slot[i].bytes += len;
            return u.mem;
        }
    }
    return NULL;
}

static int host_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nof_pump *p = host;
    struct nof_buf_cursor c = nof_buf_begin(local, nlocal);
    (void)token;
    for (unsigned i = 0; i < nremote; i++) {
        uint8_t *user = memory_at(p, remote[i].addr, remote[i].len_bytes, write);
        if (user == NULL) {
            problem(p, "DMA %s memory that is not ours", write ? "writes" : "reads");
            return NOF_EFAULT;
        }
        if (!nof_buf_move(&c, user, remote[i].len_bytes, write)) {
            problem(p, "DMA has fewer bytes of buffers than of memory");
            return NOF_EFAULT;
        }
    }
    if (!nof_buf_ended(&c)) {
        problem(p, "DMA has more bytes of buffers than of memory");
        return NOF_EFAULT;
    }
    return NOF_DMA_DONE;
}

static void host_failed(void *host, int status)
{
    problem(host, "the NIC gives the endpoint up: %s", nof_strstatus(status));
}

static const struct nof_cluster_host_ops host_ops = {
    .fetch = host_fetch,
    .complete = host_complete,
    .dma = host_dma,
    .failed = host_failed,
};

int nof_pump_open(struct nof_pump *p, struct nof_cluster *c, unsigned nic, const struct nof_pump_job *job,
                  uint32_t rank, uint64_t max_bytes, size_t staging_bytes)
{
    *p =
        (struct nof_pump){.cluster = c, .nic = nic, .rank = rank, .size = job->size, .slot_bytes = max_bytes};
    p->source_bytes = max_bytes;
    p->source = malloc(max_bytes + 8);
    p->staging_bytes = staging_bytes;
    p->staging = staging_bytes != 0 ? aligned_alloc(64, staging_bytes) : NULL;
    if (p->source == NULL || (staging_bytes != 0 && p->staging == NULL))
        return NOF_ENOMEM;
    nof_payload_fill(p->source, (uint64_t)rank + 1, max_bytes);
    struct nof_endpoint_params params = {
        .job_id = job->id,
        .rank = rank,
        .size = job->size,
        .staging = p->staging,
        .staging_bytes = staging_bytes,
        .dma_inline = 1,
    };
    memcpy(params.job_key, job->key, sizeof(params.job_key));
    return nof_cluster_endpoint_open(c, nic, &params, &host_ops, p, &p->endpoint, &p->card);
}

void nof_pump_close(struct nof_pump *p)
{
    for (unsigned i = 0; i < p->nslots; i++)
        free(p->slot[i].mem);
    free(p->source);
    free(p->staging);
    free(p->queue);
}

void nof_pump_peer(struct nof_pump *p, const struct nof_pump *peer)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = (int32_t)peer->rank, .len = sizeof(peer->card)};
    memcpy(d.inline_data, &peer->card, sizeof(peer->card));
    submit(p, &d);
}

void nof_pump_recv(struct nof_pump *p, int32_t peer, unsigned slots)
{
    while (slots-- > 0 && p->nslots < NOF_PUMP_SLOTS_MAX) {
        struct nof_pump_slot *s = &p->slot[p->nslots];
        s->peer = peer;
        s->mem = malloc(p->slot_bytes + 8);
        if (s->mem == NULL)
            abort();
        post_recv(p, p->nslots++);
    }
}

void nof_pump_send(struct nof_pump *p, uint32_t peer, uint64_t bytes, uint64_t count, unsigned outstanding)
{
    p->send_peer = peer;
    p->send_bytes = bytes;
    p->sends_left = count;
    while (outstanding-- > 0)
        send_next(p);
}

void nof_pump_send_all(struct nof_pump *p, struct nof_pump *all, uint64_t bytes, unsigned outstanding)
{
    p->all = all;
    p->send_bytes = bytes;
    while (outstanding-- > 0)
        send_next(p);
}

uint64_t nof_pump_received(const struct nof_pump *p, int32_t peer)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->nslots; i++)
        bytes += p->slot[i].peer == peer ? p->slot[i].bytes : 0;
    return bytes;
}
