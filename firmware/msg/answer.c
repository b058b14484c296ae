/* SPDX-License-Identifier: BSD-3-Clause */
#include "msg/answer.h"

#include "msg/recv.h"

int nof_answer(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_comp *comp)
{
    if (nof_completion_say(nic, ep, comp))
        return NOF_OK;
    bool unasked = comp->opcode == NOF_COMP_GRANT || comp->opcode == NOF_COMP_REVOKE ||
                   comp->opcode == NOF_COMP_COLL_ABORT;
    if (unasked && nof_recv_room(nic, ep) == 0)
        return NOF_EAGAIN; /* what is left is for descriptors */
    const struct nof_recv *r = nof_recv_take(nic, ep, comp->opcode);
    if (r == NULL)
        return NOF_EAGAIN;
    nof_completion_keep(nic, ep, comp, NOF_REF(NOF_REF_RECV, nof_recv_index(nic, r)));
    return NOF_OK;
}

void nof_answer_desc(struct nof_nic *nic, struct nof_endpoint *ep, const struct nof_desc *desc, int status)
{
    struct nof_comp comp = {.opcode = desc->opcode,
                            .status = (int16_t)status,
                            .ctx = desc->ctx,
                            .cookie = desc->cookie,
                            .peer = desc->peer,
                            .tag = desc->tag,
                            .len = desc->len};
    nof_answer(nic, ep, &comp);
}
