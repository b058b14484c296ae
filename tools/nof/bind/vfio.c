/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/vfio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bind/kept.h"

#define DRIVER_DIR "/sys/bus/pci/drivers/" NOF_VFIO_DRIVER
#define PAGES_OF_NODE "/sys/devices/system/node/node%d/hugepages"
#define PAGES_OF_ALL "/sys/kernel/mm/hugepages"

bool nof_vfio_ready(struct nof_system *m, bool load)
{
    static const char *const probe[] = {"modprobe", NOF_VFIO_DRIVER, NULL};
    static const char *const ask[] = {"modprobe", "-n", NOF_VFIO_DRIVER, NULL};
    char *said = NULL;
    int rc;

    if (nof_system_has(m, DRIVER_DIR))
        return true;
    rc = m->ops->run(m, load ? probe : ask, &said);
    if (rc == 0 && (!load || nof_system_has(m, DRIVER_DIR))) {
        free(said);
        return true;
    }
    nof_say(m,
            "this kernel has no driver vfio-pci, and `modprobe vfio-pci` does not load it: %.*s; install the "
            "modules of the kernel that runs (uname -r), or one with CONFIG_VFIO_PCI",
            (int)strcspn(said != NULL ? said : "", "\n"), said != NULL ? said : strerror(rc < 0 ? -rc : EIO));
    free(said);
    return false;
}

/* What the mode was before any of the devices that use it; "": none uses it. */
static void noiommu_before(struct nof_system *m, const char *but, char *was, size_t was_bytes)
{
    json_t *all = nof_kept_all(m);
    const json_t *address;
    size_t i;

    was[0] = '\0';
    json_array_foreach(all, i, address)
    {
        json_t *kept;

        if (strcmp(json_string_value(address), but) == 0)
            continue;
        kept = nof_kept_load(m, json_string_value(address));
        if (json_object_get(kept, "noiommu_was") != NULL)
            snprintf(was, was_bytes, "%s", nof_kept_text(kept, "noiommu_was"));
        json_decref(kept);
    }
    json_decref(all);
}

bool nof_vfio_noiommu_on(struct nof_system *m, const char *address, json_t *kept)
{
    char now[8], was[8];
    int rc;

    if (!nof_system_read(m, now, sizeof(now), NOF_NOIOMMU)) {
        nof_say(m,
                "this kernel has no no-IOMMU mode (CONFIG_VFIO_NOIOMMU): %s cannot be bound without an IOMMU",
                address);
        return false;
    }
    noiommu_before(m, address, was, sizeof(was));
    if (json_object_get(kept, "noiommu_was") == NULL)
        json_object_set_new(kept, "noiommu_was", json_string(was[0] != '\0' ? was : now));
    if (!nof_kept_save(m, address, kept))
        return false;
    if (now[0] == 'Y' || now[0] == '1')
        return true;
    rc = nof_system_write(m, "Y", NOF_NOIOMMU);
    if (rc != 0)
        nof_say(m, "no-IOMMU mode cannot be switched on: %s; the kernel may be locked down (Secure Boot)",
                strerror(-rc));
    return rc == 0;
}

void nof_vfio_noiommu_undo(struct nof_system *m, const char *address, const json_t *kept)
{
    char others[8], now[8];
    const char *was = nof_kept_text(kept, "noiommu_was");
    int rc;

    noiommu_before(m, address, others, sizeof(others));
    if (was[0] == '\0' || others[0] != '\0' || !nof_system_read(m, now, sizeof(now), NOF_NOIOMMU) ||
        now[0] == was[0])
        return;
    rc = nof_system_write(m, was, NOF_NOIOMMU);
    if (rc != 0)
        nof_say(m, "no-IOMMU mode cannot be switched off again (%s): echo %s > " NOF_NOIOMMU, strerror(-rc),
                was);
}

/* The smallest pages that it has: of those there are most to be had. */
static bool look_in(struct nof_system *m, const char *dir, struct nof_pages *out)
{
    json_t *names = nof_system_names(m, "%s", dir);
    const json_t *name;
    unsigned long kb;
    size_t i;

    out->page_kb = 0;
    json_array_foreach(names, i, name)
    {
        if (sscanf(json_string_value(name), "hugepages-%lukB", &kb) == 1 &&
            (out->page_kb == 0 || kb < out->page_kb))
            out->page_kb = kb;
    }
    json_decref(names);
    if (out->page_kb == 0)
        return false;
    snprintf(out->dir, sizeof(out->dir), "%s/hugepages-%lukB", dir, out->page_kb);
    out->total = nof_system_number(m, 0, "%s/nr_hugepages", out->dir);
    out->unused = nof_system_number(m, 0, "%s/free_hugepages", out->dir);
    return true;
}

bool nof_pages_look(struct nof_system *m, int numa, struct nof_pages *out)
{
    char dir[128];

    snprintf(dir, sizeof(dir), PAGES_OF_NODE, numa);
    return (numa >= 0 && look_in(m, dir, out)) || look_in(m, PAGES_OF_ALL, out);
}

static int set_total(struct nof_system *m, const char *dir, long pages)
{
    char text[24];

    snprintf(text, sizeof(text), "%ld", pages);
    return nof_system_write(m, text, "%s/nr_hugepages", dir);
}

/* Of what is kept. With "before" it is not known whether the kernel has made them all. */
static long pages_added(struct nof_system *m, const json_t *pages)
{
    const json_t *before = json_object_get(pages, "before");
    const char *dir = nof_kept_text(pages, "path");

    if (before == NULL)
        return (long)json_integer_value(json_object_get(pages, "added"));
    return nof_system_number(m, 0, "%s/nr_hugepages", dir) - (long)json_integer_value(before);
}

void nof_pages_settle(struct nof_system *m)
{
    json_t *all = nof_kept_all(m);
    const json_t *address;
    size_t i;

    json_array_foreach(all, i, address)
    {
        json_t *kept = nof_kept_load(m, json_string_value(address));
        json_t *pages = json_object_get(kept, "pages");

        if (json_object_get(pages, "before") != NULL) {
            json_object_set_new(pages, "added", json_integer(pages_added(m, pages)));
            json_object_del(pages, "before");
            (void)nof_kept_save(m, json_string_value(address), kept);
        }
        json_decref(kept);
    }
    json_decref(all);
}

bool nof_pages_make(struct nof_system *m, const struct nof_pci_nic *d, unsigned mb, unsigned taken_mb,
                    json_t *kept)
{
    struct nof_pages pages;
    long want, more, had, got;
    json_t *note;
    int rc;

    if (!nof_pages_look(m, d->numa, &pages)) {
        nof_say(m, "this kernel has no hugepages (CONFIG_HUGETLBFS); leave --hugepages out");
        return false;
    }
    note = json_object_get(kept, "pages");
    had = pages_added(m, note);
    want = (long)(((unsigned long)mb + taken_mb) * 1024 / pages.page_kb);
    more = want - pages.unused > 0 ? want - pages.unused : 0;
    if (more == 0 && note == NULL)
        return true;
    note = json_pack("{s:s, s:I, s:I}", "path", pages.dir, "added", (json_int_t)(had + more), "before",
                     (json_int_t)(pages.total - had));
    json_object_set_new(kept, "pages", note);
    if (!nof_kept_save(m, d->address, kept))
        return false;
    rc = more > 0 ? set_total(m, pages.dir, pages.total + more) : 0;
    got = rc == 0 ? nof_system_number(m, 0, "%s/nr_hugepages", pages.dir) - pages.total : 0;
    if (got >= more) {
        json_object_del(note, "before");
        return nof_kept_save(m, d->address, kept);
    }
    nof_say(m,
            "%ld more hugepages of %lu kB are needed, and %ld could be had%s%s: free memory, ask for less "
            "(--hugepages=MB), or have them from the boot on: hugepages=%ld on the kernel's command line",
            more, pages.page_kb, got, rc != 0 ? ": " : "", rc != 0 ? strerror(-rc) : "", want);
    return false;
}

void nof_pages_undo(struct nof_system *m, const json_t *kept)
{
    const json_t *pages = json_object_get(kept, "pages");
    const char *dir = nof_kept_text(pages, "path");
    long added = pages_added(m, pages), total;
    int rc;

    if (added <= 0)
        return;
    total = nof_system_number(m, 0, "%s/nr_hugepages", dir);
    rc = set_total(m, dir, total > added ? total - added : 0);
    if (rc != 0)
        nof_say(m, "%ld hugepages cannot be given back (%s): echo %ld > %s/nr_hugepages", added,
                strerror(-rc), total > added ? total - added : 0, dir);
}
