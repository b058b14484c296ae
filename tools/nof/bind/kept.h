/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a device was before it was bound, so that unbind gives it back as it was, also after a crash: one file a device,
 * /run/nof/bind/ADDRESS.json, written before anything is changed. /run ends with a boot, as every binding does: then
 * the kernel has given the device to its own driver again, and there is nothing to remember.
 *
 *   {"driver": "e1000e", "override": "", "interfaces": [...],        interface.h
 *    "pages": {"path": ..., "added": N}, "noiommu_was": "N"}          vfio.h */
#ifndef NOF_BIND_KEPT_H
#define NOF_BIND_KEPT_H

#include "bind/system.h"

#define NOF_KEPT_DIR "/run/nof/bind"

/* A new reference, NULL: nothing is known of it. */
json_t *nof_kept_load(struct nof_system *m, const char *address);
/* false after saying why. */
bool nof_kept_save(struct nof_system *m, const char *address, const json_t *kept);
void nof_kept_drop(struct nof_system *m, const char *address);
/* Addresses of all that are remembered, sorted; a new reference. */
json_t *nof_kept_all(struct nof_system *m);
/* Had the device an interface of that name? */
bool nof_kept_was(struct nof_system *m, const char *address, const char *interface);
/* A text of it, "" if there is none. */
const char *nof_kept_text(const json_t *kept, const char *key);

#endif
