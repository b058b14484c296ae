/* SPDX-License-Identifier: BSD-3-Clause */
#include "option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/units.h"

error_t nof_bench_option(int key, const char *arg, struct argp_state *state, bool *json)
{
    switch (key) {
    case 'j':
        *json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "nothing is expected after the options, but there is '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

unsigned nof_number_option(const char *arg, unsigned least, unsigned most, const char *name,
                           const struct argp_state *state)
{
    uint64_t value;

    if (nofd_units_number(arg, least, most, &value) != 0)
        argp_error(state, "%s=%s: it is a whole number from %u to %u", name, arg, least, most);
    return (unsigned)value;
}

double nof_real_option(const char *arg, double least, double most, const char *name,
                       const struct argp_state *state)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end != '\0' || !(value >= least && value <= most))
        argp_error(state, "%s=%s: it is a number from %g to %g", name, arg, least, most);
    return value;
}

void nof_ms_option(const char *arg, char *out, size_t size, const struct argp_state *state)
{
    char *end;

    if (strtod(arg, &end) <= 0 || *end != '\0' || strlen(arg) >= size)
        argp_error(state, "--ms=%s: milliseconds, more than 0", arg);
    snprintf(out, size, "%s", arg);
}

json_t *nof_bench_counters(const json_t *stats)
{
    json_t *sum = json_object();
    json_t *row;
    json_t *value;
    const char *name;
    size_t i;

    json_array_foreach(json_object_get(stats, "rows"), i, row)
    {
        json_object_foreach(json_object_get(row, "counters"), name, value)
        {
            json_int_t so_far = json_integer_value(json_object_get(sum, name));

            json_object_set_new(sum, name, json_integer(so_far + json_integer_value(value)));
        }
    }
    return sum;
}
