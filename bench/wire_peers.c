/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_peers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/child.h"

#define TEXT_BYTES 16384u
#define START_MS 15000
#define PROMPT "testpmd> "
#define SOCKET NOF_WIRE_SOCKET
#define SIZES_MAX 24u

static int failed(char *why, size_t why_bytes, const char *text)
{
    snprintf(why, why_bytes, "%s", text);
    return -1;
}

static void log_path(const struct nof_wire_bench *b, const char *name, char *path, size_t path_bytes)
{
    snprintf(path, path_bytes, "%s/%s.log", b->dir, name);
}

/* The last line of a log: what a program said before it gave up. */
int nof_wire_failed(const struct nof_wire_bench *b, const char *name, const char *text, char *why,
                    size_t why_bytes)
{
    char path[128], line[160] = "", last[160] = "";
    FILE *f;

    log_path(b, name, path, sizeof(path));
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0')
            memcpy(last, line, sizeof(last));
    }
    if (f)
        fclose(f);
    snprintf(why, why_bytes, "%s%s%s", text, last[0] ? ": " : "", last);
    return -1;
}

/* side 0 transmits on CPU 0, side 1 receives on CPU 1; the other core of each only waits for commands. */
static int start_testpmd(struct nof_wire_bench *b, int side, struct nof_child *child)
{
    char length[16], prefix[48], log[128], lcores[32];
    /* stdbuf: it prints through stdio, and a pipe would get nothing before 4 KiB are full. */
    const char *argv[] = {"stdbuf", "-o0", "dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci",
                          "--no-telemetry", "--file-prefix", prefix, "--lcores", lcores, "--vdev",
                          /* As our own port opens it on a virtual device; measured the faster choice. */
                          "net_af_xdp0,iface=eth0,busy_budget=0", "--", "-i", "--no-mlockall",
                          "--total-num-mbufs=16384",
                          side == 0 ? "--forward-mode=txonly" : "--forward-mode=rxonly", length, NULL};

    snprintf(length, sizeof(length), "--txpkts=%u", b->mtu_bytes + 14);
    snprintf(prefix, sizeof(prefix), "nofwire%d-%d", getpid(), side);
    snprintf(lcores, sizeof(lcores), "0@%d,1@%d", !side, side);
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        snprintf(lcores, sizeof(lcores), "0@0,1@0");
    log_path(b, side == 0 ? "testpmd-tx" : "testpmd-rx", log, sizeof(log));
    return nof_child_start(child, b->lab.host[side], argv, NOF_CHILD_STDIN | NOF_CHILD_STDOUT, log);
}

static int command(struct nof_child *child, const char *line, char *text)
{
    if (nof_child_write(child, line) < 0)
        return -1;
    return nof_child_read_until(child, text, TEXT_BYTES, PROMPT, START_MS);
}

/* Frames that the receiver counted in one window of time. */
static int one_window(struct nof_wire_bench *b, struct nof_child *rx, char *text, double *mbps_out)
{
    uint64_t start_ns, frames;
    const char *at;

    if (command(rx, "clear port stats all\n", text) < 0)
        return -1;
    start_ns = nof_bench_now_ns();
    nof_bench_sleep_ms((unsigned)(b->seconds * 1000));
    if (nof_child_write(rx, "show port stats 0\n") < 0)
        return -1;
    start_ns = nof_bench_now_ns() - start_ns;
    if (nof_child_read_until(rx, text, TEXT_BYTES, PROMPT, START_MS) < 0)
        return -1;
    at = strstr(text, "RX-packets:");
    if (!at)
        return -1;
    frames = strtoull(at + 11, NULL, 10);
    *mbps_out = (double)frames * (b->mtu_bytes + 14) * 8e3 / (double)start_ns;
    return frames > 0 ? 0 : -1;
}

static int measure_testpmd(struct nof_wire_bench *b, struct nof_child child[2], char *text, double *mbps)
{
    for (int side = 1; side >= 0; side--) {
        if (start_testpmd(b, side, &child[side]) < 0 ||
            nof_child_read_until(&child[side], text, TEXT_BYTES, PROMPT, START_MS) < 0 ||
            command(&child[side], "start\n", text) < 0)
            return -1;
    }
    nof_bench_sleep_ms(300);
    for (unsigned i = 0; i < NOF_WIRE_RUNS; i++)
        if (one_window(b, &child[1], text, &mbps[i]) < 0)
            return -1;
    return 0;
}

int nof_wire_testpmd(struct nof_wire_bench *b, double mbps_out[NOF_WIRE_RUNS], char *why, size_t why_bytes)
{
    struct nof_child child[2] = {{.in_fd = -1, .out_fd = -1}, {.in_fd = -1, .out_fd = -1}};
    double mbps[NOF_WIRE_RUNS];
    char text[TEXT_BYTES];
    int rc;

    if (!nof_bench_have("dpdk-testpmd"))
        return failed(why, why_bytes, "dpdk-testpmd is missing: apt install dpdk-dev");
    rc = measure_testpmd(b, child, text, mbps);
    for (int side = 0; side < 2; side++) {
        if (child[side].in_fd >= 0)
            (void)nof_child_write(&child[side], "quit\n");
        /* It takes its program off the interface on the way out: read on, or it blocks in a write. */
        if (child[side].pid > 0)
            (void)nof_child_read_all(&child[side], text, sizeof(text), START_MS);
        nof_child_end(&child[side], 2000);
        (void)nof_run("ip -n %s link set dev eth0 xdp off promisc off", b->lab.host[side]);
    }
    if (rc < 0)
        return nof_wire_failed(b, "testpmd-rx", "dpdk-testpmd moved nothing", why, why_bytes);
    memcpy(mbps_out, mbps, sizeof(mbps));
    return 0;
}

/* "BYTES MBPS" lines of mpi_stream, in the order of the sizes. */
static int parse_rows(const char *text, const int *bytes, unsigned n, double *mbps_out)
{
    for (unsigned i = 0; i < n; i++) {
        char *end;
        long size = strtol(text, &end, 10);

        if (end == text || size != bytes[i])
            return -1;
        mbps_out[i] = strtod(end, &end);
        text = strchr(end, '\n');
        if (!text)
            return -1;
        text++;
    }
    return 0;
}

/* Appends the arguments of mpi_stream; `words` holds their text. */
static unsigned add_sizes(const char **argv, unsigned at, char words[][16], double seconds, const int *bytes,
                          unsigned n)
{
    snprintf(words[0], sizeof(words[0]), "%.2f", seconds);
    argv[at++] = words[0];
    for (unsigned i = 0; i < n; i++) {
        snprintf(words[i + 1], sizeof(words[0]), "%d", bytes[i]);
        argv[at++] = words[i + 1];
    }
    argv[at] = NULL;
    return at;
}

static int run_ranks(struct nof_wire_bench *b, const char *netns, const char *const *argv, const char *name,
                     const int *bytes, unsigned n, double *mbps_out, char *why, size_t why_bytes)
{
    int timeout_ms =
        20000 + (int)((b->seconds * 4000 + 5000) * n); /* a busy machine takes seconds for each */
    struct nof_child child;
    char text[TEXT_BYTES], log[128];
    int code;

    log_path(b, name, log, sizeof(log));
    if (nof_child_start(&child, netns, argv, NOF_CHILD_STDOUT, log) < 0)
        return failed(why, why_bytes, "no process for the ranks");
    (void)nof_child_read_all(&child, text, sizeof(text), timeout_ms);
    code = nof_child_wait(&child, 5000);
    if (code != 0 || parse_rows(text, bytes, n, mbps_out) < 0) {
        char what[96];

        if (code == 0 || code == 128 + SIGKILL)
            snprintf(what, sizeof(what), "the ranks of %s were not done after %d s", name, timeout_ms / 1000);
        else
            snprintf(what, sizeof(what), "the ranks of %s ended with code %d", name, code);
        return nof_wire_failed(b, name, what, why, why_bytes);
    }
    return 0;
}

/* One core each, as testpmd has it: two daemons on one machine is what only a lab does, and the scheduler
 * likes to put both on one CPU because each wakes the other. */
int nof_wire_start_nofd(struct nof_wire_bench *b, unsigned side, const char *port, const char *set,
                        const char *more, struct nof_child *child, char *why, size_t why_bytes)
{
    char path[4200], name[16], log[128], text[256], cpu[16];
    const char *all[] = {"taskset",    "-c", cpu,     path,   "--port", port, "--socket", SOCKET,
                         "--ready-fd", "1",  "--log", "info", "--set",  set,  more,       NULL};
    const char **argv = sysconf(_SC_NPROCESSORS_ONLN) > 1 && nof_bench_have("taskset") ? all : all + 3;

    snprintf(cpu, sizeof(cpu), "%u", side);
    snprintf(path, sizeof(path), "%s/nofd", b->bin_dir);
    snprintf(name, sizeof(name), "nofd%u", side);
    log_path(b, name, log, sizeof(log));
    if (nof_child_start(child, b->lab.host[side], argv, NOF_CHILD_STDOUT, log) < 0)
        return failed(why, why_bytes, "no process for nofd");
    if (nof_child_read_until(child, text, sizeof(text), "ready", START_MS) < 0)
        return nof_wire_failed(b, name, "nofd does not start", why, why_bytes);
    return 0;
}

static int start_xdp(struct nof_wire_bench *b, unsigned side, const char *port_args, const char *set,
                     struct nof_child *child, char *why, size_t why_bytes)
{
    char port[128];

    snprintf(port, sizeof(port), NOF_WIRE_XDP "%s%s", port_args[0] ? "," : "", port_args);
    return nof_wire_start_nofd(b, side, port, set, NULL, child, why, why_bytes);
}

/* The host's name without its number: PMI_RANK tells which. */
void nof_wire_step_into(const struct nof_wire_bench *b, char *into, size_t into_bytes)
{
    snprintf(into, into_bytes, "exec ip netns exec %.*s$PMI_RANK \"$@\"", (int)strlen(b->lab.host[0]) - 1,
             b->lab.host[0]);
}

int nof_wire_stream(struct nof_wire_bench *b, const int *bytes, unsigned n, double *mbps_out, char *why,
                    size_t why_bytes)
{
    char words[SIZES_MAX + 1][16], nof[4200], stream[4200], into[192];
    /* Each rank steps into its host: the daemon's abstract socket is the one of that namespace. */
    const char *argv[NOF_CHILD_ARGS_MAX] = {nof, "run", "--nofd", SOCKET, "--hosts", "1",   "-n",
                                            "2", "sh",  "-c",     into,   "sh",      stream};

    snprintf(nof, sizeof(nof), "%s/nof", b->bin_dir);
    snprintf(stream, sizeof(stream), "%s/bench/mpi_stream", b->bin_dir);
    if (access(stream, X_OK) != 0)
        return failed(why, why_bytes, "bench/mpi_stream is not beside nof; run: ninja -C BUILD");
    nof_wire_step_into(b, into, sizeof(into));
    (void)add_sizes(argv, 13, words, b->seconds, bytes, n);
    return run_ranks(b, NULL, argv, "nof-run", bytes, n, mbps_out, why, why_bytes);
}

int nof_wire_ours(struct nof_wire_bench *b, const char *port, const int *bytes, unsigned n, double *mbps_out,
                  char *why, size_t why_bytes)
{
    struct nof_child nofd[2] = {{.in_fd = -1, .out_fd = -1}, {.in_fd = -1, .out_fd = -1}};
    int rc = 0;

    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc = nof_wire_start_nofd(b, side, port, "compression=off", NULL, &nofd[side], why, why_bytes);
    if (rc == 0)
        rc = nof_wire_stream(b, bytes, n, mbps_out, why, why_bytes);
    for (unsigned side = 0; side < 2; side++)
        nof_child_end(&nofd[side], 5000);
    return rc;
}

double nof_wire_counter(struct nof_wire_bench *b, unsigned side, const char *name)
{
    char nof[4200], text[TEXT_BYTES * 4], quoted[64];
    const char *argv[] = {nof, "stats", "--json", "--control", SOCKET ".ctl", NULL};
    struct nof_child child;
    const char *at;

    snprintf(nof, sizeof(nof), "%s/nof", b->bin_dir);
    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    if (nof_child_start(&child, b->lab.host[side], argv, NOF_CHILD_STDOUT, NULL) < 0)
        return 0;
    (void)nof_child_read_all(&child, text, sizeof(text), START_MS);
    (void)nof_child_wait(&child, 5000);
    at = strstr(text, quoted);
    return at ? strtod(at + strlen(quoted), NULL) : 0;
}

static int run_messages(struct nof_wire_bench *b, const char *const *argv, double *mbps, char *why,
                        size_t why_bytes)
{
    struct nof_child child;
    int timeout_ms = 60000 + (int)(b->seconds * 4000 * NOF_WIRE_RUNS);
    char text[TEXT_BYTES], log[128], what[96], *at = text;
    int code;

    log_path(b, "nof-run", log, sizeof(log));
    (void)unlink(log); /* what is quoted from it must be of this run */
    if (nof_child_start(&child, NULL, argv, NOF_CHILD_STDOUT, log) < 0)
        return failed(why, why_bytes, "no process for the ranks");
    (void)nof_child_read_all(&child, text, sizeof(text), timeout_ms);
    code = nof_child_wait(&child, 5000);
    snprintf(what, sizeof(what), "the ranks of mpi_messages ended with code %d", code);
    if (code == 128 + SIGKILL)
        snprintf(what, sizeof(what), "the ranks of mpi_messages were not done after %d s", timeout_ms / 1000);
    for (unsigned i = 0; i < NOF_WIRE_RUNS && code == 0; i++) {
        char *end;

        mbps[i] = strtod(at, &end);
        code = end == at ? -1 : 0;
        at = end;
    }
    return code == 0 ? 0 : nof_wire_failed(b, "nof-run", what, why, why_bytes);
}

int nof_wire_messages(struct nof_wire_bench *b, const char *port_args, const char *set, const char *file,
                      double *mbps_out, double *ratio_out, char *why, size_t why_bytes)
{
    struct nof_child nofd[2] = {{.in_fd = -1, .out_fd = -1}, {.in_fd = -1, .out_fd = -1}};
    char seconds[16], runs[16], nof[4200], program[4200], into[192];
    const char *argv[] = {nof,  "run", "--nofd", SOCKET,  "--hosts", "1",  "-n", "2", "sh",
                          "-c", into,  "sh",     program, seconds,   runs, file, NULL};
    double mbps[NOF_WIRE_RUNS], plain, sent;
    int rc = 0;

    snprintf(nof, sizeof(nof), "%s/nof", b->bin_dir);
    snprintf(program, sizeof(program), "%s/bench/mpi_messages", b->bin_dir);
    snprintf(seconds, sizeof(seconds), "%.2f", b->seconds);
    snprintf(runs, sizeof(runs), "%u", NOF_WIRE_RUNS);
    if (access(program, X_OK) != 0)
        return failed(why, why_bytes, "bench/mpi_messages is not beside nof; run: ninja -C BUILD");
    nof_wire_step_into(b, into, sizeof(into));
    for (unsigned side = 0; side < 2 && rc == 0; side++)
        rc = start_xdp(b, side, port_args, set, &nofd[side], why, why_bytes);
    if (rc == 0)
        rc = run_messages(b, argv, mbps, why, why_bytes);
    if (rc == 0) {
        plain = nof_wire_counter(b, 0, "codec.tx_plain_bytes");
        sent = nof_wire_counter(b, 0, "codec.tx_bytes");
        *mbps_out = mbps[0];
        for (unsigned i = 1; i < NOF_WIRE_RUNS; i++)
            *mbps_out = mbps[i] > *mbps_out ? mbps[i] : *mbps_out;
        *ratio_out = sent > 0 ? plain / sent : 0;
    }
    for (unsigned side = 0; side < 2; side++)
        nof_child_end(&nofd[side], 5000);
    return rc;
}

static const char *const compilers[] = {"mpicc.mpich", NULL};
static const char *const launchers[] = {"mpiexec.hydra", "mpiexec.mpich", NULL};

static const char *first_of(const char *const *names)
{
    while (*names && !nof_bench_have(*names))
        names++;
    return *names;
}

/* Stands in for ssh: the host is an address of the lab, the rest is the command. */
static int write_launcher(const struct nof_wire_bench *b, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    int rc;

    if (fd < 0)
        return -1;
    rc = dprintf(fd,
                 "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\n"
                 "i=$((${1##*.} - 1)); shift\nexec ip netns exec \"%.*s$i\" sh -c \"$*\"\n",
                 (int)strlen(b->lab.host[0]) - 1, b->lab.host[0]);
    close(fd);
    return rc < 0 ? -1 : 0;
}

int nof_wire_mpich_program(struct nof_wire_bench *b, const char *name, const char **argv, char *why,
                           size_t why_bytes)
{
    const char *cc = first_of(compilers), *launch = first_of(launchers);
    const char *all[NOF_WIRE_MPICH_ARGS] = {
        launch,  "-launcher", "ssh",      "-launcher-exec", b->into,           "-hosts", "10.9.0.1,10.9.0.2",
        "-genv", "UCX_TLS",   "tcp,self", "-genv",          "UCX_NET_DEVICES", "eth0",   "-n",
        "2",     b->program};

    if (!cc || !launch)
        return failed(why, why_bytes, "MPICH is missing: apt install mpich libmpich-dev");
    snprintf(b->into, sizeof(b->into), "%s/into-host", b->dir);
    snprintf(b->program, sizeof(b->program), "%s/%.24s.mpich", b->dir, name);
    if (write_launcher(b, b->into) < 0)
        return failed(why, why_bytes, "no room for temporary files in /tmp");
    if (nof_run("%s -O2 -o %s " NOF_BENCH_SOURCE_DIR "/programs/%s.c", cc, b->program, name) != 0) {
        snprintf(why, why_bytes, "mpicc.mpich cannot compile " NOF_BENCH_SOURCE_DIR "/programs/%s.c", name);
        return -1;
    }
    memcpy(argv, all, sizeof(all));
    return 0;
}

int nof_wire_mpich(struct nof_wire_bench *b, const int *bytes, unsigned n, double *mbps_out, char *why,
                   size_t why_bytes)
{
    const char *argv[NOF_CHILD_ARGS_MAX];
    char words[SIZES_MAX + 1][16];

    if (nof_wire_mpich_program(b, "mpi_stream", argv, why, why_bytes) != 0)
        return -1;
    (void)add_sizes(argv, NOF_WIRE_MPICH_ARGS, words, b->seconds, bytes, n);
    return run_ranks(b, b->lab.host[0], argv, "mpich", bytes, n, mbps_out, why, why_bytes);
}
