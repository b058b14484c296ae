/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "delta_model.h"
#include "lib/report.h"

#define LEFT 60.0
#define TOP 20.0
#define WIDTH 560.0
#define HEIGHT 420.0
#define LEGEND 220.0
#define SPEEDUP_MOST 32.0
#define SPEEDUP_LEAST 0.5

static const char *const colours[NOF_DELTA_PATTERNS] = {"#777777", "#1f77b4", "#d62728", "#2ca02c"};

/* What is drawn: rows of one place and trigger, or what the model says. */
static const struct series {
    const char *where, *trigger, *value, *label, *dashes;
    bool points;
} series[] = {
    {"sim", "annotation", "speedup", "calls, virtual time", "", false},
    {"sim", "os", "speedup", "pages, virtual time", "8,4", false},
    {"sim", "annotation", "ideal", "model", "1,4", false},
    {"machine", "annotation", "speedup", "calls, this machine", "", true},
    {"machine", "os", "speedup", "pages, this machine", "", true},
};
#define SERIES (sizeof(series) / sizeof(series[0]))

static double x_of(double tasks)
{
    return LEFT + WIDTH * (log2(tasks) - 1) / (log2(NOF_DELTA_MODEL_TASKS_MAX) - 1);
}

static double y_of(double speedup)
{
    double held = fmin(fmax(speedup, SPEEDUP_LEAST), SPEEDUP_MOST);

    return TOP + HEIGHT * log2(SPEEDUP_MOST / held) / log2(SPEEDUP_MOST / SPEEDUP_LEAST);
}

static void draw_axes(FILE *f)
{
    for (unsigned n = 2; n <= NOF_DELTA_MODEL_TASKS_MAX; n *= 2)
        fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='middle'>%u</text>\n", x_of(n), TOP + HEIGHT + 18, n);
    for (double y = SPEEDUP_LEAST; y <= SPEEDUP_MOST; y *= 2)
        fprintf(f,
                "<path d='M%.1f %.1fh%.1f' stroke='#dddddd'/>\n"
                "<text x='%.1f' y='%.1f' text-anchor='end'>%g</text>\n",
                LEFT, y_of(y), WIDTH, LEFT - 6, y_of(y) + 4, y);
    fprintf(f,
            "<text x='%.1f' y='%.1f' text-anchor='middle'>tasks</text>\n"
            "<text transform='translate(16 %.1f) rotate(-90)' text-anchor='middle'>speedup</text>\n",
            LEFT + WIDTH / 2, TOP + HEIGHT + 36, TOP + HEIGHT / 2);
}

static bool is_of(const json_t *row, const struct series *s, unsigned pattern)
{
    return strcmp(json_string_value(json_object_get(row, "where")), s->where) == 0 &&
           strcmp(json_string_value(json_object_get(row, "trigger")), s->trigger) == 0 &&
           strcmp(json_string_value(json_object_get(row, "pattern")), nof_delta_pattern_name[pattern]) == 0;
}

static void draw_point(FILE *f, const struct series *s, const char *colour, double x, double y)
{
    if (strcmp(s->trigger, "os") == 0)
        fprintf(f, "<rect x='%.1f' y='%.1f' width='6' height='6' fill='none' stroke='%s'/>\n", x - 3, y - 3,
                colour);
    else
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='3.5' fill='%s'/>\n", x, y, colour);
}

/* Rows of one number of tasks come before those of more. */
static void draw_series(FILE *f, const json_t *rows, const struct series *s, unsigned pattern)
{
    const json_t *row;
    size_t i;
    const char *begin = "M";

    if (!s->points)
        fprintf(f, "<path fill='none' stroke='%s' stroke-width='1.5' stroke-dasharray='%s' d='",
                colours[pattern], s->dashes[0] == '\0' ? "none" : s->dashes);
    json_array_foreach(rows, i, row)
    {
        double x = x_of(nof_bench_real(row, "tasks")), y = y_of(nof_bench_real(row, s->value));

        if (!is_of(row, s, pattern))
            continue;
        if (s->points) {
            draw_point(f, s, colours[pattern], x, y);
            continue;
        }
        fprintf(f, "%s%.1f %.1f", begin, x, y);
        begin = "L";
    }
    if (!s->points)
        fprintf(f, "'/>\n");
}

static void draw_legend(FILE *f)
{
    double x = LEFT + WIDTH + 20, y = TOP + 10;

    for (unsigned p = 0; p < NOF_DELTA_PATTERNS; p++, y += 20)
        fprintf(
            f, "<rect x='%.1f' y='%.1f' width='30' height='4' fill='%s'/><text x='%.1f' y='%.1f'>%s</text>\n",
            x, y - 6, colours[p], x + 38, y, nof_delta_pattern_name[p]);
    for (size_t i = 0; i < SERIES; i++, y += 20) {
        if (series[i].points)
            draw_point(f, &series[i], "#000000", x + 15, y - 4);
        else
            fprintf(f, "<path d='M%.1f %.1fh30' stroke='#000000' stroke-width='1.5' stroke-dasharray='%s'/>",
                    x, y - 4, series[i].dashes[0] == '\0' ? "none" : series[i].dashes);
        fprintf(f, "<text x='%.1f' y='%.1f'>%s</text>\n", x + 38, y, series[i].label);
    }
}

bool nof_delta_plot(const json_t *rows, const char *path)
{
    FILE *f = fopen(path, "w");

    if (f == NULL)
        return false;
    fprintf(f,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' font-family='sans-serif' "
            "font-size='13'>\n<rect width='100%%' height='100%%' fill='#ffffff'/>\n",
            LEFT + WIDTH + LEGEND, TOP + HEIGHT + 50);
    draw_axes(f);
    for (unsigned pattern = 0; pattern < NOF_DELTA_PATTERNS; pattern++)
        for (size_t i = 0; i < SERIES; i++)
            draw_series(f, rows, &series[i], pattern);
    draw_legend(f);
    fprintf(f, "</svg>\n");
    bool written = ferror(f) == 0;
    return fclose(f) == 0 && written;
}
