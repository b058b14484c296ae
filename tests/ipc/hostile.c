/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint8_t probe_bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};

uint64_t hostile_random(struct hostile *h)
{
    uint64_t z = h->random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static socklen_t address(const char *text, struct sockaddr_un *sun)
{
    memset(sun, 0, sizeof(*sun));
    sun->sun_family = AF_UNIX;
    memcpy(sun->sun_path, text, strlen(text));
    sun->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(text));
}

static int connect_to(const char *text, int type)
{
    struct sockaddr_un sun;
    socklen_t len = address(text, &sun);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    check(fd >= 0);
    check(connect(fd, (struct sockaddr *)&sun, len) == 0);
    return fd;
}

int hostile_connect(const struct hostile *h)
{
    return connect_to(h->socket, SOCK_SEQPACKET);
}

static void start_nofd(struct hostile *h, const char *path, const char *const *args)
{
    char fd_text[16];
    char *argv[32] = {NULL};
    const char *list[32] = {path,         "--fabric", "2",     "--socket", h->socket,
                            "--ready-fd", fd_text,    "--log", "error"};
    unsigned n = 9;
    int ready[2];
    char byte;

    check(pipe(ready) == 0);
    snprintf(fd_text, sizeof(fd_text), "%d", ready[1]);
    while (args != NULL && *args != NULL && n < 31)
        list[n++] = *args++;
    memcpy(argv, list, sizeof(argv));
    h->nofd = fork();
    check(h->nofd >= 0);
    if (h->nofd == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        close(ready[0]);
        execv(path, argv);
        _exit(127);
    }
    close(ready[1]);
    check(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
}

void hostile_start(struct hostile *h, int argc, char **argv, const char *const *args)
{
    unsigned salt;

    check(argc >= 2);
    memset(h, 0, sizeof(*h));
    h->random =
        argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) << 16 ^ (uint64_t)(unsigned)getpid();
    printf("seed %llu\n", (unsigned long long)h->random);
    fflush(stdout);
    /* One network namespace has its sockets' names, but may have this process number more than once. */
    check(getrandom(&salt, sizeof(salt), 0) == (ssize_t)sizeof(salt));
    snprintf(h->socket, sizeof(h->socket), "@nof-hostile-%d-%08x", (int)getpid(), salt);
    snprintf(h->control, sizeof(h->control), "%s.ctl", h->socket);
    start_nofd(h, argv[1], args);
    h->board = mmap(NULL, sizeof(*h->board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(h->board != MAP_FAILED);
    check(getrandom(h->board->job_key, sizeof(h->board->job_key), 0) == (ssize_t)sizeof(h->board->job_key));
    h->board->job_id = hostile_random(h) | 1;
    for (int i = 0; i < 2; i++) {
        h->pair[i] = fork();
        check(h->pair[i] >= 0);
        if (h->pair[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            hostile_pair_main(h->board, h->socket, (uint32_t)i);
        }
    }
    hostile_pair_goes_on(h, 10);
}

static uint64_t messages(const struct hostile *h)
{
    return __atomic_load_n(&h->board->messages, __ATOMIC_ACQUIRE);
}

void hostile_pair_goes_on(struct hostile *h, unsigned more)
{
    uint64_t until = messages(h) + more;

    for (int ms = 0; messages(h) < until; ms++) {
        struct timespec nap = {.tv_nsec = 1000000};
        int status;

        check(ms < CHECK_PATIENCE_MS);
        for (int i = 0; i < 2; i++)
            check(waitpid(h->pair[i], &status, WNOHANG) <= 0); /* -1: we are a child ourselves */
        nanosleep(&nap, NULL);
    }
}

bool hostile_nofd_lives(const struct hostile *h)
{
    return waitpid(h->nofd, NULL, WNOHANG) == 0;
}

void hostile_end(struct hostile *h)
{
    int status;

    hostile_pair_goes_on(h, 10);
    __atomic_store_n(&h->board->stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 2; i++) {
        check(waitpid(h->pair[i], &status, 0) == h->pair[i]);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    printf("pair: %llu messages, longest wait %llu us\n", (unsigned long long)h->board->messages,
           (unsigned long long)h->board->stall_us);
    check(hostile_nofd_lives(h));
    check(kill(h->nofd, SIGTERM) == 0);
    check(waitpid(h->nofd, &status, 0) == h->nofd);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

bool hostile_control(const struct hostile *h, const char *line, char *answer, size_t answer_bytes)
{
    int fd = connect_to(h->control, SOCK_STREAM);
    struct timeval timeout = {.tv_sec = CHECK_PATIENCE_S};
    size_t used = 0;
    ssize_t n = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    (void)send(fd, line, strlen(line), MSG_NOSIGNAL);
    (void)send(fd, "\n", 1, MSG_NOSIGNAL);
    while (n > 0 && used + 1 < answer_bytes && (used == 0 || answer[used - 1] != '\n')) {
        n = recv(fd, answer + used, answer_bytes - 1 - used, 0);
        if (n > 0)
            used += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    answer[used] = '\0';
    close(fd);
    return used > 0 && answer[used - 1] == '\n';
}

uint64_t hostile_counter(const struct hostile *h, unsigned nic, const char *name)
{
    static char answer[1 << 20];
    char text[128];
    const char *at;

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stats\",\"params\":{\"nic\":%u}}", nic);
    check(hostile_control(h, text, answer, sizeof(answer)));
    snprintf(text, sizeof(text), "\"%s\":", name);
    at = strstr(answer, text);
    check(at != NULL);
    return strtoull(at + strlen(text), NULL, 10);
}

void hostile_request(struct hostile *h, struct nof_attach_request *request)
{
    memset(request, 0, sizeof(*request));
    request->magic = NOF_ATTACH_MAGIC;
    request->abi_version = NOF_ABI_VERSION;
    request->size = 1;
    request->nic = 0;
    request->job_id = hostile_random(h) | 1;
    for (unsigned i = 0; i < NOF_JOB_KEY_BYTES; i++)
        request->job_key[i] = (uint8_t)hostile_random(h);
    request->probe_addr = (uint64_t)(uintptr_t)probe_bytes;
    memcpy(&request->probe_value, probe_bytes, sizeof(probe_bytes));
}

static void map_segments(struct intruder *in)
{
    in->bar = mmap(NULL, in->reply.bar_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(in->bar != MAP_FAILED);
    in->bar_bytes = in->reply.bar_bytes;
    for (uint32_t i = 0; i < in->reply.nsegments; i++) {
        const struct nof_bar_segment *s = &in->reply.segment[i];
        int prot = s->fd == NOF_BAR_FD_RO ? PROT_READ : PROT_READ | PROT_WRITE;

        check(mmap(in->bar + s->bar_offset, s->len, prot, MAP_SHARED | MAP_FIXED, in->fd[s->fd],
                   (off_t)s->file_offset) != MAP_FAILED);
    }
    memcpy(&in->id, in->bar, sizeof(in->id));
    in->submit = (struct rte_ring *)(void *)(in->bar + in->id.submit_offset);
    in->complete = (struct rte_ring *)(void *)(in->bar + in->id.complete_offset);
}

static bool answered_challenge(int fd, const struct nof_attach_reply *message, ssize_t n)
{
    struct nof_attach_challenge ask;
    struct nof_attach_answer answer = {.magic = NOF_ANSWER_MAGIC};

    if (n != (ssize_t)sizeof(ask) || message->magic != NOF_CHALLENGE_MAGIC)
        return false;
    memcpy(&ask, message, sizeof(ask));
    memcpy(answer.nonce, ask.nonce, sizeof(answer.nonce));
    (void)send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
    return true;
}

int hostile_take_reply(struct intruder *in, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(NOF_BAR_FDS_MAX * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = &in->reply, .iov_len = sizeof(in->reply)};
    struct msghdr message;
    struct cmsghdr *head;
    struct timeval timeout = {.tv_sec = CHECK_PATIENCE_S};
    ssize_t got;
    size_t nfds;

    memset(in, 0, sizeof(*in));
    in->socket = fd;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    do { /* with a timeout, also a stop and a continuation interrupt */
        message = (struct msghdr){.msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control.bytes)};
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while ((got < 0 && errno == EINTR) || answered_challenge(fd, &in->reply, got));
    if (got <= 0)
        return 1;
    check(got == (ssize_t)sizeof(in->reply) && in->reply.magic == NOF_ATTACH_MAGIC);
    if (in->reply.status != NOF_OK) {
        check(in->reply.text[0] != '\0');
        return in->reply.status;
    }
    head = CMSG_FIRSTHDR(&message);
    nfds = in->reply.shared.nslots != 0 ? NOF_BAR_FDS_MAX : NOF_BAR_FDS;
    check(head != NULL && head->cmsg_len == CMSG_LEN(nfds * sizeof(int)));
    memset(in->fd, -1, sizeof(in->fd));
    memcpy(in->fd, CMSG_DATA(head), nfds * sizeof(int));
    map_segments(in);
    return NOF_OK;
}

int hostile_attach(struct intruder *in, int fd, const void *request, size_t n)
{
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* as the library tells Yama */
    (void)send(fd, request, n, MSG_NOSIGNAL);
    return hostile_take_reply(in, fd);
}

void hostile_intrude(struct hostile *h, struct intruder *in)
{
    struct nof_attach_request request;
    int rc;

    hostile_request(h, &request);
    rc = hostile_attach(in, hostile_connect(h), &request, sizeof(request));
    if (rc != NOF_OK)
        fprintf(stderr, "attach: %d %s\n", rc, rc == 1 ? "(hung up)" : in->reply.text);
    check(rc == NOF_OK);
}

void hostile_leave(struct intruder *in)
{
    if (in->bar != NULL)
        munmap(in->bar, in->bar_bytes);
    for (unsigned i = 0; i < NOF_BAR_FDS_MAX; i++)
        if (in->fd[i] >= 0)
            close(in->fd[i]);
    close(in->socket);
    memset(in, 0, sizeof(*in));
}

void hostile_submit(struct intruder *in, const struct nof_desc *desc)
{
    uint64_t one = 1;

    (void)nof_ring_put(in->submit, desc, 1);
    (void)!write(in->fd[NOF_BAR_FD_DOORBELL], &one, sizeof(one));
}

bool hostile_thrown_out(struct intruder *in, int ms)
{
    struct pollfd poll_fd = {.fd = in->socket, .events = POLLIN};
    char byte;

    return poll(&poll_fd, 1, ms) == 1 && recv(in->socket, &byte, 1, MSG_DONTWAIT) <= 0;
}
