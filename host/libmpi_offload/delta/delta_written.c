/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_written.h"

#define FILL_PAGES 16u /* of glibc, memcpy interleaves 4 pages, and ends with 8 vectors */
#define QUIET_LOOKS 2u

static void announce(struct nof_delta_written *w, uint32_t part)
{
    uintptr_t low = nof_delta_part_low(&w->parts, part), high = nof_delta_part_high(&w->parts, part);
    uintptr_t from = low > w->out->base ? low : w->out->base;
    if (w->ops->written == NULL && !w->ops->guard(low, high - low))
        return; /* too many mappings: then it goes with the end */
    w->parts.state[part] = NOF_DELTA_PART_DONE;
    (void)nof_delta_out_add(w->out, (const void *)from, high - from); // NOLINT
}

/* NOF_DELTA_WRITERS: there are so many that nobody could tell when this one has done with a part. */
static unsigned writer_of(const struct nof_delta_written *w, pthread_t thread)
{
    for (unsigned i = 0; i < NOF_DELTA_WRITERS; i++)
        if (w->writer[i].first < w->writer[i].behind && pthread_equal(w->writer[i].thread, thread))
            return i;
    for (unsigned i = 0; i < NOF_DELTA_WRITERS; i++)
        if (w->writer[i].first == w->writer[i].behind)
            return i;
    return NOF_DELTA_WRITERS;
}

/* It has done with the parts from .. behind - 1 that it wrote. */
static void close_parts(struct nof_delta_written *w, unsigned number, uint32_t from, uint32_t behind)
{
    const struct nof_delta_writer *writer = &w->writer[number];
    from = from < writer->first ? writer->first : from;
    behind = behind > writer->behind ? writer->behind : behind;
    for (uint32_t part = from; part < behind; part++)
        if (w->parts.state[part] == NOF_DELTA_PART_OPEN + number)
            announce(w, part);
}

/* In a call that fills a range from `into` on, upwards or downwards. It may write its first and its last bytes at last. */
static void close_far(struct nof_delta_written *w, unsigned number, uintptr_t into, uintptr_t address)
{
    uint32_t top = w->writer[number].top;
    uintptr_t far = address - w->parts.low, fill = FILL_PAGES * NOF_DELTA_PAGE;
    if (far > fill)
        close_parts(w, number, nof_delta_part_of(&w->parts, into + NOF_DELTA_PAGE) + 1,
                    nof_delta_part_of(&w->parts, address - fill));
    if (top > 2)
        close_parts(w, number, nof_delta_part_of(&w->parts, address + fill) + 1, top - 2);
}

/* It has come to `address`. Calls that go on where the one before ended have filled what lies before them, but not the part
 * in which they begin. */
static void close_filled(struct nof_delta_written *w, unsigned number, uintptr_t into, uintptr_t address)
{
    struct nof_delta_writer *writer = &w->writer[number];
    uint32_t first = nof_delta_part_of(&w->parts, into), part = nof_delta_part_of(&w->parts, address);
    if (into == writer->into) {
        close_far(w, number, into, address);
    } else if (writer->into != 0 && into > writer->into && first + 1 >= writer->top && first <= writer->top) {
        close_parts(w, number, writer->open, first);
        writer->open = first;
    } else {
        writer->open = into <= nof_delta_part_low(&w->parts, first) ? first : first + 1;
        writer->top = 0;
    }
    writer->into = into;
    writer->top = part >= writer->top ? part + 1 : writer->top;
}

/* What of its parts this fault says to be done. */
static void close_before(struct nof_delta_written *w, unsigned number, const struct nof_delta_access *access)
{
    if (!access->by_libc) {
        close_parts(w, number, 0, w->parts.count);
        w->writer[number].into = 0;
    } else if (access->into >= w->out->base && access->into <= access->address) {
        close_filled(w, number, access->into, access->address);
    }
}

/* Of those that it has open. */
static void widen(struct nof_delta_writer *writer, uint32_t part, bool any)
{
    if (!any)
        writer->first = writer->behind = part;
    writer->first = part < writer->first ? part : writer->first;
    writer->behind = part >= writer->behind ? part + 1 : writer->behind;
}

bool nof_delta_written_fault(struct nof_delta_written *w, const struct nof_delta_access *access)
{
    uint32_t part = nof_delta_part_of(&w->parts, access->address);
    if (w->parts.state[part] >= NOF_DELTA_PART_OPEN)
        return nof_delta_pages_usable(access->address); /* another thread was there first */
    if (!w->ops->allow(nof_delta_part_low(&w->parts, part),
                       nof_delta_part_high(&w->parts, part) - nof_delta_part_low(&w->parts, part)))
        (void)w->ops->end(w->parts.low,
                          w->parts.high - w->parts.low); /* too many mappings: the rest goes with the end */
    if (w->parts.state[part] == NOF_DELTA_PART_DONE) {
        if (w->twice == 0 && access->address >= w->out->base)
            w->twice = access->address;
        return true;
    }
    if (access->address < w->out->base) {
        w->parts.state[part] = NOF_DELTA_PART_LATE; /* malloc's, not the message's */
        return true;
    }
    unsigned number = writer_of(w, pthread_self());
    if (number == NOF_DELTA_WRITERS) {
        w->parts.state[part] = NOF_DELTA_PART_LATE;
        return true;
    }
    struct nof_delta_writer *writer = &w->writer[number];
    bool known = writer->first < writer->behind;
    if (!known)
        *writer = (struct nof_delta_writer){.thread = pthread_self()};
    close_before(w, number, access);
    widen(writer, part, known && access->by_libc);
    w->parts.state[part] = (uint8_t)(NOF_DELTA_PART_OPEN + number);
    return true;
}

/* Writes that were no faults. */
static void note_written(struct nof_delta_written *w, const struct nof_delta_range *range)
{
    struct nof_delta_writer *all = &w->writer[0];
    for (uint32_t part = nof_delta_part_of(&w->parts, range->low);
         part <= nof_delta_part_of(&w->parts, range->high - 1); part++) {
        if (w->parts.state[part] == NOF_DELTA_PART_DONE && w->twice == 0)
            w->twice = nof_delta_part_low(&w->parts, part);
        if (w->parts.state[part] == NOF_DELTA_PART_DONE || w->parts.state[part] == NOF_DELTA_PART_LATE)
            continue;
        widen(all, part, all->first < all->behind);
        w->parts.state[part] = NOF_DELTA_PART_OPEN;
    }
}

/* Who wrote is not known: a part is done that was not written in two looks that found something elsewhere. */
void nof_delta_written_look(struct nof_delta_written *w)
{
    const struct nof_delta_writer *all = &w->writer[0];
    struct nof_delta_range range[NOF_DELTA_RANGES];
    uintptr_t from = w->parts.low;
    size_t n = w->ops->written(&from, w->parts.high, range, NOF_DELTA_RANGES);
    if (n == 0)
        return;
    for (uint32_t part = all->first; part < all->behind; part++)
        if (w->parts.state[part] >= NOF_DELTA_PART_OPEN &&
            w->parts.state[part] < NOF_DELTA_PART_OPEN + QUIET_LOOKS)
            w->parts.state[part]++;
    for (; n > 0; n = w->ops->written(&from, w->parts.high, range, NOF_DELTA_RANGES))
        for (size_t i = 0; i < n; i++)
            note_written(w, &range[i]);
    for (uint32_t part = all->first; part < all->behind; part++)
        if (w->parts.state[part] == NOF_DELTA_PART_OPEN + QUIET_LOOKS)
            announce(w, part);
    nof_delta_out_tell(w->out);
}

void nof_delta_written_late(struct nof_delta_written *w, uintptr_t low, uintptr_t high)
{
    low = low > w->parts.low ? low : w->parts.low;
    high = high < w->parts.high ? high : w->parts.high;
    for (uint32_t part = nof_delta_part_of(&w->parts, low);
         low < high && part <= nof_delta_part_of(&w->parts, high - 1); part++) {
        if (w->parts.state[part] < NOF_DELTA_PART_OPEN &&
            !w->ops->allow(nof_delta_part_low(&w->parts, part),
                           nof_delta_part_high(&w->parts, part) - nof_delta_part_low(&w->parts, part)))
            (void)w->ops->end(w->parts.low, w->parts.high - w->parts.low);
        if (w->parts.state[part] == NOF_DELTA_PART_DONE && w->twice == 0)
            w->twice = nof_delta_part_low(&w->parts, part) > low ? nof_delta_part_low(&w->parts, part) : low;
        if (w->parts.state[part] != NOF_DELTA_PART_DONE)
            w->parts.state[part] = NOF_DELTA_PART_LATE;
    }
}
