/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof/counters.h"

const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT] = {
#define X(id, counter_name, counter_unit, text) [NOF_C_##id] = {counter_name, counter_unit, text},
    NOF_COUNTERS(X)
#undef X
};
