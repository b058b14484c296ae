/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs: the first rank says whose it is, of what key and size; the last one takes the record with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nof/status.h"

#include "nofd/door/job_owner.h"

#define USER 1000u

static struct nofd_job *jobs;
static char text[256];

static struct nof_attach_request request(uint64_t id, uint8_t key, uint32_t size)
{
    struct nof_attach_request r = {.job_id = id, .size = size};

    memset(r.job_key, key, sizeof(r.job_key));
    return r;
}

static int enter(uint64_t id, uint8_t key, uint32_t size, uid_t uid, struct nofd_job **job_out)
{
    struct nof_attach_request r = request(id, key, size);

    return nofd_job_enter(&jobs, &r, uid, job_out, text, sizeof(text));
}

static void ranks_of_one_job_share_its_record(void **state)
{
    struct nofd_job *first;
    struct nofd_job *second;

    (void)state;
    assert_int_equal(enter(7, 1, 2, USER, &first), NOF_OK);
    assert_int_equal(enter(7, 1, 2, USER, &second), NOF_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(first->ranks, 2);
    nofd_job_leave(&jobs, first);
    assert_ptr_equal(jobs, second);
    nofd_job_leave(&jobs, second);
    assert_null(jobs);
}

static void neither_another_user_nor_another_key_gets_in(void **state)
{
    struct nofd_job *job;
    struct nofd_job *none = NULL;

    (void)state;
    assert_int_equal(enter(7, 1, 2, USER, &job), NOF_OK);
    assert_int_equal(enter(7, 1, 2, USER + 1, &none), NOF_EPERM);
    assert_non_null(strstr(text, "another user"));
    assert_int_equal(enter(7, 2, 2, USER, &none), NOF_EPERM);
    assert_non_null(strstr(text, "another key"));
    assert_int_equal(enter(7, 1, 3, USER, &none), NOF_EINVAL);
    assert_null(none);
    assert_int_equal(job->ranks, 1);
    nofd_job_leave(&jobs, job);
}

static void jobs_come_and_go_in_any_order(void **state)
{
    struct nofd_job *job[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(enter(i + 1, (uint8_t)i, 1, USER + i, &job[i]), NOF_OK);
    nofd_job_leave(&jobs, job[1]);
    nofd_job_leave(&jobs, job[2]);
    assert_ptr_equal(jobs, job[0]);
    assert_int_equal(enter(2, 9, 4, USER, &job[1]), NOF_OK); /* the number is free again */
    nofd_job_leave(&jobs, job[0]);
    nofd_job_leave(&jobs, job[1]);
    assert_null(jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_job_share_its_record),
        cmocka_unit_test(neither_another_user_nor_another_key_gets_in),
        cmocka_unit_test(jobs_come_and_go_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
