/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predictor that picks: Single-cycle, Tag, Tag-bettercycle (which is Tag-cycle where no cycle breaks) and the
 * context predictor all learn, and the one that had most hits lately says what is a hit. Before a call, when its
 * site is not known, the context predictor speaks, because Tag without sites is nothing; where it knows no place,
 * or not that of a hint, the one with most hits does. */
#include "predict/recv_predictor_state.h"

#define SHIFT 5 /* a call weighs 1/32 */
#define GAIN (UINT16_MAX >> SHIFT)

static const struct nof_predictor_ops *const candidate[NOF_PREDICT_CANDIDATES] = {
    &nof_predictor_context, &nof_predictor_single, &nof_predictor_tag, &nof_predictor_tag_bettercycle};

static unsigned judge_auto(struct nof_recv_predictor *p, uint16_t site, uint16_t id)
{
    struct nof_predict_auto *a = &p->picks;
    unsigned verdict[NOF_PREDICT_CANDIDATES];
    uint8_t best = a->best;
    for (uint8_t i = 0; i < NOF_PREDICT_CANDIDATES; i++) {
        verdict[i] = candidate[i]->judge(p, site, id);
        a->hits[i] =
            (uint16_t)(a->hits[i] - (a->hits[i] >> SHIFT) + ((verdict[i] & NOF_PREDICT_HIT) != 0 ? GAIN : 0));
        if (a->hits[i] > a->hits[a->best] + GAIN) /* one call is no reason to change */
            a->best = i;
    }
    return verdict[best];
}

static uint32_t walk_auto(struct nof_recv_predictor *p, uint32_t k, uint16_t *out)
{
    uint32_t n = nof_predictor_context.walk(p, k, out);
    return n != 0 ? n : candidate[p->picks.best]->walk(p, k, out);
}

const struct nof_predictor_ops nof_predictor_auto = {"auto", 1, judge_auto, walk_auto};
