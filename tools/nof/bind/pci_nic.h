/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One PCI NIC as sysfs shows it. Facts, read once; who uses it is asked in holds.h. */
#ifndef NOF_BIND_PCI_NIC_H
#define NOF_BIND_PCI_NIC_H

#include "bind/system.h"

#define NOF_PCI_NIC_INTERFACES 16 /* of one PCI function, that are looked at */
#define NOF_PCI_DIR "/sys/bus/pci/devices/%s"
#define NOF_VFIO_DRIVER "vfio-pci"

struct nof_pci_nic {
    char address[24]; /* "0000:03:00.0" */
    char driver[32]; /* "": none */
    char group[16]; /* number of the IOMMU group; "": none */
    char node[48]; /* of vfio: "/dev/vfio/5"; "": no group */
    bool noiommu; /* the group is one of no-IOMMU mode */
    unsigned class; /* 0x020000: Ethernet */
    unsigned vendor, product;
    int numa; /* -1: any */
    unsigned functions; /* virtual functions that it has now (SR-IOV) */
    unsigned ninterfaces;
    unsigned nfurther; /* interfaces that it has beyond those */
    char interface[NOF_PCI_NIC_INTERFACES][16];
};

/* false: there is no such PCI device. */
bool nof_pci_nic_read(struct nof_system *m, const char *address, struct nof_pci_nic *out);
/* Addresses of all network devices, sorted; a new reference. */
json_t *nof_pci_nics(struct nof_system *m);
/* Addresses of the others in its IOMMU group; a new reference. */
json_t *nof_pci_nic_peers(struct nof_system *m, const struct nof_pci_nic *d);
/* By PCI address (with or without its domain) or the name of an interface, also of one that went when the device was
 * bound. false after saying why not. */
bool nof_pci_nic_find(struct nof_system *m, const char *name, struct nof_pci_nic *out);

/* "3:0.1" as sysfs writes it: "0000:03:00.1". false: no PCI address. */
bool nof_pci_nic_address(const char *name, char *address, size_t address_bytes);

bool nof_pci_nic_is_nic(const struct nof_pci_nic *d);
bool nof_pci_nic_bound(const struct nof_pci_nic *d);
/* Is that name in the folder of a device the link to one of its virtual functions? */
bool nof_pci_nic_is_function(const char *entry);

#endif
