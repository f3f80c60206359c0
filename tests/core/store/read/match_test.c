#include <errno.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "core/store/chunk/abi.h"
#include "core/store/read/match.h"
#include "tests/test.h"

enum { QP = 5, OTHER = 6, SRQ = 7, SEND_CQ = 8, RECV_CQ = 9 };

static struct match *match;
static uint64_t last_n;

static int make_match(void **state)
{
	(void)state;
	last_n = 0;
	return match_new(&match);
}

static int free_match(void **state)
{
	(void)state;
	match_free(match);
	return 0;
}

/* Post requests with these wr_ids; returns the number of the call. */
static uint64_t post_list(enum verb verb, uint32_t object, const uint64_t *ids, uint32_t n,
			  uint32_t flags, int ret, uint32_t bad)
{
	struct wr wrs[64] = { 0 };
	struct post post = { .verb = verb, .nwr = n, .wr = wrs, .ret = ret, .bad = bad };

	for (uint32_t i = 0; i < n; i++) {
		wrs[i].wr_id = ids[i];
		wrs[i].send_flags = flags;
	}
	last_n++;
	assert_int_equal(match_note_post(match, object, &post, (struct event_id){ 1, last_n },
					 (int64_t)last_n * 10),
			 0);
	return last_n;
}

static uint64_t post_send(uint64_t wr_id, uint32_t flags)
{
	return post_list(VERB_post_send, QP, &wr_id, 1, flags, 0, 0);
}

static uint64_t post_receive(uint64_t wr_id)
{
	return post_list(VERB_post_recv, QP, &wr_id, 1, 0, 0, 0);
}

static struct match_found complete_on(uint32_t qp, uint32_t cq, uint64_t wr_id, int status,
				      int opcode)
{
	struct wc wc = { .wr_id = wr_id, .status = status, .opcode = opcode };
	struct match_found found;
	bool fits = match_find_request(match, qp, cq, &wc, &found);

	assert_int_equal(fits, found.request.thread != 0);
	return found;
}

/* Number of the call that the completion belongs to, 0: none. */
static uint64_t complete_send(uint64_t wr_id)
{
	return complete_on(QP, 0, wr_id, 0, IBV_WC_SEND).request.n;
}

static uint64_t complete_receive(uint64_t wr_id)
{
	return complete_on(QP, 0, wr_id, 0, IBV_WC_RECV).request.n;
}

static uint64_t complete_failed(uint64_t wr_id)
{
	return complete_on(QP, 0, wr_id, IBV_WC_WR_FLUSH_ERR, 77).request.n;
}

FIXTURE(make_match, free_match);

TEST(numbers_are_those_of_the_header)
{
	assert_int_equal(ABI_WC_SUCCESS, IBV_WC_SUCCESS);
	assert_int_equal(ABI_WC_RECV, IBV_WC_RECV);
	assert_int_equal(ABI_WC_WITH_INV, IBV_WC_WITH_INV);
	assert_int_equal(ABI_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
	assert_int_equal(ABI_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ABI_WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
	assert_int_equal(ABI_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ABI_WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
	assert_int_equal(ABI_WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(ABI_WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_int_equal(ABI_SEND_SIGNALED, IBV_SEND_SIGNALED);
	assert_int_equal(ABI_QPS_RESET, IBV_QPS_RESET);
	assert_int_equal(ABI_WQS_RESET, IBV_WQS_RESET);
	assert_int_equal(ABI_WC_TM_ERR, IBV_WC_TM_ERR);
	assert_int_equal(ABI_WC_TM_RNDV_INCOMPLETE, IBV_WC_TM_RNDV_INCOMPLETE);
	assert_int_equal(ABI_WC_TM_ADD, IBV_WC_TM_ADD);
	assert_int_equal(ABI_WC_TM_DEL, IBV_WC_TM_DEL);
	assert_int_equal(ABI_WC_TM_SYNC, IBV_WC_TM_SYNC);
	assert_int_equal(ABI_WC_TM_RECV, IBV_WC_TM_RECV);
	assert_int_equal(ABI_WC_TM_MATCH, IBV_WC_TM_MATCH);
	assert_int_equal(ABI_WC_TM_DATA_VALID, IBV_WC_TM_DATA_VALID);
}

TEST(completion_finds_its_request)
{
	uint64_t n = post_send(42, IBV_SEND_SIGNALED);
	struct match_found found = complete_on(QP, 0, 42, 0, IBV_WC_SEND);

	assert_int_equal(found.request.n, n);
	assert_int_equal(found.posted_at, n * 10);
	assert_false(found.receive);
	assert_int_equal(complete_send(42), 0);
}

TEST(wr_id_used_again_goes_by_order)
{
	uint64_t a = post_send(2, IBV_SEND_SIGNALED), b = post_send(2, IBV_SEND_SIGNALED);

	assert_int_equal(complete_send(2), a);
	assert_int_equal(complete_send(2), b);
}

TEST(same_wr_id_on_both_sides_goes_by_opcode)
{
	uint64_t r = post_receive(1), s = post_send(1, IBV_SEND_SIGNALED);

	assert_int_equal(complete_send(1), s);
	assert_int_equal(complete_receive(1), r);
}

TEST(unsignaled_are_retired_by_a_later_one)
{
	uint64_t last;

	for (int i = 0; i < 15; i++)
		post_send(0, 0);
	last = post_send(0, IBV_SEND_SIGNALED);
	assert_int_equal(complete_send(0), last);
	assert_int_equal(complete_failed(0), 0); /* nothing is left */
}

/* A signaled request stays until its own completion, whichever comes first. */
static void complete_second_first(bool sig_all, uint32_t flags, bool first_stays)
{
	uint64_t a, b;

	match_add_qp(match, QP, &(struct match_qp){ .sq_sig_all = sig_all });
	a = post_send(1, flags);
	b = post_send(2, flags);
	assert_int_equal(complete_send(2), b);
	assert_int_equal(complete_send(1), first_stays ? a : 0);
}

TEST(sq_sig_all_signals_all)
{
	complete_second_first(true, 0, true);
}

TEST(without_sq_sig_all_the_flag_decides)
{
	complete_second_first(false, 0, false);
	complete_second_first(false, IBV_SEND_SIGNALED, true);
}

TEST(poll_with_an_early_time_takes_nothing_away)
{
	uint64_t a = post_send(1, IBV_SEND_SIGNALED), b = post_send(2, IBV_SEND_SIGNALED);

	assert_int_equal(complete_send(2), b); /* polled by a thread whose clock is ahead */
	assert_int_equal(complete_send(1), a);
}

TEST(list_counts_by_index)
{
	const uint64_t ids[] = { 7, 8, 9 };
	uint64_t n = post_list(VERB_post_send, QP, ids, 3, IBV_SEND_SIGNALED, 0, 0);
	struct match_found found;

	for (uint32_t i = 0; i < 3; i++) {
		found = complete_on(QP, 0, ids[i], 0, IBV_WC_SEND);
		assert_int_equal(found.request.n, n);
		assert_int_equal(found.index, i);
	}
}

TEST(failed_post_counts_up_to_bad_wr)
{
	const uint64_t ids[] = { 7, 8, 9 };

	post_list(VERB_post_send, QP, ids, 3, IBV_SEND_SIGNALED, 12, 3);
	assert_int_not_equal(complete_send(7), 0);
	assert_int_not_equal(complete_send(8), 0);
	assert_int_equal(complete_send(9), 0);
	post_list(VERB_post_send, QP, ids, 3, IBV_SEND_SIGNALED, 12, 1);
	assert_int_equal(complete_send(7), 0);
	post_list(VERB_post_send, QP, ids, 3, IBV_SEND_SIGNALED, 12, 0);
	assert_int_equal(complete_send(7), 0);
}

TEST(error_goes_by_its_cq)
{
	uint64_t s, r;

	match_add_qp(match, QP, &(struct match_qp){ .send_cq = SEND_CQ, .recv_cq = RECV_CQ });
	r = post_receive(1);
	s = post_send(1, IBV_SEND_SIGNALED);
	assert_int_equal(complete_on(QP, SEND_CQ, 1, 5, 0).request.n, s);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 5, 0).request.n, r);
}

TEST(error_of_the_requester_is_a_sends)
{
	static const int statuses[] = { IBV_WC_MW_BIND_ERR,    IBV_WC_BAD_RESP_ERR,
					IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
					IBV_WC_RETRY_EXC_ERR,  IBV_WC_RNR_RETRY_EXC_ERR };
	uint64_t s;

	post_receive(1); /* older, and ahead in the other queue, too */
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		s = post_send(1, IBV_SEND_SIGNALED);
		assert_int_equal(complete_on(QP, 0, 1, statuses[i], 77).request.n, s);
	}
}

TEST(error_goes_by_the_front)
{
	uint64_t r, s;

	post_receive(8);
	r = post_receive(1);
	s = post_send(1, IBV_SEND_SIGNALED);
	assert_int_equal(complete_failed(1), s); /* ahead in the other queue, second in this one */
	assert_int_equal(complete_failed(1), r);
}

static uint32_t count_candidates(uint64_t wr_id, int status)
{
	return complete_on(QP, 0, wr_id, status, 77).candidates;
}

TEST(error_of_either_side_has_two_candidates)
{
	for (int i = 0; i < 3; i++) {
		post_receive(1);
		post_send(1, IBV_SEND_SIGNALED);
	}
	assert_int_equal(count_candidates(1, IBV_WC_LOC_PROT_ERR), 2);
	assert_int_equal(count_candidates(1, IBV_WC_RETRY_EXC_ERR), 1);
	assert_int_equal(count_candidates(1, IBV_WC_WR_FLUSH_ERR), 0);
	post_receive(2);
	assert_int_equal(count_candidates(2, IBV_WC_LOC_PROT_ERR), 1);
}

/* Many programs give all requests the wr_id 0, and have posted their receives long before. */
TEST(error_of_either_side_tells_both)
{
	static const struct {
		int status;
		bool receive;
	} rows[] = {
		{ IBV_WC_LOC_PROT_ERR, false },
		{ IBV_WC_LOC_QP_OP_ERR, false },
		{ IBV_WC_REM_INV_REQ_ERR, false },
		{ IBV_WC_LOC_LEN_ERR, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t r = post_receive(0), s = post_send(0, IBV_SEND_SIGNALED);
		struct match_found found = complete_on(QP, 0, 0, rows[i].status, 77);

		assert_int_equal(found.receive, rows[i].receive);
		assert_int_equal(found.request.n, rows[i].receive ? r : s);
		assert_int_equal(found.other.n, rows[i].receive ? s : r);
		assert_int_equal(found.other_posted_at, found.other.n * 10);
		match_reset(match, QP);
	}
}

TEST(error_of_one_side_has_no_other)
{
	static const int statuses[] = { IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR,
					IBV_WC_WR_FLUSH_ERR };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		uint64_t r = post_receive(0), s = post_send(0, IBV_SEND_SIGNALED);
		struct match_found found = complete_on(QP, 0, 0, statuses[i], 77);

		assert_int_equal(found.request.n, i ? r : s);
		assert_int_equal(found.other.thread, 0);
		match_reset(match, QP);
	}
}

TEST(error_may_be_of_any_that_is_not_signaled)
{
	for (int i = 0; i < 5; i++)
		post_send(1, 0);
	post_send(1, IBV_SEND_SIGNALED);
	post_send(1, IBV_SEND_SIGNALED);
	assert_int_equal(count_candidates(1, IBV_WC_REM_ACCESS_ERR), 6);
}

TEST(error_of_an_unsignaled_request_is_found)
{
	uint64_t a = post_send(3, 0), b = post_send(4, 0);

	assert_int_equal(complete_failed(3), a);
	assert_int_equal(complete_failed(4), b);
}

TEST(flushes_empty_both_sides)
{
	for (uint64_t i = 0; i < 10; i++) {
		post_send(i, 0);
		post_receive(100 + i);
	}
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_not_equal(complete_failed(100 + i), 0);
		assert_int_not_equal(complete_failed(i), 0);
	}
	assert_int_equal(complete_failed(0), 0);
}

TEST(reset_and_destroy_forget)
{
	post_send(1, IBV_SEND_SIGNALED);
	post_receive(2);
	match_reset(match, QP);
	assert_int_equal(complete_send(1), 0);
	assert_int_equal(complete_receive(2), 0);
	post_send(1, IBV_SEND_SIGNALED);
	match_remove(match, QP);
	assert_int_equal(complete_send(1), 0);
	match_remove(match, 12345);
	match_reset(match, 12345);
}

TEST(shared_receives_are_found_from_any_queue)
{
	const struct match_qp info = { .srq = SRQ };
	const uint64_t ids[] = { 1, 2, 1 };

	match_add_srq(match, SRQ, 100, 100, 0);
	match_add_qp(match, QP, &info);
	match_add_qp(match, OTHER, &info);
	post_list(VERB_post_srq_recv, SRQ, ids, 3, 0, 0, 0);
	assert_int_equal(complete_on(OTHER, 0, 2, 0, IBV_WC_RECV).index, 1);
	assert_int_equal(complete_on(QP, 0, 1, 0, IBV_WC_RECV).index, 0);
	assert_int_equal(complete_on(OTHER, 0, 1, 0, IBV_WC_RECV).index, 2);
	assert_int_equal(complete_on(QP, 0, 1, 0, IBV_WC_RECV).request.n, 0);
}

/* An unexpected message consumes a receive; a tagged buffer and its list have separate numbers. */
TEST(tag_matching_list_takes_no_receive)
{
	static const struct wc of_list[] = {
		{ .wr_id = 1, .opcode = IBV_WC_TM_ADD },
		{ .wr_id = 1, .opcode = IBV_WC_TM_DEL },
		{ .wr_id = 1, .opcode = IBV_WC_TM_SYNC, .wc_flags = IBV_WC_TM_SYNC_REQ },
		{ .wr_id = 1, .opcode = IBV_WC_TM_RECV, .wc_flags = IBV_WC_TM_MATCH },
		{ .wr_id = 1, .opcode = IBV_WC_TM_RECV, .wc_flags = IBV_WC_TM_DATA_VALID },
		{ .wr_id = 1, .opcode = 77, .status = IBV_WC_TM_ERR },
		{ .wr_id = 1, .opcode = 77, .status = IBV_WC_TM_RNDV_INCOMPLETE },
	};
	const struct match_qp info = { .srq = SRQ };
	const uint64_t ids[] = { 1, 1 };
	struct match_found found;

	match_add_srq(match, SRQ, 100, 100, RECV_CQ);
	match_add_qp(match, QP, &info);
	post_list(VERB_post_srq_recv, SRQ, ids, 2, 0, 0, 0);
	for (size_t i = 0; i < sizeof(of_list) / sizeof(*of_list); i++)
		assert_false(match_find_request(match, QP, RECV_CQ, &of_list[i], &found));
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 0, IBV_WC_TM_RECV).index, 0);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 0, IBV_WC_TM_NO_TAG).index, 1);
}

/*
 * The queue pair of an XRC receive is not the one it was posted to; a work queue has no queue pair
 * number.
 */
TEST(receives_elsewhere_are_found_by_their_cq)
{
	enum { WQ = 11 };
	const uint64_t same = 1;
	uint64_t a, b, c;

	match_add_qp(match, QP, &(struct match_qp){ 0 });
	match_add_srq(match, SRQ, 100, 100, RECV_CQ);
	match_add_srq(match, OTHER, 100, 100, RECV_CQ);
	match_add_srq(match, WQ, 100, 100, SEND_CQ);
	a = post_list(VERB_post_srq_recv, OTHER, &same, 1, 0, 0, 0);
	b = post_list(VERB_post_srq_recv, SRQ, &same, 1, 0, 0, 0);
	c = post_list(VERB_post_wq_recv, WQ, &same, 1, 0, 0, 0);
	assert_int_equal(complete_on(QP, SEND_CQ + 100, 1, 0, IBV_WC_RECV).request.n, 0);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 0, IBV_WC_SEND).request.n, 0);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 0, IBV_WC_RECV).request.n, a);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, IBV_WC_LOC_LEN_ERR, 77).request.n, b);
	assert_int_equal(complete_on(0, RECV_CQ, 1, 0, IBV_WC_RECV).request.n, 0);
	assert_int_equal(complete_on(0, SEND_CQ, 1, IBV_WC_WR_FLUSH_ERR, 77).request.n, c);
	post_list(VERB_post_srq_recv, SRQ, &same, 1, 0, 0, 0);
	match_remove(match, SRQ);
	assert_int_equal(complete_on(QP, RECV_CQ, 1, 0, IBV_WC_RECV).request.n, 0);
}

TEST(grown_queue_keeps_all)
{
	uint64_t first;

	match_add_srq(match, SRQ, 1, 1, 0);
	match_add_qp(match, QP, &(struct match_qp){ .srq = SRQ });
	match_grow_srq(match, SRQ, 30);
	match_grow_srq(match, OTHER, 30);
	for (uint64_t i = 0; i < 30; i++)
		post_list(VERB_post_srq_recv, SRQ, &i, 1, 0, 0, 0);
	first = last_n - 29;
	assert_int_equal(complete_receive(0), first);
	assert_int_equal(complete_receive(29), last_n);
}

/* Completions by an extended CQ are not seen: the oldest must be dropped. */
TEST(queues_do_not_grow_without_completions)
{
	uint64_t n = 0;

	match_add_qp(match, QP, &(struct match_qp){ .max_send_wr = 8 });
	for (uint64_t i = 0; i < 100; i++)
		n = post_send(i, IBV_SEND_SIGNALED);
	assert_int_equal(complete_send(50), 0);
	assert_int_equal(complete_send(99), n);
}

TEST(unknown_queue_has_no_request)
{
	assert_int_equal(complete_on(77, 0, 1, 0, IBV_WC_SEND).request.n, 0);
	assert_int_equal(complete_on(0, 0, 1, 0, IBV_WC_SEND).request.n, 0);
}

/* Compared with a plain list that does the same slowly. */
TEST(any_order_of_receives_is_matched)
{
	static struct {
		uint64_t wr_id, n;
	} waiting[4096];
	size_t count = 0;

	srand(3);
	for (int i = 0; i < 20000; i++) {
		uint64_t wr_id = (uint64_t)(rand() % 50);
		size_t at = 0;

		if (rand() % 2 && count < 1000) {
			waiting[count].wr_id = wr_id;
			waiting[count++].n = post_receive(wr_id);
			continue;
		}
		while (at < count && waiting[at].wr_id != wr_id)
			at++;
		assert_int_equal(complete_receive(wr_id), at < count ? waiting[at].n : 0);
		for (; at + 1 < count; at++)
			waiting[at] = waiting[at + 1];
		count -= at < count;
	}
}

TEST(completion_without_a_number_is_of_who_has_the_request)
{
	const struct match_qp qp = { .send_cq = SEND_CQ, .recv_cq = RECV_CQ };
	struct wc wc = { .wr_id = 2, .opcode = ABI_WC_RECV };

	match_add_qp(match, QP, &qp);
	match_add_qp(match, OTHER, &qp);
	post_receive(1);
	assert_int_equal(match_guess(match, RECV_CQ, &wc), 0);
	post_receive(2);
	assert_int_equal(match_guess(match, RECV_CQ, &wc), QP);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), 0);
	wc.opcode = 0;
	assert_int_equal(match_guess(match, SEND_CQ, &wc), 0);
	post_send(2, ABI_SEND_SIGNALED);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), QP);
}

TEST(completion_without_a_number_is_of_the_oldest_request)
{
	const struct match_qp qp = { .send_cq = SEND_CQ, .recv_cq = SEND_CQ };
	struct wc wc = { .wr_id = 7 };
	uint64_t id = 7;

	match_add_qp(match, QP, &qp);
	match_add_qp(match, OTHER, &qp);
	post_list(VERB_post_send, OTHER, &id, 1, ABI_SEND_SIGNALED, 0, 0);
	post_send(7, ABI_SEND_SIGNALED);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), OTHER);
}

/* QP has the older request: can it be that of the completion? OTHER's is a signaled send. */
/* clang-format off */
static const struct guess {
	const char *name;
	enum verb verb;
	uint32_t flags; /* of QP's request */
	int status, opcode;
	uint32_t expected;
} guesses[] = {
	{ "success_may_be_of_a_signaled_send", VERB_post_send, ABI_SEND_SIGNALED, 0, 0, QP },
	{ "success_is_not_of_an_unsignaled_send", VERB_post_send, 0, 0, 0, OTHER },
	{ "success_of_a_send_is_not_of_a_receive", VERB_post_recv, 0, 0, 0, OTHER },
	{ "success_of_a_receive_is_of_one", VERB_post_recv, 0, 0, ABI_WC_RECV, QP },
	{ "success_of_a_receive_is_not_of_a_send", VERB_post_send, ABI_SEND_SIGNALED, 0,
	  ABI_WC_RECV, 0 },
	{ "error_may_be_of_an_unsignaled_send", VERB_post_send, 0, ABI_WC_WR_FLUSH_ERR, 0, QP },
	{ "error_may_be_of_a_receive", VERB_post_recv, 0, ABI_WC_WR_FLUSH_ERR, 0, QP },
	{ "opcode_of_an_error_means_nothing", VERB_post_send, 0, ABI_WC_WR_FLUSH_ERR,
	  ABI_WC_RECV, QP },
};
/* clang-format on */

static void completion_without_a_number(void **state)
{
	const struct match_qp qp = { .send_cq = SEND_CQ, .recv_cq = SEND_CQ };
	const struct guess *row = *state;
	const struct wc wc = { .wr_id = 7, .status = row->status, .opcode = row->opcode };
	void *unused = NULL;
	uint64_t id = 7;

	make_match(&unused);
	match_add_qp(match, QP, &qp);
	match_add_qp(match, OTHER, &qp);
	post_list(row->verb, QP, &id, 1, row->flags, 0, 0);
	post_list(VERB_post_send, OTHER, &id, 1, ABI_SEND_SIGNALED, 0, 0);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), row->expected);
	free_match(&unused);
}
TEST_ROWS(guesses, completion_without_a_number);

TEST(completion_without_a_number_is_of_the_only_queue_pair)
{
	const struct match_qp qp = { .send_cq = SEND_CQ, .recv_cq = RECV_CQ };
	struct wc wc = { .wr_id = 7 };

	match_add_qp(match, QP, &qp);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), QP);
	assert_int_equal(match_guess(match, RECV_CQ, &wc), QP);
	assert_int_equal(match_guess(match, 99, &wc), 0);
	match_add_qp(match, OTHER, &qp);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), 0);
	match_remove(match, OTHER);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), QP);
}

enum { HELD = 4 };

/* A queue pair that was created before the first stored event. */
static void add_old_qp(void)
{
	const struct match_qp qp = { .send_cq = SEND_CQ,
				     .recv_cq = RECV_CQ,
				     .max_send_wr = 2 * HELD,
				     .asked_send_wr = HELD,
				     .max_recv_wr = HELD };

	match_set_stored_from(match, 0);
	match_add_qp(match, QP, &qp);
}

TEST(request_before_the_kept_is_not_taken_for_another)
{
	add_old_qp();
	for (int i = 0; i < 10 * HELD; i++) { /* one is always outstanding */
		post_send(0, ABI_SEND_SIGNALED);
		assert_int_equal(complete_send(0), 0);
		post_receive(0);
		assert_int_equal(complete_receive(0), 0);
	}
	match_reset(match, QP);
	post_send(0, ABI_SEND_SIGNALED);
	assert_int_equal(complete_send(0), 0); /* the reset is older than the stored events, too */
}

TEST(different_wr_ids_are_trusted_in_time)
{
	uint64_t n = 0;

	add_old_qp();
	for (uint64_t i = 0; i <= HELD; i++) {
		n = post_send(i, ABI_SEND_SIGNALED);
		assert_int_equal(complete_send(i), i < HELD ? 0 : n);
	}
	n = post_send(1, ABI_SEND_SIGNALED); /* now it may be reused */
	assert_int_equal(complete_send(1), n);
	n = post_send(1, ABI_SEND_SIGNALED);
	assert_int_equal(complete_send(1), n);
}

TEST(number_is_not_guessed_by_requests_that_are_not_known)
{
	const struct match_qp qp = { .send_cq = SEND_CQ, .recv_cq = RECV_CQ };
	struct wc wc = { .wr_id = 3 };

	add_old_qp();
	match_add_qp(match, OTHER, &qp);
	post_send(3, ABI_SEND_SIGNALED);
	assert_int_equal(match_guess(match, SEND_CQ, &wc), 0);
}

/* The memory depends on the number of objects, not on their numbers. */
TEST(any_number_may_stand_for_an_object)
{
	static const uint32_t numbers[] = { 1, 3000000000u, UINT32_MAX };
	const struct match_qp info = { .max_send_wr = 4 };
	uint64_t wr_id = 7, n;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(match_add_qp(match, numbers[i], &info), 0);
		n = post_list(VERB_post_send, numbers[i], &wr_id, 1, IBV_SEND_SIGNALED, 0, 0);
		assert_int_equal(complete_on(numbers[i], 0, 7, 0, IBV_WC_SEND).request.n, n);
		match_remove(match, numbers[i]);
	}
}

TEST(many_objects_keep_theirs)
{
	for (uint64_t i = 1; i <= 1000; i++)
		post_list(VERB_post_send, (uint32_t)i * 64, &i, 1, IBV_SEND_SIGNALED, 0, 0);
	for (uint32_t i = 3; i <= 1000; i += 3)
		match_remove(match, i * 64);
	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(complete_on(i * 64, 0, i, 0, IBV_WC_SEND).request.n,
				 i % 3 ? i : 0);
}

TEST(what_a_process_had_goes_with_it)
{
	uint64_t other, wr_id = 7;

	match_set_position(match, 1, 1);
	post_send(7, IBV_SEND_SIGNALED);
	match_set_position(match, 2, 2);
	other = post_list(VERB_post_send, OTHER, &wr_id, 1, IBV_SEND_SIGNALED, 0, 0);
	match_end_process(match, 1);
	assert_int_equal(complete_send(7), 0);
	assert_int_equal(complete_on(OTHER, 0, 7, 0, IBV_WC_SEND).request.n, other);
}
