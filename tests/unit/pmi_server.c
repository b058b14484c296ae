/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The launcher's side of PMI-1: what a well-behaved rank gets, and what a broken one cannot do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "nof/status.h"
#include "pmi_server.h"

#define RANKS 3

static char said[RANKS][8192]; /* all replies to a rank since the last look */
static bool abort_called;
static int aborted_by, abort_code;

static void reply(void *ctx, unsigned rank, const char *line, size_t len)
{
    (void)ctx;
    strncat(said[rank], line, len);
}

static void abort_job(void *ctx, unsigned rank, int code, bool called)
{
    (void)ctx;
    aborted_by = (int)rank;
    abort_code = code;
    abort_called = called;
}

static const struct nof_pmi_ops ops = {.reply = reply, .abort = abort_job};

static int setup(void **state)
{
    memset(said, 0, sizeof(said));
    aborted_by = -1;
    *state = nof_pmi_new(RANKS, 2, "job1", &ops, NULL);
    return *state == NULL;
}

static int teardown(void **state)
{
    nof_pmi_delete(*state);
    return 0;
}

static const char *ask(void *pmi, unsigned rank, const char *line)
{
    said[rank][0] = '\0';
    assert_int_equal(nof_pmi_feed(pmi, rank, line, strlen(line)), NOF_OK);
    return said[rank];
}

static void start(void *pmi)
{
    for (unsigned i = 0; i < RANKS; i++)
        assert_string_equal(ask(pmi, i, "cmd=init pmi_version=1 pmi_subversion=1\n"),
                            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

static void rank_learns_its_job(void **state)
{
    start(*state);
    assert_string_equal(ask(*state, 1, "cmd=get_maxes\n"),
                        "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024\n");
    assert_string_equal(ask(*state, 1, "cmd=get_appnum\n"), "cmd=appnum rc=0 appnum=0\n");
    assert_string_equal(ask(*state, 1, "cmd=get_universe_size\n"), "cmd=universe_size rc=0 size=3\n");
    assert_string_equal(ask(*state, 1, "cmd=get_my_kvsname\n"), "cmd=my_kvsname rc=0 kvsname=job1\n");
    assert_string_equal(ask(*state, 1, "cmd=get kvsname=job1 key=PMI_process_mapping\n"),
                        "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))\n");
}

static void value_is_kept_with_its_blanks(void **state)
{
    start(*state);
    assert_string_equal(ask(*state, 0, "cmd=put kvsname=job1 key=a value=one two=three\n"),
                        "cmd=put_result rc=0 msg=success\n");
    assert_string_equal(ask(*state, 2, "cmd=get kvsname=job1 key=a\n"),
                        "cmd=get_result rc=0 msg=success value=one two=three\n");
    assert_string_equal(ask(*state, 2, "cmd=get kvsname=job1 key=b\n"),
                        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    assert_string_equal(ask(*state, 2, "cmd=get kvsname=other key=a\n"),
                        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    assert_string_equal(ask(*state, 1, "cmd=put kvsname=job1 key=a value=x\n"),
                        "cmd=put_result rc=-1 msg=duplicate_key\n");
    assert_non_null(
        strstr(ask(*state, 1, "cmd=getbyidx kvsname=job1 idx=1\n"), "nextidx=2 key=a val=one two=three\n"));
    assert_non_null(strstr(ask(*state, 1, "cmd=getbyidx kvsname=job1 idx=2\n"), "rc=-2"));
}

static void bytes_may_come_in_any_pieces(void **state)
{
    const char *text = "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_appnum\ncmd=finalize\n";

    for (const char *p = text; *p != '\0'; p++)
        assert_int_equal(nof_pmi_feed(*state, 0, p, 1), NOF_OK);
    assert_string_equal(said[0],
                        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=appnum rc=0 appnum=0\n"
                        "cmd=finalize_ack rc=0\n");
    assert_int_equal(nof_pmi_phase(*state, 0), NOF_PMI_FINALIZED);
    assert_int_equal(nof_pmi_phase(*state, 1), NOF_PMI_NEW);
}

static void barrier_waits_for_all_and_for_no_dead(void **state)
{
    start(*state);
    assert_string_equal(ask(*state, 0, "cmd=barrier_in\n"), "");
    said[2][0] = '\0';
    assert_string_equal(ask(*state, 1, "cmd=barrier_in\n"), "");
    assert_string_equal(ask(*state, 2, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n");
    assert_string_equal(said[0], "cmd=barrier_out rc=0\n");
    assert_int_equal(nof_pmi_fences(*state), 1);
    assert_string_equal(ask(*state, 0, "cmd=barrier_in\n"), "");
    assert_string_equal(ask(*state, 1, "cmd=barrier_in\n"), "");
    nof_pmi_gone(*state, 2);
    assert_string_equal(said[0], "cmd=barrier_out rc=0\n");
    nof_pmi_gone(*state, 1);
    assert_string_equal(ask(*state, 0, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n");
}

static void abort_is_told_with_its_code(void **state)
{
    start(*state);
    ask(*state, 2, "cmd=abort exitcode=42\n");
    assert_int_equal(aborted_by, 2);
    assert_int_equal(abort_code, 42);
}

static void unknown_command_is_answered(void **state)
{
    start(*state);
    assert_string_equal(ask(*state, 0, "cmd=publish_name service=x port=y\n"),
                        "cmd=publish_name_result rc=-1 msg=unknown_command\n");
}

static void broken_ranks_are_refused(void **state)
{
    static char endless[5000];
    const struct {
        const char *bytes;
        size_t n;
    } broken[] = {
        {"cmd=put kvsname=job1 key=a value=b\n", 35}, /* before init */
        {"hello\n", 6},
        {"\n", 1},
        {"cmd=in\0it\n", 10},
        {"mcmd=spawn\n", 11},
        {endless, sizeof(endless)},
    };

    memset(endless, 'x', sizeof(endless));
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct nof_pmi *pmi = nof_pmi_new(1, 1, "job1", &ops, NULL);

        assert_int_equal(nof_pmi_feed(pmi, 0, broken[i].bytes, broken[i].n), NOF_EPROTO);
        assert_string_not_equal(nof_pmi_error(pmi), "");
        nof_pmi_delete(pmi);
    }
    start(*state);
    assert_int_equal(nof_pmi_feed(*state, 0, "cmd=init\n", 9), NOF_EPROTO);
    assert_int_equal(nof_pmi_feed(*state, 1, "cmd=barrier_in\ncmd=barrier_in\n", 30), NOF_EPROTO);
}

static void bounds_hold(void **state)
{
    char line[1400];
    char value[1300];

    start(*state);
    memset(value, 'v', sizeof(value));
    value[1023] = '\0';
    snprintf(line, sizeof(line), "cmd=put kvsname=job1 key=long value=%s\n", value);
    assert_string_equal(ask(*state, 0, line), "cmd=put_result rc=0 msg=success\n");
    assert_int_equal(strlen(ask(*state, 0, "cmd=get kvsname=job1 key=long\n")),
                     strlen("cmd=get_result rc=0 msg=success value=\n") + 1023);
    value[1023] = 'v';
    value[1024] = '\0';
    snprintf(line, sizeof(line), "cmd=put kvsname=job1 key=longer value=%s\n", value);
    assert_string_equal(ask(*state, 0, line), "cmd=put_result rc=-1 msg=value_length\n");
    snprintf(line, sizeof(line), "cmd=put kvsname=job1 key=%.64s value=x\n", value);
    assert_string_equal(ask(*state, 0, line), "cmd=put_result rc=-1 msg=key_length\n");
    for (int i = 0; i < NOF_PMI_KEYS_MAX; i++) {
        snprintf(line, sizeof(line), "cmd=put kvsname=job1 key=k%d value=x\n", i);
        assert_string_equal(ask(*state, 1, line), "cmd=put_result rc=0 msg=success\n");
    }
    assert_string_equal(ask(*state, 1, "cmd=put kvsname=job1 key=one_more value=x\n"),
                        "cmd=put_result rc=-1 msg=too_many_keys\n");
}

static void blocks_are_dealt_evenly(void **state)
{
    (void)state;
    for (unsigned ranks = 1; ranks < 20; ranks++) {
        for (unsigned hosts = 1; hosts < 8; hosts++) {
            unsigned last = 0;

            for (unsigned r = 0; r < ranks; r++) {
                unsigned host = nof_pmi_host_of(r, ranks, hosts);

                assert_true(host >= last && host <= last + 1 && host < hosts);
                last = host;
            }
            assert_int_equal(last, (ranks < hosts ? ranks : hosts) - 1);
        }
    }
}

int main(void)
{
#define WITH_PMI(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PMI(rank_learns_its_job),
        WITH_PMI(value_is_kept_with_its_blanks),
        WITH_PMI(bytes_may_come_in_any_pieces),
        WITH_PMI(barrier_waits_for_all_and_for_no_dead),
        WITH_PMI(abort_is_told_with_its_code),
        WITH_PMI(unknown_command_is_answered),
        WITH_PMI(broken_ranks_are_refused),
        WITH_PMI(bounds_hold),
        cmocka_unit_test(blocks_are_dealt_evenly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
