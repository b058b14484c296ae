/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The full fence: the only one in the tree. It is there for the wait protocols (nof/bar.h, "Waiting"): who sets its asleep
 * word, or puts something into a queue, passes it before it looks at the other side's word.
 *
 *   sleeper:  asleep = 1;  nof_fence_full();  look at the queue;  sleep
 *   waker:    put into the queue;  nof_fence_full();  if (asleep) wake
 *
 * Without it both loads may pass both stores, and the sleeper sleeps on a full queue. */
#ifndef NOF_PRIVATE_FENCE_H
#define NOF_PRIVATE_FENCE_H

#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define NOF_FENCE_BY_RMW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NOF_FENCE_BY_RMW 1
#endif
#endif

static inline void nof_fence_full(void)
{
#ifdef NOF_FENCE_BY_RMW
    /* ThreadSanitizer does not know bare fences. */
    static uint32_t word;

    (void)__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
