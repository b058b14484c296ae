/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gate: what the XDP program of net_af_xdp does in front of a NIC (ebpf/steer_judge.h). Frames that it drops or leaves to a
 * kernel never reach the core, so whatever the simulator asks for holds behind it as well. */
#ifndef NOF_SIM_GATE_H
#define NOF_SIM_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "nof/port.h"

struct nof_gate;

/* max_paths: of the core, 0 for its default. NULL: no memory. */
struct nof_gate *nof_gate_open(uint64_t nic_id, uint32_t ip4, uint32_t max_paths);
void nof_gate_close(struct nof_gate *gate);
/* As nof_port_ops.conn, and a group that was joined or left. */
void nof_gate_conn(struct nof_gate *gate, uint32_t slot, uint64_t id);
void nof_gate_group(struct nof_gate *gate, uint32_t ip4, bool join);
/* Those of n that pass, in order; returns how many. */
unsigned nof_gate_pass(struct nof_gate *gate, struct nof_frame **out, struct nof_frame *const *frames,
                       unsigned n);

#endif
