/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nofd/sys/clock.h"
#include "nofd/control/daemon.h"
#include "nofd/control/rpc.h"

#define OWNER_CLIENTS_MAX 64u
#define USER_CLIENTS_MAX 8u
#define OTHER_CLIENTS_MAX 64u /* of all users but the daemon's */
#define LOOK_BYTES 4096u /* read in one turn */
#define OTHER_BACKLOG_BYTES (64u << 20)
#define ANSWER_MAX (16u << 20) /* status and stats of 1024 endpoints on several NICs */

enum client_state { READS, WRITES, PAUSED };

struct nofd_client {
    struct nofd_watch watch;
    struct nofd_client *next;
    struct nofd *daemon;
    struct nofd_allowance *share;
    enum client_state state;
    bool may_change;
    bool closing; /* once the answer has been sent */
    uint64_t since_ns; /* it last got on */
    char *out; /* the answer; owned */
    size_t out_bytes;
    size_t out_sent;
    size_t in_bytes;
    char in[NOFD_CONTROL_LINE_BYTES];
};

static const struct nofd_rpc_method methods[] = {
    {"status", nofd_rpc_status, false},
    {"stats", nofd_rpc_stats, false},
    {"features", nofd_rpc_features, false},
    {"endpoints", nofd_rpc_endpoints, false},
    {"set", nofd_rpc_set, true},
    {"link", nofd_rpc_link, true},
    {"impair", nofd_rpc_impair, true},
    {"down", nofd_rpc_down, true},
    {"shutdown", nofd_rpc_down, true},
    {NULL, NULL, false},
};

static bool is_other(const struct nofd_client *client)
{
    return !nofd_allowance_is_owner(&client->daemon->shares, client->share);
}

static void forget_answer(struct nofd_client *client)
{
    if (is_other(client))
        client->daemon->shares.other_backlog_bytes -= client->out_bytes;
    free(client->out);
    client->out = NULL;
    client->out_bytes = 0;
    client->out_sent = 0;
}

static void client_free(struct nofd_client *client)
{
    struct nofd *d = client->daemon;
    struct nofd_client **at = &d->clients;

    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    d->nclients--;
    forget_answer(client);
    client->share->clients--;
    if (is_other(client))
        d->shares.other_clients--;
    nofd_allowance_leave(client->share);
    nofd_loop_remove(&d->loop, &client->watch);
    close(client->watch.fd);
    free(client);
}

static void client_drop(struct nofd_client *client)
{
    struct nofd *d = client->daemon;

    client_free(client);
    nofd_maybe_done(d);
}

/* Takes over `text`; NULL: a notification has no answer. */
static void queue(struct nofd_client *client, char *text)
{
    size_t *backlog = &client->daemon->shares.other_backlog_bytes;
    size_t len = text != NULL ? strlen(text) : 0;

    if (len >= ANSWER_MAX || (is_other(client) && *backlog + len >= OTHER_BACKLOG_BYTES)) {
        free(text);
        text = strdup(NOFD_RPC_ANSWER_TOO_LONG);
        len = text != NULL ? strlen(text) : 0;
    }
    if (text == NULL)
        return;
    text[len] = '\n'; /* in the place of the NUL */
    client->out = text;
    client->out_bytes = len + 1;
    client->out_sent = 0;
    if (is_other(client))
        *backlog += client->out_bytes;
}

/* Returns false if the client is to be dropped. */
static bool flush(struct nofd_client *client)
{
    while (client->out_sent < client->out_bytes) {
        ssize_t n = send(client->watch.fd, client->out + client->out_sent,
                         client->out_bytes - client->out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n <= 0)
            break;
        client->out_sent += (size_t)n;
        client->since_ns = nofd_clock_ns();
    }
    if (client->out_sent == client->out_bytes)
        forget_answer(client);
    return client->out != NULL || !client->closing;
}

static void answer(struct nofd_client *client, size_t len)
{
    queue(client, nofd_rpc_answer(methods, client->daemon, client->may_change, client->in, len));
    client->in_bytes = 0;
    client->since_ns = nofd_clock_ns();
}

static void refuse_line(struct nofd_client *client)
{
    queue(client, strdup(NOFD_RPC_TOO_LONG));
    client->in_bytes = 0;
    client->closing = true;
}

/* Takes up to one line's end out of the socket; what is behind it stays there. Returns false if the client is to be
 * dropped. */
static bool receive(struct nofd_client *client)
{
    char *at = client->in + client->in_bytes;
    size_t room = sizeof(client->in) - client->in_bytes;
    ssize_t n = recv(client->watch.fd, at, room < LOOK_BYTES ? room : LOOK_BYTES, MSG_DONTWAIT | MSG_PEEK);
    const char *end;

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0) {
        /* A last request without a newline counts too. */
        client->closing = true;
        if (client->in_bytes > 0)
            answer(client, client->in_bytes);
        return true;
    }
    end = memchr(at, '\n', (size_t)n);
    if (end != NULL)
        n = end + 1 - at;
    n = recv(client->watch.fd, at, (size_t)n, MSG_DONTWAIT);
    if (n <= 0)
        return false;
    client->in_bytes += (size_t)n;
    if (end == NULL && client->in_bytes == sizeof(client->in))
        refuse_line(client);
    else if (end != NULL && client->in_bytes > 1)
        answer(client, client->in_bytes - 1);
    else if (end != NULL)
        client->in_bytes = 0;
    return true;
}

/* Waits for what its state wants. Returns false if the client is to be dropped. */
static bool enter(struct nofd_client *client, enum client_state state)
{
    struct nofd_loop *loop = &client->daemon->loop;
    enum client_state before = client->state;
    uint32_t events = state == WRITES ? EPOLLOUT : EPOLLIN;

    client->state = state;
    if (state == before)
        return true;
    if (before == PAUSED)
        return nofd_loop_add(loop, &client->watch, events) == 0;
    if (state != PAUSED)
        return nofd_loop_change(loop, &client->watch, events) == 0;
    /* Out of the loop, which tells a hang-up again and again. */
    nofd_loop_remove(loop, &client->watch);
    nofd_ticks_need(&client->daemon->ticks);
    return true;
}

static bool turn(struct nofd_client *client)
{
    struct nofd_allowances *s = &client->daemon->shares;
    uint64_t began_ns = nofd_allowance_clock_ns();
    bool keep = true;

    if (client->state == READS) {
        if (!nofd_allowance_may(s, client->share, nofd_clock_ns()))
            return enter(client, PAUSED);
        keep = receive(client);
    }
    keep = keep && flush(client);
    nofd_allowance_charge(s, client->share, nofd_allowance_clock_ns() - began_ns);
    return keep && enter(client, client->out != NULL ? WRITES : READS);
}

static void on_client(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_client *client = (struct nofd_client *)watch; /* first member */

    (void)events;
    if (!turn(client))
        client_drop(client);
}

/* Whether `share` may have one more. Of many users with many each, the one with most makes room. */
static bool may_connect(struct nofd *d, const struct nofd_allowance *share)
{
    struct nofd_client *victim = NULL;

    if (nofd_allowance_is_owner(&d->shares, share))
        return share->clients < OWNER_CLIENTS_MAX;
    if (share->clients >= USER_CLIENTS_MAX)
        return false;
    if (d->shares.other_clients < OTHER_CLIENTS_MAX)
        return true;
    for (struct nofd_client *at = d->clients; at != NULL; at = at->next)
        if (!nofd_allowance_is_owner(&d->shares, at->share) &&
            (victim == NULL || at->share->clients >= victim->share->clients))
            victim = at; /* the newest comes first */
    if (victim == NULL || victim->share->clients <= share->clients + 1)
        return false;
    client_free(victim);
    return true;
}

static void turn_away(int fd, int code, const char *why)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": %d, \"message\": \"%s\"}}\n",
                     code, why);

    (void)send(fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static void admit(void *owner, int fd, const struct ucred *cred)
{
    struct nofd *d = owner;
    struct nofd_client *client;
    struct nofd_allowance *share;

    if (d->options.private_job && cred->uid != 0 && cred->uid != geteuid()) {
        turn_away(fd, NOFD_RPC_FORBIDDEN, "this daemon is private to another user");
        return;
    }
    client = calloc(1, sizeof(*client));
    share = nofd_allowance_enter(&d->shares, cred->uid, nofd_clock_ns());
    if (client == NULL || share == NULL || !may_connect(d, share))
        goto err_share;
    client->watch.fd = fd;
    client->watch.fn = on_client;
    client->daemon = d;
    client->share = share;
    client->since_ns = nofd_clock_ns();
    client->may_change = cred->uid == 0 || cred->uid == geteuid();
    if (nofd_loop_add(&d->loop, &client->watch, EPOLLIN) != 0)
        goto err_share;
    client->next = d->clients;
    d->clients = client;
    d->nclients++;
    share->clients++;
    if (is_other(client))
        d->shares.other_clients++;
    if (!d->options.private_job)
        nofd_ticks_need(&d->ticks);
    return;
err_share:
    if (share != NULL)
        nofd_allowance_leave(share);
    free(client);
    turn_away(fd, NOFD_RPC_BUSY,
              "your user, or all users together, have as many connections to the control socket as they may: "
              "close some, or try again");
}

/* Returns false if the client is to be dropped. */
static bool client_tick(struct nofd_client *client, uint64_t now_ns)
{
    struct nofd *d = client->daemon;

    if (client->state == PAUSED) {
        client->since_ns = now_ns;
        return !nofd_allowance_may(&d->shares, client->share, now_ns) || enter(client, READS);
    }
    return d->options.private_job || now_ns - client->since_ns < d->options.idle_timeout_ns;
}

static bool on_tick(struct nofd_tick *tick)
{
    struct nofd *d = (struct nofd *)(void *)((char *)tick - offsetof(struct nofd, control_tick));
    uint64_t now_ns = nofd_clock_ns();
    struct nofd_client *next;

    for (struct nofd_client *client = d->clients; client != NULL; client = next) {
        next = client->next;
        if (!client_tick(client, now_ns))
            client_drop(client);
    }
    return d->clients != NULL && !d->options.private_job;
}

int nofd_control_open(struct nofd *d, char *err, size_t err_bytes)
{
    struct nofd_door_config cfg = {.address = d->options.control,
                                   .type = SOCK_STREAM,
                                   .for_all = nofd_is_for_all(d),
                                   .admit = admit,
                                   .owner = d};

    d->control_tick.fn = on_tick;
    nofd_ticks_add(&d->ticks, &d->control_tick);
    return nofd_door_open(&d->control_door, &d->loop, &d->ticks, &cfg, err, err_bytes);
}

void nofd_control_close(struct nofd *d)
{
    while (d->clients != NULL) {
        (void)flush(d->clients);
        client_free(d->clients);
    }
    nofd_door_close(&d->control_door);
}
