/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout: where the bytes of a non-contiguous buffer lie, relative to a base address. Written by
 * the host into the program area when a datatype is committed, validated and copied once by the
 * NIC (NOF_DESC_LAYOUT: addr = offset in the program area, len = bytes, layout = index,
 * layout_generation), then named by index and generation.
 *
 *   struct nof_layout_head, then nops struct nof_layout_op
 *
 * A program is a list of ops at nesting depth 0..NOF_LAYOUT_DEPTH_MAX-1: BLOCK emits `block` bytes
 * at the current position plus `offset`, `count` times, `stride` apart; LOOP runs the next `block`
 * ops `count` times with the position moved by `offset + i * stride`. The bytes of a message are
 * the emitted bytes in program order; the whole program repeats every `extent` bytes for ever
 * (a message of n elements takes the first n * size bytes). */
#ifndef NOF_LAYOUT_H
#define NOF_LAYOUT_H

#include <assert.h>
#include <stdint.h>

#define NOF_LAYOUT_DEPTH_MAX 8
#define NOF_LAYOUT_OPS_MAX 1024
#define NOF_LAYOUT_MAGIC 0x4c464f4eu

enum nof_layout_opcode { NOF_LAYOUT_BLOCK = 1, NOF_LAYOUT_LOOP = 2 };

struct nof_layout_op {
    uint32_t opcode;
    uint32_t reserved; /* 0 */
    uint64_t count; /* >= 1 */
    uint64_t block; /* BLOCK: bytes >= 1; LOOP: number of following ops in its body >= 1 */
    int64_t offset; /* bytes */
    int64_t stride; /* bytes */
};

struct nof_layout_head {
    uint32_t magic;
    uint32_t nops; /* 1..NOF_LAYOUT_OPS_MAX */
    uint64_t size; /* bytes emitted by one run of the program; checked */
    int64_t extent; /* bytes between two runs */
};

static_assert(sizeof(struct nof_layout_op) == 40, "layout op is 40 bytes");
static_assert(sizeof(struct nof_layout_head) == 24, "layout head is 24 bytes");

#endif
