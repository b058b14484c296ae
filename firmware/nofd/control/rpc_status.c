/* SPDX-License-Identifier: BSD-3-Clause
 *
 * status, endpoints, stats: everything a person may want to know, by the names of nof/counters.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/door/job_owner.h"
#include "nofd/control/rpc.h"

#define VERSION "0.1.0"

/* What the NIC cores write while we read:
 * A counter has one writer and is read whole; that one is newer than its neighbour is the same as asking a moment
 * later. So no core stops for who looks on. What is more than words that stand alone is asked of the cores, between
 * two turns, and not again for SEEN_NS. */

#define NAME_BYTES sizeof(((struct nofd_nic *)NULL)->name)
#define SEEN_NS (100 * NOFD_MS)
#define WAITS_MS 1000u /* collectives that wait as long are told */
#define WAITS_MOST 64u /* of a NIC */
#define GRANTS_MOST 512u /* of a NIC: both directions of all predictors */

#if defined(__SANITIZE_THREAD__)
#define RACES __attribute__((no_sanitize("thread")))
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACES __attribute__((no_sanitize("thread")))
#endif
#endif
#ifndef RACES
#define RACES
#endif

RACES static uint64_t read_u64(const uint64_t *word)
{
    return *(const volatile uint64_t *)word;
}

RACES static unsigned read_unsigned(const unsigned *word)
{
    return *(const volatile unsigned *)word;
}

RACES static bool read_bool(const bool *word)
{
    return *(const volatile bool *)word;
}

struct nofd_seen {
    uint64_t at_ns;
    unsigned helpers;
    json_t *grants;
    json_t *waits;
};

struct look {
    const struct nofd_core *core;
    struct nofd_seen *seen;
    unsigned n; /* grants of the NIC below */
    const struct nofd_nic *nic;
    struct nof_grant_info info[GRANTS_MOST];
    unsigned nwaits;
    struct nof_coll_info waits[WAITS_MOST];
};

static const char *help_name(enum nof_dpdk_help help)
{
    static const char *const names[] = {"none", "there", "used"};

    return names[help];
}

static void add_device(json_t *row, const struct nof_dpdk_port_info *info)
{
    json_object_set_new(row, "queues",
                        json_pack("{s:i, s:s, s:s}", "device", (int)info->nqueues, "spread",
                                  nof_dpdk_spread_name(info->spread), "words",
                                  nof_dpdk_spread_words(info->spread)));
    if (info->xdp_hook[0] != '\0')
        json_object_set_new(row, "xdp",
                            json_pack("{s:s, s:b, s:s}", "hook", info->xdp_hook, "zero_copy",
                                      info->xdp_zero_copy, "words", info->xdp_words));
    json_object_set_new(row, "hardware",
                        json_pack("{s:s, s:s, s:s}", "udp_checksum", help_name(info->udp_checksum),
                                  "scatter_gather", help_name(info->scatter_gather), "timestamps",
                                  help_name(info->timestamps)));
}

/* One core of a NIC that has several. */
static json_t *part_row(const struct nofd_nic *part)
{
    char id_text[24];

    snprintf(id_text, sizeof(id_text), "%016" PRIx64, part->cfg.nic_id);
    return json_pack("{s:i, s:s, s:i, s:I, s:i, s:i, s:I}", "nic_core", (int)part->core, "id", id_text,
                     "udp_port", (int)part->cfg.udp_port, "link_rate_bps", (json_int_t)part->wire.rate_bps,
                     "endpoints", (int)read_unsigned(&part->nlive), "core", (int)part->lcore->index,
                     "memory_bytes", (json_int_t)part->mem_bytes);
}

/* Of a NIC with several cores: what is theirs alone, and sums. */
static void add_parts(json_t *row, const struct nofd_nic *nic, unsigned nparts)
{
    static const char *const summed[] = {"endpoints", "memory_bytes", "link_rate_bps"};
    json_t *parts = json_array();

    for (unsigned i = 0; i < nparts; i++)
        json_array_append_new(parts, part_row(&nic[i]));
    for (unsigned s = 0; s < sizeof(summed) / sizeof(summed[0]); s++) {
        json_int_t sum = 0;

        for (unsigned i = 0; i < nparts; i++)
            sum += json_integer_value(json_object_get(json_array_get(parts, i), summed[s]));
        json_object_set_new(row, summed[s], json_integer(sum));
    }
    json_object_set_new(row, "cores", parts);
}

/* Of the whole NIC, whose first core this is. */
static const char *name_of(const struct nofd_nic *nic, char text[NAME_BYTES])
{
    if (nic->wire.ncores <= 1)
        return nic->name;
    snprintf(text, NAME_BYTES, "nic%u (%.20s)", nic->index, nic->wire.kind);
    return text;
}

static json_t *nic_row(const struct nofd *d, const struct nofd_nic *nic)
{
    char name[NAME_BYTES];
    const uint8_t *mac = nic->wire.mac;
    uint32_t ip4 = nic->wire.ip4;
    char mac_text[24];
    char ip_text[24];
    char id_text[24];
    json_t *row;

    snprintf(mac_text, sizeof(mac_text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
             mac[4], mac[5]);
    snprintf(ip_text, sizeof(ip_text), "%u.%u.%u.%u", ip4 >> 24, ip4 >> 16 & 255, ip4 >> 8 & 255, ip4 & 255);
    snprintf(id_text, sizeof(id_text), "%016" PRIx64, nic->cfg.nic_id);
    row = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b, s:I, s:i, s:i, s:I}", "nic",
                    (int)nic->index, "name", name_of(nic, name), "port", nic->wire.device_name, "driver",
                    nic->wire.kind, "mac", mac_text, "ip", ip_text, "id", id_text, "mtu",
                    (int)nic->wire.mtu_bytes, "up", read_bool(&nic->link_up), "link_rate_bps",
                    (json_int_t)nic->wire.rate_bps, "endpoints", (int)read_unsigned(&nic->nlive), "core",
                    (int)nic->lcore->index, "memory_bytes", (json_int_t)nic->mem_bytes);
    if (nic->wire.device != NULL)
        add_device(row, nof_dpdk_port_info(nic->wire.device));
    if (nic->wire.fabric != NULL)
        json_object_set_new(row, "fabric", nofd_rpc_fabric_link(d, nic));
    if (nic->wire.ncores > 1)
        add_parts(row, nic, nic->wire.ncores);
    return row;
}

static const char *state_name(int state)
{
    static const char *const names[] = {"new", "live", "failed", "closing", "gone"};

    return state >= 0 && state <= NOFD_EP_GONE ? names[state] : "?";
}

RACES static json_t *endpoint_row(const struct nofd_endpoint *ep)
{
    char job[24];
    uint32_t posted = 0, unexpected = 0;

    if (nofd_endpoint_state(ep) == NOFD_EP_LIVE)
        nof_nic_endpoint_queues(ep->nic->nic, ep->card.endpoint, &posted, &unexpected);

    snprintf(job, sizeof(job), "%" PRIu64, ep->job->id);
    return json_pack("{s:i, s:i, s:i, s:s, s:i, s:i, s:i, s:i, s:s, s:s, s:I, s:I, s:I}", "nic_core",
                     (int)ep->nic->core, "nic", (int)ep->nic->index, "endpoint", (int)ep->card.endpoint,
                     "job", job, "rank", (int)ep->memory.rank, "size", (int)ep->job->size, "pid",
                     (int)ep->memory.pid, "uid", (int)ep->uid, "dma", ep->memory.ops->name, "state",
                     state_name(nofd_endpoint_state(ep)), "bar_bytes", (json_int_t)ep->bar.bytes, "posted",
                     (json_int_t)posted, "unexpected", (json_int_t)unexpected);
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

static json_t *grant_row(const struct nofd_nic *nic, const struct nof_grant_info *c)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:s, s:b, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:[I, I, I, I], s:I}",
                     "nic", (int)nic->index, "nic_core", (int)nic->core, "endpoint", (int)c->endpoint,
                     "peer_rank", (int)c->peer_rank, "direction", c->sends ? "sends" : "receives", "on",
                     c->on, "table_log2", (int)c->table_log2, "epoch", (int)c->epoch, "plain_bytes",
                     (json_int_t)c->plain_bytes, "wire_bytes", (json_int_t)c->wire_bytes, "chunks",
                     (json_int_t)c->chunks, "raw", (json_int_t)c->raw, "bad", (json_int_t)c->bad, "hits",
                     (json_int_t)c->hits[0], (json_int_t)c->hits[1], (json_int_t)c->hits[2],
                     (json_int_t)c->hits[3], "cycles", (json_int_t)c->cycles);
}

static void count_helpers(struct nofd_lcore *lcore, void *arg)
{
    struct look *look = arg;

    (void)lcore;
    look->seen->helpers += nofd_dma_pools_helpers(&look->core->dma.pools);
}

static void take_grants(struct nofd_lcore *lcore, void *arg)
{
    struct look *look = arg;

    (void)lcore;
    look->n = nof_nic_grants(look->nic->nic, look->info, GRANTS_MOST);
    if (look->n > GRANTS_MOST)
        look->n = GRANTS_MOST;
    look->nwaits =
        nof_nic_colls(look->nic->nic, nofd_clock_ns(), WAITS_MS * NOFD_MS, look->waits, WAITS_MOST);
}

/* A collective that waits; NULL: its rank has just gone. */
static json_t *wait_row(const struct nofd *d, const struct nofd_nic *nic, const struct nof_coll_info *info)
{
    const struct nofd_endpoint *ep = d->endpoints;
    json_t *ranks = json_array();
    char job[24];

    while (ep != NULL && (ep->nic != nic || ep->card.endpoint != info->endpoint))
        ep = ep->next;
    if (ep == NULL) {
        json_decref(ranks);
        return NULL;
    }
    for (uint32_t i = 0; i < info->nranks; i++)
        json_array_append_new(ranks, json_integer(info->rank[i]));
    snprintf(job, sizeof(job), "%" PRIu64, ep->job->id);
    return json_pack("{s:i, s:i, s:i, s:s, s:i, s:I, s:I, s:i, s:i, s:o}", "nic", (int)nic->index, "nic_core",
                     (int)nic->core, "endpoint", (int)info->endpoint, "job", job, "rank",
                     (int)ep->memory.rank, "waited_ms", (json_int_t)(info->waited_ns / NOFD_MS), "context",
                     (json_int_t)info->ctx, "tag", (int)info->tag, "messages", (int)info->messages,
                     "waits_for", ranks);
}

/* What the cores last said; asks them anew when that was long ago. NULL: out of memory. */
static const struct nofd_seen *seen(struct nofd *d)
{
    uint64_t now_ns = nofd_clock_ns();
    struct look *look;

    if (d->seen != NULL && now_ns - d->seen->at_ns < SEEN_NS)
        return d->seen;
    look = calloc(1, sizeof(*look));
    if (d->seen == NULL)
        d->seen = calloc(1, sizeof(*d->seen));
    if (look == NULL || d->seen == NULL) {
        free(look);
        return NULL;
    }
    look->seen = d->seen;
    d->seen->at_ns = now_ns;
    d->seen->helpers = 0;
    json_decref(d->seen->grants);
    d->seen->grants = json_array();
    json_decref(d->seen->waits);
    d->seen->waits = json_array();
    for (unsigned i = 0; i < d->nrunning; i++) {
        look->core = &d->cores[i];
        nofd_lcore_run(&d->cores[i].lcore, count_helpers, look);
    }
    for (unsigned i = 0; i < d->nparts; i++) {
        look->nic = &d->nics[i];
        nofd_lcore_run(look->nic->lcore, take_grants, look);
        for (unsigned k = 0; k < look->n; k++)
            json_array_append_new(d->seen->grants, grant_row(look->nic, &look->info[k]));
        for (unsigned k = 0; k < look->nwaits; k++)
            json_array_append_new(d->seen->waits, wait_row(d, look->nic, &look->waits[k]));
    }
    free(look);
    return d->seen;
}

json_t *nofd_rpc_status(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    double uptime_s = (double)(nofd_clock_ns() - d->started_ns) / 1e9;
    const struct nofd_seen *cores;
    json_t *nics;

    if (nofd_rpc_keys(params, NULL, 0, error) != 0)
        return NULL;
    cores = seen(d);
    if (cores == NULL)
        return NULL; /* the error is "out of memory" until told otherwise */
    nics = json_array();
    for (unsigned i = 0; i < d->nnics; i++) {
        json_t *row = nic_row(d, nofd_nic_of(d, i));

        json_object_set_new(row, "gone", json_boolean(nofd_nic_gone(nofd_nic_of(d, i))));
        json_array_append_new(nics, row);
    }
    return json_pack("{s:s, s:i, s:f, s:s, s:s, s:b, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "version", VERSION,
                     "pid", (int)getpid(), "uptime_s", uptime_s, "socket", d->options.socket, "control",
                     d->options.control, "private", d->options.private_job, "cores", (int)d->ncores,
                     "dma_helpers", (int)cores->helpers, "nics", nics, "endpoints", endpoint_rows(d), "jobs",
                     job_rows(d), "grants", json_incref(cores->grants), "collectives",
                     json_incref(cores->waits));
}

json_t *nofd_rpc_endpoints(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    if (nofd_rpc_keys(params, NULL, 0, error) != 0)
        return NULL;
    return json_pack("{s:o}", "rows", endpoint_rows(d));
}

/* more: added to the first; NULL: nothing. */
static json_t *counters_of(const uint64_t *first, const uint64_t *more)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < NOF_COUNTER_COUNT; i++) {
        uint64_t value = read_u64(&first[i]) + (more != NULL ? read_u64(&more[i]) : 0);

        json_object_set_new(object, nof_counter_info[i].name, json_integer((json_int_t)value));
    }
    return object;
}

/* What the simulated switch did to frames towards this core of a NIC. */
RACES static json_t *fabric_counters(const struct nofd *d, const struct nofd_nic *part)
{
    const struct nof_fabric_stats *s = nof_fabric_stats(d->fabric, part->wire.index);

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

/* What a core of such a port has had to do with the others. */
static void add_dpdk_counters(const struct nof_dpdk_queue *q, json_t *counters)
{
    for (enum nof_dpdk_counter i = 0; i < NOF_DPDK_COUNTERS; i++)
        json_object_set_new(counters, nof_dpdk_counter_name(i),
                            json_integer((json_int_t)nof_dpdk_queue_counter(q, i)));
}

static void add_udp_counters(const struct nof_udp_port *port, json_t *counters)
{
    for (unsigned i = 0; i < NOF_UDP_COUNTERS; i++)
        json_object_set_new(counters, nof_udp_port_counter_name(i),
                            json_integer((json_int_t)nof_udp_port_counter(port, i)));
}

/* What the libraries of the ranks say that they counted, of those that have gone as well; `only`: on that NIC. */
static json_t *library_of(const struct nofd *d, unsigned only)
{
    static const char *const names[NOF_LIBRARY_COUNT_MAX] = {
#define NOF_LIBRARY_COUNT(name, help) name,
        NOF_LIBRARY_COUNTS
#undef NOF_LIBRARY_COUNT
    };
    struct nofd_told sum = {0};
    json_t *counters = json_object();

    for (unsigned i = 0; i < d->nparts; i++)
        if (only == UINT32_MAX || only == d->nics[i].index)
            nofd_told_add(&sum, d->nics[i].gone.ranks, d->nics[i].gone.counted);
    for (const struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next)
        if (only == UINT32_MAX || only == ep->nic->index)
            nofd_told_add(&sum, 1, ep->bar.library_counts);
    for (unsigned i = 0; i < NOF_LIBRARY_COUNT_MAX; i++) {
        uint64_t told = sum.counted[i] < INT64_MAX ? sum.counted[i] : INT64_MAX;

        json_object_set_new(counters, names[i], json_integer((json_int_t)told));
    }
    return json_pack("{s:I, s:o}", "ranks", (json_int_t)sum.ranks, "counters", counters);
}

/* Counters of one core of a NIC, and of the wire behind it. */
static void add_counters(json_t *row, const struct nofd *d, const struct nofd_nic *part)
{
    json_t *counters = counters_of(nof_nic_counters(part->nic), part->counters);

    json_object_set_new(row, "counters", counters);
    if (part->wire.fabric != NULL)
        json_object_set_new(row, "fabric", fabric_counters(d, part));
    if (part->wire.udp != NULL)
        add_udp_counters(part->wire.udp, counters);
    if (part->wire.device != NULL && part->wire.ncores > 1)
        add_dpdk_counters(part->wire.port, counters);
}

/* Adds the numbers of one object to those of the same names in another. */
static void add_up(json_t *sums, json_t *more)
{
    const char *name;
    json_t *value;

    json_object_foreach(more, name, value) json_object_set_new(
        sums, name,
        json_integer(json_integer_value(json_object_get(sums, name)) + json_integer_value(value)));
}

static void add_each(json_t *row, const struct nofd *d, const struct nofd_nic *nic)
{
    json_t *cores = json_array();
    json_t *counters = json_object();
    json_t *fabric = json_object();

    for (unsigned core = 0; core < nic->wire.ncores; core++) {
        json_t *one = json_pack("{s:i}", "nic_core", (int)core);

        add_counters(one, d, &nic[core]);
        add_up(counters, json_object_get(one, "counters"));
        add_up(fabric, json_object_get(one, "fabric"));
        json_array_append_new(cores, one);
    }
    json_object_set_new(row, "counters", counters);
    if (nic->wire.fabric != NULL)
        json_object_set(row, "fabric", fabric);
    json_decref(fabric);
    json_object_set_new(row, "cores", cores);
}

static json_t *stats_row(const struct nofd *d, const struct nofd_nic *nic)
{
    char name[NAME_BYTES];
    json_t *row = json_pack("{s:i, s:s, s:I}", "nic", (int)nic->index, "name", name_of(nic, name),
                            "cycles_per_s", (json_int_t)nofd_nic_cycles_per_s());

    if (nic->wire.ncores > 1)
        add_each(row, d, nic);
    else
        add_counters(row, d, nic);
    if (nic->wire.device != NULL)
        add_xdp_counters(nic->wire.device, json_object_get(row, "counters"));
    return row;
}

json_t *nofd_rpc_stats(struct nofd *d, const json_t *params, struct nofd_rpc_error *error)
{
    static const char *const keys[] = {"nic"};
    json_t *rows;
    json_t *endpoints;
    unsigned only;

    if (nofd_rpc_keys(params, keys, 1, error) != 0 || nofd_rpc_nic(d->nnics, params, &only, error) != 0)
        return NULL;
    rows = json_array();
    endpoints = json_array();
    for (unsigned i = 0; i < d->nnics; i++)
        if (only == UINT32_MAX || only == i)
            json_array_append_new(rows, stats_row(d, nofd_nic_of(d, i)));
    for (struct nofd_endpoint *ep = d->endpoints; ep != NULL; ep = ep->next) {
        json_t *row;

        if (only != UINT32_MAX && only != ep->nic->index)
            continue;
        row = endpoint_row(ep);
        json_object_set_new(row, "counters", counters_of(ep->counters, NULL));
        json_array_append_new(endpoints, row);
    }
    return json_pack("{s:o, s:o, s:o}", "rows", rows, "endpoints", endpoints, "library", library_of(d, only));
}
