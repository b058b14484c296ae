/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/holds.h"

#include <stdarg.h>
#include <string.h>

#include "bind/kept.h"

#define ROUTES_ASKED_MAX 32u

/* The interfaces of a NIC and of its virtual functions, and all that stands on them. */
struct names {
    json_t *list;
    json_t *under; /* of each the one that it stands on; "": it is the NIC's own, or a function's */
};

bool nof_view_look(struct nof_system *m, struct nof_view *v)
{
    static const char *const links[] = {"ip", "-json", "address", "show", NULL};
    static const char *const four[] = {"ip", "-json", "-4", "route", "show", "table", "all", "default", NULL};
    static const char *const six[] = {"ip", "-json", "-6", "route", "show", "table", "all", "default", NULL};
    json_t *more = nof_system_has(m, "/proc/net/if_inet6") ? nof_system_ask(m, six) : json_array();
    bool good;

    nof_users_look(m, &v->users);
    v->links = nof_system_ask(m, links);
    v->defaults = nof_system_ask(m, four);
    good = more != NULL && v->links != NULL && v->defaults != NULL;
    if (!good)
        nof_say(m, "`ip -json address` and `ip -json route` do not answer, and without them nobody knows "
                   "which NIC is "
                   "in use: install iproute2");
    json_array_extend(v->defaults, more);
    json_decref(more);
    return good;
}

void nof_view_free(struct nof_view *v)
{
    nof_users_free(&v->users);
    json_decref(v->links);
    json_decref(v->defaults);
}

__attribute__((format(printf, 6, 7))) static void add(json_t *holds, const char *kind, bool forced,
                                                      json_int_t pid, const char *type, const char *says, ...)
{
    char text[256];
    va_list args;

    va_start(args, says);
    vsnprintf(text, sizeof(text), says, args);
    va_end(args);
    json_array_append_new(holds, json_pack("{s:s, s:b, s:I, s:s, s:s}", "kind", kind, "forced", forced, "pid",
                                           pid, "says", text, "type", type));
}

static bool in(const struct names *names, const char *name)
{
    return json_object_get(names->under, name) != NULL;
}

static void add_name(struct names *names, const char *name, const char *under)
{
    if (in(names, name))
        return;
    json_array_append_new(names->list, json_string(name));
    json_object_set_new(names->under, name, json_string(under));
}

static void collect_functions(struct nof_system *m, const struct nof_pci_nic *d, struct names *names)
{
    json_t *entries = nof_system_names(m, NOF_PCI_DIR, d->address);
    const json_t *entry;
    size_t k;

    json_array_foreach(entries, k, entry)
    {
        const char *name = json_string_value(entry);
        struct nof_pci_nic function;
        char address[32];

        if (!nof_pci_nic_is_function(name) ||
            !nof_system_points(m, address, sizeof(address), NOF_PCI_DIR "/%s", d->address, name) ||
            !nof_pci_nic_read(m, address, &function))
            continue;
        for (unsigned i = 0; i < function.ninterfaces; i++)
            add_name(names, function.interface[i], "");
    }
    json_decref(entries);
}

/* Its interfaces and those of its functions, and the bridges, bonds and VLANs on them, and on those. */
static void collect(struct nof_system *m, const struct nof_pci_nic *d, struct names *names)
{
    *names = (struct names){.list = json_array(), .under = json_object()};
    for (unsigned i = 0; i < d->ninterfaces; i++)
        add_name(names, d->interface[i], "");
    collect_functions(m, d, names);
    for (size_t i = 0; i < json_array_size(names->list); i++) {
        const char *lower = json_string_value(json_array_get(names->list, i));
        json_t *entries = nof_system_names(m, "/sys/class/net/%s", lower);
        const json_t *entry;
        size_t k;

        json_array_foreach(entries, k, entry)
        {
            if (strncmp(json_string_value(entry), "upper_", 6) == 0)
                add_name(names, json_string_value(entry) + 6, lower);
        }
        json_decref(entries);
    }
}

/* The way of that route, or of several next hops the one, that leaves by one of these; NULL: none. */
static const json_t *way_by(const struct names *names, const json_t *route)
{
    const json_t *hop;
    size_t i;

    if (in(names, nof_kept_text(route, "dev")))
        return route;
    json_array_foreach(json_object_get(route, "nexthops"), i, hop)
    {
        if (in(names, nof_kept_text(hop, "dev")))
            return hop;
    }
    return NULL;
}

static void hold_by_default(const struct nof_view *v, const struct names *names, json_t *holds)
{
    const json_t *route;
    char type[128];
    size_t i;

    json_array_foreach(v->defaults, i, route)
    {
        const json_t *way = way_by(names, route);
        const char *via = nof_kept_text(way, "gateway");

        if (way == NULL)
            continue;
        snprintf(type, sizeof(type), "give it to another interface first: ip route replace default via ...");
        add(holds, "default_route", false, 0, type, "%s carries the default route%s%s",
            nof_kept_text(way, "dev"), via[0] != '\0' ? " via " : "", via);
        return;
    }
}

static const char *owner_of(const struct nof_view *v, const char *local)
{
    const json_t *link, *address;
    size_t i, k;

    json_array_foreach(v->links, i, link)
    {
        json_array_foreach(json_object_get(link, "addr_info"), k, address)
        {
            if (strcmp(nof_kept_text(address, "local"), local) == 0)
                return nof_kept_text(link, "ifname");
        }
    }
    return "";
}

/* Does the way back to that peer leave by one of these? */
static bool leaves_by(struct nof_system *m, const struct names *names, const char *remote)
{
    const char *const argv[] = {"ip", "-json", "route", "get", remote, NULL};
    json_t *way = nof_system_ask(m, argv);
    bool leaves = in(names, nof_kept_text(json_array_get(way, 0), "dev"));

    json_decref(way);
    return leaves;
}

static void hold_by_ssh(struct nof_system *m, const struct nof_view *v, const struct names *names,
                        json_t *holds)
{
    const json_t *one;
    char who[64] = "";
    size_t i;

    if (json_array_size(names->list) == 0)
        return;
    json_array_foreach(v->users.ssh, i, one)
    {
        const char *remote = nof_kept_text(one, "remote"), *owner = owner_of(v, nof_kept_text(one, "local"));
        json_int_t pid = json_integer_value(json_object_get(one, "pid"));

        if (!in(names, owner) &&
            (strcmp(owner, "lo") == 0 || i >= ROUTES_ASKED_MAX || !leaves_by(m, names, remote)))
            continue;
        if (pid != 0)
            snprintf(who, sizeof(who), " (%.20s, pid %d)", nof_kept_text(one, "name"), (int)pid);
        add(holds, "ssh", false, pid, "log in by another way, and end that session",
            "an SSH session from %s goes by %s%s", remote, json_string_value(json_array_get(names->list, 0)),
            who);
        return;
    }
}

static void hold_by_processes(const struct nof_view *v, const struct nof_pci_nic *d, json_t *holds)
{
    const json_t *one;
    char type[64];
    size_t i;

    json_array_foreach(v->users.vfio, i, one)
    {
        int pid = (int)json_integer_value(json_object_get(one, "pid"));

        if (d->node[0] == '\0' || strcmp(nof_kept_text(one, "path"), d->node) != 0)
            continue;
        snprintf(type, sizeof(type), strcmp(nof_kept_text(one, "name"), "nofd") == 0 ? "nof down" : "kill %d",
                 pid);
        add(holds, "process", false, pid, type, "%s (pid %d) has %s open", nof_kept_text(one, "name"), pid,
            d->node);
    }
    json_array_foreach(v->users.ports, i, one)
    {
        int pid = (int)json_integer_value(json_object_get(one, "pid"));

        for (unsigned k = 0; k < d->ninterfaces; k++)
            if (strcmp(nof_kept_text(one, "interface"), d->interface[k]) == 0)
                add(holds, "process", false, pid, "nof down", "nofd (pid %d) plays a NIC on %s", pid,
                    d->interface[k]);
    }
}

static bool is_up(const json_t *link)
{
    const json_t *flag;
    size_t i;

    json_array_foreach(json_object_get(link, "flags"), i, flag)
    {
        if (strcmp(json_string_value(flag), "UP") == 0)
            return true;
    }
    return false;
}

static bool is_own(const struct nof_pci_nic *d, const char *name)
{
    for (unsigned i = 0; i < d->ninterfaces; i++)
        if (strcmp(d->interface[i], name) == 0)
            return true;
    return false;
}

static void hold_by_addresses(const struct nof_view *v, const struct nof_pci_nic *d,
                              const struct names *names, json_t *holds)
{
    const json_t *link, *address;
    char type[96];
    size_t i, k;

    json_array_foreach(v->links, i, link)
    {
        char list[128] = "";
        size_t fill = 0;

        if (!in(names, nof_kept_text(link, "ifname")) || !is_up(link))
            continue;
        json_array_foreach(json_object_get(link, "addr_info"), k, address)
        {
            if (strcmp(nof_kept_text(address, "scope"), "link") != 0 && fill < sizeof(list))
                fill += (size_t)snprintf(list + fill, sizeof(list) - fill, " %s/%d",
                                         nof_kept_text(address, "local"),
                                         (int)json_integer_value(json_object_get(address, "prefixlen")));
        }
        snprintf(type, sizeof(type), "--force takes it away all the same, and unbind %s",
                 is_own(d, nof_kept_text(link, "ifname")) ? "gives it back" : "does not put it back");
        if (fill > 0)
            add(holds, "addresses", true, 0, type, "%s is up, with%s", nof_kept_text(link, "ifname"), list);
    }
}

static void hold_by_members(struct nof_system *m, const struct nof_pci_nic *d, const struct names *names,
                            json_t *holds)
{
    char master[32], type[64];
    const json_t *entry;
    size_t k;

    for (unsigned i = 0; i < d->ninterfaces; i++) {
        const char *name = d->interface[i];

        if (!nof_system_points(m, master, sizeof(master), "/sys/class/net/%s/master", name))
            continue;
        snprintf(type, sizeof(type), "ip link set %s nomaster", name);
        add(holds, "member", true, 0, type, "%s is a port of %s", name, master);
    }
    json_array_foreach(names->list, k, entry)
    {
        const char *name = json_string_value(entry), *lower = nof_kept_text(names->under, name);

        /* What stands on it without being its master: VLANs, macvlans. */
        if (lower[0] == '\0' ||
            (nof_system_points(m, master, sizeof(master), "/sys/class/net/%s/master", lower) &&
             strcmp(master, name) == 0))
            continue;
        snprintf(type, sizeof(type), "ip link del %s", name);
        add(holds, "member", true, 0, type, "%s stands on %s", name, lower);
    }
}

json_t *nof_holds(struct nof_system *m, const struct nof_view *v, const struct nof_pci_nic *d)
{
    json_t *holds = json_array();
    struct names names;

    collect(m, d, &names);
    if (d->nfurther > 0)
        add(holds, "interfaces", false, 0, "ls /sys/bus/pci/devices/ADDRESS/net, and unplug or remove some",
            "it has %u interfaces beyond the %u that are looked at: nobody knows what they carry",
            d->nfurther, NOF_PCI_NIC_INTERFACES);
    hold_by_default(v, &names, holds);
    hold_by_ssh(m, v, &names, holds);
    hold_by_processes(v, d, holds);
    hold_by_addresses(v, d, &names, holds);
    hold_by_members(m, d, &names, holds);
    if (d->functions > 0)
        add(holds, "functions", true, 0, "see who uses them, then: echo 0 > sriov_numvfs",
            "it has %u virtual functions, which go with it", d->functions);
    if (d->driver[0] != '\0' && d->ninterfaces == 0 && !nof_pci_nic_bound(d))
        add(holds, "elsewhere", true, 0, "see `ip netns`; --force takes it from there",
            "driver %s has it, and no interface of it is seen here: another network namespace may use it",
            d->driver);
    json_decref(names.list);
    json_decref(names.under);
    return holds;
}
