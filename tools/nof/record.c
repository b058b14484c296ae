/* SPDX-License-Identifier: BSD-3-Clause
 *
 * `nof record`: the folder of the traces, what the ranks are told, and what is said at the end. The recorder itself is
 * host/record. */
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "run_job.h"
#include "nof_private/recording.h"
#include "nof_private/units.h"

#define MAX_BYTES_DEFAULT (64u << 20)
#define MIN_BYTES_DEFAULT 1024u

enum { OPT_MAX_BYTES = 1024, OPT_MIN_BYTES };

static struct {
    const char *folder; /* as the user says it; NULL until then */
    char named[NAME_MAX + 1]; /* where that was made up */
    char full[PATH_MAX];
    char library[PATH_MAX + 64];
    uint64_t max_bytes, min_bytes;
    struct nof_recording_tally *tally; /* [NOF_JOB_RANKS_MAX]; NULL: nothing is recorded */
} recording = {.max_bytes = MAX_BYTES_DEFAULT, .min_bytes = MIN_BYTES_DEFAULT};

static const struct argp_option options[] = {
    {"output", 'o', "FOLDER", 0, "where the traces go (PROGRAM.trace, here)", 0},
    {"max-bytes", OPT_MAX_BYTES, "BYTES", 0, "of traces, for each rank (64MiB); they end there", 0},
    {"min-bytes", OPT_MIN_BYTES, "BYTES", 0, "of the smallest message that is recorded (1KiB)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    uint64_t *bytes = key == OPT_MAX_BYTES ? &recording.max_bytes : &recording.min_bytes;

    switch (key) {
    case 'o':
        recording.folder = arg;
        return 0;
    case OPT_MAX_BYTES:
    case OPT_MIN_BYTES:
        if (nofd_units_bytes(arg, bytes) != 0 || *bytes == 0)
            argp_error(state, "'%s' is no number of bytes, such as 1KiB or 64MiB", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool find_library(const char *self)
{
    static const char *const folders[] = {".", NOF_BIN_TO_LIB};
    char here[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", here, sizeof(here) - 1);

    here[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(here, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(folders) / sizeof(folders[0]); i++) {
        *slash = '\0';
        snprintf(recording.library, sizeof(recording.library), "%s/%s/" NOF_RECORDING_LIBRARY, here,
                 folders[i]);
        if (access(recording.library, R_OK) == 0)
            return true;
    }
    fprintf(stderr,
            "%s: " NOF_RECORDING_LIBRARY " is neither in the folder of this command, %s, nor where that is "
            "installed: build it (ninja -C BUILD) or install anew (meson install -C BUILD)\n",
            self, here);
    return false;
}

static bool is_trace(const char *name)
{
    int end = 0;

    (void)sscanf(name, "rank%*u.recv%n", &end);
    if (end == 0)
        (void)sscanf(name, "rank%*u.msg%n", &end);
    if (end == 0)
        (void)sscanf(name, "rank%*u.coll%n", &end);
    return (end > 0 && name[end] == '\0') || strcmp(name, NOF_RECORDING_TALLY) == 0;
}

/* Traces of two runs in one folder would be taken for one. */
static bool holds_none(const char *self)
{
    DIR *dir = opendir(recording.folder);
    const struct dirent *entry;
    bool none = true;

    if (dir == NULL) {
        fprintf(stderr, "%s: %s cannot be read: %s; name another folder with -o\n", self, recording.folder,
                strerror(errno));
        return false;
    }
    while (none && (entry = readdir(dir)) != NULL) {
        none = !is_trace(entry->d_name);
        if (!none)
            fprintf(stderr,
                    "%s: %s holds traces already (%s), and two recordings must not mix; remove it, or name "
                    "another folder with -o\n",
                    self, recording.folder, entry->d_name);
    }
    closedir(dir);
    return none;
}

static bool make_tally(const char *self)
{
    size_t bytes = NOF_JOB_RANKS_MAX * sizeof(*recording.tally);
    char path[PATH_MAX + 16];
    int fd, why;

    snprintf(path, sizeof(path), "%s/" NOF_RECORDING_TALLY, recording.full);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    /* All of it now: a page that the disk has no room for would end who writes there. */
    do {
        why = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
    } while (fd >= 0 && why == EINTR);
    if (why == 0) {
        recording.tally = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        why = recording.tally == MAP_FAILED ? errno : 0;
    }
    if (fd >= 0)
        close(fd);
    if (why == 0)
        return true;
    recording.tally = NULL;
    if (fd >= 0)
        unlink(path);
    fprintf(stderr,
            "%s: no traces can be written to %s: %s; nothing was started; name another folder with -o\n",
            self, recording.folder, strerror(why));
    return false;
}

static bool begin(const char *self, char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');

    if (recording.folder == NULL) {
        snprintf(recording.named, sizeof(recording.named), "%.200s.trace",
                 slash != NULL ? slash + 1 : argv[0]);
        recording.folder = recording.named;
    }
    if (!find_library(self))
        return false;
    if (mkdir(recording.folder, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "%s: the folder %s cannot be made: %s; nothing was started; name another with -o\n",
                self, recording.folder, strerror(errno));
        return false;
    }
    if (!holds_none(self))
        return false;
    if (realpath(recording.folder, recording.full) == NULL) {
        fprintf(stderr, "%s: %s: %s\n", self, recording.folder, strerror(errno));
        return false;
    }
    return make_tally(self);
}

static void set_number(const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    setenv(name, text, 1);
}

void nof_record_environment(void)
{
    const char *others = getenv("LD_PRELOAD");
    char *all = NULL;

    if (recording.tally == NULL)
        return;
    setenv(NOF_RECORDING_ENV_FOLDER, recording.full, 1);
    set_number(NOF_RECORDING_ENV_MAX_BYTES, recording.max_bytes);
    set_number(NOF_RECORDING_ENV_MIN_BYTES, recording.min_bytes);
    if (asprintf(&all, "%s%s%s", recording.library, others != NULL ? " " : "", others != NULL ? others : "") >
        0)
        setenv("LD_PRELOAD", all, 1);
    free(all);
}

struct sums {
    struct nof_recording_tally all;
    unsigned ranks, failed_rank;
};

static struct sums add_up(void)
{
    struct sums s = {.ranks = 0};

    for (unsigned r = 0; r < NOF_JOB_RANKS_MAX; r++) {
        const struct nof_recording_tally *t = &recording.tally[r];

        if (t->is_mpi == 0)
            continue;
        s.ranks++;
        for (unsigned f = 0; f < NOF_RECORDING_FILES; f++) {
            s.all.written[f] += t->written[f];
            s.all.bytes[f] += t->bytes[f];
            s.all.behind_bound[f] += t->behind_bound[f];
            s.all.behind_error[f] += t->behind_error[f];
        }
        s.all.unnamed += t->unnamed;
        s.all.other_type += t->other_type;
        s.all.small += t->small;
        s.all.other_collective += t->other_collective;
        s.all.worldless_collective += t->worldless_collective;
        if (t->error != 0 && s.all.error == 0) {
            s.all.error = t->error;
            s.failed_rank = r;
        }
    }
    return s;
}

static void say_left_out(const char *self, const struct nof_recording_tally *all)
{
    const uint64_t *bound = all->behind_bound;

    if (all->other_type > 0)
        fprintf(stderr, "%s: left out: %" PRIu64 " messages of other types than doubles\n", self,
                all->other_type);
    if (all->small > 0)
        fprintf(stderr, "%s: left out: %" PRIu64 " messages below %" PRIu64 " bytes (--min-bytes)\n", self,
                all->small, recording.min_bytes);
    if (all->unnamed > 0)
        fprintf(stderr,
                "%s: left out: %" PRIu64 " receives for any source or tag that were canceled, or whose end "
                "nobody waited for\n",
                self, all->unnamed);
    if (all->other_collective > 0)
        fprintf(stderr, "%s: left out: %" PRIu64 " collectives of kinds that are not recorded\n", self,
                all->other_collective);
    if (all->worldless_collective > 0)
        fprintf(stderr,
                "%s: left out: %" PRIu64 " collectives of sessions: their ranks are written as those of "
                "MPI_COMM_WORLD, which is not there without MPI_Init; have the program call that, too\n",
                self, all->worldless_collective);
    if (bound[NOF_RECORDING_RECV] + bound[NOF_RECORDING_MSG] + bound[NOF_RECORDING_COLL] > 0)
        fprintf(stderr,
                "%s: left out: %" PRIu64 " receive calls, %" PRIu64 " collectives and %" PRIu64
                " messages behind the first %" PRIu64 " bytes of a rank; more with --max-bytes\n",
                self, bound[NOF_RECORDING_RECV], bound[NOF_RECORDING_COLL], bound[NOF_RECORDING_MSG],
                recording.max_bytes);
}

/* True: there are traces, and they are whole. */
static bool say(const char *self)
{
    struct sums s = add_up();
    const uint64_t *lost = s.all.behind_error;

    if (s.ranks == 0) {
        fprintf(stderr, "%s: nothing was recorded: no rank called MPI through a library of this project\n",
                self);
        return false;
    }
    fprintf(stderr,
            "%s: %u ranks, %" PRIu64 " receive calls, %" PRIu64 " messages (%" PRIu64 " bytes), %" PRIu64
            " collectives in %s\n",
            self, s.ranks, s.all.written[NOF_RECORDING_RECV], s.all.written[NOF_RECORDING_MSG],
            s.all.bytes[NOF_RECORDING_MSG], s.all.written[NOF_RECORDING_COLL], recording.folder);
    say_left_out(self, &s.all);
    if (s.all.error != 0)
        fprintf(stderr,
                "%s: rank %u could not write its trace: %s; %" PRIu64 " receive calls, %" PRIu64
                " collectives and %" PRIu64 " messages are missing; what is there are whole records\n",
                self, s.failed_rank, strerror(s.all.error), lost[NOF_RECORDING_RECV],
                lost[NOF_RECORDING_COLL], lost[NOF_RECORDING_MSG]);
    return s.all.error == 0;
}

int nof_cmd_record(int argc, char **argv)
{
    static const struct argp argp = {.options = options, .parser = parse};
    static const struct argp_child children[] = {{&argp, 0, "Recording:", -1}, {0}};
    static const struct nof_run_more more = {
        .options = children,
        .doc = "Run an MPI program as `nof run` does, and write what its ranks receive and send: "
               "FOLDER/rankN.recv "
               "for `nof replay`, FOLDER/rankN.msg for `nof bench dfcm` and `nof bench stream`, "
               "FOLDER/rankN.coll for `nof bench replay`.\v"
               "The exit code is that of `nof run`, or 125 when that is 0 and the traces are not whole.",
        .begin = begin,
    };
    int code = nof_run_with(argc, argv, &more);
    char path[PATH_MAX + 16];

    if (recording.tally == NULL)
        return code;
    if (!say(argv[0]) && code == 0)
        code = NOF_JOB_EXIT_OWN;
    snprintf(path, sizeof(path), "%s/" NOF_RECORDING_TALLY, recording.full);
    unlink(path);
    rmdir(recording.full); /* only if it is empty */
    return code;
}
