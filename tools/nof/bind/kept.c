/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/kept.h"

#include <stdlib.h>
#include <string.h>

#define SUFFIX ".json"
#define FILE_OF NOF_KEPT_DIR "/%s" SUFFIX

json_t *nof_kept_load(struct nof_system *m, const char *address)
{
    char path[NOF_PATH_BYTES], *text;
    json_t *kept;

    snprintf(path, sizeof(path), FILE_OF, address);
    text = m->ops->text(m, path);
    kept = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return kept;
}

bool nof_kept_save(struct nof_system *m, const char *address, const json_t *kept)
{
    char path[NOF_PATH_BYTES];
    int rc;

    snprintf(path, sizeof(path), FILE_OF, address);
    rc = m->ops->keep(m, path, kept);
    if (rc != 0)
        nof_say(m, "%s: %s, which remembers what the device was, cannot be written (%s): nothing is changed",
                address, path, strerror(-rc));
    return rc == 0;
}

void nof_kept_drop(struct nof_system *m, const char *address)
{
    char path[NOF_PATH_BYTES];
    int rc;

    snprintf(path, sizeof(path), FILE_OF, address);
    rc = m->ops->keep(m, path, NULL);
    if (rc != 0)
        nof_say(m, "%s is of no use any more and cannot be removed: %s", path, strerror(-rc));
}

json_t *nof_kept_all(struct nof_system *m)
{
    json_t *names = nof_system_names(m, NOF_KEPT_DIR);
    json_t *all = json_array();
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
    {
        const char *text = json_string_value(name);
        size_t len = strlen(text), tail = strlen(SUFFIX);

        if (len > tail && strcmp(text + len - tail, SUFFIX) == 0)
            json_array_append_new(all, json_stringn(text, len - tail));
    }
    json_decref(names);
    return all;
}

bool nof_kept_was(struct nof_system *m, const char *address, const char *interface)
{
    json_t *kept = nof_kept_load(m, address);
    const json_t *row;
    bool was = false;
    size_t i;

    json_array_foreach(json_object_get(kept, "interfaces"), i, row)
    {
        was |= strcmp(nof_kept_text(row, "name"), interface) == 0;
    }
    json_decref(kept);
    return was;
}

const char *nof_kept_text(const json_t *kept, const char *key)
{
    const char *text = json_string_value(json_object_get(kept, key));

    return text != NULL ? text : "";
}
