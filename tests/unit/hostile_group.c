/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NIC of the job that lies: datagrams that it seals with the group's key, and acknowledgements in its own name, whatever
 * their fields say. No core falls, nothing is written beside the buffers, frames come back, and groups end when their hosts
 * say so. */
#include "mcast_world.h"

#include "nic.h"
#include "transport/multicast.h"
#include "transport/transport.h"

static uint64_t state_of;

static uint32_t draw(uint32_t n)
{
    state_of = state_of * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state_of >> 33) % n;
}

static struct nof_group_dest dest_of(struct world *w, unsigned nic)
{
    struct nof_nic *n = world_nic(w, nic);
    struct nof_group_dest dest;
    nof_group_dest_init(n->transport, &dest, n->jobs[0].key, CTX, all_members(), ranks, 0);
    return dest;
}

/* Fields that a frame of this message could have, and some that it could not. */
static void datagram(struct world *w, unsigned from, unsigned to, uint32_t number)
{
    static const uint16_t chunks[] = {1376, 1376, 256, 255, 512, 9000, 0, UINT16_MAX};
    struct nof_nic *n = world_nic(w, from);
    struct nof_group_dest dest = dest_of(w, from);
    uint64_t len = draw(4) == 0 ? (uint64_t)draw(1u << 31) << draw(33) : draw(400000);
    struct nof_group_view v = {.len = len,
                               .number = number + draw(5) - 2,
                               .sender = (uint16_t)(draw(8) == 0 ? draw(65536) : draw(4)),
                               .chunk = chunks[draw(8)]};
    uint64_t frames = v.chunk == 0 ? draw(9) : (len + v.chunk - 1) / v.chunk;
    v.frames = (uint32_t)frames + (draw(10) == 0 ? draw(3) - 1 : 0);
    v.frame = v.frames > 0 && draw(10) > 0 ? draw(v.frames < 300 ? v.frames : 300) : draw(UINT32_MAX);
    uint64_t at = (uint64_t)v.frame * v.chunk, left = len > at ? len - at : 0;
    uint32_t bytes = (uint32_t)(left < v.chunk ? left : v.chunk);
    uint8_t *payload;
    if (bytes > 1400 || draw(12) == 0)
        bytes = draw(1400);
    struct nof_frame *f = nof_group_frame(n->transport, bytes, &payload);
    if (f == NULL)
        return;
    memset(payload, 0x77, bytes);
    nof_group_seal(&dest, f, &v, 0);
    world_inject(w, to, f->data, f->len_bytes);
    nof_group_frame_free(n->transport, f);
}

static void acknowledgement(struct world *w, unsigned from, unsigned to, uint32_t number)
{
    struct nof_nic *n = world_nic(w, from);
    struct nof_group_dest dest = dest_of(w, from);
    uint8_t fields[NOF_WIRE_GACK_BYTES];
    for (unsigned i = 0; i < sizeof fields; i++)
        fields[i] = (uint8_t)draw(256);
    nof_put64(fields + NOF_WIRE_GACK_GROUP, dest.id);
    nof_put32(fields + NOF_WIRE_GACK_NUMBER, number + draw(4) - 1);
    nof_put16(fields + NOF_WIRE_GACK_SENDER, (uint16_t)draw(5));
    nof_put16(fields + NOF_WIRE_GACK_MEMBER, (uint16_t)draw(5));
    if (draw(4) > 0)
        nof_put32(fields + NOF_WIRE_GACK_CUM, draw(300));
    if (draw(4) > 0)
        nof_put32(fields + NOF_WIRE_GACK_HIGH, draw(300));
    for (uint32_t i = 0; i < n->nlinks; i++) {
        struct nof_link *link = &n->links[i];
        if (link->used && link->up && link->path != NULL &&
            nof_path_peer_nic(link->path) == world_nic(w, to)->cfg.nic_id)
            (void)nof_path_gack(link->path, (uint8_t)draw(4), fields);
    }
}

static void test_a_lying_member_harms_nobody_else(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct world_config cfg = {.dma_inline = seed % 2, .seed = seed, .arena_bytes = 1u << 20};
        struct world *w = new_world(&cfg);
        state_of = seed;
        open_all(w);
        for (uint32_t number = 2; number < 8; number++) {
            unsigned from = draw(4);
            uint8_t *beside = world_rank(w, 1)->arena + (1u << 20) - 64;
            memset(beside, 0x33, 64);
            for (unsigned k = 0; k < 40; k++) {
                if (k == 10)
                    for (unsigned i = 0; i < ranks; i++) {
                        struct nof_desc d = {
                            .opcode = i == from ? NOF_DESC_GROUP_SEND : NOF_DESC_GROUP_RECV,
                            .cookie = number,
                            .peer = (int32_t)from,
                            .len = 200000,
                            .sched = {.name = NAME,
                                      .generation = number,
                                      .base = {(uint64_t)(uintptr_t)world_rank(w, i)->arena}}};
                        world_post(w, i, &d);
                    }
                if (draw(2))
                    datagram(w, 3, draw(3), number);
                else
                    acknowledgement(w, 3, draw(3), number);
                world_run_for(w, draw(100000));
            }
            world_run_for(w, 50 * MS);
            for (unsigned i = 0; i < 64; i++)
                assert_int_equal(beside[i], 0x33);
        }
        for (unsigned i = 0; i < ranks; i++) {
            struct nof_desc d = {.opcode = NOF_DESC_GROUP_CLOSE, .sched = {.name = NAME}};
            world_post(w, i, &d);
        }
        world_run_for(w, 100 * MS);
        for (unsigned i = 0; i < ranks; i++) {
            assert_false(world_rank(w, i)->failed);
            assert_int_equal(counter(w, i, NOF_C_MCAST_GROUPS), 0);
        }
        world_fini(w);
    }
}

/* The sender's port takes nothing while two members ask for what it still holds; then all members say that they have it. */
static void test_a_frame_that_is_queued_twice_goes_back_once(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 5};
    struct world *w = new_world(&cfg);
    struct nof_nic *n = world_nic(w, 0);
    struct nof_group_dest dest = dest_of(w, 0);
    struct nof_group_view v = {.len = 8, .number = 2, .frames = 1, .chunk = 1024};
    uint8_t *payload;
    open_all(w);
    long before = world_frames(w);
    struct world_fault full = {.ops = 1u << WORLD_SEND, .at = 1, .count = 1, .how = WORLD_SHORT};
    struct nof_frame *f = nof_group_frame(n->transport, 8, &payload);
    assert_non_null(f);
    memset(payload, 0, 8);
    nof_group_seal(&dest, f, &v, 0);
    assert_true(nof_group_send(n->transport, f));
    assert_true(nof_group_send(n->transport, f));
    world_fault(w, &full); /* it takes the first of the two */
    nof_group_frame_free(n->transport, f);
    world_run_for(w, 100 * MS);
    assert_int_equal(world_frames(w), before);
    world_fini(w);
}

/* With a right checksum: under a key that is not the group's, or with a tag that is no tag of these bytes. */
enum forgery { OTHER_JOB, OTHER_CONTEXT, OTHER_EPOCH, NO_TAG, TAG_OF_ANOTHER, FORGERIES };

static struct nof_frame *forge(struct world *w, enum forgery how, const struct nof_group_view *v)
{
    struct nof_nic *n = world_nic(w, 3);
    struct nof_group_dest dest = dest_of(w, 3), other;
    uint8_t key[NOF_SIPHASH_KEY_BYTES], tag[8] = {0}, *payload;
    memcpy(key, n->jobs[0].key, sizeof key);
    key[0] ^= how == OTHER_JOB;
    nof_group_dest_init(n->transport, &other, key, CTX + (how == OTHER_CONTEXT), all_members(), ranks,
                        how == OTHER_EPOCH);
    if (how < NO_TAG)
        memcpy(dest.key, other.key, sizeof dest.key); /* its name and address everybody hears */
    struct nof_frame *f = nof_group_frame(n->transport, v->chunk, &payload);
    assert_non_null(f);
    memset(payload, how == TAG_OF_ANOTHER ? 0x76 : 0x77, v->chunk);
    nof_group_seal(&dest, f, v, 0);
    uint8_t *c = f->data + NOF_WIRE_OUTER_BYTES;
    if (how == TAG_OF_ANOTHER)
        memcpy(tag, c + NOF_WIRE_COMMON_BYTES + NOF_WIRE_MDATA_TAG, sizeof tag);
    if (how >= NO_TAG) {
        memset(payload, 0x77, v->chunk);
        memcpy(c + NOF_WIRE_COMMON_BYTES + NOF_WIRE_MDATA_TAG, tag, sizeof tag);
        nof_put32(c + NOF_WIRE_CRC,
                  nof_crc32c(c + NOF_WIRE_VER, f->len_bytes - NOF_WIRE_OUTER_BYTES - NOF_WIRE_VER));
    }
    return f;
}

/* While the message is awaited, and while it comes: each is dropped and counted, and no byte of it is written. */
static void test_what_the_key_has_not_sealed_is_dropped(void **state)
{
    (void)state;
    for (enum forgery how = 0; how < FORGERIES; how++) {
        struct world_config cfg = {.dma_inline = how % 2, .seed = 7};
        struct world *w = new_world(&cfg);
        struct nof_group_view v = {.len = 50 * 1024, .number = 2, .frames = 50, .chunk = 1024};
        open_all(w);
        uint64_t foreign = counter(w, 1, NOF_C_DROP_FOREIGN), broken = counter(w, 1, NOF_C_DROP_CRC);
        for (unsigned i = 1; i < ranks; i++)
            receive(w, i, 0, v.number, v.len);
        world_run_for(w, MS);
        for (v.frame = 0; v.frame < v.frames; v.frame++) {
            struct nof_frame *f = forge(w, how, &v);
            world_inject(w, 1, f->data, f->len_bytes);
            nof_group_frame_free(world_nic(w, 3)->transport, f);
            if (v.frame == v.frames / 2)
                send(w, 0, v.number, v.len);
            world_run_for(w, 20000);
        }
        assert_int_equal(counter(w, 1, NOF_C_DROP_MCAST_TAG), v.frames);
        assert_int_equal(counter(w, 1, NOF_C_DROP_FOREIGN), foreign);
        assert_int_equal(counter(w, 1, NOF_C_DROP_CRC), broken);
        world_run_for(w, 2000 * MS);
        for (unsigned i = 1; i < ranks; i++)
            check_got(w, i, v.number, v.len);
        world_fini(w);
    }
}

/* Rank 3 says that message 2 is its own, before rank 1 receives it from rank 0. */
static void test_who_sends_is_what_the_host_says(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 5};
    struct world *w = new_world(&cfg);
    struct nof_nic *n = world_nic(w, 3);
    struct nof_group_dest dest = dest_of(w, 3);
    struct nof_group_view v = {.len = 8, .number = 2, .frames = 1, .sender = 3, .chunk = 1024};
    uint8_t *payload;
    open_all(w);
    struct nof_frame *f = nof_group_frame(n->transport, 8, &payload);
    assert_non_null(f);
    memset(payload, 0x77, 8);
    nof_group_seal(&dest, f, &v, 0);
    world_inject(w, 1, f->data, f->len_bytes);
    nof_group_frame_free(n->transport, f);
    bcast(w, 0, 2, 50000);
    world_fini(w);
}

/* Rank 4 is no member. It opens the group for the one that shares its NIC, and sends in that one's name. */
static void inject(struct world *w, uint32_t number, uint64_t len)
{
    struct world_rank *r = world_rank(w, 4);
    struct nof_desc d = {.opcode = NOF_DESC_GROUP_SEND,
                         .cookie = number,
                         .len = len,
                         .sched = {.name = NAME, .generation = number}};
    d.sched.base[0] = (uint64_t)(uintptr_t)r->arena;
    memset(r->arena, 0x77, len);
    world_post(w, 4, &d);
}

/* It lists the members in this order. */
static struct world *world_with_a_stranger(unsigned seed, const uint32_t list[4])
{
    struct world_config cfg = {.dma_inline = seed % 2, .seed = seed, .loss_percent = seed % 3};
    strangers = 1;
    struct world *w = new_world(&cfg);
    strangers = 0;
    const struct nof_desc open = {.opcode = NOF_DESC_GROUP_OPEN,
                                  .ctx = CTX,
                                  .cookie = 104,
                                  .len = 4 * ranks,
                                  .sched = {.name = NAME, .generation = 1}};
    world_open(w, 3, 4, ranks + 1);
    open_all(w);
    memcpy(world_rank(w, 4)->program_area, list, 4 * sizeof *list);
    world_post(w, 4, &open);
    world_run_for(w, MS);
    assert_int_equal(world_expect(w, 4, NOF_COMP_GROUP_OPEN, 104)->status, NOF_OK);
    return w;
}

/* Messages of other members than the one in whose name it speaks are whole, whatever it sends and when. Who speaks for
 * that one may say what it likes: its messages end, and nothing is written beside the buffers. */
static void test_a_rank_of_the_job_that_is_no_member(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 24; seed++) {
        static const uint32_t list[] = {0, 1, 2, 3};
        struct world *w = world_with_a_stranger(seed, list);
        const uint64_t lens[] = {8, 3000, 20000, 300000};
        inject(w, 2, lens[seed % 4]);
        world_run_for(w, seed / 4 * MS);
        bcast(w, 0, 2, 50000);
        inject(w, 3, lens[seed / 4 % 4]);
        bcast(w, 1, 3, lens[(seed + 1) % 4]);
        uint8_t *at = world_rank(w, 0)->arena + GOT_AT;
        for (unsigned i = 0; i < 3; i++)
            receive(w, i, 3, 4, 3000);
        inject(w, 4, lens[seed % 4]);
        world_run_for(w, seed % 5 * MS);
        send(w, 3, 4, 3000);
        world_run_for(w, 1000 * MS);
        for (unsigned i = 0; i < ranks; i++) {
            const struct nof_desc d = {.opcode = NOF_DESC_GROUP_CLOSE, .sched = {.name = NAME}};
            world_post(w, i, &d);
        }
        world_run_for(w, 100 * MS);
        assert_int_equal(at[3000], 0xee);
        for (unsigned i = 0; i < ranks; i++) {
            assert_int_equal(world_take(w, i)->cookie, 4);
            assert_null(world_take(w, i));
            assert_false(world_rank(w, i)->failed);
        }
        world_close(w, 4, NOF_OK);
        world_run_for(w, 100 * MS);
        for (unsigned i = 0; i < ranks; i++)
            assert_int_equal(counter(w, i, NOF_C_MCAST_GROUPS), 0);
        world_fini(w);
    }
}

/* One whose NIC has member 3 lists it where others have member 1, or 2: what it sends is not of that member. */
static void test_a_list_of_its_own_gives_no_other_name(void **state)
{
    static const uint32_t lists[][4] = {{0, 3, 2, 1}, {0, 1, 3, 2}, {0, 3, 1, 2}};
    (void)state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        struct world *w = world_with_a_stranger(seed, lists[seed % 3]);
        unsigned victim = seed % 3 == 1 ? 2 : 1;
        for (unsigned i = 0; i < ranks; i++)
            if (i != victim)
                receive(w, i, victim, 2, 3000);
        inject(w, 2, 3000);
        world_run_for(w, seed % 4 * MS);
        send(w, victim, 2, 3000);
        world_run_for(w, 2000 * MS);
        assert_int_equal(world_expect(w, victim, NOF_COMP_GROUP_SEND, 2)->status, NOF_OK);
        for (unsigned i = 0; i < ranks; i++)
            if (i != victim)
                check_got(w, i, 2, 3000);
        world_close(w, 4, NOF_OK);
        world_run_for(w, 100 * MS);
        world_fini(w);
    }
}

static void post_large(struct world *w, unsigned rank, uint32_t name, uint32_t number)
{
    struct nof_desc d = {.opcode = rank == 0 ? NOF_DESC_GROUP_SEND : NOF_DESC_GROUP_RECV,
                         .cookie = name * 8 + number,
                         .len = 1000000,
                         .sched = {.name = name,
                                   .generation = number,
                                   .base = {(uint64_t)(uintptr_t)world_rank(w, rank)->arena}}};
    world_post(w, rank, &d);
}

static void test_an_endpoint_holds_few_frames(void **state)
{
    (void)state;
    struct world_config cfg = {.dma_inline = 1, .seed = 5, .nic = {.max_groups = 16}};
    struct world *w = new_world(&cfg);
    const uint32_t groups = 6;
    uint32_t list[2] = {0, 1};
    for (unsigned i = 0; i < 2; i++) {
        memcpy(world_rank(w, i)->program_area, list, sizeof list);
        for (uint32_t k = 0; k < groups; k++) {
            struct nof_desc d = {.opcode = NOF_DESC_GROUP_OPEN,
                                 .ctx = CTX + k,
                                 .len = 8,
                                 .sched = {.name = k, .generation = 1}};
            world_post(w, i, &d);
        }
    }
    world_run_for(w, 50 * MS);
    assert_int_equal(counter(w, 0, NOF_C_MCAST_GROUPS), groups);
    for (unsigned i = 0; i < 2; i++)
        while (world_take(w, i) != NULL)
            ;
    for (uint32_t number = 2; number < 4; number++)
        for (unsigned i = 0; i < 2; i++)
            for (uint32_t k = 0; k < groups; k++)
                post_large(w, i, k, number);
    uint32_t most = 0, left = 2 * 2 * groups;
    for (unsigned k = 0; k < 100000 && left > 0; k++) {
        const struct nof_comp *c;
        world_run_for(w, 10000);
        uint32_t held = world_nic(w, 0)->eps[0].group_frames;
        most = held > most ? held : most;
        for (unsigned i = 0; i < 2; i++)
            while ((c = world_take(w, i)) != NULL) {
                assert_true(c->status == NOF_OK || c->status == NOF_EAGAIN);
                left -= c->status == NOF_OK;
                if (c->status == NOF_EAGAIN)
                    post_large(w, i, (uint32_t)c->cookie / 8, (uint32_t)c->cookie % 8);
            }
    }
    assert_int_equal(left, 0);
    assert_in_range(most, 129, NOF_MCAST_EP_FRAMES);
    assert_int_equal(world_nic(w, 0)->eps[0].group_frames, 0);
    world_fini(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_lying_member_harms_nobody_else),
                                       cmocka_unit_test(test_a_frame_that_is_queued_twice_goes_back_once),
                                       cmocka_unit_test(test_what_the_key_has_not_sealed_is_dropped),
                                       cmocka_unit_test(test_who_sends_is_what_the_host_says),
                                       cmocka_unit_test(test_a_rank_of_the_job_that_is_no_member),
                                       cmocka_unit_test(test_a_list_of_its_own_gives_no_other_name),
                                       cmocka_unit_test(test_an_endpoint_holds_few_frames)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
