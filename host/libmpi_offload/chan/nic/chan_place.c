/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "base/error.h"

/* Rank 0 numbers the NICs in the order of their first ranks and publishes, in as many values as it takes, how many ranks in
 * turn are on which: "<NIC>*<ranks>," in hex. So nobody else has to ask for the card of everybody. */
#define RUN_TEXT_BYTES 20 /* of a run, at most */

static void places_key(unsigned part, char key[32])
{
    snprintf(key, 32, "nof-places-%u", part);
}

/* The number of each rank's NIC, by the ids. */
static void number_nics(const uint64_t *id, uint32_t *first)
{
    uint32_t nics = 0;
    for (int rank = 0; rank < nof_lib.world_size; rank++) {
        uint32_t at = 0;
        while (at < nics && id[first[at]] != id[rank])
            at++;
        if (at == nics)
            first[nics++] = (uint32_t)rank;
        nof_chan_nic.peers[rank].nic = at + 1;
    }
}

static int put_runs(void)
{
    char value[NOF_LAUNCH_VALUE_BYTES], key[32];
    unsigned part = 0;
    size_t len = 0;
    for (int rank = 0, run; rank < nof_lib.world_size; rank += run) {
        uint32_t nic = nof_chan_nic.peers[rank].nic;
        run = 1;
        while (rank + run < nof_lib.world_size && nof_chan_nic.peers[rank + run].nic == nic)
            run++;
        len += (size_t)snprintf(value + len, sizeof(value) - len, "%x*%x,", nic, (unsigned)run);
        if (len + RUN_TEXT_BYTES < sizeof(value) && rank + run < nof_lib.world_size)
            continue;
        places_key(part++, key);
        if (nof_launch->put(key, value) != 0)
            return -1;
        len = 0;
    }
    return 0;
}

static int publish_all(void)
{
    uint64_t *id = calloc((size_t)nof_lib.world_size, sizeof(*id));
    uint32_t *first = calloc((size_t)nof_lib.world_size, sizeof(*first));
    bool good = id != NULL && first != NULL;
    for (int rank = 0; good && rank < nof_lib.world_size; rank++)
        good = nof_chan_nic_peer_id(rank, &id[rank]) == MPI_SUCCESS;
    if (good)
        number_nics(id, first);
    free(id);
    free(first);
    return good ? put_runs() : -1;
}

int nof_chan_nic_publish_places(char *text, size_t text_bytes)
{
    bool asked_for = nof_lib.world_size >= NOF_CHAN_PLACES_MIN;
    if (nof_lib.world_size == 1)
        return 0;
    if (asked_for && nof_chan_nic_cards_open() != 0) {
        snprintf(text, text_bytes, "no memory for the cards of %d ranks", nof_lib.world_size);
        return -1;
    }
    if ((asked_for && nof_lib.world_rank == 0 && (nof_chan_nic_put_cards() != 0 || publish_all() != 0)) ||
        nof_launch->fence() != 0) {
        snprintf(text, text_bytes,
                 "the launcher (%s) did not tell, or was not told, which ranks share a NIC: it, or another "
                 "rank, ended",
                 nof_launch->title);
        return -1;
    }
    return 0;
}

/* The runs of one value, from `rank` on; where they end. -1: they cannot be read. */
static int read_runs(const char *at, int rank)
{
    while (*at != '\0') {
        char *end;
        unsigned long nic = strtoul(at, &end, 16);
        unsigned long run = *end == '*' ? strtoul(end + 1, &end, 16) : 0;
        if (*end != ',' || nic == 0 || nic > (unsigned long)nof_lib.world_size || run == 0 ||
            run > (unsigned long)(nof_lib.world_size - rank))
            return -1;
        for (; run > 0; run--)
            nof_chan_nic.peers[rank++].nic = (uint32_t)nic;
        at = end + 1;
    }
    return rank;
}

static int read_places(void)
{
    int rank = 0, next = 0;
    for (unsigned part = 0; next >= 0 && next < nof_lib.world_size; part++) {
        char key[32], value[NOF_LAUNCH_VALUE_BYTES] = "";
        places_key(part, key);
        rank = next;
        next = nof_launch->get(0, key, value) == 0 ? read_runs(value, rank) : -1;
        if (next == rank)
            next = -1;
    }
    if (next < 0)
        return nof_error(MPI_ERR_OTHER,
                         "the launcher (%s) does not tell on which NICs rank %d and those behind it are",
                         nof_launch->title, rank);
    return MPI_SUCCESS;
}

int nof_chan_nic_place_of(int world_rank, uint32_t *nic_out)
{
    const struct nof_chan_nic_peer *last = &nof_chan_nic.peers[nof_lib.world_size - 1];
    int rc = last->nic == 0 ? read_places() : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        *nic_out = nof_chan_nic.peers[world_rank].nic;
    return rc;
}
