/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two matchers under one order, the host's half (nof/claim.h; decision 0039). In a communicator some of whose members are reached by
 * memory and others by the NIC a message finds its receive in one of two stores, and each receive stands where a message
 * for it can come from:
 *
 *   memory   receives that name a source of memory, and those from any source: from the call on, in the order of the calls;
 *            messages of memory that no receive wanted yet
 *   nic      receives that the NIC has answered NOMATCH, from that answer on; messages that it has spilled. One that is with the
 *            NIC, or on its way there, is not here: the NIC's store may hold an older message of the same source
 *
 *   call:  nof_claim_post() ............ from any source, or a source of memory
 *          nof_claim_open() ............ a word, before it is submitted with NOF_DESC_F_CLAIM and r->handle; without one it
 *                                        waits, and so does whatever comes behind it
 *   then:  nof_claim_by_memory() ....... a message has come that way: whose is it? r->taken: submit its CANCEL
 *          nof_claim_by_nic() .......... the NIC has completed it
 *          nof_claim_nomatch() ......... or leaves it to the host
 *          nof_claim_by_spill() ........ a message that the NIC has spilled: whose is it?
 *          nof_claim_cancel() .......... the program does not want it any more
 *          nof_claim_close() ........... its RECV, or its CANCEL if it was taken, is answered: the word is free
 *
 * Receives and messages belong to the caller and are linked in place. Pure: no NIC, no MPI, no clock. Threads: under the
 * library's lock; the NIC takes words at any time. */
#ifndef NOF_MPI_CLAIMS_H
#define NOF_MPI_CLAIMS_H

#include "chan/matcher.h"
#include "nof/claim.h"

struct nof_claim_recv {
    struct nof_match_entry memory, nic; /* where it stands; links 0: not there */
    uint64_t handle; /* of its word, if it has one: */
    bool word;
    bool open; /* the word decides who serves it */
    bool lost; /* the NIC has it */
    bool
        taken; /* the host did, and the NIC has heard of it, or will: a CANCEL is due, and the word is kept until its answer */
};

struct nof_claims {
    struct nof_matcher memory, nic;
    struct nof_claim_words *words; /* of the BAR */
    uint32_t slots; /* of them that are used */
    uint32_t in_use;
    uint32_t generation[NOF_CLAIM_SLOTS];
    bool used[NOF_CLAIM_SLOTS];
    struct nof_claim_recv
        *of[NOF_CLAIM_SLOTS]; /* whose it is; NULL: of one that has ended, whose CANCEL is not answered */
};

/* Of this process: of all its communicators. */
extern struct nof_claims nof_chan_claims __attribute__((visibility("hidden")));

/* Zeroed memory. slots: at most NOF_CLAIM_SLOTS; 0: nothing is claimed. */
void nof_claims_init(struct nof_claims *c, struct nof_claim_words *words, uint32_t slots);
/* What tables and queues there are. */
void nof_claims_fini(struct nof_claims *c);

/* The receive of an entry of c->memory.posted, of c->nic.posted. */
static inline struct nof_claim_recv *nof_claim_of_memory(struct nof_match_entry *entry)
{
    return (struct nof_claim_recv *)(void *)((char *)entry - offsetof(struct nof_claim_recv, memory));
}
static inline struct nof_claim_recv *nof_claim_of_nic(struct nof_match_entry *entry)
{
    return (struct nof_claim_recv *)(void *)((char *)entry - offsetof(struct nof_claim_recv, nic));
}

/* r is called now: behind all that were before. Wildcards are NOF_MATCH_ANY. 0, or -1: no memory. */
int nof_claim_post(struct nof_claims *c, struct nof_claim_recv *r, uint32_t ctx, int32_t source, int32_t tag);
/* r may be submitted, with r->handle. False: no word is free: each is of a receive that is open, or taken. What the NIC has won needs its
 * word no more, and may end much later. */
bool nof_claim_open(struct nof_claims *c, struct nof_claim_recv *r);
/* Its word is free; of one without it is nothing. */
void nof_claim_close(struct nof_claims *c, struct nof_claim_recv *r);
/* r, which is taken, ends before its CANCEL is answered: it has no word any more, and who has the handle gives the word back then. */
uint64_t nof_claim_leave_word(struct nof_claims *c, struct nof_claim_recv *r);
void nof_claim_give_word(struct nof_claims *c, uint64_t handle);

/* The receive, in neither store any more, that has a message of memory with these; NULL: none, or the NIC has all. */
struct nof_claim_recv *nof_claim_by_memory(struct nof_claims *c, uint32_t ctx, int32_t source, int32_t tag);
/* The same for one that was spilled. */
struct nof_claim_recv *nof_claim_by_spill(struct nof_claims *c, uint32_t ctx, int32_t source, int32_t tag);
/* The NIC has served r, or it has failed. */
void nof_claim_by_nic(struct nof_claims *c, struct nof_claim_recv *r);
/* It was answered NOMATCH, and is not taken: the host's alone from now on; its word is free. 0, or -1: no memory. A receive that was
 * never posted here, since it names a source of the NIC, comes in by this. */
int nof_claim_nomatch(struct nof_claims *c, struct nof_claim_recv *r, uint32_t ctx, int32_t source,
                      int32_t tag);
/* True: nobody will serve r. False: the NIC does. */
bool nof_claim_cancel(struct nof_claims *c, struct nof_claim_recv *r);

#endif
