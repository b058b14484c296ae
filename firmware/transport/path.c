/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of paths: finding, making, death, and what is remembered of the dead. */
#include "transport/state.h"

#include "transport/siphash.h"

/* Frames for a dead path are answered with CLOSE, at most this often for each. */
#define CLOSE_EVERY_NS (1u * NOF_MS)
#define INDEX_BITS 16u
/* Source ports for entropy: the dynamic range, 49152 to 65535. */
#define PORT_FIRST 49152u
#define PORT_MASK 0x3fffu

uint64_t nof_transport_random(struct nof_transport *t)
{
    uint8_t in[8];
    uint8_t out[NOF_SIPHASH_TAG_BYTES];

    nof_put64(in, t->random_counter++);
    nof_siphash128(t->cfg.nic->seed, in, sizeof(in), out);
    return nof_get64(out);
}

#define LOG_BYTES 112
#define LOG_TAIL_BYTES 46 /* ", peer 255.255.255.255 (NIC 0123456789abcdef)" and a NUL */

static size_t put_decimal(char *at, uint32_t byte)
{
    size_t n = 0;

    if (byte >= 100)
        at[n++] = (char)('0' + byte / 100);
    if (byte >= 10)
        at[n++] = (char)('0' + byte / 10 % 10);
    at[n++] = (char)('0' + byte % 10);
    return n;
}

static size_t put_text(char *at, const char *text, size_t most)
{
    size_t n = 0;

    /* bound: 112 characters; paid by the log */
    for (; text[n] != '\0' && n < most; n++)
        at[n] = text[n];
    return n;
}

void nof_path_log(const struct nof_path *p, int level, const char *text)
{
    const struct nof_transport *t = p->t;
    struct nof_packet_addr peer;
    char line[LOG_BYTES];
    size_t n;

    if (t->cfg.host_ops == NULL || t->cfg.host_ops->log == NULL)
        return;
    nof_path_address(p, &peer);
    n = put_text(line, text, sizeof(line) - LOG_TAIL_BYTES);
    n += put_text(line + n, ", peer ", 7);
    /* bound: 4 bytes; paid by the log */
    for (unsigned shift = 32; shift > 0; shift -= 8) {
        n += put_decimal(line + n, peer.ip4 >> (shift - 8) & 255);
        if (shift > 8)
            line[n++] = '.';
    }
    n += put_text(line + n, " (NIC ", 6);
    for (unsigned i = 0; i < 16; i++)
        line[n++] = "0123456789abcdef"[p->peer_nic >> (60 - 4 * i) & 15];
    line[n++] = ')';
    line[n] = '\0';
    t->cfg.host_ops->log(t->cfg.host, level, line);
}

void nof_paths_init(struct nof_transport *t)
{
    t->dead_head = NOF_NIL;
    t->free_path = NOF_NIL;
    /* bound: buckets; paid by set-up */
    for (uint32_t i = 0; i <= t->bucket_mask; i++)
        t->buckets[i] = NOF_NIL;
    t->high_path = 0;
}

/* One that is free; NOF_NIL: none. Many cores have thousands of places each, and use a few. */
static uint32_t take_place(struct nof_transport *t)
{
    uint32_t index = t->free_path;

    if (index != NOF_NIL)
        t->free_path = nof_path_at(t, index)->next;
    else if (t->high_path < t->max_paths)
        memset(nof_path_at(t, index = t->high_path++), 0, sizeof(struct nof_path));
    return index;
}

static uint32_t *bucket(struct nof_transport *t, uint64_t job_id, uint64_t peer_nic)
{
    uint64_t h = (job_id ^ (peer_nic << 21 | peer_nic >> 43)) * 0x9e3779b97f4a7c15u;

    return &t->buckets[(uint32_t)(h >> 32) & t->bucket_mask];
}

struct nof_path *nof_path_find(struct nof_transport *t, uint64_t job_id, uint64_t peer_nic,
                               const struct nof_path *after)
{
    uint32_t i = after != NULL ? after->next : *bucket(t, job_id, peer_nic);

    /* bound: paths of one hash; paid by the handshake */
    for (; i != NOF_NIL; i = nof_path_at(t, i)->next) {
        struct nof_path *p = nof_path_at(t, i);

        if (p->job_id == job_id && p->peer_nic == peer_nic)
            return p;
    }
    return NULL;
}

static void unhash(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    uint32_t *link = bucket(t, p->job_id, p->peer_nic);
    uint32_t index = nof_path_index(p);

    /* bound: paths of one hash; paid by the path that ends */
    while (*link != index)
        link = &nof_path_at(t, *link)->next;
    *link = p->next;
}

/* A port that drops what nobody here knows must know it first. */
static void tell_port(const struct nof_transport *t, uint32_t slot, uint64_t id)
{
    if (t->cfg.port_ops->conn != NULL)
        t->cfg.port_ops->conn(t->cfg.port, slot, id);
}

void nof_path_dirty(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    p->dirty = 1;
    t->dirty[t->dirty_count++] = nof_path_index(p);
}

struct nof_path *nof_path_alloc(struct nof_transport *t, uint64_t job_id, uint64_t peer_nic)
{
    uint32_t index = take_place(t);

    if (index == NOF_NIL)
        return NULL;

    struct nof_path *p = nof_path_at(t, index);
    uint32_t *chain = bucket(t, job_id, peer_nic);
    uint32_t starved_next = p->starved_next;
    uint32_t first_pn;
    bool dirty = p->dirty;
    bool starved = p->starved;

    /* Being in the lists of the dirty and the starved outlives the path that was here before. */
    memset(p, 0, sizeof(*p));
    p->t = t;
    p->starved_next = starved_next;
    p->dirty = dirty;
    p->starved = starved;

    p->job_id = job_id;
    p->peer_nic = peer_nic;
    p->local_conn = nof_transport_random(t) << INDEX_BITS | index;
    tell_port(t, NOF_PORT_CONN_DEAD + index, p->local_conn);
    do
        p->nonce = nof_transport_random(t);
    /* bound: draws until one is not 0; paid by the handshake */
    while (p->nonce == 0);
    p->state = NOF_PATH_OPENING;
    first_pn = (uint32_t)nof_transport_random(t);
    if (t->near_wrap != 0)
        first_pn = 0u - t->near_wrap;
    nof_sentmap_init(&p->sent, first_pn, 0u - t->near_wrap);
    nof_reorder_init(&p->reorder, 0);
    p->next = *chain;
    *chain = index;
    nof_path_touch(p);
    return p;
}

void nof_path_set_peer(struct nof_path *p, const struct nof_packet_addr *to, uint64_t conn)
{
    struct nof_transport *t = p->t;
    /* HELLO tells our port to those that have no card of us; later frames spread over queues. */
    uint16_t src_port = conn == 0
                            ? t->self.udp_port
                            : (uint16_t)(PORT_FIRST + (uint32_t)((conn ^ p->local_conn) >> 20 & PORT_MASK));

    p->ip_sum = nof_packet_head(p->head, &t->self, to, src_port, conn);
    p->inside = to->ip4 == t->self.ip4;
}

void nof_path_address(const struct nof_path *p, struct nof_packet_addr *to_out)
{
    memcpy(to_out->mac, p->head, sizeof(to_out->mac));
    to_out->ip4 =
        (uint32_t)p->head[30] << 24 | (uint32_t)p->head[31] << 16 | (uint32_t)p->head[32] << 8 | p->head[33];
    to_out->udp_port = (uint16_t)(p->head[36] << 8 | p->head[37]);
}

static uint8_t close_flags(const struct nof_path *p)
{
    return (uint8_t)(p->orderly ? 0 : NOF_WIRE_CLOSE_F_DEAD);
}

static void entomb(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    struct nof_tombstone *tomb = &t->tomb[t->tomb_next];

    t->tomb_next = (t->tomb_next + 1) % NOF_TOMBSTONES;
    tomb->conn = p->local_conn;
    tell_port(t, (uint32_t)(tomb - t->tomb), tomb->conn);
    tomb->closed_ns = t->now_ns;
    tomb->ip_sum = p->ip_sum;
    tomb->flags = close_flags(p);
    memcpy(tomb->head, p->head, sizeof(tomb->head));
}

void nof_path_bury(struct nof_path *p, int reason, bool tell_peer)
{
    struct nof_transport *t = p->t;

    if (p->state != NOF_PATH_OPENING && p->state != NOF_PATH_UP)
        return;
    if (p->state == NOF_PATH_UP) {
        if (tell_peer)
            (void)nof_tx_unreliable(p, NOF_WIRE_CLOSE, close_flags(p), NULL, 0, 0);
        if (!p->closed_by_peer)
            entomb(p);
        nof_transport_count(t, NOF_C_PATHS_OPEN, (uint64_t)-1);
        if (!p->orderly)
            nof_transport_count(t, NOF_C_PATHS_DEAD, 1);
    } else if (!p->ours) {
        t->passive_opening--;
    }
    nof_tx_queue_release(t, nof_sentmap_clear(&p->sent));
    nof_reorder_clear(&p->reorder, &t->slots);
    unhash(p);
    p->state = NOF_PATH_DEAD;
    t->room_path = NULL;
    p->local_conn = 0;
    tell_port(t, NOF_PORT_CONN_DEAD + nof_path_index(p), 0);
    p->reason = reason;
    p->ack_pending = 0;
    p->want_ready = 0;
    p->next = t->dead_head;
    t->dead_head = nof_path_index(p);
    nof_path_touch(p);
}

void nof_paths_deliver_dead(struct nof_transport *t)
{
    uint32_t i = t->dead_head;

    /* Those that die in these callbacks wait for the next poll. */
    t->dead_head = NOF_NIL;
    /* bound: paths of one hash; paid by the frame */
    while (i != NOF_NIL) {
        struct nof_path *p = nof_path_at(t, i);
        uint32_t next = p->next;

        if (p->ours)
            t->cfg.ops->on_dead(t->cfg.up, p, p->reason);
        p->state = NOF_PATH_FREE;
        p->next = t->free_path;
        t->free_path = i;
        i = next;
    }
}

void nof_path_unknown(struct nof_transport *t, const struct nof_packet *packet)
{
    uint64_t conn = nof_get64(packet->common + NOF_WIRE_CONN);
    uint8_t type = packet->common[NOF_WIRE_TYPE];
    struct nof_frame *frame;

    nof_transport_count(t, NOF_C_DROP_CONN, 1);
    if (conn == 0 || type == NOF_WIRE_CLOSE)
        return;
    for (unsigned i = 0; i < NOF_TOMBSTONES; i++) {
        struct nof_tombstone *tomb = &t->tomb[i];
        struct nof_packet_fill fill = {.type = NOF_WIRE_CLOSE, .flags = tomb->flags};

        if (tomb->conn != conn)
            continue;
        if (t->now_ns - tomb->closed_ns < CLOSE_EVERY_NS || t->tx.count == NOF_TXQ_FRAMES ||
            !nof_packet_crc_ok(packet))
            return;
        frame = nof_tx_alloc(t, NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES, true);
        if (frame == NULL)
            return;
        nof_packet_finish(frame->data, tomb->head, tomb->ip_sum, &fill, 0);
        (void)nof_tx_queue_add(t, frame, NOF_NIL);
        t->tx.to_free++;
        tomb->closed_ns = t->now_ns;
        return;
    }
}

void nof_path_reset(struct nof_path *path, int reason)
{
    nof_path_bury(path, reason, true);
}

void nof_path_close(struct nof_path *path)
{
    path->orderly = 1;
    nof_path_bury(path, NOF_EPEERDEAD, true);
}

bool nof_path_acked(const struct nof_path *path, uint32_t pn)
{
    /* With nothing kept all has arrived, even if the cumulative acknowledgement that says so was lost. */
    uint32_t first = path->sent.next_pn;

    if (!nof_sentmap_empty(&path->sent))
        first = path->t->sent.entry[path->sent.head].pn;
    return nof_serial_before(pn, first);
}

uint32_t nof_path_body_max(const struct nof_path *path)
{
    return path->mtu_bytes - NOF_PACKET_IP_OVERHEAD_BYTES;
}

bool nof_path_long_more(const struct nof_path *path)
{
    return path->long_more;
}

uint32_t nof_path_sum_bytes(const struct nof_path *path)
{
    return path->t->join.len_bytes;
}

void *nof_path_user(const struct nof_path *path)
{
    return path->user;
}

void nof_path_set_user(struct nof_path *path, void *user)
{
    path->user = user;
}

uint64_t nof_path_job(const struct nof_path *path)
{
    return path->job_id;
}

uint64_t nof_path_peer_nic(const struct nof_path *path)
{
    return path->peer_nic;
}

bool nof_path_is_up(const struct nof_path *path)
{
    return path->state == NOF_PATH_UP;
}

uint32_t nof_path_flow_msgs(const struct nof_path *path)
{
    return path->flow_msgs;
}

uint32_t nof_path_flow_bytes(const struct nof_path *path)
{
    return path->flow_bytes;
}

void nof_path_expect(struct nof_path *path, int delta)
{
    path->expect = (uint32_t)((int64_t)path->expect + delta);
    nof_path_touch(path);
}
