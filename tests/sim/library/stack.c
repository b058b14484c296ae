/* SPDX-License-Identifier: BSD-3-Clause */
#undef _FORTIFY_SOURCE /* it takes a jump to another stack for a mistake */
#include "stack.h"

#include <stdint.h>
#include <stdlib.h>

#include "sanitized.h"

static void begin(unsigned enter_low, unsigned enter_high, unsigned arg_low, unsigned arg_high)
{
    void (*enter)(void *) = (void (*)(void *))((uintptr_t)enter_high << 32 | enter_low); // NOLINT: ints
    enter((void *)((uintptr_t)arg_high << 32 | arg_low)); // NOLINT: makecontext() passes ints
    abort();
}

void nof_stack_make(struct nof_stack *s, void *mem, size_t bytes, void (*enter)(void *), void *arg)
{
    uintptr_t function = (uintptr_t)enter, its = (uintptr_t)arg;
    s->was_left = false;
    (void)getcontext(&s->first);
    s->first.uc_stack.ss_sp = mem;
    s->first.uc_stack.ss_size = bytes;
    s->first.uc_link = NULL;
    makecontext(&s->first, (void (*)(void))begin, 4, (unsigned)function, (unsigned)(function >> 32),
                (unsigned)its, (unsigned)(its >> 32));
}

#if NOF_SANITIZED /* which is told of another stack by swapcontext() alone */
void nof_stack_switch(struct nof_stack *from, struct nof_stack *to)
{
    (void)swapcontext(&from->first, &to->first);
}
#else
void nof_stack_switch(struct nof_stack *from, struct nof_stack *to)
{
    if (_setjmp(from->left) != 0)
        return;
    from->was_left = true;
    if (to->was_left)
        _longjmp(to->left, 1);
    (void)setcontext(&to->first);
    abort();
}
#endif
