/* SPDX-License-Identifier: BSD-3-Clause */
#include "recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* Of a communicator, kept with it as an attribute: a number that is not given twice. */
struct comm_facts {
    uint32_t number;
    int n;
    int *world_rank; /* NULL: not known, ranks are the communicator's own */
    bool is_inter, asked; /* two groups; nof_record_members() has been called */
};

/* Where a file of the program lies in memory. */
struct range {
    uintptr_t begin, end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what is known of communicators */
static int recording = -1;
static struct range program, bindings;
static int keyval = MPI_KEYVAL_INVALID;
static uint32_t comms = 1;

/* A library of ours that the program has, also one that it opened for itself alone; NULL: none. */
static void *library(void)
{
    static const char *const names[] = {"libmpi_offload.so.0", "libmpi_abi.so.1", "libmpi_abi.so.0"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *opened = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);

        if (opened != NULL && dlsym(opened, "nof_fortran_hooks") != NULL)
            return opened;
    }
    return NULL;
}

void *nof_record_find(const char *name)
{
    void *ours = library();
    void *found = ours != NULL ? dlsym(ours, name) : dlsym(RTLD_NEXT, name);

    if (found == NULL) {
        fprintf(stderr,
                "nof record: the program's MPI library has no %s behind its MPI_%s: it cannot be recorded\n",
                name, name + 5);
        abort();
    }
    return found;
}

static struct range range_around(void *address)
{
    struct dl_find_object found;

    if (address == NULL || _dl_find_object(address, &found) != 0)
        return (struct range){0};
    return (struct range){(uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end};
}

static void find_ranges(void)
{
    void *fortran = dlopen("libmpi_offload_fortran.so.0", RTLD_LAZY | RTLD_NOLOAD);
    uintptr_t headers = getauxval(AT_PHDR); /* those of the program, in its first page */

    program = range_around((void *)headers);
    if (fortran != NULL)
        bindings = range_around(dlsym(fortran, "mpi_send_"));
}

bool nof_record_on(void)
{
    int now = __atomic_load_n(&recording, __ATOMIC_ACQUIRE);

    if (now < 0) {
        find_ranges();
        now = library() != NULL && nof_trace_open();
        __atomic_store_n(&recording, now, __ATOMIC_RELEASE);
    }
    return now != 0;
}

static bool within(const struct range *r, uintptr_t at)
{
    return at >= r->begin && at < r->end;
}

/* The bindings are built with frame pointers, as this library is, so their frames can be walked. */
uint64_t nof_record_site(void *const *frame)
{
    uintptr_t at = (uintptr_t)frame[1];

    for (int i = 0; i < 16 && within(&bindings, at); i++) {
        frame = (void *const *)frame[0];
        at = (uintptr_t)frame[1];
    }
    return within(&program, at) ? at - program.begin : at;
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    struct comm_facts *facts = value;

    (void)comm;
    (void)key;
    (void)extra;
    free(facts->world_rank);
    free(facts);
    return MPI_SUCCESS;
}

static bool is_inter(MPI_Comm comm)
{
    int inter;

    return REAL(Comm_test_inter)(comm, &inter) != MPI_SUCCESS || inter;
}

bool nof_record_has_world(void)
{
    int initialized = 0;

    REAL(Initialized)(&initialized);
    return initialized;
}

static int *world_ranks(MPI_Comm comm, int *n_out)
{
    MPI_Group group, world;
    int n;

    *n_out = 0;
    if (!nof_record_has_world())
        return NULL;
    if (is_inter(comm))
        REAL(Comm_remote_group)(comm, &group);
    else
        REAL(Comm_group)(comm, &group);
    REAL(Comm_group)(MPI_COMM_WORLD, &world);
    REAL(Group_size)(group, &n);
    int *all = calloc((size_t)n + 1, 2 * sizeof(*all)); /* the second half: 0, 1, ... to translate */
    if (all != NULL) {
        for (int i = 0; i < n; i++)
            all[n + i] = i;
        REAL(Group_translate_ranks)(group, n, all + n, world, all);
        *n_out = n;
    }
    REAL(Group_free)(&group);
    REAL(Group_free)(&world);
    return all;
}

/* Called with the lock. */
static struct comm_facts *facts_of(MPI_Comm comm)
{
    static struct comm_facts nothing; /* stays so */
    struct comm_facts *facts = NULL;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID)
        REAL(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    if (REAL(Comm_get_attr)(comm, keyval, &facts, &found) != MPI_SUCCESS)
        return &nothing;
    if (found)
        return facts;
    facts = calloc(1, sizeof(*facts));
    if (facts == NULL)
        return &nothing;
    facts->number = comm == MPI_COMM_WORLD ? 0 : comms++;
    facts->world_rank = world_ranks(comm, &facts->n);
    facts->is_inter = is_inter(comm);
    REAL(Comm_set_attr)(comm, keyval, facts);
    return facts;
}

uint32_t nof_record_comm_number(MPI_Comm comm)
{
    pthread_mutex_lock(&lock);
    uint32_t number = facts_of(comm)->number;
    pthread_mutex_unlock(&lock);
    return number;
}

int nof_record_world_rank(MPI_Comm comm, int rank)
{
    pthread_mutex_lock(&lock);
    const struct comm_facts *facts = facts_of(comm);
    int world = rank >= 0 && rank < facts->n && facts->world_rank[rank] >= 0 ? facts->world_rank[rank] : rank;
    pthread_mutex_unlock(&lock);
    return world;
}

const int *nof_record_members(MPI_Comm comm, uint32_t *number_out, int *n_out, bool *first_out)
{
    pthread_mutex_lock(&lock);
    struct comm_facts *facts = facts_of(comm);
    const int *members = facts->is_inter ? NULL : facts->world_rank;
    if (members != NULL) {
        *number_out = facts->number;
        *n_out = facts->n;
        *first_out = !facts->asked;
        facts->asked = true;
    }
    pthread_mutex_unlock(&lock);
    return members;
}

bool nof_record_is_double(MPI_Datatype type)
{
    return type == MPI_DOUBLE || type == MPI_DOUBLE_PRECISION || type == MPI_REAL8 ||
           type == MPI_C_DOUBLE_COMPLEX || type == MPI_DOUBLE_COMPLEX || type == MPI_COMPLEX16 ||
           type == MPI_CXX_DOUBLE_COMPLEX || type == MPI_2DOUBLE_PRECISION;
}

static void free_derived(MPI_Datatype *type)
{
    int integers, addresses, types, combiner;

    if (REAL(Type_get_envelope)(*type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
        combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
        combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
        REAL(Type_free)(type);
}

bool nof_record_is_doubles(MPI_Datatype type)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;
    bool all = true;

    if (nof_record_is_double(type))
        return true;
    if (REAL(Type_get_envelope_c)(type, &integers, &addresses, &counts, &types, &combiner) != MPI_SUCCESS ||
        combiner == MPI_COMBINER_NAMED || types == 0)
        return false;
    int *integer = calloc((size_t)integers + 1, sizeof(*integer));
    MPI_Aint *address = calloc((size_t)addresses + 1, sizeof(*address));
    MPI_Count *count = calloc((size_t)counts + 1, sizeof(*count));
    MPI_Datatype *inner = calloc((size_t)types + 1, sizeof(*inner));
    if (integer == NULL || address == NULL || count == NULL || inner == NULL ||
        REAL(Type_get_contents_c)(type, integers, addresses, counts, types, integer, address, count, inner) !=
            MPI_SUCCESS) {
        all = false;
        types = 0;
    }
    for (MPI_Count i = 0; i < types; i++) {
        all = all && nof_record_is_doubles(inner[i]);
        free_derived(&inner[i]);
    }
    free(integer);
    free(address);
    free(count);
    free(inner);
    return all;
}

uint64_t nof_record_len_bytes(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;

    REAL(Type_size_c)(type, &size);
    return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}
