/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void enqueue(struct nof_sink *sink, const char *bytes, size_t n)
{
    if (sink->broken || n == 0)
        return;
    if (sink->fill + n > sink->cap) {
        size_t cap = (sink->fill + n) * 2;
        char *bigger = realloc(sink->queue, cap);

        if (bigger == NULL)
            return; /* output is lost rather than the job */
        sink->queue = bigger;
        sink->cap = cap;
    }
    memcpy(sink->queue + sink->fill, bytes, n);
    sink->fill += n;
}

bool nof_sink_full(const struct nof_sink *sink)
{
    return sink->fill >= NOF_SINK_QUEUE_MAX;
}

bool nof_sink_flush(struct nof_sink *sink)
{
    size_t done = 0;

    while (done < sink->fill) {
        struct pollfd p = {.fd = sink->fd, .events = POLLOUT};
        /* A pipe that polls writable takes PIPE_BUF bytes without blocking; O_NONBLOCK would be set for
         * everybody who shares our stdout. */
        size_t chunk = sink->fill - done < PIPE_BUF ? sink->fill - done : PIPE_BUF;
        ssize_t n;

        if (poll(&p, 1, 0) <= 0)
            break;
        n = write(sink->fd, sink->queue + done, chunk);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            sink->broken = true;
            sink->error = errno;
            done = sink->fill;
            break;
        }
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (done > 0)
        memmove(sink->queue, sink->queue + done, sink->fill - done);
    sink->fill -= done;
    return sink->fill == 0;
}

void nof_sink_close(struct nof_sink *sink)
{
    free(sink->queue);
    sink->queue = NULL;
    sink->fill = 0;
    sink->cap = 0;
}

static void emit(struct nof_stream *s, const char *bytes, size_t n)
{
    char label[24];

    if (!s->labelled) {
        enqueue(s->sink, bytes, n);
        return;
    }
    snprintf(label, sizeof(label), "[%u] ", s->rank);
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end != NULL ? (size_t)(end - bytes) + 1 : n;

        enqueue(s->sink, label, strlen(label));
        enqueue(s->sink, bytes, len);
        bytes += len;
        n -= len;
    }
}

static void emit_all(struct nof_stream *s)
{
    emit(s, s->line, s->fill);
    s->fill = 0;
    s->since_ns = 0;
}

void nof_stream_close(struct nof_stream *s)
{
    if (s->fd < 0)
        return;
    emit_all(s);
    free(s->line);
    s->line = NULL;
    close(s->fd);
    s->fd = -1;
}

static void emit_lines(struct nof_stream *s, uint64_t now_ns)
{
    const char *last;

    if (!s->whole_lines && !s->labelled) {
        emit_all(s);
        return;
    }
    last = memrchr(s->line, '\n', s->fill);
    if (last != NULL) {
        size_t len = (size_t)(last - s->line) + 1;

        emit(s, s->line, len);
        memmove(s->line, s->line + len, s->fill - len);
        s->fill -= len;
        s->since_ns = 0;
    }
    if (s->fill == NOF_STREAM_LINE_MAX)
        emit_all(s);
    if (s->fill > 0 && s->since_ns == 0)
        s->since_ns = now_ns;
}

void nof_stream_read(struct nof_stream *s, uint64_t now_ns)
{
    ssize_t n;

    if (s->line == NULL)
        s->line = malloc(NOF_STREAM_LINE_MAX);
    n = s->line != NULL ? read(s->fd, s->line + s->fill, NOF_STREAM_LINE_MAX - s->fill) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* Nobody reads our output: let the rank feel it, as if it wrote there itself (SIGPIPE). */
    if (n <= 0 || s->sink->broken) {
        nof_stream_close(s);
        return;
    }
    s->fill += (size_t)n;
    emit_lines(s, now_ns);
}

uint64_t nof_stream_expire(struct nof_stream *s, uint64_t now_ns)
{
    if (s->fd < 0 || s->since_ns == 0)
        return UINT64_MAX;
    if (now_ns < s->since_ns + NOF_STREAM_HOLD_NS)
        return s->since_ns + NOF_STREAM_HOLD_NS;
    emit_all(s);
    return UINT64_MAX;
}
