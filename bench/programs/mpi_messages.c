/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 sends recorded messages to rank 1, in their order and as doubles, over and over; the destinations of the record
 * do not matter. With `random` in place of a file, messages that cannot be compressed.
 *
 *   mpi_messages SECONDS RUNS FILE|random      prints, per run, megabits per second of payload */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../messages.h"

#define WINDOW 16
#define RANDOM_MESSAGES 256u /* so many that a predictor has forgotten them when they come again */
#define RANDOM_BYTES 40000u
#define TAG_DATA 1
#define TAG_DONE 2

struct replay {
    struct nof_messages messages;
    uint8_t *arrived; /* rank 1: of one pass */
    int rank;
};

static int make_random(struct nof_messages *m)
{
    uint64_t state = 0x9e3779b97f4a7c15u;

    *m = (struct nof_messages){.memory = malloc(RANDOM_MESSAGES * RANDOM_BYTES),
                               .message = calloc(RANDOM_MESSAGES, sizeof(*m->message)),
                               .n = RANDOM_MESSAGES,
                               .bytes = RANDOM_MESSAGES * RANDOM_BYTES};
    if (m->memory == NULL || m->message == NULL)
        return -1;
    for (size_t i = 0; i < m->bytes; i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(m->memory + i, &state, 8);
    }
    for (uint32_t i = 0; i < RANDOM_MESSAGES; i++)
        m->message[i] =
            (struct nof_message){.len_bytes = RANDOM_BYTES, .bytes = m->memory + i * RANDOM_BYTES};
    return 0;
}

/* All messages across, at most WINDOW of them under way. */
static void pass(struct replay *r)
{
    MPI_Request requests[WINDOW];
    unsigned char nothing = 0;
    uint8_t *to = r->arrived;
    size_t n = r->messages.n;

    for (size_t i = 0; i < n + WINDOW; i++) {
        MPI_Request *request = &requests[i % WINDOW];

        if (i >= WINDOW && i - WINDOW < n)
            MPI_Wait(request, MPI_STATUS_IGNORE);
        if (i >= n)
            continue;
        const struct nof_message *m = &r->messages.message[i];
        if (r->rank == 0)
            MPI_Isend(m->bytes, (int)(m->len_bytes / 8), MPI_DOUBLE, 1, TAG_DATA, MPI_COMM_WORLD, request);
        else
            MPI_Irecv(to, (int)(m->len_bytes / 8), MPI_DOUBLE, 0, TAG_DATA, MPI_COMM_WORLD, request);
        to += r->rank == 0 ? 0 : m->len_bytes;
    }
    if (r->rank == 0)
        MPI_Recv(&nothing, 0, MPI_BYTE, 1, TAG_DONE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&nothing, 0, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
}

static double rate_mbps(struct replay *r, double seconds)
{
    double start = MPI_Wtime(), took;
    long passes = 0;
    int more = 1;

    while (more) {
        pass(r);
        passes++;
        more = MPI_Wtime() - start < seconds;
        /* The sender decides for both. */
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    took = MPI_Wtime() - start;
    return (double)passes * (double)r->messages.bytes * 8e-6 / took;
}

static int wrong_bytes(const struct replay *r)
{
    const uint8_t *at = r->arrived;

    if (r->rank == 0)
        return 0;
    for (size_t i = 0; i < r->messages.n; i++) {
        if (memcmp(at, r->messages.message[i].bytes, r->messages.message[i].len_bytes) != 0)
            return 1;
        at += r->messages.message[i].len_bytes;
    }
    return 0;
}

static int prepare(struct replay *r, const char *what)
{
    char why[300] = "no memory";
    int rc = strcmp(what, "random") == 0 ? make_random(&r->messages)
                                         : nof_messages_read(&r->messages, what, why, sizeof(why));

    for (size_t i = 0; rc == 0 && i < r->messages.n; i++)
        if (r->messages.message[i].len_bytes % 8 != 0)
            rc = -1;
    if (rc == 0)
        r->arrived = calloc(1, r->messages.bytes);
    if (r->arrived != NULL)
        return 0;
    fprintf(stderr, "mpi_messages: %s\n", why);
    return -1;
}

int main(int argc, char **argv)
{
    struct replay r = {.rank = -1};
    int size, bad = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || argc != 4) {
        if (r.rank == 0)
            fprintf(stderr, "usage: two ranks of mpi_messages SECONDS RUNS FILE|random\n");
        MPI_Finalize();
        return 2;
    }
    if (prepare(&r, argv[3]) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    (void)rate_mbps(&r, 0.2); /* paths, windows and predictors are warm after this */
    for (int i = 0; i < atoi(argv[2]); i++) {
        double mbps = rate_mbps(&r, atof(argv[1]));

        if (r.rank == 0) {
            printf("%.2f\n", mbps);
            fflush(stdout);
        }
    }
    bad = wrong_bytes(&r);
    if (bad)
        fprintf(stderr, "mpi_messages: messages arrived damaged\n");
    nof_messages_free(&r.messages);
    free(r.arrived);
    MPI_Finalize();
    return bad;
}
