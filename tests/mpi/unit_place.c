/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks share a NIC, through a launcher: what rank 0 publishes is what the others read, however many values it takes; what is
 * no such text is an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "base/error.h"
#include "chan/nic/chan_nic.h"

enum { RANKS = 1000, VALUES = 64 };

struct nof_lib nof_lib;
struct nof_chan_nic nof_chan_nic;

static struct {
    char key[32], value[NOF_LAUNCH_VALUE_BYTES];
} values[VALUES];
static int value_count, fences, gets;
static uint64_t nics; /* of rank r: r * 7 modulo this */
static bool in_blocks;

static uint64_t id_of(int rank)
{
    return 0x100000000u + (in_blocks ? (uint64_t)rank / 4 : (uint64_t)rank * 7 % nics);
}

int nof_chan_nic_peer_id(int world_rank, uint64_t *id_out)
{
    *id_out = id_of(world_rank);
    return MPI_SUCCESS;
}

int nof_chan_nic_put_cards(void)
{
    return 0;
}

int nof_chan_nic_cards_open(void)
{
    return 0;
}

int nof_error(int error_class, const char *format, ...)
{
    (void)format;
    return error_class;
}

static int put(const char *key, const char *value)
{
    check(value_count < VALUES && strlen(key) < sizeof(values[0].key) &&
          strlen(value) < sizeof(values[0].value));
    strcpy(values[value_count].key, key);
    strcpy(values[value_count++].value, value);
    return 0;
}

static int fence(void)
{
    fences++;
    return 0;
}

static int get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    check(rank == 0);
    gets++;
    for (int i = 0; i < value_count; i++)
        if (strcmp(values[i].key, key) == 0) {
            strcpy(value, values[i].value);
            return 0;
        }
    return -1;
}

static const struct nof_launch_ops ops = {
    .name = "test", .title = "a test", .put = put, .fence = fence, .get = get};
const struct nof_launch_ops *nof_launch = &ops;

/* From now on this process is that rank, which knows nothing yet. */
static void be(int rank, int size)
{
    free(nof_chan_nic.peers);
    nof_chan_nic.peers = calloc((size_t)size, sizeof(*nof_chan_nic.peers));
    check(nof_chan_nic.peers != NULL);
    nof_lib.world_rank = rank;
    nof_lib.world_size = size;
    fences = gets = 0;
}

static void publish(int size)
{
    char text[256];
    value_count = 0;
    be(0, size);
    check(nof_chan_nic_publish_places(text, sizeof(text)) == 0 && fences == (size > 1));
}

static void all_know(int size)
{
    uint32_t nic[RANKS];
    for (int rank = 0; rank < size; rank++)
        check(nof_chan_nic_place_of(rank, &nic[rank]) == MPI_SUCCESS && nic[rank] != 0);
    for (int a = 0; a < size; a++)
        for (int b = 0; b < a; b++)
            check((nic[a] == nic[b]) == (id_of(a) == id_of(b)));
}

static void places(int size)
{
    publish(size);
    all_know(size);
    check(gets == 0);
    be(size - 1, size);
    all_know(size);
    check(gets == value_count);
}

static void is_bad(const char *text)
{
    uint32_t nic;
    be(1, 5);
    value_count = 0;
    check(put("nof-places-0", text) == 0);
    check(nof_chan_nic_place_of(4, &nic) == MPI_ERR_OTHER);
}

int main(void)
{
    for (nics = 1; nics <= RANKS; nics = nics * 3 + 1)
        places(RANKS);
    check(value_count > 5);
    nics = 7;
    places(3);
    in_blocks = true;
    places(RANKS);
    places(4);
    check(value_count == 1 && strcmp(values[0].value, "1*4,") == 0);
    publish(2);
    check(value_count == 0);

    static const char *const bad[] = {"",         "1*5",  "1*6,",   "1*4,",     "0*5,", "6*5,",
                                      "1*0,2*5,", "x*5,", "1,1*4,", "1*2,2*4,", "-1*5,"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_bad(bad[i]);
    free(nof_chan_nic.peers);
    return 0;
}
