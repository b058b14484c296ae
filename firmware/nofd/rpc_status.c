/* SPDX-License-Identifier: BSD-3-Clause
 *
 * status, endpoints, stats: everything a person may want to know, by the names of nof/counters.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "dma.h"
#include "dma_helper.h"
#include "job.h"
#include "rpc.h"

#define VERSION "0.1.0"

/* What the core may change while we read. */
struct glance {
    const struct nofd_nic *nic; /* NULL: only the helpers */
    unsigned endpoints, helpers;
    bool up;
};

static void take_glance(struct nofd_core *core, void *arg)
{
    struct glance *g = arg;

    for (unsigned i = 0; i < core->npools; i++)
        g->helpers += nofd_dma_pool_helpers(core->pools[i]);
    if (g->nic == NULL)
        return;
    g->endpoints = g->nic->nlive;
    g->up = g->nic->link_up;
}

static json_t *nic_row(struct nofd *d, const struct nofd_nic *nic)
{
    struct glance now = {.nic = nic};
    const uint8_t *mac = nic->wire.mac;
    uint32_t ip4 = nic->wire.ip4;
    char mac_text[24];
    char ip_text[24];
    char id_text[24];

    nofd_call(d, nic->core, take_glance, &now);
    snprintf(mac_text, sizeof(mac_text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
             mac[4], mac[5]);
    snprintf(ip_text, sizeof(ip_text), "%u.%u.%u.%u", ip4 >> 24, ip4 >> 16 & 255, ip4 >> 8 & 255, ip4 & 255);
    snprintf(id_text, sizeof(id_text), "%016" PRIx64, nic->cfg.nic_id);
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b, s:I, s:i, s:i, s:I}", "nic",
                     (int)nic->index, "name", nic->name, "port", nic->wire.device_name, "driver",
                     nic->wire.kind, "mac", mac_text, "ip", ip_text, "id", id_text, "mtu",
                     (int)nic->wire.mtu_bytes, "up", now.up, "link_rate_bps", (json_int_t)nic->wire.rate_bps,
                     "endpoints", (int)now.endpoints, "core", (int)nic->core->index, "memory_bytes",
                     (json_int_t)nic->mem_bytes);
}

static const char *state_name(int state)
{
    static const char *const names[] = {"new", "live", "failed", "closing", "gone"};

    return state >= 0 && state <= NOFD_EP_GONE ? names[state] : "?";
}

static json_t *endpoint_row(const struct nofd_endpoint *ep)
{
    char job[24];

    snprintf(job, sizeof(job), "%" PRIu64, ep->job->id);
    return json_pack("{s:i, s:i, s:s, s:i, s:i, s:i, s:i, s:s, s:s, s:I}", "nic", (int)ep->nic->index,
                     "endpoint", (int)ep->card.endpoint, "job", job, "rank", (int)ep->rank, "size",
                     (int)ep->job->size, "pid", (int)ep->pid, "uid", (int)ep->uid, "dma", ep->dma->name,
                     "state", state_name(nofd_endpoint_state(ep)), "bar_bytes", (json_int_t)ep->bar.bytes);
}

static json_t *job_rows(const struct nofd *d)
{
    json_t *rows = json_array();

    for (const struct nofd_job *job = d->jobs; job != NULL; job = job->next) {
        char id[24];

        snprintf(id, sizeof(id), "%" PRIu64, job->id);
        json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:i}", "job", id, "size", (int)job->size,
                                              "endpoints", (int)job->ranks, "uid", (int)job->uid));
    }
    return rows;
}

static json_t *endpoint_rows(const struct nofd *d)
{
    json_t *rows = json_array();

    for (const struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next)
        json_array_append_new(rows, endpoint_row(ep));
    return rows;
}

/* --- channels --------------------------------------------------------------------------------------- */

#define CHANNELS_MOST 512u /* of a NIC: both directions of all predictors */

struct channels {
    const struct nofd_nic *nic;
    unsigned n;
    struct nof_channel_info info[CHANNELS_MOST];
};

static void take_channels(struct nofd_core *core, void *arg)
{
    struct channels *c = arg;

    (void)core;
    c->n = nof_nic_channels(c->nic->nic, c->info, CHANNELS_MOST);
    if (c->n > CHANNELS_MOST)
        c->n = CHANNELS_MOST;
}

static json_t *channel_row(const struct nofd_nic *nic, const struct nof_channel_info *c)
{
    return json_pack("{s:i, s:i, s:i, s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:[I, I, I, I], s:I}",
                     "nic", (int)nic->index, "endpoint", (int)c->endpoint, "peer_rank", (int)c->peer_rank,
                     "direction", c->sends ? "sends" : "receives", "on", c->on, "table_log2",
                     (int)c->table_log2, "epoch", (int)c->epoch, "plain_bytes", (json_int_t)c->plain_bytes,
                     "wire_bytes", (json_int_t)c->wire_bytes, "chunks", (json_int_t)c->chunks, "raw",
                     (json_int_t)c->raw, "bad", (json_int_t)c->bad, "hits", (json_int_t)c->hits[0],
                     (json_int_t)c->hits[1], (json_int_t)c->hits[2], (json_int_t)c->hits[3], "cycles",
                     (json_int_t)c->cycles);
}

static json_t *channel_rows(struct nofd *d)
{
    struct channels *c = calloc(1, sizeof(*c));
    json_t *rows = json_array();

    for (unsigned i = 0; c != NULL && i < d->nnics; i++) {
        c->nic = &d->nics[i];
        nofd_call(d, c->nic->core, take_channels, c);
        for (unsigned k = 0; k < c->n; k++)
            json_array_append_new(rows, channel_row(c->nic, &c->info[k]));
    }
    free(c);
    return rows;
}

json_t *nofd_rpc_status(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    double uptime_s = (double)(nofd_clock_ns() - d->started_ns) / 1e9;
    json_t *nics = json_array();
    struct glance all = {0};

    if (nofd_rpc_keys(params, NULL, 0, error) != 0) {
        json_decref(nics);
        return NULL;
    }
    for (unsigned i = 0; i < d->nnics; i++)
        json_array_append_new(nics, nic_row(d, &d->nics[i]));
    for (unsigned i = 0; i < d->nrunning; i++)
        nofd_call(d, &d->cores[i], take_glance, &all);
    return json_pack("{s:s, s:i, s:f, s:s, s:s, s:b, s:i, s:i, s:o, s:o, s:o, s:o}", "version", VERSION,
                     "pid", (int)getpid(), "uptime_s", uptime_s, "socket", d->options.socket, "control",
                     d->options.control, "private", d->options.private_job, "cores", (int)d->ncores,
                     "dma_helpers", (int)all.helpers, "nics", nics, "endpoints", endpoint_rows(d), "jobs",
                     job_rows(d), "channels", channel_rows(d));
}

json_t *nofd_rpc_endpoints(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    if (nofd_rpc_keys(params, NULL, 0, error) != 0)
        return NULL;
    return json_pack("{s:o}", "rows", endpoint_rows(d));
}

/* --- stats: read on the core, between two turns ---------------------------------------------------- */

struct snapshot {
    const struct nofd_nic *nic;
    const struct nofd_endpoint *ep; /* NULL: of the NIC */
    uint64_t value[NOF_COUNTER_COUNT];
};

static void take_snapshot(struct nofd_core *core, void *arg)
{
    struct snapshot *s = arg;
    const uint64_t *counters = nof_nic_counters(s->nic->nic);

    (void)core;
    if (s->ep != NULL) {
        memcpy(s->value, s->ep->counters, sizeof(s->value));
        return;
    }
    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++)
        s->value[i] = counters[i] + s->nic->counters[i];
}

static json_t *counters_of(const struct snapshot *s)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++)
        json_object_set_new(object, nof_counter_info[i].name, json_integer((json_int_t)s->value[i]));
    return object;
}

/* What the simulated switch did to frames towards this NIC. */
static json_t *fabric_counters(const struct nofd *d, const struct nofd_nic *nic)
{
    const struct nof_fabric_stats *s = nof_fabric_stats(d->fabric, nic->wire.index);

    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "lost", (json_int_t)s->lost,
                     "duplicated", (json_int_t)s->duplicated, "reordered", (json_int_t)s->reordered,
                     "corrupted", (json_int_t)s->corrupted, "drop_buffer", (json_int_t)s->drop_buffer,
                     "drop_queue", (json_int_t)s->drop_queue, "drop_down", (json_int_t)s->drop_down,
                     "drop_unknown", (json_int_t)s->drop_unknown, "pool_empty", (json_int_t)s->pool_empty);
}

/* What the steering program in front of a net_af_xdp port decided. */
static void add_xdp_counters(const struct nof_dpdk_port *device, json_t *counters)
{
    uint64_t frames[NOF_DPDK_XDP_COUNTERS];
    unsigned n = nof_dpdk_port_xdp_counters(device, frames);

    for (unsigned i = 0; i < n; i++)
        json_object_set_new(counters, nof_dpdk_port_xdp_name(i), json_integer((json_int_t)frames[i]));
}

json_t *nofd_rpc_stats(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"nic"};
    json_t *rows;
    json_t *endpoints;
    unsigned only;

    if (nofd_rpc_keys(params, keys, 1, error) != 0 || nofd_rpc_nic(d, params, &only, error) != 0)
        return NULL;
    rows = json_array();
    endpoints = json_array();
    for (unsigned i = 0; i < d->nnics; i++) {
        struct snapshot s = {.nic = &d->nics[i]};
        json_t *row;

        if (only != UINT32_MAX && only != i)
            continue;
        nofd_call(d, d->nics[i].core, take_snapshot, &s);
        row = json_pack("{s:i, s:s, s:I, s:o}", "nic", (int)i, "name", d->nics[i].name, "cycles_per_s",
                        (json_int_t)nofd_nic_cycles_per_s(), "counters", counters_of(&s));
        if (d->nics[i].wire.fabric != NULL)
            json_object_set_new(row, "fabric", fabric_counters(d, &d->nics[i]));
        if (d->nics[i].wire.device != NULL)
            add_xdp_counters(d->nics[i].wire.device, json_object_get(row, "counters"));
        json_array_append_new(rows, row);
    }
    for (struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next) {
        struct snapshot s = {.nic = ep->nic, .ep = ep};
        json_t *row;

        if (only != UINT32_MAX && only != ep->nic->index)
            continue;
        nofd_call(d, ep->nic->core, take_snapshot, &s);
        row = endpoint_row(ep);
        json_object_set_new(row, "counters", counters_of(&s));
        json_array_append_new(endpoints, row);
    }
    return json_pack("{s:o, s:o}", "rows", rows, "endpoints", endpoints);
}
