/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "dma.h"
#include "dma_helper.h"
#include "log.h"
#include "serve.h"

#define REQUEST_WAIT_NS (30 * NOFD_S)
#define WAITING_LEAST 64u /* connections of one user that have not attached; or as many as can attach */
#define FIRST_RANK_NS (10 * NOFD_S) /* a private daemon without a parent that nobody wants ends */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum attach_state { REQUEST, PROBE, ATTACHED };

struct nofd_attach {
    struct nofd_watch watch; /* the socket */
    struct nofd_watch process; /* pidfd; fd -1: no such pid here */
    struct nofd_attach *next;
    struct nofd *daemon;
    enum attach_state state;
    struct ucred cred;
    uint64_t deadline_ns;
    struct nof_attach_request request;
    struct nofd_job *job; /* from PROBE on, until the endpoint has it */
    struct nofd_dma_probe *probe;
    struct nofd_endpoint *ep;
};

static void attach_free(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;
    struct nofd_attach **at = &d->attaches;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    nofd_loop_remove(&d->loop, &a->watch);
    close(a->watch.fd);
    if (a->process.fd >= 0) {
        nofd_loop_remove(&d->loop, &a->process);
        close(a->process.fd);
    }
    if (a->probe != NULL)
        nofd_dma_probe_put(a->probe);
    if (a->job != NULL)
        nofd_job_leave(&d->jobs, a->job);
    d->nattaches--;
    free(a);
}

/* The last rank of a private daemon has gone, and nobody asks it for its counters. */
void nofd_attach_maybe_done(struct nofd *d)
{
    if (d->options.private_job && d->was_attached && d->nattached == 0 && d->nclients == 0)
        nofd_stop(d, 0);
}

/* reason: NOF_OK (in order), NOF_EPEERDEAD (died), other (failed). */
static void attach_end(struct nofd_attach *a, int reason)
{
    struct nofd *d = a->daemon;
    struct nofd_endpoint *ep = a->ep;

    if (a->state == ATTACHED) {
        d->nattached--;
        ep->attach = NULL;
        nofd_serve_close(d, ep, reason);
    }
    attach_free(a);
    nofd_attach_maybe_done(d);
}

static void reply_and_end(struct nofd_attach *a, int status, const char *text)
{
    struct nof_attach_reply reply = {
        .magic = NOF_ATTACH_MAGIC, .abi_version = NOF_ABI_VERSION, .status = status};

    snprintf(reply.text, sizeof(reply.text), "%s", text);
    (void)send(a->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
    nofd_info("attach of pid %d refused: %s", (int)a->cred.pid, text);
    attach_end(a, status);
}

static int reply_with_bar(struct nofd_attach *a, const struct nofd_bar *bar)
{
    struct nof_attach_reply reply = {
        .magic = NOF_ATTACH_MAGIC, .abi_version = NOF_ABI_VERSION, .status = NOF_OK};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(bar->fd))];
    } control = {0};
    struct iovec iov = {.iov_base = &reply, .iov_len = sizeof(reply)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    reply.bar_bytes = bar->identity->bar_bytes;
    reply.nsegments = bar->identity->nsegments;
    memcpy(reply.segment, bar->identity->segment, sizeof(reply.segment));
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(bar->fd));
    memcpy(CMSG_DATA(head), bar->fd, sizeof(bar->fd));
    return sendmsg(a->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(reply) ? 0 : -1;
}

/* direct: nofd can read and write the rank's memory. */
static void attach_finish(struct nofd_attach *a, bool direct)
{
    struct nofd *d = a->daemon;
    char text[NOF_ATTACH_TEXT_BYTES] = "";
    struct nofd_serve serve = {.request = &a->request,
                               .job = a->job,
                               .pid = a->cred.pid,
                               .uid = a->cred.uid,
                               .gid = a->cred.gid,
                               .direct = direct};
    int rc = nofd_serve_open(d, &serve, &a->ep, text, sizeof(text));

    if (rc != NOF_OK) {
        reply_and_end(a, rc, text);
        return;
    }
    explicit_bzero(a->request.job_key, sizeof(a->request.job_key));
    a->job = NULL; /* the endpoint's */
    a->ep->attach = a;
    a->state = ATTACHED;
    d->nattached++;
    d->was_attached = true;
    nofd_info("rank %u of job %" PRIu64 " (pid %d, uid %u) attached to %s, DMA %s", a->request.rank,
              a->request.job_id, (int)a->cred.pid, (unsigned)a->cred.uid, a->ep->nic->name, a->ep->dma->name);
    if (reply_with_bar(a, &a->ep->bar) != 0)
        attach_end(a, NOF_EPEERDEAD);
}

static int check_request(struct nofd *d, const struct nof_attach_request *r, ssize_t n, char *text,
                         size_t text_bytes)
{
    if (n != (ssize_t)sizeof(*r) || r->magic != NOF_ATTACH_MAGIC) {
        snprintf(text, text_bytes,
                 "that was no attach request of %zu bytes: is this socket meant for something else?",
                 sizeof(*r));
        return n >= 12 && r->magic == NOF_ATTACH_MAGIC && r->abi_version != NOF_ABI_VERSION ? NOF_EVERSION
                                                                                            : NOF_EINVAL;
    }
    if (r->abi_version != NOF_ABI_VERSION) {
        snprintf(text, text_bytes,
                 "the library speaks host ABI %u, this daemon %u: install both from one build",
                 r->abi_version, NOF_ABI_VERSION);
        return NOF_EVERSION;
    }
    if (r->size == 0 || r->rank >= r->size || r->flags != 0 || r->reserved != 0 || r->job_id == 0) {
        snprintf(text, text_bytes, "rank %u of %u, job %" PRIu64 ", flags %u: out of range", r->rank, r->size,
                 r->job_id, r->flags);
        return NOF_EINVAL;
    }
    if (r->nic != UINT32_MAX && r->nic >= d->nnics) {
        snprintf(
            text, text_bytes,
            "NIC %u was asked for and this daemon has %u: run with `nof run --hosts %u`, or start the daemon "
            "with `nof up --fabric HOSTS`",
            r->nic, d->nnics, d->nnics);
        return NOF_EINVAL;
    }
    return NOF_OK;
}

/* Decides how this rank's memory is reached; may answer later. */
static void attach_probe(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;
    const struct nof_attach_request *r = &a->request;

    if (d->options.dma == NOFD_DMA_ASSISTED || a->cred.pid <= 0) {
        attach_finish(a, false);
        return;
    }
    a->probe = nofd_dma_probe_start(a->cred.uid, a->cred.gid, a->cred.pid, r->probe_addr, r->probe_value,
                                    d->cores_watch.fd);
    if (a->probe == NULL) {
        attach_finish(a, false);
        return;
    }
    a->state = PROBE;
    a->deadline_ns = nofd_clock_ns() + d->options.dma_timeout_ns;
}

static void on_request(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;
    struct nof_attach_request request = {0};
    char text[NOF_ATTACH_TEXT_BYTES];
    int rc;
    /* Without a control buffer the kernel drops descriptors that are sent along. */
    ssize_t n = recv(a->watch.fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        attach_end(a, NOF_OK);
        return;
    }
    rc = check_request(d, &request, n, text, sizeof(text));
    if (rc == NOF_OK && d->options.private_job && a->cred.uid != geteuid()) {
        rc = NOF_EPERM;
        snprintf(text, sizeof(text), "this daemon is private to another user");
    }
    if (rc == NOF_OK)
        rc = nofd_job_enter(&d->jobs, &request, a->cred.uid, &a->job, text, sizeof(text));
    a->request = request;
    if (rc != NOF_OK)
        reply_and_end(a, rc, text);
    else
        attach_probe(a);
}

/* After the reply only the goodbye is legal. Returns false if there was nothing to read. */
static bool goodbye(struct nofd_attach *a)
{
    struct nof_detach detach = {0};
    ssize_t n = recv(a->watch.fd, &detach, sizeof(detach), MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n == (ssize_t)sizeof(detach) && detach.magic == NOF_DETACH_MAGIC && a->state == ATTACHED) {
        attach_end(a, NOF_OK);
        return true;
    }
    if (n > 0)
        nofd_warning("pid %d wrote %zd bytes to its life line; closed", (int)a->cred.pid, n);
    attach_end(a, n > 0 ? NOF_EPROTO : NOF_EPEERDEAD);
    return true;
}

static void on_socket(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_attach *a = (struct nofd_attach *)watch; /* first member */

    (void)events;
    if (a->state == REQUEST)
        on_request(a);
    else
        (void)goodbye(a);
}

static void on_process(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_attach *a =
        (struct nofd_attach *)(void *)((char *)watch - offsetof(struct nofd_attach, process));

    (void)events;
    /* It may have said goodbye just before. */
    if (a->state == REQUEST)
        attach_end(a, NOF_OK);
    else if (!goodbye(a))
        attach_end(a, NOF_EPEERDEAD);
}

/* The process behind the socket, without a race on its pid where the kernel can. */
static int open_pidfd(int fd, pid_t pid)
{
    int pidfd = -1;
    socklen_t len = sizeof(pidfd);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
        return pidfd;
    return pid > 0 ? pidfd_open(pid, 0) : -1;
}

static unsigned waiting_of(const struct nofd *d, uid_t uid)
{
    unsigned n = 0;

    for (const struct nofd_attach *a = d->attaches; a != NULL; a = a->next)
        n += a->state != ATTACHED && a->cred.uid == uid;
    return n;
}

/* All ranks of the largest job may come at once, and on a busy machine before the first is served. */
static unsigned waiting_max(const struct nofd *d)
{
    unsigned all = d->options.max_endpoints * d->nnics;

    return all > WAITING_LEAST ? all : WAITING_LEAST;
}

static void admit(struct nofd *d, int fd)
{
    struct nofd_attach *a = calloc(1, sizeof(*a));
    socklen_t len = sizeof(a->cred);

    if (a == NULL || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &a->cred, &len) != 0 ||
        waiting_of(d, a->cred.uid) >= waiting_max(d)) {
        free(a);
        close(fd);
        return;
    }
    a->daemon = d;
    a->state = REQUEST;
    a->deadline_ns = nofd_clock_ns() + REQUEST_WAIT_NS;
    a->watch.fd = fd;
    a->watch.fn = on_socket;
    a->process.fd = open_pidfd(fd, a->cred.pid);
    a->process.fn = on_process;
    if (nofd_loop_add(&d->loop, &a->watch, EPOLLIN) != 0) {
        if (a->process.fd >= 0)
            close(a->process.fd);
        free(a);
        close(fd);
        return;
    }
    if (a->process.fd >= 0 && nofd_loop_add(&d->loop, &a->process, EPOLLIN) != 0) {
        close(a->process.fd);
        a->process.fd = -1;
    }
    a->next = d->attaches;
    d->attaches = a;
    d->nattaches++;
    nofd_need_ticks(d);
}

static void on_door(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_accept *door = (struct nofd_accept *)watch; /* first member */
    int fd;

    (void)events;
    fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        admit(door->daemon, fd);
}

int nofd_attach_open(struct nofd *d, char *err, size_t err_bytes)
{
    /* Root's daemon is for everybody: the job key and the peer's user decide. */
    mode_t mode = geteuid() == 0 && !d->options.private_job ? 0666 : 0600;
    int rc = nofd_listen(&d->attach_door.listener, d->options.socket, SOCK_SEQPACKET, mode, err, err_bytes);

    if (rc != 0)
        return rc;
    d->attach_door.daemon = d;
    d->attach_door.watch.fd = d->attach_door.listener.fd;
    d->attach_door.watch.fn = on_door;
    return nofd_loop_add(&d->loop, &d->attach_door.watch, EPOLLIN);
}

void nofd_attach_close(struct nofd *d)
{
    while (d->attaches != NULL) {
        /* The close of the socket is what the rank sees. */
        d->options.private_job = false;
        attach_end(d->attaches, NOF_ENICDEAD);
    }
    nofd_unlisten(&d->attach_door.listener);
}

void nofd_attach_look(struct nofd *d)
{
    struct nofd_attach *next;
    struct nofd_endpoint *ep;
    struct nofd_endpoint *next_ep;

    for (struct nofd_attach *a = d->attaches; a != NULL; a = next) {
        next = a->next;
        if (a->state == PROBE && __atomic_load_n(&a->probe->done, __ATOMIC_ACQUIRE))
            attach_finish(a, a->probe->status == NOF_OK);
    }
    for (ep = d->endpoints; ep != NULL; ep = next_ep) {
        next_ep = ep->next;
        if (nofd_endpoint_state(ep) == NOFD_EP_FAILED && ep->attach != NULL)
            attach_end(ep->attach, ep->failure);
        else if (nofd_endpoint_state(ep) == NOFD_EP_GONE)
            nofd_serve_free(d, ep);
    }
    for (unsigned i = 0; i < d->ncores; i++)
        for (unsigned j = 0; j < d->cores[i].npools; j++)
            nofd_dma_pool_look(d, d->cores[i].pools[j]);
}

bool nofd_attach_tick(struct nofd *d)
{
    uint64_t now_ns = nofd_clock_ns();
    struct nofd_attach *next;
    bool more = false;

    for (struct nofd_attach *a = d->attaches; a != NULL; a = next) {
        next = a->next;
        if (a->state == ATTACHED)
            continue;
        if (now_ns < a->deadline_ns)
            more = true;
        else if (a->state == REQUEST)
            reply_and_end(a, NOF_EINVAL, "no attach request came");
        else
            attach_finish(a, false); /* its memory blocks: it may copy itself */
    }
    /* With a parent to watch it waits for as long as that lives: programs may be slow to begin. */
    if (d->options.private_job && !d->was_attached && d->parent.fd < 0) {
        if (now_ns - d->started_ns < FIRST_RANK_NS)
            return true;
        nofd_warning("no rank attached within 10 s; the private daemon ends");
        nofd_stop(d, 1);
    }
    return more;
}
