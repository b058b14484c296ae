/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof run`: options, addresses and the daemon of a job. */
#include "commands.h"
#include "run_job.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_client.h"
#include "nof_private/units.h"
#include "network.h"
#include "record.h"

#define NOFD_ENDPOINTS_MAX 1024u /* what nofd --max-endpoints takes */
#define STOP_STEPS 60
#define STOP_STEP_US 50000

enum {
    OPT_HOSTS = 256,
    OPT_CORES_PER_NIC,
    OPT_LINK,
    OPT_DELAY,
    OPT_BUFFER,
    OPT_LOSS,
    OPT_MTU,
    OPT_FEATURE,
    OPT_ON_FAILURE,
    OPT_NOFD,
    OPT_CONTROL,
    OPT_LABEL,
    OPT_LOG,
    OPT_DUPLICATE,
    OPT_REORDER,
    OPT_CORRUPT,
    OPT_MULTICAST,
    OPT_STATS,
    OPT_TIMEOUT
};

struct options {
    struct nof_job *job;
    struct nof_daemon_args daemon; /* for a daemon of our own */
    const char *feature[64];
    unsigned features;
    int control_fd; /* of a daemon of our own, which ends when nobody wants anything of it; -1 */
    bool shared; /* a daemon that runs already serves the job */
    const char *stats_path; /* where the daemon's counters go at the end */
    FILE *stats; /* the same, open; NULL: not wanted */
    const char *simulated; /* an option that only a simulated network has */
    const char *simulated_value;
    struct nof_network network;
};

static const struct argp_option options[] = {
    {"hosts", OPT_HOSTS, "H", 0,
     "simulated hosts, one NIC each (2, or 1 for a single rank; all NICs of a daemon that runs)", 1},
    {NULL, 'n', "N", 0, "ranks, dealt over the hosts in blocks (one per host)", 1},
    {"np", 'n', "N", OPTION_ALIAS, NULL, 1},
    {"cores-per-nic", OPT_CORES_PER_NIC, "N", 0, "NIC cores of each host, over which its ranks are dealt (1)",
     2},
    {"link", OPT_LINK, "RATE", 0, "link rate, such as 10G (no limit)", 2},
    {"mtu", OPT_MTU, "BYTES", 0, "MTU of the links (9000)", 2},
    {"delay", OPT_DELAY, "TIME", 0, "delay of a link, such as 50us (0)", 2},
    {"buffer", OPT_BUFFER, "BYTES", 0, "buffer of a switch port, such as 64KiB", 2},
    {"loss", OPT_LOSS, "P", 0, "share of the frames that are lost, such as 0.02", 2},
    {"duplicate", OPT_DUPLICATE, "P", 0, "share that comes twice", 2},
    {"reorder", OPT_REORDER, "P", 0, "share that is overtaken", 2},
    {"corrupt", OPT_CORRUPT, "P", 0, "share that arrives with a wrong bit", 2},
    {"multicast", OPT_MULTICAST, "flood|snoop|drop", 0,
     "the switch passes it to all hosts, to those that have joined, to none (flood)", 2},
    {"feature", OPT_FEATURE, "NAME=VALUE", 0,
     "see `nof features`; may be repeated; in a daemon that runs it is set for all jobs, and stays", 3},
    {"nofd", OPT_NOFD, "SOCKET", 0,
     "use the daemon that listens there, such as one of `nof up` ($NOF_SOCKET, else a private one that ends "
     "with "
     "the job)",
     3},
    {"control", OPT_CONTROL, "ADDRESS", 0,
     "its control socket ($NOF_CONTROL unless --nofd is given, else SOCKET.ctl)", 3},
    {"log", OPT_LOG, "LEVEL", 0, "what the private daemon says: error, warning, notice, info, debug", 3},
    {"on-failure", OPT_ON_FAILURE, "kill|continue", 0, "when a rank dies (kill: the job ends)", 4},
    {"label", OPT_LABEL, NULL, 0, "put the rank before each line of output", 4},
    {"timeout", OPT_TIMEOUT, "TIME", 0,
     "say who waits for whom, and stop the job, after this long, such as 60s", 4},
    {"stats", OPT_STATS, "FILE", 0,
     "write the NICs' counters and the libraries' there as JSON when the job has ended", 4},
    {NULL, 0, NULL, 0, NULL, 0},
};

static unsigned number(struct argp_state *state, const char *what, const char *text, unsigned max)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || n < 1 || n > max || text[0] == '-')
        argp_error(state, "'%s' is no number of %s: 1 to %u", text, what, max);
    return (unsigned)n;
}

static void simulated(struct options *o, const char *option, const char *value)
{
    if (!nof_network_option(&o->network, option, value, o->job->self))
        exit(2);
    o->simulated = option;
    o->simulated_value = value;
    nof_daemon_option(&o->daemon, option, value);
}

static error_t parse_network(int key, char *arg, struct options *o)
{
    static const struct {
        int key;
        const char *option;
    } table[] = {{OPT_LINK, "--link"},           {OPT_MTU, "--mtu"},
                 {OPT_DELAY, "--delay"},         {OPT_BUFFER, "--buffer"},
                 {OPT_LOSS, "--loss"},           {OPT_DUPLICATE, "--duplicate"},
                 {OPT_REORDER, "--reorder"},     {OPT_CORRUPT, "--corrupt"},
                 {OPT_MULTICAST, "--multicast"}, {OPT_CORES_PER_NIC, "--cores-per-nic"}};

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].key == key) {
            simulated(o, table[i].option, arg);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    struct nof_job *job = o->job;

    switch (key) {
    case OPT_HOSTS:
        job->hosts = number(state, "hosts", arg, 256);
        return 0;
    case 'n':
        if (arg[0] == 'p') /* other launchers' -np N */
            argp_error(state, "there is no option -np here: write -n N or --np N, as in -n 4");
        job->ranks = number(state, "ranks", arg, NOF_JOB_RANKS_MAX);
        return 0;
    case OPT_FEATURE:
        if (o->features == sizeof(o->feature) / sizeof(o->feature[0]))
            argp_error(state, "too many features");
        if (nof_feature_check(arg, job->self) != 0)
            exit(2);
        o->feature[o->features++] = arg;
        return 0;
    case OPT_NOFD:
    case OPT_CONTROL:
        if (!nof_daemon_address(key == OPT_NOFD ? job->at.socket : job->at.control, arg, job->self))
            exit(2);
        return 0;
    case OPT_ON_FAILURE:
        job->keep_going = strcmp(arg, "continue") == 0;
        if (!job->keep_going && strcmp(arg, "kill") != 0)
            argp_error(state, "--on-failure=%s: it is kill or continue", arg);
        return 0;
    case OPT_LOG:
        nof_daemon_option(&o->daemon, "--log", arg);
        return 0;
    case OPT_LABEL:
        job->label = true;
        return 0;
    case OPT_TIMEOUT:
        if (nofd_units_time(arg, 1000000000u, &job->timeout_ns) != 0 || job->timeout_ns == 0)
            argp_error(state, "--timeout=%s: it is a time, such as 60s or 5000ms", arg);
        return 0;
    case OPT_STATS:
        o->stats_path = arg;
        return 0;
    case ARGP_KEY_ARGS:
        job->argv = state->argv + state->next;
        /* Behind "--" it is the program's own. */
        for (char **at = job->argv; *at != NULL && state->quoted == 0; at++)
            if (strcmp(*at, ":") == 0)
                argp_error(
                    state,
                    "':' begins a second program elsewhere; here all ranks run one: a script that "
                    "chooses by $PMI_RANK starts several, such as -n 4 sh -c 'if [ $PMI_RANK = 0 ]; then "
                    "exec ./a; else exec ./b; fi'");
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which program? %s [OPTION...] PROGRAM [ARG...]", state->name);
        return 0;
    default:
        return parse_network(key, arg, o);
    }
}

/* How many NICs the daemon has that serves this job; 0 after saying why that is not known. */
static unsigned count_nics(const struct nof_job *job)
{
    json_t *status = nof_control_call(job->at.control, "status", NULL, job->self);
    size_t nics = json_array_size(json_object_get(status, "nics"));

    json_decref(status);
    /* Where nobody answers at all, that has been said, and a number would help nobody. */
    if (nics == 0 && nof_control_nic_listens(job->at.socket))
        fprintf(stderr, "%s: so the number of its NICs is not known: give --hosts, or --control\n",
                job->self);
    return (unsigned)nics;
}

/* What was not said follows from what was. False, with a sentence, when a daemon cannot be asked. */
static bool deal(struct nof_job *job)
{
    if (job->hosts == 0 && job->at.socket[0] != '\0') {
        /* All its NICs, so that what we call host 0 is its NIC 0; no more than there are ranks for. */
        job->hosts = count_nics(job);
        if (job->hosts == 0)
            return false;
        if (job->ranks != 0 && job->hosts > job->ranks)
            job->hosts = job->ranks;
    }
    if (job->hosts == 0)
        job->hosts = job->ranks == 1 ? 1 : 2;
    if (job->ranks == 0)
        job->ranks = job->hosts;
    if (job->hosts > job->ranks)
        fprintf(stderr, "%s: %u hosts for %u ranks: the hosts behind the last rank stay idle\n", job->self,
                job->hosts, job->ranks);
    return true;
}

static bool draw(void *bytes, size_t n)
{
    return getrandom(bytes, n, 0) == (ssize_t)n;
}

static bool draw_names(struct nof_job *job)
{
    unsigned char key[16];
    uint64_t id;

    if (!draw(&id, sizeof(id)) || !draw(key, sizeof(key))) {
        fprintf(stderr, "%s: the kernel gives no random numbers: %s\n", job->self, strerror(errno));
        return false;
    }
    snprintf(job->id, sizeof(job->id), "%llu", (unsigned long long)(id >> 1 | 1));
    for (size_t i = 0; i < sizeof(key); i++)
        snprintf(job->key + 2 * i, 3, "%02x", key[i]);
    return true;
}

/* nofd's own limits are enough for this many ranks on a host, and pairs of a rank there and any rank. */
#define RANKS_USUAL 64u
#define PEERS_USUAL 4096u

/* The NICs of the simulated hosts, as large as this job needs them. False, with a sentence, if they cannot be. */
static bool size_nics(const struct nof_job *job, struct nof_daemon_args *args)
{
    static char endpoints[16];
    static char peers[24];
    unsigned per_host = (job->ranks + job->hosts - 1) / job->hosts;
    unsigned long long pairs = (unsigned long long)per_host * job->ranks;

    if (per_host > NOFD_ENDPOINTS_MAX) {
        fprintf(stderr, "%s: %u ranks on %u hosts: one simulated host serves %u at most; give --hosts %u\n",
                job->self, job->ranks, job->hosts, NOFD_ENDPOINTS_MAX,
                (job->ranks + NOFD_ENDPOINTS_MAX - 1) / NOFD_ENDPOINTS_MAX);
        return false;
    }
    snprintf(endpoints, sizeof(endpoints), "%u", per_host > RANKS_USUAL ? per_host : RANKS_USUAL);
    snprintf(peers, sizeof(peers), "%llu", pairs > PEERS_USUAL ? pairs : PEERS_USUAL);
    nof_daemon_option(args, "--max-endpoints", endpoints);
    nof_daemon_option(args, "--max-peers", peers);
    return true;
}

static bool start_daemon(struct nof_job *job, struct options *o)
{
    const struct nof_daemon_start how = {.background = false};
    struct nof_daemon_args args = {.n = 0};
    char hosts[16];

    (void)deal(job); /* no daemon is asked */
    snprintf(job->at.socket, sizeof(job->at.socket), "@nof-%s", job->id);
    snprintf(job->at.control, sizeof(job->at.control), "@nof-%s.ctl", job->id);
    snprintf(hosts, sizeof(hosts), "%u", job->hosts);
    nof_daemon_arg(&args, "nofd");
    nof_daemon_arg(&args, "--private");
    nof_daemon_option(&args, "--fabric", hosts);
    nof_daemon_option(&args, "--socket", job->at.socket);
    nof_daemon_option(&args, "--control", job->at.control);
    if (!size_nics(job, &args))
        return false;
    for (unsigned i = 0; i < o->daemon.n; i++)
        nof_daemon_arg(&args, o->daemon.arg[i]);
    for (unsigned i = 0; i < o->features; i++)
        nof_daemon_option(&args, "--set", o->feature[i]);
    job->daemon = nof_daemon_start(&args, &how, job->self);
    if (job->daemon < 0)
        return false;
    nof_guard_add(&job->guard, job->daemon, NOF_GUARD_GENTLY);
    return true;
}

/* A daemon that runs already: features are set there, for all its jobs. */
static bool use_daemon(struct nof_job *job, const struct options *o)
{
    if (o->simulated != NULL) {
        fprintf(stderr,
                "%s: %s is for the simulated network, but %s names a daemon with a network of its own; "
                "start that with `nof up --fabric HOSTS %s %s`\n",
                job->self, o->simulated, job->at.socket, o->simulated, o->simulated_value);
        return false;
    }
    if (!deal(job))
        return false;
    for (unsigned i = 0; i < o->features; i++) {
        json_t *now = nof_feature_set(job->at.control, o->feature[i], job->self);

        if (now == NULL)
            return false;
        json_decref(now);
    }
    return true;
}

/* Waits for the end of a daemon of ours, at first often: it mostly ends in milliseconds. */
static void stop_daemon(struct nof_job *job, struct rusage *usage_out)
{
    if (job->daemon <= 0)
        return;
    kill(job->daemon, SIGTERM);
    for (int i = 0; i < STOP_STEPS; i++) {
        siginfo_t info = {0};

        if (waitid(P_PID, (id_t)job->daemon, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
            break;
        usleep(i < 10 ? 1000 : STOP_STEP_US);
    }
    kill(-job->daemon, SIGKILL);
    nof_guard_remove(&job->guard, job->daemon);
    while (wait4(job->daemon, NULL, 0, usage_out) < 0 && errno == EINTR)
        ;
}

static json_int_t microseconds(struct timeval tv)
{
    return (json_int_t)tv.tv_sec * 1000000 + tv.tv_usec;
}

/* What the libraries of the ranks counted. */
static json_t *library_of(const struct nof_job *job)
{
    static const char *const names[NOF_LIBRARY_COUNT_MAX] = {
#define NOF_LIBRARY_COUNT(name, help) name,
        NOF_LIBRARY_COUNTS
#undef NOF_LIBRARY_COUNT
    };
    json_t *counters = json_object();

    for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++)
        json_object_set_new(counters, names[i], json_integer((json_int_t)job->counted[i]));
    return json_pack("{s:i, s:o}", "ranks", (int)job->counted_ranks, "counters", counters);
}

/* Ends the daemon; before that asks it what it counted, and writes both. */
static void finish(struct nof_job *job, const struct options *o)
{
    struct rusage usage = {0};
    json_t *stats = NULL;
    bool failed;

    if (o->control_fd >= 0) {
        stats = nof_control_ask(o->control_fd, "stats", NULL, job->self);
        close(o->control_fd);
    } else if (o->stats != NULL && o->shared) {
        stats = nof_control_call(job->at.control, "stats", NULL, job->self);
    }
    stop_daemon(job, &usage);
    if (stats == NULL) {
        if (o->stats != NULL)
            fclose(o->stats);
        return;
    }
    json_object_set_new(stats, "daemon",
                        json_pack("{s:I, s:I}", "user_us", microseconds(usage.ru_utime), "system_us",
                                  microseconds(usage.ru_stime)));
    json_object_set_new(stats, "library", library_of(job));
    failed = json_dumpf(stats, o->stats, JSON_INDENT(2)) != 0;
    failed |= fclose(o->stats) != 0;
    if (failed)
        fprintf(stderr, "%s: the counters cannot be written to %s: %s\n", job->self, o->stats_path,
                strerror(errno));
    json_decref(stats);
}

/* A script's `&` says so of both, and means the keys of a terminal. To us they are orders, as to other launchers. */
static bool is_order(int sig)
{
    return sig == SIGINT || sig == SIGQUIT;
}

/* Everything that can come while ranks run, from now on read from job->signals. */
static bool block_signals(struct nof_job *job)
{
    static const int ours[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        struct sigaction before;

        if (is_order(ours[i]))
            signal(ours[i], SIG_DFL);
        /* What else our parent told us to ignore (nohup) stays ignored, by ranks, too. */
        if (sigaction(ours[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&set, ours[i]);
    }
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    job->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaddset(&set, SIGXFSZ); /* a file that ulimit -f forbids is an error like others */
    return job->signals >= 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0;
}

static void raise_file_limit(struct nof_job *job)
{
    struct rlimit all;

    getrlimit(RLIMIT_NOFILE, &job->files);
    all = job->files;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

/* Before the job: hours of work are not lost to a name that was mistyped. */
static bool open_stats(struct options *o)
{
    if (o->stats_path == NULL)
        return true;
    o->stats = fopen(o->stats_path, "we");
    if (o->stats == NULL)
        fprintf(stderr, "%s: --stats: %s cannot be written: %s; nothing was started\n", o->job->self,
                o->stats_path, strerror(errno));
    return o->stats != NULL;
}

int nof_run_with(int argc, char **argv, const struct nof_run_more *more)
{
    static const char doc[] =
        "Run an MPI program. Without a daemon the network is a simulated one that lives as long as the job: "
        "no root, no hugepages, no NIC is needed.\v"
        "The exit code is that of the first rank that fails, 128 + N for signal N; 125 when nof run itself "
        "fails, 126 or 127 when the program cannot be run, 124 after --timeout. SIGUSR1 has it say who waits "
        "for whom; so does "
        "SIGQUIT, which ends the job.";
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "PROGRAM [ARG...]",
                              .doc = more != NULL ? more->doc : doc,
                              .children = more != NULL ? more->options : NULL};
    struct nof_job job = {.self = argv[0], .board_fd = -1};
    struct options o = {.job = &job, .control_fd = -1};
    bool shared;
    int code = NOF_JOB_EXIT_OWN;

    argp_err_exit_status = 2;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0)
        return 2;
    if (!nof_daemon_locate(&job.at, NOF_DAEMON_ELSE_PRIVATE, job.self) ||
        !nof_network_check(&o.network, job.self))
        return 2;
    if (!open_stats(&o))
        return NOF_JOB_EXIT_OWN;
    if (more != NULL && !more->begin(job.self, job.argv))
        return NOF_JOB_EXIT_OWN;
    raise_file_limit(&job);
    if (!draw_names(&job) || !block_signals(&job))
        return NOF_JOB_EXIT_OWN;
    if (nof_guard_start(&job.guard) != 0) {
        fprintf(stderr, "%s: no process can be started: %s\n", job.self, strerror(errno));
        return NOF_JOB_EXIT_OWN;
    }
    shared = job.at.socket[0] != '\0';
    if (shared ? use_daemon(&job, &o) : start_daemon(&job, &o)) {
        o.shared = shared;
        if (o.stats_path != NULL && !shared)
            o.control_fd = nof_control_open(job.at.control, job.self);
        code = nof_job_run(&job);
    }
    finish(&job, &o);
    nof_guard_stop(&job.guard);
    return code;
}

int nof_cmd_run(int argc, char **argv)
{
    return nof_run_with(argc, argv, NULL);
}
