/*
 * replay/synth/synth.c: what the other end of a connection does before a recorded event
 *
 * QP is connected to such an end, UD sends datagrams; the device and the rest of the room log
 * the calls that they get.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/synth/synth_priv.h"
#include "tests/test.h"

enum { QP = 1, UD, OTHER, NOBJECTS, LONGEST = 4096 };

static char log_text[1024];
static char buffer[2 * LONGEST];
static struct replay replay;
static struct replay_options options;
static struct synth_plan *plan, *datagrams;
static struct synth_host host;
static struct synth_end *end;
static struct ibv_context context;
static struct ibv_qp qp;
static struct ibv_mr buffer_mr = { .lkey = 0x11 };
static struct synth_srq shared;
static struct ibv_srq srq;
static struct ibv_recv_wr posted;
static struct ibv_sge posted_sge;
static unsigned int nfull, nclosed, nmodified;
static int64_t now;
static int bind_error, post_error, srq_result;
static uint64_t host_bytes;

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

void synth_free_end(struct synth_end *of)
{
	free(of);
}

void synth_close(struct synth_host *of)
{
	assert_ptr_equal(of, &replay.far->hosts[nclosed]);
	nclosed++;
}

struct synth_end *synth_datagram_end(struct replay *r, struct synth_plan *of, uint32_t qpn)
{
	(void)r;
	assert_ptr_equal(of, datagrams);
	log_line("to %u", qpn);
	return qpn == 5 ? end : NULL;
}

struct synth_srq *synth_srq_of(struct synth_end *of, uint32_t number)
{
	assert_ptr_equal(of, end);
	log_line("srq %u", number);
	return srq_result ? NULL : &shared;
}

void synth_drain(struct synth_end *of)
{
	assert_ptr_equal(of, end);
	log_line("drain");
}

int64_t synth_now(void)
{
	return now;
}

bool synth_wait(int64_t deadline)
{
	now += 10;
	return now < deadline;
}

int synth_before_poll(struct replay *r, const struct trace_event *event)
{
	(void)r;
	assert_int_equal(event->kind, TRACE_POLL);
	log_line("poll");
	return -EIO;
}

static bool is_due;

int synth_before_due(struct replay *r, const struct trace_event *event)
{
	(void)r;
	assert_false(event->inner);
	if (is_due)
		log_line("due");
	return is_due ? -EPERM : 0;
}

uint64_t synth_host_bytes(const struct synth_host *of)
{
	(void)of;
	return host_bytes;
}

int synth_fill_message(struct replay *r, const struct synth_end *of,
		       const struct trace_event *event, uint32_t index)
{
	(void)r;
	(void)event;
	assert_ptr_equal(of, end);
	log_line("fill %u", index);
	return 0;
}

int synth_bind(struct replay *r, struct synth_end *of, const struct trace_event *event,
	       uint32_t index)
{
	(void)r;
	(void)event;
	assert_ptr_equal(of, end);
	log_line("bind %u", index);
	return bind_error;
}

static int post_recv(struct ibv_qp *of, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)bad;
	assert_ptr_equal(of, &qp);
	posted = *wr;
	posted_sge = *wr->sg_list;
	log_line("receive %u%s", wr->sg_list->length,
		 wr->sg_list->lkey == buffer_mr.lkey ? "" : " wrongly");
	if (nfull) {
		nfull--;
		return ENOMEM;
	}
	return post_error;
}

static int post_srq_recv(struct ibv_srq *of, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)wr;
	(void)bad;
	assert_ptr_equal(of, &srq);
	log_line("shared receive");
	return 0;
}

int ibv_modify_qp(struct ibv_qp *of, struct ibv_qp_attr *attr, int mask)
{
	assert_ptr_equal(of, &qp);
	if (mask == IBV_QP_STATE)
		log_line("state %d", attr->qp_state);
	else if (mask == IBV_QP_ACCESS_FLAGS)
		log_line("access %u", attr->qp_access_flags);
	nmodified++;
	return 0;
}

static int begin_synth(void **state)
{
	(void)state;
	*log_text = 0;
	nfull = nclosed = nmodified = 0;
	now = 1000;
	bind_error = post_error = srq_result = 0;
	host_bytes = 100;
	options = (struct replay_options){ .timeout = 25 };
	replay = (struct replay){ .options = &options, .nreplicas = NOBJECTS };
	assert_int_equal(synth_init(&replay), 0);
	plan = calloc(1, sizeof(*plan));
	datagrams = calloc(1, sizeof(*datagrams));
	*plan = (struct synth_plan){ .object = QP, .type = IBV_QPT_RC, .needed = true };
	*datagrams = (struct synth_plan){ .object = UD, .type = IBV_QPT_UD, .needed = true };
	replay.far->plans[QP] = plan;
	replay.far->plans[UD] = datagrams;
	context.ops.post_recv = post_recv;
	context.ops.post_srq_recv = post_srq_recv;
	qp = (struct ibv_qp){ .context = &context, .qp_type = IBV_QPT_RC };
	srq = (struct ibv_srq){ .context = &context };
	shared.srq = &srq;
	host = (struct synth_host){ .buffer = buffer, .longest = LONGEST, .buffer_mr = &buffer_mr };
	end = calloc(1, sizeof(*end));
	*end = (struct synth_end){ .host = &host, .qp = &qp };
	plan->ends = end;
	return 0;
}

static int end_synth(void **state)
{
	(void)state;
	synth_fini(&replay);
	assert_null(replay.far);
	synth_fini(&replay);
	return 0;
}

FIXTURE(begin_synth, end_synth);

static const struct sge sges[] = { { .length = 60 }, { .length = 4 } };
static struct wr wrs[4];
static struct post post;
static struct trace_event event;

static int replay_before(uint32_t object, uint32_t nwr)
{
	for (uint32_t i = 0; i < nwr; i++) {
		wrs[i].sge = sges;
		wrs[i].nsge = 2;
	}
	post = (struct post){ .verb = VERB_post_send, .object = object, .nwr = nwr, .wr = wrs };
	event = (struct trace_event){ .kind = TRACE_POST, .id = { 1, 7 }, .post = &post };
	return synth_prepare(&replay, &event);
}

/* One request that ended with @status. */
static void expect_before(int opcode, enum ibv_wc_status status, const char *expected)
{
	wrs[0] = (struct wr){ .opcode = opcode };
	map_put(&replay.far->failed, event_part_key((struct event_id){ 1, 7 }, 0), status);
	assert_int_equal(replay_before(QP, 1), 0);
	expect_log(expected);
}

TEST(a_send_finds_a_receive_that_fits)
{
	(void)state;
	expect_before(IBV_WR_SEND, IBV_WC_SUCCESS, "receive 4096");
	assert_int_equal(posted_sge.addr, (uintptr_t)buffer + LONGEST);
	assert_int_equal(posted.num_sge, 1);
	assert_int_equal(host.receives, 1);
	expect_before(IBV_WR_SEND_WITH_IMM, IBV_WC_SUCCESS, "receive 4096");
	expect_before(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_SUCCESS, "receive 4096");
	expect_before(IBV_WR_SEND_WITH_INV, IBV_WC_SUCCESS, "bind 0; receive 4096");
	expect_before(IBV_WR_SEND_WITH_INV, IBV_WC_REM_OP_ERR, "receive 4096 wrongly");
	assert_int_equal(host.receives, 5);
}

TEST(other_requests_find_their_bytes)
{
	(void)state;
	expect_before(IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, "fill 0");
	expect_before(IBV_WR_RDMA_READ, IBV_WC_SUCCESS, "fill 0");
	expect_before(IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_SUCCESS, "fill 0");
	expect_before(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_REM_ACCESS_ERR, "fill 0");
	assert_int_equal(host.receives, 0);
}

TEST(a_send_that_was_refused_finds_a_receive_that_refuses)
{
	(void)state;
	expect_before(IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR, "receive 63");
	expect_before(IBV_WR_SEND, IBV_WC_REM_OP_ERR, "receive 4096 wrongly");
	expect_before(IBV_WR_SEND, IBV_WC_WR_FLUSH_ERR, ""); /* there was none */
	/* a message without bytes is never too long */
	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND };
	map_put(&replay.far->failed, event_part_key((struct event_id){ 1, 7 }, 0),
		IBV_WC_REM_INV_REQ_ERR);
	post = (struct post){ .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = wrs };
	assert_int_equal(synth_prepare(&replay, &event), 0);
	expect_log("receive 4096");
}

TEST(a_read_that_was_refused_finds_no_access)
{
	(void)state;
	expect_before(IBV_WR_RDMA_READ, IBV_WC_REM_INV_REQ_ERR, "access 0; fill 0");
	expect_before(IBV_WR_RDMA_READ, IBV_WC_REM_INV_REQ_ERR, "fill 0"); /* once */
	assert_true(end->closed);
}

TEST(an_end_that_did_not_answer_is_gone)
{
	(void)state;
	expect_before(IBV_WR_SEND, IBV_WC_RETRY_EXC_ERR, "drain; state 0");
	assert_true(end->dead);
	expect_before(IBV_WR_SEND, IBV_WC_RETRY_EXC_ERR, "");
	expect_before(IBV_WR_SEND, IBV_WC_SUCCESS, "");
	expect_before(IBV_WR_RDMA_READ, IBV_WC_SUCCESS, "");
}

TEST(an_end_that_was_not_ready_posts_no_more)
{
	(void)state;
	expect_before(IBV_WR_SEND, IBV_WC_RNR_RETRY_EXC_ERR, "");
	expect_before(IBV_WR_SEND, IBV_WC_SUCCESS, "");
	expect_before(IBV_WR_RDMA_READ, IBV_WC_SUCCESS, "fill 0");
	assert_false(end->dead);
}

TEST(a_receive_waits_for_room)
{
	(void)state;
	nfull = 1;
	expect_before(IBV_WR_SEND, IBV_WC_SUCCESS, "receive 4096; drain; receive 4096");
	nfull = 9;
	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND };
	assert_int_equal(replay_before(QP, 1), -ENOMEM); /* after 25 ns */
	expect_log("receive 4096; drain; receive 4096; drain; receive 4096; drain");
	nfull = 0;
	post_error = EINVAL;
	assert_int_equal(replay_before(QP, 1), -EINVAL);
	expect_log("receive 4096");
}

TEST(each_accepted_request_is_prepared)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		wrs[i] = (struct wr){ .opcode = i == 1 ? IBV_WR_RDMA_READ : IBV_WR_SEND };
	assert_int_equal(replay_before(QP, 3), 0);
	expect_log("receive 4096; fill 1; receive 4096");
	post.ret = EINVAL;
	post.bad = 3; /* the third was not taken */
	assert_int_equal(synth_prepare(&replay, &event), 0);
	expect_log("receive 4096; fill 1");
	post.verb = VERB_post_recv;
	assert_int_equal(synth_prepare(&replay, &event), 0);
	expect_log("");
}

TEST(the_first_error_ends_a_post)
{
	(void)state;
	bind_error = -ENOMEM;
	for (int i = 0; i < 3; i++)
		wrs[i] = (struct wr){ .opcode = IBV_WR_SEND_WITH_INV };
	assert_int_equal(replay_before(QP, 3), -EIO);
	expect_log("bind 0");
}

TEST(queue_pairs_of_the_trace_need_nothing)
{
	(void)state;
	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND };
	assert_int_equal(replay_before(OTHER, 1), 0);
	plan->needed = false;
	assert_int_equal(replay_before(QP, 1), 0);
	plan->needed = true;
	plan->ends = NULL;
	assert_int_equal(replay_before(QP, 1), 0);
	expect_log("");
	plan->ends = end;
}

TEST(each_datagram_has_the_end_of_its_number)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		wrs[i] = (struct wr){ .opcode = IBV_WR_SEND, .remote_qpn = 4 + i };
	assert_int_equal(replay_before(UD, 3), 0);
	expect_log("to 4; to 5; receive 4096; to 6");
}

TEST(an_exclusive_request_is_received_from_its_queue)
{
	(void)state;
	qp.qp_type = IBV_QPT_XRC_RECV;
	wrs[0] = (struct wr){ .opcode = IBV_WR_SEND, .remote_srqn = 9 };
	assert_int_equal(replay_before(QP, 1), 0);
	expect_log("srq 9; shared receive");
	srq_result = -1;
	assert_int_equal(replay_before(QP, 1), -EOPNOTSUPP);
	expect_log("srq 9");
}

TEST(polls_and_events_are_messages)
{
	(void)state;
	event = (struct trace_event){ .kind = TRACE_POLL };
	assert_int_equal(synth_prepare(&replay, &event), -EIO);
	expect_log("poll");
	event.kind = TRACE_CALL;
	assert_int_equal(synth_prepare(&replay, &event), 0);
	is_due = true;
	assert_int_equal(synth_prepare(&replay, &event), -EPERM);
	expect_log("due");
	event.kind = TRACE_POLL;
	assert_int_equal(synth_prepare(&replay, &event), -EPERM);
	expect_log("due");
	event.inner = true;
	assert_int_equal(synth_prepare(&replay, &event), 0);
	expect_log("");
	is_due = false;
}

TEST(the_memory_of_all_hosts_is_counted)
{
	(void)state;
	assert_int_equal(synth_bytes(&replay), 0);
	replay.far->hosts = calloc(3, sizeof(host));
	replay.far->nhosts = 3;
	assert_int_equal(synth_bytes(&replay), 300);
	host_bytes = UINT64_MAX / 2;
	assert_int_equal(synth_bytes(&replay), UINT64_MAX);
	synth_fini(&replay);
	assert_int_equal(nclosed, 3);
	assert_int_equal(synth_bytes(&replay), 0);
}

TEST(a_queue_pair_has_an_end_while_it_is_connected)
{
	(void)state;
	assert_true(synth_has(&replay, QP));
	assert_false(synth_has(&replay, UD));
	assert_false(synth_has(&replay, OTHER));
	assert_false(synth_has(&replay, NOBJECTS));
}
