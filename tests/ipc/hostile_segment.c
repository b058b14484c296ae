/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment of a job on a host, with a real daemon: who gets it and who does not, what one of its ranks can do to it, what
 * the others hear of a death, and that nothing stays. */
#include "hostile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 300u
#define RANKS 3u
#define OTHER_USER 70001u
#define NOISE_NS 300000000ull
#define FALLOC_PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

/* A rank with a slot, by hand. */
struct rank {
    struct intruder in;
    uint8_t *segment; /* all of it */
    const struct nof_roster *roster;
    struct nof_segment_bell *bell; /* its own */
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static const struct nof_roster_rank *entry(const struct rank *r, uint32_t slot)
{
    return (const struct nof_roster_rank *)(const void *)(r->roster + 1) + slot;
}

static uint32_t state_of(const struct rank *r, uint32_t slot)
{
    return __atomic_load_n(&entry(r, slot)->state, __ATOMIC_ACQUIRE);
}

static void await_state(const struct rank *r, uint32_t slot, uint32_t state)
{
    for (unsigned ms = 0; state_of(r, slot) != state; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
}

/* A request for a job of `size` ranks of which `local` are here. */
static struct nof_attach_request a_job(struct hostile *h, uint32_t size, uint32_t local)
{
    struct nof_attach_request request;

    hostile_request(h, &request);
    request.size = size;
    request.flags = NOF_ATTACH_F_SEGMENT;
    request.local_ranks = local;
    return request;
}

static void map_all(struct rank *r)
{
    const struct nof_segment_reply *told = &r->in.reply.shared;

    r->segment =
        mmap(NULL, told->segment_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->in.fd[NOF_BAR_FD_SEGMENT], 0);
    r->roster = mmap(NULL, told->roster_bytes, PROT_READ, MAP_SHARED, r->in.fd[NOF_BAR_FD_ROSTER], 0);
    check(r->segment != MAP_FAILED && r->roster != MAP_FAILED);
    r->bell = (struct nof_segment_bell *)(void *)r->segment + told->slot;
}

static void attach(struct hostile *h, struct rank *r, struct nof_attach_request *request, uint32_t rank)
{
    memset(r, 0, sizeof(*r));
    request->rank = rank;
    check_equal(hostile_attach(&r->in, hostile_connect(h), request, sizeof(*request)), NOF_OK);
    if (r->in.reply.shared.nslots != 0)
        map_all(r);
}

static void unmap(struct rank *r)
{
    if (r->segment == NULL)
        return;
    munmap(r->segment, r->in.reply.shared.segment_bytes);
    munmap((void *)(uintptr_t)r->roster, r->in.reply.shared.roster_bytes);
    r->segment = NULL;
}

static void leave(struct rank *r)
{
    const struct nof_detach bye = {.magic = NOF_DETACH_MAGIC};

    check(send(r->in.socket, &bye, sizeof(bye), MSG_NOSIGNAL) == (ssize_t)sizeof(bye));
    unmap(r);
    hostile_leave(&r->in);
}

static void die(struct rank *r)
{
    unmap(r);
    hostile_leave(&r->in);
}

static void ranks_of_a_host_share_it_and_others_do_not(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS), alone = a_job(h, 8, 1), stranger = a_job(h, 8, 2);
    struct rank r[RANKS], late, far, single, other;

    for (uint32_t i = 0; i < RANKS; i++) {
        attach(h, &r[i], &request, i);
        check_equal(r[i].in.reply.shared.nslots, RANKS);
        check_equal(r[i].in.reply.shared.slot, i);
        check_equal(r[i].in.id.card.segment_id, r[0].roster->segment_id);
        check_equal(entry(&r[0], i)->rank, i);
        check_equal(entry(&r[0], i)->pid, getpid());
        check_equal(state_of(&r[0], i), NOF_ROSTER_ATTACHED);
    }
    r[1].segment[r[1].roster->segment_bytes - 1] = 77;
    check_equal(r[2].segment[r[2].roster->segment_bytes - 1], 77);
    attach(h, &late, &request, RANKS); /* one more than was said */
    check_equal(late.in.reply.shared.nslots, 0);
    check_equal(late.in.id.card.segment_id, 0);
    attach(h, &single, &alone, 0);
    check_equal(single.in.reply.shared.nslots, 0);
    request.nic = 1; /* another host */
    attach(h, &far, &request, RANKS + 1);
    check(far.roster->segment_id != r[0].roster->segment_id);
    check_equal(far.segment[far.roster->segment_bytes - 1], 0);
    attach(h, &other, &stranger, 0); /* another job */
    check(other.roster->segment_id != r[0].roster->segment_id);
    check_equal(other.segment[other.roster->segment_bytes - 1], 0);
    leave(&r[0]);
    await_state(&r[1], 0, NOF_ROSTER_LEFT);
    check_equal(__atomic_load_n(&r[1].roster->deaths, __ATOMIC_ACQUIRE), 0);
    request.nic = 0;
    attach(h, &r[0], &request, 0); /* its slot is not given again */
    check_equal(r[0].in.reply.shared.nslots, 0);
    for (uint32_t i = 0; i < RANKS; i++)
        leave(&r[i]);
    leave(&late);
    leave(&single);
    leave(&far);
    leave(&other);
}

static void who_has_not_the_key_or_is_another_user_gets_nothing(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS), wrong;
    struct rank r;
    struct intruder in;
    int fd;

    attach(h, &r, &request, 0);
    wrong = request;
    wrong.rank = 1;
    wrong.job_key[3]++;
    fd = hostile_connect(h);
    check_equal(hostile_attach(&in, fd, &wrong, sizeof(wrong)), NOF_EPERM);
    check_equal(in.reply.shared.nslots, 0);
    close(fd);
    wrong = request;
    wrong.rank = 1;
    if (geteuid() == 0) {
        check(seteuid(OTHER_USER) == 0);
        fd = hostile_connect(h);
        check(seteuid(0) == 0);
        check_equal(hostile_attach(&in, fd, &wrong, sizeof(wrong)), NOF_EPERM);
        close(fd);
    }
    check_equal(state_of(&r, 1), NOF_ROSTER_FREE);
    leave(&r);
}

static void neither_can_be_cut_short_and_the_roster_not_be_written(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS);
    struct rank r;
    char path[64];
    int fd;

    attach(h, &r, &request, 0);
    for (int i = NOF_BAR_FD_SEGMENT; i <= NOF_BAR_FD_ROSTER; i++) {
        check(ftruncate(r.in.fd[i], 0) != 0 && errno == EPERM);
        check(ftruncate(r.in.fd[i], (off_t)1 << 40) != 0 && errno == EPERM);
        check(fcntl(r.in.fd[i], F_ADD_SEALS, F_SEAL_WRITE) != 0);
    }
    fd = r.in.fd[NOF_BAR_FD_ROSTER];
    check(write(fd, "x", 1) < 0 && errno == EPERM);
    check(fallocate(fd, FALLOC_PUNCH, 0, NOF_BAR_PAGE_BYTES) != 0);
    check(mmap(NULL, NOF_BAR_PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    check(mprotect((void *)(uintptr_t)r.roster, NOF_BAR_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        check(mmap(NULL, NOF_BAR_PAGE_BYTES, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        check(write(fd, "x", 1) < 0);
        close(fd);
    }
    leave(&r);
}

/* A completion of its NIC, which rings the bell. */
static void probe(struct rank *r)
{
    struct nof_desc desc = {
        .opcode = NOF_DESC_PROBE, .peer = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG, .cookie = 1};
    struct nof_comp comp;

    hostile_submit(&r->in, &desc);
    for (unsigned ms = 0; nof_ring_get(r->in.complete, &comp, 1) == 0; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
}

static void its_nic_rings_the_bell_and_not_the_host_words(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS);
    struct nof_host_words *words;
    struct rank r;

    attach(h, &r, &request, 0);
    words = (struct nof_host_words *)(void *)(r.in.bar + r.in.id.host_words_offset);
    __atomic_store_n(&words->host_asleep, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&r.bell->asleep, 1, __ATOMIC_SEQ_CST);
    probe(&r);
    for (unsigned ms = 0; __atomic_load_n(&r.bell->wake, __ATOMIC_ACQUIRE) == 0; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
    probe(&r); /* what the first did is over */
    check_equal(r.bell->wake, 1);
    check_equal(r.bell->asleep, 0);
    check_equal(words->wake, 0);
    leave(&r);
}

/* In a process of its own: attaches as `rank` and waits to be killed. */
static pid_t victim(struct hostile *h, struct nof_attach_request *request, uint32_t rank)
{
    int ready[2];
    char byte;
    pid_t pid;

    check(pipe2(ready, O_CLOEXEC) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct rank r;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        attach(h, &r, request, rank);
        (void)!write(ready[1], "r", 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    check(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    return pid;
}

/* Sleeps as a driver does until the bell rings, and does not look for itself whether it has. Returns when it did. */
static uint64_t sleep_on_bell(struct rank *r, uint32_t seen)
{
    const struct timespec patience = {.tv_sec = CHECK_PATIENCE_S};

    while (__atomic_load_n(&r->bell->wake, __ATOMIC_ACQUIRE) == seen)
        check(syscall(SYS_futex, &r->bell->wake, FUTEX_WAIT, seen, &patience, NULL, 0) == 0 ||
              errno != ETIMEDOUT);
    return now_ns();
}

/* To one who never had a message of it, and sleeps until the bell rings. */
static void a_death_rings_the_bell(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS);
    struct rank r;
    uint64_t began, took;
    pid_t pid;

    attach(h, &r, &request, 0);
    pid = victim(h, &request, 1);
    check_equal(state_of(&r, 1), NOF_ROSTER_ATTACHED);
    check_equal(entry(&r, 1)->pid, pid);
    __atomic_store_n(&r.bell->asleep, 1, __ATOMIC_SEQ_CST);
    began = now_ns();
    check(kill(pid, SIGKILL) == 0);
    took = sleep_on_bell(&r, 0) - began;
    printf("told after %llu us\n", (unsigned long long)(took / 1000));
    check_equal(state_of(&r, 1), NOF_ROSTER_DEAD);
    check_equal(__atomic_load_n(&r.roster->deaths, __ATOMIC_ACQUIRE), 1);
    check(waitpid(pid, NULL, 0) == pid);
    leave(&r);
}

static void make_noise(struct hostile *h, struct rank *r)
{
    uint64_t until_ns = now_ns() + NOISE_NS;
    uint64_t *words = (uint64_t *)(void *)r->segment;
    uint64_t n = r->roster->part_offset + 65536;

    while (now_ns() < until_ns) {
        for (unsigned i = 0; i < 500; i++)
            words[hostile_random(h) % (n / 8)] = hostile_random(h) | 1ull << 32; /* asleep, most of them */
        for (unsigned i = 0; i < RANKS; i++)
            (void)syscall(SYS_futex, r->segment + i * sizeof(struct nof_segment_bell), FUTEX_WAKE, INT32_MAX,
                          NULL, NULL, 0);
        probe(r);
    }
    (void)fallocate(r->in.fd[NOF_BAR_FD_SEGMENT], FALLOC_PUNCH, 0, 1 << 20);
    probe(r);
}

static void noise_rings_and_holes_hurt_its_own_job_alone(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 8, RANKS), neighbour = a_job(h, 8, RANKS);
    struct rank r[2], n[2];

    for (uint32_t i = 0; i < 2; i++) {
        attach(h, &r[i], &request, i);
        attach(h, &n[i], &neighbour, i);
    }
    make_noise(h, &r[0]);
    check(hostile_nofd_lives(h));
    /* Nothing of it is believed: the roster, and what comes by its NIC, is as it was. */
    check_equal(state_of(&r[0], 0), NOF_ROSTER_ATTACHED);
    check_equal(state_of(&r[0], 1), NOF_ROSTER_ATTACHED);
    check_equal(r[0].roster->deaths, 0);
    probe(&r[1]);
    check_equal(n[0].bell->wake, 0);
    check_equal(n[1].bell->wake, 0);
    memset(r[0].segment, 0xff, r[0].roster->part_offset);
    die(&r[0]); /* with all bells to be rung */
    await_state(&r[1], 0, NOF_ROSTER_DEAD);
    die(&r[1]);
    for (uint32_t i = 0; i < 2; i++) {
        probe(&n[i]);
        leave(&n[i]);
    }
    hostile_pair_goes_on(h, 10);
}

/* Those of segments, rosters and connections: endpoints and helpers keep theirs for who comes next, as many as there
 * have been at once. */
static unsigned descriptors_of(pid_t pid)
{
    char path[64], name[64];
    struct dirent *entry;
    unsigned n = 0;
    ssize_t len;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    check(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        len = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);
        name[len > 0 ? len : 0] = '\0';
        n += strstr(name, "memfd:nof-segment") != NULL || strstr(name, "memfd:nof-roster") != NULL ||
             strstr(name, "socket:") != NULL;
    }
    closedir(dir);
    return n;
}

/* Mappings of segments and rosters. */
static unsigned mappings_of(pid_t pid)
{
    char line[512];
    unsigned n = 0;
    FILE *maps;

    snprintf(line, sizeof(line), "/proc/%d/maps", (int)pid);
    maps = fopen(line, "re");
    check(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, "memfd:nof-segment") != NULL || strstr(line, "memfd:nof-roster") != NULL;
    fclose(maps);
    return n;
}

/* Half of them leave in order, half die. */
static void many_jobs_leave_nothing(struct hostile *h)
{
    unsigned before;

    for (unsigned ms = 0; mappings_of(h->nofd) > 0; ms++) { /* those of the tests before end */
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
    before = descriptors_of(h->nofd);
    for (unsigned i = 0; i < JOBS; i++) {
        struct nof_attach_request request = a_job(h, 8, 2 + i % 7);
        struct rank r[2];

        for (uint32_t j = 0; j < 2; j++)
            attach(h, &r[j], &request, j);
        check(r[0].segment != NULL && r[1].segment != NULL);
        r[0].segment[r[0].roster->part_offset] = 1;
        for (uint32_t j = 0; j < 2; j++) {
            if ((i + j) % 2 == 0)
                leave(&r[j]);
            else
                die(&r[j]);
        }
    }
    for (unsigned ms = 0; mappings_of(h->nofd) > 0 || descriptors_of(h->nofd) > before; ms++) {
        if (ms >= CHECK_PATIENCE_MS)
            fprintf(stderr, "%u mappings and %u descriptors are left, where %u were\n", mappings_of(h->nofd),
                    descriptors_of(h->nofd), before);
        check(ms < CHECK_PATIENCE_MS);
        usleep(1000);
    }
}

static void more_than_there_can_be_goes_by_the_nic(struct hostile *h)
{
    struct nof_attach_request request = a_job(h, 100000, 100000);
    struct rank r;

    attach(h, &r, &request,
           0); /* of a job of which this daemon could not serve a part: as large as it can be */
    check(r.in.reply.shared.nslots == 0 || r.in.reply.shared.nslots <= NOF_SEGMENT_SLOTS_MAX);
    leave(&r);
    hostile_pair_goes_on(h, 10);
}

int main(int argc, char **argv)
{
    struct hostile h;

    hostile_start(&h, argc, argv, NULL);
    ranks_of_a_host_share_it_and_others_do_not(&h);
    who_has_not_the_key_or_is_another_user_gets_nothing(&h);
    neither_can_be_cut_short_and_the_roster_not_be_written(&h);
    its_nic_rings_the_bell_and_not_the_host_words(&h);
    a_death_rings_the_bell(&h);
    noise_rings_and_holes_hurt_its_own_job_alone(&h);
    more_than_there_can_be_goes_by_the_nic(&h);
    many_jobs_leave_nothing(&h);
    hostile_end(&h);
    return 0;
}
