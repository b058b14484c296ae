/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nof sim alltoall` and `nof bench mcast` have in common: numbers in their options, and the end of what they print. */
#ifndef NOF_SIM_ARGS_H
#define NOF_SIM_ARGS_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define NOF_SIM_LIST_MOST 16u

struct nof_sim_list {
    uint64_t value[NOF_SIM_LIST_MOST];
    unsigned count;
};

/* Each ends the program with a message that names the option, when the text is none. `bytes`: 64k is a number, too. */
uint64_t nof_sim_number(struct argp_state *state, const char *option, const char *text, bool bytes,
                        uint64_t low, uint64_t high);
void nof_sim_list(struct argp_state *state, const char *option, char *text, bool bytes, uint64_t low,
                  uint64_t high, struct nof_sim_list *list);
uint64_t nof_sim_rate(struct argp_state *state, const char *option, const char *text); /* bits per second */

/* One object with these rows; or, where rows are printed already, the digest. 0, or 1 where it cannot be written. */
int nof_sim_print_end(bool json, json_t *rows, uint32_t core_ns, uint32_t mtu_bytes, uint64_t digest);

#endif
