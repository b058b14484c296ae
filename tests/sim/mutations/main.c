/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof sim` alone, linked with a mutated core. */
#include "commands.h"

int main(int argc, char **argv)
{
    return nof_cmd_sim(argc, argv);
}
