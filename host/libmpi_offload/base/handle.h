/* SPDX-License-Identifier: BSD-3-Clause */
/* Handle tables: every MPI handle that is not predefined names a slot of one of these.
 *
 *   63        32 31         4 3    0
 *   | generation | index      | kind |      index >= 0x100: above every predefined handle
 *
 * A handle is never an address, so a freed, copied or invented one is found out (wrong kind, index
 * or generation) and never followed. The low 32 bits are positive as an int: Fortran's handle.
 *
 * Memory: grows by chunks, slots never move, nothing is given back before the process ends.
 * Threads: under the library's lock. Cost: O(1), an allocation per 1024 slots. */
#ifndef NOF_MPI_HANDLE_H
#define NOF_MPI_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

enum nof_handle_kind {
    NOF_HANDLE_COMM = 1,
    NOF_HANDLE_GROUP,
    NOF_HANDLE_TYPE,
    NOF_HANDLE_OP,
    NOF_HANDLE_REQUEST,
    NOF_HANDLE_ERRHANDLER,
    NOF_HANDLE_MESSAGE,
    NOF_HANDLE_INFO,
    NOF_HANDLE_SESSION,
    NOF_HANDLE_WIN,
    NOF_HANDLE_FILE,
    NOF_HANDLE_KEYVAL,
    NOF_HANDLE_TOOL_SESSION,
    NOF_HANDLE_TOOL,
    NOF_HANDLE_COLL
};

struct nof_handle_slot {
    void *object;
    uint32_t generation;
    uint32_t next_free;
};

struct nof_handle_table {
    enum nof_handle_kind kind;
    uint32_t chunk_count;
    uint32_t chunk_capacity;
    uint32_t free_head; /* index + 1 of the first free slot, 0 = none */
    uint32_t live;
    struct nof_handle_slot **chunks;
};

/* Give `object` a handle. Returns 0 when memory or indices are exhausted. */
uint64_t nof_handle_add(struct nof_handle_table *table, void *object);

/* The object behind a handle; NULL when the handle names nothing (any more). */
void *nof_handle_get(const struct nof_handle_table *table, uint64_t handle);

/* A handle as a positive int (Fortran's handle, MPI_X_toint), and back: the handle that now has this
 * int, or one that names nothing. Predefined handles are their own value. */
int nof_handle_to_int(uint64_t handle);
uint64_t nof_handle_from_int(const struct nof_handle_table *table, int number);

/* Every object that has a handle: visit() must neither add nor remove one. first() is NULL if there is none. */
void nof_handle_each(const struct nof_handle_table *table, void (*visit)(void *object, void *arg), void *arg);
void *nof_handle_first(const struct nof_handle_table *table);

/* Forget a handle that nof_handle_get() knows; its slot gets the next generation. */
void nof_handle_remove(struct nof_handle_table *table, uint64_t handle);

#endif
