/* SPDX-License-Identifier: BSD-3-Clause */
/* The channel of shared memory, as it is in the library, beside ranks that write what they like over all of the segment: lanes, credit,
 * cells, maps, what they say of their memory. usage: hostile_lane [FIRST [INPUTS]]; 0: the last alone
 *
 * An input is a number, from which all of it is drawn: receives, sends, probes and cancels of this rank, and between them whole
 * slots that are random, nearly right, or right. What must hold: no byte changes outside of receives that are posted, of cells and lanes
 * that are this rank's to write; no call crashes, or lasts; when the others are declared gone all requests end, and all cells
 * are back. The last inputs have a thread that writes while all that is read.
 *
 * One rank in a world of one, over the stand-in of the NIC's driver. It is reached through three slots, its own and two of others. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chan/nic/chan_nic.h"
#include "chan/shm/chan_shm.h"
#include "comm/comm.h"
#include "mpi_offload.h"
#include "fake_pmd.h"

enum { SLOTS = 3, SELF = 0, LYING = 2, BUFFERS = 12, BUFFER_BYTES = 40960, STEPS = 60, PATIENCE_S = 60 };
enum { INPUTS = 3000, RACING = 300, APART_GAP = 3, CANARY = 0xa5, PLACES = 4 };

static uint8_t *segment, *shadow; /* and what it must hold, where nobody but the others writes */
static uint64_t part_offset, part_bytes, state_, input, first_race;
static bool racing;

static uint64_t draw(void)
{
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)(draw() >> 20) % n;
}

/* With what to begin again: of those beside the writer, all of them. Numbers alone are printed: this may be a signal handler. */
static void say(const char *what)
{
    char text[160];
    int n = snprintf(text, sizeof(text), "input %llu: %s; again with: hostile_lane %llu %d\n",
                     (unsigned long long)input, what, (unsigned long long)(racing ? first_race : input),
                     racing ? 0 : 1);
    if (write(2, text, (size_t)n) < 0)
        _exit(2);
}

static void crashed(int sig)
{
    say(sig == SIGALRM ? "a call lasts" : sig == SIGABRT ? "it aborts" : "it crashes");
    _exit(1);
}

#define MUST(condition) \
    do { \
        if (!(condition)) { \
            say("does not hold: " #condition); \
            _exit(1); \
        } \
    } while (0)

static struct nof_part *part_of(uint32_t slot)
{
    return (struct nof_part *)(void *)(segment + part_offset + slot * part_bytes);
}

static void *shadow_of(void *at)
{
    return shadow + ((uint8_t *)at - segment);
}

/* The others write. */
static void put(void *at, const void *from, size_t bytes)
{
    memcpy(at, from, bytes);
    if (!racing)
        memcpy(shadow_of(at), from, bytes);
}

static void put_random(void *at, size_t bytes)
{
    uint64_t word;
    for (size_t i = 0; i < bytes; i += sizeof(word)) {
        word = draw();
        put((uint8_t *)at + i, &word, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
    }
}

/* Pages of their own, between such as nobody may touch. */
struct buffer {
    uint8_t *pages;
    uint8_t *at; /* of the message; its first byte, or last, is its pages' */
    size_t bytes; /* that may change, or, apart, their extent */
    bool apart;
    bool sends;
    bool delta; /* a delta send that has not ended */
    MPI_Request request; /* MPI_REQUEST_NULL: nothing is posted here */
};

static struct buffer buffers[BUFFERS];
static MPI_Message messages[BUFFERS];
static MPI_Datatype apart;

static void fill(struct buffer *b)
{
    memset(b->pages, CANARY, BUFFER_BYTES);
    b->bytes = 0;
}

static bool may_change(const struct buffer *b, size_t i)
{
    if (b->sends || b->pages + i < b->at || b->pages + i >= b->at + b->bytes)
        return false;
    return !b->apart || (size_t)(b->pages + i - b->at) % (1 + APART_GAP) == 0;
}

static void check_buffer(const struct buffer *b)
{
    for (size_t i = 0; i < BUFFER_BYTES; i++)
        MUST(b->pages[i] == CANARY || may_change(b, i));
}

static struct buffer *free_buffer(void)
{
    struct buffer *b = &buffers[below(BUFFERS)];
    return b->request == MPI_REQUEST_NULL ? b : NULL;
}

/* Memory for a message of so many bytes. */
static void place(struct buffer *b, size_t count, bool is_apart, bool sends)
{
    b->apart = is_apart;
    b->sends = sends;
    b->bytes = is_apart && count > 0 ? (count - 1) * (1 + APART_GAP) + 1 : count;
    b->at = below(2) == 0 ? b->pages : b->pages + BUFFER_BYTES - b->bytes;
}

static size_t draw_count(bool is_apart)
{
    static const size_t counts[] = {0, 1, 39, 40, 41, 100, 8191, 16384, 16385, 32769, BUFFER_BYTES};
    size_t count = counts[below(sizeof(counts) / sizeof(counts[0]))];
    return is_apart && count > BUFFER_BYTES / (1 + APART_GAP) ? BUFFER_BYTES / (1 + APART_GAP) : count;
}

static int draw_tag(void)
{
    return below(5) == 0 ? MPI_ANY_TAG : (int)below(3);
}

/* As a call does that ends with it only: more of what comes for it is to go by cells. */
static void await(MPI_Request request)
{
    struct nof_request *req;
    if (nof_request_check(request, &req) == MPI_SUCCESS)
        nof_request_await(req);
}

static void post_recv(void)
{
    struct buffer *b = free_buffer();
    bool is_apart = below(4) == 0;
    size_t count = draw_count(is_apart);
    if (b == NULL)
        return;
    place(b, count, is_apart, false);
    (void)MPI_Irecv(b->at, (int)count, is_apart ? apart : MPI_BYTE, below(3) == 0 ? MPI_ANY_SOURCE : 0,
                    draw_tag(), MPI_COMM_WORLD, &b->request);
    if (below(2) == 0)
        await(b->request);
}

static void post_send(void)
{
    struct buffer *b = free_buffer();
    bool is_apart = below(4) == 0;
    size_t count = draw_count(is_apart);
    if (b == NULL)
        return;
    place(b, count, is_apart, true);
    b->delta = below(5) == 0;
    if (b->delta)
        (void)MPIX_Delta_send_begin(b->at, (int)count, is_apart ? apart : MPI_BYTE, 0, (int)below(3),
                                    MPI_COMM_WORLD, &b->request);
    else
        (void)(below(2) == 0 ? MPI_Isend : MPI_Issend)(b->at, (int)count, is_apart ? apart : MPI_BYTE, 0,
                                                       (int)below(3), MPI_COMM_WORLD, &b->request);
}

static void mrecv(MPI_Message *message)
{
    struct buffer *b = free_buffer();
    size_t count = draw_count(false);
    if (b == NULL || *message == MPI_MESSAGE_NULL)
        return;
    place(b, count, false, false);
    (void)MPI_Imrecv(b->at, (int)count, MPI_BYTE, message, &b->request);
}

static void probe(void)
{
    MPI_Status status;
    int flag;
    MPI_Message *message = &messages[below(BUFFERS)];
    if (*message != MPI_MESSAGE_NULL)
        mrecv(message);
    else if (below(2) == 0)
        (void)MPI_Improbe(MPI_ANY_SOURCE, draw_tag(), MPI_COMM_WORLD, &flag, message, &status);
    else
        (void)MPI_Iprobe(0, draw_tag(), MPI_COMM_WORLD, &flag, &status);
}

static void end_delta(struct buffer *b)
{
    if (b->delta && b->request != MPI_REQUEST_NULL)
        (void)MPIX_Delta_send_end(&b->request);
    b->delta = false;
}

/* It has ended: its bytes are nobody's to write any more. */
static void test(struct buffer *b)
{
    int flag = 0;
    MPI_Status status;
    if (b->request == MPI_REQUEST_NULL)
        return;
    if (below(2) == 0)
        end_delta(b);
    (void)MPI_Test(&b->request, &flag, &status);
    if (b->request != MPI_REQUEST_NULL)
        return;
    check_buffer(b);
    fill(b);
}

static void test_or_cancel(void)
{
    struct buffer *b = &buffers[below(BUFFERS)];
    if (b->request != MPI_REQUEST_NULL && below(4) == 0)
        (void)MPI_Cancel(&b->request);
    test(b);
}

/* What an operation of this rank is called, mostly of one that there is with that slot, which *op_out is then. */
static uint32_t draw_name(uint32_t slot, struct nof_shm_op **op_out)
{
    struct nof_shm_op *chosen = NULL;
    uint32_t at = 0, seen = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;)
        if ((op->slot == slot || below(16) == 0) && below(++seen) == 0)
            chosen = op;
    *op_out = chosen;
    if (chosen == NULL || below(8) == 0)
        return (uint32_t)draw();
    uint32_t name = nof_shm_op_name(chosen);
    return below(8) == 0 ? name ^ 1u << below(32) : name;
}

static uint64_t draw_length(void)
{
    static const uint64_t lengths[] = {
        0,          1,          40,        41,         16384,          16385,     1u << 20,
        UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};
    return below(4) == 0 ? draw() : lengths[below(sizeof(lengths) / sizeof(lengths[0]))];
}

static uint64_t draw_address(void)
{
    const struct buffer *b = &buffers[below(BUFFERS)];
    return below(3) == 0 ? draw() : (uint64_t)(uintptr_t)(b->pages + below(BUFFER_BYTES));
}

static void draw_payload(struct nof_lane_slot *slot, const struct nof_shm_op *op)
{
    struct nof_shm_cell cell = {.index = below(NOF_CELLS + 1), .generation = below(40), .len = draw_length()};
    struct nof_shm_ask ask = {.address = draw_address(),
                              .len = draw_length(),
                              .board = below(8) == 0 ? (uint32_t)draw() : below(4),
                              .unit_log2 = below(8) == 0 ? (uint32_t)draw() : below(16)};
    cell.offset = op != NULL && below(4) > 0 ? op->done : draw_length();
    if (op != NULL && below(2) == 0 && op->len > op->done)
        cell.len = op->len - op->done < NOF_CELL_BYTES ? op->len - op->done : NOF_CELL_BYTES;
    if (below(16) == 0)
        cell.index = (uint32_t)draw();
    if (below(2) == 0)
        cell.place = below(4) == 0 ? (uint32_t)draw() : below(NOF_CELL_BYTES + 1);
    if (slot->kind == NOF_SHM_CELL || slot->kind == NOF_SHM_PIECE)
        memcpy(slot->payload, &cell, sizeof(cell));
    else if (slot->kind == NOF_SHM_ASK)
        memcpy(slot->payload, &ask, sizeof(ask));
    else if (slot->kind == NOF_SHM_READY || slot->kind == NOF_SHM_LENGTH)
        memcpy(slot->payload, &ask.len, sizeof(ask.len));
}

/* The contexts of the program's messages, and any. */
static uint32_t draw_ctx(void)
{
    uint32_t at = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;)
        if (op->req != NULL && below(4) == 0)
            return op->req->ctx;
    const struct nof_match_entry *posted = nof_chan_claims.memory.posted.first;
    return posted != NULL && below(16) > 0 ? posted->ctx : below(8);
}

/* What the operation that is named waits for, mostly. */
static uint8_t draw_kind(const struct nof_shm_op *op)
{
    if (op != NULL && op->phase == NOF_SHM_RECEIVES && below(4) > 0)
        return below(4) == 0 ? NOF_SHM_LENGTH : NOF_SHM_PIECE;
    if (op != NULL && (op->phase == NOF_SHM_ASKED || op->phase == NOF_SHM_MOVED) && below(4) > 0)
        return below(2) == 0 ? NOF_SHM_READY : below(2) == 0 ? NOF_SHM_DONE : NOF_SHM_REVOKED;
    return (uint8_t)below(NOF_SHM_REVOKED + 2);
}

static void draw_slot(uint32_t from, struct nof_lane_slot *slot)
{
    static const int32_t tags[] = {0, 1, 2, 0, 1, 2, -1, -2, INT32_MIN, INT32_MAX};
    static const uint8_t lens[] = {0, 0, 0, 1, 40, 41, 255};
    struct nof_shm_op *op, *other;
    for (size_t i = 0; i < sizeof(*slot) / sizeof(uint64_t); i++)
        ((uint64_t *)(void *)slot)[i] = draw();
    if (below(6) == 0)
        return;
    slot->op = draw_name(from, &op);
    slot->kind = draw_kind(op);
    slot->flags = below(3) == 0 ? (uint8_t)below(32) : 0;
    slot->agreed = below(6) == 0 ? (uint8_t)draw() : 0;
    slot->len = lens[below(sizeof(lens))];
    slot->ctx = draw_ctx();
    slot->tag = tags[below(sizeof(tags) / sizeof(tags[0]))];
    slot->arg = below(2) == 0 ? below(2) : draw_name(from, &other);
    draw_payload(slot, op);
}

/* Into the lane from this slot, some messages, mostly where they are looked for. */
static void write_lane(uint32_t from)
{
    const struct nof_lane_in *in = &nof_shm.peers[from].in;
    uint32_t n = 1 + below(below(8) == 0 ? NOF_LANE_SLOTS : 4), at = (uint32_t)(in->next - in->lane->slot),
             number = in->number;
    struct nof_lane *lane = nof_part_lane(part_of(SELF), from);
    for (uint32_t i = 0; i < n; i++) {
        struct nof_lane_slot slot;
        draw_slot(from, &slot);
        slot.number = below(16) > 0 ? number : below(2) == 0 ? number - below(4) : (uint32_t)draw();
        put(&lane->slot[at], &slot, sizeof(slot));
        at = (at + 1) % NOF_LANE_SLOTS;
        number++;
    }
    nof_hot_tell(&part_of(SELF)->map, from);
}

/* The next message of its lane, and it is looked at. */
static void write_next(uint32_t from, struct nof_lane_slot *slot)
{
    const struct nof_lane_in *in = &nof_shm.peers[from].in;
    slot->number = in->number;
    put(&nof_part_lane(part_of(SELF), from)->slot[in->next - in->lane->slot], slot, sizeof(*slot));
    nof_hot_tell(&part_of(SELF)->map, from);
    (void)nof_wait_poll();
}

/* A receive that waits for pieces has some, one after the other, of which each is right, but for what the message's length is between. */
static void lead(uint32_t from)
{
    for (int i = 0; i < 6; i++) {
        struct nof_shm_op *op;
        struct nof_lane_slot slot = {.kind = NOF_SHM_PIECE};
        struct nof_shm_cell cell = {.index = below(NOF_CELLS), .len = NOF_CELL_BYTES};
        slot.op = draw_name(from, &op);
        if (op == NULL || op->phase != NOF_SHM_RECEIVES)
            return;
        cell.offset = op->done;
        if (op->len > op->done && op->len - op->done < NOF_CELL_BYTES && below(4) > 0)
            cell.len = op->len - op->done;
        if (below(4) == 0) {
            slot.kind = NOF_SHM_LENGTH;
            cell.index = below(3);
            cell.generation = 0;
        }
        memcpy(slot.payload, &cell, sizeof(cell));
        write_next(from, &slot);
    }
}

/* Of a message that may be moved, mostly: begun, moved somewhere, or nothing of it. */
static uint64_t draw_claim(void)
{
    uint64_t key = below(2);
    uint32_t at = 0, seen = 0;
    for (struct nof_shm_op *op; (op = nof_shm_op_each(&at)) != NULL;)
        if (op->key != 0 && below(++seen) == 0)
            key = op->key;
    return below(8) == 0 ? draw() : key << 32 | (below(2) == 0 ? 0 : below(NOF_CELLS + 2));
}

/* What leads to lanes and cells, of whoever it is. */
static void write_words(void)
{
    struct nof_part *ours = part_of(SELF);
    uint32_t peer = 1 + below(SLOTS - 1), number = nof_shm.peers[peer].out.number;
    struct nof_lane *to = nof_part_lane(part_of(peer), SELF);
    struct nof_part_delta *board = &nof_part_delta(part_of(peer))[below(3)];
    uint64_t told = board->told + 1, end = below(2) == 0 ? 0 : draw_length();
    uint32_t unawaited = below(2) == 0 ? 0 : (uint32_t)draw();
    uint64_t claim = draw_claim();
    switch (below(11)) {
    case 9:
        __atomic_store_n(&part_of(peer)->moves[(claim >> 32) % NOF_PART_MOVES].word, claim, __ATOMIC_RELAXED);
        break;
    case 10:
        __atomic_store_n(&ours->moves[(claim >> 32) % NOF_PART_MOVES].word, claim, __ATOMIC_RELAXED);
        break;
    case 8:
        put(&part_of(peer)->head.unawaited, &unawaited, sizeof(unawaited));
        break;
    case 6:
        put_random(&board->ready.unit[below(NOF_DELTA_WORDS - 4)], 32);
        put(&board->told, &told, sizeof(told));
        break;
    case 7:
        put(&board->ready.end, &end, sizeof(end));
        put(&board->told, &told, sizeof(told));
        break;
    case 0:
        __atomic_store_n(&to->head.taken, below(3) > 0 ? number - 1 : (uint32_t)draw(), __ATOMIC_RELAXED);
        break;
    case 1:
        __atomic_store_n(&to->head.hot, (uint32_t)draw(), __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n(&ours->words.cell[below(NOF_CELLS)].returned, below(40), __ATOMIC_RELAXED);
        break;
    case 3:
        __atomic_store_n(&ours->map.word[below(NOF_SEGMENT_SLOTS_MAX / 64)], draw(), __ATOMIC_RELAXED);
        __atomic_store_n(&ours->map.words, draw(), __ATOMIC_RELAXED);
        break;
    case 4:
        put_random((uint8_t *)nof_part_cells(part_of(peer)) + below(NOF_CELLS) * NOF_CELL_BYTES, 200);
        break;
    default:
        for (uint32_t i = 0; i < NOF_CELLS; i++)
            if (nof_shm.cells.borrower[i] == peer)
                nof_cell_return(&ours->words, i, nof_shm.cells.generation[i]);
        break;
    }
}

static void step(void)
{
    switch (below(10)) {
    case 0:
        lead(below(SLOTS));
        break;
    case 9:
        post_send();
        break;
    case 1:
        probe();
        break;
    case 2:
    case 3:
        test_or_cancel();
        break;
    case 4:
    case 5:
        write_lane(below(SLOTS));
        break;
    case 6:
        write_words();
        break;
    case 7:
        if (below(2) == 0)
            (void)nof_shm_move(true);
        break;
    default:
        post_recv();
        break;
    }
}

/* Of heads this rank writes one word, of its own: how many of its sends no call waits for. */
static void check_head(struct nof_part *part, bool self)
{
    struct nof_part_head head = part->head, was;
    uint32_t unawaited = 0, at = 0;
    memcpy(&was, shadow_of(&part->head), sizeof(was));
    for (const struct nof_shm_op *op; self && (op = nof_shm_op_each(&at)) != NULL;)
        unawaited += op->sends && op->req != NULL && op->req->unawaited != NULL;
    MUST(head.unawaited == (self ? unawaited : was.unawaited));
    head.unawaited = was.unawaited;
    MUST(memcmp(&head, &was, sizeof(head)) == 0);
}

/* The segment holds what the others have written, but for what is this rank's: lanes to them, cells that it returns, bells, maps. */
static void check_segment(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct nof_part *part = part_of(slot);
        uint8_t *cells = nof_part_cells(part);
        MUST(slot == SELF || memcmp(cells, shadow_of(cells), (size_t)NOF_CELLS * NOF_CELL_BYTES) == 0);
        uint8_t *behind = (uint8_t *)part + sizeof(*part);
        MUST(memcmp(behind, shadow_of(behind), NOF_PART_DELTA - sizeof(*part)) == 0);
        check_head(part, slot == SELF);
        for (uint32_t from = 0; from < SLOTS; from++) {
            struct nof_lane *lane = nof_part_lane(part, from);
            MUST(from == SELF || memcmp(lane->slot, shadow_of(lane->slot), sizeof(lane->slot)) == 0);
        }
    }
}

static void check_cells(void)
{
    uint32_t lent = 0;
    bool seen[NOF_CELLS] = {false};
    for (uint32_t slot = 0; slot <= SLOTS; slot++) /* the last: of messages that were moved */
        lent += nof_shm.lent[slot];
    MUST(lent == nof_shm.cells.lent_count);
    MUST(nof_shm.cells.free_count + nof_shm.cells.lent_count == nof_shm.cells.count);
    for (uint32_t i = 0; i < nof_shm.cells.free_count; i++) {
        MUST(!seen[nof_shm.cells.free[i]]);
        seen[nof_shm.cells.free[i]] = true;
    }
}

/* As a death does, of one slot after the other; then all is as at first. */
static void declare_gone(uint32_t slot)
{
    struct nof_shm_peer *peer = &nof_shm.peers[slot];
    nof_shm.slot_of[0] = (int32_t)slot;
    nof_shm_gone(0, NOF_EPEERDEAD, MPI_ERR_OTHER);
    if (peer->stuck)
        nof_shm.stuck_count--;
    peer->stuck = false;
    peer->gone = false;
    struct nof_lane *in = peer->in.lane, *out = peer->out.lane;
    memset(in, 0, sizeof(*in));
    memset(out, 0, sizeof(*out));
    if (!racing && slot != SELF)
        memset(shadow_of(in), 0, sizeof(*in));
    in->head.hot = peer->place != NOF_HOT_NONE;
    nof_lane_in_init(&peer->in, in);
    nof_lane_out_init(&peer->out, out);
}

static void forget_messages(void)
{
    for (int i = 0; i < BUFFERS; i++)
        if (messages[i] != MPI_MESSAGE_NULL)
            (void)MPI_Mrecv(buffers[0].pages, 0, MPI_BYTE, &messages[i], MPI_STATUS_IGNORE);
    for (struct nof_match_entry *e; (e = nof_chan_claims.memory.waiting.first) != NULL;) {
        nof_matcher_remove(&nof_chan_claims.memory, e);
        free(e);
    }
}

static void end(void)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        declare_gone(slot);
    for (int i = 0; i < BUFFERS; i++) {
        end_delta(&buffers[i]);
        test(&buffers[i]);
        MUST(buffers[i].request == MPI_REQUEST_NULL);
        check_buffer(&buffers[i]);
    }
    for (uint32_t slot = 0; slot < SLOTS; slot++) /* a taken message is answered, if its sender is there */
        nof_shm.peers[slot].gone = true;
    forget_messages();
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        nof_shm.peers[slot].gone = false;
    check_cells();
    MUST(nof_shm.in_use == 0);
    MUST(nof_shm.moves.used == 0 && nof_shm.moves.waiting == 0);
    MUST(nof_shm.cells.lent_count == 0);
    MUST(nof_chan_claims.memory.posted.first == NULL);
    MUST(nof_shm.stuck_count == 0);
}

/* As after so many messages, of which the other has taken none. */
static void fill_lane(uint32_t slot, uint32_t n)
{
    struct nof_lane_out *out = &nof_shm.peers[slot].out;
    if (slot == SELF)
        return;
    out->number += n;
    out->next = &out->lane->slot[n % NOF_LANE_SLOTS];
    out->room = NOF_LANE_SLOTS - n;
}

/* One that has all cells that it may, and others that it may not. */
static void keep_cells(uint32_t slot)
{
    uint32_t generation;
    while (nof_cells_take(&nof_shm.cells, slot, NOF_CELL_BYTES, &generation) >= 0)
        nof_shm.lent[slot]++;
}

static void run(void)
{
    alarm(PATIENCE_S);
    state_ = input * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < 8; i++)
        (void)draw();
    nof_shm.slot_of[0] = (int32_t)below(SLOTS);
    if (below(3) == 0)
        fill_lane((uint32_t)nof_shm.slot_of[0], NOF_LANE_SLOTS - below(3));
    if (below(4) == 0)
        keep_cells(1 + below(SLOTS - 1));
    for (uint32_t i = below(STEPS); i < STEPS; i++)
        step();
    for (int i = 0; i < BUFFERS; i++)
        check_buffer(&buffers[i]);
    if (!racing)
        check_segment();
    check_cells();
    end();
}

/* While the racing inputs run: bytes that change between a look and the next. */
static bool race_over;

static void *race(void *seed)
{
    uint64_t x = *(uint64_t *)seed;
    while (!__atomic_load_n(&race_over, __ATOMIC_RELAXED)) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint32_t from = (uint32_t)(x >> 33) % SLOTS, which = (uint32_t)(x >> 40) % NOF_LANE_SLOTS;
        struct nof_lane_slot *slot = &nof_part_lane(part_of(SELF), from)->slot[which];
        uint8_t *bytes = (uint8_t *)slot + 4 + (x >> 50) % 60;
        __atomic_store_n(bytes, (uint8_t)(x >> 20), __ATOMIC_RELAXED);
        if (x >> 60 == 0)
            __atomic_store_n(&slot->number, nof_shm.peers[from].in.number, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void make_segment(void)
{
    static struct nof_pmd_segment memory;
    static struct {
        struct nof_roster head;
        struct nof_roster_rank rank[SLOTS];
    } roster;
    static uint64_t probed = 4711;
    static struct nof_delta_host delta;
    part_offset = nof_segment_part_offset(SLOTS);
    part_bytes = nof_segment_part_bytes(SLOTS);
    size_t bytes = part_offset + SLOTS * part_bytes;
    segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(segment != MAP_FAILED && shadow != MAP_FAILED);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        struct nof_part_head *head = &part_of(slot)->head;
        roster.rank[slot] =
            (struct nof_roster_rank){.state = NOF_ROSTER_ATTACHED, .rank = 0, .pid = (uint32_t)getpid()};
        head->magic = NOF_PART_MAGIC;
        head->state = NOF_PART_SHM;
        head->probe.address = (uint64_t)(uintptr_t)&probed;
        head->probe.value = slot == LYING ? 4712 : 4711; /* that one is asked for pieces */
    }
    roster.head.nslots = SLOTS;
    memory = (struct nof_pmd_segment){
        .base = segment, .roster = &roster.head, .bytes = bytes, .nslots = SLOTS, .slot = SELF};
    fake_segment = &memory;
    fake_delta_host = &delta;
}

static void make_buffers(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), each = BUFFER_BYTES + 2 * page;
    for (int i = 0; i < BUFFERS; i++) {
        uint8_t *at = mmap(NULL, each, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(at != MAP_FAILED && mprotect(at + page, BUFFER_BYTES, PROT_READ | PROT_WRITE) == 0);
        buffers[i].pages = at + page;
        buffers[i].request = MPI_REQUEST_NULL;
        fill(&buffers[i]);
        messages[i] = MPI_MESSAGE_NULL;
    }
    REQUIRE(MPI_Type_create_resized(MPI_BYTE, 0, 1 + APART_GAP, &apart) == MPI_SUCCESS &&
            MPI_Type_commit(&apart) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
             n = argc > 2 ? strtoull(argv[2], NULL, 10) : INPUTS;
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)signal(signals[i], crashed);
    make_segment();
    REQUIRE(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    REQUIRE(nof_shm.open && MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    nof_lib.world_rank =
        1; /* what comes through the others' slots is not its own, which MPI_Imrecv would wait for */
    make_buffers();
    memcpy(shadow, segment, part_offset + SLOTS * part_bytes);
    for (input = first; input < first + n; input++)
        run();
    pthread_t writer;
    first_race = input;
    racing = argc <= 2 || n == 0;
    REQUIRE(pthread_create(&writer, NULL, race, &first_race) == 0);
    for (uint64_t k = 0; racing && k < RACING; k++, input++)
        run();
    __atomic_store_n(&race_over, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    racing = false;
    end();
    nof_lib.world_rank = 0;
    REQUIRE(MPI_Type_free(&apart) == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
