/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/sys/options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nof_private/env.h"
#include "nof_private/known_env.h"
#include "nof_private/rundir.h"

#include "nofd/sys/clock.h"
#include "nofd/sys/log.h"
#include "nof_private/units.h"
#include "port/fabric/fabric.h"

#define GIVEN_MAX 512

enum source { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_COMMAND_LINE };

struct option_def {
    const char *name;
    int key; /* short option, or a number above all characters */
    const char *arg; /* NULL: a switch */
    const char *help;
    int group;
    /* Reads the value into the options; NULL: handled by hand. */
    int (*set)(struct nofd_options *o, const char *value);
    const char *wanted; /* for the error */
};

static int set_socket(struct nofd_options *o, const char *v)
{
    return snprintf(o->socket, sizeof(o->socket), "%s", v) < (int)sizeof(o->socket) && *v != '\0' ? 0 : -1;
}

static int set_control(struct nofd_options *o, const char *v)
{
    return snprintf(o->control, sizeof(o->control), "%s", v) < (int)sizeof(o->control) && *v != '\0' ? 0 : -1;
}

static int set_config(struct nofd_options *o, const char *v)
{
    return snprintf(o->config, sizeof(o->config), "%s", v) < (int)sizeof(o->config) ? 0 : -1;
}

static int set_uint(const char *v, uint64_t min, uint64_t max, uint64_t *out)
{
    return nofd_units_number(v, min, max, out);
}

#define NUMBER_OPTION(function, field, type, min, max) \
    static int function(struct nofd_options *o, const char *v) \
    { \
        uint64_t n; \
\
        if (set_uint(v, min, max, &n) != 0) \
            return -1; \
        o->field = (type)n; \
        return 0; \
    }

NUMBER_OPTION(set_fabric, fabric.nics, unsigned, 0, 1024)
NUMBER_OPTION(set_mtu, mtu_bytes, uint32_t, 576, 9216)
NUMBER_OPTION(set_udp_port, udp_port, uint16_t, 1, 65535)
NUMBER_OPTION(set_ready_fd, ready_fd, int, 0, 1 << 20)
NUMBER_OPTION(set_cores, cores, unsigned, 1, NOFD_CORES_MAX)
NUMBER_OPTION(set_cores_per_nic, cores_per_nic, unsigned, 1, NOFD_CORES_MAX)
NUMBER_OPTION(set_max_endpoints, max_endpoints, uint32_t, 1, 1024)
NUMBER_OPTION(set_max_peers, max_peers, uint32_t, 1, 1u << 22)
NUMBER_OPTION(set_memory, memory_mb, unsigned, 8, 1 << 20)

static int set_predict_calls(struct nofd_options *o, const char *v)
{
    uint64_t n;

    if (set_uint(v, 16, 32768, &n) != 0 || (n & (n - 1)) != 0)
        return -1;
    o->predict_calls = (uint32_t)n;
    return 0;
}

static int set_rate(struct nofd_options *o, const char *v)
{
    return nofd_units_rate(v, &o->fabric.rate_bps);
}

static int set_delay(struct nofd_options *o, const char *v)
{
    return nofd_units_time(v, NOFD_US, &o->fabric.delay_ns);
}

static int set_buffer(struct nofd_options *o, const char *v)
{
    return nofd_units_bytes(v, &o->fabric.buffer_bytes);
}

static int set_loss(struct nofd_options *o, const char *v)
{
    return nofd_units_share(v, &o->fabric.loss);
}

static int set_duplicate(struct nofd_options *o, const char *v)
{
    return nofd_units_share(v, &o->fabric.duplicate);
}

static int set_reorder(struct nofd_options *o, const char *v)
{
    return nofd_units_share(v, &o->fabric.reorder);
}

static int set_multicast(struct nofd_options *o, const char *v)
{
    return nof_fabric_multicast_parse(v, &o->fabric.multicast);
}

static int set_corrupt(struct nofd_options *o, const char *v)
{
    return nofd_units_share(v, &o->fabric.corrupt);
}

static int set_dma_timeout(struct nofd_options *o, const char *v)
{
    return nofd_units_time(v, NOFD_MS, &o->dma_timeout_ns);
}

static int set_idle_timeout(struct nofd_options *o, const char *v)
{
    return nofd_units_time(v, NOFD_S, &o->idle_timeout_ns) != 0 || o->idle_timeout_ns == 0 ? -1 : 0;
}

static int set_netmem(struct nofd_options *o, const char *v)
{
    return nofd_units_bytes(v, &o->netmem_bytes);
}

static int set_staging(struct nofd_options *o, const char *v)
{
    return nofd_units_bytes(v, &o->staging_bytes) != 0 || o->staging_bytes > 64 << 20 ? -1 : 0;
}

static int set_bounce(struct nofd_options *o, const char *v)
{
    return nofd_units_bytes(v, &o->bounce_bytes) != 0 || o->bounce_bytes > 64 << 20 ? -1 : 0;
}

static int set_port(struct nofd_options *o, const char *v)
{
    size_t len = strlen(v);

    if (o->nports == NOFD_PORTS_MAX || len == 0 || len >= NOFD_DEVARGS_BYTES)
        return -1;
    memcpy(o->port[o->nports++], v, len + 1);
    return 0;
}

static int set_ip(struct nofd_options *o, const char *v)
{
    if (o->nips == NOFD_PORTS_MAX || nofd_units_ip4(v, &o->ip4[o->nips]) != 0)
        return -1;
    o->nips++;
    return 0;
}

static int set_steer(struct nofd_options *o, const char *v)
{
    return snprintf(o->steer, sizeof(o->steer), "%s", v) < (int)sizeof(o->steer) ? 0 : -1;
}

static int set_private(struct nofd_options *o, const char *v)
{
    if (strcmp(v, "1") == 0 || strcmp(v, "yes") == 0 || strcmp(v, "on") == 0)
        o->private_job = true;
    else if (strcmp(v, "0") == 0 || strcmp(v, "no") == 0 || strcmp(v, "off") == 0)
        o->private_job = false;
    else
        return -1;
    return 0;
}

static int set_background(struct nofd_options *o, const char *v)
{
    o->background = strcmp(v, "1") == 0;
    return o->background ? 0 : -1;
}

static int set_watch_pauses(struct nofd_options *o, const char *v)
{
    o->watch_pauses = strcmp(v, "1") == 0;
    return o->watch_pauses ? 0 : -1;
}

static int set_log(struct nofd_options *o, const char *v)
{
    int level = nofd_log_parse(v);

    if (level < 0)
        return -1;
    o->feature[NOF_F_LOG_LEVEL] = (uint64_t)level;
    o->log_level_given = true;
    return 0;
}

static int set_log_to(struct nofd_options *o, const char *v)
{
    return snprintf(o->log_to, sizeof(o->log_to), "%s", v) < (int)sizeof(o->log_to) ? 0 : -1;
}

static int set_dma(struct nofd_options *o, const char *v)
{
    if (strcmp(v, "auto") == 0)
        o->dma = NOFD_DMA_AUTO;
    else if (strcmp(v, "assist") == 0)
        o->dma = NOFD_DMA_ASSISTED;
    else
        return -1;
    return 0;
}

/* By hand, for the error that names the nearest feature. */
static void set_feature(struct nofd_options *o, const char *v, const char *where)
{
    char name[64];
    char err[NOFD_ERROR_BYTES];
    const char *equals = strchr(v, '=');
    unsigned feature;
    uint64_t value;

    if (equals == NULL || equals == v || (size_t)(equals - v) >= sizeof(name)) {
        fprintf(stderr, "nofd: %s: set takes NAME=VALUE, not \"%s\"\n", where, v);
        exit(2);
    }
    memcpy(name, v, (size_t)(equals - v));
    name[equals - v] = '\0';
    if (nofd_options_feature(name, equals + 1, &feature, &value, err, sizeof(err)) != 0) {
        fprintf(stderr, "nofd: %s: %s\n", where, err);
        exit(2);
    }
    o->feature[feature] = value;
    o->log_level_given |= feature == NOF_F_LOG_LEVEL;
}

enum {
    KEY_FABRIC = 256,
    KEY_LINK,
    KEY_DELAY,
    KEY_BUFFER,
    KEY_LOSS,
    KEY_DUPLICATE,
    KEY_REORDER,
    KEY_CORRUPT,
    KEY_MULTICAST,
    KEY_MTU,
    KEY_PORT,
    KEY_IP,
    KEY_UDP_PORT,
    KEY_STEER,
    KEY_SOCKET,
    KEY_CONTROL,
    KEY_PRIVATE,
    KEY_READY_FD,
    KEY_BACKGROUND,
    KEY_CORES,
    KEY_CORES_PER_NIC,
    KEY_LOG,
    KEY_LOG_TO,
    KEY_DMA,
    KEY_DMA_TIMEOUT,
    KEY_IDLE_TIMEOUT,
    KEY_MAX_ENDPOINTS,
    KEY_NETMEM,
    KEY_STAGING,
    KEY_BOUNCE,
    KEY_MEMORY,
    KEY_MAX_PEERS,
    KEY_PREDICT_CALLS,
    KEY_WATCH_PAUSES
};

static const struct option_def defs[] = {
    {"config", 'c', "FILE", "read options from FILE: lines NAME = VALUE, names as here without the dashes", 1,
     set_config, "a path"},
    {"socket", 's', "ADDR", "where ranks attach: a path, or @NAME (abstract, leaves no file)", 1, set_socket,
     "a path or @NAME of at most 107 characters"},
    {"control", KEY_CONTROL, "ADDR",
     "where nof talks to the daemon (default: the socket's address + \".ctl\")", 1, set_control,
     "a path or @NAME of at most 107 characters"},
    {"private", KEY_PRIVATE, NULL,
     "serve one job of one user: ends with its last rank, and with its parent; without a parent after 10 s "
     "without a "
     "rank",
     1, set_private, "yes or no"},
    {"background", KEY_BACKGROUND, NULL,
     "leave the caller, whose end then counts only as long as no rank is attached, and its CPU binding", 1,
     set_background, "1"},
    {"ready-fd", KEY_READY_FD, "FD", "write \"ready\" to descriptor FD when ranks can attach", 1,
     set_ready_fd, "a descriptor"},
    {"cores", KEY_CORES, "N", "NIC cores, each a thread, over which the NICs are dealt (as --cores-per-nic)",
     1, set_cores, "a number from 1 to 64"},
    {"cores-per-nic", KEY_CORES_PER_NIC, "N",
     "cores of each NIC: its ranks are dealt over them, and each has its part of the link (1)", 1,
     set_cores_per_nic, "a number from 1 to 64"},
    {"set", 'S', "NAME=VALUE", "set a feature (nof features lists them); may be repeated", 1, NULL, NULL},
    {"log", KEY_LOG, "LEVEL", "error, warning, notice, info or debug (notice; --private: warning)", 1,
     set_log, "one of error, warning, notice, info, debug"},
    {"log-to", KEY_LOG_TO, "PLACE",
     "stderr, syslog, syslog:SOCKET, or a file, which is appended to and opened again at SIGHUP (stderr)", 1,
     set_log_to, "stderr, syslog or a path"},
    {"idle-timeout", KEY_IDLE_TIMEOUT, "TIME",
     "close a connection that does not ask, or does not take its answer, for so long (30s)", 1,
     set_idle_timeout, "a time such as 30s"},

    {"fabric", KEY_FABRIC, "N", "N simulated NICs, each a host of its own, joined by a simulated switch", 2,
     set_fabric, "a number from 0 to 1024"},
    {"link", KEY_LINK, "RATE", "rate of their links: 10Gbit, 100M, none (none)", 2, set_rate,
     "a rate such as 10Gbit, or none"},
    {"delay", KEY_DELAY, "TIME", "delay of one link, one way: 50us, 1ms (0)", 2, set_delay,
     "a time such as 50us"},
    {"buffer", KEY_BUFFER, "BYTES", "buffer of the switch towards each NIC: 64KiB (unbounded)", 2, set_buffer,
     "a size such as 64KiB"},
    {"loss", KEY_LOSS, "P", "probability that a frame is lost: 0.02 or 2%", 2, set_loss, "a probability"},
    {"duplicate", KEY_DUPLICATE, "P", "probability that it comes twice", 2, set_duplicate, "a probability"},
    {"reorder", KEY_REORDER, "P", "probability that others overtake it", 2, set_reorder, "a probability"},
    {"corrupt", KEY_CORRUPT, "P", "probability that a bit of it is flipped", 2, set_corrupt, "a probability"},
    {"multicast", KEY_MULTICAST, "flood|snoop|drop",
     "what the switch does with it: pass it to all NICs, to those that have joined, to none (flood)", 2,
     set_multicast, "flood, snoop or drop"},

    {"port", KEY_PORT, "DEV[,DEVARGS]",
     "a NIC on a network interface (eth0: AF_XDP, else AF_PACKET) or a DPDK device: net_af_xdp,iface=eth0, "
     "net_af_packet,iface=eth0, 0000:03:00.0; or a UDP socket, without privileges: "
     "udp:ADDRESS[:PORT[-PORT]]; may be "
     "repeated",
     3, set_port, "a DPDK device or udp:ADDRESS"},
    {"ip", KEY_IP, "A.B.C.D", "address of the first, second, ... NIC; may be repeated", 3, set_ip,
     "an IPv4 address"},
    {"mtu", KEY_MTU, "BYTES", "IP MTU (fabric 9000, device: its own)", 3, set_mtu,
     "a number from 576 to 9216"},
    {"udp-port", KEY_UDP_PORT, "N", "UDP port of the wire protocol (48620)", 3, set_udp_port,
     "a port number"},
    {"steer", KEY_STEER, "FILE", "steering program for net_af_xdp (as installed)", 3, set_steer, "a path"},

    {"dma", KEY_DMA, "MODE",
     "auto: read and write the ranks' memory where the kernel allows it; assist: the ranks copy (auto)", 4,
     set_dma, "auto or assist"},
    {"dma-timeout", KEY_DMA_TIMEOUT, "TIME", "a rank whose memory blocks a copy longer fails (5s)", 4,
     set_dma_timeout, "a time such as 5s"},
    {"max-endpoints", KEY_MAX_ENDPOINTS, "N", "ranks that one NIC serves (64)", 4, set_max_endpoints,
     "a number from 1 to 1024"},
    {"max-peers", KEY_MAX_PEERS, "N",
     "pairs of a rank here and a rank anywhere that one NIC keeps (as many as its daemon can attach, 4096 at "
     "least)",
     4, set_max_peers, "a number from 1 to 4194304"},
    {"predict-calls", KEY_PREDICT_CALLS, "N",
     "receive calls that an endpoint's predictor remembers (1024: 26 KiB, used while prediction is on)", 4,
     set_predict_calls, "a power of two from 16 to 32768"},
    {"netmem", KEY_NETMEM, "BYTES", "network memory of one NIC (by its endpoints and peers, 16MiB at least)",
     4, set_netmem, "a size such as 16MiB"},
    {"staging", KEY_STAGING, "BYTES", "staging area of one endpoint (512KiB)", 4, set_staging,
     "a size up to 64MiB"},
    {"bounce", KEY_BOUNCE, "BYTES", "bounce arena of one endpoint (512KiB)", 4, set_bounce,
     "a size up to 64MiB"},
    {"watch-pauses", KEY_WATCH_PAUSES, NULL,
     "count how long a rank waits for a turn of its NIC core (host.pause_ns); costs a system call in each "
     "turn",
     4, set_watch_pauses, "1"},
    {"memory", KEY_MEMORY, "MB", "memory for DPDK (by the ports)", 4, set_memory, "a number of MB"},
};

#define NDEFS (sizeof(defs) / sizeof(defs[0]))

/* What argp saw, to be applied last. */
struct given {
    const struct option_def *def[GIVEN_MAX];
    const char *value[GIVEN_MAX];
    unsigned n;
};

const char *argp_program_version = "nofd 0.1.0";

static const char doc[] =
    "The NIC offload daemon: runs NIC cores that move MPI messages for the ranks that attach to it.\v"
    "Every option can stand in the file (NAME = VALUE) and in the environment (NOF_NAME, dashes as "
    "underscores; lists separated by blanks). The command line wins over the environment, that over the "
    "file.\n\n"
    "Examples:\n"
    "  nofd --fabric 4 --socket @nof            four simulated NICs, no privileges needed\n"
    "  nofd --port net_af_xdp,iface=eth0        one real NIC beside the kernel (root)\n"
    "  nofd --port udp:10.0.0.1                 the same wire over a UDP socket (no privileges)\n"
    "  nof status                               asks a running daemon";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct given *given = state->input;

    if (key == ARGP_KEY_ARG) {
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    }
    for (size_t i = 0; i < NDEFS; i++) {
        if (defs[i].key != key)
            continue;
        if (given->n == GIVEN_MAX)
            argp_error(state, "more than %d options", GIVEN_MAX);
        given->def[given->n] = &defs[i];
        given->value[given->n++] = arg != NULL ? arg : "1";
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

/* A list given by a stronger source replaces the weaker one's. */
static void forget_list(struct nofd_options *o, const struct option_def *def, enum source source)
{
    static enum source port_source, ip_source;

    if (def->set == set_port && source > port_source) {
        port_source = source;
        o->nports = 0;
    }
    if (def->set == set_ip && source > ip_source) {
        ip_source = source;
        o->nips = 0;
    }
}

static void apply(struct nofd_options *o, const struct option_def *def, const char *value, enum source source,
                  const char *where)
{
    forget_list(o, def, source);
    if (def->set == NULL) {
        set_feature(o, value, where);
        return;
    }
    if (def->set(o, value) != 0) {
        fprintf(stderr, "nofd: %s: %s takes %s, not \"%s\"\n", where, def->name, def->wanted, value);
        exit(2);
    }
}

static const struct option_def *find(const char *name)
{
    for (size_t i = 0; i < NDEFS; i++)
        if (strcmp(defs[i].name, name) == 0)
            return &defs[i];
    return NULL;
}

/* NAME = VALUE; in the section [features], NAME is a feature. */
static int file_line(void *user, const char *section, const char *name, const char *value)
{
    struct nofd_options *o = user;
    const struct option_def *def = find(name);
    char text[512];

    if (strcmp(section, "features") == 0) {
        snprintf(text, sizeof(text), "%s=%s", name, value);
        set_feature(o, text, o->config);
        return 1;
    }
    if (def == NULL || strcmp(name, "config") == 0) {
        fprintf(stderr,
                "nofd: %s: unknown option \"%s\"; nofd --help lists all, features go under [features]\n",
                o->config, name);
        exit(2);
    }
    apply(o, def, value, FROM_FILE, o->config);
    return 1;
}

static void read_file(struct nofd_options *o)
{
    int rc = ini_parse(o->config, file_line, o);

    if (rc == 0)
        return;
    if (rc < 0)
        fprintf(stderr, "nofd: cannot read %s: %s\n", o->config,
                errno != 0 ? strerror(errno) : "out of memory");
    else
        fprintf(stderr, "nofd: %s: line %d is no NAME = VALUE\n", o->config, rc);
    exit(2);
}

static void read_environment(struct nofd_options *o)
{
    for (size_t i = 0; i < NDEFS; i++) {
        char name[64];
        size_t len = (size_t)snprintf(name, sizeof(name), "NOF_%s", defs[i].name);
        char *copy;
        char *rest;
        const char *value;

        for (size_t j = 0; j < len; j++)
            name[j] = name[j] == '-' ? '_' : (char)toupper((unsigned char)name[j]);
        value = nof_env(name);
        if (value == NULL)
            continue;
        if (defs[i].set != set_port && defs[i].set != set_ip && defs[i].set != NULL) {
            apply(o, &defs[i], value, FROM_ENVIRONMENT, name);
            continue;
        }
        copy = strdup(value);
        rest = copy;
        for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " "))
            if (*word != '\0')
                apply(o, &defs[i], word, FROM_ENVIRONMENT, name);
        free(copy);
    }
}

static void defaults(struct nofd_options *o)
{
    memset(o, 0, sizeof(*o));
    o->ready_fd = -1;
    o->cores_per_nic = 1;
    o->dma_timeout_ns = 5 * NOFD_S;
    o->idle_timeout_ns = 30 * NOFD_S;
    o->max_endpoints = 64;
    o->staging_bytes = 512u << 10;
    o->bounce_bytes = 512u << 10;
    nof_rundir_path(o->directory, sizeof(o->directory));
    snprintf(o->socket, sizeof(o->socket), "%s/nofd.sock", o->directory);
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        o->feature[i] = nof_feature_info[i].initial;
}

/* How many there are at most, beside what the table of options knows of each number. */
static void check_cores(struct nofd_options *o)
{
    unsigned n = o->cores_per_nic;
    unsigned base = o->udp_port != 0 ? o->udp_port : NOFD_UDP_PORT;

    if (o->cores == 0)
        o->cores = n;
    if (o->cores < n) {
        fprintf(stderr,
                "nofd: %u cores of each NIC on %u NIC core(s): each needs a thread of its own; give --cores "
                "%u, or "
                "--cores-per-nic %u\n",
                n, o->cores, n, o->cores);
        exit(2);
    }
    if (o->fabric.nics * n > NOF_FABRIC_PORTS_MAX) {
        fprintf(stderr,
                "nofd: %u simulated NICs with %u cores each are more than the %u ports of the simulated "
                "switch; give "
                "--fabric %u, or --cores-per-nic %u\n",
                o->fabric.nics, n, NOF_FABRIC_PORTS_MAX, NOF_FABRIC_PORTS_MAX / n,
                NOF_FABRIC_PORTS_MAX / o->fabric.nics);
        exit(2);
    }
    if (base + n - 1 > UINT16_MAX) {
        fprintf(stderr,
                "nofd: %u cores of a NIC need as many UDP ports, and from %u on there are %u; give "
                "--udp-port %u or "
                "less\n",
                n, base, UINT16_MAX - base + 1, UINT16_MAX - n + 1);
        exit(2);
    }
}

static void check(struct nofd_options *o)
{
    size_t len = strlen(o->socket);

    check_cores(o);

    /* It speaks into the output of its job. */
    if (o->private_job && !o->log_level_given)
        o->feature[NOF_F_LOG_LEVEL] = NOFD_LOG_WARNING;
    if (o->fabric.nics == 0 && o->nports == 0) {
        fprintf(stderr, "nofd: no NIC: give --fabric N for simulated ones, or --port DEV for a real one "
                        "(nofd --help)\n");
        exit(2);
    }
    /* The directory is made, and removed, only when it is needed. */
    if (strncmp(o->socket, o->directory, strlen(o->directory)) != 0 ||
        strchr(o->socket + strlen(o->directory) + 1, '/') != NULL)
        o->directory[0] = '\0';
    if (o->control[0] != '\0')
        return;
    if (len + 4 >= sizeof(o->control)) {
        fprintf(stderr, "nofd: the socket address is too long to append \".ctl\"; give --control ADDR\n");
        exit(2);
    }
    memcpy(o->control, o->socket, len);
    memcpy(o->control + len, ".ctl", 5);
}

void nofd_options_read(struct nofd_options *options, int argc, char **argv)
{
    static const char *const headings[] = {"Serving:", "Simulated NICs:", "Real NICs:", "Memory:"};
    struct argp_option list[NDEFS + 5];
    struct given given = {.n = 0};
    const struct argp argp = {.options = list, .parser = parse, .doc = doc};
    const char *config = nof_env("NOF_CONFIG");
    size_t n = 0;
    int group = 0;

    memset(list, 0, sizeof(list));
    for (size_t i = 0; i < NDEFS; i++) {
        if (defs[i].group != group) {
            group = defs[i].group;
            list[n++] = (struct argp_option){.doc = headings[group - 1], .group = group};
        }
        list[n++] = (struct argp_option){.name = defs[i].name,
                                         .key = defs[i].key,
                                         .arg = defs[i].arg,
                                         .doc = defs[i].help,
                                         .group = group};
    }
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &given);

    defaults(options);
    if (config != NULL)
        (void)set_config(options, config);
    for (unsigned i = 0; i < given.n; i++)
        if (given.def[i]->key == 'c')
            apply(options, given.def[i], given.value[i], FROM_COMMAND_LINE, "--config");
    if (options->config[0] != '\0')
        read_file(options);
    read_environment(options);
    for (unsigned i = 0; i < given.n; i++)
        apply(options, given.def[i], given.value[i], FROM_COMMAND_LINE, "command line");
    /* Whoever starts it for a job, or in the background, says so itself. */
    if (!options->private_job && !options->background)
        nof_known_env_check("nofd");
    check(options);
}
