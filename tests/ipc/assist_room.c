/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the host does the copies, the core may have no room for descriptors until a copy is done: a rank
 * that submits all it can before it looks for completions must not wait for ever. */
#include "hostile.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pmd_driver.h"

#define LEN 1024u /* more than a descriptor holds, little enough to go eagerly */
#define SENDS_MAX 8000u
#define FULL_TURNS \
    20 /* nothing was taken in so many of the core's: the ring is full, and the core has no room */

static uint8_t from[LEN], to[LEN];

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static struct nof_pmd *attach(struct hostile *h)
{
    struct nof_pmd_attach_args args = {
        .socket = h->socket, .job_id = hostile_random(h) | 1, .size = 1, .nic = 0};
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = 0};
    struct nof_pmd *pmd = NULL;
    char text[256] = "";

    if (nof_pmd_attach(&args, &pmd, text, sizeof(text)) != NOF_OK)
        fprintf(stderr, "%s\n", text);
    check(pmd != NULL);
    check_equal(nof_pmd_identity(pmd)->dma, NOF_DMA_ASSIST);
    memcpy(peer.inline_data, &nof_pmd_identity(pmd)->card, sizeof(struct nof_card));
    check_equal(nof_pmd_submit(pmd, &peer, 1), 1);
    return pmd;
}

/* The core has made a turn: a feature is set between two. */
static void turn(struct hostile *h)
{
    static char answer[4096];

    check(hostile_control(h,
                          "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\","
                          "\"params\":{\"name\":\"pacing\",\"value\":\"on\"}}",
                          answer, sizeof(answer)));
    check(strstr(answer, "result") != NULL);
}

/* Until `most` are submitted, or the ring stays full. Returns how many were. */
static unsigned submit(struct hostile *h, struct nof_pmd *pmd, uint8_t opcode, void *buffer, unsigned most)
{
    struct nof_desc desc = {
        .opcode = opcode, .peer = 0, .tag = 1, .len = LEN, .addr = (uint64_t)(uintptr_t)buffer};
    unsigned n = 0;

    for (int turns = 0; n < most && turns < FULL_TURNS; turns++) {
        int rc = nof_pmd_submit(pmd, &desc, 1);

        check(rc >= 0);
        n += (unsigned)rc;
        if (rc > 0)
            turns = 0;
        else
            turn(h);
    }
    return n;
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--dma", "assist", NULL};
    struct nof_comp comps[64];
    unsigned sends, sent = 0, received = 0;
    struct hostile h;

    hostile_start(&h, argc, argv, args);
    struct nof_pmd *pmd = attach(&h);
    memset(from, 7, sizeof(from));
    check_equal(submit(&h, pmd, NOF_DESC_RECV, to, SENDS_MAX), SENDS_MAX);
    sends = submit(&h, pmd, NOF_DESC_SEND, from, SENDS_MAX);
    printf("%u sends before the first look at a completion\n", sends);
    check(sends < SENDS_MAX);
    for (int ms = 0; ms < CHECK_PATIENCE_MS && (sent < sends || received < sends); ms++) {
        int n = nof_pmd_reap(pmd, comps, 64);

        check(n >= 0);
        for (int i = 0; i < n; i++) {
            check_equal(comps[i].status, NOF_OK);
            sent += comps[i].opcode == NOF_COMP_SEND;
            received += comps[i].opcode == NOF_COMP_RECV;
        }
        if (n > 0)
            ms = 0;
        else
            nap();
    }
    check_equal(sent, sends);
    check_equal(received, sends);
    nof_pmd_detach(pmd);
    hostile_end(&h);
    return 0;
}
