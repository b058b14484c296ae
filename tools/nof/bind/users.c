/* SPDX-License-Identifier: BSD-3-Clause */
#include "bind/users.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 32
#define TCP_ESTABLISHED 1u
#define SSH_PORT 22u
#define CLAIM "@nof-port/" /* firmware/port/dpdk/netif.c */
#define DEV_VFIO "/dev/vfio/"
#define DEV_VFIO_CONTAINER "/dev/vfio/vfio"

struct look {
    struct nof_system *m;
    struct nof_users *u;
    json_t *sockets; /* inode -> {"pid", "name"}: of sshd and nofd */
};

static bool serves_ssh(const char *name)
{
    return strncmp(name, "sshd", 4) == 0 || strcmp(name, "dropbear") == 0;
}

static void look_at_file(struct look *l, int pid, const char *name, const char *target)
{
    char inode[24];

    if (strncmp(target, DEV_VFIO, strlen(DEV_VFIO)) == 0 && strcmp(target, DEV_VFIO_CONTAINER) != 0)
        json_array_append_new(l->u->vfio,
                              json_pack("{s:i, s:s, s:s}", "pid", pid, "name", name, "path", target));
    if ((serves_ssh(name) || strcmp(name, "nofd") == 0) && sscanf(target, "socket:[%20[0-9]]", inode) == 1)
        json_object_set_new(l->sockets, inode, json_pack("{s:i, s:s}", "pid", pid, "name", name));
}

/* Processes call themselves what they like: what is no text would not be told at all, and what a terminal obeys too well. */
static void make_plain(char *name)
{
    for (; *name != '\0'; name++)
        if (*name < ' ' || *name > '~')
            *name = '?';
}

static void look_at_process(struct look *l, const char *pid)
{
    char name[NAME_BYTES], path[NOF_PATH_BYTES], target[256];
    json_t *files;
    const json_t *fd;
    size_t i;

    nof_system_read(l->m, name, sizeof(name), "/proc/%s/comm", pid);
    make_plain(name);
    files = nof_system_names(l->m, "/proc/%s/fd", pid);
    json_array_foreach(files, i, fd)
    {
        snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, json_string_value(fd));
        if (l->m->ops->link(l->m, path, target, sizeof(target)) == 0)
            look_at_file(l, atoi(pid), name, target);
    }
    json_decref(files);
}

/* As the kernel writes it: words of four bytes, each as a number of the host's order. */
static bool put_ip(const char *hex, char *text, size_t text_bytes)
{
    uint32_t word[4];
    size_t len = strlen(hex);

    if (len != 8 && len != 32)
        return false;
    for (size_t i = 0; i < len / 8; i++)
        if (sscanf(hex + 8 * i, "%8" SCNx32, &word[i]) != 1)
            return false;
    if (len == 32 && word[0] == 0 && word[1] == 0 && word[2] == htonl(0xffff)) {
        word[0] = word[3];
        len = 8;
    }
    return inet_ntop(len == 8 ? AF_INET : AF_INET6, word, text, (socklen_t)text_bytes) != NULL;
}

static void look_at_connection(const struct look *l, const char *line)
{
    char here[40], there[40], inode[24], local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];
    unsigned port, state;
    const json_t *owner;

    if (sscanf(line, " %*u: %39[0-9A-Fa-f]:%x %39[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %20[0-9]", here,
               &port, there, &state, inode) != 5 ||
        state != TCP_ESTABLISHED)
        return;
    owner = json_object_get(l->sockets, inode);
    if (owner != NULL ? !serves_ssh(json_string_value(json_object_get(owner, "name"))) : port != SSH_PORT)
        return;
    if (!put_ip(here, local, sizeof(local)) || !put_ip(there, remote, sizeof(remote)))
        return;
    json_array_append_new(
        l->u->ssh, json_pack("{s:I, s:s, s:s, s:s}", "pid", json_integer_value(json_object_get(owner, "pid")),
                             "name", owner != NULL ? json_string_value(json_object_get(owner, "name")) : "",
                             "local", local, "remote", remote));
}

/* Abstract sockets that nofd claims its interfaces with. */
static void look_at_claim(const struct look *l, const char *line)
{
    char inode[24], path[64];
    const json_t *owner;

    if (sscanf(line, "%*s %*s %*s %*s %*s %*s %20[0-9] %63s", inode, path) != 2 ||
        strncmp(path, CLAIM, strlen(CLAIM)) != 0)
        return;
    owner = json_object_get(l->sockets, inode);
    json_array_append_new(l->u->ports, json_pack("{s:I, s:s, s:s}", "pid",
                                                 json_integer_value(json_object_get(owner, "pid")), "name",
                                                 "nofd", "interface", path + strlen(CLAIM)));
}

static void each_line(const struct look *l, const char *path, void (*line)(const struct look *, const char *))
{
    char *text = l->m->ops->text(l->m, path), *rest = text, *one;

    while (rest != NULL && (one = strsep(&rest, "\n")) != NULL)
        line(l, one);
    free(text);
}

void nof_users_look(struct nof_system *m, struct nof_users *u)
{
    struct look l = {.m = m, .u = u, .sockets = json_object()};
    json_t *pids = nof_system_names(m, "/proc");
    const json_t *pid;
    size_t i;

    *u = (struct nof_users){json_array(), json_array(), json_array()};
    json_array_foreach(pids, i, pid)
    {
        if (isdigit((unsigned char)json_string_value(pid)[0]))
            look_at_process(&l, json_string_value(pid));
    }
    json_decref(pids);
    each_line(&l, "/proc/net/tcp", look_at_connection);
    each_line(&l, "/proc/net/tcp6", look_at_connection);
    each_line(&l, "/proc/net/unix", look_at_claim);
    json_decref(l.sockets);
}

void nof_users_free(struct nof_users *u)
{
    json_decref(u->vfio);
    json_decref(u->ssh);
    json_decref(u->ports);
}
