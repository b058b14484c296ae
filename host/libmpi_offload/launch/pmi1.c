/* SPDX-License-Identifier: BSD-3-Clause */
/* PMI-1 client (Hydra's mpiexec, `nof run`): lines of "cmd=... key=value ..." over the socket that PMI_FD names. Every
 * field is looked for; a wrong or missing answer is an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"
#include "launch/pmi_conn.h"

#define LINE_BYTES 2048
#define NAME_BYTES 256

static struct nof_pmi_conn conn = {.descriptor.fd = -1};
static char kvs_name[NAME_BYTES];

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
    return nof_pmi_conn_send(&conn, line, (size_t)len);
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
static int expect_until(const char *cmd, char line[NOF_PMI_INPUT_BYTES], uint64_t deadline_ns)
{
    char word[NAME_BYTES];
    if (nof_pmi_conn_line(&conn, line, deadline_ns) != 0)
        return -1;
    if (field(line, "cmd", word, sizeof(word)) != 0 || strcmp(word, cmd) != 0)
        return -1;
    return field(line, "rc", word, sizeof(word)) == 0 && strcmp(word, "0") != 0 ? -1 : 0;
}

static int expect(const char *cmd, char line[NOF_PMI_INPUT_BYTES])
{
    return expect_until(cmd, line, nof_pmi_conn_deadline());
}

/* The step of the handshake that failed, or NULL. */
static const char *handshake(void)
{
    char line[NOF_PMI_INPUT_BYTES], word[NAME_BYTES];
    if (send_line("cmd=init pmi_version=1 pmi_subversion=1\n") != 0 || expect("response_to_init", line) != 0)
        return "init";
    if (send_line("cmd=get_maxes\n") != 0 || expect("maxes", line) != 0)
        return "get_maxes";
    if (send_line("cmd=get_appnum\n") != 0 || expect("appnum", line) != 0 ||
        field(line, "appnum", word, sizeof(word)) != 0)
        return "get_appnum";
    nof_lib.appnum = atoi(word);
    if (send_line("cmd=get_my_kvsname\n") != 0 || expect("my_kvsname", line) != 0 ||
        field(line, "kvsname", kvs_name, sizeof(kvs_name)) != 0)
        return "get_my_kvsname";
    return NULL;
}

static int pmi1_open(char *text, size_t text_bytes)
{
    int fd;
    if (nof_launch_number("PMI_FD", &fd) != 0 || nof_launch_number("PMI_RANK", &nof_lib.world_rank) != 0 ||
        nof_launch_number("PMI_SIZE", &nof_lib.world_size) != 0 || nof_lib.world_rank >= nof_lib.world_size) {
        snprintf(text, text_bytes,
                 "PMI_FD, PMI_RANK and PMI_SIZE are no valid numbers: the launcher does not speak PMI-1");
        return -1;
    }
    nof_pmi_conn_open(&conn, fd);
    const char *failed = handshake();
    if (failed == NULL) {
        nof_pmi_conn_answered(&conn);
        return 0;
    }
    snprintf(text, text_bytes,
             "the launcher does not answer PMI-1's %s on descriptor %d (PMI_FD): start the program "
             "with \"nof run\"",
             failed, fd);
    conn.descriptor.fd = -1; /* whatever it is, it is not ours to close */
    return -1;
}

static int pmi1_put(const char *key, const char *value)
{
    char line[NOF_PMI_INPUT_BYTES];
    return send_line("cmd=put kvsname=%s key=%s value=%s\n", kvs_name, key, value) == 0
               ? expect("put_result", line)
               : -1;
}

static int pmi1_get(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES])
{
    char line[NOF_PMI_INPUT_BYTES];
    (void)rank; /* one space of names for all */
    if (send_line("cmd=get kvsname=%s key=%s\n", kvs_name, key) != 0 || expect("get_result", line) != 0)
        return -1;
    return field(line, "value", value, NOF_LAUNCH_VALUE_BYTES);
}

static int pmi1_fence(void)
{
    char line[NOF_PMI_INPUT_BYTES];
    return send_line("cmd=barrier_in\n") == 0 ? expect_until("barrier_out", line, NOF_PMI_NO_DEADLINE) : -1;
}

static void pmi1_close(void)
{
    char line[NOF_PMI_INPUT_BYTES];
    if (send_line("cmd=finalize\n") == 0)
        (void)expect("finalize_ack", line);
    nof_pmi_conn_close(&conn);
}

static void pmi1_abort(int exit_code, const char *why)
{
    /* PMI-1 has no place for it; `nof run` wants to know whether the program asked for its end. */
    (void)send_line("cmd=abort exitcode=%d%s\n", exit_code,
                    strncmp(why, "MPI_Abort(", 10) == 0 ? "" : " cause=error");
}

const struct nof_launch_ops nof_launch_pmi1 = {
    .name = "pmi1",
    .title = "PMI-1",
    .death_ms = 1000,
    .open = pmi1_open,
    .put = pmi1_put,
    .fence = pmi1_fence,
    .get = pmi1_get,
    .close = pmi1_close,
    .abort = pmi1_abort,
};
