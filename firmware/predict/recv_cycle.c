/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The four predictors of docs/SOURCES.md, prediction, section 6. */
#include "predict/recv_predictor_state.h"

/* Single-cycle (6.1). */

static unsigned judge_single(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    struct nof_predict_single *c = &p->single;
    (void)site;
    if (c->phase == NOF_PHASE_FOLLOW) {
        if (nof_predict_good(p, p->now - c->len) && nof_predict_at(p, p->now - c->len)->id == id)
            return NOF_PREDICT_HIT;
        c->phase = NOF_PHASE_FORM;
        c->head = p->now;
        return NOF_PREDICT_MISS;
    }
    if (c->phase == NOF_PHASE_INIT) {
        c->len = nof_predict_span(p, id, c->since);
        if (c->len >= NOF_PREDICT_FIRST_CYCLE)
            c->phase = NOF_PHASE_FOLLOW;
        return 0;
    }
    c->len = p->now - c->head;
    if (!nof_predict_good(p, c->head)) { /* longer than the history: every call is a head again */
        c->phase = NOF_PHASE_INIT;
        c->since = p->now;
        nof_predict_span(p, id, c->since);
    } else if (nof_predict_at(p, c->head)->id == id) {
        c->phase = NOF_PHASE_FOLLOW;
    }
    return 0;
}

static uint32_t walk_single(struct nof_recv_predictor *p, uint32_t k, uint16_t *out)
{
    uint32_t len = p->single.len;
    uint32_t at = p->now - len;
    if (p->single.phase != NOF_PHASE_FOLLOW)
        return 0;
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < k; i++) {
        if (!nof_predict_good(p, at))
            return i;
        out[i] = nof_predict_at(p, at)->id;
        at++;
        if (at == p->now)
            at -= len;
    }
    return k;
}

const struct nof_predictor_ops nof_predictor_single = {"single-cycle", 0, judge_single, walk_single};

/* The initialization phase is one of the whole endpoint: the tag predictors are silent until some id
 * comes again after the length of a first cycle. */
static int settled(struct nof_recv_predictor *p, uint16_t id)
{
    if (!p->settled && nof_predict_span(p, id, 0) >= NOF_PREDICT_FIRST_CYCLE)
        p->settled = 1;
    return p->settled;
}

static bool last_good(const struct nof_recv_predictor *p, const struct nof_predict_site *s)
{
    return s->last_at != p->now && (int32_t)(s->last_at - p->ids[s->last_id].born) >= 0;
}

/* The position after `at` in the calls of its site; a bad one if there is none. */
static uint32_t next_of(const struct nof_recv_predictor *p, uint32_t at)
{
    uint16_t next = nof_predict_at(p, at)->next;
    return next != 0 && nof_predict_good(p, at) ? at + next : p->now;
}

/* The id that cycle place `at` of site s foretells: 0 if it is lost. */
static int place(const struct nof_recv_predictor *p, const struct nof_predict_site *s, uint32_t at,
                 uint16_t *id_out)
{
    bool good = s->len == 1 ? last_good(p, s) : nof_predict_good(p, at);
    if (good)
        *id_out = s->len == 1 ? s->last_id : nof_predict_at(p, at)->id;
    return good;
}

/* For the sites that come next: the hinted one, then as they came after the place in the history.
 * `foretell` names the id for a site whose walk_at and walk_step are set, and moves them on. */
static uint32_t walk_sites(struct nof_recv_predictor *p, uint32_t k, uint16_t *out,
                           bool (*foretell)(struct nof_recv_predictor *, struct nof_predict_site *,
                                            uint16_t *))
{
    uint32_t at = p->place;
    p->epoch++;
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < k; i++) {
        bool good = p->placed && nof_predict_good(p, at);
        uint16_t site = good ? nof_predict_at(p, at)->site : NOF_PREDICT_NEW_SITE;
        if (i == 0 && p->hint_site != NOF_PREDICT_NO_SITE) {
            good = good && site == p->hint_site;
            site = p->hint_site;
        }
        if (site == NOF_PREDICT_NEW_SITE)
            return i;
        struct nof_predict_site *s = &p->sites[site];
        if (s->walked != p->epoch) {
            s->walked = p->epoch;
            s->walk_at = s->at;
            s->walk_step = s->step;
        }
        if (!foretell(p, s, &out[i]))
            return i;
        if (!good)
            return i + 1;
        at = nof_predict_after(p, at);
    }
    return k;
}

/* Tag (6.2). */

static unsigned judge_tag(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    const struct nof_predict_site *s = &p->sites[site];
    if (!last_good(p, s))
        return 0;
    return s->last_id == id ? NOF_PREDICT_HIT : NOF_PREDICT_MISS;
}

static bool foretell_tag(struct nof_recv_predictor *p, struct nof_predict_site *s, uint16_t *id_out)
{
    *id_out = s->last_id;
    return last_good(p, s);
}

static uint32_t walk_tag(struct nof_recv_predictor *p, uint32_t k, uint16_t *out)
{
    return walk_sites(p, k, out, foretell_tag);
}

const struct nof_predictor_ops nof_predictor_tag = {"tag", 1, judge_tag, walk_tag};

/* Tag-cycle (6.3) and Tag-bettercycle (6.4). */

/* The lap that begins at `from`, `len` calls of the site long, begins again with the call of now. */
static void follow(struct nof_recv_predictor *p, struct nof_predict_site *s, uint32_t from, uint16_t len)
{
    s->phase = NOF_PHASE_FOLLOW;
    s->len = len;
    s->step = len == 1 ? 0 : 1;
    s->prev = from;
    s->lap = p->now;
    s->at = len == 1 ? p->now : next_of(p, from);
}

static void begin(struct nof_recv_predictor *p, struct nof_predict_site *s, enum nof_predict_phase phase)
{
    s->phase = (uint8_t)phase;
    s->head = p->now;
    s->len = 1;
}

static void advance(struct nof_recv_predictor *p, struct nof_predict_site *s)
{
    if (s->step == 0) {
        s->prev = s->lap;
        s->lap = p->now;
    }
    s->step++;
    if (s->step == s->len) {
        s->step = 0;
        s->at = s->lap;
    } else {
        s->at = next_of(p, s->at);
    }
}

/* INIT: the earliest call of this site since the phase began that named the same id. */
static void find_cycle(struct nof_recv_predictor *p, struct nof_predict_site *s, uint16_t id)
{
    uint32_t at = s->head;
    uint16_t calls =
        s->last_at == p->now ? 0 : s->len; /* a site that is called for the first time has none */
    /* bound: calls of one cycle, of predict_calls; paid by the endpoint's receives */
    for (uint16_t i = 0; i < calls; i++) {
        if (!nof_predict_good(p, at)) {
            calls = NOF_PREDICT_INIT_MAX;
            break;
        }
        if (nof_predict_at(p, at)->id == id) {
            follow(p, s, at, (uint16_t)(calls - i));
            return;
        }
        at = next_of(p, at);
    }
    if (calls == 0 || calls >= NOF_PREDICT_INIT_MAX)
        begin(p, s, NOF_PHASE_INIT);
    else
        s->len++;
}

static void form_cycle(struct nof_recv_predictor *p, struct nof_predict_site *s, uint16_t id)
{
    if (!nof_predict_good(p, s->head))
        begin(p, s, NOF_PHASE_INIT);
    else if (nof_predict_at(p, s->head)->id == id)
        follow(p, s, s->head, s->len);
    else
        s->len++;
}

/* Learns the call; 1: a cycle broke with it. */
static unsigned judge_cycle(struct nof_recv_predictor *p, struct nof_predict_site *s, uint16_t id)
{
    uint16_t want;
    if (s->phase == NOF_PHASE_INIT) {
        find_cycle(p, s, id);
        return 0;
    }
    if (s->phase == NOF_PHASE_FORM) {
        form_cycle(p, s, id);
        return 0;
    }
    if (!place(p, s, s->at, &want)) {
        begin(p, s, NOF_PHASE_INIT);
        return 0;
    }
    if (want != id)
        return NOF_PREDICT_MISS;
    advance(p, s);
    return NOF_PREDICT_HIT;
}

static unsigned judge_tag_cycle(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    struct nof_predict_site *s = &p->sites[site];
    unsigned verdict = judge_cycle(p, s, id);
    if (verdict == NOF_PREDICT_MISS)
        begin(p, s, NOF_PHASE_FORM);
    return settled(p, id) ? verdict : 0;
}

/* First element of a lap that is whole. */
static uint32_t whole_lap(const struct nof_predict_site *s)
{
    return s->step == 0 ? s->lap : s->prev;
}

static bool foretell_cycle(struct nof_recv_predictor *p, struct nof_predict_site *s, uint16_t *id_out)
{
    if (!p->settled || s->phase != NOF_PHASE_FOLLOW || !place(p, s, s->walk_at, id_out))
        return false;
    s->walk_step++;
    if (s->walk_step == s->len) {
        s->walk_step = 0;
        s->walk_at = whole_lap(s);
    } else {
        s->walk_at = next_of(p, s->walk_at);
    }
    return true;
}

static uint32_t walk_tag_cycle(struct nof_recv_predictor *p, uint32_t k, uint16_t *out)
{
    return walk_sites(p, k, out, foretell_cycle);
}

const struct nof_predictor_ops nof_predictor_tag_cycle = {"tag-cycle", 1, judge_tag_cycle, walk_tag_cycle};

/* The cycle of this site and head that was kept, or NULL; then the place of one of its set, the oldest, in
 * *room_out. */
static struct nof_predict_cycle *kept(struct nof_recv_predictor *p, uint16_t site, uint16_t head_id,
                                      struct nof_predict_cycle **room_out)
{
    uint32_t hash = nof_predict_mix((uint64_t)site << 16 | head_id);
    struct nof_predict_cycle *set = &p->cycles[hash & p->cycles_mask & ~(NOF_PREDICT_WAYS - 1)];
    *room_out = set;
    for (uint32_t i = 0; i < NOF_PREDICT_WAYS; i++) {
        if (set[i].len != 0 && set[i].site == site && set[i].head_id == head_id)
            return &set[i];
        if (set[i].len == 0 || ((*room_out)->len != 0 && p->now - set[i].at > p->now - (*room_out)->at))
            *room_out = &set[i];
    }
    return NULL;
}

/* The cycle that site s has followed until now, for when its head comes again. */
static void keep(struct nof_recv_predictor *p, uint16_t site, const struct nof_predict_site *s)
{
    struct nof_predict_cycle *room;
    uint32_t at = whole_lap(s);
    if (!nof_predict_good(p, at))
        return;
    uint16_t head_id = nof_predict_at(p, at)->id;
    struct nof_predict_cycle *k = kept(p, site, head_id, &room);
    *(k != NULL ? k : room) =
        (struct nof_predict_cycle){.at = at, .site = site, .head_id = head_id, .len = s->len};
}

static unsigned judge_tag_bettercycle(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    struct nof_predict_site *s = &p->sites[site];
    unsigned verdict = judge_cycle(p, s, id);
    if (verdict == NOF_PREDICT_MISS) {
        struct nof_predict_cycle *room;
        keep(p, site, s);
        const struct nof_predict_cycle *k = kept(p, site, id, &room);
        if (k != NULL && nof_predict_good(p, k->at))
            follow(p, s, k->at, k->len);
        else
            begin(p, s, NOF_PHASE_FORM);
    }
    return settled(p, id) ? verdict : 0;
}

const struct nof_predictor_ops nof_predictor_tag_bettercycle = {"tag-bettercycle", 1, judge_tag_bettercycle,
                                                                walk_tag_cycle};
