/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: the launcher's side of PMI-1. Input: pieces of (rank, length, bytes). Whatever ranks send, replies
 * are whole lines and the server stays in its bounds. */
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"
#include "pmi_server.h"

#define RANKS 3u

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void reply(void *ctx, unsigned rank, const char *line, size_t len)
{
    (void)ctx;
    if (rank >= RANKS || len == 0 || line[len - 1] != '\n' || memchr(line, '\n', len) != line + len - 1)
        abort();
}

static void abort_job(void *ctx, unsigned rank, int code, bool called)
{
    (void)ctx;
    (void)code;
    (void)called;
    if (rank >= RANKS)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static const struct nof_pmi_ops ops = {.reply = reply, .abort = abort_job};
    struct nof_pmi *pmi = nof_pmi_new(RANKS, 2, "job1", &ops, NULL);
    unsigned gone = 0;

    if (pmi == NULL)
        return 0;
    while (size >= 2) {
        unsigned rank = data[0] % RANKS;
        size_t len = data[1];

        data += 2;
        size -= 2;
        len = len < size ? len : size;
        if ((gone & 1u << rank) == 0 && nof_pmi_feed(pmi, rank, (const char *)data, len) == NOF_EPROTO) {
            if (nof_pmi_error(pmi)[0] == '\0')
                abort();
            nof_pmi_gone(pmi, rank);
            gone |= 1u << rank;
        }
        data += len;
        size -= len;
    }
    nof_pmi_delete(pmi);
    return 0;
}
