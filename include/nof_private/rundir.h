/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The directory of the default sockets and the log: nofd makes it, the nof command looks there.
 *
 *   root: /run/nof    else: $XDG_RUNTIME_DIR/nof    else: /tmp/nof-UID
 *
 * The last name can be made by anybody first, and whoever owns the directory owns what is in it: hence make(). */
#ifndef NOF_PRIVATE_RUNDIR_H
#define NOF_PRIVATE_RUNDIR_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A path too long for a socket in it is cut nowhere: then /tmp/nof-UID is taken. path_bytes: 32 at least. */
static inline void nof_rundir_path(char *path, size_t path_bytes)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = -1;

    if (geteuid() == 0)
        n = snprintf(path, path_bytes, "/run/nof");
    else if (runtime != NULL && runtime[0] == '/')
        n = snprintf(path, path_bytes, "%s/nof", runtime);
    if (n < 0 || (size_t)n >= path_bytes)
        snprintf(path, path_bytes, "/tmp/nof-%u", (unsigned)geteuid());
}

/* Makes the directory, or sees that the one of that name is ours alone to write. Root's may be entered by everybody:
 * it serves all users. Returns 0, or -1 with a sentence in err. */
static inline int nof_rundir_make(const char *path, char *err, size_t err_bytes)
{
    struct stat st;

    if (mkdir(path, geteuid() == 0 ? 0755 : 0700) != 0 && errno != EEXIST) {
        snprintf(err, err_bytes, "cannot make %s: %s; set XDG_RUNTIME_DIR to a directory of yours", path,
                 strerror(errno));
        return -1;
    }
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        snprintf(err, err_bytes,
                 "%s is no directory of user %u that nobody else can write: somebody else may have made it; "
                 "remove "
                 "it, or set XDG_RUNTIME_DIR to a directory of yours",
                 path, (unsigned)geteuid());
        return -1;
    }
    return 0;
}

#endif
