/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of predefined datatypes. Apart from the rest, which GCC's headers keep from including mpi.h. */
#include <mpi.h>
#include <stdint.h>
#include <wchar.h>

#include "gcc_delta.h"

namespace
{
struct size {
    MPI_Datatype type;
    unsigned bytes;
};
} // namespace

unsigned delta_type_bytes(unsigned long long handle)
{
    static const size sizes[] = {
        {MPI_AINT, sizeof(MPI_Aint)},
        {MPI_COUNT, sizeof(MPI_Count)},
        {MPI_OFFSET, sizeof(MPI_Offset)},
        {MPI_PACKED, 1},
        {MPI_SHORT, sizeof(short)},
        {MPI_INT, sizeof(int)},
        {MPI_LONG, sizeof(long)},
        {MPI_LONG_LONG, sizeof(long long)},
        {MPI_UNSIGNED_SHORT, sizeof(short)},
        {MPI_UNSIGNED, sizeof(int)},
        {MPI_UNSIGNED_LONG, sizeof(long)},
        {MPI_UNSIGNED_LONG_LONG, sizeof(long long)},
        {MPI_FLOAT, sizeof(float)},
        {MPI_C_FLOAT_COMPLEX, 2 * sizeof(float)},
        {MPI_CXX_FLOAT_COMPLEX, 2 * sizeof(float)},
        {MPI_DOUBLE, sizeof(double)},
        {MPI_C_DOUBLE_COMPLEX, 2 * sizeof(double)},
        {MPI_CXX_DOUBLE_COMPLEX, 2 * sizeof(double)},
        {MPI_LONG_DOUBLE, sizeof(long double)},
        {MPI_C_BOOL, sizeof(bool)},
        {MPI_CXX_BOOL, sizeof(bool)},
        {MPI_WCHAR, sizeof(wchar_t)},
        {MPI_INT8_T, 1},
        {MPI_UINT8_T, 1},
        {MPI_CHAR, 1},
        {MPI_SIGNED_CHAR, 1},
        {MPI_UNSIGNED_CHAR, 1},
        {MPI_BYTE, 1},
        {MPI_INT16_T, 2},
        {MPI_UINT16_T, 2},
        {MPI_INT32_T, 4},
        {MPI_UINT32_T, 4},
        {MPI_INT64_T, 8},
        {MPI_UINT64_T, 8},
        {MPI_LOGICAL, 4},
        {MPI_INTEGER, 4},
        {MPI_REAL, 4},
        {MPI_COMPLEX, 8},
        {MPI_DOUBLE_PRECISION, 8},
        {MPI_DOUBLE_COMPLEX, 16},
        {MPI_CHARACTER, 1},
        {MPI_LOGICAL1, 1},
        {MPI_LOGICAL2, 2},
        {MPI_LOGICAL4, 4},
        {MPI_LOGICAL8, 8},
        {MPI_INTEGER1, 1},
        {MPI_INTEGER2, 2},
        {MPI_INTEGER4, 4},
        {MPI_INTEGER8, 8},
        {MPI_REAL4, 4},
        {MPI_REAL8, 8},
        {MPI_COMPLEX8, 8},
        {MPI_COMPLEX16, 16},
    };
    for (const size &entry : sizes)
        if ((unsigned long long)(uintptr_t)entry.type == handle)
            return entry.bytes;
    return 0;
}
