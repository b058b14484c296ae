/* SPDX-License-Identifier: BSD-3-Clause */
/* How many ranks are on this host, as each launcher says it. */
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "launch/launch.h"

struct nof_lib nof_lib = {.host = "here", .world_size = 7};

static int launcher_says;

static int ranks_here(void)
{
    return launcher_says;
}

static const struct nof_launch_ops silent, asked = {.ranks_here = ranks_here};
const struct nof_launch_ops *nof_launch = &silent;

static void set(const char *name, const char *value)
{
    value != NULL ? setenv(name, value, 1) : unsetenv(name);
}

static void is(int expected, const char *hydra, const char *openmpi)
{
    set("MPI_LOCALNRANKS", hydra);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", openmpi);
    if (nof_launch_ranks_here() != expected)
        fprintf(stderr, "%d instead of %d\n", nof_launch_ranks_here(), expected);
    check(nof_launch_ranks_here() == expected);
}

static void slurm(int expected, const char *list, const char *node, const char *tasks)
{
    set("SLURM_STEP_TASKS_PER_NODE", list);
    set("SLURM_NODEID", node);
    set("SLURM_STEP_NUM_TASKS", tasks);
    is(expected, NULL, NULL);
}

int main(void)
{
    slurm(0, NULL, NULL, NULL);
    is(3, "3", NULL);
    is(4, NULL, "4");
    is(3, "3", "4");
    is(7, "7", NULL);
    is(0, "8", NULL);
    is(0, "0", NULL);
    is(4, "nonsense", "4");
    slurm(2, "2(x3),1", "0", "7");
    slurm(2, "2(x3),1", "2", "7");
    slurm(1, "2(x3),1", "3", "7");
    slurm(0, "2(x3),1", "4", "7");
    slurm(3, "4,3", "1", "7");
    slurm(7, "7", "0", "7");
    slurm(0, "4,3", NULL, "7");
    slurm(0, "1(x2)", "0", "2"); /* a launcher's own daemons */
    slurm(0, "2(x,3", "0", "7");
    slurm(0, "2(x0),3", "0", "7");
    slurm(0, "", "0", "7");
    slurm(0, "99999999999999999999", "0", "7");
    slurm(4, "4,3", "0", "7");
    is(5, "5", NULL); /* whoever started us goes first */
    nof_launch = &asked;
    launcher_says = 6;
    slurm(4, "4,3", "0", "7");
    slurm(6, NULL, NULL, NULL);
    is(5, NULL, "5");
    launcher_says = 8; /* more than there are */
    is(0, NULL, NULL);
    launcher_says = 0;
    is(0, NULL, NULL);
    return 0;
}
