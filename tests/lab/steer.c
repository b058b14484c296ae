/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steering program, verdict by verdict, run by the kernel over frames made here and the golden ones
 * (BPF_PROG_TEST_RUN): what it returns, and that exactly the right counter moves. Usage: steer WIRE.TXT */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "nof/port.h"

#include "steer_host.h"

#include "transport/wire.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif

#define SKIP 77

#define ETH 14u
#define IP (ETH)
#define UDP (ETH + 20u)
#define HEAD (ETH + 28u)

struct frame {
    uint8_t bytes[2048];
    uint32_t len;
};

#define OUR_IP 0x0a000002u
#define OUR_NIC 0x1122334455667788u
#define GROUP_IP 0xefc07080u
#define GOLDEN_NIC 100u
#define GOLDEN_CONN 0x1122334455660000u
#define DEAD NOF_PORT_CONN_DEAD
#define INDEX 0x0307u
#define CONN (0xabcdef0123450000u | INDEX) /* of a path that lives */

struct bench {
    struct bpf_object *object;
    int prog_fd;
    int stats_fd;
    int xsks_fd;
    int known_fd;
    int xsk;
    struct nof_steer_table *table;
};

static void be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static struct frame good(uint32_t len)
{
    struct frame f = {.len = len};
    uint8_t *b = f.bytes;

    be16(b + 12, 0x0800);
    b[IP] = 0x45;
    be16(b + IP + 2, len - ETH);
    b[IP + 8] = 64;
    b[IP + 9] = 17;
    be16(b + IP + 16, OUR_IP >> 16);
    be16(b + IP + 18, OUR_IP & 0xffff);
    be16(b + UDP, 50000);
    be16(b + UDP + 2, NOF_WIRE_UDP_PORT);
    be16(b + UDP + 4, len - UDP);
    b[HEAD + NOF_WIRE_VER] = NOF_WIRE_VERSION;
    nof_put16(b + HEAD + NOF_WIRE_LEN, (uint16_t)(len - HEAD));
    b[HEAD + NOF_WIRE_TYPE] = NOF_WIRE_DATA;
    nof_put64(b + HEAD + NOF_WIRE_CONN, CONN);
    return f;
}

static struct frame of_conn(uint64_t id)
{
    struct frame f = good(200);

    nof_put64(f.bytes + HEAD + NOF_WIRE_CONN, id);
    return f;
}

static struct frame version_of(uint8_t version)
{
    struct frame f = good(200);

    f.bytes[HEAD + NOF_WIRE_VER] = version;
    return f;
}

static struct frame to(uint32_t ip4, uint8_t type)
{
    struct frame f = good(200);

    be16(f.bytes + IP + 16, ip4 >> 16);
    be16(f.bytes + IP + 18, ip4 & 0xffff);
    f.bytes[HEAD + NOF_WIRE_TYPE] = type;
    return f;
}

static struct frame hello(uint64_t to_nic)
{
    struct frame f = of_conn(0);

    f.bytes[HEAD + NOF_WIRE_TYPE] = NOF_WIRE_HELLO;
    f.bytes[HEAD + NOF_WIRE_FIELDS] = NOF_WIRE_HELLO_BYTES;
    nof_put64(f.bytes + HEAD + NOF_WIRE_COMMON_BYTES + NOF_WIRE_HELLO_DST_NIC, to_nic);
    return f;
}

/* The same frame with a VLAN tag. */
static struct frame tagged(struct frame f, unsigned tags)
{
    for (unsigned i = 0; i < tags; i++) {
        memmove(f.bytes + 16, f.bytes + 12, f.len - 12);
        be16(f.bytes + 12, 0x8100);
        be16(f.bytes + 14, 7);
        f.len += 4;
    }
    return f;
}

static uint64_t counter(const struct bench *b, uint32_t verdict)
{
    int cpus = libbpf_num_possible_cpus();
    struct nof_steer_count *per_cpu = calloc((size_t)cpus, sizeof(*per_cpu));
    uint64_t sum = 0;

    if (!per_cpu || bpf_map_lookup_elem(b->stats_fd, &verdict, per_cpu) < 0)
        abort();
    for (int i = 0; i < cpus; i++)
        sum += per_cpu[i].frames;
    free(per_cpu);
    return sum;
}

static int failures;

static void expect(const struct bench *b, const char *what, struct frame f, uint32_t action, uint32_t verdict)
{
    uint64_t before[NOF_STEER_VERDICTS];
    struct xdp_md ctx = {.data_end = f.len, .ingress_ifindex = 1};
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.bytes, .data_size_in = f.len, .ctx_in = &ctx,
                .ctx_size_in = sizeof(ctx), .repeat = 1);

    for (uint32_t v = 0; v < NOF_STEER_VERDICTS; v++)
        before[v] = counter(b, v);
    if (bpf_prog_test_run_opts(b->prog_fd, &opts) < 0) {
        printf("%s: cannot be run: %s\n", what, strerror(errno));
        failures++;
        return;
    }
    if (opts.retval != action) {
        printf("%s: action %u, expected %u\n", what, opts.retval, action);
        failures++;
    }
    for (uint32_t v = 0; v < NOF_STEER_VERDICTS; v++)
        if (counter(b, v) - before[v] != (v == verdict)) {
            printf("%s: counter %s moved by %llu\n", what, nof_steer_name(v),
                   (unsigned long long)(counter(b, v) - before[v]));
            failures++;
        }
}

/* Puts a socket into the map for queue 0 of the loop-back interface, where the frames "arrive". */
static void serve(const struct bench *b, bool on)
{
    uint32_t queue = 0;
    int rc = on ? bpf_map_update_elem(b->xsks_fd, &queue, &b->xsk, BPF_ANY)
                : bpf_map_delete_elem(b->xsks_fd, &queue);

    if (rc < 0) {
        printf("the socket map cannot be changed: %s\n", strerror(errno));
        failures++;
    }
}

static void test_ours(const struct bench *b)
{
    struct frame f;

    expect(b, "well formed, queue served", good(200), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "smallest", good(HEAD + 32), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "largest", good(1514), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "one VLAN tag", tagged(good(200), 1), XDP_REDIRECT, NOF_STEER_TAKEN);
    f = good(100);
    f.len += 20; /* a switch may leave padding behind the packet */
    expect(b, "padding", f, XDP_REDIRECT, NOF_STEER_TAKEN);
    serve(b, false);
    expect(b, "nobody serves the queue", good(200), XDP_PASS, NOF_STEER_NO_SOCKET);
    serve(b, true);
}

static void test_malformed(const struct bench *b)
{
    struct frame f = good(200);

    expect(b, "a later version", version_of(NOF_WIRE_VERSION + 1), XDP_DROP, NOF_STEER_DROP_VERSION);
    expect(b, "an earlier version", version_of(NOF_WIRE_VERSION - 1), XDP_DROP, NOF_STEER_DROP_VERSION);
    nof_put16(f.bytes + HEAD + NOF_WIRE_LEN, 200 - HEAD + 1);
    expect(b, "header says more", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
    f = good(200);
    be16(f.bytes + UDP + 4, 200 - UDP - 1);
    expect(b, "UDP shorter than IP", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
    f = good(200);
    f.bytes[HEAD + NOF_WIRE_FIELDS] = 200 - HEAD - 32 + 1;
    expect(b, "fields beyond the end", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
    f.bytes[HEAD + NOF_WIRE_FIELDS]--;
    expect(b, "fields up to the end", f, XDP_REDIRECT, NOF_STEER_TAKEN);
    f = good(200);
    f.len = 150;
    expect(b, "cut off", f, XDP_DROP, NOF_STEER_DROP_SHORT);
    f = good(HEAD + 31);
    expect(b, "shorter than the common header", f, XDP_DROP, NOF_STEER_DROP_SHORT);
    f = good(HEAD);
    be16(f.bytes + IP + 2, 27);
    expect(b, "IP ends inside UDP", f, XDP_DROP, NOF_STEER_DROP_SHORT);
    f = good(200);
    be16(f.bytes + IP + 6, 0x2000);
    expect(b, "first fragment", f, XDP_DROP, NOF_STEER_DROP_FRAGMENT);
}

/* IP options move UDP, so this frame is made by hand. */
static void test_options(const struct bench *b)
{
    struct frame f = good(200);

    memmove(f.bytes + UDP + 4, f.bytes + UDP, f.len - UDP);
    memset(f.bytes + UDP, 1, 4);
    f.bytes[IP] = 0x46;
    f.len += 4;
    be16(f.bytes + IP + 2, f.len - ETH);
    expect(b, "IP options", f, XDP_DROP, NOF_STEER_DROP_OPTIONS);
}

static void test_foreign(const struct bench *b)
{
    struct frame f = good(200);

    be16(f.bytes + UDP + 2, 53);
    expect(b, "another port", f, XDP_PASS, NOF_STEER_PASSED);
    f = good(200);
    f.bytes[IP + 9] = 6;
    expect(b, "TCP", f, XDP_PASS, NOF_STEER_PASSED);
    f = good(200);
    be16(f.bytes + 12, 0x0806);
    expect(b, "ARP", f, XDP_PASS, NOF_STEER_PASSED);
    f = good(200);
    be16(f.bytes + 12, 0x86dd);
    expect(b, "IPv6", f, XDP_PASS, NOF_STEER_PASSED);
    f = good(200);
    be16(f.bytes + IP + 6, 0x0010);
    expect(b, "later fragment", f, XDP_PASS, NOF_STEER_PASSED);
    expect(b, "two VLAN tags", tagged(good(200), 2), XDP_PASS, NOF_STEER_PASSED);
    f = good(200);
    f.len = ETH;
    expect(b, "Ethernet header only", f, XDP_PASS, NOF_STEER_PASSED);
    f.len = UDP + 4;
    expect(b, "ends before the port is known", f, XDP_PASS, NOF_STEER_PASSED);
}

/* What a path of one core is welcome with is a stranger's to another. */
static void test_cores(const struct bench *b)
{
    struct nof_steer_self self = {.nic_id = OUR_NIC + 1, .ip4 = OUR_IP, .max_paths = 1};
    const uint64_t id = CONN & ~(uint64_t)0xffff;
    struct nof_steer_table *last = NULL;
    struct frame f = of_conn(id);

    nof_put_be16(f.bytes + HEAD - 6, NOF_STEER_PORT + NOF_STEER_CORES - 1);
    expect(b, "a core that is not there", f, XDP_PASS, NOF_STEER_PASSED);
    if (nof_steer_table_open(b->known_fd, NOF_STEER_CORES - 1, &self, &last) != 0)
        exit(1);
    expect(b, "another core, no path", f, XDP_DROP, NOF_STEER_DROP_CONN);
    nof_steer_table_conn(last, DEAD, id);
    expect(b, "another core, its path", f, XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "that one's id at the first core", of_conn(id), XDP_DROP, NOF_STEER_DROP_CONN);
    nof_put_be16(f.bytes + HEAD - 6, NOF_STEER_PORT + NOF_STEER_CORES);
    expect(b, "a port behind the last core's", f, XDP_PASS, NOF_STEER_PASSED);
    nof_steer_table_close(last);
}

static void test_paths(const struct bench *b)
{
    uint64_t first = 0x7700000000000000u, last = first | 0xffffu;

    expect(b, "of a path", of_conn(CONN), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "of nobody", of_conn(CONN ^ 1ull << 63), XDP_DROP, NOF_STEER_DROP_CONN);
    expect(b, "of nobody, at a path without a place", of_conn(CONN + 1), XDP_DROP, NOF_STEER_DROP_CONN);
    expect(b, "without an id, no handshake", of_conn(0), XDP_DROP, NOF_STEER_DROP_CONN);
    expect(b, "of nobody, VLAN tag", tagged(of_conn(CONN + 1), 1), XDP_DROP, NOF_STEER_DROP_CONN);
    expect(b, "of a path, VLAN tag", tagged(good(200), 1), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "not yet known", of_conn(last), XDP_DROP, NOF_STEER_DROP_CONN);
    nof_steer_table_conn(b->table, DEAD, first);
    nof_steer_table_conn(b->table, DEAD + 0xffff, last);
    expect(b, "first path", of_conn(first), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "last path", of_conn(last), XDP_REDIRECT, NOF_STEER_TAKEN);
    nof_steer_table_conn(b->table, DEAD, first ^ 1ull << 40);
    expect(b, "another path has its place", of_conn(first), XDP_DROP, NOF_STEER_DROP_CONN);
    nof_steer_table_conn(b->table, DEAD + 0xffff, 0);
    expect(b, "gone", of_conn(last), XDP_DROP, NOF_STEER_DROP_CONN);
}

static void test_dead_paths(const struct bench *b)
{
    uint64_t id = 0x5500000000001234u;

    for (uint32_t i = 0; i < DEAD; i++)
        nof_steer_table_conn(b->table, i, id + ((uint64_t)i << 32));
    for (uint32_t i = 0; i < DEAD; i++)
        expect(b, "of a path that died lately", of_conn(id + ((uint64_t)i << 32)), XDP_REDIRECT,
               NOF_STEER_TAKEN);
    nof_steer_table_conn(b->table, DEAD - 1, 99);
    expect(b, "of one that died long ago", of_conn(id + ((uint64_t)(DEAD - 1) << 32)), XDP_DROP,
           NOF_STEER_DROP_CONN);
}

static void test_handshakes(const struct bench *b)
{
    struct frame f;

    expect(b, "handshake", hello(OUR_NIC), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "handshake, VLAN tag", tagged(hello(OUR_NIC), 1), XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "with another NIC", hello(OUR_NIC + 1), XDP_DROP, NOF_STEER_DROP_HELLO);
    expect(b, "with another NIC, upper half", hello(OUR_NIC ^ 1ull << 60), XDP_DROP, NOF_STEER_DROP_HELLO);
    f = hello(OUR_NIC);
    f.bytes[HEAD + NOF_WIRE_FIELDS]--;
    expect(b, "other fields", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
    f = hello(OUR_NIC);
    nof_put64(f.bytes + HEAD + NOF_WIRE_CONN, CONN + 1);
    expect(b, "with an id of nobody", f, XDP_DROP, NOF_STEER_DROP_CONN);
}

static void test_groups(const struct bench *b)
{
    struct frame mdata = to(GROUP_IP, NOF_WIRE_MDATA);

    expect(b, "group not joined", mdata, XDP_DROP, NOF_STEER_DROP_GROUP);
    for (uint32_t i = 0; i < NOF_STEER_GROUPS; i++)
        nof_steer_table_group(b->table, GROUP_IP + i, true);
    expect(b, "first group", mdata, XDP_REDIRECT, NOF_STEER_TAKEN);
    expect(b, "last group", to(GROUP_IP + NOF_STEER_GROUPS - 1, NOF_WIRE_MDATA), XDP_REDIRECT,
           NOF_STEER_TAKEN);
    expect(b, "beside the groups", to(GROUP_IP - 1, NOF_WIRE_MDATA), XDP_DROP, NOF_STEER_DROP_GROUP);
    expect(b, "group, another type", to(GROUP_IP, NOF_WIRE_DATA), XDP_DROP, NOF_STEER_DROP_GROUP);
    nof_steer_table_group(b->table, GROUP_IP, false);
    expect(b, "group left", mdata, XDP_DROP, NOF_STEER_DROP_GROUP);
    expect(b, "group that moved", to(GROUP_IP + NOF_STEER_GROUPS - 1, NOF_WIRE_MDATA), XDP_REDIRECT,
           NOF_STEER_TAKEN);
    expect(b, "MDATA to ourselves", to(OUR_IP, NOF_WIRE_MDATA), XDP_REDIRECT, NOF_STEER_TAKEN);
}

/* Of other daemons of this host, and of hosts behind it. */
static void test_other_addresses(const struct bench *b)
{
    struct frame f = to(OUR_IP + 1, NOF_WIRE_DATA);

    expect(b, "another address", f, XDP_PASS, NOF_STEER_PASSED);
    f.bytes[HEAD + NOF_WIRE_VER] = NOF_WIRE_VERSION + 1;
    expect(b, "another address, another version", f, XDP_PASS, NOF_STEER_PASSED);
    expect(b, "broadcast", to(UINT32_MAX, NOF_WIRE_DATA), XDP_PASS, NOF_STEER_PASSED);
}

static uint32_t from_hex(const char *hex, struct frame *f)
{
    for (f->len = 0; hex[0] != '-' && hex[0] != '\0' && hex[1] != '\0' && f->len < sizeof(f->bytes);
         hex += 2) {
        char two[3] = {hex[0], hex[1], '\0'};

        f->bytes[f->len++] = (uint8_t)strtoul(two, NULL, 16);
    }
    return f->len;
}

/* Those that the core takes pass, and so does what only the core can tell. */
static void test_golden(const struct bench *b, FILE *file)
{
    static char hex[2 * sizeof(((struct frame *)0)->bytes) + 2];
    char name[64], verdict[64];
    unsigned lines = 0;
    struct frame f;

    while (fscanf(file, "%63s %63s %4097s", name, verdict, hex) == 3) {
        lines++;
        if (from_hex(hex, &f) < ETH)
            continue;
        if (strcmp(verdict, "ok") == 0 || strcmp(verdict, "drop.crc") == 0)
            expect(b, name, f, XDP_REDIRECT, NOF_STEER_TAKEN);
        if (strcmp(verdict, "drop.version") == 0)
            expect(b, name, f, XDP_DROP, NOF_STEER_DROP_VERSION);
        if (strcmp(verdict, "drop.conn") == 0)
            expect(b, name, f, XDP_DROP, NOF_STEER_DROP_CONN);
    }
    if (lines < 50) {
        printf("%u golden frames only\n", lines);
        failures++;
    }
}

/* What a stranger's frame costs: a figure, not a proof. */
static void show_cost(const struct bench *b, const char *what, struct frame f)
{
    struct xdp_md ctx = {.data_end = f.len, .ingress_ifindex = 1};
    LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f.bytes, .data_size_in = f.len, .ctx_in = &ctx,
                .ctx_size_in = sizeof(ctx), .repeat = 1000000);

    if (getenv("T_VERBOSE") && bpf_prog_test_run_opts(b->prog_fd, &opts) == 0)
        printf("%s: %u ns\n", what, opts.duration);
}

static int load(struct bench *b)
{
    char path[64];
    int object_fd;

    if (nof_steer_object_fd(&object_fd) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", object_fd);
    b->object = bpf_object__open_file(path, NULL);
    close(object_fd);
    if (!b->object || bpf_object__load(b->object) < 0)
        return -1;
    b->prog_fd = bpf_program__fd(bpf_object__next_program(b->object, NULL));
    b->stats_fd = bpf_object__find_map_fd_by_name(b->object, NOF_STEER_STATS);
    b->xsks_fd = bpf_object__find_map_fd_by_name(b->object, NOF_STEER_XSKS);
    b->known_fd = bpf_object__find_map_fd_by_name(b->object, NOF_STEER_KNOWN);
    b->xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    return b->prog_fd < 0 || b->stats_fd < 0 || b->xsks_fd < 0 || b->known_fd < 0 || b->xsk < 0 ? -1 : 0;
}

__attribute__((format(printf, 2, 0))) static int quiet(enum libbpf_print_level level, const char *format,
                                                       va_list args)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static bool know(struct bench *b, uint64_t nic_id, uint32_t max_paths)
{
    struct nof_steer_self self = {.nic_id = nic_id, .ip4 = OUR_IP, .max_paths = max_paths};
    int rc;

    nof_steer_table_close(b->table);
    rc = nof_steer_table_open(b->known_fd, 0, &self, &b->table);
    if (rc < 0)
        printf("no table: %s\n", strerror(-rc));
    return rc == 0;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    FILE *golden = argc == 2 ? fopen(argv[1], "r") : NULL;

    if (golden == NULL) {
        fprintf(stderr, "cannot open the golden frames: usage: %s wire.txt\n", argv[0]);
        return 2;
    }
    if (geteuid() != 0) {
        printf("SKIP: loading an XDP program needs root\n");
        return SKIP;
    }
    libbpf_set_print(quiet);
    if (load(&b) < 0) {
        if (errno != EPERM && errno != ENOSYS && errno != EAFNOSUPPORT)
            failures = 1;
        printf("%s: the steering program cannot be loaded here: %s\n", failures ? "FAIL" : "SKIP",
               strerror(errno));
        return failures ? 1 : SKIP;
    }
    serve(&b, true);
    test_ours(&b);
    test_malformed(&b);
    test_options(&b);
    test_foreign(&b);
    show_cost(&b, "dropped for its version, no table", version_of(99));
    /* All of that again with a table in which the path is, and what only a table tells. */
    if (!know(&b, OUR_NIC, NOF_STEER_PATHS))
        return 1;
    expect(&b, "not known yet", good(200), XDP_DROP, NOF_STEER_DROP_CONN);
    nof_steer_table_conn(b.table, DEAD + INDEX, CONN);
    show_cost(&b, "a stranger's, no path has died", of_conn(CONN + 1));
    test_ours(&b);
    test_malformed(&b);
    test_options(&b);
    test_foreign(&b);
    test_paths(&b);
    test_cores(&b);
    test_dead_paths(&b);
    test_handshakes(&b);
    test_groups(&b);
    test_other_addresses(&b);
    show_cost(&b, "a path's", good(200));
    show_cost(&b, "a stranger's, 64 have died", of_conn(CONN + 1));
    show_cost(&b, "a stranger's handshake", hello(1));
    /* The NIC and the path that the golden frames are for. */
    if (!know(&b, GOLDEN_NIC, 1))
        return 1;
    nof_steer_table_conn(b.table, DEAD + (uint16_t)GOLDEN_CONN, GOLDEN_CONN);
    nof_steer_table_group(b.table, GROUP_IP, true);
    test_golden(&b, golden);
    expect(&b, "beyond a small table", of_conn(GOLDEN_CONN + 64), XDP_DROP, NOF_STEER_DROP_CONN);
    fclose(golden);
    nof_steer_table_close(b.table);
    bpf_object__close(b.object);
    return failures ? 1 : 0;
}
