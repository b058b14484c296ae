/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trace lines of `nof sim --trace`: a frame, a descriptor, a completion in one line each. */
#ifndef NOF_SIM_TRACE_H
#define NOF_SIM_TRACE_H

#include "cluster.h"

void nof_trace_frame(struct nof_cluster *c, unsigned nic, const struct nof_frame *frame);
void nof_trace_desc(struct nof_cluster *c, const char *who, const struct nof_desc *d);
void nof_trace_comp(struct nof_cluster *c, const char *who, const struct nof_comp *comp);

#endif
