/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages that a rank may not read or write itself are not read or written for it, whoever copies: the NIC core of a
 * private daemon, a helper of a shared one, the library. */
#include "hostile_copy.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmd_driver.h"

#define MARK 'm'

static struct nof_pmd *attach(struct hostile *h, enum nof_dma_mode mode)
{
    struct nof_pmd_attach_args args = {
        .socket = h->socket, .job_id = hostile_random(h) | 1, .size = 1, .nic = 0};
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = 0};
    struct nof_pmd *pmd = NULL;
    char text[256] = "";

    if (nof_pmd_attach(&args, &pmd, text, sizeof(text)) != NOF_OK)
        fprintf(stderr, "%s\n", text);
    check(pmd != NULL);
    check_equal(nof_pmd_identity(pmd)->dma, mode);
    memcpy(peer.inline_data, &nof_pmd_identity(pmd)->card, sizeof(struct nof_card));
    check_equal(nof_pmd_submit(pmd, &peer, 1), 1);
    return pmd;
}

/* One message to ourselves: how the completion with that opcode ends. */
static int message(struct nof_pmd *pmd, int opcode, uint32_t len, const void *from, void *to)
{
    struct nof_desc desc[2] = {
        {.opcode = NOF_DESC_RECV, .peer = 0, .tag = 1, .len = len, .addr = (uint64_t)(uintptr_t)to},
        {.opcode = NOF_DESC_SEND, .peer = 0, .tag = 1, .len = len, .addr = (uint64_t)(uintptr_t)from},
    };
    struct nof_comp comp;

    check_equal(nof_pmd_submit(pmd, desc, 2), 2);
    for (int ms = 0; ms < CHECK_PATIENCE_MS; ms++) {
        while (nof_pmd_reap(pmd, &comp, 1) == 1)
            if (comp.opcode == opcode)
                return comp.status;
        usleep(1000);
    }
    return 1;
}

static uint8_t *marked(int protection)
{
    uint8_t *page = hostile_buffer();

    memset(page, MARK, HOSTILE_LEN);
    check(mprotect(page, HOSTILE_LEN, protection) == 0);
    return page;
}

static void check_untouched(uint8_t *page)
{
    check(mprotect(page, HOSTILE_LEN, PROT_READ) == 0);
    for (unsigned i = 0; i < HOSTILE_LEN; i++)
        check(page[i] == MARK);
    munmap(page, HOSTILE_LEN);
}

/* Each on an endpoint of its own: what is left over of one that failed is not the next one's. */
static int alone(struct hostile *h, enum nof_dma_mode mode, int opcode, uint32_t len, const void *from,
                 void *to)
{
    struct nof_pmd *pmd = attach(h, mode);
    int status = message(pmd, opcode, len, from, to);

    nof_pmd_detach(pmd);
    return status;
}

static void protection_holds(struct hostile *h, enum nof_dma_mode mode, uint32_t len)
{
    uint8_t *good = hostile_buffer();
    uint8_t *read_only = marked(PROT_READ);
    uint8_t *closed = marked(PROT_NONE);

    check_equal(alone(h, mode, NOF_COMP_RECV, len, read_only, good), NOF_OK);
    check(good[0] == MARK && good[len - 1] == MARK);
    memset(good, 0, HOSTILE_LEN);
    check_equal(alone(h, mode, NOF_COMP_RECV, len, good, read_only), NOF_EFAULT);
    check_equal(alone(h, mode, NOF_COMP_RECV, len, good, closed), NOF_EFAULT);
    check_equal(alone(h, mode, NOF_COMP_SEND, len, closed, good), NOF_EFAULT);
    check_untouched(read_only);
    check_untouched(closed);
    munmap(good, HOSTILE_LEN);
}

int main(int argc, char **argv)
{
    /* Nothing is staged: every receive is a write into memory. */
    static const char *const inline_args[] = {"--staging", "0", "--private", NULL};
    static const char *const helper_args[] = {"--staging", "0", NULL};
    static const char *const assist_args[] = {"--staging", "0", "--dma", "assist", NULL};
    static const struct {
        const char *const *args;
        enum nof_dma_mode mode;
    } who[] = {
        {inline_args, NOF_DMA_DIRECT},
        {helper_args, NOF_DMA_DIRECT},
        {assist_args, NOF_DMA_ASSIST},
    };

    for (unsigned i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
        struct hostile h;
        struct nof_pmd *stays;

        hostile_start(&h, argc, argv, who[i].args);
        stays = attach(&h, who[i].mode); /* a private daemon ends with its last rank */
        protection_holds(&h, who[i].mode, 20000);
        protection_holds(&h, who[i].mode, HOSTILE_LEN);
        hostile_end(&h);
        nof_pmd_detach(stays);
    }
    return 0;
}
