/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The heap of simulated processes. Where in it a buffer lies hangs on what they have asked for, and on nothing else: the library
 * compares addresses, and a seed is to be the same run whatever ran before it.
 *
 *   nof_heap_begin() -> alloc, release ...     begin() again: all is free */
#ifndef NOF_SIM_LIBRARY_HEAP_H
#define NOF_SIM_LIBRARY_HEAP_H

#include <stddef.h>

#define NOF_HEAP_CLASSES 36u

struct nof_heap {
    char *
        memory; /* mapped by the first begin(), and kept. NULL: malloc() has the heap, with a sanitizer, or where addresses are short */
    size_t used;
    void *freed[NOF_HEAP_CLASSES]; /* by the power of two that they have bytes for */
};

void nof_heap_begin(struct nof_heap *h);
/* Aligned to 16 bytes, filled with what is no pointer and no small number. NULL: it is full. */
void *nof_heap_alloc(struct nof_heap *h, size_t bytes);
/* NULL is fine. */
void nof_heap_release(struct nof_heap *h, void *mem);

#endif
