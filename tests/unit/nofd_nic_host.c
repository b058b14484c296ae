/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One NIC of the daemon, around a real firmware core on a real fabric: what a turn does, and how endpoints come and go.
 * Copies are a stand-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "nofd/core/assist.h"
#include "nofd/core/nic_host.h"
#include "nofd/sys/clock.h"

#define SLOTS 64u
#define EPS 2u

static const uint8_t macs[1][6] = {{2, 0, 0, 0, 0, 1}};

static struct nof_fabric *fabric;
static struct nofd_wire wire;
static struct nofd_lcore lcore;
static struct nofd_dma engine = {.lcore = &lcore};
static struct nofd_nic nic;
static struct nofd_endpoint ep[EPS];
static uint64_t now_ns;
static int main_fd;
static int copy_says;
static uint64_t copy_token;
static unsigned copied;
static unsigned cancelled;
static char err[256];
static char message[60000];

static int copy(struct nofd_dma_memory *memory, bool write, const struct nof_segment *remote,
                unsigned nremote, const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)memory;
    (void)write;
    (void)remote;
    (void)nremote;
    (void)local;
    (void)nlocal;
    copy_token = token;
    copied++;
    return copy_says;
}

static void cancel(struct nofd_dma_memory *memory)
{
    (void)memory;
    cancelled++;
}

static const struct nofd_dma_ops copies = {.name = "stand-in", .copy = copy, .cancel = cancel};

static int create(uint64_t nic_id)
{
    struct nof_nic_config cfg = {.nic_id = nic_id, .seed = {1}, .max_endpoints = EPS, .max_predictors = 1};

    nofd_wire_open_fabric(&wire, fabric, 0, macs[0], 0x0a000001, 1500, 0);
    return nofd_nic_create(&nic, 3, &wire, &cfg, now_ns, err, sizeof(err));
}

static int start(void **state)
{
    struct nof_fabric_config cfg = {.nports = 1, .mac = macs, .pool_frames = 64};

    (void)state;
    now_ns = NOFD_S;
    copy_says = NOF_DMA_DONE;
    cancelled = copied = 0;
    memset(ep, 0, sizeof(ep));
    main_fd = eventfd(0, EFD_NONBLOCK);
    if (nof_fabric_create(&cfg, &fabric) != NOF_OK || nofd_lcore_init(&lcore, 0, main_fd) != 0)
        return -1;
    return create(1) == NOF_OK && nofd_nic_place(&nic, &lcore, &engine) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nofd_nic_destroy(&nic);
    nof_fabric_destroy(fabric);
    nofd_lcore_fini(&lcore);
    close(main_fd);
    for (unsigned i = 0; i < EPS; i++) {
        nofd_assist_destroy(ep[i].assist);
        if (ep[i].bar.base != NULL)
            nofd_bar_destroy(&ep[i].bar);
    }
    return 0;
}

static int attach(unsigned i)
{
    static const struct nofd_bar_config cfg = {.submit_slots = SLOTS,
                                               .complete_slots = SLOTS,
                                               .staging_bytes = 65536,
                                               .bounce_bytes = 65536,
                                               .bounce_max_bytes = 4096,
                                               .program_area_bytes = 4096};
    struct nof_endpoint_params params = {.job_id = 7, .rank = i, .size = EPS};
    struct nofd_endpoint *e = &ep[i];

    assert_int_equal(nofd_bar_create(&e->bar, &cfg), 0);
    e->submit = e->bar.submit;
    e->complete = e->bar.complete;
    e->nic_words = e->bar.nic_words;
    e->host_words = e->bar.host_words;
    e->delta = nofd_bar_at(&e->bar, e->bar.identity->delta_host_offset);
    e->claims = nofd_bar_at(&e->bar, e->bar.identity->claim_offset);
    e->counters = e->bar.counters;
    e->nic = &nic;
    e->doom.any = &nic.doomed;
    e->memory = (struct nofd_dma_memory){.ops = &copies, .dma = &engine, .nic = nic.nic, .rank = i, .pid = 1};
    params.staging = nofd_bar_at(&e->bar, e->bar.identity->staging_offset);
    params.staging_bytes = e->bar.identity->staging_bytes;
    params.bounce = nofd_bar_at(&e->bar, e->bar.identity->bounce_offset);
    params.bounce_bytes = e->bar.identity->bounce_bytes;
    params.program_area = nofd_bar_at(&e->bar, e->bar.identity->program_area_offset);
    params.program_area_bytes = e->bar.identity->program_area_bytes;
    params.counters = e->counters;
    params.claim_slots = NOF_CLAIM_SLOTS;
    return nofd_nic_attach(&nic, now_ns, e, &params);
}

static unsigned turn(void)
{
    now_ns += NOFD_US;
    lcore.now_ns = now_ns;
    return nic.source.ops->turn(&nic.source, now_ns);
}

static void turns(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        (void)turn();
}

static void submit(unsigned i, const struct nof_desc *desc)
{
    assert_int_equal(nof_ring_put(ep[i].submit, desc, 1), 1);
}

static void introduce(unsigned i, unsigned to)
{
    struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = (int32_t)to};

    memcpy(d.inline_data, &ep[to].card, sizeof(ep[to].card));
    submit(i, &d);
}

/* The next completion of this kind; others are passed over. */
static int reap(unsigned i, int opcode, struct nof_comp *comp)
{
    while (nof_ring_get(ep[i].complete, comp, 1) == 1)
        if (comp->opcode == opcode)
            return 1;
    return 0;
}

/* Since the last look. */
static bool main_was_told(void)
{
    uint64_t n;

    return read(main_fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}

static void both(void)
{
    for (unsigned i = 0; i < EPS; i++)
        assert_int_equal(attach(i), NOF_OK);
    for (unsigned i = 0; i < EPS; i++)
        for (unsigned j = 0; j < EPS; j++)
            introduce(i, j);
    turns(20);
}

static void receive(unsigned i, unsigned from, size_t bytes)
{
    struct nof_desc d = {.opcode = NOF_DESC_RECV,
                         .ctx = 1,
                         .cookie = 9,
                         .peer = (int32_t)from,
                         .tag = 5,
                         .addr = (uintptr_t)message,
                         .len = bytes};

    submit(i, &d);
}

static void send_from(unsigned i, unsigned to, size_t bytes)
{
    struct nof_desc d = {.opcode = NOF_DESC_SEND,
                         .ctx = 1,
                         .cookie = 8,
                         .peer = (int32_t)to,
                         .tag = 5,
                         .addr = (uintptr_t)message,
                         .len = bytes};

    submit(i, &d);
}

static void a_core_that_refuses_leaves_nothing_and_a_sentence(void **state)
{
    (void)state;
    nofd_nic_destroy(&nic);
    assert_int_equal(create(0), NOF_EINVAL);
    assert_non_null(strstr(err, "nic3 (fabric): cannot start the firmware core"));
    assert_null(nic.nic);
    assert_null(nic.mem);
    assert_null(nic.by_index);
    assert_int_equal(create(1), NOF_OK);
}

static void a_turn_carries_messages_between_its_endpoints(void **state)
{
    struct nof_comp comp;

    (void)state;
    both();
    receive(1, 0, 100);
    send_from(0, 1, 100);
    turns(20);
    assert_int_equal(reap(0, NOF_COMP_SEND, &comp), 1);
    assert_int_equal(comp.status, NOF_OK);
    assert_int_equal(reap(1, NOF_COMP_RECV, &comp), 1);
    assert_int_equal(comp.status, NOF_OK);
    assert_int_equal(comp.len, 100);
}

static void there_are_so_many_endpoints(void **state)
{
    struct nofd_endpoint third = {.bar.fd = {-1, -1, -1}};
    struct nof_endpoint_params params = {.job_id = 8, .rank = 0, .size = 1};

    (void)state;
    both();
    assert_int_equal(nofd_nic_attach(&nic, now_ns, &third, &params), NOF_ENOMEM);
    assert_int_equal(nic.nlive, 2);
    assert_int_equal(nofd_endpoint_state(&third), NOFD_EP_NEW);
}

static void one_that_cannot_be_heard_is_none(void **state)
{
    struct nofd_endpoint deaf = {.bar.fd = {-1, -1, -1}};
    struct nof_endpoint_params params = {.job_id = 8, .rank = 0, .size = 1};

    (void)state;
    assert_int_equal(nofd_nic_attach(&nic, now_ns, &deaf, &params), NOF_ENOMEM);
    assert_int_equal(nic.nlive, 0);
    both(); /* its place is free */
}

/* And an address past its end is an error of that message alone. */
static void what_lies_in_the_arena_needs_nobody_to_copy_it(void **state)
{
    struct nof_desc send = {.opcode = NOF_DESC_SEND, .peer = 1, .addr = NOF_BAR_ARENA | 200, .len = 30000},
                    recv = {.opcode = NOF_DESC_RECV, .peer = 0, .addr = NOF_BAR_ARENA | 500, .len = 30000};
    struct nof_comp comp;
    char *arena[EPS];

    (void)state;
    both();
    for (unsigned i = 0; i < EPS; i++)
        arena[i] = nofd_bar_at(&ep[i].bar, ep[i].bar.identity->bounce_offset);
    memset(arena[0] + 200, 'x', send.len);
    submit(0, &send);
    submit(1, &recv);
    turns(50);
    assert_int_equal(reap(1, NOF_COMP_RECV, &comp), 1);
    assert_int_equal(comp.status, NOF_OK);
    assert_memory_equal(arena[1] + 500, arena[0] + 200, send.len);
    assert_int_equal(reap(0, NOF_COMP_SEND, &comp), 1);
    send.addr = NOF_BAR_ARENA | (ep[0].bar.identity->bounce_bytes - send.len + 1);
    submit(0, &send);
    submit(1, &recv);
    turns(50);
    assert_int_equal(reap(0, NOF_COMP_SEND, &comp), 1);
    assert_int_equal(comp.status, NOF_EFAULT);
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_LIVE);
    assert_int_equal(copied, 0);
}

static void a_detached_one_is_gone_at_once(void **state)
{
    (void)state;
    both();
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_LIVE);
    nofd_nic_detach(&nic, now_ns, &ep[0], NOF_OK);
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_GONE);
    assert_int_equal(nic.nlive, 1);
    assert_ptr_equal(nic.live[0], &ep[1]);
    assert_int_equal(cancelled, 1);
    turns(5);
}

static void or_when_its_last_copy_has_ended(void **state)
{
    struct nof_comp comp;

    (void)state;
    both();
    copy_says = NOF_DMA_PENDING;
    send_from(0, 1, sizeof(message));
    receive(1, 0, sizeof(message));
    turns(20);
    assert_int_equal(ep[0].memory.pending, 1);
    nofd_nic_detach(&nic, now_ns, &ep[0], NOF_OK);
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_CLOSED);
    turns(3);
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_CLOSED);
    (void)main_was_told();
    nofd_dma_ended(&ep[0].memory, copy_token, NOF_OK);
    (void)turn();
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_GONE);
    assert_true(main_was_told());
    turns(20);
    assert_int_equal(reap(1, NOF_COMP_RECV, &comp), 1); /* it waits for nobody */
    assert_true(comp.status < 0);
}

static void a_doomed_one_fails_alone_and_hears_it(void **state)
{
    struct nof_comp comp;

    (void)state;
    both();
    (void)main_was_told();
    nofd_doom_set(&ep[0].doom, NOF_EFAULT);
    (void)turn();
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_FAILED);
    assert_int_equal(nofd_endpoint_state(&ep[1]), NOFD_EP_LIVE);
    assert_int_equal(ep[0].failure, NOF_EFAULT);
    assert_int_equal((int)ep[0].nic_words->endpoint_failed, NOF_EFAULT);
    assert_int_equal(reap(0, NOF_COMP_FAILED, &comp), 1);
    assert_int_equal(comp.status, NOF_EFAULT);
    assert_true(main_was_told());
    turns(20);
    assert_int_equal(reap(1, NOF_COMP_PEER_DEAD, &comp), 1);
    assert_int_equal(comp.peer, 0);
    nofd_nic_detach(&nic, now_ns, &ep[0], NOF_EFAULT);
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_GONE);
}

static uint32_t roster_says(const struct nofd_slot *slot)
{
    return ((const struct nof_roster_rank *)(const void *)(slot->segment->roster + 1))[slot->index].state;
}

static void the_roster_says_it_before_any_peer_is_told(void **state)
{
    struct nofd_segment *segments = NULL;
    char why[128];
    struct nof_comp comp;

    (void)state;
    both();
    assert_non_null(nofd_segment_of(&segments, 1, EPS, why, sizeof(why)));
    for (uint32_t i = 0; i < EPS; i++) {
        assert_true(nofd_segment_give(segments, i, &ep[i].slot));
        nofd_segment_keep(&ep[i].slot, 1);
    }
    nofd_doom_set(&ep[0].doom, NOF_EFAULT);
    (void)turn();
    assert_int_equal(reap(1, NOF_COMP_PEER_DEAD, &comp), 0);
    assert_int_equal(roster_says(&ep[0].slot), NOF_ROSTER_DEAD);
    assert_int_equal(roster_says(&ep[1].slot), NOF_ROSTER_ATTACHED);
    nofd_nic_detach(&nic, now_ns, &ep[0], NOF_OK); /* too late to leave in order */
    assert_int_equal(roster_says(&ep[0].slot), NOF_ROSTER_DEAD);
    nofd_nic_detach(&nic, now_ns, &ep[1], NOF_OK);
    assert_int_equal(roster_says(&ep[1].slot), NOF_ROSTER_LEFT);
    nofd_segments_end(&segments);
}

static void whose_ring_is_a_lie_is_not_written_to_any_more(void **state)
{
    uint32_t before;

    (void)state;
    both();
    ep[0].submit->cons.head++;
    before = ep[0].complete->prod.tail;
    send_from(0, 1, 8);
    (void)turn();
    assert_int_equal(nofd_endpoint_state(&ep[0]), NOFD_EP_FAILED);
    assert_int_equal((int)ep[0].nic_words->endpoint_failed, NOF_EPROTO);
    assert_int_equal(ep[0].complete->prod.tail, before);
}

static void hosts_are_told_that_it_sleeps_and_what_waits_keeps_it_awake(void **state)
{
    (void)state;
    both();
    nic.source.ops->asleep(&nic.source, true);
    for (unsigned i = 0; i < EPS; i++)
        assert_int_equal(ep[i].nic_words->nic_asleep, 1);
    assert_false(nic.source.ops->ready(&nic.source));
    send_from(1, 0, 8);
    assert_true(nic.source.ops->ready(&nic.source));
    nic.source.ops->asleep(&nic.source, false);
    for (unsigned i = 0; i < EPS; i++)
        assert_int_equal(ep[i].nic_words->nic_asleep, 0);
}

/* In all, so that who looks rarely misses none; it wraps. */
static void hosts_are_told_for_how_long_it_did_not_run(void **state)
{
    (void)state;
    both();
    nic.source.ops->stalled(&nic.source, now_ns, 40 * NOFD_MS);
    nic.source.ops->stalled(&nic.source, now_ns, 2 * NOFD_MS);
    for (unsigned i = 0; i < EPS; i++)
        assert_int_equal(ep[i].nic_words->away_ms, 42);
    ep[0].nic_words->away_ms = UINT32_MAX - 1;
    nic.source.ops->stalled(&nic.source, now_ns, 3 * NOFD_MS);
    assert_int_equal(ep[0].nic_words->away_ms, 1);
    assert_int_equal(ep[1].nic_words->away_ms, 45);
}

static void a_host_that_does_not_reap_is_looked_at_again(void **state)
{
    (void)state;
    both();
    assert_true(nic.source.ops->deadline(&nic.source, now_ns) > now_ns + NOFD_MS);
    ep[1].complete_full = true;
    assert_true(nic.source.ops->deadline(&nic.source, now_ns) <= now_ns + NOFD_MS);
}

static bool has_woken;

static bool wakes(const struct nofd_wire *of)
{
    (void)of;
    return has_woken;
}

static void a_port_that_has_not_woken_it_yet_is_looked_at_again(void **state)
{
    static struct nofd_wire_ops ops;

    (void)state;
    ops = *nic.wire.ops;
    ops.wakes = wakes;
    nic.wire.ops = &ops;
    has_woken = false;
    assert_true(nic.source.ops->deadline(&nic.source, now_ns) <= now_ns + NOFD_MS);
    has_woken = true;
    assert_true(nic.source.ops->deadline(&nic.source, now_ns) > now_ns + NOFD_MS);
}

static unsigned carried;
static bool others_rest, told_rest;

static unsigned carry(struct nofd_wire *of, uint64_t at_ns)
{
    (void)of;
    (void)at_ns;
    return carried;
}

static bool rest(struct nofd_wire *of, bool quiet)
{
    (void)of;
    told_rest = quiet;
    return quiet && others_rest;
}

/* A core whose queue all frames come on would sleep between them, and look for them seldom, while others wait for theirs. */
static void what_it_does_for_other_cores_is_work_and_theirs_no_rest(void **state)
{
    struct nofd_wire_ops ops = *nic.wire.ops;

    (void)state;
    ops.flush = carry;
    ops.quiet = rest;
    ops.wakes = wakes;
    nic.wire.ops = &ops;
    both();
    carried = 0;
    assert_int_equal(turn(), 0);
    carried = 5;
    assert_int_equal(turn(), 5);
    carried = 0;
    has_woken = false;
    others_rest = true;
    assert_true(nic.source.ops->quiet(&nic.source));
    assert_int_equal(nic.source.ops->deadline(&nic.source, now_ns), now_ns + NOFD_MS);
    others_rest = false;
    assert_false(nic.source.ops->quiet(&nic.source));
    assert_int_equal(nic.source.ops->deadline(&nic.source, now_ns), now_ns + 50 * NOFD_US);
    has_woken = true; /* and the others hear of us all the same */
    told_rest = false;
    (void)nic.source.ops->deadline(&nic.source, now_ns);
    assert_true(told_rest);
    copy_says = NOF_EAGAIN;
    send_from(0, 1, sizeof(message));
    receive(1, 0, sizeof(message));
    (void)turn();
    (void)nic.source.ops->deadline(&nic.source, now_ns);
    assert_false(told_rest);
    nic.wire.ops = wire.ops;
}

static void the_core_hears_of_a_link_with_another_rate(void **state)
{
    (void)state;
    turns(2);
    nic.wire.rate_bps = 100000000;
    now_ns += 10 * NOFD_MS;
    (void)turn();
    assert_int_equal(nic.cfg.link_rate_bps, 100000000);
}

static void the_link_is_looked_at_from_time_to_time(void **state)
{
    (void)state;
    turns(2);
    assert_true(nic.link_up);
    nof_fabric_set_up(fabric, 0, false);
    turns(2);
    assert_true(nic.link_up);
    now_ns += 10 * NOFD_MS;
    (void)turn();
    assert_false(nic.link_up);
    nof_fabric_set_up(fabric, 0, true);
    now_ns += 10 * NOFD_MS;
    (void)turn();
    assert_true(nic.link_up);
}

static void without_anything_to_do_it_is_quiet(void **state)
{
    (void)state;
    both();
    assert_true(nic.source.ops->quiet(&nic.source));
    assert_int_equal(turn(), 0);
    copy_says = NOF_EAGAIN;
    send_from(0, 1, sizeof(message));
    receive(1, 0, sizeof(message));
    assert_true(turn() > 0);
    assert_false(nic.source.ops->quiet(&nic.source));
}

static void claim(unsigned i, uint32_t slot, uint32_t generation)
{
    struct nof_desc d = {.opcode = NOF_DESC_RECV,
                         .flags = NOF_DESC_F_CLAIM,
                         .ctx = 1,
                         .cookie = slot,
                         .peer = NOF_ANY_SOURCE,
                         .tag = 5,
                         .addr = (uintptr_t)message,
                         .len = 100};

    d.handle = nof_claim_handle(slot, generation);
    ep[i].claims->word[slot] = nof_claim_word(generation, NOF_CLAIM_OPEN);
    submit(i, &d);
}

/* The words lie where the host finds them, the last as well as the first, and both change the same. */
static void whose_word_it_is_has_the_receive(void **state)
{
    const uint32_t last = NOF_CLAIM_SLOTS - 1;
    struct nof_desc cancel = {.opcode = NOF_DESC_CANCEL, .flags = NOF_DESC_F_TAKEN, .cookie = 0, .tag = 5};
    struct nof_comp comp;

    (void)state;
    both();
    claim(1, 0, 3);
    claim(1, last, UINT32_MAX);
    turns(5);
    assert_true(nof_claim_take(&ep[1].claims->word[0], 3, NOF_CLAIM_HOST));
    send_from(0, 1, 100);
    turns(20);
    assert_int_equal(reap(1, NOF_COMP_RECV, &comp), 1);
    assert_int_equal(comp.status, NOF_OK);
    assert_int_equal(comp.cookie, last);
    assert_int_equal(ep[1].claims->word[last], nof_claim_word(UINT32_MAX, NOF_CLAIM_NIC));
    assert_false(nof_claim_take(&ep[1].claims->word[last], UINT32_MAX, NOF_CLAIM_HOST));
    assert_int_equal(ep[1].claims->word[0], nof_claim_word(3, NOF_CLAIM_HOST));
    submit(1, &cancel);
    turns(5);
    assert_int_equal(reap(1, NOF_COMP_CANCEL, &comp), 1);
    assert_int_equal(comp.status, NOF_OK);
}

static bool device_gone;
static int release_says;
static unsigned let_go, tried;

static bool gone(struct nofd_wire *w)
{
    (void)w;
    return device_gone;
}

static int let_it_go(struct nofd_wire *w, char *why, size_t why_bytes)
{
    (void)w;
    snprintf(why, why_bytes, "somebody holds it");
    tried++;
    let_go += release_says == NOF_OK;
    return release_says;
}

/* Nothing of it can ever arrive: its ranks need not wait for silence to be long enough. */
static void when_its_device_goes_its_ranks_hear_it_and_none_can_come(void **state)
{
    struct nofd_wire_ops ops = *nic.wire.ops;
    struct nof_comp comp;

    (void)state;
    ops.gone = gone;
    ops.release = let_it_go;
    nic.wire.ops = &ops;
    device_gone = false;
    release_says = NOF_OK;
    let_go = tried = 0;
    both();
    now_ns += NOFD_S;
    (void)turn();
    assert_false(nofd_nic_let_go(&nic, now_ns));
    assert_false(nofd_nic_gone(&nic));
    (void)main_was_told();

    device_gone = true;
    now_ns += NOFD_S;
    (void)turn();
    assert_true(nofd_nic_gone(&nic));
    assert_true(main_was_told());
    for (unsigned i = 0; i < EPS; i++) {
        assert_int_equal(nofd_endpoint_state(&ep[i]), NOFD_EP_FAILED);
        assert_int_equal((int)ep[i].nic_words->endpoint_failed, NOF_EUNPLUGGED);
        assert_int_equal(reap(i, NOF_COMP_FAILED, &comp), 1);
        assert_int_equal(comp.status, NOF_EUNPLUGGED);
        nofd_nic_detach(&nic, now_ns, &ep[i], NOF_EUNPLUGGED);
        nofd_bar_destroy(&ep[i].bar);
        memset(&ep[i], 0, sizeof(ep[i]));
    }
    assert_int_equal(attach(0), NOF_EUNPLUGGED);
    release_says = NOF_EAGAIN;
    assert_false(
        nofd_nic_let_go(&nic, now_ns)); /* another core of it has not seen it yet, and tells us when it has */
    release_says = NOF_EUNPLUGGED;
    now_ns += NOFD_S;
    assert_true(nofd_nic_let_go(&nic, now_ns));
    assert_true(nofd_nic_let_go(&nic, now_ns + NOFD_S - 1)); /* not at every tick */
    assert_int_equal(tried, 2);
    now_ns += NOFD_S;
    assert_true(nofd_nic_let_go(&nic, now_ns));
    release_says = NOF_OK;
    now_ns += NOFD_S;
    assert_false(nofd_nic_let_go(&nic, now_ns));
    assert_false(nofd_nic_let_go(&nic, now_ns));
    assert_int_equal(let_go, 1);
    assert_int_equal(tried, 4);
    nic.wire.ops = wire.ops;
}

static int table_error; /* of a core that is not the first */

/* As nof_dpdk_queue_guard(), to which the kernel gives no table. */
static int no_table(struct nofd_wire *of, uint64_t nic_id, uint32_t max_paths, int *errno_out)
{
    (void)of;
    assert_int_equal(nic_id, 1);
    assert_true(max_paths > 0);
    *errno_out = table_error;
    return NOF_ENOTSUP;
}

static int create_core(unsigned core)
{
    struct nof_nic_config cfg = {.nic_id = 1, .seed = {1}, .max_endpoints = EPS, .max_predictors = 1};
    struct nofd_wire_ops ops;
    int rc;

    nofd_nic_destroy(&nic);
    nofd_wire_open_fabric(&wire, fabric, 0, macs[0], 0x0a000001, 1500, 0);
    ops = *wire.ops;
    ops.guard = no_table;
    wire.ops = &ops;
    wire.core = core;
    wire.ncores = 2;
    rc = nofd_nic_create(&nic, 3, &wire, &cfg, now_ns, err, sizeof(err));
    nofd_wire_open_fabric(&wire, fabric, 0, macs[0], 0x0a000001, 1500, 0);
    nic.wire.ops = wire.ops;
    return rc;
}

/* The program takes frames of core 0 without one, and nobody else's: such a core would be deaf, and nobody would know. */
static void a_core_that_no_frame_would_reach_is_an_error(void **state)
{
    (void)state;
    table_error = EPERM;
    assert_int_equal(create_core(1), NOF_EPERM);
    assert_non_null(strstr(err, "nic3 core 1 (fabric): the kernel gives no table"));
    assert_non_null(strstr(err, "CAP_BPF"));
    assert_null(nic.nic);
    table_error = ENOMEM;
    assert_int_equal(create_core(1), NOF_ENOTSUP);
    assert_non_null(strstr(err, "--cores-per-nic 1"));
    assert_int_equal(create_core(0), NOF_OK); /* which gets all that is well formed */
    table_error = 0;
    assert_int_equal(create_core(1), NOF_OK); /* another program stands there, or none */
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_core_that_refuses_leaves_nothing_and_a_sentence),
        EACH(a_turn_carries_messages_between_its_endpoints),
        EACH(there_are_so_many_endpoints),
        EACH(one_that_cannot_be_heard_is_none),
        EACH(what_lies_in_the_arena_needs_nobody_to_copy_it),
        EACH(a_detached_one_is_gone_at_once),
        EACH(or_when_its_last_copy_has_ended),
        EACH(a_doomed_one_fails_alone_and_hears_it),
        EACH(the_roster_says_it_before_any_peer_is_told),
        EACH(whose_ring_is_a_lie_is_not_written_to_any_more),
        EACH(hosts_are_told_that_it_sleeps_and_what_waits_keeps_it_awake),
        EACH(hosts_are_told_for_how_long_it_did_not_run),
        EACH(a_host_that_does_not_reap_is_looked_at_again),
        EACH(a_port_that_has_not_woken_it_yet_is_looked_at_again),
        EACH(what_it_does_for_other_cores_is_work_and_theirs_no_rest),
        EACH(the_core_hears_of_a_link_with_another_rate),
        EACH(the_link_is_looked_at_from_time_to_time),
        EACH(when_its_device_goes_its_ranks_hear_it_and_none_can_come),
        EACH(without_anything_to_do_it_is_quiet),
        EACH(whose_word_it_is_has_the_receive),
        EACH(a_core_that_no_frame_would_reach_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
