/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs: the first endpoint fixes key and size, the last one's end closes the paths, and then the job is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

#include "flow/job.h"
#include "flow/link.h"

#define JOBS 3u
#define MS 1000000ull

static struct world *w;
static struct nof_nic *nic;

static int start(void **state)
{
    struct world_config cfg = {.nics = 2, .mtu = 1500, .dma_inline = 1, .seed = 1};

    (void)state;
    cfg.nic = (struct nof_nic_config){.max_endpoints = 4, .max_jobs = JOBS, .max_peers = 64};
    w = world_init(&cfg);
    nic = world_nic(w, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_fini(w);
    return 0;
}

static int join(uint64_t id, int key, uint32_t size, uint32_t *job_out)
{
    struct nof_endpoint_params params = {.job_id = id, .size = size};

    memset(params.job_key, key, sizeof params.job_key);
    return nof_job_join(nic, &params, job_out);
}

static void the_first_fixes_key_and_size(void **state)
{
    uint32_t a, b = 99;

    (void)state;
    assert_int_equal(join(7, 1, 4, &a), NOF_OK);
    assert_int_equal(join(7, 2, 4, &b), NOF_EPERM);
    assert_int_equal(join(7, 2, 5, &b), NOF_EPERM); /* the key comes first */
    assert_int_equal(join(7, 1, 5, &b), NOF_EINVAL);
    assert_int_equal(b, 99);
    assert_int_equal(join(7, 1, 4, &b), NOF_OK);
    assert_int_equal(a, b);
    assert_int_equal(nic->jobs[a].endpoints, 2);
}

static void every_byte_of_the_key_counts(void **state)
{
    struct nof_endpoint_params params = {.job_id = 7, .size = 4};
    uint32_t job;

    (void)state;
    assert_int_equal(nof_job_join(nic, &params, &job), NOF_OK);
    for (unsigned i = 0; i < NOF_JOB_KEY_BYTES; i++) {
        params.job_key[i] = 0x80;
        assert_int_equal(nof_job_join(nic, &params, &job), NOF_EPERM);
        params.job_key[i] = 0;
    }
    assert_int_equal(nof_job_join(nic, &params, &job), NOF_OK);
}

static void there_are_so_many(void **state)
{
    uint32_t job[JOBS], more;

    (void)state;
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(join(100 + i, 1, 4, &job[i]), NOF_OK);
    assert_int_equal(join(200, 1, 4, &more), NOF_ENOMEM);
    assert_int_equal(join(101, 1, 4, &more), NOF_OK); /* of those that are there */
    nof_job_leave(nic, job[2]);
    nof_job_link_gone(nic, job[2]);
    assert_int_equal(join(200, 1, 4, &more), NOF_OK);
    assert_int_equal(more, job[2]);
}

static void each_has_a_link_to_itself(void **state)
{
    uint32_t a, b;

    (void)state;
    assert_int_equal(join(1, 1, 4, &a), NOF_OK);
    assert_int_equal(join(2, 1, 4, &b), NOF_OK);
    assert_int_not_equal(nic->jobs[a].local_link, nic->jobs[b].local_link);
    for (uint32_t j = a; j <= b; j++) {
        const struct nof_link *link = &nic->links[nic->jobs[j].local_link];

        assert_true(link->used && link->up);
        assert_null(link->path);
        assert_int_equal(link->job, j);
    }
    nof_job_leave(nic, a);
    nof_job_link_gone(nic, a);
    assert_false(nic->links[nic->cfg.max_paths + a].used);
}

static void its_key_is_known_while_it_has_endpoints(void **state)
{
    static const uint8_t key[NOF_JOB_KEY_BYTES] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    uint32_t job;

    (void)state;
    assert_null(nof_job_key(nic, 7));
    assert_int_equal(join(7, 5, 4, &job), NOF_OK);
    assert_memory_equal(nof_job_key(nic, 7), key, sizeof key);
    assert_null(nof_job_key(nic, 8));
    nof_job_leave(nic, job);
    assert_null(nof_job_key(nic, 7)); /* nobody is there to speak to */
}

/* Its frames may still be on their way, and would be taken for the new one's. */
static void another_of_its_id_waits_until_it_is_cleared_away(void **state)
{
    uint32_t job, again;

    (void)state;
    assert_int_equal(join(7, 1, 4, &job), NOF_OK);
    nof_job_leave(nic, job);
    assert_int_equal(join(7, 2, 4, &again), NOF_ENOMEM);
    assert_int_equal(join(7, 1, 8, &again), NOF_ENOMEM);
    assert_int_equal(join(7, 1, 4, &again), NOF_OK); /* the same goes on */
    assert_int_equal(again, job);
    nof_job_leave(nic, job);
    nof_job_link_gone(nic, job);
    assert_int_equal(join(7, 2, 9, &again), NOF_OK);
}

static uint32_t jobs_used(unsigned i)
{
    uint32_t n = 0;

    for (uint32_t j = 0; j < JOBS; j++)
        n += world_nic(w, i)->jobs[j].used;
    return n;
}

static void paths_are_closed_when_both_have_heard_all(void **state)
{
    (void)state;
    world_open(w, 0, 0, 3);
    world_open(w, 1, 1, 3);
    world_open(w, 0, 2, 3);
    world_run_for(w, 5 * MS);
    assert_int_equal(nic->paths_used, 1);
    world_close(w, 0, NOF_OK);
    world_run_for(w, 5 * MS);
    assert_int_equal(nic->paths_used, 1); /* another needs it */
    world_send(w, 2, 1, 1, world_rank(w, 2)->arena, 16, 5);
    world_close(w, 2, NOF_OK);
    world_run_for(w, 50 * MS);
    assert_int_equal(nic->paths_used, 0);
    assert_int_equal(nic->draining, 0);
    assert_int_equal(jobs_used(0), 0);
    assert_int_equal(jobs_used(1), 1);
    world_close(w, 1, NOF_OK);
    world_run_for(w, 50 * MS);
    assert_int_equal(jobs_used(1), 0);
    assert_int_equal(world_nic(w, 1)->paths_used, 0);
}

static void who_joins_meanwhile_keeps_the_path(void **state)
{
    struct nof_path *path;

    (void)state;
    world_open(w, 0, 0, 3);
    world_open(w, 1, 1, 3);
    world_run_for(w, 5 * MS);
    path = nic->links[0].path;
    assert_non_null(path);
    world_cut(w, 1, true); /* nothing is acknowledged: it drains for as long */
    world_send(w, 0, 1, 1, world_rank(w, 0)->arena, 16, 5);
    world_close(w, 0, NOF_OK);
    world_run_for(w, MS);
    assert_int_equal(nic->draining, 1);
    world_open(w, 0, 2, 3);
    assert_int_equal(nic->draining, 0);
    world_cut(w, 1, false);
    world_run_for(w, 50 * MS);
    assert_ptr_equal(nic->links[0].path, path);
    world_recv(w, 1, 2, 1, world_rank(w, 1)->arena, 16, 6);
    world_send(w, 2, 1, 1, world_rank(w, 2)->arena, 16, 7);
    world_run_for(w, 5 * MS);
    while (world_rank(w, 2)->next < world_rank(w, 2)->ncomps)
        if (world_take(w, 2)->opcode == NOF_COMP_SEND)
            return;
    fail_msg("nothing was sent over the path that was kept");
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_first_fixes_key_and_size),
        EACH(every_byte_of_the_key_counts),
        EACH(there_are_so_many),
        EACH(each_has_a_link_to_itself),
        EACH(its_key_is_known_while_it_has_endpoints),
        EACH(another_of_its_id_waits_until_it_is_cleared_away),
        EACH(paths_are_closed_when_both_have_heard_all),
        EACH(who_joins_meanwhile_keeps_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
