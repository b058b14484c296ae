/* SPDX-License-Identifier: BSD-3-Clause */
/* Sections of arrays as buffers of mpi_f08's procedures: from C descriptors to what the C functions understand.
 *
 * A buffer that is contiguous goes on as its address. One that is not means its elements strung together: a count and
 * a datatype become one of a datatype made for the section; a collective is told the section and works on a copy.
 * What X_in() sets up X_out() ends, also when X_in() failed: its errors are MPI classes, raised already. */
#ifndef NOF_F_SECTION_H
#define NOF_F_SECTION_H

#include NOF_F_BINDING_HEADER /* gfortran's ISO_Fortran_binding.h, whatever compiles this */

#include "fortran/nof_f.h"

/* In front of the definition of pmpi_x_f08ts_: exports it under its two names. */
#define NOF_F_TS(name, args) \
    __attribute__((visibility("default"))) void pmpi_##name##_f08ts_ args; \
    NOF_F_ALIAS(mpi_##name##_f08ts_, name##_f08ts, void, args)

/* A buffer with a count and a datatype, or what stands for the three. */
struct nof_f_data {
    void *buf;
    MPI_Count count;
    MPI_Fint type;
    MPI_Datatype made; /* MPI_DATATYPE_NULL: none */
};
int nof_f_data_in(struct nof_f_data *data, const CFI_cdesc_t *buffer, MPI_Count count, MPI_Fint type);
int nof_f_partitioned_in(struct nof_f_data *data, const CFI_cdesc_t *buffer, MPI_Fint partitions,
                         MPI_Count count, MPI_Fint type);
/* Requests that use the datatype keep it. */
void nof_f_data_out(struct nof_f_data *data);

/* A buffer of the collective that is called next; type: NULL if there is not one. Then forget_sections(). */
int nof_f_side(const CFI_cdesc_t *buffer, const MPI_Fint *type, bool is_read);

/* A buffer of bytes, or the same in one piece. */
struct nof_f_linear {
    void *copy; /* or the buffer itself */
    bool is_copy;
    struct nof_section section;
};
int nof_f_linear_in(struct nof_f_linear *linear, const CFI_cdesc_t *buffer);
void nof_f_linear_out(struct nof_f_linear *linear, bool is_read);

/* A buffer that must be contiguous, or MPI_ERR_BUFFER. */
int nof_f_block(const CFI_cdesc_t *buffer);

#endif
