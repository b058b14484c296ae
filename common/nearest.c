/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "Did you mean ...?": edit distance with transpositions, over short names. */
#include "nof_private/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 64

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;

    return least < c ? least : c;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment distance; UINT_MAX for words that are not names. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[3][WORD_MAX + 1];
    size_t alen = strlen(a);
    size_t blen = strlen(b);

    if (alen > WORD_MAX || blen > WORD_MAX)
        return UINT_MAX;
    for (size_t j = 0; j <= blen; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= alen; i++) {
        unsigned *now = row[i % 3];
        const unsigned *last = row[(i - 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= blen; j++) {
            unsigned differs = !same(a[i - 1], b[j - 1]);

            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + differs);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                unsigned swapped = row[(i - 2) % 3][j - 2] + 1;

                if (swapped < now[j])
                    now[j] = swapped;
            }
        }
    }
    return row[alen % 3][blen];
}

static const char *nearest(const char *word, const char *const *names, size_t n, unsigned limit,
                           bool beginnings)
{
    const char *best = NULL;
    unsigned best_distance = UINT_MAX;

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(word, names[i]);

        if (beginnings && word[0] != '\0' && strncasecmp(word, names[i], strlen(word)) == 0)
            d = 0;
        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best_distance <= limit ? best : NULL;
}

/* A third of the word may be wrong, and a word that begins a name is near whatever its length. */
const char *nof_nearest(const char *word, const char *const *names, size_t n)
{
    return nearest(word, names, n, (unsigned)strlen(word) / 3 + 1, true);
}

const char *nof_nearest_slip(const char *word, const char *const *names, size_t n)
{
    size_t len = strlen(word);

    return len < 4 ? NULL : nearest(word, names, n, len < 6 ? 1 : 2, false);
}

void nof_nearest_ask(const char *word, const char *const *names, size_t n, char *text, size_t text_bytes)
{
    const char *near = nof_nearest(word, names, n);

    text[0] = '\0';
    if (near != NULL)
        snprintf(text, text_bytes, "; did you mean \"%s\"?", near);
}
