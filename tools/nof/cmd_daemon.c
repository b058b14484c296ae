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
    {"control", OPT_CONTROL, "ADDRESS", 0, "where `nof` speaks to it ($NOF_CONTROL, else this user's)", 2},
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

int nof_cmd_up(int argc, char **argv)
{
    static const char doc[] =
        "Start the daemon that plays the NICs, wait until it is ready, and print its status. Without ports: "
        "two "
        "simulated NICs.\v"
        "Options of nofd itself may follow behind --. Its messages go to nofd.log beside its socket.";
    const struct argp argp = {up_options, parse_up, "[-- NOFD-OPTION...]", doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    struct nof_daemon_start how = {.background = true};
    char dir[NOF_ADDRESS_BYTES - 16];
    char log[NOF_ADDRESS_BYTES];
    char new_log[NOF_ADDRESS_BYTES + 8];
    char err[512];
    pid_t pid;

    nof_daemon_arg(&o.args, "nofd");
    nof_daemon_socket(o.socket, sizeof(o.socket));
    nof_daemon_control(o.control, sizeof(o.control));
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!o.ports)
        nof_daemon_option(&o.args, "--fabric", "2");
    nof_daemon_option(&o.args, "--socket", o.socket);
    nof_daemon_option(&o.args, "--control", o.control);
    nof_daemon_dir(dir, sizeof(dir));
    if (nof_rundir_make(dir, err, sizeof(err)) != 0) {
        fprintf(stderr, "%s: %s\n", o.self, err);
        return 1;
    }
    /* Only a daemon that runs takes the name: a second one must not cut off the first one's log. */
    snprintf(log, sizeof(log), "%s/nofd.log", dir);
    snprintf(new_log, sizeof(new_log), "%s.new", log);
    how.log_path = new_log;
    pid = nof_daemon_start(&o.args, &how, o.self);
    if (pid < 0) {
        fprintf(stderr, "%s: nofd did not start; it says:\n", o.self);
        nof_daemon_show_log(new_log);
        unlink(new_log);
        rmdir(dir);
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

/* The daemon removed its sockets; its log goes with it, and the directory unless somebody else uses it. */
static void remove_log(void)
{
    char dir[NOF_ADDRESS_BYTES - 16];
    char log[NOF_ADDRESS_BYTES];

    nof_daemon_dir(dir, sizeof(dir));
    snprintf(log, sizeof(log), "%s/nofd.log", dir);
    unlink(log);
    rmdir(dir);
}

int nof_cmd_down(int argc, char **argv)
{
    static const char doc[] = "Stop the daemon. Jobs that use it end with an error that says so.";
    const struct argp argp = {down_options, parse_up, NULL, doc, NULL, NULL, NULL};
    struct options o = {.self = argv[0]};
    json_t *status;
    pid_t pid;

    nof_daemon_control(o.control, sizeof(o.control));
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    status = nof_control_call(o.control, "status", NULL, o.self);
    if (status == NULL)
        return 1;
    pid = (pid_t)json_integer_value(json_object_get(status, "pid"));
    json_decref(status);
    json_decref(nof_control_call(o.control, "shutdown", NULL, o.self));
    for (int i = 0; pid > 0 && i < STOP_STEPS && kill(pid, 0) == 0 && !nof_daemon_is_zombie(pid); i++)
        usleep(STOP_STEP_US);
    if (pid > 0 && kill(pid, 0) == 0 && !nof_daemon_is_zombie(pid)) {
        fprintf(stderr, "%s: nofd (pid %d) is still there after %d s: look at its log, then `kill -9 %d`\n",
                o.self, pid, STOP_STEPS * STOP_STEP_US / 1000000, pid);
        return 1;
    }
    remove_log();
    printf("nofd (pid %d) has ended\n", pid);
    return 0;
}
