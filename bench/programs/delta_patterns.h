/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tasks that compute messages from messages, page by page: of `nof bench delta`, as a program (delta_mpi.c).
 * Paper: delta send-recv, section III.
 *
 *   pair, cascade   a task computes from what the one before has sent, and sends it to the next
 *   ring            in each round a task computes from what came from the left in the round before, and sends to the right
 *   reduce          a binary tree, children of task t: 2t + 1 and 2t + 2. A task computes numbers of its own, adds its
 *                   children's, and sends the sums to its parent
 *
 * Without increments a task receives a message as a whole before it uses it, and sends it when all of it is computed. */
#ifndef NOF_BENCH_PROGRAMS_DELTA_PATTERNS_H
#define NOF_BENCH_PROGRAMS_DELTA_PATTERNS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_offload.h"

#define DELTA_PAGE 4096u
#define DELTA_WORDS (DELTA_PAGE / sizeof(uint32_t))
#define DELTA_INPUTS 2
#define DELTA_BUFFERS 6
#define DELTA_ROUNDS 4u /* of the ring */
#define DELTA_TAG 7

enum delta_form { DELTA_BLOCKING, DELTA_NONBLOCKING, DELTA_INCREMENTS, DELTA_FORMS };

struct delta {
    int rank, tasks;
    bool by_os; /* pages tell what is ready; else calls */
    enum delta_form form;
    int64_t page_ns; /* of computing */
    size_t bytes; /* of a message: whole pages */
    uint32_t *in[DELTA_BUFFERS], *out[DELTA_BUFFERS];
};

/* The program's own. fail() does not return. */
static void delta_fail(const char *what);
/* Computing takes place from now on; so long, without a word. */
static void delta_begin_computing(void);
static void delta_compute(int64_t ns);
/* Before a task reads or writes there, and calls to tell or to ask. */
static void delta_touch(const void *address, size_t bytes, bool writes);
static void delta_called(void);

#define DELTA_OK(call) ((call) == MPI_SUCCESS ? (void)0 : delta_fail(#call))

/* What one task makes; after n tasks it is n times that. */
static uint32_t delta_own(size_t word)
{
    return (uint32_t)word * 2654435761u + 1;
}

/* What a task works on. */
struct delta_work {
    const uint32_t *from[DELTA_INPUTS]; /* NULL: none */
    uint32_t times[DELTA_INPUTS]; /* how many tasks made what comes from there */
    uint32_t *to;
    MPI_Request sent; /* MPI_REQUEST_NULL: nobody is told before the end */
};

static void delta_await(const struct delta *d, const void *at, size_t bytes)
{
    if (d->form != DELTA_INCREMENTS || d->by_os)
        return;
    delta_called();
    DELTA_OK(MPIX_Delta_wait_data(at, (MPI_Count)bytes));
}

static void delta_tell(const struct delta *d, MPI_Request sent, const void *at, size_t bytes)
{
    if (sent == MPI_REQUEST_NULL || d->by_os)
        return;
    delta_called();
    DELTA_OK(MPIX_Delta_send_data(sent, at, (MPI_Count)bytes));
}

static void delta_receive(const struct delta *d, uint32_t *into, size_t bytes, int source, int tag,
                          MPI_Request *got)
{
    int n = (int)bytes;

    if (d->form == DELTA_INCREMENTS)
        DELTA_OK(MPIX_Delta_recv(into, n, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    else if (d->form == DELTA_NONBLOCKING)
        DELTA_OK(MPI_Irecv(into, n, MPI_BYTE, source, tag, MPI_COMM_WORLD, got));
    else
        DELTA_OK(MPI_Recv(into, n, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* All that came in increments has been used. */
static void delta_received(const struct delta *d, uint32_t *into)
{
    if (d->form == DELTA_INCREMENTS)
        DELTA_OK(MPIX_Delta_recv_wait(into, MPI_STATUS_IGNORE));
}

static MPI_Request delta_begin_send(const struct delta *d, const uint32_t *from, size_t bytes, int to,
                                    int tag)
{
    MPI_Request sent = MPI_REQUEST_NULL;

    if (d->form == DELTA_INCREMENTS && to != MPI_PROC_NULL)
        DELTA_OK(MPIX_Delta_send_begin(from, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &sent));
    return sent;
}

/* What has not gone yet. */
static void delta_send_rest(const struct delta *d, const uint32_t *from, size_t bytes, int to, int tag,
                            MPI_Request *sent)
{
    if (to == MPI_PROC_NULL)
        return;
    if (d->form == DELTA_INCREMENTS)
        DELTA_OK(MPIX_Delta_send_end(sent));
    else if (d->form == DELTA_NONBLOCKING)
        DELTA_OK(MPI_Isend(from, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, sent));
    else
        DELTA_OK(MPI_Send(from, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD));
}

static void delta_wait_sent(const struct delta *d, int n, MPI_Request *sent)
{
    for (int i = 0; i < n; i++)
        if (sent[i] != MPI_REQUEST_NULL)
            DELTA_OK(d->form == DELTA_INCREMENTS ? MPIX_Delta_wait(&sent[i], MPI_STATUS_IGNORE)
                                                 : MPI_Wait(&sent[i], MPI_STATUS_IGNORE));
}

static void delta_write_own(const struct delta_work *w, size_t page)
{
    delta_touch(w->to + page * DELTA_WORDS, DELTA_PAGE, true);
    for (size_t i = page * DELTA_WORDS; i < (page + 1) * DELTA_WORDS; i++)
        w->to[i] = delta_own(i);
}

static void delta_add(const struct delta_work *w, size_t page)
{
    for (int k = 0; k < DELTA_INPUTS; k++) {
        const uint32_t *from = w->from[k];
        if (from == NULL)
            continue;
        delta_touch(from + page * DELTA_WORDS, DELTA_PAGE, false);
        for (size_t i = page * DELTA_WORDS; i < (page + 1) * DELTA_WORDS; i++) {
            if (from[i] != w->times[k] * delta_own(i))
                delta_fail("a message is not what was sent");
            w->to[i] += from[i];
        }
    }
}

static void delta_await_page(const struct delta *d, const struct delta_work *w, size_t page)
{
    for (int k = 0; k < DELTA_INPUTS; k++)
        if (w->from[k] != NULL)
            delta_await(d, w->from[k] + page * DELTA_WORDS, DELTA_PAGE);
}

/* A page at a time. The numbers depend on what came. */
static void delta_work(const struct delta *d, const struct delta_work *w)
{
    delta_begin_computing();
    for (size_t page = 0; page < d->bytes / DELTA_PAGE; page++) {
        delta_await_page(d, w, page);
        for (int k = 0; k < DELTA_INPUTS; k++)
            if (w->from[k] != NULL)
                delta_touch(w->from[k] + page * DELTA_WORDS, DELTA_PAGE, false);
        delta_write_own(w, page);
        delta_add(w, page);
        delta_compute(d->page_ns);
        delta_tell(d, w->sent, w->to + page * DELTA_WORDS, DELTA_PAGE);
    }
}

/* The same where only sums depend on it. */
static void delta_work_and_add(const struct delta *d, const struct delta_work *w)
{
    delta_begin_computing();
    for (size_t page = 0; page < d->bytes / DELTA_PAGE; page++) {
        delta_write_own(w, page);
        delta_compute(d->page_ns);
        delta_await_page(d, w, page);
        delta_add(w, page);
        delta_tell(d, w->sent, w->to + page * DELTA_WORDS, DELTA_PAGE);
    }
}

/* The whole message has gone, and all that came is used. */
static void delta_end(const struct delta *d, struct delta_work *w, int to)
{
    delta_send_rest(d, w->to, d->bytes, to, DELTA_TAG, &w->sent);
    delta_wait_sent(d, 1, &w->sent);
    for (int k = 0; k < DELTA_INPUTS; k++)
        if (w->from[k] != NULL)
            delta_received(d, d->in[k]);
}

static void delta_cascade(const struct delta *d)
{
    struct delta_work w = {.to = d->out[0], .times = {(uint32_t)d->rank, 0}};
    int to = d->rank + 1 < d->tasks ? d->rank + 1 : MPI_PROC_NULL;
    MPI_Request got = MPI_REQUEST_NULL;

    if (d->rank > 0) {
        w.from[0] = d->in[0];
        delta_receive(d, d->in[0], d->bytes, d->rank - 1, DELTA_TAG, &got);
        DELTA_OK(MPI_Wait(&got, MPI_STATUS_IGNORE));
    }
    w.sent = delta_begin_send(d, w.to, d->bytes, to, DELTA_TAG);
    delta_work(d, &w);
    delta_end(d, &w, to);
}

static uint32_t delta_below(const struct delta *d, int root)
{
    uint32_t n = 0;

    for (int first = root, width = 1; first < d->tasks; first = 2 * first + 1, width *= 2)
        n += (uint32_t)(first + width <= d->tasks ? width : d->tasks - first);
    return n;
}

static void delta_reduce(const struct delta *d)
{
    struct delta_work w = {.to = d->out[0]}, own = {.to = d->out[0], .sent = MPI_REQUEST_NULL};
    int to = d->rank > 0 ? (d->rank - 1) / 2 : MPI_PROC_NULL;
    MPI_Request got[DELTA_INPUTS] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    if (d->form == DELTA_BLOCKING)
        delta_work_and_add(d, &own);
    for (int k = 0; k < DELTA_INPUTS; k++) {
        int child = 2 * d->rank + 1 + k;
        if (child >= d->tasks)
            continue;
        w.from[k] = d->in[k];
        w.times[k] = delta_below(d, child);
        delta_receive(d, d->in[k], d->bytes, child, DELTA_TAG, &got[k]);
    }
    w.sent = delta_begin_send(d, w.to, d->bytes, to, DELTA_TAG);
    if (d->form == DELTA_INCREMENTS) {
        delta_work_and_add(d, &w);
    } else {
        if (d->form == DELTA_NONBLOCKING)
            delta_work_and_add(d, &own);
        DELTA_OK(MPI_Waitall(DELTA_INPUTS, got, MPI_STATUSES_IGNORE));
        for (size_t page = 0; page < d->bytes / DELTA_PAGE; page++)
            delta_add(&w, page);
    }
    delta_end(d, &w, to);
}

/* Blocking tasks would all wait for each other. */
static void delta_ring(const struct delta *d)
{
    int left = (d->rank + d->tasks - 1) % d->tasks, right = (d->rank + 1) % d->tasks;
    MPI_Request sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, got = MPI_REQUEST_NULL;
    bool increments = d->form == DELTA_INCREMENTS;

    for (uint32_t round = 0; round < DELTA_ROUNDS; round++) {
        uint32_t *last = d->in[(round + 1) % 2];
        struct delta_work w = {.to = d->out[round % 2], .times = {round, 0}};

        w.from[0] = round > 0 ? last : NULL;
        delta_receive(d, d->in[round % 2], d->bytes, left, DELTA_TAG, &got);
        delta_wait_sent(d, 1, &sent[round % 2]);
        w.sent = delta_begin_send(d, w.to, d->bytes, right, DELTA_TAG);
        delta_work(d, &w);
        delta_send_rest(d, w.to, d->bytes, right, DELTA_TAG, &w.sent);
        sent[round % 2] = w.sent;
        if (!increments) {
            DELTA_OK(MPI_Wait(&got, MPI_STATUS_IGNORE));
            delta_wait_sent(d, 1, &sent[round % 2]);
        } else if (round > 0) {
            delta_received(d, last);
        }
    }
    delta_wait_sent(d, 2, sent);
    delta_received(d, d->in[(DELTA_ROUNDS - 1) % 2]);
}

struct delta_pattern {
    const char *name;
    void (*run)(const struct delta *d);
    enum delta_form base; /* that increments are compared with */
};

#endif
