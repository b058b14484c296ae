/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a daemon of several hosts is reached: what NOF_NET and NOF_UDP_PORTS say, and what the kernel's routes do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "launch/launch.h"

#define LOOPBACK 0x7f000001u
#define BESIDE 0x7f000002u

struct nof_lib nof_lib = {.host = "here"};

static char port[NOF_LAUNCH_PORT_BYTES], text[512];
static uint32_t ip4;

static int ask(uint32_t towards, const char *net, const char *ports)
{
    port[0] = text[0] = '\0';
    ip4 = 1;
    net != NULL ? setenv("NOF_NET", net, 1) : unsetenv("NOF_NET");
    ports != NULL ? setenv("NOF_UDP_PORTS", ports, 1) : unsetenv("NOF_UDP_PORTS");
    return nof_launch_net(towards, port, &ip4, text, sizeof(text));
}

static void good(uint32_t towards, const char *net, const char *ports, const char *expected)
{
    if (ask(towards, net, ports) != 0 || strcmp(port, expected) != 0 || ip4 != LOOPBACK)
        fprintf(stderr, "%s, %s: %s %s\n", net != NULL ? net : "-", ports != NULL ? ports : "-", port, text);
    check(strcmp(port, expected) == 0 && ip4 == LOOPBACK);
}

static void bad(const char *net, const char *ports, const char *says)
{
    if (ask(0, net, ports) == 0 || strstr(text, says) == NULL)
        fprintf(stderr, "%s, %s: %s %s\n", net != NULL ? net : "-", ports != NULL ? ports : "-", port, text);
    check(strstr(text, says) != NULL);
}

int main(void)
{
    good(BESIDE, NULL, NULL, "udp:127.0.0.1:0");
    good(BESIDE, "", "", "udp:127.0.0.1:0");
    good(0, "lo", "48700", "udp:127.0.0.1:48700");
    good(0, "127.0.0.1", "48700-48799", "udp:127.0.0.1:48700-48799");
    good(0, "127.0.0.0/8", "65535-65535", "udp:127.0.0.1:65535-65535");
    good(0, "127.9.9.9/8", NULL, "udp:127.0.0.1:0");
    bad("203.0.113.0/24", NULL, "here has no address of that");
    bad("nosuch0", NULL, "here has no address of that");
    bad("10.0.0.0/0", NULL, "it takes an interface");
    bad("10.0.0.0/33", NULL, "it takes an interface");
    bad("10.0.0.0/8x", NULL, "it takes an interface");
    bad("10.0.0/8", NULL, "it takes an interface");
    bad("a-name-that-is-longer-than-any-address", NULL, "it takes an interface");
    bad("lo", "0", "it takes a port or a range");
    bad("lo", "9-8", "it takes a port or a range");
    bad("lo", "65536", "it takes a port or a range");
    bad("lo", "1-99999", "it takes a port or a range");
    bad("lo", "1,2", "it takes a port or a range");
    bad("lo", "1-2-3", "it takes a port or a range");
    /* Two hosts with one address do not reach each other. */
    check(ask(LOOPBACK, NULL, NULL) != 0 && strstr(text, "here has the address 127.0.0.1 as well") != NULL);
    check(strstr(text, "set NOF_NET to") != NULL);
    check(ask(LOOPBACK, "lo", NULL) != 0 && strstr(text, "here has the address 127.0.0.1 as well") != NULL);
    /* Whatever this host has: an address, or word that there is none. */
    check(ask(0, NULL, NULL) == 0 && (ip4 == 0 || strncmp(port, "udp:", 4) == 0));
    return 0;
}
