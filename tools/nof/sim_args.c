/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nof_private/units.h"

#define RATE_LEAST_BPS 1000000u

uint64_t nof_sim_number(struct argp_state *state, const char *option, const char *text, bool bytes,
                        uint64_t low, uint64_t high)
{
    uint64_t value = 0;
    int rc = bytes ? nofd_units_bytes(text, &value) : nofd_units_number(text, low, high, &value);
    if (rc != 0 || value < low || value > high)
        argp_error(state, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, option, text, low, high);
    return value;
}

void nof_sim_list(struct argp_state *state, const char *option, char *text, bool bytes, uint64_t low,
                  uint64_t high, struct nof_sim_list *list)
{
    list->count = 0;
    for (char *save, *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
        if (list->count == NOF_SIM_LIST_MOST)
            argp_error(state, "%s: at most %u of them", option, NOF_SIM_LIST_MOST);
        list->value[list->count++] = nof_sim_number(state, option, word, bytes, low, high);
    }
    if (list->count == 0)
        argp_error(state, "%s: a list of numbers is missing", option);
}

uint64_t nof_sim_rate(struct argp_state *state, const char *option, const char *text)
{
    uint64_t rate_bps = 0;
    if (nofd_units_rate(text, &rate_bps) != 0 || rate_bps < RATE_LEAST_BPS)
        argp_error(state, "%s: '%s' is no rate from 1mbit on, such as 100gbit", option, text);
    return rate_bps;
}

int nof_sim_print_end(bool json, json_t *rows, uint32_t core_ns, uint32_t mtu_bytes, uint64_t digest)
{
    char text[17];
    snprintf(text, sizeof(text), "%016" PRIx64, digest);
    if (!json)
        return printf("digest %s\n", text) < 0;
    json_t *all = json_pack("{s:O,s:i,s:i,s:s}", "rows", rows, "core_ns", (int)core_ns, "mtu_bytes",
                            (int)mtu_bytes, "digest", text);
    int status = all == NULL || json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0;
    json_decref(all);
    putchar('\n');
    return status;
}
