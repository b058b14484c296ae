/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Of this host: its number in the job, as was agreed, and how many ranks are here. Launchers say that each in its own way. */
#include <ctype.h>
#include <stdlib.h>

#include "launch/launch.h"

static uint64_t host_id;

/* Of "2(x3),1", the tasks on each of a step's nodes in turn (srun), those of node `node`. 0: there is no such node. */
static int tasks_of(const char *list, int node)
{
    char *end;
    while (isdigit((unsigned char)*list)) {
        long tasks = strtol(list, &end, 10), nodes = 1;
        list = end;
        if (list[0] == '(' && list[1] == 'x' && isdigit((unsigned char)list[2])) {
            nodes = strtol(list + 2, &end, 10);
            if (*end != ')')
                return 0;
            list = end + 1;
        }
        if ((*list != '\0' && *list != ',') || tasks > INT32_MAX || nodes < 1 || nodes > INT32_MAX)
            return 0;
        if (node < nodes)
            return (int)tasks;
        node -= (int)nodes;
        if (*list == ',')
            list++;
    }
    return 0;
}

/* Launchers that start their own daemons with srun leave its variables to their ranks: those are of another step. */
static int slurm_ranks(void)
{
    const char *list = getenv("SLURM_STEP_TASKS_PER_NODE");
    int node, tasks;
    if (list == NULL || nof_launch_number("SLURM_STEP_NUM_TASKS", &tasks) != 0 ||
        tasks != nof_lib.world_size || nof_launch_number("SLURM_NODEID", &node) != 0)
        return 0;
    return tasks_of(list, node);
}

int nof_launch_ranks_here(void)
{
    static const char *const variables[] = {
        "MPI_LOCALNRANKS", /* Hydra */
        "OMPI_COMM_WORLD_LOCAL_SIZE", /* Open MPI's mpirun */
    };
    int n = 0;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]) && n == 0; i++)
        if (nof_launch_number(variables[i], &n) != 0)
            n = 0;
    if (n == 0)
        n = slurm_ranks();
    if (n == 0 && nof_launch->ranks_here != NULL)
        n = nof_launch->ranks_here();
    return n > 0 && n <= nof_lib.world_size ? n : 0;
}

uint64_t nof_launch_host_id(void)
{
    return host_id;
}

void nof_launch_set_host_id(uint64_t id)
{
    host_id = id;
}
