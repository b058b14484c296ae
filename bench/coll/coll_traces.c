/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_traces.h"

#include <errno.h>

#define PATH_BYTES 4096u

/* A communicator, and what its members call there. */
struct group {
    const struct coll_trace_comm *comm;
    unsigned copy; /* so many others of the same members are before it */
    const struct coll_trace_op ***op; /* [member][i] */
    size_t *ops;
};

struct groups {
    struct group *group;
    size_t n;
};

static bool same_members(const struct coll_trace_comm *a, const struct coll_trace_comm *b)
{
    return a->size == b->size && memcmp(a->member, b->member, (size_t)a->size * sizeof(*a->member)) == 0;
}

static int member_of(const struct coll_trace_comm *c, unsigned rank)
{
    int found = -1;

    for (int i = 0; i < c->size; i++)
        if (c->member[i] == (int)rank) {
            if (found >= 0)
                return -1;
            found = i;
        }
    return found;
}

static struct group *group_of(struct groups *all, const struct coll_trace *t, unsigned comm)
{
    const struct coll_trace_comm *c = &t->comm[comm];
    struct group *g;
    unsigned copy = 0;

    for (unsigned i = 0; i < comm; i++)
        copy += same_members(&t->comm[i], c);
    for (size_t i = 0; i < all->n; i++)
        if (all->group[i].copy == copy && same_members(all->group[i].comm, c))
            return &all->group[i];
    if (!coll_trace_grow((void **)&all->group, all->n, sizeof(*all->group)))
        return NULL;
    g = &all->group[all->n];
    g->comm = c;
    g->copy = copy;
    g->op = calloc((size_t)c->size, sizeof(*g->op));
    g->ops = calloc((size_t)c->size, sizeof(*g->ops));
    all->n++;
    return g->op != NULL && g->ops != NULL ? g : NULL;
}

/* False: there is no memory, or it has a communicator that it is not in, or in twice. */
static bool add_rank(struct groups *all, const struct coll_trace *t, unsigned rank)
{
    for (unsigned c = 0; c < t->comms; c++) {
        int me = member_of(&t->comm[c], rank);
        struct group *g = me >= 0 ? group_of(all, t, c) : NULL;

        if (g == NULL)
            return false;
        for (size_t i = 0; i < t->ops; i++) {
            if (t->op[i].comm != c)
                continue;
            if (!coll_trace_grow((void **)&g->op[me], g->ops[me], sizeof(*g->op[me])))
                return false;
            g->op[me][g->ops[me]++] = &t->op[i];
        }
    }
    return true;
}

static bool fits(const struct coll_trace_op *a, int i, const struct coll_trace_op *b, int k)
{
    if (a->kind != b->kind || a->root != b->root || a->bytes != b->bytes)
        return false;
    return a->kind != COLL_TRACE_ALLTOALLV || (a->to[k] == b->from[i] && b->to[i] == a->from[k]);
}

/* Which member does not do what another does; -1: all do. */
static int odd_one(const struct group *g)
{
    int n = g->comm->size;

    for (int k = 0; k < n; k++) {
        if (g->ops[k] != g->ops[0])
            return k;
        for (size_t at = 0; at < g->ops[0]; at++)
            for (int i = 0; i <= k; i++)
                if (!fits(g->op[i][at], i, g->op[k][at], k))
                    return k;
    }
    return -1;
}

static void free_groups(struct groups *all)
{
    for (size_t i = 0; i < all->n; i++) {
        for (int m = 0; all->group[i].op != NULL && m < all->group[i].comm->size; m++)
            free(all->group[i].op[m]);
        free(all->group[i].op);
        free(all->group[i].ops);
    }
    free(all->group);
}

static const char *check(struct nof_recording *r, const char *folder)
{
    struct groups all = {NULL, 0};
    const char *why = NULL;

    for (unsigned k = 0; k < r->ranks && why == NULL; k++)
        if (!add_rank(&all, &r->trace[k], k)) {
            snprintf(r->why, sizeof(r->why),
                     "%s/rank%u.coll: its communicators are not those of rank %u: record the program anew",
                     folder, k, k);
            why = r->why;
        }
    for (size_t i = 0; i < all.n && why == NULL; i++) {
        int odd = odd_one(&all.group[i]);

        if (odd < 0)
            continue;
        snprintf(r->why, sizeof(r->why),
                 "%s: rank %d does not call the collectives that rank %d calls on a communicator of both: "
                 "these are "
                 "traces of several runs, or were cut (nof record --max-bytes); record the program anew",
                 folder, all.group[i].comm->member[odd], all.group[i].comm->member[odd > 0 ? 0 : 1]);
        why = r->why;
    }
    free_groups(&all);
    return why;
}

static double computed_s(const struct coll_trace *t)
{
    double ns = 0;

    for (size_t i = 1; i < t->ops; i++)
        ns += (double)t->op[i].computed_ns;
    return ns / 1e9;
}

static void add_up(struct nof_recording *r)
{
    r->collectives = 0;
    r->computed_s = 0;
    for (unsigned k = 0; k < r->ranks; k++) {
        double s = computed_s(&r->trace[k]);

        r->collectives = r->trace[k].ops > r->collectives ? r->trace[k].ops : r->collectives;
        r->computed_s = s > r->computed_s ? s : r->computed_s;
    }
}

/* All that are there: how many ranks' files, at most `most` + 1. */
static unsigned count_files(const char *folder, unsigned most)
{
    char path[PATH_BYTES];
    unsigned n = 0;
    FILE *f;

    for (; n <= most; n++) {
        snprintf(path, sizeof(path), "%s/rank%u.coll", folder, n);
        f = fopen(path, "r");
        if (f == NULL)
            break;
        fclose(f);
    }
    return n;
}

static const char *read_files(struct nof_recording *r, const char *folder)
{
    char path[PATH_BYTES];

    for (unsigned k = 0; k < r->ranks; k++) {
        unsigned long line;
        FILE *f;

        snprintf(path, sizeof(path), "%s/rank%u.coll", folder, k);
        f = fopen(path, "r");
        if (f == NULL) {
            snprintf(r->why, sizeof(r->why), "%.400s: %s", path, strerror(errno));
            return r->why;
        }
        line = coll_trace_read(f, (int)r->ranks, &r->trace[k]);
        fclose(f);
        if (line != 0) {
            snprintf(r->why, sizeof(r->why),
                     "%.400s, line %lu: not what nof record writes (docs/RECORDING.md)", path, line);
            return r->why;
        }
    }
    return NULL;
}

const char *nof_recording_read(struct nof_recording *r, const char *folder, unsigned ranks_most)
{
    const char *why = NULL;

    memset(r, 0, sizeof(*r));
    r->ranks = count_files(folder, ranks_most);
    if (r->ranks < 2 || r->ranks > ranks_most) {
        snprintf(
            r->why, sizeof(r->why),
            "%s has the collectives of %s ranks, and it takes 2 to %u: nof record -o FOLDER -n N PROGRAM",
            folder, r->ranks < 2 ? r->ranks == 0 ? "no" : "one" : "more", ranks_most);
        return r->why;
    }
    r->trace = calloc(r->ranks, sizeof(*r->trace));
    if (r->trace == NULL)
        return "there is no memory";
    why = read_files(r, folder);
    if (why == NULL)
        why = check(r, folder);
    add_up(r);
    if (why == NULL && r->collectives == 0) {
        snprintf(r->why, sizeof(r->why), "%s: the program called no collective that is recorded", folder);
        why = r->why;
    }
    if (why != NULL)
        nof_recording_free(r);
    return why;
}

void nof_recording_free(struct nof_recording *r)
{
    for (unsigned k = 0; r->trace != NULL && k < r->ranks; k++)
        coll_trace_free(&r->trace[k]);
    free(r->trace);
    r->trace = NULL;
}

void nof_recording_stretch(struct nof_recording *r, double factor)
{
    for (unsigned k = 0; k < r->ranks; k++)
        for (size_t i = 0; i < r->trace[k].ops; i++) {
            double ns = factor * (double)r->trace[k].op[i].computed_ns;

            r->trace[k].op[i].computed_ns = ns < 9e18 ? (long)ns : LONG_MAX;
        }
    add_up(r);
}

/* Of others' bytes, in the direction that has more. */
static double link_bytes(const struct coll_trace_op *op, int n, int me)
{
    double to = 0, from = 0;

    switch (op->kind) {
    case COLL_TRACE_BARRIER:
        return 0;
    case COLL_TRACE_BCAST:
    case COLL_TRACE_REDUCE:
    case COLL_TRACE_ALLREDUCE:
        return n > 1 ? op->bytes : 0;
    case COLL_TRACE_GATHER:
    case COLL_TRACE_SCATTER:
        return me == op->root ? (double)op->bytes * (n - 1) : op->bytes;
    case COLL_TRACE_ALLTOALL:
    case COLL_TRACE_ALLGATHER:
        return (double)op->bytes * (n - 1);
    case COLL_TRACE_ALLTOALLV:
        for (int i = 0; i < n; i++) {
            to += i != me ? op->to[i] : 0;
            from += i != me ? op->from[i] : 0;
        }
        return to > from ? to : from;
    case COLL_TRACE_KINDS_COUNT:
        break;
    }
    return 0;
}

double nof_recording_limit_s(const struct nof_recording *r, uint64_t rate_bps)
{
    double limit_s = 0;

    for (unsigned k = 0; k < r->ranks; k++) {
        const struct coll_trace *t = &r->trace[k];
        double bytes = 0, s;

        for (size_t i = 0; i < t->ops; i++) {
            const struct coll_trace_comm *c = &t->comm[t->op[i].comm];

            bytes += link_bytes(&t->op[i], c->size, member_of(c, k));
        }
        s = computed_s(t) + bytes * 8 / (double)rate_bps;
        limit_s = s > limit_s ? s : limit_s;
    }
    return limit_s;
}
