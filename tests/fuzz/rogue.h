/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hostile NIC that has the key of a job: no core, but the bytes of one. It opens a path to a core as docs/WIRE.md
 * says, remembers every handle, cookie, slot and credit that it hears, and sends what a record says: frames of every
 * type that are right, nearly right, or not at all.
 *
 *   rogue_init() -> rogue_hello() ... -> rogue_open_flow() -> rogue_frame() ...
 *   rogue_hear() for each frame of the core, from within it; rogue_turn() afterwards, to acknowledge */
#ifndef NOF_TESTS_FUZZ_ROGUE_H
#define NOF_TESTS_FUZZ_ROGUE_H

#include "dfcm_engine.h"
#include "transport/packet.h"
#include "guard.h"

#define ROGUE_FLOWS 3u
#define ROGUE_HEARD 8u
#define ROGUE_LOG2 8u
#define ROGUE_BODY 1400u

/* Handles of the core, by what they name. */
enum rogue_kind { ROGUE_SEND, ROGUE_SYNC, ROGUE_RECV, ROGUE_PARKED, ROGUE_ASKER, ROGUE_KINDS };

struct rogue_flow {
    uint16_t ours, theirs; /* endpoints */
    uint16_t generation; /* of theirs */
    uint32_t seq; /* of the next envelope */
    uint32_t left, pos, len; /* of the eager message that is under way */
    uint8_t elem;
    uint8_t slot; /* of the predictor that we were granted, and: */
    uint16_t epoch;
    uint64_t sent; /* bytes of the rendezvous that goes on, to: */
    uint64_t to, wanted, allowed;
    uint64_t announced; /* length of the last RTS */
    uint64_t at; /* where the last DATA ended */
    uint8_t unit_log2; /* of the last RTS */
};

struct rogue {
    struct world *w;
    unsigned nic; /* the core's */
    struct nof_packet_addr self, core;
    uint64_t nic_id, core_id, job;
    uint8_t key[NOF_JOB_KEY_BYTES];
    uint64_t conn, nonce; /* ours */
    uint64_t core_conn, core_nonce;
    uint32_t pn; /* next to send */
    uint32_t got; /* next to come */
    int hello; /* a HELLO came that wants an answer */
    int owes; /* an acknowledgement */
    int silent; /* it never acknowledges */
    struct rogue_flow flow[ROGUE_FLOWS];
    struct {
        uint64_t handle[ROGUE_HEARD];
        unsigned n;
    } heard[ROGUE_KINDS];
    struct nof_dfcm *predictor; /* of chunks that we make */
};

void rogue_init(struct rogue *r, struct world *w, unsigned nic, const struct nof_card *core, uint64_t job);
/* Its predictor has seen nothing. */
void rogue_forget(struct rogue *r);
/* A path begins; known: it answers what the core has said. */
void rogue_hello(struct rogue *r, int known, uint32_t first_pn);
void rogue_open_flow(struct rogue *r, unsigned flow, uint32_t rank, uint32_t size);
/* For guard.rogue. */
void rogue_hear(void *rogue, const uint8_t *bytes, uint32_t len);
void rogue_turn(struct rogue *r);
/* Frames from a record; see rogue.c for its bytes. */
void rogue_frame(struct rogue *r, const uint8_t *rec);
void rogue_chunk(struct rogue *r, const uint8_t *rec);
void rogue_transport(struct rogue *r, const uint8_t *rec);

#endif
