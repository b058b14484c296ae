/* SPDX-License-Identifier: BSD-3-Clause */
#include "hostile_lab.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UDP_PORT "48620"
#define TABLE "nof_hostile"

const struct nof_hostile nof_hostiles[] = {
    {.name = "loss",
     .title = "1 of 100 frames lost",
     .kind = NOF_HOSTILE_RULE,
     .what = "numgen random mod 100 0 drop"},
    {.name = "marks",
     .title = "1 of 50 frames marked (ECN)",
     .kind = NOF_HOSTILE_RULE,
     .what = "ip ecn ect0 numgen random mod 50 0 ip ecn set ce"},
    {.name = "flood", .title = "a flood of UDP", .kind = NOF_HOSTILE_SENDER, .what = "unknown", .at = 1},
    {.name = "flood_version",
     .title = "that knows the version",
     .kind = NOF_HOSTILE_SENDER,
     .what = "version",
     .at = 1},
    {.name = "spoofed",
     .title = "in the peer's name",
     .kind = NOF_HOSTILE_SENDER,
     .what = "spoofed",
     .at = 1},
    {.name = "icmp_unreachable",
     .title = "ICMP: unreachable",
     .kind = NOF_HOSTILE_SENDER,
     .what = "unreachable",
     .udp_only = true},
    {.name = "icmp_narrow",
     .title = "ICMP: no more than 68 bytes",
     .kind = NOF_HOSTILE_SENDER,
     .what = "narrow",
     .udp_only = true},
    {.name = "mtu_1300",
     .title = "MTU shrinks to 1300",
     .kind = NOF_HOSTILE_MTU,
     .value = 1300,
     .udp_only = true},
    {.name = "mtu_552",
     .title = "MTU shrinks to 552",
     .kind = NOF_HOSTILE_MTU,
     .value = 552,
     .udp_only = true},
};
const unsigned nof_nhostiles = sizeof(nof_hostiles) / sizeof(nof_hostiles[0]);

static int failed(char *why, const char *text)
{
    snprintf(why, NOF_WIRE_WHY_BYTES, "%s", text);
    return -1;
}

static void address(const struct nof_hostile_net *net, unsigned host, char text[32])
{
    if (net->routed)
        snprintf(text, 32, "10.9.%u.2", host);
    else
        snprintf(text, 32, "10.9.0.%u", host + 1);
}

static int begin_sender(struct nof_hostile_net *net, const struct nof_hostile *h, char *why)
{
    char program[4200], to[32], peer[32], kpps[32], text[64];
    const char *argv[] = {program, h->what, to, peer, UDP_PORT, kpps, NULL};

    snprintf(program, sizeof(program), "%s/bench/stranger", net->bench->bin_dir);
    if (access(program, X_OK) != 0)
        return failed(why, "bench/stranger is not beside nof; run: ninja -C BUILD");
    address(net, h->at, to);
    address(net, h->at == 0 ? 1 : 0, peer);
    snprintf(kpps, sizeof(kpps), "%.3f", net->kpps);
    if (nof_child_start(&net->stranger, net->bench->lab.host[2], argv, NOF_CHILD_STDOUT, NULL) < 0)
        return failed(why, "no process for the stranger");
    if (nof_child_read_until(&net->stranger, text, sizeof(text), "begun", 5000) < 0)
        return failed(why, "the stranger does not begin to send: it needs a raw socket");
    return 0;
}

static void end_sender(struct nof_hostile_net *net)
{
    unsigned long long sent = 0;
    double seconds = 0;
    char text[128];

    if (net->stranger.pid > 0) {
        (void)kill(net->stranger.pid, SIGTERM);
        (void)nof_child_read_all(&net->stranger, text, sizeof(text), 5000);
        if (sscanf(text, " sent %llu %lf", &sent, &seconds) == 2 && seconds > 0)
            net->sent_kpps = (double)sent / seconds / 1000;
    }
    nof_child_end(&net->stranger, 1000);
}

static int begin_rule(struct nof_hostile_net *net, const struct nof_hostile *h, char *why)
{
    const char *family = net->routed ? "ip" : "bridge", *sw = net->bench->lab.sw;

    if (!nof_bench_have("nft"))
        return failed(why, "nft is missing: apt install nftables");
    if (nof_run("ip netns exec %s nft add table %s " TABLE, sw, family) != 0 ||
        nof_run("ip netns exec %s nft add chain %s " TABLE
                " forward { type filter hook forward priority 0 ; }",
                sw, family) != 0 ||
        nof_run("ip netns exec %s nft add rule %s " TABLE " forward %s", sw, family, h->what) != 0)
        return failed(why, "nft takes no such rule: this kernel may lack nf_tables");
    return 0;
}

int nof_hostile_begin(struct nof_hostile_net *net, const struct nof_hostile *h, char *why)
{
    net->stranger = (struct nof_child){.in_fd = -1, .out_fd = -1};
    net->sent_kpps = NAN;
    if (h->kind == NOF_HOSTILE_SENDER)
        return begin_sender(net, h, why);
    return h->kind == NOF_HOSTILE_RULE ? begin_rule(net, h, why) : 0;
}

/* Of the link between router and host 1: its ends agree, else one drops what the other sends and nobody says so. */
static int set_mtu(const struct nof_hostile_net *net, unsigned bytes)
{
    const struct nof_lab *lab = &net->bench->lab;

    return nof_run("ip -n %s link set eth0 mtu %u", lab->host[1], bytes) |
           nof_run("ip -n %s link set p1 mtu %u", lab->sw, bytes);
}

int nof_hostile_midway(struct nof_hostile_net *net, const struct nof_hostile *h, char *why)
{
    if (h->kind == NOF_HOSTILE_MTU && set_mtu(net, h->value) != 0)
        return failed(why, "the router's MTU cannot be set");
    return 0;
}

void nof_hostile_end(struct nof_hostile_net *net, const struct nof_hostile *h)
{
    const struct nof_lab *lab = &net->bench->lab;

    end_sender(net);
    if (h->kind == NOF_HOSTILE_RULE)
        (void)nof_run("ip netns exec %s nft delete table %s " TABLE, lab->sw, net->routed ? "ip" : "bridge");
    if (h->kind == NOF_HOSTILE_MTU)
        (void)set_mtu(net, net->bench->mtu_bytes);
    /* What the kernels have learned of the way stays for ten minutes. */
    for (unsigned i = 0; i < 2; i++)
        (void)nof_run("ip -n %s route flush cache", lab->host[i]);
}
