/* SPDX-License-Identifier: BSD-3-Clause */
#include "type/type_contents.h"

#include <stdlib.h>

struct nof_type_contents *nof_type_contents_new(int combiner, bool large, size_t ints, size_t numbers,
                                                size_t addrs, size_t types)
{
    size_t counts = large ? numbers + addrs : 0;
    if (large)
        addrs = 0;
    else
        ints += numbers;
    struct nof_type_contents *c =
        malloc(sizeof(*c) + types * sizeof(struct nof_type *) + addrs * sizeof(MPI_Aint) +
               counts * sizeof(MPI_Count) + ints * sizeof(int));
    if (c == NULL)
        return NULL;
    *c = (struct nof_type_contents){.refs = 1, .combiner = combiner, .large = large};
    c->types = (struct nof_type **)(void *)(c + 1);
    c->addrs = (MPI_Aint *)(void *)(c->types + types);
    c->counts = (MPI_Count *)(void *)(c->addrs + addrs);
    c->ints = (int *)(void *)(c->counts + counts);
    return c;
}

void nof_type_contents_int(struct nof_type_contents *c, int value)
{
    if (c != NULL)
        c->ints[c->nints++] = value;
}

void nof_type_contents_number(struct nof_type_contents *c, MPI_Count value)
{
    if (c == NULL)
        return;
    if (c->large)
        c->counts[c->ncounts++] = value;
    else
        c->ints[c->nints++] = (int)value;
}

void nof_type_contents_addr(struct nof_type_contents *c, MPI_Count value)
{
    if (c == NULL)
        return;
    if (c->large)
        c->counts[c->ncounts++] = value;
    else
        c->addrs[c->naddrs++] = (MPI_Aint)value;
}

struct nof_type *nof_type_contents_alias(struct nof_type *type)
{
    if (type->predefined)
        return type;
    struct nof_type *copy = nof_type_alias(type);
    if (copy != NULL && type->contents != NULL) {
        copy->contents = type->contents;
        copy->contents->refs++;
    }
    return copy;
}

void nof_type_contents_type(struct nof_type_contents *c, struct nof_type *type)
{
    if (c == NULL)
        return;
    struct nof_type *copy = nof_type_contents_alias(type);
    if (copy == NULL)
        c->failed = true;
    else
        c->types[c->ntypes++] = copy;
}
