/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon's side of one endpoint, for tests of the host driver: a real socket, real memfds, a BAR laid
 * out as nof/bar.h says, and the ring discipline; no firmware behind it.
 *
 *   fake_open()  fake_answer()  { fake_get() fake_complete() fake_sleep() }...  fake_close()
 *
 * Threads: one plays the daemon. */
#ifndef FAKE_NOFD_H
#define FAKE_NOFD_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof/desc.h"
#include "nof_private/ring.h"
#include "pmd_driver.h"

#define FAKE_SLOTS 127u
#define FAKE_UNEXPECTED 3u /* among the counters */
#define FAKE_STAGING_BYTES 8192u
#define FAKE_BOUNCE_BYTES 65536u
#define FAKE_ASSIST_BYTES 8192u
#define FAKE_LIBRARY_COUNTS 16u

struct fake_nofd {
    char address[64]; /* "@..." for nof_pmd_attach */
    int listener;
    int socket; /* the rank's life line, once answered */
    int fds[NOF_BAR_FDS_MAX];
    unsigned nshared; /* of them, beside the BAR's: 0, or 2 */
    unsigned char *bar;
    struct nof_attach_reply reply; /* a test may garble it before fake_answer() */
    struct nof_bar_identity *identity; /* this too */
    struct nof_attach_request request; /* what the rank said */
    struct rte_ring *submit, *complete;
    struct nof_host_words *host_words;
    struct nof_nic_words *nic_words;
    uint64_t *counters;
    const uint64_t *library_counts;
    uint64_t wakes; /* futex calls made */
    bool no_seals;
    bool no_fds;
    bool shared_unsealed;
    struct nof_segment_bell *bells; /* NULL: no segment */
    struct nof_roster *roster;
    uint64_t bells_bytes, roster_bytes;
};

/* Listens and builds the BAR; asserts on failure. */
void fake_open(struct fake_nofd *f);
/* Before the answer: a segment of so many slots, of which the rank has that one. */
void fake_share(struct fake_nofd *f, uint32_t nslots, uint32_t slot);
/* Accepts one rank, reads its request, answers with reply and descriptors. */
void fake_answer(struct fake_nofd *f);
/* nof_pmd_attach() with its answer from a thread of its own; text is empty where nothing is said. */
int fake_attach(struct fake_nofd *f, const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out,
                char *text, size_t text_bytes);
unsigned fake_get(struct fake_nofd *f, struct nof_desc *descs, unsigned n);
/* Puts completions in (waits for room) and wakes the host if it sleeps. */
void fake_complete(struct fake_nofd *f, const struct nof_comp *comps, unsigned n);
/* Sleeps on the doorbell as a NIC core does, at most timeout_ms. Returns false on a timeout. */
bool fake_sleep(struct fake_nofd *f, int timeout_ms);
/* Doorbells rung since the last call. */
uint64_t fake_doorbells(struct fake_nofd *f);
/* Ends the endpoint; may be called twice. */
void fake_hang_up(struct fake_nofd *f);
void fake_close(struct fake_nofd *f);

/* How many this process has. */
unsigned fake_open_descriptors(void);

#endif
