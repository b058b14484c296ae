/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench core`: what the firmware core costs, in instructions, counted by callgrind: per 64-byte
 * message and per full frame of a 1 MiB message, each side.
 *
 * Counted is everything between the entry points of the core and its port and host: descriptors,
 * matching, credit, transport, timers, acknowledgements of both directions, completions, and giving
 * staging slots back. The CRC over each frame and the copy of payload stand beside it. */
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

#define BURST 16u /* descriptors per call, and frames per call */
#define ROUNDS 32u /* bursts in a batch */
#define BATCHES 20u
#define FRAME_BURST 32u
#define LARGE_BYTES (1u << 20)
#define WARM 8u
#define AUTO 5u /* of feature `prediction` */

struct arguments {
    bool json;
    uint32_t mtu_bytes;
    const char *child; /* "send:msg64": do the work that is measured */
};

static struct nof_desc transfer(int send, uint64_t len)
{
    return (struct nof_desc){.opcode = send ? NOF_DESC_SEND : NOF_DESC_RECV,
                             .ctx = 1,
                             .peer = send ? 1 : 0,
                             .tag = 7,
                             .len = len,
                             .addr = 0x100000};
}

/* The tags of messages, and the places of their receives: all the same; a cycle over three places; any, at one. */
enum order { ORDER_SAME, ORDER_CYCLIC, ORDER_RANDOM };
#define TAGS 12u

static void name_next(enum order order, struct nof_desc *recv, struct nof_desc *send)
{
    static uint64_t state = 88172645463325252u;
    static unsigned calls;
    if (order == ORDER_SAME)
        return;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    recv->tag = (int32_t)((order == ORDER_CYCLIC ? calls : state >> 20) % TAGS);
    send->tag = recv->tag;
    recv->callsite = order == ORDER_CYCLIC ? 1 + calls % 3 : 1;
    calls++;
}

static void small_round(struct nof_pair *p, enum order order)
{
    struct nof_desc recvs[BURST], sends[BURST];
    for (unsigned i = 0; i < BURST; i++) {
        recvs[i] = transfer(0, 64);
        sends[i] = transfer(1, 64);
        name_next(order, &recvs[i], &sends[i]);
    }
    nof_pair_release(p, 1);
    nof_pair_host(p, 1, recvs, BURST);
    nof_pair_host(p, 0, sends, BURST);
    nof_pair_turn(p, BURST, 20000);
}

static void large_message(struct nof_pair *p)
{
    struct nof_desc recv = transfer(0, LARGE_BYTES), send = transfer(1, LARGE_BYTES);
    uint64_t before = p->side[1].completions[NOF_COMP_RECV];
    nof_pair_host(p, 1, &recv, 1);
    nof_pair_host(p, 0, &send, 1);
    for (unsigned i = 0; i < 10000 && p->side[1].completions[NOF_COMP_RECV] == before; i++)
        nof_pair_turn(p, FRAME_BURST, 20000);
}

/* Prints what each batch stands for: messages or full frames. */
static int work(const struct arguments *a)
{
    static struct nof_pair pair;
    int side = strncmp(a->child, "recv", 4) == 0;
    bool large = strstr(a->child, "frame") != NULL;
    enum order order = strstr(a->child, "cyclic") != NULL   ? ORDER_CYCLIC
                       : strstr(a->child, "random") != NULL ? ORDER_RANDOM
                                                            : ORDER_SAME;
    struct nof_nic_config cfg = {
        .mtu_bytes = a->mtu_bytes, .max_endpoints = 4, .max_paths = 4, .max_peers = 16};
    if (nof_pair_init(&pair, &cfg) != 0)
        return 1;
    if (strstr(a->child, "-auto") != NULL)
        nof_nic_feature_set(pair.side[1].nic, NOF_F_PREDICTION, AUTO);
    for (unsigned i = 0; i < WARM; i++)
        large ? large_message(&pair) : small_round(&pair, order);
    pair.measured = side;
    for (unsigned b = 0; b < BATCHES; b++) {
        for (unsigned i = 0; !large && i < ROUNDS; i++)
            small_round(&pair, order);
        if (large)
            large_message(&pair);
        nof_callgrind_mark();
    }
    bool ok = pair.side[0].errors + pair.side[1].errors == 0;
    nof_pair_fini(&pair);
    return ok ? 0 : 1;
}

/* Full frames of one large message: as many as the smallest number of frames that can carry it. */
static double frames_per_message(uint32_t mtu_bytes)
{
    uint32_t payload = mtu_bytes - 20 - 8 - 32 - 16; /* IPv4, UDP, common header, DATA */
    return (double)LARGE_BYTES / payload;
}

struct row {
    const char *side, *name;
    double instructions, crc, copy;
    char problem[200]; /* empty: measured */
};

static void measure(struct row *r, uint32_t mtu_bytes)
{
    static struct nof_callgrind_batch batches[NOF_CALLGRIND_BATCHES_MAX];
    double core[NOF_CALLGRIND_BATCHES_MAX], crc[NOF_CALLGRIND_BATCHES_MAX], copy[NOF_CALLGRIND_BATCHES_MAX];
    char child[64], mtu[32];
    snprintf(child, sizeof(child), "--child=%s:%s", r->side, r->name);
    snprintf(mtu, sizeof(mtu), "--mtu=%u", mtu_bytes);
    const char *const args[] = {"bench", "core", child, mtu, NULL};
    int n = nof_callgrind_run(args, batches, r->problem, sizeof(r->problem));
    if (n < 0)
        return;
    double units = strcmp(r->name, "frame") == 0 ? frames_per_message(mtu_bytes) : (double)(BURST * ROUNDS);
    for (int i = 0; i < n; i++) {
        core[i] = batches[i].core / units;
        crc[i] = batches[i].crc / units;
        copy[i] = batches[i].copy / units;
    }
    r->instructions = nof_callgrind_median(core, (size_t)n);
    r->crc = nof_callgrind_median(crc, (size_t)n);
    r->copy = nof_callgrind_median(copy, (size_t)n);
}

static json_t *row_json(const struct row *r)
{
    if (r->problem[0] != '\0')
        return json_pack("{s:s,s:s,s:n,s:n,s:n}", "side", r->side, "case", r->name, "instructions", "crc",
                         "copy");
    return json_pack("{s:s,s:s,s:f,s:f,s:f}", "side", r->side, "case", r->name, "instructions",
                     r->instructions, "crc", r->crc, "copy", r->copy);
}

static int report(const struct row *rows, size_t n, struct nof_bench_report *report)
{
    json_t *list = json_array();
    bool headed = report->json;

    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        char key[64];

        json_array_append_new(list, row_json(r));
        snprintf(key, sizeof(key), "%s.%s", r->side, r->name);
        if (r->problem[0] != '\0') {
            nof_bench_skip(report, key, r->problem);
            continue;
        }
        if (!headed)
            printf("%-6s %-12s %14s %8s %8s   instructions\n", "side", "case", "core", "crc", "copy");
        headed = true;
        if (!report->json)
            printf("%-6s %-12s %14.1f %8.1f %8.1f\n", r->side, r->name, r->instructions, r->crc, r->copy);
    }
    return nof_bench_end(report, json_pack("{s:o}", "rows", list)) ? 0 : 1;
}

enum { KEY_CHILD = 256, KEY_MTU };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_CHILD:
        a->child = arg;
        break;
    case KEY_MTU:
        a->mtu_bytes = nof_number_option(arg, 576, 9216, "--mtu", state);
        break;
    default:
        return nof_bench_option(key, arg, state, &a->json);
    }
    return 0;
}

int nof_bench_core(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"mtu", KEY_MTU, "BYTES", 0, "IP MTU of the link (default 1500)", 0},
        {"child", KEY_CHILD, "CASE", OPTION_HIDDEN, NULL, 0},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Instructions of the firmware core per 64-byte message and per full frame of a 1 MiB message, on "
            "the sending and on the receiving side, counted by valgrind's callgrind: median over 20 batches "
            "of 512 messages, or of one message. Bursts are of 16 messages, or 32 frames. Acknowledgements "
            "and matching are included; CRC and copying of payload stand apart. Cyclic and random: 64-byte "
            "messages of 12 tags, in that order of "
            "receives, with prediction off and on.",
    };
    struct arguments a = {.mtu_bytes = 1500};
    struct nof_bench_report r;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.child != NULL)
        return work(&a);
    struct row rows[] = {
        {.side = "send", .name = "msg64"},  {.side = "recv", .name = "msg64"},
        {.side = "send", .name = "frame"},  {.side = "recv", .name = "frame"},
        {.side = "recv", .name = "cyclic"}, {.side = "recv", .name = "cyclic-auto"},
        {.side = "recv", .name = "random"}, {.side = "recv", .name = "random-auto"},
    };
    nof_bench_begin(&r, argv[0], a.json);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        nof_bench_progress("%s of %s...", rows[i].name, rows[i].side);
        measure(&rows[i], a.mtu_bytes);
    }
    return report(rows, sizeof(rows) / sizeof(rows[0]), &r);
}
