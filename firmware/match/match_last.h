/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hot path. The queue of posted receives that an endpoint used last: receives of one key are mostly
 * posted, and messages of one key mostly come, one after another. What belongs to that queue needs no
 * hash and no look at another queue. Budget: 20 instructions to find, 30 to post, 30 to take out.
 *
 *   ep->last_queue   its head, or NOF_NIL; match.c moves it
 *
 * Each function does what its namesake in match.h does, or nothing: then that one must be asked. */
#ifndef NOF_MATCH_LAST_H
#define NOF_MATCH_LAST_H

#include "match/match.h"
#include "nic.h"

static inline bool nof_match_same_key(const struct nof_match_key *a, const struct nof_match_key *b)
{
    static_assert(sizeof *a == 16, "no padding: keys are compared as two words");
    return memcmp(a, b, sizeof *a) == 0;
}

/* nof_match_post() of a receive. False: it is of another queue. */
static inline bool nof_match_post_last(struct nof_nic *nic, struct nof_endpoint *ep, struct nof_recv *r,
                                       uint32_t index)
{
    if (ep->last_queue == NOF_NIL || ep->cookies_indexed)
        return false;
    struct nof_recv *head = nof_recv_at(nic, ep->last_queue);
    if (!nof_match_same_key(&head->key, &r->key))
        return false;
    uint32_t last = head->node.prev;
    r->kind = head->kind;
    r->order = nic->match.order++;
    r->node.hash = head->node.hash;
    r->node.bucket_prev = NOF_MATCH_NOT_HEAD;
    r->node.next = ep->last_queue;
    r->node.prev = last;
    nof_recv_at(nic, last)->node.next = index;
    head->node.prev = index;
    ep->posted[r->kind]++;
    ep->posted_total++;
    nic->posted_total++;
    return true;
}

/* nof_match_posted(): the head of that queue, if every receive of the endpoint names source and tag, so
 * that none of another queue can come before it. NULL: nothing is said. */
static inline struct nof_recv *nof_match_posted_last(const struct nof_nic *nic, const struct nof_endpoint *ep,
                                                     const struct nof_match_key *key)
{
    if (ep->last_queue == NOF_NIL || ep->posted[0] != ep->posted_total)
        return NULL;
    struct nof_recv *head = nof_recv_at(nic, ep->last_queue);
    return nof_match_same_key(&head->key, key) ? head : NULL;
}

/* nof_match_unpost() of the head of that queue. False: it is another, or the only one of its key. */
static inline bool nof_match_unpost_last(struct nof_nic *nic, struct nof_endpoint *ep,
                                         const struct nof_recv *r, uint32_t index)
{
    const struct nof_match_node *node = &r->node;
    if (ep->last_queue != index || node->next == index || ep->cookies_indexed)
        return false;
    struct nof_match_node *heir = &nof_recv_at(nic, node->next)->node;
    nof_recv_at(nic, node->prev)->node.next = node->next;
    heir->prev = node->prev;
    heir->bucket_next = node->bucket_next;
    heir->bucket_prev = node->bucket_prev;
    if (node->bucket_prev == NOF_NIL)
        nic->match.posted.bucket[node->hash & nic->match.posted.mask] = node->next;
    else
        nof_recv_at(nic, node->bucket_prev)->node.bucket_next = node->next;
    if (node->bucket_next != NOF_NIL)
        nof_recv_at(nic, node->bucket_next)->node.bucket_prev = node->next;
    ep->last_queue = node->next;
    ep->posted[r->kind]--;
    ep->posted_total--; /* not to zero: the heir is posted */
    nic->posted_total--;
    return true;
}

#endif
