/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process that is killed at every instruction of a piece of its program, one after the other: what it leaves behind in
 * memory that others share must be something that they can go on with, wherever it was.
 *
 *   victim:  ... stepped_begin(); the piece; stepped_end(); ...      it may go on behind it, and is let go there
 *   tracer:  stepped_cost(victim, arg, &cost)                        runs it through once: how many instructions, and which
 *            for each k: stepped_kill(victim, arg, k), look at what is left
 *
 * Each call forks the victim anew, runs it to stepped_begin(), and single-steps from there. A system call is one instruction, and
 * so is each round of a string instruction. The piece must not wait for the tracer. A tracer that ends takes its victim along.
 *
 * A rank that is to be killed within nof run: stepped_rank(), first in main().
 *
 * Threads: one of the tracer; the victim may have others, which run while it stands still. */
#ifndef TEST_STEPPED_H
#define TEST_STEPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__x86_64__) && defined(__linux__)
#define STEPPED_WORKS 1
#else
#define STEPPED_WORKS 0
#endif

struct stepped_cost {
    uint64_t instructions;
    uint64_t system_calls;
    uint64_t locked; /* with a lock prefix, and exchanges with memory, which lock by themselves */
    uint64_t fences; /* mfence, lfence, sfence */
};

/* Why this machine or its kernel does not let us; NULL: it does. */
const char *stepped_why_not(void);

/* Breakpoints: without a tracer they kill. */
static inline void stepped_begin(void)
{
#if STEPPED_WORKS
    __asm__ volatile("int3" ::: "memory");
#endif
}
static inline void stepped_end(void)
{
#if STEPPED_WORKS
    __asm__ volatile("int3" ::: "memory");
#endif
}

/* Runs it to its end; it must exit with 0. */
void stepped_cost(void (*victim)(void *arg), void *arg, struct stepped_cost *cost_out);
/* Killed when it has executed k instructions of the piece; true. False: the piece was shorter, and it went on to its end. */
bool stepped_kill(void (*victim)(void *arg), void *arg, uint64_t k);
/* The same; while it stands still there, and still lives, look() is called. */
bool stepped_look_and_kill(void (*victim)(void *arg), void *arg, uint64_t k, void (*look)(void *arg));

/* This process goes on as the child of one that traces it, and kills it k instructions behind its next stepped_begin(); the
 * tracer then ends the same way, so that whoever started it sees a rank that was killed; a longer k than the piece: with 70.
 * Whatever else ends the child ends the tracer likewise. Returns in the child. */
void stepped_rank(uint64_t k);

#endif
