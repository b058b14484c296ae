/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the NICs of test `cores` stand on: the simulated switch (cores_fabric.c), or two DPDK devices (cores_dpdk.c).
 *
 *   wires_open() -> by the threads of the cores: wire_rx, wire_rx_done, wire_flush -> all NICs end -> wires_close() */
#ifndef NOF_CORES_WIRE_H
#define NOF_CORES_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/port.h"

#define NICS 2u
#define CORES_MAX 4u

struct wire {
    const struct nof_port_ops *ops;
    void *port;
    uint8_t mac[6];
    unsigned thread; /* that runs this core */
};

/* Kinds of links between the two NICs, and the threads that so many cores of each want. */
extern const unsigned wires_kinds;
const char *wires_kind(unsigned kind);

/* Of each core of both NICs, first those of the first; aborts where it cannot. */
void wires_open(unsigned ncores, unsigned kind, struct wire wires[NICS * CORES_MAX]);
/* Thread of the core. */
unsigned wire_rx(struct wire *wire, uint64_t now_ns, struct nof_frame **frames, unsigned max);
void wire_rx_done(struct wire *wire, struct nof_frame *const *frames, unsigned n);
void wire_flush(struct wire *wire, uint64_t now_ns);
/* Frames that found a ring full. */
uint64_t wires_drops(void);
/* False, and it says so: frames have not come back to their pools. */
bool wires_close(void);

#endif
