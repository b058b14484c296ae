/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/select.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table_text.h"
#include "coll/agree.h"
#include "nof_private/env.h"

#define TABLE_ENV "NOF_COLL_TABLE"
#define ALLTOALL_ENV "NOF_ALLTOALL"
#define ORDER_ENV "NOF_REDUCTION_ORDER"
#define AUTO "auto"
#define ROWS_MAX 256u
#define COLUMNS 4
#define ANY UINT64_MAX
#define KI 1024u
#define MI (1024u * 1024u)

/* Which numbers of ranks a row is for, of those that are large enough. */
enum numbers { ALL, OF_TWO /* its powers alone */ };

struct row {
    enum nof_algorithm algorithm;
    int ranks; /* at least */
    uint64_t bytes; /* at most */
    enum numbers numbers;
};

/* Each collective's last rows are for all that no other row is for. Figures: docs/decisions/0031-selection.md. */
static const struct row defaults[] = {
    {NOF_BARRIER_HIERARCHICAL, 1, ANY, ALL},
    {NOF_BARRIER_DISSEMINATION, 1, ANY, ALL},
    {NOF_ALLTOALL_BRUCK, 128, 64, ALL},
    {NOF_ALLTOALL_PAIRWISE, 1, ANY, ALL},
    {NOF_ALLGATHER_HIERARCHICAL, 1, 256, ALL},
    {NOF_ALLGATHER_LANES, 1, ANY, ALL},
    {NOF_ALLGATHER_HIERARCHICAL, 1, ANY, ALL},
    {NOF_ALLGATHER_BRUCK, 9, 64, ALL},
    {NOF_ALLGATHER_PAIRWISE, 9, ANY, ALL},
    {NOF_ALLGATHER_PAIRWISE, 8, 512 * KI, ALL},
    {NOF_ALLGATHER_PAIRWISE, 1, 32 * KI, ALL},
    {NOF_ALLGATHER_RING, 1, ANY, ALL},
    {NOF_ALLREDUCE_LANES, 1, ANY, ALL},
    {NOF_ALLREDUCE_HIERARCHICAL, 1, ANY, ALL},
    {NOF_ALLREDUCE_DOUBLING, 1, 4 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 33, 4 * MI, OF_TWO},
    {NOF_ALLREDUCE_HALVING, 17, 2 * MI, OF_TWO},
    {NOF_ALLREDUCE_HALVING, 9, 1 * MI, OF_TWO},
    {NOF_ALLREDUCE_HALVING, 5, 512 * KI, OF_TWO},
    {NOF_ALLREDUCE_HALVING, 3, 256 * KI, OF_TWO},
    {NOF_ALLREDUCE_HALVING, 129, 512 * KI, ALL}, /* its first and last rounds are of whole vectors */
    {NOF_ALLREDUCE_HALVING, 91, 256 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 65, 128 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 46, 64 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 33, 32 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 23, 16 * KI, ALL},
    {NOF_ALLREDUCE_HALVING, 17, 8 * KI, ALL},
    {NOF_ALLREDUCE_RING, 3, ANY, ALL},
    {NOF_ALLREDUCE_DOUBLING, 1, 512 * KI, ALL},
    {NOF_ALLREDUCE_TREE, 1, ANY, ALL},
    {NOF_BCAST_HIERARCHICAL, 1, ANY, ALL},
    {NOF_BCAST_TREE, 1, 2 * KI, ALL},
    {NOF_BCAST_DOUBLING, 5, 128 * KI, ALL},
    {NOF_BCAST_TREE, 1, 128 * KI, ALL},
    {NOF_BCAST_DOUBLING, 129, 1 * MI, ALL},
    {NOF_BCAST_DOUBLING, 65, 512 * KI, ALL},
    {NOF_BCAST_DOUBLING, 33, 256 * KI, ALL},
    {NOF_BCAST_RING, 4, ANY, ALL},
    {NOF_BCAST_TREE, 1, ANY, ALL},
    {NOF_REDUCE_HIERARCHICAL, 1, ANY, ALL},
    {NOF_REDUCE_TREE, 1, 2 * KI, ALL},
    {NOF_REDUCE_HALVING, 4, ANY, OF_TWO},
    {NOF_REDUCE_HALVING, 17, ANY, ALL},
    {NOF_REDUCE_TREE, 9, 4 * KI, ALL},
    {NOF_REDUCE_HALVING, 9, ANY, ALL},
    {NOF_REDUCE_TREE, 1, 128 * KI, ALL},
    {NOF_REDUCE_HALVING, 5, ANY, ALL},
    {NOF_REDUCE_TREE, 1, ANY, ALL},
    {NOF_REDUCE_SCATTER_HALVING, 1, 1 * KI, ALL},
    {NOF_REDUCE_SCATTER_LANES, 1, ANY, ALL},
    {NOF_REDUCE_SCATTER_HALVING, 1, 256 * KI, OF_TWO},
    {NOF_REDUCE_SCATTER_HALVING, 65, 64 * KI, ALL},
    {NOF_REDUCE_SCATTER_HALVING, 33, 32 * KI, ALL},
    {NOF_REDUCE_SCATTER_HALVING, 17, 16 * KI, ALL},
    {NOF_REDUCE_SCATTER_HALVING, 9, 4 * KI, ALL},
    {NOF_REDUCE_SCATTER_PAIRWISE, 1, ANY, ALL},
    {NOF_REDUCE_SCATTER_ROOT, 1, 256 * KI, ALL},
    {NOF_REDUCE_SCATTER_BLOCKS, 1, ANY, ALL},
    {NOF_GATHER_TREE, 4, 2 * KI, ALL},
    {NOF_GATHER_LINEAR, 1, ANY, ALL},
    {NOF_SCATTER_TREE, 4, 2 * KI, ALL},
    {NOF_SCATTER_LINEAR, 1, ANY, ALL},
    {NOF_SCATTERV_LINEAR, 1, ANY, ALL},
};

static const struct {
    const char *collective;
    const char *name;
} algorithms[NOF_ALGORITHM_COUNT] = {
#define X(id, collective, name, help) {collective, name},
    NOF_ALGORITHMS(X)
#undef X
};

static struct row rows[ROWS_MAX]; /* of the file */
static size_t row_count;
static enum nof_algorithm asked = NOF_ALGORITHM_COUNT; /* by ALLTOALL_ENV */
static bool by_ranks; /* by ORDER_ENV */
uint64_t nof_select_counted[NOF_ALGORITHM_COUNT], nof_select_counted_by[NOF_SELECTED_BY_COUNT];

static const struct row *find(const struct row *row, size_t n, int ranks, uint64_t bytes, uint64_t can)
{
    for (size_t i = 0; i < n; i++)
        if ((can & NOF_CAN(row[i].algorithm)) != 0 && ranks >= row[i].ranks && bytes <= row[i].bytes &&
            (row[i].numbers == ALL || (ranks & (ranks - 1)) == 0))
            return &row[i];
    return NULL;
}

static enum nof_algorithm choose(int ranks, size_t bytes, uint64_t can, enum nof_selected_by *by_out)
{
    if (nof_select_asked(asked) && (can & NOF_CAN(asked)) != 0) {
        *by_out = NOF_SELECTED_BY_ENVIRONMENT;
        return asked;
    }
    const struct row *row = find(rows, row_count, ranks, bytes, can);
    *by_out = row != NULL ? NOF_SELECTED_BY_TABLE : NOF_SELECTED_BY_DEFAULT;
    if (row == NULL)
        row = find(defaults, sizeof(defaults) / sizeof(defaults[0]), ranks, bytes, can);
    return row != NULL ? row->algorithm : (enum nof_algorithm)__builtin_ctzll(can);
}

static enum nof_algorithm choose_and_count(int ranks, size_t bytes, uint64_t can)
{
    enum nof_selected_by by;
    enum nof_algorithm algorithm = choose(ranks, bytes, can, &by);
    nof_select_counted[algorithm]++;
    nof_select_counted_by[by]++;
    return algorithm;
}

enum nof_algorithm nof_select_alone(const struct nof_sched *s, size_t bytes, uint64_t can)
{
    return choose_and_count(s->size, bytes, can);
}

enum nof_algorithm nof_select_part(struct nof_sched *s, int ranks, size_t bytes, uint64_t can)
{
    enum nof_algorithm algorithm = choose_and_count(ranks, bytes, can);
    nof_coll_agree_way(s, (unsigned)algorithm);
    return algorithm;
}

enum nof_algorithm nof_select_would(int ranks, size_t bytes, uint64_t can)
{
    enum nof_selected_by by;
    return choose(ranks, bytes, can, &by);
}

bool nof_select_ever(int ranks, enum nof_algorithm algorithm)
{
    for (size_t i = 0; i < row_count; i++)
        if (rows[i].algorithm == algorithm && ranks >= rows[i].ranks)
            return true;
    return false;
}

enum nof_algorithm nof_select(struct nof_sched *s, size_t bytes, uint64_t can)
{
    return nof_select_part(s, s->size, bytes, can);
}

bool nof_select_by_ranks(void)
{
    return by_ranks;
}

bool nof_select_asked(enum nof_algorithm algorithm)
{
    return algorithm == asked && asked != NOF_ALGORITHM_COUNT;
}

static enum nof_algorithm algorithm_of(const char *collective, const char *name)
{
    int i = 0;
    while (i < NOF_ALGORITHM_COUNT &&
           (strcmp(algorithms[i].collective, collective) != 0 || strcmp(algorithms[i].name, name) != 0))
        i++;
    return (enum nof_algorithm)i;
}

static bool is_collective(const char *word)
{
    bool is = false;
    for (int i = 0; i < NOF_ALGORITHM_COUNT; i++)
        is = is || strcmp(algorithms[i].collective, word) == 0;
    return is;
}

/* Algorithms of a collective, or, NULL, all collectives. */
static void list(const char *collective, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < NOF_ALGORITHM_COUNT && used < size; i++) {
        const char *word = collective != NULL ? algorithms[i].name : algorithms[i].collective;
        bool wanted = collective != NULL ? strcmp(algorithms[i].collective, collective) == 0
                                         : i == 0 || strcmp(algorithms[i - 1].collective, word) != 0;
        if (wanted)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", word);
    }
}

/* Digits, and a unit if it may have one. */
static bool number_of(const char *word, uint64_t most, bool units, uint64_t *number_out)
{
    uint64_t number = 0;
    size_t digits = strspn(word, "0123456789");
    for (size_t i = 0; i < digits; i++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(word[i] - '0'), &number))
            return false;
    const char *unit = word + digits;
    if (units && *unit != '\0' && strchr("kKmMgG", *unit) != NULL) {
        uint64_t factor = strchr("kK", *unit) != NULL   ? KI
                          : strchr("mM", *unit) != NULL ? MI
                                                        : (uint64_t)KI * MI;
        if (__builtin_mul_overflow(number, factor, &number))
            return false;
        unit++;
    }
    if (digits == 0 || *unit != '\0' || number > most)
        return false;
    *number_out = number;
    return true;
}

/* The four words of a line: 0, or -1 with what is wrong. */
static int read_row(char *const word[COLUMNS], struct row *row_out, char *error, size_t size)
{
    uint64_t ranks = 0, bytes = ANY;
    char known[160];
    enum nof_algorithm algorithm = algorithm_of(word[0], word[3]);
    if (!is_collective(word[0])) {
        list(NULL, known, sizeof(known));
        snprintf(error, size, "'%s' is no collective of the table: write one of %s", word[0], known);
        return -1;
    }
    if (!number_of(word[1], INT_MAX, false, &ranks) || ranks == 0) {
        snprintf(error, size, "'%s' ranks: write the fewest that the row is for, from 1 on", word[1]);
        return -1;
    }
    if (strcmp(word[2], "any") != 0 && !number_of(word[2], ANY - 1, true, &bytes)) {
        snprintf(error, size,
                 "'%s' bytes: write the most that the row is for, such as 512, 64K or 1M, or any", word[2]);
        return -1;
    }
    if (algorithm == NOF_ALGORITHM_COUNT) {
        list(word[0], known, sizeof(known));
        snprintf(error, size, "'%s' is no algorithm of %s: write one of %s", word[3], word[0], known);
        return -1;
    }
    *row_out = (struct row){algorithm, (int)ranks, bytes, ALL};
    return 0;
}

static int take_line(void *of, char *line, char *error, size_t size)
{
    (void)of;
    char *word[COLUMNS + 1], *rest;
    int words = 0;
    for (char *at = strtok_r(line, " \t\r", &rest); at != NULL; at = strtok_r(NULL, " \t\r", &rest)) {
        word[words < COLUMNS ? words : COLUMNS] = at;
        words++;
    }
    if (words == 0)
        return 0;
    if (words != COLUMNS) {
        snprintf(error, size, "%d word%s: write COLLECTIVE RANKS BYTES ALGORITHM", words,
                 words == 1 ? "" : "s");
        return -1;
    }
    if (row_count == ROWS_MAX) {
        snprintf(error, size, "more than %u rows: leave out what another row says", ROWS_MAX);
        return -1;
    }
    if (read_row(word, &rows[row_count], error, size) != 0)
        return -1;
    row_count++;
    return 0;
}

int nof_select_read(const char *name, const char *text, char *error, size_t size)
{
    row_count = 0;
    int rc = nof_table_text_read(name, text, take_line, NULL, error, size);
    if (rc != 0)
        row_count = 0;
    return rc;
}

static int read_file(const char *name, char *error, size_t size)
{
    char *text = nof_table_text_load(TABLE_ENV, name, "nof bench coll --tune -o FILE", error, size);
    int rc = text == NULL ? -1 : nof_select_read(name, text, error, size);
    free(text);
    return rc;
}

int nof_select_open(char *error, size_t size)
{
    const char *table = nof_env(TABLE_ENV), *alltoall = nof_env(ALLTOALL_ENV), *order = nof_env(ORDER_ENV);
    asked = NOF_ALGORITHM_COUNT;
    if (alltoall != NULL && strcmp(alltoall, AUTO) != 0) {
        char known[160];
        asked = algorithm_of("alltoall", alltoall);
        list("alltoall", known, sizeof(known));
        if (asked == NOF_ALGORITHM_COUNT) {
            snprintf(error, size, ALLTOALL_ENV "=%s: it is " AUTO ", %s", alltoall, known);
            return -1;
        }
    }
    by_ranks = order != NULL && strcmp(order, "ranks") == 0;
    if (order != NULL && !by_ranks && strcmp(order, "placement") != 0) {
        snprintf(error, size, ORDER_ENV "=%s: it is placement or ranks", order);
        return -1;
    }
    return table == NULL ? 0 : read_file(table, error, size);
}
