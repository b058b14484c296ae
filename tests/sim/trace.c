/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trace lines of the simulator. */
#include "trace.h"

#include <assert.h>
#include <stddef.h>

#include "nof/status.h"
#include "transport/wire.h"

static const char *wire_name(uint8_t type)
{
    static const char *const reliable[] = {"FLOW_OPEN", "FLOW_REFUSED", "MSG",        "MSG_MORE", "RTS",
                                           "CTS",       "DATA",         "MATCHED",    "ABORT",    "CREDIT",
                                           "EP_DOWN",   "CANCEL",       "CANCELLED",  "ASK",      "GRANT",
                                           "REVOKE",    "END",          "COLL_ABORT", "MREPAIR",  "GDONE"};
    static_assert(sizeof(reliable) / sizeof(reliable[0]) ==
                      NOF_WIRE_RELIABLE_LAST - NOF_WIRE_RELIABLE_FIRST + 1,
                  "every type has its name");
    static const char *const control[] = {"?",         "HELLO", "ACKS", "PROBE",
                                          "PROBE_ACK", "CLOSE", "GACK", "MDATA"};
    if (type >= NOF_WIRE_RELIABLE_FIRST && type <= NOF_WIRE_RELIABLE_LAST)
        return reliable[type - NOF_WIRE_RELIABLE_FIRST];
    return type <= NOF_WIRE_MDATA ? control[type] : "?";
}

void nof_trace_frame(struct nof_cluster *c, unsigned nic, const struct nof_frame *frame)
{
    if (frame->len_bytes < NOF_WIRE_OUTER_BYTES + NOF_WIRE_COMMON_BYTES) {
        nof_cluster_trace(c, "nic%u <- frame of %u bytes", nic, frame->len_bytes);
        return;
    }
    const uint8_t *h = frame->data + NOF_WIRE_OUTER_BYTES;
    nof_cluster_trace(c, "nic%u <- nic%u %-12s pn %u ack %u ep %u>%u flags %u conn %08x, %u bytes", nic,
                      frame->data[29] - 1u, wire_name(h[NOF_WIRE_TYPE]), nof_get32(h + NOF_WIRE_PN),
                      nof_get32(h + NOF_WIRE_ACK), nof_get16(h + NOF_WIRE_SRC_EP),
                      nof_get16(h + NOF_WIRE_DST_EP), h[NOF_WIRE_FLAGS], nof_get32(h + NOF_WIRE_CONN),
                      frame->len_bytes);
}

static const char *opcode_name(uint8_t opcode)
{
    static const char *const desc[] = {
        "?",           "PEER",        "SEND",           "RECV",         "CANCEL",     "PROBE",
        "MPROBE",      "MRECV",       "PULL",           "RELEASE",      "FLUSH",      "LAYOUT",
        "LAYOUT_FREE", "SPILL_END",   "HINT",           "SEND_CANCEL",  "REVOKED",    "SCHED_OPEN",
        "SCHED_FREE",  "SCHED_START", "SCHED_CONTINUE", "SCHED_CANCEL", "COLL_ABORT", "GROUP_OPEN",
        "GROUP_SEND",  "GROUP_RECV",  "GROUP_CLOSE"};
    static const char *const comp[] = {"SPILL",  "PARKED", "GRANT",      "PEER_DEAD",  "ASSIST",
                                       "FAILED", "REVOKE", "SCHED_HOST", "COLL_ABORT", "GROUP"};
    if (opcode <= NOF_DESC_GROUP_CLOSE)
        return desc[opcode];
    return opcode >= NOF_COMP_SPILL && opcode <= NOF_COMP_GROUP ? comp[opcode - NOF_COMP_SPILL] : "?";
}

void nof_trace_desc(struct nof_cluster *c, const char *who, const struct nof_desc *d)
{
    if (!nof_cluster_tracing(c))
        return;
    if (d->opcode == NOF_DESC_RELEASE) {
        nof_cluster_trace(c, "%s submits RELEASE of %u from offset %u on", who, d->release.count,
                          d->release.offset[0]);
        return;
    }
    nof_cluster_trace(c, "%s submits %s ctx %u peer %d tag %d len %llu flags 0x%x cookie %llx", who,
                      opcode_name(d->opcode), d->ctx, d->peer, d->tag, (unsigned long long)d->len, d->flags,
                      (unsigned long long)d->cookie);
}

void nof_trace_comp(struct nof_cluster *c, const char *who, const struct nof_comp *comp)
{
    if (!nof_cluster_tracing(c))
        return;
    nof_cluster_trace(c, "%s gets %s: %s ctx %u peer %d tag %d len %llu flags 0x%x cookie %llx", who,
                      opcode_name(comp->opcode), nof_strstatus(comp->status), comp->ctx, comp->peer,
                      comp->tag, (unsigned long long)comp->len, comp->flags,
                      (unsigned long long)comp->cookie);
}
