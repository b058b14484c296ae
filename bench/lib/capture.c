/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include "child.h"
#include "scratch.h"

#include "transport/wire.h"

#define PORT "p0"
#define BUFFER_BYTES (64 << 20)
#define QUIET_NS 30000000ull /* without a frame: all that was given to the NIC is on the wire */
#define ASK_MS 60u /* likewise without one between two looks at the counters */
#define PATIENCE_NS 5000000000ull
#define POLL_MS 1
#define ASK_S 20u

static int open_at(const struct nof_lab *lab)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    char path[NOF_LAB_NAME_BYTES + 16];
    int room = BUFFER_BYTES, fd = -1, ns;

    snprintf(path, sizeof(path), "/run/netns/%s", lab->sw);
    ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns >= 0 && setns(ns, CLONE_NEWNET) == 0)
        fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
    if (ns >= 0)
        close(ns);
    at.sll_ifindex = (int)if_nametoindex(PORT);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    return fd;
}

/* Payload in a frame of which the first n bytes are there: of a message of ours, or of TCP. */
static unsigned payload_of(const uint8_t *frame, size_t n)
{
    const uint8_t *ip = frame + ETH_HLEN, *body;
    unsigned ip_header, all;

    if (n < NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES || frame[12] != 8 || frame[13] != 0)
        return 0;
    ip_header = (ip[0] & 15u) * 4;
    all = (unsigned)ip[2] << 8 | ip[3];
    if (ip[9] == IPPROTO_TCP)
        return all - ip_header - (ip[ip_header + 12] >> 4) * 4u;
    body = frame + NOF_WIRE_OUTER_BYTES;
    if (ip[9] != IPPROTO_UDP ||
        (body[NOF_WIRE_TYPE] != NOF_WIRE_MSG && body[NOF_WIRE_TYPE] != NOF_WIRE_MSG_MORE &&
         body[NOF_WIRE_TYPE] != NOF_WIRE_DATA))
        return 0;
    return (body[NOF_WIRE_LEN] | (unsigned)body[NOF_WIRE_LEN + 1] << 8) - NOF_WIRE_COMMON_BYTES -
           body[NOF_WIRE_FIELDS];
}

/* What the host has sent since; the switch's own frames towards it are none. */
static void drain(struct nof_capture *c)
{
    struct pollfd wait = {.fd = c->fd, .events = POLLIN};
    uint8_t frame[128];

    (void)poll(&wait, 1, POLL_MS);
    for (;;) {
        struct sockaddr_ll from;
        socklen_t len = sizeof(from);
        ssize_t n = recvfrom(c->fd, frame, sizeof(frame), MSG_DONTWAIT, (struct sockaddr *)&from, &len);

        if (n < 0)
            return;
        if (from.sll_pkttype == PACKET_OUTGOING)
            continue;
        c->now.frames++;
        c->now.bytes += payload_of(frame, (size_t)n);
        c->last_ns = nof_bench_now_ns();
    }
}

/* Since the cue was given, or the last frame was seen, long enough? */
static bool is_settled(const struct nof_capture *c, uint64_t given_ns)
{
    uint64_t now_ns = nof_bench_now_ns(), since_ns = c->last_ns > given_ns ? c->last_ns : given_ns;

    return now_ns - since_ns >= QUIET_NS || now_ns - given_ns >= PATIENCE_NS;
}

static void take_text(void *ctx, const char *text)
{
    strncat(ctx, text, (1u << 20) - 1 - strlen(ctx));
}

static void ask(struct nof_capture *c)
{
    static char text[1u << 20];
    char control[80];
    const char *const argv[] = {c->bed->nof, "stats", "--json", "--control", control, NULL};

    snprintf(control, sizeof(control), "%s.ctl", c->bed->socket);
    text[0] = '\0';
    if (nof_bench_spawn(argv, NULL, ASK_S, take_text, text) == 0) {
        json_t *stats = json_loads(text, 0, NULL);
        const json_t *nic = json_array_get(json_object_get(stats, "rows"), 0);

        c->now.frames =
            json_number_value(json_object_get(json_object_get(nic, "counters"), "port.tx_frames"));
        c->now.bytes = json_number_value(json_object_get(json_object_get(nic, "counters"), "dma.read_bytes"));
        json_decref(stats);
    }
}

static void ask_until_settled(struct nof_capture *c)
{
    uint64_t began_ns = nof_bench_now_ns();
    double before;

    do {
        before = c->now.frames;
        nof_bench_sleep_ms(ASK_MS);
        ask(c);
    } while (c->now.frames != before && nof_bench_now_ns() - began_ns < PATIENCE_NS);
}

static void *watch(void *arg)
{
    struct nof_capture *c = arg;
    uint64_t given_ns = 0; /* when the next cue was seen; 0: not yet */

    c->fd = c->lab != NULL ? open_at(c->lab) : -1;
    c->failed = c->lab != NULL && c->fd < 0;
    sem_post(&c->ready);
    while (!c->failed && !__atomic_load_n(&c->over, __ATOMIC_ACQUIRE)) {
        char cue[NOF_BENCH_PATH_BYTES + 16];

        if (c->fd >= 0)
            drain(c);
        else
            nof_bench_sleep_ms(POLL_MS);
        snprintf(cue, sizeof(cue), "%s.%u", c->path, c->cues);
        if (given_ns == 0 && access(cue, F_OK) == 0)
            given_ns = nof_bench_now_ns();
        if (given_ns == 0 || !is_settled(c, given_ns))
            continue;
        if (c->fd < 0)
            ask_until_settled(c);
        if (c->cues < NOF_CAPTURE_CUES)
            c->at[c->cues++] = c->now;
        given_ns = 0;
        (void)unlink(cue);
    }
    if (c->fd >= 0)
        close(c->fd);
    return NULL;
}

const char *nof_capture_begin(struct nof_capture *c, const struct nof_testbed *bed, const struct nof_lab *lab)
{
    *c = (struct nof_capture){.bed = bed, .lab = lab, .fd = -1};
    snprintf(c->path, sizeof(c->path), "%s/cue", nof_bench_scratch());
    if (sem_init(&c->ready, 0, 0) != 0 || pthread_create(&c->thread, NULL, watch, c) != 0)
        return "no thread for the capture of frames";
    while (sem_wait(&c->ready) != 0 && errno == EINTR)
        continue;
    if (!c->failed)
        return NULL;
    nof_capture_end(c);
    return "frames cannot be captured at the switch: this kernel may lack AF_PACKET";
}

void nof_capture_end(struct nof_capture *c)
{
    __atomic_store_n(&c->over, true, __ATOMIC_RELEASE);
    (void)pthread_join(c->thread, NULL);
    (void)sem_destroy(&c->ready);
}
