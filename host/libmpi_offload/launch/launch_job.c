/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nof_private/env.h"
#include "nof_private/machine.h"
#include "nof_private/rundir.h"
#include "pmd_driver.h"

#include "launch/launch.h"

#define LAUNCHER_MS 5000
#define JOB_KEY_NAME "nof-job"
#define FAILED "failed" /* instead of the job */
#define KEY_HEX 32
#define START_MS 40000 /* for another rank of this host to start the daemon: longer than nofd may take */
#define START_LOOK_MS 5
#define GONE_MS 4000 /* for daemons that end as this rank attaches */
#define GONE_LOOK_MS 20
#define SHARED_SOCKET "/run/nof/nofd.sock" /* root's daemon serves all users */

/* Who has started rank 0's daemon, and what that means for other hosts. */
enum daemon {
    DAEMON_OURS, /* rank 0: for its own host alone */
    DAEMON_STAYS, /* somebody: each host can have one */
    DAEMON_EACH, /* rank 0: with a port; the first rank of each other host without one starts one as well */
};

/* What rank 0 tells the others: the job, and where its own NIC is. */
struct call {
    uint64_t id;
    uint8_t key[16];
    uint32_t machine;
    enum daemon daemon;
    uint32_t ip4; /* DAEMON_EACH: where the NIC of rank 0's host is reached */
    char host[MPI_MAX_PROCESSOR_NAME];
    char socket[NOF_LAUNCH_SOCKET_BYTES];
};

/* How this process attaches, by which channels. */
struct door {
    nof_launch_attach_fn *attach;
    const enum nof_channels *way;
};

static int parse_key(const char *hex, uint8_t key[16])
{
    if (strspn(hex, "0123456789abcdefABCDEF") < KEY_HEX)
        return -1;
    for (int i = 0; i < 16; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return 0;
}

enum told { TOLD_NOTHING, TOLD_JOB, TOLD_NONSENSE };

/* What `nof run` says of the job, if it started this process. */
static enum told told_job(struct nof_launch_job *job)
{
    const char *id = nof_env("NOF_JOB_ID"), *key = nof_env("NOF_JOB_KEY");
    char *end = NULL;
    if (id == NULL && key == NULL)
        return TOLD_NOTHING;
    errno = 0;
    if (id != NULL)
        job->id = strtoull(id, &end, 0);
    if (id == NULL || errno != 0 || end == id || *end != '\0' || key == NULL || strlen(key) != KEY_HEX ||
        parse_key(key, job->key) != 0)
        return TOLD_NONSENSE;
    return TOLD_JOB;
}

static int draw_job(struct nof_launch_job *job, char *text, size_t text_bytes)
{
    if (getrandom(&job->id, sizeof(job->id), 0) != (ssize_t)sizeof(job->id) ||
        getrandom(job->key, sizeof(job->key), 0) != (ssize_t)sizeof(job->key)) {
        snprintf(text, text_bytes, "the kernel gives no random numbers for the job's key: %s",
                 strerror(errno));
        return -1;
    }
    job->id |= 1; /* 0 is no job */
    return 0;
}

/* A daemon of `nof up` on this host: this user's, else root's. */
static bool find_daemon(char socket[NOF_LAUNCH_SOCKET_BYTES])
{
    char folder[NOF_LAUNCH_SOCKET_BYTES - 16];
    nof_rundir_path(folder, sizeof(folder));
    snprintf(socket, NOF_LAUNCH_SOCKET_BYTES, "%s/nofd.sock", folder);
    if (nof_pmd_answers(socket))
        return true;
    snprintf(socket, NOF_LAUNCH_SOCKET_BYTES, SHARED_SOCKET);
    return nof_pmd_answers(socket);
}

/* Attached to such a daemon, which then stays. One that ends meanwhile, with its last job or by `nof down`, was none.
 * 1; 0: there is none; -1 with a sentence in text. */
static int hold_daemon(struct nof_launch_job *job, const struct door *door, char *text, size_t text_bytes)
{
    uint64_t until_ns = nof_lib_now_ns() + GONE_MS * 1000000ull;
    while (find_daemon(job->socket)) {
        int rc = door->attach(job, door->way, text, text_bytes);
        if (rc == 0)
            return 1;
        if (rc != NOF_LAUNCH_GONE || nof_lib_now_ns() > until_ns)
            return -1;
        (void)poll(NULL, 0, GONE_LOOK_MS);
    }
    return 0;
}

/* Launchers say how many of their ranks are on this host, or how many hosts there are. */
static bool all_are_here(void)
{
    int n = nof_launch_ranks_here();
    if (n > 0)
        return n == nof_lib.world_size;
    return nof_launch_number("SLURM_STEP_NUM_NODES", &n) == 0 && n == 1;
}

static int local_ranks(void)
{
    int n = nof_launch_ranks_here();
    return n > 0 ? n : nof_lib.world_size;
}

/* As nof_launch_net(), of an address that other hosts reach. */
static int net_of_hosts(uint32_t towards, char port[NOF_LAUNCH_PORT_BYTES], uint32_t *ip4_out, char *text,
                        size_t text_bytes)
{
    if (nof_launch_net(towards, port, ip4_out, text, text_bytes) != 0)
        return -1;
    const char *told = nof_env("NOF_NET");
    if (told == NULL || *ip4_out >> 24 != 127)
        return 0;
    snprintf(text, text_bytes,
             "NOF_NET is %s, a loopback address on %s, and what other hosts send to it stays with them: name "
             "a network that "
             "all hosts are on",
             told, nof_lib.host);
    return -1;
}

/* Rank 0: where is the NIC, and if there is none, make one. */
static int find_or_start(struct nof_launch_job *job, struct call *call, const struct door *door, char *text,
                         size_t text_bytes)
{
    char port[NOF_LAUNCH_PORT_BYTES];
    call->daemon = DAEMON_STAYS;
    if (job->socket[0] != '\0')
        return 0;
    int held = hold_daemon(job, door, text, text_bytes);
    if (held != 0)
        return held > 0 ? 0 : -1;
    snprintf(job->socket, sizeof(job->socket), "@nof-%" PRIx64, job->id);
    call->daemon = DAEMON_OURS;
    if (all_are_here())
        return nof_launch_daemon(job->socket, nof_lib.world_size, NULL, text, text_bytes);
    if (net_of_hosts(0, port, &call->ip4, text, text_bytes) != 0)
        return -1;
    if (call->ip4 == 0) /* without a network all ranks are here, whatever the launcher does not say */
        return nof_launch_daemon(job->socket, nof_lib.world_size, NULL, text, text_bytes);
    call->daemon = DAEMON_EACH;
    return nof_launch_daemon(job->socket, local_ranks(), port, text, text_bytes);
}

static int publish(const struct nof_launch_job *job, const struct call *call)
{
    char value[NOF_LAUNCH_VALUE_BYTES], key[KEY_HEX + 1];
    for (int i = 0; i < 16; i++)
        snprintf(key + 2 * i, 3, "%02x", job->key[i]);
    /* The socket last: a path may hold a ':'. */
    int len = snprintf(value, sizeof(value), "%" PRIx64 ":%s:%" PRIx32 ":%d:%" PRIx32 ":%s:%s", job->id, key,
                       nof_machine_id(), (int)call->daemon, call->ip4, nof_lib.host, job->socket);
    return len < (int)sizeof(value) ? nof_launch->put(JOB_KEY_NAME, value) : -1;
}

static int parse_call(const char *value, struct call *call)
{
    char key[KEY_HEX + 1];
    int daemon, at = 0;
    if (sscanf(value, "%" SCNx64 ":%32[0-9a-f]:%" SCNx32 ":%d:%" SCNx32 ":%n", &call->id, key, &call->machine,
               &daemon, &call->ip4, &at) != 5 ||
        at == 0 || daemon < DAEMON_OURS || daemon > DAEMON_EACH || strlen(key) != KEY_HEX ||
        parse_key(key, call->key) != 0 || call->id == 0)
        return -1;
    call->daemon = (enum daemon)daemon;
    const char *host = value + at, *socket = strchr(host, ':');
    if (socket == NULL || (size_t)(socket - host) >= sizeof(call->host) ||
        strlen(socket + 1) >= sizeof(call->socket) || socket[1] == '\0')
        return -1;
    snprintf(call->host, sizeof(call->host), "%.*s", (int)(socket - host), host);
    snprintf(call->socket, sizeof(call->socket), "%s", socket + 1);
    return 0;
}

/* Whoever has this name, which belongs to the network namespace as sockets of daemons do, starts the daemon of this host.
 * Returns the descriptor that holds it, -1: another has it (errno EADDRINUSE), or nobody can (another errno). */
static int claim_start(const char *socket_name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int len = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "%s-start", socket_name + 1);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

/* A host that is not rank 0's, without a daemon. The ranks that do not start one wait for it; when whoever did has failed, the
 * next one tries, and says why it fails. */
static int start_here(const struct nof_launch_job *job, uint32_t towards, char *text, size_t text_bytes)
{
    char port[NOF_LAUNCH_PORT_BYTES];
    uint32_t ip4;
    int rc = -1;
    for (int waited_ms = 0; waited_ms < START_MS; waited_ms += START_LOOK_MS) {
        int claimed;
        if (nof_pmd_answers(job->socket))
            return 0;
        claimed = claim_start(job->socket);
        if (claimed >= 0) {
            rc = 0;
            if (!nof_pmd_answers(job->socket) &&
                (net_of_hosts(towards, port, &ip4, text, text_bytes) != 0 ||
                 nof_launch_daemon(job->socket, local_ranks(), port, text, text_bytes) != 0))
                rc = -1;
            close(claimed);
            return rc;
        }
        if (errno != EADDRINUSE) {
            snprintf(text, text_bytes,
                     "no socket to agree with the other ranks on %s who starts the NIC daemon: %s",
                     nof_lib.host, strerror(errno));
            return -1;
        }
        (void)poll(NULL, 0, START_LOOK_MS);
    }
    snprintf(text, text_bytes, "another rank on %s did not get a NIC daemon to start within %d s",
             nof_lib.host, START_MS / 1000);
    return -1;
}

/* Ranks of rank 0's host go where it goes; others need a daemon that is there without us, or start one as rank 0 did. */
static int follow(struct nof_launch_job *job, const struct call *call, const struct door *door, char *text,
                  size_t text_bytes)
{
    job->id = call->id;
    memcpy(job->key, call->key, sizeof(job->key));
    if (job->socket[0] != '\0')
        return 0;
    if (call->machine == nof_machine_id()) {
        snprintf(job->socket, sizeof(job->socket), "%s", call->socket);
        if (nof_pmd_answers(job->socket))
            return 0;
        snprintf(text, text_bytes,
                 "nobody answers at %s, where rank 0 on %s has its NIC, though this rank on %s seems to be "
                 "on the same host: the "
                 "daemon there has ended, or the two are copies of one running machine (cat "
                 "/proc/sys/kernel/random/boot_id on both: if they are equal, start one anew)",
                 job->socket, call->host, nof_lib.host);
        return -1;
    }
    if (call->daemon == DAEMON_OURS) {
        snprintf(text, text_bytes,
                 "rank %d runs on %s and rank 0 on %s, where no NIC daemon runs: start one on each host with "
                 "\"nof up\"",
                 nof_lib.world_rank, nof_lib.host, call->host);
        return -1;
    }
    int held = hold_daemon(job, door, text, text_bytes);
    if (held != 0)
        return held > 0 ? 0 : -1;
    if (call->daemon == DAEMON_EACH) {
        snprintf(job->socket, sizeof(job->socket), "@nof-%" PRIx64, job->id);
        return start_here(job, call->ip4, text, text_bytes);
    }
    snprintf(text, text_bytes, "no NIC daemon runs on %s: start one there with \"nof up\"", nof_lib.host);
    return -1;
}

static int meet(struct nof_launch_job *job, const struct door *door, char *text, size_t text_bytes)
{
    char value[NOF_LAUNCH_VALUE_BYTES];
    struct call call = {.daemon = DAEMON_OURS};
    bool first = nof_lib.world_rank == 0;
    if (first &&
        (draw_job(job, text, text_bytes) != 0 || find_or_start(job, &call, door, text, text_bytes) != 0)) {
        /* Hydra forgets to end a job of which some hosts have not come yet (4.0): let them. */
        if (!all_are_here() && nof_launch->put(JOB_KEY_NAME, FAILED) == 0)
            (void)nof_launch->fence();
        return -1;
    }
    if ((first && publish(job, &call) != 0) || nof_launch->fence() != 0) {
        nof_lib_linger(LAUNCHER_MS); /* another rank's sentence says more */
        snprintf(text, text_bytes, "the launcher (%s) ended, or another rank did", nof_launch->title);
        return -1;
    }
    if (first)
        return 0;
    if (nof_launch->get(0, JOB_KEY_NAME, value) == 0 && strcmp(value, FAILED) == 0) {
        nof_lib_linger(LAUNCHER_MS); /* rank 0's sentence says more, and ends the job */
        snprintf(text, text_bytes, "rank 0 has no NIC daemon");
        return -1;
    }
    if (nof_launch->get(0, JOB_KEY_NAME, value) != 0 || parse_call(value, &call) != 0) {
        snprintf(text, text_bytes, "the launcher (%s) does not tell what rank 0 said about the job",
                 nof_launch->title);
        return -1;
    }
    return follow(job, &call, door, text, text_bytes);
}

int nof_launch_job(struct nof_launch_job *job_out, nof_launch_attach_fn *attach, const enum nof_channels *way,
                   char *text, size_t text_bytes)
{
    const struct door door = {.attach = attach, .way = way};
    const char *socket = nof_env("NOF_SOCKET"), *number = nof_env("NOF_NIC");
    int nic;
    *job_out = (struct nof_launch_job){.nic = UINT32_MAX};
    if (socket != NULL &&
        snprintf(job_out->socket, sizeof(job_out->socket), "%s", socket) >= (int)sizeof(job_out->socket)) {
        snprintf(text, text_bytes, "NOF_SOCKET is no socket's address: it has more than %zu characters",
                 sizeof(job_out->socket) - 1);
        return -1;
    }
    if (nof_launch_number("NOF_NIC", &nic) == 0) {
        job_out->nic = (uint32_t)nic;
    } else if (number != NULL) {
        snprintf(text, text_bytes,
                 "NOF_NIC is \"%s\": must be the number of one of the daemon's NICs, which \"nof status\" "
                 "lists; or unset it",
                 number);
        return -1;
    }
    enum told told = job_out->socket[0] != '\0' ? told_job(job_out) : TOLD_NOTHING;
    if (told == TOLD_NONSENSE) {
        snprintf(
            text, text_bytes,
            "NOF_JOB_ID (a number) and NOF_JOB_KEY (32 hex digits) are not valid: unset both, or start the "
            "program with \"nof run\"");
        return -1;
    }
    if (told == TOLD_JOB)
        return 0;
    if (nof_lib.world_size > 1)
        return meet(job_out, &door, text, text_bytes);
    return job_out->socket[0] != '\0' ? draw_job(job_out, text, text_bytes) : 0;
}
