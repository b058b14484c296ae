/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for the host driver: the NIC of a world of one, with absurdly small tables, so that every
 * few messages it spills, parks and takes back. It answers in its own time (a random number of
 * descriptors per reap), which puts the library's handling of late answers to the test. NOF_FAKE_SEED
 * changes the times. It follows nof/desc.h word by word and checks what the library hands it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pmd.h"
#include "pmd_driver.h"

enum {
    STORE_MAX = 6,
    POSTED_MAX = 5,
    RENDEZVOUS_MAX = 3,
    RING = 16,
    BOUNCE_MAX = 512,
    SLOTS = 64,
    STAGE_MAX = 1024,
    PROGRAM_AREA_BYTES = 4096
};

struct message {
    struct nof_desc send;
    uint8_t *copy; /* payload of an eager one; NULL: it stays with the sender */
    int parked;
    uint64_t handle;
    struct message *next;
};

struct waiting { /* RECV, PROBE, MPROBE that wait in the NIC */
    struct nof_desc desc;
    struct waiting *next;
};

struct nof_pmd {
    struct nof_bar_identity identity;
    struct nof_desc ring[RING];
    unsigned queued;
    struct nof_comp *comps;
    size_t comp_count, comp_capacity, comp_at;
    struct message *store; /* oldest first */
    struct message *taken; /* by MPROBE, SPILL or a grant that is under way */
    struct waiting *posted;
    unsigned stored, posted_count, rendezvous;
    int spill, known;
    uint64_t spilled, nomatches, next_handle, random, unexpected;
    uint8_t bounce[SLOTS][BOUNCE_MAX], bounce_used[SLOTS];
    bool reads_on; /* what a failed program has lent is not given back */
    uint8_t stage[SLOTS][STAGE_MAX], stage_used[SLOTS];
    uint32_t wakes;
};

static struct nof_pmd fake;

unsigned fake_draw(unsigned n)
{
    fake.random ^= fake.random << 13;
    fake.random ^= fake.random >> 7;
    fake.random ^= fake.random << 17;
    return (unsigned)(fake.random >> 20) % n;
}

struct nof_comp *fake_complete(uint8_t opcode, const struct nof_desc *d, int status)
{
    static struct nof_comp of_a_program;
    if ((d->cookie & FAKE_PROGRAM_COOKIE) != 0) {
        if (opcode == NOF_COMP_SEND || status == NOF_ENOMATCH)
            fake_program_ended(d->cookie, status, d->len);
        return &of_a_program;
    }
    if (fake.comp_count == fake.comp_capacity) {
        fake.comp_capacity = fake.comp_capacity == 0 ? 64 : fake.comp_capacity * 2;
        fake.comps = realloc(fake.comps, fake.comp_capacity * sizeof(*fake.comps));
        REQUIRE(fake.comps != NULL);
    }
    struct nof_comp *c = &fake.comps[fake.comp_count++];
    memset(c, 0, sizeof(*c));
    c->opcode = opcode;
    c->status = (int16_t)status;
    c->cookie = d->cookie;
    c->ctx = d->ctx;
    return c;
}

void *fake_memory_at(uint64_t addr)
{
    if ((addr & NOF_BAR_ARENA) == 0)
        return (void *)(uintptr_t)addr;
    REQUIRE((addr ^ NOF_BAR_ARENA) < sizeof(fake.bounce));
    return &fake.bounce[0][0] + (addr ^ NOF_BAR_ARENA);
}

void fake_may_read_on(void)
{
    fake.reads_on = true;
}

static const void *payload_of(const struct message *m)
{
    if (m->copy != NULL)
        return m->copy;
    if ((m->send.flags & NOF_DESC_F_INLINE) != 0)
        return m->send.inline_data;
    return fake_memory_at((m->send.flags & NOF_DESC_F_BOUNCE) != 0 ? m->send.addr | NOF_BAR_ARENA
                                                                   : m->send.addr);
}

static void forget(struct message **list, struct message *m)
{
    while (*list != m)
        list = &(*list)->next;
    *list = m->next;
}

static void drop(struct message *m)
{
    free(m->copy);
    free(m);
}

static void put_payload(struct nof_comp *c, const struct message *m, uint64_t len)
{
    if (len <= NOF_INLINE_BYTES && m->send.len <= NOF_INLINE_BYTES) {
        c->flags |= NOF_COMP_F_INLINE;
        memcpy(c->inline_data, payload_of(m), len);
        return;
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (fake.stage_used[i])
            continue;
        fake.stage_used[i] = 1;
        memcpy(fake.stage[i], payload_of(m), len);
        c->flags |= NOF_COMP_F_STAGED;
        c->staged_offset = i * STAGE_MAX;
        c->staged_len = (uint32_t)len;
        return;
    }
    REQUIRE(fake.stage_used[0] == 2); /* the library gives staging slots back: one is free */
}

/* The receive (RECV, MRECV, PULL) gets the message, which is in no list any more. */
static void deliver(const struct nof_desc *recv, struct message *m)
{
    uint64_t len = m->send.len < recv->len ? m->send.len : recv->len;
    struct nof_comp *c = fake_complete(NOF_COMP_RECV, recv, m->send.len > recv->len ? NOF_ETRUNC : NOF_OK);
    c->peer = 0;
    c->tag = m->send.tag;
    c->len = m->send.len;
    bool of_a_program = (recv->cookie & FAKE_PROGRAM_COOKIE) != 0;
    if (len <= STAGE_MAX && !of_a_program && fake_draw(2)) {
        put_payload(c, m, len);
    } else {
        c->flags |= NOF_COMP_F_BUFFER;
        if (len > 0)
            memcpy(fake_memory_at(recv->addr), payload_of(m), len);
    }
    if (of_a_program)
        fake_program_ended(recv->cookie, m->send.len > recv->len ? NOF_ETRUNC : NOF_OK, m->send.len);
    if (m->copy == NULL) {
        fake_complete(NOF_COMP_SEND, &m->send, NOF_OK);
        fake.rendezvous -= !m->parked;
    }
    drop(m);
}

/* A parked send must be asked for again: the receive waits in the message meanwhile. */
struct grant {
    uint64_t handle;
    struct nof_desc recv;
    struct message *message;
    struct grant *next;
};

static struct grant *grants;

static void match(const struct nof_desc *recv, struct message *m)
{
    if (!m->parked) {
        deliver(recv, m);
        return;
    }
    struct grant *g = calloc(1, sizeof(*g));
    REQUIRE(g != NULL);
    *g = (struct grant){++fake.next_handle, *recv, m, grants};
    grants = g;
    struct nof_comp *c = fake_complete(NOF_COMP_GRANT, &m->send, NOF_OK);
    c->handle = g->handle;
    c->granted_len = recv->len < m->send.len ? recv->len : m->send.len;
    c->tag = m->send.tag;
}

static void granted_send(const struct nof_desc *d)
{
    struct grant **at = &grants;
    while (*at != NULL && (*at)->handle != d->handle)
        at = &(*at)->next;
    REQUIRE(*at != NULL);
    struct grant *g = *at;
    *at = g->next;
    REQUIRE(d->cookie == g->message->send.cookie && d->len == g->message->send.len);
    REQUIRE((d->flags & NOF_DESC_F_INLINE) == 0);
    g->message->send.flags = d->flags;
    g->message->send.addr = d->addr;
    deliver(&g->recv, g->message);
    free(g);
}

static bool wants(const struct nof_desc *want, const struct nof_desc *send)
{
    return want->ctx == send->ctx && (want->peer == NOF_ANY_SOURCE || want->peer == 0) &&
           (want->tag == NOF_ANY_TAG || want->tag == send->tag);
}

static struct message *find(const struct nof_desc *want)
{
    for (struct message *m = fake.store; m != NULL; m = m->next)
        if (wants(want, &m->send))
            return m;
    return NULL;
}

static void found(const struct nof_desc *probe, struct message *m)
{
    struct nof_comp *c = fake_complete(probe->opcode, probe, NOF_OK);
    c->peer = 0;
    c->tag = m->send.tag;
    c->len = m->send.len;
    if (probe->opcode == NOF_DESC_MPROBE) {
        forget(&fake.store, m);
        fake.stored--;
        m->handle = c->handle = ++fake.next_handle;
        m->next = fake.taken;
        fake.taken = m;
    }
}

static void enter_spill(void)
{
    fake.spill = 1;
    struct waiting **at = &fake.posted;
    while (*at != NULL) {
        struct waiting *w = *at;
        if (w->desc.opcode == NOF_DESC_RECV) {
            at = &w->next;
            continue;
        }
        fake.nomatches++;
        fake_complete(w->desc.opcode, &w->desc, NOF_ENOMATCH);
        *at = w->next;
        fake.posted_count--;
        free(w);
    }
}

static void spill(struct message *m)
{
    struct nof_desc of = {.ctx = m->send.ctx};
    struct nof_comp *c = fake_complete(NOF_COMP_SPILL, &of, NOF_OK);
    c->peer = 0;
    c->tag = m->send.tag;
    c->len = m->send.len;
    fake.spilled++;
    if (m->copy != NULL || (m->send.flags & NOF_DESC_F_INLINE && !(m->send.flags & NOF_DESC_F_SYNC))) {
        put_payload(c, m, m->send.len);
        drop(m);
        return;
    }
    c->flags |= NOF_COMP_F_REMOTE | ((m->send.flags & NOF_DESC_F_SYNC) ? NOF_COMP_F_SYNC : 0);
    m->handle = c->handle = ++fake.next_handle;
    m->next = fake.taken;
    fake.taken = m;
}

/* Keep an eager payload: the sender is done. A rendezvous one (now and then a small one too: no credit) stays
 * with the sender, unless its bytes came in the descriptor; beyond a few the NIC forgets the send and remembers
 * the envelope only. */
static void settle(struct message *m)
{
    int sync = (m->send.flags & NOF_DESC_F_SYNC) != 0, inlined = (m->send.flags & NOF_DESC_F_INLINE) != 0;
    if (!sync && (inlined || (m->send.len <= STAGE_MAX && fake_draw(4)))) {
        uint8_t *copy = malloc(m->send.len + 1);
        REQUIRE(copy != NULL);
        memcpy(copy, payload_of(m), m->send.len);
        m->copy = copy;
        fake_complete(NOF_COMP_SEND, &m->send, NOF_OK);
    } else if (fake.rendezvous >= RENDEZVOUS_MAX && (m->send.cookie & FAKE_PROGRAM_COOKIE) == 0) {
        m->parked = 1;
        fake_complete(NOF_COMP_PARKED, &m->send, NOF_OK);
    } else {
        fake.rendezvous++;
    }
}

void fake_send(const struct nof_desc *d)
{
    REQUIRE(fake.known && d->peer == 0 && d->tag >= 0);
    if ((d->flags & NOF_DESC_F_GRANTED) != 0) {
        granted_send(d);
        return;
    }
    struct message *m = calloc(1, sizeof(*m));
    REQUIRE(m != NULL);
    m->send = *d;
    settle(m);
    for (struct waiting **at = &fake.posted; *at != NULL;) {
        struct waiting *w = *at;
        if (!wants(&w->desc, d) || w->desc.opcode != NOF_DESC_RECV) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        fake.posted_count--;
        match(&w->desc, m);
        free(w);
        return;
    }
    fake.unexpected++;
    if (!fake.spill && fake.stored == STORE_MAX)
        enter_spill();
    if (fake.spill) {
        spill(m);
        return;
    }
    struct message **end = &fake.store;
    while (*end != NULL)
        end = &(*end)->next;
    *end = m;
    fake.stored++;
    for (struct waiting **at = &fake.posted; *at != NULL;) {
        struct waiting *w = *at;
        struct message *hit = wants(&w->desc, d) ? find(&w->desc) : NULL;
        if (hit == NULL) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        fake.posted_count--;
        found(&w->desc, hit);
        free(w);
    }
}

static void wait_in_nic(const struct nof_desc *d)
{
    if (!fake.spill && fake.posted_count == POSTED_MAX)
        enter_spill();
    if (fake.spill) {
        fake.nomatches += (d->cookie & FAKE_PROGRAM_COOKIE) == 0;
        fake_complete(d->opcode, d, NOF_ENOMATCH);
        return;
    }
    struct waiting *w = calloc(1, sizeof(*w)), **end = &fake.posted;
    REQUIRE(w != NULL);
    w->desc = *d;
    while (*end != NULL)
        end = &(*end)->next;
    *end = w;
    fake.posted_count++;
}

void fake_recv(const struct nof_desc *d)
{
    struct message *m = find(d);
    if (m == NULL) {
        wait_in_nic(d);
        return;
    }
    forget(&fake.store, m);
    fake.stored--;
    match(d, m);
}

static void on_probe(const struct nof_desc *d)
{
    struct message *m = find(d);
    if (m != NULL)
        found(d, m);
    else if ((d->flags & NOF_DESC_F_WAIT) != 0)
        wait_in_nic(d);
    else
        fake_complete(d->opcode, d, NOF_ENOMATCH);
}

/* MPI_Finalize takes back what nobody received. */
static void on_send_cancel(const struct nof_desc *d)
{
    for (struct message *m = fake.store; m != NULL; m = m->next) {
        if (m->send.cookie != d->cookie || m->copy != NULL)
            continue;
        forget(&fake.store, m);
        fake.stored--;
        fake.rendezvous -= !m->parked;
        drop(m);
        fake_complete(NOF_COMP_SEND_CANCEL, d, NOF_OK);
        return;
    }
    fake_complete(NOF_COMP_SEND_CANCEL, d, NOF_ENOMATCH);
}

static bool unpost(uint64_t cookie)
{
    for (struct waiting **at = &fake.posted; *at != NULL; at = &(*at)->next) {
        struct waiting *w = *at;
        if (w->desc.cookie != cookie)
            continue;
        *at = w->next;
        fake.posted_count--;
        free(w);
        return true;
    }
    return false;
}

void fake_unpost(uint64_t cookie)
{
    (void)unpost(cookie);
}

static void on_cancel(const struct nof_desc *d)
{
    fake_complete(NOF_COMP_CANCEL, d, unpost(d->cookie) ? NOF_OK : NOF_ENOMATCH);
}

static void on_handle(const struct nof_desc *d)
{
    for (struct message *m = fake.taken; m != NULL; m = m->next) {
        if (m->handle != d->handle)
            continue;
        forget(&fake.taken, m);
        match(d, m);
        return;
    }
    REQUIRE(d->handle == 0); /* a handle that was given out is found above */
}

static void on_spill_end(const struct nof_desc *d)
{
    REQUIRE(fake.spill && d->spills_seen <= fake.spilled && d->nomatches_seen <= fake.nomatches);
    int yes = d->spills_seen == fake.spilled && d->nomatches_seen == fake.nomatches &&
              fake.stored < STORE_MAX && !fake_program_asks() && fake_draw(4) != 0;
    if (yes)
        fake.spill = 0;
    fake_complete(NOF_COMP_SPILL_END, d, yes ? NOF_OK : NOF_EAGAIN);
}

static uint64_t program_area[PROGRAM_AREA_BYTES / sizeof(uint64_t)];

static void execute(const struct nof_desc *d)
{
    if (fake_program_desc(d, program_area, sizeof(program_area)))
        return;
    switch (d->opcode) {
    case NOF_DESC_PEER:
        fake.known = 1;
        break;
    case NOF_DESC_SEND:
        fake_send(d);
        break;
    case NOF_DESC_RECV:
        fake_recv(d);
        break;
    case NOF_DESC_CANCEL:
        on_cancel(d);
        break;
    case NOF_DESC_SEND_CANCEL:
        on_send_cancel(d);
        break;
    case NOF_DESC_PROBE:
    case NOF_DESC_MPROBE:
        on_probe(d);
        break;
    case NOF_DESC_MRECV:
    case NOF_DESC_PULL:
        on_handle(d);
        break;
    case NOF_DESC_FLUSH:
        fake_complete(NOF_COMP_FLUSH, d, NOF_OK);
        break;
    case NOF_DESC_SPILL_END:
        on_spill_end(d);
        break;
    case NOF_DESC_RELEASE:
        for (uint32_t i = 0; i < d->release.count; i++) {
            REQUIRE(fake.stage_used[d->release.offset[i] / STAGE_MAX]);
            fake.stage_used[d->release.offset[i] / STAGE_MAX] = 0;
        }
        break;
    case NOF_DESC_COLL_ABORT: /* nobody is there */
        break;
    default:
        REQUIRE(d->opcode == NOF_DESC_LAYOUT); /* no room for layouts: the library packs */
        fake_complete(NOF_COMP_LAYOUT, d, NOF_ENOMEM);
    }
}

int nof_pmd_attach(const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out, char *text,
                   size_t text_bytes)
{
    (void)args;
    (void)text;
    (void)text_bytes;
    const char *seed = getenv("NOF_FAKE_SEED");
    fake.random = 0x2545f4914f6cdd1du ^ (seed == NULL ? 1 : strtoull(seed, NULL, 10) * 7919);
    fake.identity.bounce_max_bytes = BOUNCE_MAX;
    fake.identity.program_area_bytes = PROGRAM_AREA_BYTES;
    snprintf(fake.identity.nic_name, sizeof(fake.identity.nic_name), "fake");
    *pmd_out = &fake;
    return NOF_OK;
}

bool nof_pmd_multicast(const struct nof_pmd *pmd)
{
    (void)pmd;
    return false;
}

enum nof_channels nof_pmd_channels(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NOF_CHANNELS_NIC;
}

struct nof_pmd_polling nof_pmd_polling(const struct nof_pmd *pmd)
{
    (void)pmd;
    return (struct nof_pmd_polling){.dynamic = true, .ratio = 50, .update = 10};
}

uint32_t nof_pmd_coll_patience_ms(const struct nof_pmd *pmd)
{
    (void)pmd;
    return 0;
}

uint32_t nof_pmd_away_ms(const struct nof_pmd *pmd)
{
    (void)pmd;
    return 0;
}

bool nof_pmd_took_all(const struct nof_pmd *pmd)
{
    (void)pmd;
    return true;
}

bool nof_pmd_runs_collectives(const struct nof_pmd *pmd)
{
    (void)pmd;
    return fake_runs_collectives != 0;
}

bool nof_pmd_answers(const char *socket)
{
    (void)socket;
    return false;
}

void nof_pmd_detach(struct nof_pmd *pmd)
{
    fake_program_close();
    for (int i = 0; i < SLOTS; i++)
        REQUIRE((!pmd->bounce_used[i] || pmd->reads_on) && !pmd->stage_used[i]);
    free(pmd->comps);
}

const struct nof_bar_identity *nof_pmd_identity(const struct nof_pmd *pmd)
{
    return &pmd->identity;
}

int nof_pmd_submit(struct nof_pmd *pmd, const struct nof_desc *descs, unsigned n)
{
    unsigned taken = 0;
    while (taken < n && pmd->queued < RING)
        pmd->ring[pmd->queued++] = descs[taken++];
    return (int)taken;
}

int nof_pmd_reap(struct nof_pmd *pmd, struct nof_comp *comps, unsigned n)
{
    unsigned run = fake_draw(RING + 1);
    if (run > pmd->queued)
        run = pmd->queued;
    for (unsigned i = 0; i < run; i++)
        execute(&pmd->ring[i]);
    fake_program_turn();
    memmove(pmd->ring, pmd->ring + run, (pmd->queued - run) * sizeof(pmd->ring[0]));
    pmd->queued -= run;
    unsigned give = fake_draw(5);
    if (give > n)
        give = n;
    if (give > pmd->comp_count - pmd->comp_at)
        give = (unsigned)(pmd->comp_count - pmd->comp_at);
    if (give > 0)
        memcpy(comps, &pmd->comps[pmd->comp_at], give * sizeof(*comps));
    pmd->comp_at += give;
    if (pmd->comp_at == pmd->comp_count)
        pmd->comp_at = pmd->comp_count = 0;
    return (int)give;
}

const struct nof_pmd_segment *fake_segment;

const struct nof_pmd_segment *nof_pmd_segment(const struct nof_pmd *pmd)
{
    (void)pmd;
    return fake_segment;
}

void nof_pmd_wait_begin(struct nof_pmd *pmd)
{
    (void)pmd;
}

void nof_pmd_wait_end(struct nof_pmd *pmd)
{
    (void)pmd;
}

int nof_pmd_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    (void)pmd;
    (void)seen;
    (void)timeout_ns;
    return NOF_OK;
}

uint32_t nof_pmd_wake_count(const struct nof_pmd *pmd)
{
    return pmd->wakes;
}

void nof_pmd_wake(struct nof_pmd *pmd)
{
    pmd->wakes++;
}

const char *nof_pmd_death(const struct nof_pmd *pmd)
{
    (void)pmd;
    return "";
}

void *nof_pmd_program_area(struct nof_pmd *pmd)
{
    (void)pmd;
    return program_area;
}

void *nof_pmd_bounce_alloc(struct nof_pmd *pmd, size_t len_bytes, uint64_t *offset_out)
{
    for (uint64_t i = 0; len_bytes <= BOUNCE_MAX && fake_draw(4) && i < SLOTS; i++) {
        if (pmd->bounce_used[i])
            continue;
        pmd->bounce_used[i] = 1;
        *offset_out = i * BOUNCE_MAX;
        return pmd->bounce[i];
    }
    return NULL;
}

void nof_pmd_bounce_free(struct nof_pmd *pmd, uint64_t offset)
{
    REQUIRE(offset < sizeof(pmd->bounce) && pmd->bounce_used[offset / BOUNCE_MAX]);
    pmd->bounce_used[offset / BOUNCE_MAX] = 0;
}

const void *nof_pmd_staged(const struct nof_pmd *pmd, uint32_t offset, uint32_t len_bytes)
{
    REQUIRE(offset % STAGE_MAX == 0 && len_bytes <= STAGE_MAX);
    return pmd->stage[offset / STAGE_MAX];
}

uint64_t nof_pmd_unexpected(const struct nof_pmd *pmd)
{
    return pmd->unexpected;
}

uint64_t nof_pmd_counter(const struct nof_pmd *pmd, enum nof_counter counter)
{
    (void)pmd;
    (void)counter;
    return 0;
}

int nof_pmd_counter_find(const char *name, enum nof_counter *counter_out)
{
    (void)name;
    (void)counter_out;
    return NOF_ENOENT;
}

void nof_card_format(const struct nof_card *card, char text[65])
{
    (void)card;
    memset(text, '0', 64);
    text[64] = '\0';
}

int nof_card_parse(const char *text, struct nof_card *card_out)
{
    (void)text;
    memset(card_out, 0, sizeof(*card_out));
    return NOF_OK;
}

/* It has no claims. */
struct nof_claim_words *nof_pmd_claims(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NULL;
}

/* It reads no counts. */
uint64_t *nof_pmd_library_counts(const struct nof_pmd *pmd, uint32_t n)
{
    (void)pmd;
    (void)n;
    return NULL;
}

struct nof_delta_host *fake_delta_host;

/* It looks at no board. */
struct nof_delta_host *nof_pmd_delta_host(const struct nof_pmd *pmd)
{
    (void)pmd;
    return fake_delta_host;
}

const struct nof_delta_nic *nof_pmd_delta_nic(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NULL;
}

void nof_pmd_delta_ring(struct nof_pmd *pmd, uint32_t slot)
{
    (void)pmd;
    REQUIRE(slot == UINT32_MAX);
}

int nof_pmd_delta_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    (void)pmd;
    (void)seen;
    (void)timeout_ns;
    return NOF_ENICDEAD;
}
