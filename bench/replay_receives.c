/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof replay`: recorded receive calls through a receive predictor of the firmware, one predictor per file.
 *
 * A trace has one call a line, in call order: call site (hexadecimal), source, tag, communicator, and
 * what else was recorded, which is not looked at. Source and tag are those of the message that was
 * received, also where the call said "any"; `nof record` writes such files (docs/RECORDING.md). Hits are the paper's: over all
 * calls, those whose message the predictor, told the call site, had named (docs/RECEIVE_PREDICTION.md). */
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recv_predictor.h"
#include "nof_private/nearest.h"
#include "lib/option.h"

#define LINE_MAX_BYTES 256
#define CALLS_DEFAULT 1024u /* as nof_nic_config.predict_calls */

struct trace {
    const char *file;
    uint64_t calls, hits, offers, offer_hits;
};

struct replay {
    bool json;
    enum nof_predictor_kind kind;
    uint32_t remembered;
    char **files;
    int nfiles;
    struct trace *traces;
};

/* A whole number in [low, high] behind *at, which moves on. */
static bool number(const char **at, int base, long long low, long long high, long long *out)
{
    char *end;
    errno = 0;
    *out = strtoll(*at, &end, base);
    if (end == *at || errno != 0 || *out < low || *out > high ||
        (*end != '\0' && strchr(" \t\r\n", *end) == NULL))
        return false;
    *at = end;
    return true;
}

static const char *parse_line(const char *line, struct nof_message_id *id, uint64_t *callsite)
{
    long long site, source, tag, ctx;
    if (!number(&line, 16, 0, LLONG_MAX, &site))
        return "the call site, a hexadecimal number, comes first";
    if (!number(&line, 10, 0, INT32_MAX, &source))
        return "the source, a rank, comes second; of a call for any source, the rank that was received from";
    if (!number(&line, 10, 0, INT32_MAX, &tag))
        return "the tag, not negative, comes third; of a call for any tag, the one that was received";
    if (!number(&line, 10, 0, UINT32_MAX, &ctx))
        return "the communicator, a number, comes fourth";
    *id = (struct nof_message_id){.source = (int32_t)source, .tag = (int32_t)tag, .ctx = (uint32_t)ctx};
    *callsite = (uint64_t)site;
    return NULL;
}

static int replay_stream(FILE *f, struct nof_recv_predictor *p, struct trace *t)
{
    char line[LINE_MAX_BYTES];
    struct nof_message_id id;
    uint64_t callsite;
    while (fgets(line, sizeof(line), f) != NULL) {
        const char *problem = strchr(line, '\n') == NULL && !feof(f) ? "the line is longer than any call is"
                                                                     : parse_line(line, &id, &callsite);
        if (problem != NULL) {
            fprintf(stderr, "nof replay: %s:%" PRIu64 ": %s\n", t->file, t->calls + 1, problem);
            return 1;
        }
        unsigned verdict = nof_recv_predictor_observe(p, &id, callsite);
        t->calls++;
        t->hits += (verdict & NOF_PREDICT_HIT) != 0;
        t->offers += (verdict & NOF_PREDICT_OFFERED) != 0;
        t->offer_hits += (verdict & NOF_PREDICT_OFFER_HIT) != 0;
    }
    if (ferror(f)) {
        fprintf(stderr, "nof replay: %s: %s\n", t->file, strerror(errno));
        return 1;
    }
    if (t->calls == 0) {
        fprintf(stderr, "nof replay: %s holds no receive call\n", t->file);
        return 1;
    }
    return 0;
}

static int replay_file(const struct replay *r, struct trace *t)
{
    struct nof_predictor_config cfg = nof_predictor_sized(r->remembered);
    void *mem = aligned_alloc(64, nof_recv_predictor_mem_size(&cfg));
    FILE *f = fopen(t->file, "r");
    int rc = 1;
    if (f == NULL)
        fprintf(stderr, "nof replay: %s: %s\n", t->file, strerror(errno));
    else if (mem == NULL)
        fprintf(stderr, "nof replay: no memory\n");
    else
        rc = replay_stream(f, nof_recv_predictor_init(mem, &cfg, r->kind), t);
    if (f != NULL)
        fclose(f);
    free(mem);
    return rc;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void report(const struct replay *r)
{
    json_t *list = json_array();
    double sum = 0, min = 1, max = 0;
    if (!r->json)
        printf("%-10s %10s %9s %9s %9s   %s\n", "calls", "hits", "hit ratio", "foretold", "rightly", "trace");
    for (int i = 0; i < r->nfiles; i++) {
        const struct trace *t = &r->traces[i];
        double ratio = share(t->hits, t->calls);
        sum += ratio;
        min = ratio < min ? ratio : min;
        max = ratio > max ? ratio : max;
        if (r->json)
            json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:f}", "file", t->file, "calls",
                                                  (json_int_t)t->calls, "hits", (json_int_t)t->hits,
                                                  "hit_ratio", ratio));
        else
            printf("%-10" PRIu64 " %10" PRIu64 " %9.4f %9.4f %9.4f   %s\n", t->calls, t->hits, ratio,
                   share(t->offers, t->calls), share(t->offer_hits, t->offers), t->file);
    }
    double avg = sum / r->nfiles;
    json_t *o = json_pack("{s:s,s:o,s:f,s:f,s:f}", "predictor", nof_predictor_name(r->kind), "traces", list,
                          "avg", avg, "min", min, "max", max);
    if (r->json) {
        json_dumpf(o, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
        putchar('\n');
    } else {
        printf("%s: average %.4f, minimum %.4f, maximum %.4f\n", nof_predictor_name(r->kind), avg, min, max);
    }
    json_decref(o);
}

enum { KEY_PREDICTOR = 256, KEY_REMEMBERED };

static enum nof_predictor_kind kind_of(const char *name, struct argp_state *state)
{
    const char *names[NOF_PREDICTOR_KINDS - 1];
    char near[100];
    for (unsigned k = 1; k < NOF_PREDICTOR_KINDS; k++) {
        names[k - 1] = nof_predictor_name((enum nof_predictor_kind)k);
        if (strcmp(name, names[k - 1]) == 0)
            return (enum nof_predictor_kind)k;
    }
    nof_nearest_ask(name, names, NOF_PREDICTOR_KINDS - 1, near, sizeof(near));
    argp_error(state, "--predictor=%s: there is no such predictor%s", name, near);
    return NOF_PREDICTOR_OFF;
}

static uint32_t remembered(const char *arg, struct argp_state *state)
{
    char *end;
    unsigned long n = strtoul(arg, &end, 10);
    struct nof_predictor_config cfg = nof_predictor_sized(n <= 32768 ? (uint32_t)n : 0);
    if (*end != '\0' || end == arg || n > 32768 || n < 16 || nof_recv_predictor_mem_size(&cfg) == 0)
        argp_error(state, "--remembered=%s: a power of two from 16 to 32768", arg);
    return (uint32_t)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct replay *r = state->input;
    switch (key) {
    case KEY_PREDICTOR:
        r->kind = kind_of(arg, state);
        break;
    case KEY_REMEMBERED:
        r->remembered = remembered(arg, state);
        break;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* all at once, below */
    case ARGP_KEY_ARGS:
        r->files = state->argv + state->next;
        r->nfiles = state->argc - state->next;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no trace is named");
        break;
    default:
        return nof_bench_option(key, arg, state, &r->json);
    }
    return 0;
}

int nof_cmd_replay(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"predictor", KEY_PREDICTOR, "NAME", 0,
         "single-cycle, tag, tag-cycle, tag-bettercycle or auto (auto)", 0},
        {"remembered", KEY_REMEMBERED, "CALLS", 0, "receive calls that the predictor remembers (1024)", 0},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "TRACE...",
        .doc = "How many of the receive calls that were recorded in each TRACE a receive predictor of the "
               "firmware "
               "names beforehand."
               "\vA trace has one receive call a line: call site (hexadecimal), source, tag, communicator; "
               "the rest "
               "of a line is not looked at. Each trace gets a predictor of its own. Hits are counted over "
               "all calls; "
               "\"foretold\" is the share that was named before the call site was known, \"rightly\" how "
               "much of that "
               "came true.",
    };
    struct replay r = {.kind = NOF_PREDICTOR_AUTO, .remembered = CALLS_DEFAULT};
    argp_parse(&argp, argc, argv, 0, NULL, &r);
    r.traces = calloc((size_t)r.nfiles, sizeof(*r.traces));
    int rc = r.traces == NULL;
    for (int i = 0; rc == 0 && i < r.nfiles; i++) {
        r.traces[i].file = r.files[i];
        rc = replay_file(&r, &r.traces[i]);
    }
    if (rc == 0)
        report(&r);
    free(r.traces);
    return rc;
}
