/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint on the main thread: how its memory will be reached, who may have one, and that what cannot be made leaves
 * nothing. The NIC core is a stand-in whose errands are done at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nofd/control/daemon.h"
#include "nofd/control/serve.h"
#include "nofd/core/assist.h"

#define NICS 3u

static struct nofd d;
static struct nofd_nic nics[NICS];
static struct nofd_core cores[1];
static struct nofd_dma engine;
static struct nofd_job job = {.id = 7, .size = 4};
static struct nof_attach_request request;
static struct nofd_dma_rank rank;
static unsigned ranks_closed, left, attached;
static int core_says, detach_state;
static struct nof_endpoint_params params;
static char text[256];

/* The other side. */
const struct nofd_dma_ops nofd_dma_inline = {.name = "inline", .is_inline = true, .reads_sum = true};
const struct nofd_dma_ops nofd_dma_split = {.name = "split", .is_inline = true, .reads_late = true};
const struct nofd_dma_ops nofd_dma_helpers = {.name = "helper"};
const struct nofd_dma_ops nofd_dma_assist = {.name = "assist"};

struct nofd_assist *nofd_assist_create(void *area)
{
    assert_non_null(area);
    return malloc(1);
}

void nofd_assist_destroy(struct nofd_assist *assist)
{
    free(assist);
}

void nofd_dma_rank_close(struct nofd_dma_rank *of)
{
    assert_ptr_equal(of, &rank);
    ranks_closed++;
}

int nofd_nic_attach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep,
                    const struct nof_endpoint_params *with)
{
    (void)now_ns;
    assert_ptr_equal(nic, ep->nic);
    params = *with;
    if (core_says != NOF_OK)
        return core_says;
    attached++;
    ep->card.endpoint = 42;
    nofd_endpoint_set_state(ep, NOFD_EP_LIVE);
    return NOF_OK;
}

void nofd_nic_detach(struct nofd_nic *nic, uint64_t now_ns, struct nofd_endpoint *ep, int reason)
{
    (void)nic;
    (void)now_ns;
    assert_int_equal(reason, NOF_EPEERDEAD);
    nofd_endpoint_set_state(ep, (enum nofd_endpoint_state)detach_state);
}

void nofd_job_leave(struct nofd_job **jobs, struct nofd_job *of)
{
    assert_ptr_equal(jobs, &d.jobs);
    assert_ptr_equal(of, &job);
    left++;
}

void nofd_lcore_run(struct nofd_lcore *lcore, void (*fn)(struct nofd_lcore *lcore, void *arg), void *arg)
{
    fn(lcore, arg);
}

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    memset(nics, 0, sizeof(nics));
    memset(cores, 0, sizeof(cores));
    memset(&engine, 0, sizeof(engine));
    rank = (struct nofd_dma_rank){0};
    ranks_closed = left = attached = 0;
    core_says = NOF_OK;
    detach_state = NOFD_EP_GONE;
    request = (struct nof_attach_request){.job_id = 7, .rank = 0, .size = 4};
    memset(request.job_key, 9, sizeof(request.job_key));
    d.nics = nics;
    d.nparts = d.nnics = NICS;
    d.options.cores_per_nic = 1;
    d.cores = cores;
    d.ncores = d.nrunning = 1;
    d.options.max_endpoints = 8;
    d.options.staging_bytes = d.options.bounce_bytes = 65536;
    for (unsigned i = 0; i < NICS; i++) {
        nics[i].index = i;
        nics[i].dma = &engine;
        nics[i].lcore = &cores[0].lcore;
        strcpy(nics[i].name, "nic0 (fabric)");
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    while (d.endpoints != NULL) {
        nofd_endpoint_set_state(d.endpoints, NOFD_EP_GONE);
        nofd_serve_free(&d, d.endpoints);
    }
    nofd_segments_end(&job.segments);
    return d.nendpoints == 0 ? 0 : -1;
}

static struct nofd_serve as(uid_t uid, bool direct, struct nofd_dma_rank *helped)
{
    return (struct nofd_serve){.request = &request,
                               .job = &job,
                               .pid = 4711,
                               .uid = uid,
                               .nic = &nics[0],
                               .pidfd = 33,
                               .direct = direct,
                               .rank = helped};
}

static int open_as(uid_t uid, uint32_t of, struct nofd_endpoint **ep_out)
{
    struct nofd_serve serve = as(uid, true, NULL);

    request.rank = of;
    return nofd_serve_open(&d, &serve, ep_out, text, sizeof(text));
}

static void nics_are_dealt_in_turn_unless_one_is_asked_for(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * NICS; i++)
        assert_ptr_equal(nofd_serve_nic(&d, UINT32_MAX), &nics[i % NICS]);
    assert_ptr_equal(nofd_serve_nic(&d, 2), &nics[2]);
    assert_ptr_equal(nofd_serve_nic(&d, UINT32_MAX), &nics[0]);
}

static void a_nic_whose_device_has_gone_is_dealt_no_more_and_says_what_to_type(void **state)
{
    struct nofd_serve serve = as(0, false, NULL);
    struct nofd_endpoint *ep = NULL;

    (void)state;
    nics[0].lost = nics[1].lost = true;
    for (unsigned i = 0; i < 2 * NICS; i++)
        assert_ptr_equal(nofd_serve_nic(&d, UINT32_MAX), &nics[2]);
    assert_ptr_equal(nofd_serve_nic(&d, 0), &nics[0]); /* as asked for */
    nics[2].lost = true;
    assert_non_null(nofd_serve_nic(&d, UINT32_MAX)); /* which says why not */
    assert_int_equal(nofd_serve_open(&d, &serve, &ep, text, sizeof(text)), NOF_EUNPLUGGED);
    assert_non_null(strstr(text, "has gone"));
    assert_non_null(strstr(text, "`nof down`"));
    assert_null(ep);
    assert_int_equal(attached, 0);
}

static void memory_is_reached_as_well_as_it_can_be(void **state)
{
    const struct {
        bool direct, helped, copier;
        const struct nofd_dma_ops *ops;
        int mode;
    } ways[] = {
        {false, false, false, &nofd_dma_assist, NOF_DMA_ASSIST},
        {true, false, false, &nofd_dma_inline, NOF_DMA_DIRECT},
        {true, false, true, &nofd_dma_split, NOF_DMA_DIRECT},
        {true, true, false, &nofd_dma_helpers, NOF_DMA_DIRECT},
    };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct nofd_serve serve = as(geteuid(), ways[i].direct, ways[i].helped ? &rank : NULL);
        struct nofd_endpoint *ep = NULL;

        engine.copier = ways[i].copier ? (struct nofd_copier *)(void *)&engine : NULL;
        request.rank = i;
        assert_int_equal(nofd_serve_open(&d, &serve, &ep, text, sizeof(text)), NOF_OK);
        assert_ptr_equal(ep->memory.ops, ways[i].ops);
        assert_int_equal(ep->bar.identity->dma, ways[i].mode);
        assert_int_equal(ep->assist != NULL, i == 0);
        assert_int_equal(ep->bar.identity->assist_bytes != 0, i == 0);
        assert_int_equal(ep->memory.pidfd, i == 1 || i == 2 ? 33 : -1);
        assert_ptr_equal(rank.memory, i == 3 ? &ep->memory : NULL);
        assert_int_equal(params.dma_inline, ways[i].ops->is_inline);
        assert_int_equal(params.dma_read_late, ways[i].ops->reads_late);
        assert_int_equal(params.dma_read_sums, ways[i].ops->reads_sum);
    }
}

static void the_core_hears_of_its_areas_and_the_host_of_its_card(void **state)
{
    const struct nof_bar_identity *id;
    struct nofd_endpoint *ep = NULL;

    (void)state;
    assert_int_equal(open_as(geteuid(), 3, &ep), NOF_OK);
    id = ep->bar.identity;
    assert_int_equal(params.job_id, 7);
    assert_int_equal(params.rank, 3);
    assert_int_equal(params.size, 4);
    assert_memory_equal(params.job_key, request.job_key, sizeof(params.job_key));
    assert_ptr_equal(params.staging, nofd_bar_at(&ep->bar, id->staging_offset));
    assert_ptr_equal(params.bounce, nofd_bar_at(&ep->bar, id->bounce_offset));
    assert_ptr_equal(params.program_area, nofd_bar_at(&ep->bar, id->program_area_offset));
    assert_int_equal(params.staging_bytes, id->staging_bytes);
    assert_ptr_equal(params.counters, ep->counters);
    assert_int_equal(id->card.endpoint, 42);
    assert_int_equal(id->nofd_pid, getpid());
    assert_string_equal(id->nic_name, "nic0 (fabric)");
}

static void the_host_reads_what_is_for_it(void **state)
{
    struct nofd_endpoint *ep[2] = {NULL};

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        d.options.feature[NOF_F_COLLECTIVES] = i; /* nic, host */
        d.options.feature[NOF_F_POLLING] = i; /* static, dynamic */
        d.options.feature[NOF_F_POLL_RATIO] = 500 + i;
        d.options.feature[NOF_F_POLL_UPDATE] = 7 + i;
        assert_int_equal(open_as(geteuid(), i, &ep[i]), NOF_OK);
        assert_int_equal(ep[i]->bar.nic_words->runs_collectives, 1 - i);
        assert_int_equal(ep[i]->bar.nic_words->polling, i);
        assert_int_equal(ep[i]->bar.nic_words->poll_ratio, 500 + i);
        assert_int_equal(ep[i]->bar.nic_words->poll_update, 7 + i);
    }
}

static void who_comes_later_reads_what_was_set_on_his_nic_alone(void **state)
{
    struct nofd_endpoint *ep[2] = {NULL};

    (void)state;
    d.options.feature[NOF_F_COLL_PATIENCE] = 100;
    for (unsigned i = 0; i < NICS; i++) {
        nics[i].own_features = UINT64_C(1) << NOF_F_COLL_PATIENCE;
        nics[i].own_feature[NOF_F_COLL_PATIENCE] = 700 + i;
    }
    assert_int_equal(open_as(geteuid(), 0, &ep[0]), NOF_OK);
    assert_int_equal(ep[0]->bar.nic_words->coll_patience_ms, 700 + ep[0]->nic->index);
    for (unsigned i = 0; i < NICS; i++)
        nics[i].own_features = 0;
    assert_int_equal(open_as(geteuid(), 1, &ep[1]), NOF_OK);
    assert_int_equal(ep[1]->bar.nic_words->coll_patience_ms, 100);
}

static struct nofd_endpoint *open_with_slot(uint32_t of, uint32_t local_ranks)
{
    struct nofd_endpoint *ep = NULL;

    request.flags = NOF_ATTACH_F_SEGMENT;
    request.local_ranks = local_ranks;
    assert_int_equal(open_as(geteuid(), of, &ep), NOF_OK);
    return ep;
}

static void who_asks_has_a_slot_beside_those_of_its_host(void **state)
{
    struct nofd_endpoint *ep, *peer, *third;
    const struct nof_roster_rank *entry;

    (void)state;
    assert_int_equal(open_as(geteuid(), 3, &ep), NOF_OK);
    assert_null(job.segments); /* nobody has asked */
    ep = open_with_slot(0, 2);
    peer = open_with_slot(1, 2);
    third = open_with_slot(2, 2);
    assert_ptr_equal(ep->slot.segment, peer->slot.segment);
    assert_ptr_equal(ep->bell, &ep->slot.segment->bells[0]);
    assert_ptr_equal(peer->bell, &ep->slot.segment->bells[1]);
    assert_int_equal(ep->bar.identity->card.segment_id, ep->slot.segment->roster->segment_id);
    assert_int_equal(peer->card.segment_id, ep->card.segment_id);
    assert_null(third->bell); /* they were two, it was said */
    assert_int_equal(third->card.segment_id, 0);
    entry = (const struct nof_roster_rank *)(const void *)(ep->slot.segment->roster + 1);
    assert_int_equal(entry[1].state, NOF_ROSTER_ATTACHED);
    assert_int_equal(entry[1].rank, 1);
    assert_int_equal(entry[1].pid, 4711);
}

/* It leaves to the feature whether it has one. */
static void who_asks_as_set_has_a_slot_as_set(void **state)
{
    static const struct {
        uint32_t flags;
        enum nof_channels channels;
        bool has;
    } cases[] = {{0, NOF_CHANNELS_AUTO, false},
                 {NOF_ATTACH_F_SEGMENT, NOF_CHANNELS_NIC, true},
                 {NOF_ATTACH_F_SEGMENT_AS_SET, NOF_CHANNELS_NIC, false},
                 {NOF_ATTACH_F_SEGMENT_AS_SET, NOF_CHANNELS_AUTO, true},
                 {NOF_ATTACH_F_SEGMENT_AS_SET, NOF_CHANNELS_SHM, true},
                 {NOF_ATTACH_F_SEGMENT_AS_SET, NOF_CHANNELS_SINGLE_COPY, true}};

    (void)state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nofd_endpoint *ep = NULL;

        request.flags = cases[i].flags;
        d.options.feature[NOF_F_CHANNELS] = cases[i].channels;
        request.local_ranks = 0;
        request.size = 8;
        assert_int_equal(open_as(geteuid(), i, &ep), NOF_OK);
        assert_int_equal(ep->bell != NULL && ep->slot.segment != NULL, cases[i].has);
        assert_int_equal(ep->bar.nic_words->channels, cases[i].channels);
    }
}

static void who_asks_as_set_has_a_slot_as_he_is_told_of_his_nic(void **state)
{
    static const struct {
        enum nof_channels all, own;
        bool has;
    } cases[] = {{NOF_CHANNELS_NIC, NOF_CHANNELS_SHM, true}, {NOF_CHANNELS_SHM, NOF_CHANNELS_NIC, false}};

    (void)state;
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nofd_endpoint *ep = NULL;

        request.flags = NOF_ATTACH_F_SEGMENT_AS_SET;
        d.options.feature[NOF_F_CHANNELS] = cases[i].all;
        nics[0].own_features = UINT64_C(1) << NOF_F_CHANNELS;
        nics[0].own_feature[NOF_F_CHANNELS] = cases[i].own;
        assert_int_equal(open_as(geteuid(), i, &ep), NOF_OK);
        assert_int_equal(ep->bar.nic_words->channels, cases[i].own);
        assert_int_equal(ep->bell != NULL && ep->slot.segment != NULL, cases[i].has);
    }
}

static void slots_are_no_more_than_can_come(void **state)
{
    (void)state;
    request.size = 4000;
    d.options.max_endpoints = 8;
    assert_int_equal(open_with_slot(0, 0)->slot.segment->nslots, 8 * NICS);
    nofd_segments_end(&job.segments);
    d.options.max_endpoints = 4000;
    assert_int_equal(open_with_slot(1, 0)->slot.segment->nslots, 4000);
    nofd_segments_end(&job.segments);
    assert_int_equal(open_with_slot(2, 5)->slot.segment->nslots, 5);
    nofd_segments_end(&job.segments);
    assert_null(open_with_slot(3, 1)->slot.segment);
}

static void a_slot_whose_rank_the_core_refuses_is_the_next_ones(void **state)
{
    struct nofd_endpoint *ep = NULL;

    (void)state;
    request.flags = NOF_ATTACH_F_SEGMENT;
    core_says = NOF_ENOMEM;
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_ENOMEM);
    core_says = NOF_OK;
    assert_int_equal(open_with_slot(1, 0)->slot.index, 0);
}

static void a_death_is_told_to_all_with_a_slot(void **state)
{
    struct nofd_endpoint *ep = open_with_slot(0, 2), *peer = open_with_slot(1, 2);

    (void)state;
    peer->bell->asleep = 1;
    nofd_segment_gone(&ep->slot, NOF_EPEERDEAD); /* the core does */
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    assert_int_equal(peer->bell->wake, 1);
    assert_int_equal(peer->slot.segment->roster->deaths, 1);
}

static void a_rank_has_one_endpoint(void **state)
{
    struct nofd_endpoint *ep = NULL, *second = NULL;

    (void)state;
    assert_int_equal(open_as(geteuid(), 1, &ep), NOF_OK);
    ep->attach = (struct nofd_attach *)(void *)&d;
    assert_int_equal(open_as(geteuid(), 1, &second), NOF_EINVAL);
    assert_non_null(strstr(text, "rank 1 of job 7 is attached already, by pid 4711"));
    assert_null(second);
    ep->attach = NULL; /* its connection is gone, a copy still under way */
    assert_int_equal(open_as(geteuid(), 1, &second), NOF_OK);
}

static void ranks_of_a_nic_go_where_fewest_are(void **state)
{
    struct nofd_endpoint *ep[4];

    (void)state;
    d.nnics = 1;
    d.options.cores_per_nic = NICS; /* all of one */
    for (uint32_t i = 0; i < 4; i++) {
        struct nofd_serve serve = as(geteuid(), false, NULL);

        request.rank = i;
        request.size = 100;
        serve.nic = nofd_serve_nic(&d, 0);
        assert_ptr_equal(serve.nic, &nics[i % NICS]);
        assert_int_equal(nofd_serve_open(&d, &serve, &ep[i], text, sizeof(text)), NOF_OK);
    }
    nofd_serve_close(&d, ep[1], NOF_EPEERDEAD);
    assert_ptr_equal(nofd_serve_nic(&d, UINT32_MAX), &nics[1]);
    nics[1].promised = 2; /* those that attach now count */
    assert_ptr_equal(nofd_serve_nic(&d, UINT32_MAX), &nics[2]);
}

static void one_user_leaves_a_quarter_to_the_others(void **state)
{
    struct nofd_endpoint *ep;
    const uid_t other = geteuid() + 1;

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(open_as(other, i, &ep), NOF_OK);
    assert_int_equal(open_as(other, 6, &ep), NOF_ENOMEM);
    assert_non_null(strstr(text, "has 6 of the 8 endpoints"));
    assert_int_equal(open_as(other + 1, 6, &ep), NOF_OK);
    assert_int_equal(open_as(geteuid(), 10, &ep), NOF_OK); /* the daemon's own may have all */
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    d.options.private_job = true;
    assert_int_equal(open_as(other, 20, &ep), NOF_OK);
}

/* Two cores have room for four and four of seven. */
static void cores_of_a_nic_serve_no_more_than_the_nic(void **state)
{
    struct nofd_endpoint *ep[8];
    struct nofd_serve serve = as(geteuid(), true, NULL);

    (void)state;
    d.options.max_endpoints = 7;
    d.options.cores_per_nic = 2;
    nics[1].index = 0;
    for (uint32_t i = 0; i < 8; i++) {
        request.rank = i;
        serve.nic = &nics[i % 2];
        assert_int_equal(nofd_serve_open(&d, &serve, &ep[i], text, sizeof(text)),
                         i < 7 ? NOF_OK : NOF_ENOMEM);
    }
    assert_non_null(strstr(text, "nic0 serves 7 ranks at most"));
    assert_non_null(strstr(text, "--max-endpoints"));
    serve.nic = &nics[2]; /* of another NIC */
    assert_int_equal(nofd_serve_open(&d, &serve, &ep[7], text, sizeof(text)), NOF_OK);
    detach_state = NOFD_EP_CLOSED; /* its place is free, a copy still under way */
    nofd_serve_close(&d, ep[0], NOF_EPEERDEAD);
    serve.nic = &nics[0];
    request.rank = 9;
    assert_int_equal(nofd_serve_open(&d, &serve, &ep[0], text, sizeof(text)), NOF_OK);
}

static void what_the_core_refuses_is_told_and_leaves_nothing(void **state)
{
    struct nofd_endpoint *ep = NULL;
    struct nofd_serve serve = as(geteuid(), true, &rank);
    int fd = dup(0);

    (void)state;
    close(fd);
    core_says = NOF_ENOMEM;
    assert_int_equal(nofd_serve_open(&d, &serve, &ep, text, sizeof(text)), NOF_ENOMEM);
    assert_non_null(strstr(text, "serves 8 ranks at most"));
    core_says = NOF_EPERM;
    serve.rank = NULL;
    assert_int_equal(nofd_serve_open(&d, &serve, &ep, text, sizeof(text)), NOF_EPERM);
    assert_non_null(strstr(text, "refuses the endpoint"));
    assert_null(ep);
    assert_int_equal(d.nendpoints, 0);
    assert_int_equal(ranks_closed, 1); /* the endpoint's, also on failure */
    assert_int_equal(left, 0); /* the job is the caller's still */
    assert_int_equal(dup(0), fd);
    close(fd);
}

static void without_descriptors_it_says_what_to_do(void **state)
{
    struct nofd_endpoint *ep = NULL;
    struct rlimit files, few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    few = files;
    few.rlim_cur = 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_ENOMEM);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_non_null(strstr(text, "raise ulimit -n"));
    assert_int_equal(attached, 0);
}

static void a_closed_one_is_freed_now_or_when_its_last_copy_has_ended(void **state)
{
    struct nofd_endpoint *ep;

    (void)state;
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_OK);
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    assert_int_equal(d.nendpoints, 0);
    assert_int_equal(left, 1);
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_OK);
    detach_state = NOFD_EP_CLOSED;
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    assert_int_equal(d.nendpoints, 1);
    assert_ptr_equal(d.endpoints, ep);
    nofd_serve_free(&d, ep);
    assert_null(d.endpoints);
    assert_int_equal(left, 2);
}

static uint64_t *library_counts(struct nofd_endpoint *ep)
{
    return nofd_bar_at(&ep->bar, ep->bar.identity->library_counts_offset);
}

static void what_a_library_counted_outlives_its_endpoint(void **state)
{
    struct nofd_endpoint *ep;

    (void)state;
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_OK);
    library_counts(ep)[0] = 7;
    library_counts(ep)[NOF_LIBRARY_COUNT_MAX - 1] = UINT64_MAX;
    assert_int_equal(nics[0].gone.ranks, 0);
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    assert_int_equal(nics[0].gone.ranks, 1);
    assert_int_equal(open_as(geteuid(), 0, &ep), NOF_OK);
    library_counts(ep)[0] = 8;
    library_counts(ep)[NOF_LIBRARY_COUNT_MAX - 1] = 6;
    detach_state = NOFD_EP_CLOSED;
    nofd_serve_close(&d, ep, NOF_EPEERDEAD);
    assert_int_equal(nics[0].gone.ranks, 1); /* it is in the list still */
    nofd_serve_free(&d, ep);
    assert_int_equal(nics[0].gone.ranks, 2);
    assert_int_equal(nics[0].gone.counted[0], 15);
    assert_int_equal(nics[0].gone.counted[1], 0);
    assert_int_equal(nics[0].gone.counted[NOF_LIBRARY_COUNT_MAX - 1], 5);
}

static uint32_t cpus(void)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return (uint32_t)CPU_COUNT(&set);
}

static void cores_give_way_when_there_are_more_pollers_than_cpus(void **state)
{
    struct nofd_endpoint *ep;
    uint32_t n = 0;

    (void)state;
    d.options.max_endpoints = 100000;
    nofd_serve_count(&d);
    while (!cores[0].idle.scarce && n < 2000)
        assert_int_equal(open_as(geteuid(), n++, &ep), NOF_OK);
    assert_true(cores[0].idle.scarce);
    assert_int_equal(n, cpus()); /* and the core */
    nofd_serve_close(&d, d.endpoints, NOF_EPEERDEAD);
    assert_false(cores[0].idle.scarce);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(nics_are_dealt_in_turn_unless_one_is_asked_for),
        EACH(a_nic_whose_device_has_gone_is_dealt_no_more_and_says_what_to_type),
        EACH(memory_is_reached_as_well_as_it_can_be),
        EACH(the_core_hears_of_its_areas_and_the_host_of_its_card),
        EACH(the_host_reads_what_is_for_it),
        EACH(who_comes_later_reads_what_was_set_on_his_nic_alone),
        EACH(who_asks_has_a_slot_beside_those_of_its_host),
        EACH(who_asks_as_set_has_a_slot_as_set),
        EACH(who_asks_as_set_has_a_slot_as_he_is_told_of_his_nic),
        EACH(slots_are_no_more_than_can_come),
        EACH(a_slot_whose_rank_the_core_refuses_is_the_next_ones),
        EACH(a_death_is_told_to_all_with_a_slot),
        EACH(a_rank_has_one_endpoint),
        EACH(ranks_of_a_nic_go_where_fewest_are),
        EACH(one_user_leaves_a_quarter_to_the_others),
        EACH(cores_of_a_nic_serve_no_more_than_the_nic),
        EACH(what_the_core_refuses_is_told_and_leaves_nothing),
        EACH(without_descriptors_it_says_what_to_do),
        EACH(a_closed_one_is_freed_now_or_when_its_last_copy_has_ended),
        EACH(what_a_library_counted_outlives_its_endpoint),
        EACH(cores_give_way_when_there_are_more_pollers_than_cpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
