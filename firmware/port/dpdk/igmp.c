/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/igmp.h"

#include <string.h>

#include "base/bytes.h"

#define ETH_BYTES 14u
#define VLAN_BYTES 4u
#define IP_BYTES 24u /* with the router alert option */
#define PROTO_IGMP 2u
#define TYPE_QUERY 0x11u
#define TYPE_REPORT 0x22u
#define REPORTS_TO 0xe0000016u /* 224.0.0.22: routers that speak version 3 */
enum { IS_EXCLUDE = 2, TO_INCLUDE = 3 }; /* of no source: all are wanted; none is */

static void put_sum(uint8_t *at, const uint8_t *from, uint32_t bytes)
{
    uint32_t sum = 0;

    nof_put_be16(at, 0);
    for (uint32_t i = 0; i < bytes; i += 2)
        sum += nof_get_be16(from + i);
    sum = (sum & 0xffffu) + (sum >> 16);
    nof_put_be16(at, ~((sum & 0xffffu) + (sum >> 16)) & 0xffffu);
}

void nof_igmp_init(struct nof_igmp *igmp, const uint8_t mac[6], uint32_t ip4)
{
    memset(igmp, 0, sizeof(*igmp));
    memcpy(igmp->mac, mac, sizeof(igmp->mac));
    igmp->ip4 = ip4;
}

static void report_soon(struct nof_igmp *igmp, unsigned times)
{
    if (igmp->reports < times)
        igmp->reports = times;
    igmp->next_ns = 0;
}

int nof_igmp_change(struct nof_igmp *igmp, uint32_t group, bool join)
{
    unsigned at = 0;

    while (at < igmp->ngroups && igmp->group[at].ip4 != group)
        at++;
    if (at == igmp->ngroups && (!join || at == NOF_IGMP_GROUPS_MAX))
        return join ? -1 : 0;
    if (at == igmp->ngroups) {
        igmp->group[igmp->ngroups++].ip4 = group;
        igmp->group[at].times = 0;
        report_soon(igmp, NOF_IGMP_REPORTS);
    }
    igmp->group[at].times += join ? 1u : UINT32_MAX;
    if (join)
        return igmp->group[at].times == 1;
    if (igmp->group[at].times > 0)
        return 0;
    igmp->group[at] = igmp->group[--igmp->ngroups];
    igmp->left = group;
    report_soon(igmp, NOF_IGMP_REPORTS);
    return 1;
}

bool nof_igmp_hear(struct nof_igmp *igmp, const uint8_t *frame, uint32_t len_bytes)
{
    uint32_t at = ETH_BYTES;

    if (len_bytes >= ETH_BYTES && nof_get_be16(frame + 12) == 0x8100u)
        at += VLAN_BYTES;
    if (len_bytes < at + 20 || nof_get_be16(frame + at - 2) != 0x0800u || frame[at] >> 4 != 4 ||
        frame[at + 9] != PROTO_IGMP)
        return false;
    at += (uint32_t)(frame[at] & 15u) * 4;
    if (len_bytes < at + 8 || frame[at] != TYPE_QUERY)
        return false;
    if (igmp->ngroups > 0 && igmp->reports == 0)
        igmp->reports = 1; /* not before the time since the last one is over, however many ask */
    return true;
}

static uint32_t put_record(uint8_t *out, uint8_t type, uint32_t group)
{
    memset(out, 0, 8);
    out[0] = type;
    nof_put_be32(out + 4, group);
    return 8;
}

uint32_t nof_igmp_report(struct nof_igmp *igmp, uint64_t now_ns, uint8_t out[NOF_IGMP_FRAME_BYTES])
{
    static const uint8_t to[6] = {0x01, 0x00, 0x5e, 0x00, 0x00, 0x16};
    uint8_t *ip = out + ETH_BYTES, *report = ip + IP_BYTES;
    unsigned n = igmp->ngroups;
    uint32_t bytes = 8;

    memset(out, 0, ETH_BYTES + IP_BYTES + 8);
    memcpy(out, to, sizeof(to));
    memcpy(out + 6, igmp->mac, sizeof(igmp->mac));
    nof_put_be16(out + 12, 0x0800u);
    for (unsigned i = 0; i < n; i++)
        bytes += put_record(report + bytes, IS_EXCLUDE, igmp->group[i].ip4);
    if (igmp->left != 0 && n < NOF_IGMP_GROUPS_MAX) {
        bytes += put_record(report + bytes, TO_INCLUDE, igmp->left);
        n++;
    }
    report[0] = TYPE_REPORT;
    nof_put_be16(report + 6, n);
    put_sum(report + 2, report, bytes);
    ip[0] = 0x46;
    ip[1] = 0xc0;
    nof_put_be16(ip + 2, IP_BYTES + bytes);
    ip[8] = 1;
    ip[9] = PROTO_IGMP;
    nof_put_be32(ip + 12, igmp->ip4);
    nof_put_be32(ip + 16, REPORTS_TO);
    nof_put_be32(ip + 20, 0x94040000u); /* router alert */
    put_sum(ip + 10, ip, IP_BYTES);
    igmp->next_ns = now_ns + NOF_IGMP_REPEAT_NS;
    if (--igmp->reports == 0)
        igmp->left = 0;
    return ETH_BYTES + IP_BYTES + bytes;
}
