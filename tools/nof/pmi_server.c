/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi_server.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

struct rank_state {
    enum nof_pmi_phase phase;
    bool gone;
    bool in_barrier;
    unsigned keys;
    size_t fill; /* of line */
    char line[NOF_PMI_LINE_MAX];
};

struct nof_pmi {
    unsigned ranks;
    unsigned hosts;
    unsigned fences; /* barriers that all have left */
    const struct nof_pmi_ops *ops;
    void *ctx;
    json_t *store; /* key -> value */
    char kvs_name[NOF_PMI_KEY_MAX];
    char error[160];
    struct rank_state rank[];
};

/* One command, split in place: "cmd=put kvsname=k key=a value=b c". */
struct command {
    const char *name;
    const char *kvs_name;
    const char *key;
    const char *value; /* may hold blanks: it ends the line */
    const char *exit_code;
    const char *index;
    const char *cause;
};

unsigned nof_pmi_host_of(unsigned rank, unsigned ranks, unsigned hosts)
{
    unsigned small = ranks / hosts;
    unsigned larger = ranks % hosts; /* hosts with one more */

    if (rank < larger * (small + 1))
        return rank / (small + 1);
    return larger + (rank - larger * (small + 1)) / small;
}

static void put_mapping(struct nof_pmi *pmi)
{
    unsigned small = pmi->ranks / pmi->hosts;
    unsigned larger = pmi->ranks % pmi->hosts;
    char text[128];

    if (larger == 0)
        snprintf(text, sizeof(text), "(vector,(0,%u,%u))", pmi->hosts, small);
    else
        snprintf(text, sizeof(text), "(vector,(0,%u,%u),(%u,%u,%u))", larger, small + 1, larger,
                 pmi->hosts - larger, small);
    json_object_set_new_nocheck(pmi->store, "PMI_process_mapping", json_string_nocheck(text));
}

struct nof_pmi *nof_pmi_new(unsigned ranks, unsigned hosts, const char *kvs_name,
                            const struct nof_pmi_ops *ops, void *ctx)
{
    struct nof_pmi *pmi = calloc(1, sizeof(*pmi) + ranks * sizeof(pmi->rank[0]));

    if (pmi == NULL)
        return NULL;
    pmi->ranks = ranks;
    pmi->hosts = hosts;
    pmi->ops = ops;
    pmi->ctx = ctx;
    pmi->store = json_object();
    if (pmi->store == NULL) {
        free(pmi);
        return NULL;
    }
    snprintf(pmi->kvs_name, sizeof(pmi->kvs_name), "%s", kvs_name);
    put_mapping(pmi);
    return pmi;
}

void nof_pmi_delete(struct nof_pmi *pmi)
{
    if (pmi == NULL)
        return;
    json_decref(pmi->store);
    free(pmi);
}

enum nof_pmi_phase nof_pmi_phase(const struct nof_pmi *pmi, unsigned rank)
{
    return pmi->rank[rank].phase;
}

const char *nof_pmi_error(const struct nof_pmi *pmi)
{
    return pmi->error;
}

static int refuse(struct nof_pmi *pmi, const char *why)
{
    snprintf(pmi->error, sizeof(pmi->error), "%s", why);
    return NOF_EPROTO;
}

static void reply(struct nof_pmi *pmi, unsigned rank, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void reply(struct nof_pmi *pmi, unsigned rank, const char *fmt, ...)
{
    char line[NOF_PMI_VALUE_MAX + 256];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    pmi->ops->reply(pmi->ctx, rank, line, (size_t)n);
}

/* Lets everybody go once all that are still there have come. */
static void check_barrier(struct nof_pmi *pmi)
{
    bool anybody = false;

    for (unsigned i = 0; i < pmi->ranks; i++) {
        if (!pmi->rank[i].in_barrier && !pmi->rank[i].gone)
            return;
        anybody |= pmi->rank[i].in_barrier;
    }
    if (!anybody)
        return;
    pmi->fences++;
    for (unsigned i = 0; i < pmi->ranks; i++) {
        bool waits = pmi->rank[i].in_barrier && !pmi->rank[i].gone;

        pmi->rank[i].in_barrier = false;
        if (waits)
            reply(pmi, i, "cmd=barrier_out rc=0\n");
    }
}

unsigned nof_pmi_fences(const struct nof_pmi *pmi)
{
    return pmi->fences;
}

void nof_pmi_gone(struct nof_pmi *pmi, unsigned rank)
{
    pmi->rank[rank].gone = true;
    check_barrier(pmi);
}

static int do_init(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    if (pmi->rank[rank].phase != NOF_PMI_NEW)
        return refuse(pmi, "PMI init came twice");
    pmi->rank[rank].phase = NOF_PMI_INITIALIZED;
    reply(pmi, rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    return NOF_OK;
}

static int do_get_maxes(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    reply(pmi, rank, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n", NOF_PMI_KEY_MAX,
          NOF_PMI_KEY_MAX, NOF_PMI_VALUE_MAX);
    return NOF_OK;
}

static int do_get_appnum(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    reply(pmi, rank, "cmd=appnum rc=0 appnum=0\n");
    return NOF_OK;
}

static int do_get_universe_size(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    reply(pmi, rank, "cmd=universe_size rc=0 size=%u\n", pmi->ranks);
    return NOF_OK;
}

static int do_get_my_kvsname(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    reply(pmi, rank, "cmd=my_kvsname rc=0 kvsname=%s\n", pmi->kvs_name);
    return NOF_OK;
}

static bool our_store(const struct nof_pmi *pmi, const struct command *c)
{
    return c->kvs_name != NULL && strcmp(c->kvs_name, pmi->kvs_name) == 0;
}

static int do_put(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    const char *why = NULL;

    if (!our_store(pmi, c))
        why = "kvs_not_found";
    else if (c->key == NULL || c->key[0] == '\0' || strlen(c->key) >= NOF_PMI_KEY_MAX)
        why = "key_length";
    else if (c->value == NULL || strlen(c->value) >= NOF_PMI_VALUE_MAX)
        why = "value_length";
    else if (json_object_get(pmi->store, c->key) != NULL)
        why = "duplicate_key";
    else if (pmi->rank[rank].keys >= NOF_PMI_KEYS_MAX)
        why = "too_many_keys";
    else if (json_object_set_new_nocheck(pmi->store, c->key, json_string_nocheck(c->value)) != 0)
        why = "no_memory";
    else
        pmi->rank[rank].keys++;
    reply(pmi, rank, "cmd=put_result rc=%d msg=%s\n", why == NULL ? 0 : -1, why == NULL ? "success" : why);
    return NOF_OK;
}

static int do_get(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    const json_t *value = our_store(pmi, c) && c->key != NULL ? json_object_get(pmi->store, c->key) : NULL;

    if (value != NULL)
        reply(pmi, rank, "cmd=get_result rc=0 msg=success value=%s\n", json_string_value(value));
    else
        reply(pmi, rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    return NOF_OK;
}

static int do_getbyidx(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    long want = c->index != NULL ? strtol(c->index, NULL, 10) : -1;
    const char *key;
    json_t *value;

    if (our_store(pmi, c)) {
        json_object_foreach(pmi->store, key, value)
        {
            if (want-- != 0)
                continue;
            reply(pmi, rank, "cmd=getbyidx_results rc=0 nextidx=%ld key=%s val=%s\n",
                  strtol(c->index, NULL, 10) + 1, key, json_string_value(value));
            return NOF_OK;
        }
    }
    reply(pmi, rank, "cmd=getbyidx_results rc=-2 reason=no_more_keyvals\n");
    return NOF_OK;
}

static int do_barrier(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    if (pmi->rank[rank].in_barrier)
        return refuse(pmi, "PMI barrier_in came twice");
    pmi->rank[rank].in_barrier = true;
    check_barrier(pmi);
    return NOF_OK;
}

static int do_finalize(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    (void)c;
    pmi->rank[rank].phase = NOF_PMI_FINALIZED;
    reply(pmi, rank, "cmd=finalize_ack rc=0\n");
    return NOF_OK;
}

static int do_abort(struct nof_pmi *pmi, unsigned rank, const struct command *c)
{
    pmi->ops->abort(pmi->ctx, rank, c->exit_code != NULL ? atoi(c->exit_code) : 1,
                    c->cause == NULL || strcmp(c->cause, "error") != 0);
    return NOF_OK;
}

static void split(char *line, struct command *c)
{
    const struct {
        const char *name;
        const char **to;
    } field[] = {{"cmd=", &c->name},    {"kvsname=", &c->kvs_name},   {"key=", &c->key},
                 {"value=", &c->value}, {"exitcode=", &c->exit_code}, {"idx=", &c->index},
                 {"cause=", &c->cause}};
    char *at = line;

    memset(c, 0, sizeof(*c));
    while (*at != '\0') {
        char *word = at;
        size_t len = strcspn(word, " ");

        if (strncmp(word, "value=", 6) == 0) { /* the rest of the line, blanks and all */
            c->value = word + 6;
            return;
        }
        at = word + len;
        if (*at == ' ')
            *at++ = '\0';
        for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
            if (strncmp(word, field[i].name, strlen(field[i].name)) == 0)
                *field[i].to = word + strlen(field[i].name);
    }
}

static int run_line(struct nof_pmi *pmi, unsigned rank, char *line)
{
    static const struct {
        const char *name;
        int (*run)(struct nof_pmi *pmi, unsigned rank, const struct command *c);
    } table[] = {
        {"init", do_init},
        {"get_maxes", do_get_maxes},
        {"get_appnum", do_get_appnum},
        {"get_universe_size", do_get_universe_size},
        {"get_my_kvsname", do_get_my_kvsname},
        {"put", do_put},
        {"get", do_get},
        {"getbyidx", do_getbyidx},
        {"barrier_in", do_barrier},
        {"finalize", do_finalize},
        {"abort", do_abort},
    };
    struct command c;

    if (strncmp(line, "mcmd=", 5) == 0)
        return refuse(pmi, "the program asked to spawn processes, which this launcher cannot do");
    split(line, &c);
    if (c.name == NULL)
        return refuse(pmi, "a line without cmd= came on the PMI socket");
    if (pmi->rank[rank].phase == NOF_PMI_NEW && strcmp(c.name, "init") != 0 && strcmp(c.name, "abort") != 0)
        return refuse(pmi, "a PMI command came before init");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(c.name, table[i].name) == 0)
            return table[i].run(pmi, rank, &c);
    reply(pmi, rank, "cmd=%.64s_result rc=-1 msg=unknown_command\n", c.name);
    return NOF_OK;
}

int nof_pmi_feed(struct nof_pmi *pmi, unsigned rank, const char *bytes, size_t n)
{
    struct rank_state *r = &pmi->rank[rank];

    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\0')
            return refuse(pmi, "a NUL came on the PMI socket");
        if (bytes[i] != '\n') {
            if (r->fill == sizeof(r->line) - 1)
                return refuse(pmi, "a line longer than 4095 bytes came on the PMI socket");
            r->line[r->fill++] = bytes[i];
            continue;
        }
        r->line[r->fill] = '\0';
        r->fill = 0;
        if (run_line(pmi, rank, r->line) != NOF_OK)
            return NOF_EPROTO;
    }
    return NOF_OK;
}
