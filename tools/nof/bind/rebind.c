/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/rebind.h"

#include <errno.h>
#include <string.h>

#include "bind/interface.h"
#include "bind/kept.h"
#include "bind/vfio.h"

#define SETTLE_MS 2000u
#define LOOK_MS 10u
#define NO_OVERRIDE "(null)" /* what driver_override says when it is empty */

static bool gone(struct nof_system *m, const char *address)
{
    return !nof_system_has(m, NOF_PCI_DIR "/class", address);
}

/* A write that moves a device. false after saying why. */
static bool move(struct nof_system *m, const char *address, const char *path, const char *text)
{
    int rc = m->ops->write(m, path, text);

    if (rc == 0)
        return true;
    m->late |= rc == -ETIMEDOUT;
    if (gone(m, address))
        nof_say(m, "%s has gone from the bus (unplugged?); `nof devices` lists what is there", address);
    else if (rc == -ETIMEDOUT)
        nof_say(m,
                "%s: the kernel waits for somebody to let the device go (%s): see `nof devices`, end that "
                "process, and try again",
                address, path);
    else
        nof_say(m, "%s: the kernel refuses '%.32s' in %s: %s; it may say more in `dmesg | tail`", address,
                text[0] == '\n' ? "" : text, path, strerror(-rc));
    return false;
}

/* Until the device has that driver ("": none; NULL: any). */
static bool settled(struct nof_system *m, const char *address, const char *driver, char *now,
                    size_t now_bytes)
{
    for (unsigned ms = 0;; ms += LOOK_MS) {
        nof_system_points(m, now, now_bytes, NOF_PCI_DIR "/driver", address);
        if (driver != NULL ? strcmp(now, driver) == 0 : now[0] != '\0')
            return true;
        if (ms >= SETTLE_MS)
            return false;
        m->ops->pause(m, LOOK_MS);
    }
}

static bool release(struct nof_system *m, const char *address)
{
    char path[NOF_PATH_BYTES], driver[32];

    if (!nof_system_points(m, driver, sizeof(driver), NOF_PCI_DIR "/driver", address))
        return true;
    snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/unbind", driver);
    if (!move(m, address, path, address))
        return false;
    if (settled(m, address, "", driver, sizeof(driver)))
        return true;
    nof_say(m, "%s: driver %s does not let it go; look at `dmesg | tail`", address, driver);
    return false;
}

/* Not read before: a read of it waits with whoever waits for the device, and nobody ends that. */
static bool set_override(struct nof_system *m, const char *address, const char *driver)
{
    char path[NOF_PATH_BYTES];

    snprintf(path, sizeof(path), NOF_PCI_DIR "/driver_override", address);
    return move(m, address, path, driver[0] != '\0' ? driver : "\n");
}

static bool wait_for_node(struct nof_system *m, const char *address)
{
    const char *name = NULL;
    struct nof_pci_nic d = {.node = ""};

    for (unsigned ms = 0; ms <= SETTLE_MS; ms += LOOK_MS) {
        json_t *nodes = nof_system_names(m, "/dev/vfio");
        const json_t *node;
        bool found = false;
        size_t i;

        name = nof_pci_nic_read(m, address, &d) && d.node[0] != '\0' ? strrchr(d.node, '/') + 1 : "";
        json_array_foreach(nodes, i, node)
        {
            found |= strcmp(json_string_value(node), name) == 0;
        }
        json_decref(nodes);
        if (found)
            return true;
        m->ops->pause(m, LOOK_MS);
    }
    nof_say(m, "%s is bound to vfio-pci, but %s is not there: is /dev a devtmpfs, or does udev run?", address,
            d.node[0] != '\0' ? d.node : "its file in /dev/vfio");
    return false;
}

/* The device itself, whatever it is bound to now. */
static bool to_vfio(struct nof_system *m, const char *address)
{
    char now[32];

    nof_system_points(m, now, sizeof(now), NOF_PCI_DIR "/driver", address);
    if (strcmp(now, NOF_VFIO_DRIVER) == 0)
        return true;
    if (!set_override(m, address, NOF_VFIO_DRIVER) || !release(m, address) ||
        !move(m, address, "/sys/bus/pci/drivers_probe", address))
        return false;
    if (!settled(m, address, NOF_VFIO_DRIVER, now, sizeof(now))) {
        nof_say(m, "%s: vfio-pci does not take it%s%s; the kernel says why in `dmesg | tail`", address,
                now[0] != '\0' ? ", and it went to " : "", now);
        return false;
    }
    return wait_for_node(m, address);
}

/* Its own module may have been unloaded meanwhile. */
static bool load_and_probe(struct nof_system *m, const char *address, const char *driver)
{
    char alias[256];
    const char *argv[] = {"modprobe", "-b", driver[0] != '\0' ? driver : alias, NULL};

    nof_system_read(m, alias, sizeof(alias), NOF_PCI_DIR "/modalias", address);
    return m->ops->run(m, argv, NULL) == 0 && move(m, address, "/sys/bus/pci/drivers_probe", address);
}

static bool to_own(struct nof_system *m, const char *address, const json_t *kept)
{
    const char *own = nof_kept_text(kept, "driver");
    const char *override = nof_kept_text(kept, "override");
    bool had_none = kept != NULL && own[0] == '\0';
    char now[32];

    nof_system_points(m, now, sizeof(now), NOF_PCI_DIR "/driver", address);
    if ((strcmp(now, NOF_VFIO_DRIVER) == 0 && !release(m, address)) || !set_override(m, address, override))
        return false;
    nof_system_points(m, now, sizeof(now), NOF_PCI_DIR "/driver", address);
    if (had_none || (now[0] != '\0' && strcmp(now, NOF_VFIO_DRIVER) != 0))
        return true;
    if (!move(m, address, "/sys/bus/pci/drivers_probe", address))
        return false;
    if (!settled(m, address, NULL, now, sizeof(now)))
        (void)(load_and_probe(m, address, own) && settled(m, address, NULL, now, sizeof(now)));
    if (now[0] == '\0') {
        nof_say(m, "%s: %s%s does not take it back; look at `dmesg | tail`, and load its module by hand",
                address, own[0] != '\0' ? "driver " : "no driver of the kernel", own);
        return false;
    }
    if (own[0] != '\0' && strcmp(now, own) != 0)
        nof_say(m, "%s came from driver %s, and %s has taken it", address, own, now);
    return true;
}

/* What the machine was changed in for its sake. */
static void put_back(struct nof_system *m, const char *address, const json_t *kept, bool there)
{
    if (there)
        nof_interfaces_restore(m, address, json_object_get(kept, "interfaces"));
    nof_pages_undo(m, kept);
    nof_vfio_noiommu_undo(m, address, kept);
    nof_kept_drop(m, address);
}

/* A write of take_one() may yet be done: as far back as it goes now, and unbind does the rest. */
static void undo_late(struct nof_system *m, const char *address, const json_t *kept)
{
    char now[32];

    nof_system_points(m, now, sizeof(now), NOF_PCI_DIR "/driver", address);
    if (strcmp(now, nof_kept_text(kept, "driver")) != 0 && to_own(m, address, kept))
        nof_interfaces_restore(m, address, json_object_get(kept, "interfaces"));
    nof_say(m,
            "%s may yet lose its driver, and what it was stays remembered; when that process has ended: nof "
            "unbind %s",
            address, address);
}

/* The way back of take_one(), from wherever it has come to. */
static bool undo_take(struct nof_system *m, const struct nof_pci_nic *d, bool late)
{
    json_t *kept = nof_kept_load(m, d->address);
    bool good = true;

    if (kept == NULL)
        return true;
    if (gone(m, d->address)) {
        put_back(m, d->address, kept, false);
    } else if (late) {
        good = false;
        undo_late(m, d->address, kept);
    } else {
        good = to_own(m, d->address, kept);
        if (good)
            put_back(m, d->address, kept, true);
        else
            nof_say(m, "%s is not as it was before: try `nof unbind %s` again, or boot", d->address,
                    d->address);
    }
    json_decref(kept);
    return good;
}

/* Before anything is changed. What a crash has left is older, and so right, but for an interface that is there now. NULL
 * after saying why not. */
static json_t *remember(struct nof_system *m, const struct nof_pci_nic *d)
{
    json_t *kept = nof_kept_load(m, d->address);
    json_t *interfaces = nof_interfaces_save(m, d);
    char override[32];

    if (interfaces == NULL) {
        json_decref(kept);
        return NULL;
    }
    if (kept != NULL) {
        if (strcmp(nof_kept_text(kept, "driver"), d->driver) == 0)
            json_object_set(kept, "interfaces", interfaces);
        json_decref(interfaces);
        return kept;
    }
    nof_system_read(m, override, sizeof(override), NOF_PCI_DIR "/driver_override", d->address);
    if (strcmp(override, NO_OVERRIDE) == 0 || strcmp(override, NOF_VFIO_DRIVER) == 0)
        override[0] = '\0';
    return json_pack("{s:s, s:s, s:o}", "driver", d->driver, "override", override, "interfaces", interfaces);
}

bool nof_rebind_forget(struct nof_system *m, const char *address)
{
    json_t *kept = gone(m, address) ? nof_kept_load(m, address) : NULL;

    if (kept == NULL)
        return false;
    nof_pages_settle(m);
    put_back(m, address, kept, false);
    json_decref(kept);
    return true;
}

/* *begun: there is something to be undone. */
static bool take_one(struct nof_system *m, const struct nof_pci_nic *d, unsigned taken_mb,
                     const struct nof_rebind_options *options, bool *begun)
{
    json_t *kept = remember(m, d);
    bool good = kept != NULL && nof_kept_save(m, d->address, kept);

    *begun = kept != NULL;
    if (good && options->pages_mb > 0)
        good = nof_pages_make(m, d, options->pages_mb, taken_mb, kept);
    if (good && options->noiommu && d->group[0] == '\0')
        good = nof_vfio_noiommu_on(m, d->address, kept);
    good = good && to_vfio(m, d->address);
    json_decref(kept);
    return good;
}

bool nof_rebind_take(struct nof_system *m, const struct nof_pci_nic *devices, unsigned n,
                     const struct nof_rebind_options *options)
{
    bool back = true, begun = false, late;
    unsigned i = 0;

    m->late = false;
    nof_pages_settle(m);
    if (!nof_vfio_ready(m, true))
        return false;
    while (i < n && take_one(m, &devices[i], i * options->pages_mb, options, &begun))
        i++;
    if (i == n)
        return true;
    late = m->late;
    for (unsigned k = begun ? i + 1 : i; k > 0; k--)
        back &= undo_take(m, &devices[k - 1], late && k == i + 1);
    if (back)
        nof_say(m, "everything is as it was before");
    return false;
}

/* Those that were bound, bound again. */
static void undo_give(struct nof_system *m, const struct nof_pci_nic *devices, unsigned n)
{
    bool back = true;

    for (unsigned i = 0; i < n; i++)
        if (nof_pci_nic_bound(&devices[i]) && !gone(m, devices[i].address) &&
            !to_vfio(m, devices[i].address)) {
            nof_say(m, "%s is not on vfio-pci any more, and not on its own driver: try `nof unbind %s` again",
                    devices[i].address, devices[i].address);
            back = false;
        }
    if (back && !m->late)
        nof_say(m, "everything is as it was before");
}

bool nof_rebind_give(struct nof_system *m, const struct nof_pci_nic *devices, unsigned n)
{
    unsigned i;

    m->late = false;
    nof_pages_settle(m);
    for (i = 0; i < n; i++) {
        json_t *kept = nof_kept_load(m, devices[i].address);
        bool good = to_own(m, devices[i].address, kept);

        json_decref(kept);
        if (good)
            continue;
        undo_give(m, devices, i + 1);
        return false;
    }
    for (i = 0; i < n; i++) {
        json_t *kept = nof_kept_load(m, devices[i].address);

        if (kept != NULL)
            put_back(m, devices[i].address, kept, true);
        json_decref(kept);
    }
    return true;
}
