/* SPDX-License-Identifier: BSD-3-Clause */
#include "mcast/mcast_msg.h"

void nof_mcast_begin(struct nof_mcast_msg *m, uint32_t n, uint32_t sender, uint32_t me)
{
    uint32_t first = nof_mcast_distance(n, sender, me) * NOF_MCAST_FAN + 1;
    *m = (struct nof_mcast_msg){.nchildren = first >= n ? 0 : n - first};
    if (m->nchildren > NOF_MCAST_FAN)
        m->nchildren = NOF_MCAST_FAN;
    if (sender == me)
        m->own = (struct nof_mcast_part){.cum = UINT32_MAX, .ready = true, .done = true};
}

bool nof_mcast_has(const struct nof_mcast_msg *m, uint32_t frame)
{
    uint32_t i = frame - m->own.cum;
    if (frame < m->own.cum)
        return true;
    return i < NOF_MCAST_WINDOW && (m->have[i / 64] >> i % 64 & 1) != 0;
}

enum nof_mcast_taken nof_mcast_look(const struct nof_mcast_msg *m, uint32_t frame)
{
    if (nof_mcast_has(m, frame))
        return NOF_MCAST_AGAIN;
    return frame - m->own.cum < NOF_MCAST_WINDOW ? NOF_MCAST_NEW : NOF_MCAST_BEYOND;
}

/* Frame own.cum is here: the window moves by one. */
static void shift(struct nof_mcast_msg *m)
{
    m->own.cum++;
    m->have[0] = m->have[0] >> 1 | m->have[1] << 63;
    m->have[1] >>= 1;
}

enum nof_mcast_taken nof_mcast_take(struct nof_mcast_msg *m, uint32_t frame)
{
    enum nof_mcast_taken taken = nof_mcast_look(m, frame);
    if (taken == NOF_MCAST_AGAIN && frame + 1 == m->high)
        m->eager = true;
    if (taken != NOF_MCAST_NEW)
        return taken;
    uint32_t i = frame - m->own.cum;
    m->have[i / 64] |= 1ull << i % 64;
    if (frame >= m->high) {
        m->high = frame + 1;
        m->eager = false;
    }
    /* bound: NOF_MCAST_WINDOW, 128; paid by the frames */
    while (m->have[0] & 1)
        shift(m);
    return taken;
}

void nof_mcast_heard(struct nof_mcast_msg *m, uint32_t child, const struct nof_mcast_part *said)
{
    struct nof_mcast_part *c = &m->child[child];
    c->cum = said->cum > c->cum ? said->cum : c->cum;
    c->ready |= said->ready;
    c->done |= said->done;
}

struct nof_mcast_part nof_mcast_sum(const struct nof_mcast_msg *m)
{
    struct nof_mcast_part sum = m->own;
    /* bound: NOF_MCAST_FAN, 8; paid by the frame */
    for (uint32_t i = 0; i < m->nchildren; i++) {
        const struct nof_mcast_part *c = &m->child[i];
        if (!c->done && c->cum < sum.cum)
            sum.cum = c->cum;
        sum.ready &= c->ready || c->done;
        sum.done &= c->done;
    }
    return sum;
}

bool nof_mcast_news(struct nof_mcast_msg *m, const struct nof_mcast_part *sum)
{
    uint32_t more = sum->cum - m->told.cum;
    bool end = more > 0 && sum->cum == m->nframes;
    bool news = (sum->ready && !m->told.ready) || more >= NOF_MCAST_ACK_EVERY || end ||
                (m->eager && more > 0 && !nof_mcast_gap(m));
    if (news)
        m->told = *sum;
    return news;
}
