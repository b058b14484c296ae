/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The golden chunks of dfcm.txt (written by dfcm_generate.py, which knows only docs/DFCM_FORMAT.md), with every code
 * that this processor has: good ones decode to the line's bytes and are made of them again, byte by byte; the others
 * are refused with the line's status and leave a fresh predictor. Usage: dfcm <dfcm.txt> */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dfcm_engine.h"
#include "nof/status.h"

#define BYTES_MAX 8192u
#define LINE_MAX (4 * BYTES_MAX)

struct end {
    void *memory;
    struct nof_dfcm *p;
};

static bool open_end(struct end *e, unsigned format, enum nof_dfcm_isa isa)
{
    size_t size = nof_dfcm_mem_size(NOF_DFCM_TABLE_LOG2) + NOF_DFCM_ALIGN;

    if (e->memory == NULL)
        e->memory = aligned_alloc(NOF_DFCM_ALIGN, size - size % NOF_DFCM_ALIGN);
    e->p = nof_dfcm_init(e->memory, NOF_DFCM_TABLE_LOG2, (enum nof_dfcm_format)format, isa);
    return e->p != NULL;
}

struct line {
    char name[64], kind[16];
    unsigned format, elem;
    uint8_t plain[BYTES_MAX], chunk[BYTES_MAX];
    size_t plain_bytes, chunk_bytes;
};

/* Returns the bytes, or SIZE_MAX. */
static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    if (strcmp(hex, "-") == 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        unsigned byte;

        if (i >= BYTES_MAX || sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return SIZE_MAX;
        out[i] = (uint8_t)byte;
    }
    return n;
}

static int parse(const char *text, struct line *l)
{
    static char plain[LINE_MAX], chunk[LINE_MAX];

    if (sscanf(text, "%63s %u %u %15s %32767s %32767s", l->name, &l->format, &l->elem, l->kind, plain,
               chunk) != 6)
        return -1;
    l->plain_bytes = from_hex(plain, l->plain);
    l->chunk_bytes = from_hex(chunk, l->chunk);
    return l->plain_bytes == SIZE_MAX || l->chunk_bytes == SIZE_MAX ? -1 : 0;
}

/* The message's bytes give the line's chunk. */
static bool same_again(struct nof_dfcm *p, const struct line *l)
{
    uint8_t out[BYTES_MAX];
    struct nof_dfcm_chunk c;

    if (nof_dfcm_encode(p, (enum nof_elem)l->elem, l->plain, l->plain_bytes, out, sizeof(out), &c, NULL) !=
        NOF_OK)
        return false;
    return !c.raw && c.plain_bytes == l->plain_bytes && c.len_bytes == l->chunk_bytes &&
           memcmp(out, l->chunk, c.len_bytes) == 0;
}

static int run(const struct line *l, struct nof_dfcm *from, struct nof_dfcm *to)
{
    uint8_t out[BYTES_MAX];
    uint32_t plain = 0;

    if (strcmp(l->kind, "raw") == 0) {
        nof_dfcm_train(from, (enum nof_elem)l->elem, l->plain, l->plain_bytes, NULL);
        return nof_dfcm_train(to, (enum nof_elem)l->elem, l->plain, l->plain_bytes, NULL) == NOF_OK;
    }
    int rc =
        nof_dfcm_decode(to, (enum nof_elem)l->elem, l->chunk, l->chunk_bytes, out, sizeof(out), &plain, NULL);
    if (strcmp(l->kind, "coded") == 0)
        return rc == NOF_OK && plain == l->plain_bytes && memcmp(out, l->plain, plain) == 0 &&
               same_again(from, l) && nof_dfcm_digest(from) == nof_dfcm_digest(to);
    return rc == (strcmp(l->kind, "version") == 0 ? NOF_EVERSION : NOF_EPROTO) &&
           nof_dfcm_digest(to) == nof_dfcm_digest(from);
}

/* Returns the number of lines, or -1 after saying which one failed. */
static int run_all(FILE *file, enum nof_dfcm_isa isa)
{
    static char text[2 * LINE_MAX];
    static struct line l;
    static struct end from, to;
    char last[sizeof(l.name)] = "";
    int lines = 0;

    rewind(file);
    for (; fgets(text, sizeof(text), file) != NULL; lines++) {
        if (parse(text, &l) != 0) {
            printf("line %d: not a golden chunk\n", lines + 1);
            return -1;
        }
        if (strcmp(last, l.name) != 0 && (!open_end(&from, l.format, isa) || !open_end(&to, l.format, isa)))
            return 0;
        memcpy(last, l.name, sizeof(last));
        if (!run(&l, from.p, to.p)) {
            printf("line %d, %s: failed with code %d\n", lines + 1, l.name, (int)isa);
            return -1;
        }
    }
    return lines;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    int failed = 0;

    if (file == NULL) {
        printf("usage: dfcm dfcm.txt\n");
        return 2;
    }
    for (int isa = NOF_DFCM_ISA_PORTABLE; isa < NOF_DFCM_ISA_COUNT; isa++) {
        int lines = run_all(file, (enum nof_dfcm_isa)isa);

        printf("code %d: %d lines\n", isa, lines);
        failed |= lines < 0 || (isa == NOF_DFCM_ISA_PORTABLE && lines == 0);
    }
    fclose(file);
    return failed;
}
