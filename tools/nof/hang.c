/* SPDX-License-Identifier: BSD-3-Clause */
#include "hang.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control_client.h"
#include "needed.h"
#include "nof_private/board.h"

#define LINES_MOST 64u
#define LOOKS 50 /* at a place that is being written, or whose rank is just awake; 1 ms apart */
#define NOBODY UINT32_MAX

struct view {
    struct nof_board_place at;
    bool waits;
    bool nic; /* the daemon knows its queues */
    json_int_t posted, unexpected;
};

void nof_hang_open(struct nof_job *job)
{
    job->board_bytes = job->ranks * sizeof(struct nof_board_place);
    job->board_fd = memfd_create("nof-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (job->board_fd < 0)
        return;
    /* No rank may shrink it under us. */
    if (ftruncate(job->board_fd, (off_t)job->board_bytes) == 0 &&
        fcntl(job->board_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        job->board = mmap(NULL, job->board_bytes, PROT_READ, MAP_SHARED, job->board_fd, 0);
    if (job->board == MAP_FAILED)
        job->board = NULL;
}

void nof_hang_close(struct nof_job *job)
{
    if (job->board != NULL)
        munmap((void *)(uintptr_t)job->board, job->board_bytes);
    if (job->board_fd >= 0)
        close(job->board_fd);
    job->board = NULL;
    job->board_fd = -1;
}

/* A rank may write what it likes there: a sum that is too large is the largest. */
void nof_hang_count(struct nof_job *job)
{
    const struct nof_board_place *board = job->board;

    for (unsigned r = 0; board != NULL && r < job->ranks; r++) {
        if (__atomic_load_n(&board[r].phase, __ATOMIC_ACQUIRE) != NOF_BOARD_FINALIZED)
            continue;
        job->counted_ranks++;
        for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++) {
            uint64_t more = __atomic_load_n(&board[r].counted[i], __ATOMIC_RELAXED);

            job->counted[i] = more > INT64_MAX - job->counted[i] ? INT64_MAX : job->counted[i] + more;
        }
    }
}

static bool copy(const struct nof_board_place *from, struct nof_board_place *to)
{
    uint32_t seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);

    memcpy(to, from, sizeof(*to));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (seq & 1) == 0 && __atomic_load_n(&from->seq, __ATOMIC_RELAXED) == seq;
}

static void clean(char *text, size_t bytes)
{
    text[bytes - 1] = '\0';
    for (; *text != '\0'; text++)
        if (!isprint((unsigned char)*text))
            *text = '?';
}

/* The ranks wrote it: nothing in it is believed. */
static void check(const struct nof_job *job, struct nof_board_place *p)
{
    clean(p->call, sizeof(p->call));
    clean(p->comm, sizeof(p->comm));
    clean(p->missing, sizeof(p->missing));
    if (p->peers > NOF_BOARD_PEERS)
        p->peers = NOF_BOARD_PEERS;
    for (uint32_t i = 0; i < p->peers; i++)
        if (p->peer[i] < NOF_BOARD_ANY || p->peer[i] >= (int)job->ranks)
            p->peer[i] = NOF_BOARD_ANY;
    if (p->kind > NOF_BOARD_COLL || (p->kind != NOF_BOARD_CALL && p->kind != NOF_BOARD_COLL && p->peers == 0))
        p->kind = p->kind == NOF_BOARD_NOTHING ? NOF_BOARD_NOTHING : NOF_BOARD_CALL;
}

/* A rank that waits looks up now and then, for a moment: look again before it is said to wait for nothing. */
static void look(const struct nof_job *job, struct view *views)
{
    const struct nof_board_place *board = job->board;
    unsigned awake = job->board == NULL ? 0 : job->ranks;

    for (int round = 0; round < LOOKS && awake > 0; round++) {
        awake = 0;
        for (unsigned r = 0; r < job->ranks; r++) {
            struct view *v = &views[r];

            if (v->waits)
                continue;
            if (!copy(&board[r], &v->at))
                v->at.kind = NOF_BOARD_NOTHING;
            check(job, &v->at);
            v->waits = v->at.kind != NOF_BOARD_NOTHING;
            awake += !v->waits;
        }
        if (awake > 0)
            usleep(1000);
    }
}

static void ask_daemon(const struct nof_job *job, struct view *views)
{
    json_t *answer, *row;
    size_t i;

    if (job->at.control[0] == '\0')
        return;
    answer = nof_control_call(job->at.control, "endpoints", NULL, job->self);
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        const char *id = json_string_value(json_object_get(row, "job"));
        json_int_t rank = json_integer_value(json_object_get(row, "rank"));

        if (id == NULL || strcmp(id, job->id) != 0 || rank < 0 || rank >= (json_int_t)job->ranks)
            continue;
        views[rank].nic = true;
        views[rank].posted = json_integer_value(json_object_get(row, "posted"));
        views[rank].unexpected = json_integer_value(json_object_get(row, "unexpected"));
    }
    json_decref(answer);
}

static void peers(FILE *to, const struct nof_board_place *p)
{
    for (uint32_t i = 0; i < p->peers; i++) {
        fprintf(to, i == 0 ? " " : i + 1 < p->peers ? ", " : " and ");
        if (p->peer[i] == NOF_BOARD_ANY)
            fprintf(to, "any rank");
        else
            fprintf(to, "rank %d", p->peer[i]);
    }
    if (p->peers == NOF_BOARD_PEERS)
        fprintf(to, " and perhaps others");
}

static void tag(FILE *to, const struct nof_board_place *p)
{
    if (p->tag == NOF_BOARD_ANY)
        fprintf(to, ", any tag");
    else
        fprintf(to, ", tag %d", p->tag);
}

static void what(FILE *to, const struct nof_board_place *p)
{
    static const char *const words[] = {[NOF_BOARD_RECV] = "to receive from",
                                        [NOF_BOARD_SEND] = "to send to",
                                        [NOF_BOARD_PROBE] = "for a message from",
                                        [NOF_BOARD_COLL] = "for messages of",
                                        [NOF_BOARD_CALL] = "perhaps for"};

    fprintf(to, "waits in %s", p->call);
    if (p->peers > 0) {
        fprintf(to, " %s", words[p->kind]);
        peers(to, p);
    }
    if (p->kind == NOF_BOARD_RECV || p->kind == NOF_BOARD_SEND || p->kind == NOF_BOARD_PROBE)
        tag(to, p);
    if (p->kind == NOF_BOARD_RECV || p->kind == NOF_BOARD_SEND)
        fprintf(to, ", %llu bytes", (unsigned long long)p->bytes);
    if (p->comm[0] != '\0')
        fprintf(to, ", on %s", p->comm);
    if (p->missing[0] != '\0')
        fprintf(to, ", %s", p->missing);
}

/* It has not told us that MPI_Init is done. */
static void before_init(FILE *to, const struct nof_job *job, unsigned r)
{
    char library[128];

    if (nof_needed_mapped(job->rank[r].pid, library, sizeof(library)))
        fprintf(to, "runs on another MPI (%s), which does not say here what it waits for", library);
    else if (nof_pmi_phase(job->pmi, r) == NOF_PMI_NEW)
        fprintf(to, "has not called MPI_Init");
    else
        fprintf(to, "is in MPI_Init, which waits for all ranks");
}

/* By a signal or a debugger: only another process lets it go on, and it waits for no rank. */
static bool is_stopped(pid_t pid)
{
    char path[32], line[256], state = '?';
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    f = pid > 0 ? fopen(path, "re") : NULL;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "State: %c", &state) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return state == 'T' || state == 't';
}

static void say(FILE *to, const struct nof_job *job, unsigned r, const struct view *v, uint64_t now_ns)
{
    const struct nof_rank *rank = &job->rank[r];
    bool stopped = is_stopped(rank->pid);

    fprintf(to, "  rank %u (host %u, pid %d): ", r, rank->host, rank->pid);
    if (stopped)
        fprintf(to, "is stopped, by a signal or a debugger; ");
    if (v->waits)
        what(to, &v->at);
    else if (job->board == NULL)
        fprintf(to, "says nothing (there was no memory for that)");
    else if (v->at.phase == NOF_BOARD_BEFORE_INIT)
        before_init(to, job, r);
    else if (v->at.phase == NOF_BOARD_FINALIZED)
        fprintf(to, "has called MPI_Finalize");
    else
        fprintf(to, "waits in no call of MPI%s", stopped ? "" : ": it computes, or polls");
    if (v->waits && now_ns > v->at.since_ns)
        fprintf(to, ", for %.1f s", (double)(now_ns - v->at.since_ns) / 1e9);
    if (v->waits)
        fprintf(to, "; %s%u receives posted, %u sends not ended, %lld messages unexpected",
                v->at.unlooked != 0 ? "at least " : "", v->at.posted, v->at.sends,
                (long long)v->at.unexpected + (v->nic ? v->unexpected : 0));
    else if (v->nic)
        fprintf(to, "; its NIC holds %lld receives posted (some the library's own), %lld messages unexpected",
                (long long)v->posted, (long long)v->unexpected);
    fprintf(to, "\n");
}

/* The one rank that this one waits for. */
static uint32_t wants(const struct view *v)
{
    return v->waits && v->at.peers == 1 && v->at.peer[0] != NOF_BOARD_ANY ? (uint32_t)v->at.peer[0] : NOBODY;
}

/* Walks along who waits for whom; `seen[r]`: the walk that came by. */
static void circles(FILE *to, const struct nof_job *job, const struct view *views, uint32_t *seen)
{
    for (uint32_t start = 0; start < job->ranks; start++) {
        uint32_t r = start;

        while (r != NOBODY && seen[r] == 0) {
            seen[r] = start + 1;
            r = wants(&views[r]);
        }
        if (r == NOBODY || seen[r] != start + 1)
            continue;
        fprintf(to, "%s: ranks that wait for each other: %u", job->self, r);
        for (uint32_t next = wants(&views[r]); next != r; next = wants(&views[next]))
            fprintf(to, " -> %u", next);
        fprintf(to, " -> %u\n", r);
    }
}

void nof_hang_report(struct nof_job *job)
{
    struct view *views = calloc(job->ranks, sizeof(*views));
    uint32_t *seen = calloc(job->ranks, sizeof(*seen));
    uint64_t now_ns = nof_job_now_ns();
    unsigned waiting = 0, alive = 0, said = 0;

    if (views == NULL || seen == NULL)
        goto out;
    look(job, views);
    ask_daemon(job, views);
    for (unsigned r = 0; r < job->ranks; r++) {
        if (job->rank[r].pid <= 0)
            views[r].waits = false;
        waiting += views[r].waits;
        alive += job->rank[r].pid > 0;
    }
    fprintf(stderr, "%s: %u of %u ranks run, %u of them wait in MPI\n", job->self, alive, job->ranks,
            waiting);
    /* Who does not wait is what the others wait for: first. */
    for (int pass = 0; pass < 2; pass++)
        for (unsigned r = 0; r < job->ranks && said < LINES_MOST; r++)
            if (job->rank[r].pid > 0 && views[r].waits == (pass == 1)) {
                say(stderr, job, r, &views[r], now_ns);
                said++;
            }
    if (said < alive)
        fprintf(stderr, "  and %u more\n", alive - said);
    circles(stderr, job, views, seen);
out:
    free(views);
    free(seen);
}
