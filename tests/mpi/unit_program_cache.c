/* SPDX-License-Identifier: BSD-3-Clause */
/* Which programs stay open: equal ones are found again, by their bytes and communicator; those that run are nobody else's;
 * the ones that ran last stay; what they belong to, and a NIC without room, closes them. */
#include <string.h>

#include "../check.h"
#include "coll/program_cache.h"
#include "nof/status.h"

static unsigned opens, closes;
static int answer; /* of the next open() */
static const struct nof_chan_program *closed; /* the last one */

static int open_program(struct nof_chan_program *p, const struct nof_program_head *head, size_t bytes)
{
    check(bytes == sizeof(*head) + head->nsteps * sizeof(struct nof_program_step));
    if (answer != NOF_OK)
        return answer;
    opens++;
    p->head = head;
    p->open = true;
    return NOF_OK;
}

static void close_program(struct nof_chan_program *p)
{
    check(!p->running);
    closed = p;
    closes++;
}

static const struct nof_chan_programs nic = {.open = open_program, .close = close_program};

struct image {
    struct nof_program_head head;
    struct nof_program_step step[NOF_PROGRAM_STEPS_MAX];
};

/* So many steps, and something that tells it from others. */
static const struct image *image_of(uint32_t nsteps, uint64_t len)
{
    static struct image image;
    memset(&image, 0, sizeof(image));
    image.head = (struct nof_program_head){.magic = NOF_PROGRAM_MAGIC, .nsteps = nsteps};
    for (uint32_t i = 0; i < nsteps; i++)
        image.step[i] = (struct nof_program_step){.opcode = NOF_STEP_SEND, .len = 8};
    image.step[nsteps - 1].len = len;
    return &image;
}

static struct nof_cached_program *take_image(const struct image *image, uint32_t ctx)
{
    struct nof_cached_program *p = NULL;
    size_t bytes = sizeof(image->head) + image->head.nsteps * sizeof(image->step[0]);
    check(nof_program_cache_take(&nic, ctx, &image->head, bytes, &p) == NOF_OK && p != NULL);
    check(memcmp(p->head, image, bytes) == 0 && p->program.head == p->head && p->program.open);
    return p;
}

static struct nof_cached_program *take(uint32_t nsteps, uint64_t len, uint32_t ctx)
{
    return take_image(image_of(nsteps, len), ctx);
}

/* Taken once more, is it one that was open? */
static bool stays(uint32_t nsteps, uint64_t len, uint32_t ctx)
{
    unsigned before = opens;
    nof_program_cache_give(take(nsteps, len, ctx));
    return opens == before;
}

static void begin(void)
{
    nof_program_cache_clear();
    opens = closes = 0;
}

static void equal_ones(void)
{
    begin();
    struct nof_cached_program *a = take(3, 1, 1), *b = take(3, 1, 1);
    check(a != b && opens == 2); /* both run */
    nof_program_cache_give(a);
    check(take(3, 1, 1) == a && opens == 2);
    nof_program_cache_give(b);
    nof_program_cache_give(a);
    check(!stays(3, 2, 1) && !stays(4, 1, 1) && !stays(3, 1, 2) && opens == 5 && closes == 0);
    check(stays(3, 1, 1) && stays(3, 2, 1) && stays(4, 1, 1) && stays(3, 1, 2));
    nof_program_cache_drop(take(3, 2, 1));
    check(closes == 1 && opens == 5 && !stays(3, 2, 1));
    struct nof_cached_program *unknown = take(4, 1, 1);
    unknown->program.open = false; /* the NIC does not have it any more */
    nof_program_cache_give(unknown);
    check(closes == 2 && !stays(4, 1, 1));
    nof_program_cache_clear();
    check(closes == opens);
}

static void bounds(void)
{
    begin();
    for (uint32_t i = 0; i < NOF_PROGRAM_CACHE_PROGRAMS; i++)
        check(!stays(1, 1 + i, 1));
    check(closes == 0 && stays(1, 1, 1)); /* now the second has waited longest */
    check(!stays(1, 1000, 1) && closes == 1);
    check(stays(1, 1, 1) && stays(1, 3, 1) && closes == 1);
    check(!stays(1, 2, 1) && closes == 2 && !stays(1, 4, 1));
    /* Those that run are not counted. */
    begin();
    struct nof_cached_program *running[2 * NOF_PROGRAM_CACHE_PROGRAMS];
    for (uint32_t i = 0; i < 2 * NOF_PROGRAM_CACHE_PROGRAMS; i++)
        running[i] = take(1, i, 1);
    check(closes == 0);
    for (uint32_t i = 0; i < 2 * NOF_PROGRAM_CACHE_PROGRAMS; i++)
        nof_program_cache_give(running[i]);
    check(closes == NOF_PROGRAM_CACHE_PROGRAMS);
    /* The longest there may be has a place, and two do not. */
    begin();
    check(!stays(NOF_PROGRAM_STEPS_MAX, 1, 1) && stays(NOF_PROGRAM_STEPS_MAX, 1, 1) && !stays(1, 1, 1));
    check(!stays(NOF_PROGRAM_STEPS_MAX, 2, 1) && closes == 1 && stays(1, 1, 1));
    check(stays(NOF_PROGRAM_STEPS_MAX, 2, 1) && !stays(NOF_PROGRAM_STEPS_MAX, 1, 1));
}

static void what_they_belong_to(void)
{
    begin();
    check(!stays(2, 1, 7) && !stays(2, 1, 8) && !stays(2, 2, 7));
    struct nof_cached_program *runs = take(2, 2, 7);
    nof_program_cache_forget_comm(7);
    check(closes == 1 && stays(2, 1, 8) && !stays(2, 1, 7));
    nof_program_cache_give(runs);
    check(stays(2, 2, 7));

    begin();
    struct image image = *image_of(2, 1);
    image.step[1].flags = NOF_STEP_F_LAYOUT;
    image.step[1].layout = 5;
    image.step[1].layout_generation = 6;
    nof_program_cache_give(take_image(&image, 1));
    check(!stays(2, 1, 1));
    nof_program_cache_forget_layout(0, 0);
    nof_program_cache_forget_layout(5, 7);
    nof_program_cache_forget_layout(6, 6);
    check(closes == 0);
    nof_program_cache_forget_layout(5, 6);
    check(closes == 1 && stays(2, 1, 1));
}

static void no_room(void)
{
    struct nof_cached_program *p = NULL;
    begin();
    answer = NOF_ENOENT;
    check(nof_program_cache_take(&nic, 1, &image_of(1, 1)->head, 64, &p) == NOF_ENOENT && p == NULL);
    answer = NOF_OK;
    for (uint32_t i = 1; i <= 5; i++)
        check(!stays(1, i, 1));
    p = take(2, 1, 1);
    check(!nof_program_cache_open_again(p)); /* it is open */
    p->program.open = false;
    p->program.refused = NOF_EAGAIN;
    check(!nof_program_cache_open_again(p) && closes == 0);
    p->program.refused = NOF_ENOMEM;
    check(nof_program_cache_open_again(p) && p->program.open && closes == 2); /* two short ones are as long */
    nof_program_cache_give(p);
    check(stays(2, 1, 1) && stays(1, 5, 1) && stays(1, 3, 1) && !stays(1, 1, 1));
    p = take(2, 1, 1);
    p->program.open = false;
    p->program.refused = NOF_ENOMEM;
    nof_program_cache_clear();
    check(!nof_program_cache_open_again(p)); /* nothing makes way */
    nof_program_cache_give(take(1, 1, 1));
    answer = NOF_EAGAIN;
    check(!nof_program_cache_open_again(p));
    answer = NOF_OK;
    nof_program_cache_give(p);
    check(closed == &p->program);
}

int main(void)
{
    equal_ones();
    bounds();
    what_they_belong_to();
    no_room();
    nof_program_cache_clear();
    return 0;
}
