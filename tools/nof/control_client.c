/* SPDX-License-Identifier: BSD-3-Clause */
#include "control_client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nof_private/nearest.h"
#include "nof_private/units.h"
#include "commands.h"
#include "find_daemon.h"
#include "nof/features.h"

#define NAME_MAX_BYTES 64
#define END_MS 2000 /* of a daemon that has hung up */

static void say_refused(const char *control, int error, const char *self)
{
    if (error == EAGAIN)
        fprintf(
            stderr,
            "%s: the daemon at %s has taken no connection for %d s: it is stopped or hangs; `ss -xlp | grep "
            "'%s'` "
            "shows its pid: let it go on with `kill -CONT PID`, or end it and start another with `nof up`\n",
            self, control, NOF_CONTROL_TIMEOUT_S, control);
    else
        fprintf(stderr,
                "%s: no daemon answers at %s (%s): start one with `nof up`, or say which with "
                "--nofd SOCKET or NOF_SOCKET\n",
                self, control, strerror(error));
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A signal (Ctrl-Z and fg are two) ends it where a timeout is set, whatever SA_RESTART says; that begins anew then, so signals
 * that come again and again need an end of their own. */
static int connect_to(int fd, const struct sockaddr_un *addr, socklen_t bytes)
{
    uint64_t until_ns = now_ns() + NOF_CONTROL_TIMEOUT_S * 1000000000ull;
    int rc;

    do {
        rc = connect(fd, (const struct sockaddr *)(const void *)addr, bytes);
    } while (rc != 0 && errno == EINTR && now_ns() < until_ns);
    if (rc != 0 && errno == EINTR)
        errno = EAGAIN;
    return rc;
}

/* A path, or "@name" for one of the abstract kind. False: it is neither. */
static bool address_of(const char *text, struct sockaddr_un *addr_out, socklen_t *bytes_out)
{
    size_t len = strlen(text);

    *addr_out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len == 0 || len >= sizeof(addr_out->sun_path))
        return false;
    memcpy(addr_out->sun_path, text, len);
    *bytes_out = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (text[0] == '@' ? 0 : 1));
    if (text[0] == '@')
        addr_out->sun_path[0] = '\0';
    return true;
}

bool nof_control_nic_listens(const char *socket_name)
{
    struct sockaddr_un addr;
    socklen_t bytes;
    int fd = -1;
    bool listens = false;

    if (address_of(socket_name, &addr, &bytes))
        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    listens = connect(fd, (const struct sockaddr *)(const void *)&addr, bytes) == 0 || errno == EAGAIN;
    close(fd);
    return listens;
}

int nof_control_open(const char *control, const char *self)
{
    const struct timeval timeout = {.tv_sec = NOF_CONTROL_TIMEOUT_S};
    struct sockaddr_un addr;
    socklen_t bytes;
    int fd;

    if (!address_of(control, &addr, &bytes)) {
        fprintf(stderr, "%s: '%s' is no socket address\n", self, control);
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    }
    if (fd < 0 || connect_to(fd, &addr, bytes) != 0) {
        say_refused(control, errno, self);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

static int send_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        text += n;
        len -= (size_t)n;
    }
    return 0;
}

static size_t read_some(void *buffer, size_t buffer_bytes, void *fd)
{
    const int *from = fd;
    ssize_t n;

    do {
        n = recv(*from, buffer, buffer_bytes, 0);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? (size_t)-1 : (size_t)n;
}

static json_t *exchange(int fd, json_t *request)
{
    char *text = json_dumps(request, JSON_COMPACT);

    if (text == NULL)
        return NULL;
    /* A daemon that turns us away says why, and hangs up, before it reads. */
    if (send_all(fd, text, strlen(text)) == 0)
        (void)send_all(fd, "\n", 1);
    free(text);
    return json_load_callback(read_some, &fd, JSON_DISABLE_EOF_CHECK, NULL);
}

/* Who ends hangs up first, and is a process for a little longer: on a busy machine for much longer. */
static char state_of(int fd, pid_t daemon)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    struct pollfd p = {.fd = fd};
    bool hung_up = poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
    char state = nof_daemon_state(daemon);

    for (int ms = 0; hung_up && state != 'X' && state != 'T' && state != 't' && ms < END_MS; ms += 10) {
        nanosleep(&nap, NULL);
        state = nof_daemon_state(daemon);
    }
    return state;
}

/* Its process is who listened. */
static void say_no_answer(int fd, const char *self)
{
    struct ucred daemon = {.pid = 0};
    socklen_t bytes = sizeof(daemon);
    char state;

    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &daemon, &bytes);
    state = daemon.pid > 0 ? state_of(fd, daemon.pid) : '?';
    if (state == 'X')
        fprintf(stderr, "%s: the daemon has ended: its log may say why; start another one with `nof up`\n",
                self);
    else if (state == 'T' || state == 't')
        fprintf(stderr,
                "%s: the daemon is stopped (process %d, %s): `kill -CONT %d` lets it go on, `kill -KILL %d` "
                "ends it and its "
                "jobs\n",
                self, daemon.pid, state == 'T' ? "by a signal" : "by a debugger", daemon.pid, daemon.pid);
    else if (daemon.pid > 0)
        fprintf(stderr,
                "%s: the daemon (process %d) has hung up, or does not answer in %d s: look at its log; `kill "
                "-KILL %d` ends it "
                "and its jobs\n",
                self, daemon.pid, NOF_CONTROL_TIMEOUT_S, daemon.pid);
    else
        fprintf(stderr, "%s: the daemon has ended, or does not answer in %d s: look at its log\n", self,
                NOF_CONTROL_TIMEOUT_S);
}

json_t *nof_control_ask(int fd, const char *method, json_t *params, const char *self)
{
    json_t *request = json_pack("{s:s, s:i, s:s}", "jsonrpc", "2.0", "id", 1, "method", method);
    const char *message = NULL;
    json_t *answer;
    json_t *result;

    if (params != NULL)
        json_object_set_new(request, "params", params);
    answer = exchange(fd, request);
    result = json_incref(json_object_get(answer, "result"));
    json_unpack(answer, "{s:{s:s}}", "error", "message", &message);
    if (message != NULL)
        fprintf(stderr, "%s: %s\n", self, message);
    else if (result == NULL)
        say_no_answer(fd, self);
    json_decref(answer);
    json_decref(request);
    return result;
}

json_t *nof_control_call(const char *control, const char *method, json_t *params, const char *self)
{
    int fd = nof_control_open(control, self);
    json_t *result = NULL;

    if (fd >= 0) {
        result = nof_control_ask(fd, method, params, self);
        close(fd);
    } else {
        json_decref(params);
    }
    return result;
}

static const struct nof_feature_info *find(const char *name)
{
    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        if (strcmp(nof_feature_info[i].name, name) == 0)
            return &nof_feature_info[i];
    return NULL;
}

static int say_unknown(const char *name, const char *self)
{
    const char *names[NOF_FEATURE_COUNT];
    const char *near;

    for (unsigned i = 0; i < NOF_FEATURE_COUNT; i++)
        names[i] = nof_feature_info[i].name;
    near = nof_nearest(name, names, NOF_FEATURE_COUNT);
    if (near != NULL)
        fprintf(stderr, "%s: there is no feature '%s'; did you mean '%s'?\n", self, name, near);
    else
        fprintf(stderr, "%s: there is no feature '%s'; `nof features` lists them\n", self, name);
    return -1;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);

    while (*choices != '\0') {
        size_t n = strcspn(choices, "|");

        if (n == len && strncmp(choices, value, n) == 0)
            return true;
        choices += n + (choices[n] == '|');
    }
    return false;
}

static int check_value(const struct nof_feature_info *info, const char *value, const char *self)
{
    uint64_t n = 0;

    if (info->kind != NOF_FEATURE_NUMBER) {
        if (is_choice(info->choices, value))
            return 0;
        fprintf(stderr, "%s: %s cannot be '%s': it is one of %s\n", self, info->name, value, info->choices);
        return -1;
    }
    if (nofd_units_of(info->choices, value, &n) == 0 && n >= info->min && n <= info->max)
        return 0;
    fprintf(stderr, "%s: %s cannot be '%s': it is a number of %s from %llu to %llu\n", self, info->name,
            value, info->choices, (unsigned long long)info->min, (unsigned long long)info->max);
    return -1;
}

static int split(const char *assignment, char name[NAME_MAX_BYTES], const char **value_out, const char *self)
{
    const char *equals = strchr(assignment, '=');

    if (equals == NULL || equals == assignment || equals - assignment >= NAME_MAX_BYTES) {
        fprintf(stderr, "%s: '%s' is not NAME=VALUE; `nof features` lists the names\n", self, assignment);
        return -1;
    }
    snprintf(name, NAME_MAX_BYTES, "%.*s", (int)(equals - assignment), assignment);
    *value_out = equals + 1;
    return 0;
}

int nof_feature_check(const char *assignment, const char *self)
{
    char name[NAME_MAX_BYTES];
    const struct nof_feature_info *info;
    const char *value;

    if (split(assignment, name, &value, self) != 0)
        return -1;
    info = find(name);
    return info != NULL ? check_value(info, value, self) : say_unknown(name, self);
}

json_t *nof_feature_set(const char *control, const char *assignment, const char *self)
{
    char name[NAME_MAX_BYTES];
    const char *value;

    if (nof_feature_check(assignment, self) != 0 || split(assignment, name, &value, self) != 0)
        return NULL;
    return nof_control_call(control, "set", json_pack("{s:s, s:s}", "name", name, "value", value), self);
}
