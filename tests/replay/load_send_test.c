/*
 * replay/load/load_send.c: the loop of a worker, on a device that only notes what is posted
 *
 * Senders 0 to 2 are of rank 0, and nothing is received. The order of posts and their lists do not
 * depend on how busy the machine is.
 */
#include "replay/load/load_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"
#include "tests/test.h"

enum { SENDERS = 3, POSTS = 256 };

/* One call of ibv_post_send(). */
struct posted {
	unsigned int sender, n, signaled;
	uint32_t bytes; /* of the first request */
};

static struct {
	struct load load;
	struct load_class class[SENDERS];
	struct load_track tracks[SENDERS];
	struct load_flow flows[SENDERS];
	struct load_link links[SENDERS];
	struct load_end ends[SENDERS];
	struct load_sender senders[SENDERS];
	uint32_t heap[SENDERS];
	struct load_options options;
	struct load_plan plan;
	struct load_worker worker;
	struct ibv_context context;
	struct ibv_qp qps[SENDERS];
	struct ibv_cq cq, *cqs[1];
	struct ibv_mr mr;
	struct posted posted[POSTS];
	unsigned int nposted;
	uint64_t completed[POSTS]; /* wr_ids to be polled */
	unsigned int ncompleted, polled;
	unsigned int silent; /* polls that find nothing before each completion */
	int status;          /* of completions */
	unsigned int late;
} f;

static int note_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct posted *posted = &f.posted[f.nposted++];

	(void)bad;
	assert_true(f.nposted < POSTS);
	posted->sender = (unsigned int)(qp - f.qps);
	posted->bytes = wr->sg_list->length;
	for (; wr; wr = wr->next) {
		posted->n++;
		if (wr->send_flags & IBV_SEND_SIGNALED) {
			posted->signaled++;
			f.completed[f.ncompleted++] = wr->wr_id;
		}
	}
	return 0;
}

static int give_completion(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	static unsigned int turns;

	(void)cq;
	assert_true(n > 0);
	if (f.polled == f.ncompleted || turns++ < f.silent)
		return 0;
	turns = 0;
	*wc = (struct ibv_wc){ .wr_id = f.completed[f.polled++],
			       .status = (enum ibv_wc_status)f.status };
	return 1;
}

static void count_late(void *arg, uint32_t worker, int64_t ns)
{
	(void)arg;
	assert_int_equal(worker, 0);
	assert_true(ns >= 0);
	f.late++;
}

/* Sender @i has requests of 10 + i bytes, at @start and @gap apart. */
static void set_sender(uint32_t i, size_t n, int64_t start, uint64_t gap, uint32_t depth)
{
	struct load_track *track = &f.tracks[i];
	uint32_t kind;

	assert_int_equal(load_find_kind(&f.load, ABI_WR_RDMA_WRITE, 10 + i, &kind), 0);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(load_add_request(track, gap, kind), 0);
	track->start = start;
	f.class[i] = (struct load_class){ .depth = depth, .signal = 1 };
	f.flows[i] = (struct load_flow){
		.class = &f.class[i], .track = track, .edge = { 0, 1 + i }, .link = i
	};
	f.links[i] = (struct load_link){ .rank = { 0, 1 + i }, .flow = { i, LOAD_NONE } };
	f.qps[i].context = &f.context;
	f.ends[i] = (struct load_end){ .link = i, .qp = &f.qps[i], .depth = depth };
	f.senders[i] = (struct load_sender){ .flow = i, .end = i };
	f.worker.nends = f.worker.nsenders = f.plan.nflows = f.plan.nlinks = i + 1;
}

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.context.ops.post_send = note_post;
	f.context.ops.poll_cq = give_completion;
	f.cq.context = &f.context;
	f.cqs[0] = &f.cq;
	f.options = (struct load_options){ .pace = 1, .timeout = 60000000000, .late = count_late };
	f.plan = (struct load_plan){ .load = &f.load,
				     .options = &f.options,
				     .flows = f.flows,
				     .links = f.links,
				     .nworkers = 1 };
	f.plan.board = calloc(1, sizeof(*f.plan.board) + 2 * SENDERS * sizeof(struct load_notice));
	f.worker = (struct load_worker){ .plan = &f.plan,
					 .mr = &f.mr,
					 .cqs = f.cqs,
					 .ncqs = 1,
					 .ends = f.ends,
					 .senders = f.senders,
					 .heap = f.heap };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < SENDERS; i++)
		free(f.tracks[i].requests);
	load_fini(&f.load);
	free(f.plan.board);
	return 0;
}
FIXTURE(set_up, tear_down);

static int run_loop(void)
{
	f.plan.board->go = (long long)clock_monotonic();
	return load_send(&f.worker);
}

TEST(requests_are_posted_in_the_order_of_their_times)
{
	set_sender(0, 20, 5000, 7000, 64);
	set_sender(1, 20, 0, 11000, 64);
	set_sender(2, 20, 2500, 4000, 64);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.nposted, 60);
	assert_int_equal(f.late, 60);
	for (unsigned int i = 0, at[SENDERS] = { 0 }; i < f.nposted; i++) {
		unsigned int sender = f.posted[i].sender;
		int64_t due = f.tracks[sender].start +
			      (int64_t)f.tracks[sender].requests[0].gap * at[sender]++;

		for (unsigned int k = 0; k < SENDERS; k++)
			if (at[k] < 20)
				assert_true(due <=
					    f.tracks[k].start +
						    (int64_t)f.tracks[k].requests[0].gap * at[k]);
		assert_int_equal(f.posted[i].bytes, 10 + sender);
	}
	assert_int_equal(f.worker.result.issued, 60);
	assert_int_equal(f.worker.result.completed, 60);
	assert_true(f.worker.result.bytes == 20 * (10 + 11 + 12));
	assert_int_equal(f.worker.result.full, 0);
}

TEST(requests_of_one_time_are_one_list)
{
	set_sender(0, 10, 0, 0, 64);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.nposted, 1);
	assert_int_equal(f.posted[0].n, 10);
}

TEST(a_list_is_no_longer_than_its_queue)
{
	set_sender(0, 10, 0, 0, 4);
	assert_int_equal(run_loop(), 0);
	assert_in_range(f.nposted, 3, 10);
	assert_int_equal(f.posted[0].n, 4);
	assert_int_equal(f.worker.result.completed, 10);
}

/* The queue holds one request: each other one finds it full, since a completion takes polls. */
TEST(what_finds_its_queue_full_is_counted)
{
	f.silent = 3;
	set_sender(0, 10, 0, 1, 1);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.nposted, 10);
	assert_int_equal(f.worker.result.full, 9);
	assert_int_equal(f.late, 1);
	assert_true(f.worker.result.full_longest > 0);
	assert_int_equal(f.worker.result.full_to, 1);
}

TEST(a_full_queue_holds_up_no_other_sender)
{
	f.silent = 1000;
	set_sender(0, 2, 0, 1, 1);
	set_sender(1, 20, 0, 1, 64);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.worker.result.full, 1);
	assert_int_equal(f.late, 21);
}

/* The last one is, too: its completion is needed. */
TEST(some_requests_are_signaled)
{
	unsigned int signaled = 0;

	set_sender(0, 10, 0, 1000, 64);
	f.class[0].signal = 4;
	assert_int_equal(run_loop(), 0);
	for (unsigned int i = 0; i < f.nposted; i++)
		signaled += f.posted[i].signaled;
	assert_int_equal(signaled, 3);
	assert_int_equal(f.worker.result.completed, 10);
}

/* A queue that is full without a signaled request would stay full. */
TEST(signals_are_as_frequent_as_the_queue_needs)
{
	set_sender(0, 20, 0, 1000, 4);
	f.class[0].signal = 1000;
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.ncompleted, 10);
}

TEST(an_error_ends_the_run)
{
	f.status = IBV_WC_RETRY_EXC_ERR;
	set_sender(0, 3, 0, 1000000000000, 64);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.nposted, 1);
	assert_int_equal(f.worker.result.errors, 1);
	assert_int_equal(f.worker.result.failure.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(f.worker.result.failure.from, 0);
	assert_int_equal(f.worker.result.failure.to, 1);
}

TEST(a_device_that_is_silent_is_given_up)
{
	f.silent = UINT32_MAX;
	f.options.timeout = 20000000;
	set_sender(0, 2, 0, 1, 1);
	log_silence(true);
	assert_int_equal(run_loop(), -ETIMEDOUT);
	log_silence(false);
}

TEST(the_pace_divides_times)
{
	f.options.pace = 1e6;
	set_sender(0, 10, 1000000000, 1000000000, 64);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.worker.result.issued, 10);
}

TEST(a_stop_from_outside_ends_it)
{
	static volatile sig_atomic_t stop = 1;

	f.options.stop = &stop;
	set_sender(0, 2, 1000000000000, 0, 1);
	assert_int_equal(run_loop(), 0);
	assert_int_equal(f.nposted, 0);
	assert_true(f.plan.board->stop);
}
