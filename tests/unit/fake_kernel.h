/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A machine with PCI NICs for tests of tools/nof/bind: a tree of files in a folder of its own, and a kernel that does what
 * Linux does when somebody writes to driver_override, unbind, drivers_probe, nr_hugepages or the no-IOMMU switch. Its `ip`
 * and `modprobe` are here too. Any of its changes can be made to fail. */
#ifndef NOF_FAKE_KERNEL_H
#define NOF_FAKE_KERNEL_H

#include <setjmp.h>
#include <stdbool.h>

#include "../../tools/nof/bind/system.h"

#define FAKE_NICS 3
#define FAKE_NOTHING 0 /* no operation of that number */

enum fake_fault {
    FAKE_FAILS, /* the k-th answers EIO and has done nothing */
    FAKE_LATE, /* the k-th answers ETIMEDOUT, and has been done */
    FAKE_DEAD, /* from the k-th on none does anything */
    FAKE_CRASH, /* nof ends before the k-th: longjmp(crash) */
    FAKE_GONE, /* before the k-th, the first NIC is unplugged */
};

struct fake_nic {
    const char *address, *group, *driver, *interface;
    char name[16], config[512]; /* of the interface, as `ip` has made it; config: one line each */
    bool up, there;
    int mtu;
};

struct fake_kernel {
    struct nof_system m; /* first member: what the tested functions take */
    char root[64];
    struct fake_nic nic[FAKE_NICS];
    long pages, pages_most;
    bool vfio_refuses; /* takes no device */
    bool loses_driver; /* the module of the own driver goes when no device uses it */
    unsigned changes; /* so far: writes, programs, files kept */
    unsigned fault_at;
    enum fake_fault fault;
    jmp_buf crash;
    char *said; /* what was printed to m.err */
    size_t said_bytes;
};

/* 0000:03:00.0 (eth1, e1000e, IOMMU group 5, alone), 0000:04:00.0 and .1 (eth2, eth3, ixgbe, group 6), or all without a
 * group. All up with addresses and routes. */
void fake_kernel_make(struct fake_kernel *k, bool iommu);
void fake_kernel_remove(struct fake_kernel *k);
void fake_kernel_unplug(struct fake_kernel *k, unsigned nic);
/* No fault any more, and nothing said. */
void fake_kernel_heal(struct fake_kernel *k);
/* Everything that commands can change, as text to be freed. */
char *fake_kernel_state(struct fake_kernel *k);

#endif
