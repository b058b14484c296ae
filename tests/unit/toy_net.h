/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Toy network for the transport's unit tests: several transports on one switch, under a virtual
 * clock and one seed. Each stream (source, destination) carries numbered frames whose bytes are
 * checked on arrival.
 *
 *   toy_open() -> toy_send()... -> toy_run() -> look at streams and counters -> toy_close()
 *
 * toy_close() fails the test if a frame of the pool is still held. Link model: each node has an
 * uplink and a switch port towards it, both of rate_bps; half of the delay on each. */
#ifndef NOF_TESTS_TOY_NET_H
#define NOF_TESTS_TOY_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"
#include "transport/wire.h"
#include "nof/core.h"

#define TOY_NODES_MAX 16u
#define TOY_KEY "0123456789abcdef"
#define TOY_JOB 77u
#define TOY_WIRE_EXTRA_BYTES 24u
#define TOY_SEEN 4096u
#define TOY_CUT 256u

struct toy_config {
    unsigned nodes;
    uint64_t seed;
    uint64_t rate_bps; /* 0: unlimited */
    bool one_address; /* cores of one NIC: only their UDP ports differ */
    int rate_hidden; /* the transports are not told the rate */
    uint64_t delay_ns; /* one way */
    uint64_t jitter_ns; /* on top, uniform, of those frames that `reorder` picks */
    uint32_t buffer_bytes; /* of a switch port; 0: endless */
    uint32_t net_mtu_bytes; /* IP datagrams that are longer vanish; 0: none */
    bool cuts; /* but go in fragments, and come whole, where "don't fragment" is not set */
    uint32_t mtu_bytes;
    double loss, duplicate, reorder, corrupt;
    unsigned tx_frames; /* the port takes at most this many at a time; 0: all */
    unsigned pool_frames; /* frames of one node's pool; 0: endless */
    uint32_t window_frames, sent_frames, reorder_frames, max_paths;
};

struct toy_stream { /* at node `node`: to and from the peer whose index it has there */
    struct toy_net *net;
    unsigned node;
    struct nof_path *path;
    int ups, deaths, reason;
    int refuse; /* on_frame() answers NOF_EPROTO */
    uint32_t body_bytes;
    uint64_t to_send, sent;
    uint64_t received, received_bytes;
};

struct toy_node {
    struct nof_transport *t;
    void *mem;
    struct nof_nic_config nic;
    uint64_t counters[NOF_COUNTER_COUNT];
    uint64_t features[NOF_FEATURE_COUNT];
    uint8_t key[16];
    int knows_job;
    int frozen; /* not scheduled: gets nothing, does nothing */
    uint32_t island; /* only nodes of one island hear each other */
    uint64_t tx_free_ns, out_free_ns;
    unsigned pool_used;
    uint64_t transports_started;
    struct {
        uint64_t conn;
        uint32_t pn, crc;
    } seen[TOY_SEEN]; /* a retransmission must be the identical frame */
    struct {
        uint32_t id, crc;
    } cut[TOY_CUT]; /* the last frames that routers may cut */
    struct toy_stream stream[TOY_NODES_MAX];
};

struct toy_net {
    struct toy_config cfg;
    uint64_t now_ns;
    uint64_t random;
    struct toy_node node[TOY_NODES_MAX];
    struct toy_event *events;
    unsigned nevents, events_cap;
    uint64_t order;
    uint64_t dropped_full, cut, steps;
    uint64_t digest; /* of every byte sent, in order */
    int deaf_from, deaf_to; /* frames of this node to that one vanish; -1: none */
};

struct toy_net *toy_open(const struct toy_config *cfg);
void toy_close(struct toy_net *net);
/* Queue `frames` frames of body_bytes (at least 16; 0: as long as the path takes) from src to dst. */
void toy_send(struct toy_net *net, unsigned src, unsigned dst, uint64_t frames, uint32_t body_bytes);
/* Until `until_ns`, or (stop_when_done) until every frame has arrived and nothing moves any more. */
void toy_run(struct toy_net *net, uint64_t until_ns, int stop_when_done);
bool toy_all_received(const struct toy_net *net);
struct nof_card toy_card(const struct toy_net *net, unsigned node);
uint64_t toy_random(struct toy_net *net);
/* Put raw bytes on the wire towards `dst`, arriving at once. */
void toy_inject(struct toy_net *net, unsigned dst, const uint8_t *data, uint32_t len_bytes);
/* The last frame that src handed to its port (copy). Returns its length. */
uint32_t toy_last_frame(const struct toy_net *net, uint8_t *data_out, uint32_t cap_bytes);
/* Exchange the NIC core of a node for a fresh one, as after a crash. */
void toy_restart(struct toy_net *net, unsigned node);

#endif
