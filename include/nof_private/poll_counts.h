/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process counts of its wait loop (library_counts.h). */
#ifndef NOF_PRIVATE_POLL_COUNTS_H
#define NOF_PRIVATE_POLL_COUNTS_H

/* X(ID, "name", "what is counted") */
#define NOF_POLL_COUNTS(X) \
    X(NEAR, "polls_memory", \
      "looks for messages by memory, while a call waits or a program asks; in a job that has none, 0") \
    X(FAR, "polls_nic", "looks for what the NIC has completed, likewise") \
    X(UPDATES, "polling_updates", "times that polling=dynamic has weighed memory against the NIC anew")

enum nof_poll_count {
#define X(id, name, help) NOF_POLL_COUNT_##id,
    NOF_POLL_COUNTS(X)
#undef X
        NOF_POLL_COUNT_MAX
};

#endif
