/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench neighbour`: what an innocent pair of ranks has left of the NIC beside others that do what they like with
 * it. A shared daemon on one CPU, all ranks on another. Windows take turns: one beside ranks that send plain messages
 * (alone), one beside each attack, and so on, five times; figures are medians. */
#include "../tools/nof/commands.h"
#include "../tools/nof/find_daemon.h"
#include "lib/child.h"
#include "neighbour.h"
#include "lib/option.h"
#include "lib/report.h"
#include "lib/spawn.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define WINDOWS 5
#define ATTACKS_MAX 32
#define MANY 8u
#define WINDOW_MS 200u
#define WARM_MS 20u
#define BEGIN_MS 20000u
#define PAUSE_ALLOWED_US 200.0

enum { OPT_WINDOW = 256, OPT_ONLY };

struct figures { /* of one attack and number of attackers */
    double per_s[WINDOWS];
    double pause_us[WINDOWS];
};

struct bench {
    bool json;
    unsigned window_ms;
    const char *only;
    int nofd_cpu, rank_cpu;
    pid_t nofd;
    struct neighbour_board *board;
    struct figures figures[ATTACKS_MAX][2]; /* by attack; 1 and MANY attackers; the first is `plain` */
    struct figures plain_of[ATTACKS_MAX][2]; /* what it is compared with: another daemon has one of its own */
    json_t *attacks;
    struct nof_bench_report report;
};

static void bind_to(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* The first two CPUs that we may use; false: there is only one. */
static bool choose_cpus(struct bench *b)
{
    cpu_set_t set;
    int found = 0;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (!CPU_ISSET((unsigned)cpu, &set))
            continue;
        *(found == 0 ? &b->nofd_cpu : &b->rank_cpu) = cpu;
        found++;
    }
    return found == 2;
}

static bool start_daemon(struct bench *b, const char *feature)
{
    const struct nof_daemon_start how = {.background = false};
    struct nof_daemon_args args = {.n = 0};

    snprintf(b->board->socket, sizeof(b->board->socket), "@nof-bench-neighbour-%d", (int)getpid());
    snprintf(b->board->control, sizeof(b->board->control), "%s.ctl", b->board->socket);
    nof_daemon_arg(&args, "nofd");
    nof_daemon_option(&args, "--fabric", "2");
    nof_daemon_option(&args, "--socket", b->board->socket);
    nof_daemon_option(&args, "--control", b->board->control);
    nof_daemon_option(&args, "--log", "error");
    nof_daemon_arg(&args, "--watch-pauses");
    if (feature != NULL)
        nof_daemon_option(&args, "--set", feature);
    bind_to(b->nofd_cpu);
    b->nofd = nof_daemon_start(&args, &how, "nof bench neighbour");
    bind_to(b->rank_cpu);
    return b->nofd > 0;
}

static void end_daemon(struct bench *b)
{
    kill(b->nofd, SIGTERM);
    waitpid(b->nofd, NULL, 0);
}

static pid_t start(const struct bench *b, const struct neighbour_attack *attack, unsigned number)
{
    pid_t parent = getpid();
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (attack == NULL)
        neighbour_innocent(b->board, number);
    neighbour_beside(b->board, attack, number);
}

static void renew_board(const struct bench *b)
{
    struct neighbour_board *board = b->board;

    board->cpu = (uint32_t)b->rank_cpu;
    board->have_card[0] = 0;
    board->have_card[1] = 0;
    board->ready = 0;
    board->stop = 0;
    board->rounds = 0;
    board->pause_ns[0] = 0;
    board->pause_ns[1] = 0;
    (void)!getrandom(&board->job_id, sizeof(board->job_id), 0);
    (void)!getrandom(board->job_key, sizeof(board->job_key), 0);
}

/* Until *word is at least `least`; false: it is not in BEGIN_MS. */
static bool wait_for_word(const uint32_t *word, uint32_t least)
{
    for (unsigned ms = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < least; ms++) {
        if (ms > BEGIN_MS)
            return false;
        nof_bench_sleep_ms(1);
    }
    return true;
}

static uint64_t rounds(const struct bench *b)
{
    return __atomic_load_n(&b->board->rounds, __ATOMIC_ACQUIRE);
}

/* Messages per second of the pair in one window, and its longest pause. */
static bool window(const struct bench *b, const struct neighbour_attack *attack, unsigned attackers,
                   double *per_s, double *pause_us)
{
    pid_t pid[MANY + 2];
    unsigned n = 0;
    bool good;
    uint64_t from = 0;
    uint64_t from_ns = 0;

    renew_board(b);
    while (n < attackers)
        pid[n] = start(b, attack, n), n++;
    good = wait_for_word(&b->board->ready, attackers);
    for (uint32_t i = 0; i < 2; i++)
        pid[n++] = start(b, NULL, i);
    good = good && wait_for_word(&b->board->have_card[0], 1) && wait_for_word(&b->board->have_card[1], 1);
    if (good) {
        nof_bench_sleep_ms(WARM_MS);
        from = rounds(b);
        from_ns = nof_bench_now_ns();
        nof_bench_sleep_ms(b->window_ms);
    }
    *per_s = 2e9 * (double)(rounds(b) - from) / (double)(nof_bench_now_ns() - from_ns);
    __atomic_store_n(&b->board->stop, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < n; i++) {
        int status = 1;

        good = pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i] && status == 0 && good;
    }
    *pause_us = 1e-3 * (double)(b->board->pause_ns[0] > b->board->pause_ns[1] ? b->board->pause_ns[0]
                                                                              : b->board->pause_ns[1]);
    return good;
}

static bool chosen(const struct bench *b, const struct neighbour_attack *attack)
{
    return b->only == NULL || strcmp(b->only, attack->name) == 0;
}

static bool same_daemon(const char *feature, const struct neighbour_attack *attack)
{
    return feature == attack->feature ||
           (feature != NULL && attack->feature != NULL && strcmp(feature, attack->feature) == 0);
}

static void tell(const char *name, unsigned attackers, unsigned round)
{
    nof_bench_progress("round %u of %d: %u %s", round + 1, WINDOWS, attackers, name);
}

/* Every attack of one daemon, in turn with plain messages. */
static bool measure_daemon(struct bench *b, const char *feature)
{
    bool good = start_daemon(b, feature);

    for (unsigned round = 0; round < WINDOWS && good; round++)
        for (unsigned many = 0; many < 2 && good; many++) {
            unsigned attackers = many ? MANY : 1;
            double per_s;
            double pause_us;

            tell("plain", attackers, round);
            good = window(b, &neighbour_attacks[0], attackers, &per_s, &pause_us);
            for (unsigned i = 0; neighbour_attacks[i].name != NULL && good; i++) {
                struct figures *f = &b->figures[i][many];

                if (i != 0 &&
                    !(same_daemon(feature, &neighbour_attacks[i]) && chosen(b, &neighbour_attacks[i])))
                    continue;
                b->plain_of[i][many].per_s[round] = per_s;
                b->plain_of[i][many].pause_us[round] = pause_us;
                if (i == 0)
                    continue;
                tell(neighbour_attacks[i].name, attackers, round);
                good = window(b, &neighbour_attacks[i], attackers, &f->per_s[round], &f->pause_us[round]);
                if (!good)
                    nof_bench_skip(&b->report, neighbour_attacks[i].name, "a rank failed, see stderr");
            }
        }
    if (b->nofd > 0)
        end_daemon(b);
    return good;
}

/* "NAME.ATTACKERS.alone_per_s" */
static void alone_name(char name[64], const char *attack, unsigned attackers)
{
    snprintf(name, 64, "%s.%u.alone_per_s", attack, attackers);
}

static void add_row(struct bench *b, unsigned attack, unsigned many)
{
    struct figures *f = &b->figures[attack][many];
    struct figures *plain = &b->plain_of[attack][many];
    double alone = nof_bench_median(plain->per_s, WINDOWS);
    double beside = nof_bench_median(f->per_s, WINDOWS);
    double fraction = alone > 0 ? beside / alone : NAN;
    json_t *row = json_object();
    char name[64];

    alone_name(name, neighbour_attacks[attack].name, many ? MANY : 1);
    nof_bench_compared(&b->report, name, plain->per_s, WINDOWS, fraction);
    json_object_set_new(row, "name", json_string(neighbour_attacks[attack].name));
    json_object_set_new(row, "attackers", json_integer(many ? MANY : 1));
    json_object_set_new(row, "alone_per_s", json_real(alone));
    json_object_set_new(row, "beside_per_s", json_real(beside));
    json_object_set_new(row, "fraction", nof_bench_number(fraction));
    json_object_set_new(row, "longest_pause_us", json_real(nof_bench_median(f->pause_us, WINDOWS)));
    json_object_set_new(row, "alone_longest_pause_us", json_real(nof_bench_median(plain->pause_us, WINDOWS)));
    json_array_append_new(b->attacks, row);
}

static void measure(struct bench *b)
{
    static const char *const features[] = {NULL, "prediction=auto"};

    for (unsigned k = 0; k < 2; k++) {
        bool any = false;

        for (unsigned i = 1; neighbour_attacks[i].name != NULL; i++)
            any |= same_daemon(features[k], &neighbour_attacks[i]) && chosen(b, &neighbour_attacks[i]);
        if (!any)
            continue;
        if (!measure_daemon(b, features[k])) {
            if (json_object_size(b->report.skipped) == 0)
                nof_bench_skip(&b->report, "attacks", "the daemon or a rank failed, see stderr");
            return;
        }
        for (unsigned i = 1; neighbour_attacks[i].name != NULL; i++)
            for (unsigned many = 0; many < 2; many++)
                if (same_daemon(features[k], &neighbour_attacks[i]) && chosen(b, &neighbour_attacks[i]))
                    add_row(b, i, many);
    }
}

static void print_rows(const struct bench *b)
{
    json_t *row;
    size_t i;

    json_array_foreach(b->attacks, i, row)
    {
        unsigned attackers = (unsigned)json_integer_value(json_object_get(row, "attackers"));
        char name[64];

        alone_name(name, json_string_value(json_object_get(row, "name")), attackers);
        if (i == 0)
            printf("%-18s %9s %12s %12s %9s %12s %12s\n", "attack", "attackers", "alone", "beside",
                   "fraction", "pause us", "plain us");
        printf("%-18s %9u %12s %12.0f %9s %12.1f %12.1f\n", json_string_value(json_object_get(row, "name")),
               attackers, nof_bench_cell(&b->report, name, nof_bench_real(row, "alone_per_s"), 0).text,
               nof_bench_real(row, "beside_per_s"),
               nof_bench_cell(&b->report, NULL, nof_bench_real(row, "fraction"), 2).text,
               nof_bench_real(row, "longest_pause_us"), nof_bench_real(row, "alone_longest_pause_us"));
    }
    if (json_array_size(b->attacks) > 0)
        printf(
            "messages per second of the pair; wanted: fraction 0.5, pause twice the plain one or %.0f us\n",
            PAUSE_ALLOWED_US);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;
    unsigned i = 1;

    switch (key) {
    case OPT_WINDOW:
        b->window_ms = nof_number_option(arg, 10, 10000, "--window", state);
        return 0;
    case OPT_ONLY:
        while (neighbour_attacks[i].name != NULL && strcmp(neighbour_attacks[i].name, arg) != 0)
            i++;
        if (neighbour_attacks[i].name == NULL)
            argp_error(state, "there is no attack %s; without --only the table names them all", arg);
        b->only = arg;
        return 0;
    default:
        return nof_bench_option(key, arg, state, &b->json);
    }
}

int nof_bench_neighbour(int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"window", OPT_WINDOW, "MS", 0, "length of a window (200); there are ten for each attack", 0},
        {"only", OPT_ONLY, "ATTACK", 0, "this attack alone", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {
        options,
        parse,
        NULL,
        "Messages per second of an innocent pair of ranks beside 1 and 8 others that attack the NIC, "
        "and its longest pause: a turn of the NIC core behind which it had to wait. Alone: beside as "
        "many that send plain messages.",
        NULL,
        NULL,
        NULL};
    struct bench b = {.window_ms = WINDOW_MS};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &b);
    b.attacks = json_array();
    nof_bench_begin(&b.report, argv[0], b.json);
    b.board = mmap(NULL, sizeof(*b.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b.board == MAP_FAILED)
        nof_bench_skip(&b.report, "attacks", "no memory");
    else if (!choose_cpus(&b))
        nof_bench_skip(&b.report, "attacks", "it needs two CPUs, and may use one");
    else
        measure(&b);
    if (!b.json)
        print_rows(&b);
    return nof_bench_end(&b.report, json_pack("{s:o}", "attacks", b.attacks)) ? 0 : 1;
}
