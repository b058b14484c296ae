/* SPDX-License-Identifier: BSD-3-Clause */
#include "network.h"

#include <stdio.h>
#include <string.h>

#include "nof_private/units.h"

#define ETHERNET_BYTES 14u
#define RATE_MIN_BPS 1000u /* of the simulated switch, as are the next two */
#define NICS_MAX 1024u
#define CORES_MAX 64u /* of a NIC */
#define DELAY_MAX_NS 10000000000ull
#define BUFFER_MAX_BYTES UINT32_MAX

static bool rate(struct nof_network *network, const char *value)
{
    uint64_t bps;

    (void)network;
    if (nofd_units_rate(value, &bps) != 0)
        return false;
    /* 0 is how the daemon writes "no limit"; who types it means none at all. */
    return bps >= RATE_MIN_BPS || (bps == 0 && strpbrk(value, "0123456789") == NULL);
}

static bool mtu(struct nof_network *network, const char *value)
{
    return nofd_units_number(value, 576, 9216, &network->mtu_bytes) == 0;
}

static bool delay(struct nof_network *network, const char *value)
{
    uint64_t ns;

    (void)network;
    return nofd_units_time(value, 1000, &ns) == 0 && ns <= DELAY_MAX_NS;
}

static bool buffer(struct nof_network *network, const char *value)
{
    return nofd_units_bytes(value, &network->buffer_bytes) == 0 && network->buffer_bytes > 0 &&
           network->buffer_bytes <= BUFFER_MAX_BYTES;
}

static bool share(struct nof_network *network, const char *value)
{
    double part;

    (void)network;
    return nofd_units_share(value, &part) == 0;
}

static bool multicast(struct nof_network *network, const char *value)
{
    (void)network;
    return strcmp(value, "flood") == 0 || strcmp(value, "snoop") == 0 || strcmp(value, "drop") == 0;
}

static bool fabric(struct nof_network *network, const char *value)
{
    uint64_t n;

    (void)network;
    return nofd_units_number(value, 1, NICS_MAX, &n) == 0;
}

static bool cores(struct nof_network *network, const char *value)
{
    uint64_t n;

    (void)network;
    return nofd_units_number(value, 1, CORES_MAX, &n) == 0;
}

static const struct {
    const char *option;
    bool (*take)(struct nof_network *network, const char *value);
    const char *range;
    const char *example;
} table[] = {
    {"--fabric", fabric, "a number from 1 to 1024", "2"},
    {"--link", rate, "a rate of 1k (bit/s) at least, or none for no limit", "10G"},
    {"--mtu", mtu, "a number of bytes from 576 to 9216", "1500"},
    {"--delay", delay, "a time from 0 to 10s", "50us"},
    {"--buffer", buffer, "a size from one frame (the MTU and 14 bytes) to 4294967295 bytes", "64KiB"},
    {"--loss", share, "a share from 0 to 1", "0.02"},
    {"--duplicate", share, "a share from 0 to 1", "0.02"},
    {"--reorder", share, "a share from 0 to 1", "0.02"},
    {"--corrupt", share, "a share from 0 to 1", "0.02"},
    {"--cores-per-nic", cores, "a number from 1 to 64", "2"},
    {"--multicast", multicast, "flood, snoop or drop", "snoop"},
};

bool nof_network_option(struct nof_network *network, const char *option, const char *value, const char *self)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strcmp(table[i].option, option) != 0 || table[i].take(network, value))
            continue;
        fprintf(stderr, "%s: %s cannot be '%s': it is %s, such as %s %s\n", self, option, value,
                table[i].range, option, table[i].example);
        return false;
    }
    return true;
}

bool nof_network_check(const struct nof_network *network, const char *self)
{
    uint64_t frame_bytes =
        (network->mtu_bytes != 0 ? network->mtu_bytes : NOF_NETWORK_MTU_BYTES) + ETHERNET_BYTES;

    if (network->buffer_bytes == 0 || network->buffer_bytes >= frame_bytes)
        return true;
    fprintf(stderr,
            "%s: --buffer of %llu bytes holds no whole frame: give --buffer %llu or more, such as --buffer "
            "64KiB, "
            "or a smaller --mtu\n",
            self, (unsigned long long)network->buffer_bytes, (unsigned long long)frame_bytes);
    return false;
}
