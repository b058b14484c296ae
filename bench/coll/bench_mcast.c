/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench mcast`: Figures 7 to 10 of CC-MPI (docs/SOURCES.md) and what its section 3.2 says of streams, in virtual time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "lib/option.h"
#include "lib/report.h"
#include "mcast.h"
#include "nof_private/units.h"
#include "port/fabric/fabric.h"
#include "sim_args.h"

#define HOSTS_MAX 256u
#define BYTES_MAX (16u << 20)
#define STREAM_BYTES (8u << 20)

enum {
    OPT_COLLECTIVE = 256,
    OPT_GROUP,
    OPT_HOSTS,
    OPT_SWITCHES,
    OPT_RECEIVERS,
    OPT_SIZES,
    OPT_LINK,
    OPT_BUFFER,
    OPT_MTU,
    OPT_CORE,
    OPT_MULTICAST,
    OPT_LOSS,
    OPT_REPEAT,
    OPT_STREAM,
    OPT_SEED
};

static const char *const collectives[] = {
    [NOF_MCAST_BCAST] = "bcast", [NOF_MCAST_SCATTER] = "scatter", [NOF_MCAST_SCATTERV] = "scatterv"};
static const char *const schemes[] = {
    [NOF_MCAST_STATIC] = "static", [NOF_MCAST_DYNAMIC] = "dynamic", [NOF_MCAST_COMPILED] = "compiled"};

struct bench {
    struct nof_sim_mcast what;
    struct nof_sim_list hosts, sizes;
    bool json;
    struct nof_bench_report report;
};

static unsigned word_option(struct argp_state *state, const char *option, const char *text,
                            const char *const words[3])
{
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    argp_error(state, "%s: '%s' is none of %s, %s, %s", option, text, words[0], words[1], words[2]);
    return 0;
}

static void check(struct argp_state *state, struct bench *b)
{
    struct nof_sim_mcast *w = &b->what;
    if (w->scheme != NOF_MCAST_STATIC && w->collective != NOF_MCAST_SCATTERV)
        argp_error(state, "--group %s is for --collective scatterv: the others' group is that of all hosts",
                   schemes[w->scheme]);
    for (unsigned i = 0; i < b->hosts.count; i++) {
        if (w->collective == NOF_MCAST_SCATTERV && w->receivers >= b->hosts.value[i])
            argp_error(state, "--receivers: %u of %u hosts are not beside a root", w->receivers,
                       (unsigned)b->hosts.value[i]);
        if (w->switches > b->hosts.value[i])
            argp_error(state, "--switches: more than hosts");
    }
    if (b->sizes.count == 0)
        b->sizes = w->collective == NOF_MCAST_BCAST
                       ? (struct nof_sim_list){.value = {1, 1024, 10240, 65536, 1048576}, .count = 5}
                       : (struct nof_sim_list){.value = {1, 50, 200, 1024, 4096, 16384}, .count = 6};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;
    struct nof_sim_mcast *w = &b->what;
    double share;

    switch (key) {
    case OPT_COLLECTIVE:
        w->collective = (enum nof_mcast_collective)word_option(state, "--collective", arg, collectives);
        return 0;
    case OPT_GROUP:
        w->scheme = (enum nof_mcast_scheme)word_option(state, "--group", arg, schemes);
        return 0;
    case OPT_HOSTS:
        nof_sim_list(state, "--hosts", arg, false, 3, HOSTS_MAX, &b->hosts);
        return 0;
    case OPT_SWITCHES:
        w->switches = (unsigned)nof_sim_number(state, "--switches", arg, false, 1, NOF_FABRIC_SWITCHES_MAX);
        return 0;
    case OPT_RECEIVERS:
        w->receivers = (unsigned)nof_sim_number(state, "--receivers", arg, false, 2, HOSTS_MAX - 1);
        return 0;
    case OPT_SIZES:
        nof_sim_list(state, "--sizes", arg, true, 1, BYTES_MAX, &b->sizes);
        return 0;
    case OPT_LINK:
        w->rate_bps = nof_sim_rate(state, "--link", arg);
        return 0;
    case OPT_BUFFER:
        w->buffer_bytes = nof_sim_number(state, "--buffer", arg, true, 10000, 1u << 30);
        return 0;
    case OPT_MTU:
        w->mtu_bytes = (uint32_t)nof_sim_number(state, "--mtu", arg, false, 576, 9216);
        return 0;
    case OPT_CORE:
        w->core_ns = (uint32_t)nof_sim_number(state, "--core-ns", arg, false, 0, 100000);
        return 0;
    case OPT_MULTICAST:
        if (nof_fabric_multicast_parse(arg, &w->multicast) != 0 || w->multicast == NOF_FABRIC_DROP)
            argp_error(state, "--multicast: '%s' is neither flood nor snoop", arg);
        return 0;
    case OPT_LOSS:
        if (nofd_units_share(arg, &share) != 0 || share > 0.5)
            argp_error(state, "--loss: '%s' is no share from 0 to 0.5, such as 0.01", arg);
        w->loss_ppm = (uint32_t)(share * 1e6 + 0.5);
        return 0;
    case OPT_REPEAT:
        w->repeats = (unsigned)nof_sim_number(state, "--repeat", arg, false, 1, 1000);
        return 0;
    case OPT_STREAM:
        w->stream_bytes = STREAM_BYTES;
        return 0;
    case OPT_SEED:
        w->seed = nof_sim_number(state, "--seed", arg, false, 1, UINT32_MAX);
        return 0;
    case ARGP_KEY_END:
        check(state, b);
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"collective", OPT_COLLECTIVE, "NAME", 0, "bcast, scatter or scatterv (bcast)", 0},
        {"group", OPT_GROUP, "SCHEME", 0,
         "static: of all hosts; of a scatterv also dynamic: formed for each, and compiled: opened before "
         "(static)",
         0},
        {"hosts", OPT_HOSTS, "N[,N]", 0, "hosts with the root, 3 to 256 (29)", 0},
        {"switches", OPT_SWITCHES, "N", 0, "that they are dealt to, with a link to each other (1)", 0},
        {"receivers", OPT_RECEIVERS, "N", 0, "of a scatterv (5)", 0},
        {"sizes", OPT_SIZES, "SIZE[,SIZE]", 0,
         "of a broadcast (1,1k,10k,64k,1m), or of a block (1,50,200,1k,4k,16k)", 0},
        {"link", OPT_LINK, "RATE", 0, "of each host, and between switches (100mbit)", 0},
        {"buffer", OPT_BUFFER, "SIZE", 0, "of a switch towards each host (60kB)", 0},
        {"mtu", OPT_MTU, "BYTES", 0, "IP MTU (1500)", 0},
        {"core-ns", OPT_CORE, "NS", 0, "what a core is charged for each frame (200)", 0},
        {"multicast", OPT_MULTICAST, "HOW", 0, "what switches do with it: flood or snoop (flood)", 0},
        {"loss", OPT_LOSS, "P", 0, "share of the frames to each host that is lost (0)", 0},
        {"repeat", OPT_REPEAT, "N", 0, "one after the other; the mean counts (20)", 0},
        {"stream", OPT_STREAM, NULL, 0,
         "beside a stream of 8 MiB from the last host but one to the last, in place of the unicast rows", 0},
        {"seed", OPT_SEED, "N", 0, "of the losses (1)", 0},
        {0},
    };
    static const struct argp argp = {
        options,
        parse,
        NULL,
        "Broadcasts and scatters by multicast, beside the library's trees and a root that sends to each "
        "host, "
        "under a virtual clock: the firmware core of each host, and switches with one output queue a host.\v"
        "Times are of one of many that follow each other without a pause, as in the paper: a root whose "
        "sends have left "
        "begins the next. The limit is what the root must send, at the rate of a link; root: what it "
        "multicast, in parts of that. A scatterv by the static group tells all hosts the sizes first. The "
        "host's own work "
        "takes no time here.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
}

static json_t *or_null(double value)
{
    return nof_bench_number(value > 0 ? value : NAN);
}

static json_t *row_of(const struct nof_sim_mcast *w)
{
    return json_pack("{s:i,s:I,s:f,s:f,s:o,s:o,s:o,s:o,s:f,s:I,s:I,s:I,s:I,s:I}", "hosts", (int)w->hosts,
                     "bytes", (json_int_t)w->bytes, "limit_us", w->limit_us, "multicast_us", w->multicast_us,
                     "tree_us", or_null(w->tree_us), "linear_us", or_null(w->linear_us), "stream_alone_mbps",
                     or_null(w->stream_alone_mbps), "stream_mbps", or_null(w->stream_mbps), "root_bytes",
                     w->root_bytes, "frames", (json_int_t)w->frames, "lost", (json_int_t)w->lost, "repairs",
                     (json_int_t)w->repairs, "acks", (json_int_t)w->acks, "drop_buffer",
                     (json_int_t)w->drops);
}

static long long whole(const json_t *row, const char *key)
{
    return (long long)json_integer_value(json_object_get(row, key));
}

static void print_row(const struct bench *b, const json_t *row)
{
    static const char *const cells[] = {"limit_us",  "multicast_us",      "tree_us",
                                        "linear_us", "stream_alone_mbps", "stream_mbps"};
    printf("%5lld %8lld", whole(row, "hosts"), whole(row, "bytes"));
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        printf(" %11s", nof_bench_cell(&b->report, NULL, nof_bench_real(row, cells[i]), 1).text);
    printf(" %6.3f %7lld %7lld %7lld %7lld %7lld\n", nof_bench_real(row, "root_bytes"), whole(row, "frames"),
           whole(row, "lost"), whole(row, "repairs"), whole(row, "acks"), whole(row, "drop_buffer"));
}

static void print_table(const struct bench *b, const json_t *rows)
{
    const json_t *row;
    size_t at;
    printf(
        "%s by a %s group, in virtual time; each core is charged %u ns a frame\n%5s %8s %11s %11s %11s %11s "
        "%11s %11s %6s %7s %7s %7s %7s %7s\n",
        collectives[b->what.collective], schemes[b->what.scheme], b->what.core_ns, "hosts", "bytes",
        "limit us", "multicast", "tree us", "linear us", "alone Mb/s", "stream Mb/s", "root", "frames",
        "lost", "repairs", "acks", "dropped");
    json_array_foreach(rows, at, row) print_row(b, row);
}

static int measure(struct bench *b, json_t *rows)
{
    struct nof_sim_mcast *w = &b->what;
    for (unsigned i = 0; i < b->hosts.count * b->sizes.count; i++) {
        w->hosts = (unsigned)b->hosts.value[i / b->sizes.count];
        w->bytes = b->sizes.value[i % b->sizes.count];
        nof_bench_progress("%u hosts, %llu bytes", w->hosts, (unsigned long long)w->bytes);
        int status = nof_sim_run_mcast(w);
        if (status != 0 || w->problem[0] != '\0') {
            fprintf(stderr, "%s: %s\n", b->report.self,
                    status != 0 ? "the cluster does not start (memory?)" : w->problem);
            return 1;
        }
        json_array_append_new(rows, row_of(w));
    }
    return 0;
}

int nof_bench_mcast(int argc, char **argv)
{
    struct bench b = {.what = {.switches = 1,
                               .receivers = 5,
                               .repeats = 20,
                               .rate_bps = 100000000,
                               .buffer_bytes = 60000,
                               .mtu_bytes = 1500,
                               .core_ns = 200,
                               .seed = 1},
                      .hosts = {.value = {29}, .count = 1}};
    char digest[24];

    read_arguments(&b, argc, argv);
    nof_bench_begin(&b.report, argv[0], b.json);
    json_t *rows = json_array();
    if (measure(&b, rows) != 0) {
        json_decref(rows);
        return 1;
    }
    if (!b.json)
        print_table(&b, rows);
    (void)snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)b.what.digest);
    json_t *result = json_pack(
        "{s:s,s:s,s:i,s:i,s:s,s:i,s:i,s:o,s:s}", "collective", collectives[b.what.collective], "group",
        schemes[b.what.scheme], "switches", (int)b.what.switches, "receivers", (int)b.what.receivers, "where",
        "sim", "core_ns", (int)b.what.core_ns, "repeat", (int)b.what.repeats, "rows", rows, "digest", digest);
    return result != NULL && nof_bench_end(&b.report, result) ? 0 : 1;
}
