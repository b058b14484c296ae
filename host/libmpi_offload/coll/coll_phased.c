/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_phased.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/agree.h"
#include "coll/coll_args.h"
#include "launch/launch.h"
#include "nof/status.h"
#include "nof_private/env.h"

#define SMALL_BYTES 2048u /* shorter messages do not fill a phase: the last one has them all */
#define SCHEDULE_ENV "NOF_SCHEDULE"

/* While it is worked out. */
struct pattern {
    struct nof_comm *comm;
    const uint64_t *bytes; /* of i to j at i * row + j, both ranks */
    size_t row;
    uint32_t *node; /* of each rank */
    uint32_t nodes;
};

/* What every rank tells all others. */
struct said {
    uint64_t host;
    uint64_t hash; /* of what concerns all */
    uint64_t good; /* its own arguments are */
};

static size_t size_of(const struct nof_comm *comm)
{
    return (size_t)nof_comm_size(comm);
}

/* FNV-1a */
static uint64_t hash_of(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static int no_memory(const struct nof_comm *comm)
{
    return nof_error(MPI_ERR_NO_MEM, "no memory for the phases of %d ranks", nof_comm_size(comm));
}

static int find_algorithm(enum nof_phases_algorithm *algorithm_out)
{
    static const enum nof_phases_algorithm whole[] = {NOF_PHASES_ALLTOALL, NOF_PHASES_GREEDY,
                                                      NOF_PHASES_SHIFT};
    const char *text = nof_env(SCHEDULE_ENV);
    *algorithm_out = whole[0];
    if (text == NULL)
        return MPI_SUCCESS;
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (strcmp(text, nof_phases_algorithm_name(whole[i])) == 0) {
            *algorithm_out = whole[i];
            return MPI_SUCCESS;
        }
    }
    return nof_error(MPI_ERR_ARG, SCHEDULE_ENV "=%s: must be alltoall, greedy or shift", text);
}

/* Without transfers. */
static int new_phased(struct nof_comm *comm, const struct nof_phased_args *args,
                      struct nof_phased **phased_out)
{
    size_t n = size_of(comm);
    struct nof_type *to, *from;
    int rc = nof_type_check(args->type_to, true, &to);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check(args->type_from, true, &from);
    const int *displs_from = args->finds ? args->found_displs : args->displs_from;
    if (rc == MPI_SUCCESS && (args->displs_to == NULL || displs_from == NULL))
        rc = nof_error(MPI_ERR_ARG, "the displacements are NULL");
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_phased *p = calloc(1, sizeof(*p));
    int *counts = calloc(n, 4 * sizeof(*counts));
    if (p == NULL || counts == NULL) {
        free(p);
        free(counts);
        return no_memory(comm);
    }
    *p = (struct nof_phased){.kind = NOF_COMPILED_ALLTOALLV,
                             .comm = comm,
                             .send_type = to,
                             .recv_type = from,
                             .counts = counts,
                             .unlike = -1};
    memcpy(counts + n, args->displs_to, n * sizeof(*counts));
    if (!args->finds)
        memcpy(counts + 3 * n, displs_from, n * sizeof(*counts));
    nof_comm_hold(comm);
    comm->compiled++;
    nof_type_hold(to);
    nof_type_hold(from);
    *phased_out = p;
    return MPI_SUCCESS;
}

void nof_phased_free(struct nof_phased *phased)
{
    if (phased == NULL)
        return;
    nof_type_release(phased->send_type);
    nof_type_release(phased->recv_type);
    phased->comm->compiled--;
    nof_comm_release(phased->comm);
    free(phased->transfer);
    free(phased->counts);
    free(phased);
}

static int check_counts(const struct nof_comm *comm, const int *counts)
{
    if (counts == NULL)
        return nof_error(MPI_ERR_ARG, "the counts are NULL");
    for (int i = 0; i < nof_comm_size(comm); i++)
        if (counts[i] < 0)
            return nof_error(MPI_ERR_COUNT, "the count of rank %d is %d", i, counts[i]);
    return MPI_SUCCESS;
}

static int take_counts(struct nof_phased *p, const struct nof_phased_args *args)
{
    size_t n = size_of(p->comm);
    int rc = check_counts(p->comm, args->counts_to);
    if (rc == MPI_SUCCESS && !args->finds)
        rc = check_counts(p->comm, args->counts_from);
    if (rc == MPI_SUCCESS && args->finds && args->found_counts == NULL)
        rc = nof_error(MPI_ERR_ARG, "the counts are NULL");
    if (rc == MPI_SUCCESS && args->finds && p->send_type->size != p->recv_type->size)
        rc =
            nof_error(MPI_ERR_TYPE,
                      "elements of %zu bytes are sent and of %zu received: counts that are found are of both",
                      (size_t)p->send_type->size, (size_t)p->recv_type->size);
    if (rc != MPI_SUCCESS)
        return rc;
    memcpy(p->counts, args->counts_to, n * sizeof(*p->counts));
    if (!args->finds)
        memcpy(p->counts + 2 * n, args->counts_from, n * sizeof(*p->counts));
    return MPI_SUCCESS;
}

/* Ends where any rank's arguments are bad, or not about the same pattern. rc: of this rank. all: in each row the word of
 * that rank first, this rank's filled in. */
static int exchange(struct nof_comm *comm, int rc, char *all, size_t row_bytes)
{
    struct said mine, said;
    memcpy(&mine, all + (size_t)comm->rank * row_bytes, sizeof(mine));
    int told = nof_coll_allgather_bytes(comm, all, row_bytes);
    if (rc != MPI_SUCCESS || told != MPI_SUCCESS)
        return rc != MPI_SUCCESS ? rc : told;
    for (int i = 0; i < nof_comm_size(comm); i++) {
        memcpy(&said, all + (size_t)i * row_bytes, sizeof(said));
        if (!said.good)
            return nof_error(MPI_ERR_ARG, "rank %d of the communicator has refused its arguments", i);
        if (said.hash != mine.hash)
            return nof_error(MPI_ERR_ARG, "rank %d of the communicator was given another pattern", i);
    }
    return MPI_SUCCESS;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Hosts become nodes 0, 1, ... in the order of their numbers. */
static int number_nodes(struct pattern *w, const char *all, size_t row_bytes)
{
    size_t n = size_of(w->comm);
    uint64_t *hosts = malloc(n * sizeof(*hosts));
    w->node = malloc(n * sizeof(*w->node));
    if (hosts == NULL || w->node == NULL) {
        free(hosts);
        return no_memory(w->comm);
    }
    for (size_t i = 0; i < n; i++)
        memcpy(&hosts[i], all + i * row_bytes + offsetof(struct said, host), sizeof(hosts[i]));
    qsort(hosts, n, sizeof(*hosts), compare);
    w->nodes = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || hosts[i] != hosts[i - 1])
            hosts[w->nodes++] = hosts[i];
    for (size_t i = 0; i < n; i++) {
        const uint64_t *at = bsearch(all + i * row_bytes + offsetof(struct said, host), hosts, w->nodes,
                                     sizeof(*hosts), compare);
        w->node[i] = at == NULL ? 0 : (uint32_t)(at - hosts);
    }
    free(hosts);
    return MPI_SUCCESS;
}

static int schedule(const struct pattern *w, enum nof_phases_algorithm algorithm,
                    struct nof_phases **phases_out)
{
    size_t n = size_of(w->comm), count = 0;
    struct nof_phases_message *message = malloc(n * n * sizeof(*message));
    if (message == NULL)
        return no_memory(w->comm);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (w->bytes[i * w->row + j] > 0)
                message[count++] =
                    (struct nof_phases_message){w->node[i], w->node[j], w->bytes[i * w->row + j]};
    struct nof_phases_pattern pattern = {w->nodes, message, count};
    int status = nof_phases_schedule(algorithm, &pattern, SMALL_BYTES, phases_out);
    free(message);
    if (status == NOF_EINVAL)
        return nof_error(MPI_ERR_COUNT, "phases are for at most %u hosts and 2^63 bytes",
                         NOF_PHASES_NODES_MAX);
    return status == NOF_OK ? MPI_SUCCESS : no_memory(w->comm);
}

static void add(struct nof_phased *p, int peer, bool sends, uint32_t phase)
{
    p->transfer[p->transfer_count++] = (struct nof_phased_transfer){peer, sends, phase};
}

/* What this rank receives from the ranks of one node, or sends to them. */
static void add_node(struct nof_phased *p, const struct pattern *w, uint32_t node, bool sends, uint32_t phase)
{
    size_t me = (size_t)p->comm->rank;
    for (size_t i = 0; i < size_of(p->comm); i++)
        if (w->node[i] == node && i != me && w->bytes[sends ? me * w->row + i : i * w->row + me] > 0)
            add(p, (int)i, sends, phase);
}

static int deal(struct nof_phased *p, const struct pattern *w, enum nof_phases_algorithm algorithm)
{
    uint32_t here = w->node[p->comm->rank];
    struct nof_phases *phases = NULL;
    p->transfer = malloc(2 * size_of(p->comm) * sizeof(*p->transfer));
    int rc = p->transfer == NULL ? no_memory(p->comm) : schedule(w, algorithm, &phases);
    if (rc != MPI_SUCCESS)
        return rc;
    add_node(p, w, here, false, 0);
    add_node(p, w, here, true, 0);
    for (size_t k = 0; k < phases->phase_count; k++) {
        const struct nof_phase *phase = &phases->phase[k];
        for (size_t i = phase->first_piece; i < phase->first_piece + phase->piece_count; i++) {
            const struct nof_phases_piece *piece = &phases->piece[i];
            if (piece->destination == here)
                add_node(p, w, piece->source, false, (uint32_t)k);
            if (piece->source == here)
                add_node(p, w, piece->destination, true, (uint32_t)k);
        }
    }
    nof_phases_free(phases);
    return MPI_SUCCESS;
}

static void compare_lengths(struct nof_phased *p, const struct pattern *w)
{
    size_t n = size_of(p->comm), me = (size_t)p->comm->rank;
    for (size_t i = 0; i < n; i++)
        if ((uint64_t)p->counts[2 * n + i] * p->recv_type->size > w->bytes[i * w->row + me])
            p->unlike = (int)i;
}

/* Of all ranks, so that all refuse what one cannot be given. */
static int find_counts(struct nof_phased *p, const struct pattern *w)
{
    size_t n = size_of(p->comm), me = (size_t)p->comm->rank, size = p->recv_type->size;
    for (size_t j = 0; j < n; j++) {
        uint64_t at = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t count = size == 0 ? 0 : w->bytes[i * w->row + j] / size;
            if (count > INT_MAX - at)
                return nof_error(MPI_ERR_COUNT, "rank %zu would receive more elements than an int can say",
                                 j);
            if (j == me) {
                p->counts[2 * n + i] = (int)count;
                p->counts[3 * n + i] = (int)at;
            }
            at += count;
        }
    }
    return MPI_SUCCESS;
}

/* Ends it, or has it. */
static int finish(struct nof_phased *p, int rc, struct nof_phased **phased_out)
{
    if (rc == MPI_SUCCESS)
        *phased_out = p;
    else
        nof_phased_free(p);
    return rc;
}

int nof_phased_from_counts(struct nof_comm *comm, const struct nof_phased_args *args,
                           struct nof_phased **phased_out)
{
    size_t n = size_of(comm), row = sizeof(struct said) / 8 + n;
    struct nof_phased *p = NULL;
    enum nof_phases_algorithm algorithm = NOF_PHASES_ALLTOALL;
    uint64_t *all = calloc(n * row, sizeof(*all));
    if (all == NULL)
        return no_memory(comm);
    int rc = new_phased(comm, args, &p);
    if (rc == MPI_SUCCESS)
        rc = take_counts(p, args);
    if (rc == MPI_SUCCESS)
        rc = find_algorithm(&algorithm);
    struct said mine = {nof_launch_host_id(), (uint64_t)algorithm, rc == MPI_SUCCESS};
    if (rc == MPI_SUCCESS && args->finds)
        mine.hash += (1 + (uint64_t)p->recv_type->size) << 8;
    uint64_t *own = all + (size_t)comm->rank * row;
    memcpy(own, &mine, sizeof(mine));
    for (size_t i = 0; rc == MPI_SUCCESS && i < n; i++)
        own[sizeof(mine) / 8 + i] = (uint64_t)p->counts[i] * p->send_type->size;
    struct pattern w = {.comm = comm, .bytes = all + sizeof(mine) / 8, .row = row};
    rc = exchange(comm, rc, (char *)all, row * sizeof(*all));
    if (rc == MPI_SUCCESS && args->finds)
        rc = find_counts(p, &w);
    if (rc == MPI_SUCCESS)
        rc = number_nodes(&w, (char *)all, row * sizeof(*all));
    if (rc == MPI_SUCCESS)
        rc = deal(p, &w, algorithm);
    if (rc == MPI_SUCCESS)
        compare_lengths(p, &w);
    if (rc == MPI_SUCCESS && args->finds) {
        memcpy(args->found_counts, p->counts + 2 * n, n * sizeof(*p->counts));
        memcpy(args->found_displs, p->counts + 3 * n, n * sizeof(*p->counts));
    }
    free(w.node);
    free(all);
    return finish(p, rc, phased_out);
}

/* *bytes_out: the matrix in bytes. */
static int read_matrix(struct nof_phased *p, const int *matrix, uint64_t **bytes_out)
{
    size_t n = size_of(p->comm), me = (size_t)p->comm->rank;
    if (matrix == NULL)
        return nof_error(MPI_ERR_ARG, "the matrix is NULL");
    if (p->send_type->size != p->recv_type->size)
        return nof_error(MPI_ERR_TYPE,
                         "elements of %zu bytes are sent and of %zu received: a matrix is of both",
                         (size_t)p->send_type->size, (size_t)p->recv_type->size);
    *bytes_out = malloc(n * n * sizeof(**bytes_out));
    if (*bytes_out == NULL)
        return no_memory(p->comm);
    for (size_t i = 0; i < n * n; i++) {
        if (matrix[i] < 0)
            return nof_error(MPI_ERR_COUNT, "the count of rank %zu to rank %zu is %d", i / n, i % n,
                             matrix[i]);
        (*bytes_out)[i] = (uint64_t)matrix[i] * p->send_type->size;
    }
    for (size_t i = 0; i < n; i++) {
        p->counts[i] = matrix[me * n + i];
        p->counts[2 * n + i] = matrix[i * n + me];
    }
    return MPI_SUCCESS;
}

/* As exchange(), of a word each. *all_out: everybody's, to be freed. */
static int agree(struct nof_comm *comm, int rc, uint64_t hash, char **all_out)
{
    struct said mine = {nof_launch_host_id(), hash, rc == MPI_SUCCESS};
    *all_out = calloc(size_of(comm), sizeof(mine));
    if (*all_out == NULL)
        return no_memory(comm);
    memcpy(*all_out + (size_t)comm->rank * sizeof(mine), &mine, sizeof(mine));
    return exchange(comm, rc, *all_out, sizeof(mine));
}

int nof_phased_from_matrix(struct nof_comm *comm, const int *matrix, const struct nof_phased_args *args,
                           struct nof_phased **phased_out)
{
    size_t n = size_of(comm);
    struct nof_phased *p = NULL;
    enum nof_phases_algorithm algorithm = NOF_PHASES_ALLTOALL;
    uint64_t *bytes = NULL;
    char *all = NULL;
    int rc = new_phased(comm, args, &p);
    if (rc == MPI_SUCCESS)
        rc = read_matrix(p, matrix, &bytes);
    if (rc == MPI_SUCCESS)
        rc = find_algorithm(&algorithm);
    uint64_t hash = rc == MPI_SUCCESS ? hash_of((uint64_t)algorithm, bytes, n * n * sizeof(*bytes)) : 0;
    rc = agree(comm, rc, hash, &all);
    struct pattern w = {.comm = comm, .bytes = bytes, .row = n};
    if (rc == MPI_SUCCESS)
        rc = number_nodes(&w, all, sizeof(struct said));
    if (rc == MPI_SUCCESS)
        rc = deal(p, &w, algorithm);
    free(w.node);
    free(bytes);
    free(all);
    return finish(p, rc, phased_out);
}

static int check_phases(const struct nof_comm *comm, const struct MPIX_Phases *phases)
{
    int n = nof_comm_size(comm);
    if (phases == NULL || phases->phase_count < 0 || phases->first == NULL || phases->first[0] != 0 ||
        (phases->pair == NULL && phases->first[phases->phase_count] > 0))
        return nof_error(MPI_ERR_ARG, "the phases are not complete");
    if (phases->ranks != n)
        return nof_error(MPI_ERR_ARG, "the phases are of %d ranks, the communicator has %d", phases->ranks,
                         n);
    for (int k = 0; k < phases->phase_count; k++)
        if (phases->first[k + 1] < phases->first[k])
            return nof_error(MPI_ERR_ARG, "phase %d ends before it begins", k);
    for (int i = 0; i < phases->first[phases->phase_count]; i++) {
        const int *pair = phases->pair[i];
        if (pair[0] < 0 || pair[0] >= n || pair[1] < 0 || pair[1] >= n || pair[0] == pair[1])
            return nof_error(MPI_ERR_RANK, "message %d of the phases goes from rank %d to rank %d of %d", i,
                             pair[0], pair[1], n);
    }
    return MPI_SUCCESS;
}

/* One message of the phases that is this rank's. met: how often each peer was, to send to and to receive from. */
static int load_pair(struct nof_phased *p, const int *pair, uint32_t phase, unsigned char *met)
{
    size_t n = size_of(p->comm);
    bool sends = pair[0] == p->comm->rank;
    int peer = pair[sends ? 1 : 0];
    if (!sends && pair[1] != p->comm->rank)
        return MPI_SUCCESS;
    if (met[(sends ? 0 : n) + (size_t)peer]++ > 0)
        return nof_error(MPI_ERR_ARG, "the phases have the message of rank %d to rank %d twice", pair[0],
                         pair[1]);
    add(p, peer, sends, phase);
    return MPI_SUCCESS;
}

static int load(struct nof_phased *p, const struct MPIX_Phases *phases)
{
    size_t n = size_of(p->comm);
    int me = p->comm->rank;
    unsigned char *met = calloc(2, n);
    p->transfer = malloc(2 * n * sizeof(*p->transfer));
    int rc = met == NULL || p->transfer == NULL ? no_memory(p->comm) : MPI_SUCCESS;
    for (int k = 0; rc == MPI_SUCCESS && k < phases->phase_count; k++)
        for (int i = phases->first[k]; rc == MPI_SUCCESS && i < phases->first[k + 1]; i++)
            rc = load_pair(p, phases->pair[i], (uint32_t)k, met);
    for (size_t i = 0; rc == MPI_SUCCESS && i < n; i++)
        if ((int)i != me &&
            ((p->counts[i] > 0 && met[i] == 0) || (p->counts[2 * n + i] > 0 && met[n + i] == 0)))
            rc = nof_error(MPI_ERR_COUNT, "rank %d has a message %s rank %zu, the phases have none", me,
                           p->counts[i] > 0 && met[i] == 0 ? "to" : "from", i);
    free(met);
    return rc;
}

int nof_phased_load(struct nof_comm *comm, const struct MPIX_Phases *phases,
                    const struct nof_phased_args *args, struct nof_phased **phased_out)
{
    struct nof_phased *p = NULL;
    char *all = NULL;
    uint64_t hash = 0;
    int rc = new_phased(comm, args, &p);
    if (rc == MPI_SUCCESS)
        rc = take_counts(p, args);
    if (rc == MPI_SUCCESS)
        rc = check_phases(comm, phases);
    if (rc == MPI_SUCCESS)
        rc = load(p, phases);
    if (rc == MPI_SUCCESS) {
        hash = hash_of(hash, phases->first, ((size_t)phases->phase_count + 1) * sizeof(int));
        hash =
            hash_of(hash, phases->pair, (size_t)phases->first[phases->phase_count] * sizeof(phases->pair[0]));
    }
    rc = agree(comm, rc, hash, &all);
    free(all);
    return finish(p, rc, phased_out);
}

static int blocks_of(const struct nof_phased *p, const void *buf, bool sends, struct nof_blocks *blocks_out)
{
    size_t n = size_of(p->comm);
    const int *counts = p->counts + (sends ? 0 : 2 * n);
    struct nof_type *type = sends ? p->send_type : p->recv_type; /* its handle may be gone */
    int rc = buf == MPI_IN_PLACE
                 ? nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here")
                 : MPI_SUCCESS;
    *blocks_out = (struct nof_blocks){.buf = nof_lib_unconst(buf),
                                      .counts = nof_counts_int(counts),
                                      .displs = nof_counts_int(counts + n),
                                      .type = type};
    for (int i = 0; rc == MPI_SUCCESS && i < (int)n; i++) {
        if (!nof_block_fits(blocks_out, i, type))
            rc = nof_error(MPI_ERR_COUNT, "block %d lies further away than an address can reach", i);
        struct nof_data block = nof_block(blocks_out, i);
        if (rc == MPI_SUCCESS)
            rc = nof_type_check_buffer(type, block.buf, (MPI_Count)block.count);
    }
    return rc;
}

int nof_phased_build(const struct nof_phased *phased, struct nof_sched *s, const void *sendbuf, void *recvbuf,
                     bool phases)
{
    struct nof_blocks send, recv;
    int rc = blocks_of(phased, sendbuf, true, &send);
    if (rc == MPI_SUCCESS)
        rc = blocks_of(phased, recvbuf, false, &recv);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree(s, NOF_CALL_PHASED, 0, phases);
    struct nof_data mine = nof_block(&send, s->rank), own = nof_block(&recv, s->rank);
    rc = nof_coll_check_alias(&mine, &own);
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_copy(s, &mine, &own);
    for (size_t i = 0; i < phased->transfer_count; i++) {
        const struct nof_phased_transfer *t = &phased->transfer[i];
        struct nof_data block = nof_block(t->sends ? &send : &recv, t->peer);
        if (phases && i > 0 && t->phase != t[-1].phase)
            nof_sched_turn(s);
        if (t->sends)
            nof_sched_send(s, block.buf, block.count, block.type, t->peer);
        else
            nof_sched_recv(s, block.buf, block.count, block.type, t->peer);
    }
    return MPI_SUCCESS;
}

int nof_phased_end(const struct nof_phased *phased)
{
    if (phased->unlike < 0)
        return MPI_SUCCESS;
    return nof_error(MPI_ERR_COUNT, "rank %d of the communicator sends less than this rank expects from it",
                     phased->unlike);
}
