/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that are hidden, each way by itself: from the kernel, beside a child, where the program takes them away, without memory. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "../check.h"
#include "delta/delta_pages.h"

enum { PAGE = 4096 };

static bool memory_is_short, mappings_too;
static unsigned openly; /* pages that were dismissed while memory was short */

/* The kernel's, for the library, too; where memory is short it moves and copies no page. */
int ioctl(int fd, unsigned long request, ...)
{
    enum { MOVE_NR = 5 }; /* of linux/userfaultfd.h since 6.8 */
    va_list args;
    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    bool moves = _IOC_TYPE(request) == UFFDIO && _IOC_NR(request) == MOVE_NR;
    bool leaves = request == UFFDIO_UNREGISTER && memory_is_short;
    if ((memory_is_short && (moves || request == UFFDIO_COPY)) || (leaves && mappings_too)) {
        errno = ENOMEM;
        return -1;
    }
    openly += leaves;
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

static void *at(uintptr_t address)
{
    return (void *)address; // NOLINT: pages of this process
}

static bool all_are(const unsigned char *bytes, size_t n, unsigned char value)
{
    size_t i = 0;
    while (i < n && bytes[i] == value)
        i++;
    return i == n;
}

/* Ten pages of 0xee hidden, and ten of 7 that come for them. */
struct hiding {
    const struct nof_delta_hide_ops *ops;
    unsigned char *buffer, *shadow;
    uintptr_t low, from, kept;
};
enum { HIDING = 10 * PAGE };

static struct hiding hide_ten(const struct nof_delta_hide_ops *ops)
{
    struct hiding h = {
        .ops = ops, .buffer = nof_delta_pages_new(HIDING), .shadow = nof_delta_pages_new(HIDING)};
    check(h.buffer != NULL && h.shadow != NULL);
    h.low = (uintptr_t)h.buffer;
    h.from = (uintptr_t)h.shadow;
    memset(h.buffer, 0xee, HIDING);
    memset(h.shadow, 7, HIDING);
    check(ops->hide(h.low, HIDING, &h.kept));
    return h;
}

static void end_ten(const struct hiding *h)
{
    h->ops->end(h->low, h->kept, HIDING);
    nof_delta_pages_free(h->buffer, HIDING);
    nof_delta_pages_free(h->shadow, HIDING);
}

/* The kernel reads no page that is hidden; what was put is there, and what is shown is as it was. */
static void hidden_pages(const struct nof_delta_hide_ops *ops)
{
    struct hiding h = hide_ten(ops);
    unsigned char byte = 0;
    int end[2];
    check(pipe(end) == 0 && write(end[1], h.buffer, 1) == -1);
    check(ops->peek(h.low + PAGE + 1, h.kept + PAGE + 1, &byte, 1) && byte == 0xee);
    check(ops->put(h.from, h.low, PAGE) && ops->put(h.from + 2 * PAGE, h.low + 2 * PAGE, 4 * PAGE));
    check(write(end[1], h.buffer, 1) == 1 && write(end[1], h.buffer + PAGE, 1) == -1);
    check(ops->show(h.low + PAGE, h.kept + PAGE, PAGE) &&
          ops->show(h.low + 6 * PAGE, h.kept + 6 * PAGE, 4 * PAGE));
    ops->end(h.low, h.kept, HIDING);
    for (size_t page = 0; page < 10; page++)
        check(all_are(h.buffer + page * PAGE, PAGE, page == 1 || page > 5 ? 0xee : 7));
    memset(h.shadow, 8, HIDING); /* for the next one */
    check(all_are(h.buffer, PAGE, 7) && ops->hide(h.low, HIDING, &h.kept) && ops->put(h.from, h.low, HIDING));
    check(all_are(h.buffer, HIDING, 8));
    end_ten(&h);
    check(close(end[0]) == 0 && close(end[1]) == 0);
}

/* While a child has all pages, too, what comes is put for the parent alone. */
static void hidden_beside_a_child(const struct nof_delta_hide_ops *ops)
{
    struct hiding h = hide_ten(ops);
    int go[2], status;
    char byte = 0;
    check(pipe(go) == 0);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        check(close(go[1]) == 0); /* a parent that fails sends it away */
        nof_delta_pages_in_child();
        bool shown = ops->show_in_child(h.low, h.kept, 3 * PAGE) && read(go[0], &byte, 1) == 1;
        _exit(shown && all_are(h.buffer, 3 * PAGE, 0xee) && all_are(h.shadow, HIDING, 7) ? 0 : 1);
    }
    check(ops->put(h.from, h.low, 5 * PAGE) && ops->show(h.low + 5 * PAGE, h.kept + 5 * PAGE, 5 * PAGE));
    check(all_are(h.buffer, 5 * PAGE, 7) && all_are(h.buffer + 5 * PAGE, 5 * PAGE, 0xee));
    check(write(go[1], &byte, 1) == 1 && waitpid(child, &status, 0) == child && status == 0);
    check(close(go[0]) == 0 && close(go[1]) == 0);
    end_ten(&h);
}

/* Nothing is put where the program has unmapped, replaced or moved what was hidden. */
static void hidden_and_gone(const struct nof_delta_hide_ops *ops)
{
    struct hiding h = hide_ten(ops);
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    check(munmap(h.buffer + 2 * PAGE, PAGE) == 0);
    check(mmap(h.buffer + 4 * PAGE, PAGE, PROT_READ | PROT_WRITE, kind, -1, 0) != MAP_FAILED);
    h.buffer[4 * PAGE] = 1;
    check(!ops->put(h.from, h.low, 8 * PAGE));
    check(all_are(h.buffer, 2 * PAGE, 7) && h.buffer[3 * PAGE] == 7 && h.buffer[4 * PAGE] == 1 &&
          all_are(h.buffer + 5 * PAGE, 3 * PAGE, 7));
    void *there = mremap(h.buffer + 8 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at(h.from));
    check(there == h.shadow && !ops->show(h.low + 8 * PAGE, h.kept + 8 * PAGE, PAGE));
    check(ops->show(h.low + 9 * PAGE, h.kept + 9 * PAGE, PAGE) && h.buffer[9 * PAGE] == 0xee);
    end_ten(&h);
}

/* Where no mapping can be split either, the process ends, and says so, rather than wait for ever. */
static void gives_up(const struct hiding *h)
{
    int status, said[2];
    char line[300] = "";
    check(pipe(said) == 0);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        memory_is_short = mappings_too = true; /* so nothing is done to the parent's pages */
        (void)dup2(said[1], STDERR_FILENO);
        (void)h->ops->put(h->from, h->low + 6 * PAGE, PAGE);
        _exit(0);
    }
    check(close(said[1]) == 0 && read(said[0], line, sizeof(line) - 1) > 0 && close(said[0]) == 0);
    check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
    check(strstr(line, "the kernel has no memory") != NULL);
}

/* What comes is put all the same. */
static void hidden_without_memory(const struct nof_delta_hide_ops *ops)
{
    struct hiding h = hide_ten(ops);
    openly = 0;
    memory_is_short = true;
    check(ops->put(h.from, h.low, 5 * PAGE) && ops->show(h.low + 5 * PAGE, h.kept + 5 * PAGE, PAGE));
    memory_is_short = false;
    check(openly >= (ops == &nof_delta_hide_by_userfaultfd ? 6 : 0));
    check(all_are(h.buffer, 5 * PAGE, 7) && all_are(h.buffer + 5 * PAGE, PAGE, 0xee));
    if (ops == &nof_delta_hide_by_userfaultfd)
        gives_up(&h);
    end_ten(&h);
}

static bool ask_within(void *arg, const struct nof_delta_mapping *part)
{
    struct nof_delta_mapping here;
    check(nof_delta_maps_ask(part->start, &here) && here.start <= part->start && here.end >= part->end);
    check(nof_delta_maps_ask((uintptr_t)&here, &here) && here.usable);
    ++*(unsigned *)arg;
    return true;
}

/* Who asks while another does waits for nobody, who may never run while the one that waits does. */
static void asked_by_two(void)
{
    unsigned char *page = nof_delta_pages_new(PAGE);
    uintptr_t low = (uintptr_t)page;
    unsigned looks = 0;
    check(page != NULL && nof_delta_maps_each(low, low + PAGE, ask_within, &looks) && looks == 1);
    nof_delta_pages_free(page, PAGE);
}

static double cpu_seconds(void)
{
    struct timespec now;
    check(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Each page of the program is a mapping by itself. */
static void many_mappings(void)
{
    enum { PAGES = 12000 };
    const size_t bytes = (size_t)PAGES * PAGE;
    const struct nof_delta_hide_ops *ops = &nof_delta_hide_by_mprotect;
    unsigned char *buffer = nof_delta_pages_new(bytes);
    uintptr_t low = (uintptr_t)buffer, kept;
    struct nof_delta_mapping m;
    check(buffer != NULL);
    for (size_t i = 1; i < PAGES; i += 2)
        check(madvise(buffer + i * PAGE, PAGE, MADV_DONTDUMP) == 0);
    double before = cpu_seconds();
    check(nof_delta_pages_plain(low, low + bytes) && ops->hide(low, bytes, &kept));
    check(ops->show(low + 2 * PAGE, low + 2 * PAGE, bytes - 3 * PAGE));
    check(cpu_seconds() - before < 2); /* hundredths; where the text is read anew for each: twenty */
    memset(buffer + 2 * PAGE, 1, bytes - 3 * PAGE);
    check(nof_delta_maps_ask(low + PAGE, &m) && !m.readable && m.end - m.start == PAGE);
    check(!nof_delta_pages_plain(low, low + bytes) && ops->show(low, low, bytes));
    nof_delta_pages_free(buffer, bytes);
}

/* Of a mapping that is hidden, and of its neighbours, only what is asked for is shown. */
static void part_of_a_mapping(void)
{
    struct nof_delta_mapping m;
    struct hiding h = hide_ten(&nof_delta_hide_by_mprotect);
    check(h.ops->show(h.low + 4 * PAGE, h.kept + 4 * PAGE, PAGE) && h.buffer[4 * PAGE] == 0xee);
    check(nof_delta_maps_ask(h.low, &m) && !m.readable && m.end == h.low + 4 * PAGE);
    check(nof_delta_maps_ask(h.low + 5 * PAGE, &m) && !m.readable && m.end >= h.low + HIDING);
    check(h.ops->show(h.low, h.kept, HIDING));
    end_ten(&h);
}

/* All that is hidden is shown, and what the program has unmapped or protected meanwhile stays as it is. */
static void mappings_of_others(void)
{
    enum { PAGES = 1000 };
    const struct nof_delta_hide_ops *ops = &nof_delta_hide_by_mprotect;
    unsigned char *buffer = nof_delta_pages_new((size_t)PAGES * PAGE);
    uintptr_t low = (uintptr_t)buffer, kept;
    struct nof_delta_mapping m;
    check(buffer != NULL);
    for (size_t i = 0; i < PAGES; i++)
        check(i % 3 == 0 || i % 7 == 0 || ops->hide(low + i * PAGE, PAGE, &kept));
    for (size_t i = 0; i < PAGES; i += 7)
        check(i % 2 == 0 ? munmap(buffer + i * PAGE, PAGE) == 0
                         : mprotect(buffer + i * PAGE, PAGE, PROT_READ) == 0);
    check(!ops->show(low, low, (size_t)PAGES * PAGE));
    for (size_t i = 0; i < PAGES; i++) {
        bool lies = nof_delta_maps_ask(low + i * PAGE, &m);
        check(lies == (i % 14 != 0) && (!lies || (m.readable && m.usable == (i % 7 != 0))));
    }
    nof_delta_pages_free(buffer, (size_t)PAGES * PAGE);
}

static void code(void)
{
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t low = (uintptr_t)page;
    check(page != MAP_FAILED && !nof_delta_pages_plain(low, low + PAGE));
    check(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0 && nof_delta_pages_plain(low, low + PAGE));
    check(munmap(page, PAGE) == 0);
}

int main(void)
{
    static const struct nof_delta_hide_ops *const ways[] = {&nof_delta_hide_by_mprotect,
                                                            &nof_delta_hide_by_userfaultfd};
    if (access("/proc/self/maps", R_OK) != 0) {
        printf("skipped: there is no /proc\n");
        return 77;
    }
    check(nof_delta_pages_open());
    asked_by_two();
    many_mappings();
    part_of_a_mapping();
    mappings_of_others();
    code();
    for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++) {
        const char *why = ways[k]->open();
        if (why != NULL) {
            printf("%s is skipped: %s\n", ways[k]->name, why);
            continue;
        }
        hidden_pages(ways[k]);
        hidden_beside_a_child(ways[k]);
        hidden_and_gone(ways[k]);
        hidden_without_memory(ways[k]);
    }
    return 0;
}
