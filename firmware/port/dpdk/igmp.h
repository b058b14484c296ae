/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IGMPv3 (RFC 3376) of a host without a kernel: the groups of one port, the reports that switches which snoop go by, and
 * the queries that ask for them. Sources are never named.
 *
 *   nof_igmp_change() -> nof_igmp_report() while nof_igmp_due()          twice, in case one is lost
 *   nof_igmp_hear() each frame that may be a query -> due
 *
 * A value; no packet is longer than NOF_IGMP_FRAME_BYTES. */
#ifndef NOF_PORT_IGMP_H
#define NOF_PORT_IGMP_H

#include <stdbool.h>
#include <stdint.h>

#define NOF_IGMP_GROUPS_MAX 62u
#define NOF_IGMP_FRAME_BYTES (14u + 24u + 8u + 8u * NOF_IGMP_GROUPS_MAX)
#define NOF_IGMP_REPEAT_NS 1000000000u
#define NOF_IGMP_REPORTS 2u

struct nof_igmp {
    uint8_t mac[6];
    uint32_t ip4; /* host byte order, as all here */
    unsigned ngroups;
    struct {
        uint32_t ip4;
        uint32_t times; /* joined */
    } group[NOF_IGMP_GROUPS_MAX];
    uint32_t left; /* the group that is being left; 0: none */
    unsigned reports; /* to be sent, and: */
    uint64_t next_ns; /* not before */
};

void nof_igmp_init(struct nof_igmp *igmp, const uint8_t mac[6], uint32_t ip4);
/* Joined or left once more. 1: it is new, or gone; 0: neither; -1: too many groups. */
int nof_igmp_change(struct nof_igmp *igmp, uint32_t group, bool join);
/* Is it a query? Then a report is due, NOF_IGMP_REPEAT_NS after the last one. */
bool nof_igmp_hear(struct nof_igmp *igmp, const uint8_t *frame, uint32_t len_bytes);
static inline bool nof_igmp_due(const struct nof_igmp *igmp, uint64_t now_ns)
{
    return igmp->reports > 0 && now_ns >= igmp->next_ns;
}
/* One report of all groups, and of what is left; its length. */
uint32_t nof_igmp_report(struct nof_igmp *igmp, uint64_t now_ns, uint8_t out[NOF_IGMP_FRAME_BYTES]);

#endif
