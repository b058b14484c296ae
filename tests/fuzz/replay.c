/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a fuzz target without libFuzzer: every file of the corpora named on the command line, and of each
 * `--variations N` [300] deterministic variations (bits flipped, ends cut, pieces repeated). A file alone is run as it
 * is. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int variations = 300;
static uint64_t rng = 0x9e3779b97f4a7c15u;

static size_t below(size_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return n == 0 ? 0 : (size_t)(rng % n);
}

/* A heap block of exactly the size, so that the sanitizers see one byte too far. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *exact = calloc(1, size + (size == 0));

    if (exact == NULL)
        abort();
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void vary(const uint8_t *data, size_t size)
{
    static uint8_t work[2 * INPUT_MAX];

    for (int i = 0; i < variations && size > 0; i++) {
        size_t n = size;
        size_t from = below(size);
        size_t len = below(size - from) + 1;

        memcpy(work, data, size);
        switch (i % 4) {
        case 0:
            for (size_t k = below(4) + 1; k > 0; k--)
                work[below(n)] ^= (uint8_t)(1u << below(8));
            break;
        case 1:
            n = below(size);
            break;
        case 2:
            memmove(work + from + len, work + from, n - from);
            n += len;
            break;
        default:
            work[from] = (uint8_t)below(256);
            break;
        }
        run(work, n);
    }
}

static int replay(const char *path, int alone)
{
    static uint8_t data[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL)
        return 0;
    size = fread(data, 1, sizeof(data), file);
    fclose(file);
    run(data, size);
    if (!alone)
        vary(data, size);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;

    run((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--variations") == 0 && i + 1 < argc) {
            variations = atoi(argv[++i]);
            continue;
        }
        DIR *dir = opendir(argv[i]);
        struct dirent *entry;

        while (dir != NULL && (entry = readdir(dir)) != NULL) {
            char path[4096];

            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            files += replay(path, 0);
        }
        if (dir != NULL)
            closedir(dir);
        else
            files += replay(argv[i], 1);
    }
    printf("%d files, %d variations each\n", files, variations);
    return files > 0 ? 0 : 1;
}
