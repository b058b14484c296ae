/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi1.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib.h"

#define LINE_BYTES 2048
#define NAME_BYTES 256
/* An answer that needs nobody but the launcher. Its agent is on this host and answers within
 * milliseconds; callers hold the library's lock meanwhile. */
#define ANSWER_NS (10u * 1000000000ull)

static int pmi_fd = -1;
static char kvs_name[NAME_BYTES];
static char input[LINE_BYTES];
static size_t input_bytes;
static bool silent; /* an answer did not come in time */

static int send_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int send_line(const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(line))
        return -1;
    for (size_t sent = 0; sent < (size_t)len;) {
        ssize_t n = send(pmi_fd, line + sent, (size_t)len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == ENOTSOCK)
            n = write(pmi_fd, line + sent, (size_t)len - sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        sent += (size_t)n;
    }
    return 0;
}

/* Until something can be read; -1 at the deadline, UINT64_MAX: none. */
static int wait_for_input(uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = nof_lib_now_ns();
        int timeout_ms = -1;
        if (deadline_ns != UINT64_MAX)
            timeout_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000u) + 1 : 0;
        struct pollfd in = {.fd = pmi_fd, .events = POLLIN};
        int n = poll(&in, 1, timeout_ms);
        if (n > 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ETIMEDOUT;
        return -1;
    }
}

/* The next line without its newline; -1 when the launcher hung up or is silent until the deadline, or the
 * line is too long. */
static int read_line(char line[LINE_BYTES], uint64_t deadline_ns)
{
    for (;;) {
        char *end = memchr(input, '\n', input_bytes);
        if (end != NULL) {
            size_t len = (size_t)(end - input);
            memcpy(line, input, len);
            line[len] = '\0';
            input_bytes -= len + 1;
            memmove(input, end + 1, input_bytes);
            return 0;
        }
        if (input_bytes == sizeof(input))
            return -1;
        if (wait_for_input(deadline_ns) != 0)
            return -1;
        ssize_t n = read(pmi_fd, input + input_bytes, sizeof(input) - input_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        input_bytes += (size_t)n;
    }
}

/* Value of `key` in a line of blank-separated key=value words; "value" and "msg" reach to the end. */
static int field(const char *line, const char *key, char *value, size_t value_bytes)
{
    size_t key_len = strlen(key);
    bool to_end = strcmp(key, "value") == 0 || strcmp(key, "msg") == 0;
    for (const char *at = line; at != NULL && *at != '\0';) {
        at += strspn(at, " ");
        if (strncmp(at, key, key_len) == 0 && at[key_len] == '=') {
            at += key_len + 1;
            size_t len = to_end ? strlen(at) : strcspn(at, " ");
            if (len >= value_bytes)
                return -1;
            memcpy(value, at, len);
            value[len] = '\0';
            return 0;
        }
        at = strchr(at, ' ');
    }
    return -1;
}

/* Read an answer, which must be `cmd` and, where it has a result code, a success. A launcher that did not
 * answer in time may still do so later: what comes from it then fits no question any more. */
static int expect_until(const char *cmd, char line[LINE_BYTES], uint64_t deadline_ns)
{
    char word[NAME_BYTES];
    if (silent) {
        errno = ETIMEDOUT;
        return -1;
    }
    errno = 0;
    if (read_line(line, deadline_ns) != 0) {
        silent = errno == ETIMEDOUT;
        return -1;
    }
    if (field(line, "cmd", word, sizeof(word)) != 0 || strcmp(word, cmd) != 0)
        return -1;
    return field(line, "rc", word, sizeof(word)) == 0 && strcmp(word, "0") != 0 ? -1 : 0;
}

static int expect(const char *cmd, char line[LINE_BYTES])
{
    return expect_until(cmd, line, nof_lib_now_ns() + ANSWER_NS);
}

int nof_pmi1_open(int fd, int *appnum_out, char *text, size_t text_bytes)
{
    char line[LINE_BYTES], word[NAME_BYTES];
    pmi_fd = fd;
    const char *step = "init";
    bool ok =
        send_line("cmd=init pmi_version=1 pmi_subversion=1\n") == 0 && expect("response_to_init", line) == 0;
    if (ok) {
        step = "get_maxes";
        ok = send_line("cmd=get_maxes\n") == 0 && expect("maxes", line) == 0;
    }
    if (ok) {
        step = "get_appnum";
        ok = send_line("cmd=get_appnum\n") == 0 && expect("appnum", line) == 0 &&
             field(line, "appnum", word, sizeof(word)) == 0;
        *appnum_out = ok ? atoi(word) : -1;
    }
    if (ok) {
        step = "get_my_kvsname";
        ok = send_line("cmd=get_my_kvsname\n") == 0 && expect("my_kvsname", line) == 0 &&
             field(line, "kvsname", kvs_name, sizeof(kvs_name)) == 0;
    }
    if (ok)
        return 0;
    snprintf(text, text_bytes,
             "the launcher does not answer PMI-1's %s on descriptor %d (PMI_FD): start the program "
             "with \"nof run\"",
             step, fd);
    pmi_fd = -1;
    return -1;
}

int nof_pmi1_put(const char *key, const char *value)
{
    char line[LINE_BYTES];
    return send_line("cmd=put kvsname=%s key=%s value=%s\n", kvs_name, key, value) == 0
               ? expect("put_result", line)
               : -1;
}

int nof_pmi1_get(const char *key, char *value, size_t value_bytes)
{
    char line[LINE_BYTES];
    errno = 0;
    if (send_line("cmd=get kvsname=%s key=%s\n", kvs_name, key) != 0 || expect("get_result", line) != 0)
        return -1;
    return field(line, "value", value, value_bytes);
}

int nof_pmi1_barrier(void)
{
    char line[LINE_BYTES];
    return send_line("cmd=barrier_in\n") == 0 ? expect_until("barrier_out", line, UINT64_MAX) : -1;
}

void nof_pmi1_close(void)
{
    char line[LINE_BYTES];
    if (pmi_fd >= 0 && send_line("cmd=finalize\n") == 0)
        (void)expect("finalize_ack", line);
    if (pmi_fd >= 0)
        close(pmi_fd);
    pmi_fd = -1;
}

void nof_pmi1_abort(int exit_code)
{
    if (pmi_fd >= 0)
        (void)send_line("cmd=abort exitcode=%d\n", exit_code);
}
