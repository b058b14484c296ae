/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/drive.h"

#include "coll/abort.h"
#include "coll/combine.h"
#include "coll/in_turn.h"
#include "coll/patience.h"
#include "flow/chores.h"
#include "match/match.h"
#include "msg/answer.h"
#include "msg/recv.h"
#include "msg/send.h"
#include "msg/stored.h"
#include "msg/unexpected.h"
#include "payload/reserve.h"

#define STEP_COST 8u /* steps of a turn for a message, beside the engine's own */
#define AT_HOST NOF_NIL /* object of a step that the host does */

/* A send whose cookie has its top bit set is never parked (desc.h): there is no host to resubmit it. */
static uint64_t cookie_of(uint32_t program, uint32_t step)
{
    return (uint64_t)1 << 63 | (uint64_t)program << 16 | step;
}

static struct nof_drive *drive_of(const struct nof_nic *nic, const struct nof_coll_program *p)
{
    return &nic->drives[nof_coll_index(&nic->colls, p)];
}

/* Objects for the most messages of a round, but for those that are under way, are nobody else's. They are none of those
 * that the endpoint can count on anyway: its host may have to receive before they are free again. */
static void promise(struct nof_nic *nic, int32_t sends, int32_t recvs)
{
    nic->promised_sends += (uint32_t)sends;
    nic->promised_recvs += (uint32_t)recvs;
}

static void wake(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_program *p)
{
    struct nof_drive *d = drive_of(nic, p);
    if (ep->state != NOF_EP_OPEN)
        return;
    if (!d->queued) {
        d->queued = true;
        nof_queue_push(&nic->colls.pool, &ep->drives, nof_coll_index(&nic->colls, p));
    }
    nof_chore(nic, ep);
}

/* The first failure is told; one that ends the schedule rather than one that does not. */
static void note(struct nof_drive *d, int status, uint32_t step, uint64_t len)
{
    if (d->status != NOF_OK && (d->status != NOF_ETRUNC || status == NOF_ETRUNC))
        return;
    d->status = status;
    d->step = step;
    d->len = len;
}

/* whose: job rank; flood: of nof_abort_flood(), or 0 */
static void fail(struct nof_drive *d, int status, uint32_t step, uint32_t whose, uint32_t flood)
{
    note(d, status, step, 0);
    if (d->state != NOF_DRIVE_RUNNING)
        return;
    d->state = NOF_DRIVE_FAILING;
    d->look = 0;
    d->whose = whose;
    d->flood = flood;
}

/* Whose failure it is that a message with this rank failed. */
static uint32_t whose_failure(const struct nof_nic *nic, const struct nof_coll_program *p,
                              const struct nof_coll_step *s, int status)
{
    bool gone = status == NOF_EPEERDEAD || status == NOF_ELINKDOWN;
    return gone && nof_coll_step_has_peer(s) ? (uint32_t)s->peer : nic->eps[p->ep].rank;
}

/* A step is done, whoever did it. */
static void done(struct nof_nic *nic, struct nof_coll_program *p, uint32_t step, int status, uint64_t len)
{
    struct nof_drive *d = drive_of(nic, p);
    const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    bool expected = s->opcode != NOF_STEP_RECV || !(s->flags & NOF_STEP_F_EXACT) || len == s->len;
    nof_coll_ended(&nic->colls, p, step);
    d->moved_ns = nic->now_ns;
    if (status == NOF_ETRUNC || (status == NOF_OK && !expected)) {
        d->other_length = true;
        note(d, NOF_ETRUNC, step, len);
    } else if (status != NOF_OK) {
        fail(d, status, step, whose_failure(nic, p, s, status), nof_abort_flood(nic));
    }
}

uint64_t nof_drive_moved_bytes(const struct nof_nic *nic, const struct nof_coll_program *p)
{
    uint64_t bytes = 0;
    /* bound: steps of a round, NOF_PROGRAM_STEPS_MAX, 1024; paid by who set coll_patience_ms */
    for (uint32_t i = p->round_begin; i < p->round_end; i++) {
        const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, i);
        uint64_t cookie = cookie_of(nof_coll_index(&nic->colls, p), i);
        if (s->state != NOF_COLL_BEGUN || s->opcode != NOF_STEP_RECV || s->object == AT_HOST)
            continue;
        const struct nof_recv *r = nof_recv_at(nic, s->object);
        if (r->opcode == NOF_RECV_STEP && r->cookie == cookie && r->state != NOF_RECV_POSTED)
            bytes += r->received;
    }
    return bytes;
}

void nof_drive_give_up(struct nof_nic *nic, struct nof_coll_program *p)
{
    struct nof_endpoint *ep = &nic->eps[p->ep];
    uint32_t step = p->nsteps, whose = ep->rank;
    bool awaits = false; /* or that peer is to receive, and has perhaps not got as far */
    /* bound: steps of a round, NOF_PROGRAM_STEPS_MAX, 1024; paid by the run that ends */
    for (uint32_t i = p->round_begin; i < p->round_end && !awaits; i++) {
        const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, i);
        if (s->state != NOF_COLL_BEGUN || !nof_coll_step_has_peer(s))
            continue;
        awaits = nof_coll_step_awaits(s);
        if (awaits || step == p->nsteps) {
            step = i;
            whose = (uint32_t)s->peer;
        }
    }
    fail(drive_of(nic, p), NOF_ETIMEDOUT, step, whose, nof_abort_flood(nic));
    wake(nic, ep, p);
}

int nof_drive_open(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint64_t at = desc->sched.base[0];
    if (!nof_chore_pay(nic, ep, (uint32_t)(desc->len / sizeof(struct nof_program_step))))
        return NOF_EAGAIN;
    if (at > ep->program_area_bytes || desc->len > ep->program_area_bytes - at)
        return NOF_EINVAL;
    int rc = nof_coll_open(&nic->colls, ep->index, ep->size, desc->sched.name, desc->sched.generation,
                           ep->program_area + at, (size_t)desc->len);
    if (rc == NOF_OK)
        *drive_of(nic, nof_coll_find(&nic->colls, ep->index, desc->sched.name, desc->sched.generation)) =
            (struct nof_drive){.state = NOF_DRIVE_IDLE};
    return rc;
}

static struct nof_coll_program *find(const struct nof_nic *nic, const struct nof_endpoint *ep,
                                     const struct nof_desc *desc)
{
    struct nof_coll_program *p =
        nof_coll_find(&nic->colls, ep->index, desc->sched.name, desc->sched.generation);
    return p != NULL && drive_of(nic, p)->closed ? NULL : p;
}

/* NOF_OK: it may run; else the answer to its START. */
static int may_start(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_program *p)
{
    if (p == NULL)
        return NOF_ENOENT;
    uint32_t recvs = p->recvs + p->hosts + 1; /* and itself */
    if (drive_of(nic, p)->state != NOF_DRIVE_IDLE || ep->spilling ||
        nof_send_spare(nic) < p->sends + ep->admitted || nof_recv_spare(nic) < recvs + ep->admitted ||
        nic->recvs.used + nic->promised_recvs + recvs > nic->posted_limit)
        return NOF_EAGAIN;
    uint32_t cost = nof_coll_begin_cost(p);
    if (cost > 0 && !nof_chore_pay(nic, ep, cost))
        return NOF_EAGAIN;
    return NOF_OK;
}

static void decline(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status)
{
    struct nof_comp comp = {.opcode = NOF_COMP_SCHED,
                            .flags = NOF_COMP_F_DECLINED,
                            .status = (int16_t)status,
                            .ctx = desc->ctx,
                            .cookie = desc->cookie,
                            .peer = -1,
                            .tag = desc->tag};
    nof_count(nic, ep, NOF_C_COLL_DECLINED, 1);
    nof_answer(nic, ep, &comp);
}

static void disagree(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_program *p)
{
    nof_count(nic, ep, NOF_C_COLL_DISAGREED, 1);
    fail(drive_of(nic, p), NOF_EDISAGREE, p->nsteps, ep->rank, nof_abort_flood(nic));
}

/* Of what has come before this rank: the first message, whoever sent it. */
static bool heard_another(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_drive *d)
{
    struct nof_match_key any = {
        .ep = ep->index, .ctx = d->run.ctx, .source = NOF_ANY_SOURCE, .tag = d->run.tag};
    const struct nof_env *e = d->agreed != 0 ? nof_match_find(nic, &any) : NULL;
    return e != NULL && e->agreed != 0 && e->agreed != d->agreed;
}

void nof_drive_arrived(struct nof_nic *nic, const struct nof_env *e)
{
    struct nof_endpoint *ep = &nic->eps[e->key.ep];
    uint32_t i = nof_abort_find_tag(nic, e->key.ep, e->key.ctx, e->key.tag);
    if (i == NOF_NIL || nic->drives[i].state != NOF_DRIVE_RUNNING || nic->drives[i].agreed == 0 ||
        nic->drives[i].agreed == e->agreed)
        return;
    disagree(nic, ep, nof_coll_at(&nic->colls, i));
    wake(nic, ep, nof_coll_at(&nic->colls, i));
}

void nof_drive_start(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_coll_program *p = find(nic, ep, desc);
    int rc = may_start(nic, ep, p);
    struct nof_recv *r = rc == NOF_OK ? nof_recv_take(nic, ep, NOF_COMP_SCHED) : NULL;
    if (r == NULL) {
        decline(nic, ep, desc, rc == NOF_OK ? NOF_EAGAIN : rc);
        return;
    }
    nof_recv_scheduled(r);
    ep->driven_recvs++;
    struct nof_drive *d = drive_of(nic, p);
    struct nof_coll_run run = {.ctx = desc->ctx, .tag = desc->tag, .number = (uint32_t)desc->len};
    *d = (struct nof_drive){.state = NOF_DRIVE_RUNNING,
                            .queued = d->queued,
                            .recv = nof_recv_index(nic, r),
                            .status = NOF_OK,
                            .turn = p->nsteps,
                            .works = {.head = NOF_STEP_NONE},
                            .run = run,
                            .agreed = desc->agreed,
                            .moved_ns = nic->now_ns,
                            .cookie = desc->cookie};
    memcpy(d->base, desc->sched.base, sizeof d->base);
    promise(nic, (int32_t)p->sends, (int32_t)(p->recvs + p->hosts));
    nof_coll_begin(&nic->colls, p);
    nof_count(nic, ep, NOF_C_COLL_STARTED, 1);
    nof_abort_enter(nic, nof_coll_index(&nic->colls, p), ep->index);
    const struct nof_coll_abort *heard = nof_abort_heard(nic, ep, &run);
    if (heard != NULL)
        fail(d, heard->status, p->nsteps, heard->rank, nof_abort_flood(nic));
    else if (heard_another(nic, ep, d))
        disagree(nic, ep, p);
    wake(nic, ep, p);
}

/* The host has freed it: it goes when nothing leads to it any more. Its endpoint, if that closes, frees all at its end. */
static void close_if_free(struct nof_nic *nic, struct nof_coll_program *p)
{
    struct nof_drive *d = drive_of(nic, p);
    if (!d->closed || d->queued || d->state != NOF_DRIVE_IDLE || nic->eps[p->ep].state == NOF_EP_CLOSING)
        return;
    d->closed = false;
    nof_coll_close(&nic->colls, p);
}

bool nof_drive_free(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_coll_program *p = find(nic, ep, desc);
    if (p == NULL)
        return false;
    struct nof_drive *d = drive_of(nic, p);
    if (d->state == NOF_DRIVE_RUNNING || d->state == NOF_DRIVE_FAILING)
        return false;
    d->closed = true;
    close_if_free(nic, p);
    return true;
}

bool nof_drive_continue(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_coll_program *p = find(nic, ep, desc);
    uint64_t step = desc->sched.base[0];
    int64_t status = (int64_t)desc->sched.base[1];
    if (status > NOF_OK || status < INT16_MIN)
        return false;
    if (p == NULL || drive_of(nic, p)->state != NOF_DRIVE_RUNNING || step >= p->nsteps)
        return true;
    const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, (uint32_t)step);
    if (s->state != NOF_COLL_BEGUN || s->object != AT_HOST)
        return false;
    if (s->opcode == NOF_STEP_RECV)
        drive_of(nic, p)->handed--;
    done(nic, p, (uint32_t)step, (int)status, s->len);
    wake(nic, ep, p);
    return true;
}

bool nof_drive_cancel(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_coll_program *p = find(nic, ep, desc);
    int64_t status = (int64_t)desc->sched.base[0];
    uint64_t whose = desc->sched.base[1];
    if (status > NOF_OK || status < INT16_MIN || whose >= ep->size)
        return false;
    if (p == NULL || drive_of(nic, p)->state != NOF_DRIVE_RUNNING)
        return true;
    struct nof_drive *d = drive_of(nic, p);
    if (status == NOF_OK)
        fail(d, NOF_ECANCELED, p->nsteps, ep->rank, 0);
    else
        fail(d, (int)status, p->nsteps, (uint32_t)whose, nof_abort_flood(nic));
    wake(nic, ep, p);
    return true;
}

/* `question` is of the rank that asks. */
static void asked(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_abort *question)
{
    uint32_t i = nof_abort_find(nic, ep->index, &question->run);
    if (i == NOF_NIL) {
        nof_abort_ask(nic, ep, question);
        return;
    }
    const struct nof_drive *d = &nic->drives[i];
    bool other = d->agreed != 0 && question->agreed != 0 && d->agreed != question->agreed;
    if (d->state == NOF_DRIVE_RUNNING && other) {
        disagree(nic, ep, nof_coll_at(&nic->colls, i));
        wake(nic, ep, nof_coll_at(&nic->colls, i));
    }
}

int nof_drive_abort_rx(struct nof_nic *nic, const struct nof_peer *peer, const struct nof_wire_view *view)
{
    struct nof_endpoint *ep = &nic->eps[peer->ep];
    struct nof_coll_abort abort;
    int rc = nof_abort_parse(view, ep->size, &abort);
    if (rc != NOF_OK || ep->state != NOF_EP_OPEN)
        return rc;
    if (abort.status == NOF_EAGAIN && abort.rank != peer->rank)
        return NOF_EPROTO;
    if (abort.status == NOF_EAGAIN) {
        asked(nic, ep, &abort);
        return NOF_OK;
    }
    nof_count(nic, ep, NOF_C_COLL_ABORTS, 1);
    uint32_t i = nof_abort_find(nic, ep->index, &abort.run);
    if (i == NOF_NIL) {
        nof_abort_keep(nic, ep, &abort);
    } else if (nic->drives[i].state == NOF_DRIVE_RUNNING) {
        struct nof_coll_program *p = nof_coll_at(&nic->colls, i);
        fail(&nic->drives[i], abort.status, p->nsteps, abort.rank, nof_abort_flood(nic));
        wake(nic, ep, p);
    }
    return NOF_OK;
}

static void message_ended(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p,
                          uint32_t step, int status, uint64_t len)
{
    struct nof_drive *d = drive_of(nic, p);
    bool sends = nof_coll_step_at(&nic->colls, p, step)->opcode == NOF_STEP_SEND;
    if (sends) {
        d->sends--;
        ep->driven_sends--;
    } else {
        d->recvs--;
        ep->driven_recvs--;
    }
    if (d->state == NOF_DRIVE_TOLD) {
        if (d->sends == 0)
            d->state = NOF_DRIVE_IDLE;
        close_if_free(nic, p);
        return;
    }
    if (sends)
        (void)nof_in_turn_left(nic, p, step, 0);
    promise(nic, sends, !sends);
    done(nic, p, step, status, len);
    wake(nic, ep, p);
}

void nof_drive_news(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t cookie, enum nof_step_news news,
                    int status, uint64_t len)
{
    struct nof_coll_program *p = nof_coll_at(&nic->colls, (uint32_t)(cookie >> 16) & 0xffffffu);
    if (news == NOF_STEP_NEWS_ENDED)
        message_ended(nic, ep, p, nof_drive_step(cookie), status, len);
    else if (nof_in_turn_left(nic, p, nof_drive_step(cookie), len))
        wake(nic, ep, p);
}

static void hand_over(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p, uint32_t step)
{
    struct nof_comp comp = {
        .opcode = NOF_COMP_SCHED_HOST, .cookie = drive_of(nic, p)->cookie, .handle = step};
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    s->object = AT_HOST;
    nof_count(nic, ep, NOF_C_COLL_HOST_STEPS, 1);
    if (nof_answer(nic, ep, &comp) != NOF_OK) { /* its object is among the promised ones */
        done(nic, p, step, NOF_ENOMEM, 0);
        wake(nic, ep, p);
    } else if (s->opcode == NOF_STEP_RECV) {
        drive_of(nic, p)->handed++;
    }
}

/* *layout_out: NOF_NIL for a plain buffer. False: the layout is gone. */
static bool layout_of(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_coll_step *s,
                      uint32_t *layout_out)
{
    *layout_out = NOF_NIL;
    if (!(s->flags & NOF_STEP_F_LAYOUT))
        return true;
    *layout_out = nof_layout_find(&nic->layouts, ep->index, s->layout, s->layout_generation);
    return *layout_out != NOF_NIL;
}

/* The step ends before it was anything. */
static void refuse(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p, uint32_t step,
                   int status)
{
    done(nic, p, step, status, 0);
    wake(nic, ep, p);
}

static void begin_send(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p,
                       uint32_t step)
{
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_drive *d = drive_of(nic, p);
    uint32_t layout, flags = NOF_SEND_F_STEP | (s->flags & NOF_STEP_F_ANNOUNCED ? NOF_DESC_F_ANNOUNCED : 0);
    if (!layout_of(nic, ep, s, &layout)) {
        refuse(nic, ep, p, step, NOF_ENOENT);
        return;
    }
    struct nof_desc desc = {.opcode = NOF_DESC_SEND,
                            .flags = (uint8_t)(flags | (layout != NOF_NIL ? NOF_DESC_F_LAYOUT : 0u)),
                            .elem = s->elem,
                            .agreed = d->agreed,
                            .ctx = d->run.ctx,
                            .cookie = cookie_of(nof_coll_index(&nic->colls, p), step),
                            .peer = s->peer,
                            .tag = d->run.tag,
                            .len = d->other_length && (s->flags & NOF_STEP_F_EXACT) ? 0 : s->len,
                            .addr = d->base[s->base] + s->offset,
                            .handle = layout == NOF_NIL ? s->from : 0};
    nof_in_turn_begun(nic, p, step, desc.len);
    d->sends++;
    ep->driven_sends++;
    promise(nic, -1, 0);
    nof_send_submit(nic, ep, &desc, layout, false);
}

/* A message that is here and lies where only a receive of the host can take it from. */
static bool is_near(const struct nof_nic *nic, const struct nof_env *e)
{
    return e->early != NOF_NIL ||
           (e->chain != NOF_NIL && nof_stored_at(&nic->netmem, e->chain)->line != NOF_NIL);
}

/* With the block that a small message is written from, or NULL. */
static struct nof_recv *take_recv(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t capacity)
{
    struct nof_recv *r = nof_recv_take(nic, ep, NOF_RECV_STEP);
    if (r != NULL && capacity > 0 && nof_reserve_take(nic, r, 1, 1) == 0) {
        nof_recv_free(nic, r);
        return NULL;
    }
    return r;
}

static void begin_recv(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p,
                       uint32_t step)
{
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_drive *d = drive_of(nic, p);
    struct nof_match_key key = {.ep = ep->index, .ctx = d->run.ctx, .source = s->peer, .tag = d->run.tag};
    struct nof_env *e = nof_match_find(nic, &key);
    bool posts = e == NULL;
    uint32_t layout;
    if (!layout_of(nic, ep, s, &layout)) {
        refuse(nic, ep, p, step, NOF_ENOENT);
        return;
    }
    struct nof_recv *r = NULL;
    if (d->handed == 0 && (posts ? !ep->spilling && nof_recv_may_post(nic, ep) : !is_near(nic, e)))
        r = take_recv(nic, ep, s->len);
    if (r == NULL) {
        hand_over(nic, ep, p, step);
        return;
    }
    nof_recv_call(r, &key, cookie_of(nof_coll_index(&nic->colls, p), step), d->base[s->base] + s->offset,
                  s->len, layout);
    nof_recv_agree(r, d->agreed);
    if (layout != NOF_NIL)
        nof_layout_hold(&nic->layouts, layout);
    s->object = nof_recv_index(nic, r);
    d->recvs++;
    ep->driven_recvs++;
    promise(nic, 0, -1);
    if (!posts) {
        nof_unexpected_deliver(nic, r, e);
        return;
    }
    int rc = nof_recv_post(nic, r);
    if (rc == NOF_OK)
        ep->driven_posted++;
    else
        nof_recv_end(nic, r, rc);
}

/* The program waits for its turn at the endpoint's pieces, behind the others. */
static void wait_to_work(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_coll_program *p)
{
    uint32_t i = nof_coll_index(&nic->colls, p);
    struct nof_drive *d = &nic->drives[i];
    d->waits = true;
    d->works_next = i;
    if (ep->works != NOF_NIL) {
        d->works_next = nic->drives[ep->works].works_next;
        nic->drives[ep->works].works_next = i;
    }
    ep->works = i;
}

static struct nof_coll_program *next_to_work(struct nof_nic *nic, struct nof_endpoint *ep)
{
    uint32_t i = nic->drives[ep->works].works_next;
    struct nof_drive *d = &nic->drives[i];
    d->waits = false;
    if (ep->works == i)
        ep->works = NOF_NIL;
    else
        nic->drives[ep->works].works_next = d->works_next;
    return nof_coll_at(&nic->colls, i);
}

static void begin_work(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p,
                       uint32_t step)
{
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_drive *d = drive_of(nic, p);
    s->object = 0; /* pieces of it that are under way */
    if (s->len == 0) {
        done(nic, p, step, NOF_OK, 0);
        wake(nic, ep, p);
        return;
    }
    nof_coll_push(&nic->colls, p, &d->works, step);
    if (!d->waits) {
        wait_to_work(nic, ep, p);
        nof_chore(nic, ep);
    }
}

static void piece_ended(struct nof_nic *nic, const struct nof_combined *ended)
{
    struct nof_coll_program *p = nof_coll_at(&nic->colls, ended->program);
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, ended->step);
    struct nof_drive *d = drive_of(nic, p);
    d->pieces--;
    s->object--;
    if (ended->ep->state == NOF_EP_CLOSING)
        return;
    if (ended->status != NOF_OK)
        fail(d, ended->status, ended->step, ended->ep->rank, nof_abort_flood(nic));
    else if (d->state == NOF_DRIVE_RUNNING && s->object == 0 && d->works.head != ended->step)
        done(nic, p, ended->step, NOF_OK, s->len);
    if (d->state == NOF_DRIVE_FAILING || s->state == NOF_COLL_ENDED)
        wake(nic, ended->ep, p);
    if (ended->ep->works != NOF_NIL)
        nof_chore(nic, ended->ep);
}

/* The next piece of the program's steps. */
static void work_on(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p)
{
    struct nof_drive *d = drive_of(nic, p);
    struct nof_combined ended;
    uint32_t step = d->works.head;
    struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    uint64_t at = d->work_at;
    uint32_t most = nof_combine_most(s->elem);
    d->pieces++;
    s->object++;
    d->work_at += most;
    if (most >= s->len - at) {
        (void)nof_coll_pop(&nic->colls, p, &d->works);
        d->work_at = 0;
    }
    if (d->works.head != NOF_STEP_NONE)
        wait_to_work(nic, ep, p);
    uint32_t piece = nof_combine_begin(nic, ep, nof_coll_index(&nic->colls, p), step, at, d->base);
    if (nof_combine_go(nic, piece, &ended))
        piece_ended(nic, &ended);
}

/* Pieces for the programs that wait, one each in turn. */
static void run_works(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: programs that wait, and pieces as far as the steps reach; paid by the endpoint's steps */
    while (ep->works != NOF_NIL && nof_combine_may(ep)) {
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return;
        }
        struct nof_coll_program *p = next_to_work(nic, ep);
        nof_steps_spend(ep, 1);
        if (drive_of(nic, p)->state == NOF_DRIVE_RUNNING)
            work_on(nic, ep, p);
        else
            wake(nic, ep, p); /* it waited for this, to be told of */
    }
}

void nof_drive_dma_done(struct nof_nic *nic, uint32_t combine, int status)
{
    struct nof_combined ended;
    if (nof_combine_done(nic, combine, status, &ended))
        piece_ended(nic, &ended);
}

void nof_drive_retry(struct nof_nic *nic, uint32_t *queue)
{
    uint32_t all = *queue;
    uint32_t i;
    *queue = NOF_NIL;
    /* bound: NOF_COMBINES_PER_EP of each endpoint; paid by the endpoints' steps */
    while ((i = nof_queue_pop(&nic->combines, &all)) != NOF_NIL) {
        struct nof_combined ended;
        if (nof_combine_go(nic, i, &ended))
            piece_ended(nic, &ended);
    }
}

static void begin(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p, uint32_t step)
{
    switch (nof_coll_step_at(&nic->colls, p, step)->opcode) {
    case NOF_STEP_SEND:
        begin_send(nic, ep, p, step);
        break;
    case NOF_STEP_RECV:
        begin_recv(nic, ep, p, step);
        break;
    case NOF_STEP_REDUCE:
    case NOF_STEP_COPY:
        begin_work(nic, ep, p, step);
        break;
    default:
        hand_over(nic, ep, p, step);
        break;
    }
}

/* What was promised is free. */
static void unpromise(struct nof_nic *nic, const struct nof_coll_program *p)
{
    const struct nof_drive *d = drive_of(nic, p);
    promise(nic, -(int32_t)(p->sends - d->sends), -(int32_t)(p->recvs + p->hosts - d->recvs));
}

static void tell(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p)
{
    struct nof_drive *d = drive_of(nic, p);
    struct nof_comp comp = {.opcode = NOF_COMP_SCHED,
                            .status = (int16_t)d->status,
                            .ctx = d->run.ctx,
                            .cookie = d->cookie,
                            .peer = -1,
                            .tag = d->run.tag,
                            .len = d->len,
                            .handle = d->status == NOF_OK ? p->nsteps : d->step};
    if (d->status != NOF_OK && d->step < p->nsteps) {
        const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, d->step);
        comp.peer = nof_coll_step_has_peer(s) ? s->peer : -1;
    } else if (d->status != NOF_OK) {
        comp.peer = (int32_t)d->whose;
    }
    unpromise(nic, p);
    nof_abort_leave(nic, nof_coll_index(&nic->colls, p), ep->index);
    nof_count(nic, ep, d->status == NOF_OK ? NOF_C_COLL_COMPLETED : NOF_C_COLL_FAILED, 1);
    d->state = d->sends > 0 ? NOF_DRIVE_TOLD : NOF_DRIVE_IDLE;
    ep->driven_recvs--;
    nof_recv_say(nic, nof_recv_at(nic, d->recv), &comp);
}

static bool is_posted(const struct nof_nic *nic, const struct nof_coll_program *p, uint32_t step)
{
    const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    if (s->opcode != NOF_STEP_RECV || s->state != NOF_COLL_BEGUN || s->object == AT_HOST)
        return false;
    const struct nof_recv *r = nof_recv_at(nic, s->object);
    return r->state == NOF_RECV_POSTED && r->opcode == NOF_RECV_STEP &&
           r->cookie == cookie_of(nof_coll_index(&nic->colls, p), step);
}

/* The other side of a message of this step hears of the failure. */
static void tell_of(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p, uint32_t step)
{
    const struct nof_drive *d = drive_of(nic, p);
    const struct nof_coll_step *s = nof_coll_step_at(&nic->colls, p, step);
    struct nof_coll_abort abort = {.run = d->run, .rank = d->whose, .status = d->status};
    if (d->flood == 0 || (s->opcode != NOF_STEP_SEND && s->opcode != NOF_STEP_RECV))
        return;
    nof_abort_tell(nic, ep, &abort, (uint32_t)s->peer, d->flood);
}

/* A send that its receiver may never ask for, as he has failed too. One that he asks for later is refused. */
static void take_back_send(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p,
                           uint32_t step)
{
    const struct nof_coll_step *c = nof_coll_step_at(&nic->colls, p, step);
    uint64_t cookie = cookie_of(nof_coll_index(&nic->colls, p), step);
    if (c->opcode != NOF_STEP_SEND || c->state != NOF_COLL_BEGUN)
        return;
    nof_steps_spend(ep, STEP_COST);
    struct nof_send *s = nof_send_by_step(nic, ep, cookie);
    if (s == NULL)
        return;
    if (s->state == NOF_SEND_CTS_WAIT) {
        nof_send_end(nic, s, NOF_ECANCELED);
    } else if (s->state == NOF_SEND_QUEUED && s->sent == 0 && !(s->marks & NOF_SEND_M_ISSUED)) {
        nof_send_forget(nic, s);
        message_ended(nic, ep, p, step, NOF_ECANCELED, 0);
    }
}

/* Posted receives are taken back, and sends that nobody has asked for; the others end by themselves. All ranks are told. */
static void run_failing(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p)
{
    struct nof_drive *d = drive_of(nic, p);
    /* bound: steps of the program, as far as the steps of the turn reach; paid by the endpoint's steps */
    for (; d->look < p->nsteps; d->look++) {
        if (nof_steps_left(nic, ep) == 0) {
            wake(nic, ep, p);
            return;
        }
        nof_steps_spend(ep, 1);
        tell_of(nic, ep, p, d->look);
        take_back_send(nic, ep, p, d->look);
        if (!is_posted(nic, p, d->look))
            continue;
        struct nof_recv *r = nof_recv_at(nic, nof_coll_step_at(&nic->colls, p, d->look)->object);
        nof_steps_spend(ep, STEP_COST);
        nof_recv_unpost(nic, r);
        nof_recv_end(nic, r, NOF_ECANCELED);
    }
    if (d->recvs == 0 && d->pieces == 0 && !d->waits && !nof_patience_sends(nic, d))
        tell(nic, ep, p);
}

static void run_on(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_coll_program *p)
{
    const struct nof_drive *d = drive_of(nic, p);
    enum nof_coll_next next = NOF_COLL_STEP;
    /* bound: steps of the turn; paid by the endpoint's steps */
    while (d->state == NOF_DRIVE_RUNNING && next == NOF_COLL_STEP) {
        uint32_t had = nof_steps_left(nic, ep), left = had, step;
        next = nof_coll_next(&nic->colls, p, &left, &step);
        nof_steps_spend(ep, had - left);
        if (next == NOF_COLL_STEP) {
            nof_steps_spend(ep, STEP_COST);
            begin(nic, ep, p, step);
        }
    }
    if (next == NOF_COLL_DONE)
        tell(nic, ep, p);
    else if (next == NOF_COLL_LATER)
        wake(nic, ep, p);
}

void nof_drive_run(struct nof_nic *nic, struct nof_endpoint *ep)
{
    /* bound: programs that go on, as far as the steps reach; paid by the endpoint's steps */
    while (ep->drives != NOF_NIL) {
        if (nof_steps_left(nic, ep) == 0) {
            nof_chore(nic, ep);
            return;
        }
        struct nof_coll_program *p = nof_coll_at(&nic->colls, nof_queue_pop(&nic->colls.pool, &ep->drives));
        struct nof_drive *d = drive_of(nic, p);
        d->queued = false;
        close_if_free(nic, p);
        if (d->state == NOF_DRIVE_RUNNING)
            run_on(nic, ep, p);
        if (d->state == NOF_DRIVE_FAILING && !d->queued)
            run_failing(nic, ep, p);
    }
    run_works(nic, ep);
}

uint32_t nof_drive_close_bucket(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t bucket)
{
    uint32_t steps = 0;
    /* bound: programs of one bucket, of max_schedules; paid by the endpoint's steps */
    for (uint32_t i = nic->colls.bucket[bucket]; i != NOF_NIL; steps++) {
        struct nof_coll_program *p = nof_coll_at(&nic->colls, i);
        i = p->hash_next;
        if (p->ep != ep->index)
            continue;
        if (drive_of(nic, p)->state == NOF_DRIVE_RUNNING || drive_of(nic, p)->state == NOF_DRIVE_FAILING) {
            unpromise(nic, p);
            nof_abort_leave(nic, nof_coll_index(&nic->colls, p), ep->index);
        }
        drive_of(nic, p)->state = NOF_DRIVE_IDLE; /* or somebody would wait for it */
        nof_coll_close(&nic->colls, p);
    }
    return steps;
}
