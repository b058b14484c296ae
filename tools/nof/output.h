/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of many ranks on one stream: whole lines, bytes unchanged, never blocking the event loop.
 *
 *   nof_stream_read()    what a rank's pipe holds -> whole lines -> queue of the sink
 *   nof_stream_expire()  a piece without newline that has waited long enough goes out as it is
 *   nof_sink_flush()     queue -> our own stdout or stderr, as far as it takes it
 *
 * A sink whose queue is full says so (nof_sink_full()): stop reading the ranks until it drains, so that
 * they feel the back-pressure they would feel without us. Threads: one. */
#ifndef NOF_OUTPUT_H
#define NOF_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_STREAM_LINE_MAX (64u * 1024) /* a longer line is cut */
#define NOF_SINK_QUEUE_MAX (1024u * 1024)
#define NOF_STREAM_HOLD_NS 200000000u /* a prompt waits this long for its newline */

struct nof_sink {
    int fd;
    bool broken; /* nobody reads any more (EPIPE), or it cannot be written */
    int error; /* errno of the write that failed; 0: none did */
    char *queue;
    size_t fill, cap;
};

struct nof_stream {
    int fd; /* -1: ended */
    struct nof_sink *sink;
    bool whole_lines;
    bool labelled;
    unsigned rank;
    char *line;
    size_t fill;
    uint64_t since_ns; /* first byte of the unfinished line; 0: none */
};

/* Reads once; closes fd at the end. */
void nof_stream_read(struct nof_stream *stream, uint64_t now_ns);
/* Returns when to call again, UINT64_MAX: nothing waits. */
uint64_t nof_stream_expire(struct nof_stream *stream, uint64_t now_ns);
void nof_stream_close(struct nof_stream *stream);

bool nof_sink_full(const struct nof_sink *sink);
/* Without waiting; true when the queue is empty now. */
bool nof_sink_flush(struct nof_sink *sink);
void nof_sink_close(struct nof_sink *sink);

#endif
