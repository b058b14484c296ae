/* SPDX-License-Identifier: BSD-3-Clause */
#include "recv_predictor.h"

#include <stdbool.h>
#include <string.h>

#include "predict/recv_predictor_state.h"

#define TRUST_MAX 32u
#define TRUST_MIN 8u /* to offer */
#define TRUST_LOSS 8u /* by one wrong offer: a hit ratio of 8/9 keeps the trust level */
#define WALK_CHUNK 64u
#define CONTEXTS(history) (2 * (history)) /* of three per call, most of which are those of a lap before */

static const struct nof_predictor_ops *const kinds[NOF_PREDICTOR_KINDS] = {
#define X(id, table) [NOF_PREDICTOR_##id] = &table,
    NOF_PREDICTORS(X)
#undef X
};

const char *nof_predictor_name(enum nof_predictor_kind kind)
{
    if ((unsigned)kind >= NOF_PREDICTOR_KINDS)
        return NULL;
    return kind == NOF_PREDICTOR_OFF ? "off" : kinds[kind]->name;
}

static bool bounded(uint32_t n, uint32_t min)
{
    return n >= min && n <= 32768 && (n & (n - 1)) == 0;
}

static struct nof_predictor_config filled(const struct nof_predictor_config *cfg)
{
    return (struct nof_predictor_config){
        .ids = cfg->ids ? cfg->ids : 256,
        .sites = cfg->sites ? cfg->sites : 64,
        .history = cfg->history ? cfg->history : 1024,
        .cycles = cfg->cycles ? cfg->cycles : 128,
    };
}

struct nof_predictor_config nof_predictor_sized(uint32_t calls)
{
    return (struct nof_predictor_config){.ids = calls / 4,
                                         .sites = calls >= 64 ? calls / 16 : NOF_PREDICT_WAYS,
                                         .history = calls,
                                         .cycles = calls >= 32 ? calls / 8 : NOF_PREDICT_WAYS};
}

static size_t up(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

size_t nof_recv_predictor_mem_size(const struct nof_predictor_config *cfg)
{
    struct nof_predictor_config c = filled(cfg);
    if (!bounded(c.ids, NOF_PREDICT_WAYS) || !bounded(c.sites, NOF_PREDICT_WAYS) || !bounded(c.history, 16) ||
        !bounded(c.cycles, NOF_PREDICT_WAYS))
        return 0;
    return up(sizeof(struct nof_recv_predictor)) + up(c.ids * sizeof(struct nof_predict_id)) +
           up(c.sites * sizeof(struct nof_predict_site)) + up(c.history * sizeof(struct nof_predict_call)) +
           up(c.cycles * sizeof(struct nof_predict_cycle)) +
           up(CONTEXTS(c.history) * sizeof(struct nof_predict_context));
}

static void *take(unsigned char **at, size_t bytes)
{
    void *mine = *at;
    *at += up(bytes);
    return mine;
}

struct nof_recv_predictor *nof_recv_predictor_init(void *mem, const struct nof_predictor_config *cfg,
                                                   enum nof_predictor_kind kind)
{
    struct nof_predictor_config c = filled(cfg);
    unsigned char *at = mem;
    struct nof_recv_predictor *p = take(&at, sizeof *p);
    memset(p, 0, sizeof *p);
    p->ids = take(&at, c.ids * sizeof *p->ids);
    p->sites = take(&at, c.sites * sizeof *p->sites);
    p->calls = take(&at, c.history * sizeof *p->calls);
    p->cycles = take(&at, c.cycles * sizeof *p->cycles);
    p->ids_mask = c.ids - 1;
    p->sites_mask = c.sites - 1;
    p->calls_mask = c.history - 1;
    p->cycles_mask = c.cycles - 1;
    p->contexts = take(&at, CONTEXTS(c.history) * sizeof *p->contexts);
    p->contexts_mask = CONTEXTS(c.history) - 1;
    nof_recv_predictor_choose(p, kind);
    return p;
}

void nof_recv_predictor_choose(struct nof_recv_predictor *p, enum nof_predictor_kind kind)
{
    struct nof_recv_predictor old = *p;
    memset(p, 0, sizeof *p);
    p->ops = kinds[kind];
    p->ids = old.ids;
    p->sites = old.sites;
    p->calls = old.calls;
    p->cycles = old.cycles;
    p->ids_mask = old.ids_mask;
    p->sites_mask = old.sites_mask;
    p->calls_mask = old.calls_mask;
    p->cycles_mask = old.cycles_mask;
    p->contexts = old.contexts;
    p->contexts_mask = old.contexts_mask;
    p->hint_site = NOF_PREDICT_NO_SITE;
    memset(p->ids, 0, (p->ids_mask + 1) * sizeof *p->ids);
    memset(p->calls, 0, (p->calls_mask + 1) * sizeof *p->calls);
    memset(p->contexts, 0, (p->contexts_mask + 1) * sizeof *p->contexts);
    memset(p->sites, 0, (p->sites_mask + 1) * sizeof *p->sites);
    memset(p->cycles, 0, (p->cycles_mask + 1) * sizeof *p->cycles);
}

static uint16_t find_id(struct nof_recv_predictor *p, const struct nof_message_id *id)
{
    uint64_t words = (uint64_t)(uint32_t)id->source << 32 | (uint32_t)id->tag;
    uint32_t set = nof_predict_mix(words ^ (uint64_t)id->ctx << 16) & p->ids_mask & ~(NOF_PREDICT_WAYS - 1);
    uint32_t victim = set + (p->now & (NOF_PREDICT_WAYS - 1));
    /* bound: NOF_PREDICT_WAYS; paid by the endpoint's receives */
    for (uint32_t i = set; i < set + NOF_PREDICT_WAYS; i++) {
        struct nof_predict_id *slot = &p->ids[i];
        if (slot->used && slot->id.source == id->source && slot->id.tag == id->tag && slot->id.ctx == id->ctx)
            return (uint16_t)i;
        if (!slot->used) {
            victim = i;
            break;
        }
    }
    p->ids[victim] = (struct nof_predict_id){.id = *id, .born = p->now, .first = p->now, .used = 1};
    return (uint16_t)victim;
}

static uint16_t find_site(struct nof_recv_predictor *p, uint64_t callsite, int make)
{
    uint32_t key = (uint32_t)(callsite ^ callsite >> 32);
    uint32_t set = nof_predict_mix(key) & p->sites_mask & ~(NOF_PREDICT_WAYS - 1);
    uint32_t victim = set;
    /* bound: NOF_PREDICT_WAYS; paid by the endpoint's receives */
    for (uint32_t i = set; i < set + NOF_PREDICT_WAYS; i++) {
        struct nof_predict_site *s = &p->sites[i];
        if (s->used && s->key == key)
            return (uint16_t)i;
        if (!s->used) {
            victim = i;
            break;
        }
        if (p->now - s->last_at > p->now - p->sites[victim].last_at)
            victim = i;
    }
    if (!make)
        return NOF_PREDICT_NO_SITE;
    p->sites[victim] = (struct nof_predict_site){.key = key, .used = 1, .head = p->now, .last_at = p->now};
    return (uint16_t)victim;
}

static void record(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    struct nof_predict_site *s = &p->sites[site];
    uint32_t gap = p->now - s->last_at;
    if (gap != 0 && gap <= p->calls_mask)
        nof_predict_at(p, s->last_at)->next = (uint16_t)gap;
    *nof_predict_at(p, p->now) = (struct nof_predict_call){.id = id, .site = site};
    s->last_at = p->now;
    s->last_id = id;
    p->now++;
}

static void look_ahead(struct nof_recv_predictor *p)
{
    p->ahead = (uint8_t)p->ops->walk(p, 1, &p->ahead_id);
}

unsigned nof_recv_predictor_observe(struct nof_recv_predictor *p, const struct nof_message_id *id,
                                    uint64_t callsite)
{
    uint16_t site = find_site(p, callsite, 1);
    uint16_t n = find_id(p, id);
    unsigned verdict = 0;
    if (p->ahead) {
        bool right = n == p->ahead_id && p->ids[n].born != p->now;
        if (p->trust >= TRUST_MIN)
            verdict = right ? NOF_PREDICT_OFFERED | NOF_PREDICT_OFFER_HIT : NOF_PREDICT_OFFERED;
        if (right)
            p->trust = (uint8_t)(p->trust + (p->trust < TRUST_MAX));
        else
            p->trust = (uint8_t)(p->trust > TRUST_LOSS ? p->trust - TRUST_LOSS : 0);
    }
    verdict |= p->ops->judge(p, site, n);
    record(p, site, n);
    p->hint_site = NOF_PREDICT_NO_SITE;
    if (p->ops->places)
        nof_predict_place(p);
    look_ahead(p);
    return verdict;
}

void nof_recv_predictor_hint(struct nof_recv_predictor *p, uint64_t callsite)
{
    uint16_t site = find_site(p, callsite, 0);
    p->hint_site = site == NOF_PREDICT_NO_SITE ? NOF_PREDICT_NEW_SITE : site;
    look_ahead(p);
}

void nof_recv_predictor_distrust(struct nof_recv_predictor *p)
{
    p->trust = 0;
}

uint32_t nof_recv_predictor_predict(struct nof_recv_predictor *p, uint32_t k, struct nof_message_id *out)
{
    uint16_t ids[WALK_CHUNK];
    if (p->trust < TRUST_MIN || k == 0)
        return 0;
    uint32_t n = p->ops->walk(p, k < WALK_CHUNK ? k : WALK_CHUNK, ids);
    /* bound: lookahead, 64; paid by the endpoint's receives */
    for (uint32_t i = 0; i < n; i++)
        out[i] = p->ids[ids[i]].id;
    return n;
}
