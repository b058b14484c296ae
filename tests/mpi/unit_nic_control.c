/* SPDX-License-Identifier: BSD-3-Clause */
/* The line to the daemon's control socket, in a program whose profiler sends signals all the time: they end no call too early,
 * and prolong no wait. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "base/lib.h"
#include "nof/status.h"
#include "tool/nic_control.h"

#define WAITING_MAX 16
#define SIGNALS 20 /* while it waits: each ends the call that it is in */
#define ANSWER "{\"result\":{\"rows\":[{\"name\":\"dead_after_ms\",\"value\":\"77\"}]}}\n"

static volatile sig_atomic_t nsignals;
static uint64_t clock_ns, clock_step_ns;
static int door, waiting[WAITING_MAX], nwaiting;

/* The library's; a wait that never ends would never see it move. */
uint64_t nof_lib_now_ns(void)
{
    return clock_ns += clock_step_ns;
}

/* Seen by the kernel as well: how long the next call on the line may take. */
static struct timeval may_take;

int setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    if (level == SOL_SOCKET && name == SO_RCVTIMEO)
        memcpy(&may_take, value, sizeof(may_take));
    return (int)syscall(SYS_setsockopt, fd, level, name, value, bytes);
}

static void on_signal(int number)
{
    (void)number;
    nsignals++;
}

static void open_door(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char name[64];
    int len = snprintf(name, sizeof(name), "@nof-unit-nic-control-%d", (int)getpid());
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len);

    memcpy(at.sun_path + 1, name + 1, (size_t)len - 1);
    door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(door, (const struct sockaddr *)(const void *)&at, bytes) == 0 && listen(door, 0) == 0);
    do {
        check(nwaiting < WAITING_MAX);
        waiting[nwaiting] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(waiting[nwaiting++], (const struct sockaddr *)(const void *)&at, bytes) == 0);
    setenv("NOF_CONTROL", name, 1);
    nof_nic_control_at("");
}

/* Takes those who wait, and who comes behind them, once there were signals enough; then one more answer's time of signals. */
static void *serve(void *arg)
{
    char question[512];
    sigset_t all;
    int fd = -1;

    (void)arg;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (nsignals < SIGNALS)
        usleep(1000);
    for (int i = 0; i < nwaiting; i++) { /* the last of them was not let in */
        if (fd >= 0)
            close(fd);
        fd = accept(door, NULL, NULL);
    }
    check(recv(fd, question, sizeof(question), 0) > 0);
    while (nsignals < 2 * SIGNALS)
        usleep(1000);
    check(send(fd, ANSWER, sizeof(ANSWER) - 1, MSG_NOSIGNAL) > 0);
    close(fd);
    return NULL;
}

/* What is left of it when it is cut is another's name. */
static void a_name_that_is_too_long_is_none(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char name[sizeof(at.sun_path) + 8];
    uint64_t value = 0;

    memset(name, 'x', sizeof(name));
    snprintf(name, sizeof(name), "@nof-unit-nic-control-%d-", (int)getpid());
    name[strlen(name)] = 'x';
    name[sizeof(name) - 1] = '\0';
    memcpy(at.sun_path + 1, name + 1, sizeof(at.sun_path) - 2);
    int other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    check(bind(other, (const struct sockaddr *)(const void *)&at, sizeof(at) - 1) == 0 &&
          listen(other, 1) == 0);
    setenv("NOF_CONTROL", name, 1);
    nof_nic_control_at("");
    check(nof_nic_control_get(NOF_F_DEAD_AFTER, &value) == NOF_ENOENT);
    check(accept(other, NULL, NULL) < 0);
    close(other);
}

int main(void)
{
    const struct itimerspec often = {.it_interval = {.tv_nsec = 10000000}, .it_value = {.tv_nsec = 10000000}};
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    uint64_t value = 0;
    pthread_t server;
    timer_t timer;

    alarm(CHECK_PATIENCE_S); /* a wait that never ends */
    open_door();
    check(sigaction(SIGUSR1, &action, NULL) == 0);
    check(pthread_create(&server, NULL, serve, NULL) == 0);
    check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);

    check(nof_nic_control_get(NOF_F_DEAD_AFTER, &value) == NOF_OK && value == 77);
    pthread_join(server, NULL);

    clock_step_ns = 1000000000; /* each look is a second later, and nobody answers */
    nsignals = 0;
    check(nof_nic_control_get(NOF_F_DEAD_AFTER, &value) == NOF_ENOENT);
    check(nsignals > 0);
    check(may_take.tv_sec == 1 && may_take.tv_usec == 0); /* of ten, all calls together */
    a_name_that_is_too_long_is_none();
    printf("signals end no question to the daemon, and prolong none\n");
    return 0;
}
