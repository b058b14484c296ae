/* SPDX-License-Identifier: BSD-3-Clause */
#include "descriptors.h"

#include "coll/abort.h"
#include "coll/drive.h"
#include "mcast/mcast.h"
#include "msg/answer.h"
#include "msg/cancel.h"
#include "msg/recv_claim.h"
#include "msg/delta_slots.h"
#include "msg/direct.h"
#include "ahead/early.h"
#include "life.h"
#include "flow/chores.h"
#include "flow/peer.h"
#include "msg/recv.h"
#include "payload/reserve.h"
#include "match/recv_watch.h"
#include "msg/send.h"
#include "msg/spill.h"
#include "msg/unexpected.h"
#include "msg/walk.h"

/* Waiting probes of one endpoint: a message answers all that it fits, at once. A library has one for each thread that is
 * in MPI_Probe; those beyond wait in its own matcher. */
#define PROBES_MAX 64u

/* The answer is of the kind that a success would have had. */
static void refuse(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status)
{
    struct nof_desc asked = *desc;
    if (asked.opcode == NOF_DESC_MRECV || asked.opcode == NOF_DESC_PULL)
        asked.opcode = NOF_COMP_RECV;
    nof_answer_desc(nic, ep, &asked, status);
}

static void invalid(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
    refuse(nic, ep, desc, NOF_EINVAL);
}

/* A fault that no completion can tell: the host's driver is broken. */
static void fatal(struct nof_nic *nic, struct nof_endpoint *ep)
{
    nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
    nof_life_fail(nic, ep, NOF_EINVAL);
}

static bool flags_within(const struct nof_desc *desc, unsigned allowed)
{
    bool may_agree = desc->opcode == NOF_DESC_SEND || desc->opcode == NOF_DESC_RECV ||
                     desc->opcode == NOF_DESC_SCHED_START || desc->opcode == NOF_DESC_COLL_ABORT;
    return (desc->flags & ~allowed) == 0 && (desc->agreed == 0 || may_agree);
}

static bool is_rank(const struct nof_endpoint *ep, int32_t peer)
{
    return peer >= 0 && (uint32_t)peer < ep->size;
}

/* The layout that the descriptor names in *layout_out (NOF_NIL: plain buffer). False: no such layout. */
static bool buffer_of(struct nof_nic *nic, const struct nof_endpoint *ep, const struct nof_desc *desc,
                      uint32_t *layout_out)
{
    *layout_out = NOF_NIL;
    if (desc->len > INT64_MAX)
        return false;
    if (!(desc->flags & NOF_DESC_F_LAYOUT))
        return true;
    *layout_out = nof_layout_find(&nic->layouts, ep->index, desc->layout, desc->layout_generation);
    return *layout_out != NOF_NIL;
}

static void take_send(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    const unsigned where = NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE | NOF_DESC_F_LAYOUT;
    unsigned used = desc->flags & where;
    uint32_t layout;
    bool delta = (desc->flags & NOF_DESC_F_DELTA) != 0, parks = false;
    int ok = flags_within(desc, where | NOF_DESC_F_SYNC | NOF_DESC_F_ANNOUNCED | NOF_DESC_F_GRANTED |
                                    NOF_DESC_F_DELTA) &&
             (used & (used - 1)) == 0 && desc->elem < NOF_ELEM_COUNT && is_rank(ep, desc->peer) &&
             desc->tag >= 0 && buffer_of(nic, ep, desc, &layout);
    if (ok && used == NOF_DESC_F_INLINE)
        ok = desc->len <= NOF_INLINE_BYTES && !(desc->flags & (NOF_DESC_F_GRANTED | NOF_DESC_F_ANNOUNCED));
    if (ok && used == NOF_DESC_F_BOUNCE)
        ok = desc->addr <= ep->bounce_bytes && desc->len <= ep->bounce_bytes - desc->addr;
    if (ok && delta)
        ok = (desc->flags & (NOF_DESC_F_INLINE | NOF_DESC_F_BOUNCE | NOF_DESC_F_GRANTED)) == 0;
    int rc = !ok ? NOF_EINVAL : delta ? nof_delta_check_send(nic, ep, desc, &parks) : NOF_OK;
    if (rc == NOF_EINVAL)
        invalid(nic, ep, desc);
    else if (rc != NOF_OK)
        refuse(nic, ep, desc, rc);
    else
        nof_send_submit(nic, ep, desc, layout, parks);
}

static struct nof_recv *make_recv(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                                  uint8_t opcode, uint32_t layout)
{
    struct nof_recv *r = nof_recv_take(nic, ep, opcode);
    if (r == NULL) {
        refuse(nic, ep, desc, NOF_ENOMEM);
        return NULL;
    }
    if (!nof_recv_may_post(nic, ep))
        nof_spill_enter(ep); /* else what comes could be matched as fast, without an end */
    struct nof_match_key key = {.ep = r->ep, .ctx = desc->ctx, .source = desc->peer, .tag = desc->tag};
    nof_recv_call(r, &key, desc->cookie, desc->addr, desc->len, layout);
    nof_recv_agree(r, desc->agreed);
    if (layout != NOF_NIL)
        nof_layout_hold(&nic->layouts, layout);
    return r;
}

/* Nothing here matches: the receive or probe lives in the library's matcher from now on. */
static void no_match(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    ep->nomatch_given++;
    nof_answer_desc(nic, ep, desc, NOF_ENOMATCH);
}

/* Post a receive or a waiting probe that has found nothing in the store. */
static void post(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, uint32_t layout)
{
    bool probes = desc->opcode != NOF_DESC_RECV && nof_match_probes(ep) >= PROBES_MAX;
    bool claims = (desc->flags & NOF_DESC_F_CLAIM) != 0 && !nof_claim_may_post(ep);
    if (!ep->spilling && (probes || claims || !nof_recv_may_post(nic, ep)))
        nof_spill_enter(ep);
    if (ep->spilling) {
        no_match(nic, ep, desc);
        return;
    }
    struct nof_recv *r = make_recv(nic, ep, desc, desc->opcode, layout);
    if (r == NULL)
        return;
    if (desc->opcode == NOF_DESC_RECV && (desc->flags & NOF_DESC_F_DELTA) != 0)
        nof_delta_recv_begin(nic, r, desc->handle);
    if (desc->flags & NOF_DESC_F_CLAIM)
        nof_recv_claim(r, desc->handle);
    int rc = nof_recv_post(nic, r);
    if (rc != NOF_OK)
        nof_recv_end(nic, r, rc);
    else if (ep->watch != NULL && desc->opcode == NOF_DESC_RECV)
        nof_watch_call(nic, ep, &r->key, desc->callsite, nof_recv_index(nic, r));
}

/* There is a message, but the host has the receive: it waits for its CANCEL. */
static void leave_stored(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                         uint32_t layout)
{
    if (!ep->spilling && !nof_recv_may_post(nic, ep))
        nof_spill_enter(ep);
    if (ep->spilling) {
        no_match(nic, ep, desc);
        return;
    }
    struct nof_recv *r = make_recv(nic, ep, desc, desc->opcode, layout);
    if (r == NULL)
        return;
    nof_recv_claim(r, desc->handle);
    nof_claim_wait(nic, r);
    if (ep->watch != NULL && desc->opcode == NOF_DESC_RECV)
        nof_watch_call(nic, ep, &r->key, desc->callsite, nof_recv_index(nic, r));
}

static struct nof_match_key key_of(const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    return (struct nof_match_key){.ep = ep->index, .ctx = desc->ctx, .source = desc->peer, .tag = desc->tag};
}

static bool key_valid(const struct nof_endpoint *ep, const struct nof_desc *desc)
{
    return (desc->peer == NOF_ANY_SOURCE || is_rank(ep, desc->peer)) && desc->tag >= NOF_ANY_TAG;
}

/* The program first, the predictor after. */
static void deliver(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc,
                    struct nof_recv *r, struct nof_env *e)
{
    struct nof_match_key key = e->key;
    if (desc->callsite != 0)
        nof_early_found(nic, e);
    nof_unexpected_deliver(nic, r, e);
    if (ep->watch != NULL)
        nof_watch_call(nic, ep, &key, desc->callsite, NOF_NIL);
}

static void take_recv(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint32_t layout;
    bool delta = (desc->flags & NOF_DESC_F_DELTA) != 0;
    bool claims = (desc->flags & NOF_DESC_F_CLAIM) != 0;
    bool ok = flags_within(desc, NOF_DESC_F_LAYOUT | NOF_DESC_F_DELTA | NOF_DESC_F_CLAIM) &&
              key_valid(ep, desc) && (!claims || nof_claim_valid(ep, desc)) &&
              buffer_of(nic, ep, desc, &layout);
    int rc = !ok ? NOF_EINVAL : delta ? nof_delta_check_recv(ep, desc) : NOF_OK;
    if (rc != NOF_OK) {
        if (rc == NOF_EINVAL)
            nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
        refuse(nic, ep, desc, rc);
        return;
    }
    if (delta)
        nof_delta_plain(nic, ep, desc); /* until it has its slot */
    struct nof_match_key key = key_of(ep, desc);
    struct nof_env *e = nof_match_find(nic, &key);
    if (e == NULL) {
        post(nic, ep, desc, layout);
        return;
    }
    if (claims && !nof_claim_win(nic, ep, desc->handle)) {
        leave_stored(nic, ep, desc, layout);
        return;
    }
    struct nof_recv *r = make_recv(nic, ep, desc, NOF_COMP_RECV, layout);
    if (r == NULL)
        return;
    if (delta && (e->flags & NOF_ENV_F_RTS) &&
        e->early == NOF_NIL) /* else only the host can take it from where it lies */
        nof_delta_recv_begin(nic, r, desc->handle);
    deliver(nic, ep, desc, r, e);
}

static void take_probe(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    const unsigned waits = NOF_DESC_F_WAIT | NOF_DESC_F_CLAIM;
    bool claims = desc->opcode == NOF_DESC_MPROBE && (desc->flags & waits) == waits;
    if (!flags_within(desc, claims ? waits : NOF_DESC_F_WAIT) || !key_valid(ep, desc) ||
        (claims && !nof_claim_valid(ep, desc))) {
        invalid(nic, ep, desc);
        return;
    }
    struct nof_match_key key = key_of(ep, desc);
    struct nof_env *e = nof_match_find(nic, &key);
    if (e == NULL) {
        if (desc->flags & NOF_DESC_F_WAIT)
            post(nic, ep, desc, NOF_NIL);
        else
            nof_answer_desc(nic, ep, desc, NOF_ENOMATCH);
        return;
    }
    if (claims && !nof_claim_win(nic, ep, desc->handle)) {
        leave_stored(nic, ep, desc, NOF_NIL);
        return;
    }
    struct nof_comp comp = {.opcode = desc->opcode,
                            .ctx = e->key.ctx,
                            .cookie = desc->cookie,
                            .peer = e->key.source,
                            .tag = e->key.tag,
                            .len = e->len};
    if (desc->opcode == NOF_DESC_MPROBE) {
        nof_match_unstore(nic, e);
        comp.handle = nof_unexpected_mprobe(nic, e);
    }
    nof_answer(nic, ep, &comp);
}

static void take_mrecv(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint32_t layout;
    if (!flags_within(desc, NOF_DESC_F_LAYOUT) || !buffer_of(nic, ep, desc, &layout)) {
        invalid(nic, ep, desc);
        return;
    }
    struct nof_env *e = nof_unexpected_by_handle(nic, ep->index, desc->handle);
    struct nof_recv *r = make_recv(nic, ep, desc, NOF_COMP_RECV, layout);
    if (r == NULL)
        return;
    if (e != NULL)
        deliver(nic, ep, desc, r, e);
    else
        nof_recv_end(nic, r, NOF_ENOENT);
}

static void take_pull(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    uint32_t layout;
    if (!flags_within(desc, NOF_DESC_F_LAYOUT | NOF_DESC_F_DELTA) || !is_rank(ep, desc->peer) ||
        !buffer_of(nic, ep, desc, &layout)) {
        invalid(nic, ep, desc);
        return;
    }
    if (nof_spill_waits(desc->handle) && !nof_recv_may_wait(nic, ep)) {
        refuse(nic, ep, desc, NOF_EAGAIN);
        return;
    }
    struct nof_recv *r = make_recv(nic, ep, desc, NOF_COMP_RECV, layout);
    if (r != NULL)
        nof_spill_pull(nic, ep, r, desc->flags, desc->handle, desc->callsite);
}

static void take_cancel(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_recv *r = nof_match_cookie(nic, ep->index, desc->cookie);
    bool taken = (desc->flags & NOF_DESC_F_TAKEN) != 0; /* then it is found at once, or nowhere */
    if (taken &&
        (!is_rank(ep, desc->peer) || desc->tag < 0 || (r != NULL && !nof_claim_tell(nic, ep, r, desc)))) {
        invalid(nic, ep, desc);
        return;
    }
    if (r != NULL || taken || nof_walk_indexed(ep)) {
        nof_answer_desc(nic, ep, desc, nof_walk_cancel(nic, ep, r));
        return;
    }
    r = make_recv(nic, ep, desc, NOF_COMP_CANCEL, NOF_NIL);
    if (r == NULL)
        return;
    nof_walk_seek(nic, ep, r, desc->len);
}

static void take_send_cancel(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (!flags_within(desc, 0) || !is_rank(ep, desc->peer) || desc->tag < 0)
        invalid(nic, ep, desc);
    else
        nof_cancel_submit(nic, ep, desc);
}

static void take_revoked(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (!flags_within(desc, NOF_DESC_F_GONE) || !is_rank(ep, desc->peer) ||
        nof_cancel_revoked(nic, ep, desc) != NOF_OK)
        fatal(nic, ep);
}

static void take_peer(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_card card;
    memcpy(&card, desc->inline_data, sizeof card);
    if (!flags_within(desc, 0) || !is_rank(ep, desc->peer)) {
        invalid(nic, ep, desc);
        return;
    }
    int rc = nof_peer_introduce(nic, ep, (uint32_t)desc->peer, &card);
    if (rc != NOF_OK)
        nof_answer_desc(nic, ep, desc, rc);
}

static void take_release(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (desc->release.count == 0 || desc->release.count > NOF_RELEASE_MAX) {
        fatal(nic, ep);
        return;
    }
    /* bound: NOF_RELEASE_MAX, 7; paid by the RELEASE */
    for (uint32_t i = 0; i < desc->release.count; i++) {
        if (nof_stage_is_line(&ep->stage, desc->release.offset[i]) ||
            !nof_stage_release(&ep->stage, desc->release.offset[i])) {
            fatal(nic, ep);
            return;
        }
    }
}

static void take_hint(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (!flags_within(desc, 0))
        fatal(nic, ep);
    else if (ep->watch != NULL)
        nof_watch_hint(ep, desc->callsite);
}

static void take_flush(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    struct nof_recv *r = make_recv(nic, ep, desc, NOF_COMP_FLUSH, NOF_NIL);
    if (r != NULL)
        nof_life_flush(nic, ep, r);
}

static void take_layout(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    int rc = NOF_EINVAL;
    if (!nof_chore_pay(nic, ep, (uint32_t)(desc->len / sizeof(struct nof_layout_op))))
        rc = NOF_EAGAIN;
    else if (desc->addr <= ep->program_area_bytes && desc->len <= ep->program_area_bytes - desc->addr &&
             desc->len > 0)
        rc = nof_layout_open(&nic->layouts, ep->index, desc->layout, desc->layout_generation,
                             ep->program_area + desc->addr, (size_t)desc->len);
    if (rc == NOF_EINVAL)
        nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
    nof_answer_desc(nic, ep, desc, rc);
}

static void take_sched_open(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    int rc = flags_within(desc, 0) ? nof_drive_open(nic, ep, desc) : NOF_EINVAL;
    if (rc == NOF_EINVAL)
        nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
    nof_answer_desc(nic, ep, desc, rc);
}

static void take_sched_start(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    if (!flags_within(desc, 0) || desc->tag < 0 || desc->len > UINT32_MAX)
        invalid(nic, ep, desc);
    else
        nof_drive_start(nic, ep, desc);
}

static void take_coll_abort(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    int64_t status = (int64_t)desc->sched.base[0];
    struct nof_coll_abort abort = {.run = {.ctx = desc->ctx, .tag = desc->tag, .number = (uint32_t)desc->len},
                                   .rank = desc->sched.name,
                                   .status = (int32_t)status,
                                   .agreed = desc->agreed};
    if (!flags_within(desc, 0) || !is_rank(ep, desc->peer) || desc->tag < 0 || desc->len > UINT32_MAX ||
        abort.rank >= ep->size || status >= NOF_OK || status < INT16_MIN ||
        (status == NOF_EAGAIN && abort.rank != ep->rank))
        fatal(nic, ep);
    else
        nof_abort_tell(nic, ep, &abort, (uint32_t)desc->peer, nof_abort_flood(nic));
}

static void take_group(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    bool opens = desc->opcode == NOF_DESC_GROUP_OPEN;
    int rc = !flags_within(desc, 0) ? NOF_EINVAL
             : opens                ? nof_mcast_open(nic, ep, desc)
                                    : nof_mcast_submit(nic, ep, desc);
    struct nof_comp comp = {.opcode = desc->opcode,
                            .status = (int16_t)(rc < NOF_OK ? rc : NOF_OK),
                            .ctx = desc->ctx,
                            .cookie = desc->cookie,
                            .peer = -1,
                            .handle = rc == NOF_MCAST_OPENED};
    if (rc == NOF_EINVAL)
        nof_count(nic, ep, NOF_C_DESC_INVALID, 1);
    if (rc != NOF_OK || opens)
        nof_answer(nic, ep, &comp);
}

static void take_sched(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    switch (desc->opcode) {
    case NOF_DESC_SCHED_OPEN:
        take_sched_open(nic, ep, desc);
        break;
    case NOF_DESC_SCHED_START:
        take_sched_start(nic, ep, desc);
        break;
    case NOF_DESC_SCHED_CONTINUE:
        if (!nof_drive_continue(nic, ep, desc))
            fatal(nic, ep);
        break;
    case NOF_DESC_SCHED_CANCEL:
        if (!nof_drive_cancel(nic, ep, desc))
            fatal(nic, ep);
        break;
    case NOF_DESC_COLL_ABORT:
        take_coll_abort(nic, ep, desc);
        break;
    case NOF_DESC_GROUP_OPEN:
    case NOF_DESC_GROUP_SEND:
    case NOF_DESC_GROUP_RECV:
        take_group(nic, ep, desc);
        break;
    case NOF_DESC_GROUP_CLOSE:
        nof_mcast_close(nic, ep, desc);
        break;
    case NOF_DESC_SCHED_FREE:
        if (!nof_drive_free(nic, ep, desc))
            fatal(nic, ep);
        break;
    default:
        fatal(nic, ep);
        break;
    }
}

static void take(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc)
{
    switch (desc->opcode) {
    case NOF_DESC_SEND:
        take_send(nic, ep, desc);
        break;
    case NOF_DESC_RECV:
        take_recv(nic, ep, desc);
        break;
    case NOF_DESC_RELEASE:
        take_release(nic, ep, desc);
        break;
    case NOF_DESC_PROBE:
    case NOF_DESC_MPROBE:
        take_probe(nic, ep, desc);
        break;
    case NOF_DESC_MRECV:
        take_mrecv(nic, ep, desc);
        break;
    case NOF_DESC_PULL:
        take_pull(nic, ep, desc);
        break;
    case NOF_DESC_CANCEL:
        take_cancel(nic, ep, desc);
        break;
    case NOF_DESC_PEER:
        take_peer(nic, ep, desc);
        break;
    case NOF_DESC_HINT:
        take_hint(nic, ep, desc);
        break;
    case NOF_DESC_FLUSH:
        take_flush(nic, ep, desc);
        break;
    case NOF_DESC_LAYOUT:
        take_layout(nic, ep, desc);
        break;
    case NOF_DESC_LAYOUT_FREE:
        if (nof_layout_close(&nic->layouts, ep->index, desc->layout, desc->layout_generation) != NOF_OK)
            fatal(nic, ep);
        break;
    case NOF_DESC_SEND_CANCEL:
        take_send_cancel(nic, ep, desc);
        break;
    case NOF_DESC_REVOKED:
        take_revoked(nic, ep, desc);
        break;
    case NOF_DESC_SPILL_END:
        nof_answer_desc(nic, ep, desc, nof_spill_end(nic, ep, desc));
        break;
    default:
        take_sched(nic, ep, desc);
        break;
    }
}

void nof_descriptors_take(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *descs,
                          unsigned n)
{
    unsigned i = 0;
    /* bound: descriptors of one burst; paid by the endpoint */
    while (i < n && ep->state == NOF_EP_OPEN) {
        unsigned posted = 0;
        ep->admitted = n - i - 1;
        if (descs[i].opcode == NOF_DESC_RECV)
            posted = nof_direct_recv(nic, ep, descs + i, n - i);
        if (posted == 0)
            take(nic, ep, &descs[i++]);
        i += posted;
    }
    nof_count(nic, ep, NOF_C_DESCS, i);
    if (ep->watch != NULL)
        nof_early_ahead(nic, ep);
}
