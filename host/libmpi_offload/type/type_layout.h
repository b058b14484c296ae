/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of datatypes (nof/layout.h): what the NIC walks when it streams a non-contiguous message out of or
 * into the program's memory. Threads: any; the type does not change. */
#ifndef NOF_MPI_TYPE_LAYOUT_H
#define NOF_MPI_TYPE_LAYOUT_H

#include "nof/layout.h"
#include "type/type.h"

/* Write the layout into `out` (8-byte aligned). Returns its bytes; 0: it is empty, or has more ops or nested
 * loops than a layout may have, or than room_bytes hold. */
size_t nof_type_layout(const struct nof_type *type, void *out, size_t room_bytes);

/* What the codec makes of its elements: enum nof_elem. */
uint8_t nof_type_elem(const struct nof_type *type);

/* Mean length of the pieces that one element falls into, in bytes. */
size_t nof_type_piece_bytes(const struct nof_type *type);

#endif
