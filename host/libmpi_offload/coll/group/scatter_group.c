/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/group/scatter_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/wait.h"
#include "coll/agree.h"
#include "coll/coll_abort.h"
#include "coll/coll_args.h"

#define FIRST_MESSAGE 1u /* of a group: its opening */
#define HEAD_WORDS 2u /* before the sizes */

enum word { GOOD, REFUSED, LONGER, SHORTER }; /* what a rank says of its arguments */

static uint32_t last_epoch;

static int no_memory(void)
{
    return nof_error(MPI_ERR_NO_MEM, "no memory for a multicast group");
}

static size_t size_of(const struct nof_comm *comm)
{
    return (size_t)nof_comm_size(comm);
}

static bool takes_part(const struct nof_scatter_group *h, int rank)
{
    return rank == h->root || h->sizes[rank] > 0;
}

static size_t expected(const struct nof_scatter_group *h)
{
    return h->recv_type == NULL ? 0 : h->recv_count * h->recv_type->size;
}

static int take_send(struct nof_scatter_group *h, const struct nof_scatter_args *args)
{
    size_t n = size_of(h->comm);
    struct nof_type *type;
    ptrdiff_t total = 0, bytes;
    int rc = nof_type_check(args->send_type, true, &type);
    if (rc == MPI_SUCCESS && (args->counts == NULL || args->displs == NULL))
        rc = nof_error(MPI_ERR_ARG, "the counts or displacements are NULL");
    for (size_t i = 0; rc == MPI_SUCCESS && i < n; i++) {
        rc = nof_type_check_count(type, args->counts[i]);
        if (rc == MPI_SUCCESS && (__builtin_mul_overflow(args->counts[i], type->size, &bytes) ||
                                  __builtin_add_overflow(total, bytes, &total)))
            rc = nof_error(MPI_ERR_COUNT, "the blocks up to number %zu are more than a memory can hold", i);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    h->counts = malloc(2 * n * sizeof(*h->counts));
    if (h->counts == NULL)
        return no_memory();
    h->displs = h->counts + n;
    memcpy(h->counts, args->counts, n * sizeof(*h->counts));
    memcpy(h->displs, args->displs, n * sizeof(*h->displs));
    h->send_type = type;
    nof_type_hold(type);
    return MPI_SUCCESS;
}

static int take_args(struct nof_scatter_group *h, const struct nof_scatter_args *args)
{
    bool root = h->comm->rank == h->root;
    struct nof_type *type;
    int rc = root ? take_send(h, args) : MPI_SUCCESS;
    if (rc != MPI_SUCCESS || (root && args->recv_type == MPI_DATATYPE_NULL))
        return rc;
    rc = nof_type_check(args->recv_type, true, &type);
    if (rc == MPI_SUCCESS)
        rc = nof_type_check_count(type, args->recv_count);
    if (rc == MPI_SUCCESS) {
        h->recv_type = type;
        h->recv_count = (size_t)args->recv_count;
        nof_type_hold(type);
    }
    return rc;
}

void nof_scatter_group_release(struct nof_scatter_group *h)
{
    if (--h->holds > 0)
        return;
    if (nof_chan_to_all->groups != NULL)
        nof_chan_to_all->groups->close(&h->nic);
    if (h->send_type != NULL)
        nof_type_release(h->send_type);
    if (h->recv_type != NULL)
        nof_type_release(h->recv_type);
    nof_group_members_free(&h->members);
    if (h->compiled)
        nof_kept_goes(&h->comm->kept, h->kept_at);
    nof_comm_release(h->comm);
    free(h->counts);
    free(h->sizes);
    free(h);
}

/* Without members. */
static struct nof_scatter_group *new_group(struct nof_comm *comm, int root, bool compiled)
{
    struct nof_scatter_group *h = calloc(1, sizeof(*h));
    uint64_t *sizes = calloc(size_of(comm), sizeof(*sizes));
    if (h == NULL || sizes == NULL) {
        free(h);
        free(sizes);
        return NULL;
    }
    *h = (struct nof_scatter_group){.kind = NOF_COMPILED_SCATTERV,
                                    .holds = 1,
                                    .comm = comm,
                                    .root = root,
                                    .compiled = compiled,
                                    .sizes = sizes,
                                    .kept_at = NOF_KEPT_NO_PLACE,
                                    .number = FIRST_MESSAGE + 1};
    nof_comm_hold(comm);
    return h;
}

/* The root tells everybody the sizes, whether its arguments are good, and the epoch. rc: of this rank's. */
static int hear_root(struct nof_scatter_group *h, int rc, uint32_t *epoch_out)
{
    size_t n = size_of(h->comm), bytes = (HEAD_WORDS + n) * sizeof(uint64_t);
    bool root = h->comm->rank == h->root;
    uint64_t *told = calloc(HEAD_WORDS + n, sizeof(*told));
    if (told == NULL)
        return no_memory();
    if (root) {
        told[0] = rc == MPI_SUCCESS;
        told[1] = ++last_epoch;
    }
    for (size_t i = 0; root && rc == MPI_SUCCESS && i < n; i++)
        if (i != (size_t)h->root)
            told[HEAD_WORDS + i] = (uint64_t)h->counts[i] * h->send_type->size;
    int heard = nof_coll_group_tell(h->comm, told, bytes, h->root);
    if (heard == MPI_SUCCESS && !told[0])
        heard = nof_error(MPI_ERR_ARG, "the root, rank %d of the communicator, has refused its arguments",
                          h->root);
    *epoch_out = (uint32_t)told[1];
    memcpy(h->sizes, told + HEAD_WORDS, n * sizeof(*told));
    free(told);
    return heard;
}

/* All ranks hear whether all arguments are good, and the same. rc: of this rank's. */
static int compare(const struct nof_scatter_group *h, int rc)
{
    size_t n = size_of(h->comm);
    uint64_t *word = calloc(n, sizeof(*word)), mine = h->sizes[h->comm->rank];
    if (word == NULL)
        return no_memory();
    word[h->comm->rank] = rc != MPI_SUCCESS          ? REFUSED
                          : h->comm->rank == h->root ? GOOD
                          : mine > expected(h)       ? LONGER
                          : mine < expected(h)       ? SHORTER
                                                     : GOOD;
    int told = nof_coll_allgather_bytes(h->comm, word, sizeof(*word));
    for (size_t i = 0; told == MPI_SUCCESS && i < n; i++)
        if (word[i] == REFUSED)
            told = nof_error(MPI_ERR_ARG, "rank %zu of the communicator has refused its arguments", i);
        else if (word[i] != GOOD)
            told = nof_error(word[i] == LONGER ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT,
                             "the root has %llu bytes for rank %zu of the communicator, which expects %s",
                             (unsigned long long)h->sizes[i], i, word[i] == LONGER ? "fewer" : "more");
    free(word);
    return rc != MPI_SUCCESS ? rc : told;
}

/* One byte from each that takes part to the root, or back. */
static int exchange(const struct nof_scatter_group *h, unsigned char *all, bool to_root)
{
    struct nof_sched *s = nof_sched_new(h->comm);
    int rank = h->comm->rank;
    if (s != NULL)
        nof_coll_agree(s, NOF_CALL_SCATTER_GROUP, h->root, to_root);
    for (int i = 0; s != NULL && takes_part(h, rank) && i < s->size; i++) {
        int peer = rank == h->root ? i : h->root;
        bool met = i != h->root && takes_part(h, i) && (rank == h->root || rank == i);
        if (met && (rank == h->root) == to_root)
            nof_sched_recv(s, &all[i], 1, nof_type_byte(), peer);
        else if (met)
            nof_sched_send(s, &all[i], 1, nof_type_byte(), peer);
    }
    return nof_sched_run(s);
}

static bool is_member(const struct nof_scatter_group *h)
{
    int of = h->members.count > 0 ? h->members.of[h->comm->rank] : -1;
    return of >= 0 && h->members.rank[of] == h->comm->rank;
}

/* This rank does its part; false: it cannot. */
static bool begin_group(struct nof_scatter_group *h, const bool *part, uint32_t epoch)
{
    struct nof_group_members *m = &h->members;
    struct nof_wait wait = NOF_WAIT_START;
    if (!nof_chan_to_all->groups->wanted() ||
        nof_group_members_find(m, h->comm, part, h->root) != MPI_SUCCESS ||
        m->count < NOF_GROUP_MEMBERS_MIN || m->count > NOF_GROUP_MEMBERS_MAX)
        return false;
    if (!is_member(h))
        return true;
    nof_group_members_open(m, h->comm, &h->nic, FIRST_MESSAGE, epoch);
    while (h->nic.opening != NULL && !h->nic.taken)
        nof_wait_step(&wait);
    return h->nic.taken;
}

/* Until the group that this rank has begun is open or cannot be; or somebody has died, or failed and closed it at its side. */
static void wait_until_open(const struct nof_scatter_group *h, uint32_t failures)
{
    struct nof_wait wait = NOF_WAIT_START;
    while (h->nic.opening != NULL && nof_chan_dead_member(h->comm) == MPI_UNDEFINED &&
           nof_coll_abort_remembered() == failures)
        nof_wait_step(&wait);
}

/* All that take part hear whether all of them do, and then whether they hear each other. */
static int form(struct nof_scatter_group *h, uint32_t epoch)
{
    size_t n = size_of(h->comm);
    uint32_t failures = nof_coll_abort_remembered();
    bool *part = calloc(n, sizeof(*part));
    unsigned char *said = calloc(n, 1);
    int rank = h->comm->rank, rc = part == NULL || said == NULL ? no_memory() : MPI_SUCCESS;
    for (size_t i = 0; rc == MPI_SUCCESS && i < n; i++)
        part[i] = takes_part(h, (int)i);
    if (rc == MPI_SUCCESS)
        said[rank] = part[rank] && begin_group(h, part, epoch);
    if (rc == MPI_SUCCESS)
        rc = exchange(h, said, true);
    if (rc == MPI_SUCCESS && rank == h->root) {
        unsigned char all = 1;
        for (size_t i = 0; i < n; i++)
            all &= !part[i] || said[i] != 0;
        if (all)
            wait_until_open(h, failures);
        memset(said, all && h->nic.open, n);
    }
    if (rc == MPI_SUCCESS)
        rc = exchange(h, said, false);
    h->multicast = rc == MPI_SUCCESS && part[rank] && said[rank] != 0;
    if (h->multicast) /* where the root says so it is, and the NIC has told */
        wait_until_open(h, failures);
    if (!h->multicast)
        nof_chan_to_all->groups->close(&h->nic);
    free(part);
    free(said);
    return rc;
}

int nof_scatter_group_open(struct nof_comm *comm, const struct nof_scatter_args *args, bool compiled,
                           struct nof_scatter_group **group_out)
{
    uint32_t epoch = 0;
    if (args->root < 0 || args->root >= nof_comm_size(comm))
        return nof_error(MPI_ERR_ROOT, "root %d in a communicator of %d", args->root, nof_comm_size(comm));
    struct nof_scatter_group *h = new_group(comm, args->root, compiled);
    if (h == NULL)
        return no_memory();
    int rc = take_args(h, args);
    if (compiled) {
        h->kept_at = nof_kept_make(&comm->kept);
        if (rc == MPI_SUCCESS && h->kept_at == NOF_KEPT_NO_PLACE)
            rc = nof_kept_no_place();
    }
    if (rc == MPI_SUCCESS || compiled) {
        int heard = hear_root(h, rc, &epoch);
        if (heard != MPI_SUCCESS)
            rc = rc != MPI_SUCCESS ? rc : heard;
        else if (compiled)
            rc = compare(h, rc);
    }
    if (rc == MPI_SUCCESS && compiled && !takes_part(h, comm->rank))
        nof_kept_begins(&comm->kept, h->kept_at, NOF_KEPT_UNKNOWN);
    if (rc == MPI_SUCCESS && nof_chan_to_all->groups != NULL)
        rc = form(h, epoch);
    if (rc != MPI_SUCCESS) {
        nof_scatter_group_release(h);
        return rc;
    }
    *group_out = h;
    return MPI_SUCCESS;
}

/* The blocks of a call at the root. */
static int check_blocks(const struct nof_scatter_group *h, const void *buf, struct nof_blocks *blocks_out)
{
    *blocks_out = (struct nof_blocks){.buf = nof_lib_unconst(buf),
                                      .counts = nof_counts_int(h->counts),
                                      .displs = nof_counts_int(h->displs),
                                      .type = h->send_type};
    if (buf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here");
    for (int i = 0; i < nof_comm_size(h->comm); i++) {
        if (!nof_block_fits(blocks_out, i, h->send_type))
            return nof_error(MPI_ERR_COUNT, "block %d lies further away than an address can reach", i);
        struct nof_data block = nof_block(blocks_out, i);
        int rc = nof_type_check_buffer(h->send_type, block.buf, (MPI_Count)block.count);
        if (rc != MPI_SUCCESS)
            return rc;
    }
    return MPI_SUCCESS;
}

/* *recv_out: where this rank's block goes; its type is NULL where it stays. */
static int check_recv(const struct nof_scatter_group *h, void *buf, struct nof_data *recv_out)
{
    bool root = h->comm->rank == h->root;
    *recv_out = (struct nof_data){buf, h->recv_count, h->recv_type};
    if (root && buf == MPI_IN_PLACE) {
        recv_out->type = NULL;
        return MPI_SUCCESS;
    }
    if (buf == MPI_IN_PLACE)
        return nof_error(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed for this buffer here");
    if (h->recv_type == NULL)
        return nof_error(MPI_ERR_TYPE, "the group was opened without a type for the root's own block, which "
                                       "is for MPI_IN_PLACE alone");
    return nof_type_check_buffer(h->recv_type, buf, (MPI_Count)h->recv_count);
}

/* Where the block of `rank` lies in the message: those on the root's host are not in it. */
static size_t place_of(const struct nof_scatter_group *h, int rank)
{
    uint64_t at = 0;
    for (int i = 0; i < rank; i++)
        at += h->members.of[i] > 0 ? h->sizes[i] : 0;
    return (size_t)at;
}

/* The root: one message, and one to each rank beside it. */
static void send_group(const struct nof_scatter_group *h, struct nof_sched *s, const struct nof_blocks *send,
                       const struct nof_group_step *step)
{
    size_t total = place_of(h, s->size), at = 0;
    char *packed = nof_sched_temporary(s, total, nof_type_byte());
    for (int i = 0; i < s->size; i++) {
        struct nof_data block = nof_block(send, i);
        if (h->members.of[i] > 0) {
            nof_coll_pack(s, &block, packed + at, (size_t)h->sizes[i]);
            at += (size_t)h->sizes[i];
        } else if (i != h->root) {
            nof_coll_send(s, &block, i);
        }
    }
    nof_sched_multicast(s, &(struct nof_data){packed, total, nof_type_byte()}, step, true, h->root);
}

/* Another rank: the message, or from the member of its host what it has for it. */
static void receive_group(const struct nof_scatter_group *h, struct nof_sched *s, const struct nof_data *recv,
                          const struct nof_group_step *step)
{
    int of = h->members.of[s->rank], leader = h->members.rank[of];
    if (leader != s->rank) {
        nof_coll_recv(s, recv, leader);
        return;
    }
    size_t total = place_of(h, s->size);
    char *packed = nof_sched_temporary(s, total, nof_type_byte());
    nof_sched_multicast(s, &(struct nof_data){packed, total, nof_type_byte()}, step, false, h->root);
    nof_sched_fence(s);
    nof_coll_unpack(s, packed + place_of(h, s->rank), recv);
    for (int i = 0; i < s->size; i++)
        if (i != s->rank && h->members.of[i] == of)
            nof_sched_send(s, packed + place_of(h, i), (size_t)h->sizes[i], nof_type_byte(), i);
}

static void build(struct nof_scatter_group *h, struct nof_sched *s, const struct nof_blocks *send,
                  const struct nof_data *recv)
{
    const struct nof_data *into = recv->type == NULL ? NULL : recv;
    bool root = s->rank == h->root;
    nof_bcast_count(h->multicast ? NOF_BCAST_GROUP : NOF_BCAST_GROUP_UNICAST);
    if (!h->multicast) {
        nof_coll_build_scatterv(s, send, into, h->root);
        return;
    }
    struct nof_group_step step = {
        .group = &h->nic, .number = h->number++, .member = nof_comm_peer_world(h->comm, h->root)};
    if (root && into != NULL) {
        struct nof_data own = nof_block(send, h->root);
        nof_coll_copy(s, &own, into);
    }
    if (root)
        send_group(h, s, send, &step);
    else
        receive_group(h, s, into, &step);
}

int nof_scatter_group_move(struct nof_scatter_group *h, struct nof_sched *s, const void *sendbuf,
                           void *recvbuf)
{
    bool root = s->rank == h->root;
    struct nof_blocks send;
    struct nof_data recv;
    size_t bytes = (size_t)h->sizes[s->rank];
    if (h->compiled && !takes_part(h, s->rank))
        return MPI_SUCCESS;
    int rc = root ? check_blocks(h, sendbuf, &send) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        rc = check_recv(h, recvbuf, &recv);
    if (rc == MPI_SUCCESS && root && recv.type != NULL) {
        struct nof_data own = nof_block(&send, h->root);
        rc = nof_coll_check_alias(&own, &recv);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    nof_coll_agree(s, NOF_CALL_SCATTER_GROUP, h->root, 2);
    if (h->compiled) {
        s->kept = true;
        s->kept_at = h->kept_at;
        s->number = h->moved++;
    }
    if (!root && bytes != expected(h)) { /* of a dynamic one: it goes nowhere */
        s->too_long = nof_coll_other_size(bytes, expected(h));
        recv = (struct nof_data){nof_sched_temporary(s, bytes, nof_type_byte()), bytes, nof_type_byte()};
    }
    if (takes_part(h, s->rank))
        build(h, s, root ? &send : NULL, &recv);
    return MPI_SUCCESS;
}

static void close_one(void *object, void *count)
{
    struct nof_scatter_group *h = object;
    if (h->kind != NOF_COMPILED_SCATTERV)
        return;
    *(unsigned *)count += h->comm->rank == h->root;
    if (nof_chan_to_all->groups != NULL)
        nof_chan_to_all->groups->close(&h->nic);
}

void nof_scatter_group_close_all(void)
{
    unsigned count = 0;
    nof_handle_each(&nof_lib.colls, close_one, &count);
    if (count > 0)
        fprintf(
            stderr,
            "libmpi_offload: rank %d on %s: MPI_Finalize: %u group%s of MPIX_Scatterv_open_group left open: "
            "closed (MPIX_Scatterv_close_group does it in time)\n",
            nof_lib.world_rank, nof_lib.host, count, count == 1 ? "" : "s");
}
