/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steering program, verdict by verdict, run by the kernel over frames made here
 * (BPF_PROG_TEST_RUN): what it returns, and that exactly the right counter moves. */
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

struct bench {
    struct bpf_object *object;
    int prog_fd;
    int stats_fd;
    int xsks_fd;
    int xsk;
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
    be16(b + UDP, 50000);
    be16(b + UDP + 2, NOF_WIRE_UDP_PORT);
    be16(b + UDP + 4, len - UDP);
    b[HEAD + NOF_WIRE_VER] = NOF_WIRE_VERSION;
    nof_put16(b + HEAD + NOF_WIRE_LEN, (uint16_t)(len - HEAD));
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

    f.bytes[HEAD + NOF_WIRE_VER] = NOF_WIRE_VERSION + 1;
    expect(b, "another version", f, XDP_DROP, NOF_STEER_DROP_VERSION);
    f = good(200);
    nof_put16(f.bytes + HEAD + NOF_WIRE_LEN, 200 - HEAD + 1);
    expect(b, "header says more", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
    f = good(200);
    be16(f.bytes + UDP + 4, 200 - UDP - 1);
    expect(b, "UDP shorter than IP", f, XDP_DROP, NOF_STEER_DROP_LENGTH);
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
    b->xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    return b->prog_fd < 0 || b->stats_fd < 0 || b->xsks_fd < 0 || b->xsk < 0 ? -1 : 0;
}

__attribute__((format(printf, 2, 0))) static int quiet(enum libbpf_print_level level, const char *format,
                                                       va_list args)
{
    return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

int main(void)
{
    struct bench b = {0};

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
    bpf_object__close(b.object);
    return failures ? 1 : 0;
}
