/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects: keys with values, in the order in which the keys were first set (MPI 4.1, 10).
 *
 * Legal at any time, also before MPI_Init and after MPI_Finalize. Threads: under the library's lock. */
#ifndef NOF_MPI_INFO_H
#define NOF_MPI_INFO_H

#include "base/lib.h"

struct nof_info_entry {
    char *key;
    char *value;
};

struct nof_info {
    struct nof_info_entry *entries;
    int count;
    int capacity;
};

/* The value of a key, which the object owns; NULL when the key is not set (or info is NULL). */
const char *nof_info_get(const struct nof_info *info, const char *key);

/* MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE when one is too long (or the key empty), MPI_ERR_NO_MEM. */
int nof_info_set(struct nof_info *info, const char *key, const char *value);

int nof_info_check_key(const char *key);

int nof_info_copy(const struct nof_info *from, struct nof_info *to);

/* False: the key is not set. */
bool nof_info_remove(struct nof_info *info, const char *key);
/* Give back all that it holds. */
void nof_info_clear(struct nof_info *info);

/* Of info_handle.c. */

/* Object behind a handle, MPI_INFO_ENV included, with the error the standard names. */
int nof_info_check(MPI_Info handle, struct nof_info **info_out);

/* For arguments that may be MPI_INFO_NULL: *info_out is NULL then. */
int nof_info_check_optional(MPI_Info handle, struct nof_info **info_out);

/* A new object with a handle for the program. *info_out (may be NULL) to fill it in. */
int nof_info_new(MPI_Info *handle_out, struct nof_info **info_out);

/* Drop an object that the library made with nof_info_new(). */
void nof_info_drop(MPI_Info handle);

/* Of info_env.c. */

/* The keys of MPI_INFO_ENV (MPI 4.1, 11.2.2) that a process knows by itself. argc < 0: the arguments
 * are the process's own. */
int nof_info_fill_env(struct nof_info *info, int argc, char *const *argv);

/* Those that MPI_Init finds out. */
int nof_info_fill_job(struct nof_info *info);

#endif
