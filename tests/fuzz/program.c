/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: programs of collectives (nof/program.h), made step by step, with hostile fields. NIC 0 has two ranks of job A
 * and one of job B, NIC 1 another of each; the hosts of job A open, start, go on with, cancel and free programs as they
 * may, whatever stands in those. What must hold is in program_runs.h and guard.h.
 *
 * Input: records of 16 bytes. The first is the setting (setting.h); of the others byte 0 says what it is:
 *   low four bits  0 to 3 steps are added to what a rank writes (bits 4 and 5: which)   4 a collective of all ranks instead
 *                  5 it is opened   6, 7 one is started   8 steps of the host are done   9 one is cancelled or freed
 *                  10 a plain message of the rank   11 its host takes no completions, or does; ends of spilling; patience; COLL_ABORT
 *                  12 time   13 job B sends   14 the setting changes   15 ends and beginnings, the link, the port */
#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "nof/reductions.h"
#include "moves.h"
#include "program_runs.h"
#include "setting.h"

#define US 1000ull
#define MS 1000000ull
#define WRITE_MAX 1100u /* steps that a host writes: more than a program may have */
#define BEFORE_BASE 24576 /* bytes; base 1 lies 40 KiB in the arena */
#define OWN_AT (GUARD_ARENA - RUNS_OWN * 2048u) /* plain messages */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a rank has written so far. */
struct written {
    uint32_t n;
    uint32_t fence; /* first step of its last round */
    struct nof_program_step step[WRITE_MAX];
};

static struct written written[RUNS_RANKS];

struct stage {
    struct runs runs, runs_new; /* the guard is at its head */
    struct world *w;
};

static struct stage *stages[SETTING_WORLDS];

static const struct {
    unsigned nic, job_rank;
} ranks[RUNS_RANKS] = {{0, 0}, {0, 1}, {1, 2}};

/* Where in a record. */
enum step_byte {
    STEP_OPCODE = 1,
    STEP_FLAGS,
    STEP_PEER,
    STEP_BASE,
    STEP_OFFSET,
    STEP_LEN,
    STEP_AFTER,
    STEP_AFTER2,
    STEP_WORK,
    STEP_FROM,
    STEP_FROM_BASE,
    STEP_COUNT,
    STEP_WILD, /* 7 of 8 values: as it is; else a byte of it is another */
    STEP_AT,
    STEP_VALUE,
};

static void know_each_other(struct world *w, unsigned rank)
{
    for (unsigned i = 0; i < RUNS_RANKS; i++)
        if (world_rank(w, i)->open)
            world_introduce(w, rank, i, ranks[i].job_rank);
}

static struct stage *make(uint8_t which)
{
    struct stage *s = calloc(1, sizeof *s);
    struct guard *g = &s->runs.guard;
    guard_init(g);
    struct world_config cfg = setting_config(g, which, 2);
    cfg.watch = &runs_watch;
    cfg.program_bytes = RUNS_AREA;
    cfg.nic.max_schedules = 12; /* the largest program fits */
    struct world *w = s->w = world_init(&cfg);
    guard_new_nics(g, w, 2);
    guard_hide_secrets(g, w);
    for (unsigned i = 0; i < RUNS_RANKS; i++) {
        world_open_job(w, ranks[i].nic, i, ranks[i].job_rank, RUNS_JOB, GUARD_JOB_A);
        guard_rank(g, i, GUARD_JOB_A, 1);
    }
    for (unsigned i = 0; i < 2; i++) {
        world_open_job(w, i, RUNS_RANKS + i, i, 2, GUARD_JOB_B);
        guard_rank(g, RUNS_RANKS + i, GUARD_JOB_B, 1);
        g->innocent[i] = RUNS_RANKS + i;
    }
    world_introduce(w, RUNS_RANKS, RUNS_RANKS + 1, 1);
    world_introduce(w, RUNS_RANKS + 1, RUNS_RANKS, 0);
    for (unsigned i = 0; i < RUNS_RANKS; i++)
        know_each_other(w, i);
    runs_layouts(&s->runs);
    guard_innocent(g, 0, 100);
    guard_innocent(g, 1, 100);
    guard_run(g, 50 * MS);
    for (unsigned i = 0; i < RUNS_RANKS; i++)
        runs_reap(&s->runs, i);
    for (unsigned i = 0; setting_wraps(which) && i < 2; i++)
        setting_wrap(world_nic(w, i), UINT32_MAX - 4);
    world_save(w);
    s->runs_new = s->runs;
    return s;
}

static bool alive(const struct stage *s, unsigned rank)
{
    return world_rank(s->w, rank)->open && !world_rank(s->w, rank)->closing;
}

static int64_t offset_of(uint8_t code)
{
    static const int64_t far[] = {INT64_MIN,        INT64_MAX, -1, -4096, GUARD_ARENA, GUARD_ARENA - 8,
                                  (int64_t)1 << 32, 1,         7,  63,    4095,        65535};
    return code < 240 ? (int64_t)code * 256 : far[code % 12];
}

static uint64_t len_of(uint8_t code)
{
    static const uint64_t huge[] = {1ull << 20, 1ull << 32, INT64_MAX,
                                    1ull << 63, UINT64_MAX, (uint64_t)INT64_MAX - 7};
    return code < 250 ? move_len(code) : huge[code - 250];
}

/* A step of the round that it is written into, or not. */
static uint16_t after_of(const struct written *to, uint8_t code)
{
    if (code >= 250) {
        const uint32_t wrong[] = {to->n, to->n + 1, 0, NOF_STEP_NONE - 1, to->fence - 1, WRITE_MAX};
        return (uint16_t)wrong[code - 250];
    }
    if (code < 96 || to->n == to->fence)
        return NOF_STEP_NONE;
    return (uint16_t)(to->n - 1 - code % (to->n - to->fence));
}

static void set_work(struct nof_program_step *s, const uint8_t *rec)
{
    s->from_base = rec[STEP_FROM_BASE] % NOF_PROGRAM_BASES;
    s->from = offset_of(rec[STEP_FROM]);
    if (s->opcode == NOF_STEP_COPY)
        return;
    uint32_t at = (uint32_t)rec[STEP_WORK] * 7u;
    for (unsigned i = 0; i < NOF_REDUCE_OPS * NOF_REDUCE_TYPES; i++, at++) {
        s->op = (uint8_t)(at % NOF_REDUCE_OPS);
        s->elem = (uint8_t)(at / NOF_REDUCE_OPS % NOF_REDUCE_TYPES);
        if (nof_reduce_defined(s->op, s->elem))
            break;
    }
    s->len -= s->len % nof_reduce_bytes(s->elem);
}

static void set_message(const struct written *to, struct nof_program_step *s, const uint8_t *rec)
{
    s->peer = rec[STEP_PEER] % RUNS_JOB;
    if (s->opcode == NOF_STEP_SEND)
        s->elem = rec[STEP_WORK] % NOF_ELEM_COUNT;
    s->flags = rec[STEP_FLAGS] & NOF_STEP_F_EXACT;
    if (s->opcode == NOF_STEP_SEND)
        s->flags |= rec[STEP_FLAGS] & NOF_STEP_F_ANNOUNCED;
    if (s->opcode == NOF_STEP_SEND && s->after[0] < to->n && to->step[s->after[0]].opcode == NOF_STEP_SEND)
        s->flags |= rec[STEP_FLAGS] & NOF_STEP_F_IN_TURN;
    if (rec[STEP_FLAGS] < 224) {
        s->from = s->flags & NOF_STEP_F_ANNOUNCED ? offset_of(rec[STEP_FROM]) : 0;
        return;
    }
    s->flags |= NOF_STEP_F_LAYOUT;
    s->layout = rec[STEP_FLAGS] / 2 % RUNS_LAYOUTS;
    s->layout_generation = rec[STEP_FLAGS] & 8 ? 1 : 1 + rec[STEP_VALUE] % 2u;
}

/* A field of it is another: most often any but the long numbers. */
static void spoil(struct nof_program_step *s, uint8_t where, uint8_t value)
{
    static const uint8_t at[] = {0, 1, 2, 3, 4, 7, 15, 23, 24, 28, 32, 34, 36, 37, 38, 39};
    uint8_t raw[sizeof *s];
    memcpy(raw, s, sizeof raw);
    raw[where < 192 ? at[where % sizeof at] : where % sizeof raw] ^= value;
    memcpy(s, raw, sizeof raw);
}

static void add_step(struct written *to, const uint8_t *rec)
{
    if (to->n == WRITE_MAX)
        return;
    struct nof_program_step *s = &to->step[to->n];
    *s = (struct nof_program_step){.opcode = (uint8_t)(1 + rec[STEP_OPCODE] % 6u)};
    s->after[0] = s->after[1] = NOF_STEP_NONE;
    if (s->opcode != NOF_STEP_FENCE) {
        s->after[0] = after_of(to, rec[STEP_AFTER]);
        s->after[1] = after_of(to, rec[STEP_AFTER2]);
    }
    if (s->opcode != NOF_STEP_FENCE && s->opcode != NOF_STEP_HOST) {
        s->base = rec[STEP_BASE] % NOF_PROGRAM_BASES;
        s->offset = offset_of(rec[STEP_OFFSET]);
        s->len = len_of(rec[STEP_LEN]);
        if (s->opcode == NOF_STEP_REDUCE || s->opcode == NOF_STEP_COPY)
            set_work(s, rec);
        else
            set_message(to, s, rec);
    } else if (s->opcode == NOF_STEP_HOST && (rec[STEP_FLAGS] & NOF_STEP_F_AWAITS)) {
        s->flags = (uint8_t)(rec[STEP_FLAGS] & (NOF_STEP_F_AWAITS | NOF_STEP_F_SENDS));
        s->peer = rec[STEP_PEER] % RUNS_JOB;
    }
    if (rec[STEP_WILD] % 8 == 7)
        spoil(s, rec[STEP_AT], rec[STEP_VALUE]);
    to->n++;
    if (s->opcode == NOF_STEP_FENCE)
        to->fence = to->n;
}

/* The same step, again and again, each time a bit further on. */
static void add_steps(struct written *to, const uint8_t *rec)
{
    static const uint16_t counts[] = {1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 7, 31, 32, 33, 300, 1024};
    uint8_t now[RECORD_BYTES];
    memcpy(now, rec, sizeof now);
    for (unsigned i = 0; i < counts[rec[STEP_COUNT] % 16]; i++) {
        add_step(to, now);
        now[STEP_OFFSET] = (uint8_t)((now[STEP_OFFSET] + 1u) % 240u);
        now[STEP_PEER] = (uint8_t)(now[STEP_PEER] + (rec[STEP_COUNT] >> 6));
    }
}

static void put(unsigned rank, uint8_t opcode, unsigned peer, uint32_t each, unsigned place, uint8_t flags)
{
    struct written *to = &written[rank];
    struct nof_program_step *s = &to->step[to->n++];
    *s = (struct nof_program_step){.opcode = opcode, .after = {NOF_STEP_NONE, NOF_STEP_NONE}};
    if (opcode == NOF_STEP_FENCE)
        to->fence = to->n;
    if (opcode == NOF_STEP_FENCE || opcode == NOF_STEP_HOST)
        return;
    s->base = opcode != NOF_STEP_SEND;
    s->offset = (int64_t)place * each;
    s->len = each;
    s->flags = flags;
    s->peer = (int32_t)peer;
    if (opcode != NOF_STEP_REDUCE)
        return;
    s->flags = 0;
    s->peer = 0;
    s->op = NOF_REDUCE_SUM;
    s->elem = NOF_REDUCE_I64;
    s->len -= s->len % 8;
    s->from_base = 1;
    s->from = s->offset + each;
    if (to->n > to->fence + 1u)
        s->after[0] = (uint16_t)(to->n - 2u);
}

/* Behind the send before it. */
static void put_in_turn(unsigned rank, uint32_t before)
{
    struct written *to = &written[rank];
    if (before < to->fence)
        return;
    to->step[to->n - 1].flags |= NOF_STEP_F_IN_TURN;
    to->step[to->n - 1].after[0] = (uint16_t)before;
}

/* One that all ranks go through: what each of them writes is another part of it. */
static void collective(const uint8_t *rec)
{
    const unsigned n = RUNS_RANKS, kind = rec[1] % 4u;
    const uint32_t each = (uint32_t)(move_len(rec[2]) % 16000u);
    const uint8_t exact = rec[3] & NOF_STEP_F_EXACT;
    for (unsigned i = 0; i < n; i++) {
        written[i].n = written[i].fence = 0;
        if (rec[4] & 1)
            put(i, NOF_STEP_HOST, 0, 0, 0, 0);
        for (unsigned d = 1; d < n && kind < 2; d++) { /* all-to-all; around a ring */
            unsigned step = kind == 0 ? d : 1;
            put(i, NOF_STEP_RECV, (i + n - step) % n, each, d, exact);
            put(i, NOF_STEP_SEND, (i + step) % n, each, d, exact);
            if (d > 1 && (rec[4] & 8) != 0)
                put_in_turn(i, written[i].n - 3);
            if (rec[4] & 2)
                put(i, NOF_STEP_FENCE, 0, 0, 0, 0);
        }
        for (unsigned d = 1; d < n && kind >= 2; d++) { /* to rank 0, and back */
            if (i == 0) {
                put(i, NOF_STEP_RECV, d, each, 2 * d, exact);
                put(i, kind == 2 ? NOF_STEP_REDUCE : NOF_STEP_COPY, 0, each, 2 * d - 1, 0);
            } else if (i == d) {
                put(i, NOF_STEP_SEND, 0, each, 0, exact);
            }
        }
        if (rec[4] & 4)
            put(i, NOF_STEP_FENCE, 0, 0, 0, 0);
        for (unsigned d = 1; d < n && kind >= 2; d++) {
            if (i == 0)
                put(i, NOF_STEP_SEND, d, each, 1, exact);
            else if (i == d)
                put(i, NOF_STEP_RECV, 0, each, 1, exact);
        }
    }
}

static void open_written(struct stage *s, unsigned rank, const uint8_t *rec)
{
    struct written *from = &written[rank];
    struct nof_program_head head = {.magic = NOF_PROGRAM_MAGIC, .nsteps = from->n};
    unsigned slot = rec[1] % RUNS_SLOTS;
    uint64_t offset = rec[2] % 16 == 15 ? rec[4] * 4u : 0,
             len = sizeof head + (uint64_t)from->n * sizeof from->step[0];
    if (!alive(s, rank) || s->runs.rank[rank].slot[slot].state != RUNS_FREE ||
        !runs_may_write(&s->runs, rank))
        return;
    uint8_t raw[sizeof head];
    memcpy(raw, &head, sizeof raw);
    if (rec[3] % 16 == 15)
        raw[rec[4] % sizeof raw] ^= rec[5];
    if (offset + len <= RUNS_AREA) {
        world_write_program(s->w, rank, offset, raw, sizeof raw);
        world_write_program(s->w, rank, offset + sizeof raw, from->step, len - sizeof raw);
    }
    if (rec[6] % 16 == 15)
        len = rec[6] >= 128 ? len + (uint64_t)rec[7] - 128u : (uint64_t)rec[7] << rec[8] % 57u;
    if (rec[6] % 16 == 14)
        offset = (uint64_t)rec[7] << rec[8] % 57u;
    runs_open(&s->runs, rank, slot, offset, len, rec[9] % 8 == 7 ? rec[10] : slot);
    if (rec[11] < 192)
        from->n = from->fence = 0;
}

static void start(struct stage *s, unsigned rank, const uint8_t *rec, unsigned slot)
{
    uint64_t arena = (uint64_t)(uintptr_t)world_rank(s->w, rank)->arena;
    const uint64_t third[] = {arena,    arena + 60000u, 0, UINT64_MAX - 100, arena + GUARD_ARENA - 100u,
                              arena - 1};
    struct nof_desc d = {
        .ctx = 1 + rec[2] % 16 / 15u, .tag = rec[3] % 3, .agreed = rec[4] >> 6, .len = rec[5] % 4u};
    d.sched.base[0] = arena + (rec[6] < 200 ? 0 : (uint64_t)rec[6] * 8u);
    d.sched.base[1] = arena + (rec[7] < 200 ? 40960u : (uint64_t)rec[7] * 64u);
    d.sched.base[2] = third[rec[8] % 6];
    if (alive(s, rank))
        runs_start(&s->runs, rank, slot, &d);
}

static void start_all(struct stage *s, const uint8_t *rec)
{
    for (unsigned i = 0; i < RUNS_RANKS; i++)
        for (unsigned k = 0; k < RUNS_SLOTS; k++)
            if (s->runs.rank[i].slot[k].state == RUNS_OPEN && !s->runs.rank[i].slot[k].freed) {
                start(s, i, rec, k);
                break;
            }
}

static void own(struct stage *s, unsigned rank, const uint8_t *rec)
{
    uint64_t arena = (uint64_t)(uintptr_t)world_rank(s->w, rank)->arena;
    bool recv = rec[1] & 1;
    struct nof_desc d = {.ctx = 1, .tag = rec[2] % 3, .peer = rec[3] % RUNS_RANKS, .agreed = rec[4] >> 6};
    d.len = move_len(rec[5]) % 2048u;
    d.addr = arena + OWN_AT + rec[6] % RUNS_OWN * 2048u;
    if (recv && rec[7] % 8 == 7)
        d.peer = NOF_ANY_SOURCE;
    if (recv && rec[8] % 8 == 7)
        d.tag = NOF_ANY_TAG;
    runs_own(&s->runs, rank, recv, &d);
}

static void end_some(struct stage *s, unsigned rank, const uint8_t *rec)
{
    static const int16_t status[] = {NOF_OK, NOF_OK, NOF_EFAULT, NOF_EPEERDEAD, NOF_ETRUNC, INT16_MIN};
    unsigned slot = rec[1] % RUNS_SLOTS;
    if (rec[2] & 1)
        runs_free(&s->runs, rank, slot);
    else
        runs_cancel(&s->runs, rank, slot, status[rec[3] % 6], rec[4] % RUNS_JOB);
}

static void go_on(struct stage *s, unsigned rank, const uint8_t *rec)
{
    static const int16_t status[] = {NOF_OK,     NOF_OK,     NOF_OK,     NOF_OK,
                                     NOF_ETRUNC, NOF_EFAULT, NOF_ENOMEM, INT16_MIN};
    for (unsigned i = 0; i <= rec[1] % 16u && alive(s, rank); i++)
        runs_continue(&s->runs, rank, rec[2], status[rec[3] % 8]);
}

static void be_patient(struct stage *s, uint8_t code)
{
    static const uint64_t patience_ms[] = {1, 3, 40, 0};
    for (unsigned i = 0; i < 2; i++)
        if (nof_nic_feature_set(world_nic(s->w, i), NOF_F_COLL_PATIENCE, patience_ms[code % 4]) != NOF_OK)
            guard_fail("patience cannot be set");
}

static void say(struct stage *s, unsigned rank, const uint8_t *rec)
{
    struct runs_rank *mine = &s->runs.rank[rank];
    struct nof_desc d = {.opcode = NOF_DESC_COLL_ABORT,
                         .ctx = 1,
                         .peer = rec[2] % RUNS_JOB,
                         .tag = rec[3] % 3,
                         .len = rec[5] % 4u,
                         .agreed = rec[4] >> 6};
    if (rec[1] % 4 == 3 && rec[7] >= 128) {
        be_patient(s, rec[7]);
        return;
    }
    switch (rec[1] % 4) {
    case 0:
        mine->blind = rec[2] & 1;
        return;
    case 1:
        d = (struct nof_desc){
            .opcode = NOF_DESC_SPILL_END, .spills_seen = mine->spills, .nomatches_seen = mine->nomatches};
        break;
    default:
        d.sched.name = rec[6] & 1 ? ranks[rank].job_rank : rec[6] / 2u % RUNS_JOB;
        d.sched.base[0] = (uint64_t)(int64_t)(rec[6] & 1 ? NOF_EAGAIN : NOF_EFAULT);
        break;
    }
    world_post(s->w, rank, &d);
}

static void port_fault(struct stage *s, const uint8_t *rec)
{
    static const unsigned ops[] = {1u << WORLD_ALLOC, 1u << WORLD_SEND, 1u << WORLD_SEND | 1u << WORLD_ALLOC,
                                   1u << WORLD_COMPLETE};
    struct world_fault fault = {.ops = ops[rec[2] % 4],
                                .at = 1u + rec[3] % 8u,
                                .count = 1u + rec[4] % 16u,
                                .how = rec[5] & 1 ? WORLD_SHORT : WORLD_BUSY};
    world_fault(s->w, &fault);
}

static void upheaval(struct stage *s, unsigned rank, const uint8_t *rec)
{
    struct nof_nic *nic = world_nic(s->w, rec[6] & 1);
    switch (rec[1] % 6) {
    case 0:
        if (!alive(s, rank))
            break;
        guard_close(&s->runs.guard, rank, rec[2] & 1 ? NOF_OK : NOF_EPEERDEAD);
        runs_closed(&s->runs, rank);
        break;
    case 1:
        if (!world_rank(s->w, rank)->open && world_try_open(s->w, ranks[rank].nic, rank, ranks[rank].job_rank,
                                                            RUNS_JOB, GUARD_JOB_A) == NOF_OK) {
            guard_rank(&s->runs.guard, rank, GUARD_JOB_A, 1);
            know_each_other(s->w, rank);
        }
        break;
    case 2:
        nof_nic_link(nic, world_now(s->w), false);
        guard_run(&s->runs.guard, rec[2] * 50 * US);
        nof_nic_link(nic, world_now(s->w), true);
        break;
    case 3:
        nof_nic_stalled(nic, world_now(s->w), rec[2] * MS);
        break;
    case 4:
        port_fault(s, rec);
        break;
    default:
        world_dma_give_up(s->w);
        break;
    }
}

/* Before their base, or with one field wrong. */
static void twist(const uint8_t *rec)
{
    for (unsigned i = 0; i < RUNS_RANKS && rec[9] >= 160; i++)
        for (uint32_t k = 0; k < written[i].n; k++) {
            struct nof_program_step *s = &written[i].step[k];
            s->offset -= s->base == 1 ? BEFORE_BASE : 0;
            s->from -= s->from_base == 1 ? BEFORE_BASE : 0;
        }
    struct written *one = &written[rec[11] % RUNS_RANKS];
    if (rec[10] >= 192 && one->n > 0)
        spoil(&one->step[rec[12] % one->n], rec[13], rec[14]);
}

static void make_collective(struct stage *s, const uint8_t *rec)
{
    static const uint8_t as_they_are[RECORD_BYTES];
    uint8_t open[RECORD_BYTES] = {0};
    collective(rec);
    twist(rec);
    open[1] = rec[7];
    for (unsigned i = 0; i < RUNS_RANKS && rec[5] < 192; i++)
        open_written(s, i, open);
    if (rec[6] < 128)
        start_all(s, as_they_are);
}

/* What is about programs. */
static void record(struct stage *s, unsigned rank, const uint8_t *rec)
{
    switch (rec[0] & 15) {
    case 4:
        make_collective(s, rec);
        break;
    case 5:
        open_written(s, rank, rec);
        break;
    case 6:
        start(s, rank, rec, rec[1] % RUNS_SLOTS);
        break;
    case 7:
        start_all(s, rec);
        break;
    case 8:
        go_on(s, rank, rec);
        break;
    case 9:
        end_some(s, rank, rec);
        break;
    case 10:
        own(s, rank, rec);
        break;
    case 11:
        say(s, rank, rec);
        break;
    default:
        add_steps(&written[rank], rec);
        break;
    }
}

static void around(struct stage *s, unsigned rank, const uint8_t *rec)
{
    struct guard *g = &s->runs.guard;
    switch (rec[0] & 15) {
    case 12:
        guard_run(g, (rec[1] & 1 ? 100 : 10000) * US * rec[2] / 16);
        runs_look(&s->runs);
        break;
    case 13:
        guard_innocent(g, rec[1] & 1, move_len(rec[2]));
        break;
    case 14:
        setting_change(g, rec[1], rec[2]);
        break;
    default:
        upheaval(s, rank, rec);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < RECORD_BYTES)
        return 0;
    unsigned which = data[SETTING_WORLD] % SETTING_WORLDS;
    if (stages[which] == NULL)
        stages[which] = make((uint8_t)which);
    struct stage *s = stages[which];
    world_restore(s->w);
    s->runs = s->runs_new;
    for (unsigned i = 0; i < RUNS_RANKS; i++)
        written[i].n = written[i].fence = 0;
    setting_apply(&s->runs.guard, data);
    for (size_t i = 1; i < RECORDS_MAX && (i + 1) * RECORD_BYTES <= size; i++) {
        const uint8_t *rec = data + i * RECORD_BYTES;
        unsigned rank = (rec[0] >> 4 & 3) % RUNS_RANKS;
        if ((rec[0] & 15) >= 12)
            around(s, rank, rec);
        else if (alive(s, rank))
            record(s, rank, rec);
        if (rec[0] < 192)
            guard_run(&s->runs.guard, 20 * US);
        for (unsigned k = 0; k < RUNS_RANKS; k++)
            if (alive(s, k) && !s->runs.rank[k].blind)
                runs_reap(&s->runs, k);
    }
    runs_end(&s->runs);
    guard_end(&s->runs.guard);
    return 0;
}
