/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chan/nic/chan_nic.h"

/* Each rank publishes its card, and rank 0 those of every BLOCK ranks again in one value, so that who talks to all others does not ask
 * the launcher once for each: with 1000 ranks those are a million questions. An entry is what the rank itself has published, or, where
 * one before it in the block is on the same NIC, how it differs: "=<which entry>.<endpoint>.<generation>.<pid>", the first three in
 * hex. A block whose ranks are on too many NICs for one value is NOT_TOGETHER, and they are asked for one by one. */
#define BLOCK 16
#define NOT_TOGETHER "-"

static void card_key(int world_rank, char key[32])
{
    snprintf(key, 32, "nof-card-%d", world_rank);
}

static void own_text(char value[NOF_LAUNCH_VALUE_BYTES])
{
    char hex[NOF_CARD_HEX + 1];
    nof_card_format(&nof_chan_nic.identity->card, hex);
    snprintf(value, NOF_LAUNCH_VALUE_BYTES, "%s:%d:%u:%s", hex, (int)getpid(),
             nof_chan_nic.identity->wire_version, nof_lib.host);
}

int nof_chan_nic_card_text(int world_rank, char value[NOF_LAUNCH_VALUE_BYTES])
{
    char key[32];
    if (world_rank == nof_lib.world_rank) {
        own_text(value);
        return 0;
    }
    card_key(world_rank, key);
    return nof_launch->get(world_rank, key, value) == 0 ? 0 : errno;
}

int nof_chan_nic_put_card(void)
{
    char key[32], value[NOF_LAUNCH_VALUE_BYTES];
    card_key(nof_lib.world_rank, key);
    own_text(value);
    return nof_launch->put(key, value);
}

static void block_key(int block, char key[32])
{
    snprintf(key, 32, "nof-cards-%d", block);
}

static int entries_of(int block)
{
    int left = nof_lib.world_size - block * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

/* The parts of "<card in hex>:<pid>:<rest>"; pid_out: what it is, rest_out: into text. False: it is no such text. */
static bool split(const char *text, struct nof_card *card, int *pid_out, const char **rest_out)
{
    char hex[NOF_CARD_HEX + 1] = "";
    int at = 0;
    if (strnlen(text, NOF_CARD_HEX) < NOF_CARD_HEX)
        return false;
    memcpy(hex, text, NOF_CARD_HEX);
    if (nof_card_parse(hex, card) != NOF_OK || sscanf(text + NOF_CARD_HEX, ":%d:%n", pid_out, &at) != 1 ||
        at == 0)
        return false;
    *rest_out = text + NOF_CARD_HEX + at;
    return true;
}

static bool same_nic(struct nof_card a, const struct nof_card *b)
{
    a.endpoint = b->endpoint;
    a.generation = b->generation;
    return memcmp(&a, b, sizeof(a)) == 0;
}

/* As it is published in a block behind those of `before`, into text. */
static int entry(char (*before)[NOF_LAUNCH_VALUE_BYTES], int n, const char *own, char *text,
                 size_t text_bytes)
{
    struct nof_card card, other;
    const char *rest, *other_rest;
    int pid, other_pid;
    if (!split(own, &card, &pid, &rest) || strchr(own, ',') != NULL)
        return -1;
    for (int i = 0; i < n; i++)
        if (split(before[i], &other, &other_pid, &other_rest) && same_nic(card, &other) &&
            strcmp(rest, other_rest) == 0)
            return snprintf(text, text_bytes, "=%x.%x.%x.%d,", (unsigned)i, card.endpoint, card.generation,
                            pid);
    return snprintf(text, text_bytes, "%s,", own);
}

static int put_block(int block)
{
    char own[BLOCK][NOF_LAUNCH_VALUE_BYTES], value[NOF_LAUNCH_VALUE_BYTES] = "", key[32];
    size_t len = 0;
    for (int i = 0; i < entries_of(block); i++) {
        int rc = nof_chan_nic_card_text(block * BLOCK + i, own[i]);
        if (rc != 0)
            return -1;
        rc = entry(own, i, own[i], value + len, sizeof(value) - len);
        if (rc < 0 || len + (size_t)rc >= sizeof(value)) {
            snprintf(value, sizeof(value), NOT_TOGETHER);
            break;
        }
        len += (size_t)rc;
    }
    block_key(block, key);
    nof_chan_nic.cards[block] = strdup(value); /* so that it asks for none of them again; NULL: it does */
    return nof_launch->put(key, value);
}

int nof_chan_nic_put_cards(void)
{
    int rc = 0;
    for (int block = 0; rc == 0 && block * BLOCK < nof_lib.world_size; block++)
        rc = put_block(block);
    return rc;
}

/* Entry i of a block, into value. False: it has none. */
static bool copy_entry(const char *block, int i, char value[NOF_LAUNCH_VALUE_BYTES])
{
    const char *at = block;
    for (; i > 0 && at != NULL; i--) {
        at = strchr(at, ',');
        at = at == NULL ? NULL : at + 1;
    }
    const char *end = at == NULL ? NULL : strchr(at, ',');
    if (end == NULL || end == at)
        return false;
    memcpy(value, at, (size_t)(end - at));
    value[end - at] = '\0';
    return true;
}

/* What the rank of entry i has published. False: the block does not say. */
static bool read_entry(const char *block, int i, char value[NOF_LAUNCH_VALUE_BYTES])
{
    char first[NOF_LAUNCH_VALUE_BYTES], hex[NOF_CARD_HEX + 1];
    unsigned of, endpoint, generation;
    struct nof_card card;
    const char *rest;
    int pid, first_pid;
    if (!copy_entry(block, i, value))
        return false;
    if (value[0] != '=')
        return true;
    if (sscanf(value, "=%x.%x.%x.%d", &of, &endpoint, &generation, &pid) != 4 || of >= (unsigned)i ||
        endpoint > UINT16_MAX || generation > UINT16_MAX || !copy_entry(block, (int)of, first) ||
        !split(first, &card, &first_pid, &rest))
        return false;
    card.endpoint = (uint16_t)endpoint;
    card.generation = (uint16_t)generation;
    nof_card_format(&card, hex);
    return snprintf(value, NOF_LAUNCH_VALUE_BYTES, "%s:%d:%s", hex, pid, rest) < NOF_LAUNCH_VALUE_BYTES;
}

/* Asked for once. 0, or the errno. */
static int fetch_block(int block)
{
    char key[32], value[NOF_LAUNCH_VALUE_BYTES] = "";
    if (nof_chan_nic.cards[block] != NULL)
        return 0;
    block_key(block, key);
    if (nof_launch->get(0, key, value) != 0)
        return errno;
    nof_chan_nic.cards[block] = strdup(value);
    return nof_chan_nic.cards[block] != NULL ? 0 : ENOMEM;
}

int nof_chan_nic_cards_open(void)
{
    nof_chan_nic.cards = calloc((size_t)(nof_lib.world_size - 1) / BLOCK + 1, sizeof(*nof_chan_nic.cards));
    return nof_chan_nic.cards == NULL ? -1 : 0;
}

int nof_chan_nic_card_together(int world_rank, char value[NOF_LAUNCH_VALUE_BYTES])
{
    int block = world_rank / BLOCK;
    int rc = nof_chan_nic.cards == NULL ? ENOENT : fetch_block(block);
    if (rc != 0)
        return rc;
    return read_entry(nof_chan_nic.cards[block], world_rank % BLOCK, value) ? 0 : ENOENT;
}
