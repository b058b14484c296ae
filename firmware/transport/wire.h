/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes on the wire; docs/WIRE.md is the normative page. Ethernet (one VLAN tag allowed), IPv4
 * without options, UDP without checksum, then the common header, the fixed fields of the type, and
 * payload. Little-endian from the common header on. Nothing here keeps state. */
#ifndef NOF_WIRE_H
#define NOF_WIRE_H

#include <stdint.h>

#include "base/bytes.h"

#define NOF_WIRE_VERSION 3u
#define NOF_WIRE_UDP_PORT 48620u
#define NOF_WIRE_OUTER_BYTES 42u /* Ethernet 14 + IPv4 20 + UDP 8, as we send them */
#define NOF_WIRE_COMMON_BYTES 32u

/* Common header: offset in bytes from the end of UDP. The CRC32C (Castagnoli, initial value and
 * final inversion as in RFC 3720) covers everything after its own four bytes. */
enum nof_wire_common_offset {
    NOF_WIRE_CRC = 0, /* u32 */
    NOF_WIRE_VER = 4, /* u8 */
    NOF_WIRE_TYPE = 5, /* u8 enum nof_wire_type */
    NOF_WIRE_LEN = 6, /* u16: common header + fields + payload = UDP length - 8 */
    NOF_WIRE_CONN = 8, /* u64: the receiver's connection id; 0 in HELLO */
    NOF_WIRE_PN = 16, /* u32: packet number of reliable types, wraps; 0 in others */
    NOF_WIRE_ACK = 20, /* u32: next packet number expected from the other side */
    NOF_WIRE_SRC_EP = 24, /* u16: endpoint index at the sender, 0 where none is meant */
    NOF_WIRE_DST_EP = 26, /* u16 */
    NOF_WIRE_FLAGS = 28, /* u8 by type */
    NOF_WIRE_FIELDS = 29, /* u8: length of the fixed fields of this type, bytes */
    NOF_WIRE_ACK_DELAY = 30, /* u16: us since the newest packet that ACK covers came; 65535: longer */
};

enum nof_wire_type {
    /* Transport, unreliable: pn 0. */
    NOF_WIRE_HELLO = 1,
    NOF_WIRE_ACKS = 2,
    NOF_WIRE_PROBE = 3,
    NOF_WIRE_PROBE_ACK = 4,
    NOF_WIRE_CLOSE = 5,
    NOF_WIRE_GACK = 6, /* what a member of a multicast group and those below it have */

    /* Of a group, by multicast: pn is the number of the frame in its message, CONN the group. */
    NOF_WIRE_MDATA = 7,

    /* Reliable: numbered, acknowledged, in order. The transport looks at none of their fields. */
    NOF_WIRE_RELIABLE_FIRST = 16,
    NOF_WIRE_FLOW_OPEN = 16, /* first frame of a flow (source endpoint -> destination endpoint) */
    NOF_WIRE_FLOW_REFUSED = 17,
    NOF_WIRE_MSG = 18, /* envelope and first (often only) piece of an eager message */
    NOF_WIRE_MSG_MORE = 19, /* the following pieces, in order within the flow */
    NOF_WIRE_RTS = 20, /* envelope of a rendezvous */
    NOF_WIRE_CTS = 21, /* grant */
    NOF_WIRE_DATA = 22, /* rendezvous payload */
    NOF_WIRE_MATCHED = 23, /* answer to an eager synchronous send */
    NOF_WIRE_ABORT = 24, /* a rendezvous ends with an error at both sides */
    NOF_WIRE_CREDIT = 25,
    NOF_WIRE_EP_DOWN = 26, /* an endpoint of this NIC is gone */
    NOF_WIRE_CANCEL = 27, /* the sender wants a message back */
    NOF_WIRE_CANCELLED = 28, /* the answer */
    NOF_WIRE_CODEC_ASK = 29, /* the sender of a flow wants a predictor (docs/WIRE.md, "Compression") */
    NOF_WIRE_CODEC_GRANT = 30, /* the answer */
    NOF_WIRE_CODEC_REVOKE = 31, /* the receiver wants it back */
    NOF_WIRE_CODEC_END = 32, /* no chunk of this epoch follows */
    NOF_WIRE_COLL_ABORT = 33, /* a collective has failed */
    NOF_WIRE_MREPAIR = 34, /* a datagram of a group, as it was, for one member */
    NOF_WIRE_GDONE = 35, /* as GACK, the last of a message: nothing is missing there */
    NOF_WIRE_RELIABLE_LAST = 35,
};

/* Reliable types: the top bit of FLAGS is the transport's ("acknowledge at once"), the rest belongs
 * to the type. */
#define NOF_WIRE_F_ACK_NOW 0x80u

/* FLAGS of HELLO: log2 of the window in which the sender takes packets, "I take MSG_MORE with longer fixed
 * fields", and "my side is up" (such a HELLO is not answered). */
#define NOF_WIRE_HELLO_F_WINDOW 0x0fu
#define NOF_WIRE_HELLO_F_LONG_MORE 0x10u
#define NOF_WIRE_HELLO_F_UP 0x80u

/* FLAGS of ACKS: a frame since the last one came with "congestion experienced" (RFC 3168). */
#define NOF_WIRE_ACKS_F_MARKED 0x01u

/* FLAGS of CLOSE: the path has died, else nobody needs it any more. */
#define NOF_WIRE_CLOSE_F_DEAD 0x01u
/* PROBE_ACK: no fields, or u32: the IP length of the padded PROBE that it answers. */
#define NOF_WIRE_PROBE_ACK_BYTES 4u

/* HELLO: fields 80 bytes, then padding up to the MTU under test. Each side sends its own HELLO
 * until the other's echoes its nonce; then the path is open (docs/WIRE.md, "Handshake"). The tag
 * is SipHash-2-4 with 128-bit output under the job key over version, type, flags and the fields
 * before it. */
enum nof_wire_hello_offset {
    NOF_WIRE_HELLO_JOB = 0, /* u64 */
    NOF_WIRE_HELLO_SRC_NIC = 8, /* u64 */
    NOF_WIRE_HELLO_DST_NIC = 16, /* u64 */
    NOF_WIRE_HELLO_CONN = 24, /* u64: id to put in frames to me */
    NOF_WIRE_HELLO_NONCE = 32, /* u64: mine */
    NOF_WIRE_HELLO_ECHO = 40, /* u64: yours, 0 while unknown */
    NOF_WIRE_HELLO_MTU = 48, /* u32: IP MTU that I can receive */
    NOF_WIRE_HELLO_PN = 52, /* u32: first packet number that I shall send */
    NOF_WIRE_HELLO_FLOW_MSGS = 56, /* u32: initial envelope credit of every flow to me */
    NOF_WIRE_HELLO_FLOW_BYTES = 60, /* u32: initial eager byte credit of every flow to me */
    NOF_WIRE_HELLO_TAG = 64, /* 16 bytes */
    NOF_WIRE_HELLO_BYTES = 80,
};

/* ACKS: bit i of word w of its bitmap says that packet ACK + 1 + 32 w + i has been received. */
#define NOF_WIRE_ACKS_WORDS_MAX 32u
enum nof_wire_acks_offset {
    NOF_WIRE_ACKS_DELAY = 0, /* u32: of the acknowledgement, us */
    NOF_WIRE_ACKS_COUNT = 4, /* u32: words that follow, at most NOF_WIRE_ACKS_WORDS_MAX */
    NOF_WIRE_ACKS_BITMAP = 8, /* u32 each */
};

/* Fields of the reliable types, and their length: the number of bytes is the last of each. */
enum nof_wire_field {
    /* FLOW_OPEN */
    NOF_WIRE_FLOW_OPEN_RANK = 0, /* u32: the sender's in the job */
    NOF_WIRE_FLOW_OPEN_SRC_GEN = 4, /* u32: generation of its endpoint, and: */
    NOF_WIRE_FLOW_OPEN_DST_GEN = 8, /* u32: of the one that it means */
    NOF_WIRE_FLOW_OPEN_SIZE = 12, /* u32: of the job */
    NOF_WIRE_FLOW_OPEN_BYTES = 16,

    /* FLOW_REFUSED */
    NOF_WIRE_FLOW_REFUSED_STATUS = 0, /* i32 */
    NOF_WIRE_FLOW_REFUSED_BYTES = 4,

    /* MSG and RTS; MSG then carries payload */
    NOF_WIRE_MSG_CTX = 0, /* u32 */
    NOF_WIRE_MSG_TAG = 4, /* i32 */
    NOF_WIRE_MSG_LEN = 8, /* u64: of the whole message */
    NOF_WIRE_MSG_SEQ = 16, /* u32: n-th envelope of this flow, from 0 */
    NOF_WIRE_MSG_ELEM = 20, /* u8 enum nof_elem */
    NOF_WIRE_MSG_AGREED = 21, /* u8: of the collective (desc.h), 2 bytes 0 */
    NOF_WIRE_MSG_HANDLE = 24, /* u64: the sender's, in RTS and synchronous MSG; else 0 */
    NOF_WIRE_MSG_BYTES = 32,

    /* MSG_MORE */
    NOF_WIRE_MORE_SEQ = 0, /* u32: of the envelope, then u32 0 */
    NOF_WIRE_MORE_PAD = 4,
    NOF_WIRE_MORE_OFFSET = 8, /* u64: in the message */
    NOF_WIRE_MSG_MORE_BYTES = 16,

    /* CTS; flag PARKED as RTS */
    NOF_WIRE_CTS_SENDER = 0, /* u64: handles */
    NOF_WIRE_CTS_RECEIVER = 8,
    NOF_WIRE_CTS_WANTED = 16, /* u64: bytes in all, and: */
    NOF_WIRE_CTS_ALLOWED = 24, /* u64: now; a running total, more CTS follow */
    NOF_WIRE_CTS_BYTES = 32,

    /* DATA */
    NOF_WIRE_DATA_RECEIVER = 0, /* u64: its handle */
    NOF_WIRE_DATA_OFFSET = 8, /* u64: in the message */
    NOF_WIRE_DATA_BYTES = 16,
    NOF_WIRE_DATA_LEN = 16, /* u64: of the whole message, with F_LAST only */
    NOF_WIRE_DATA_LAST_BYTES = 24,

    /* MATCHED */
    NOF_WIRE_MATCHED_SENDER = 0, /* u64: its handle */
    NOF_WIRE_MATCHED_BYTES = 8,

    /* ABORT */
    NOF_WIRE_ABORT_HANDLE = 0, /* u64: at the side that gets this */
    NOF_WIRE_ABORT_STATUS = 8, /* i32 */
    NOF_WIRE_ABORT_SIDE = 12, /* u32 enum nof_wire_abort_side */
    NOF_WIRE_ABORT_BYTES = 16,

    /* CREDIT: running totals of what is allowed */
    NOF_WIRE_CREDIT_ENVELOPES = 0, /* u32, then u32 0 */
    NOF_WIRE_CREDIT_PAD = 4,
    NOF_WIRE_CREDIT_PAYLOAD = 8, /* u64: bytes */
    NOF_WIRE_CREDIT_BYTES = 16,

    /* EP_DOWN */
    NOF_WIRE_EP_DOWN_RANK = 0, /* u32: in the job */
    NOF_WIRE_EP_DOWN_STATUS = 4, /* i32 */
    NOF_WIRE_EP_DOWN_BYTES = 8,

    /* CANCEL; flag PARKED as RTS */
    NOF_WIRE_CANCEL_ASKER = 0, /* u64: handle of the question */
    NOF_WIRE_CANCEL_SENDER = 8, /* u64: handle of the message */
    NOF_WIRE_CANCEL_CTX = 16, /* u32 */
    NOF_WIRE_CANCEL_TAG = 20, /* i32 */
    NOF_WIRE_CANCEL_BYTES = 24,

    /* CANCELLED */
    NOF_WIRE_CANCELLED_ASKER = 0, /* u64 */
    NOF_WIRE_CANCELLED_STATUS = 8, /* i32, then u32 0 */
    NOF_WIRE_CANCELLED_PAD = 12,
    NOF_WIRE_CANCELLED_BYTES = 16,

    /* CODEC_ASK */
    NOF_WIRE_CODEC_ASK_FORMAT = 0, /* u8 enum nof_dfcm_format */
    NOF_WIRE_CODEC_ASK_LOG2 = 1, /* u8: of the table's lines, then u16 0 */
    NOF_WIRE_CODEC_ASK_BYTES = 4,

    /* CODEC_GRANT */
    NOF_WIRE_CODEC_GRANT_SLOT = 0, /* u8 */
    NOF_WIRE_CODEC_GRANT_LOG2 = 1, /* u8: of the table's lines */
    NOF_WIRE_CODEC_GRANT_EPOCH = 2, /* u16 */
    NOF_WIRE_CODEC_GRANT_BYTES = 4,

    /* CODEC_REVOKE and CODEC_END */
    NOF_WIRE_CODEC_END_SLOT = 0, /* u8, then u8 0 */
    NOF_WIRE_CODEC_END_EPOCH = 2, /* u16 */
    NOF_WIRE_CODEC_END_BYTES = 4,

    /* COLL_ABORT */
    NOF_WIRE_COLL_ABORT_CTX = 0, /* u32 */
    NOF_WIRE_COLL_ABORT_TAG = 4, /* i32 */
    NOF_WIRE_COLL_ABORT_RUN = 8, /* u32: number of the run */
    NOF_WIRE_COLL_ABORT_RANK = 12, /* u32: whose failure it was, in the job */
    NOF_WIRE_COLL_ABORT_STATUS = 16, /* i32, then u32 0 */
    NOF_WIRE_COLL_ABORT_AGREED = 20,
    NOF_WIRE_COLL_ABORT_BYTES = 24,

    /* MDATA: payload number pn of its message follows, CHUNK bytes, the last one what is left */
    NOF_WIRE_MDATA_TAG = 0, /* u64: of the datagram, under the key of the group */
    NOF_WIRE_MDATA_LEN = 8, /* u64: bytes of the message */
    NOF_WIRE_MDATA_NUMBER = 16, /* u32: of the message in the group */
    NOF_WIRE_MDATA_FRAMES = 20, /* u32: of the message, at least 1 */
    NOF_WIRE_MDATA_SENDER = 24, /* u16: which member, and: */
    NOF_WIRE_MDATA_CHUNK = 26, /* u16, then u32 0 */
    NOF_WIRE_MDATA_PAD = 28,
    NOF_WIRE_MDATA_BYTES = 32,

    /* GACK, and its first fields GDONE */
    NOF_WIRE_GACK_GROUP = 0, /* u64 */
    NOF_WIRE_GACK_NUMBER = 8, /* u32: message */
    NOF_WIRE_GACK_SENDER = 12, /* u16: member whose message it is, and: */
    NOF_WIRE_GACK_MEMBER = 14, /* u16: who says this */
    NOF_WIRE_GDONE_BYTES = 16,
    NOF_WIRE_GACK_CUM = 16, /* u32: frames before this one have come; */
    NOF_WIRE_GACK_HIGH = 20, /* NACK, u32: and none from here on; else 0 */
    NOF_WIRE_GACK_HAVE = 24, /* NACK, 16 bytes: bit i: frame CUM + i has come; else 0 */
    NOF_WIRE_GACK_BYTES = 40,
};

enum nof_wire_abort_side { NOF_WIRE_ABORT_SEND = 0, NOF_WIRE_ABORT_RECV = 1 }; /* what has to end */

#define NOF_WIRE_MSG_F_SYNC 1u /* MSG: answer with MATCHED */
#define NOF_WIRE_F_FAILED \
    2u /* MSG, MSG_MORE, DATA: the sender's buffer cannot be read, the message ends here */
#define NOF_WIRE_F_GONE 32u /* with FAILED: because its process is gone */
#define NOF_WIRE_DATA_F_LAST 4u /* DATA: nothing follows */
#define NOF_WIRE_RTS_F_RESUME \
    8u /* RTS: a parked send is back; SEQ and ELEM together hold the receiver's handle of the CTS */
#define NOF_WIRE_DATA_F_RANGE \
    8u /* DATA of a delta message: anywhere in it; it may end before the length announced */
#define NOF_WIRE_RTS_F_DELTA \
    16u /* RTS: the payload comes in ranges; ELEM has the units that they are made of */
#define NOF_WIRE_RTS_F_SYNC 4u /* RTS: the sender waits for its match, so no grant before that */
#define NOF_WIRE_CTS_F_LATER \
    2u /* CTS of a delta send: there is no room for one that is not whole, it is to RESUME when it is */
#define NOF_WIRE_F_CHUNK 16u /* MSG, MSG_MORE, DATA: the payload is a prefix and a chunk */
#define NOF_WIRE_RTS_F_PARKED 1u /* RTS: handle is the host's cookie, state is with the host */
#define NOF_WIRE_GACK_F_READY 1u /* receives stand there: the rest of the message may come */
#define NOF_WIRE_GACK_F_NACK 2u /* to the sender itself, of this member alone */
#define NOF_WIRE_GACK_HAVE_FRAMES 128u
#define NOF_WIRE_CODEC_GRANT_F_REFUSED 1u /* no: the fields are 0 */

/* Payload with F_CHUNK: this prefix, then one chunk (docs/DFCM_FORMAT.md) or, with PREFIX_RAW, the bytes themselves
 * that would not have shrunk; both ends' predictors see either. */
enum nof_wire_prefix_offset {
    NOF_WIRE_PREFIX_SLOT = 0, /* u8 */
    NOF_WIRE_PREFIX_ELEM = 1, /* u8 enum nof_elem, and: */
    NOF_WIRE_PREFIX_EPOCH = 2, /* u16 */
    NOF_WIRE_PREFIX_BYTES = 4,
};
#define NOF_WIRE_PREFIX_RAW 0x80u

#endif
