/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "coll/coll.h"
#include "make/comm_make.h"
#include "comm/entry.h"

NOF_MPI(Comm_size)
int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = nof_comm_size(c);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_rank)
int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(rank, "the place for the rank");
    if (rc == MPI_SUCCESS)
        *rank = c->rank;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_group)
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(group, "the place for the group");
    if (rc == MPI_SUCCESS)
        rc = nof_group_publish(c->group, group);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_remote_size)
int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check_inter(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(size, "the place for the size");
    if (rc == MPI_SUCCESS)
        *size = c->remote->size;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_remote_group)
int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check_inter(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(group, "the place for the group");
    if (rc == MPI_SUCCESS)
        rc = nof_group_publish(c->remote, group);
    return nof_lib_leave(c, rc, __func__);
}

static int compare(struct nof_comm *a, struct nof_comm *b)
{
    if (a == b)
        return MPI_IDENT;
    if ((a->remote == NULL) != (b->remote == NULL))
        return MPI_UNEQUAL;
    int local = nof_group_compare(a->group, b->group);
    int remote = a->remote == NULL ? MPI_IDENT : nof_group_compare(a->remote, b->remote);
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return local == MPI_IDENT && remote == MPI_IDENT ? MPI_CONGRUENT : MPI_SIMILAR;
}

NOF_MPI(Comm_compare)
int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    nof_lib_enter(__func__);
    struct nof_comm *a, *b = NULL;
    int rc = nof_comm_check(comm1, &a);
    if (rc == MPI_SUCCESS)
        rc = nof_comm_check(comm2, &b);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(result, "the place for the result");
    if (rc == MPI_SUCCESS)
        *result = compare(a, b);
    return nof_lib_leave(a, rc, __func__);
}

/* A communicator that may be freed; *comm_out is set as soon as it is one at all. */
static int check_free(const MPI_Comm *comm, struct nof_comm **comm_out)
{
    *comm_out = NULL;
    int rc = comm == NULL ? nof_error(MPI_ERR_ARG, "the place of the handle is NULL")
                          : nof_comm_check(*comm, comm_out);
    if (rc == MPI_SUCCESS && (*comm_out)->predefined)
        rc = nof_error(MPI_ERR_COMM, "%s cannot be freed", (*comm_out)->name);
    return rc;
}

NOF_MPI(Comm_free)
int PMPI_Comm_free(MPI_Comm *comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = check_free(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_attr_delete_comm(c);
    if (rc == MPI_SUCCESS) {
        nof_comm_drop(c);
        c = NULL;
        *comm = MPI_COMM_NULL;
    }
    return nof_lib_leave(c, rc, __func__);
}

/* What is under way holds the communicator, so that nothing is cut off; all that has to be waited for is
 * that the others are here too. */
NOF_MPI(Comm_disconnect)
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int32_t here = 1, there;
    int rc = check_free(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_coll_barrier(c->remote == NULL ? c : c->local);
    if (rc == MPI_SUCCESS && c->remote != NULL)
        rc = nof_comm_sides_swap(c, &here, &there, sizeof(here));
    if (rc == MPI_SUCCESS)
        rc = nof_attr_delete_comm(c);
    if (rc == MPI_SUCCESS) {
        nof_comm_drop(c);
        c = NULL;
        *comm = MPI_COMM_NULL;
    }
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_test_inter)
int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(flag, "the place for the flag");
    if (rc == MPI_SUCCESS)
        *flag = c->remote != NULL;
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_set_name)
int PMPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    nof_lib_enter(__func__);
    struct nof_comm *c;
    int rc = nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS && comm_name == NULL)
        rc = nof_error(MPI_ERR_ARG, "the name is NULL");
    if (rc == MPI_SUCCESS)
        snprintf(c->name, sizeof(c->name), "%s", comm_name);
    return nof_lib_leave(c, rc, __func__);
}

NOF_MPI(Comm_get_name)
int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    nof_lib_enter(__func__);
    struct nof_comm *c = NULL;
    int rc = comm == MPI_COMM_NULL ? MPI_SUCCESS : nof_comm_check(comm, &c);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(comm_name == NULL ? NULL : resultlen, "the place for the name or its length");
    if (rc == MPI_SUCCESS)
        *resultlen = snprintf(comm_name, MPI_MAX_OBJECT_NAME, "%s", c == NULL ? "MPI_COMM_NULL" : c->name);
    return nof_lib_leave(c, rc, __func__);
}
