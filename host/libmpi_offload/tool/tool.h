/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool information interface, MPI_T (MPI 4.1, 15.3).
 *
 *   control variables      settings of the library, then the features of the NIC (nof/features.h)
 *   performance variables  live objects of the library, what it counts (nof_private/library_counts.h), then the counters of the
 *                          NIC (nof/counters.h)
 *   categories             "library", "nic", and below it one per first part of the counters' names
 *   enumerations           the choices of a feature
 *   events                 none
 *
 * Indices never change and nothing appears or goes while the process runs. All variables are bound to no
 * object. Calls return codes and raise no error handler.
 *
 * Threads: each call takes the library's lock. */
#ifndef NOF_MPI_TOOL_H
#define NOF_MPI_TOOL_H

#include "base/lib.h"
#include "base/publish.h"
#include "nof/counters.h"
#include "nof/features.h"
#include "nof_private/library_counts.h"

/* First and last steps of every call: the interface must be initialized. */
int nof_tool_enter(void);
int nof_tool_leave(int rc);

/* Answer a text with the length convention of MPI_T: *len is the room and becomes the length with the zero. */
void nof_tool_text(const char *text, char *out, int *len);

/* Of tool_vars.c. */

enum { NOF_TOOL_SETTINGS = 5, NOF_TOOL_LEVELS = 8 };
enum { NOF_TOOL_CVARS = NOF_TOOL_SETTINGS + NOF_FEATURE_COUNT };
enum { NOF_TOOL_OWN = NOF_TOOL_LEVELS + NOF_LIBRARY_COUNT_MAX }; /* pvars of the library */
enum { NOF_TOOL_PVARS = NOF_TOOL_OWN + NOF_COUNTER_COUNT };

struct nof_tool_var {
    const char *name;
    const char *help;
    MPI_Datatype type;
    MPI_T_enum choices; /* MPI_T_ENUM_NULL: none */
    int count; /* elements of the type */
    bool writable; /* cvars */
    int var_class; /* pvars */
};

/* Describe variable `index`, which the caller has checked. */
struct nof_tool_var nof_tool_cvar(int index);
struct nof_tool_var nof_tool_pvar(int index);

/* Their values, in the type that the description names. */
int nof_tool_cvar_read(int index, void *out);
int nof_tool_cvar_write(int index, const void *in);
void nof_tool_pvar_read(int index, unsigned long long *out);
/* What the library counts, 0 to NOF_LIBRARY_COUNT_MAX - 1. */
unsigned long long nof_tool_counted(int index);
/* The same, as where they are, in that order. */
const struct nof_publish_part *nof_tool_parts(void);

/* An enumeration is a feature. */
bool nof_tool_enum_feature(MPI_T_enum enumtype, enum nof_feature *feature_out);

#endif
