/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank with a crowd of threads that all wait on its wake word: a completion wakes one of them, in one system call
 * of the NIC core whose length is not the rank's to choose. */
#include "hostile.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 64u

struct crowd {
    uint32_t *word;
    uint32_t seen; /* value of the word that they wait on */
    uint32_t woken; /* atomic */
    uint32_t over; /* atomic */
    uint32_t tid[WAITERS]; /* atomic; 0: not begun */
};

struct waiter {
    struct crowd *crowd;
    unsigned number;
    pthread_t thread;
};

static void nap(void)
{
    struct timespec ms = {.tv_nsec = 1000000};

    nanosleep(&ms, NULL);
}

static void *wait_once(void *arg)
{
    struct waiter *w = arg;
    struct crowd *c = w->crowd;
    struct timespec patience = {.tv_sec = CHECK_PATIENCE_MS / 1000};

    __atomic_store_n(&c->tid[w->number], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    if (syscall(SYS_futex, c->word, FUTEX_WAIT, c->seen, &patience, NULL, 0) == 0 &&
        __atomic_load_n(&c->over, __ATOMIC_ACQUIRE) == 0)
        (void)__atomic_add_fetch(&c->woken, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Its state, out of /proc: S while it sleeps, X once it has ended. */
static char state_of(uint32_t tid)
{
    char path[64];
    char state;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
    file = fopen(path, "re");
    if (file == NULL)
        return 'X';
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    fclose(file);
    return state;
}

static void begin(struct crowd *c, struct waiter *waiters)
{
    for (unsigned i = 0; i < WAITERS; i++) {
        waiters[i] = (struct waiter){.crowd = c, .number = i};
        check(pthread_create(&waiters[i].thread, NULL, wait_once, &waiters[i]) == 0);
    }
    for (unsigned i = 0; i < WAITERS; i++) {
        unsigned ms = 0;
        uint32_t tid;

        while ((tid = __atomic_load_n(&c->tid[i], __ATOMIC_ACQUIRE)) == 0 || state_of(tid) != 'S') {
            check(ms++ < CHECK_PATIENCE_MS);
            nap();
        }
    }
}

static void probe(struct intruder *in, uint64_t cookie)
{
    struct nof_desc desc = {
        .opcode = NOF_DESC_PROBE, .peer = NOF_ANY_SOURCE, .tag = NOF_ANY_TAG, .cookie = cookie};
    struct nof_comp comp;

    hostile_submit(in, &desc);
    for (int ms = 0; nof_ring_get(in->complete, &comp, 1) == 0; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        nap();
    }
    check_equal(comp.cookie, cookie);
}

static void a_completion_wakes_one_waiter(struct hostile *h)
{
    static struct crowd c;
    static struct waiter waiters[WAITERS];
    struct intruder in;
    struct nof_host_words *words;

    hostile_intrude(h, &in);
    words = (struct nof_host_words *)(void *)(in.bar + in.id.host_words_offset);
    c.word = &words->wake;
    c.seen = __atomic_load_n(c.word, __ATOMIC_ACQUIRE);
    begin(&c, waiters);
    __atomic_store_n(&words->host_asleep, 1, __ATOMIC_SEQ_CST);
    probe(&in, 1);
    /* Nobody is said to sleep: once this is answered the wake-up of the first is over. */
    for (unsigned ms = 0; __atomic_load_n(&c.woken, __ATOMIC_ACQUIRE) == 0; ms++) {
        check(ms < CHECK_PATIENCE_MS);
        nap();
    }
    probe(&in, 2);
    for (unsigned i = 0; i < WAITERS; i++) /* those that were woken have counted themselves, or still run */
        while (state_of(c.tid[i]) == 'R')
            nap();
    check_equal(__atomic_load_n(&c.woken, __ATOMIC_ACQUIRE), 1);
    __atomic_store_n(&c.over, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < WAITERS; i++) {
        (void)syscall(SYS_futex, c.word, FUTEX_WAKE, WAITERS, NULL, NULL, 0);
        pthread_join(waiters[i].thread, NULL);
    }
    hostile_leave(&in);
}

int main(int argc, char **argv)
{
    struct hostile h;

    hostile_start(&h, argc, argv, NULL);
    a_completion_wakes_one_waiter(&h);
    hostile_end(&h);
    return 0;
}
