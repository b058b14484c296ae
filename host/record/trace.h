/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of this rank, DIR/rankN.recv, rankN.msg and rankN.coll (docs/RECORDING.md), and its tally.
 *
 *   nof_trace_open()   before anything else; may be called again
 *   nof_trace_recv(), nof_trace_msg(), nof_trace_coll()   whole records, in order
 *   nof_trace_flush()  at the end
 *
 * A file holds whole records whatever happens: one that cannot be written any more is cut behind the last whole one,
 * and the rank runs on. All files together stay within the bound; what reaches it first ends its file there.
 * Threads: the caller serialises. */
#ifndef NOF_RECORD_TRACE_H
#define NOF_RECORD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nof_private/recording.h"

/* One receive call that is known. */
struct nof_trace_call {
    uint64_t site;
    uint64_t len_bytes;
    int32_t source, tag;
    uint32_t comm;
};

/* False: this process is not to be recorded. */
bool nof_trace_open(void);
void nof_trace_recv(const struct nof_trace_call *call);
/* False, and nothing else to do, if a message of so many bytes is not wanted; counted. */
bool nof_trace_wants_msg(uint64_t len_bytes);
void nof_trace_msg(int32_t destination, const void *payload, uint32_t len_bytes);
/* A collective: text, of whole lines. */
void nof_trace_coll(const char *text, size_t len_bytes);
void nof_trace_flush(void);
/* Did this process open it? A child that was forked has a copy of what is not written yet, and must leave it. */
bool nof_trace_is_mine(void);
/* Never NULL. */
struct nof_recording_tally *nof_trace_tally(void);

#endif
