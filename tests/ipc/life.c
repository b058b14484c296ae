/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a daemon starts and ends: never two on one address, never a file left behind, and a private
 * one never outlives its job. argv[1] is nofd. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "pmd_driver.h"

#define NOBODY 65534
#define PATIENCE_S 12 /* a private daemon without a parent would have ended after 10 */
#define BLOCK_BYTES 65536u
#define EARLY_US 60000L
#define EARLY_STEP_US 500L
#define SHORT_BYTES 4096u /* copied by the core itself */

static const char *nofd_path;
static char directory[64];
static char socket_path[96];

struct daemon {
    pid_t pid;
    int said; /* stderr */
    bool ready;
};

/* Starts nofd and waits until it is ready or has ended. */
static struct daemon start(const char *address, const char *option)
{
    struct daemon d = {0};
    char fd_text[16];
    int ready[2];
    int said[2];
    char byte;

    check(pipe(ready) == 0 && pipe(said) == 0);
    snprintf(fd_text, sizeof(fd_text), "%d", ready[1]);
    d.pid = fork();
    check(d.pid >= 0);
    if (d.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(said[1], 2);
        close(said[0]);
        close(said[1]);
        close(ready[0]);
        execl(nofd_path, nofd_path, "--fabric", "2", "--socket", address, "--ready-fd", fd_text, option,
              NULL);
        _exit(127);
    }
    close(ready[1]);
    close(said[1]);
    d.said = said[0];
    d.ready = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    return d;
}

/* Exit status within CHECK_PATIENCE_MS, or -1. */
static int ended(const struct daemon *d)
{
    for (int ms = 0; ms < CHECK_PATIENCE_MS; ms += 5) {
        struct timespec nap = {.tv_nsec = 5000000};
        int status;

        if (waitpid(d->pid, &status, WNOHANG) == d->pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
        nanosleep(&nap, NULL);
    }
    return -1;
}

static bool says(const struct daemon *d, const char *words)
{
    char text[2048];
    size_t used = 0;
    ssize_t n = 1;

    while (n > 0 && used < sizeof(text) - 1) {
        n = read(d->said, text + used, sizeof(text) - 1 - used);
        if (n > 0)
            used += (size_t)n;
    }
    text[used] = '\0';
    if (strstr(text, words) == NULL)
        fprintf(stderr, "nofd said: %s", text);
    return strstr(text, words) != NULL;
}

static int stop(struct daemon *d, int signal_number)
{
    int status;

    kill(d->pid, signal_number);
    status = ended(d);
    close(d->said);
    return status;
}

static unsigned entries(const char *path)
{
    unsigned n = 0;
    DIR *dir = opendir(path);

    check(dir != NULL);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

static struct nof_pmd *attach(const char *address)
{
    struct nof_pmd_attach_args args = {.socket = address, .job_id = 1, .size = 1, .nic = UINT32_MAX};
    struct nof_pmd *pmd;
    char text[256];
    int rc = nof_pmd_attach(&args, &pmd, text, sizeof(text));

    if (rc != NOF_OK)
        fprintf(stderr, "attach: %s\n", text);
    check(rc == NOF_OK);
    return pmd;
}

static void nothing_is_left_behind(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

    for (unsigned i = 0; i < 3; i++) {
        struct daemon d = start(socket_path, NULL);

        check(d.ready);
        check(entries(directory) == 2); /* its two sockets */
        check(stop(&d, signals[i]) == 0);
        check(entries(directory) == 0);
    }
}

/* Its first tens of milliseconds, at many points. */
static void nothing_is_left_behind_by_one_that_is_killed_early(void)
{
    char name[64], tsan[128];

    snprintf(name, sizeof(name), "@nof-life-early-%d", (int)getpid());
    check(setenv("TMPDIR", directory, 1) == 0);
    for (long us = 0; us < EARLY_US; us += EARLY_STEP_US) {
        struct timespec nap = {.tv_nsec = us * 1000};
        int said = open("/dev/null", O_WRONLY | O_CLOEXEC);
        pid_t pid = fork();

        check(pid >= 0);
        if (pid == 0) {
            dup2(said, 2);
            execl(nofd_path, nofd_path, "--fabric", "2", "--socket", name, NULL);
            _exit(127);
        }
        close(said);
        nanosleep(&nap, NULL);
        check(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
        /* ThreadSanitizer's own, for a moment of its start. */
        snprintf(tsan, sizeof(tsan), "%s/tsan.rodata.%d", directory, (int)pid);
        (void)unlink(tsan);
    }
    check(unsetenv("TMPDIR") == 0);
    check(entries(directory) == 0);
}

static void a_second_daemon_is_refused_and_the_first_goes_on(void)
{
    struct daemon first = start(socket_path, NULL);
    struct daemon second = start(socket_path, NULL);
    char name[64];

    check(first.ready && !second.ready);
    check(ended(&second) == 1);
    check(says(&second, "already serves"));
    nof_pmd_detach(attach(socket_path));
    check(stop(&first, SIGTERM) == 0);

    snprintf(name, sizeof(name), "@nof-life-%d", (int)getpid());
    first = start(name, NULL);
    second = start(name, NULL);
    check(first.ready && !second.ready && ended(&second) == 1);
    check(stop(&first, SIGTERM) == 0);
}

static void the_socket_of_a_dead_daemon_is_replaced(void)
{
    struct daemon d = start(socket_path, NULL);

    check(d.ready);
    check(stop(&d, SIGKILL) == 128);
    check(access(socket_path, F_OK) == 0);
    d = start(socket_path, NULL);
    check(d.ready);
    nof_pmd_detach(attach(socket_path));
    check(stop(&d, SIGTERM) == 0);
    check(entries(directory) == 0);
}

/* Something else of that name is nobody's business. */
static void a_file_in_the_way_is_left_alone(void)
{
    FILE *file = fopen(socket_path, "w");
    struct daemon d;

    check(file != NULL);
    fclose(file);
    d = start(socket_path, NULL);
    check(!d.ready && ended(&d) == 1);
    check(says(&d, "is no socket"));
    check(unlink(socket_path) == 0);
}

static void a_private_daemon_ends_with_its_last_rank(void)
{
    struct daemon d = start(socket_path, "--private");

    check(d.ready);
    nof_pmd_detach(attach(socket_path));
    check(ended(&d) == 0);
    check(entries(directory) == 0);
}

static void a_private_daemon_ends_with_its_parent(void)
{
    int gone[2];
    struct pollfd poll_fd;
    pid_t pid;

    check(pipe(gone) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct daemon d = start(socket_path, "--private");

        check(d.ready); /* and it holds the pipe */
        _exit(0);
    }
    close(gone[1]);
    check(waitpid(pid, NULL, 0) == pid);
    poll_fd = (struct pollfd){.fd = gone[0]};
    check(poll(&poll_fd, 1, CHECK_PATIENCE_MS) == 1 && (poll_fd.revents & POLLHUP));
    close(gone[0]);
    check(entries(directory) == 0);
}

static void the_death_of_the_daemon_is_noticed(void)
{
    struct daemon d = start(socket_path, NULL);
    struct nof_pmd *pmd;
    int rc = NOF_OK;

    check(d.ready);
    pmd = attach(socket_path);
    check(stop(&d, SIGKILL) == 128);
    for (int s = 0; s < CHECK_PATIENCE_S && rc == NOF_OK; s++)
        rc = nof_pmd_wait(pmd, nof_pmd_wake_count(pmd), 1000000000);
    check(rc == NOF_ENICDEAD);
    check(nof_pmd_death(pmd)[0] != '\0');
    nof_pmd_detach(pmd);
    check(unlink(socket_path) == 0);
}

static void wrong_options_say_what_is_right(void)
{
    static const struct {
        const char *option, *words;
    } wrong[] = {
        {"--link=fast", "a rate such as"},        {"--loss=2", "a probability"},
        {"--set=pasing=off", "mean \"pacing\""},  {"--mtu=1", "from 576 to 9216"},
        {"--log=loud", "error, warning, notice"}, {"--config=/nowhere", "cannot read"},
    };

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct daemon d = start(socket_path, wrong[i].option);

        check(!d.ready && ended(&d) == 2);
        check(says(&d, wrong[i].words));
        close(d.said);
    }
}

/* No privileges, and a /dev/shm without a free byte. */
static void it_needs_no_privileges_and_no_shared_memory(void)
{
    int status;
    pid_t pid;

    if (geteuid() != 0) {
        printf("not root: the test with a full /dev/shm was left out\n");
        return;
    }
    check(chown(directory, NOBODY, NOBODY) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct daemon d;
        FILE *fill;

        if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("shm", "/dev/shm", "tmpfs", 0, "size=4k") == 0) {
            fill = fopen("/dev/shm/full", "w");
            check(fill != NULL);
            for (int i = 0; i < 8192; i++)
                (void)fputc(0, fill);
            (void)fclose(fill);
        } else {
            printf("no mount namespace: /dev/shm is as it is\n");
        }
        check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        d = start(socket_path, NULL);
        check(d.ready);
        nof_pmd_detach(attach(socket_path));
        check(stop(&d, SIGTERM) == 0);
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check(entries(directory) == 0);
}

/* As long as its parent lives, a program may take its time. Begun first, asked last. */
static void a_private_daemon_waits_for_a_slow_program(struct daemon *d, const char *address, time_t since)
{
    struct timespec nap = {.tv_sec = since + PATIENCE_S - time(NULL)};

    if (nap.tv_sec > 0)
        nanosleep(&nap, NULL);
    nof_pmd_detach(attach(address));
    check(ended(d) == 0);
    close(d->said);
}

static int blocking_page(void **page_out)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    *page_out = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(*page_out != MAP_FAILED);
    range.range.start = (uint64_t)(uintptr_t)*page_out;
    range.range.len = BLOCK_BYTES;
    check(ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0);
    return fd;
}

/* No copy on the NIC core can be taken back; but nothing hangs, and it is said whose page it was. */
static void a_page_that_blocks_a_private_daemon_ends_it_with_a_sentence(void)
{
    static uint8_t good[BLOCK_BYTES];
    struct nof_desc desc[3] = {{.opcode = NOF_DESC_PEER},
                               {.opcode = NOF_DESC_RECV, .cookie = 1, .len = BLOCK_BYTES},
                               {.opcode = NOF_DESC_SEND, .cookie = 2, .len = BLOCK_BYTES}};
    struct nof_pmd *pmd;
    struct daemon d;
    void *page;
    int rc = NOF_OK;
    int fd = blocking_page(&page);

    if (fd < 0) {
        printf("no userfaultfd for us: the test with a blocking page was left out\n");
        return;
    }
    check(setenv("NOF_DMA_TIMEOUT", "300ms", 1) == 0);
    d = start(socket_path, "--private");
    check(unsetenv("NOF_DMA_TIMEOUT") == 0 && d.ready);
    pmd = attach(socket_path);
    memcpy(desc[0].inline_data, &nof_pmd_identity(pmd)->card, sizeof(struct nof_card));
    desc[1].addr = (uint64_t)(uintptr_t)good;
    desc[2].addr = (uint64_t)(uintptr_t)page;
    check(nof_pmd_submit(pmd, desc, 3) == 3);
    for (int ms = 0; ms < CHECK_PATIENCE_MS && rc == NOF_OK; ms += 100)
        rc = nof_pmd_wait(pmd, nof_pmd_wake_count(pmd), 100000000);
    check(rc == NOF_ENICDEAD);
    check(ended(&d) == 1);
    check(says(&d, "memory of rank 0"));
    close(d.said);
    nof_pmd_detach(pmd);
    close(fd);
    munmap(page, BLOCK_BYTES);
    check(entries(directory) == 0);
}

static bool control_answers(const char *address, const char *request, const char *words)
{
    static char answer[1 << 18];
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CHECK_PATIENCE_S};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t used = 0;
    ssize_t n = 1;

    check(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    snprintf(sun.sun_path, sizeof(sun.sun_path), "%s.ctl", address);
    check(connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
    check(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
    while (n > 0 && used + 1 < sizeof(answer) && memchr(answer, '\n', used) == NULL) {
        n = recv(fd, answer + used, sizeof(answer) - 1 - used, 0);
        used += n > 0 ? (size_t)n : 0;
    }
    answer[used] = '\0';
    close(fd);
    return strstr(answer, words) != NULL;
}

/* Who only looks on waits for no NIC core. */
static void counters_are_read_while_the_core_is_held_up(void)
{
    static uint8_t good[BLOCK_BYTES];
    struct nof_desc desc[3] = {{.opcode = NOF_DESC_PEER},
                               {.opcode = NOF_DESC_RECV, .cookie = 1, .len = SHORT_BYTES},
                               {.opcode = NOF_DESC_SEND, .cookie = 2, .len = SHORT_BYTES}};
    struct pollfd fault;
    struct nof_pmd *pmd;
    struct daemon d;
    void *page;
    int fd = blocking_page(&page);

    if (fd < 0) {
        printf("no userfaultfd for us: the test with a core that is held up was left out\n");
        return;
    }
    check(setenv("NOF_DMA_TIMEOUT", "600s", 1) == 0);
    d = start(socket_path, "--private");
    check(unsetenv("NOF_DMA_TIMEOUT") == 0 && d.ready);
    pmd = attach(socket_path);
    memcpy(desc[0].inline_data, &nof_pmd_identity(pmd)->card, sizeof(struct nof_card));
    desc[1].addr = (uint64_t)(uintptr_t)good;
    desc[2].addr = (uint64_t)(uintptr_t)page;
    check(nof_pmd_submit(pmd, desc, 3) == 3);
    fault = (struct pollfd){.fd = fd, .events = POLLIN};
    check(poll(&fault, 1, CHECK_PATIENCE_MS) == 1); /* the core waits for the page */
    check(control_answers(socket_path, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"stats\"}\n",
                          "\"endpoints\""));
    check(control_answers(socket_path, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"features\"}\n", "pacing"));
    close(fd); /* the page is there now */
    nof_pmd_detach(pmd);
    check(ended(&d) == 0);
    close(d.said);
    munmap(page, BLOCK_BYTES);
    check(entries(directory) == 0);
}

/* In the default directory, which somebody else could have made first. */
static void a_directory_that_others_can_write_is_refused(void)
{
    char path[160];
    char address[176];
    pid_t pid;
    int status;

    snprintf(path, sizeof(path), "%s/nof", directory);
    snprintf(address, sizeof(address), "%s/nofd.sock", path);
    check(chmod(directory, 0777) == 0 && mkdir(path, 0777) == 0 && chmod(path, 0777) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        struct daemon d;

        check(setenv("XDG_RUNTIME_DIR", directory, 1) == 0);
        if (geteuid() == 0)
            check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        d = start(address, NULL);
        check(!d.ready && ended(&d) == 1);
        check(says(&d, "nobody else can write"));
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check(rmdir(path) == 0);
}

static void a_daemon_of_another_user_is_not_trusted(void)
{
    struct nof_pmd_attach_args args = {.job_id = 1, .size = 1, .nic = UINT32_MAX};
    struct nof_pmd *pmd;
    struct daemon d;
    char name[64];
    char text[512] = "";
    pid_t pid;
    int ready[2];
    int status;
    char byte = 0;

    if (geteuid() != 0) {
        printf("not root: the test with another user's daemon was left out\n");
        return;
    }
    snprintf(name, sizeof(name), "@nof-life-other-%d", (int)getpid());
    args.socket = name;
    check(pipe(ready) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        check(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
        d = start(name, NULL);
        check(d.ready && write(ready[1], &byte, 1) == 1);
        check(ended(&d) == 0); /* ended by our parent */
        _exit(0);
    }
    check(read(ready[0], &byte, 1) == 1);
    check(nof_pmd_attach(&args, &pmd, text, sizeof(text)) == NOF_EPERM);
    check(strstr(text, "neither root nor you") != NULL);
    kill(pid, SIGKILL); /* the daemon follows */
    check(waitpid(pid, &status, 0) == pid);
    close(ready[0]);
    close(ready[1]);
}

int main(int argc, char **argv)
{
    struct daemon patient;
    char patient_name[64];
    time_t since = time(NULL);

    check(argc == 2);
    nofd_path = argv[1];
    snprintf(patient_name, sizeof(patient_name), "@nof-life-patient-%d", (int)getpid());
    patient = start(patient_name, "--private");
    check(patient.ready);
    snprintf(directory, sizeof(directory), "/tmp/nof-life.XXXXXX");
    check(mkdtemp(directory) != NULL);
    snprintf(socket_path, sizeof(socket_path), "%s/socket", directory);
    nothing_is_left_behind();
    nothing_is_left_behind_by_one_that_is_killed_early();
    a_second_daemon_is_refused_and_the_first_goes_on();
    the_socket_of_a_dead_daemon_is_replaced();
    a_file_in_the_way_is_left_alone();
    a_private_daemon_ends_with_its_last_rank();
    a_private_daemon_ends_with_its_parent();
    the_death_of_the_daemon_is_noticed();
    wrong_options_say_what_is_right();
    a_page_that_blocks_a_private_daemon_ends_it_with_a_sentence();
    counters_are_read_while_the_core_is_held_up();
    a_daemon_of_another_user_is_not_trusted();
    a_directory_that_others_can_write_is_refused();
    it_needs_no_privileges_and_no_shared_memory();
    a_private_daemon_waits_for_a_slow_program(&patient, patient_name, since);
    check(rmdir(directory) == 0);
    return 0;
}
