/* analyzer/facts/cause.c: the cause of the first error of a queue pair. */
#include <rdma/rdma_cma.h>

#include "tests/analyzer/ends.h"
#include "tests/test.h"

#define PATIENCE ", and the retry time: timeout 14 (67.11 ms), retry_cnt 7"

static const struct cause *get_only_cause(struct story *s)
{
	const struct facts *facts;

	story_check(s, NULL);
	facts = s->findings->facts;
	assert_int_equal(facts->errors.n, 1);
	assert_non_null(facts_cause(facts, &facts->errors.all[0]));
	return facts_cause(facts, &facts->errors.all[0]);
}

static void receive_as_peer(struct story *s)
{
	const struct event_sge sge = { AT, 8, 0x20 };

	story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0, sge);
}

static void send_to_peer(struct story *s, uint32_t lkey)
{
	const struct event_sge sge = { AT, 8, lkey };

	story_post(s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND, sge);
}

TEST(a_key_of_another_domain)
{
	struct ibv_pd pd = { .context = &ends[0].context, .handle = 2 };
	struct ibv_mr mr;
	struct story s;

	begin_story(&s);
	mr = ends[0].mr;
	mr.pd = &pd;
	mr.lkey = 0x30;
	mr.rkey = 0x31;
	story_do(&s, 0, VERB_alloc_pd, 2, W(&pd), W(&ends[0].context));
	register_as(&s, 0, &mr, IBV_ACCESS_LOCAL_WRITE);
	send_to_peer(&s, 0x30);
	poll_as(&s, IBV_WC_LOC_PROT_ERR);
	assert_string_equal(get_only_cause(&s)->key, "lkey 0x30 is mr2 of pd2; qp1 is in pd1");
	story_end(&s);
}

TEST(a_stale_rkey)
{
	const struct cause *cause;
	struct story s;

	begin_story(&s);
	story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	cause = get_only_cause(&s);
	assert_string_equal(cause->key, "rkey 0x21 = mr1 of pd1 of process 2; its ibv_dereg_mr "
					"2:20 began 3000 ns earlier");
	assert_string_equal(cause->lkey, "mr1 of pd1");
	assert_string_equal(cause->rkey, "process 2 mr1, deregistered 3000 ns earlier");
	story_end(&s);
}

/* A request of @opcode to the peer's region that is refused with @status; the reason is @key. */
static void refuse_access(int opcode, uint64_t remote, uint32_t length, int status, const char *key)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, opcode, remote, length, 0x21);
	poll_as(&s, status);
	assert_string_equal(get_only_cause(&s)->key, key);
	story_end(&s);
}

TEST(a_range_outside_of_its_region)
{
	refuse_access(IBV_WR_RDMA_WRITE, AT + LENGTH - 8, 16, IBV_WC_REM_ACCESS_ERR,
		      "rkey 0x21 is mr1 of pd1 of process 2, 4096 bytes at 0x7000; the request "
		      "accesses 16 at 0x7ff8: the access ends 8 bytes past its end");
	refuse_access(IBV_WR_RDMA_WRITE, AT - 64, 16, IBV_WC_REM_ACCESS_ERR,
		      "rkey 0x21 is mr1 of pd1 of process 2, 4096 bytes at 0x7000; the request "
		      "accesses 16 at 0x6fc0: they do not overlap");
	refuse_access(IBV_WR_RDMA_WRITE, AT, LENGTH + 1, IBV_WC_LOC_PROT_ERR,
		      "lkey 0x10 is mr1 of pd1, 4096 bytes at 0x7000; the request "
		      "accesses 4097 at 0x7000: the access ends 1 byte past its end");
}

TEST(an_lkey_of_the_peer)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x20);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	assert_string_equal(get_only_cause(&s)->key,
			    "rkey 0x20 is not the key of a region of process 2 "
			    "for qp1, but the lkey of mr1 of pd1");
	story_end(&s);
}

/* The peer has two contexts: its region is in the one that the queue pair is not in. */
TEST(an_rkey_of_another_context_of_the_peer)
{
	struct ibv_context context = { .num_comp_vectors = 1 };
	struct ibv_pd pd = { .context = &context };
	struct ibv_mr mr = { .context = &context,
			     .pd = &pd,
			     .addr = (void *)AT,
			     .length = 64,
			     .lkey = 0x777,
			     .rkey = 0x778 };
	struct story s;

	begin_story(&s);
	story_do(&s, 1, VERB_open_device, 1, W(&context), W(0x1000));
	story_do(&s, 1, VERB_alloc_pd, 2, W(&pd), W(&context));
	register_as(&s, 1, &mr, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x778);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	assert_string_equal(get_only_cause(&s)->key,
			    "rkey 0x778 is not the key of a region of process 2 for qp1, but of "
			    "mr2 of pd2 in another context of that process");
	story_end(&s);
}

/* Nothing in the trace explains it: the usual causes are not named. */
TEST(an_access_that_should_have_been_granted)
{
	refuse_access(IBV_WR_RDMA_WRITE, AT, 8, IBV_WC_REM_ACCESS_ERR,
		      "rkey 0x21 is mr1 of pd1 of process 2, which holds the range and permits the "
		      "access: the trace shows no reason for the refusal, except possibly that the "
		      "memory was unmapped");
}

TEST(an_access_that_was_not_granted)
{
	refuse_access(IBV_WR_RDMA_READ, AT, 8, IBV_WC_REM_ACCESS_ERR,
		      "rkey 0x21 is mr1 of pd1 of process 2, registered without "
		      "IBV_ACCESS_REMOTE_READ");
	refuse_access(IBV_WR_ATOMIC_FETCH_AND_ADD, AT, 8, IBV_WC_REM_ACCESS_ERR,
		      "rkey 0x21 is mr1 of pd1 of process 2, registered without "
		      "IBV_ACCESS_REMOTE_ATOMIC");
}

static void post_bind(struct story *s, const struct ibv_mw *mw, const struct ibv_mr *mr,
		      uint64_t addr, unsigned int wants, uint32_t rkey)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_bind *bind = (struct event_bind *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = (unsigned int)VERB_post_send & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = IBV_WR_BIND_MW, .flags = IBV_SEND_SIGNALED, .parts = WR_BIND
	};
	*bind = (struct event_bind){
		.mw = W(mw), .rkey = rkey, .mr = W(mr), .addr = addr, .length = 64, .access = wants
	};
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*bind)) / 8);
}

/* The first end has the region @mr, registered with @has, and the window @mw. */
static void begin_with_window(struct story *s, struct ibv_mr *mr, struct ibv_mw *mw, int has)
{
	begin_story(s);
	*mr = ends[0].mr;
	mr->lkey = 0x30;
	mr->rkey = 0x31;
	register_as(s, 0, mr, has);
	*mw = (struct ibv_mw){ .context = &ends[0].context, .pd = &ends[0].pd, .rkey = 0x40 };
	story_do(s, 0, VERB_alloc_mw, 3, W(mw), W(&ends[0].pd), IBV_MW_TYPE_2);
}

/* A bind of 64 bytes at @addr of the first end's region, registered with @has: it is refused. */
static void refuse_bind(uint64_t addr, unsigned int wants, int has, const char *key)
{
	struct ibv_mr mr;
	struct ibv_mw mw;
	struct story s;

	begin_with_window(&s, &mr, &mw, has);
	post_bind(&s, &mw, &mr, addr, wants, 0x41);
	poll_as(&s, IBV_WC_MW_BIND_ERR);
	assert_string_equal(get_only_cause(&s)->key ?: "", key);
	story_end(&s);
}

TEST(a_window_that_is_bound_already)
{
	struct ibv_mr mr;
	struct ibv_mw mw;
	struct story s;

	begin_with_window(&s, &mr, &mw, IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE);
	post_bind(&s, &mw, &mr, AT, IBV_ACCESS_REMOTE_READ, 0x41);
	poll_as(&s, IBV_WC_SUCCESS);
	post_bind(&s, &mw, &mr, AT + 64, IBV_ACCESS_REMOTE_READ, 0x42);
	poll_as(&s, IBV_WC_MW_BIND_ERR);
	assert_non_null(
		strstr(get_only_cause(&s)->key ?: "", "and not invalidated since: one of type 2"));
	story_end(&s);
}

TEST(a_window_that_cannot_be_bound)
{
	const int all = IBV_ACCESS_MW_BIND | IBV_ACCESS_LOCAL_WRITE;

	refuse_bind(AT, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_LOCAL_WRITE,
		    "mr2 of pd1 was registered without IBV_ACCESS_MW_BIND");
	refuse_bind(AT, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_MW_BIND,
		    "the window has IBV_ACCESS_REMOTE_WRITE, and mr2 of pd1 was registered without "
		    "IBV_ACCESS_LOCAL_WRITE");
	refuse_bind(AT + LENGTH - 8, IBV_ACCESS_REMOTE_READ, all,
		    "the window is 64 bytes at 0x7ff8, and mr2 of pd1 is 4096 bytes at 0x7000: the "
		    "access ends 56 bytes past its end");
	refuse_bind(AT, IBV_ACCESS_REMOTE_WRITE, all, "");
}

static void refuse_local_inv(uint32_t rkey, const char *key)
{
	struct event_post *event;
	struct event_wr *wr;
	struct story s;

	begin_story(&s);
	event = (struct event_post *)s.words;
	wr = (struct event_wr *)(event + 1);
	event->object = W(&ends[0].qp);
	event->verb = (unsigned int)VERB_post_send & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = IBV_WR_LOCAL_INV, .flags = IBV_SEND_SIGNALED, .imm = rkey
	};
	story_event(&s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr)) / 8);
	poll_as(&s, IBV_WC_MW_BIND_ERR);
	assert_string_equal(get_only_cause(&s)->key ?: "", key);
	story_end(&s);
}

TEST(a_key_that_cannot_be_invalidated)
{
	refuse_local_inv(ends[0].mr.rkey, "invalidate_rkey 0x11 is mr1 of pd1, a region: only "
					  "windows of type 2 can be invalidated");
	refuse_local_inv(0x77, "invalidate_rkey 0x77 does not belong to a window of this "
			       "process");
}

/* The process of @thread gets the event @type for port 1. */
static void tell_event_to(struct story *s, int thread, enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type, .element.port_num = 1 };

	story_do(s, thread, VERB_get_async_event, 6, 0, W(&ends[thread].context), W(&event));
	story_do(s, thread, VERB_ack_async_event, 7, 0, W(&event));
}

static void tell_event(struct story *s, enum ibv_event_type type)
{
	tell_event_to(s, 0, type);
}

TEST(a_port_that_was_down)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	tell_event(&s, IBV_EVENT_PORT_ERR); /* 1:21 */
	poll_as(&s, IBV_WC_LOC_QP_OP_ERR);
	assert_string_equal(get_only_cause(&s)->port,
			    "port 1 was down: IBV_EVENT_PORT_ERR 1:21, 3000 ns earlier");
	story_end(&s);
}

TEST(a_port_that_is_reported_later)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	tell_event(&s, IBV_EVENT_PORT_ERR);
	assert_non_null(strstr(get_only_cause(&s)->port, " later"));
	story_end(&s);
}

TEST(a_port_whose_addresses_had_changed_just_before)
{
	struct story s;

	begin_story(&s);
	tell_event(&s, IBV_EVENT_GID_CHANGE); /* 1:20 */
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->port,
			    "the GIDs of port 1 had changed: IBV_EVENT_GID_CHANGE 1:20, 4000 ns "
			    "earlier");
	story_end(&s);
}

TEST(the_port_of_the_other_end)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	tell_event_to(&s, 1, IBV_EVENT_PORT_ERR); /* 2:20 */
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->port, "port 1 of process 2 was down: "
						      "IBV_EVENT_PORT_ERR 2:20, 3000 ns earlier");
	story_end(&s);
}

TEST(the_device_of_the_other_end)
{
	struct story s;

	begin_story(&s);
	tell_event_to(&s, 1, IBV_EVENT_DEVICE_FATAL);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->port, "the device of process 2 was down: "));
	story_end(&s);
}

/* The request failed at this end, whatever the port of the other end. */
TEST(the_port_of_the_other_end_does_not_fail_requests_here)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	tell_event_to(&s, 1, IBV_EVENT_PORT_ERR);
	poll_as(&s, IBV_WC_LOC_QP_OP_ERR);
	assert_null(get_only_cause(&s)->port);
	story_end(&s);
}

TEST(a_port_that_was_up_again_is_not_to_blame)
{
	struct story s;

	begin_story(&s);
	tell_event(&s, IBV_EVENT_PORT_ERR);
	tell_event(&s, IBV_EVENT_PORT_ACTIVE);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_null(get_only_cause(&s)->port);
	story_end(&s);
}

TEST(a_port_does_not_refuse_access)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	tell_event(&s, IBV_EVENT_PORT_ERR);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	assert_null(get_only_cause(&s)->port);
	story_end(&s);
}

TEST(keys_that_fit_are_not_to_blame)
{
	const struct cause *cause;
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	cause = get_only_cause(&s);
	assert_null(cause->key);
	assert_string_equal(cause->peer,
			    "in RTS at its last verb, at 37.0 us; if it was alive: check the "
			    "network path in both directions (link, VLAN, GID, MTU)" PATIENCE);
	assert_string_equal(cause->name, "process 2 (app) qp1");
	story_end(&s);
}

/* A process that did something later was alive. */
TEST(a_peer_that_was_alive_could_answer)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	receive_as_peer(&s);
	assert_string_equal(get_only_cause(&s)->peer,
			    "in RTS, so it could respond: check the network path in both "
			    "directions (link, VLAN, GID, MTU)" PATIENCE);
	story_end(&s);
}

/* The first send fails, with @sq_psn, to a peer whose rq_psn is 8. */
static void peer_disagrees(uint32_t sq_psn, const char *says)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.sq_psn = sq_psn;
	ends[1].attr.rq_psn = 8;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	receive_as_peer(&s);
	assert_string_equal(get_only_cause(&s)->peer, says);
	story_end(&s);
}

TEST(a_peer_that_does_not_accept_packets)
{
	end_types[1] = IBV_QPT_UC;
	peer_disagrees(8, "its qp_type is IBV_QPT_UC, which does not acknowledge requests");
	end_types[1] = IBV_QPT_RC;
	peer_disagrees(7, "its rq_psn is 0x8, not 0x7, the sq_psn of this end: it drops such "
			  "packets");
	peer_disagrees(0x1000008, "in RTS, so it could respond: check the network path in both "
				  "directions (link, VLAN, GID, MTU)" PATIENCE);
}

/* The peer's queue pair may be in ERR: nobody has looked at the completion of its own send. */
static void peer_does_not_poll(uint32_t lkey, bool polls, const char *says)
{
	const struct event_sge sge = { AT, 8, lkey };
	struct story s;

	begin_story(&s);
	story_post(&s, 1, VERB_post_send, &ends[1].qp, 1, IBV_WR_SEND, sge);
	if (polls)
		story_poll(&s, 1, &ends[1].cq, 1, IBV_WC_SUCCESS, ends[1].qp.qp_num);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	receive_as_peer(&s);
	assert_string_equal(get_only_cause(&s)->peer, says);
	story_end(&s);
}

TEST(a_send_of_the_peer_may_have_failed)
{
	static const char path[] = "check the network path in both directions (link, VLAN, GID, "
				   "MTU)" PATIENCE;
	char says[512];

	peer_does_not_poll(0x777, false,
			   "its own send 2:20, whose completion was not polled, cannot succeed: "
			   "lkey 0x777 is not the key of a region; a queue pair in ERR does not "
			   "respond");
	snprintf(says, sizeof(says),
		 "in RTS by its calls, but the completion of its own send 2:20 was not polled: if "
		 "that send failed, the queue pair is in ERR and does not respond; else: %s",
		 path);
	peer_does_not_poll(0x20, false, says);
	snprintf(says, sizeof(says), "in RTS, so it could respond: %s", path);
	peer_does_not_poll(0x20, true, says);
}

TEST(a_peer_that_was_killed)
{
	struct story s;

	begin_story(&s);
	story_exit(&s, PEER, 9);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer, "killed by SIGKILL at "));
	story_end(&s);
}

TEST(a_killed_peer_takes_its_regions_with_it)
{
	struct story s;

	begin_story(&s);
	story_exit(&s, PEER, 9);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->rkey, "process 2 mr1, ended with its process");
	story_end(&s);
}

/* Whether it was alive until the error is not known: the end of a process is noticed late. */
TEST(a_peer_that_was_killed_right_after)
{
	const struct cause *cause;
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	s.now += 2000000;
	story_exit(&s, PEER, 9);
	cause = get_only_cause(&s);
	assert_null(strstr(cause->peer, "could respond"));
	assert_non_null(strstr(cause->peer, "in RTS; killed by SIGKILL at 2.0 ms, last verb at "));
	assert_non_null(strstr(cause->peer, ": it is unknown whether it could still respond"));
	story_end(&s);
}

/* The peer posted in between, and may have been stopped before the request. */
TEST(a_peer_that_posted_and_was_killed_right_after)
{
	const struct cause *cause;
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	receive_as_peer(&s);
	s.now += 2000000;
	story_exit(&s, PEER, 9);
	cause = get_only_cause(&s);
	assert_null(strstr(cause->peer, "could respond:"));
	assert_non_null(strstr(cause->peer, "it is unknown whether it could still respond"));
	story_end(&s);
}

static void refuse_atomic(struct story *s, uint64_t remote)
{
	begin_story(s);
	post_rdma(s, IBV_WR_ATOMIC_FETCH_AND_ADD, remote, 8, 0x21);
	poll_as(s, IBV_WC_REM_INV_REQ_ERR);
}

TEST(an_atomic_at_an_odd_address)
{
	struct story s;

	refuse_atomic(&s, AT + 4);
	assert_string_equal(get_only_cause(&s)->key,
			    "the remote address 0x7004 of the atomic is not a multiple of 8");
	story_end(&s);
	refuse_atomic(&s, AT + 8);
	assert_null(strstr(get_only_cause(&s)->key, "multiple"));
	story_end(&s);
}

TEST(an_atomic_with_a_buffer_of_four_bytes)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_ATOMIC_FETCH_AND_ADD, AT, 4, 0x21);
	poll_as(&s, IBV_WC_LOC_LEN_ERR);
	assert_string_equal(get_only_cause(&s)->key, "the buffer of the atomic has 4 bytes, but an "
						     "atomic returns 8 bytes");
	story_end(&s);
}

/* Regions cannot be invalidated, and the request does no RDMA with their rkey. */
static void refuse_invalidation(uint32_t rkey, const char *says)
{
	struct event_post *event;
	struct event_wr *wr;
	struct event_sge *sge;
	struct story s;

	begin_story(&s);
	event = (struct event_post *)s.words;
	wr = (struct event_wr *)(event + 1);
	sge = (struct event_sge *)(wr + 1);
	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 1;
	wr->opcode = IBV_WR_SEND_WITH_INV;
	wr->flags = IBV_SEND_SIGNALED;
	wr->nsge = 1;
	wr->imm = rkey;
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(&s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	assert_string_equal(get_only_cause(&s)->key, says);
	story_end(&s);
}

TEST(a_region_that_is_to_be_invalidated)
{
	refuse_invalidation(
		0x21, "invalidate_rkey 0x21 is mr1 of pd1 of process 2, a region: only windows "
		      "of type 2 can be invalidated");
	refuse_invalidation(0x77, "invalidate_rkey 0x77 does not belong to a window of process 2");
}

/* The port says how long a message may be: the receive is not to blame then. */
TEST(a_send_that_is_longer_than_its_port_allows)
{
	struct ibv_port_attr port = { .lid = 0x21, .max_msg_sz = 63 };
	struct story s;

	for (uint32_t most = 63; most <= 64; most++) {
		port.max_msg_sz = most;
		begin_story(&s);
		story_do(&s, 0, VERB_query_port, 1, 0, W(&ends[0].context), W(1), W(&port),
			 W(sizeof(port)));
		post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 64, 0x21);
		poll_as(&s, IBV_WC_LOC_LEN_ERR);
		if (most == 63)
			assert_string_equal(
				get_only_cause(&s)->key,
				"the request has 64 bytes, and max_msg_sz of port 1 is 63");
		else
			assert_null(get_only_cause(&s)->key);
		story_end(&s);
	}
}

TEST(a_peer_that_was_killed_much_later_could_answer)
{
	const struct cause *cause;
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	s.now += 2000000000;
	story_exit(&s, PEER, 9);
	cause = get_only_cause(&s);
	assert_null(strstr(cause->peer, "killed"));
	assert_non_null(strstr(cause->peer, "could respond"));
	story_end(&s);
}

/*
 * The first end sends before the second is connected, which then connects to @number if it is not
 * 0.
 */
static void begin_early(struct story *s, uint32_t number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	begin_ends(s);
	connect_end(s, 0, 0x22, 0x22, FAR);
	story_do(s, 1, VERB_modify_qp, 30, 0, W(&ends[1].qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	send_to_peer(s, 0x10);
	poll_as(s, IBV_WC_RETRY_EXC_ERR);
	s->now += 600000000;
	if (number)
		connect_end(s, 1, number, 0x21, FAR);
}

TEST(a_peer_that_is_connected_later)
{
	const struct cause *cause;
	struct story s;

	begin_early(&s, 0x21);
	cause = get_only_cause(&s);
	assert_string_equal(cause->peer, "in INIT until its ibv_modify_qp(RTR) 2:16, 600.0 ms "
					 "later: it responds only from RTR on");
	assert_string_equal(cause->name, "process 2 (app) qp1");
	story_end(&s);
}

TEST(a_peer_that_is_never_connected)
{
	struct story s;

	begin_early(&s, 0);
	assert_string_equal(get_only_cause(&s)->peer, "in INIT, and no ibv_modify_qp() to RTR "
						      "followed: it responds only from RTR on");
	story_end(&s);
}

TEST(a_peer_that_is_connected_to_another_later)
{
	struct story s;

	begin_early(&s, 0x99);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       ", 600.0 ms later: it responds only from RTR "
			       "on; then its dest_qp_num is 0x99, not 0x21"));
	story_end(&s);
}

TEST(a_peer_that_is_connected_to_another)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x99, 0x21, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer, "its dest_qp_num is 0x99, not 0x21");
	story_end(&s);
}

static void begin_with_destination(struct story *s, uint32_t number)
{
	begin_ends(s);
	connect_end(s, 0, number, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	send_to_peer(s, 0x10);
	poll_as(s, IBV_WC_RETRY_EXC_ERR);
}

TEST(a_number_that_was_never_received)
{
	struct story s;

	begin_with_destination(&s, 0);
	assert_string_equal(get_only_cause(&s)->peer,
			    "dest_qp_num is 0, which is not the number of a "
			    "program's queue pair: was the number of the "
			    "peer received?");
	story_end(&s);
}

TEST(a_number_in_reverse_byte_order)
{
	struct story s;

	begin_with_destination(&s, 0x220000);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       "dest_qp_num 0x220000 matches no queue pair in this trace, but "
			       "0x22, the same in the other byte order, is process 2 "));
	story_end(&s);
}

TEST(a_number_that_nobody_has)
{
	struct story s;

	begin_with_destination(&s, 0x77);
	assert_non_null(
		strstr(get_only_cause(&s)->peer, "dest_qp_num 0x77 matches no queue pair in "));
	story_end(&s);
}

/* The destroyed queue pair may have been meant, although it was not connected. */
TEST(a_number_of_one_that_is_gone)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "no response within 7 retries of 67.1 ms; dest_qp_num 0x22 was the "
			    "number of process 2 (app) qp1, destroyed by 2:12 at 29.0 us, 4000 ns "
			    "after this queue pair went to RTR with that number, 1:14");
	story_end(&s);
}

/* The peer has made another queue pair since it sent its number. */
TEST(a_number_of_before_the_peer_started_anew)
{
	struct ibv_qp_init_attr init = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	struct story s;

	begin_ends(&s);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	ends[1].qp.qp_num = 0x23;
	story_do(&s, 1, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[1].pd), W(&init));
	connect_end(&s, 1, 0x21, 0x21, FAR);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "no response within 7 retries of 67.1 ms; dest_qp_num 0x22 was the "
			    "number of process 2 (app) qp1, destroyed by 2:12 at 23.0 us, 12.0 us "
			    "before this queue pair went to RTR with that number, 1:14; process 2 "
			    "(app) qp2, number 0x23, is connected to this queue pair");
	story_end(&s);
}

/* The error is polled only when the peer is ready at last. */
TEST(a_peer_that_was_not_ready_for_the_retries)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	send_to_peer(&s, 0x10);
	s.now += 600000000;
	connect_end(&s, 1, 0x21, 0x21, FAR);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "its ibv_modify_qp(RTR) 2:14 came 600.0 ms after the request was "
			    "posted, which was retried for 536.9 ms: it responds only from RTR on");
	story_end(&s);
}

TEST(one_retry_is_no_retries)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.timeout = 10;
	ends[0].attr.retry_cnt = 1;
	connect_end(&s, 0, 0x77, 0x22, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer, "no response within 1 retry of 4.2 ms; "));
	story_end(&s);
}

/* A message by XRC to @srqn. */
static void send_to_srq(struct story *s, uint32_t srqn)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_xrc *xrc = (struct event_xrc *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(xrc + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 1,
				 .opcode = IBV_WR_SEND,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_XRC };
	*xrc = (struct event_xrc){ .remote_srqn = srqn };
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*xrc) + sizeof(*sge)) / 8);
	poll_as(s, IBV_WC_REM_INV_REQ_ERR);
}

TEST(a_number_that_no_srq_has)
{
	static const struct {
		uint32_t srqn, known; /* @known: of the peer's only SRQ, 0: it did not ask for it */
		const char *key;
	} rows[] = {
		{ 0x12, 0x12, NULL },
		{ 0x5, 0,
		  "process 2 has not called ibv_get_srq_num(): remote_srqn 0x5 is not the number "
		  "of srq1" },
		{ 0, 0x12,
		  "remote_srqn 0x0 is not an SRQ number of process 2; the number of srq1 is 0x12" },
		{ 0x12000000, 0x12,
		  "remote_srqn 0x12000000 is not an SRQ number of process 2; the number of "
		  "srq1 is 0x12: remote_srqn has its bytes in reverse order" },
	};
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_srq srq = { .context = &ends[1].context, .pd = &ends[1].pd };
		uint32_t number = rows[i].known;
		const struct cause *cause;
		struct story s;

		end_types[0] = IBV_QPT_XRC_SEND;
		end_types[1] = IBV_QPT_XRC_RECV;
		begin_story(&s);
		end_types[0] = end_types[1] = IBV_QPT_RC;
		story_do(&s, 1, VERB_create_srq, 6, W(&srq), W(&ends[1].pd), W(&attr));
		if (number)
			story_do(&s, 1, VERB_get_srq_num, 7, 0, W(&srq), W(&number));
		send_to_srq(&s, rows[i].srqn);
		cause = get_only_cause(&s);
		if (rows[i].key)
			assert_string_equal(cause->key, rows[i].key);
		else
			assert_null(cause->key);
		story_end(&s);
	}
}

TEST(a_queue_pair_that_can_send_no_read)
{
	static const int opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE };
	struct story s;

	for (int i = 0; i < 2; i++) {
		const struct cause *cause;

		begin_ends(&s);
		ends[0].attr.max_rd_atomic = 0;
		connect_end(&s, 0, 0x22, 0x22, FAR);
		connect_end(&s, 1, 0x21, 0x21, FAR);
		register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
		register_as(&s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ);
		post_rdma(&s, opcodes[i], AT, 8, 0x21);
		poll_as(&s, IBV_WC_LOC_QP_OP_ERR);
		cause = get_only_cause(&s);
		if (i)
			assert_null(cause->key);
		else
			assert_string_equal(
				cause->key,
				"max_rd_atomic of qp1 is 0: it cannot send a READ or an "
				"atomic (for a queue pair of librdmacm it is the smaller "
				"of its initiator_depth and the peer's responder_resources, "
				"of rdma_connect() and rdma_accept())");
		story_end(&s);
	}
}

/* The first end is connected with @client, the second with @server. */
static void connect_by_cm(struct story *s, const struct rdma_conn_param *client,
			  const struct rdma_conn_param *server)
{
	static struct rdma_event_channel channels[2];
	static struct rdma_cm_id ids[2];
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct story_call call;

	fill_end(&ends[0], 0x21, 0x10);
	fill_end(&ends[1], 0x22, 0x20);
	ends[0].attr.max_rd_atomic = 0;
	story_begin(s);
	assert_int_equal(story_thread(s, PEER, 0, 0), 1);
	for (int i = 0; i < 2; i++) {
		struct rdma_cm_id *id = &ids[i];

		story_do(s, i, VERB_rdma_create_event_channel, 20, W(&channels[i]));
		story_do(s, i, VERB_rdma_create_id, 21, 0, W(&channels[i]), W(&id), W(0),
			 W(RDMA_PS_TCP));
		call = story_call(s, i, VERB_rdma_create_qp, 26, W(id), W(&ends[i].pd), W(&attr));
		make_end(s, i);
		story_return(s, &call, 0);
	}
	story_do(s, 0, VERB_rdma_connect, 27, 0, W(&ids[0]), W(client));
	story_do(s, 1, VERB_rdma_accept, 28, 0, W(&ids[1]), W(server));
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR | IBV_ACCESS_REMOTE_READ);
}

static const struct depths {
	const char *name;
	struct rdma_conn_param client, server;
	const char *said;
} depths[] = {
	{ "accept_allows_no_read",
	  { .initiator_depth = 4, .responder_resources = 4 },
	  { .initiator_depth = 4 },
	  "atomic; rdma_accept() 2:18 of process 2 gave responder_resources 0" },
	{ "connect_allows_no_read",
	  { .responder_resources = 4 },
	  { .initiator_depth = 4, .responder_resources = 4 },
	  "atomic; rdma_connect() 1:18 gave initiator_depth 0" },
	{ "neither_call_allows_no_read",
	  { .initiator_depth = 4 },
	  { .responder_resources = 4 },
	  "atomic (for a queue pair of librdmacm it is" },
};

static void a_call_that_connects(void **state)
{
	const struct depths *row = *state;
	const struct cause *cause;
	struct story s;

	connect_by_cm(&s, &row->client, &row->server);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_LOC_QP_OP_ERR);
	cause = get_only_cause(&s);
	if (!strstr(cause->key, row->said))
		fail_msg("no '%s' in: %s", row->said, cause->key);
	story_end(&s);
}
TEST_ROWS(depths, a_call_that_connects);

TEST(a_queue_pair_that_grants_no_read)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	assert_string_equal(get_only_cause(&s)->key, "qp_access_flags of qp1 of process 2 lack "
						     "IBV_ACCESS_REMOTE_READ");
	story_end(&s);
}

TEST(a_peer_that_is_not_ready_to_receive)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct story s;

	begin_story(&s);
	story_do(&s, 1, VERB_modify_qp, 33, 0, W(&ends[1].qp), W(&attr), W(IBV_QP_STATE));
	attr.qp_state = IBV_QPS_INIT;
	story_do(&s, 1, VERB_modify_qp, 34, 0, W(&ends[1].qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(get_only_cause(&s)->peer);
	story_end(&s);
}

TEST(a_peer_that_had_destroyed_its_queue_pair)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "its ibv_destroy_qp 2:20 began 3000 ns earlier, "
			    "2000 ns before the request was posted");
	story_end(&s);
}

TEST(a_peer_that_destroys_it_while_a_request_is_outstanding)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "its ibv_destroy_qp 2:20 began 2000 ns earlier, "
			    "while the request was outstanding");
	story_end(&s);
}

TEST(what_is_answered_is_not_caused_by_the_end_of_the_peer)
{
	static const int all[] = {
		IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR,   IBV_WC_LOC_PROT_ERR,
		IBV_WC_MW_BIND_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *peer;
		struct story s;

		begin_story(&s);
		send_to_peer(&s, 0x10);
		story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
		poll_as(&s, all[i]);
		peer = get_only_cause(&s)->peer;
		assert_true(!peer || !strstr(peer, "ibv_destroy_qp"));
		story_end(&s);
	}
}

TEST(a_peer_that_posted_its_receives_late)
{
	struct story s;

	begin_story(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	receive_as_peer(&s);
	receive_as_peer(&s);
	assert_string_equal(get_only_cause(&s)->peer,
			    "its receive queue was empty (0 of 8 posted); its first receive, "
			    "2:20, was posted 1000 ns later; rnr_retry 2, its min_rnr_timer 0.64 "
			    "ms");
	story_end(&s);
}

static void poll_as_peer(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[1].qp.qp_num };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* The peer had one receive, which an earlier message used. */
TEST(a_peer_whose_receives_were_consumed)
{
	struct story s;

	begin_story(&s);
	receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	poll_as_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       "(0 of 8 posted); 1 receive was consumed, the last posted at 2:20, "
			       "5000 ns earlier; no further receive was posted; rnr_retry 2"));
	story_end(&s);
}

/* Messages have taken them, whose completions it did not poll. */
TEST(a_peer_that_does_not_poll)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		receive_as_peer(&s);
	for (int i = 0; i < 2; i++) {
		send_to_peer(&s, 0x10);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       "its receive queue was empty (0 of 8 posted); 2 receives were "
			       "consumed, the last posted at 2:21, 6000 ns earlier; 2 messages had "
			       "come and not been polled; no further receive was posted"));
	story_end(&s);
}

/* One receive more than messages: the queue cannot have been empty. */
TEST(a_peer_with_one_receive_left)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_null(get_only_cause(&s)->peer);
	story_end(&s);
}

/* The peer had receives, which a reset dropped: no message used them. */
TEST(a_peer_whose_receives_were_dropped)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct story s;

	begin_story(&s);
	receive_as_peer(&s);
	receive_as_peer(&s);
	for (int i = 0; i < 2; i++)
		story_do(&s, i, VERB_modify_qp, 33, 0, W(&ends[i].qp), W(&reset), W(IBV_QP_STATE));
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       "(0 of 8 posted); 2 receives were outstanding when the queue pair "
			       "went to RESET, which dropped them; no receive was posted; "
			       "rnr_retry 2"));
	story_end(&s);
}

static void send_one(struct story *s)
{
	send_to_peer(s, 0x10);
	poll_as_peer(s);
	poll_as(s, IBV_WC_SUCCESS);
}

/* Three receives, of which one is posted again: the queue was full once more after that. */
TEST(a_peer_whose_receives_leaked)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 3; i++)
		receive_as_peer(&s);
	send_one(&s);
	receive_as_peer(&s);
	for (int i = 0; i < 3; i++)
		send_one(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(
		strstr(get_only_cause(&s)->peer,
		       "; 4 receives were consumed, the last posted at 2:24, 11.0 us "
		       "earlier; all 3 had been posted by 2:25, 9000 ns earlier; no further"));
	story_end(&s);
}

/* The peer's queue pair, and another that is not connected, share @srq. */
static void share_queue(struct story *s, struct ibv_srq *srq, struct ibv_qp *second)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8 } };
	struct ibv_qp_init_attr attr = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .srq = srq,
					 .cap = { .max_send_wr = 8 },
					 .qp_type = IBV_QPT_RC };

	begin_ends(s);
	*srq = (struct ibv_srq){ .context = &ends[1].context, .pd = &ends[1].pd };
	story_do(s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(s, 1, VERB_create_srq, 31, W(srq), W(&ends[1].pd), W(&of_srq));
	ends[1].qp.srq = srq;
	*second = ends[1].qp;
	second->qp_num = 0x23;
	story_do(s, 1, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[1].pd), W(&attr));
	story_do(s, 1, VERB_create_qp, 4, W(second), W(&ends[1].pd), W(&attr));
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR);
}

/* @receives were posted to the SRQ, and as many messages came. */
static void starve_shared(int receives, const char *says)
{
	struct ibv_qp second;
	struct ibv_srq srq;
	struct story s;

	share_queue(&s, &srq, &second);
	for (int i = 0; i < receives; i++)
		story_post(&s, 1, VERB_post_srq_recv, &srq, 1, 0,
			   (struct event_sge){ AT, 8, 0x20 });
	for (int i = 0; i < receives; i++)
		send_one(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer, says));
	story_end(&s);
}

TEST(a_shared_queue_that_is_empty)
{
	starve_shared(0, "its shared receive queue srq1, of 2 queue pairs, was empty (0 of 8 "
			 "posted); no receive was posted; rnr_retry 2");
	starve_shared(2, "its shared receive queue srq1, of 2 queue pairs, was empty (0 of 8 "
			 "posted); 2 receives were consumed, the last posted at ");
	starve_shared(2, "; since the queue was full, qp2 took 2 of the receives; no further "
			 "receive");
}

TEST(a_shared_queue_whose_messages_are_not_polled)
{
	struct ibv_qp second;
	struct ibv_srq srq;
	struct story s;

	share_queue(&s, &srq, &second);
	story_post(&s, 1, VERB_post_srq_recv, &srq, 1, 0, (struct event_sge){ AT, 8, 0x20 });
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(strstr(get_only_cause(&s)->peer,
			       " earlier; 1 message had come and not been polled; no further"));
	story_end(&s);
}

/* A queue pair took the only receives of the SRQ along. */
TEST(a_shared_queue_whose_receives_are_lost)
{
	struct ibv_qp_init_attr attr[2];
	struct ibv_qp second;
	struct ibv_srq srq;
	struct story s;

	share_queue(&s, &srq, &second);
	for (int i = 0; i < 2; i++)
		attr[i] = (struct ibv_qp_init_attr){ .send_cq = &ends[i].cq,
						     .recv_cq = &ends[i].cq,
						     .srq = i ? &srq : NULL,
						     .cap = { .max_send_wr = 8 },
						     .qp_type = IBV_QPT_RC };
	for (uint64_t i = 0; i < 2; i++)
		story_post(&s, 1, VERB_post_srq_recv, &srq, i, 0,
			   (struct event_sge){ AT, 8, 0x20 });
	for (int i = 0; i < 2; i++) {
		send_to_peer(&s, 0x10);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(&s, 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd), W(&attr[0]));
	story_do(&s, 1, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[1].pd), W(&attr[1]));
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_non_null(
		strstr(get_only_cause(&s)->peer,
		       " earlier; 2 receives were lost with qp2, which was destroyed before "
		       "they were polled; no further"));
	story_end(&s);
}

/* Receives for which its CQ has no entries. */
static void overrun_peer(int receives, const char *says)
{
	struct ibv_qp_init_attr attr = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	const struct cause *cause;
	struct story s;

	begin_ends(&s);
	ends[1].cq.cqe = 4;
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(&s, 1, VERB_destroy_cq, 9, 0, W(&ends[1].cq));
	story_do(&s, 1, VERB_create_cq, 3, W(&ends[1].cq), W(&ends[1].context), W(4), W(0), W(0),
		 W(0));
	story_do(&s, 1, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[1].pd), W(&attr));
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	for (int i = 0; i < receives; i++)
		receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_REM_OP_ERR);
	cause = get_only_cause(&s);
	if (says)
		assert_string_equal(cause->peer, says);
	else
		assert_null(cause->peer);
	story_end(&s);
}

TEST(a_peer_whose_cq_may_have_overrun)
{
	overrun_peer(5, "its cq2 has 4 entries for 5 outstanding requests, and it never polled: if "
			"it overran, messages are refused (QUEUE-003)");
	overrun_peer(4, NULL);
}

/* The first of both errors that is polled; the other request is outstanding by then. */
TEST(a_message_and_its_receive_that_differ)
{
	struct story s;

	for (int end = 0; end < 2; end++) {
		begin_story(&s);
		receive_as_peer(&s);
		story_post(&s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND,
			   (struct event_sge){ AT, 9, 0x10 });
		story_poll(&s, end, &ends[end].cq, 1,
			   end ? IBV_WC_LOC_LEN_ERR : IBV_WC_REM_INV_REQ_ERR, ends[end].qp.qp_num);
		assert_string_equal(get_only_cause(&s)->key,
				    end ? "the peer's message 1:20 has 9 bytes, this receive 8"
					: "the peer's receive 2:20 has 8 bytes, this message 9");
		story_end(&s);
	}
}

TEST(a_message_that_fits_was_refused_for_another_reason)
{
	struct story s;

	begin_story(&s);
	receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	assert_null(get_only_cause(&s)->key);
	story_end(&s);
}

/* One thread polls for both ends. */
TEST(a_message_that_was_too_long_for_this_receive)
{
	struct story s;

	begin_story(&s);
	receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	story_poll(&s, 1, &ends[1].cq, 1, IBV_WC_LOC_LEN_ERR, ends[1].qp.qp_num);
	story_check(&s, NULL);
	assert_non_null(
		strstr(facts_cause(s.findings->facts, &s.findings->facts->errors.all[1])->peer,
		       "its message 1:20 has 8 bytes: IBV_WC_REM_INV_REQ_ERR at 1:"));
	story_end(&s);
}

TEST(a_peer_that_failed_first)
{
	struct story s;

	begin_story(&s);
	receive_as_peer(&s);
	send_to_peer(&s, 0x10);
	story_poll(&s, 1, &ends[1].cq, 1, IBV_WC_LOC_LEN_ERR, ends[1].qp.qp_num);
	poll_as(&s, IBV_WC_REM_INV_REQ_ERR);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, 2);
	assert_non_null(
		strstr(facts_cause(s.findings->facts, &s.findings->facts->errors.all[1])->peer,
		       "its receive 2:20 has 8 bytes: IBV_WC_LOC_LEN_ERR at 2:"));
	story_end(&s);
}

/* The queue pairs of the process are connected to each other, and it ends soon after. */
TEST(a_process_that_polled_the_error_was_alive)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	struct story s;

	begin_ends(&s);
	attr.send_cq = attr.recv_cq = &ends[0].cq;
	ends[1].qp = ends[0].qp;
	ends[1].qp.qp_num = 0x23;
	story_do(&s, 0, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[0].pd), W(&attr));
	connect_end(&s, 0, 0x23, 0x21, FAR);
	connect_qp(&s, 0, &ends[1], 0x21, 0x21, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	story_exit(&s, STORY_PID, 0);
	assert_non_null(strstr(get_only_cause(&s)->peer, "in RTS, so it could respond: "));
	story_end(&s);
}

TEST(an_address_of_zero_leads_nowhere)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0, FAR);
	connect_end(&s, 1, 0x21, 0, FAR);
	send_to_peer(&s, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	assert_string_equal(get_only_cause(&s)->peer,
			    "dlid is 0, which is not the address of a port: was that of the peer "
			    "queried and received?");
	story_end(&s);
}
