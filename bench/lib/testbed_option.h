/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options of benches of collectives: the network of a testbed, lists of sizes and of numbers. What is wrong ends the bench
 * with a sentence (argp_error). */
#ifndef NOF_BENCH_TESTBED_OPTION_H
#define NOF_BENCH_TESTBED_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "option.h"
#include "testbed.h"

enum { NOF_OPTION_HOSTS = 512, NOF_OPTION_LINK, NOF_OPTION_BUFFER, NOF_OPTION_MTU };

/* For the table of options; the defaults are those of NOF_TESTBED_DEFAULT. */
/* clang-format off */
#define NOF_TESTBED_OPTIONS \
    {"hosts", NOF_OPTION_HOSTS, "N", 0, "hosts, 2 to 32 (16)", 0}, \
    NOF_TESTBED_LINK_OPTIONS
#define NOF_TESTBED_LINK_OPTIONS \
    {"link", NOF_OPTION_LINK, "RATE", 0, "rate of their links (100mbit)", 0}, \
    {"buffer", NOF_OPTION_BUFFER, "SIZE", 0, "of the switch towards each host (60kB)", 0}, \
    {"mtu", NOF_OPTION_MTU, "BYTES", 0, "IP MTU (1500)", 0}
#define NOF_TESTBED_DEFAULT \
    {.hosts = 16, .ranks_per_host = 1, .rate_bps = 100000000, .buffer_bytes = 60000, .mtu_bytes = 1500}
/* clang-format on */

/* The default of a bench's parser: one of those, or of all benches (option.h). */
error_t nof_testbed_option(int key, char *arg, struct argp_state *state, struct nof_testbed_config *config,
                           bool *json);

/* "64,1k" of 1 to 16M each, at most `most`: how many. */
unsigned nof_sizes_option(const char *text, uint64_t *sizes, unsigned most, const struct argp_state *state);
/* "4,8,16", of least to most each, at most `room` different ones: how many. */
unsigned nof_numbers_option(const char *text, unsigned least, unsigned most, unsigned *numbers, unsigned room,
                            const char *what, const struct argp_state *state);
/* "nic" or "host". */
const char *nof_driver_option(const char *arg, const struct argp_state *state);

#endif
