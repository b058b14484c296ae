/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench dfcm`: ratio and speed of the codec on recorded messages, beside the literal implementation and general
 * compressors, in one run. Speeds are 10^9 bytes of input per second of CPU time of one core: the median of several
 * passes over a program's files, each with fresh predictors, one for each file and destination. */
#include "commands.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codecs.h"
#include "messages.h"
#include "lib/option.h"
#include "lib/report.h"

#define PASSES_MAX 101u
#define FILES_MAX 4096u
#define CODECS 4u
/* Of the paper's Table 1: the cycles that 1 Gbit/s takes for a byte on its processor. */
#define PAPER_HZ 3e9
#define PAPER_CYCLES_PER_BYTE (PAPER_HZ * 8 / 1e9)

enum { OURS, REFERENCE, LZ4, ZSTD1 };

struct arguments {
    bool json, paper;
    unsigned passes;
    const char *path[FILES_MAX];
    unsigned paths;
};

/* One codec on one program, or on all. */
struct figures {
    double packed_bytes;
    double compress_s, decompress_s;
};

struct program {
    const char *name;
    double bytes;
    struct figures codec[CODECS];
};

struct bench {
    const struct arguments *arguments;
    const struct nof_codec *codec[CODECS];
    void *state[CODECS];
    struct nof_messages *file; /* [arguments->paths] */
    uint8_t *packed; /* a whole file's */
    size_t *lens; /* of its messages */
    uint8_t *plain; /* one message */
    char problem[300];
    struct nof_bench_report report;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One codec on one file; with `verify`, what comes out is looked at (and the time means nothing). */
static int run_file(struct bench *b, unsigned codec, const struct nof_messages *m, bool verify,
                    struct figures *sum)
{
    const struct nof_codec *c = b->codec[codec];
    size_t used = 0;
    double began;

    c->fresh(b->state[codec], true);
    began = now_s();
    for (size_t i = 0; i < m->n; i++) {
        const struct nof_message *msg = &m->message[i];

        b->lens[i] =
            c->compress(b->state[codec], msg->destination, msg->bytes, msg->len_bytes, b->packed + used);
        used += b->lens[i];
    }
    sum->compress_s += now_s() - began;
    sum->packed_bytes += (double)used;
    c->fresh(b->state[codec], false);
    used = 0;
    began = now_s();
    for (size_t i = 0; i < m->n; i++) {
        const struct nof_message *msg = &m->message[i];

        if (c->decompress(b->state[codec], msg->destination, b->packed + used, b->lens[i], b->plain,
                          msg->len_bytes) != 0 ||
            (verify && memcmp(b->plain, msg->bytes, msg->len_bytes) != 0)) {
            snprintf(b->problem, sizeof(b->problem), "%s did not give message %zu of %s back", c->name, i,
                     m->program);
            return -1;
        }
        used += b->lens[i];
    }
    sum->decompress_s += now_s() - began;
    return 0;
}

/* "PROGRAM.CODEC.compress" */
static void name_of(char name[128], const struct program *p, const struct nof_codec *codec, const char *way)
{
    snprintf(name, 128, "%s.%s.%s", p->name, codec->name, way);
}

static int run_program(struct bench *b, struct program *p)
{
    double compress_s[CODECS][PASSES_MAX], decompress_s[CODECS][PASSES_MAX];
    unsigned passes = b->arguments->passes;

    /* The first pass is for looking at what comes back, and for the caches. */
    for (unsigned pass = 0; pass <= passes; pass++) {
        nof_bench_progress("%s, pass %u of %u", p->name, pass, passes);
        for (unsigned c = 0; c < CODECS; c++) {
            struct figures sum = {0};

            for (unsigned f = 0; f < b->arguments->paths && b->state[c] != NULL; f++)
                if (strcmp(b->file[f].program, p->name) == 0 &&
                    run_file(b, c, &b->file[f], pass == 0, &sum) != 0)
                    return -1;
            p->codec[c].packed_bytes = sum.packed_bytes;
            if (pass > 0) {
                compress_s[c][pass - 1] = sum.compress_s;
                decompress_s[c][pass - 1] = sum.decompress_s;
            }
        }
    }
    for (unsigned c = 0; c < CODECS; c++) {
        char name[128];

        p->codec[c].compress_s = nof_bench_median(compress_s[c], passes);
        p->codec[c].decompress_s = nof_bench_median(decompress_s[c], passes);
        if (c == OURS || b->state[c] == NULL)
            continue;
        name_of(name, p, b->codec[c], "compress");
        nof_bench_compared(&b->report, name, compress_s[c], passes, NAN);
        name_of(name, p, b->codec[c], "decompress");
        nof_bench_compared(&b->report, name, decompress_s[c], passes, NAN);
    }
    return 0;
}

static int open_files(struct bench *b)
{
    size_t most_bytes = 0, most_messages = 0, largest = 0;

    b->file = calloc(b->arguments->paths, sizeof(*b->file));
    for (unsigned i = 0; b->file != NULL && i < b->arguments->paths; i++) {
        struct nof_messages *m = &b->file[i];

        if (nof_messages_read(m, b->arguments->path[i], b->problem, sizeof(b->problem)) != 0)
            return -1;
        if (m->bytes * 2 + m->n * 4096 > most_bytes)
            most_bytes = m->bytes * 2 + m->n * 4096;
        if (m->n > most_messages)
            most_messages = m->n;
        if (m->largest_bytes > largest)
            largest = m->largest_bytes;
    }
    b->packed = malloc(most_bytes + 64);
    b->lens = malloc((most_messages + 1) * sizeof(*b->lens));
    b->plain = malloc(largest + 64);
    if (b->file != NULL && b->packed != NULL && b->lens != NULL && b->plain != NULL) {
        memset(b->packed, 0, most_bytes + 64);
        memset(b->plain, 0, largest + 64);
        return 0;
    }
    snprintf(b->problem, sizeof(b->problem), "not enough memory");
    return -1;
}

static int open_bench(struct bench *b)
{
    b->codec[OURS] = b->arguments->paper ? &nof_codec_paper : &nof_codec_fast;
    b->codec[REFERENCE] = &nof_codec_reference;
    b->codec[LZ4] = &nof_codec_lz4;
    b->codec[ZSTD1] = &nof_codec_zstd1;
    for (unsigned c = 0; c < CODECS; c++) {
        b->state[c] = b->codec[c]->missing == NULL ? b->codec[c]->open() : NULL;
        if (b->codec[c]->missing == NULL && b->state[c] == NULL) {
            snprintf(b->problem, sizeof(b->problem), "not enough memory");
            return -1;
        }
    }
    return open_files(b);
}

static void close_bench(struct bench *b)
{
    for (unsigned c = 0; c < CODECS; c++)
        if (b->state[c] != NULL)
            b->codec[c]->close(b->state[c]);
    for (unsigned i = 0; b->file != NULL && i < b->arguments->paths; i++)
        nof_messages_free(&b->file[i]);
    free(b->file);
    free(b->packed);
    free(b->lens);
    free(b->plain);
}

static double ratio(const struct program *p, unsigned codec)
{
    return p->bytes / p->codec[codec].packed_bytes;
}

static double compress_gbs(const struct program *p, unsigned codec)
{
    return p->bytes / p->codec[codec].compress_s / 1e9;
}

static double decompress_gbs(const struct program *p, unsigned codec)
{
    return p->bytes / p->codec[codec].decompress_s / 1e9;
}

/* docs/DFCM_FORMAT.md, section 6: the link rates above which compression stops paying. */
static double break_even_gbit_s(const struct program *p)
{
    double spent_s = (p->codec[OURS].compress_s + p->codec[OURS].decompress_s) / p->bytes;
    double saved = 1 - 1 / ratio(p, OURS);

    return saved > 0 ? saved / spent_s * 8 / 1e9 : 0;
}

static double break_even_overlapped_gbit_s(const struct program *p)
{
    double compress = compress_gbs(p, OURS), decompress = decompress_gbs(p, OURS);

    return ratio(p, OURS) > 1 ? 8 * (compress < decompress ? compress : decompress) : 0;
}

static json_t *peer_json(const struct bench *b, const struct program *p, unsigned codec)
{
    if (b->state[codec] == NULL)
        return json_null();
    return json_pack("{s:f,s:f,s:f}", "ratio", ratio(p, codec), "compress_gbs", compress_gbs(p, codec),
                     "decompress_gbs", decompress_gbs(p, codec));
}

static json_t *program_json(const struct bench *b, const struct program *p)
{
    const struct figures *ours = &p->codec[OURS];
    json_t *o = json_object();

    if (p->name != NULL)
        json_object_set_new(o, "program", json_string(p->name));
    json_object_set_new(o, "bytes", json_integer((json_int_t)p->bytes));
    json_object_set_new(o, "ratio", json_real(ratio(p, OURS)));
    json_object_set_new(o, "reference_ratio", json_real(ratio(p, REFERENCE)));
    json_object_set_new(o, "compress_gbs", json_real(compress_gbs(p, OURS)));
    json_object_set_new(o, "decompress_gbs", json_real(decompress_gbs(p, OURS)));
    json_object_set_new(o, "reference_compress_gbs", json_real(compress_gbs(p, REFERENCE)));
    json_object_set_new(o, "reference_decompress_gbs", json_real(decompress_gbs(p, REFERENCE)));
    json_object_set_new(o, "lz4", peer_json(b, p, LZ4));
    json_object_set_new(o, "zstd1", peer_json(b, p, ZSTD1));
    json_object_set_new(o, "codec_cycles_per_byte_at_3ghz",
                        json_real((ours->compress_s + ours->decompress_s) / p->bytes * PAPER_HZ));
    json_object_set_new(o, "budget_cycles_per_byte_at_3ghz_1gbit",
                        json_real(PAPER_CYCLES_PER_BYTE * (1 - 1 / ratio(p, OURS))));
    json_object_set_new(o, "break_even_gbit_s", json_real(break_even_gbit_s(p)));
    json_object_set_new(o, "break_even_overlapped_gbit_s", json_real(break_even_overlapped_gbit_s(p)));
    return o;
}

static void print_codec(const struct bench *b, const struct program *p, unsigned codec)
{
    const char *name = b->codec[codec]->name;
    char compress[128], decompress[128];

    if (b->state[codec] == NULL)
        return;
    name_of(compress, p, b->codec[codec], "compress");
    name_of(decompress, p, b->codec[codec], "decompress");
    printf("    %-10s %6.3f %13s %15s\n", name, ratio(p, codec),
           nof_bench_cell(&b->report, compress, compress_gbs(p, codec), 3).text,
           nof_bench_cell(&b->report, decompress, decompress_gbs(p, codec), 3).text);
}

static void print_program(const struct bench *b, const struct program *p)
{
    double spent = (p->codec[OURS].compress_s + p->codec[OURS].decompress_s) / p->bytes * PAPER_HZ;

    printf("%s, %.0f bytes\n", p->name != NULL ? p->name : "all", p->bytes);
    printf("    %-10s %6s %13s %15s\n", "", "ratio", "compress GB/s", "decompress GB/s");
    for (unsigned c = 0; c < CODECS; c++)
        print_codec(b, p, c);
    printf("    both ways %.1f cycles a byte at 3 GHz; the paper's Table 1 allows %.1f at 1 Gbit/s\n", spent,
           PAPER_CYCLES_PER_BYTE * (1 - 1 / ratio(p, OURS)));
    printf("    pays below %.1f Gbit/s (equation 3); with chunks overlapped, below %.1f Gbit/s\n",
           break_even_gbit_s(p), break_even_overlapped_gbit_s(p));
}

static json_t *result_of(struct bench *b, const struct program *programs, unsigned n,
                         const struct program *total)
{
    json_t *o = json_object(), *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, program_json(b, &programs[i]));
    json_object_set_new(o, "format", json_string(b->codec[OURS]->name));
    json_object_set_new(o, "programs", list);
    json_object_set_new(o, "total", program_json(b, total));
    for (unsigned c = 0; c < CODECS; c++)
        if (b->state[c] == NULL)
            nof_bench_skip(&b->report, b->codec[c]->name, b->codec[c]->missing);
    return o;
}

static void add(struct program *total, const struct program *p)
{
    total->bytes += p->bytes;
    for (unsigned c = 0; c < CODECS; c++) {
        total->codec[c].packed_bytes += p->codec[c].packed_bytes;
        total->codec[c].compress_s += p->codec[c].compress_s;
        total->codec[c].decompress_s += p->codec[c].decompress_s;
    }
}

/* The programs of the files, in their order. Returns their number, 0 after a problem. */
static unsigned run_programs(struct bench *b, struct program *programs)
{
    unsigned n = 0;

    for (unsigned f = 0; f < b->arguments->paths; f++) {
        unsigned i = 0;

        while (i < n && strcmp(programs[i].name, b->file[f].program) != 0)
            i++;
        if (i == n)
            programs[n++].name = b->file[f].program;
        programs[i].bytes += (double)b->file[f].bytes;
    }
    for (unsigned i = 0; i < n; i++)
        if (run_program(b, &programs[i]) != 0)
            return 0;
    return n;
}

static int run(const struct arguments *a)
{
    struct bench b = {.arguments = a};
    struct program *programs = calloc(a->paths, sizeof(*programs));
    struct program total = {0};
    json_t *result = NULL;
    unsigned n;
    bool all = false;

    nof_bench_begin(&b.report, "nof bench dfcm", a->json);
    n = programs != NULL && open_bench(&b) == 0 ? run_programs(&b, programs) : 0;

    for (unsigned i = 0; i < n; i++)
        add(&total, &programs[i]);
    if (n == 0)
        fprintf(stderr, "nof bench dfcm: %s\n", b.problem[0] != '\0' ? b.problem : "not enough memory");
    else
        result = result_of(&b, programs, n, &total);
    for (unsigned i = 0; !a->json && i < n; i++)
        print_program(&b, &programs[i]);
    if (!a->json && n > 1)
        print_program(&b, &total);
    if (result != NULL)
        all = nof_bench_end(&b.report, result);
    close_bench(&b);
    free(programs);
    return all ? 0 : 1;
}

enum { KEY_FORMAT = 256, KEY_PASSES };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case KEY_FORMAT:
        a->paper = strcmp(arg, "paper") == 0;
        if (!a->paper && strcmp(arg, "fast") != 0)
            argp_error(state, "--format=%s: fast or paper", arg);
        break;
    case KEY_PASSES:
        a->passes = nof_number_option(arg, 1, PASSES_MAX, "--passes", state);
        break;
    case ARGP_KEY_ARG:
        if (a->paths == FILES_MAX)
            argp_error(state, "more than %u files", FILES_MAX);
        a->path[a->paths++] = arg;
        break;
    case ARGP_KEY_END:
        if (a->paths == 0)
            argp_error(state, "which messages? For example: nof bench dfcm messages/*/*.msg");
        break;
    default:
        return nof_bench_option(key, arg, state, &a->json);
    }
    return 0;
}

int nof_bench_dfcm(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"format", KEY_FORMAT, "NAME", 0, "fast (default) or paper: docs/DFCM_FORMAT.md", 0},
        {"passes", KEY_PASSES, "N", 0, "passes over each program, whose median counts (default 9)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Ratio and speed of the codec on recorded messages (records of i32 destination, i32 length in "
               "bytes, "
               "doubles; the program is the folder's name), in chunks as for MTU 1500, beside a literal "
               "implementation of the paper, lz4 and zstd -1.",
    };
    static struct arguments a = {.passes = 9};

    argp_parse(&argp, argc, argv, 0, NULL, &a);
    return run(&a);
}
