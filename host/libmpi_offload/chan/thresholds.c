/* SPDX-License-Identifier: BSD-3-Clause */
#include "chan/thresholds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_text.h"
#include "chan/ways.h"
#include "nof_private/env.h"
#include "nof_private/machine.h"

#define TABLE_ENV "NOF_CHANNELS_TABLE"
#define HOW_MADE "nof bench channels --tune -o FILE"
#define MACHINE "machine"
#define ROWS_MAX 64u
#define AHEAD_BYTES \
    6144u /* where reading what is alone begins to pay: 4 KiB 1.3 and 1.6 us, 8 KiB 1.95 and 1.8 */
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
    if (row != NULL && row->way != NOF_CHANNELS_AUTO)
        return row->way;
    return bytes <= AHEAD_BYTES ? NOF_CHANNELS_SHM : NOF_CHANNELS_AUTO;
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
    if (way_word == NULL || !nof_ways_named(way_word, &row.way) || row.way == NOF_CHANNELS_NIC) {
        snprintf(error, size, "'%s' is no way of a message by memory: write shm, single-copy or auto",
                 way_word == NULL ? "" : way_word);
        return -1;
    }
    if (rows != NULL && rows->n == ROWS_MAX) {
        snprintf(error, size, "more than %u rows: leave out what another row says", ROWS_MAX);
        return -1;
    }
    if (rows != NULL && rows->n > 0 && row.bytes <= rows->row[rows->n - 1].bytes) {
        snprintf(error, size,
                 "this row is never reached, as one before it is for up to %" PRIu64
                 " bytes: rows begin with the one for the fewest bytes",
                 rows->row[rows->n - 1].bytes);
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

struct reader {
    const char *machine;
    struct rows *rows; /* those that the next row belongs to; NULL: another machine's */
};

static int take_line(void *of, char *line, char *error, size_t size)
{
    struct reader *r = of;
    char *rest, *text = trimmed(line);
    if (strncmp(text, MACHINE, strlen(MACHINE)) == 0 && strchr(BLANKS, text[strlen(MACHINE)]) != NULL) {
        const char *machine = trimmed(text + strlen(MACHINE));
        if (*machine == '\0') {
            snprintf(error, size,
                     "'" MACHINE "' without a name: write that of the machine that the rows are for");
            return -1;
        }
        r->rows = strcmp(machine, r->machine) == 0 ? &for_this : NULL;
        return 0;
    }
    char *bytes = strtok_r(text, BLANKS, &rest);
    if (bytes == NULL)
        return 0;
    char *way = strtok_r(NULL, BLANKS, &rest), *more;
    while ((more = strtok_r(NULL, BLANKS, &rest)) != NULL) /* figures, for people */
        if (strchr("0123456789-", more[0]) == NULL) {
            snprintf(error, size, "'%s' is no figure: behind BYTES and the way there are none but these",
                     more);
            return -1;
        }
    return read_row(bytes, way, r->rows, error, size);
}

int nof_thresholds_read(const char *name, const char *text, const char *machine, char *error, size_t size)
{
    struct reader reader = {.machine = machine, .rows = &for_all};
    for_all.n = 0;
    for_this.n = 0;
    int rc = nof_table_text_read(name, text, take_line, &reader, error, size);
    if (rc != 0) {
        for_all.n = 0;
        for_this.n = 0;
    }
    return rc;
}

int nof_thresholds_open(char *error, size_t size)
{
    const char *table = nof_env(TABLE_ENV);
    char machine[NOF_MACHINE_NAME_BYTES];
    if (table == NULL)
        return 0;
    char *text = nof_table_text_load(TABLE_ENV, table, HOW_MADE, error, size);
    if (text == NULL)
        return -1;
    nof_machine_name(machine);
    int rc = nof_thresholds_read(table, text, machine, error, size);
    free(text);
    return rc;
}
