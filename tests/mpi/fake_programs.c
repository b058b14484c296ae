/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of the stand-in driver: word by word what nof/program.h says. Now and then it takes none, or declines. */
#include "fake_pmd.h"

#include <string.h>

#include "nof/program.h"
#include "nof_private/reduce_kernels.h"

enum { BEGUN = 1, ASKED = 2, DONE = 3 };

struct program {
    uint32_t name, generation, nsteps, id;
    struct nof_program_step *step;
    struct nof_desc start; /* while it runs */
    uint8_t state[NOF_PROGRAM_STEPS_MAX];
    int running, status;
    struct program *next;
};

int fake_runs_collectives;
static struct program *programs;
static uint32_t last_id;

static struct program *find(const struct nof_desc *d)
{
    struct program *p = programs;
    while (p != NULL && (p->name != d->sched.name || p->generation != d->sched.generation))
        p = p->next;
    return p;
}

static int open_program(const struct nof_desc *d, const void *area, size_t area_bytes)
{
    uint64_t at = d->sched.base[0];
    struct nof_program_head head;
    REQUIRE(at <= area_bytes && d->len <= area_bytes - at && d->len >= sizeof(head) && find(d) == NULL);
    memcpy(&head, (const char *)area + at, sizeof(head));
    REQUIRE(head.magic == NOF_PROGRAM_MAGIC && head.reserved == 0 && head.nsteps > 0 &&
            head.nsteps <= NOF_PROGRAM_STEPS_MAX &&
            d->len == sizeof(head) + head.nsteps * sizeof(struct nof_program_step));
    if (fake_draw(8) == 0)
        return NOF_ENOMEM;
    struct program *p = calloc(1, sizeof(*p));
    REQUIRE(p != NULL);
    p->step = malloc(d->len - sizeof(head));
    REQUIRE(p->step != NULL);
    memcpy(p->step, (const char *)area + at + sizeof(head), d->len - sizeof(head));
    p->name = d->sched.name;
    p->generation = d->sched.generation;
    p->nsteps = head.nsteps;
    p->next = programs;
    programs = p;
    uint32_t round = 0;
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const struct nof_program_step *s = &p->step[i];
        REQUIRE(s->opcode >= NOF_STEP_SEND && s->opcode <= NOF_STEP_COPY && s->base < NOF_PROGRAM_BASES &&
                s->from_base < NOF_PROGRAM_BASES);
        for (int k = 0; k < 2; k++)
            REQUIRE(s->after[k] == NOF_STEP_NONE || (s->after[k] < i && s->after[k] >= round));
        REQUIRE((s->flags & NOF_STEP_F_IN_TURN) == 0 ||
                (s->opcode == NOF_STEP_SEND && s->after[0] != NOF_STEP_NONE &&
                 p->step[s->after[0]].opcode == NOF_STEP_SEND));
        if (s->opcode == NOF_STEP_FENCE)
            round = i + 1;
    }
    return NOF_OK;
}

static void free_program(const struct nof_desc *d)
{
    struct program *p = find(d), **at = &programs;
    REQUIRE(p != NULL && !p->running);
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free(p->step);
    free(p);
}

static void end(struct program *p, int status)
{
    p->running = 0;
    if (status != NOF_OK && status != NOF_ETRUNC)
        fake_may_read_on();
    fake_complete(NOF_COMP_SCHED, &p->start, status);
}

static void start(const struct nof_desc *d)
{
    struct program *p = find(d);
    int status = p == NULL ? NOF_ENOENT : fake_draw(8) == 0 ? NOF_EAGAIN : NOF_OK;
    if (status != NOF_OK) {
        fake_complete(NOF_COMP_SCHED, d, status)->flags = NOF_COMP_F_DECLINED;
        return;
    }
    REQUIRE(!p->running);
    p->start = *d;
    p->running = 1;
    p->status = NOF_OK;
    p->id = ++last_id;
    memset(p->state, 0, sizeof(p->state));
}

static uint64_t cookie_of(const struct program *p, uint32_t step)
{
    return FAKE_PROGRAM_COOKIE | (uint64_t)p->id << 16 | step;
}

static void done(struct program *p, uint32_t step, int status)
{
    REQUIRE((p->state[step] == BEGUN || p->state[step] == ASKED) &&
            (status == NOF_OK || status == NOF_ETRUNC));
    p->state[step] = DONE;
    if (status == NOF_ETRUNC)
        p->status = NOF_ETRUNC;
}

static void proceed(const struct nof_desc *d)
{
    struct program *p = find(d);
    uint64_t step = d->sched.base[0];
    if (p == NULL || !p->running)
        return; /* it was cancelled meanwhile */
    REQUIRE(step < p->nsteps);
    done(p, (uint32_t)step, (int)(int64_t)d->sched.base[1]);
}

static void cancel(const struct nof_desc *d)
{
    struct program *p = find(d);
    if (p == NULL || !p->running)
        return;
    for (uint32_t i = 0; i < p->nsteps; i++)
        if (p->state[i] == BEGUN && p->step[i].opcode == NOF_STEP_RECV)
            fake_unpost(cookie_of(p, i));
    end(p, NOF_ECANCELED);
}

int fake_program_desc(const struct nof_desc *d, const void *area, size_t area_bytes)
{
    switch (d->opcode) {
    case NOF_DESC_SCHED_OPEN:
        fake_complete(NOF_COMP_SCHED_OPEN, d, open_program(d, area, area_bytes));
        return 1;
    case NOF_DESC_SCHED_FREE:
        free_program(d);
        return 1;
    case NOF_DESC_SCHED_START:
        start(d);
        return 1;
    case NOF_DESC_SCHED_CONTINUE:
        proceed(d);
        return 1;
    case NOF_DESC_SCHED_CANCEL:
        cancel(d);
        return 1;
    default:
        return 0;
    }
}

static void ask_host(const struct program *p, uint32_t step)
{
    fake_complete(NOF_COMP_SCHED_HOST, &p->start, NOF_OK)->handle = step;
}

void fake_program_ended(uint64_t cookie, int status, uint64_t len)
{
    uint32_t id = (uint32_t)((cookie & ~FAKE_PROGRAM_COOKIE) >> 16), step = (uint32_t)cookie & 0xffff;
    struct program *p = programs;
    while (p != NULL && (!p->running || p->id != id))
        p = p->next;
    if (p == NULL)
        return; /* it was cancelled: its sends go on */
    if (status == NOF_ENOMATCH) {
        p->state[step] = ASKED;
        ask_host(p, step);
        return;
    }
    const struct nof_program_step *s = &p->step[step];
    bool other = s->opcode == NOF_STEP_RECV && (s->flags & NOF_STEP_F_EXACT) != 0 && len != s->len;
    done(p, step, other ? NOF_ETRUNC : status);
}

int fake_program_asks(void)
{
    for (const struct program *p = programs; p != NULL; p = p->next)
        for (uint32_t i = 0; p->running && i < p->nsteps; i++)
            if (p->state[i] == ASKED)
                return 1;
    return 0;
}

static void work(const struct program *p, const struct nof_program_step *s)
{
    void *to = fake_memory_at((uint64_t)s->offset + p->start.sched.base[s->base]);
    const void *from = fake_memory_at((uint64_t)s->from + p->start.sched.base[s->from_base]);
    if (s->opcode == NOF_STEP_COPY) {
        REQUIRE(s->op == 0 && s->elem == 0);
        memcpy(to, from, s->len);
        return;
    }
    REQUIRE(nof_reduce_defined(s->op, s->elem) && s->len % nof_reduce_bytes(s->elem) == 0);
    nof_reduce_kernel_of(s->op, s->elem)(from, to, s->len / nof_reduce_bytes(s->elem));
}

static void begin(struct program *p, uint32_t i)
{
    const struct nof_program_step *s = &p->step[i];
    bool nothing = s->opcode == NOF_STEP_SEND && (s->flags & NOF_STEP_F_EXACT) != 0 && p->status != NOF_OK;
    struct nof_desc d = {.opcode = s->opcode == NOF_STEP_SEND ? NOF_DESC_SEND : NOF_DESC_RECV,
                         .elem = s->elem,
                         .ctx = p->start.ctx,
                         .cookie = cookie_of(p, i),
                         .peer = s->peer,
                         .tag = p->start.tag,
                         .len = nothing ? 0 : s->len};
    d.addr = (uint64_t)s->offset + p->start.sched.base[s->base];
    p->state[i] = BEGUN;
    if (s->opcode == NOF_STEP_REDUCE || s->opcode == NOF_STEP_COPY) {
        work(p, s);
        done(p, i, NOF_OK);
    } else if (s->opcode == NOF_STEP_HOST)
        ask_host(p, i);
    else if (s->opcode == NOF_STEP_SEND)
        fake_send(&d);
    else
        fake_recv(&d);
}

static bool may_begin(const struct program *p, uint32_t i)
{
    const struct nof_program_step *s = &p->step[i];
    bool turn = (s->flags & NOF_STEP_F_IN_TURN) != 0 && p->state[s->after[0]] == BEGUN && fake_draw(2) == 0;
    return (s->after[0] == NOF_STEP_NONE || p->state[s->after[0]] == DONE || turn) &&
           (s->after[1] == NOF_STEP_NONE || p->state[s->after[1]] == DONE);
}

static void turn(struct program *p)
{
    uint32_t open = 0; /* steps of this round that are not done */
    for (uint32_t i = 0; i < p->nsteps; i++) {
        if (p->step[i].opcode == NOF_STEP_FENCE && open > 0)
            return;
        if (p->step[i].opcode == NOF_STEP_FENCE)
            p->state[i] = DONE;
        else if (p->state[i] == 0 && may_begin(p, i))
            begin(p, i);
        open += p->state[i] != DONE;
    }
    if (open == 0)
        end(p, p->status);
}

void fake_program_turn(void)
{
    for (struct program *p = programs; p != NULL; p = p->next)
        if (p->running)
            turn(p);
}

void fake_program_close(void)
{
    REQUIRE(programs == NULL);
}
