/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long patterns of tasks take (bench/programs/delta_patterns.h), from the first that begins to the last that ends. Time
 * passes where a task computes, and where a page's fault or a call costs it something; what a task does by itself beside that takes
 * none. */
#include <stdlib.h>
#include <string.h>

#include "base/lib.h"
#include "image_run.h"

#include "../../../bench/programs/delta_kernels.h"

#define WARM_PAGES 8u /* too long to be eager */

static void delta_fail(const char *what)
{
    nof_run_fail("%s", what);
    abort();
}

static void delta_begin_computing(void)
{
}

static void delta_compute(int64_t ns)
{
    nof_image->ops->nap(nof_image->process, (uint64_t)ns);
}

static void delta_touch(const void *address, size_t bytes, bool writes)
{
    nof_image_touch(address, bytes, writes);
}

static void delta_called(void)
{
    nof_image->ops->nap(nof_image->process, nof_run.program->increments->call_ns);
}

static double once_ns(struct delta *d, const struct delta_pattern *pattern, enum delta_form form)
{
    double first, last, began, ended;
    d->form = form;
    DELTA_OK(MPI_Barrier(MPI_COMM_WORLD));
    began = (double)nof_image->ops->now_ns(nof_image->process);
    pattern->run(d);
    ended = (double)nof_image->ops->now_ns(nof_image->process);
    DELTA_OK(MPI_Allreduce(&began, &first, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
    DELTA_OK(MPI_Allreduce(&ended, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    return last - first;
}

void nof_increments_run(void)
{
    struct nof_increments *i = nof_run.program->increments;
    const struct delta_pattern *pattern = &delta_patterns[i->pattern];
    struct delta d = {.rank = nof_image->rank, .tasks = nof_image->size, .by_os = i->by_os};
    size_t room = i->bytes > MG_FACE_BYTES ? i->bytes : MG_FACE_BYTES; /* more than WARM_PAGES */
    void *pages = NULL;
    if (posix_memalign(&pages, DELTA_PAGE, 2 * DELTA_BUFFERS * room) != 0)
        abort();
    nof_image_pages_watch(pages, 2 * DELTA_BUFFERS * room);
    for (size_t k = 0; k < DELTA_BUFFERS; k++) {
        d.in[k] = (uint32_t *)pages + k * room / sizeof(uint32_t);
        d.out[k] = (uint32_t *)pages + (DELTA_BUFFERS + k) * room / sizeof(uint32_t);
    }
    nof_lib.crowded = true; /* a poll that finds nothing takes time */
    d.bytes = WARM_PAGES * DELTA_PAGE;
    d.page_ns = i->page_ns; /* the library learns from it how fast the program is */
    enum delta_form base = i->alone ? DELTA_INCREMENTS : pattern->base;
    for (enum delta_form form = base; form < DELTA_FORMS; form++)
        (void)once_ns(&d, pattern, form);
    d.bytes = i->bytes;
    for (enum delta_form form = base; form < DELTA_FORMS; form++) {
        double ns = once_ns(&d, pattern, form);
        if (nof_image->rank == 0)
            i->taken_ns[form] = ns;
    }
    free(pages);
}
