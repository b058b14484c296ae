/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the firmware core asks of its surroundings. Two tables: the wire (fabric, DPDK, a device of
 * yours) and the host (nofd, the simulator). The core calls them from the thread that called the
 * core, never re-entrantly: no callback may call back into the same nof_nic. Every call may fail.
 *
 * Frame ownership:
 *   frame_alloc()  -> one reference, the core's
 *   send()         -> the port takes references of its own while its driver needs the frame; the
 *                     bytes are immutable until both sides have let go
 *   frame_free()   -> gives the core's reference back
 *   rx()           -> frames are lent for the duration of the call; the core copies what must wait
 */
#ifndef NOF_PORT_H
#define NOF_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/desc.h"

/* One Ethernet frame, a single segment, from the destination MAC on, without FCS. The port embeds
 * this struct at the start of, or beside, its own buffer object. */
struct nof_frame {
    uint8_t *data;
    uint32_t len_bytes;
    uint32_t cap_bytes; /* room from data on */
};

/* Slots of nof_port_ops.conn for ids of dead paths; the first ones. */
#define NOF_PORT_CONN_DEAD 64u

struct nof_port_ops {
    /* A frame with cap_bytes >= len_bytes, or NULL when the pool is empty (retry later). */
    struct nof_frame *(*frame_alloc)(void *port, uint32_t len_bytes);
    void (*frame_free)(void *port, struct nof_frame *frame);
    /* Send up to n frames in order; returns how many the port took (0: queue full, retry). The
     * same frame may be sent again while an earlier transmission is still under way. */
    unsigned (*send)(void *port, struct nof_frame *const *frames, unsigned n);
    /* Receive what is sent to this multicast address, or no longer; each join has its leave. NOF_OK, or negative: it
     * cannot be. NULL: this port has no multicast. */
    int (*group)(void *port, uint32_t ip4, const uint8_t mac[6], bool join);
    /* Frames to us that carry this connection id (docs/WIRE.md, never 0) are welcome from now on; 0: the slot's are no longer. What
     * is in no slot, and is neither a handshake for this NIC nor multicast, the core would drop: a port may do so earlier. The
     * id of a path is in slot NOF_PORT_CONN_DEAD + its low 16 bits before its peer can know it; those of the last dead paths,
     * whose late frames are answered, fill the slots below, from 0 on. All are empty at first. NULL: this port does not look. */
    void (*conn)(void *port, uint32_t slot, uint64_t id);
};

/* A range of a rank's memory. */
struct nof_segment {
    uint64_t addr;
    uint64_t len_bytes;
};

/* A range of our own memory. */
struct nof_buf {
    void *base;
    size_t len_bytes;
    /* dma_read of an endpoint with `dma_read_sums`: where not NULL, the CRC32C of the bytes (nof_crc32c()) goes here, 4
     * bytes, little-endian. Who copies them has them in the cache. */
    uint8_t *sum;
};

/* CRC32C (Castagnoli) with initial value and final inversion as in RFC 3720; the nine bytes "123456789" give
 * 0xe3069283. len_bytes: 0..INT32_MAX. Any thread. */
uint32_t nof_crc32c(const void *data, size_t len_bytes);

#define NOF_DMA_SEGMENTS_MAX 64 /* remote segments, and local ones, in one request */
#define NOF_DMA_BLOCK_BYTES 65536u /* requests are at most this long */

/* dma_read/dma_write answers beside negative nof_status (EAGAIN: queue full, try later). */
enum nof_dma_result {
    NOF_DMA_PENDING = 0, /* nof_nic_dma_done() will be called with the token, once */
    NOF_DMA_DONE = 1, /* all bytes copied before the call returned; dma_done() is not called */
};

struct nof_host_ops {
    /* Copy between a rank's memory and ours; totals of both lists are equal and at most
     * NOF_DMA_BLOCK_BYTES. `local` points to memory that stays valid until dma_done; the arrays
     * themselves are copied if needed later. Addresses with NOF_BAR_ARENA (nof/bar.h) are offsets in the endpoint's
     * bounce arena, if it has one, and the host's to bound by its length. A host that sets `dma_inline` in the endpoint's
     * parameters promises never to answer PENDING, but for dma_read if `dma_read_late` is set, too. */
    int (*dma_read)(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token);
    int (*dma_write)(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                     const struct nof_buf *local, unsigned nlocal, uint64_t token);
    /* Give completions to the endpoint; returns how many were taken, in order (fewer: ring full;
     * the core keeps the rest and tries again in poll()). */
    unsigned (*complete)(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n);
    /* An arrival in the endpoint's struct nof_delta_nic has changed: wake who waits on nof_delta_host.wake. NULL: nobody does. */
    void (*arrived)(void *host, uint32_t endpoint);
    /* Take the claim of this slot (< nof_endpoint_params.claim_slots) for the NIC: claim.h, nof_claim_take(). Not NULL where
     * endpoints have slots. */
    bool (*claim)(void *host, uint32_t endpoint, uint32_t slot, uint32_t generation);
    /* The core gives the endpoint up (hostile or broken): nofd must call nof_nic_endpoint_close()
     * after this call has returned. */
    void (*endpoint_failed)(void *host, uint32_t endpoint, int status);
    /* A cost clock, any unit (TSC ticks). What costs too much is not done (adaptive compression); nothing that must
     * happen depends on it. */
    uint64_t (*cycles)(void *host);
    /* level: 0 error, 1 warning, 2 info, 3 debug. */
    void (*log)(void *host, int level, const char *text);
};

#endif
