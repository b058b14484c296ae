/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast groups of endpoints; the types alone, for nic.h. mcast.h says what they mean. */
#ifndef NOF_MCAST_STATE_H
#define NOF_MCAST_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "mcast/mcast_msg.h"
#include "transport/multicast.h"

#define NOF_MCAST_ROOM_BYTES 16384u /* of each of a member's two messages: what came before its receive */
#define NOF_MCAST_SLOTS 32u /* frames in it, at most */
#define NOF_MCAST_OPS 2u /* messages of a group that a member may be in: one, and the next */
#define NOF_MCAST_READ_FRAMES 16u /* of one request */
#define NOF_MCAST_EP_FRAMES 256u /* of all that an endpoint sends: two messages whose windows are full */

enum nof_mcast_op_state {
    NOF_MCAST_FREE = 0,
    NOF_MCAST_EARLY, /* frames or acknowledgements came before the host's call */
    NOF_MCAST_RECV,
    NOF_MCAST_SEND,
    NOF_MCAST_ENDING, /* failed, or its group closes: requests are under way */
};

struct nof_mcast_op {
    uint8_t state;
    bool probe; /* the message that opens the group: of no host */
    uint16_t sender;
    uint32_t number;
    struct nof_mcast_msg msg;
    uint64_t len; /* of the message */
    uint64_t addr, capacity; /* of the host's buffer */
    uint32_t chunk; /* bytes of a frame; 0: not known yet */
    uint32_t recv; /* holds its completion; NOF_NIL: there is none */
    int32_t status;
    uint32_t dma; /* requests under way */
    uint64_t again_ns; /* when its state is told again, or the last frame sent again */
    uint32_t again; /* how often in a row */

    /* A member that receives. */
    uint32_t slots; /* of its room, that hold a frame; */
    uint32_t unwritten; /* of those, that are not with the host yet */
    uint32_t slot_frame[NOF_MCAST_SLOTS];
    uint64_t nack_ns; /* 0: nothing is missing */

    /* The sender. */
    uint32_t read, reading; /* frames before this one are filled; so many more are being */
    uint32_t sent, base; /* frames before this one have left; and are everywhere */
    struct nof_frame *frame[NOF_MCAST_WINDOW];
    uint64_t repaired_ns[NOF_MCAST_WINDOW]; /* when it was multicast again, or first sent to one of: */
    uint8_t missed[NOF_MCAST_WINDOW]; /* so many members got it by unicast since, */
    uint8_t missed_by[NOF_MCAST_WINDOW][NOF_MCAST_MEMBERS_MAX / NOF_MCAST_REPAIR_SHARE]; /* these */
};

struct nof_mcast_group { /* of one endpoint */
    struct nof_obj obj;
    bool used, closing;
    bool open; /* its first message is everywhere */
    bool member; /* frames are for this endpoint; else it only sends, for a member of this NIC */
    uint8_t joined; /* the port was told */
    uint16_t ep;
    uint16_t me, n;
    uint32_t name;
    uint32_t next; /* messages before this one are over */
    uint32_t probes; /* sent without success */
    struct nof_group_dest dest;
    uint32_t peer[NOF_MCAST_MEMBERS_MAX]; /* of each member, but ourselves */
    uint64_t apart[NOF_MCAST_MEMBERS_MAX / 64]; /* members that are served by unicast */
    struct nof_mcast_op op[NOF_MCAST_OPS]; /* of message k: k % NOF_MCAST_OPS */
};

struct nof_mcast {
    struct nof_pool groups;
    uint8_t *room; /* NOF_MCAST_OPS * NOF_MCAST_ROOM_BYTES for each */
    uint32_t most; /* that one endpoint may have */
    uint32_t live; /* groups in use */
    uint64_t due_ns; /* when they are looked at next */
};

#endif
