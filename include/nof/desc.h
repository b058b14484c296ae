/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors (host to NIC) and completions (NIC to host): 64 bytes each, little-endian, pinned.
 *
 *   host: fill desc -> submission ring -> doorbell if the NIC sleeps
 *   NIC : copy once -> validate -> act -> completion ring -> wake word if the host sleeps
 *
 * Ranks are *job ranks*: the index of the process in its job, whatever the communicator. `ctx`
 * separates communicators. `cookie` belongs to the host and comes back untouched. A descriptor with
 * a field out of range is answered with NOF_EINVAL and counted; an unknown opcode or a cookie-less
 * fault fails the endpoint.
 *
 * Every SEND, RECV, PROBE, MPROBE, MRECV, PULL, FLUSH, LAYOUT, SCHED_OPEN, SCHED_START and PEER gets exactly one
 * completion of the same name (PEER only on failure; of a START it is COMP_SCHED), unless it is answered NOMATCH, PARKED (see there) or
 * cancelled. Matching order is MPI's per (ctx, source). */
#ifndef NOF_DESC_H
#define NOF_DESC_H

#include <assert.h>
#include <stdint.h>

#include "nof/program.h"

#define NOF_ANY_SOURCE (-1)
#define NOF_ANY_TAG (-1) /* tags are 0..INT32_MAX */
#define NOF_DESC_BYTES 64
#define NOF_INLINE_BYTES 32 /* payload inside a descriptor or a completion */
#define NOF_COLL_UNREAD 256u /* COLL_ABORT completion: bit in `handle` of a question */
#define NOF_AGREED_NO_MORE 255u /* see "Agreement" */
#define NOF_RELEASE_MAX 7 /* staging offsets in one RELEASE descriptor */

enum nof_desc_opcode {
    NOF_DESC_PEER = 1, /* make job rank `peer` known by its card; opens the path */
    NOF_DESC_SEND = 2,
    NOF_DESC_RECV = 3,
    NOF_DESC_CANCEL = 4, /* of the posted RECV, PROBE or MPROBE with `cookie`: see NOF_COMP_CANCEL */
    NOF_DESC_PROBE = 5, /* NOF_DESC_F_WAIT: answered when something matches; else at once */
    NOF_DESC_MPROBE = 6, /* as PROBE; takes the message out of matching, answers with a handle */
    NOF_DESC_MRECV = 7, /* receive the message of `handle` */
    NOF_DESC_PULL = 8, /* receive a spilled envelope whose payload stayed with the sender */
    NOF_DESC_RELEASE = 9, /* give staging slots back; no completion */
    NOF_DESC_FLUSH = 10, /* completes when all that was sent before is acknowledged */
    NOF_DESC_LAYOUT = 11, /* validate and copy a layout (nof/layout.h) out of the program area */
    NOF_DESC_LAYOUT_FREE = 12, /* no completion */
    NOF_DESC_SPILL_END = 13, /* the library's matcher is empty: see "Spill" below */
    NOF_DESC_HINT = 14, /* `callsite` is that of the next RECV; changes no result; no completion */
    NOF_DESC_SEND_CANCEL = 15, /* of the SEND with `cookie`, ctx, peer and tag: see "Cancel of a send" */
    NOF_DESC_REVOKED = 16, /* answer to NOF_COMP_REVOKE; no completion */
    NOF_DESC_SCHED_OPEN = 17, /* validate and copy a program (nof/program.h) out of the program area */
    NOF_DESC_SCHED_FREE = 18, /* of one that does not run; no completion */
    NOF_DESC_SCHED_START =
        19, /* run it: ctx, tag, len (the number of the run, 32 bits), sched.base; NOF_COMP_SCHED when it has ended, or
             * declined */
    NOF_DESC_SCHED_CONTINUE = 20, /* step sched.base[0] is done with status sched.base[1]; no completion */
    NOF_DESC_SCHED_CANCEL =
        21, /* of one that runs: NOF_COMP_SCHED follows, behind what has met its message; no completion. sched.base[0]: 0, or
             * the status that its peers are told, of a failure of job rank sched.base[1] */
    NOF_DESC_COLL_ABORT = 22, /* see "Failure of a collective" below; no completion */
    NOF_DESC_GROUP_OPEN = 23, /* these four: see "Multicast" below */
    NOF_DESC_GROUP_SEND = 24,
    NOF_DESC_GROUP_RECV = 25,
    NOF_DESC_GROUP_CLOSE = 26, /* no completion */
};

enum nof_desc_flags {
    NOF_DESC_F_INLINE = 1 << 0, /* SEND: payload is inline_data[0..len) */
    NOF_DESC_F_BOUNCE = 1 << 1, /* SEND: addr is an offset in the bounce arena */
    NOF_DESC_F_LAYOUT = 1 << 2, /* addr is the base of layout `layout`, `layout_generation` */
    NOF_DESC_F_SYNC = 1 << 3, /* SEND: completes only once the receive is matched */
    NOF_DESC_F_WAIT = 1 << 4, /* PROBE, MPROBE */
    NOF_DESC_F_ANNOUNCED = 1 << 4, /* SEND, not INLINE: see "Many to one" */
    NOF_DESC_F_GRANTED = 1 << 5, /* SEND: second submission after PARKED+GRANT; handle = grant */
    NOF_DESC_F_GONE = 1 << 6, /* REVOKED: nothing had matched the message, and nothing will */
    NOF_DESC_F_DELTA =
        1 << 6, /* SEND, RECV: in increments, with the slot in `handle` (delta.h); PULL: see SPILL */
    NOF_DESC_F_TAKEN = 1 << 6, /* CANCEL: the host has given it a message of `peer` with `tag` (claim.h) */
    NOF_DESC_F_CLAIM =
        1 << 7, /* RECV from any source, such an MPROBE with WAIT: the NIC's if it wins `handle` (claim.h) */
};

/* What the payload is made of; the codec's business. RAW is never compressed. */
enum nof_elem {
    NOF_ELEM_RAW = 0,
    NOF_ELEM_F64,
    NOF_ELEM_F32,
    NOF_ELEM_I64,
    NOF_ELEM_I32,
    NOF_ELEM_C64,
    NOF_ELEM_C32,
    NOF_ELEM_COUNT
};

struct nof_desc {
    uint8_t opcode;
    uint8_t flags;
    uint8_t elem;
    uint8_t agreed; /* SEND, RECV, SCHED_START, COLL_ABORT: see "Agreement"; else 0 */
    uint32_t ctx;
    uint64_t cookie;
    int32_t peer; /* job rank: destination, source or NOF_ANY_SOURCE */
    int32_t tag;
    uint64_t len; /* bytes: of the message, or the capacity of the receive buffer */
    union {
        uint8_t inline_data[NOF_INLINE_BYTES]; /* SEND + INLINE; PEER: struct nof_card */
        struct {
            uint64_t addr; /* user address, bounce offset, layout base, program-area offset */
            uint32_t layout;
            uint32_t layout_generation;
            uint64_t
                handle; /* MRECV, PULL, SEND+GRANTED; SEND+DELTA, RECV+DELTA: nof_delta_handle(); RECV+CLAIM, MPROBE+CLAIM:
                         * nof_claim_handle(); SEND+ANNOUNCED without GRANTED and DELTA: bytes; CANCEL: 0 */
            /* RECV, MRECV, HINT: the place in the program that makes this call, any number that is the same
             * each time; 0: not a receive of the program, not shown to the predictor. SEND+GRANTED: granted_len; PULL: the SPILL's len */
            uint64_t callsite;
        };
        struct {
            uint32_t count; /* RELEASE: 1..NOF_RELEASE_MAX */
            uint32_t offset[NOF_RELEASE_MAX];
        } release;
        struct
        { /* SCHED_...: a program by name and generation; COLL_ABORT: name is the job rank that failed, base[0] the
                  * status */
            uint32_t name;
            uint32_t generation;
            uint64_t
                base[NOF_PROGRAM_BASES]; /* START: addresses; OPEN: [0] is the offset in the program area */
        } sched;
        struct { /* SPILL_END: completions seen by the library since the start of the endpoint */
            uint64_t spills_seen; /* SPILL */
            uint64_t nomatches_seen; /* NOF_ENOMATCH answers to RECV, and to PROBE and MPROBE with WAIT */
        };
    };
};

/* Many to one. A SEND with NOF_DESC_F_ANNOUNCED meets others on its way to the receiver, all of them together as many bytes as `handle`
 * says (0: it is not known). However short it is, its receiver clears it, unless the way holds all of them: as many bytes as may be
 * cleared at a time, and what the link carries in a round trip. A hint about time alone.
 *
 * Claims. A RECV or MPROBE with NOF_DESC_F_CLAIM is one that the host may give a message of its own, until the NIC has
 * taken its claim (claim.h). When the host has, the NIC leaves the receive alone and keeps it, posted nowhere, until its
 * CANCEL: with NOF_DESC_F_TAKEN, which tells the receive predictor what it got, or without. That is answered as any: NOF_OK,
 * or NOF_ENOMATCH where the receive was answered NOF_ENOMATCH before.
 *
 * Spill. When the NIC's store of unexpected envelopes or its table of posted receives is full, the
 * endpoint enters spill mode. From then on a RECV, PROBE or MPROBE that finds nothing in the store
 * is answered with status NOF_ENOMATCH (also a waiting one, and a waiting MPROBE that would take a message for which
 * there is no room to wait) and then lives in the library's matcher; an arriving envelope that matches no posted receive is handed
 * over with NOF_COMP_SPILL. Both travel the one completion ring, so their order decides every match. When its matcher is
 * empty the library submits SPILL_END with the numbers of SPILL completions and of NOF_ENOMATCH
 * answers that it has seen (both since the endpoint was opened); the NIC leaves spill mode
 * (NOF_COMP_SPILL_END, status NOF_OK) if it has given no more of either and can post receives; else it
 * answers NOF_EAGAIN and the library tries again later. (A NOF_ENOMATCH that is still under way is
 * a receive that belongs to the library's matcher: it must not be overtaken by one that is posted
 * to the NIC after spill mode.) While the endpoint is not in spill mode SPILL_END is answered NOF_OK.
 *
 * Where a spilled payload lies is the NIC's choice per message: in the completion, staged, or
 * NOF_COMP_F_REMOTE. REMOTE means "PULL it with this handle", also when the NIC itself still holds
 * an eager message for which there was no staging slot. A PULL needs peer, handle, ctx, tag, the
 * length that the SPILL told, and the buffer. NOF_EAGAIN: no room for one more that waits for a
 * parked SEND; submit it again when another has ended, or a while later.
 *
 * Park. A rendezvous SEND for which the NIC has no room is announced to the receiver and then
 * forgotten: NOF_COMP_PARKED (never for a cookie with its top bit set, nor for INLINE without SYNC,
 * which never asks the receiver). When the receiver wants it, NOF_COMP_GRANT with the same cookie
 * comes and the host submits the SEND again, not INLINE, with NOF_DESC_F_GRANTED and `handle` from
 * the GRANT. It may be PARKED again, any number of times: the receiver has no room now. That GRANT's handle is void then, and
 * another GRANT comes when there is room.
 *
 * Cancel of a send. SEND_CANCEL is answered NOF_OK: the message is taken back, no receive gets it, and
 * no completion of the SEND (or GRANT) follows; or NOF_ENOMATCH: too late, its completion has come or
 * will come without further doing of the receiver's host; or why the peer is dead. NOF_OK after a GRANT is the lie of a
 * peer NIC and counts as NOF_ENOMATCH. A message that is
 * on the wire is asked for at the receiver. If that has spilled, its library is asked: NOF_COMP_REVOKE
 * names the message by peer, ctx, tag and the `sender_handle` of its SPILL. The library answers REVOKED
 * with peer and cookie of the REVOKE: with NOF_DESC_F_GONE and the `handle` of the SPILL if it had not
 * matched the message and has forgotten it, else without.
 *
 * Agreement. What the ranks of a collective must call alike goes with its messages as a hash, `agreed`, that their hosts
 * compute; 0: nothing is said. A receive whose message says another ends with NOF_EDISAGREE and without payload, as does a
 * schedule. Messages that are spilled are not compared. Ranks may also wait for
 * each other without a message: COLL_ABORT with status NOF_EAGAIN asks a rank whether it calls the same. A NIC that runs that
 * schedule answers by failing it if not; else its host is asked, by NOF_COMP_COLL_ABORT with status NOF_EAGAIN, handle =
 * agreed, and NOF_COLL_UNREAD if a message of the one who asks has come that no receive has taken, peer = who asks. A host that
 * has ended its part, and well, says so where else nobody would ever know: by a SEND of no bytes, of the same ctx and tag,
 * with NOF_AGREED_NO_MORE. A receive that still waits then waits for a message that was never sent, and ends with
 * NOF_EDISAGREE; without one such a message is dropped.
 *
 * Failure of a collective. When a schedule fails, its NIC tells the ranks that its program names, whose schedules of the
 * same ctx, tag and number (the START's len) fail in turn: COMP_SCHED with handle = steps of the program, status, and in
 * `peer` the job rank whose failure it was. Where no such schedule runs the host is told: NOF_COMP_COLL_ABORT with ctx, tag,
 * len (the number), peer and status, once for each of them; and a START of it that comes later fails at once. A host that goes
 * through such a collective itself tells others with COLL_ABORT, one for each: `peer` to whom, ctx, tag, len, sched.name,
 * sched.base[0].
 *
 * Multicast. GROUP_OPEN makes a group, by the name that the host chooses, of the job ranks that lie at sched.base[0] of
 * the program area, len / 4 of them, 4 bytes each, 2 to 256, one for each NIC, all but the host's own introduced by PEER;
 * the one on this NIC is this rank, or another, for which it may then send. ctx, the first of the ranks and sched.base[1]
 * (32 bits) say which group; all members name the same ranks in the same order. Its own completion says whether the NIC
 * takes it; handle 1: it only sends, and may begin. Else COMP_GROUP follows: NOF_OK: all members hear each other;
 * NOF_ENOMATCH: some do not; NOF_EPEERDEAD. sched.generation is the number of its first message, which is the NIC's.
 * The next messages are the hosts': of each number, one more each time, one member sends (GROUP_SEND: buffer
 * sched.base[0] and len, number sched.generation) and each other receives (GROUP_RECV, likewise; `peer` is the member that
 * sends, or the one for which the sender does). Each has a completion of its name; that of a GROUP_SEND has in handle how
 * many members had to be served by unicast. NOF_ETRUNC: the lengths differ, len is the sender's. NOF_EAGAIN:
 * one too many for this turn of the NIC, to be submitted again. NOF_EPEERDEAD: a member is
 * dead, `peer`, or -1. GROUP_CLOSE ends what is under way with NOF_ECANCELED; of a group that is not there it changes nothing. */
enum nof_comp_opcode {
    NOF_COMP_PEER = NOF_DESC_PEER,
    NOF_COMP_SEND = NOF_DESC_SEND, /* the buffer is the host's again */
    NOF_COMP_RECV = NOF_DESC_RECV, /* also for MRECV and PULL */
    NOF_COMP_CANCEL = NOF_DESC_CANCEL, /* OK: the receive is gone; ENOMATCH: it was matched already */
    NOF_COMP_PROBE = NOF_DESC_PROBE,
    NOF_COMP_MPROBE = NOF_DESC_MPROBE, /* handle for MRECV */
    NOF_COMP_FLUSH = NOF_DESC_FLUSH,
    NOF_COMP_LAYOUT = NOF_DESC_LAYOUT,
    NOF_COMP_SPILL_END = NOF_DESC_SPILL_END,
    NOF_COMP_SEND_CANCEL = NOF_DESC_SEND_CANCEL,
    NOF_COMP_SCHED_OPEN = NOF_DESC_SCHED_OPEN,
    NOF_COMP_SCHED = NOF_DESC_SCHED_START, /* handle: the first step that failed, peer: its peer */
    NOF_COMP_GROUP_OPEN = NOF_DESC_GROUP_OPEN,
    NOF_COMP_GROUP_SEND = NOF_DESC_GROUP_SEND,
    NOF_COMP_GROUP_RECV = NOF_DESC_GROUP_RECV,
    NOF_COMP_SPILL = 32, /* flags say where the payload is; REMOTE: handle for PULL */
    NOF_COMP_PARKED = 33,
    NOF_COMP_GRANT = 34,
    NOF_COMP_PEER_DEAD = 35, /* job rank `peer` is gone: once per rank; status says why */
    NOF_COMP_ASSIST = 36, /* fall-back DMA: copy between user memory and the assist area */
    NOF_COMP_FAILED = 37, /* the endpoint itself failed: last completion ever; status says why */
    NOF_COMP_REVOKE = 38, /* may the sender have this spilled message back? handle: its sender_handle */
    NOF_COMP_SCHED_HOST = 39, /* cookie of the START; the host does step `handle`, then SCHED_CONTINUE */
    NOF_COMP_COLL_ABORT = 40, /* a collective failed at job rank `peer` */
    NOF_COMP_GROUP = 41, /* cookie of a GROUP_OPEN: it is open, or cannot be; see "Multicast" */
};

enum nof_comp_flags {
    NOF_COMP_F_INLINE = 1 << 0, /* payload is inline_data[0..stored) */
    NOF_COMP_F_STAGED = 1 << 1, /* payload lies in the staging area; RELEASE it after use */
    NOF_COMP_F_BUFFER = 1 << 2, /* payload was written into the receive's buffer */
    NOF_COMP_F_REMOTE = 1 << 3, /* SPILL: payload is still with the sender */
    NOF_COMP_F_SYNC = 1 << 4, /* SPILL: the sender waits for the match; PULL (len 0) tells it */
    NOF_COMP_F_DECLINED = 1 << 6, /* SCHED: nothing has happened, the host may go through the steps itself */
    NOF_COMP_F_WRITE = 1 << 5, /* ASSIST: assist area -> user memory; else the other way */
    NOF_COMP_F_UNENDED = 1 << 7, /* SPILL: a parked delta send; the PULL says so with NOF_DESC_F_DELTA */
};

struct nof_comp {
    uint8_t opcode;
    uint8_t flags;
    int16_t status;
    uint32_t ctx;
    uint64_t cookie;
    int32_t peer; /* job rank of the other side */
    int32_t tag;
    uint64_t len; /* bytes of the message as sent; > capacity means NOF_ETRUNC */
    union {
        uint8_t inline_data[NOF_INLINE_BYTES];
        struct {
            uint64_t handle; /* MPROBE, SPILL+REMOTE or +SYNC, GRANT */
            uint32_t staged_offset; /* in the staging area */
            uint32_t staged_len; /* bytes there: min(len, capacity) */
            uint64_t granted_len; /* GRANT: bytes the receiver wants */
            uint64_t sender_handle; /* SPILL, not INLINE: what a REVOKE will call the message */
        };
        struct {
            uint32_t slot; /* of nof_host_words.assist, where the answer goes */
            uint32_t generation;
            uint64_t addr; /* user address */
            uint32_t area_offset; /* in the assist area */
            uint32_t area_len;
        } assist;
    };
};

static_assert(sizeof(struct nof_desc) == NOF_DESC_BYTES, "descriptor is 64 bytes");
static_assert(sizeof(struct nof_comp) == NOF_DESC_BYTES, "completion is 64 bytes");

#endif
