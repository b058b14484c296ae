/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that are not there, that vanish, and that block under the DMA engine. */
#include "hostile_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 1000
#define TIMEOUT_TEXT "1s"

static void a_buffer_that_is_not_there_is_an_error_of_its_request(struct hostile *h)
{
    uint64_t faults = hostile_counter(h, 0, "dma.faults");
    uint8_t *good = hostile_buffer();
    struct intruder in;

    hostile_intrude(h, &in);
    check(in.id.dma == NOF_DMA_DIRECT);
    hostile_know_myself(&in);
    hostile_transfer(&in, good, good + 0); /* works first */
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    /* That receive may still be on its way to its completion: the next one is another endpoint's. */
    hostile_leave(&in);
    hostile_intrude(h, &in);
    hostile_know_myself(&in);
    hostile_transfer(&in, NULL, good);
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_EFAULT);
    hostile_transfer(&in, good, (void *)0x10);
    check_equal(hostile_await(&in, NOF_COMP_RECV, CHECK_PATIENCE_MS), NOF_EFAULT);
    /* So may that send. */
    hostile_leave(&in);
    hostile_intrude(h, &in);
    hostile_know_myself(&in);
    hostile_transfer(&in, (void *)~(uintptr_t)0xfff, good); /* the kernel's */
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_EFAULT);
    check(hostile_counter(h, 0, "dma.faults") > faults);
    hostile_leave(&in);
    munmap(good, HOSTILE_LEN);
}

static void a_buffer_that_vanishes_under_the_copy_harms_nobody(struct hostile *h)
{
    struct intruder in;

    hostile_intrude(h, &in);
    hostile_know_myself(&in);
    for (unsigned i = 0; i < 200; i++) {
        uint8_t *from = hostile_buffer();
        uint8_t *to = hostile_buffer();

        hostile_transfer(&in, from, to);
        for (volatile unsigned j = 0; j < hostile_random(h) % 20000; j++)
            continue;
        munmap(from, HOSTILE_LEN);
        munmap(to, HOSTILE_LEN);
        (void)hostile_await(&in, NOF_COMP_RECV, 1);
    }
    hostile_leave(&in);
    hostile_pair_goes_on(h, 10);
}

/* A page that is never filled: whoever touches it, the kernel included, waits. */
static uint8_t *blocking_page(int *uffd_out)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    void *page = mmap(NULL, HOSTILE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

    check(page != MAP_FAILED);
    if (fd < 0)
        return NULL;
    range.range.start = (uint64_t)(uintptr_t)page;
    range.range.len = HOSTILE_LEN;
    check(ioctl(fd, UFFDIO_API, &api) == 0);
    check(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
    *uffd_out = fd;
    return page;
}

static void a_page_that_blocks_costs_only_its_endpoint(struct hostile *h, unsigned n)
{
    struct intruder in[4];
    struct intruder neighbour;
    uint8_t *good = hostile_buffer();
    int uffd[4];

    /* A neighbour of the same user shares the helpers with the attackers. */
    hostile_intrude(h, &neighbour);
    hostile_know_myself(&neighbour);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *bad = blocking_page(&uffd[i]);

        check(bad != NULL);
        hostile_intrude(h, &in[i]);
        hostile_know_myself(&in[i]);
        hostile_transfer(&in[i], bad, good);
    }
    for (unsigned i = 0; i < 5; i++) {
        hostile_transfer(&neighbour, good, good);
        check_equal(hostile_await(&neighbour, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    }
    hostile_pair_goes_on(h, 20);
    for (unsigned i = 0; i < n; i++) {
        check(hostile_thrown_out(&in[i], CHECK_PATIENCE_MS));
        close(uffd[i]); /* lets the helper go */
        hostile_leave(&in[i]);
    }
    hostile_transfer(&neighbour, good, good);
    check_equal(hostile_await(&neighbour, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    hostile_leave(&neighbour);
    munmap(good, HOSTILE_LEN);
}

/* Has the core do so: a counter is read between two of its turns. */
static void look_at_helpers(struct hostile *h)
{
    for (int i = 0; i < 2; i++)
        (void)hostile_counter(h, 0, "dma.faults");
}

/* A page that blocks while nofd is stopped, for longer than its timeout, and is there soon after. */
static bool a_block_across_a_stop_is_forgiven(struct hostile *h)
{
    struct uffdio_zeropage zero = {.range = {.len = HOSTILE_LEN}};
    uint8_t *good = hostile_buffer();
    struct intruder in;
    int uffd, status;
    uint8_t *page = blocking_page(&uffd);
    struct pollfd fault = {.fd = uffd, .events = POLLIN};

    check(page != NULL);
    hostile_intrude(h, &in);
    hostile_know_myself(&in);
    hostile_transfer(&in, page, good);
    check(poll(&fault, 1, CHECK_PATIENCE_MS) == 1);
    look_at_helpers(h);
    check(kill(h->nofd, SIGSTOP) == 0);
    usleep(TIMEOUT_MS * 1200);
    check(kill(h->nofd, SIGCONT) == 0);
    look_at_helpers(h);
    zero.range.start = (uint64_t)(uintptr_t)page;
    check(ioctl(uffd, UFFDIO_ZEROPAGE, &zero) == 0);
    for (int i = 0; i < 2; i++) { /* and it can go on */
        for (status = 1; status == 1 && !hostile_thrown_out(&in, 0);)
            status = hostile_await(&in, NOF_COMP_SEND, 1);
        if (status == NOF_OK)
            hostile_transfer(&in, good, good);
    }
    close(uffd);
    hostile_leave(&in);
    munmap(good, HOSTILE_LEN);
    munmap(page, HOSTILE_LEN);
    return status == NOF_OK;
}

static void a_stop_of_the_daemon_is_nobodys_fault(struct hostile *h)
{
    /* We may be late ourselves. */
    for (int i = 0; !a_block_across_a_stop_is_forgiven(h); i++)
        check(i < 5);
}

/* The probe at attach is such a page. */
static void a_probe_that_blocks_ends_in_assist_mode(struct hostile *h)
{
    struct nof_attach_request request;
    struct intruder in;
    int uffd;
    uint8_t *bad = blocking_page(&uffd);

    check(bad != NULL);
    hostile_request(h, &request);
    request.probe_addr = (uint64_t)(uintptr_t)bad;
    check(hostile_attach(&in, hostile_connect(h), &request, sizeof(request)) == NOF_OK);
    check(in.id.dma == NOF_DMA_ASSIST);
    hostile_pair_goes_on(h, 10);
    close(uffd);
    hostile_leave(&in);
}

/* As another user, whose helpers can be told by that: they stand still until what was theirs has been taken from
 * them. Between a byte to the parent and one from it the daemon cannot start another helper. */
static void stop_helpers(struct hostile *h, int told, int tell)
{
    uint8_t *good = hostile_buffer();
    struct intruder in;
    char byte = 0;
    int status;

    hostile_become_nobody();
    hostile_intrude(h, &in);
    hostile_know_myself(&in);
    hostile_transfer(&in, good, good);
    check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
    check(write(tell, &byte, 1) == 1 && read(told, &byte, 1) == 1);
    check(hostile_signal_helpers(h, SIGSTOP) > 0);
    hostile_transfer(&in, good, good);
    usleep(TIMEOUT_MS * 1000 / 5);
    check(hostile_signal_helpers(h, SIGCONT) > 0);
    status = hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS);
    check(write(tell, &byte, 1) == 1);
    _exit(status == NOF_OK ? 0 : 1);
}

static bool helpers_that_come_back_go_on(struct hostile *h)
{
    int up[2], down[2], status;
    char byte = 0;
    pid_t pid;

    check(pipe(up) == 0 && pipe(down) == 0);
    pid = fork();
    check(pid >= 0);
    if (pid == 0)
        stop_helpers(h, down[0], up[1]);
    close(up[1]);
    close(down[0]);
    check(read(up[0], &byte, 1) == 1);
    check(ptrace(PTRACE_INTERRUPT, h->nofd, NULL, NULL) == 0);
    check(waitpid(h->nofd, &status, 0) == h->nofd && WIFSTOPPED(status));
    check(write(down[1], &byte, 1) == 1 && read(up[0], &byte, 1) == 1);
    check(ptrace(PTRACE_CONT, h->nofd, NULL, NULL) == 0);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    close(up[0]);
    close(down[1]);
    return WEXITSTATUS(status) == 0;
}

static void a_stop_of_the_helpers_is_nobodys_fault(struct hostile *h)
{
    if (geteuid() != 0 || ptrace(PTRACE_SEIZE, h->nofd, NULL, NULL) != 0) {
        printf("not root, or no ptrace: the test with stopped helpers was left out\n");
        return;
    }
    /* We may be late ourselves. */
    for (int i = 0; !helpers_that_come_back_go_on(h); i++)
        check(i < 5);
    check(ptrace(PTRACE_INTERRUPT, h->nofd, NULL, NULL) == 0);
    check(waitpid(h->nofd, NULL, 0) == h->nofd);
    check(ptrace(PTRACE_DETACH, h->nofd, NULL, NULL) == 0);
}

static void a_user_who_kills_or_stops_his_helpers_harms_himself(struct hostile *h)
{
    pid_t pid;
    int status;

    if (geteuid() != 0) {
        printf("not root: the test of another user's helpers was left out\n");
        return;
    }
    pid = fork();
    check(pid >= 0);
    if (pid == 0) {
        uint8_t *good = hostile_buffer();
        struct intruder in;

        hostile_become_nobody();
        hostile_intrude(h, &in);
        check(in.id.dma == NOF_DMA_DIRECT);
        hostile_know_myself(&in);
        hostile_transfer(&in, good, good);
        check_equal(hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS), NOF_OK);
        check(kill(h->nofd, SIGKILL) != 0); /* the daemon itself is not his */
        for (unsigned i = 0; i < 3; i++) {
            int got = NOF_EFAULT;

            check(hostile_signal_helpers(h, SIGKILL) > 0);
            while (got < NOF_OK) { /* until it goes on with a helper that is new */
                hostile_transfer(&in, good, good);
                got = hostile_await(&in, NOF_COMP_SEND, CHECK_PATIENCE_MS);
            }
            check_equal(got, NOF_OK);
        }
        check(hostile_signal_helpers(h, SIGSTOP) > 0);
        hostile_transfer(&in, good, good);
        hostile_pair_goes_on(h, 20);
        (void)hostile_thrown_out(&in, 1000);
        (void)hostile_signal_helpers(h, SIGCONT);
        _exit(0);
    }
    check(waitpid(pid, &status, 0) == pid);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv)
{
    static const char *const args[] = {"--dma-timeout", TIMEOUT_TEXT, NULL};
    struct hostile h;
    int uffd = -1;

    hostile_start(&h, argc, argv, args);
    a_buffer_that_is_not_there_is_an_error_of_its_request(&h);
    a_buffer_that_vanishes_under_the_copy_harms_nobody(&h);
    if (blocking_page(&uffd) != NULL) {
        close(uffd);
        a_page_that_blocks_costs_only_its_endpoint(&h, 1);
        a_page_that_blocks_costs_only_its_endpoint(&h, 4);
        a_probe_that_blocks_ends_in_assist_mode(&h);
        a_stop_of_the_daemon_is_nobodys_fault(&h);
        a_stop_of_the_helpers_is_nobodys_fault(&h);
    } else {
        printf("no userfaultfd for us (vm.unprivileged_userfaultfd): the tests with blocking pages were left "
               "out\n");
    }
    a_user_who_kills_or_stops_his_helpers_harms_himself(&h);
    hostile_end(&h);
    return 0;
}
