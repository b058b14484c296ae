/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands do at the target. A command whose description and payload lie behind it is carried out
 * at once; otherwise they are received first: description, then payload. While an operation is under way, later ones of its
 * origin that touch the same bytes wait for its end. */
#include <stdlib.h>
#include <string.h>

#include "rma/rma_work.h"

#define ASIDE_BYTES 65536u /* of a put that is received before its turn, */
#define ASIDE_ALL_BYTES (16u * ASIDE_BYTES) /* and of all such of an origin */

static void *address(const struct nof_rma_command *c)
{
    return (void *)(uintptr_t)c->addr; // NOLINT: checked by in_range() before it is followed
}

static size_t target_bytes(const struct nof_rma_work *work)
{
    return work->type == NULL ? 0 : work->type->size * work->command.count;
}

static bool in_range(const struct nof_win *win, uint64_t from, uint64_t to)
{
    struct nof_rma_region whole = {(uint64_t)(uintptr_t)win->base, (uint64_t)win->size};
    bool dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC, ascends = from <= to;
    const struct nof_rma_region *regions = dynamic ? win->rma->regions : &whole;
    size_t count = dynamic ? win->rma->region_count : 1;
    /* Regions that touch are one to the origin. */
    for (size_t i = 0; i < count && from < to; i++) {
        if (from < regions[i].base || from - regions[i].base >= regions[i].size)
            continue;
        from = regions[i].base + regions[i].size;
        i = SIZE_MAX; /* from the first one on */
    }
    return from >= to && ascends;
}

static void report(struct nof_win *win, int origin, int error_class)
{
    struct nof_rma_command command = {.kind = NOF_RMA_ERROR, .error_class = error_class};
    (void)nof_rma_send(win, origin, &command, NULL, 0);
}

static void control(struct nof_win *win, int origin, enum nof_rma_kind kind)
{
    if (kind == NOF_RMA_COMPLETE) {
        win->rma->peers[origin].completes++;
        return;
    }
    if (kind == NOF_RMA_UNLOCK)
        nof_rma_lock_given_back(win);
    (void)nof_rma_signal(win, origin, NOF_RMA_FLUSHED);
}

static void when_done(struct nof_win *win, int origin, const struct nof_rma_command *command)
{
    struct nof_rma_peer *peer = &win->rma->peers[origin];
    if (peer->pending == 0) {
        control(win, origin, command->kind);
        return;
    }
    struct nof_rma_work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        nof_lib_die(1, "no memory for a command of rank %d of a window", origin);
    work->command = *command;
    nof_rma_work_append(&peer->control_first, &peer->control_last, work);
}

static void run(struct nof_win *win, int origin);

static void work_done(struct nof_rma_work *work)
{
    struct nof_win *win = work->win;
    int origin = work->origin;
    struct nof_rma_peer *peer = &win->rma->peers[origin];
    if (work->queued)
        nof_rma_turn_leave(peer, work);
    if (work->aside)
        peer->aside_bytes -= work->command.payload_bytes;
    nof_rma_work_free(work);
    peer->pending--;
    if (peer->first != NULL)
        run(win, origin);
    while (peer->pending == 0 && peer->control_first != NULL) {
        struct nof_rma_work *waiting = nof_rma_work_take(&peer->control_first, &peer->control_last);
        control(win, origin, waiting->command.kind);
        free(waiting);
    }
}

/* Packed elements as an array of structs, and back: pairs with a hole between their halves. */
static void *spread(const struct nof_type *basic, const void *packed, size_t n)
{
    void *spread = calloc(n, (size_t)nof_type_extent(basic));
    if (spread != NULL)
        nof_type_unpack(basic, spread, n, 0, n * basic->size, packed);
    return spread;
}

static int combine_packed(nof_reduce_kernel kernel, const struct nof_type *basic, const void *payload,
                          void *inout, size_t n)
{
    if (basic->contiguous) {
        kernel(payload, inout, n);
        return MPI_SUCCESS;
    }
    void *a = spread(basic, payload, n), *b = spread(basic, inout, n);
    int error_class = a == NULL || b == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    if (error_class == MPI_SUCCESS) {
        kernel(a, b, n);
        nof_type_pack(basic, b, n, 0, n * basic->size, inout);
    }
    free(a);
    free(b);
    return error_class;
}

/* target = payload op target. Returns a class. */
static int combine(struct nof_rma_work *work, const void *payload)
{
    const struct nof_rma_command *c = &work->command;
    const struct nof_type *type = work->type;
    size_t bytes = target_bytes(work);
    if (c->op == NOF_OP_NO_OP || bytes == 0)
        return MPI_SUCCESS;
    if (c->payload_bytes != bytes)
        return MPI_ERR_TRUNCATE;
    nof_rma_write_here(work);
    if (c->op == NOF_OP_REPLACE) {
        nof_type_unpack(type, address(c), c->count, 0, bytes, payload);
        return MPI_SUCCESS;
    }
    const struct nof_type *basic = nof_rma_predefined(c->basic);
    nof_reduce_kernel kernel = basic == NULL ? NULL : nof_reduce_kernel_of(c->op, basic->basic);
    if (kernel == NULL)
        return MPI_ERR_OP;
    size_t n = bytes / basic->size;
    if (type->contiguous && basic->contiguous)
        return combine_packed(kernel, basic, payload, nof_lib_at(address(c), type->tree->lb), n);
    void *packed = malloc(bytes);
    if (packed == NULL)
        return MPI_ERR_NO_MEM;
    nof_type_pack(type, address(c), c->count, 0, bytes, packed);
    int error_class = combine_packed(kernel, basic, payload, packed, n);
    if (error_class == MPI_SUCCESS)
        nof_type_unpack(type, address(c), c->count, 0, bytes, packed);
    free(packed);
    return error_class;
}

static int compare_and_swap(struct nof_rma_work *work, const char *payload)
{
    size_t bytes = target_bytes(work);
    if (work->command.payload_bytes != 2 * bytes)
        return MPI_ERR_TRUNCATE;
    if (memcmp(address(&work->command), payload, bytes) == 0) {
        nof_rma_write_here(work);
        memcpy(address(&work->command), payload + bytes, bytes);
    }
    return MPI_SUCCESS;
}

/* Carry out an accumulate of any kind; type NULL: it was refused, the origin waits all the same. */
static void accumulate(struct nof_rma_work *work, const void *payload)
{
    const struct nof_rma_command *c = &work->command;
    size_t bytes = target_bytes(work);
    void *old = NULL;
    int error_class = MPI_SUCCESS;
    if (c->kind != NOF_RMA_ACC && bytes > 0) {
        old = malloc(bytes);
        if (old == NULL)
            error_class = MPI_ERR_NO_MEM;
        else
            nof_type_pack(work->type, address(c), c->count, 0, bytes, old);
    }
    if (work->type != NULL && error_class == MPI_SUCCESS)
        error_class = c->kind == NOF_RMA_CAS ? compare_and_swap(work, payload) : combine(work, payload);
    if (error_class != MPI_SUCCESS)
        report(work->win, work->origin, error_class);
    if (c->kind != NOF_RMA_ACC)
        (void)nof_rma_reply(work->win, work->origin, c->tag, old, old == NULL ? 0 : bytes);
}

static void replied(struct nof_rma_step *step, int error)
{
    (void)error; /* the origin has its own */
    work_done((struct nof_rma_work *)(void *)step);
}

static void answer_get(struct nof_rma_work *work)
{
    const struct nof_rma_command *c = &work->command;
    struct nof_rma_transfer t = {NOF_REQUEST_SEND, NOF_RMA_REPLY, work->origin, c->tag,
                                 address(c),       c->count,      work->type};
    if (work->type == NULL) {
        t.buf = NULL;
        t.count = 0;
        t.type = nof_type_byte();
    }
    work->step.then = replied;
    int rc = nof_rma_transfer(work->win, &t, &work->step);
    if (rc != MPI_SUCCESS) {
        report(work->win, work->origin, nof_error_class(rc));
        (void)nof_rma_reply(work->win, work->origin, c->tag, NULL, 0);
        work_done(work);
    }
}

/* Nothing of it is done here, but what the origin waits for. */
static void refuse(struct nof_rma_work *work, int error_class)
{
    report(work->win, work->origin, error_class);
    if (work->type != NULL)
        nof_type_release(work->type);
    work->type = NULL;
}

static void payload_came(struct nof_rma_step *step, int error)
{
    struct nof_rma_work *work = (struct nof_rma_work *)(void *)step;
    if (error != MPI_SUCCESS)
        refuse(work, nof_error_class(error));
    if (work->command.kind == NOF_RMA_PUT && !work->aside) {
        work_done(work);
        return;
    }
    work->ready = true;
    run(work->win, work->origin);
}

/* Receive the payload: of a put in its turn where it belongs; of all others, and of what was refused, aside. */
static void fetch_payload(struct nof_rma_work *work)
{
    const struct nof_rma_command *c = &work->command;
    struct nof_rma_transfer t = {NOF_REQUEST_RECV, NOF_RMA_PAYLOAD, work->origin, c->tag, NULL,
                                 c->payload_bytes, nof_type_byte()};
    if (c->kind == NOF_RMA_PUT && work->type != NULL && !work->aside) {
        t.buf = address(c);
        t.count = c->count;
        t.type = work->type;
    } else {
        t.buf = work->payload = malloc(c->payload_bytes);
    }
    work->step.then = payload_came;
    if ((t.buf == NULL && c->payload_bytes > 0) ||
        nof_rma_transfer(work->win, &t, &work->step) != MPI_SUCCESS)
        nof_lib_die(1, "no memory for %llu bytes of one-sided communication",
                    (unsigned long long)c->payload_bytes);
}

/* What a command whose datatype is known touches, and what is wrong with it: a class. */
static int judge(struct nof_rma_work *work)
{
    int64_t low, high;
    if (work->type == NULL)
        return MPI_ERR_TYPE;
    nof_rma_span(work->type, work->command.count, &low, &high);
    work->from = work->command.addr + (uint64_t)low;
    work->to = work->command.addr + (uint64_t)high;
    return low == high || in_range(work->win, work->from, work->to) ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

/* An inline payload that has to wait. */
static void keep_payload(struct nof_rma_work *work, const void *inline_payload)
{
    size_t bytes = work->command.payload_bytes;
    if (bytes == 0)
        return;
    work->payload = malloc(bytes);
    if (work->payload == NULL)
        nof_lib_die(1, "no memory for %zu bytes of one-sided communication", bytes);
    memcpy(work->payload, inline_payload, bytes);
}

/* A put whose payload is here. */
static void put_inline(const struct nof_rma_work *work, const void *payload)
{
    const struct nof_rma_command *c = &work->command;
    size_t bytes = target_bytes(work);
    if (c->payload_bytes < bytes)
        bytes = c->payload_bytes;
    nof_rma_write_here(work);
    if (bytes > 0)
        nof_type_unpack(work->type, address(c), c->count, 0, bytes, payload);
}

/* payload NULL: it comes by itself, or there is none. */
static void put(struct nof_rma_work *work, const void *payload)
{
    if (payload == NULL && work->command.payload_bytes > 0) {
        fetch_payload(work);
        return;
    }
    put_inline(work, payload);
    work_done(work);
}

/* Nothing is in its way. payload NULL: it comes by itself, or there is none. */
static void begin(struct nof_rma_work *work, const void *payload)
{
    if (work->command.kind == NOF_RMA_GET) {
        answer_get(work);
    } else if (work->command.kind == NOF_RMA_PUT) {
        put(work, payload);
    } else {
        accumulate(work, payload);
        work_done(work);
    }
}

static void has_settled(struct nof_rma_step *step, int error)
{
    const struct nof_rma_work *work = (struct nof_rma_work *)(void *)step;
    (void)error; /* there is none */
    run(work->win, work->origin);
}

/* Begin what can of an origin's operations. What ends meanwhile comes back here, and finds it running. */
static void run(struct nof_win *win, int origin)
{
    struct nof_rma_peer *peer = &win->rma->peers[origin];
    peer->again = true;
    if (peer->running || win->rma->closing)
        return;
    peer->running = true;
    while (peer->again) {
        struct nof_rma_work *next;
        unsigned n = 0;
        peer->again = false;
        for (struct nof_rma_work *work = peer->first; work != NULL && n < NOF_RMA_TURNS; work = next, n++) {
            next = work->next;
            if (!work->ready || work->begun || work->waits || !nof_rma_turn_has_come(peer, work))
                continue;
            if (!nof_rma_settled(work)) {
                work->step.then = has_settled;
                nof_rma_wait_settled(work);
                continue;
            }
            work->begun = true;
            begin(work, work->payload);
        }
    }
    peer->running = false;
}

/* A put that waits for others: a copy more of it costs less than to ask for it only in its turn. What is long is not worth the
 * room. */
static bool goes_aside(const struct nof_rma_peer *peer, const struct nof_rma_work *work)
{
    uint64_t bytes = work->command.payload_bytes;
    return work->command.kind == NOF_RMA_PUT && work->type != NULL && bytes <= ASIDE_BYTES &&
           peer->aside_bytes + bytes <= ASIDE_ALL_BYTES && !nof_rma_turn_has_come(peer, work);
}

/* What waits for an accumulate's turn is received meanwhile, and of a put what is not long; else it goes where it belongs, when
 * its turn has come. */
static void wait_turn(struct nof_rma_work *work, const void *inline_payload)
{
    const struct nof_rma_command *c = &work->command;
    struct nof_rma_peer *peer = &work->win->rma->peers[work->origin];
    if (!work->queued)
        nof_rma_turn_join(peer, work);
    if (inline_payload != NULL) {
        keep_payload(work, inline_payload);
    } else if (c->payload_bytes > 0) {
        work->aside = goes_aside(peer, work);
        if (work->aside)
            peer->aside_bytes += c->payload_bytes;
        if (work->aside || c->kind != NOF_RMA_PUT) {
            fetch_payload(work);
            return;
        }
    }
    work->ready = true;
    run(work->win, work->origin);
}

/* The datatype is known; inline_payload: the payload, or NULL when it comes by itself. */
static void proceed(struct nof_rma_work *work, const void *inline_payload)
{
    int error_class = judge(work);
    if (error_class != MPI_SUCCESS) {
        refuse(work, error_class);
        work->from = work->to = 0;
    }
    work->known = true;
    if (!work->queued && nof_rma_turn_has_come(&work->win->rma->peers[work->origin], work) &&
        nof_rma_settled(work))
        begin(work, inline_payload);
    else
        wait_turn(work, inline_payload);
}

static void description_came(struct nof_rma_step *step, int error)
{
    struct nof_rma_work *work = (struct nof_rma_work *)(void *)step;
    if (error == MPI_SUCCESS)
        work->type = nof_rma_described(work->desc, work->command.desc_bytes);
    proceed(work, NULL);
}

static void fetch_description(struct nof_rma_work *work)
{
    const struct nof_rma_command *c = &work->command;
    work->desc = malloc(c->desc_bytes);
    struct nof_rma_transfer t = {NOF_REQUEST_RECV, NOF_RMA_PAYLOAD, work->origin,   c->tag,
                                 work->desc,       c->desc_bytes,   nof_type_byte()};
    work->step.then = description_came;
    if (work->desc == NULL || nof_rma_transfer(work->win, &t, &work->step) != MPI_SUCCESS)
        nof_lib_die(1, "no memory for the description of a datatype");
}

static void operate(struct nof_win *win, int origin, const struct nof_rma_command *command, const char *body)
{
    struct nof_rma_work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        nof_lib_die(1, "no memory for a command of rank %d of a window", origin);
    work->win = win;
    work->origin = origin;
    work->command = *command;
    struct nof_rma_peer *peer = &win->rma->peers[origin];
    peer->pending++;
    bool apart = (command->flags & NOF_RMA_APART) != 0;
    if (apart)
        nof_rma_turn_join(peer, work);
    if (command->type != 0) {
        work->type = nof_rma_predefined(command->type);
    } else if (apart) {
        fetch_description(work);
        return;
    } else {
        work->type = nof_rma_described(body, command->desc_bytes);
    }
    proceed(work, apart ? NULL : body + command->desc_bytes);
}

void nof_rma_carry_out(struct nof_win *win, int origin, const struct nof_rma_command *command,
                       const void *body)
{
    struct nof_rma_peer *peer = &win->rma->peers[origin];
    switch ((enum nof_rma_kind)command->kind) {
    case NOF_RMA_PUT:
    case NOF_RMA_GET:
    case NOF_RMA_ACC:
    case NOF_RMA_GET_ACC:
    case NOF_RMA_CAS:
        operate(win, origin, command, body);
        break;
    case NOF_RMA_LOCK:
        nof_rma_lock_asked(win, origin, command->exclusive != 0);
        break;
    case NOF_RMA_LOCKED:
        peer->granted = true;
        break;
    case NOF_RMA_UNLOCK:
    case NOF_RMA_FLUSH:
    case NOF_RMA_COMPLETE:
        when_done(win, origin, command);
        break;
    case NOF_RMA_FLUSHED:
        peer->answered++;
        break;
    case NOF_RMA_POST:
        peer->posts++;
        break;
    case NOF_RMA_ERROR:
        win->rma->error_class = command->error_class;
        break;
    }
}
