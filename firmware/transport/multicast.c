/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/multicast.h"

#include "transport/state.h"

#define SCOPE_ORGANIZATION 0xefc00000u /* 239.192.0.0, of which 18 bits are free */
#define SCOPE_MASK 0x3ffffu
#define CHUNK_MIN 256u

void nof_group_dest_init(struct nof_transport *t, struct nof_group_dest *dest_out,
                         const uint8_t job_key[NOF_SIPHASH_KEY_BYTES], uint32_t ctx, const uint8_t *members,
                         uint32_t n, uint32_t epoch)
{
    uint8_t name[12] = {'g', 'r', 'p', 0}, of_all[NOF_SIPHASH_TAG_BYTES], tag[NOF_SIPHASH_TAG_BYTES];
    struct nof_packet_addr to = {.udp_port = t->cfg.nic->group_port};

    nof_put32(name + 4, ctx);
    nof_put32(name + 8, epoch);
    nof_siphash128(job_key, name, sizeof(name), of_all);
    nof_siphash128(of_all, members, 4 * (size_t)n, tag);
    dest_out->id = nof_get64(tag);
    name[3] = 'k';
    nof_siphash128(job_key, name, sizeof(name), of_all);
    nof_siphash128(of_all, members, 4 * (size_t)n, dest_out->key);
    to.ip4 = SCOPE_ORGANIZATION | ((uint32_t)dest_out->id & SCOPE_MASK);
    nof_packet_group_mac(to.ip4, to.mac);
    dest_out->ip4 = to.ip4;
    memcpy(dest_out->mac, to.mac, sizeof(dest_out->mac));
    dest_out->ip_sum = nof_packet_head(dest_out->head, &t->self, &to,
                                       (uint16_t)(0xc000u | (dest_out->id >> 18 & 0x3fffu)), dest_out->id);
}

uint64_t nof_group_frame_ns(const struct nof_transport *t)
{
    return t->pacer.frame_ns;
}

unsigned nof_group_window(struct nof_transport *t, uint64_t *at_out)
{
    unsigned n =
        t->tx.count + NOF_TXQ_URGENT >= NOF_TXQ_FRAMES ? 0 : NOF_TXQ_FRAMES - NOF_TXQ_URGENT - t->tx.count;
    unsigned paced = UINT32_MAX;

    *at_out = t->now_ns + NOF_PORT_RETRY_NS;
    if (t->features[NOF_F_PACING] != 0) {
        nof_tx_book(t);
        paced = nof_pacer_ask(&t->pacer, t->now_ns);
        if (paced == 0)
            *at_out = nof_pacer_deadline(&t->pacer, t->now_ns);
    }
    return paced < n ? paced : n;
}

struct nof_frame *nof_group_frame(struct nof_transport *t, uint32_t payload_bytes, uint8_t **payload_out)
{
    uint32_t len = NOF_WIRE_OUTER_BYTES + NOF_GROUP_HEAD_BYTES + payload_bytes;
    struct nof_frame *frame = t->cfg.port_ops->frame_alloc(t->cfg.port, len);

    if (frame == NULL)
        return NULL;
    frame->len_bytes = len;
    *payload_out = frame->data + len - payload_bytes;
    return frame;
}

/* Over a datagram from its common header on. */
static uint64_t tag_of(const struct nof_group_dest *dest, const uint8_t *common, uint32_t len_bytes)
{
    const uint32_t behind = NOF_WIRE_COMMON_BYTES + NOF_WIRE_MDATA_TAG + 8u;
    uint8_t key[NOF_SIPHASH_TAG_BYTES], tag[NOF_SIPHASH_TAG_BYTES];

    nof_siphash128(dest->key, common + NOF_WIRE_VER, NOF_WIRE_COMMON_BYTES - NOF_WIRE_VER, key);
    nof_siphash128(key, common + behind, len_bytes - behind, tag);
    return nof_get64(tag);
}

void nof_group_seal(const struct nof_group_dest *dest, struct nof_frame *frame,
                    const struct nof_group_view *view, uint16_t src_ep)
{
    uint8_t *common = frame->data + NOF_WIRE_OUTER_BYTES, *f = common + NOF_WIRE_COMMON_BYTES;
    uint32_t body = frame->len_bytes - NOF_WIRE_OUTER_BYTES - NOF_WIRE_COMMON_BYTES;
    struct nof_packet_fill fill = {
        .type = NOF_WIRE_MDATA, .fields_bytes = NOF_WIRE_MDATA_BYTES, .pn = view->frame, .src_ep = src_ep};

    nof_packet_headers(frame->data, dest->head, dest->ip_sum, &fill, body);
    nof_put64(f + NOF_WIRE_MDATA_LEN, view->len);
    nof_put32(f + NOF_WIRE_MDATA_NUMBER, view->number);
    nof_put32(f + NOF_WIRE_MDATA_FRAMES, view->frames);
    nof_put16(f + NOF_WIRE_MDATA_SENDER, view->sender);
    nof_put16(f + NOF_WIRE_MDATA_CHUNK, view->chunk);
    nof_put32(f + NOF_WIRE_MDATA_PAD, 0);
    nof_put64(f + NOF_WIRE_MDATA_TAG, tag_of(dest, common, NOF_WIRE_COMMON_BYTES + body));
    nof_put32(common + NOF_WIRE_CRC,
              nof_crc32c(common + NOF_WIRE_VER, NOF_WIRE_COMMON_BYTES - NOF_WIRE_VER + body));
}

bool nof_group_send(struct nof_transport *t, struct nof_frame *frame)
{
    return nof_tx_queue_add(t, frame, NOF_TXQ_KEPT);
}

void nof_group_frame_free(struct nof_transport *t, struct nof_frame *frame)
{
    /* bound: frames of one turn; paid by the message */
    for (uint32_t i = t->tx.count; i-- > 0;) {
        if (t->tx.frame[i] != frame)
            continue;
        t->tx.sent[i] = NOF_NIL; /* it goes when the port has it, the last time that it is in the queue */
        t->tx.to_free++;
        return;
    }
    t->cfg.port_ops->frame_free(t->cfg.port, frame);
}

bool nof_group_open(const struct nof_group_dest *dest, const uint8_t *common, uint32_t len_bytes,
                    struct nof_group_view *view_out)
{
    const uint8_t *f = common + NOF_WIRE_COMMON_BYTES;

    if (len_bytes < NOF_GROUP_HEAD_BYTES || common[NOF_WIRE_FIELDS] != NOF_WIRE_MDATA_BYTES ||
        common[NOF_WIRE_TYPE] != NOF_WIRE_MDATA || nof_get64(common + NOF_WIRE_CONN) != dest->id ||
        nof_get64(f + NOF_WIRE_MDATA_TAG) != tag_of(dest, common, len_bytes))
        return false;
    struct nof_group_view v = {.len = nof_get64(f + NOF_WIRE_MDATA_LEN),
                               .number = nof_get32(f + NOF_WIRE_MDATA_NUMBER),
                               .frames = nof_get32(f + NOF_WIRE_MDATA_FRAMES),
                               .frame = nof_get32(common + NOF_WIRE_PN),
                               .sender = nof_get16(f + NOF_WIRE_MDATA_SENDER),
                               .chunk = nof_get16(f + NOF_WIRE_MDATA_CHUNK),
                               .payload = f + NOF_WIRE_MDATA_BYTES,
                               .payload_bytes = len_bytes - NOF_GROUP_HEAD_BYTES};
    uint64_t at = (uint64_t)v.frame * v.chunk;

    if (v.chunk < CHUNK_MIN || v.frames == 0 || v.frame >= v.frames || v.len > (uint64_t)v.frames * v.chunk ||
        (v.frames > 1 && v.len <= (uint64_t)(v.frames - 1) * v.chunk))
        return false;
    if (v.payload_bytes != (v.len - at < v.chunk ? v.len - at : v.chunk))
        return false;
    *view_out = v;
    return true;
}

bool nof_path_gack(struct nof_path *path, uint8_t flags, const uint8_t fields[NOF_WIRE_GACK_BYTES])
{
    if (path->state != NOF_PATH_UP)
        return false;
    return nof_tx_unreliable(path, NOF_WIRE_GACK, flags, fields, NOF_WIRE_GACK_BYTES, 0);
}

uint32_t nof_path_rtt_ns(const struct nof_path *path)
{
    return path->state == NOF_PATH_UP ? path->rtt.srtt_ns : 0;
}

uint32_t nof_path_least_rtt_ns(const struct nof_path *path)
{
    return path->state == NOF_PATH_UP ? path->rtt.min_ns : 0;
}
