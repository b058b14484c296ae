/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NOF_SIM_CHANNELS_H
#define NOF_SIM_CHANNELS_H

#include "cluster.h"

/* The grants that NIC `index` sends by. Fails the cluster if an end is out of step. */
void nof_verify_grants(struct nof_cluster *c, unsigned index);

#endif
