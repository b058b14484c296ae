/* SPDX-License-Identifier: BSD-3-Clause */
#include "messages.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The name of the folder that `path` lies in. */
static void folder_of(const char *path, char *name, size_t name_bytes)
{
    char real[PATH_MAX];
    char *slash;

    snprintf(name, name_bytes, "messages");
    if (realpath(path, real) == NULL || (slash = strrchr(real, '/')) == NULL)
        return;
    *slash = '\0';
    slash = strrchr(real, '/');
    if (slash != NULL && slash[1] != '\0')
        snprintf(name, name_bytes, "%.*s", (int)name_bytes - 1, slash + 1);
}

static uint8_t *slurp(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t room = 0;
    int why;

    *len = 0;
    if (file == NULL)
        return NULL;
    for (;;) {
        if (*len == room) {
            uint8_t *more = realloc(bytes, room = room * 2 + 65536);

            if (more == NULL)
                goto fail;
            bytes = more;
        }
        size_t got = fread(bytes + *len, 1, room - *len, file);

        *len += got;
        if (got == 0)
            break;
    }
    if (ferror(file))
        goto fail;
    fclose(file);
    return bytes;
fail:
    why = errno;
    free(bytes);
    fclose(file);
    errno = why;
    return NULL;
}

static int split(struct nof_messages *m, size_t len)
{
    for (size_t at = 0; at < len;) {
        int32_t head[2];

        if (len - at < sizeof(head))
            return -1;
        memcpy(head, m->memory + at, sizeof(head));
        at += sizeof(head);
        if (head[0] < 0 || head[0] >= (int32_t)NOF_MESSAGES_DESTINATIONS || head[1] <= 0 ||
            (size_t)head[1] > len - at)
            return -1;
        struct nof_message *more = realloc(m->message, (m->n + 1) * sizeof(*more));

        if (more == NULL)
            return -1;
        m->message = more;
        more[m->n++] = (struct nof_message){(uint32_t)head[0], (uint32_t)head[1], m->memory + at};
        at += (size_t)head[1];
        m->bytes += (size_t)head[1];
        if ((uint32_t)head[1] > m->largest_bytes)
            m->largest_bytes = (uint32_t)head[1];
    }
    return m->n > 0 ? 0 : -1;
}

int nof_messages_read(struct nof_messages *m, const char *path, char *why, size_t why_bytes)
{
    struct stat info = {0};
    size_t len;

    memset(m, 0, sizeof(*m));
    (void)stat(path, &info);
    if (S_ISDIR(info.st_mode)) {
        snprintf(why, why_bytes, "%s is a folder: name a file of it, such as %s/rank0.msg", path, path);
        return -1;
    }
    if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) { /* may have no end */
        snprintf(why, why_bytes,
                 "%s is a device: name a file of messages, as tests/vectors/messages has them", path);
        return -1;
    }
    folder_of(path, m->program, sizeof(m->program));
    m->memory = slurp(path, &len);
    if (m->memory == NULL) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (split(m, len) == 0)
        return 0;
    snprintf(why, why_bytes,
             "%s: not a file of messages (records of i32 destination, i32 length in bytes, payload)", path);
    nof_messages_free(m);
    return -1;
}

void nof_messages_free(struct nof_messages *m)
{
    free(m->memory);
    free(m->message);
    memset(m, 0, sizeof(*m));
}
