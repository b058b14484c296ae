/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/report.h"
#include "wire_peers.h"

#define TEXT_BYTES 16384u
#define SIZES_MAX 8u
#define PORT "udp:eth0"

static const char *const calls[] = {"udp.tx_calls", "udp.rx_calls", "core.sleeps", NULL};
static const char *const messages[] = {"msg.tx", NULL};

/* "row BYTES LATENCY_US MBPS" lines of pt2pt_mpi, in the order of the sizes. */
static int parse(const char *text, const int *bytes, unsigned n, struct nof_wire_pair *out)
{
    for (unsigned i = 0; i < n; i++) {
        int size;

        text = strstr(text, "row ");
        if (text == NULL || sscanf(text, "row %d %lf %lf", &size, &out[i].latency_us, &out[i].mbps) != 3 ||
            size != bytes[i])
            return -1;
        text++;
    }
    return 0;
}

/* The arguments of pt2pt_mpi behind the others; `words` holds their text. */
static void add_sizes(const char **argv, unsigned at, char words[][16], double seconds, const int *bytes,
                      unsigned n)
{
    snprintf(words[0], sizeof(words[0]), "%.0f", seconds * 1000);
    argv[at++] = words[0];
    for (unsigned i = 0; i < n; i++) {
        snprintf(words[i + 1], sizeof(words[0]), "%d", bytes[i]);
        argv[at++] = words[i + 1];
    }
    argv[at] = NULL;
}

static int run(struct nof_wire_bench *b, const char *netns, const char *const *argv, const char *name,
               const int *bytes, unsigned n, struct nof_wire_pair *out, char *why)
{
    int timeout_ms = 20000 + (int)((b->seconds * 4000 + 5000) * n), code;
    char text[TEXT_BYTES], log[128], what[96];
    struct nof_child child;

    snprintf(log, sizeof(log), "%s/%s.log", b->dir, name);
    if (nof_child_start(&child, netns, argv, NOF_CHILD_STDOUT, log) < 0)
        return nof_wire_failed(b, name, "no process for the ranks", why, NOF_WIRE_WHY_BYTES);
    (void)nof_child_read_all(&child, text, sizeof(text), timeout_ms);
    code = nof_child_wait(&child, 5000);
    if (code == 0 && parse(text, bytes, n, out) == 0)
        return 0;
    snprintf(what, sizeof(what), "the ranks of %s ended with code %d, or not within %d s", name, code,
             timeout_ms / 1000);
    return nof_wire_failed(b, name, what, why, NOF_WIRE_WHY_BYTES);
}

static double sum(struct nof_wire_bench *b, const char *const *names)
{
    double all = 0;

    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; names[i] != NULL; i++)
            all += nof_wire_counter(b, side, names[i]);
    return all;
}

static int run_ours(struct nof_wire_bench *b, const int *bytes, unsigned n, struct nof_wire_pair *out,
                    char *why)
{
    char words[SIZES_MAX + 1][16], nof[4200], program[4200], into[192];
    const char *argv[NOF_CHILD_ARGS_MAX] = {
        nof, "run", "--nofd", NOF_WIRE_SOCKET, "--hosts", "1", "-n", "2", "sh", "-c", into, "sh", program};

    snprintf(nof, sizeof(nof), "%s/nof", b->bin_dir);
    snprintf(program, sizeof(program), "%s/bench/pt2pt_mpi", b->bin_dir);
    if (access(program, X_OK) != 0) {
        snprintf(why, NOF_WIRE_WHY_BYTES, "bench/pt2pt_mpi is not beside nof; run: ninja -C BUILD");
        return -1;
    }
    nof_wire_step_into(b, into, sizeof(into));
    add_sizes(argv, 13, words, b->seconds, bytes, n);
    return run(b, NULL, argv, "nof-run", bytes, n, out, why);
}

/* more: --private, with which they end when the job does, or NULL. */
static int start(struct nof_wire_bench *b, const char *more, struct nof_child nofd[2], char *why)
{
    int rc = 0;

    for (unsigned side = 0; side < 2; side++)
        nofd[side] = (struct nof_child){.in_fd = -1, .out_fd = -1};
    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc =
            nof_wire_start_nofd(b, side, PORT, "compression=off", more, &nofd[side], why, NOF_WIRE_WHY_BYTES);
    return rc;
}

static void end(struct nof_child nofd[2])
{
    for (unsigned side = 0; side < 2; side++)
        nof_child_end(&nofd[side], 5000);
}

static int run_private(struct nof_wire_bench *b, const int *bytes, unsigned n, struct nof_wire_pair *out,
                       char *why)
{
    struct nof_child nofd[2];
    int rc = start(b, "--private", nofd, why);

    if (rc == 0)
        rc = run_ours(b, bytes, n, out, why);
    end(nofd);
    return rc;
}

/* Of daemons that stay, so that they can be asked. */
static void count_calls(struct nof_wire_bench *b, const int *bytes, unsigned n, double *calls_out, char *why)
{
    struct nof_child nofd[2];
    int rc = start(b, NULL, nofd, why);

    for (unsigned i = 0; i < n; i++) {
        struct nof_wire_pair pair;
        double called = sum(b, calls), sent = sum(b, messages);

        if (rc == 0)
            rc = run_ours(b, &bytes[i], 1, &pair, why);
        sent = sum(b, messages) - sent;
        calls_out[i] = rc == 0 && sent > 0 ? (sum(b, calls) - called) / sent : NAN;
    }
    end(nofd);
}

void nof_wire_udp(struct nof_wire_bench *b, const int *bytes, unsigned n, struct nof_wire_pair *ours,
                  double *calls_out, int *ours_rc, char *ours_why, struct nof_wire_pair *mpich, int *mpich_rc,
                  char *mpich_why)
{
    const char *argv[NOF_CHILD_ARGS_MAX];
    char words[SIZES_MAX + 1][16];

    *ours_rc = n <= SIZES_MAX ? 0 : -1;
    *mpich_rc = nof_wire_mpich_program(b, "pt2pt_mpi", argv, mpich_why, NOF_WIRE_WHY_BYTES);
    if (*mpich_rc == 0)
        add_sizes(argv, NOF_WIRE_MPICH_ARGS, words, b->seconds, bytes, n);
    for (unsigned r = 0; r < NOF_WIRE_UDP_RUNS; r++) {
        nof_bench_progress("UDP ports beside MPICH over TCP, run %u of %u...", r + 1, NOF_WIRE_UDP_RUNS);
        if (*ours_rc == 0)
            *ours_rc = run_private(b, bytes, n, &ours[r * n], ours_why);
        if (*mpich_rc == 0)
            *mpich_rc = run(b, b->lab.host[0], argv, "mpich-udp", bytes, n, &mpich[r * n], mpich_why);
    }
    for (unsigned i = 0; i < n; i++)
        calls_out[i] = NAN;
    if (*ours_rc == 0)
        count_calls(b, bytes, n, calls_out, ours_why);
}
