/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and waiting.
 *
 *   struct nof_wait wait = NOF_WAIT_START;
 *   while (!done)
 *       nof_wait_step(&wait);
 *
 * A step polls once, then does the work that sources, or whoever was called by them, made due. While nothing comes,
 * the first steps (3 us at most) do nothing else: of these, a source that is far has only the turns that polling.h gives it, if
 * something is awaited of near ones. Then it polls all, looks at the clock and gives way between polls: for spin_us; where each rank
 * has a CPU and near sources bring what is waited for, for a millisecond; where ranks outnumber the CPUs, twice. Then it sleeps until
 * something may have come. The lock is held when a step is called and when it returns, never while
 * it gives way or sleeps. With several threads waiting, one sleeps at the bell and the others on a condition variable;
 * who reaps a completion wakes them all.
 *
 * This file knows nobody whom it polls: they add themselves when they are opened. */
#ifndef NOF_MPI_WAIT_H
#define NOF_MPI_WAIT_H

#include "base/lib.h"
#include "base/polling.h"
#include "nof_private/poll_counts.h"

struct nof_sched;

struct nof_wait {
    uint64_t spin_until_ns; /* 0: nothing tried yet */
    uint64_t near_until_ns; /* what memory brings until then is worth a spin */
    bool spinning;
    bool near; /* until then */
    bool standing; /* it is for what receives bring that stand for whatever comes: commands of a window */
    bool beside; /* something is awaited of near sources: the far one has its turns only */
    bool own; /* no other rank is needed: our NIC answers, or another thread */
    uint8_t pure_polls; /* empty ones so far, up to a limit */
    uint8_t yields; /* left, of a rank without a CPU */
    /* For those who ask why it takes so long (wait_board.h). */
    const char *call;
    /* Write what is waited for on the board; NULL: nothing single. Returns the schedule whose messages it is, or NULL. */
    const struct nof_sched *(*describe)(const void *what);
    const void *what;
    uint64_t since_ns; /* of the first sleep; 0: none yet */
    bool told; /* by nof_wait_tell(): it is on the board */
    /* Atomic: it is waited no longer once this is 0, which is read behind the bell: who rings after that is heard. NULL: only what a
     * poll brings ends it. */
    const uint32_t *wanted;
};

#define NOF_WAIT_START \
    { \
        .call = nof_lib_call \
    }

/* This thread is in an operation of the program's that a collective called, or has left one by longjmp. Who would sleep there for other
 * ranks waits for a collective that waits for the operation: the job ends, with a sentence. */
extern __thread bool nof_wait_in_operation __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* True: something happened. */
bool nof_wait_step(struct nof_wait *wait);

/* Who sleeps elsewhere than in a step: before each sleep, and once behind the last. */
void nof_wait_tell(struct nof_wait *wait);
void nof_wait_told(struct nof_wait *wait);

/* Move everything that can move now. Returns how many things happened. */
int nof_wait_poll(void);
/* Between two looks at memory that another process writes. */
static inline void nof_wait_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}
/* We are in such a poll, where nothing may be waited for. */
bool nof_wait_polling(void);

/* Who sleeps at the bell wakes up. Any thread, without the lock, and a signal handler. */
void nof_wait_ring(void);

/* Something completed: other threads that sleep may be waiting for it. */
void nof_wait_signal(void);

/* What is polled. */

#define NOF_WAIT_SOURCES_MAX 6

/* What brings news from outside: a channel; or, without a poll, who looks before a sleep at what takes long. */
struct nof_wait_source {
    /* Move what can move; how many things happened. */
    int (*poll)(void);
    /* Before a sleep: how long it may last at most, as things stand; UINT64_MAX: until the bell rings. */
    uint64_t (*nap_ns)(void);
    /* Write on the board what is under way; `of` not NULL: whom the messages of this schedule are from. Not without a poll. */
    void (*describe)(const struct nof_sched *of);
    /* Messages that have come this way, modulo 2^32; NULL: nobody counts them. */
    const uint32_t *came;
    /* Whether anybody waits for what it brings: asked when turns begin, and behind each that brought something. standing: he waits for
     * what such receives bring, too (chan/matcher.h). NULL: always. */
    bool (*awaited)(bool standing);
    /* Others bring more, sooner: it has turns of its own, as this says, which is asked in the first turn and then once in
     * NOF_WAIT_ASK_TURNS. One source at most. NULL: it has all. */
    void (*polling)(struct nof_polling_set *set_out);
};
#define NOF_WAIT_ASK_TURNS 256u
/* NOF_WAIT_SOURCES_MAX at most. */
void nof_wait_add(const struct nof_wait_source *source);
/* polling() says something else: it is asked in the next turn. */
void nof_wait_polling_changed(void);

/* Under the library's lock. */
extern uint64_t nof_wait_counted[NOF_POLL_COUNT_MAX] __attribute__((visibility("hidden")));

/* Work that news made due, carried out before the poll returns: what must not be done inside a channel. */
struct nof_wait_work {
    int (*run)(void); /* all there is; how many things happened */
    struct nof_wait_work *next;
    bool due;
};
void nof_wait_due(struct nof_wait_work *work);

/* Where this rank sleeps: at one bell, which all channels ring. */

struct nof_wait_bell {
    /* How often it rang: read before a poll, given to sleep() if that found nothing. */
    uint32_t (*count)(void);
    /* Until it rings, or rang since `seen`, or the time is over. Without the lock, by one thread. */
    void (*sleep)(uint32_t seen, uint64_t timeout_ns);
    /* From any thread. */
    void (*ring)(void);
};
/* NULL: there is none, and nobody but threads of this process can bring what is waited for. */
void nof_wait_at(const struct nof_wait_bell *bell);

#endif
