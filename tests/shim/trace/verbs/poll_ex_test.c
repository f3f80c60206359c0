/*
 * The iterator of extended completion queues, over a provider that does nothing
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "core/wire/event.h"
#include "shim/trace/verbs/poll_ex.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static int results[8]; /* of start_poll and next_poll, in their order */
static unsigned int turn;

static int next_result(struct ibv_cq_ex *cq)
{
	int ret = results[turn++];

	cq->wr_id = turn;
	return ret;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)attr;
	return next_result(cq);
}

static int next_poll(struct ibv_cq_ex *cq)
{
	return next_result(cq);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
	errno = ERANGE;
}

#define READER(type, name, value)              \
	static type name(struct ibv_cq_ex *cq) \
	{                                      \
		(void)cq;                      \
		return (type)(value);          \
	}
READER(enum ibv_wc_opcode, read_opcode, IBV_WC_RECV)
READER(uint32_t, read_vendor_err, 99)
READER(unsigned int, read_wc_flags, 0)
READER(uint64_t, read_completion_ts, 0x1122334455667788)
READER(uint64_t, read_completion_wallclock_ns, 1700000000000000000)
READER(uint16_t, read_cvlan, 0xabc)
READER(uint32_t, read_flow_tag, 0xfeed)

static void read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *info)
{
	(void)cq;
	*info = (struct ibv_wc_tm_info){ .tag = 0x7a6, .priv = 5 };
}

/* A provider that has a function for each field, whatever was asked for. */
static struct ibv_cq_ex new_cq(void)
{
	return (struct ibv_cq_ex){ .start_poll = start_poll,
				   .next_poll = next_poll,
				   .end_poll = end_poll,
				   .read_opcode = read_opcode,
				   .read_vendor_err = read_vendor_err,
				   .read_wc_flags = read_wc_flags,
				   .read_completion_ts = read_completion_ts,
				   .read_completion_wallclock_ns = read_completion_wallclock_ns,
				   .read_cvlan = read_cvlan,
				   .read_flow_tag = read_flow_tag,
				   .read_tm_info = read_tm_info };
}

static const struct event_wc *get_completion(const struct event_poll *poll)
{
	return (const void *)(poll + 1);
}

static void extras_body(void)
{
	const uint64_t all = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_CVLAN |
			     IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex cq = new_cq();
	const struct event_wc_extra *extra;
	const struct event_poll *poll;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	results[2] = ENOENT;
	HOLDS(poll_ex_patch(&cq, all) == 0);
	HOLDS(!ibv_start_poll(&cq, &attr) && !ibv_next_poll(&cq) && ibv_next_poll(&cq) == ENOENT);
	ibv_end_poll(&cq);
	HOLDS(errno == ERANGE);
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll && poll->head.flags == (EVENT_START | EVENT_EXTRA) && poll->ret == 1);
	HOLDS(poll->head.words * 8u == event_poll_bytes(poll));
	HOLDS(poll->nwc == 1 && get_completion(poll)->wr_id == 1);
	extra = event_poll_extras(poll);
	HOLDS(extra->parts == WC_PARTS - 1 && extra->timestamp == 0x1122334455667788);
	HOLDS(extra->wallclock == 1700000000000000000 && extra->cvlan == 0xabc);
	HOLDS(extra->flow_tag == 0xfeed && extra->tm_tag == 0x7a6 && extra->tm_priv == 5);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll && poll->head.flags == (EVENT_NEXT | EVENT_EXTRA));
	HOLDS(get_completion(poll)->wr_id == 2 && event_poll_extras(poll)->flow_tag == 0xfeed);
	HOLDS(!expect_event(&ring, EVENT_POLL)); /* the end of a batch is not an event */
}

TEST(all_that_was_asked_for_is_recorded)
{
	in_child(extras_body);
}

static void some_body(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex plain = new_cq(), tags = new_cq();
	const struct event_poll *poll;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	HOLDS(poll_ex_patch(&plain, IBV_WC_STANDARD_FLAGS) == 0);
	HOLDS(poll_ex_patch(&tags, IBV_WC_EX_WITH_FLOW_TAG | IBV_WC_EX_WITH_TM_INFO) == 0);
	HOLDS(plain.start_poll != tags.start_poll && plain.next_poll != tags.next_poll);
	HOLDS(!ibv_start_poll(&plain, &attr) && !ibv_start_poll(&tags, &attr));
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll->head.flags == EVENT_START);
	HOLDS(poll->head.words * 8u == sizeof(*poll) + sizeof(struct event_wc));
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(event_poll_extras(poll)->parts == (WC_FLOW_TAG | WC_TM));
	HOLDS(!event_poll_extras(poll)->timestamp && !event_poll_extras(poll)->cvlan);
}

TEST(what_was_not_asked_for_costs_nothing)
{
	in_child(some_body);
}

/* A provider leaves the functions of other fields out. */
static void alone_body(void)
{
	static const struct {
		uint64_t flag;
		uint16_t part;
	} fields[] = { { IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, WC_TIMESTAMP },
		       { IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, WC_WALLCLOCK },
		       { IBV_WC_EX_WITH_CVLAN, WC_CVLAN },
		       { IBV_WC_EX_WITH_FLOW_TAG, WC_FLOW_TAG },
		       { IBV_WC_EX_WITH_TM_INFO, WC_TM } };
	struct ibv_poll_cq_attr attr = { 0 };
	const struct event_poll *poll;
	struct ibv_cq_ex cqs[5];
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	for (int i = 0; i < 5; i++) {
		struct ibv_cq_ex *cq = &cqs[i];

		*cq = new_cq();
		cq->read_completion_ts = i == 0 ? read_completion_ts : NULL;
		cq->read_completion_wallclock_ns = i == 1 ? read_completion_wallclock_ns : NULL;
		cq->read_cvlan = i == 2 ? read_cvlan : NULL;
		cq->read_flow_tag = i == 3 ? read_flow_tag : NULL;
		cq->read_tm_info = i == 4 ? read_tm_info : NULL;
		HOLDS(poll_ex_patch(cq, fields[i].flag) == 0);
		turn = 0;
		HOLDS(!ibv_start_poll(cq, &attr));
		ibv_end_poll(cq);
	}
	ring = session_ring(0);
	for (int i = 0; i < 5; i++) {
		poll = expect_event(&ring, EVENT_POLL);
		HOLDS(poll && event_poll_extras(poll)->parts == fields[i].part);
	}
}

TEST(each_is_read_alone)
{
	in_child(alone_body);
}

static void failed_body(void)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex cq = new_cq();
	const struct event_poll *poll;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	HOLDS(poll_ex_patch(&cq, IBV_WC_EX_WITH_FLOW_TAG) == 0);
	cq.status = IBV_WC_RETRY_EXC_ERR;
	results[1] = ENOENT;
	results[2] = EINVAL;
	HOLDS(!ibv_start_poll(&cq, &attr));
	ibv_end_poll(&cq);
	HOLDS(ibv_start_poll(&cq, &attr) == ENOENT);
	HOLDS(ibv_start_poll(&cq, &attr) == EINVAL);
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	/* of an error only wr_id, status, vendor_err and qp_num mean anything */
	HOLDS(poll->head.flags == (EVENT_START | EVENT_STACK));
	HOLDS(get_completion(poll)->vendor_err == 99 && !get_completion(poll)->opcode);
	HOLDS(event_poll_stack(poll, poll->head.words * 8u)->nframes > 1);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll->ret == -EINVAL && poll->nwc == 0 && poll->empty == 1);
	HOLDS(event_poll_stack(poll, poll->head.words * 8u)->nframes > 1);
	HOLDS(!expect_event(&ring, EVENT_POLL));
}

TEST(of_an_error_nothing_more_is_read)
{
	in_child(failed_body);
}

/*
 * s: a start that finds a completion, 0: none; n: a next that finds one, m: none; e: end, t: end by
 * another thread; d: a queue pair of the CQ is destroyed, x: one of another CQ, c: the CQ
 */
static const struct misuse_row {
	const char *name, *steps;
	enum event_misuse_what what; /* MISUSES: nothing is reported */
} misuses[] = {
	{ "batches_that_are_ended", "snmesme0se", MISUSES },
	{ "a_start_inside_a_batch", "ss", MISUSE_START_INSIDE },
	{ "a_start_behind_an_end", "sess", MISUSE_START_INSIDE },
	{ "a_start_behind_the_end_by_another_thread", "sts", MISUSES },
	{ "an_end_behind_a_start_that_found_nothing", "0e", MISUSE_END_OUTSIDE },
	{ "a_next_behind_a_start_that_found_nothing", "0m", MISUSE_NEXT_OUTSIDE },
	{ "a_next_that_finds_one", "0n", MISUSES }, /* the analyzer knows */
	{ "a_destroy_inside", "smd", MISUSE_DESTROY_INSIDE },
	{ "a_destroy_inside_of_another_cq", "sx", MISUSES },
	{ "a_destroy_behind_the_end", "sed", MISUSES },
	{ "a_destroy_behind_the_end_by_another_thread", "std", MISUSES },
	{ "a_cq_at_the_address_of_one_with_an_open_batch", "scs", MISUSES },
	{ "a_cq_at_the_address_of_one_that_was_empty", "0ce", MISUSES },
};

static void *end_there(void *cq)
{
	ibv_end_poll(cq);
	return NULL;
}

static void end_by_another_thread(struct ibv_cq_ex *cq)
{
	pthread_t thread;

	HOLDS(!pthread_create(&thread, NULL, end_there, cq));
	pthread_join(thread, NULL);
}

static void do_step(struct ibv_cq_ex *cq, char step)
{
	struct ibv_cq *plain = ibv_cq_ex_to_cq(cq);
	struct ibv_qp qp = { .recv_cq = step == 'd' ? plain : NULL };
	struct ibv_poll_cq_attr attr = { 0 };

	turn = 0;
	results[0] = strchr("0m", step) ? ENOENT : 0;
	if (strchr("s0", step))
		ibv_start_poll(cq, &attr);
	else if (strchr("nm", step))
		ibv_next_poll(cq);
	else if (step == 'e')
		ibv_end_poll(cq);
	else if (step == 't')
		end_by_another_thread(cq);
	else
		poll_ex_note_destroy(step == 'c' ? VERB_destroy_cq : VERB_destroy_qp,
				     step == 'c' ? (void *)plain : &qp);
}

static const struct misuse_row *row;

static void misuse_body(void)
{
	struct ibv_cq_ex cq = new_cq();
	const struct event_head *event;
	unsigned int found = MISUSES;
	struct ring ring;
	int bytes;

	session_begin(RING_MIN, ON_FULL_WAIT);
	HOLDS(poll_ex_patch(&cq, IBV_WC_STANDARD_FLAGS) == 0);
	for (const char *step = row->steps; *step; step++)
		do_step(&cq, *step);
	ring = session_ring(0);
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		if (event->type == EVENT_MISUSE) {
			HOLDS(found == MISUSES);
			found = ((const struct event_misuse *)event)->what;
		}
		ring_step(&ring, (size_t)bytes);
	}
	HOLDS(found == row->what);
}

static void is_reported(void **state)
{
	row = *state;
	in_child(misuse_body);
}

TEST_ROWS(misuses, is_reported);
