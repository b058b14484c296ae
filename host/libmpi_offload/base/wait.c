/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The wait loop. What an empty poll costs, on a Xeon of 2.9 GHz, release build: the first ones 9 ns, 21 ns with the
 * pause, and no system call; a later one 0.2 us and more, for the clock and the yield; a sleep about 5 us of CPU. */
#include "base/wait.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "base/publish.h"
#include "base/wait_board.h"

#define CREDIT_GAIN 1
#define CREDIT_LOSS 4
#define CREDIT_ENOUGH 4
#define CREDIT_MOST 32
#define TRY_EVERY 8
#define NEAR_SPIN_NS 1000000u /* some megabytes by memory; NOF_SPIN_US may ask for more, or for none */
#define PURE_POLLS 128 /* about what a message takes to another host and back, 3 us */
#define PURE_POLLS_CROWDED 8 /* 70 ns: those whom we wait for may want this CPU */
/* Of a rank without a CPU: others of the job have had it then. Not where several threads may be in the library (MPI_THREAD_MULTIPLE, pages
 * that are watched): they spin in turn, and Linux has who yields wait until each has used up its share. */
#define YIELDS 2
/* Nor where each has a CPU, once that has cost such a process more than it saved: see yielded(). */
#define YIELD_LONG_NS 100000u
#define YIELD_SAVES_NS 10000u /* a sleep and a wake-up */
#define YIELD_LOSS_MOST_NS 10000000u
#define REST_AFTER 1024 /* some 40 us */
#define ASKS_A_YIELD 16 /* less than a microsecond: docs/decisions/0061 */
#define REST_NS 20000
#define YIELD_REST 32 /* times what was lost: then it is tried again, for 3 % of the time at most */

__thread bool nof_wait_in_operation;
static int spin_credit = CREDIT_MOST;
static unsigned sleeps_at_once;
static int near_credit = CREDIT_ENOUGH;
static uint64_t yield_loss_ns, yields_again_ns;
static pthread_cond_t others = PTHREAD_COND_INITIALIZER;
static unsigned sleeping_others;
static bool one_sleeps_at_bell;

static const struct nof_wait_source *sources[NOF_WAIT_SOURCES_MAX];
/* The far one comes first, whose news ends what others would bring, then others that are polled, then the rest. */
static unsigned source_count, polled_count, far_count,
    near_count; /* near: others that are polled and say what came */
static const uint32_t none_came;
static const uint32_t *near_came = &none_came, *far_came = &none_came;
static uint64_t near_brought, near_seen; /* things, not messages alone; then: when the last spin began */
static struct nof_polling polling = {.set = {.ratio = 1, .update = 1}, .ratio = 1, .left = 1};
static unsigned ask_left = 1;
uint64_t nof_wait_counted[NOF_POLL_COUNT_MAX];
static struct nof_wait_work *due_first, *due_last;
static unsigned polls_nested;
static unsigned asked_in_vain; /* in a row, by who does not wait */

static uint32_t alone_count(void)
{
    return 0;
}

/* Only another thread of this process can bring what is waited for. */
static void alone_sleep(uint32_t seen, uint64_t timeout_ns)
{
    (void)seen;
    (void)timeout_ns;
    nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
}

static void alone_ring(void)
{
}

static const struct nof_wait_bell alone = {.count = alone_count, .sleep = alone_sleep, .ring = alone_ring};
static const struct nof_wait_bell *bell = &alone;

void nof_wait_at(const struct nof_wait_bell *at)
{
    bell = at == NULL ? &alone : at;
}

void nof_wait_add(const struct nof_wait_source *source)
{
    if (source_count == NOF_WAIT_SOURCES_MAX)
        nof_lib_die(1, "more than %d channels", NOF_WAIT_SOURCES_MAX);
    sources[source_count++] = source;
    if (source->poll == NULL)
        return;
    sources[source_count - 1] = sources[polled_count];
    sources[polled_count++] = source;
    const uint32_t **came = source->polling != NULL ? &far_came : &near_came;
    *came = source->came == NULL ? *came : source->came;
    near_count += source->polling == NULL && source->came != NULL;
    if (source->polling == NULL)
        return;
    sources[polled_count - 1] = sources[0];
    sources[0] = source;
    far_count = 1;
}

void nof_wait_polling_changed(void)
{
    ask_left = 1;
}

void nof_wait_due(struct nof_wait_work *work)
{
    if (work->due)
        return;
    work->due = true;
    work->next = NULL;
    if (due_last == NULL)
        due_first = work;
    else
        due_last->next = work;
    due_last = work;
}

static int run_due(void)
{
    int n = 0;
    while (due_first != NULL) {
        struct nof_wait_work *work = due_first;
        due_first = work->next;
        if (due_first == NULL)
            due_last = NULL;
        work->due = false;
        n += work->run();
    }
    return n;
}

static int poll_from(unsigned first)
{
    int n = 0;
    polls_nested++;
    nof_wait_counted[NOF_POLL_COUNT_NEAR] += near_count;
    nof_wait_counted[NOF_POLL_COUNT_FAR] += far_count - first;
    for (unsigned i = first; i < polled_count; i++) {
        int brought = sources[i]->poll();
        n += brought;
        near_brought += sources[i]->came != NULL && i >= far_count ? (uint64_t)brought : 0;
    }
    if (due_first != NULL)
        n += run_due();
    polls_nested--;
    return n;
}

/* Who asks again and again keeps a CPU for good in a real-time class, and a yield there is for none but his equals: NIC cores, ranks and
 * launchers that he waits for may be others. The sleep is for all of them. */
static void rest(void)
{
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
}

/* To him whom it asks for, who may be without a CPU; with the lock it would keep those out who get this CPU. */
static void give_way_in_vain(void)
{
    if (nof_lib.locking)
        nof_lib.yields = true;
    else
        sched_yield();
}

int nof_wait_poll(void)
{
    int n = poll_from(0);
    asked_in_vain = n > 0 ? 0 : asked_in_vain + 1;
    if (nof_lib.crowded && asked_in_vain % ASKS_A_YIELD == ASKS_A_YIELD - 1)
        give_way_in_vain();
    if (asked_in_vain == REST_AFTER) {
        asked_in_vain = 0;
        rest();
    }
    return n;
}

static void ask_for_polling(void)
{
    struct nof_polling_set set;
    ask_left = NOF_WAIT_ASK_TURNS;
    sources[0]->polling(&set);
    nof_polling_set(&polling, &set, *near_came, *far_came);
}

static bool near_awaited(bool standing)
{
    bool any = false;
    for (unsigned i = far_count; i < polled_count && !any; i++)
        any = sources[i]->came != NULL && (sources[i]->awaited == NULL || sources[i]->awaited(standing));
    return any;
}

/* The first of the sources that have this turn. Who waits for what the far one brings alone looks at it in each: near ones would bring
 * nothing that ends the wait. */
static unsigned turn(struct nof_wait *wait)
{
    if (far_count == 0 || near_count == 0)
        return 0;
    if (wait->pure_polls == 0)
        wait->beside = near_awaited(wait->standing);
    if (!wait->beside)
        return 0;
    if (--ask_left == 0)
        ask_for_polling();
    if (wait->pure_polls == 1)
        nof_polling_hasten(&polling);
    bool all = nof_polling_due(&polling, *near_came, *far_came);
    nof_wait_counted[NOF_POLL_COUNT_UPDATES] = polling.updates;
    return all ? 0 : far_count;
}

bool nof_wait_polling(void)
{
    return polls_nested > 0;
}

void nof_wait_ring(void)
{
    bell->ring();
}

void nof_wait_signal(void)
{
    if (sleeping_others > 0)
        pthread_cond_broadcast(&others);
    if (one_sleeps_at_bell)
        bell->ring();
}

/* Neither clock nor yield before the next one. */
static bool polls_purely(const struct nof_wait *wait)
{
    return wait->pure_polls < (nof_lib.crowded ? PURE_POLLS_CROWDED : PURE_POLLS);
}

/* Between two of the first polls. */
static bool poll_again(struct nof_wait *wait)
{
    if (!polls_purely(wait))
        return false;
    wait->pure_polls++;
    if (!nof_lib.crowded)
        nof_wait_pause();
    return true;
}

/* A yield that took long has let a thread of the program, or of another process, use up its slice of the CPU; who had slept would have
 * gone first. What waits without a sleep save pays for some of those; where it does not, all sleep at once for a time. */
static void yielded(uint64_t began_ns, uint64_t ended_ns)
{
    if (ended_ns - began_ns < YIELD_LONG_NS)
        return;
    yield_loss_ns += ended_ns - began_ns;
    if (yield_loss_ns < YIELD_LOSS_MOST_NS)
        return;
    yields_again_ns = ended_ns + YIELD_REST * yield_loss_ns;
    yield_loss_ns = 0;
}

/* What was waited for is here. */
static void saved_a_sleep(const struct nof_wait *wait)
{
    if (wait->spinning)
        yield_loss_ns -= yield_loss_ns < YIELD_SAVES_NS ? yield_loss_ns : YIELD_SAVES_NS;
}

/* Between two later ones. A yield costs a fifth of a microsecond when nobody else wants the CPU; where ranks
 * and NIC cores outnumber the CPUs, pauses instead would keep from the CPU the one that we wait for. */
static void relax(uint64_t now_ns)
{
    if (!nof_lib.locking) {
        sched_yield();
        return;
    }
    nof_lib_unlock();
    sched_yield();
    uint64_t ended_ns = nof_lib_now_ns();
    nof_lib_lock();
    yielded(now_ns, ended_ns);
}

/* Sleep until somebody signals; 100 ms at most, so that a signal between two waits costs no more. */
static void sleep_beside(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100 * 1000 * 1000;
    if (until.tv_nsec >= 1000 * 1000 * 1000) {
        until.tv_sec++;
        until.tv_nsec -= 1000 * 1000 * 1000;
    }
    sleeping_others++;
    pthread_cond_clockwait(&others, &nof_lib.lock, CLOCK_MONOTONIC, &until);
    sleeping_others--;
}

static uint64_t nap_ns(void)
{
    uint64_t shortest_ns = nof_board_nap_ns;
    for (unsigned i = 0; i < source_count; i++) {
        uint64_t nap_ns = sources[i]->nap_ns();
        shortest_ns = nap_ns < shortest_ns ? nap_ns : shortest_ns;
    }
    return shortest_ns;
}

static void sleep_until_event(uint32_t seen)
{
    uint64_t timeout_ns = nap_ns();
    if (!nof_lib.locking) {
        bell->sleep(seen, timeout_ns);
        return;
    }
    if (one_sleeps_at_bell) {
        sleep_beside();
        return;
    }
    one_sleeps_at_bell = true;
    nof_lib_unlock();
    bell->sleep(seen, timeout_ns);
    nof_lib_lock();
    one_sleeps_at_bell = false;
    /* Its turn at the bell is free: one of the others takes it. */
    if (sleeping_others > 0)
        pthread_cond_broadcast(&others);
}

/* On the board, if somebody reads there and it takes long: true if nof_board_clear() follows. */
static bool tell(struct nof_wait *wait, uint64_t now_ns)
{
    if (nof_board == NULL || !nof_board_begin(wait->call, &wait->since_ns, now_ns))
        return false;
    const struct nof_sched *of = wait->describe == NULL ? NULL : wait->describe(wait->what);
    for (unsigned i = 0; i < polled_count; i++)
        sources[i]->describe(of);
    nof_board_end();
    return true;
}

/* Where the NIC core outnumbers the CPUs, a spinning rank may keep it from the CPU: schedulers that give each session its
 * share do not let a yield across. So spinning must prove itself: a success earns, a spin that ended in a sleep costs, as much as the
 * two are worth (a sleep is some 5 us of CPU, a spin 20 to 100, less what others get by its yields), and who has nothing left tries
 * again now and then. */
static bool spin_pays(void)
{
    return !nof_lib.crowded || spin_credit >= CREDIT_ENOUGH || ++sleeps_at_once % TRY_EVERY == 0;
}

/* What a peer copies in memory takes its time, and the CPU that it copies with is not ours if each rank has one. Sleeps cost more than
 * the spin then: a wake-up is some 15 us, a quarter of a megabyte. Not for what NIC cores bring, who have no CPU of their own here. */
static bool near_pays(void)
{
    return nof_lib.seated && near_count > 0 && near_credit >= CREDIT_ENOUGH;
}

static void begin_spin(struct nof_wait *wait, uint64_t now_ns)
{
    uint64_t spin_ns = nof_lib.spin_us * 1000ull;
    bool seated = nof_lib.seated && now_ns >= yields_again_ns;
    wait->near = seated && near_pays();
    wait->yields = spin_ns == 0 || (nof_lib.locking && !nof_lib.shared) ? 0 : YIELDS;
    wait->spinning = seated && (wait->near || spin_pays());
    wait->near_until_ns = now_ns + (spin_ns == 0 || spin_ns > NEAR_SPIN_NS ? spin_ns : NEAR_SPIN_NS);
    wait->spin_until_ns = wait->near ? wait->near_until_ns : wait->spinning ? now_ns + spin_ns : now_ns;
    near_seen = near_brought;
}

/* Where ranks outnumber the CPUs, time is theirs for whom this one waits. */
static bool gives_way(struct nof_wait *wait, uint64_t now_ns)
{
    if (nof_lib.seated)
        return now_ns < wait->spin_until_ns;
    if (wait->yields == 0)
        return false;
    wait->yields--;
    return true;
}

/* Something came. What memory brought within the time of a long spin earns one, whether it was spun for or slept. */
static void earn(const struct nof_wait *wait)
{
    saved_a_sleep(wait);
    if (wait->spinning && !wait->near)
        spin_credit += spin_credit < CREDIT_MOST ? CREDIT_GAIN : 0;
    if (!nof_lib.seated || near_count == 0 || wait->spin_until_ns == 0)
        return;
    if (near_brought == near_seen)
        near_credit -= near_credit > 0 ? CREDIT_GAIN : 0;
    else if (near_credit < CREDIT_MOST && (wait->near || nof_lib_now_ns() < wait->near_until_ns))
        near_credit += CREDIT_GAIN;
}

/* A spin ended in a sleep. */
static void lose(const struct nof_wait *wait)
{
    int *credit = wait->near ? &near_credit : &spin_credit;
    if (wait->spinning)
        *credit -= *credit > 0 ? CREDIT_LOSS : 0;
}

void nof_wait_tell(struct nof_wait *wait)
{
    uint64_t now_ns = nof_lib_now_ns();
    nof_publish(now_ns);
    wait->told = wait->told || tell(wait, now_ns);
}

void nof_wait_told(struct nof_wait *wait)
{
    if (wait->told)
        nof_board_clear();
    wait->told = false;
}

static void refuse_in_operation(const struct nof_wait *wait)
{
    if (nof_wait_in_operation && !wait->own)
        nof_lib_die(1,
                    "%s waits within an operation of MPI_Op_create, or the program has left one by "
                    "longjmp: it must call nothing that communicates and must return, else its "
                    "collective cannot go on",
                    wait->call + (wait->call[0] == 'P'));
}

bool nof_wait_step(struct nof_wait *wait)
{
    uint32_t seen = bell->count();
    if (wait->wanted != NULL && __atomic_load_n(wait->wanted, __ATOMIC_ACQUIRE) == 0) {
        saved_a_sleep(wait); /* another thread has polled it */
        return false;
    }
    /* Beside a clock and a yield a far source costs little; and before a sleep all are looked at. */
    if (poll_from(polls_purely(wait) ? turn(wait) : 0) > 0) {
        earn(wait);
        wait->pure_polls = 0;
        wait->spin_until_ns = 0;
        wait->spinning = false;
        return true;
    }
    if (poll_again(wait))
        return false;
    uint64_t now_ns = nof_lib_now_ns();
    if (now_ns >= nof_publish_due_ns)
        nof_publish(now_ns);
    if (wait->spin_until_ns == 0)
        begin_spin(wait, now_ns);
    if (gives_way(wait, now_ns)) {
        relax(now_ns);
        return false;
    }
    lose(wait);
    wait->spinning = false;
    wait->near = false; /* what comes now is late */
    refuse_in_operation(wait);
    bool told = tell(wait, now_ns);
    nof_publish(now_ns);
    sleep_until_event(seen);
    if (told)
        nof_board_clear();
    return false;
}
