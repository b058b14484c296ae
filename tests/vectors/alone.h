/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transport alone: one NIC (10.0.0.2) with one established path, job 77, to a peer that is not there
 * (10.0.0.9). Tests put frames into it and look at what it does.
 *
 *   alone_open() -> alone_rx() ... -> alone_close() */
#ifndef NOF_TESTS_ALONE_H
#define NOF_TESTS_ALONE_H

#include "transport/state.h"

#define ALONE_FRAME_MAX 2048u
#define ALONE_JOB 77u
#define ALONE_CONN 0x1122334455660000u /* of the path, at our side */

struct alone {
    struct nof_transport *t;
    struct nof_path *path; /* NULL once it is dead */
    uint64_t counters[NOF_COUNTER_COUNT];
    uint64_t features[NOF_FEATURE_COUNT];
    struct nof_nic_config nic;
    void *mem;
    long frames; /* of the port, in the transport's hands */
    unsigned delivered;
    unsigned sends; /* calls of the port's send() */
    unsigned busy_every; /* of these, one in so many takes half; 0: none */
    uint8_t refused; /* frames of this type break the protocol; 0: none do */
};

extern const struct nof_packet_addr alone_self, alone_peer;

/* Fields that the caller may set before: features, nic.window_frames, busy_every, refused. */
void alone_open(struct alone *a, uint64_t now_ns);
void alone_rx(struct alone *a, uint64_t now_ns, const uint8_t *data, uint32_t len);
/* Returns how many frames of the port were lost. */
long alone_close(struct alone *a);

#endif
