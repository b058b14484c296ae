/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: the rank's side of PMI-1 and PMI-2. Input: the protocol (first byte) and all that the launcher will
 * ever say. Whatever that is, every call returns, and what came back is a string within its bounds. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/launch.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

struct nof_lib nof_lib;

/* The launcher hangs up behind its last byte: nobody ever waits, and time stands still. */
uint64_t nof_lib_now_ns(void)
{
    return 0;
}

static int launcher_fd;

int nof_launch_number(const char *variable, int *number_out)
{
    *number_out = strcmp(variable, "PMI_FD") == 0 ? launcher_fd : strcmp(variable, "PMI_SIZE") == 0 ? 4 : 1;
    return 0;
}

static void use(const struct nof_launch_ops *ops)
{
    char text[256] = "", value[NOF_LAUNCH_VALUE_BYTES];

    if (ops->open(text, sizeof(text)) != 0) {
        if (text[0] == '\0')
            abort();
        close(launcher_fd);
        return;
    }
    if (nof_lib.world_size < 1 || nof_lib.world_rank < 0 || nof_lib.world_rank >= nof_lib.world_size)
        abort();
    (void)ops->put("key", "value");
    for (int i = 0; i < 3; i++) {
        (void)ops->fence();
        memset(value, 'x', sizeof(value));
        if (ops->get(0, "key", value) == 0 && memchr(value, '\0', sizeof(value)) == NULL)
            abort();
    }
    ops->abort(7, "a reason; with\na second line");
    ops->close();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    int pair[2];

    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 0;
    for (size_t sent = 1; sent < size;) {
        ssize_t n = send(pair[1], data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    shutdown(pair[1], SHUT_WR);
    launcher_fd = pair[0];
    use((data[0] & 1) != 0 ? &nof_launch_pmi2 : &nof_launch_pmi1);
    close(pair[1]);
    return 0;
}
