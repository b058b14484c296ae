/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/program_cache.h"

#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

static struct nof_cached_program *first, *last; /* idle: the one that ran last comes first */
static size_t idle_programs, idle_bytes;

/* Of a multiple of 8 bytes. What is equal is asked of the bytes: the hash spares looking at most of the others. */
static uint64_t hash_of(const struct nof_program_head *head, size_t bytes, uint32_t ctx)
{
    uint64_t h = (uintptr_t)&first ^ ctx; /* another one in each process */
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)head + i, sizeof(word));
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static void leave_idle(struct nof_cached_program *p)
{
    *(p->prev == NULL ? &first : &p->prev->next) = p->next;
    *(p->next == NULL ? &last : &p->next->prev) = p->prev;
    idle_programs--;
    idle_bytes -= p->bytes;
}

static void close_idle(struct nof_cached_program *p)
{
    leave_idle(p);
    nof_program_cache_drop(p);
}

static struct nof_cached_program *find(uint64_t hash, uint32_t ctx, const struct nof_program_head *head,
                                       size_t bytes)
{
    struct nof_cached_program *p = first;
    while (p != NULL &&
           (p->hash != hash || p->ctx != ctx || p->bytes != bytes || memcmp(p->head, head, bytes) != 0))
        p = p->next;
    return p;
}

int nof_program_cache_take(const struct nof_chan_programs *nic, uint32_t ctx,
                           const struct nof_program_head *head, size_t bytes,
                           struct nof_cached_program **program_out)
{
    uint64_t hash = hash_of(head, bytes, ctx);
    struct nof_cached_program *p = find(hash, ctx, head, bytes);
    if (p != NULL) {
        leave_idle(p);
        *program_out = p;
        return NOF_OK;
    }
    p = malloc(sizeof(*p) + bytes);
    if (p == NULL)
        return NOF_EAGAIN;
    *p = (struct nof_cached_program){.nic = nic,
                                     .hash = hash,
                                     .bytes = bytes,
                                     .ctx = ctx,
                                     .head = (struct nof_program_head *)(void *)(p + 1)};
    memcpy(p->head, head, bytes);
    int rc = nic->open(&p->program, p->head, bytes);
    if (rc == NOF_OK)
        *program_out = p;
    else
        free(p);
    return rc;
}

void nof_program_cache_give(struct nof_cached_program *p)
{
    if (!p->program.open) {
        nof_program_cache_drop(p);
        return;
    }
    p->prev = NULL;
    p->next = first;
    *(first == NULL ? &last : &first->prev) = p;
    first = p;
    idle_programs++;
    idle_bytes += p->bytes;
    while (idle_programs > NOF_PROGRAM_CACHE_PROGRAMS || idle_bytes > NOF_PROGRAM_CACHE_BYTES)
        close_idle(last);
}

void nof_program_cache_drop(struct nof_cached_program *p)
{
    p->nic->close(&p->program);
    free(p);
}

bool nof_program_cache_open_again(struct nof_cached_program *p)
{
    size_t freed_bytes = 0;
    if (p->program.open || p->program.refused != NOF_ENOMEM || last == NULL)
        return false;
    while (last != NULL && freed_bytes < p->bytes) {
        freed_bytes += last->bytes;
        close_idle(last);
    }
    return p->nic->open(&p->program, p->head, p->bytes) == NOF_OK;
}

void nof_program_cache_forget_comm(uint32_t ctx)
{
    for (struct nof_cached_program *p = first, *next; p != NULL; p = next) {
        next = p->next;
        if (p->ctx == ctx)
            close_idle(p);
    }
}

static bool names_layout(const struct nof_cached_program *p, uint32_t name, uint32_t generation)
{
    const struct nof_program_step *step = (const struct nof_program_step *)(const void *)(p->head + 1);
    for (uint32_t i = 0; i < p->head->nsteps; i++)
        if ((step[i].flags & NOF_STEP_F_LAYOUT) != 0 && step[i].layout == name &&
            step[i].layout_generation == generation)
            return true;
    return false;
}

void nof_program_cache_forget_layout(uint32_t name, uint32_t generation)
{
    for (struct nof_cached_program *p = first, *next; p != NULL; p = next) {
        next = p->next;
        if (names_layout(p, name, generation))
            close_idle(p);
    }
}

void nof_program_cache_clear(void)
{
    while (last != NULL)
        close_idle(last);
}
