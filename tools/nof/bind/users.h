/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes: who has a vfio group open, which TCP connections are SSH sessions, and who plays a NIC on an interface. What
 * may not be seen (other users' processes, without root; those of other PID namespaces) is not there. */
#ifndef NOF_BIND_USERS_H
#define NOF_BIND_USERS_H

#include "bind/system.h"

/* Looked at once. New references in all three. */
struct nof_users {
    json_t *vfio; /* [{"pid", "name", "path": "/dev/vfio/5"}] */
    json_t *ssh; /* [{"pid", "name", "local": "10.0.0.1", "remote": "10.0.0.2"}]; pid 0: not seen */
    json_t *ports; /* [{"pid", "name", "interface"}]: nofd on interfaces of the kernel */
};

void nof_users_look(struct nof_system *m, struct nof_users *u);
void nof_users_free(struct nof_users *u);

#endif
