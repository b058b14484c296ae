/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/steps/under_way.h"

#include <stdlib.h>

#include "chan/request.h"

#define FIRST_ROOM 8u

static size_t bytes_of(const struct nof_request *req)
{
    return req->count * req->type->size;
}

bool nof_under_way_room(struct nof_under_way *u)
{
    if (u->count < u->capacity)
        return true;
    size_t capacity = u->capacity == 0 ? FIRST_ROOM : u->capacity * 2;
    struct nof_request **more = realloc(u->request, capacity * sizeof(struct nof_request *));
    if (more == NULL)
        return false;
    u->request = more;
    u->capacity = capacity;
    return true;
}

void nof_under_way_add(struct nof_under_way *u, struct nof_request *req)
{
    req->owner_slot = u->count;
    u->request[u->count++] = req;
    u->bytes += bytes_of(req);
}

void nof_under_way_leave(struct nof_under_way *u, struct nof_request *req)
{
    struct nof_request *last = u->request[--u->count];
    u->request[req->owner_slot] = last;
    last->owner_slot = req->owner_slot;
    u->bytes -= bytes_of(req);
}

void nof_under_way_free(struct nof_under_way *u)
{
    free(u->request);
    *u = (struct nof_under_way){0};
}
