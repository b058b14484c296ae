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

#define FAULT_ENTRY_NS 1500u /* of a fault, outside its handler */

/* A receive whose pages are hidden. */
struct hidden {
    struct nof_delta_parts parts; /* pages */
    struct nof_delta_in *arrives;
    uintptr_t base; /* of the message */
    const struct nof_delta_hide_ops *ops;
    uintptr_t kept; /* where what lay in the parts is while they are hidden; 0: they never were */
    bool hidden;
    bool lost; /* the program has unmapped some of the buffer */
    bool fatal;
    char *shadow; /* malloc'ed by pages, for the next one, too */
    size_t shadow_bytes;
};

static struct nof_delta_written sends[NOF_DELTA_SLOTS];
static struct hidden recvs[NOF_DELTA_SLOTS];
/* Under the lock of handlers, read without. */
uint64_t nof_delta_sends_on, nof_delta_recvs_on;
static uint64_t fault_ns; /* 0: none was seen yet */
static uint32_t ends; /* nof_delta_watch_ends() */
static sigset_t mask_at_fork;

static struct nof_delta_written *find_send(uintptr_t address)
{
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1) {
        struct nof_delta_written *w = &sends[__builtin_ctzll(on)];
        if (address >= w->parts.low && address < w->parts.high)
            return w;
    }
    return NULL;
}

static struct hidden *find_recv(uintptr_t address)
{
    for (uint64_t on = nof_delta_recvs_on; on != 0; on &= on - 1) {
        struct hidden *w = &recvs[__builtin_ctzll(on)];
        if (address >= w->parts.low && address < w->parts.high)
            return w;
    }
    return NULL;
}

/* Sends. */

bool nof_delta_watch_look(void)
{
    sigset_t before;
    bool any = false;
    nof_delta_hold(&before);
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1) {
        struct nof_delta_written *w = &sends[__builtin_ctzll(on)];
        if (w->ops->written == NULL)
            continue;
        nof_delta_written_look(w);
        any = true;
    }
    nof_delta_let_go(&before);
    return any;
}

/* Receives. */

static uintptr_t shadow_of(const struct hidden *w, uintptr_t address)
{
    return (uintptr_t)w->shadow + (address - w->parts.low) + NOF_DELTA_PAGE;
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: inside a buffer
}

static uintptr_t kept_of(const struct hidden *w, uintptr_t address)
{
    return w->kept + (address - w->parts.low);
}

static void give_back(struct hidden *w, uintptr_t low, uintptr_t high)
{
    if (low < high && w->hidden && !w->ops->show(low, kept_of(w, low), high - low))
        w->lost = true;
}

/* Out of the shadow. */
static void copy(const struct hidden *w, uintptr_t low, uintptr_t high)
{
    nof_delta_count(NOF_DELTA_COUNT_COPIED_BYTES, high - low);
    memcpy(at(low), at(shadow_of(w, low)), high - low);
}

/* Nothing is put over what the program has there by now. */
static void put(struct hidden *w, uintptr_t low, uintptr_t high)
{
    if (low < high && !(w->hidden ? w->ops->put : nof_delta_pages_put)(shadow_of(w, low), low, high - low))
        w->lost = true;
}

/* The page in which the message ends: what lies behind the end is the buffer's own. */
static void put_last(struct hidden *w, uintptr_t page, uintptr_t end)
{
    uintptr_t behind = page + NOF_DELTA_PAGE;
    void *rest = at(shadow_of(w, end));
    if (!w->hidden && nof_delta_pages_plain(page, behind))
        copy(w, page, end);
    else if (w->hidden && w->ops->peek(end, kept_of(w, end), rest, behind - end))
        put(w, page, behind);
    else if (w->hidden && w->ops->show(page, kept_of(w, page), NOF_DELTA_PAGE))
        copy(w, page, end);
    else
        w->lost = true;
}

/* The message reaches up to `end`. */
static void show(struct hidden *w, uintptr_t low, uintptr_t high, uintptr_t end)
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

static uintptr_t end_by_board(const struct hidden *w)
{
    uint64_t len = __atomic_load_n(&w->arrives->arrival->len, __ATOMIC_RELAXED);
    return w->base + (len < w->arrives->bytes ? (size_t)len : w->arrives->bytes);
}

static enum nof_delta_in_result has_page(const struct hidden *w, uint32_t page)
{
    uintptr_t low = nof_delta_part_low(&w->parts, page);
    return nof_delta_in_has(w->arrives, low - w->base, low + NOF_DELTA_PAGE - w->base);
}

/* This page, and those behind it that have come, too. */
static void show_from(struct hidden *w, uint32_t page)
{
    uint32_t behind = page;
    while (behind < w->parts.count && w->parts.state[behind] == NOF_DELTA_PART_UNTOUCHED &&
           has_page(w, behind) == NOF_DELTA_IN_THERE)
        w->parts.state[behind++] = NOF_DELTA_PART_DONE;
    show(w, nof_delta_part_low(&w->parts, page), nof_delta_part_low(&w->parts, behind), end_by_board(w));
}

/* The pages from `page` up to this one are all open, or none is. */
static uint32_t behind_alike(const struct hidden *w, uint32_t page)
{
    uint32_t behind = page + 1;
    while (behind < w->parts.count && (w->parts.state[behind] == NOF_DELTA_PART_UNTOUCHED) ==
                                          (w->parts.state[page] == NOF_DELTA_PART_UNTOUCHED))
        behind++;
    return behind;
}

/* All that has come, or, where the message is over, is as far as `end`; the rest is as it was. */
static void show_rest(struct hidden *w, bool failed, uintptr_t end)
{
    for (uint32_t page = 0, behind; page < w->parts.count; page = behind) {
        bool come = w->parts.state[page] == NOF_DELTA_PART_UNTOUCHED &&
                    (!failed || nof_delta_in_units(w->arrives, nof_delta_part_low(&w->parts, page) - w->base,
                                                   nof_delta_part_high(&w->parts, page) - w->base));
        bool open = w->parts.state[page] == NOF_DELTA_PART_UNTOUCHED;
        uint32_t alike = behind_alike(w, page);
        for (behind = page + 1; behind < alike; behind++)
            if (failed && open &&
                nof_delta_in_units(w->arrives, nof_delta_part_low(&w->parts, behind) - w->base,
                                   nof_delta_part_high(&w->parts, behind) - w->base) != come)
                break;
        uintptr_t low = nof_delta_part_low(&w->parts, page), high = nof_delta_part_low(&w->parts, behind);
        if (open && come)
            show(w, low, high, end);
        else if (open)
            give_back(w, low, high);
        memset(&w->parts.state[page], NOF_DELTA_PART_DONE, behind - page);
    }
}

static bool is_open(const struct hidden *w, uintptr_t address)
{
    return !w->hidden || w->parts.state[nof_delta_part_of(&w->parts, address)] != NOF_DELTA_PART_UNTOUCHED;
}

/* Of a page that is hidden. */
static enum nof_delta_in_result show_if_there(struct hidden *w, uintptr_t address)
{
    uint32_t page = nof_delta_part_of(&w->parts, address);
    enum nof_delta_in_result found = has_page(w, page);
    if (found == NOF_DELTA_IN_THERE)
        show_from(w, page);
    return found;
}

/* True: the page is there now, or is no longer hidden. *failed_out: the message has ended without it. */
static bool try_page(uintptr_t address, bool *failed_out, bool *fatal_out)
{
    sigset_t before;
    bool ended = true;
    nof_delta_hold(&before);
    struct hidden *w = find_recv(address);
    if (w != NULL && !is_open(w, address)) {
        enum nof_delta_in_result found = show_if_there(w, address);
        ended = found == NOF_DELTA_IN_THERE;
        *failed_out = found == NOF_DELTA_IN_FAILED;
        *fatal_out = w->fatal;
    }
    nof_delta_let_go(&before);
    return ended;
}

/* Under the lock of handlers. */
static void count_end(void)
{
    __atomic_store_n(&ends, ends + 1, __ATOMIC_RELAXED);
}

uint32_t nof_delta_watch_ends(void)
{
    return __atomic_load_n(&ends, __ATOMIC_RELAXED);
}

/* All that could be shown is. */
static void end_hiding(struct hidden *w)
{
    count_end();
    w->hidden = false;
    if (w->kept != 0)
        w->ops->end(w->parts.low, w->kept, w->parts.high - w->parts.low);
    w->kept = 0;
}

/* The message is not coming: its pages are the program's, and the next call that asks tells why. */
static void abandon(uintptr_t address, bool fatal)
{
    sigset_t before;
    if (fatal)
        nof_delta_give_up(
            "libmpi_offload: a delta receive has failed while its bytes were waited for: its peer or the "
            "NIC is gone\n");
    nof_delta_hold(&before);
    struct hidden *w = find_recv(address);
    if (w != NULL && w->hidden) {
        show_rest(w, true, w->base + w->arrives->bytes);
        end_hiding(w);
    }
    nof_delta_let_go(&before);
}

/* In a fault. What the NIC alone does not bring comes by polls, for which another thread is called: at once where that has helped, else
 * after a sleep in vain. */
static void await_page(uintptr_t address, uint32_t slot)
{
    struct nof_delta_pause pause = {.polls = 0};
    bool summoned = false;
    nof_delta_hold_open(NULL);
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

static bool gone(const struct nof_delta_parts *p)
{
    return !nof_delta_pages_own(p->low) || !nof_delta_pages_own(p->high - 1);
}

static bool any_gone(void)
{
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1)
        if (gone(&sends[__builtin_ctzll(on)].parts))
            return true;
    for (uint64_t on = nof_delta_recvs_on; on != 0; on &= on - 1)
        if (gone(&recvs[__builtin_ctzll(on)].parts))
            return true;
    return false;
}

/* By mremap(), what was protected is so elsewhere; where it was, the message finds nothing, and fails. */
static bool moved(uintptr_t address)
{
    sigset_t before;
    nof_delta_hold(&before);
    bool released = any_gone() && nof_delta_pages_release(address);
    nof_delta_let_go(&before);
    return released;
}

bool nof_delta_watch_fault(struct nof_delta_access access)
{
    uintptr_t address = access.address;
    sigset_t before;
    uint64_t began_ns = nof_lib_now_ns();
    nof_delta_hold(&before);
    struct nof_delta_written *written = find_send(address);
    if (written != NULL) {
        bool guarded = nof_delta_written_fault(written, &access);
        nof_delta_let_go(&before);
        uint64_t took_ns = nof_lib_now_ns() - began_ns + FAULT_ENTRY_NS;
        uint64_t was_ns = __atomic_load_n(&fault_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&fault_ns, was_ns - was_ns / 16 + took_ns / 16, __ATOMIC_RELAXED);
        return guarded;
    }
    struct hidden *w = find_recv(address);
    bool ours = w != NULL && w->hidden;
    uint32_t slot = ours ? nof_delta_in_slot(w->arrives) : 0;
    bool shown = ours && !is_open(w, address) && show_if_there(w, address) == NOF_DELTA_IN_THERE && !w->lost;
    nof_delta_let_go(&before);
    if (w == NULL)
        return moved(address);
    if (ours && !shown)
        await_page(address, slot);
    return shown || (ours && nof_delta_pages_usable(address));
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
        const struct nof_delta_written *w = &sends[__builtin_ctzll(on)];
        if (w->ops->in_child)
            (void)w->ops->end(w->parts.low, w->parts.high - w->parts.low);
    }
    for (uint64_t on = nof_delta_recvs_on; on != 0; on &= on - 1) {
        const struct hidden *w = &recvs[__builtin_ctzll(on)];
        for (uint32_t page = 0, behind; w->hidden && page < w->parts.count; page = behind) {
            behind = behind_alike(w, page);
            uintptr_t low = nof_delta_part_low(&w->parts, page);
            if (w->parts.state[page] == NOF_DELTA_PART_UNTOUCHED)
                (void)w->ops->show_in_child(low, kept_of(w, low),
                                            nof_delta_part_low(&w->parts, behind) - low);
        }
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

static bool room_for_parts(struct nof_delta_parts *p)
{
    if (p->count > p->state_room) {
        free(p->state);
        p->state = malloc(p->count);
        p->state_room = p->state == NULL ? 0 : p->count;
    }
    if (p->state == NULL)
        return false;
    memset(p->state, NOF_DELTA_PART_UNTOUCHED, p->count);
    return true;
}

/* Whole pages from `low` on, up to `end`. */
static bool aim(struct nof_delta_parts *p, uintptr_t low, uintptr_t end, size_t part_bytes)
{
    p->low = low;
    p->high = end & ~(NOF_DELTA_PAGE - 1);
    p->part_bytes = part_bytes;
    if (p->low >= p->high || p->low == 0 || !nof_delta_pages_plain(p->low, p->high))
        return false;
    size_t bytes = p->high - p->low;
    uint32_t halves = 1;
    p->tail_bytes = NOF_DELTA_PAGE;
    while (2 * p->tail_bytes <= part_bytes && 2 * p->tail_bytes <= bytes) {
        p->tail_bytes *= 2;
        halves++;
    }
    size_t alike = (bytes - p->tail_bytes + part_bytes - 1) / part_bytes, parts = alike + halves;
    p->cut_bytes = alike * part_bytes - (bytes - p->tail_bytes);
    p->count = (uint32_t)parts;
    return parts == p->count && room_for_parts(p);
}

static uintptr_t page_behind(uintptr_t address)
{
    return (address + NOF_DELTA_PAGE - 1) & ~(NOF_DELTA_PAGE - 1);
}

/* The page in which a block of malloc's begins is the message's, too. */
static bool aim_at_send(struct nof_delta_parts *p, const struct nof_delta_out *out, size_t part_bytes)
{
    uintptr_t end = out->base + out->bytes, page = out->base & ~(NOF_DELTA_PAGE - 1);
    return (page != out->base && nof_delta_pages_plain(page, page + NOF_DELTA_PAGE) &&
            nof_delta_pages_block(out->base, out->bytes) && aim(p, page, end, part_bytes)) ||
           aim(p, page_behind(out->base), end, part_bytes);
}

static bool crosses_send(const struct nof_delta_parts *p)
{
    for (uint64_t on = nof_delta_sends_on; on != 0; on &= on - 1) {
        const struct nof_delta_parts *other = &sends[__builtin_ctzll(on)].parts;
        if (other->low < p->high && p->low < other->high)
            return true;
    }
    return false;
}

bool nof_delta_watch_send(struct nof_delta_out *out, enum nof_delta_way way)
{
    struct nof_delta_written *w = &sends[out->slot];
    sigset_t before;
    w->ops = nof_delta_way_ops(way);
    if (fault_ns == 0)
        fault_ns = nof_delta_way_fault_ns(w->ops);
    /* A thread that computes one message from another has the faults of both. */
    uint64_t cost_ns = __atomic_load_n(&fault_ns, __ATOMIC_RELAXED) * (nof_delta_recvs_on != 0 ? 2 : 1);
    size_t part = nof_delta_size(out->bytes, 0, cost_ns, NOF_DELTA_PAGE);
    part = part < NOF_DELTA_PAGE || w->ops->written != NULL ? NOF_DELTA_PAGE : part & ~(NOF_DELTA_PAGE - 1);
    if (!aim_at_send(&w->parts, out, part) || crosses_send(&w->parts))
        return false;
    w->out = out;
    w->twice = 0;
    memset(w->writer, 0, sizeof(w->writer));
    if (!w->ops->begin(w->parts.low, w->parts.high - w->parts.low))
        return false;
    nof_delta_hold(&before);
    bool guarded = w->ops->guard(w->parts.low, w->parts.high - w->parts.low);
    if (guarded) {
        out->watched = true;
        out->delta_bytes = w->ops->written == NULL ? 1 : SIZE_MAX; /* told by each look */
        __atomic_store_n(&nof_delta_sends_on, nof_delta_sends_on | 1ull << out->slot, __ATOMIC_RELAXED);
    }
    nof_delta_let_go(&before);
    if (!guarded)
        (void)w->ops->end(w->parts.low, w->parts.high - w->parts.low);
    return guarded;
}

const void *nof_delta_watch_send_end(const struct nof_delta_out *out)
{
    struct nof_delta_written *w = &sends[out->slot];
    sigset_t before;
    uintptr_t twice = 0;
    nof_delta_hold(&before);
    if ((nof_delta_sends_on & 1ull << out->slot) != 0) {
        if (w->ops->written != NULL)
            nof_delta_written_look(w);
        (void)w->ops->end(w->parts.low, w->parts.high - w->parts.low);
        count_end();
        __atomic_store_n(&nof_delta_sends_on, nof_delta_sends_on & ~(1ull << out->slot), __ATOMIC_RELAXED);
        twice = w->twice;
    }
    nof_delta_let_go(&before);
    return at(twice);
}

static bool room_in_shadow(struct hidden *w)
{
    size_t bytes = w->parts.high - w->parts.low + 2 * NOF_DELTA_PAGE; /* the ends */
    if (bytes <= w->shadow_bytes)
        return true;
    nof_delta_pages_free(w->shadow, w->shadow_bytes);
    w->shadow = nof_delta_pages_new(bytes);
    w->shadow_bytes = w->shadow == NULL ? 0 : bytes;
    return w->shadow != NULL;
}

void *nof_delta_watch_recv(struct nof_delta_in *in, bool fatal, enum nof_delta_way way)
{
    uint32_t slot = nof_delta_in_slot(in);
    struct hidden *w = &recvs[slot];
    sigset_t before;
    nof_delta_watch_write(at(in->base), in->bytes);
    if (!aim(&w->parts, page_behind(in->base), in->base + in->bytes, NOF_DELTA_PAGE) || !room_in_shadow(w) ||
        crosses_send(&w->parts))
        return NULL;
    w->ops = nof_delta_way_hide_ops(way);
    w->arrives = in;
    w->base = in->base;
    w->kept = 0;
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
    const struct hidden *w = &recvs[nof_delta_in_slot(in)];
    return !is_watched(in) ||
           (has_end(in, 0, w->parts.low - w->base) && has_end(in, w->parts.high - w->base, in->bytes));
}

/* Outside whole pages, as far as the message reaches. */
static void copy_ends(const struct hidden *w, uintptr_t end)
{
    uintptr_t low = end < w->parts.low ? end : w->parts.low;
    if (low > w->base)
        copy(w, w->base, low);
    if (end > w->parts.high)
        copy(w, w->parts.high, end);
}

/* What cannot be hidden in the way that was chosen, as several mappings, can be by mprotect(). */
static bool hide_parts(struct hidden *w)
{
    size_t bytes = w->parts.high - w->parts.low;
    if (w->ops->hide(w->parts.low, bytes, &w->kept))
        return true;
    w->ops = &nof_delta_hide_by_mprotect;
    return w->ops->hide(w->parts.low, bytes, &w->kept);
}

bool nof_delta_watch_hide(struct nof_delta_in *in)
{
    struct hidden *w = &recvs[nof_delta_in_slot(in)];
    sigset_t before;
    if (!is_watched(in))
        return true;
    copy_ends(w, end_by_board(w));
    nof_delta_hold(&before);
    w->hidden = hide_parts(w);
    nof_delta_let_go(&before);
    return w->hidden;
}

bool nof_delta_watch_recv_end(struct nof_delta_in *in, bool failed, size_t bytes)
{
    struct hidden *w = &recvs[nof_delta_in_slot(in)];
    sigset_t before;
    if (!is_watched(in))
        return true;
    uintptr_t end = failed ? w->base + in->bytes : w->base + bytes;
    if (!w->hidden && !failed)
        copy_ends(w, end);
    nof_delta_hold(&before);
    show_rest(w, failed, end);
    end_hiding(w);
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
static bool put_all(const struct hidden *w, uintptr_t low, uintptr_t high)
{
    uintptr_t from = low > w->parts.low ? low : w->parts.low,
              to = high < w->parts.high ? high : w->parts.high;
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
        const struct hidden *w = &recvs[__builtin_ctzll(on)];
        uintptr_t from = low > w->parts.low ? low : w->parts.low,
                  to = high < w->parts.high ? high : w->parts.high;
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
        nof_delta_written_late(&sends[__builtin_ctzll(on)], low, high);
    nof_delta_let_go(&before);
}
