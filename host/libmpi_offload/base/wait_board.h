/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank waits for, where `nof run` reads it (nof_private/board.h). Not before a call has taken a tenth of a
 * second: what is fast pays nothing. Under the library's lock. */
#ifndef NOF_MPI_WAIT_BOARD_H
#define NOF_MPI_WAIT_BOARD_H

#include <stdbool.h>

#include "nof_private/board.h"

extern struct nof_board_place *nof_board; /* NULL: nobody reads */
extern uint64_t nof_board_nap_ns; /* how long a sleep may last before we look up */

void nof_board_open(void);
/* Before close(). at: below NOF_BOARD_COUNTS. */
void nof_board_count(unsigned at, uint64_t value);
/* MPI_Finalize, or the process lives without MPI. */
void nof_board_close(void);

/* Before a sleep at `now_ns` in a wait of `call`, whose first was at *since_ns (0: this one): true if what is waited for
 * may be written now. end() follows, and clear() after the sleep. */
bool nof_board_begin(const char *call, uint64_t *since_ns, uint64_t now_ns);
void nof_board_name_comm(const char *name);
void nof_board_add_peer(int32_t peer); /* job rank or NOF_BOARD_ANY */
void nof_board_end(void);
void nof_board_clear(void);

#endif
