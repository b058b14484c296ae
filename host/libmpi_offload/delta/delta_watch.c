/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_watch.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delta/delta_count.h"
#include "delta/delta_hold.h"
#include "delta/delta_pages.h"
#include "delta/delta_poll.h"
#include "delta/delta_size.h"

#define WRITERS 16 /* threads that write parts of their own; what more of them write leaves with the end */
#define FILL_PAGES 16u /* of glibc, memcpy interleaves 4 pages, and ends with 8 vectors */
#define QUIET_LOOKS 2u
#define FAULT_ENTRY_NS 1500u /* of a fault, outside its handler */

enum part {
    PART_UNTOUCHED,
    PART_DONE,
    PART_OPEN, /* and the number of its writer */
    PART_LATE = PART_OPEN + WRITERS, /* nobody tells when it is done: with the end */
};

/* Parts that a thread has open lie between these, among those of others. */
struct writer {
    pthread_t thread;
    /* Calls of the C library that fill one range behind the other: */
    uintptr_t into; /* where the last one began; 0: there was none */
    uint32_t open, top; /* parts from .. behind that they have written, and no one else writes */
    uint32_t first, behind; /* equal: none */
};

struct watch {
    uintptr_t low, high; /* whole pages */
    size_t part_bytes;
    uint32_t parts;
    uint32_t generation;
    uint8_t *state; /* enum part, by part; malloc'ed, for the next watch, too */
    size_t state_room;
    struct nof_delta_out *out; /* SEND */
    const struct nof_delta_pages_ops *ops;
    struct writer writer[WRITERS];
    uintptr_t twice; /* or, where writes are no faults, its page */
    struct nof_delta_in *in; /* RECV */
    uintptr_t base; /* of the message */
    bool hidden;
    bool lost; /* the program has unmapped some of the buffer */
    bool fatal;
    char *shadow; /* malloc'ed by pages, for the next watch, too */
    size_t shadow_bytes;
};

static struct watch sends[NOF_DELTA_SLOTS], recvs[NOF_DELTA_SLOTS];
/* Under the lock of handlers, read without. */
uint64_t nof_delta_sends_on, nof_delta_recvs_on;
static uint64_t fault_ns; /* 0: none was seen yet */
static sigset_t mask_at_fork;

static uintptr_t part_low(const struct watch *w, uint32_t part)
{
    return w->low + part * w->part_bytes;
}

static uintptr_t part_high(const struct watch *w, uint32_t part)
{
    uintptr_t high = part_low(w, part) + w->part_bytes;
    return high < w->high ? high : w->high;
}

static struct watch *find(struct watch *table, uint64_t on, uintptr_t address)
{
    for (; on != 0; on &= on - 1) {
        struct watch *w = &table[__builtin_ctzll(on)];
        if (address >= w->low && address < w->high)
            return w;
    }
    return NULL;
}

static _Noreturn void give_up(const char *line)
{
    (void)!write(STDERR_FILENO, line, strlen(line));
    _exit(1);
}

/* Sends. */

static void announce(struct watch *w, uint32_t part)
{
    uintptr_t low = part_low(w, part), high = part_high(w, part);
    uintptr_t from = low > w->out->base ? low : w->out->base;
    if (w->ops->written == NULL && !w->ops->guard(low, high - low))
        return; /* too many mappings: then it goes with the end */
    w->state[part] = PART_DONE;
    (void)nof_delta_out_add(w->out, (const void *)from, high - from); // NOLINT
}

/* WRITERS: there are so many that nobody could tell when this one has done with a part. */
static unsigned writer_of(const struct watch *w, pthread_t thread)
{
    for (unsigned i = 0; i < WRITERS; i++)
        if (w->writer[i].first < w->writer[i].behind && pthread_equal(w->writer[i].thread, thread))
            return i;
    for (unsigned i = 0; i < WRITERS; i++)
        if (w->writer[i].first == w->writer[i].behind)
            return i;
    return WRITERS;
}

/* It has done with the parts from .. behind - 1 that it wrote. */
static void close_parts(struct watch *w, unsigned number, uint32_t from, uint32_t behind)
{
    const struct writer *writer = &w->writer[number];
    from = from < writer->first ? writer->first : from;
    behind = behind > writer->behind ? writer->behind : behind;
    for (uint32_t part = from; part < behind; part++)
        if (w->state[part] == PART_OPEN + number)
            announce(w, part);
}

static uint32_t part_of(const struct watch *w, uintptr_t address)
{
    return address < w->low ? 0 : (uint32_t)((address - w->low) / w->part_bytes);
}

/* In a call that fills a range from `into` on, upwards or downwards. It may write its first and its last bytes at last. */
static void close_far(struct watch *w, unsigned number, uintptr_t into, uintptr_t address)
{
    uint32_t top = w->writer[number].top;
    uintptr_t far = address - w->low, fill = FILL_PAGES * NOF_DELTA_PAGE;
    if (far > fill)
        close_parts(w, number, part_of(w, into + NOF_DELTA_PAGE) + 1,
                    (uint32_t)((far - fill) / w->part_bytes));
    if (top > 2)
        close_parts(w, number, part_of(w, address + fill) + 1, top - 2);
}

/* It has come to `address`. Calls that go on where the one before ended have filled what lies before them, but not the part
 * in which they begin. */
static void close_filled(struct watch *w, unsigned number, uintptr_t into, uintptr_t address)
{
    struct writer *writer = &w->writer[number];
    uint32_t first = part_of(w, into), part = part_of(w, address);
    if (into == writer->into) {
        close_far(w, number, into, address);
    } else if (writer->into != 0 && into > writer->into && first + 1 >= writer->top && first <= writer->top) {
        close_parts(w, number, writer->open, first);
        writer->open = first;
    } else {
        writer->open = into <= part_low(w, first) ? first : first + 1;
        writer->top = 0;
    }
    writer->into = into;
    writer->top = part >= writer->top ? part + 1 : writer->top;
}

/* What of its parts this fault says to be done. */
static void close_before(struct watch *w, unsigned number, const struct nof_delta_access *access)
{
    if (!access->by_libc) {
        close_parts(w, number, 0, w->parts);
        w->writer[number].into = 0;
    } else if (access->into >= w->out->base && access->into <= access->address) {
        close_filled(w, number, access->into, access->address);
    }
}

/* Of those that it has open. */
static void widen(struct writer *writer, uint32_t part, bool any)
{
    if (!any)
        writer->first = writer->behind = part;
    writer->first = part < writer->first ? part : writer->first;
    writer->behind = part >= writer->behind ? part + 1 : writer->behind;
}

/* False: it was no guard of ours. */
static bool write_fault(struct watch *w, const struct nof_delta_access *access)
{
    uint32_t part = part_of(w, access->address);
    if (w->state[part] >= PART_OPEN)
        return nof_delta_pages_usable(access->address); /* another thread was there first */
    if (!w->ops->allow(part_low(w, part), part_high(w, part) - part_low(w, part)))
        (void)w->ops->end(w->low, w->high - w->low); /* too many mappings: the rest goes with the end */
    if (w->state[part] == PART_DONE) {
        if (w->twice == 0 && access->address >= w->out->base)
            w->twice = access->address;
        return true;
    }
    if (access->address < w->out->base) {
        w->state[part] = PART_LATE; /* malloc's, not the message's */
        return true;
    }
    unsigned number = writer_of(w, pthread_self());
    if (number == WRITERS) {
        w->state[part] = PART_LATE;
        return true;
    }
    struct writer *writer = &w->writer[number];
    bool known = writer->first < writer->behind;
    if (!known)
        *writer = (struct writer){.thread = pthread_self()};
    close_before(w, number, access);
    widen(writer, part, known && access->by_libc);
    w->state[part] = (uint8_t)(PART_OPEN + number);
    return true;
}

/* Writes that were no faults. */
static void note_written(struct watch *w, const struct nof_delta_range *range)
{
    struct writer *all = &w->writer[0];
    for (uint32_t part = part_of(w, range->low); part <= part_of(w, range->high - 1); part++) {
        if (w->state[part] == PART_DONE && w->twice == 0)
            w->twice = part_low(w, part);
        if (w->state[part] == PART_DONE || w->state[part] == PART_LATE)
            continue;
        widen(all, part, all->first < all->behind);
        w->state[part] = PART_OPEN;
    }
}

/* Who wrote is not known: a part is done that was not written in two looks that found something elsewhere. */
static void look_at_send(struct watch *w)
{
    const struct writer *all = &w->writer[0];
    struct nof_delta_range range[NOF_DELTA_RANGES];
    uintptr_t from = w->low;
    size_t n = w->ops->written(&from, w->high, range, NOF_DELTA_RANGES);
    if (n == 0)
        return;
    for (uint32_t part = all->first; part < all->behind; part++)
        if (w->state[part] >= PART_OPEN && w->state[part] < PART_OPEN + QUIET_LOOKS)
            w->state[part]++;
    for (; n > 0; n = w->ops->written(&from, w->high, range, NOF_DELTA_RANGES))
        for (size_t i = 0; i < n; i++)
            note_written(w, &range[i]);
    for (uint32_t part = all->first; part < all->behind; part++)
        if (w->state[part] == PART_OPEN + QUIET_LOOKS)
            announce(w, part);
    nof_delta_out_ring(w->out);
}

bool nof_delta_watch_look(void)
{
    sigset_t before;
    bool any = false;
    nof_delta_hold(&before);
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1) {
        struct watch *w = &sends[__builtin_ctzll(on)];
        if (w->ops->written == NULL)
            continue;
        look_at_send(w);
        any = true;
    }
    nof_delta_let_go(&before);
    return any;
}

/* Somebody else is about to write there. */
static void write_late(struct watch *w, uintptr_t low, uintptr_t high)
{
    low = low > w->low ? low : w->low;
    high = high < w->high ? high : w->high;
    for (uint32_t part = part_of(w, low); low < high && part <= part_of(w, high - 1); part++) {
        if (w->state[part] < PART_OPEN &&
            !w->ops->allow(part_low(w, part), part_high(w, part) - part_low(w, part)))
            (void)w->ops->end(w->low, w->high - w->low);
        if (w->state[part] == PART_DONE && w->twice == 0)
            w->twice = part_low(w, part) > low ? part_low(w, part) : low;
        if (w->state[part] != PART_DONE)
            w->state[part] = PART_LATE;
    }
}

/* Receives. */

static uintptr_t shadow_of(const struct watch *w, uintptr_t address)
{
    return (uintptr_t)w->shadow + (address - w->low) + NOF_DELTA_PAGE;
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: inside a buffer
}

/* Is the buffer where it was when this receive began? Nothing is put over what the program has there by now. */
static bool still(const struct watch *w, uintptr_t low, uintptr_t high)
{
    return w->hidden ? nof_delta_pages_hidden(low, high) : nof_delta_pages_plain(low, high);
}

static void give_back(struct watch *w, uintptr_t low, uintptr_t high)
{
    if (low < high && w->hidden && !nof_delta_pages_show(low, high - low))
        w->lost = true;
}

/* Out of the shadow. */
static void copy(const struct watch *w, uintptr_t low, uintptr_t high)
{
    nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, high - low);
    memcpy(at(low), at(shadow_of(w, low)), high - low);
}

/* Where memory for one more mapping is missing, by a copy that other threads can see half done. */
static void put_there(struct watch *w, uintptr_t low, uintptr_t high)
{
    if (nof_delta_pages_put(shadow_of(w, low), low, high - low))
        return;
    give_back(w, low, high);
    copy(w, low, high);
}

static void put(struct watch *w, uintptr_t low, uintptr_t high)
{
    if (low < high && still(w, low, high)) {
        put_there(w, low, high);
        return;
    }
    for (uintptr_t page = low; page < high; page += NOF_DELTA_PAGE) {
        if (still(w, page, page + NOF_DELTA_PAGE))
            put_there(w, page, page + NOF_DELTA_PAGE);
        else
            w->lost = true;
    }
}

/* The page in which the message ends: what lies behind the end is the buffer's own. */
static void put_last(struct watch *w, uintptr_t page, uintptr_t end)
{
    uintptr_t behind = page + NOF_DELTA_PAGE;
    if (nof_delta_pages_peek(end, at(shadow_of(w, end)), behind - end)) {
        put(w, page, behind);
        return;
    }
    if (!still(w, page, behind)) {
        w->lost = true;
        return;
    }
    give_back(w, page, behind);
    copy(w, page, end);
}

/* The message reaches up to `end`. */
static void show(struct watch *w, uintptr_t low, uintptr_t high, uintptr_t end)
{
    uintptr_t whole = end & ~(NOF_DELTA_PAGE - 1);
    whole = whole < low ? low : whole > high ? high : whole;
    put(w, low, whole);
    if (whole < high && end > whole) {
        put_last(w, whole, end);
        whole += NOF_DELTA_PAGE;
    }
    give_back(w, whole, high);
}

static uintptr_t end_by_board(const struct watch *w)
{
    uint64_t len = __atomic_load_n(&w->in->arrival->len, __ATOMIC_RELAXED);
    return w->base + (len < w->in->bytes ? (size_t)len : w->in->bytes);
}

static enum nof_delta_in_result has_page(const struct watch *w, uint32_t page)
{
    uintptr_t low = part_low(w, page);
    return nof_delta_in_has(w->in, low - w->base, low + NOF_DELTA_PAGE - w->base);
}

/* This page, and those behind it that have come, too. */
static void show_from(struct watch *w, uint32_t page)
{
    uint32_t behind = page;
    while (behind < w->parts && w->state[behind] == PART_UNTOUCHED &&
           has_page(w, behind) == NOF_DELTA_IN_THERE)
        w->state[behind++] = PART_DONE;
    show(w, part_low(w, page), w->low + behind * w->part_bytes, end_by_board(w));
}

/* All that has come, or, where the message is over, is as far as `end`; the rest is as it was. */
static void show_rest(struct watch *w, bool failed, uintptr_t end)
{
    for (uint32_t page = 0, behind; page < w->parts; page = behind) {
        bool come =
            w->state[page] == PART_UNTOUCHED &&
            (!failed || nof_delta_in_units(w->in, part_low(w, page) - w->base, part_high(w, page) - w->base));
        bool open = w->state[page] == PART_UNTOUCHED;
        for (behind = page + 1; behind < w->parts && (w->state[behind] == PART_UNTOUCHED) == open; behind++)
            if (failed && open &&
                nof_delta_in_units(w->in, part_low(w, behind) - w->base, part_high(w, behind) - w->base) !=
                    come)
                break;
        uintptr_t low = part_low(w, page), high = w->low + behind * w->part_bytes;
        if (open && come)
            show(w, low, high, end);
        else if (open)
            give_back(w, low, high);
        memset(&w->state[page], PART_DONE, behind - page);
    }
}

/* True: the page is there now, or is no longer hidden. *failed_out: the message has ended without it. */
static bool try_page(uintptr_t address, bool *failed_out, bool *fatal_out)
{
    sigset_t before;
    bool ended = true;
    nof_delta_hold(&before);
    struct watch *w = find(recvs, nof_delta_recvs_on, address);
    uint32_t page = w == NULL ? 0 : (uint32_t)((address - w->low) / w->part_bytes);
    if (w != NULL && w->hidden && w->state[page] == PART_UNTOUCHED) {
        enum nof_delta_in_result found = has_page(w, page);
        ended = found == NOF_DELTA_IN_THERE;
        if (ended)
            show_from(w, page);
        *failed_out = found == NOF_DELTA_IN_FAILED;
        *fatal_out = w->fatal;
    }
    nof_delta_let_go(&before);
    return ended;
}

/* The message is not coming: its pages are the program's, and the next call that asks tells why. */
static void abandon(uintptr_t address, bool fatal)
{
    sigset_t before;
    if (fatal)
        give_up("libmpi_offload: a delta receive has failed while its bytes were waited for: its peer or the "
                "NIC is gone\n");
    nof_delta_hold(&before);
    struct watch *w = find(recvs, nof_delta_recvs_on, address);
    if (w != NULL && w->hidden) {
        show_rest(w, true, w->base + w->in->bytes);
        w->hidden = false;
    }
    nof_delta_let_go(&before);
}

/* In a fault. What the NIC alone does not bring comes by polls, for which another thread is called: at once where that has helped, else
 * after a sleep in vain. */
static void await_page(uintptr_t address, uint32_t slot)
{
    struct nof_delta_pause pause = {.polls = 0};
    bool summoned = false;
    for (;;) {
        bool failed = false, fatal = false;
        nof_delta_pause_look(&pause);
        if (try_page(address, &failed, &fatal))
            break;
        if (!summoned && nof_delta_pause_sleeps(&pause) && (pause.sleeps > 0 || nof_delta_poll_pays())) {
            summoned = true;
            nof_delta_poll_summon(slot);
        }
        if (failed || !nof_delta_pause(&pause)) {
            abandon(address, fatal);
            break;
        }
    }
    if (summoned)
        nof_delta_poll_dismiss();
}

static bool any_gone(const struct watch *table, uint64_t on)
{
    for (; on != 0; on &= on - 1) {
        const struct watch *w = &table[__builtin_ctzll(on)];
        if (!nof_delta_pages_own(w->low) || !nof_delta_pages_own(w->high - 1))
            return true;
    }
    return false;
}

/* By mremap(), what was protected is so elsewhere; where it was, the message finds nothing, and fails. */
static bool moved(uintptr_t address)
{
    sigset_t before;
    nof_delta_hold(&before);
    bool released = (any_gone(sends, nof_delta_sends_on) || any_gone(recvs, nof_delta_recvs_on)) &&
                    nof_delta_pages_release(address);
    nof_delta_let_go(&before);
    return released;
}

bool nof_delta_watch_fault(struct nof_delta_access access)
{
    uintptr_t address = access.address;
    sigset_t before;
    uint64_t began_ns = nof_lib_now_ns();
    nof_delta_hold(&before);
    struct watch *w = find(sends, nof_delta_sends_on, address);
    if (w != NULL) {
        bool guarded = write_fault(w, &access);
        nof_delta_let_go(&before);
        uint64_t took_ns = nof_lib_now_ns() - began_ns + FAULT_ENTRY_NS;
        uint64_t was_ns = __atomic_load_n(&fault_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&fault_ns, was_ns - was_ns / 16 + took_ns / 16, __ATOMIC_RELAXED);
        return guarded;
    }
    w = find(recvs, nof_delta_recvs_on, address);
    bool ours = w != NULL && w->hidden;
    uint32_t slot = ours ? nof_delta_in_slot(w->in) : 0;
    nof_delta_let_go(&before);
    if (w == NULL)
        return moved(address);
    if (ours)
        await_page(address, slot);
    return ours && nof_delta_pages_usable(address);
}

static void before_fork(void)
{
    nof_delta_hold(&mask_at_fork);
}

static void after_fork(void)
{
    nof_delta_let_go(&mask_at_fork);
}

/* The child has the pages, and no NIC. */
static void in_child(void)
{
    nof_delta_pages_in_child();
    nof_delta_poll_in_child();
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1) {
        const struct watch *w = &sends[__builtin_ctzll(on)];
        if (w->ops->in_child)
            (void)w->ops->end(w->low, w->high - w->low);
    }
    for (uint64_t on = nof_delta_recvs_on; on != 0; on &= on - 1) {
        struct watch *w = &recvs[__builtin_ctzll(on)];
        give_back(w, w->low, w->high);
    }
    nof_delta_sends_on = nof_delta_recvs_on = 0;
    nof_delta_let_go(&mask_at_fork);
}

bool nof_delta_watch_open(void)
{
    static bool opened;
    if (!opened && nof_delta_pages_open())
        opened = pthread_atfork(before_fork, after_fork, in_child) == 0;
    return opened;
}

static bool room_for_parts(struct watch *w)
{
    if (w->parts > w->state_room) {
        free(w->state);
        w->state = malloc(w->parts);
        w->state_room = w->state == NULL ? 0 : w->parts;
    }
    if (w->state == NULL)
        return false;
    memset(w->state, PART_UNTOUCHED, w->parts);
    return true;
}

/* Whole pages from `low` on, up to `end`. */
static bool aim(struct watch *w, uintptr_t low, uintptr_t end, size_t part_bytes)
{
    w->low = low;
    w->high = end & ~(NOF_DELTA_PAGE - 1);
    w->part_bytes = part_bytes;
    if (w->low >= w->high || w->low == 0 || !nof_delta_pages_plain(w->low, w->high))
        return false;
    size_t parts = (w->high - w->low + part_bytes - 1) / part_bytes;
    w->parts = (uint32_t)parts;
    return parts == w->parts && room_for_parts(w);
}

static uintptr_t page_behind(uintptr_t address)
{
    return (address + NOF_DELTA_PAGE - 1) & ~(NOF_DELTA_PAGE - 1);
}

/* The page in which a block of malloc's begins is the message's, too. */
static bool aim_at_send(struct watch *w, const struct nof_delta_out *out, size_t part_bytes)
{
    uintptr_t end = out->base + out->bytes, page = out->base & ~(NOF_DELTA_PAGE - 1);
    return (page != out->base && nof_delta_pages_plain(page, page + NOF_DELTA_PAGE) &&
            nof_delta_pages_block(out->base, out->bytes) && aim(w, page, end, part_bytes)) ||
           aim(w, page_behind(out->base), end, part_bytes);
}

static bool crosses(const struct watch *table, uint64_t on, uintptr_t low, uintptr_t high)
{
    for (; on != 0; on &= on - 1) {
        const struct watch *w = &table[__builtin_ctzll(on)];
        if (w->low < high && low < w->high)
            return true;
    }
    return false;
}

bool nof_delta_watch_send(struct nof_delta_out *out, int way)
{
    struct watch *w = &sends[out->slot];
    sigset_t before;
    w->ops = nof_delta_way_ops((enum nof_delta_way)way);
    if (fault_ns == 0)
        fault_ns = nof_delta_way_fault_ns(w->ops);
    /* A thread that computes one message from another has the faults of both. */
    uint64_t cost_ns = __atomic_load_n(&fault_ns, __ATOMIC_RELAXED) * (nof_delta_recvs_on != 0 ? 2 : 1);
    size_t part = nof_delta_size(out->bytes, 0, cost_ns, NOF_DELTA_PAGE);
    part = part < NOF_DELTA_PAGE || w->ops->written != NULL ? NOF_DELTA_PAGE : part & ~(NOF_DELTA_PAGE - 1);
    if (!aim_at_send(w, out, part) || crosses(sends, nof_delta_sends_on, w->low, w->high))
        return false;
    w->out = out;
    w->twice = 0;
    memset(w->writer, 0, sizeof(w->writer));
    if (!w->ops->begin(w->low, w->high - w->low))
        return false;
    nof_delta_hold(&before);
    bool guarded = w->ops->guard(w->low, w->high - w->low);
    if (guarded) {
        out->watched = true;
        out->delta_bytes = w->ops->written == NULL ? 1 : SIZE_MAX; /* told by each look */
        __atomic_store_n(&nof_delta_sends_on, nof_delta_sends_on | 1ull << out->slot, __ATOMIC_RELAXED);
    }
    nof_delta_let_go(&before);
    if (!guarded)
        (void)w->ops->end(w->low, w->high - w->low);
    return guarded;
}

const void *nof_delta_watch_send_end(const struct nof_delta_out *out)
{
    struct watch *w = &sends[out->slot];
    sigset_t before;
    uintptr_t twice = 0;
    nof_delta_hold(&before);
    if ((nof_delta_sends_on & 1ull << out->slot) != 0) {
        if (w->ops->written != NULL)
            look_at_send(w);
        (void)w->ops->end(w->low, w->high - w->low);
        __atomic_store_n(&nof_delta_sends_on, nof_delta_sends_on & ~(1ull << out->slot), __ATOMIC_RELAXED);
        twice = w->twice;
    }
    nof_delta_let_go(&before);
    return at(twice);
}

static bool room_in_shadow(struct watch *w)
{
    size_t bytes = w->high - w->low + 2 * NOF_DELTA_PAGE; /* the ends */
    if (bytes <= w->shadow_bytes)
        return true;
    nof_delta_pages_free(w->shadow, w->shadow_bytes);
    w->shadow = nof_delta_pages_new(bytes);
    w->shadow_bytes = w->shadow == NULL ? 0 : bytes;
    return w->shadow != NULL;
}

void *nof_delta_watch_recv(struct nof_delta_in *in, bool fatal)
{
    uint32_t slot = nof_delta_in_slot(in);
    struct watch *w = &recvs[slot];
    sigset_t before;
    nof_delta_watch_write(at(in->base), in->bytes);
    if (!aim(w, page_behind(in->base), in->base + in->bytes, NOF_DELTA_PAGE) || !room_in_shadow(w) ||
        crosses(sends, nof_delta_sends_on, w->low, w->high))
        return NULL;
    w->in = in;
    w->base = in->base;
    w->hidden = w->lost = false;
    w->fatal = fatal;
    nof_delta_hold(&before);
    __atomic_store_n(&nof_delta_recvs_on, nof_delta_recvs_on | 1ull << slot, __ATOMIC_RELAXED);
    nof_delta_let_go(&before);
    return at(shadow_of(w, w->base));
}

static bool is_watched(const struct nof_delta_in *in)
{
    return (nof_delta_recvs_on & 1ull << nof_delta_in_slot(in)) != 0;
}

static bool has_end(struct nof_delta_in *in, size_t from, size_t to)
{
    return from == to || nof_delta_in_has(in, from, to) == NOF_DELTA_IN_THERE;
}

bool nof_delta_watch_has_ends(struct nof_delta_in *in)
{
    const struct watch *w = &recvs[nof_delta_in_slot(in)];
    return !is_watched(in) || (has_end(in, 0, w->low - w->base) && has_end(in, w->high - w->base, in->bytes));
}

/* Outside whole pages, as far as the message reaches. */
static void copy_ends(const struct watch *w, uintptr_t end)
{
    uintptr_t low = end < w->low ? end : w->low;
    if (low > w->base)
        copy(w, w->base, low);
    if (end > w->high)
        copy(w, w->high, end);
}

bool nof_delta_watch_hide(struct nof_delta_in *in)
{
    struct watch *w = &recvs[nof_delta_in_slot(in)];
    sigset_t before;
    if (!is_watched(in))
        return true;
    copy_ends(w, end_by_board(w));
    nof_delta_hold(&before);
    w->hidden = nof_delta_pages_hide(w->low, w->high - w->low);
    nof_delta_let_go(&before);
    return w->hidden;
}

bool nof_delta_watch_recv_end(struct nof_delta_in *in, bool failed, size_t bytes)
{
    struct watch *w = &recvs[nof_delta_in_slot(in)];
    sigset_t before;
    if (!is_watched(in))
        return true;
    uintptr_t end = failed ? w->base + in->bytes : w->base + bytes;
    if (!w->hidden && !failed)
        copy_ends(w, end);
    nof_delta_hold(&before);
    show_rest(w, failed, end);
    w->hidden = false;
    __atomic_store_n(&nof_delta_recvs_on, nof_delta_recvs_on & ~(1ull << nof_delta_in_slot(in)),
                     __ATOMIC_RELAXED);
    nof_delta_let_go(&before);
    return !w->lost;
}

void nof_delta_watch_close(void)
{
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1)
        (void)nof_delta_watch_send_end(sends[__builtin_ctzll(on)].out);
}

/* Those of the pages of one message that have come are put into their place. False: some have not. */
static bool put_all(const struct watch *w, uintptr_t low, uintptr_t high)
{
    uintptr_t from = low > w->low ? low : w->low, to = high < w->high ? high : w->high;
    for (uintptr_t page = from & ~(NOF_DELTA_PAGE - 1); w->hidden && page < to; page += NOF_DELTA_PAGE) {
        bool failed = false, fatal = false;
        if (try_page(page, &failed, &fatal))
            continue;
        if (!failed)
            return false;
        abandon(page, fatal);
    }
    return true;
}

bool nof_delta_watch_settle(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    bool all = true;
    for (uint64_t on = __atomic_load_n(&nof_delta_recvs_on, __ATOMIC_RELAXED); on != 0; on &= on - 1)
        all = put_all(&recvs[__builtin_ctzll(on)], low, high) && all;
    return all;
}

void nof_delta_watch_wait(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    for (uint64_t on = __atomic_load_n(&nof_delta_recvs_on, __ATOMIC_RELAXED); on != 0; on &= on - 1) {
        const struct watch *w = &recvs[__builtin_ctzll(on)];
        uintptr_t from = low > w->low ? low : w->low, to = high < w->high ? high : w->high;
        for (uintptr_t page = from & ~(NOF_DELTA_PAGE - 1); w->hidden && page < to; page += NOF_DELTA_PAGE)
            await_page(page, (uint32_t)__builtin_ctzll(on));
    }
}

void nof_delta_watch_write(const void *address, size_t bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + bytes;
    sigset_t before;
    if (__atomic_load_n(&nof_delta_sends_on, __ATOMIC_RELAXED) == 0)
        return;
    nof_delta_hold(&before);
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1)
        write_late(&sends[__builtin_ctzll(on)], low, high);
    nof_delta_let_go(&before);
}
