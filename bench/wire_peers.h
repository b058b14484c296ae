/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nof bench wire` and `stream` run on the two hosts of a lab: ourselves, and whom we are measured against.
 * Every function leaves no process behind. Rates are megabits per second. */
#ifndef NOF_BENCH_WIRE_PEERS_H
#define NOF_BENCH_WIRE_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/child.h"
#include "lib/lab_net.h"

#define NOF_WIRE_SOCKET "@nof-bench-wire"
#define NOF_WIRE_MPICH_ARGS 16u
#define NOF_WIRE_RUNS 5u
#define NOF_WIRE_WHY_BYTES 256u

struct nof_wire_bench {
    struct nof_lab lab;
    char dir[64]; /* logs, scripts, the peer's program; removed at the end */
    char bin_dir[4096]; /* where nof, nofd and bench/ are */
    unsigned nhosts; /* of the lab; 0: two */
    unsigned mtu_bytes;
    double seconds; /* per figure */
    bool keep_logs; /* dir stays */
    char into[96], program[96]; /* MPICH's launcher and the program that it starts */
};

#define NOF_WIRE_LOGS "/tmp/nof-bench-wire-"

/* Sets up lab (nhosts; rate of the links or NULL), dir and bin_dir for a command; mtu_bytes is given. Once in a
 * process: until nof_wire_end(), which its exit and SIGINT, SIGTERM and SIGHUP call too. NULL, or why nothing can be
 * measured here. */
const char *nof_wire_begin(struct nof_wire_bench *b, const char *rate);
void nof_wire_end(void);

/* dpdk-testpmd, txonly on host 0, rxonly on host 1, one core each, frames of mtu + 14 bytes: what was
 * received, in frame bits, NOF_WIRE_RUNS times. 0, or -1 with the reason in why. */
int nof_wire_testpmd(struct nof_wire_bench *b, double mbps_out[NOF_WIRE_RUNS], char *why, size_t why_bytes);

#define NOF_WIRE_XDP "net_af_xdp,iface=eth0"

/* Messages of the n given sizes from host 0 to host 1, one rank and one nofd on each; payload. port: as --port takes it. */
int nof_wire_ours(struct nof_wire_bench *b, const char *port, const int *bytes, unsigned n, double *mbps_out,
                  char *why, size_t why_bytes);

/* The same by the daemons that run on both hosts. */
int nof_wire_stream(struct nof_wire_bench *b, const int *bytes, unsigned n, double *mbps_out, char *why,
                    size_t why_bytes);

/* Messages of a file (bench/messages.h), or "random", from host 0 to host 1 with the daemons' feature set so
 * ("compression=on"): the best of NOF_WIRE_RUNS, and payload over what the codec made of it (0: it did nothing). */
int nof_wire_messages(struct nof_wire_bench *b, const char *port_args, const char *set, const char *file,
                      double *mbps_out, double *ratio_out, char *why, size_t why_bytes);

/* The same program over MPICH's TCP. */
int nof_wire_mpich(struct nof_wire_bench *b, const int *bytes, unsigned n, double *mbps_out, char *why,
                   size_t why_bytes);

/* Between two ranks: wire_sockets.c. */
struct nof_wire_pair {
    double latency_us; /* half of a round trip */
    double mbps; /* payload, a window of messages under way */
};

#define NOF_WIRE_UDP_RUNS 3u

/* Private daemons with a UDP port on both hosts, as launchers have them, and MPICH over TCP, in turn, NOF_WIRE_UDP_RUNS
 * times: of size i in run r is at [r * n + i]. calls_out[i]: system calls of both daemons for a message of size i, to send, to
 * receive and to sleep, NAN: unknown. Each rc is as that of the functions above. */
void nof_wire_udp(struct nof_wire_bench *b, const int *bytes, unsigned n, struct nof_wire_pair *ours,
                  double *calls_out, int *ours_rc, char *ours_why, struct nof_wire_pair *mpich, int *mpich_rc,
                  char *mpich_why);

/* What these share. A daemon on host `side`, with a CPU of its own where there are two: port as --port takes it, more: one more
 * argument, or NULL. */
int nof_wire_start_nofd(struct nof_wire_bench *b, unsigned side, const char *port, const char *set,
                        const char *more, struct nof_child *child, char *why, size_t why_bytes);
/* One counter of the first NIC of host `side`; 0 if it cannot be had. */
double nof_wire_counter(struct nof_wire_bench *b, unsigned side, const char *name);
/* A program of bench/programs for MPICH; argv[0..15] to run it with two ranks over TCP, whose text the bench keeps. */
int nof_wire_mpich_program(struct nof_wire_bench *b, const char *name, const char **argv, char *why,
                           size_t why_bytes);
/* What a rank of ours executes to step into its host. */
void nof_wire_step_into(const struct nof_wire_bench *b, char *into, size_t into_bytes);
/* What a program that ended so has said last, into why; -1. */
int nof_wire_failed(const struct nof_wire_bench *b, const char *name, const char *text, char *why,
                    size_t why_bytes);

#endif
