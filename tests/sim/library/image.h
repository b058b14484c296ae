/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of an image (seam.h): what its parts know of each other. */
#ifndef NOF_SIM_LIBRARY_IMAGE_H
#define NOF_SIM_LIBRARY_IMAGE_H

#include "seam.h"

/* Of this process, from the first moment to the last. */
extern struct nof_seam *nof_image;

/* image_process.c: nothing of the process's heap is left. */
void nof_image_heap_clear(void);

/* image_program.c: MPI_Init, the steps, MPI_Finalize. */
void nof_image_program(void);

#endif
