/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static enum nofd_log_level current_level = NOFD_LOG_WARNING;

void nofd_log_set_level(enum nofd_log_level level)
{
    __atomic_store_n(&current_level, level, __ATOMIC_RELAXED);
}

enum nofd_log_level nofd_log_level(void)
{
    return __atomic_load_n(&current_level, __ATOMIC_RELAXED);
}

int nofd_log_parse(const char *name)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

void nofd_log(enum nofd_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;
    int head;
    int body;
    size_t len;
    ssize_t written;

    if (level > nofd_log_level())
        return;
    head = snprintf(line, sizeof(line), "nofd: %s: ", level_names[level]);
    va_start(args, format);
    body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
    va_end(args);
    if (body < 0)
        return;
    len = strlen(line);
    line[len++] = '\n';
    /* Nothing to do about a stderr that is gone. */
    written = write(STDERR_FILENO, line, len);
    (void)written;
}
