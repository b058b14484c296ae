/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The index of nothing: it ends lists of indices, and stands where an index is not known, or not there. All ones, so that
 * several can be asked at once: (a & b) != NOF_NIL. */
#ifndef NOF_NIL_H
#define NOF_NIL_H

#include <stdint.h>

#define NOF_NIL UINT32_MAX

#endif
