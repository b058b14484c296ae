/* SPDX-License-Identifier: BSD-3-Clause */
#include "option.h"

#include <stdio.h>

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

bool nof_bench_end(json_t *result, json_t *skipped, bool json)
{
    bool all = json_object_size(skipped) == 0;

    if (all)
        json_decref(skipped);
    else
        json_object_set_new(result, "skipped", skipped);
    if (json) {
        json_dumpf(result, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(result);
    return all;
}
