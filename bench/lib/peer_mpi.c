/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer_mpi.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scratch.h"

#define COMPILE_S 60
#define LIST_BYTES (NOF_LAB_HOSTS_MAX * 16u)

static const struct {
    const char *name, *compiler, *launcher, *missing, *no_compile;
} peers[NOF_PEERS] = {
    {"mpich", "mpicc.mpich", "mpiexec.hydra", "MPICH is not installed: apt install mpich libmpich-dev",
     "mpicc.mpich cannot compile the program: apt install libmpich-dev"},
    {"openmpi", "mpicc.openmpi", "mpirun.openmpi",
     "Open MPI is not installed: apt install openmpi-bin libopenmpi-dev",
     "mpicc.openmpi cannot compile the program: apt install libopenmpi-dev"},
};

/* The host is an address of the lab, the rest is the command. */
static bool write_launcher(const struct nof_peer *peer, const struct nof_testbed *bed)
{
    int fd = open(peer->into, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    int rc;

    if (fd < 0)
        return false;
    rc = dprintf(fd,
                 "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                 "i=$((${1##*.} - 1)); shift\nexec ip netns exec \"%.*s$i\" sh -c \"$*\"\n",
                 (int)strlen(bed->peers.host[0]) - 1, bed->peers.host[0]);
    close(fd);
    return rc >= 0;
}

static void ignore_line(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

const char *nof_peer_take(struct nof_peer *peer, enum nof_peer_mpi mpi, const struct nof_testbed *bed,
                          const char *program, const char *told)
{
    *peer = (struct nof_peer){.mpi = mpi, .told = told};
    if (!bed->config.lab)
        return "it cannot use the fabric: --lab has it, on a network of the same rate and buffers";
    if (!nof_bench_have(peers[mpi].launcher))
        return peers[mpi].missing;
    snprintf(peer->program, sizeof(peer->program), "%s", program);
    snprintf(peer->into, sizeof(peer->into), "%s/into-host", nof_bench_scratch());
    return write_launcher(peer, bed) ? NULL : "no room for temporary files; set TMPDIR";
}

const char *nof_peer_compile(struct nof_peer *peer, enum nof_peer_mpi mpi, const struct nof_testbed *bed,
                             const char *source)
{
    char path[NOF_BENCH_PATH_BYTES], program[NOF_BENCH_PATH_BYTES];
    const char *const argv[] = {peers[mpi].compiler, "-O2", "-o", program, path, NULL};
    const char *why;

    snprintf(path, sizeof(path), "%s/%s", NOF_BENCH_SOURCE_DIR, source);
    snprintf(program, sizeof(program), "%s/%s", nof_bench_scratch(), peers[mpi].name);
    why = nof_peer_take(peer, mpi, bed, program, NULL);
    if (why != NULL)
        return why;
    if (!nof_bench_have(peers[mpi].compiler))
        return peers[mpi].missing;
    return nof_bench_spawn(argv, NULL, COMPILE_S, ignore_line, NULL) == 0 ? NULL : peers[mpi].no_compile;
}

/* Into words; returns how many. */
static unsigned launcher_words(const struct nof_peer *peer, const char *list, const char *ranks,
                               const char **words)
{
    const char *const mpich[] = {
        "-launcher", "ssh",      "-launcher-exec", peer->into,        "-hosts", list, "-genv",
        "UCX_TLS",   "tcp,self", "-genv",          "UCX_NET_DEVICES", "eth0",   "-n", ranks};
    const char *const openmpi[] = {"--allow-run-as-root",
                                   "--mca",
                                   "plm_rsh_agent",
                                   peer->into,
                                   "--mca",
                                   "plm_rsh_no_tree_spawn",
                                   "1",
                                   "--mca",
                                   "pml",
                                   "ob1",
                                   "--mca",
                                   "btl",
                                   "tcp,self",
                                   "--mca",
                                   "btl_tcp_if_include",
                                   "eth0",
                                   "--mca",
                                   "oob_tcp_if_include",
                                   "eth0",
                                   "-host",
                                   list,
                                   "-np",
                                   ranks};

    if (peer->mpi == NOF_PEER_MPICH) {
        memcpy(words, mpich, sizeof(mpich));
        return sizeof(mpich) / sizeof(mpich[0]);
    }
    memcpy(words, openmpi, sizeof(openmpi));
    return sizeof(openmpi) / sizeof(openmpi[0]);
}

bool nof_peer_run(const struct nof_peer *peer, const struct nof_testbed *bed, const char *const *arguments,
                  unsigned timeout_s, void (*line)(void *ctx, const char *text), void *ctx)
{
    char list[LIST_BYTES] = "", ranks[16];
    const char *words[NOF_CHILD_ARGS_MAX] = {"ip", "netns", "exec", bed->peers.host[0],
                                             peers[peer->mpi].launcher};
    unsigned n = 5, at = 0;

    for (unsigned i = 0; i < bed->config.hosts; i++)
        at += (unsigned)snprintf(list + at, sizeof(list) - at, "%s10.9.0.%u", i > 0 ? "," : "", i + 1);
    snprintf(ranks, sizeof(ranks), "%u", bed->config.hosts);
    n += launcher_words(peer, list, ranks, words + n);
    words[n++] = peer->program;
    while (*arguments != NULL && n < NOF_CHILD_ARGS_MAX - 1)
        words[n++] = *arguments++;
    words[n] = NULL;
    return nof_bench_spawn_peer(words, peer->told, timeout_s, line, ctx) == 0;
}
