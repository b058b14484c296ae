/* SPDX-License-Identifier: BSD-3-Clause */
#include "rogue.h"

#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "transport/multicast.h"
#include "moves.h"

#define FRAME_MAX 1514u
#define WINDOW_LOG2 5u
#define CREDIT_MSGS 8u
#define CREDIT_BYTES 16384u

static void put(struct rogue *r, const struct nof_packet_fill *fill, uint64_t conn, const uint8_t *body,
                uint32_t body_bytes)
{
    uint8_t frame[FRAME_MAX];
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t sum = nof_packet_head(head, &r->self, &r->core,
                                   fill->type == NOF_WIRE_HELLO ? NOF_WIRE_UDP_PORT : 50000, conn);
    memcpy(frame + NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES, body, body_bytes);
    nof_packet_finish(frame, head, sum, fill, body_bytes);
    world_inject(r->w, r->nic, frame, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES + body_bytes);
}

static void reliable(struct rogue *r, uint8_t type, uint8_t flags, unsigned flow, const uint8_t *body,
                     uint32_t fields, uint32_t body_bytes)
{
    struct nof_packet_fill fill = {.type = type,
                                   .flags = flags,
                                   .fields_bytes = (uint8_t)fields,
                                   .pn = r->pn++,
                                   .ack = r->got,
                                   .src_ep = r->flow[flow].ours,
                                   .dst_ep = r->flow[flow].theirs};
    put(r, &fill, r->core_conn, body, body_bytes);
    r->owes = 0;
}

static void acknowledge(struct rogue *r, const uint8_t *words, uint32_t n)
{
    uint8_t body[NOF_WIRE_ACKS_BITMAP + 4 * NOF_WIRE_ACKS_WORDS_MAX] = {0};
    uint32_t fields = NOF_WIRE_ACKS_BITMAP + 4 * n;
    struct nof_packet_fill fill = {.type = NOF_WIRE_ACKS, .fields_bytes = (uint8_t)fields, .ack = r->got};
    nof_put32(body + NOF_WIRE_ACKS_COUNT, n);
    if (n > 0)
        memcpy(body + NOF_WIRE_ACKS_BITMAP, words, (size_t)4 * n);
    put(r, &fill, r->core_conn, body, fields);
}

void rogue_hello(struct rogue *r, int known, uint32_t first_pn)
{
    uint8_t f[NOF_WIRE_HELLO_BYTES];
    uint8_t text[3 + NOF_WIRE_HELLO_TAG] = {NOF_WIRE_VERSION, NOF_WIRE_HELLO, WINDOW_LOG2};
    struct nof_packet_fill fill = {.type = NOF_WIRE_HELLO, .fields_bytes = NOF_WIRE_HELLO_BYTES};
    if (!known) {
        r->conn += 0x10000;
        r->nonce++;
        r->pn = first_pn;
    }
    text[2] |= r->nonce & 1 ? NOF_WIRE_HELLO_F_LONG_MORE : 0;
    fill.flags = text[2];
    nof_put64(f + NOF_WIRE_HELLO_JOB, r->job);
    nof_put64(f + NOF_WIRE_HELLO_SRC_NIC, r->nic_id);
    nof_put64(f + NOF_WIRE_HELLO_DST_NIC, r->core_id);
    nof_put64(f + NOF_WIRE_HELLO_CONN, r->conn);
    nof_put64(f + NOF_WIRE_HELLO_NONCE, r->nonce);
    nof_put64(f + NOF_WIRE_HELLO_ECHO, known ? r->core_nonce : 0);
    nof_put32(f + NOF_WIRE_HELLO_MTU, 1500);
    nof_put32(f + NOF_WIRE_HELLO_PN, r->pn);
    nof_put32(f + NOF_WIRE_HELLO_FLOW_MSGS, CREDIT_MSGS);
    nof_put32(f + NOF_WIRE_HELLO_FLOW_BYTES, CREDIT_BYTES);
    memcpy(text + 3, f, NOF_WIRE_HELLO_TAG);
    nof_siphash128(r->key, text, sizeof text, f + NOF_WIRE_HELLO_TAG);
    put(r, &fill, 0, f, sizeof f);
}

void rogue_open_flow(struct rogue *r, unsigned flow, uint32_t rank, uint32_t size)
{
    uint8_t f[NOF_WIRE_FLOW_OPEN_BYTES];
    nof_put32(f + NOF_WIRE_FLOW_OPEN_RANK, rank);
    nof_put32(f + NOF_WIRE_FLOW_OPEN_SRC_GEN, 1);
    nof_put32(f + NOF_WIRE_FLOW_OPEN_DST_GEN, r->flow[flow].generation);
    nof_put32(f + NOF_WIRE_FLOW_OPEN_SIZE, size);
    reliable(r, NOF_WIRE_FLOW_OPEN, 0, flow, f, sizeof f, sizeof f);
}

static void remember(struct rogue *r, enum rogue_kind kind, uint64_t handle)
{
    r->heard[kind].handle[r->heard[kind].n++ % ROGUE_HEARD] = handle;
}

static struct rogue_flow *flow_of(struct rogue *r, uint16_t ours, uint16_t theirs)
{
    for (unsigned i = 0; i < ROGUE_FLOWS; i++)
        if (r->flow[i].ours == ours && r->flow[i].theirs == theirs)
            return &r->flow[i];
    return NULL;
}

static void hear_handles(struct rogue *r, const uint8_t *common, const uint8_t *f)
{
    struct rogue_flow *flow =
        flow_of(r, nof_get16(common + NOF_WIRE_DST_EP), nof_get16(common + NOF_WIRE_SRC_EP));
    uint8_t flags = common[NOF_WIRE_FLAGS];
    switch (common[NOF_WIRE_TYPE]) {
    case NOF_WIRE_MSG:
        if (flags & NOF_WIRE_MSG_F_SYNC)
            remember(r, ROGUE_SYNC, nof_get64(f + NOF_WIRE_MSG_HANDLE));
        break;
    case NOF_WIRE_RTS:
        remember(r, flags & NOF_WIRE_RTS_F_PARKED ? ROGUE_PARKED : ROGUE_SEND,
                 nof_get64(f + NOF_WIRE_MSG_HANDLE));
        break;
    case NOF_WIRE_CTS:
        remember(r, ROGUE_RECV, nof_get64(f + NOF_WIRE_CTS_RECEIVER));
        if (flow != NULL) {
            flow->sent = nof_get64(f + NOF_WIRE_CTS_RECEIVER) == flow->to ? flow->sent : 0;
            flow->to = nof_get64(f + NOF_WIRE_CTS_RECEIVER);
            flow->wanted = nof_get64(f + NOF_WIRE_CTS_WANTED);
            flow->allowed = nof_get64(f + NOF_WIRE_CTS_ALLOWED);
        }
        break;
    case NOF_WIRE_CANCEL:
        remember(r, ROGUE_ASKER, nof_get64(f + NOF_WIRE_CANCEL_ASKER));
        break;
    case NOF_WIRE_CODEC_GRANT:
        if (flow != NULL && !(flags & NOF_WIRE_CODEC_GRANT_F_REFUSED)) {
            flow->slot = f[NOF_WIRE_CODEC_GRANT_SLOT];
            flow->epoch = nof_get16(f + NOF_WIRE_CODEC_GRANT_EPOCH);
            rogue_forget(r);
        }
        break;
    default:
        break;
    }
}

void rogue_hear(void *rogue, const uint8_t *bytes, uint32_t len)
{
    struct rogue *r = rogue;
    const uint8_t *common = bytes + NOF_WIRE_OUTER_BYTES;
    const uint8_t *f = common + NOF_WIRE_COMMON_BYTES;
    uint8_t type = common[NOF_WIRE_TYPE];
    (void)len;
    if (type == NOF_WIRE_HELLO) {
        r->core_conn = nof_get64(f + NOF_WIRE_HELLO_CONN);
        if (r->core_nonce != nof_get64(f + NOF_WIRE_HELLO_NONCE))
            r->got = nof_get32(f + NOF_WIRE_HELLO_PN);
        r->core_nonce = nof_get64(f + NOF_WIRE_HELLO_NONCE);
        r->hello |= (common[NOF_WIRE_FLAGS] & NOF_WIRE_HELLO_F_UP) == 0;
        return;
    }
    if (type < NOF_WIRE_RELIABLE_FIRST || nof_get64(common + NOF_WIRE_CONN) != r->conn)
        return;
    r->owes = 1;
    if (nof_get32(common + NOF_WIRE_PN) != r->got)
        return;
    r->got++;
    hear_handles(r, common, f);
}

void rogue_turn(struct rogue *r)
{
    if (r->hello) {
        r->hello = 0;
        rogue_hello(r, 1, 0);
    }
    if (r->owes && !r->silent)
        acknowledge(r, NULL, 0);
    r->owes = 0;
}

/* Bytes of the records rogue_frame() and rogue_chunk() take. */
enum {
    R_TYPE = 1,
    R_FLOW, /* bit 7: another source endpoint; bit 6: another destination */
    R_FLAGS,
    R_KIND, /* of the handle */
    R_HANDLE,
    R_LEN,
    R_TAG,
    R_PAYLOAD,
    R_SEQ,
    R_AT, /* of the fields, and what is done to the byte there */
    R_VALUE,
    R_PN, /* 0 to 239: as it must be */
    R_MORE,
    R_REST,
};

static uint64_t handle_of(const struct rogue *r, const uint8_t *rec)
{
    unsigned kind = rec[R_KIND] % (ROGUE_KINDS + 3);
    if (kind == ROGUE_KINDS)
        return rec[R_HANDLE];
    if (kind > ROGUE_KINDS)
        return (uint64_t)(1 + rec[R_HANDLE] % 4) << 32 | (kind & 1 ? rec[R_MORE] : 0);
    return r->heard[kind].handle[rec[R_HANDLE] % ROGUE_HEARD];
}

/* Units of an RTS of a delta message, perhaps none; 0: it is a plain one. */
static uint32_t units_of(const uint8_t *rec)
{
    if (!(rec[R_FLAGS] & NOF_WIRE_RTS_F_DELTA) || rec[R_KIND] < 192)
        return 0;
    return rec[R_KIND] < 240 ? 1 + rec[R_KIND] % 14u : rec[R_KIND] - 192u;
}

/* An envelope: ours are announced by handles that we make up. */
static uint32_t envelope(struct rogue_flow *flow, const uint8_t *rec, uint8_t *f, uint8_t type, uint8_t flags)
{
    int rts = type == NOF_WIRE_RTS;
    uint64_t handle = rts ? rec[R_HANDLE] : 0;
    uint64_t len = move_len(rec[R_LEN]);
    if (!rts && (flags & NOF_WIRE_MSG_F_SYNC))
        handle = NOF_HANDLE_SYNC | rec[R_HANDLE];
    nof_put32(f + NOF_WIRE_MSG_CTX, 1);
    nof_put32(f + NOF_WIRE_MSG_TAG, rec[R_TAG] % 4);
    nof_put64(f + NOF_WIRE_MSG_LEN, rts && rec[R_LEN] == 255 ? 1ull << 62 : len);
    nof_put32(f + NOF_WIRE_MSG_SEQ, flow->seq + (rec[R_SEQ] > 250 ? rec[R_SEQ] - 250u : 0));
    nof_put32(f + NOF_WIRE_MSG_ELEM, rec[R_MORE] % NOF_ELEM_COUNT | (uint32_t)(rec[R_MORE] >> 6) << 8);
    nof_put64(f + NOF_WIRE_MSG_HANDLE, handle);
    if (rts && (flags & NOF_WIRE_RTS_F_DELTA))
        f[NOF_WIRE_MSG_ELEM + 2] = (uint8_t)units_of(rec);
    return NOF_WIRE_MSG_BYTES;
}

/* Of a frame with RANGE: at a unit or where the frame before ended, nearly. */
static uint64_t range_at(const struct rogue_flow *flow, const uint8_t *rec)
{
    uint64_t at = rec[R_TAG] & 1 ? flow->at : (uint64_t)rec[R_SEQ] << flow->unit_log2 % 64;
    return at + (rec[R_TAG] >= 240 ? rec[R_TAG] - 248u : 0);
}

static uint32_t data_fields(const struct rogue *r, const struct rogue_flow *flow, const uint8_t *rec,
                            uint8_t *f, uint8_t flags)
{
    int goes_on = rec[R_KIND] % (ROGUE_KINDS + 3) == ROGUE_RECV && rec[R_HANDLE] < 128;
    nof_put64(f + NOF_WIRE_DATA_RECEIVER, goes_on ? flow->to : handle_of(r, rec));
    nof_put64(f + NOF_WIRE_DATA_OFFSET,
              (goes_on ? flow->sent : 0) + (rec[R_SEQ] > 250 ? rec[R_SEQ] - 250u : 0));
    if (flags & NOF_WIRE_DATA_F_RANGE)
        nof_put64(f + NOF_WIRE_DATA_OFFSET, range_at(flow, rec));
    nof_put64(f + NOF_WIRE_DATA_LEN, goes_on && !((flags & NOF_WIRE_DATA_F_RANGE) && (rec[R_TAG] & 4))
                                         ? flow->announced
                                         : move_len(rec[R_LEN]));
    return flags & NOF_WIRE_DATA_F_LAST ? NOF_WIRE_DATA_LAST_BYTES : NOF_WIRE_DATA_BYTES;
}

static uint32_t codec_fields(const struct rogue_flow *flow, const uint8_t *rec, uint8_t type, uint8_t *f)
{
    switch (type) {
    case NOF_WIRE_CODEC_ASK:
        f[NOF_WIRE_CODEC_ASK_FORMAT] = rec[R_LEN] > 240 ? rec[R_TAG] : NOF_DFCM_FAST;
        f[NOF_WIRE_CODEC_ASK_LOG2] = (uint8_t)(ROGUE_LOG2 + (rec[R_MORE] > 240));
        return NOF_WIRE_CODEC_ASK_BYTES;
    case NOF_WIRE_CODEC_GRANT:
        f[NOF_WIRE_CODEC_GRANT_SLOT] = rec[R_TAG] & 3;
        f[NOF_WIRE_CODEC_GRANT_LOG2] = ROGUE_LOG2;
        nof_put16(f + NOF_WIRE_CODEC_GRANT_EPOCH, rec[R_LEN]);
        return NOF_WIRE_CODEC_GRANT_BYTES;
    case NOF_WIRE_CODEC_REVOKE:
        f[NOF_WIRE_CODEC_END_SLOT] = rec[R_TAG] & 3;
        nof_put16(f + NOF_WIRE_CODEC_END_EPOCH, rec[R_LEN]);
        return NOF_WIRE_CODEC_END_BYTES;
    case NOF_WIRE_CODEC_END:
        f[NOF_WIRE_CODEC_END_SLOT] = flow->slot;
        nof_put16(f + NOF_WIRE_CODEC_END_EPOCH, flow->epoch);
        return NOF_WIRE_CODEC_END_BYTES;
    default:
        return 0;
    }
}

static struct nof_group_dest group_of(const struct rogue *r, const uint8_t *rec)
{
    struct nof_group_dest dest;
    uint8_t two[8]; /* as moves.c lists them mostly */
    nof_put32(two, rec[R_FLOW] >> 1 & 1);
    nof_put32(two + 4, (rec[R_FLOW] >> 1 & 1) + 1u + (rec[R_FLOW] >> 2 & 1));
    nof_group_dest_init(world_nic(r->w, r->nic)->transport, &dest, r->key,
                        MOVES_GROUP_CTX + (rec[R_FLOW] & 1), two, 2, 0);
    return dest;
}

/* The first four of GACK; all of GDONE. */
static void group_fields(const struct rogue *r, const uint8_t *rec, uint8_t *f)
{
    nof_put64(f + NOF_WIRE_GACK_GROUP, group_of(r, rec).id);
    nof_put32(f + NOF_WIRE_GACK_NUMBER, 1u + rec[R_HANDLE] % 8);
    nof_put16(f + NOF_WIRE_GACK_SENDER, rec[R_TAG] % 4);
    nof_put16(f + NOF_WIRE_GACK_MEMBER, rec[R_SEQ] < 200 ? 1 : rec[R_SEQ] % 4);
}

/* What ends something. */
static uint32_t ending_fields(const struct rogue *r, const uint8_t *rec, uint8_t type, uint8_t flags,
                              uint8_t *f)
{
    switch (type) {
    case NOF_WIRE_CANCEL:
        nof_put64(f + NOF_WIRE_CANCEL_ASKER, rec[R_MORE]);
        nof_put64(f + NOF_WIRE_CANCEL_SENDER, (flags & 2 ? NOF_HANDLE_SYNC : 0) | rec[R_HANDLE]);
        nof_put32(f + NOF_WIRE_CANCEL_CTX, 1);
        nof_put32(f + NOF_WIRE_CANCEL_TAG, rec[R_TAG] % 4);
        return NOF_WIRE_CANCEL_BYTES;
    case NOF_WIRE_CANCELLED:
        nof_put64(f + NOF_WIRE_CANCELLED_ASKER, r->heard[ROGUE_ASKER].handle[rec[R_HANDLE] % ROGUE_HEARD]);
        nof_put32(f + NOF_WIRE_CANCELLED_STATUS, (uint32_t) - (int32_t)(rec[R_LEN] % 3));
        return NOF_WIRE_CANCELLED_BYTES;
    default: /* COLL_ABORT */
        nof_put32(f + NOF_WIRE_COLL_ABORT_CTX, 1);
        nof_put32(f + NOF_WIRE_COLL_ABORT_TAG, rec[R_TAG] % 4);
        nof_put32(f + NOF_WIRE_COLL_ABORT_RUN, rec[R_MORE] % 2);
        nof_put32(f + NOF_WIRE_COLL_ABORT_RANK, rec[R_HANDLE] % 5);
        nof_put32(f + NOF_WIRE_COLL_ABORT_STATUS, (uint32_t) - (int32_t)(rec[R_LEN] % 40));
        nof_put32(f + NOF_WIRE_COLL_ABORT_AGREED, rec[R_PAYLOAD] % 3);
        return NOF_WIRE_COLL_ABORT_BYTES;
    }
}

/* The fixed fields of the type; returns how many bytes. */
static uint32_t fields_of(const struct rogue *r, struct rogue_flow *flow, const uint8_t *rec, uint8_t type,
                          uint8_t flags, uint8_t *f)
{
    uint64_t handle = handle_of(r, rec);
    switch (type) {
    case NOF_WIRE_FLOW_OPEN:
        nof_put32(f + NOF_WIRE_FLOW_OPEN_RANK, rec[R_TAG] % 5);
        nof_put32(f + NOF_WIRE_FLOW_OPEN_SRC_GEN, rec[R_MORE] % 3);
        nof_put32(f + NOF_WIRE_FLOW_OPEN_DST_GEN, flow->generation);
        nof_put32(f + NOF_WIRE_FLOW_OPEN_SIZE, rec[R_PAYLOAD] & 1 ? 2 : 4);
        return NOF_WIRE_FLOW_OPEN_BYTES;
    case NOF_WIRE_FLOW_REFUSED:
        nof_put32(f + NOF_WIRE_FLOW_REFUSED_STATUS, (uint32_t) - (int32_t)rec[R_LEN]);
        return NOF_WIRE_FLOW_REFUSED_BYTES;
    case NOF_WIRE_MSG:
    case NOF_WIRE_RTS:
        (void)envelope(flow, rec, f, type, flags);
        if (type == NOF_WIRE_RTS && (flags & NOF_WIRE_RTS_F_RESUME))
            nof_put64(f + NOF_WIRE_MSG_SEQ, handle);
        return NOF_WIRE_MSG_BYTES;
    case NOF_WIRE_MSG_MORE:
        nof_put32(f + NOF_WIRE_MORE_SEQ, flow->seq - 1);
        nof_put64(f + NOF_WIRE_MORE_OFFSET, flow->pos);
        return NOF_WIRE_MSG_MORE_BYTES + (rec[R_TAG] >= 240 ? rec[R_TAG] - 239u : 0);
    case NOF_WIRE_CTS:
        nof_put64(f + NOF_WIRE_CTS_SENDER, handle);
        nof_put64(f + NOF_WIRE_CTS_RECEIVER, (uint64_t)1 << 32 | rec[R_MORE]);
        nof_put64(f + NOF_WIRE_CTS_WANTED, move_len(rec[R_LEN]));
        nof_put64(f + NOF_WIRE_CTS_ALLOWED, move_len(rec[R_PAYLOAD]));
        return NOF_WIRE_CTS_BYTES;
    case NOF_WIRE_DATA:
        return data_fields(r, flow, rec, f, flags);
    case NOF_WIRE_MATCHED:
        nof_put64(f + NOF_WIRE_MATCHED_SENDER, handle);
        return NOF_WIRE_MATCHED_BYTES;
    case NOF_WIRE_ABORT:
        nof_put64(f + NOF_WIRE_ABORT_HANDLE, handle);
        nof_put32(f + NOF_WIRE_ABORT_STATUS, (uint32_t) - (int32_t)(rec[R_LEN] % 40));
        nof_put32(f + NOF_WIRE_ABORT_SIDE, rec[R_TAG] & 1);
        return NOF_WIRE_ABORT_BYTES;
    case NOF_WIRE_CREDIT:
        nof_put32(f + NOF_WIRE_CREDIT_ENVELOPES, rec[R_LEN]);
        nof_put64(f + NOF_WIRE_CREDIT_PAYLOAD, (uint64_t)rec[R_MORE] * 1024);
        return NOF_WIRE_CREDIT_BYTES;
    case NOF_WIRE_EP_DOWN:
        nof_put32(f + NOF_WIRE_EP_DOWN_RANK, rec[R_TAG] % 4);
        nof_put32(f + NOF_WIRE_EP_DOWN_STATUS, (uint32_t) - (int32_t)(rec[R_LEN] % 40));
        return NOF_WIRE_EP_DOWN_BYTES;
    case NOF_WIRE_CANCEL:
    case NOF_WIRE_CANCELLED:
    case NOF_WIRE_COLL_ABORT:
        return ending_fields(r, rec, type, flags, f);
    case NOF_WIRE_GDONE:
        group_fields(r, rec, f);
        return NOF_WIRE_GDONE_BYTES;
    default:
        return codec_fields(flow, rec, type, f);
    }
}

/* What an envelope or a piece does to the flow, as a core that believes it counts. */
static void follow(struct rogue_flow *flow, uint8_t type, uint8_t flags, const uint8_t *f, uint32_t payload)
{
    if (type == NOF_WIRE_MSG || (type == NOF_WIRE_RTS && !(flags & NOF_WIRE_RTS_F_RESUME))) {
        flow->seq = nof_get32(f + NOF_WIRE_MSG_SEQ) + 1;
        flow->announced = type == NOF_WIRE_RTS ? nof_get64(f + NOF_WIRE_MSG_LEN) : flow->announced;
        flow->unit_log2 = type == NOF_WIRE_RTS ? f[NOF_WIRE_MSG_ELEM + 2] : flow->unit_log2;
        flow->len = (uint32_t)nof_get64(f + NOF_WIRE_MSG_LEN);
        flow->pos = payload;
        flow->left = type == NOF_WIRE_MSG && flow->len > payload ? flow->len - payload : 0;
    } else if (type == NOF_WIRE_MSG_MORE) {
        flow->pos += payload;
        flow->left -= payload < flow->left ? payload : flow->left;
    } else if (type == NOF_WIRE_DATA) {
        flow->sent += payload;
        flow->at = nof_get64(f + NOF_WIRE_DATA_OFFSET) + payload;
    }
}

/* Payload that fits what the flow is at, unless the record wants another. */
static uint32_t payload_of(const struct rogue_flow *flow, const uint8_t *rec, uint8_t type)
{
    uint64_t n = 0;
    if (type == NOF_WIRE_MSG)
        n = move_len(rec[R_LEN]);
    else if (type == NOF_WIRE_MSG_MORE)
        n = flow->left;
    else if (type == NOF_WIRE_DATA)
        n = (rec[R_FLAGS] & NOF_WIRE_DATA_F_LAST ? flow->wanted : flow->allowed) - flow->sent;
    uint64_t unit = 1ull << flow->unit_log2 % 64;
    if (type == NOF_WIRE_DATA && (rec[R_FLAGS] & NOF_WIRE_DATA_F_RANGE) && (rec[R_TAG] & 2) && n > unit)
        n = unit;
    if (rec[R_PAYLOAD] >= 192 && type != NOF_WIRE_CTS)
        n = move_len(rec[R_PAYLOAD]);
    return n < ROGUE_BODY ? (uint32_t)n : ROGUE_BODY;
}

static unsigned flow_index(const uint8_t *rec)
{
    return (rec[R_FLOW] & 63u) % ROGUE_FLOWS;
}

/* A datagram of a group that its key has sealed, from the common header on: of a message, nearly. */
static uint32_t datagram(const struct rogue *r, const uint8_t *rec, uint8_t frame[FRAME_MAX])
{
    static const uint16_t chunks[] = {1024, 1024, 512, 256, 255, 0, UINT16_MAX, 1400};
    struct nof_group_dest dest = group_of(r, rec);
    struct nof_group_view v = {.len = rec[R_LEN] == 255 ? UINT64_MAX : move_len(rec[R_LEN]),
                               .number = 1u + rec[R_HANDLE] % 8,
                               .sender = rec[R_SEQ] < 200 ? 1 : rec[R_SEQ] % 5,
                               .chunk = chunks[rec[R_KIND] % 8]};
    uint64_t frames = v.chunk == 0 ? rec[R_MORE] : (v.len + v.chunk - 1) / v.chunk;
    v.frames = (uint32_t)(frames > 0 ? frames : 1) + (rec[R_MORE] > 250);
    v.frame = rec[R_TAG] < 240 ? rec[R_TAG] % v.frames : UINT32_MAX - rec[R_TAG] % 4;
    uint64_t at = (uint64_t)v.frame * v.chunk, left = v.len > at ? v.len - at : 0;
    uint32_t bytes = (uint32_t)(left < v.chunk ? left : v.chunk);
    if (bytes > ROGUE_BODY - NOF_GROUP_HEAD_BYTES || rec[R_PAYLOAD] >= 224)
        bytes = rec[R_PAYLOAD] * 5u;
    struct nof_frame f = {.data = frame, .len_bytes = NOF_WIRE_OUTER_BYTES + NOF_GROUP_HEAD_BYTES + bytes};
    memset(frame + NOF_WIRE_OUTER_BYTES + NOF_GROUP_HEAD_BYTES, rec[R_REST], bytes);
    nof_group_seal(&dest, &f, &v, 0);
    if (rec[R_VALUE] != 0)
        frame[NOF_WIRE_OUTER_BYTES + rec[R_AT] % NOF_GROUP_HEAD_BYTES] ^= rec[R_VALUE];
    return f.len_bytes;
}

/* Of groups: MDATA, MREPAIR, GACK. */
static void group_frame(struct rogue *r, const uint8_t *rec)
{
    uint8_t frame[FRAME_MAX], f[NOF_WIRE_GACK_BYTES];
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_GACK, .flags = rec[R_FLAGS], .fields_bytes = NOF_WIRE_GACK_BYTES};
    uint32_t len;
    switch (rec[R_TYPE] % 4) {
    case 0:
        len = datagram(r, rec, frame);
        world_inject(r->w, r->nic, frame, len);
        return;
    case 1:
        len = datagram(r, rec, frame) - NOF_WIRE_OUTER_BYTES - (rec[R_PN] == 239);
        if (len <= NOF_CTL_FIELDS_MAX + ROGUE_BODY)
            reliable(r, NOF_WIRE_MREPAIR, 0, flow_index(rec), frame + NOF_WIRE_OUTER_BYTES, 0, len);
        return;
    default:
        group_fields(r, rec, f);
        nof_put32(f + NOF_WIRE_GACK_CUM, rec[R_LEN] < 240 ? rec[R_LEN] % 80 : UINT32_MAX - rec[R_LEN] % 4);
        nof_put32(f + NOF_WIRE_GACK_HIGH, rec[R_MORE] < 240 ? rec[R_MORE] : UINT32_MAX - rec[R_MORE] % 4);
        memset(f + NOF_WIRE_GACK_HAVE, rec[R_REST], NOF_WIRE_GACK_HAVE_FRAMES / 8);
        if (rec[R_PN] == 239)
            fill.fields_bytes--;
        put(r, &fill, r->core_conn, f, sizeof f);
        return;
    }
}

void rogue_frame(struct rogue *r, const uint8_t *rec)
{
    static const uint8_t often[] = {NOF_WIRE_MSG, NOF_WIRE_MSG_MORE, NOF_WIRE_RTS, NOF_WIRE_DATA,
                                    NOF_WIRE_CTS};
    uint8_t body[NOF_CTL_FIELDS_MAX + ROGUE_BODY];
    uint8_t type = rec[R_TYPE] % 40;
    type = (uint8_t)(type < 20 ? NOF_WIRE_RELIABLE_FIRST + type : often[type % 5]);
    unsigned flow = flow_index(rec);
    uint8_t flags = rec[R_FLAGS] & 0x8f; /* chunks have records of their own */
    if (type == NOF_WIRE_RTS && units_of(rec) != 0)
        flags |= NOF_WIRE_RTS_F_DELTA;
    uint32_t payload = payload_of(&r->flow[flow], rec, type);
    memset(body, 0, NOF_CTL_FIELDS_MAX);
    uint32_t n = fields_of(r, &r->flow[flow], rec, type, flags, body);
    follow(&r->flow[flow], type, flags, body, payload);
    if (rec[R_VALUE] != 0 && n > 0)
        body[rec[R_AT] % n] ^= rec[R_VALUE];
    memset(body + n, rec[R_REST], payload);
    if (rec[R_PN] >= 240)
        r->pn += rec[R_PN] - 248u;
    if (rec[R_PN] == 239 && n > 0)
        n--;
    const struct rogue_flow was = r->flow[flow];
    if (rec[R_FLOW] & 128)
        r->flow[flow].ours = rec[R_FLOW];
    if (rec[R_FLOW] & 64)
        r->flow[flow].theirs = rec[R_MORE] % 4;
    reliable(r, type, flags, flow, body, n, n + payload);
    r->flow[flow].ours = was.ours;
    r->flow[flow].theirs = was.theirs;
}

/* A message, or a piece of one, in a chunk that our predictor makes. */
void rogue_chunk(struct rogue *r, const uint8_t *rec)
{
    static const uint8_t types[] = {NOF_WIRE_MSG, NOF_WIRE_MSG_MORE, NOF_WIRE_DATA, NOF_WIRE_MSG};
    static uint64_t values[8192];
    uint8_t body[NOF_CTL_FIELDS_MAX + NOF_WIRE_PREFIX_BYTES + ROGUE_BODY] = {0};
    uint8_t type = types[rec[R_TYPE] % 4];
    uint8_t flags = (uint8_t)((rec[R_FLAGS] & 0x8f) | NOF_WIRE_F_CHUNK);
    struct rogue_flow *flow = &r->flow[flow_index(rec)];
    uint8_t elem = (uint8_t)(1 + rec[R_MORE] % (NOF_ELEM_COUNT - 1u));
    struct nof_dfcm_chunk chunk = {0};
    uint64_t want = type == NOF_WIRE_MSG        ? move_len(rec[R_LEN])
                    : type == NOF_WIRE_MSG_MORE ? flow->left
                                                : flow->allowed - flow->sent;
    uint32_t len = (uint32_t)(want < sizeof values ? want : sizeof values);
    int raw = rec[R_KIND] % 4 == 3;
    for (uint32_t i = 0; i < len / 8 + 1 && i < 8192; i++)
        values[i] = rec[R_REST] & 1 ? 0x0101010101010101ull * rec[R_REST] + i : i * 0x9e3779b97f4a7c15ull;
    uint32_t n = fields_of(r, flow, rec, type, flags, body);
    uint8_t *prefix = body + n;
    if (len == 0)
        return;
    if (nof_dfcm_encode(r->predictor, (enum nof_elem)elem, values, len, prefix + NOF_WIRE_PREFIX_BYTES,
                        ROGUE_BODY, &chunk, NULL) != NOF_OK)
        return;
    nof_put32(body + NOF_WIRE_MSG_ELEM, type == NOF_WIRE_MSG ? elem : nof_get32(body + NOF_WIRE_MSG_ELEM));
    prefix[NOF_WIRE_PREFIX_SLOT] = flow->slot;
    prefix[NOF_WIRE_PREFIX_ELEM] = (uint8_t)(elem | (chunk.raw || raw ? NOF_WIRE_PREFIX_RAW : 0));
    nof_put16(prefix + NOF_WIRE_PREFIX_EPOCH, flow->epoch);
    follow(flow, type, flags, body, chunk.plain_bytes);
    uint32_t bytes = n + NOF_WIRE_PREFIX_BYTES + chunk.len_bytes;
    if (rec[R_VALUE] != 0)
        body[n + rec[R_AT] % (bytes - n)] ^= rec[R_VALUE];
    if (rec[R_PN] == 239)
        bytes--;
    reliable(r, type, flags, flow_index(rec), body, n, bytes);
}

/* Frames that have no number, HELLOs, and those of groups. */
void rogue_transport(struct rogue *r, const uint8_t *rec)
{
    uint8_t body[256] = {0};
    uint8_t words[16];
    struct nof_packet_fill fill = {.flags = rec[R_FLAGS], .ack = r->got};
    memcpy(words, rec, sizeof words);
    if (rec[R_TYPE] >= 216) {
        group_frame(r, rec);
        return;
    }
    switch (rec[R_TYPE] % 8) {
    case 0:
        rogue_hello(r, rec[R_FLOW] & 1, rec[R_LEN] * 0x01010101u);
        return;
    case 1:
        r->got -= rec[R_SEQ] > 250;
        acknowledge(r, words, rec[R_LEN] % 5);
        return;
    case 2:
        fill.type = NOF_WIRE_PROBE;
        put(r, &fill, r->core_conn, body, rec[R_LEN]);
        return;
    case 3:
        fill.type = NOF_WIRE_PROBE_ACK;
        fill.fields_bytes = rec[R_LEN] & NOF_WIRE_PROBE_ACK_BYTES;
        nof_put32(body, 1400u + rec[R_MORE]);
        put(r, &fill, r->core_conn, body, fill.fields_bytes);
        return;
    case 4:
        fill.type = NOF_WIRE_CLOSE;
        put(r, &fill, rec[R_LEN] < 200 ? r->core_conn : 0x10000u * rec[R_LEN], body, 0);
        return;
    case 5: /* anything */
        fill.type = rec[R_LEN];
        fill.fields_bytes = rec[R_MORE];
        fill.pn = r->pn;
        memcpy(body, rec, RECORD_BYTES);
        put(r, &fill, r->core_conn, body, rec[R_PAYLOAD]);
        return;
    default:
        r->silent = rec[R_LEN] & 1;
        return;
    }
}

void rogue_init(struct rogue *r, struct world *w, unsigned nic, const struct nof_card *core, uint64_t job)
{
    memset(r, 0, sizeof *r);
    r->w = w;
    r->nic = nic;
    r->job = job;
    r->nic_id = 1003;
    r->core_id = core->nic_id;
    r->conn = 0x5ull << 32;
    r->nonce = 77;
    memset(r->key, (int)job, sizeof r->key);
    r->self =
        (struct nof_packet_addr){.mac = {2, 0, 0, 0, 0, 3}, .udp_port = NOF_WIRE_UDP_PORT, .ip4 = 0x0a000004};
    r->core = (struct nof_packet_addr){.udp_port = core->udp_port, .ip4 = core->ip4};
    memcpy(r->core.mac, core->mac, sizeof r->core.mac);
    void *mem = aligned_alloc(NOF_DFCM_ALIGN, (nof_dfcm_mem_size(ROGUE_LOG2) + 63) / 64 * 64);
    r->predictor = nof_dfcm_init(mem, ROGUE_LOG2, NOF_DFCM_FAST, NOF_DFCM_ISA_PORTABLE);
}

void rogue_forget(struct rogue *r)
{
    (void)nof_dfcm_init(r->predictor, ROGUE_LOG2, NOF_DFCM_FAST, NOF_DFCM_ISA_PORTABLE);
}
