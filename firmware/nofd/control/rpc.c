/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/rpc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nof_private/nearest.h"

#define NEAR_BYTES 64 /* of a question */
#define METHODS_MAX 32u /* whose names are looked through for the nearest */

json_t *nofd_rpc_fail(struct nofd_rpc_error *error, int code, const char *format, ...)
{
    va_list args;

    error->code = code;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return NULL;
}

int nofd_rpc_nic(unsigned nnics, const json_t *params, unsigned *nic_out, struct nofd_rpc_error *error)
{
    const json_t *nic = json_object_get(params, "nic");

    if (nic == NULL) {
        *nic_out = UINT32_MAX;
        return 0;
    }
    if (!json_is_integer(nic) || json_integer_value(nic) < 0 ||
        json_integer_value(nic) >= (json_int_t)nnics) {
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "nic is a number from 0 to %u", nnics - 1);
        return -1;
    }
    *nic_out = (unsigned)json_integer_value(nic);
    return 0;
}

int nofd_rpc_keys(const json_t *params, const char *const *names, size_t n, struct nofd_rpc_error *error)
{
    /* jansson's iterators take a non-const object that they do not change. */
    json_t *object = json_incref((json_t *)(uintptr_t)params);
    char near[NEAR_BYTES];
    int rc = 0;

    for (void *at = json_object_iter(object); at != NULL && rc == 0; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        size_t i = 0;

        while (i < n && strcmp(names[i], key) != 0)
            i++;
        if (i < n)
            continue;
        nof_nearest_ask(key, names, n, near, sizeof(near));
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "there is no parameter \"%.64s\"%s", key, near);
        rc = -1;
    }
    json_decref(object);
    return rc;
}

static json_t *no_method(const struct nofd_rpc_method *methods, const char *name,
                         struct nofd_rpc_error *error)
{
    const char *names[METHODS_MAX];
    char near[NEAR_BYTES];
    size_t n = 0;

    for (; n < METHODS_MAX && methods[n].name != NULL; n++)
        names[n] = methods[n].name;
    nof_nearest_ask(name, names, n, near, sizeof(near));
    return nofd_rpc_fail(error, NOFD_RPC_METHOD, "there is no method \"%.64s\"%s", name, near);
}

static json_t *call(const struct nofd_rpc_method *methods, struct nofd *d, bool may_change,
                    const json_t *request, struct nofd_rpc_error *error)
{
    const char *version = json_string_value(json_object_get(request, "jsonrpc"));
    const char *name = json_string_value(json_object_get(request, "method"));
    const json_t *params = json_object_get(request, "params");
    const struct nofd_rpc_method *method = methods;

    if (!json_is_object(request) || name == NULL || version == NULL || strcmp(version, "2.0") != 0)
        return nofd_rpc_fail(error, NOFD_RPC_REQUEST,
                             "a request is {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}");
    if (params != NULL && !json_is_object(params))
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS, "params is an object");
    while (method->name != NULL && strcmp(name, method->name) != 0)
        method++;
    if (method->name == NULL)
        return no_method(methods, name, error);
    if (method->changes && !may_change)
        return nofd_rpc_fail(error, NOFD_RPC_FORBIDDEN, "%s is for root and the user that runs the daemon",
                             name);
    return method->fn(d, params, error);
}

char *nofd_rpc_answer(const struct nofd_rpc_method *methods, struct nofd *d, bool may_change,
                      const char *line, size_t len)
{
    struct nofd_rpc_error error = {.code = NOFD_RPC_INTERNAL, .text = "out of memory"};
    json_error_t parse_error;
    json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &parse_error);
    json_t *result = NULL;
    json_t *answer;
    json_t *id;
    char *text = NULL;

    if (request != NULL)
        result = call(methods, d, may_change, request, &error);
    else
        nofd_rpc_fail(&error, NOFD_RPC_PARSE, "that is no JSON: %s", parse_error.text);
    id = json_object_get(request, "id");
    /* Only a request that is well formed can do without an answer. */
    if (error.code == NOFD_RPC_PARSE || error.code == NOFD_RPC_REQUEST || id != NULL) {
        id = json_is_string(id) || json_is_number(id) ? json_incref(id) : json_null();
        answer = json_pack("{s:s, s:o}", "jsonrpc", "2.0", "id", id);
        if (result != NULL)
            json_object_set(answer, "result", result);
        else
            json_object_set_new(answer, "error",
                                json_pack("{s:i, s:s}", "code", error.code, "message", error.text));
        text = json_dumps(answer, JSON_COMPACT);
        json_decref(answer);
    }
    json_decref(result);
    json_decref(request);
    return text;
}
