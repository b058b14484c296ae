/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a process counts of its channels (library_counts.h). What its NIC sends by itself, as steps of collectives, and what is
 * multicast, is in the NIC's own counters alone. */
#ifndef NOF_PRIVATE_CHAN_COUNTS_H
#define NOF_PRIVATE_CHAN_COUNTS_H

/* X(ID, "name", "what is counted") */
#define NOF_CHAN_COUNTS(X) \
    X(NIC_SENDS, "nic_sends", "messages that were handed to the NIC, to ranks of this host or of others") \
    X(NIC_BYTES, "nic_bytes", "in them; of those in increments, that they may have at most") \
    X(MEMORY_SENDS, "memory_sends", "messages that went by memory to ranks of this host (NOF_CHANNELS)") \
    X(MEMORY_BYTES, "memory_bytes", "in them; of those in increments, that they may have at most") \
    X(MEMORY_SINGLE_COPIES, "memory_single_copies", \
      "messages that were read here out of their sender's memory") \
    X(MEMORY_BY_DEFAULT, "memory_by_default", \
      "messages longer than a slot whose way through memory their length chose, by the library's own " \
      "threshold") \
    X(MEMORY_BY_TABLE, "memory_by_table", "likewise, by a row of NOF_CHANNELS_TABLE") \
    X(MEMORY_AS_ASKED, "memory_as_asked", \
      "messages whose way through memory the job's channels or their communicator's chose: shm, " \
      "single-copy") \
    X(MEMORY_PIECES, "memory_pieces", "pieces that messages went in from here, as their receiver asked") \
    X(MEMORY_MOVED, "memory_moved", \
      "messages that their receivers were to read, and that were copied after all, as these did not come " \
      "soon")

enum nof_chan_count {
#define X(id, name, help) NOF_CHAN_COUNT_##id,
    NOF_CHAN_COUNTS(X)
#undef X
        NOF_CHAN_COUNT_MAX
};

#endif
