/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast groups of a port: by the kernel beside a kernel interface; else by the device's filter, and reports of our
 * own (igmp.h). */
#include "port/dpdk/port_private.h"

#include <string.h>

#include "nof/status.h"
#include "port/dpdk/netif.h"

static int set_filter(struct nof_dpdk_port *port)
{
    struct rte_ether_addr list[MULTICAST_MAX];

    for (unsigned i = 0; i < port->nmulticast; i++)
        memcpy(list[i].addr_bytes, port->multicast[i].mac, sizeof(list[i].addr_bytes));
    if (rte_eth_dev_set_mc_addr_list(port->port_id, list, port->nmulticast) == 0)
        return NOF_OK;
    if (!port->allmulti)
        port->allmulti = rte_eth_allmulticast_enable(port->port_id) == 0;
    return port->allmulti ? NOF_OK : NOF_ENOTSUP;
}

/* 1: the filter changes; 0: others still have this address; negative: it is full. */
static int count_mac(struct nof_dpdk_port *port, const uint8_t mac[6], bool join)
{
    unsigned at = 0;

    while (at < port->nmulticast && memcmp(port->multicast[at].mac, mac, 6) != 0)
        at++;
    if (at == port->nmulticast && (!join || at == MULTICAST_MAX))
        return join ? NOF_ENOMEM : 0;
    if (at == port->nmulticast) {
        memcpy(port->multicast[at].mac, mac, 6);
        port->multicast[port->nmulticast++].times = 0;
    }
    port->multicast[at].times += join ? 1u : UINT32_MAX;
    if (join)
        return port->multicast[at].times == 1;
    if (port->multicast[at].times > 0)
        return 0;
    port->multicast[at] = port->multicast[--port->nmulticast];
    return 1;
}

static int filter(struct nof_dpdk_port *port, const uint8_t mac[6], bool join)
{
    int rc = count_mac(port, mac, join);

    if (rc > 0)
        rc = set_filter(port);
    if (rc == NOF_ENOTSUP && join)
        (void)count_mac(port, mac, false);
    return rc;
}

int nof_dpdk_queue_group(void *queue, uint32_t ip4, const uint8_t mac[6], bool join)
{
    static const uint8_t queries[6] = {0x01, 0x00, 0x5e, 0x00, 0x00, 0x01}; /* to all hosts */
    struct nof_dpdk_queue *q = queue;
    struct nof_dpdk_port *port = q->port;
    int changes, rc = NOF_OK;

    if (q->gone)
        return NOF_ENOTSUP;
    if (port->info.ncores != 1) /* a group's frames come to one core, and the others would miss them */
        return NOF_ENOTSUP;
    if (q->igmp.ngroups == 0 && q->igmp.reports == 0)
        nof_igmp_init(&q->igmp, q->arp.mac, q->arp.ip4);
    changes = nof_igmp_change(&q->igmp, ip4, join);
    if (changes < 0)
        return NOF_ENOMEM;
    if (port->info.ifname[0] != '\0') {
        if (changes > 0 && nof_netif_group(&port->member_fd, port->info.ifname, ip4, join) != 0)
            rc = NOF_ENOTSUP;
    } else {
        rc = filter(port, mac, join);
        if (rc == NOF_OK && changes > 0 && q->igmp.ngroups == (join ? 1u : 0u)) {
            rc = filter(port, queries, join);
            if (rc != NOF_OK && join)
                (void)filter(port, mac, false);
        }
    }
    if (rc != NOF_OK && join)
        (void)nof_igmp_change(&q->igmp, ip4, false);
    else if (changes > 0)
        nof_dpdk_queue_knows_group(q, ip4, join);
    if (port->info.ifname[0] != '\0')
        q->igmp.reports = 0; /* they are the kernel's */
    return rc;
}
