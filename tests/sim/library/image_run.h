/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program of an image: what image_program.c, which goes from step to step, and those that carry them out know.
 *
 *   image_transfer.c     one message: sends, receives, probes, cancel
 *   image_delta.c        delta messages
 *   image_finish.c       the ends of many
 *   image_collective.c   collectives, windows
 *   image_overlap.c      what goes on while ranks compute
 *   image_timed.c        how long it takes
 *   image_replay.c       how long the collectives of a recording take
 *   image_increments.c   how long patterns of tasks take that send increments */
#ifndef NOF_SIM_LIBRARY_IMAGE_RUN_H
#define NOF_SIM_LIBRARY_IMAGE_RUN_H

#include "image.h"
#include "mpi.h"
#include "program.h"

/* A collective under way. */
struct nof_together {
    enum nof_collective kind;
    uint32_t comm;
    int count, root;
    int64_t *in, *out;
};

/* What is under way: a send, a receive or a collective. Or a receive that is done and watched: nothing may be written
 * there any more. */
struct nof_transfer {
    struct nof_transfer *next;
    MPI_Request request;
    uint8_t *mem;
    const uint8_t *staged; /* the message lies there */
    size_t mem_bytes;
    uint32_t bytes; /* that fit */
    bool strided;
    struct nof_sent *sent; /* one of the three */
    struct nof_received *received;
    struct nof_together *together;
};

struct nof_image_run {
    struct nof_program *program;
    MPI_Comm comm[NOF_PROGRAM_COMMS_MAX];
    struct nof_transfer **live;
    unsigned nlive, live_room;
    struct nof_transfer *watched;
    uint32_t sends, receives; /* so far */
    bool struck; /* by the death of another */
};

extern struct nof_image_run nof_run;

/* image_driver.c: groups may be opened */
bool nof_run_multicasts(void);

/* image_program.c */
__attribute__((format(printf, 1, 2))) void nof_run_fail(const char *format, ...);
/* Any code but MPI_SUCCESS is a violation, or the death of another: struck. */
void nof_run_check(int rc, const char *what, uint32_t item);

/* image_transfer.c */
void nof_transfer_send(uint32_t item, bool blocking);
void nof_transfer_receive(uint32_t item, bool blocking);
void nof_transfer_exchange(uint32_t sent, uint32_t received);
void nof_transfer_probe(const struct nof_step *step);
void nof_transfer_cancel_receive(const struct nof_step *step);
void nof_transfer_cancel_send(const struct nof_step *step);
/* It is under way from now on. */
void nof_transfer_live(struct nof_transfer *t);
/* It was under way and has ended with this code. */
void nof_transfer_ended(struct nof_transfer *t, MPI_Request *request, const MPI_Status *status, int rc);
/* Receives that ended a while ago: still as they were? */
void nof_transfer_look_back(void);

/* image_delta.c: is a plain message of this number one of them? */
bool nof_image_delta_chosen(uint32_t item);
/* t, from begin to its request; false: there is no place for it, and nothing was done. */
bool nof_image_delta_send(struct nof_transfer *t, uint32_t item, int count, MPI_Datatype type, int peer,
                          int tag, MPI_Comm comm);
int nof_image_delta_receive(const struct nof_transfer *t, uint32_t item, int count, MPI_Datatype type,
                            int peer, int tag, MPI_Comm comm, MPI_Status *status);

/* image_pages.c: the pages from there on can be watched, instead of those before. */
void nof_image_pages_watch(void *low, size_t bytes);
/* Before an access to them: as if it faulted, where it would. */
void nof_image_touch(const void *address, size_t bytes, bool writes);

/* image_finish.c */
void nof_finish(enum nof_finish_style style);
/* Asks for what is under way, and may end some of it. */
void nof_poke(uint32_t comm, enum nof_poke_style style);

/* image_collective.c */
void nof_together_run(const struct nof_step *step, bool blocking);
/* Gave what it must; frees. */
void nof_together_ended(struct nof_together *c, int rc);
void nof_window_run(const struct nof_step *step);

/* image_overlap.c */
void nof_overlap_run(const struct nof_step *step);

/* image_timed.c */
void nof_timed_run(const struct nof_step *step);

/* image_replay.c */
void nof_replay_run(void);

/* image_increments.c */
void nof_increments_run(void);

#endif
