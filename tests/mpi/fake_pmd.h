/* SPDX-License-Identifier: BSD-3-Clause */
/* The two halves of the stand-in for the host driver: fake_pmd.c matches, fake_programs.c runs programs (nof/program.h)
 * with the sends and receives of the other. */
#ifndef FAKE_PMD_H
#define FAKE_PMD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "nof/desc.h"
#include "nof/status.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: broken by the library: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* Cookies of sends and receives that programs make: no completion goes to the host. */
#define FAKE_PROGRAM_COOKIE (1ull << 63)

struct nof_delta_host;
struct nof_pmd_segment;

/* Of fake_pmd.c. */

/* What a test chooses before MPI_Init; NULL: all messages go by the NIC. */
extern const struct nof_pmd_segment *fake_segment;
/* Likewise; NULL: there are no delta messages. */
extern struct nof_delta_host *fake_delta_host;
unsigned fake_draw(unsigned n);
struct nof_comp *fake_complete(uint8_t opcode, const struct nof_desc *d, int status);
void fake_send(const struct nof_desc *d);
void fake_recv(const struct nof_desc *d);
/* A posted receive is taken back, if it is there. */
void fake_unpost(uint64_t cookie);
/* The program's memory, or the bounce arena's. */
void *fake_memory_at(uint64_t addr);
/* A program has failed: what was lent to it is not given back. */
void fake_may_read_on(void);

/* Of fake_programs.c. */

/* What a test chooses: feature "collectives" is "nic". */
extern int fake_runs_collectives;
/* False: the descriptor is none of a program. */
int fake_program_desc(const struct nof_desc *d, const void *area, size_t area_bytes);
/* A send or receive of a program has ended; NOF_ENOMATCH: the receive is the host's. */
void fake_program_ended(uint64_t cookie, int status, uint64_t len);
/* A receive is in the hands of the host: spill mode must not end, or a later one would overtake it. */
int fake_program_asks(void);
/* Begin what can begin. */
void fake_program_turn(void);
/* None is left when the endpoint is closed. */
void fake_program_close(void);

#endif
