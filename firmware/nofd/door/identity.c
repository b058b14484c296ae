/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/identity.h"

#include <errno.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>

#include "nof/status.h"

#include "nofd/dma/dma_copy.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

void nofd_identity_open(struct nofd_identity *id, int socket, const struct ucred *cred)
{
    socklen_t len = sizeof(id->pidfd);

    *id = (struct nofd_identity){.pidfd = -1};
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &id->pidfd, &len) == 0) {
        id->proven = true;
        return;
    }
    id->pidfd = errno == ENOPROTOOPT && cred->pid > 0 ? pidfd_open(cred->pid, 0) : -1;
}

int nofd_identity_ask(struct nofd_identity *id, int socket)
{
    struct nof_attach_challenge ask = {.magic = NOF_CHALLENGE_MAGIC, .abi_version = NOF_ABI_VERSION};
    int on = 1;

    if (getrandom(id->nonce, sizeof(id->nonce), 0) != (ssize_t)sizeof(id->nonce))
        return -EAGAIN;
    memcpy(ask.nonce, id->nonce, sizeof(ask.nonce));
    /* Before the question: the kernel notes the sender when he sends. */
    if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
        send(socket, &ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(ask))
        return -errno;
    return 0;
}

static bool sender(const struct msghdr *message, struct ucred *cred_out)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);

    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_CREDENTIALS ||
        head->cmsg_len != CMSG_LEN(sizeof(*cred_out)))
        return false;
    memcpy(cred_out, CMSG_DATA(head), sizeof(*cred_out));
    return true;
}

int nofd_identity_answer(struct nofd_identity *id, int socket, const struct ucred *cred)
{
    struct nof_attach_answer answer = {0};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(struct ucred))]; /* no room for descriptors: the kernel drops them */
    } control = {0};
    struct iovec iov = {.iov_base = &answer, .iov_len = sizeof(answer)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct ucred from;
    ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return NOF_EAGAIN;
    if (n <= 0)
        return NOF_EPEERDEAD;
    if (n != (ssize_t)sizeof(answer) || answer.magic != NOF_ANSWER_MAGIC ||
        memcmp(answer.nonce, id->nonce, sizeof(answer.nonce)) != 0)
        return NOF_EPROTO;
    if (!sender(&message, &from) || from.pid != cred->pid || from.uid != cred->uid)
        return NOF_EPERM;
    if (!nofd_pidfd_alive(id->pidfd))
        return NOF_EPEERDEAD;
    id->proven = true;
    return NOF_OK;
}
