/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "type/type_contents.h"

void nof_type_hold(struct nof_type *type)
{
    if (!type->predefined)
        type->refs++;
}

/* One reference less. Types that nobody holds any more are put in front of the list `dead`; returns it. */
static struct nof_type *drop_contents(struct nof_type_contents *c, struct nof_type *dead)
{
    if (--c->refs > 0)
        return dead;
    for (size_t i = 0; i < c->ntypes; i++) {
        struct nof_type *type = c->types[i];
        if (type->predefined || --type->refs > 0)
            continue;
        type->next_dead = dead;
        dead = type;
    }
    free(c);
    return dead;
}

/* Types hold the types they were made of: a loop, because a program may chain as many as it likes. */
static void release_list(struct nof_type *dead)
{
    while (dead != NULL) {
        struct nof_type *type = dead;
        dead = type->next_dead;
        if (type->layout.forget != NULL)
            type->layout.forget(type);
        if (type->contents != NULL)
            dead = drop_contents(type->contents, dead);
        nof_tree_release(type->tree);
        free(type);
    }
}

void nof_type_release(struct nof_type *type)
{
    if (type->predefined || --type->refs > 0)
        return;
    type->next_dead = NULL;
    release_list(type);
}

void nof_type_contents_release(struct nof_type_contents *c)
{
    release_list(drop_contents(c, NULL));
}
