/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attach and detach: the handshake of nof/bar.h over nofd's socket, and what fork() does to it. */
#include "pmd_state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS_DEFAULT 60000 /* for one that is busy: who ends hangs up, who is stopped is seen */
#define LOOK_MS 2000 /* at the latter */
#define GLANCE_MS 2 /* at whether one listens */
#define CONNECT_MS 9000 /* for one whose queue is full: it accepts, unless it is stopped or hangs */

/* nofd reads these eight bytes to find out whether the kernel lets it. */
static uint64_t probe_word;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nof_pmd *list;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void say(char *text, size_t text_bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(char *text, size_t text_bytes, const char *fmt, ...)
{
    va_list args;

    if (text == NULL || text_bytes == 0)
        return;
    va_start(args, fmt);
    vsnprintf(text, text_bytes, fmt, args);
    va_end(args);
}

static void close_descriptors(const struct nof_pmd *pmd)
{
    if (nof_descriptor_is(&pmd->doorbell))
        close(pmd->doorbell.fd);
    if (nof_descriptor_is(&pmd->socket))
        close(pmd->socket.fd);
}

static void fork_prepare(void)
{
    pthread_mutex_lock(&list_lock);
}

static void fork_parent(void)
{
    pthread_mutex_unlock(&list_lock);
}

/* The child has no BAR (MADV_DONTFORK). Its copies of the descriptors must go too: an open socket in the
 * child would keep a dead parent's endpoint alive. */
static void fork_child(void)
{
    for (struct nof_pmd *pmd = list; pmd != NULL; pmd = pmd->next) {
        pmd->state = NOF_PMD_FORKED;
        close_descriptors(pmd);
    }
    list = NULL;
    pthread_mutex_unlock(&list_lock);
}

static void watch_forks(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}

static int refused(const char *name, int error, char *text, size_t text_bytes)
{
    switch (error) {
    case ENAMETOOLONG:
        say(text, text_bytes, "'%.40s...' is no socket address: from 1 to %zu characters", name,
            sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
        return NOF_EINVAL;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        say(text, text_bytes, "no socket can be opened: %s", strerror(error));
        return NOF_ENOMEM;
    case EAGAIN:
        say(text, text_bytes,
            "the daemon at %s takes no connection, and others wait already: it is stopped or hangs; "
            "`ss -xlp | grep '%s'` shows its pid: let it go on with `kill -CONT PID`, or end it and start "
            "another with `nof up`",
            name, name);
        return NOF_ENICDEAD;
    case EACCES:
    case EPERM:
        say(text, text_bytes,
            "you may not use the NIC daemon at %s (%s): it serves another user; start one of your own with "
            "`nof up`, or the "
            "program with `nof run`, or set NOF_SOCKET to root's",
            name, strerror(error));
        return NOF_EPERM;
    default:
        say(text, text_bytes,
            "no NIC answers at %s (%s): start the daemon with `nof up`, or the program with "
            "`nof run`, or set NOF_SOCKET to where nofd listens",
            name, strerror(error));
        return NOF_ENICDEAD;
    }
}

static int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct timeval timeval_of(int64_t ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

/* SO_SNDTIMEO is how long a queue that is full is waited for, too; with it signals end that, whatever SA_RESTART says. */
static int connect_until(int fd, const struct sockaddr_un *at, socklen_t at_bytes, int64_t until_ms)
{
    int64_t left_ms;

    do { /* once, however late we are: only the kernel knows whether one listens */
        left_ms = until_ms - clock_ms();
        const struct timeval limit = timeval_of(left_ms > 0 ? left_ms : 1); /* 0 would be for ever */

        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        if (connect(fd, (const struct sockaddr *)(const void *)at, at_bytes) == 0)
            return 0;
        if (errno != EINTR)
            return errno;
    } while (left_ms > 0);
    return EAGAIN;
}

/* Returns 0 or an errno: EAGAIN, one listens, but has taken nobody out of its queue for so long. */
static int connect_daemon(const char *name, int timeout_ms, int *socket_out)
{
    const struct timeval none = {0};
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    socklen_t addr_bytes;
    int fd, error;

    if (len == 0 || len >= sizeof(addr.sun_path))
        return ENAMETOOLONG;
    memcpy(addr.sun_path, name, len);
    addr_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '@' ? 0 : 1));
    if (name[0] == '@')
        addr.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    error = connect_until(fd, &addr, addr_bytes, clock_ms() + timeout_ms);
    if (error != 0) {
        close(fd);
        return error;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
    *socket_out = fd;
    return 0;
}

/* Who listens gets the job key and all messages, and a name in /tmp or in the abstract namespace is anybody's who
 * comes first. The daemon copies to and from our memory: tell the kernel's Yama, where it is there, that it may. */
static int trust_daemon(int fd, const char *name, char *text, size_t text_bytes)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
        (peer.uid != 0 && peer.uid != geteuid())) {
        say(text, text_bytes,
            "who listens at %s is neither root nor you, and would get all messages: start a daemon of your "
            "own with "
            "`nof up`, or the program with `nof run`, or set NOF_SOCKET to root's",
            name);
        return NOF_EPERM;
    }
    if (peer.pid > 0)
        prctl(PR_SET_PTRACER, (unsigned long)peer.pid, 0, 0, 0);
    return NOF_OK;
}

bool nof_pmd_answers(const char *socket)
{
    int fd;
    int error = connect_daemon(socket, GLANCE_MS, &fd);
    bool trusted;

    if (error != 0)
        return error == EAGAIN;
    trusted = trust_daemon(fd, socket, NULL, 0) == NOF_OK;
    close(fd);
    return trusted;
}

/* A daemon that turns us away says why, and hangs up, before it reads: the answer tells what became of this. */
static void send_whole(int fd, const void *message, size_t bytes)
{
    while (send(fd, message, bytes, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

static void send_request(int fd, const struct nof_pmd_attach_args *args)
{
    struct nof_attach_request request = {
        .magic = NOF_ATTACH_MAGIC,
        .abi_version = NOF_ABI_VERSION,
        .rank = args->rank,
        .size = args->size,
        .nic = args->nic,
        .job_id = args->job_id,
        .probe_addr = (uint64_t)(uintptr_t)&probe_word,
        .flags = args->shares          ? NOF_ATTACH_F_SEGMENT
                 : args->shares_as_set ? NOF_ATTACH_F_SEGMENT_AS_SET
                                       : 0,
        .local_ranks = args->shares || args->shares_as_set ? args->local_ranks : 0,
    };

    if (getrandom(&probe_word, sizeof(probe_word), GRND_NONBLOCK) != (ssize_t)sizeof(probe_word))
        probe_word = (uint64_t)(uintptr_t)args ^ (uint64_t)getpid();
    request.probe_value = probe_word;
    memcpy(request.job_key, args->job_key, sizeof(request.job_key));
    send_whole(fd, &request, sizeof(request));
}

static void close_all(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        close(fds[i]);
}

/* One message with at most NOF_BAR_FDS_MAX descriptors. Returns its length or -1; *nfds_out are ours. */
static ssize_t receive(int fd, struct nof_attach_reply *reply, int fds[NOF_BAR_FDS_MAX], unsigned *nfds_out)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * NOF_BAR_FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec iov = {.iov_base = reply, .iov_len = sizeof(*reply)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.bytes,
                         .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    *nfds_out = 0;
    do {
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        *nfds_out = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(c), *nfds_out * sizeof(int));
    }
    if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        close_all(fds, *nfds_out);
        *nfds_out = 0;
    }
    return n;
}

/* The daemon asks whose request that was: the kernel tells it who sends this. A daemon that is gone is seen next. */
static bool answered_challenge(int fd, const struct nof_attach_reply *message, ssize_t n)
{
    struct nof_attach_challenge ask;
    struct nof_attach_answer answer = {.magic = NOF_ANSWER_MAGIC};

    if (n != (ssize_t)sizeof(ask) || message->magic != NOF_CHALLENGE_MAGIC)
        return false;
    memcpy(&ask, message, sizeof(ask));
    memcpy(answer.nonce, ask.nonce, sizeof(answer.nonce));
    send_whole(fd, &answer, sizeof(answer));
    return true;
}

static unsigned fds_of(const struct nof_attach_reply *reply)
{
    return reply->shared.nslots != 0 ? NOF_BAR_FDS_MAX : NOF_BAR_FDS;
}

/* Who listens, 0: in a namespace of processes that is not ours. */
static pid_t listener(int fd)
{
    struct ucred peer = {.pid = 0};
    socklen_t bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

/* By a signal: it will not answer. A debugger lets it go on. */
static bool is_stopped(pid_t pid)
{
    char path[32], line[512] = "";
    const char *name_end;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    if (read(fd, line, sizeof(line) - 1) < 0)
        line[0] = '\0';
    close(fd);
    name_end = strrchr(line, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'T';
}

/* As poll(), but a daemon that is stopped is not waited for: 0. Signals, however many, neither end nor prolong it. */
static int await_some(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until_ms = clock_ms() + timeout_ms, left_ms;

    while ((left_ms = until_ms - clock_ms()) > 0) {
        int ready = poll(&p, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);

        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready;
        if (is_stopped(listener(fd)))
            return 0;
    }
    return 0;
}

static void say_silent(int fd, const char *name, bool hung_up, char *text, size_t text_bytes)
{
    pid_t pid = listener(fd);

    if (hung_up)
        say(text, text_bytes,
            "the daemon at %s hung up without an answer: it has ended, perhaps as it started; its log, or "
            "the standard error "
            "of who started it, says why",
            name);
    else if (is_stopped(pid))
        say(text, text_bytes,
            "the daemon at %s (pid %d) is stopped and does not answer: let it go on with `kill -CONT %d`, or "
            "end it with "
            "`kill -KILL %d`",
            name, (int)pid, (int)pid, (int)pid);
    else
        say(text, text_bytes,
            "the daemon at %s (pid %d) does not answer: look at its log, or start it again with `nof down; "
            "nof up`",
            name, (int)pid);
}

static int await_reply(int fd, const char *name, int timeout_ms, struct nof_attach_reply *reply,
                       int fds[NOF_BAR_FDS_MAX], bool *gone_out, char *text, size_t text_bytes)
{
    unsigned nfds = 0;
    int ready;
    ssize_t n;

    do {
        close_all(fds, nfds);
        nfds = 0;
        ready = await_some(fd, timeout_ms);
        n = ready > 0 ? receive(fd, reply, fds, &nfds) : -1;
    } while (answered_challenge(fd, reply, n));
    if (n <= 0) {
        close_all(fds, nfds);
        say_silent(fd, name, ready != 0, text, text_bytes);
        *gone_out = ready != 0;
        return NOF_ENICDEAD;
    }
    if ((size_t)n != sizeof(*reply) || reply->magic != NOF_ATTACH_MAGIC ||
        reply->abi_version != NOF_ABI_VERSION) {
        close_all(fds, nfds);
        say(text, text_bytes,
            "the daemon speaks another version of the attach protocol: install this program's "
            "library and nofd from one build");
        return NOF_EVERSION;
    }
    if (reply->status != NOF_OK || nfds != fds_of(reply)) {
        close_all(fds, nfds);
        reply->text[sizeof(reply->text) - 1] = '\0';
        say(text, text_bytes, "%s", reply->text[0] != '\0' ? reply->text : nof_strstatus(reply->status));
        return reply->status < 0 ? reply->status : NOF_EVERSION;
    }
    return NOF_OK;
}

static struct nof_pmd *pmd_new(int socket)
{
    void *memory = NULL;
    struct nof_pmd *pmd;

    if (posix_memalign(&memory, NOF_PMD_CACHE_LINE, sizeof(*pmd)) != 0)
        return NULL;
    pmd = memory;
    memset(pmd, 0, sizeof(*pmd));
    pmd->state = NOF_PMD_ALIVE;
    (void)nof_descriptor_take(&pmd->socket, socket);
    pthread_mutex_init(&pmd->death_lock, NULL);
    return pmd;
}

static void pmd_delete(struct nof_pmd *pmd)
{
    nof_bounce_close(&pmd->bounce);
    pthread_mutex_destroy(&pmd->death_lock);
    free(pmd);
}

int nof_pmd_attach(const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out, char *text,
                   size_t text_bytes)
{
    int fds[NOF_BAR_FDS_MAX];
    struct nof_attach_reply reply;
    struct nof_pmd *pmd;
    int timeout_ms = args->timeout_ms > 0 ? args->timeout_ms : TIMEOUT_MS_DEFAULT;
    bool gone = false;
    int fd, rc;
    int error = connect_daemon(args->socket, timeout_ms < CONNECT_MS ? timeout_ms : CONNECT_MS, &fd);

    if (error != 0) {
        rc = refused(args->socket, error, text, text_bytes);
        errno = rc == NOF_ENICDEAD && error != EAGAIN ? ECONNRESET : ETIMEDOUT;
        return rc;
    }
    rc = trust_daemon(fd, args->socket, text, text_bytes);
    if (rc != NOF_OK)
        goto err_socket;
    send_request(fd, args);
    rc = await_reply(fd, args->socket, timeout_ms, &reply, fds, &gone, text, text_bytes);
    if (rc != NOF_OK)
        goto err_socket;
    rc = NOF_ENOMEM;
    say(text, text_bytes, "no memory for an endpoint of the NIC: raise the limit (ulimit -v)");
    pmd = pmd_new(fd);
    if (pmd == NULL)
        goto err_fds;
    rc = nof_pmd_map(pmd, &reply, fds, text, text_bytes);
    if (rc != NOF_OK)
        goto err_pmd;
    rc = nof_pmd_map_segment(pmd, &reply, fds, text, text_bytes);
    if (rc != NOF_OK)
        goto err_bar;
    (void)nof_descriptor_take(&pmd->doorbell, fds[NOF_BAR_FD_DOORBELL]);
    for (unsigned i = 0; i < fds_of(&reply); i++)
        if (i != NOF_BAR_FD_DOORBELL)
            close(fds[i]);
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&list_lock);
    pmd->next = list;
    list = pmd;
    pthread_mutex_unlock(&list_lock);
    *pmd_out = pmd;
    return NOF_OK;

err_bar:
    munmap(pmd->bar, pmd->identity.bar_bytes);
err_pmd:
    pmd_delete(pmd);
err_fds:
    close_all(fds, fds_of(&reply));
err_socket:
    close(fd);
    errno = gone ? ECONNRESET : ETIMEDOUT;
    return rc;
}

void nof_pmd_detach(struct nof_pmd *pmd)
{
    const struct nof_detach goodbye = {.magic = NOF_DETACH_MAGIC};

    if (pmd->state == NOF_PMD_FORKED) {
        pmd_delete(pmd);
        return;
    }
    pthread_mutex_lock(&list_lock);
    for (struct nof_pmd **p = &list; *p != NULL; p = &(*p)->next) {
        if (*p == pmd) {
            *p = pmd->next;
            break;
        }
    }
    pthread_mutex_unlock(&list_lock);
    munmap(pmd->bar, pmd->identity.bar_bytes);
    nof_pmd_unmap_segment(pmd);
    /* Without it our peers would be told that we died. A daemon that is gone does not read it. */
    if (nof_descriptor_is(&pmd->socket))
        (void)send(pmd->socket.fd, &goodbye, sizeof(goodbye), MSG_NOSIGNAL | MSG_DONTWAIT);
    close_descriptors(pmd);
    pmd_delete(pmd);
}
