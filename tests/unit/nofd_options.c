/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the daemon is told: the bounds of every option, where it may stand, and who wins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nofd/sys/options.h"

#define ARGS_MAX 80

static struct nofd_options *shared; /* written by the child */

/* Exit code of a daemon that reads these; what it read is in *shared. What it says goes to the descriptor. */
static int read_args(char *const *args, int to)
{
    char *argv[ARGS_MAX] = {(char[]){"nofd"}};
    int argc = 1;
    int status;
    pid_t child;

    while (*args != NULL)
        argv[argc++] = *args++;
    child = fork();
    if (child == 0) {
        dup2(to, STDOUT_FILENO);
        dup2(to, STDERR_FILENO);
        nofd_options_read(shared, argc, argv);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int sink(void)
{
    return memfd_create("said", MFD_CLOEXEC);
}

static int read_one(const char *name, const char *value)
{
    char text[600];
    char fabric[] = "--fabric=1";
    char *args[] = {fabric, text, NULL};
    int to = sink();
    int code;

    snprintf(text, sizeof(text), value != NULL ? "--%s=%s" : "--%s", name, value);
    code = read_args(args, to);
    close(to);
    return code;
}

#define A10 "aaaaaaaaaa"
#define A100 A10 A10 A10 A10 A10 A10 A10 A10 A10 A10

static const char path_103[] = "/" A100 "aa";
static const char path_104[] = "/" A100 "aaa";
static const char path_107[] = "/" A100 "aaaaaa";
static const char path_108[] = "/" A100 "aaaaaaa";

/* Of each option: what is just good, and what is just not. A switch has neither. */
static const struct bound {
    const char *name;
    const char *good[6];
    const char *bad[8];
} bounds[] = {
    {"config", {"/dev/null"}, {"/nowhere/at/all"}},
    {"socket", {"@a", path_103}, {"", path_104, path_108}}, /* ".ctl" is appended */
    {"control", {"@a", path_107}, {"", path_108}},
    {"private", {NULL}, {NULL}},
    {"background", {NULL}, {NULL}},
    {"watch-pauses", {NULL}, {NULL}},
    {"ready-fd", {"0", "1048576"}, {"-1", "1048577", "", "x"}},
    {"cores", {"1", "64"}, {"0", "65", "-1", "1.5"}},
    {"cores-per-nic", {"1", "2", "64"}, {"0", "65", "1000", "-1", "1.5", ""}},
    {"set", {"pacing=off", "spin_us=0"}, {"pacing", "=off", "pacing=perhaps", "nothing=1"}},
    {"log", {"error", "debug"}, {"loud", "", "Debug"}},
    {"log-to", {"", "stderr", "syslog", "/tmp/a.log"}, {NULL}},
    {"idle-timeout", {"1ns", "30s", "1"}, {"0", "0s", "-1", "soon"}},
    {"fabric", {"1", "1024"}, {"0", "1025", "-1"}}, /* 0: no NIC at all */
    {"link", {"1", "none", "10Gbit"}, {"-1", "fast", ""}},
    {"delay", {"0", "50us", "1ms"}, {"-1us", "far"}},
    {"buffer", {"0", "64KiB"}, {"-1", "big"}},
    {"loss", {"0", "1", "0.02", "100%"}, {"-0.01", "1.01", "101%", "nan", "some"}},
    {"duplicate", {"0", "1", "2%"}, {"-0.01", "1.01"}},
    {"reorder", {"0", "1", "2%"}, {"-0.01", "1.01"}},
    {"corrupt", {"0", "1", "2%"}, {"-0.01", "1.01"}},
    {"port", {"net_af_packet,iface=eth0"}, {""}},
    {"ip", {"0.0.0.0", "255.255.255.255"}, {"256.0.0.0", "1.2.3", "::1", ""}},
    {"multicast", {"flood", "snoop", "drop"}, {"on", ""}},
    {"mtu", {"576", "9216"}, {"575", "9217"}},
    {"udp-port", {"1", "65535"}, {"0", "65536"}},
    {"steer", {"/tmp/a.o"}, {NULL}},
    {"dma", {"auto", "assist"}, {"inline", ""}},
    {"dma-timeout", {"0", "5s", "1"}, {"-1s", "never"}},
    {"max-endpoints", {"1", "1024"}, {"0", "1025"}},
    {"max-peers", {"1", "4194304"}, {"0", "4194305"}},
    {"predict-calls", {"16", "1024", "32768"}, {"8", "15", "17", "65536", "0"}},
    {"netmem", {"0", "16MiB"}, {"-1", "much"}}, /* by the endpoints: looked at when NICs are made */
    {"staging", {"0", "64MiB"}, {"67108865", "65MiB", "-1"}},
    {"bounce", {"0", "64MiB"}, {"67108865", "65MiB", "-1"}},
    {"memory", {"8", "1048576"}, {"7", "1048577"}},
};

#define NBOUNDS (sizeof(bounds) / sizeof(bounds[0]))

static void bounds_are_as_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < NBOUNDS; i++) {
        const struct bound *b = &bounds[i];

        if (b->good[0] == NULL && read_one(b->name, NULL) != 0)
            fail_msg("--%s", b->name);
        for (unsigned j = 0; j < 6 && b->good[j] != NULL; j++)
            if (read_one(b->name, b->good[j]) != 0)
                fail_msg("--%s=%s was refused", b->name, b->good[j]);
        for (unsigned j = 0; j < 8 && b->bad[j] != NULL; j++)
            if (read_one(b->name, b->bad[j]) != 2)
                fail_msg("--%s=%s was taken", b->name, b->bad[j]);
    }
}

static void every_option_is_in_the_table_above(void **state)
{
    char help[] = "--help";
    char *args[] = {help, NULL};
    static char text[65536];
    int to = sink();
    unsigned options = 0;

    (void)state;
    assert_int_equal(read_args(args, to), 0);
    assert_true(pread(to, text, sizeof(text) - 1, 0) > 0);
    close(to);
    for (char *at = text; (at = strstr(at, "--")) != NULL; at += 2) {
        size_t len = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        bool found = false;

        if (at[2 + len] != '=' && strncmp(at, "--set", 5) == 0)
            continue;
        for (size_t i = 0; i < NBOUNDS; i++)
            found |= strlen(bounds[i].name) == len && strncmp(bounds[i].name, at + 2, len) == 0;
        options += found;
        if (!found && strncmp(at + 2, "help", len) != 0 && strncmp(at + 2, "usage", len) != 0 &&
            strncmp(at + 2, "version", len) != 0)
            fail_msg("--%.*s has no bounds here", (int)len, at + 2);
    }
    assert_true(options >= NBOUNDS);
}

static void a_value_is_what_was_said(void **state)
{
    char all[][40] = {
        "--fabric=3",       "--link=10Gbit", "--delay=50us",          "--loss=2%",         "--mtu=1500",
        "--cores=2",        "--ip=10.0.0.1", "--ip=10.0.0.2",         "--dma-timeout=7",   "--staging=64k",
        "--idle-timeout=2", "--socket=@x",   "--set=compression=off", "--predict-calls=64"};
    char *args[sizeof(all) / sizeof(all[0]) + 1] = {NULL};
    int to = sink();

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        args[i] = all[i];
    assert_int_equal(read_args(args, to), 0);
    close(to);
    assert_int_equal(shared->fabric.nics, 3);
    assert_int_equal(shared->fabric.rate_bps, 10000000000u);
    assert_int_equal(shared->fabric.delay_ns, 50000);
    assert_true(shared->fabric.loss > 0.019 && shared->fabric.loss < 0.021);
    assert_int_equal(shared->mtu_bytes, 1500);
    assert_int_equal(shared->cores, 2);
    assert_int_equal(shared->nips, 2);
    assert_int_equal(shared->ip4[1], 0x0a000002);
    assert_int_equal(shared->dma_timeout_ns, 7000000); /* bare: milliseconds */
    assert_int_equal(shared->idle_timeout_ns, 2000000000u); /* bare: seconds */
    assert_int_equal(shared->staging_bytes, 65536);
    assert_int_equal(shared->predict_calls, 64);
    assert_string_equal(shared->control, "@x.ctl");
    assert_string_equal(shared->directory, "");
}

static void command_line_wins_over_environment_over_file(void **state)
{
    char path[] = "/tmp/nofd_options.XXXXXX";
    static const char lines[] = "fabric = 2\ncores = 2\nmtu = 1000\nip = 1.1.1.1\n[features]\nspin_us = 7\n";
    char config[64];
    char cores[] = "--cores=4";
    char *args[] = {config, cores, NULL};
    int fd = mkstemp(path);
    int to = sink();

    (void)state;
    assert_int_equal(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
    close(fd);
    snprintf(config, sizeof(config), "--config=%s", path);
    setenv("NOF_CORES", "3", 1);
    setenv("NOF_MTU", "1100", 1);
    setenv("NOF_IP", "2.2.2.2 3.3.3.3", 1);
    assert_int_equal(read_args(args, to), 0);
    unsetenv("NOF_CORES");
    unsetenv("NOF_MTU");
    unsetenv("NOF_IP");
    unlink(path);
    close(to);
    assert_int_equal(shared->fabric.nics, 2);
    assert_int_equal(shared->cores, 4);
    assert_int_equal(shared->mtu_bytes, 1100);
    assert_int_equal(shared->nips, 2); /* a stronger list replaces the weaker one */
    assert_int_equal(shared->ip4[0], 0x02020202);
    assert_int_equal(shared->feature[NOF_F_SPIN], 7);
}

/* Alone or beside others, what cannot be is said before anything starts. */
static void cores_of_a_nic_have_their_bounds(void **state)
{
    static const struct {
        const char *args[4];
        int rc;
        unsigned cores;
        const char *says;
    } each[] = {
        {{"--fabric=2"}, 0, 1, NULL},
        {{"--fabric=2", "--cores-per-nic=4"}, 0, 4, NULL},
        {{"--fabric=2", "--cores-per-nic=2", "--cores=8"}, 0, 8, NULL},
        {{"--fabric=2", "--cores-per-nic=4", "--cores=2"}, 2, 0, "give --cores 4, or --cores-per-nic 2"},
        {{"--fabric=2", "--cores-per-nic=0"}, 2, 0, "cores-per-nic takes a number from 1 to 64, not \"0\""},
        {{"--fabric=2", "--cores-per-nic=1000"}, 2, 0, "cores-per-nic takes a number from 1 to 64"},
        {{"--fabric=100", "--cores-per-nic=16"}, 2, 0, "give --fabric 64, or --cores-per-nic 10"},
        {{"--fabric=2", "--cores-per-nic=8", "--udp-port=65530"}, 2, 0, "give --udp-port 65528 or less"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        char copy[4][32], text[512] = "", *args[5] = {NULL};
        int to = sink();

        for (unsigned k = 0; k < 4 && each[i].args[k] != NULL; k++) {
            snprintf(copy[k], sizeof(copy[k]), "%s", each[i].args[k]);
            args[k] = copy[k];
        }
        assert_int_equal(read_args(args, to), each[i].rc);
        assert_true(pread(to, text, sizeof(text) - 1, 0) >= 0);
        close(to);
        if (each[i].rc == 0)
            assert_int_equal(shared->cores, each[i].cores);
        else if (strstr(text, each[i].says) == NULL)
            fail_msg("%s: %s", each[i].says, text);
    }
}

static void no_more_ports_than_there_is_room_for(void **state)
{
    char port[] = "--port=net_null0";
    char *args[NOFD_PORTS_MAX + 2] = {NULL};
    int to = sink();

    (void)state;
    for (unsigned i = 0; i < NOFD_PORTS_MAX; i++)
        args[i] = port;
    assert_int_equal(read_args(args, to), 0);
    assert_int_equal(shared->nports, NOFD_PORTS_MAX);
    args[NOFD_PORTS_MAX] = port;
    assert_int_equal(read_args(args, to), 2);
    close(to);
}

/* The features' bounds are those of their table, whoever sets them. */
static void features_keep_their_bounds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++) {
        const struct nof_feature_info *info = &nof_feature_info[i];
        char text[32];
        char err[NOFD_ERROR_BYTES];
        unsigned feature;
        uint64_t value;

        if (info->kind != NOF_FEATURE_NUMBER)
            continue;
        snprintf(text, sizeof(text), "%llu", (unsigned long long)info->min);
        assert_int_equal(nofd_options_feature(info->name, text, &feature, &value, err, sizeof(err)), 0);
        assert_int_equal(value, info->min);
        snprintf(text, sizeof(text), "%llu", (unsigned long long)info->max);
        assert_int_equal(nofd_options_feature(info->name, text, &feature, &value, err, sizeof(err)), 0);
        assert_int_equal(feature, i);
        assert_int_equal(value, info->max);
        snprintf(text, sizeof(text), "%llu", (unsigned long long)info->max + 1);
        assert_int_equal(nofd_options_feature(info->name, text, &feature, &value, err, sizeof(err)), -1);
        if (info->min == 0)
            continue;
        snprintf(text, sizeof(text), "%llu", (unsigned long long)info->min - 1);
        assert_int_equal(nofd_options_feature(info->name, text, &feature, &value, err, sizeof(err)), -1);
    }
}

static int start(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_as_said),
        cmocka_unit_test(every_option_is_in_the_table_above),
        cmocka_unit_test(a_value_is_what_was_said),
        cmocka_unit_test(command_line_wins_over_environment_over_file),
        cmocka_unit_test(cores_of_a_nic_have_their_bounds),
        cmocka_unit_test(no_more_ports_than_there_is_room_for),
        cmocka_unit_test(features_keep_their_bounds),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
