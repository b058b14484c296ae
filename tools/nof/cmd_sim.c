/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof sim`: many seeds of the simulator, one of them with a trace, or the memory measurement.
 *
 * Seeds are dealt to worker processes (a core that crashes or loops takes only its worker along, and
 * the seed is known). Their results are added up in order of seeds, so the digest does not depend on
 * the number of workers. */
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rng.h"
#include "sim.h"

#define WORKERS_MAX 64
#define SEED_SECONDS 20 /* of processor time: more is an endless loop */
#define FAILURES_SHOWN 10
#define SEEDS_MAX 10000000u
#define SEED_OF_NOBODY UINT64_MAX

enum option_key {
    OPT_SEEDS = 256,
    OPT_SEED,
    OPT_FIRST,
    OPT_TRACE,
    OPT_JSON,
    OPT_WORKERS,
    OPT_FAIL_FAST,
    OPT_LIST,
    OPT_NICS,
    OPT_ENDPOINTS
};

/* Whose hosts: the model's, the MPI library's, or a seed is a run of each; or the library's, some of which die; or the
 * model's, on NICs with several cores. */
enum hosts { HOSTS_BOTH, HOSTS_MODEL, HOSTS_MPI, HOSTS_DEATHS, HOSTS_CORES };
static const char *const hosts_name[] = {"both", "model", "mpi", "deaths", "cores"};

struct arguments {
    enum hosts hosts;
    uint64_t seeds, first, seed;
    uint64_t *list; /* of the seeds to run, or NULL: first, first + 1, ... */
    bool one, many, counted, trace, json, fail_fast, scale;
    unsigned workers, nics, endpoints;
};

/* Shared with the workers: which seed each is at, and all results. */
struct board {
    uint64_t current[WORKERS_MAX];
    bool stop;
    struct nof_sim_result result[];
};

static const struct argp_option options[] = {
    {"seeds", OPT_SEEDS, "N", 0, "run N seeds (default 200)", 0},
    {"first", OPT_FIRST, "SEED", 0, "begin with this seed (default 1)", 0},
    {"seed", OPT_SEED, "SEED", 0, "run this one seed only", 0},
    {"list", OPT_LIST, "FILE", 0, "run the seeds that FILE names, one at the start of each line", 0},
    {"trace", OPT_TRACE, NULL, 0, "print every event of that seed (with --seed)", 0},
    {"workers", OPT_WORKERS, "N", 0, "processes (default: one per processor)", 0},
    {"fail-fast", OPT_FAIL_FAST, NULL, 0, "stop at the first seed that fails", 0},
    {"nics", OPT_NICS, "N", 0, "scale: NICs (default 256)", 0},
    {"endpoints", OPT_ENDPOINTS, "N", 0, "scale: endpoints per NIC (default 4)", 0},
    {"json", OPT_JSON, NULL, 0, "print one JSON object and nothing else", 0},
    {0},
};

static uint64_t number(struct argp_state *state, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || *text == '-' || value < low || value > high)
        argp_error(state, "'%s' is not a number from %llu to %llu", text, (unsigned long long)low,
                   (unsigned long long)high);
    return value;
}

/* The number that a line begins with; without one it is a comment. */
static void read_line(struct argp_state *state, struct arguments *a, const char *path, const char *line)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(line, &end, 10);
    if (*line < '0' || *line > '9')
        return;
    if (errno != 0 || seed == SEED_OF_NOBODY)
        argp_error(state, "%s: %.*s is no seed: they are below 2^64 - 1", path, (int)(end - line), line);
    if (a->seeds == SEEDS_MAX)
        argp_error(state, "%s names more than %u seeds", path, SEEDS_MAX);
    a->list = realloc(a->list, (a->seeds + 1) * sizeof(*a->list));
    if (a->list == NULL)
        argp_failure(state, 1, ENOMEM, "%s", path);
    a->list[a->seeds++] = seed;
}

/* Of a long line only its begin is looked at. */
static void read_list(struct argp_state *state, struct arguments *a, const char *path)
{
    char piece[256];
    bool begins = true;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        argp_failure(state, 2, errno, "cannot read %s", path);
    a->seeds = 0;
    while (f != NULL && fgets(piece, sizeof(piece), f) != NULL) {
        size_t len = strlen(piece);
        bool ends = len > 0 && piece[len - 1] == '\n';
        if (len == 0 || (!ends && len + 1 < sizeof(piece) && feof(f) == 0))
            argp_error(state, "%s holds a zero byte: is it a text?", path);
        if (begins)
            read_line(state, a, path, piece);
        begins = ends;
    }
    if (f != NULL && ferror(f) != 0)
        argp_failure(state, 2, errno, "cannot read %s", path);
    if (f != NULL)
        fclose(f);
    if (a->seeds == 0)
        argp_error(state, "%s names no seed", path);
}

static void read_kind(struct argp_state *state, struct arguments *a, const char *kind)
{
    if (strcmp(kind, "scale") == 0)
        a->scale = true;
    else if (strcmp(kind, "mpi") == 0)
        a->hosts = HOSTS_MPI;
    else if (strcmp(kind, "model") == 0)
        a->hosts = HOSTS_MODEL;
    else if (strcmp(kind, "deaths") == 0)
        a->hosts = HOSTS_DEATHS;
    else if (strcmp(kind, "cores") == 0)
        a->hosts = HOSTS_CORES;
    else
        argp_error(state,
                   "'%s' is not known; 'mpi', 'model', 'deaths', 'cores', 'scale' or 'alltoall' may follow",
                   kind);
    if ((a->hosts == HOSTS_MPI || a->hosts == HOSTS_DEATHS) && nof_sim_library_absent() != NULL)
        argp_error(state, "'%s' cannot be: %s", kind, nof_sim_library_absent());
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case OPT_SEEDS:
        a->seeds = number(state, arg, 1, SEEDS_MAX);
        a->many = a->counted = true;
        break;
    case OPT_FIRST:
        a->first = number(state, arg, 0, UINT64_MAX - SEEDS_MAX - 1);
        a->many = a->counted = true;
        break;
    case OPT_SEED:
        a->seed = number(state, arg, 0, UINT64_MAX - 1);
        a->one = true;
        break;
    case OPT_LIST:
        read_list(state, a, arg);
        a->many = true;
        break;
    case OPT_TRACE:
        a->trace = true;
        break;
    case OPT_WORKERS:
        a->workers = (unsigned)number(state, arg, 1, WORKERS_MAX);
        break;
    case OPT_FAIL_FAST:
        a->fail_fast = true;
        break;
    case OPT_NICS:
        a->nics = (unsigned)number(state, arg, 2, 1024);
        break;
    case OPT_ENDPOINTS:
        a->endpoints = (unsigned)number(state, arg, 1, 64);
        break;
    case OPT_JSON:
        a->json = true;
        break;
    case ARGP_KEY_ARG:
        read_kind(state, a, arg);
        break;
    case ARGP_KEY_END:
        if (a->one && a->many)
            argp_error(state, "--seed runs one seed: give it without --seeds, --first and --list");
        if (a->list != NULL && a->counted)
            argp_error(state, "--list names the seeds: give it without --seeds and --first");
        if (a->trace && !a->one)
            argp_error(state, "--trace prints one seed: name it with --seed");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int print_json(json_t *object)
{
    if (object == NULL || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) != 0)
        return 1;
    json_decref(object);
    putchar('\n');
    return 0;
}

static uint64_t seed_at(const struct arguments *a, uint64_t i)
{
    return a->list != NULL ? a->list[i] : a->first + i;
}

static void add(struct nof_sim_result *sum, const struct nof_sim_result *r)
{
    sum->messages += r->messages;
    sum->bytes += r->bytes;
    sum->lost += r->lost;
    sum->duplicated += r->duplicated;
    sum->reordered += r->reordered;
    sum->corrupted += r->corrupted;
    sum->partitions += r->partitions;
    sum->restarts += r->restarts;
    sum->core_stalls += r->core_stalls;
    sum->rings_full += r->rings_full;
    sum->pulls_refused += r->pulls_refused;
}

/* The seed with each kind of host that was asked for, until one fails. */
static void run_seed(const struct arguments *a, uint64_t seed, FILE *trace, struct nof_sim_result *out)
{
    struct nof_sim_result r;
    *out = (struct nof_sim_result){.seed = seed, .ok = true};
    for (enum hosts h = HOSTS_MODEL; h <= HOSTS_CORES && out->ok; h++) {
        if ((a->hosts == HOSTS_BOTH ? h > HOSTS_MPI : a->hosts != h) ||
            (h != HOSTS_MODEL && h != HOSTS_CORES && nof_sim_library_absent() != NULL))
            continue;
        if (h == HOSTS_MPI)
            nof_sim_run_library(seed, trace, &r);
        else if (h == HOSTS_DEATHS)
            nof_sim_run_deaths(seed, trace, &r);
        else if (h == HOSTS_CORES)
            nof_sim_run_cores(seed, trace, &r);
        else
            nof_sim_run(seed, trace, &r);
        add(out, &r);
        out->digest = nof_rng_mix(out->digest + r.digest);
        out->ok = r.ok;
        if (!r.ok)
            (void)snprintf(out->violation, sizeof(out->violation), "%s hosts: %.1000s", hosts_name[h],
                           r.violation);
    }
}

static void worker(struct board *b, const struct arguments *a, unsigned me)
{
    struct itimerval limit = {.it_value = {.tv_sec = SEED_SECONDS}};
    for (uint64_t i = me; i < a->seeds && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED); i += a->workers) {
        __atomic_store_n(&b->current[me], i, __ATOMIC_RELAXED);
        setitimer(ITIMER_PROF, &limit, NULL); /* SIGPROF ends the process */
        run_seed(a, seed_at(a, i), NULL, &b->result[i]);
        if (!b->result[i].ok && a->fail_fast)
            __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&b->current[me], SEED_OF_NOBODY, __ATOMIC_RELAXED);
}

static pid_t start_worker(struct board *b, const struct arguments *a, unsigned me)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        worker(b, a, me);
        _exit(0);
    }
    return pid;
}

/* A worker that did not come to its end: the seed it was at has failed. */
static void note_crash(struct board *b, const struct arguments *a, unsigned me, int status)
{
    uint64_t at = b->current[me];
    if (at == SEED_OF_NOBODY)
        return;
    struct nof_sim_result *r = &b->result[at];
    memset(r, 0, sizeof(*r));
    r->seed = seed_at(a, at);
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    snprintf(r->violation, sizeof(r->violation), "the simulator %s",
             signal_number == SIGPROF ? "ran too long: endless loop"
             : signal_number != 0     ? strsignal(signal_number)
                                      : "ended early");
}

static int run_workers(struct board *b, const struct arguments *a)
{
    pid_t pid[WORKERS_MAX];
    unsigned started = 0;
    for (; started < a->workers; started++) {
        b->current[started] = started;
        pid[started] = start_worker(b, a, started);
        if (pid[started] < 0) {
            fprintf(stderr, "nof sim: cannot start a worker: %s\n", strerror(errno));
            __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
            break;
        }
    }
    for (unsigned i = 0; i < started; i++) {
        int status = 0;
        while (waitpid(pid[i], &status, 0) < 0 && errno == EINTR) {
        }
        if (b->current[i] == SEED_OF_NOBODY)
            continue;
        note_crash(b, a, i, status);
        __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED); /* what it had left to do is not done */
    }
    return started == a->workers ? 0 : 1;
}

static struct nof_sim_result add_up(const struct board *b, const struct arguments *a, uint64_t *failed_out)
{
    struct nof_sim_result sum = {0};
    *failed_out = 0;
    for (uint64_t i = 0; i < a->seeds; i++) {
        const struct nof_sim_result *r = &b->result[i];
        if (!r->ok && r->violation[0] != '\0') {
            if ((*failed_out)++ < FAILURES_SHOWN)
                fprintf(stderr, "seed %llu: %s\n", (unsigned long long)r->seed, r->violation);
        }
        add(&sum, r);
        sum.digest = nof_rng_mix(sum.digest + r->digest);
    }
    return sum;
}

static int report(const struct arguments *a, const struct nof_sim_result *s, uint64_t failed, double wall_s)
{
    char digest[17];
    snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)s->digest);
    if (a->json)
        return print_json(
            json_pack("{s:I,s:s,s:I,s:I,s:I,s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I},s:I,s:s,s:f}", "seeds",
                      (json_int_t)a->seeds, "hosts", hosts_name[a->hosts], "violations", (json_int_t)failed,
                      "messages", (json_int_t)s->messages, "bytes", (json_int_t)s->bytes, "faults", "lost",
                      (json_int_t)s->lost, "duplicated", (json_int_t)s->duplicated, "reordered",
                      (json_int_t)s->reordered, "corrupted", (json_int_t)s->corrupted, "partitions",
                      (json_int_t)s->partitions, "restarts", (json_int_t)s->restarts, "core_stalls",
                      (json_int_t)s->core_stalls, "rings_full", (json_int_t)s->rings_full, "pulls_refused",
                      (json_int_t)s->pulls_refused, "digest", digest, "wall_s", wall_s));
    printf("%llu seeds, %llu violations: %llu messages, %llu bytes, digest %s, %.1f s\n",
           (unsigned long long)a->seeds, (unsigned long long)failed, (unsigned long long)s->messages,
           (unsigned long long)s->bytes, digest, wall_s);
    printf(
        "faults: %llu lost, %llu duplicated, %llu reordered, %llu corrupted, %llu partitions, %llu restarts, "
        "%llu core stalls, %llu found a ring full; %llu PULLs refused for want of room\n",
        (unsigned long long)s->lost, (unsigned long long)s->duplicated, (unsigned long long)s->reordered,
        (unsigned long long)s->corrupted, (unsigned long long)s->partitions, (unsigned long long)s->restarts,
        (unsigned long long)s->core_stalls, (unsigned long long)s->rings_full,
        (unsigned long long)s->pulls_refused);
    return 0;
}

static int run_many(struct arguments *a)
{
    if (a->workers > a->seeds)
        a->workers = (unsigned)a->seeds;
    if (!a->json)
        printf("%llu seeds, %llu to %llu, %u workers\n", (unsigned long long)a->seeds,
               (unsigned long long)seed_at(a, 0), (unsigned long long)seed_at(a, a->seeds - 1), a->workers);
    size_t bytes = sizeof(struct board) + a->seeds * sizeof(struct nof_sim_result);
    struct board *b = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        fprintf(stderr, "nof sim: no memory for the results of %llu seeds; run fewer\n",
                (unsigned long long)a->seeds);
        return 1;
    }
    double begin_s = seconds_now();
    int status = run_workers(b, a);
    uint64_t failed;
    struct nof_sim_result sum = add_up(b, a, &failed);
    if (status == 0)
        status = report(a, &sum, failed, seconds_now() - begin_s);
    if (failed > 0)
        fprintf(stderr, "replay one with: nof sim %s--seed SEED --trace\n",
                a->hosts == HOSTS_MPI      ? "mpi "
                : a->hosts == HOSTS_MODEL  ? "model "
                : a->hosts == HOSTS_DEATHS ? "deaths "
                : a->hosts == HOSTS_CORES  ? "cores "
                                           : "[mpi|model] ");
    munmap(b, bytes);
    return status != 0 || failed > 0 ? 1 : 0;
}

static int run_one(struct arguments *a)
{
    struct nof_sim_result r;
    uint64_t failed;
    double begin_s = seconds_now();
    if (!a->json)
        printf("seed %llu\n", (unsigned long long)a->seed);
    fflush(stdout);
    run_seed(a, a->seed, a->trace ? stdout : NULL, &r);
    a->seeds = 1;
    failed = r.ok ? 0 : 1;
    if (!r.ok)
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)a->seed, r.violation);
    r.digest = nof_rng_mix(r.digest);
    int status = report(a, &r, failed, seconds_now() - begin_s);
    return status != 0 || failed > 0 ? 1 : 0;
}

static int run_scale(const struct arguments *a)
{
    struct nof_sim_scale s;
    double begin_s = seconds_now();
    int status = nof_sim_run_scale(a->nics, a->endpoints, &s);
    if (status != 0 || s.problem[0] != '\0') {
        fprintf(stderr, "nof sim scale: %s\n",
                status != 0 ? "the cluster does not start (memory?)" : s.problem);
        return 1;
    }
    double wall_s = seconds_now() - begin_s;
    if (a->json)
        return print_json(json_pack(
            "{s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "nics", (int)s.nics, "endpoints", (int)s.endpoints,
            "messages", (json_int_t)s.messages, "paths_open", (json_int_t)s.paths, "nic_bytes",
            (json_int_t)s.mem_bytes, "silent_peer_bytes", (json_int_t)s.peer_bytes, "endpoint_bytes",
            (json_int_t)s.endpoint_bytes, "mem_size_per_peer_bytes", s.mem_size_per_peer_bytes,
            "mem_size_per_endpoint_bytes", s.mem_size_per_endpoint_bytes, "wall_s", wall_s));
    printf("%u NICs, %u endpoints each: %llu messages verified, %llu path ends open, %.1f s\n", s.nics,
           s.endpoints, (unsigned long long)s.messages, (unsigned long long)s.paths, wall_s);
    printf("one NIC core %llu bytes; silent peer %llu bytes; endpoint %llu bytes\n",
           (unsigned long long)s.mem_bytes, (unsigned long long)s.peer_bytes,
           (unsigned long long)s.endpoint_bytes);
    return 0;
}

int nof_cmd_sim(int argc, char **argv)
{
    static char alltoall[] = "nof sim alltoall"; /* as whom it speaks */
    if (argc > 1 && strcmp(argv[1], "alltoall") == 0 && nof_cmd_sim_alltoall != NULL) {
        argv[1] = alltoall;
        return nof_cmd_sim_alltoall(argc - 1, argv + 1);
    }
    nof_sim_library_prepare();
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct arguments a = {.seeds = 200, .first = 1, .nics = 256, .endpoints = 4};
    a.workers = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors;
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[mpi|model|deaths|cores|scale|alltoall]",
        .doc =
            "Runs the firmware core on simulated NICs under a virtual clock, with faults, and checks that "
            "MPI's rules hold. The same seed gives the same run: two of them, one whose hosts are a model "
            "that "
            "does whatever a host may, also die, and one whose hosts run the MPI library itself, with MPI "
            "programs that are drawn.\v'mpi' and 'model' run one of the two alone. 'deaths' has collectives "
            "of such hosts, some of which are killed: the others have their error within a second, or "
            "what is right. 'cores' has model hosts on NICs of up to four cores each. 'scale' connects all "
            "endpoints of a large cluster and prints what a silent peer and an endpoint cost in memory. "
            "'alltoall' has options of its own: nof sim alltoall --help.",
    };
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (a.scale)
        return run_scale(&a);
    int status = a.one ? run_one(&a) : run_many(&a);
    free(a.list);
    return status;
}
