/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bounds of each field of a configuration: the lowest and the highest are taken, the next ones refused, and 0 means
 * the default. And what is carved out of them: enough for a NIC that works, even of the lowest ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nof/core.h"

#include "arena.h"
#include "recv_predictor.h"
#include "world.h"

#define MOST (1u << 22)

struct field {
    const char *name;
    size_t at, bytes; /* in its struct */
    uint64_t least, most, initial;
    bool power; /* of two */
};

#define FIELD(type, name, ...) \
    { \
#name, offsetof(type, name), sizeof(((type *)0)->name), __VA_ARGS__ \
    }
#define NIC(name, ...) FIELD(struct nof_nic_config, name, __VA_ARGS__)

static const struct field nic_fields[] = {
    NIC(udp_port, 1, UINT16_MAX, 48620, false),
    NIC(mtu_bytes, 576, 9216, 1500, false),
    NIC(max_endpoints, 1, 1024, 16, false),
    NIC(max_paths, 1, 65536, 256, false),
    NIC(max_peers, 1, MOST, 4096, false),
    NIC(max_jobs, 1, 1024, 16, false),
    NIC(max_sends, 1, MOST, 4096, false),
    NIC(max_posted, 1, MOST, 16384, false),
    NIC(max_envelopes, 1, MOST, 8192, false),
    NIC(max_layouts, 1, 65536, 256, false),
    NIC(max_schedules, 1, 65536, 256, false),
    NIC(window_frames, 32, 1024, 256, true),
    NIC(sent_frames, 32, MOST, 8192, false),
    NIC(reorder_frames, 1, MOST, 1024, false),
    NIC(predict_calls, 16, 32768, 1024, true),
    NIC(netmem_bytes, 16 * 65536, 1ull << 36, 16u << 20, false), /* 64 KiB for each of 16 endpoints */
    NIC(max_predictors, 1, 256, 16, false),
    NIC(predictor_log2, 8, 15, 15, false),
    NIC(predictor_idle_ns, 1, UINT64_MAX, 100000000, false),
};

#define PREDICTOR(name, ...) FIELD(struct nof_predictor_config, name, __VA_ARGS__)

static const struct field predictor_fields[] = {
    PREDICTOR(ids, 4, 32768, 256, true),
    PREDICTOR(sites, 4, 32768, 64, true),
    PREDICTOR(history, 16, 32768, 1024, true),
    PREDICTOR(cycles, 4, 32768, 128, true),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t most_of(const struct field *f)
{
    return f->bytes == 8 ? UINT64_MAX : (1ull << 8 * f->bytes) - 1;
}

static void set(void *config, const struct field *f, uint64_t value)
{
    memcpy((char *)config + f->at, &value, f->bytes); /* little-endian, as the rest of the tests */
}

static uint64_t get(const void *config, const struct field *f)
{
    uint64_t value = 0;

    memcpy(&value, (const char *)config + f->at, f->bytes);
    return value;
}

static bool nic_takes(const struct field *f, uint64_t value)
{
    static char none[64];
    struct nof_nic_config cfg = {.nic_id = 1}, checked;
    struct nof_nic *nic;

    if (f->at == offsetof(struct nof_nic_config, max_endpoints))
        cfg.netmem_bytes = 1ull << 30;
    set(&cfg, f, value);
    if (nof_arena_check(&cfg, &checked) != NOF_OK) {
        assert_int_equal(nof_arena_check(&cfg, &checked), NOF_EINVAL);
        assert_int_equal(nof_nic_mem_size(&cfg), 0);
        /* As much memory as anybody could have. */
        assert_int_equal(nof_nic_init(none, SIZE_MAX, &cfg, NULL, NULL, NULL, NULL, 0, &nic), NOF_EINVAL);
        return false;
    }
    assert_int_equal(get(&checked, f), value != 0 ? value : f->initial);
    assert_true(nof_nic_mem_size(&cfg) > 0);
    return true;
}

static bool predictor_takes(const struct field *f, uint64_t value)
{
    struct nof_predictor_config cfg = {0};

    set(&cfg, f, value);
    return nof_recv_predictor_mem_size(&cfg) > 0;
}

static void each_bound(const struct field *fields, size_t n, bool (*takes)(const struct field *, uint64_t))
{
    for (const struct field *f = fields; f < fields + n; f++) {
        uint64_t between = f->power ? 2 * f->least : f->least + (f->most - f->least) / 2;

        if (!takes(f, 0) || !takes(f, f->least) || !takes(f, f->most) || !takes(f, between))
            fail_msg("%s: within its bounds, and refused", f->name);
        if (f->least > 1 && takes(f, f->least - 1))
            fail_msg("%s: %llu is too little", f->name, (unsigned long long)f->least - 1);
        if (f->most < most_of(f) && (takes(f, f->most + 1) || takes(f, most_of(f))))
            fail_msg("%s: more than %llu is too much", f->name, (unsigned long long)f->most);
        if (f->power && (takes(f, f->least + 1) || takes(f, f->most - 1)))
            fail_msg("%s: is a power of two", f->name);
        if (f->power && f->least > 1 && takes(f, f->least / 2))
            fail_msg("%s: half of the least is too little", f->name);
    }
}

static void every_field_of_a_nic_has_its_bounds(void **state)
{
    (void)state;
    each_bound(nic_fields, COUNT(nic_fields), nic_takes);
}

static void every_field_of_a_predictor_has_its_bounds(void **state)
{
    (void)state;
    each_bound(predictor_fields, COUNT(predictor_fields), predictor_takes);
}

/* The others have no bounds, or one that is no range. */
static void no_field_is_forgotten(void **state)
{
    struct nof_nic_config all;
    size_t known = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(nic_fields); i++)
        known += nic_fields[i].bytes;
    known += sizeof all.nic_id + sizeof all.seed + sizeof all.mac + sizeof all.ip4 + sizeof all.host_id +
             sizeof all.link_rate_bps;
    assert_in_range(known, sizeof all - 8, sizeof all); /* padding */
    known = 0;
    for (size_t i = 0; i < COUNT(predictor_fields); i++)
        known += predictor_fields[i].bytes;
    assert_int_equal(known, sizeof(struct nof_predictor_config));
}

static void a_nic_has_an_id(void **state)
{
    struct nof_nic_config cfg = {.nic_id = 0}, checked;

    (void)state;
    assert_int_equal(nof_arena_check(&cfg, &checked), NOF_EINVAL);
    assert_int_equal(nof_nic_mem_size(&cfg), 0);
    cfg.nic_id = UINT64_MAX;
    assert_int_equal(nof_arena_check(&cfg, &checked), NOF_OK);
}

static void network_memory_is_for_every_endpoint(void **state)
{
    static const uint32_t endpoints[] = {1, 2, 16, 1024};

    (void)state;
    for (unsigned i = 0; i < COUNT(endpoints); i++) {
        struct nof_nic_config cfg = {.nic_id = 1, .max_endpoints = endpoints[i]};

        cfg.netmem_bytes = endpoints[i] * 65536ull;
        assert_true(nof_nic_mem_size(&cfg) > 0);
        cfg.netmem_bytes--;
        assert_int_equal(nof_nic_mem_size(&cfg), 0);
    }
}

static struct nof_nic_config extreme(uint64_t (*of)(const struct field *))
{
    struct nof_nic_config cfg = {.nic_id = 1};

    for (size_t i = 0; i < COUNT(nic_fields); i++)
        set(&cfg, &nic_fields[i], of(&nic_fields[i]));
    return cfg;
}

static uint64_t least(const struct field *f)
{
    return f->least;
}

static uint64_t most(const struct field *f)
{
    return f->most;
}

static uint64_t none(const struct field *f)
{
    (void)f;
    return 0;
}

static void memory_grows_with_every_field_and_never_wraps(void **state)
{
    struct nof_nic_config small = extreme(least), large = extreme(most);
    size_t all;

    (void)state;
    small.netmem_bytes = 65536;
    all = nof_nic_mem_size(&large);
    assert_true(nof_nic_mem_size(&small) < all);
    for (size_t i = 0; i < COUNT(nic_fields); i++) {
        struct nof_nic_config one = extreme(none), less = large;
        size_t initial = nof_nic_mem_size(&one);

        set(&one, &nic_fields[i], nic_fields[i].most);
        if (nic_fields[i].at == offsetof(struct nof_nic_config, max_endpoints))
            one.netmem_bytes = 1024u * 65536;
        assert_true(nof_nic_mem_size(&one) >= initial);
        set(&less, &nic_fields[i], nic_fields[i].least);
        if (nic_fields[i].at == offsetof(struct nof_nic_config, netmem_bytes))
            less.max_endpoints = 16;
        assert_in_range(nof_nic_mem_size(&less), 1, all);
    }
}

/* What is given to all flows at once never exceeds what there is, and is never nothing. */
static void every_flow_has_its_initial_credit(void **state)
{
    static const uint32_t counts[] = {1, 2, 3, 100, 4096, MOST};
    struct nof_nic_config cfg = {.nic_id = 1}, checked;

    (void)state;
    for (unsigned p = 0; p < COUNT(counts); p++)
        for (unsigned e = 0; e < COUNT(counts); e++) {
            uint32_t msgs, blocks;

            cfg.max_peers = counts[p];
            cfg.max_envelopes = counts[e];
            assert_int_equal(nof_arena_check(&cfg, &checked), NOF_OK);
            nof_arena_credit(&checked, &msgs, &blocks);
            assert_true(msgs >= 1);
            assert_true((uint64_t)msgs * counts[p] <= (uint64_t)counts[p] + counts[e]);
            assert_true((uint64_t)blocks * counts[p] * 1024 <= checked.netmem_bytes);
        }
}

/* However few are asked for, there is one envelope of every flow's credit. */
static void what_is_promised_is_there(void **state)
{
    struct world_config cfg = {
        .nics = 1, .mtu = 1500, .seed = 1, .nic = {.max_peers = 64, .max_envelopes = 1}};
    struct world *w = world_init(&cfg);
    const struct nof_nic *nic = world_nic(w, 0);

    (void)state;
    assert_true(nic->envs.cap >= 64 * nic->flow_msgs);
    assert_int_equal(nic->msgs_free, nic->envs.cap - 64 * nic->flow_msgs);
    assert_true(nic->blocks_free + nic->dma_total + 64 * nic->flow_blocks <=
                (uint32_t)(nic->cfg.netmem_bytes / NOF_NETMEM_BLOCK));
    world_fini(w);
}

static void less_memory_than_it_asks_for_is_refused(void **state)
{
    struct nof_nic_config cfg = extreme(least);
    struct nof_nic *nic = NULL;
    size_t bytes;
    void *mem;

    (void)state;
    cfg.netmem_bytes = 65536;
    bytes = nof_nic_mem_size(&cfg);
    mem = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_int_equal(nof_nic_init(mem, bytes - 1, &cfg, NULL, NULL, NULL, NULL, 0, &nic), NOF_EINVAL);
    assert_int_equal(nof_nic_init(NULL, bytes, &cfg, NULL, NULL, NULL, NULL, 0, &nic), NOF_EINVAL);
    assert_null(nic);
    assert_int_equal(nof_nic_init(mem, bytes, &cfg, NULL, NULL, NULL, NULL, 0, &nic), NOF_OK);
    assert_non_null(nic);
    free(mem);
}

/* The least of everything still carries messages, small and large, between two NICs. */
static void the_smallest_nic_works(void **state)
{
    static const uint64_t lengths[] = {0, 8, 5000, 100000};
    struct world_config cfg = {.nics = 2, .dma_inline = 1, .seed = 1, .nic = extreme(least)};
    struct world *w;

    (void)state;
    cfg.mtu = 576;
    cfg.nic.netmem_bytes = 65536;
    cfg.nic.max_peers = 2;
    w = world_init(&cfg);
    world_open(w, 0, 0, 2);
    world_open(w, 1, 1, 2);
    world_run_for(w, 1000000);
    assert_int_not_equal(world_try_open(w, 0, 2, 0, 1, 8), NOF_OK);
    for (unsigned i = 0; i < COUNT(lengths); i++) {
        world_recv(w, 1, 0, 3, world_rank(w, 1)->arena, lengths[i], i);
        world_send(w, 0, 1, 3, world_rank(w, 0)->arena, lengths[i], i);
        world_run(w);
        assert_int_equal(world_expect(w, 1, NOF_COMP_RECV, i)->status, NOF_OK);
        assert_int_equal(world_expect(w, 0, NOF_COMP_SEND, i)->status, NOF_OK);
    }
    world_fini(w);
}

static void every_feature_has_its_bounds(void **state)
{
    struct world_config cfg = {.nics = 1, .mtu = 1500, .seed = 1};
    struct world *w = world_init(&cfg);
    struct nof_nic *nic = world_nic(w, 0);

    (void)state;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++) {
        const struct nof_feature_info *f = &nof_feature_info[i];
        enum nof_feature id = (enum nof_feature)i;

        assert_int_equal(nof_nic_feature(nic, id), f->initial);
        assert_int_equal(nof_nic_feature_set(nic, id, f->max), NOF_OK);
        assert_int_equal(nof_nic_feature_set(nic, id, f->min), NOF_OK);
        assert_int_equal(nof_nic_feature_set(nic, id, f->max + 1), NOF_EINVAL);
        assert_int_equal(nof_nic_feature_set(nic, id, UINT64_MAX), NOF_EINVAL);
        if (f->min > 0)
            assert_int_equal(nof_nic_feature_set(nic, id, f->min - 1), NOF_EINVAL);
        assert_int_equal(nof_nic_feature(nic, id), f->min); /* refused: as it was */
    }
    assert_int_equal(nof_nic_feature_set(nic, NOF_FEATURE_COUNT, 0), NOF_ENOENT);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_of_a_nic_has_its_bounds),
        cmocka_unit_test(every_field_of_a_predictor_has_its_bounds),
        cmocka_unit_test(no_field_is_forgotten),
        cmocka_unit_test(a_nic_has_an_id),
        cmocka_unit_test(network_memory_is_for_every_endpoint),
        cmocka_unit_test(memory_grows_with_every_field_and_never_wraps),
        cmocka_unit_test(every_flow_has_its_initial_credit),
        cmocka_unit_test(what_is_promised_is_there),
        cmocka_unit_test(less_memory_than_it_asks_for_is_refused),
        cmocka_unit_test(the_smallest_nic_works),
        cmocka_unit_test(every_feature_has_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
