/* SPDX-License-Identifier: BSD-3-Clause */
#include "program_runs.h"

#include <string.h>

#include "nic.h"
#include "nof/layout.h"
#include "program_check.h"

#define MS 1000000ull
#define CALLS 40000u /* of the core to port and hosts in one moment: a program has up to 1024 steps */
#define LAYOUT_AT 0u /* in the program area */

/* The steps of all slots: too many to go back and forth with the rest; a slot that is free has none. */
static struct nof_program_step steps[RUNS_RANKS][RUNS_SLOTS][RUNS_STEPS_MAX];

static const struct {
    uint64_t count, block;
    int64_t stride;
} layouts[RUNS_LAYOUTS - 1] = {{16, 24, 40}, {1, 8, 64}};

static bool bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *set, uint32_t i)
{
    set[i / 64] |= 1ull << i % 64;
}

static unsigned slot_index(const struct runs *r, unsigned rank, const struct runs_slot *s)
{
    return (unsigned)(s - r->rank[rank].slot);
}

static const struct nof_program_step *steps_of(const struct runs *r, unsigned rank, const struct runs_slot *s)
{
    return steps[rank][slot_index(r, rank, s)];
}

static bool is_hosts(const struct runs_slot *s, const struct nof_program_step *list, uint32_t i)
{
    return list[i].opcode == NOF_STEP_HOST || bit(s->asked, i);
}

/* The fence behind the first step of the host that is not done. */
static void find_limit(const struct runs *r, unsigned rank, struct runs_slot *s)
{
    const struct nof_program_step *list = steps_of(r, rank, s);
    uint32_t i = 0;
    while (i < s->nsteps && !(is_hosts(s, list, i) && !bit(s->answered, i)))
        i++;
    while (i < s->nsteps && list[i].opcode != NOF_STEP_FENCE)
        i++;
    s->limit = i;
}

static bool may_have_begun(const struct runs_slot *s, const struct nof_program_step *list, uint32_t i)
{
    for (unsigned k = 0; k < 2; k++) {
        uint32_t before = list[i].after[k];
        if (before < s->nsteps && is_hosts(s, list, before) && !bit(s->answered, before))
            return false;
    }
    return i <= s->limit;
}

/* Does the piece lie in these bytes, which a layout may scatter? */
static bool in_bytes(const struct nof_program_step *s, uint64_t at, uint64_t len,
                     const struct nof_segment *seg)
{
    uint64_t off = seg->addr - at;
    if (!(s->flags & NOF_STEP_F_LAYOUT))
        return off <= len && seg->len_bytes <= len - off;
    if (s->layout >= RUNS_LAYOUTS - 1 || s->layout_generation != 1)
        return false;
    uint64_t block = layouts[s->layout].block, stride = (uint64_t)layouts[s->layout].stride;
    return off / stride < len / block + 1 && off % stride + seg->len_bytes <= block;
}

static bool touches(const struct nof_program_step *s, const uint64_t base[NOF_PROGRAM_BASES], bool write,
                    const struct nof_segment *seg)
{
    uint64_t to = base[s->base] + (uint64_t)s->offset;
    switch (s->opcode) {
    case NOF_STEP_SEND:
        return !write && in_bytes(s, to, s->len, seg);
    case NOF_STEP_RECV:
        return write && in_bytes(s, to, s->len, seg);
    case NOF_STEP_REDUCE:
        if (in_bytes(s, to, s->len, seg))
            return true;
        return !write && in_bytes(s, base[s->from_base] + (uint64_t)s->from, s->len, seg);
    case NOF_STEP_COPY:
        return write ? in_bytes(s, to, s->len, seg)
                     : in_bytes(s, base[s->from_base] + (uint64_t)s->from, s->len, seg);
    default:
        return false;
    }
}

static bool run_owns(const struct runs *r, unsigned rank, const struct runs_slot *s, bool write,
                     const struct nof_segment *seg)
{
    const struct nof_program_step *list = steps_of(r, rank, s);
    for (uint32_t i = 0; s->state == RUNS_RUNS && i < s->nsteps && i <= s->limit; i++)
        if (touches(&list[i], s->base, write, seg) && may_have_begun(s, list, i))
            return true;
    for (uint32_t i = 0; s->lingers && !write && i < s->nsteps; i++)
        if (list[i].opcode == NOF_STEP_SEND && touches(&list[i], s->old, write, seg))
            return true;
    return false;
}

static bool own_owns(const struct runs_own *o, bool write, const struct nof_segment *seg)
{
    uint64_t off = seg->addr - o->at;
    return o->used && o->recv == write && off <= o->len && seg->len_bytes <= o->len - off;
}

static bool owned(struct runs *r, unsigned rank, bool write, const struct nof_segment *seg)
{
    struct runs_rank *mine = &r->rank[rank];
    uint8_t *last = &mine->last[write][0];
    for (unsigned i = 0; i < RUNS_OWN; i++)
        if (own_owns(&mine->own[i], write, seg))
            return true;
    for (unsigned i = 0; i < RUNS_SLOTS; i++) {
        unsigned k = (*last + i) % RUNS_SLOTS;
        struct runs_slot *s = &mine->slot[k];
        if (s->state == RUNS_FREE || !run_owns(r, rank, s, write, seg))
            continue;
        *last = (uint8_t)k;
        *(write ? &s->written : &s->read) += seg->len_bytes;
        return true;
    }
    return false;
}

static void moment(struct runs *r)
{
    if (r->moment != world_now(r->guard.w))
        r->calls = 0;
    r->moment = world_now(r->guard.w);
    if (++r->calls > CALLS)
        guard_fail("the core makes %u calls in one moment", r->calls);
}

static enum world_dma on_dma(void *ctx, unsigned rank, int write, const struct nof_segment *seg,
                             unsigned nseg, const struct nof_buf *buf, unsigned nbuf)
{
    struct runs *r = ctx;
    moment(r);
    if (rank >= RUNS_RANKS)
        return guard_watch.dma(ctx, rank, write, seg, nseg, buf, nbuf);
    if (world_rank(r->guard.w, rank)->closing)
        guard_fail("a DMA request of rank %u after its end", rank);
    for (unsigned i = 0; write && i < nbuf; i++)
        guard_no_secret(buf[i].base, buf[i].len_bytes, "a DMA write of job A");
    enum world_dma how = guard_fate(&r->guard, write);
    for (unsigned i = 0; i < nseg; i++)
        if (how != WORLD_DMA_BUSY && !owned(r, rank, write != 0, &seg[i]))
            guard_fail("rank %u: %llu bytes %s at arena + %lld, where no step is to", rank,
                       (unsigned long long)seg[i].len_bytes, write ? "written" : "read",
                       (long long)(seg[i].addr - (uint64_t)(uintptr_t)world_rank(r->guard.w, rank)->arena));
    return how;
}

static struct runs_slot *running(struct runs_rank *mine, uint64_t cookie)
{
    for (unsigned i = 0; i < RUNS_SLOTS; i++)
        if (mine->slot[i].state == RUNS_RUNS && mine->slot[i].cookie == cookie)
            return &mine->slot[i];
    return NULL;
}

/* `other` begins to touch memory: nobody is alone any more. */
static void not_alone(struct runs_rank *mine, const void *other)
{
    for (unsigned i = 0; i < RUNS_SLOTS; i++)
        if (&mine->slot[i] != other)
            mine->slot[i].alone = 0;
}

static bool only_one(const struct runs_rank *mine, const struct runs_slot *s)
{
    for (unsigned i = 0; i < RUNS_SLOTS; i++)
        if (&mine->slot[i] != s && (mine->slot[i].state == RUNS_RUNS || mine->slot[i].lingers))
            return false;
    for (unsigned i = 0; i < RUNS_OWN; i++)
        if (mine->own[i].used)
            return false;
    return !s->lingers;
}

/* The answer to a SCHED_OPEN. */
static void on_open(struct runs *r, unsigned rank, const struct nof_comp *c)
{
    struct runs_slot *s = NULL;
    for (unsigned i = 0; i < RUNS_SLOTS; i++)
        if (r->rank[rank].slot[i].state == RUNS_ASKED && r->rank[rank].slot[i].cookie == c->cookie)
            s = &r->rank[rank].slot[i];
    if (s == NULL)
        guard_fail("rank %u: a program is opened that nobody asked for, or twice", rank);
    bool room = c->status == NOF_EAGAIN || c->status == NOF_ENOMEM;
    bool may = s->valid && !s->twice;
    if (may ? c->status != NOF_OK && !room : c->status != NOF_EINVAL && !room)
        guard_fail("rank %u: %s is opened with status %d", rank,
                   s->twice   ? "a name that is in use"
                   : s->valid ? "a program"
                              : "what is no program",
                   c->status);
    s->state = c->status == NOF_OK ? RUNS_OPEN : RUNS_FREE;
}

static void on_ask(struct runs *r, unsigned rank, const struct nof_comp *c)
{
    struct runs_rank *mine = &r->rank[rank];
    struct runs_slot *s = running(mine, c->cookie);
    if (s == NULL || c->handle >= s->nsteps)
        guard_fail("rank %u: a step of a program that does not run is the host's to do", rank);
    const struct nof_program_step *list = steps_of(r, rank, s);
    uint32_t step = (uint32_t)c->handle;
    if (list[step].opcode != NOF_STEP_HOST && list[step].opcode != NOF_STEP_RECV)
        guard_fail("rank %u: step %u, opcode %u, is the host's to do", rank, step, list[step].opcode);
    if (bit(s->asked, step))
        guard_fail("rank %u: step %u is the host's to do twice", rank, step);
    if (!may_have_begun(s, list, step))
        guard_fail("rank %u: step %u begins before those that it waits for are done", rank, step);
    set_bit(s->asked, step);
    s->unasked -= list[step].opcode == NOF_STEP_HOST;
    find_limit(r, rank, s);
    if (mine->ntodo == RUNS_TODO)
        return; /* its host forgets it, and cancels in the end */
    mine->todo[mine->ntodo].slot = (uint8_t)slot_index(r, rank, s);
    mine->todo[mine->ntodo].cookie = c->cookie;
    mine->todo[mine->ntodo++].step = step;
}

/* Nothing of it is written any more; where it went well or was declined, nothing is read either. */
static void no_longer(const struct runs *r, unsigned rank, const struct runs_slot *s, const char *how)
{
    const struct nof_program_step *list = steps_of(r, rank, s);
    if (world_rank(r->guard.w, rank)->dma_pending == 0)
        return;
    for (uint32_t i = 0; i < s->nsteps; i++) {
        const void *at;
        uint64_t to = s->base[list[i].base] + (uint64_t)list[i].offset;
        memcpy(&at, &to, sizeof at);
        bool writes = list[i].opcode == NOF_STEP_RECV || list[i].opcode == NOF_STEP_REDUCE ||
                      list[i].opcode == NOF_STEP_COPY;
        if (writes && list[i].len > 0 && !(list[i].flags & NOF_STEP_F_LAYOUT) &&
            world_dma_touches(r->guard.w, rank, 1, at, list[i].len))
            guard_fail("rank %u: step %u of a run that %s is still written", rank, i, how);
    }
}

static void check_whole(const struct runs *r, unsigned rank, const struct runs_slot *s)
{
    const struct nof_program_step *list = steps_of(r, rank, s);
    uint64_t least = 0, most = 0, read = 0;
    for (uint32_t i = 0; i < s->nsteps; i++) {
        bool recv = list[i].opcode == NOF_STEP_RECV && !bit(s->asked, i);
        bool works = list[i].opcode == NOF_STEP_REDUCE || list[i].opcode == NOF_STEP_COPY;
        if (is_hosts(s, list, i) && !bit(s->answered, i))
            guard_fail("rank %u: a run ends well before its host has done step %u", rank, i);
        most += recv || works ? list[i].len : 0;
        least += works || (recv && (list[i].flags & NOF_STEP_F_EXACT)) ? list[i].len : 0;
        /* Of a message no more than its receiver has room for need be read. */
        read += works ? list[i].len : 0;
        read += list[i].opcode == NOF_STEP_REDUCE ? list[i].len : 0;
    }
    if (!s->alone || !only_one(&r->rank[rank], s))
        return;
    no_longer(r, rank, s, "went well");
    if (s->written < least || s->written > most || s->read < read)
        guard_fail(
            "rank %u: a run that went well has written %llu bytes of %llu to %llu, and read %llu of %llu",
            rank, (unsigned long long)s->written, (unsigned long long)least, (unsigned long long)most,
            (unsigned long long)s->read, (unsigned long long)read);
}

static void on_end(struct runs *r, unsigned rank, const struct nof_comp *c)
{
    struct runs_rank *mine = &r->rank[rank];
    struct runs_slot *s = running(mine, c->cookie);
    if (s == NULL)
        guard_fail("rank %u: a run ends that does not run, or twice: status %d", rank, c->status);
    bool declined = (c->flags & NOF_COMP_F_DECLINED) != 0;
    const struct nof_program_step *list = steps_of(r, rank, s);
    if (declined && (c->status == NOF_OK || s->asked[0] != 0))
        guard_fail("rank %u: a run is declined after it has begun, status %d", rank, c->status);
    if (!declined && c->handle > s->nsteps)
        guard_fail("rank %u: step %llu of %u failed", rank, (unsigned long long)c->handle, s->nsteps);
    if (!declined && c->status == NOF_OK) {
        if (c->handle != s->nsteps || s->unasked != 0)
            guard_fail("rank %u: a run ends well with step %llu, and %u of the host's not asked for", rank,
                       (unsigned long long)c->handle, s->unasked);
        check_whole(r, rank, s);
    } else if (!declined) {
        bool message = c->handle < s->nsteps &&
                       (list[c->handle].opcode == NOF_STEP_SEND || list[c->handle].opcode == NOF_STEP_RECV);
        if (message && c->peer != list[c->handle].peer)
            guard_fail("rank %u: step %llu failed, of another peer: %d", rank, (unsigned long long)c->handle,
                       c->peer);
        if (only_one(mine, s))
            no_longer(r, rank, s, "failed");
    }
    s->state = RUNS_OPEN;
    if (!declined) {
        s->lingers = c->status != NOF_OK;
        memcpy(s->old, s->base, sizeof s->old);
    }
}

static void on_own(struct runs *r, unsigned rank, const struct nof_comp *c)
{
    for (unsigned i = 0; i < RUNS_OWN; i++) {
        struct runs_own *o = &r->rank[rank].own[i];
        if (!o->used || o->cookie != c->cookie)
            continue;
        o->used = 0;
        return;
    }
    guard_fail("rank %u: opcode %u ends cookie %llx, which is not under way", rank, c->opcode,
               (unsigned long long)c->cookie);
}

static void on_comp(void *ctx, unsigned rank, const struct nof_comp *c)
{
    struct runs *r = ctx;
    moment(r);
    if (rank >= RUNS_RANKS) {
        guard_watch.comp(ctx, rank, c);
        return;
    }
    if (world_rank(r->guard.w, rank)->closing)
        guard_fail("rank %u: completion %u after its end", rank, c->opcode);
    switch (c->opcode) {
    case NOF_COMP_SCHED_OPEN:
        on_open(r, rank, c);
        break;
    case NOF_COMP_SCHED:
        on_end(r, rank, c);
        break;
    case NOF_COMP_SCHED_HOST:
        on_ask(r, rank, c);
        break;
    case NOF_COMP_RECV:
        r->rank[rank].nomatches += c->status == NOF_ENOMATCH;
        on_own(r, rank, c);
        break;
    case NOF_COMP_SEND:
        on_own(r, rank, c);
        break;
    case NOF_COMP_SPILL:
        r->rank[rank].spills++;
        break;
    case NOF_COMP_FAILED:
        guard_fail("rank %u: its endpoint fails, status %d", rank, c->status);
    default:
        break;
    }
}

static int on_frame(void *ctx, unsigned nic, const uint8_t *bytes, uint32_t len)
{
    return guard_watch.frame(ctx, nic, bytes, len);
}

static void on_stale(void *ctx, uint8_t *at, size_t bytes)
{
    guard_watch.stale(ctx, at, bytes);
}

const struct world_watch runs_watch = {.frame = on_frame, .dma = on_dma, .comp = on_comp, .stale = on_stale};

void runs_layouts(struct runs *r)
{
    for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
        for (uint32_t i = 0; i < RUNS_LAYOUTS - 1; i++) {
            struct {
                struct nof_layout_head head;
                struct nof_layout_op op;
            } p = {.head = {.magic = NOF_LAYOUT_MAGIC,
                            .nops = 1,
                            .size = layouts[i].count * layouts[i].block,
                            .extent = (int64_t)layouts[i].count * layouts[i].stride},
                   .op = {.opcode = NOF_LAYOUT_BLOCK,
                          .count = layouts[i].count,
                          .block = layouts[i].block,
                          .stride = layouts[i].stride}};
            struct nof_desc d = {.opcode = NOF_DESC_LAYOUT,
                                 .cookie = i,
                                 .layout = i,
                                 .layout_generation = 1,
                                 .addr = LAYOUT_AT,
                                 .len = sizeof p};
            world_write_program(r->guard.w, rank, LAYOUT_AT, &p, sizeof p);
            world_post(r->guard.w, rank, &d);
        }
}

void runs_open(struct runs *r, unsigned rank, unsigned slot, uint64_t offset, uint64_t len, unsigned as)
{
    const struct world_rank *wr = world_rank(r->guard.w, rank);
    struct runs_slot *s = &r->rank[rank].slot[slot], *other = &r->rank[rank].slot[as % RUNS_SLOTS];
    bool within = offset <= RUNS_AREA && len <= RUNS_AREA - offset;
    bool twice = other != s && other->state >= RUNS_OPEN && !other->freed;
    *s = (struct runs_slot){.state = RUNS_ASKED,
                            .twice = twice,
                            .name = twice ? other->name : r->names++,
                            .generation = 1 + r->names % 3,
                            .cookie = ++r->cookies};
    if (within && program_check(wr->program_area + offset, len, RUNS_JOB) == NULL) {
        s->valid = 1;
        s->nsteps = (uint32_t)((len - sizeof(struct nof_program_head)) / sizeof(struct nof_program_step));
        memcpy(steps[rank][slot], wr->program_area + offset + sizeof(struct nof_program_head),
               s->nsteps * sizeof(struct nof_program_step));
    }
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_OPEN,
                         .cookie = s->cookie,
                         .len = len,
                         .sched = {.name = s->name, .generation = s->generation, .base = {offset}}};
    world_post(r->guard.w, rank, &d);
}

/* Endpoints that close go in pieces, with what runs on them. */
static bool any_closes(const struct nof_nic *nic)
{
    for (uint32_t e = 0; e < nic->cfg.max_endpoints; e++)
        if (nic->eps[e].state == NOF_EP_CLOSING)
            return true;
    return false;
}

void runs_look(const struct runs *r)
{
    for (unsigned i = 0; i < r->guard.nics; i++) {
        struct nof_coll_info info[RUNS_RANKS * RUNS_SLOTS + 1];
        const struct nof_nic *nic = world_nic(r->guard.w, i);
        unsigned most = 0;
        for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
            for (unsigned k = 0; k < RUNS_SLOTS; k++)
                most += world_rank(r->guard.w, rank)->nic == i && r->rank[rank].slot[k].state == RUNS_RUNS;
        unsigned n = nof_nic_colls(nic, world_now(r->guard.w), 0, info, sizeof info / sizeof info[0]);
        if (n > most && !any_closes(nic))
            guard_fail("NIC %u tells of %u runs, and %u were started", i, n, most);
    }
}

bool runs_may_write(const struct runs *r, unsigned rank)
{
    for (unsigned i = 0; i < RUNS_SLOTS; i++)
        if (r->rank[rank].slot[i].state == RUNS_ASKED)
            return false;
    return true;
}

void runs_start(struct runs *r, unsigned rank, unsigned slot, const struct nof_desc *say)
{
    struct runs_slot *s = &r->rank[rank].slot[slot];
    const struct nof_program_step *list = steps[rank][slot];
    struct nof_desc d = *say;
    if (s->state != RUNS_OPEN)
        return;
    s->state = RUNS_RUNS;
    s->cookie = d.cookie = ++r->cookies;
    s->read = s->written = 0;
    s->cancelled = 0;
    memset(s->asked, 0, sizeof s->asked);
    memset(s->answered, 0, sizeof s->answered);
    memcpy(s->base, d.sched.base, sizeof s->base);
    s->unasked = 0;
    for (uint32_t i = 0; i < s->nsteps; i++)
        s->unasked += list[i].opcode == NOF_STEP_HOST;
    find_limit(r, rank, s);
    s->alone = only_one(&r->rank[rank], s);
    not_alone(&r->rank[rank], s);
    d.opcode = NOF_DESC_SCHED_START;
    d.sched.name = s->name;
    d.sched.generation = s->generation;
    world_post(r->guard.w, rank, &d);
}

void runs_cancel(struct runs *r, unsigned rank, unsigned slot, int status, unsigned whose)
{
    struct runs_slot *s = &r->rank[rank].slot[slot];
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_CANCEL,
        .sched = {.name = s->name, .generation = s->generation, .base = {(uint64_t)(int64_t)status, whose}}};
    if (s->state != RUNS_RUNS || s->cancelled)
        return;
    s->cancelled = 1;
    world_post(r->guard.w, rank, &d);
}

void runs_free(struct runs *r, unsigned rank, unsigned slot)
{
    struct runs_slot *s = &r->rank[rank].slot[slot];
    struct nof_desc d = {.opcode = NOF_DESC_SCHED_FREE,
                         .sched = {.name = s->name, .generation = s->generation}};
    if (s->state != RUNS_OPEN || s->freed)
        return;
    world_post(r->guard.w, rank, &d);
    if (s->lingers)
        s->freed = 1; /* nobody says when its sends have ended: its slot stays */
    else
        s->state = RUNS_FREE;
}

void runs_continue(struct runs *r, unsigned rank, unsigned n, int status)
{
    struct runs_rank *mine = &r->rank[rank];
    if (mine->ntodo == 0)
        return;
    n %= mine->ntodo;
    struct runs_slot *s = &mine->slot[mine->todo[n].slot];
    uint32_t step = mine->todo[n].step;
    bool stands = s->state == RUNS_RUNS && s->cookie == mine->todo[n].cookie;
    memmove(&mine->todo[n], &mine->todo[n + 1], (mine->ntodo - n - 1) * sizeof mine->todo[0]);
    mine->ntodo--;
    if (!stands)
        return;
    struct nof_desc d = {
        .opcode = NOF_DESC_SCHED_CONTINUE,
        .sched = {.name = s->name, .generation = s->generation, .base = {step, (uint64_t)(int64_t)status}}};
    set_bit(s->answered, step);
    find_limit(r, rank, s);
    world_post(r->guard.w, rank, &d);
}

void runs_own(struct runs *r, unsigned rank, bool recv, const struct nof_desc *say)
{
    struct runs_rank *mine = &r->rank[rank];
    struct nof_desc d = *say;
    unsigned i = 0;
    while (i < RUNS_OWN && mine->own[i].used)
        i++;
    if (i == RUNS_OWN)
        return;
    mine->own[i] =
        (struct runs_own){.used = 1, .recv = recv, .cookie = ++r->cookies, .at = d.addr, .len = d.len};
    not_alone(mine, NULL);
    d.opcode = recv ? NOF_DESC_RECV : NOF_DESC_SEND;
    d.cookie = mine->own[i].cookie | (recv ? 0 : 1ull << 63); /* its host keeps none */
    mine->own[i].cookie = d.cookie;
    world_post(r->guard.w, rank, &d);
}

void runs_reap(struct runs *r, unsigned rank)
{
    const struct nof_comp *c;
    while ((c = world_take(r->guard.w, rank)) != NULL) {
        struct nof_desc d = {.opcode = NOF_DESC_RELEASE,
                             .release = {.count = 1, .offset = {c->staged_offset}}};
        if (c->flags & NOF_COMP_F_STAGED)
            world_post(r->guard.w, rank, &d);
    }
}

void runs_closed(struct runs *r, unsigned rank)
{
    r->rank[rank] = (struct runs_rank){.blind = 0};
}

static bool any_runs(const struct runs *r)
{
    for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
        for (unsigned i = 0; i < RUNS_SLOTS; i++)
            if (r->rank[rank].slot[i].state == RUNS_RUNS || r->rank[rank].slot[i].state == RUNS_ASKED)
                return true;
    return false;
}

static bool is_there(const struct runs *r, unsigned rank)
{
    return world_rank(r->guard.w, rank)->open && !world_rank(r->guard.w, rank)->closing;
}

/* Its NIC has still to take a descriptor. */
static bool any_waits(const struct runs *r)
{
    for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
        if (is_there(r, rank) && world_rank(r->guard.w, rank)->nbacklog > 0)
            return true;
    return false;
}

static void wind_up(struct runs *r, bool frees)
{
    for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
        for (unsigned i = 0; i < RUNS_SLOTS && is_there(r, rank); i++) {
            runs_cancel(r, rank, i, NOF_OK, 0);
            if (frees)
                runs_free(r, rank, i);
        }
}

/* False: not in 40 s. */
static bool settle(struct runs *r, bool frees)
{
    for (unsigned k = 0; k < 400; k++) {
        wind_up(r, frees);
        for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
            if (is_there(r, rank))
                runs_reap(r, rank);
        world_dma_give_up(r->guard.w);
        guard_run(&r->guard, k < 40 ? MS / 10 : 100 * MS);
        if (!any_runs(r) && !any_waits(r))
            return true;
    }
    return false;
}

static unsigned lingering(const struct runs *r, unsigned nic)
{
    unsigned n = 0;
    for (unsigned rank = 0; rank < RUNS_RANKS; rank++)
        for (unsigned i = 0; i < RUNS_SLOTS; i++)
            n += world_rank(r->guard.w, rank)->nic == nic && r->rank[rank].slot[i].lingers;
    return n;
}

void runs_end(struct runs *r)
{
    struct world *w = r->guard.w;
    runs_look(r);
    r->guard.dma[0] = r->guard.dma[1] = 0; /* a host that is always busy holds its own runs up */
    if (!settle(r, false))
        guard_fail("a run never ends, though it was cancelled");
    if (!settle(r, true))
        guard_fail("a descriptor is never taken");
    for (unsigned i = 0; i < r->guard.nics; i++) {
        const struct nof_nic *nic = world_nic(w, i);
        unsigned most = lingering(r, i);
        if (nic->colls.pool.used > most || (most == 0 && nic->colls.chunks.used > 0))
            guard_fail("NIC %u: %u programs and %u chunks are left, where %u may be", i, nic->colls.pool.used,
                       nic->colls.chunks.used, most);
        if (nic->promised_sends != 0 || nic->promised_recvs != 0 || nic->combines.used != 0)
            guard_fail("NIC %u: %u sends and %u receives are promised, %u pieces are under way, and no run",
                       i, nic->promised_sends, nic->promised_recvs, nic->combines.used);
    }
}
