/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is given is checked and added up; the algorithms then place it, each in a file of its own. */
#include "phases.h"

#include <stdlib.h>
#include <string.h>

#include "nof/status.h"
#include "phases_build.h"

static const struct {
    const char *name;
    int (*place)(struct nof_phases_build *b);
} algorithms[] = {
#define X(id, name) {#name, nof_phases_##name},
    NOF_PHASES_ALGORITHMS(X)
#undef X
};

const char *nof_phases_algorithm_name(enum nof_phases_algorithm algorithm)
{
    return (unsigned)algorithm < NOF_PHASES_ALGORITHM_COUNT ? algorithms[algorithm].name : NULL;
}

static bool acceptable(enum nof_phases_algorithm algorithm, const struct nof_phases_pattern *p)
{
    uint64_t left_bytes = INT64_MAX;

    if ((unsigned)algorithm >= NOF_PHASES_ALGORITHM_COUNT || p->nodes == 0 ||
        p->nodes > NOF_PHASES_NODES_MAX || p->message_count > NOF_PHASES_MESSAGES_MAX)
        return false;
    for (size_t i = 0; i < p->message_count; i++) {
        const struct nof_phases_message *m = &p->message[i];

        if (m->source >= p->nodes || m->destination >= p->nodes || m->bytes > left_bytes)
            return false;
        left_bytes -= m->bytes;
    }
    return true;
}

/* What node `source` sends: each destination's messages become one. sum_of: of each destination, its number in
 * b->message, if that is one of this source. */
static void add_up_source(struct nof_phases_build *b, const struct nof_phases_pattern *p, const uint32_t *at,
                          const uint32_t *end, uint32_t *sum_of)
{
    uint32_t begin = b->count;

    for (; at < end; at++) {
        const struct nof_phases_message *m = &p->message[*at];
        uint32_t *sum = &sum_of[m->destination];

        if (m->bytes == 0)
            continue;
        if (m->source == m->destination) {
            b->out->local_count++;
            b->out->local_bytes += m->bytes;
            continue;
        }
        if (*sum < begin || *sum >= b->count) {
            *sum = b->count++;
            b->message[*sum] = (struct nof_phases_sum){
                .order = *at, .node = {(uint16_t)m->source, (uint16_t)m->destination}};
        }
        b->message[*sum].bytes += m->bytes;
        b->link_bytes[NOF_PHASES_SENDING][m->source] += m->bytes;
        b->link_bytes[NOF_PHASES_RECEIVING][m->destination] += m->bytes;
    }
}

static int add_up(struct nof_phases_build *b, const struct nof_phases_pattern *p)
{
    struct nof_phases_lists sources = {NULL, NULL};
    uint32_t *source_of = malloc((p->message_count + 1) * sizeof(*source_of));
    uint32_t *sum_of = malloc(b->nodes * sizeof(*sum_of));
    int rc = NOF_ENOMEM;

    if (source_of != NULL && sum_of != NULL) {
        for (size_t i = 0; i < p->message_count; i++)
            source_of[i] = p->message[i].source;
        memset(sum_of, 0xff, b->nodes * sizeof(*sum_of));
        rc = nof_phases_deal(&sources, source_of, (uint32_t)p->message_count, b->nodes);
    }
    for (uint32_t s = 0; rc == NOF_OK && s < b->nodes; s++)
        add_up_source(b, p, sources.at + sources.first[s], sources.at + sources.first[s + 1], sum_of);
    nof_phases_lists_free(&sources);
    free(source_of);
    free(sum_of);
    return rc;
}

static void total(const struct nof_phases_build *b)
{
    struct nof_phases *out = b->out;

    out->message_count = b->count;
    for (size_t p = 0; p < out->phase_count; p++)
        out->maxima_bytes += out->phase[p].link_bytes;
    for (uint32_t n = 0; n < b->nodes; n++)
        for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
            if (b->link_bytes[side][n] > out->fullest_link_bytes)
                out->fullest_link_bytes = b->link_bytes[side][n];
}

static int build(struct nof_phases_build *b, const struct nof_phases_pattern *p,
                 int (*place)(struct nof_phases_build *))
{
    int rc;

    b->message = malloc((p->message_count + 1) * sizeof(*b->message));
    if (b->message == NULL)
        return NOF_ENOMEM;
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++) {
        b->link_bytes[side] = calloc(b->nodes, sizeof(uint64_t));
        b->small_bytes[side] = calloc(b->nodes, sizeof(uint64_t));
        if (b->link_bytes[side] == NULL || b->small_bytes[side] == NULL)
            return NOF_ENOMEM;
    }
    rc = add_up(b, p);
    if (rc == NOF_OK)
        rc = place(b);
    if (rc == NOF_OK)
        total(b);
    return rc;
}

int nof_phases_schedule(enum nof_phases_algorithm algorithm, const struct nof_phases_pattern *pattern,
                        uint64_t threshold_bytes, struct nof_phases **phases_out)
{
    struct nof_phases_build b = {.threshold_bytes = threshold_bytes, .nodes = pattern->nodes};
    int rc;

    if (!acceptable(algorithm, pattern))
        return NOF_EINVAL;
    b.out = calloc(1, sizeof(*b.out));
    if (b.out == NULL)
        return NOF_ENOMEM;
    b.out->nodes = pattern->nodes;
    rc = build(&b, pattern, algorithms[algorithm].place);
    free(b.message);
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++) {
        free(b.link_bytes[side]);
        free(b.small_bytes[side]);
    }
    if (rc != NOF_OK)
        nof_phases_free(b.out);
    else
        *phases_out = b.out;
    return rc;
}

void nof_phases_free(struct nof_phases *phases)
{
    if (phases == NULL)
        return;
    free(phases->phase);
    free(phases->piece);
    free(phases);
}
