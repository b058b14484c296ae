/* SPDX-License-Identifier: BSD-3-Clause */
#include "option.h"

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
