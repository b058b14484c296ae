/* SPDX-License-Identifier: BSD-3-Clause */
#include "nof_private/units.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct suffix {
    const char *text; /* compared without case */
    double factor;
};

/* Number and suffix; an absent suffix takes `bare`. */
static int scaled(const char *text, const struct suffix *suffixes, double bare, uint64_t *out)
{
    char *end;
    double value;
    double factor = bare;

    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return -1;
    errno = 0;
    value = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(value) || value < 0)
        return -1;
    while (isspace((unsigned char)*end))
        end++;
    if (*end != '\0') {
        for (; suffixes->text != NULL; suffixes++)
            if (strcasecmp(end, suffixes->text) == 0)
                break;
        if (suffixes->text == NULL)
            return -1;
        factor = suffixes->factor;
    }
    value *= factor;
    if (value >= 9.2e18)
        return -1;
    *out = (uint64_t)(value + 0.5);
    return 0;
}

int nofd_units_bytes(const char *text, uint64_t *bytes_out)
{
    static const struct suffix suffixes[] = {
        {"B", 1},         {"k", 1024}, {"KiB", 1024},       {"kB", 1000},          {"M", 1048576},
        {"MiB", 1048576}, {"MB", 1e6}, {"G", 1073741824.0}, {"GiB", 1073741824.0}, {"GB", 1e9},
        {"bytes", 1},     {NULL, 0},
    };

    return scaled(text, suffixes, 1, bytes_out);
}

int nofd_units_rate(const char *text, uint64_t *bps_out)
{
    static const struct suffix suffixes[] = {
        {"bit", 1},    {"bit/s", 1},    {"bps", 1},    {"k", 1e3},      {"kbit", 1e3}, {"kbit/s", 1e3},
        {"kbps", 1e3}, {"M", 1e6},      {"Mbit", 1e6}, {"Mbit/s", 1e6}, {"Mbps", 1e6}, {"G", 1e9},
        {"Gbit", 1e9}, {"Gbit/s", 1e9}, {"Gbps", 1e9}, {NULL, 0},
    };

    if (strcasecmp(text, "none") == 0 || strcasecmp(text, "unlimited") == 0) {
        *bps_out = 0;
        return 0;
    }
    return scaled(text, suffixes, 1, bps_out);
}

int nofd_units_time(const char *text, uint64_t bare_ns, uint64_t *ns_out)
{
    static const struct suffix suffixes[] = {
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0},
    };

    return scaled(text, suffixes, (double)bare_ns, ns_out);
}

int nofd_units_share(const char *text, double *share_out)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (end == text || errno != 0)
        return -1;
    if (*end == '%') {
        value /= 100;
        end++;
    }
    if (*end != '\0' || !(value >= 0 && value <= 1))
        return -1;
    *share_out = value;
    return 0;
}

int nofd_units_number(const char *text, uint64_t min, uint64_t max, uint64_t *number_out)
{
    char *end;
    unsigned long long value;

    if (!isdigit((unsigned char)*text))
        return -1;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0 || value < min || value > max)
        return -1;
    *number_out = value;
    return 0;
}

int nofd_units_ip4(const char *text, uint32_t *ip4_out)
{
    struct in_addr addr;

    if (inet_pton(AF_INET, text, &addr) != 1)
        return -1;
    *ip4_out = ntohl(addr.s_addr);
    return 0;
}

static int time_in(const char *text, uint64_t unit_ns, uint64_t *number_out)
{
    uint64_t ns;

    if (nofd_units_time(text, unit_ns, &ns) != 0 || ns % unit_ns != 0)
        return -1;
    *number_out = ns / unit_ns;
    return 0;
}

int nofd_units_of(const char *unit, const char *text, uint64_t *number_out)
{
    if (strcmp(unit, "bytes") == 0)
        return nofd_units_bytes(text, number_out);
    if (strcmp(unit, "us") == 0)
        return time_in(text, 1000, number_out);
    if (strcmp(unit, "ms") == 0)
        return time_in(text, 1000000, number_out);
    return nofd_units_number(text, 0, UINT64_MAX, number_out);
}
