/* SPDX-License-Identifier: BSD-3-Clause */
/* Types found by what they can hold: MPI_Type_match_size, MPI_Type_create_f90_real and its like,
 * MPI_Type_get_value_index. */
#include <stdlib.h>

#include "comm/entry.h"
#include "type/type_args.h"

struct sized {
    int typeclass;
    int size;
    MPI_Datatype handle;
};

static const struct sized by_size[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 2, MPI_REAL2},
    {MPI_TYPECLASS_REAL, 4, MPI_REAL4},         {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
    {MPI_TYPECLASS_REAL, 16, MPI_REAL16},       {MPI_TYPECLASS_COMPLEX, 4, MPI_COMPLEX4},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
};

NOF_MPI(Type_match_size)
int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    nof_lib_enter(__func__);
    int rc = MPI_SUCCESS;
    MPI_Datatype found = MPI_DATATYPE_NULL;
    if (typeclass < MPI_TYPECLASS_INTEGER || typeclass > MPI_TYPECLASS_COMPLEX)
        rc = nof_error(MPI_ERR_ARG, "%d is no type class", typeclass);
    for (size_t i = 0; rc == MPI_SUCCESS && i < sizeof(by_size) / sizeof(by_size[0]); i++) {
        if (by_size[i].typeclass == typeclass && by_size[i].size == size)
            found = by_size[i].handle;
    }
    if (rc == MPI_SUCCESS && found == MPI_DATATYPE_NULL)
        rc = nof_error(MPI_ERR_ARG, "there is no such datatype of %d bytes", size);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(datatype, "the place for the datatype");
    if (rc == MPI_SUCCESS)
        *datatype = found;
    return nof_lib_leave(NULL, rc, __func__);
}

/* What gfortran's kinds can hold, smallest first. 0 ends a list. */
struct kind {
    int precision; /* decimal digits; integers: their range */
    int range;
    MPI_Datatype handle;
};

static const struct kind reals[] = {{6, 37, MPI_REAL4},
                                    {15, 307, MPI_REAL8},
                                    {18, 4931, MPI_LONG_DOUBLE},
                                    {33, 4931, MPI_REAL16},
                                    {0, 0, MPI_DATATYPE_NULL}};
static const struct kind complexes[] = {{6, 37, MPI_COMPLEX8},
                                        {15, 307, MPI_COMPLEX16},
                                        {18, 4931, MPI_C_LONG_DOUBLE_COMPLEX},
                                        {33, 4931, MPI_COMPLEX32},
                                        {0, 0, MPI_DATATYPE_NULL}};
static const struct kind integers[] = {{2, 0, MPI_INTEGER1},   {4, 0, MPI_INTEGER2},
                                       {9, 0, MPI_INTEGER4},   {18, 0, MPI_INTEGER8},
                                       {38, 0, MPI_INTEGER16}, {0, 0, MPI_DATATYPE_NULL}};

/* Those that were asked for: the same arguments give the same handle, for ever. */
struct made {
    int combiner, precision, range;
    struct nof_type *type;
    struct made *next;
};
static struct made *all_made;

static struct nof_type *find_made(int combiner, int precision, int range)
{
    for (const struct made *at = all_made; at != NULL; at = at->next) {
        if (at->combiner == combiner && at->precision == precision && at->range == range)
            return at->type;
    }
    return NULL;
}

static int make(int combiner, int precision, int range, MPI_Datatype base, MPI_Datatype *newtype)
{
    bool integer = combiner == MPI_COMBINER_F90_INTEGER;
    struct made *made = malloc(sizeof(*made));
    struct nof_type *type = nof_type_alias(nof_type_predefined(base));
    struct nof_type_contents *c = nof_type_contents_new(combiner, false, integer ? 1 : 2, 0, 0, 0);
    nof_type_contents_int(c, precision);
    if (!integer)
        nof_type_contents_int(c, range);
    if (made == NULL) {
        if (type != NULL)
            nof_type_release(type);
        type = NULL;
    }
    int rc = nof_type_publish(type, c, newtype);
    if (rc != MPI_SUCCESS) {
        free(made);
        return rc;
    }
    type->predefined = true;
    type->committed = true;
    type->basic = type->uniform;
    *made = (struct made){combiner, precision, range, type, all_made};
    all_made = made;
    return MPI_SUCCESS;
}

static int by_kind(const struct kind *kinds, int combiner, int precision, int range, MPI_Datatype *newtype)
{
    struct nof_type *known = find_made(combiner, precision, range);
    if (newtype == NULL)
        return nof_error_if_null(newtype, "the place for the datatype");
    if (known != NULL) {
        *newtype = known->handle;
        return MPI_SUCCESS;
    }
    bool enough = precision != MPI_UNDEFINED || range != MPI_UNDEFINED;
    for (const struct kind *k = kinds; enough && k->precision != 0; k++) {
        if ((precision == MPI_UNDEFINED || k->precision >= precision) &&
            (range == MPI_UNDEFINED || k->range >= range))
            return make(combiner, precision, range, k->handle, newtype);
    }
    return nof_error(MPI_ERR_ARG, "no Fortran type has precision %d and range %d", precision, range);
}

NOF_MPI(Type_create_f90_real)
int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, by_kind(reals, MPI_COMBINER_F90_REAL, p, r, newtype), __func__);
}

NOF_MPI(Type_create_f90_complex)
int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, by_kind(complexes, MPI_COMBINER_F90_COMPLEX, p, r, newtype), __func__);
}

NOF_MPI(Type_create_f90_integer)
int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    nof_lib_enter(__func__);
    return nof_lib_leave(NULL, by_kind(integers, MPI_COMBINER_F90_INTEGER, r, MPI_UNDEFINED, newtype),
                         __func__);
}

NOF_MPI(Type_get_value_index)
int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type)
{
    static const struct {
        MPI_Datatype value, index, pair;
    } pairs[] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},
        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},
        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };
    nof_lib_enter(__func__);
    struct nof_type *type;
    int rc = nof_type_check(value_type, false, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(index_type, false, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_error_if_null(pair_type, "the place for the datatype");
    if (rc == MPI_SUCCESS)
        *pair_type = MPI_DATATYPE_NULL;
    for (size_t i = 0; rc == MPI_SUCCESS && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].value == value_type && pairs[i].index == index_type)
            *pair_type = pairs[i].pair;
    }
    return nof_lib_leave(NULL, rc, __func__);
}
