/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local and the NIC core give the same bits: every predefined operation on every predefined datatype, and the
 * same pairs are refused. Linked with the core too: not for other MPI libraries. */
#include "mpitest.h"

#include "coll/reduce.h"
#include "nof/status.h"
#include "vectors/operands.h"

enum { COUNT = 300, BYTES_MAX = COUNT * 32 };

static unsigned char in[BYTES_MAX], by_mpi[BYTES_MAX], by_core[BYTES_MAX];

#define TYPE(mpi, code) \
    { \
        mpi, #mpi, NOF_REDUCE_##code \
    }

static const struct {
    MPI_Datatype mpi;
    const char *name;
    unsigned code;
} types[] = {
    TYPE(MPI_CHAR, I8),
    TYPE(MPI_SIGNED_CHAR, I8),
    TYPE(MPI_UNSIGNED_CHAR, U8),
    TYPE(MPI_SHORT, I16),
    TYPE(MPI_UNSIGNED_SHORT, U16),
    TYPE(MPI_INT, I32),
    TYPE(MPI_UNSIGNED, U32),
    TYPE(MPI_LONG, I64),
    TYPE(MPI_UNSIGNED_LONG, U64),
    TYPE(MPI_LONG_LONG, I64),
    TYPE(MPI_UNSIGNED_LONG_LONG, U64),
    TYPE(MPI_INT8_T, I8),
    TYPE(MPI_UINT8_T, U8),
    TYPE(MPI_INT16_T, I16),
    TYPE(MPI_UINT16_T, U16),
    TYPE(MPI_INT32_T, I32),
    TYPE(MPI_UINT32_T, U32),
    TYPE(MPI_INT64_T, I64),
    TYPE(MPI_UINT64_T, U64),
    TYPE(MPI_AINT, I64),
    TYPE(MPI_COUNT, I64),
    TYPE(MPI_OFFSET, I64),
    TYPE(MPI_FLOAT, F32),
    TYPE(MPI_DOUBLE, F64),
    TYPE(MPI_LONG_DOUBLE, LD),
    TYPE(MPI_C_BOOL, BOOL8),
    TYPE(MPI_C_FLOAT_COMPLEX, C32),
    TYPE(MPI_C_DOUBLE_COMPLEX, C64),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, CLD),
    TYPE(MPI_CXX_BOOL, BOOL8),
    TYPE(MPI_CXX_FLOAT_COMPLEX, C32),
    TYPE(MPI_CXX_DOUBLE_COMPLEX, C64),
    TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, CLD),
    TYPE(MPI_BYTE, BYTE),
    TYPE(MPI_PACKED, NONE),
    TYPE(MPI_WCHAR, NONE),
    TYPE(MPI_CHARACTER, NONE),
    TYPE(MPI_LOGICAL, LOGICAL32),
    TYPE(MPI_LOGICAL1, BOOL8),
    TYPE(MPI_LOGICAL2, LOGICAL16),
    TYPE(MPI_LOGICAL4, LOGICAL32),
    TYPE(MPI_LOGICAL8, LOGICAL64),
    TYPE(MPI_LOGICAL16, LOGICAL128),
    TYPE(MPI_INTEGER, I32),
    TYPE(MPI_INTEGER1, I8),
    TYPE(MPI_INTEGER2, I16),
    TYPE(MPI_INTEGER4, I32),
    TYPE(MPI_INTEGER8, I64),
    TYPE(MPI_INTEGER16, I128),
    TYPE(MPI_REAL, F32),
    TYPE(MPI_REAL4, F32),
    TYPE(MPI_REAL8, F64),
    TYPE(MPI_REAL16, F128),
    TYPE(MPI_DOUBLE_PRECISION, F64),
    TYPE(MPI_COMPLEX, C32),
    TYPE(MPI_DOUBLE_COMPLEX, C64),
    TYPE(MPI_COMPLEX8, C32),
    TYPE(MPI_COMPLEX16, C64),
    TYPE(MPI_COMPLEX32, C128),
    TYPE(MPI_FLOAT_INT, F32_I32),
    TYPE(MPI_DOUBLE_INT, F64_I32),
    TYPE(MPI_LONG_INT, I64_I32),
    TYPE(MPI_2INT, I32_I32),
    TYPE(MPI_SHORT_INT, I16_I32),
    TYPE(MPI_LONG_DOUBLE_INT, LD_I32),
    TYPE(MPI_2REAL, F32_F32),
    TYPE(MPI_2DOUBLE_PRECISION, F64_F64),
    TYPE(MPI_2INTEGER, I32_I32),
};

static const struct {
    MPI_Op mpi;
    unsigned code;
} ops[] = {
    {MPI_SUM, NOF_REDUCE_SUM},
    {MPI_MIN, NOF_REDUCE_MIN},
    {MPI_MAX, NOF_REDUCE_MAX},
    {MPI_PROD, NOF_REDUCE_PROD},
    {MPI_BAND, NOF_REDUCE_BAND},
    {MPI_BOR, NOF_REDUCE_BOR},
    {MPI_BXOR, NOF_REDUCE_BXOR},
    {MPI_LAND, NOF_REDUCE_LAND},
    {MPI_LOR, NOF_REDUCE_LOR},
    {MPI_LXOR, NOF_REDUCE_LXOR},
    {MPI_MINLOC, NOF_REDUCE_MINLOC},
    {MPI_MAXLOC, NOF_REDUCE_MAXLOC},
    {MPI_REPLACE, ~0u},
    {MPI_NO_OP, ~0u},
};

static void core_reduces(unsigned op, unsigned type)
{
    uint32_t bytes = nof_reduce_bytes(type), most = nof_reduce_most(type);
    for (uint32_t at = 0, n; at < COUNT; at += n) {
        n = COUNT - at < most ? COUNT - at : most;
        CHECK(nof_reduce(op, type, by_core + at * bytes, in + at * bytes, n) == NOF_OK);
    }
}

static void pair(size_t t, size_t o)
{
    static uint64_t seed = 1;
    unsigned type = types[t].code, op = ops[o].code;
    if (!nof_reduce_defined(op, type)) {
        FAILS(MPI_Reduce_local(in, by_mpi, COUNT, types[t].mpi, ops[o].mpi), MPI_ERR_OP);
        return;
    }
    MPI_Aint lb, extent;
    OK(MPI_Type_get_extent(types[t].mpi, &lb, &extent));
    CHECK(lb == 0 && extent == (MPI_Aint)nof_reduce_bytes(type));
    operands_fill(type, in, COUNT, &seed);
    operands_fill(type, by_mpi, COUNT, &seed);
    memcpy(by_core, by_mpi, sizeof(by_core));
    core_reduces(op, type);
    OK(MPI_Reduce_local(in, by_mpi, COUNT, types[t].mpi, ops[o].mpi));
    if (memcmp(by_mpi, by_core, sizeof(by_core)) != 0)
        fprintf(stderr, "operation %u on %s:\n", op, types[t].name);
    CHECK(memcmp(by_mpi, by_core, sizeof(by_core)) == 0);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv, 1);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
        for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
            pair(t, o);
    return t_end();
}
