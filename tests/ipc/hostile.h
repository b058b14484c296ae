/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the hostile-host tests have in common: a shared nofd with two simulated NICs, a well-behaved
 * pair of ranks that exchange verified messages all the time, and an attacker who attaches by hand.
 *
 *   hostile_start()            nofd and the pair run
 *   ... the attack, with check() ...
 *   hostile_end()              the pair must not have noticed, nofd must live, then end in order
 *
 * The path of nofd is argv[1]. A failed check prints where and exits 1; a child that fails is seen
 * by its parent. The seed is printed first and may be given as argv[2]. */
#ifndef TEST_HOSTILE_H
#define TEST_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "nof/status.h"
#include "nof_private/ring.h"

#include "../check.h"
#include "hostile_pair.h"

#define HOSTILE_SKIP 77

/* Both are integers. */
#define check_equal(got, wanted) \
    do { \
        long long got_ = (long long)(got); \
        long long wanted_ = (long long)(wanted); \
\
        if (got_ != wanted_) { \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, wanted_); \
            exit(1); \
        } \
    } while (0)

struct hostile {
    char socket[64];
    char control[72];
    pid_t nofd;
    pid_t pair[2];
    struct hostile_board *board; /* shared with the pair */
    uint64_t random;
};

/* args: further options of nofd, NULL-terminated; may be NULL. */
void hostile_start(struct hostile *h, int argc, char **argv, const char *const *args);
void hostile_end(struct hostile *h);
/* The pair has moved on by `messages` since the call began (or dies trying). */
void hostile_pair_goes_on(struct hostile *h, unsigned messages);
bool hostile_nofd_lives(const struct hostile *h);
/* A counter of `nic` by the control socket. */
uint64_t hostile_counter(const struct hostile *h, unsigned nic, const char *name);
/* One line to the control socket, one line back; false if the connection was closed instead. */
bool hostile_control(const struct hostile *h, const char *line, char *answer, size_t answer_bytes);
uint64_t hostile_random(struct hostile *h);

/* An endpoint mapped by hand. */
struct intruder {
    int socket;
    int fd[NOF_BAR_FDS_MAX]; /* -1: none */
    uint8_t *bar;
    uint64_t bar_bytes;
    struct nof_attach_reply reply;
    struct nof_bar_identity id;
    struct rte_ring *submit;
    struct rte_ring *complete;
};

int hostile_connect(const struct hostile *h);
/* A valid request for a job of one rank of its own. */
void hostile_request(struct hostile *h, struct nof_attach_request *request);
/* Sends n bytes and takes the answer; the reply's status, or 1 when the connection was closed
 * without one. On NOF_OK everything is mapped. */
int hostile_attach(struct intruder *in, int fd, const void *request, size_t n);
/* The second half of it. A daemon that asks whose request it was gets the answer. */
int hostile_take_reply(struct intruder *in, int fd);
/* Attach with a valid request; must succeed. */
void hostile_intrude(struct hostile *h, struct intruder *in);
void hostile_leave(struct intruder *in);
/* Submits one descriptor by the rules and rings. */
void hostile_submit(struct intruder *in, const struct nof_desc *desc);
/* Waits until nofd closes the life line, at most ms; true if it did. */
bool hostile_thrown_out(struct intruder *in, int ms);

#endif
