/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DFCM codec: compresses the payload of one direction of a flow, a chunk at a time, with a predictor that
 * both ends keep in step. docs/DFCM_FORMAT.md has the bytes.
 *
 *   sender                                        receiver
 *   init()                                        init()            once, in the caller's memory
 *   encode() -> coded chunk --------------------> decode()          a chunk is the payload of one frame
 *            -> raw chunk   --------------------> train()           the payload is the message's own bytes
 *   reset()                                       reset()           a new epoch
 *
 * Both predictors see the same chunks of an epoch in the same order; a payload that is sent without encode() is
 * shown to neither. What the frame's header says, because it is not in the chunk: whether the payload is coded, raw
 * or never seen by a predictor; the predictor's slot and epoch; the element type of the message (train() needs it).
 * Format and size of the table belong to the epoch: who grants a predictor says them.
 *
 * A chunk holds as many values as fit: the code is one sequence of values that can end anywhere, so there is no
 * number to be fixed beforehand, no overflow and no continuation. A coded chunk is always smaller than the bytes
 * that it stands for; what would not shrink is a raw chunk, which is exactly those bytes. Raw is a flag.
 *
 * Element types: the pieces of a message are given in its order. A complex number is predicted part by part, from
 * the number before it. What is not a multiple of a word is only allowed at a message's end: its last bytes
 * travel as they are.
 *
 * Memory: the caller's, nof_dfcm_mem_size() bytes, aligned to 64; no pointer into it or to buffers is kept.
 * Threads: one NIC core owns a predictor. Cost: no allocation, no system call; per value one look-up in the table.
 * Source: docs/SOURCES.md, compression, sections 2.2 to 2.4; docs/decisions/0017 says what the format FAST does otherwise. */
#ifndef NOF_DFCM_ENGINE_H
#define NOF_DFCM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof/desc.h"

#define NOF_DFCM_TABLE_LOG2 15u /* of the paper, section 3.3 */
#define NOF_DFCM_TABLE_LOG2_MIN 8u
#define NOF_DFCM_TABLE_LOG2_MAX 15u
#define NOF_DFCM_ALIGN 64u

#define NOF_DFCM_HEADER_BYTES 4u /* of a coded chunk, counted in its length */
#define NOF_DFCM_CAPACITY_MIN 64u
#define NOF_DFCM_VALUES_MAX 8192u /* of a chunk */
#define NOF_DFCM_DECODED_MAX (8u * NOF_DFCM_VALUES_MAX + 7u) /* bytes that one chunk can stand for */

/* On the wire: the low half of a coded chunk's first byte. */
enum nof_dfcm_format {
    NOF_DFCM_PAPER = 1, /* the paper's bits, value after value */
    NOF_DFCM_FAST = 2, /* contexts end five values back, so that five look-ups are under way at once */
};

/* Which code runs; every one makes the same bytes. */
enum nof_dfcm_isa {
    NOF_DFCM_ISA_AUTO = 0, /* the best that this processor has */
    NOF_DFCM_ISA_PORTABLE,
    NOF_DFCM_ISA_AVX2, /* with BMI2 and LZCNT */
    NOF_DFCM_ISA_AVX512, /* F, BW, CD, DQ, VL, VBMI, VBMI2 */
    NOF_DFCM_ISA_COUNT
};

#define NOF_DFCM_CLASSES 4u

/* Sums over calls; the caller zeroes and owns it, one for each direction. `raw` and `coded` count chunks. */
struct nof_dfcm_stats {
    uint64_t plain_bytes; /* of the message: encoded, decoded or trained with */
    uint64_t chunk_bytes; /* what they were on the wire, raw or coded */
    uint64_t coded;
    uint64_t raw;
    uint64_t bad; /* chunks that did not decode */
    /* Values of coded chunks whose leading zero count (in nibbles, 0 to 15) is 0 to 3, 4 to 7, 8 to 11, 12 to 15. */
    uint64_t hits[NOF_DFCM_CLASSES];
};

struct nof_dfcm_chunk {
    uint32_t plain_bytes; /* taken from the input */
    uint32_t len_bytes; /* put into the output */
    bool raw; /* the output is the input's bytes; plain_bytes == len_bytes */
};

struct nof_dfcm;
struct nof_dfcm_kernel;

/* The code of an isa; NULL: this processor or build has it not. Asks the processor, which in a virtual machine takes tens
 * of microseconds: once, at set-up. */
const struct nof_dfcm_kernel *nof_dfcm_kernel_of(enum nof_dfcm_isa isa);

/* Bytes of a predictor with 2^table_log2 lines of 16 bytes; 0 if that is out of range. */
size_t nof_dfcm_mem_size(unsigned table_log2);
/* Makes the memory a predictor that has seen nothing. NULL: table_log2 out of range, no such format, mem not aligned,
 * or an isa that this processor or build has not. Both ends need the same table_log2 and format; isa is each one's
 * own affair. */
struct nof_dfcm *nof_dfcm_init(void *mem, unsigned table_log2, enum nof_dfcm_format format,
                               enum nof_dfcm_isa isa);
/* The same with a code that was asked for before; NULL likewise if that is NULL. */
struct nof_dfcm *nof_dfcm_place(void *mem, unsigned table_log2, enum nof_dfcm_format format,
                                const struct nof_dfcm_kernel *kernel);
/* As after init(): an epoch begins. Cost: clears the table (512 KiB for 2^15 lines). */
void nof_dfcm_reset(struct nof_dfcm *p);

/* May this type be given to encode()? RAW and unknown ones may not: send them without. */
bool nof_dfcm_knows(enum nof_elem elem);
/* Bytes of a word: plain_bytes of every chunk but a message's last is a multiple. 8 or 4; 1 for unknown types. */
unsigned nof_dfcm_word_bytes(enum nof_elem elem);

/* Encode the beginning of in[0, in_bytes) into out[0, capacity): one chunk.
 * in_bytes: >= 1, any size; not a multiple of the word only if the message ends there. No alignment is needed.
 * capacity: >= NOF_DFCM_CAPACITY_MIN; no byte of `out` beyond it is touched, those beyond len_bytes are undefined.
 * out must not overlap in. stats may be NULL.
 * Returns NOF_OK with chunk_out->plain_bytes >= 1, or NOF_EINVAL (nothing happened). */
int nof_dfcm_encode(struct nof_dfcm *p, enum nof_elem elem, const void *in, size_t in_bytes, void *out,
                    size_t capacity, struct nof_dfcm_chunk *chunk_out, struct nof_dfcm_stats *stats);

/* What a coded chunk says that it stands for, in bytes, from its first bytes, which may be foreign; 0: it is none. */
uint32_t nof_dfcm_plain_bytes(const void *chunk, size_t len_bytes);

/* Decode one coded chunk, whose bytes may be anything. Nothing outside chunk[0, len_bytes) is read and nothing
 * outside out[0, out_bytes) written.
 * elem: of the message; a chunk of another type is refused.
 * Returns NOF_OK and the number of bytes written in *plain_bytes_out, or
 *   NOF_EVERSION  not in the predictor's format
 *   NOF_EPROTO    truncated, too long, a wrong count or type, set padding, or larger than out_bytes
 * After an error the predictor is as after reset(), out's bytes are undefined, and the epoch has ended. */
int nof_dfcm_decode(struct nof_dfcm *p, enum nof_elem elem, const void *chunk, size_t len_bytes, void *out,
                    size_t out_bytes, uint32_t *plain_bytes_out, struct nof_dfcm_stats *stats);

/* The receiver's half of a raw chunk: the predictor sees its bytes. len_bytes: 1 to NOF_DFCM_DECODED_MAX.
 * Returns NOF_OK or NOF_EINVAL (length or type; nothing happened). */
int nof_dfcm_train(struct nof_dfcm *p, enum nof_elem elem, const void *raw, size_t len_bytes,
                   struct nof_dfcm_stats *stats);

/* A number that is equal for predictors in the same state (and hardly else): tests and the simulator compare the
 * two ends with it. Cost: reads the whole table. */
uint64_t nof_dfcm_digest(const struct nof_dfcm *p);
/* The code that this predictor runs, never AUTO. */
enum nof_dfcm_isa nof_dfcm_isa(const struct nof_dfcm *p);

#endif
