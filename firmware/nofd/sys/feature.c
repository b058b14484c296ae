/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Features by name: what --set, the configuration file and the control socket have in common. */
#include "nofd/sys/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nof_private/nearest.h"
#include "nof_private/units.h"

static int find(const char *name, unsigned *feature_out, char *err, size_t err_bytes)
{
    const char *names[NOF_FEATURE_COUNT];
    char near[64];

    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++) {
        names[i] = nof_feature_info[i].name;
        if (strcmp(names[i], name) == 0) {
            *feature_out = i;
            return 0;
        }
    }
    nof_nearest_ask(name, names, NOF_FEATURE_COUNT, near, sizeof(near));
    snprintf(err, err_bytes, "there is no feature \"%.64s\"%s (nof features lists all)", name, near);
    return -1;
}

/* Index of `value` among "a|b|c", or -1. */
static int choice(const char *choices, const char *value)
{
    size_t len = strlen(value);
    int index = 0;

    for (const char *at = choices;; index++) {
        size_t n = strcspn(at, "|");

        if (n == len && strncasecmp(at, value, n) == 0)
            return index;
        at += n;
        if (*at++ == '\0')
            return -1;
    }
}

/* Other words for off and on. */
static int boolean(const char *value)
{
    static const char *const words[][2] = {{"off", "on"}, {"0", "1"}, {"no", "yes"}, {"false", "true"}};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        for (int j = 0; j < 2; j++)
            if (strcasecmp(value, words[i][j]) == 0)
                return j;
    return -1;
}

static int number(const struct nof_feature_info *info, const char *value, uint64_t *value_out)
{
    uint64_t n;

    if (nofd_units_of(info->choices, value, &n) != 0 || n < info->min || n > info->max)
        return -1;
    *value_out = n;
    return 0;
}

int nofd_options_feature(const char *name, const char *value, unsigned *feature_out, uint64_t *value_out,
                         char *err, size_t err_bytes)
{
    const struct nof_feature_info *info;
    unsigned feature;
    int index;

    if (find(name, &feature, err, err_bytes) != 0)
        return -1;
    info = &nof_feature_info[feature];
    if (info->kind == NOF_FEATURE_NUMBER) {
        if (number(info, value, value_out) != 0) {
            snprintf(err, err_bytes, "%s takes a number from %" PRIu64 " to %" PRIu64 " (%s), not \"%.64s\"",
                     info->name, info->min, info->max, info->choices, value);
            return -1;
        }
    } else {
        index = choice(info->choices, value);
        if (index < 0 && info->kind == NOF_FEATURE_BOOL)
            index = boolean(value);
        if (index < 0) {
            snprintf(err, err_bytes, "%s is one of %s, not \"%.64s\"", info->name, info->choices, value);
            return -1;
        }
        *value_out = (uint64_t)index;
    }
    *feature_out = feature;
    return 0;
}

void nofd_options_feature_text(unsigned feature, uint64_t value, char *text, size_t text_bytes)
{
    const struct nof_feature_info *info = &nof_feature_info[feature];
    const char *at = info->choices;

    if (info->kind == NOF_FEATURE_NUMBER) {
        snprintf(text, text_bytes, "%" PRIu64, value);
        return;
    }
    for (; value > 0 && strchr(at, '|') != NULL; value--)
        at = strchr(at, '|') + 1;
    snprintf(text, text_bytes, "%.*s", (int)strcspn(at, "|"), at);
}
