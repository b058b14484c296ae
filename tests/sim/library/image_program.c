/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI program of a simulated process: carries out the steps that were drawn and writes down what MPI answered. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "chan/nic/chan_nic.h"
#include "image_run.h"

/* As in chan_submit.c and handle.c. */
#define OP_CHUNK 256u
#define OP_GENERATION_MAX ((1u << 28) - 1)
#define HANDLE_CHUNK 1024u
#define NAP_MAX_NS 10000000u
#define STAY_NS 30000000u /* so often: */
#define STAYS 70u

struct nof_image_run nof_run;

void nof_run_fail(const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    nof_image->ops->fail(nof_image->process, text);
}

static bool is_of_a_death(int rc)
{
    int error_class;
    if (!nof_run.program->mortal || nof_run.program->death_ns == 0)
        return false;
    MPI_Error_class(rc, &error_class);
    if (error_class != MPIX_ERR_PROC_FAILED)
        return false;
    nof_run.struck = true;
    return true;
}

void nof_run_check(int rc, const char *what, uint32_t item)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    if (rc == MPI_SUCCESS || is_of_a_death(rc))
        return;
    MPI_Error_string(rc, text, &len);
    nof_run_fail("%s %u: %s", what, item, text);
}

static void open_comm(unsigned i)
{
    nof_run_check(nof_run.program->reversed[i]
                      ? MPI_Comm_split(MPI_COMM_WORLD, 0, -nof_image->rank, &nof_run.comm[i])
                      : MPI_Comm_dup(MPI_COMM_WORLD, &nof_run.comm[i]),
                  "communicator", i);
}

static void renew(uint32_t comm)
{
    nof_run_check(MPI_Comm_free(&nof_run.comm[comm]), "communicator", comm);
    open_comm(comm);
}

static void step_run(const struct nof_step *step)
{
    nof_lib_callsite = 1 + step->item % nof_run.program->callsites;
    switch (step->kind) {
    case SIM_STEP_FINISH:
        nof_finish(step->style);
        break;
    case SIM_STEP_BARRIER:
        nof_run_check(MPI_Barrier(nof_run.comm[step->item]), "barrier", step->item);
        break;
    case SIM_STEP_COLLECTIVE:
    case SIM_STEP_ICOLLECTIVE:
        nof_together_run(step, step->kind == SIM_STEP_COLLECTIVE);
        break;
    case SIM_STEP_WINDOW:
        nof_window_run(step);
        break;
    case SIM_STEP_RENEW:
        renew(step->item);
        break;
    case SIM_STEP_POKE:
        nof_poke(step->item, step->style);
        break;
    case SIM_STEP_COMPUTE:
        nof_image->ops->nap(nof_image->process, step->ns);
        break;
    case SIM_STEP_OVERLAP:
        nof_overlap_run(step);
        break;
    case SIM_STEP_TIMED:
        nof_timed_run(step);
        break;
    case SIM_STEP_REPLAY:
        nof_replay_run();
        break;
    case SIM_STEP_INCREMENTS:
        nof_increments_run();
        break;
    case SIM_STEP_DOOM:
        nof_image->ops->doom(nof_image->process, step->ns);
        break;
    case SIM_STEP_ISEND:
    case SIM_STEP_SEND:
        nof_transfer_send(step->item, step->kind == SIM_STEP_SEND);
        break;
    case SIM_STEP_IRECV:
    case SIM_STEP_RECV:
        nof_transfer_receive(step->item, step->kind == SIM_STEP_RECV);
        break;
    case SIM_STEP_SENDRECV:
        nof_transfer_exchange(step->item, step->spare);
        break;
    case SIM_STEP_PROBE:
        nof_transfer_probe(step);
        break;
    case SIM_STEP_CANCEL_RECV:
        nof_transfer_cancel_receive(step);
        break;
    case SIM_STEP_CANCEL_SEND:
        nof_transfer_cancel_send(step);
        break;
    case SIM_STEP_KINDS:
        break;
    }
}

static void open_comms(void)
{
    nof_run.comm[0] = MPI_COMM_WORLD;
    nof_run_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "communicator", 0);
    for (unsigned i = 1; i < nof_run.program->ncomms; i++)
        open_comm(i);
}

/* For buffered sends. Who stays gives it back, the others leave with it. */
static void *attach_buffer(void)
{
    void *buffer = malloc(nof_run.program->buffer_bytes + 1);
    if (buffer == NULL)
        abort();
    nof_run_check(MPI_Buffer_attach(buffer, (int)nof_run.program->buffer_bytes), "buffer", 0);
    return buffer;
}

static void detach_buffer(void *buffer)
{
    void *same = NULL;
    int bytes = 0;
    nof_run_check(MPI_Buffer_detach(&same, &bytes), "buffer", 0);
    if (same != buffer || bytes != (int)nof_run.program->buffer_bytes)
        nof_run_fail("another buffer was detached than attached");
    free(buffer);
}

/* All that was sent is received: the NIC takes matching back, sooner or later. Nobody sends anew before all have seen
 * that. */
static void leave_spill(void)
{
    MPI_Status status;
    int found;
    nof_run_check(MPI_Barrier(MPI_COMM_WORLD), "barrier", 0);
    for (uint64_t nap_ns = 1000; nof_chan_nic.spill; nap_ns = nap_ns < NAP_MAX_NS ? 2 * nap_ns : NAP_MAX_NS) {
        nof_image->spilling = true;
        nof_image->ops->nap(nof_image->process, nap_ns);
        nof_run_check(MPI_Iprobe(MPI_ANY_SOURCE, NOF_PROGRAM_TAG_UNSENT, MPI_COMM_WORLD, &found, &status),
                      "probe", 0);
    }
    nof_image->spilling = false;
    nof_image->ops->fence(nof_image->process);
}

/* Cookies of operations, and handles: as if each had been given out almost as often as it can tell. */
static void age_library(void)
{
    struct nof_handle_table *const table[] = {&nof_lib.requests, &nof_lib.messages};
    for (uint32_t i = 0; i < nof_chan_nic.op_chunk_count * OP_CHUNK; i++) {
        struct nof_chan_nic_op *op = &nof_chan_nic.op_chunks[i / OP_CHUNK][i % OP_CHUNK];
        if (op->phase == NOF_OP_FREE)
            op->generation = OP_GENERATION_MAX - 1;
    }
    for (unsigned k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        uint64_t handle = nof_handle_add(table[k], &nof_run); /* so that there is something to age */
        nof_handle_remove(table[k], handle);
        for (uint32_t c = 0; c < table[k]->chunk_count; c++)
            for (uint32_t i = 0; i < HANDLE_CHUNK; i++)
                if (table[k]->chunks[c][i].object == NULL)
                    table[k]->chunks[c][i].generation = UINT32_MAX - 1;
    }
}

/* Who waits for one that has had its error, and is still there, waits in vain. It calls MPI now and then: what it has sent
 * may need it. */
static void end(void)
{
    int found;
    nof_run.program->end_ns = nof_image->ops->now_ns(nof_image->process);
    for (unsigned i = 0; nof_run.program->goes_on && i < STAYS; i++) {
        nof_image->ops->nap(nof_image->process, STAY_NS);
        nof_run_check(
            MPI_Iprobe(nof_image->rank, NOF_PROGRAM_TAG_UNSENT, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE),
            "probe", 0);
    }
}

void nof_image_program(void)
{
    nof_run.program = nof_image->program;
    struct nof_steps *steps = &nof_run.program->rank[nof_image->rank];
    MPI_Init(NULL, NULL);
    if (nof_image->near_wrap)
        age_library();
    open_comms();
    void *buffer = attach_buffer();
    for (steps->at = 0; steps->at < steps->count && (!nof_run.struck || nof_run.program->goes_on);
         steps->at++)
        step_run(&steps->step[steps->at]);
    if (nof_run.program->mortal)
        end();
    if (nof_run.struck)
        return; /* as who calls exit() */
    nof_transfer_look_back();
    if (nof_run.program->stays) {
        detach_buffer(buffer);
        leave_spill();
    }
    for (unsigned i = 1; i < nof_run.program->ncomms; i++)
        nof_run_check(MPI_Comm_free(&nof_run.comm[i]), "communicator", i);
    MPI_Finalize();
    free(nof_run.live);
}

__attribute__((visibility("default"))) void nof_image_main(struct nof_seam *seam);
void nof_image_main(struct nof_seam *seam)
{
    nof_image = seam;
    nof_lib_callsite = 0;
    if (!seam->killed)
        nof_image_program();
    nof_image_heap_clear();
}
