/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host driver of a simulated process: descriptors and completions pass through the simulator (pmd_driver.h). */
#include <stdio.h>
#include <stdlib.h>

#include "bounce.h"
#include "image.h"
#include "image_run.h"
#include "pmd_driver.h"
#include "program.h"

struct nof_pmd {
    struct nof_bounce bounce;
    uint32_t wakes;
    uint32_t bounced; /* pieces of the arena that are out */
    uint32_t collectives; /* by whom, of this job: the NIC, the host, or either */
    uint32_t asked;
    bool multicast;
};

static struct nof_pmd driver;

int nof_pmd_attach(const struct nof_pmd_attach_args *args, struct nof_pmd **pmd_out, char *text,
                   size_t text_bytes)
{
    int status = nof_image->ops->attach(nof_image->process, args->job_key, args->job_id);
    if (status == NOF_OK)
        status = nof_bounce_open(&driver.bounce, nof_image->identity.bounce_bytes,
                                 nof_image->identity.bounce_max_bytes);
    if (status != NOF_OK) {
        snprintf(text, text_bytes, "the simulated NIC has no endpoint for it: %s", nof_strstatus(status));
        return status;
    }
    /* Of the key, so that what is drawn for other things stays as it was. */
    driver.collectives = args->job_key[0] % 4u;
    driver.multicast = args->job_key[2] % 2u == 0;
    driver.asked = args->job_key[1] + (uint32_t)nof_image->rank;
    driver.wakes = nof_image->near_wrap ? UINT32_MAX - 1 : 0;
    *pmd_out = &driver;
    return NOF_OK;
}

bool nof_pmd_answers(const char *socket)
{
    (void)socket;
    return false;
}

void nof_pmd_detach(struct nof_pmd *pmd)
{
    char text[96];
    snprintf(text, sizeof(text), "%u pieces of the bounce arena were not given back", pmd->bounced);
    if (pmd->bounced > 0 && !nof_image->program->abandons)
        nof_image->ops->fail(nof_image->process, text);
    nof_bounce_close(&pmd->bounce);
    nof_image->ops->detach(nof_image->process);
}

const struct nof_bar_identity *nof_pmd_identity(const struct nof_pmd *pmd)
{
    (void)pmd;
    return &nof_image->identity;
}

int nof_pmd_submit(struct nof_pmd *pmd, const struct nof_desc *descs, unsigned n)
{
    (void)pmd;
    return (int)nof_image->ops->submit(nof_image->process, descs, n);
}

int nof_pmd_reap(struct nof_pmd *pmd, struct nof_comp *comps, unsigned n)
{
    (void)pmd;
    return (int)nof_image->ops->reap(nof_image->process, comps, n);
}

const struct nof_pmd_segment *nof_pmd_segment(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NULL; /* all go by the NIC */
}

void nof_pmd_wait_begin(struct nof_pmd *pmd)
{
    (void)pmd;
}

void nof_pmd_wait_end(struct nof_pmd *pmd)
{
    (void)pmd;
}

int nof_pmd_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    if (pmd->wakes == seen)
        nof_image->ops->wait(nof_image->process, timeout_ns);
    return NOF_OK;
}

uint32_t nof_pmd_wake_count(const struct nof_pmd *pmd)
{
    return pmd->wakes;
}

void nof_pmd_wake(struct nof_pmd *pmd)
{
    pmd->wakes++;
}

const char *nof_pmd_death(const struct nof_pmd *pmd)
{
    (void)pmd;
    return "";
}

void *nof_pmd_bounce_alloc(struct nof_pmd *pmd, size_t len_bytes, uint64_t *offset_out)
{
    if (len_bytes > nof_image->identity.bounce_max_bytes ||
        nof_bounce_alloc(&pmd->bounce, len_bytes, offset_out) != NOF_OK)
        return NULL;
    pmd->bounced++;
    return nof_image->bounce + *offset_out;
}

void nof_pmd_bounce_free(struct nof_pmd *pmd, uint64_t offset)
{
    pmd->bounced--;
    nof_bounce_free(&pmd->bounce, offset);
}

const void *nof_pmd_staged(const struct nof_pmd *pmd, uint32_t offset, uint32_t len_bytes)
{
    (void)pmd;
    uint64_t area_bytes = nof_image->identity.staging_bytes;
    return offset > area_bytes || len_bytes > area_bytes - offset ? NULL : nof_image->staging + offset;
}

void *nof_pmd_program_area(struct nof_pmd *pmd)
{
    (void)pmd;
    return nof_image->program_area;
}

enum nof_channels nof_pmd_channels(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NOF_CHANNELS_NIC;
}

struct nof_pmd_polling nof_pmd_polling(const struct nof_pmd *pmd)
{
    (void)pmd;
    return (struct nof_pmd_polling){.dynamic = true, .ratio = 50, .update = 10};
}

uint32_t nof_pmd_coll_patience_ms(const struct nof_pmd *pmd)
{
    (void)pmd;
    return 0;
}

uint32_t nof_pmd_away_ms(const struct nof_pmd *pmd)
{
    (void)pmd;
    return 0;
}

bool nof_pmd_took_all(const struct nof_pmd *pmd)
{
    (void)pmd;
    return true;
}

bool nof_pmd_multicast(const struct nof_pmd *pmd)
{
    (void)pmd;
    return driver.multicast;
}

bool nof_run_multicasts(void)
{
    return driver.multicast;
}

bool nof_pmd_runs_collectives(const struct nof_pmd *pmd)
{
    (void)pmd;
    driver.asked = driver.asked * 1664525u + 1013904223u;
    return driver.collectives != NOF_SIM_BY_HOST &&
           (driver.collectives == NOF_SIM_BY_NIC || driver.asked >> 30 != 0);
}

uint64_t nof_pmd_unexpected(const struct nof_pmd *pmd)
{
    (void)pmd;
    return nof_image->counters[NOF_C_UNEXPECTED];
}

uint64_t nof_pmd_counter(const struct nof_pmd *pmd, enum nof_counter counter)
{
    (void)pmd;
    (void)counter;
    return 0;
}

struct nof_delta_host *nof_pmd_delta_host(const struct nof_pmd *pmd)
{
    (void)pmd;
    return nof_image->delta_host;
}

const struct nof_delta_nic *nof_pmd_delta_nic(const struct nof_pmd *pmd)
{
    (void)pmd;
    return nof_image->delta_nic;
}

struct nof_claim_words *nof_pmd_claims(const struct nof_pmd *pmd)
{
    (void)pmd;
    return NULL;
}

uint64_t *nof_pmd_library_counts(const struct nof_pmd *pmd, uint32_t n)
{
    (void)pmd;
    (void)n;
    return NULL;
}

void nof_pmd_delta_ring(struct nof_pmd *pmd, uint32_t slot)
{
    (void)pmd;
    nof_image->delta_host->rung |= 1ull << slot;
    nof_image->ops->ring(nof_image->process);
}

bool nof_pmd_delta_gone(const struct nof_pmd *pmd)
{
    (void)pmd;
    return nof_image->killed;
}

int nof_pmd_delta_wait(struct nof_pmd *pmd, uint32_t seen, uint64_t timeout_ns)
{
    struct nof_delta_host *board = nof_image->delta_host;
    (void)pmd;
    if (board == NULL)
        return NOF_ENICDEAD;
    if (board->wake == seen)
        nof_image->ops->wait_arrival(nof_image->process, timeout_ns);
    return NOF_OK;
}
