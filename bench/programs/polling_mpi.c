/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What looking at channels costs, and what dealing the looks gains (papers/001, figures 1 to 4 and 6). It is linked with the objects
 * of the library, not with the library: it times the looks themselves, sets their turns, and can put costs into them.
 * `nof bench polling` runs it and reads the lines of rank 0:
 *
 *   polling_mpi COSTS looks                          poll SHM_NS NIC_NS
 *   polling_mpi COSTS turns ROUNDS                   row 0 RATIO NS              of an empty turn; RATIO 0: the NIC is not looked at
 *   polling_mpi COSTS pingpong MS ROUNDS BYTES...    row BYTES RATIO US [US]     of each round; by the NIC, beside a receive of memory, too
 *   polling_mpi COSTS bursts FILE ROUNDS BURST...    row BURST H US STATIC_US    likewise: of dynamic turns, and of ratio 50
 *   polling_mpi COSTS overlap ROUNDS                 row BYTES COMPUTE_US TOTAL_US
 *   polling_mpi COSTS hidden BYTES...                hidden BYTES PERCENT         of a transfer, while both compute as long
 *   done
 *
 * COSTS: "native", or "SHM,NIC,SETUP": nanoseconds that a look at memory, one at the NIC, and a message of 4 bytes by memory with the NIC
 * looked at in each turn, take in all: beyond their own they are given the rest. Then no message takes the short path, and the loop does
 * nothing but look, up to its own limit. FILE: of 4096 bytes, which all ranks map: root
 * says in it whose turn it is to send, past all channels. */
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/wait.h"
#include "chan/chan.h"
#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"

#define BYTES_MAX (4 << 20)
#define LARGE (128 << 10) /* of figure 6 */
#define STATIC_RATIO 50 /* of papers/001, section 3.3 */
#define YIELD_NS 2000 /* of costs, behind which a rank gives way where a NIC core may want its CPU */
#define PROBE_US 100 /* papers/001, section 4.3 */

static const uint32_t ratios[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 0};
static const uint32_t histories[] = {1, 2, 5, 8, 10, 20, 50, 100, 150, 200, 300, 400};
#define N(array) (sizeof(array) / sizeof((array)[0]))

static int rank, size;
static char *buffer[2];

/* Turns. */

static struct nof_polling_set turns;

static void ask(struct nof_polling_set *set_out)
{
    *set_out = turns;
}

/* Costs. */

static bool costly, gives_way, nic_off;
static uint32_t shm_ns, nic_ns, message_ns,
    owed_ns; /* in all; shm_ns, nic_ns: from spread_costs() on, beyond their own */
static double setup_ns; /* of message_ns, what looks and the library do not take */
static double loops_per_ns;

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void turn_round(uint64_t loops)
{
    for (; loops > 0; loops--)
        __asm__ volatile("" : "+r"(loops));
}

static void calibrate(void)
{
    for (int i = 0; i < 50; i++) {
        double began_us = now_us();
        turn_round(100000);
        double fast = 100000 / ((now_us() - began_us) * 1e3);
        loops_per_ns = fast > loops_per_ns ? fast : loops_per_ns;
    }
}

static void burn(uint32_t ns)
{
    if (ns == 0)
        return;
    turn_round((uint64_t)(ns * loops_per_ns));
    owed_ns += ns;
    if (gives_way && owed_ns > YIELD_NS) {
        owed_ns = 0;
        sched_yield();
    }
}

static int poll_shm(void)
{
    burn(shm_ns);
    return nof_chan_by_shm.source.poll();
}

static int poll_nic(void)
{
    if (nic_off)
        return 0;
    burn(nic_ns);
    return nof_chan_by_nic.source.poll();
}

/* Where the library adds its channels to the loop (the linker's --wrap). */
void __real_nof_wait_add(const struct nof_wait_source *source);
void __wrap_nof_wait_add(const struct nof_wait_source *source);
void __wrap_nof_wait_add(const struct nof_wait_source *source)
{
    static struct nof_wait_source shm, nic;
    if (source == &nof_chan_by_shm.source) {
        shm = *source;
        shm.poll = poll_shm;
        source = &shm;
    } else if (source == &nof_chan_by_nic.source) {
        nic = *source;
        nic.poll = poll_nic;
        nic.polling = ask;
        source = &nic;
    }
    __real_nof_wait_add(source);
}

static bool take_costs(const char *text)
{
    costly = strcmp(text, "native") != 0;
    if (costly && sscanf(text, "%u,%u,%u", &shm_ns, &nic_ns, &message_ns) != 3)
        return false;
    if (costly)
        calibrate();
    return true;
}

static void set_turns(bool dynamic, uint32_t ratio, uint32_t update)
{
    nic_off = !dynamic && ratio == 0;
    turns = (struct nof_polling_set){
        .dynamic = dynamic, .ratio = nic_off ? NOF_POLLING_MOST : ratio, .update = update};
    nof_wait_polling_changed();
}

static void die(const char *why)
{
    fprintf(stderr, "polling_mpi: rank %d: %s\n", rank, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Figure 1. Every rank has sent rank 0 something before, and sleeps meanwhile; of its host one has lately. */

static double look_ns(int (*look)(void))
{
    enum { BATCHES = 31, LOOKS = 2000 };
    double each[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        double began_us = now_us();
        for (int k = 0; k < LOOKS; k++)
            (void)look();
        each[i] = (now_us() - began_us) * 1e3 / LOOKS;
    }
    qsort(each, BATCHES, sizeof(each[0]), compare);
    return each[0]; /* during others a rank may have had no CPU, or half a core */
}

static uint32_t rest_ns(uint32_t all_ns, double own_ns)
{
    return own_ns < all_ns ? (uint32_t)(all_ns - own_ns) : 0;
}

/* What looks take by themselves is part of what they are to take. */
static void spread_costs(void)
{
    shm_ns = rest_ns(shm_ns, look_ns(nof_chan_by_shm.source.poll));
    nic_ns = rest_ns(nic_ns, look_ns(nof_chan_by_nic.source.poll));
}

static void looks(void)
{
    enum { TIMES = 30 };
    MPI_Comm host;
    int local, locals;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &locals);
    for (int i = 1; i < locals; i++) {
        if (local == i)
            MPI_Send(buffer[0], 4, MPI_BYTE, 0, 0, host);
        if (local == 0)
            MPI_Recv(buffer[1], 4, MPI_BYTE, MPI_ANY_SOURCE, 0, host, MPI_STATUS_IGNORE);
    }
    for (int i = 1; i < size; i++) {
        if (rank == i)
            MPI_Send(buffer[0], 4, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(buffer[1], 4, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (local == 1) {
        usleep(700 * 1000); /* meanwhile rank 0 has been waiting, and slept */
        MPI_Send(buffer[0], 4, MPI_BYTE, 0, 0, host);
    }
    if (local == 0)
        MPI_Recv(buffer[1], 4, MPI_BYTE, 1, 0, host, MPI_STATUS_IGNORE);
    if (rank == 0) {
        double ns[2] = {INFINITY, INFINITY};
        usleep(200 * 1000); /* the others go to sleep */
        for (int i = 0; i < TIMES; i++) {
            double now_ns[2] = {look_ns(nof_chan_by_shm.source.poll), look_ns(nof_chan_by_nic.source.poll)};
            for (int k = 0; k < 2; k++)
                ns[k] = now_ns[k] < ns[k] ? now_ns[k] : ns[k];
            usleep(10 * 1000); /* what disturbs may have gone */
        }
        printf("poll %.3f %.3f\n", ns[0], ns[1]);
        for (int i = 1; i < size; i++)
            MPI_Send(buffer[0], 0, MPI_BYTE, i, 1, MPI_COMM_WORLD);
    } else { /* in a barrier they would have sent it something, lately */
        MPI_Recv(buffer[1], 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&host);
}

/* Turns in which nothing comes, while something of memory is waited for. Every rank but 0 sleeps. */

static double turn_ns(uint32_t ratio)
{
    enum { WAITS = 20, STEPS = 100 }; /* fewer than the turns that do nothing but look */
    set_turns(false, ratio, 1);
    double began_us = now_us();
    for (int i = 0; i < WAITS; i++) {
        struct nof_wait wait = NOF_WAIT_START;
        for (int k = 0; k < STEPS; k++)
            (void)nof_wait_step(&wait);
    }
    return (now_us() - began_us) * 1e3 / WAITS / STEPS;
}

/* As latencies are measured: short ones at each ratio in turn, of which the fastest quarter counts. */
static void turns_of_round(void)
{
    enum { TIMES = 31 };
    static const uint32_t some[] = {1, STATIC_RATIO, 0};
    double ns[N(some)][TIMES];
    for (int i = 0; i < TIMES; i++)
        for (size_t k = 0; k < N(some); k++)
            ns[k][i] = turn_ns(some[k]);
    for (size_t k = 0; k < N(some); k++) {
        qsort(ns[k], TIMES, sizeof(ns[k][0]), compare);
        printf("row 0 %u %.4f\n", some[k], ns[k][TIMES / 4]);
    }
}

static void all_turns(int rounds)
{
    MPI_Request request;
    nof_lib.crowded = false;
    if (rank == 0) {
        MPI_Irecv(buffer[0], 4, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        usleep(200 * 1000); /* the others go to sleep */
        for (int round = 0; round < rounds; round++)
            turns_of_round();
        set_turns(false, 1, 1);
        MPI_Send(buffer[1], 4, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(buffer[0], 4, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer[1], 4, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Figure 2: the standard's ping-pong, whose receives go through the wait loop. */

static bool by_memory(void)
{
    return nof_chan_of(nof_comm_find(MPI_COMM_WORLD)) != nof_chan_to_all;
}

/* Set-up takes a sixth less or more, by lot: else each message would meet the same place of the loop. */
static void send(int bytes, int to, MPI_Comm comm, bool memory)
{
    static uint32_t lot = 1;
    lot = lot * 1664525u + 1013904223u;
    burn(memory ? (uint32_t)(setup_ns * (5.0 / 6 + (lot >> 8) / 3.0 / (1 << 24))) : 0);
    MPI_Send(buffer[0], bytes, MPI_BYTE, to, 0, comm);
}

static void ping_pong(int bytes, int n, bool memory)
{
    MPI_Request request;
    int other = 1 - rank;
    for (int i = 0; i < n; i++) {
        MPI_Irecv(buffer[1], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request);
        if (rank == 0)
            send(bytes, other, MPI_COMM_WORLD, memory);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1)
            send(bytes, other, MPI_COMM_WORLD, memory);
    }
}

enum { BATCH = 64, BATCHES_MOST = 1000 };

static double batch_us(int bytes, uint32_t ratio, bool memory)
{
    set_turns(false, ratio, 1);
    double began_us = now_us();
    ping_pong(bytes, BATCH, memory);
    return (now_us() - began_us) / BATCH / 2;
}

/* Short batches at each ratio in turn, so that whatever else runs meets all of them alike; the fastest quarter, since during others a rank
 * may have had no CPU. */
static void one_way_us(int bytes, double ms, bool memory, size_t n, const uint32_t of[], double us_out[])
{
    static double us[N(ratios)][BATCHES_MOST];
    (void)batch_us(bytes, of[0], memory);
    int times = (int)(ms * 1e3 / (batch_us(bytes, of[0], memory) * BATCH * 2)) + 5;
    times = times < BATCHES_MOST ? times : BATCHES_MOST;
    MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < times; i++)
        for (size_t k = 0; k < n; k++)
            us[k][i] = batch_us(bytes, of[k], memory);
    set_turns(false, 1, 1);
    for (size_t k = 0; k < n; k++) {
        qsort(us[k], (size_t)times, sizeof(us[k][0]), compare);
        us_out[k] = us[k][times / 4];
    }
}

/* Set-up is what is left of message_ns. The paper's 1.2 us is what a message takes to begin with, and its looks are part of that: never
 * looking at the network it saves 37 % of 4 bytes' latency, and a look is 0.3 us. */
static void fit_setup(double ms)
{
    enum { TRIES = 9 };
    static const uint32_t each = 1;
    double rest_of_us[TRIES];
    setup_ns = message_ns / 2.0;
    for (int i = 0; i < TRIES; i++) {
        one_way_us(4, ms, true, 1, &each, &rest_of_us[i]);
        rest_of_us[i] -= setup_ns / 1e3;
    }
    qsort(rest_of_us, TRIES, sizeof(rest_of_us[0]), compare);
    setup_ns = message_ns - rest_of_us[TRIES / 2] * 1e3;
    setup_ns = setup_ns < 0 ? 0 : setup_ns;
    MPI_Bcast(&setup_ns, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* While memory may bring something, too: a message of its own. */
static void one_way_beside_us(int bytes, double ms, size_t n, const uint32_t of[], double us_out[])
{
    MPI_Request request;
    MPI_Irecv(buffer[0], 0, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
    one_way_us(bytes, ms, false, n, of, us_out);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Where the scheduler puts both on one, each waits for the other's share to end. */
static void take_own_cpu(void)
{
    cpu_set_t all, one;
    int at = 0;
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < size)
        return;
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < (size_t)CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all) && at++ == rank)
            CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}

static void all_ping_pongs(double ms, int rounds, int nsizes, char **sizes)
{
    bool memory = by_memory();
    /* By memory two ranks have a CPU each, and the NIC core sleeps. */
    nof_lib.crowded = memory ? false : nof_lib.crowded && !costly;
    gives_way = !memory;
    if (memory)
        take_own_cpu();
    if (memory && costly)
        fit_setup(ms);
    size_t n = N(ratios) - (memory ? 0 : 1); /* not without looks at the NIC, where it brings the messages */
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < nsizes; i++) {
            int bytes = atoi(sizes[i]);
            double us[N(ratios)], beside_us[N(ratios)];
            one_way_us(bytes, ms, memory, n, ratios, us);
            if (!memory)
                one_way_beside_us(bytes, ms, n, ratios, beside_us);
            for (size_t k = 0; rank == 0 && k < n; k++)
                printf("row %d %u %.4f %.4f\n", bytes, ratios[k], us[k], memory ? NAN : beside_us[k]);
        }
    }
}

/* Figures 3 and 4. Root knows of each message that it has come before it looks for it, past the channels: what it measures is
 * how long it looks. */

struct places {
    uint32_t go[2]; /* to the peer beside root, to the one beyond: messages that it may have sent */
    uint32_t over;
};

static struct places *map_file(const char *name)
{
    int fd = open(name, O_RDWR | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        die("the file cannot be mapped");
    close(fd);
    return map;
}

static bool sends_under_way(void)
{
    for (const struct nof_chan_nic_op *op = nof_chan_nic.active; op != NULL; op = op->next_active)
        if (op->phase == NOF_OP_SEND)
            return true;
    return false;
}

struct root {
    struct places *places;
    MPI_Comm comm[2]; /* by memory, by the NIC */
    int peer[2];
    MPI_Request request[2];
    char in[2][4];
};

static void await_arrival(const struct root *r, int side)
{
    const struct nof_comm *comm = nof_comm_find(r->comm[0]);
    if (side == 0)
        while (!nof_lane_has(&nof_shm_peer_at(comm, r->peer[0])->in))
            sched_yield();
    else
        (void)nof_pmd_wait(nof_chan_nic.pmd, nof_pmd_wake_count(nof_chan_nic.pmd), 1000000000u);
}

/* One message and its answer. Returns how long it was looked for. */
static double discover_us(struct root *r, int side)
{
    int which;
    while (sends_under_way()) {
        (void)nof_wait_poll();
        sched_yield();
    }
    __atomic_fetch_add(&r->places->go[side], 1, __ATOMIC_SEQ_CST);
    await_arrival(r, side);
    double began_us = now_us();
    MPI_Waitany(2, r->request, &which, MPI_STATUS_IGNORE);
    double took_us = now_us() - began_us;
    if (which != side)
        die("a message has come that nobody sent");
    MPI_Irecv(r->in[side], 4, MPI_BYTE, r->peer[side], 0, r->comm[side], &r->request[side]);
    send(4, r->peer[side], r->comm[side], side == 0);
    return took_us;
}

/* Each side has its burst twice; the first pair is not counted. */
static double bursts_us(struct root *r, int burst)
{
    double sum_us = 0;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < burst; k++) {
            double us = discover_us(r, i & 1);
            sum_us += i < 2 ? 0 : us;
        }
    }
    return sum_us / (2 * burst);
}

static void peer_of_root(struct places *places, int side, MPI_Comm comm)
{
    for (uint32_t sent = 0;; sent++) {
        while (__atomic_load_n(&places->go[side], __ATOMIC_ACQUIRE) == sent) {
            if (__atomic_load_n(&places->over, __ATOMIC_ACQUIRE) != 0)
                return;
            usleep(20); /* root may want this CPU */
        }
        send(4, 0, comm, side == 0);
        MPI_Recv(buffer[1], 4, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
    }
}

static void all_bursts(const char *file, int rounds, int n, char **bursts)
{
    struct places *places = map_file(file);
    MPI_Comm host;
    int local, locals;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &locals);
    int beside = locals == 2 ? rank : 0, side = locals == 2 ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &beside, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    nof_lib.crowded = false; /* root looks only when it has come */
    if (rank != 0) {
        peer_of_root(places, side, side == 0 ? host : MPI_COMM_WORLD);
    } else {
        struct root r = {.places = places, .comm = {host, MPI_COMM_WORLD}, .peer = {1, 3 - beside}};
        if (locals != 2)
            die("its host must have two ranks, and another one has the third");
        for (int i = 0; i < 2; i++)
            MPI_Irecv(r.in[i], 4, MPI_BYTE, r.peer[i], 0, r.comm[i], &r.request[i]);
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < n; i++) {
                int burst = atoi(bursts[i]);
                set_turns(false, STATIC_RATIO, 1);
                double static_us = bursts_us(&r, burst);
                for (size_t k = 0; k < N(histories); k++) {
                    set_turns(true, STATIC_RATIO, histories[k]);
                    printf("row %d %u %.4f %.4f\n", burst, histories[k], bursts_us(&r, burst), static_us);
                }
            }
        }
        set_turns(false, 1, 1);
        for (int i = 0; i < 2; i++) {
            MPI_Cancel(&r.request[i]);
            MPI_Wait(&r.request[i], MPI_STATUS_IGNORE);
        }
        __atomic_store_n(&places->over, 1, __ATOMIC_RELEASE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&host);
    munmap(places, 4096);
}

/* Figure 6: both send and receive, compute for so long, with a look every 100 us, and wait for the rest. */

static double total_us(int bytes, double compute_us)
{
    MPI_Request request[2];
    int flag, other = 1 - rank;
    MPI_Barrier(MPI_COMM_WORLD);
    double began_us = now_us(), looked_us = began_us, at_us = began_us;
    MPI_Irecv(buffer[1], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(buffer[0], bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &request[1]);
    for (double computed_us = now_us(); at_us - computed_us < compute_us; at_us = now_us()) {
        if (at_us - looked_us < PROBE_US)
            continue;
        looked_us = at_us;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    return now_us() - began_us;
}

enum { TIMES = 31 };

/* The fastest quarter: during others a rank may have had no CPU. */
static double clean_total_us(int bytes, double compute_us)
{
    double us[TIMES];
    for (int t = 0; t < TIMES; t++)
        us[t] = total_us(bytes, compute_us);
    qsort(us, TIMES, sizeof(us[0]), compare);
    return us[TIMES / 4];
}

/* Beside computing that takes as long as the transfer by itself. */
static void all_hidden(int n, char **sizes)
{
    take_own_cpu();
    for (int i = 0; i < n; i++) {
        int bytes = atoi(sizes[i]);
        double alone_us = clean_total_us(bytes, 0);
        MPI_Bcast(&alone_us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        double hidden = (2 * alone_us - clean_total_us(bytes, alone_us)) / alone_us;
        if (rank == 0)
            printf("hidden %d %.2f\n", bytes, 100 * (hidden < 0 ? 0 : hidden > 1 ? 1 : hidden));
    }
}

static void all_overlaps(int rounds)
{
    static const int bytes[] = {4, LARGE};
    static const double compute_us[N(bytes)][6] = {{5, 10, 20, 50, 100, 200}, {50, 100, 200, 400, 800, 1600}};
    take_own_cpu();
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < N(bytes); i++) {
            for (size_t k = 0; k < N(compute_us[i]); k++) {
                double us = clean_total_us(bytes[i], compute_us[i][k]);
                if (rank == 0)
                    printf("row %d %.0f %.3f\n", bytes[i], compute_us[i][k], us);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    if (argc < 3 || !take_costs(argv[1])) {
        fprintf(stderr, "polling_mpi: usage: polling_mpi COSTS looks|turns|pingpong|bursts|overlap ...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 2; i++)
        if ((buffer[i] = calloc(1, BYTES_MAX)) == NULL)
            die("no memory");
    if (costly) {
        nof_chan_short = NULL;
        spread_costs();
        setup_ns = message_ns;
    }
    if (strcmp(what, "looks") == 0)
        looks();
    else if (strcmp(what, "turns") == 0 && argc > 3 && size > 1)
        all_turns(atoi(argv[3]));
    else if (strcmp(what, "pingpong") == 0 && argc > 5 && size == 2)
        all_ping_pongs(atof(argv[3]), atoi(argv[4]), argc - 5, argv + 5);
    else if (strcmp(what, "bursts") == 0 && argc > 5 && size == 3)
        all_bursts(argv[3], atoi(argv[4]), argc - 5, argv + 5);
    else if (strcmp(what, "overlap") == 0 && argc > 3 && size == 2)
        all_overlaps(atoi(argv[3]));
    else if (strcmp(what, "hidden") == 0 && size == 2)
        all_hidden(argc - 3, argv + 3);
    else
        die("it does not know what to measure, or with so many ranks");
    set_turns(false, 1, 1);
    if (rank == 0)
        printf("done\n");
    fflush(stdout);
    MPI_Finalize();
    free(buffer[0]);
    free(buffer[1]);
    return 0;
}
