/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench stream`: recorded messages from one host to another over a link of a given rate, net_af_xdp on both, with
 * compression off, on and adaptive; and the same with bytes that cannot be compressed. */
#include "../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "lib/option.h"
#include "lib/report.h"
#include "wire_peers.h"

#define MTU_BYTES 1500u
#define MODES 3u
#define ROUNDS 2u

/* A whole record of BT, where one lies beside the project; else a sample, which a predictor soon knows by heart. */
#define RECORDED NOF_BENCH_SOURCE_DIR "/../../shared/data/messages/bt.W/rank0.msg"
#define SAMPLE NOF_BENCH_SOURCE_DIR "/../tests/vectors/messages/bt.W/rank0.msg"

static const char *const modes[MODES] = {"off", "on", "adaptive"};

struct options {
    bool json;
    bool keep_logs;
    unsigned link_mbps;
    double seconds;
    const char *file;
};

struct figure {
    unsigned n;
    double round_mbps[ROUNDS];
    double mbps, ratio; /* the best */
    char why[NOF_WIRE_WHY_BYTES]; /* empty: measured */
};

static struct nof_wire_bench bench;

/* NULL, or why nothing can be measured here. */
static const char *prepare(const struct options *o)
{
    char rate[32];

    bench.mtu_bytes = MTU_BYTES;
    bench.seconds = o->seconds;
    bench.keep_logs = o->keep_logs;
    snprintf(rate, sizeof(rate), "%umbit", o->link_mbps);
    return nof_wire_begin(&bench, rate);
}

/* One more round of a mode. A round that fails (a busy machine misses a handshake) counts only if all do. */
static void measure_mode(const char *port_args, const char *mode, const char *file, struct figure *f)
{
    char set[32], why[NOF_WIRE_WHY_BYTES];
    double mbps, ratio;

    snprintf(set, sizeof(set), "compression=%s", mode);
    if (nof_wire_messages(&bench, port_args, set, file, &mbps, &ratio, why, sizeof(why)) != 0) {
        if (f->n == 0)
            memcpy(f->why, why, sizeof(why));
        return;
    }
    f->why[0] = '\0';
    f->ratio = ratio;
    f->round_mbps[f->n++] = mbps;
    if (mbps > f->mbps)
        f->mbps = mbps;
}

static void measure(const struct options *o, const char *missing, const char *file,
                    struct figure figures[MODES])
{
    char port_args[32];

    snprintf(port_args, sizeof(port_args), "rate=%um", o->link_mbps);
    for (unsigned i = 0; i < ROUNDS * MODES; i++) {
        struct figure *f = &figures[i % MODES];

        if (missing) {
            snprintf(f->why, sizeof(f->why), "%s", missing);
            continue;
        }
        nof_bench_progress("round %u of %u, compression %s: %s", i / MODES + 1, ROUNDS, modes[i % MODES],
                           file);
        measure_mode(port_args, modes[i % MODES], file, f);
    }
}

static void put(json_t *object, const char *key, const struct figure *f, const struct figure *also,
                double value, struct nof_bench_report *report, const char *group)
{
    const char *why = f->why[0] != '\0' ? f->why : also->why;
    char path[96];

    json_object_set_new(object, key, nof_bench_number(why[0] == '\0' ? value : NAN));
    snprintf(path, sizeof(path), "%s.%s", group, key);
    if (why[0] != '\0')
        nof_bench_skip(report, path, why);
}

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static json_t *object_of(const struct figure f[MODES], const char *group, struct nof_bench_report *report)
{
    const struct figure *off = &f[0], *on = &f[1], *adaptive = &f[2];
    double fraction = over(over(on->mbps, off->mbps), on->ratio);
    json_t *o = json_object();
    char name[64];

    put(o, "off_mbps", off, off, off->mbps, report, group);
    put(o, "on_mbps", on, on, on->mbps, report, group);
    put(o, "adaptive_mbps", adaptive, adaptive, adaptive->mbps, report, group);
    put(o, "on_ratio", on, off, over(on->mbps, off->mbps), report, group);
    put(o, "adaptive_ratio", adaptive, off, over(adaptive->mbps, off->mbps), report, group);
    put(o, "compression_ratio", on, on, on->ratio, report, group);
    put(o, "fraction", on, off, fraction, report, group);
    snprintf(name, sizeof(name), "%s.off_mbps", group);
    nof_bench_compared(report, name, off->round_mbps, off->n, fraction);
    return o;
}

static void print_group(const struct nof_bench_report *report, const char *what, const char *group,
                        const struct figure f[MODES])
{
    char name[64];

    if (f[0].n + f[1].n + f[2].n == 0)
        return;
    printf("%s\n", what);
    snprintf(name, sizeof(name), "%s.off_mbps", group);
    for (unsigned i = 0; i < MODES; i++)
        if (f[i].n > 0)
            printf("  %-9s %9s Mbit/s, %s of off; the codec's ratio %s\n", modes[i],
                   nof_bench_cell(report, i == 0 ? name : NULL, f[i].mbps, 2).text,
                   nof_bench_cell(report, NULL, f[0].n > 0 ? f[i].mbps / f[0].mbps : NAN, 4).text,
                   nof_bench_cell(report, NULL, f[i].ratio > 0 ? f[i].ratio : NAN, 4).text);
}

static int report_all(const struct options *o, struct nof_bench_report *report,
                      const struct figure recorded[MODES], const struct figure incompressible[MODES])
{
    json_t *root = json_object();

    json_object_set_new(root, "link_mbps", json_integer(o->link_mbps));
    json_object_set_new(root, "mtu", json_integer(MTU_BYTES));
    json_object_set_new(root, "messages", object_of(recorded, "messages", report));
    json_object_set_new(root, "incompressible", object_of(incompressible, "incompressible", report));
    if (!o->json) {
        print_group(report, o->file, "messages", recorded);
        print_group(report, "random bytes", "incompressible", incompressible);
    }
    return nof_bench_end(report, root) ? 0 : 1;
}

/* False, with a sentence: nothing can be sent out of this file. */
static bool check_file(const char *self, const char *path)
{
    struct nof_messages messages;
    char why[512];
    bool good = nof_messages_read(&messages, path, why, sizeof(why)) == 0;

    if (good)
        nof_messages_free(&messages);
    else
        fprintf(stderr, "%s: %s\n", self, why);
    return good;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    char *end = NULL;
    double rate;

    switch (key) {
    case 'l':
        rate = strtod(arg, &end);
        if (strcasecmp(end, "gbit") == 0)
            rate *= 1000;
        else if (strcasecmp(end, "mbit") != 0)
            rate = 0;
        if (!(rate >= 1 && rate <= 100000))
            argp_error(state, "--link=%s: a rate such as 100mbit or 1gbit", arg);
        o->link_mbps = (unsigned)rate;
        return 0;
    case 'k':
        o->keep_logs = true;
        return 0;
    case 's':
        o->seconds = nof_real_option(arg, 0.1, 60, "--seconds", state);
        return 0;
    case ARGP_KEY_ARG:
        o->file = arg;
        return state->arg_num == 0 ? 0 : ARGP_ERR_UNKNOWN;
    default:
        return nof_bench_option(key, arg, state, &o->json);
    }
}

int nof_bench_stream(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"link", 'l', "RATE", 0, "rate of the links: 100mbit (default), 1gbit", 0},
        {"seconds", 's', "S", 0, "time per run; the best of ten counts (0.5)", 0},
        {"keep-logs", 'k', NULL, 0, "leave the logs of all programs in " NOF_WIRE_LOGS "*", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[FILE]",
        .doc = "Recorded messages (as of nof bench dfcm; default: of NPB BT) from one host to another over a "
               "link of "
               "the given rate, net_af_xdp on both, with compression off, on and adaptive; then random bytes "
               "likewise. "
               "Needs root.",
    };
    struct options o = {.link_mbps = 100, .seconds = 0.5};
    struct figure recorded[MODES] = {0}, incompressible[MODES] = {0};
    struct nof_bench_report report;
    const char *missing;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (o.file == NULL)
        o.file = access(RECORDED, R_OK) == 0 ? RECORDED : SAMPLE;
    if (!check_file(argv[0], o.file))
        return 2;
    nof_bench_begin(&report, argv[0], o.json);
    missing = prepare(&o);
    measure(&o, missing, o.file, recorded);
    measure(&o, missing, "random", incompressible);
    nof_wire_end();
    return report_all(&o, &report, recorded, incompressible);
}
