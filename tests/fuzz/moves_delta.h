/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hosts write into their boards of delta sends: what is right, and whatever else. */
#ifndef NOF_TESTS_FUZZ_MOVES_DELTA_H
#define NOF_TESTS_FUZZ_MOVES_DELTA_H

#include "moves.h"

/* A slot of a record, perhaps none, and units of at least some size, perhaps none. */
uint32_t move_slot(uint8_t code);
uint32_t move_unit_log2(uint8_t code, uint64_t len);
/* The least size of a unit with which a message of len has at most 64, of codes from 224 on 256: inputs with thousands of
 * frames took most of the time. */
uint32_t move_least_log2(uint8_t code, uint64_t len);
/* Units are ready, or not any more; the message ends; words are anything: by MOVE_FLAGS. */
void move_board(struct nof_delta_host *board, const uint8_t rec[RECORD_BYTES]);

#endif
