/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts what is between begin and end: included before every file of the test that calls the core (-include), and
 * wraps those calls. */
#ifndef NOF_TESTS_TURNS_H
#define NOF_TESTS_TURNS_H

#include "nof/core.h"

void turn_begin(void);
void turn_end(const char *call);

#define TURN(name, ...) \
    do { \
        turn_begin(); \
        name(__VA_ARGS__); \
        turn_end(#name); \
    } while (0)

#define nof_nic_host(...) TURN(nof_nic_host, __VA_ARGS__)
#define nof_nic_rx(...) TURN(nof_nic_rx, __VA_ARGS__)
#define nof_nic_dma_done(...) TURN(nof_nic_dma_done, __VA_ARGS__)
#define nof_nic_poll(...) TURN(nof_nic_poll, __VA_ARGS__)
#define nof_nic_endpoint_close(...) TURN(nof_nic_endpoint_close, __VA_ARGS__)

#endif
