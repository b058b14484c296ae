/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command `nof`: one table of subcommands. */
#include "commands.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nof_private/known_env.h"
#include "nof_private/nearest.h"

#define COMMANDS_MAX 32

static const char needs_dpdk[] =
    "it needs the daemon, and this build has none (" NOF_WHY_NO_DPDK "); " NOF_HOW_DPDK;
static const char needs_sources[] = "this build was made without it; run: ninja -C BUILD";

static void print_table(const struct nof_command *table, const char *self, const char *about)
{
    printf("Usage: %s COMMAND [OPTION...]\n%s\n\nCommands:\n", self, about);
    for (const struct nof_command *c = table; c->name != NULL; c++)
        printf("  %-10s %s%s\n", c->name, c->help, c->run != NULL ? "" : " (not in this build)");
    printf("\n`%s COMMAND --help` tells the options of a command.\n", self);
}

static int unknown(const struct nof_command *table, const char *self, const char *word)
{
    const char *names[COMMANDS_MAX];
    const char *near;
    unsigned n = 0;

    for (const struct nof_command *c = table; c->name != NULL && n < COMMANDS_MAX; c++)
        names[n++] = c->name;
    near = nof_nearest(word, names, n);
    if (near != NULL)
        fprintf(stderr, "%s: there is no command '%s'; did you mean '%s'?\n", self, word, near);
    else
        fprintf(stderr, "%s: there is no command '%s'; `%s --help` lists them\n", self, word, self);
    return 2;
}

int nof_commands_dispatch(const struct nof_command *table, const char *self, const char *about, int argc,
                          char **argv)
{
    static char help[] = "--help";
    char name[64]; /* not static: "nof bench" is the self of the table below it */

    if (argc < 2) {
        print_table(table, self, about);
        return 2;
    }
    /* `nof help bench core` is `nof bench core --help`. */
    if (strcmp(argv[1], "help") == 0 && argc > 2) {
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof(*argv));
        argv[argc - 1] = help;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_table(table, self, about);
        return 0;
    }
    for (const struct nof_command *c = table; c->name != NULL; c++) {
        if (strcmp(c->name, argv[1]) != 0)
            continue;
        if (c->run == NULL) {
            fprintf(stderr, "%s: '%s' is not in this build: %s\n", self, c->name, c->missing);
            return 1;
        }
        snprintf(name, sizeof(name), "%s %s", self, c->name);
        argv[1] = name;
        if (argc == 3 && strcmp(argv[2], "-h") == 0)
            argv[2] = help;
        return c->run(argc - 1, argv + 1);
    }
    return unknown(table, self, argv[1]);
}

/* Started without one of the three: what is opened next would take its place, and be written to or closed as such. */
static int open_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return -1;
    return 0;
}

/* However it ends, argp's --help and --version included: what could not be written is no success. */
static void check_output(int status, void *unused)
{
    (void)unused;
    if ((fflush(stdout) == 0 && ferror(stdout) == 0) || status != 0)
        return;
    fprintf(stderr, "nof: the output cannot be written: %s\n", strerror(errno));
    _exit(1);
}

/* Of those that run one job rank 0 says it; a bench runs many. */
static void check_environment(const char *command)
{
    static const char *const by_ranks[] = {"run", "record"};

    for (size_t i = 0; i < sizeof(by_ranks) / sizeof(by_ranks[0]); i++)
        if (strcmp(command, by_ranks[i]) == 0)
            return;
    nof_known_env_check("nof");
    if (strcmp(command, "bench") == 0)
        (void)setenv(NOF_ENV_TOLD, "1", 1);
}

int main(int argc, char **argv)
{
    static const char about[] =
        "MPI programs over NICs with firmware of their own.\n\n"
        "Which daemon: --nofd SOCKET, else $NOF_SOCKET, else this user's; run, record: else a private one.";
    const struct nof_command table[] = {
        {"run", nof_cmd_run, "run an MPI program, by default over simulated NICs", needs_dpdk},
        {"record", nof_cmd_record, "run one, and write traces of what it receives and sends", needs_dpdk},
        {"up", nof_cmd_up, "start the daemon that plays the NICs", needs_dpdk},
        {"down", nof_cmd_down, "stop it", needs_dpdk},
        {"status", nof_cmd_status, "ports, endpoints and jobs of a daemon", needs_dpdk},
        {"stats", nof_cmd_stats, "its counters", needs_dpdk},
        {"features", nof_cmd_features, "what can be switched while jobs run", needs_dpdk},
        {"set", nof_cmd_set, "switch it: nof set NAME=VALUE", needs_dpdk},
        {"devices", nof_cmd_devices, "PCI NICs of this machine, and what holds them", needs_sources},
        {"bind", nof_cmd_bind, "give PCI NICs to vfio-pci, for DPDK", needs_sources},
        {"unbind", nof_cmd_unbind, "give them back to the kernel's drivers", needs_sources},
        {"doctor", nof_cmd_doctor, "what this machine allows, and what to do about the rest", needs_dpdk},
        {"bench", nof_cmd_bench, "measure, beside a peer where there is one", needs_sources},
        {"replay", nof_cmd_replay, "recorded receive calls through a receive predictor", needs_sources},
        {"schedule", nof_cmd_schedule, "deal a pattern of messages into phases without contention",
         needs_sources},
        {"sim", nof_cmd_sim, "the firmware under a virtual clock, with faults", needs_sources},
        {NULL, NULL, NULL, NULL},
    };

    if (open_standard() != 0)
        return 1;
    /* Ignored by who started us, it would keep from us how our programs end. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)on_exit(check_output, NULL);
    argp_err_exit_status = 2;
    argp_program_version = "nof " NOF_VERSION;
    if (argc >= 2 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        printf("nof %s\n", NOF_VERSION);
        return 0;
    }
    if (argc >= 2)
        check_environment(argv[1]);
    return nof_commands_dispatch(table, "nof", about, argc, argv);
}
