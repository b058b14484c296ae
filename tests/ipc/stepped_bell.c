/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that is killed at every instruction of ringing another one's bell, with a real daemon: who sleeps there is woken. Behind
 * the word that says that it sleeps is cleared nobody else rings any more, so that the death itself has to. */
#include "hostile.h"
#include "stepped.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "pmd_driver.h"

#define RANKS 2u

struct job {
    const char *socket;
    struct nof_pmd_attach_args args;
};

struct sleeper {
    struct nof_pmd *pmd;
    uint32_t seen;
    uint32_t woken; /* atomic */
    pthread_t thread;
};

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static struct nof_pmd *attach(const struct job *job, uint32_t rank)
{
    struct nof_pmd_attach_args args = job->args;
    struct nof_pmd *pmd = NULL;
    char text[NOF_ATTACH_TEXT_BYTES];

    args.rank = rank;
    if (nof_pmd_attach(&args, &pmd, text, sizeof(text)) != NOF_OK)
        fprintf(stderr, "attach of rank %u: %s\n", rank, text);
    check(pmd != NULL && nof_pmd_segment(pmd) != NULL && nof_pmd_segment(pmd)->base != NULL);
    return pmd;
}

static struct nof_segment_bell *bell_of(struct nof_pmd *pmd, uint32_t slot)
{
    return (struct nof_segment_bell *)(void *)nof_pmd_segment(pmd)->base + slot;
}

/* As segment.h has it for peers. */
static void ring(struct nof_segment_bell *bell)
{
    if (__atomic_load_n(&bell->asleep, __ATOMIC_RELAXED) == 0)
        return;
    __atomic_store_n(&bell->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&bell->wake, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &bell->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void rings(void *arg)
{
    struct nof_pmd *pmd = attach(arg, 1);
    struct nof_segment_bell *bell = bell_of(pmd, 0);

    (void)syscall(SYS_gettid); /* the first call of syscall() is the dynamic linker's, which locks, too */
    stepped_begin();
    ring(bell);
    stepped_end();
    nof_pmd_detach(pmd);
}

static void *sleep_once(void *arg)
{
    struct sleeper *s = arg;
    uint64_t until_ns = now_ns() + CHECK_PATIENCE_MS * 1000000ull;

    while (nof_pmd_wake_count(s->pmd) == s->seen && now_ns() < until_ns)
        check(nof_pmd_wait(s->pmd, s->seen, CHECK_PATIENCE_MS * 1000000ull) == NOF_OK);
    __atomic_store_n(&s->woken, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* `asleep` is set, and soon it does. */
static void begin(struct sleeper *s)
{
    s->seen = nof_pmd_wake_count(s->pmd);
    check(pthread_create(&s->thread, NULL, sleep_once, s) == 0);
    while (__atomic_load_n(&bell_of(s->pmd, 0)->asleep, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
}

/* One job: rank 0 sleeps, rank 1 dies while it rings. How long rank 0 slept on. */
static uint64_t die_while_ringing(struct hostile *h, struct job *job, uint64_t k)
{
    struct sleeper s = {0};
    uint64_t died_ns;
    uint32_t deaths = 0;

    job->args.job_id = hostile_random(h) | 1;
    s.pmd = attach(job, 0);
    begin(&s);
    check(stepped_kill(rings, job, k));
    died_ns = now_ns();
    check(pthread_join(s.thread, NULL) == 0);
    died_ns = now_ns() - died_ns;
    if (nof_pmd_wake_count(s.pmd) == s.seen)
        fprintf(stderr, "killed behind instruction %llu of ringing, and nobody wakes up\n",
                (unsigned long long)k);
    check(nof_pmd_wake_count(s.pmd) != s.seen);
    for (unsigned ms = 0; deaths == 0; ms++) { /* it may have been woken by the ring */
        check(ms < CHECK_PATIENCE_MS);
        deaths = __atomic_load_n(&nof_pmd_segment(s.pmd)->roster->deaths, __ATOMIC_ACQUIRE);
        usleep(1000);
    }
    check_equal(deaths, 1);
    nof_pmd_detach(s.pmd);
    return died_ns;
}

int main(int argc, char **argv)
{
    const char *why = stepped_why_not();
    struct stepped_cost cost;
    struct sleeper s = {0};
    struct hostile h;
    struct job job;
    uint64_t longest_ns = 0;

    if (why != NULL) {
        printf("%s\n", why);
        return HOSTILE_SKIP;
    }
    hostile_start(&h, argc, argv, NULL);
    job.args = (struct nof_pmd_attach_args){
        .socket = h.socket, .job_id = 1, .size = RANKS, .nic = 0, .shares = true, .local_ranks = RANKS};
    s.pmd = attach(&job, 0);
    begin(&s);
    stepped_cost(rings, &job, &cost);
    check(pthread_join(s.thread, NULL) == 0 && nof_pmd_wake_count(s.pmd) != s.seen);
    nof_pmd_detach(s.pmd);
    check(cost.system_calls == 1 && cost.locked == 1 && cost.fences == 0);
    for (uint64_t k = 0; k <= cost.instructions; k++) {
        uint64_t took_ns = die_while_ringing(&h, &job, k);

        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    printf("ringing: %llu instructions; killed at each, the sleeper wakes within %llu us\n",
           (unsigned long long)cost.instructions, (unsigned long long)(longest_ns / 1000));
    hostile_end(&h);
    return 0;
}
