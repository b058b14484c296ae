/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof up` and `nof down`: a daemon that outlives the command. */
#include "commands.h"
#include "control.h"
#include "daemon.h"

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

enum { OPT_FABRIC = 256, OPT_FEATURE, OPT_CONTROL, OPT_SOCKET };

struct options {
    struct nof_daemon_args args;
    char socket[NOF_ADDRESS_BYTES];
    char control[NOF_ADDRESS_BYTES];
    const char *self;
    bool ports; /* something to play was named */
};

static const struct argp_option up_options[] = {
    {"fabric", OPT_FABRIC, "N", 0, "N simulated NICs on a simulated switch", 1},
    {"port", 'p', "PORT", 0, "a port of this machine: a DPDK device or a network interface; may be repeated",
     1},
    {"feature", OPT_FEATURE, "NAME=VALUE", 0, "see `nof features`; may be repeated", 2},
    {"socket", OPT_SOCKET, "ADDRESS", 0, "where ranks attach ($NOF_SOCKET, else this user's)", 2},
    {"control", OPT_CONTROL, "ADDRESS", 0,
     "where `nof` speaks to it ($NOF_CONTROL, else the socket's address and \".ctl\")", 2},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t parse_up(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_FABRIC:
        nof_daemon_option(&o->args, "--fabric", arg);
        o->ports = true;
        return 0;
    case 'p':
        nof_daemon_option(&o->args, "--port", arg);
        o->ports = true;
        return 0;
    case OPT_FEATURE:
        if (nof_feature_check(arg, o->self) != 0)
            exit(2);
        nof_daemon_option(&o->args, "--set", arg);
        return 0;
    case OPT_SOCKET:
        snprintf(o->socket, sizeof(o->socket), "%s", arg);
        return 0;
    case OPT_CONTROL:
        snprintf(o->control, sizeof(o->control), "%s", arg);
        return 0;
    case ARGP_KEY_ARGS: /* behind "--": options of nofd that have no name here */
        for (int i = state->next; i < state->argc; i++) {
            nof_daemon_arg(&o->args, state->argv[i]);
            o->ports = true;
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
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

/* The log, and this user's directory unless somebody else uses it. */
static void remove_log(const char *log)
{
    char dir[NOF_ADDRESS_BYTES - 16];

    nof_daemon_dir(dir, sizeof(dir));
    unlink(log);
    rmdir(dir);
}

static bool place_control(struct options *o)
{
    const char *told = getenv("NOF_CONTROL");
    size_t len = strlen(o->socket);

    if (o->control[0] != '\0')
        return true;
    if (told != NULL && told[0] != '\0') {
        snprintf(o->control, sizeof(o->control), "%s", told);
        return true;
    }
    if (len + 5 > sizeof(o->control)) {
        fprintf(stderr,
                "%s: '%s' is too long to append \".ctl\": give a shorter --socket, or --control ADDRESS\n",
                o->self, o->socket);
        return false;
    }
    memcpy(o->control, o->socket, len);
    memcpy(o->control + len, ".ctl", 5);
    return true;
}

int nof_cmd_up(int argc, char **argv)
{
    static const char doc[] =
        "Start the daemon that plays the NICs, wait until it is ready, and print its status. Without ports: "
        "two "
        "simulated NICs.\v"
        "Options of nofd itself may follow behind --. Its messages go to nofd.log beside its socket (for "
        "--socket "
        "PATH.sock: PATH.log; for @NAME: NAME.log in this user's directory). `nof run` takes this daemon "
        "when "
        "--nofd or $NOF_SOCKET names its socket; without them it starts a private one.";
    const struct argp argp = {up_options, parse_up, "[-- NOFD-OPTION...]", doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    struct nof_daemon_start how = {.background = true};
    char log[LOG_BYTES];
    char new_log[LOG_BYTES + 16];
    pid_t pid;

    nof_daemon_arg(&o.args, "nofd");
    nof_daemon_socket(o.socket, sizeof(o.socket));
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!o.ports)
        nof_daemon_option(&o.args, "--fabric", "2");
    if (!place_control(&o) || !make_log(o.socket, log, sizeof(log), o.self))
        return 1;
    nof_daemon_option(&o.args, "--socket", o.socket);
    nof_daemon_option(&o.args, "--control", o.control);
    /* Only a daemon that runs takes the name: a second one must not cut off the first one's log. */
    snprintf(new_log, sizeof(new_log), "%s.%d", log, getpid());
    how.log_path = new_log;
    pid = nof_daemon_start(&o.args, &how, o.self);
    if (pid < 0) {
        fprintf(stderr, "%s: nofd did not start; it says:\n", o.self);
        nof_daemon_show_log(new_log);
        remove_log(new_log);
        return 1;
    }
    if (rename(new_log, log) != 0)
        fprintf(stderr, "%s: the log stays in %s: %s\n", o.self, new_log, strerror(errno));
    return show(o.control);
}

static const struct argp_option down_options[] = {
    {"control", OPT_CONTROL, "ADDRESS", 0, "control socket of the daemon ($NOF_CONTROL, else this user's)",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};

/* A process of somebody else is there too, though it takes no signal of ours. */
static bool runs(pid_t pid)
{
    return (kill(pid, 0) == 0 || errno == EPERM) && !nof_daemon_is_zombie(pid);
}

int nof_cmd_down(int argc, char **argv)
{
    static const char doc[] = "Stop the daemon. Jobs that use it end with an error that says so.";
    const struct argp argp = {down_options, parse_up, NULL, doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    char log[LOG_BYTES];
    const char *socket;
    json_t *status;
    json_t *done;
    pid_t pid;

    nof_daemon_control(o.control, sizeof(o.control));
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    status = nof_control_call(o.control, "status", NULL, o.self);
    if (status == NULL)
        return 1;
    pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
    socket = json_string_value(json_object_get(status, "socket"));
    (void)find_log(socket != NULL ? socket : o.control, log, sizeof(log));
    json_decref(status);
    done = nof_control_call(o.control, "shutdown", NULL, o.self);
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
    remove_log(log);
    printf("nofd (pid %d) has ended\n", pid);
    return 0;
}
