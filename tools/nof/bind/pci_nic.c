/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/pci_nic.h"

#include <net/if_arp.h>
#include <string.h>

#include "bind/kept.h"
#include "nof_private/nearest.h"

#define NAMES_MAX 64u
#define CLASS_NETWORK 0x02u

static void add_interfaces(struct nof_system *m, struct nof_pci_nic *d, const char *below)
{
    json_t *names = nof_system_names(m, NOF_PCI_DIR "%s/net", d->address, below);
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (d->ninterfaces < NOF_PCI_NIC_INTERFACES)
            snprintf(d->interface[d->ninterfaces++], sizeof(d->interface[0]), "%s", json_string_value(name));
        else
            d->nfurther++;
    }
    json_decref(names);
}

bool nof_pci_nic_is_function(const char *entry)
{
    return strncmp(entry, "virtfn", 6) == 0;
}

/* Its interfaces, or those of the virtio device that stands on it; how many functions it has. sriov_numvfs tells that, too, but
 * waits with whoever waits for the device. */
static void read_below(struct nof_system *m, struct nof_pci_nic *d)
{
    json_t *names = nof_system_names(m, NOF_PCI_DIR, d->address);
    const json_t *name;
    char below[64];
    size_t i;

    add_interfaces(m, d, "");
    json_array_foreach(names, i, name)
    {
        d->functions += nof_pci_nic_is_function(json_string_value(name));
        if (strncmp(json_string_value(name), "virtio", 6) != 0)
            continue;
        snprintf(below, sizeof(below), "/%.32s", json_string_value(name));
        add_interfaces(m, d, below);
    }
    json_decref(names);
}

static void read_group(struct nof_system *m, struct nof_pci_nic *d)
{
    char name[32];

    if (!nof_system_points(m, d->group, sizeof(d->group), NOF_PCI_DIR "/iommu_group", d->address))
        return;
    nof_system_read(m, name, sizeof(name), NOF_PCI_DIR "/iommu_group/name", d->address);
    d->noiommu = strcmp(name, "vfio-noiommu") == 0;
    snprintf(d->node, sizeof(d->node), "/dev/vfio/%s%s", d->noiommu ? "noiommu-" : "", d->group);
}

bool nof_pci_nic_read(struct nof_system *m, const char *address, struct nof_pci_nic *out)
{
    struct nof_pci_nic d = {.numa = -1};

    snprintf(d.address, sizeof(d.address), "%s", address);
    d.class = (unsigned)nof_system_number(m, -1, NOF_PCI_DIR "/class", d.address);
    if (d.class == (unsigned)-1)
        return false;
    d.vendor = (unsigned)nof_system_number(m, 0, NOF_PCI_DIR "/vendor", d.address);
    d.product = (unsigned)nof_system_number(m, 0, NOF_PCI_DIR "/device", d.address);
    d.numa = (int)nof_system_number(m, -1, NOF_PCI_DIR "/numa_node", d.address);
    nof_system_points(m, d.driver, sizeof(d.driver), NOF_PCI_DIR "/driver", d.address);
    read_group(m, &d);
    read_below(m, &d);
    *out = d;
    return true;
}

bool nof_pci_nic_is_nic(const struct nof_pci_nic *d)
{
    return d->class >> 16 == CLASS_NETWORK;
}

bool nof_pci_nic_bound(const struct nof_pci_nic *d)
{
    return strcmp(d->driver, NOF_VFIO_DRIVER) == 0;
}

json_t *nof_pci_nics(struct nof_system *m)
{
    json_t *all = nof_system_names(m, "/sys/bus/pci/devices");
    json_t *nics = json_array();
    json_t *name;
    size_t i;

    json_array_foreach(all, i, name)
    {
        long class = nof_system_number(m, 0, NOF_PCI_DIR "/class", json_string_value(name));

        if (class >> 16 == CLASS_NETWORK)
            json_array_append(nics, name);
    }
    json_decref(all);
    return nics;
}

json_t *nof_pci_nic_peers(struct nof_system *m, const struct nof_pci_nic *d)
{
    json_t *all = d->group[0] != '\0' ? nof_system_names(m, NOF_PCI_DIR "/iommu_group/devices", d->address)
                                      : json_array();

    for (size_t i = json_array_size(all); i > 0; i--)
        if (strcmp(json_string_value(json_array_get(all, i - 1)), d->address) == 0)
            json_array_remove(all, i - 1);
    return all;
}

bool nof_pci_nic_address(const char *name, char *address, size_t address_bytes)
{
    unsigned domain = 0, bus, slot, function;
    int end = 0;

    if ((sscanf(name, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &end) != 4 || name[end] != '\0') &&
        (domain = 0, sscanf(name, "%x:%x.%x%n", &bus, &slot, &function, &end) != 3 || name[end] != '\0'))
        return false;
    snprintf(address, address_bytes, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return true;
}

static bool has_interface(const struct nof_pci_nic *d, const char *name)
{
    for (unsigned i = 0; i < d->ninterfaces; i++)
        if (strcmp(d->interface[i], name) == 0)
            return true;
    return false;
}

static void say_unknown(struct nof_system *m, const char *name, const json_t *nics)
{
    static struct nof_pci_nic known[NAMES_MAX];
    const char *names[NAMES_MAX * 2];
    const json_t *address;
    char ask[128];
    size_t i, n = 0, k = 0;

    if (nof_system_number(m, 0, "/sys/class/net/%s/type", name) == ARPHRD_LOOPBACK) {
        nof_say(m,
                "%s is the loopback interface, which reaches no other host: `nof devices` lists the NICs; "
                "ranks of one "
                "host need none: `nof run`",
                name);
        return;
    }
    if (nof_system_has(m, "/sys/class/net/%s", name)) {
        nof_say(m, "%s is no PCI device, and needs no bind: `nof up --port %s`", name, name);
        return;
    }
    json_array_foreach(nics, i, address)
    {
        if (k == NAMES_MAX || !nof_pci_nic_read(m, json_string_value(address), &known[k]))
            continue;
        names[n++] = known[k].address;
        if (known[k].ninterfaces > 0)
            names[n++] = known[k].interface[0];
        k++;
    }
    nof_nearest_ask(name, names, n, ask, sizeof(ask));
    nof_say(m, "there is no PCI device and no interface %s here%s; `nof devices` lists them", name, ask);
}

bool nof_pci_nic_find(struct nof_system *m, const char *name, struct nof_pci_nic *out)
{
    json_t *nics = nof_pci_nics(m);
    const json_t *address;
    char full[32];
    bool found = false;
    size_t i;

    if (name[0] == '\0' || strlen(name) >= sizeof(full) || strchr(name, '/') != NULL) {
        nof_say(m, "'%.40s' names no device; `nof devices` lists them", name);
    } else if (nof_pci_nic_address(name, full, sizeof(full))) {
        found = nof_pci_nic_read(m, full, out);
        if (!found)
            nof_say(m, "there is no PCI device %s here (unplugged?); `nof devices` lists them", full);
    } else {
        json_array_foreach(nics, i, address)
        {
            found = nof_pci_nic_read(m, json_string_value(address), out) &&
                    (has_interface(out, name) || nof_kept_was(m, out->address, name));
            if (found)
                break;
        }
        if (!found)
            say_unknown(m, name, nics);
    }
    json_decref(nics);
    return found;
}
