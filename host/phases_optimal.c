/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pre-emptive open shop (docs/SOURCES.md, open shop): its makespan is the load of its fullest machine. It is the
 * decomposition of Birkhoff and von Neumann, with idle time where they have all links equally full.
 *
 * left: what the fullest link still carries. A node whose link carries that much is tight, and must send, or receive,
 * in every phase to come; one with slack may sit out that long. A phase of length d lets left shrink by d, and a
 * node's load by its piece, min(d, rest of its message): so d is at most the slack of each node plus the rest of its
 * message in the phase. Then either a node becomes tight, and stays so, or a tight node's message ends: at most
 * messages + 2 * nodes phases.
 *
 * Long phases are few phases: the least length that a phase shall have begins with left, and shrinks by a 32nd
 * whenever no matching allows it. At 1 byte there always is one, as long as something is left. */
#include "phases_build.h"

#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

struct shop {
    struct nof_phases_build *b;
    uint64_t *rest_bytes; /* of each message */
    uint64_t left_bytes;
    uint64_t least_bytes; /* that the phase shall take */
    uint64_t *load_bytes[NOF_PHASES_SIDES]; /* of each node: what is left to send, to receive */
    uint32_t *mate[NOF_PHASES_SIDES]; /* of each node: its message in this phase, or NOF_PHASES_NONE */
    struct nof_phases_lists messages[NOF_PHASES_SIDES]; /* of each node; a source's largest first */
    /* Of one search: nodes of the side that it begins on, and how each node of the other side was reached. */
    uint32_t *queue;
    uint32_t *reached_by; /* message, or NOF_PHASES_NONE */
};

static uint32_t end_of(const struct shop *s, uint32_t message, unsigned side)
{
    return s->b->message[message].node[side];
}

static uint64_t slack_bytes(const struct shop *s, unsigned side, uint32_t node)
{
    return s->left_bytes - s->load_bytes[side][node];
}

/* Does a phase with this message last long enough for both of its ends? */
static bool usable(const struct shop *s, uint32_t message)
{
    uint64_t rest_bytes = s->rest_bytes[message];

    return rest_bytes > 0 &&
           rest_bytes + slack_bytes(s, NOF_PHASES_SENDING, end_of(s, message, NOF_PHASES_SENDING)) >=
               s->least_bytes &&
           rest_bytes + slack_bytes(s, NOF_PHASES_RECEIVING, end_of(s, message, NOF_PHASES_RECEIVING)) >=
               s->least_bytes;
}

static bool required(const struct shop *s, unsigned side, uint32_t node)
{
    return slack_bytes(s, side, node) < s->least_bytes;
}

static void match(struct shop *s, uint32_t message)
{
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        s->mate[side][end_of(s, message, side)] = message;
}

static void unmatch(struct shop *s, uint32_t message)
{
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        s->mate[side][end_of(s, message, side)] = NOF_PHASES_NONE;
}

/* Along the path that reached node `at` of the other side, each node takes the message it was reached by. */
static void flip(struct shop *s, unsigned side, uint32_t from, uint32_t at)
{
    for (;;) {
        uint32_t message = s->reached_by[at];
        uint32_t node = end_of(s, message, side);
        uint32_t before = s->mate[side][node];

        match(s, message);
        if (node == from)
            return;
        at = end_of(s, before, !side);
    }
}

/* Gets `from` into the matching: an alternating path to a node of the other side that is free, or to one of its own
 * that is not required and gives way. No required node loses its message. */
static bool cover_node(struct shop *s, unsigned side, uint32_t from)
{
    const struct nof_phases_lists *lists = &s->messages[side];
    uint32_t queued = 0;

    memset(s->reached_by, 0xff, s->b->nodes * sizeof(*s->reached_by));
    s->queue[queued++] = from;
    for (uint32_t q = 0; q < queued; q++) {
        for (uint32_t k = lists->first[s->queue[q]]; k < lists->first[s->queue[q] + 1]; k++) {
            uint32_t message = lists->at[k];
            uint32_t other = end_of(s, message, !side);
            uint32_t mate = s->mate[!side][other];

            if (s->reached_by[other] != NOF_PHASES_NONE || !usable(s, message))
                continue;
            s->reached_by[other] = message;
            if (mate == NOF_PHASES_NONE || !required(s, side, end_of(s, mate, side))) {
                if (mate != NOF_PHASES_NONE)
                    unmatch(s, mate);
                flip(s, side, from, other);
                return true;
            }
            s->queue[queued++] = end_of(s, mate, side);
        }
    }
    return false;
}

/* A matching of all required nodes, if there is one: then it covers the required of both sides (Mendelsohn, Dulmage). */
static bool cover(struct shop *s)
{
    for (uint32_t n = 0; n < s->b->nodes; n++) {
        uint32_t message = s->mate[NOF_PHASES_SENDING][n];

        if (message != NOF_PHASES_NONE && !usable(s, message))
            unmatch(s, message);
    }
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        for (uint32_t n = 0; n < s->b->nodes; n++)
            if (s->mate[side][n] == NOF_PHASES_NONE && required(s, side, n) && !cover_node(s, side, n))
                return false;
    return true;
}

/* The largest that this node can send to one that is free as well. */
static void fill_node(struct shop *s, uint32_t node)
{
    const struct nof_phases_lists *lists = &s->messages[NOF_PHASES_SENDING];

    for (uint32_t k = lists->first[node]; k < lists->first[node + 1]; k++) {
        uint32_t message = lists->at[k];

        if (s->rest_bytes[message] > 0 &&
            s->mate[NOF_PHASES_RECEIVING][end_of(s, message, NOF_PHASES_RECEIVING)] == NOF_PHASES_NONE) {
            match(s, message);
            return;
        }
    }
}

static void fill(struct shop *s)
{
    for (uint32_t n = 0; n < s->b->nodes; n++)
        if (s->mate[NOF_PHASES_SENDING][n] == NOF_PHASES_NONE)
            fill_node(s, n);
}

static uint64_t length_bytes(const struct shop *s)
{
    uint64_t least = s->left_bytes;

    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
        for (uint32_t n = 0; n < s->b->nodes; n++) {
            uint32_t message = s->mate[side][n];
            uint64_t bytes = slack_bytes(s, side, n);

            bytes += message != NOF_PHASES_NONE ? s->rest_bytes[message] : 0;
            least = bytes < least ? bytes : least;
        }
    return least;
}

static void place_matching(struct shop *s, uint64_t bytes)
{
    for (uint32_t n = 0; n < s->b->nodes; n++) {
        uint32_t message = s->mate[NOF_PHASES_SENDING][n];
        const struct nof_phases_sum *m;
        uint64_t piece_bytes;

        if (message == NOF_PHASES_NONE)
            continue;
        m = &s->b->message[message];
        piece_bytes = s->rest_bytes[message] < bytes ? s->rest_bytes[message] : bytes;
        nof_phases_place(s->b, m, m->bytes - s->rest_bytes[message], piece_bytes);
        s->rest_bytes[message] -= piece_bytes;
        for (unsigned side = 0; side < NOF_PHASES_SIDES; side++)
            s->load_bytes[side][m->node[side]] -= piece_bytes;
    }
    s->left_bytes -= bytes;
}

static int place_large(struct shop *s)
{
    int rc = NOF_OK;

    s->least_bytes = s->left_bytes;
    while (rc == NOF_OK && s->left_bytes > 0) {
        while (!cover(s))
            s->least_bytes -= (s->least_bytes + 31) / 32;
        fill(s);
        rc = nof_phases_open(s->b, s->b->nodes, false);
        if (rc == NOF_OK)
            place_matching(s, length_bytes(s));
    }
    return rc;
}

static int place_small(struct nof_phases_build *b, size_t small)
{
    int rc = small > 0 ? nof_phases_open(b, small, true) : NOF_OK;

    for (uint32_t i = 0; rc == NOF_OK && i < b->count; i++)
        if (b->message[i].bytes < b->threshold_bytes)
            nof_phases_place_whole(b, i);
    return rc;
}

/* Messages of a source lie together already; the largest of each now first. Small ones have nothing to send here. */
static size_t begin(struct shop *s)
{
    struct nof_phases_build *b = s->b;
    size_t small = 0;

    for (uint32_t i = 0, next; i < b->count; i = next) {
        for (next = i + 1;
             next < b->count && end_of(s, next, NOF_PHASES_SENDING) == end_of(s, i, NOF_PHASES_SENDING);)
            next++;
        nof_phases_sort(&b->message[i], next - i);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        if (b->message[i].bytes < b->threshold_bytes) {
            small++;
            continue;
        }
        s->rest_bytes[i] = b->message[i].bytes;
        for (unsigned side = 0; side < NOF_PHASES_SIDES; side++) {
            uint64_t *load_bytes = &s->load_bytes[side][end_of(s, i, side)];

            *load_bytes += s->rest_bytes[i];
            s->left_bytes = *load_bytes > s->left_bytes ? *load_bytes : s->left_bytes;
        }
    }
    return small;
}

static int deal(struct shop *s, unsigned side, uint32_t *list_of)
{
    for (uint32_t i = 0; i < s->b->count; i++)
        list_of[i] = end_of(s, i, side);
    memset(s->mate[side], 0xff, s->b->nodes * sizeof(uint32_t));
    return nof_phases_deal(&s->messages[side], list_of, s->b->count, s->b->nodes);
}

static int place(struct shop *s, uint32_t *list_of)
{
    size_t small = begin(s);
    int rc = deal(s, NOF_PHASES_SENDING, list_of);

    if (rc == NOF_OK)
        rc = deal(s, NOF_PHASES_RECEIVING, list_of);
    if (rc == NOF_OK)
        rc = place_large(s);
    if (rc == NOF_OK)
        rc = place_small(s->b, small);
    return rc;
}

int nof_phases_optimal(struct nof_phases_build *b)
{
    struct shop s = {.b = b};
    uint32_t *list_of = malloc(((size_t)b->count + 1) * sizeof(*list_of));
    bool there = list_of != NULL;
    int rc = NOF_ENOMEM;

    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++) {
        s.load_bytes[side] = calloc(b->nodes, sizeof(uint64_t));
        s.mate[side] = calloc(b->nodes, sizeof(uint32_t));
        there = there && s.load_bytes[side] != NULL && s.mate[side] != NULL;
    }
    s.rest_bytes = calloc((size_t)b->count + 1, sizeof(uint64_t));
    s.queue = calloc(b->nodes, sizeof(uint32_t));
    s.reached_by = calloc(b->nodes, sizeof(uint32_t));
    if (there && s.rest_bytes != NULL && s.queue != NULL && s.reached_by != NULL)
        rc = place(&s, list_of);
    for (unsigned side = 0; side < NOF_PHASES_SIDES; side++) {
        free(s.load_bytes[side]);
        free(s.mate[side]);
        nof_phases_lists_free(&s.messages[side]);
    }
    free(s.rest_bytes);
    free(s.queue);
    free(s.reached_by);
    free(list_of);
    return rc;
}
