/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which limit of the process is the likely reason of a failure. Any thread. */
#ifndef NOFD_LIMITS_H
#define NOFD_LIMITS_H

/* " (...: raise ulimit -X)" to append to a sentence, or "" when none is known. why: an errno; ENOMEM where it was
 * memory. Static storage. */
const char *nofd_limits_hint(int why);

#endif
