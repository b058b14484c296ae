/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of `nof bench channels --tune`, of figures that programs told, or did not tell. */
#include "../../bench/channels/channels_tune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../bench/lib/spawn.h"

#define LEAST 128l
#define MOST 1024l
#define TEXT_BYTES 4096

/* What the programs do not tell as they should, and of which length; 0: all. */
static enum { NOTHING, NO_ROW, NO_HIDDEN, NO_CPU } fault;
static long faulty;

void nof_bench_beside(const char *name, char path[NOF_BENCH_PATH_BYTES])
{
    snprintf(path, NOF_BENCH_PATH_BYTES, "%s", name);
}

/* Of each length up to 256 bytes shm is better, above that single-copy by less. */
static double cost_of(const char *channels, long bytes)
{
    return strcmp(channels, "NOF_CHANNELS=shm") == 0           ? (bytes <= 256 ? 1 : 3)
           : strcmp(channels, "NOF_CHANNELS=single-copy") == 0 ? 2
                                                               : 4;
}

int nof_bench_spawn(const char *const *argv, const char *log_path, unsigned timeout_s,
                    void (*line)(void *ctx, const char *text), void *ctx)
{
    char text[128];

    (void)log_path;
    (void)timeout_s;
    for (long bytes = LEAST; bytes <= MOST; bytes *= 2) {
        double cost = cost_of(argv[7], bytes);
        bool bad = faulty == 0 || faulty == bytes;

        if (!bad || fault != NO_ROW) {
            snprintf(text, sizeof(text), "row %ld %g %g", bytes, cost, (double)bytes * 8 / cost);
            line(ctx, text);
        }
        snprintf(text, sizeof(text), "cpu %ld 1 %g 0 0 0", bytes, bad && fault == NO_CPU ? 0 : cost);
        line(ctx, text);
        if (bad && fault == NO_HIDDEN)
            snprintf(text, sizeof(text), "hidden %ld -nan", bytes);
        else
            snprintf(text, sizeof(text), "hidden %ld %g", bytes, 100 - 20 * cost);
        line(ctx, text);
    }
    return 0;
}

/* The rows of the table, "BYTES WAY,"; empty if none was written. */
static void tune(enum nof_channels_by by, char rows[TEXT_BYTES])
{
    char path[] = "/tmp/nof-channels-tune-XXXXXX", line[512], bytes[16], way[16];
    int fd = mkstemp(path);
    struct nof_channels_tune how = {.rounds = 2, .most_bytes = MOST, .ms = "1", .by = by, .output = path};
    struct nof_bench_report report;
    FILE *in;

    assert_true(fd >= 0);
    in = fdopen(fd, "r");
    assert_non_null(in);
    rows[0] = '\0';
    nof_bench_begin(&report, "test", false);
    bool good = nof_channels_tune(&report, &how);
    while (fgets(line, sizeof(line), in) != NULL)
        if (line[0] != '#' && strncmp(line, "machine ", 8) != 0 && sscanf(line, "%15s %15s", bytes, way) == 2)
            snprintf(rows + strlen(rows), TEXT_BYTES - strlen(rows), "%s %s,", bytes, way);
    (void)fclose(in);
    assert_int_equal(unlink(path), 0);
    assert_true(good == (rows[0] != '\0'));
}

#define ALL "128 shm,256 shm,512 single-copy,any single-copy,"

static void is(enum nof_channels_by by, const char *want)
{
    char rows[TEXT_BYTES];

    tune(by, rows);
    assert_string_equal(rows, want);
}

static void the_border_is_where_the_cost_is(void **state)
{
    (void)state;
    fault = NOTHING;
    is(NOF_CHANNELS_BY_SPEED, ALL);
    is(NOF_CHANNELS_BY_CPU, ALL);
    is(NOF_CHANNELS_BY_OVERLAP, ALL);
}

static void a_length_without_a_figure_has_no_say(void **state)
{
    (void)state;
    for (faulty = LEAST; faulty <= MOST; faulty *= 2) {
        if (faulty == 256 || faulty == 512) /* beside the border */
            continue;
        fault = NO_ROW;
        is(NOF_CHANNELS_BY_SPEED, ALL);
        fault = NO_CPU;
        is(NOF_CHANNELS_BY_CPU, ALL);
        fault = NO_HIDDEN;
        is(NOF_CHANNELS_BY_OVERLAP, ALL);
    }
}

static void without_any_figure_there_is_no_table(void **state)
{
    (void)state;
    faulty = 0;
    fault = NO_ROW;
    is(NOF_CHANNELS_BY_SPEED, "");
    fault = NO_CPU;
    is(NOF_CHANNELS_BY_CPU, "");
    fault = NO_HIDDEN;
    is(NOF_CHANNELS_BY_OVERLAP, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_border_is_where_the_cost_is),
        cmocka_unit_test(a_length_without_a_figure_has_no_say),
        cmocka_unit_test(without_any_figure_there_is_no_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
