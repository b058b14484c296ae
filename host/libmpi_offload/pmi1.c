/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi1.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 2048
#define NAME_BYTES 256

static int pmi_fd = -1;
static char kvs_name[NAME_BYTES];
static char input[LINE_BYTES];
static size_t input_bytes;

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

/* The next line without its newline; -1 when the launcher hung up or the line is too long. */
static int read_line(char line[LINE_BYTES])
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

/* Read an answer, which must be `cmd` and, where it has a result code, a success. */
static int expect(const char *cmd, char line[LINE_BYTES])
{
    char word[NAME_BYTES];
    if (read_line(line) != 0 || field(line, "cmd", word, sizeof(word)) != 0 || strcmp(word, cmd) != 0)
        return -1;
    return field(line, "rc", word, sizeof(word)) == 0 && strcmp(word, "0") != 0 ? -1 : 0;
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
             "the launcher does not answer PMI-1's %s on descriptor %d: start the program with "
             "\"nof run\" or Hydra's mpiexec",
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
    if (send_line("cmd=get kvsname=%s key=%s\n", kvs_name, key) != 0 || expect("get_result", line) != 0)
        return -1;
    return field(line, "value", value, value_bytes);
}

int nof_pmi1_barrier(void)
{
    char line[LINE_BYTES];
    return send_line("cmd=barrier_in\n") == 0 ? expect("barrier_out", line) : -1;
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
