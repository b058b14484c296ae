/* SPDX-License-Identifier: BSD-3-Clause */
/* What the environment says of polling (polling.h): it goes before features "polling", "poll_ratio" and "poll_update", which then
 * change nothing for this process.
 *
 *   NOF_POLLING=static|dynamic   NOF_POLL_RATIO=1..1000   NOF_POLL_UPDATE=1..1000 */
#ifndef NOF_MPI_POLLING_ENV_H
#define NOF_MPI_POLLING_ENV_H

#include <stddef.h>

#include "base/polling.h"

struct nof_polling_env {
    bool told; /* of the three, this one: */
    bool dynamic;
    uint32_t ratio, update; /* 0: it says nothing */
};

/* 0, or -1 and a sentence in text. */
int nof_polling_env_read(struct nof_polling_env *env_out, char *text, size_t text_bytes);
/* In place of what is in *set, where it says something. */
void nof_polling_env_apply(const struct nof_polling_env *env, struct nof_polling_set *set);

#endif
