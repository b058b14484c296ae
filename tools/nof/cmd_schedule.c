/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof schedule`: a pattern of messages dealt into phases (host/phases.h), as a table or as JSON. Both are written as they
 * go: a dense pattern of 1024 nodes has a million messages. */
#include "commands.h"
#include "emit.h"
#include "pattern.h"
#include "phases.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"
#include "nof_private/nearest.h"
#include "nof_private/units.h"

enum { OPT_ALGORITHM = 256, OPT_THRESHOLD, OPT_NODES, OPT_JSON, OPT_EMIT, OPT_NAME };

/* Source text; NULL: none. */
typedef void emit_function(FILE *out, const struct nof_phases *phases, const char *name);

struct options {
    enum nof_phases_algorithm algorithm;
    uint64_t threshold_bytes;
    uint32_t nodes; /* 0: as many as the pattern has */
    bool json;
    emit_function *emit;
    const char *name;
    const char *path;
};

static const struct argp_option options[] = {
    {"algorithm", OPT_ALGORITHM, "NAME", 0, "greedy, alltoall, shift or optimal (greedy)", 0},
    {"threshold", OPT_THRESHOLD, "BYTES", 0,
     "messages shorter than this are small: what is left of them goes together into one last phase (0)", 0},
    {"nodes", OPT_NODES, "N", 0, "there are N nodes, from 0 on (as many as the pattern names)", 0},
    {"emit", OPT_EMIT, "LANGUAGE", 0,
     "print the table that MPIX_Alltoallv_load takes, as c or fortran; nodes are ranks", 0},
    {"name", OPT_NAME, "NAME", 0, "what that table is called (phases)", 0},
    {"json", OPT_JSON, NULL, 0, "print one JSON object and nothing else", 0},
    {0},
};

static enum nof_phases_algorithm algorithm_of(struct argp_state *state, const char *name)
{
    const char *names[NOF_PHASES_ALGORITHM_COUNT];
    char near[100];

    for (unsigned a = 0; a < NOF_PHASES_ALGORITHM_COUNT; a++) {
        names[a] = nof_phases_algorithm_name((enum nof_phases_algorithm)a);
        if (strcmp(name, names[a]) == 0)
            return (enum nof_phases_algorithm)a;
    }
    nof_nearest_ask(name, names, NOF_PHASES_ALGORITHM_COUNT, near, sizeof(near));
    argp_error(state, "--algorithm=%s: there is no such algorithm%s", name,
               near[0] != '\0' ? near : "; there are greedy, alltoall, shift and optimal");
    return NOF_PHASES_GREEDY;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    uint64_t number;

    switch (key) {
    case OPT_ALGORITHM:
        o->algorithm = algorithm_of(state, arg);
        return 0;
    case OPT_THRESHOLD:
        if (nofd_units_bytes(arg, &o->threshold_bytes) != 0)
            argp_error(state, "--threshold=%s: a number of bytes, as 1024, 1KiB or 1kB", arg);
        return 0;
    case OPT_NODES:
        if (nofd_units_number(arg, 1, NOF_PHASES_NODES_MAX, &number) != 0)
            argp_error(state, "--nodes=%s: a number from 1 to %u", arg, NOF_PHASES_NODES_MAX);
        else
            o->nodes = (uint32_t)number;
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_EMIT:
        o->emit = strcmp(arg, "c") == 0 ? nof_emit_c : strcmp(arg, "fortran") == 0 ? nof_emit_fortran : NULL;
        if (o->emit == NULL)
            argp_error(state, "--emit=%s: c or fortran", arg);
        return 0;
    case OPT_NAME:
        if (!nof_emit_is_name(arg))
            argp_error(state, "--name=%s: a letter, then letters, digits and _, 50 at most", arg);
        o->name = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->path != NULL)
            argp_error(state, "'%s' is one pattern too many", arg);
        o->path = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL)
            argp_error(state, "no pattern is named; - is stdin");
        else if (o->emit != NULL && o->json)
            argp_error(state, "--emit and --json: one of the two");
        else if (o->emit != NULL && o->algorithm == NOF_PHASES_OPTIMAL)
            argp_error(state,
                       "--emit: optimal splits messages, which MPI calls cannot; greedy, alltoall or shift");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *s_of(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static size_t count_empty(const struct nof_pattern *pattern)
{
    size_t n = 0;

    for (size_t i = 0; i < pattern->message_count; i++)
        n += pattern->message[i].bytes == 0;
    return n;
}

static void print_in_no_phase(const struct nof_phases *p, const struct nof_pattern *pattern)
{
    size_t empty = count_empty(pattern);
    const char *before = ": ";

    if (p->local_count > 0)
        printf("in no phase: %zu message%s that stay%s on %s node, %" PRIu64 " byte%s\n", p->local_count,
               s_of(p->local_count), p->local_count == 1 ? "s" : "", p->local_count == 1 ? "its" : "their",
               p->local_bytes, s_of(p->local_bytes));
    if (empty == 0)
        return;
    printf("in no phase: %zu message%s of 0 bytes", empty, s_of(empty));
    for (size_t i = 0; i < pattern->message_count; i++) {
        if (pattern->message[i].bytes > 0)
            continue;
        printf("%s%" PRIu32 "->%" PRIu32, before, pattern->message[i].source,
               pattern->message[i].destination);
        before = ", ";
    }
    putchar('\n');
}

static void print_table(const struct nof_phases *p, const struct nof_pattern *pattern,
                        const struct options *o)
{
    printf("%-6s %20s  %s\n", "phase", "largest_bytes", "messages");
    for (size_t i = 0; i < p->phase_count; i++) {
        const struct nof_phase *phase = &p->phase[i];

        printf("%-6zu %20" PRIu64 "  ", i + 1, phase->largest_bytes);
        for (size_t k = 0; k < phase->piece_count; k++) {
            const struct nof_phases_piece *piece = &p->piece[phase->first_piece + k];

            printf("%s%" PRIu32 "->%" PRIu32 " %" PRIu64,
                   k > 0          ? ", "
                   : phase->small ? "small: "
                                  : "",
                   piece->source, piece->destination, piece->bytes);
            if (piece->offset_bytes > 0)
                printf("@%" PRIu64, piece->offset_bytes);
        }
        putchar('\n');
    }
    print_in_no_phase(p, pattern);
    printf("%s, %" PRIu32 " node%s: %zu message%s in %zu phase%s; sum of the maxima %" PRIu64
           " byte%s; the fullest link carries %" PRIu64 "\n",
           nof_phases_algorithm_name(o->algorithm), p->nodes, s_of(p->nodes), p->message_count,
           s_of(p->message_count), p->phase_count, s_of(p->phase_count), p->maxima_bytes,
           s_of(p->maxima_bytes), p->fullest_link_bytes);
}

static void print_json_phase(const struct nof_phases *p, const struct nof_phase *phase)
{
    printf("{\"small\":%s,\"largest_bytes\":%" PRIu64 ",\"link_bytes\":%" PRIu64 ",\"messages\":[",
           phase->small ? "true" : "false", phase->largest_bytes, phase->link_bytes);
    for (size_t k = 0; k < phase->piece_count; k++) {
        const struct nof_phases_piece *piece = &p->piece[phase->first_piece + k];

        printf("%s{\"source\":%" PRIu32 ",\"destination\":%" PRIu32 ",\"offset_bytes\":%" PRIu64
               ",\"bytes\":%" PRIu64 "}",
               k > 0 ? "," : "", piece->source, piece->destination, piece->offset_bytes, piece->bytes);
    }
    printf("]}");
}

static void print_json(const struct nof_phases *p, const struct nof_pattern *pattern, const struct options *o)
{
    printf("{\"algorithm\":\"%s\",\"nodes\":%" PRIu32 ",\"threshold_bytes\":%" PRIu64 ",\"phases\":[",
           nof_phases_algorithm_name(o->algorithm), p->nodes, o->threshold_bytes);
    for (size_t i = 0; i < p->phase_count; i++) {
        if (i > 0)
            putchar(',');
        print_json_phase(p, &p->phase[i]);
    }
    printf("],\"totals\":{\"messages\":%zu,\"phases\":%zu,\"maxima_bytes\":%" PRIu64
           ",\"fullest_link_bytes\":%" PRIu64 ",\"local_messages\":%zu,\"local_bytes\":%" PRIu64
           ",\"empty_messages\":%zu}}\n",
           p->message_count, p->phase_count, p->maxima_bytes, p->fullest_link_bytes, p->local_count,
           p->local_bytes, count_empty(pattern));
}

static int schedule(const struct options *o, const char *self)
{
    struct nof_pattern pattern;
    struct nof_phases *phases;
    int rc;

    if (nof_pattern_read(o->path, o->nodes, self, &pattern) != 0)
        return 1;
    rc = nof_phases_schedule(
        o->algorithm, &(struct nof_phases_pattern){pattern.nodes, pattern.message, pattern.message_count},
        o->threshold_bytes, &phases);
    if (rc != NOF_OK) {
        fprintf(stderr, "%s: no memory for the phases of this pattern\n", self);
        free(pattern.message);
        return 1;
    }
    if (o->emit != NULL)
        o->emit(stdout, phases, o->name);
    else if (o->json)
        print_json(phases, &pattern, o);
    else
        print_table(phases, &pattern, o);
    nof_phases_free(phases);
    free(pattern.message);
    return 0;
}

int nof_cmd_schedule(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "PATTERN",
        .doc =
            "Deals messages into phases in which no node sends or receives twice, so that none share a link."
            "\vPATTERN (- is stdin) has one message a line: source, destination, bytes; # begins a comment. "
            "Nodes count from 0; "
            "bytes may have a unit (1MiB, 10kB); the messages of a pair add up; what a node sends to itself, "
            "and a message of 0 bytes, is in no phase. "
            "As JSON: {\"nodes\": 6, \"messages\": [{\"source\": 0, \"destination\": 1, \"bytes\": 100}]}, "
            "nodes "
            "optional.\n\n"
            "A phase takes as long as its largest message, the small one as long as its fullest link: their "
            "sum is "
            "to be small, and is "
            "never below what the fullest link of all carries. greedy: by size, each message into the first "
            "phase "
            "that has room. alltoall: a phase begins with all of the largest message's shift; at most nodes "
            "- 1. "
            "shift: node j sends to j + i in phase i. optimal: splits messages over more phases to reach the "
            "bound "
            "(100@50: 100 bytes from byte 50 on); takes a minute where all of 1024 nodes send to all.",
    };
    struct options o = {.algorithm = NOF_PHASES_GREEDY, .name = "phases"};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    return schedule(&o, argv[0]);
}
