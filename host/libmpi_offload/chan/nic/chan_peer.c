/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chan/nic/chan_nic.h"
#include "comm/comm.h"
#include "base/error.h"

/* Behind the card: where the peer lives. Its NIC must speak as ours does, for it drops our frames without a word otherwise. */
static int read_place(int world_rank, const char *text)
{
    struct nof_chan_nic_peer *peer = &nof_chan_nic.peers[world_rank];
    char host[NOF_LAUNCH_VALUE_BYTES] = "?";
    unsigned wire = 0;
    int pid = 0;
    if (sscanf(text, "%d:%u:%400s", &pid, &wire, host) != 3 || wire != nof_chan_nic.identity->wire_version)
        return nof_error(
            MPI_ERR_OTHER,
            "the NIC of rank %d (pid %d on %s) speaks version %u of the wire, and this rank's "
            "on %s version %u: "
            "install nof from one build on both, and start their daemons anew (nof down; nof up)",
            world_rank, pid, host, wire, nof_lib.host, nof_chan_nic.identity->wire_version);
    size_t place_bytes = strlen(host) + 32;
    free(peer->place);
    peer->elsewhere =
        strcmp(host, nof_lib.host) != 0 && strstr(nof_chan_nic.identity->nic_name, "(fabric)") == NULL;
    peer->place = malloc(place_bytes);
    if (peer->place != NULL)
        snprintf(peer->place, place_bytes, "pid %d on %s", pid, host);
    return MPI_SUCCESS;
}

static int fetch_card(int world_rank, struct nof_card *card)
{
    char value[NOF_LAUNCH_VALUE_BYTES] = "";
    if (world_rank == nof_lib.world_rank) {
        *card = nof_chan_nic.identity->card;
        return MPI_SUCCESS;
    }
    int failed = nof_chan_nic_card_together(world_rank, value);
    if (failed == ENOENT)
        failed = nof_chan_nic_card_text(world_rank, value);
    if (failed == EBADF)
        return nof_error(MPI_ERR_OTHER,
                         "this program has closed the library's connection to the launcher (%s): who closes "
                         "all descriptors must do so before MPI_Init, or spare those that he did not open",
                         nof_launch->title);
    if (failed == ETIMEDOUT)
        return nof_error(MPI_ERR_OTHER,
                         "the launcher does not answer (%s), asked for the business card of rank %d: is it "
                         "stopped or overloaded?",
                         nof_launch->title, world_rank);
    if (value[0] == '\0')
        return nof_error(MPIX_ERR_PROC_FAILED,
                         "the launcher has no business card of rank %d: it never started, or the "
                         "launcher is gone",
                         world_rank);
    bool whole = strlen(value) > NOF_CARD_HEX;
    value[NOF_CARD_HEX] = '\0';
    if (!whole || nof_card_parse(value, card) != NOF_OK)
        return nof_error(MPI_ERR_INTERN, "the business card of rank %d cannot be read", world_rank);
    return read_place(world_rank, value + NOF_CARD_HEX + 1);
}

/* All NICs of the job speak as rank 0's does, thus as each other: one question a rank, before anything is sent. */
static int as_rank_0(char *text, size_t text_bytes)
{
    struct nof_card card;
    char why[MPI_MAX_ERROR_STRING];
    int rc = fetch_card(0, &card);
    if (rc == MPI_SUCCESS)
        return 0;
    (void)nof_error_text(rc, why);
    snprintf(text, text_bytes, "%s", why);
    return -1;
}

int nof_chan_nic_publish_card(char *text, size_t text_bytes)
{
    if (nof_chan_nic_put_card() != 0 || nof_launch->fence() != 0) {
        snprintf(text, text_bytes,
                 "the launcher did not take this rank's business card: it, or another rank, ended");
        return -1;
    }
    return as_rank_0(text, text_bytes);
}

int nof_chan_nic_peer_id(int world_rank, uint64_t *id_out)
{
    struct nof_card card;
    int rc = fetch_card(world_rank, &card);
    if (rc == MPI_SUCCESS)
        *id_out = card.nic_id;
    return rc;
}

int nof_chan_nic_peer_open(int world_rank)
{
    struct nof_chan_nic_peer *peer = &nof_chan_nic.peers[world_rank];
    if (peer->known)
        return MPI_SUCCESS;
    struct nof_card card;
    int rc = fetch_card(world_rank, &card);
    if (rc != MPI_SUCCESS)
        return rc;
    struct nof_desc desc = {.opcode = NOF_DESC_PEER, .peer = world_rank, .len = sizeof(card)};
    memcpy(desc.inline_data, &card, sizeof(card));
    nof_chan_nic_submit(&desc);
    peer->known = true;
    return MPI_SUCCESS;
}

const char *nof_chan_nic_peer_name(int world_rank)
{
    static char name[NOF_LAUNCH_VALUE_BYTES + 64];
    const char *place =
        world_rank >= 0 && world_rank < nof_lib.world_size ? nof_chan_nic.peers[world_rank].place : NULL;
    if (place == NULL)
        snprintf(name, sizeof(name), "rank %d of MPI_COMM_WORLD", world_rank);
    else
        snprintf(name, sizeof(name), "rank %d of MPI_COMM_WORLD (%s)", world_rank, place);
    return name;
}

int nof_chan_nic_dead_code(int world_rank)
{
    const struct nof_chan_nic_peer *peer = &nof_chan_nic.peers[world_rank];
    if (peer->left)
        return nof_error(MPIX_ERR_PROC_FAILED, "%s has left: it called MPI_Finalize",
                         nof_chan_nic_peer_name(world_rank));
    return nof_error(
        MPIX_ERR_PROC_FAILED, "%s is dead: its process or its NIC is gone%s",
        nof_chan_nic_peer_name(world_rank),
        peer->elsewhere
            ? ", or its host is not reached: see whether ping does, and which ports a firewall lets through "
              "(NOF_NET and NOF_UDP_PORTS choose)"
            : "");
}

int nof_chan_nic_status_code(int status, int world_rank)
{
    switch (status) {
    case NOF_EPEERDEAD:
        return nof_chan_nic_dead_code(world_rank);
    case NOF_ELINKDOWN:
        return nof_error(
            MPIX_ERR_PROC_FAILED,
            "%s cannot be reached: the link of this NIC is down, or no longer carries its frames",
            nof_chan_nic_peer_name(world_rank));
    case NOF_EFAULT:
        if (world_rank < 0 || world_rank == nof_lib.world_rank)
            return nof_error(MPI_ERR_BUFFER, "the buffer is not (wholly) accessible memory");
        return nof_error(MPI_ERR_BUFFER, "the buffer here, or that of %s, is not (wholly) accessible memory",
                         nof_chan_nic_peer_name(world_rank));
    case NOF_ENOMEM:
        return nof_error(
            MPI_ERR_NO_MEM,
            "the NIC has no room for %s: start nofd with a larger --max-peers (\"nof stats\" says "
            "what it holds)",
            nof_chan_nic_peer_name(world_rank));
    case NOF_ENICDEAD:
        return nof_error(
            MPIX_ERR_PROC_FAILED,
            "the NIC of rank %d is gone: its daemon has ended (\"nof down\", or see its nofd.log)",
            nof_lib.world_rank);
    case NOF_EDISAGREE:
        return nof_error(MPI_ERR_ARG,
                         "%s calls another collective here than this rank, or this one with another root, "
                         "operation, type or length",
                         nof_chan_nic_peer_name(world_rank));
    case NOF_ETIMEDOUT:
        return nof_error(MPI_ERR_OTHER,
                         "a collective has waited for %s longer than feature coll_patience_ms allows: that "
                         "rank has not called it, or waits itself (\"nof status\" names those who wait)",
                         nof_chan_nic_peer_name(world_rank));
    case NOF_EPERM:
        return nof_error(MPI_ERR_OTHER,
                         "the kernel does not let the NIC at this process's memory: it has changed its user, "
                         "its capabilities or "
                         "PR_SET_DUMPABLE since MPI_Init (do so before, or start nofd with --dma=assist); or "
                         "%s has another job key",
                         nof_chan_nic_peer_name(world_rank));
    case NOF_EPROTO:
        return nof_error(MPI_ERR_OTHER, "%s broke the message protocol", nof_chan_nic_peer_name(world_rank));
    default:
        return nof_error(MPI_ERR_INTERN, "the NIC answered status %d (peer: %s)", status,
                         nof_chan_nic_peer_name(world_rank));
    }
}

int nof_chan_nic_failure_code(int status, int world_rank)
{
    if (status == NOF_EPEERDEAD && world_rank == nof_lib.world_rank)
        return nof_error(MPIX_ERR_PROC_FAILED,
                         "rank %d of MPI_COMM_WORLD, this one, cannot be reached by others", world_rank);
    if (status == NOF_EPEERDEAD)
        return nof_chan_nic_dead_code(world_rank);
    if (status == NOF_ETIMEDOUT && world_rank == nof_lib.world_rank)
        return nof_error(MPI_ERR_OTHER, "others have waited for this rank longer than feature "
                                        "coll_patience_ms allows, and have given the collective up");
    if (status == NOF_ETIMEDOUT)
        return nof_chan_nic_status_code(status, world_rank);
    if (status == NOF_EDISAGREE)
        return nof_error(MPI_ERR_ARG,
                         "the ranks do not call the same collective, or not with the same root, operation, "
                         "type and length, as %s found",
                         nof_chan_nic_peer_name(world_rank));
    if (status == NOF_ENOENT)
        return nof_error(MPI_ERR_OTHER,
                         "%s is in MPI_Finalize, or has freed this communicator, and does not call this "
                         "collective any more",
                         nof_chan_nic_peer_name(world_rank));
    return nof_error(MPI_ERR_OTHER, "the collective failed at %s: %s", nof_chan_nic_peer_name(world_rank),
                     status == NOF_EFAULT   ? "its buffer is not (wholly) accessible memory"
                     : status == NOF_ENOMEM ? "it has no memory for it"
                                            : "see the error there");
}

static int dead_of(const struct nof_group *group)
{
    for (int i = 0; i < group->size; i++) {
        int world_rank = nof_group_world_rank(group, i);
        if (nof_chan_nic.peers[world_rank].dead && !nof_chan_nic.peers[world_rank].left)
            return world_rank;
    }
    return MPI_UNDEFINED;
}

int nof_chan_nic_dead_member(struct nof_comm *comm)
{
    if (nof_chan_nic.nic_dead)
        return nof_lib.world_rank;
    if (nof_chan_nic.dead_count == 0)
        return MPI_UNDEFINED;
    int member = dead_of(comm->group);
    return member == MPI_UNDEFINED && comm->remote != NULL ? dead_of(comm->remote) : member;
}
