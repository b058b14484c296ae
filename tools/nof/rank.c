/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starts one rank: sockets, environment, limits, exec. */
#include "run_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nof_private/board.h"
#include "record.h"

struct ends {
    int pmi[2];
    int in[2]; /* only for rank 0 and only from a terminal */
    int out[2];
    int err[2];
    int exec[2]; /* errno of a failed exec; closed by a good one */
};

static void close_pair(int fd[2])
{
    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

static bool open_ends(struct ends *e, bool wants_stdin)
{
    *e = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->pmi) == 0 && pipe2(e->out, O_CLOEXEC) == 0 &&
        pipe2(e->err, O_CLOEXEC) == 0 && pipe2(e->exec, O_CLOEXEC) == 0 &&
        (!wants_stdin || pipe2(e->in, O_CLOEXEC) == 0))
        return true;
    close_pair(e->pmi);
    close_pair(e->in);
    close_pair(e->out);
    close_pair(e->err);
    close_pair(e->exec);
    return false;
}

static void set_number(const char *name, unsigned number)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", number);
    setenv(name, text, 1);
}

/* Where libmpi_abi.so.N lies and nothing else, seen from this command's folder: of a build tree, and installed. */
static const char *const abi_folders[] = {"host/libmpi_offload/abi", NOF_BIN_TO_LIB "/nof"};

/* A program that was built with another implementation of the standard's ABI asks for libmpi_abi: it gets ours,
 * whatever folder it was linked with. */
static void put_abi_in_path(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char here[PATH_MAX], folder[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);

    here[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(here, '/');
    if (slash == NULL)
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(abi_folders) / sizeof(abi_folders[0]); i++) {
        snprintf(folder, sizeof(folder), "%s/%s", here, abi_folders[i]);
        if (access(folder, X_OK) != 0)
            continue;
        char *all = NULL;
        bool more = path != NULL && path[0] != '\0';
        if (asprintf(&all, "%s%s%s", folder, more ? ":" : "", more ? path : "") > 0)
            setenv("LD_LIBRARY_PATH", all, 1);
        free(all);
        return;
    }
}

static void set_environment(const struct nof_job *job, const struct nof_rank *rank, int pmi_fd)
{
    static const char *const foreign[] = {"PMI_PORT",         "PMI_ID",           "PMIX_RANK",
                                          "PMIX_NAMESPACE",   "PMIX_SERVER_URI2", "PMIX_SERVER_URI21",
                                          "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "PMIX_SERVER_URI41"};

    /* Started from within another launcher's job: our ranks are ours. */
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        unsetenv(foreign[i]);
    set_number("PMI_FD", (unsigned)pmi_fd);
    set_number("PMI_RANK", rank->rank);
    set_number("PMI_SIZE", job->ranks);
    setenv("NOF_JOB_ID", job->id, 1);
    setenv("NOF_JOB_KEY", job->key, 1);
    setenv("NOF_SOCKET", job->at.socket, 1);
    if (job->at.control[0] != '\0')
        setenv("NOF_CONTROL", job->at.control, 1);
    set_number("NOF_NIC", rank->host);
    put_abi_in_path();
    nof_record_environment();
    if (job->board != NULL)
        set_number(NOF_BOARD_ENV, (unsigned)job->board_fd);
    else
        unsetenv(NOF_BOARD_ENV);
}

_Noreturn static void child_main(const struct nof_job *job, const struct nof_rank *rank, const struct ends *e,
                                 pid_t parent)
{
    sigset_t none;
    ssize_t ignored;
    int code;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != parent)
        _exit(NOF_JOB_EXIT_OWN);
    if (e->in[0] >= 0)
        dup2(e->in[0], 0);
    else if (rank->rank != 0)
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    dup2(e->out[1], 1);
    dup2(e->err[1], 2);
    fcntl(e->pmi[1], F_SETFD, 0);
    if (job->board != NULL)
        fcntl(job->board_fd, F_SETFD, 0);
    setrlimit(RLIMIT_NOFILE, &job->files);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    set_environment(job, rank, e->pmi[1]);
    execvp(job->argv[0], job->argv);
    code = errno;
    ignored = write(e->exec[1], &code, sizeof(code));
    (void)ignored;
    _exit(NOF_JOB_EXIT_EXEC);
}

/* Returns 0, or the errno of exec. */
static int await_exec(int fd)
{
    int code = 0;
    ssize_t n;

    do {
        n = read(fd, &code, sizeof(code));
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(code) ? code : 0;
}

static bool is_source(const char *path)
{
    static const char *const endings[] = {".c", ".cc", ".cpp", ".cxx", ".f", ".f90", ".f08"};
    const char *ending = strrchr(path, '.');

    for (size_t i = 0; ending != NULL && i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

static int say_exec_failed(const struct nof_job *job, int why)
{
    struct stat st;

    if (why == EACCES && stat(job->argv[0], &st) == 0 && S_ISDIR(st.st_mode)) {
        fprintf(stderr, "%s: '%s' is a directory: name a program in it\n", job->self, job->argv[0]);
        return NOF_JOB_EXIT_EXEC;
    }
    if (is_source(job->argv[0]) && access(job->argv[0], F_OK) == 0) {
        fprintf(
            stderr,
            "%s: '%s' is source: compile it (mpicc, mpicxx or mpifort -o PROGRAM %s), then run ./PROGRAM\n",
            job->self, job->argv[0], job->argv[0]);
        return why == ENOENT ? NOF_JOB_EXIT_FOUND : NOF_JOB_EXIT_EXEC;
    }
    if (why == EACCES && access(job->argv[0], F_OK) == 0 && access(job->argv[0], X_OK) != 0) {
        fprintf(stderr, "%s: '%s' is not executable; if it is a program: chmod +x %s\n", job->self,
                job->argv[0], job->argv[0]);
        return NOF_JOB_EXIT_EXEC;
    }
    fprintf(stderr, "%s: '%s' cannot be run: %s%s\n", job->self, job->argv[0], strerror(why),
            why == ENOENT && strchr(job->argv[0], '/') == NULL ? "; if it lies here, say ./ before its name"
                                                               : "");
    return why == ENOENT ? NOF_JOB_EXIT_FOUND : NOF_JOB_EXIT_EXEC;
}

static struct nof_stream stream_of(const struct nof_job *job, unsigned r, int fd, struct nof_sink *sink)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return (struct nof_stream){
        .fd = fd, .sink = sink, .whole_lines = job->ranks > 1, .labelled = job->label, .rank = r};
}

int nof_rank_start(struct nof_job *job, unsigned r)
{
    struct nof_rank *rank = &job->rank[r];
    pid_t parent = getpid();
    struct ends e;
    int why;

    if (!open_ends(&e, r == 0 && isatty(0))) {
        fprintf(stderr, "%s: no descriptors for rank %u: %s; raise the limit (ulimit -n)\n", job->self, r,
                strerror(errno));
        return NOF_JOB_EXIT_OWN;
    }
    job->started++;
    rank->pid = fork();
    if (rank->pid == 0)
        child_main(job, rank, &e, parent);
    why = errno;
    close(e.pmi[1]);
    close(e.out[1]);
    close(e.err[1]);
    close(e.exec[1]);
    if (e.in[0] >= 0)
        close(e.in[0]);
    job->stdin_pipe = r == 0 ? e.in[1] : job->stdin_pipe;
    rank->pmi_fd = e.pmi[0];
    fcntl(rank->pmi_fd, F_SETFL, O_NONBLOCK);
    rank->out = stream_of(job, r, e.out[0], &job->out);
    rank->err = stream_of(job, r, e.err[0], &job->err);
    if (rank->pid < 0) {
        rank->pid = 0;
        close(e.exec[0]);
        fprintf(stderr, "%s: no process for rank %u: %s%s\n", job->self, r, strerror(why),
                why == EAGAIN ? "; raise the limit (ulimit -u)" : "");
        return NOF_JOB_EXIT_OWN;
    }
    setpgid(rank->pid, rank->pid);
    nof_guard_add(&job->guard, rank->pid, NOF_GUARD_KILL);
    job->alive++;
    why = await_exec(e.exec[0]);
    close(e.exec[0]);
    return why == 0 ? 0 : say_exec_failed(job, why);
}
