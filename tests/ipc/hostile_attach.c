/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attaching with garbage, with somebody else's job, as somebody else, and far too often. */
#include "hostile.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 200
#define NOBODY 65534

static int attach(struct hostile *h, const void *bytes, size_t n)
{
    struct intruder in;
    int rc = hostile_attach(&in, hostile_connect(h), bytes, n);

    if (rc == NOF_OK)
        hostile_leave(&in);
    else
        close(in.socket);
    return rc;
}

static void a_request_out_of_range_is_refused_with_a_reason(struct hostile *h)
{
    struct nof_attach_request request;

    hostile_request(h, &request);
    request.abi_version = NOF_ABI_VERSION + 1;
    check_equal(attach(h, &request, sizeof(request)), NOF_EVERSION);
    hostile_request(h, &request);
    request.rank = request.size;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
    hostile_request(h, &request);
    request.size = 0;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
    hostile_request(h, &request);
    request.nic = 2;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
    hostile_request(h, &request);
    request.flags = NOF_ATTACH_F_SEGMENT_AS_SET << 1;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
    hostile_request(h, &request);
    request.magic++;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
}

static void garbage_of_any_length_is_refused(struct hostile *h)
{
    uint8_t bytes[4 * sizeof(struct nof_attach_request)];

    for (unsigned i = 0; i < 64; i++) {
        size_t n = 1 + hostile_random(h) % sizeof(bytes);

        for (size_t j = 0; j < n; j++)
            bytes[j] = (uint8_t)hostile_random(h);
        if (i % 2 == 0 && n >= 12) { /* as far as the version, right */
            uint64_t magic = NOF_ATTACH_MAGIC;

            memcpy(bytes, &magic, sizeof(magic));
        }
        check(attach(h, bytes, n) < 0);
    }
}

static void nobody_joins_a_job_without_its_key(struct hostile *h)
{
    struct nof_attach_request request;

    hostile_request(h, &request);
    request.job_id = h->board->job_id;
    request.size = 2;
    check_equal(attach(h, &request, sizeof(request)), NOF_EPERM);
    memcpy(request.job_key, h->board->job_key, sizeof(request.job_key));
    request.size = 3;
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
}

/* The key alone is not enough: the first attach fixed the user. Needs root to become somebody. */
static void nobody_joins_another_users_job(struct hostile *h)
{
    struct nof_attach_request request;
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        printf("not root: the test of another user's job was left out\n");
        return;
    }
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct intruder in;

        check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        hostile_request(h, &request);
        request.job_id = h->board->job_id;
        request.size = 2;
        memcpy(request.job_key, h->board->job_key, sizeof(request.job_key));
        check_equal(attach(h, &request, sizeof(request)), NOF_EPERM);
        /* A job of its own is welcome, with DMA under that user's own rights. */
        hostile_intrude(h, &in);
        check(in.id.dma == NOF_DMA_DIRECT || in.id.dma == NOF_DMA_ASSIST);
        hostile_leave(&in);
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void descriptors_sent_along_are_not_kept(struct hostile *h)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct nof_attach_request request;
    struct iovec iov = {.iov_base = &request, .iov_len = sizeof(request)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int fd = hostile_connect(h);
    int pipes[2];
    char byte;

    check(pipe(pipes) == 0);
    hostile_request(h, &request);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &pipes[1], sizeof(int));
    check(sendmsg(fd, &message, 0) == (ssize_t)sizeof(request));
    close(pipes[1]);
    /* The pipe ends, so nofd holds no copy of its writing end. */
    check(read(pipes[0], &byte, 1) == 0);
    close(pipes[0]);
    close(fd);
}

static void what_comes_after_the_reply_ends_the_endpoint(struct hostile *h)
{
    struct intruder in;

    hostile_intrude(h, &in);
    check(send(in.socket, "hello", 5, 0) == 5);
    check(hostile_thrown_out(&in, CHECK_PATIENCE_MS));
    hostile_leave(&in);
}

static void a_flood_of_connections_keeps_nobody_out(struct hostile *h)
{
    struct nof_attach_request request;
    int fds[CONNECTIONS];
    int rc = 1;

    for (unsigned i = 0; i < CONNECTIONS; i++)
        fds[i] = hostile_connect(h);
    hostile_pair_goes_on(h, 10);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        close(fds[i]);
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        fds[0] = hostile_connect(h);
        hostile_request(h, &request);
        (void)send(fds[0], &request, sizeof(request), MSG_NOSIGNAL);
        close(fds[0]);
    }
    hostile_pair_goes_on(h, 10);
    /* Who comes before nofd has seen the end of the flood is turned away still. */
    for (int i = 0; rc == 1; i++) {
        check(i < CHECK_PATIENCE_MS);
        usleep(1000);
        hostile_request(h, &request);
        rc = attach(h, &request, sizeof(request));
    }
    check_equal(rc, NOF_OK);
}

static void more_endpoints_than_configured_are_refused(struct hostile *h)
{
    struct nof_attach_request request;
    static struct intruder in[16];
    unsigned n = 0;
    int rc = NOF_OK;

    while (rc == NOF_OK && n < 16) {
        hostile_request(h, &request);
        rc = hostile_attach(&in[n], hostile_connect(h), &request, sizeof(request));
        if (rc == NOF_OK)
            n++;
        else
            close(in[n].socket);
    }
    check(rc == NOF_ENOMEM);
    while (n > 0)
        hostile_leave(&in[--n]);
}

static void a_rank_has_one_endpoint(struct hostile *h)
{
    struct nof_attach_request request;
    struct intruder in;

    hostile_request(h, &request);
    check_equal(hostile_attach(&in, hostile_connect(h), &request, sizeof(request)), NOF_OK);
    check_equal(attach(h, &request, sizeof(request)), NOF_EINVAL);
    hostile_leave(&in);
}

/* As another user: attaches until it is refused, and holds all. Returns the refusal. */
static int take_all(struct hostile *h)
{
    static struct intruder in[16];
    struct nof_attach_request request;
    int rc = NOF_OK;

    for (unsigned i = 0; rc == NOF_OK && i < 16; i++) {
        hostile_request(h, &request);
        rc = hostile_attach(&in[i], hostile_connect(h), &request, sizeof(request));
    }
    return rc;
}

static void one_user_cannot_take_all_endpoints(struct hostile *h)
{
    struct nof_attach_request request;
    int full[2], done[2];
    int status;
    char byte = 0;
    pid_t pid;

    if (geteuid() != 0) {
        printf("not root: the test of another user's share was left out\n");
        return;
    }
    check(pipe(full) == 0 && pipe(done) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        h->random ^= (uint64_t)getpid() << 32; /* jobs of its own */
        close(done[1]);
        check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        check_equal(take_all(h), NOF_ENOMEM);
        check(write(full[1], &byte, 1) == 1);
        check(read(done[0], &byte, 1) == 0);
        _exit(0);
    }
    close(done[0]);
    check(read(full[0], &byte, 1) == 1);
    hostile_request(h, &request);
    check_equal(attach(h, &request, sizeof(request)), NOF_OK);
    close(done[1]);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(full[0]);
    close(full[1]);
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--max-endpoints", "8", NULL};
    struct hostile h;

    hostile_start(&h, argc, argv, args);
    a_request_out_of_range_is_refused_with_a_reason(&h);
    garbage_of_any_length_is_refused(&h);
    nobody_joins_a_job_without_its_key(&h);
    nobody_joins_another_users_job(&h);
    descriptors_sent_along_are_not_kept(&h);
    what_comes_after_the_reply_ends_the_endpoint(&h);
    a_flood_of_connections_keeps_nobody_out(&h);
    more_endpoints_than_configured_are_refused(&h);
    a_rank_has_one_endpoint(&h);
    one_user_cannot_take_all_endpoints(&h);
    hostile_end(&h);
    return 0;
}
