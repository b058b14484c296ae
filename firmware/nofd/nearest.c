/* SPDX-License-Identifier: BSD-3-Clause */
#include "nearest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define CUT 63u

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned ab = a < b ? a : b;

    return ab < c ? ab : c;
}

unsigned nofd_edit_distance(const char *a, const char *b)
{
    unsigned row[CUT + 1];
    size_t la = strnlen(a, CUT);
    size_t lb = strnlen(b, CUT);

    for (unsigned j = 0; j <= lb; j++)
        row[j] = j;
    for (unsigned i = 1; i <= la; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= lb; j++) {
            unsigned above = row[j];
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);

            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (same ? 0u : 1u));
            diagonal = above;
        }
    }
    return row[lb];
}

const char *nofd_nearest(const char *wanted, const char *const *names, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = UINT_MAX;

    for (size_t i = 0; i < n; i++) {
        unsigned distance;

        if (names[i] == NULL)
            continue;
        distance = nofd_edit_distance(wanted, names[i]);
        if (distance < best_distance) {
            best_distance = distance;
            best = names[i];
        }
    }
    return best;
}
