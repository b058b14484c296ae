/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A place in a list of buffers of ours, for who copies a DMA request by memcpy(): the remote pieces pass one after another, the
 * local ones are filled, or emptied, as they come. */
#ifndef NOF_PRIVATE_BUF_CURSOR_H
#define NOF_PRIVATE_BUF_CURSOR_H

#include <stdbool.h>
#include <string.h>

#include "nof/port.h"

struct nof_buf_cursor {
    const struct nof_buf *at, *end;
    size_t done_bytes; /* of *at */
};

static inline struct nof_buf_cursor nof_buf_begin(const struct nof_buf *local, unsigned nlocal)
{
    return (struct nof_buf_cursor){.at = local, .end = local + nlocal};
}

/* write: from the buffers to `user`, else the other way. Stops where the buffers end; returns whether all was copied. */
static inline bool nof_buf_move(struct nof_buf_cursor *c, uint8_t *user, uint64_t len_bytes, bool write)
{
    while (len_bytes > 0 && c->at < c->end) {
        size_t room = c->at->len_bytes - c->done_bytes, n = room < len_bytes ? room : (size_t)len_bytes;
        uint8_t *ours = (uint8_t *)c->at->base + c->done_bytes;

        memcpy(write ? user : ours, write ? ours : user, n);
        user += n;
        len_bytes -= n;
        c->done_bytes += n;
        if (c->done_bytes == c->at->len_bytes) {
            c->at++;
            c->done_bytes = 0;
        }
    }
    return len_bytes == 0;
}

/* Whether no byte of the buffers is left: with nof_buf_move(), that the totals of a request are equal. */
static inline bool nof_buf_ended(const struct nof_buf_cursor *c)
{
    const struct nof_buf *at = c->at;

    while (at < c->end && at->len_bytes == 0)
        at++;
    return at == c->end;
}

#endif
