/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host driver in a program that closes descriptors which it has not opened: it is told, and what has their numbers by then is left
 * alone. The daemon's side is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_nofd.h"
#include "pmd_state.h"

static struct fake_nofd fake;
static char text[512];

static int attach(struct nof_pmd **pmd_out)
{
    struct nof_pmd_attach_args args = {
        .socket = fake.address, .job_id = 77, .job_key = {1, 2, 3}, .rank = 5, .size = 8, .nic = 1};

    return fake_attach(&fake, &args, pmd_out, text, sizeof(text));
}

/* Their numbers may be those of the program's own files by then. */
static void a_program_that_closes_our_descriptors_is_told(void **state)
{
    struct nof_pmd *pmd = NULL;
    struct nof_comp comp;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), descriptor[2];

    (void)state;
    for (unsigned reused = 0; reused < 2; reused++) {
        fake_open(&fake);
        assert_int_equal(attach(&pmd), NOF_OK);
        descriptor[0] = pmd->socket.fd;
        descriptor[1] = pmd->doorbell.fd;
        for (unsigned i = 0; i < 2; i++)
            assert_true(reused ? dup2(null, descriptor[i]) == descriptor[i] : close(descriptor[i]) == 0);
        fake.nic_words->endpoint_failed = reused ? (uint32_t)NOF_EPEERDEAD : 0;
        while (nof_pmd_wait(pmd, nof_pmd_wake_count(pmd), UINT64_MAX) == NOF_OK)
            (void)nof_pmd_reap(pmd, &comp, 1);
        assert_non_null(strstr(nof_pmd_death(pmd), "this program has closed descriptor"));
        nof_pmd_detach(pmd);
        for (unsigned i = 0; reused && i < 2; i++)
            assert_int_equal(close(descriptor[i]), 0);
        fake_close(&fake);
    }
    close(null);
}

static int open_null(void)
{
    return open("/dev/null", O_RDWR | O_CLOEXEC);
}

static int open_eventfd(void)
{
    return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/* The number may be that of another doorbell by then, of the program's own: an eventfd, too. */
static void a_doorbell_that_the_program_has_closed_is_not_rung(void **state)
{
    struct nof_desc desc = {.opcode = NOF_DESC_FLUSH};
    int (*const others[])(void) = {open_null, open_eventfd};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct nof_pmd *pmd = NULL;
        uint64_t rung;
        int other = i < 2 ? others[i]() : -1, number;

        fake_open(&fake);
        assert_int_equal(attach(&pmd), NOF_OK);
        number = pmd->doorbell.fd;
        if (i < 2)
            assert_int_equal(dup2(other, number), number);
        else
            assert_int_equal(close(number), 0);
        assert_int_equal(nof_pmd_submit(pmd, &desc, 1), 1); /* the NIC is awake */
        fake.nic_words->nic_asleep = 1;
        (void)nof_pmd_submit(pmd, &desc, 1);
        assert_int_equal(nof_pmd_submit(pmd, &desc, 1), NOF_ENICDEAD);
        assert_non_null(strstr(nof_pmd_death(pmd), "this program has closed descriptor"));
        nof_pmd_detach(pmd);
        if (i == 1)
            assert_int_equal(read(number, &rung, sizeof(rung)), -1); /* nothing, and it is open */
        if (i < 2) {
            assert_int_equal(close(number), 0);
            assert_int_equal(close(other), 0);
        }
        fake_close(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_closes_our_descriptors_is_told),
        cmocka_unit_test(a_doorbell_that_the_program_has_closed_is_not_rung),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
