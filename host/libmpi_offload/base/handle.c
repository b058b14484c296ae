/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/handle.h"

#include <stdlib.h>

#define CHUNK_SLOTS 1024u
#define FIRST_INDEX 0x100u
#define MAX_SLOTS (1u << 26) /* index fits 27 bits: the low word stays a positive int */

static struct nof_handle_slot *slot_at(const struct nof_handle_table *table, uint32_t slot)
{
    return &table->chunks[slot / CHUNK_SLOTS][slot % CHUNK_SLOTS];
}

static bool grow(struct nof_handle_table *table)
{
    if (table->chunk_count >= MAX_SLOTS / CHUNK_SLOTS)
        return false;
    if (table->chunk_count == table->chunk_capacity) {
        uint32_t capacity = table->chunk_capacity == 0 ? 16 : table->chunk_capacity * 2;
        struct nof_handle_slot **chunks = realloc(table->chunks, capacity * sizeof(*chunks));
        if (chunks == NULL)
            return false;
        table->chunks = chunks;
        table->chunk_capacity = capacity;
    }
    struct nof_handle_slot *chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
    if (chunk == NULL)
        return false;
    uint32_t base = table->chunk_count * CHUNK_SLOTS;
    for (uint32_t i = 0; i < CHUNK_SLOTS; i++) {
        chunk[i].generation = 1;
        chunk[i].next_free = i + 1 < CHUNK_SLOTS ? base + i + 2 : 0;
    }
    table->chunks[table->chunk_count++] = chunk;
    table->free_head = base + 1;
    return true;
}

uint64_t nof_handle_add(struct nof_handle_table *table, void *object)
{
    if (table->free_head == 0 && !grow(table))
        return 0;
    uint32_t slot = table->free_head - 1;
    struct nof_handle_slot *s = slot_at(table, slot);
    table->free_head = s->next_free;
    s->object = object;
    table->live++;
    return (uint64_t)s->generation << 32 | (uint64_t)(slot + FIRST_INDEX) << 4 | (uint64_t)table->kind;
}

void *nof_handle_get(const struct nof_handle_table *table, uint64_t handle)
{
    uint32_t low = (uint32_t)handle;
    uint32_t index = low >> 4;
    if ((low & 15u) != (uint32_t)table->kind || index < FIRST_INDEX)
        return NULL;
    uint32_t slot = index - FIRST_INDEX;
    if (slot >= table->chunk_count * CHUNK_SLOTS)
        return NULL;
    const struct nof_handle_slot *s = slot_at(table, slot);
    return s->generation == (uint32_t)(handle >> 32) ? s->object : NULL;
}

int nof_handle_to_int(uint64_t handle)
{
    return (int)(handle & INT32_MAX);
}

uint64_t nof_handle_from_int(const struct nof_handle_table *table, int number)
{
    uint32_t low = (uint32_t)number;
    uint32_t index = low >> 4;
    if ((low & 15u) != (uint32_t)table->kind || index < FIRST_INDEX ||
        index - FIRST_INDEX >= table->chunk_count * CHUNK_SLOTS)
        return low;
    return (uint64_t)slot_at(table, index - FIRST_INDEX)->generation << 32 | low;
}

void nof_handle_remove(struct nof_handle_table *table, uint64_t handle)
{
    uint32_t slot = ((uint32_t)handle >> 4) - FIRST_INDEX;
    struct nof_handle_slot *s = slot_at(table, slot);
    s->object = NULL;
    s->generation = s->generation == UINT32_MAX ? 1 : s->generation + 1;
    s->next_free = table->free_head;
    table->free_head = slot + 1;
    table->live--;
}

void nof_handle_each(const struct nof_handle_table *table, void (*visit)(void *object, void *arg), void *arg)
{
    for (uint32_t slot = 0; slot < table->chunk_count * CHUNK_SLOTS; slot++)
        if (slot_at(table, slot)->object != NULL)
            visit(slot_at(table, slot)->object, arg);
}

void *nof_handle_first(const struct nof_handle_table *table)
{
    for (uint32_t slot = 0; slot < table->chunk_count * CHUNK_SLOTS; slot++)
        if (slot_at(table, slot)->object != NULL)
            return slot_at(table, slot)->object;
    return NULL;
}
