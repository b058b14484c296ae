/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/info.h"

/* The program, and its arguments with blanks between them; what is too long is left out. */
static int set_arguments(struct nof_info *info, int argc, char *const *argv)
{
    char joined[MPI_MAX_INFO_VAL] = "";
    size_t used = 0;
    for (int i = 1; i < argc && argv[i] != NULL; i++) {
        size_t len = strlen(argv[i]);
        if (used + len + 2 > sizeof(joined))
            break;
        if (i > 1)
            joined[used++] = ' ';
        memcpy(&joined[used], argv[i], len + 1);
        used += len;
    }
    int rc = MPI_SUCCESS;
    if (argc > 0 && argv[0] != NULL && strlen(argv[0]) < MPI_MAX_INFO_VAL)
        rc = nof_info_set(info, "command", argv[0]);
    if (rc == MPI_SUCCESS && used > 0)
        rc = nof_info_set(info, "argv", joined);
    return rc;
}

/* The kernel keeps the arguments of a process, each with its zero. */
static int set_own_arguments(struct nof_info *info)
{
    enum { MOST = 64 };
    char text[2 * MPI_MAX_INFO_VAL];
    char *argv[MOST];
    int argc = 0;
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (file == NULL)
        return MPI_SUCCESS;
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    for (char *p = text; p < text + len && argc < MOST; p += strlen(p) + 1)
        argv[argc++] = p;
    return set_arguments(info, argc, argv);
}

int nof_info_fill_env(struct nof_info *info, int argc, char *const *argv)
{
    char folder[MPI_MAX_INFO_VAL], host[MPI_MAX_PROCESSOR_NAME];
    struct utsname machine;
    int rc = argc < 0 ? set_own_arguments(info) : set_arguments(info, argc, argv);
    if (rc == MPI_SUCCESS && gethostname(host, sizeof(host)) == 0) {
        host[sizeof(host) - 1] = '\0';
        rc = nof_info_set(info, "host", host);
    }
    if (rc == MPI_SUCCESS && uname(&machine) == 0)
        rc = nof_info_set(info, "arch", machine.machine);
    if (rc == MPI_SUCCESS && getcwd(folder, sizeof(folder)) != NULL)
        rc = nof_info_set(info, "wdir", folder);
    return rc;
}

static const char *thread_level_name(void)
{
    switch (nof_lib.thread_required) {
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE:
        return "MPI_THREAD_MULTIPLE";
    default:
        return "MPI_THREAD_SINGLE";
    }
}

int nof_info_fill_job(struct nof_info *info)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", nof_lib.world_size);
    int rc = nof_info_set(info, "maxprocs", number);
    return rc == MPI_SUCCESS ? nof_info_set(info, "thread_level", thread_level_name()) : rc;
}
