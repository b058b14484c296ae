/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The daemon's messages, one line each:
 *
 *   stderr, a file     2026-03-01T12:00:00.123456+01:00 nofd[4711]: warning: ...
 *   the journal        <4>warning: ...        where systemd reads our stderr (JOURNAL_STREAM)
 *   syslog             a datagram to its socket, facility "daemon"
 *
 * A file is appended to and outlives the daemon; nofd_log_reopen() goes on in a new one of the same name. Until
 * nofd_log_started() lines go to stderr as well, which whoever starts the daemon reads.
 *
 * Of one kind of message (one format) so many lines are written in ten seconds and the next tells how many were left
 * out: what a peer or a rank can cause does not fill a disk. Any thread: a line is one write, and nothing is locked. */
#ifndef NOFD_LOG_H
#define NOFD_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* In the order of the choices of the feature log_level. */
enum nofd_log_level { NOFD_LOG_ERROR = 0, NOFD_LOG_WARNING, NOFD_LOG_NOTICE, NOFD_LOG_INFO, NOFD_LOG_DEBUG };

#define NOFD_LOG_ERRORS_MAX 20u /* lines of a kind in ten seconds: errors, warnings, notices */

void nofd_log_set_level(enum nofd_log_level level);
enum nofd_log_level nofd_log_level(void);
/* Level by name, or -1. */
int nofd_log_parse(const char *name);

/* to: "" or "stderr", "syslog", "syslog:SOCKET", or a file's path. 0, or -1 with a sentence in err. */
int nofd_log_open(const char *to, char *err, size_t err_bytes);
/* stderr no longer, if there is something else. */
void nofd_log_started(void);
/* A file is opened again by its name. False: there is nothing to go on with, for the log is a terminal's, or a pipe's. */
bool nofd_log_reopen(void);

__attribute__((format(printf, 2, 3))) void nofd_log(enum nofd_log_level level, const char *format, ...);

#define nofd_error(...) nofd_log(NOFD_LOG_ERROR, __VA_ARGS__)
#define nofd_warning(...) nofd_log(NOFD_LOG_WARNING, __VA_ARGS__)
#define nofd_notice(...) nofd_log(NOFD_LOG_NOTICE, __VA_ARGS__)
#define nofd_info(...) nofd_log(NOFD_LOG_INFO, __VA_ARGS__)

#endif
