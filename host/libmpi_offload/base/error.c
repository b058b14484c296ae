/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_MASK 0x3fff
#define INSTANCE_SHIFT 14
#define INSTANCE_RING 1024u /* power of two; an older text falls back to that of its class */
#define INSTANCE_SAME 16u /* as many of the newest texts are looked through for the same one */
#define ADDED_BIT 0x40000000

struct instance {
    int code;
    char text[MPI_MAX_ERROR_STRING - 96]; /* leaves room for the class's own text in front */
};

struct added {
    bool used;
    int error_class; /* its class; itself for a class */
    int codes; /* of a class that was added: its codes */
    char *text;
    int next_free; /* of a removed one: index + 1 of the next, 0 = none */
};

static struct instance *instances[INSTANCE_RING];
static uint32_t instance_seq;
static struct added *added;
static int added_count, added_free;

static const char *const class_text[] = {
    [MPI_SUCCESS] = "MPI_SUCCESS: no error",
    [MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer pointer",
    [MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
    [MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid datatype",
    [MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
    [MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
    [MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank",
    [MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request or message handle",
    [MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root",
    [MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
    [MPI_ERR_OP] = "MPI_ERR_OP: invalid operation",
    [MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: invalid topology",
    [MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions",
    [MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
    [MPI_ERR_UNKNOWN] = "MPI_ERR_UNKNOWN: unknown error",
    [MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: message longer than the receive buffer",
    [MPI_ERR_OTHER] = "MPI_ERR_OTHER: known error not in this list",
    [MPI_ERR_INTERN] = "MPI_ERR_INTERN: internal error of the MPI library",
    [MPI_ERR_PENDING] = "MPI_ERR_PENDING: request neither completed nor failed",
    [MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: the error code is in the status",
    [MPI_ERR_ACCESS] = "MPI_ERR_ACCESS: permission denied",
    [MPI_ERR_AMODE] = "MPI_ERR_AMODE: invalid file access mode",
    [MPI_ERR_ASSERT] = "MPI_ERR_ASSERT: invalid assertion argument",
    [MPI_ERR_BAD_FILE] = "MPI_ERR_BAD_FILE: invalid file name",
    [MPI_ERR_BASE] = "MPI_ERR_BASE: invalid base address",
    [MPI_ERR_CONVERSION] = "MPI_ERR_CONVERSION: error in a data conversion function",
    [MPI_ERR_DISP] = "MPI_ERR_DISP: invalid displacement",
    [MPI_ERR_DUP_DATAREP] = "MPI_ERR_DUP_DATAREP: data representation already defined",
    [MPI_ERR_FILE_EXISTS] = "MPI_ERR_FILE_EXISTS: file exists",
    [MPI_ERR_FILE_IN_USE] = "MPI_ERR_FILE_IN_USE: file is in use",
    [MPI_ERR_FILE] = "MPI_ERR_FILE: invalid file handle",
    [MPI_ERR_INFO_KEY] = "MPI_ERR_INFO_KEY: info key too long",
    [MPI_ERR_INFO_NOKEY] = "MPI_ERR_INFO_NOKEY: info key not defined",
    [MPI_ERR_INFO_VALUE] = "MPI_ERR_INFO_VALUE: info value too long, or not known",
    [MPI_ERR_INFO] = "MPI_ERR_INFO: invalid info object",
    [MPI_ERR_IO] = "MPI_ERR_IO: input or output error",
    [MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid attribute key",
    [MPI_ERR_LOCKTYPE] = "MPI_ERR_LOCKTYPE: invalid lock type",
    [MPI_ERR_NAME] = "MPI_ERR_NAME: service name not published",
    [MPI_ERR_NO_MEM] = "MPI_ERR_NO_MEM: out of memory",
    [MPI_ERR_NOT_SAME] = "MPI_ERR_NOT_SAME: argument differs between processes",
    [MPI_ERR_NO_SPACE] = "MPI_ERR_NO_SPACE: not enough space",
    [MPI_ERR_NO_SUCH_FILE] = "MPI_ERR_NO_SUCH_FILE: no such file",
    [MPI_ERR_PORT] = "MPI_ERR_PORT: invalid port name",
    [MPI_ERR_QUOTA] = "MPI_ERR_QUOTA: quota exceeded",
    [MPI_ERR_READ_ONLY] = "MPI_ERR_READ_ONLY: read-only file or file system",
    [MPI_ERR_RMA_ATTACH] = "MPI_ERR_RMA_ATTACH: memory cannot be attached",
    [MPI_ERR_RMA_CONFLICT] = "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    [MPI_ERR_RMA_RANGE] = "MPI_ERR_RMA_RANGE: target memory outside of the window",
    [MPI_ERR_RMA_SHARED] = "MPI_ERR_RMA_SHARED: memory cannot be shared",
    [MPI_ERR_RMA_SYNC] = "MPI_ERR_RMA_SYNC: wrong synchronization of a window",
    [MPI_ERR_SERVICE] = "MPI_ERR_SERVICE: service name not known",
    [MPI_ERR_SIZE] = "MPI_ERR_SIZE: invalid size",
    [MPI_ERR_SPAWN] = "MPI_ERR_SPAWN: cannot start processes",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "MPI_ERR_UNSUPPORTED_OPERATION: operation not supported",
    [MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
    [MPI_ERR_RMA_FLAVOR] = "MPI_ERR_RMA_FLAVOR: wrong flavor of window",
    [MPI_ERR_PROC_ABORTED] = "MPI_ERR_PROC_ABORTED: a peer process was aborted",
    [MPI_ERR_VALUE_TOO_LARGE] = "MPI_ERR_VALUE_TOO_LARGE: value does not fit its type",
    [MPI_ERR_SESSION] = "MPI_ERR_SESSION: invalid session",
    [MPI_ERR_ERRHANDLER] = "MPI_ERR_ERRHANDLER: invalid error handler",
    [MPI_ERR_ABI] = "MPI_ERR_ABI: not what the ABI of the program or the library expects",
};

#define CLASS_COUNT ((int)(sizeof(class_text) / sizeof(class_text[0])))

static const char *const tool_text[] = {
    "MPI_T_ERR_CANNOT_INIT: the interface cannot be initialized",
    "MPI_T_ERR_NOT_ACCESSIBLE: not accessible now",
    "MPI_T_ERR_NOT_INITIALIZED: the interface is not initialized",
    "MPI_T_ERR_NOT_SUPPORTED: not supported",
    "MPI_T_ERR_MEMORY: out of memory",
    "MPI_T_ERR_INVALID: invalid use or argument",
    "MPI_T_ERR_INVALID_INDEX: no such variable or category",
    "MPI_T_ERR_INVALID_ITEM: no such item of an enumeration",
    "MPI_T_ERR_INVALID_SESSION: invalid session",
    "MPI_T_ERR_INVALID_HANDLE: invalid handle",
    "MPI_T_ERR_INVALID_NAME: no variable or category of this name",
    "MPI_T_ERR_OUT_OF_HANDLES: no more handles",
    "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions",
    "MPI_T_ERR_CVAR_SET_NOT_NOW: the variable cannot be set now",
    "MPI_T_ERR_CVAR_SET_NEVER: the variable cannot be set",
    "MPI_T_ERR_PVAR_NO_WRITE: the variable cannot be written or reset",
    "MPI_T_ERR_PVAR_NO_STARTSTOP: the variable cannot be started or stopped",
    "MPI_T_ERR_PVAR_NO_ATOMIC: the variable cannot be read and reset at once",
};

static const char *text_of_class(int error_class)
{
    int tool = error_class - MPI_T_ERR_CANNOT_INIT;
    if (tool >= 0 && tool < (int)(sizeof(tool_text) / sizeof(tool_text[0])))
        return tool_text[tool];
    if (error_class >= 0 && error_class < CLASS_COUNT)
        return class_text[error_class];
    if (error_class == MPIX_ERR_PROC_FAILED)
        return "MPI_ERR_PROC_FAILED: a peer process has failed";
    return NULL;
}

static struct added *added_of(int code)
{
    int index = code & ~ADDED_BIT;
    return code > 0 && (code & ADDED_BIT) != 0 && index < added_count && added[index].used ? &added[index]
                                                                                           : NULL;
}

/* One of the newest codes: of this class and with this text. 0: none. */
static int same(int error_class, const char *text)
{
    for (uint32_t back = 0; back < INSTANCE_SAME; back++) {
        const struct instance *one = instances[(instance_seq - back) % INSTANCE_RING];
        if (one != NULL && (one->code & CLASS_MASK) == error_class && strcmp(one->text, text) == 0)
            return one->code;
    }
    return 0;
}

int nof_error(int error_class, const char *fmt, ...)
{
    char text[sizeof(instances[0]->text)];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    int known = same(error_class, text);
    if (known != 0)
        return known;
    uint32_t seq = ++instance_seq & 0xffffu;
    if (seq == 0)
        seq = ++instance_seq & 0xffffu;
    struct instance **slot = &instances[seq % INSTANCE_RING];
    if (*slot == NULL)
        *slot = calloc(1, sizeof(**slot));
    if (*slot == NULL)
        return error_class;
    (*slot)->code = (int)(seq << INSTANCE_SHIFT) | error_class;
    memcpy((*slot)->text, text, sizeof(text));
    return (*slot)->code;
}

int nof_error_if_null(const void *pointer, const char *what)
{
    return pointer == NULL ? nof_error(MPI_ERR_ARG, "%s is NULL", what) : MPI_SUCCESS;
}

int nof_error_class(int code)
{
    const struct added *own = added_of(code);
    if (own != NULL)
        return own->error_class;
    if (code < 0 || (code & ADDED_BIT) != 0 || text_of_class(code & CLASS_MASK) == NULL)
        return MPI_ERR_UNKNOWN;
    return code & CLASS_MASK;
}

int nof_error_text(int code, char *text)
{
    const struct added *own = added_of(code);
    if (own != NULL) {
        snprintf(text, MPI_MAX_ERROR_STRING, "%s", own->text == NULL ? "" : own->text);
        return 0;
    }
    const char *of_class = code < 0 || (code & ADDED_BIT) != 0 ? NULL : text_of_class(code & CLASS_MASK);
    if (of_class == NULL)
        return -1;
    uint32_t seq = (uint32_t)code >> INSTANCE_SHIFT;
    const struct instance *own_text = seq == 0 ? NULL : instances[seq % INSTANCE_RING];
    if (own_text != NULL && own_text->code == code)
        snprintf(text, MPI_MAX_ERROR_STRING, "%.90s: %s", of_class, own_text->text);
    else
        snprintf(text, MPI_MAX_ERROR_STRING, "%s", of_class);
    return 0;
}

/* A free place in the table: one of those that were removed, or a new one. -1: no memory. */
static int place(void)
{
    if (added_free != 0) {
        int index = added_free - 1;
        added_free = added[index].next_free;
        return index;
    }
    struct added *more = realloc(added, (size_t)(added_count + 1) * sizeof(*more));
    if (more == NULL)
        return -1;
    added = more;
    return added_count++;
}

static int add(int error_class)
{
    int index = place();
    if (index < 0)
        return 0;
    int code = ADDED_BIT | index;
    added[index] = (struct added){.used = true, .error_class = error_class == 0 ? code : error_class};
    struct added *of = error_class == 0 ? NULL : added_of(error_class);
    if (of != NULL)
        of->codes++;
    return code;
}

int nof_error_add_class(void)
{
    return add(0);
}

int nof_error_add_code(int error_class)
{
    return add(error_class);
}

static void remove_added(struct added *own)
{
    free(own->text);
    *own = (struct added){.next_free = added_free};
    added_free = (int)(own - added) + 1;
}

int nof_error_remove_class(int error_class)
{
    struct added *own = added_of(error_class);
    if (own == NULL || own->error_class != error_class)
        return nof_error(MPI_ERR_ARG, "%d is no error class that was added here", error_class);
    if (own->codes > 0)
        return nof_error(MPI_ERR_OTHER, "error class %d still has %d codes: remove them first", error_class,
                         own->codes);
    if (own->text != NULL)
        return nof_error(MPI_ERR_OTHER, "error class %d still has a text: remove it first", error_class);
    remove_added(own);
    return MPI_SUCCESS;
}

int nof_error_remove_code(int code)
{
    struct added *own = added_of(code);
    if (own == NULL || own->error_class == code)
        return nof_error(MPI_ERR_ARG, "%d is no error code that was added here", code);
    if (own->text != NULL)
        return nof_error(MPI_ERR_OTHER, "error code %d still has a text: remove it first", code);
    struct added *of = added_of(own->error_class);
    if (of != NULL)
        of->codes--;
    remove_added(own);
    return MPI_SUCCESS;
}

int nof_error_remove_string(int code)
{
    struct added *own = added_of(code);
    if (own == NULL || own->text == NULL)
        return nof_error(MPI_ERR_ARG, "%d has no text that was added here", code);
    free(own->text);
    own->text = NULL;
    return MPI_SUCCESS;
}

int nof_error_add_string(int code, const char *text)
{
    struct added *own = added_of(code);
    if (own == NULL)
        return nof_error(MPI_ERR_ARG, "%d is no error class or code that was added here", code);
    char *copy = strndup(text, MPI_MAX_ERROR_STRING - 1);
    if (copy == NULL)
        return MPI_ERR_NO_MEM;
    free(own->text);
    own->text = copy;
    return MPI_SUCCESS;
}

int nof_error_last_used(void)
{
    return added_count == 0 ? MPI_ERR_LASTCODE : ADDED_BIT | (added_count - 1);
}
