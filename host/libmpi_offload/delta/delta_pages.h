/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of this process: what they are, and what can be done to them so that the kernel tells when they are touched.
 *
 * Everything here may be called by a signal handler. Addresses and lengths are multiples of NOF_DELTA_PAGE. */
#ifndef NOF_MPI_DELTA_PAGES_H
#define NOF_MPI_DELTA_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delta/delta_maps.h"

/* False: this process cannot be told about its own mappings (there is no /proc), or has other pages. */
bool nof_delta_pages_open(void);
/* After fork(): until then it is told of its parent's. */
void nof_delta_pages_in_child(void);

/* All of it can be read and written, and is private memory without a file, of pages of that size, and no stack. */
bool nof_delta_pages_plain(uintptr_t low, uintptr_t high);
/* At `data` begins a block of these bytes or more that malloc has mapped alone: in front of it, on its page, is nothing but what
 * malloc knows of it. The page can be read. */
bool nof_delta_pages_block(uintptr_t data, size_t bytes);
/* It can be read and written now: an access that faulted may be tried again. */
bool nof_delta_pages_usable(uintptr_t address);
/* It is memory as plain() means, which by itself never is SIGBUS. */
bool nof_delta_pages_own(uintptr_t address);
/* Such memory, guarded or hidden, whose place was another: the mapping can be read and written. */
bool nof_delta_pages_release(uintptr_t address);

#define NOF_DELTA_RANGES 32u
struct nof_delta_range {
    uintptr_t low, high;
};

/* How writes to pages are caught: a table a way. Each operation answers whether it could; what it could not changes nothing. */
struct nof_delta_pages_ops {
    const char *name;
    /* Before all others, once. NULL: it can be done here; else why not. */
    const char *(*open)(void);
    /* Of pages that can be read and written: guard() and allow() are about to be used on parts of them. */
    bool (*begin)(uintptr_t low, size_t bytes);
    bool (*guard)(uintptr_t low, size_t bytes); /* a write faults */
    bool (*allow)(uintptr_t low, size_t bytes); /* none does */
    /* None does, of those pages that the program has left where they were. False: it has moved or unmapped some. */
    bool (*end)(uintptr_t low, size_t bytes);
    /* Writes are no faults: between *from and `high`, at most so many ranges (NOF_DELTA_RANGES) that were written since guard(), or
     * since they were told last. *from: where to go on, `high` at the end. NULL: writes are faults. */
    size_t (*written)(uintptr_t *from, uintptr_t high, struct nof_delta_range *ranges, size_t most);
    bool in_child; /* what a process guards is guarded in its child */
};
extern const struct nof_delta_pages_ops nof_delta_pages_by_mprotect __attribute__((visibility("hidden")));
extern const struct nof_delta_pages_ops nof_delta_pages_by_userfaultfd __attribute__((visibility("hidden")));
extern const struct nof_delta_pages_ops nof_delta_pages_by_pagemap __attribute__((visibility("hidden")));

/* How pages are hidden, and what has come put into their place: a table a way. `kept`: where what lay there is meanwhile; it moves
 * with `low`. */
struct nof_delta_hide_ops {
    const char *name;
    const char *(*open)(void); /* as above */
    /* Of pages that can be read and written: any access faults. False: nothing has changed. *kept_out: of `low`. */
    bool (*hide)(uintptr_t low, size_t bytes, uintptr_t *kept_out);
    /* At `to`, hidden, are the pages at `from`, to be read and written, for other threads at once; at `from`, others. False: some of
     * `to` is not as hide() left it any more, and nothing was put there. */
    bool (*put)(uintptr_t from, uintptr_t to, size_t bytes);
    /* As they were before, of pages that are hidden. False: as put(). */
    bool (*show)(uintptr_t low, uintptr_t kept, size_t bytes);
    /* Copies some bytes of what lay in a page that is hidden. */
    bool (*peek)(uintptr_t low, uintptr_t kept, void *to, size_t bytes);
    /* Of all that hide() was told of, once: no page is hidden any more. */
    void (*end)(uintptr_t low, uintptr_t kept, size_t bytes);
    bool (*show_in_child)(uintptr_t low, uintptr_t kept, size_t bytes);
};
extern const struct nof_delta_hide_ops nof_delta_hide_by_mprotect __attribute__((visibility("hidden")));
extern const struct nof_delta_hide_ops nof_delta_hide_by_userfaultfd __attribute__((visibility("hidden")));

/* As put(), of pages that are not hidden. */
bool nof_delta_pages_put(uintptr_t from, uintptr_t to, size_t bytes);

/* Empty pages that can be read and written, or NULL; and back. */
void *nof_delta_pages_new(size_t bytes);
void nof_delta_pages_free(void *pages, size_t bytes);

#endif
