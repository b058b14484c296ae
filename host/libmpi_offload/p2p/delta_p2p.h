/* SPDX-License-Identifier: BSD-3-Clause */
/* Delta messages between two ranks: what the calls of mpi_offload.h do, beside checking what they were given.
 *
 *   send   begin -> nof_delta_out_add()* by any thread -> end -> the request is waited for as any other
 *   recv   returns while the message comes; a record stays of what became of it, for those who ask later
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_DELTA_P2P_H
#define NOF_MPI_DELTA_P2P_H

#include "delta/delta_in.h"
#include "delta/delta_out.h"
#include "p2p/pt2pt.h"

/* A slot for a request whose data and bytes are set, if on_board, of the board. False: there is none free. */
bool nof_delta_take_out(struct nof_request *req, uint32_t least_log2, bool by_address, bool on_board);
bool nof_delta_take_in(struct nof_request *req, const void *base, bool on_board);
/* NULL: it has none. */
struct nof_delta_out *nof_delta_out_with(const struct nof_request *req);
struct nof_delta_in *nof_delta_in_with(const struct nof_request *req);
/* Are its pages to say what is ready, or to wait for what has not come (NOF_DELTA)? */
bool nof_delta_by_pages(const struct nof_request *req);
/* nof_delta_out_end(), by any thread, and its channel hears of it. */
void nof_delta_end_out(struct nof_delta_out *out, size_t bytes);
/* release() of requests that may have one. */
int nof_delta_give_out(struct nof_request *req);
int nof_delta_give_in(struct nof_request *req);

/* As nof_pt2pt_send_new(), and the request is published in *handle_out and under way. */
int nof_delta_begin(const struct nof_pt2pt_args *args, MPI_Request *handle_out, struct nof_comm **comm_out);
/* A request of begin(), else MPI_ERR_REQUEST. */
int nof_delta_check(MPI_Request handle, struct nof_request **req_out);
bool nof_delta_has_ended(const struct nof_request *req);
/* It has `count` elements; or, negative, as many as begin() was told. */
int nof_delta_end(struct nof_request *req, MPI_Count count);
/* The code for what add() refused. */
int nof_delta_refusal(enum nof_delta_out_result result, const struct nof_request *req, const void *address,
                      MPI_Count bytes);

int nof_delta_recv(const struct nof_pt2pt_args *args, struct nof_comm **comm_out, MPI_Status *status);
/* The end of the last one into this buffer; *comm_out with a reference. MPI_ERR_ARG: none is known. */
int nof_delta_recv_wait(const void *buf, MPI_Status *status, struct nof_comm **comm_out);
/* Has a receive that came into [address, address + bytes) failed? Its code; *comm_out with a reference. */
int nof_delta_recv_failed(const void *address, size_t bytes, struct nof_comm **comm_out);

/* Might it? Any thread, without the lock. */
bool nof_delta_recv_any_failed(void);

/* MPI_Finalize: sends that were begun end; when all ranks are in it: end what was begun, and take back what nothing will match. */
void nof_delta_end_all(void);
void nof_delta_recv_close(bool tell);
/* After them and all that is sent: MPI_SUCCESS, or the code of a send that has failed and that nobody waited for; stderr tells of each. */
int nof_delta_send_close(void);

#endif
