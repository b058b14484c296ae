/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench cores`: what two simulated NICs cost on two cores beside one, in CPU time and in instructions per byte.
 *
 * Both send each other messages of 1 MiB, as many in flight as keep them busy. On one core a thread plays both, on a fabric
 * that is its alone; on two each has a thread, pinned, on a shared fabric, that sleeps while nothing comes, as nofd's; and once more
 * with both threads on one CPU, where no cache line goes from one to another: the rest is what sharing costs. CPU
 * time is that of the threads: who else has the CPUs meanwhile does not count. Nobody but the core touches the bytes there:
 * one thread finds all in its cache, which no rank's core does. So a daemon and ranks that stream are measured too, on one
 * core and on two. Instructions are counted by callgrind, of
 * both kinds in one thread: they are the same every time, and know nothing of caches. */
#include "commands.h"

#include <argp.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cores_ranks.h"
#include "lib/callgrind.h"
#include "lib/option.h"
#include "lib/report.h"
#include "nof/core.h"
#include "nof_private/buf_cursor.h"
#include "nof_private/fence.h"
#include "port/fabric/fabric.h"

#define NICS 2u
#define MESSAGE_BYTES (1u << 20)
#define IN_FLIGHT 4u
#define MTU_BYTES 9000u
#define FRAMES 2304u /* as nofd: MTU, frames, and those of a path */
#define WINDOW_FRAMES 64u
#define BURST 64u
#define FRAME_BUDGET 32u
#define MESSAGES 2000u /* each way, in a run */
#define CHILD_MESSAGES 16u
#define PAIRS_MAX 101u
#define SLEEP_NS 1000000

struct side {
    struct nof_nic *nic;
    struct nof_fabric_port *port;
    void *mem;
    uint32_t endpoint;
    struct nof_card card;
    uint8_t *in, *out;
    unsigned asked, given; /* receives and sends posted */
    unsigned received, sent;
    unsigned errors;
    sem_t bell;
    int asleep; /* crosses */
};

struct run {
    struct nof_fabric *fabric;
    struct side side[NICS];
    unsigned messages;
    unsigned ended; /* crosses: sides that have all */
    bool two;
};

struct player {
    struct run *run;
    unsigned first, n; /* sides */
    unsigned cpu; /* of those that we may have */
    double cpu_s;
    pthread_t thread;
};

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int copy(const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
                unsigned nlocal, bool write)
{
    struct nof_buf_cursor c = nof_buf_begin(local, nlocal);

    for (unsigned i = 0; i < nremote; i++)
        if (!nof_buf_move(&c, (uint8_t *)(uintptr_t)remote[i].addr, remote[i].len_bytes, write))
            return NOF_EFAULT;
    return nof_buf_ended(&c) ? NOF_DMA_DONE : NOF_EFAULT;
}

static int dma_read(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host, (void)endpoint, (void)token;
    return copy(remote, nremote, local, nlocal, false);
}

static int dma_write(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                     const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host, (void)endpoint, (void)token;
    return copy(remote, nremote, local, nlocal, true);
}

static unsigned complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct side *s = host;

    (void)endpoint;
    for (unsigned i = 0; i < n; i++) {
        s->received += comps[i].opcode == NOF_COMP_RECV;
        s->sent += comps[i].opcode == NOF_COMP_SEND;
        s->errors += comps[i].status != NOF_OK;
    }
    return n;
}

static void endpoint_failed(void *host, uint32_t endpoint, int status)
{
    (void)endpoint, (void)status;
    ((struct side *)host)->errors++;
}

static uint64_t cycles(void *host)
{
    (void)host;
    return 0;
}

static const struct nof_host_ops host_ops = {.dma_read = dma_read,
                                             .dma_write = dma_write,
                                             .complete = complete,
                                             .endpoint_failed = endpoint_failed,
                                             .cycles = cycles};

static bool has_all(const struct run *run, const struct side *s)
{
    return s->errors > 0 || (s->received == run->messages && s->sent == run->messages);
}

static unsigned submit(const struct run *run, struct side *s, uint64_t now_ns)
{
    struct nof_desc d[2 * IN_FLIGHT];
    int32_t peer = s == &run->side[0];
    unsigned n = 0;

    while (s->asked < run->messages && s->asked - s->received < IN_FLIGHT)
        d[n++] = (struct nof_desc){.opcode = NOF_DESC_RECV,
                                   .ctx = 1,
                                   .peer = peer,
                                   .len = MESSAGE_BYTES,
                                   .addr = (uintptr_t)s->in,
                                   .cookie = s->asked++};
    while (s->given < run->messages && s->given - s->sent < IN_FLIGHT)
        d[n++] = (struct nof_desc){.opcode = NOF_DESC_SEND,
                                   .ctx = 1,
                                   .peer = peer,
                                   .len = MESSAGE_BYTES,
                                   .addr = (uintptr_t)s->out,
                                   .cookie = s->given++};
    if (n > 0)
        nof_nic_host(s->nic, now_ns, s->endpoint, d, n);
    return n;
}

static unsigned turn(struct run *run, struct side *s, uint64_t now_ns)
{
    struct nof_frame *frames[BURST];
    unsigned work = nof_fabric_rx_burst(s->port, now_ns, frames, BURST);

    if (work > 0) {
        nof_nic_rx(s->nic, now_ns, frames, work);
        nof_fabric_rx_done(s->port, frames, work);
    }
    work += submit(run, s, now_ns);
    return work + (nof_nic_poll(s->nic, now_ns, FRAME_BUDGET) ? 1u : 0u);
}

static void wake(void *arg)
{
    struct side *s = arg;

    nof_fence_full();
    if (__atomic_exchange_n(&s->asleep, 0, __ATOMIC_RELAXED) != 0)
        sem_post(&s->bell);
}

/* Until frames come, or for a while: timers are far away in a stream. */
static void rest(struct side *s)
{
    struct timespec until;

    __atomic_store_n(&s->asleep, 1, __ATOMIC_RELAXED);
    nof_fence_full();
    if (nof_fabric_rx_ready(s->port) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += SLEEP_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        (void)sem_clockwait(&s->bell, CLOCK_MONOTONIC, &until);
    }
    __atomic_store_n(&s->asleep, 0, __ATOMIC_RELAXED);
}

static void play(struct run *run, unsigned first, unsigned n)
{
    bool told[NICS] = {false};

    while (__atomic_load_n(&run->ended, __ATOMIC_ACQUIRE) < NICS) {
        uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        unsigned work = 0;

        for (unsigned i = first; i < first + n; i++) {
            struct side *s = &run->side[i];

            work += turn(run, s, now_ns);
            if (told[i] || !has_all(run, s))
                continue;
            told[i] = true;
            (void)__atomic_fetch_add(&run->ended, 1, __ATOMIC_RELEASE);
        }
        if (work == 0 && n == 1)
            rest(&run->side[first]);
    }
}

static void *player_main(void *arg)
{
    struct player *p = arg;
    cpu_set_t may, one;
    unsigned skip = p->cpu;

    if (sched_getaffinity(0, sizeof(may), &may) == 0)
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &may) && skip-- == 0) {
                CPU_ZERO(&one);
                CPU_SET(cpu, &one);
                (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
                break;
            }
    play(p->run, p->first, p->n);
    p->cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) * 1e-9;
    return NULL;
}

static bool open_side(struct run *run, unsigned i, const uint8_t mac[6])
{
    struct side *s = &run->side[i];
    struct nof_nic_config cfg = {.nic_id = 100 + i,
                                 .seed = {(uint8_t)(1 + i)},
                                 .udp_port = 48620,
                                 .group_port = 48620,
                                 .ip4 = 0x0a000001 + i,
                                 .host_id = 1 + i,
                                 .mtu_bytes = MTU_BYTES,
                                 .max_endpoints = 4,
                                 .max_paths = 4,
                                 .max_peers = 16,
                                 .window_frames = WINDOW_FRAMES};
    struct nof_endpoint_params params = {
        .job_id = 1, .job_key = {1}, .rank = i, .size = NICS, .dma_inline = true};
    size_t bytes;

    memcpy(cfg.mac, mac, sizeof(cfg.mac));
    bytes = (nof_nic_mem_size(&cfg) + 63) / 64 * 64;
    s->port = nof_fabric_port(run->fabric, i);
    s->mem = aligned_alloc(64, bytes);
    s->in = calloc(2, MESSAGE_BYTES);
    s->out = s->in + MESSAGE_BYTES;
    if (s->mem == NULL || s->in == NULL || sem_init(&s->bell, 0, 0) != 0)
        return false;
    memset(s->out, (int)(1 + i), MESSAGE_BYTES);
    if (run->two)
        nof_fabric_on_arrival(s->port, wake, s);
    return nof_nic_init(s->mem, bytes, &cfg, nof_fabric_ops(run->fabric), s->port, &host_ops, s,
                        clock_ns(CLOCK_MONOTONIC), &s->nic) == NOF_OK &&
           nof_nic_endpoint_open(s->nic, clock_ns(CLOCK_MONOTONIC), &params, &s->endpoint, &s->card) ==
               NOF_OK;
}

static bool open_run(struct run *run, bool two, unsigned messages)
{
    const uint8_t mac[NICS][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}};
    struct nof_fabric_config cfg = {.nports = NICS,
                                    .cores = 1,
                                    .shared = two,
                                    .mac = mac,
                                    .seed = 1,
                                    .frame_bytes = MTU_BYTES + 64,
                                    .pool_frames = FRAMES,
                                    .queue_frames = 2048};

    memset(run, 0, sizeof(*run));
    run->two = two;
    run->messages = messages;
    if (nof_fabric_create(&cfg, &run->fabric) != NOF_OK)
        return false;
    for (unsigned i = 0; i < NICS; i++)
        if (!open_side(run, i, mac[i]))
            return false;
    for (unsigned i = 0; i < NICS; i++) {
        struct nof_desc d = {.opcode = NOF_DESC_PEER, .peer = !i};

        memcpy(d.inline_data, &run->side[!i].card, sizeof(struct nof_card));
        nof_nic_host(run->side[i].nic, clock_ns(CLOCK_MONOTONIC), run->side[i].endpoint, &d, 1);
    }
    return true;
}

/* False: something went wrong on the way, or bytes did. */
static bool close_run(struct run *run)
{
    bool good = true;

    for (unsigned i = 0; i < NICS; i++) {
        struct side *s = &run->side[i];

        good = good && s->errors == 0 && s->received == run->messages &&
               memcmp(s->in, run->side[!i].out, MESSAGE_BYTES) == 0;
        if (s->nic != NULL)
            nof_nic_fini(s->nic);
    }
    for (unsigned i = 0; i < NICS; i++) {
        free(run->side[i].mem);
        free(run->side[i].in);
    }
    if (run->fabric != NULL)
        nof_fabric_destroy(run->fabric);
    return good;
}

enum kind { ONE, TWO, TOGETHER, KINDS };

/* Bytes per second of CPU; 0: it failed. */
static double measure(enum kind kind)
{
    struct run run;
    struct player player[NICS];
    bool two = kind != ONE;
    unsigned n = two ? NICS : 1;
    double cpu_s = 0;

    if (!open_run(&run, two, MESSAGES)) {
        (void)close_run(&run);
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        player[i] = (struct player){.run = &run, .first = i, .n = NICS / n, .cpu = kind == TWO ? i : 0};
        if (pthread_create(&player[i].thread, NULL, player_main, &player[i]) != 0)
            abort(); /* the other one would wait for ever */
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(player[i].thread, NULL);
        cpu_s += player[i].cpu_s;
    }
    return close_run(&run) ? (double)NICS * MESSAGES * MESSAGE_BYTES / cpu_s : 0;
}

static void play_alone(void *arg)
{
    struct run *run = arg;

    run->messages += CHILD_MESSAGES;
    run->ended = 0;
    play(run, 0, NICS);
}

/* Under callgrind: a batch is CHILD_MESSAGES each way. */
static int child(bool two)
{
    struct run run;

    if (!open_run(&run, two, 0))
        return 1;
    play_alone(&run); /* warm */
    for (unsigned batch = 0; batch < 5; batch++) {
        nof_callgrind_measured(play_alone, &run);
        nof_callgrind_mark();
    }
    return close_run(&run) ? 0 : 1;
}

/* Per KiB; negative, and why in problem. */
static double instructions(bool two, char *problem, size_t problem_bytes)
{
    static struct nof_callgrind_batch batches[NOF_CALLGRIND_BATCHES_MAX];
    const char *const args[] = {"bench", "cores", two ? "--child=two" : "--child=one", NULL};
    double all[NOF_CALLGRIND_BATCHES_MAX];
    int n = nof_callgrind_run(args, batches, problem, problem_bytes);

    for (int i = 0; i < n; i++)
        all[i] = (batches[i].core + batches[i].crc + batches[i].copy) /
                 ((double)NICS * CHILD_MESSAGES * (MESSAGE_BYTES >> 10));
    return n > 0 ? nof_callgrind_median(all, (size_t)n) : -1;
}

struct arguments {
    bool json;
    unsigned pairs;
    const char *child;
};

/* Medians; ratio: to ONE, of runs beside each other. */
static bool run_pairs(unsigned pairs, double rate[KINDS], double ratio[KINDS])
{
    static double each[KINDS][PAIRS_MAX], ratios[KINDS][PAIRS_MAX];

    for (unsigned i = 0; i < pairs; i++) {
        for (unsigned k = 0; k < KINDS; k++) {
            unsigned kind = (i + k) % KINDS; /* each kind is first as often */

            each[kind][i] = measure((enum kind)kind);
            if (each[kind][i] == 0)
                return false;
        }
        for (unsigned kind = 0; kind < KINDS; kind++)
            ratios[kind][i] = each[kind][i] / each[ONE][i];
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rate[kind] = nof_callgrind_median(each[kind], pairs);
        ratio[kind] = nof_callgrind_median(ratios[kind], pairs);
    }
    return true;
}

/* The same of a daemon and ranks: medians, and the median ratio of pairs. NULL, or why not. */
static const char *run_ranks(unsigned pairs, double rate[NICS], double *ratio_out)
{
    static double each[NICS][PAIRS_MAX], ratios[PAIRS_MAX];

    if (nof_cores_ranks == NULL)
        return "this build has no MPI library";
    for (unsigned i = 0; i < pairs; i++) {
        for (unsigned k = 0; k < NICS; k++) {
            unsigned two = (i + k) % NICS;
            const char *why = nof_cores_ranks(1 + two, &each[two][i]);

            if (why != NULL)
                return why;
        }
        ratios[i] = each[1][i] / each[0][i];
    }
    for (unsigned two = 0; two < NICS; two++)
        rate[two] = nof_callgrind_median(each[two], pairs);
    *ratio_out = nof_callgrind_median(ratios, pairs);
    return NULL;
}

/* JSON of them, or null; tells the rest. */
static json_t *report_ranks(struct nof_bench_report *r, unsigned pairs)
{
    double rate[NICS], ratio;
    const char *why;

    nof_bench_progress("%u pairs with ranks...", pairs);
    why = run_ranks(pairs, rate, &ratio);
    if (why != NULL) {
        nof_bench_skip(r, "ranks", why);
        return json_null();
    }
    if (!r->json)
        printf("with ranks, MB per CPU second of daemon and ranks: one core %.0f, two cores %.0f (%.3f)\n",
               rate[0] * 1e-6, rate[1] * 1e-6, ratio);
    return json_pack("{s:f, s:f, s:f}", "one_bytes_per_s", rate[0], "two_bytes_per_s", rate[1], "ratio",
                     ratio);
}

static int report(const struct arguments *a)
{
    char problem[200] = "";
    double rate[KINDS], ratio[KINDS], count[2];
    struct nof_bench_report r;
    json_t *ranks;
    bool good;

    nof_bench_begin(&r, "cores", a->json);
    nof_bench_progress("%u pairs...", a->pairs);
    good = run_pairs(a->pairs, rate, ratio);
    if (!good)
        nof_bench_skip(&r, "cpu", "a run has failed");
    nof_bench_progress("instructions...");
    for (unsigned two = 0; two < 2; two++)
        count[two] = problem[0] == '\0' ? instructions(two != 0, problem, sizeof(problem)) : -1;
    if (problem[0] != '\0')
        nof_bench_skip(&r, "instructions", problem);
    if (!a->json && good)
        printf("MB per CPU second: one core %.0f, two cores %.0f (%.3f), two threads on one CPU %.0f (%.3f); "
               "medians of "
               "%u\n",
               rate[ONE] * 1e-6, rate[TWO] * 1e-6, ratio[TWO], rate[TOGETHER] * 1e-6, ratio[TOGETHER],
               a->pairs);
    if (!a->json && problem[0] == '\0')
        printf("instructions per KiB: one core %.1f, two cores %.1f, ratio %.3f\n", count[0], count[1],
               count[1] / count[0]);
    ranks = report_ranks(&r, a->pairs);
    return nof_bench_end(&r, json_pack("{s:i, s:o, s:o, s:o}", "pairs", (int)a->pairs, "ranks", ranks, "cpu",
                                       good ? json_pack("{s:f, s:f, s:f, s:f, s:f}", "one_bytes_per_s",
                                                        rate[ONE], "two_bytes_per_s", rate[TWO], "ratio",
                                                        ratio[TWO], "together_bytes_per_s", rate[TOGETHER],
                                                        "together_ratio", ratio[TOGETHER])
                                            : json_null(),
                                       "instructions",
                                       problem[0] == '\0' ? json_pack("{s:f, s:f}", "one_per_kib", count[0],
                                                                      "two_per_kib", count[1])
                                                          : json_null()))
               ? 0
               : 1;
}

enum { KEY_CHILD = 256, KEY_PAIRS };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case KEY_CHILD:
        a->child = arg;
        break;
    case KEY_PAIRS:
        a->pairs = nof_number_option(arg, 1, PAIRS_MAX, "--pairs", state);
        break;
    default:
        return nof_bench_option(key, arg, state, &a->json);
    }
    return 0;
}

int nof_bench_cores(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"pairs", KEY_PAIRS, "N", 0, "runs of either kind, in turn (default 15)", 0},
        {"child", KEY_CHILD, "CASE", OPTION_HIDDEN, NULL, 0},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Two simulated NICs that send each other messages of 1 MiB, on one core and on two: bytes per "
               "second "
               "of CPU time, medians and the median ratios of runs in turn, also with both threads on one "
               "CPU; the same of a daemon and two ranks that stream; and instructions per "
               "KiB, counted by "
               "valgrind's callgrind, with CRC and copies.",
    };
    struct arguments a = {.pairs = 15};

    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.child != NULL)
        return child(strcmp(a.child, "two") == 0);
    return report(&a);
}
