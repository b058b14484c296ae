/* SPDX-License-Identifier: BSD-3-Clause
 *
 * JSON-RPC 2.0 on the daemon: text in, text out. Methods are in rpc_*.c; their table is control.c's. Main thread. */
#ifndef NOFD_RPC_H
#define NOFD_RPC_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct nofd;

#define NOFD_RPC_TOO_LONG \
    "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": -32700, \"message\": \"a line is at most " \
    "65535 bytes\"}}"

#define NOFD_RPC_ANSWER_TOO_LONG \
    "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": -32603, \"message\": \"the answer is " \
    "longer than " \
    "16 MiB: ask for one NIC ({\\\"nic\\\":0})\"}}"

/* The standard's codes, and ours from -32000 on. */
enum nofd_rpc_code {
    NOFD_RPC_PARSE = -32700,
    NOFD_RPC_REQUEST = -32600,
    NOFD_RPC_METHOD = -32601,
    NOFD_RPC_PARAMS = -32602,
    NOFD_RPC_INTERNAL = -32603,
    NOFD_RPC_FORBIDDEN = -32000,
    NOFD_RPC_BUSY = -32001,
};

struct nofd_rpc_error {
    int code;
    char text[512];
};

/* Carries out a method: a new result, or NULL with `error` filled, which says "out of memory" until told otherwise.
 * params is an object or NULL. */
typedef json_t *nofd_rpc_fn(struct nofd *d, const json_t *params, struct nofd_rpc_error *error);

nofd_rpc_fn nofd_rpc_status, nofd_rpc_stats, nofd_rpc_endpoints; /* rpc_status.c */
nofd_rpc_fn nofd_rpc_features, nofd_rpc_set; /* rpc_features.c */
nofd_rpc_fn nofd_rpc_link, nofd_rpc_impair, nofd_rpc_down; /* rpc_wire.c */

struct nofd_nic;
/* What the simulated link of a NIC does to frames towards it, over all cores of the NIC: a new object. */
json_t *nofd_rpc_fabric_link(const struct nofd *d, const struct nofd_nic *nic);

struct nofd_rpc_method {
    const char *name; /* NULL: behind the last */
    nofd_rpc_fn *fn;
    bool changes; /* something: not for everybody */
};

/* The answer to one request for one of `methods`, to be freed; NULL if it wants none (a notification). */
char *nofd_rpc_answer(const struct nofd_rpc_method *methods, struct nofd *d, bool may_change,
                      const char *line, size_t len);

/* Fills error and returns NULL. */
__attribute__((format(printf, 3, 4))) json_t *nofd_rpc_fail(struct nofd_rpc_error *error, int code,
                                                            const char *format, ...);
/* params.nic, one of `nnics`: 0 with *nic_out = index, or UINT32_MAX if it was not given; -1 with error filled. */
int nofd_rpc_nic(unsigned nnics, const json_t *params, unsigned *nic_out, struct nofd_rpc_error *error);
/* -1 with error filled if params has a key that names[0..n) has not. */
int nofd_rpc_keys(const json_t *params, const char *const *names, size_t n, struct nofd_rpc_error *error);

#endif
