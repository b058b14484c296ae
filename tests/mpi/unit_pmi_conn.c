/* SPDX-License-Identifier: BSD-3-Clause */
/* The program closes the connection to its launcher, and its number is then that of a file of its own: nothing is written there, and it
 * stays open. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"
#include "base/lib.h"
#include "launch/pmi_conn.h"

uint64_t nof_lib_now_ns(void)
{
    return 0;
}

int main(void)
{
    static struct nof_pmi_conn conn;
    int end[2];
    char said[8];
    struct stat st;
    FILE *file = tmpfile();

    check(file != NULL && socketpair(AF_UNIX, SOCK_STREAM, 0, end) == 0);
    nof_pmi_conn_open(&conn, end[0]);
    check(nof_pmi_conn_send(&conn, "hello", 5) == 0 && read(end[1], said, sizeof(said)) == 5);
    check(dup2(fileno(file), end[0]) == end[0]);
    errno = 0;
    check(nof_pmi_conn_send(&conn, "hello", 5) == -1 && errno == EBADF);
    check(fstat(end[0], &st) == 0 && st.st_size == 0);
    nof_pmi_conn_close(&conn);
    check(fstat(end[0], &st) == 0 && conn.descriptor.fd == -1);

    /* One that is closed, and of whose number there is nothing. */
    nof_pmi_conn_open(&conn, end[1]);
    check(close(end[1]) == 0);
    errno = 0;
    check(nof_pmi_conn_send(&conn, "hello", 5) == -1 && errno == EBADF);
    check(close(end[0]) == 0 && fclose(file) == 0);
    return 0;
}
