/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes on the wire; docs/WIRE.md is the normative page. Ethernet (one VLAN tag allowed), IPv4
 * without options, UDP without checksum, then the common header, the fixed fields of the type, and
 * payload. Little-endian from the common header on. Nothing here keeps state. */
#ifndef NOF_WIRE_H
#define NOF_WIRE_H

#include <stdint.h>
#include <string.h>

#define NOF_WIRE_VERSION 1u
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
    NOF_WIRE_RELIABLE_LAST = 32,
};

/* Reliable types: the top bit of FLAGS is the transport's ("acknowledge at once"), the rest belongs
 * to the type. */
#define NOF_WIRE_F_ACK_NOW 0x80u

/* FLAGS of HELLO: log2 of the window in which the sender takes packets, and "my side is up" (such a
 * HELLO is not answered). */
#define NOF_WIRE_HELLO_F_WINDOW 0x0fu
#define NOF_WIRE_HELLO_F_UP 0x80u

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

/* ACKS: fields 4 + 4 + 4*n bytes, n <= 32: u32 acknowledgement delay in us, u32 n, then u32
 * words of a bitmap: bit i of word w says that packet ACK + 1 + 32 w + i has been received. */
#define NOF_WIRE_ACKS_WORDS_MAX 32u

/* FLOW_OPEN: u32 source job rank, u32 source generation, u32 destination generation, u32 job size. */
#define NOF_WIRE_FLOW_OPEN_BYTES 16u
/* FLOW_REFUSED: i32 status. */
#define NOF_WIRE_FLOW_REFUSED_BYTES 4u

/* MSG and RTS: 32 bytes, MSG then carries payload. */
enum nof_wire_msg_offset {
    NOF_WIRE_MSG_CTX = 0, /* u32 */
    NOF_WIRE_MSG_TAG = 4, /* i32 */
    NOF_WIRE_MSG_LEN = 8, /* u64: of the whole message */
    NOF_WIRE_MSG_SEQ = 16, /* u32: n-th envelope of this flow, from 0 */
    NOF_WIRE_MSG_ELEM = 20, /* u8 enum nof_elem, 3 bytes 0 */
    NOF_WIRE_MSG_HANDLE = 24, /* u64: the sender's, in RTS and synchronous MSG; else 0 */
    NOF_WIRE_MSG_BYTES = 32,
};
#define NOF_WIRE_MSG_F_SYNC 1u /* MSG: answer with MATCHED */
#define NOF_WIRE_F_FAILED \
    2u /* MSG, MSG_MORE, DATA: the sender's buffer cannot be read, the message ends here */
#define NOF_WIRE_DATA_F_LAST 4u /* DATA: nothing follows */
#define NOF_WIRE_RTS_F_RESUME \
    8u /* RTS: a parked send is back; SEQ and ELEM together hold the receiver's handle of the CTS */
#define NOF_WIRE_RTS_F_SYNC 4u /* RTS: the sender waits for its match, so no grant before that */
#define NOF_WIRE_F_CHUNK 16u /* MSG, MSG_MORE, DATA: the payload is a prefix and a chunk */
#define NOF_WIRE_RTS_F_PARKED 1u /* RTS: handle is the host's cookie, state is with the host */

#define NOF_WIRE_MSG_MORE_BYTES 16u /* u32 seq, u32 0, u64 offset */
#define NOF_WIRE_CTS_BYTES \
    32u /* u64 sender's handle, u64 receiver's handle, u64 bytes wanted in all, u64 bytes allowed now (running total, more CTS follow); flag PARKED as RTS */
#define NOF_WIRE_DATA_BYTES 16u /* u64 receiver's handle, u64 offset */
#define NOF_WIRE_DATA_LAST_BYTES 24u /* with F_LAST: also u64 length of the whole message */
#define NOF_WIRE_MATCHED_BYTES 8u /* u64 sender's handle */
#define NOF_WIRE_ABORT_BYTES 16u /* u64 handle at the side that gets this, i32 status, u32 side */
#define NOF_WIRE_CREDIT_BYTES 16u /* u32 envelopes, u32 0, u64 bytes: running totals allowed */
#define NOF_WIRE_EP_DOWN_BYTES 8u /* u32 job rank, i32 status */
#define NOF_WIRE_CANCEL_BYTES \
    24u /* u64 asker's handle, u64 sender's handle of the message, u32 context, i32 tag; flag PARKED as RTS */
#define NOF_WIRE_CANCELLED_BYTES 16u /* u64 asker's handle, i32 status, u32 0 */
#define NOF_WIRE_CODEC_ASK_BYTES 4u /* u8 enum nof_dfcm_format, u8 log2 of the table's lines, u16 0 */
#define NOF_WIRE_CODEC_GRANT_BYTES 4u /* u8 slot, u8 log2 of the table's lines, u16 epoch */
#define NOF_WIRE_CODEC_GRANT_F_REFUSED 1u /* no: the fields are 0 */
#define NOF_WIRE_CODEC_END_BYTES 4u /* CODEC_REVOKE and CODEC_END: u8 slot, u8 0, u16 epoch */

/* Payload with F_CHUNK: this prefix, then one chunk (docs/DFCM_FORMAT.md) or, with PREFIX_RAW, the bytes themselves
 * that would not have shrunk; both ends' predictors see either. */
enum nof_wire_prefix_offset {
    NOF_WIRE_PREFIX_SLOT = 0, /* u8 */
    NOF_WIRE_PREFIX_ELEM = 1, /* u8 enum nof_elem, and: */
    NOF_WIRE_PREFIX_EPOCH = 2, /* u16 */
    NOF_WIRE_PREFIX_BYTES = 4,
};
#define NOF_WIRE_PREFIX_RAW 0x80u

/* Little-endian values at any alignment. Where the machine is little-endian they are one instruction
 * each; compilers do not reliably make that of the bytes. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint16_t nof_get16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint32_t nof_get32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}
static inline uint64_t nof_get64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}
static inline void nof_put16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void nof_put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}
static inline void nof_put64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}
#else
static inline uint16_t nof_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t nof_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t nof_get64(const uint8_t *p)
{
    return (uint64_t)nof_get32(p) | (uint64_t)nof_get32(p + 4) << 32;
}
static inline void nof_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void nof_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}
static inline void nof_put64(uint8_t *p, uint64_t v)
{
    nof_put32(p, (uint32_t)v);
    nof_put32(p + 4, (uint32_t)(v >> 32));
}
#endif

#endif
