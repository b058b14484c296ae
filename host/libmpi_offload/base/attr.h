/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: what programs and libraries hang on communicators, datatypes and windows (MPI 4.1, 7.7).
 *
 * An object has a list of attributes, the one set last in front; deleting all goes through it in
 * this order, the reverse of setting (11.2.4 asks for it at MPI_COMM_SELF). Each attribute holds a
 * reference of its keyval, so a freed keyval, whose number the program may have kept, works on while
 * attributes of it exist.
 *
 * Languages (19.3.7). A value knows who set it. C reads what Fortran set as a pointer to the integer,
 * and Fortran what C set as the pointer's bits. Callbacks get and give values of the keyval's language.
 *
 * Threads: under the library's lock, which is given up while a callback runs. */
#ifndef NOF_MPI_ATTR_H
#define NOF_MPI_ATTR_H

#include "base/lib.h"

enum nof_attr_on { NOF_ATTR_ON_COMM, NOF_ATTR_ON_TYPE, NOF_ATTR_ON_WIN };

enum nof_attr_language {
    NOF_ATTR_C,
    NOF_ATTR_FORTRAN, /* INTEGER(KIND=MPI_ADDRESS_KIND) */
    NOF_ATTR_FORTRAN_OLD /* INTEGER: MPI_KEYVAL_CREATE, MPI_ATTR_PUT */
};

typedef void (*nof_attr_fn)(void); /* cast back to the type of object and language */

struct nof_keyval {
    uint32_t refs; /* the program's one, and one per attribute */
    bool freed; /* by the program */
    enum nof_attr_on on;
    enum nof_attr_language language;
    nof_attr_fn copy; /* in C the standard's constants: 0 copies nothing, 1 copies the value */
    nof_attr_fn remove; /* 0: nothing to do */
    void *extra; /* FORTRAN: the address-sized integer; FORTRAN_OLD: the same, from an INTEGER */
    int number;
};

struct nof_attr_value {
    enum nof_attr_language language; /* who set it */
    MPI_Aint word; /* C: the pointer */
    MPI_Fint old_word; /* FORTRAN_OLD */
};

struct nof_attr {
    struct nof_attr *next;
    struct nof_keyval *keyval;
    struct nof_attr_value value;
};

/* The object that attributes hang on. */
struct nof_attr_owner {
    enum nof_attr_on on;
    void *handle; /* the MPI handle: what callbacks get */
    struct nof_attr **list;
};

/* Make a keyval. copy and remove as above. 0 or a code; *keyval_out is the program's number. */
int nof_keyval_new(const struct nof_keyval *pattern, int *keyval_out);

/* Drop the program's reference; *keyval becomes MPI_KEYVAL_INVALID. */
int nof_keyval_free(enum nof_attr_on on, int *keyval);

int nof_attr_set(const struct nof_attr_owner *owner, int keyval, const struct nof_attr_value *value);

/* *value_out: a pointer into the object, or NULL when the attribute is not set. */
int nof_attr_get(const struct nof_attr_owner *owner, int keyval, struct nof_attr_value **value_out);

int nof_attr_delete(const struct nof_attr_owner *owner, int keyval);

/* For a duplicate: `to` gets what the copy callbacks say. On an error of a callback, whose code is
 * returned, `to` keeps what it got so far: delete it with the object. */
int nof_attr_copy_all(const struct nof_attr_owner *from, const struct nof_attr_owner *to);

/* Before the object is freed. Stops at the first callback that fails and returns its code: that
 * attribute and those set before it stay. */
int nof_attr_delete_all(const struct nof_attr_owner *owner);

/* attr_language.c: values as the caller of an MPI function gives and takes them. */

/* The next call of this thread that asks for its language is made in this one; after it calls are C's again. */
void nof_attr_called_from(enum nof_attr_language language);
enum nof_attr_language nof_attr_caller(void);

/* A value as C reads it, and as Fortran does. */
void *nof_attr_as_c(struct nof_attr_value *value);
MPI_Aint nof_attr_as_fortran(const struct nof_attr_value *value);

/* A value from the word that a program of this language passed, and back. */
struct nof_attr_value nof_attr_value_of(enum nof_attr_language language, void *word);
void *nof_attr_word_for(enum nof_attr_language language, struct nof_attr_value *value);

/* attr_call.c: callbacks. Called without the lock; each returns what the callback returned. */

/* *flag_out: the duplicate gets the attribute, with *out. */
int nof_attr_call_copy(const struct nof_keyval *keyval, void *handle, struct nof_attr_value *in,
                       struct nof_attr_value *out, bool *flag_out);
int nof_attr_call_delete(const struct nof_keyval *keyval, void *handle, struct nof_attr_value *value);

struct nof_comm;
struct nof_type;

/* copy_all() and delete_all() for them. */
int nof_attr_copy_comm(struct nof_comm *from, struct nof_comm *to);
int nof_attr_delete_comm(struct nof_comm *comm);
int nof_attr_copy_type(struct nof_type *from, struct nof_type *to);
int nof_attr_delete_type(struct nof_type *type);

#endif
