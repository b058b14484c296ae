/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What pmd_driver.h promises, against a daemon's side that the test plays itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "fake_nofd.h"
#include "nof_private/fence.h"
#include "pmd_state.h"

static struct fake_nofd fake;
static char text[512];

/* On a busy machine: between a look at the clock and the next one so much passes. */
static uint64_t pause_ns, paused_ns;

/* In front of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);
    uint64_t ns = (uint64_t)now->tv_nsec + __atomic_add_fetch(&paused_ns, pause_ns, __ATOMIC_RELAXED);

    now->tv_sec += (time_t)(ns / 1000000000u);
    now->tv_nsec = (long)(ns % 1000000000u);
    return rc;
}

static int attach(struct nof_pmd **pmd_out)
{
    struct nof_pmd_attach_args args = {
        .socket = fake.address, .job_id = 77, .job_key = {1, 2, 3}, .rank = 5, .size = 8, .nic = 1};

    return fake_attach(&fake, &args, pmd_out, text, sizeof(text));
}

static double seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* One that is stopped takes nobody out of its queue, and that is full. */
struct full_queue {
    char name[64];
    int listener, waiting[16], n;
};

static void queue_fill(struct full_queue *q)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t bytes;

    *q = (struct full_queue){.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    snprintf(q->name, sizeof(q->name), "@nof-full-%d", (int)getpid());
    bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(q->name));
    memcpy(at.sun_path, q->name, strlen(q->name));
    at.sun_path[0] = '\0';
    assert_int_equal(bind(q->listener, (const struct sockaddr *)(const void *)&at, bytes), 0);
    assert_int_equal(listen(q->listener, 1), 0);
    do {
        assert_in_range(q->n, 0, 15);
        q->waiting[q->n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(q->waiting[q->n++], (const struct sockaddr *)(const void *)&at, bytes) == 0);
    assert_int_equal(errno, EAGAIN);
}

static void queue_close(struct full_queue *q)
{
    while (q->n > 0)
        close(q->waiting[--q->n]);
    close(q->listener);
}

static void attach_ends_in_a_sentence(struct full_queue *q)
{
    struct nof_pmd_attach_args args = {.socket = q->name, .job_id = 77, .size = 8, .timeout_ms = 300};
    struct nof_pmd *pmd = NULL;
    double began = seconds();

    assert_int_equal(nof_pmd_attach(&args, &pmd, text, sizeof(text)), NOF_ENICDEAD);
    assert_true(seconds() - began >= 0.2);
    assert_non_null(strstr(text, "it is stopped or hangs"));
    assert_non_null(strstr(text, "kill -CONT"));
}

/* connect() would wait for ever. */
static void a_daemon_whose_queue_is_full_is_not_waited_for_long(void **state)
{
    struct full_queue q;

    (void)state;
    queue_fill(&q);
    attach_ends_in_a_sentence(&q);
    queue_close(&q);
}

static void on_alarm(int number)
{
    (void)number;
}

/* Of profilers and timers of the program. */
static void signals_do_not_end_the_wait_for_a_full_queue(void **state)
{
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART}, old;
    struct full_queue q;

    (void)state;
    queue_fill(&q);
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    attach_ends_in_a_sentence(&q);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
    queue_close(&q);
}

/* Each begins poll() anew; it must not begin its time anew. */
static void signals_do_not_prolong_the_wait_for_an_answer(void **state)
{
    const struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
    struct sigaction action = {.sa_handler = on_alarm}, old;
    struct nof_pmd_attach_args args = {.job_id = 77, .size = 8, .timeout_ms = 300};
    struct nof_pmd *pmd = NULL;
    struct full_queue q;
    double began = seconds();

    (void)state;
    queue_fill(&q);
    close(q.waiting[--q.n]); /* not in the queue */
    close(accept(q.listener, NULL, NULL)); /* room for one, whom nobody answers */
    args.socket = q.name;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(nof_pmd_attach(&args, &pmd, text, sizeof(text)), NOF_ENICDEAD);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
    assert_non_null(strstr(text, "does not answer"));
    assert_true(seconds() - began < 60);
    queue_close(&q);
}

/* Else its sentence would be "nobody answers", and each look at it would take as long as attaching. */
static void a_daemon_whose_queue_is_full_is_there(void **state)
{
    struct full_queue q;
    double began;

    (void)state;
    queue_fill(&q);
    began = seconds();
    assert_true(nof_pmd_answers(q.name));
    assert_true(seconds() - began < CHECK_PATIENCE_S / 2.0); /* attaching waits for a minute */
    queue_close(&q);
    assert_false(nof_pmd_answers(q.name));
    assert_false(nof_pmd_answers(""));
}

/* Else nobody is taken for a daemon that is busy. */
static void who_looks_late_has_looked(void **state)
{
    struct full_queue q;

    (void)state;
    pause_ns = 5000000000u;
    assert_false(nof_pmd_answers("@nof-nobody-listens-here"));
    queue_fill(&q);
    assert_true(nof_pmd_answers(q.name));
    queue_close(&q);
    assert_false(nof_pmd_answers(q.name));
    pause_ns = 0;
}

static int setup(void **state)
{
    struct nof_pmd *pmd = NULL;

    fake_open(&fake);
    if (attach(&pmd) != NOF_OK)
        return -1;
    *state = pmd;
    return 0;
}

static int teardown(void **state)
{
    nof_pmd_detach(*state);
    fake_close(&fake);
    return 0;
}

static void request_says_who_we_are(void **state)
{
    uint64_t probe;

    (void)state;
    assert_int_equal(fake.request.magic, NOF_ATTACH_MAGIC);
    assert_int_equal(fake.request.abi_version, NOF_ABI_VERSION);
    assert_int_equal(fake.request.rank, 5);
    assert_int_equal(fake.request.size, 8);
    assert_int_equal(fake.request.nic, 1);
    assert_int_equal(fake.request.job_id, 77);
    assert_int_equal(fake.request.job_key[2], 3);
    memcpy(&probe, (const void *)(uintptr_t)fake.request.probe_addr, sizeof(probe)); // NOLINT: same process
    assert_int_equal(probe, fake.request.probe_value);
}

static void full_ring_takes_no_more_and_loses_nothing(void **state)
{
    struct nof_desc descs[FAKE_SLOTS + 10] = {{0}};
    struct nof_desc got[FAKE_SLOTS];

    for (unsigned i = 0; i < FAKE_SLOTS + 10; i++)
        descs[i].cookie = i;
    assert_int_equal(nof_pmd_submit(*state, descs, FAKE_SLOTS + 10), FAKE_SLOTS);
    assert_int_equal(nof_pmd_submit(*state, descs, 1), 0);
    assert_int_equal(fake_get(&fake, got, FAKE_SLOTS), FAKE_SLOTS);
    for (unsigned i = 0; i < FAKE_SLOTS; i++)
        assert_int_equal(got[i].cookie, i);
}

static void doorbell_rings_only_when_the_nic_sleeps(void **state)
{
    struct nof_desc desc = {.opcode = NOF_DESC_FLUSH};

    assert_int_equal(nof_pmd_submit(*state, &desc, 1), 1);
    assert_int_equal(fake_doorbells(&fake), 0);
    fake.nic_words->nic_asleep = 1;
    assert_int_equal(nof_pmd_submit(*state, &desc, 1), 1);
    assert_int_equal(fake_doorbells(&fake), 1);
}

static void wait_returns_at_once_when_something_is_there(void **state)
{
    uint32_t seen = nof_pmd_wake_count(*state);
    struct nof_comp comp = {.opcode = NOF_COMP_FLUSH};
    struct nof_comp got;

    fake_complete(&fake, &comp, 1);
    assert_int_equal(nof_pmd_wait(*state, seen, UINT64_MAX), NOF_OK);
    assert_int_equal(nof_pmd_reap(*state, &got, 1), 1);
    nof_pmd_wake(*state);
    assert_int_equal(nof_pmd_wait(*state, seen, UINT64_MAX), NOF_OK);
    assert_int_equal(fake.host_words->host_asleep, 0);
}

static void wait_ends_at_its_timeout(void **state)
{
    double start = seconds();

    assert_int_equal(nof_pmd_wait(*state, nof_pmd_wake_count(*state), 20000000), NOF_OK);
    assert_true(seconds() - start >= 0.019);
}

static void *waker(void *pmd)
{
    while (__atomic_load_n(&fake.host_words->host_asleep, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    nof_pmd_wake(pmd);
    return NULL;
}

static void any_thread_wakes_a_sleeper(void **state)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, waker, *state), 0);
    assert_int_equal(nof_pmd_wait(*state, nof_pmd_wake_count(*state), UINT64_MAX), NOF_OK);
    pthread_join(thread, NULL);
}

static void delta_ring_names_the_slot_and_wakes_the_nic(void **state)
{
    struct nof_delta_host *board = nof_pmd_delta_host(*state);

    nof_pmd_delta_ring(*state, 0);
    assert_int_equal(fake_doorbells(&fake), 0);
    fake.nic_words->nic_asleep = 1;
    nof_pmd_delta_ring(*state, 63);
    assert_int_equal(fake_doorbells(&fake), 1);
    assert_true(board->rung == (1ull << 63 | 1));
    nof_pmd_delta_ring(*state, 63); /* the NIC has yet to look: whoever set the bit has woken it */
    assert_int_equal(fake_doorbells(&fake), 0);
    board->rung = 1;
    nof_pmd_delta_ring(*state, 63);
    assert_int_equal(fake_doorbells(&fake), 1);
    assert_true(board->rung == (1ull << 63 | 1));
}

/* As a host that is about to sleep, and a NIC that tells of an arrival (nof/delta.h). */
static uint32_t arm(struct nof_delta_host *board)
{
    __atomic_store_n(&board->asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full();
    return __atomic_load_n(&board->wake, __ATOMIC_ACQUIRE);
}

static void *tell_of_arrival(void *board)
{
    struct nof_delta_host *b = board;

    nof_fence_full();
    if (__atomic_exchange_n(&b->asleep, 0, __ATOMIC_RELAXED) == 1) {
        (void)__atomic_fetch_add(&b->wake, 1, __ATOMIC_SEQ_CST);
        (void)syscall(SYS_futex, &b->wake, FUTEX_WAKE, 16, NULL, NULL, 0);
    }
    return NULL;
}

static void *tell_a_sleeper(void *board)
{
    usleep(20000);
    return tell_of_arrival(board);
}

/* One that is lost costs a whole look at the life line, 100 ms; so may a busy machine, but not each time. */
static void delta_wait_is_ended_by_an_arrival(void **state)
{
    struct nof_delta_host *board = nof_pmd_delta_host(*state);
    double end = seconds() + CHECK_PATIENCE_S;
    unsigned in_time = 0;

    while (in_time < 5 && seconds() < end) {
        pthread_t thread;
        uint32_t seen = arm(board);
        double start = seconds();

        tell_of_arrival(board); /* between the look and the sleep */
        assert_int_equal(nof_pmd_delta_wait(*state, seen, UINT64_MAX), NOF_OK);
        seen = arm(board);
        assert_int_equal(pthread_create(&thread, NULL, tell_a_sleeper, board), 0);
        assert_int_equal(nof_pmd_delta_wait(*state, seen, UINT64_MAX), NOF_OK);
        pthread_join(thread, NULL);
        in_time += seconds() - start < 0.095;
    }
    assert_int_equal(in_time, 5);
}

static void delta_wait_ends(void **state)
{
    struct nof_delta_host *board = nof_pmd_delta_host(*state);
    double start = seconds();

    assert_int_equal(nof_pmd_delta_wait(*state, board->wake, 20000000), NOF_OK);
    assert_true(seconds() - start >= 0.019);
    assert_int_equal(nof_pmd_delta_wait(*state, board->wake + 1, UINT64_MAX), NOF_OK);
    assert_false(nof_pmd_delta_gone(*state));
    fake.nic_words->endpoint_failed = (uint32_t)NOF_EPROTO;
    assert_true(nof_pmd_delta_gone(*state));
    fake.nic_words->endpoint_failed = 0;
    fake_hang_up(&fake);
    assert_true(nof_pmd_delta_gone(*state));
    assert_int_equal(nof_pmd_delta_wait(*state, board->wake, UINT64_MAX), NOF_ENICDEAD);
}

static void detach_says_goodbye(void **state)
{
    struct nof_detach goodbye = {0};
    struct nof_pmd *pmd = NULL;

    (void)state;
    fake_open(&fake);
    assert_int_equal(attach(&pmd), NOF_OK);
    nof_pmd_detach(pmd);
    assert_int_equal(recv(fake.socket, &goodbye, sizeof(goodbye), 0), sizeof(goodbye));
    assert_int_equal(goodbye.magic, NOF_DETACH_MAGIC);
    assert_int_equal(recv(fake.socket, &goodbye, sizeof(goodbye), 0), 0);
    fake_close(&fake);
}

static void death_of_the_daemon_is_noticed_asleep(void **state)
{
    fake_hang_up(&fake);
    assert_int_equal(nof_pmd_wait(*state, nof_pmd_wake_count(*state), UINT64_MAX), NOF_ENICDEAD);
    assert_non_null(strstr(nof_pmd_death(*state), "has ended"));
    assert_int_equal(nof_pmd_wait(*state, 0, UINT64_MAX), NOF_ENICDEAD);
    assert_int_equal(nof_pmd_submit(*state, &(struct nof_desc){0}, 1), NOF_ENICDEAD);
}

static void death_is_noticed_spinning_and_after_the_last_completion(void **state)
{
    struct nof_comp comp = {.opcode = NOF_COMP_SEND, .cookie = 9};
    struct nof_comp got;
    double start = seconds();
    int rc;

    assert_string_equal(nof_pmd_death(*state), "");
    fake_complete(&fake, &comp, 1);
    fake_hang_up(&fake);
    assert_int_equal(nof_pmd_reap(*state, &got, 1), 1);
    assert_int_equal(got.cookie, 9);
    do {
        rc = nof_pmd_reap(*state, &got, 1);
    } while (rc == 0 && seconds() - start < CHECK_PATIENCE_S);
    assert_int_equal(rc, NOF_ENICDEAD);
}

static void failed_endpoint_says_why(void **state)
{
    struct nof_comp got;

    fake.nic_words->endpoint_failed = (uint32_t)NOF_EPROTO;
    assert_int_equal(nof_pmd_wait(*state, nof_pmd_wake_count(*state), UINT64_MAX), NOF_OK);
    assert_int_equal(nof_pmd_reap(*state, &got, 1), 0);
    assert_int_equal(nof_pmd_reap(*state, &got, 1), NOF_ENICDEAD);
    assert_non_null(strstr(nof_pmd_death(*state), nof_strstatus(NOF_EPROTO)));
}

static void fork_has_no_nic(void **state)
{
    struct nof_desc desc = {.opcode = NOF_DESC_FLUSH};
    struct nof_comp comp;
    uint64_t offset;
    int status;
    pid_t child = fork();

    if (child == 0) {
        int wrong = nof_pmd_submit(*state, &desc, 1) != NOF_ENICDEAD;

        wrong |= nof_pmd_reap(*state, &comp, 1) != NOF_ENICDEAD;
        wrong |= nof_pmd_wait(*state, 0, 0) != NOF_ENICDEAD;
        wrong |= nof_pmd_bounce_alloc(*state, 8, &offset) != NULL || nof_pmd_program_area(*state) != NULL;
        wrong |= nof_pmd_counter(*state, NOF_C_TX_FRAMES) != 0;
        wrong |= nof_pmd_library_counts(*state, FAKE_LIBRARY_COUNTS) != NULL;
        wrong |= strstr(nof_pmd_death(*state), "fork") == NULL;
        nof_pmd_wake(*state);
        nof_pmd_detach(*state);
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(nof_pmd_submit(*state, &desc, 1), 1);
}

static void host_cannot_write_what_it_may_only_read(void **state)
{
    const unsigned char *id = (const unsigned char *)nof_pmd_staged(*state, 0, 1);
    uintptr_t page = (uintptr_t)id & ~(uintptr_t)4095;

    errno = 0;
    assert_int_equal(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), -1); // NOLINT
    assert_int_equal(errno, EACCES);
}

static void staged_payload_stays_inside(void **state)
{
    assert_non_null(nof_pmd_staged(*state, FAKE_STAGING_BYTES - 8, 8));
    assert_null(nof_pmd_staged(*state, FAKE_STAGING_BYTES - 8, 9));
    assert_null(nof_pmd_staged(*state, UINT32_MAX, UINT32_MAX));
}

static void counters_are_live(void **state)
{
    enum nof_counter counter;

    fake.counters[1] = 4711;
    assert_int_equal(nof_pmd_counter_find("port.tx_bytes", &counter), NOF_OK);
    assert_int_equal(nof_pmd_counter(*state, counter), 4711);
    assert_int_equal(nof_pmd_counter(*state, NOF_C_NETMEM_BYTES), 0); /* beyond what this daemon has */
    assert_int_equal(nof_pmd_counter_find("no.such", &counter), NOF_ENOENT);
    fake.counters[FAKE_UNEXPECTED] = 1147;
    assert_int_equal(nof_pmd_unexpected(*state), 1147);
}

static void library_counts_are_written_where_they_are_known(void **state)
{
    uint64_t *counts = nof_pmd_library_counts(*state, FAKE_LIBRARY_COUNTS);

    assert_non_null(counts);
    counts[FAKE_LIBRARY_COUNTS - 1] = 4711;
    assert_int_equal(fake.library_counts[FAKE_LIBRARY_COUNTS - 1], 4711);
    assert_null(nof_pmd_library_counts(*state, FAKE_LIBRARY_COUNTS + 1)); /* a daemon of another build */
    assert_null(nof_pmd_library_counts(*state, FAKE_LIBRARY_COUNTS - 1));
}

/* One assist request; returns the status that the daemon is told. */
static int assisted(struct nof_pmd *pmd, uint8_t flags, const void *addr, uint32_t offset, uint32_t len)
{
    struct nof_comp request = {.opcode = NOF_COMP_ASSIST, .flags = flags};
    static uint32_t generation = 98;
    struct nof_comp got[2];
    uint64_t answer;

    request.assist.slot = 3;
    request.assist.generation = ++generation;
    request.assist.addr = (uint64_t)(uintptr_t)addr;
    request.assist.area_offset = offset;
    request.assist.area_len = len;
    fake_complete(&fake, &request, 1);
    assert_int_equal(nof_pmd_reap(pmd, got, 2), 0);
    answer = fake.host_words->assist[3];
    assert_int_equal(answer, nof_assist_answer(generation, 1, (int16_t)answer));
    return (int16_t)answer;
}

static int setup_assist(void **state)
{
    struct nof_pmd *pmd = NULL;

    fake_open(&fake);
    fake.identity->dma = NOF_DMA_ASSIST;
    if (attach(&pmd) != NOF_OK)
        return -1;
    *state = pmd;
    return 0;
}

static void assist_copies_and_reports_bad_buffers(void **state)
{
    unsigned char *area = fake.bar + fake.identity->assist_offset;
    char mine[16] = "from the host";
    void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_int_equal(mprotect((unsigned char *)hole + 4096, 4096, PROT_NONE), 0);
    assert_int_equal(assisted(*state, 0, mine, 64, sizeof(mine)), NOF_OK);
    assert_memory_equal(area + 64, "from the host", 14);
    memcpy(area, "from the NIC", 13);
    assert_int_equal(assisted(*state, NOF_COMP_F_WRITE, mine, 0, 13), NOF_OK);
    assert_string_equal(mine, "from the NIC");
    assert_int_equal(assisted(*state, NOF_COMP_F_WRITE, hole, 0, 8192), NOF_EFAULT);
    assert_int_equal(assisted(*state, 0, NULL, 0, 8), NOF_EFAULT);
    assert_int_equal(assisted(*state, 0, mine, FAKE_ASSIST_BYTES - 4, 8), NOF_EINVAL);
    munmap(hole, 8192);
}

/* The copies may be what makes room for the descriptors that fill the ring. */
static void assist_answers_need_no_room(void **state)
{
    struct nof_desc filler[FAKE_SLOTS] = {{0}};
    struct nof_comp request = {.opcode = NOF_COMP_ASSIST};
    struct nof_comp comps[FAKE_SLOTS];
    uint64_t answer;

    assert_int_equal(nof_pmd_submit(*state, filler, FAKE_SLOTS), FAKE_SLOTS);
    request.assist.slot = NOF_ASSIST_SLOTS - 1;
    request.assist.generation = 7;
    request.assist.area_len = 8;
    request.assist.addr = (uint64_t)(uintptr_t)&request;
    for (unsigned i = 0; i < 100; i++) {
        if (i == 50)
            request.assist.addr = 0; /* the failure is told although others follow */
        fake_complete(&fake, &request, 1);
        request.assist.addr = (uint64_t)(uintptr_t)&request;
        assert_int_equal(nof_pmd_reap(*state, comps, FAKE_SLOTS), 0);
    }
    answer = fake.host_words->assist[NOF_ASSIST_SLOTS - 1];
    assert_int_equal(answer, nof_assist_answer(7, 100, NOF_EFAULT));
    request.assist.slot = NOF_ASSIST_SLOTS; /* a daemon that lies */
    fake_complete(&fake, &request, 1);
    assert_int_equal(nof_pmd_reap(*state, comps, FAKE_SLOTS), 0);
}

static void cards_survive_as_text(void **state)
{
    struct nof_card card = {.nic_id = 0x0123456789abcdef,
                            .mac = {2, 3, 4, 5, 6, 7},
                            .udp_port = 48620,
                            .ip4 = 0x0a000001,
                            .endpoint = 7,
                            .generation = 65535,
                            .host_id = 3};
    struct nof_card back;
    char as_text[65];

    (void)state;
    nof_card_format(&card, as_text);
    assert_int_equal(strlen(as_text), 64);
    assert_int_equal(nof_card_parse(as_text, &back), NOF_OK);
    assert_memory_equal(&card, &back, sizeof(card));
    as_text[63] = 'g';
    assert_int_equal(nof_card_parse(as_text, &back), NOF_EINVAL);
    as_text[63] = '\0';
    assert_int_equal(nof_card_parse(as_text, &back), NOF_EINVAL);
    assert_int_equal(nof_card_parse("", &back), NOF_EINVAL);
}

static void attach_without_daemon_says_what_to_do(void **state)
{
    struct nof_pmd_attach_args args = {.socket = "@nof-nobody-listens-here"};
    struct nof_pmd *pmd;

    (void)state;
    assert_int_equal(nof_pmd_attach(&args, &pmd, text, sizeof(text)), NOF_ENICDEAD);
    assert_non_null(strstr(text, "nof up"));
    args.socket = "";
    assert_int_equal(nof_pmd_attach(&args, &pmd, NULL, 0), NOF_EINVAL);
}

enum garble {
    REFUSED,
    VERSION,
    NO_FDS,
    NO_SEALS,
    SEGMENT_FD,
    SEGMENT_ODD,
    SEGMENT_OUTSIDE,
    SEGMENT_LONG,
    SEGMENT_OVERLAP,
    SEGMENT_COUNT,
    BAR_HUGE,
    MAGIC,
    RING_OUTSIDE,
    RING_ODD,
    RING_MASK,
    RING_SLOTS,
    WORDS_READ_ONLY,
    STAGING_OUTSIDE,
    BOUNCE_OVERFLOW,
    COUNTERS_HUGE,
    UNEXPECTED_OUTSIDE,
    LIBRARY_HUGE,
    LIBRARY_READ_ONLY,
    PIECES_HUGE,
    GARBLES
};

static void garble_reply(enum garble how)
{
    struct nof_bar_segment *s = fake.reply.segment;

    if (how == REFUSED) {
        fake.reply.status = NOF_EPERM;
        memcpy(fake.reply.text, "wrong key", 10);
    } else if (how == VERSION) {
        fake.reply.abi_version++;
    } else if (how == NO_FDS) {
        fake.no_fds = true;
    } else if (how == NO_SEALS) {
        fake.no_seals = true;
    } else if (how == SEGMENT_FD) {
        s[1].fd = 2;
    } else if (how == SEGMENT_ODD) {
        s[1].bar_offset++;
    } else if (how == SEGMENT_OUTSIDE) {
        s[1].bar_offset = fake.reply.bar_bytes;
    } else if (how == SEGMENT_LONG) {
        s[1].len = UINT64_MAX & ~4095ull;
    } else if (how == SEGMENT_OVERLAP) {
        s[1].bar_offset = s[2].bar_offset;
    } else if (how == SEGMENT_COUNT) {
        fake.reply.nsegments = UINT32_MAX;
    } else if (how == BAR_HUGE) {
        fake.reply.bar_bytes = UINT64_MAX & ~4095ull;
    }
}

static void garble_identity(enum garble how)
{
    struct nof_bar_identity *id = fake.identity;

    if (how == MAGIC)
        id->magic++;
    else if (how == RING_OUTSIDE)
        id->submit_offset = fake.reply.bar_bytes - 128;
    else if (how == RING_ODD)
        id->complete_offset += 64;
    else if (how == RING_MASK)
        fake.complete->mask = UINT32_MAX;
    else if (how == RING_SLOTS)
        id->complete_slots = UINT32_MAX;
    else if (how == WORDS_READ_ONLY)
        id->host_words_offset = id->nic_words_offset;
    else if (how == STAGING_OUTSIDE)
        id->staging_bytes = UINT64_MAX - 64;
    else if (how == BOUNCE_OVERFLOW)
        id->bounce_offset = UINT64_MAX & ~63ull;
    else if (how == COUNTERS_HUGE)
        id->ncounters = UINT32_MAX;
    else if (how == UNEXPECTED_OUTSIDE)
        id->unexpected_offset = fake.reply.bar_bytes;
    else if (how == LIBRARY_HUGE)
        id->nlibrary_counts = UINT32_MAX;
    else if (how == LIBRARY_READ_ONLY)
        id->library_counts_offset = id->counters_offset;
    else if (how == PIECES_HUGE)
        id->bounce_max_bytes = 1u << 20;
}

static void garbled_answer_is_refused_and_leaks_nothing(void **state)
{
    (void)state;
    for (enum garble how = REFUSED; how < GARBLES; how++) {
        struct nof_pmd *pmd = NULL;
        unsigned before = fake_open_descriptors();
        uint64_t bar_bytes;
        int rc;

        fake_open(&fake);
        bar_bytes = fake.reply.bar_bytes;
        garble_reply(how);
        garble_identity(how);
        rc = attach(&pmd);
        if (rc == NOF_OK || pmd != NULL || text[0] == '\0')
            fail_msg("garble %d: rc %d '%s'", how, rc, text);
        if (how == REFUSED) {
            assert_int_equal(rc, NOF_EPERM);
            assert_string_equal(text, "wrong key");
        }
        fake.reply.bar_bytes = bar_bytes;
        fake_close(&fake);
        assert_int_equal(fake_open_descriptors(), before);
    }
}

int main(void)
{
#define WITH_PMD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_PMD(request_says_who_we_are),
        WITH_PMD(full_ring_takes_no_more_and_loses_nothing),
        WITH_PMD(doorbell_rings_only_when_the_nic_sleeps),
        WITH_PMD(wait_returns_at_once_when_something_is_there),
        WITH_PMD(wait_ends_at_its_timeout),
        WITH_PMD(any_thread_wakes_a_sleeper),
        WITH_PMD(delta_ring_names_the_slot_and_wakes_the_nic),
        WITH_PMD(delta_wait_is_ended_by_an_arrival),
        WITH_PMD(delta_wait_ends),
        WITH_PMD(death_of_the_daemon_is_noticed_asleep),
        WITH_PMD(death_is_noticed_spinning_and_after_the_last_completion),
        WITH_PMD(failed_endpoint_says_why),
        WITH_PMD(fork_has_no_nic),
        WITH_PMD(host_cannot_write_what_it_may_only_read),
        WITH_PMD(staged_payload_stays_inside),
        WITH_PMD(counters_are_live),
        WITH_PMD(library_counts_are_written_where_they_are_known),
        cmocka_unit_test_setup_teardown(assist_copies_and_reports_bad_buffers, setup_assist, teardown),
        cmocka_unit_test_setup_teardown(assist_answers_need_no_room, setup_assist, teardown),
        cmocka_unit_test(a_daemon_whose_queue_is_full_is_not_waited_for_long),
        cmocka_unit_test(signals_do_not_end_the_wait_for_a_full_queue),
        cmocka_unit_test(signals_do_not_prolong_the_wait_for_an_answer),
        cmocka_unit_test(a_daemon_whose_queue_is_full_is_there),
        cmocka_unit_test(who_looks_late_has_looked),
        cmocka_unit_test(detach_says_goodbye),
        cmocka_unit_test(cards_survive_as_text),
        cmocka_unit_test(attach_without_daemon_says_what_to_do),
        cmocka_unit_test(garbled_answer_is_refused_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
