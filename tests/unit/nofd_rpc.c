/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON-RPC 2.0: what is answered to whom, and what people are told who ask wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nofd/control/rpc.h"

static unsigned changes;

static json_t *echo(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"nic", "value"};
    unsigned nic;

    (void)d;
    if (nofd_rpc_keys(params, keys, 2, error) != 0 || nofd_rpc_nic(4, params, &nic, error) != 0)
        return NULL;
    return json_pack("{s:I}", "nic", (json_int_t)nic);
}

static json_t *change(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    (void)d;
    (void)params;
    (void)error;
    changes++;
    return json_true();
}

static json_t *silent(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    (void)d;
    (void)params;
    (void)error;
    return NULL;
}

static const struct nofd_rpc_method methods[] = {
    {"status", echo, false}, {"set", change, true}, {"fails", silent, false}, {NULL, NULL, false}};

static json_t *ask_as(bool may_change, const char *line)
{
    char *text = nofd_rpc_answer(methods, NULL, may_change, line, strlen(line));
    json_t *answer = text != NULL ? json_loads(text, 0, NULL) : NULL;

    if (text != NULL) {
        assert_non_null(answer);
        assert_null(strchr(text, '\n')); /* one line */
        assert_string_equal(json_string_value(json_object_get(answer, "jsonrpc")), "2.0");
    }
    free(text);
    return answer;
}

/* The request fails with this code, and with these words in its message. */
static void fails(const char *line, int code, const char *words)
{
    json_t *answer = ask_as(false, line);
    json_t *error = json_object_get(answer, "error");

    assert_non_null(error);
    assert_null(json_object_get(answer, "result"));
    assert_int_equal(json_integer_value(json_object_get(error, "code")), code);
    if (strstr(json_string_value(json_object_get(error, "message")), words) == NULL)
        fail_msg("%s: %s", line, json_string_value(json_object_get(error, "message")));
    json_decref(answer);
}

static void an_answer_has_the_id_of_its_question(void **state)
{
    json_t *answer =
        ask_as(false, "{\"jsonrpc\":\"2.0\",\"id\":\"x7\",\"method\":\"status\",\"params\":{\"nic\":3}}");

    (void)state;
    assert_string_equal(json_string_value(json_object_get(answer, "id")), "x7");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(answer, "result"), "nic")), 3);
    json_decref(answer);
    answer = ask_as(false, "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"status\"}");
    assert_true(json_is_null(json_object_get(answer, "id")));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(answer, "result"), "nic")),
                     UINT32_MAX);
    json_decref(answer);
}

static void a_notification_has_none(void **state)
{
    (void)state;
    changes = 0;
    assert_null(ask_as(true, "{\"jsonrpc\":\"2.0\",\"method\":\"set\"}"));
    assert_int_equal(changes, 1);
    assert_null(ask_as(true, "{\"jsonrpc\":\"2.0\",\"method\":\"nonsense\"}"));
}

static void what_is_no_request_is_told_so(void **state)
{
    (void)state;
    fails("hello", NOFD_RPC_PARSE, "no JSON");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"status\"}", NOFD_RPC_PARSE, "no JSON");
    fails("[]", NOFD_RPC_REQUEST, "a request is");
    fails("{\"id\":1,\"method\":\"status\"}", NOFD_RPC_REQUEST, "a request is");
    fails("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}", NOFD_RPC_REQUEST, "a request is");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", NOFD_RPC_REQUEST, "a request is");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":[1]}", NOFD_RPC_PARAMS,
          "an object");
}

static void what_is_misspelt_is_told_the_nearest(void **state)
{
    (void)state;
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"statsu\"}", NOFD_RPC_METHOD,
          "did you mean \"status\"?");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"zzzzzzzz\"}", NOFD_RPC_METHOD, "there is no method");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":{\"valeu\":1}}", NOFD_RPC_PARAMS,
          "did you mean \"value\"?");
}

static void a_nic_is_one_of_those_that_there_are(void **state)
{
    (void)state;
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":{\"nic\":4}}", NOFD_RPC_PARAMS,
          "from 0 to 3");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":{\"nic\":-1}}", NOFD_RPC_PARAMS,
          "from 0 to 3");
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":{\"nic\":\"0\"}}", NOFD_RPC_PARAMS,
          "from 0 to 3");
}

static void who_may_only_look_changes_nothing(void **state)
{
    json_t *answer;

    (void)state;
    changes = 0;
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\"}", NOFD_RPC_FORBIDDEN, "root");
    assert_int_equal(changes, 0);
    answer = ask_as(true, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\"}");
    assert_true(json_is_true(json_object_get(answer, "result")));
    assert_int_equal(changes, 1);
    json_decref(answer);
}

static void a_method_that_says_nothing_was_out_of_memory(void **state)
{
    (void)state;
    fails("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fails\"}", NOFD_RPC_INTERNAL, "out of memory");
}

static void what_control_answers_by_itself_is_json(void **state)
{
    static const char *const texts[] = {NOFD_RPC_TOO_LONG, NOFD_RPC_ANSWER_TOO_LONG};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        json_t *text = json_loads(texts[i], 0, NULL);

        assert_non_null(json_object_get(text, "error"));
        json_decref(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_has_the_id_of_its_question),
        cmocka_unit_test(a_notification_has_none),
        cmocka_unit_test(what_is_no_request_is_told_so),
        cmocka_unit_test(what_is_misspelt_is_told_the_nearest),
        cmocka_unit_test(a_nic_is_one_of_those_that_there_are),
        cmocka_unit_test(who_may_only_look_changes_nothing),
        cmocka_unit_test(a_method_that_says_nothing_was_out_of_memory),
        cmocka_unit_test(what_control_answers_by_itself_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
