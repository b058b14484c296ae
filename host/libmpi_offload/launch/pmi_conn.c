/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/pmi_conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lib.h"

#define ANSWER_NS \
    (60u * \
     1000000000ull) /* a launcher that is gone hangs up; one that starts hundreds of ranks is busy for long */

void nof_pmi_conn_open(struct nof_pmi_conn *conn, int fd)
{
    (void)nof_descriptor_take(&conn->descriptor, fd);
    conn->silent = false;
    conn->input_bytes = 0;
}

void nof_pmi_conn_answered(const struct nof_pmi_conn *conn)
{
    (void)fcntl(conn->descriptor.fd, F_SETFD, FD_CLOEXEC);
}

void nof_pmi_conn_close(struct nof_pmi_conn *conn)
{
    if (nof_descriptor_is(&conn->descriptor))
        close(conn->descriptor.fd);
    conn->descriptor.fd = -1;
}

int nof_pmi_conn_send(struct nof_pmi_conn *conn, const char *bytes, size_t n)
{
    if (!nof_descriptor_is(&conn->descriptor)) {
        errno = EBADF;
        return -1;
    }
    for (size_t sent = 0; sent < n;) {
        ssize_t got = send(conn->descriptor.fd, bytes + sent, n - sent, MSG_NOSIGNAL);
        if (got < 0 && errno == ENOTSOCK)
            got = write(conn->descriptor.fd, bytes + sent, n - sent);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        sent += (size_t)got;
    }
    return 0;
}

uint64_t nof_pmi_conn_deadline(void)
{
    return nof_lib_now_ns() + ANSWER_NS;
}

/* Until something can be read; -1 at the deadline. */
static int wait_for_input(struct nof_pmi_conn *conn, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = nof_lib_now_ns();
        int timeout_ms = -1;
        if (deadline_ns != NOF_PMI_NO_DEADLINE)
            timeout_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000u) + 1 : 0;
        struct pollfd in = {.fd = conn->descriptor.fd, .events = POLLIN};
        int n = poll(&in, 1, timeout_ms);
        if (n > 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0) {
            errno = ETIMEDOUT;
            conn->silent = true;
        }
        return -1;
    }
}

/* Read more behind what is there. */
static int fill(struct nof_pmi_conn *conn, uint64_t deadline_ns)
{
    if (conn->silent) {
        errno = ETIMEDOUT;
        return -1;
    }
    errno = 0;
    if (conn->input_bytes == sizeof(conn->input))
        return -1;
    for (;;) {
        if (wait_for_input(conn, deadline_ns) != 0)
            return -1;
        ssize_t n = read(conn->descriptor.fd, conn->input + conn->input_bytes,
                         sizeof(conn->input) - conn->input_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        conn->input_bytes += (size_t)n;
        return 0;
    }
}

static void consume(struct nof_pmi_conn *conn, size_t n)
{
    conn->input_bytes -= n;
    memmove(conn->input, conn->input + n, conn->input_bytes);
}

int nof_pmi_conn_line(struct nof_pmi_conn *conn, char line[NOF_PMI_INPUT_BYTES], uint64_t deadline_ns)
{
    for (;;) {
        char *end = memchr(conn->input, '\n', conn->input_bytes);
        if (end != NULL) {
            size_t len = (size_t)(end - conn->input);
            memcpy(line, conn->input, len);
            line[len] = '\0';
            consume(conn, len + 1);
            return 0;
        }
        if (fill(conn, deadline_ns) != 0)
            return -1;
    }
}

int nof_pmi_conn_bytes(struct nof_pmi_conn *conn, char *bytes, size_t n, uint64_t deadline_ns)
{
    if (n > sizeof(conn->input))
        return -1;
    while (conn->input_bytes < n)
        if (fill(conn, deadline_ns) != 0)
            return -1;
    memcpy(bytes, conn->input, n);
    consume(conn, n);
    return 0;
}
