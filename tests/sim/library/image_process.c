/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library asks of its operating system, answered by the simulator: these names are bound inside the image, so
 * the library's own calls come here and nobody else's do. Memory is kept in a list: what a process leaves behind when it
 * ends goes with it. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "image.h"

#define TEXT_BYTES 512

struct nof_seam *nof_image;

struct piece {
    struct piece *next, *prev;
    size_t bytes;
    void *base; /* what the heap gave */
};

static struct piece pieces = {.next = &pieces, .prev = &pieces};

static void *take(size_t bytes, size_t align)
{
    size_t head = sizeof(struct piece) + (align > 16 ? align : 16);
    uint8_t *base = bytes > SIZE_MAX - head ? NULL : nof_image->ops->alloc(head + bytes);
    if (base == NULL)
        return NULL;
    uintptr_t at = ((uintptr_t)base + sizeof(struct piece) + align - 1) / align * align;
    struct piece *p = (struct piece *)(at - sizeof(struct piece)); // NOLINT: the piece lies before its bytes
    *p = (struct piece){.next = pieces.next, .prev = &pieces, .bytes = bytes, .base = base};
    pieces.next->prev = p;
    pieces.next = p;
    nof_image->heap_bytes += bytes;
    if (nof_image->heap_bytes > nof_image->heap_peak_bytes)
        nof_image->heap_peak_bytes = nof_image->heap_bytes;
    return p + 1;
}

void *malloc(size_t bytes)
{
    return take(bytes, 16);
}

void free(void *mem)
{
    if (mem == NULL)
        return;
    struct piece *p = (struct piece *)mem - 1;
    p->next->prev = p->prev;
    p->prev->next = p->next;
    nof_image->heap_bytes -= p->bytes;
    nof_image->ops->release(p->base);
}

void *calloc(size_t n, size_t bytes)
{
    void *mem = bytes != 0 && n > SIZE_MAX / bytes ? NULL : take(n * bytes, 16);
    if (mem != NULL)
        memset(mem, 0, n * bytes);
    return mem;
}

void *realloc(void *mem, size_t bytes)
{
    void *more = take(bytes, 16);
    if (mem == NULL || more == NULL)
        return more;
    size_t had = ((struct piece *)mem - 1)->bytes;
    memcpy(more, mem, had < bytes ? had : bytes);
    free(mem);
    return more;
}

int posix_memalign(void **mem, size_t align, size_t bytes)
{
    *mem = take(bytes, align < 16 ? 16 : align);
    return *mem == NULL ? ENOMEM : 0;
}

char *strndup(const char *text, size_t max)
{
    size_t len = strnlen(text, max);
    char *copy = malloc(len + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}

void nof_image_heap_clear(void)
{
    while (pieces.next != &pieces)
        free(pieces.next + 1);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    uint64_t now_ns = nof_image->ops->now_ns(nof_image->process);
    (void)clock;
    *out =
        (struct timespec){.tv_sec = (time_t)(now_ns / 1000000000u), .tv_nsec = (long)(now_ns % 1000000000u)};
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    nof_image->ops->nap(nof_image->process,
                        (uint64_t)wanted->tv_sec * 1000000000u + (uint64_t)wanted->tv_nsec);
    return 0;
}

int sched_yield(void)
{
    nof_image->ops->nap(nof_image->process, 200);
    return 0;
}

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    (void)pid;
    memset(set, 0xff, bytes);
    return 0;
}

char *getenv(const char *name)
{
    static char spin_us[16];
    if (strcmp(name, "NOF_DELTA") == 0)
        return nof_image->delta;
    if (strcmp(name, "NOF_DELTA_SIZE") == 0)
        return nof_image->delta_size;
    if (strcmp(name, "NOF_SPIN_US") != 0)
        return NULL;
    snprintf(spin_us, sizeof(spin_us), "%u", nof_image->spin_us);
    return spin_us;
}

int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "sim");
    return 0;
}

int atexit(void (*fn)(void))
{
    (void)fn;
    return 0;
}

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return 0;
}

static _Noreturn void die(const char *text)
{
    nof_image->ops->die(nof_image->process, text);
    __builtin_trap(); /* die() does not come back */
}

void _exit(int code)
{
    char text[64];
    snprintf(text, sizeof(text), "the library ends its process with code %d", code);
    die(text);
}

void abort(void)
{
    die("the library aborts");
}

_Noreturn void __assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof(text), "%s:%u: %s: %s", file, line, function, what);
    die(text);
}

/* The library prints what a user is to read, and only when something is wrong. */
__attribute__((format(printf, 1, 0))) static int say(const char *format, va_list args)
{
    char text[TEXT_BYTES];
    int n = vsnprintf(text, sizeof(text), format, args);
    nof_image->ops->fail(nof_image->process, text);
    return n;
}

__attribute__((format(printf, 2, 3))) int fprintf(FILE *to, const char *format, ...)
{
    va_list args;
    (void)to;
    va_start(args, format);
    int n = say(format, args);
    va_end(args);
    return n;
}

int __fprintf_chk(FILE *to, int flag, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __fprintf_chk(FILE *to, int flag, const char *format, ...)
{
    va_list args;
    (void)to;
    (void)flag;
    va_start(args, format);
    int n = say(format, args);
    va_end(args);
    return n;
}
