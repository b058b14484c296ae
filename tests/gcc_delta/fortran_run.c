/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the procedures of fortran.f90, and has what they call: requests are numbers here. */
#include "cases.h"

void counted(double *b, int n);
void columns_first(double *b, int m, int n);
void rows_first(double *b, int m);
void down(double *b, int n, const double *factor);
void sometimes(double *b, int n, const int *rank);
void stored_twice(double *b, int n);
void shortened(double *b, int n);
double used(double *b, int n);
double declared(int n);
void declared_send(int n);
double any_type(double *b, int n, const int *type);
double summed(double *b, int n);
void doubled(double *b, int n);

enum { REQUESTS_MAX = 8 };
static MPI_Request requests[REQUESTS_MAX];

MPI_Request MPI_Request_f2c(MPI_Fint request)
{
    return request > 0 && request <= REQUESTS_MAX ? requests[request - 1] : MPI_REQUEST_NULL;
}

static MPI_Datatype type_of(const int *type)
{
    return (MPI_Datatype)(uintptr_t)*type == MPI_DOUBLE_PRECISION ? MPI_DOUBLE : MPI_DATATYPE_NULL;
}

void mpix_delta_send_begin_(void *buf, int *count, int *type, int *dest, int *tag, int *comm, int *request,
                            int *ierr)
{
    int at = 0;
    (void)comm;
    while (requests[at])
        at++;
    *ierr = MPIX_Delta_send_begin(buf, *count, type_of(type), *dest, *tag, MPI_COMM_WORLD, &requests[at]);
    *request = at + 1;
}

void mpi_delta_send_begin_(void *buf, int *count, int *type, int *dest, int *tag, int *comm, int *request,
                           int *ierr)
{
    mpix_delta_send_begin_(buf, count, type, dest, tag, comm, request, ierr);
}

void mpix_delta_send_end_(int *request, int *ierr)
{
    *ierr = MPIX_Delta_send_end(&requests[*request - 1]);
}

void mpix_delta_send_end_count_(int *request, MPI_Count *count, int *ierr)
{
    *ierr = MPIX_Delta_send_end_count(&requests[*request - 1], *count);
}

void mpix_delta_wait_(int *request, int *status, int *ierr)
{
    (void)status;
    *ierr = MPIX_Delta_wait(&requests[*request - 1], MPI_STATUS_IGNORE);
    requests[*request - 1] = NULL;
    *request = 0;
}

void mpi_delta_wait_(int *request, int *status, int *ierr)
{
    mpix_delta_wait_(request, status, ierr);
}

void mpix_delta_recv_(void *buf, int *count, int *type, int *source, int *tag, int *comm, int *status,
                      int *ierr)
{
    (void)comm, (void)status;
    *ierr = MPIX_Delta_recv(buf, *count, type_of(type), *source, *tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#define CALL(name, percent, ...) RUN(called_##name, percent, 0, __VA_ARGS__)
#define CALLED(name, parameters, ...) \
    CASE double called_##name parameters \
    { \
        name(__VA_ARGS__); \
        return 0; \
    }
CALLED(counted, (double *b, int n), b, n)
CALLED(columns_first, (double *b, int m, int n), b, m, n)
CALLED(rows_first, (double *b, int m), b, m)
CALLED(down, (double *b, int n, const double *factor), b, n, factor)
CALLED(sometimes, (double *b, int n, const int *rank), b, n, rank)
CALLED(stored_twice, (double *b, int n), b, n)
CALLED(declared_send, (int n), n)
CALLED(shortened, (double *b, int n), b, n)
CALLED(doubled, (double *b, int n), b, n)

int main(int argc, char **argv)
{
    int one = 1, none = 0, type = (int)(uintptr_t)MPI_DOUBLE_PRECISION;
    double half = 0.5;
    begin_cases(argc, argv);
    CALL(counted, 95, memory[0], N);
    CALL(columns_first, 90, memory[0], 60, 100);
    CALL(rows_first, -1, memory[0], 100);
    CALL(down, 95, memory[0], N, &half);
    CALL(sometimes, 95, memory[0], N, &one);
    CALL(sometimes, -1, memory[0], N, &none);
    CALL(stored_twice, -1, memory[0], N);
    CALL(shortened, -1, memory[0], N);
    RUN(used, 0, 40, memory[0], N);
    RUN(declared, 0, 40, N);
    CALL(declared_send, 95, N);
    RUN(any_type, 0, 1, memory[0], N, &type);
    RUN(summed, 0, 40, memory[0], N);
    CALL(doubled, 90, memory[0], N);
    return 0;
}
