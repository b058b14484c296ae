/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What vfio-pci needs of the machine beside the device: its module, no-IOMMU mode where there is no IOMMU and the user
 * wants it, hugepages. What was changed for a device is noted in what is kept of it (kept.h) before it is changed, and
 * taken back from there.
 *
 * All but the undos return false after saying why; then the undos are due. */
#ifndef NOF_BIND_VFIO_H
#define NOF_BIND_VFIO_H

#include "bind/pci_nic.h"

#define NOF_NOIOMMU "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"

/* Is vfio-pci there? load: loads its module if not. */
bool nof_vfio_ready(struct nof_system *m, bool load);

/* kept gets "noiommu_was". */
bool nof_vfio_noiommu_on(struct nof_system *m, const char *address, json_t *kept);
/* Unless another device that is bound needs it. */
void nof_vfio_noiommu_undo(struct nof_system *m, const char *address, const json_t *kept);

/* A pool of hugepages near the device: where it is, the size of a page. false: the kernel has none. */
struct nof_pages {
    char dir[NOF_PATH_BYTES];
    unsigned long page_kb;
    long total, unused;
};
bool nof_pages_look(struct nof_system *m, int numa, struct nof_pages *out);
/* Makes `mb` MB of unused hugepages beside `taken_mb` that others were promised; kept gets "pages" if that needed any:
 * {"path", "added"}, and "before", the number there was, until they are there. */
bool nof_pages_make(struct nof_system *m, const struct nof_pci_nic *d, unsigned mb, unsigned taken_mb,
                    json_t *kept);
/* What a command that died has left open, before the next one changes the number of pages. */
void nof_pages_settle(struct nof_system *m);
void nof_pages_undo(struct nof_system *m, const json_t *kept);

#endif
