/* SPDX-License-Identifier: BSD-3-Clause */
#include "op_kind.h"

#include "msg/recv.h"
#include "msg/send.h"
#include "msg/unexpected.h"

struct op_kind {
    void (*release)(struct nof_nic *nic, uint32_t index);
    void (*end)(struct nof_nic *nic, uint32_t index, int status);
};

static void release_send(struct nof_nic *nic, uint32_t index)
{
    nof_send_free(nic, nof_send_at(nic, index));
}

static void end_send(struct nof_nic *nic, uint32_t index, int status)
{
    nof_send_end(nic, nof_send_at(nic, index), status);
}

static void release_recv(struct nof_nic *nic, uint32_t index)
{
    nof_recv_free(nic, nof_recv_at(nic, index));
}

static void end_recv(struct nof_nic *nic, uint32_t index, int status)
{
    struct nof_recv *r = nof_recv_at(nic, index);
    if (r->state == NOF_RECV_POSTED)
        nof_recv_unpost(nic, r);
    nof_recv_end(nic, r, status);
}

static void release_env(struct nof_nic *nic, uint32_t index)
{
    nof_unexpected_free(nic, nof_env_at(nic, index));
}

static const struct op_kind kinds[] = {
    [NOF_REF_SEND] = {release_send, end_send},
    [NOF_REF_RECV] = {release_recv, end_recv},
    [NOF_REF_ENV] = {release_env, NULL}, /* it waits for nobody */
    [NOF_REF_PEER] = {NULL, NULL}, /* stays until its endpoint closes */
};

void nof_op_release(struct nof_nic *nic, uint32_t ref)
{
    if (kinds[NOF_REF_KIND(ref)].release != NULL)
        kinds[NOF_REF_KIND(ref)].release(nic, NOF_REF_INDEX(ref));
}

void nof_op_end(struct nof_nic *nic, uint32_t ref, int status)
{
    kinds[NOF_REF_KIND(ref)].end(nic, NOF_REF_INDEX(ref), status);
}
