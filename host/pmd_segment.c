/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps the segment of the job on this host, and its roster, as the daemon's reply tells, after checking all of it. The
 * bells are mapped by themselves: this process sleeps there also where the whole does not fit its address space. */
#include "pmd_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A file that can shrink under its mapping is a SIGBUS waiting for us. */
static bool has(int fd, uint64_t bytes)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size == bytes;
}

static int check_reply(const struct nof_segment_reply *told, const int fds[], const struct nof_pmd_said *said)
{
    uint64_t entries = told->nslots * (uint64_t)sizeof(struct nof_roster_rank);

    if (told->nslots < 2 || told->nslots > NOF_SEGMENT_SLOTS_MAX || told->slot >= told->nslots)
        return nof_pmd_refuse(said, "slot %u of %u", told->slot, told->nslots);
    if (told->segment_bytes !=
        nof_segment_part_offset(told->nslots) + told->nslots * nof_segment_part_bytes(told->nslots))
        return nof_pmd_refuse(said, "a segment of %llu bytes", (unsigned long long)told->segment_bytes);
    if (told->roster_bytes < sizeof(struct nof_roster) + entries ||
        told->roster_bytes > sizeof(struct nof_roster) + entries + NOF_BAR_PAGE_BYTES)
        return nof_pmd_refuse(said, "a roster of %llu bytes", (unsigned long long)told->roster_bytes);
    if (!has(fds[NOF_BAR_FD_SEGMENT], told->segment_bytes) ||
        !has(fds[NOF_BAR_FD_ROSTER], told->roster_bytes))
        return nof_pmd_refuse(said,
                              "a segment or roster that is not as large as it says, or may be cut short");
    return NOF_OK;
}

static int check_roster(const struct nof_roster *roster, const struct nof_segment_reply *told,
                        const struct nof_pmd_said *said)
{
    if (roster->magic != NOF_SEGMENT_MAGIC || roster->abi_version != NOF_ABI_VERSION)
        return nof_pmd_refuse(said, "a roster of ABI %u", roster->abi_version);
    if (roster->nslots != told->nslots || roster->segment_bytes != told->segment_bytes ||
        roster->part_offset != nof_segment_part_offset(told->nslots) ||
        roster->part_bytes != nof_segment_part_bytes(told->nslots) || roster->segment_id == 0)
        return nof_pmd_refuse(said, "a roster of another segment");
    return NOF_OK;
}

/* NULL: there is no room for it. A fork's child has none of it. */
static void *map(int fd, uint64_t bytes, int prot)
{
    void *at = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (madvise(at, bytes, MADV_DONTFORK) == 0)
        return at;
    munmap(at, bytes);
    return NULL;
}

int nof_pmd_map_segment(struct nof_pmd *pmd, const struct nof_attach_reply *reply,
                        const int fds[NOF_BAR_FDS_MAX], char *text, size_t text_bytes)
{
    const struct nof_pmd_said said = {text, text_bytes};
    const struct nof_segment_reply *told = &reply->shared;
    int rc;

    if (told->nslots == 0)
        return NOF_OK;
    rc = check_reply(told, fds, &said);
    if (rc != NOF_OK)
        return rc;
    pmd->shared =
        (struct nof_pmd_segment){.bytes = told->segment_bytes, .nslots = told->nslots, .slot = told->slot};
    pmd->roster_bytes = told->roster_bytes;
    pmd->shared.roster = map(fds[NOF_BAR_FD_ROSTER], told->roster_bytes, PROT_READ);
    pmd->bells = map(fds[NOF_BAR_FD_SEGMENT], nof_segment_part_offset(told->nslots), PROT_READ | PROT_WRITE);
    if (pmd->shared.roster == NULL || pmd->bells == NULL) {
        if (text != NULL)
            snprintf(text, text_bytes,
                     "the bells and the roster of this host's ranks cannot be mapped (%s): raise the "
                     "address-space "
                     "limit (ulimit -v)",
                     strerror(errno));
        rc = NOF_ENOMEM;
    } else {
        rc = check_roster(pmd->shared.roster, told, &said);
    }
    if (rc != NOF_OK) {
        nof_pmd_unmap_segment(pmd);
        return rc;
    }
    pmd->shared.base = map(fds[NOF_BAR_FD_SEGMENT], told->segment_bytes, PROT_READ | PROT_WRITE);
    pmd->wake = &pmd->bells[told->slot].wake;
    pmd->asleep = &pmd->bells[told->slot].asleep;
    return NOF_OK;
}

void nof_pmd_unmap_segment(struct nof_pmd *pmd)
{
    struct nof_pmd_segment *s = &pmd->shared;

    if (s->base != NULL)
        munmap(s->base, s->bytes);
    if (s->roster != NULL)
        munmap((void *)(uintptr_t)s->roster, pmd->roster_bytes);
    if (pmd->bells != NULL)
        munmap(pmd->bells, nof_segment_part_offset(s->nslots));
    pmd->bells = NULL;
    *s = (struct nof_pmd_segment){0};
}
