/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who is at the other end of an attach connection: told by the kernel, or proven by an answer that only he can give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nof/bar.h"
#include "nof/status.h"

#include "nofd/dma/dma_copy.h"
#include "nofd/door/identity.h"

static int ours, theirs;
static struct nofd_identity id;
static struct ucred cred;

static int start(void **state)
{
    int pair[2];
    socklen_t len = sizeof(cred);

    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    ours = pair[0];
    theirs = pair[1];
    return getsockopt(ours, SOL_SOCKET, SO_PEERCRED, &cred, &len);
}

static int end(void **state)
{
    (void)state;
    if (id.pidfd >= 0)
        close(id.pidfd);
    close(ours);
    if (theirs >= 0)
        close(theirs);
    return 0;
}

/* Asks as on a kernel that does not tell; the question as the rank sees it. */
static struct nof_attach_challenge ask(void)
{
    struct nof_attach_challenge question;

    nofd_identity_open(&id, ours, &cred);
    assert_true(nofd_pidfd_alive(id.pidfd));
    id.proven = false;
    assert_int_equal(nofd_identity_ask(&id, ours), 0);
    assert_int_equal(recv(theirs, &question, sizeof(question), 0), sizeof(question));
    assert_int_equal(question.magic, NOF_CHALLENGE_MAGIC);
    return question;
}

static void send_answer(const uint8_t *nonce)
{
    struct nof_attach_answer answer = {.magic = NOF_ANSWER_MAGIC};

    memcpy(answer.nonce, nonce, sizeof(answer.nonce));
    assert_int_equal(send(theirs, &answer, sizeof(answer), 0), sizeof(answer));
}

static void the_right_answer_proves_it(void **state)
{
    struct nof_attach_challenge question = ask();

    (void)state;
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_EAGAIN);
    assert_false(id.proven);
    send_answer(question.nonce);
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_OK);
    assert_true(id.proven);
}

static void another_nonce_does_not(void **state)
{
    struct nof_attach_challenge question = ask();

    (void)state;
    question.nonce[0] ^= 1;
    send_answer(question.nonce);
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_EPROTO);
    assert_false(id.proven);
}

static void a_short_answer_does_not(void **state)
{
    (void)state;
    (void)ask();
    assert_int_equal(send(theirs, "hello", 5, 0), 5);
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_EPROTO);
}

static void the_right_answer_of_another_process_does_not(void **state)
{
    struct nof_attach_challenge question = ask();
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        send_answer(question.nonce);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_EPERM);
    assert_false(id.proven);
}

static void who_hangs_up_is_gone(void **state)
{
    (void)state;
    (void)ask();
    close(theirs);
    theirs = -1;
    assert_int_equal(nofd_identity_answer(&id, ours, &cred), NOF_EPEERDEAD);
}

static void every_question_is_another(void **state)
{
    struct nof_attach_challenge first = ask();
    struct nof_attach_challenge second;

    (void)state;
    close(id.pidfd);
    second = ask();
    assert_memory_not_equal(first.nonce, second.nonce, sizeof(first.nonce));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(the_right_answer_proves_it), EACH(another_nonce_does_not),
        EACH(a_short_answer_does_not),    EACH(the_right_answer_of_another_process_does_not),
        EACH(who_hangs_up_is_gone),       EACH(every_question_is_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
