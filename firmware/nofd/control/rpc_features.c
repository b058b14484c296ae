/* SPDX-License-Identifier: BSD-3-Clause
 *
 * features, set. */
#include <inttypes.h>
#include <stdio.h>

#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/sys/log.h"
#include "nofd/control/rpc.h"

/* From NOF_F_IDLE on they are the daemon's, before it the firmware core's. */
static bool is_core_feature(unsigned feature)
{
    return feature < NOF_F_IDLE;
}

/* A rank's library reads it, of the NIC that it is on. */
static bool is_of_ranks(unsigned feature)
{
    struct nof_nic_words words;

    /* "channels" is a job's, whose ranks have several NICs. */
    return feature != NOF_F_CHANNELS && nofd_endpoint_word(&words, feature) != NULL;
}

json_t *nofd_rpc_features(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const kinds[] = {"bool", "choice", "number"};
    json_t *rows;

    if (nofd_rpc_keys(params, NULL, 0, error) != 0)
        return NULL;
    rows = json_array();
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++) {
        const struct nof_feature_info *info = &nof_feature_info[i];
        char value[32];
        char initial[32];

        nofd_options_feature_text(i, d->options.feature[i], value, sizeof(value));
        nofd_options_feature_text(i, info->initial, initial, sizeof(initial));
        json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "name", info->name,
                                              "kind", kinds[info->kind], "value", value, "default", initial,
                                              "min", (json_int_t)info->min, "max", (json_int_t)info->max,
                                              "choices", info->choices, "help", info->help));
    }
    return json_pack("{s:o}", "rows", rows);
}

struct set_call {
    struct nofd_core *core;
    unsigned feature;
    uint64_t value;
    unsigned only; /* NIC, or UINT32_MAX: all */
};

static void set_on_core(struct nofd_lcore *lcore, void *arg)
{
    const struct set_call *call = arg;
    struct nofd_core *core = call->core;

    (void)lcore;
    if (is_core_feature(call->feature)) {
        for (unsigned i = 0; i < core->nnics; i++)
            if (call->only == UINT32_MAX || call->only == core->nics[i]->index)
                (void)nof_nic_feature_set(core->nics[i]->nic, (enum nof_feature)call->feature, call->value);
    } else if (call->feature == NOF_F_IDLE) {
        core->idle.policy = (enum nofd_idle_policy)call->value;
    } else if (call->feature == NOF_F_SPIN) {
        core->idle.spin_ns = call->value * NOFD_US;
    } else if (call->feature == NOF_F_NAP) {
        core->idle.nap_ns = call->value * NOFD_US;
    }
}

/* For the ranks that attach later. */
static void keep(struct nofd *d, const struct set_call *call)
{
    uint64_t bit = UINT64_C(1) << call->feature;

    if (call->only == UINT32_MAX)
        d->options.feature[call->feature] = call->value;
    for (unsigned i = 0; i < d->nparts; i++) {
        struct nofd_nic *nic = &d->nics[i];

        if (call->only == UINT32_MAX) {
            nic->own_features &= ~bit;
        } else if (call->only == nic->index) {
            nic->own_features |= bit;
            nic->own_feature[call->feature] = call->value;
        }
    }
}

json_t *nofd_rpc_set(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"name", "value", "nic"};
    const char *name = json_string_value(json_object_get(params, "name"));
    const json_t *value = json_object_get(params, "value");
    struct set_call call;
    char text[64];
    char err[NOFD_ERROR_BYTES];

    if (nofd_rpc_keys(params, keys, 3, error) != 0 || nofd_rpc_nic(d->nnics, params, &call.only, error) != 0)
        return NULL;
    if (json_is_string(value))
        snprintf(text, sizeof(text), "%s", json_string_value(value));
    else if (json_is_boolean(value))
        snprintf(text, sizeof(text), "%s", json_is_true(value) ? "on" : "off");
    else if (json_is_integer(value))
        snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        value = NULL;
    if (name == NULL || value == NULL)
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS,
                             "set takes a name and a value: {\"name\":\"pacing\",\"value\":\"off\"}");
    if (nofd_options_feature(name, text, &call.feature, &call.value, err, sizeof(err)) != 0)
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS, "%s", err);
    if (call.only != UINT32_MAX && !is_core_feature(call.feature) && !is_of_ranks(call.feature))
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS, "%s belongs to the daemon, not to one NIC", name);
    for (unsigned i = 0; i < d->ncores; i++) {
        call.core = &d->cores[i];
        nofd_lcore_run(&call.core->lcore, set_on_core, &call);
    }
    keep(d, &call);
    for (struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next)
        if (call.only == UINT32_MAX || call.only == ep->nic->index)
            nofd_endpoint_tell(ep, call.feature, call.value);
    if (call.feature == NOF_F_LOG_LEVEL)
        nofd_log_set_level((enum nofd_log_level)call.value);
    nofd_options_feature_text(call.feature, call.value, text, sizeof(text));
    if (call.only == UINT32_MAX)
        nofd_notice("feature %s=%s", name, text);
    else
        nofd_notice("feature %s=%s of %s", name, text, nofd_nic_of(d, call.only)->name);
    return json_pack("{s:s, s:s}", "name", nof_feature_info[call.feature].name, "value", text);
}
