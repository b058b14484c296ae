/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Goodput between two ranks: rank 0 streams messages of each size given to rank 1, a window of them
 * under way at a time, rank 1 answers the last window with an empty message. The same source is
 * compiled with build/mpicc and with the peer's compiler.
 *
 *   mpi_stream SECONDS BYTES...      prints "BYTES MBPS MESSAGES" per size: megabits per second of payload, and how many
 *                                    messages passed, also before time was taken */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_MAX 16
#define WINDOW_BYTES (16 * 1024 * 1024) /* large messages: fewer at a time, so that buffers stay modest */
#define SECONDS_MAX 86400
#define SIZES_MAX 64
#define TAG_DATA 1
#define TAG_DONE 2

struct stream {
    unsigned char *buffer; /* window * bytes */
    int bytes;
    int window;
    long passed; /* windows */
    MPI_Request requests[WINDOW_MAX];
};

static int window_of(int bytes)
{
    int n = bytes > 0 ? WINDOW_BYTES / bytes : WINDOW_MAX;

    return n < 2 ? 2 : n > WINDOW_MAX ? WINDOW_MAX : n;
}

/* One window across; the sender returns when the receiver has all of it. */
static void pass_window(struct stream *s, int rank)
{
    unsigned char nothing = 0;

    s->passed++;
    for (int i = 0; i < s->window; i++) {
        unsigned char *at = s->buffer + (size_t)i * (size_t)s->bytes;

        if (rank == 0)
            MPI_Isend(at, s->bytes, MPI_BYTE, 1, TAG_DATA, MPI_COMM_WORLD, &s->requests[i]);
        else
            MPI_Irecv(at, s->bytes, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD, &s->requests[i]);
    }
    MPI_Waitall(s->window, s->requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(&nothing, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&nothing, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
}

static double rate_mbps(struct stream *s, int rank, double seconds)
{
    double start, took;
    long first;
    int more = 1;

    pass_window(s, rank); /* paths, pages and windows are warm after this */
    pass_window(s, rank);
    first = s->passed;
    start = MPI_Wtime();
    while (more) {
        /* Both must leave the loop together: the sender decides. */
        for (int i = 0; i < 4; i++)
            pass_window(s, rank);
        more = MPI_Wtime() - start < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    took = MPI_Wtime() - start;
    return (double)(s->passed - first) * s->window * s->bytes * 8e-6 / took;
}

/* 0 if what arrived last is what was sent. */
static int wrong_bytes(const struct stream *s, int rank)
{
    size_t n = (size_t)s->window * (size_t)s->bytes;

    if (rank == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (s->buffer[i] != (unsigned char)(i * 7 + (i >> 8)))
            return 1;
    return 0;
}

static int run_size(int rank, int bytes, double seconds)
{
    struct stream s = {.bytes = bytes, .window = window_of(bytes)};
    size_t n = (size_t)s.window * (size_t)bytes;
    double mbps;
    int bad;

    s.buffer = malloc(n > 0 ? n : 1);
    if (!s.buffer) {
        fprintf(stderr, "mpi_stream: no memory for %zu bytes\n", n);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (size_t i = 0; i < n; i++)
        s.buffer[i] = rank == 0 ? (unsigned char)(i * 7 + (i >> 8)) : 0;
    mbps = rate_mbps(&s, rank, seconds);
    bad = wrong_bytes(&s, rank);
    free(s.buffer);
    if (rank == 0) {
        printf("%d %.1f %ld\n", bytes, mbps, s.passed * s.window);
        fflush(stdout);
    }
    if (bad)
        fprintf(stderr, "mpi_stream: messages of %d bytes arrived damaged\n", bytes);
    return bad;
}

/* -1: it is no number of bytes that a message can have. "64k" is none, and would else be 64. */
static int bytes_of(const char *word)
{
    char *end;
    long bytes = strtol(word, &end, 10);

    return end == word || *end != '\0' || bytes < 0 || bytes > INT32_MAX ? -1 : (int)bytes;
}

/* -1: none. */
static double seconds_of(const char *word)
{
    char *end;
    double seconds = strtod(word, &end);

    return end == word || *end != '\0' || !(seconds >= 0 && seconds <= SECONDS_MAX) ? -1 : seconds;
}

/* False: one is wrong, and rank 0 has said so. */
static bool read_words(int rank, int words, char **word, double *seconds_out, int *bytes_out)
{
    *seconds_out = seconds_of(word[0]);
    if (*seconds_out < 0) {
        if (rank == 0)
            fprintf(stderr, "mpi_stream: %s: must be a number of seconds, 0 to %d\n", word[0], SECONDS_MAX);
        return false;
    }
    for (int i = 1; i < words; i++) {
        bytes_out[i - 1] = bytes_of(word[i]);
        if (bytes_out[i - 1] >= 0)
            continue;
        if (rank == 0)
            fprintf(stderr, "mpi_stream: %s: must be a number of bytes, 0 to %d\n", word[i], INT32_MAX);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int bytes[SIZES_MAX], rank, size, bad = 0;
    double seconds;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc < 3 || argc > 2 + SIZES_MAX) {
        if (rank == 0)
            fprintf(stderr, "usage: two ranks of mpi_stream SECONDS BYTES... (at most %d sizes)\n",
                    SIZES_MAX);
        MPI_Finalize();
        return 2;
    }
    if (!read_words(rank, argc - 1, argv + 1, &seconds, bytes)) {
        MPI_Finalize();
        return 2;
    }
    for (int i = 0; i < argc - 2; i++)
        bad |= run_size(rank, bytes[i], seconds);
    MPI_Finalize();
    return bad;
}
