/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm/topo.h"

struct nof_comm nof_comm_of_world;
static struct nof_comm self;
#define HEARING 3
static void (*on_gone[HEARING])(uint32_t coll_ctx);

/* Contexts in use that this process drew, as a small open list: communicators are few. */
static uint32_t *drawn;
static size_t drawn_count, drawn_capacity;
static uint32_t counter;

static struct nof_comm *live;

#define USE_BITS 2u /* enum nof_comm_use */

static uint32_t rank_bits(void)
{
    uint32_t bits = 0;
    while (bits < 31 && (1u << bits) < (uint32_t)nof_lib.world_size)
        bits++;
    return bits;
}

static uint32_t ctx_of(uint32_t leader, uint32_t number)
{
    uint32_t bits = rank_bits();
    uint32_t high = bits == 0 ? 0 : leader << (32 - bits);
    return high | number << USE_BITS;
}

static bool drawn_here(uint32_t ctx)
{
    uint32_t bits = rank_bits();
    return bits == 0 || ctx >> (32 - bits) == (uint32_t)nof_lib.world_rank;
}

static void make_predefined(struct nof_comm *comm, MPI_Comm handle, const char *name, struct nof_group *group,
                            uint32_t ctx)
{
    *comm = (struct nof_comm){.refs = 1,
                              .ctx = ctx,
                              .group = group,
                              .rank = group->rank,
                              .predefined = true,
                              .handle = handle,
                              .errhandler = nof_errhandler_get(MPI_ERRORS_ARE_FATAL)};
    snprintf(comm->name, sizeof(comm->name), "%s", name);
}

int nof_comm_init(void)
{
    struct nof_group *all = nof_group_new(nof_lib.world_size, NULL);
    int *own = malloc(sizeof(*own));
    if (own != NULL)
        *own = nof_lib.world_rank;
    struct nof_group *me = own == NULL ? NULL : nof_group_new(1, own);
    if (all == NULL || me == NULL)
        return -1;
    make_predefined(&nof_comm_of_world, MPI_COMM_WORLD, "MPI_COMM_WORLD", all, ctx_of(0, 0));
    make_predefined(&self, MPI_COMM_SELF, "MPI_COMM_SELF", me, ctx_of((uint32_t)nof_lib.world_rank, 1));
    counter = 1;
    return 0;
}

struct nof_comm *nof_comm_world(void)
{
    return nof_comm_of_world.group == NULL ? NULL : &nof_comm_of_world;
}

struct nof_comm *nof_comm_self(void)
{
    return self.group == NULL ? NULL : &self;
}

struct nof_comm *nof_comm_find_other(MPI_Comm handle)
{
    return handle == MPI_COMM_SELF ? &self : nof_handle_get(&nof_lib.comms, nof_lib_bits(handle));
}

int nof_comm_check(MPI_Comm handle, struct nof_comm **comm_out)
{
    *comm_out = nof_comm_find(handle);
    if (*comm_out == NULL)
        return nof_error(MPI_ERR_COMM, "%s",
                         handle == MPI_COMM_NULL ? "the communicator is MPI_COMM_NULL"
                                                 : "the handle names no communicator (freed?)");
    return MPI_SUCCESS;
}

int nof_comm_check_intra(MPI_Comm handle, struct nof_comm **comm_out)
{
    int rc = nof_comm_check(handle, comm_out);
    if (rc == MPI_SUCCESS && (*comm_out)->remote != NULL)
        rc = nof_error(MPI_ERR_COMM, "this takes an intra-communicator, not an inter-communicator");
    return rc;
}

int nof_comm_check_inter(MPI_Comm handle, struct nof_comm **comm_out)
{
    int rc = nof_comm_check(handle, comm_out);
    if (rc == MPI_SUCCESS && (*comm_out)->remote == NULL)
        rc = nof_error(MPI_ERR_COMM, "this takes an inter-communicator, not an intra-communicator");
    return rc;
}

static bool in_use(uint32_t ctx)
{
    for (size_t i = 0; i < drawn_count; i++)
        if (drawn[i] == ctx)
            return true;
    return false;
}

uint32_t nof_comm_draw_ctx(void)
{
    uint32_t numbers = 1u << (32 - USE_BITS - rank_bits());
    uint32_t ctx;
    do {
        counter = counter + 1 < numbers ? counter + 1 : 2; /* 0 and 1: predefined */
        ctx = ctx_of((uint32_t)nof_lib.world_rank, counter);
    } while (in_use(ctx));
    return ctx;
}

uint32_t nof_comm_notice_ctx(void)
{
    return ctx_of(1, 0); /* number 0 is MPI_COMM_WORLD's, whose leader is 0 */
}

uint32_t nof_comm_groups_ctx(void)
{
    return ctx_of(0, 1) | NOF_COMM_MAKE; /* MPI_COMM_SELF of rank 0 has nobody to talk to */
}

static void remember(uint32_t ctx)
{
    if (drawn_count == drawn_capacity) {
        size_t capacity = drawn_capacity == 0 ? 16 : drawn_capacity * 2;
        uint32_t *more = realloc(drawn, capacity * sizeof(*more));
        if (more == NULL)
            return; /* then the id may come again after 2^30 / size others */
        drawn = more;
        drawn_capacity = capacity;
    }
    drawn[drawn_count++] = ctx;
}

static void forget(uint32_t ctx)
{
    for (size_t i = 0; i < drawn_count; i++)
        if (drawn[i] == ctx)
            drawn[i--] = drawn[--drawn_count];
}

static void set_ctx(struct nof_comm *comm, uint32_t ctx)
{
    comm->ctx = ctx;
    if (ctx != 0 && drawn_here(ctx))
        remember(ctx);
}

/* One without a handle. Takes over the group's reference, also when it fails. NULL: no memory. */
static struct nof_comm *make(struct nof_group *group, uint32_t ctx, struct nof_comm *parent)
{
    struct nof_comm *comm = calloc(1, sizeof(*comm));
    if (comm == NULL) {
        nof_group_release(group);
        return NULL;
    }
    comm->refs = 1;
    comm->group = group;
    comm->rank = group->rank;
    comm->handle = MPI_COMM_NULL;
    comm->errhandler = parent->errhandler;
    comm->session = parent->session;
    if (group->session == NULL)
        group->session = parent->session;
    nof_errhandler_hold(comm->errhandler);
    set_ctx(comm, ctx);
    comm->next = live;
    if (live != NULL)
        live->prev = comm;
    live = comm;
    return comm;
}

void nof_comm_set_ctx(struct nof_comm *comm, uint32_t ctx, uint32_t local_ctx, bool by_nic)
{
    comm->by_nic = by_nic;
    set_ctx(comm, ctx);
    if (comm->local != NULL) {
        comm->local->by_nic = by_nic;
        set_ctx(comm->local, local_ctx);
    }
}

/* Give it its handle; NULL (no memory) and a failure give the same error. */
static int publish(struct nof_comm *comm, struct nof_comm **comm_out)
{
    uint64_t handle = comm == NULL ? 0 : nof_handle_add(&nof_lib.comms, comm);
    if (handle == 0) {
        if (comm != NULL)
            nof_comm_release(comm);
        return nof_error(MPI_ERR_NO_MEM, "no memory for a communicator");
    }
    comm->handle = nof_lib_handle(handle);
    *comm_out = comm;
    return MPI_SUCCESS;
}

int nof_comm_new(struct nof_group *group, uint32_t ctx, struct nof_comm *parent, struct nof_comm **comm_out)
{
    return publish(make(group, ctx, parent), comm_out);
}

int nof_comm_new_inter(const struct nof_comm_sides *sides, struct nof_comm *parent,
                       struct nof_comm **comm_out)
{
    nof_group_hold(sides->group);
    struct nof_comm *comm = make(sides->group, sides->ctx, parent);
    if (comm != NULL)
        comm->remote = sides->remote;
    else
        nof_group_release(sides->remote);
    struct nof_comm *local = make(sides->group, sides->local_ctx, parent);
    if (comm != NULL && local == NULL) {
        nof_comm_release(comm);
        comm = NULL;
    } else if (comm == NULL && local != NULL) {
        nof_comm_release(local);
    } else if (comm != NULL) {
        comm->local = local;
    }
    return publish(comm, comm_out);
}

void nof_comm_hold(struct nof_comm *comm)
{
    comm->refs++;
}

struct nof_comm *nof_comm_of_coll_ctx(uint32_t coll_ctx)
{
    if (nof_comm_coll_ctx(&nof_comm_of_world) == coll_ctx)
        return nof_comm_world();
    for (struct nof_comm *comm = live; comm != NULL; comm = comm->next)
        if (nof_comm_coll_ctx(comm) == coll_ctx)
            return comm;
    return NULL;
}

static void leave_live(struct nof_comm *comm)
{
    if (comm->prev != NULL)
        comm->prev->next = comm->next;
    else
        live = comm->next;
    if (comm->next != NULL)
        comm->next->prev = comm->prev;
}

void nof_comm_on_gone(void (*heard)(uint32_t coll_ctx))
{
    int i = 0;
    while (i < HEARING - 1 && on_gone[i] != NULL &&
           on_gone[i] != heard) /* a library that is opened again says it again */
        i++;
    on_gone[i] = heard;
}

static void tell_gone(const struct nof_comm *comm)
{
    for (int i = 0; i < HEARING; i++)
        if (on_gone[i] != NULL)
            on_gone[i](nof_comm_coll_ctx(comm));
    forget(comm->ctx);
}

void nof_comm_release(struct nof_comm *comm)
{
    if (--comm->refs > 0)
        return;
    if (comm->ctx != 0) /* else it never got one, and 0 is MPI_COMM_WORLD's */
        tell_gone(comm);
    leave_live(comm);
    nof_errhandler_release(comm->errhandler);
    nof_group_release(comm->group);
    if (comm->remote != NULL)
        nof_group_release(comm->remote);
    if (comm->local != NULL)
        nof_comm_release(comm->local);
    nof_topo_release(comm->topo);
    free(comm->nics);
    free(comm->kept.begun);
    free(comm);
}

void nof_comm_drop(struct nof_comm *comm)
{
    nof_handle_remove(&nof_lib.comms, nof_lib_bits(comm->handle));
    comm->handle = MPI_COMM_NULL;
    comm->freed = true;
    if (comm->local != NULL)
        comm->local->freed = true;
    nof_comm_release(comm);
}
