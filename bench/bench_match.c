/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench match`: what a match costs, in instructions counted by callgrind, with 10, 1 000 and
 * 100 000 entries in the list; and what 100 000 unmatched sends do to the NIC's memory.
 *
 * One match is everything that firmware/match/match.c does for a message and its receive: putting the one
 * that waits into the tables, finding it, taking it out. Receives with wildcards are posted besides,
 * so that every kind of key is looked up. */
#include "commands.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/callgrind.h"
#include "core_pair.h"
#include "lib/option.h"
#include "lib/report.h"
#include "match/match.h"
#include "nic.h"

#define MATCHES 4000u
#define SENDS 100000u

static const unsigned entries[] = {10, 1000, 100000};
#define NENTRIES (sizeof(entries) / sizeof(entries[0]))

static const struct list {
    const char *name;
    bool unexpected; /* envelopes wait, else receives */
    bool same_key; /* all alike: one long queue; else all different */
} lists[] = {
    {"posted", false, false},
    {"posted_same_key", false, true},
    {"unexpected", true, false},
    {"unexpected_same_key", true, true},
};
#define NLISTS (sizeof(lists) / sizeof(lists[0]))

struct table {
    struct nof_nic *nic;
    const struct list *list;
    unsigned n;
};

static struct nof_match_key key_of(const struct list *l, unsigned i)
{
    return (struct nof_match_key){.ep = 0, .ctx = 5, .source = 1, .tag = l->same_key ? 3 : (int32_t)i};
}

static struct nof_recv *post(struct nof_nic *nic, struct nof_match_key key)
{
    struct nof_recv *r = nof_recv_at(nic, nof_pool_take(&nic->recvs));
    memset((unsigned char *)r + sizeof(r->obj), 0, sizeof(*r) - sizeof(r->obj));
    r->opcode = NOF_COMP_RECV;
    r->key = key;
    nof_match_post(nic, r);
    return r;
}

static void fill(struct table *t)
{
    for (unsigned i = 0; i < t->n; i++) {
        if (!t->list->unexpected) {
            post(t->nic, key_of(t->list, i));
            continue;
        }
        struct nof_env *e = nof_env_at(t->nic, nof_pool_take(&t->nic->envs));
        e->key = key_of(t->list, i);
        nof_match_store(t->nic, e);
    }
}

static void matches(void *arg)
{
    struct table *t = arg;
    struct nof_endpoint *ep = &t->nic->eps[0];
    uint32_t x = 12345;
    for (unsigned k = 0; k < MATCHES; k++) {
        x = x * 1664525u + 1013904223u;
        struct nof_match_key key = key_of(t->list, (unsigned)((uint64_t)x * t->n >> 32));
        if (t->list->unexpected) {
            struct nof_env *e = nof_match_find(t->nic, &key);
            nof_match_unstore(t->nic, e);
            nof_match_store(t->nic, e);
        } else {
            struct nof_recv *r = nof_match_posted(t->nic, ep, &key);
            nof_match_unpost(t->nic, r);
            nof_match_post(t->nic, r);
        }
    }
}

static int work(void)
{
    for (size_t l = 0; l < NLISTS; l++)
        for (size_t i = 0; i < NENTRIES; i++) {
            static struct nof_pair pair;
            struct nof_nic_config cfg = {
                .mtu_bytes = 1500, .max_posted = 1u << 17, .max_envelopes = 1u << 17, .max_peers = 16};
            if (nof_pair_init(&pair, &cfg) != 0)
                return 1;
            struct table t = {.nic = pair.side[0].nic, .list = &lists[l], .n = entries[i]};
            post(t.nic, (struct nof_match_key){.ctx = 6, .source = NOF_ANY_SOURCE, .tag = 1});
            post(t.nic, (struct nof_match_key){.ctx = 6, .source = 1, .tag = NOF_ANY_TAG});
            post(t.nic, (struct nof_match_key){.ctx = 6, .source = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG});
            fill(&t);
            nof_callgrind_measured(matches, &t);
            nof_callgrind_mark();
            nof_pair_fini(&pair);
        }
    return 0;
}

struct spill {
    uint64_t unmatched, wanted; /* envelopes that the host has, by tag */
    uint64_t arena_before, arena_after;
    uint64_t used_before, used_after; /* bytes of pools and network memory in use */
    uint64_t sent;
    bool no_match; /* the receive of tag 2 was told to look in the host's list */
    char problem[200];
};

static void on_completion(void *ctx, const struct nof_comp *comp)
{
    struct spill *s = ctx;
    if (comp->opcode == NOF_COMP_SPILL) {
        s->unmatched += comp->tag == 1;
        s->wanted += comp->tag == 2;
    } else if (comp->opcode == NOF_COMP_RECV) {
        s->no_match |= comp->status == NOF_ENOMATCH;
    }
}

static uint64_t used_bytes(const struct nof_nic *nic)
{
    const struct nof_pool *pools[] = {&nic->sends, &nic->recvs, &nic->envs, &nic->peers, &nic->ctls};
    uint64_t bytes = (uint64_t)nic->netmem.used * NOF_NETMEM_BLOCK;
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++)
        bytes += (uint64_t)pools[i]->used * pools[i]->stride_bytes;
    return bytes;
}

static struct nof_desc isend(int tag)
{
    return (struct nof_desc){
        .opcode = NOF_DESC_SEND, .flags = NOF_DESC_F_INLINE, .ctx = 1, .peer = 1, .tag = tag, .len = 8};
}

static void spill(struct spill *s)
{
    static struct nof_pair pair;
    struct nof_nic_config cfg = {.mtu_bytes = 1500, .max_peers = 64};
    memset(s, 0, sizeof(*s));
    if (nof_pair_init(&pair, &cfg) != 0) {
        snprintf(s->problem, sizeof(s->problem), "no memory for two NICs");
        return;
    }
    struct nof_pair_side *to = &pair.side[1];
    to->on_completion = on_completion;
    to->ctx = s;
    s->arena_before = nof_nic_counters(to->nic)[NOF_C_MEM_BYTES];
    s->used_before = used_bytes(to->nic);
    for (unsigned round = 0; round < 1000000 && s->sent < SENDS; round++) {
        unsigned room = nof_nic_host_room(pair.side[0].nic, pair.side[0].endpoint);
        struct nof_desc d[64];
        unsigned n = 0;
        while (n < room && n < 64 && s->sent < SENDS) {
            d[n++] = isend(1);
            s->sent++;
        }
        if (n > 0)
            nof_pair_host(&pair, 0, d, n);
        nof_pair_turn(&pair, 32, 20000);
    }
    struct nof_desc last = isend(2);
    struct nof_desc recv = {.opcode = NOF_DESC_RECV, .ctx = 1, .peer = 0, .tag = 2, .len = 8};
    nof_pair_host(&pair, 0, &last, 1);
    nof_pair_host(&pair, 1, &recv, 1);
    for (unsigned i = 0; i < 10000 && s->wanted == 0; i++)
        nof_pair_turn(&pair, 32, 20000);
    s->arena_after = nof_nic_counters(to->nic)[NOF_C_MEM_BYTES];
    s->used_after = used_bytes(to->nic);
    if (s->wanted == 0 || !s->no_match)
        snprintf(s->problem, sizeof(s->problem), "the message of tag 2 did not come after %llu sends",
                 (unsigned long long)s->sent);
    nof_pair_fini(&pair);
}

struct figures {
    double instructions[NLISTS][NENTRIES];
    char problem[200]; /* of the instructions; empty: measured */
    struct spill spill;
};

static void measure(struct figures *f)
{
    static struct nof_callgrind_batch batches[NOF_CALLGRIND_BATCHES_MAX];
    const char *const args[] = {"bench", "match", "--child", NULL};
    memset(f, 0, sizeof(*f));
    int n = nof_callgrind_run(args, batches, f->problem, sizeof(f->problem));
    if (n >= 0 && n != (int)(NLISTS * NENTRIES))
        snprintf(f->problem, sizeof(f->problem), "callgrind wrote %d dumps instead of %d", n,
                 (int)(NLISTS * NENTRIES));
    for (int i = 0; f->problem[0] == '\0' && i < n; i++)
        f->instructions[(size_t)i / NENTRIES][(size_t)i % NENTRIES] = batches[i].match / MATCHES;
    spill(&f->spill);
}

static json_t *list_json(const struct figures *f, size_t l)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < NENTRIES; i++) {
        json_t *value = f->problem[0] == '\0' ? json_real(f->instructions[l][i]) : json_null();
        json_array_append_new(rows, json_pack("{s:s,s:i,s:o}", "list", lists[l].name, "entries",
                                              (int)entries[i], "instructions", value));
    }
    return rows;
}

static json_t *spill_json(const struct spill *s)
{
    if (s->sent == 0)
        return json_null();
    return json_pack("{s:I,s:I,s:b,s:I,s:I,s:I,s:I}", "isends", (json_int_t)s->sent, "spilled_messages",
                     (json_int_t)s->unmatched, "tag2_received", s->problem[0] == '\0', "nic_mem_bytes_before",
                     (json_int_t)s->arena_before, "nic_mem_bytes_after", (json_int_t)s->arena_after,
                     "nic_used_bytes_before", (json_int_t)s->used_before, "nic_used_bytes_after",
                     (json_int_t)s->used_after);
}

static json_t *result_of(const struct figures *f, struct nof_bench_report *report)
{
    json_t *rows = json_array();

    for (size_t l = 0; l < NLISTS; l++) {
        json_t *list = list_json(f, l);
        json_array_extend(rows, list);
        json_decref(list);
    }
    if (f->problem[0] != '\0')
        nof_bench_skip(report, "instructions", f->problem);
    if (f->spill.problem[0] != '\0')
        nof_bench_skip(report, "spill", f->spill.problem);
    return json_pack("{s:o,s:o}", "rows", rows, "spill", spill_json(&f->spill));
}

static void print_text(const struct figures *f)
{
    const struct spill *s = &f->spill;

    for (size_t l = 0; f->problem[0] == '\0' && l < NLISTS; l++) {
        if (l == 0)
            printf("%-22s %10s %10s %10s   instructions per match\n", "list", "10", "1000", "100000");
        printf("%-22s %10.1f %10.1f %10.1f   %.2f times from 10 to 100000 entries\n", lists[l].name,
               f->instructions[l][0], f->instructions[l][1], f->instructions[l][2],
               f->instructions[l][2] / f->instructions[l][0]);
    }
    if (s->problem[0] == '\0')
        printf("%llu unmatched sends, then tag 2: received; NIC memory %llu bytes before, %llu after; in use "
               "%llu, "
               "then %llu\n",
               (unsigned long long)s->sent, (unsigned long long)s->arena_before,
               (unsigned long long)s->arena_after, (unsigned long long)s->used_before,
               (unsigned long long)s->used_after);
}

enum { KEY_CHILD = 256 };

struct arguments {
    bool json, child;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_CHILD:
        a->child = true;
        break;
    default:
        return nof_bench_option(key, arg, state, &a->json);
    }
    return 0;
}

int nof_bench_match(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"child", KEY_CHILD, NULL, OPTION_HIDDEN, NULL, 0},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Instructions per match (post or store, find, take out) with 10, 1000 and 100000 entries in "
               "the list, "
               "counted by valgrind's callgrind; then 100000 sends of tag 1 that nobody receives, and one of "
               "tag 2 "
               "that must come through while the NIC's memory stays what it was.",
    };
    struct arguments a = {.json = false};
    struct nof_bench_report report;
    json_t *result;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.child)
        return work();
    static struct figures f;
    nof_bench_begin(&report, argv[0], a.json);
    nof_bench_progress("counting instructions...");
    measure(&f);
    result = result_of(&f, &report);
    if (!a.json)
        print_text(&f);
    return nof_bench_end(&report, result) ? 0 : 1;
}
