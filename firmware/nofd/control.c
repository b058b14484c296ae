/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach.h"
#include "daemon.h"
#include "rpc.h"

#define CLIENTS_MAX 32u
#define ANSWER_MAX (8u << 20) /* unread by the client; then it is dropped */

struct nofd_client {
    struct nofd_watch watch;
    struct nofd_client *next;
    struct nofd *daemon;
    bool may_change;
    bool closing; /* once what is queued has been sent */
    char *out; /* queued answers */
    size_t out_bytes;
    size_t in_bytes;
    char in[NOFD_CONTROL_LINE_BYTES];
};

static void client_free(struct nofd_client *client)
{
    struct nofd *d = client->daemon;
    struct nofd_client **at = &d->clients;

    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    d->nclients--;
    nofd_loop_remove(&d->loop, &client->watch);
    close(client->watch.fd);
    free(client->out);
    free(client);
}

/* Queues one answer and its newline. */
static bool queue(struct nofd_client *client, const char *text)
{
    size_t len = strlen(text);
    char *grown;

    if (client->out_bytes + len + 1 > ANSWER_MAX)
        return false;
    grown = realloc(client->out, client->out_bytes + len + 1);
    if (grown == NULL)
        return false;
    client->out = grown;
    memcpy(grown + client->out_bytes, text, len);
    grown[client->out_bytes + len] = '\n';
    client->out_bytes += len + 1;
    return true;
}

/* Returns false if the client is to be dropped. */
static bool flush(struct nofd_client *client)
{
    size_t sent = 0;
    ssize_t n = 0;

    while (sent < client->out_bytes) {
        n = send(client->watch.fd, client->out + sent, client->out_bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    if (sent < client->out_bytes && n < 0 && errno != EAGAIN && errno != EINTR)
        return false;
    if (sent > 0)
        memmove(client->out, client->out + sent, client->out_bytes - sent);
    client->out_bytes -= sent;
    if (client->out_bytes == 0 && client->closing)
        return false;
    (void)nofd_loop_change(&client->daemon->loop, &client->watch,
                           client->out_bytes > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
    return true;
}

static bool answer(struct nofd_client *client, const char *line, size_t len)
{
    char *text = nofd_rpc_answer(client->daemon, client->may_change, line, len);
    bool ok = text == NULL || queue(client, text); /* NULL: a notification */

    free(text);
    return ok;
}

static bool take_lines(struct nofd_client *client)
{
    size_t start = 0;
    const char *end;

    while ((end = memchr(client->in + start, '\n', client->in_bytes - start)) != NULL) {
        size_t len = (size_t)(end - client->in) - start;

        if (len > 0 && !answer(client, client->in + start, len))
            return false;
        start += len + 1;
    }
    memmove(client->in, client->in + start, client->in_bytes - start);
    client->in_bytes -= start;
    if (client->in_bytes < sizeof(client->in))
        return true;
    client->closing = true;
    client->in_bytes = 0;
    return queue(client, NOFD_RPC_TOO_LONG);
}

static bool receive(struct nofd_client *client)
{
    ssize_t n = recv(client->watch.fd, client->in + client->in_bytes, sizeof(client->in) - client->in_bytes,
                     MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0) {
        /* A last request without a newline counts too. */
        if (client->in_bytes > 0 && !answer(client, client->in, client->in_bytes))
            return false;
        client->closing = true;
        client->in_bytes = 0;
        return true;
    }
    if (client->closing)
        return true;
    client->in_bytes += (size_t)n;
    return take_lines(client);
}

static void on_client(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_client *client = (struct nofd_client *)watch; /* first member */
    bool keep = true;

    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        keep = receive(client);
    if (!keep || !flush(client)) {
        struct nofd *d = client->daemon;

        client_free(client);
        nofd_attach_maybe_done(d);
    }
}

static void on_door(struct nofd_watch *watch, uint32_t events)
{
    struct nofd *d = ((struct nofd_accept *)watch)->daemon; /* first member */
    int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct nofd_client *client;
    struct ucred cred;
    socklen_t len = sizeof(cred);

    (void)events;
    if (fd < 0)
        return;
    client = d->nclients < CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
    if (client == NULL || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        goto err_close;
    client->watch.fd = fd;
    client->watch.fn = on_client;
    client->daemon = d;
    client->may_change = cred.uid == 0 || cred.uid == geteuid();
    if (nofd_loop_add(&d->loop, &client->watch, EPOLLIN) != 0)
        goto err_close;
    client->next = d->clients;
    d->clients = client;
    d->nclients++;
    return;
err_close:
    free(client);
    close(fd);
}

int nofd_control_open(struct nofd *d, char *err, size_t err_bytes)
{
    mode_t mode = geteuid() == 0 && !d->options.private_job ? 0666 : 0600;
    int rc = nofd_listen(&d->control_door.listener, d->options.control, SOCK_STREAM, mode, err, err_bytes);

    if (rc != 0)
        return rc;
    d->control_door.daemon = d;
    d->control_door.watch.fd = d->control_door.listener.fd;
    d->control_door.watch.fn = on_door;
    return nofd_loop_add(&d->loop, &d->control_door.watch, EPOLLIN);
}

void nofd_control_close(struct nofd *d)
{
    while (d->clients != NULL) {
        (void)flush(d->clients);
        client_free(d->clients);
    }
    nofd_unlisten(&d->control_door.listener);
}
