/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The firmware core: one NIC, sans-IO. Bytes, descriptors and the current time go in; bytes,
 * completions and the next deadline come out. Same inputs, same bytes.
 *
 *   nof_nic_mem_size(cfg) -> nof_nic_init(mem, ...)           memory is the caller's
 *   nof_nic_endpoint_open() ... nof_nic_endpoint_close()
 *   in any order, as things happen:
 *     nof_nic_rx(frames)  nof_nic_host(descriptors)  nof_nic_dma_done(token)
 *   then nof_nic_poll(now), again at the latest at nof_nic_next_deadline()
 *
 * No heap, no clock, no lock, no system call: see `nm -u libnof_core.a`. Threads: one at a time per
 * nof_nic. `now_ns` is monotonic and never goes back. All queues are bounded by the configuration;
 * what is full answers with back-pressure (host_room 0, EAGAIN) or spills to the host. */
#ifndef NOF_CORE_H
#define NOF_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof/card.h"
#include "nof/claim.h"
#include "nof/counters.h"
#include "nof/delta.h"
#include "nof/desc.h"
#include "nof/features.h"
#include "nof/port.h"
#include "nof/status.h"

struct nof_nic;

#define NOF_NO_DEADLINE UINT64_MAX
#define NOF_CORE_WIRE_VERSION 3u /* of its frames, docs/WIRE.md; those of another are dropped */

#define NOF_PATHS_DEFAULT 256u

/* 0 takes the default in brackets; what has none is taken as it stands. nof_nic_init() refuses what is out of bounds. */
struct nof_nic_config {
    uint64_t nic_id; /* random, not 0 */
    uint8_t seed[16]; /* random: connection ids and nonces are drawn from it */
    uint8_t mac[6];
    uint16_t udp_port; /* [48620], host byte order */
    uint16_t group_port; /* that multicast goes to, at all NICs of a network [udp_port] */
    uint32_t ip4; /* host byte order */
    uint32_t host_id; /* goes into the business cards */
    uint32_t mtu_bytes; /* IP MTU, 576..9216 [1500] */
    uint64_t link_rate_bps; /* 0: unlimited, no pacing */
    uint32_t max_endpoints; /* 1..1024, each with 64 KiB for its reductions [16] */
    uint32_t max_paths; /* 1..65536 [256] */
    uint32_t max_peers; /* (endpoint, job rank) pairs, all endpoints, 1..4194304 [4096] */
    uint32_t max_jobs; /* 1..1024 [16] */
    uint32_t max_sends; /* sends under way, all endpoints, 1..4194304 [4096] */
    uint32_t max_posted; /* posted receives and probes, all endpoints, 1..4194304 [16384] */
    /* Unexpected messages, all endpoints, 1..4194304; more if peers need it: one each [8192] */
    uint32_t max_envelopes;
    uint32_t max_layouts; /* 1..65536 [256] */
    uint32_t max_schedules; /* programs of collectives, all endpoints, 1..65536 [256] */
    uint32_t max_groups; /* of multicast, all endpoints, each with 32 KiB, 1..4096 [16] */
    uint32_t window_frames; /* unacknowledged frames per path, power of two, 32..1024 [256] */
    uint32_t sent_frames; /* unacknowledged frames, all paths, 32..4194304 [8192] */
    uint32_t reorder_frames; /* frames kept out of order, all paths, 1..4194304 [1024] */
    /* Receive calls that the predictor of an endpoint remembers, power of two, 16..32768 [1024] */
    uint32_t predict_calls;
    /* Network memory: unexpected eager payload, DMA blocks; 64 KiB for each endpoint..64 GiB [16 MiB] */
    uint64_t netmem_bytes;
    uint32_t max_predictors; /* of the codec, in each direction, 1..256 [16] */
    uint32_t predictor_log2; /* lines of 16 bytes that each has room for, 8..15 [15] */
    uint64_t predictor_idle_ns; /* one that was not used for so long may go to another flow [100 ms] */
};

struct nof_endpoint_params {
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    uint32_t rank; /* job rank of this endpoint */
    uint32_t size; /* ranks in the job */
    void *staging; /* mapped in our address space; NULL with 0 bytes: none */
    size_t staging_bytes;
    /* Payload of sends; the host writes it while we read: every byte is read once. NULL with 0 bytes: none. */
    const void *bounce;
    size_t bounce_bytes;
    const void *program_area; /* layouts, programs; likewise the host's to write. NULL with 0 bytes: none */
    size_t program_area_bytes;
    /* Boards of delta messages (delta.h): the host's, which it writes while we read, and ours. NULL, both: it has none. */
    struct nof_delta_host *delta_host;
    struct nof_delta_nic *delta_nic;
    uint32_t claim_slots; /* that nof_host_ops.claim knows, at most NOF_CLAIM_SLOTS; 0: it may not claim */
    uint64_t *counters; /* NOF_COUNTER_COUNT words, or NULL */
    bool dma_inline; /* the host ops never answer NOF_DMA_PENDING for this endpoint */
    bool dma_read_late; /* with dma_inline: but dma_read may, dma_write never does */
    bool dma_read_sums; /* dma_read fills nof_buf.sum */
};

/* Bytes that nof_nic_init() needs, aligned to 64; 0 if the configuration is out of bounds. */
size_t nof_nic_mem_size(const struct nof_nic_config *cfg);

/* `mem` stays the NIC's until nobody calls it any more. Ops tables must outlive it. */
int nof_nic_init(void *mem, size_t mem_bytes, const struct nof_nic_config *cfg,
                 const struct nof_port_ops *port_ops, void *port, const struct nof_host_ops *host_ops,
                 void *host, uint64_t now_ns, struct nof_nic **nic_out);

/* Frees every frame the core still holds and says nothing more to anybody. */
void nof_nic_fini(struct nof_nic *nic);

/* The first endpoint of a job fixes key and size: NOF_EPERM / NOF_EINVAL if they differ later.
 * NOF_ENOMEM when all endpoints or jobs are in use. */
int nof_nic_endpoint_open(struct nof_nic *nic, uint64_t now_ns, const struct nof_endpoint_params *params,
                          uint32_t *endpoint_out, struct nof_card *card_out);

/* The endpoint is gone (reason NOF_OK: closed in order; NOF_EPEERDEAD: its process died; other:
 * failed). Peers are told. Memory that a pending DMA still uses is freed when that is done; the
 * index is not given out again before. No completion is given for it from now on. */
void nof_nic_endpoint_close(struct nof_nic *nic, uint64_t now_ns, uint32_t endpoint, int reason);

/* How many receives and waiting probes this endpoint has posted, its library's among them, and how many messages wait
 * for a receive in the store. Any thread may ask: the answer is a moment old. */
void nof_nic_endpoint_queues(const struct nof_nic *nic, uint32_t endpoint, uint32_t *posted_out,
                             uint32_t *unexpected_out);

/* How many descriptors of this endpoint the core takes now. */
unsigned nof_nic_host_room(const struct nof_nic *nic, uint32_t endpoint);
/* n <= nof_nic_host_room(); the array is the core's own copy to read, not shared with the host. */
void nof_nic_host(struct nof_nic *nic, uint64_t now_ns, uint32_t endpoint, const struct nof_desc *descs,
                  unsigned n);

void nof_nic_rx(struct nof_nic *nic, uint64_t now_ns, struct nof_frame *const *frames, unsigned n);

/* status: NOF_OK or negative (then nothing may be assumed of the bytes). */
void nof_nic_dma_done(struct nof_nic *nic, uint64_t now_ns, uint64_t token, int status);

/* Run timers, schedulers and pending completions; send at most `budget_frames`. True: there is
 * more to do at once. */
bool nof_nic_poll(struct nof_nic *nic, uint64_t now_ns, unsigned budget_frames);

/* When nof_nic_poll() must be called next if nothing else happens; <= now: at once. */
uint64_t nof_nic_next_deadline(const struct nof_nic *nic);

/* Port down or up. Paths, save those to our own address, fail with NOF_ELINKDOWN when it stays down for two thirds of dead_after_ms: here
 * nobody has to be asked, and who waits for an unplugged NIC from this side shall hear it before those of the
 * other side do. A shorter flap heals unseen. */
void nof_nic_link(struct nof_nic *nic, uint64_t now_ns, bool up);

/* The link has another rate than the configuration said (0: unknown): it came up late, or was negotiated anew. */
void nof_nic_rate(struct nof_nic *nic, uint64_t now_ns, uint64_t rate_bps);

/* We were not scheduled for this long, which has just ended: nothing that judges others by time counts it, neither silence of peers nor
 * patience with collectives, nor how long our link is down. To be called before anything else with that time. */
void nof_nic_stalled(struct nof_nic *nic, uint64_t now_ns, uint64_t stalled_ns);

/* We run, and another core of this machine does not, though it is to: peers that are silent now are not dead yet.
 * Retransmission goes on. */
void nof_nic_late(struct nof_nic *nic, uint64_t now_ns);

int nof_nic_feature_set(struct nof_nic *nic, enum nof_feature feature, uint64_t value);
uint64_t nof_nic_feature(const struct nof_nic *nic, enum nof_feature feature);

/* One direction of a flow that has a predictor at this end. */
struct nof_grant_info {
    uint32_t endpoint; /* ours */
    uint32_t peer_rank;
    bool sends; /* from us to the peer; else to us */
    bool on; /* sends: chunks are being made (adaptive: it pays) */
    uint32_t table_log2;
    uint32_t epoch;
    uint64_t plain_bytes, wire_bytes; /* wire_bytes: with prefixes */
    uint64_t chunks, raw, bad;
    uint64_t hits[4]; /* values of chunks by predicted leading bits: 0 to 15, 16 to 31, 32 to 47, 48 to 64 */
    uint64_t cycles; /* in the codec, by the host's clock */
};

/* Fills at most `max` and returns how many there are. */
unsigned nof_nic_grants(const struct nof_nic *nic, struct nof_grant_info *out, unsigned max);

#define NOF_COLL_RANKS_MOST 8u

/* A schedule that the NIC runs and that has not got on for a while. */
struct nof_coll_info {
    uint32_t endpoint;
    uint32_t ctx;
    int32_t tag;
    uint64_t waited_ns; /* since a step of it ended */
    uint32_t messages; /* under way or waited for */
    uint32_t nranks; /* those below, of whom a message is waited for: the first of them */
    uint32_t rank[NOF_COLL_RANKS_MOST]; /* in the job */
};

/* Those that have waited at least so long. Fills at most `max` and returns how many; where much waits not all are looked at. */
unsigned nof_nic_colls(const struct nof_nic *nic, uint64_t now_ns, uint64_t least_ns,
                       struct nof_coll_info *out, unsigned max);

/* NOF_COUNTER_COUNT words, live. */
const uint64_t *nof_nic_counters(const struct nof_nic *nic);

/* Has a host rung for a delta send (nof_delta_host.rung)? The next nof_nic_poll() looks. */
bool nof_nic_rung(const struct nof_nic *nic);

/* Whether nothing is queued, unacknowledged or waiting for a peer: only silence is left. */
bool nof_nic_quiet(const struct nof_nic *nic);

#endif
