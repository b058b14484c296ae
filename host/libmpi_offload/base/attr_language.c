/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/attr.h"

static __thread enum nof_attr_language caller __attribute__((tls_model("initial-exec")));

void nof_attr_called_from(enum nof_attr_language language)
{
    caller = language;
}

enum nof_attr_language nof_attr_caller(void)
{
    enum nof_attr_language language = caller;
    caller = NOF_ATTR_C;
    return language;
}

struct nof_attr_value nof_attr_value_of(enum nof_attr_language language, void *word)
{
    return (struct nof_attr_value){
        .language = language, .word = (MPI_Aint)word, .old_word = (MPI_Fint)(MPI_Aint)word};
}

void *nof_attr_word_for(enum nof_attr_language language, struct nof_attr_value *value)
{
    return language == NOF_ATTR_C ? nof_attr_as_c(value)
                                  : nof_lib_handle((uint64_t)nof_attr_as_fortran(value));
}

void *nof_attr_as_c(struct nof_attr_value *value)
{
    switch (value->language) {
    case NOF_ATTR_C:
        return nof_lib_handle((uint64_t)value->word);
    case NOF_ATTR_FORTRAN:
        return &value->word;
    case NOF_ATTR_FORTRAN_OLD:
        return &value->old_word;
    }
    return NULL;
}

MPI_Aint nof_attr_as_fortran(const struct nof_attr_value *value)
{
    return value->language == NOF_ATTR_FORTRAN_OLD ? value->old_word : value->word;
}
