/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI promises about a program that has come to its end:
 *
 *   1. every message that was started and not taken back was received, once, by a receive that wanted it
 *   2. of the messages of one sender that a receive fits, it got the first that no receive before it took
 *   3. what came is what was sent: length, bytes, the error of a buffer that is too short
 *   4. a synchronous send ended no sooner than its receive began */
#ifndef NOF_SIM_LIBRARY_ORACLE_H
#define NOF_SIM_LIBRARY_ORACLE_H

#include "cluster.h"
#include "program.h"

/* Breaks of these rules go to nof_cluster_fail(). */
void nof_oracle_judge(struct nof_cluster *c, const struct nof_program *p);
/* Where a program that does not end stands, in words. */
void nof_oracle_stuck(const struct nof_program *p, unsigned rank, char *text, size_t bytes);

#endif
