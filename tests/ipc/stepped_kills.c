/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The harness that kills at every instruction does so: it counts right, what is left is a prefix of what would have been done,
 * and it finds the fault that it is for: a list that a death between two instructions cuts in two. */
#include "stepped.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../check.h"

#define SKIP 77
#define WORDS 16

struct node {
    uint32_t next; /* index, 0: none */
};

struct world {
    uint32_t word[WORDS];
    struct node node[4];
    uint32_t first;
    uint32_t last;
    uint32_t bit[4];
};

static struct world *world;

#if STEPPED_WORKS
static void known_instructions(void *arg)
{
    uint64_t five = 5;
    void *to = world->word;

    (void)arg;
    stepped_begin();
    __asm__ volatile("nop\n\t"
                     "lock incl (%1)\n\t"
                     "xchg %%eax, (%1)\n\t"
                     "xchg %%eax, %%ecx\n\t"
                     "mfence\n\t"
                     "mov $39, %%eax\n\t" /* getpid */
                     "syscall\n\t"
                     "mov %0, %%rcx\n\t"
                     "mov %1, %%rdi\n\t"
                     "rep stosb"
                     : "+r"(five), "+r"(to)
                     :
                     : "rax", "rcx", "rdi", "r11", "memory", "cc");
    stepped_end();
}

static void what_it_counts_is_what_ran(void)
{
    struct stepped_cost cost;

    stepped_cost(known_instructions, NULL, &cost);
    /* Those that move operands beside them are the compiler's. */
    check(cost.instructions >= 14 && cost.instructions <= 20);
    check(cost.system_calls == 1);
    check(cost.locked == 2);
    check(cost.fences == 1);
}
#endif

static void writes_in_order(void *arg)
{
    (void)arg;
    stepped_begin();
    for (uint32_t i = 0; i < WORDS; i++)
        __atomic_store_n(&world->word[i], 1, __ATOMIC_RELAXED);
    stepped_end();
}

static uint64_t length(void (*victim)(void *arg))
{
    struct stepped_cost cost;

    stepped_cost(victim, NULL, &cost);
    return cost.instructions;
}

static void every_prefix_is_seen(void)
{
    uint64_t n = length(writes_in_order);
    uint32_t before = 0;
    uint32_t seen = 0; /* bit i: i words were written */

    for (uint64_t k = 0; k <= n; k++) {
        uint32_t written = 0;

        memset(world, 0, sizeof(*world));
        check(stepped_kill(writes_in_order, NULL, k));
        while (written < WORDS && world->word[written] != 0)
            written++;
        for (uint32_t i = written; i < WORDS; i++)
            check(world->word[i] == 0);
        check(written >= before && written <= before + 1);
        before = written;
        seen |= 1u << written;
    }
    check(seen == (1u << (WORDS + 1)) - 1);
    check(!stepped_kill(writes_in_order, NULL, n + 1)); /* it goes on to its end */
}

/* The producer's side of a list with one exchange, then a link (of Vyukov's): its nodes are 1 and 2. */
static void exchange_then_link(void *arg)
{
    (void)arg;
    stepped_begin();
    world->node[1].next = 0;
    uint32_t before = __atomic_exchange_n(&world->last, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&world->node[before].next, 1, __ATOMIC_RELEASE);
    stepped_end();
}

/* A slot of its own, published by one word. */
static void own_slot(void *arg)
{
    (void)arg;
    stepped_begin();
    world->word[1] = 7;
    __atomic_store_n(&world->bit[1], 1, __ATOMIC_RELEASE);
    stepped_end();
}

/* Whether what the other producer sends after the death arrives. */
static bool list_goes_on(void)
{
    uint32_t before = __atomic_exchange_n(&world->last, 2, __ATOMIC_ACQ_REL);

    __atomic_store_n(&world->node[before].next, 2, __ATOMIC_RELEASE);
    for (uint32_t at = world->node[0].next, n = 0; at != 0 && n < 4; at = world->node[at].next, n++)
        if (at == 2)
            return true;
    return false;
}

static void a_list_that_is_cut_is_found(void)
{
    uint64_t n = length(exchange_then_link);
    unsigned cut = 0;

    for (uint64_t k = 0; k <= n; k++) {
        memset(world, 0, sizeof(*world));
        check(stepped_kill(exchange_then_link, NULL, k));
        cut += !list_goes_on();
    }
    check(cut > 0 && cut < n);
    n = length(own_slot);
    for (uint64_t k = 0; k <= n; k++) {
        memset(world, 0, sizeof(*world));
        check(stepped_kill(own_slot, NULL, k));
        check(world->bit[1] == 0 || world->word[1] == 7);
        check((k == n) <= (world->bit[1] != 0));
    }
}

int main(void)
{
    const char *why = stepped_why_not();

    if (why != NULL) {
        printf("%s\n", why);
        return SKIP;
    }
    world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(world != MAP_FAILED);
#if STEPPED_WORKS
    what_it_counts_is_what_ran();
#endif
    every_prefix_is_seen();
    a_list_that_is_cut_is_found();
    return 0;
}
