/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Short programs whose memory is brought near: what steps name is there for the NIC and comes back, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coll/steps/near.h"
#include "nof/bar.h"

#define ROOM 4096u

static char room[ROOM], out[1024], in[1024];
static unsigned lent;
static size_t lends = ROOM;

static void *lend(size_t bytes, uint64_t *address_out)
{
    if (bytes > lends)
        return NULL;
    lent++;
    *address_out = NOF_BAR_ARENA | 512;
    return room;
}

static void take_back(uint64_t address)
{
    assert_int_equal(address, NOF_BAR_ARENA | 512);
    lent--;
}

static const struct nof_chan_programs nic = {.lend = lend, .take_back = take_back};

static struct {
    struct nof_program_head head;
    struct nof_program_step step[4];
} program;

static struct nof_image image;

/* Sends 8 bytes of out + 16, receives as many into in + 64 and in + 0, the last by a base that lies behind them. */
static int start(void **state)
{
    (void)state;
    memset(room, 0, sizeof(room));
    for (unsigned i = 0; i < sizeof(out); i++) {
        out[i] = (char)(i + 1);
        in[i] = (char)(i + 101);
    }
    program.head.nsteps = 4;
    program.step[0] = (struct nof_program_step){.opcode = NOF_STEP_SEND, .base = 0, .offset = 16, .len = 8};
    program.step[1] = (struct nof_program_step){.opcode = NOF_STEP_RECV, .base = 1, .offset = 64, .len = 8};
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_FENCE};
    program.step[3] = (struct nof_program_step){.opcode = NOF_STEP_RECV, .base = 1, .offset = 0, .len = 8};
    image = (struct nof_image){.program = &program.head, .base = {(uintptr_t)out, (uintptr_t)in, 0}};
    lends = ROOM;
    lent = 0;
    return 0;
}

/* Where the NIC finds it. */
static char *seen(const struct nof_near *near, unsigned step)
{
    const struct nof_program_step *s = &program.step[step];
    uint64_t at = nof_near_bases(near, &image)[s->base] + (uint64_t)s->offset - (NOF_BAR_ARENA | 512);
    assert_true(at + s->len <= ROOM);
    return room + at;
}

static void steps_find_what_they_name(void **state)
{
    struct nof_near near;
    char was[sizeof(in)];

    (void)state;
    memcpy(was, in, sizeof(in));
    nof_near_open(&near, &nic, &image);
    assert_int_equal(lent, 1);
    assert_memory_equal(seen(&near, 0), out + 16, 8);
    memset(seen(&near, 1), 0x11, 8);
    memset(seen(&near, 3), 0x22, 4); /* a message that is shorter than its step */
    memset(seen(&near, 0), 0x33, 8); /* nobody may */
    nof_near_close(&near, &nic, &image, true);
    assert_int_equal(lent, 0);
    memset(was + 64, 0x11, 8);
    memset(was, 0x22, 4);
    assert_memory_equal(in, was, sizeof(in)); /* 8 to 63, and the rest of the message, are as they were */
    assert_int_equal(out[16], 17);
    nof_near_close(&near, &nic, &image, true); /* nothing */
    assert_int_equal(lent, 0);
}

static void what_failed_leaves_nothing(void **state)
{
    struct nof_near near;

    (void)state;
    nof_near_open(&near, &nic, &image);
    memset(seen(&near, 1), 0x11, 8);
    nof_near_close(&near, &nic, &image, false);
    assert_int_equal(lent, 0);
    assert_int_equal(in[64], (char)165);
}

static void what_may_be_read_on_is_not_given_back(void **state)
{
    struct nof_near near;

    (void)state;
    nof_near_open(&near, &nic, &image);
    memset(seen(&near, 1), 0x11, 8);
    nof_near_leave(&near);
    nof_near_close(&near, &nic, &image, true);
    assert_int_equal(lent, 1);
    assert_int_equal(in[64], (char)165);
}

static void a_step_that_the_host_did_is_there_too(void **state)
{
    struct nof_near near;

    (void)state;
    nof_near_open(&near, &nic, &image);
    memset(in + 64, 0x44, 8);
    nof_near_take(&near, &image, 1);
    assert_memory_equal(seen(&near, 1), in + 64, 8);
    nof_near_close(&near, &nic, &image, true);
    assert_int_equal(in[64], 0x44);
}

static void reductions_read_both_and_write_one(void **state)
{
    struct nof_near near;

    (void)state;
    program.step[1] = (struct nof_program_step){
        .opcode = NOF_STEP_REDUCE, .base = 1, .offset = 8, .from_base = 0, .from = 32, .len = 16};
    nof_near_open(&near, &nic, &image);
    assert_memory_equal(seen(&near, 1), in + 8, 16);
    assert_memory_equal(room + (near.base[0] + 32 - near.address), out + 32, 16);
    memset(seen(&near, 1), 0x55, 16);
    nof_near_close(&near, &nic, &image, true);
    assert_int_equal(in[8], 0x55);
    assert_int_equal(in[24], 125);
    assert_int_equal(out[32], 33);
}

static void is_not_near(void)
{
    struct nof_near near;

    nof_near_open(&near, &nic, &image);
    assert_int_equal(lent, 0);
    assert_ptr_equal(nof_near_bases(&near, &image), image.base);
    nof_near_take(&near, &image, 1);
    nof_near_close(&near, &nic, &image, true);
    assert_int_equal(lent, 0);
}

static void others_stay_where_they_are(void **state)
{
    (void)state;
    lends = 64; /* 8 and 72 bytes */
    is_not_near();
    lends = ROOM;
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_HOST};
    is_not_near();
    program.step[2] =
        (struct nof_program_step){.opcode = NOF_STEP_SEND, .flags = NOF_STEP_F_LAYOUT, .len = 8};
    is_not_near();
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_SEND, .len = 1u << 20};
    is_not_near();
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_SEND, .len = UINT64_MAX};
    is_not_near();
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_SEND, .offset = 1 << 20, .len = 8};
    is_not_near();
    image.base[2] = (uintptr_t)in; /* of a range that reaches into another base's */
    program.step[2] = (struct nof_program_step){.opcode = NOF_STEP_RECV, .base = 2, .offset = 60, .len = 8};
    is_not_near();
    program.head.nsteps = 1;
    program.step[0].len = 0; /* a barrier has no bytes */
    is_not_near();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(steps_find_what_they_name, start),
        cmocka_unit_test_setup(what_failed_leaves_nothing, start),
        cmocka_unit_test_setup(what_may_be_read_on_is_not_given_back, start),
        cmocka_unit_test_setup(a_step_that_the_host_did_is_there_too, start),
        cmocka_unit_test_setup(reductions_read_both_and_write_one, start),
        cmocka_unit_test_setup(others_stay_where_they_are, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
