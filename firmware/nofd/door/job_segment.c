/* SPDX-License-Identifier: BSD-3-Clause */
#include "nofd/door/job_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nof/bar.h"
#include "nof/status.h"
#include "nof_private/fence.h"

#include "nofd/sys/limits.h"
#include "nofd/sys/memfd.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static uint64_t pages(uint64_t bytes)
{
    return (bytes + NOF_BAR_PAGE_BYTES - 1) & ~(uint64_t)(NOF_BAR_PAGE_BYTES - 1);
}

static struct nof_roster_rank *entry(const struct nofd_segment *s, uint32_t slot)
{
    return (struct nof_roster_rank *)(void *)(s->roster + 1) + slot;
}

static void *map(int fd, uint64_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);

    if (at == MAP_FAILED)
        return NULL;
    (void)madvise(at, bytes, MADV_DONTFORK); /* a child of ours has no business here */
    return at;
}

/* All that a segment consists of, but for the record itself. */
static void drop(struct nofd_segment *s)
{
    if (s->bells != NULL)
        munmap(s->bells, nof_segment_part_offset(s->nslots));
    if (s->roster != NULL)
        munmap(s->roster, s->roster_bytes);
    if (s->fd >= 0)
        close(s->fd);
    if (s->roster_fd >= 0)
        close(s->roster_fd);
    s->bells = NULL;
    s->roster = NULL;
    s->fd = s->roster_fd = -1;
    s->nslots = 0;
}

static void write_roster(const struct nofd_segment *s)
{
    uint32_t id = 0;

    while (id == 0)
        if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
            id = (uint32_t)(uintptr_t)s | 1;
    *s->roster = (struct nof_roster){
        .magic = NOF_SEGMENT_MAGIC,
        .abi_version = NOF_ABI_VERSION,
        .nslots = s->nslots,
        .segment_id = id,
        .part_offset = nof_segment_part_offset(s->nslots),
        .part_bytes = nof_segment_part_bytes(s->nslots),
        .segment_bytes = s->segment_bytes,
    };
}

/* 0 or -errno; what there is then is for drop(). */
static int make(struct nofd_segment *s)
{
    const int sizes = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    uint64_t bells = nof_segment_part_offset(s->nslots);

    s->segment_bytes = bells + s->nslots * nof_segment_part_bytes(s->nslots);
    s->roster_bytes = pages(sizeof(struct nof_roster) + s->nslots * (uint64_t)sizeof(struct nof_roster_rank));
    s->fd = nofd_memfd_sparse("nof-segment", s->segment_bytes, bells);
    if (s->fd < 0)
        return s->fd;
    s->roster_fd = nofd_memfd_create("nof-roster", s->roster_bytes);
    if (s->roster_fd < 0)
        return s->roster_fd;
    s->bells = map(s->fd, bells);
    s->roster = s->bells != NULL ? map(s->roster_fd, s->roster_bytes) : NULL;
    if (s->roster == NULL)
        return -errno;
    write_roster(s);
    if (fcntl(s->fd, F_ADD_SEALS, sizes) != 0 ||
        fcntl(s->roster_fd, F_ADD_SEALS, sizes | F_SEAL_FUTURE_WRITE) != 0)
        return -errno;
    return 0;
}

/* A record without a segment stays: what went wrong once is said once, and the job is of one mind. */
static struct nofd_segment *begin(uint32_t host_id, uint32_t nslots, char *why, size_t why_bytes)
{
    struct nofd_segment *s = calloc(1, sizeof(*s));
    int rc;

    if (s == NULL) {
        snprintf(why, why_bytes, "the daemon is out of memory");
        return NULL;
    }
    s->host_id = host_id;
    s->fd = s->roster_fd = -1;
    if (nslots > NOF_SEGMENT_SLOTS_MAX) {
        snprintf(why, why_bytes, "it has %u ranks there, and a segment has room for %u", nslots,
                 NOF_SEGMENT_SLOTS_MAX);
        return s;
    }
    s->nslots = nslots;
    rc = make(s);
    if (rc != 0) {
        snprintf(why, why_bytes, "no memory for its %u slots (%s)%s", nslots, strerror(-rc),
                 nofd_limits_hint(-rc));
        drop(s);
    }
    return s;
}

struct nofd_segment *nofd_segment_of(struct nofd_segment **segments, uint32_t host_id, uint32_t nslots,
                                     char *why, size_t why_bytes)
{
    struct nofd_segment *s = *segments;

    why[0] = '\0';
    while (s != NULL && s->host_id != host_id)
        s = s->next;
    if (s == NULL && nslots > 1) {
        s = begin(host_id, nslots, why, why_bytes);
        if (s == NULL)
            return NULL;
        s->next = *segments;
        *segments = s;
    }
    return s != NULL && s->nslots > 0 ? s : NULL;
}

bool nofd_segment_give(struct nofd_segment *s, uint32_t rank, struct nofd_slot *slot_out)
{
    for (uint32_t i = 0; i < s->given; i++)
        if (entry(s, i)->rank == rank)
            return false;
    if (s->given == s->nslots)
        return false;
    *slot_out = (struct nofd_slot){.segment = s, .index = s->given};
    entry(s, s->given++)->rank = rank;
    return true;
}

void nofd_segment_keep(const struct nofd_slot *slot, pid_t pid)
{
    struct nof_roster_rank *e;

    if (slot->segment == NULL)
        return;
    e = entry(slot->segment, slot->index);
    e->pid = pid > 0 ? (uint32_t)pid : 0;
    __atomic_store_n(&e->state, NOF_ROSTER_ATTACHED, __ATOMIC_RELEASE);
}

void nofd_segment_release(struct nofd_slot *slot)
{
    if (slot->segment != NULL)
        slot->segment->given--;
    slot->segment = NULL;
}

void nofd_segment_gone(const struct nofd_slot *slot, int reason)
{
    struct nof_roster_rank *e;

    if (slot->segment == NULL || reason == NOF_ENICDEAD)
        return;
    e = entry(slot->segment, slot->index);
    if (__atomic_load_n(&e->state, __ATOMIC_RELAXED) == NOF_ROSTER_ATTACHED)
        __atomic_store_n(&e->state, reason == NOF_OK ? NOF_ROSTER_LEFT : NOF_ROSTER_DEAD, __ATOMIC_RELEASE);
}

/* Whatever `asleep` says: who cleared it may be the one that died, before it woke anybody. */
static void ring(struct nof_segment_bell *bell)
{
    __atomic_store_n(&bell->asleep, 0, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&bell->wake, 1, __ATOMIC_SEQ_CST);
    (void)syscall(SYS_futex, &bell->wake, FUTEX_WAKE, 1, NULL, NULL, 0); /* a driver waits with one thread */
}

void nofd_segment_alarm(const struct nofd_slot *slot)
{
    struct nofd_segment *s = slot->segment;

    if (s == NULL || __atomic_load_n(&entry(s, slot->index)->state, __ATOMIC_ACQUIRE) != NOF_ROSTER_DEAD)
        return;
    (void)__atomic_fetch_add(&s->roster->deaths, 1, __ATOMIC_RELEASE);
    nof_fence_full();
    for (uint32_t i = 0; i < s->given; i++)
        ring(&s->bells[i]);
}

void nofd_segments_end(struct nofd_segment **segments)
{
    while (*segments != NULL) {
        struct nofd_segment *s = *segments;

        *segments = s->next;
        drop(s);
        free(s);
    }
}

struct nof_segment_reply nofd_segment_told(const struct nofd_slot *slot)
{
    const struct nofd_segment *s = slot->segment;

    if (s == NULL)
        return (struct nof_segment_reply){0};
    return (struct nof_segment_reply){.nslots = s->nslots,
                                      .slot = slot->index,
                                      .segment_bytes = s->segment_bytes,
                                      .roster_bytes = s->roster_bytes};
}
