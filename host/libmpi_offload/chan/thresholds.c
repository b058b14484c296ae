/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/thresholds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/ways.h"
#include "nof_private/machine.h"

#define TABLE_ENV "NOF_CHANNELS_TABLE"
#define HOW_MADE "`nof bench channels --tune -o FILE` writes one"
#define MACHINE "machine"
#define ROWS_MAX 64u
#define FILE_BYTES_MAX (64u * 1024u)
#define LINE_BYTES 512u
#define DEFAULT_BYTES 16384u /* a cell */
#define BLANKS " \t\r"

struct row {
    uint64_t bytes; /* at most */
    enum nof_channels way;
};
struct rows {
    struct row row[ROWS_MAX];
    size_t n;
};

static struct rows for_all, for_this;

static const struct row *find(const struct rows *rows, size_t bytes)
{
    for (size_t i = 0; i < rows->n; i++)
        if (bytes <= rows->row[i].bytes)
            return &rows->row[i];
    return NULL;
}

enum nof_channels nof_thresholds_way(size_t bytes, bool *tabled_out)
{
    const struct row *row = find(&for_this, bytes);
    if (row == NULL)
        row = find(&for_all, bytes);
    *tabled_out = row != NULL;
    if (row != NULL)
        return row->way;
    return bytes <= DEFAULT_BYTES ? NOF_CHANNELS_SHM : NOF_CHANNELS_SINGLE_COPY;
}

/* Digits, and K or M, in powers of 1024. */
static bool bytes_of(const char *word, uint64_t *bytes_out)
{
    size_t digits = strspn(word, "0123456789");
    uint64_t unit = word[digits] == 'K' || word[digits] == 'k'   ? 1024
                    : word[digits] == 'M' || word[digits] == 'm' ? 1024 * 1024
                                                                 : 1;
    errno = 0;
    uint64_t bytes = strtoull(word, NULL, 10);
    return digits > 0 && errno == 0 && word[digits + (unit > 1)] == '\0' &&
           !__builtin_mul_overflow(bytes, unit, bytes_out);
}

/* rows NULL: they are of another machine, and only read. */
static int read_row(char *bytes_word, char *way_word, struct rows *rows, char *error, size_t size)
{
    struct row row = {.bytes = UINT64_MAX};
    if (strcmp(bytes_word, "any") != 0 && !bytes_of(bytes_word, &row.bytes)) {
        snprintf(error, size,
                 "'%s' bytes: write the most that the row is for, such as 512, 64K or 1M, or any",
                 bytes_word);
        return -1;
    }
    if (way_word == NULL || !nof_ways_named(way_word, &row.way) ||
        (row.way != NOF_CHANNELS_SHM && row.way != NOF_CHANNELS_SINGLE_COPY)) {
        snprintf(error, size, "'%s' is no way of a message by memory: write shm or single-copy",
                 way_word == NULL ? "" : way_word);
        return -1;
    }
    if (rows != NULL && rows->n == ROWS_MAX) {
        snprintf(error, size, "more than %u rows: leave out what another row says", ROWS_MAX);
        return -1;
    }
    if (rows != NULL)
        rows->row[rows->n++] = row;
    return 0;
}

static char *trimmed(char *text)
{
    text += strspn(text, BLANKS);
    for (size_t n = strlen(text); n > 0 && strchr(BLANKS, text[n - 1]) != NULL; n--)
        text[n - 1] = '\0';
    return text;
}

/* *rows: those that the next row belongs to. */
static int read_line(char *line, const char *machine, struct rows **rows, char *error, size_t size)
{
    char *rest, *text;
    line[strcspn(line, "#")] = '\0';
    text = trimmed(line);
    if (strncmp(text, MACHINE, strlen(MACHINE)) == 0 && strchr(BLANKS, text[strlen(MACHINE)]) != NULL) {
        *rows = strcmp(trimmed(text + strlen(MACHINE)), machine) == 0 ? &for_this : NULL;
        return 0;
    }
    char *bytes = strtok_r(text, BLANKS, &rest);
    return bytes == NULL ? 0 : read_row(bytes, strtok_r(NULL, BLANKS, &rest), *rows, error, size);
}

int nof_thresholds_read(const char *name, const char *text, const char *machine, char *error, size_t size)
{
    char line[LINE_BYTES], why[LINE_BYTES + 128];
    struct rows *rows = &for_all;
    for_all.n = 0;
    for_this.n = 0;
    for (unsigned number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        int rc = -1;
        snprintf(why, sizeof(why), "the line is longer than %u characters", LINE_BYTES - 1);
        if (length < LINE_BYTES) {
            memcpy(line, text, length);
            line[length] = '\0';
            rc = read_line(line, machine, &rows, why, sizeof(why));
        }
        if (rc != 0) {
            snprintf(error, size, "%s:%u: %s", name, number, why);
            for_all.n = 0;
            for_this.n = 0;
            return -1;
        }
        text += length + (text[length] == '\n');
    }
    return 0;
}

static int read_file(const char *name, char *error, size_t size)
{
    char *text = malloc(FILE_BYTES_MAX + 1), machine[NOF_MACHINE_NAME_BYTES];
    FILE *file = fopen(name, "re");
    size_t bytes = file != NULL && text != NULL ? fread(text, 1, FILE_BYTES_MAX + 1, file) : 0;
    int rc = -1;
    if (text == NULL)
        snprintf(error, size, TABLE_ENV "=%s: no memory", name);
    else if (file == NULL || ferror(file) != 0)
        snprintf(error, size, TABLE_ENV "=%s: %s; name a table that all ranks can read: " HOW_MADE, name,
                 strerror(errno));
    else if (bytes > FILE_BYTES_MAX || memchr(text, '\0', bytes) != NULL)
        snprintf(error, size, TABLE_ENV "=%s: it is no table, which is text of at most %u bytes: " HOW_MADE,
                 name, FILE_BYTES_MAX);
    else {
        text[bytes] = '\0';
        nof_machine_name(machine);
        rc = nof_thresholds_read(name, text, machine, error, size);
    }
    if (file != NULL)
        (void)fclose(file);
    free(text);
    return rc;
}

int nof_thresholds_open(char *error, size_t size)
{
    const char *table = getenv(TABLE_ENV);
    return table == NULL || *table == '\0' ? 0 : read_file(table, error, size);
}
