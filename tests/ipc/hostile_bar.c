/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host that writes what it likes into its BAR: descriptors, ring indices, sync types, noise. */
#include "hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 40
#define NOISE_NS 400000000ull
#define FALLOC_PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void ring_doorbell(struct intruder *in)
{
    uint64_t one = 1;

    (void)!write(in->fd[NOF_BAR_FD_DOORBELL], &one, sizeof(one));
}

static void the_memfds_cannot_be_resized_or_rewritten(struct hostile *h)
{
    struct intruder in;
    char path[64];
    int fd;

    hostile_intrude(h, &in);
    check(ftruncate(in.fd[NOF_BAR_FD_RO], 0) != 0 && errno == EPERM);
    check(ftruncate(in.fd[NOF_BAR_FD_RW], 0) != 0 && errno == EPERM);
    check(ftruncate(in.fd[NOF_BAR_FD_RW], 1 << 30) != 0 && errno == EPERM);
    check(write(in.fd[NOF_BAR_FD_RO], "x", 1) < 0 && errno == EPERM);
    check(fallocate(in.fd[NOF_BAR_FD_RO], FALLOC_PUNCH, 0, NOF_BAR_PAGE_BYTES) != 0);
    check(fcntl(in.fd[NOF_BAR_FD_RO], F_ADD_SEALS, F_SEAL_WRITE) != 0);
    check(fcntl(in.fd[NOF_BAR_FD_RW], F_ADD_SEALS, F_SEAL_WRITE) != 0);
    check(mmap(NULL, NOF_BAR_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, in.fd[NOF_BAR_FD_RO], 0) ==
          MAP_FAILED);
    check(mprotect(in.bar, NOF_BAR_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0);
    /* Opened once more, for writing. */
    snprintf(path, sizeof(path), "/proc/self/fd/%d", in.fd[NOF_BAR_FD_RO]);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        check(mmap(NULL, NOF_BAR_PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        check(write(fd, "x", 1) < 0);
        close(fd);
    }
    check(hostile_nofd_lives(h));
    hostile_leave(&in);
}

/* A hole in the writable memfd reads as zeroes: nothing worse than noise. */
static void holes_in_the_writable_memfd_harm_nobody(struct hostile *h)
{
    struct intruder in;

    hostile_intrude(h, &in);
    (void)fallocate(in.fd[NOF_BAR_FD_RW], FALLOC_PUNCH, 0, 1 << 20);
    ring_doorbell(&in);
    hostile_pair_goes_on(h, 10);
    hostile_leave(&in);
}

static void an_index_outside_the_ring_fails_the_endpoint(struct hostile *h)
{
    uint64_t before = hostile_counter(h, 0, "host.ring_faults");
    struct nof_desc probe = {
        .opcode = NOF_DESC_PROBE, .peer = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG, .cookie = 1};
    struct intruder in;

    hostile_intrude(h, &in);
    in.submit->prod.tail = 0x80000000u;
    ring_doorbell(&in);
    check(hostile_thrown_out(&in, CHECK_PATIENCE_MS));
    hostile_leave(&in);

    hostile_intrude(h, &in);
    in.submit->cons.head = 12345;
    hostile_submit(&in, &probe);
    check(hostile_thrown_out(&in, CHECK_PATIENCE_MS));
    hostile_leave(&in);

    hostile_intrude(h, &in);
    in.complete->cons.tail = 0x80000000u; /* more read than was ever written */
    hostile_submit(&in, &probe);
    check(hostile_thrown_out(&in, CHECK_PATIENCE_MS));
    hostile_leave(&in);

    check_equal(hostile_counter(h, 0, "host.ring_faults"), before + 3);
}

/* nofd never looks at it: a multi-producer ring would have it spin for ever. */
static void a_changed_sync_type_changes_nothing(struct hostile *h)
{
    struct nof_desc probe = {.opcode = NOF_DESC_PROBE, .peer = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG};
    struct intruder in;
    struct nof_comp comp;

    for (uint32_t type = 0; type < 6; type++) {
        hostile_intrude(h, &in);
        in.submit->prod.single = type;
        in.submit->cons.single = type;
        in.complete->prod.single = type;
        in.complete->cons.single = type;
        in.submit->cons.tail -= type; /* somebody seems to be in the middle of a dequeue */
        probe.cookie = type + 1;
        hostile_submit(&in, &probe);
        for (int ms = 0; nof_ring_get(in.complete, &comp, 1) == 0; ms++) {
            struct timespec nap = {.tv_nsec = 1000000};

            check(ms < CHECK_PATIENCE_MS);
            nanosleep(&nap, NULL);
        }
        check(comp.opcode == NOF_COMP_PROBE && comp.cookie == type + 1 && comp.status == NOF_ENOMATCH);
        hostile_leave(&in);
    }
}

static void random_descriptors_harm_nobody(struct hostile *h)
{
    struct intruder in;

    for (unsigned round = 0; round < ROUNDS; round++) {
        hostile_intrude(h, &in);
        for (unsigned i = 0; i < 300; i++) {
            struct nof_desc desc;
            uint64_t *words = (uint64_t *)(void *)&desc;
            struct nof_comp drop[32];

            for (unsigned j = 0; j < sizeof(desc) / 8; j++)
                words[j] = hostile_random(h);
            if (round % 4 != 0) { /* plausible: a known opcode, small ranks and lengths */
                desc.opcode = (uint8_t)(1 + hostile_random(h) % 14);
                desc.flags &= round % 2 ? 0x3f : 0;
                desc.agreed = 0;
                desc.elem = 0;
                desc.peer = (int32_t)(hostile_random(h) % 3) - 1;
                desc.tag = (int32_t)(hostile_random(h) % 3) - 1;
                desc.len = hostile_random(h) % 100000;
                desc.ctx = (uint32_t)(hostile_random(h) % 2);
            }
            hostile_submit(&in, &desc);
            (void)nof_ring_get(in.complete, drop, 32);
        }
        hostile_leave(&in);
    }
    hostile_pair_goes_on(h, 10);
}

/* All that the host can write, rewritten for as long as nofd lets it. */
static void make_noise(struct hostile *h, struct intruder *in)
{
    uint64_t until_ns = now_ns() + NOISE_NS;

    while (now_ns() < until_ns) {
        for (uint32_t i = 0; i < in->id.nsegments; i++) {
            const struct nof_bar_segment *s = &in->id.segment[i];
            uint64_t *words = (uint64_t *)(void *)(in->bar + s->bar_offset);
            uint64_t n = s->len < 65536 + 512 ? s->len : 65536 + 512;

            if (s->fd != NOF_BAR_FD_RW)
                continue;
            for (unsigned j = 0; j < 200; j++)
                words[hostile_random(h) % (n / 8)] = hostile_random(h);
            /* The indices most of all. */
            for (unsigned j = 0; j < 8; j++)
                ((uint32_t *)(void *)words)[hostile_random(h) % 64] = (uint32_t)(hostile_random(h) % 2048);
        }
        ring_doorbell(in);
    }
}

static void a_bar_filled_with_noise_harms_nobody(struct hostile *h)
{
    for (unsigned round = 0; round < 4; round++) {
        struct intruder in;

        hostile_intrude(h, &in);
        make_noise(h, &in);
        check(hostile_nofd_lives(h));
        hostile_leave(&in);
        hostile_pair_goes_on(h, 10);
    }
}

/* A host that only ever submits, as fast as it can, and never reaps: the pair moves on meanwhile. */
static void a_flood_leaves_the_others_their_share(struct hostile *h)
{
    struct nof_desc probe = {
        .opcode = NOF_DESC_PROBE, .peer = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG, .cookie = 7};
    pid_t flood = fork();

    check(flood >= 0);
    if (flood == 0) {
        struct intruder in;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        hostile_intrude(h, &in);
        __atomic_store_n(&h->board->flooding, 1, __ATOMIC_RELEASE);
        for (;;)
            hostile_submit(&in, &probe);
    }
    for (int ms = 0; __atomic_load_n(&h->board->flooding, __ATOMIC_ACQUIRE) == 0; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
    hostile_pair_goes_on(h, 100);
    check(kill(flood, SIGKILL) == 0);
    check(waitpid(flood, NULL, 0) == flood);
}

static void a_killed_host_leaves_nothing(struct hostile *h)
{
    pid_t pid = fork();
    char answer[8192];

    check(pid >= 0);
    if (pid == 0) {
        struct intruder in;

        hostile_intrude(h, &in);
        make_noise(h, &in);
        for (;;)
            pause();
    }
    usleep(100000);
    kill(pid, SIGKILL);
    check(waitpid(pid, NULL, 0) == pid);
    for (int ms = 0;; ms += 10) {
        check(hostile_control(h, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"endpoints\"}", answer,
                              sizeof(answer)));
        if (strstr(strstr(answer, "\"rank\":0") + 1, "\"rank\":0") == NULL)
            break; /* only the pair's */
        check(ms < CHECK_PATIENCE_MS);
        usleep(10000);
    }
}

int main(int argc, char **argv)
{
    struct hostile h;

    hostile_start(&h, argc, argv, NULL);
    the_memfds_cannot_be_resized_or_rewritten(&h);
    holes_in_the_writable_memfd_harm_nobody(&h);
    an_index_outside_the_ring_fails_the_endpoint(&h);
    a_changed_sync_type_changes_nothing(&h);
    random_descriptors_harm_nobody(&h);
    a_bar_filled_with_noise_harms_nobody(&h);
    a_flood_leaves_the_others_their_share(&h);
    a_killed_host_leaves_nothing(&h);
    hostile_end(&h);
    return 0;
}
