/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting nofd and finding the one that runs. */
#ifndef NOF_FIND_DAEMON_H
#define NOF_FIND_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NOF_ADDRESS_BYTES 108
#define NOF_DAEMON_ARGS_MAX 512
#define NOF_DAEMON_READY_MS 30000

/* Arguments for nofd; strings are not copied. */
struct nof_daemon_args {
    const char *arg[NOF_DAEMON_ARGS_MAX + 1];
    unsigned n;
};

struct nof_daemon_start {
    bool background; /* a session of its own, outlives us; else it ends with us */
    const char *log_path; /* stderr of the background daemon; NULL: ours */
};

/* Too many arguments end the process, with 2 and a sentence. */
void nof_daemon_arg(struct nof_daemon_args *args, const char *arg);
void nof_daemon_option(struct nof_daemon_args *args, const char *option, const char *value);

/* Path of nofd: $NOF_NOFD, beside our own executable, on PATH. false: not found, and said so. */
bool nof_daemon_find(char *path, size_t path_bytes, const char *self);

/* Starts nofd and waits until it is ready. Returns its pid, or -1 after saying why on stderr. Its process
 * group is its pid. `args` gets --ready-fd added. */
pid_t nof_daemon_start(struct nof_daemon_args *args, const struct nof_daemon_start *how, const char *self);

/* This user's directory for its daemon: /run/nof (root), $XDG_RUNTIME_DIR/nof, or /tmp/nof-UID without one. */
void nof_daemon_dir(char *path, size_t path_bytes);

/* Which daemon: the rule of all commands. Options come before the environment, the environment before the default.
 *
 *   socket    --nofd (`nof up` also: --socket), else $NOF_SOCKET, else this user's: nofd.sock in its directory;
 *             `nof run` and `nof record`: else a private one
 *   control   --control, else $NOF_CONTROL unless --nofd named the socket, else the socket's address and ".ctl" */
struct nof_daemon_at {
    char socket[NOF_ADDRESS_BYTES];
    char control[NOF_ADDRESS_BYTES];
};

enum nof_daemon_else { NOF_DAEMON_ELSE_USERS, NOF_DAEMON_ELSE_PRIVATE };

/* For the tables of options of commands that speak to a daemon, and their values. */
#define NOF_DAEMON_OPTIONS(nofd_key, control_key, group) \
    {"nofd", nofd_key, "SOCKET", 0, "the daemon that listens there ($NOF_SOCKET, else this user's)", group}, \
        {"socket", nofd_key, "SOCKET", OPTION_ALIAS, NULL, group}, /* as `nof up` has it */ \
    { \
        "control", control_key, "ADDRESS", 0, \
            "its control socket ($NOF_CONTROL unless --nofd is given, else SOCKET.ctl)", group \
    }
/* False, with a sentence, when it is too long for a socket's address. */
bool nof_daemon_address(char address_out[NOF_ADDRESS_BYTES], const char *text, const char *self);

/* Fills in what options have left "". socket is "" then for a private daemon. False, with a sentence, when an address
 * is too long. */
bool nof_daemon_locate(struct nof_daemon_at *at, enum nof_daemon_else otherwise, const char *self);

/* Copies the log of a daemon that failed to stderr. */
void nof_daemon_show_log(const char *path);
/* Of this process: X, it has ended, or is gone altogether; ?, that cannot be told; else as proc(5) has it. */
char nof_daemon_state(pid_t pid);

#endif
