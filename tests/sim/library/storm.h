/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs, drawn: every one ends under any MPI that keeps the standard's promises, however slow its network and
 * however small its buffers. */
#ifndef NOF_SIM_LIBRARY_STORM_H
#define NOF_SIM_LIBRARY_STORM_H

#include "program.h"
#include "rng.h"

/* A program for so many ranks. Freed by nof_storm_free(). */
struct nof_program *nof_storm_draw(struct nof_rng *r, unsigned nranks);
/* Collectives of processes some of which are killed. */
struct nof_program *nof_storm_draw_mortal(struct nof_rng *r, unsigned nranks);
void nof_storm_free(struct nof_program *p);

#endif
