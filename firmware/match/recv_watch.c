/* SPDX-License-Identifier: BSD-3-Clause */
#include "match/recv_watch.h"

#include "match/match.h"

size_t nof_watch_mem_size(uint32_t calls)
{
    struct nof_predictor_config cfg = nof_predictor_sized(calls);
    return (sizeof(struct nof_watch) + 63) / 64 * 64 + nof_recv_predictor_mem_size(&cfg);
}

void nof_watch_set(struct nof_nic *nic, struct nof_endpoint *ep)
{
    enum nof_predictor_kind kind = (enum nof_predictor_kind)nic->features[NOF_F_PREDICTION];
    size_t bytes = nof_watch_mem_size(nic->cfg.predict_calls);
    struct nof_watch *w = (void *)(nic->watches + ep->index * bytes);
    struct nof_predictor_config cfg = nof_predictor_sized(nic->cfg.predict_calls);
    ep->watch = NULL;
    if (kind == NOF_PREDICTOR_OFF)
        return;
    uint32_t calls = nic->cfg.predict_calls;
    *w = (struct nof_watch){.sleep = NOF_WATCH_SLEEP_MIN,
                            .window_calls = calls > NOF_WATCH_WINDOW_MIN ? calls : NOF_WATCH_WINDOW_MIN};
    w->window = w->window_calls;
    w->predictor = nof_recv_predictor_init((unsigned char *)w + (sizeof *w + 63) / 64 * 64, &cfg, kind);
    ep->watch = w;
}

static void sleep_or_not(struct nof_watch *w)
{
    if (w->window_hits < w->window_calls / 4) {
        w->asleep = w->sleep;
        w->sleep = w->sleep < NOF_WATCH_SLEEP_MAX ? 2 * w->sleep : w->sleep;
        nof_recv_predictor_distrust(w->predictor);
    } else {
        w->sleep = NOF_WATCH_SLEEP_MIN;
    }
    w->window = w->window_calls;
    w->window_hits = 0;
}

static void observe(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_message_id *id,
                    uint64_t callsite)
{
    struct nof_watch *w = ep->watch;
    ep->receives++;
    unsigned verdict = nof_recv_predictor_observe(w->predictor, id, callsite);
    if (verdict & NOF_PREDICT_HIT)
        nof_count(nic, ep, NOF_C_PREDICT_HITS, 1);
    if (verdict & NOF_PREDICT_MISS)
        nof_count(nic, ep, NOF_C_PREDICT_MISSES, 1);
    if (verdict & NOF_PREDICT_OFFERED)
        nof_count(nic, ep, NOF_C_PREDICT_OFFERS, 1);
    if (verdict & NOF_PREDICT_OFFER_HIT)
        nof_count(nic, ep, NOF_C_PREDICT_OFFER_HITS, 1);
    w->window_hits += verdict & NOF_PREDICT_HIT;
    w->window--;
    if (w->window == 0)
        sleep_or_not(w);
}

/* What waits no longer for a wildcard before it. */
static void drain(struct nof_nic *nic, struct nof_endpoint *ep)
{
    struct nof_watch *w = ep->watch;
    /* bound: wildcard receives that wait, NOF_WATCH_WAITING; paid by the endpoint's receives */
    while (w->count > 0 && w->waiting[w->head].state != NOF_WATCH_WILD) {
        const struct nof_watch_call *c = &w->waiting[w->head];
        if (c->state == NOF_WATCH_READY)
            observe(nic, ep, &c->id, c->callsite);
        w->head = (w->head + 1) % NOF_WATCH_WAITING;
        w->count--;
    }
}

void nof_watch_learn(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_match_key *key,
                     uint64_t callsite, uint32_t recv)
{
    struct nof_watch *w = ep->watch;
    struct nof_watch_call call = {
        .id = {.source = key->source, .tag = key->tag, .ctx = key->ctx}, .recv = recv, .callsite = callsite};
    if (w->count == NOF_WATCH_WAITING) {
        w->waiting[w->head].state = NOF_WATCH_GONE;
        drain(nic, ep);
    }
    if (nof_match_kind(key) != 0) {
        call.state = NOF_WATCH_WILD;
    } else if (w->count == 0) {
        observe(nic, ep, &call.id, callsite);
        return;
    }
    w->waiting[(w->head + w->count) % NOF_WATCH_WAITING] = call;
    w->count++;
}

static struct nof_watch_call *find(struct nof_watch *w, uint32_t recv)
{
    /* bound: wildcard receives that wait, NOF_WATCH_WAITING; paid by the endpoint's receives */
    for (uint32_t i = 0; i < w->count; i++) {
        struct nof_watch_call *c = &w->waiting[(w->head + i) % NOF_WATCH_WAITING];
        if (c->state == NOF_WATCH_WILD && c->recv == recv)
            return c;
    }
    return NULL;
}

void nof_watch_matched(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t recv,
                       const struct nof_match_key *key)
{
    struct nof_watch_call *c = find(ep->watch, recv);
    if (c == NULL)
        return;
    c->id = (struct nof_message_id){.source = key->source, .tag = key->tag, .ctx = key->ctx};
    c->state = NOF_WATCH_READY;
    drain(nic, ep);
}

void nof_watch_gone(struct nof_nic *nic, struct nof_endpoint *ep, uint32_t recv)
{
    struct nof_watch_call *c = find(ep->watch, recv);
    if (c == NULL)
        return;
    c->state = NOF_WATCH_GONE;
    drain(nic, ep);
}

void nof_watch_hint(struct nof_endpoint *ep, uint64_t callsite)
{
    nof_recv_predictor_hint(ep->watch->predictor, callsite);
}

uint32_t nof_watch_predict(const struct nof_endpoint *ep, uint32_t k, struct nof_message_id *out)
{
    return ep->watch != NULL ? nof_recv_predictor_predict(ep->watch->predictor, k, out) : 0;
}
