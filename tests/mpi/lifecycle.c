/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI used at the wrong time, one misuse per argument; lifecycle.sh looks at what comes of it. */
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int in_child(bool init)
{
    int rank;
    pid_t child = fork();
    if (child == 0) {
        if (init)
            MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    /* The child got its error; the parent is not harmed. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int looking;

static void *looks(void *none)
{
    int flag;
    while (__atomic_load_n(&looking, __ATOMIC_RELAXED))
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return none;
}

/* Children of a fork() beside a thread that is in the library: what is legal at any time does not wait for that thread. */
static int fork_beside_calls(void)
{
    enum { CHILDREN = 100, PATIENCE_S = 60 };
    int level, status = 0;
    pthread_t thread;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    looking = 1;
    if (level != MPI_THREAD_MULTIPLE || pthread_create(&thread, NULL, looks, NULL) != 0)
        return 100;
    for (int i = 0; i < CHILDREN && status == 0; i++) {
        MPI_Info info;
        pid_t child = fork();
        if (child == 0) {
            alarm(PATIENCE_S);
            _exit(MPI_Info_create(&info) != MPI_SUCCESS || MPI_Info_free(&info) != MPI_SUCCESS);
        }
        waitpid(child, &status, 0);
    }
    __atomic_store_n(&looking, 0, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return status == 0 ? 0 : 101;
}

/* Holds the lock of its stream for as long as nothing comes, which is for good. */
static void *reads(void *stream)
{
    (void)getc(stream);
    return NULL;
}

static void begin_reading(void)
{
    int end[2];
    pthread_t thread;
    if (pipe(end) != 0)
        _exit(100);
    FILE *stream = fdopen(end[0], "r");
    if (stream == NULL || pthread_create(&thread, NULL, reads, stream) != 0)
        _exit(100);
    while (ftrylockfile(stream) == 0) {
        funlockfile(stream);
        usleep(1000);
    }
}

/* Rank 1 does, and says so. Rank 0, to which that is a death, leaves the end of the job to it; as does `nof run`, whose connection is
 * spared. */
static void close_all(int rank)
{
    const char *spared = getenv("PMI_FD");
    int data;
    if (rank == 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int fd = 3; rank == 1 && fd < 1024; fd++)
        if (spared == NULL || fd != atoi(spared))
            close(fd);
    /* Neither sends. */
    MPI_Recv(&data, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        pause();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int rank, flag = -1, version, subversion, len;
    char text[MPI_MAX_ERROR_STRING];
    if (strcmp(what, "fork-busy") == 0)
        return fork_beside_calls();
    if (strcmp(what, "before") == 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "send-before") == 0)
        MPI_Send(&flag, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Initialized(&flag);
    if (flag != 0)
        return 2;
    MPI_Get_version(&version, &subversion);
    MPI_Init(&argc, &argv);
    MPI_Initialized(&flag);
    if (flag != 1)
        return 3;
    if (strcmp(what, "twice") == 0)
        MPI_Init(&argc, &argv);
    if (strcmp(what, "fork") == 0)
        return in_child(false);
    if (strcmp(what, "fork-init") == 0)
        return in_child(true) == 1 ? 0 : 102;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "abort-reading") == 0)
        begin_reading();
    if (strncmp(what, "abort", 5) == 0)
        MPI_Abort(MPI_COMM_WORLD, 42);
    if (strcmp(what, "close-all") == 0)
        close_all(rank);
    if (strcmp(what, "fatal") == 0)
        MPI_Send(&flag, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    if (strcmp(what, "fatal-self") == 0)
        MPI_Send(&flag, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_NULL);
    MPI_Finalize();
    MPI_Finalized(&flag);
    if (flag != 1)
        return 4;
    if (strcmp(what, "after") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "again") == 0)
        MPI_Init(&argc, &argv);
    if (MPI_Error_string(MPI_ERR_RANK, text, &len) != MPI_SUCCESS || len == 0)
        return 5;
    return 0;
}
