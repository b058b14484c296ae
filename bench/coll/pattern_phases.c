/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern_phases.h"

#include <stdlib.h>

#include "phases.h"
#include "programs/random_pattern.h"

#define SMALL_BYTES 2048u /* as the library has it */

static json_t *dealt_by(enum nof_phases_algorithm algorithm, const struct nof_phases_pattern *pattern)
{
    struct nof_phases *phases;
    json_t *dealt;

    if (nof_phases_schedule(algorithm, pattern, SMALL_BYTES, &phases) != 0)
        return NULL;
    dealt = json_pack("{s:I, s:I, s:f}", "phases", (json_int_t)phases->phase_count, "sum_bytes",
                      (json_int_t)phases->maxima_bytes, "of_limit",
                      phases->fullest_link_bytes > 0
                          ? (double)phases->maxima_bytes / (double)phases->fullest_link_bytes
                          : 1.0);
    nof_phases_free(phases);
    return dealt;
}

json_t *nof_pattern_phases(unsigned seed, unsigned hosts, uint64_t bytes)
{
    static const enum nof_phases_algorithm algorithms[] = {NOF_PHASES_ALLTOALL, NOF_PHASES_GREEDY,
                                                           NOF_PHASES_OPTIMAL};
    size_t pairs = (size_t)hosts * hosts;
    int *order = calloc(pairs, sizeof(*order)), *matrix = calloc(pairs, sizeof(*matrix));
    struct nof_phases_message *message = calloc(pairs, sizeof(*message));
    struct nof_phases_pattern pattern = {hosts, message, 0};
    json_t *all = NULL;

    if (order != NULL && matrix != NULL && message != NULL) {
        pattern_draw(seed, (int)hosts, (int)bytes, order, matrix);
        for (size_t i = 0; i < pairs; i++)
            if (matrix[i] > 0)
                message[pattern.message_count++] = (struct nof_phases_message){
                    (uint32_t)(i / hosts), (uint32_t)(i % hosts), (uint64_t)matrix[i]};
        all = json_object();
        for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
            json_object_set_new(all, nof_phases_algorithm_name(algorithms[i]),
                                dealt_by(algorithms[i], &pattern));
    }
    free(order);
    free(matrix);
    free(message);
    return all;
}
