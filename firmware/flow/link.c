/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow/link.h"

#include "flow/scheduler.h"

#define SWEEP 256u /* control frames a turn */

static struct nof_link *link_take(struct nof_nic *nic, uint32_t first, uint32_t end)
{
    /* bound: paths; paid by the first frame of a path */
    for (uint32_t i = first; i < end; i++) {
        if (nic->links[i].used)
            continue;
        nic->links[i] = (struct nof_link){
            .used = 1, .job = NOF_JOB_NONE, .blocked = NOF_NIL, .ctl = NOF_NIL, .last_peer = NOF_NIL};
        return &nic->links[i];
    }
    return NULL;
}

struct nof_link *nof_link_of_path(struct nof_nic *nic, struct nof_path *path)
{
    struct nof_link *link = nof_path_user(path);
    if (link != NULL)
        return link;
    link = link_take(nic, 0, nic->cfg.max_paths);
    if (link == NULL)
        return NULL;
    link->path = path;
    link->up = nof_path_is_up(path) != 0;
    /* bound: jobs; paid by the first frame of a path */
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        if (nic->jobs[j].used && nic->jobs[j].id == nof_path_job(path))
            link->job = (uint16_t)j;
    nof_path_set_user(path, link);
    nic->paths_used++;
    if (link->job != NOF_JOB_NONE)
        nof_share_taken(&nic->paths_share, &nic->jobs[link->job].paths_used, 1);
    if (link->job == NOF_JOB_NONE || nic->jobs[link->job].endpoints == 0)
        nof_link_drain(nic, link);
    return link;
}

int nof_link_open(struct nof_nic *nic, uint32_t job, const struct nof_card *card, struct nof_link **link_out)
{
    if (card->nic_id == nic->cfg.nic_id) {
        *link_out = &nic->links[nic->jobs[job].local_link];
        return NOF_OK;
    }
    struct nof_path *path;
    int rc = nof_path_open(nic->transport, nic->now_ns, nic->jobs[job].id, card, &path);
    if (rc != NOF_OK)
        return rc;
    if (nof_path_user(path) == NULL && !nof_share_may(&nic->paths_share, nic->jobs[job].paths_used, 1,
                                                      nic->cfg.max_paths - nic->paths_used)) {
        nof_path_reset(path, NOF_ENOMEM);
        return NOF_ENOMEM;
    }
    *link_out = nof_link_of_path(nic, path);
    return *link_out != NULL ? NOF_OK : NOF_ENOMEM;
}

void nof_link_init_local(struct nof_nic *nic, uint32_t job)
{
    uint32_t i = nic->cfg.max_paths + job;
    link_take(nic, i, i + 1);
    nic->links[i].job = (uint16_t)job;
    nic->links[i].up = 1;
    nic->jobs[job].local_link = i;
}

/* Nothing goes this way any more. */
static void stop(struct nof_nic *nic, struct nof_link *link)
{
    nof_queue_join(&nic->ctls, &nic->stale_ctls, &link->ctl);
    if (link->draining)
        nic->draining--;
    link->draining = NOF_DRAIN_NONE;
    link->up = 0;
}

void nof_link_free(struct nof_nic *nic, struct nof_link *link)
{
    stop(nic, link);
    link->used = 0;
}

void nof_link_gone(struct nof_nic *nic, struct nof_link *link, int status)
{
    nic->paths_used--;
    if (link->job != NOF_JOB_NONE)
        nof_share_given(&nic->paths_share, &nic->jobs[link->job].paths_used, 1);
    stop(nic, link);
    link->path = NULL;
    link->gone = 1;
    link->status = status;
}

bool nof_link_left(struct nof_nic *nic, struct nof_link *link)
{
    if (link->flows > 0)
        return false;
    nof_link_free(nic, link);
    return true;
}

void nof_link_drain(struct nof_nic *nic, struct nof_link *link)
{
    if (link->draining || link->gone) /* gone: it has no path, and goes itself when its flows have left it */
        return;
    link->draining = NOF_DRAIN_ASKED;
    nic->draining++;
}

void nof_link_keep(struct nof_nic *nic, struct nof_link *link)
{
    if (link->draining != NOF_DRAIN_ASKED)
        return;
    link->draining = NOF_DRAIN_NONE;
    nic->draining--;
}

void nof_link_close(struct nof_link *link)
{
    link->draining = NOF_DRAIN_RESET;
    nof_path_close(link->path);
}

void nof_link_sweep(struct nof_nic *nic)
{
    for (unsigned n = 0; n < SWEEP && nic->stale_ctls != NOF_NIL; n++)
        nof_pool_give(&nic->ctls, nof_queue_pop(&nic->ctls, &nic->stale_ctls));
}

static struct nof_local_frame *local_of(struct nof_frame *frame)
{
    void *at = (unsigned char *)frame - offsetof(struct nof_local_frame, frame);
    return at;
}

unsigned nof_local_window(const struct nof_nic *nic, bool urgent)
{
    uint32_t reserve = urgent ? 0 : NOF_LOCAL_FRAMES / 8;
    uint32_t room = nof_pool_free(&nic->locals);
    return room > reserve ? room - reserve : 0;
}

struct nof_frame *nof_local_frame(struct nof_nic *nic, uint8_t **body_out)
{
    uint32_t i = nof_pool_take(&nic->locals);
    if (i == NOF_NIL)
        return NULL;
    struct nof_local_frame *f = (struct nof_local_frame *)nic->locals.base + i;
    *body_out = f->body;
    return &f->frame;
}

void nof_local_drop(struct nof_nic *nic, struct nof_frame *frame)
{
    nof_pool_give(&nic->locals, (uint32_t)(local_of(frame) - (struct nof_local_frame *)nic->locals.base));
}

void nof_local_send(struct nof_nic *nic, struct nof_link *link, struct nof_frame *frame,
                    const struct nof_local_head *head)
{
    struct nof_local_frame *f = local_of(frame);
    f->link = nof_link_index(nic, link);
    f->head = *head;
    nof_queue_push(&nic->locals, &nic->local_queue,
                   (uint32_t)(f - (struct nof_local_frame *)nic->locals.base));
}

bool nof_link_acked(const struct nof_link *link, uint32_t pn)
{
    return link->path == NULL || !link->sent_any || nof_path_acked(link->path, pn);
}

struct nof_local_batch nof_local_take(struct nof_nic *nic)
{
    struct nof_local_batch batch = {.queue = nic->local_queue, .done = NOF_NIL};
    nic->local_queue = NOF_NIL;
    return batch;
}

struct nof_link *nof_local_next(struct nof_nic *nic, struct nof_local_batch *batch,
                                struct nof_wire_view *view_out)
{
    uint32_t i;
    /* bound: frames of the loop-back pool; paid by who sent them, by their share of the link */
    while ((i = nof_queue_pop(&nic->locals, &batch->queue)) != NOF_NIL) {
        const struct nof_local_frame *f = (struct nof_local_frame *)nic->locals.base + i;
        nof_queue_push(&nic->locals, &batch->done, i);
        *view_out = (struct nof_wire_view){.type = f->head.type,
                                           .flags = f->head.flags,
                                           .src_ep = f->head.src_ep,
                                           .dst_ep = f->head.dst_ep,
                                           .fields = f->body,
                                           .fields_bytes = f->head.fields_bytes,
                                           .payload = f->body + f->head.fields_bytes,
                                           .payload_bytes = f->head.body_bytes - f->head.fields_bytes};
        if (nic->links[f->link].used)
            return &nic->links[f->link];
    }
    return NULL;
}

void nof_local_done(struct nof_nic *nic, struct nof_local_batch *batch)
{
    uint32_t i;
    if (batch->done == NOF_NIL)
        return;
    /* bound: frames of the loop-back pool; paid by who sent them, by their share of the link */
    while ((i = nof_queue_pop(&nic->locals, &batch->done)) != NOF_NIL)
        nof_pool_give(&nic->locals, i);
    /* bound: jobs; paid by the loop-back */
    for (uint32_t j = 0; j < nic->cfg.max_jobs; j++)
        if (nic->jobs[j].used)
            nof_link_ready(nic, &nic->links[nic->jobs[j].local_link]);
}

/* Some link is to be looked at again soon. */
static void look_later(struct nof_nic *nic)
{
    nic->links_later = 1;
    nof_retry(nic);
}

static void fill_cts(const struct nof_nic *nic, const struct nof_recv *r, struct nof_ctl *c)
{
    c->flags = r->parked ? NOF_WIRE_RTS_F_PARKED : r->unended == NOF_RECV_LATER ? NOF_WIRE_CTS_F_LATER : 0;
    nof_put64(c->fields + NOF_WIRE_CTS_SENDER, r->remote);
    nof_put64(c->fields + NOF_WIRE_CTS_RECEIVER, nof_handle(nof_recv_index(nic, r), r->obj.gen));
    nof_put64(c->fields + NOF_WIRE_CTS_WANTED, r->wanted);
    nof_put64(c->fields + NOF_WIRE_CTS_ALLOWED, r->allowed);
}

/* Whose CTS it is; NULL: nobody's, or that has ended since. */
static struct nof_recv *cts_of(const struct nof_nic *nic, const struct nof_ctl *c)
{
    if (c->recv == NOF_NIL)
        return NULL;
    struct nof_recv *r = nof_recv_at(nic, c->recv);
    uint64_t handle = nof_get64(c->fields + NOF_WIRE_CTS_RECEIVER);
    return r->state == NOF_RECV_RNDV && r->obj.gen == handle >> 32 ? r : NULL;
}

static bool emit(struct nof_nic *nic, struct nof_link *link, const struct nof_ctl *c)
{
    if (nof_link_window(nic, link, true) == 0)
        return false;
    uint8_t *body;
    struct nof_frame *frame = nof_link_frame(nic, link, c->fields_bytes, &body);
    if (frame == NULL) {
        look_later(nic);
        return false;
    }
    if (c->peer != NOF_NIL)
        nof_credit_fill(nof_peer_at(nic, c->peer), body);
    else
        memcpy(body, c->fields, c->fields_bytes);
    nof_link_send(nic, link, frame, c->type, c->flags, c->src_ep, c->dst_ep, c->fields_bytes, c->fields_bytes,
                  0);
    return true;
}

static void submit(struct nof_nic *nic, struct nof_link *link, const struct nof_ctl *c)
{
    if ((link->ctl == NOF_NIL && emit(nic, link, c)) || link->gone)
        return;
    uint32_t i = nof_pool_take(&nic->ctls);
    if (i == NOF_NIL) {
        if (link->path != NULL)
            nof_path_reset(link->path, NOF_EPROTO);
        return;
    }
    struct nof_ctl *stored = (struct nof_ctl *)nic->ctls.base + i;
    struct nof_obj keep = stored->obj;
    *stored = *c;
    stored->obj = keep;
    if (c->peer != NOF_NIL)
        nof_peer_at(nic, c->peer)->credit_waits = 1;
    if (c->recv != NOF_NIL)
        nof_recv_at(nic, c->recv)->cts_waits = 1;
    nof_queue_push(&nic->ctls, &link->ctl, i);
}

void nof_link_ctl(struct nof_nic *nic, struct nof_link *link, uint8_t type, uint8_t flags, uint16_t src_ep,
                  uint16_t dst_ep, const uint8_t *fields, uint8_t fields_bytes)
{
    struct nof_ctl c = {.peer = NOF_NIL,
                        .recv = NOF_NIL,
                        .src_ep = src_ep,
                        .dst_ep = dst_ep,
                        .type = type,
                        .flags = flags,
                        .fields_bytes = fields_bytes};
    memcpy(c.fields, fields, fields_bytes);
    submit(nic, link, &c);
}

void nof_link_credit(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer)
{
    if (peer->credit_waits)
        return;
    struct nof_ctl c = {.peer = nof_peer_index(nic, peer),
                        .recv = NOF_NIL,
                        .src_ep = peer->ep,
                        .dst_ep = peer->remote_ep,
                        .type = NOF_WIRE_CREDIT,
                        .fields_bytes = NOF_WIRE_CREDIT_BYTES};
    nof_put32(c.fields, peer->obj.gen);
    submit(nic, link, &c);
}

void nof_link_cts(struct nof_nic *nic, struct nof_link *link, const struct nof_peer *peer, struct nof_recv *r)
{
    if (r->cts_waits)
        return;
    struct nof_ctl c = {.peer = NOF_NIL,
                        .recv = nof_recv_index(nic, r),
                        .src_ep = peer->ep,
                        .dst_ep = peer->remote_ep,
                        .type = NOF_WIRE_CTS,
                        .fields_bytes = NOF_WIRE_CTS_BYTES};
    fill_cts(nic, r, &c);
    submit(nic, link, &c);
}

/* A CREDIT frame whose flow has died since, or is another's. */
static bool is_stale(const struct nof_nic *nic, const struct nof_ctl *c)
{
    const struct nof_peer *peer = nof_peer_at(nic, c->peer);
    return peer->obj.gen != nof_get32(c->fields) || (peer->flags & NOF_PEER_F_DEAD);
}

static void drain_ctl(struct nof_nic *nic, struct nof_link *link)
{
    /* bound: window of the path, and frames of flows that have died; paid by the link */
    while (link->ctl != NOF_NIL) {
        uint32_t i = nof_queue_head(&nic->ctls, link->ctl);
        struct nof_ctl *c = (struct nof_ctl *)nic->ctls.base + i;
        struct nof_recv *r = cts_of(nic, c);
        if (c->peer == NOF_NIL || !is_stale(nic, c)) {
            if (r != NULL)
                fill_cts(nic, r, c);
            if (!emit(nic, link, c))
                return;
            if (r != NULL)
                r->cts_waits = 0;
            if (c->peer != NOF_NIL)
                nof_peer_at(nic, c->peer)->credit_waits = 0;
        }
        nof_queue_pop(&nic->ctls, &link->ctl);
        nof_pool_give(&nic->ctls, i);
    }
}

void nof_link_retry(struct nof_nic *nic)
{
    if (!nic->links_later)
        return;
    nic->links_later = 0;
    /* bound: links, while some wait for frames or have more flows than are woken at once; paid by all */
    for (uint32_t i = 0; i < nic->nlinks; i++)
        if (nic->links[i].used && (nic->links[i].ctl & nic->links[i].blocked) != NOF_NIL)
            nof_link_ready(nic, &nic->links[i]);
}

void nof_link_ready(struct nof_nic *nic, struct nof_link *link)
{
    drain_ctl(nic, link);
    if (link->ctl != NOF_NIL)
        return;
    if (nof_scheduler_unblock(nic, link))
        look_later(nic);
}
