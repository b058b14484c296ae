/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/tool.h"

#include <string.h>

#include "base/wait.h"
#include "chan/nic/chan_nic.h"
#include "chan/chan.h"
#include "coll/coll.h"
#include "coll/offload.h"
#include "coll/select.h"
#include "delta/delta_count.h"
#include "launch/launch.h"
#include "tool/nic_control.h"
#include "nof/status.h"

static const struct {
    const char *name;
    const char *help;
} settings[NOF_TOOL_SETTINGS] = {
    {"library.spin_us",
     "microseconds that a blocking call polls before it sleeps (NOF_SPIN_US), where each rank has a CPU: by "
     "memory then up to 1 ms; else it gives way twice, or, with 0, not at all"},
    {"library.thread_level", "thread level that MPI_Init or the sessions got, as the MPI_THREAD_ constants"},
    {"library.seated",
     "1: each rank of this host has a CPU of its own; 0: not each, so that who waits soon gives way"},
    {"library.launcher", "launcher that the process speaks to (NOF_LAUNCH)"},
    {"library.channel", "what moves the messages: the NIC, or in a world of one the process itself"},
};
enum { SPIN_US, THREAD_LEVEL, SEATED, LAUNCHER, CHANNEL };
enum { TEXT_BYTES = 32 };

static const struct {
    const char *name;
    const char *help;
    const struct nof_handle_table *table;
} levels[NOF_TOOL_LEVELS] = {
    {"library.communicators", "communicators with a handle now, without the predefined ones", &nof_lib.comms},
    {"library.groups", "groups with a handle now", &nof_lib.groups},
    {"library.datatypes", "datatypes with a handle now, without the predefined ones", &nof_lib.types},
    {"library.operations", "operations with a handle now, without the predefined ones", &nof_lib.ops},
    {"library.requests", "requests with a handle now", &nof_lib.requests},
    {"library.messages", "matched messages not received yet", &nof_lib.messages},
    {"library.infos", "info objects with a handle now", &nof_lib.infos},
    {"library.windows", "windows now", &nof_lib.wins},
};

static const struct {
    const char *name;
    const char *help;
} counts[NOF_LIBRARY_COUNT_MAX] = {
#define NOF_LIBRARY_COUNT(name, help) {"library." name, help},
    NOF_LIBRARY_COUNTS
#undef NOF_LIBRARY_COUNT
};

static const struct nof_feature_info features[NOF_FEATURE_COUNT] = {
#define X(id, name, kind, def, min, max, choices, help) \
    {name, NOF_FEATURE_##kind, def, min, max, choices, help},
    NOF_FEATURES(X)
#undef X
};

static const struct nof_counter_info counters[NOF_COUNTER_COUNT] = {
#define X(id, name, unit, help) {name, unit, help},
    NOF_COUNTERS(X)
#undef X
};

bool nof_tool_enum_feature(MPI_T_enum enumtype, enum nof_feature *feature_out)
{
    uint64_t number = nof_lib_bits(enumtype);
    if (number == 0 || number > NOF_FEATURE_COUNT || features[number - 1].kind == NOF_FEATURE_NUMBER)
        return false;
    *feature_out = (enum nof_feature)(number - 1);
    return true;
}

struct nof_tool_var nof_tool_cvar(int index)
{
    if (index < NOF_TOOL_SETTINGS) {
        bool text = index == LAUNCHER || index == CHANNEL;
        return (struct nof_tool_var){.name = settings[index].name,
                                     .help = settings[index].help,
                                     .type = text               ? MPI_CHAR
                                             : index == SPIN_US ? MPI_UNSIGNED
                                                                : MPI_INT,
                                     .choices = MPI_T_ENUM_NULL,
                                     .count = text ? TEXT_BYTES : 1,
                                     .writable = index == SPIN_US};
    }
    int feature = index - NOF_TOOL_SETTINGS;
    bool number = features[feature].kind == NOF_FEATURE_NUMBER;
    return (struct nof_tool_var){.name = features[feature].name,
                                 .help = features[feature].help,
                                 .type = number ? MPI_UNSIGNED_LONG : MPI_INT,
                                 .choices = number ? MPI_T_ENUM_NULL : nof_lib_handle((uint64_t)feature + 1),
                                 .count = 1,
                                 .writable = true};
}

struct nof_tool_var nof_tool_pvar(int index)
{
    struct nof_tool_var var = {.type = MPI_UNSIGNED_LONG_LONG, .choices = MPI_T_ENUM_NULL, .count = 1};
    if (index < NOF_TOOL_LEVELS) {
        var.name = levels[index].name;
        var.help = levels[index].help;
        var.var_class = MPI_T_PVAR_CLASS_LEVEL;
    } else if (index < NOF_TOOL_OWN) {
        var.name = counts[index - NOF_TOOL_LEVELS].name;
        var.help = counts[index - NOF_TOOL_LEVELS].help;
        var.var_class = MPI_T_PVAR_CLASS_COUNTER;
    } else {
        const struct nof_counter_info *counter = &counters[index - NOF_TOOL_OWN];
        var.name = counter->name;
        var.help = counter->help;
        var.var_class = strcmp(counter->unit, "G") == 0 ? MPI_T_PVAR_CLASS_LEVEL : MPI_T_PVAR_CLASS_COUNTER;
    }
    return var;
}

static void read_text(const char *text, char *out)
{
    memset(out, 0, TEXT_BYTES);
    memcpy(out, text, strnlen(text, TEXT_BYTES - 1));
}

int nof_tool_cvar_read(int index, void *out)
{
    if (index == SPIN_US) {
        *(unsigned *)out = nof_lib.spin_us;
    } else if (index == THREAD_LEVEL) {
        *(int *)out = nof_lib.thread_level;
    } else if (index == SEATED) {
        *(int *)out = nof_lib.seated;
    } else if (index == LAUNCHER) {
        read_text(nof_launch == NULL ? "" : nof_launch->name, out);
    } else if (index == CHANNEL) {
        read_text(nof_chan_name(), out);
    } else {
        enum nof_feature feature = (enum nof_feature)(index - NOF_TOOL_SETTINGS);
        uint64_t value;
        if (nof_nic_control_get(feature, &value) != NOF_OK)
            return MPI_T_ERR_NOT_ACCESSIBLE; /* no MPI_Init yet, or no daemon */
        if (features[feature].kind == NOF_FEATURE_NUMBER)
            *(unsigned long *)out = value;
        else
            *(int *)out = (int)value;
    }
    return MPI_SUCCESS;
}

int nof_tool_cvar_write(int index, const void *in)
{
    if (index == SPIN_US) {
        nof_lib.spin_us = *(const unsigned *)in;
        return MPI_SUCCESS;
    }
    if (index < NOF_TOOL_SETTINGS)
        return MPI_T_ERR_CVAR_SET_NEVER;
    enum nof_feature feature = (enum nof_feature)(index - NOF_TOOL_SETTINGS);
    uint64_t value = features[feature].kind == NOF_FEATURE_NUMBER ? *(const unsigned long *)in
                                                                  : (uint64_t) * (const int *)in;
    int rc = nof_nic_control_set(feature, value);
    nof_wait_polling_changed(); /* of this process; others ask now and then */
    return rc == NOF_OK ? MPI_SUCCESS : rc == NOF_EINVAL ? MPI_T_ERR_INVALID : MPI_T_ERR_CVAR_SET_NOT_NOW;
}

/* In the order of NOF_LIBRARY_COUNTS. */
static const struct nof_publish_part parts[] = {
    {nof_driver_counted, NOF_DRIVER_COUNT},         {nof_select_counted, NOF_ALGORITHM_COUNT},
    {nof_select_counted_by, NOF_SELECTED_BY_COUNT}, {nof_bcast_counted, NOF_BCAST_WAYS},
    {nof_delta_counted, NOF_DELTA_COUNT_MAX},       {nof_chan_counted, NOF_CHAN_COUNT_MAX},
    {nof_wait_counted, NOF_POLL_COUNT_MAX},         {NULL, 0},
};
static_assert((int)NOF_DRIVER_COUNT + (int)NOF_ALGORITHM_COUNT + (int)NOF_SELECTED_BY_COUNT +
                      (int)NOF_BCAST_WAYS + (int)NOF_DELTA_COUNT_MAX + (int)NOF_CHAN_COUNT_MAX +
                      (int)NOF_POLL_COUNT_MAX ==
                  (int)NOF_LIBRARY_COUNT_MAX,
              "the parts are all that is counted");

const struct nof_publish_part *nof_tool_parts(void)
{
    return parts;
}

unsigned long long nof_tool_counted(int index)
{
    unsigned at = (unsigned)index, part = 0;
    for (; at >= parts[part].n; part++)
        at -= parts[part].n;
    return __atomic_load_n(&parts[part].count[at], __ATOMIC_RELAXED);
}

void nof_tool_pvar_read(int index, unsigned long long *out)
{
    uint64_t value = 0; /* of a NIC that is not there */
    if (index < NOF_TOOL_LEVELS)
        value = levels[index].table->live;
    else if (index < NOF_TOOL_OWN)
        value = nof_tool_counted(index - NOF_TOOL_LEVELS);
    else
        (void)nof_chan_nic_counter(counters[index - NOF_TOOL_OWN].name, &value);
    *out = value;
}
