/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stacks that one thread runs on in turn. A change costs no system call, which swapcontext() makes for the signal mask. */
#ifndef NOF_SIM_LIBRARY_STACK_H
#define NOF_SIM_LIBRARY_STACK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/* All zero: the stack that the thread was given. */
struct nof_stack {
    ucontext_t first; /* until it has run */
    jmp_buf left; /* where it was left */
    bool was_left;
};

/* `enter` is to run on mem when `s` is switched to the first time; it never returns. */
void nof_stack_make(struct nof_stack *s, void *mem, size_t bytes, void (*enter)(void *), void *arg);
/* Leaves `from`, which is running, until somebody switches to it. */
void nof_stack_switch(struct nof_stack *from, struct nof_stack *to);

#endif
