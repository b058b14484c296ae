/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES "/sys/bus/pci/devices/"
#define DRIVERS "/sys/bus/pci/drivers/"
#define NODE_PAGES "/sys/devices/system/node/node0/hugepages/hugepages-2048kB"
#define SWITCH "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
#define PATH_MOST 512

static const struct nof_system_ops *real;

#define PUT(path, format) \
    do { \
        va_list args; \
\
        va_start(args, format); \
        vsnprintf(path, sizeof(path), format, args); \
        va_end(args); \
    } while (0)

__attribute__((format(printf, 3, 4))) static void put(const struct fake_kernel *k, const char *text,
                                                      const char *format, ...)
{
    char at[PATH_MOST], path[PATH_MOST + 64], *slash;
    FILE *f;

    PUT(at, format);
    snprintf(path, sizeof(path), "%s%s", k->root, at);
    for (slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    if (text == NULL)
        return;
    f = fopen(path, "we");
    if (f == NULL)
        abort();
    fprintf(f, "%s\n", text);
    fclose(f);
}

__attribute__((format(printf, 3, 4))) static void point(const struct fake_kernel *k, const char *target,
                                                        const char *format, ...)
{
    char at[PATH_MOST], path[PATH_MOST + 64];

    PUT(at, format);
    put(k, NULL, "%s", at);
    snprintf(path, sizeof(path), "%s%s", k->root, at);
    if (target != NULL ? symlink(target, path) != 0 : unlink(path) != 0)
        abort();
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

__attribute__((format(printf, 2, 3))) static void cut(const struct fake_kernel *k, const char *format, ...)
{
    char at[PATH_MOST], path[PATH_MOST + 64];

    PUT(at, format);
    snprintf(path, sizeof(path), "%s%s", k->root, at);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static struct fake_nic *nic_of(struct fake_kernel *k, const char *address)
{
    for (unsigned i = 0; i < FAKE_NICS; i++)
        if (k->nic[i].there && strcmp(k->nic[i].address, address) == 0)
            return &k->nic[i];
    return NULL;
}

static struct fake_nic *nic_named(struct fake_kernel *k, const char *name)
{
    for (unsigned i = 0; i < FAKE_NICS; i++)
        if (k->nic[i].name[0] != '\0' && strcmp(k->nic[i].name, name) == 0)
            return &k->nic[i];
    return NULL;
}

static void show_interface(const struct fake_kernel *k, const struct fake_nic *nic)
{
    char mtu[16];

    snprintf(mtu, sizeof(mtu), "%d", nic->mtu);
    put(k, nic->up ? "0x1003" : "0x1002", "/sys/class/net/%s/flags", nic->name);
    put(k, mtu, "/sys/class/net/%s/mtu", nic->name);
    put(k, "02:00:00:00:00:01", "/sys/class/net/%s/address", nic->name);
}

static void bind_to(struct fake_kernel *k, struct fake_nic *nic, const char *driver)
{
    unsigned number = (unsigned)(nic - k->nic);
    char group[64];

    point(k, driver, DEVICES "%s/driver", nic->address);
    point(k, nic->address, DRIVERS "%s/%s", driver, nic->address);
    if (strcmp(driver, "vfio-pci") == 0) {
        if (nic->group[0] == '\0') {
            snprintf(group, sizeof(group), "../../../../kernel/iommu_groups/%u", number);
            point(k, group, DEVICES "%s/iommu_group", nic->address);
            put(k, "vfio-noiommu", "/sys/kernel/iommu_groups/%u/name", number);
            put(k, "", "/dev/vfio/noiommu-%u", number);
        } else {
            put(k, "", "/dev/vfio/%s", nic->group);
        }
        return;
    }
    snprintf(nic->name, sizeof(nic->name), "%s", nic->interface);
    put(k, NULL, DEVICES "%s/net/%s/x", nic->address, nic->name);
    show_interface(k, nic);
}

static void unbind_from(struct fake_kernel *k, struct fake_nic *nic, const char *driver)
{
    point(k, NULL, DEVICES "%s/driver", nic->address);
    point(k, NULL, DRIVERS "%s/%s", driver, nic->address);
    if (strcmp(driver, "vfio-pci") == 0 && nic->group[0] == '\0') {
        point(k, NULL, DEVICES "%s/iommu_group", nic->address);
        cut(k, "/dev/vfio/noiommu-%u", (unsigned)(nic - k->nic));
    } else if (strcmp(driver, "vfio-pci") == 0) {
        cut(k, "/dev/vfio/%s", nic->group);
    } else {
        cut(k, DEVICES "%s/net", nic->address);
        cut(k, "/sys/class/net/%s", nic->name);
        nic->name[0] = nic->config[0] = '\0';
        nic->up = false;
        nic->mtu = 1500;
        if (k->loses_driver && nic != &k->nic[1])
            cut(k, "/sys/bus/pci/drivers/%s", driver);
    }
}

static void unplug(struct fake_kernel *k, struct fake_nic *nic)
{
    char driver[32];

    if (!nic->there)
        return;
    if (nof_system_points(&k->m, driver, sizeof(driver), DEVICES "%s/driver", nic->address))
        unbind_from(k, nic, driver);
    cut(k, DEVICES "%s", nic->address);
    nic->there = false;
}

static int probe(struct fake_kernel *k, struct fake_nic *nic)
{
    char driver[32], mode[8];

    if (nof_system_points(&k->m, driver, sizeof(driver), DEVICES "%s/driver", nic->address))
        return 0;
    nof_system_read(&k->m, driver, sizeof(driver), DEVICES "%s/driver_override", nic->address);
    if (strcmp(driver, "(null)") == 0)
        snprintf(driver, sizeof(driver), "%s", nic->driver);
    nof_system_read(&k->m, mode, sizeof(mode), SWITCH);
    if (strcmp(driver, "vfio-pci") == 0 && (k->vfio_refuses || (nic->group[0] == '\0' && mode[0] != 'Y')))
        return 0; /* as Linux: no driver matched, and no error */
    if (nof_system_has(&k->m, DRIVERS "%s", driver))
        bind_to(k, nic, driver);
    return 0;
}

static int change(struct fake_kernel *k, const char *path, const char *text)
{
    const char *slash = strrchr(path, '/');
    struct fake_nic *nic = nic_of(k, text);
    char address[32] = "", driver[32] = "", now[32];

    if (strcmp(path, "/sys/bus/pci/drivers_probe") == 0)
        return nic != NULL ? probe(k, nic) : -ENODEV;
    if (sscanf(path, DRIVERS "%31[^/]/unbind", driver) == 1) {
        if (nic == NULL || !nof_system_points(&k->m, now, sizeof(now), DEVICES "%s/driver", text) ||
            strcmp(now, driver) != 0)
            return -ENODEV;
        unbind_from(k, nic, driver);
        return 0;
    }
    if (sscanf(path, DEVICES "%31[^/]/driver_override", address) == 1 &&
        strcmp(slash, "/driver_override") == 0) {
        if (nic_of(k, address) == NULL)
            return -ENOENT;
        put(k, text[0] == '\n' ? "(null)" : text, "%s", path);
        return 0;
    }
    if (strcmp(path, NODE_PAGES "/nr_hugepages") == 0) {
        k->pages = atol(text) < k->pages_most ? atol(text) : k->pages_most;
        snprintf(now, sizeof(now), "%ld", k->pages);
        put(k, now, NODE_PAGES "/nr_hugepages");
        put(k, now, NODE_PAGES "/free_hugepages");
        return 0;
    }
    if (strcmp(path, SWITCH) != 0)
        return -ENOENT;
    put(k, text, SWITCH);
    return 0;
}

/* Is it this operation's turn to fail? Then *rc is its answer; true: it is not to be done. */
static bool fails(struct fake_kernel *k, int *rc)
{
    bool now = ++k->changes == k->fault_at;

    *rc = 0;
    if (k->fault_at == FAKE_NOTHING || k->changes < k->fault_at)
        return false;
    if (now && k->fault == FAKE_CRASH)
        longjmp(k->crash, 1);
    if (now && k->fault == FAKE_GONE)
        unplug(k, &k->nic[0]);
    if (now && k->fault == FAKE_LATE)
        *rc = -ETIMEDOUT;
    if ((now && k->fault == FAKE_FAILS) || k->fault == FAKE_DEAD)
        *rc = -EIO;
    return *rc == -EIO;
}

static int fake_write(struct nof_system *m, const char *path, const char *text)
{
    struct fake_kernel *k = (struct fake_kernel *)m;
    int late, rc;

    if (fails(k, &late))
        return late;
    rc = change(k, path, text);
    return late != 0 ? late : rc;
}

static int fake_keep(struct nof_system *m, const char *path, const json_t *value)
{
    int late, rc;

    if (fails((struct fake_kernel *)m, &late))
        return late;
    rc = real->keep(m, path, value);
    return late != 0 ? late : rc;
}

/* "-json address show dev eth1", "-4 route show dev eth1" */
static void show(const struct fake_nic *nic, const char *words, char *out, size_t out_bytes)
{
    char text[64], line[128];
    const char *rest = nic->config;
    unsigned bits;
    size_t n = 0;
    int used;

    out[0] = '\0';
    if (strncmp(words, "-json", 5) == 0)
        n = (size_t)snprintf(out, out_bytes, "[{\"ifname\":\"%s\",\"addr_info\":[{\"scope\":\"link\"}",
                             nic->name);
    for (; sscanf(rest, "%127[^\n]\n%n", line, &used) == 1; rest += used) {
        if (words[1] == 'j' && sscanf(line, "address %63[^/]/%u", text, &bits) == 2)
            n += (size_t)snprintf(out + n, out_bytes - n,
                                  ",{\"local\":\"%s\",\"prefixlen\":%u,\"scope\":\"global\"}", text, bits);
        else if (words[1] == '4' && strncmp(line, "route ", 6) == 0)
            n += (size_t)snprintf(out + n, out_bytes - n, "%s\n", line + 6);
    }
    if (words[1] == 'j')
        snprintf(out + n, out_bytes - n, "]}]");
}

/* Adds a line that is not there yet. */
static int configure(struct fake_nic *nic, const char *line)
{
    char whole[160];

    snprintf(whole, sizeof(whole), "%s\n", line);
    if (strstr(nic->config, whole) == NULL)
        strncat(nic->config, whole, sizeof(nic->config) - strlen(nic->config) - 1);
    return 0;
}

static int ip(struct fake_kernel *k, const char *words, char *out, size_t out_bytes)
{
    const char *dev = strstr(words, "dev ");
    char name[16] = "", rest[128], line[160];
    struct fake_nic *nic;
    int mtu;

    if (dev == NULL || sscanf(dev, "dev %15s", name) != 1 || (nic = nic_named(k, name)) == NULL)
        return 1;
    if (strstr(words, " show ") != NULL) {
        show(nic, words, out, out_bytes);
        return 0;
    }
    if (sscanf(words, "address add %127s", rest) == 1) {
        snprintf(line, sizeof(line), "address %s", rest);
        return configure(nic, line);
    }
    if (sscanf(words, "-4 route replace %127[^\n]", rest) == 1) {
        snprintf(line, sizeof(line), "route %.*s", (int)(strstr(rest, " dev") - rest), rest);
        return nic->up ? configure(nic, line) : 2;
    }
    if (sscanf(words, "link set dev %*s mtu %d", &mtu) == 1)
        nic->mtu = mtu;
    else if (strstr(words, " up") != NULL)
        nic->up = true;
    else
        return 1;
    show_interface(k, nic);
    return 0;
}

static int modprobe(struct fake_kernel *k, const char *name)
{
    put(k, NULL, DRIVERS "%s/x", name);
    if (strcmp(name, "vfio-pci") == 0 && !nof_system_has(&k->m, SWITCH))
        put(k, "N", SWITCH);
    return 0;
}

static int fake_run(struct nof_system *m, const char *const *argv, char **out)
{
    struct fake_kernel *k = (struct fake_kernel *)m;
    char words[256] = "", text[1024] = "";
    const char *last = "";
    size_t n = 0;
    int late, rc;

    if (fails(k, &late))
        return 1;
    for (unsigned i = 1; argv[i] != NULL; i++) {
        n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s", i > 1 ? " " : "", argv[i]);
        last = argv[i];
    }
    rc = strcmp(argv[0], "ip") == 0 ? ip(k, words, text, sizeof(text)) : modprobe(k, last);
    if (out != NULL)
        *out = strdup(text);
    return late != 0 ? late : rc;
}

static void fake_pause(struct nof_system *m, unsigned ms)
{
    (void)m;
    (void)ms;
}

static void add_nic(struct fake_kernel *k, unsigned i, const char *group)
{
    struct fake_nic *nic = &k->nic[i];

    nic->there = nic->up = true;
    nic->mtu = 9000;
    nic->group = group;
    put(k, "0x020000", DEVICES "%s/class", nic->address);
    put(k, "0x8086", DEVICES "%s/vendor", nic->address);
    put(k, "0x10d3", DEVICES "%s/device", nic->address);
    put(k, "0", DEVICES "%s/numa_node", nic->address);
    put(k, "pci:v00008086", DEVICES "%s/modalias", nic->address);
    put(k, "(null)", DEVICES "%s/driver_override", nic->address);
    put(k, NULL, DRIVERS "%s/x", nic->driver);
    if (group[0] != '\0') {
        char target[64];

        snprintf(target, sizeof(target), "../../../../kernel/iommu_groups/%s", group);
        point(k, target, DEVICES "%s/iommu_group", nic->address);
        put(k, NULL, "/sys/kernel/iommu_groups/%s/devices/%s/x", group, nic->address);
    }
    bind_to(k, nic, nic->driver);
    snprintf(nic->config, sizeof(nic->config),
             "address 10.0.%u.1/24\naddress 10.9.%u.1/16\nroute 10.7.%u.0/24 via 10.0.%u.2\n", i, i, i, i);
}

void fake_kernel_make(struct fake_kernel *k, bool iommu)
{
    static struct nof_system_ops ops;

    memset(k, 0, sizeof(*k));
    nof_system_open(&k->m, "test");
    real = k->m.ops;
    ops = *real;
    ops.write = fake_write;
    ops.run = fake_run;
    ops.keep = fake_keep;
    ops.pause = fake_pause;
    k->m.ops = &ops;
    snprintf(k->root, sizeof(k->root), "%s/nof-bind-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(k->root) == NULL)
        abort();
    k->m.root = k->root;
    k->nic[0] = (struct fake_nic){.address = "0000:03:00.0", .driver = "e1000e", .interface = "eth1"};
    k->nic[1] = (struct fake_nic){.address = "0000:04:00.0", .driver = "ixgbe", .interface = "eth2"};
    k->nic[2] = (struct fake_nic){.address = "0000:04:00.1", .driver = "ixgbe", .interface = "eth3"};
    for (unsigned i = 0; i < FAKE_NICS; i++)
        add_nic(k, i, !iommu ? "" : i == 0 ? "5" : "6");
    k->pages = 8;
    k->pages_most = 4096;
    put(k, "8", NODE_PAGES "/nr_hugepages");
    put(k, "8", NODE_PAGES "/free_hugepages");
    fake_kernel_heal(k);
}

void fake_kernel_heal(struct fake_kernel *k)
{
    if (k->m.err != stderr)
        fclose(k->m.err);
    free(k->said);
    k->m.err = open_memstream(&k->said, &k->said_bytes);
    k->fault_at = FAKE_NOTHING;
    k->vfio_refuses = false;
    k->changes = 0;
}

void fake_kernel_unplug(struct fake_kernel *k, unsigned nic)
{
    unplug(k, &k->nic[nic]);
}

void fake_kernel_remove(struct fake_kernel *k)
{
    fclose(k->m.err);
    free(k->said);
    cut(k, "%s", "");
}

char *fake_kernel_state(struct fake_kernel *k)
{
    char *text = NULL, driver[32], override[32], mode[8];
    json_t *kept = nof_system_names(&k->m, "/run/nof/bind");
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    for (unsigned i = 0; i < FAKE_NICS; i++) {
        const struct fake_nic *nic = &k->nic[i];

        nof_system_points(&k->m, driver, sizeof(driver), DEVICES "%s/driver", nic->address);
        nof_system_read(&k->m, override, sizeof(override), DEVICES "%s/driver_override", nic->address);
        fprintf(f, "%s driver=%s override=%s %s up=%d mtu=%d\n%s", nic->address, driver, override, nic->name,
                nic->up, nic->mtu, nic->config);
    }
    nof_system_read(&k->m, mode, sizeof(mode), SWITCH);
    fprintf(f, "pages=%ld noiommu=%s kept=%zu\n", k->pages, mode[0] == 'Y' ? "Y" : "N",
            json_array_size(kept));
    fclose(f);
    json_decref(kept);
    return text;
}
