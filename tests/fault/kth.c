/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The k-th call of the core to its port or its host fails, for every k there is (T_SLICE=N: for every N-th): usage kth
 * SCENARIO. A failure that can be retried changes nothing but the time; one that breaks a copy ends that message, at
 * both sides, and no other. Nothing crashes, hangs, or stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scenarios.h"

#define BURST 40

static const struct scenario *chosen;
static uint64_t slice = 1;

enum dma { DMA_INLINE, DMA_READ_LATE, DMA_LATE, DMA_MODES };
static const char *const dma_names[] = {"inline", "reads late", "late"};

/* Play the scenario with this fault; returns how many calls the fault could have hit. */
static uint64_t once(enum dma dma, const char *what, const struct world_fault *fault, int harm)
{
    struct play *p = calloc(1, sizeof *p);
    char name[128];
    assert_non_null(p);
    snprintf(name, sizeof name, "%s, DMA %s, %s %llu", chosen->name, dma_names[dma], what,
             (unsigned long long)fault->at);
    p->name = name;
    p->harm = harm;
    struct play_setup setup = chosen->setup;
    setup.dma_inline = dma != DMA_LATE;
    setup.dma_read_late = dma == DMA_READ_LATE;
    play_begin(p, &setup, fault);
    chosen->run(p);
    uint64_t counted = world_counted(p->w);
    play_end(p);
    free(p);
    return counted;
}

static void for_every_call(const char *what, struct world_fault fault, int harm)
{
    for (enum dma dma = DMA_INLINE; dma < DMA_MODES; dma++) {
        fault.at = 0;
        uint64_t calls = once(dma, what, &fault, 0);
        for (fault.at = 1; fault.at <= calls; fault.at += slice)
            (void)once(dma, what, &fault, harm);
    }
}

static void no_frame(void **state)
{
    (void)state;
    for_every_call("frame_alloc", (struct world_fault){.ops = 1u << WORLD_ALLOC, .count = 1}, 0);
}

static void port_full(void **state)
{
    (void)state;
    for_every_call("send", (struct world_fault){.ops = 1u << WORLD_SEND, .count = 1}, 0);
}

static void port_takes_half(void **state)
{
    (void)state;
    for_every_call("short send",
                   (struct world_fault){.ops = 1u << WORLD_SEND, .count = 1, .how = WORLD_SHORT}, 0);
}

static void dma_queue_full(void **state)
{
    (void)state;
    for_every_call("busy DMA", (struct world_fault){.ops = 1u << WORLD_READ | 1u << WORLD_WRITE, .count = 1},
                   0);
}

static void dma_broken(void **state)
{
    (void)state;
    struct world_fault fault = {.ops = 1u << WORLD_READ | 1u << WORLD_WRITE, .count = 1, .how = WORLD_BROKEN};
    for_every_call("broken DMA", fault, 1);
}

static void dma_broken_late(void **state)
{
    (void)state;
    struct world_fault fault = {.ops = 1u << WORLD_READ | 1u << WORLD_WRITE, .count = 1, .how = WORLD_LATE};
    for_every_call("late broken DMA", fault, 1);
}

static void ring_full(void **state)
{
    (void)state;
    for_every_call("complete", (struct world_fault){.ops = 1u << WORLD_COMPLETE, .count = 1}, 0);
}

/* Everything is full for a while, whatever is called. */
static void all_busy(void **state)
{
    (void)state;
    for_every_call("all busy", (struct world_fault){.ops = (1u << WORLD_OPS) - 1, .count = BURST}, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_frame),  cmocka_unit_test(port_full),       cmocka_unit_test(port_takes_half),
        cmocka_unit_test(ring_full), cmocka_unit_test(dma_queue_full),  cmocka_unit_test(dma_broken),
        cmocka_unit_test(all_busy),  cmocka_unit_test(dma_broken_late),
    };
    for (unsigned i = 0; argc == 2 && i < scenarios_count; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0)
            chosen = &scenarios[i];
    if (getenv("T_SLICE") != NULL)
        slice = strtoul(getenv("T_SLICE"), NULL, 10);
    if (chosen == NULL || slice == 0) {
        fprintf(stderr, "usage: kth SCENARIO, one of:\n");
        for (unsigned i = 0; i < scenarios_count; i++)
            fprintf(stderr, "  %s\n", scenarios[i].name);
        return 2;
    }
    return cmocka_run_group_tests_name(chosen->name, tests, NULL, NULL);
}
