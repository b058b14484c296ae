/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values of the channel of shared memory against a death at every instruction: of a send through a lane, of one in a cell, of
 * taking what lies in a cell, and of both sides of a single copy. What is seen is whole, what others send goes on, and
 * nothing that was lent is lost or is there twice. */
#include "stepped.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "chan/shm/barrier.h"
#include "chan/shm/cells.h"
#include "chan/shm/cma.h"
#include "chan/shm/hot.h"
#include "chan/shm/lane.h"

#define SKIP 77
#define VICTIM 1u /* slots of the senders */
#define OTHER 2u
#define BIG_BYTES 256u /* in a cell: enough for a copy of many instructions */
#define MESSAGES 10u
#define CELLS 8u /* a stripe */

struct world {
    struct nof_lane lane[3]; /* to the consumer, by sender */
    struct nof_hot_map map;
    struct nof_cell_words words;
    struct nof_cma_probe probe;
    pid_t pid;
    uint8_t cell[CELLS * NOF_CELL_BYTES];
};

static struct world *world;

static void fresh(void)
{
    memset(world, 0, offsetof(struct world, cell) + BIG_BYTES);
}

static uint8_t byte_of(uint32_t message, uint32_t at)
{
    return (uint8_t)(message * 59 + at * 7 + 1);
}

/* Made before, so that a piece that is stepped through copies with few instructions. */
static uint8_t pattern[MESSAGES][BIG_BYTES];

static void fill(void *to, uint32_t message, uint32_t bytes)
{
    memcpy(to, pattern[message], bytes);
}

static bool whole(const void *from, uint32_t message, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (((const uint8_t *)from)[i] != byte_of(message, i))
            return false;
    return true;
}

/* As the channel does, but for the bell, which has a test of its own. */
static void publish(struct nof_lane_out *out, uint32_t slot)
{
    nof_lane_publish(out);
    nof_barrier_light();
    if (!nof_lane_is_hot(out))
        nof_hot_tell(&world->map, slot);
}

static void send_short(struct nof_lane_out *out, uint32_t from, uint32_t message)
{
    struct nof_lane_slot *slot = nof_lane_claim(out);

    check(slot != NULL);
    slot->kind = 1;
    slot->tag = (int32_t)message;
    slot->len = NOF_LANE_PAYLOAD;
    fill(slot->payload, message, NOF_LANE_PAYLOAD);
    publish(out, from);
}

static uint64_t length(void (*victim)(void *arg), uint32_t hot)
{
    struct stepped_cost cost;

    fresh();
    world->lane[VICTIM].head.hot = hot;
    stepped_cost(victim, NULL, &cost);
    return cost.instructions;
}

/* Its first message is out; the second is killed. */
static void sends_short(void *arg)
{
    struct nof_lane_out out;

    (void)arg;
    nof_lane_out_init(&out, &world->lane[VICTIM]);
    send_short(&out, VICTIM, 1);
    stepped_begin();
    send_short(&out, VICTIM, 2);
    stepped_end();
}

/* How many messages are in a lane, all of them whole. */
static uint32_t drain(uint32_t from)
{
    struct nof_lane_in in;
    const struct nof_lane_slot *slot;
    uint32_t n = 0;

    nof_lane_in_init(&in, &world->lane[from]);
    while ((slot = nof_lane_peek(&in)) != NULL) {
        n++;
        check(slot->kind == 1 && slot->len == NOF_LANE_PAYLOAD && slot->tag == (int32_t)n);
        check(whole(slot->payload, n, NOF_LANE_PAYLOAD));
        (void)nof_lane_pop(&in);
    }
    return n;
}

static void other_goes_on(void)
{
    struct nof_lane_out out;

    nof_lane_out_init(&out, &world->lane[OTHER]);
    send_short(&out, OTHER, 1);
    check((nof_hot_take_words(&world->map) & 1) != 0);
    check((nof_hot_take(&world->map, 0) & 1u << OTHER) != 0);
    check(drain(OTHER) == 1);
}

static void a_send_is_there_or_not(uint32_t hot)
{
    uint64_t n = length(sends_short, hot);
    uint32_t before = 1;

    for (uint64_t k = 0; k <= n; k++) {
        uint32_t there;

        fresh();
        world->lane[VICTIM].head.hot = hot;
        check(stepped_kill(sends_short, NULL, k));
        there = drain(VICTIM);
        check(there == before || (before == 1 && there == 2));
        before = there;
        other_goes_on();
    }
    check(before == 2);
    printf("send to a %s lane: %llu instructions\n", hot != 0 ? "hot" : "cold", (unsigned long long)n);
}

static bool grow(void *memory, uint64_t bytes)
{
    return (uint8_t *)memory >= world->cell && (uint8_t *)memory + bytes <= world->cell + sizeof(world->cell);
}

static void sends_in_cell(void *arg)
{
    struct nof_lane_out out;
    struct nof_cells cells;
    struct nof_lane_slot *slot;
    uint32_t generation;
    int index;

    (void)arg;
    nof_lane_out_init(&out, &world->lane[VICTIM]);
    nof_cells_init(&cells, &world->words, world->cell, grow);
    stepped_begin();
    index = nof_cells_take(&cells, 0, NOF_CELL_BYTES, &generation);
    fill(nof_cells_at(&cells, (uint32_t)index, 0), 5, BIG_BYTES);
    slot = nof_lane_claim(&out);
    slot->kind = 2;
    slot->op = (uint32_t)index;
    slot->arg = generation;
    publish(&out, VICTIM);
    stepped_end();
}

static void a_cell_that_is_named_is_whole(void)
{
    uint64_t n = length(sends_in_cell, 0);
    uint32_t seen = 0;

    for (uint64_t k = 0; k <= n; k++) {
        const struct nof_lane_slot *slot;
        struct nof_lane_in in;

        fresh();
        check(stepped_kill(sends_in_cell, NULL, k));
        nof_lane_in_init(&in, &world->lane[VICTIM]);
        slot = nof_lane_peek(&in);
        check(slot != NULL || seen == 0);
        if (slot == NULL)
            continue;
        seen++;
        check(slot->kind == 2 && slot->op < CELLS);
        check(whole(nof_cell_read(world->cell, slot->op, 0, BIG_BYTES), 5, BIG_BYTES));
        other_goes_on();
    }
    check(seen > 0 && seen < n);
    printf("send in a cell: %llu instructions\n", (unsigned long long)n);
}

/* The owner is the tracer: its cells are lent before. */
static struct nof_cells owner;
static uint32_t lent_generation;
static uint32_t lent_index;

static void takes_from_cell(void *arg)
{
    (void)arg;
    stepped_begin();
    memcpy(world->cell + (CELLS - 1) * NOF_CELL_BYTES, nof_cell_read(world->cell, lent_index, 0, BIG_BYTES),
           BIG_BYTES);
    nof_cell_return(&world->words, lent_index, lent_generation);
    stepped_end();
}

static void lend(void)
{
    int index;

    fresh();
    nof_cells_init(&owner, &world->words, world->cell, grow);
    index = nof_cells_take(&owner, VICTIM, NOF_CELL_BYTES, &lent_generation);
    check(index >= 0);
    lent_index = (uint32_t)index;
    check(nof_cells_take(&owner, VICTIM, NOF_CELL_BYTES, &(uint32_t){0}) >= 0); /* this one it never sees */
    check(nof_cells_take(&owner, OTHER, NOF_CELL_BYTES, &(uint32_t){0}) >= 0);
}

/* All but what the other one has, each once. */
static void all_are_back(void)
{
    uint32_t there = 0;
    int index;

    while ((index = nof_cells_take(&owner, 0, NOF_CELL_BYTES, &(uint32_t){0})) >= 0) {
        check((there & 1u << index) == 0);
        there |= 1u << index;
    }
    check(__builtin_popcount(there) == CELLS - 1);
}

static void cells_of_the_dead_come_back_once(void)
{
    struct stepped_cost cost;
    uint32_t returned = 0;

    lend();
    stepped_cost(takes_from_cell, NULL, &cost);
    for (uint64_t k = 0; k <= cost.instructions; k++) {
        uint32_t lent[3] = {0, 2, 1};

        lend();
        check(stepped_kill(takes_from_cell, NULL, k));
        (void)nof_cells_reclaim(&owner, lent);
        check(lent[VICTIM] <= 2 && lent[VICTIM] >= 1 && lent[OTHER] == 1);
        returned += lent[VICTIM] == 1;
        nof_cells_forget(&owner, VICTIM);
        all_are_back();
    }
    check(returned > 0);
    printf("taking from a cell: %llu instructions\n", (unsigned long long)cost.instructions);
}

static uint64_t probe_word;
static uint8_t message[BIG_BYTES];

/* Asks its peer to copy: a slot with the address. */
static void asks(void *arg)
{
    struct nof_lane_out out;
    struct nof_lane_slot *slot;
    uint64_t address = (uint64_t)(uintptr_t)message;

    (void)arg;
    nof_lane_out_init(&out, &world->lane[VICTIM]);
    probe_word = 0x1234567890abcdefull;
    world->probe = (struct nof_cma_probe){.address = (uint64_t)(uintptr_t)&probe_word, .value = probe_word};
    world->pid = getpid();
    fill(message, 9, BIG_BYTES);
    stepped_begin();
    slot = nof_lane_claim(&out);
    slot->kind = 3;
    memcpy(slot->payload, &address, sizeof(address));
    publish(&out, VICTIM);
    stepped_end();
}

static struct nof_cma_peer peer;
static unsigned read_alive;

static const struct nof_lane_slot *asked(uint64_t *address_out)
{
    struct nof_lane_in in;
    const struct nof_lane_slot *slot;

    nof_lane_in_init(&in, &world->lane[VICTIM]);
    slot = nof_lane_peek(&in);
    if (slot != NULL)
        memcpy(address_out, slot->payload, sizeof(*address_out));
    return slot;
}

static void copy_while_it_lives(void *arg)
{
    uint8_t to[BIG_BYTES] = {0};
    uint64_t address;

    (void)arg;
    nof_cma_open(&peer, world->pid, &world->probe);
    check(peer.works);
    if (asked(&address) == NULL)
        return;
    check(nof_cma_read(&peer, address, to, sizeof(to)) == 0 && whole(to, 9, BIG_BYTES));
    read_alive++;
}

static void who_has_died_is_not_copied(void)
{
    uint64_t n = length(asks, 0);

    for (uint64_t k = 0; k <= n; k++) {
        uint8_t to[BIG_BYTES];
        uint64_t address;

        fresh();
        check(stepped_look_and_kill(asks, NULL, k, copy_while_it_lives));
        if (asked(&address) != NULL) {
            check(address == (uint64_t)(uintptr_t)message);
            check(nof_cma_read(&peer, address, to, sizeof(to)) == -ESRCH);
        }
        nof_cma_close(&peer);
        other_goes_on();
    }
    check(read_alive > 0 && read_alive < n);
    printf("asking for a single copy: %llu instructions\n", (unsigned long long)n);
}

/* The other side: who copies is killed. Its peer's memory is only read, and the answer is there when all bytes are. */
static void copies(void *arg)
{
    struct nof_cma_peer from;
    int rc;

    (void)arg;
    nof_cma_open(&from, world->pid, &world->probe);
    check(from.works);
    stepped_begin();
    rc = nof_cma_read(&from, (uint64_t)(uintptr_t)message, world->cell, BIG_BYTES);
    __atomic_store_n(&world->words.cell[0].returned, rc == 0 ? 1 : 2, __ATOMIC_RELEASE);
    stepped_end();
}

static void ready_to_be_copied(void)
{
    fresh();
    probe_word = 77;
    world->probe = (struct nof_cma_probe){.address = (uint64_t)(uintptr_t)&probe_word, .value = probe_word};
    world->pid = getpid();
    fill(message, 9, BIG_BYTES);
}

static void who_copies_answers_with_all_bytes_or_not(void)
{
    struct stepped_cost cost;
    unsigned answered = 0;

    ready_to_be_copied();
    stepped_cost(copies, NULL, &cost);
    for (uint64_t k = 0; k <= cost.instructions; k++) {
        ready_to_be_copied();
        check(stepped_kill(copies, NULL, k));
        check(world->words.cell[0].returned != 2 && whole(message, 9, BIG_BYTES));
        if (world->words.cell[0].returned == 0)
            continue;
        check(whole(world->cell, 9, BIG_BYTES));
        answered++;
    }
    check(answered > 0 && answered < cost.instructions);
    printf("single copy: %llu instructions, %llu system calls\n", (unsigned long long)cost.instructions,
           (unsigned long long)cost.system_calls);
}

/* Of its child a tracer may read everything; that a child may read its parent is up to Yama. */
static bool child_can_copy(void)
{
    struct nof_cma_peer from;
    int status;
    pid_t pid;

    ready_to_be_copied();
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        nof_cma_open(&from, world->pid, &world->probe);
        _exit(from.works ? 0 : 1);
    }
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
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
    for (uint32_t m = 0; m < MESSAGES; m++)
        for (uint32_t i = 0; i < BIG_BYTES; i++)
            pattern[m][i] = byte_of(m, i);
    a_send_is_there_or_not(0);
    a_send_is_there_or_not(1);
    a_cell_that_is_named_is_whole();
    cells_of_the_dead_come_back_once();
    who_has_died_is_not_copied();
    if (child_can_copy())
        who_copies_answers_with_all_bytes_or_not();
    else
        printf("the kernel forbids a child to read its parent: that side of a single copy was left out\n");
    return 0;
}
