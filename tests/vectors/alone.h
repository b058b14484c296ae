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
#define ALONE_PATHS 4u
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
    bool no_frames; /* the port's pool is empty */
    bool stuck; /* the port takes nothing */
    unsigned ready; /* calls of on_ready() */
    struct nof_path *ready_path; /* the last of them */
    unsigned deaths; /* calls of on_dead() */
    int reason; /* the last of them */
    unsigned sent; /* frames that the port took */
    uint64_t conn[NOF_PORT_CONN_DEAD + ALONE_PATHS]; /* what the port was told */
    uint32_t last_bytes; /* the last of them */
    uint8_t last[ALONE_FRAME_MAX];
};

extern const struct nof_packet_addr alone_self, alone_peer;

/* One more path, to NIC `peer_nic` at alone_peer, as if its handshake had gone before. */
struct nof_path *alone_path(struct alone *a, uint64_t peer_nic);

/* Fields that the caller may set before: features, nic.window_frames, nic.link_rate_bps, and what the port and the
 * layer above are to do. */
void alone_open(struct alone *a, uint64_t now_ns);
/* A frame of the peer on the established path arrives: fields and payload are `body`. */
void alone_peer_says(struct alone *a, uint64_t now_ns, const struct nof_packet_fill *fill, const void *body,
                     uint32_t body_bytes);
/* The same of a frame that a router has marked (RFC 3168). */
void alone_peer_says_marked(struct alone *a, uint64_t now_ns, const struct nof_packet_fill *fill,
                            const void *body, uint32_t body_bytes);
void alone_rx(struct alone *a, uint64_t now_ns, const uint8_t *data, uint32_t len);
/* Returns how many frames of the port were lost. */
long alone_close(struct alone *a);

#endif
