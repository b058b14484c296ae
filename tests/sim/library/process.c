/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated process: turns, rings, launcher. Its DMA is in process_dma.c. */
#include "process.h"

#include <limits.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "copies.h"
#include "heap.h"
#include "process_dma.h"
#include "stack.h"
#include "trace.h"

#define STACK_BYTES (512u << 10)
#define PROGRAM_AREA_BYTES 4096u
#define IDLE_DOUBLINGS 6u
#define DOZE_MAX_NS 400000u
#define VALUES_MAX (2 * NOF_PROGRAM_RANKS_MAX)
#define NEVER UINT64_MAX

struct nof_process {
    struct nof_seam seam;
    struct nof_processes *all;
    struct nof_dma dma;
    nof_image_main_fn *enter;
    struct nof_stack stack;
    jmp_buf begin; /* of its stack */
    struct nof_rng rng;
    char name[16];
    uint32_t endpoint;
    unsigned nic;
    bool attached, ended;
    bool in_fence, killed;
    bool wakeable; /* asleep, and a completion ends that */
    bool waits_arrival; /* likewise an arrival */
    uint64_t turn; /* the event that carries this number lets it run */
    unsigned idle; /* reaps in a row that found nothing */
    uint64_t poll_ns; /* what a poll costs */
    struct nof_desc *submit;
    unsigned submit_head, submit_count;
    struct nof_comp *complete;
    unsigned complete_head, complete_count;
    uint8_t *lent; /* a bit per byte of the staging area: a completion named it, and no RELEASE did since */
    unsigned nlent;
};

struct value {
    char key[32];
    char text[NOF_SEAM_VALUE_BYTES];
};

struct nof_processes {
    struct nof_cluster *cluster;
    struct nof_processes_config cfg;
    unsigned n, nended, nin_fence;
    struct nof_stack simulator;
    struct value value[VALUES_MAX];
    unsigned nvalues;
    uint64_t digest;
    struct nof_process process[];
};

/* Stacks are made once per worker: of all that a seed needs they take longest. */
static void *stacks[NOF_PROGRAM_RANKS_MAX];
/* So is the heap of all processes, in which nothing is left of those that have been. */
static struct nof_heap heap;

static void note(struct nof_processes *ps, uint64_t word)
{
    ps->digest = nof_rng_mix(ps->digest ^ word);
}

static void resume(struct nof_cluster *c, void *user, uint64_t turn)
{
    struct nof_process *p = user;
    (void)c;
    if (turn != p->turn || p->ended)
        return;
    p->turn++;
    p->wakeable = p->waits_arrival = false;
    nof_stack_switch(&p->all->simulator, &p->stack);
}

static void plan(struct nof_process *p, uint64_t when_ns)
{
    nof_cluster_at(p->all->cluster, when_ns, resume, p, p->turn);
}

/* Gives the processor back until then, or until a completion comes if it is wakeable. */
static void pause_until(struct nof_process *p, uint64_t when_ns, bool wakeable)
{
    p->wakeable = wakeable;
    if (when_ns != NEVER)
        plan(p, when_ns);
    nof_stack_switch(&p->stack, &p->all->simulator);
    if (p->killed)
        longjmp(p->begin, 1);
}

static uint64_t after(const struct nof_process *p, uint64_t for_ns)
{
    uint64_t now_ns = nof_cluster_now(p->all->cluster);
    return for_ns > NEVER - now_ns ? NEVER : now_ns + for_ns;
}

/* All that live are there; `by` goes on at once. */
static void open_fence(struct nof_processes *ps, struct nof_process *by)
{
    ps->nin_fence = 0;
    for (unsigned i = 0; i < ps->n; i++) {
        struct nof_process *p = &ps->process[i];
        if (p->in_fence)
            plan(p, after(p, 1 + nof_rng_below(&by->rng, 20000)));
        p->in_fence = false;
    }
}

/* The daemon sees that the process is no more. */
static void lose(struct nof_process *p)
{
    if (!p->attached)
        return;
    p->attached = p->dma.alive = false;
    nof_cluster_endpoint_close(p->all->cluster, p->nic, p->endpoint, NOF_EPEERDEAD);
}

static _Noreturn void stop(struct nof_process *p)
{
    if (p->seam.program->mortal)
        lose(p);
    p->ended = true;
    p->all->nended++;
    if (p->all->nin_fence > 0 && p->all->nin_fence + p->all->nended == p->all->n)
        open_fence(p->all, p);
    nof_stack_switch(&p->stack, &p->all->simulator);
    abort(); /* nobody resumes it */
}

static void first_turn(void *process)
{
    struct nof_process *p = process;
    p->seam.killed = setjmp(p->begin) != 0;
    p->enter(&p->seam);
    stop(p);
}

static void *op_alloc(size_t bytes)
{
    return nof_heap_alloc(&heap, bytes);
}

static void op_release(void *mem)
{
    nof_heap_release(&heap, mem);
}

static uint64_t op_now_ns(const struct nof_process *p)
{
    return nof_cluster_now(p->all->cluster);
}

static void op_nap(struct nof_process *p, uint64_t for_ns)
{
    pause_until(p, after(p, for_ns), false);
}

/* A place in the staging area is the process's from the completion that names it until its RELEASE. */
static void note_staged(struct nof_process *p, uint32_t offset, bool lent)
{
    uint8_t bit = (uint8_t)(1u << offset % 8);
    if (offset >= p->all->cfg.staging_bytes || ((p->lent[offset / 8] & bit) != 0) == lent) {
        nof_cluster_fail(p->all->cluster, "%s: place %u of its staging area is %s twice", p->name, offset,
                         lent ? "lent" : "given back");
        return;
    }
    p->lent[offset / 8] ^= bit;
    p->nlent += lent ? 1 : UINT_MAX;
}

static void note_released(struct nof_process *p, const struct nof_desc *desc)
{
    for (uint32_t i = 0; desc->opcode == NOF_DESC_RELEASE && i < desc->release.count; i++)
        note_staged(p, desc->release.offset[i], false);
}

static unsigned op_submit(struct nof_process *p, const struct nof_desc *descs, unsigned n)
{
    uint32_t slots = p->all->cfg.submit_slots;
    unsigned done = 0;
    while (done < n && p->submit_count < slots) {
        note_released(p, &descs[done]);
        p->submit[(p->submit_head + p->submit_count++) % slots] = descs[done++];
    }
    p->seam.submitted += done;
    nof_cluster_kick(p->all->cluster, p->nic);
    return done;
}

/* A poll that finds nothing takes time, each a little more, so that one who spins does not stop the clock. */
static unsigned op_reap(struct nof_process *p, struct nof_comp *comps, unsigned n)
{
    uint32_t slots = p->all->cfg.complete_slots;
    if (p->all->cfg.doze_permille > 0 && nof_rng_below(&p->rng, 1000) < p->all->cfg.doze_permille)
        op_nap(p, nof_rng_below(&p->rng, DOZE_MAX_NS));
    if (p->complete_count == 0) {
        pause_until(p, after(p, p->poll_ns << (p->idle < IDLE_DOUBLINGS ? p->idle : IDLE_DOUBLINGS)), true);
        p->idle++;
    }
    unsigned done = 0;
    while (done < n && p->complete_count > 0) {
        comps[done++] = p->complete[p->complete_head];
        p->complete_head = (p->complete_head + 1) % slots;
        p->complete_count--;
        if ((comps[done - 1].flags & NOF_COMP_F_STAGED) != 0)
            note_staged(p, comps[done - 1].staged_offset, true);
        nof_trace_comp(p->all->cluster, p->name, &comps[done - 1]);
    }
    if (done > 0) {
        p->idle = 0;
        nof_cluster_kick(p->all->cluster, p->nic); /* its ring has room again */
    }
    return done;
}

static void op_wait(struct nof_process *p, uint64_t timeout_ns)
{
    if (p->complete_count == 0)
        pause_until(p, after(p, timeout_ns), true);
}

static void op_ring(struct nof_process *p)
{
    nof_cluster_kick(p->all->cluster, p->nic);
}

static void op_wait_arrival(struct nof_process *p, uint64_t timeout_ns)
{
    p->waits_arrival = true;
    pause_until(p, after(p, timeout_ns), false);
}

static void op_put(struct nof_process *p, const char *key, const char *value)
{
    struct nof_processes *ps = p->all;
    if (ps->nvalues == VALUES_MAX) {
        nof_cluster_fail(ps->cluster, "%s publishes %s, and the simulated launcher is full", p->name, key);
        return;
    }
    struct value *v = &ps->value[ps->nvalues++];
    (void)snprintf(v->key, sizeof(v->key), "%s", key);
    (void)snprintf(v->text, sizeof(v->text), "%s", value);
}

static void op_fence(struct nof_process *p)
{
    struct nof_processes *ps = p->all;
    nof_cluster_trace(ps->cluster, "%s is at a fence, %u others are", p->name, ps->nin_fence);
    if (++ps->nin_fence + ps->nended == ps->n) {
        open_fence(ps, p);
        return;
    }
    p->in_fence = true;
    pause_until(p, NEVER, false);
}

static int op_get(struct nof_process *p, const char *key, char value[NOF_SEAM_VALUE_BYTES])
{
    const struct nof_processes *ps = p->all;
    for (unsigned i = 0; i < ps->nvalues; i++) {
        if (strcmp(ps->value[i].key, key) == 0) {
            memcpy(value, ps->value[i].text, NOF_SEAM_VALUE_BYTES);
            return 0;
        }
    }
    return -1;
}

static void op_fail(struct nof_process *p, const char *text)
{
    nof_cluster_fail(p->all->cluster, "%s: %s", p->name, text);
}

static void op_die(struct nof_process *p, const char *text)
{
    op_fail(p, text);
    stop(p);
}

static void kill_process(struct nof_cluster *c, void *user, uint64_t arg)
{
    struct nof_process *p = user;
    struct nof_program *program = p->seam.program;
    (void)arg;
    if (p->ended || p->killed)
        return;
    nof_cluster_trace(c, "FAULT %s is killed", p->name);
    if (program->death_ns == 0)
        program->death_ns = nof_cluster_now(c);
    p->killed = true;
    p->all->nin_fence -= p->in_fence;
    p->in_fence = false;
    lose(p);
    plan(p, nof_cluster_now(c));
}

static void op_doom(struct nof_process *p, uint64_t in_ns)
{
    nof_cluster_at(p->all->cluster, after(p, in_ns), kill_process, p, 0);
}

static void op_trace(struct nof_process *p, const char *text)
{
    nof_cluster_trace(p->all->cluster, "%s %s", p->name, text);
}

static uint64_t op_draw(struct nof_process *p, uint64_t n)
{
    return nof_rng_below(&p->rng, n);
}

static unsigned host_fetch(void *host, struct nof_desc *descs, unsigned max)
{
    struct nof_process *p = host;
    unsigned n = p->submit_count < max ? p->submit_count : max;
    for (unsigned i = 0; i < n; i++) {
        descs[i] = p->submit[p->submit_head];
        p->submit_head = (p->submit_head + 1) % p->all->cfg.submit_slots;
        nof_trace_desc(p->all->cluster, p->name, &descs[i]);
    }
    p->submit_count -= n;
    return n;
}

static void goes_on(struct nof_process *p)
{
    uint64_t sees_ns = p->all->cfg.sees_ns;
    plan(p, after(p, sees_ns > 0 ? sees_ns : 100 + nof_rng_below(&p->rng, 4000)));
}

static void wake(struct nof_process *p)
{
    if (!p->wakeable)
        return;
    p->wakeable = false;
    goes_on(p);
}

static void host_arrived(void *host)
{
    struct nof_process *p = host;
    if (p->seam.delta_host->asleep == 0)
        return;
    p->seam.delta_host->asleep = 0;
    p->seam.delta_host->wake++;
    if (p->waits_arrival)
        goes_on(p);
    p->waits_arrival = false;
}

static unsigned host_complete(void *host, const struct nof_comp *comps, unsigned n)
{
    struct nof_process *p = host;
    uint32_t slots = p->all->cfg.complete_slots;
    unsigned done = 0;
    for (; done < n && p->complete_count < slots; done++) {
        p->complete[(p->complete_head + p->complete_count++) % slots] = comps[done];
        note(p->all, (uint64_t)comps[done].opcode << 56 ^ comps[done].cookie ^
                         nof_cluster_now(p->all->cluster) << 8 ^ (uint64_t)(uint32_t)comps[done].tag << 20);
    }
    wake(p);
    return done;
}

static int host_dma(void *host, bool write, const struct nof_segment *remote, unsigned nremote,
                    const struct nof_buf *local, unsigned nlocal, uint64_t token)
{
    struct nof_process *p = host;
    return nof_dma_run(&p->dma, write, remote, nremote, local, nlocal, token);
}

static void host_failed(void *host, int status)
{
    struct nof_process *p = host;
    nof_cluster_fail(p->all->cluster, "%s: the NIC gives its endpoint up: %s", p->name,
                     nof_strstatus(status));
    p->attached = false;
    p->dma.alive = false;
}

static const struct nof_cluster_host_ops host_ops = {
    .fetch = host_fetch,
    .complete = host_complete,
    .dma = host_dma,
    .arrived = host_arrived,
    .failed = host_failed,
};

static int op_attach(struct nof_process *p, const uint8_t job_key[NOF_JOB_KEY_BYTES], uint64_t job_id)
{
    const struct nof_processes_config *cfg = &p->all->cfg;
    struct nof_seam *s = &p->seam;
    struct nof_endpoint_params params = {
        .job_id = job_id,
        .rank = (uint32_t)s->rank,
        .size = (uint32_t)s->size,
        .staging = s->staging,
        .staging_bytes = cfg->staging_bytes,
        .bounce = s->bounce,
        .bounce_bytes = cfg->bounce_bytes,
        .program_area = s->program_area,
        .program_area_bytes = cfg->program_area_bytes,
        .delta_host = s->delta_host,
        .delta_nic = s->delta_nic,
        .counters = s->counters,
        .dma_inline = p->dma.is_inline,
        .dma_read_sums = p->dma.sums,
    };
    memcpy(params.job_key, job_key, sizeof(params.job_key));
    s->identity = (struct nof_bar_identity){
        .submit_slots = cfg->submit_slots,
        .complete_slots = cfg->complete_slots,
        .staging_bytes = cfg->staging_bytes,
        .bounce_bytes = cfg->bounce_bytes,
        .bounce_max_bytes = cfg->bounce_max_bytes,
        .program_area_bytes = cfg->program_area_bytes,
    };
    (void)snprintf(s->identity.nic_name, sizeof(s->identity.nic_name), "nic%u (sim)", p->nic);
    int status = nof_cluster_endpoint_open(p->all->cluster, p->nic, &params, &host_ops, p, &p->endpoint,
                                           &s->identity.card);
    p->attached = p->dma.alive = status == NOF_OK;
    nof_cluster_trace(p->all->cluster, "%s is endpoint %u of nic%u", p->name, p->endpoint, p->nic);
    return status;
}

static void op_detach(struct nof_process *p)
{
    if (!p->attached)
        return;
    p->attached = p->dma.alive = false;
    nof_cluster_trace(p->all->cluster, "%s leaves", p->name);
    if (p->nlent > 0)
        nof_cluster_fail(p->all->cluster, "%s leaves and has %u places of its staging area not given back",
                         p->name, p->nlent);
    nof_cluster_endpoint_close(p->all->cluster, p->nic, p->endpoint, NOF_OK);
}

static const struct nof_seam_ops seam_ops = {
    .alloc = op_alloc,
    .release = op_release,
    .now_ns = op_now_ns,
    .nap = op_nap,
    .attach = op_attach,
    .detach = op_detach,
    .submit = op_submit,
    .reap = op_reap,
    .wait = op_wait,
    .ring = op_ring,
    .wait_arrival = op_wait_arrival,
    .put = op_put,
    .fence = op_fence,
    .get = op_get,
    .fail = op_fail,
    .die = op_die,
    .trace = op_trace,
    .doom = op_doom,
    .draw = op_draw,
};

static void *zalloc(size_t bytes)
{
    void *mem = NULL;
    if (posix_memalign(&mem, 64, bytes != 0 ? bytes : 64) != 0)
        abort();
    memset(mem, 0, bytes);
    return mem;
}

static void *stack_of(unsigned n)
{
    if (stacks[n] == NULL) {
        uint8_t *mem = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mem == MAP_FAILED || mprotect(mem, 4096, PROT_NONE) != 0)
            abort();
        stacks[n] = mem + 4096;
    }
    return stacks[n];
}

static void process_init(struct nof_process *p, struct nof_processes *ps, unsigned rank)
{
    const struct nof_processes_config *cfg = &ps->cfg;
    p->all = ps;
    p->rng.state = nof_rng_mix(cfg->seed + rank);
    unsigned each = ps->n / cfg->nnics, larger = ps->n % cfg->nnics, small = larger * (each + 1);
    p->nic = !cfg->in_blocks ? rank % cfg->nnics
             : rank < small  ? rank / (each + 1)
                             : larger + (rank - small) / each;
    p->poll_ns = cfg->sees_ns > 0 ? cfg->sees_ns : nof_rng_between(&p->rng, 200, 3000);
    (void)snprintf(p->name, sizeof(p->name), "rank%u", rank);
    p->submit = zalloc(cfg->submit_slots * sizeof(*p->submit));
    p->complete = zalloc(cfg->complete_slots * sizeof(*p->complete));
    p->dma = (struct nof_dma){
        .cluster = ps->cluster,
        .rng = {.state = nof_rng_next(&p->rng)},
        .nic = p->nic,
        .is_inline = nof_rng_chance(&p->rng, cfg->dma_inline_percent),
        .sums = nof_rng_chance(&p->rng, 50),
        .late_percent = cfg->dma_late_percent,
        .name = p->name,
    };
    p->seam.ops = &seam_ops;
    p->seam.process = p;
    p->seam.rank = (int)rank;
    p->seam.size = (int)ps->n;
    p->seam.spin_us = cfg->spin_us;
    p->seam.coll_table = cfg->coll_table;
    p->seam.delta = cfg->delta;
    p->seam.delta_size = cfg->delta_size;
    p->seam.near_wrap = cfg->near_wrap;
    p->seam.job_id = cfg->job_id;
    memcpy(p->seam.job_key, cfg->job_key, sizeof(cfg->job_key));
    p->seam.staging = zalloc(cfg->staging_bytes);
    p->lent = zalloc(cfg->staging_bytes / 8);
    p->seam.bounce = zalloc(cfg->bounce_bytes);
    p->dma.arena = p->seam.bounce;
    p->dma.arena_bytes = cfg->bounce_bytes;
    p->seam.program_area = zalloc(cfg->program_area_bytes);
    if (cfg->delta == NULL && (cfg->job_key[3] + rank) % 4 ==
                                  0) /* of the key, as the driver does it: what is drawn stays as it was */
        return;
    p->seam.delta_host = zalloc(sizeof(*p->seam.delta_host));
    p->seam.delta_nic = zalloc(sizeof(*p->seam.delta_nic));
    p->seam.delta_host->wake = cfg->near_wrap ? UINT32_MAX - 1 : 0;
}

static void process_start(struct nof_process *p)
{
    nof_stack_make(&p->stack, stack_of((unsigned)p->seam.rank), STACK_BYTES, first_turn, p);
    plan(p, after(p, nof_rng_below(&p->rng, 50000)));
}

struct nof_processes *nof_processes_create(struct nof_cluster *c, const struct nof_processes_config *cfg,
                                           struct nof_program *program, char *text, size_t text_bytes)
{
    struct nof_processes *ps = calloc(1, sizeof(*ps) + program->nranks * sizeof(ps->process[0]));
    if (ps == NULL)
        abort();
    nof_heap_begin(&heap);
    ps->cluster = c;
    ps->cfg = *cfg;
    if (cfg->program_area_bytes == 0)
        ps->cfg.program_area_bytes = PROGRAM_AREA_BYTES;
    ps->n = program->nranks;
    for (unsigned i = 0; i < ps->n; i++) {
        struct nof_process *p = &ps->process[i];
        process_init(p, ps, i);
        p->seam.program = program;
        p->enter = nof_copies_fresh(i, text, text_bytes);
        if (p->enter == NULL) {
            nof_processes_destroy(ps);
            return NULL;
        }
    }
    for (unsigned i = 0; i < ps->n; i++)
        process_start(&ps->process[i]);
    return ps;
}

void nof_processes_destroy(struct nof_processes *ps)
{
    for (unsigned i = 0; i < ps->n; i++) {
        struct nof_process *p = &ps->process[i];
        free(p->submit);
        free(p->complete);
        free(p->seam.staging);
        free(p->lent);
        free(p->seam.bounce);
        free(p->seam.program_area);
        free(p->seam.delta_host);
        free(p->seam.delta_nic);
    }
    free(ps);
}

bool nof_processes_ended(void *processes)
{
    const struct nof_processes *ps = processes;
    return ps->nended == ps->n;
}

bool nof_process_ended(const struct nof_processes *ps, unsigned rank)
{
    return ps->process[rank].ended;
}

const struct nof_seam *nof_process_seam(const struct nof_processes *ps, unsigned rank)
{
    return &ps->process[rank].seam;
}

uint64_t nof_processes_digest(const struct nof_processes *ps)
{
    return ps->digest;
}

void nof_processes_heal(struct nof_processes *ps)
{
    ps->cfg.doze_permille = 0;
    for (unsigned i = 0; i < ps->n; i++)
        ps->process[i].dma.late_percent = 0;
}
