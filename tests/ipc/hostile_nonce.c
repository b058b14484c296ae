/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the kernel does not tell the daemon which process connected (no SO_PEERPIDFD), the daemon asks, and only who
 * answers well is copied for. The kernel is made to look older by a filter that every process here inherits. */
#include "hostile_copy.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEERPIDFD 77

/* getsockopt(., SOL_SOCKET, SO_PEERPIDFD) answers as Linux 6.4 does. */
static bool be_older(void)
{
    static struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PEERPIDFD, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Asks to be attached; what the daemon then asks. */
static struct nof_attach_challenge begin(struct hostile *h, int fd)
{
    struct nof_attach_request request;
    struct nof_attach_challenge ask = {0};
    struct timeval timeout = {.tv_sec = CHECK_PATIENCE_S};

    hostile_request(h, &request);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    check(send(fd, &request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request));
    check(recv(fd, &ask, sizeof(ask), MSG_TRUNC) == (ssize_t)sizeof(ask));
    check(ask.magic == NOF_CHALLENGE_MAGIC && ask.abi_version == NOF_ABI_VERSION);
    return ask;
}

static void answer(int fd, const struct nof_attach_challenge *ask, uint8_t change)
{
    struct nof_attach_answer answer = {.magic = NOF_ANSWER_MAGIC};

    memcpy(answer.nonce, ask->nonce, sizeof(answer.nonce));
    answer.nonce[NOF_NONCE_BYTES - 1] ^= change;
    (void)send(fd, &answer, sizeof(answer), MSG_NOSIGNAL);
}

static void who_answers_is_copied_for(struct hostile *h)
{
    static char rows[1 << 16];
    struct intruder in;
    uint8_t *good = hostile_buffer();

    hostile_intrude(h, &in);
    check_equal(in.id.dma, NOF_DMA_DIRECT);
    hostile_know_myself(&in);
    hostile_transfer(&in, good, good);
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    hostile_leave(&in);
    /* The pair attached by the library. */
    check(hostile_control(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"endpoints\"}", rows, sizeof(rows)));
    check(strstr(rows, "\"helper\"") != NULL && strstr(rows, "\"assist\"") == NULL);
}

static void every_question_is_another(struct hostile *h)
{
    int fd[2] = {hostile_connect(h), hostile_connect(h)};
    struct nof_attach_challenge ask[2] = {begin(h, fd[0]), begin(h, fd[1])};
    struct intruder in;

    check(memcmp(ask[0].nonce, ask[1].nonce, sizeof(ask[0].nonce)) != 0);
    answer(fd[0], &ask[1], 0);
    check_equal(hostile_take_reply(&in, fd[0]), NOF_EPROTO);
    close(fd[0]);
    close(fd[1]);
}

static void a_wrong_nonce_is_refused(struct hostile *h)
{
    int fd = hostile_connect(h);
    struct nof_attach_challenge ask = begin(h, fd);
    struct intruder in;

    answer(fd, &ask, 1);
    check_equal(hostile_take_reply(&in, fd), NOF_EPROTO);
    close(fd);
}

/* A process that shares the connection, and lives, is not the one that connected. */
static void anothers_answer_proves_nothing(struct hostile *h)
{
    int fd = hostile_connect(h);
    struct nof_attach_challenge ask = begin(h, fd);
    struct intruder in;
    pid_t other = fork();

    check(other >= 0);
    if (other == 0) {
        answer(fd, &ask, 0);
        _exit(0);
    }
    check_equal(hostile_take_reply(&in, fd), NOF_OK);
    check_equal(in.id.dma, NOF_DMA_ASSIST);
    check(waitpid(other, NULL, 0) == other);
    hostile_leave(&in);
}

/* Its connection and the question are left to another, who answers. */
static void a_rank_that_died_meanwhile_is_not_copied_for(struct hostile *h)
{
    struct nof_attach_challenge ask;
    struct intruder in;
    int pipe_fd[2], pair[2], fd, rc;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    pid_t rank;

    check(pipe(pipe_fd) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
    rank = fork();
    check(rank >= 0);
    if (rank == 0) {
        fd = hostile_connect(h);
        ask = begin(h, fd);
        check(write(pipe_fd[1], &ask, sizeof(ask)) == (ssize_t)sizeof(ask));
        control.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
        check(sendmsg(pair[1], &message, 0) == 1);
        _exit(0);
    }
    check(read(pipe_fd[0], &ask, sizeof(ask)) == (ssize_t)sizeof(ask));
    check(recvmsg(pair[0], &message, 0) == 1 && control.head.cmsg_type == SCM_RIGHTS);
    memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    check(waitpid(rank, NULL, 0) == rank);
    answer(fd, &ask, 0);
    rc = hostile_take_reply(&in, fd);
    check(rc == 1 || rc == NOF_EPEERDEAD || (rc == NOF_OK && in.id.dma == NOF_DMA_ASSIST));
    close(fd);
    for (int i = 0; i < 2; i++) {
        close(pipe_fd[i]);
        close(pair[i]);
    }
}

static void who_never_answers_copies_himself_and_nobody_waits(struct hostile *h)
{
    int fd = hostile_connect(h);
    struct nof_attach_challenge ask = begin(h, fd);
    struct pollfd reply = {.fd = fd, .events = POLLIN};
    struct intruder other, in;

    (void)ask;
    hostile_intrude(h, &other);
    check_equal(other.id.dma, NOF_DMA_DIRECT);
    hostile_leave(&other);
    hostile_pair_goes_on(h, 10);
    check(poll(&reply, 1, CHECK_PATIENCE_MS) == 1);
    check_equal(hostile_take_reply(&in, fd), NOF_OK);
    check_equal(in.id.dma, NOF_DMA_ASSIST);
    hostile_leave(&in);
}

static uint64_t endpoints_dead(const struct hostile *h)
{
    return hostile_counter(h, 0, "core.endpoints_dead") + hostile_counter(h, 1, "core.endpoints_dead");
}

/* The daemon has gone on without it: the endpoint stays, and can leave in order. */
static void an_answer_that_comes_too_late_ends_nothing(struct hostile *h)
{
    int fd = hostile_connect(h);
    struct nof_attach_challenge ask = begin(h, fd);
    struct pollfd reply = {.fd = fd, .events = POLLIN};
    struct nof_detach goodbye = {.magic = NOF_DETACH_MAGIC};
    uint64_t dead = endpoints_dead(h);
    struct intruder in;

    check(poll(&reply, 1, CHECK_PATIENCE_MS) == 1);
    check_equal(hostile_take_reply(&in, fd), NOF_OK);
    answer(fd, &ask, 0);
    (void)send(fd, &goodbye, sizeof(goodbye), MSG_NOSIGNAL);
    check(hostile_thrown_out(&in, CHECK_PATIENCE_MS));
    check_equal(endpoints_dead(h), dead);
    hostile_leave(&in);
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--dma-timeout", "2s", NULL};
    struct hostile h;

    if (!be_older()) {
        printf("no seccomp here, so the kernel cannot be made to look older\n");
        return HOSTILE_SKIP;
    }
    hostile_start(&h, argc, argv, args);
    who_answers_is_copied_for(&h);
    every_question_is_another(&h);
    a_wrong_nonce_is_refused(&h);
    anothers_answer_proves_nothing(&h);
    a_rank_that_died_meanwhile_is_not_copied_for(&h);
    who_never_answers_copies_himself_and_nobody_waits(&h);
    an_answer_that_comes_too_late_ends_nothing(&h);
    hostile_end(&h);
    return 0;
}
