/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Client of nofd's control socket: JSON-RPC 2.0, one object a line. */
#ifndef NOF_CONTROL_CLIENT_H
#define NOF_CONTROL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

#define NOF_CONTROL_TIMEOUT_S 10

/* One call. `params` is taken over (NULL: none). Returns the result (a new reference), or NULL after saying
 * on stderr what happened and what to do. control: a path or "@name". */
json_t *nof_control_call(const char *control, const char *method, json_t *params, const char *self);

/* The same in two steps, for a connection that stays open: a private daemon does not end while it is. Returns a
 * descriptor (close it), or -1 after saying why. */
int nof_control_open(const char *control, const char *self);
json_t *nof_control_ask(int fd, const char *method, json_t *params, const char *self);

/* Does anybody listen at this socket of a daemon's NICs? Without a word about it, and without waiting. */
bool nof_control_nic_listens(const char *socket_name);

/* Checks "NAME=VALUE" against the table of features: 0, or -1 after saying what is wrong. */
int nof_feature_check(const char *assignment, const char *self);
/* The same, then sets it in a running daemon: {"name", "value"} as it is now, a new reference; NULL after saying why. */
json_t *nof_feature_set(const char *control, const char *assignment, const char *self);

#endif
