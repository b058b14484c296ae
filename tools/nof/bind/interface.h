/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an interface is beside its driver (name, MTU, up, addresses, routes), read before the device goes and given back
 * when it has returned. */
#ifndef NOF_BIND_INTERFACE_H
#define NOF_BIND_INTERFACE_H

#include "bind/pci_nic.h"

/* [{"name", "mac", "mtu", "up", "addresses": ["10.0.0.1/24 broadcast 10.0.0.255"], "leased": [...], "routes": ["-4 10.1.0.0/16 via
 * 10.0.0.9"]}]; a new reference. leased: by DHCP or a router, whose business it is to give them again. NULL after saying that
 * it cannot be known. */
json_t *nof_interfaces_save(struct nof_system *m, const struct nof_pci_nic *d);
/* Waits for the interfaces and makes them as they were, as far as that goes; says what does not, and what to type. */
void nof_interfaces_restore(struct nof_system *m, const char *address, const json_t *saved);

#endif
