/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A distributed shared memory in software, as far as its barriers: of `nof bench dsm`, as a program (dsm_mpi.c) and in the
 * simulator (tests/sim/library/image_timed.c). Each rank is the home of as many pages, and everybody has a copy of each. In
 * an iteration each rank writes as many pages, wherever they are at home, and a barrier makes all copies alike, as eager release
 * consistency with homes does it: what was written goes to its home, and from there to all that have not written it.
 *
 *   dsm_allocate() -> dsm_write(), dsm_barrier(), dsm_verify(), again and again -> dsm_free()
 *
 * Each rank knows what it sends and nothing else, so lengths are told first. dsm_dynamic: by a message from each to each, and
 * then all pages at once, point to point; dsm_level1: by compiled communication, which tells them. */
#ifndef NOF_BENCH_PROGRAMS_DSM_H
#define NOF_BENCH_PROGRAMS_DSM_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef NOF_COMPILED
#include "mpi_offload.h"
#endif

#define DSM_PAGE_BYTES 4096
#define DSM_PAGE_WORDS (DSM_PAGE_BYTES / (int)sizeof(uint64_t))
#define DSM_RECORD_BYTES ((int)sizeof(int64_t) + DSM_PAGE_BYTES) /* a page behind its number */
#define DSM_TELL_TAG 1
#define DSM_PAGE_TAG 2

struct dsm {
    int rank, size;
    int each; /* pages of a home */
    int *
        writer; /* of each page, in this iteration; a rank looks for what it wrote, and who wrote what came home */
    int *order;
    unsigned char *memory; /* this rank's copy of all pages */
    int *to, *to_at, *from, *from_at; /* bytes for each rank, and where they lie */
    unsigned char *out, *in;
    MPI_Request *request;
};

typedef void dsm_exchange_fn(struct dsm *d);

/* The program's own: does not return. */
static void dsm_fail(const char *what);

static void *dsm_room(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (memory == NULL)
        dsm_fail("no memory");
    return memory;
}

static uint64_t dsm_mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t dsm_word(int page, int iteration, int at)
{
    return dsm_mixed(((uint64_t)(unsigned)page << 40) ^ ((uint64_t)(unsigned)iteration << 16) ^ (unsigned)at);
}

static unsigned char *dsm_page(const struct dsm *d, int page)
{
    return d->memory + (size_t)page * DSM_PAGE_BYTES;
}

/* Who writes which page: as many each, the same at all ranks. */
static void dsm_draw_writers(struct dsm *d, int iteration)
{
    int pages = d->size * d->each;
    for (int i = 0; i < pages; i++)
        d->order[i] = i;
    for (int i = pages - 1; i > 0; i--) {
        int k = (int)(dsm_word(i, iteration, 0) % (unsigned)(i + 1)), was = d->order[i];
        d->order[i] = d->order[k];
        d->order[k] = was;
    }
    for (int i = 0; i < pages; i++)
        d->writer[d->order[i]] = i / d->each;
}

static void dsm_write(struct dsm *d, int iteration)
{
    for (int i = 0; i < d->size * d->each; i++)
        for (int k = 0; d->writer[i] == d->rank && k < DSM_PAGE_WORDS; k++) {
            uint64_t word = dsm_word(i, iteration, k);
            memcpy(dsm_page(d, i) + (size_t)k * sizeof(word), &word, sizeof(word));
        }
}

static void dsm_lay_out(const struct dsm *d, const int *count, int *at)
{
    at[0] = 0;
    for (int i = 1; i < d->size; i++)
        at[i] = at[i - 1] + count[i - 1];
}

/* numbered: who gets it does not know which page it is. */
static void dsm_append(struct dsm *d, int peer, int page, int numbered)
{
    unsigned char *at = d->out + d->to_at[peer] + d->to[peer];
    int64_t number = page;
    if (numbered)
        memcpy(at, &number, sizeof(number));
    memcpy(at + (numbered ? sizeof(number) : 0), dsm_page(d, page), DSM_PAGE_BYTES);
    d->to[peer] += numbered ? DSM_RECORD_BYTES : DSM_PAGE_BYTES;
}

/* What came home. */
static void dsm_apply_numbered(struct dsm *d)
{
    for (int i = 0; i < d->size; i++)
        for (int k = 0; k < d->from[i]; k += DSM_RECORD_BYTES) {
            const unsigned char *record = d->in + d->from_at[i] + k;
            int64_t page;
            memcpy(&page, record, sizeof(page));
            if (page < (int64_t)d->rank * d->each || page >= (int64_t)(d->rank + 1) * d->each)
                dsm_fail("a page came that is not at home here");
            memcpy(dsm_page(d, (int)page), record + sizeof(page), DSM_PAGE_BYTES);
        }
}

/* What came from there: all pages of a home but those that were written here. */
static void dsm_apply(struct dsm *d)
{
    for (int i = 0; i < d->size; i++) {
        int at = 0;
        for (int page = i * d->each; i != d->rank && page < (i + 1) * d->each; page++)
            if (d->writer[page] != d->rank) {
                if (at + DSM_PAGE_BYTES > d->from[i])
                    dsm_fail("a page did not come");
                memcpy(dsm_page(d, page), d->in + d->from_at[i] + at, DSM_PAGE_BYTES);
                at += DSM_PAGE_BYTES;
            }
    }
}

static void dsm_dynamic(struct dsm *d)
{
    MPI_Request *r = d->request;
    int n = 0;
    for (int i = 1; i < d->size; i++) {
        int from = (d->rank + d->size - i) % d->size;
        MPI_Irecv(&d->from[from], 1, MPI_INT, from, DSM_TELL_TAG, MPI_COMM_WORLD, &r[n++]);
    }
    for (int i = 1; i < d->size; i++) {
        int to = (d->rank + i) % d->size;
        MPI_Isend(&d->to[to], 1, MPI_INT, to, DSM_TELL_TAG, MPI_COMM_WORLD, &r[n++]);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    dsm_lay_out(d, d->from, d->from_at);
    n = 0;
    for (int i = 0; i < d->size; i++)
        if (d->from[i] > 0)
            MPI_Irecv(d->in + d->from_at[i], d->from[i], MPI_BYTE, i, DSM_PAGE_TAG, MPI_COMM_WORLD, &r[n++]);
    for (int i = 0; i < d->size; i++)
        if (d->to[i] > 0)
            MPI_Isend(d->out + d->to_at[i], d->to[i], MPI_BYTE, i, DSM_PAGE_TAG, MPI_COMM_WORLD, &r[n++]);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}

#ifdef NOF_COMPILED
static void dsm_level1(struct dsm *d)
{
    MPIX_Coll coll;
    MPIX_Alltoallv_control1_told(d->to, d->to_at, MPI_BYTE, d->from, d->from_at, MPI_BYTE, MPI_COMM_WORLD,
                                 &coll);
    MPIX_Alltoallv_data_trans2(d->out, d->in, coll);
    MPIX_Coll_free(&coll);
}
#endif

/* Room for as many pages to each rank as a home has. */
static void dsm_begin(struct dsm *d)
{
    for (int i = 0; i < d->size; i++) {
        d->to[i] = d->from[i] = 0;
        d->to_at[i] = i * d->each * DSM_RECORD_BYTES;
    }
}

static void dsm_barrier(struct dsm *d, dsm_exchange_fn *exchange)
{
    dsm_begin(d);
    for (int i = 0; i < d->size * d->each; i++)
        if (d->writer[i] == d->rank && i / d->each != d->rank)
            dsm_append(d, i / d->each, i, 1);
    exchange(d);
    dsm_apply_numbered(d);
    dsm_begin(d);
    for (int i = d->rank * d->each; i < (d->rank + 1) * d->each; i++)
        for (int k = 0; k < d->size; k++)
            if (k != d->rank && k != d->writer[i])
                dsm_append(d, k, i, 0);
    exchange(d);
    dsm_apply(d);
}

static void dsm_verify(const struct dsm *d, int iteration, int words)
{
    for (int i = 0; i < d->size * d->each; i++)
        for (int k = 0; k < words; k++) {
            uint64_t word;
            memcpy(&word, dsm_page(d, i) + (size_t)k * sizeof(word), sizeof(word));
            if (word != dsm_word(i, iteration, k))
                dsm_fail("a copy of a page is not what was written");
        }
}

static void dsm_allocate(struct dsm *d)
{
    size_t n = (size_t)d->size, pages = n * (size_t)d->each;
    d->writer = dsm_room(pages * sizeof(int)), d->order = dsm_room(pages * sizeof(int));
    d->memory = dsm_room(pages * DSM_PAGE_BYTES);
    d->to = dsm_room(n * sizeof(int)), d->to_at = dsm_room(n * sizeof(int));
    d->from = dsm_room(n * sizeof(int)), d->from_at = dsm_room(n * sizeof(int));
    d->out = dsm_room(pages * (size_t)DSM_RECORD_BYTES), d->in = dsm_room(pages * (size_t)DSM_RECORD_BYTES);
    d->request = dsm_room(2 * n * sizeof(MPI_Request));
}

static void dsm_free(struct dsm *d)
{
    free(d->writer), free(d->order);
    free(d->memory);
    free(d->to), free(d->to_at);
    free(d->from), free(d->from_at);
    free(d->out), free(d->in);
    free(d->request);
}

#endif
