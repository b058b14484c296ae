/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The control socket under garbage, endless lines and clients that never read; what is wrong is
 * answered, by name. */
#include "hostile.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static char answer[1 << 20];

static int control_connect(const struct hostile *h)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = strlen(h->control);

    memcpy(sun.sun_path, h->control, len);
    sun.sun_path[0] = '\0';
    check(connect(fd, (struct sockaddr *)&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
          0);
    return fd;
}

static void expect(struct hostile *h, const char *line, const char *wanted)
{
    check(hostile_control(h, line, answer, sizeof(answer)));
    if (strstr(answer, wanted) == NULL)
        fprintf(stderr, "sent %s\ngot  %s", line, answer);
    check(strstr(answer, wanted) != NULL);
}

static void what_is_wrong_is_answered_with_the_nearest_name(struct hostile *h)
{
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sttus\"}", "did you mean \\\"status\\\"");
    expect(
        h,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\",\"params\":{\"name\":\"idel\",\"value\":\"busy\"}}",
        "did you mean \\\"idle\\\"");
    expect(
        h,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\",\"params\":{\"name\":\"idle\",\"value\":\"bsy\"}}",
        "one of auto|busy|yield|sleep");
    expect(h,
           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\",\"params\":{\"name\":\"spin_us\",\"value\":-1}}",
           "a number from 0");
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"stats\",\"params\":{\"nic\":9}}",
           "from 0 to 1");
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"impair\",\"params\":{\"loss\":1.5}}",
           "probability");
    expect(h, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}", "-32600");
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\",\"params\":[1]}", "-32602");
    expect(h, "[[[[", "-32700");
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"status\"}", "\"id\":7");
}

static void garbage_is_answered_or_dropped(struct hostile *h)
{
    static char noise[100000];

    for (unsigned i = 0; i < 50; i++) {
        size_t n = hostile_random(h) % sizeof(noise);
        int fd = control_connect(h);

        for (size_t j = 0; j < n; j++)
            noise[j] = (char)hostile_random(h);
        (void)send(fd, noise, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
    memset(noise, '[', sizeof(noise));
    noise[60000] = '\n';
    noise[sizeof(noise) - 1] = '\0';
    check(hostile_control(h, noise, answer, sizeof(answer)));
    check(strstr(answer, "-32700") != NULL);
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}", "\"nics\"");
}

static void a_client_that_never_reads_is_dropped(struct hostile *h)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stats\"}\n";
    int fd = control_connect(h);
    unsigned sent = 0;

    while (sent < 20000 && send(fd, line, sizeof(line) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        sent++;
    hostile_pair_goes_on(h, 10);
    expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}", "\"nics\"");
    close(fd);
}

static void more_clients_than_served_are_turned_away(struct hostile *h)
{
    static const char status[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}";
    int fds[60];

    for (unsigned i = 0; i < 60; i++)
        fds[i] = control_connect(h);
    hostile_pair_goes_on(h, 10);
    for (unsigned i = 0; i < 60; i++)
        close(fds[i]);
    /* Who comes before nofd has seen them leave is turned away still. */
    for (int ms = 0; !hostile_control(h, status, answer, sizeof(answer)); ms++) {
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
    check(strstr(answer, "\"nics\"") != NULL);
}

static void others_may_ask_and_not_change(struct hostile *h)
{
    pid_t pid;
    int status;

    if (geteuid() != 0) {
        printf("not root: the test of another user's rights was left out\n");
        return;
    }
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}", "\"nics\"");
        expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"down\"}", "-32000");
        expect(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"link\",\"params\":{\"nic\":0,\"up\":false}}",
               "-32000");
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    struct hostile h;

    hostile_start(&h, argc, argv, NULL);
    what_is_wrong_is_answered_with_the_nearest_name(&h);
    garbage_is_answered_or_dropped(&h);
    a_client_that_never_reads_is_dropped(&h);
    more_clients_than_served_are_turned_away(&h);
    others_may_ask_and_not_change(&h);
    hostile_end(&h);
    return 0;
}
