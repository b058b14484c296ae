/* SPDX-License-Identifier: BSD-3-Clause */
/* Cards of many ranks in one value of a launcher: what is read is what each rank published, however they lie on NICs; where they do
 * not fit together, and where a block is no such text, it is said so, and they are asked for one by one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "chan/nic/chan_nic.h"

enum { RANKS = 1000, VALUES = 64, BLOCK = 16 };

struct nof_lib nof_lib;
struct nof_chan_nic nof_chan_nic;

static struct {
    char key[32], value[NOF_LAUNCH_VALUE_BYTES];
} values[VALUES];
static int value_count, gets, nics, refusal;
static const char *host;

static void text_of(int world_rank, char value[NOF_LAUNCH_VALUE_BYTES])
{
    int nic = world_rank % nics;
    struct nof_card card = {.nic_id = 0x1234567890u + (uint64_t)nic,
                            .ip4 = 0x0a000001u + (uint32_t)nic,
                            .udp_port = 48620,
                            .endpoint = (uint16_t)(world_rank / nics),
                            .generation = (uint16_t)(world_rank * 77),
                            .host_id = 5,
                            .segment_id = 99};
    char hex[NOF_CARD_HEX + 1];
    nof_card_format(&card, hex);
    snprintf(value, NOF_LAUNCH_VALUE_BYTES, "%s:%d:3:%s", hex, 4000000 + world_rank, host);
}

static int put(const char *key, const char *value)
{
    check(value_count < VALUES && strlen(value) < sizeof(values[0].value));
    snprintf(values[value_count].key, sizeof(values[0].key), "%s", key);
    snprintf(values[value_count++].value, sizeof(values[0].value), "%s", value);
    return 0;
}

static int get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    errno = refusal != 0 ? refusal : ENOENT;
    if (strncmp(key, "nof-card-", 9) == 0) {
        check(rank == atoi(key + 9));
        text_of(rank, value);
        return 0;
    }
    check(rank == 0);
    gets++;
    for (int i = 0; i < value_count && refusal == 0; i++)
        if (strcmp(values[i].key, key) == 0) {
            snprintf(value, NOF_LAUNCH_VALUE_BYTES, "%s", values[i].value);
            return 0;
        }
    return -1;
}

static const struct nof_launch_ops ops = {.name = "test", .title = "a test", .put = put, .get = get};
const struct nof_launch_ops *nof_launch = &ops;

static void be(int rank, int size)
{
    for (int i = 0; nof_chan_nic.cards != NULL && i <= (nof_lib.world_size - 1) / BLOCK; i++)
        free(nof_chan_nic.cards[i]);
    free(nof_chan_nic.cards);
    nof_chan_nic.cards = NULL;
    nof_lib.world_rank = rank;
    nof_lib.world_size = size;
    gets = 0;
    check(nof_chan_nic_cards_open() == 0);
}

/* together: in one value, or one by one. */
static void cards(int size, int of_nics, const char *on, bool together)
{
    char own[NOF_LAUNCH_VALUE_BYTES], told[NOF_LAUNCH_VALUE_BYTES];
    nics = of_nics;
    host = on;
    value_count = 0;
    be(-1, size); /* nobody's own card is among them */
    check(nof_chan_nic_put_cards() == 0 && value_count == (size - 1) / BLOCK + 1);
    be(size - 1, size);
    for (int rank = 0; rank < size; rank++) {
        int rc = nof_chan_nic_card_together(rank, told);
        check(rc == (together ? 0 : ENOENT));
        text_of(rank, own);
        check(!together || strcmp(own, told) == 0);
    }
    check(gets == value_count);
}

static void is_bad(const char *text, int rank)
{
    char told[NOF_LAUNCH_VALUE_BYTES];
    be(1, BLOCK);
    value_count = 0;
    check(put("nof-cards-0", text) == 0);
    check(nof_chan_nic_card_together(rank, told) == ENOENT);
}

int main(void)
{
    char far[NOF_LAUNCH_VALUE_BYTES] = "", told[NOF_LAUNCH_VALUE_BYTES];

    cards(RANKS, 1, "node-17", true);
    cards(RANKS, 2, "node-17.cluster", true);
    cards(3, 3, "n", true);
    cards(17, 1, "n", true);
    cards(BLOCK, BLOCK, "n", false); /* sixteen NICs: too long */
    cards(BLOCK, 1, "a,b", false);
    memset(far, 'h', 400);
    cards(BLOCK, 1, far, false);

    refusal = ETIMEDOUT;
    be(1, BLOCK);
    check(nof_chan_nic_card_together(3, told) == ETIMEDOUT);
    refusal = 0;

    static const char *const bad[] = {
        "", "-", ",", "=0.1.1.1,", "x,=0.1.1.1,", "x,=1.1.1.1,", "x,=0.10000.1.1,", "x,=0,"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_bad(bad[i], bad[i][0] == 'x' ? 1 : 0);
    is_bad("a,b,", 2);
    be(1, 1);
    free(nof_chan_nic.cards);
    return 0;
}
