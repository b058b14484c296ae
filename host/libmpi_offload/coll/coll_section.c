/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on sections of Fortran arrays: a block of such a buffer is no block of memory, nor can an operation work
 * on it. So the schedule works on a copy. What it does not write may belong to the program in the meantime: only what
 * changed is written back. */
#include <string.h>

#include "base/error.h"
#include "coll/coll_section.h"

struct noted {
    struct nof_section section;
    bool is_read;
};
static __thread struct noted noted[2];
static __thread int noted_count;

void nof_coll_note_section(const struct nof_section *section, bool is_read)
{
    if (noted_count < 2)
        noted[noted_count++] = (struct noted){*section, is_read};
}

void nof_coll_forget_sections(void)
{
    noted_count = 0;
}

/* The schedule may outlive the call: it gets a section of its own, among its temporaries. */
static const void *lend(struct nof_sched *s, const struct noted *from, struct nof_coll_lent *lent)
{
    size_t bytes;
    struct nof_type *byte = nof_type_byte();
    struct nof_section *section = nof_sched_temporary(s, sizeof(*section), byte);
    if (section == NULL)
        return from->section.base;
    *section = from->section;
    struct nof_type *type =
        !nof_section_bytes(section, &bytes) ? NULL : nof_section_type(section, byte, bytes);
    lent->copy = type == NULL ? NULL : nof_sched_temporary(s, bytes, byte);
    lent->before = type == NULL || from->is_read ? NULL : nof_sched_temporary(s, bytes, byte);
    if (lent->copy == NULL || (lent->before == NULL && !from->is_read)) {
        if (s->build_error == MPI_SUCCESS)
            s->build_error = nof_error(MPI_ERR_NO_MEM, "no memory for a copy of a section of an array");
    } else {
        lent->section = section;
        nof_sched_copy(s, section->base, 1, type, lent->copy, bytes, byte);
        if (!from->is_read)
            nof_sched_copy(s, lent->copy, bytes, byte, lent->before, bytes, byte);
    }
    if (type != NULL)
        nof_type_release(type);
    return lent->section == NULL ? section->base : lent->copy;
}

void nof_coll_lend(struct nof_sched *s, struct nof_coll_args *args, struct nof_coll_lent lent[2])
{
    struct nof_coll_side *sides[2] = {&args->send, &args->recv};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < noted_count; i++)
            if (sides[side]->buf == noted[i].section.base && sides[side]->buf != NULL &&
                lent[side].section == NULL)
                sides[side]->buf = lend(s, &noted[i], &lent[side]);
}

void nof_coll_lend_finish(struct nof_sched *s, const struct nof_coll_lent lent[2])
{
    for (int i = 0; i < 2; i++)
        if (lent[i].before != NULL) {
            nof_sched_fence(s);
            nof_sched_update(s, lent[i].section, lent[i].copy, lent[i].before);
        }
}
