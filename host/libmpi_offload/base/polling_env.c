/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/polling_env.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/env.h"

static int number(const char *name, uint32_t *number_out, char *text, size_t text_bytes)
{
    const char *value = nof_env(name);
    char *end = NULL;
    if (value == NULL)
        return 0;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || value[0] < '0' || value[0] > '9' || n < 1 ||
        n > NOF_POLLING_MOST) {
        snprintf(text, text_bytes, "%s=%.64s: must be a number from 1 to %u", name, value, NOF_POLLING_MOST);
        return -1;
    }
    *number_out = (uint32_t)n;
    return 0;
}

int nof_polling_env_read(struct nof_polling_env *env_out, char *text, size_t text_bytes)
{
    struct nof_polling_env env = {.ratio = 0};
    const char *scheme = nof_env("NOF_POLLING");
    env.told = scheme != NULL;
    env.dynamic = env.told && strcmp(scheme, "dynamic") == 0;
    if (env.told && !env.dynamic && strcmp(scheme, "static") != 0) {
        snprintf(text, text_bytes, "NOF_POLLING=%.64s: must be static or dynamic", scheme);
        return -1;
    }
    if (number("NOF_POLL_RATIO", &env.ratio, text, text_bytes) != 0 ||
        number("NOF_POLL_UPDATE", &env.update, text, text_bytes) != 0)
        return -1;
    *env_out = env;
    return 0;
}

void nof_polling_env_apply(const struct nof_polling_env *env, struct nof_polling_set *set)
{
    if (env->told)
        set->dynamic = env->dynamic;
    if (env->ratio != 0)
        set->ratio = env->ratio;
    if (env->update != 0)
        set->update = env->update;
}
