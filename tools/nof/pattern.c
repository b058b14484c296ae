/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nof_private/units.h"

#define LINE_BYTES 4096u /* three words and a comment */

struct reader {
    const char *self;
    const char *name; /* of the file */
    const char *unit; /* what `at` counts: "line" or "message" */
    size_t at; /* from 1 */
    uint32_t nodes; /* 0: not said */
    uint32_t nodes_named; /* one more than the largest */
    uint64_t total_bytes;
    struct nof_phases_message *message;
    size_t count;
    size_t capacity;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct reader *r, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: %s, %s %zu: ", r->self, r->name, r->unit, r->at);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return -1;
}

static int check_node(const struct reader *r, uint32_t node)
{
    if (r->nodes == 0 || node < r->nodes)
        return 0;
    if (r->nodes == 1)
        return refuse(r, "there is no node %" PRIu32 ": of one node, the only one is 0", node);
    return refuse(r, "there is no node %" PRIu32 ": of %" PRIu32 " nodes, the last is %" PRIu32, node,
                  r->nodes, r->nodes - 1);
}

static int add(struct reader *r, struct nof_phases_message message)
{
    uint32_t most = message.source > message.destination ? message.source : message.destination;

    if (check_node(r, message.source) != 0 || check_node(r, message.destination) != 0)
        return -1;
    if (message.bytes > INT64_MAX - r->total_bytes)
        return refuse(r, "with this the messages have more than %" PRId64 " bytes together", INT64_MAX);
    if (r->count == NOF_PHASES_MESSAGES_MAX)
        return refuse(r, "this is one message too many; add up what a node sends to another");
    if (r->count == r->capacity) {
        size_t capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        struct nof_phases_message *larger = realloc(r->message, capacity * sizeof(*larger));

        if (larger == NULL)
            return refuse(r, "no memory for so many messages");
        r->message = larger;
        r->capacity = capacity;
    }
    r->message[r->count++] = message;
    r->total_bytes += message.bytes;
    if (most >= r->nodes_named)
        r->nodes_named = most + 1;
    return 0;
}

static int read_node(const struct reader *r, const char *word, const char *which, uint32_t *node_out)
{
    uint64_t number;

    if (nofd_units_number(word, 0, NOF_PHASES_NODES_MAX - 1, &number) != 0)
        return refuse(r, "the %s is '%s'; it must be a number from 0 to %u", which, word,
                      NOF_PHASES_NODES_MAX - 1);
    *node_out = (uint32_t)number;
    return 0;
}

/* Without a unit to the last digit. */
static int read_bytes(const struct reader *r, const char *word, uint64_t *bytes_out)
{
    if (nofd_units_number(word, 0, INT64_MAX, bytes_out) == 0)
        return 0;
    if (word[strspn(word, "0123456789")] != '\0' && nofd_units_bytes(word, bytes_out) == 0)
        return 0;
    return refuse(r,
                  "the bytes are '%s'; they must be a number as 1048576, 1MiB or 1MB are, at most %" PRId64,
                  word, INT64_MAX);
}

static int read_line(struct reader *r, char *line)
{
    static const char blank[] = " \t\r\n";
    struct nof_phases_message message = {0};
    char *word[4];
    char *next = NULL;
    unsigned words = 0;

    line[strcspn(line, "#")] = '\0';
    for (char *w = strtok_r(line, blank, &next); w != NULL && words < 4; w = strtok_r(NULL, blank, &next))
        word[words++] = w;
    if (words == 0)
        return 0;
    if (words != 3)
        return refuse(r, "%s; a line has three words: source, destination, bytes",
                      words > 3    ? "there are more than three words"
                      : words == 2 ? "there are two words"
                                   : "there is one word");
    if (read_node(r, word[0], "source", &message.source) != 0 ||
        read_node(r, word[1], "destination", &message.destination) != 0 ||
        read_bytes(r, word[2], &message.bytes) != 0)
        return -1;
    return add(r, message);
}

/* Returns whether there was a line, of which at most LINE_BYTES and one are taken: /dev/zero is one that never ends. */
static bool next_line(FILE *f, char *line, size_t *len_out)
{
    int c = EOF;

    for (*len_out = 0; *len_out <= LINE_BYTES && (c = getc(f)) != EOF;) {
        line[(*len_out)++] = (char)c;
        if (c == '\n')
            break;
    }
    line[*len_out] = '\0';
    return *len_out > 0;
}

static int read_text(struct reader *r, FILE *f)
{
    char line[LINE_BYTES + 2];
    size_t len;
    int rc = 0;

    r->unit = "line";
    while (rc == 0 && next_line(f, line, &len)) {
        r->at++;
        if (strlen(line) != len)
            rc = refuse(r, "a zero byte; is this a text?");
        else if (len > LINE_BYTES && line[LINE_BYTES] != '\n')
            rc = refuse(r, "the line is longer than %u bytes; is this a text?", LINE_BYTES);
        else
            rc = read_line(r, line);
    }
    return rc;
}

static int json_number(const struct reader *r, const json_t *row, const char *key, uint64_t max,
                       uint64_t *out)
{
    const json_t *value = json_object_get(row, key);
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
        return refuse(r, "\"%s\" must be a number from 0 to %" PRIu64, key, max);
    *out = (uint64_t)number;
    return 0;
}

static int read_row(struct reader *r, const json_t *row)
{
    uint64_t source = 0;
    uint64_t destination = 0;
    uint64_t bytes = 0;

    if (json_object_size(row) != 3)
        return refuse(r, "a message is an object of \"source\", \"destination\" and \"bytes\"");
    if (json_number(r, row, "source", NOF_PHASES_NODES_MAX - 1, &source) != 0 ||
        json_number(r, row, "destination", NOF_PHASES_NODES_MAX - 1, &destination) != 0 ||
        json_number(r, row, "bytes", INT64_MAX, &bytes) != 0)
        return -1;
    return add(r, (struct nof_phases_message){(uint32_t)source, (uint32_t)destination, bytes});
}

static int read_rows(struct reader *r, const json_t *pattern)
{
    const json_t *rows = json_object_get(pattern, "messages");
    const json_t *nodes = json_object_get(pattern, "nodes");
    const json_t *row;
    size_t i;

    if (!json_is_array(rows) || json_object_size(pattern) != 1 + (size_t)(nodes != NULL)) {
        fprintf(stderr,
                "%s: %s: the object must have \"messages\", an array, may have \"nodes\", and nothing else\n",
                r->self, r->name);
        return -1;
    }
    if (nodes != NULL && (!json_is_integer(nodes) || json_integer_value(nodes) < 1 ||
                          json_integer_value(nodes) > NOF_PHASES_NODES_MAX)) {
        fprintf(stderr, "%s: %s: \"nodes\" must be a number from 1 to %u\n", r->self, r->name,
                NOF_PHASES_NODES_MAX);
        return -1;
    }
    if (nodes != NULL && r->nodes == 0)
        r->nodes = (uint32_t)json_integer_value(nodes);
    r->unit = "message";
    json_array_foreach(rows, i, row)
    {
        r->at = i + 1;
        if (read_row(r, row) != 0)
            return -1;
    }
    return 0;
}

static int read_json(struct reader *r, FILE *f)
{
    json_error_t error;
    json_t *pattern = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
    int rc;

    if (pattern == NULL) {
        fprintf(stderr, "%s: %s, line %zu: no JSON: %s\n", r->self, r->name, r->at + (size_t)error.line,
                error.text);
        return -1;
    }
    rc = read_rows(r, pattern);
    json_decref(pattern);
    return rc;
}

/* The first byte that is not blank tells. */
static int read_either(struct reader *r, FILE *f)
{
    int c = getc(f);
    int rc;

    for (; isspace(c); c = getc(f))
        r->at += c == '\n';
    if (c != EOF)
        ungetc(c, f);
    if (c == '[') {
        r->unit = "line";
        r->at++;
        return refuse(r, "no JSON object: one begins with {");
    }
    rc = c == '{' ? read_json(r, f) : read_text(r, f);
    if (rc == 0 && ferror(f)) {
        fprintf(stderr, "%s: %s: %s\n", r->self, r->name, strerror(errno));
        return -1;
    }
    if (rc == 0 && r->count == 0) {
        fprintf(stderr, "%s: %s has no message: a line of one is `source destination bytes`\n", r->self,
                r->name);
        return -1;
    }
    return rc;
}

int nof_pattern_read(const char *path, uint32_t nodes, const char *self, struct nof_pattern *pattern_out)
{
    bool std = strcmp(path, "-") == 0;
    struct reader r = {.self = self, .name = std ? "stdin" : path, .nodes = nodes};
    FILE *f = std ? stdin : fopen(path, "re");
    int rc;

    if (f == NULL) {
        fprintf(stderr, "%s: cannot read %s: %s\n", self, path, strerror(errno));
        return -1;
    }
    rc = read_either(&r, f);
    if (!std)
        fclose(f);
    if (rc != 0) {
        free(r.message);
        return -1;
    }
    *pattern_out = (struct nof_pattern){
        .nodes = r.nodes > 0 ? r.nodes : r.nodes_named, .message = r.message, .message_count = r.count};
    return 0;
}
