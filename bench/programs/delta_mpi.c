/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of `nof bench delta`: patterns of tasks with increments and without (delta_patterns.h), and what increments cost. Rank 0
 * prints medians, of faults and calls the best:
 *
 *   row PATTERN BYTES BLOCKING_S NONBLOCKING_S INCREMENTS_S     of the ring there is no blocking one: 0
 *   cost NAME NS                                                of costs, instead of patterns
 *
 *   delta_mpi os|annotation DELTA_BYTES|auto PAGE_NS RUNS PATTERN[,PATTERN]|costs BYTES...
 *
 * Computing is timed waiting between touches: each page is read and compared, and written, and PAGE_NS pass. What touches and
 * calls take, waiting for data and faults included, comes on top; how late a timer wakes the task does not. */
#include "delta_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define ASKED_MAX 32
#define RUNS_MAX 256
#define MEASURED_S 0.2 /* more runs of what is short: where it begins, tasks are still given their CPUs */
#define CALLS 1000u
#define CALL_BYTES 64u
#define READ_PAGES 16u
#define WARM_BYTES ((size_t)8 * DELTA_PAGE)
#define MESSAGES_NS 4000000 /* they have surely come after that */

static struct delta task;
static int64_t until_ns, woke_ns;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void delta_fail(const char *what)
{
    fprintf(stderr, "delta_mpi: task %d: %s\n", task.rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void delta_begin_computing(void)
{
    until_ns = woke_ns = now_ns();
}

static void delta_compute(int64_t ns)
{
    struct timespec t;

    until_ns += now_ns() - woke_ns + ns;
    t = (struct timespec){.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
    woke_ns = now_ns();
}

static void delta_touch(const void *address, size_t bytes, bool writes)
{
    (void)bytes;
    if (!writes)
        (void)*(const volatile char *)address;
}

static void delta_called(void)
{
}

static uint32_t *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        delta_fail("no memory for its messages");
    memset(memory, 0, size);
    return memory;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(values[0]), ascending);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double best(const double *values, int n)
{
    double least = values[0];

    for (int i = 1; i < n; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* All tasks are on one machine: from the first that begins to the last that ends. */
static double time_s(const struct delta_pattern *pattern, enum delta_form form)
{
    double begin, end, first, last;

    task.form = form;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = (double)now_ns() / 1e9;
    pattern->run(&task);
    end = (double)now_ns() / 1e9;
    MPI_Allreduce(&begin, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return last - first;
}

/* Each form once before, as in virtual time: with their first messages ranks find out what faults cost, and make threads, one rank on a
 * CPU after the other. */
static void warm_up(const struct delta_pattern *pattern)
{
    size_t bytes = task.bytes;

    task.bytes = bytes < WARM_BYTES ? bytes : WARM_BYTES;
    for (enum delta_form form = pattern->base; form < DELTA_FORMS; form++)
        (void)time_s(pattern, form);
    task.bytes = bytes;
}

/* All tasks have the same times, so they agree on when it is enough. */
static void measure(const struct delta_pattern *pattern, int least)
{
    double taken_s[DELTA_FORMS][RUNS_MAX] = {{0}}, all_s = 0;
    int n = 0;

    warm_up(pattern);
    for (; n < least || (all_s < MEASURED_S && n < RUNS_MAX); n++)
        for (enum delta_form form = pattern->base; form < DELTA_FORMS; form++) {
            taken_s[form][n] = time_s(pattern, form);
            all_s += taken_s[form][n];
        }
    if (task.rank == 0) {
        printf("row %s %zu %.9f %.9f %.9f\n", pattern->name, task.bytes, median(taken_s[DELTA_BLOCKING], n),
               median(taken_s[DELTA_NONBLOCKING], n), median(taken_s[DELTA_INCREMENTS], n));
        fflush(stdout);
    }
}

/* One byte of each page; calls: and says so. */
static int64_t touch_pages(MPI_Request request, bool calls)
{
    int64_t began_ns = now_ns();

    for (size_t at = 0; at < task.bytes; at += DELTA_PAGE) {
        *((volatile char *)task.out[0] + at) = 1;
        if (calls)
            DELTA_OK(MPIX_Delta_send_data(request, (char *)task.out[0] + at, DELTA_PAGE));
    }
    return now_ns() - began_ns;
}

/* Without computing: what the touches cost more in a message; ns of the whole message; both alike in increments or as one. */
static void message(bool increments, int64_t *touch_ns, int64_t *all_ns)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t plain_ns = touch_pages(request, false), began_ns;
    int n = (int)task.bytes;

    MPI_Barrier(MPI_COMM_WORLD);
    began_ns = now_ns();
    *touch_ns = 0;
    if (task.rank == 1) {
        MPI_Recv(task.in[0], n, MPI_BYTE, 0, DELTA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, DELTA_TAG, MPI_COMM_WORLD);
    } else if (task.rank == 0) {
        if (increments) {
            MPIX_Delta_send_begin(task.out[0], n, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD, &request);
            *touch_ns = touch_pages(request, !task.by_os) - plain_ns;
            MPIX_Delta_wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(task.out[0], n, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD);
        }
        MPI_Recv(NULL, 0, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    *all_ns = now_ns() - began_ns;
}

static void pass_ns(int64_t ns)
{
    delta_begin_computing();
    delta_compute(ns);
}

static int64_t read_pages(void)
{
    int64_t began_ns = now_ns();

    for (size_t at = 0; at < READ_PAGES * DELTA_PAGE; at += DELTA_PAGE)
        (void)*((const volatile char *)task.in[0] + at);
    return now_ns() - began_ns;
}

/* What the first touch of a page costs that has come, as a message of its own. Nothing is sent before all receives hide their pages. */
static double read_ns(void)
{
    int64_t touch_ns;

    if (task.rank == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < READ_PAGES; i++) {
        uint32_t *page = task.in[0] + i * DELTA_WORDS;

        if (task.rank == 0)
            MPI_Send(page, DELTA_PAGE, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD);
        else if (task.rank == 1)
            MPIX_Delta_recv(page, DELTA_PAGE, MPI_BYTE, 0, DELTA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (task.rank != 1)
        return 0;
    MPI_Send(NULL, 0, MPI_BYTE, 0, DELTA_TAG, MPI_COMM_WORLD);
    pass_ns(MESSAGES_NS);
    touch_ns = read_pages();
    touch_ns -= read_pages();
    for (size_t i = 0; i < READ_PAGES; i++)
        MPIX_Delta_recv_wait(task.in[0] + i * DELTA_WORDS, MPI_STATUS_IGNORE);
    return (double)touch_ns / READ_PAGES;
}

/* Calls that announce less than an increment. */
static double call_ns(void)
{
    MPI_Request request;
    int64_t took_ns = 0;
    int n = (int)(CALLS * CALL_BYTES);

    if (task.rank == 1)
        MPI_Recv(task.in[0], n, MPI_BYTE, 0, DELTA_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task.rank != 0)
        return 0;
    MPIX_Delta_send_begin(task.out[0], n, MPI_BYTE, 1, DELTA_TAG, MPI_COMM_WORLD, &request);
    took_ns = now_ns();
    for (size_t i = 0; i < CALLS; i++)
        DELTA_OK(MPIX_Delta_send_data(request, (char *)task.out[0] + i * CALL_BYTES, CALL_BYTES));
    took_ns = now_ns() - took_ns;
    MPIX_Delta_wait(&request, MPI_STATUS_IGNORE);
    return (double)took_ns / CALLS;
}

static void print_cost(const char *name, double value)
{
    if (task.rank == 0)
        printf("cost %s %.4f\n", name, value);
}

static void costs(int runs)
{
    double touches[ASKED_MAX], whole[ASKED_MAX], parts[ASKED_MAX], each[ASKED_MAX];
    double pages = (double)task.bytes / DELTA_PAGE, one_ns, many_ns, cost, most;

    for (int i = 0; i < runs; i++) {
        int64_t touch_ns, all_ns;

        message(false, &touch_ns, &all_ns);
        whole[i] = (double)all_ns;
        message(true, &touch_ns, &all_ns);
        parts[i] = (double)all_ns;
        touches[i] = (double)touch_ns / pages;
        each[i] = task.by_os ? read_ns() : call_ns();
    }
    one_ns = median(whole, runs);
    many_ns = median(parts, runs);
    cost = best(each, runs); /* of a call rank 0 knows it, of a read rank 1 */
    MPI_Allreduce(&cost, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (task.by_os) {
        print_cost("fault_ns", best(touches, runs));
        print_cost("read_fault_ns", most);
    } else {
        print_cost("call_ns", most);
        print_cost("increment_ns", (many_ns - one_ns) / pages);
        print_cost("increments_ratio", many_ns / one_ns);
    }
    fflush(stdout);
}

static bool wanted(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void run_patterns(const char *list, int runs)
{
    if (strcmp(list, "costs") == 0) {
        costs(runs);
        return;
    }
    for (int i = 0; i < DELTA_PATTERNS; i++)
        if (wanted(list, delta_patterns[i].name))
            measure(&delta_patterns[i], runs);
}

int main(int argc, char **argv)
{
    size_t most = CALLS * CALL_BYTES;
    int runs;

    if (argc < 7 || atoi(argv[4]) < 1 || atoi(argv[4]) > ASKED_MAX) {
        fprintf(stderr,
                "usage: delta_mpi os|annotation DELTA_BYTES|auto PAGE_NS RUNS PATTERNS|costs BYTES...\n");
        return 2;
    }
    task.by_os = strcmp(argv[1], "os") == 0;
    setenv("NOF_DELTA", task.by_os ? "os" : "explicit", 1);
    setenv("NOF_DELTA_SIZE", argv[2], 1);
    task.page_ns = atoll(argv[3]);
    runs = atoi(argv[4]);
    (void)prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &task.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &task.tasks);
    for (int i = 6; i < argc; i++)
        most = strtoul(argv[i], NULL, 10) > most ? strtoul(argv[i], NULL, 10) : most;
    most = most < MG_FACE_BYTES ? MG_FACE_BYTES : most; /* READ_PAGES, too */
    for (int k = 0; k < DELTA_BUFFERS; k++) {
        task.in[k] = map(most);
        task.out[k] = map(most);
    }
    for (int i = 6; i < argc; i++) {
        task.bytes = strtoul(argv[i], NULL, 10) / DELTA_PAGE * DELTA_PAGE;
        run_patterns(argv[5], runs);
    }
    MPI_Finalize();
    return 0;
}
