/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What holds a NIC where it is: whom would it hurt if its kernel driver, or its user, lost it?
 *
 *   kind             forced   what
 *   interfaces       no       it has more of them than are looked at
 *   default_route    no       it carries the default route, itself or by what stands on it (bridge, bond, VLAN)
 *   ssh              no       it carries an SSH session
 *   process          no       a process has its vfio group open, or plays a NIC on its interface
 *   addresses        yes      it is up and has addresses
 *   member           yes      it is a port of a bridge, bond or team, or carries VLANs
 *   functions        yes      it has virtual functions, which would go with it
 *   elsewhere        yes      it has a driver and no interface here: another network namespace, or no Ethernet
 *
 * Threads: one. */
#ifndef NOF_BIND_HOLDS_H
#define NOF_BIND_HOLDS_H

#include "bind/pci_nic.h"
#include "bind/users.h"

/* The machine's network and processes, looked at once for all devices. */
struct nof_view {
    struct nof_users users;
    json_t *links; /* ip -json address */
    json_t *defaults; /* default routes, of all tables */
};

/* false after saying why: then nothing is known of addresses and routes, and nothing may be changed. */
bool nof_view_look(struct nof_system *m, struct nof_view *v);
void nof_view_free(struct nof_view *v);

/* [{"kind", "forced", "pid" (0: none), "says": "it carries ...", "type": "ip route ..."}], what no force breaks first; a
 * new reference. */
json_t *nof_holds(struct nof_system *m, const struct nof_view *v, const struct nof_pci_nic *d);

#endif
