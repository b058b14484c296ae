/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One line a message on stderr, "nofd: error: ...". Any thread: a line is one write. */
#ifndef NOFD_LOG_H
#define NOFD_LOG_H

/* The numbers are those of nof_host_ops.log(). */
enum nofd_log_level { NOFD_LOG_ERROR = 0, NOFD_LOG_WARNING, NOFD_LOG_INFO, NOFD_LOG_DEBUG };

void nofd_log_set_level(enum nofd_log_level level);
enum nofd_log_level nofd_log_level(void);
/* Level by name, or -1. */
int nofd_log_parse(const char *name);

__attribute__((format(printf, 2, 3))) void nofd_log(enum nofd_log_level level, const char *format, ...);

#define nofd_error(...) nofd_log(NOFD_LOG_ERROR, __VA_ARGS__)
#define nofd_warning(...) nofd_log(NOFD_LOG_WARNING, __VA_ARGS__)
#define nofd_info(...) nofd_log(NOFD_LOG_INFO, __VA_ARGS__)
#define nofd_debug(...) nofd_log(NOFD_LOG_DEBUG, __VA_ARGS__)

#endif
