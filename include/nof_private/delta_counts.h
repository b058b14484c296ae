/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process counts of its delta messages (library_counts.h); delta.* are its NIC's. */
#ifndef NOF_PRIVATE_DELTA_COUNTS_H
#define NOF_PRIVATE_DELTA_COUNTS_H

/* X(ID, "name", "what is counted") */
#define NOF_DELTA_COUNTS(X) \
    X(SENDS, "delta_sends", "sends in increments that were begun, rounds of partitioned ones included") \
    X(SENDS_PLAIN, "delta_sends_plain", \
      "of those, sent whole at their end: all places were taken, or the NIC had no room") \
    X(INCREMENTS, "delta_increments", \
      "times that the NIC was told that more is ready; it merges them into delta.runs") \
    X(EARLY_BYTES, "delta_early_bytes", \
      "in whole units, that were said to be ready before the end of their send") \
    X(RECEIVES, "delta_receives", "receives that were to be used before all of them had come") \
    X(RECEIVES_PLAIN, "delta_receives_plain", \
      "of those, there as a whole: all places were taken, or the NIC had no room or the message already") \
    X(FAULTS, "delta_faults", "accesses to watched pages that told of an increment, or waited for one") \
    X(COPIED_BYTES, "delta_copied_bytes", \
      "that this process copied itself: of buffers that share a page with other data, and of datatypes " \
      "with " \
      "gaps")

enum nof_delta_count {
#define X(id, name, help) NOF_DELTA_COUNT_##id,
    NOF_DELTA_COUNTS(X)
#undef X
        NOF_DELTA_COUNT_MAX
};

#endif
