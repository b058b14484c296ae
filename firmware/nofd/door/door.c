/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/door.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "nofd/sys/clock.h"
#include "nofd/sys/log.h"

#define AT_ONCE_NS (50 * NOFD_MS) /* a thousand connections and more, as a large job makes them */
#define EARNS_PERCENT 10u

static void shut(struct nofd_door *door)
{
    nofd_loop_remove(door->loop, &door->watch);
    door->shut = true;
    nofd_ticks_need(door->ticks);
}

static void accept_one(struct nofd_door *door)
{
    int fd = accept4(door->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
        nofd_warning("nobody can connect to %s: %s; raise the daemon's limit (ulimit -n)",
                     door->listener.address, strerror(errno));
        shut(door);
    }
    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
        door->admit(door->owner, fd, &cred);
    else
        close(fd);
}

static void on_door(struct nofd_watch *watch, uint32_t events)
{
    struct nofd_door *door = (struct nofd_door *)watch; /* first member */
    uint64_t began_ns = nofd_allowance_clock_ns();

    (void)events;
    accept_one(door);
    nofd_budget_charge(&door->time, nofd_allowance_clock_ns() - began_ns);
    if (!door->shut && !nofd_budget_left(&door->time, nofd_clock_ns()))
        shut(door);
}

/* Time passed: it may be opened again. */
static bool on_tick(struct nofd_tick *tick)
{
    struct nofd_door *door = (struct nofd_door *)(void *)((char *)tick - offsetof(struct nofd_door, tick));

    if (door->shut && nofd_budget_left(&door->time, nofd_clock_ns()))
        door->shut = nofd_loop_add(door->loop, &door->watch, EPOLLIN) != 0;
    return door->shut;
}

int nofd_door_open(struct nofd_door *door, struct nofd_loop *loop, struct nofd_ticks *ticks,
                   const struct nofd_door_config *cfg, char *err, size_t err_bytes)
{
    int rc =
        nofd_listen(&door->listener, cfg->address, cfg->type, cfg->for_all ? 0666 : 0600, err, err_bytes);

    if (rc != 0)
        return rc;
    door->loop = loop;
    door->ticks = ticks;
    door->admit = cfg->admit;
    door->owner = cfg->owner;
    door->watch.fd = door->listener.fd;
    door->watch.fn = on_door;
    door->tick.fn = on_tick;
    nofd_budget_init(&door->time, AT_ONCE_NS, EARNS_PERCENT, nofd_clock_ns());
    nofd_ticks_add(ticks, &door->tick);
    return nofd_loop_add(loop, &door->watch, EPOLLIN);
}

void nofd_door_close(struct nofd_door *door)
{
    door->shut = false;
    nofd_unlisten(&door->listener);
}
