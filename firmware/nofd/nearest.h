/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What did you mean? The name with the smallest edit distance, for errors about unknown names. */
#ifndef NOFD_NEAREST_H
#define NOFD_NEAREST_H

#include <stddef.h>

/* Characters to insert, delete or replace to get from a to b, without case; both are cut after 63
 * characters. */
unsigned nofd_edit_distance(const char *a, const char *b);

/* The nearest of names[0..n), or NULL if n is 0. Names may be NULL (skipped). */
const char *nofd_nearest(const char *wanted, const char *const *names, size_t n);

#endif
