/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The variables NOF_... of the environment that a program of the project reads, so that one that is misspelt can be told. Others
 * of that beginning may be anybody's: nothing is said of them (common/known_env.c).
 * Threads: as getenv(). */
#ifndef NOF_PRIVATE_KNOWN_ENV_H
#define NOF_PRIVATE_KNOWN_ENV_H

/* Set by a program that has said it, for those that it starts: they say nothing. */
#define NOF_ENV_TOLD "NOF_ENV_TOLD"

/* Say of each variable that is set to something, is none of ours, and is nearly the name of one of ours:
 * "libmpi_offload: NOF_CHANELS is set, which is no variable of nof's; did you mean NOF_CHANNELS?". On stderr, a line each. */
void nof_known_env_check(const char *self);

#endif
