/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-2 client (Slurm's srun --mpi=pmi2): after one line in PMI-1's manner, messages of "cmd=...;key=value;...;" behind
 * their length as six characters, over the socket that PMI_FD names. A ';' in a value is doubled. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"
#include "launch/pmi_conn.h"

#define HEAD_BYTES 6
#define BODY_BYTES 2048
#define NAME_BYTES 256

static struct nof_pmi_conn conn = {.descriptor.fd = -1};

static int send_message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int send_message(const char *fmt, ...)
{
    char message[HEAD_BYTES + BODY_BYTES];
    char head[HEAD_BYTES + 8];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(message + HEAD_BYTES, BODY_BYTES, fmt, args);
    va_end(args);
    if (len < 0 || len >= BODY_BYTES)
        return -1;
    snprintf(head, sizeof(head), "%6d", len);
    memcpy(message, head, HEAD_BYTES);
    return nof_pmi_conn_send(&conn, message, HEAD_BYTES + (size_t)len);
}

/* Past the ';' that ends a value, or to the end; copies the value if there is room for it. -1: there is not. */
static int take_value(const char **at, char *value, size_t value_bytes)
{
    size_t n = 0;
    const char *from = *at;
    while (*from != '\0') {
        if (*from == ';' && from[1] != ';')
            break;
        from += *from == ';'; /* a doubled one stands for one */
        if (n < value_bytes)
            value[n] = *from;
        n++;
        from++;
    }
    *at = from + (*from == ';');
    if (n >= value_bytes)
        return -1;
    value[n] = '\0';
    return 0;
}

/* Value of `key` in a message's body. */
static int field(const char *body, const char *key, char *value, size_t value_bytes)
{
    size_t key_len = strlen(key);
    char skipped[1];
    for (const char *at = body; *at != '\0';) {
        size_t name_len = strcspn(at, "=;");
        bool wanted = name_len == key_len && memcmp(at, key, key_len) == 0;
        at += name_len;
        if (*at == ';') { /* a word without value */
            at++;
            continue;
        }
        at += *at == '=';
        if (wanted)
            return take_value(&at, value, value_bytes);
        (void)take_value(&at, skipped, sizeof(skipped));
    }
    return -1;
}

/* Read an answer, which must be `cmd` and a success. */
static int expect_until(const char *cmd, char body[NOF_PMI_INPUT_BYTES], uint64_t deadline_ns)
{
    char head[HEAD_BYTES + 1] = "", word[NAME_BYTES];
    char *end;
    if (nof_pmi_conn_bytes(&conn, head, HEAD_BYTES, deadline_ns) != 0)
        return -1;
    errno = 0;
    unsigned long n = strtoul(head, &end, 10);
    if (end == head || end[strspn(end, " ")] != '\0' || n == 0 || n >= NOF_PMI_INPUT_BYTES ||
        nof_pmi_conn_bytes(&conn, body, n, deadline_ns) != 0)
        return -1;
    body[n] = '\0';
    if (field(body, "cmd", word, sizeof(word)) != 0 || strcmp(word, cmd) != 0)
        return -1;
    return field(body, "rc", word, sizeof(word)) == 0 && strcmp(word, "0") != 0 ? -1 : 0;
}

static int expect(const char *cmd, char body[NOF_PMI_INPUT_BYTES])
{
    return expect_until(cmd, body, nof_pmi_conn_deadline());
}

static int number(const char *body, const char *key, int least, int *number_out)
{
    char word[NAME_BYTES];
    char *end;
    errno = 0;
    if (field(body, key, word, sizeof(word)) != 0)
        return -1;
    long value = strtol(word, &end, 10);
    if (errno != 0 || end == word || *end != '\0' || value < least || value > INT32_MAX)
        return -1;
    *number_out = (int)value;
    return 0;
}

/* The step of the handshake that failed, or NULL. */
static const char *handshake(int rank, const char *job)
{
    static const char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    char text[NOF_PMI_INPUT_BYTES];
    if (nof_pmi_conn_send(&conn, hello, sizeof(hello) - 1) != 0 ||
        nof_pmi_conn_line(&conn, text, nof_pmi_conn_deadline()) != 0 ||
        strstr(text, "cmd=response_to_init") == NULL || strstr(text, "pmi_version=2") == NULL ||
        strstr(text, "rc=0") == NULL)
        return "init";
    if (send_message("cmd=fullinit;pmijobid=%s;pmirank=%d;threaded=FALSE;", job, rank) != 0 ||
        expect("fullinit-response", text) != 0 || number(text, "rank", 0, &nof_lib.world_rank) != 0 ||
        number(text, "size", 1, &nof_lib.world_size) != 0 || nof_lib.world_rank >= nof_lib.world_size)
        return "fullinit";
    if (number(text, "appnum", 0, &nof_lib.appnum) != 0)
        nof_lib.appnum = -1;
    return NULL;
}

static int pmi2_open(char *text, size_t text_bytes)
{
    const char *job = getenv("PMI_JOBID");
    int fd, rank;
    if (nof_launch_number("PMI_FD", &fd) != 0 || nof_launch_number("PMI_RANK", &rank) != 0) {
        snprintf(text, text_bytes,
                 "PMI_FD and PMI_RANK are no valid numbers: the launcher does not speak PMI-2");
        return -1;
    }
    nof_pmi_conn_open(&conn, fd);
    const char *failed = handshake(rank, job != NULL && strpbrk(job, ";\n") == NULL ? job : "");
    if (failed == NULL) {
        nof_pmi_conn_answered(&conn);
        return 0;
    }
    snprintf(text, text_bytes,
             "the launcher does not answer PMI-2's %s on descriptor %d (PMI_FD): is it srun --mpi=pmi2? Else "
             "unset "
             "NOF_LAUNCH, or start the program with \"nof run\"",
             failed, fd);
    conn.descriptor.fd = -1; /* whatever it is, it is not ours to close */
    return -1;
}

static int pmi2_put(const char *key, const char *value)
{
    char body[NOF_PMI_INPUT_BYTES];
    return send_message("cmd=kvs-put;key=%s;value=%s;", key, value) == 0 ? expect("kvs-put-response", body)
                                                                         : -1;
}

static int pmi2_get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    char body[NOF_PMI_INPUT_BYTES], word[NAME_BYTES];
    (void)rank; /* one space of names for all */
    if (send_message("cmd=kvs-get;jobid=;srcid=-1;key=%s;", key) != 0 ||
        expect("kvs-get-response", body) != 0)
        return -1;
    if (field(body, "found", word, sizeof(word)) == 0 && strcmp(word, "TRUE") != 0)
        return -1;
    return field(body, "value", value, NOF_LAUNCH_VALUE_BYTES);
}

static int pmi2_fence(void)
{
    char body[NOF_PMI_INPUT_BYTES];
    return send_message("cmd=kvs-fence;") == 0 ? expect_until("kvs-fence-response", body, NOF_PMI_NO_DEADLINE)
                                               : -1;
}

static void pmi2_close(void)
{
    char body[NOF_PMI_INPUT_BYTES];
    if (send_message("cmd=finalize;") == 0)
        (void)expect("finalize-response", body);
    nof_pmi_conn_close(&conn);
}

static void pmi2_abort(int exit_code, const char *why)
{
    (void)exit_code; /* PMI-2 takes it from the process */
    (void)send_message("cmd=abort;isworld=TRUE;msg=%.*s;", (int)strcspn(why, ";\n"), why);
}

const struct nof_launch_ops nof_launch_pmi2 = {
    .name = "pmi2",
    .title = "PMI-2",
    .death_ms = 1000,
    .open = pmi2_open,
    .put = pmi2_put,
    .fence = pmi2_fence,
    .get = pmi2_get,
    .close = pmi2_close,
    .abort = pmi2_abort,
};
