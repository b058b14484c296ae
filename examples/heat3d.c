/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heat in a cube, by many ranks: a plain MPI program.
 *
 * The cube of N x N x N cells is cut into blocks, one a rank. In every step a rank exchanges the outermost
 * layer of its block with its six neighbours (the halo), then each cell takes a part of what its neighbours
 * have more. One wall is hot, the others are cold. Every tenth step all ranks agree on the residual, the
 * largest change of any cell.
 *
 * At the end rank 0 computes the whole cube once more by itself and compares every cell, bit for bit. The
 * answer's checksum does not depend on the number of ranks or on how they lie on hosts.
 *
 *   nof run --hosts 4 -n 8 heat3d [--size N] [--steps S]
 *
 * Exit status: 0 same answer, 1 another answer, 2 bad arguments. */
#include <argp.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESIDUAL_EVERY_STEPS 10
/* Below 1/6 the explicit scheme is stable. */
#define DIFFUSION 0.125

enum { X, Y, Z, AXES };
enum { LOW, HIGH, SIDES };

struct options {
    int size_cells;
    int steps;
    int leave; /* 0: go on; otherwise every rank leaves with exit status leave - 1 */
};

/* A box of cells with one layer of halo around it; cell (0, 0, 0) of the box is `first` of the cube. */
struct block {
    int first[AXES];
    int cells[AXES]; /* without the halo */
    int neighbour[AXES][SIDES];
    MPI_Datatype face[AXES];
    double *now;
    double *next;
};

static size_t block_index(const struct block *b, int x, int y, int z)
{
    size_t ny = (size_t)b->cells[Y] + 2;
    size_t nz = (size_t)b->cells[Z] + 2;

    return ((size_t)x * ny + (size_t)y) * nz + (size_t)z;
}

static size_t block_cells(const struct block *b)
{
    return (size_t)b->cells[X] * (size_t)b->cells[Y] * (size_t)b->cells[Z];
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "heat3d: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

/* Splits `ranks` into three factors with the least cut surface, which is the traffic; of equal ones the one
 * that cuts along x, where a layer is contiguous. */
static void choose_dims(int ranks, int dims[AXES])
{
    int best = -1;

    for (int x = 1; x <= ranks; x++) {
        for (int y = 1; ranks % x == 0 && y <= ranks / x; y++) {
            int z = ranks / x / y;
            int surface = x * y + y * z + z * x;

            if (x * y * z != ranks || (best >= 0 && surface > best))
                continue;
            best = surface;
            dims[X] = x;
            dims[Y] = y;
            dims[Z] = z;
        }
    }
}

/* Cells [first, first + count) of an axis for the `index`-th of `parts`; the first parts take the rest. */
static void split_axis(int size, int parts, int index, int *first, int *count)
{
    int base = size / parts;
    int rest = size % parts;

    *first = index * base + (index < rest ? index : rest);
    *count = base + (index < rest);
}

static int rank_of(const int dims[AXES], const int at[AXES])
{
    for (int axis = 0; axis < AXES; axis++) {
        if (at[axis] < 0 || at[axis] >= dims[axis])
            return MPI_PROC_NULL;
    }
    return (at[X] * dims[Y] + at[Y]) * dims[Z] + at[Z];
}

/* The place of `rank` in the cube: which cells, which neighbours. */
static void block_place(struct block *b, int size, const int dims[AXES], int rank)
{
    int at[AXES] = {rank / (dims[Y] * dims[Z]), rank / dims[Z] % dims[Y], rank % dims[Z]};

    for (int axis = 0; axis < AXES; axis++) {
        split_axis(size, dims[axis], at[axis], &b->first[axis], &b->cells[axis]);
        for (int side = LOW; side <= HIGH; side++) {
            int next_to[AXES] = {at[X], at[Y], at[Z]};

            next_to[axis] += side == HIGH ? 1 : -1;
            b->neighbour[axis][side] = rank_of(dims, next_to);
        }
    }
}

/* A warm drop off the centre; any formula does that gives each cell of the cube the same bits everywhere. */
static double initial_heat(int size, int x, int y, int z)
{
    double dx = (double)(3 * x - size), dy = (double)(2 * y - size), dz = (double)(2 * z - size);

    return 1.0 / (1.0 + (dx * dx + dy * dy + dz * dz) / (double)size);
}

static void block_fill(struct block *b, int size)
{
    size_t with_halo = block_index(b, b->cells[X] + 1, b->cells[Y] + 1, b->cells[Z] + 1) + 1;

    b->now = calloc(with_halo, sizeof(*b->now));
    b->next = calloc(with_halo, sizeof(*b->next));
    if (!b->now || !b->next)
        give_up("out of memory");
    for (int x = 0; x < b->cells[X] + 2; x++) {
        for (int y = 0; y < b->cells[Y] + 2; y++) {
            for (int z = 0; z < b->cells[Z] + 2; z++) {
                int gx = b->first[X] + x - 1, gy = b->first[Y] + y - 1, gz = b->first[Z] + z - 1;
                bool wall = gx < 0 || gy < 0 || gz < 0 || gx >= size || gy >= size || gz >= size;
                double heat = wall ? (gx < 0 ? 1.0 : 0.0) : initial_heat(size, gx, gy, gz);

                b->now[block_index(b, x, y, z)] = heat;
                b->next[block_index(b, x, y, z)] = heat;
            }
        }
    }
}

/* One layer of the block, halo of the other axes included: contiguous across x, strided across y and z. */
static void block_types(struct block *b)
{
    int nx = b->cells[X] + 2, ny = b->cells[Y] + 2, nz = b->cells[Z] + 2;

    MPI_Type_contiguous(ny * nz, MPI_DOUBLE, &b->face[X]);
    MPI_Type_vector(nx, nz, ny * nz, MPI_DOUBLE, &b->face[Y]);
    MPI_Type_vector(nx * ny, 1, nz, MPI_DOUBLE, &b->face[Z]);
    for (int axis = 0; axis < AXES; axis++)
        MPI_Type_commit(&b->face[axis]);
}

static void block_free(struct block *b)
{
    free(b->now);
    free(b->next);
}

/* Sends the outermost cells to the neighbours and takes theirs into the halo. */
static void exchange_halo(struct block *b)
{
    MPI_Request pending[2 * AXES * SIDES];
    int n = 0;

    for (int axis = 0; axis < AXES; axis++) {
        for (int side = LOW; side <= HIGH; side++) {
            int halo[AXES] = {0, 0, 0}, own[AXES] = {0, 0, 0};
            int peer = b->neighbour[axis][side];

            halo[axis] = side == LOW ? 0 : b->cells[axis] + 1;
            own[axis] = side == LOW ? 1 : b->cells[axis];
            /* The tag names the face as the sender sees it. */
            MPI_Irecv(&b->now[block_index(b, halo[X], halo[Y], halo[Z])], 1, b->face[axis], peer,
                      2 * axis + !side, MPI_COMM_WORLD, &pending[n++]);
            MPI_Isend(&b->now[block_index(b, own[X], own[Y], own[Z])], 1, b->face[axis], peer,
                      2 * axis + side, MPI_COMM_WORLD, &pending[n++]);
        }
    }
    MPI_Waitall(n, pending, MPI_STATUSES_IGNORE);
}

/* One step of all cells of the block; returns the largest change. */
static double step(struct block *b)
{
    size_t across_x = block_index(b, 1, 0, 0), across_y = block_index(b, 0, 1, 0);
    double largest = 0.0;
    double *swap;

    for (int x = 1; x <= b->cells[X]; x++) {
        for (int y = 1; y <= b->cells[Y]; y++) {
            for (int z = 1; z <= b->cells[Z]; z++) {
                const double *c = &b->now[block_index(b, x, y, z)];
                double around =
                    ((c[across_x] + *(c - across_x)) + (c[across_y] + *(c - across_y))) + (c[1] + *(c - 1));
                double change = DIFFUSION * (around - 6.0 * c[0]);

                b->next[block_index(b, x, y, z)] = c[0] + change;
                change = change < 0 ? -change : change;
                largest = change > largest ? change : largest;
            }
        }
    }
    swap = b->now;
    b->now = b->next;
    b->next = swap;
    return largest;
}

/* The cells without the halo, one after another; caller frees. */
static double *pack(const struct block *b)
{
    double *out = malloc(block_cells(b) * sizeof(*out));
    size_t row = (size_t)b->cells[Z];
    size_t n = 0;

    if (!out)
        give_up("out of memory");
    for (int x = 1; x <= b->cells[X]; x++) {
        for (int y = 1; y <= b->cells[Y]; y++, n += row)
            memcpy(&out[n], &b->now[block_index(b, x, y, 1)], row * sizeof(*out));
    }
    return out;
}

/* A sum over all cells of a mix of place and bits: the same in whatever order, by however many ranks. */
static uint64_t checksum(const struct block *b, int size)
{
    uint64_t sum = 0;

    for (int x = 1; x <= b->cells[X]; x++) {
        for (int y = 1; y <= b->cells[Y]; y++) {
            for (int z = 1; z <= b->cells[Z]; z++) {
                uint64_t plane = (uint64_t)(b->first[X] + x - 1) * (uint64_t)size;
                uint64_t place = (plane + (uint64_t)(b->first[Y] + y - 1)) * (uint64_t)size;
                uint64_t bits;

                memcpy(&bits, &b->now[block_index(b, x, y, z)], sizeof(bits));
                /* Odd multipliers (golden ratio, and one of Steele and Vigna's) spread place and bits. */
                bits ^= (place + (uint64_t)(b->first[Z] + z - 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
                bits ^= bits >> 32;
                bits *= UINT64_C(0xd1342543de82ef95);
                sum += bits ^ bits >> 29;
            }
        }
    }
    return sum;
}

/* Cells of `theirs` (a packed block) that differ in any bit from the serial answer. */
static size_t differing_cells(const struct block *serial, const struct block *theirs, const double *cells)
{
    size_t n = 0, wrong = 0;

    for (int x = 1; x <= theirs->cells[X]; x++) {
        for (int y = 1; y <= theirs->cells[Y]; y++) {
            for (int z = 1; z <= theirs->cells[Z]; z++, n++) {
                size_t at =
                    block_index(serial, theirs->first[X] + x, theirs->first[Y] + y, theirs->first[Z] + z);

                wrong += memcmp(&serial->now[at], &cells[n], sizeof(cells[n])) != 0;
            }
        }
    }
    return wrong;
}

/* Rank 0 only: computes the cube alone, then compares every rank's block with it, as they come. */
static size_t compare_with_serial(const struct options *opt, const int dims[AXES], const double *mine)
{
    const int one[AXES] = {1, 1, 1};
    struct block serial;
    size_t wrong = 0;

    block_place(&serial, opt->size_cells, one, 0);
    block_fill(&serial, opt->size_cells);
    for (int i = 0; i < opt->steps; i++)
        step(&serial);
    for (int rank = 0; rank < dims[X] * dims[Y] * dims[Z]; rank++) {
        struct block theirs;

        block_place(&theirs, opt->size_cells, dims, rank);
        if (rank == 0) {
            wrong += differing_cells(&serial, &theirs, mine);
            continue;
        }
        double *cells = malloc(block_cells(&theirs) * sizeof(*cells));
        if (!cells)
            give_up("out of memory");
        MPI_Recv(cells, (int)block_cells(&theirs), MPI_DOUBLE, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += differing_cells(&serial, &theirs, cells);
        free(cells);
    }
    block_free(&serial);
    return wrong;
}

/* All steps of this rank's block; returns the residual that all ranks agreed on last. */
static double solve(struct block *b, int steps)
{
    double residual = 0.0;

    for (int i = 1; i <= steps; i++) {
        exchange_halo(b);
        double largest = step(b);
        if (i % RESIDUAL_EVERY_STEPS == 0 || i == steps)
            MPI_Allreduce(&largest, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    return residual;
}

static int run(const struct options *opt, int rank, int ranks)
{
    struct block b;
    int dims[AXES] = {1, 1, 1};
    uint64_t wrong = 0;

    choose_dims(ranks, dims);
    block_place(&b, opt->size_cells, dims, rank);
    block_fill(&b, opt->size_cells);
    block_types(&b);

    double began = MPI_Wtime();
    double residual = solve(&b, opt->steps);
    double took = MPI_Wtime() - began, slowest = 0;
    uint64_t part = checksum(&b, opt->size_cells), sum = 0;
    MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&part, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);

    double *cells = pack(&b);
    if (rank == 0)
        wrong = compare_with_serial(opt, dims, cells);
    else
        MPI_Send(cells, (int)block_cells(&b), MPI_DOUBLE, 0, 99, MPI_COMM_WORLD);
    MPI_Bcast(&wrong, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);

    if (rank == 0) {
        printf("heat3d: %d^3 cells, %d steps\n", opt->size_cells, opt->steps);
        printf("  ranks      %d as %d x %d x %d\n", ranks, dims[X], dims[Y], dims[Z]);
        printf("  residual   %.17g\n", residual);
        printf("  checksum   %016llx\n", (unsigned long long)sum);
        printf("  serial     %s (%llu cells differ)\n", wrong ? "ANOTHER ANSWER" : "same answer",
               (unsigned long long)wrong);
        printf("  time       %.3f s\n", slowest);
    }
    for (int axis = 0; axis < AXES; axis++)
        MPI_Type_free(&b.face[axis]);
    free(cells);
    block_free(&b);
    return wrong ? 1 : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *opt = state->input;
    char *end;
    long value;

    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC);
        opt->leave = 1 + 0;
        return 0;
    case 'N':
    case 's':
        value = strtol(arg, &end, 10);
        if (*end != '\0' || end == arg || value < 1 || value > 1000000) {
            argp_error(state, "'%s' is no number from 1 to 1000000", arg);
            return EINVAL;
        }
        *(key == 'N' ? &opt->size_cells : &opt->steps) = (int)value;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "there is nothing to do with '%s'", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Rank 0 reads the command line, prints what is wrong with it, and tells all the others. */
static void read_options(struct options *opt, int rank, int ranks, int argc, char **argv)
{
    static const struct argp_option known[] = {
        {"size", 'N', "N", 0, "cells along each side of the cube, at most 1024 (96)", 0},
        {"steps", 's', "S", 0, "time steps (100)", 0},
        {"help", 'h', NULL, 0, "print this list", 0},
        {0},
    };
    static const struct argp parser = {
        .options = known,
        .parser = parse_option,
        .doc = "Heat in a cube by many MPI ranks, checked against the serial answer.",
    };
    int dims[AXES] = {1, 1, 1};
    int values[3];

    if (rank == 0) {
        if (argp_parse(&parser, argc, argv, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, opt) != 0)
            opt->leave = 1 + 2;
        choose_dims(ranks, dims);
        /* x has the most parts: choose_dims prefers it. */
        if (!opt->leave && (dims[X] > opt->size_cells || opt->size_cells > 1024)) {
            fprintf(stderr, "heat3d: %d^3 cells do not split over %d ranks; try --size with %d to 1024\n",
                    opt->size_cells, ranks, dims[X]);
            opt->leave = 1 + 2;
        }
    }
    values[0] = opt->size_cells;
    values[1] = opt->steps;
    values[2] = opt->leave;
    MPI_Bcast(values, 3, MPI_INT, 0, MPI_COMM_WORLD);
    opt->size_cells = values[0];
    opt->steps = values[1];
    opt->leave = values[2];
}

int main(int argc, char **argv)
{
    struct options opt = {.size_cells = 96, .steps = 100};
    int rank, ranks, status;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    read_options(&opt, rank, ranks, argc, argv);
    status = opt.leave ? opt.leave - 1 : run(&opt, rank, ranks);
    MPI_Finalize();
    return status;
}
