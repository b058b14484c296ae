/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handling of the steering program (steer.bpf.c) from user space. net_af_xdp loads and attaches it;
 * this module gives it the object, finds what was attached, and makes the counters readable.
 *
 *   nof_steer_object_fd()   an object file without a path on disk: xdp_prog=/proc/self/fd/N
 *   nof_steer_reclaim()     before the device is opened: take away what a dead owner left behind
 *   ... the driver attaches ...
 *   nof_steer_generic()     virtual devices only, see there
 *   nof_steer_open()        finds the program on the interface and its counters
 *     nof_steer_pin()       /sys/fs/bpf/nof/<ifname>/stats, for readers in other processes
 *     nof_steer_read()
 *     nof_steer_table_open()  what a core knows; without one, all that is well formed is taken
 *       nof_steer_table_conn() ...
 *     nof_steer_table_close() before or after
 *   nof_steer_close()       takes the pin away; the driver detaches the program
 *
 * All return 0 or a negative errno. Interface names are looked up in the caller's network namespace.
 * Threads: none of them is safe against itself on the same object. */
#ifndef NOF_STEER_HOST_H
#define NOF_STEER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "steer.h"

#define NOF_STEER_PIN_ROOT "/sys/fs/bpf/nof"

struct nof_steer;

/* A sealed memfd with the ELF object, for the caller to close after the driver has loaded it. */
int nof_steer_object_fd(int *fd_out);

/* Detach our program from `ifname` if it is attached, and remove its pins. The caller must own the
 * interface (nobody else's live port may be on it). A foreign program is left alone: -EBUSY, and the
 * driver would fail too. */
int nof_steer_reclaim(const char *ifname);

/* The program that `ifname` has. -ENOENT: none. */
struct nof_steer_seen {
    char name[16];
    unsigned id; /* of the kernel */
    bool generic; /* on the hook behind the allocation of the packet; else the driver's */
};
int nof_steer_look(const char *ifname, struct nof_steer_seen *seen_out);

/* Between the two, what the kernel says of a program that it refuses is kept instead of printed, for any caller of
 * libbpf in this process, which the driver is. words_out: "" when it said nothing. */
void nof_steer_words_begin(void);
void nof_steer_words_end(char *words_out, size_t words_bytes);

/* Move our program from the driver's hook to the generic one, behind the allocation of the packet. On a
 * virtual device the driver's hook gains nothing, because the packet exists already: veth copies it into a
 * page of its own for XDP and frees that page again, a sixth of what a frame costs
 * (docs/decisions/0005-dpdk-port.md). Sockets in copy mode, which is all that such a device has, do not
 * notice. On failure the program is where it was. */
int nof_steer_generic(const char *ifname);

/* -ENOENT: no program, or not ours, is attached. */
int nof_steer_open(const char *ifname, struct nof_steer **steer_out);
/* -ENOTSUP: no bpffs at /sys/fs/bpf and none could be mounted. */
int nof_steer_pin(struct nof_steer *steer);
/* Sums over the CPUs. */
int nof_steer_read(const struct nof_steer *steer, struct nof_steer_count out[NOF_STEER_VERDICTS]);
void nof_steer_close(struct nof_steer *steer);

/* Map of the program that holds the tables by queue; -1: the program knows none. Valid until close. */
int nof_steer_known_fd(const struct nof_steer *steer);

struct nof_steer_self {
    uint64_t nic_id;
    uint32_t ip4; /* host byte order */
    /* 1..NOF_STEER_PATHS. The table is no larger: strangers make the program touch all of it. */
    uint32_t max_paths;
};
struct nof_steer_table;
/* From now on the program drops what comes to the port of this core and is for nobody: frames of other connection ids, handshakes
 * with another NIC than nic_id, groups that were not joined; and leaves the kernel what is not for ip4. Its map keeps the table as
 * long as it lives itself. *table_out: the caller's, until close. 0, or -errno of the kernel. Main thread. */
int nof_steer_table_open(int known_fd, uint32_t core, const struct nof_steer_self *self,
                         struct nof_steer_table **table_out);
/* As nof_port_ops.conn; no system call. slot: below 64 (dead paths), or 64 + the low 16 bits of the id. Thread: the core's. */
void nof_steer_table_conn(struct nof_steer_table *table, uint32_t slot, uint64_t id);
/* ip4: host byte order; at most NOF_STEER_GROUPS are joined. Thread: the core's. */
void nof_steer_table_group(struct nof_steer_table *table, uint32_t ip4, bool join);
void nof_steer_table_close(struct nof_steer_table *table);

/* "xdp.taken", ...; NULL beyond the last. Static storage. */
const char *nof_steer_name(unsigned verdict);

#endif
