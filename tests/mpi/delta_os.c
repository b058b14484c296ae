/* SPDX-License-Identifier: BSD-3-Clause */
/* NOF_DELTA=os: pages say what is written, and wait for what has not come; beside memcpy and printf, threads, fork, the program's
 * own handler of faults, and calls of MPI on buffers that are hidden. Programs without a word about increments. */
#include "mpi_offload.h"

#include "mpitest.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 100, BYTES = PAGES * PAGE, TAG = 5, ACK = 6, THREADS = 20 };

static unsigned char *out, *in; /* BYTES and a page more, page aligned */
static int other;

static unsigned char *map(void)
{
    void *memory = mmap(NULL, BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static MPI_Request begin(const void *from, int bytes)
{
    MPI_Request req;
    OK(MPIX_Delta_send_begin(from, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &req));
    return req;
}

static void receive(void *to, int bytes)
{
    OK(MPIX_Delta_recv(to, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void acknowledge(void)
{
    OK(MPI_Send(NULL, 0, MPI_BYTE, other, ACK, MPI_COMM_WORLD));
}

static void await_acknowledgement(void)
{
    OK(MPI_Recv(NULL, 0, MPI_BYTE, other, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* How writes are caught is a hint of the communicator; what is no way to do it changes nothing. */
static void hinted(const char *hint, const char *known)
{
    MPI_Info info;
    char value[32];
    int len = sizeof(value), found;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "nof_delta_trigger", hint));
    OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    OK(MPI_Info_get_string(info, "nof_delta_trigger", &len, value, &found));
    CHECK(found && strcmp(value, known) == 0);
    OK(MPI_Info_free(&info));
}

/* `at`: where in a page it begins. */
static void fill_and_read(int at, int bytes, int plain_send, int plain_recv)
{
    uint64_t id = (uint64_t)(at + bytes);
    if (t_rank == 0 && !plain_send) {
        MPI_Request req = begin(out + at, bytes);
        t_fill(out + at, (size_t)bytes, id);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        memset(out + at, 0, (size_t)bytes); /* the program's again */
    } else if (t_rank == 0) {
        t_fill(out + at, (size_t)bytes, id);
        OK(MPI_Send(out + at, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else if (!plain_recv) {
        memset(in, 0xee, BYTES + PAGE);
        receive(in + at, bytes);
        CHECK(t_verify(in + at, (size_t)bytes, id));
        CHECK((at == 0 || in[at - 1] == 0xee) && in[at + bytes] == 0xee);
        in[at]++; /* kept: it has come */
        OK(MPIX_Delta_recv_wait(in + at, MPI_STATUS_IGNORE));
        in[at]--;
        CHECK(t_verify(in + at, (size_t)bytes, id));
    } else {
        OK(MPI_Recv(in + at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(t_verify(in + at, (size_t)bytes, id));
    }
}

/* The first half is read before the second is made. */
static void pipelined(void)
{
    if (t_rank == 0) {
        MPI_Request req = begin(out, BYTES);
        t_fill(out, BYTES / 2 + BYTES / 4, 1);
        await_acknowledgement();
        for (int i = BYTES / 2 + BYTES / 4; i < BYTES; i++)
            out[i] = 7;
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        memset(in, 0, BYTES);
        receive(in, BYTES);
        CHECK(t_verify(in, BYTES / 2, 1));
        acknowledge();
        CHECK(in[BYTES - 1] == 7);
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

/* Pages in any order. */
static void backwards(void)
{
    if (t_rank == 0) {
        MPI_Request req = begin(out, BYTES);
        for (int i = BYTES - 1; i >= 0; i--)
            out[i] = t_byte(2, (size_t)i);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        uint64_t dice = 99;
        receive(in, BYTES);
        for (int k = 0; k < 2000; k++) {
            size_t i = t_random(&dice) % BYTES;
            CHECK(in[i] == t_byte(2, i));
        }
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

static void lengths(void)
{
    MPI_Status status;
    int count;
    for (int k = 0; k < 3; k++) {
        int bytes = BYTES / 2 + (k == 0 ? 0 : 100 * k);
        if (t_rank == 0) {
            MPI_Request req = begin(out, k == 2 ? BYTES : bytes);
            t_fill(out, (size_t)bytes, 3);
            if (k == 2)
                OK(MPIX_Delta_send_end_count(&req, bytes));
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
            continue;
        }
        memset(in, 0x11, BYTES);
        receive(in, BYTES);
        CHECK(in[BYTES - 1] == 0x11 && in[bytes] == 0x11);
        CHECK(t_verify(in, (size_t)bytes, 3));
        OK(MPIX_Delta_recv_wait(in, &status));
        OK(MPI_Get_count(&status, MPI_BYTE, &count));
        CHECK(count == bytes);
        for (int i = bytes; i < BYTES; i++)
            CHECK(in[i] == 0x11);
    }
    if (t_rank == 0) {
        MPI_Request req = begin(out, BYTES);
        t_fill(out, BYTES, 4);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        in[BYTES / 2] = 0x22;
        int code = MPIX_Delta_recv(in, BYTES / 2, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS || t_class(code) == MPI_ERR_TRUNCATE);
        CHECK(t_verify(in, BYTES / 2, 4) && in[BYTES / 2] == 0x22);
        FAILS(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    }
}

/* Whole pages: the receive returns before the other has begun to send. */
static void both_ways(void)
{
    MPI_Request req;
    receive(in, BYTES);
    req = begin(out, BYTES);
    t_fill(out, BYTES, 7);
    OK(MPIX_Delta_send_end(&req));
    CHECK(t_verify(in, BYTES, 7));
    OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
}

/* What is written to a part that has gone is found out, with its address; the receiver has what was there before. */
static void twice(void)
{
    if (t_rank == 0) {
        char text[MPI_MAX_ERROR_STRING], address[32];
        int len, code;
        MPI_Request req = begin(out, BYTES);
        t_fill(out, BYTES, 5);
        out[10] ^= 0xff;
        code = MPIX_Delta_send_end(&req);
        CHECK(t_class(code) == MPI_ERR_ARG);
        OK(MPI_Error_string(code, text, &len));
        snprintf(address, sizeof(address), "%p", (void *)(out + 10));
        CHECK(strstr(text, address) != NULL);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        out[10] = 0;
    } else {
        receive(in, BYTES);
        for (int i = PAGE; i < BYTES; i++)
            CHECK(in[i] == t_byte(5, (size_t)i));
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

/* Inside functions of the C library. */
static void libc(void)
{
    static unsigned char from[BYTES];
    t_fill(from, BYTES, 6);
    if (t_rank == 0) {
        MPI_Request req = begin(out, BYTES);
        memcpy(out, from, BYTES / 2);
        for (char *p = (char *)out + BYTES / 2; p < (char *)out + BYTES - 16; p += 16)
            snprintf(p, 17, "%16d", (int)(p - (char *)out));
        memset(out + BYTES - 16, ' ', 16);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        char line[17];
        receive(in, BYTES);
        CHECK(memcmp(in, from, BYTES / 2) == 0);
        for (int at = BYTES / 2; at < BYTES - 16; at += 16) {
            snprintf(line, sizeof(line), "%.16s", (char *)in + at);
            CHECK(atoi(line) == at);
        }
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

static void *write_stripe(void *arg)
{
    size_t k = (size_t)(intptr_t)arg;
    for (size_t page = 0; page < 4; page++) /* all on one page, then on the next part */
        for (size_t i = k; i < PAGE; i += THREADS)
            out[page * PAGE + i] = t_byte(8, page * PAGE + i);
    return NULL;
}

static void *write_range(void *arg)
{
    size_t k = (size_t)(intptr_t)arg, each = BYTES / 2 / THREADS / PAGE * PAGE;
    for (size_t i = BYTES / 2 + k * each; i < BYTES / 2 + (k + 1) * each; i++)
        out[i] = t_byte(8, i);
    return NULL;
}

static void *read_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 4 * PAGE; i++)
        CHECK(in[i] == t_byte(8, i));
    return NULL;
}

static void in_threads(void *(*work)(void *))
{
    pthread_t thread[THREADS];
    for (intptr_t k = 0; k < THREADS; k++)
        CHECK(pthread_create(&thread[k], NULL, work, (void *)k) == 0); // NOLINT: a number
    for (int k = 0; k < THREADS; k++)
        CHECK(pthread_join(thread[k], NULL) == 0);
}

/* All threads on one page; then each in pages of its own, some more than are told from each other. The library's lock is always
 * somebody's. */
static volatile int busy;
static void *call_mpi(void *arg)
{
    int flag;
    (void)arg;
    while (busy)
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    return NULL;
}

static void threads(int level)
{
    pthread_t caller;
    busy = level == MPI_THREAD_MULTIPLE;
    if (busy)
        CHECK(pthread_create(&caller, NULL, call_mpi, NULL) == 0);
    if (t_rank == 0) {
        MPI_Request req = begin(out, 4 * PAGE); /* one part of four pages, or four of one */
        for (size_t i = 0; i < 4 * PAGE; i++)
            out[i] = t_byte(8, i);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        req = begin(out, PAGE);
        in_threads(write_stripe); /* pages behind are not of the message */
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        req = begin(out + BYTES / 2, BYTES / 2);
        in_threads(write_range);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        size_t each = BYTES / 2 / THREADS / PAGE * PAGE;
        receive(in, 4 * PAGE);
        in_threads(read_all);
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        receive(in, PAGE);
        for (size_t i = 0; i < PAGE; i++)
            CHECK(in[i] == t_byte(8, i));
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        receive(in + BYTES / 2, BYTES / 2);
        for (size_t i = BYTES / 2; i < BYTES / 2 + THREADS * each; i++)
            CHECK(in[i] == t_byte(8, i));
        OK(MPIX_Delta_recv_wait(in + BYTES / 2, MPI_STATUS_IGNORE));
    }
    if (busy) {
        busy = 0;
        CHECK(pthread_join(caller, NULL) == 0);
    }
}

static sigjmp_buf back;
static volatile int own_faults;

static void own_handler(int number)
{
    (void)number;
    own_faults++;
    siglongjmp(back, 1);
}

static void fault_on(unsigned char *page)
{
    int was = own_faults;
    CHECK(mprotect(page, PAGE, PROT_READ) == 0);
    if (sigsetjmp(back, 1) == 0) {
        *(volatile unsigned char *)page = 1;
        CHECK(0); /* not reached */
    }
    CHECK(own_faults == was + 1);
}

static void fault_of_our_own(void)
{
    unsigned char *page = map();
    fault_on(page);
    CHECK(munmap(page, BYTES + PAGE) == 0);
}

/* Set before the first message of main(), and again here: who comes later is asked later. */
static void handlers(void)
{
    for (int k = 0; k < 2; k++) {
        if (t_rank == 0) {
            MPI_Request req = begin(out, BYTES);
            t_fill(out, BYTES / 2, 9);
            fault_of_our_own();
            t_fill(out, BYTES, 9); /* finds out what was sent before: the same bytes */
            int code = MPIX_Delta_wait(&req, MPI_STATUS_IGNORE);
            CHECK(t_class(code) == MPI_ERR_ARG);
        } else {
            receive(in, BYTES);
            fault_of_our_own();
            CHECK(t_verify(in, BYTES, 9));
            OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        }
        signal(SIGSEGV, own_handler);
    }
}

static void forked(void)
{
    MPI_Request req = MPI_REQUEST_NULL;
    int status;
    if (t_rank == 0) {
        req = begin(out, BYTES);
        t_fill(out, BYTES / 2, 10);
    } else {
        memset(in, 0x33, BYTES);
        receive(in, BYTES);
    }
    unsigned char *page = map();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        memset(out, 1, BYTES);
        for (int i = 0; i < BYTES; i++)
            in[i]++;
        fault_on(page); /* which its parent can write */
        _exit(0);
    }
    CHECK(munmap(page, BYTES + PAGE) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    if (t_rank == 0) {
        for (int i = BYTES / 2; i < BYTES; i++)
            out[i] = t_byte(10, (size_t)i);
        OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
    } else {
        CHECK(t_verify(in, BYTES, 10));
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

/* Sent on and received into without a touch; and gathered, by whatever way. */
static void handed_on(void)
{
    for (int k = 0; k < 3; k++) {
        if (t_rank == 0) {
            MPI_Request req = begin(out, BYTES);
            t_fill(out, BYTES, 11);
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
            if (k == 0)
                OK(MPI_Recv(in, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (k == 1)
                OK(MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        } else {
            receive(in, BYTES);
            if (k == 0)
                OK(MPI_Send(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
            if (k == 1)
                OK(MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        if (k == 2)
            OK(MPI_Bcast(in, BYTES, MPI_BYTE, 1, MPI_COMM_WORLD));
        CHECK((t_rank == 0 && k == 1) || t_verify(in, BYTES, 11));
        if (t_rank == 1)
            OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
    }
}

/* A part of what is sent comes from elsewhere while the message is under way, by the NIC or by a collective. */
static void received_into(void)
{
    const int half = BYTES / 2;
    for (int k = 0; k < 2; k++) {
        if (t_rank == 0) {
            MPI_Request req = begin(out, BYTES);
            for (int i = 0; i < half; i++)
                out[i] = t_byte(12, (size_t)i);
            if (k == 0)
                OK(MPI_Recv(out + half, half, MPI_BYTE, 1, ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            else
                OK(MPI_Bcast(out + half, half, MPI_BYTE, 1, MPI_COMM_WORLD));
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
            continue;
        }
        unsigned char *from = map();
        receive(in, BYTES);
        CHECK(in[0] == t_byte(12, 0));
        for (int i = 0; i < half; i++)
            from[i] = t_byte(12, (size_t)(half + i));
        if (k == 0)
            OK(MPI_Send(from, half, MPI_BYTE, 0, ACK, MPI_COMM_WORLD));
        else
            OK(MPI_Bcast(from, half, MPI_BYTE, 1, MPI_COMM_WORLD));
        CHECK(t_verify(in, BYTES, 12));
        OK(MPIX_Delta_recv_wait(in, MPI_STATUS_IGNORE));
        CHECK(munmap(from, BYTES + PAGE) == 0);
    }
}

/* What nobody has touched before is hidden as other memory is. */
static void into_new_memory(void)
{
    for (int k = 0; k < 10; k++) {
        unsigned char *to = map();
        if (t_rank == 0) {
            MPI_Request req = begin(out, BYTES);
            t_fill(out, BYTES, (uint64_t)k);
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        } else {
            receive(to, BYTES);
            CHECK(t_verify(to, BYTES, (uint64_t)k));
            OK(MPIX_Delta_recv_wait(to, MPI_STATUS_IGNORE));
        }
        CHECK(munmap(to, BYTES + PAGE) == 0);
    }
}

/* Nobody waits for these: the next message of the same buffer does. */
static void again_and_again(void)
{
    for (int k = 0; k < 50; k++) {
        if (t_rank == 0) {
            MPI_Request req = begin(out, BYTES);
            t_fill(out, BYTES, (uint64_t)k);
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        } else {
            receive(in, BYTES);
            CHECK(in[PAGE] == t_byte((uint64_t)k, PAGE));
        }
    }
}

/* Of memory that cannot be watched, told by a call long before its end: the receiver is through before that. */
static void the_former_has_not_ended(void)
{
    unsigned char *there = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(there != MAP_FAILED);
    for (int k = 0; k < 5; k++) {
        if (t_rank == 0) {
            MPI_Request req = begin(there, BYTES);
            t_fill(there, BYTES, (uint64_t)k);
            OK(MPIX_Delta_send_data(req, there, BYTES));
            usleep(20000);
            OK(MPIX_Delta_wait(&req, MPI_STATUS_IGNORE));
        } else {
            receive(in, BYTES);
            CHECK(t_verify(in, BYTES, (uint64_t)k));
        }
    }
    CHECK(munmap(there, BYTES) == 0);
}

int main(int argc, char **argv)
{
    int level;
    CHECK(setenv("NOF_DELTA_SIZE", "4096", 1) == 0); /* where a part ends, the range of a thread may */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    CHECK(t_size >= 2);
    t_errors_return();
    other = t_rank ^ 1;
    out = map();
    in = map();
    signal(SIGSEGV, own_handler);
    static const int sizes[] = {1, 100, PAGE, PAGE + 1, 5 * PAGE, 123456, BYTES};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        for (int way = 0; way < 3; way++) {
            fill_and_read(0, sizes[k], way == 1, way == 2);
            fill_and_read(100, sizes[k], way == 1, way == 2);
        }
    pipelined();
    backwards();
    lengths();
    both_ways();
    twice();
    libc();
    threads(level);
    handlers();
    forked();
    handed_on();
    received_into();
    hinted("userfaultfd", "userfaultfd");
    into_new_memory();
    again_and_again();
    hinted("mprotect", "mprotect");
    hinted("none", "mprotect");
    again_and_again();
    the_former_has_not_ended();
    return t_end();
}
