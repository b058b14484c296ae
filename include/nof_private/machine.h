/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which machine this is: equal for all processes of one kernel in one network namespace, and for nobody else. Such
 * processes reach each other's abstract sockets, and can share memory. */
#ifndef NOF_PRIVATE_MACHINE_H
#define NOF_PRIVATE_MACHINE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NOF_MACHINE_NAME_BYTES 256

/* Never 0. */
static inline uint32_t nof_machine_id(void)
{
    uint32_t hash = 2166136261u;
    char text[64] = "";
    struct stat st;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < n; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    if (stat("/proc/self/ns/net", &st) == 0)
        hash = (hash ^ (uint32_t)st.st_ino) * 16777619u;
    return hash != 0 ? hash : 1;
}

/* What measured speeds hang on, in one line: "CPU, KERNEL". */
static inline void nof_machine_name(char name[NOF_MACHINE_NAME_BYTES])
{
    struct utsname os;
    char line[160], cpu[160] = "";
    FILE *file = fopen("/proc/cpuinfo", "re");

    while (file != NULL && cpu[0] == '\0' && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL)
            (void)sscanf(strchr(line, ':') + 1, " %159[^\n]", cpu);
    if (file != NULL)
        (void)fclose(file);
    if (uname(&os) != 0)
        os.machine[0] = os.release[0] = '\0';
    snprintf(name, NOF_MACHINE_NAME_BYTES, "%s, %s", cpu[0] != '\0' ? cpu : os.machine, os.release);
}

#endif
