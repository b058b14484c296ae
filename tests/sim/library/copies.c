/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image lies inside this program, as bytes. Each copy is a file in memory of its own: the dynamic linker loads a file
 * once only. */
#include "copies.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program.h"

#define RANGES_MAX 4

/* Variables of a copy, and what stood in them when it was new. */
struct range {
    uint8_t *at;
    uint8_t *first;
    size_t bytes;
};

static struct copy {
    nof_image_main_fn *enter;
    uintptr_t base;
    struct range range[RANGES_MAX];
    unsigned nranges;
} copies[NOF_PROGRAM_RANKS_MAX];

extern const uint8_t nof_sim_image_begin[], nof_sim_image_end[];

/* Word by word: memory around variables may be marked as out of bounds by a sanitizer, and is copied all the same. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNCHECKED __attribute__((no_sanitize("address")))
#endif
#endif
#ifndef UNCHECKED
#define UNCHECKED __attribute__((no_sanitize_address))
#endif
UNCHECKED static void copy_unchecked(uint8_t *to, const uint8_t *from, size_t bytes)
{
    volatile uint64_t *t = (volatile uint64_t *)(void *)to;
    const volatile uint64_t *f = (const volatile uint64_t *)(const void *)from;
    size_t words = bytes / sizeof(*t);
    for (size_t i = 0; i < words; i++)
        t[i] = f[i];
    for (size_t i = words * sizeof(*t); i < bytes; i++)
        ((volatile uint8_t *)to)[i] = from[i];
}

static void add_range(struct copy *c, uintptr_t begin, uintptr_t end)
{
    begin = (begin + 7) & ~(uintptr_t)7;
    if (begin >= end || c->nranges == RANGES_MAX)
        return;
    struct range *r = &c->range[c->nranges++];
    r->at = (uint8_t *)begin; // NOLINT: an address out of the program headers
    r->bytes = end - begin;
    r->first = malloc(r->bytes);
    if (r->first == NULL)
        abort();
    copy_unchecked(r->first, r->at, r->bytes);
}

/* Writable segments, but for what is read-only once it is relocated. */
static int find_ranges(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct copy *c = user;
    uintptr_t relro_end = 0, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)bytes;
    if (info->dlpi_addr != c->base)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_GNU_RELRO)
            relro_end = (info->dlpi_addr + h->p_vaddr + h->p_memsz) & ~(page - 1);
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_LOAD || (h->p_flags & PF_W) == 0)
            continue;
        uintptr_t begin = info->dlpi_addr + h->p_vaddr, end = begin + h->p_memsz;
        if (begin < relro_end) /* it begins with that, and may have nothing else */
            begin = relro_end < end ? relro_end : end;
        add_range(c, begin, end);
    }
    return 1;
}

static int write_all(int fd)
{
    size_t bytes = (size_t)(nof_sim_image_end - nof_sim_image_begin), done = 0;
    while (done < bytes) {
        ssize_t n = write(fd, nof_sim_image_begin + done, bytes - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static void *load_file(unsigned n, char *text, size_t text_bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "nof-sim-rank-%u", n);
    int fd = memfd_create(path, MFD_CLOEXEC);
    if (fd < 0 || write_all(fd) != 0) {
        snprintf(text, text_bytes, "no memory for a copy of the MPI library: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d",
             fd); /* stays open: the name is what tells copies apart */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(text, text_bytes, "a copy of the MPI library cannot be loaded: %s", dlerror());
        close(fd);
    }
    return handle;
}

static int load(struct copy *c, unsigned n, char *text, size_t text_bytes)
{
    struct link_map *map = NULL;
    void *handle = load_file(n, text, text_bytes);
    if (handle == NULL)
        return -1;
    void *enter = dlsym(handle, NOF_IMAGE_MAIN);
    if (enter == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        snprintf(text, text_bytes, "a copy of the MPI library is none: %s", dlerror());
        dlclose(handle);
        return -1;
    }
    c->base = map->l_addr;
    (void)dl_iterate_phdr(find_ranges, c);
    memcpy(&c->enter, &enter, sizeof(enter));
    return 0;
}

#define TLS_ROOM "glibc.rtld.optional_static_tls"
#define TLS_ROOM_BYTES (1u << 20)
#define ARGS_MAX 64
#define ARGS_BYTES 8192

/* Our own command line; what the command has may begin elsewhere. */
static int read_args(char text[ARGS_BYTES], char *argv[ARGS_MAX + 1])
{
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t bytes = f != NULL ? fread(text, 1, ARGS_BYTES - 1, f) : 0, at = 0;
    int n = 0;
    if (f != NULL)
        fclose(f);
    text[bytes] = '\0';
    for (; at < bytes && n < ARGS_MAX; at += strlen(text + at) + 1)
        argv[n++] = text + at;
    argv[n] = NULL;
    return at < bytes || bytes == ARGS_BYTES - 1 ? 0 : n;
}

void nof_copies_prepare(void)
{
    char text[ARGS_BYTES], value[512];
    char *argv[ARGS_MAX + 1];
    const char *set = getenv("GLIBC_TUNABLES");
    if ((set != NULL && strstr(set, TLS_ROOM) != NULL) || read_args(text, argv) == 0)
        return;
    (void)snprintf(value, sizeof(value), "%s%s" TLS_ROOM "=%u", set != NULL ? set : "",
                   set != NULL ? ":" : "", TLS_ROOM_BYTES);
    if (setenv("GLIBC_TUNABLES", value, 1) == 0)
        (void)execv("/proc/self/exe", argv); /* else: it may do as it is */
}

nof_image_main_fn *nof_copies_fresh(unsigned n, char *text, size_t text_bytes)
{
    struct copy *c = &copies[n];
    if (c->enter == NULL && load(c, n, text, text_bytes) != 0)
        return NULL;
    for (unsigned i = 0; i < c->nranges; i++)
        copy_unchecked(c->range[i].at, c->range[i].first, c->range[i].bytes);
    return c->enter;
}
