/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The door to the machine: files of sysfs and procfs, a few programs, and what is remembered. All that `nof bind`,
 * `unbind` and `devices` see and change goes through it, so that tests can put another machine behind it: a tree of files
 * (root), or an own table of ops that plays the kernel and fails where it likes.
 *
 * Paths are those of the real machine ("/sys/bus/pci/..."), formatted as by printf. Threads: one. */
#ifndef NOF_BIND_SYSTEM_H
#define NOF_BIND_SYSTEM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define NOF_PATH_BYTES 512

struct nof_system;

struct nof_system_ops {
    /* A whole file as text, to be freed; NULL with errno. */
    char *(*text)(struct nof_system *m, const char *path);
    /* One write(2) into a file that is there. 0, or -errno; -ETIMEDOUT: the kernel has not answered for 10 s. */
    int (*write)(struct nof_system *m, const char *path, const char *text);
    /* What a symbolic link says. 0, or -errno. */
    int (*link)(struct nof_system *m, const char *path, char *target, size_t target_bytes);
    /* Names in a directory, sorted; a new reference. NULL: there is none, or it may not be read. */
    json_t *(*list)(struct nof_system *m, const char *path);
    /* A program to its end, found on PATH. Its exit code, or -errno; what it printed into *out (to be freed) unless that
     * is NULL. */
    int (*run)(struct nof_system *m, const char *const *argv, char **out);
    /* A file of our own, whole or not at all; its folder is made. value NULL: removed. 0, or -errno. */
    int (*keep)(struct nof_system *m, const char *path, const json_t *value);
    void (*pause)(struct nof_system *m, unsigned ms);
};

struct nof_system {
    const struct nof_system_ops *ops;
    const char *root; /* in front of every path; "": none */
    const char *self; /* "nof bind" */
    FILE *err; /* sentences */
    bool late; /* a write to a device was not answered in time: it may yet be done */
};

/* The machine that we run on, or the tree that $NOF_BIND_ROOT names: then programs are those in its bin/. */
void nof_system_open(struct nof_system *m, const char *self);
/* One command at a time changes what is bound. A descriptor that holds until it is closed, or -1 after saying why not. */
int nof_system_lock(const struct nof_system *m);

/* "nof bind: SENTENCE" */
void nof_say(const struct nof_system *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first line of a file, "" if it cannot be read: then false. */
bool nof_system_read(struct nof_system *m, char *line, size_t line_bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A number, or `otherwise`. */
long nof_system_number(struct nof_system *m, long otherwise, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* As ops->write. */
int nof_system_write(struct nof_system *m, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The last name in what a link says, "" if there is none: then false. */
bool nof_system_points(struct nof_system *m, char *name, size_t name_bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* As ops->list; an empty array instead of NULL. */
json_t *nof_system_names(struct nof_system *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool nof_system_has(struct nof_system *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What a program prints as JSON, an empty array if it prints nothing. A new reference; NULL: it failed. */
json_t *nof_system_ask(struct nof_system *m, const char *const *argv);

#endif
