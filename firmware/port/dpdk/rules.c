/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules of the device, for who has them: the UDP destination port chooses the queue. */
#include "port/dpdk/port_private.h"

#include <rte_flow.h>

static struct rte_flow *add_rule(const struct nof_dpdk_port *port, uint16_t udp_port, uint16_t queue)
{
    struct rte_flow_item_udp udp = {.hdr.dst_port = rte_cpu_to_be_16(udp_port)};
    struct rte_flow_item_udp mask = {.hdr.dst_port = RTE_BE16(0xffff)};
    struct rte_flow_action_queue to = {.index = queue};
    struct rte_flow_attr attr = {.ingress = 1};
    struct rte_flow_item pattern[] = {
        {.type = RTE_FLOW_ITEM_TYPE_ETH},
        {.type = RTE_FLOW_ITEM_TYPE_IPV4},
        {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &mask},
        {.type = RTE_FLOW_ITEM_TYPE_END},
    };
    struct rte_flow_action actions[] = {
        {.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &to},
        {.type = RTE_FLOW_ACTION_TYPE_END},
    };
    struct rte_flow_error error;

    return rte_flow_create(port->port_id, &attr, pattern, actions, &error);
}

bool nof_dpdk_rules_open(struct nof_dpdk_port *port)
{
    unsigned n = port->info.nqueues;

    for (unsigned core = 0; core < port->info.ncores; core++) {
        struct nof_dpdk_queue *q = &port->queues[core];

        q->rule = add_rule(port, (uint16_t)(port->udp_port + core), (uint16_t)(core % n));
        if (q->rule == NULL) {
            nof_dpdk_rules_close(port);
            return false;
        }
    }
    return true;
}

void nof_dpdk_rules_close(struct nof_dpdk_port *port)
{
    struct rte_flow_error error;

    for (unsigned core = 0; core < port->info.ncores; core++) {
        if (port->queues[core].rule != NULL)
            (void)rte_flow_destroy(port->port_id, port->queues[core].rule, &error);
        port->queues[core].rule = NULL;
    }
}
