/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch: who am I, who are the others. Speaks PMI-1 over the descriptor that PMI_FD names (nof
 * run does); without a launcher the world has size one. A launcher that cannot be spoken to
 * is an error, never N worlds of one.
 *
 *   open() -> put() ... fence() -> get() ... -> close()
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_LAUNCH_H
#define NOF_MPI_LAUNCH_H

#include "lib.h"

#define NOF_LAUNCH_VALUE_BYTES 512

/* What the environment of a rank says about NIC and job. */
struct nof_launch_job {
    const char *socket; /* NOF_SOCKET, NULL: no NIC */
    uint64_t id;
    uint8_t key[16];
    uint32_t nic; /* UINT32_MAX: any */
};

/* Fill in rank, size and appnum of nof_lib. 0, or -1 with a sentence in text. */
int nof_launch_open(char *text, size_t text_bytes);

/* Publish and look up `key`; get() answers -1 when nobody published it or the launcher is gone,
 * with errno ETIMEDOUT when it has not answered for 10 s. */
int nof_launch_put(const char *key, const char *value);
int nof_launch_fence(void);
int nof_launch_get(const char *key, char value[NOF_LAUNCH_VALUE_BYTES]);

/* Tell the launcher that this process ends in order. */
void nof_launch_close(void);
/* Ask the launcher to end the job. Safe when it is gone. Does not return control to the program. */
void nof_launch_abort(int exit_code);

/* Job and NIC of this process. 0; -1 with a sentence in text when the environment is broken. */
int nof_launch_job(struct nof_launch_job *job_out, char *text, size_t text_bytes);

/* Equal for processes that can share memory. */
uint64_t nof_launch_host_id(void);
void nof_launch_set_host_id(uint64_t id);

#endif
