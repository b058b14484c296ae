/* SPDX-License-Identifier: BSD-3-Clause
 *
 * link (unplug and plug in), impair (the fabric's links), down. */
#include <stdio.h>
#include <string.h>

#include "nofd/sys/clock.h"
#include "nofd/sys/log.h"
#include "nofd/control/daemon.h"
#include "nofd/control/parts.h"
#include "nofd/control/rpc.h"
#include "nof_private/units.h"

struct link_call {
    struct nofd_nic *nic;
    bool up;
};

static void link_on_core(struct nofd_lcore *lcore, void *arg)
{
    const struct link_call *call = arg;

    (void)lcore;
    call->nic->wire.ops->set_link(&call->nic->wire, call->up);
}

static void look_on_core(struct nofd_lcore *lcore, void *arg)
{
    const struct link_call *call = arg;

    (void)lcore;
    call->nic->link_look_ns = 0; /* the next turn tells the firmware core */
}

/* The simulated switch is the first thread's, whoever serves the NIC. */
static void set_link(struct nofd *d, struct link_call *call)
{
    struct nofd_lcore *lcore = call->nic->wire.fabric != NULL ? &d->cores[0].lcore : call->nic->lcore;

    nofd_lcore_run(lcore, link_on_core, call);
    nofd_lcore_run(call->nic->lcore, look_on_core, call);
}

json_t *nofd_rpc_link(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"nic", "up"};
    const json_t *up = json_object_get(params, "up");
    struct link_call call;
    unsigned nic;

    if (nofd_rpc_keys(params, keys, 2, error) != 0 || nofd_rpc_nic(d->nnics, params, &nic, error) != 0)
        return NULL;
    if (nic == UINT32_MAX || !json_is_boolean(up))
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS,
                             "link takes a NIC and a state: {\"nic\":0,\"up\":false}");
    call.nic = nofd_nic_of(d, nic);
    call.up = json_is_true(up);
    for (unsigned core = 0; core < d->options.cores_per_nic; core++, call.nic++)
        set_link(d, &call);
    return json_pack("{s:i, s:b}", "nic", (int)nic, "up", call.up);
}

struct impair_call {
    struct nofd *daemon;
    unsigned only; /* NIC, or UINT32_MAX: all of the fabric */
    struct nof_fabric_link link;
    bool set_rate, set_delay, set_buffer, set_loss, set_duplicate, set_reorder, set_corrupt, set_multicast;
    int rc;
};

/* A parameter as text, whatever JSON type it came in; NULL if it is absent. */
static const char *text_of(const json_t *params, const char *key, char *text, size_t text_bytes)
{
    const json_t *value = json_object_get(params, key);

    if (json_is_string(value))
        snprintf(text, text_bytes, "%s", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, text_bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, text_bytes, "%.9g", json_real_value(value));
    else
        return value == NULL ? NULL : "?";
    return text;
}

static bool share(const json_t *params, const char *key, uint32_t *ppm_out, bool *set_out,
                  struct nofd_rpc_error *error)
{
    char text[64];
    const char *given = text_of(params, key, text, sizeof(text));
    double value;

    if (given == NULL)
        return true;
    if (nofd_units_share(given, &value) != 0) {
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "%s is a probability such as 0.02 or \"2%%\"", key);
        return false;
    }
    *ppm_out = (uint32_t)(value * NOF_FABRIC_PPM + 0.5);
    *set_out = true;
    return true;
}

static bool read_link(const json_t *params, struct impair_call *call, struct nofd_rpc_error *error)
{
    char text[64];
    const char *given;
    uint64_t n;

    given = text_of(params, "link", text, sizeof(text));
    call->set_rate = given != NULL;
    if (given != NULL && nofd_units_rate(given, &call->link.rate_bps) != 0) {
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "link is a rate such as \"10Gbit\", or \"none\"");
        return false;
    }
    given = text_of(params, "delay", text, sizeof(text));
    call->set_delay = given != NULL;
    if (given != NULL && nofd_units_time(given, NOFD_US, &call->link.delay_ns) != 0) {
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "delay is a time such as \"50us\"");
        return false;
    }
    given = text_of(params, "buffer", text, sizeof(text));
    call->set_buffer = given != NULL;
    if (given != NULL) {
        if (nofd_units_bytes(given, &n) != 0 || n > UINT32_MAX) {
            nofd_rpc_fail(error, NOFD_RPC_PARAMS, "buffer is a size such as \"64KiB\"");
            return false;
        }
        call->link.buffer_bytes = (uint32_t)n;
    }
    given = text_of(params, "multicast", text, sizeof(text));
    call->set_multicast = given != NULL;
    if (given != NULL && nof_fabric_multicast_parse(given, &call->link.multicast) != 0) {
        nofd_rpc_fail(error, NOFD_RPC_PARAMS, "multicast is \"flood\", \"snoop\" or \"drop\"");
        return false;
    }
    return share(params, "loss", &call->link.loss_ppm, &call->set_loss, error) &&
           share(params, "duplicate", &call->link.duplicate_ppm, &call->set_duplicate, error) &&
           share(params, "reorder", &call->link.reorder_ppm, &call->set_reorder, error) &&
           share(params, "corrupt", &call->link.corrupt_ppm, &call->set_corrupt, error);
}

/* Each core of a NIC has its part of the link. */
static void impair_one(struct impair_call *call, const struct nofd_wire *wire)
{
    const struct nofd *d = call->daemon;
    struct nof_fabric_link link = nof_fabric_link(d->fabric, wire->index);

    if (call->set_rate)
        link.rate_bps = nofd_part_rate(d, call->link.rate_bps);
    if (call->set_delay)
        link.delay_ns = call->link.delay_ns;
    if (call->set_buffer)
        link.buffer_bytes = nofd_part_buffer(d, call->link.buffer_bytes, wire->mtu_bytes);
    if (call->set_loss)
        link.loss_ppm = call->link.loss_ppm;
    if (call->set_duplicate)
        link.duplicate_ppm = call->link.duplicate_ppm;
    if (call->set_reorder)
        link.reorder_ppm = call->link.reorder_ppm;
    if (call->set_multicast)
        link.multicast = call->link.multicast;
    if (call->set_corrupt)
        link.corrupt_ppm = call->link.corrupt_ppm;
    if (nof_fabric_set_link(d->fabric, wire->index, &link) != NOF_OK)
        call->rc = -1;
}

static void impair_on_core(struct nofd_lcore *lcore, void *arg)
{
    struct impair_call *call = arg;
    const struct nofd *d = call->daemon;

    (void)lcore;
    for (unsigned i = 0; i < d->nparts; i++)
        if (d->nics[i].wire.fabric != NULL && (call->only == UINT32_MAX || call->only == d->nics[i].index))
            impair_one(call, &d->nics[i].wire);
}

json_t *nofd_rpc_impair(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"nic",       "link",    "delay",   "buffer",   "loss",
                                       "duplicate", "reorder", "corrupt", "multicast"};
    struct impair_call call = {.daemon = d};

    if (nofd_rpc_keys(params, keys, 9, error) != 0 || nofd_rpc_nic(d->nnics, params, &call.only, error) != 0)
        return NULL;
    if (d->fabric == NULL || (call.only != UINT32_MAX && nofd_nic_of(d, call.only)->wire.fabric == NULL))
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS, "only links of the fabric (--fabric) can be impaired");
    if (!read_link(params, &call, error))
        return NULL;
    nofd_lcore_run(&d->cores[0].lcore, impair_on_core, &call);
    if (call.rc != 0)
        return nofd_rpc_fail(error, NOFD_RPC_PARAMS,
                             "out of bounds: a rate is at least 1000 bit/s, a delay at most 10 s");
    return json_pack("{s:b}", "impaired", 1);
}

static double part_of_ppm(uint32_t ppm)
{
    return (double)ppm / NOF_FABRIC_PPM;
}

json_t *nofd_rpc_fabric_link(const struct nofd *d, const struct nofd_nic *nic)
{
    struct nof_fabric_link link = nof_fabric_link(d->fabric, nic->wire.index);
    uint64_t rate_bps = 0, buffer_bytes = 0;

    for (unsigned core = 0; core < d->options.cores_per_nic; core++) {
        struct nof_fabric_link part = nof_fabric_link(d->fabric, nic[core].wire.index);

        rate_bps += part.rate_bps;
        buffer_bytes += part.buffer_bytes;
    }
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:s}", "rate_bps", (json_int_t)rate_bps, "delay_ns",
                     (json_int_t)link.delay_ns, "buffer_bytes", (json_int_t)buffer_bytes, "loss",
                     part_of_ppm(link.loss_ppm), "duplicate", part_of_ppm(link.duplicate_ppm), "reorder",
                     part_of_ppm(link.reorder_ppm), "corrupt", part_of_ppm(link.corrupt_ppm), "multicast",
                     nof_fabric_multicast_name(link.multicast));
}

json_t *nofd_rpc_down(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    if (nofd_rpc_keys(params, NULL, 0, error) != 0)
        return NULL;
    nofd_notice("nof down: the daemon ends");
    nofd_stop(d, 0);
    return json_pack("{s:b}", "down", 1);
}
