/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host goes through a list of steps: those that prepare, then those of each round. What a step is follows from the host's rank,
 * the round and the step's number alone. */
#include "mcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_host.h"
#include "nof/program.h"
#include "rng.h"

#define CTX 1u
#define SETTLE_NS 200000000u
#define MEET_NS 40000000u /* for as many handshakes as hosts, which may cross one link between switches */
#define SLOT_BYTES 16384u
#define STREAM_PIECE 65536u
#define STREAM_COOKIE 0x7fffffffu

enum slot {
    ALL,
    CHOSEN,
    TREE,
    LINEAR,
    VOTE,
    VERDICT,
    STREAM,
    SLOTS
}; /* of the program area: two lists of members, programs */
enum way { BY_MULTICAST, BY_TREE, BY_LINEAR, BY_NOBODY };
enum kind { GROUP_MESSAGE, GROUP_OPEN, GROUP_WAIT, GROUP_CLOSE, PROGRAM_OPEN, PROGRAM_START, NOTHING };

struct step {
    enum kind kind;
    uint32_t name; /* of the group; of a program: its slot */
    uint32_t number; /* of the message; of GROUP_OPEN: the epoch */
    uint64_t bytes;
};

struct host {
    struct nof_bulk_host bulk; /* first: the cluster hands it back */
    struct run *run;
    unsigned round, next; /* step of it */
    uint64_t cookie; /* of the step that is under way; 0: none */
    bool open; /* the group that was opened last */
    bool ready; /* prepared */
    uint64_t expects; /* bytes that must have come in the end */
    uint64_t done_ns; /* 0: not yet */
};

struct run {
    struct nof_sim_mcast *m;
    struct nof_cluster *cluster;
    struct host *host;
    enum way way;
    unsigned rounds, waiting;
    bool stream;
    uint64_t from_ns, stream_ns;
};

static bool is_chosen(const struct nof_sim_mcast *m, unsigned rank)
{
    if (rank == 0 || m->collective != NOF_MCAST_SCATTERV)
        return true;
    for (unsigned i = 0; i < m->receivers; i++)
        if (rank == 1 + i * (m->hosts - 1) / m->receivers)
            return true;
    return false;
}

/* Of the block of one host. */
static uint64_t block_of(const struct nof_sim_mcast *m, unsigned rank)
{
    return rank > 0 && is_chosen(m, rank) ? m->bytes : 0;
}

/* Of the message that has all of them. */
static uint64_t message_of(const struct nof_sim_mcast *m)
{
    unsigned blocks = m->collective == NOF_MCAST_BCAST     ? 1
                      : m->collective == NOF_MCAST_SCATTER ? m->hosts - 1
                                                           : m->receivers;
    return m->bytes * blocks;
}

/* Programs and members of a host. */

static void add(uint8_t *area, uint8_t opcode, unsigned peer, uint64_t len)
{
    struct nof_program_head head;
    struct nof_program_step s = {.opcode = opcode, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    if (opcode != NOF_STEP_FENCE) {
        s.peer = (int32_t)peer;
        s.base = opcode == NOF_STEP_RECV;
        s.len = len;
    }
    memcpy(&head, area, sizeof(head));
    memcpy(area + sizeof(head) + head.nsteps++ * sizeof(s), &s, sizeof(s));
    head.magic = NOF_PROGRAM_MAGIC;
    memcpy(area, &head, sizeof(head));
}

/* Bytes of the subtree whose root is this one: a scatter's blocks, or the whole message. */
static uint64_t subtree_bytes(const struct nof_sim_mcast *m, unsigned rank, unsigned mask)
{
    unsigned ranks = rank + mask < m->hosts ? mask : m->hosts - rank;
    return m->collective == NOF_MCAST_BCAST ? m->bytes : m->bytes * ranks;
}

static void write_tree(const struct nof_sim_mcast *m, unsigned rank, uint8_t *area)
{
    unsigned mask = 1;
    while (mask < m->hosts && (rank & mask) == 0)
        mask *= 2;
    if (rank != 0) {
        add(area, NOF_STEP_RECV, rank - mask, subtree_bytes(m, rank, mask));
        add(area, NOF_STEP_FENCE, 0, 0);
    }
    for (mask /= 2; mask > 0; mask /= 2)
        if (rank + mask < m->hosts)
            add(area, NOF_STEP_SEND, rank + mask, subtree_bytes(m, rank + mask, mask));
}

/* From the root to all that are chosen, or from them to it; bytes 0: their blocks. */
static void write_star(const struct nof_sim_mcast *m, unsigned rank, uint8_t *area, bool to_root,
                       uint64_t bytes)
{
    for (unsigned i = 1; i < m->hosts; i++) {
        uint64_t n = bytes != 0 ? bytes : block_of(m, i);
        if (!is_chosen(m, i) || (rank != 0 && rank != i))
            continue;
        add(area, (rank == 0) == to_root ? NOF_STEP_RECV : NOF_STEP_SEND, rank == 0 ? i : 0, n);
    }
}

static void write_stream(const struct nof_sim_mcast *m, unsigned rank, uint8_t *area)
{
    bool sends = rank + 2 == m->hosts;
    for (uint64_t left = sends || rank + 1 == m->hosts ? m->stream_bytes : 0; left > 0;) {
        uint64_t n = left < STREAM_PIECE ? left : STREAM_PIECE;
        add(area, sends ? NOF_STEP_SEND : NOF_STEP_RECV, sends ? m->hosts - 1 : m->hosts - 2, n);
        left -= n;
    }
}

static uint32_t steps_of(const struct host *h, enum slot slot)
{
    struct nof_program_head head;
    memcpy(&head, h->bulk.area + slot * SLOT_BYTES, sizeof(head));
    return head.nsteps;
}

static uint64_t slot_bytes(const struct host *h, enum slot slot)
{
    const struct nof_sim_mcast *m = h->run->m;
    if (slot == ALL)
        return m->hosts * sizeof(uint32_t);
    if (slot == CHOSEN)
        return (m->receivers + 1) * sizeof(uint32_t);
    return sizeof(struct nof_program_head) + steps_of(h, slot) * sizeof(struct nof_program_step);
}

static void write_area(struct host *h)
{
    const struct nof_sim_mcast *m = h->run->m;
    uint8_t *area = h->bulk.area;
    unsigned rank = h->bulk.rank, chosen = 0;
    for (uint32_t i = 0; i < m->hosts; i++) {
        memcpy(area + i * sizeof(i), &i, sizeof(i));
        if (is_chosen(m, i))
            memcpy(area + CHOSEN * SLOT_BYTES + chosen++ * sizeof(i), &i, sizeof(i));
    }
    if (h->run->way == BY_TREE)
        write_tree(m, rank, area + TREE * SLOT_BYTES);
    if (h->run->way == BY_LINEAR)
        write_star(m, rank, area + LINEAR * SLOT_BYTES, false, 0);
    if (h->run->way == BY_MULTICAST && m->scheme == NOF_MCAST_DYNAMIC) {
        write_star(m, rank, area + VOTE * SLOT_BYTES, true, 1);
        write_star(m, rank, area + VERDICT * SLOT_BYTES, false, 1);
    }
    if (h->run->stream)
        write_stream(m, rank, area + STREAM * SLOT_BYTES);
}

/* Steps. */

static bool joins(const struct run *r, unsigned rank, enum slot group)
{
    if (r->way != BY_MULTICAST || (group == ALL && r->m->scheme == NOF_MCAST_COMPILED))
        return false;
    return group == ALL || is_chosen(r->m, rank);
}

/* What prepares. */
static bool prepare(const struct host *h, unsigned at, struct step *out)
{
    const struct run *r = h->run;
    bool compiled = r->m->scheme == NOF_MCAST_COMPILED;
    enum slot group = compiled ? CHOSEN : ALL;
    bool opens = joins(r, h->bulk.rank, group);
    *out = (struct step){.kind = NOTHING};
    if (at == 0 && opens)
        *out = (struct step){.kind = GROUP_OPEN, .name = group, .number = compiled};
    else if (at == 1 && opens)
        *out = (struct step){.kind = GROUP_WAIT};
    else if (at >= TREE && at < SLOTS && steps_of(h, at) > 0)
        *out = (struct step){.kind = PROGRAM_OPEN, .name = at};
    return at < SLOTS;
}

/* The steps of Scatterv by a group that is made for it: as those of the library. */
static bool dynamic(const struct host *h, unsigned at, struct step *out)
{
    const struct nof_sim_mcast *m = h->run->m;
    const struct step all[] = {
        {.kind = GROUP_MESSAGE,
         .name = ALL,
         .number = 2 + h->round,
         .bytes = (m->hosts + 2) * sizeof(uint64_t)},
        {.kind = GROUP_OPEN, .name = CHOSEN, .number = 1 + h->round},
        {.kind = PROGRAM_START, .name = VOTE},
        {.kind = GROUP_WAIT},
        {.kind = PROGRAM_START, .name = VERDICT},
        {.kind = GROUP_MESSAGE, .name = CHOSEN, .number = 2, .bytes = message_of(m)},
        {.kind = GROUP_CLOSE, .name = CHOSEN},
    };
    if (at >= (is_chosen(m, h->bulk.rank) ? sizeof(all) / sizeof(all[0]) : 1))
        return false;
    *out = all[at];
    return true;
}

static bool round_step(const struct host *h, unsigned at, struct step *out)
{
    const struct nof_sim_mcast *m = h->run->m;
    bool sizes = m->collective == NOF_MCAST_SCATTERV; /* all must hear them first */
    uint32_t number = 2 + h->round;
    if (h->run->way != BY_MULTICAST) {
        enum slot slot = h->run->way == BY_TREE ? TREE : LINEAR;
        *out = (struct step){.kind = PROGRAM_START, .name = slot};
        return at == 0 && h->run->way != BY_NOBODY && steps_of(h, slot) > 0;
    }
    if (m->scheme == NOF_MCAST_DYNAMIC)
        return dynamic(h, at, out);
    if (m->scheme == NOF_MCAST_COMPILED) {
        *out = (struct step){.kind = GROUP_MESSAGE, .name = CHOSEN, .number = number, .bytes = message_of(m)};
        return at == 0 && is_chosen(m, h->bulk.rank);
    }
    *out = (struct step){.kind = GROUP_MESSAGE,
                         .name = ALL,
                         .number = sizes ? 2 * number + at : number,
                         .bytes = message_of(m)};
    if (sizes && at == 0)
        out->bytes = m->hosts * sizeof(uint64_t);
    return at < (sizes ? 2 : 1);
}

static uint64_t receives(const struct host *h, enum slot slot)
{
    struct nof_program_step s;
    uint64_t n = 0;
    for (uint32_t i = 0; i < steps_of(h, slot); i++) {
        memcpy(&s, h->bulk.area + slot * SLOT_BYTES + sizeof(struct nof_program_head) + i * sizeof(s),
               sizeof(s));
        n += s.opcode == NOF_STEP_RECV ? s.len : 0;
    }
    return n;
}

static void submit(struct host *h, const struct step *s)
{
    static const uint8_t opcodes[] = {[GROUP_OPEN] = NOF_DESC_GROUP_OPEN,
                                      [GROUP_CLOSE] = NOF_DESC_GROUP_CLOSE,
                                      [PROGRAM_OPEN] = NOF_DESC_SCHED_OPEN,
                                      [PROGRAM_START] = NOF_DESC_SCHED_START};
    bool sends = h->bulk.rank == 0, opens = s->kind == GROUP_OPEN || s->kind == PROGRAM_OPEN;
    struct nof_desc d = {.ctx = CTX, .tag = (int32_t)s->name, .cookie = h->cookie};
    d.sched.name = s->name;
    d.sched.base[0] = sends ? NOF_BULK_SEND_AT : NOF_BULK_RECV_AT;
    d.sched.generation = 1;
    if (s->kind == GROUP_MESSAGE) {
        d.opcode = sends ? NOF_DESC_GROUP_SEND : NOF_DESC_GROUP_RECV;
        d.len = s->bytes;
        d.sched.generation = s->number;
        h->expects += sends ? 0 : s->bytes;
    } else {
        d.opcode = opcodes[s->kind];
    }
    if (opens) {
        d.len = slot_bytes(h, (enum slot)s->name);
        d.sched.base[0] = s->name * SLOT_BYTES;
    }
    if (s->kind == GROUP_OPEN) {
        d.sched.base[1] = s->number;
        h->open = false;
    }
    if (s->kind == PROGRAM_START) {
        d.sched.base[1] = NOF_BULK_RECV_AT;
        h->expects += receives(h, (enum slot)s->name);
    }
    nof_bulk_host_submit(&h->bulk, &d);
}

static void start_stream(struct host *h)
{
    h->cookie = STREAM_COOKIE;
    submit(h, &(struct step){.kind = PROGRAM_START, .name = STREAM});
    h->cookie = 0;
}

static void end(struct host *h)
{
    h->done_ns = nof_cluster_now(h->run->cluster);
    h->run->waiting--;
}

/* While the stream lasts there is one more round, for all. */
static bool last_round(struct host *h)
{
    struct run *r = h->run;
    if (h->round < r->rounds)
        return false;
    if (r->stream && r->stream_ns == 0 && r->way == BY_MULTICAST) {
        r->rounds = h->round + 1;
        return false;
    }
    return true;
}

/* As far as it goes without waiting. */
static void go_on(struct host *h)
{
    while (h->cookie == 0 && h->done_ns == 0) {
        struct step s;
        bool more = h->ready ? round_step(h, h->next, &s) : prepare(h, h->next, &s);
        if (!more && !h->ready) {
            h->ready = true;
            h->next = 0;
            h->run->waiting--;
            return;
        }
        if (!more) {
            bool idle = h->next == 0; /* no round has a step for it */
            h->next = 0;
            h->round++;
            if (idle || last_round(h))
                end(h);
            continue;
        }
        if (s.kind == GROUP_WAIT && !h->open)
            return;
        h->next++;
        if (s.kind == NOTHING || s.kind == GROUP_WAIT)
            continue;
        h->cookie = s.kind == GROUP_CLOSE ? 0 : 1 + h->next;
        submit(h, &s);
    }
}

static unsigned complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct host *h = host;
    for (unsigned i = 0; i < n; i++) {
        const struct nof_comp *c = &comps[i];
        if (c->status != NOF_OK || (c->flags & NOF_COMP_F_DECLINED))
            nof_cluster_fail(h->run->cluster, "host %u: completion %u: %s", h->bulk.rank, c->opcode,
                             nof_strstatus(c->status));
        if (c->opcode == NOF_COMP_PEER)
            continue;
        if (c->opcode == NOF_COMP_GROUP)
            h->open = true;
        else if (c->cookie == STREAM_COOKIE && h->bulk.rank + 1 == h->run->m->hosts)
            h->run->stream_ns = nof_cluster_now(h->run->cluster);
        else if (c->cookie == STREAM_COOKIE)
            continue;
        else
            h->cookie = 0;
        if (h->run->waiting > 0 && (!h->ready || h->run->from_ns != 0))
            go_on(h);
    }
    return n;
}

static const struct nof_cluster_host_ops host_ops = {.fetch = nof_bulk_host_fetch,
                                                     .complete = complete,
                                                     .dma = nof_bulk_host_dma,
                                                     .failed = nof_bulk_host_failed};

static int open_host(struct run *r, unsigned rank)
{
    const struct nof_sim_mcast *m = r->m;
    struct host *h = &r->host[rank];
    uint64_t most = message_of(m) + STREAM_PIECE; /* lists of sizes are shorter */
    h->run = r;
    h->bulk = (struct nof_bulk_host){
        .cluster = r->cluster, .rank = rank, .buffer_bytes = most, .area = calloc(SLOTS, SLOT_BYTES)};
    if (h->bulk.area == NULL)
        return NOF_ENOMEM;
    write_area(h);
    int status = nof_nic_feature_set(nof_cluster_nic(r->cluster, rank), NOF_F_MULTICAST, 1);
    return status != NOF_OK ? status : nof_bulk_host_open(&h->bulk, m->hosts, SLOTS * SLOT_BYTES, &host_ops);
}

static bool all_done(void *user)
{
    const struct run *r = user;
    return r->waiting == 0 && (r->from_ns == 0 || !r->stream || r->stream_ns != 0);
}

static uint64_t sum_of(const struct run *r, bool lost)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < r->m->hosts; i++) {
        const struct nof_fabric_stats *s = nof_fabric_stats(nof_cluster_fabric(r->cluster), i);
        n += lost ? (i > 0 ? s->lost : 0) : s->drop_buffer;
    }
    return n;
}

static void set_link(struct run *r)
{
    for (unsigned i = 0; i < r->m->hosts; i++) {
        struct nof_fabric_link link = nof_fabric_link(nof_cluster_fabric(r->cluster), i);
        link.loss_ppm = r->m->loss_ppm;
        (void)nof_fabric_set_link(nof_cluster_fabric(r->cluster), i, &link);
    }
}

static uint64_t root_counts(const struct run *r, enum nof_counter counter)
{
    return nof_nic_counters(nof_cluster_nic(r->cluster, 0))[counter];
}

static void settle(struct run *r, uint64_t for_ns)
{
    nof_cluster_run(r->cluster, nof_cluster_now(r->cluster) + for_ns, NULL, NULL);
}

static bool get_ready(struct run *r)
{
    unsigned n = r->m->hosts;
    r->waiting = n;
    for (unsigned k = 1; k < n; k++) {
        for (unsigned i = 0; i < n; i++)
            nof_bulk_host_meet(&r->host[i].bulk, &r->host[(i + k) % n].bulk);
        settle(r, MEET_NS);
    }
    for (unsigned i = 0; i < n; i++)
        go_on(&r->host[i]);
    if (!nof_cluster_run(r->cluster, nof_cluster_now(r->cluster) + NOF_BULK_PATIENCE_NS, all_done, r))
        return false;
    settle(r, SETTLE_NS);
    set_link(r);
    return true;
}

/* Microseconds of a round, or -1. */
static double measure_rounds(struct run *r)
{
    uint64_t last_ns = 0;
    r->from_ns = nof_cluster_now(r->cluster);
    r->waiting = r->m->hosts;
    for (unsigned i = 0; i < r->m->hosts; i++) {
        if (r->stream && i + 2 >= r->m->hosts)
            start_stream(&r->host[i]);
        go_on(&r->host[i]);
    }
    if (!nof_cluster_run(r->cluster, r->from_ns + NOF_BULK_PATIENCE_NS, all_done, r))
        return -1;
    for (unsigned i = 0; i < r->m->hosts; i++) {
        struct host *h = &r->host[i];
        last_ns = h->done_ns > last_ns ? h->done_ns : last_ns;
        r->m->digest = nof_rng_mix(r->m->digest + h->done_ns + i);
        if (h->bulk.received != h->expects)
            nof_cluster_fail(r->cluster, "host %u got %llu bytes, not %llu", i,
                             (unsigned long long)h->bulk.received, (unsigned long long)h->expects);
    }
    return r->rounds == 0 ? 0 : (double)(last_ns - r->from_ns) / 1000 / r->rounds;
}

static double once(struct run *r)
{
    struct nof_sim_mcast *m = r->m;
    if (!get_ready(r))
        return -1;
    uint64_t frames = root_counts(r, NOF_C_MCAST_TX_FRAMES), acks = root_counts(r, NOF_C_MCAST_ACKS_RX);
    uint64_t again =
        root_counts(r, NOF_C_MCAST_REPAIRS_UNICAST) + root_counts(r, NOF_C_MCAST_REPAIRS_MULTICAST);
    uint64_t lost = sum_of(r, true);
    double us = measure_rounds(r);
    if (r->stream && r->stream_ns > r->from_ns)
        *(r->way == BY_NOBODY ? &m->stream_alone_mbps : &m->stream_mbps) =
            (double)m->stream_bytes * 8e3 / (double)(r->stream_ns - r->from_ns);
    if (r->way != BY_MULTICAST || us < 0)
        return us;
    uint64_t chunk = m->mtu_bytes - 124;
    m->frames = r->rounds * ((message_of(m) + chunk - 1) / chunk);
    m->root_bytes = (double)(root_counts(r, NOF_C_MCAST_TX_FRAMES) - frames) / (double)m->frames;
    m->acks = root_counts(r, NOF_C_MCAST_ACKS_RX) - acks;
    m->repairs =
        root_counts(r, NOF_C_MCAST_REPAIRS_UNICAST) + root_counts(r, NOF_C_MCAST_REPAIRS_MULTICAST) - again;
    m->lost = sum_of(r, true) - lost;
    return us;
}

static void configure(const struct nof_sim_mcast *m, struct nof_cluster_config *cfg)
{
    *cfg = (struct nof_cluster_config){.nnics = m->hosts,
                                       .seed = m->seed,
                                       .loop_ns = NOF_BULK_IDLE_TURN_NS,
                                       .frame_ns = m->core_ns,
                                       .pool_frames = 1024,
                                       .queue_frames = 1024,
                                       .switches = m->switches,
                                       .link = {.rate_bps = m->rate_bps,
                                                .delay_ns = NOF_BULK_DELAY_NS,
                                                .multicast = m->multicast,
                                                .buffer_bytes = (uint32_t)m->buffer_bytes},
                                       .nic = {.mtu_bytes = m->mtu_bytes,
                                               .link_rate_bps = m->rate_bps,
                                               .max_endpoints = 1,
                                               .max_paths = m->hosts,
                                               .max_peers = m->hosts,
                                               .max_jobs = 1,
                                               .max_sends = 1024,
                                               .max_posted = 1024,
                                               .max_envelopes = 6 * m->hosts,
                                               .max_layouts = 1,
                                               .max_schedules = 8,
                                               .max_groups = 4,
                                               .sent_frames = 1024,
                                               .reorder_frames = 64,
                                               .netmem_bytes = 4u << 20}};
}

static int measure(struct nof_sim_mcast *m, enum way way, bool stream, double *us_out)
{
    static const char *const names[] = {"multicast", "tree", "linear", "stream"};
    struct nof_cluster_config cfg;
    struct run r = {.m = m, .way = way, .stream = stream, .rounds = way == BY_NOBODY ? 0 : m->repeats};
    configure(m, &cfg);
    r.host = calloc(m->hosts, sizeof(*r.host));
    int status = r.host != NULL ? nof_cluster_create(&cfg, &r.cluster) : NOF_ENOMEM;
    for (unsigned i = 0; status == NOF_OK && i < m->hosts; i++)
        status = open_host(&r, i);
    if (status == NOF_OK) {
        *us_out = once(&r);
        m->drops += sum_of(&r, false);
        const char *why = nof_cluster_violation(r.cluster);
        if (why != NULL || *us_out < 0)
            (void)snprintf(m->problem, sizeof(m->problem), "%u hosts, %llu bytes, %s: %s", m->hosts,
                           (unsigned long long)m->bytes, names[way],
                           why != NULL ? why : "it does not come to an end");
    }
    for (unsigned i = 0; r.host != NULL && i < m->hosts; i++)
        nof_bulk_host_free(&r.host[i].bulk);
    free(r.host);
    nof_cluster_destroy(r.cluster);
    return status;
}

int nof_sim_run_mcast(struct nof_sim_mcast *m)
{
    double nothing;
    m->problem[0] = '\0';
    m->drops = 0;
    m->tree_us = m->linear_us = m->stream_mbps = m->stream_alone_mbps = 0;
    m->limit_us = (double)message_of(m) * 8e6 / (double)m->rate_bps;
    bool stream = m->stream_bytes > 0;
    int status = measure(m, BY_MULTICAST, stream, &m->multicast_us);
    if (status == NOF_OK && stream && m->problem[0] == '\0')
        status = measure(m, BY_NOBODY, true, &nothing);
    if (status == NOF_OK && !stream && m->collective != NOF_MCAST_SCATTERV && m->problem[0] == '\0')
        status = measure(m, BY_TREE, false, &m->tree_us);
    if (status == NOF_OK && !stream && m->collective != NOF_MCAST_BCAST && m->problem[0] == '\0')
        status = measure(m, BY_LINEAR, false, &m->linear_us);
    return status;
}
