/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a thread copies now, so that another one can tell when a copy does not end:
 *
 *   who copies:  nofd_busy_begin() -> process_vm_* -> nofd_busy_end()
 *   who looks:   nofd_look_overdue(), again and again
 *
 * The looks are counted, not the clock: a daemon that was stopped or starved owes nothing.
 *
 * Threads: begin and end on the thread that copies, a look on one other. */
#ifndef NOFD_BUSY_H
#define NOFD_BUSY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NOFD_LOOKS 10u /* that find the same copy under way: then it is overdue */

/* Both words cross. */
struct nofd_busy {
    uint64_t whom; /* pid and rank; 0: nothing */
    uint32_t copies; /* begun so far */
};

struct nofd_look {
    uint32_t copies;
    unsigned same; /* looks that found this copy under way */
};

static inline void nofd_busy_begin(struct nofd_busy *busy, pid_t pid, uint32_t rank)
{
    __atomic_store_n(&busy->copies, busy->copies + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&busy->whom, (uint64_t)(uint32_t)pid << 32 | rank, __ATOMIC_RELEASE);
}

static inline void nofd_busy_end(struct nofd_busy *busy)
{
    __atomic_store_n(&busy->whom, 0, __ATOMIC_RELAXED);
}

/* True once per copy: when it has lasted for NOFD_LOOKS looks after the first; then with its process and rank. */
static inline bool nofd_look_overdue(struct nofd_look *look, const struct nofd_busy *busy, pid_t *pid_out,
                                     uint32_t *rank_out)
{
    uint64_t whom = __atomic_load_n(&busy->whom, __ATOMIC_ACQUIRE);
    uint32_t copies = __atomic_load_n(&busy->copies, __ATOMIC_RELAXED);

    if (whom == 0 || copies != look->copies)
        look->same = 0;
    look->copies = copies;
    if (whom == 0 || look->same > NOFD_LOOKS || ++look->same <= NOFD_LOOKS)
        return false;
    *pid_out = (pid_t)(whom >> 32);
    *rank_out = (uint32_t)whom;
    return true;
}

#endif
