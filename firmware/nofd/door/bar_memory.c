/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/bar_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nof/claim.h"
#include "nof/counters.h"
#include "nof/delta.h"
#include "nof_private/library_counts.h"

#include "nofd/sys/memfd.h"

#define PAGE NOF_BAR_PAGE_BYTES

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define CLAIMS_AT 1024u /* in the page of the host words */
static_assert(sizeof(struct nof_host_words) <= CLAIMS_AT &&
                  CLAIMS_AT + sizeof(struct nof_claim_words) <= PAGE,
              "host words and claims share a page");
static_assert(NOF_LIBRARY_COUNT_MAX * sizeof(uint64_t) <= PAGE, "library counts have a page");
static_assert(sizeof(struct nof_nic_words) + NOF_COUNTER_COUNT * sizeof(uint64_t) <= PAGE,
              "NIC words and counters share a page");

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* Appends a segment of one memfd to the range. */
static void add_segment(struct nof_bar_identity *id, uint32_t fd, uint64_t file_bytes[2], uint64_t len)
{
    struct nof_bar_segment *segment = &id->segment[id->nsegments++];

    segment->fd = fd;
    segment->file_offset = file_bytes[fd];
    segment->bar_offset = id->bar_bytes;
    segment->len = len;
    file_bytes[fd] += len;
    id->bar_bytes += len;
}

/* Decides all offsets; file_bytes are the sizes of the two memfds. */
static void lay_out(struct nof_bar_identity *id, const struct nofd_bar_config *cfg, uint64_t file_bytes[2])
{
    uint64_t bounce = pages(cfg->bounce_bytes);
    uint64_t program_area = pages(cfg->program_area_bytes);
    uint64_t assist = pages(cfg->assist_bytes);
    uint64_t delta = pages(sizeof(struct nof_delta_host));

    memset(id, 0, sizeof(*id));
    file_bytes[0] = 0;
    file_bytes[1] = 0;
    id->magic = NOF_BAR_MAGIC;
    id->abi_version = NOF_ABI_VERSION;
    id->submit_slots = cfg->submit_slots - 1;
    id->complete_slots = cfg->complete_slots - 1;
    id->ncounters = NOF_COUNTER_COUNT;
    id->max_inline_bytes = NOF_INLINE_BYTES;
    id->bounce_max_bytes = cfg->bounce_max_bytes;

    id->nic_words_offset = PAGE;
    id->counters_offset = PAGE + sizeof(struct nof_nic_words);
    id->unexpected_offset = id->counters_offset + NOF_C_UNEXPECTED * sizeof(uint64_t);
    add_segment(id, NOF_BAR_FD_RO, file_bytes, 3 * (uint64_t)PAGE); /* the last one: submission head */
    id->submit_offset = nof_ring_offset(id->bar_bytes);
    add_segment(id, NOF_BAR_FD_RW, file_bytes, nof_ring_rw_bytes(cfg->submit_slots));
    add_segment(id, NOF_BAR_FD_RO, file_bytes, PAGE);
    id->complete_offset = nof_ring_offset(id->bar_bytes);
    id->host_words_offset = id->bar_bytes + nof_ring_rw_bytes(cfg->complete_slots);
    id->claim_offset = id->host_words_offset + CLAIMS_AT;
    id->library_counts_offset = id->host_words_offset + PAGE;
    id->nlibrary_counts = NOF_LIBRARY_COUNT_MAX;
    id->bounce_offset = id->library_counts_offset + PAGE;
    id->bounce_bytes = bounce;
    id->program_area_offset = id->bounce_offset + bounce;
    id->program_area_bytes = program_area;
    id->assist_offset = id->program_area_offset + program_area;
    id->assist_bytes = assist;
    id->delta_host_offset = id->assist_offset + assist;
    add_segment(id, NOF_BAR_FD_RW, file_bytes,
                nof_ring_rw_bytes(cfg->complete_slots) + 2 * (uint64_t)PAGE + bounce + program_area + assist +
                    delta);
    id->delta_nic_offset = id->bar_bytes;
    id->staging_offset = id->delta_nic_offset + pages(sizeof(struct nof_delta_nic));
    id->staging_bytes = pages(cfg->staging_bytes);
    add_segment(id, NOF_BAR_FD_RO, file_bytes, pages(sizeof(struct nof_delta_nic)) + id->staging_bytes);
}

static int map_segments(struct nofd_bar *bar, const struct nof_bar_identity *id)
{
    void *range = mmap(NULL, id->bar_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (range == MAP_FAILED)
        return -errno;
    bar->base = range;
    bar->bytes = id->bar_bytes;
    for (uint32_t i = 0; i < id->nsegments; i++) {
        const struct nof_bar_segment *segment = &id->segment[i];

        if (mmap(bar->base + segment->bar_offset, segment->len, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED | MAP_POPULATE, bar->fd[segment->fd],
                 (off_t)segment->file_offset) == MAP_FAILED)
            return -errno;
    }
    /* A child of ours has no business here. */
    (void)madvise(bar->base, bar->bytes, MADV_DONTFORK);
    return 0;
}

/* Nobody but this mapping can write the RO memfd from now on, nobody at all can resize either. */
static int seal(struct nofd_bar *bar)
{
    int sizes = F_SEAL_SHRINK | F_SEAL_GROW;

    if (fcntl(bar->fd[NOF_BAR_FD_RO], F_ADD_SEALS, sizes | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0 ||
        fcntl(bar->fd[NOF_BAR_FD_RW], F_ADD_SEALS, sizes | F_SEAL_SEAL) != 0)
        return -errno;
    return 0;
}

int nofd_bar_create(struct nofd_bar *bar, const struct nofd_bar_config *cfg)
{
    struct nof_bar_identity id;
    uint64_t file_bytes[2];
    int rc;

    memset(bar, 0, sizeof(*bar));
    lay_out(&id, cfg, file_bytes);
    bar->fd[NOF_BAR_FD_RW] = -1;
    bar->fd[NOF_BAR_FD_DOORBELL] = -1;
    bar->fd[NOF_BAR_FD_RO] = nofd_memfd_create("nof-bar-ro", file_bytes[NOF_BAR_FD_RO]);
    rc = bar->fd[NOF_BAR_FD_RO];
    if (rc < 0)
        goto err_destroy;
    bar->fd[NOF_BAR_FD_RW] = nofd_memfd_create("nof-bar-rw", file_bytes[NOF_BAR_FD_RW]);
    rc = bar->fd[NOF_BAR_FD_RW];
    if (rc < 0)
        goto err_destroy;
    bar->fd[NOF_BAR_FD_DOORBELL] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bar->fd[NOF_BAR_FD_DOORBELL] < 0) {
        rc = -errno;
        goto err_destroy;
    }
    rc = map_segments(bar, &id);
    if (rc != 0)
        goto err_destroy;
    bar->identity = nofd_bar_at(bar, 0);
    *bar->identity = id;
    bar->nic_words = nofd_bar_at(bar, id.nic_words_offset);
    bar->counters = nofd_bar_at(bar, id.counters_offset);
    bar->host_words = nofd_bar_at(bar, id.host_words_offset);
    bar->library_counts = nofd_bar_at(bar, id.library_counts_offset);
    bar->submit = nofd_bar_at(bar, id.submit_offset);
    bar->complete = nofd_bar_at(bar, id.complete_offset);
    if (rte_ring_init(bar->submit, "submit", cfg->submit_slots, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0 ||
        rte_ring_init(bar->complete, "complete", cfg->complete_slots, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
        rc = -EINVAL;
        goto err_destroy;
    }
    rc = seal(bar);
    if (rc != 0)
        goto err_destroy;
    return 0;
err_destroy:
    nofd_bar_destroy(bar);
    return rc;
}

void nofd_bar_destroy(struct nofd_bar *bar)
{
    if (bar->base != NULL)
        munmap(bar->base, bar->bytes);
    bar->base = NULL;
    for (unsigned i = 0; i < NOF_BAR_FDS; i++) {
        if (bar->fd[i] >= 0)
            close(bar->fd[i]);
        bar->fd[i] = -1;
    }
}
