/* SPDX-License-Identifier: BSD-3-Clause */
/* What is counted stands where the daemon reads it: all parts in their order and nothing behind them, when it is due, a last
 * time at the end, and nowhere where nobody reads. */
#include "../check.h"
#include "base/publish.h"

#define END 77u /* stands behind the last word */

static uint64_t first[2] = {1, 2}, second[3] = {3, 4, 5};
static const struct nof_publish_part parts[] = {{first, 2}, {second, 3}, {NULL, 0}};

static void says(const uint64_t *words, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    const uint64_t wanted[] = {a, b, c, d, e, END};
    for (int i = 0; i < 6; i++)
        check(words[i] == wanted[i]);
}

static void nobody_reads(void)
{
    check(nof_publish_due_ns == UINT64_MAX);
    nof_publish(1000);
    nof_publish_open(parts, NULL);
    nof_publish(1000);
    check(nof_publish_due_ns == UINT64_MAX);
    nof_publish_close();
}

int main(void)
{
    uint64_t words[6] = {0, 0, 0, 0, 0, END};
    nobody_reads();
    nof_publish_open(parts, words);
    check(nof_publish_due_ns == 0);
    says(words, 0, 0, 0, 0, 0);
    nof_publish(1000);
    says(words, 1, 2, 3, 4, 5);
    check(nof_publish_due_ns == 1000 + NOF_PUBLISH_NS);
    second[0] = 30;
    says(words, 1, 2, 3, 4, 5);
    nof_publish_close();
    says(words, 1, 2, 30, 4, 5);
    first[0] = 10;
    nof_publish(5000);
    says(words, 1, 2, 30, 4, 5);
    nobody_reads();
    return 0;
}
