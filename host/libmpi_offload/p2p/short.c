/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/short.h"

bool nof_short_send_locked(const struct nof_pt2pt_args *args)
{
    nof_lib_lock();
    bool over = nof_short_send_now(args);
    nof_lib_unlock();
    return over;
}

bool nof_short_recv_locked(const struct nof_pt2pt_args *args, MPI_Status *status)
{
    nof_lib_lock();
    bool over = nof_short_recv_now(args, status);
    nof_lib_unlock();
    return over;
}
