/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The second pair of hands: every read that is handed over ends once, whoever does it, and a copier that does not come
 * back holds up one endpoint alone. The copy itself is a stand-in that waits where a page would block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "../check.h"
#include "nofd/dma/copier.h"
#include "nofd/dma/dma.h"
#include "nofd/dma/dma_direct.h"
#include "nofd/sys/clock.h"

#define SLOTS 16u

static struct nofd_lcore lcore;
static struct nofd_dma engine;
static struct nofd_dma_memory memory[2];
static struct nofd_doom doom[2];
static bool doomed;
static struct nofd_copier *copier;
static unsigned ended[64];
static int status_of[64];
static unsigned nended;
static int blocks; /* crosses: the copier's next copies wait for `release` */
static int in_copy; /* crosses */
static sem_t release;
static pthread_t core_thread;

int nofd_dma_direct(struct nofd_busy *busy, pid_t pid, uint32_t rank, bool write,
                    const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                    unsigned nlocal)
{
    (void)nremote;
    check(!write && nlocal == 1);
    nofd_busy_begin(busy, pid, rank);
    if (!pthread_equal(pthread_self(), core_thread)) {
        __atomic_fetch_add(&in_copy, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&blocks, __ATOMIC_SEQ_CST) != 0)
            while (sem_wait(&release) != 0)
                continue;
    }
    memset(local[0].base, (int)remote[0].addr, local[0].len_bytes);
    nofd_busy_end(busy);
    return NOF_OK;
}

void nof_nic_dma_done(struct nof_nic *nic, uint64_t now_ns, uint64_t token, int status)
{
    (void)nic;
    (void)now_ns;
    ended[token]++;
    status_of[token] = status;
    nended++;
}

static int start(void **state)
{
    (void)state;
    memset(ended, 0, sizeof(ended));
    nended = 0;
    blocks = in_copy = 0;
    doomed = false;
    sem_init(&release, 0, 0);
    core_thread = pthread_self();
    if (nofd_lcore_init(&lcore, 0, -1) != 0)
        return -1;
    lcore.now_ns = NOFD_S;
    engine = (struct nofd_dma){.lcore = &lcore};
    for (unsigned i = 0; i < 2; i++) {
        doom[i] = (struct nofd_doom){.any = &doomed};
        memory[i] = (struct nofd_dma_memory){
            .dma = &engine, .nic_name = "nic0", .doom = &doom[i], .pid = 100 + (int)i, .rank = i};
    }
    copier = engine.copier = nofd_copier_start(&engine);
    return copier != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SLOTS; i++)
        sem_post(&release);
    nofd_copier_stop(copier);
    copier = NULL;
    nofd_lcore_fini(&lcore);
    return 0;
}

static char block[64][16];

static int hand_over(unsigned who, uint64_t token)
{
    struct nof_segment remote = {.addr = token, .len_bytes = sizeof(block[0])};
    struct nof_buf local = {.base = block[token], .len_bytes = sizeof(block[0])};
    int rc = nofd_copier_read(copier, &memory[who], &remote, 1, &local, 1, token);

    if (rc == NOF_DMA_PENDING)
        memory[who].pending++;
    return rc;
}

/* The copier may sleep: then the first of a stream is refused, and the next is not. */
static void hand_over_surely(unsigned who, uint64_t token)
{
    if (hand_over(who, token) != NOF_DMA_PENDING)
        assert_int_equal(hand_over(who, token), NOF_DMA_PENDING);
}

static unsigned turn(void)
{
    struct nofd_source *source = nofd_copier_source(copier);

    return source->ops->turn(source, lcore.now_ns);
}

static unsigned spare(void)
{
    struct nofd_source *source = nofd_copier_source(copier);

    return source->ops->spare(source);
}

static bool ready(void)
{
    struct nofd_source *source = nofd_copier_source(copier);

    return source->ops->ready(source);
}

static void until(unsigned n)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;

    while (nended < n && nofd_clock_ns() < end_ns)
        if (turn() == 0)
            sched_yield();
    assert_int_equal(nended, n);
}

static void until_it_copies(int n)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;

    while (__atomic_load_n(&in_copy, __ATOMIC_SEQ_CST) < n && nofd_clock_ns() < end_ns)
        sched_yield();
    assert_int_equal(__atomic_load_n(&in_copy, __ATOMIC_SEQ_CST), n);
}

static void every_read_ends_once_with_its_bytes(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 60; i++) {
        while (hand_over(0, i) != NOF_DMA_PENDING)
            (void)turn();
        (void)turn();
    }
    until(59);
    assert_int_equal(memory[0].pending, 0);
    for (unsigned i = 1; i < 60; i++) {
        assert_int_equal(ended[i], 1);
        assert_int_equal(status_of[i], NOF_OK);
        assert_int_equal(block[i][15], (char)i);
    }
    assert_false(ready());
}

/* It is not worth waking anybody for. */
static void a_lone_read_is_not_taken_while_it_sleeps(void **state)
{
    uint64_t end_ns = nofd_clock_ns() + CHECK_PATIENCE_MS * NOFD_MS;
    unsigned token = 1;
    int rc;

    (void)state;
    do { /* until it sleeps: it spins for a while at first */
        until(nended + (memory[0].pending > 0 ? 1 : 0));
        lcore.now_ns += NOFD_S;
        usleep(1000);
        rc = hand_over(0, token);
        token = token % 60 + 1;
    } while (rc == NOF_DMA_PENDING && nofd_clock_ns() < end_ns);
    assert_int_equal(rc, NOF_EAGAIN);
    lcore.now_ns += 20 * NOFD_US; /* another soon after: a stream */
    assert_int_equal(hand_over(0, token), NOF_DMA_PENDING);
    until(nended + 1);
}

static void as_many_as_there_are_slots(void **state)
{
    (void)state;
    blocks = 1;
    hand_over_surely(0, 1);
    until_it_copies(1);
    for (unsigned i = 2; i <= SLOTS; i++)
        assert_int_equal(hand_over(0, i), NOF_DMA_PENDING);
    assert_int_equal(hand_over(0, 17), NOF_EAGAIN);
    blocks = 0;
    sem_post(&release);
    until(SLOTS);
    hand_over_surely(0, 17);
    until(SLOTS + 1);
}

static void the_core_steals_from_a_copier_that_does_not_come(void **state)
{
    (void)state;
    blocks = 1;
    hand_over_surely(0, 1);
    until_it_copies(1);
    assert_int_equal(hand_over(1, 2), NOF_DMA_PENDING);
    assert_int_equal(hand_over(1, 3), NOF_DMA_PENDING);
    assert_int_equal(spare(), 0); /* it may have it yet */
    lcore.now_ns += NOFD_MS;
    assert_true(ready());
    assert_int_equal(spare(), 1);
    assert_int_equal(spare(), 1);
    assert_int_equal(spare(), 0);
    assert_int_equal(turn(), 2);
    assert_int_equal(ended[2] + ended[3], 2);
    assert_int_equal(ended[1], 0);
    sem_post(&release);
    until(3);
}

static void what_nobody_has_begun_ends_with_its_endpoint(void **state)
{
    (void)state;
    blocks = 1;
    hand_over_surely(0, 1);
    until_it_copies(1);
    assert_int_equal(hand_over(0, 2), NOF_DMA_PENDING);
    assert_int_equal(hand_over(1, 3), NOF_DMA_PENDING);
    nofd_copier_cancel(copier, &memory[0]);
    assert_int_equal(nended, 1);
    assert_int_equal(status_of[2], NOF_EPEERDEAD);
    assert_int_equal(memory[0].pending, 1);
    blocks = 0;
    sem_post(&release);
    until(3);
    assert_int_equal(status_of[1], NOF_OK);
    assert_int_equal(status_of[3], NOF_OK);
    assert_int_equal(ended[2], 1);
}

static void who_blocks_it_is_doomed_alone_and_the_core_goes_on(void **state)
{
    (void)state;
    blocks = 1;
    hand_over_surely(0, 1);
    until_it_copies(1);
    assert_int_equal(hand_over(1, 2), NOF_DMA_PENDING);
    nofd_copier_overdue(copier);
    assert_true(ready());
    (void)turn();
    assert_true(doomed);
    assert_int_equal(doom[0].reason, NOF_EFAULT);
    assert_int_equal(doom[1].reason, 0);
    assert_int_equal(hand_over(1, 3), NOF_EAGAIN); /* until it is back, the core reads itself */
    blocks = 0;
    sem_post(&release);
    until(2);
    hand_over_surely(1, 3);
    until(3);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(every_read_ends_once_with_its_bytes),
        EACH(a_lone_read_is_not_taken_while_it_sleeps),
        EACH(as_many_as_there_are_slots),
        EACH(the_core_steals_from_a_copier_that_does_not_come),
        EACH(what_nobody_has_begun_ends_with_its_endpoint),
        EACH(who_blocks_it_is_doomed_alone_and_the_core_goes_on),
    };
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) < 2) {
        printf("skipped: one CPU has no copier\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
