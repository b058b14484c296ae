/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DMA that the library carries out: what it is asked, what of its answers is believed, and that no slot is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/core/assist.h"
#include "nofd/core/endpoint.h"
#include "nofd/dma/dma.h"

static struct nofd_lcore lcore;
static struct nofd_dma engine = {.lcore = &lcore};
static struct nof_host_words words;
static struct nofd_endpoint ep;
static uint8_t *area;
static struct nof_comp asked[256];
static unsigned nasked, room;
static struct {
    uint64_t token;
    int status;
} ended[64];
static unsigned nended;

/* The ring of completions, and the core behind. */
unsigned nofd_endpoint_give_room(struct nofd_endpoint *of)
{
    assert_ptr_equal(of, &ep);
    return room;
}

unsigned nofd_endpoint_give(struct nofd_endpoint *of, const struct nof_comp *comps, unsigned n)
{
    assert_ptr_equal(of, &ep);
    if (n > room)
        n = room;
    room -= n;
    memcpy(&asked[nasked], comps, n * sizeof(*comps));
    nasked += n;
    return n;
}

void nof_nic_dma_done(struct nof_nic *nic, uint64_t now_ns, uint64_t token, int status)
{
    (void)nic;
    (void)now_ns;
    ended[nended].token = token;
    ended[nended++].status = status;
}

static int start(void **state)
{
    (void)state;
    area = calloc(NOF_ASSIST_SLOTS, NOF_DMA_BLOCK_BYTES);
    memset(&words, 0, sizeof(words));
    ep = (struct nofd_endpoint){.host_words = &words, .memory = {.ops = &nofd_dma_assist, .dma = &engine}};
    ep.assist = nofd_assist_create(area);
    nasked = nended = 0;
    room = 200;
    return ep.assist != NULL && area != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nofd_assist_destroy(ep.assist);
    free(area);
    return 0;
}

/* As nic_host.c does. */
static int copy(bool write, const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                unsigned nlocal, uint64_t token)
{
    int rc = ep.memory.ops->copy(&ep.memory, write, remote, nremote, local, nlocal, token);

    if (rc == NOF_DMA_PENDING)
        ep.memory.pending++;
    return rc;
}

static int copy_one(bool write, void *local, size_t bytes, uint64_t token)
{
    struct nof_segment remote = {.addr = 0x1000, .len_bytes = bytes};
    struct nof_buf buf = {.base = local, .len_bytes = bytes};

    return copy(write, &remote, 1, &buf, true, token);
}

static void answer(const struct nof_comp *ask, unsigned done, int status)
{
    words.assist[ask->assist.slot] =
        nof_assist_answer(ask->assist.generation, (uint16_t)done, (int16_t)status);
}

static void a_write_lies_in_the_area_before_the_host_is_asked(void **state)
{
    struct nof_segment remote[] = {
        {.addr = 0x1000, .len_bytes = 3}, {.addr = 0, .len_bytes = 0}, {.addr = 0x2000, .len_bytes = 5}};
    char text[] = "12345678";
    struct nof_buf local[] = {{.base = text, .len_bytes = 6}, {.base = text + 6, .len_bytes = 2}};

    (void)state;
    assert_int_equal(copy(true, remote, 3, local, 2, 42), NOF_DMA_PENDING);
    assert_int_equal(nasked, 2); /* nothing for the empty one */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(asked[i].opcode, NOF_COMP_ASSIST);
        assert_true((asked[i].flags & NOF_COMP_F_WRITE) != 0);
        assert_int_equal(asked[i].assist.slot, asked[0].assist.slot);
        assert_int_equal(asked[i].assist.generation, asked[0].assist.generation);
    }
    assert_int_equal(asked[0].assist.addr, 0x1000);
    assert_int_equal(asked[1].assist.addr, 0x2000);
    assert_int_equal(asked[1].assist.area_len, 5);
    assert_memory_equal(area + asked[0].assist.area_offset, "123", 3);
    assert_memory_equal(area + asked[1].assist.area_offset, "45678", 5);
}

static void a_read_is_taken_out_when_all_is_answered(void **state)
{
    char text[8] = "";
    struct nof_segment remote[] = {{.addr = 0x1000, .len_bytes = 4}, {.addr = 0x2000, .len_bytes = 4}};
    struct nof_buf local = {.base = text, .len_bytes = 8};

    (void)state;
    assert_int_equal(copy(false, remote, 2, &local, true, 42), NOF_DMA_PENDING);
    assert_int_equal(asked[0].flags & NOF_COMP_F_WRITE, 0);
    memcpy(area + asked[0].assist.area_offset, "abcd", 4);
    answer(&asked[0], 1, NOF_OK);
    assert_false(nofd_assist_has_work(&ep));
    assert_int_equal(nofd_assist_turn(&ep), 0);
    memcpy(area + asked[1].assist.area_offset, "efgh", 4);
    answer(&asked[0], 2, NOF_OK);
    assert_true(nofd_assist_has_work(&ep));
    assert_int_equal(nofd_assist_turn(&ep), 1);
    assert_memory_equal(text, "abcdefgh", 8);
    assert_int_equal(nended, 1);
    assert_int_equal(ended[0].token, 42);
    assert_int_equal(ended[0].status, NOF_OK);
    assert_int_equal(ep.memory.pending, 0);
    assert_int_equal(nofd_assist_turn(&ep), 0); /* the same answer counts once */
}

static void a_copy_that_failed_gives_no_bytes(void **state)
{
    char text[4] = "old";

    (void)state;
    assert_int_equal(copy_one(false, text, 4, 1), NOF_DMA_PENDING);
    memcpy(area, "new", 4);
    answer(&asked[0], 1, NOF_EFAULT);
    assert_int_equal(nofd_assist_turn(&ep), 1);
    assert_int_equal(ended[0].status, NOF_EFAULT);
    assert_string_equal(text, "old");
}

static void an_answer_to_what_was_asked_before_is_none(void **state)
{
    char text[4] = "";

    (void)state;
    assert_int_equal(copy_one(false, text, 4, 1), NOF_DMA_PENDING);
    answer(&asked[0], 1, NOF_OK);
    assert_int_equal(nofd_assist_turn(&ep), 1);
    assert_int_equal(copy_one(false, text, 4, 2), NOF_DMA_PENDING);
    assert_int_equal(asked[1].assist.slot, asked[0].assist.slot);
    assert_int_equal(nofd_assist_turn(&ep), 0); /* the word of the first still stands there */
    answer(&asked[1], 1, NOF_OK);
    assert_int_equal(nofd_assist_turn(&ep), 1);
    assert_int_equal(ended[1].token, 2);
}

static void as_many_as_there_are_slots_are_under_way(void **state)
{
    char text[4] = "";

    (void)state;
    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++)
        assert_int_equal(copy_one(true, text, 4, i), NOF_DMA_PENDING);
    assert_int_equal(copy_one(true, text, 4, 99), NOF_EAGAIN);
    for (unsigned i = 0; i < NOF_ASSIST_SLOTS; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(asked[i].assist.area_offset, asked[j].assist.area_offset);
    answer(&asked[5], 1, NOF_OK);
    assert_int_equal(nofd_assist_turn(&ep), 1);
    assert_int_equal(ended[0].token, 5);
    assert_int_equal(copy_one(true, text, 4, 99), NOF_DMA_PENDING);
}

static void a_full_ring_takes_no_slot(void **state)
{
    struct nof_segment remote[] = {{.addr = 0x1000, .len_bytes = 2}, {.addr = 0x2000, .len_bytes = 2}};
    char text[4] = "";
    struct nof_buf local = {.base = text, .len_bytes = 4};

    (void)state;
    room = 1;
    for (unsigned i = 0; i < 2 * NOF_ASSIST_SLOTS; i++)
        assert_int_equal(copy(true, remote, 2, &local, true, 1), NOF_EAGAIN);
    assert_int_equal(nasked, 0);
    room = 2;
    assert_int_equal(copy(true, remote, 2, &local, true, 1), NOF_DMA_PENDING);
}

static void nothing_to_copy_is_done_at_once(void **state)
{
    (void)state;
    assert_int_equal(copy_one(true, area, 0, 1), NOF_DMA_DONE);
    assert_int_equal(nasked, 0);
    assert_int_equal(ep.memory.pending, 0);
}

static void what_is_under_way_ends_with_the_endpoint(void **state)
{
    char text[4] = "old";

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(copy_one(false, text, 4, 10 + i), NOF_DMA_PENDING);
    memcpy(area, "new", 4);
    answer(&asked[0], 1, NOF_OK);
    ep.memory.ops->cancel(&ep.memory);
    assert_int_equal(nended, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ended[i].token, 10 + i);
        assert_int_equal(ended[i].status, NOF_EPEERDEAD);
    }
    assert_int_equal(ep.memory.pending, 0);
    assert_string_equal(text, "old");
    assert_false(nofd_assist_has_work(&ep));
    ep.memory.ops->cancel(&ep.memory);
    assert_int_equal(nended, 3);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_write_lies_in_the_area_before_the_host_is_asked),
        EACH(a_read_is_taken_out_when_all_is_answered),
        EACH(a_copy_that_failed_gives_no_bytes),
        EACH(an_answer_to_what_was_asked_before_is_none),
        EACH(as_many_as_there_are_slots_are_under_way),
        EACH(a_full_ring_takes_no_slot),
        EACH(nothing_to_copy_is_done_at_once),
        EACH(what_is_under_way_ends_with_the_endpoint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
