/* SPDX-License-Identifier: BSD-3-Clause */
/* How often the wait loop looks at the NIC: as features say, unless the environment does. */
#include "base/polling_env.h"
#include "chan/nic/chan_nic.h"

static struct nof_polling_env told;

void nof_chan_nic_polling(struct nof_polling_set *set_out)
{
    struct nof_pmd_polling now = nof_pmd_polling(nof_chan_nic.pmd);
    *set_out = (struct nof_polling_set){.dynamic = now.dynamic, .ratio = now.ratio, .update = now.update};
    nof_polling_env_apply(&told, set_out);
}

int nof_chan_nic_polling_open(char *text, size_t text_bytes)
{
    return nof_polling_env_read(&told, text, text_bytes);
}
