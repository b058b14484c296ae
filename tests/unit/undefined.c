/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program with undefined behaviour: built with the sanitizer of that it must not come to its end, whatever the
 * environment says. */
#include <limits.h>
#include <stdio.h>

int main(void)
{
    volatile int most = INT_MAX;

    most = most + 1;
    printf("it goes on with %d\n", most);
    return 0;
}
