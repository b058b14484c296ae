/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of the image (seam.h), one for each process that there is at a time. They are loaded once per worker and put
 * back to their first state for each seed: nothing that one process did is known to the next. */
#ifndef NOF_SIM_LIBRARY_COPIES_H
#define NOF_SIM_LIBRARY_COPIES_H

#include "seam.h"

/* Once, at the very start of a process that is going to load copies: may begin it anew. The library's variables of a
 * thread want room that the dynamic linker sets aside when a process starts, and a copy of each has more of them than it
 * expects. */
void nof_copies_prepare(void);

/* The n-th copy, as good as new; NULL with a sentence in text if it cannot be loaded. */
nof_image_main_fn *nof_copies_fresh(unsigned n, char *text, size_t text_bytes);

#endif
