/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes: what a buffer is made of.
 *
 *   type  = size, bounds, and a tree that says where the bytes lie
 *   tree  = LEAF    n elements of elem_bytes, one after the other
 *         | LOOP    count times the child, stride bytes apart
 *         | LIST    children at displacements, in the order of the type map
 *
 *   contents = the constructor's arguments, for MPI_Type_get_contents (type_contents.h)
 *
 * Trees are normalized when they are built (neighbouring leaves merge, loops of one are dropped,
 * dense loops of a leaf become a leaf), immutable and shared by reference count. A walk can start
 * and stop at any byte of the packed stream, so a message can be streamed in pieces.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_TYPE_H
#define NOF_MPI_TYPE_H

#include "base/lib.h"
#include "nof/reductions.h"

/* Nesting of LOOP and LIST beyond which a constructor answers MPI_ERR_INTERN: walks recurse. */
#define NOF_TREE_DEPTH_MAX 512

enum nof_tree_kind { NOF_TREE_LEAF, NOF_TREE_LOOP, NOF_TREE_LIST };

/* How an element travels as external32 (type_external.c): its unit is turned round and, for those after
 * NOF_EXT_16, has another size there. An element may be several units (complex numbers). */
enum nof_ext {
    NOF_EXT_1,
    NOF_EXT_2,
    NOF_EXT_4,
    NOF_EXT_8,
    NOF_EXT_16,
    NOF_EXT_LONG, /* 8 bytes here, 4 there */
    NOF_EXT_UNSIGNED_LONG,
    NOF_EXT_WCHAR, /* 4 bytes here, 2 there */
    NOF_EXT_LONG_DOUBLE, /* 80 bits in 16 bytes here, binary128 there */
};

struct nof_tree;

struct nof_tree_child {
    ptrdiff_t disp; /* bytes */
    size_t start; /* packed bytes before it */
    struct nof_tree *tree;
};

struct nof_tree {
    enum nof_tree_kind kind;
    bool dense; /* one block, in order: [lb, lb + size) */
    uint32_t refs;
    uint32_t depth;
    size_t size; /* packed bytes */
    size_t elements; /* basic elements */
    ptrdiff_t lb; /* lowest byte touched; 0 when size is 0 */
    ptrdiff_t ub; /* one after the highest byte touched */
    union {
        struct {
            size_t elem_bytes;
            size_t count;
            enum nof_ext ext;
        } leaf;
        struct {
            size_t count;
            ptrdiff_t stride;
            struct nof_tree *child;
        } loop;
        struct {
            size_t count;
            struct nof_tree_child *child;
        } list;
    };
};

struct nof_type_contents;

struct nof_type;

/* What the NIC calls the type's layout (chan_layout.c). */
struct nof_type_layout {
    uint32_t name;
    uint32_t generation;
    /* Whoever knows the layout is told that nobody holds the type any more; NULL: nobody knows it. */
    void (*forget)(const struct nof_type *type);
    bool fast; /* faster than packing whatever the size */
    enum { NOF_LAYOUT_NONE, NOF_LAYOUT_ASKED, NOF_LAYOUT_READY } state;
};

struct nof_type {
    uint32_t refs;
    uint32_t align; /* bytes: the strictest of its elements */
    bool predefined; /* also those of MPI_Type_create_f90_real and its like */
    bool committed;
    bool contiguous; /* any number of elements is one block, starting at lb of the tree */
    bool bounded; /* lb and ub were set by hand somewhere inside, and override all others */
    enum nof_reduce_type basic; /* of a predefined type: what it is for operations and the NIC's codec */
    enum nof_reduce_type uniform; /* what all basic elements are, NONE if they differ */
    size_t size;
    ptrdiff_t lb;
    ptrdiff_t ub;
    struct nof_tree *tree;
    struct nof_type_contents *contents; /* NULL: a named type */
    struct nof_type_layout layout;
    struct nof_type *next_dead; /* while a chain of types is released */
    MPI_Datatype handle;
    struct nof_attr *attrs;
    char name[MPI_MAX_OBJECT_NAME];
};

static inline ptrdiff_t nof_type_extent(const struct nof_type *type)
{
    return type->ub - type->lb;
}

/* Packed bytes of `count` elements. False, and nothing written, when no memory could be that large. */
static inline bool nof_type_bytes(const struct nof_type *type, size_t count, size_t *bytes_out)
{
    ptrdiff_t bytes;
    if (__builtin_mul_overflow(type->size, count, &bytes))
        return false;
    *bytes_out = (size_t)bytes;
    return true;
}

/* Of type_life.c. */

void nof_type_hold(struct nof_type *type);
void nof_type_release(struct nof_type *type);

/* type.c: predefined types, checks. */

/* Fill in the table of predefined types. Returns 0, or -1 when memory is short. */
int nof_type_init(void);

/* Type behind a handle, with the error the standard names. committed: it must be so too. */
int nof_type_check(MPI_Datatype handle, bool committed, struct nof_type **type_out);

/* A count that is negative, or of more bytes than a memory can hold, is MPI_ERR_COUNT. */
int nof_type_check_count(const struct nof_type *type, MPI_Count count);

/* A buffer that is NULL is MPI_ERR_BUFFER where data lies in it: not if there is none, nor where the type's
 * displacements are addresses (MPI_BOTTOM, which is NULL, is its base). One whose elements lie further apart than
 * addresses can is MPI_ERR_COUNT. */
int nof_type_check_buffer(const struct nof_type *type, const void *buf, MPI_Count count);

/* The three of them: a committed type, its count, and where its data lies. */
int nof_type_check_data(MPI_Datatype handle, const void *buf, MPI_Count count, struct nof_type **type_out);

/* Handles of predefined types (MPI 5.0, A.3). */
#define NOF_TYPE_PREDEFINED 0x200u
#define NOF_TYPE_PREDEFINED_COUNT 0x100u

/* Bytes of each predefined type without holes, 0 for others. */
extern uint8_t nof_type_plain[NOF_TYPE_PREDEFINED_COUNT] __attribute__((visibility("hidden")));
/* Likewise, by its handle; 0: of another type, or of none. */
static inline size_t nof_type_plain_bytes(MPI_Datatype handle)
{
    uint64_t number = nof_lib_bits(handle) - NOF_TYPE_PREDEFINED;
    return number < NOF_TYPE_PREDEFINED_COUNT ? nof_type_plain[number] : 0;
}

/* A predefined type by its handle. */
struct nof_type *nof_type_predefined(MPI_Datatype handle);

/* A predefined type without holes of that kind; NULL for NOF_REDUCE_NONE and for pairs with holes. */
struct nof_type *nof_type_of_basic(enum nof_reduce_type basic);

struct nof_type *nof_type_byte(void); /* MPI_BYTE: what the library itself sends */

struct nof_type_block {
    ptrdiff_t disp; /* bytes */
    size_t count; /* of type, extents apart */
    struct nof_type *type;
};

/* type_tree.c: each returns a reference of its own, or NULL: too deep or no memory. */
struct nof_tree *nof_tree_leaf(size_t elem_bytes, size_t count, enum nof_ext ext);
/* `count` times `child`, `stride` apart. */
struct nof_tree *nof_tree_loop(size_t count, ptrdiff_t stride, struct nof_tree *child);
struct nof_tree *nof_tree_list(size_t count, const struct nof_type_block *blocks);
struct nof_tree *nof_tree_hold(struct nof_tree *tree);
/* NULL is fine. */
void nof_tree_release(struct nof_tree *tree);

/* type_make.c: constructors. Each returns a new uncommitted type, or NULL: too deep or no
 * memory. Arguments are checked by the callers; old types are held by the tree's references. */

/* Whether size and bounds of what the constructor of the same name would make can be said at all; the
 * constructors take it for granted. */
bool nof_type_vector_fits(size_t count, size_t blocklength, ptrdiff_t stride_bytes,
                          const struct nof_type *old);
bool nof_type_blocks_fit(size_t count, const struct nof_type_block *blocks);

/* Neither says anything of the padding at the end of a struct: nof_type_pad() adds it. */
struct nof_type *nof_type_vector(size_t count, size_t blocklength, ptrdiff_t stride_bytes,
                                 struct nof_type *old);
struct nof_type *nof_type_blocks(size_t count, const struct nof_type_block *blocks);
struct nof_type *nof_type_resized(struct nof_type *old, ptrdiff_t lb, ptrdiff_t extent);

/* The same type once more, uncommitted and without a name. */
struct nof_type *nof_type_alias(struct nof_type *old);
/* Round the extent up to the alignment, as a C compiler does, unless bounds were set by hand, or it could not be said. */
void nof_type_pad(struct nof_type *type);

/* Give a new type (NULL: it could not be made) its contents, which become its own (NULL: no memory), and
 * its handle; if anything is missing releases both and returns MPI_ERR_NO_MEM. */
int nof_type_publish(struct nof_type *type, struct nof_type_contents *contents, MPI_Datatype *handle_out);

/* type_walk.c: packing. */

/* Copy packed bytes [from, from + len) of `count` elements at buf into `out`, and back. */
void nof_type_pack(const struct nof_type *type, const void *buf, size_t count, size_t from, size_t len,
                   void *out);
void nof_type_unpack(const struct nof_type *type, void *buf, size_t count, size_t from, size_t len,
                     const void *in);

/* Basic elements that the first `bytes` packed bytes hold; SIZE_MAX if they end inside one. */
size_t nof_type_elements(const struct nof_type *type, size_t bytes);
/* Packed bytes that so many basic elements take. */
size_t nof_type_bytes_of(const struct nof_type *type, size_t elements);

/* Copy between two typed buffers; the shorter one ends it. Returns the bytes copied, or SIZE_MAX
 * when memory is short (both sides non-contiguous need a buffer of 64 KiB). */
size_t nof_type_copy(const struct nof_type *from_type, const void *from, size_t from_count,
                     const struct nof_type *to_type, void *to, size_t to_count);

/* Of type_external.c. */

/* Bytes of `count` elements as external32. False: more than a memory can hold. */
bool nof_type_external_bytes(const struct nof_type *type, size_t count, size_t *bytes_out);
/* `count` elements at buf into external32 at `out`, and back. */
void nof_type_external_pack(const struct nof_type *type, const void *buf, size_t count, void *out);
void nof_type_external_unpack(const struct nof_type *type, void *buf, size_t count, const void *in);

#endif
