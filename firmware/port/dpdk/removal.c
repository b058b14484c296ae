/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* of the events of devices */
#include "port/dpdk/removal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_alarm.h>
#include <rte_dev.h>

#include "nof/status.h"
#include "port/dpdk/preflight.h"

#define SETTLE_MS 1000u

static int on_removed(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *result)
{
    struct nof_dpdk_port *port = arg;

    (void)port_id;
    (void)event;
    (void)result;
    __atomic_store_n(&port->removed, true, __ATOMIC_RELEASE);
    return 0;
}

static void on_device(const char *name, enum rte_dev_event_type event, void *arg)
{
    struct nof_dpdk_port *port = arg;

    (void)name;
    if (event == RTE_DEV_EVENT_REMOVE)
        __atomic_store_n(&port->removed, true, __ATOMIC_RELEASE);
}

void nof_port_removal_watch(struct nof_dpdk_port *port)
{
    (void)rte_eth_dev_callback_register(port->port_id, RTE_ETH_EVENT_INTR_RMV, on_removed, port);
    (void)rte_dev_event_callback_register(port->info.device, on_device, port);
    port->watched = true;
}

void nof_port_removal_unwatch(struct nof_dpdk_port *port)
{
    static const struct timespec nap = {.tv_nsec = 100000};

    if (!port->watched)
        return;
    port->watched = false;
    /* bound: one that DPDK's thread is in at this moment, which may want this CPU; paid by who closes the port */
    while (rte_eth_dev_callback_unregister(port->port_id, RTE_ETH_EVENT_INTR_RMV, on_removed, port) ==
           -EAGAIN)
        (void)nanosleep(&nap, NULL);
    while (rte_dev_event_callback_unregister(port->info.device, on_device, port) == -EAGAIN)
        (void)nanosleep(&nap, NULL);
}

static void passed(void *arg)
{
    __atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
}

void nof_port_removal_settle(void)
{
    static const struct timespec nap = {.tv_nsec = 1000000};
    bool done = false;

    if (rte_eal_alarm_set(1, passed, &done) != 0)
        return;
    /* bound: SETTLE_MS; paid by who lets the device go */
    for (unsigned ms = 0; ms < SETTLE_MS && !__atomic_load_n(&done, __ATOMIC_ACQUIRE); ms++)
        (void)nanosleep(&nap, NULL);
    (void)rte_eal_alarm_cancel(passed, &done); /* it may be under way */
}

bool nof_dpdk_queue_gone(struct nof_dpdk_queue *q)
{
    if (!q->gone && __atomic_load_n(&q->port->removed, __ATOMIC_ACQUIRE))
        __atomic_store_n(&q->gone, true, __ATOMIC_RELEASE);
    return q->gone;
}

static void stop(struct nof_dpdk_port *port)
{
    struct rte_eth_dev_info dev = {.device = NULL};

    nof_port_removal_settle();
    nof_port_removal_unwatch(port);
    nof_dpdk_rules_close(port);
    (void)rte_eth_dev_info_get(port->port_id, &dev);
    port->leaving = dev.device;
    (void)rte_eth_dev_stop(port->port_id);
    (void)rte_eth_dev_close(port->port_id);
    port->started = false;
}

int nof_dpdk_port_release(struct nof_dpdk_port *port, char *err, size_t err_bytes)
{
    int rc = 0;

    for (unsigned i = 0; i < port->info.ncores; i++)
        if (!__atomic_load_n(&port->queues[i].gone, __ATOMIC_ACQUIRE))
            return NOF_EAGAIN;
    if (port->devargs.kind != NOF_DEVARGS_BUS || !port->owned)
        return NOF_OK;
    if (port->started)
        stop(port);
    if (port->leaving != NULL)
        rc = rte_dev_remove(port->leaving);
    if (rc < 0)
        return nof_port_fail(NOF_EUNPLUGGED, err, err_bytes, "DPDK cannot remove %s%s%s", port->info.device,
                             rc != -1 ? ": " : "", rc != -1 ? strerror(-rc) : ""); /* -1 is no errno */
    port->leaving = NULL;
    port->owned = false;
    return NOF_OK;
}
