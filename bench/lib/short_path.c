/* SPDX-License-Identifier: BSD-3-Clause */
#include "short_path.h"

#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"
#include "scratch.h"
#include "spawn.h"

#define FEW 512 /* the first ones, which find nothing warm, and all that is not messages: taken off from */
#define MANY (FEW + 4096)
#define RUN_S 120
#define LINE_BYTES 4096
#define SPECIAL_MAX 65536u

/* Instructions of one object file that are looked for, in ascending order. */
struct special {
    uint64_t at;
    bool fence; /* else it locks */
};

/* An uncompressed dump of callgrind with instructions: "ob=FILE", "fn=NAME", then lines "0xADDRESS LINE COST [SYSTEM CALLS ...]" of
 * that function; "cfn=NAME", "calls=N ...", and one line with the cost inside the callee, which stands in its own place, too. */
struct reader {
    struct nof_short_path sum; /* over all messages */
    char object[LINE_BYTES];
    struct special *special; /* of `object` */
    size_t nspecial;
    bool is_call, allocates, is_message;
};

static void take_instruction(struct reader *r, const char *text)
{
    char *end;
    uint64_t at = strtoull(text, &end, 16);

    if (*end != ':' || r->nspecial == SPECIAL_MAX)
        return;
    bool fence =
        strstr(end, "mfence") != NULL || strstr(end, "lfence") != NULL || strstr(end, "sfence") != NULL;
    bool locks =
        strstr(end, "\tlock ") != NULL || (strstr(end, "\txchg ") != NULL && strchr(end, '(') != NULL);
    if (fence || locks)
        r->special[r->nspecial++] = (struct special){.at = at, .fence = fence};
}

/* Another object file begins: what of it locks and fences. Its text is long: line by line. */
static void look_at_object(struct reader *r, const char *path)
{
    const char *const argv[] = {"objdump", "-d", "--no-show-raw-insn", path, NULL};
    struct nof_child child;
    char line[LINE_BYTES];

    if (strcmp(r->object, path) == 0)
        return;
    snprintf(r->object, sizeof(r->object), "%s", path);
    r->nspecial = 0;
    if (nof_child_start(&child, NULL, argv, NOF_CHILD_STDOUT, NULL) != 0)
        return;
    int fd = dup(child.out_fd);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        take_instruction(r, line);
    if (f != NULL)
        fclose(f);
    (void)nof_child_wait(&child, RUN_S * 1000);
}

static int by_address(const void *key, const void *entry)
{
    uint64_t at = *(const uint64_t *)key, other = ((const struct special *)entry)->at;

    return (at > other) - (at < other);
}

static bool is_allocator(const char *name)
{
    static const char *const names[] = {"malloc", "calloc",         "realloc",
                                        "free",   "posix_memalign", "aligned_alloc"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* System calls are counted in all functions, instructions only in those that are looked for. */
static void cost_line(struct reader *r, const char *line)
{
    uint64_t at;
    double count, syscalls = 0;
    bool inside = r->is_call;

    r->is_call = false;
    if (sscanf(line, "%lx %*s %lf %lf", &at, &count, &syscalls) < 2)
        return;
    if (inside) {
        r->sum.syscalls += r->is_message ? syscalls : 0;
        return;
    }
    const struct special *s = bsearch(&at, r->special, r->nspecial, sizeof(*s), by_address);
    r->sum.instructions += count;
    if (s != NULL && s->fence)
        r->sum.fences += count;
    else if (s != NULL)
        r->sum.lock_prefixes += count;
}

static void read_line(struct reader *r, const char *line)
{
    if (strncmp(line, "ob=", 3) == 0) {
        look_at_object(r, line + 3);
    } else if (strncmp(line, "cfn=", 4) == 0) {
        r->allocates = is_allocator(line + 4);
        r->is_message = strcmp(line + 4, "PMPI_Send") == 0 || strcmp(line + 4, "PMPI_Recv") == 0;
    } else if (strncmp(line, "calls=", 6) == 0) {
        r->is_call = true;
        r->sum.allocations += r->allocates ? strtod(line + 6, NULL) : 0;
    } else if (strncmp(line, "0x", 2) == 0) {
        cost_line(r, line);
    }
}

static void read_dump(struct reader *r, const char *path)
{
    char line[LINE_BYTES];
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return;
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_line(r, line);
    }
    fclose(f);
}

static void ignore_line(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

static bool run(const char *dir, const char *program, int n)
{
    char nof[NOF_BENCH_PATH_BYTES], out[NOF_BENCH_PATH_BYTES], turns[NOF_BENCH_PATH_BYTES], messages[16];
    uint64_t zero = 0;

    snprintf(turns, sizeof(turns), "%s/turns", dir);
    FILE *f = fopen(turns, "we");
    bool made = f != NULL && fwrite(&zero, sizeof(zero), 1, f) == 1;
    if (f == NULL || fclose(f) != 0 || !made)
        return false;
    nof_bench_beside("nof", nof);
    snprintf(out, sizeof(out), "--callgrind-out-file=%s/short.%%p", dir);
    snprintf(messages, sizeof(messages), "%d", n);
    /* The library's functions have both names, and callgrind knows them by one. */
    const char *const argv[] = {"env",
                                "-u",
                                "NOF_SOCKET",
                                "-u",
                                "NOF_CONTROL",
                                "NOF_CHANNELS=auto",
                                nof,
                                "run",
                                "--hosts",
                                "1",
                                "-n",
                                "2",
                                "valgrind",
                                "--tool=callgrind",
                                "--vgdb=no",
                                "--dump-instr=yes",
                                "--collect-systime=msec",
                                "--compress-strings=no",
                                "--compress-pos=no",
                                "--toggle-collect=PMPI_Send",
                                "--toggle-collect=PMPI_Recv",
                                out,
                                program,
                                messages,
                                turns,
                                NULL};

    return nof_bench_spawn(argv, NULL, RUN_S, ignore_line, NULL) == 0;
}

/* Sums over n messages, set-up included; instructions 0: it failed. */
static struct nof_short_path sums(const char *dir, const char *program, int n)
{
    char pattern[NOF_BENCH_PATH_BYTES];
    struct reader r = {.special = malloc(SPECIAL_MAX * sizeof(*r.special))};
    glob_t found = {0};

    snprintf(pattern, sizeof(pattern), "%s/short.*", dir);
    if (r.special != NULL && run(dir, program, n) && glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            read_dump(&r, found.gl_pathv[i]);
            (void)unlink(found.gl_pathv[i]);
        }
    globfree(&found);
    free(r.special);
    return r.sum;
}

const char *nof_short_path_measure(struct nof_short_path *out)
{
    char program[NOF_BENCH_PATH_BYTES];
    const char *dir = nof_bench_scratch();

    nof_bench_beside("bench/short_path_mpi", program);
    if (!nof_bench_have("valgrind") || !nof_bench_have("objdump") || dir == NULL)
        return "valgrind or objdump is missing: apt install valgrind binutils";
    struct nof_short_path few = sums(dir, program, FEW), many = sums(dir, program, MANY);
    if (few.instructions <= 0 || many.instructions <= few.instructions)
        return "the program failed under valgrind, or callgrind saw no MPI_Send";
    double n = MANY - FEW;
    *out = (struct nof_short_path){
        .instructions = (many.instructions - few.instructions) / n,
        .lock_prefixes = (many.lock_prefixes - few.lock_prefixes) / n,
        .fences = (many.fences - few.fences) / n,
        .allocations = (many.allocations - few.allocations) / n,
        .syscalls = (many.syscalls - few.syscalls) / n,
    };
    return NULL;
}
