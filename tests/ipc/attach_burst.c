/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks of a job connect before the first of them is served, as they do on a busy machine: none is turned away. */
#include "hostile.h"

#define RANKS 100u

int main(int argc, char **argv)
{
    static const char *const args[] = {"--max-endpoints", "200", NULL};
    static struct intruder in[RANKS];
    struct hostile h;
    int fds[RANKS];

    hostile_start(&h, argc, argv, args);
    for (unsigned i = 0; i < RANKS; i++)
        fds[i] = hostile_connect(&h);
    hostile_pair_goes_on(&h, 10); /* nofd has accepted what it accepts */
    for (unsigned i = 0; i < RANKS; i++) {
        struct nof_attach_request request;

        hostile_request(&h, &request);
        check_equal(hostile_attach(&in[i], fds[i], &request, sizeof(request)), NOF_OK);
    }
    for (unsigned i = 0; i < RANKS; i++)
        hostile_leave(&in[i]);
    hostile_end(&h);
    return 0;
}
