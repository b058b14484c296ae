/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does a network interface carry frames? The kernel's own word for it, IFF_RUNNING, follows the carrier up to a second late: it deals
 * with changes of links once a second, and who comes second waits (the far end of a veth pair that is new, so the first job on it).
 * To a path that is long enough to be dead. So where it is missing, the driver is asked for the carrier itself, but not for ever: it
 * answers when nobody configures interfaces, which took up to 44 ms beside somebody who adds and deletes them in a loop.
 *
 * Cost: one system call; two in the first NOF_LINK_ASK_MOST looks that find no flag. An interface that is dormant (802.1X) carries in
 * those, though the kernel says no. */
#ifndef NOF_INTERFACE_LINK_H
#define NOF_INTERFACE_LINK_H

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define NOF_LINK_ASK_MOST 200u /* two seconds of the ports' looks, where the flag is one late */

/* fd: a socket of the interface's network namespace. asked: of one interface, 0 at first; how many looks in a row found no flag. True:
 * up with carrier. False: not, or the interface is gone. One thread at a time. */
static inline bool nof_interface_carries(int fd, const char *ifname, unsigned *asked)
{
    struct ethtool_value carrier = {.cmd = ETHTOOL_GLINK};
    struct ifreq ifr;

    memset(&ifr, 0, sizeof(ifr));
    snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.*s", (int)sizeof(ifr.ifr_name) - 1, ifname);
    if (ioctl(fd, SIOCGIFFLAGS, &ifr) != 0 || (ifr.ifr_flags & IFF_UP) == 0)
        return false;
    if ((ifr.ifr_flags & IFF_RUNNING) != 0) {
        *asked = 0;
        return true;
    }
    if (*asked == NOF_LINK_ASK_MOST)
        return false;
    ++*asked;
    ifr.ifr_data = (void *)&carrier;
    return ioctl(fd, SIOCETHTOOL, &ifr) == 0 && carrier.data != 0;
}

#endif
