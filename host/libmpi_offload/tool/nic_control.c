/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/nic_control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/lib.h"
#include "nof/status.h"
#include "nof_private/env.h"

#define TIMEOUT_S 10
#define ANSWER_BYTES 32768 /* "features" answers about 250 bytes for each */

static const struct nof_feature_info infos[NOF_FEATURE_COUNT] = {
#define X(id, name, kind, def, min, max, choices, help) \
    {name, NOF_FEATURE_##kind, def, min, max, choices, help},
    NOF_FEATURES(X)
#undef X
};

static char address[sizeof(((struct sockaddr_un *)0)->sun_path)];

void nof_nic_control_at(const char *socket)
{
    const char *told = nof_env("NOF_CONTROL");
    int len = told != NULL        ? snprintf(address, sizeof(address), "%s", told)
              : socket[0] != '\0' ? snprintf(address, sizeof(address), "%s.ctl", socket)
                                  : 0;
    if (len <= 0 || (size_t)len >= sizeof(address))
        address[0] = '\0'; /* what is left of one that is too long is another's */
}

/* The next call on it takes what is left until then, at most; false: nothing is. So a call that a signal has ended is made
 * again, and all of them together have the time of one. */
static bool have_time(int fd, uint64_t until_ns)
{
    uint64_t now_ns = nof_lib_now_ns();
    if (now_ns >= until_ns)
        return false;
    uint64_t left_us = (until_ns - now_ns + 999) / 1000; /* 0 would be for ever */
    const struct timeval left = {.tv_sec = (time_t)(left_us / 1000000),
                                 .tv_usec = (suseconds_t)(left_us % 1000000)};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left)) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) == 0;
}

static int open_control(uint64_t until_ns)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = strlen(address);
    if (len == 0)
        return -1;
    memcpy(to.sun_path, address, len);
    if (address[0] == '@') /* of the abstract kind */
        to.sun_path[0] = '\0';
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (address[0] == '@' ? 0 : 1));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int rc = -1;
    while (have_time(fd, until_ns) &&
           (rc = connect(fd, (const struct sockaddr *)(const void *)&to, bytes)) != 0 && errno == EINTR)
        continue;
    if (rc == 0)
        return fd;
    close(fd);
    return -1;
}

/* One line there, one line back, with its end cut off. */
static int ask(const char *question, char *answer, size_t answer_bytes)
{
    size_t len = strlen(question), have = 0;
    uint64_t until_ns = nof_lib_now_ns() + TIMEOUT_S * 1000000000ull;
    bool whole = false;
    ssize_t sent = -1;
    int fd = open_control(until_ns);
    if (fd < 0)
        return NOF_ENOENT;
    while (have_time(fd, until_ns) && (sent = send(fd, question, len, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    while (sent == (ssize_t)len && !whole && have + 1 < answer_bytes && have_time(fd, until_ns)) {
        ssize_t n = recv(fd, answer + have, answer_bytes - have - 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        whole = memchr(answer + have - (size_t)n, '\n', (size_t)n) != NULL;
    }
    close(fd);
    answer[have] = '\0';
    return whole ? NOF_OK : NOF_ENOENT;
}

/* The text behind "key": "..." at or after `from`; NULL if there is none. Ends at the quote. */
static const char *text_after(const char *from, const char *key, size_t *len_out)
{
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    const char *p = from == NULL ? NULL : strstr(from, quoted);
    if (p == NULL)
        return NULL;
    p += strlen(quoted);
    p += strspn(p, " :");
    const char *end = *p == '"' ? strchr(p + 1, '"') : NULL;
    if (end == NULL)
        return NULL;
    *len_out = (size_t)(end - p - 1);
    return p + 1;
}

int nof_nic_control_choice(enum nof_feature feature, int at, char *text, size_t text_bytes)
{
    const char *p = infos[feature].choices;
    if (infos[feature].kind == NOF_FEATURE_NUMBER)
        return 0;
    for (; at > 0 && p != NULL; at--) {
        p = strchr(p, '|');
        p = p == NULL ? NULL : p + 1;
    }
    if (p == NULL)
        return 0;
    snprintf(text, text_bytes, "%.*s", (int)strcspn(p, "|"), p);
    return 1;
}

static int parse(enum nof_feature feature, const char *text, size_t len, uint64_t *value_out)
{
    char choice[32];
    if (infos[feature].kind == NOF_FEATURE_NUMBER) {
        char *end;
        *value_out = strtoull(text, &end, 10);
        return end == text ? NOF_EINVAL : NOF_OK;
    }
    for (int i = 0; nof_nic_control_choice(feature, i, choice, sizeof(choice)); i++) {
        if (strlen(choice) == len && memcmp(choice, text, len) == 0) {
            *value_out = (uint64_t)i;
            return NOF_OK;
        }
    }
    return NOF_EINVAL;
}

int nof_nic_control_get(enum nof_feature feature, uint64_t *value_out)
{
    size_t len;
    char *answer = malloc(ANSWER_BYTES);
    if (answer == NULL)
        return NOF_ENOMEM;
    int rc = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"features\"}\n", answer, ANSWER_BYTES);
    const char *row = rc == NOF_OK ? strstr(answer, "\"rows\"") : NULL;
    const char *value = NULL;
    for (; row != NULL && value == NULL; row++) {
        row = text_after(row, "name", &len);
        if (row == NULL)
            break;
        if (strlen(infos[feature].name) == len && memcmp(infos[feature].name, row, len) == 0)
            value = text_after(row, "value", &len);
    }
    if (rc == NOF_OK)
        rc = value == NULL ? NOF_EINVAL : parse(feature, value, len, value_out);
    free(answer);
    return rc;
}

int nof_nic_control_set(enum nof_feature feature, uint64_t value)
{
    char question[256], choice[32], answer[1024];
    if (value < infos[feature].min || value > infos[feature].max)
        return NOF_EINVAL;
    if (!nof_nic_control_choice(feature, (int)value, choice, sizeof(choice)))
        snprintf(choice, sizeof(choice), "%" PRIu64, value);
    snprintf(
        question, sizeof(question),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"set\",\"params\":{\"name\":\"%s\",\"value\":\"%s\"}}\n",
        infos[feature].name, choice);
    int rc = ask(question, answer, sizeof(answer));
    return rc == NOF_OK && strstr(answer, "\"result\"") == NULL ? NOF_EINVAL : rc;
}
