/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive predictor: foretells the next receive calls of one endpoint.
 *
 *   init() -> observe() once per receive call, in call order, with the message id that it was given
 *             (a wildcard: with what it matched)
 *             predict(k) at any time between: the next k calls, or fewer, or none
 *             hint(site) before a call whose site is known beforehand (MPIX_Pre_receive)
 *             choose(kind) at any time: begins to learn anew
 *
 *   call site (tag of the paper) ─ sites ─┐
 *   message id ─────────────────── ids ───┴─> history ring: what was called, linked by site
 *
 * Two questions are answered and counted apart. The *verdict* on a call is the paper's: would the
 * predictor, told the site of the call, have named its message id? The *offer* is what predict()
 * said before the call, without knowing its site; it is made only while recent offers would have
 * been right about nine times in ten, so it is silent rather than wrong.
 *
 * Memory: caller's, nof_recv_predictor_mem_size() bytes, aligned to 64; bounded, what does not fit
 * is forgotten (the oldest first) and costs hits, nothing else. Positions are counts of calls modulo
 * 2^32. Threads: one NIC core owns it. Cost: observe() is O(1), no division, no allocation; in the
 * initialization phase of a site it looks at up to NOF_PREDICT_INIT_MAX earlier calls.
 * Source: docs/SOURCES.md, prediction, section 6; rules in docs/RECEIVE_PREDICTION.md. */
#ifndef NOF_RECV_PREDICTOR_H
#define NOF_RECV_PREDICTOR_H

#include <stddef.h>
#include <stdint.h>

#define NOF_PREDICT_FIRST_CYCLE 6u /* least length of the first cycle, section 6.1 */
#define NOF_PREDICT_INIT_MAX 64u /* concurrent cycle heads of one site */

/* Every kind, in the order of feature `prediction`. A new one is a table of operations in predict/, a line here, and its
 * name among the feature's choices. X(ID, table) */
#define NOF_PREDICTORS(X) \
    X(SINGLE_CYCLE, nof_predictor_single) \
    X(TAG, nof_predictor_tag) \
    X(TAG_CYCLE, nof_predictor_tag_cycle) \
    X(TAG_BETTERCYCLE, nof_predictor_tag_bettercycle) \
    X(AUTO, nof_predictor_auto)

enum nof_predictor_kind { /* the values of feature `prediction` */
                          NOF_PREDICTOR_OFF = 0,
#define X(id, table) NOF_PREDICTOR_##id,
                          NOF_PREDICTORS(X)
#undef X
                              NOF_PREDICTOR_KINDS
};

/* What a receive names. The destination is the endpoint. */
struct nof_message_id {
    int32_t source; /* job rank, >= 0 */
    int32_t tag; /* >= 0 */
    uint32_t ctx;
};

/* Each a power of two; 0 takes the default in brackets. */
struct nof_predictor_config {
    uint32_t ids; /* message ids remembered, 4..32768 [256] */
    uint32_t sites; /* call sites remembered, 4..32768 [64] */
    uint32_t history; /* calls remembered: bound of a cycle's length, 16..32768 [1024] */
    uint32_t cycles; /* broken cycles that Tag-bettercycle keeps, all sites together, 4..32768 [128] */
};

enum nof_predict_verdict { /* bits of what observe() returns */
                           NOF_PREDICT_HIT = 1, /* named beforehand */
                           NOF_PREDICT_MISS = 2, /* another was named; neither: nothing was */
                           NOF_PREDICT_OFFERED = 4, /* predict(1) would have named one */
                           NOF_PREDICT_OFFER_HIT = 8, /* the one that predict(1) would have named */
};

struct nof_recv_predictor;

/* In proportion, for a history of `calls`: what nof_nic_config.predict_calls and `nof replay` mean. */
struct nof_predictor_config nof_predictor_sized(uint32_t calls);

/* Bytes; 0 if the configuration is out of bounds. */
size_t nof_recv_predictor_mem_size(const struct nof_predictor_config *cfg);

/* cfg: one for which mem_size() is not 0. kind: not OFF. */
struct nof_recv_predictor *nof_recv_predictor_init(void *mem, const struct nof_predictor_config *cfg,
                                                   enum nof_predictor_kind kind);

/* Another kind, or the same anew: everything learnt is forgotten. kind: not OFF. */
void nof_recv_predictor_choose(struct nof_recv_predictor *p, enum nof_predictor_kind kind);

/* `id` was asked for by the next receive call. callsite: the paper's tag, any number that is the
 * same whenever this call of the program is executed; 0 if unknown. Returns verdict bits. */
unsigned nof_recv_predictor_observe(struct nof_recv_predictor *p, const struct nof_message_id *id,
                                    uint64_t callsite);

/* The next call will come from this site: the paper's pre-receive(tag). */
void nof_recv_predictor_hint(struct nof_recv_predictor *p, uint64_t callsite);

/* Calls were left out: nothing is offered until some offers would have been right again. */
void nof_recv_predictor_distrust(struct nof_recv_predictor *p);

/* The next calls in order into out[0..k): returns how many are known, 0 while learning or while
 * predictions have been wrong lately. The same id may come several times. O(k). */
uint32_t nof_recv_predictor_predict(struct nof_recv_predictor *p, uint32_t k, struct nof_message_id *out);

/* "off", "single-cycle", "tag", ...; NULL if out of range. */
const char *nof_predictor_name(enum nof_predictor_kind kind);

#endif
