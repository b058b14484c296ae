/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's lock below MPI_THREAD_MULTIPLE: taken while others may have to poll, too. */
#include "base/lib.h"

static unsigned guests; /* under the mutex, whether calls take it or not */

void nof_lib_share(void)
{
    if (nof_lib.locking)
        return;
    pthread_mutex_lock(&nof_lib.lock);
    nof_lib.shared = true;
    __atomic_store_n(&nof_lib.locking, true, __ATOMIC_RELEASE);
}

void nof_lib_unshare(void)
{
    if (!nof_lib.shared || guests > 0)
        return;
    nof_lib.shared = false;
    __atomic_store_n(&nof_lib.locking, false, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&nof_lib.lock);
}

bool nof_lib_join_in(void)
{
    pthread_mutex_lock(&nof_lib.lock);
    bool in = nof_lib.locking;
    guests += in;
    pthread_mutex_unlock(&nof_lib.lock);
    return in;
}

void nof_lib_drop_out(void)
{
    pthread_mutex_lock(&nof_lib.lock);
    guests--;
    pthread_mutex_unlock(&nof_lib.lock);
}
