/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the plug-in share. Each file knows those before it:
 *
 *   calls.cc    which call is which, what a statement may read and write, reports
 *   arguments.cc  what is given to begin and receive, in C and in Fortran
 *   address.cc  where loads and stores of a nest of loops go: affine addresses
 *   emit.cc     statements, blocks and strips put into the function
 *   send.cc     what can be announced
 *   announce.cc announcing it
 *   recv.cc     what must be waited for
 *   pass.cc     the passes and their order
 *
 * First all sends and receives of a function are judged, then all is inserted: what is inserted is never judged. */
#ifndef NOF_DELTA_HH
#define NOF_DELTA_HH

/* Before GCC's, which poison names that these use. */
#include <set>
#include <string>
#include <vector>

#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "gimple-pretty-print.h"
#include "diagnostic-core.h"
#include "fold-const.h"
#include "gimple-iterator.h"
#include "gimple-walk.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-into-ssa.h"
#include "cfgloop.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-niter.h"
#include "tree-ssa-loop-manip.h"
#include "tree-scalar-evolution.h"
#include "tree-chrec.h"
#include "tree-affine.h"
#include "tree-dfa.h"
#include "tree-phinodes.h"
#include "ssa-iterators.h"
#include "stor-layout.h"
#include "cfganal.h"
#include "cgraph.h"
#include "context.h"
#include "builtins.h"

#include "gcc_delta.h"

/* calls */

enum delta_call {
    CALL_OTHER,
    CALL_SEND_BEGIN,
    CALL_SEND_DATA,
    CALL_SEND_END, /* or the wait, which implies it */
    CALL_RECV,
    CALL_WAIT_DATA,
    CALL_RECV_WAIT,
    CALL_HARMLESS, /* touches no memory that a message lies in */
};

struct delta_options {
    const char *report; /* file, "stderr", or null */
    unsigned strip_bytes;
};
extern delta_options options;

void report_open();
void report(location_t where, const char *kind, const std::string &text);
std::string line_of(location_t where);
/* One line for a begin or receive that stays as it is. */
void refuse(location_t where, const std::string &reason);

bool is_delta_function(const char *name);
delta_call call_kind(const gimple *stmt);
/* The callee as people know it, for reasons. */
std::string describe(gimple *stmt);
/* Never comes back. */
bool is_the_end(gimple *stmt);
/* The same, and none of the program's functions run on its way out. */
bool is_abrupt_end(gimple *stmt);
/* May the message become shorter than its begin says? */
bool shortens(gimple *stmt);
/* Is it a call of MPI, which starts no delta send by itself? */
bool is_mpi_call(gimple *stmt);
/* Is a longjmp, or a call that may return twice. */
bool jumps(gimple *stmt);

/* A message's memory, from its first byte on. */
void message_memory(ao_ref *ref, tree buffer);
bool may_write(gimple *stmt, ao_ref *memory);
bool may_read(gimple *stmt, ao_ref *memory);
/* Is what a begin and an end are given certainly, possibly or never the same request? 1, 0, -1. */
int same_request(gimple *begin, gimple *end);
/* Can only calls of MPI that are given it change the request that the call begins? */
bool request_is_private(gcall *begin);
/* Can the statement put another request into the place of the one that the call begins, or move it elsewhere? `own`:
 * request_is_private(). */
bool may_move_request(gcall *begin, gimple *stmt, bool own);
/* Have both the same value whenever control comes from one to the other without entering a loop around both anew? */
bool same_value(tree a, tree b, int depth = 6);

/* arguments */

bool is_fortran(const gimple *call);
/* The request as the program keeps it. */
tree request_type(const gimple *call);
tree request_at(const gimple *call, tree pointer);
/* The datatype if it is a constant, or null. */
tree constant_type(gcall *call);
/* A value known behind the call; what it needs is inserted in front of it. */
tree message_count(gcall *call);
/* The error that the call returns; what it needs is appended to what comes behind the call. */
tree call_result(gcall *call, gimple_seq *after);
/* The request as the library's functions in C take it. */
tree request_handle(const gimple *call, tree request, gimple_seq *seq);

/* addresses */

/* Products of what is smaller, MAX_STEPS of them, and an address, do not overflow. */
static const unsigned HOST_WIDE_INT MAX_COUNT = (unsigned HOST_WIDE_INT)1 << 32,
                                    MAX_STEP = (unsigned HOST_WIDE_INT)1 << 28,
                                    MAX_ADDRESS = (unsigned HOST_WIDE_INT)1 << 60;
static const size_t MAX_STEPS = 14;
/* A row longer than this is looked at within, too. */
static const HOST_WIDE_INT LONG_ROW_BYTES = 4096;

struct level {
    class loop *loop;
    tree step; /* bytes from one iteration to the next; null: none */
    tree niter; /* how often the latch is taken, invariant in the nest; null: unknown */
};

/* base + sum of step * (number of the iteration), modulo 2^64. */
struct linear {
    tree base;
    std::vector<tree> steps; /* by level; null: none */
    tree root; /* the pointer it begins at */
};

/* A number that must be from 0 to 2^bits - 1 in all iterations. */
struct narrow {
    linear value;
    unsigned bits;
};

/* One load or store, its address as base + sum of step * (number of the iteration), outermost loop first. */
struct mem_access {
    gimple *stmt;
    tree address; /* SSA name made for it */
    HOST_WIDE_INT bytes;
    bool store;
    class loop *loop; /* innermost */
    tree base; /* an integer, invariant in the nest */
    tree root; /* the object, parameter or pointer that the address begins at; null: unknown */
    std::vector<level> levels;
    std::vector<narrow> narrows; /* what must hold for all that */
};

/* Address of a reference as an SSA name in front of its statement. */
tree address_before(gimple *stmt, tree ref);
/* Fills base and levels as seen from before `below`. Returns null, or why not. */
const char *analyze(mem_access *a, edge below, class loop *outermost);
/* Constant difference of bases, if there is one. */
bool base_difference(const mem_access &a, const mem_access &b, HOST_WIDE_INT *bytes_out);
/* The object, parameter or pointer that a pointer begins at. */
tree root_of(tree address);
/* 1, -1, or 0 where the sign is known at run time alone. */
int sign_of(tree step);
/* How often the latch of a loop is taken, known in front of it, of u_type(); null: nobody can tell. All are counted before anything is
 * inserted. */
void count_latches();
tree latch_count(class loop *loop);

/* emitting */

tree u_type();
tree to_u(tree value);
tree u_const(unsigned HOST_WIDE_INT value);
tree u_var(const char *name);
tree plus(tree a, tree b);
tree times(tree a, tree b);
tree negative(tree a);
tree least(tree a, tree b);
tree greatest(tree a, tree b);
/* 1 or 0. */
tree truth(tree_code op, tree a, tree b);
tree both(tree a, tree b);
/* Are the access's numbers small enough for sums of products, no address before the first one, and no step negative whose sign
 * is not known? */
tree in_range(const mem_access &a);
/* Iterations of `step` bytes that make a strip. */
tree strip_iterations(tree step);
/* Appends what computes the expression; returns its value. */
tree compute(gimple_seq *seq, tree expression);
void assign(gimple_seq *seq, tree variable, tree expression);
void insert_on_entry(gimple_seq seq);
void insert_after(gimple *stmt, gimple_seq seq);
void insert_before(gimple *stmt, gimple_seq seq);
/* if (a OP b) { then } behind what `bb` has, which must end without a jump. Returns the block that goes on. */
basic_block append_if(basic_block bb, tree_code op, tree a, tree b, gimple_seq then);
/* A block in front of the statement, that falls through to it. */
basic_block block_before(gimple *stmt);
tree library_function(const char *name, tree type);
gcall *call_send_data(tree request, tree address, tree bytes);
gcall *call_wait_data(tree address, tree bytes);

/* What a loop does at the begin of each strip, and at its end if another one follows. */
struct strip_item {
    bool from_begin; /* begin() must be before each iteration: only loops that can_strip() */

    explicit strip_item(bool from_begin) : from_begin(from_begin)
    {
    }
    virtual ~strip_item()
    {
    }
    /* Iterations of a strip, a value known in front of the loop; null: no matter. */
    virtual tree iterations(gimple_seq *seq, class loop *loop) = 0;
    /* Appends to the block; returns the block that goes on. `first` and `last`: numbers of iterations; last may be null. */
    virtual basic_block begin(basic_block bb, class loop *loop, tree first, tree last) = 0;
    virtual basic_block end(basic_block bb, class loop *loop, tree number) = 0;
};

/* The number of the iteration that a loop is in, from 0 on. Of all loops that an item names, before strips_insert(). */
tree counter(class loop *loop);
bool can_strip(class loop *loop);
/* Registers what is to be done; strips_insert() does it for all loops. */
void strip_add(class loop *loop, strip_item *item);
void strips_insert();

/* sends and receives */

/* Memory of a message at run time: variables of the function that are 0 while there is none. */
struct message {
    gcall *call;
    tree low; /* first byte */
    tree high; /* behind the last one */
    unsigned type_bytes;
};

/* Sets low and high behind the call. */
void message_open(message *m, const char *name);
/* The largest loop around a block that `origin` is not in. */
class loop *nest_around(basic_block bb, basic_block origin);

struct receive;
struct send;
std::vector<send *> judge_sends(const std::vector<gcall *> &begins);
std::vector<receive *> judge_receives(const std::vector<gcall *> &receives,
                                      const std::vector<gcall *> &begins, std::vector<gcall *> *at_once_out);
void insert_sends(std::vector<send *> &sends, const std::vector<receive *> &receives);
/* Their variables, which sends ask for. */
void open_receives(std::vector<receive *> &receives);
void insert_receives(std::vector<receive *> &receives);
/* Without analysis: all of it is waited for behind the receive. */
void receive_at_once(gcall *call);
/* Bytes of a receive that may still be on their way, at run time: [from, to). */
void outstanding(const receive *r, tree *from, tree *to);
/* Type of the message's elements; 0 with the reason. */
unsigned element_bytes(gcall *call, const char **reason);

#endif
