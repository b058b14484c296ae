/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency and bandwidth between two ranks: plain MPI, compiled once against this project's library and once
 * against the peer's. `nof bench pt2pt` runs both and reads the lines of rank 0:
 *
 *   row BYTES LATENCY_US MBIT_PER_S [CHANNEL]
 *   unread                     in place of rows of single-copy, whose messages nobody could read: they went in cells
 *   cpu BYTES MESSAGES RANK0_USER_US RANK0_SYS_US RANK1_USER_US RANK1_SYS_US    (of the bandwidth part)
 *   done
 *
 *   pt2pt_mpi [MS_PER_MEASUREMENT [BYTES...]]      PT2PT_THREADS=multiple: with MPI_THREAD_MULTIPLE
 *
 * PT2PT_CHANNELS=NAME,...: each length by each of these channels (info key nof_channels), which so have the same processes: two processes
 * of one program differ by a tenth and more, for as long as they live. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BYTES_MAX (4 << 20)
#define WINDOW_MAX 64
#define IN_FLIGHT (8 << 20) /* bytes that a window may hold */
#define DATA_TAG 1
#define DONE_TAG 2
#define WAYS_MAX 4
#define SIZES_MAX 64

static const int default_bytes[] = {8, 64, 1024, 8192, 16384, 65536, 262144, 1048576, 4194304};

static MPI_Comm comm;
static int rank;
static double budget_s;
static char *buffer[WINDOW_MAX];
static MPI_Comm comms[WAYS_MAX];
static const char *channels[WAYS_MAX];
static int ways;
static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
static MPI_T_pvar_handle copies = MPI_T_PVAR_HANDLE_NULL;

static void ping_pong(int bytes, int n)
{
    int other = 1 - rank;

    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Send(buffer[0], bytes, MPI_BYTE, other, DATA_TAG, comm);
        MPI_Recv(buffer[1], bytes, MPI_BYTE, other, DATA_TAG, comm, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buffer[0], bytes, MPI_BYTE, other, DATA_TAG, comm);
    }
}

static int window_of(int bytes)
{
    int window = IN_FLIGHT / bytes;

    return window > WINDOW_MAX ? WINDOW_MAX : window;
}

/* n windows from rank 0 to rank 1, each answered with one empty message. */
static void stream(int bytes, int n)
{
    MPI_Request request[WINDOW_MAX];
    MPI_Status statuses[WINDOW_MAX];
    int window = window_of(bytes);

    for (int i = 0; i < n; i++) {
        for (int k = 0; k < window; k++) {
            if (rank == 0)
                MPI_Isend(buffer[k], bytes, MPI_BYTE, 1, DATA_TAG, comm, &request[k]);
            else
                MPI_Irecv(buffer[k], bytes, MPI_BYTE, 0, DATA_TAG, comm, &request[k]);
        }
        MPI_Waitall(window, request, statuses);
        if (rank == 0)
            MPI_Recv(buffer[0], 0, MPI_BYTE, 1, DONE_TAG, comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(buffer[0], 0, MPI_BYTE, 0, DONE_TAG, comm);
    }
}

/* Seconds for one turn of `part`; both ranks agree on the number of turns that fills the budget. */
static double measure(void (*part)(int bytes, int n), int bytes, int *turns_out)
{
    double start;
    double once;
    int n;

    part(bytes, 2);
    MPI_Barrier(comm);
    start = MPI_Wtime();
    part(bytes, 3);
    once = (MPI_Wtime() - start) / 3;
    n = (int)(budget_s / (once > 1e-7 ? once : 1e-7)) + 1;
    MPI_Bcast(&n, 1, MPI_INT, 0, comm);
    MPI_Barrier(comm);
    start = MPI_Wtime();
    part(bytes, n);
    *turns_out = n;
    return (MPI_Wtime() - start) / n;
}

static void cpu_us(double us[2])
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    us[0] = (double)usage.ru_utime.tv_sec * 1e6 + (double)usage.ru_utime.tv_usec;
    us[1] = (double)usage.ru_stime.tv_sec * 1e6 + (double)usage.ru_stime.tv_usec;
}

/* Messages that this rank has read out of their sender's memory; 0 where the library does not count them. */
static unsigned long long read_here(void)
{
    unsigned long long n = 0;

    if (copies != MPI_T_PVAR_HANDLE_NULL)
        MPI_T_pvar_read(session, copies, &n);
    return n;
}

static void open_counter(void)
{
    int level, at, n;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) == MPI_SUCCESS &&
        MPI_T_pvar_get_index("library.memory_single_copies", MPI_T_PVAR_CLASS_COUNTER, &at) == MPI_SUCCESS &&
        MPI_T_pvar_session_create(&session) == MPI_SUCCESS)
        MPI_T_pvar_handle_alloc(session, at, NULL, &copies, &n);
}

/* channel: "", or the name of the one that `comm` goes by. */
static void bench(int bytes, const char *channel)
{
    double before[2];
    double spent[2];
    double all[4];
    double latency;
    double window_s;
    int turns;
    unsigned long long before_all = read_here();

    latency = measure(ping_pong, bytes, &turns) / 2;
    cpu_us(before);
    window_s = measure(stream, bytes, &turns);
    cpu_us(spent);
    spent[0] -= before[0];
    spent[1] -= before[1];
    MPI_Gather(spent, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    if (strcmp(channel, "single-copy") == 0 && read_here() == before_all) {
        printf("unread\n");
        return;
    }
    printf("row %d %.3f %.3f %s\n", bytes, latency * 1e6,
           (double)bytes * window_of(bytes) * 8 / window_s / 1e6, channel);
    printf("cpu %d %d %.0f %.0f %.0f %.0f\n", bytes, (turns + 5) * window_of(bytes), all[0], all[1], all[2],
           all[3]);
    fflush(stdout);
}

static void bench_all(const int *bytes, int n)
{
    for (int i = 0; i < n; i++)
        for (int way = 0; way < ways; way++) {
            int turn = (i + way) % ways; /* nobody is always the first with buffers that long */
            comm = comms[turn];
            bench(bytes[i], channels[turn]);
        }
}

/* A communicator for each channel that is named, or the world. */
static void open_channels(char *names)
{
    for (char *name = names == NULL ? NULL : strtok(names, ","); name != NULL && ways < WAYS_MAX;
         name = strtok(NULL, ",")) {
        MPI_Info info;

        MPI_Info_create(&info);
        MPI_Info_set(info, "nof_channels", name);
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[ways]);
        MPI_Info_free(&info);
        channels[ways++] = name;
    }
    if (ways > 0) {
        open_counter();
        return;
    }
    comms[0] = MPI_COMM_WORLD;
    channels[0] = "";
    ways = 1;
}

int main(int argc, char **argv)
{
    const char *threads = getenv("PT2PT_THREADS");
    int size, level, bytes[SIZES_MAX];

    MPI_Init_thread(&argc, &argv,
                    threads != NULL && strcmp(threads, "multiple") == 0 ? MPI_THREAD_MULTIPLE
                                                                        : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    budget_s = (argc > 1 ? atof(argv[1]) : 50) / 1000;
    if (size != 2) {
        if (rank == 0)
            fprintf(stderr, "pt2pt_mpi: it takes two ranks, not %d\n", size);
        MPI_Finalize();
        return 2;
    }
    for (int k = 0; k < WINDOW_MAX; k++) {
        /* Only as many large buffers as a window of the largest messages has. */
        size_t room = k < window_of(BYTES_MAX) ? BYTES_MAX : (size_t)(IN_FLIGHT / (k + 1));

        buffer[k] = malloc(room);
        if (buffer[k] == NULL) {
            fprintf(stderr, "pt2pt_mpi: no memory\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        memset(buffer[k], k, room);
    }
    for (int i = 2; i < argc && i - 2 < SIZES_MAX; i++)
        bytes[i - 2] = atoi(argv[i]);
    open_channels(getenv("PT2PT_CHANNELS"));
    if (argc > 2)
        bench_all(bytes, argc - 2 < SIZES_MAX ? argc - 2 : SIZES_MAX);
    else
        bench_all(default_bytes, sizeof(default_bytes) / sizeof(default_bytes[0]));
    for (int k = 0; k < WINDOW_MAX; k++)
        free(buffer[k]);
    for (int way = 0; way < ways; way++)
        if (comms[way] != MPI_COMM_WORLD)
            MPI_Comm_free(&comms[way]);
    if (rank == 0)
        printf("done\n");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
