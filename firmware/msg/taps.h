/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What messages call upwards: moments at which compression, prediction and schedules may have a say. nic.c fills the table, once, so
 * that nothing in msg/ knows any of them. */
#ifndef NOF_TAPS_H
#define NOF_TAPS_H

#include "flow/scheduler.h"
#include "nic.h"

enum nof_step_news { NOF_STEP_NEWS_ENDED, NOF_STEP_NEWS_LEFT };

struct nof_taps {
    /* A stored message of envelope e, which is in no matching table yet, begins. */
    void (*begins)(struct nof_nic *nic, const struct nof_env *e, uint32_t chain);
    /* A message is in the matching tables now. */
    void (*waits)(struct nof_nic *nic, struct nof_env *e);
    /* Likewise, one of a collective on which its ranks must agree. */
    void (*joins)(struct nof_nic *nic, const struct nof_env *e);
    /* A rendezvous of s is about to be announced. */
    void (*announces)(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                      const struct nof_send *s);
    /* The next bytes of s: false, read them plainly; true: they are read for what emit() makes of them, *rc_out as
     * nof_read_start(). */
    bool (*reads)(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer, struct nof_send *s,
                  uint32_t *bytes, enum nof_pump *rc_out);
    /* Frames of the flow's oldest read, which was read so and is done. IDLE: all have left. */
    enum nof_pump (*emits)(struct nof_nic *nic, struct nof_link *link, struct nof_peer *peer,
                           struct nof_read *r, unsigned budget, unsigned *frames);
    /* Of the message of a schedule's step, which `cookie` names: it has ended, as status and len say; or of a send `len` bytes
     * are still to be sent. */
    void (*step_news)(struct nof_nic *nic, struct nof_endpoint *ep, uint64_t cookie, enum nof_step_news news,
                      int status, uint64_t len);
    /* A frame that was kept as it came is wanted: NOF_OK, and its payload in *plain_out; or NOF_EPROTO. */
    int (*decodes)(struct nof_nic *nic, const struct nof_peer *peer, struct nof_grant *ch,
                   const struct nof_wire_view *view, struct nof_wire_view *plain_out);
};

#endif
