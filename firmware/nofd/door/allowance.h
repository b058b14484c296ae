/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one user may take of the main thread: time, connections to the control socket, connections that have not
 * attached.
 *
 *   nofd_allowance_enter()   a connection of that user came; NULL: there are too many users
 *   nofd_allowance_may()     whether its next request is served now; else after a tick
 *   nofd_allowance_charge()  what the request took
 *   nofd_allowance_leave()   the connection has gone; what was taken is remembered until it has been earned again, or until
 *                        all accounts are in use or in debt, and this is the least debt
 *
 * Time is processor time of the main thread: a budget is spent at once and earned back at a fraction of real time.
 * Users other than the daemon's own have one more budget between them all. Root and the daemon's user have one of
 * their own, that nobody else can spend; in a daemon that serves this one user only (--private) it has no end. Main
 * thread. */
#ifndef NOFD_ALLOWANCE_H
#define NOFD_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NOFD_ALLOWANCES_MAX 512u /* users with a connection, or in debt */

struct nofd_budget {
    int64_t left_ns; /* below 0: in debt */
    int64_t most_ns;
    uint64_t at_ns; /* when left_ns was right */
    unsigned earns_percent; /* of real time */
};

struct nofd_allowance {
    uid_t uid;
    unsigned connections;
    unsigned clients; /* of them, of the control socket */
    unsigned waiting; /* of them, not attached */
    struct nofd_budget time;
};

struct nofd_allowances {
    bool private;
    uid_t owner;
    struct nofd_budget others; /* all but the owner */
    unsigned other_clients;
    unsigned other_waiting;
    size_t other_backlog_bytes; /* answers that they have not taken */
    struct nofd_allowance owners;
    struct nofd_allowance of[NOFD_ALLOWANCES_MAX];
};

/* attach_ns: time that a user may take at once, as for all ranks of its largest job. */
void nofd_allowances_init(struct nofd_allowances *s, bool private, uid_t owner, uint64_t attach_ns,
                          uint64_t now_ns);

void nofd_budget_init(struct nofd_budget *b, uint64_t most_ns, unsigned earns_percent, uint64_t now_ns);
bool nofd_budget_left(struct nofd_budget *b, uint64_t now_ns);
void nofd_budget_charge(struct nofd_budget *b, uint64_t taken_ns);

struct nofd_allowance *nofd_allowance_enter(struct nofd_allowances *s, uid_t uid, uint64_t now_ns);
void nofd_allowance_leave(struct nofd_allowance *share);
bool nofd_allowance_is_owner(const struct nofd_allowances *s, const struct nofd_allowance *share);
bool nofd_allowance_may(struct nofd_allowances *s, struct nofd_allowance *share, uint64_t now_ns);
void nofd_allowance_charge(struct nofd_allowances *s, struct nofd_allowance *share, uint64_t taken_ns);

/* Processor time of the calling thread. */
uint64_t nofd_allowance_clock_ns(void);

#endif
