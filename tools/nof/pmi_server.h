/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher's side of PMI-1, sans-IO: bytes of a rank go in, replies come out through a callback.
 *
 *   nof_pmi_new()
 *     nof_pmi_feed(rank, bytes)     as they come; may be cut anywhere
 *     nof_pmi_gone(rank)            once, when the rank has ended
 *   nof_pmi_delete()
 *
 * Knows init, get_maxes, get_appnum, get_universe_size, get_my_kvsname, put, get, getbyidx, barrier_in,
 * finalize, abort; answers what it does not know with rc=-1. A rank that sends what is not PMI, or more
 * than the bounds below allow, gets NOF_EPROTO: end it. A rank that is gone counts as arrived in every
 * barrier, so that the others are not held up.
 *
 * Threads: one. Memory: bounded by ranks x NOF_PMI_KEYS_MAX x (key + value). */
#ifndef NOF_PMI_SERVER_H
#define NOF_PMI_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#define NOF_PMI_LINE_MAX 4096
#define NOF_PMI_KEY_MAX 64
#define NOF_PMI_VALUE_MAX 1024
#define NOF_PMI_KEYS_MAX 1024 /* per rank */

enum nof_pmi_phase { NOF_PMI_NEW, NOF_PMI_INITIALIZED, NOF_PMI_FINALIZED };

struct nof_pmi_ops {
    /* One reply line, with its newline. */
    void (*reply)(void *ctx, unsigned rank, const char *line, size_t len_bytes);
    /* The rank asked for the job's end. */
    /* called: by MPI_Abort; else an error was fatal, of which the rank itself has spoken. */
    void (*abort)(void *ctx, unsigned rank, int exit_code, bool called);
};

struct nof_pmi;

/* ranks: 1.. ; hosts: 1..ranks, block distribution (told to the ranks as PMI_process_mapping). NULL: no
 * memory. `ops` must outlive it. */
struct nof_pmi *nof_pmi_new(unsigned ranks, unsigned hosts, const char *kvs_name,
                            const struct nof_pmi_ops *ops, void *ctx);
void nof_pmi_delete(struct nof_pmi *pmi);
/* NOF_OK or NOF_EPROTO (nof_pmi_error() says what was wrong). */
int nof_pmi_feed(struct nof_pmi *pmi, unsigned rank, const char *bytes, size_t n);
void nof_pmi_gone(struct nof_pmi *pmi, unsigned rank);
/* Barriers that all ranks have left. */
unsigned nof_pmi_fences(const struct nof_pmi *pmi);
enum nof_pmi_phase nof_pmi_phase(const struct nof_pmi *pmi, unsigned rank);
const char *nof_pmi_error(const struct nof_pmi *pmi);

/* Block distribution: the host of a rank. */
unsigned nof_pmi_host_of(unsigned rank, unsigned ranks, unsigned hosts);

#endif
