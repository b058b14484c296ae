/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta_print.h"

#include <stdio.h>

#include "lib/report.h"

struct text {
    char text[16];
};

static struct text pages_text(const json_t *row)
{
    double pages = nof_bench_real(row, "delta_pages");
    struct text t;

    if (pages == 0)
        snprintf(t.text, sizeof(t.text), "auto");
    else
        snprintf(t.text, sizeof(t.text), "%.0f", pages);
    return t;
}

void nof_delta_print_rows(const json_t *rows, bool sweep)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        printf("%-8s", json_string_value(json_object_get(row, "where")));
        if (sweep)
            printf("%8.0f bytes %4s pages", nof_bench_real(row, "bytes"), pages_text(row).text);
        else
            printf("%-8s %3.0f tasks  x%-3.0f", json_string_value(json_object_get(row, "pattern")),
                   nof_bench_real(row, "tasks"), nof_bench_real(row, "scale"));
        printf("  %-10s %9s %9.2f %9.2f ms %6.2f", json_string_value(json_object_get(row, "trigger")),
               nof_bench_cell(NULL, NULL, nof_bench_real(row, "blocking_s") * 1e3, 2).text,
               nof_bench_real(row, "nonblocking_s") * 1e3, nof_bench_real(row, "increments_s") * 1e3,
               nof_bench_real(row, "speedup"));
        if (json_object_get(row, "ideal") != NULL)
            printf(" of %5.2f", nof_bench_real(row, "ideal"));
        if (json_object_get(row, "adaptive_speedup") != NULL)
            printf(" adaptive %6.2f", nof_bench_real(row, "adaptive_speedup"));
        putchar('\n');
    }
}

void nof_delta_print_kernels(const json_t *rows)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) printf(
        "%-8s%-8s %3.0f tasks  x%-3.0f %6.0f bytes %9.2f ms; overlapped by hand %5.2f, os %5.2f, annotation "
        "%5.2f\n",
        json_string_value(json_object_get(row, "where")), json_string_value(json_object_get(row, "name")),
        nof_bench_real(row, "tasks"), nof_bench_real(row, "scale"), nof_bench_real(row, "delta_bytes"),
        nof_bench_real(row, "original_s") * 1e3, nof_bench_real(row, "hand_overlapped"),
        nof_bench_real(row, "os"), nof_bench_real(row, "annotation"));
}
