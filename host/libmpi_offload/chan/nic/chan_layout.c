/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts on the NIC. A type that is not contiguous is made known when it is committed, and forgotten when
 * nobody holds it any more: a request holds its type, so no descriptor names a layout that is gone. The NIC
 * has room for so many; messages of a type that it refuses are packed into a temporary, as are small messages
 * and those of small pieces. */
#include "chan/nic/chan_nic.h"
#include "delta/delta_watch.h"
#include "type/type_layout.h"
#include "base/wait.h"

/* A copy of the NIC takes NOF_DMA_SEGMENTS_MAX pieces. Speed of streaming against packing on the fabric: 0.2 to 0.5
 * with pieces of 256 bytes, 0.7 to 0.9 with 1 KiB, 1.15 with 4 KiB, 1.3 with 16 KiB. From 1 KiB on no temporary is
 * worth it; below, a large message is streamed all the same to bound memory, below 128 bytes never. */
#define PIECE_BYTES_MIN 128u
#define PIECE_BYTES_FAST 1024u
#define TEMPORARY_BYTES_MAX (16u << 20)

static uint64_t last_name;

/* False: the room in the program area is not used. */
static bool ask(struct nof_type *type, size_t bytes, uint64_t area)
{
    struct nof_chan_nic_op *op = nof_chan_nic_op_new(NOF_OP_LAYOUT, NULL);
    if (op == NULL)
        return false;
    last_name++;
    type->layout = (struct nof_type_layout){
        .name = (uint32_t)last_name, .generation = (uint32_t)(last_name >> 32), .state = NOF_LAYOUT_ASKED};
    op->type = type;
    op->area = area;
    struct nof_desc desc = {.opcode = NOF_DESC_LAYOUT, .cookie = nof_chan_nic_cookie(op), .len = bytes};
    desc.layout = type->layout.name;
    desc.layout_generation = type->layout.generation;
    nof_chan_nic_submit(&desc);
    return true;
}

/* Waits for the answer, so that the first message can go the short way. */
void nof_chan_nic_commit(struct nof_type *type)
{
    struct nof_wait wait = NOF_WAIT_START;
    wait.own = true;
    size_t piece_bytes = type->contiguous ? 0 : nof_type_piece_bytes(type);
    if (piece_bytes < PIECE_BYTES_MIN || type->layout.state != NOF_LAYOUT_NONE)
        return;
    nof_type_hold(type);
    size_t room = nof_chan_nic_area_bytes();
    uint64_t area = 0; /* all of it: how long the layout is is known when it is written */
    while (room > 0 && !nof_chan_nic.nic_dead && (area = nof_chan_nic_area_take(room)) == 0)
        nof_wait_step(&wait);
    size_t bytes = area == 0 || type->layout.state != NOF_LAYOUT_NONE
                       ? 0
                       : nof_type_layout(type, nof_pmd_program_area(nof_chan_nic.pmd), room);
    if (bytes == 0 || !ask(type, bytes, area))
        nof_chan_nic_area_give(area);
    type->layout.fast = piece_bytes >= PIECE_BYTES_FAST;
    while (type->layout.state == NOF_LAYOUT_ASKED && !nof_chan_nic.nic_dead)
        nof_wait_step(&wait);
    nof_type_release(type);
}

static void forget(const struct nof_type *type)
{
    if (nof_chan_nic.pmd == NULL || nof_chan_nic.nic_dead)
        return;
    nof_chan_layout_gone(type->layout.name, type->layout.generation);
    struct nof_desc desc = {.opcode = NOF_DESC_LAYOUT_FREE};
    desc.layout = type->layout.name;
    desc.layout_generation = type->layout.generation;
    nof_chan_nic_submit(&desc);
}

void nof_chan_nic_layout_done(struct nof_chan_nic_op *op, int status)
{
    op->type->layout.state = status == NOF_OK ? NOF_LAYOUT_READY : NOF_LAYOUT_NONE;
    op->type->layout.forget = status == NOF_OK ? forget : NULL;
    nof_chan_nic_area_give(op->area);
    nof_chan_nic_op_free(op);
    nof_wait_signal();
}

/* Messages that may travel through the bounce arena or inside a descriptor are copied anyway. */
bool nof_chan_nic_streams(const struct nof_type *type, size_t bytes)
{
    return type->layout.state == NOF_LAYOUT_READY && bytes > nof_chan_nic.identity->bounce_max_bytes &&
           bytes > NOF_INLINE_BYTES && (type->layout.fast || bytes > TEMPORARY_BYTES_MAX);
}

/* The NIC is about to write there: what a delta send guards is open. What a delta receive hides has come by then (delta_settle.h). */
static void open_guards(const struct nof_request *req)
{
    const struct nof_type *type = req->type;
    if (!req->streamed) {
        nof_delta_watch_write(req->data, req->bytes);
        return;
    }
    ptrdiff_t reach = (ptrdiff_t)(req->count - 1) * nof_type_extent(type);
    ptrdiff_t low = type->tree->lb + (reach < 0 ? reach : 0), high = type->tree->ub + (reach > 0 ? reach : 0);
    nof_delta_watch_write(nof_lib_at(req->data, low), (size_t)(high - low));
}

void nof_chan_nic_place(struct nof_desc *desc, const struct nof_request *req)
{
    if (nof_delta_watch_any() && desc->opcode != NOF_DESC_SEND)
        open_guards(req);
    desc->addr = (uint64_t)(uintptr_t)req->data;
    if (!req->streamed)
        return;
    desc->flags |= NOF_DESC_F_LAYOUT;
    desc->layout = req->type->layout.name;
    desc->layout_generation = req->type->layout.generation;
}
