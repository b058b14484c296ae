/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank does, from the bytes of a record: descriptors of every kind, with handles, cookies and layouts that are
 * alive. A record of fuzz-core and fuzz-host has RECORD_BYTES bytes; the first says what kind it is. */
#ifndef NOF_TESTS_FUZZ_MOVES_H
#define NOF_TESTS_FUZZ_MOVES_H

#include "guard.h"

#define RECORD_BYTES 16u
#define RECORDS_MAX 96u /* of one input */
#define INNOCENT_DELTA 240u /* least byte 3 of a record of job B that is about a delta message */
#define MOVES_GROUP_CTX 3u /* of the first of GUARD_GROUPS multicast groups */

/* Where in a record; the rest is up to its kind. */
enum move_byte {
    MOVE_WHAT = 1,
    MOVE_PEER,
    MOVE_TAG,
    MOVE_LEN,
    MOVE_FLAGS,
    MOVE_LAYOUT,
    MOVE_HANDLE,
    MOVE_SITE,
    MOVE_TARGET,
    MOVE_ELEM,
    MOVE_WILD, /* fuzz-host: 0: as it is; else what follows is done to it */
    MOVE_AT,
    MOVE_VALUE,
    MOVE_AT2,
    MOVE_VALUE2,
};

uint64_t move_len(uint8_t code);
/* The rank submits what the record says, if it can now. `wild`: the bytes MOVE_WILD and on change the descriptor, which
 * may be anything then. */
void move(struct guard *g, unsigned rank, const uint8_t rec[RECORD_BYTES], int wild);

#endif
