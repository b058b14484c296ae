/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI test programs share. A program asserts one behaviour, runs on any number of ranks
 * that main() names, prints nothing when all is well and ends with 0; 77 skips with a reason. It
 * compiles with any MPI library (MPICH validates the tests themselves), unless it says otherwise. */
#ifndef NOF_MPITEST_H
#define NOF_MPITEST_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int t_rank, t_size;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: rank %d: failed: %s\n", __FILE__, __LINE__, t_rank, #condition); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

/* An MPI call that must succeed. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

static inline int t_class(int code)
{
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* An MPI call that must fail with this class (error handlers are set to return). */
#define FAILS(call, error_class) \
    do { \
        int t_code = (call); \
        if (t_class(t_code) != (error_class)) { \
            fprintf(stderr, "%s:%d: rank %d: %s gave class %d, not %s\n", __FILE__, __LINE__, t_rank, #call, \
                    t_class(t_code), #error_class); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

/* A counter of the library (MPI_T), by its name without "library.". */
static inline unsigned long long t_counted(MPI_T_pvar_session session, const char *what)
{
    unsigned long long value;
    char name[64];
    int index, n;
    MPI_T_pvar_handle handle;
    snprintf(name, sizeof(name), "library.%s", what);
    OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &n));
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
    return value;
}

static inline void t_begin(int *argc, char ***argv, int least_ranks)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (t_size < least_ranks) {
        if (t_rank == 0)
            fprintf(stderr, "skipped: needs %d ranks, there are %d\n", least_ranks, t_size);
        MPI_Finalize();
        exit(77);
    }
}

static inline int t_end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

static inline void t_errors_return(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* Reproducible random numbers: the seed is part of the test. */
static inline uint64_t t_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Which form of a collective comes next: all ranks draw alike as long as they call as often since t_forms was the same. */
static uint64_t t_forms = 7;
static inline int t_form(void)
{
    return (int)(t_random(&t_forms) % 3);
}

/* A collective at once, with a request, or persistent. */
#define COLL(ifunction, function, ...) \
    do { \
        MPI_Request t_req; \
        switch (t_form()) { \
        case 0: \
            OK(MPI_##function(__VA_ARGS__)); \
            break; \
        case 1: \
            OK(MPI_##ifunction(__VA_ARGS__, &t_req)); \
            OK(MPI_Wait(&t_req, MPI_STATUS_IGNORE)); \
            break; \
        default: \
            OK(MPI_##function##_init(__VA_ARGS__, MPI_INFO_NULL, &t_req)); \
            OK(MPI_Start(&t_req)); \
            OK(MPI_Wait(&t_req, MPI_STATUS_IGNORE)); \
            OK(MPI_Request_free(&t_req)); \
        } \
    } while (0)

/* Byte i of message `id`: recomputed by the receiver. */
static inline unsigned char t_byte(uint64_t id, size_t i)
{
    return (unsigned char)((id * 0x9e3779b97f4a7c15u >> 32) + i * 131u + (i >> 8));
}

static inline void t_fill(void *buf, size_t len, uint64_t id)
{
    unsigned char *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = t_byte(id, i);
}

static inline int t_verify(const void *buf, size_t len, uint64_t id)
{
    const unsigned char *p = buf;
    for (size_t i = 0; i < len; i++)
        if (p[i] != t_byte(id, i))
            return 0;
    return 1;
}

#endif
