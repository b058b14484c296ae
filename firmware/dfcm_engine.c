/* SPDX-License-Identifier: BSD-3-Clause */

/* bound of all loops here: the values of one chunk, 64 KiB; lines of a table once for a grant; paid by the flow's bytes, or GRANT_NS */
#include "dfcm_engine.h"

#include <string.h>
#ifdef NOF_DFCM_VECTORS
#include <cpuid.h>
#endif

#include "codec/dfcm_kernel.h"
#include "nof/status.h"
#include "base/bytes.h"

/* With a block of its caller's in one frame it would be more stack than the core allows a function. */
#define NOINLINE __attribute__((noinline))

/* What the processor has and, by XCR0, the operating system saves. */
static int processor_has(enum nof_dfcm_isa isa)
{
#ifdef NOF_DFCM_VECTORS
    uint32_t eax, ebx, ecx, edx, saved, high;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & bit_OSXSAVE) == 0)
        return 0;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    if (!__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) || (ecx & bit_ABM) == 0)
        return 0;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
        return 0;

    const uint32_t avx2 = bit_AVX2 | bit_BMI | bit_BMI2;
    const uint32_t avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    const uint32_t bytes = bit_AVX512VBMI | bit_AVX512VBMI2;
    bool has_avx2 = (ebx & avx2) == avx2 && (saved & 6) == 6;

    if (isa == NOF_DFCM_ISA_AVX2)
        return has_avx2;
    return has_avx2 && (ebx & avx512) == avx512 && (ecx & bytes) == bytes && (saved & 0xe6) == 0xe6;
#else
    (void)isa;
    return 0;
#endif
}

const struct nof_dfcm_kernel *nof_dfcm_kernel_of(enum nof_dfcm_isa isa)
{
#ifdef NOF_DFCM_VECTORS
    if ((isa == NOF_DFCM_ISA_AUTO || isa == NOF_DFCM_ISA_AVX512) && processor_has(NOF_DFCM_ISA_AVX512))
        return &nof_dfcm_avx512;
    if ((isa == NOF_DFCM_ISA_AUTO || isa == NOF_DFCM_ISA_AVX2) && processor_has(NOF_DFCM_ISA_AVX2))
        return &nof_dfcm_avx2;
#endif
    if (isa == NOF_DFCM_ISA_AUTO || isa == NOF_DFCM_ISA_PORTABLE)
        return &nof_dfcm_portable;
    return NULL;
}

static bool known_format(enum nof_dfcm_format format)
{
    return format == NOF_DFCM_PAPER || format == NOF_DFCM_FAST;
}

static size_t table_bytes(const struct nof_dfcm *p)
{
    return ((size_t)p->mask + 1) * sizeof(struct nof_dfcm_line);
}

size_t nof_dfcm_mem_size(unsigned table_log2)
{
    if (table_log2 < NOF_DFCM_TABLE_LOG2_MIN || table_log2 > NOF_DFCM_TABLE_LOG2_MAX)
        return 0;
    return sizeof(struct nof_dfcm) + ((size_t)1 << table_log2) * sizeof(struct nof_dfcm_line);
}

struct nof_dfcm *nof_dfcm_init(void *mem, unsigned table_log2, enum nof_dfcm_format format,
                               enum nof_dfcm_isa isa)
{
    return nof_dfcm_place(mem, table_log2, format, nof_dfcm_kernel_of(isa));
}

struct nof_dfcm *nof_dfcm_place(void *mem, unsigned table_log2, enum nof_dfcm_format format,
                                const struct nof_dfcm_kernel *kernel)
{
    struct nof_dfcm *p = mem;

    if (mem == NULL || (uintptr_t)mem % NOF_DFCM_ALIGN != 0 || nof_dfcm_mem_size(table_log2) == 0 ||
        kernel == NULL || !known_format(format))
        return NULL;
    p->kernel = kernel;
    p->format = format;
    p->mask = (1u << table_log2) - 1;
    nof_dfcm_reset(p);
    return p;
}

void nof_dfcm_reset(struct nof_dfcm *p)
{
    p->per_kib = 1024;
    memset(p->delta, 0, sizeof(p->delta));
    memset(p->value, 0, sizeof(p->value));
    memset(p->line, 0, table_bytes(p));
}

enum nof_dfcm_isa nof_dfcm_isa(const struct nof_dfcm *p)
{
    return p->kernel->isa;
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

uint64_t nof_dfcm_digest(const struct nof_dfcm *p)
{
    uint64_t sum = mix(p->mask, p->format);

    for (unsigned i = 0; i < NOF_DFCM_HISTORY; i++)
        sum = mix(sum, p->delta[i]);
    sum = mix(mix(sum, p->value[0]), p->value[1]);
    for (uint32_t i = 0; i <= p->mask; i++)
        sum = mix(mix(sum, p->line[i].newest), p->line[i].older);
    return sum;
}

static const struct nof_dfcm_shape shapes[NOF_ELEM_COUNT] = {
    [NOF_ELEM_F64] = {.word_bytes = 8, .widen = 0, .top = 50, .stride = 1},
    [NOF_ELEM_F32] = {.word_bytes = 4, .widen = 32, .top = 50, .stride = 1},
    [NOF_ELEM_I64] = {.word_bytes = 8, .widen = 0, .top = 0, .stride = 1},
    [NOF_ELEM_I32] = {.word_bytes = 4, .widen = 32, .top = 32, .stride = 1},
    [NOF_ELEM_C64] = {.word_bytes = 8, .widen = 0, .top = 50, .stride = 2},
    [NOF_ELEM_C32] = {.word_bytes = 4, .widen = 32, .top = 50, .stride = 2},
};

#define FAST_DELAY 4u

static struct nof_dfcm_shape shape_of(const struct nof_dfcm *p, enum nof_elem elem)
{
    struct nof_dfcm_shape s = shapes[elem];

    s.delay = p->format == NOF_DFCM_FAST ? FAST_DELAY : 0;
    return s;
}

bool nof_dfcm_knows(enum nof_elem elem)
{
    return (unsigned)elem < NOF_ELEM_COUNT && shapes[elem].word_bytes != 0;
}

unsigned nof_dfcm_word_bytes(enum nof_elem elem)
{
    return nof_dfcm_knows(elem) ? shapes[elem].word_bytes : 1;
}

static void block_begin(const struct nof_dfcm *p, struct nof_dfcm_block *b)
{
    memcpy(b->delta, p->delta, sizeof(p->delta));
    memcpy(b->value, p->value, sizeof(p->value));
}

/* The predictor's history ends with value n of the block. */
static void block_end(struct nof_dfcm *p, const struct nof_dfcm_block *b, unsigned n)
{
    memcpy(p->delta, b->delta + n, sizeof(p->delta));
    memcpy(p->value, b->value + n, sizeof(p->value));
}

/* The table as it was before values [from, to) of the block. */
static void block_undo(struct nof_dfcm *p, const struct nof_dfcm_block *b, unsigned from, unsigned to)
{
    while (to-- > from)
        *nof_dfcm_line_at(p, b->place[to]) = b->line[to];
}

static unsigned at_most(size_t n, size_t most)
{
    return (unsigned)(n < most ? n : most);
}

static void train(struct nof_dfcm *p, const struct nof_dfcm_shape *s, const uint8_t *in, size_t words)
{
    struct nof_dfcm_block b;

    while (words > 0) {
        unsigned n = at_most(words, NOF_DFCM_BLOCK);

        block_begin(p, &b);
        p->kernel->predict(p, s, &b, 0, n, in);
        block_end(p, &b, n);
        in += (size_t)n * s->word_bytes;
        words -= n;
    }
}

/* A chunk being made. */
struct maker {
    struct nof_dfcm *p;
    struct nof_dfcm_shape s;
    uint8_t *out;
    size_t capacity; /* bytes */
    size_t nibbles; /* of `out` that are used */
    size_t words; /* taken */
    uint64_t hits[NOF_DFCM_CLASSES];
};

/* What the first values of a block come to. */
struct measure {
    unsigned n, kept, odds;
};

static size_t measured_nibbles(const struct maker *k, const struct measure *m)
{
    if (k->p->format == NOF_DFCM_PAPER)
        return m->n + m->kept;
    return 2u * ((m->n + 1) / 2 + (m->odds + 1) / 2 + (m->kept - m->odds) / 2);
}

/* n more values, as many of them as fit into the room. They are added together first: mostly all but a few fit. */
static void measure_more(const struct maker *k, const struct nof_dfcm_block *b, unsigned n, size_t room,
                         struct measure *m)
{
    for (unsigned i = m->n; i < m->n + n; i++) {
        m->kept += b->kept[i];
        m->odds += b->kept[i] & 1u;
    }
    m->n += n;
    while (measured_nibbles(k, m) > room) {
        m->n--;
        m->kept -= b->kept[m->n];
        m->odds -= b->kept[m->n] & 1u;
    }
}

NOINLINE static void block_pack(struct maker *k, const struct nof_dfcm_block *b, unsigned n)
{
    uint8_t last[NOF_DFCM_BLOCK_BYTES(NOF_DFCM_BLOCK) + 64];
    uint8_t *to = k->out + k->nibbles / 2;
    size_t len;

    if (k->p->format == NOF_DFCM_PAPER) {
        nof_dfcm_paper_pack(b, n, k->s.word_bytes, k->out, &k->nibbles, k->hits);
        return;
    }
    if (k->capacity - k->nibbles / 2 >= sizeof(last)) {
        len = k->p->kernel->pack(b, n, k->s.word_bytes, to, k->hits);
    } else {
        len = k->p->kernel->pack(b, n, k->s.word_bytes, last, k->hits);
        memcpy(to, last, len);
    }
    k->nibbles += 2 * len;
}

#define GUESS_SPARE 3u /* a few too many cost less than another round */

/* One block of at most n values. False: the chunk is full. */
static bool make_block(struct maker *k, const uint8_t *in, unsigned n)
{
    size_t room = 2 * k->capacity - k->nibbles;
    struct nof_dfcm_block b;
    struct measure m = {0, 0, 0};
    bool full = false;

    block_begin(k->p, &b);
    if (room >= 2 * NOF_DFCM_BLOCK_BYTES(n)) {
        k->p->kernel->predict(k->p, &k->s, &b, 0, n, in);
        m.n = n;
    }
    while (m.n < n && !full) {
        /* As many as will probably fit; those that do not are taken back. */
        size_t left = room - measured_nibbles(k, &m);
        size_t guess = left * 512 / (k->p->per_kib * k->s.word_bytes) + GUESS_SPARE;
        unsigned from = m.n;
        unsigned more = at_most(guess, n - from);

        k->p->kernel->predict(k->p, &k->s, &b, from, more, in + (size_t)from * k->s.word_bytes);
        measure_more(k, &b, more, room, &m);
        full = m.n < from + more;
        block_undo(k->p, &b, m.n, from + more);
    }
    block_end(k->p, &b, m.n);
    if (m.n > 0)
        block_pack(k, &b, m.n);
    k->words += m.n;
    return !full;
}

static void put_header(uint8_t *out, enum nof_dfcm_format format, enum nof_elem elem, size_t tail_bytes,
                       size_t words)
{
    out[0] = (uint8_t)(format | (unsigned)elem << 4);
    out[1] = (uint8_t)tail_bytes;
    nof_put16(out + 2, (uint16_t)words);
}

/* The chunk cannot be smaller than what it stands for: its bytes, as many as the frame takes. */
static void make_raw(struct maker *k, const uint8_t *in, size_t in_bytes, struct nof_dfcm_chunk *chunk)
{
    unsigned word = k->s.word_bytes;
    size_t len = at_most(in_bytes, at_most(k->capacity, NOF_DFCM_DECODED_MAX));

    if (len < in_bytes)
        len -= len % word;
    train(k->p, &k->s, in + k->words * word, len / word - k->words);
    memcpy(k->out, in, len);
    *chunk = (struct nof_dfcm_chunk){.plain_bytes = (uint32_t)len, .len_bytes = (uint32_t)len, .raw = true};
}

static void make_coded(struct maker *k, enum nof_elem elem, const uint8_t *in, size_t in_bytes,
                       struct nof_dfcm_chunk *chunk)
{
    size_t limit = at_most(in_bytes / k->s.word_bytes, NOF_DFCM_VALUES_MAX);
    size_t tail = 0;
    size_t len, plain;

    for (bool more = true; more && k->words < limit;)
        more = make_block(k, in + k->words * k->s.word_bytes, at_most(limit - k->words, NOF_DFCM_BLOCK));
    len = (k->nibbles + 1) / 2;
    plain = k->words * k->s.word_bytes;
    if (in_bytes - plain < k->s.word_bytes && in_bytes - plain <= k->capacity - len)
        tail = in_bytes - plain;
    if (k->words == 0 || len >= plain) {
        make_raw(k, in, in_bytes, chunk);
        return;
    }
    memcpy(k->out + len, in + plain, tail);
    put_header(k->out, k->p->format, elem, tail, k->words);
    *chunk =
        (struct nof_dfcm_chunk){.plain_bytes = (uint32_t)(plain + tail), .len_bytes = (uint32_t)(len + tail)};
}

static void count(struct nof_dfcm_stats *stats, size_t plain, size_t len, bool raw, const uint64_t *hits)
{
    if (stats == NULL)
        return;
    stats->plain_bytes += plain;
    stats->chunk_bytes += len;
    stats->raw += (uint64_t)raw;
    stats->coded += (uint64_t)!raw;
    for (unsigned i = 0; i < NOF_DFCM_CLASSES && !raw; i++)
        stats->hits[i] += hits[i];
}

int nof_dfcm_encode(struct nof_dfcm *p, enum nof_elem elem, const void *in, size_t in_bytes, void *out,
                    size_t capacity, struct nof_dfcm_chunk *chunk_out, struct nof_dfcm_stats *stats)
{
    if (!nof_dfcm_knows(elem) || in_bytes == 0 || capacity < NOF_DFCM_CAPACITY_MIN)
        return NOF_EINVAL;

    struct maker k = {.p = p,
                      .s = shape_of(p, elem),
                      .out = out,
                      .capacity = capacity,
                      .nibbles = 2u * NOF_DFCM_HEADER_BYTES};
    make_coded(&k, elem, in, in_bytes, chunk_out);
    if (k.words > 0)
        p->per_kib = (3 * p->per_kib + chunk_out->len_bytes * 1024 / chunk_out->plain_bytes + 3) / 4;
    count(stats, chunk_out->plain_bytes, chunk_out->len_bytes, chunk_out->raw, k.hits);
    return NOF_OK;
}

struct header {
    enum nof_dfcm_format format;
    enum nof_elem elem;
    unsigned tail_bytes;
    unsigned words;
    uint32_t plain_bytes;
};

/* Returns NOF_OK, NOF_EVERSION or NOF_EPROTO. */
static int get_header(const uint8_t *chunk, size_t len, struct header *h)
{
    if (len <= NOF_DFCM_HEADER_BYTES)
        return NOF_EPROTO;
    h->format = (enum nof_dfcm_format)(chunk[0] & 15u);
    h->elem = (enum nof_elem)(chunk[0] >> 4);
    h->tail_bytes = chunk[1];
    h->words = nof_get16(chunk + 2);
    if (!known_format(h->format))
        return NOF_EVERSION;
    if (!nof_dfcm_knows(h->elem) || h->tail_bytes >= nof_dfcm_word_bytes(h->elem) || h->words == 0 ||
        h->words > NOF_DFCM_VALUES_MAX)
        return NOF_EPROTO;
    h->plain_bytes = h->words * nof_dfcm_word_bytes(h->elem) + h->tail_bytes;
    return len < h->plain_bytes ? NOF_OK : NOF_EPROTO;
}

uint32_t nof_dfcm_plain_bytes(const void *chunk, size_t len_bytes)
{
    struct header h;

    return get_header(chunk, len_bytes, &h) == NOF_OK ? h.plain_bytes : 0;
}

/* The coded values lie in [in, in + len), all of it. Returns 0, or -1 if they do not. */
static int decode_values(struct nof_dfcm *p, const struct header *h, const uint8_t *in, size_t len,
                         uint8_t *out, uint64_t *hits)
{
    struct nof_dfcm_shape s = shape_of(p, h->elem);

    return len > 0 && p->kernel->decode(p, &s, h->words, in, len, out, hits) == len ? 0 : -1;
}

int nof_dfcm_decode(struct nof_dfcm *p, enum nof_elem elem, const void *chunk, size_t len_bytes, void *out,
                    size_t out_bytes, uint32_t *plain_bytes_out, struct nof_dfcm_stats *stats)
{
    const uint8_t *in = chunk;
    uint8_t *to = out;
    uint64_t hits[NOF_DFCM_CLASSES] = {0};
    struct header h;
    int rc = get_header(in, len_bytes, &h);

    if (rc == NOF_OK && h.format != p->format)
        rc = NOF_EVERSION;
    if (rc == NOF_OK &&
        (h.elem != elem || h.plain_bytes > out_bytes || len_bytes < NOF_DFCM_HEADER_BYTES + h.tail_bytes))
        rc = NOF_EPROTO;
    if (rc == NOF_OK && decode_values(p, &h, in + NOF_DFCM_HEADER_BYTES,
                                      len_bytes - NOF_DFCM_HEADER_BYTES - h.tail_bytes, to, hits) != 0)
        rc = NOF_EPROTO;
    if (rc != NOF_OK) {
        nof_dfcm_reset(p);
        if (stats != NULL)
            stats->bad++;
        return rc;
    }
    memcpy(to + h.plain_bytes - h.tail_bytes, in + len_bytes - h.tail_bytes, h.tail_bytes);
    count(stats, h.plain_bytes, len_bytes, false, hits);
    *plain_bytes_out = h.plain_bytes;
    return NOF_OK;
}

int nof_dfcm_train(struct nof_dfcm *p, enum nof_elem elem, const void *raw, size_t len_bytes,
                   struct nof_dfcm_stats *stats)
{
    if (!nof_dfcm_knows(elem) || len_bytes == 0 || len_bytes > NOF_DFCM_DECODED_MAX)
        return NOF_EINVAL;

    struct nof_dfcm_shape s = shape_of(p, elem);
    train(p, &s, raw, len_bytes / s.word_bytes);
    count(stats, len_bytes, len_bytes, true, NULL);
    return NOF_OK;
}
