/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends the recorded messages of real programs again: an MPI program.
 *
 * A recording is a folder with rank0.msg, rank1.msg, ...: what each rank sent, in order (the format stands in
 * examples/data/README.md). Every rank sends what its file says to whom its file says, in rounds of 32
 * messages. The receiver reads the sender's file too, so it knows what must come, and compares every byte.
 *
 *   nof run --hosts 4 -n 4 replay [FOLDER...]
 *
 * One line a recording: messages, payload bytes, bytes that the NICs put on the wire (as far as the MPI
 * library can tell), time. Exit status: 0 all bytes right, 1 a message differs, 2 bad arguments or files (a file of a rank is missing
 * or empty). */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if __has_include(<mpi_offload.h>)
#include <mpi_offload.h>
#define HAVE_NIC_COUNTERS 1
#else
#define HAVE_NIC_COUNTERS 0
#endif

#ifndef REPLAY_DATA
#define REPLAY_DATA "examples/data"
#endif

#define ROUND_MESSAGES 32
#define HEADER_BYTES 8
#define FOLDERS_MAX 64

struct options {
    const char *folder[FOLDERS_MAX];
    int folders;
    int repeat;
    bool help;
};

/* One rank's file, and where its records begin. */
struct sender {
    unsigned char *data;
    size_t data_bytes;
    size_t *record; /* offset of each record's header */
    size_t records;
};

struct recording {
    struct sender *sender;
    int senders;
    size_t rounds;
};

/* What this rank saw; the sums over all ranks make a line of the table. */
struct tally {
    uint64_t sent_messages, sent_bytes;
    uint64_t right_messages, wrong_messages;
    uint64_t wire_bytes;
    double took_s;
};

/* A receive of the round: where it went, and what it must equal. */
struct expected {
    const unsigned char *payload;
    unsigned char *got;
    int len_bytes;
};

static _Noreturn void give_up(const char *path, const char *what)
{
    fprintf(stderr, "replay: %s: %s\n", path, what);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

static int32_t little_endian_32(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

static int record_destination(const struct sender *s, size_t i)
{
    return little_endian_32(s->data + s->record[i]);
}

static int record_len_bytes(const struct sender *s, size_t i)
{
    return little_endian_32(s->data + s->record[i] + 4);
}

static unsigned char *record_payload(const struct sender *s, size_t i)
{
    return s->data + s->record[i] + HEADER_BYTES;
}

/* The whole file in memory, in s->data. */
static void sender_load(struct sender *s, const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;

    if (!file || fstat(fileno(file), &st) != 0)
        give_up(path, strerror(errno));
    s->data_bytes = (size_t)st.st_size;
    s->data = malloc(s->data_bytes + 1);
    if (!s->data)
        give_up(path, "out of memory");
    if (fread(s->data, 1, s->data_bytes, file) != s->data_bytes)
        give_up(path, "cannot be read to its end");
    fclose(file);
    if (s->data_bytes == 0)
        give_up(path,
                "is empty: this rank's messages are missing; cut them again with examples/cut_messages.py");
}

/* Finds the records and checks each header, so that later code may trust them. */
static void sender_index(struct sender *s, const char *path, int ranks)
{
    size_t at = 0, room = 0;

    while (at < s->data_bytes) {
        if (s->data_bytes - at < HEADER_BYTES)
            give_up(path, "ends inside a record header; cut it again with examples/cut_messages.py");
        if (s->records == room) {
            room = room ? 2 * room : 64;
            s->record = realloc(s->record, room * sizeof(*s->record));
            if (!s->record)
                give_up(path, "out of memory");
        }
        s->record[s->records] = at;
        int to = record_destination(s, s->records), len_bytes = record_len_bytes(s, s->records);
        if (to < 0 || to >= ranks)
            give_up(path, "names a destination rank that has no file");
        if (len_bytes < 0 || (size_t)len_bytes > s->data_bytes - at - HEADER_BYTES)
            give_up(path, "ends inside a payload; cut it again with examples/cut_messages.py");
        s->records++;
        at += HEADER_BYTES + (size_t)len_bytes;
    }
}

static void file_of_rank(char *path, size_t path_bytes, const char *folder, int rank)
{
    int n = snprintf(path, path_bytes, "%s/rank%d.msg", folder, rank);

    if (n < 0 || (size_t)n >= path_bytes)
        give_up(folder, "the name is too long");
}

static int count_files(const char *folder)
{
    char path[PATH_MAX];
    struct stat st;
    int n = 0;

    do
        file_of_rank(path, sizeof(path), folder, n);
    while (stat(path, &st) == 0 && ++n < INT_MAX);
    return n;
}

/* A rank behind a gap: without this the ranks before the gap would pass for the whole recording. */
static void refuse_gap(const char *folder, int senders)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char text[160];
    int rank;

    if (!dir)
        give_up(folder, strerror(errno));
    while ((entry = readdir(dir)) != NULL) {
        int end = 0;

        if (sscanf(entry->d_name, "rank%d.msg%n", &rank, &end) != 1 || end == 0 || entry->d_name[end] != '\0')
            continue;
        if (rank > senders) {
            snprintf(text, sizeof(text), "holds rank%d.msg but no rank%d.msg: the recording is not whole",
                     rank, senders);
            give_up(folder, text);
        }
    }
    closedir(dir);
}

static void recording_load(struct recording *rec, const char *folder, int ranks)
{
    char path[PATH_MAX], text[160];

    *rec = (struct recording){.senders = count_files(folder)};
    if (rec->senders == 0)
        give_up(folder, "holds no rank0.msg; name a folder of recorded messages");
    refuse_gap(folder, rec->senders);
    if (rec->senders > ranks) {
        snprintf(text, sizeof(text), "was recorded with %d ranks, and here are %d; try: nof run -n %d replay",
                 rec->senders, ranks, rec->senders);
        give_up(folder, text);
    }
    rec->sender = calloc((size_t)rec->senders, sizeof(*rec->sender));
    if (!rec->sender)
        give_up(folder, "out of memory");
    for (int i = 0; i < rec->senders; i++) {
        struct sender *s = &rec->sender[i];

        file_of_rank(path, sizeof(path), folder, i);
        sender_load(s, path);
        sender_index(s, path, rec->senders);
        size_t rounds = (s->records + ROUND_MESSAGES - 1) / ROUND_MESSAGES;
        rec->rounds = rounds > rec->rounds ? rounds : rec->rounds;
    }
}

static void recording_free(struct recording *rec)
{
    for (int i = 0; i < rec->senders; i++) {
        free(rec->sender[i].data);
        free(rec->sender[i].record);
    }
    free(rec->sender);
}

static void round_range(const struct sender *s, size_t round, size_t *first, size_t *end)
{
    *first = round * ROUND_MESSAGES < s->records ? round * ROUND_MESSAGES : s->records;
    *end = s->records - *first < ROUND_MESSAGES ? s->records : *first + ROUND_MESSAGES;
}

/* Recorded as MPI_DOUBLE; sent as such, so that the NIC knows what it carries. */
static void typed(int len_bytes, int *count, MPI_Datatype *type)
{
    bool doubles = len_bytes % (int)sizeof(double) == 0;

    *count = doubles ? len_bytes / (int)sizeof(double) : len_bytes;
    *type = doubles ? MPI_DOUBLE : MPI_BYTE;
}

/* Posts the receives of the round, the messages of one sender in the order it sends them. */
static int post_receives(const struct recording *rec, size_t round, int rank, struct expected *want,
                         MPI_Request *pending)
{
    int n = 0;

    for (int from = 0; from < rec->senders; from++) {
        const struct sender *s = &rec->sender[from];
        size_t first, end;

        round_range(s, round, &first, &end);
        for (size_t i = first; i < end; i++) {
            MPI_Datatype type;
            int count;

            if (record_destination(s, i) != rank)
                continue;
            want[n].payload = record_payload(s, i);
            want[n].len_bytes = record_len_bytes(s, i);
            want[n].got = malloc((size_t)want[n].len_bytes + 1);
            if (!want[n].got)
                give_up("receive", "out of memory");
            typed(want[n].len_bytes, &count, &type);
            MPI_Irecv(want[n].got, count, type, from, 0, MPI_COMM_WORLD, &pending[n]);
            n++;
        }
    }
    return n;
}

static int start_sends(const struct sender *s, size_t round, MPI_Request *pending, struct tally *t)
{
    size_t first, end;
    int n = 0;

    round_range(s, round, &first, &end);
    for (size_t i = first; i < end; i++) {
        MPI_Datatype type;
        int count;

        typed(record_len_bytes(s, i), &count, &type);
        MPI_Isend(record_payload(s, i), count, type, record_destination(s, i), 0, MPI_COMM_WORLD,
                  &pending[n++]);
        t->sent_messages++;
        t->sent_bytes += (uint64_t)record_len_bytes(s, i);
    }
    return n;
}

static void verify(const struct expected *want, const MPI_Status *status, int n, struct tally *t)
{
    for (int i = 0; i < n; i++) {
        int got_bytes = 0;

        MPI_Get_count(&status[i], MPI_BYTE, &got_bytes);
        bool right = got_bytes == want[i].len_bytes &&
                     memcmp(want[i].got, want[i].payload, (size_t)want[i].len_bytes) == 0;
        t->right_messages += right;
        t->wrong_messages += !right;
        free(want[i].got);
    }
}

/* All rounds once. Both sides of a message are in the same round, receives before sends: nothing can wait for
 * a receive that is not posted. */
static void replay_once(const struct recording *rec, int rank, struct tally *t)
{
    size_t most = (size_t)rec->senders * ROUND_MESSAGES;
    struct expected *want = calloc(most, sizeof(*want));
    MPI_Request *pending = calloc(most + ROUND_MESSAGES, sizeof(MPI_Request));
    MPI_Status *status = calloc(most + ROUND_MESSAGES, sizeof(*status));

    if (!want || !pending || !status)
        give_up("replay", "out of memory");
    for (size_t round = 0; rank < rec->senders && round < rec->rounds; round++) {
        int receives = post_receives(rec, round, rank, want, pending);
        int sends = start_sends(&rec->sender[rank], round, pending + receives, t);
        MPI_Waitall(receives + sends, pending, status);
        verify(want, status, receives, t);
    }
    free(want);
    free(pending);
    free(status);
}

/* Bytes of the frames that this rank's messages took so far, headers included and each frame counted once;
 * false if the library cannot tell. */
static bool wire_bytes(uint64_t *bytes_out)
{
#if HAVE_NIC_COUNTERS
    unsigned long long value;

    /* A world without a NIC has no counters; that is no reason to end it. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPIX_Nic_counters("port.tx_bytes", &value) != MPI_SUCCESS)
        return false;
    *bytes_out = value;
    return true;
#else
    (void)bytes_out;
    return false;
#endif
}

static void print_line(const char *folder, const struct tally *t, bool wire_known)
{
    const char *slash = strrchr(folder, '/');
    char wire[32] = "-";

    /* No bytes at all: the library does not count them per endpoint, or no message left its host. */
    if (wire_known && t->wire_bytes > 0)
        snprintf(wire, sizeof(wire), "%llu", (unsigned long long)t->wire_bytes);
    printf("%-10s %9llu %12llu %12s %9.3f %9.1f  %s\n", slash && slash[1] ? slash + 1 : folder,
           (unsigned long long)t->sent_messages, (unsigned long long)t->sent_bytes, wire, t->took_s * 1e3,
           t->took_s > 0 ? (double)t->sent_bytes / t->took_s / 1e6 : 0.0,
           t->wrong_messages ? "WRONG" : "every byte right");
}

/* One recording, one line. Returns whether every message arrived as it went. */
static bool replay_folder(const char *folder, int repeat, int rank, int ranks)
{
    struct recording rec;
    struct tally mine = {0}, all = {0};
    uint64_t before = 0, after = 0, sums[5], totals[5] = {0};

    recording_load(&rec, folder, ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    bool wire_known = wire_bytes(&before);
    double began = MPI_Wtime();
    for (int i = 0; i < repeat; i++)
        replay_once(&rec, rank, &mine);
    mine.took_s = MPI_Wtime() - began;
    /* After the barrier all payload is acknowledged: no rank leaves it before its Waitall. */
    MPI_Barrier(MPI_COMM_WORLD);
    wire_known = wire_bytes(&after) && wire_known;

    sums[0] = mine.sent_messages;
    sums[1] = mine.sent_bytes;
    sums[2] = mine.right_messages;
    sums[3] = mine.wrong_messages;
    sums[4] = after - before;
    MPI_Allreduce(sums, totals, 5, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(&mine.took_s, &all.took_s, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    all.sent_messages = totals[0];
    all.sent_bytes = totals[1];
    all.right_messages = totals[2];
    /* A message that never came counts as wrong too. */
    all.wrong_messages = totals[3] + (totals[0] != totals[2] + totals[3]);
    all.wire_bytes = totals[4];
    if (rank == 0)
        print_line(folder, &all, wire_known);
    recording_free(&rec);
    return all.wrong_messages == 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *opt = state->input;

    switch (key) {
    case 'r':
        opt->repeat = atoi(arg);
        if (opt->repeat < 1) {
            argp_error(state, "'%s' is no number of repetitions; try --repeat=10", arg);
            return EINVAL;
        }
        return 0;
    case 'h':
        opt->help = true;
        return 0;
    case ARGP_KEY_ARG:
        if (opt->folders == FOLDERS_MAX) {
            argp_error(state, "more than %d folders", FOLDERS_MAX);
            return EINVAL;
        }
        opt->folder[opt->folders++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Every rank reads the command line; rank 0 alone prints. Returns whether to go on. */
static bool read_options(struct options *opt, int rank, int argc, char **argv, int *status_out)
{
    static const struct argp_option known[] = {
        {"repeat", 'r', "TIMES", 0, "send each recording so many times (1)", 0},
        {"help", 'h', NULL, 0, "print this list", 0},
        {0},
    };
    static const struct argp parser = {
        .options = known,
        .parser = parse_option,
        .args_doc = "[FOLDER...]",
        .doc =
            "Sends recorded messages of real programs between MPI ranks and verifies every byte.\v"
            "Each FOLDER holds rank0.msg, rank1.msg, ...; without one the sample of " REPLAY_DATA " is sent.",
    };
    static const char *const sample[] = {REPLAY_DATA "/bt.W", REPLAY_DATA "/lu.W", REPLAY_DATA "/mg.W"};
    unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | (rank == 0 ? 0u : ARGP_NO_ERRS);
    char name[] = "replay";

    if (argp_parse(&parser, argc, argv, flags, NULL, opt) != 0) {
        *status_out = 2;
        return false;
    }
    if (opt->help) {
        if (rank == 0)
            argp_help(&parser, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
        *status_out = 0;
        return false;
    }
    if (opt->folders == 0) {
        opt->folders = (int)(sizeof(sample) / sizeof(sample[0]));
        memcpy(opt->folder, sample, sizeof(sample));
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options opt = {.repeat = 1};
    int rank, ranks, status = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (read_options(&opt, rank, argc, argv, &status)) {
        if (rank == 0)
            printf("%-10s %9s %12s %12s %9s %9s\n", "program", "messages", "bytes", "wire bytes", "time ms",
                   "MB/s");
        for (int i = 0; i < opt.folders; i++) {
            if (!replay_folder(opt.folder[i], opt.repeat, rank, ranks))
                status = 1;
        }
    }
    MPI_Finalize();
    return status;
}
