/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks come and go: what their request must say, how their memory is tried, and what each end of a connection means.
 * Door, endpoints, helpers and questions are stand-ins, and so is the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nofd/control/attach.h"
#include "nofd/control/daemon.h"
#include "nofd/control/serve.h"
#include "nofd/dma/dma_copy.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/door/identity.h"
#include "nofd/sys/clock.h"

#define OWNER 1000u
#define NICS 2u

static struct nofd d;
static struct nofd_nic nics[NICS];
static struct nofd_dma engine;
static struct nofd_door_config door;
static uint64_t clock_ns;
static bool proven, direct_works, helpers;
static int serve_says, answer_says;
static struct nofd_serve served;
static struct nofd_endpoint *endpoint;
static struct nofd_segment segment;
static bool has_slot;
static struct nofd_dma_rank rank;
static unsigned ranks_open, opened, closed, freed, questions;
static int close_reason;
static int process_fd; /* readable: it has ended */
static char err[NOFD_ERROR_BYTES];

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
uid_t __wrap_geteuid(void);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    (void)id;
    ts->tv_sec = (time_t)(clock_ns / NOFD_S);
    ts->tv_nsec = (long)(clock_ns % NOFD_S);
    return 0;
}

uid_t __wrap_geteuid(void)
{
    return OWNER;
}

int nofd_door_open(struct nofd_door *of, struct nofd_loop *loop, struct nofd_ticks *ticks,
                   const struct nofd_door_config *cfg, char *why, size_t why_bytes)
{
    (void)of;
    (void)loop;
    (void)ticks;
    (void)why;
    (void)why_bytes;
    assert_int_equal(cfg->type, SOCK_SEQPACKET);
    door = *cfg;
    return 0;
}

void nofd_door_close(struct nofd_door *of)
{
    assert_ptr_equal(of, &d.attach_door);
}

bool nofd_is_for_all(const struct nofd *of)
{
    return !of->options.private_job;
}

void nofd_stop(struct nofd *of, int exit_code)
{
    of->exit_code = exit_code;
    of->loop.stop = true;
}

void nofd_maybe_done(struct nofd *of)
{
    (void)of;
}

void nofd_identity_open(struct nofd_identity *id, int socket, const struct ucred *cred)
{
    (void)socket;
    (void)cred;
    *id = (struct nofd_identity){.pidfd = process_fd >= 0 ? dup(process_fd) : -1, .proven = proven};
}

int nofd_identity_ask(struct nofd_identity *id, int socket)
{
    (void)id;
    (void)socket;
    questions++;
    return 0;
}

int nofd_identity_answer(struct nofd_identity *id, int socket, const struct ucred *cred)
{
    char byte;

    (void)cred;
    (void)recv(socket, &byte, 1, MSG_DONTWAIT);
    id->proven = answer_says == NOF_OK;
    return answer_says;
}

bool nofd_pidfd_alive(int pidfd)
{
    (void)pidfd;
    return true;
}

int nofd_dma_probe(struct nofd_busy *busy, pid_t pid, uint32_t of, uint64_t addr, uint64_t value)
{
    assert_ptr_equal(busy, &d.busy);
    (void)pid;
    (void)of;
    assert_int_equal(addr, 0x1000);
    assert_int_equal(value, 77);
    return direct_works ? NOF_OK : NOF_EFAULT;
}

struct nofd_dma_rank *nofd_dma_rank_open(struct nofd_dma_crew *crew, struct nofd_dma_pools *pools,
                                         const struct ucred *who, int pidfd, uint64_t addr, uint64_t value)
{
    (void)crew;
    (void)who;
    (void)pidfd;
    (void)addr;
    (void)value;
    assert_ptr_equal(pools, &engine.pools);
    if (!helpers)
        return NULL;
    ranks_open++;
    return &rank;
}

void nofd_dma_rank_close(struct nofd_dma_rank *of)
{
    assert_ptr_equal(of, &rank);
    ranks_open--;
}

struct nofd_nic *nofd_serve_nic(struct nofd *of, uint32_t wanted)
{
    return &of->nics[wanted != UINT32_MAX ? wanted : 1];
}

int nofd_serve_open(struct nofd *of, const struct nofd_serve *serve, struct nofd_endpoint **ep_out,
                    char *text, size_t text_bytes)
{
    static struct nof_bar_identity id;
    struct nofd_endpoint *ep;

    served = *serve;
    if (serve_says != NOF_OK) {
        snprintf(text, text_bytes, "no room");
        if (serve->rank != NULL)
            nofd_dma_rank_close(serve->rank);
        return serve_says;
    }
    ep = calloc(1, sizeof(*ep));
    id = (struct nof_bar_identity){.bar_bytes = 4711, .nsegments = 1};
    ep->bar.identity = &id;
    for (unsigned i = 0; i < NOF_BAR_FDS; i++)
        ep->bar.fd[i] = 0;
    ep->nic = serve->nic;
    ep->slot = (struct nofd_slot){.segment = has_slot ? &segment : NULL, .index = 3};
    ep->job = serve->job;
    ep->memory.ops = &nofd_dma_inline;
    ep->memory.helped = serve->rank;
    nofd_endpoint_set_state(ep, NOFD_EP_LIVE);
    ep->next = of->endpoints;
    of->endpoints = ep;
    opened++;
    endpoint = *ep_out = ep;
    return NOF_OK;
}

const struct nofd_dma_ops nofd_dma_inline = {.name = "stand-in"};

void nofd_serve_free(struct nofd *of, struct nofd_endpoint *ep)
{
    struct nofd_endpoint **at = &of->endpoints;

    while (*at != ep)
        at = &(*at)->next;
    *at = ep->next;
    if (ep->memory.helped != NULL)
        nofd_dma_rank_close(ep->memory.helped);
    nofd_job_leave(&of->jobs, ep->job);
    freed++;
    free(ep);
}

void nofd_serve_close(struct nofd *of, struct nofd_endpoint *ep, int reason)
{
    closed++;
    close_reason = reason;
    nofd_serve_free(of, ep);
}

static void open_attach(bool private_job)
{
    d.options.private_job = private_job;
    nofd_allowances_init(&d.shares, private_job, OWNER, 100 * NOFD_MS, clock_ns);
    d.ticks.first = NULL;
    assert_int_equal(nofd_attach_open(&d, err, sizeof(err)), 0);
}

static int start(void **state)
{
    (void)state;
    memset(&d, 0, sizeof(d));
    clock_ns = 100 * NOFD_S;
    d.started_ns = clock_ns;
    proven = direct_works = helpers = true;
    serve_says = answer_says = NOF_OK;
    ranks_open = opened = closed = freed = questions = 0;
    close_reason = 1;
    rank = (struct nofd_dma_rank){0};
    d.nics = nics;
    d.nnics = NICS;
    d.options.cores_per_nic = 1;
    d.options.max_endpoints = 2;
    d.options.idle_timeout_ns = 5 * NOFD_S;
    d.options.dma_timeout_ns = NOFD_S;
    d.parent.fd = -1;
    for (unsigned i = 0; i < NICS; i++)
        nics[i] = (struct nofd_nic){.dma = &engine};
    process_fd = eventfd(0, EFD_NONBLOCK);
    if (nofd_loop_init(&d.loop) != 0 || nofd_ticks_init(&d.ticks, &d.loop) != 0)
        return -1;
    nofd_loop_remove(&d.loop, &d.ticks.watch); /* ticks come when the test says */
    open_attach(false);
    return 0;
}

static int end(void **state)
{
    (void)state;
    nofd_attach_close(&d);
    while (d.endpoints != NULL)
        nofd_serve_free(&d, d.endpoints);
    close(d.ticks.watch.fd);
    close(d.loop.epoll_fd);
    close(process_fd);
    return d.attaches == NULL && d.nattached == 0 && d.shares.other_waiting == 0 && ranks_open == 0 &&
                   d.jobs == NULL && nics[0].promised + nics[1].promised == 0
               ? 0
               : -1;
}

static int connect_as(uid_t uid)
{
    struct ucred cred = {.pid = 4711, .uid = uid, .gid = uid};
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    door.admit(door.owner, pair[0], &cred);
    return pair[1];
}

static void steps(void)
{
    struct epoll_event event;

    while (epoll_wait(d.loop.epoll_fd, &event, 1, 0) == 1) {
        struct nofd_watch *watch = event.data.ptr;

        watch->fn(watch, event.events);
    }
}

static void tick(void)
{
    for (struct nofd_tick *at = d.ticks.first; at != NULL; at = at->next)
        (void)at->fn(at);
}

static struct nof_attach_request good(void)
{
    return (struct nof_attach_request){.magic = NOF_ATTACH_MAGIC,
                                       .abi_version = NOF_ABI_VERSION,
                                       .rank = 1,
                                       .size = 4,
                                       .nic = UINT32_MAX,
                                       .job_id = 7,
                                       .probe_addr = 0x1000,
                                       .probe_value = 77};
}

static int ask(int fd, const struct nof_attach_request *request, size_t bytes)
{
    int sent = (int)send(fd, request, bytes, MSG_NOSIGNAL);

    steps();
    return sent;
}

static struct nof_segment_reply shared; /* of the last reply */

/* The reply: its status, and how many descriptors came along. 1: none. */
static int reply(int fd, unsigned *nfds_out)
{
    struct nof_attach_reply said;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(NOF_BAR_FDS_MAX * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = &said, .iov_len = sizeof(said)};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    const struct cmsghdr *head;

    *nfds_out = 0;
    if (recvmsg(fd, &message, MSG_DONTWAIT) != (ssize_t)sizeof(said))
        return 1;
    assert_int_equal(said.magic, NOF_ATTACH_MAGIC);
    head = CMSG_FIRSTHDR(&message);
    if (head != NULL) {
        *nfds_out = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (unsigned i = 0; i < *nfds_out; i++)
            close(((const int *)(const void *)CMSG_DATA(head))[i]);
    }
    assert_int_equal(said.status == NOF_OK, said.text[0] == '\0');
    shared = said.shared;
    return said.status;
}

static bool hung_up(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static int attached(void)
{
    struct nof_attach_request request = good();
    int fd = connect_as(OWNER);
    unsigned nfds;

    ask(fd, &request, sizeof(request));
    if (!d.options.private_job && helpers) {
        rank.probe_done = 1;
        nofd_attach_look(&d);
    }
    assert_int_equal(reply(fd, &nfds), NOF_OK);
    assert_int_equal(nfds, NOF_BAR_FDS);
    assert_int_equal(d.nattached, 1);
    return fd;
}

static void what_is_no_request_is_refused(void **state)
{
    struct nof_attach_request bad[9];
    const int status[9] = {NOF_EINVAL, NOF_EVERSION, NOF_EINVAL, NOF_EINVAL, NOF_EINVAL,
                           NOF_EINVAL, NOF_EINVAL,   NOF_EINVAL, NOF_EINVAL};

    (void)state;
    for (unsigned i = 0; i < 9; i++)
        bad[i] = good();
    bad[0].magic++;
    bad[1].abi_version++;
    bad[2].size = 0;
    bad[3].rank = 4;
    bad[4].flags = NOF_ATTACH_F_SEGMENT_AS_SET << 1;
    bad[5].local_ranks = 1; /* of a rank that asks for no slot */
    bad[6].job_id = 0;
    bad[7].nic = NICS;
    bad[8].flags = NOF_ATTACH_F_SEGMENT;
    bad[8].local_ranks = bad[8].size + 1;
    for (unsigned i = 0; i < 10; i++) {
        int fd = connect_as(OWNER);
        unsigned nfds;

        ask(fd, &bad[i % 9], sizeof(bad[0]) - (i == 9));
        assert_int_equal(reply(fd, &nfds), i == 9 ? NOF_EINVAL : status[i]);
        assert_true(hung_up(fd));
        close(fd);
    }
    assert_int_equal(opened, 0);
}

/* Until they have attached, or gone: who comes meanwhile is to know. */
static void those_under_way_are_promised_to_their_core(void **state)
{
    struct nof_attach_request request = good();
    int fd[2];
    unsigned nfds;

    (void)state;
    proven = false; /* they are asked first */
    for (uint32_t i = 0; i < 2; i++) {
        fd[i] = connect_as(OWNER);
        request.rank = i;
        ask(fd[i], &request, sizeof(request));
        assert_int_equal(nics[1].promised, 1 + i);
    }
    answer_says = NOF_EPERM; /* it copies itself */
    assert_int_equal(send(fd[0], "", 1, 0), 1);
    steps();
    assert_int_equal(reply(fd[0], &nfds), NOF_OK);
    assert_int_equal(nics[1].promised, 1);
    answer_says = NOF_EPEERDEAD;
    close(fd[1]);
    steps();
    assert_int_equal(nics[1].promised, 0);
    close(fd[0]);
}

static void one_with_a_slot_gets_its_segment_along(void **state)
{
    struct nof_attach_request request = good();
    int fd = connect_as(OWNER);
    unsigned nfds;

    (void)state;
    segment =
        (struct nofd_segment){.nslots = 8, .fd = 0, .roster_fd = 0, .segment_bytes = 99, .roster_bytes = 98};
    has_slot = true;
    request.flags = NOF_ATTACH_F_SEGMENT;
    request.local_ranks = request.size;
    ask(fd, &request, sizeof(request));
    rank.probe_done = 1;
    nofd_attach_look(&d);
    assert_int_equal(reply(fd, &nfds), NOF_OK);
    has_slot = false;
    assert_int_equal(nfds, NOF_BAR_FDS_MAX);
    assert_int_equal(shared.nslots, 8);
    assert_int_equal(shared.slot, 3);
    assert_int_equal(shared.segment_bytes, 99);
    assert_int_equal(shared.roster_bytes, 98);
    close(fd);
    steps();
    (void)attached();
    assert_int_equal(shared.nslots, 0);
}

static void a_private_daemon_tries_the_memory_itself(void **state)
{
    (void)state;
    open_attach(true);
    for (unsigned i = 0; i < 2; i++) {
        int fd;

        direct_works = i == 0;
        fd = attached();
        assert_int_equal(served.direct, direct_works);
        assert_null(served.rank);
        assert_true(d.was_attached);
        close(fd);
        steps();
        assert_int_equal(d.nattached, 0);
    }
}

static void a_private_daemon_is_not_for_others(void **state)
{
    struct nof_attach_request request = good();
    unsigned nfds;
    int fd;

    (void)state;
    open_attach(true);
    fd = connect_as(2000);
    ask(fd, &request, sizeof(request));
    assert_int_equal(reply(fd, &nfds), NOF_EPERM);
    close(fd);
}

static void in_a_shared_one_the_reply_waits_for_the_helpers_probe(void **state)
{
    struct nof_attach_request request = good();
    int fd = connect_as(2000);
    unsigned nfds;

    (void)state;
    ask(fd, &request, sizeof(request));
    assert_int_equal(ranks_open, 1);
    nofd_attach_look(&d);
    assert_int_equal(reply(fd, &nfds), 1);
    assert_int_equal(d.shares.other_waiting, 1);
    rank.probe_done = 1;
    nofd_attach_look(&d);
    assert_int_equal(reply(fd, &nfds), NOF_OK);
    assert_ptr_equal(served.rank, &rank);
    assert_true(served.direct);
    assert_int_equal(d.shares.other_waiting, 0);
    close(fd);
}

static void one_whose_memory_cannot_be_reached_copies_itself(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct nof_attach_request request = good();
        int fd = connect_as(OWNER);
        unsigned nfds;

        helpers = i > 0;
        rank = (struct nofd_dma_rank){.probe_status = NOF_EFAULT};
        ask(fd, &request, sizeof(request));
        rank.probe_done = i == 1;
        nofd_attach_look(&d);
        clock_ns += i == 2 ? d.options.dma_timeout_ns : 0; /* it blocks */
        tick();
        assert_int_equal(reply(fd, &nfds), NOF_OK);
        assert_false(served.direct);
        assert_null(served.rank);
        assert_int_equal(ranks_open, 0);
        close(fd);
        steps();
    }
}

static void who_is_not_proven_is_asked(void **state)
{
    static const int says[] = {NOF_OK, NOF_EPERM, NOF_EPROTO, NOF_EPEERDEAD};

    (void)state;
    helpers = false;
    proven = false;
    open_attach(true);
    for (unsigned i = 0; i < 4; i++) {
        struct nof_attach_request request = good();
        int fd = connect_as(OWNER);
        unsigned nfds;
        int status;

        ask(fd, &request, sizeof(request));
        assert_int_equal(questions, i + 1);
        assert_int_equal(reply(fd, &nfds), 1);
        answer_says = says[i];
        assert_int_equal(send(fd, "a", 1, MSG_NOSIGNAL), 1);
        steps();
        status = reply(fd, &nfds);
        assert_int_equal(status, i < 2 ? NOF_OK : i == 2 ? NOF_EPROTO : 1);
        if (i < 2)
            assert_int_equal(served.direct, i == 0);
        close(fd);
        steps();
    }
}

static void who_does_not_answer_copies_itself(void **state)
{
    struct nof_attach_request request = good();
    unsigned nfds;
    int fd;

    (void)state;
    proven = false;
    fd = connect_as(OWNER);
    ask(fd, &request, sizeof(request));
    clock_ns += d.options.dma_timeout_ns - 1;
    tick();
    assert_int_equal(reply(fd, &nfds), 1);
    clock_ns += 1;
    tick();
    assert_int_equal(reply(fd, &nfds), NOF_OK);
    assert_false(served.direct);
    close(fd);
}

static void who_asks_nothing_is_sent_away(void **state)
{
    int fd = connect_as(OWNER);
    unsigned nfds;

    (void)state;
    clock_ns += d.options.idle_timeout_ns;
    tick();
    assert_int_equal(reply(fd, &nfds), NOF_EINVAL);
    assert_true(hung_up(fd));
    close(fd);
}

static void an_endpoint_that_is_refused_is_told_why(void **state)
{
    struct nof_attach_request request = good();
    int fd = connect_as(OWNER);
    unsigned nfds;

    (void)state;
    serve_says = NOF_ENOMEM;
    ask(fd, &request, sizeof(request));
    rank.probe_done = 1;
    nofd_attach_look(&d);
    assert_int_equal(reply(fd, &nfds), NOF_ENOMEM);
    assert_int_equal(nfds, 0);
    assert_null(d.jobs); /* nobody of it is here */
    close(fd);
}

static void each_end_has_its_meaning(void **state)
{
    static const struct nof_detach bye = {.magic = NOF_DETACH_MAGIC};
    static const struct nof_detach other = {.magic = NOF_DETACH_MAGIC + 1};
    uint64_t one = 1;

    (void)state;
    for (unsigned how = 0; how < 5; how++) {
        static const int means[] = {NOF_OK, NOF_EPEERDEAD, NOF_EPROTO, NOF_EPEERDEAD, NOF_OK};
        int fd = attached();

        if (how == 0)
            assert_int_equal(send(fd, &bye, sizeof(bye), MSG_NOSIGNAL), sizeof(bye));
        if (how == 1)
            close(fd);
        if (how == 2)
            assert_int_equal(send(fd, &other, sizeof(other), MSG_NOSIGNAL), sizeof(other));
        if (how == 4) /* said goodbye just before it ended */
            assert_int_equal(send(fd, &bye, sizeof(bye), MSG_NOSIGNAL), sizeof(bye));
        if (how >= 3)
            assert_int_equal(write(process_fd, &one, sizeof(one)), sizeof(one));
        steps();
        assert_int_equal(closed, how + 1);
        assert_int_equal(close_reason, means[how]);
        assert_null(d.attaches);
        if (how != 1)
            close(fd);
        if (how >= 3)
            assert_int_equal(read(process_fd, &one, sizeof(one)), sizeof(one));
    }
}

static void an_endpoint_that_failed_takes_its_connection_along(void **state)
{
    int fd = attached();

    (void)state;
    endpoint->failure = NOF_EFAULT;
    nofd_endpoint_set_state(endpoint, NOFD_EP_FAILED);
    nofd_attach_look(&d);
    assert_int_equal(close_reason, NOF_EFAULT);
    assert_true(hung_up(fd));
    close(fd);
}

static void one_that_is_gone_is_freed(void **state)
{
    struct nofd_endpoint *ep = calloc(1, sizeof(*ep));
    struct nof_attach_request request = good();

    (void)state;
    assert_int_equal(nofd_job_enter(&d.jobs, &request, OWNER, &ep->job, err, sizeof(err)), NOF_OK);
    d.endpoints = ep;
    nofd_endpoint_set_state(ep, NOFD_EP_CLOSED);
    nofd_attach_look(&d);
    assert_int_equal(freed, 0);
    nofd_endpoint_set_state(ep, NOFD_EP_GONE);
    nofd_attach_look(&d);
    assert_int_equal(freed, 1);
}

static void a_user_has_so_many_that_wait(void **state)
{
    int fd[65];
    unsigned nfds;

    (void)state;
    for (unsigned i = 0; i < 65; i++)
        fd[i] = connect_as(2000);
    assert_int_equal(d.shares.other_waiting, 64);
    assert_int_equal(reply(fd[64], &nfds), NOF_EAGAIN);
    assert_true(hung_up(fd[64]));
    for (unsigned i = 0; i < 65; i++)
        close(fd[i]);
    steps();
    assert_null(d.attaches);
}

static void a_private_daemon_that_nobody_wants_ends(void **state)
{
    (void)state;
    open_attach(true);
    clock_ns += 10 * NOFD_S - 1;
    tick();
    assert_false(d.loop.stop);
    d.parent.fd = 5; /* it waits as long as that lives */
    clock_ns += 2;
    tick();
    assert_false(d.loop.stop);
    d.parent.fd = -1;
    tick();
    assert_true(d.loop.stop);
    assert_int_equal(d.exit_code, 1);
}

static void in_the_end_all_are_closed(void **state)
{
    int fd = attached();

    (void)state;
    nofd_attach_close(&d);
    assert_int_equal(close_reason, NOF_ENICDEAD);
    assert_true(hung_up(fd));
    close(fd);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(what_is_no_request_is_refused),
        EACH(one_with_a_slot_gets_its_segment_along),
        EACH(those_under_way_are_promised_to_their_core),
        EACH(a_private_daemon_tries_the_memory_itself),
        EACH(a_private_daemon_is_not_for_others),
        EACH(in_a_shared_one_the_reply_waits_for_the_helpers_probe),
        EACH(one_whose_memory_cannot_be_reached_copies_itself),
        EACH(who_is_not_proven_is_asked),
        EACH(who_does_not_answer_copies_itself),
        EACH(who_asks_nothing_is_sent_away),
        EACH(an_endpoint_that_is_refused_is_told_why),
        EACH(each_end_has_its_meaning),
        EACH(an_endpoint_that_failed_takes_its_connection_along),
        EACH(one_that_is_gone_is_freed),
        EACH(a_user_has_so_many_that_wait),
        EACH(a_private_daemon_that_nobody_wants_ends),
        EACH(in_the_end_all_are_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
