/* SPDX-License-Identifier: BSD-3-Clause */
/* The tool interface: every setting of library and NIC is a variable that can be read, and written where it says so;
 * counters count this process's messages; every variable is in a category; what does not exist is refused. */
#include "../check.h"
#include "mpitest.h"

static int cvar(const char *name, MPI_T_cvar_handle *handle)
{
    int at, count;
    CHECK(MPI_T_cvar_get_index(name, &at) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(at, NULL, handle, &count) == MPI_SUCCESS && count >= 1);
    return at;
}

static void settings(void)
{
    char text[64], name[64];
    unsigned spin = 0, other = 7;
    int num, len = sizeof(name), items, value, scope, verbosity, bind;
    unsigned long eager, larger, back;
    MPI_Datatype type;
    MPI_T_enum choices;
    MPI_T_cvar_handle handle;

    cvar("library.spin_us", &handle);
    OK(MPI_T_cvar_read(handle, &spin));
    OK(MPI_T_cvar_write(handle, &other));
    other = 0;
    OK(MPI_T_cvar_read(handle, &other));
    CHECK(other == 7);
    OK(MPI_T_cvar_write(handle, &spin));
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(MPI_T_cvar_read(handle, &spin) == MPI_T_ERR_INVALID_HANDLE);
    cvar("library.thread_level", &handle);
    CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_CVAR_SET_NEVER);
    cvar("library.channel", &handle);
    OK(MPI_T_cvar_read(handle, text));
    CHECK(strlen(text) > 0);

    int at = cvar("pacing", &handle);
    OK(MPI_T_cvar_get_info(at, name, &len, &verbosity, &type, &choices, NULL, NULL, &bind, &scope));
    CHECK(strcmp(name, "pacing") == 0 && len == 7 && type == MPI_INT && choices != MPI_T_ENUM_NULL);
    OK(MPI_T_enum_get_info(choices, &items, NULL, NULL));
    CHECK(items == 2);
    len = sizeof(text);
    OK(MPI_T_enum_get_item(choices, 1, &value, text, &len));
    CHECK(value == 1 && strcmp(text, "on") == 0);
    OK(MPI_T_cvar_read(handle, &value));
    CHECK(value == 0 || value == 1);

    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) { /* the NIC is everybody's */
        cvar("eager_max_bytes", &handle);
        OK(MPI_T_cvar_read(handle, &eager));
        larger = eager == 4096 ? 8192 : 4096;
        OK(MPI_T_cvar_write(handle, &larger));
        OK(MPI_T_cvar_read(handle, &back));
        CHECK(back == larger);
        OK(MPI_T_cvar_write(handle, &eager));
        larger = 1ul << 40;
        CHECK(MPI_T_cvar_write(handle, &larger) == MPI_T_ERR_INVALID);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_cvar_get_num(&num));
    CHECK(MPI_T_cvar_get_info(num, name, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("no.such", &at) == MPI_T_ERR_INVALID_NAME);
}

static void counters(void)
{
    int at, count, v = 1, peer = t_rank ^ 1;
    unsigned long long before = 0, after = 0, live = 0;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle handle, comms, left;
    MPI_Comm copy;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_create(&other));
    OK(MPI_T_pvar_get_index("msg.tx", MPI_T_PVAR_CLASS_COUNTER, &at));
    CHECK(MPI_T_pvar_get_index("msg.tx", MPI_T_PVAR_CLASS_TIMER, &at) == MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_pvar_handle_alloc(session, at, NULL, &handle, &count));
    OK(MPI_T_pvar_read(session, handle, &before));
    OK(MPI_Sendrecv_replace(&v, 1, MPI_INT, peer, 0, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    /* The peer's message may come before the NIC has had ours, whose bytes the library need not keep. */
    for (double began = MPI_Wtime(); after <= before && MPI_Wtime() - began < CHECK_PATIENCE_S;)
        OK(MPI_T_pvar_read(session, handle, &after));
    CHECK(count == 1 && after > before);
    CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(MPI_T_pvar_read(other, handle, &after) == MPI_T_ERR_INVALID_HANDLE);

    OK(MPI_T_pvar_get_index("library.communicators", MPI_T_PVAR_CLASS_LEVEL, &at));
    OK(MPI_T_pvar_handle_alloc(session, at, NULL, &comms, &count));
    OK(MPI_T_pvar_read(session, comms, &before));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_T_pvar_read(session, comms, &live));
    CHECK(live == before + 1);
    OK(MPI_Comm_free(&copy));
    OK(MPI_T_pvar_handle_alloc(session, at, NULL, &left, &count));
    OK(MPI_T_pvar_handle_free(session, &comms));
    OK(MPI_T_pvar_session_free(&session)); /* with `handle` and `left` in it, which go as well */
    CHECK(MPI_T_pvar_read(other, handle, &after) == MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_session_free(&other));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
}

static void categories(void)
{
    int num, cvars = 0, pvars = 0, below = 0, all_cvars, all_pvars, nic, indices[512];
    OK(MPI_T_category_get_num(&num));
    OK(MPI_T_category_get_index("nic", &nic));
    for (int i = 0; i < num; i++) {
        int c, p, b, len = 64;
        char name[64];
        OK(MPI_T_category_get_info(i, name, &len, NULL, NULL, &c, &p, &b));
        OK(MPI_T_category_get_pvars(i, 512, indices));
        for (int k = 0; k < p; k++)
            CHECK(indices[k] >= 0);
        cvars += c;
        pvars += p;
        below += b;
    }
    OK(MPI_T_cvar_get_num(&all_cvars));
    OK(MPI_T_pvar_get_num(&all_pvars));
    CHECK(cvars == all_cvars && pvars == all_pvars && below == num - 2);
    CHECK(MPI_T_category_get_cvars(num, 64, indices) == MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_event_get_num(&num));
    CHECK(num == 0);
}

int main(int argc, char **argv)
{
    int provided, num;
    CHECK(MPI_T_cvar_get_num(&num) == MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    t_begin(&argc, &argv, 2);
    settings();
    counters();
    categories();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    OK(MPI_T_finalize());
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return 0;
}
