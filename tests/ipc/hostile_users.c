/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Other local users at the sockets of root's daemon: whatever they hold open, leave half done or ask without end, root
 * and third users are served, and everybody who is turned away is told. */
#include "hostile.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 70001u /* and those behind it: no names needed */
#define HELD 200u
#define USERS 40u
#define EACH 40u
#define REQUESTS 1000u
#define FILES 1024u /* that nofd may open */
#define STORM 200u

static const char status_request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}\n";
static char answer[1 << 20];

/* The kernel tells the daemon who we are at connect(). */
static int connect_as(const char *address, int type, uid_t uid)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CHECK_PATIENCE_S};
    size_t len = strlen(address);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    check(fd >= 0);
    memcpy(sun.sun_path, address, len);
    sun.sun_path[0] = '\0';
    check(seteuid(uid) == 0);
    check(connect(fd, (struct sockaddr *)&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) ==
          0);
    check(seteuid(0) == 0);
    check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    return fd;
}

static void ask(int fd)
{
    (void)send(fd, status_request, sizeof(status_request) - 1, MSG_NOSIGNAL);
}

/* One line; "" when the daemon hung up. In large pieces: who takes bytes one by one is, on a busy machine, hung up on. */
static const char *read_line(int fd)
{
    size_t used = 0;

    while (used + 1 < sizeof(answer) && (used == 0 || answer[used - 1] != '\n')) {
        char *at = answer + used;
        ssize_t n = recv(fd, at, sizeof(answer) - used - 1, MSG_PEEK);
        const char *end = n > 0 ? memchr(at, '\n', (size_t)n) : NULL;

        if (end != NULL)
            n = end + 1 - at;
        if (n <= 0 || recv(fd, at, (size_t)n, 0) != n)
            break;
        used += (size_t)n;
    }
    answer[used] = '\0';
    return answer;
}

static bool answered(const struct hostile *h, uid_t uid)
{
    int fd = connect_as(h->control, SOCK_STREAM, uid);
    bool well;

    ask(fd);
    well = strstr(read_line(fd), "\"nics\"") != NULL;
    close(fd);
    return well;
}

static void one_user_cannot_hold_the_control_socket(struct hostile *h)
{
    int fds[HELD];
    unsigned told = 0;

    for (unsigned i = 0; i < HELD; i++)
        fds[i] = connect_as(h->control, SOCK_STREAM, USER);
    check(answered(h, 0));
    check(answered(h, USER + 1));
    /* Who had one too many was told so, not just hung up on. */
    for (unsigned i = 0; i < HELD; i++) {
        struct pollfd one = {.fd = fds[i], .events = POLLIN};

        if (poll(&one, 1, 0) == 1)
            told += strstr(read_line(fds[i]), "-32001") != NULL;
    }
    check(told > 0 && told < HELD);
    check_equal(told, HELD - 8);
    for (unsigned i = 0; i < HELD; i++)
        close(fds[i]);
}

static void many_users_cannot_hold_the_control_socket(struct hostile *h)
{
    int fds[USERS][8];

    for (unsigned u = 0; u < USERS; u++)
        for (unsigned i = 0; i < 8; i++)
            fds[u][i] = connect_as(h->control, SOCK_STREAM, USER + u);
    check(answered(h, 0));
    check(answered(h, USER + USERS));
    for (unsigned u = 0; u < USERS; u++)
        for (unsigned i = 0; i < 8; i++)
            close(fds[u][i]);
}

static void who_asks_nothing_is_hung_up_on(struct hostile *h)
{
    int silent = connect_as(h->control, SOCK_STREAM, USER);
    int half = connect_as(h->control, SOCK_STREAM, USER);
    int rank = connect_as(h->socket, SOCK_SEQPACKET, USER);
    struct nof_attach_reply reply;

    check(send(half, "{\"jsonrpc\"", 10, MSG_NOSIGNAL) == 10);
    check(strcmp(read_line(silent), "") == 0);
    check(recv(silent, answer, 1, MSG_DONTWAIT) == 0);
    check(strcmp(read_line(half), "") == 0);
    check(recv(rank, &reply, sizeof(reply), 0) == (ssize_t)sizeof(reply) && reply.status == NOF_EINVAL);
    check(strstr(reply.text, "no attach request") != NULL);
    close(silent);
    close(half);
    close(rank);
}

/* Neither is who asks and does not read: what is kept for it ends, too. */
static void who_takes_no_answer_is_hung_up_on(struct hostile *h)
{
    int fd = connect_as(h->control, SOCK_STREAM, USER);
    struct pollfd gone = {.fd = fd, .events = 0};
    ssize_t n = 1;

    for (unsigned i = 0; i < REQUESTS; i++)
        if (send(fd, status_request, sizeof(status_request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    check(poll(&gone, 1, CHECK_PATIENCE_MS) == 1 && (gone.revents & POLLHUP));
    while (n > 0)
        n = recv(fd, answer, sizeof(answer), 0);
    close(fd);
}

static double uptime_s(const char *line)
{
    const char *at = strstr(line, "\"uptime_s\":");

    check(at != NULL);
    return strtod(at + strlen("\"uptime_s\":"), NULL);
}

/* Both have asked before the daemon looks: nobody's thousand requests are served before root's one. */
static void one_request_a_turn_is_answered(struct hostile *h)
{
    static char all[REQUESTS * (sizeof(status_request) - 1)];
    int flood = connect_as(h->control, SOCK_STREAM, USER);
    double root_s;
    unsigned before = 0;
    int root;

    ask(flood);
    check(strstr(read_line(flood), "\"nics\"") != NULL); /* it is a client */
    check(kill(h->nofd, SIGSTOP) == 0);
    /* In one piece: the kernel keeps few small ones. */
    for (unsigned i = 0; i < REQUESTS; i++)
        memcpy(all + i * (sizeof(status_request) - 1), status_request, sizeof(status_request) - 1);
    check(send(flood, all, sizeof(all), MSG_NOSIGNAL) == (ssize_t)sizeof(all));
    root = connect_as(h->control, SOCK_STREAM, 0);
    ask(root);
    check(kill(h->nofd, SIGCONT) == 0);
    root_s = uptime_s(read_line(root));
    for (unsigned i = 0; i < REQUESTS; i++)
        before += uptime_s(read_line(flood)) < root_s;
    printf("answered before root: %u of %u\n", before, REQUESTS);
    check(before < 10);
    close(root);
    close(flood);
}

/* More connections that do not attach than the daemon may have open files. */
static void half_open_ranks_of_many_users_keep_nobody_out(struct hostile *h)
{
    static int fds[USERS][EACH];
    struct nof_attach_request request;
    struct intruder in;

    for (unsigned u = 0; u < USERS; u++)
        for (unsigned i = 0; i < EACH; i++)
            fds[u][i] = connect_as(h->socket, SOCK_SEQPACKET, USER + u);
    hostile_pair_goes_on(h, 10);
    hostile_request(h, &request);
    check_equal(hostile_attach(&in, connect_as(h->socket, SOCK_SEQPACKET, 0), &request, sizeof(request)),
                NOF_OK);
    hostile_leave(&in);
    hostile_request(h, &request);
    check_equal(
        hostile_attach(&in, connect_as(h->socket, SOCK_SEQPACKET, USER + USERS), &request, sizeof(request)),
        NOF_OK);
    hostile_leave(&in);
    for (unsigned u = 0; u < USERS; u++)
        for (unsigned i = 0; i < EACH; i++)
            close(fds[u][i]);
}

static void one_user_has_a_share_of_half_open_ranks(struct hostile *h)
{
    int fds[HELD];
    unsigned told = 0;

    for (unsigned i = 0; i < HELD; i++)
        fds[i] = connect_as(h->socket, SOCK_SEQPACKET, USER);
    check(answered(h, 0)); /* and nofd has been at its sockets */
    while (told < HELD - 64) {
        struct nof_attach_reply reply;
        int fd = fds[HELD - 1 - told++];

        check(recv(fd, &reply, sizeof(reply), 0) == (ssize_t)sizeof(reply));
        check(reply.status == NOF_EAGAIN && strstr(reply.text, "70001") != NULL);
    }
    for (unsigned i = 0; i < HELD; i++)
        close(fds[i]);
}

/* As fast as it can: it may be made to wait, and each attach is answered. */
static void a_storm_of_attaches_is_served_in_time(struct hostile *h)
{
    unsigned well = 0;

    for (unsigned i = 0; i < STORM; i++) {
        struct nof_attach_request request;
        struct intruder in;
        int rc;

        hostile_request(h, &request);
        rc = hostile_attach(&in, connect_as(h->socket, SOCK_SEQPACKET, USER), &request, sizeof(request));
        check(rc != 1);
        if (rc == NOF_OK)
            hostile_leave(&in);
        else
            close(in.socket);
        well += rc == NOF_OK;
    }
    check(well > 0);
    hostile_pair_goes_on(h, 10);
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--max-endpoints", "8", NULL};
    struct rlimit files;
    struct rlimit few;
    struct hostile h;

    if (geteuid() != 0) {
        printf("needs root: the other users are played by changing the user id\n");
        return HOSTILE_SKIP;
    }
    check(setenv("NOF_IDLE_TIMEOUT", "4s", 1) == 0);
    check(getrlimit(RLIMIT_NOFILE, &files) == 0);
    if (files.rlim_max < 2 * USERS * EACH) {
        printf("needs %u open files: ulimit -n\n", 2 * USERS * EACH);
        return HOSTILE_SKIP;
    }
    few = files;
    few.rlim_cur = FILES;
    check(setrlimit(RLIMIT_NOFILE, &few) == 0);
    hostile_start(&h, argc, argv, args);
    check(prlimit(h.nofd, RLIMIT_NOFILE, &(struct rlimit){FILES, FILES}, NULL) == 0);
    files.rlim_cur = files.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &files) == 0);
    one_user_cannot_hold_the_control_socket(&h);
    many_users_cannot_hold_the_control_socket(&h);
    one_request_a_turn_is_answered(&h);
    who_asks_nothing_is_hung_up_on(&h);
    who_takes_no_answer_is_hung_up_on(&h);
    one_user_has_a_share_of_half_open_ranks(&h);
    half_open_ranks_of_many_users_keep_nobody_out(&h);
    a_storm_of_attaches_is_served_in_time(&h);
    hostile_end(&h);
    return 0;
}
