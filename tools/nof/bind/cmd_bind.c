/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bind` and `nof unbind`: what may go, what is said of it; bind/rebind.h makes it go. */
#include "commands.h"

#include <argp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind/holds.h"
#include "bind/kept.h"
#include "bind/rebind.h"
#include "bind/vfio.h"
#include "nof_private/units.h"

#define DEVICES_MAX 64
#define PAGES_MB 256u /* room for a NIC with frames of 9000 bytes, and for EAL */
#define PAGES_MB_MAX (1u << 20)

enum { OPT_DRY_RUN = 256, OPT_NO_IOMMU, OPT_HUGEPAGES, OPT_FORCE };

struct options {
    struct nof_system m;
    struct nof_rebind_options how;
    bool dry_run, force;
    bool unbinds;
    const char *name[DEVICES_MAX]; /* as given */
    unsigned nnames;
    struct nof_pci_nic device[DEVICES_MAX];
    unsigned n;
};

static const struct argp_option bind_options[] = {
    {"dry-run", OPT_DRY_RUN, NULL, 0, "say what would be done, and do nothing", 0},
    {"hugepages", OPT_HUGEPAGES, "MB", OPTION_ARG_OPTIONAL,
     "see that each device has so much unused memory in hugepages beside it (without MB: 256)", 0},
    {"no-iommu", OPT_NO_IOMMU, NULL, 0,
     "also devices without an IOMMU: then a device, and who drives it, can write all of the machine's memory",
     0},
    {"force", OPT_FORCE, NULL, 0,
     "also a NIC that is up with addresses, a port of a bridge or bond, or has virtual functions; never the "
     "one of the "
     "default route or of an SSH session",
     0},
    {NULL, 0, NULL, 0, NULL, 0},
};
static const struct argp_option unbind_options[] = {{NULL, 0, NULL, 0, NULL, 0}};

static bool is_root(const struct options *o)
{
    return geteuid() == 0 || o->m.root[0] != '\0';
}

static bool may_change(const struct options *o)
{
    if (is_root(o))
        return true;
    nof_say(&o->m, "drivers are bound by root alone: sudo %s ...%s", o->m.self,
            o->unbinds ? "" : " (--dry-run may be done by anybody)");
    return false;
}

/* Unplugged while it was bound. */
static bool forgotten(struct options *o, const char *name)
{
    char address[32];

    if (strlen(name) >= sizeof(address) || !nof_pci_nic_address(name, address, sizeof(address)) ||
        nof_system_has(&o->m, NOF_PCI_DIR "/class", address) ||
        !nof_system_has(&o->m, NOF_KEPT_DIR "/%s.json", address) || !may_change(o))
        return false;
    if (nof_rebind_forget(&o->m, address))
        printf("%s: is not there any more (unplugged); it is forgotten\n", address);
    return true;
}

static bool find(struct options *o, const char *name)
{
    struct nof_pci_nic *d = &o->device[o->n];

    if (o->unbinds && forgotten(o, name))
        return true;
    if (!nof_pci_nic_find(&o->m, name, d))
        return false;
    for (unsigned i = 0; i < o->n; i++)
        if (strcmp(o->device[i].address, d->address) == 0)
            return true;
    o->n++;
    return true;
}

/* The devices, looked at with the lock, which is held until the command ends: what is found then stays so. Who only looks needs none. */
static bool find_all(struct options *o)
{
    if (!o->dry_run && is_root(o) && nof_system_lock(&o->m) < 0)
        return false;
    for (unsigned i = 0; i < o->nnames; i++)
        if (!find(o, o->name[i]))
            return false;
    return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    uint64_t mb;

    switch (key) {
    case OPT_DRY_RUN:
        o->dry_run = true;
        return 0;
    case OPT_NO_IOMMU:
        o->how.noiommu = true;
        return 0;
    case OPT_FORCE:
        o->force = true;
        return 0;
    case OPT_HUGEPAGES:
        o->how.pages_mb = PAGES_MB;
        if (arg != NULL && nofd_units_number(arg, 1, PAGES_MB_MAX, &mb) != 0)
            argp_error(state, "--hugepages: '%s' is no number of MB from 1 to %u", arg, PAGES_MB_MAX);
        else if (arg != NULL)
            o->how.pages_mb = (unsigned)mb;
        return 0;
    case ARGP_KEY_ARG:
        if (o->nnames == DEVICES_MAX)
            argp_error(state, "at most %d devices at once", DEVICES_MAX);
        o->name[o->nnames++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which device? `nof devices` lists them");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "0000:03:00.0 (eth1)", with the name that the interface has or had. */
static void put_name(struct options *o, const struct nof_pci_nic *d, char *name, size_t name_bytes)
{
    json_t *kept = d->ninterfaces == 0 ? nof_kept_load(&o->m, d->address) : NULL;
    const char *was = nof_kept_text(json_array_get(json_object_get(kept, "interfaces"), 0), "name");

    if (d->ninterfaces > 0)
        was = d->interface[0];
    snprintf(name, name_bytes, was[0] != '\0' ? "%s (%s)" : "%s", d->address, was);
    json_decref(kept);
}

static bool named(const struct options *o, const char *address)
{
    for (unsigned i = 0; i < o->n; i++)
        if (strcmp(o->device[i].address, address) == 0)
            return true;
    return false;
}

/* Whoever has such a driver does not keep the group from user space (drivers/vfio of Linux). */
static bool stands_aside(const char *driver)
{
    return driver[0] == '\0' || strcmp(driver, NOF_VFIO_DRIVER) == 0 || strcmp(driver, "pci-stub") == 0 ||
           strcmp(driver, "pcieport") == 0;
}

/* All of an IOMMU group go together, or none. */
static bool group_agrees(struct options *o, const struct nof_pci_nic *d)
{
    json_t *peers = nof_pci_nic_peers(&o->m, d);
    const json_t *address;
    struct nof_pci_nic peer;
    bool agrees = true;
    size_t i;

    json_array_foreach(peers, i, address)
    {
        if (!nof_pci_nic_read(&o->m, json_string_value(address), &peer) || named(o, peer.address))
            continue;
        if (o->unbinds ? !nof_pci_nic_bound(&peer) : stands_aside(peer.driver))
            continue;
        agrees = false;
        if (!o->unbinds && !nof_pci_nic_is_nic(&peer))
            nof_say(&o->m,
                    "%s stays: %s (class 0x%06x, driver %s) is in its IOMMU group %s, and a group goes as a "
                    "whole; "
                    "if nothing needs that device: echo %s > /sys/bus/pci/drivers/%s/unbind",
                    d->address, peer.address, peer.class, peer.driver, d->group, peer.address, peer.driver);
        else
            nof_say(
                &o->m,
                "%s stays: %s is in its IOMMU group %s, and a group goes as a whole; name both: %s ... %s",
                d->address, peer.address, d->group, o->m.self, peer.address);
    }
    json_decref(peers);
    return agrees;
}

static bool nobody_holds(struct options *o, const struct nof_view *v, const struct nof_pci_nic *d,
                         const char *name)
{
    json_t *holds = nof_holds(&o->m, v, d);
    bool free_of_them = true;
    const json_t *hold;
    size_t i;

    json_array_foreach(holds, i, hold)
    {
        bool forced = json_is_true(json_object_get(hold, "forced"));

        if (forced && o->force) {
            nof_say(&o->m, "%s: %s; taken all the same%s", name, nof_kept_text(hold, "says"),
                    strcmp(nof_kept_text(hold, "kind"), "addresses") == 0
                        ? ""
                        : ", and unbind does not put it back");
            continue;
        }
        free_of_them = false;
        nof_say(&o->m, "%s stays: %s; %s%s", name, nof_kept_text(hold, "says"), nof_kept_text(hold, "type"),
                forced && strcmp(nof_kept_text(hold, "kind"), "member") == 0 ? ", or --force" : "");
    }
    json_decref(holds);
    return free_of_them;
}

/* NICs that DPDK drives through the kernel's driver. */
static bool is_shared(const char *driver)
{
    return strncmp(driver, "mlx", 3) == 0 || strcmp(driver, "mana") == 0;
}

/* May this one go to vfio-pci? false after saying why not. */
static bool may_bind(struct options *o, const struct nof_view *v, const struct nof_pci_nic *d)
{
    bool watched, agrees;
    char name[48];

    put_name(o, d, name, sizeof(name));
    if (!nof_pci_nic_is_nic(d)) {
        nof_say(&o->m, "%s is no network device (class 0x%06x); `nof devices` lists those", name, d->class);
        return false;
    }
    if (is_shared(d->driver)) {
        nof_say(&o->m, "%s stays: DPDK drives it by the kernel's driver %s; no bind: `nof up --port %s`",
                name, d->driver, d->address);
        return false;
    }
    watched = d->group[0] != '\0' || o->how.noiommu;
    if (!watched)
        nof_say(&o->m,
                "%s stays: no IOMMU watches what it does. Switch one on (intel_iommu=on or amd_iommu=on on "
                "the kernel's "
                "command line, VT-d or AMD-Vi in the firmware) and boot; or, where all of this machine's "
                "memory may be "
                "written by that device: nof bind --no-iommu %s",
                name, d->address);
    agrees = group_agrees(o, d);
    return nobody_holds(o, v, d, name) && agrees && watched;
}

/* Those that are where they shall be leave the list. */
static void leave_out(struct options *o, bool (*done)(struct options *, const struct nof_pci_nic *))
{
    unsigned n = 0;

    for (unsigned i = 0; i < o->n; i++)
        if (!done(o, &o->device[i]))
            o->device[n++] = o->device[i];
    o->n = n;
}

static bool is_bound(struct options *o, const struct nof_pci_nic *d)
{
    char name[48];

    if (!nof_pci_nic_bound(d))
        return false;
    put_name(o, d, name, sizeof(name));
    printf("%s: is on vfio-pci already\n", name);
    return true;
}

static bool is_at_home(struct options *o, const struct nof_pci_nic *d)
{
    json_t *kept = nof_kept_load(&o->m, d->address);
    bool home = kept == NULL && !nof_pci_nic_bound(d) && d->driver[0] != '\0';
    char name[48];

    json_decref(kept);
    put_name(o, d, name, sizeof(name));
    if (home)
        printf("%s: has its driver %s already\n", name, d->driver);
    return home;
}

static void print_plan(struct options *o)
{
    struct nof_pages pages;

    if (!nof_system_has(&o->m, "/sys/bus/pci/drivers/" NOF_VFIO_DRIVER))
        printf("  modprobe " NOF_VFIO_DRIVER "\n");
    for (unsigned i = 0; i < o->n; i++) {
        const struct nof_pci_nic *d = &o->device[i];
        long want;

        printf("%s\n", d->address);
        if (o->how.pages_mb > 0 && nof_pages_look(&o->m, d->numa, &pages)) {
            want = (long)((unsigned long)(i + 1) * o->how.pages_mb * 1024 / pages.page_kb);
            if (want > pages.unused)
                printf("  echo %ld > %s/nr_hugepages\n", pages.total + want - pages.unused, pages.dir);
        }
        if (d->group[0] == '\0')
            printf("  echo Y > " NOF_NOIOMMU "\n");
        printf("  echo " NOF_VFIO_DRIVER " > " NOF_PCI_DIR "/driver_override\n", d->address);
        if (d->driver[0] != '\0')
            printf("  echo %s > /sys/bus/pci/drivers/%s/unbind\n", d->address, d->driver);
        printf("  echo %s > /sys/bus/pci/drivers_probe\n", d->address);
    }
}

/* The address that its interface had is likely the one that its NIC shall have. */
static void print_bound(struct options *o)
{
    printf("\nto use %s:   nof up", o->n == 1 ? "it" : "them");
    for (unsigned i = 0; i < o->n; i++)
        printf(" --port %s", o->device[i].address);
    printf(" --");
    for (unsigned i = 0; i < o->n; i++) {
        json_t *kept = nof_kept_load(&o->m, o->device[i].address);
        const json_t *row = json_array_get(json_object_get(kept, "interfaces"), 0);
        const char *ip = json_string_value(json_array_get(json_object_get(row, "addresses"), 0));

        if (ip != NULL && strchr(ip, ':') == NULL)
            printf(" --ip %.*s", (int)strcspn(ip, "/"), ip);
        else
            printf(" --ip A.B.C.D");
        json_decref(kept);
    }
    printf("\nback again:  nof unbind");
    for (unsigned i = 0; i < o->n; i++)
        printf(" %s", o->device[i].address);
    printf("\n");
}

/* Nobody leaves a NIC half way by Ctrl-C. */
static void hold_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static bool check(struct options *o)
{
    struct nof_view view;
    bool good = nof_view_look(&o->m, &view);

    for (unsigned i = 0; i < o->n; i++)
        good &= may_bind(o, &view, &o->device[i]);
    nof_view_free(&view);
    if (!good && o->n > 1)
        nof_say(&o->m, "nothing was changed: all of them go, or none");
    return good;
}

static bool take(struct options *o)
{
    char name[DEVICES_MAX][48];
    bool good;

    hold_signals();
    for (unsigned i = 0; i < o->n; i++)
        put_name(o, &o->device[i], name[i], sizeof(name[i]));
    good = nof_rebind_take(&o->m, o->device, o->n, &o->how);
    for (unsigned i = 0; good && i < o->n; i++)
        printf("%s: %s -> " NOF_VFIO_DRIVER "\n", name[i],
               o->device[i].driver[0] != '\0' ? o->device[i].driver : "no driver");
    if (good)
        print_bound(o);
    return good;
}

int nof_cmd_bind(int argc, char **argv)
{
    static const char doc[] =
        "Give PCI NICs to vfio-pci, so that nofd can drive them (`nof up --port ADDRESS`); the kernel sees "
        "them no more "
        "until `nof unbind`. DEVICE is a PCI address or the name of an interface.\v"
        "All of the devices go, or none: what fails half way is taken back. What a device was (driver, name, "
        "addresses, "
        "routes) is kept in " NOF_KEPT_DIR " for unbind. A boot gives every device back to its own driver.";
    const struct argp argp = {bind_options, parse, "DEVICE...", doc, NULL, NULL, NULL};
    static struct options o;

    nof_system_open(&o.m, argv[0]);
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!find_all(&o))
        return 1;
    leave_out(&o, is_bound);
    if (o.n == 0)
        return 0;
    if (!check(&o) || (o.dry_run && !nof_vfio_ready(&o.m, false)))
        return 1;
    if (o.dry_run) {
        print_plan(&o);
        return 0;
    }
    return !may_change(&o) || !take(&o);
}

static bool may_unbind(struct options *o, const struct nof_view *v, const struct nof_pci_nic *d)
{
    json_t *holds = nof_holds(&o->m, v, d);
    bool good = group_agrees(o, d);
    const json_t *hold;
    size_t i;

    json_array_foreach(holds, i, hold)
    {
        if (strcmp(nof_kept_text(hold, "kind"), "process") != 0)
            continue;
        nof_say(&o->m, "%s stays: %s; end that first: %s", d->address, nof_kept_text(hold, "says"),
                nof_kept_text(hold, "type"));
        good = false;
    }
    json_decref(holds);
    return good;
}

static bool give(struct options *o)
{
    bool good;

    hold_signals();
    good = nof_rebind_give(&o->m, o->device, o->n);
    for (unsigned i = 0; good && i < o->n; i++) {
        struct nof_pci_nic now;
        char name[48];

        if (!nof_pci_nic_read(&o->m, o->device[i].address, &now))
            continue;
        put_name(o, &now, name, sizeof(name));
        printf("%s: %s -> %s\n", name, o->device[i].driver[0] != '\0' ? o->device[i].driver : "no driver",
               now.driver[0] != '\0' ? now.driver : "no driver");
    }
    return good;
}

int nof_cmd_unbind(int argc, char **argv)
{
    static const char doc[] = "Give PCI NICs back to the drivers that `nof bind` took them from, with the "
                              "names, addresses and routes that their "
                              "interfaces had. DEVICE is a PCI address, or the name that the interface had.\v"
                              "Also after a crash, from wherever bind had come to. A device that was bound "
                              "by other means goes to the driver that "
                              "the kernel chooses.";
    const struct argp argp = {unbind_options, parse, "DEVICE...", doc, NULL, NULL, NULL};
    static struct options o = {.unbinds = true};
    struct nof_view view;
    bool good;

    nof_system_open(&o.m, argv[0]);
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!find_all(&o))
        return 1;
    leave_out(&o, is_at_home);
    if (o.n == 0)
        return 0;
    good = nof_view_look(&o.m, &view);
    for (unsigned i = 0; i < o.n; i++)
        good &= may_unbind(&o, &view, &o.device[i]);
    nof_view_free(&view);
    return !good || !may_change(&o) || !give(&o);
}
