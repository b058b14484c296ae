/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nof bench hostile` does to the network between hosts 0 and 1 of a lab of three; host 2 is the stranger's.
 *
 *   nof_hostile_begin()      before the job
 *   nof_hostile_midway()     when its stream is under way
 *   nof_hostile_end()        as it was before
 *
 * Threads: one. */
#ifndef NOF_BENCH_HOSTILE_LAB_H
#define NOF_BENCH_HOSTILE_LAB_H

#include <stdbool.h>

#include "lib/child.h"
#include "wire_peers.h"

enum nof_hostile_kind {
    NOF_HOSTILE_SENDER, /* bench/stranger, of the kind `what`, aimed at host `at` in the name of the other one */
    NOF_HOSTILE_RULE, /* frames between the hosts: `what` is the end of a rule of nft */
    NOF_HOSTILE_MTU, /* midway, `value` bytes on the link between the router and host 1 */
};

struct nof_hostile {
    const char *name; /* in JSON */
    const char *title; /* for people */
    enum nof_hostile_kind kind;
    const char *what;
    unsigned at;
    unsigned value;
    bool udp_only; /* means nothing to a port that the kernel's routes and errors do not reach */
};

struct nof_hostile_net {
    struct nof_wire_bench *bench;
    bool routed; /* nof_lab_route() */
    double kpps; /* asked of the stranger */
    struct nof_child stranger;
    double sent_kpps; /* what it has sent; NAN: it is none. After end */
};

extern const struct nof_hostile nof_hostiles[];
extern const unsigned nof_nhostiles;

/* 0, or -1 with the reason in why (NOF_WIRE_WHY_BYTES); nof_hostile_end() in any case. */
int nof_hostile_begin(struct nof_hostile_net *net, const struct nof_hostile *h, char *why);
int nof_hostile_midway(struct nof_hostile_net *net, const struct nof_hostile *h, char *why);
void nof_hostile_end(struct nof_hostile_net *net, const struct nof_hostile *h);

#endif
