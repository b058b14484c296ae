/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pump: a lean host that keeps messages of one size flowing, for measurements on a cluster. Payload
 * is checked on arrival; DMA is done at once.
 *
 *   nof_pump_open() on both sides -> nof_pump_peer() -> nof_pump_recv(), nof_pump_send()
 *   nof_cluster_run() -> read the counters -> nof_pump_close() before the cluster is destroyed */
#ifndef NOF_SIM_PUMP_H
#define NOF_SIM_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster.h"

#define NOF_PUMP_SLOTS_MAX 128u

struct nof_pump_slot {
    uint8_t *mem;
    int32_t peer; /* NOF_ANY_SOURCE or a rank */
    uint64_t bytes; /* that DMA has written into it, ever */
};

struct nof_pump {
    struct nof_cluster *cluster;
    unsigned nic;
    uint32_t endpoint;
    uint32_t rank, size;
    struct nof_card card;
    char problem[160]; /* empty: all is well */

    uint8_t *source; /* payload of every message that this one sends */
    uint64_t source_bytes;
    struct nof_pump_slot slot[NOF_PUMP_SLOTS_MAX];
    unsigned nslots;
    uint64_t slot_bytes;
    uint8_t *staging;
    size_t staging_bytes;

    struct nof_desc *queue; /* submitted, not yet fetched */
    unsigned queue_head, queue_count, queue_room;

    struct nof_pump *all; /* nof_pump_send_all(): every endpoint of the job, by rank */
    uint32_t next; /* how many of them have got theirs */
    uint32_t send_peer;
    uint64_t send_bytes; /* length of a message */
    uint64_t sends_left;
    uint64_t sends_done;
    uint64_t recvs_done;
};

struct nof_pump_job {
    uint64_t id;
    uint8_t key[NOF_JOB_KEY_BYTES];
    uint32_t size;
};

/* max_bytes: longest message it sends or receives. */
int nof_pump_open(struct nof_pump *p, struct nof_cluster *c, unsigned nic, const struct nof_pump_job *job,
                  uint32_t rank, uint64_t max_bytes, size_t staging_bytes);
void nof_pump_close(struct nof_pump *p);
void nof_pump_peer(struct nof_pump *p, const struct nof_pump *peer);
/* Keep `slots` receives posted for messages of `peer` (NOF_ANY_SOURCE: of anybody). */
void nof_pump_recv(struct nof_pump *p, int32_t peer, unsigned slots);
/* `count` messages (UINT64_MAX: without end) of `bytes` to `peer`, `outstanding` at a time. */
void nof_pump_send(struct nof_pump *p, uint32_t peer, uint64_t bytes, uint64_t count, unsigned outstanding);
/* One synchronous message to each endpoint of the job (`all`, by rank), the next rank first; this makes
 * them known, too. */
void nof_pump_send_all(struct nof_pump *p, struct nof_pump *all, uint64_t bytes, unsigned outstanding);
/* Bytes that came from `peer` into receives that were posted for it. */
uint64_t nof_pump_received(const struct nof_pump *p, int32_t peer);

#endif
