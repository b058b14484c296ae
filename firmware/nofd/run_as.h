/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Run a function with another user's ids and no capability, in our own address space.
 *
 * The kernel checks process_vm_* against the ids of the caller, so a shared daemon copies a user's
 * memory with that user's ids: a rank that execs a set-uid program then lends it nothing. A *thread*
 * with those ids would do, were it not that its user may signal it: tgkill(SIGKILL) on that thread
 * ends the daemon. So it is a process that shares our memory and descriptors (CLONE_VM,
 * CLONE_FILES): its user can kill or stop it, and only it. The thread that starts it sleeps in
 * clone(CLONE_VFORK) until it has ended, so that the process may use that thread's TLS (errno).
 * See docs/decisions. */
#ifndef NOFD_RUN_AS_H
#define NOFD_RUN_AS_H

#include <stdbool.h>
#include <sys/types.h>

struct nofd_run_as {
    uid_t uid;
    gid_t gid;
    /* In the process: no heap, no lock, no stdio. May be killed or stopped at any instruction. */
    void (*fn)(void *arg);
    /* Afterwards, in our own thread, however it ended. May free `arg`. */
    void (*ended)(void *arg);
    void *arg;
};

/* Whether ids can be taken on at all: own ids always, others with the capabilities to. */
bool nofd_run_as_possible(uid_t uid);

/* Starts it; the struct is copied. With our own ids it is a plain thread. 0 or -errno (then neither
 * function is called). Main thread. */
int nofd_run_as(const struct nofd_run_as *job);

#endif
