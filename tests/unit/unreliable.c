/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../vectors/alone.h"

#define HEAD (NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES)

static void fields_and_padding_stand_behind_the_header(void **state)
{
    const uint8_t fields[4] = {1, 2, 3, 4};
    const uint8_t padding[100] = {0};
    struct alone a = {.nic.window_frames = 32};

    (void)state;
    alone_open(&a, 1000);
    a.path->reorder.next_pn = a.path->reorder.high_pn = 77;
    assert_true(nof_tx_unreliable(a.path, NOF_WIRE_PROBE_ACK, 5, fields, 4, 100));
    assert_int_equal(a.sent, 0); /* gathered */
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, 1);
    assert_int_equal(a.last_bytes, HEAD + 104);
    const uint8_t *c = a.last + NOF_WIRE_OUTER_BYTES;
    assert_int_equal(c[NOF_WIRE_TYPE], NOF_WIRE_PROBE_ACK);
    assert_int_equal(c[NOF_WIRE_FLAGS], 5);
    assert_int_equal(c[NOF_WIRE_FIELDS], 4);
    assert_int_equal(nof_get32(c + NOF_WIRE_PN), 0);
    assert_int_equal(nof_get32(c + NOF_WIRE_ACK), 77);
    assert_memory_equal(a.last + HEAD, fields, 4);
    assert_memory_equal(a.last + HEAD + 4, padding, 100);
    assert_int_equal(nof_crc32c(c + 4, NOF_WIRE_COMMON_BYTES - 4 + 104), nof_get32(c + NOF_WIRE_CRC));
    assert_true(nof_tx_unreliable(a.path, NOF_WIRE_HELLO, 0, NULL, 0, 0));
    nof_transport_flush(a.t);
    assert_int_equal(nof_get32(a.last + NOF_WIRE_OUTER_BYTES + NOF_WIRE_ACK),
                     0); /* a HELLO acknowledges nothing */
    assert_true(nof_sentmap_empty(&a.path->sent)); /* nobody keeps them */
    assert_int_equal(alone_close(&a), 0);
}

/* Acknowledgements go out although the port's pool is empty: some full frames were kept back. */
static void an_empty_pool_still_has_the_spare_frames(void **state)
{
    struct alone a = {.nic.window_frames = 32};

    (void)state;
    alone_open(&a, 1000);
    nof_transport_flush(a.t);
    assert_int_equal(a.frames, NOF_SPARE_FRAMES);
    a.no_frames = true;
    for (unsigned i = 0; i < NOF_SPARE_FRAMES; i++)
        assert_true(
            nof_tx_unreliable(a.path, NOF_WIRE_HELLO, 0, NULL, 0, 1500 - NOF_PACKET_IP_OVERHEAD_BYTES));
    assert_false(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0));
    nof_transport_flush(a.t);
    assert_int_equal(a.sent, NOF_SPARE_FRAMES);
    assert_int_equal(a.frames, 0);
    a.no_frames = false;
    nof_transport_flush(a.t);
    assert_int_equal(a.t->spare_count, NOF_SPARE_FRAMES);
    assert_int_equal(alone_close(&a), 0);
}

static void a_full_queue_takes_none(void **state)
{
    struct alone a = {.nic.window_frames = 32, .stuck = true};

    (void)state;
    alone_open(&a, 1000);
    for (unsigned i = 0; i < NOF_TXQ_FRAMES; i++)
        assert_true(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0));
    assert_int_equal(a.frames, NOF_TXQ_FRAMES);
    assert_false(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0));
    assert_int_equal(a.frames, NOF_TXQ_FRAMES); /* none was taken in vain */
    a.stuck = false;
    nof_transport_tick(a.t, 1000 + NOF_PORT_RETRY_NS);
    assert_true(nof_tx_unreliable(a.path, NOF_WIRE_PROBE, 0, NULL, 0, 0)); /* the queue is pushed first */
    assert_int_equal(a.sent, NOF_TXQ_FRAMES);
    assert_int_equal(alone_close(&a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_and_padding_stand_behind_the_header),
        cmocka_unit_test(an_empty_pool_still_has_the_spare_frames),
        cmocka_unit_test(a_full_queue_takes_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
