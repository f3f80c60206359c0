/*
 * replay/data/expect_end.c: what completions that are left over mean
 *
 * QP of process 1 completes on CQ. What the trace counted, and what is compared elsewhere, comes
 * from functions of the test; the report is a log.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "replay/data/contents.h"
#include "replay/data/expect_priv.h"
#include "replay/data/polls.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, CQ, PEER, NOBJECTS, SECOND = 1000000000 };

static char log_text[2048];
static struct replay replay;
static struct replica replicas[NOBJECTS];
static struct replica_qp queue_pair, peer;
static struct unmatched_wcs *strangers;
static struct unmatched_wc *matching;
static struct lookup_polls polls;
static int polls_error;
static struct process process;
static const char *snapshot, *carried;
static struct ibv_qp qp;
static struct arrival arrival;
static unsigned int nsettled, nended;
static uint64_t nunpolled;
static size_t nparts;

static void __attribute__((format(printf, 1, 2))) log_line(const char *format, ...)
{
	size_t used = strlen(log_text);
	va_list args;

	if (used)
		used += (size_t)snprintf(log_text + used, sizeof(log_text) - used, "; ");
	va_start(args, format);
	vsnprintf(log_text + used, sizeof(log_text) - used, format, args);
	va_end(args);
}

static void expect_log(const char *expected)
{
	assert_string_equal(log_text, expected);
	*log_text = 0;
}

int lookup_polls(struct trace *trace, uint32_t cq, struct lookup_polls *ret_polls)
{
	(void)trace;
	assert_int_equal(cq, CQ);
	*ret_polls = polls;
	return polls_error;
}

static int64_t sent_at;

/* The time of the post that sent it. */
int lookup_time(struct trace *trace, struct event_id id, int64_t *ret_time)
{
	(void)trace;
	*ret_time = sent_at;
	return id.thread == 2 && sent_at;
}

size_t trace_nparts(const struct trace *trace)
{
	(void)trace;
	return nparts;
}

const char *trace_meta(struct trace *trace, const char *key)
{
	(void)trace;
	return strcmp(key, "snapshot") ? carried : snapshot;
}

const struct process *trace_process(const struct trace *trace, uint32_t id)
{
	(void)trace;
	return id == 1 ? &process : NULL;
}

struct unmatched_wc *expect_find_unmatched(struct unmatched_wcs *s, uint32_t of, enum side side,
					   const struct arrival *a)
{
	assert_ptr_equal(s, replay.strangers);
	assert_int_equal(of, QP);
	assert_int_equal(side, SIDE_SEND);
	assert_int_equal(a->cq, CQ);
	return matching;
}

void expect_report_extra(struct replay *r, struct event_id event, const struct arrival *a)
{
	(void)r;
	(void)a;
	log_line("extra at %u:%u", event.thread, (unsigned int)event.n);
}

int expect_compare_late(struct replay *r, struct replica_qp *of, enum side side,
			enum deferred_kind which)
{
	(void)r;
	assert_int_equal(which, DEFERRED_ALL);
	if (of == &peer)
		log_line("settle the peer's %d", side);
	nsettled++;
	return 0;
}

void polls_drain(struct replay *r, struct replica *replica)
{
	assert_ptr_equal(replica, &replicas[QP]);
	assert_true(r->leaving);
	log_line("drain");
}

void contents_end(struct replay *r)
{
	(void)r;
	nended++;
}

_Thread_local struct outcome_tally outcome_tally;

void outcome_count_first(struct outcome *outcome, enum outcome_count what, uint64_t n)
{
	(void)outcome;
	assert_int_equal(what, OUTCOME_UNPOLLED);
	nunpolled += n;
}

void outcome_add_divergence(struct outcome *outcome, const struct divergence *d)
{
	(void)outcome;
	log_line("%u:%u %s of %u: %s, not %s, about %u:%u%s", d->event.thread,
		 (unsigned int)d->event.n, d->field, d->object, d->replayed, d->recorded,
		 d->about.thread, (unsigned int)d->about.n,
		 d->class == DIVERGENCE_FAILED_RECORDED ? " (failed there)" : "");
}

void outcome_note_skipped(struct outcome *outcome, struct event_id event, enum verb verb,
			  uint32_t object, const char *why)
{
	(void)outcome;
	(void)verb;
	log_line("skipped %u:%u of %u %s", event.thread, (unsigned int)event.n, object, why);
}

void outcome_note(struct outcome *outcome, const char *format, ...)
{
	char text[256];
	va_list args;

	(void)outcome;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_line("%s", text);
}

static int begin_end(void **state)
{
	(void)state;
	*log_text = 0;
	nobjects = nsettled = nended = 0;
	nunpolled = 0;
	polls_error = 0;
	sent_at = 0;
	snapshot = carried = NULL;
	nparts = 1;
	matching = NULL;
	add_object(OBJECT_qp, 1, 0)->number = 0x77;
	add_object(OBJECT_cq, 1, 0);
	add_object(OBJECT_qp, 2, 0);
	polls = (struct lookup_polls){ .empty = 0, .completions = 5 };
	process = (struct process){ .end = -1 };
	memset(replicas, 0, sizeof(replicas));
	queue_pair = (struct replica_qp){ .peer = PEER };
	peer = (struct replica_qp){ 0 };
	qp = (struct ibv_qp){ .send_cq = (void *)&polls, .recv_cq = (void *)&process };
	replicas[QP].qp = &queue_pair;
	replicas[QP].handle = &qp;
	replicas[CQ] = (struct replica){ .poll = { 1, 9 }, .given = 5 };
	strangers = calloc(1, sizeof(*strangers));
	replay = (struct replay){ .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .strangers = strangers,
				  .cut = INT64_MIN,
				  .outcome = (struct outcome *)(void *)&polls,
				  .last = 100ll * SECOND };
	arrival = (struct arrival){ .wc = { .qp_num = 0x99, .src_qp = 0x98 },
				    .request = { .event = { 1, 4 } },
				    .passed_by = { 1, 6 },
				    .cq = CQ };
	map_put(&replay.numbers, 0x99, QP);
	map_put(&replay.handles, (uintptr_t)&polls, CQ);
	map_put(&replay.handles, (uintptr_t)&process, CQ);
	return 0;
}

static int end_end(void **state)
{
	(void)state;
	for (int side = 0; side < SIDES; side++) {
		arrivals_fini(&queue_pair.in[side]);
		arrivals_fini(&queue_pair.passed[side]);
		requests_fini(&queue_pair.out[side]);
	}
	map_fini(&replay.numbers);
	map_fini(&replay.handles);
	free(strangers);
	return 0;
}

FIXTURE(begin_end, end_end);

/* One is left in the replay. */
static void expect_leftover(const char *expected)
{
	assert_int_equal(arrivals_put(&queue_pair.in[SIDE_SEND], &arrival), 0);
	expect_end(&replay);
	expect_log(expected);
	assert_null(arrivals_first(&queue_pair.in[SIDE_SEND]));
}

TEST(completions_that_a_program_did_not_poll_are_counted)
{
	(void)state;
	expect_leftover("");
	assert_int_equal(nunpolled, 1);
	assert_int_equal(nsettled, 2);
	assert_int_equal(nended, 1);
	arrival.wc.status = IBV_WC_WR_FLUSH_ERR;
	expect_leftover("");
	assert_int_equal(nunpolled, 2);
	arrival.wc.status = IBV_WC_REM_OP_ERR;
	arrival.unasked = true; /* when its queue was destroyed */
	expect_leftover("");
	assert_int_equal(nunpolled, 3);
	arrivals_put(&queue_pair.in[SIDE_SEND], &arrival);
	expect_leftover("");
	assert_int_equal(nunpolled, 5);
}

TEST(an_error_that_was_not_recorded_is_extra)
{
	(void)state;
	arrival.wc.status = IBV_WC_REM_OP_ERR;
	expect_leftover("extra at 1:4");
	assert_int_equal(nunpolled, 0);
	snapshot = "1"; /* the program may have got it later */
	expect_leftover("the request of 1:4 completed with remote operation error in the replay; "
			"the trace ends before the program polled it");
	assert_int_equal(nunpolled, 1);
}

TEST(a_completion_that_was_passed_over_is_extra_there)
{
	(void)state;
	assert_int_equal(arrivals_put(&queue_pair.passed[SIDE_SEND], &arrival), 0);
	expect_end(&replay);
	expect_log("extra at 1:6");
}

static struct unmatched_wc *add_stranger(enum unmatched_reason kind)
{
	struct unmatched_wc *k = &strangers->kept[strangers->n++];

	*k = (struct unmatched_wc){ .event = { 2, 3 },
				    .verb = VERB_poll_cq,
				    .kind = kind,
				    .index = 1,
				    .cq = CQ,
				    .qp = PEER,
				    .wc = { .qp_num = 0x11, .src_qp = 0x12 },
				    .why = "why" };
	strangers->unfound++;
	return k;
}

TEST(a_completion_of_an_unknown_queue_pair_is_explained)
{
	(void)state;
	matching = add_stranger(UNMATCHED_QUEUE);
	expect_leftover("2:3 wc[1].qp_num of 1: 119 (numbered as recorded), not 17, which is not "
			"in the trace, about 1:4");
	assert_true(matching->found);
	assert_int_equal(strangers->unfound, 0);
}

TEST(a_datagram_of_an_unknown_sender_is_explained)
{
	(void)state;
	matching = add_stranger(UNMATCHED_SENDER);
	expect_leftover("2:3 wc[1].src_qp of 1: 152 (numbered as recorded), not 18, which is not "
			"in the trace, about 1:4");
}

TEST(a_completion_that_the_trace_lacks_is_explained)
{
	(void)state;
	matching = add_stranger(UNMATCHED_LOST);
	expect_leftover("2:3 wc[1] of 1: success, not a completion that is not in the trace, about "
			"1:4");
}

TEST(recorded_completions_that_nothing_explains_are_reported)
{
	(void)state;
	add_stranger(UNMATCHED_QUEUE);
	add_stranger(UNMATCHED_SYNTHESIZED);
	add_stranger(UNMATCHED_LOST);
	add_stranger(UNMATCHED_SENDER)->found = true;
	expect_end(&replay);
	expect_log("skipped 2:3 of 3 why; 2:3 wc[1] of 2: no other completion, not a completion "
		   "that is not in the trace, about 2:3");
	replay.strangers = NULL;
	expect_end(&replay);
	expect_log("");
}

#define HANG "1:4 completion of 1: IBV_WC_SUCCESS (0), not none, in %s empty polls, about 1:4"

static void expect_hang(const char *n)
{
	char expected[256];

	snprintf(expected, sizeof(expected), HANG " (failed there)", n);
	expect_leftover(n ? expected : "");
}

/* The completion had come at 10 s; the queue was polled in vain until 100 s. */
static void poll_in_vain(void)
{
	arrival.time = arrival.polled = 10ll * SECOND;
	arrival.empty = 100;
	polls.empty = 100 + 1001;
}

TEST(a_completion_that_was_polled_for_in_vain_did_not_come)
{
	(void)state;
	poll_in_vain();
	expect_hang("1001");
	polls.empty--;
	expect_hang(NULL);
	polls.empty = 100;
	expect_hang(NULL);
	assert_int_equal(nunpolled, 2);
}

TEST(a_wait_must_be_long)
{
	(void)state;
	poll_in_vain();
	objects[CQ].destroyed_at = 11ll * SECOND;
	expect_hang(NULL);
	objects[CQ].destroyed_at++;
	expect_hang("1001");
	objects[CQ].destroyed_at = INT64_MAX;
	process.end = 11ll * SECOND;
	expect_hang(NULL);
	process.end++;
	expect_hang("1001");
	process.end = 0; /* it ended at the start */
	expect_hang(NULL);
}

TEST(polls_after_the_queue_pair_was_destroyed_do_not_count)
{
	(void)state;
	poll_in_vain();
	polls.empty += 2000000000;
	objects[QP].destroyed_at = 11ll * SECOND;
	process.end = 12ll * SECOND;
	expect_hang(NULL);
	objects[QP].destroyed_at++;
	expect_hang("1900001002");
	polls.empty -= 1900000000;
	expect_hang("1002");
	polls.empty--;
	expect_hang("1001");
	polls.empty--;
	expect_hang(NULL); /* all may have been after that */
	polls.empty += 2000000000;
	process.ending = "killed";
	expect_hang(NULL);
}

/* The thread of the sender may be ahead in the replay. */
TEST(a_message_has_not_come_before_it_was_sent)
{
	(void)state;
	poll_in_vain();
	polls.empty += 2000000000;
	process.end = 12ll * SECOND;
	sent_at = 11ll * SECOND;
	expect_hang("2000001001");
	arrival.sender = (struct event_id){ 2, 3 };
	expect_hang(NULL);
	sent_at--;
	expect_hang("1900001002");
	arrival.sender.thread = 0;
	arrival.request.event.thread = 2;
	sent_at++;
	arrival.wc.status = IBV_WC_SUCCESS;
	expect_hang(NULL);
}

TEST(polls_before_it_came_do_not_count)
{
	(void)state;
	poll_in_vain();
	arrival.polled -= 50; /* five polls, at most */
	expect_hang(NULL);
	polls.empty += 5;
	expect_hang("1001");
	arrival.polled = 0;
	objects[CQ].created_at = arrival.time - 50; /* there was no queue before */
	expect_hang("1001");
	objects[CQ].created_at = arrival.time;
	expect_hang("1006");
}

TEST(polls_of_a_killed_process_took_time)
{
	(void)state;
	poll_in_vain();
	process.ending = "killed";
	process.end = 10ll * SECOND; /* the end of the process is not known exactly */
	polls.empty = 100 + 5000000;
	expect_hang(NULL);
	polls.empty++;
	expect_hang("5000001");
	process.ending = "exit";
	expect_hang(NULL);
}

TEST(an_error_is_no_hang)
{
	(void)state;
	poll_in_vain();
	arrival.wc.status = IBV_WC_WR_FLUSH_ERR;
	expect_leftover("");
}

TEST(polls_that_are_not_counted_show_no_hang)
{
	(void)state;
	poll_in_vain();
	polls_error = -ENOENT;
	expect_hang(NULL);
	polls_error = 0;
	nparts = 2;
	expect_hang(NULL);
	nparts = 1;
	replay.cut = 5;
	expect_hang(NULL);
	carried = "1";
	expect_hang("1001");
}

#define LACKS \
	"1:9 wc of 1: success, not %d completions of its queue, but the trace has %d, about 1:4"

TEST(polls_may_have_had_more_than_the_trace_has)
{
	char expected[256];

	(void)state;
	polls.completions = 7;
	for (int i = 5; i < 7; i++) {
		snprintf(expected, sizeof(expected), LACKS, 7, i);
		expect_leftover(expected);
	}
	expect_leftover(""); /* as many as there were */
	replicas[CQ].given = 5;
	replay.lossy = true;
	expect_leftover("");
	replay.lossy = false;
	replay.gaps = "why";
	expect_leftover("");
	replay.gaps = NULL;
	replicas[CQ].poll.thread = 0;
	expect_leftover("");
	assert_int_equal(nunpolled, 4);
}

TEST(a_queue_pair_is_drained_before_it_goes)
{
	(void)state;
	expect_leave(&replay, 0);
	expect_leave(&replay, CQ);
	assert_int_equal(nsettled, 0);
	replicas[PEER].qp = &peer;
	expect_leave(&replay, QP);
	expect_log("settle the peer's 0; drain");
	assert_int_equal(nsettled, 3);
	assert_false(replay.leaving);
	replicas[QP].handle = NULL;
	expect_leave(&replay, QP);
	assert_int_equal(nsettled, 3);
	replicas[QP].handle = &qp;
	queue_pair.peer = 0;
	expect_leave(&replay, QP);
	expect_log("drain");
}

static void leave_request(enum side side, bool signaled)
{
	const struct request request = { .event = { 1, 4 }, .signaled = signaled };
	uint32_t number;

	assert_int_equal(requests_put(&queue_pair.out[side], &request, &number), 0);
}

static void expect_same_hang(const char *what)
{
	char expected[256];

	snprintf(expected, sizeof(expected),
		 "drain; the %s of 1:4 was outstanding at the end of the recording, after 5000001 "
		 "empty polls, and is outstanding in the replay too: the hang is reproduced",
		 what);
	expect_leave(&replay, QP);
	expect_log(what ? expected : "drain");
}

TEST(a_hang_may_be_reproduced)
{
	(void)state;
	replicas[CQ].empty = 100;
	replicas[CQ].polled = 10ll * SECOND;
	polls.empty = 100 + 5000001;
	expect_same_hang(NULL);
	leave_request(SIDE_SEND, false);
	expect_same_hang(NULL);
	leave_request(SIDE_SEND, true);
	expect_same_hang("send");
	queue_pair.cut = "why";
	expect_same_hang(NULL);
	queue_pair.cut = NULL;
	replay.no_posts = "why";
	expect_same_hang(NULL);
	replay.no_posts = NULL;
	polls.empty = 100;
	expect_same_hang(NULL);
	polls.empty = 100 + 1000;
	expect_same_hang(NULL);
	polls.empty = 100 + 5000001;
	map_remove(&replay.handles, (uintptr_t)&polls);
	expect_same_hang(NULL);
}

TEST(a_receive_may_be_left_unless_its_process_was_killed)
{
	(void)state;
	replicas[CQ].empty = 100;
	polls.empty = 100 + 5000001;
	leave_request(SIDE_RECV, false);
	expect_same_hang(NULL);
	process.ending = "killed";
	expect_same_hang("receive");
}
