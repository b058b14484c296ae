/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host driver: poll-mode access of one process to its endpoint on a NIC core. Knows descriptors and
 * the BAR; knows nothing of MPI, links no DPDK library (rte_ring's inline header only).
 *
 *   nof_pmd_attach()                         connects to nofd, maps the BAR
 *   nof_pmd_submit(descs)                    burst; rings the doorbell if the NIC sleeps
 *   nof_pmd_reap(comps)                      burst
 *   nof_pmd_wait(timeout)                    sleeps on the wake word until there may be something
 *   nof_pmd_detach()
 *
 * Threads: submit by one thread at a time, reap by one at a time, wait by one at a time; all three may
 * run in different threads at once. Any thread may call nof_pmd_wake(). After fork() the child has no
 * BAR: every call there returns NOF_ENICDEAD.
 * NOF_COMP_ASSIST completions (fall-back DMA) are carried out inside nof_pmd_reap() and never seen
 * by the caller. When the daemon dies, reap returns NOF_ENICDEAD from then on. */
#ifndef NOF_PMD_DRIVER_H
#define NOF_PMD_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/bar.h"
#include "nof/counters.h"
#include "nof/claim.h"
#include "nof/delta.h"
#include "nof/desc.h"
#include "nof/segment.h"
#include "nof/status.h"

struct nof_pmd;

struct nof_pmd_attach_args {
    const char *socket; /* path, or "@name" in the abstract namespace */
    uint64_t job_id;
    uint8_t job_key[NOF_JOB_KEY_BYTES];
    uint32_t rank;
    uint32_t size;
    uint32_t nic; /* NIC core wanted, UINT32_MAX: nofd deals */
    int timeout_ms; /* for the daemon's answer; 0: 60000; to be let in 9000 at most */
    bool shares; /* ask for a slot in the job's segment on this host */
    bool shares_as_set; /* likewise, where feature "channels" is not "nic" */
    uint32_t local_ranks; /* with one of the two: of this job on this host, 0: unknown */
};

/* On failure *pmd_out is untouched and `text` (text_bytes, may be NULL) says what happened, what it
 * means and what to do. Errors: NOF_ENICDEAD (nobody listens), NOF_EVERSION, NOF_EPERM, NOF_ENOMEM,
 * NOF_EINVAL. errno after NOF_ENICDEAD: ECONNRESET where the daemon has ended, or none was there. */
int nof_pmd_attach(const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out, char *text,
                   size_t text_bytes);
/* Does a daemon that we would trust listen there? Without a word about it, and without waiting: of one whose queue is full,
 * which may be stopped, the answer is yes, and nof_pmd_attach() says what it is. */
bool nof_pmd_answers(const char *socket);
/* Closes the endpoint (what is still under way is lost: FLUSH first). Pointers into the BAR are
 * invalid afterwards. */
void nof_pmd_detach(struct nof_pmd *pmd);

const struct nof_bar_identity *nof_pmd_identity(const struct nof_pmd *pmd);

/* The segment that the ranks of the job on this host share (nof/segment.h), and its roster; until detach. */
struct nof_pmd_segment {
    uint8_t
        *base; /* NULL: it cannot be mapped (address space), and so this rank is reached by its NIC alone */
    const struct nof_roster *roster; /* its entries follow it; read-only, and nofd's word */
    uint64_t bytes;
    uint32_t nslots;
    uint32_t slot; /* ours; its bell is where nof_pmd_wait() sleeps */
};
/* NULL: not asked for, or there is none, or after a fork. */
const struct nof_pmd_segment *nof_pmd_segment(const struct nof_pmd *pmd);

/* Copies up to n descriptors into the ring; returns how many (0: full), or NOF_ENICDEAD. */
int nof_pmd_submit(struct nof_pmd *pmd, const struct nof_desc *descs, unsigned n);
/* Copies up to n completions out; returns how many, or NOF_ENICDEAD once nothing is left to reap
 * and the daemon or the endpoint is gone (nof_pmd_death() says why). */
int nof_pmd_reap(struct nof_pmd *pmd, struct nof_comp *comps, unsigned n);
/* Sleeps until a completion may be there, somebody called nof_pmd_wake(), the daemon died, or
 * timeout_ns passed (UINT64_MAX: no limit; the daemon's death is noticed within 100 ms). Returns
 * NOF_OK or NOF_ENICDEAD. Call only after reap returned 0; nothing is lost in between.
 * `seen` is the wake count read by nof_pmd_wake_count() before the last reap. */
int nof_pmd_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns);
uint32_t nof_pmd_wake_count(const struct nof_pmd *pmd);
/* For who is brought news past the ring as well, by peers that ring the bell: from begin() on, and a full fence is part of
 * it, they see that this rank is about to sleep. The caller looks at what they bring and calls nof_pmd_wait(), which
 * looks at the rest and ends it, or end(). */
void nof_pmd_wait_begin(struct nof_pmd *pmd);
void nof_pmd_wait_end(struct nof_pmd *pmd);
void nof_pmd_wake(struct nof_pmd *pmd);
/* One line on why the NIC is dead; "" while it lives. */
const char *nof_pmd_death(const struct nof_pmd *pmd);

/* Bounce arena: room for a payload until its SEND completes. NULL: none left now, or len larger
 * than the identity's bounce_max_bytes. *offset_out goes into nof_desc.addr. O(1), no system call;
 * by the submitting thread or under the caller's lock. */
void *nof_pmd_bounce_alloc(struct nof_pmd *pmd, size_t len_bytes, uint64_t *offset_out);
void nof_pmd_bounce_free(struct nof_pmd *pmd, uint64_t offset);
/* Staged payload, or NULL if offset and len do not lie in the staging area. */
const void *nof_pmd_staged(const struct nof_pmd *pmd, uint32_t offset, uint32_t len_bytes);
/* Program area, for layouts, and its size through the identity. */
void *nof_pmd_program_area(struct nof_pmd *pmd);
/* Delta messages (nof/delta.h): the boards, NULL after a fork; and the three calls that any thread may make, and a signal
 * handler. ring: slot's `ready` has changed. wait: sleeps until an arrival has changed since *board->wake was `seen`, which the
 * caller read after it set *board->asleep and before its last look; at most timeout_ns and 100 ms; NOF_OK, or NOF_ENICDEAD.
 * gone: the daemon or the endpoint is gone, by a look of its own. */
struct nof_delta_host *nof_pmd_delta_host(const struct nof_pmd *pmd);
const struct nof_delta_nic *nof_pmd_delta_nic(const struct nof_pmd *pmd);
void nof_pmd_delta_ring(struct nof_pmd *pmd, uint32_t slot);
int nof_pmd_delta_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns);
bool nof_pmd_delta_gone(const struct nof_pmd *pmd);
/* Receives that the NIC and the host know (nof/claim.h); NULL after a fork. */
struct nof_claim_words *nof_pmd_claims(const struct nof_pmd *pmd);
/* Where the daemon reads what this process's library counts, for `nof stats`: n words, each to be stored whole; NULL: it knows
 * another number of counts, or after a fork. */
uint64_t *nof_pmd_library_counts(const struct nof_pmd *pmd, uint32_t n);
/* Feature "collectives" is "nic", at this moment. */
bool nof_pmd_runs_collectives(const struct nof_pmd *pmd);
/* Feature "coll_patience_ms", as it is set now. */
uint32_t nof_pmd_coll_patience_ms(const struct nof_pmd *pmd);
/* For how long, in all, the NIC's core has not run; it wraps. Told before it takes what was submitted meanwhile. */
uint32_t nof_pmd_away_ms(const struct nof_pmd *pmd);
/* The NIC has taken all that was submitted. */
bool nof_pmd_took_all(const struct nof_pmd *pmd);
/* Feature "multicast", as it is set now. */
bool nof_pmd_multicast(const struct nof_pmd *pmd);
/* Feature "channels", as it is set now. */
enum nof_channels nof_pmd_channels(const struct nof_pmd *pmd);
/* Features "polling", "poll_ratio" and "poll_update", likewise. */
struct nof_pmd_polling {
    bool dynamic;
    uint32_t ratio, update;
};
struct nof_pmd_polling nof_pmd_polling(const struct nof_pmd *pmd);
/* Messages that have come to this endpoint and found no receive posted, modulo 2^64: as long as it stays the same as
 * before a PROBE without WAIT was submitted, another one finds no more than that one. What came before what a reaped completion tells of
 * is in it. */
uint64_t nof_pmd_unexpected(const struct nof_pmd *pmd);
/* Live counter of this endpoint; by index or by name (NOF_ENOENT if there is none). */
uint64_t nof_pmd_counter(const struct nof_pmd *pmd, enum nof_counter counter);
int nof_pmd_counter_find(const char *name, enum nof_counter *counter_out);

/* Cards as text: 64 hex digits and a NUL. parse: NOF_EINVAL if it is not one. */
void nof_card_format(const struct nof_card *card, char text[65]);
int nof_card_parse(const char *text, struct nof_card *card_out);

#endif
