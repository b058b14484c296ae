/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof sim bcast`: how long a broadcast takes by multicast, and what it costs the root, in virtual time. */
#include "commands.h"

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bcast.h"
#include "nof_private/units.h"
#include "sim_args.h"

#define BYTES_MOST (64u << 20)

enum { OPT_HOSTS = 256, OPT_LINK, OPT_BYTES, OPT_MTU, OPT_BUFFER, OPT_CORE, OPT_LOSS, OPT_SEED, OPT_JSON };

struct arguments {
    struct nof_sim_bcast what;
    struct nof_sim_list hosts;
    bool json;
};

static const struct argp_option options[] = {
    {"hosts", OPT_HOSTS, "N[,N]", 0, "hosts with the root, 2 to 256 (default 4,16)", 0},
    {"link", OPT_LINK, "RATE", 0, "rate of each host's link (default 100mbit)", 0},
    {"bytes", OPT_BYTES, "SIZE", 0, "of the message (default 1m)", 0},
    {"mtu", OPT_MTU, "BYTES", 0, "IP MTU (default 1500)", 0},
    {"buffer", OPT_BUFFER, "SIZE", 0, "of the switch towards each host (default: no bound)", 0},
    {"core-ns", OPT_CORE, "NS", 0, "what a core is charged for each frame (default 200)", 0},
    {"loss", OPT_LOSS, "P", 0, "share of the frames to each host that is lost, such as 0.01 (default 0)", 0},
    {"seed", OPT_SEED, "N", 0, "of the losses (default 1)", 0},
    {"json", OPT_JSON, NULL, 0, "print one JSON object and nothing else", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    double share;
    switch (key) {
    case OPT_HOSTS:
        nof_sim_list(state, "--hosts", arg, false, 2, 256, &a->hosts);
        break;
    case OPT_LINK:
        a->what.rate_bps = nof_sim_rate(state, "--link", arg);
        break;
    case OPT_BYTES:
        a->what.bytes = nof_sim_number(state, "--bytes", arg, true, 1, BYTES_MOST);
        break;
    case OPT_MTU:
        a->what.mtu_bytes = (uint32_t)nof_sim_number(state, "--mtu", arg, false, 576, 9216);
        break;
    case OPT_BUFFER:
        a->what.buffer_bytes = nof_sim_number(state, "--buffer", arg, true, 10000, 1u << 30);
        break;
    case OPT_CORE:
        a->what.core_ns = (uint32_t)nof_sim_number(state, "--core-ns", arg, false, 0, 100000);
        break;
    case OPT_LOSS:
        if (nofd_units_share(arg, &share) != 0 || share > 0.5)
            argp_error(state, "--loss: '%s' is no share from 0 to 0.5, such as 0.01", arg);
        a->what.loss_ppm = (uint32_t)(share * 1e6 + 0.5);
        break;
    case OPT_SEED:
        a->what.seed = nof_sim_number(state, "--seed", arg, false, 1, UINT32_MAX);
        break;
    case OPT_JSON:
        a->json = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s' is one word too many", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static json_t *row_json(const struct nof_sim_bcast *w)
{
    return json_pack("{s:i,s:I,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:I}", "hosts", (int)w->hosts, "bytes",
                     (json_int_t)w->bytes, "limit_us", w->limit_us, "multicast_us", w->multicast_us,
                     "tree_us", w->tree_us, "root_bytes", w->root_bytes, "frames", (json_int_t)w->frames,
                     "lost", (json_int_t)w->lost, "repairs_unicast", (json_int_t)w->repairs_unicast,
                     "repairs_multicast", (json_int_t)w->repairs_multicast, "acks", (json_int_t)w->acks,
                     "drop_buffer", (json_int_t)w->drops);
}

static void print_row(const struct nof_sim_bcast *w)
{
    printf("%5u %9llu %11.1f %11.1f %11.1f %6.3f %7llu %7llu %8llu %9llu %7llu %7llu\n", w->hosts,
           (unsigned long long)w->bytes, w->limit_us, w->multicast_us, w->tree_us, w->root_bytes,
           (unsigned long long)w->frames, (unsigned long long)w->lost, (unsigned long long)w->repairs_unicast,
           (unsigned long long)w->repairs_multicast, (unsigned long long)w->acks,
           (unsigned long long)w->drops);
    fflush(stdout);
}

static int run(struct arguments *a, json_t *rows)
{
    struct nof_sim_bcast *w = &a->what;
    for (unsigned i = 0; i < a->hosts.count; i++) {
        w->hosts = (unsigned)a->hosts.value[i];
        int status = nof_sim_run_bcast(w);
        if (status != 0 || w->problem[0] != '\0') {
            fprintf(stderr, "nof sim bcast: %s\n",
                    status != 0 ? "the cluster does not start (memory?)" : w->problem);
            return 1;
        }
        if (a->json)
            json_array_append_new(rows, row_json(w));
        else
            print_row(w);
    }
    return 0;
}

int nof_cmd_sim_bcast(int argc, char **argv)
{
    struct arguments a = {
        .what = {.rate_bps = 100000000ull, .mtu_bytes = 1500, .core_ns = 200, .bytes = 1u << 20, .seed = 1},
        .hosts = {.value = {4, 16}, .count = 2}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "A broadcast to many hosts under a virtual clock: the firmware core of each, over a switch with "
            "one output queue a host; by a multicast group, and, without loss, by a binomial tree. Times are "
            "from the call of all until all have everything. The limit is the message at the rate of a "
            "link; root: what the root multicast once, in parts of the message; lost: frames at all hosts; "
            "then what was sent again, acknowledgements that came to the root, and frames that found the "
            "switch's buffer full.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    json_t *rows = json_array();
    if (!a.json)
        printf("each core is charged %u ns a frame, MTU %u\n%5s %9s %11s %11s %11s %6s %7s %7s %8s %9s %7s "
               "%7s\n",
               a.what.core_ns, a.what.mtu_bytes, "hosts", "bytes", "limit us", "multicast", "tree us", "root",
               "frames", "lost", "unicast", "multicast", "acks", "dropped");
    int status = run(&a, rows);
    if (status == 0)
        status = nof_sim_print_end(a.json, rows, a.what.core_ns, a.what.mtu_bytes, a.what.digest);
    json_decref(rows);
    return status;
}
