/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/schedule.h"

#include <stdlib.h>

#include "base/wait_board.h"
#include "chan/chan.h"
#include "coll/agree.h"
#include "coll/coll.h"
#include "coll/coll_abort.h"
#include "coll/offload.h"
#include "coll/steps/step.h"
#include "delta/delta_watch.h"
#include "nof/status.h"
#include "p2p/delta_settle.h"
#include "p2p/pt2pt.h"
#include "type/section.h"
#include "base/wait.h"

#define ASK_AFTER_NS 1000000000ull /* what ranks of a collective may take without being asked about it; */
#define ABSENT_NS 100000000ull /* a look that is so late: this rank was not scheduled, or did not call */
#define ASK_NIC_NS 20000000ull
#define NIC_AWAY_MAX_NS (60 * ASK_AFTER_NS)
#define ASK_MAX_NS (64 * ASK_AFTER_NS) /* at twice that distance each time, up to this; not within a group */

static struct nof_sched *ready_first, *ready_last;
static struct nof_sched *active_list;
static int run_ready(void);
static struct nof_wait_work ready_work = {.run = run_ready};

struct nof_sched *nof_sched_new(struct nof_comm *comm)
{
    struct nof_sched *s = malloc(sizeof(*s));
    if (s == NULL)
        return NULL;
    *s = (struct nof_sched){.comm = comm, .rank = comm->rank, .size = nof_comm_peers(comm)->size};
    nof_comm_hold(comm);
    return s;
}

int nof_kept_no_place(void)
{
    return nof_error(MPI_ERR_NO_MEM,
                     "a persistent collective of this communicator that was made %u before is there still: "
                     "free it, or make a communicator for others",
                     NOF_KEPT_MAX);
}

int nof_sched_keep(struct nof_sched *s)
{
    struct nof_comm *local = s->comm->local;
    s->kept = s->has_place = true;
    s->kept_at = nof_kept_make(&s->comm->kept);
    s->local_kept_at = local == NULL ? 0 : nof_kept_make(&local->kept);
    bool has = s->kept_at != NOF_KEPT_NO_PLACE && s->local_kept_at != NOF_KEPT_NO_PLACE;
    return has ? MPI_SUCCESS : nof_kept_no_place();
}

static void leave_place(struct nof_sched *s)
{
    nof_kept_goes(&s->comm->kept, s->kept_at);
    if (s->comm->local != NULL)
        nof_kept_goes(&s->comm->local->kept, s->local_kept_at);
}

static int kept_tag(uint32_t kept_at, uint32_t number)
{
    return (int)(NOF_COMM_KEPT_TAG + kept_at * NOF_COMM_KEPT_STARTS + number % NOF_COMM_KEPT_STARTS);
}

static int next_tag(struct nof_comm *comm, bool blocking)
{
    if (blocking)
        return (int)(comm->coll_seq++ % NOF_COMM_COLL_TAGS);
    return (int)(2 * NOF_COMM_COLL_TAGS + comm->coll_started++ % NOF_COMM_COLL_TAGS);
}

static void take_tag(struct nof_sched *s)
{
    if (s->kept) {
        s->number++;
        s->tag = kept_tag(s->kept_at, s->number);
        s->local_tag = kept_tag(s->local_kept_at, s->number);
        nof_kept_begins(&s->comm->kept, s->kept_at, s->number);
        if (s->comm->local != NULL)
            nof_kept_begins(&s->comm->local->kept, s->local_kept_at, s->number);
        return;
    }
    s->number = (s->request == NULL ? s->comm->coll_seq : s->comm->coll_started) / NOF_COMM_COLL_TAGS;
    s->tag = next_tag(s->comm, s->request == NULL);
    if (s->comm->local != NULL)
        s->local_tag = next_tag(s->comm->local, s->request == NULL);
}

void nof_sched_free(struct nof_sched *s)
{
    nof_offload_close(s->offload); /* before the layouts that the program names */
    nof_step_free_all(s);
    nof_under_way_free(&s->under_way);
    if (s->has_place)
        leave_place(s);
    nof_comm_release(s->comm);
    free(s);
}

static int start_request(struct nof_request *req)
{
    return nof_sched_start(req->sched);
}

static int release_request(struct nof_request *req)
{
    nof_sched_free(req->sched);
    return MPI_SUCCESS;
}

void nof_sched_end_with(struct nof_sched *s, struct nof_request *req)
{
    static const struct nof_request_ops ops = {.start = start_request, .release = release_request};
    req->ops = &ops;
    req->sched = s;
    s->request = req;
}

static void leave_active(struct nof_sched *s)
{
    if (s->prev_active != NULL)
        s->prev_active->next_active = s->next_active;
    else
        active_list = s->next_active;
    if (s->next_active != NULL)
        s->next_active->prev_active = s->prev_active;
}

static void finish(struct nof_sched *s)
{
    leave_active(s);
    nof_coll_agree_ended(s);
    s->done = true;
    if (s->error == MPI_SUCCESS)
        s->error = s->truncated;
    nof_wait_signal();
    if (s->request != NULL) {
        if (s->error != MPI_SUCCESS)
            nof_request_fail(s->request, s->error);
        else
            nof_request_done(s->request, 0, 0, 0);
    }
}

static void make_ready(struct nof_sched *s)
{
    if (s->ready)
        return;
    s->ready = true;
    s->next_ready = NULL;
    if (ready_last == NULL)
        ready_first = s;
    else
        ready_last->next_ready = s;
    ready_last = s;
    nof_wait_due(&ready_work);
}

static bool nic_runs(const struct nof_sched *s)
{
    return s->offload != NULL && nof_offload_runs(s->offload);
}

/* The round is done, or the next one need not wait for all of it. */
static bool goes_on(const struct nof_sched *s)
{
    return s->pending == 0 ||
           (s->at > 0 && s->at < s->count && s->steps[s->at - 1].kind == NOF_SCHED_TURN &&
            s->error == MPI_SUCCESS && !s->gives && !nic_runs(s) && nof_under_way_little(&s->under_way));
}

/* What is under way must not write into the program's memory any more. */
static void stop_transfers(struct nof_sched *s)
{
    for (size_t i = s->under_way.count; i-- > 0;) {
        struct nof_request *req = s->under_way.request[i];
        if (req->kind == NOF_REQUEST_SEND) {
            req->owner = NULL;
            req->on_done = NULL;
            req->orphan = true;
            s->leak_temporaries = true;
            nof_under_way_leave(&s->under_way, req);
            s->pending--;
            /* The receiver may have failed, too, and never ask for it. */
            nof_chan_for(req)->cancel(req);
        }
    }
    /* Cancelling may end a request at once, which takes it out of the list. */
    for (size_t i = s->under_way.count; i-- > 0;)
        if (i < s->under_way.count)
            nof_chan_for(s->under_way.request[i])->cancel(s->under_way.request[i]);
    if (s->pending == 0 && !s->running)
        make_ready(s);
}

/* The NIC tells, or has told, those that its program has messages with. */
static void fail_at_nic(struct nof_sched *s, int code, struct nof_coll_blame blame)
{
    s->error = code;
    s->blame = blame;
    s->leak_temporaries = true;
    nof_coll_abort_tell_beside(s);
    stop_transfers(s);
}

/* End early. */
static void fail(struct nof_sched *s, int code, struct nof_coll_blame blame)
{
    if (s->error != MPI_SUCCESS)
        return;
    if (nic_runs(s)) {
        s->offload->nic->cancel(&s->offload->open->program, blame.status, blame.rank);
        fail_at_nic(s, code, blame);
        return;
    }
    s->error = code;
    s->blame = blame;
    nof_coll_abort_tell(s);
    stop_transfers(s);
}

static void fail_here(struct nof_sched *s, int code)
{
    fail(s, code, nof_coll_blame(code, MPI_UNDEFINED));
}

/* What is told at the end, because the others go on. */
static int other_length(const struct nof_request *req, int error)
{
    if (error == MPI_SUCCESS && req->exact && req->kind == NOF_REQUEST_RECV &&
        req->status_bytes != req->bytes && !req->cancelled)
        return nof_error(MPI_ERR_COUNT,
                         "%zu bytes came where this rank expects %zu: the ranks' counts differ",
                         req->status_bytes, req->bytes);
    return error != MPI_SUCCESS && nof_error_class(error) == MPI_ERR_TRUNCATE ? error : MPI_SUCCESS;
}

/* A step that the NIC asked for is done. */
static void proceed(struct nof_sched *s, uint32_t step, int status)
{
    if (nic_runs(s))
        nof_offload_proceed(s->offload, step, status);
}

static void step_done(struct nof_request *req)
{
    struct nof_sched *s = req->owner;
    nof_under_way_leave(&s->under_way, req);
    int error = req->cancelled ? MPI_SUCCESS : req->error;
    int later = other_length(req, error);
    uint32_t asked = req->asked;
    int peer = nof_comm_peer_world(req->comm, req->peer);
    nof_request_free(req);
    s->pending--;
    s->waited.moved = true;
    if (later != MPI_SUCCESS)
        s->truncated = later;
    else if (error != MPI_SUCCESS)
        fail(s, error, nof_coll_blame(error, peer));
    if (asked > 0 && s->error == MPI_SUCCESS)
        proceed(s, asked - 1, later == MPI_SUCCESS ? NOF_OK : NOF_ETRUNC);
    if (goes_on(s) && !s->running)
        make_ready(s);
}

/* asked: 0, or 1 + the step of the program for which the NIC wants this. */
static void issue_transfer(struct nof_sched *s, const struct nof_step *step, uint32_t asked)
{
    enum nof_request_kind kind = step->kind == NOF_SCHED_SEND ? NOF_REQUEST_SEND : NOF_REQUEST_RECV;
    struct nof_request *req = NULL;
    bool nothing = step->kind == NOF_SCHED_SEND && step->exact && s->truncated != MPI_SUCCESS;
    if (nof_under_way_room(&s->under_way))
        req = nof_request_internal(kind, step->local ? s->comm->local : s->comm,
                                   step->kind == NOF_SCHED_SEND ? step->from : step->to,
                                   nothing ? 0 : step->count, step->type, step->peer,
                                   step->local ? s->local_tag : s->tag);
    if (req == NULL) {
        fail_here(s, nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation"));
        return;
    }
    req->exact = step->exact;
    req->meets = step->meets;
    req->awaited = s->blocking;
    req->agreed = s->agreed;
    req->multicast = step->multicast;
    req->asked = asked;
    req->owner = s;
    req->on_done = step_done;
    nof_under_way_add(&s->under_way, req);
    s->pending++;
    int rc = nof_pt2pt_start(req);
    if (rc != MPI_SUCCESS) {
        req->error = rc;
        step_done(req);
    }
}

static void reduce(const struct nof_step *step)
{
    bool nested = nof_wait_in_operation;
    nof_wait_in_operation = true;
    nof_op_apply(step->op, step->type, step->from, step->to, step->count);
    nof_wait_in_operation = nested;
}

static void issue(struct nof_sched *s, const struct nof_step *step)
{
    switch (step->kind) {
    case NOF_SCHED_SEND:
    case NOF_SCHED_RECV:
        issue_transfer(s, step, 0);
        break;
    case NOF_SCHED_COPY:
        if (nof_type_copy(step->type, step->from, step->count, step->to_type, step->to, step->to_count) ==
            SIZE_MAX)
            fail_here(s, nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation"));
        break;
    case NOF_SCHED_REDUCE:
        reduce(step);
        break;
    case NOF_SCHED_UPDATE:
        nof_section_update(step->section, step->from, step->to);
        break;
    case NOF_SCHED_FENCE:
    case NOF_SCHED_TURN:
        break;
    }
}

/* A step that the NIC asks for: own steps, as many as follow each other, or a transfer that it leaves to the host. */
static void do_asked(struct nof_sched *s, uint32_t asked)
{
    size_t at = s->offload->image.origin[asked];
    if (nof_step_transfers(&s->steps[at])) {
        issue_transfer(s, &s->steps[at], asked + 1);
        return;
    }
    for (; at < s->count && nof_step_is_own(&s->steps[at]) && s->error == MPI_SUCCESS; at++)
        issue(s, &s->steps[at]);
    if (s->error == MPI_SUCCESS)
        proceed(s, asked, NOF_OK);
}

/* Of a program: all its steps are done all the same. */
static bool is_other_length(int error)
{
    int error_class = nof_error_class(error);
    return error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_COUNT;
}

static void heard(struct nof_chan_program *program, enum nof_chan_news news, int value)
{
    struct nof_sched *s = program->owner;
    const struct nof_coll_blame blame = {program->status, program->whose}; /* before it is gone */
    switch (news) {
    case NOF_CHAN_ASKED:
        nof_offload_ask(s->offload, value);
        make_ready(s);
        return;
    case NOF_CHAN_DECLINED:
        if (nof_offload_declined(s))
            return;
        nof_driver_count(NOF_DRIVER_DECLINED);
        if (s->error != MPI_SUCCESS)
            nof_coll_abort_tell(s); /* the NIC had nothing to cancel */
        s->at = s->offload->image.begin;
        break;
    case NOF_CHAN_DISAGREED:
        nof_driver_count(NOF_DRIVER_NIC);
        nof_offload_ended(s, false);
        s->leak_temporaries = true;
        fail_here(s, value);
        break;
    case NOF_CHAN_ENDED:
        nof_driver_count(NOF_DRIVER_NIC);
        nof_offload_ended(s, value == MPI_SUCCESS || is_other_length(value));
        if (value == MPI_SUCCESS)
            break;
        if (is_other_length(value)) {
            s->truncated = s->truncated != MPI_SUCCESS ? s->truncated : value;
        } else {
            s->leak_temporaries = true;
            if (s->error == MPI_SUCCESS)
                fail_at_nic(s, value, blame);
        }
        break;
    }
    s->pending--;
    if (s->pending == 0 && !s->running)
        make_ready(s);
}

/* What comes before the NIC's steps is done. False: the host goes on. */
static bool give_to_nic(struct nof_sched *s)
{
    s->gives = false;
    if (s->error != MPI_SUCCESS || !nof_offload_start(s, heard))
        return false;
    s->at = s->offload->image.end;
    s->pending = 1;
    return true;
}

static void advance(struct nof_sched *s)
{
    s->running = true;
    while (nic_runs(s) && s->offload->asked_at < s->offload->asked_count && s->error == MPI_SUCCESS)
        do_asked(s, s->offload->asked[s->offload->asked_at++]);
    while (goes_on(s)) {
        if (s->at == s->count || s->error != MPI_SUCCESS) {
            s->running = false;
            finish(s);
            return;
        }
        size_t end = s->gives ? s->offload->image.begin : s->count;
        if (s->gives && s->at == end && give_to_nic(s))
            break;
        s->pending++;
        while (s->at < end && s->error == MPI_SUCCESS) {
            const struct nof_step *step = &s->steps[s->at++];
            if (nof_step_parts(step))
                break;
            issue(s, step);
        }
        s->pending--;
    }
    s->running = false;
}

static int run_ready(void)
{
    int n = 0;
    while (ready_first != NULL) {
        struct nof_sched *s = ready_first;
        ready_first = s->next_ready;
        if (ready_first == NULL)
            ready_last = NULL;
        s->ready = false;
        advance(s);
        n++;
    }
    return n;
}

/* Before any of it begins: the later steps go in polls. */
static void settle(const struct nof_sched *s)
{
    if (!nof_delta_watch_any())
        return;
    for (size_t i = 0; i < s->count; i++) {
        const struct nof_step *step = &s->steps[i];
        if (nof_step_parts(step) || step->kind == NOF_SCHED_UPDATE)
            continue;
        if (step->kind != NOF_SCHED_RECV)
            nof_delta_settle_buffer(step->from, step->count, step->type);
        if (step->kind == NOF_SCHED_COPY)
            nof_delta_settle_buffer(step->to, step->to_count, step->to_type);
        else if (step->kind != NOF_SCHED_SEND)
            nof_delta_settle_buffer(step->to, step->count, step->type);
    }
}

int nof_sched_start(struct nof_sched *s)
{
    settle(s);
    take_tag(s);
    s->blame = (struct nof_coll_blame){0};
    s->told = false;
    s->ask_ns = 0;
    s->waited.since_ns = 0;
    s->at = 0;
    s->pending = 0;
    s->error = nof_coll_abort_heard(s);
    if (s->error == MPI_SUCCESS && s->build_error != MPI_SUCCESS) {
        s->error = s->build_error;
        s->blame = nof_coll_blame(s->error, MPI_UNDEFINED);
    }
    s->truncated = s->too_long;
    s->done = false;
    s->prev_active = NULL;
    s->next_active = active_list;
    if (active_list != NULL)
        active_list->prev_active = s;
    active_list = s;
    int dead = nof_chan_dead_member(s->comm);
    if (dead != MPI_UNDEFINED) {
        s->error = nof_chan_dead_member_code(dead, "no collective is possible");
        s->blame = nof_coll_blame(s->error, dead);
    }
    if (s->error != MPI_SUCCESS)
        nof_coll_abort_tell(s);
    s->gives = s->error == MPI_SUCCESS && nof_offload_open(s) != NULL;
    advance(s);
    return MPI_SUCCESS;
}

static const struct nof_sched *describe(const void *what)
{
    const struct nof_sched *s = what;
    nof_board->kind = NOF_BOARD_COLL;
    nof_board_name_comm(s->comm->name);
    return s;
}

/* It has ended. Small messages are done when they are copied: others must not need this rank's next call for them. */
static bool is_over(const struct nof_sched *s, uint64_t *mark)
{
    return s->done && (nof_chan_to_all->passed == NULL || nof_chan_to_all->passed(mark));
}

int nof_sched_run(struct nof_sched *s)
{
    if (s == NULL)
        return nof_error(MPI_ERR_NO_MEM, "no memory for a collective operation");
    int rc = nof_sched_start(s);
    if (rc == MPI_SUCCESS) {
        struct nof_wait wait = NOF_WAIT_START;
        wait.describe = describe;
        wait.what = s;
        uint64_t mark = 0;
        while (!is_over(s, &mark)) {
            wait.own = s->done;
            nof_wait_step(&wait);
        }
        rc = s->error;
    }
    nof_sched_free(s);
    return rc;
}

static void ask(struct nof_sched *s, uint64_t now_ns)
{
    if (s->ask_ns == 0) {
        s->asked_for_ns = ASK_AFTER_NS / 2;
        s->ask_at = 0;
        s->ask_member = 0;
    } else if (now_ns >= s->ask_ns && s->error == MPI_SUCCESS) {
        nof_coll_agree_ask(s);
    } else {
        return;
    }
    if (s->ask_member == 0)
        s->asked_for_ns = s->asked_for_ns < ASK_MAX_NS ? 2 * s->asked_for_ns : ASK_MAX_NS;
    s->ask_ns = now_ns + s->asked_for_ns;
}

/* A NIC that has not run brings nothing, and nobody else is to blame: when it is back it says for how long. While it is away there
 * is nothing to say, for so long at most, for one that runs and has no room looks the same. */
static bool nic_is_there(const struct nof_chan *channel, uint64_t over_ns)
{
    return channel->heard == NULL || over_ns > NIC_AWAY_MAX_NS || channel->heard();
}

/* For how long nothing has come, without the time in which the NIC did not run. */
static uint64_t waited_ns(struct nof_sched *s, const struct nof_chan *channel, uint64_t now_ns)
{
    return nof_waited_ns(&s->waited, channel->away_ms == NULL ? 0 : channel->away_ms(), now_ns);
}

/* Nothing has come to this rank's own steps for longer than it may be waited; the NIC sees to those that it runs. */
static bool lose_patience(struct nof_sched *s, uint64_t now_ns, bool *again_out)
{
    const struct nof_request *first = s->under_way.count > 0 ? s->under_way.request[0] : NULL;
    nof_waited_look(&s->waited, now_ns);
    if (first == NULL || nic_runs(s))
        return false;
    const struct nof_chan *channel = nof_chan_of(first->comm);
    uint32_t patience_ms = channel->coll_patience_ms == NULL ? 0 : channel->coll_patience_ms();
    uint64_t patience_ns = patience_ms * 1000000ull, waits_ns = waited_ns(s, channel, now_ns);
    if (patience_ms == 0 || waits_ns < patience_ns)
        return false;
    if (!nic_is_there(channel, waits_ns - patience_ns)) {
        *again_out = true;
        return false;
    }
    if (waited_ns(s, channel, now_ns) < patience_ns)
        return false; /* it came back while we asked, and has said so before it heard us */
    int peer = nof_comm_peer_world(first->comm, first->peer);
    int code = nof_error(MPI_ERR_OTHER,
                         "a collective has waited for rank %d of MPI_COMM_WORLD longer than feature "
                         "coll_patience_ms allows: that rank has not called it, or waits itself (\"nof "
                         "status\" names those who wait)",
                         peer);
    fail(s, code, (struct nof_coll_blame){NOF_ETIMEDOUT, peer});
    return true;
}

static uint64_t look(void)
{
    static uint64_t next_ns;
    if (active_list == NULL)
        return UINT64_MAX;
    uint64_t now_ns = nof_lib_now_ns();
    if (now_ns < next_ns)
        return next_ns - now_ns;
    uint64_t absent_ns = now_ns - next_ns; /* for which nobody else is to blame */
    bool lost = false, again = false;
    for (struct nof_sched *s = active_list; s != NULL; s = s->next_active) {
        if (absent_ns > ABSENT_NS)
            nof_waited_excuse(&s->waited, absent_ns, now_ns);
        ask(s, now_ns);
        lost = lose_patience(s, now_ns, &again) || lost;
    }
    uint64_t nap_ns = again ? ASK_NIC_NS : ASK_AFTER_NS;
    next_ns = now_ns + nap_ns;
    return lost ? 0 : nap_ns; /* what has failed ends in the next poll */
}

void nof_sched_open(void)
{
    static const struct nof_wait_source source = {.nap_ns = look};
    static bool added;
    if (!added)
        nof_wait_add(&source);
    added = true;
}

static void answer(struct nof_sched *s, const struct nof_chan_failure *question)
{
    if (s == NULL)
        nof_coll_agree_answer(question);
    else if (s->agreed != 0 && question->agreed != 0 && s->agreed != question->agreed)
        fail_here(s, nof_error(MPI_ERR_ARG,
                               "rank %d of MPI_COMM_WORLD calls another collective here than this rank, or "
                               "this one with another root, operation, type or length",
                               question->rank));
}

void nof_sched_fail_run(const struct nof_chan_failure *failure, int code)
{
    struct nof_sched *s = active_list;
    while (s != NULL && !nof_coll_abort_is_of(s, failure))
        s = s->next_active;
    if (failure->status == NOF_EAGAIN)
        answer(s, failure);
    else if (s == NULL)
        nof_coll_abort_remember(failure, code);
    else
        fail(s, code, (struct nof_coll_blame){failure->status, failure->rank});
}

void nof_sched_fail_rank(int world_rank, int code)
{
    struct nof_sched *next;
    for (struct nof_sched *s = active_list; s != NULL; s = next) {
        next = s->next_active;
        if (nof_comm_has(s->comm, world_rank))
            fail(s, code, nof_coll_blame(code, world_rank));
    }
}
