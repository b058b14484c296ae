/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as integers: MPI_X_toint and fromint (MPI 5.0, 20.3), MPI_X_c2f and f2c (19.3). An int of
 * the library and an INTEGER of Fortran are the same number. Legal at any time; an int that is no
 * handle becomes a handle that names nothing, so its next use is the error. */
#include <string.h>

#include "comm/entry.h"
#include "base/lib.h"

static int to_int(const void *handle)
{
    return nof_handle_to_int(nof_lib_bits(handle));
}

static void *from_int(const struct nof_handle_table *table, int number)
{
    nof_lib_lock();
    void *handle = nof_lib_handle(nof_handle_from_int(table, number));
    nof_lib_unlock();
    return handle;
}

NOF_MPI(Comm_toint)
int PMPI_Comm_toint(MPI_Comm comm)
{
    return to_int(comm);
}

NOF_MPI(Comm_fromint)
MPI_Comm PMPI_Comm_fromint(int comm)
{
    return from_int(&nof_lib.comms, comm);
}

NOF_MPI(Comm_c2f)
MPI_Fint PMPI_Comm_c2f(MPI_Comm comm)
{
    return to_int(comm);
}

NOF_MPI(Comm_f2c)
MPI_Comm PMPI_Comm_f2c(MPI_Fint comm)
{
    return from_int(&nof_lib.comms, comm);
}

NOF_MPI(Errhandler_toint)
int PMPI_Errhandler_toint(MPI_Errhandler errhandler)
{
    return to_int(errhandler);
}

NOF_MPI(Errhandler_fromint)
MPI_Errhandler PMPI_Errhandler_fromint(int errhandler)
{
    return from_int(&nof_lib.errhandlers, errhandler);
}

NOF_MPI(Errhandler_c2f)
MPI_Fint PMPI_Errhandler_c2f(MPI_Errhandler errhandler)
{
    return to_int(errhandler);
}

NOF_MPI(Errhandler_f2c)
MPI_Errhandler PMPI_Errhandler_f2c(MPI_Fint errhandler)
{
    return from_int(&nof_lib.errhandlers, errhandler);
}

NOF_MPI(File_toint)
int PMPI_File_toint(MPI_File file)
{
    return to_int(file);
}

NOF_MPI(File_fromint)
MPI_File PMPI_File_fromint(int file)
{
    return from_int(&nof_lib.files, file);
}

NOF_MPI(File_c2f)
MPI_Fint PMPI_File_c2f(MPI_File file)
{
    return to_int(file);
}

NOF_MPI(File_f2c)
MPI_File PMPI_File_f2c(MPI_Fint file)
{
    return from_int(&nof_lib.files, file);
}

NOF_MPI(Group_toint)
int PMPI_Group_toint(MPI_Group group)
{
    return to_int(group);
}

NOF_MPI(Group_fromint)
MPI_Group PMPI_Group_fromint(int group)
{
    return from_int(&nof_lib.groups, group);
}

NOF_MPI(Group_c2f)
MPI_Fint PMPI_Group_c2f(MPI_Group group)
{
    return to_int(group);
}

NOF_MPI(Group_f2c)
MPI_Group PMPI_Group_f2c(MPI_Fint group)
{
    return from_int(&nof_lib.groups, group);
}

NOF_MPI(Info_toint)
int PMPI_Info_toint(MPI_Info info)
{
    return to_int(info);
}

NOF_MPI(Info_fromint)
MPI_Info PMPI_Info_fromint(int info)
{
    return from_int(&nof_lib.infos, info);
}

NOF_MPI(Info_c2f)
MPI_Fint PMPI_Info_c2f(MPI_Info info)
{
    return to_int(info);
}

NOF_MPI(Info_f2c)
MPI_Info PMPI_Info_f2c(MPI_Fint info)
{
    return from_int(&nof_lib.infos, info);
}

NOF_MPI(Message_toint)
int PMPI_Message_toint(MPI_Message message)
{
    return to_int(message);
}

NOF_MPI(Message_fromint)
MPI_Message PMPI_Message_fromint(int message)
{
    return from_int(&nof_lib.messages, message);
}

NOF_MPI(Message_c2f)
MPI_Fint PMPI_Message_c2f(MPI_Message message)
{
    return to_int(message);
}

NOF_MPI(Message_f2c)
MPI_Message PMPI_Message_f2c(MPI_Fint message)
{
    return from_int(&nof_lib.messages, message);
}

NOF_MPI(Op_toint)
int PMPI_Op_toint(MPI_Op op)
{
    return to_int(op);
}

NOF_MPI(Op_fromint)
MPI_Op PMPI_Op_fromint(int op)
{
    return from_int(&nof_lib.ops, op);
}

NOF_MPI(Op_c2f)
MPI_Fint PMPI_Op_c2f(MPI_Op op)
{
    return to_int(op);
}

NOF_MPI(Op_f2c)
MPI_Op PMPI_Op_f2c(MPI_Fint op)
{
    return from_int(&nof_lib.ops, op);
}

NOF_MPI(Request_toint)
int PMPI_Request_toint(MPI_Request request)
{
    return to_int(request);
}

NOF_MPI(Request_fromint)
MPI_Request PMPI_Request_fromint(int request)
{
    return from_int(&nof_lib.requests, request);
}

NOF_MPI(Request_c2f)
MPI_Fint PMPI_Request_c2f(MPI_Request request)
{
    return to_int(request);
}

NOF_MPI(Request_f2c)
MPI_Request PMPI_Request_f2c(MPI_Fint request)
{
    return from_int(&nof_lib.requests, request);
}

NOF_MPI(Session_toint)
int PMPI_Session_toint(MPI_Session session)
{
    return to_int(session);
}

NOF_MPI(Session_fromint)
MPI_Session PMPI_Session_fromint(int session)
{
    return from_int(&nof_lib.sessions, session);
}

NOF_MPI(Session_c2f)
MPI_Fint PMPI_Session_c2f(MPI_Session session)
{
    return to_int(session);
}

NOF_MPI(Session_f2c)
MPI_Session PMPI_Session_f2c(MPI_Fint session)
{
    return from_int(&nof_lib.sessions, session);
}

NOF_MPI(Type_toint)
int PMPI_Type_toint(MPI_Datatype datatype)
{
    return to_int(datatype);
}

NOF_MPI(Type_fromint)
MPI_Datatype PMPI_Type_fromint(int datatype)
{
    return from_int(&nof_lib.types, datatype);
}

NOF_MPI(Type_c2f)
MPI_Fint PMPI_Type_c2f(MPI_Datatype datatype)
{
    return to_int(datatype);
}

NOF_MPI(Type_f2c)
MPI_Datatype PMPI_Type_f2c(MPI_Fint datatype)
{
    return from_int(&nof_lib.types, datatype);
}

NOF_MPI(Win_toint)
int PMPI_Win_toint(MPI_Win win)
{
    return to_int(win);
}

NOF_MPI(Win_fromint)
MPI_Win PMPI_Win_fromint(int win)
{
    return from_int(&nof_lib.wins, win);
}

NOF_MPI(Win_c2f)
MPI_Fint PMPI_Win_c2f(MPI_Win win)
{
    return to_int(win);
}

NOF_MPI(Win_f2c)
MPI_Win PMPI_Win_f2c(MPI_Fint win)
{
    return from_int(&nof_lib.wins, win);
}
