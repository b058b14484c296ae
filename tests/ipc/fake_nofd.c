/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_nofd.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "nof/delta.h"

#include "nof_private/fence.h"

#define PAGES(type) ((sizeof(type) + PAGE - 1) / PAGE * PAGE)
#define DELTA_HOST_BYTES PAGES(struct nof_delta_host)
#define DELTA_NIC_BYTES PAGES(struct nof_delta_nic)
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* BAR: RO identity+NIC words+counters | RO head, RW submit | RO head, RW complete | RO staging | RW rest. */
enum { PAGE = NOF_BAR_PAGE_BYTES };

struct plan {
    struct fake_nofd *f;
    uint64_t bar, ro, rw;
};

static uint64_t piece(struct plan *p, uint32_t fd, uint64_t len)
{
    struct nof_bar_segment *s = &p->f->reply.segment[p->f->reply.nsegments++];
    uint64_t *file = fd == NOF_BAR_FD_RO ? &p->ro : &p->rw;

    CHECK(p->f->reply.nsegments <= NOF_BAR_SEGMENTS_MAX);
    *s = (struct nof_bar_segment){.fd = fd, .file_offset = *file, .bar_offset = p->bar, .len = len};
    *file += len;
    p->bar += len;
    return s->bar_offset;
}

static void listen_somewhere(struct fake_nofd *f)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    uint64_t random;

    CHECK(getrandom(&random, sizeof(random), 0) == (ssize_t)sizeof(random));
    snprintf(f->address, sizeof(f->address), "@nof-test-%016llx", (unsigned long long)random);
    memcpy(addr.sun_path, f->address, strlen(f->address));
    addr.sun_path[0] = '\0';
    f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(f->listener >= 0);
    CHECK(bind(f->listener, (const struct sockaddr *)(const void *)&addr,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(f->address))) == 0);
    CHECK(listen(f->listener, 4) == 0);
}

static void map_all(struct fake_nofd *f, struct plan *p)
{
    void *base;

    f->fds[NOF_BAR_FD_RO] = memfd_create("fake-ro", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    f->fds[NOF_BAR_FD_RW] = memfd_create("fake-rw", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    f->fds[NOF_BAR_FD_DOORBELL] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    CHECK(ftruncate(f->fds[NOF_BAR_FD_RO], (off_t)p->ro) == 0);
    CHECK(ftruncate(f->fds[NOF_BAR_FD_RW], (off_t)p->rw) == 0);
    base = mmap(NULL, p->bar, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(base != MAP_FAILED);
    f->bar = base;
    for (uint32_t i = 0; i < f->reply.nsegments; i++) {
        const struct nof_bar_segment *s = &f->reply.segment[i];

        CHECK(mmap(f->bar + s->bar_offset, s->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   f->fds[s->fd], (off_t)s->file_offset) != MAP_FAILED);
    }
}

/* What rte_ring_init() writes, without the library that has it. */
static struct rte_ring *ring_at(struct fake_nofd *f, uint64_t offset)
{
    struct rte_ring *ring = (struct rte_ring *)(void *)(f->bar + offset);

    ring->size = FAKE_SLOTS + 1;
    ring->mask = FAKE_SLOTS;
    ring->capacity = FAKE_SLOTS;
    ring->prod.sync_type = RTE_RING_SYNC_ST;
    ring->cons.sync_type = RTE_RING_SYNC_ST;
    return ring;
}

void fake_open(struct fake_nofd *f)
{
    struct plan p = {.f = f};
    uint64_t first, rest, submit, complete, staging, delta, ring_bytes = nof_ring_rw_bytes(FAKE_SLOTS + 1);

    memset(f, 0, sizeof(*f));
    f->socket = -1;
    listen_somewhere(f);
    first = piece(&p, NOF_BAR_FD_RO, 2 * PAGE); /* the second page ends with the ring's head */
    submit = nof_ring_offset(piece(&p, NOF_BAR_FD_RW, ring_bytes));
    piece(&p, NOF_BAR_FD_RO, PAGE);
    complete = nof_ring_offset(piece(&p, NOF_BAR_FD_RW, ring_bytes));
    staging = piece(&p, NOF_BAR_FD_RO, FAKE_STAGING_BYTES);
    rest = piece(&p, NOF_BAR_FD_RW, PAGE + FAKE_BOUNCE_BYTES + PAGE + FAKE_ASSIST_BYTES + DELTA_HOST_BYTES);
    delta = piece(&p, NOF_BAR_FD_RO, DELTA_NIC_BYTES);
    map_all(f, &p);
    f->identity = (struct nof_bar_identity *)(void *)(f->bar + first);
    *f->identity = (struct nof_bar_identity){.magic = NOF_BAR_MAGIC,
                                             .abi_version = NOF_ABI_VERSION,
                                             .nsegments = f->reply.nsegments,
                                             .bar_bytes = p.bar,
                                             .nic_name = "nic0 (fake)",
                                             .submit_slots = FAKE_SLOTS,
                                             .complete_slots = FAKE_SLOTS,
                                             .submit_offset = submit,
                                             .complete_offset = complete,
                                             .host_words_offset = rest,
                                             .nic_words_offset = first + PAGE,
                                             .counters_offset = first + PAGE + 64,
                                             .unexpected_offset = first + PAGE + 64 + 8 * FAKE_UNEXPECTED,
                                             .ncounters = 4,
                                             .max_inline_bytes = NOF_INLINE_BYTES,
                                             .staging_offset = staging,
                                             .staging_bytes = FAKE_STAGING_BYTES,
                                             .bounce_offset = rest + PAGE,
                                             .bounce_bytes = FAKE_BOUNCE_BYTES,
                                             .program_area_offset = rest + PAGE + FAKE_BOUNCE_BYTES,
                                             .program_area_bytes = PAGE,
                                             .assist_offset = rest + PAGE + FAKE_BOUNCE_BYTES + PAGE,
                                             .assist_bytes = FAKE_ASSIST_BYTES,
                                             .delta_host_offset =
                                                 rest + PAGE + FAKE_BOUNCE_BYTES + PAGE + FAKE_ASSIST_BYTES,
                                             .delta_nic_offset = delta,
                                             .claim_offset = rest + 1024,
                                             .library_counts_offset = rest + 3072,
                                             .nlibrary_counts = FAKE_LIBRARY_COUNTS,
                                             .bounce_max_bytes = 16384,
                                             .nofd_pid = (uint32_t)getpid()};
    f->submit = ring_at(f, submit);
    f->complete = ring_at(f, complete);
    f->host_words = (struct nof_host_words *)(void *)(f->bar + rest);
    f->nic_words = (struct nof_nic_words *)(void *)(f->bar + first + PAGE);
    f->counters = (uint64_t *)(void *)(f->bar + first + PAGE + 64);
    f->library_counts = (const uint64_t *)(const void *)(f->bar + rest + 3072);
    f->reply.magic = NOF_ATTACH_MAGIC;
    f->reply.abi_version = NOF_ABI_VERSION;
    f->reply.bar_bytes = p.bar;
}

void fake_share(struct fake_nofd *f, uint32_t nslots, uint32_t slot)
{
    uint64_t bells = nof_segment_part_offset(nslots);
    struct nof_segment_reply *told = &f->reply.shared;

    *told = (struct nof_segment_reply){.nslots = nslots, .slot = slot};
    told->segment_bytes = bells + nslots * nof_segment_part_bytes(nslots);
    told->roster_bytes = (sizeof(struct nof_roster) * (1 + (uint64_t)nslots) + PAGE - 1) / PAGE * PAGE;
    f->fds[NOF_BAR_FD_SEGMENT] = memfd_create("fake-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    f->fds[NOF_BAR_FD_ROSTER] = memfd_create("fake-roster", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    f->nshared = 2;
    f->bells_bytes = bells;
    f->roster_bytes = told->roster_bytes;
    CHECK(ftruncate(f->fds[NOF_BAR_FD_SEGMENT], (off_t)told->segment_bytes) == 0);
    CHECK(ftruncate(f->fds[NOF_BAR_FD_ROSTER], (off_t)told->roster_bytes) == 0);
    f->bells = mmap(NULL, bells, PROT_READ | PROT_WRITE, MAP_SHARED, f->fds[NOF_BAR_FD_SEGMENT], 0);
    f->roster =
        mmap(NULL, told->roster_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fds[NOF_BAR_FD_ROSTER], 0);
    CHECK(f->bells != MAP_FAILED && f->roster != MAP_FAILED);
    *f->roster = (struct nof_roster){.magic = NOF_SEGMENT_MAGIC,
                                     .abi_version = NOF_ABI_VERSION,
                                     .nslots = nslots,
                                     .segment_id = 4711,
                                     .part_offset = bells,
                                     .part_bytes = nof_segment_part_bytes(nslots),
                                     .segment_bytes = told->segment_bytes};
}

static void seal_shared(struct fake_nofd *f)
{
    int sizes = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

    CHECK(fcntl(f->fds[NOF_BAR_FD_SEGMENT], F_ADD_SEALS, sizes) == 0);
    CHECK(fcntl(f->fds[NOF_BAR_FD_ROSTER], F_ADD_SEALS, sizes | F_SEAL_FUTURE_WRITE) == 0);
}

static void seal(struct fake_nofd *f)
{
    CHECK(fcntl(f->fds[NOF_BAR_FD_RO], F_ADD_SEALS,
                F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0);
    CHECK(fcntl(f->fds[NOF_BAR_FD_RW], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
}

void fake_answer(struct fake_nofd *f)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * NOF_BAR_FDS_MAX)];
        struct cmsghdr align;
    } control = {{0}};
    size_t fd_bytes = (NOF_BAR_FDS + f->nshared) * sizeof(int);
    struct iovec iov = {.iov_base = &f->reply, .iov_len = sizeof(f->reply)};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct cmsghdr *c;

    if (!f->no_seals)
        seal(f);
    if (f->bells != NULL && !f->shared_unsealed)
        seal_shared(f);
    f->socket = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(f->socket >= 0);
    CHECK(recv(f->socket, &f->request, sizeof(f->request), 0) == (ssize_t)sizeof(f->request));
    if (!f->no_fds) {
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(fd_bytes);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_bytes);
        memcpy(CMSG_DATA(c), f->fds, fd_bytes);
    }
    CHECK(sendmsg(f->socket, &msg, MSG_NOSIGNAL) > 0);
}

static void *answer_thread(void *of)
{
    fake_answer(of);
    return NULL;
}

int fake_attach(struct fake_nofd *f, const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out,
                char *text, size_t text_bytes)
{
    pthread_t thread;
    int rc;

    text[0] = '\0';
    if (pthread_create(&thread, NULL, answer_thread, f) != 0)
        abort();
    rc = nof_pmd_attach(args, pmd_out, text, text_bytes);
    pthread_join(thread, NULL);
    return rc;
}

unsigned fake_get(struct fake_nofd *f, struct nof_desc *descs, unsigned n)
{
    return nof_ring_get(f->submit, descs, n);
}

void fake_complete(struct fake_nofd *f, const struct nof_comp *comps, unsigned n)
{
    while (n > 0) {
        unsigned put = nof_ring_put(f->complete, comps, n);

        comps += put;
        n -= put;
        nof_fence_full();
        if (__atomic_load_n(&f->host_words->host_asleep, __ATOMIC_RELAXED) != 0) {
            __atomic_fetch_add(&f->host_words->wake, 1, __ATOMIC_SEQ_CST);
            syscall(SYS_futex, &f->host_words->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
            f->wakes++;
        }
        if (put == 0)
            sched_yield();
    }
}

bool fake_sleep(struct fake_nofd *f, int timeout_ms)
{
    struct pollfd p = {.fd = f->fds[NOF_BAR_FD_DOORBELL], .events = POLLIN};
    bool woken = true;

    __atomic_store_n(&f->nic_words->nic_asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full();
    if (rte_ring_empty(f->submit)) {
        woken = poll(&p, 1, timeout_ms) > 0;
        if (woken)
            fake_doorbells(f);
    }
    __atomic_store_n(&f->nic_words->nic_asleep, 0, __ATOMIC_RELAXED);
    return woken;
}

uint64_t fake_doorbells(struct fake_nofd *f)
{
    uint64_t rung = 0;

    if (read(f->fds[NOF_BAR_FD_DOORBELL], &rung, sizeof(rung)) != (ssize_t)sizeof(rung))
        return 0;
    return rung;
}

void fake_hang_up(struct fake_nofd *f)
{
    if (f->socket >= 0)
        close(f->socket);
    f->socket = -1;
}

void fake_close(struct fake_nofd *f)
{
    fake_hang_up(f);
    close(f->listener);
    for (int i = 0; i < NOF_BAR_FDS; i++)
        close(f->fds[i]);
    munmap(f->bar, f->reply.bar_bytes);
    if (f->bells != NULL) {
        munmap(f->bells, f->bells_bytes);
        munmap(f->roster, f->roster_bytes);
        close(f->fds[NOF_BAR_FD_SEGMENT]);
        close(f->fds[NOF_BAR_FD_ROSTER]);
    }
}

unsigned fake_open_descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}
