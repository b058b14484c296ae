/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of `nof bench delta`, and the table of them and of its patterns. They are after those of the paper (section III.A):
 * what they exchange and in which order, with computing that takes as long as so many pages of the patterns.
 *
 *   hycom   row sums of a 2D array whose columns are dealt over the tasks: the reduce of delta_patterns.h, a row a number
 *   lu      a sweep over a grid of tasks: a block of 16 planes of 16 x 16 points, which needs the faces of the blocks north and west of
 *           it, plane by plane, and makes its own, of 5 doubles a point: 10 KiB each
 *   mg      a stencil over a torus of tasks in three dimensions: 16 planes, then the six faces of 64 KiB go to the neighbours, an
 *           axis after the other. Each plane makes a page of both faces of the first axis; those of the others are
 *           packed at the end
 *
 * Forms: original; DELTA_NONBLOCKING, overlapped by hand, as Danalis et al. do it: receives are posted before all computing, and sends do
 * not wait for each other; DELTA_INCREMENTS. */
#ifndef NOF_BENCH_PROGRAMS_DELTA_KERNELS_H
#define NOF_BENCH_PROGRAMS_DELTA_KERNELS_H

#include "delta_patterns.h"

#define LU_PLANES 16u
#define LU_LINE_BYTES (16u * 5u * (unsigned)sizeof(double)) /* of a face, in a plane */
#define LU_FACE_BYTES (LU_PLANES * LU_LINE_BYTES)
#define LU_PADDED_BYTES 12288u /* whole pages, which can be watched */
#define MG_PLANES 16u
#define MG_FACE_BYTES (MG_PLANES * DELTA_PAGE)
#define MG_AXES 3
#define MG_FACES (2 * MG_AXES)

/* Computing: 200 ns a point of lu, 0.9 ms a plane of mg, where a page of the patterns takes 91.2 us. */
static int64_t delta_lu_plane_ns(const struct delta *d)
{
    return d->page_ns * 14 / 25;
}

static int64_t delta_mg_plane_ns(const struct delta *d)
{
    return d->page_ns * 10;
}

static uint32_t delta_mark(int task, unsigned face, unsigned plane)
{
    return delta_own(((size_t)task * MG_FACES + face) * 64 + plane);
}

static void delta_write_line(uint32_t *face, size_t at, size_t bytes, uint32_t mark)
{
    delta_touch((char *)face + at, bytes, true);
    for (size_t i = at / sizeof(*face); i < (at + bytes) / sizeof(*face); i++)
        face[i] = mark + (uint32_t)i;
}

static void delta_read_line(const uint32_t *face, size_t at, size_t bytes, uint32_t mark)
{
    delta_touch((const char *)face + at, bytes, false);
    for (size_t i = at / sizeof(*face); i < (at + bytes) / sizeof(*face); i++)
        if (face[i] != mark + (uint32_t)i)
            delta_fail("a face is not what was sent");
}

/* The task there in the grid of lu, columns tasks wide. */
static int delta_lu_neighbour(const struct delta *d, int columns, int down, int right)
{
    int row = d->rank / columns + down, column = d->rank % columns + right;

    return row < 0 || row >= d->tasks / columns || column < 0 || column >= columns ? MPI_PROC_NULL
                                                                                   : row * columns + column;
}

static int delta_lu_columns(int tasks)
{
    int rows = 1;

    for (int n = 1; n * n <= tasks; n++)
        if (tasks % n == 0)
            rows = n;
    return tasks / rows;
}

static void delta_lu_compute(const struct delta *d, const int from[2], const MPI_Request sent[2])
{
    delta_begin_computing();
    for (unsigned plane = 0; plane < LU_PLANES; plane++) {
        size_t at = (size_t)plane * LU_LINE_BYTES;

        for (unsigned k = 0; k < 2; k++) {
            if (from[k] == MPI_PROC_NULL)
                continue;
            delta_await(d, (char *)d->in[k] + at, LU_LINE_BYTES);
            delta_read_line(d->in[k], at, LU_LINE_BYTES, delta_mark(from[k], k, plane));
        }
        delta_compute(delta_lu_plane_ns(d));
        for (unsigned k = 0; k < 2; k++) {
            delta_write_line(d->out[k], at, LU_LINE_BYTES, delta_mark(d->rank, k, plane));
            delta_tell(d, sent[k], (char *)d->out[k] + at, LU_LINE_BYTES);
        }
    }
}

static void delta_lu(const struct delta *d)
{
    int columns = delta_lu_columns(d->tasks);
    int from[2] = {delta_lu_neighbour(d, columns, -1, 0), delta_lu_neighbour(d, columns, 0, -1)};
    int to[2] = {delta_lu_neighbour(d, columns, 1, 0), delta_lu_neighbour(d, columns, 0, 1)};
    size_t bytes = d->form == DELTA_INCREMENTS && d->by_os ? LU_PADDED_BYTES : LU_FACE_BYTES;
    MPI_Request got[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, sent[2];

    for (int k = 0; k < 2; k++)
        if (from[k] != MPI_PROC_NULL)
            delta_receive(d, d->in[k], bytes, from[k], DELTA_TAG, &got[k]);
    DELTA_OK(MPI_Waitall(2, got, MPI_STATUSES_IGNORE));
    for (int k = 0; k < 2; k++)
        sent[k] = delta_begin_send(d, d->out[k], bytes, to[k], DELTA_TAG);
    delta_lu_compute(d, from, sent);
    for (int k = 0; k < 2; k++)
        delta_send_rest(d, d->out[k], bytes, to[k], DELTA_TAG, &sent[k]);
    delta_wait_sent(d, 2, sent);
    for (int k = 0; k < 2; k++)
        if (from[k] != MPI_PROC_NULL)
            delta_received(d, d->in[k]);
}

/* How many tasks an axis has: 16 are 4 x 2 x 2. */
static void delta_mg_shape(int tasks, int shape[MG_AXES])
{
    for (int axis = 0; axis < MG_AXES; axis++)
        shape[axis] = 1;
    for (int axis = 0; tasks > 1; axis = (axis + 1) % MG_AXES) {
        int n = tasks % 2 == 0 ? 2 : tasks;

        shape[axis] *= n;
        tasks /= n;
    }
}

static int delta_mg_neighbour(const struct delta *d, int axis, int step)
{
    int shape[MG_AXES], stride = 1;

    delta_mg_shape(d->tasks, shape);
    for (int i = 0; i < axis; i++)
        stride *= shape[i];
    int here = d->rank / stride % shape[axis];
    return d->rank + ((here + step + shape[axis]) % shape[axis] - here) * stride;
}

/* Face 2 * axis goes down the axis, the next one up. */
static int delta_mg_to(const struct delta *d, int face)
{
    return delta_mg_neighbour(d, face / 2, face % 2 == 0 ? -1 : 1);
}

static int delta_mg_from(const struct delta *d, int face)
{
    return delta_mg_neighbour(d, face / 2, face % 2 == 0 ? 1 : -1);
}

static void delta_mg_compute(const struct delta *d, const MPI_Request sent[2])
{
    delta_begin_computing();
    for (unsigned plane = 0; plane < MG_PLANES; plane++) {
        size_t at = (size_t)plane * DELTA_PAGE;

        delta_compute(delta_mg_plane_ns(d));
        for (unsigned face = 0; face < 2; face++) {
            delta_write_line(d->out[face], at, DELTA_PAGE, delta_mark(d->rank, face, plane));
            delta_tell(d, sent[face], (char *)d->out[face] + at, DELTA_PAGE);
        }
    }
    for (unsigned face = 2; face < MG_FACES; face++)
        for (unsigned plane = 0; plane < MG_PLANES; plane++)
            delta_write_line(d->out[face], (size_t)plane * DELTA_PAGE, DELTA_PAGE,
                             delta_mark(d->rank, face, plane));
}

/* As the program that the kernel is of: receives are posted, then both faces are sent, then both are there. */
static void delta_mg_exchange(const struct delta *d, int axis)
{
    MPI_Request got[2];

    for (int i = 0; i < 2; i++)
        DELTA_OK(MPI_Irecv(d->in[2 * axis + i], (int)MG_FACE_BYTES, MPI_BYTE, delta_mg_from(d, 2 * axis + i),
                           DELTA_TAG + i, MPI_COMM_WORLD, &got[i]));
    for (int i = 0; i < 2; i++)
        DELTA_OK(MPI_Send(d->out[2 * axis + i], (int)MG_FACE_BYTES, MPI_BYTE, delta_mg_to(d, 2 * axis + i),
                          DELTA_TAG + i, MPI_COMM_WORLD));
    DELTA_OK(MPI_Waitall(2, got, MPI_STATUSES_IGNORE));
}

static void delta_mg_at_once(const struct delta *d)
{
    MPI_Request got[MG_FACES], sent[MG_FACES], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    for (int face = 0; face < MG_FACES; face++)
        DELTA_OK(MPI_Irecv(d->in[face], (int)MG_FACE_BYTES, MPI_BYTE, delta_mg_from(d, face),
                           DELTA_TAG + face, MPI_COMM_WORLD, &got[face]));
    delta_mg_compute(d, none);
    for (int face = 0; face < MG_FACES; face++)
        DELTA_OK(MPI_Isend(d->out[face], (int)MG_FACE_BYTES, MPI_BYTE, delta_mg_to(d, face), DELTA_TAG + face,
                           MPI_COMM_WORLD, &sent[face]));
    DELTA_OK(MPI_Waitall(MG_FACES, got, MPI_STATUSES_IGNORE));
    DELTA_OK(MPI_Waitall(MG_FACES, sent, MPI_STATUSES_IGNORE));
}

/* The first axis in increments. */
static void delta_mg_in_parts(const struct delta *d)
{
    MPI_Request got, sent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    for (int face = 0; d->form == DELTA_INCREMENTS && face < 2; face++)
        delta_receive(d, d->in[face], MG_FACE_BYTES, delta_mg_from(d, face), DELTA_TAG + 2 + face, &got);
    for (int face = 0; d->form == DELTA_INCREMENTS && face < 2; face++)
        sent[face] =
            delta_begin_send(d, d->out[face], MG_FACE_BYTES, delta_mg_to(d, face), DELTA_TAG + 2 + face);
    delta_mg_compute(d, sent);
    for (int face = 0; d->form == DELTA_INCREMENTS && face < 2; face++)
        DELTA_OK(MPIX_Delta_send_end(&sent[face]));
    for (int axis = d->form == DELTA_INCREMENTS ? 1 : 0; axis < MG_AXES; axis++)
        delta_mg_exchange(d, axis);
    delta_wait_sent(d, 2, sent);
    for (int face = 0; face < 2; face++)
        delta_received(d, d->in[face]);
}

static void delta_mg(const struct delta *d)
{
    if (d->form == DELTA_NONBLOCKING)
        delta_mg_at_once(d);
    else
        delta_mg_in_parts(d);
    for (unsigned face = 0; face < MG_FACES; face++)
        for (unsigned plane = 0; plane < MG_PLANES; plane++)
            delta_read_line(d->in[face], (size_t)plane * DELTA_PAGE, DELTA_PAGE,
                            delta_mark(delta_mg_from(d, (int)face), face, plane));
}

static const struct delta_pattern delta_patterns[] = {
    {"pair", delta_cascade, DELTA_BLOCKING}, {"cascade", delta_cascade, DELTA_BLOCKING},
    {"ring", delta_ring, DELTA_NONBLOCKING}, {"reduce", delta_reduce, DELTA_BLOCKING},
    {"hycom", delta_reduce, DELTA_BLOCKING}, {"lu", delta_lu, DELTA_BLOCKING},
    {"mg", delta_mg, DELTA_BLOCKING},
};
#define DELTA_PATTERNS ((int)(sizeof(delta_patterns) / sizeof(delta_patterns[0])))

#endif
