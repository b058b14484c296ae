/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks do beside the pair: each takes a loop of the core or of the daemon at its word. Messages go to the rank
 * itself, so that nobody has to take part. */
#include "neighbour.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nof/reductions.h"
#include "pmd_state.h" /* the doorbell, to be rung without need */

#define BLOCK_BYTES 65536u
#define POSTED 4000u
#define PEERS 1500u
#define UNEXPECTED 200u
#define HELD_MAX 200u
#define TAGS 1000u
#define PROGRAMS 8u
#define COOKIE_CANCEL (1ull << 32)

static void meet_itself(struct neighbour *n)
{
    struct nof_desc *d = neighbour_desc(n, NOF_DESC_PEER);

    memcpy(d->inline_data, &nof_pmd_identity(n->pmd)->card, sizeof(struct nof_card));
    neighbour_submit(n);
}

static struct nof_desc *receive(struct neighbour *n, int32_t tag, uint64_t len)
{
    struct nof_desc *d = neighbour_desc(n, NOF_DESC_RECV);

    d->tag = tag;
    d->len = len;
    d->addr = (uint64_t)(uintptr_t)(n->arena + NEIGHBOUR_ARENA / 2);
    return d;
}

static struct nof_desc *send_inline(struct neighbour *n, int32_t tag)
{
    struct nof_desc *d = neighbour_desc(n, NOF_DESC_SEND);

    d->tag = tag;
    d->len = 8;
    d->flags = NOF_DESC_F_INLINE;
    return d;
}

static void release(struct neighbour *n, uint32_t offset)
{
    struct nof_desc *d;

    if (n->ndescs == NEIGHBOUR_DESCS)
        return; /* lost; the area is large */
    d = neighbour_desc(n, NOF_DESC_RELEASE);
    d->release.count = 1;
    d->release.offset[0] = offset;
}

static void message_came(struct neighbour *n, const struct nof_comp *comp)
{
    if (comp->opcode != NOF_COMP_RECV)
        return;
    n->open--;
    if (comp->flags & NOF_COMP_F_STAGED)
        release(n, comp->staged_offset);
}

/* Every eighth is of 64 KiB. */
static void send_plain(struct neighbour *n)
{
    for (unsigned i = 0; i < 8 && n->open < 16; i++, n->open++) {
        struct nof_desc *d;

        (void)receive(n, 1, BLOCK_BYTES);
        d = send_inline(n, 1);
        if (i == 7) {
            d->flags = 0;
            d->len = BLOCK_BYTES;
            d->addr = (uint64_t)(uintptr_t)n->arena;
        }
    }
}

struct program {
    struct nof_layout_head head;
    struct nof_layout_op op[NOF_LAYOUT_DEPTH_MAX];
};

static void open_layout(struct neighbour *n, const struct program *p)
{
    struct nof_desc *d = neighbour_desc(n, NOF_DESC_LAYOUT);

    d->len = sizeof(p->head) + p->head.nops * sizeof(p->op[0]);
    d->layout = 1;
    memcpy(nof_pmd_program_area(n->pmd), p, (size_t)d->len);
    neighbour_submit(n);
}

/* Blocks of one byte that touch, inside so many loops. */
static void open_levels(struct neighbour *n)
{
    struct program p = {.head = {.magic = NOF_LAYOUT_MAGIC, .nops = n->level + 1, .size = 1}};

    for (unsigned i = n->level; i-- > 0;) {
        uint64_t count = i == 0 ? BLOCK_BYTES >> (n->level - 1) : 2;

        p.op[i] = (struct nof_layout_op){
            .opcode = NOF_LAYOUT_LOOP, .count = count, .block = n->level - i, .stride = (int64_t)p.head.size};
        p.head.size *= count;
    }
    p.op[n->level] = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = 1, .block = 1, .stride = 2};
    p.head.extent = (int64_t)p.head.size;
    meet_itself(n);
    open_layout(n, &p);
}

/* Counts as large as they may be; every byte lies in one place. */
static void open_huge(struct neighbour *n)
{
    struct program p = {.head = {.magic = NOF_LAYOUT_MAGIC, .nops = 2, .size = 1ull << 62}};

    p.op[0] = (struct nof_layout_op){.opcode = NOF_LAYOUT_LOOP, .count = 1ull << 31, .block = 1};
    p.op[1] = (struct nof_layout_op){.opcode = NOF_LAYOUT_BLOCK, .count = 1ull << 31, .block = 1};
    meet_itself(n);
    open_layout(n, &p);
}

static void send_layout(struct neighbour *n, uint64_t len)
{
    struct nof_desc *d = receive(n, 1, len);

    d->flags = NOF_DESC_F_LAYOUT;
    d->layout = 1;
    d = neighbour_desc(n, NOF_DESC_SEND);
    d->flags = NOF_DESC_F_LAYOUT;
    d->layout = 1;
    d->tag = 1;
    d->len = len;
    d->addr = (uint64_t)(uintptr_t)n->arena;
    n->open++;
}

static void send_levels(struct neighbour *n)
{
    while (n->open < 8)
        send_layout(n, BLOCK_BYTES);
}

static void send_huge(struct neighbour *n)
{
    while (n->open < 4)
        send_layout(n, INT64_MAX);
}

static void post_many(struct neighbour *n, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct nof_desc *d = receive(n, (int32_t)i, 0);

        d->ctx = 4;
        d->cookie = i;
        if (n->ndescs == NEIGHBOUR_DESCS)
            neighbour_submit(n);
    }
    neighbour_submit(n);
}

static void begin_cancels(struct neighbour *n)
{
    meet_itself(n);
    post_many(n, POSTED);
}

static void receive_and_cancel(struct neighbour *n)
{
    for (unsigned i = 0; i < NEIGHBOUR_DESCS / 2; i++) {
        uint64_t cookie = COOKIE_CANCEL + n->turns * NEIGHBOUR_DESCS + i;

        receive(n, 1, 0)->cookie = cookie;
        neighbour_desc(n, NOF_DESC_CANCEL)->cookie = cookie;
    }
}

/* Endpoints of our own NIC that nobody ever opened. */
static void invent_peers(struct neighbour *n)
{
    meet_itself(n);
    for (unsigned i = 0; i < PEERS; i++) {
        struct nof_card card = nof_pmd_identity(n->pmd)->card;
        struct nof_desc *d = neighbour_desc(n, NOF_DESC_PEER);

        card.endpoint = (uint16_t)(2000 + i);
        d->peer = (int32_t)(1 + i);
        memcpy(d->inline_data, &card, sizeof(card));
        if (n->ndescs == NEIGHBOUR_DESCS)
            neighbour_submit(n);
    }
    neighbour_submit(n);
}

static void flush(struct neighbour *n)
{
    while (n->ndescs < NEIGHBOUR_DESCS / 2)
        (void)neighbour_desc(n, NOF_DESC_FLUSH);
}

static void send_unexpected(struct neighbour *n)
{
    meet_itself(n);
    for (unsigned i = 0; i < UNEXPECTED; i++) {
        (void)send_inline(n, (int32_t)i);
        if (n->ndescs == NEIGHBOUR_DESCS)
            neighbour_submit(n);
    }
    neighbour_submit(n);
}

static void probe(struct neighbour *n)
{
    while (n->ndescs < NEIGHBOUR_DESCS) {
        struct nof_desc *d = neighbour_desc(n, NOF_DESC_PROBE);

        d->tag = n->ndescs % 4 == 0 ? NOF_ANY_TAG : (int32_t)(neighbour_random(n) % (2 * UNEXPECTED));
        d->peer = n->ndescs % 2 == 0 ? NOF_ANY_SOURCE : 0;
    }
}

static void flood(struct neighbour *n)
{
    while (n->ndescs < NEIGHBOUR_DESCS)
        (void)neighbour_desc(n, NOF_DESC_HINT);
}

static void ring(struct neighbour *n)
{
    uint64_t one = 1;

    for (unsigned i = 0; i < 64; i++)
        (void)!write(n->pmd->doorbell.fd, &one, sizeof(one));
}

/* With something to be cleared away each time. */
static void attach_and_leave(struct neighbour *n)
{
    n->pmd = neighbour_attach(n, neighbour_random(n), 0, 1u << 20);
    if (n->pmd == NULL) {
        sched_yield();
        return;
    }
    post_many(n, 2 * NEIGHBOUR_DESCS);
    n->ndescs = 0;
    nof_pmd_detach(n->pmd);
    n->pmd = NULL;
}

static int connect_control(const struct neighbour *n)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(n->board->control);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(to.sun_path, n->board->control, len);
    to.sun_path[0] = '\0';
    if (fd >= 0 &&
        connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void ask_control(struct neighbour *n)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stats\",\"params\":{}}\n";
    char answer[BLOCK_BYTES];
    int ok = 1;

    if (n->fd < 0)
        n->fd = connect_control(n);
    for (unsigned i = 0; n->fd >= 0 && ok && i < 16; i++)
        ok = send(n->fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0 || errno == EAGAIN;
    while (n->fd >= 0 && ok) {
        ssize_t got = recv(n->fd, answer, sizeof(answer), MSG_DONTWAIT);

        if (got < 0 && errno == EAGAIN)
            break;
        ok = got > 0;
    }
    if (n->fd >= 0 && !ok) {
        close(n->fd);
        n->fd = -1;
    }
    sched_yield();
}

/* 0: the arena is full. */
static int send_bounced(struct neighbour *n, int32_t tag, uint32_t len)
{
    uint64_t offset;
    struct nof_desc *d;

    if (nof_pmd_bounce_alloc(n->pmd, len, &offset) == NULL)
        return 0;
    d = neighbour_desc(n, NOF_DESC_SEND);
    d->flags = NOF_DESC_F_BOUNCE;
    d->cookie = offset;
    d->addr = offset;
    d->tag = tag;
    d->len = len;
    return 1;
}

/* Slots of all lengths, held and given back in any order. */
static void churn_staging(struct neighbour *n)
{
    for (unsigned i = 0; i < 8 && n->open < 32; i++) {
        if (!send_bounced(n, 1, 33 + (uint32_t)(neighbour_random(n) % 4000)))
            break;
        (void)receive(n, 1, BLOCK_BYTES);
        n->open++;
    }
    while (n->nstaged > HELD_MAX - 32 && n->ndescs < NEIGHBOUR_DESCS) {
        uint32_t at = (uint32_t)(neighbour_random(n) % n->nstaged);

        release(n, n->staged[at]);
        n->staged[at] = n->staged[--n->nstaged];
    }
}

static void staged_came(struct neighbour *n, const struct nof_comp *comp)
{
    if (comp->opcode == NOF_COMP_SEND)
        nof_pmd_bounce_free(n->pmd, comp->cookie);
    if (comp->opcode != NOF_COMP_RECV)
        return;
    n->open--;
    if ((comp->flags & NOF_COMP_F_STAGED) && n->nstaged < 256)
        n->staged[n->nstaged++] = comp->staged_offset;
}

/* Calls that follow no rule, and messages that are there before them. */
static void churn_prediction(struct neighbour *n)
{
    int32_t tags[8];
    unsigned sent = 0;

    while (sent < 8 && n->open + sent < 64) {
        tags[sent] = (int32_t)(neighbour_random(n) % TAGS);
        if (!send_bounced(n, tags[sent], 33 + (uint32_t)(neighbour_random(n) % 4000)))
            break;
        sent++;
    }
    for (unsigned i = 0; i < sent; i++, n->open++) {
        neighbour_desc(n, NOF_DESC_HINT)->callsite = neighbour_random(n) % 64 + 1;
        receive(n, tags[i], BLOCK_BYTES)->callsite = neighbour_random(n) % 64 + 1;
    }
}

static void predicted_came(struct neighbour *n, const struct nof_comp *comp)
{
    if (comp->opcode == NOF_COMP_SEND)
        nof_pmd_bounce_free(n->pmd, comp->cookie);
    message_came(n, comp);
}

/* Reductions of a MiB, as many schedules at once as there are names; level: an enum nof_reduce_type. */
static void open_reductions(struct neighbour *n)
{
    struct {
        struct nof_program_head head;
        struct nof_program_step step;
    } p = {.head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = 1}};

    p.step = (struct nof_program_step){.opcode = NOF_STEP_REDUCE,
                                       .elem = (uint8_t)n->level,
                                       .op = NOF_REDUCE_PROD,
                                       .from_base = 1,
                                       .len = 1u << 20,
                                       .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    for (uint32_t name = 0; name < PROGRAMS; name++) {
        struct nof_desc *d = neighbour_desc(n, NOF_DESC_SCHED_OPEN);

        d->len = sizeof(p);
        d->sched.name = name;
        d->sched.base[0] = name * sizeof(p);
        memcpy((char *)nof_pmd_program_area(n->pmd) + d->sched.base[0], &p, sizeof(p));
    }
    neighbour_submit(n);
}

/* n->open: those that run, as bits. */
static void reduce(struct neighbour *n)
{
    for (uint32_t name = 0; name < PROGRAMS; name++) {
        struct nof_desc *d;

        if (n->open & 1u << name)
            continue;
        n->open |= 1u << name;
        d = neighbour_desc(n, NOF_DESC_SCHED_START);
        d->cookie = name;
        d->sched.name = name;
        d->sched.base[0] = (uint64_t)(uintptr_t)n->arena;
        d->sched.base[1] = (uint64_t)(uintptr_t)(n->arena + NEIGHBOUR_ARENA / 2);
    }
}

static void reduced(struct neighbour *n, const struct nof_comp *comp)
{
    if (comp->opcode == NOF_COMP_SCHED)
        n->open &= ~(1u << comp->cookie);
}

#define PREDICTION "prediction=auto"

const struct neighbour_attack neighbour_attacks[] = {
    {"plain", 0, 1, meet_itself, send_plain, message_came, NULL},
    {"layout_1", 1, 1, open_levels, send_levels, message_came, NULL},
    {"layout_2", 2, 1, open_levels, send_levels, message_came, NULL},
    {"layout_3", 3, 1, open_levels, send_levels, message_came, NULL},
    {"layout_4", 4, 1, open_levels, send_levels, message_came, NULL},
    {"layout_5", 5, 1, open_levels, send_levels, message_came, NULL},
    {"layout_6", 6, 1, open_levels, send_levels, message_came, NULL},
    {"layout_7", 7, 1, open_levels, send_levels, message_came, NULL},
    {"huge_counts", 0, 1, open_huge, send_huge, message_came, NULL},
    {"recv_cancel", 0, 1, begin_cancels, receive_and_cancel, NULL, NULL},
    {"flush_peers", 0, 1, invent_peers, flush, NULL, NULL},
    {"probe", 0, 1, send_unexpected, probe, NULL, NULL},
    {"descriptor_flood", 0, 1, NULL, flood, NULL, NULL},
    {"doorbell_flood", 0, 1, NULL, ring, NULL, NULL},
    {"attach_storm", 0, 0, NULL, attach_and_leave, NULL, NULL},
    {"control_flood", 0, 0, NULL, ask_control, NULL, NULL},
    {"staging_churn", 0, 1, meet_itself, churn_staging, staged_came, NULL},
    {"reductions", NOF_REDUCE_F64, 1, open_reductions, reduce, reduced, NULL},
    {"slow_reductions", NOF_REDUCE_C128, 1, open_reductions, reduce, reduced, NULL},
    {"prediction_churn", 0, 1, meet_itself, churn_prediction, predicted_came, PREDICTION},
    {NULL, 0, 0, NULL, NULL, NULL, NULL},
};
