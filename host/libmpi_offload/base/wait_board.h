/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank waits for, where `nof run` reads it (nof_private/board.h). Not before a call has taken a tenth of a
 * second: what is fast pays nothing. Under the library's lock. */
#ifndef NOF_MPI_WAIT_BOARD_H
#define NOF_MPI_WAIT_BOARD_H

#include "nof_private/board.h"
#include "base/progress.h"

extern struct nof_board_place *nof_board; /* NULL: nobody reads */
extern uint64_t nof_board_nap_ns; /* how long a sleep may last before we look up */

void nof_board_open(void);
/* MPI_Finalize, or the process lives without MPI. */
void nof_board_close(void);

/* Before a sleep at `now_ns`: true if it is on the board now; then clear() follows. */
bool nof_board_tell(struct nof_wait *wait, uint64_t now_ns);
void nof_board_clear(void);

#endif
