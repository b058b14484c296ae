/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a collective has waited: from when something came last, without the time in which this process or the NIC did not run,
 * and never less than nothing. */
#include "../check.h"
#include "coll/steps/waited.h"

#define MS 1000000ull

static void what_comes_begins_it_anew(void)
{
    struct nof_waited p = {0};
    nof_waited_look(&p, 10 * MS);
    check(nof_waited_ns(&p, 0, 10 * MS) == 0);
    nof_waited_look(&p, 30 * MS);
    check(nof_waited_ns(&p, 0, 30 * MS) == 20 * MS);
    p.moved = true;
    nof_waited_look(&p, 40 * MS);
    check(!p.moved && nof_waited_ns(&p, 0, 45 * MS) == 5 * MS);
}

static void time_without_the_nic_counts_once(void)
{
    struct nof_waited p = {.away_ms = UINT32_MAX - 3}; /* it wraps */
    nof_waited_look(&p, 10 * MS);
    check(nof_waited_ns(&p, UINT32_MAX - 3, 100 * MS) == 90 * MS);
    check(nof_waited_ns(&p, 36, 100 * MS) == 50 * MS);
    check(nof_waited_ns(&p, 36, 110 * MS) == 60 * MS);
    /* Away for longer than was waited: not at all, and from the present on it counts again. */
    check(nof_waited_ns(&p, 36 + 5000, 120 * MS) == 0);
    check(nof_waited_ns(&p, 36 + 5000, 125 * MS) == 5 * MS);
}

static void own_absence_is_nobodys_fault(void)
{
    struct nof_waited p = {0};
    nof_waited_excuse(&p, 7 * MS, 10 * MS); /* nobody has looked: nothing to excuse */
    check(p.since_ns == 0);
    nof_waited_look(&p, 10 * MS);
    nof_waited_excuse(&p, 30 * MS, 50 * MS);
    check(nof_waited_ns(&p, 0, 50 * MS) == 10 * MS);
    nof_waited_excuse(&p, 300 * MS, 60 * MS);
    check(nof_waited_ns(&p, 0, 60 * MS) == 0);
}

int main(void)
{
    what_comes_begins_it_anew();
    time_without_the_nic_counts_once();
    own_absence_is_nobodys_fault();
    return 0;
}
