/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/holds.h"

#include <stdarg.h>
#include <string.h>

#include "bind/kept.h"

#define NAMES_MAX 16u /* of a NIC and all that stands on it */
#define ROUTES_ASKED_MAX 32u

struct names {
    unsigned n;
    char name[NAMES_MAX][16];
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
    for (unsigned i = 0; name != NULL && i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return true;
    return false;
}

static void add_name(struct names *names, const char *name)
{
    if (names->n < NAMES_MAX && !in(names, name))
        snprintf(names->name[names->n++], sizeof(names->name[0]), "%s", name);
}

/* Its interfaces, and the bridges, bonds and VLANs on them, and on those. */
static void collect(struct nof_system *m, const struct nof_pci_nic *d, struct names *names)
{
    names->n = 0;
    for (unsigned i = 0; i < d->ninterfaces; i++)
        add_name(names, d->interface[i]);
    for (unsigned i = 0; i < names->n; i++) {
        json_t *entries = nof_system_names(m, "/sys/class/net/%s", names->name[i]);
        const json_t *entry;
        size_t k;

        json_array_foreach(entries, k, entry)
        {
            if (strncmp(json_string_value(entry), "upper_", 6) == 0)
                add_name(names, json_string_value(entry) + 6);
        }
        json_decref(entries);
    }
}

static void hold_by_default(const struct nof_view *v, const struct names *names, json_t *holds)
{
    const json_t *route;
    char type[128];
    size_t i;

    json_array_foreach(v->defaults, i, route)
    {
        const char *dev = nof_kept_text(route, "dev"), *via = nof_kept_text(route, "gateway");

        if (!in(names, dev))
            continue;
        snprintf(type, sizeof(type), "give it to another interface first: ip route replace default via ...");
        add(holds, "default_route", false, 0, type, "%s carries the default route%s%s", dev,
            via[0] != '\0' ? " via " : "", via);
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

    if (names->n == 0)
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
            "an SSH session from %s goes by %s%s", remote, names->name[0], who);
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

static void hold_by_addresses(const struct nof_view *v, const struct names *names, json_t *holds)
{
    const json_t *link, *address;
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
        if (fill > 0)
            add(holds, "addresses", true, 0, "--force takes it away all the same, and unbind gives it back",
                "%s is up, with%s", nof_kept_text(link, "ifname"), list);
    }
}

static void hold_by_members(struct nof_system *m, const struct nof_pci_nic *d, const struct names *names,
                            json_t *holds)
{
    char master[32], type[64];

    for (unsigned i = 0; i < d->ninterfaces; i++) {
        const char *name = d->interface[i];

        if (!nof_system_points(m, master, sizeof(master), "/sys/class/net/%s/master", name))
            continue;
        snprintf(type, sizeof(type), "ip link set %s nomaster", name);
        add(holds, "member", true, 0, type, "%s is a port of %s", name, master);
    }
    for (unsigned i = d->ninterfaces; i < names->n; i++) {
        char first[16];

        /* What stands on it without being its master: VLANs, macvlans. */
        if (nof_system_points(m, first, sizeof(first), "/sys/class/net/%s/master", names->name[0]) &&
            strcmp(first, names->name[i]) == 0)
            continue;
        snprintf(type, sizeof(type), "ip link del %s", names->name[i]);
        add(holds, "member", true, 0, type, "%s stands on %s", names->name[i], names->name[0]);
    }
}

json_t *nof_holds(struct nof_system *m, const struct nof_view *v, const struct nof_pci_nic *d)
{
    json_t *holds = json_array();
    struct names names;

    collect(m, d, &names);
    hold_by_default(v, &names, holds);
    hold_by_ssh(m, v, &names, holds);
    hold_by_processes(v, d, holds);
    hold_by_addresses(v, &names, holds);
    hold_by_members(m, d, &names, holds);
    if (d->functions > 0)
        add(holds, "functions", true, 0, "see who uses them, then: echo 0 > sriov_numvfs",
            "it has %u virtual functions, which go with it", d->functions);
    if (d->driver[0] != '\0' && d->ninterfaces == 0 && !nof_pci_nic_bound(d))
        add(holds, "elsewhere", true, 0, "see `ip netns`; --force takes it from there",
            "driver %s has it, and no interface of it is seen here: another network namespace may use it",
            d->driver);
    return holds;
}
