/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof status`, `stats`, `features`, `set`: the control socket as text, or as its JSON. */
#include "commands.h"
#include "control_client.h"
#include "find_daemon.h"

#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/counters.h"
#include "nof/features.h"
#include "nof_private/library_counts.h"

#define DIGITS 15 /* of a real number: what was rounded is printed as it was meant */

enum { OPT_JSON = 256, OPT_NOFD, OPT_CONTROL, OPT_NIC, OPT_ALL };

struct options {
    struct nof_daemon_at at;
    bool json;
    bool all;
    int nic; /* -1: all */
    char **args;
    int nargs;
    int args_max;
    const char *self;
};

static const struct argp_option with_json[] = {
    NOF_DAEMON_OPTIONS(OPT_NOFD, OPT_CONTROL, 0),
    {"json", OPT_JSON, NULL, 0, "print one JSON object", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};
static const struct argp_option with_nic[] = {
    NOF_DAEMON_OPTIONS(OPT_NOFD, OPT_CONTROL, 0),
    {"json", OPT_JSON, NULL, 0, "print one JSON object", 0},
    {"nic", OPT_NIC, "N", 0, "only NIC N", 0},
    {"all", OPT_ALL, NULL, 0, "also the counters that are zero", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    char *end;
    long nic;

    switch (key) {
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_ALL:
        o->all = true;
        return 0;
    case OPT_NOFD:
    case OPT_CONTROL:
        if (!nof_daemon_address(key == OPT_NOFD ? o->at.socket : o->at.control, arg, o->self))
            exit(2);
        return 0;
    case OPT_NIC:
        nic = strtol(arg, &end, 10);
        if (*end != '\0' || end == arg || nic < 0 || nic > INT_MAX)
            argp_error(state, "'%s' is no number of a NIC", arg);
        o->nic = (int)nic;
        return 0;
    case ARGP_KEY_ARGS:
        o->args = state->argv + state->next;
        o->nargs = state->argc - state->next;
        if (o->nargs > o->args_max)
            argp_error(state, "'%s' is one argument too many", o->args[o->args_max]);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void read_options(struct options *o, const struct argp_option *table, const char *args_doc,
                         const char *doc, int argc, char **argv)
{
    const struct argp argp = {table, parse, args_doc, doc, NULL, NULL, NULL};

    o->nic = -1;
    o->self = argv[0];
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, o);
    if (!nof_daemon_locate(&o->at, NOF_DAEMON_ELSE_USERS, o->self))
        exit(2);
}

static int print_json(json_t *result)
{
    json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    putchar('\n');
    json_decref(result);
    return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* By job, then by rank. */
static int order_of_ranks(const void *a, const void *b)
{
    const json_t *left = *(const json_t *const *)a;
    const json_t *right = *(const json_t *const *)b;
    uint64_t left_job = strtoull(text_of(left, "job"), NULL, 10);
    uint64_t right_job = strtoull(text_of(right, "job"), NULL, 10);
    json_int_t left_rank = number_of(left, "rank");
    json_int_t right_rank = number_of(right, "rank");

    if (left_job != right_job)
        return left_job < right_job ? -1 : 1;
    return (left_rank > right_rank) - (left_rank < right_rank);
}

static void print_endpoints(const json_t *endpoints)
{
    size_t count = json_array_size(endpoints);
    const json_t **row = count > 0 ? malloc(count * sizeof(*row)) : NULL;

    if (row == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        row[i] = json_array_get(endpoints, i);
    qsort(row, count, sizeof(*row), order_of_ranks);
    printf("\n%-4s %-9s %-20s %6s %8s %s\n", "nic", "endpoint", "job", "rank", "pid", "dma");
    for (size_t i = 0; i < count; i++)
        printf("%-4" JSON_INTEGER_FORMAT " %-9" JSON_INTEGER_FORMAT " %-20s %6" JSON_INTEGER_FORMAT
               " %8" JSON_INTEGER_FORMAT " %s\n",
               number_of(row[i], "nic"), number_of(row[i], "endpoint"), text_of(row[i], "job"),
               number_of(row[i], "rank"), number_of(row[i], "pid"), text_of(row[i], "dma"));
    free(row);
}

/* Collectives that have not got on for a while. */
static void print_waits(const json_t *rows)
{
    const json_t *row, *rank;
    size_t i, k;

    if (json_array_size(rows) > 0)
        printf("\ncollectives that wait, by the NIC:\n");
    json_array_foreach(rows, i, row)
    {
        printf("job %s rank %" JSON_INTEGER_FORMAT ": %.1f s for messages of", text_of(row, "job"),
               number_of(row, "rank"), (double)number_of(row, "waited_ms") / 1e3);
        json_array_foreach(json_object_get(row, "waits_for"), k, rank)
            printf("%s rank %" JSON_INTEGER_FORMAT, k > 0 ? "," : "", json_integer_value(rank));
        printf("%s\n", k == 0 ? " nobody: its own are not taken" : "");
    }
}

/* What kernel and device do for a port, and what not. */
static void print_help(const json_t *nics)
{
    const json_t *row, *value;
    size_t i;

    json_array_foreach(nics, i, row)
    {
        const json_t *xdp = json_object_get(row, "xdp"), *hardware = json_object_get(row, "hardware");
        const char *key;

        if (xdp != NULL)
            printf("nic %" JSON_INTEGER_FORMAT ": %s\n", number_of(row, "nic"), text_of(xdp, "words"));
        json_object_foreach((json_t *)(uintptr_t)hardware, key,
                            value) if (strcmp(json_string_value(value), "none") != 0)
            printf("nic %" JSON_INTEGER_FORMAT ": the device has %s%s\n", number_of(row, "nic"), key,
                   strcmp(json_string_value(value), "used") == 0 ? ", and it is used" : "; not needed");
    }
}

/* Of a NIC that has several; a row without any prints none. */
static void print_cores(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        printf("     core %-2" JSON_INTEGER_FORMAT " on thread %-2" JSON_INTEGER_FORMAT
               " UDP port %-31" JSON_INTEGER_FORMAT " %30" JSON_INTEGER_FORMAT "\n",
               number_of(row, "nic_core"), number_of(row, "core"), number_of(row, "udp_port"),
               number_of(row, "endpoints"));
}

static void print_nic(const json_t *row)
{
    printf("%-4" JSON_INTEGER_FORMAT " %-22s %-18s %-16s %6" JSON_INTEGER_FORMAT " %6s %9" JSON_INTEGER_FORMAT
           "\n",
           number_of(row, "nic"), text_of(row, "name"), text_of(row, "mac"), text_of(row, "ip"),
           number_of(row, "mtu"),
           json_is_true(json_object_get(row, "gone")) ? "gone"
           : json_is_true(json_object_get(row, "up")) ? "up"
                                                      : "down",
           number_of(row, "endpoints"));
    print_cores(json_object_get(row, "cores"));
}

/* unit: four, each a thousand times the one before it; NULL: no more. */
static void add_scaled(char *text, size_t room, const char *name, double value, const char *const *unit)
{
    size_t at = strlen(text);
    unsigned i = 0;

    for (; i < 3 && unit[i + 1] != NULL && value >= 1000; i++)
        value /= 1000;
    if (value > 0)
        snprintf(text + at, room - at, "%s%s %.10g%s", at > 0 ? ", " : "", name, value, unit[i]);
}

/* What a simulated link was told to be; "": nothing. */
static void link_words(const json_t *link, char *text, size_t room)
{
    static const char *const rate[] = {" bit/s", " kbit/s", " Mbit/s", " Gbit/s"};
    static const char *const time[] = {" ns", " us", " ms", " s"};
    static const char *const bytes[] = {" bytes", NULL};
    static const char *const share[] = {"loss", "duplicate", "reorder", "corrupt"};
    static const char *const none[] = {"", NULL};
    const char *multicast = text_of(link, "multicast");
    size_t at;

    text[0] = '\0';
    add_scaled(text, room, "rate", (double)number_of(link, "rate_bps"), rate);
    add_scaled(text, room, "delay", (double)number_of(link, "delay_ns"), time);
    add_scaled(text, room, "buffer", (double)number_of(link, "buffer_bytes"), bytes);
    for (unsigned i = 0; i < 4; i++)
        add_scaled(text, room, share[i], json_number_value(json_object_get(link, share[i])), none);
    at = strlen(text);
    if (multicast[0] != '\0' && strcmp(multicast, "flood") != 0)
        snprintf(text + at, room - at, "%smulticast %s", at > 0 ? ", " : "", multicast);
}

/* A line for all where they are alike. */
static void print_links(const json_t *nics)
{
    const json_t *row, *first = NULL;
    bool alike = true;
    char words[256];
    size_t i;

    json_array_foreach(nics, i, row)
    {
        const json_t *link = json_object_get(row, "fabric");

        alike = alike && (first == NULL || link == NULL || json_equal(first, link));
        first = first != NULL ? first : link;
    }
    json_array_foreach(nics, i, row)
    {
        link_words(json_object_get(row, "fabric"), words, sizeof(words));
        if (words[0] == '\0')
            continue;
        if (alike) {
            printf("simulated links: %s\n", words);
            return;
        }
        printf("nic %" JSON_INTEGER_FORMAT ": simulated link: %s\n", number_of(row, "nic"), words);
    }
}

static void print_status(const json_t *s)
{
    const json_t *row;
    size_t i;

    printf("nofd %s, pid %" JSON_INTEGER_FORMAT ", up %.0f s, socket %s, control %s\n", text_of(s, "version"),
           number_of(s, "pid"), json_number_value(json_object_get(s, "uptime_s")), text_of(s, "socket"),
           text_of(s, "control"));
    printf("\n%-4s %-22s %-18s %-16s %6s %6s %9s\n", "nic", "name", "mac", "ip", "mtu", "link", "endpoints");
    json_array_foreach(json_object_get(s, "nics"), i, row) print_nic(row);
    print_links(json_object_get(s, "nics"));
    print_help(json_object_get(s, "nics"));
    print_endpoints(json_object_get(s, "endpoints"));
    print_waits(json_object_get(s, "collectives"));
}

/* The daemon counts nanoseconds; people do not. */
static void round_uptime(json_t *s)
{
    double uptime_s = json_number_value(json_object_get(s, "uptime_s"));

    json_object_set_new(s, "uptime_s", json_real((double)(uint64_t)(uptime_s * 1e3 + 0.5) / 1e3));
}

int nof_cmd_status(int argc, char **argv)
{
    struct options o = {.args_max = 0};
    json_t *result;

    read_options(&o, with_json, NULL, "What a daemon plays: its NICs, and the endpoints of jobs on them.",
                 argc, argv);
    result = nof_control_call(o.at.control, "status", NULL, o.self);
    if (result == NULL)
        return 1;
    round_uptime(result);
    if (o.json)
        return print_json(result);
    print_status(result);
    json_decref(result);
    return 0;
}

static const struct nof_counter_info *counter_info(const char *name)
{
    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++)
        if (strcmp(nof_counter_info[i].name, name) == 0)
            return &nof_counter_info[i];
    return NULL;
}

/* What the codec made of what went through it, if anything did. */
static void print_codec(const json_t *row, const char *verb, const char *plain_name, const char *wire_name,
                        const char *cycles_name)
{
    const json_t *counters = json_object_get(row, "counters");
    double plain = (double)number_of(counters, plain_name);
    double wire = (double)number_of(counters, wire_name);
    double cycles = (double)number_of(counters, cycles_name);

    if (plain > 0 && wire > 0 && cycles > 0)
        printf("  %s: %.3f times smaller on the wire, at %.2f GB/s\n", verb, plain / wire,
               plain / cycles * (double)number_of(row, "cycles_per_s") / 1e9);
}

/* What the libraries of the ranks say that they counted. */
static void print_library(const json_t *library, bool all)
{
    static const struct {
        const char *name;
        const char *help;
    } counts[NOF_LIBRARY_COUNT_MAX] = {
#define NOF_LIBRARY_COUNT(name, help) {name, help},
        NOF_LIBRARY_COUNTS
#undef NOF_LIBRARY_COUNT
    };
    const json_t *counters = json_object_get(library, "counters");
    json_int_t ranks = number_of(library, "ranks");

    if (ranks == 0 && !all)
        return;
    printf("\nlibrary, of %" JSON_INTEGER_FORMAT " rank%s\n", ranks, ranks == 1 ? "" : "s");
    for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++) {
        json_int_t n = number_of(counters, counts[i].name);

        if (n != 0 || all)
            printf("  %-26s %14" JSON_INTEGER_FORMAT "  %s\n", counts[i].name, n, counts[i].help);
    }
}

static void print_counters(json_t *counters, bool all)
{
    json_t *value;
    const char *name;

    json_object_foreach(counters, name, value)
    {
        const struct nof_counter_info *info = counter_info(name);
        json_int_t n = json_integer_value(value);

        if (n != 0 || all)
            printf("  %-24s %16" JSON_INTEGER_FORMAT "  %s\n", name, n, info != NULL ? info->help : "");
    }
}

/* Of a NIC that has several cores, each one's. */
static void print_each(const json_t *rows, bool all)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        printf(" core %" JSON_INTEGER_FORMAT "\n", number_of(row, "nic_core"));
        print_counters(json_object_get(row, "counters"), all);
    }
}

static void print_stats(const json_t *stats, bool all)
{
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(stats, "rows"), i, row)
    {
        printf("%snic %" JSON_INTEGER_FORMAT "\n", i > 0 ? "\n" : "", number_of(row, "nic"));
        print_counters(json_object_get(row, "counters"), all);
        print_each(json_object_get(row, "cores"), all);
        print_codec(row, "compressed", "codec.tx_plain_bytes", "codec.tx_bytes", "codec.tx_cycles");
        print_codec(row, "decompressed", "codec.rx_plain_bytes", "codec.rx_bytes", "codec.rx_cycles");
    }
    print_library(json_object_get(stats, "library"), all);
}

int nof_cmd_stats(int argc, char **argv)
{
    struct options o = {.args_max = 0};
    json_t *result;

    read_options(
        &o, with_nic, NULL,
        "Counters of a daemon's NICs, and of the libraries of the ranks that it has served. Without --all "
        "only those that have counted.",
        argc, argv);
    result =
        nof_control_call(o.at.control, "stats", o.nic >= 0 ? json_pack("{s:i}", "nic", o.nic) : NULL, o.self);
    if (result == NULL)
        return 1;
    if (o.json)
        return print_json(result);
    print_stats(result, o.all);
    json_decref(result);
    return 0;
}

enum { NAME, VALUE, DEFAULT, VALUES, HELP, COLUMNS };

/* values: room for what the column of that name says. */
static void feature_cells(const json_t *row, char values[128], const char *cell[COLUMNS])
{
    if (strcmp(text_of(row, "kind"), "number") == 0)
        snprintf(values, 128, "%" JSON_INTEGER_FORMAT "..%" JSON_INTEGER_FORMAT " %s", number_of(row, "min"),
                 number_of(row, "max"), text_of(row, "choices"));
    else
        snprintf(values, 128, "%s", text_of(row, "choices"));
    cell[NAME] = text_of(row, "name");
    cell[VALUE] = text_of(row, "value");
    cell[DEFAULT] = text_of(row, "default");
    cell[VALUES] = values;
    cell[HELP] = text_of(row, "help");
}

static void widen(int width[COLUMNS], const char *const cell[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++)
        if ((int)strlen(cell[c]) > width[c])
            width[c] = (int)strlen(cell[c]);
}

static void print_cells(const int width[COLUMNS], const char *const cell[COLUMNS])
{
    for (int c = 0; c < HELP; c++)
        printf("%-*s ", width[c], cell[c]);
    printf("%s\n", cell[HELP]);
}

static void print_features(const json_t *features)
{
    static const char *const title[COLUMNS] = {"feature", "value", "default", "values", "what it does"};
    const json_t *rows = json_object_get(features, "rows");
    const char *cell[COLUMNS];
    int width[COLUMNS] = {0};
    char values[128];
    const json_t *row;
    size_t i;

    widen(width, title);
    json_array_foreach(rows, i, row)
    {
        feature_cells(row, values, cell);
        widen(width, cell);
    }
    print_cells(width, title);
    json_array_foreach(rows, i, row)
    {
        feature_cells(row, values, cell);
        print_cells(width, cell);
    }
}

int nof_cmd_features(int argc, char **argv)
{
    struct options o = {.args_max = 0};
    json_t *result;

    read_options(&o, with_json, NULL,
                 "What can be switched in a daemon while jobs run: `nof set NAME=VALUE`.", argc, argv);
    result = nof_control_call(o.at.control, "features", NULL, o.self);
    if (result == NULL)
        return 1;
    if (o.json)
        return print_json(result);
    print_features(result);
    json_decref(result);
    return 0;
}

int nof_cmd_set(int argc, char **argv)
{
    struct options o = {.args_max = 64};
    char pair[128];
    json_t *rows;
    int rc = 0;

    read_options(
        &o, &with_json[0], "NAME=VALUE...",
        "Switch features of a daemon, for the jobs that run and those to come. `nof features` lists them.",
        argc, argv);
    /* As others write it: nof set NAME VALUE. */
    if (o.nargs == 2 && strchr(o.args[0], '=') == NULL && strchr(o.args[1], '=') == NULL &&
        snprintf(pair, sizeof(pair), "%s=%s", o.args[0], o.args[1]) < (int)sizeof(pair)) {
        o.args[0] = pair;
        o.nargs = 1;
    }
    if (o.nargs == 0) {
        fprintf(stderr, "%s: which feature? nof set NAME=VALUE; `nof features` lists them\n", o.self);
        return 2;
    }
    for (int i = 0; i < o.nargs; i++)
        if (nof_feature_check(o.args[i], o.self) != 0)
            return 2;
    rows = json_array();
    for (int i = 0; i < o.nargs && rc == 0; i++)
        rc = json_array_append_new(rows, nof_feature_set(o.at.control, o.args[i], o.self)) != 0;
    if (o.json && rc == 0)
        return print_json(json_pack("{s:o}", "rows", rows));
    json_decref(rows);
    return rc;
}
