/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the host driver: what attach fills in and the hot path uses.
 *
 * Threads: `submit_*` belong to the submitting thread, `reap_*` to the reaping one; the death fields are
 * under death_lock, `state` is read without. */
#ifndef NOF_PMD_STATE_H
#define NOF_PMD_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include "bounce.h"
#include "nof_private/descriptor.h"
#include "nof_private/ring.h"
#include "pmd_driver.h"

enum nof_pmd_state { NOF_PMD_ALIVE = 1, NOF_PMD_DEAD = 2, NOF_PMD_FORKED = 3 };

#define NOF_PMD_LOOK_NS 100000000u /* the life line is looked at this often */
#define NOF_PMD_CACHE_LINE 64

struct nof_pmd {
    uint32_t state; /* enum nof_pmd_state */
    bool assist;
    struct nof_descriptor socket;
    struct nof_descriptor doorbell;
    struct rte_ring *submit_ring;
    struct rte_ring *complete_ring;
    struct nof_host_words *host_words;
    uint32_t *wake; /* where this process sleeps: its host words, or the bell of its slot */
    uint32_t *asleep;
    const struct nof_nic_words *nic_words;
    const uint64_t *counters;
    const uint64_t *unexpected;
    unsigned char *bar;
    struct nof_bar_identity identity; /* our copy, validated */
    struct nof_pmd_segment shared; /* nslots 0: none */
    struct nof_segment_bell *bells; /* NULL: none */
    uint64_t roster_bytes;
    struct nof_pmd *next; /* list for fork */

    _Alignas(NOF_PMD_CACHE_LINE) struct nof_bounce bounce;

    _Alignas(NOF_PMD_CACHE_LINE) uint32_t reap_idle; /* empty reaps since the clock was read */

    _Alignas(NOF_PMD_CACHE_LINE) uint64_t looked_ns; /* atomic: when the life line was looked at */
    pthread_mutex_t death_lock;
    char death[256];
};

/* pmd_assist.c */

/* Carries out one NOF_COMP_ASSIST and writes the answer; the doorbell is the caller's. Reaping thread. */
void nof_pmd_assist(struct nof_pmd *pmd, const struct nof_comp *comp);

/* pmd_map.c */

/* Checks the daemon's reply against the descriptors and maps it. On failure nothing stays mapped, and
 * `text` says why. The descriptors remain the caller's. */
int nof_pmd_map(struct nof_pmd *pmd, const struct nof_attach_reply *reply, const int fds[NOF_BAR_FDS],
                char *text, size_t text_bytes);

struct nof_pmd_said {
    char *text; /* NULL: nobody wants to know */
    size_t text_bytes;
};

/* What the daemon says makes no sense: NOF_EVERSION. */
int nof_pmd_refuse(const struct nof_pmd_said *said, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* pmd_segment.c */

/* Likewise the segment, after the BAR. NOF_OK as well if there is none. */
int nof_pmd_map_segment(struct nof_pmd *pmd, const struct nof_attach_reply *reply,
                        const int fds[NOF_BAR_FDS_MAX], char *text, size_t text_bytes);
void nof_pmd_unmap_segment(struct nof_pmd *pmd);

#endif
