/* SPDX-License-Identifier: BSD-3-Clause */
#include "steer_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <steer.skel.h>

#define MAPS_MAX 16u
#define BPFFS "/sys/fs/bpf"

struct nof_steer {
    char ifname[IF_NAMESIZE];
    int stats_fd;
    int known_fd;
    bool pinned;
};

struct nof_steer_table {
    union nof_steer_block *block; /* shared with the program */
    uint32_t nblocks;
};

static const char *const names[NOF_STEER_VERDICTS] = {
    [NOF_STEER_TAKEN] = "xdp.taken",
    [NOF_STEER_NO_SOCKET] = "xdp.no_socket",
    [NOF_STEER_PASSED] = "xdp.passed",
    [NOF_STEER_DROP_SHORT] = "xdp.drop_short",
    [NOF_STEER_DROP_LENGTH] = "xdp.drop_length",
    [NOF_STEER_DROP_VERSION] = "xdp.drop_version",
    [NOF_STEER_DROP_FRAGMENT] = "xdp.drop_fragment",
    [NOF_STEER_DROP_OPTIONS] = "xdp.drop_options",
    [NOF_STEER_DROP_CONN] = "xdp.drop_conn",
    [NOF_STEER_DROP_HELLO] = "xdp.drop_hello",
    [NOF_STEER_DROP_GROUP] = "xdp.drop_group",
};

const char *nof_steer_name(unsigned verdict)
{
    return verdict < NOF_STEER_VERDICTS ? names[verdict] : NULL;
}

int nof_steer_object_fd(int *fd_out)
{
    size_t left_bytes;
    const char *elf = steer_bpf__elf_bytes(&left_bytes);
    int fd = memfd_create("nof-steer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    while (left_bytes > 0) {
        ssize_t n = write(fd, elf, left_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int e = n < 0 ? errno : EIO;
            close(fd);
            return -e;
        }
        elf += n;
        left_bytes -= (size_t)n;
    }
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    *fd_out = fd;
    return 0;
}

static void pin_dir(const char *ifname, char *path, size_t path_bytes)
{
    snprintf(path, path_bytes, NOF_STEER_PIN_ROOT "/%s", ifname);
}

static void pin_path(const char *ifname, char *path, size_t path_bytes)
{
    snprintf(path, path_bytes, NOF_STEER_PIN_ROOT "/%s/stats", ifname);
}

static void unpin(const char *ifname)
{
    char path[PATH_MAX];

    pin_path(ifname, path, sizeof(path));
    (void)unlink(path);
    pin_dir(ifname, path, sizeof(path));
    (void)rmdir(path);
    (void)rmdir(NOF_STEER_PIN_ROOT); /* stays while another port has pins */
}

/* Our program on an interface. */
struct attached {
    int ifindex;
    __u32 mode_flags; /* for attach and detach: which hook it hangs on */
    __u32 map_ids[MAPS_MAX];
    __u32 nmaps;
    __u32 id;
    char name[BPF_OBJ_NAME_LEN];
};

static int open_ours(__u32 id, struct attached *on)
{
    struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (__u64)(uintptr_t)on->map_ids};
    __u32 info_bytes = sizeof(info);
    int fd = bpf_prog_get_fd_by_id(id);
    int rc;

    if (fd < 0)
        return -errno;
    rc = bpf_obj_get_info_by_fd(fd, &info, &info_bytes);
    on->id = id;
    if (rc == 0)
        memcpy(on->name, info.name, sizeof(on->name));
    if (rc == 0 && strcmp(info.name, NOF_STEER_PROG) != 0)
        rc = -EBUSY;
    if (rc < 0) {
        close(fd);
        return rc;
    }
    on->nmaps = info.nr_map_ids;
    return fd;
}

/* A descriptor of the program on `ifname`; -ENOENT: there is none; -EBUSY: it is not ours. */
static int open_attached(const char *ifname, struct attached *on)
{
    LIBBPF_OPTS(bpf_xdp_query_opts, opts);
    unsigned ifindex = if_nametoindex(ifname);
    int rc;

    if (ifindex == 0)
        return -ENODEV;
    rc = bpf_xdp_query((int)ifindex, 0, &opts);
    if (rc < 0)
        return rc;
    if (opts.prog_id == 0)
        return -ENOENT;
    on->ifindex = (int)ifindex;
    on->mode_flags = opts.attach_mode == XDP_ATTACHED_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
    return open_ours(opts.prog_id, on);
}

int nof_steer_reclaim(const char *ifname)
{
    struct attached on;
    int fd = open_attached(ifname, &on);

    if (fd >= 0 || fd == -ENOENT || fd == -EBUSY)
        unpin(ifname);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    close(fd);
    return bpf_xdp_detach(on.ifindex, on.mode_flags, NULL);
}

int nof_steer_look(const char *ifname, struct nof_steer_seen *seen_out)
{
    struct attached on = {.nmaps = 0};
    int fd = open_attached(ifname, &on);

    if (fd < 0 && fd != -EBUSY)
        return fd;
    if (fd >= 0)
        close(fd);
    memset(seen_out, 0, sizeof(*seen_out));
    memcpy(seen_out->name, on.name, sizeof(seen_out->name) - 1);
    seen_out->id = on.id;
    seen_out->generic = on.mode_flags == XDP_FLAGS_SKB_MODE;
    return 0;
}

static char kernel_words[256];
static libbpf_print_fn_t print_before;

__attribute__((format(printf, 2, 0))) static int keep_words(enum libbpf_print_level level, const char *format,
                                                            va_list args)
{
    static const char head[] = "libbpf: Kernel error message: ";
    char line[sizeof(head) + sizeof(kernel_words)];
    va_list again;

    va_copy(again, args);
    (void)vsnprintf(line, sizeof(line), format, again);
    va_end(again);
    if (strncmp(line, head, sizeof(head) - 1) != 0)
        return print_before ? print_before(level, format, args) : 0;
    line[strcspn(line, "\n")] = '\0';
    return snprintf(kernel_words, sizeof(kernel_words), "%s", line + sizeof(head) - 1);
}

void nof_steer_words_begin(void)
{
    kernel_words[0] = '\0';
    print_before = libbpf_set_print(keep_words);
}

void nof_steer_words_end(char *words_out, size_t words_bytes)
{
    (void)libbpf_set_print(print_before);
    snprintf(words_out, words_bytes, "%s", kernel_words);
}

int nof_steer_generic(const char *ifname)
{
    struct attached on;
    int fd = open_attached(ifname, &on);
    int rc;

    if (fd < 0)
        return fd;
    if (on.mode_flags == XDP_FLAGS_SKB_MODE) {
        close(fd);
        return 0;
    }
    /* A device has its program on one of the hooks only. Between the two calls frames go to the kernel. */
    rc = bpf_xdp_detach(on.ifindex, on.mode_flags, NULL);
    if (rc == 0) {
        rc = bpf_xdp_attach(on.ifindex, fd, XDP_FLAGS_SKB_MODE, NULL);
        if (rc < 0)
            (void)bpf_xdp_attach(on.ifindex, fd, on.mode_flags, NULL);
    }
    close(fd);
    return rc;
}

/* One of the program's maps. */
static int find_map(const struct attached *on, const char *name, __u32 value_bytes, __u32 entries)
{
    for (__u32 i = 0; i < on->nmaps && i < MAPS_MAX; i++) {
        struct bpf_map_info info;
        __u32 info_bytes = sizeof(info);
        int fd = bpf_map_get_fd_by_id(on->map_ids[i]);

        if (fd < 0)
            continue;
        memset(&info, 0, sizeof(info));
        if (bpf_obj_get_info_by_fd(fd, &info, &info_bytes) == 0 && strcmp(info.name, name) == 0 &&
            info.value_size == value_bytes && info.max_entries == entries)
            return fd;
        close(fd);
    }
    return -ENOENT;
}

int nof_steer_open(const char *ifname, struct nof_steer **steer_out)
{
    struct nof_steer *steer;
    struct attached on;
    int stats_fd;
    int prog_fd = open_attached(ifname, &on);

    if (prog_fd < 0)
        return prog_fd == -EBUSY ? -ENOENT : prog_fd;
    stats_fd = find_map(&on, NOF_STEER_STATS, sizeof(struct nof_steer_count), NOF_STEER_VERDICTS);
    close(prog_fd);
    if (stats_fd < 0)
        return stats_fd;
    steer = calloc(1, sizeof(*steer));
    if (!steer) {
        close(stats_fd);
        return -ENOMEM;
    }
    snprintf(steer->ifname, sizeof(steer->ifname), "%s", ifname);
    steer->stats_fd = stats_fd;
    steer->known_fd = find_map(&on, NOF_STEER_KNOWN, sizeof(__u32), NOF_STEER_QUEUES);
    *steer_out = steer;
    return 0;
}

/* A bpffs where everybody looks for it. `ip netns exec` gives its child a fresh /sys without one, so
 * it is mounted when missing, as iproute2 does. */
static int need_bpffs(void)
{
    struct statfs fs;

    if (statfs(BPFFS, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
        return 0;
    if (mount("bpf", BPFFS, "bpf", 0, "mode=0700") == 0)
        return 0;
    return -ENOTSUP;
}

int nof_steer_pin(struct nof_steer *steer)
{
    char path[PATH_MAX];
    int rc = need_bpffs();

    if (rc < 0)
        return rc;
    if (mkdir(NOF_STEER_PIN_ROOT, 0755) < 0 && errno != EEXIST)
        return -errno;
    pin_dir(steer->ifname, path, sizeof(path));
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    pin_path(steer->ifname, path, sizeof(path));
    (void)unlink(path);
    rc = bpf_obj_pin(steer->stats_fd, path);
    if (rc < 0)
        return rc;
    steer->pinned = true;
    return 0;
}

int nof_steer_read(const struct nof_steer *steer, struct nof_steer_count out[NOF_STEER_VERDICTS])
{
    int cpus = libbpf_num_possible_cpus();
    struct nof_steer_count *per_cpu;
    int rc = 0;

    if (cpus < 0)
        return cpus;
    per_cpu = calloc((size_t)cpus, sizeof(*per_cpu));
    if (!per_cpu)
        return -ENOMEM;
    memset(out, 0, NOF_STEER_VERDICTS * sizeof(*out));
    for (__u32 v = 0; v < NOF_STEER_VERDICTS && rc == 0; v++) {
        rc = bpf_map_lookup_elem(steer->stats_fd, &v, per_cpu);
        for (int c = 0; c < cpus && rc == 0; c++) {
            out[v].frames += per_cpu[c].frames;
            out[v].bytes += per_cpu[c].bytes;
        }
    }
    free(per_cpu);
    return rc;
}

void nof_steer_close(struct nof_steer *steer)
{
    if (!steer)
        return;
    if (steer->pinned)
        unpin(steer->ifname);
    close(steer->stats_fd);
    if (steer->known_fd >= 0)
        close(steer->known_fd);
    free(steer);
}

static size_t table_bytes(const struct nof_steer_table *table)
{
    return table->nblocks * sizeof(union nof_steer_block);
}

/* The program may read any word at any time. */
static void put_word(unsigned *word, unsigned value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

int nof_steer_table_open(int known_fd, uint32_t core, const struct nof_steer_self *self,
                         struct nof_steer_table **table_out)
{
    LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    struct nof_steer_table *table;
    int rc, fd;

    if (known_fd < 0)
        return -ENOENT;
    table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    table->nblocks = NOF_STEER_BLOCK_PATHS + (self->max_paths + NOF_STEER_IDS - 1) / NOF_STEER_IDS;
    fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "nof_steer_table", sizeof(__u32), sizeof(union nof_steer_block),
                        table->nblocks, &opts);
    if (fd < 0) {
        free(table);
        return fd;
    }
    table->block = mmap(NULL, table_bytes(table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    rc = table->block == MAP_FAILED ? -errno : 0;
    if (rc == 0) {
        table->block[0].head.nic_id = self->nic_id;
        table->block[0].head.ip4 = htonl(self->ip4);
        rc = bpf_map_update_elem(known_fd, &core, &fd, BPF_ANY);
        if (rc < 0)
            (void)munmap(table->block, table_bytes(table));
    }
    close(fd);
    if (rc < 0) {
        free(table);
        return rc;
    }
    *table_out = table;
    return 0;
}

int nof_steer_known_fd(const struct nof_steer *steer)
{
    return steer->known_fd;
}

void nof_steer_table_conn(struct nof_steer_table *table, uint32_t slot, uint64_t id)
{
    uint32_t at = NOF_STEER_BLOCK_DEAD * NOF_STEER_IDS + slot;
    unsigned long long *word;

    if (at / NOF_STEER_IDS >= table->nblocks)
        return;
    word = &table->block[at / NOF_STEER_IDS].id[at % NOF_STEER_IDS];

    __atomic_store_n(word, id, __ATOMIC_RELEASE);
}

void nof_steer_table_group(struct nof_steer_table *table, uint32_t ip4, bool join)
{
    struct nof_steer_head *head = &table->block[0].head;
    unsigned n = head->ngroups, at = 0, group = htonl(ip4);

    while (at < n && head->group[at] != group)
        at++;
    if (join && at == n && n < NOF_STEER_GROUPS) {
        put_word(&head->group[n], group);
        put_word(&head->ngroups, n + 1);
    } else if (!join && at < n) {
        put_word(&head->group[at], head->group[n - 1]);
        put_word(&head->ngroups, n - 1);
    }
}

void nof_steer_table_close(struct nof_steer_table *table)
{
    if (!table)
        return;
    (void)munmap(table->block, table_bytes(table));
    free(table);
}
