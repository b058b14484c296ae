/* SPDX-License-Identifier: BSD-3-Clause */
/* Launch: who am I, who are the others, which job is this, where is its NIC.
 *
 *   open() -> job() -> put() ... fence() -> get() ... -> close()
 *
 * The launcher is one of a family (struct nof_launch_ops), chosen by what it left in the environment; NOF_LAUNCH names
 * one outright. Without a launcher the world has size one. A launcher that cannot be spoken to is an error, never N
 * worlds of one.
 *
 * Threads: under the library's lock. */
#ifndef NOF_MPI_LAUNCH_H
#define NOF_MPI_LAUNCH_H

#include "nof/bar.h"
#include "base/lib.h"

#define NOF_LAUNCH_VALUE_BYTES 512 /* with the NUL; no ';', no newline in it */
#define NOF_LAUNCH_SOCKET_BYTES 108

struct nof_launch_ops {
    const char *name; /* as in NOF_LAUNCH */
    const char *title; /* for people */
    unsigned death_ms; /* how long it may take to notice a rank's death and end the job */
    /* Fill in rank, size and appnum of nof_lib. 0, or -1 with a sentence in text. */
    int (*open)(char *text, size_t text_bytes);
    /* put() publishes for everybody after the next fence(); get() answers -1 when `rank` published no such key or the
     * launcher is gone, with errno ETIMEDOUT when it has not answered for long, EBADF when this process has closed what leads to it. */
    int (*put)(const char *key, const char *value);
    int (*fence)(void);
    int (*get)(int rank, const char *key, char value[NOF_LAUNCH_VALUE_BYTES]);
    void (*close)(void);
    /* Ask for the job's end. May come back. NULL: there is nobody to ask. */
    void (*abort)(int exit_code, const char *why);
    /* How many ranks it has started on this host; 0: it does not say. NULL: nor could it. */
    int (*ranks_here)(void);
};

extern const struct nof_launch_ops nof_launch_pmi1;
extern const struct nof_launch_ops nof_launch_pmi2;
extern const struct nof_launch_ops nof_launch_pmix;
extern const struct nof_launch_ops nof_launch_singleton;

/* The launcher of this process; the singleton before open(). */
extern const struct nof_launch_ops *nof_launch;

/* death_ms of this process's launcher. */
unsigned nof_launch_death_ms(void);

/* NIC and job of this process. */
struct nof_launch_job {
    char socket[NOF_LAUNCH_SOCKET_BYTES]; /* "": no NIC */
    uint64_t id;
    uint8_t key[16];
    uint32_t nic; /* UINT32_MAX: any */
};

/* Choose the launcher and open it. 0, or -1 with a sentence in text. */
int nof_launch_open(char *text, size_t text_bytes);
/* Tell it that this process ends in order. */
void nof_launch_close(void);

/* Attach to the NIC at job->socket; way: what nof_launch_job() was given. 0; NOF_LAUNCH_GONE: its daemon has ended; -1; with a
 * sentence in text. */
typedef int nof_launch_attach_fn(const struct nof_launch_job *job, const enum nof_channels *way, char *text,
                                 size_t text_bytes);
#define NOF_LAUNCH_GONE (-2)

/* Agree on the job and find the NIC: the environment of `nof run` says both; else rank 0 draws the job and publishes it
 * (collective: one fence), and the daemon is that of NOF_SOCKET, that of `nof up` on this host, or a private daemon: rank 0
 * starts it, and where there are several hosts without one the first rank of each, with a UDP port. Who
 * would start one instead attaches at once to a daemon that it finds: with a rank it stays. 0; -1 with a sentence in text. */
int nof_launch_job(struct nof_launch_job *job_out, nof_launch_attach_fn *attach, const enum nof_channels *way,
                   char *text, size_t text_bytes);

/* Start a private daemon for `ranks` ranks that listens at `socket`, and wait until it does: a process that belongs to nobody, is
 * bound to no CPU though this rank may be, and ends when its last rank has. port: of its NIC, as nofd takes it; NULL: none, all ranks
 * are here. 0; -1 with a sentence in text. */
int nof_launch_daemon(const char *socket, int ranks, const char *port, char *text, size_t text_bytes);

#define NOF_LAUNCH_PORT_BYTES 64
/* launch_net.c: the port of such a NIC that other hosts reach, and its address (host byte order). towards: an address that it
 * must reach and may not be, 0: none is known; then *ip4_out may be 0: this host has no address that others could. NOF_NET
 * and NOF_UDP_PORTS go first. 0; -1 with a sentence in text. */
int nof_launch_net(uint32_t towards, char port[NOF_LAUNCH_PORT_BYTES], uint32_t *ip4_out, char *text,
                   size_t text_bytes);

/* launch_here.c: how many ranks of this job are on this host, by what the launcher left in the environment, or else says; 0: it does
 * not. */
int nof_launch_ranks_here(void);

/* launch_number.c: a number in the environment. 0, or -1 when it is not there or is none from 0 to INT32_MAX. */
int nof_launch_number(const char *variable, int *number_out);

/* Equal for processes that can share memory. */
uint64_t nof_launch_host_id(void);
void nof_launch_set_host_id(uint64_t id);

#endif
