/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What `nof record` and the recorder in its ranks (host/record) say to each other: settings in the environment, and
 * one tally a rank in a file that both map, NOF_RECORDING_TALLY in the folder of the traces. */
#ifndef NOF_PRIVATE_RECORDING_H
#define NOF_PRIVATE_RECORDING_H

#include <stdint.h>

#define NOF_RECORDING_LIBRARY "libnof_record.so"
#define NOF_RECORDING_TALLY ".recording"
#define NOF_RECORDING_ENV_FOLDER "NOF_RECORD_FOLDER" /* absolute */
#define NOF_RECORDING_ENV_MAX_BYTES "NOF_RECORD_MAX_BYTES"
#define NOF_RECORDING_ENV_MIN_BYTES "NOF_RECORD_MIN_BYTES"

/* The files of a rank: rankN.recv, rankN.msg and rankN.coll. */
enum nof_recording_file { NOF_RECORDING_RECV, NOF_RECORDING_MSG, NOF_RECORDING_COLL, NOF_RECORDING_FILES };

/* Written by the rank, read by `nof record` when the job has ended. `written` counts what is in the file. */
struct nof_recording_tally {
    uint64_t written[NOF_RECORDING_FILES]; /* receive calls, messages, collectives */
    uint64_t bytes[NOF_RECORDING_FILES]; /* of the files */
    uint64_t behind_bound[NOF_RECORDING_FILES]; /* left out: more than --max-bytes */
    uint64_t behind_error[NOF_RECORDING_FILES]; /* left out: the file could not be written */
    /* Receives for any source or tag of which nobody waited for the end, and canceled ones. */
    uint64_t unnamed;
    uint64_t other_type; /* messages that are not doubles */
    uint64_t small; /* messages below --min-bytes */
    uint64_t other_collective; /* of a kind that is not recorded */
    uint64_t worldless_collective; /* of a session's communicator, where MPI_Init has not been called */
    int32_t error; /* errno of the first write that failed; 0: none */
    uint32_t is_mpi; /* the rank has called MPI */
};

#endif
