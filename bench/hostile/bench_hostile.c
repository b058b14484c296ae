/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench hostile`: a job on two hosts while somebody disturbs the network between them, beside the same job undisturbed
 * just before. Ports of net_af_xdp on a switch, then UDP ports over a router. Every message is checked. */
#include "../../tools/nof/commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile_lab.h"
#include "lib/option.h"
#include "lib/report.h"
#include "wire_peers.h"

#define MTU_BYTES 1500u
#define TEXT_BYTES 4096u
#define KPPS 100.0

struct options {
    bool json;
    bool keep_logs;
    double seconds, kpps;
    const char *only, *port;
};

/* What a run of hostile_mpi says, and what the daemons have counted in it. */
struct run {
    double latency_us, p99_us, mbps;
    unsigned long long messages, wrong;
};

enum counted { RETRANSMITS, DROPPED, MARKED, FRAGMENTED, COUNTED };

static const char *const counted_keys[COUNTED] = {"retransmits", "dropped", "marked", "fragmented"};
/* Sums of these are shown. */
static const char *const counters[COUNTED][12] = {
    {"path.retransmits"},
    {"udp.rx_dropped", "drop.conn", "drop.job", "drop.crc", "drop.version", "drop.foreign",
     "xdp.drop_version", "xdp.drop_conn", "xdp.drop_hello"},
    {"udp.rx_marked"},
    {"udp.tx_fragmented"},
};

static struct nof_wire_bench bench;

static const struct argp_option argp_options[] = {
    NOF_BENCH_JSON,
    {"seconds", 's', "S", 0, "time per figure (1)", 0},
    {"kpps", 'r', "N", 0, "thousands of frames in a second that strangers send (100)", 0},
    {"only", 'o', "NAME", 0, "one disturbance", 0},
    {"port", 'p', "PORT", 0, "udp or net_af_xdp alone", 0},
    {"keep-logs", 'k', NULL, 0, "leave the logs of all programs in " NOF_WIRE_LOGS "*", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static void check_only(const char *arg, struct argp_state *state)
{
    char all[256] = "";
    size_t at = 0;

    for (unsigned i = 0; i < nof_nhostiles; i++) {
        if (strcmp(arg, nof_hostiles[i].name) == 0)
            return;
        at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", i > 0 ? ", " : "", nof_hostiles[i].name);
    }
    argp_error(state, "--only=%s: it is one of %s", arg, all);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case 'k':
        o->keep_logs = true;
        return 0;
    case 's':
        o->seconds = nof_real_option(arg, 0.1, 60, "--seconds", state);
        return 0;
    case 'r':
        o->kpps = nof_real_option(arg, 0.1, 2000, "--kpps", state);
        return 0;
    case 'o':
        check_only(arg, state);
        o->only = arg;
        return 0;
    case 'p':
        if (strcmp(arg, "udp") != 0 && strcmp(arg, "net_af_xdp") != 0)
            argp_error(state, "--port=%s: it is udp or net_af_xdp", arg);
        o->port = arg;
        return 0;
    default:
        return nof_bench_option(key, arg, state, &o->json);
    }
}

static int parse_run(const char *text, const char *rest, struct run *out)
{
    const char *at = strstr(text, "latency "), *stream = strstr(rest, "stream ");

    if (at == NULL || stream == NULL || strstr(rest, "done") == NULL ||
        sscanf(at, "latency %lf %lf", &out->latency_us, &out->p99_us) != 2 ||
        sscanf(stream, "stream %lf %llu %llu", &out->mbps, &out->messages, &out->wrong) != 3)
        return -1;
    return 0;
}

static int start_job(struct nof_child *child, const char *log)
{
    char nof[4200], program[4200], into[192], seconds[16];
    const char *argv[] = {nof,  "run", "--nofd", NOF_WIRE_SOCKET, "--hosts", "1", "-n", "2", "sh",
                          "-c", into,  "sh",     program,         seconds,   NULL};

    snprintf(nof, sizeof(nof), "%s/nof", bench.bin_dir);
    snprintf(program, sizeof(program), "%s/bench/hostile_mpi", bench.bin_dir);
    snprintf(seconds, sizeof(seconds), "%.2f", bench.seconds);
    nof_wire_step_into(&bench, into, sizeof(into));
    return nof_child_start(child, NULL, argv, NOF_CHILD_STDOUT, log);
}

/* The job once; h NULL: undisturbed. */
static int run_job(struct nof_hostile_net *net, const struct nof_hostile *h, struct run *out, char *why)
{
    int timeout_ms = 30000 + (int)(bench.seconds * 10000), rc = 0, code;
    char text[TEXT_BYTES], rest[TEXT_BYTES], log[128], what[96];
    struct nof_child child;

    snprintf(log, sizeof(log), "%s/nof-run.log", bench.dir);
    (void)unlink(log); /* what is quoted from it must be of this run */
    if (start_job(&child, log) < 0)
        return nof_wire_failed(&bench, "nof-run", "no process for the ranks", why, NOF_WIRE_WHY_BYTES);
    rest[0] = '\0';
    if (nof_child_read_until(&child, text, sizeof(text), "begun", timeout_ms) == 0) {
        if (h != NULL) {
            nof_bench_sleep_ms((unsigned)(bench.seconds * 200));
            rc = nof_hostile_midway(net, h, why);
        }
        (void)nof_child_read_all(&child, rest, sizeof(rest), timeout_ms);
    }
    code = nof_child_wait(&child, 5000);
    if (rc != 0 || (code == 0 && parse_run(text, rest, out) == 0))
        return rc;
    if (code == 128 + 9)
        snprintf(what, sizeof(what), "the ranks were not done after %d s", timeout_ms / 1000);
    else
        snprintf(what, sizeof(what), "the ranks ended with code %d", code);
    return nof_wire_failed(&bench, "nof-run", what, why, NOF_WIRE_WHY_BYTES);
}

static double count(enum counted which)
{
    double all = 0;

    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; counters[which][i] != NULL; i++)
            all += nof_wire_counter(&bench, side, counters[which][i]);
    return all;
}

/* Undisturbed, then disturbed, by the same two daemons. */
static int run_pair(struct nof_hostile_net *net, const struct nof_hostile *h, struct run pair[2],
                    double counts[COUNTED], char *why)
{
    int rc = run_job(net, NULL, &pair[0], why);

    for (unsigned i = 0; i < COUNTED; i++)
        counts[i] = count(i);
    if (rc == 0)
        rc = nof_hostile_begin(net, h, why);
    if (rc == 0)
        rc = run_job(net, h, &pair[1], why);
    nof_hostile_end(net, h);
    for (unsigned i = 0; i < COUNTED; i++)
        counts[i] = count(i) - counts[i];
    return rc;
}

static int measure(struct nof_hostile_net *net, const struct nof_hostile *h, struct run pair[2],
                   double counts[COUNTED], char *why)
{
    const char *port = net->routed ? "udp:eth0" : "net_af_xdp,iface=eth0";
    struct nof_child nofd[2] = {{.in_fd = -1, .out_fd = -1}, {.in_fd = -1, .out_fd = -1}};
    int rc = 0;

    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc = nof_wire_start_nofd(&bench, side, port, "compression=off", NULL, &nofd[side], why,
                                 NOF_WIRE_WHY_BYTES);
    if (rc == 0)
        rc = run_pair(net, h, pair, counts, why);
    for (unsigned side = 0; side < 2; side++)
        nof_child_end(&nofd[side], 5000);
    return rc;
}

static void put(json_t *row, const char *key, int rc, double value, double step)
{
    if (rc != 0 || isnan(value))
        json_object_set_new(row, key, json_null());
    else if (step >= 1)
        json_object_set_new(row, key, json_integer((json_int_t)value));
    else
        json_object_set_new(row, key, json_real((double)(long long)(value / step + 0.5) * step));
}

static json_t *row_of(struct nof_hostile_net *net, const struct nof_hostile *h, const char *port,
                      const char *missing, struct nof_bench_report *report)
{
    struct run pair[2] = {{.mbps = 0}, {.mbps = 0}};
    double counts[COUNTED] = {0};
    char why[NOF_WIRE_WHY_BYTES] = "", name[64];
    json_t *row = json_object();
    int rc = -1;

    net->sent_kpps = NAN;
    snprintf(name, sizeof(name), "%s.%s", port, h->name);
    nof_bench_progress("%s: %s...", port, h->title);
    if (missing != NULL)
        snprintf(why, sizeof(why), "%s", missing);
    else
        rc = measure(net, h, pair, counts, why);
    if (rc != 0)
        nof_bench_skip(report, name, why);
    json_object_set_new(row, "port", json_string(port));
    json_object_set_new(row, "disturbance", json_string(h->name));
    put(row, "kpps", rc, net->sent_kpps, 0.1);
    put(row, "mbps", rc, pair[1].mbps, 0.1);
    put(row, "undisturbed_mbps", rc, pair[0].mbps, 0.1);
    put(row, "fraction", rc, pair[1].mbps / pair[0].mbps, 0.001);
    put(row, "latency_us", rc, pair[1].latency_us, 0.01);
    put(row, "undisturbed_latency_us", rc, pair[0].latency_us, 0.01);
    put(row, "p99_us", rc, pair[1].p99_us, 0.01);
    put(row, "undisturbed_p99_us", rc, pair[0].p99_us, 0.01);
    put(row, "messages", rc, (double)pair[1].messages, 1);
    put(row, "wrong", rc, (double)(pair[0].wrong + pair[1].wrong), 1);
    for (unsigned i = 0; i < COUNTED; i++)
        put(row, counted_keys[i], rc, counts[i], 1);
    return row;
}

static void measure_port(struct nof_hostile_net *net, const struct options *o, const char *missing,
                         json_t *rows, struct nof_bench_report *report)
{
    const char *port = net->routed ? "udp" : "net_af_xdp";

    for (unsigned i = 0; i < nof_nhostiles; i++) {
        const struct nof_hostile *h = &nof_hostiles[i];

        if ((o->only == NULL || strcmp(o->only, h->name) == 0) && (net->routed || !h->udp_only))
            json_array_append_new(rows, row_of(net, h, port, missing, report));
    }
}

static void print_rows(const struct nof_bench_report *report, const json_t *rows)
{
    const json_t *row;
    size_t i;

    printf("%-10s %-18s %7s %9s %9s %8s %8s %8s %9s %6s %8s %8s %7s %7s\n", "port", "disturbance", "kpps",
           "Mbit/s", "fraction", "us", "quiet us", "p99 us", "messages", "wrong", "again", "dropped",
           "marked", "pieces");
    json_array_foreach(rows, i, row)
    {
        printf("%-10s %-18s", json_string_value(json_object_get(row, "port")),
               json_string_value(json_object_get(row, "disturbance")));
        printf(" %7s", nof_bench_cell(report, NULL, nof_bench_real(row, "kpps"), 0).text);
        printf(" %9s", nof_bench_cell(report, NULL, nof_bench_real(row, "mbps"), 1).text);
        printf(" %9s", nof_bench_cell(report, NULL, nof_bench_real(row, "fraction"), 3).text);
        printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, "latency_us"), 1).text);
        printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, "undisturbed_latency_us"), 1).text);
        printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, "p99_us"), 1).text);
        printf(" %9s", nof_bench_cell(report, NULL, nof_bench_real(row, "messages"), 0).text);
        printf(" %6s", nof_bench_cell(report, NULL, nof_bench_real(row, "wrong"), 0).text);
        printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, "retransmits"), 0).text);
        printf(" %8s", nof_bench_cell(report, NULL, nof_bench_real(row, "dropped"), 0).text);
        printf(" %7s", nof_bench_cell(report, NULL, nof_bench_real(row, "marked"), 0).text);
        printf(" %7s\n", nof_bench_cell(report, NULL, nof_bench_real(row, "fragmented"), 0).text);
    }
}

static const char *prepare(const struct options *o)
{
    char program[4200];
    const char *missing;

    bench.nhosts = 3;
    bench.mtu_bytes = MTU_BYTES;
    bench.seconds = o->seconds;
    bench.keep_logs = o->keep_logs;
    missing = nof_wire_begin(&bench, NULL);
    snprintf(program, sizeof(program), "%s/bench/hostile_mpi", bench.bin_dir);
    if (missing == NULL && access(program, X_OK) != 0)
        return "bench/hostile_mpi is not beside nof; run: ninja -C BUILD";
    return missing;
}

int nof_bench_hostile(int argc, char **argv)
{
    static const char doc[] =
        "A job on two hosts (network namespaces) while a third one floods them, forges their addresses or "
        "ICMP errors, or "
        "the way between them loses, marks or becomes narrow, beside the same job undisturbed. Needs root.";
    const struct argp argp = {argp_options, parse, NULL, doc, NULL, NULL, NULL};
    struct options o = {.seconds = 1, .kpps = KPPS};
    struct nof_hostile_net net = {.bench = &bench};
    struct nof_bench_report report;
    const char *missing;
    json_t *root, *rows;
    bool all;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    nof_bench_begin(&report, argv[0], o.json);
    net.kpps = o.kpps;
    missing = prepare(&o);
    root = json_object();
    rows = json_array();
    json_object_set_new(root, "mtu", json_integer(MTU_BYTES));
    json_object_set(root, "rows", rows);
    if (o.port == NULL || strcmp(o.port, "net_af_xdp") == 0)
        measure_port(&net, &o, missing, rows, &report);
    net.routed = true;
    if (missing == NULL && nof_lab_route(&bench.lab) != 0)
        missing = "the lab's switch cannot be made a router: sysctl is missing (apt install procps), or it "
                  "forwards nothing";
    if (missing == NULL)
        nof_lab_offloads(&bench.lab, 1);
    if (o.port == NULL || strcmp(o.port, "udp") == 0)
        measure_port(&net, &o, missing, rows, &report);
    if (!o.json && missing == NULL)
        print_rows(&report, rows);
    json_decref(rows);
    all = nof_bench_end(&report, root);
    nof_wire_end();
    return all ? 0 : 1;
}
