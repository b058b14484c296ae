/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does a network interface carry frames? The kernel's own word for it, IFF_RUNNING, follows the carrier up to a second late: it deals
 * with changes of links once a second, and who comes second waits (the far end of a veth pair that is new, so the first job on it).
 * To a path that is long enough to be dead. So where it is missing, the driver is asked for the carrier itself.
 *
 * Cost: one system call where all is well, else two, of which the second waits for whoever configures interfaces. */
#ifndef NOF_INTERFACE_LINK_H
#define NOF_INTERFACE_LINK_H

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* fd: a socket of the interface's network namespace. True: up with carrier. False: not, or the interface is gone. */
static inline bool nof_interface_carries(int fd, const char *ifname)
{
    struct ethtool_value carrier = {.cmd = ETHTOOL_GLINK};
    struct ifreq ifr;

    memset(&ifr, 0, sizeof(ifr));
    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", (int)sizeof(ifr.ifr_name) - 1, ifname);
    if (ioctl(fd, SIOCGIFFLAGS, &ifr) != 0 || (ifr.ifr_flags & IFF_UP) == 0)
        return false;
    if ((ifr.ifr_flags & IFF_RUNNING) != 0)
        return true;
    ifr.ifr_data = (void *)&carrier;
    return ioctl(fd, SIOCETHTOOL, &ifr) == 0 && carrier.data != 0;
}

#endif
