/* SPDX-License-Identifier: BSD-3-Clause */
#include "needed.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const uint8_t *bytes;
    size_t size;
};

/* n bytes at `offset`, or NULL: a file may say what it likes about itself. */
static const void *at(const struct image *image, uint64_t offset, uint64_t n)
{
    return offset <= image->size && n <= image->size - offset ? image->bytes + offset : NULL;
}

static bool segment(const struct image *image, unsigned i, Elf64_Phdr *out)
{
    const Elf64_Ehdr *head = at(image, 0, sizeof(*head));
    const void *from;

    if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(*out) || i >= head->e_phnum)
        return false;
    from = at(image, head->e_phoff + i * sizeof(*out), sizeof(*out));
    if (from != NULL)
        memcpy(out, from, sizeof(*out));
    return from != NULL;
}

/* Where the loader would put this address, in the file; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
    Elf64_Phdr p;

    for (unsigned i = 0; segment(image, i, &p); i++)
        if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
            return p.p_offset + (address - p.p_vaddr);
    return UINT64_MAX;
}

/* The i-th entry of the dynamic section. */
static bool dynamic(const struct image *image, const Elf64_Phdr *p, uint64_t i, Elf64_Dyn *out)
{
    const void *from =
        i < p->p_filesz / sizeof(*out) ? at(image, p->p_offset + i * sizeof(*out), sizeof(*out)) : NULL;

    if (from != NULL)
        memcpy(out, from, sizeof(*out));
    return from != NULL && out->d_tag != DT_NULL;
}

static bool is_ours(const char *name)
{
    return strncmp(name, "libmpi_offload", 14) == 0 || strncmp(name, "libmpi_abi", 10) == 0;
}

/* Is this file a library of another MPI? Then it is noted: that of C says most. */
static bool note(const char *name, bool noted, char *library, size_t library_bytes)
{
    bool of_c = strncmp(name, "libmpich.", 9) == 0 || strncmp(name, "libmpi.so", 9) == 0;

    if (!of_c && strncmp(name, "libmpich", 8) != 0 && strncmp(name, "libmpi_cxx", 10) != 0 &&
        strncmp(name, "libmpi_mpifh", 12) != 0 && strncmp(name, "libmpifort", 10) != 0)
        return false;
    if (!noted || of_c)
        snprintf(library, library_bytes, "%s", name);
    return true;
}

static bool look(const struct image *image, const Elf64_Phdr *p, char *library, size_t library_bytes)
{
    uint64_t strings = UINT64_MAX;
    bool foreign = false;
    Elf64_Dyn d;

    for (uint64_t i = 0; dynamic(image, p, i, &d); i++)
        if (d.d_tag == DT_STRTAB)
            strings = offset_of(image, d.d_un.d_ptr);
    for (uint64_t i = 0; strings != UINT64_MAX && dynamic(image, p, i, &d); i++) {
        const char *name = d.d_tag == DT_NEEDED ? at(image, strings + d.d_un.d_val, 1) : NULL;

        if (name == NULL ||
            memchr(name, '\0', (size_t)(image->bytes + image->size - (const uint8_t *)name)) == NULL)
            continue;
        if (is_ours(name))
            return false;
        foreign |= note(name, foreign, library, library_bytes);
    }
    return foreign;
}

/* The library of another MPI that this ELF program asks for (DT_NEEDED), if it asks for none of ours. False: there is
 * none, or the file is no such program. */
static bool asks_for_foreign(const char *path, char *library_out, size_t library_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct image image = {NULL, 0};
    bool foreign = false;
    Elf64_Phdr p;
    struct stat st;
    void *map;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        image.size = (size_t)st.st_size;
        map = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
        image.bytes = map != MAP_FAILED ? map : NULL;
        for (unsigned i = 0; image.bytes != NULL && segment(&image, i, &p); i++)
            if (p.p_type == PT_DYNAMIC)
                foreign = look(&image, &p, library_out, library_bytes);
        if (image.bytes != NULL)
            munmap(map, image.size);
    }
    close(fd);
    return foreign;
}

bool nof_needed_mapped(pid_t pid, char *library_out, size_t library_bytes)
{
    char line[PATH_MAX + 128];
    bool foreign = false, ours = false;
    FILE *f;

    snprintf(line, sizeof(line), "/proc/%d/maps", pid);
    f = fopen(line, "re");
    while (f != NULL && !ours && fgets(line, sizeof(line), f) != NULL) {
        const char *name = strrchr(line, '/');

        line[strcspn(line, "\n")] = '\0';
        ours = name != NULL && is_ours(name + 1);
        foreign |= name != NULL && note(name + 1, foreign, library_out, library_bytes);
    }
    if (f != NULL)
        fclose(f);
    return foreign && !ours;
}

/* The file that execvp() takes. */
static bool find(const char *program, char *path, size_t path_bytes)
{
    const char *dirs = strchr(program, '/') == NULL ? getenv("PATH") : NULL;

    if (dirs == NULL)
        return snprintf(path, path_bytes, "%s", program) < (int)path_bytes;
    while (*dirs != '\0') {
        int len = (int)strcspn(dirs, ":");

        if (snprintf(path, path_bytes, "%.*s/%s", len, dirs, program) < (int)path_bytes &&
            access(path, X_OK) == 0)
            return true;
        dirs += len + (dirs[len] == ':');
    }
    return false;
}

static void put_wrapper(char *path, size_t path_bytes)
{
    char here[PATH_MAX - 16];
    ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);
    char *slash;

    here[n > 0 ? n : 0] = '\0';
    slash = strrchr(here, '/');
    if (slash != NULL)
        *slash = '\0';
    snprintf(path, path_bytes, "%s%smpicc", slash != NULL ? here : "", slash != NULL ? "/" : "");
}

void nof_needed_tell(const char *program, const char *self, bool silent)
{
    char wrapper[PATH_MAX];
    char path[PATH_MAX];
    char library[128];

    put_wrapper(wrapper, sizeof(wrapper));
    if (getenv("LD_PRELOAD") == NULL && find(program, path, sizeof(path)) &&
        asks_for_foreign(path, library, sizeof(library)))
        fprintf(stderr, "%s: no rank attached: %s is linked to %s, another MPI; build it with %s\n", self,
                program, library, wrapper);
    else if (silent)
        fprintf(
            stderr,
            "%s: no rank attached: %s has not called MPI_Init of this library (%s builds programs that do)\n",
            self, program, wrapper);
}
