/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the receive predictor: the tables that all kinds share, and the ops of one kind.
 *
 * A cycle is never copied: while its predictions come true, the last calls are the cycle, so it is
 * two positions in the history and a length. Cycles of a site are followed along `next`. A position
 * is good while it is in the history and its id has not been given to another message since. */
#ifndef NOF_RECV_PREDICTOR_STATE_H
#define NOF_RECV_PREDICTOR_STATE_H

#include <stdbool.h>

#include "recv_predictor.h"

#define NOF_PREDICT_NO_SITE UINT16_MAX
#define NOF_PREDICT_NEW_SITE (UINT16_MAX - 1) /* a hint to one that has not called yet */
#define NOF_PREDICT_WAYS 4u /* places where an entry of a table may be */

enum nof_predict_phase {
    NOF_PHASE_INIT = 0, /* every call is a cycle head */
    NOF_PHASE_FORM, /* one head, waiting for it to come again */
    NOF_PHASE_FOLLOW, /* a cycle is known */
};

struct nof_predict_id {
    struct nof_message_id id;
    uint32_t born; /* position of the first call since the slot is this id's */
    uint32_t first; /* as a head in the initialization phase */
    uint32_t used;
};

struct nof_predict_site {
    uint32_t key;
    uint32_t last_at; /* position of the site's last call */
    uint32_t head; /* INIT: first call since it began; FORM: the head */
    uint32_t at; /* FOLLOW: where the predicted call is in the lap before */
    uint32_t lap, prev; /* FOLLOW: first element of this lap, and of the one before */
    uint32_t walked; /* epoch of the walk that `walk_at` and `walk_step` belong to */
    uint32_t walk_at;
    uint16_t walk_step;
    uint16_t last_id; /* of the site's last call */
    uint16_t len; /* FOLLOW: of the cycle; else calls since `head` */
    uint16_t step; /* FOLLOW: of the predicted call in the cycle; 0: `lap` is a whole one */
    uint8_t phase;
    uint8_t used;
};

struct nof_predict_call {
    uint16_t id;
    uint16_t site;
    uint16_t next; /* calls until the site's next one; 0: none yet */
};

struct nof_predict_cycle { /* one that broke, by its head */
    uint32_t at; /* of a whole lap */
    uint16_t site, head_id, len, reserved;
};

#define NOF_PREDICT_CONTEXTS 3u /* lengths of sequences that are looked up */

struct nof_predict_context { /* the call that came after a sequence */
    uint16_t check; /* more bits of the sequence's hash */
    uint16_t pos; /* low bits: the history is no longer than they tell apart */
};

struct nof_predict_single {
    uint32_t head, len, since;
    uint8_t phase;
};

#define NOF_PREDICT_CANDIDATES 4u

struct nof_predict_auto {
    uint16_t hits[NOF_PREDICT_CANDIDATES]; /* per candidate, lately */
    uint8_t best;
};

struct nof_recv_predictor {
    const struct nof_predictor_ops *ops;
    struct nof_predict_id *ids;
    struct nof_predict_site *sites;
    struct nof_predict_call *calls;
    struct nof_predict_cycle *cycles;
    struct nof_predict_context *contexts;
    uint32_t contexts_mask;
    uint32_t context_hash[NOF_PREDICT_CONTEXTS];
    uint32_t place; /* where calls went before as they went lately; if: */
    uint8_t placed;
    uint32_t ids_mask, sites_mask, calls_mask, cycles_mask;
    uint32_t now; /* position of the next call */
    uint32_t epoch; /* of walks */
    uint16_t hint_site;
    uint16_t ahead_id; /* first of the next walk, if ahead */
    uint8_t ahead;
    uint8_t trust;
    uint8_t settled; /* tag family: the initialization phase is over */
    struct nof_predict_single single;
    struct nof_predict_auto picks;
};

struct nof_predictor_ops {
    const char *name;
    int places; /* it needs `place` */
    /* HIT, MISS or 0 for the call of `id` at `site`, and learn it. The call is not in the history yet. */
    unsigned (*judge)(struct nof_recv_predictor *p, uint16_t site, uint16_t id);
    /* The next calls' ids, at most k >= 1, as numbers of this predictor. */
    uint32_t (*walk)(struct nof_recv_predictor *p, uint32_t k, uint16_t *out);
};

#define X(id, table) extern const struct nof_predictor_ops table;
NOF_PREDICTORS(X)
#undef X
extern const struct nof_predictor_ops nof_predictor_context; /* a candidate of auto, and none by itself */

/* After each call: look for the place where calls went so before. */
void nof_predict_place(struct nof_recv_predictor *p);
/* The position after `at` of a walk that begins at `place`: it goes round from there to now. */
uint32_t nof_predict_after(const struct nof_recv_predictor *p, uint32_t at);

static inline uint32_t nof_predict_mix(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return (uint32_t)(x >> 32);
}

static inline struct nof_predict_call *nof_predict_at(const struct nof_recv_predictor *p, uint32_t pos)
{
    return &p->calls[pos & p->calls_mask];
}

/* Is the call at `pos` still in the history, and its id still the same message? */
static inline bool nof_predict_good(const struct nof_recv_predictor *p, uint32_t pos)
{
    uint32_t age = p->now - pos;
    if (age == 0 || age > p->calls_mask)
        return false;
    return (int32_t)(pos - p->ids[nof_predict_at(p, pos)->id].born) >= 0;
}

/* Calls since `id` (being called now) was first called in an initialization phase that began at `since`; it
 * becomes a head if it is not one. 0: a new head. */
static inline uint32_t nof_predict_span(struct nof_recv_predictor *p, uint16_t id, uint32_t since)
{
    struct nof_predict_id *slot = &p->ids[id];
    uint32_t span = p->now - slot->first;
    if (span >= p->calls_mask || (int32_t)(slot->first - since) < 0) {
        slot->first = p->now;
        return 0;
    }
    return span;
}

#endif
