/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recorded messages of a program: a file holds records of i32 destination, i32 length in bytes (little-endian) and
 * the payload, which is doubles. The program is the name of the file's folder. */
#ifndef NOF_BENCH_MESSAGES_H
#define NOF_BENCH_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#define NOF_MESSAGES_DESTINATIONS 4096u /* as many as `nof run` has ranks */

struct nof_message {
    uint32_t destination; /* < NOF_MESSAGES_DESTINATIONS */
    uint32_t len_bytes;
    const uint8_t *bytes; /* in the file's memory */
};

struct nof_messages {
    char program[64];
    uint8_t *memory;
    struct nof_message *message;
    size_t n;
    size_t bytes; /* of all messages */
    uint32_t largest_bytes;
};

/* 0, or -1 with a sentence in `why`. */
int nof_messages_read(struct nof_messages *m, const char *path, char *why, size_t why_bytes);
void nof_messages_free(struct nof_messages *m);

#endif
