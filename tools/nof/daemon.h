/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting nofd and finding the one that runs. */
#ifndef NOF_DAEMON_H
#define NOF_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NOF_ADDRESS_BYTES 108
#define NOF_DAEMON_ARGS_MAX 128
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

void nof_daemon_arg(struct nof_daemon_args *args, const char *arg);
void nof_daemon_option(struct nof_daemon_args *args, const char *option, const char *value);

/* Path of nofd: $NOF_NOFD, beside our own executable, on PATH. false: not found, and said so. */
bool nof_daemon_find(char *path, size_t path_bytes, const char *self);

/* Starts nofd and waits until it is ready. Returns its pid, or -1 after saying why on stderr. Its process
 * group is its pid. `args` gets --ready-fd added. */
pid_t nof_daemon_start(struct nof_daemon_args *args, const struct nof_daemon_start *how, const char *self);

/* Where the daemon of this user is: $NOF_SOCKET, else nofd.sock in /run/nof (root), $XDG_RUNTIME_DIR/nof, or
 * /tmp/nof-UID without one; its control socket is $NOF_CONTROL, else the socket's address and ".ctl", as in nofd. */
void nof_daemon_dir(char *path, size_t path_bytes);
void nof_daemon_socket(char *address, size_t address_bytes);
void nof_daemon_control(char *address, size_t address_bytes);

/* Copies the log of a daemon that failed to stderr. */
void nof_daemon_show_log(const char *path);
/* A process that has ended, or is gone altogether. */
bool nof_daemon_is_zombie(pid_t pid);

#endif
