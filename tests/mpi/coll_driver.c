/* SPDX-License-Identifier: BSD-3-Clause */
/* Who goes through the steps of a collective can be set while it runs, and changes nothing but the counters: the NIC asks
 * for the steps between messages (operations of the program's own, in place), several are under way in an order of each
 * rank's own, persistent ones go on with either; predefined operations need no rank. What the NIC cannot do the host does,
 * and says why. */
#include <fenv.h>
#include <stdbool.h>
#include <time.h>

#include "../check.h"
#include "collective.h"

static MPI_T_pvar_session session;

enum { MOST = 3000 };

static void own_operations(void)
{
    static unsigned in[2 * MOST], out[2 * MOST];
    MPI_Datatype pair;
    MPI_Op op;
    OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Op_create(t_compose, 0, &op));
    for (int count = 1; count <= MOST; count = count * 7 + 1)
        for (int form = 0; form < 6; form++) {
            int ranks = t_size, has = 1;
            for (int i = 0; i < count; i++) {
                t_map_of(t_rank, i, &in[2 * i]);
                out[2 * i] = in[2 * i], out[2 * i + 1] = in[2 * i + 1];
            }
            if (form == 0) {
                OK(MPI_Allreduce(in, out, count, pair, op, MPI_COMM_WORLD));
            } else if (form == 1) {
                OK(MPI_Allreduce(MPI_IN_PLACE, out, count, pair, op, MPI_COMM_WORLD));
            } else if (form == 2) {
                has = t_rank == t_size - 1;
                OK(MPI_Reduce(in, out, count, pair, op, t_size - 1, MPI_COMM_WORLD));
            } else if (form == 3) {
                has = t_rank == 0;
                OK(MPI_Reduce(has ? MPI_IN_PLACE : out, has ? out : NULL, count, pair, op, 0,
                              MPI_COMM_WORLD));
            } else if (form == 4) {
                ranks = t_rank + 1;
                OK(MPI_Scan(MPI_IN_PLACE, out, count, pair, op, MPI_COMM_WORLD));
            } else {
                ranks = t_rank;
                has = t_rank > 0;
                OK(MPI_Exscan(in, out, count, pair, op, MPI_COMM_WORLD));
            }
            for (int i = 0; i < count && has; i++) {
                unsigned wanted[2];
                t_composed(ranks, i, wanted);
                CHECK(out[2 * i] == wanted[0] && out[2 * i + 1] == wanted[1]);
            }
        }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

/* On two communicators, in two orders. */
static void crossed(void)
{
    enum { PAIRS = 20, COUNT = 5000 };
    static int in[COUNT], out[2 * PAIRS][COUNT];
    MPI_Comm comm[2];
    MPI_Request req[2 * PAIRS];
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]));
    for (int i = 0; i < COUNT; i++)
        in[i] = t_rank + i;
    for (int k = 0; k < PAIRS; k++)
        for (int half = 0; half < 2; half++) {
            int which = (half + t_rank) % 2, at = 2 * k + which;
            OK(MPI_Iallreduce(in, out[at], k % 2 == 0 ? COUNT : 3, MPI_INT, MPI_SUM, comm[which], &req[at]));
        }
    for (int k = 0; k < 2 * PAIRS; k++) /* the others are not waited for meanwhile */
        OK(MPI_Wait(&req[t_rank % 2 == 0 ? k : 2 * PAIRS - 1 - k], MPI_STATUS_IGNORE));
    for (int k = 0; k < 2 * PAIRS; k++)
        for (int i = 0; i < (k / 2 % 2 == 0 ? COUNT : 3); i++)
            CHECK(out[k][i] == t_size * i + t_size * (t_size - 1) / 2);
    OK(MPI_Comm_free(&comm[0]));
    OK(MPI_Comm_free(&comm[1]));
}

/* Rank 0 changes its mind while the others are anywhere. */
static void kept(int starts)
{
    enum { COUNT = 4000 };
    static long out[2][COUNT], in[2][COUNT];
    MPI_Request req[2];
    for (int k = 0; k < 2; k++)
        OK(MPI_Allreduce_init(in[k], out[k], k == 0 ? 1 : COUNT, MPI_LONG, MPI_MAX, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &req[k]));
    for (int n = 0; n < starts; n++) {
        for (int i = 0; i < COUNT; i++)
            in[0][i] = in[1][i] = 100 * n + i + t_rank;
        for (int k = 0; k < 2; k++)
            OK(MPI_Start(&req[(k + t_rank + n) % 2]));
        OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COUNT; i++)
            CHECK(out[1][i] == 100 * n + i + t_size - 1 && (i > 0 || out[0][0] == out[1][0]));
        if (n % 5 == 4)
            t_drive(n % 2);
    }
    OK(MPI_Request_free(&req[0]));
    OK(MPI_Request_free(&req[1]));
}

enum { FORMS = 5 };

/* in[k] = rank + k. Where this rank has a result: its sum at place k, of the ranks below `ranks`. */
static double summed(int ranks, int k)
{
    return ranks * (ranks - 1) / 2.0 + (double)ranks * k;
}

static int begin_form(int form, const double *in, double *out, int count, MPI_Request *req)
{
    if (form == 0)
        return MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
    if (form == 1)
        return MPI_Ireduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, req);
    if (form == 2)
        return MPI_Ireduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
    if (form == 3)
        return MPI_Iscan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
    return MPI_Iexscan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, req);
}

/* The sums are there though nobody calls MPI: no rank is needed for what is between messages, or behind the last. */
static void without_a_call(void)
{
    static const int counts[] = {1, 1000, 9000, 100000};
    double *in = malloc((size_t)t_size * 100000 * sizeof(*in)), *out = malloc(100000 * sizeof(*out));
    CHECK(in != NULL && out != NULL);
    for (int k = 0; k < t_size * 100000; k++)
        in[k] = t_rank + k;
    for (int form = 0; form < FORMS; form++)
        for (int c = 0; c < 4; c++) {
            int count = counts[c], first = form == 2 ? t_rank * count : 0;
            int ranks = form == 3 ? t_rank + 1 : form == 4 ? t_rank : t_size;
            bool has = form == 1 ? t_rank == 0 : ranks > 0;
            const volatile double *last = &out[count - 1];
            MPI_Request req;
            for (int k = 0; k < count; k++)
                out[k] = -1;
            OK(begin_form(form, in, out, count, &req));
            for (int ms = 0; has && ms < CHECK_PATIENCE_MS && *last != summed(ranks, first + count - 1); ms++)
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            CHECK(!has || *last == summed(ranks, first + count - 1));
            OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
            for (int k = 0; has && k < count; k++)
                CHECK(out[k] == summed(ranks, first + k));
            OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    free(in);
    free(out);
}

/* Who rounds otherwise than the NIC adds up by himself. */
static void rounded_upwards(void)
{
    double in = t_rank == 0 ? 1 : 0x1p-60, out;
    MPI_Request req;
    int before = fegetround();
    CHECK(fesetround(FE_UPWARD) == 0);
    OK(MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &req));
    OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
    CHECK(fesetround(before) == 0);
    CHECK(out > 1);
}

/* What the NIC is not asked for, and why. */
static void left_to_the_host(void)
{
    static char apart[60000];
    unsigned long long type = t_counted(session, "collectives_host_type"),
                       shape = t_counted(session, "collectives_host_shape"),
                       nic = t_counted(session, "collectives_nic");
    MPI_Datatype every_third;
    MPI_Comm half, pair;
    OK(MPI_Type_vector(10000, 1, 3, MPI_CHAR, &every_third));
    OK(MPI_Type_commit(&every_third));
    apart[3 * 9999] = (char)(t_rank == 0);
    OK(MPI_Bcast(apart, 1, every_third, 0, MPI_COMM_WORLD));
    CHECK(apart[3 * 9999] == 1);
    /* By memory it came from a rank beside: who has no message of the NIC leaves it none. */
    type = t_counted(session, "collectives_host_type") - type;
    CHECK((type == 1 || (type == 0 && getenv("NOF_CHANNELS") != NULL)) &&
          t_counted(session, "collectives_nic") == nic);
    OK(MPI_Type_free(&every_third));
    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, 0, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - t_rank % 2, 3, &pair));
    OK(MPI_Barrier(pair));
    CHECK(t_counted(session, "collectives_host_shape") > shape);
    OK(MPI_Comm_free(&pair));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    int level;
    t_begin(&argc, &argv, 2);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
    OK(MPI_T_pvar_session_create(&session));
    t_drive(1);
    unsigned long long nic = t_counted(session, "collectives_nic"),
                       off = t_counted(session, "collectives_host_off");
    own_operations();
    crossed();
    without_a_call();
    rounded_upwards();
    CHECK(t_counted(session, "collectives_nic") > nic + 20 &&
          t_counted(session, "collectives_host_off") == off &&
          t_counted(session, "collectives_host_room") == 0);
    left_to_the_host();
    kept(50);
    t_drive(0);
    nic = t_counted(session, "collectives_nic"), off = t_counted(session, "collectives_host_off");
    own_operations();
    crossed();
    CHECK(t_counted(session, "collectives_nic") == nic &&
          t_counted(session, "collectives_host_off") > off + 20);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    return t_end();
}
