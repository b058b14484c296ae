/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices between their own driver and vfio-pci. Both calls are all or nothing: when one device does not go, those before
 * it go back, and everything that was changed for them.
 *
 *   nof_rebind_take()  remember -> hugepages, no-IOMMU mode -> driver_override -> unbind -> drivers_probe -> /dev/vfio/N
 *   nof_rebind_give()  unbind -> driver_override as it was -> drivers_probe -> interface -> hugepages, mode -> forget
 *
 * The way back of take is give, from wherever take has come to: so is the way back after a crash. The caller has asked who
 * holds the devices (holds.h) and has the lock. Signals are to be blocked, so that an impatient user leaves nothing half.
 * Threads: one. */
#ifndef NOF_BIND_REBIND_H
#define NOF_BIND_REBIND_H

#include "bind/pci_nic.h"

struct nof_rebind_options {
    bool noiommu; /* devices without an IOMMU too */
    unsigned pages_mb; /* hugepages for each device; 0: as they are */
};

/* devices[0..n): as read before. false after saying what failed, and what is not as before, if anything. */
bool nof_rebind_take(struct nof_system *m, const struct nof_pci_nic *devices, unsigned n,
                     const struct nof_rebind_options *options);
bool nof_rebind_give(struct nof_system *m, const struct nof_pci_nic *devices, unsigned n);
/* Of a device that is bound no more because it was unplugged: what the machine was changed in for it, and what is remembered. false:
 * it is there, or nothing is remembered of it. */
bool nof_rebind_forget(struct nof_system *m, const char *address);

#endif
