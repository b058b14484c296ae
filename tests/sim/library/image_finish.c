/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ends of many: all that is under way, in the style that was drawn. */
#include <stdlib.h>

#include "image_run.h"

/* Arrays of what is under way, as MPI wants them. */
struct batch {
    unsigned n;
    struct nof_transfer **transfer;
    MPI_Request *request;
    MPI_Status *status;
    int *index;
};

static struct batch batch_take(void)
{
    size_t n = nof_run.nlive + 1;
    struct batch b = {.n = nof_run.nlive,
                      .transfer = calloc(n, sizeof(struct nof_transfer *)),
                      .request = calloc(n, sizeof(MPI_Request)),
                      .status = calloc(n, sizeof(MPI_Status)),
                      .index = calloc(n, sizeof(int))};
    if (b.transfer == NULL || b.request == NULL || b.status == NULL || b.index == NULL)
        abort();
    for (unsigned i = 0; i < b.n; i++) {
        b.transfer[i] = nof_run.live[i];
        b.request[i] = nof_run.live[i]->request;
    }
    return b;
}

static void batch_free(struct batch *b)
{
    free(b->transfer);
    free(b->request);
    free(b->status);
    free(b->index);
}

/* The error of one of several: only MPI_ERR_IN_STATUS lets the statuses speak. */
static int error_of(int rc, const MPI_Status *status)
{
    int error_class;
    if (rc == MPI_SUCCESS)
        return rc;
    MPI_Error_class(rc, &error_class);
    return error_class == MPI_ERR_IN_STATUS ? status->MPI_ERROR : rc;
}

static void one_ended(struct batch *b, unsigned i, const MPI_Status *status, int rc)
{
    nof_transfer_ended(b->transfer[i], &b->request[i], status, rc);
}

static void finish_one_by_one(struct batch *b, bool test)
{
    for (unsigned i = b->n; i-- > 0;) {
        int done = 0, rc;
        if (test) {
            do
                rc = MPI_Test(&b->request[i], &done, &b->status[i]);
            while (rc == MPI_SUCCESS && !done);
        } else {
            rc = MPI_Wait(&b->request[i], &b->status[i]);
        }
        one_ended(b, i, &b->status[i], rc);
    }
}

static void finish_any(struct batch *b, bool test)
{
    for (unsigned left = b->n; left > 0; left--) {
        int i = MPI_UNDEFINED, done = 1, rc;
        MPI_Status status;
        do
            rc = test ? MPI_Testany((int)b->n, b->request, &i, &done, &status)
                      : MPI_Waitany((int)b->n, b->request, &i, &status);
        while (rc == MPI_SUCCESS && !done);
        if (i == MPI_UNDEFINED) {
            nof_run_check(rc, "Waitany", left);
            nof_run_fail("MPI_Waitany knows of nothing, and %u are under way", left);
            return;
        }
        one_ended(b, (unsigned)i, &status, rc);
    }
}

static void finish_some(struct batch *b, bool test)
{
    for (unsigned left = b->n; left > 0;) {
        int count = 0;
        int rc = (test ? MPI_Testsome : MPI_Waitsome)((int)b->n, b->request, &count, b->index, b->status);
        if (count == MPI_UNDEFINED || (!test && count == 0)) {
            nof_run_fail("MPI_Testsome knows of %s, and %u are under way", count == 0 ? "no end" : "nothing",
                         left);
            return;
        }
        for (int k = 0; k < count; k++)
            one_ended(b, (unsigned)b->index[k], &b->status[k], error_of(rc, &b->status[k]));
        left -= (unsigned)count;
    }
}

static void finish_all(struct batch *b, bool test)
{
    int done = 1, rc;
    do
        rc = test ? MPI_Testall((int)b->n, b->request, &done, b->status)
                  : MPI_Waitall((int)b->n, b->request, b->status);
    while (rc == MPI_SUCCESS && !done);
    for (unsigned i = 0; i < b->n; i++)
        one_ended(b, i, &b->status[i], error_of(rc, &b->status[i]));
}

void nof_finish(enum nof_finish_style style)
{
    struct batch b = batch_take();
    switch (style) {
    case NOF_FINISH_WAITALL:
    case NOF_FINISH_TESTALL:
        finish_all(&b, style == NOF_FINISH_TESTALL);
        break;
    case NOF_FINISH_BACKWARDS:
    case NOF_FINISH_TEST:
        finish_one_by_one(&b, style == NOF_FINISH_TEST);
        break;
    case NOF_FINISH_WAITANY:
    case NOF_FINISH_TESTANY:
        finish_any(&b, style == NOF_FINISH_TESTANY);
        break;
    case NOF_FINISH_TESTSOME:
    case NOF_FINISH_WAITSOME:
    case NOF_FINISH_STYLES:
        finish_some(&b, style != NOF_FINISH_WAITSOME);
        break;
    }
    batch_free(&b);
    nof_transfer_look_back();
}

static void look_around(uint32_t comm)
{
    MPI_Status seen;
    int found = 0;
    nof_run_check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, nof_run.comm[comm], &found, &seen), "probe", comm);
    if (found && (seen.MPI_SOURCE < 0 || seen.MPI_SOURCE >= nof_image->size || seen.MPI_TAG < 0))
        nof_run_fail("a probe saw source %d, tag %d", seen.MPI_SOURCE, seen.MPI_TAG);
}

/* Asked twice, the second time by who would retire it: what is done stays done. */
static void ask(struct nof_transfer *t)
{
    MPI_Status status;
    int done = 0, again = 0;
    (void)MPI_Request_get_status(t->request, &done, &status); /* the code comes again with the end */
    if (!done)
        return;
    int rc = MPI_Test(&t->request, &again, &status);
    if (!again)
        nof_run_fail("MPI_Request_get_status says that it is done, MPI_Test that it is not");
    else
        nof_transfer_ended(t, &t->request, &status, rc);
}

static void test(struct nof_transfer *t)
{
    MPI_Status status;
    int done = 0;
    int rc = MPI_Test(&t->request, &done, &status);
    if (done)
        nof_transfer_ended(t, &t->request, &status, rc);
}

void nof_poke(uint32_t comm, enum nof_poke_style style)
{
    struct nof_transfer *t =
        nof_run.nlive == 0 ? NULL : nof_run.live[nof_image->ops->draw(nof_image->process, nof_run.nlive)];
    if (style == NOF_POKE_PROBE || t == NULL)
        look_around(comm);
    else if (style == NOF_POKE_ASK)
        ask(t);
    else
        test(t);
}
