/* SPDX-License-Identifier: BSD-3-Clause */
/* Events and their sources: the library has none, so that every index, name and handle is a wrong one. */
#include "comm/entry.h"
#include "tool/tool.h"

static int refuse(int refusal)
{
    int rc = nof_tool_enter();
    return nof_tool_leave(rc == MPI_SUCCESS ? refusal : rc);
}

static int none(int *number)
{
    int rc = nof_tool_enter();
    if (rc == MPI_SUCCESS && number == NULL)
        rc = MPI_T_ERR_INVALID;
    if (rc == MPI_SUCCESS)
        *number = 0;
    return nof_tool_leave(rc);
}

NOF_MPI(T_event_callback_get_info)
int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info *info_used)
{
    (void)event_registration, (void)cb_safety, (void)info_used;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_callback_set_info)
int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info)
{
    (void)event_registration, (void)cb_safety, (void)info;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_copy)
int PMPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    (void)event_instance, (void)buffer;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_get_index)
int PMPI_T_event_get_index(const char *name, int *event_index)
{
    (void)name, (void)event_index;
    return refuse(MPI_T_ERR_INVALID_NAME);
}

NOF_MPI(T_event_get_info)
int PMPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
                          MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                          int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
                          int *bind)
{
    (void)event_index, (void)name, (void)name_len, (void)verbosity, (void)array_of_datatypes,
        (void)array_of_displacements, (void)num_elements, (void)enumtype, (void)info, (void)desc,
        (void)desc_len, (void)bind;
    return refuse(MPI_T_ERR_INVALID_INDEX);
}

NOF_MPI(T_event_get_num)
int PMPI_T_event_get_num(int *num_events)
{
    return none(num_events);
}

NOF_MPI(T_event_get_source)
int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    (void)event_instance, (void)source_index;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_get_timestamp)
int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    (void)event_instance, (void)event_timestamp;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_handle_alloc)
int PMPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
                              MPI_T_event_registration *event_registration)
{
    (void)event_index, (void)obj_handle, (void)info, (void)event_registration;
    return refuse(MPI_T_ERR_INVALID_INDEX);
}

NOF_MPI(T_event_handle_free)
int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                             MPI_T_event_free_cb_function free_cb_function)
{
    (void)event_registration, (void)user_data, (void)free_cb_function;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_handle_get_info)
int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used)
{
    (void)event_registration, (void)info_used;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_handle_set_info)
int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    (void)event_registration, (void)info;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_read)
int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    (void)event_instance, (void)element_index, (void)buffer;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_register_callback)
int PMPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                   MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function)
{
    (void)event_registration, (void)cb_safety, (void)info, (void)user_data, (void)event_cb_function;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_event_set_dropped_handler)
int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                     MPI_T_event_dropped_cb_function dropped_cb_function)
{
    (void)event_registration, (void)dropped_cb_function;
    return refuse(MPI_T_ERR_INVALID_HANDLE);
}

NOF_MPI(T_source_get_info)
int PMPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                           MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks,
                           MPI_Info *info)
{
    (void)source_index, (void)name, (void)name_len, (void)desc, (void)desc_len, (void)ordering,
        (void)ticks_per_second, (void)max_ticks, (void)info;
    return refuse(MPI_T_ERR_INVALID_INDEX);
}

NOF_MPI(T_source_get_num)
int PMPI_T_source_get_num(int *num_sources)
{
    return none(num_sources);
}

NOF_MPI(T_source_get_timestamp)
int PMPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
    (void)source_index, (void)timestamp;
    return refuse(MPI_T_ERR_INVALID_INDEX);
}
