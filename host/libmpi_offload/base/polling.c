/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/polling.h"

static uint32_t held(uint32_t value)
{
    return value < 1 ? 1 : value > NOF_POLLING_MOST ? NOF_POLLING_MOST : value;
}

static void take(struct nof_polling *p, uint32_t ratio)
{
    p->ratio = ratio;
    p->left = p->left < ratio ? p->left : ratio;
}

void nof_polling_init(struct nof_polling *p, const struct nof_polling_set *set)
{
    *p = (struct nof_polling){.left = 1, .ratio = 1};
    nof_polling_set(p, set, 0, 0);
}

void nof_polling_set(struct nof_polling *p, const struct nof_polling_set *set, uint32_t near, uint32_t far)
{
    bool begins = set->dynamic && (!p->set.dynamic || p->set.update != held(set->update));
    p->set = (struct nof_polling_set){
        .dynamic = set->dynamic, .ratio = held(set->ratio), .update = held(set->update)};
    if (begins) {
        p->near = near;
        p->far = far;
        take(p, 1);
    } else if (!set->dynamic) {
        take(p, p->set.ratio);
    }
}

void nof_polling_update(struct nof_polling *p, uint32_t near, uint32_t far)
{
    uint32_t m = near - p->near, n = far - p->far, most = p->set.update + 1;
    uint32_t ratio = n == 0 ? most : m / n + 1;
    p->near = near;
    p->far = far;
    p->updates++;
    take(p, ratio < most ? ratio : most);
}
