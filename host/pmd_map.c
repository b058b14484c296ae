/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps a BAR as the daemon's reply tells, after checking everything it says: a garbled or hostile reply
 * ends in NOF_EVERSION with a sentence, never in a signal. */
#include "pmd_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define BAR_BYTES_MAX (4ull << 30)

enum access { HOST_READS, HOST_WRITES };

int nof_pmd_refuse(const struct nof_pmd_said *said, const char *fmt, ...)
{
    char why[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    if (said->text != NULL)
        snprintf(
            said->text, said->text_bytes,
            "the daemon's answer makes no sense (%s): this program and nofd are of different versions, or "
            "the socket is not nofd's; install both from one build",
            why);
    return NOF_EVERSION;
}

static int check_segment(const struct nof_attach_reply *reply, uint32_t i, const off_t size[],
                         const struct nof_pmd_said *said)
{
    const struct nof_bar_segment *s = &reply->segment[i];

    if (s->fd > NOF_BAR_FD_RW)
        return nof_pmd_refuse(said, "segment %u names file %u", i, s->fd);
    if ((s->file_offset | s->bar_offset | s->len) % NOF_BAR_PAGE_BYTES != 0 || s->len == 0)
        return nof_pmd_refuse(said, "segment %u is not made of pages", i);
    if (s->bar_offset > reply->bar_bytes || s->len > reply->bar_bytes - s->bar_offset)
        return nof_pmd_refuse(said, "segment %u leaves the BAR", i);
    if (s->file_offset > (uint64_t)size[s->fd] || s->len > (uint64_t)size[s->fd] - s->file_offset)
        return nof_pmd_refuse(said, "segment %u leaves its file", i);
    for (uint32_t j = 0; j < i; j++) {
        const struct nof_bar_segment *t = &reply->segment[j];

        if (s->bar_offset < t->bar_offset + t->len && t->bar_offset < s->bar_offset + s->len)
            return nof_pmd_refuse(said, "segments %u and %u overlap", j, i);
    }
    return NOF_OK;
}

static int check_reply(const struct nof_attach_reply *reply, const int fds[], const struct nof_pmd_said *said)
{
    off_t size[2];

    if (reply->bar_bytes < NOF_BAR_PAGE_BYTES || reply->bar_bytes > BAR_BYTES_MAX ||
        reply->bar_bytes % NOF_BAR_PAGE_BYTES != 0)
        return nof_pmd_refuse(said, "a BAR of %llu bytes", (unsigned long long)reply->bar_bytes);
    if (reply->nsegments == 0 || reply->nsegments > NOF_BAR_SEGMENTS_MAX)
        return nof_pmd_refuse(said, "%u segments", reply->nsegments);
    for (int i = 0; i < 2; i++) {
        int seals = fcntl(fds[i], F_GET_SEALS);
        struct stat st;

        /* A file that can shrink under its mapping is a SIGBUS waiting for us. */
        if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
            return nof_pmd_refuse(said, "file %d may be cut short", i);
        if (fstat(fds[i], &st) != 0)
            return nof_pmd_refuse(said, "file %d cannot be asked for its size", i);
        size[i] = st.st_size;
    }
    for (uint32_t i = 0; i < reply->nsegments; i++) {
        int rc = check_segment(reply, i, size, said);

        if (rc != NOF_OK)
            return rc;
    }
    return NOF_OK;
}

static int map_segments(struct nof_pmd *pmd, const struct nof_attach_reply *reply, const int fds[],
                        const struct nof_pmd_said *said)
{
    void *base = mmap(NULL, reply->bar_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        goto err_memory;
    pmd->bar = base;
    for (uint32_t i = 0; i < reply->nsegments; i++) {
        const struct nof_bar_segment *s = &reply->segment[i];
        int prot = s->fd == NOF_BAR_FD_RW ? PROT_READ | PROT_WRITE : PROT_READ;

        if (mmap(pmd->bar + s->bar_offset, s->len, prot, MAP_SHARED | MAP_FIXED, fds[s->fd],
                 (off_t)s->file_offset) == MAP_FAILED)
            goto err_unmap;
    }
    /* A fork's child must not speak to the NIC with its parent's voice. */
    if (madvise(base, reply->bar_bytes, MADV_DONTFORK) != 0)
        goto err_unmap;
    return NOF_OK;

err_unmap:
    munmap(base, reply->bar_bytes);
    pmd->bar = NULL;
err_memory:
    if (said->text != NULL)
        snprintf(said->text, said->text_bytes,
                 "%llu bytes of the NIC cannot be mapped (%s): raise the address-space limit (ulimit -v)",
                 (unsigned long long)reply->bar_bytes, strerror(errno));
    return NOF_ENOMEM;
}

/* Every page of [offset, offset + len) lies in a segment, and in a writable one where we write. */
static bool covered(const struct nof_attach_reply *reply, uint64_t offset, uint64_t len, enum access access)
{
    uint64_t at = offset;

    if (offset > reply->bar_bytes || len > reply->bar_bytes - offset)
        return false;
    while (at < offset + len) {
        uint64_t next = at;

        for (uint32_t i = 0; i < reply->nsegments; i++) {
            const struct nof_bar_segment *s = &reply->segment[i];

            if (at >= s->bar_offset && at < s->bar_offset + s->len &&
                (access == HOST_READS || s->fd == NOF_BAR_FD_RW))
                next = s->bar_offset + s->len;
        }
        if (next == at)
            return false;
        at = next;
    }
    return true;
}

static bool ring_ok(struct nof_pmd *pmd, const struct nof_attach_reply *reply, uint64_t offset,
                    uint32_t slots, struct rte_ring **ring_out)
{
    struct rte_ring *ring;

    if (!nof_ring_placed(offset, slots, reply->bar_bytes) ||
        !covered(reply, offset, NOF_RING_HEAD_BYTES, HOST_READS) ||
        !covered(reply, offset + NOF_RING_HEAD_BYTES, nof_ring_rw_bytes(slots + 1), HOST_WRITES))
        return false;
    ring = (struct rte_ring *)(void *)(pmd->bar + offset);
    if (ring->size != slots + 1 || ring->mask != slots || ring->capacity != slots)
        return false;
    *ring_out = ring;
    return true;
}

static int check_identity(struct nof_pmd *pmd, const struct nof_attach_reply *reply,
                          const struct nof_pmd_said *said)
{
    struct nof_bar_identity *id = &pmd->identity;
    const struct {
        const char *name;
        uint64_t offset, len;
        enum access access;
        uint64_t align;
    } area[] = {
        {"host words", id->host_words_offset, sizeof(struct nof_host_words), HOST_WRITES, 64},
        {"NIC words", id->nic_words_offset, sizeof(struct nof_nic_words), HOST_READS, 64},
        {"counters", id->counters_offset, (uint64_t)id->ncounters * 8, HOST_READS, 8},
        {"count of unexpected messages", id->unexpected_offset, 8, HOST_READS, 8},
        {"staging area", id->staging_offset, id->staging_bytes, HOST_READS, 64},
        {"bounce arena", id->bounce_offset, id->bounce_bytes, HOST_WRITES, 64},
        {"program area", id->program_area_offset, id->program_area_bytes, HOST_WRITES, 64},
        {"assist area", id->assist_offset, id->assist_bytes, HOST_WRITES, 64},
        {"board of delta sends", id->delta_host_offset, sizeof(struct nof_delta_host), HOST_WRITES, 64},
        {"array of claims", id->claim_offset, sizeof(struct nof_claim_words), HOST_WRITES, 64},
        {"block of library counts", id->library_counts_offset, (uint64_t)id->nlibrary_counts * 8, HOST_WRITES,
         8},
        {"board of delta receives", id->delta_nic_offset, sizeof(struct nof_delta_nic), HOST_READS, 64},
    };

    if (id->magic != NOF_BAR_MAGIC || id->abi_version != NOF_ABI_VERSION)
        return nof_pmd_refuse(said, "identity page of ABI %u", id->abi_version);
    if (id->bar_bytes != reply->bar_bytes)
        return nof_pmd_refuse(said, "two sizes of the BAR");
    for (size_t i = 0; i < sizeof(area) / sizeof(area[0]); i++) {
        if (area[i].offset % area[i].align != 0 ||
            !covered(reply, area[i].offset, area[i].len, area[i].access))
            return nof_pmd_refuse(said, "the %s does not lie in the BAR", area[i].name);
    }
    if (id->max_inline_bytes > NOF_INLINE_BYTES || id->dma > NOF_DMA_ASSIST)
        return nof_pmd_refuse(said, "inline size %u, DMA mode %u", id->max_inline_bytes, id->dma);
    if (!ring_ok(pmd, reply, id->submit_offset, id->submit_slots, &pmd->submit_ring))
        return nof_pmd_refuse(said, "the submission ring is misplaced");
    if (!ring_ok(pmd, reply, id->complete_offset, id->complete_slots, &pmd->complete_ring))
        return nof_pmd_refuse(said, "the completion ring is misplaced");
    id->nic_name[sizeof(id->nic_name) - 1] = '\0';
    return NOF_OK;
}

int nof_pmd_map(struct nof_pmd *pmd, const struct nof_attach_reply *reply, const int fds[NOF_BAR_FDS],
                char *text, size_t text_bytes)
{
    const struct nof_pmd_said said = {text, text_bytes};
    int rc = check_reply(reply, fds, &said);

    if (rc != NOF_OK)
        return rc;
    if (!covered(reply, 0, NOF_BAR_PAGE_BYTES, HOST_READS))
        return nof_pmd_refuse(&said, "no identity page");
    rc = map_segments(pmd, reply, fds, &said);
    if (rc != NOF_OK)
        return rc;
    memcpy(&pmd->identity, pmd->bar, sizeof(pmd->identity));
    rc = check_identity(pmd, reply, &said);
    if (rc == NOF_OK)
        rc = nof_bounce_open(&pmd->bounce, pmd->identity.bounce_bytes, pmd->identity.bounce_max_bytes);
    if (rc == NOF_EINVAL)
        rc = nof_pmd_refuse(&said, "a bounce arena with pieces of %llu bytes",
                            (unsigned long long)pmd->identity.bounce_max_bytes);
    if (rc != NOF_OK) {
        munmap(pmd->bar, reply->bar_bytes);
        pmd->bar = NULL;
        return rc;
    }
    pmd->assist = pmd->identity.dma == NOF_DMA_ASSIST;
    pmd->host_words = (struct nof_host_words *)(void *)(pmd->bar + pmd->identity.host_words_offset);
    pmd->wake = &pmd->host_words->wake;
    pmd->asleep = &pmd->host_words->host_asleep;
    pmd->nic_words = (const struct nof_nic_words *)(const void *)(pmd->bar + pmd->identity.nic_words_offset);
    pmd->counters = (const uint64_t *)(const void *)(pmd->bar + pmd->identity.counters_offset);
    pmd->unexpected = (const uint64_t *)(const void *)(pmd->bar + pmd->identity.unexpected_offset);
    return NOF_OK;
}
