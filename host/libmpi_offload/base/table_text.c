/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/table_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX 65536u

int nof_table_text_read(const char *name, const char *text, nof_table_text_line *take, void *of, char *error,
                        size_t size)
{
    char line[NOF_TABLE_TEXT_LINE_BYTES], why[NOF_TABLE_TEXT_ERROR_BYTES];
    for (unsigned number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        int rc = -1;
        snprintf(why, sizeof(why), "the line is longer than %zu characters", sizeof(line) - 1);
        if (length < sizeof(line)) {
            memcpy(line, text, length);
            line[length] = '\0';
            line[strcspn(line, "#")] = '\0';
            rc = take(of, line, why, sizeof(why));
        }
        if (rc != 0) {
            snprintf(error, size, "%s:%u: %s", name, number, why);
            return -1;
        }
        text += length + (text[length] == '\n');
    }
    return 0;
}

/* Bytes that were read, or -1 with errno: 0 if it is no text of at most FILE_BYTES_MAX bytes. Nobody else's pipe is waited for. */
static ssize_t load(const char *name, char *text)
{
    struct stat st;
    ssize_t n = 1;
    size_t bytes = 0;
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    errno = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        errno = errno == 0 && S_ISDIR(st.st_mode) ? EISDIR : errno;
        n = -1;
    }
    while (n > 0 && bytes <= FILE_BYTES_MAX) {
        n = read(fd, text + bytes, FILE_BYTES_MAX + 1 - bytes);
        bytes += n > 0 ? (size_t)n : 0;
    }
    int failed = errno;
    close(fd);
    errno = failed;
    return n < 0 || bytes > FILE_BYTES_MAX || memchr(text, '\0', bytes) != NULL ? -1 : (ssize_t)bytes;
}

char *nof_table_text_load(const char *env, const char *name, const char *how, char *error, size_t size)
{
    char *text = malloc(FILE_BYTES_MAX + 1);
    ssize_t bytes = text == NULL ? -1 : load(name, text);
    if (bytes >= 0) {
        text[bytes] = '\0';
        return text;
    }
    if (text == NULL)
        snprintf(error, size, "%s=%s: no memory", env, name);
    else if (errno != 0)
        snprintf(error, size, "%s=%s: %s; name a table that all ranks can read, as `%s` writes one", env,
                 name, strerror(errno), how);
    else
        snprintf(error, size, "%s=%s: it is no table, which is text of at most %u bytes, as `%s` writes one",
                 env, name, FILE_BYTES_MAX, how);
    free(text);
    return NULL;
}
