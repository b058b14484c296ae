/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank dies, the daemon has not heard of it, and its number is another process's: what is asked for in the dead
 * rank's name reaches nobody's memory, neither that of an innocent process of the same user nor the daemon's own.
 *
 * The daemon is held by ptrace where it would hear of the death, and numbers are chosen, in a PID namespace of the
 * test's own: needs root. The rank is a process that shares memory and descriptors with one that survives it
 * (CLONE_VM, CLONE_FILES) and goes on using its rings. */
#include "hostile_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

#define LAST_PID "/proc/sys/kernel/ns_last_pid"
#define SECRET 'S'
#define PATIENCE_TURNS 100000
#define BOUNCED (16u << 10)

/* What the test and its user's processes say to each other; each byte is awaited. */
struct talk {
    int to_user[2];
    int to_test[2];
    pid_t rank; /* shared memory */
    uint64_t loot_addr; /* in the daemon's memory */
    uint8_t loot[64]; /* and what is there */
};

static struct talk *talk;

static void say(int fd)
{
    char byte = 1;

    check(write(fd, &byte, 1) == 1);
}

static void hear(int fd)
{
    char byte;
    ssize_t n;

    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    check(n == 1);
}

/* From the user, who may have failed. */
static void hear_from(pid_t user)
{
    struct pollfd word = {.fd = talk->to_test[0], .events = POLLIN};
    int status;

    while (poll(&word, 1, 100) != 1)
        check(waitpid(user, &status, WNOHANG) == 0);
    hear(talk->to_test[0]);
}

struct rank {
    struct hostile *h;
    struct nof_attach_request request; /* rank 0 of two */
    struct intruder in;
    struct intruder mine; /* rank 1, of the process that survives: it receives what rank 0 sends */
    int attached[2];
    int status[6]; /* of the request with this cookie; 1: under way */
};

enum {
    RECEIVED = 1,
    SENT,
    BOUNCE_RECEIVED,
    BOUNCE_SENT,
    STOLEN
}; /* cookies, the first two hostile_transfer()'s */

static int ended(struct rank *rank, unsigned cookie)
{
    struct nof_comp comp;

    for (int ms = 0; rank->status[cookie] == 1; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        while (nof_ring_get(rank->in.complete, &comp, 1) == 1)
            if (comp.cookie >= RECEIVED && comp.cookie <= STOLEN)
                rank->status[comp.cookie] = comp.status;
        usleep(1000);
    }
    return rank->status[cookie];
}

static void transfer(struct rank *rank, void *from, void *to)
{
    rank->status[RECEIVED] = rank->status[SENT] = 1;
    hostile_transfer(&rank->in, from, to);
}

static int rank_main(void *arg)
{
    struct rank *rank = arg;

    check(hostile_attach(&rank->in, hostile_connect(rank->h), &rank->request, sizeof(rank->request)) ==
          NOF_OK);
    say(rank->attached[1]);
    while (pause() < 0)
        continue;
    return 0;
}

/* Attached, and it works; its process is talk->rank. */
static void start_rank(struct hostile *h, struct rank *rank, uint8_t *from, uint8_t *to)
{
    static char stack[256 << 10] __attribute__((aligned(16)));

    rank->h = h;
    hostile_request(h, &rank->request);
    rank->request.size = 2;
    check(pipe(rank->attached) == 0);
    talk->rank = clone(rank_main, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD, rank);
    check(talk->rank > 0);
    hear(rank->attached[0]);
    check(rank->in.id.dma == NOF_DMA_DIRECT);
    hostile_know_myself(&rank->in);
    transfer(rank, from, to);
    check_equal(ended(rank, SENT), NOF_OK);
    check_equal(ended(rank, RECEIVED), NOF_OK);
}

static void end_rank(void)
{
    check(kill(talk->rank, SIGKILL) == 0);
    check(waitpid(talk->rank, NULL, 0) == talk->rank);
}

static void meet(struct intruder *in, int32_t number, const struct intruder *other)
{
    struct nof_desc peer = {.opcode = NOF_DESC_PEER, .peer = number};

    memcpy(peer.inline_data, &other->id.card, sizeof(other->id.card));
    hostile_submit(in, &peer);
}

static void attach_mine(struct rank *rank)
{
    struct nof_attach_request request = rank->request;

    request.rank = 1;
    check(hostile_attach(&rank->mine, hostile_connect(rank->h), &request, sizeof(request)) == NOF_OK);
    meet(&rank->in, 1, &rank->mine);
    meet(&rank->mine, 0, &rank->in);
}

/* From the rank's memory to ours. */
static void steal(struct rank *rank, uint64_t addr, void *to)
{
    struct nof_desc receive = {
        .opcode = NOF_DESC_RECV, .tag = STOLEN, .len = HOSTILE_LEN, .addr = (uint64_t)(uintptr_t)to};
    struct nof_desc send = {.opcode = NOF_DESC_SEND,
                            .cookie = STOLEN,
                            .peer = 1,
                            .tag = STOLEN,
                            .len = HOSTILE_LEN,
                            .addr = addr};

    rank->status[STOLEN] = 1;
    hostile_submit(&rank->mine, &receive);
    hostile_submit(&rank->in, &send);
}

/* Payload that the daemon has already, so that only the write is left. */
static void bounce(struct rank *rank, void *to)
{
    struct intruder *in = &rank->in;
    struct nof_desc receive = {.opcode = NOF_DESC_RECV,
                               .cookie = BOUNCE_RECEIVED,
                               .peer = 0,
                               .tag = BOUNCED,
                               .len = BOUNCED,
                               .addr = (uint64_t)(uintptr_t)to};
    struct nof_desc send = {.opcode = NOF_DESC_SEND,
                            .cookie = BOUNCE_SENT,
                            .flags = NOF_DESC_F_BOUNCE,
                            .peer = 0,
                            .tag = BOUNCED,
                            .len = BOUNCED,
                            .addr = 0};

    rank->status[BOUNCE_RECEIVED] = rank->status[BOUNCE_SENT] = 1;
    memset(in->bar + in->id.bounce_offset, 'x', BOUNCED);
    hostile_submit(in, &receive);
    hostile_submit(in, &send);
}

static bool all_are(const uint8_t *bytes, size_t n, uint8_t value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* Process with the dead rank's number and the same buffers at the same addresses, but its own. */
static void heir_main(uint8_t *from, const uint8_t *to, int up, int down)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(from, SECRET, HOSTILE_LEN);
    say(up);
    hear(down);
    _exit(all_are(to, HOSTILE_LEN, 0) ? 0 : 1);
}

_Noreturn static void user_of_an_innocent_heir(struct hostile *h)
{
    struct rank rank;
    uint8_t *from = hostile_buffer();
    uint8_t *to = hostile_buffer();
    int up[2], down[2], status;
    pid_t heir;

    hostile_become_nobody();
    start_rank(h, &rank, from, to);
    say(talk->to_test[1]); /* the daemon is held */
    hear(talk->to_user[0]);
    end_rank();
    say(talk->to_test[1]); /* the number is chosen */
    hear(talk->to_user[0]);
    check(pipe(up) == 0 && pipe(down) == 0);
    heir = fork();
    if (heir == 0)
        heir_main(from, to, up[1], down[0]);
    hear(up[0]);
    check_equal(heir, talk->rank);
    bounce(&rank, to);
    status = ended(&rank, BOUNCE_RECEIVED);
    printf("a write in the name of a dead rank: %s\n", nof_strstatus(status));
    check_equal(status, NOF_EPEERDEAD);
    transfer(&rank, from, to);
    status = ended(&rank, SENT);
    printf("a read in the name of a dead rank: %s\n", nof_strstatus(status));
    check_equal(status, NOF_EPEERDEAD);
    say(down[1]);
    check(waitpid(heir, &status, 0) == heir);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    say(talk->to_test[1]);
    _exit(0);
}

_Noreturn static void user_of_a_daemons_number(struct hostile *h)
{
    struct rank rank;
    uint8_t *from = hostile_buffer();
    uint8_t *to = hostile_buffer();
    int status;

    hostile_become_nobody();
    start_rank(h, &rank, from, to);
    attach_mine(&rank);
    say(talk->to_test[1]); /* the daemon is held, and begins a helper */
    hear(talk->to_user[0]);
    check(hostile_signal_helpers(h, SIGKILL) > 0);
    while (hostile_signal_helpers(h, 0) > 0)
        usleep(1000);
    steal(&rank, talk->loot_addr, to);
    say(talk->to_test[1]); /* it is about to */
    hear(talk->to_user[0]);
    end_rank();
    say(talk->to_test[1]); /* its new helper has the number */
    hear(talk->to_user[0]);
    status = ended(&rank, STOLEN);
    printf("a read of the daemon in the name of a dead rank: %s\n", nof_strstatus(status));
    /* On a busy machine no helper may come to it within --dma-timeout: then that ends it, and no byte has come either. */
    check(status == NOF_EPEERDEAD || status == NOF_EFAULT);
    check(memcmp(to, talk->loot, sizeof(talk->loot)) != 0);
    say(talk->to_test[1]);
    _exit(0);
}

/* The next process has this number, if it is free. */
static void choose_number(pid_t pid)
{
    int fd = open(LAST_PID, O_WRONLY | O_CLOEXEC);
    char text[16];
    int n = snprintf(text, sizeof(text), "%d", (int)pid - 1);

    check(fd >= 0 && write(fd, text, (size_t)n) == n);
    close(fd);
}

static bool has_begun_one(int status)
{
    int event = status >> 16;

    return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK;
}

/* The new thread or process is held with the daemon: it runs, and is held no more. The daemon may wait for that. */
static pid_t let_new_one_go(pid_t nofd)
{
    unsigned long child = 0;
    int status;

    check(ptrace(PTRACE_GETEVENTMSG, nofd, NULL, &child) == 0);
    check(waitpid((pid_t)child, &status, __WALL) == (pid_t)child && WIFSTOPPED(status));
    check(ptrace(PTRACE_DETACH, (pid_t)child, NULL, NULL) == 0);
    return (pid_t)child;
}

static void hold(pid_t nofd)
{
    int status;

    check(ptrace(PTRACE_SEIZE, nofd, NULL,
                 (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                                PTRACE_O_TRACEVFORK)) == 0);
    check(ptrace(PTRACE_INTERRUPT, nofd, NULL, NULL) == 0);
    check(waitpid(nofd, &status, __WALL) == nofd && WIFSTOPPED(status));
    while (has_begun_one(status)) { /* just now: it is held where it waits for that one */
        (void)let_new_one_go(nofd);
        check(ptrace(PTRACE_CONT, nofd, NULL, NULL) == 0);
        check(waitpid(nofd, &status, __WALL) == nofd && WIFSTOPPED(status));
    }
}

static void let_go(pid_t nofd)
{
    check(ptrace(PTRACE_DETACH, nofd, NULL, NULL) == 0);
}

static bool begins_a_process(uint64_t number)
{
#ifdef SYS_vfork
    if (number == SYS_vfork || number == SYS_fork)
        return true;
#endif
    return number == SYS_clone || number == SYS_clone3;
}

static bool waits_for_events(uint64_t number)
{
#ifdef SYS_epoll_wait
    if (number == SYS_epoll_wait)
        return true;
#endif
    return number == SYS_epoll_pwait;
}

/* Held again where it is about to make such a system call. */
static void run_until(pid_t nofd, bool (*wanted)(uint64_t number))
{
    struct __ptrace_syscall_info info = {0};
    int status;

    for (int turns = 0; turns < PATIENCE_TURNS; turns++) {
        check(ptrace(PTRACE_SYSCALL, nofd, NULL, NULL) == 0);
        check(waitpid(nofd, &status, __WALL) == nofd && WIFSTOPPED(status));
        if (has_begun_one(status))
            (void)let_new_one_go(nofd);
        if (WSTOPSIG(status) != (SIGTRAP | 0x80))
            continue;
        check(ptrace(PTRACE_GET_SYSCALL_INFO, nofd, (void *)sizeof(info), &info) > 0);
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY && wanted(info.entry.nr))
            return;
    }
    fprintf(stderr, "the daemon did not make the awaited system call in %d turns\n", PATIENCE_TURNS);
    exit(1);
}

/* Its new thread or process runs. */
static pid_t run_until_it_has(pid_t nofd)
{
    int status;

    do {
        check(ptrace(PTRACE_CONT, nofd, NULL, NULL) == 0);
        check(waitpid(nofd, &status, __WALL) == nofd && WIFSTOPPED(status));
    } while (!has_begun_one(status));
    return let_new_one_go(nofd);
}

/* Something that the daemon could give away, and that is not what a fresh buffer holds: its code. */
static void find_loot(pid_t nofd)
{
    char path[64], line[512], rights[5] = "";
    unsigned long long from = 0, to = 0;
    FILE *maps;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)nofd);
    maps = fopen(path, "r");
    check(maps != NULL);
    do
        check(fgets(line, sizeof(line), maps) != NULL &&
              sscanf(line, "%llx-%llx %4s", &from, &to, rights) == 3);
    while (strcmp(rights, "r-xp") != 0 || to - from < HOSTILE_LEN);
    fclose(maps);
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)nofd);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0 && pread(fd, talk->loot, sizeof(talk->loot), (off_t)from) == (ssize_t)sizeof(talk->loot));
    close(fd);
    talk->loot_addr = from;
}

static pid_t start_user(struct hostile *h, void (*user)(struct hostile *h))
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        setvbuf(stdout, NULL, _IOLBF, 0);
        user(h);
    }
    hear_from(pid);
    return pid;
}

static void end_user(pid_t user)
{
    int status;

    check(waitpid(user, &status, 0) == user);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void an_innocent_heir_of_the_number_is_left_alone(struct hostile *h)
{
    pid_t user = start_user(h, user_of_an_innocent_heir);

    hold(h->nofd);
    say(talk->to_user[1]);
    hear_from(user);
    choose_number(talk->rank);
    say(talk->to_user[1]);
    hear_from(user);
    let_go(h->nofd);
    end_user(user);
    hostile_pair_goes_on(h, 10);
}

static void the_daemon_is_no_heir_of_the_number(struct hostile *h)
{
    pid_t user = start_user(h, user_of_a_daemons_number);

    hold(h->nofd);
    say(talk->to_user[1]);
    hear_from(user);
    run_until(h->nofd, begins_a_process);
    say(talk->to_user[1]);
    hear_from(user);
    choose_number(talk->rank);
    check_equal(run_until_it_has(h->nofd), talk->rank);
    run_until(h->nofd, waits_for_events); /* next it would hear of the death */
    say(talk->to_user[1]);
    hear_from(user);
    let_go(h->nofd);
    end_user(user);
    hostile_pair_goes_on(h, 10);
}

static int run(int argc, char **argv)
{
    /* Nothing is staged: every receive is a write into memory. */
    static const char *const args[] = {"--staging", "0", NULL};
    struct hostile h;

    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0 || access(LAST_PID, W_OK) != 0) {
        printf("no /proc/sys/kernel/ns_last_pid here, so no number can be chosen\n");
        return HOSTILE_SKIP;
    }
    talk = mmap(NULL, sizeof(*talk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(talk != MAP_FAILED && pipe(talk->to_user) == 0 && pipe(talk->to_test) == 0);
    hostile_start(&h, argc, argv, args);
    if (ptrace(PTRACE_SEIZE, h.nofd, NULL, NULL) != 0) {
        printf("no ptrace here, so the daemon cannot be held\n");
        exit(HOSTILE_SKIP); /* and all in this namespace end */
    }
    check(ptrace(PTRACE_INTERRUPT, h.nofd, NULL, NULL) == 0 && waitpid(h.nofd, NULL, __WALL) == h.nofd);
    let_go(h.nofd);
    find_loot(h.nofd);
    an_innocent_heir_of_the_number_is_left_alone(&h);
    the_daemon_is_no_heir_of_the_number(&h);
    hostile_end(&h);
    return 0;
}

int main(int argc, char **argv)
{
    int status;
    pid_t pid;

#ifdef UNDER_TSAN
    printf("under ThreadSanitizer, whose own thread ptrace stops too: no number can be chosen\n");
    return HOSTILE_SKIP;
#endif
    if (geteuid() != 0 || unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
        printf("not root, or no namespaces: no number can be chosen\n");
        return HOSTILE_SKIP;
    }
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(run(argc, argv));
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}
