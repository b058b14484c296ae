/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The BAR of an endpoint: what nofd shares with one rank, and the attach handshake that passes it.
 *
 *   rank                                   nofd
 *   connect(SOCK_SEQPACKET)
 *   struct nof_attach_request  ----------> checks version, job, key, uid; allocates; probes DMA
 *                              <---------- struct nof_attach_challenge, where the kernel does not tell nofd
 *   struct nof_attach_answer   ---------->   which process connected (no SO_PEERPIDFD: before Linux 6.5)
 *                              <---------- struct nof_attach_reply + 3 or 5 descriptors (SCM_RIGHTS)
 *   maps the segments as told
 *   ... the socket stays open: it is the endpoint's life line, in both directions ...
 *   struct nof_detach            ----------> closes the endpoint in order; then close()
 *
 * A socket that closes without nof_detach is a process that died: its peers are told so. Nothing
 * else is ever sent on it after the reply; the daemon answers anything else by closing.
 *
 * Descriptors passed, in this order: NOF_BAR_FD_RO (memfd, sealed against writes by the host),
 * NOF_BAR_FD_RW (memfd), NOF_BAR_FD_DOORBELL (eventfd; write 1 when `nic_asleep` is set).
 * Both memfds are fully allocated and sealed SHRINK|GROW|SEAL (RO also FUTURE_WRITE). A rank that asked for
 * a slot in the segment of its job on this host (nof/segment.h), and got one, has NOF_BAR_FD_SEGMENT and
 * NOF_BAR_FD_ROSTER after these.
 *
 * A BAR is one range of virtual addresses; each segment maps a piece of one memfd into it. Offsets
 * are relative to the start of that range. Offsets and sizes are told here, never assumed.
 *
 * Rings are struct rte_ring with 64-byte elements, used with the _sp_/_sc_ element calls only. A
 * ring starts NOF_RING_HEAD_BYTES before a page boundary: its constant header (size, mask) is the
 * end of a read-only page, its producer, consumer and slots lie on the writable pages after it. */
#ifndef NOF_BAR_H
#define NOF_BAR_H

#include <assert.h>
#include <stdint.h>

#include "nof/card.h"
#include "nof/segment.h"

#define NOF_ABI_VERSION 15u
#define NOF_BAR_MAGIC 0x3130524142464f4eull /* "NOFBAR01" */
#define NOF_ATTACH_MAGIC 0x3148435441464f4eull /* "NOFATCH1" */
#define NOF_DETACH_MAGIC 0x3148435444464f4eull /* "NOFDTCH1" */
#define NOF_CHALLENGE_MAGIC 0x314b5341464f4eull /* "NOFASK1" */
#define NOF_ANSWER_MAGIC 0x31534e41464f4eull /* "NOFANS1" */
#define NOF_BAR_PAGE_BYTES 4096u
/* An address of the rank's memory, in any descriptor, that has this bit is an offset in its bounce arena: what lies there the NIC
 * reads and writes itself, where it has to ask the kernel or somebody else for all other memory. */
#define NOF_BAR_ARENA ((uint64_t)1 << 63)
#define NOF_RING_HEAD_BYTES 128u /* offset of struct rte_ring.prod: pinned where rte_ring.h is known */
#define NOF_BAR_SEGMENTS_MAX 8
#define NOF_JOB_KEY_BYTES 16
#define NOF_NONCE_BYTES 16
#define NOF_ASSIST_SLOTS 8u /* requests of fall-back DMA that may be under way */
#define NOF_ATTACH_TEXT_BYTES 256

enum nof_bar_fd {
    NOF_BAR_FD_RO = 0,
    NOF_BAR_FD_RW = 1,
    NOF_BAR_FD_DOORBELL = 2,
    NOF_BAR_FDS = 3, /* of the BAR itself */
    NOF_BAR_FD_SEGMENT = 3,
    NOF_BAR_FD_ROSTER = 4,
    NOF_BAR_FDS_MAX = 5, /* that come with a reply */
};

enum nof_attach_flag {
    NOF_ATTACH_F_SEGMENT = 1, /* a slot in the segment of the job on this host, if there is one */
    NOF_ATTACH_F_SEGMENT_AS_SET = 2, /* likewise, where feature "channels" is not "nic" */
};

/* How messages between ranks of one host go: the values of feature "channels". */
enum nof_channels {
    NOF_CHANNELS_AUTO,
    NOF_CHANNELS_NIC,
    NOF_CHANNELS_SHM,
    NOF_CHANNELS_SINGLE_COPY,
};

struct nof_bar_segment {
    uint32_t fd; /* NOF_BAR_FD_RO or NOF_BAR_FD_RW */
    uint32_t reserved;
    uint64_t file_offset;
    uint64_t bar_offset;
    uint64_t len;
};

/* Page 0 of the BAR, read-only for the host. */
struct nof_bar_identity {
    uint64_t magic;
    uint32_t abi_version;
    uint32_t nsegments;
    uint64_t bar_bytes;
    uint64_t features; /* reserved for optional parts of the ABI; 0 */
    struct nof_card card; /* of this endpoint */
    char nic_name[32]; /* for messages: "nic0 (fabric)" */

    uint32_t submit_slots; /* usable descriptors */
    uint32_t complete_slots;
    uint64_t submit_offset; /* of struct rte_ring, host produces */
    uint64_t complete_offset; /* of struct rte_ring, host consumes */
    uint64_t host_words_offset; /* struct nof_host_words, host writes */
    uint64_t nic_words_offset; /* struct nof_nic_words, read-only for the host */
    uint64_t counters_offset; /* uint64_t[ncounters], by enum nof_counter; read-only */
    uint32_t ncounters;
    uint32_t max_inline_bytes;
    uint64_t staging_offset; /* read-only for the host */
    uint64_t staging_bytes;
    uint64_t
        bounce_offset; /* host allocates in it; NIC reads, and writes what is addressed by NOF_BAR_ARENA */
    uint64_t bounce_bytes;
    uint64_t program_area_offset; /* layouts, programs; host writes, NIC copies once */
    uint64_t program_area_bytes;
    uint64_t assist_offset; /* fall-back DMA; both write */
    uint64_t assist_bytes;
    uint64_t bounce_max_bytes; /* largest SEND with NOF_DESC_F_BOUNCE */
    uint64_t delta_host_offset; /* struct nof_delta_host (delta.h), host writes */
    uint64_t delta_nic_offset; /* struct nof_delta_nic; read-only for the host */
    uint64_t claim_offset; /* struct nof_claim_words (claim.h), host writes */
    uint64_t library_counts_offset; /* uint64_t[nlibrary_counts]: what its library counts; host writes */
    uint64_t
        unexpected_offset; /* uint64_t: messages that found no receive posted, counted as they come; read-only for the host */
    uint32_t nlibrary_counts; /* a library that counts another number of things writes none */
    uint32_t
        wire_version; /* that its NIC speaks (docs/WIRE.md): ranks compare it, for frames of another are dropped */
    uint32_t dma; /* enum nof_dma_mode */
    uint32_t nofd_pid;
    struct nof_bar_segment segment[NOF_BAR_SEGMENTS_MAX];
};

enum nof_dma_mode {
    NOF_DMA_DIRECT = 0, /* nofd reads and writes the rank's memory */
    NOF_DMA_ASSIST = 1, /* the kernel forbids it: the library copies on request */
};

/* Waiting. Who is about to sleep sets its own word, passes a full fence, looks at its queue once
 * more; who has put something in passes a full fence, then looks at the word. A rank with a slot in its job's
 * segment sleeps on that slot's bell instead, and nobody rings these words. */
struct nof_host_words {
    uint32_t wake; /* futex word (shared): incremented by nofd, or by any other waker of the process */
    uint32_t host_asleep; /* 1 while the host waits on `wake` */
    uint32_t reserved[14];
    uint64_t assist[NOF_ASSIST_SLOTS]; /* nof_assist_answer(); a doorbell follows, as after a descriptor */
};

/* How far the host is with the copies of one slot: of this generation it has done the first `done`, and
 * `status` is that of the first that failed, else NOF_OK. Not a descriptor, because those wait for room
 * that these copies make. */
static inline uint64_t nof_assist_answer(uint32_t generation, uint16_t done, int16_t status)
{
    return (uint64_t)generation << 32 | (uint32_t)done << 16 | (uint16_t)status;
}

struct nof_nic_words {
    uint32_t nic_asleep; /* 1: write the doorbell eventfd after submitting */
    uint32_t endpoint_failed; /* a negative nof_status once the endpoint is lost; 0 before */
    uint32_t runs_collectives; /* 1: feature "collectives" is "nic" */
    uint32_t coll_patience_ms; /* feature of that name */
    uint32_t multicast; /* 1: feature of that name is on */
    uint32_t polling; /* feature of that name: 0 static, 1 dynamic */
    uint32_t poll_ratio; /* features of these names */
    uint32_t poll_update;
    uint32_t channels; /* feature of that name: enum nof_channels */
    uint32_t away_ms; /* for how long, in all, the core did not run; it wraps */
    uint32_t reserved[6];
};

struct nof_attach_request {
    uint64_t magic;
    uint32_t abi_version;
    uint32_t rank; /* job rank, 0..size-1 */
    uint32_t size;
    uint32_t nic; /* index of the NIC core wanted, or UINT32_MAX: nofd deals */
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    uint64_t probe_addr; /* nofd tries its DMA on this: 8 bytes that hold probe_value */
    uint64_t probe_value;
    uint32_t flags; /* enum nof_attach_flag */
    /* Ranks of the job on this host, as its launcher says; 0: it does not, and all may be. Only with one of the flags. */
    uint32_t local_ranks;
};

/* nofd asks whose request that was: the process that connected sends the nonce back, itself and before its reply.
 * One that does not, or for which another answers, copies its payload itself (NOF_DMA_ASSIST). */
struct nof_attach_challenge {
    uint64_t magic; /* NOF_CHALLENGE_MAGIC */
    uint32_t abi_version;
    uint32_t reserved;
    uint8_t nonce[NOF_NONCE_BYTES];
};

struct nof_attach_answer {
    uint64_t magic; /* NOF_ANSWER_MAGIC */
    uint8_t nonce[NOF_NONCE_BYTES];
};

struct nof_attach_reply {
    uint64_t magic;
    uint32_t abi_version;
    int32_t status; /* enum nof_status */
    uint64_t bar_bytes;
    uint32_t nsegments;
    uint32_t reserved;
    struct nof_bar_segment segment[NOF_BAR_SEGMENTS_MAX];
    struct nof_segment_reply shared; /* zeroes: no slot */
    char text[NOF_ATTACH_TEXT_BYTES]; /* why not, and what to do; empty when status is NOF_OK */
};

/* The orderly end, one datagram from the rank; no answer. */
struct nof_detach {
    uint64_t magic; /* NOF_DETACH_MAGIC */
};

static_assert(sizeof(struct nof_bar_identity) <= NOF_BAR_PAGE_BYTES, "identity fits its page");
static_assert(sizeof(struct nof_host_words) == 128 && sizeof(struct nof_nic_words) == 64,
              "wake words have cache lines of their own");

#endif
