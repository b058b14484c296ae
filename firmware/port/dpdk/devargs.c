/* SPDX-License-Identifier: BSD-3-Clause */
#include "port/dpdk/devargs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof/status.h"

/* The value of `key` in "k=v,k=v", or NULL; its length in *len_out. */
static const char *find(const char *args, const char *key, size_t *len_out)
{
    size_t key_len = strlen(key);

    for (const char *p = args; *p != '\0';) {
        size_t len = strcspn(p, ",");
        if (len > key_len && strncmp(p, key, key_len) == 0 && p[key_len] == '=') {
            *len_out = len - key_len - 1;
            return p + key_len + 1;
        }
        p += len;
        p += *p == ',';
    }
    return NULL;
}

static enum nof_devargs_kind kind_of(const char *name)
{
    if (strncmp(name, "net_af_xdp", 10) == 0)
        return NOF_DEVARGS_AF_XDP;
    if (strncmp(name, "net_af_packet", 13) == 0 || strncmp(name, "eth_af_packet", 13) == 0)
        return NOF_DEVARGS_AF_PACKET;
    if (strncmp(name, "net_", 4) == 0 || strncmp(name, "eth_", 4) == 0 ||
        strncmp(name, "virtio_user", 11) == 0)
        return NOF_DEVARGS_VDEV;
    return NOF_DEVARGS_BUS;
}

int nof_devargs_parse(const char *text, struct nof_devargs *out)
{
    struct nof_devargs d;
    size_t name_len = strcspn(text, ",");
    size_t value_len = 0;
    const char *value;

    memset(&d, 0, sizeof(d));
    if (name_len == 0 || name_len >= sizeof(d.name) - 4)
        return NOF_EINVAL;
    memcpy(d.name, text, name_len);
    text += name_len;
    text += *text == ',';
    if (strlen(text) >= sizeof(d.args))
        return NOF_EINVAL;
    memcpy(d.args, text, strlen(text));
    d.kind = kind_of(d.name);
    value = find(d.args, "iface", &value_len);
    if (value && value_len >= sizeof(d.ifname))
        return NOF_EINVAL;
    if (value)
        memcpy(d.ifname, value, value_len);
    *out = d;
    return NOF_OK;
}

bool nof_devargs_has(const struct nof_devargs *d, const char *key)
{
    size_t len;

    return find(d->args, key, &len) != NULL;
}

uint32_t nof_devargs_number(const struct nof_devargs *d, const char *key, uint32_t otherwise)
{
    size_t len;
    const char *value = find(d->args, key, &len);
    unsigned long n;
    char *end;

    if (!value || !isdigit((unsigned char)value[0]))
        return otherwise;
    n = strtoul(value, &end, 10);
    return end == value + len && n <= UINT32_MAX ? (uint32_t)n : otherwise;
}

int nof_devargs_add(struct nof_devargs *d, const char *key, const char *value)
{
    size_t used = strlen(d->args);
    int n = snprintf(d->args + used, sizeof(d->args) - used, "%s%s=%s", used > 0 ? "," : "", key, value);

    if (n < 0 || (size_t)n >= sizeof(d->args) - used) {
        d->args[used] = '\0';
        return NOF_EINVAL;
    }
    return NOF_OK;
}

static int parse_rate(const char *text, size_t len, uint64_t *rate_bps_out)
{
    uint64_t unit = 1;
    char *end;
    unsigned long long n;

    if (len == 0 || !isdigit((unsigned char)text[0]))
        return NOF_EINVAL;
    n = strtoull(text, &end, 10);
    switch (tolower((unsigned char)*end)) {
    case 'g':
        unit = 1000000000u;
        break;
    case 'm':
        unit = 1000000u;
        break;
    case 'k':
        unit = 1000u;
        break;
    default:
        break;
    }
    end += unit != 1;
    if (strncmp(end, "bit", 3) == 0)
        end += 3;
    if (end != text + len || n == 0 || n > UINT64_MAX / unit)
        return NOF_EINVAL;
    *rate_bps_out = n * unit;
    return NOF_OK;
}

void nof_devargs_remove(struct nof_devargs *d, const char *key)
{
    size_t len;
    const char *value = find(d->args, key, &len);
    char *at;

    if (!value)
        return;
    at = d->args + (value - d->args) - strlen(key) - 1;
    len += strlen(key) + 1;
    /* One of the commas around it goes too. */
    if (at[len] == ',')
        len++;
    else if (at > d->args) {
        at--;
        len++;
    }
    memmove(at, at + len, strlen(at + len) + 1);
}

int nof_devargs_take_rate(struct nof_devargs *d, uint64_t *rate_bps_out)
{
    size_t len;
    const char *value = find(d->args, "rate", &len);

    *rate_bps_out = 0;
    if (!value)
        return NOF_OK;
    if (parse_rate(value, len, rate_bps_out) != NOF_OK)
        return NOF_EINVAL;
    nof_devargs_remove(d, "rate");
    return NOF_OK;
}
