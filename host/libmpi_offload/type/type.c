/* SPDX-License-Identifier: BSD-3-Clause */
#include "type/type.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/error.h"

#define PREDEFINED_FIRST NOF_TYPE_PREDEFINED
#define PREDEFINED_COUNT NOF_TYPE_PREDEFINED_COUNT

struct predefined {
    MPI_Datatype handle;
    const char *name;
    enum nof_reduce_type basic;
    uint32_t size; /* of the data */
    uint32_t extent; /* pairs have padding */
    uint32_t align;
    enum nof_ext ext; /* pairs: of the value */
    uint32_t first; /* pairs: size of the value */
    uint32_t second; /* pairs: size of the index, 0 for all others */
};

/* The unit that external32 turns round, where it is not the whole element or has another size. */
#define EXT(ctype) \
    _Generic((ctype)0, long \
             : NOF_EXT_LONG, unsigned long \
             : NOF_EXT_UNSIGNED_LONG, float _Complex \
             : NOF_EXT_4, double _Complex \
             : NOF_EXT_8, long double \
             : NOF_EXT_LONG_DOUBLE, long double _Complex \
             : NOF_EXT_LONG_DOUBLE, default \
             : EXT_OF(sizeof(ctype)))
#define EXT_OF(bytes) \
    ((bytes) == 1   ? NOF_EXT_1 \
     : (bytes) == 2 ? NOF_EXT_2 \
     : (bytes) == 4 ? NOF_EXT_4 \
     : (bytes) == 8 ? NOF_EXT_8 \
                    : NOF_EXT_16)
#define ROW(handle, name, basic, size, extent, align, ext, first, second) \
    { \
        handle, name, NOF_REDUCE_##basic, size, extent, align, ext, first, second \
    }
#define ONE(handle, ctype, basic) \
    ROW(handle, #handle, basic, sizeof(ctype), sizeof(ctype), _Alignof(ctype), EXT(ctype), sizeof(ctype), 0)
#define PAIR(handle, value, index, basic) \
    ROW(handle, #handle, basic, sizeof(value) + sizeof(index), sizeof(struct { \
            value v; \
            index i; \
        }), \
        _Alignof(value) > _Alignof(index) ? _Alignof(value) : _Alignof(index), EXT(value), sizeof(value), \
        sizeof(index))
/* unit: of alignment and byte order */
#define RAW(handle, bytes, unit, basic) \
    ROW(handle, #handle, basic, bytes, bytes, unit, EXT_OF(unit), bytes, 0)

/* At the bottom of an address space nothing is mapped: null pointers fault there. */
#define NOWHERE_BYTES 4096

_Static_assert(sizeof(long) == 8 && sizeof(MPI_Aint) == 8 && sizeof(wchar_t) == 4,
               "the table below is for LP64");

/* Fortran's sizes are those of gfortran without options: default INTEGER, REAL and LOGICAL of four
 * bytes, DOUBLE PRECISION of eight. */
static const struct predefined table[] = {
    RAW(MPI_AINT, 8, 8, I64),
    RAW(MPI_COUNT, 8, 8, I64),
    RAW(MPI_OFFSET, 8, 8, I64),
    RAW(MPI_PACKED, 1, 1, NONE),
    ONE(MPI_SHORT, short, I16),
    ONE(MPI_INT, int, I32),
    ONE(MPI_LONG, long, I64),
    ROW(MPI_LONG_LONG, "MPI_LONG_LONG_INT", I64, 8, 8, 8, NOF_EXT_8, 8, 0),
    ONE(MPI_UNSIGNED_SHORT, unsigned short, U16),
    ONE(MPI_UNSIGNED, unsigned, U32),
    ONE(MPI_UNSIGNED_LONG, unsigned long, U64),
    ONE(MPI_UNSIGNED_LONG_LONG, unsigned long long, U64),
    ONE(MPI_FLOAT, float, F32),
    ROW(MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX", C32, 8, 8, 4, NOF_EXT_4, 8, 0),
    ONE(MPI_CXX_FLOAT_COMPLEX, float _Complex, C32),
    ONE(MPI_DOUBLE, double, F64),
    ONE(MPI_C_DOUBLE_COMPLEX, double _Complex, C64),
    ONE(MPI_CXX_DOUBLE_COMPLEX, double _Complex, C64),
    ONE(MPI_LONG_DOUBLE, long double, LD),
    ONE(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex, CLD),
    ONE(MPI_CXX_LONG_DOUBLE_COMPLEX, long double _Complex, CLD),
    ONE(MPI_C_BOOL, _Bool, BOOL8),
    ONE(MPI_CXX_BOOL, _Bool, BOOL8),
    ROW(MPI_WCHAR, "MPI_WCHAR", NONE, 4, 4, 4, NOF_EXT_WCHAR, 4, 0),
    ONE(MPI_INT8_T, int8_t, I8),
    ONE(MPI_UINT8_T, uint8_t, U8),
    /* The standard has no reductions on MPI_CHAR; MPICH does them, and programs use them. */
    ONE(MPI_CHAR, char, I8),
    ONE(MPI_SIGNED_CHAR, signed char, I8),
    ONE(MPI_UNSIGNED_CHAR, unsigned char, U8),
    RAW(MPI_BYTE, 1, 1, BYTE),
    ONE(MPI_INT16_T, int16_t, I16),
    ONE(MPI_UINT16_T, uint16_t, U16),
    ONE(MPI_INT32_T, int32_t, I32),
    ONE(MPI_UINT32_T, uint32_t, U32),
    RAW(MPI_INT64_T, 8, 8, I64),
    RAW(MPI_UINT64_T, 8, 8, U64),

    RAW(MPI_LOGICAL, 4, 4, LOGICAL32),
    RAW(MPI_LOGICAL1, 1, 1, BOOL8),
    RAW(MPI_LOGICAL2, 2, 2, LOGICAL16),
    RAW(MPI_LOGICAL4, 4, 4, LOGICAL32),
    RAW(MPI_LOGICAL8, 8, 8, LOGICAL64),
    RAW(MPI_LOGICAL16, 16, 16, LOGICAL128),
    RAW(MPI_CHARACTER, 1, 1, NONE),
    RAW(MPI_INTEGER, 4, 4, I32),
    RAW(MPI_INTEGER1, 1, 1, I8),
    RAW(MPI_INTEGER2, 2, 2, I16),
    RAW(MPI_INTEGER4, 4, 4, I32),
    RAW(MPI_INTEGER8, 8, 8, I64),
    RAW(MPI_INTEGER16, 16, 16, I128),
    RAW(MPI_REAL, 4, 4, F32),
    RAW(MPI_REAL2, 2, 2, NONE),
    RAW(MPI_REAL4, 4, 4, F32),
    RAW(MPI_REAL8, 8, 8, F64),
    RAW(MPI_REAL16, 16, 16, F128),
    RAW(MPI_DOUBLE_PRECISION, 8, 8, F64),
    RAW(MPI_COMPLEX, 8, 4, C32),
    RAW(MPI_DOUBLE_COMPLEX, 16, 8, C64),
    RAW(MPI_COMPLEX4, 4, 2, NONE),
    RAW(MPI_COMPLEX8, 8, 4, C32),
    RAW(MPI_COMPLEX16, 16, 8, C64),
    RAW(MPI_COMPLEX32, 32, 16, C128),

    PAIR(MPI_FLOAT_INT, float, int, F32_I32),
    PAIR(MPI_DOUBLE_INT, double, int, F64_I32),
    PAIR(MPI_LONG_INT, long, int, I64_I32),
    PAIR(MPI_2INT, int, int, I32_I32),
    PAIR(MPI_SHORT_INT, short, int, I16_I32),
    PAIR(MPI_LONG_DOUBLE_INT, long double, int, LD_I32),
    PAIR(MPI_2REAL, float, float, F32_F32),
    PAIR(MPI_2DOUBLE_PRECISION, double, double, F64_F64),
    PAIR(MPI_2INTEGER, int32_t, int32_t, I32_I32),
};

static struct nof_type predefined_types[PREDEFINED_COUNT];
uint8_t nof_type_plain[PREDEFINED_COUNT];

static struct nof_tree *pair_tree(const struct predefined *p)
{
    /* The index lies at the end of the value, aligned to its own size. */
    ptrdiff_t disp = (ptrdiff_t)((p->first + p->second - 1) / p->second * p->second);
    struct nof_type value = {.size = p->first, .ub = (ptrdiff_t)p->first, .align = 1};
    struct nof_type index = {.size = p->second, .ub = (ptrdiff_t)p->second, .align = 1};
    value.tree = nof_tree_leaf(p->first, 1, p->ext);
    index.tree = nof_tree_leaf(p->second, 1, EXT_OF(p->second));
    struct nof_type_block blocks[2] = {{0, 1, &value}, {disp, 1, &index}};
    struct nof_tree *tree = value.tree == NULL || index.tree == NULL ? NULL : nof_tree_list(2, blocks);
    nof_tree_release(value.tree);
    nof_tree_release(index.tree);
    return tree;
}

int nof_type_init(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct predefined *p = &table[i];
        struct nof_type *type = &predefined_types[nof_lib_bits(p->handle) - PREDEFINED_FIRST];
        type->refs = 1;
        type->align = p->align;
        type->predefined = true;
        type->committed = true;
        type->contiguous = p->size == p->extent;
        if (type->contiguous)
            nof_type_plain[nof_lib_bits(p->handle) - PREDEFINED_FIRST] = (uint8_t)p->size;
        type->basic = p->basic;
        type->uniform = p->basic;
        type->size = p->size;
        type->ub = (ptrdiff_t)p->extent;
        type->handle = p->handle;
        type->tree = p->second == 0 ? nof_tree_leaf(p->size, 1, p->ext) : pair_tree(p);
        snprintf(type->name, sizeof(type->name), "%s", p->name);
        if (type->tree == NULL)
            return -1;
    }
    return 0;
}

static struct nof_type *find(MPI_Datatype handle)
{
    uint64_t bits = nof_lib_bits(handle);
    if (bits - PREDEFINED_FIRST < PREDEFINED_COUNT) {
        struct nof_type *type = &predefined_types[bits - PREDEFINED_FIRST];
        return type->tree == NULL ? NULL : type;
    }
    return nof_handle_get(&nof_lib.types, bits);
}

int nof_type_check(MPI_Datatype handle, bool committed, struct nof_type **type_out)
{
    struct nof_type *type = find(handle);
    if (type == NULL)
        return nof_error(MPI_ERR_TYPE, "%s",
                         handle == MPI_DATATYPE_NULL ? "the datatype is MPI_DATATYPE_NULL"
                                                     : "the handle names no datatype (freed?)");
    if (committed && !type->committed)
        return nof_error(MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit first");
    *type_out = type;
    return MPI_SUCCESS;
}

int nof_type_check_count(const struct nof_type *type, MPI_Count count)
{
    size_t bytes;
    if (count < 0)
        return nof_error(MPI_ERR_COUNT, "the count is %lld", (long long)count);
    if (!nof_type_bytes(type, (size_t)count, &bytes))
        return nof_error(MPI_ERR_COUNT, "%lld elements of %zu bytes are more than a memory can hold",
                         (long long)count, type->size);
    return MPI_SUCCESS;
}

int nof_type_check_buffer(const struct nof_type *type, const void *buf, MPI_Count count)
{
    /* Of a predefined type without holes the bytes say all. */
    if (!(type->predefined && type->contiguous) && !nof_type_vector_fits(1, (size_t)count, 0, type))
        return nof_error(MPI_ERR_COUNT, "%lld elements %td bytes apart reach further than an address can",
                         (long long)count, nof_type_extent(type));
    if (buf != NULL || count == 0 || type->size == 0 || type->tree->lb >= NOWHERE_BYTES)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_BUFFER, "the buffer is NULL and the count is %lld", (long long)count);
}

int nof_type_check_data(MPI_Datatype handle, const void *buf, MPI_Count count, struct nof_type **type_out)
{
    int rc = nof_type_check(handle, true, type_out);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(*type_out, count);
    return rc == MPI_SUCCESS ? nof_type_check_buffer(*type_out, buf, count) : rc;
}

struct nof_type *nof_type_predefined(MPI_Datatype handle)
{
    return &predefined_types[nof_lib_bits(handle) - PREDEFINED_FIRST];
}

struct nof_type *nof_type_of_basic(enum nof_reduce_type basic)
{
    for (size_t i = 0; basic != NOF_REDUCE_NONE && i < PREDEFINED_COUNT; i++)
        if (predefined_types[i].basic == basic && predefined_types[i].contiguous)
            return &predefined_types[i];
    return NULL;
}

struct nof_type *nof_type_byte(void)
{
    return nof_type_predefined(MPI_BYTE);
}
