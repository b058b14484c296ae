/* SPDX-License-Identifier: BSD-3-Clause */
/* The program area: layouts and programs lie in it from their descriptor to its completion. Who takes room holds a run of
 * its PIECES equal pieces, a bit for each. */
#include "chan/nic/chan_nic.h"

enum { PIECES = 64, ALIGN = 16 };

static size_t piece_bytes(void)
{
    return (size_t)nof_chan_nic.identity->program_area_bytes / PIECES & ~(size_t)(ALIGN - 1);
}

size_t nof_chan_nic_area_bytes(void)
{
    return PIECES * piece_bytes();
}

uint64_t nof_chan_nic_area_take(size_t bytes)
{
    if (bytes == 0 || bytes > nof_chan_nic_area_bytes())
        return 0;
    unsigned n = (unsigned)((bytes + piece_bytes() - 1) / piece_bytes());
    uint64_t run = UINT64_MAX >> (PIECES - n);
    for (unsigned at = 0; at + n <= PIECES; at++) {
        if ((nof_chan_nic.area_taken & run << at) != 0)
            continue;
        nof_chan_nic.area_taken |= run << at;
        return run << at;
    }
    return 0;
}

size_t nof_chan_nic_area_offset(uint64_t taken)
{
    return (size_t)__builtin_ctzll(taken) * piece_bytes();
}

void nof_chan_nic_area_give(uint64_t taken)
{
    nof_chan_nic.area_taken &= ~taken;
}
