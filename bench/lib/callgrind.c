/* SPDX-License-Identifier: BSD-3-Clause */
#include "callgrind.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 32
#define LINE_BYTES 4096

__attribute__((noinline)) void nof_callgrind_measured(void (*work)(void *arg), void *arg)
{
    work(arg);
    __asm__ volatile("" ::: "memory"); /* so that the call is not this function's end */
}

__attribute__((noinline)) void nof_callgrind_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Without compression a dump is: "fl=FILE", "fn=NAME", then lines "POSITION COST" of that function;
 * "fi=", "fe=" (inlined from another file) change nothing for us; "cfi=" or "cfl=", "cfn=NAME",
 * "calls=N POSITION" and then one line with the cost inside the callee. */

enum home { HOME_OTHER, HOME_CORE, HOME_BENCH };

struct function {
    char *name;
    enum home home;
};

struct reader {
    void *functions; /* tsearch tree of struct function */
    struct nof_callgrind_batch batch;
    char file[LINE_BYTES]; /* of the function that is being read */
    enum home home;
    char callee[LINE_BYTES];
    bool is_call; /* the next cost line is the callee's */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct function *)a)->name, ((const struct function *)b)->name);
}

static enum home home_of(const char *file)
{
    const char *core = strstr(file, "firmware/");
    if (core != NULL && strstr(core, "firmware/port/") == NULL && strstr(core, "firmware/nofd/") == NULL)
        return HOME_CORE;
    return strstr(file, "bench/") != NULL ? HOME_BENCH : HOME_OTHER;
}

static void learn(struct reader *r, const char *name, const char *file)
{
    struct function key = {.name = strdup(name), .home = home_of(file)};
    struct function **at = key.name != NULL ? tsearch(&key, &r->functions, by_name) : NULL;
    if (at == NULL)
        return;
    if (*at != &key) {
        free(key.name);
        return;
    }
    struct function *kept = malloc(sizeof(*kept));
    if (kept != NULL)
        *kept = key;
    *at = kept;
}

static enum home find(const struct reader *r, const char *name)
{
    char *plain = strdup(name);
    if (plain == NULL)
        return HOME_OTHER;
    struct function key = {.name = plain};
    void *const *at = tfind(&key, (void *const *)&r->functions, by_name);
    free(plain);
    return at != NULL ? (*(struct function *const *)at)->home : HOME_OTHER;
}

static bool in_file(const struct reader *r, const char *name)
{
    const char *slash = strrchr(r->file, '/');
    return slash != NULL && strcmp(slash + 1, name) == 0;
}

/* Payload is copied by these files only, and they copy nothing else with memcpy(); direct_rx.h is in dispatch.c. */
static bool copies_payload(const struct reader *r)
{
    static const char *const files[] = {"direct.c", "dispatch.c", "eager.c",      "netmem.c",
                                        "read.c",   "recv.c",     "unexpected.c", "write.c"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (in_file(r, files[i]))
            return true;
    return false;
}

/* A line "POSITION COST" in the second pass. */
static void cost_line(struct reader *r, const char *line)
{
    const char *space = strchr(line, ' ');
    double cost = space != NULL ? strtod(space, NULL) : 0;
    int called = r->is_call;
    r->is_call = false;
    if (r->home == HOME_BENCH)
        r->batch.bench += cost;
    if (r->home != HOME_CORE || (called && find(r, r->callee) != HOME_OTHER))
        return;
    if (in_file(r, "crc32c.c"))
        r->batch.crc += cost;
    else if (called && copies_payload(r) &&
             (strstr(r->callee, "memcpy") != NULL || strstr(r->callee, "memmove") != NULL))
        r->batch.copy += cost;
    else
        r->batch.core += cost;
    if (in_file(r, "match.c"))
        r->batch.match += cost;
}

static void read_line(struct reader *r, const char *line, int pass)
{
    if (strncmp(line, "fl=", 3) == 0) {
        snprintf(r->file, sizeof(r->file), "%s", line + 3);
    } else if (strncmp(line, "fn=", 3) == 0) {
        r->home = home_of(r->file);
        if (pass == 1)
            learn(r, line + 3, r->file);
    } else if (pass == 2 && strncmp(line, "cfn=", 4) == 0) {
        snprintf(r->callee, sizeof(r->callee), "%s", line + 4);
    } else if (pass == 2 && strncmp(line, "calls=", 6) == 0) {
        r->is_call = true;
    } else if (pass == 2 &&
               (line[0] == '+' || line[0] == '-' || line[0] == '*' || (line[0] >= '0' && line[0] <= '9'))) {
        cost_line(r, line);
    }
}

static void forget(void *node)
{
    struct function *f = node;
    free(f->name);
    free(f);
}

/* 0, or -1 if there is no such dump. */
static int read_dump(const char *path, struct nof_callgrind_batch *out)
{
    char line[LINE_BYTES];
    struct reader r = {.functions = NULL};
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return -1;
    for (int pass = 1; pass <= 2; pass++) {
        rewind(f);
        while (fgets(line, sizeof(line), f) != NULL) {
            line[strcspn(line, "\n")] = '\0';
            read_line(&r, line, pass);
        }
    }
    fclose(f);
    tdestroy(r.functions, forget);
    *out = r.batch;
    return 0;
}

static int run_child(const char *const *args, const char *dir)
{
    static char self[4096];
    char out[512], log[512];
    const char *argv[ARGS_MAX] = {"valgrind",
                                  "--tool=callgrind",
                                  "--vgdb=no", /* whose pipes it leaves behind when it is killed */
                                  "--toggle-collect=nof_callgrind_measured",
                                  "--dump-after=nof_callgrind_mark",
                                  "--compress-strings=no",
                                  "--compress-pos=no"};
    size_t n = 7;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    snprintf(out, sizeof(out), "--callgrind-out-file=%s/out", dir);
    snprintf(log, sizeof(log), "%s/log", dir);
    argv[n++] = out;
    argv[n++] = self;
    for (size_t i = 0; args[i] != NULL && n + 1 < ARGS_MAX; i++)
        argv[n++] = args[i];
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        (void)setenv("TMPDIR", dir, 1); /* valgrind's own files, too, go with the folder */
        int fd = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        dup2(fd, 1);
        dup2(fd, 2);
        char *copy[ARGS_MAX];
        memcpy(copy, argv, sizeof(copy));
        execvp(copy[0], copy);
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int nof_callgrind_run(const char *const *args, struct nof_callgrind_batch *batches, char *problem,
                      size_t problem_bytes)
{
    const char *dir = nof_bench_scratch();
    char path[512];
    if (dir == NULL) {
        snprintf(problem, problem_bytes, "no directory for valgrind's output: %s; set TMPDIR",
                 strerror(errno));
        return -1;
    }
    int code = run_child(args, dir);
    int n = 0;
    while (n < NOF_CALLGRIND_BATCHES_MAX) {
        snprintf(path, sizeof(path), "%s/out.%d", dir, n + 1);
        if (read_dump(path, &batches[n]) != 0)
            break;
        n++;
    }
    nof_bench_empty(dir);
    if (code == 127)
        snprintf(problem, problem_bytes, "valgrind is missing: apt install valgrind");
    else if (code != 0)
        snprintf(problem, problem_bytes, "the measured program ended with code %d under valgrind", code);
    else if (n == 0 || batches[0].core <= 0 || batches[0].bench <= 0)
        snprintf(
            problem, problem_bytes,
            "callgrind saw no function of the core, or none of the bench: build with debug information (-g)");
    else
        return n;
    return -1;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double nof_callgrind_median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), ascending);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
