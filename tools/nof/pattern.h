/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Patterns of communication from a file, for `nof schedule`: text, or a JSON object where that is what it begins with.
 *
 *     # source destination bytes
 *     0 1 1MB
 *     2 3 100
 *
 *     {"nodes": 6, "messages": [{"source": 0, "destination": 1, "bytes": 1000000}]}
 *
 * Bytes are a number, in text also with a unit (nof_private/units.h). "nodes" may be left out. */
#ifndef NOF_PATTERN_H
#define NOF_PATTERN_H

#include "phases.h"

struct nof_pattern {
    uint32_t nodes; /* as --nodes says, else the pattern, else one more than the largest that it names */
    struct nof_phases_message *message; /* free() it */
    size_t message_count;
};

/* path: "-" is stdin. nodes: 0 if --nodes was not given. 0, or -1 after a message on stderr that begins with `self`. */
int nof_pattern_read(const char *path, uint32_t nodes, const char *self, struct nof_pattern *pattern_out);

#endif
