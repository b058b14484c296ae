/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spill mode and parked sends, with a host that replays completions the way a library does: its
 * matcher decides from the order of completions alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

static unsigned messages = 3000; /* or as the command line says */

/* What the library's matcher keeps of a spilled message. */
struct spilled {
    int tag;
    uint64_t len;
    uint64_t handle;
    int remote, sync, taken;
    uint8_t first; /* byte of the payload */
};

struct library {
    struct world *w;
    unsigned rank;
    struct spilled *list;
    unsigned n;
    uint64_t spills, nomatches;
    uint8_t *order; /* first byte of each received message, in order */
    unsigned received;
    int spill_end; /* 0 none, else status + 1000 */
    unsigned sends;
    uint64_t len;
};

static void release(struct library *lib, uint32_t offset)
{
    struct nof_desc d = {.opcode = NOF_DESC_RELEASE};
    d.release.count = 1;
    d.release.offset[0] = offset;
    world_post(lib->w, lib->rank, &d);
}

static void on_spill(struct library *lib, const struct nof_comp *c)
{
    struct spilled *s = &lib->list[lib->n++];
    *s = (struct spilled){.tag = c->tag,
                          .len = c->len,
                          .remote = (c->flags & NOF_COMP_F_REMOTE) != 0,
                          .sync = (c->flags & NOF_COMP_F_SYNC) != 0};
    if (c->flags & NOF_COMP_F_INLINE)
        s->first = c->inline_data[0];
    else
        s->handle = c->handle;
    if (c->flags & NOF_COMP_F_STAGED) {
        s->first = world_rank(lib->w, lib->rank)->staging[c->staged_offset];
        release(lib, c->staged_offset);
    }
    lib->spills++;
}

static void reap(struct library *lib)
{
    const struct nof_comp *c;
    while ((c = world_take(lib->w, lib->rank)) != NULL) {
        if (c->opcode == NOF_COMP_SPILL) {
            on_spill(lib, c);
        } else if (c->opcode == NOF_COMP_RECV && c->status == NOF_ENOMATCH) {
            lib->nomatches++;
        } else if (c->opcode == NOF_COMP_RECV) {
            assert_int_equal(c->status, NOF_OK);
            const uint8_t *p =
                c->flags & NOF_COMP_F_INLINE ? c->inline_data : world_rank(lib->w, lib->rank)->arena;
            if (c->flags & NOF_COMP_F_STAGED) {
                p = world_rank(lib->w, lib->rank)->staging + c->staged_offset;
                release(lib, c->staged_offset);
            }
            if (c->len > 0)
                lib->order[lib->received] = p[0];
            lib->received++;
        } else if (c->opcode == NOF_COMP_SPILL_END) {
            lib->spill_end = 1000 + c->status;
        } else {
            fail_msg("completion %d status %d", c->opcode, c->status);
        }
    }
}

/* The sending library: counts, and answers grants of parked sends. */
static void count_sender(struct library *lib)
{
    struct world *w = lib->w;
    const struct nof_comp *c;
    while ((c = world_take(w, 0)) != NULL) {
        assert_int_equal(c->status, NOF_OK);
        if (c->opcode == NOF_COMP_GRANT) {
            struct nof_desc d = {.opcode = NOF_DESC_SEND,
                                 .flags = NOF_DESC_F_GRANTED,
                                 .ctx = 1,
                                 .cookie = c->cookie,
                                 .peer = 1,
                                 .tag = 1,
                                 .handle = c->handle};
            d.callsite = c->granted_len;
            d.addr = (uint64_t)(uintptr_t)world_rank(w, 0)->arena + (c->cookie - 1000) * 64;
            d.len = lib->len;
            world_post(w, 0, &d);
        } else if (c->opcode == NOF_COMP_SEND) {
            lib->sends++;
        } else {
            assert_int_equal(c->opcode, NOF_COMP_PARKED);
        }
    }
}

/* One receive, completed; tag -1: any. */
static void receive(struct library *lib, int tag)
{
    unsigned before = lib->received;
    uint64_t nomatches = lib->nomatches;
    uint8_t *buf = world_rank(lib->w, lib->rank)->arena;
    world_recv(lib->w, lib->rank, NOF_ANY_SOURCE, tag, buf, 100000, 1);
    for (int i = 0; i < 100 && lib->received == before && lib->nomatches == nomatches; i++) {
        world_run_for(lib->w, 200000);
        count_sender(lib);
        reap(lib);
    }
    if (lib->received > before)
        return;
    assert_true(lib->nomatches > nomatches);
    for (int round = 0; round < 100; round++) {
        for (unsigned i = 0; i < lib->n; i++) {
            struct spilled *s = &lib->list[i];
            if (s->taken || (tag >= 0 && s->tag != tag))
                continue;
            s->taken = 1;
            if (!s->remote && !s->sync) {
                lib->order[lib->received++] = s->first;
                return;
            }
            struct nof_desc d = {.opcode = NOF_DESC_PULL,
                                 .ctx = 1,
                                 .cookie = 2,
                                 .peer = 0,
                                 .tag = s->tag,
                                 .handle = s->handle,
                                 .addr = (uint64_t)(uintptr_t)buf,
                                 .len = s->remote ? 100000 : 0,
                                 .callsite = s->len};
            world_post(lib->w, lib->rank, &d);
            for (int k = 0; k < 200 && lib->received == before; k++) {
                world_run_for(lib->w, 200000);
                count_sender(lib);
                reap(lib);
            }
            assert_int_equal(lib->received, before + 1);
            if (!s->remote)
                lib->order[before] = s->first;
            return;
        }
        world_run_for(lib->w, 500000);
        count_sender(lib);
        reap(lib);
    }
    fail_msg("a message with tag %d never came", tag);
}

/* Refused until both counts are told. */
static void leave_spill_mode(struct library *lib)
{
    struct nof_desc end = {.opcode = NOF_DESC_SPILL_END};
    end.spills_seen = lib->spills;
    world_post(lib->w, lib->rank, &end);
    reap(lib);
    assert_int_equal(lib->spill_end, lib->nomatches > 0 ? 1000 + NOF_EAGAIN : 1000);
    end.nomatches_seen = lib->nomatches;
    world_post(lib->w, lib->rank, &end);
    reap(lib);
    assert_int_equal(lib->spill_end, 1000);
}

static void send_all(struct library *lib, const uint8_t *out, int flags)
{
    for (unsigned i = 0; i < messages; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_SEND,
                             .flags = (uint8_t)flags,
                             .ctx = 1,
                             .cookie = 1000 + i,
                             .peer = 1,
                             .tag = 1,
                             .len = lib->len,
                             .addr = (uint64_t)(uintptr_t)(out + i * 64)};
        world_post(lib->w, 0, &d);
        if (i % 16 == 0) {
            world_run_for(lib->w, 20000);
            reap(lib);
            count_sender(lib);
        }
    }
}

static void flood(uint64_t len, int dma_inline, uint32_t envelopes, int flags, size_t staging)
{
    struct world_config cfg = {.nics = 2,
                               .mtu = 1500,
                               .dma_inline = dma_inline,
                               .seed = 11,
                               .staging_bytes = staging,
                               .nic = {.max_envelopes = envelopes,
                                       .max_peers = 16,
                                       .max_sends = 256,
                                       .max_posted = 64,
                                       .netmem_bytes = 2u << 20}};
    struct world *w = world_init(&cfg);
    world_open(w, 0, 0, 2);
    world_open(w, 1, 1, 2);
    world_run_for(w, 1000000);
    struct library lib = {.w = w,
                          .rank = 1,
                          .len = len,
                          .list = calloc(messages + 1, sizeof(struct spilled)),
                          .order = calloc(messages + 1, 1)};
    uint8_t *out = world_rank(w, 0)->arena;
    for (unsigned i = 0; i < 64 * messages + 70000; i++)
        out[i] = (uint8_t)(i / 64);
    send_all(&lib, out, flags);
    uint8_t *last = out + (size_t)64 * messages + 80000;
    *last = 0xee;
    world_send(w, 0, 1, 2, last, 1, 5);
    for (unsigned i = 0; i < 500; i++) {
        world_run_for(w, 200000);
        reap(&lib);
        count_sender(&lib);
        if (world_rank(w, 0)->nbacklog == 0 && i > 50)
            break;
    }
    receive(&lib, 2);
    assert_int_equal(lib.order[0], len > 0 ? 0xee : lib.order[0]);
    for (unsigned i = 0; i < messages; i++) {
        count_sender(&lib);
        receive(&lib, i % 2 ? 1 : -1);
        count_sender(&lib);
        world_run_for(w, 50000);
        if (len > 0)
            assert_int_equal(lib.order[i + 1], (uint8_t)i);
    }
    for (int i = 0; i < 50; i++) {
        world_run_for(w, 1000000);
        count_sender(&lib);
    }
    assert_int_equal(lib.sends, messages + 1);
    leave_spill_mode(&lib);
    world_run_for(w, 10000000);
    assert_int_equal(nof_nic_counters(world_nic(w, 1))[NOF_C_NETMEM_BYTES], 0);
    assert_true(nof_nic_quiet(world_nic(w, 0)));
    assert_true(nof_nic_quiet(world_nic(w, 1)));
    assert_true(lib.spills > messages / 2);
    free(lib.list);
    free(lib.order);
    world_fini(w);
}

static void small_messages_spill_inline(void **state)
{
    (void)state;
    flood(8, 1, 64, 0, 0);
    flood(0, 1, 64, 0, 0);
}

static void medium_messages_spill_staged(void **state)
{
    (void)state;
    flood(600, 1, 64, 0, 0);
    flood(600, 0, 64, 0, 0);
}

static void without_staging_the_nic_holds_what_credit_allows(void **state)
{
    (void)state;
    flood(600, 1, 64, 0, SIZE_MAX);
    flood(6000, 1, 64, 0, 0);
    flood(6000, 0, 64, 0, 8192);
}

static void synchronous_messages_spill(void **state)
{
    (void)state;
    flood(8, 1, 64, NOF_DESC_F_SYNC, 0);
    flood(600, 0, 64, NOF_DESC_F_SYNC, 4096);
    flood(0, 1, 64, NOF_DESC_F_SYNC, 0);
}

static void rendezvous_is_parked(void **state)
{
    (void)state;
    flood(40000, 1, 64, 0, 0);
    flood(40000, 0, 64, 0, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        messages = (unsigned)atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_spill_inline),
        cmocka_unit_test(medium_messages_spill_staged),
        cmocka_unit_test(without_staging_the_nic_holds_what_credit_allows),
        cmocka_unit_test(synchronous_messages_spill),
        cmocka_unit_test(rendezvous_is_parked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
