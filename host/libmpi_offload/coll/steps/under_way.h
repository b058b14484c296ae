/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of a schedule that its host has under way.
 *
 *   zero -> room() -> add() -> leave(), when it has ended or is left to itself -> free()
 *
 * Rounds in turn (nof_sched_turn()) are under way together. With B the bytes of all requests here, those that are sent and those
 * that are received, and n their number,
 *
 *   the next round may begin before those before it are done => B < NOF_UNDER_WAY_BYTES and n < NOF_UNDER_WAY_REQUESTS
 *
 * so that rounds of small messages fill the link, and of large ones one waits for the other.
 *
 * Memory: its own, the requests are the caller's. A request's count and type stay as they are while it is here; its place is in
 * owner_slot. Threads: the schedule's. */
#ifndef NOF_MPI_UNDER_WAY_H
#define NOF_MPI_UNDER_WAY_H

#include <stdbool.h>
#include <stddef.h>

#define NOF_UNDER_WAY_BYTES (64u * 1024u)
#define NOF_UNDER_WAY_REQUESTS 64u

struct nof_request;

struct nof_under_way {
    struct nof_request **request; /* in no order */
    size_t count;
    size_t capacity;
    size_t bytes; /* of all of them */
};

/* For one more: false if memory is short. */
bool nof_under_way_room(struct nof_under_way *u);
void nof_under_way_add(struct nof_under_way *u, struct nof_request *req);
void nof_under_way_leave(struct nof_under_way *u, struct nof_request *req);
/* It has no requests any more. */
void nof_under_way_free(struct nof_under_way *u);

/* So little that another round in turn may begin. */
static inline bool nof_under_way_little(const struct nof_under_way *u)
{
    return u->bytes < NOF_UNDER_WAY_BYTES && u->count < NOF_UNDER_WAY_REQUESTS;
}

#endif
