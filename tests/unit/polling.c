/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns of the wait loop: which are the NIC's, by a fixed ratio and by what has come; and that there is always a next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/polling_env.h"

static struct nof_polling p;
static uint32_t near, far; /* messages so far */

static void begin(bool dynamic, uint32_t ratio, uint32_t update)
{
    near = 0;
    far = 0;
    nof_polling_init(&p, &(struct nof_polling_set){.dynamic = dynamic, .ratio = ratio, .update = update});
}

static void set(bool dynamic, uint32_t ratio, uint32_t update)
{
    nof_polling_set(&p, &(struct nof_polling_set){.dynamic = dynamic, .ratio = ratio, .update = update}, near,
                    far);
}

static bool due(void)
{
    return nof_polling_due(&p, near, far);
}

/* Turns up to the NIC's next one, that one included. */
static uint32_t turns(void)
{
    uint32_t n = 1;
    while (!due())
        n++;
    return n;
}

static void every_ratio_th_turn_is_the_nics(void **state)
{
    (void)state;
    for (uint32_t ratio = 1; ratio <= NOF_POLLING_MOST; ratio++) {
        begin(false, ratio, 10);
        assert_int_equal(turns(), 1);
        for (int i = 0; i < 3; i++)
            assert_int_equal(turns(), ratio);
        near += 5000; /* whatever comes */
        far += 77;
        assert_int_equal(turns(), ratio);
    }
}

/* A look that is due within half of the ratio may be had at once; none becomes later, nor are there more than twice as many. */
static void what_is_due_soon_can_be_had_at_once(void **state)
{
    (void)state;
    for (uint32_t ratio = 2; ratio <= NOF_POLLING_MOST; ratio++) {
        begin(false, ratio, 10);
        (void)due();
        for (uint32_t i = 1; i <= ratio - ratio / 2; i++) {
            nof_polling_hasten(&p);
            assert_false(due());
        }
        nof_polling_hasten(&p);
        assert_true(due());
    }
}

static void ratios_beyond_the_ends_are_the_ends(void **state)
{
    (void)state;
    begin(false, 0, 0);
    assert_int_equal(p.set.update, 1);
    assert_int_equal(turns(), 1);
    assert_int_equal(turns(), 1);
    begin(false, UINT32_MAX, UINT32_MAX);
    (void)turns();
    assert_int_equal(turns(), NOF_POLLING_MOST);
    assert_int_equal(p.set.update, NOF_POLLING_MOST);
}

/* The paper's formula, for every number of messages by memory among the last h. */
static void the_ratio_follows_the_last_h_messages(void **state)
{
    (void)state;
    for (uint32_t h = 1; h <= 400; h = h < 12 ? h + 1 : h * 3) {
        for (uint32_t m = 0; m <= h; m++) {
            begin(true, 50, h);
            near += m;
            far += h - m;
            (void)turns();
            assert_int_equal(p.ratio, m == h ? h + 1 : m / (h - m) + 1);
            assert_int_equal(turns(), p.ratio);
        }
    }
}

static void before_h_messages_nothing_changes(void **state)
{
    (void)state;
    begin(true, 50, 10);
    for (int i = 0; i < 9; i++) {
        assert_int_equal(turns(), 1);
        near++;
    }
    assert_int_equal(turns(), 1);
    assert_int_equal(p.updates, 0);
    near++;
    (void)turns();
    assert_int_equal(p.updates, 1);
    assert_int_equal(turns(), 11);
    far += 9; /* counted anew: those of before do not */
    assert_int_equal(turns(), 11);
    far++;
    assert_int_equal(turns(), 1); /* a smaller ratio counts at once */
    assert_int_equal(p.updates, 2);
}

/* A loop that is not gone through while short messages come: all count, and the ratio stays bounded. */
static void more_than_h_at_a_time(void **state)
{
    (void)state;
    begin(true, 50, 10);
    near += 1000000;
    (void)turns();
    assert_int_equal(turns(), 11);
    near += 1000000;
    far += 1;
    assert_true(turns() <= 11);
    assert_int_equal(turns(), 11);
    near += 30;
    far += 10;
    (void)turns();
    assert_int_equal(turns(), 4);
}

static void counts_that_wrap_are_differences(void **state)
{
    (void)state;
    near = UINT32_MAX - 3;
    far = UINT32_MAX;
    nof_polling_init(&p, &(struct nof_polling_set){.ratio = 50, .update = 10});
    set(true, 50, 10);
    near += 6;
    far += 3;
    (void)turns();
    assert_int_equal(p.updates, 0);
    far++;
    (void)turns();
    assert_int_equal(p.ratio, 6 / 4 + 1);
}

static void a_change_counts_at_once(void **state)
{
    (void)state;
    begin(false, 1000, 10);
    (void)turns();
    for (int i = 0; i < 100; i++)
        assert_false(due());
    set(false, 20, 10);
    assert_int_equal(turns(), 20);
    set(false, 1, 10);
    assert_int_equal(turns(), 1);
    set(false, 30, 10); /* of those before the next one it was to be */
    assert_int_equal(turns(), 1);
    assert_int_equal(turns(), 30);
    near += 500; /* before it was dynamic */
    set(true, 30, 10);
    assert_int_equal(turns(), 1);
    assert_int_equal(p.updates, 0);
    near += 10;
    assert_int_equal(turns(), 1);
    assert_int_equal(turns(), 11);
    set(true, 700, 10); /* nothing that counts has changed */
    assert_int_equal(turns(), 11);
    set(true, 700, 11);
    assert_int_equal(turns(), 1);
    set(false, 3, 11);
    (void)turns();
    assert_int_equal(turns(), 3);
}

/* The same calls, the same turns; and whatever is set and comes, nobody waits longer than the bound. */
static void drawn_at_random(void **state)
{
    static uint8_t first[200000];
    (void)state;
    for (int again = 0; again < 2; again++) {
        uint64_t random = 0x9e3779b97f4a7c15u;
        uint32_t since = 0;
        begin(true, 50, 10);
        for (uint32_t i = 0; i < sizeof(first); i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint32_t draw = (uint32_t)(random >> 33);
            near += draw % 4 == 0 ? draw >> 8 & 63 : 0;
            far += draw % 32 == 1 ? draw >> 8 & 7 : 0;
            if (draw % 4096 == 2)
                set((draw >> 12 & 1) != 0, draw >> 13 & 2047, draw >> 14 & 511);
            bool is = due();
            since = is ? 0 : since + 1;
            assert_true(since <= NOF_POLLING_MOST);
            assert_true(again == 0 || first[i] == is);
            first[i] = is;
        }
    }
}

/* What the environment says goes before what was set, name by name. */
static void the_environment_goes_first(void **state)
{
    struct nof_polling_set now = {.dynamic = true, .ratio = 3, .update = 4};
    struct nof_polling_env env;
    char text[256] = "";

    (void)state;
    for (int nothing = 0; nothing < 2; nothing++) {
        assert_int_equal(nof_polling_env_read(&env, text, sizeof(text)), 0);
        nof_polling_env_apply(&env, &now);
        assert_true(now.dynamic && now.ratio == 3 && now.update == 4);
        setenv("NOF_POLLING", "", 1);
        setenv("NOF_POLL_RATIO", "", 1);
        setenv("NOF_POLL_UPDATE", "", 1);
    }
    unsetenv("NOF_POLL_UPDATE");
    setenv("NOF_POLLING", "static", 1);
    setenv("NOF_POLL_RATIO", "1000", 1);
    assert_int_equal(nof_polling_env_read(&env, text, sizeof(text)), 0);
    nof_polling_env_apply(&env, &now);
    assert_true(!now.dynamic && now.ratio == 1000 && now.update == 4);
    setenv("NOF_POLLING", "dynamic", 1);
    setenv("NOF_POLL_UPDATE", "1", 1);
    assert_int_equal(nof_polling_env_read(&env, text, sizeof(text)), 0);
    nof_polling_env_apply(&env, &now);
    assert_true(now.dynamic && now.update == 1);
}

static void what_it_cannot_mean_is_told(void **state)
{
    static const char *const bad[][3] = {
        {"NOF_POLLING", " ", "static or dynamic"}, {"NOF_POLLING", "fast", "static or dynamic"},
        {"NOF_POLL_RATIO", "0", "1 to 1000"},      {"NOF_POLL_RATIO", "1001", "1 to 1000"},
        {"NOF_POLL_RATIO", "-1", "1 to 1000"},     {"NOF_POLL_RATIO", " ", "1 to 1000"},
        {"NOF_POLL_UPDATE", "10x", "1 to 1000"},   {"NOF_POLL_UPDATE", "99999999999999999999", "1 to 1000"}};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nof_polling_env env = {.update = 77};
        char text[256] = "";

        unsetenv("NOF_POLLING");
        unsetenv("NOF_POLL_RATIO");
        unsetenv("NOF_POLL_UPDATE");
        setenv(bad[i][0], bad[i][1], 1);
        assert_int_equal(nof_polling_env_read(&env, text, sizeof(text)), -1);
        assert_int_equal(env.update, 77);
        assert_non_null(strstr(text, bad[i][0]));
        assert_non_null(strstr(text, bad[i][2]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ratio_th_turn_is_the_nics),
        cmocka_unit_test(what_is_due_soon_can_be_had_at_once),
        cmocka_unit_test(ratios_beyond_the_ends_are_the_ends),
        cmocka_unit_test(the_ratio_follows_the_last_h_messages),
        cmocka_unit_test(before_h_messages_nothing_changes),
        cmocka_unit_test(more_than_h_at_a_time),
        cmocka_unit_test(counts_that_wrap_are_differences),
        cmocka_unit_test(a_change_counts_at_once),
        cmocka_unit_test(drawn_at_random),
        cmocka_unit_test(the_environment_goes_first),
        cmocka_unit_test(what_it_cannot_mean_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
