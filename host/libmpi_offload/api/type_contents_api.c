/* SPDX-License-Identifier: BSD-3-Clause */
/* What a datatype was made of. */
#include <limits.h>

#include "comm/entry.h"
#include "type/type_contents.h"

struct sizes {
    size_t ints, addrs, counts, types;
    int combiner;
};

static struct sizes sizes_of(const struct nof_type *type)
{
    const struct nof_type_contents *c = type->contents;
    if (c == NULL)
        return (struct sizes){.combiner = MPI_COMBINER_NAMED};
    return (struct sizes){c->nints, c->naddrs, c->ncounts, c->ntypes, c->combiner};
}

NOF_MPI(Type_get_envelope)
int PMPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses, int *num_datatypes,
                           int *combiner)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS && sizes_of(type).counts > 0)
        rc = nof_error(MPI_ERR_TYPE, "the datatype has large counts: call MPI_Type_get_envelope_c");
    if (rc == MPI_SUCCESS &&
        (num_integers == NULL || num_addresses == NULL || num_datatypes == NULL || combiner == NULL))
        rc = nof_error(MPI_ERR_ARG, "a place for an answer is NULL");
    if (rc == MPI_SUCCESS) {
        struct sizes n = sizes_of(type);
        /* A struct has one integer more than its count, which is an int. */
        *num_integers = n.ints > INT_MAX ? MPI_UNDEFINED : (int)n.ints;
        *num_addresses = (int)n.addrs;
        *num_datatypes = (int)n.types;
        *combiner = n.combiner;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_get_envelope_c)
int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers, MPI_Count *num_addresses,
                             MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner)
{
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS && (num_integers == NULL || num_addresses == NULL || num_large_counts == NULL ||
                              num_datatypes == NULL || combiner == NULL))
        rc = nof_error(MPI_ERR_ARG, "a place for an answer is NULL");
    if (rc == MPI_SUCCESS) {
        struct sizes n = sizes_of(type);
        *num_integers = (MPI_Count)n.ints;
        *num_addresses = (MPI_Count)n.addrs;
        *num_large_counts = (MPI_Count)n.counts;
        *num_datatypes = (MPI_Count)n.types;
        *combiner = n.combiner;
    }
    return nof_lib_leave(NULL, rc, __func__);
}

/* Room that the program has for each. */
struct room {
    MPI_Count ints, addrs, counts, types;
};

static int check_room(const struct nof_type *type, const struct room *room)
{
    struct sizes n = sizes_of(type);
    if (type->contents == NULL)
        return nof_error(MPI_ERR_TYPE, "%s is a named datatype: it has no contents", type->name);
    if (room->ints < (MPI_Count)n.ints || room->addrs < (MPI_Count)n.addrs ||
        room->counts < (MPI_Count)n.counts || room->types < (MPI_Count)n.types)
        return nof_error(MPI_ERR_ARG,
                         "the contents are %zu integers, %zu addresses, %zu large counts and %zu datatypes: "
                         "too little room",
                         n.ints, n.addrs, n.counts, n.types);
    return MPI_SUCCESS;
}

/* Handles for the types, new ones for the derived. All or none. */
static int give_types(const struct nof_type_contents *c, MPI_Datatype *types)
{
    for (size_t i = 0; i < c->ntypes; i++) {
        struct nof_type *copy = nof_type_contents_alias(c->types[i]);
        uint64_t handle = copy == NULL || copy->predefined ? 0 : nof_handle_add(&nof_lib.types, copy);
        if (handle != 0)
            copy->handle = nof_lib_handle(handle);
        if (copy != NULL && copy->handle != MPI_DATATYPE_NULL) {
            types[i] = copy->handle;
            continue;
        }
        if (copy != NULL)
            nof_type_release(copy);
        while (i-- > 0) {
            if (c->types[i]->predefined)
                continue;
            nof_type_release(nof_handle_get(&nof_lib.types, nof_lib_bits(types[i])));
            nof_handle_remove(&nof_lib.types, nof_lib_bits(types[i]));
        }
        return nof_error(MPI_ERR_NO_MEM, "no memory for the datatypes of the contents");
    }
    return MPI_SUCCESS;
}

static int get_contents(MPI_Datatype datatype, const struct room *room, int *ints, MPI_Aint *addrs,
                        MPI_Count *counts, MPI_Datatype *types)
{
    struct nof_type *type;
    int rc = nof_type_check(datatype, false, &type);
    if (rc == MPI_SUCCESS)
        rc = check_room(type, room);
    if (rc == MPI_SUCCESS)
        rc = give_types(type->contents, types);
    if (rc != MPI_SUCCESS)
        return rc;
    const struct nof_type_contents *c = type->contents;
    for (size_t i = 0; i < c->nints; i++)
        ints[i] = c->ints[i];
    for (size_t i = 0; i < c->naddrs; i++)
        addrs[i] = c->addrs[i];
    for (size_t i = 0; i < c->ncounts; i++)
        counts[i] = c->counts[i];
    return MPI_SUCCESS;
}

NOF_MPI(Type_get_contents)
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                           int array_of_integers[], MPI_Aint array_of_addresses[],
                           MPI_Datatype array_of_datatypes[])
{
    nof_lib_enter(__func__);
    struct room room = {max_integers, max_addresses, 0, max_datatypes};
    int rc = get_contents(datatype, &room, array_of_integers, array_of_addresses, NULL, array_of_datatypes);
    return nof_lib_leave(NULL, rc, __func__);
}

NOF_MPI(Type_get_contents_c)
int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes, int array_of_integers[],
                             MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                             MPI_Datatype array_of_datatypes[])
{
    nof_lib_enter(__func__);
    struct room room = {max_integers, max_addresses, max_large_counts, max_datatypes};
    int rc = get_contents(datatype, &room, array_of_integers, array_of_addresses, array_of_large_counts,
                          array_of_datatypes);
    return nof_lib_leave(NULL, rc, __func__);
}
