/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path. Budget: one hash and one compare per kind of key that is in use at the endpoint. */
#include "match/match.h"

#include "match/match_last.h"
#include "nic.h"

/* How a table finds node and key of an entry: receives have one node, envelopes one per kind. */
struct view {
    struct nof_match_table *table;
    unsigned char *base;
    uint32_t stride;
    uint32_t node_at;
    uint32_t key_at;
    uint32_t shift; /* an entry is index << shift | kind */
};

static struct view recv_view(struct nof_nic *nic, struct nof_match_table *table)
{
    return (struct view){.table = table,
                         .base = nic->recvs.base,
                         .stride = sizeof(struct nof_recv),
                         .node_at = offsetof(struct nof_recv, node),
                         .key_at = offsetof(struct nof_recv, key)};
}

static struct view env_view(struct nof_nic *nic)
{
    return (struct view){.table = &nic->match.unexpected,
                         .base = nic->envs.base,
                         .stride = sizeof(struct nof_env),
                         .node_at = offsetof(struct nof_env, node),
                         .key_at = offsetof(struct nof_env, key),
                         .shift = 2};
}

static inline struct nof_match_node *node_of(const struct view *v, uint32_t entry)
{
    uint32_t kind = entry & ((1u << v->shift) - 1);
    void *at =
        v->base + (size_t)(entry >> v->shift) * v->stride + v->node_at + kind * sizeof(struct nof_match_node);
    return at;
}

static inline const struct nof_match_key *key_of(const struct view *v, uint32_t entry)
{
    void *at = v->base + (size_t)(entry >> v->shift) * v->stride + v->key_at;
    return at;
}

static inline struct nof_match_key of_kind(const struct nof_match_key *key, uint32_t kind)
{
    struct nof_match_key k = *key;
    if (kind & NOF_MATCH_ANY_SOURCE)
        k.source = NOF_ANY_SOURCE;
    if (kind & NOF_MATCH_ANY_TAG)
        k.tag = NOF_ANY_TAG;
    return k;
}

/* The seed is secret, so that a host cannot choose keys that collide with another endpoint's. */
static inline uint32_t hash_key(const struct nof_nic *nic, const struct nof_match_key *k)
{
    uint64_t h = ((uint64_t)k->ctx << 32 | (uint32_t)k->tag) ^ nic->seed;
    h *= 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    h += (uint64_t)k->ep << 32 | (uint32_t)k->source;
    h *= 0xd6e8feb86659fd93ull;
    return (uint32_t)(h >> 32);
}

static inline uint32_t find(const struct view *v, const struct nof_match_key *k, uint32_t kind, uint32_t hash)
{
    uint32_t at = v->table->bucket[hash & v->table->mask];
    /* bound: keys of one hash, whose seed is secret; paid by the receive or message */
    while (at != NOF_NIL) {
        if (v->shift == 0) {
            if (nof_match_same_key(key_of(v, at), k))
                return at;
        } else if ((at & 3) == kind) {
            struct nof_match_key other = of_kind(key_of(v, at), kind);
            if (nof_match_same_key(&other, k))
                return at;
        }
        at = node_of(v, at)->bucket_next;
    }
    return NOF_NIL;
}

/* Returns the head of the queue that the entry is in now. */
static inline uint32_t push(const struct view *v, uint32_t entry, const struct nof_match_key *k,
                            uint32_t kind, uint32_t hash)
{
    struct nof_match_node *node = node_of(v, entry);
    uint32_t head = find(v, k, kind, hash);
    node->hash = hash;
    if (head == NOF_NIL) {
        uint32_t *bucket = &v->table->bucket[hash & v->table->mask];
        node->bucket_next = *bucket;
        node->bucket_prev = NOF_NIL;
        node->next = entry;
        node->prev = entry;
        if (*bucket != NOF_NIL)
            node_of(v, *bucket)->bucket_prev = entry;
        *bucket = entry;
        return entry;
    }
    struct nof_match_node *first = node_of(v, head);
    node->bucket_prev = NOF_MATCH_NOT_HEAD;
    node->next = head;
    node->prev = first->prev;
    node_of(v, first->prev)->next = entry;
    first->prev = entry;
    return head;
}

/* `to` takes the place of head `node` in its bucket; NOF_NIL: nobody does. */
static inline void replace_head(const struct view *v, const struct nof_match_node *node, uint32_t to)
{
    uint32_t next = node->bucket_next;
    uint32_t prev = node->bucket_prev;
    if (to != NOF_NIL) {
        struct nof_match_node *heir = node_of(v, to);
        heir->bucket_next = next;
        heir->bucket_prev = prev;
    }
    if (prev == NOF_NIL)
        v->table->bucket[node->hash & v->table->mask] = to != NOF_NIL ? to : next;
    else
        node_of(v, prev)->bucket_next = to != NOF_NIL ? to : next;
    if (next != NOF_NIL)
        node_of(v, next)->bucket_prev = to != NOF_NIL ? to : prev;
}

static inline void unlink_entry(const struct view *v, uint32_t entry)
{
    struct nof_match_node *node = node_of(v, entry);
    bool head = node->bucket_prev != NOF_MATCH_NOT_HEAD;
    if (node->next == entry) {
        replace_head(v, node, NOF_NIL);
        return;
    }
    node_of(v, node->prev)->next = node->next;
    node_of(v, node->next)->prev = node->prev;
    if (head)
        replace_head(v, node, node->next);
}

static uint32_t *cookie_bucket(struct nof_nic *nic, uint32_t ep, uint64_t cookie)
{
    return &nic->match.cookies.bucket[nof_cookie_hash(nic->seed, ep, cookie) & nic->match.cookies.mask];
}

static void cookie_link(struct nof_nic *nic, struct nof_recv *r)
{
    uint32_t i = nof_recv_index(nic, r);
    uint32_t *bucket = cookie_bucket(nic, r->ep, r->cookie);
    r->indexed = 1;
    r->cookie_prev = NOF_NIL;
    r->cookie_next = *bucket;
    if (*bucket != NOF_NIL)
        nof_recv_at(nic, *bucket)->cookie_prev = i;
    *bucket = i;
}

static void cookie_unlink(struct nof_nic *nic, struct nof_recv *r)
{
    r->indexed = 0;
    if (r->cookie_prev == NOF_NIL)
        *cookie_bucket(nic, r->ep, r->cookie) = r->cookie_next;
    else
        nof_recv_at(nic, r->cookie_prev)->cookie_next = r->cookie_next;
    if (r->cookie_next != NOF_NIL)
        nof_recv_at(nic, r->cookie_next)->cookie_prev = r->cookie_prev;
}

void nof_match_index(struct nof_nic *nic, struct nof_recv *r)
{
    if (r->indexed)
        return;
    cookie_link(nic, r);
    nic->eps[r->ep].unindexed--;
}

static void unindex(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r)
{
    if (r->indexed)
        cookie_unlink(nic, r);
    else if (ep->cookies_indexed)
        ep->unindexed--;
}

struct nof_recv *nof_match_cookie(struct nof_nic *nic, uint32_t ep, uint64_t cookie)
{
    uint32_t i = *cookie_bucket(nic, ep, cookie);
    /* bound: receives of one hash, whose seed is secret; paid by the CANCEL */
    while (i != NOF_NIL) {
        struct nof_recv *r = nof_recv_at(nic, i);
        if (r->ep == ep && r->cookie == cookie && r->opcode != NOF_RECV_STEP)
            return r;
        i = r->cookie_next;
    }
    return NULL;
}

static struct nof_match_table *table_of(struct nof_nic *nic, const struct nof_recv *r)
{
    return r->kind < NOF_MATCH_KINDS ? &nic->match.posted : &nic->match.probes;
}

static bool is_probe(const struct nof_recv *r)
{
    return r->opcode == NOF_COMP_PROBE || r->opcode == NOF_COMP_MPROBE;
}

static uint8_t kind_of(const struct nof_recv *r)
{
    return (uint8_t)(nof_match_kind(&r->key) + (is_probe(r) ? NOF_MATCH_KINDS : 0));
}

static void counted(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_recv *r)
{
    if (r->claimed)
        ep->claims++;
    ep->posted_total++;
    nic->posted_total++;
}

static void uncounted(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_recv *r)
{
    if (r->claimed)
        ep->claims--;
    ep->posted_total--;
    nic->posted_total--;
}

void nof_match_post(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    r->kind = kind_of(r);
    struct view v = recv_view(nic, table_of(nic, r));
    r->order = nic->match.order++;
    uint32_t head = push(&v, nof_recv_index(nic, r), &r->key, 0, hash_key(nic, &r->key));
    if (r->kind < NOF_MATCH_KINDS)
        ep->last_queue = head;
    if (ep->cookies_indexed || r->claimed)
        cookie_link(nic, r);
    ep->posted[r->kind]++;
    counted(nic, ep, r);
}

static void leave_queue(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_recv *r)
{
    uint32_t i = nof_recv_index(nic, r);
    struct view v = recv_view(nic, table_of(nic, r));
    if (ep->last_queue == i)
        ep->last_queue = r->node.next != i ? r->node.next : NOF_NIL;
    unlink_entry(&v, i);
    ep->posted[r->kind]--;
}

void nof_match_unpost(struct nof_nic *nic, struct nof_recv *r)
{
    struct nof_endpoint *ep = &nic->eps[r->ep];
    leave_queue(nic, ep, r);
    unindex(nic, ep, r);
    uncounted(nic, ep, r);
}

void nof_match_put_aside(struct nof_nic *nic, struct nof_recv *r)
{
    leave_queue(nic, &nic->eps[r->ep], r);
}

void nof_match_keep_aside(struct nof_nic *nic, struct nof_recv *r)
{
    r->kind = kind_of(r);
    cookie_link(nic, r);
    counted(nic, &nic->eps[r->ep], r);
}

void nof_match_let_go(struct nof_nic *nic, struct nof_recv *r)
{
    cookie_unlink(nic, r);
    uncounted(nic, &nic->eps[r->ep], r);
}

uint32_t nof_match_probes(const struct nof_endpoint *ep)
{
    uint32_t n = 0;
    for (uint32_t kind = 0; kind < NOF_MATCH_KINDS; kind++)
        n += ep->posted[NOF_MATCH_KINDS + kind];
    return n;
}

static struct nof_recv *earliest(struct nof_nic *nic, struct nof_match_table *table, const uint32_t *counts,
                                 const struct nof_match_key *key)
{
    struct view v = recv_view(nic, table);
    struct nof_recv *best = NULL;
    if (counts[0] > 0) {
        uint32_t i = find(&v, key, 0, hash_key(nic, key));
        best = i != NOF_NIL ? nof_recv_at(nic, i) : NULL;
    }
    if ((counts[1] | counts[2] | counts[3]) == 0)
        return best;
    for (uint32_t kind = 1; kind < NOF_MATCH_KINDS; kind++) {
        struct nof_match_key k = of_kind(key, kind);
        uint32_t i = counts[kind] > 0 ? find(&v, &k, kind, hash_key(nic, &k)) : NOF_NIL;
        if (i != NOF_NIL && (best == NULL || nof_recv_at(nic, i)->order < best->order))
            best = nof_recv_at(nic, i);
    }
    return best;
}

struct nof_recv *nof_match_posted(struct nof_nic *nic, struct nof_endpoint *ep,
                                  const struct nof_match_key *key)
{
    struct nof_recv *r = earliest(nic, &nic->match.posted, ep->posted, key);
    if (r != NULL)
        ep->last_queue = nof_recv_index(nic, r);
    return r;
}

struct nof_recv *nof_match_probe(struct nof_nic *nic, struct nof_endpoint *ep,
                                 const struct nof_match_key *key)
{
    return earliest(nic, &nic->match.probes, ep->posted + NOF_MATCH_KINDS, key);
}

void nof_match_store(struct nof_nic *nic, struct nof_env *e)
{
    struct view v = env_view(nic);
    uint32_t i = nof_env_index(nic, e);
    nic->eps[e->key.ep].stored++;
    for (uint32_t kind = 0; kind < NOF_MATCH_KINDS; kind++) {
        struct nof_match_key k = of_kind(&e->key, kind);
        push(&v, i << 2 | kind, &k, kind, hash_key(nic, &k));
    }
}

void nof_match_unstore(struct nof_nic *nic, struct nof_env *e)
{
    struct view v = env_view(nic);
    uint32_t i = nof_env_index(nic, e);
    nic->eps[e->key.ep].stored--;
    if (e->flags & NOF_ENV_F_FAR)
        nic->eps[e->key.ep].far--;
    e->flags &= (uint8_t)~NOF_ENV_F_FAR;
    for (uint32_t kind = 0; kind < NOF_MATCH_KINDS; kind++)
        unlink_entry(&v, i << 2 | kind);
}

struct nof_env *nof_match_find(struct nof_nic *nic, const struct nof_match_key *key)
{
    if (nic->eps[key->ep].stored == 0)
        return NULL;
    struct view v = env_view(nic);
    uint32_t kind = nof_match_kind(key);
    struct nof_match_key k = of_kind(key, kind);
    uint32_t at = find(&v, &k, kind, hash_key(nic, &k));
    return at == NOF_NIL ? NULL : nof_env_at(nic, at >> 2);
}

struct nof_env *nof_match_find_handle(struct nof_nic *nic, const struct nof_match_key *key, uint64_t handle,
                                      uint8_t parked)
{
    struct view v = env_view(nic);
    uint32_t head = NOF_NIL;
    if (nic->eps[key->ep].stored > 0 && nof_match_kind(key) == 0)
        head = find(&v, key, 0, hash_key(nic, key));
    /* bound: messages of one key in the store, of max_envelopes; paid by the sender's credit, a cancel each */
    for (uint32_t at = head; at != NOF_NIL;) {
        struct nof_env *e = nof_env_at(nic, at >> 2);
        bool wanted = (e->flags & (NOF_ENV_F_RTS | NOF_ENV_F_SYNC)) && !(e->flags & NOF_ENV_F_FAILED);
        if (wanted && e->handle == handle && (e->flags & NOF_ENV_F_PARKED) == parked)
            return e;
        at = node_of(&v, at)->next;
        if (at == head)
            break;
    }
    return NULL;
}

struct nof_env *nof_match_after(struct nof_nic *nic, const struct nof_env *e)
{
    struct nof_env *next = nof_env_at(nic, e->node[0].next >> 2);
    return next->node[0].bucket_prev == NOF_MATCH_NOT_HEAD ? next : NULL; /* the head: once around */
}
