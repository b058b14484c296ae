/* SPDX-License-Identifier: BSD-3-Clause
 *
 * HELLO: symmetric, so that it does not matter who begins, or whether both do. Each side repeats
 * its own HELLO until the other echoes its nonce: only then has the other proved, freshly, that it
 * knows the key of the job. HELLOs are padded to the MTU under test. docs/WIRE.md, "Handshake". */
#include "transport/state.h"

#include "transport/siphash.h"

/* The MTU levels share dead_after: two sixths of it for the first, one for each that follows. */
#define LEVEL_SHARES 6u
#define HELLO_FIRST_NS (2u * NOF_MS)
#define HELLO_TRIES_MIN 5u
#define SIGNED_PREFIX_BYTES 3u /* version, type, flags */
/* Paths that others have begun and not yet proved: at most one in this many, so that recorded
 * HELLOs that are replayed cannot use up the table. */
#define PASSIVE_SHARE 4u

static void tag(const uint8_t key[NOF_SIPHASH_KEY_BYTES], uint8_t flags, const uint8_t *fields,
                uint8_t tag_out[NOF_SIPHASH_TAG_BYTES])
{
    uint8_t text[SIGNED_PREFIX_BYTES + NOF_WIRE_HELLO_TAG];

    text[0] = NOF_WIRE_VERSION;
    text[1] = NOF_WIRE_HELLO;
    text[2] = flags;
    memcpy(text + SIGNED_PREFIX_BYTES, fields, NOF_WIRE_HELLO_TAG);
    nof_siphash128(key, text, sizeof(text), tag_out);
}

static bool tag_equal(const uint8_t *a, const uint8_t *b)
{
    unsigned differ = 0;

    /* In constant time: the position of the first wrong byte is nobody's business. */
    for (unsigned i = 0; i < NOF_SIPHASH_TAG_BYTES; i++)
        differ |= (unsigned)(a[i] ^ b[i]);
    return differ == 0;
}

static uint8_t window_log2(uint32_t frames)
{
    uint8_t n = 0;

    /* bound: bits of a window; paid by set-up */
    while (frames >> (n + 1) != 0)
        n++;
    return n;
}

static void hello_send(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    const uint8_t *key = t->cfg.ops->job_key(t->cfg.up, p->job_id);
    uint8_t f[NOF_WIRE_HELLO_BYTES];
    uint8_t flags = window_log2(t->window_frames) | NOF_WIRE_HELLO_F_LONG_MORE;
    uint8_t head[NOF_PACKET_HEAD_BYTES];
    uint16_t ip_sum = p->ip_sum;
    uint32_t pad = p->mtu_bytes - NOF_PACKET_IP_OVERHEAD_BYTES - (uint32_t)sizeof(f);
    struct nof_packet_addr to;

    if (key == NULL) {
        nof_path_bury(p, NOF_EPERM, false);
        return;
    }
    if (p->state == NOF_PATH_UP) {
        /* Nothing is tested any more, and a small frame is at hand even when the pool is empty. */
        flags |= NOF_WIRE_HELLO_F_UP;
        pad = 0;
    }
    nof_put64(f + NOF_WIRE_HELLO_JOB, p->job_id);
    nof_put64(f + NOF_WIRE_HELLO_SRC_NIC, t->cfg.nic->nic_id);
    nof_put64(f + NOF_WIRE_HELLO_DST_NIC, p->peer_nic);
    nof_put64(f + NOF_WIRE_HELLO_CONN, p->local_conn);
    nof_put64(f + NOF_WIRE_HELLO_NONCE, p->nonce);
    nof_put64(f + NOF_WIRE_HELLO_ECHO, p->peer_nonce);
    nof_put32(f + NOF_WIRE_HELLO_MTU, t->cfg.nic->mtu_bytes);
    nof_put32(f + NOF_WIRE_HELLO_PN, p->sent.cum_pn);
    nof_put32(f + NOF_WIRE_HELLO_FLOW_MSGS, t->cfg.flow_msgs);
    nof_put32(f + NOF_WIRE_HELLO_FLOW_BYTES, t->cfg.flow_bytes);
    tag(key, flags, f, f + NOF_WIRE_HELLO_TAG);

    /* An answer after the path is up must not carry the connection id in its header. */
    memcpy(head, p->head, sizeof(head));
    nof_path_address(p, &to);
    nof_path_set_peer(p, &to, 0);
    if (nof_tx_unreliable(p, NOF_WIRE_HELLO, flags, f, sizeof(f), pad) && p->state == NOF_PATH_OPENING) {
        /* Karn: which of two HELLOs was answered cannot be told. */
        p->pto_base_ns = p->pto_base_ns == 0 ? t->now_ns : UINT64_MAX;
        if (p->unanswered > 0)
            nof_transport_count(t, NOF_C_PROBES_TX, 1);
    }
    memcpy(p->head, head, sizeof(head));
    p->ip_sum = ip_sum;
}

static void start(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    p->mtu_bytes = (uint16_t)t->cfg.nic->mtu_bytes;
    p->live_ns = t->now_ns;
    p->probe_at_ns = t->now_ns + HELLO_FIRST_NS;
    nof_path_touch(p);
    hello_send(p);
}

int nof_path_open(struct nof_transport *t, uint64_t now_ns, uint64_t job_id, const struct nof_card *card,
                  struct nof_path **path_out)
{
    struct nof_packet_addr to = {.udp_port = card->udp_port, .ip4 = card->ip4};
    struct nof_path *p = NULL;
    struct nof_path *best = NULL;

    nof_tick(t, now_ns);
    if (card->nic_id == t->cfg.nic->nic_id)
        return NOF_EINVAL;
    /* bound: paths of one job and NIC; paid by the PEER */
    while ((p = nof_path_find(t, job_id, card->nic_id, p)) != NULL)
        if (best == NULL || p->state == NOF_PATH_UP)
            best = p;
    memcpy(to.mac, card->mac, sizeof(to.mac));
    if (best != NULL) {
        if (!best->ours && best->state == NOF_PATH_OPENING) {
            t->passive_opening--;
            nof_path_set_peer(best, &to, 0); /* better than where a HELLO came from */
        }
        best->ours = 1;
        *path_out = best;
        return NOF_OK;
    }
    p = nof_path_alloc(t, job_id, card->nic_id);
    if (p == NULL)
        return NOF_ENOMEM;
    p->ours = 1;
    nof_path_set_peer(p, &to, 0);
    start(p);
    *path_out = p;
    return NOF_OK;
}

/* begin + share: when the MTU under test is given up. p->backoff counts the levels tried. */
static uint64_t level_end(const struct nof_path *p)
{
    return p->live_ns + (2ull + p->backoff) * (nof_dead_after_ns(p->t) / LEVEL_SHARES);
}

uint64_t nof_handshake_deadline(const struct nof_path *p)
{
    uint64_t dead = p->live_ns + nof_dead_after_ns(p->t);

    if (nof_path_unplugged(p))
        return NOF_NO_DEADLINE;
    return p->probe_at_ns < dead ? p->probe_at_ns : dead;
}

/* A HELLO came from elsewhere than the one before: one of the two was damaged on the way. Ours go to both, in turn. */
static void ask_other(struct nof_path *p)
{
    struct nof_packet_addr to;

    if (p->ours || p->other.udp_port == 0)
        return;
    nof_path_address(p, &to);
    nof_path_set_peer(p, &p->other, 0);
    p->other = to;
}

void nof_handshake_timer(struct nof_path *p)
{
    struct nof_transport *t = p->t;

    if (t->now_ns < nof_handshake_deadline(p))
        return;
    if (t->now_ns >= p->live_ns + nof_dead_after_ns(t) && p->unanswered >= HELLO_TRIES_MIN &&
        !(p->ours && nof_live_excuse(p))) {
        if (p->ours)
            nof_path_log(p, 1,
                         p->bad_key ? "handshake refused, keys of the job differ"
                                    : "no answer to the handshake: NIC gone, or the link loses all");
        nof_path_bury(p, p->bad_key ? NOF_EPERM : NOF_EPEERDEAD, false);
        return;
    }
    if (p->unanswered < UINT8_MAX)
        p->unanswered++;
    /* The nonce may have come from a recorded HELLO: now and then begin as if it were unknown. Not
     * where we only answer: without an echo we would seem to begin anew. */
    if (p->ours && p->unanswered % 2 == 0)
        p->peer_nonce = 0;
    if (t->now_ns >= level_end(p)) {
        p->mtu_bytes = nof_mtu_level_below(p->mtu_bytes);
        p->backoff++;
    }
    /* Doubling, up to a tenth of dead_after: several tries on each level. */
    uint64_t wait = HELLO_FIRST_NS << (p->unanswered < 8 ? p->unanswered : 8);
    uint64_t most = nof_dead_after_ns(t) / 20;
    p->probe_at_ns = t->now_ns + (wait < most ? wait : most);
    ask_other(p);
    hello_send(p);
}

static void go_up(struct nof_path *p)
{
    struct nof_transport *t = p->t;
    struct nof_path *other = NULL;
    struct nof_cc_path cc;
    uint64_t sample_ns = p->pto_base_ns != UINT64_MAX ? t->now_ns - p->pto_base_ns : 0;
    bool silent = !p->ours;

    /* The peer has begun anew: what we had with it before is gone at its side. */
    /* bound: tries until a connection id is free; paid by the handshake */
    do {
        struct nof_path *next = nof_path_find(t, p->job_id, p->peer_nic, other);

        if (other != NULL && other != p)
            nof_path_bury(other, NOF_EPEERDEAD, false);
        other = next;
    } while (other != NULL);

    if (silent)
        t->passive_opening--;
    p->ours = 1;
    p->state = NOF_PATH_UP;
    p->backoff = 0;
    nof_rtt_init(&p->rtt);
    if (sample_ns != 0)
        (void)nof_rtt_update(&p->rtt, sample_ns, 0, t->now_ns);
    cc = nof_path_cc(p);
    nof_cc_init(&p->cc, &cc);
    nof_mtu_settled(p);
    nof_live_heard(p);
    p->pto_base_ns = t->now_ns;
    p->probe_at_ns = 0;
    nof_transport_count(t, NOF_C_PATHS_OPENED, 1);
    nof_transport_count(t, NOF_C_PATHS_OPEN, 1);
}

/* What this HELLO says of the peer. Trusted once it has echoed our nonce. */
static void bind_peer(struct nof_path *p, const uint8_t *f, uint8_t flags, uint32_t ip_bytes)
{
    uint32_t mtu = nof_get32(f + NOF_WIRE_HELLO_MTU);
    uint32_t window = 1u << (flags & NOF_WIRE_HELLO_F_WINDOW);

    p->peer_nonce = nof_get64(f + NOF_WIRE_HELLO_NONCE);
    p->peer_mtu_bytes = (uint16_t)(mtu < UINT16_MAX ? mtu : UINT16_MAX);
    if (p->mtu_bytes > p->peer_mtu_bytes)
        p->mtu_bytes = p->peer_mtu_bytes;
    /* The peer has fallen back to this size: most networks are as narrow in our direction. */
    if (p->mtu_bytes > ip_bytes && ip_bytes >= NOF_MTU_MIN_BYTES)
        p->mtu_bytes = (uint16_t)ip_bytes;
    p->long_more = (flags & NOF_WIRE_HELLO_F_LONG_MORE) != 0;
    p->window_frames = (uint16_t)(window < p->t->window_frames ? window : p->t->window_frames);
    nof_reorder_init(&p->reorder, nof_get32(f + NOF_WIRE_HELLO_PN));
    p->flow_msgs = nof_get32(f + NOF_WIRE_HELLO_FLOW_MSGS);
    p->flow_bytes = nof_get32(f + NOF_WIRE_HELLO_FLOW_BYTES);
}

static void set_source(struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_packet_addr from;

    nof_packet_from(packet, &from);
    nof_path_set_peer(p, &from, 0);
}

static bool is_source(const struct nof_path *p, const struct nof_packet *packet)
{
    struct nof_packet_addr from, to;

    nof_packet_from(packet, &from);
    nof_path_address(p, &to);
    return memcmp(from.mac, to.mac, sizeof(from.mac)) == 0 && from.ip4 == to.ip4 &&
           from.udp_port == to.udp_port;
}

/* The path this HELLO belongs to: the one it knows of, one that waits for its first answer, or a
 * new one. An established path is never harmed by a HELLO: it may be a recorded one. */
static struct nof_path *path_for(struct nof_transport *t, const struct nof_packet *packet, const uint8_t *f)
{
    uint64_t job_id = nof_get64(f + NOF_WIRE_HELLO_JOB);
    uint64_t src_nic = nof_get64(f + NOF_WIRE_HELLO_SRC_NIC);
    uint64_t nonce = nof_get64(f + NOF_WIRE_HELLO_NONCE);
    struct nof_path *opening = NULL;
    struct nof_path *up = NULL;
    struct nof_path *p = NULL;

    /* bound: paths of one job and NIC; paid by the handshake */
    while ((p = nof_path_find(t, job_id, src_nic, p)) != NULL) {
        if (p->state == NOF_PATH_UP && p->peer_nonce == nonce)
            return p;
        if (p->state == NOF_PATH_OPENING)
            opening = p;
        else
            up = p;
    }
    if (opening != NULL)
        return opening;
    if (up != NULL && nof_get64(f + NOF_WIRE_HELLO_ECHO) != 0) {
        /* The peer answers something we never said, or no longer know of: somebody has played an
         * old HELLO of ours to it. Who begins anew echoes nothing. */
        nof_transport_count(t, NOF_C_DROP_CONN, 1);
        return NULL;
    }
    if (t->passive_opening > t->max_paths / PASSIVE_SHARE) {
        nof_transport_count(t, NOF_C_DROP_NOMEM, 1);
        return NULL;
    }
    p = nof_path_alloc(t, job_id, src_nic);
    if (p == NULL) {
        nof_transport_count(t, NOF_C_DROP_NOMEM, 1);
        return NULL;
    }
    t->passive_opening++;
    set_source(p, packet);
    p->mtu_bytes = (uint16_t)t->cfg.nic->mtu_bytes;
    p->live_ns = t->now_ns;
    p->probe_at_ns = t->now_ns + HELLO_FIRST_NS;
    return p;
}

/* Is it a good HELLO for us, of a job that we know, under its key? */
static bool hello_check(struct nof_transport *t, const struct nof_packet *packet, const uint8_t *f)
{
    uint8_t expected[NOF_SIPHASH_TAG_BYTES];
    const uint8_t *key;
    uint8_t flags = packet->common[NOF_WIRE_FLAGS];
    uint64_t src_nic = nof_get64(f + NOF_WIRE_HELLO_SRC_NIC);
    uint64_t job_id = nof_get64(f + NOF_WIRE_HELLO_JOB);
    uint32_t mtu = nof_get32(f + NOF_WIRE_HELLO_MTU);

    if (nof_get64(f + NOF_WIRE_HELLO_DST_NIC) != t->cfg.nic->nic_id || src_nic == t->cfg.nic->nic_id)
        return false;
    key = t->cfg.ops->job_key(t->cfg.up, job_id);
    if (key == NULL)
        return false;
    tag(key, flags, f, expected);
    if (!tag_equal(expected, f + NOF_WIRE_HELLO_TAG)) {
        struct nof_path *p = nof_path_find(t, job_id, src_nic, NULL);

        if (p != NULL && p->state == NOF_PATH_OPENING)
            p->bad_key = 1;
        return false;
    }
    return nof_get64(f + NOF_WIRE_HELLO_NONCE) != 0 && nof_get64(f + NOF_WIRE_HELLO_CONN) != 0 &&
           mtu >= NOF_MTU_MIN_BYTES && (flags & NOF_WIRE_HELLO_F_WINDOW) >= 5 &&
           (flags & NOF_WIRE_HELLO_F_WINDOW) <= 10;
}

void nof_handshake_rx(struct nof_transport *t, const struct nof_packet *packet)
{
    const uint8_t *f = packet->common + NOF_WIRE_COMMON_BYTES;
    uint8_t flags = packet->common[NOF_WIRE_FLAGS];

    if (packet->fields_bytes != NOF_WIRE_HELLO_BYTES) {
        nof_transport_count(t, NOF_C_DROP_LENGTH, 1);
        return;
    }
    if (!hello_check(t, packet, f)) {
        nof_transport_count(t, NOF_C_DROP_JOB, 1);
        return;
    }
    struct nof_path *p = path_for(t, packet, f);
    if (p == NULL)
        return;
    nof_path_touch(p);
    if (p->state == NOF_PATH_UP) {
        if (!(flags & NOF_WIRE_HELLO_F_UP))
            hello_send(p);
        return;
    }

    bool proved = nof_get64(f + NOF_WIRE_HELLO_ECHO) == p->nonce;

    bind_peer(p, f, flags, packet->len_bytes + NOF_PACKET_IP_OVERHEAD_BYTES - NOF_WIRE_COMMON_BYTES);
    if (!proved) {
        /* Without a card the peer is where its HELLO came from. No checksum covers all of that, so
         * it counts until an answer has proved it right. */
        if (!p->ours)
            set_source(p, packet);
        hello_send(p);
        return;
    }

    struct nof_packet_addr to;
    if (!p->ours && !is_source(p, packet)) {
        /* One of the two is damaged, and a damaged one came after our answer had left: ask both, and
         * believe what two HELLOs in turn agree on. */
        hello_send(p);
        nof_path_address(p, &p->other);
        set_source(p, packet);
        hello_send(p);
        return;
    }
    nof_path_address(p, &to);
    nof_path_set_peer(p, &to, nof_get64(f + NOF_WIRE_HELLO_CONN));
    go_up(p);
    /* The peer may not know yet that we have seen its nonce. */
    if (!(flags & NOF_WIRE_HELLO_F_UP))
        hello_send(p);
    t->cfg.ops->on_up(t->cfg.up, p);
}
