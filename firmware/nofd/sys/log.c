/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "nofd/sys/clock.h"

#define KINDS 64u
#define WINDOW_NS (10 * NOFD_S)
#define HEAD_BYTES 96
#define TEXT_BYTES 1024

enum target { TO_STDERR, TO_JOURNAL, TO_FILE, TO_SYSLOG };

struct kind {
    const char *format;
    uint64_t since_ns; /* 0: none yet */
    unsigned lines; /* since then, also those left out */
};

static const char *const level_names[] = {"error", "warning", "notice", "info", "debug"};
static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG};
/* Who asks for details gets them. */
static const unsigned lines_max[] = {NOFD_LOG_ERRORS_MAX, NOFD_LOG_ERRORS_MAX, NOFD_LOG_ERRORS_MAX, 2000,
                                     20000};

static enum nofd_log_level current_level = NOFD_LOG_WARNING;
static enum target target;
static int fd = -1; /* of the file or of syslog's socket */
static bool started = true;
static char path[4096];
static struct kind kinds[KINDS];

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
    for (int i = 0; i < 5; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

/* systemd tells which stream is the journal's; a stderr that somebody redirected is another. */
static bool is_journal(void)
{
    const char *told = getenv("JOURNAL_STREAM");
    unsigned long long dev;
    unsigned long long ino;
    struct stat st;

    return told != NULL && sscanf(told, "%llu:%llu", &dev, &ino) == 2 && fstat(STDERR_FILENO, &st) == 0 &&
           st.st_dev == dev && st.st_ino == ino;
}

static int open_file(void)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0640);
}

static int open_syslog(void)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int s;

    if (strlen(path) >= sizeof(sun.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(sun.sun_path, path, strlen(path));
    s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s >= 0 && connect(s, (const struct sockaddr *)(const void *)&sun, sizeof(sun)) != 0) {
        int saved = errno;

        close(s);
        errno = saved;
        return -1;
    }
    return s;
}

int nofd_log_open(const char *to, char *err, size_t err_bytes)
{
    if (to[0] == '\0' || strcmp(to, "stderr") == 0) {
        target = is_journal() ? TO_JOURNAL : TO_STDERR;
        return 0;
    }
    if (strncmp(to, "syslog", 6) == 0 && (to[6] == '\0' || to[6] == ':')) {
        snprintf(path, sizeof(path), "%s", to[6] == ':' ? to + 7 : "/dev/log");
        target = TO_SYSLOG;
        fd = open_syslog();
    } else {
        snprintf(path, sizeof(path), "%s", to);
        target = TO_FILE;
        fd = open_file();
    }
    if (fd < 0) {
        target = TO_STDERR;
        snprintf(err, err_bytes, "cannot log to %s: %s; choose another place with --log-to", path,
                 strerror(errno));
        return -1;
    }
    started = false;
    return 0;
}

void nofd_log_started(void)
{
    __atomic_store_n(&started, true, __ATOMIC_RELAXED);
}

bool nofd_log_reopen(void)
{
    int anew;

    if (target != TO_FILE)
        return target != TO_STDERR;
    anew = open_file();
    if (anew < 0) {
        nofd_error("cannot open %s again: %s; the old file goes on", path, strerror(errno));
        return true;
    }
    /* In the old one's place, so that no other thread ever writes to a number that is closed. */
    (void)dup3(anew, fd, O_CLOEXEC);
    close(anew);
    return true;
}

/* The kind of this format. There are more kinds than formats in the daemon. */
static struct kind *kind_of(const char *format)
{
    for (unsigned i = 0; i < KINDS; i++) {
        const char *at = NULL;

        if (__atomic_load_n(&kinds[i].format, __ATOMIC_RELAXED) == format ||
            __atomic_compare_exchange_n(&kinds[i].format, &at, format, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            at == format)
            return &kinds[i];
    }
    return &kinds[KINDS - 1];
}

/* Whether a line of this kind may be written; *left_out: how many may not since the last one. Two threads at once may
 * count one line too few or too many. */
static bool may_write(const char *format, enum nofd_log_level level, unsigned *left_out)
{
    struct kind *kind = kind_of(format);
    uint64_t now_ns = nofd_clock_ns();
    uint64_t since_ns = __atomic_load_n(&kind->since_ns, __ATOMIC_RELAXED);
    unsigned lines;

    *left_out = 0;
    if (since_ns == 0 || now_ns - since_ns > WINDOW_NS) {
        __atomic_store_n(&kind->since_ns, now_ns, __ATOMIC_RELAXED);
        lines = __atomic_exchange_n(&kind->lines, 1, __ATOMIC_RELAXED);
        if (lines > lines_max[level])
            *left_out = lines - lines_max[level];
        return true;
    }
    return __atomic_add_fetch(&kind->lines, 1, __ATOMIC_RELAXED) <= lines_max[level];
}

static int stamp(char *head, size_t head_bytes)
{
    struct timespec now;
    struct tm tm;
    char date[32];
    char zone[8];

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    strftime(zone, sizeof(zone), "%z", &tm);
    return snprintf(head, head_bytes, "%s.%06ld%.3s:%s nofd[%d]: ", date, now.tv_nsec / 1000, zone, zone + 3,
                    (int)getpid());
}

static void send_syslog(enum nofd_log_level level, const char *text)
{
    char line[TEXT_BYTES + 64];
    struct timespec now;
    struct tm tm;
    char date[32];
    int n;

    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(date, sizeof(date), "%b %e %T", &tm);
    n = snprintf(line, sizeof(line), "<%d>%s nofd[%d]: %s", LOG_DAEMON | priorities[level], date,
                 (int)getpid(), text);
    if (n >= (int)sizeof(line))
        n = (int)sizeof(line) - 1;
    if (send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        (errno == ECONNREFUSED || errno == ENOTCONN)) {
        int anew = open_syslog(); /* it was started again */

        if (anew < 0)
            return;
        (void)dup3(anew, fd, O_CLOEXEC);
        close(anew);
        (void)!send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void write_line(int to, const char *head, const char *text)
{
    char line[HEAD_BYTES + TEXT_BYTES + 1];
    int n = snprintf(line, sizeof(line), "%s%s\n", head, text);

    /* Nothing to do about a stderr that is gone, or a disk that is full. */
    (void)!write(to, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void put(enum nofd_log_level level, const char *text)
{
    bool also_stderr = target > TO_JOURNAL && !__atomic_load_n(&started, __ATOMIC_RELAXED);
    char head[HEAD_BYTES];

    if (target == TO_SYSLOG)
        send_syslog(level, text);
    if (target == TO_SYSLOG && !also_stderr)
        return;
    if (target == TO_JOURNAL)
        snprintf(head, sizeof(head), "<%d>", priorities[level]);
    else
        (void)stamp(head, sizeof(head));
    if (target == TO_FILE)
        write_line(fd, head, text);
    if (target != TO_FILE || also_stderr)
        write_line(STDERR_FILENO, head, text);
}

void nofd_log(enum nofd_log_level level, const char *format, ...)
{
    char text[TEXT_BYTES];
    unsigned left_out;
    va_list args;
    int head;
    int body;

    if (level > nofd_log_level() || !may_write(format, level, &left_out))
        return;
    head = snprintf(text, sizeof(text), "%s: ", level_names[level]);
    va_start(args, format);
    body = vsnprintf(text + head, sizeof(text) - (size_t)head, format, args);
    va_end(args);
    if (body < 0)
        return;
    head += body;
    if (left_out > 0 && head < (int)sizeof(text))
        snprintf(text + head, sizeof(text) - (size_t)head, " (and %u like this were left out)", left_out);
    put(level, text);
}
