/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/door/identity.h"
#include "nofd/sys/log.h"
#include "nofd/control/serve.h"

#define WAITING_LEAST 64u /* connections of one user that have not attached; or as many as can attach */
#define FIRST_RANK_NS (10 * NOFD_S) /* a private daemon without a parent that nobody wants ends */

enum attach_state { REQUEST, CHALLENGE, PROBE, ATTACHED };

struct nofd_attach {
    struct nofd_watch watch; /* the socket */
    struct nofd_watch process; /* pidfd; fd -1: none, and it copies itself */
    struct nofd_attach *next;
    struct nofd *daemon;
    enum attach_state state;
    struct ucred cred;
    struct nofd_allowance *share; /* of its user */
    bool paused; /* its user has no time left: the request is read later */
    struct nofd_identity identity; /* its pidfd is `process`'s */
    bool answer_late; /* asked, and attached without: the answer may still come */
    uint64_t deadline_ns;
    struct nof_attach_request request;
    struct nofd_job *job; /* from PROBE on, until the endpoint has it */
    struct nofd_nic *nic; /* that was promised, until the endpoint has it */
    struct nofd_dma_rank *rank; /* whose probe is under way; until the endpoint has it */
    struct nofd_endpoint *ep;
};

/* Begins or ends to be one of its user's connections that have not attached. */
static void count_waiting(struct nofd_attach *a, bool waits)
{
    struct nofd_allowances *s = &a->daemon->shares;
    unsigned one = waits ? 1 : -1u;

    a->share->waiting += one;
    if (!nofd_allowance_is_owner(s, a->share))
        s->other_waiting += one;
}

/* Its process is not known for sure, or watched no more. */
static void drop_process(struct nofd_attach *a)
{
    if (a->process.fd < 0)
        return;
    nofd_loop_remove(&a->daemon->loop, &a->process);
    close(a->process.fd);
    a->process.fd = -1;
}

static void end_promise(struct nofd_attach *a)
{
    if (a->nic != NULL)
        a->nic->promised--;
    a->nic = NULL;
}

static void attach_free(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;
    struct nofd_attach **at = &d->attaches;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    nofd_loop_remove(&d->loop, &a->watch);
    close(a->watch.fd);
    if (a->rank != NULL)
        nofd_dma_rank_close(a->rank);
    drop_process(a);
    end_promise(a);
    if (a->job != NULL)
        nofd_job_leave(&d->jobs, a->job);
    if (a->state != ATTACHED)
        count_waiting(a, false);
    nofd_allowance_leave(a->share);
    free(a);
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
    nofd_maybe_done(d);
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

/* Descriptors of the BAR, and of the segment if this rank has a slot. Returns how many. */
static unsigned gather(const struct nofd_endpoint *ep, int fds[NOF_BAR_FDS_MAX])
{
    const struct nofd_segment *segment = ep->slot.segment;

    memcpy(fds, ep->bar.fd, sizeof(ep->bar.fd));
    if (segment == NULL)
        return NOF_BAR_FDS;
    fds[NOF_BAR_FD_SEGMENT] = segment->fd;
    fds[NOF_BAR_FD_ROSTER] = segment->roster_fd;
    return NOF_BAR_FDS_MAX;
}

static int reply_with_bar(struct nofd_attach *a, const struct nofd_endpoint *ep)
{
    const struct nof_bar_identity *id = ep->bar.identity;
    struct nof_attach_reply reply = {
        .magic = NOF_ATTACH_MAGIC, .abi_version = NOF_ABI_VERSION, .status = NOF_OK};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(NOF_BAR_FDS_MAX * sizeof(int))];
    } control = {0};
    int fds[NOF_BAR_FDS_MAX];
    size_t fd_bytes = gather(ep, fds) * sizeof(int);
    struct iovec iov = {.iov_base = &reply, .iov_len = sizeof(reply)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(fd_bytes)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    reply.bar_bytes = id->bar_bytes;
    reply.nsegments = id->nsegments;
    memcpy(reply.segment, id->segment, sizeof(reply.segment));
    reply.shared = nofd_segment_told(&ep->slot);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(fd_bytes);
    memcpy(CMSG_DATA(head), fds, fd_bytes);
    return sendmsg(a->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(reply) ? 0 : -1;
}

/* direct: nofd can read and write the rank's memory. */
static void attach_finish(struct nofd_attach *a, bool direct)
{
    struct nofd *d = a->daemon;
    char text[NOF_ATTACH_TEXT_BYTES] = "";
    struct nofd_serve serve = {.request = &a->request,
                               .job = a->job,
                               .nic = a->nic,
                               .rank = direct ? a->rank : NULL,
                               .pidfd = a->process.fd,
                               .pid = a->cred.pid,
                               .uid = a->cred.uid,
                               .direct = direct};
    int rc;

    end_promise(a);
    if (!a->identity.proven)
        drop_process(a); /* perhaps another's: the socket alone says when it ends */
    if (!direct && a->rank != NULL)
        nofd_dma_rank_close(a->rank);
    a->rank = NULL; /* the endpoint's */
    rc = nofd_serve_open(d, &serve, &a->ep, text, sizeof(text));

    if (rc != NOF_OK) {
        reply_and_end(a, rc, text);
        return;
    }
    explicit_bzero(a->request.job_key, sizeof(a->request.job_key));
    a->job = NULL; /* the endpoint's */
    a->ep->attach = a;
    a->state = ATTACHED;
    count_waiting(a, false);
    d->nattached++;
    d->was_attached = true;
    nofd_info("rank %u of job %" PRIu64 " (pid %d, uid %u) attached to %s, DMA %s", a->request.rank,
              a->request.job_id, (int)a->cred.pid, (unsigned)a->cred.uid, a->ep->nic->name,
              a->ep->memory.ops->name);
    if (reply_with_bar(a, a->ep) != 0)
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
    if (r->size == 0 || r->rank >= r->size ||
        (r->flags & ~(uint32_t)(NOF_ATTACH_F_SEGMENT | NOF_ATTACH_F_SEGMENT_AS_SET)) != 0 ||
        r->local_ranks > (r->flags != 0 ? r->size : 0) || r->job_id == 0) {
        snprintf(text, text_bytes, "rank %u of %u (%u on this host), job %" PRIu64 ", flags %u: out of range",
                 r->rank, r->size, r->local_ranks, r->job_id, r->flags);
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

/* Whether this rank's memory can be reached at all: by a helper, which answers later; in a private daemon by ourselves,
 * as all its copies. */
static void attach_probe(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;
    const struct nof_attach_request *r = &a->request;
    bool direct;

    if (d->options.private_job) {
        direct = nofd_pidfd_alive(a->process.fd) &&
                 nofd_dma_probe(&d->busy, a->cred.pid, r->rank, r->probe_addr, r->probe_value) == NOF_OK;
        attach_finish(a, direct);
        return;
    }
    a->rank = nofd_dma_rank_open(&d->crew, &a->nic->dma->pools, &a->cred, a->process.fd, r->probe_addr,
                                 r->probe_value);
    if (a->rank == NULL) {
        attach_finish(a, false);
        return;
    }
    a->state = PROBE;
    a->deadline_ns = nofd_clock_ns() + d->options.dma_timeout_ns;
}

/* Decides how this rank's memory is reached, of a process that is known for sure; may answer later. */
static void attach_identify(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;

    a->nic = nofd_serve_nic(d, a->request.nic);
    a->nic->promised++;
    if (d->options.dma == NOFD_DMA_ASSISTED || a->process.fd < 0) {
        attach_finish(a, false);
    } else if (a->identity.proven) {
        attach_probe(a);
    } else if (nofd_identity_ask(&a->identity, a->watch.fd) != 0) {
        attach_finish(a, false);
    } else {
        a->state = CHALLENGE;
        a->deadline_ns = nofd_clock_ns() + d->options.dma_timeout_ns;
    }
}

static void on_answer(struct nofd_attach *a)
{
    switch (nofd_identity_answer(&a->identity, a->watch.fd, &a->cred)) {
    case NOF_OK:
        attach_probe(a);
        break;
    case NOF_EAGAIN:
        break;
    case NOF_EPERM:
        attach_finish(a, false);
        break;
    case NOF_EPEERDEAD:
        attach_end(a, NOF_EPEERDEAD);
        break;
    default:
        reply_and_end(a, NOF_EPROTO,
                      "that was not the answer to the daemon's question: library and nofd must be of "
                      "one build");
    }
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
        attach_identify(a);
}

/* The answer that was no longer waited for, once. */
static bool is_late_answer(struct nofd_attach *a, ssize_t n, uint64_t magic)
{
    bool is = a->answer_late && n == (ssize_t)sizeof(struct nof_attach_answer) && magic == NOF_ANSWER_MAGIC;

    if (is)
        a->answer_late = false;
    return is;
}

/* After the reply only the goodbye is legal, and an answer that comes late. Returns false if there was nothing to
 * read. */
static bool goodbye(struct nofd_attach *a)
{
    struct nof_detach detach = {0};
    ssize_t n = recv(a->watch.fd, &detach, sizeof(detach), MSG_DONTWAIT | MSG_TRUNC);

    if ((n < 0 && (errno == EAGAIN || errno == EINTR)) || is_late_answer(a, n, detach.magic))
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

/* What a rank has the main thread do is taken from its user's time. `a` may be gone afterwards. */
static void charged(struct nofd_attach *a, void (*fn)(struct nofd_attach *a))
{
    struct nofd_allowances *s = &a->daemon->shares;
    struct nofd_allowance *share = a->share;
    uint64_t began_ns = nofd_allowance_clock_ns();

    fn(a);
    nofd_allowance_charge(s, share, nofd_allowance_clock_ns() - began_ns);
}

static void socket_event(struct nofd_attach *a)
{
    if (a->state == REQUEST)
        on_request(a);
    else if (a->state == CHALLENGE)
        on_answer(a);
    else
        (void)goodbye(a);
}

static void on_socket(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_attach *a = (struct nofd_attach *)watch; /* first member */
    struct nofd *d = a->daemon;

    (void)events;
    if (a->state != REQUEST || nofd_allowance_may(&d->shares, a->share, nofd_clock_ns())) {
        charged(a, socket_event);
        return;
    }
    nofd_loop_remove(&d->loop, watch);
    a->paused = true;
    nofd_ticks_need(&d->ticks);
}

/* Its user has earned time again. */
static void resume(struct nofd_attach *a)
{
    struct nofd *d = a->daemon;

    a->paused = false;
    a->deadline_ns = nofd_clock_ns() + d->options.idle_timeout_ns;
    if (nofd_loop_add(&d->loop, &a->watch, EPOLLIN) != 0)
        attach_end(a, NOF_ENOMEM);
    else
        on_request(a);
}

static void process_event(struct nofd_attach *a)
{
    /* It may have said goodbye just before. */
    if (a->state == REQUEST || a->state == CHALLENGE)
        attach_end(a, NOF_OK);
    else if (!goodbye(a))
        attach_end(a, NOF_EPEERDEAD);
}

static void on_process(struct nofd_watch *watch, uint32_t events)
{
    (void)events;
    charged((struct nofd_attach *)(void *)((char *)watch - offsetof(struct nofd_attach, process)),
            process_event);
}

/* All ranks of the largest job may come at once, and on a busy machine before the first is served. */
static unsigned waiting_max(const struct nofd *d)
{
    unsigned all = d->options.max_endpoints * d->nnics; /* whose cores share it */

    return all > WAITING_LEAST ? all : WAITING_LEAST;
}

/* Connections of other users than the daemon's that have not attached: two of the largest jobs, and never all
 * descriptors. */
static unsigned others_max(const struct nofd *d)
{
    unsigned jobs = 2 * waiting_max(d);
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / 8 < jobs)
        jobs = (unsigned)(files.rlim_cur / 8);
    return jobs;
}

/* Whether `share` may have one more. Of many users with many connections each, the one with most makes room. */
static bool may_wait(struct nofd *d, const struct nofd_allowance *share)
{
    struct nofd_attach *oldest = NULL;

    if (share->waiting >= waiting_max(d))
        return false;
    if (nofd_allowance_is_owner(&d->shares, share) || d->shares.other_waiting < others_max(d))
        return true;
    for (struct nofd_attach *a = d->attaches; a != NULL; a = a->next)
        if (a->state != ATTACHED && !nofd_allowance_is_owner(&d->shares, a->share) &&
            (oldest == NULL || a->share->waiting >= oldest->share->waiting))
            oldest = a; /* the newest comes first */
    if (oldest == NULL || oldest->share->waiting <= share->waiting)
        return false;
    reply_and_end(oldest, NOF_EAGAIN, "too many connections wait, and most of them are yours: attach again");
    return true;
}

static int open_watches(struct nofd *d, struct nofd_attach *a, int fd)
{
    a->watch.fd = fd;
    a->watch.fn = on_socket;
    nofd_identity_open(&a->identity, fd, &a->cred);
    a->process.fd = a->identity.pidfd;
    a->process.fn = on_process;
    if (nofd_loop_add(&d->loop, &a->watch, EPOLLIN) != 0) {
        if (a->process.fd >= 0)
            close(a->process.fd);
        return -1;
    }
    if (a->process.fd >= 0 && nofd_loop_add(&d->loop, &a->process, EPOLLIN) != 0) {
        close(a->process.fd);
        a->process.fd = -1;
    }
    return 0;
}

static void turn_away(int fd, const struct ucred *cred)
{
    struct nof_attach_reply reply = {
        .magic = NOF_ATTACH_MAGIC, .abi_version = NOF_ABI_VERSION, .status = NOF_EAGAIN};

    snprintf(reply.text, sizeof(reply.text),
             "user %u has more connections to the daemon that do not attach than it keeps: end them, or "
             "try again",
             (unsigned)cred->uid);
    (void)send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static void admit(void *owner, int fd, const struct ucred *cred)
{
    struct nofd *d = owner;
    struct nofd_attach *a = calloc(1, sizeof(*a));
    struct nofd_allowance *share = nofd_allowance_enter(&d->shares, cred->uid, nofd_clock_ns());

    if (a == NULL || share == NULL || !may_wait(d, share))
        goto err_share;
    a->daemon = d;
    a->state = REQUEST;
    a->cred = *cred;
    a->share = share;
    a->deadline_ns = nofd_clock_ns() + d->options.idle_timeout_ns;
    if (open_watches(d, a, fd) != 0)
        goto err_share;
    count_waiting(a, true);
    a->next = d->attaches;
    d->attaches = a;
    nofd_ticks_need(&d->ticks);
    return;
err_share:
    if (share != NULL)
        nofd_allowance_leave(share);
    free(a);
    turn_away(fd, cred);
}

static void probe_done(struct nofd_attach *a)
{
    attach_finish(a, a->rank->probe_status == NOF_OK);
}

static void endpoint_failed(struct nofd_attach *a)
{
    attach_end(a, a->ep->failure);
}

static void late(struct nofd_attach *a)
{
    a->answer_late = a->state == CHALLENGE;
    if (a->state == REQUEST)
        reply_and_end(a, NOF_EINVAL, "no attach request came");
    else
        attach_finish(a, false); /* it does not answer, or its memory blocks: it may copy itself */
}

void nofd_attach_look(struct nofd *d)
{
    struct nofd_attach *next;
    struct nofd_endpoint *ep;
    struct nofd_endpoint *next_ep;

    for (struct nofd_attach *a = d->attaches; a != NULL; a = next) {
        next = a->next;
        if (a->state == PROBE && __atomic_load_n(&a->rank->probe_done, __ATOMIC_ACQUIRE))
            charged(a, probe_done);
    }
    for (ep = d->endpoints; ep != NULL; ep = next_ep) {
        next_ep = ep->next;
        if (nofd_endpoint_state(ep) == NOFD_EP_FAILED && ep->attach != NULL)
            charged(ep->attach, endpoint_failed);
        else if (nofd_endpoint_state(ep) == NOFD_EP_GONE)
            nofd_serve_free(d, ep);
    }
}

static bool on_tick(struct nofd_tick *tick)
{
    struct nofd *d = (struct nofd *)(void *)((char *)tick - offsetof(struct nofd, attach_tick));
    uint64_t now_ns = nofd_clock_ns();
    struct nofd_attach *next;
    bool more = false;

    for (struct nofd_attach *a = d->attaches; a != NULL; a = next) {
        next = a->next;
        if (a->state == ATTACHED)
            continue;
        more = true;
        if (a->paused && nofd_allowance_may(&d->shares, a->share, now_ns))
            charged(a, resume);
        else if (!a->paused && now_ns >= a->deadline_ns)
            charged(a, late);
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

int nofd_attach_open(struct nofd *d, char *err, size_t err_bytes)
{
    struct nofd_door_config cfg = {.address = d->options.socket,
                                   .type = SOCK_SEQPACKET,
                                   .for_all = nofd_is_for_all(d),
                                   .admit = admit,
                                   .owner = d};

    d->attach_tick.fn = on_tick;
    nofd_ticks_add(&d->ticks, &d->attach_tick);
    return nofd_door_open(&d->attach_door, &d->loop, &d->ticks, &cfg, err, err_bytes);
}

void nofd_attach_close(struct nofd *d)
{
    while (d->attaches != NULL) {
        /* The close of the socket is what the rank sees. */
        d->options.private_job = false;
        attach_end(d->attaches, NOF_ENICDEAD);
    }
    nofd_door_close(&d->attach_door);
}
