/* SPDX-License-Identifier: BSD-3-Clause */
#include "delta/delta_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/fs.h since 6.11: what lies at an address, without the text of all mappings. */
struct query {
    uint64_t size, flags, address, start, end, is, page_bytes, offset, inode;
    uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
    uint64_t name, build_id;
};
#define QUERY _IOWR('f', 17, struct query)
enum { READABLE = 1, WRITABLE = 2, EXECUTABLE = 4, SHARED = 8, OR_NEXT = 16 };

/* What follows asks the kernel past the C library, whose open(), pread() and close() end a thread that is to be cancelled. */
#define KERNEL_SET_BYTES 8 /* what the kernel knows of a sigset_t */

static int open_maps(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
}

static int maps = -1;
static bool has_query;
static bool reading; /* `maps`: who else reads there would move the kernel's place in it */

/* What ends beyond the address: it lies there, or is the next one. */
static bool ask_kernel(uintptr_t address, struct nof_delta_mapping *found)
{
    char name[16] = "";
    struct query q = {.size = sizeof(q),
                      .flags = OR_NEXT,
                      .address = address,
                      .name_bytes = sizeof(name),
                      .name = (uint64_t)(uintptr_t)name};
    if (ioctl(maps, QUERY, &q) != 0) {
        q.name_bytes = 0; /* a longer name is no stack's */
        q.name = 0;
        if (errno != ENAMETOOLONG || ioctl(maps, QUERY, &q) != 0)
            return false;
    }
    found->start = (uintptr_t)q.start;
    found->end = (uintptr_t)q.end;
    found->usable = (q.is & (READABLE | WRITABLE)) == (READABLE | WRITABLE);
    found->readable = (q.is & READABLE) != 0;
    found->own = (q.is & (SHARED | EXECUTABLE)) == 0 && q.inode == 0 && q.page_bytes == NOF_DELTA_PAGE &&
                 !(name[0] == '[' && name[1] == 's');
    return true;
}

/* The text, which has a line a mapping, in ascending order: START-END rwxp OFFSET MAJOR:MINOR INODE NAME */
struct text {
    int file;
    sigset_t before;
    off_t at; /* of what is read next */
    ssize_t have, used;
    char chunk[1024];
};

/* 0: no more. */
static char next(struct text *t)
{
    if (t->used == t->have) {
        t->have = syscall(SYS_pread64, t->file, t->chunk, sizeof(t->chunk), t->at);
        t->used = 0;
        if (t->have <= 0)
            return (char)(t->have = 0);
        t->at += t->have;
    }
    return t->chunk[t->used++];
}

static uintptr_t number(struct text *t)
{
    uintptr_t n = 0;
    for (;;) {
        char c = next(t);
        if (c >= '0' && c <= '9')
            n = n << 4 | (uintptr_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            n = n << 4 | (uintptr_t)(c - 'a' + 10);
        else
            return n; /* and what ends it is read */
    }
}

/* False: no more. Pages of another size have files there, which the user does not see. */
static bool line(struct text *t, struct nof_delta_mapping *found)
{
    found->start = number(t);
    found->end = number(t);
    found->readable = next(t) == 'r';
    bool writable = next(t) == 'w';
    found->usable = found->readable && writable;
    bool executable = next(t) == 'x';
    bool private = next(t) == 'p';
    (void)next(t);
    (void)number(t); /* offset */
    (void)number(t);
    (void)number(t);
    bool file = number(t) != 0;
    found->own = private && !file && !executable;
    char c = t->used > 0 ? t->chunk[t->used - 1] : 0, before = 0;
    for (; c != '\n' && c != 0; c = next(t)) {
        if (before == '[' && c == 's')
            found->own = false;
        before = c;
    }
    return found->end > found->start;
}

/* Nobody waits for another thread, which may be of a lower class of the scheduler, but where the process has no descriptor left. */
static int take_file(void)
{
    int own;
    while (__atomic_exchange_n(&reading, true, __ATOMIC_ACQUIRE)) {
        if ((own = open_maps()) >= 0)
            return own;
        sched_yield();
    }
    return maps;
}

/* No handler, and no thread that is cancelled, leaves it open. */
static void begin(struct text *t)
{
    sigset_t all;
    if (has_query)
        return;
    sigfillset(&all);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &t->before, KERNEL_SET_BYTES);
    t->file = take_file();
    t->at = t->have = t->used = 0;
}

static void end(const struct text *t)
{
    if (has_query)
        return;
    if (t->file == maps)
        __atomic_store_n(&reading, false, __ATOMIC_RELEASE);
    else
        (void)syscall(SYS_close, t->file);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &t->before, NULL, KERNEL_SET_BYTES);
}

/* As ask_kernel(); addresses ascend from begin() on. */
static bool ask(struct text *t, uintptr_t address, struct nof_delta_mapping *found)
{
    bool any;
    if (has_query)
        return ask_kernel(address, found);
    do
        any = line(t, found);
    while (any && found->end <= address);
    return any;
}

bool nof_delta_maps_ask(uintptr_t address, struct nof_delta_mapping *found)
{
    struct text t;
    begin(&t);
    bool any = ask(&t, address, found);
    end(&t);
    return any && found->start <= address;
}

bool nof_delta_maps_each(uintptr_t low, uintptr_t high,
                         bool (*look)(void *arg, const struct nof_delta_mapping *part), void *arg)
{
    struct nof_delta_mapping part;
    struct text t;
    bool all = true, more = true;
    begin(&t);
    while (more && low < high && ask(&t, low, &part) && part.start < high) {
        all = all && part.start <= low;
        if (part.start < low)
            part.start = low; /* `look` may have made one mapping of it and the one before */
        if (part.end > high)
            part.end = high;
        more = look(arg, &part);
        low = part.end;
    }
    end(&t);
    return all && more && low >= high;
}

bool nof_delta_maps_open(void)
{
    struct nof_delta_mapping here;
    if (maps >= 0)
        (void)syscall(SYS_close, maps);
    reading = false; /* of a thread that the child does not have */
    maps = open_maps();
    has_query = maps >= 0 && ask_kernel((uintptr_t)&here, &here);
    return maps >= 0 && nof_delta_maps_ask((uintptr_t)&here, &here);
}
