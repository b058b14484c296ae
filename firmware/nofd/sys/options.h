/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the daemon was told: command line over environment (NOF_*) over file over default. One table
 * of options serves all three (options.c). Main thread. */
#ifndef NOFD_OPTIONS_H
#define NOFD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/features.h"

#include "nofd/sys/address.h"

#define NOFD_PORTS_MAX 32u
#define NOFD_DEVARGS_BYTES 256
#define NOFD_CORES_MAX 64u
#define NOFD_UDP_PORT 48620u /* by default: nof_nic_config.udp_port */

enum nofd_dma_choice { NOFD_DMA_AUTO, NOFD_DMA_ASSISTED };

/* Of every link of the fabric. */
struct nofd_fabric_options {
    unsigned nics; /* 0: no fabric */
    uint64_t rate_bps; /* 0: unlimited */
    uint64_t delay_ns; /* of one link, one way */
    uint64_t buffer_bytes; /* 0: unbounded */
    double loss, duplicate, reorder, corrupt; /* probabilities */
    uint32_t multicast; /* enum nof_fabric_multicast */
};

struct nofd_options {
    char config[4096]; /* "" : none */
    char directory[NOFD_ADDRESS_BYTES - 16]; /* to be made for the default socket; "": none */
    char socket[NOFD_ADDRESS_BYTES];
    char control[NOFD_ADDRESS_BYTES];
    struct nofd_fabric_options fabric;
    char port[NOFD_PORTS_MAX][NOFD_DEVARGS_BYTES];
    unsigned nports;
    uint32_t ip4[NOFD_PORTS_MAX]; /* by NIC; host byte order, 0: default */
    unsigned nips;
    uint32_t mtu_bytes; /* 0: default of the port */
    uint16_t udp_port; /* 0: default */
    bool private_job;
    bool background; /* leave the caller */
    bool watch_pauses; /* count host.pause_ns */
    int ready_fd; /* -1: none */
    unsigned cores; /* 1..64 */
    unsigned cores_per_nic; /* 1..64, at most `cores` */
    bool log_level_given; /* the level itself is a feature */
    char log_to[4096]; /* "": stderr */
    enum nofd_dma_choice dma;
    uint64_t dma_timeout_ns;
    uint64_t idle_timeout_ns; /* of a connection that asks nothing, or does not take its answer; never 0 */
    uint32_t max_endpoints; /* of one NIC, 1..1024 */
    uint32_t max_peers; /* of one NIC; 0: by what can attach */
    uint32_t predict_calls; /* of one endpoint; 0: default */
    uint64_t netmem_bytes; /* of one NIC; 0: default */
    uint64_t staging_bytes, bounce_bytes; /* of one endpoint */
    unsigned memory_mb; /* of DPDK; 0: by the ports */
    char steer[256]; /* object file of the steering program for net_af_xdp; "": as installed */
    uint64_t feature[NOF_FEATURE_COUNT];
};

/* Reads argv, environment and file. On an error it says so on stderr and exits (2), as for --help
 * and --version (0). */
void nofd_options_read(struct nofd_options *options, int argc, char **argv);

/* "pacing=off" into values[]. 0, or -1 with a sentence in err that names the nearest feature. Shared
 * with the control socket. */
int nofd_options_feature(const char *name, const char *value, unsigned *feature_out, uint64_t *value_out,
                         char *err, size_t err_bytes);
/* A feature's value as text ("off", "delay", "20"). */
void nofd_options_feature_text(unsigned feature, uint64_t value, char *text, size_t text_bytes);

#endif
