/* SPDX-License-Identifier: BSD-3-Clause */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>

/* Messages of one sender to one receiver in one communicator, in the order of their sends. */
struct stream {
    uint32_t *item;
    unsigned count;
    unsigned head; /* all before it are taken */
};

struct judge {
    struct nof_cluster *c;
    const struct nof_program *p;
    struct stream *stream; /* [comm][src][dst] */
    bool *taken; /* by message */
};

static struct stream *stream_of(const struct judge *j, unsigned comm, int src, int dst)
{
    unsigned n = j->p->nranks;
    return &j->stream[((size_t)comm * n + (unsigned)src) * n + (unsigned)dst];
}

static const struct nof_program *sorted_program; /* qsort() hands nothing on */

static int by_start(const void *a, const void *b)
{
    uint32_t x = sorted_program->sent[*(const uint32_t *)a].order;
    uint32_t y = sorted_program->sent[*(const uint32_t *)b].order;
    return (x > y) - (x < y);
}

static int by_posting(const void *a, const void *b)
{
    uint32_t x = sorted_program->received[*(const uint32_t *)a].order;
    uint32_t y = sorted_program->received[*(const uint32_t *)b].order;
    return (x > y) - (x < y);
}

static void *array(size_t n, size_t bytes)
{
    void *mem = calloc(n + 1, bytes);
    if (mem == NULL)
        abort();
    return mem;
}

static void collect_streams(struct judge *j)
{
    const struct nof_program *p = j->p;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < p->nsent; i++) {
            const struct nof_sent *s = &p->sent[i];
            struct stream *st = stream_of(j, s->comm, s->src, s->dst);
            if (!s->started || s->cancelled || s->abandoned)
                continue;
            if (pass == 1)
                st->item[st->count] = i;
            st->count++;
        }
        for (size_t i = 0; pass == 0 && i < (size_t)p->ncomms * p->nranks * p->nranks; i++) {
            j->stream[i].item = array(j->stream[i].count, sizeof(uint32_t));
            j->stream[i].count = 0;
        }
    }
    for (size_t i = 0; i < (size_t)p->ncomms * p->nranks * p->nranks; i++)
        qsort(j->stream[i].item, j->stream[i].count, sizeof(uint32_t), by_start);
}

static uint64_t sum_of(uint32_t message, uint32_t len)
{
    uint64_t sum = NOF_SUM_START;
    for (uint32_t i = 0; i < len; i++)
        sum = nof_sum_byte(sum, nof_payload_byte(message, i));
    return sum;
}

static void judge_contents(struct judge *j, uint32_t receive, uint32_t message)
{
    const struct nof_received *r = &j->p->received[receive];
    const struct nof_sent *s = &j->p->sent[message];
    uint32_t len = s->len < r->capacity ? s->len : r->capacity;
    if (r->truncated != (s->len > r->capacity) || r->got_len != len)
        nof_cluster_fail(j->c, "rank%d: receive %u of %u bytes got %u bytes%s of message %u, which has %u",
                         r->dst, receive, r->capacity, r->got_len, r->truncated ? " (MPI_ERR_TRUNCATE)" : "",
                         message, s->len);
    else if (r->sum != sum_of(message, len))
        nof_cluster_fail(j->c, "rank%d: receive %u has not the bytes of message %u", r->dst, receive,
                         message);
    else if (s->sync && s->done_ns < r->posted_ns)
        nof_cluster_fail(j->c, "rank%d: synchronous message %u ended before its receive %u began", s->src,
                         message, receive);
}

static void judge_receive(struct judge *j, uint32_t receive)
{
    const struct nof_received *r = &j->p->received[receive];
    bool fits = (r->source == NOF_PROGRAM_ANY || r->source == r->got_source) &&
                (r->tag == NOF_PROGRAM_ANY || r->tag == r->got_tag) && r->got_source >= 0 &&
                r->got_source < (int)j->p->nranks;
    if (!r->done || !fits) {
        nof_cluster_fail(j->c, "rank%d: receive %u (source %d, tag %d) %s (source %d, tag %d)", r->dst,
                         receive, r->source, r->tag,
                         r->done ? "got a message that it did not want" : "did not end", r->got_source,
                         r->got_tag);
        return;
    }
    struct stream *st = stream_of(j, r->comm, r->got_source, r->dst);
    while (st->head < st->count && j->taken[st->item[st->head]])
        st->head++;
    for (unsigned k = st->head; k < st->count; k++) {
        uint32_t message = st->item[k];
        const struct nof_sent *s = &j->p->sent[message];
        if (j->taken[message] || (r->tag != NOF_PROGRAM_ANY && r->tag != s->tag))
            continue;
        j->taken[message] = true;
        if (s->tag != r->got_tag)
            nof_cluster_fail(
                j->c, "rank%d: receive %u got tag %d of rank %d, whose message %u (tag %d) was before it",
                r->dst, receive, r->got_tag, r->got_source, message, s->tag);
        else
            judge_contents(j, receive, message);
        return;
    }
    nof_cluster_fail(j->c, "rank%d: receive %u got a message (source %d, tag %d) that nobody sent", r->dst,
                     receive, r->got_source, r->got_tag);
}

void nof_oracle_judge(struct nof_cluster *c, const struct nof_program *p)
{
    size_t streams = (size_t)p->ncomms * p->nranks * p->nranks;
    struct judge j = {.c = c,
                      .p = p,
                      .stream = array(streams, sizeof(struct stream)),
                      .taken = array(p->nsent, sizeof(bool))};
    uint32_t *item = array(p->nreceived, sizeof(*item));
    unsigned n = 0;
    sorted_program = p;
    collect_streams(&j);
    for (uint32_t i = 0; i < p->nreceived; i++)
        if (p->received[i].posted && !p->received[i].cancelled)
            item[n++] = i;
    qsort(item, n, sizeof(*item), by_posting);
    for (unsigned i = 0; i < n; i++)
        judge_receive(&j, item[i]);
    for (uint32_t i = 0; i < p->nsent; i++) {
        const struct nof_sent *s = &p->sent[i];
        if (s->started && !s->cancelled && !s->abandoned && (!j.taken[i] || !s->done))
            nof_cluster_fail(c, "message %u of rank %d to rank %d (communicator %u, tag %d, %u bytes) %s", i,
                             s->src, s->dst, s->comm, s->tag, s->len,
                             s->done ? "was lost" : "was never done");
    }
    for (size_t i = 0; i < streams; i++)
        free(j.stream[i].item);
    free(j.stream);
    free(j.taken);
    free(item);
}

void nof_oracle_stuck(const struct nof_program *p, unsigned rank, char *text, size_t bytes)
{
    const struct nof_steps *st = &p->rank[rank];
    size_t n = 0;
    const struct nof_step *step = st->at < st->count ? &st->step[st->at] : NULL;
    int wrote = snprintf(text, bytes, "rank%u at step %u of %u, %s", rank, st->at, st->count,
                         nof_step_name(step == NULL ? SIM_STEP_KINDS : step->kind));
    n += wrote > 0 ? (size_t)wrote : 0;
    if (step != NULL && step->kind != SIM_STEP_FINISH && n < bytes) {
        wrote = snprintf(text + n, bytes - n, " %u", step->item);
        n += wrote > 0 ? (size_t)wrote : 0;
    }
    unsigned named = 0;
    for (uint32_t i = 0; i < p->nreceived && named < 2; i++) {
        const struct nof_received *r = &p->received[i];
        if (r->dst != (int)rank || !r->posted || r->done || n >= bytes)
            continue;
        wrote = snprintf(text + n, bytes - n, "; receive %u (source %d, tag %d, communicator %u)", i,
                         r->source, r->tag, r->comm);
        n += wrote > 0 ? (size_t)wrote : 0;
        named++;
    }
    for (uint32_t i = 0; i < p->nsent && named < 4; i++) {
        const struct nof_sent *s = &p->sent[i];
        if (s->src != (int)rank || !s->started || s->done || n >= bytes)
            continue;
        wrote = snprintf(text + n, bytes - n, "; message %u to rank %d (tag %d)", i, s->dst, s->tag);
        n += wrote > 0 ? (size_t)wrote : 0;
        named++;
    }
}
