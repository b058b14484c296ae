/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_count.h"

uint64_t nof_delta_counted[NOF_DELTA_COUNT_MAX];
