/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives that one rank has called, as `nof record` writes them (rankN.coll, docs/RECORDING.md): for `nof bench replay`,
 * its program and the simulator.
 *
 *   coll_trace_read() -> op[0..ops) in call order, comm[] as they come -> coll_trace_free() */
#ifndef NOF_BENCH_PROGRAMS_COLL_TRACE_H
#define NOF_BENCH_PROGRAMS_COLL_TRACE_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* X(ID, name, has a root) */
#define COLL_TRACE_KINDS(X) \
    X(BARRIER, "barrier", 0) \
    X(BCAST, "bcast", 1) \
    X(REDUCE, "reduce", 1) \
    X(ALLREDUCE, "allreduce", 0) \
    X(ALLTOALL, "alltoall", 0) \
    X(ALLGATHER, "allgather", 0) \
    X(GATHER, "gather", 1) \
    X(SCATTER, "scatter", 1) \
    X(ALLTOALLV, "alltoallv", 0)

enum coll_trace_kind {
#define X(id, name, rooted) COLL_TRACE_##id,
    COLL_TRACE_KINDS(X)
#undef X
        COLL_TRACE_KINDS_COUNT
};

struct coll_trace_comm {
    unsigned number; /* as the recording has it */
    int size;
    int *member; /* ranks of the world */
};

struct coll_trace_op {
    enum coll_trace_kind kind;
    unsigned comm; /* index */
    int root;
    long computed_ns; /* before it */
    int bytes; /* of a block, or of the vector */
    int *to, *from; /* bytes; of alltoallv alone */
};

struct coll_trace {
    struct coll_trace_op *op;
    size_t ops;
    struct coll_trace_comm *comm;
    unsigned comms;
};

static const char *const coll_trace_names[COLL_TRACE_KINDS_COUNT] = {
#define X(id, name, rooted) name,
    COLL_TRACE_KINDS(X)
#undef X
};

/* The end of a number of 0..most at text, NULL if there is none. */
static const char *coll_trace_number(const char *text, long most, long *out)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return NULL;
    *out = strtol(text, &end, 10);
    return *out >= 0 && *out <= most && end - text < 19 ? end : NULL;
}

static const char *coll_trace_past(const char *text, char what)
{
    return text != NULL && *text == what ? text + 1 : NULL;
}

/* n of them, parted by commas, into a new list; NULL, with nothing allocated, if there are others. */
static const char *coll_trace_list(const char *text, int n, long most, int **out)
{
    int *list = malloc((size_t)n * sizeof(*list));
    long sum = 0;
    for (int i = 0; i < n && text != NULL && list != NULL; i++) {
        long value = 0;
        text = coll_trace_number(i > 0 ? coll_trace_past(text, ',') : text, most, &value);
        list[i] = (int)value;
        sum += value;
    }
    if (list == NULL || text == NULL || sum > INT_MAX) {
        free(list);
        return NULL;
    }
    *out = list;
    return text;
}

/* One more behind n; 0: there is no memory. */
static int coll_trace_grow(void **all, size_t n, size_t each)
{
    if (n == 0 || (n & (n - 1)) == 0) {
        void *more = realloc(*all, (n > 0 ? 2 * n : 1) * each);
        if (more == NULL)
            return 0;
        *all = more;
    }
    memset((char *)*all + n * each, 0, each);
    return 1;
}

static int coll_trace_read_comm(struct coll_trace *t, const char *text, int ranks)
{
    struct coll_trace_comm *c;
    long number = 0;
    int size = 1;
    text = coll_trace_past(coll_trace_number(text, UINT_MAX, &number), ' ');
    if (text == NULL || !coll_trace_grow((void **)&t->comm, t->comms, sizeof(*t->comm)))
        return 0;
    for (const char *at = text; *at != '\0'; at++)
        size += *at == ',';
    c = &t->comm[t->comms];
    c->number = (unsigned)number;
    c->size = size;
    text = size <= ranks ? coll_trace_list(text, size, ranks - 1, &c->member) : NULL;
    t->comms += text != NULL;
    return text != NULL && *text == '\0';
}

static int coll_trace_read_op(struct coll_trace *t, enum coll_trace_kind kind, const char *text)
{
    struct coll_trace_op *op;
    long number = 0, root = 0, bytes = 0;
    unsigned c = 0;
    if (!coll_trace_grow((void **)&t->op, t->ops, sizeof(*t->op)))
        return 0;
    op = &t->op[t->ops];
    op->kind = kind;
    text = coll_trace_past(coll_trace_number(text, LONG_MAX, &op->computed_ns), ' ');
    text = coll_trace_past(coll_trace_number(text, UINT_MAX, &number), ' ');
    while (c < t->comms && t->comm[c].number != (unsigned)number)
        c++;
    if (text == NULL || c == t->comms)
        return 0;
    op->comm = c;
    text = coll_trace_past(coll_trace_number(text, t->comm[c].size - 1, &root), ' ');
    op->root = (int)root;
    if (kind == COLL_TRACE_ALLTOALLV) {
        text = text != NULL ? coll_trace_list(text, t->comm[c].size, INT_MAX, &op->to) : NULL;
        text = coll_trace_past(text, ' ');
        text = text != NULL ? coll_trace_list(text, t->comm[c].size, INT_MAX, &op->from) : NULL;
    } else {
        text = coll_trace_number(text, INT_MAX / t->comm[c].size, &bytes);
        op->bytes = (int)bytes;
    }
    t->ops++; /* also if it is not whole: its lists are freed with the others */
    return text != NULL && *text == '\0';
}

static int coll_trace_read_line(struct coll_trace *t, char *line, int ranks)
{
    char *rest = strchr(line, ' ');
    line[strcspn(line, "\n")] = '\0';
    if (rest == NULL)
        return 0;
    *rest++ = '\0';
    if (strcmp(line, "comm") == 0)
        return coll_trace_read_comm(t, rest, ranks);
    for (unsigned k = 0; k < COLL_TRACE_KINDS_COUNT; k++)
        if (strcmp(line, coll_trace_names[k]) == 0)
            return coll_trace_read_op(t, (enum coll_trace_kind)k, rest);
    return 0;
}

/* Of one of so many ranks. Returns 0, or the number of the line that is none. Either way there is something to free. */
static inline unsigned long coll_trace_read(FILE *f, int ranks, struct coll_trace *t)
{
    char *line = NULL;
    size_t room = 0;
    unsigned long at = 1;
    memset(t, 0, sizeof(*t));
    while (getline(&line, &room, f) > 0 && coll_trace_read_line(t, line, ranks))
        at++;
    free(line);
    return feof(f) ? 0 : at;
}

static inline void coll_trace_free(struct coll_trace *t)
{
    for (size_t i = 0; i < t->ops; i++) {
        free(t->op[i].to);
        free(t->op[i].from);
    }
    for (unsigned c = 0; c < t->comms; c++)
        free(t->comm[c].member);
    free(t->op);
    free(t->comm);
}

#endif
