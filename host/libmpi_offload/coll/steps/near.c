/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/steps/near.h"

#include <string.h>

#define MOST_BYTES 65536u /* of a base: no sum overflows; what is lent bounds all of them */
#define ALIGN_BYTES 16u

/* What a step names: at most two ranges of memory. */
struct range {
    unsigned base;
    uint64_t address; /* in the program's memory */
    uint64_t bytes;
    bool written;
};

/* What steps name of each base. */
struct extent {
    uint64_t low, high; /* equal: nothing */
};

static const struct nof_program_step *steps_of(const struct nof_image *image)
{
    return (const struct nof_program_step *)(const void *)(image->program + 1);
}

static unsigned ranges_of(const struct nof_image *image, const struct nof_program_step *step,
                          struct range range_out[2])
{
    bool works = step->opcode == NOF_STEP_REDUCE || step->opcode == NOF_STEP_COPY;
    if (step->opcode == NOF_STEP_FENCE || step->len == 0)
        return 0;
    range_out[0] = (struct range){step->base, image->base[step->base] + (uint64_t)step->offset, step->len,
                                  step->opcode != NOF_STEP_SEND};
    if (works)
        range_out[1] = (struct range){step->from_base, image->base[step->from_base] + (uint64_t)step->from,
                                      step->len, false};
    return works ? 2 : 1;
}

/* Which base has the bytes of a range, its first byte decides (compile.h): what reaches into another's would be there twice. */
static bool are_apart(const struct extent extent[NOF_PROGRAM_BASES])
{
    for (unsigned i = 0; i < NOF_PROGRAM_BASES; i++)
        for (unsigned k = 0; k < i; k++)
            if (extent[i].low < extent[i].high && extent[k].low < extent[k].high &&
                extent[i].low < extent[k].high && extent[k].low < extent[i].high)
                return false;
    return true;
}

/* False: it is not for this. */
static bool find_extents(const struct nof_image *image, struct extent extent[NOF_PROGRAM_BASES])
{
    const struct nof_program_step *step = steps_of(image);
    struct range range[2];
    for (uint32_t i = 0; i < image->program->nsteps; i++) {
        if (step[i].opcode == NOF_STEP_HOST || (step[i].flags & NOF_STEP_F_LAYOUT) ||
            step[i].len > MOST_BYTES)
            return false;
        unsigned n = ranges_of(image, &step[i], range);
        for (unsigned k = 0; k < n; k++) {
            struct extent *e = &extent[range[k].base];
            uint64_t high = range[k].address + range[k].bytes;
            if (e->low == e->high)
                *e = (struct extent){range[k].address, high};
            e->low = range[k].address < e->low ? range[k].address : e->low;
            e->high = high > e->high ? high : e->high;
            if (e->high - e->low > MOST_BYTES)
                return false;
        }
    }
    return are_apart(extent);
}

static void copy(const struct nof_near *near, const struct nof_image *image, const struct range *range,
                 bool out)
{
    union {
        uint64_t address;
        void *memory;
    } program = {.address = range->address};
    char *here = near->memory +
                 (near->base[range->base] + (range->address - image->base[range->base]) - near->address);
    if (out)
        memcpy(program.memory, here, range->bytes);
    else
        memcpy(here, program.memory, range->bytes);
}

void nof_near_open(struct nof_near *near, const struct nof_chan_programs *nic, const struct nof_image *image)
{
    struct extent extent[NOF_PROGRAM_BASES] = {0};
    size_t bytes = 0;
    *near = (struct nof_near){0};
    if (!find_extents(image, extent))
        return;
    for (unsigned i = 0; i < NOF_PROGRAM_BASES; i++) {
        near->base[i] = bytes + (image->base[i] - extent[i].low);
        bytes += (extent[i].high - extent[i].low + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    }
    near->memory = bytes == 0 ? NULL : nic->lend(bytes, &near->address);
    if (near->memory == NULL)
        return;
    for (unsigned i = 0; i < NOF_PROGRAM_BASES; i++)
        near->base[i] += near->address;
    for (uint32_t i = 0; i < image->program->nsteps; i++)
        nof_near_take(near, image, i);
}

void nof_near_take(const struct nof_near *near, const struct nof_image *image, uint32_t step)
{
    struct range range[2];
    unsigned n = near->memory == NULL ? 0 : ranges_of(image, &steps_of(image)[step], range);
    for (unsigned k = 0; k < n; k++)
        copy(near, image, &range[k], false);
}

void nof_near_close(struct nof_near *near, const struct nof_chan_programs *nic, const struct nof_image *image,
                    bool good)
{
    struct range range[2];
    if (near->memory == NULL)
        return;
    for (uint32_t i = 0; good && i < image->program->nsteps; i++) {
        unsigned n = ranges_of(image, &steps_of(image)[i], range);
        for (unsigned k = 0; k < n; k++)
            if (range[k].written)
                copy(near, image, &range[k], true);
    }
    nic->take_back(near->address);
    near->memory = NULL;
}

void nof_near_leave(struct nof_near *near)
{
    near->memory = NULL;
}
