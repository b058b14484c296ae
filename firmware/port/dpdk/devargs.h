/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device arguments: "NAME[,KEY=VALUE]..", as DPDK writes them. */
#ifndef NOF_PORT_DEVARGS_H
#define NOF_PORT_DEVARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOF_DEVARGS_BYTES 512u

enum nof_devargs_kind {
    NOF_DEVARGS_AF_XDP,
    NOF_DEVARGS_AF_PACKET,
    NOF_DEVARGS_VDEV, /* any other virtual device */
    NOF_DEVARGS_BUS, /* PCI address or another bus */
};

struct nof_devargs {
    enum nof_devargs_kind kind;
    char name[64]; /* "net_af_xdp", "0000:03:00.0" */
    char args[NOF_DEVARGS_BYTES]; /* what follows the first comma */
    char ifname[32]; /* value of iface=, "" if there is none */
};

/* Returns 0, or NOF_EINVAL when a part is too long or empty. */
int nof_devargs_parse(const char *text, struct nof_devargs *out);

bool nof_devargs_has(const struct nof_devargs *d, const char *key);
/* The value of "key=NUMBER"; `otherwise` where there is none, or no number. */
uint32_t nof_devargs_number(const struct nof_devargs *d, const char *key, uint32_t otherwise);

/* Removes "rate=VALUE", which is ours and no driver's: the link's rate where the device does not know it
 * (a virtual one, or a link limited elsewhere). VALUE: "1g", "250m", "1gbit", or bits per second.
 * *rate_bps_out is 0 without it. NOF_EINVAL: not a rate. */
int nof_devargs_take_rate(struct nof_devargs *d, uint64_t *rate_bps_out);

/* Removes "key=VALUE", if it is there. */
void nof_devargs_remove(struct nof_devargs *d, const char *key);

/* Appends "key=value"; NOF_EINVAL when it does not fit. */
int nof_devargs_add(struct nof_devargs *d, const char *key, const char *value);

#endif
