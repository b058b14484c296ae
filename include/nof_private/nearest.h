/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What did you mean? For errors about unknown names; nofd and the nof command ask alike (common/nearest.c).
 * Thread-safe, no state. */
#ifndef NOF_PRIVATE_NEAREST_H
#define NOF_PRIVATE_NEAREST_H

#include <stddef.h>

/* The one of names[0..n) that `word` may have been meant for, or NULL when none is near: most of a word must be
 * right, but for case and swapped neighbours; the beginning of a name is near to it. */
const char *nof_nearest(const char *word, const char *const *names, size_t n);

/* The same for a word that need not have been meant for any: of four letters at least, of which one is wrong, missing or too
 * much, two from six on; the beginning of a name is not near to it. */
const char *nof_nearest_slip(const char *word, const char *const *names, size_t n);

/* "; did you mean \"pacing\"?", or "" when none is near. */
void nof_nearest_ask(const char *word, const char *const *names, size_t n, char *text, size_t text_bytes);

#endif
