/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents: the arguments a datatype was made with, as MPI_Type_get_envelope and MPI_Type_get_contents
 * tell them.
 *
 *   new() -> int() number() addr() type(), in the order of the constructor's arguments -> nof_type_publish()
 *
 * A *number* and an *address* is an integer and an address where the constructor was the one with int
 * counts, and a large count where it was the one with MPI_Count (MPI 4.1, 5.1.13).
 *
 * Memory: one block, shared by reference count; a derived type is kept as an alias of its own, so that the
 * program's freeing of its handle is the end of what belongs to the handle. Threads: under the library's
 * lock. */
#ifndef NOF_MPI_TYPE_CONTENTS_H
#define NOF_MPI_TYPE_CONTENTS_H

#include "type/type.h"

struct nof_type_contents {
    uint32_t refs;
    int combiner;
    bool large;
    bool failed; /* an alias found no memory */
    size_t nints, naddrs, ncounts, ntypes; /* so far; at the end: all */
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    struct nof_type **types;
};

/* Room for so many of each. NULL: no memory. All calls below take NULL and do nothing. */
struct nof_type_contents *nof_type_contents_new(int combiner, bool large, size_t ints, size_t numbers,
                                                size_t addrs, size_t types);
void nof_type_contents_int(struct nof_type_contents *c, int value);
void nof_type_contents_number(struct nof_type_contents *c, MPI_Count value);
void nof_type_contents_addr(struct nof_type_contents *c, MPI_Count value);
void nof_type_contents_type(struct nof_type_contents *c, struct nof_type *type);

/* A derived type's alias with the same contents; a predefined one is itself. NULL: no memory. */
struct nof_type *nof_type_contents_alias(struct nof_type *type);

/* Of type_life.c. */
void nof_type_contents_release(struct nof_type_contents *c);

#endif
