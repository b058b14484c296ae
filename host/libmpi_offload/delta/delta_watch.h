/* SPDX-License-Identifier: BSD-3-Clause */
/* OS triggering: the pages of a buffer say themselves when they are written, or read too early.
 *
 *   send   all whole pages are guarded; a fault in one part of the message means that this thread has done with the part it
 *          wrote before, which is guarded again, then announced: what writes there once more is found out. Functions of
 *          the C library go to and fro: what one call has written waits for a fault of another, but for what lies far
 *          behind where a call that copies has come to, and before its first page. The ends, which share their pages with
 *          other data, are announced at the end
 *   recv   the NIC writes to a shadow; the buffer is hidden, and pages that have come are put into their place, as a whole,
 *          by a fault or at the end. The ends come before the receive returns
 *
 * The handler of SIGSEGV touches boards, pages and futexes alone: no lock of the library, no memory, no progress; it waits for what
 * the NIC brings, and where that needs this process's doing, a thread of the library does it (delta_poll.h). Faults that are not
 * ours go to the handler that was there.
 *
 * Set-up and ends: under the library's lock. */
#ifndef NOF_MPI_DELTA_WATCH_H
#define NOF_MPI_DELTA_WATCH_H

#include "delta/delta_in.h"
#include "delta/delta_out.h"
#include "delta/delta_way.h"
#include "delta/delta_written.h"

/* False: pages cannot be watched in this process. */
bool nof_delta_watch_open(void);

/* By a signal handler, of an access to protected memory. True: it is to be tried again. */
bool nof_delta_watch_fault(struct nof_delta_access access);

/* Messages that have let go of their pages so far: a fault that finds none to blame may have been of one. Any thread. */
uint32_t nof_delta_watch_ends(void);

/* Of a message that was taken by address. False: none of its pages can be watched. */
bool nof_delta_watch_send(struct nof_delta_out *out, enum nof_delta_way way);
/* Some such messages, by their way, need looks at what was written: any thread, without the lock. False: none does now. */
bool nof_delta_watch_look(void);
/* Before its end: the pages are the program's as before. The address that was written after its part had been announced; NULL. */
const void *nof_delta_watch_send_end(const struct nof_delta_out *out);

/* Where the NIC shall put the message of `in`; NULL: into its buffer, none of whose pages can be watched. fatal: a failure that a
 * handler finds ends the process. */
void *nof_delta_watch_recv(struct nof_delta_in *in, bool fatal, enum nof_delta_way way);
/* The ends have come. */
bool nof_delta_watch_has_ends(struct nof_delta_in *in);
/* They are put into the buffer, which is hidden from now on. False: it cannot be (too many mappings), and has the message when that
 * has ended. */
bool nof_delta_watch_hide(struct nof_delta_in *in);
/* The message is over, with `bytes` of it; failed: with what the board says. Nothing is hidden any more. False: of the buffer some
 * was unmapped or moved, where nothing was put. */
bool nof_delta_watch_recv_end(struct nof_delta_in *in, bool failed, size_t bytes);

/* MPI_Finalize: sends that were never ended. */
void nof_delta_watch_close(void);

/* What of it is hidden and has come is shown. False: some of it has not come. What has failed is the program's as it is. */
bool nof_delta_watch_settle(const void *address, size_t bytes);
/* The same for any thread, in a handler, too: until all has come. */
void nof_delta_watch_wait(const void *address, size_t bytes);
/* Others than this process's threads are about to write there, once that is so: what they write of a send leaves with its end. */
void nof_delta_watch_write(const void *address, size_t bytes);
/* Bits of slots, written by delta_watch.c alone, under the lock of handlers. */
extern uint64_t nof_delta_sends_on __attribute__((visibility("hidden")));
extern uint64_t nof_delta_recvs_on __attribute__((visibility("hidden")));

/* Is anything hidden or guarded? */
static inline bool nof_delta_watch_any(void)
{
    return (__atomic_load_n(&nof_delta_recvs_on, __ATOMIC_RELAXED) |
            __atomic_load_n(&nof_delta_sends_on, __ATOMIC_RELAXED)) != 0;
}

#endif
