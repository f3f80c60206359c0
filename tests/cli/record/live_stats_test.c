/*
 * cli/record/live_stats.c: what `verbatim top` is shown, and when the recorder counts it
 *
 * The profile, the page, the trace and the clock are the test's: each event counts as one request
 * of queue pair 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/model/lives.h"
#include "analyzer/model/queue.h"
#include "analyzer/profile/pass.h"
#include "cli/record/follow.h"
#include "cli/record/live_stats.h"
#include "cli/record/live_page.h"
#include "tests/test.h"

enum { MS = 1000000, OBJECTS = 70 };

static struct session session;
static struct live_stats *vitals;
static struct live_state shown;
static unsigned int nshown, nopen, nfinished;
static bool has_page, asks;
static int page_fd, page_error, profiler_error, finish_error, visit_error;
static struct profile profile;
static struct profile_queue queues[OBJECTS + 1], *queue_list[OBJECTS + 1];
static struct histogram latencies;
static struct profile_waited waited;
static struct life life;
static struct queue sq, rq;
static struct object objects[OBJECTS + 1];
static struct trace_event events[16];
static size_t nevents, at_event;
static int64_t extended_to;
static unsigned int nextended, nfollowing;
static bool is_alive;
static uint64_t now_ns, slice_ns;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / (1000 * MS)),
				       .tv_nsec = (long)(now_ns % (1000 * MS)) };
	return 0;
}

int live_page_create(const struct session *of)
{
	assert_ptr_equal(of, &session);
	return page_error ? page_error : dup(page_fd);
}

int live_page_open(const struct session *of)
{
	assert_ptr_equal(of, &session);
	return has_page ? dup(page_fd) : -ENOENT;
}

int live_page_write(int fd, const struct live_state *state)
{
	assert_true(fd >= 0);
	shown = *state;
	nshown++;
	return page_error;
}

bool live_page_has_viewer(int fd)
{
	assert_true(fd >= 0);
	return asks;
}

struct writer_progress writer_progress(const struct writer *writer)
{
	(void)writer;
	return (struct writer_progress){ .events = 101, .lost = 102, .bytes = 103 };
}

static struct totals totals;

struct totals trace_totals(struct trace *trace)
{
	(void)trace;
	return totals;
}

uint64_t trace_alive(struct trace *trace, enum object_kind kind, uint32_t process, int64_t time)
{
	(void)trace;
	(void)time;
	assert_int_equal(kind, OBJECT_mr);
	assert_int_equal(process, 0);
	return 104;
}

int profiler_open(struct trace *trace, const struct profile_select *select,
		  struct profiler **ret_profiler)
{
	(void)trace;
	assert_null(select);
	if (profiler_error)
		return profiler_error;
	nopen++;
	*ret_profiler = (struct profiler *)(void *)&profile;
	return 0;
}

void profiler_close(struct profiler *profiler)
{
	nopen -= profiler != NULL;
}

int profiler_process_event(struct profiler *profiler, const struct trace_event *event)
{
	(void)event;
	assert_ptr_equal(profiler, &profile);
	queues[0].send.requests++;
	profile.send.requests++;
	return visit_error;
}

const struct profile *profiler_profile(const struct profiler *profiler)
{
	assert_ptr_equal(profiler, &profile);
	return &profile;
}

int profiler_waits(struct profiler *profiler, struct profile_waited *ret_waited)
{
	(void)profiler;
	*ret_waited = waited;
	return 0;
}

const struct life *profiler_life(const struct profiler *profiler, const struct object *object)
{
	(void)profiler;
	return is_alive && object->id == 1 ? &life : NULL;
}

int profiler_finish(struct profiler *profiler)
{
	(void)profiler;
	nfinished++;
	return finish_error;
}

const struct object *trace_object(struct trace *trace, uint32_t id)
{
	(void)trace;
	return id && id <= OBJECTS ? &objects[id] : NULL;
}

int follow_open(struct follow *follow, struct writer *writer)
{
	(void)writer;
	*follow = (struct follow){ .trace = (struct trace *)(void *)&session };
	nfollowing++;
	at_event = 0;
	return 0;
}

void follow_close(struct follow *follow)
{
	nfollowing -= follow->trace != NULL;
	*follow = (struct follow){ 0 };
}

int follow_extend(struct follow *follow, int64_t to)
{
	follow->more = true;
	follow->to = extended_to = to;
	nextended++;
	return 0;
}

/* A slice is one event. */
int follow_for_slice(struct follow *follow, uint64_t start, follow_visit *visit, void *arg)
{
	int err;

	assert_true(start > 0);
	now_ns += slice_ns;
	if (at_event == nevents || events[at_event].time > follow->to) {
		follow->more = false;
		return 0;
	}
	err = visit(arg, &events[at_event++]);
	return err ? err : 1;
}

int follow_to_end(struct follow *follow, follow_visit *visit, void *arg)
{
	int more;

	while ((more = follow_for_slice(follow, 1, visit, arg)) > 0)
		;
	return more;
}

static int begin_vitals(void **state)
{
	(void)state;
	now_ns = 77000ull * MS;
	slice_ns = 0;
	page_fd = dup(1);
	has_page = asks = is_alive = false;
	nshown = nopen = nfinished = nextended = nfollowing = 0;
	page_error = profiler_error = finish_error = visit_error = 0;
	memset(queues, 0, sizeof(queues));
	memset(&shown, 0, sizeof(shown));
	for (uint32_t i = 0; i <= OBJECTS; i++) {
		queue_list[i] = NULL;
		objects[i] = (struct object){ .id = i, .number = 500 + i, .name = "qp" };
	}
	queues[0].object = 1;
	queues[0].process = 9;
	queue_list[1] = &queues[0];
	profile = (struct profile){ .one_of = 1, .queues = queue_list, .nobjects = 2 };
	waited = (struct profile_waited){ 0 };
	for (int i = 0; i < 16; i++)
		events[i] = (struct trace_event){ .time = 1000 + i };
	nevents = 3;
	return live_stats_new(&session, NULL, false, &vitals);
}

static int end_vitals(void **state)
{
	(void)state;
	live_stats_free(vitals);
	assert_int_equal(nopen, 0);
	assert_int_equal(nfollowing, 0);
	close(page_fd);
	histogram_fini(&latencies);
	return 0;
}

FIXTURE(begin_vitals, end_vitals);

/* A step when the next round is due. */
static bool step_round(int64_t seen)
{
	now_ns += 100 * MS;
	return live_stats_step(vitals, seen, 0);
}

static bool step_on(int64_t seen)
{
	return live_stats_step(vitals, seen, 0);
}

/* A viewer comes, and all events so far are counted. */
static void show_all(void)
{
	has_page = asks = true;
	live_stats_finish(vitals);
}

TEST(nothing_is_counted_without_a_viewer)
{
	(void)state;
	assert_false(step_on(1000 * MS));
	assert_false(live_stats_has_viewer(vitals));
	has_page = true;
	live_stats_finish(vitals);
	assert_int_equal(nopen, 0);
	assert_int_equal(nshown, 0);
	assert_false(step_on(1000 * MS)); /* it is over */
}

TEST(a_viewer_is_noticed_at_the_next_round)
{
	(void)state;
	has_page = asks = true;
	events[2].time = 901 * MS; /* in the window: others may still be published before */
	assert_true(step_on(1000 * MS));
	assert_true(live_stats_has_viewer(vitals));
	assert_int_equal(nopen, 1);
	assert_int_equal(extended_to, 900 * MS);
	assert_int_equal(nshown, 1);
	assert_int_equal(shown.phase, LIVE_BEHIND);
	assert_int_equal(shown.all.data.requests, 1);
	assert_int_equal(shown.time, 1000);
	assert_int_equal(shown.seen, 1000 * MS);
	assert_true(step_on(1000 * MS));
	assert_false(step_on(1000 * MS));
	assert_int_equal(nshown, 1); /* once a second */
	assert_int_equal(nextended, 1);
	asks = false;
	step_round(1001 * MS);
	assert_false(live_stats_has_viewer(vitals));
	assert_int_equal(nopen, 0);
	assert_int_equal(nextended, 1);
}

TEST(rounds_and_publications_are_due_in_time)
{
	(void)state;
	nevents = 0;
	has_page = asks = true;
	step_on(200 * MS);
	now_ns += 100 * MS - 1;
	step_on(300 * MS);
	assert_int_equal(nextended, 1);
	now_ns++;
	step_on(300 * MS);
	assert_int_equal(nextended, 2);
	assert_int_equal(extended_to, 200 * MS);
	now_ns += 900 * MS - 1;
	step_on(1200 * MS);
	assert_int_equal(nshown, 1);
	now_ns++;
	step_on(1200 * MS);
	assert_int_equal(nshown, 2);
	assert_int_equal(shown.phase, LIVE_RUNNING);
	assert_int_equal(shown.time, 1100 * MS); /* the trace is counted so far */
	assert_int_equal(shown.interval, 1000 * MS);
}

TEST(a_window_at_the_start_is_empty)
{
	(void)state;
	has_page = asks = true;
	step_on(100 * MS);
	assert_int_equal(extended_to, 0);
	assert_int_equal(shown.phase, LIVE_RUNNING);
	step_round(100 * MS + 1);
	assert_int_equal(extended_to, 1);
}

TEST(reading_comes_first)
{
	(void)state;
	has_page = asks = true;
	assert_true(live_stats_step(vitals, 1000 * MS, 26));
	assert_int_equal(at_event, 0);
	assert_true(live_stats_step(vitals, 1000 * MS, 25));
	assert_int_equal(at_event, 1);
}

TEST(an_awaited_viewer_gets_at_least_the_end)
{
	(void)state;
	live_stats_free(vitals);
	page_error = -EACCES;
	assert_int_equal(live_stats_new(&session, NULL, true, &vitals), -EACCES);
	page_error = 0;
	assert_int_equal(live_stats_new(&session, NULL, true, &vitals), 0);
	step_on(1000 * MS);
	assert_true(live_stats_has_viewer(vitals));
	live_stats_finish(vitals);
	assert_int_equal(shown.phase, LIVE_ENDED);
	assert_int_equal(shown.all.data.requests, 3);
	assert_false(live_stats_has_viewer(vitals));
}

TEST(an_awaited_viewer_that_came_may_go)
{
	(void)state;
	live_stats_free(vitals);
	assert_int_equal(live_stats_new(&session, NULL, true, &vitals), 0);
	asks = true;
	step_on(1000 * MS);
	asks = false;
	step_round(1001 * MS);
	assert_false(live_stats_has_viewer(vitals));
}

TEST(the_end_counts_all)
{
	(void)state;
	totals = (struct totals){ .duration = 1010, .processes = 2, .threads = 3 };
	show_all();
	totals = (struct totals){ 0 };
	assert_int_equal(nshown, 1);
	assert_int_equal(nfinished, 1);
	assert_int_equal(extended_to, INT64_MAX);
	assert_int_equal(shown.phase, LIVE_ENDED);
	assert_int_equal(shown.time, 1010); /* of the trace, not of its last event */
	assert_int_equal(shown.interval, 1010);
	assert_int_equal(shown.events, 101);
	assert_int_equal(shown.lost, 102);
	assert_int_equal(shown.bytes, 103);
	assert_int_equal(shown.processes, 2);
	assert_int_equal(shown.threads, 3);
	assert_int_equal(shown.regions, 104);
	assert_int_equal(shown.one_of, 1);
	live_stats_finish(vitals);
	assert_int_equal(nshown, 1);
}

static void expect_failed(unsigned int n)
{
	assert_int_equal(nshown, n);
	assert_int_equal(shown.phase, LIVE_FAILED);
	assert_false(live_stats_has_viewer(vitals));
	assert_int_equal(nopen, 0);
	assert_false(step_round(1000 * MS));
	assert_int_equal(nshown, n);
}

TEST(a_failure_ends_it)
{
	(void)state;
	has_page = asks = true;
	visit_error = -ENOMEM;
	assert_false(step_on(1000 * MS));
	expect_failed(1);
}

TEST(a_start_that_fails_ends_it)
{
	(void)state;
	has_page = asks = true;
	profiler_error = -ENOMEM;
	assert_false(step_on(1000 * MS));
	expect_failed(1);
}

TEST(an_end_that_fails_is_reported)
{
	(void)state;
	finish_error = -EIO;
	show_all();
	expect_failed(1);
}

TEST(a_page_that_cannot_be_written_ends_it)
{
	(void)state;
	has_page = asks = true;
	page_error = -EIO;
	step_on(1000 * MS);
	expect_failed(2);
}

TEST(events_are_read_before_they_are_dropped)
{
	(void)state;
	live_stats_read_until(vitals, 1001);
	assert_int_equal(nextended, 0); /* it does not count */
	has_page = asks = true;
	step_on(100 * MS);
	live_stats_read_until(vitals, 1001);
	assert_int_equal(extended_to, 1001);
	assert_int_equal(at_event, 2);
	live_stats_read_until(vitals, 1001);
	assert_int_equal(nextended, 2);
	visit_error = -EIO;
	live_stats_read_until(vitals, 2000);
	expect_failed(2);
}

/* The program waits meanwhile. Then events are dropped, and counting begins with those left. */
TEST(a_viewer_delays_no_drop_for_long)
{
	(void)state;
	nevents = 10;
	has_page = asks = true;
	step_on(100 * MS);
	slice_ns = 30 * MS;
	live_stats_read_until(vitals, 1009);
	assert_int_equal(at_event, 4);
	assert_int_equal(nfollowing, 0);
	assert_true(live_stats_has_viewer(vitals));
	step_round(200 * MS);
	assert_int_equal(nfollowing, 1);
	assert_int_equal(at_event, 1);
}

static void see_state(void *arg, const struct live_now *now)
{
	(void)arg;
	(void)now;
}

TEST(metrics_count_all_events)
{
	(void)state;
	nevents = 10;
	live_stats_each(vitals, see_state, NULL);
	step_on(100 * MS);
	slice_ns = 30 * MS;
	live_stats_read_until(vitals, 1009);
	assert_int_equal(at_event, 10);
	assert_int_equal(nfollowing, 1);
}

TEST(a_check_passes_its_events_on)
{
	(void)state;
	assert_int_equal(live_stats_attach(NULL, NULL), 0);
	live_stats_count_event(NULL, &events[0]);
	live_stats_detach(NULL);
	live_stats_detach(vitals);
	assert_int_equal(live_stats_attach(vitals, (struct trace *)(void *)&session), 0);
	assert_int_equal(nopen, 1);
	has_page = asks = true;
	live_stats_count_event(vitals, &events[0]);
	assert_false(step_on(1000 * MS));
	assert_int_equal(nfollowing, 0);
	assert_int_equal(shown.all.data.requests, 1);
	assert_int_equal(shown.phase, LIVE_RUNNING);
	live_stats_read_until(vitals, 2000);
	assert_int_equal(nextended, 0);
	asks = false; /* statistics are computed nevertheless */
	step_round(1000 * MS);
	assert_int_equal(nopen, 1);
	asks = true;
	live_stats_count_event(vitals, &events[1]);
	live_stats_finish(vitals);
	assert_int_equal(nextended, 0);
	assert_int_equal(shown.all.data.requests, 2);
	live_stats_detach(vitals);
	assert_int_equal(shown.phase, LIVE_ENDED);
	assert_int_equal(nopen, 0);
}

TEST(a_check_that_fails_ends_it)
{
	(void)state;
	live_stats_attach(vitals, (struct trace *)(void *)&session);
	has_page = asks = true;
	step_on(1000 * MS);
	live_stats_detach(vitals);
	expect_failed(2);
	live_stats_detach(vitals);
	assert_int_equal(nshown, 2);
}

TEST(an_event_that_fails_ends_it)
{
	(void)state;
	live_stats_attach(vitals, (struct trace *)(void *)&session);
	has_page = asks = true;
	step_on(1000 * MS);
	visit_error = -ENOMEM;
	live_stats_count_event(vitals, &events[0]);
	expect_failed(2);
	live_stats_count_event(vitals, &events[0]);
	assert_int_equal(nshown, 2);
	live_stats_detach(vitals);
}

static void set_counts(uint64_t n)
{
	profile.send.requests = 1 * n;
	profile.receive.requests = 2 * n;
	profile.sent = 3 * n;
	profile.received = 4 * n;
	profile.completions = 6 * n;
	profile.errors = 5 * n;
	profile.flushed = 7 * n;
	profile.registered = 8 * n;
	profile.registered_bytes = 9 * n;
	profile.verbs[VERB_create_qp].calls = 10 * n;
	profile.verbs[VERB_create_qp].errors = 11 * n;
	profile.verbs[VERB_post_send].calls = 1000 * n;
	waited = (struct profile_waited){ .times = 12 * n, .ns = (int64_t)(13 * n), .most = 14 };
}

static void expect_totals(const struct live_totals *t, uint64_t n, uint64_t of)
{
	assert_int_equal(t->data.requests, 1 * n * of);
	assert_int_equal(t->data.receives, 2 * n * of);
	assert_int_equal(t->data.sent, 3 * n * of);
	assert_int_equal(t->data.received, 4 * n * of);
	assert_int_equal(t->data.completions, (of + 5) * n); /* all errors are recorded */
	assert_int_equal(t->data.errors, 5 * n);
	assert_int_equal(t->flushed, 7 * n);
	assert_int_equal(t->registered, 8 * n);
	assert_int_equal(t->registered_bytes, 9 * n);
	assert_int_equal(t->calls, 10 * n);
	assert_int_equal(t->failed, 11 * n);
	assert_int_equal(t->waits, 12 * n);
	assert_int_equal(t->waited_ns, 13 * n);
}

TEST(totals_are_shown_since_the_last_time_too)
{
	(void)state;
	nevents = 0;
	has_page = asks = true;
	set_counts(1);
	profile.one_of = 10;
	step_on(100 * MS + 4);
	assert_int_equal(shown.time, 4);
	assert_int_equal(shown.one_of, 10);
	expect_totals(&shown.all, 1, 10);
	expect_totals(&shown.since, 1, 10);
	assert_int_equal(shown.waited_most, 14);
	assert_int_equal(shown.interval, 4);
	set_counts(20); /* at the end it is an estimate already */
	live_stats_finish(vitals);
	expect_totals(&shown.all, 20, 1);
	assert_int_equal(shown.since.data.requests, 20 - 10);
	assert_int_equal(shown.since.data.errors, 5 * 19);
	assert_int_equal(shown.since.data.receives, 40 - 20);
	assert_int_equal(shown.since.data.sent, 60 - 30);
	assert_int_equal(shown.since.data.received, 80 - 40);
	assert_int_equal(shown.since.data.completions, 120 - 15);
	assert_int_equal(shown.since.flushed, 7 * 19);
	assert_int_equal(shown.since.calls, 10 * 19);
	assert_int_equal(shown.since.failed, 11 * 19);
	assert_int_equal(shown.since.registered, 8 * 19);
	assert_int_equal(shown.since.registered_bytes, 9 * 19);
	assert_int_equal(shown.since.waits, 12 * 19);
	assert_int_equal(shown.since.waited_ns, 13 * 19);
}

TEST(a_queue_pair_has_a_row)
{
	const struct live_queue *row = &shown.queues[0];

	(void)state;
	nevents = 0;
	is_alive = true;
	life = (struct life){ .sq = &sq, .rq = &rq };
	sq = (struct queue){ .outstanding = 3, .limits = { .given = 8, .asked = 7 } };
	rq = (struct queue){ .outstanding = 4, .limits = { .asked = 6 }, .doubt = 1 };
	queues[0].send = (struct profile_side){ .requests = 1, .completions = 3 };
	queues[0].receive = (struct profile_side){ .requests = 2, .completions = 4 };
	queues[0].sent = 5;
	queues[0].received = 6;
	queues[0].errors = 10;
	for (int i = 0; i < 100; i++)
		histogram_add(&latencies, i < 50 ? 10 : i < 99 ? 20 : 30);
	queues[0].latency = &latencies;
	show_all();
	assert_int_equal(shown.nqueues, 1);
	assert_int_equal(shown.queues_of_all, 1);
	assert_string_equal(row->name, "qp");
	assert_int_equal(row->object, 1);
	assert_int_equal(row->process, 9);
	assert_int_equal(row->number, 501);
	assert_false(row->gone);
	assert_int_equal(row->all.requests, 1);
	assert_int_equal(row->all.receives, 2);
	assert_int_equal(row->all.sent, 5);
	assert_int_equal(row->all.received, 6);
	assert_int_equal(row->all.completions, 3 + 4 + 10);
	assert_int_equal(row->all.errors, 10);
	assert_memory_equal(&row->since, &row->all, sizeof(row->all));
	assert_int_equal(row->send.outstanding, 3);
	assert_int_equal(row->send.capacity, 8);
	assert_true(row->send.known);
	assert_int_equal(row->receive.outstanding, 4);
	assert_int_equal(row->receive.capacity, 6);
	assert_false(row->receive.known);
	assert_int_equal(row->latency.count, 100);
	assert_int_equal(row->latency.half, 10);
	assert_int_equal(row->latency.most_of_all, 20);
	assert_int_equal(row->latency.longest, 30);
}

TEST(a_queue_pair_that_is_gone_has_no_depth)
{
	(void)state;
	queues[0].object = OBJECTS + 1; /* a damaged trace: the object has no name either */
	show_all();
	assert_true(shown.queues[0].gone);
	assert_string_equal(shown.queues[0].name, "?");
	assert_int_equal(shown.queues[0].number, 0);
	assert_int_equal(shown.queues[0].send.capacity, 0);
	assert_int_equal(shown.queues[0].latency.count, 0);
	assert_int_equal(shown.queues[0].latency.longest, -1);
}

TEST(rows_are_of_what_happened_since)
{
	(void)state;
	nevents = 0;
	has_page = asks = true;
	profile.one_of = 4; /* of ten, four were recorded */
	queues[0].latency = &latencies;
	queues[0].send.requests = 10;
	histogram_add(&latencies, 10);
	step_on(100 * MS);
	assert_int_equal(shown.queues[0].since.requests, 40);
	assert_int_equal(shown.queues[0].latency.count, 1);
	queues[0].send.requests = 50;
	histogram_add(&latencies, 20);
	histogram_add(&latencies, 20);
	live_stats_finish(vitals);
	assert_int_equal(shown.queues[0].all.requests, 50);
	assert_int_equal(shown.queues[0].since.requests, 10);
	assert_int_equal(shown.queues[0].latency.count, 2);
	assert_int_equal(shown.queues[0].latency.half, 20);
}

TEST(a_viewer_that_comes_again_starts_anew)
{
	(void)state;
	nevents = 0;
	has_page = asks = true;
	queues[0].send.requests = 10;
	step_on(100 * MS + 7);
	asks = false;
	step_round(100 * MS + 8);
	asks = true;
	step_round(100 * MS + 9);
	assert_int_equal(nshown, 2);
	assert_int_equal(shown.queues[0].since.requests, 10);
	assert_int_equal(shown.interval, 9);
}

TEST(the_busiest_queue_pairs_have_rows)
{
	(void)state;
	nevents = 0;
	has_page = asks = true;
	profile.nobjects = OBJECTS + 1;
	for (uint32_t i = 1; i <= OBJECTS; i++) {
		queues[i] = (struct profile_queue){ .object = i, .send.requests = i };
		queue_list[i] = &queues[i];
	}
	step_on(100 * MS);
	assert_int_equal(shown.queues_of_all, OBJECTS);
	assert_int_equal(shown.nqueues, LIVE_QUEUES);
	assert_int_equal(shown.queues[0].object, OBJECTS);
	assert_int_equal(shown.queues[LIVE_QUEUES - 1].object, OBJECTS - LIVE_QUEUES + 1);
	queues[3].receive.requests =
		2; /* since the last view: these queues precede others with higher totals */
	queues[5].receive.completions = 1;
	queues[4].send.requests++;
	live_stats_finish(vitals);
	assert_int_equal(shown.queues[0].object, 3);
	assert_int_equal(shown.queues[1].object, 5); /* 6 in all */
	assert_int_equal(shown.queues[2].object, 4); /* 5 */
	assert_int_equal(shown.queues[3].object, OBJECTS);
	assert_int_equal(shown.queues[4].object, OBJECTS - 1);
}

TEST(queue_pairs_that_are_alike_keep_their_order)
{
	(void)state;
	profile.nobjects = 4;
	for (uint32_t i = 1; i <= 3; i++) {
		queues[i] = (struct profile_queue){ .object = i, .send.requests = 5 };
		queue_list[i] = &queues[i];
	}
	nevents = 0;
	show_all();
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(shown.queues[i].object, i + 1);
}

TEST(latencies_are_shown_by_opcode)
{
	struct profile_requests requests[2] = { 0 };

	(void)state;
	nevents = 0;
	has_page = asks = true;
	profile.requests[2][0] = &requests[0];
	profile.requests[4][1] = &requests[1];
	histogram_add(&requests[0].latency, 7);
	histogram_add(&requests[1].latency, 9);
	step_on(100 * MS);
	assert_int_equal(shown.nlatencies, 2);
	assert_int_equal(shown.latencies[0].opcode, 2);
	assert_int_equal(shown.latencies[0].longest, 7);
	assert_int_equal(shown.latencies[1].opcode, 4);
	assert_int_equal(shown.latencies[1].half, 9);
	histogram_add(&requests[1].latency, 11);
	profile.one_of = 2; /* of a sample there are none */
	live_stats_finish(vitals);
	assert_int_equal(shown.nlatencies, 0);
	histogram_fini(&requests[0].latency);
	histogram_fini(&requests[1].latency);
}
