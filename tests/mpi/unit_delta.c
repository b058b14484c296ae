/* SPDX-License-Identifier: BSD-3-Clause */
/* What of a delta message is ready, and what has come, beside a NIC that is a thread here and takes units in random order: ranges of
 * every shape, what overlaps, pages that are watched on both sides, messages that end early or fail. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "base/wait.h"
#include "delta/delta_count.h"
#include "delta/delta_fault.h"
#include "delta/delta_in.h"
#include "delta/delta_out.h"
#include "delta/delta_size.h"
#include "delta/delta_watch.h"
#include "nof/status.h"

enum { PAGE = 4096, MOST = 300 * PAGE };

struct nof_lib nof_lib;
static struct nof_delta_host host;
static struct nof_delta_nic nic;
static unsigned char *from, *to;
static uint64_t dice = 4711;
static enum nof_delta_way way;
static atomic_uint rings;

/* The one message that is under way. */
static struct {
    atomic_bool on;
    const unsigned char *data;
    unsigned char *target;
    uint32_t out, in, unit_log2;
    size_t bytes;
    atomic_bool fails; /* after some of it */
} message;

uint64_t nof_lib_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of the library: nobody polls here. */
void nof_lib_lock(void)
{
}

void nof_lib_unlock(void)
{
}

bool nof_wait_step(struct nof_wait *wait)
{
    (void)wait;
    return false;
}

void nof_wait_ring(void)
{
}

static struct nof_delta_host *get_host(void)
{
    return &host;
}

static const struct nof_delta_nic *get_nic(void)
{
    return &nic;
}

static void ring(uint32_t slot)
{
    check(slot < NOF_DELTA_SLOTS);
    rings++;
}

static bool wait_for(uint32_t seen, uint64_t timeout_ns)
{
    (void)timeout_ns;
    check(seen == host.wake && host.asleep == 1); /* since before the last look */
    usleep(20);
    return true;
}

static bool assisted(void)
{
    return false;
}

static struct nof_delta_ready *ready_at(uint32_t slot)
{
    return slot < NOF_DELTA_SLOTS ? &host.ready[slot] : NULL;
}

static const struct nof_delta_board board = {.host = get_host,
                                             .nic = get_nic,
                                             .ready = ready_at,
                                             .ring = ring,
                                             .wait = wait_for,
                                             .assisted = assisted};

static uint64_t draw(uint64_t n)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (dice >> 16) % n;
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)(i * 131 + (i >> 8) + 1);
}

static bool bit(const uint64_t *words, size_t i)
{
    return (__atomic_load_n(&words[i / 64], __ATOMIC_ACQUIRE) >> i % 64 & 1) != 0;
}

static void *be_nic(void *arg)
{
    uint64_t steps = 88172645463325252u;
    (void)arg;
    while (atomic_load(&message.on)) {
        struct nof_delta_arrival *arrival = &nic.arrival[message.in];
        struct nof_delta_ready *ready = &host.ready[message.out];
        uint64_t end = __atomic_load_n(&ready->end, __ATOMIC_ACQUIRE);
        size_t unit = (size_t)1 << message.unit_log2, missing = 0;
        size_t len = end == 0 ? message.bytes : (size_t)(end - 1), units = (len + unit - 1) / unit;
        for (size_t u = 0; u < units; u++) {
            steps = steps * 6364136223846793005u + 1442695040888963407u;
            if (bit(arrival->unit, u))
                continue;
            if ((end == 0 && !bit(ready->unit, u)) || steps >> 62 == 0) {
                missing++;
                continue;
            }
            size_t n = len - u * unit < unit ? len - u * unit : unit;
            memcpy(message.target + u * unit, message.data + u * unit, n);
            __atomic_or_fetch(&arrival->unit[u / 64], 1ull << u % 64, __ATOMIC_RELEASE);
        }
        bool fails = atomic_load(&message.fails);
        if ((end == 0 || missing > 0) && !fails)
            continue;
        __atomic_store_n(&arrival->len, len, __ATOMIC_RELAXED);
        __atomic_store_n(&arrival->status, fails ? NOF_EPEERDEAD : NOF_OK, __ATOMIC_RELAXED);
        __atomic_store_n(&arrival->state, NOF_DELTA_DONE, __ATOMIC_RELEASE);
        break;
    }
    return NULL;
}

static pthread_t nic_thread;

/* It is matched before anything else happens. */
static void connect(const struct nof_delta_out *out, const struct nof_delta_in *in, const void *data,
                    void *target, size_t bytes)
{
    struct nof_delta_arrival *arrival = &nic.arrival[nof_delta_in_slot(in)];
    message.data = data;
    message.target = target;
    message.out = out->slot;
    message.in = nof_delta_in_slot(in);
    message.unit_log2 = out->unit_log2;
    message.bytes = bytes;
    atomic_store(&message.fails, false);
    memset(arrival->unit, 0, sizeof(arrival->unit));
    arrival->len = bytes;
    arrival->unit_log2 = out->unit_log2;
    __atomic_store_n(&arrival->state, NOF_DELTA_MATCHED, __ATOMIC_RELEASE);
    atomic_store(&message.on, true);
    check(pthread_create(&nic_thread, NULL, be_nic, NULL) == 0);
}

static void await_end(void)
{
    check(pthread_join(nic_thread, NULL) == 0);
    atomic_store(&message.on, false);
}

static struct nof_delta_out *take_out(const void *data, size_t bytes)
{
    struct nof_delta_out_args args = {
        .board = &board, .data = data, .bytes = bytes, .align_bytes = 1, .by_address = true};
    struct nof_delta_out *out = nof_delta_out_take(&args);
    check(out != NULL);
    return out;
}

static struct nof_delta_in *take_in(const void *base, size_t bytes)
{
    struct nof_delta_in *in = nof_delta_in_take(&board, base, bytes, false);
    check(in != NULL);
    check(nof_delta_in_state(in) == NOF_DELTA_FREE); /* whatever the slot's last message left there */
    return in;
}

/* Cut at random places, in random order; what was said once is refused, and units have their bit when all of them was. */
static void ranges(size_t bytes, int cuts)
{
    static size_t at[300];
    static unsigned char said[MOST];
    struct nof_delta_out *out = take_out(from, bytes);
    at[0] = 0;
    at[cuts] = bytes;
    for (int k = 1; k < cuts; k++) {
        size_t cut = draw(bytes + 1);
        int i = k;
        for (; i > 1 && at[i - 1] > cut; i--)
            at[i] = at[i - 1];
        at[i] = cut;
    }
    memset(said, 0, bytes);
    for (int k = 0, next = (int)draw((uint64_t)cuts); k < cuts; k++, next = (next + 61) % cuts) {
        size_t low = at[next], n = at[next + 1] - low;
        check(nof_delta_out_add(out, from + low, n) == NOF_DELTA_OUT_OK);
        memset(said + low, 1, n);
        if (n > 0)
            check(nof_delta_out_add(out, from + low, n) == NOF_DELTA_OUT_OVERLAP);
        for (size_t u = 0, unit = (size_t)1 << out->unit_log2; u * unit < bytes; u++) {
            size_t behind = (u + 1) * unit < bytes ? (u + 1) * unit : bytes;
            bool all = memchr(said + u * unit, 0, behind - u * unit) == NULL;
            check(bit(host.ready[out->slot].unit, u) == all);
        }
    }
    check(nof_delta_out_add(out, from - 1, 1) == NOF_DELTA_OUT_RANGE);
    check(nof_delta_out_add(out, from + bytes, 1) == NOF_DELTA_OUT_RANGE);
    check(out->highest == bytes && nof_delta_out_end(out, bytes) && !nof_delta_out_end(out, bytes));
    check(host.ready[out->slot].end == bytes + 1 && nof_delta_out_add(out, from, 1) == NOF_DELTA_OUT_ENDED);
    nof_delta_out_give(out);
}

/* All slots of the board are taken: those behind are told of nothing, and end as the others. */
static void without_slots(void)
{
    enum { MORE = 200 };
    static struct nof_delta_out *out[MORE];
    static struct nof_delta_in *in[MORE];
    size_t bytes;
    for (unsigned i = 0; i < MORE; i++) {
        out[i] = take_out(from + 64 * i, 64);
        in[i] = nof_delta_in_take(&board, to + 64 * i, 64, false);
        check(out[i]->slot >= NOF_DELTA_SLOTS && in[i] != NULL && !nof_delta_in_on_board(in[i]));
        nof_delta_out_publish(out[i], nof_lib_handle(0x2000 + i));
        nof_delta_in_publish(in[i]);
        check(nof_delta_out_at(out[i]->slot) == out[i] && nof_delta_in_at(nof_delta_in_slot(in[i])) == in[i]);
    }
    unsigned before = rings;
    for (unsigned i = 0; i < MORE; i++) {
        check(nof_delta_out_of(nof_lib_handle(0x2000 + i)) == out[i]);
        check(nof_delta_out_add(out[i], from + 64 * i, 50) == NOF_DELTA_OUT_OK);
        check(nof_delta_out_add(out[i], from + 64 * i + 49, 2) == NOF_DELTA_OUT_OVERLAP);
        check(nof_delta_out_add(out[i], from + 64 * i + 63, 2) == NOF_DELTA_OUT_RANGE);
        check(nof_delta_in_look(to + 64 * i, 64) == NOF_DELTA_IN_WAITS && nof_delta_in_unheard(in[i]));
        nof_delta_out_parked(out[i]);
        check(!nof_delta_out_over(out[i], &bytes));
        check(nof_delta_out_end(out[i], 60) && !nof_delta_out_end(out[i], 60));
        check(nof_delta_out_over(out[i], &bytes) && bytes == 60);
    }
    check(rings == before);
    for (unsigned i = 0; i < MORE; i++) {
        nof_delta_out_give(out[i]);
        nof_delta_in_give(in[i]);
    }
    check(nof_delta_in_look(to, MORE * 64) == NOF_DELTA_IN_THERE);
}

/* All slots, then more. */
static void slots(void)
{
    struct nof_delta_out *out[NOF_DELTA_SLOTS];
    struct nof_delta_in *in[NOF_DELTA_SLOTS];
    struct nof_delta_out_args args = {.board = &board, .data = from, .bytes = 10, .by_address = true};
    for (unsigned i = 0; i < NOF_DELTA_SLOTS; i++) {
        out[i] = take_out(from, 10);
        in[i] = take_in(to, 10);
        nof_delta_out_publish(out[i], nof_lib_handle(0x1000 + i));
        check(nof_delta_out_of(nof_lib_handle(0x1000 + i)) == out[i]);
    }
    args.on_board = true;
    check(nof_delta_out_take(&args) == NULL && nof_delta_in_take(&board, to, 10, true) == NULL);
    without_slots();
    check(nof_delta_out_of(nof_lib_handle(0)) == NULL &&
          nof_delta_out_of(nof_lib_handle(0x1000 + 64)) == NULL);
    for (unsigned i = 0; i < NOF_DELTA_SLOTS; i++) {
        nof_delta_out_give(out[i]);
        nof_delta_in_give(in[i]);
        check(nof_delta_out_of(nof_lib_handle(0x1000 + i)) == NULL);
    }
}

static void await_bytes(const void *address, size_t bytes)
{
    struct nof_delta_pause pause = {.polls = 0};
    while (nof_delta_in_look(address, bytes) == NOF_DELTA_IN_WAITS) {
        nof_delta_pause_look(&pause);
        check(nof_delta_pause(&pause));
    }
}

/* Told by calls. */
static void calls(size_t bytes, size_t final)
{
    struct nof_delta_out *out = take_out(from, bytes);
    struct nof_delta_in *in = take_in(to, bytes);
    memset(to, 0xee, MOST);
    connect(out, in, from, to, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED);
    nof_delta_in_publish(in);
    for (size_t at = 0; at < final / 2; at += 1000) {
        size_t n = final / 2 - at < 1000 ? final / 2 - at : 1000;
        for (size_t i = at; i < at + n; i++)
            from[i] = byte_at(i);
        check(nof_delta_out_add(out, from + at, n) == NOF_DELTA_OUT_OK);
    }
    size_t sure = final / 2 >> out->unit_log2 << out->unit_log2;
    await_bytes(to, sure);
    for (size_t i = 0; i < sure; i++)
        check(to[i] == byte_at(i));
    for (size_t i = final / 2; i < final; i++)
        from[i] = byte_at(i);
    check(nof_delta_out_end(out, final));
    await_bytes(to, bytes);
    await_end();
    for (size_t i = 0; i < bytes; i++)
        check(to[i] == (i < final ? byte_at(i) : 0xee));
    nof_delta_in_give(in);
    check(nof_delta_in_look(to, bytes) == NOF_DELTA_IN_THERE);
    nof_delta_out_give(out);
}

/* Told by pages, on both sides; `at`: where in a page the message begins. */
static void by_pages(size_t at, size_t bytes, size_t final, bool ends_first)
{
    struct nof_delta_out *out = take_out(from + at, bytes);
    struct nof_delta_in *in = take_in(to + at, bytes);
    memset(to, 0xee, MOST);
    memset(from, 0, MOST);
    void *shadow = nof_delta_watch_recv(in, false, way);
    check((shadow != NULL) == (((at + bytes) / PAGE) > (at + PAGE - 1) / PAGE));
    connect(out, in, from + at, shadow == NULL ? to + at : shadow, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED);
    check(nof_delta_watch_send(out, way) == (shadow != NULL));
    check(nof_delta_watch_look() == (shadow != NULL && way == NOF_DELTA_WAY_PAGEMAP));
    for (size_t i = 0; i < final; i++)
        from[at + i] = byte_at(i);
    check(nof_delta_watch_send_end(out) == NULL);
    if (ends_first)
        check(nof_delta_out_end(out, final));
    while (ends_first && !nof_delta_watch_has_ends(in))
        ;
    if (ends_first)
        nof_delta_watch_hide(in);
    for (size_t i = 0; ends_first && i < bytes && shadow != NULL; i += 1 + draw(3000))
        check(to[at + i] == (i < final ? byte_at(i) : 0xee));
    if (!ends_first)
        check(nof_delta_out_end(out, final));
    await_end();
    check(nof_delta_watch_recv_end(in, false, final));
    for (size_t i = 0; i < bytes; i++)
        check(to[at + i] == (i < final ? byte_at(i) : 0xee));
    check(to[at + bytes] == 0xee && (at == 0 || to[at - 1] == 0xee) && !nof_delta_watch_any());
    nof_delta_in_give(in);
    nof_delta_out_give(out);
}

static size_t units_ready(const struct nof_delta_out *out)
{
    size_t n = 0;
    for (size_t i = 0; i < NOF_DELTA_WORDS; i++)
        n += (size_t)__builtin_popcountll(host.ready[out->slot].unit[i]);
    return n << out->unit_log2;
}

/* A message that functions of the C library fill, `row` bytes a call: upwards most of it leaves before the end, whatever way
 * through it the function takes. Nothing is taken to be done that it comes back to. */
static void by_libc(size_t at, size_t bytes, size_t row, bool upwards)
{
    struct nof_delta_out *out = take_out(from + at, bytes);
    size_t rows = (bytes + row - 1) / row;
    for (size_t i = 0; i < bytes; i++)
        to[i] = byte_at(i);
    memset(from, 0, MOST);
    check(nof_delta_watch_send(out, way));
    for (size_t k = 0; k < rows; k++) {
        size_t i = upwards ? k : rows - 1 - k;
        size_t n = bytes - i * row < row ? bytes - i * row : row;
        memcpy(from + at + i * row, to + i * row, n);
    }
    size_t early = units_ready(out);
    check(nof_delta_watch_send_end(out) == NULL);
    check(memcmp(from + at, to, bytes) == 0);
    check(!upwards || bytes < 100 * PAGE || early > bytes / 2);
    check(nof_delta_out_end(out, bytes));
    nof_delta_out_give(out);
}

/* Within the buffer, and by the function that goes backwards. */
static void by_memmove(size_t shift)
{
    struct nof_delta_out *out = take_out(from, 200 * PAGE);
    for (size_t i = 0; i < 210 * PAGE; i++)
        from[i] = byte_at(i);
    check(nof_delta_watch_send(out, way));
    memmove(from + shift, from, 200 * PAGE - shift);
    memset(from, 1, shift);
    check(nof_delta_watch_send_end(out) == NULL);
    check(nof_delta_out_end(out, 200 * PAGE));
    nof_delta_out_give(out);
}

static void filled_by_libc(void)
{
    char text[100];
    static const size_t rows[] = {100, 1000, PAGE, 5000, 3 * PAGE, 70000, 10 * PAGE + 8, 300 * PAGE};
    static const size_t begins[] = {0, 16, 4095};
    check(setenv("NOF_DELTA_SIZE", "8192", 1) == 0 && nof_delta_size_open(text, sizeof(text)) == 0);
    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
        for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
            for (int upwards = 0; upwards < 2; upwards++) {
                by_libc(begins[i], 299 * PAGE, rows[k], upwards == 1);
                by_libc(begins[i], 21 * PAGE + 7, rows[k], upwards == 1);
            }
    for (size_t shift = 64; shift < 100000; shift = shift * 3 + 8)
        by_memmove(shift);
}

/* A buffer of malloc's, which begins in the midst of a page: that page leaves as the others do. In front of it malloc writes as it
 * likes. */
static void malloced(void)
{
    const size_t bytes = 100 * PAGE + 100;
    unsigned char *own = from;
    from = malloc(bytes);
    check(from != NULL);
    bool alone = (uintptr_t)from % PAGE == 16; /* not so under a sanitizer */
    struct nof_delta_out *out = take_out(from, bytes);
    check(nof_delta_watch_send(out, way));
    for (size_t i = 0; i < bytes; i++)
        from[i] = byte_at(i);
    check(!alone || bit(host.ready[out->slot].unit, 0));
    check(nof_delta_watch_send_end(out) == NULL);
    check(nof_delta_out_end(out, bytes));
    nof_delta_out_give(out);
    out = take_out(from, bytes);
    check(nof_delta_watch_send(out, way));
    if (alone)
        *(volatile size_t *)((uintptr_t)from - sizeof(size_t)) += 0; // NOLINT: malloc's own
    for (size_t i = 0; i < bytes; i++)
        from[i] = byte_at(i);
    check(!bit(host.ready[out->slot].unit, 0) && nof_delta_watch_send_end(out) == NULL);
    check(nof_delta_out_end(out, bytes));
    nof_delta_out_give(out);
    free(from);
    from = own;
}

/* Read while it is written. */
static void *write_slowly(void *arg)
{
    struct nof_delta_out *out = arg;
    for (size_t i = 0; i < out->bytes; i++) {
        from[i] = byte_at(i);
        if (i % (16 * PAGE) == 0)
            usleep(200);
        if (i % PAGE == 0)
            (void)nof_delta_watch_look();
    }
    check(nof_delta_watch_send_end(out) == NULL);
    check(nof_delta_out_end(out, out->bytes));
    return NULL;
}

static void *read_early(void *arg)
{
    size_t bytes = *(const size_t *)arg;
    for (size_t i = 0; i < bytes; i++)
        check(to[i] == byte_at(i));
    return NULL;
}

static void pipelined(size_t bytes)
{
    struct nof_delta_out *out = take_out(from, bytes);
    struct nof_delta_in *in = take_in(to, bytes);
    pthread_t writer, reader[3];
    memset(from, 0, bytes);
    memset(to, 0xee, bytes);
    void *shadow = nof_delta_watch_recv(in, false, way);
    check(shadow != NULL);
    connect(out, in, from, shadow, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED && nof_delta_watch_send(out, way));
    nof_delta_watch_hide(in);
    unsigned before = rings;
    check(pthread_create(&writer, NULL, write_slowly, out) == 0);
    for (int k = 0; k < 3; k++)
        check(pthread_create(&reader[k], NULL, read_early, &bytes) == 0);
    for (int k = 0; k < 3; k++)
        check(pthread_join(reader[k], NULL) == 0);
    check(pthread_join(writer, NULL) == 0);
    check(rings > before + 2);
    await_end();
    check(nof_delta_watch_recv_end(in, false, bytes));
    nof_delta_in_give(in);
    nof_delta_out_give(out);
}

/* What lies in the buffer before a message comes: 0 is of pages that were never touched. */
static void lay(unsigned char before)
{
    if (before == 0)
        check(madvise(to, MOST, MADV_DONTNEED) == 0);
    else
        memset(to, before, MOST);
}

/* The message ends without half of it: what had come stays, the rest is as it was. asks: by a call of the library's, not by a fault. */
static void failing(size_t bytes, unsigned char before, bool asks)
{
    struct nof_delta_out *out = take_out(from, bytes);
    struct nof_delta_in *in = take_in(to, bytes);
    lay(before);
    for (size_t i = 0; i < bytes; i++)
        from[i] = byte_at(i);
    void *shadow = nof_delta_watch_recv(in, false, way);
    check(shadow != NULL);
    connect(out, in, from, shadow, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED);
    nof_delta_watch_hide(in);
    size_t half = bytes / 2 >> out->unit_log2 << out->unit_log2;
    check(nof_delta_out_add(out, from, half) == NOF_DELTA_OUT_OK);
    check(to[0] == byte_at(0));
    while (nof_delta_in_has(in, 0, half) != NOF_DELTA_IN_THERE)
        ;
    atomic_store(&message.fails, true);
    while (asks && !nof_delta_watch_settle(to, bytes))
        ;
    check(to[bytes - 1] == before); /* waits until it has failed */
    await_end();
    check(nof_delta_watch_recv_end(in, true, 0));
    for (size_t i = 0; i < half / PAGE * PAGE; i++)
        check(to[i] == byte_at(i));
    for (size_t i = (half + PAGE - 1) / PAGE * PAGE; i < bytes; i++)
        check(to[i] == before);
    (void)nof_delta_out_end(out, bytes);
    nof_delta_in_give(in);
    nof_delta_out_give(out);
}

/* It ends early, into pages that were never touched: behind its end they are so, and there, before the receive has ended. */
static void shorter(size_t bytes)
{
    struct nof_delta_out *out = take_out(from, bytes);
    struct nof_delta_in *in = take_in(to, bytes);
    lay(0);
    void *shadow = nof_delta_watch_recv(in, false, way);
    connect(out, in, from, shadow, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED);
    check(nof_delta_watch_hide(in) && nof_delta_out_end(out, PAGE / 2));
    check(to[0] == from[0] && to[PAGE] == 0);
    to[bytes - 1] = 1;
    await_end();
    check(nof_delta_watch_recv_end(in, false, PAGE / 2) && to[bytes - 1] == 1);
    nof_delta_in_give(in);
    nof_delta_out_give(out);
}

static void sizes(void)
{
    check(nof_delta_size(400 * 1024, 22800, 2000, 1024) >= 1024);
    check(nof_delta_size(400 * 1024, 22800, 2000, 1024) <= 100 * 1024);
    check(nof_delta_size(400 * 1024, 22800, 8000, 1024) > nof_delta_size(400 * 1024, 22800, 2000, 1024));
    check(nof_delta_size(100, 22800, 2000, 1024) == 1024);
    check(nof_delta_size(8192, 1, 1000000, 1024) == 2048);
    check(nof_delta_size(SIZE_MAX / 2, UINT64_MAX / 2, UINT64_MAX, 4096) >= 4096);
}

/* What is asked for is had, up to a quarter of the message: so that one in increments is none that leaves as a whole. */
static void size_that_was_asked_for(void)
{
    char text[100];
    check(setenv("NOF_DELTA_SIZE", "131072", 1) == 0 && nof_delta_size_open(text, sizeof(text)) == 0);
    check(nof_delta_size(1 << 20, 22800, 2000, 4096) == 131072);
    check(nof_delta_size(131072, 22800, 2000, 4096) == 32768);
    check(nof_delta_size(8192, 22800, 2000, 4096) == 4096);
    check(nof_delta_size(8192, 22800, 2000, 1024) == 2048);
    check(setenv("NOF_DELTA_SIZE", "1", 1) == 0 && nof_delta_size_open(text, sizeof(text)) == 0);
    check(nof_delta_size(1 << 20, 22800, 2000, 1024) == 1);
}

/* Increments of so many pages, the last of which halve, down to two of one. */
static size_t increments_of(size_t pages, size_t part)
{
    size_t tail = 1, halves = 1;
    for (; 2 * tail <= part; tail *= 2)
        halves++;
    return (pages - tail + part - 1) / part + halves;
}

/* However many pages a message has, and whatever size was asked for: when the program writes its last page but one, all before that has
 * left, and when it writes the last one, all but that. */
static void last_pages_are_left(void)
{
    char text[100];
    check(setenv("NOF_DELTA_SIZE", "16384", 1) == 0 && nof_delta_size_open(text, sizeof(text)) == 0);
    for (size_t pages = 1; pages <= 100; pages = pages < 20 ? pages + 1 : pages * 5) {
        size_t part = pages < 16 ? pages / 4 + (pages < 4) : 4; /* a quarter of the message at most */
        struct nof_delta_out *out = take_out(from, pages * PAGE);
        uint64_t told = nof_delta_counted[NOF_DELTA_COUNT_INCREMENTS];
        check(nof_delta_watch_send(out, way));
        for (size_t i = 0; i < pages; i++) {
            *(volatile unsigned char *)(from + i * PAGE) = byte_at(i);
            check(i + 2 < pages || units_ready(out) == i * PAGE);
        }
        told = nof_delta_counted[NOF_DELTA_COUNT_INCREMENTS] - told;
        check(told == increments_of(pages, part) - 1);
        check(nof_delta_watch_send_end(out) == NULL && nof_delta_out_end(out, pages * PAGE));
        nof_delta_out_give(out);
    }
}

/* The same where calls tell, page by page: before the last one the NIC has been told of all the others. */
static void last_call_is_left(void)
{
    char text[100];
    check(setenv("NOF_DELTA_SIZE", "16384", 1) == 0 && nof_delta_size_open(text, sizeof(text)) == 0);
    struct nof_delta_out *out = take_out(from, 32 * PAGE);
    uint64_t told = nof_delta_counted[NOF_DELTA_COUNT_INCREMENTS];
    for (size_t i = 0; i < 32; i++) {
        check(nof_delta_out_add(out, from + i * PAGE, PAGE) == NOF_DELTA_OUT_OK);
        check(i < 29 || out->fresh_bytes == 0);
    }
    told = nof_delta_counted[NOF_DELTA_COUNT_INCREMENTS] - told;
    check(told == 32 / 4 - 1 + 3); /* of the last four pages, two and one and one */
    check(nof_delta_out_end(out, 32 * PAGE));
    nof_delta_out_give(out);
}

/* A message by pages, of which some is read while it comes, and the rest when it is there. */
static void received(size_t bytes)
{
    struct nof_delta_out *out = take_out(from, bytes);
    struct nof_delta_in *in = take_in(to, bytes);
    memset(to, 0xee, bytes);
    void *shadow = nof_delta_watch_recv(in, false, way);
    check(shadow != NULL);
    connect(out, in, from, shadow, bytes);
    check(nof_delta_in_state(in) == NOF_DELTA_MATCHED && nof_delta_watch_hide(in));
    for (size_t i = 0; i < bytes; i++)
        from[i] = byte_at(i);
    for (size_t i = 5 * PAGE; i < 10 * PAGE; i += 2 * PAGE) {
        check(nof_delta_out_add(out, from + i, PAGE) == NOF_DELTA_OUT_OK);
        check(to[i] == byte_at(i));
    }
    check(nof_delta_out_end(out, bytes));
    await_end();
    for (size_t i = 0; i < bytes; i++)
        check(to[i] == byte_at(i));
    check(nof_delta_watch_recv_end(in, false, bytes));
    nof_delta_in_give(in);
    nof_delta_out_give(out);
}

/* A slot whose messages are hidden in one way and then in the other: what came for the second is moved, too, and never copied. */
static void ways_that_change(void)
{
    static const enum nof_delta_way turns[] = {NOF_DELTA_WAY_MPROTECT, NOF_DELTA_WAY_USERFAULTFD,
                                               NOF_DELTA_WAY_MPROTECT, NOF_DELTA_WAY_USERFAULTFD};
    if (nof_delta_way_hide_ops(NOF_DELTA_WAY_USERFAULTFD) != &nof_delta_hide_by_userfaultfd)
        return;
    for (size_t k = 0; k < sizeof(turns) / sizeof(*turns); k++) {
        uint64_t copied = nof_delta_counted[NOF_DELTA_COUNT_COPIED_BYTES];
        unsigned char *used = to;
        to = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* one mapping */
        check(to != MAP_FAILED);
        way = turns[k];
        received(20 * PAGE);
        check(munmap(to, MOST) == 0);
        to = used;
        check(nof_delta_counted[NOF_DELTA_COUNT_COPIED_BYTES] == copied);
    }
}

static void all_by_pages(void)
{
    static const size_t begins[] = {0, 1, 100, 4095};
    for (size_t k = 0; k < sizeof(begins) / sizeof(*begins); k++) {
        for (int first = 0; first < 2; first++) {
            by_pages(begins[k], 100, 100, first == 1);
            by_pages(begins[k], 3 * PAGE, 3 * PAGE, first == 1);
            by_pages(begins[k], 100 * PAGE, 100 * PAGE, first == 1);
            by_pages(begins[k], 100 * PAGE + 77, 50 * PAGE + 5, first == 1);
            by_pages(begins[k], 100 * PAGE, 0, first == 1);
        }
    }
    pipelined(100 * PAGE);
    pipelined(299 * PAGE);
    for (int k = 0; k < 4; k++)
        failing(100 * PAGE, k & 1 ? 0xee : 0, k > 1);
    shorter(100 * PAGE);
}

/* Of a process that may open no file more: mprotect catches writes, whatever was asked for, and stderr says why. */
static void falling_back(void)
{
    int status;
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        char text[100];
        const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
        check(setenv("NOF_DELTA_TRIGGER", "userfaultfd", 1) == 0 &&
              nof_delta_way_open(text, sizeof(text)) == 0);
        check(setrlimit(RLIMIT_NOFILE, &none) == 0);
        bool back = nof_delta_way_ops(NOF_DELTA_WAY_UNSAID) == &nof_delta_pages_by_mprotect &&
                    nof_delta_way_ops(NOF_DELTA_WAY_AUTO) == &nof_delta_pages_by_mprotect &&
                    nof_delta_way_hide_ops(NOF_DELTA_WAY_UNSAID) == &nof_delta_hide_by_mprotect &&
                    nof_delta_way_hide_ops(NOF_DELTA_WAY_AUTO) == &nof_delta_hide_by_mprotect &&
                    nof_delta_way_hide_ops(NOF_DELTA_WAY_PAGEMAP) == &nof_delta_hide_by_mprotect;
        _exit(back ? 0 : 1);
    }
    check(waitpid(child, &status, 0) == child && status == 0);
    char text[100];
    check(setenv("NOF_DELTA_TRIGGER", "softdirty", 1) == 0 && nof_delta_way_open(text, sizeof(text)) != 0);
    check(strstr(text, "softdirty") != NULL);
}

static void *ask_while_cancelled(void *arg)
{
    struct nof_delta_mapping here;
    check(pthread_cancel(pthread_self()) == 0);
    check(nof_delta_maps_ask((uintptr_t)&here, &here) && here.usable);
    return arg;
}

/* A fault is no place where POSIX has a thread end: it would take along what others wait for. */
static void no_thread_ends_in_a_fault(void)
{
    pthread_t thread;
    void *end;
    check(pthread_create(&thread, NULL, ask_while_cancelled, from) == 0 && pthread_join(thread, &end) == 0);
    check(end == from);
}

int main(void)
{
    unsigned char *memory =
        mmap(NULL, 2 * (MOST + PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED);
    from = memory;
    to = memory + MOST + PAGE;
    sizes();
    slots();
    for (int k = 0; k < 60; k++)
        ranges(1 + draw(k < 40 ? 5000 : 260000), 1 + (int)draw(60));
    calls(100000, 100000);
    calls(100000, 77777);
    calls(1000000, 1000000);
    if (access("/proc/self/maps", R_OK) != 0) {
        printf("skipped: there is no /proc\n");
        return 77;
    }
    check(nof_delta_watch_open() && nof_delta_fault_open());
    falling_back();
    no_thread_ends_in_a_fault();
    for (way = NOF_DELTA_WAY_UNSAID; way <= NOF_DELTA_WAY_PAGEMAP; way++)
        all_by_pages();
    for (way = NOF_DELTA_WAY_MPROTECT; way <= NOF_DELTA_WAY_USERFAULTFD; way++) {
        filled_by_libc();
        malloced();
    }
    ways_that_change();
    for (way = NOF_DELTA_WAY_MPROTECT; way <= NOF_DELTA_WAY_USERFAULTFD; way++)
        last_pages_are_left();
    last_call_is_left();
    size_that_was_asked_for();
    for (int k = NOF_DELTA_WAY_MPROTECT; getenv("T_VERBOSE") != NULL && k <= NOF_DELTA_WAY_PAGEMAP; k++) {
        const struct nof_delta_pages_ops *ops = nof_delta_way_ops((enum nof_delta_way)k);
        printf("%s: %llu ns a page\n", ops->name, (unsigned long long)nof_delta_way_fault_ns(ops));
    }
    return 0;
}
