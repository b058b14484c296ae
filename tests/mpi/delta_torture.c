/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os: messages of random length and place, written and read in random ways (loops, memcpy, printf, eight threads), while
 * another thread is always in the library, the program sets its own handler of SIGSEGV, and forks. All of it arrives bit by
 * bit. Argument: the seed. NOF_DELTA_SIZE=4096, so that threads have parts of their own. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 160, BYTES = PAGES * PAGE, TAG = 5, THREADS = 8, MESSAGES = 150 };

static unsigned char *buf, *wanted; /* BYTES and a page */
static uint64_t dice;
static volatile int busy;

static size_t draw(size_t n)
{
    return (size_t)(t_random(&dice) % n);
}

struct range {
    pthread_t thread;
    size_t from, behind;
};

static void by_loop(size_t from, size_t behind)
{
    for (size_t i = from; i < behind; i++)
        buf[i] = wanted[i];
}

static void by_loop_down(size_t from, size_t behind)
{
    for (size_t i = behind; i-- > from;)
        buf[i] = wanted[i];
}

static void by_memcpy(size_t from, size_t behind)
{
    memcpy(buf + from, wanted + from, behind - from);
}

static void by_rows(size_t from, size_t behind)
{
    size_t row = 1 + draw(20000);
    for (size_t i = from; i < behind; i += row)
        memcpy(buf + i, wanted + i, behind - i < row ? behind - i : row);
}

static void by_printf(size_t from, size_t behind)
{
    size_t i = from;
    for (; i + 50 < behind; i += 49)
        snprintf((char *)buf + i, 50, "%.*s", 49, (const char *)wanted + i);
    by_memcpy(i, behind);
}

static void *write_range(void *arg)
{
    const struct range *r = arg;
    by_loop(r->from, r->behind);
    return NULL;
}

static void *read_range(void *arg)
{
    const struct range *r = arg;
    CHECK(memcmp(buf + r->from, wanted + r->from, r->behind - r->from) == 0);
    return NULL;
}

/* Ranges end where pages do, or all are the same. */
static void in_threads(void *(*work)(void *), size_t from, size_t behind, int same)
{
    struct range range[THREADS];
    size_t pages = behind / PAGE - from / PAGE;
    for (size_t k = 0; k < THREADS; k++) {
        range[k].from = k == 0 || same ? from : (from / PAGE + pages * k / THREADS) * PAGE;
        range[k].from = range[k].from < from ? from : range[k].from;
        range[k].behind =
            k == THREADS - 1 || same ? behind : (from / PAGE + pages * (k + 1) / THREADS) * PAGE;
        range[k].behind = range[k].behind < range[k].from ? range[k].from : range[k].behind;
        CHECK(pthread_create(&range[k].thread, NULL, work, &range[k]) == 0);
    }
    for (size_t k = 0; k < THREADS; k++)
        CHECK(pthread_join(range[k].thread, NULL) == 0);
}

static void by_threads(size_t from, size_t behind)
{
    in_threads(write_range, from, behind, 0);
}

static void read_by_loop(size_t from, size_t behind)
{
    for (size_t i = from; i < behind; i++)
        CHECK(buf[i] == wanted[i]);
}

static void read_anywhere(size_t from, size_t behind)
{
    uint64_t other_dice = from + 1;
    for (int k = 0; k < 300; k++) {
        size_t i = from + t_random(&other_dice) % (behind - from);
        CHECK(buf[i] == wanted[i]);
    }
}

static void read_by_memcmp(size_t from, size_t behind)
{
    CHECK(memcmp(buf + from, wanted + from, behind - from) == 0);
}

static void read_by_threads(size_t from, size_t behind)
{
    in_threads(read_range, from, behind, 0);
    in_threads(read_range, from, behind, 1);
}

static void end_with(int number)
{
    static const char line[] = "a fault that is nobody's\n";
    (void)!write(STDERR_FILENO, line, sizeof(line) - 1);
    _exit(number);
}

static void meanwhile(void)
{
    int status;
    if (draw(8) == 0)
        signal(SIGSEGV, end_with);
    if (draw(8) == 0)
        signal(SIGBUS, end_with);
    if (draw(8) != 0)
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        memset(buf, 1, BYTES);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void message(void)
{
    static void (*const writes[])(size_t, size_t) = {by_loop, by_loop_down, by_memcpy,
                                                     by_rows, by_printf,    by_threads};
    static void (*const reads[])(size_t, size_t) = {read_by_loop, read_anywhere, read_by_memcmp,
                                                    read_by_threads};
    size_t at = draw(2) == 0 ? 0 : draw(PAGE), bytes = 1 + draw(BYTES), how = draw(6), then = draw(4);
    int any = draw(4) == 0;
    uint64_t after;
    for (size_t i = at; i < at + bytes; i++)
        wanted[i] = (unsigned char)(1 + (t_byte(dice, i) + (draw(64) == 0)) % 255);
    after = dice;
    if (t_rank == 0) {
        MPI_Request req;
        OK(MPIX_Delta_send_begin(buf + at, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &req));
        meanwhile();
        writes[how](at, at + bytes);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        memset(buf, 0, BYTES);
        OK(MPIX_Delta_recv(buf + at, (int)bytes, MPI_BYTE, any ? MPI_ANY_SOURCE : 0, TAG, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
        meanwhile();
        reads[then](at, at + bytes);
        if (draw(2) == 0)
            OK(MPIX_Delta_recv_wait(buf + at, MPI_STATUS_IGNORE));
        CHECK(memcmp(buf + at, wanted + at, bytes) == 0);
    }
    dice = after;
}

static void *call_mpi(void *arg)
{
    int flag;
    (void)arg;
    while (busy)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t caller;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    CHECK(t_size == 2 && level == MPI_THREAD_MULTIPLE);
    t_errors_return();
    dice = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    buf = mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wanted = malloc(BYTES + PAGE);
    CHECK(buf != MAP_FAILED && wanted != NULL);
    busy = 1;
    CHECK(pthread_create(&caller, NULL, call_mpi, NULL) == 0);
    for (int k = 0; k < MESSAGES; k++)
        message();
    busy = 0;
    CHECK(pthread_join(caller, NULL) == 0);
    free(wanted);
    return t_end();
}
