/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof bench npb`: IS and FT of the NAS Parallel Benchmarks on a switched network of slow links and short buffers. The programs
 * are the user's, built with each MPI. Paper: compiled communication, section 5.2 and tables 4 and 5. */
#include "../tools/nof/commands.h"
#include "jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/option.h"
#include "lib/report.h"
#include "lib/testbed_option.h"

#define DIR_ENV "NPB_DIR"
#define WHERE_FROM "NPB is at nas.nasa.gov/software/npb.html, docs/TESTING.md has the version"
#define JOB_S 180
#define CLASSES "SWABC"
#define PATH_BYTES (NOF_BENCH_PATH_BYTES + 64u)

enum { OPT_KERNEL = 256, OPT_CLASS, OPT_DIR };
enum kernel { IS, FT, KERNELS };

struct bench {
    struct nof_jobs jobs;
    bool kernel[KERNELS];
    char classes[sizeof(CLASSES)];
    const char *dir;
    char program[PATH_BYTES + 16], why[2 * PATH_BYTES];
    double time_s; /* of the job whose lines come; -1: not yet */
};

static const char *const kernel_names[KERNELS] = {"is", "ft"};

/* Tables 4 and 5: at 4, 8 and 16 hosts. */
static const struct {
    enum kernel kernel;
    char class;
    double ccmpi_s[3], lam_s[3], mpich_s[3];
} paper[] = {
    {IS, 'S', {0.13, 0.16, 0.28}, {0.11, 0.09, 0.07}, {0.10, 0.08, 0.07}},
    {IS, 'W', {1.08, 0.69, 0.64}, {1.32, 1.02, 1.60}, {2.69, 2.16, 1.57}},
    {IS, 'A', {8.45, 4.90, 3.00}, {9.62, 5.88, 4.62}, {21.92, 15.40, 11.60}},
    {FT, 'S', {1.10, 0.63, 0.42}, {1.00, 0.70, 0.75}, {2.04, 1.63, 1.01}},
    {FT, 'W', {2.20, 1.28, 0.77}, {2.15, 1.55, 1.42}, {4.17, 2.77, 1.46}},
    {FT, 'A', {40.19, 21.34, 11.23}, {146.50, 27.37, 12.75}, {111.91, 46.71, 28.01}},
};

static const char *mpi_of(const struct nof_jobs_column *column)
{
    return column->who == NOF_COLL_MPICH ? "mpich" : column->who == NOF_COLL_OPENMPI ? "openmpi" : "nof";
}

static const char *command(void *ctx, const struct nof_jobs_row *row, const struct nof_jobs_column *column,
                           const char **words)
{
    struct bench *b = ctx;
    const char *kernel = kernel_names[row->what[0]];
    int class = (int)row->what[1];
    char at[PATH_BYTES];

    b->time_s = -1;
    if (b->dir == NULL)
        return "no folder of programs: name it with --dir or " DIR_ENV "; " WHERE_FROM;
    snprintf(at, sizeof(at), "%s/%s/%s.%c", b->dir, mpi_of(column), kernel, class);
    /* Before 3.4 a program was for one number of ranks. */
    snprintf(b->program, sizeof(b->program), "%.*s.%u", (int)sizeof(at), at, row->hosts);
    if (access(b->program, X_OK) != 0)
        snprintf(b->program, sizeof(b->program), "%.*s.x", (int)sizeof(at), at);
    if (access(b->program, X_OK) != 0) {
        snprintf(b->why, sizeof(b->why), "%.*s.%u is not there; " WHERE_FROM, (int)sizeof(at), at,
                 row->hosts);
        return b->why;
    }
    words[0] = b->program;
    words[1] = NULL;
    return NULL;
}

/* The time counts once the program has verified what it computed. */
static double seconds(void *ctx, const char *line)
{
    struct bench *b = ctx;

    (void)sscanf(line, " Time in seconds = %lf", &b->time_s);
    return strstr(line, "Verification") != NULL && strstr(line, " SUCCESSFUL") != NULL ? b->time_s : -1;
}

static void put_paper(const struct nof_jobs_row *row, json_t *object)
{
    double ccmpi_s = NAN, lam_s = NAN, mpich_s = NAN;

    for (size_t i = 0; i < sizeof(paper) / sizeof(paper[0]); i++)
        for (unsigned k = 0; k < 3; k++)
            if (paper[i].kernel == row->what[0] && paper[i].class == (char)row->what[1] &&
                row->hosts == 4u << k) {
                ccmpi_s = paper[i].ccmpi_s[k];
                lam_s = paper[i].lam_s[k];
                mpich_s = paper[i].mpich_s[k];
            }
    json_object_set_new(object, "paper_ccmpi_s", nof_bench_number(ccmpi_s));
    json_object_set_new(object, "paper_lam_s", nof_bench_number(lam_s));
    json_object_set_new(object, "paper_mpich_s", nof_bench_number(mpich_s));
}

static void put(void *ctx, const struct nof_jobs_row *row, json_t *object)
{
    static const char *const others[] = {"host", "mpich", "openmpi"};

    (void)ctx;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char theirs[32], name[32];

        snprintf(theirs, sizeof(theirs), "%s_s", others[i]);
        snprintf(name, sizeof(name), "%s_ratio", others[i]);
        json_object_set_new(
            object, name, nof_bench_number(nof_bench_real(object, theirs) / nof_bench_real(object, "nic_s")));
    }
    json_object_set_new(object, "kernel", json_string(kernel_names[row->what[0]]));
    json_object_set_new(object, "class", json_stringn((const char[]){(char)row->what[1]}, 1));
    json_object_set_new(object, "hosts", json_integer(row->hosts));
    put_paper(row, object);
}

static void print(const json_t *object)
{
    printf(" CC-MPI %s, LAM %s, MPICH %s",
           nof_bench_cell(NULL, NULL, nof_bench_real(object, "paper_ccmpi_s"), 2).text,
           nof_bench_cell(NULL, NULL, nof_bench_real(object, "paper_lam_s"), 2).text,
           nof_bench_cell(NULL, NULL, nof_bench_real(object, "paper_mpich_s"), 2).text);
}

static void read_kernels(struct bench *b, const char *text, const struct argp_state *state)
{
    memset(b->kernel, 0, sizeof(b->kernel));
    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        unsigned k = 0;

        length = strcspn(text, ",");
        while (k < KERNELS &&
               (strlen(kernel_names[k]) != length || strncmp(text, kernel_names[k], length) != 0))
            k++;
        if (k == KERNELS)
            argp_error(state, "--kernel: '%.*s' is neither is nor ft", (int)length, text);
        b->kernel[k] = true;
    }
    if (!b->kernel[IS] && !b->kernel[FT])
        argp_error(state, "--kernel: is, ft or both are missing");
}

static void read_classes(struct bench *b, const char *text, const struct argp_state *state)
{
    size_t n = 0;

    for (size_t length; *text != '\0'; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (length != 1 || strchr(CLASSES, *text) == NULL)
            argp_error(state, "--class: '%.*s' is none of S, W, A, B, C", (int)length, text);
        if (memchr(b->classes, *text, n) != NULL)
            argp_error(state, "--class: %c stands twice", *text);
        b->classes[n++] = *text;
    }
    if (n == 0)
        argp_error(state, "--class: a list of classes is missing");
    b->classes[n] = '\0';
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct bench *b = state->input;
    struct stat s;

    switch (key) {
    case OPT_KERNEL:
        read_kernels(b, arg, state);
        return 0;
    case OPT_CLASS:
        read_classes(b, arg, state);
        return 0;
    case OPT_DIR:
        b->dir = arg;
        return 0;
    case ARGP_KEY_END:
        if (b->dir != NULL && (stat(b->dir, &s) != 0 || !S_ISDIR(s.st_mode)))
            argp_error(state, "--dir: '%s' is no folder", b->dir);
        if (b->dir != NULL && strlen(b->dir) >= NOF_BENCH_PATH_BYTES)
            argp_error(state, "--dir: the path is too long");
        for (unsigned i = 0; i < b->jobs.nhosts; i++)
            if ((b->jobs.hosts[i] & (b->jobs.hosts[i] - 1)) != 0)
                argp_error(state, "--hosts: %u is no power of two, which IS and FT want", b->jobs.hosts[i]);
        return nof_jobs_option(key, arg, state, &b->jobs);
    default:
        return nof_jobs_option(key, arg, state, &b->jobs);
    }
}

static void read_arguments(struct bench *b, int argc, char **argv)
{
    static const struct argp_option options[] = {
        NOF_BENCH_JSON,
        {"kernel", OPT_KERNEL, "is|ft", 0, "integer sort, Fourier transform; or is,ft (this is the default)",
         0},
        {"class", OPT_CLASS, "C[,C]", 0, "sizes: S, W, A, B, C (S,W)", 0},
        {"dir", OPT_DIR, "DIR", 0,
         "programs as NPB builds them: DIR/nof/is.S.4, DIR/mpich/is.S.4, DIR/openmpi/is.S.4 (" DIR_ENV ")",
         0},
        NOF_JOBS_OPTIONS,
        NOF_TESTBED_LINK_OPTIONS,
        {NULL, 0, NULL, 0, NULL, 0},
    };
    const struct argp argp = {
        options,
        parse,
        NULL,
        "Programs of the NAS Parallel Benchmarks that you have built, one rank a host, in seconds by their "
        "own "
        "clock: with collectives by the NIC (nic) and by the host, and with other MPIs over TCP. What is not "
        "there is told. *_ratio in --json: theirs / nic. A run that does not verify is none.\vNPB is at "
        "nas.nasa.gov/software/npb.html. In its config/make.def MPICC, MPIF77 (3.4: MPIFC) are this build's "
        "mpicc and mpifort, and those of the others; BINDIR is DIR/nof, DIR/mpich, DIR/openmpi.",
        NULL,
        NULL,
        NULL};

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, b);
}

static bool add_rows(struct bench *b)
{
    bool all = true;

    for (unsigned h = 0; h < b->jobs.nhosts; h++)
        for (unsigned k = 0; k < KERNELS; k++)
            for (const char *class = b->classes; b->kernel[k] && *class != '\0'; class ++) {
                char label[NOF_JOBS_LABEL_BYTES];

                snprintf(label, sizeof(label), "%s.%c.%u", kernel_names[k], *class, b->jobs.hosts[h]);
                all = nof_jobs_add(&b->jobs, b->jobs.hosts[h], k, (unsigned)*class, label) && all;
            }
    return all;
}

int nof_bench_npb(int argc, char **argv)
{
    static const struct nof_jobs_column columns[] = {
        {"nic", NOF_COLL_OURS, {"collectives=nic", NULL, NULL}, NULL},
        {"host", NOF_COLL_OURS, {"collectives=host", NULL, NULL}, NULL},
        NOF_JOBS_OTHERS,
    };
    static const struct nof_jobs_kind kind = {
        .columns = columns,
        .about = "kernel.class.hosts",
        .told = " Version ", /* stands behind the verification */
        .timeout_s = JOB_S,
        .command = command,
        .seconds = seconds,
        .put = put,
        .print = print,
    };
    struct bench *b = calloc(1, sizeof(*b));
    int rc = 1;

    if (b == NULL)
        return 1;
    nof_jobs_init(&b->jobs, &kind, b, argv[0]);
    b->kernel[IS] = b->kernel[FT] = true;
    snprintf(b->classes, sizeof(b->classes), "SW");
    b->dir = getenv(DIR_ENV);
    read_arguments(b, argc, argv);
    if (add_rows(b))
        rc = nof_jobs_run(&b->jobs);
    else
        fprintf(stderr, "%s: at most %u programs and numbers of hosts at a time\n", argv[0],
                NOF_JOBS_ROWS_MAX);
    free(b);
    return rc;
}
