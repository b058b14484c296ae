/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delta_mock.h"

struct mock_send {
    const unsigned char *buf;
    size_t bytes, element;
    unsigned char *copy, *announced;
    int ended;
};

struct mock_recv {
    unsigned char *buf, *data, *arrived;
    size_t bytes, left;
};

enum { RECEIVES_MAX = 64 };

static struct mock_recv receives[RECEIVES_MAX];
static struct mock_counts counts;
static int lazy;

static void broken(const char *what)
{
    printf("broken claim: %s\n", what);
    exit(1);
}

static size_t message_bytes(int count, MPI_Datatype type)
{
    size_t size = 1;
    if (type == MPI_C_DOUBLE_COMPLEX || type == MPI_CXX_DOUBLE_COMPLEX || type == MPI_LONG_DOUBLE)
        size = 16;
    else if (type == MPI_DOUBLE || type == MPI_INT64_T)
        size = 8;
    else if (type == MPI_INT || type == MPI_FLOAT)
        size = 4;
    return (size_t)count * size;
}

void mock_lazy(int on)
{
    lazy = on;
}

double mock_sent(int tag, int i)
{
    return 1.0 + (double)((i * 7919 + tag * 104729) % 1009) / 64.0;
}

int MPIX_Delta_send_begin(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                          MPI_Request *request)
{
    (void)dest, (void)tag, (void)comm;
    *request = MPI_REQUEST_NULL;
    if (count < 0)
        return MPI_ERR_COUNT;
    struct mock_send *s = calloc(1, sizeof(*s));
    s->buf = buf;
    s->bytes = message_bytes(count, type);
    s->element = message_bytes(1, type);
    s->copy = calloc(1, s->bytes + 1);
    s->announced = calloc(1, s->bytes + 1);
    *request = (MPI_Request)s;
    return MPI_SUCCESS;
}

int MPIX_Delta_send_data(MPI_Request request, const void *address, MPI_Count bytes)
{
    struct mock_send *s = (struct mock_send *)request;
    const unsigned char *at = address;
    if (!s || s->ended)
        broken("announced outside of begin and end");
    if (at < s->buf || bytes < 1 || (size_t)(at - s->buf) + (size_t)bytes > s->bytes)
        broken("announced what is not of the message");
    size_t offset = (size_t)(at - s->buf);
    for (size_t i = offset; i < offset + (size_t)bytes; i++)
        if (s->announced[i]++)
            broken("announced twice");
    memcpy(s->copy + offset, at, (size_t)bytes);
    counts.announced_calls++;
    counts.announced_bytes += bytes;
    return MPI_SUCCESS;
}

static void compare(const struct mock_send *s)
{
    for (size_t i = 0; i < s->bytes; i++)
        if (s->announced[i] && s->buf[i] != s->copy[i])
            broken("written after it was announced");
}

int MPIX_Delta_send_end(MPI_Request *request)
{
    struct mock_send *s = (struct mock_send *)*request;
    if (*request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (s->ended++)
        return MPI_SUCCESS;
    compare(s);
    counts.sent_bytes += (long)s->bytes;
    for (size_t i = 0; i < s->bytes; i++)
        counts.sum = counts.sum * 31 + s->buf[i];
    return MPI_SUCCESS;
}

int MPIX_Delta_send_end_count(MPI_Request *request, MPI_Count count)
{
    struct mock_send *s = (struct mock_send *)*request;
    size_t bytes = (size_t)count * s->element;
    for (size_t i = bytes; i < s->bytes; i++)
        if (s->announced[i])
            broken("announced more than the message has");
    s->bytes = bytes;
    return MPIX_Delta_send_end(request);
}

int MPIX_Delta_wait(MPI_Request *request, MPI_Status *status)
{
    struct mock_send *s = (struct mock_send *)*request;
    (void)status;
    if (*request == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    MPIX_Delta_send_end(request);
    compare(s);
    free(s->copy);
    free(s->announced);
    free(s);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* Bytes [from, to) of a receive come. */
static void arrive(struct mock_recv *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (r->arrived[i])
            continue;
        r->arrived[i] = 1;
        r->buf[i] = r->data[i];
        r->left--;
        counts.waited_bytes++;
    }
    if (r->left > 0)
        return;
    free(r->data);
    free(r->arrived);
    memset(r, 0, sizeof(*r));
}

int MPIX_Delta_recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Status *status)
{
    (void)source, (void)comm, (void)status;
    struct mock_recv *r = receives;
    size_t bytes = message_bytes(count, type);
    while (r < receives + RECEIVES_MAX && r->buf)
        r++;
    if (r == receives + RECEIVES_MAX)
        broken("many receives that never come");
    r->buf = buf;
    r->bytes = r->left = bytes;
    r->data = malloc(bytes + 1);
    r->arrived = calloc(1, bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        r->data[i] = (unsigned char)(i * 11 + (size_t)tag);
    for (size_t i = 0; type == MPI_DOUBLE && i < bytes / sizeof(double); i++) {
        double value = mock_sent(tag, (int)i);
        memcpy(r->data + i * sizeof(double), &value, sizeof(value));
    }
    counts.received_bytes += (long)bytes;
    if (lazy)
        memset(buf, 0x5a, bytes);
    if (!lazy || bytes == 0)
        arrive(r, 0, bytes);
    return MPI_SUCCESS;
}

int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent)
{
    *lower = 0;
    *extent = (MPI_Aint)message_bytes(1, type);
    return MPI_SUCCESS;
}

int MPIX_Delta_wait_data(const void *address, MPI_Count bytes)
{
    uintptr_t low = (uintptr_t)address, high = low + (uintptr_t)bytes;
    counts.waits++;
    if (bytes < 0)
        broken("waited for nothing");
    for (struct mock_recv *r = receives; r < receives + RECEIVES_MAX; r++) {
        uintptr_t begin = (uintptr_t)r->buf, end = begin + r->bytes;
        if (r->buf && low < end && begin < high)
            arrive(r, (low > begin ? low : begin) - begin, (high < end ? high : end) - begin);
    }
    return MPI_SUCCESS;
}

int MPI_Delta_send_begin(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                         MPI_Request *request)
{
    return MPIX_Delta_send_begin(buf, count, type, dest, tag, comm, request);
}

int MPI_Delta_wait(MPI_Request *request, MPI_Status *status)
{
    return MPIX_Delta_wait(request, status);
}

struct mock_counts mock_take(void)
{
    struct mock_counts taken = counts;
    for (struct mock_recv *r = receives; r < receives + RECEIVES_MAX; r++)
        if (r->buf)
            broken("a function returned without its message");
    memset(&counts, 0, sizeof(counts));
    return taken;
}
