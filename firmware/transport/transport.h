/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transport: paths between NIC cores, each reliable and in order (docs/WIRE.md). Knows
 * frames, time and job keys; knows nothing of messages or endpoints: the layer above gives it
 * bodies and gets bodies back.
 *
 *   nof_transport_init()
 *   nof_path_open()             -> on_up() when the handshake is done, or on_dead()
 *   nof_path_window() > 0       -> nof_path_frame(), fill, nof_path_send()
 *   window was 0                -> on_ready() when it has opened
 *   frames of the other side    -> on_frame(), in order, exactly once
 *   silence, reset              -> on_dead(), once; then the path object is free
 *
 * Every entry point of the layer above begins with nof_transport_tick(now) and ends with
 * nof_transport_flush(): frames are gathered in between and leave in bursts, acknowledgements that
 * found no data to ride on are written, and timers are set. nof_transport_next_deadline() is only
 * right after a flush. rx() and poll() tick by themselves, but do not flush.
 *
 * Memory: caller's, nof_transport_mem_size(cfg) bytes, aligned to 64. Threads: one NIC core.
 * Callbacks may call nof_path_frame/send/window on any path and nof_path_reset on any path (its
 * on_dead comes later, from poll), never rx/poll. */
#ifndef NOF_TRANSPORT_H
#define NOF_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/card.h"
#include "nof/core.h"

#include "transport/wire.h"

struct nof_transport;
struct nof_path;

struct nof_wire_view { /* one received frame, checked: CRC, lengths, connection */
    uint8_t type;
    uint8_t flags;
    uint16_t src_ep;
    uint16_t dst_ep;
    const uint8_t *fields; /* fields_bytes fixed fields of the type */
    uint32_t fields_bytes;
    const uint8_t *payload;
    uint32_t payload_bytes;
    void *user; /* the path's: nof_path_set_user() */
};

struct nof_transport_ops {
    /* A reliable frame. Bytes are lent for the call. Return NOF_OK, or NOF_EPROTO: the other side
     * broke the protocol, the path is reset (counted, logged by the caller of this). `lent` is 1
     * if the bytes stay valid until the end of the current nof_transport_rx() call (so that writes
     * to the host can be gathered over a burst), 0 if only during this callback. */
    /* Likewise a GACK, which is not reliable; and an MDATA, with path NULL, because nobody knows yet who sent it: its payload
     * is the datagram from the common header on, lengths and CRC checked. */
    int (*on_frame)(void *up, struct nof_path *path, const struct nof_wire_view *view, bool lent);
    void (*on_up)(void *up, struct nof_path *path);
    /* The window was 0 when it was asked for, now it is not. */
    void (*on_ready)(void *up, struct nof_path *path);
    /* reason: NOF_EPEERDEAD (silence or CLOSE), NOF_EPROTO, NOF_ELINKDOWN, NOF_EPERM (handshake
     * refused). The path must not be used after this returns. */
    void (*on_dead)(void *up, struct nof_path *path, int reason);
    /* Key of a job that this NIC has an endpoint of; NULL: unknown job. 16 bytes. */
    const uint8_t *(*job_key)(void *up, uint64_t job_id);
};

struct nof_transport_config {
    const struct nof_nic_config *nic; /* checked and with defaults filled in; outlives it */
    const struct nof_port_ops *port_ops;
    void *port;
    const struct nof_host_ops *host_ops; /* log, cycles */
    void *host;
    const struct nof_transport_ops *ops;
    void *up;
    uint64_t *counters; /* NOF_COUNTER_COUNT words of the NIC */
    const uint64_t *features; /* NOF_FEATURE_COUNT words, live */
    uint32_t flow_msgs; /* initial credits announced in HELLO */
    uint32_t flow_bytes;
};

size_t nof_transport_mem_size(const struct nof_transport_config *cfg);
int nof_transport_init(void *mem, size_t mem_bytes, const struct nof_transport_config *cfg, uint64_t now_ns,
                       struct nof_transport **transport_out);
void nof_transport_fini(struct nof_transport *t);

/* Validates every frame (outer headers, length, version, CRC, connection), counts and drops the
 * bad, answers HELLO, ACKS, PROBE; hands reliable ones up in order. */
void nof_transport_rx(struct nof_transport *t, uint64_t now_ns, struct nof_frame *const *frames, unsigned n);
/* Timers, retransmissions, acknowledgements that are due. Returns frames sent. */
unsigned nof_transport_poll(struct nof_transport *t, uint64_t now_ns, unsigned budget_frames);
uint64_t nof_transport_next_deadline(const struct nof_transport *t);
void nof_transport_link(struct nof_transport *t, uint64_t now_ns, bool up);
/* cfg.nic->link_rate_bps has changed. */
void nof_transport_rate(struct nof_transport *t, uint64_t now_ns);
void nof_transport_stalled(struct nof_transport *t, uint64_t now_ns, uint64_t stalled_ns);
/* Others of this machine, who may be the peer or what is between, are late. */
void nof_transport_late(struct nof_transport *t, uint64_t now_ns);
/* The time of this call, before anything else of the transport is used in it. */
void nof_transport_tick(struct nof_transport *t, uint64_t now_ns);
/* Hand the gathered frames to the port, acknowledge what must not wait, set the timers. */
void nof_transport_flush(struct nof_transport *t);

/* The path to the NIC of `card` for this job: an existing one, or a new one whose handshake begins.
 * NOF_ENOMEM when max_paths are in use, NOF_EINVAL for our own NIC: what stays here needs no wire. */
int nof_path_open(struct nof_transport *t, uint64_t now_ns, uint64_t job_id, const struct nof_card *card,
                  struct nof_path **path_out);
/* Drop it: CLOSE is sent, everything queued is lost, on_dead(reason) comes from poll. */
void nof_path_reset(struct nof_path *path, int reason);
/* The same for a path that nobody needs any more; on_dead(NOF_EPEERDEAD) comes, but it does not count as dead. */
void nof_path_close(struct nof_path *path);

/* Frames that may be sent now (congestion window, pacing, sent map, frame pool, port). 0: on_ready
 * will come. `urgent` control frames may use a small reserve beyond the window (so that credit
 * never waits behind data). 0 while the handshake is not done. */
unsigned nof_path_window(struct nof_path *path, bool urgent);
/* Does the NIC, whatever the path, have room for a frame that is not urgent? If not, next_deadline() or the next frame that
 * comes says when to ask again, and waits() holds until the next poll(). */
bool nof_transport_room(struct nof_transport *t);
bool nof_transport_waits(const struct nof_transport *t);
/* At the end of a turn: data that will leave is on its way from a rank's memory, so the link waits for it and keeps its
 * credit. */
void nof_transport_await(struct nof_transport *t);
/* Largest sum of fields and payload in one frame. Never shrinks once the path is up. */
uint32_t nof_path_body_max(const struct nof_path *path);
/* Does the peer take a MSG_MORE whose fixed fields are longer than their 16 bytes? */
bool nof_path_long_more(const struct nof_path *path);

/* A frame to fill: *body_out has room for body_bytes (fields, then payload). NULL when the port's
 * pool is empty. Either nof_path_send() or nof_path_frame_drop() takes it back. */
struct nof_frame *nof_path_frame(struct nof_path *path, uint32_t body_bytes, uint8_t **body_out);
void nof_path_frame_drop(struct nof_path *path, struct nof_frame *frame);
/* Number it, put headers and CRC, send it and keep it until it is acknowledged. Frames leave in the
 * order of these calls. fields_bytes of the body are the fixed fields. Always accepted after
 * nof_path_window() > 0 in the same call chain. Returns the packet number. */
uint32_t nof_path_send(struct nof_path *path, struct nof_frame *frame, uint8_t type, uint8_t flags,
                       uint16_t src_ep, uint16_t dst_ep, uint32_t fields_bytes, uint32_t body_bytes,
                       int summed);
/* With `summed`, who filled the frame has left the CRC32C of its payload at nof_path_sum_at(body), 4 bytes
 * little-endian; it is looked at if the payload has nof_path_sum_bytes(), those of a full DATA frame. */
uint32_t nof_path_sum_bytes(const struct nof_path *path);

static inline uint8_t *nof_path_sum_at(uint8_t *body)
{
    return body - NOF_WIRE_COMMON_BYTES + NOF_WIRE_CRC;
}

/* An unreliable GACK. False: there is no frame or no room for it. */
bool nof_path_gack(struct nof_path *path, uint8_t flags, const uint8_t fields[NOF_WIRE_GACK_BYTES]);
/* The smoothed round trip, and the least of the last seconds; 0: not known yet. */
uint32_t nof_path_rtt_ns(const struct nof_path *path);
uint32_t nof_path_least_rtt_ns(const struct nof_path *path);

/* Is everything up to and including pn acknowledged? */
bool nof_path_acked(const struct nof_path *path, uint32_t pn);
/* A word for the layer above to hang its own state on (0 at on_up / nof_path_open). */
void *nof_path_user(const struct nof_path *path);
void nof_path_set_user(struct nof_path *path, void *user);
uint64_t nof_path_job(const struct nof_path *path);
uint64_t nof_path_peer_nic(const struct nof_path *path);
bool nof_path_is_up(const struct nof_path *path);
/* Initial credits that the other side announced. Valid once up. */
uint32_t nof_path_flow_msgs(const struct nof_path *path);
uint32_t nof_path_flow_bytes(const struct nof_path *path);
/* Somebody waits for this peer (a posted receive, a rendezvous): silence is probed while set.
 * Counted: each expect(+1) needs its expect(-1). Unacknowledged frames count by themselves. */
void nof_path_expect(struct nof_path *path, int delta);
/* Nothing unacknowledged, no acknowledgement owed, no handshake under way on any path. */
bool nof_transport_quiet(const struct nof_transport *t);
/* Bytes one silent path costs (for core.mem_peer_bytes). */
size_t nof_transport_path_bytes(const struct nof_transport *t);

#endif
