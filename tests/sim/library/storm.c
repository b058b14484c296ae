/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program is a row of phases. In a phase messages of one shape go, and each has its receive; sends do not block, unless
 * the receives were posted before, so nobody waits for somebody who waits for him. Tags belong to one phase, so that the
 * next may begin at once; where a receive takes any tag, a barrier comes between. */
#include "storm.h"

#include <stdlib.h>
#include <string.h>

#define PHASES_MAX 5u
#define PHASE_MESSAGES_MAX 1200u
#define MESSAGES_MAX 2200u
#define BYTES_MAX (1u << 20)
#define PHASE_TAGS 10000
#define COMPUTE_MAX_NS 300000u
#define COPIES_LOG2_MAX 9u
#define PART_BYTES 64u /* messages in parts are multiples of it */
#define PARTS_LOG2_MAX 5u
#define TOGETHER_MAX 8000u /* numbers, of all ranks */
#define WIDE_MAX 3000u /* numbers of one operation of a window; few at a time */
#define WIDE_OPERATIONS_MAX 12u
#define ABANDONED_MAX 80u
#define BUFFER_BYTES_MAX 60000u

enum shape { ALL_TO_ONE, ONE_TO_ALL, RING, PAIRS, ALL_TO_ALL, RANDOM, SELF, BURST, SHAPES };
enum sizes { EMPTY, INLINE, SMALL, EAGER, LONG, MIXED, SIZES };
enum tags { ONE_TAG, SERIAL, FEW, TAG_STYLES };
enum order { FORWARD, BACKWARD, SHUFFLED, ORDERS };
enum receive_style { POSTED, BLOCKING, PROBED, MIXED_STYLES, EXCHANGED, PARTITIONED };

struct phase {
    enum shape shape;
    enum sizes sizes;
    enum tags tags;
    enum order order;
    enum receive_style style;
    unsigned comm;
    int tag_base;
    bool any_source, any_tag;
    bool patchy; /* of some tags, or of some sources */
    bool nested; /* receives of one, of any source, and of any source and tag, in this order */
    bool early; /* receives are posted before the sends start */
    bool blocking_sends; /* early only */
    bool late; /* somebody computes between his sends and his receives */
    bool sync, strided;
    bool ways; /* by all functions there are */
    unsigned pokes_percent;
    unsigned cancels_percent;
    unsigned ghosts;
    uint32_t first, count; /* its messages */
    uint32_t longest;
};

struct draw {
    struct nof_rng *r;
    struct nof_program *p;
    bool used[NOF_PROGRAM_COMMS_MAX]; /* since the last barrier */
    bool wild[NOF_PROGRAM_COMMS_MAX];
    uint64_t bytes;
    int tag_base;
};

const char *nof_step_name(enum nof_step_kind kind)
{
    static const char *const name[SIM_STEP_KINDS] = {
        [SIM_STEP_ISEND] = "isend",
        [SIM_STEP_SEND] = "send",
        [SIM_STEP_IRECV] = "irecv",
        [SIM_STEP_RECV] = "recv",
        [SIM_STEP_SENDRECV] = "sendrecv",
        [SIM_STEP_PROBE] = "probe and receive",
        [SIM_STEP_CANCEL_RECV] = "cancel of receive",
        [SIM_STEP_CANCEL_SEND] = "cancel of send",
        [SIM_STEP_FINISH] = "wait for all under way",
        [SIM_STEP_BARRIER] = "barrier of communicator",
        [SIM_STEP_COLLECTIVE] = "collective of communicator",
        [SIM_STEP_ICOLLECTIVE] = "collective, not blocking, of communicator",
        [SIM_STEP_WINDOW] = "window of communicator",
        [SIM_STEP_RENEW] = "renewal of communicator",
        [SIM_STEP_POKE] = "test or probe of communicator",
        [SIM_STEP_COMPUTE] = "compute",
        [SIM_STEP_OVERLAP] = "measurement of overlap",
        [SIM_STEP_TIMED] = "measurement of time",
        [SIM_STEP_REPLAY] = "collectives of a recording",
        [SIM_STEP_INCREMENTS] = "measurement of increments",
        [SIM_STEP_DOOM] = "death",
    };
    return kind < SIM_STEP_KINDS ? name[kind] : "its end";
}

static void *grown(void *array, unsigned count, unsigned *room, size_t bytes)
{
    if (count < *room)
        return array;
    *room = *room == 0 ? 64 : 2 * *room;
    void *more = realloc(array, *room * bytes);
    if (more == NULL)
        abort();
    return more;
}

static uint32_t add_sent(struct draw *d, const struct nof_sent *s)
{
    struct nof_program *p = d->p;
    p->sent = grown(p->sent, p->nsent, &p->sent_room, sizeof(*p->sent));
    p->sent[p->nsent] = *s;
    return p->nsent++;
}

static uint32_t add_received(struct draw *d, const struct nof_received *r)
{
    struct nof_program *p = d->p;
    p->received = grown(p->received, p->nreceived, &p->received_room, sizeof(*p->received));
    p->received[p->nreceived] = *r;
    return p->nreceived++;
}

static void add_step(struct draw *d, unsigned rank, struct nof_step step)
{
    struct nof_steps *s = &d->p->rank[rank];
    s->step = grown(s->step, s->count, &s->room, sizeof(*s->step));
    s->step[s->count++] = step;
}

static void add_everywhere(struct draw *d, enum nof_step_kind kind, uint32_t item)
{
    for (unsigned i = 0; i < d->p->nranks; i++)
        add_step(d, i, (struct nof_step){.kind = kind, .item = item});
}

static void add_barrier(struct draw *d, unsigned comm)
{
    add_everywhere(d, SIM_STEP_BARRIER, comm);
    memset(d->used, 0, sizeof(d->used));
    memset(d->wild, 0, sizeof(d->wild));
}

static uint32_t draw_len(struct draw *d, const struct phase *ph)
{
    static const uint32_t most[SIZES] = {[INLINE] = 32, [SMALL] = 1500, [EAGER] = 17000, [LONG] = 150000};
    if (ph->style == PARTITIONED)
        return ph->longest;
    enum sizes sizes = ph->sizes == MIXED ? (enum sizes)nof_rng_below(d->r, MIXED) : ph->sizes;
    if (sizes == EMPTY || (sizes >= SMALL && d->bytes > BYTES_MAX))
        return 0;
    uint32_t len = (uint32_t)nof_rng_between(d->r, 1, most[sizes]);
    d->bytes += len;
    return len;
}

static void draw_way(struct draw *d, const struct phase *ph, struct nof_sent *s)
{
    static const enum nof_way way[] = {NOF_WAY_PLAIN, NOF_WAY_PERSISTENT, NOF_WAY_BUFFERED, NOF_WAY_LET_GO};
    s->parts = 1u << nof_rng_below(d->r, PARTS_LOG2_MAX + 1);
    if (ph->style == PARTITIONED)
        s->way = NOF_WAY_PARTS;
    else if (ph->ways)
        s->way = way[nof_rng_below(d->r, sizeof(way) / sizeof(way[0]))];
    s->sync = s->sync && (s->way == NOF_WAY_PLAIN || s->way == NOF_WAY_PERSISTENT);
}

static void add_message(struct draw *d, struct phase *ph, unsigned src, unsigned dst)
{
    int tag = ph->tag_base;
    if (ph->tags == SERIAL)
        tag += (int)(ph->count % PHASE_TAGS);
    else if (ph->tags == FEW)
        tag += (int)nof_rng_below(d->r, 4);
    struct nof_sent s = {.src = (int)src, .dst = (int)dst, .comm = ph->comm, .tag = tag};
    s.len = draw_len(d, ph);
    s.strided = ph->strided && s.len >= NOF_PROGRAM_BLOCK_BYTES && nof_rng_chance(d->r, 50);
    if (s.strided)
        s.len -= s.len % NOF_PROGRAM_BLOCK_BYTES;
    s.sync = ph->sync && nof_rng_chance(d->r, 30);
    draw_way(d, ph, &s);
    ph->longest = s.len > ph->longest ? s.len : ph->longest;
    (void)add_sent(d, &s);
    ph->count++;
}

/* Pairs of a shape, each with `copies` messages. */
static unsigned pairs_of(enum shape shape, unsigned n)
{
    return shape == ALL_TO_ALL ? n * n : shape == BURST ? 1 : n;
}

static void draw_pair(struct draw *d, struct phase *ph, unsigned i, unsigned fixed)
{
    unsigned n = d->p->nranks;
    switch (ph->shape) {
    case ALL_TO_ONE:
        add_message(d, ph, i, fixed);
        break;
    case ONE_TO_ALL:
        add_message(d, ph, fixed, i);
        break;
    case RING:
        add_message(d, ph, i, (i + 1 + fixed % 2 * (n - 2)) % n); /* to the right, or to the left */
        break;
    case PAIRS:
        add_message(d, ph, i, (i ^ 1u) < n ? i ^ 1u : i);
        break;
    case ALL_TO_ALL:
        add_message(d, ph, i / n, i % n);
        break;
    case SELF:
        add_message(d, ph, i, i);
        break;
    case BURST:
        add_message(d, ph, fixed, (fixed + 1) % n);
        break;
    case RANDOM:
    case SHAPES:
        add_message(d, ph, (unsigned)nof_rng_below(d->r, n), (unsigned)nof_rng_below(d->r, n));
        break;
    }
}

static void draw_messages(struct draw *d, struct phase *ph)
{
    unsigned pairs = pairs_of(ph->shape, d->p->nranks);
    unsigned left = MESSAGES_MAX > d->p->nsent ? MESSAGES_MAX - d->p->nsent : 0;
    unsigned most = (left < PHASE_MESSAGES_MAX ? left : PHASE_MESSAGES_MAX) / pairs;
    unsigned copies = (unsigned)nof_rng_between(d->r, 1, 1ull << nof_rng_below(d->r, COPIES_LOG2_MAX + 1));
    unsigned fixed = (unsigned)nof_rng_below(d->r, d->p->nranks);
    if (ph->style == PARTITIONED) {
        most = most / 8 + 1;
        ph->longest = PART_BYTES * (uint32_t)nof_rng_between(d->r, 1, 1ull << nof_rng_below(d->r, 10));
    }
    ph->first = d->p->nsent;
    copies = copies < most ? copies : most;
    for (unsigned k = 0; k < copies; k++)
        for (unsigned i = 0; i < pairs; i++)
            draw_pair(d, ph, i, fixed);
}

/* Who takes message `s` may have to take any other that fits as well: room for all, unless no other can fit. */
static uint32_t draw_capacity(struct draw *d, const struct phase *ph, const struct nof_sent *s, bool *strided)
{
    bool alone = ph->tags == SERIAL && ph->count <= (uint32_t)PHASE_TAGS && !ph->any_tag && !ph->nested;
    bool checked = ph->style == POSTED || ph->style == BLOCKING;
    uint32_t capacity = alone ? s->len : ph->longest;
    *strided = ph->strided && ph->style != PARTITIONED && nof_rng_chance(d->r, 50);
    if (*strided)
        capacity += (NOF_PROGRAM_BLOCK_BYTES - capacity % NOF_PROGRAM_BLOCK_BYTES) % NOF_PROGRAM_BLOCK_BYTES;
    else if (alone && checked && s->len > 0 && nof_rng_chance(d->r, 2))
        capacity = (uint32_t)nof_rng_below(d->r, s->len); /* too short: an error that is told */
    return capacity;
}

static bool patch(int number)
{
    return ((uint32_t)number * 2654435761u >> 16 & 1) != 0; // NOLINT: any mixture will do
}

/* Whatever is wild, receives that one message fits are either equal, or nested and in the order of their wildness: each
 * of them gets a message, whichever comes first. */
static void draw_wildness(const struct phase *ph, const struct nof_sent *s, unsigned wildness,
                          struct nof_received *r)
{
    bool any_source = wildness > 0, any_tag = wildness > 1;
    if (!ph->nested) {
        any_source = ph->any_source && (!ph->patchy || patch(s->tag));
        any_tag = ph->any_tag && (!ph->patchy || patch(s->src));
    }
    r->source = any_source ? NOF_PROGRAM_ANY : s->src;
    r->tag = any_tag ? NOF_PROGRAM_ANY : s->tag;
}

static uint32_t receive_for(struct draw *d, const struct phase *ph, uint32_t message, unsigned wildness,
                            enum receive_style style)
{
    const struct nof_sent *s = &d->p->sent[message];
    struct nof_received r = {.dst = s->dst, .comm = s->comm};
    draw_wildness(ph, s, wildness, &r);
    r.capacity = draw_capacity(d, ph, s, &r.strided);
    r.parts = 1u << nof_rng_below(d->r, PARTS_LOG2_MAX + 1);
    if (style == PARTITIONED)
        r.way = NOF_WAY_PARTS;
    else if (ph->ways && style == POSTED && nof_rng_chance(d->r, 30))
        r.way = NOF_WAY_PERSISTENT;
    else if (ph->ways && style == BLOCKING && !r.strided && r.capacity >= s->len && nof_rng_chance(d->r, 40))
        r.way = NOF_WAY_STAGED;
    return add_received(d, &r);
}

static void arrange(struct draw *d, enum order order, uint32_t *item, unsigned n)
{
    for (unsigned i = 0; order == BACKWARD && i < n / 2; i++) {
        uint32_t other = item[i];
        item[i] = item[n - 1 - i];
        item[n - 1 - i] = other;
    }
    for (unsigned i = n; order == SHUFFLED && i > 1; i--) {
        unsigned k = (unsigned)nof_rng_below(d->r, i);
        uint32_t other = item[i - 1];
        item[i - 1] = item[k];
        item[k] = other;
    }
}

static void poke(struct draw *d, const struct phase *ph, unsigned rank)
{
    if (nof_rng_chance(d->r, ph->pokes_percent))
        add_step(d, rank,
                 (struct nof_step){.kind = SIM_STEP_POKE,
                                   .item = ph->comm,
                                   .style = (unsigned)nof_rng_below(d->r, NOF_POKE_STYLES)});
}

/* The messages of the phase to this rank, in the order of their receives. Freed by the caller. */
static uint32_t *arrivals(struct draw *d, const struct phase *ph, unsigned rank, unsigned *n_out)
{
    uint32_t *item = malloc((ph->count + 1) * sizeof(*item));
    unsigned n = 0;
    if (item == NULL)
        abort();
    for (uint32_t m = ph->first; m < ph->first + ph->count; m++)
        if (d->p->sent[m].dst == (int)rank)
            item[n++] = m;
    arrange(d, ph->order, item, n);
    *n_out = n;
    return item;
}

static void receive_step(struct draw *d, const struct phase *ph, unsigned rank, uint32_t message,
                         unsigned wildness)
{
    enum receive_style style =
        ph->style == MIXED_STYLES ? (enum receive_style)nof_rng_below(d->r, MIXED_STYLES) : ph->style;
    struct nof_step step = {.kind = style == BLOCKING ? SIM_STEP_RECV
                                    : style == PROBED ? SIM_STEP_PROBE
                                                      : SIM_STEP_IRECV};
    step.style = (unsigned)nof_rng_below(d->r, NOF_PROBE_STYLES);
    step.item = receive_for(d, ph, message, wildness, style);
    add_step(d, rank, step);
    poke(d, ph, rank);
    if (style != POSTED || ph->nested || !nof_rng_chance(d->r, ph->cancels_percent))
        return;
    struct nof_received again = d->p->received[step.item];
    add_step(
        d, rank,
        (struct nof_step){.kind = SIM_STEP_CANCEL_RECV, .item = step.item, .spare = add_received(d, &again)});
}

static void receive_steps(struct draw *d, const struct phase *ph, unsigned rank)
{
    unsigned n;
    uint32_t *item = arrivals(d, ph, rank, &n);
    uint32_t wild[2] = {n, n}; /* those before wild[k] are not wilder than k */
    if (ph->nested) {
        wild[0] = (uint32_t)nof_rng_below(d->r, n + 1);
        wild[1] = wild[0] + (uint32_t)nof_rng_below(d->r, n - wild[0] + 1);
    }
    for (unsigned i = 0; i < n; i++)
        receive_step(d, ph, rank, item[i], i < wild[0] ? 0 : i < wild[1] ? 1 : 2);
    free(item);
}

/* The k-th send of every rank belongs to the k-th receive of another. */
static void exchange_steps(struct draw *d, const struct phase *ph, unsigned rank)
{
    unsigned n, at = 0;
    uint32_t *item = arrivals(d, ph, rank, &n);
    for (uint32_t m = ph->first; m < ph->first + ph->count; m++)
        if (d->p->sent[m].src == (int)rank)
            add_step(d, rank,
                     (struct nof_step){.kind = SIM_STEP_SENDRECV,
                                       .item = m,
                                       .spare = receive_for(d, ph, item[at++], 0, EXCHANGED)});
    free(item);
}

static void send_steps(struct draw *d, const struct phase *ph, unsigned rank)
{
    for (uint32_t m = ph->first; m < ph->first + ph->count; m++) {
        if (d->p->sent[m].src != (int)rank)
            continue;
        bool cancelled = !ph->blocking_sends && nof_rng_chance(d->r, ph->cancels_percent);
        add_step(d, rank,
                 (struct nof_step){.kind = ph->blocking_sends ? SIM_STEP_SEND : SIM_STEP_ISEND, .item = m});
        poke(d, ph, rank);
        if (!cancelled)
            continue;
        struct nof_sent again = d->p->sent[m];
        add_step(d, rank,
                 (struct nof_step){.kind = SIM_STEP_CANCEL_SEND, .item = m, .spare = add_sent(d, &again)});
    }
}

static void compute(struct draw *d, unsigned rank)
{
    add_step(d, rank, (struct nof_step){.kind = SIM_STEP_COMPUTE, .ns = nof_rng_below(d->r, COMPUTE_MAX_NS)});
}

/* Receives that nobody sends to, taken back before the end. */
static unsigned ghost_steps(struct draw *d, const struct phase *ph, unsigned rank)
{
    for (unsigned i = 0; i < ph->ghosts; i++) {
        struct nof_received r = {.dst = (int)rank, .comm = ph->comm, .ghost = true, .capacity = 8};
        r.source = nof_rng_chance(d->r, 50) ? NOF_PROGRAM_ANY : (int)nof_rng_below(d->r, d->p->nranks);
        r.tag = NOF_PROGRAM_TAG_UNSENT;
        add_step(d, rank, (struct nof_step){.kind = SIM_STEP_IRECV, .item = add_received(d, &r)});
    }
    return d->p->nreceived;
}

static void phase_steps(struct draw *d, const struct phase *ph, unsigned rank)
{
    if (nof_rng_chance(d->r, 30))
        compute(d, rank);
    uint32_t ghosts_end = ghost_steps(d, ph, rank);
    if (ph->early)
        receive_steps(d, ph, rank);
    if (ph->style == EXCHANGED)
        exchange_steps(d, ph, rank);
    else
        send_steps(d, ph, rank);
    if (ph->late && nof_rng_chance(d->r, 60))
        compute(d, rank);
    if (!ph->early && ph->style != EXCHANGED)
        receive_steps(d, ph, rank);
    for (unsigned i = 0; i < ph->ghosts; i++)
        add_step(d, rank,
                 (struct nof_step){
                     .kind = SIM_STEP_CANCEL_RECV, .item = ghosts_end - 1 - i, .spare = NOF_PROGRAM_NONE});
    add_step(d, rank,
             (struct nof_step){.kind = SIM_STEP_FINISH,
                               .style = (unsigned)nof_rng_below(d->r, NOF_FINISH_STYLES)});
}

static void add_collective(struct draw *d, enum nof_step_kind kind)
{
    struct nof_rng *r = d->r;
    struct nof_step step = {.kind = kind, .item = (uint32_t)nof_rng_below(r, d->p->ncomms)};
    step.style = (unsigned)nof_rng_below(r, NOF_COLLECTIVE_KINDS);
    step.spare = (uint32_t)nof_rng_between(r, 1, nof_rng_chance(r, 70) ? 8 : TOGETHER_MAX / d->p->nranks);
    step.ns = nof_rng_below(r, d->p->nranks);
    for (unsigned i = 0; i < d->p->nranks; i++)
        add_step(d, i, step);
}

static void add_window(struct draw *d)
{
    struct nof_step step = {.kind = SIM_STEP_WINDOW, .item = (uint32_t)nof_rng_below(d->r, d->p->ncomms)};
    bool wide = nof_rng_chance(d->r, 50);
    step.style = (unsigned)nof_rng_below(d->r, NOF_WINDOW_STYLES);
    step.spare = (uint32_t)nof_rng_between(d->r, 1, wide ? WIDE_OPERATIONS_MAX : 64);
    step.ns = nof_rng_between(d->r, 1, wide ? WIDE_MAX : 4);
    /* The window, and what all may have on the way to one. */
    uint64_t bytes = (d->p->nranks + 1) * (1 + step.spare) * step.ns * sizeof(int64_t);
    d->p->together_bytes = bytes > d->p->together_bytes ? bytes : d->p->together_bytes;
    for (unsigned i = 0; i < d->p->nranks; i++)
        add_step(d, i, step);
}

/* Before a process leaves it sends what nobody will receive. */
static void abandon(struct draw *d)
{
    struct phase ph = {.sizes = (enum sizes)nof_rng_below(d->r, SIZES), .style = POSTED};
    d->p->abandons = true;
    add_barrier(d, 0);
    for (uint64_t n = nof_rng_between(d->r, 1, ABANDONED_MAX); n > 0; n--) {
        struct nof_sent s = {.tag = NOF_PROGRAM_TAG_UNSENT, .way = NOF_WAY_LET_GO, .abandoned = true};
        s.src = (int)nof_rng_below(d->r, d->p->nranks);
        s.dst = (int)nof_rng_below(d->r, d->p->nranks);
        s.len = draw_len(d, &ph);
        add_step(d, (unsigned)s.src, (struct nof_step){.kind = SIM_STEP_ISEND, .item = add_sent(d, &s)});
    }
}

static void run_phase(struct draw *d, struct phase *ph)
{
    unsigned comm = ph->comm;
    bool wild = ph->any_tag || ph->nested;
    if ((d->used[comm] && (d->wild[comm] || wild)) || nof_rng_chance(d->r, 30))
        add_barrier(d, (unsigned)nof_rng_below(d->r, d->p->ncomms));
    d->used[comm] = true;
    d->wild[comm] = wild;
    ph->tag_base = d->tag_base;
    d->tag_base += PHASE_TAGS;
    draw_messages(d, ph);
    if (nof_rng_chance(d->r, 15))
        add_collective(d, SIM_STEP_ICOLLECTIVE);
    for (unsigned i = 0; i < d->p->nranks; i++)
        phase_steps(d, ph, i);
    if (nof_rng_chance(d->r, 15))
        add_collective(d, SIM_STEP_COLLECTIVE);
    if (nof_rng_chance(d->r, 6))
        add_window(d);
    if (comm > 0 && nof_rng_chance(d->r, 10))
        add_everywhere(d, SIM_STEP_RENEW, comm);
}

/* Some do not go together. */
static void settle(struct draw *d, struct phase *ph)
{
    static const enum shape mutual[] = {RING, PAIRS, SELF};
    if (ph->style == EXCHANGED) {
        ph->shape = mutual[nof_rng_below(d->r, 3)];
        ph->order = FORWARD;
        ph->ways = ph->sync = false;
    }
    if (ph->style == PARTITIONED)
        ph->any_source = ph->any_tag = ph->sync = ph->strided = false;
    if (ph->patchy && ph->any_source)
        ph->any_tag = false;
    ph->nested = ph->nested && ph->style == POSTED;
    ph->early = ph->early && ph->style == POSTED;
    ph->blocking_sends = ph->blocking_sends && ph->early;
    if (ph->style == EXCHANGED || ph->style == PARTITIONED)
        ph->cancels_percent = 0;
}

static struct phase draw_phase(struct draw *d)
{
    static const enum receive_style style[] = {POSTED, POSTED,       POSTED,       BLOCKING,  BLOCKING,
                                               PROBED, MIXED_STYLES, MIXED_STYLES, EXCHANGED, PARTITIONED};
    struct nof_rng *r = d->r;
    struct phase ph = {
        .shape = (enum shape)nof_rng_below(r, SHAPES),
        .sizes = (enum sizes)nof_rng_below(r, SIZES),
        .tags = (enum tags)nof_rng_below(r, TAG_STYLES),
        .order = (enum order)nof_rng_below(r, ORDERS),
        .style = style[nof_rng_below(r, sizeof(style) / sizeof(style[0]))],
        .comm = (unsigned)nof_rng_below(r, d->p->ncomms),
        .any_source = nof_rng_chance(r, 35),
        .any_tag = nof_rng_chance(r, 25),
        .patchy = nof_rng_chance(r, 40),
        .nested = nof_rng_chance(r, 25),
        .early = nof_rng_chance(r, 50),
        .blocking_sends = nof_rng_chance(r, 30),
        .late = nof_rng_chance(r, 40),
        .sync = nof_rng_chance(r, 25),
        .strided = nof_rng_chance(r, 15),
        .ways = nof_rng_chance(r, 40),
        .pokes_percent = nof_rng_chance(r, 25) ? (unsigned)nof_rng_between(r, 1, 50) : 0,
        .cancels_percent = nof_rng_chance(r, 30) ? (unsigned)nof_rng_between(r, 1, 20) : 0,
        .ghosts = nof_rng_chance(r, 20) ? (unsigned)nof_rng_between(r, 1, 4) : 0,
    };
    settle(d, &ph);
    return ph;
}

/* Everybody to one, then a ring whose receives come in another order than the sends: the matching of one rank is moved
 * out of the NIC by the first and has to come back in the second. */
static void funnel_and_ring(struct draw *d)
{
    struct phase funnel = draw_phase(d);
    funnel.shape = ALL_TO_ONE;
    funnel.style = funnel.style == EXCHANGED ? BLOCKING : funnel.style;
    funnel.sizes = nof_rng_chance(d->r, 50) ? INLINE : funnel.sizes;
    run_phase(d, &funnel);
    add_barrier(d, 0);
    struct phase ring = draw_phase(d);
    ring.shape = RING;
    ring.tags = SERIAL;
    ring.any_tag = ring.nested = false;
    ring.sizes = nof_rng_chance(d->r, 60) ? EMPTY : ring.sizes;
    ring.order = nof_rng_chance(d->r, 70) ? BACKWARD : SHUFFLED;
    ring.style = nof_rng_chance(d->r, 50) ? BLOCKING : POSTED;
    ring.early = ring.blocking_sends = false;
    run_phase(d, &ring);
}

struct nof_program *nof_storm_draw(struct nof_rng *r, unsigned nranks)
{
    struct nof_program *p = calloc(1, sizeof(*p));
    if (p == NULL)
        abort();
    p->nranks = nranks;
    p->ncomms = (unsigned)nof_rng_between(r, 1, nranks > 16 ? 2 : NOF_PROGRAM_COMMS_MAX);
    p->callsites = nof_rng_between(r, 1, 12);
    for (unsigned i = 1; i < p->ncomms; i++)
        p->reversed[i] = nof_rng_chance(r, 30);
    p->buffer_bytes = (uint32_t)nof_rng_below(r, BUFFER_BYTES_MAX);
    p->stays = nof_rng_chance(r, 70);
    struct draw d = {.r = r, .p = p};
    for (uint64_t n = nof_rng_between(r, 1, PHASES_MAX); n > 0; n--) {
        if (nof_rng_chance(r, 30)) {
            funnel_and_ring(&d);
        } else {
            struct phase ph = draw_phase(&d);
            run_phase(&d, &ph);
        }
    }
    if (!p->stays && nof_rng_chance(r, 50))
        abandon(&d);
    return p;
}

/* A step of any kind but of messages, or several that do not block and their end. */
static void add_together(struct draw *d)
{
    struct nof_rng *r = d->r;
    unsigned many = nof_rng_chance(r, 40) ? (unsigned)nof_rng_between(r, 1, 4) : 0;
    if (many == 0)
        add_collective(d, SIM_STEP_COLLECTIVE);
    for (unsigned i = 0; i < many; i++)
        add_collective(d, SIM_STEP_ICOLLECTIVE);
    for (unsigned i = 0; i < d->p->nranks; i++)
        if (nof_rng_chance(r, 30))
            add_step(d, i,
                     (struct nof_step){.kind = SIM_STEP_COMPUTE, .ns = nof_rng_below(r, COMPUTE_MAX_NS)});
    for (unsigned i = 0; many > 0 && i < d->p->nranks; i++)
        add_step(d, i,
                 (struct nof_step){.kind = SIM_STEP_FINISH,
                                   .style = (unsigned)nof_rng_below(r, NOF_FINISH_STYLES)});
}

struct nof_program *nof_storm_draw_mortal(struct nof_rng *r, unsigned nranks)
{
    struct nof_program *p = calloc(1, sizeof(*p));
    if (p == NULL)
        abort();
    p->nranks = nranks;
    p->ncomms = (unsigned)nof_rng_between(r, 1, 3);
    p->callsites = 1;
    p->mortal = true;
    p->goes_on = nof_rng_chance(r, 50);
    /* In, out and between, of up to 20 times 4; who goes on after errors keeps them. */
    p->together_bytes = 20 * 4 * 3 * TOGETHER_MAX * sizeof(int64_t);
    struct draw d = {.r = r, .p = p};
    add_barrier(&d, 0);
    uint64_t within_ns = nof_rng_chance(r, 50) ? 300000 : 10000000;
    for (uint64_t n = nof_rng_chance(r, 70) ? 1 : nof_rng_between(r, 1, nranks - 1); n > 0; n--)
        add_step(&d, (unsigned)nof_rng_below(r, nranks),
                 (struct nof_step){.kind = SIM_STEP_DOOM, .ns = nof_rng_below(r, within_ns)});
    for (uint64_t n = nof_rng_between(r, 3, 20); n > 0; n--)
        add_together(&d);
    return p;
}

void nof_storm_free(struct nof_program *p)
{
    for (unsigned i = 0; i < p->nranks; i++)
        free(p->rank[i].step);
    free(p->sent);
    free(p->received);
    free(p);
}
