/* SPDX-License-Identifier: BSD-3-Clause */
#include "lab_net.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child.h"

#define NETNS_DIR "/run/netns"
#define NAME_FORMAT "noflab%d-"

const char *nof_lab_missing(void)
{
    if (geteuid() != 0)
        return "network namespaces and AF_XDP need root: sudo nof bench ...";
    if (!nof_bench_have("ip") || !nof_bench_have("tc") || !nof_bench_have("ethtool"))
        return "ip, tc or ethtool is missing: apt install iproute2 ethtool";
    return NULL;
}

/* Namespaces of runs whose process is gone. */
static void remove_stale(void)
{
    DIR *dir = opendir(NETNS_DIR);
    const struct dirent *e;

    if (!dir)
        return;
    while ((e = readdir(dir)) != NULL) {
        int pid;

        if (sscanf(e->d_name, NAME_FORMAT, &pid) == 1 && kill(pid, 0) < 0 && errno == ESRCH)
            (void)nof_run("ip netns del %s", e->d_name);
    }
    closedir(dir);
}

/* A segment or checksum that the sender leaves to "hardware" would reach the other side unfinished:
 * AF_XDP sees frames as they are. Not every feature exists in every kernel, so results do not matter. */
static void offloads(const char *netns, const char *ifname, int on)
{
    const char *word = on ? "on" : "off";

    /* Segments need checksums: those come first, and go last. */
    if (on)
        (void)nof_run("ip netns exec %s ethtool -K %s tx on rx on", netns, ifname);
    (void)nof_run("ip netns exec %s ethtool -K %s tso %s gso %s gro %s tx-udp-segmentation %s", netns, ifname,
                  word, word, word, word);
    if (!on)
        (void)nof_run("ip netns exec %s ethtool -K %s tso off gso off gro off tx off rx off", netns, ifname);
}

void nof_lab_offloads(const struct nof_lab *lab, int on)
{
    for (unsigned i = 0; i < lab->nhosts; i++) {
        char port[16];

        snprintf(port, sizeof(port), "p%u", i);
        offloads(lab->sw, port, on);
        offloads(lab->host[i], "eth0", on);
    }
}

static int add_host(const struct nof_lab *lab, unsigned i, unsigned mtu_bytes)
{
    const char *host = lab->host[i];

    if (nof_run("ip netns add %s", host) != 0 ||
        nof_run("ip link add p%u netns %s type veth peer name eth0 netns %s", i, lab->sw, host) != 0 ||
        nof_run("ip -n %s link set p%u mtu %u master br0 up", lab->sw, i, mtu_bytes) != 0 ||
        nof_run("ip -n %s addr add 10.9.0.%u/24 dev eth0", host, i + 1) != 0 ||
        nof_run("ip -n %s link set eth0 mtu %u up", host, mtu_bytes) != 0 ||
        nof_run("ip -n %s link set lo up", host) != 0)
        return -1;
    return 0;
}

int nof_lab_limit(const struct nof_lab *lab, const char *rate, const char *buffer, const char *burst)
{
    int rc = 0;

    for (unsigned i = 0; i < lab->nhosts; i++) {
        (void)nof_run("ip netns exec %s tc qdisc del dev p%u root", lab->sw, i);
        (void)nof_run("ip netns exec %s tc qdisc del dev eth0 root", lab->host[i]);
        if (!rate)
            continue;
        if (nof_run("ip netns exec %s tc qdisc add dev p%u root tbf rate %s burst %s limit %s", lab->sw, i,
                    rate, burst, buffer) != 0 ||
            nof_run("ip netns exec %s tc qdisc add dev eth0 root tbf rate %s burst %s limit 1mb",
                    lab->host[i], rate, burst) != 0)
            rc = -1;
    }
    return rc;
}

int nof_lab_up(struct nof_lab *lab, unsigned nhosts, const char *rate, const char *buffer, const char *burst,
               unsigned mtu_bytes)
{
    static unsigned labs;

    memset(lab, 0, sizeof(*lab));
    if (nhosts == 0 || nhosts > NOF_LAB_HOSTS_MAX)
        return -1;
    remove_stale();
    labs++;
    snprintf(lab->sw, sizeof(lab->sw), NAME_FORMAT "%usw", getpid(), labs);
    for (unsigned i = 0; i < nhosts; i++)
        snprintf(lab->host[i], sizeof(lab->host[i]), NAME_FORMAT "%uh%u", getpid(), labs, i);
    lab->nhosts = nhosts;
    if (nof_run("ip netns add %s", lab->sw) != 0 ||
        nof_run("ip -n %s link add br0 type bridge", lab->sw) != 0 ||
        nof_run("ip -n %s link set br0 mtu %u up", lab->sw, mtu_bytes) != 0)
        goto err_down;
    for (unsigned i = 0; i < nhosts; i++)
        if (add_host(lab, i, mtu_bytes) != 0)
            goto err_down;
    nof_lab_offloads(lab, 0);
    if (rate && nof_lab_limit(lab, rate, buffer, burst) != 0)
        goto err_down;
    return 0;

err_down:
    fprintf(stderr, "nof: the network namespaces of the lab cannot be set up: this kernel may lack veth, "
                    "bridge or tbf\n");
    nof_lab_down(lab);
    return -1;
}

static int route_host(const struct nof_lab *lab, unsigned i)
{
    const char *host = lab->host[i];

    if (nof_run("ip -n %s link set p%u nomaster", lab->sw, i) != 0 ||
        nof_run("ip -n %s addr add 10.9.%u.1/24 dev p%u", lab->sw, i, i) != 0 ||
        nof_run("ip -n %s addr flush dev eth0", host) != 0 ||
        nof_run("ip -n %s addr add 10.9.%u.2/24 dev eth0", host, i) != 0 ||
        nof_run("ip -n %s route add default via 10.9.%u.1", host, i) != 0)
        return -1;
    return 0;
}

int nof_lab_route(const struct nof_lab *lab)
{
    if (nof_run("ip netns exec %s sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0",
                lab->sw) != 0)
        return -1;
    for (unsigned i = 0; i < lab->nhosts; i++)
        if (route_host(lab, i) != 0)
            return -1;
    return 0;
}

void nof_lab_down(struct nof_lab *lab)
{
    if (lab->nhosts == 0)
        return;
    for (unsigned i = 0; i < lab->nhosts; i++)
        (void)nof_run("ip netns del %s", lab->host[i]);
    (void)nof_run("ip netns del %s", lab->sw);
    lab->nhosts = 0;
}
