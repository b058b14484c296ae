/* SPDX-License-Identifier: BSD-3-Clause */
/* Phases as source text: the table that a program hands to MPIX_Alltoallv_load (mpi_offload.h). */
#ifndef NOF_EMIT_H
#define NOF_EMIT_H

#include <stdbool.h>
#include <stdio.h>

#include "phases.h"

/* Nodes are ranks, and no message is in pieces. name: begins every name; an identifier of both languages
 * (nof_emit_is_name()).
 *   C: struct MPIX_Phases NAME.  Fortran: module NAME with NAME_RANKS, NAME_PHASES, NAME_FIRST, NAME_PAIR. */
void nof_emit_c(FILE *out, const struct nof_phases *phases, const char *name);
void nof_emit_fortran(FILE *out, const struct nof_phases *phases, const char *name);
bool nof_emit_is_name(const char *name);

#endif
