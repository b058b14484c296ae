/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta_model.h"

#include <math.h>

const char *const nof_delta_pattern_name[NOF_DELTA_PATTERNS] = {"pair", "cascade", "ring", "reduce"};

static double cascade(const struct nof_delta_model *m, double tasks)
{
    double blocking_us = m->pages * (tasks * m->page_us + (tasks - 1) * m->wire_us);
    double first_us = m->delta_pages * (tasks * m->page_us + (tasks - 1) * m->wire_us);

    return blocking_us / (first_us + (m->pages - m->delta_pages) * fmax(m->page_us, m->wire_us));
}

static double ring(const struct nof_delta_model *m)
{
    double whole_us = m->rounds * m->pages * (m->page_us + m->wire_us);
    double delta_us =
        m->rounds * m->pages * fmax(m->page_us, m->wire_us) + m->delta_pages * fmin(m->page_us, m->wire_us);

    return whole_us / delta_us;
}

/* When the first increment of task t has its children's in it: their links end in one, which takes first who comes first. */
static double first_sum_us(const struct nof_delta_model *m, const double *first_us, unsigned t,
                           unsigned tasks)
{
    unsigned early = 2 * t + 1, late = 2 * t + 2;
    double link_us = m->delta_pages * m->wire_us;

    if (early >= tasks)
        return m->delta_pages * m->page_us;
    if (late >= tasks)
        return first_us[early] + link_us;
    return fmax(fmin(first_us[early], first_us[late]) + link_us, fmax(first_us[early], first_us[late])) +
           link_us;
}

static double reduce(const struct nof_delta_model *m, unsigned tasks)
{
    double whole_us[NOF_DELTA_MODEL_TASKS_MAX] = {0}, first_us[NOF_DELTA_MODEL_TASKS_MAX] = {0};

    for (unsigned t = tasks; t-- > 0;) {
        whole_us[t] = m->pages * m->page_us;
        for (unsigned child = 2 * t + 1; child <= 2 * t + 2 && child < tasks; child++)
            whole_us[t] = fmax(whole_us[t], whole_us[child]) + m->pages * m->wire_us;
        first_us[t] = first_sum_us(m, first_us, t, tasks);
    }
    return whole_us[0] /
           (first_us[0] + (m->pages - m->delta_pages) * fmax(m->page_us, (tasks > 2 ? 2 : 1) * m->wire_us));
}

double nof_delta_ideal(const struct nof_delta_model *model, enum nof_delta_pattern pattern, unsigned tasks)
{
    struct nof_delta_model m = *model;

    m.delta_pages = fmin(m.delta_pages, m.pages);
    switch (pattern) {
    case NOF_DELTA_RING:
        return ring(&m);
    case NOF_DELTA_REDUCE:
        return reduce(&m, tasks);
    case NOF_DELTA_PAIR:
        return cascade(&m, 2);
    case NOF_DELTA_CASCADE:
    case NOF_DELTA_PATTERNS:
    default:
        return cascade(&m, tasks);
    }
}
