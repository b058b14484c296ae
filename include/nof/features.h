/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every feature that can be set while jobs run, once: code, `nof set`, `nof features`, control
 * socket and docs take them from here.
 * X(ID, "name", kind, default, min, max, "choices or unit", "what it does")
 * kind: BOOL (off|on), CHOICE (index into the |-separated choices), NUMBER.
 * Those that the core reads are set by nof_nic_feature_set(); those of idling and the like are nofd's alone, and the
 * core keeps their values without looking at them. */
#ifndef NOF_FEATURES_H
#define NOF_FEATURES_H

#include <stdint.h>

#define NOF_FEATURES(X) \
    X(EAGER_MAX, "eager_max_bytes", NUMBER, 16384, 0, 65536, "bytes", \
      "largest message that is sent without asking the receiver") \
    X(PACING, "pacing", BOOL, 1, 0, 1, "off|on", "spread frames over time to the link rate") \
    X(CONGESTION, "congestion", CHOICE, 1, 0, 1, "off|delay", \
      "off: fixed window; delay: window follows queueing delay and loss") \
    X(ACK_DELAY, "ack_delay_us", NUMBER, 50, 0, 25000, "us", "longest wait before a frame is acknowledged") \
    X(DEAD_AFTER, "dead_after_ms", NUMBER, 800, 10, 600000, "ms", \
      "silence after which a peer NIC is dead (at least five probes); our own link: two thirds of it") \
    X(STAGE_MAX, "stage_max_bytes", NUMBER, 8192, 0, 16384, "bytes", \
      "largest message delivered through the staging area rather than by DMA") \
    X(PREDICTION, "prediction", CHOICE, 0, 0, 5, "off|single-cycle|tag|tag-cycle|tag-bettercycle|auto", \
      "how the next receive calls of an endpoint are foretold") \
    X(LOOKAHEAD, "lookahead", NUMBER, 8, 1, 64, "receives", \
      "how many of the next receives are prepared for") \
    X(DECODE, "decode", CHOICE, 0, 0, 2, "auto|needed|arrival", \
      "when early messages that are compressed and not expected soon are decoded") \
    X(DEFERRED_BYTES, "deferred_bytes", NUMBER, 262144, 0, 67108864, "bytes", \
      "payload of one sender that may wait undecoded; what comes beyond that is decoded on arrival") \
    X(STAGE_BYTES, "stage_bytes", NUMBER, 262144, 0, 67108864, "bytes", \
      "most of an endpoint's staging area that messages may take before their receive") \
    X(EARLY_BYTES, "early_bytes", NUMBER, 1048576, 0, 67108864, "bytes", \
      "rendezvous payload of an endpoint that may be granted before its receive") \
    X(STAGE_POLICY, "stage_policy", CHOICE, 1, 0, 1, "bound-first|unbound-first", \
      "which lines of the staging area are replaced first: those that a receive has taken, or the others") \
    X(DRR_QUANTUM, "drr_quantum_bytes", NUMBER, 32768, 1500, 1048576, "bytes", \
      "share of the link an endpoint gets per round") \
    X(GRANT_BYTES, "grant_bytes", NUMBER, 28672, 0, 268435456, "bytes", \
      "rendezvous payload that senders of other NICs may have under way to this one before others must " \
      "wait; 0: " \
      "no bound") \
    X(GRANT_US, "grant_us", NUMBER, 50, 0, 10000, "us", \
      "grant_bytes is at least what the link carries in this time; of a link of unknown rate, 1 MiB") \
    X(COLL_PATIENCE, "coll_patience_ms", NUMBER, 0, 0, 86400000, "ms", \
      "a collective of which no message has ended for so long fails; 0: it waits") \
    X(COMPRESSION, "compression", CHOICE, 2, 0, 2, "off|on|adaptive", \
      "floating-point and integer payload is compressed on the wire; adaptive: where that is faster") \
    X(COMPRESSION_MIN, "compression_min_bytes", NUMBER, 1024, 64, 1073741824, "bytes", \
      "smallest message that is compressed") \
    X(COMPRESSION_TABLE, "compression_table_log2", NUMBER, 15, 8, 15, "log2", \
      "lines of 16 bytes of a predictor's table; counts for grants that come afterwards") \
    X(MULTICAST, "multicast", BOOL, 0, 0, 1, "off|on", "multicast groups may be opened") \
    X(IDLE, "idle", CHOICE, 0, 0, 3, "auto|busy|yield|sleep", "what the NIC core does without work") \
    X(SPIN, "spin_us", NUMBER, 50, 0, 1000000, "us", "idle=auto: poll this long before sleeping") \
    X(NAP, "nap_us", NUMBER, 50, 1, 10000, "us", \
      "longest nap while work is pending on a port that cannot wake us") \
    X(COLLECTIVES, "collectives", CHOICE, 1, 0, 1, "nic|host", "who goes through the steps of a collective") \
    X(CHANNELS, "channels", CHOICE, 1, 0, 3, "auto|nic|shm|single-copy", \
      "how messages between ranks of one host go, of jobs that begin from now on: each as is fastest, by " \
      "the NIC, " \
      "through memory that they share, or read by their receiver") \
    X(POLLING, "polling", CHOICE, 1, 0, 1, "static|dynamic", \
      "how often ranks that wait look at the NIC beside memory that they share with others; dynamic: by " \
      "what " \
      "came last") \
    X(POLL_RATIO, "poll_ratio", NUMBER, 50, 1, 1000, "looks", \
      "polling=static: looks at memory of which one goes with a look at the NIC; while waits begin, one of " \
      "half as many at most") \
    X(POLL_UPDATE, "poll_update", NUMBER, 10, 1, 1000, "messages", \
      "polling=dynamic: messages after which memory and the NIC are weighed anew") \
    X(LOG_LEVEL, "log_level", CHOICE, 2, 0, 4, "error|warning|notice|info|debug", \
      "what the daemon says; notice: links, features, its begin and end; info: ranks too")

enum nof_feature {
#define X(id, name, kind, def, min, max, choices, help) NOF_F_##id,
    NOF_FEATURES(X)
#undef X
        NOF_FEATURE_COUNT
};

enum nof_feature_kind { NOF_FEATURE_BOOL, NOF_FEATURE_CHOICE, NOF_FEATURE_NUMBER };

struct nof_feature_info {
    const char *name;
    enum nof_feature_kind kind;
    uint64_t initial, min, max;
    const char *choices; /* or the unit, for NUMBER */
    const char *help;
};

extern const struct nof_feature_info nof_feature_info[NOF_FEATURE_COUNT];

#endif
