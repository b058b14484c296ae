/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two NICs with 1, 2 and 4 cores each, every core a thread of its own (cores_wire.h): the ranks of both send each
 * other messages of all sizes, and what each has received is the same, to the byte, however many cores there are and
 * whatever their threads do. Rings of a few frames fill all the time; links with rate, delay, loss and duplicates go
 * through the switch, which one of the threads runs.
 *
 *   cores [MESSAGES]     of each rank to each other one */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nof/core.h"
#include "nof_private/buf_cursor.h"
#include "cores_wire.h"

#define RANKS 8u /* the first half on the first NIC */
#define MESSAGES_MAX 64u
#define BURST 32u
#define STALL_NS 10000000u
#define PATIENCE_NS 100000000000ull
#define DEAD_AFTER_MS 20000u /* threads of a busy machine may rest for long */

static const uint32_t sizes[] = {0, 1, 64, 700, 3000, 9000, 40000};

struct rank {
    struct core *core;
    unsigned number;
    uint32_t endpoint;
    struct nof_card card;
    uint8_t *buffer[RANKS][MESSAGES_MAX]; /* of receives, by source */
    uint8_t *out[RANKS][MESSAGES_MAX]; /* of sends, by destination */
    unsigned nsubmitted; /* descriptors */
    unsigned received, sent;
    uint64_t digest;
    char problem[128];
};

struct core {
    struct run *run;
    struct nof_nic *nic;
    struct wire *wire;
    void *memory;
    struct rank *rank[RANKS]; /* by endpoint */
    unsigned nranks;
    bool told[RANKS];
};

struct thread {
    struct run *run;
    unsigned number;
    pthread_t posix;
};

struct run {
    struct wire wire[NICS * CORES_MAX];
    struct core core[NICS * CORES_MAX];
    struct rank rank[RANKS];
    unsigned ncores, messages;
    unsigned ready; /* crosses: ranks that have all */
    uint64_t end_ns;
};

static uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t size_of(unsigned src, unsigned dst, unsigned k)
{
    return sizes[(src * 5 + dst * 3 + k) % (sizeof(sizes) / sizeof(sizes[0]))];
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint8_t byte_of(unsigned src, unsigned dst, unsigned k, uint32_t at)
{
    return (uint8_t)mix((uint64_t)src << 48 | (uint64_t)dst << 40 | (uint64_t)k << 32 | at);
}

static int dma(const struct nof_segment *remote, unsigned nremote, const struct nof_buf *local,
               unsigned nlocal, bool write)
{
    struct nof_buf_cursor c = nof_buf_begin(local, nlocal);

    for (unsigned i = 0; i < nremote; i++)
        if (!nof_buf_move(&c, (uint8_t *)(uintptr_t)remote[i].addr, remote[i].len_bytes, write))
            return NOF_EFAULT;
    return nof_buf_ended(&c) ? NOF_DMA_DONE : NOF_EFAULT;
}

static int dma_read(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host;
    (void)endpoint;
    (void)token;
    return dma(remote, nremote, local, nlocal, false);
}

static int dma_write(void *host, uint32_t endpoint, const struct nof_segment *remote, unsigned nremote,
                     const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    (void)host;
    (void)endpoint;
    (void)token;
    return dma(remote, nremote, local, nlocal, true);
}

static void problem(struct rank *r, const char *what, const struct nof_comp *c)
{
    if (r->problem[0] == '\0')
        snprintf(r->problem, sizeof(r->problem), "rank %u: %s, opcode %u from %d, tag %d: %s", r->number,
                 what, c->opcode, c->peer, c->tag, nof_strstatus(c->status));
}

static void received(struct rank *r, const struct nof_comp *c)
{
    unsigned src = (unsigned)c->peer, k = (unsigned)c->tag;
    uint32_t size;
    uint64_t sum = 0;

    if (src >= RANKS || k >= MESSAGES_MAX || c->cookie != (uint64_t)src * MESSAGES_MAX + k) {
        problem(r, "that was not asked for", c);
        return;
    }
    size = size_of(src, r->number, k);
    if (c->len != size)
        problem(r, "another length", c);
    if (c->flags & NOF_COMP_F_INLINE)
        memcpy(r->buffer[src][k], c->inline_data, size <= NOF_INLINE_BYTES ? size : 0);
    for (uint32_t i = 0; i < size; i++) {
        if (r->buffer[src][k][i] != byte_of(src, r->number, k, i)) {
            problem(r, "another byte", c);
            return;
        }
        sum = mix(sum + r->buffer[src][k][i]);
    }
    r->digest += mix(sum ^ (uint64_t)src << 32 ^ k);
    r->received++;
}

static unsigned complete(void *host, uint32_t endpoint, const struct nof_comp *comps, unsigned n)
{
    struct rank *r = ((struct core *)host)->rank[endpoint];

    for (unsigned i = 0; i < n; i++) {
        if (comps[i].status != NOF_OK)
            problem(r, "failed", &comps[i]);
        else if (comps[i].opcode == NOF_COMP_RECV)
            received(r, &comps[i]);
        else
            r->sent += comps[i].opcode == NOF_COMP_SEND;
    }
    return n;
}

static void endpoint_failed(void *host, uint32_t endpoint, int status)
{
    struct nof_comp c = {.status = (int16_t)status};

    problem(((struct core *)host)->rank[endpoint], "its endpoint failed", &c);
}

static uint64_t cycles(void *host)
{
    (void)host;
    return 0;
}

static const struct nof_host_ops host_ops = {.dma_read = dma_read,
                                             .dma_write = dma_write,
                                             .complete = complete,
                                             .endpoint_failed = endpoint_failed,
                                             .cycles = cycles};

static uint64_t address(const void *mem)
{
    return (uint64_t)(uintptr_t)mem;
}

/* First who the others are, then all receives, then all sends. */
static unsigned desc_count(const struct run *run)
{
    return (RANKS - 1) * (1 + 2 * run->messages);
}

static struct nof_desc desc_at(struct rank *r, unsigned i)
{
    const struct run *run = r->core->run;
    unsigned other = (r->number + 1 + i % (RANKS - 1)) % RANKS, k = i / (RANKS - 1);
    struct nof_desc d = {.ctx = 1, .peer = (int32_t)other};

    if (k == 0) {
        d.opcode = NOF_DESC_PEER;
        memcpy(d.inline_data, &run->rank[other].card, sizeof(struct nof_card));
        return d;
    }
    k--;
    d.opcode = k < run->messages ? NOF_DESC_RECV : NOF_DESC_SEND;
    k %= run->messages;
    d.tag = (int32_t)k;
    if (d.opcode == NOF_DESC_RECV) {
        d.cookie = (uint64_t)other * MESSAGES_MAX + k;
        d.len = size_of(other, r->number, k);
        d.addr = address(r->buffer[other][k]);
        return d;
    }
    d.len = size_of(r->number, other, k);
    d.addr = address(r->out[other][k]);
    return d;
}

static unsigned submit(struct core *c, uint64_t now_ns)
{
    unsigned work = 0;

    for (unsigned i = 0; i < c->nranks; i++) {
        struct rank *r = c->rank[i];
        struct nof_desc descs[BURST];
        unsigned room = nof_nic_host_room(c->nic, r->endpoint), n = 0;

        for (; n < BURST && n < room && r->nsubmitted < desc_count(c->run); n++)
            descs[n] = desc_at(r, r->nsubmitted++);
        if (n > 0)
            nof_nic_host(c->nic, now_ns, r->endpoint, descs, n);
        work += n;
    }
    return work;
}

static bool has_all(const struct rank *r, const struct run *run)
{
    unsigned all = (RANKS - 1) * run->messages;

    return r->problem[0] != '\0' || (r->received == all && r->sent == all);
}

static unsigned turn(struct core *c, uint64_t now_ns)
{
    struct nof_frame *frames[BURST];
    unsigned work = wire_rx(c->wire, now_ns, frames, BURST);

    if (work > 0) {
        nof_nic_rx(c->nic, now_ns, frames, work);
        wire_rx_done(c->wire, frames, work);
    }
    work += submit(c, now_ns);
    work += (unsigned)(nof_nic_poll(c->nic, now_ns, BURST) != 0);
    wire_flush(c->wire, now_ns);
    return work;
}

static void count_ready(struct core *c)
{
    for (unsigned i = 0; i < c->nranks; i++) {
        if (c->told[i] || !has_all(c->rank[i], c->run))
            continue;
        c->told[i] = true;
        (void)__atomic_fetch_add(&c->run->ready, 1, __ATOMIC_RELEASE);
    }
}

/* Nobody leaves before all have all: the others may need an acknowledgement yet. */
static void *thread_main(void *arg)
{
    const struct thread *t = arg;
    struct run *run = t->run;
    uint64_t now_ns = clock_ns();

    while (__atomic_load_n(&run->ready, __ATOMIC_ACQUIRE) < RANKS && now_ns < run->end_ns) {
        uint64_t next_ns = clock_ns();
        unsigned work = 0;

        for (unsigned i = 0; i < NICS * run->ncores; i++) {
            struct core *c = &run->core[i];

            if (c->wire->thread != t->number)
                continue;
            if (next_ns - now_ns > STALL_NS)
                nof_nic_stalled(c->nic, next_ns, next_ns - now_ns);
            work += turn(c, next_ns);
            count_ready(c);
        }
        now_ns = next_ns;
        if (work == 0)
            sched_yield();
    }
    return NULL;
}

static void *must(void *mem)
{
    if (mem == NULL)
        abort();
    return mem;
}

static void core_open(struct run *run, unsigned index)
{
    struct core *c = &run->core[index];
    struct nof_nic_config cfg = {.nic_id = 1000 + index,
                                 .seed = {(uint8_t)(1 + index)},
                                 .udp_port = (uint16_t)(48620 + index % run->ncores),
                                 .group_port = 48620,
                                 .ip4 = 0x0a000001 + index / run->ncores,
                                 .host_id = 1 + index / run->ncores,
                                 .mtu_bytes = 1500};

    c->run = run;
    c->wire = &run->wire[index];
    memcpy(cfg.mac, c->wire->mac, sizeof(cfg.mac));
    c->memory = must(aligned_alloc(64, (nof_nic_mem_size(&cfg) + 63) / 64 * 64));
    if (nof_nic_init(c->memory, nof_nic_mem_size(&cfg), &cfg, c->wire->ops, c->wire->port, &host_ops, c,
                     clock_ns(), &c->nic) != NOF_OK)
        abort();
    (void)nof_nic_feature_set(c->nic, NOF_F_DEAD_AFTER, DEAD_AFTER_MS);
}

static uint8_t *message(unsigned src, unsigned dst, unsigned k, bool filled)
{
    uint32_t size = size_of(src, dst, k);
    uint8_t *mem = must(calloc(1, size + 1));

    for (uint32_t i = 0; filled && i < size; i++)
        mem[i] = byte_of(src, dst, k, i);
    return mem;
}

/* Ranks of a NIC are dealt over its cores in turn. */
static void rank_open(struct run *run, unsigned number)
{
    struct rank *r = &run->rank[number];
    unsigned nic = number / (RANKS / NICS);
    struct core *c = &run->core[nic * run->ncores + number % run->ncores];
    struct nof_endpoint_params params = {
        .job_id = 7, .job_key = {1, 2, 3}, .rank = number, .size = RANKS, .dma_inline = true};

    r->number = number;
    r->core = c;
    if (nof_nic_endpoint_open(c->nic, clock_ns(), &params, &r->endpoint, &r->card) != NOF_OK ||
        r->endpoint != c->nranks)
        abort();
    c->rank[c->nranks++] = r;
    for (unsigned other = 0; other < RANKS; other++)
        for (unsigned k = 0; k < run->messages; k++) {
            r->buffer[other][k] = message(other, number, k, false);
            r->out[other][k] = message(number, other, k, true);
        }
}

static void open_all(struct run *run, unsigned kind)
{
    wires_open(run->ncores, kind, run->wire);
    for (unsigned i = 0; i < NICS * run->ncores; i++)
        core_open(run, i);
    for (unsigned i = 0; i < RANKS; i++)
        rank_open(run, i);
}

/* Every frame is back where it came from. */
static bool close_all(struct run *run)
{
    bool good;

    for (unsigned i = 0; i < NICS * run->ncores; i++)
        nof_nic_fini(run->core[i].nic);
    good = wires_close();
    for (unsigned i = 0; i < NICS * run->ncores; i++)
        free(run->core[i].memory);
    for (unsigned r = 0; r < RANKS; r++)
        for (unsigned other = 0; other < RANKS; other++)
            for (unsigned k = 0; k < run->messages; k++) {
                free(run->rank[r].buffer[other][k]);
                free(run->rank[r].out[other][k]);
            }
    return good;
}

static void run_threads(struct run *run)
{
    struct thread threads[NICS * CORES_MAX];
    unsigned n = 0;

    for (unsigned i = 0; i < NICS * run->ncores; i++)
        n = run->wire[i].thread >= n ? run->wire[i].thread + 1 : n;
    for (unsigned i = 0; i < n; i++) {
        threads[i] = (struct thread){.run = run, .number = i};
        if (pthread_create(&threads[i].posix, NULL, thread_main, &threads[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i].posix, NULL);
}

/* Returns whether all went well; what the ranks got goes to digest_out. */
static bool run_cores(unsigned ncores, unsigned messages, unsigned kind, uint64_t digest_out[RANKS])
{
    struct run *run = must(calloc(1, sizeof(*run)));
    bool good = true;

    run->ncores = ncores;
    run->messages = messages;
    open_all(run, kind);
    run->end_ns = clock_ns() + PATIENCE_NS;
    run_threads(run);
    for (unsigned i = 0; i < RANKS; i++) {
        const struct rank *r = &run->rank[i];

        digest_out[i] = r->digest;
        if (r->problem[0] == '\0' && has_all(r, run))
            continue;
        good = false;
        printf("cores: %u cores: rank %u has %u messages, %u of its own are sent%s%s\n", ncores, i,
               r->received, r->sent, r->problem[0] != '\0' ? "; " : "", r->problem);
    }
    printf("%u cores a NIC, %s: %" PRIu64 " frames found a ring full\n", ncores, wires_kind(kind),
           wires_drops());
    good = close_all(run) && good;
    free(run);
    return good;
}

int main(int argc, char **argv)
{
    unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 14;
    uint64_t first[RANKS], digest[RANKS];
    bool good = messages >= 1 && messages <= MESSAGES_MAX, any = false;

    for (unsigned l = 0; good && l < wires_kinds; l++)
        for (unsigned ncores = 1; good && ncores <= CORES_MAX; ncores *= 2) {
            good = run_cores(ncores, messages, l, digest);
            if (!any)
                memcpy(first, digest, sizeof(first));
            any = true;
            if (good && memcmp(first, digest, sizeof(first)) != 0) {
                printf("cores: with %u cores a NIC the ranks have got other messages\n", ncores);
                good = false;
            }
        }
    return good ? 0 : 1;
}
