/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is told that a communicator has gone hears its own context: of a duplicate that never got one nobody hears anything, since
 * that would be MPI_COMM_WORLD's. */
#include "../check.h"
#include "comm/comm.h"
#include "comm/topo.h"

struct nof_lib nof_lib = {.world_rank = 1, .world_size = 4};
static unsigned heard;
static uint32_t heard_ctx;

struct nof_errhandler *nof_errhandler_get(MPI_Errhandler handle)
{
    (void)handle;
    return NULL;
}
void nof_errhandler_hold(struct nof_errhandler *handler)
{
    (void)handler;
}
void nof_errhandler_release(struct nof_errhandler *handler)
{
    (void)handler;
}
void nof_topo_release(struct nof_topo *topo)
{
    (void)topo;
}
int nof_error(int error_class, const char *fmt, ...)
{
    (void)fmt;
    return error_class;
}

static void hear(uint32_t coll_ctx)
{
    heard++;
    heard_ctx = coll_ctx;
}

static struct nof_comm *copy_of_world(void)
{
    struct nof_comm *copy;
    nof_group_hold(nof_comm_world()->group);
    check(nof_comm_new(nof_comm_world()->group, 0, nof_comm_world(), &copy) == MPI_SUCCESS);
    return copy;
}

int main(void)
{
    check(nof_comm_init() == 0);
    nof_comm_on_gone(hear);
    nof_comm_drop(copy_of_world());
    check(heard == 0);

    struct nof_comm *copy = copy_of_world();
    uint32_t ctx = nof_comm_draw_ctx();
    check(ctx != nof_comm_world()->ctx);
    nof_comm_set_ctx(copy, ctx, 0, false);
    nof_comm_drop(copy);
    check(heard == 1 && heard_ctx == (ctx | NOF_COMM_COLL));
    return 0;
}
