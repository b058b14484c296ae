/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof up` and `nof down`: a daemon that outlives the command. */
#include "commands.h"
#include "control_client.h"
#include "find_daemon.h"
#include "network.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nof_private/rundir.h"

#define LOG_BYTES (2 * NOF_ADDRESS_BYTES) /* a directory and a socket's name */
#define STOP_STEPS 200
#define STOP_STEP_US 50000

enum {
    OPT_FABRIC = 256,
    OPT_CORES_PER_NIC,
    OPT_MTU,
    OPT_FEATURE,
    OPT_CONTROL,
    OPT_NOFD,
    OPT_NETWORK, /* and on from there: of_network[] */
};

/* As `nof run` has them. */
static const char *const of_network[] = {"--link",      "--delay",   "--buffer",  "--loss",
                                         "--duplicate", "--reorder", "--corrupt", "--multicast"};
#define NETWORK_OPTIONS (sizeof(of_network) / sizeof(of_network[0]))

struct options {
    struct nof_daemon_args args;
    struct nof_daemon_at at;
    const char *self;
    bool ports; /* something to play was named */
    bool real; /* by --port, */
    bool simulated; /* by --fabric, or perhaps behind "--" */
    const char *of_links; /* an option of simulated links that was given; NULL: none */
    struct nof_network network;
};

static const struct argp_option up_options[] = {
    {"fabric", OPT_FABRIC, "N", 0, "N simulated NICs on a simulated switch", 1},
    {"port", 'p', "PORT", 0,
     "a network interface (AF_XDP, else AF_PACKET), a UDP socket (udp:ADDRESS[:PORT], no privileges) or a "
     "DPDK device; may be "
     "repeated",
     1},
    {"cores-per-nic", OPT_CORES_PER_NIC, "N", 0,
     "cores of each NIC, each a thread: its ranks are dealt over them, and each has its part of the link (1)",
     1},
    {"mtu", OPT_MTU, "BYTES", 0, "IP MTU (fabric 9000, port: its interface's, as far as the driver can)", 1},
    {"link", OPT_NETWORK, "RATE", 0,
     "of the simulated network, as for `nof run`: link rate, such as 10G (no limit)", 2},
    {"delay", OPT_NETWORK + 1, "TIME", 0, "delay of a link, such as 50us (0)", 2},
    {"buffer", OPT_NETWORK + 2, "BYTES", 0, "buffer of a switch port, such as 64KiB", 2},
    {"loss", OPT_NETWORK + 3, "P", 0, "share of the frames that are lost, such as 0.02", 2},
    {"duplicate", OPT_NETWORK + 4, "P", 0, "share that comes twice", 2},
    {"reorder", OPT_NETWORK + 5, "P", 0, "share that is overtaken", 2},
    {"corrupt", OPT_NETWORK + 6, "P", 0, "share that arrives with a wrong bit", 2},
    {"multicast", OPT_NETWORK + 7, "flood|snoop|drop", 0, "whom the switch passes it to (flood)", 2},
    {"feature", OPT_FEATURE, "NAME=VALUE", 0, "see `nof features`; may be repeated", 3},
    {"socket", OPT_NOFD, "SOCKET", 0, "where ranks attach ($NOF_SOCKET, else this user's)", 3},
    {"nofd", OPT_NOFD, "SOCKET", OPTION_ALIAS, NULL, 3},
    {"control", OPT_CONTROL, "ADDRESS", 0,
     "where `nof` speaks to it ($NOF_CONTROL unless --nofd is given, else SOCKET.ctl)", 3},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_network(struct options *o, unsigned i, const char *value)
{
    if (i >= NETWORK_OPTIONS)
        return ARGP_ERR_UNKNOWN;
    if (!nof_network_option(&o->network, of_network[i], value, o->self))
        exit(2);
    nof_daemon_option(&o->args, of_network[i], value);
    o->of_links = of_network[i];
    return 0;
}

static void add_checked(struct options *o, const char *option, const char *value)
{
    if (!nof_network_option(&o->network, option, value, o->self))
        exit(2);
    nof_daemon_option(&o->args, option, value);
}

static error_t parse_up(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_FABRIC:
        add_checked(o, "--fabric", arg);
        o->ports = o->simulated = true;
        return 0;
    case 'p':
        nof_daemon_option(&o->args, "--port", arg);
        o->ports = o->real = true;
        return 0;
    case OPT_CORES_PER_NIC:
        add_checked(o, "--cores-per-nic", arg);
        return 0;
    case OPT_MTU:
        add_checked(o, "--mtu", arg);
        return 0;
    case OPT_FEATURE:
        if (nof_feature_check(arg, o->self) != 0)
            exit(2);
        nof_daemon_option(&o->args, "--set", arg);
        return 0;
    case OPT_NOFD:
    case OPT_CONTROL:
        if (!nof_daemon_address(key == OPT_NOFD ? o->at.socket : o->at.control, arg, o->self))
            exit(2);
        return 0;
    case ARGP_KEY_ARGS: /* behind "--": options of nofd that have no name here */
        for (int i = state->next; i < state->argc; i++) {
            nof_daemon_arg(&o->args, state->argv[i]);
            o->ports = o->simulated = true;
        }
        return 0;
    default:
        return key < OPT_NETWORK ? ARGP_ERR_UNKNOWN : parse_network(o, (unsigned)(key - OPT_NETWORK), arg);
    }
}

static int show(const char *control)
{
    char name[] = "nof status";
    char option[] = "--control";
    char address[NOF_ADDRESS_BYTES];
    char *argv[] = {name, option, address, NULL};

    snprintf(address, sizeof(address), "%s", control);
    return nof_cmd_status(3, argv);
}

/* The log of the daemon with this socket: beside it, or in this user's directory when the socket is no file. Returns
 * whether it lies in that directory. */
static bool find_log(const char *socket, char *log, size_t log_bytes)
{
    char dir[NOF_ADDRESS_BYTES - 16];
    size_t len = strlen(socket);
    int written;

    nof_daemon_dir(dir, sizeof(dir));
    if (len > 5 && strcmp(socket + len - 5, ".sock") == 0)
        len -= 5;
    if (socket[0] != '@') {
        snprintf(log, log_bytes, "%.*s.log", (int)len, socket);
        return strncmp(log, dir, strlen(dir)) == 0 && log[strlen(dir)] == '/';
    }
    written = snprintf(log, log_bytes, "%s/", dir);
    for (size_t i = 1; i < len && (size_t)written + 5 < log_bytes; i++)
        log[written++] = socket[i] == '/' ? '_' : socket[i];
    snprintf(log + written, log_bytes - (size_t)written, ".log");
    return true;
}

/* The same, and makes the directory when that is ours to make. */
static bool make_log(const char *socket, char *log, size_t log_bytes, const char *self)
{
    char dir[NOF_ADDRESS_BYTES - 16];
    char err[512];

    if (!find_log(socket, log, log_bytes))
        return true;
    nof_daemon_dir(dir, sizeof(dir));
    if (nof_rundir_make(dir, err, sizeof(err)) == 0)
        return true;
    fprintf(stderr, "%s: %s\n", self, err);
    return false;
}

/* What nofd said before it was ready, and this user's directory unless somebody else uses it. */
static void remove_said(const char *said)
{
    char dir[NOF_ADDRESS_BYTES - 16];

    nof_daemon_dir(dir, sizeof(dir));
    unlink(said);
    rmdir(dir);
}

static bool links_are_there(const struct options *o)
{
    if (o->of_links == NULL || !o->real || o->simulated)
        return true;
    fprintf(stderr,
            "%s: %s is of a simulated link, and a --port has none: give --fabric N, too, or leave %s away\n",
            o->self, o->of_links, o->of_links);
    return false;
}

int nof_cmd_up(int argc, char **argv)
{
    static const char doc[] =
        "Start the daemon that plays the NICs, wait until it is ready, and print its status. Without ports: "
        "two "
        "simulated NICs.\v"
        "Options of nofd itself may follow behind --. Its messages are appended to nofd.log beside its "
        "socket (for --socket PATH.sock: PATH.log; for @NAME: NAME.log in this user's directory), unless "
        "--log-to "
        "says otherwise. `nof run` takes this daemon "
        "when "
        "--nofd or $NOF_SOCKET names its socket; see `nof --help`.";
    const struct argp argp = {up_options, parse_up, "[-- NOFD-OPTION...]", doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    struct nof_daemon_start how = {.background = true};
    char log[LOG_BYTES];
    char said[LOG_BYTES + 16];
    pid_t pid;

    nof_daemon_arg(&o.args, "nofd");
    nof_daemon_option(&o.args, "--log-to", log); /* one of the user's comes behind it, and counts */
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!nof_daemon_locate(&o.at, NOF_DAEMON_ELSE_USERS, o.self))
        return 2;
    if (!nof_network_check(&o.network, o.self) || !links_are_there(&o))
        return 2;
    if (!o.ports)
        nof_daemon_option(&o.args, "--fabric", "2");
    if (!make_log(o.at.socket, log, sizeof(log), o.self))
        return 1;
    nof_daemon_option(&o.args, "--socket", o.at.socket);
    nof_daemon_option(&o.args, "--control", o.at.control);
    /* Until it is ready it speaks to us, too; the log is its own. */
    snprintf(said, sizeof(said), "%s.%d", log, getpid());
    how.log_path = said;
    pid = nof_daemon_start(&o.args, &how, o.self);
    if (pid < 0) {
        fprintf(stderr, "%s: nofd did not start; it says:\n", o.self);
        nof_daemon_show_log(said);
        remove_said(said);
        return 1;
    }
    remove_said(said);
    return show(o.at.control);
}

static const struct argp_option down_options[] = {
    NOF_DAEMON_OPTIONS(OPT_NOFD, OPT_CONTROL, 0),
    {NULL, 0, NULL, 0, NULL, 0},
};

/* A process of somebody else is there too, though it takes no signal of ours. */
static bool runs(pid_t pid)
{
    return nof_daemon_state(pid) != 'X';
}

int nof_cmd_down(int argc, char **argv)
{
    static const char doc[] =
        "Stop the daemon. Jobs that use it end with an error that says so, ranks that compute when they next "
        "wait for it in a call of MPI.";
    const struct argp argp = {down_options, parse_up, NULL, doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    json_t *status;
    json_t *done;
    pid_t pid;

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!nof_daemon_locate(&o.at, NOF_DAEMON_ELSE_USERS, o.self))
        return 2;
    status = nof_control_call(o.at.control, "status", NULL, o.self);
    if (status == NULL)
        return 1;
    pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
    json_decref(status);
    done = nof_control_call(o.at.control, "shutdown", NULL, o.self);
    if (done == NULL)
        return 1;
    json_decref(done);
    for (int i = 0; pid > 0 && i < STOP_STEPS && runs(pid); i++)
        usleep(STOP_STEP_US);
    if (pid > 0 && runs(pid)) {
        fprintf(stderr, "%s: nofd (pid %d) is still there after %d s: look at its log, then `kill -9 %d`\n",
                o.self, pid, STOP_STEPS * STOP_STEP_US / 1000000, pid);
        return 1;
    }
    printf("nofd (pid %d) has ended\n", pid);
    return 0;
}
