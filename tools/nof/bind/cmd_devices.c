/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof devices`: the PCI NICs of this machine, what drives them, and what holds them there. */
#include "commands.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bind/holds.h"
#include "bind/kept.h"
#include "bind/vfio.h"

enum { OPT_JSON = 256 };

static json_t *interfaces_of(const struct nof_pci_nic *d)
{
    json_t *names = json_array();

    for (unsigned i = 0; i < d->ninterfaces; i++)
        json_array_append_new(names, json_string(d->interface[i]));
    return names;
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *row_of(struct nof_system *m, const struct nof_view *v, const struct nof_pci_nic *d)
{
    json_t *kept = nof_kept_load(m, d->address);
    char class[16], vendor[16], product[16];
    json_t *row;

    snprintf(class, sizeof(class), "0x%06x", d->class);
    snprintf(vendor, sizeof(vendor), "0x%04x", d->vendor);
    snprintf(product, sizeof(product), "0x%04x", d->product);
    row = json_pack("{s:s, s:o, s:b, s:o, s:o, s:s, s:s, s:s, s:i, s:o, s:o, s:i, s:o}", "address",
                    d->address, "driver", text_or_null(d->driver), "bound", (int)nof_pci_nic_bound(d), "was",
                    text_or_null(nof_kept_text(kept, "driver")), "interfaces", interfaces_of(d), "class",
                    class, "vendor", vendor, "device", product, "numa_node", d->numa, "iommu_group",
                    text_or_null(d->noiommu ? "" : d->group), "peers", nof_pci_nic_peers(m, d),
                    "virtual_functions", (int)d->functions, "holds", nof_holds(m, v, d));
    if (kept != NULL)
        json_object_set_new(row, "remembered", kept);
    return row;
}

static json_t *rows_of(struct nof_system *m, bool *known)
{
    json_t *nics = nof_pci_nics(m), *rows = json_array();
    const json_t *address;
    struct nof_pci_nic d;
    struct nof_view v;
    size_t i;

    *known = nof_view_look(m, &v);
    json_array_foreach(nics, i, address)
    {
        if (nof_pci_nic_read(m, json_string_value(address), &d))
            json_array_append_new(rows, row_of(m, &v, &d));
    }
    nof_view_free(&v);
    json_decref(nics);
    return rows;
}

static json_t *pages_of(struct nof_system *m)
{
    struct nof_pages pages;

    if (!nof_pages_look(m, -1, &pages))
        return json_null();
    return json_pack("{s:I, s:I, s:I}", "page_kb", (json_int_t)pages.page_kb, "total",
                     (json_int_t)pages.total, "unused", (json_int_t)pages.unused);
}

static void print_row(const json_t *row)
{
    const char *was = nof_kept_text(row, "was"), *driver = nof_kept_text(row, "driver");
    const char *group = nof_kept_text(row, "iommu_group");
    const json_t *remembered = json_object_get(json_object_get(row, "remembered"), "interfaces");
    const char *name = json_string_value(json_array_get(json_object_get(row, "interfaces"), 0));
    const char *had = nof_kept_text(json_array_get(remembered, 0), "name");
    char drivers[80], interface[40];
    const json_t *hold;
    size_t i;

    snprintf(drivers, sizeof(drivers), was[0] != '\0' ? "%s (was %s)" : "%s",
             driver[0] != '\0' ? driver : "-", was);
    snprintf(interface, sizeof(interface), name == NULL && had[0] != '\0' ? "(%s)" : "%s",
             name != NULL     ? name
             : had[0] != '\0' ? had
                              : "-");
    printf("%-13s %-26s %-12s %.4s:%.4s  %5s %5d  %s\n", nof_kept_text(row, "address"), drivers, interface,
           nof_kept_text(row, "vendor") + 2, nof_kept_text(row, "device") + 2, group[0] != '\0' ? group : "-",
           (int)json_integer_value(json_object_get(row, "numa_node")),
           json_array_size(json_object_get(row, "holds")) == 0 ? "nothing" : "");
    json_array_foreach(json_object_get(row, "holds"), i, hold)
    {
        printf("              %s\n", nof_kept_text(hold, "says"));
    }
    json_array_foreach(json_object_get(row, "peers"), i, hold)
    {
        printf("              %s is in the same IOMMU group: they go together\n", json_string_value(hold));
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == OPT_JSON) {
        *(bool *)state->input = true;
        return 0;
    }
    if (key == ARGP_KEY_ARG)
        argp_error(state, "'%s' is one argument too many", arg);
    return ARGP_ERR_UNKNOWN;
}

int nof_cmd_devices(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", OPT_JSON, NULL, 0, "print one JSON object", 0},
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {options,
                              parse,
                              NULL,
                              "PCI NICs of this machine: what drives them, and what holds them there. "
                              "Without root, other users' processes are not seen.",
                              NULL,
                              NULL,
                              NULL};
    struct nof_system m;
    bool json = false, known;
    const json_t *row;
    json_t *rows;
    size_t i;

    nof_system_open(&m, argv[0]);
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    rows = rows_of(&m, &known);
    if (json) {
        rows = json_pack("{s:o, s:b, s:o}", "rows", rows, "vfio_pci",
                         (int)nof_system_has(&m, "/sys/bus/pci/drivers/" NOF_VFIO_DRIVER), "hugepages",
                         pages_of(&m));
        json_dumpf(rows, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(rows);
        return !known;
    }
    if (json_array_size(rows) == 0)
        printf("no PCI NIC here\n");
    else
        printf("%-13s %-26s %-12s %-9s  %5s %5s  %s\n", "address", "driver", "interface", "id", "group",
               "node", "held there by");
    json_array_foreach(rows, i, row)
    {
        print_row(row);
    }
    json_decref(rows);
    return !known;
}
