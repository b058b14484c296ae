/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof sim alltoall`: how long an all-to-all takes that the NICs go through by themselves, in virtual time. */
#include "commands.h"

#include <argp.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alltoall.h"
#include "nof_private/units.h"
#include "sim_args.h"

#define BYTES_MOST (64u << 20)
#define SLOW_HOSTS 256u /* from here on it is told what it is at: 1024 hosts take minutes */

enum {
    OPT_HOSTS = 256,
    OPT_LINK,
    OPT_BYTES,
    OPT_SIZES,
    OPT_MTU,
    OPT_BUFFER,
    OPT_CORE,
    OPT_LOOKAHEAD,
    OPT_GRANT,
    OPT_SKEW,
    OPT_JSON
};

struct arguments {
    struct nof_sim_alltoall what;
    struct nof_sim_list hosts, bytes;
    bool json;
};

static const struct argp_option options[] = {
    {"hosts", OPT_HOSTS, "N[,N]", 0, "hosts, 2 to 1024 (default 16); 1024 take minutes", 0},
    {"link", OPT_LINK, "RATE", 0, "rate of each host's link (default 100gbit)", 0},
    {"bytes", OPT_BYTES, "SIZE", 0, "bytes of each message (default 64k)", 0},
    {"sizes", OPT_SIZES, "SIZE[,SIZE]", 0,
     "several of them; each also with a barrier between rounds, and with all messages at once and no budget",
     0},
    {"mtu", OPT_MTU, "BYTES", 0, "IP MTU (default 9000)", 0},
    {"buffer", OPT_BUFFER, "SIZE", 0, "of the switch towards each host (default: no bound)", 0},
    {"core-ns", OPT_CORE, "NS", 0, "what a core is charged for each frame (default 200)", 0},
    {"lookahead", OPT_LOOKAHEAD, "N", 0,
     "rounds that a program lets be announced ahead, beside those that the NIC does by itself (default: 1)",
     0},
    {"grant", OPT_GRANT, "SIZE", 0, "the NICs' feature grant_bytes (default: as it is)", 0},
    {"skew", OPT_SKEW, "TIME", 0, "hosts begin within this time, each somewhere, such as 500us (default 0)",
     0},
    {"json", OPT_JSON, NULL, 0, "print one JSON object and nothing else", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_HOSTS:
        nof_sim_list(state, "--hosts", arg, false, 2, 1024, &a->hosts);
        break;
    case OPT_LINK:
        a->what.rate_bps = nof_sim_rate(state, "--link", arg);
        break;
    case OPT_BYTES:
        a->bytes.count = 1;
        a->bytes.value[0] = nof_sim_number(state, "--bytes", arg, true, 1, BYTES_MOST);
        break;
    case OPT_SIZES:
        nof_sim_list(state, "--sizes", arg, true, 1, BYTES_MOST, &a->bytes);
        a->what.compare = true;
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
    case OPT_LOOKAHEAD:
        a->what.lookahead = (uint32_t)nof_sim_number(state, "--lookahead", arg, false, 1, 1024);
        break;
    case OPT_GRANT:
        a->what.grant_bytes = nof_sim_number(state, "--grant", arg, true, 1, 1u << 28);
        break;
    case OPT_SKEW:
        if (nofd_units_time(arg, 1000, &a->what.skew_ns) != 0 || a->what.skew_ns > 10000000000ull)
            argp_error(state, "--skew: '%s' is no time up to 10s, such as 500us", arg);
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

static void print_row(const struct nof_sim_alltoall *w)
{
    printf("%5u %9llu %11.1f %11.1f %11.1f %11.1f %6.3f %7llu %9llu", w->hosts, (unsigned long long)w->bytes,
           w->limit_us, w->ideal_us, w->charged_us, w->cold_us, w->charged_us / w->limit_us,
           (unsigned long long)w->drops, (unsigned long long)w->mem_bytes);
    if (w->compare)
        printf(" %11.1f %7llu %11.1f %7llu", w->barrier_us, (unsigned long long)w->barrier_drops,
               w->unscheduled_us, (unsigned long long)w->unscheduled_drops);
    putchar('\n');
    fflush(stdout);
}

static json_t *row_json(const struct nof_sim_alltoall *w)
{
    json_t *row = json_pack("{s:i,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:I,s:I}", "hosts", (int)w->hosts, "bytes",
                            (json_int_t)w->bytes, "limit_us", w->limit_us, "ideal_us", w->ideal_us,
                            "charged_us", w->charged_us, "cold_us", w->cold_us, "ping_us", w->ping_us,
                            "ping_limit_us", w->ping_limit_us, "drop_buffer", (json_int_t)w->drops,
                            "core_bytes_per_host", (json_int_t)w->mem_bytes);
    if (row != NULL && w->compare) {
        json_object_set_new(row, "barrier_us", json_real(w->barrier_us));
        json_object_set_new(row, "barrier_drop_buffer", json_integer((json_int_t)w->barrier_drops));
        json_object_set_new(row, "unscheduled_us", json_real(w->unscheduled_us));
        json_object_set_new(row, "unscheduled_drop_buffer", json_integer((json_int_t)w->unscheduled_drops));
    }
    return row;
}

static int run(struct arguments *a, json_t *rows)
{
    struct nof_sim_alltoall *w = &a->what;
    for (unsigned i = 0; i < a->hosts.count; i++)
        for (unsigned k = 0; k < a->bytes.count; k++) {
            w->hosts = (unsigned)a->hosts.value[i];
            w->bytes = a->bytes.value[k];
            if (w->hosts >= SLOW_HOSTS)
                fprintf(stderr, "nof sim alltoall: %u hosts, %llu bytes: this takes a while\n", w->hosts,
                        (unsigned long long)w->bytes);
            int status = nof_sim_run_alltoall(w);
            if (status != 0 || w->problem[0] != '\0') {
                fprintf(stderr, "nof sim alltoall: %s\n",
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

int nof_cmd_sim_alltoall(int argc, char **argv)
{
    struct arguments a = {.what =
                              {
                                  .rate_bps = 100000000000ull,
                                  .mtu_bytes = 9000,
                                  .core_ns = 200,
                              },
                          .hosts = {.value = {16}, .count = 1},
                          .bytes = {.value = {65536}, .count = 1}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "An all-to-all of many hosts under a virtual clock: the firmware core of each goes through it by "
            "itself, round k to the k-th host behind, over a switch with one output queue a host. Times are "
            "from the start of the last host until all have everything: ideal, with cores that cost nothing; "
            "charged, with "
            "--core-ns "
            "for each frame; both warm; cold, charged, with handshakes and programs to be opened first. The "
            "limit is the payload of one host at the rate of its link; core B, the memory of one core. With "
            "--json also ping_us: a message of eight bytes between two hosts beside the all-to-all, and "
            "ping_limit_us: grant_bytes at the rate of the link, and 1 ms.\vA core's time is its "
            "instructions a "
            "frame, as `nof bench core` counts them (580 at MTU 9000, sent and received alike), at one a "
            "cycle of "
            "3 GHz, which is slow. CRC and copying "
            "of payload are not in it.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    json_t *rows = json_array();
    if (!a.json) {
        printf("each core is charged %u ns a frame, MTU %u\n%5s %9s %11s %11s %11s %11s %6s %7s %9s",
               a.what.core_ns, a.what.mtu_bytes, "hosts", "bytes", "limit us", "ideal us", "charged us",
               "cold us", "ratio", "dropped", "core B");
        puts(a.what.compare ? "  barrier us dropped  at once us dropped" : "");
    }
    int status = run(&a, rows);
    if (status == 0)
        status = nof_sim_print_end(a.json, rows, a.what.core_ns, a.what.mtu_bytes, a.what.digest);
    json_decref(rows);
    return status;
}
