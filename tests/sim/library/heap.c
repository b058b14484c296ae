/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sanitized.h"

#define HEAP_ORDER (NOF_HEAP_CLASSES - 1)
#define HEAP_BYTES ((size_t)1 << HEAP_ORDER) /* of addresses, which no memory is behind before it is used */
#define LEAST 6u /* 64 bytes */
#define FILL 0xa5

/* Before what is lent. */
struct head {
    size_t order; /* the power of two */
    size_t unused; /* alignment */
};

void nof_heap_begin(struct nof_heap *h)
{
    if (h->memory == NULL && !NOF_SANITIZED) {
        h->memory = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (h->memory == MAP_FAILED)
            h->memory = NULL;
    }
    h->used = 0;
    memset(h->freed, 0, sizeof(h->freed));
}

void *nof_heap_alloc(struct nof_heap *h, size_t bytes)
{
    struct head *head;
    size_t order = LEAST;
    if (h->memory == NULL)
        return malloc(bytes);
    if (bytes > HEAP_BYTES - sizeof(*head))
        return NULL;
    while (((size_t)1 << order) < bytes + sizeof(*head))
        order++;
    head = h->freed[order];
    if (head != NULL) {
        memcpy(&h->freed[order], head + 1, sizeof(h->freed[order]));
    } else {
        if (((size_t)1 << order) > HEAP_BYTES - h->used)
            return NULL;
        head = (struct head *)(void *)(h->memory + h->used);
        h->used += (size_t)1 << order;
        head->order = order;
    }
    memset(head + 1, FILL, bytes);
    return head + 1;
}

void nof_heap_release(struct nof_heap *h, void *mem)
{
    struct head *head = mem;
    if (h->memory == NULL) {
        free(mem);
        return;
    }
    if (mem == NULL)
        return;
    head--;
    memcpy(mem, &h->freed[head->order], sizeof(h->freed[0]));
    h->freed[head->order] = head;
}
