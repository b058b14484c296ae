/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's lock, below MPI_THREAD_MULTIPLE: it is taken while others may be in, and not before or after. */
#include "base/lib.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) ((x) ? (void)0 : fail(#x, __LINE__))

struct nof_lib nof_lib = {.phase = NOF_LIB_RUNNING, .lock = PTHREAD_MUTEX_INITIALIZER};

static void fail(const char *what, int line)
{
    fprintf(stderr, "unit_lib_share.c:%d: failed: %s\n", line, what);
    exit(1);
}

static bool is_held(void)
{
    if (pthread_mutex_trylock(&nof_lib.lock) != 0)
        return true;
    pthread_mutex_unlock(&nof_lib.lock);
    return false;
}

/* A call that shares, or ends sharing: as nof_lib_enter() and nof_lib_leave() do. */
static void call(void (*what)(void))
{
    if (nof_lib.locking)
        pthread_mutex_lock(&nof_lib.lock);
    what();
    CHECK(is_held() == nof_lib.locking);
    if (nof_lib.locking)
        pthread_mutex_unlock(&nof_lib.lock);
    CHECK(!is_held());
}

static void nobody_is_in_who_has_not_shared(void)
{
    CHECK(!nof_lib_join_in());
    call(nof_lib_unshare);
    CHECK(!nof_lib.locking && !nof_lib.shared);
}

static void ends_when_nobody_is_in(void)
{
    call(nof_lib_share);
    CHECK(nof_lib.locking && nof_lib.shared);
    CHECK(nof_lib_join_in() && nof_lib_join_in());
    call(nof_lib_unshare);
    CHECK(nof_lib.locking);
    nof_lib_drop_out();
    call(nof_lib_unshare);
    CHECK(nof_lib.locking && nof_lib.shared);
    nof_lib_drop_out();
    call(nof_lib_unshare);
    CHECK(!nof_lib.locking && !nof_lib.shared);
    CHECK(!nof_lib_join_in());
}

/* MPI_THREAD_MULTIPLE, and pages that are watched. */
static void what_others_have_set_stays(void)
{
    nof_lib.locking = true;
    call(nof_lib_share);
    CHECK(!nof_lib.shared);
    call(nof_lib_unshare);
    CHECK(nof_lib.locking);
}

int main(void)
{
    nobody_is_in_who_has_not_shared();
    ends_when_nobody_is_in();
    ends_when_nobody_is_in();
    what_others_have_set_stays();
    return 0;
}
