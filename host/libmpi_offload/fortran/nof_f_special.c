/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions whose Fortran form is more than its C arguments turned over one by one. */
#include "fortran/nof_f_section.h"
#include "mpi_offload.h"

#include <string.h>

/* The level is all that Fortran passes: this one has no ierror (MPI 5.0, 15.2.4), and where one would be lies anything. */
NOF_F(pcontrol, void, (MPI_Fint * level))
void pmpi_pcontrol_(MPI_Fint *level)
{
    (void)MPI_Pcontrol(*level);
}

/* Tells the compiler that the buffer may have changed: the call is enough. */
NOF_F(f_sync_reg, void, (void *buf))
void pmpi_f_sync_reg_(void *buf)
{
    (void)buf;
}

NOF_F_TS(f_sync_reg, (CFI_cdesc_t * buf))
void pmpi_f_sync_reg_f08ts_(CFI_cdesc_t *buf)
{
    (void)buf;
}

/* The extension of mpi_offload.h, an external procedure in all three bindings. */
__attribute__((visibility("default"))) void mpix_pre_receive_(MPI_Fint *tag, MPI_Fint *ierror);
void mpix_pre_receive_(MPI_Fint *tag, MPI_Fint *ierror)
{
    nof_f_ierror(ierror, MPIX_Pre_receive(*tag));
}

/* Info: blanks around keys and values do not count. */

NOF_F(info_set, void,
      (MPI_Fint * info, const char *key, const char *value, MPI_Fint *ierror, size_t key_len,
       size_t value_len))
void pmpi_info_set_(MPI_Fint *info, const char *key, const char *value, MPI_Fint *ierror, size_t key_len,
                    size_t value_len)
{
    char *c_key = nof_f_string_trimmed(key, key_len);
    char *c_value = nof_f_string_trimmed(value, value_len);
    nof_f_ierror(ierror, MPI_Info_set(MPI_Info_f2c(*info), c_key, c_value));
    free(c_key);
    free(c_value);
}

NOF_F(info_delete, void, (MPI_Fint * info, const char *key, MPI_Fint *ierror, size_t key_len))
void pmpi_info_delete_(MPI_Fint *info, const char *key, MPI_Fint *ierror, size_t key_len)
{
    char *c_key = nof_f_string_trimmed(key, key_len);
    nof_f_ierror(ierror, MPI_Info_delete(MPI_Info_f2c(*info), c_key));
    free(c_key);
}

NOF_F(info_get_valuelen, void,
      (MPI_Fint * info, const char *key, MPI_Fint *valuelen, MPI_Fint *flag, MPI_Fint *ierror,
       size_t key_len))
void pmpi_info_get_valuelen_(MPI_Fint *info, const char *key, MPI_Fint *valuelen, MPI_Fint *flag,
                             MPI_Fint *ierror, size_t key_len)
{
    char *c_key = nof_f_string_trimmed(key, key_len);
    nof_f_ierror(ierror, MPI_Info_get_valuelen(MPI_Info_f2c(*info), c_key, valuelen, flag));
    free(c_key);
}

NOF_F(info_get, void,
      (MPI_Fint * info, const char *key, MPI_Fint *valuelen, char *value, MPI_Fint *flag, MPI_Fint *ierror,
       size_t key_len, size_t value_len))
void pmpi_info_get_(MPI_Fint *info, const char *key, MPI_Fint *valuelen, char *value, MPI_Fint *flag,
                    MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char c_value[MPI_MAX_INFO_VAL + 1] = "";
    char *c_key = nof_f_string_trimmed(key, key_len);
    int room = *valuelen > MPI_MAX_INFO_VAL ? MPI_MAX_INFO_VAL : *valuelen;
    int rc = MPI_Info_get(MPI_Info_f2c(*info), c_key, room, c_value, flag);
    if (rc == MPI_SUCCESS && *flag)
        nof_f_string_out(c_value, value, value_len);
    free(c_key);
    nof_f_ierror(ierror, rc);
}

/* C's length counts the terminating zero, which Fortran does not have. */
static int c_room(MPI_Fint len)
{
    return len > NOF_F_STRING_MAX - 1 ? NOF_F_STRING_MAX : len <= 0 ? 0 : len + 1;
}

NOF_F(info_get_string, void,
      (MPI_Fint * info, const char *key, MPI_Fint *buflen, char *value, MPI_Fint *flag, MPI_Fint *ierror,
       size_t key_len, size_t value_len))
void pmpi_info_get_string_(MPI_Fint *info, const char *key, MPI_Fint *buflen, char *value, MPI_Fint *flag,
                           MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char c_value[NOF_F_STRING_MAX] = "";
    char *c_key = nof_f_string_trimmed(key, key_len);
    int wanted = *buflen, room = c_room(*buflen);
    int rc = MPI_Info_get_string(MPI_Info_f2c(*info), c_key, &room, c_value, flag);
    if (rc == MPI_SUCCESS && *flag) {
        *buflen = room - 1;
        if (wanted > 0)
            nof_f_string_out(c_value, value, value_len);
    }
    free(c_key);
    nof_f_ierror(ierror, rc);
}

NOF_F(session_get_nth_pset, void,
      (MPI_Fint * session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *pset_len, char *pset_name, MPI_Fint *ierror,
       size_t pset_name_len))
void pmpi_session_get_nth_pset_(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *pset_len,
                                char *pset_name, MPI_Fint *ierror, size_t pset_name_len)
{
    char c_name[NOF_F_STRING_MAX] = "";
    int wanted = *pset_len, room = c_room(*pset_len);
    int rc = MPI_Session_get_nth_pset(MPI_Session_f2c(*session), MPI_Info_f2c(*info), *n, &room, c_name);
    if (rc == MPI_SUCCESS) {
        *pset_len = room - 1;
        if (wanted > 0)
            nof_f_string_out(c_name, pset_name, pset_name_len);
    }
    nof_f_ierror(ierror, rc);
}

/* Buffers: the older bindings cannot return an address, mpi_f08 returns it as a C pointer; MPI_BUFFER_AUTOMATIC as that of Fortran's (MPI
 * 5.0, 3.6). */

static int detached(int rc, void *const *address, void **out)
{
    if (rc == MPI_SUCCESS)
        *out = *address == MPI_BUFFER_AUTOMATIC ? (void *)mpi_fortran_buffer_automatic_ : *address;
    return rc;
}

#define DETACH(name, Name, size_type, owner, c_owner) \
    NOF_F_PROTOTYPE(name, void, (owner void *buffer_addr, size_type *size, MPI_Fint *ierror)) \
    NOF_F_ALIAS(mpi_##name##_, name, void, (owner void *buffer_addr, size_type *size, MPI_Fint *ierror)) \
    void pmpi_##name##_(owner void *buffer_addr, size_type *size, MPI_Fint *ierror) \
    { \
        void *address; \
        (void)buffer_addr; \
        nof_f_ierror(ierror, MPI_##Name(c_owner &address, size)); \
    } \
    NOF_F_PROTOTYPE(name##_f08, void, (owner void **buffer_addr, size_type *size, MPI_Fint *ierror)) \
    NOF_F_ALIAS(mpi_##name##_f08_, name##_f08, void, \
                (owner void **buffer_addr, size_type *size, MPI_Fint *ierror)) \
    void pmpi_##name##_f08_(owner void **buffer_addr, size_type *size, MPI_Fint *ierror) \
    { \
        void *address = NULL; \
        nof_f_ierror(ierror, detached(MPI_##Name(c_owner &address, size), &address, buffer_addr)); \
    }
#define NO_OWNER
#define COMM_OWNER MPI_Fint *comm,
#define C_COMM MPI_Comm_f2c(*comm),
#define SESSION_OWNER MPI_Fint *session,
#define C_SESSION MPI_Session_f2c(*session),

DETACH(buffer_detach, Buffer_detach, int, NO_OWNER, NO_OWNER)
DETACH(buffer_detach_c, Buffer_detach_c, MPI_Count, NO_OWNER, NO_OWNER)
DETACH(comm_detach_buffer, Comm_detach_buffer, int, COMM_OWNER, C_COMM)
DETACH(comm_detach_buffer_c, Comm_detach_buffer_c, MPI_Count, COMM_OWNER, C_COMM)
DETACH(session_detach_buffer, Session_detach_buffer, int, SESSION_OWNER, C_SESSION)
DETACH(session_detach_buffer_c, Session_detach_buffer_c, MPI_Count, SESSION_OWNER, C_SESSION)

/* MPI-IO: not part of the library, which says so whatever the functions are. */

#define REGISTER_DATAREP(name, Name, null_fn) \
    NOF_F(name, void, \
          (const char *datarep, nof_f_function *read_fn, nof_f_function *write_fn, \
           nof_f_function *extent_fn, MPI_Aint *extra_state, MPI_Fint *ierror, size_t datarep_len)) \
    void pmpi_##name##_(const char *datarep, nof_f_function *read_fn, nof_f_function *write_fn, \
                        nof_f_function *extent_fn, MPI_Aint *extra_state, MPI_Fint *ierror, \
                        size_t datarep_len) \
    { \
        (void)read_fn, (void)write_fn, (void)extent_fn, (void)extra_state; \
        char *c_datarep = nof_f_string_in(datarep, datarep_len); \
        nof_f_ierror(ierror, MPI_##Name(c_datarep, null_fn, null_fn, NULL, NULL)); \
        free(c_datarep); \
    }
REGISTER_DATAREP(register_datarep, Register_datarep, MPI_CONVERSION_FN_NULL)
REGISTER_DATAREP(register_datarep_c, Register_datarep_c, MPI_CONVERSION_FN_NULL_C)

/* Only its address counts. */
__attribute__((visibility("default"))) void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_(void)
{
}

/* Dynamic processes: lists of strings. */

/* C's list for strings that lie `stride` apart, up to a blank one; or `count` of them, if that is not negative. */
static char **strings_in(const char *strings, size_t len, size_t stride, int count)
{
    size_t n = 0;
    char **list = calloc(1, sizeof(*list));
    while (list != NULL) {
        char *string = count < 0 || n < (size_t)count ? nof_f_string_in(strings + n * stride, len) : NULL;
        if (string == NULL || (count < 0 && *string == '\0')) {
            free(string);
            return list;
        }
        char **longer = realloc(list, (n + 2) * sizeof(*list));
        if (longer == NULL) {
            free(string);
            return list;
        }
        list = longer;
        list[n++] = string;
        list[n] = NULL;
    }
    return NULL;
}

static void strings_free(char **list)
{
    for (char **string = list; list != NULL && *string != NULL; string++)
        free(*string);
    free(list);
}

NOF_F(comm_spawn, void,
      (const char *command, const char *argv, MPI_Fint *maxprocs, MPI_Fint *info, MPI_Fint *root,
       MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *array_of_errcodes, MPI_Fint *ierror, size_t command_len,
       size_t argv_len))
void pmpi_comm_spawn_(const char *command, const char *argv, MPI_Fint *maxprocs, MPI_Fint *info,
                      MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *array_of_errcodes,
                      MPI_Fint *ierror, size_t command_len, size_t argv_len)
{
    char *c_command = nof_f_string_in(command, command_len);
    char **c_argv = argv == mpi_fortran_argv_null_ ? MPI_ARGV_NULL : strings_in(argv, argv_len, argv_len, -1);
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    int rc = MPI_Comm_spawn(c_command, c_argv, *maxprocs, MPI_Info_f2c(*info), *root, MPI_Comm_f2c(*comm),
                            &c_intercomm, nof_f_errcodes(array_of_errcodes));
    *intercomm = MPI_Comm_c2f(c_intercomm);
    strings_free(c_argv);
    free(c_command);
    nof_f_ierror(ierror, rc);
}

/* The rows of a Fortran array (count, *) of strings, each up to a blank one; NULL without memory. */
static char ***string_rows(const char *strings, size_t len, int count)
{
    char ***rows = calloc((size_t)count + 1, sizeof(*rows));
    for (int i = 0; i < count && rows != NULL; i++)
        rows[i] = strings_in(strings + (size_t)i * len, len, (size_t)count * len, -1);
    return rows;
}

NOF_F(comm_spawn_multiple, void,
      (MPI_Fint * count, const char *commands, const char *argvs, MPI_Fint *maxprocs, MPI_Fint *infos,
       MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *array_of_errcodes, MPI_Fint *ierror,
       size_t commands_len, size_t argvs_len))
void pmpi_comm_spawn_multiple_(MPI_Fint *count, const char *commands, const char *argvs, MPI_Fint *maxprocs,
                               MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm,
                               MPI_Fint *array_of_errcodes, MPI_Fint *ierror, size_t commands_len,
                               size_t argvs_len)
{
    struct nof_f_handles h_infos;
    int n = *count > 0 ? *count : 0;
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    char **c_commands = strings_in(commands, commands_len, commands_len, n);
    char ***c_argvs = argvs == mpi_fortran_argvs_null_ ? MPI_ARGVS_NULL : string_rows(argvs, argvs_len, n);
    int rc = nof_f_handles_in(&h_infos, NOF_F_INFO, infos, n);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_spawn_multiple(*count, c_commands, c_argvs, maxprocs, h_infos.items, *root,
                                     MPI_Comm_f2c(*comm), &c_intercomm, nof_f_errcodes(array_of_errcodes));
    nof_f_handles_out(&h_infos, NULL);
    *intercomm = MPI_Comm_c2f(c_intercomm);
    for (int i = 0; i < n && c_argvs != NULL; i++)
        strings_free(c_argvs[i]);
    free(c_argvs);
    strings_free(c_commands);
    nof_f_ierror(ierror, rc);
}
