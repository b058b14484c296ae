/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A DMA helper as root sees it: it has its user's ids, is shut in, and holds nothing of the daemon's but a ring with a
 * window, an eventfd and pidfds. */
#include "hostile_copy.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USERS 2
#define HELPERS 16u /* of a user, that are looked at */
#define LINE 512

static char log_path[] = "/tmp/nof-helper.XXXXXX"; /* of the daemon */
static pid_t starter;

static uid_t uid_of(unsigned user)
{
    return HOSTILE_NOBODY - user;
}

/* A rank of that user, attached and at work until its pipe is closed; twice: it works once more when told by it. */
static pid_t start_rank(struct hostile *h, unsigned user, const int *ready, const int *end, bool twice)
{
    pid_t pid = fork();
    struct intruder in;
    uint8_t *good;
    char byte = 0;

    check(pid >= 0);
    if (pid > 0)
        return pid;
    close(end[1]);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    check(setresgid(uid_of(user), uid_of(user), uid_of(user)) == 0);
    check(setresuid(uid_of(user), uid_of(user), uid_of(user)) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
    good = hostile_buffer();
    hostile_intrude(h, &in);
    check_equal(in.id.dma, NOF_DMA_DIRECT);
    hostile_know_myself(&in);
    hostile_transfer(&in, good, good);
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    check(write(ready[1], &byte, 1) == 1);
    if (twice) {
        check(read(end[0], &byte, 1) == 1);
        hostile_transfer(&in, good, good);
        check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    }
    check(read(end[0], &byte, 1) == 0);
    _exit(0);
}

static void check_text(const char *got, const char *wanted)
{
    if (strcmp(got, wanted) == 0)
        return;
    fprintf(stderr, "a helper has %s, not %s\n", got, wanted);
    exit(1);
}

/* The value of a line of /proc/PID/status, e.g. "Uid:"; false if there is none, or the process has ended. */
static bool status_of(pid_t pid, const char *name, char *value)
{
    char path[64], line[LINE];
    bool found = false;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    while (!found && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0) {
            found = true;
            line[strcspn(line, "\n")] = '\0';
            strcpy(value, line + strlen(name) + strspn(line + strlen(name), " \t"));
        }
    fclose(file);
    return found;
}

/* The helpers of that user, at most HELPERS of them. */
static unsigned find_helpers(const struct hostile *h, unsigned user, pid_t *found)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    unsigned count = 0;

    check(proc != NULL);
    while (count < HELPERS && (entry = readdir(proc)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        char text[LINE];

        if (pid > 0 && status_of(pid, "PPid:", text) && atoi(text) == (int)h->nofd &&
            status_of(pid, "Uid:", text) && (uid_t)atoi(text) == uid_of(user))
            found[count++] = pid;
    }
    closedir(proc);
    return count;
}

static void it_has_its_users_rights_alone(pid_t helper, unsigned user)
{
    char value[LINE], wanted[LINE];
    struct stat st;
    char path[64];

    snprintf(wanted, sizeof(wanted), "%u\t%u\t%u\t%u", uid_of(user), uid_of(user), uid_of(user),
             uid_of(user));
    check(status_of(helper, "Uid:", value) && strcmp(value, wanted) == 0);
    check(status_of(helper, "Gid:", value) && strcmp(value, wanted) == 0);
    check(status_of(helper, "Groups:", value) && strspn(value, " \t") == strlen(value));
    check(status_of(helper, "CapEff:", value) && strtoull(value, NULL, 16) == 0);
    check(status_of(helper, "CapPrm:", value) && strtoull(value, NULL, 16) == 0);
    check(status_of(helper, "NoNewPrivs:", value) && strcmp(value, "1") == 0);
    check(status_of(helper, "Seccomp:", value) && strcmp(value, "2") == 0);
    /* Of a process that cannot be dumped or traced by its user these are root's. */
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)helper);
    check(stat(path, &st) == 0 && st.st_uid == 0);
}

/* Does it hold anything of a rank? Besides that it has an eventfd. */
static bool it_holds_an_eventfd_and_pidfds(pid_t helper)
{
    char path[300], target[LINE];
    DIR *fds;
    struct dirent *entry;
    unsigned pidfds = 0, eventfds = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)helper);
    fds = opendir(path);
    check(fds != NULL);
    while ((entry = readdir(fds)) != NULL) {
        ssize_t n;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)helper, entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        check(n > 0);
        target[n] = '\0';
        if (strcmp(target, "anon_inode:[pidfd]") == 0 || strncmp(target, "pidfd:", 6) == 0)
            pidfds++;
        else if (strcmp(target, "anon_inode:[eventfd]") == 0)
            eventfds++;
        else
            check_text(target, "/dev/null");
    }
    closedir(fds);
    check(pidfds <= 1);
    check_equal(eventfds, 1);
    return pidfds == 1;
}

/* Everything in its memory is its own program's, the C library's, private, or that one memfd; its inode. */
static unsigned long it_maps_one_thing_of_the_daemons(pid_t helper)
{
    char path[64], line[LINE], rights[5] = "", name[LINE];
    unsigned long inode, shared = 0;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)helper);
    maps = fopen(path, "r");
    check(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        name[0] = '\0';
        check(sscanf(line, "%*s %4s %*s %*s %lu %511s", rights, &inode, name) >= 2);
        if (rights[3] == 's') {
            check(strncmp(name, "/memfd:nofd-dma", 15) == 0);
            check(shared == 0);
            shared = inode;
        } else if (inode != 0 && strstr(name, "/nofd-dma") == NULL && strstr(name, "/libc") == NULL &&
                   strstr(name, "/ld-") == NULL) {
            check_text(line, "nothing else in its memory");
        }
    }
    fclose(maps);
    check(shared != 0);
    return shared;
}

static bool is_ready(pid_t helper)
{
    char value[LINE];

    return status_of(helper, "Seccomp:", value) && strcmp(value, "2") == 0;
}

/* That has copied for the user's rank. On a busy machine the daemon may have begun one more, which is perhaps not ready. */
static pid_t serving_helper(const struct hostile *h, unsigned user)
{
    pid_t helpers[HELPERS];
    unsigned n = find_helpers(h, user, helpers);

    for (unsigned i = 0; i < n; i++)
        if (is_ready(helpers[i]) && it_holds_an_eventfd_and_pidfds(helpers[i]))
            return helpers[i];
    fprintf(stderr, "none of %u helpers of user %u knows his rank\n", n, uid_of(user));
    exit(1);
}

static void a_helper_holds_what_it_needs(struct hostile *h)
{
    unsigned long window[USERS];
    pid_t rank[USERS];
    int ready[2], end[2], status;
    char byte;

    check(pipe(ready) == 0 && pipe(end) == 0);
    for (unsigned i = 0; i < USERS; i++) {
        (void)hostile_random(h); /* a job of its own */
        rank[i] = start_rank(h, i, ready, end, false);
    }
    close(ready[1]);
    for (unsigned i = 0; i < USERS; i++)
        check(read(ready[0], &byte, 1) == 1);
    for (unsigned i = 0; i < USERS; i++) {
        pid_t helper = serving_helper(h, i);

        it_has_its_users_rights_alone(helper, i);
        window[i] = it_maps_one_thing_of_the_daemons(helper);
    }
    check(window[0] != window[1]);
    close(ready[0]);
    close(end[0]);
    close(end[1]);
    for (unsigned i = 0; i < USERS; i++)
        check(waitpid(rank[i], &status, 0) == rank[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void limit_files(const struct hostile *h, rlim_t most)
{
    struct rlimit files;

    check(prlimit(h->nofd, RLIMIT_NOFILE, NULL, &files) == 0);
    files.rlim_cur = most;
    check(prlimit(h->nofd, RLIMIT_NOFILE, &files, NULL) == 0);
}

static bool is_said(const char *path, const char *what)
{
    char line[LINE];
    FILE *file = fopen(path, "r");
    bool found = false;

    check(file != NULL);
    while (!found && fgets(line, sizeof(line), file) != NULL)
        found = strstr(line, what) != NULL;
    fclose(file);
    return found;
}

/* Of that user alone: a copy that a helper is at when it is killed is lost, and the pair's must not be. */
static void kill_helpers(const struct hostile *h, unsigned user)
{
    pid_t helpers[HELPERS];
    unsigned n = find_helpers(h, user, helpers);

    check(n > 0);
    for (unsigned i = 0; i < n; i++)
        check(kill(helpers[i], SIGKILL) == 0);
}

/* A rank whose helper is killed while the daemon has no descriptor for another one goes on when it has. */
static void a_helper_comes_back_after_a_shortage(struct hostile *h)
{
    struct timespec nap = {.tv_nsec = 1000000};
    struct rlimit before;
    int ready[2], again[2], status;
    char byte = 0;
    pid_t rank;

    check(pipe(ready) == 0 && pipe(again) == 0);
    (void)hostile_random(h); /* a job of its own */
    rank = start_rank(h, USERS, ready, again, true); /* a user whose other helpers cannot linger */
    check(read(ready[0], &byte, 1) == 1);
    check(prlimit(h->nofd, RLIMIT_NOFILE, NULL, &before) == 0);
    limit_files(h, 3);
    kill_helpers(h, USERS);
    check(write(again[1], &byte, 1) == 1);
    for (int ms = 0; !is_said(log_path, "no helper for DMA of user"); ms++) {
        check(ms < CHECK_PATIENCE_MS);
        nanosleep(&nap, NULL);
    }
    limit_files(h, before.rlim_cur);
    for (int i = 0; i < 2; i++)
        close(again[i]);
    check(waitpid(rank, &status, 0) == rank && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 2; i++)
        close(ready[i]);
}

static void remove_log(void)
{
    if (getpid() == starter)
        unlink(log_path);
}

int main(int argc, char **argv)
{
    const char *const args[] = {"--log", "warning", "--log-to", log_path, "--dma-timeout", "60s", NULL};
    struct hostile h;
    int fd;

    if (geteuid() != 0) {
        printf("not root: the daemon has no helper of another user\n");
        return HOSTILE_SKIP;
    }
    starter = getpid();
    fd = mkstemp(log_path);
    check(fd >= 0 && atexit(remove_log) == 0);
    close(fd);
    hostile_start(&h, argc, argv, args);
    a_helper_holds_what_it_needs(&h);
    a_helper_comes_back_after_a_shortage(&h);
    hostile_end(&h);
    return 0;
}
