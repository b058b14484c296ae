/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/interface.h"

#include <stdlib.h>
#include <string.h>

#include "bind/kept.h"

#define WORDS_MAX 32u
#define APPEAR_MS 5000u
#define NAMED_MS 2000u /* udev gives names a moment after the interface is there */
#define LOOK_MS 50u

/* Addresses that were given for good, and the others. */
static bool save_addresses(struct nof_system *m, const char *name, json_t *addresses, json_t *leased)
{
    const char *const argv[] = {"ip", "-json", "address", "show", "dev", name, NULL};
    json_t *links = nof_system_ask(m, argv);
    const json_t *one;
    char text[128];
    size_t i;

    json_array_foreach(json_object_get(json_array_get(links, 0), "addr_info"), i, one)
    {
        const char *broadcast = nof_kept_text(one, "broadcast");

        if (strcmp(nof_kept_text(one, "scope"), "link") == 0)
            continue;
        snprintf(text, sizeof(text), "%s/%d%s%s", nof_kept_text(one, "local"),
                 (int)json_integer_value(json_object_get(one, "prefixlen")),
                 broadcast[0] != '\0' ? " broadcast " : "", broadcast);
        json_array_append_new(json_is_true(json_object_get(one, "dynamic")) ? leased : addresses,
                              json_string(text));
    }
    json_decref(links);
    return links != NULL;
}

/* As `ip route show` prints them, which `ip route replace` takes; those that come with addresses come by themselves. */
static bool save_routes(struct nof_system *m, const char *name, const char *family, json_t *routes)
{
    const char *const argv[] = {"ip", family, "route", "show", "dev", name, NULL};
    char *text = NULL, *rest, *line, kept[256];
    int rc = m->ops->run(m, argv, &text);

    rest = rc == 0 ? text : NULL;
    while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == '\0' || strstr(line, "proto kernel") != NULL || strstr(line, "proto ra") != NULL ||
            strstr(line, "proto dhcp") != NULL)
            continue;
        snprintf(kept, sizeof(kept), "%s %s", family, line);
        json_array_append_new(routes, json_string(kept));
    }
    free(text);
    return rc == 0;
}

json_t *nof_interfaces_save(struct nof_system *m, const struct nof_pci_nic *d)
{
    json_t *rows = json_array();
    bool known = true;

    for (unsigned i = 0; i < d->ninterfaces; i++) {
        const char *name = d->interface[i];
        json_t *addresses = json_array(), *leased = json_array(), *routes = json_array();
        long flags = nof_system_number(m, 0, "/sys/class/net/%s/flags", name);
        char mac[32];

        nof_system_read(m, mac, sizeof(mac), "/sys/class/net/%s/address", name);
        known &= save_addresses(m, name, addresses, leased) && save_routes(m, name, "-4", routes) &&
                 (!nof_system_has(m, "/proc/net/if_inet6") || save_routes(m, name, "-6", routes));
        json_array_append_new(
            rows, json_pack("{s:s, s:s, s:I, s:b, s:o, s:o, s:o}", "name", name, "mac", mac, "mtu",
                            (json_int_t)nof_system_number(m, 0, "/sys/class/net/%s/mtu", name), "up",
                            (int)(flags & 1), "addresses", addresses, "leased", leased, "routes", routes));
    }
    if (known)
        return rows;
    nof_say(
        m,
        "%s: `ip` does not tell its addresses and routes, so they could not be given back: install iproute2",
        d->address);
    json_decref(rows);
    return NULL;
}

/* Runs "ip WORDS"; false after saying what to type. `there`: what it says when it is so already. */
static bool ip(struct nof_system *m, const char *words, const char *there)
{
    char copy[512], *rest = copy, *word, *text = NULL;
    const char *argv[WORDS_MAX + 1] = {"ip"};
    unsigned n = 1;
    bool good;

    snprintf(copy, sizeof(copy), "%s", words);
    while (n < WORDS_MAX && (word = strsep(&rest, " ")) != NULL)
        if (word[0] != '\0' && strcmp(word, "linkdown") != 0 && strcmp(word, "dead") != 0)
            argv[n++] = word;
    good = m->ops->run(m, argv, &text) == 0 || (there != NULL && text != NULL && strstr(text, there) != NULL);
    if (!good)
        nof_say(m, "`ip %s` failed: %.*s", words, (int)strcspn(text != NULL ? text : "", "\n"),
                text != NULL ? text : "");
    free(text);
    return good;
}

/* The i-th interface of the device under the name it had, or the one it has now. false: there is none. */
static bool settle(struct nof_system *m, const char *address, unsigned i, const char *was, char now[16])
{
    struct nof_pci_nic d;
    unsigned ms = 0;
    char words[64];

    while (!nof_pci_nic_read(m, address, &d) || d.ninterfaces <= i) {
        if (ms >= APPEAR_MS)
            return false;
        m->ops->pause(m, LOOK_MS);
        ms += LOOK_MS;
    }
    for (ms = 0; strcmp(d.interface[i], was) != 0 && ms < NAMED_MS; ms += LOOK_MS) {
        m->ops->pause(m, LOOK_MS);
        if (!nof_pci_nic_read(m, address, &d) || d.ninterfaces <= i)
            return false;
    }
    snprintf(now, 16, "%s", d.interface[i]);
    if (strcmp(now, was) == 0)
        return true;
    snprintf(words, sizeof(words), "link set dev %s name %s", now, was);
    if (ip(m, words, NULL))
        snprintf(now, 16, "%s", was);
    return true;
}

static void say_leased(struct nof_system *m, const char *name, const json_t *leased)
{
    json_t *now = json_array(), *for_good = json_array();
    const json_t *one, *other;
    size_t i, k;

    if (json_array_size(leased) > 0)
        (void)save_addresses(m, name, for_good, now);
    json_array_foreach(leased, i, one)
    {
        bool there = false;

        json_array_foreach(now, k, other)
        {
            there |= json_equal(one, other);
        }
        if (!there)
            nof_say(m, "%s had %s by DHCP or from a router: who gave it gives it again, or ask: dhclient %s",
                    name, json_string_value(one), name);
    }
    json_decref(now);
    json_decref(for_good);
}

/* Those without a next hop first: they are how the others are reached. */
static void restore_routes(struct nof_system *m, const char *name, const json_t *routes)
{
    const json_t *one;
    char words[512];
    size_t i;

    for (int via = 0; via < 2; via++) {
        json_array_foreach(routes, i, one)
        {
            const char *route = json_string_value(one);

            if ((strstr(route, " via ") != NULL) != (via == 1))
                continue;
            snprintf(words, sizeof(words), "%.2s route replace %s dev %s", route, route + 2, name);
            ip(m, words, NULL);
        }
    }
}

static void restore_one(struct nof_system *m, const char *name, const json_t *saved)
{
    bool up = json_is_true(json_object_get(saved, "up"));
    json_int_t mtu = json_integer_value(json_object_get(saved, "mtu"));
    const json_t *one;
    char words[512];
    size_t i;

    if (mtu > 0 && mtu != nof_system_number(m, 0, "/sys/class/net/%s/mtu", name)) {
        snprintf(words, sizeof(words), "link set dev %s mtu %d", name, (int)mtu);
        ip(m, words, NULL);
    }
    if (up) {
        snprintf(words, sizeof(words), "link set dev %s up", name);
        ip(m, words, NULL);
    }
    json_array_foreach(json_object_get(saved, "addresses"), i, one)
    {
        snprintf(words, sizeof(words), "address add %s dev %s", json_string_value(one), name);
        ip(m, words, "File exists");
    }
    if (up)
        restore_routes(m, name, json_object_get(saved, "routes"));
    say_leased(m, name, json_object_get(saved, "leased"));
}

void nof_interfaces_restore(struct nof_system *m, const char *address, const json_t *saved)
{
    const json_t *row;
    char now[16];
    size_t i;

    json_array_foreach(saved, i, row)
    {
        const char *was = nof_kept_text(row, "name");

        if (settle(m, address, (unsigned)i, was, now))
            restore_one(m, now, row);
        else
            nof_say(m,
                    "%s has its driver again, but %s has not come back within %u s: look at `dmesg | tail`",
                    address, was, APPEAR_MS / 1000);
    }
}
