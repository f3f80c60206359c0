/*
 * replay/process/process_agent.c: what each command does, and what it returns
 *
 * The agent is a child of the test, and what it calls is the test's. Memory that the test looks at
 * afterwards is shared by both.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "replay/device/builder.h"
#include "replay/device/dispatch.h"
#include "replay/device/fault_maker.h"
#include "replay/process/process_agent.h"
#include "tests/test.h"

enum { BYTES = 1024, MOST = 4 };

/* An object, and functions that a provider has. */
union object {
	struct ibv_qp qp;
	struct ibv_qp_ex qp_ex;
	struct ibv_srq srq;
	struct ibv_wq wq;
	struct ibv_cq cq;
	struct ibv_cq_ex cq_ex;
	struct ibv_comp_channel channel;
	struct ibv_context context;
	char bytes[BYTES];
};

static struct shared {
	union object object, context;
	struct ibv_mw window[2];
	struct ibv_send_wr sends[MOST];
	struct ibv_recv_wr recvs[MOST];
	struct ibv_wc wc[MOST];
	struct process_wc read[MOST];
	int64_t ret;
	int error, polls;
	uint64_t args[16]; /* of the last call */
	char said[64];
	bool lacks; /* functions that an object may lack */
	struct ibv_data_buf bufs[2];
} * shared;

static struct ibv_device devices[2] = { { .name = "one" }, { .name = "two" } };
static struct process_wire *wire;
static struct channel *agent;
static int alive, agent_pid;

int64_t dispatch_call(enum verb verb, const uint64_t *args)
{
	memcpy(shared->args, args, sizeof(shared->args));
	snprintf(shared->said, sizeof(shared->said), "%s %s", verb_infos[verb].name,
		 getenv("AGENT") ?: "");
	errno = shared->error;
	return shared->ret;
}

unsigned int dispatch_refused(void)
{
	static unsigned int refused;

	refused += 3;
	return refused;
}

struct ibv_device **ibv_get_device_list(int *ret_n)
{
	static struct ibv_device *list[] = { &devices[0], &devices[1], NULL };

	assert_null(ret_n);
	return list;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return shared->lacks ? NULL : (struct ibv_qp_ex *)qp;
}

int builder_run(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, uint32_t n,
		struct ibv_data_buf *bufs, bool complete)
{
	snprintf(shared->said, sizeof(shared->said), "%d %d %u %d %d", qp == &shared->object.qp_ex,
		 list == shared->sends, n, bufs == shared->bufs, complete);
	errno = shared->error;
	return (int)shared->ret;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq, void **ret_context)
{
	assert_ptr_equal(channel, &shared->object);
	*ret_cq = &shared->object.cq;
	*ret_context = shared->wc;
	errno = shared->error;
	return (int)shared->ret;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	assert_ptr_equal(context, &shared->context);
	event->event_type = IBV_EVENT_COMM_EST;
	errno = shared->error;
	return (int)shared->ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	snprintf(shared->said, sizeof(shared->said), "acknowledged %d", event->event_type);
}

static int make_fault(const char *rule)
{
	snprintf(shared->said, sizeof(shared->said), "fault %s", rule ?: "none");
	return 5;
}

static int raise_event(struct ibv_context *context, const struct ibv_async_event *event)
{
	snprintf(shared->said, sizeof(shared->said), "event %d %d",
		 context == &shared->context.context, event->event_type);
	return 6;
}

static unsigned int count_struck(void)
{
	return 7;
}

bool fault_maker_find(struct fault_maker *ret_maker)
{
	*ret_maker = (struct fault_maker){ false, make_fault, raise_event, count_struck };
	return !shared->lacks;
}

/* Functions of a provider */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_ptr_equal(qp, &shared->object.qp);
	assert_ptr_equal(wr, shared->sends);
	if (shared->ret)
		*bad = wr + 1;
	errno = shared->error;
	return (int)shared->ret;
}

static int take_recv(const char *how, const void *queue, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	assert_ptr_equal(queue, &shared->object);
	assert_ptr_equal(wr, shared->recvs);
	snprintf(shared->said, sizeof(shared->said), "%s", how);
	if (shared->ret)
		*bad = wr + 2;
	errno = shared->error;
	return (int)shared->ret;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return take_recv("qp", qp, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return take_recv("srq", srq, wr, bad);
}

static int post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return take_recv("wq", wq, wr, bad);
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	assert_ptr_equal(cq, &shared->object.cq);
	for (int i = 0; i < most; i++)
		wc[i].wr_id = 70 + (uint64_t)i;
	errno = shared->error;
	return most;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	assert_ptr_equal(cq, &shared->object.cq);
	errno = shared->error;
	return solicited + 10;
}

/* Completions 1 to 3 of an iterator, of which the second is an error. */
static int next_poll(struct ibv_cq_ex *cq)
{
	cq->wr_id++;
	cq->status = cq->wr_id == 2 ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS;
	return cq->wr_id > 3 ? ENOENT : 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	assert_int_equal(attr->comp_mask, 0);
	cq->wr_id = 0;
	shared->polls++;
	return (int)shared->ret ?: next_poll(cq);
}

static void end_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
	shared->polls += 100;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
	(void)cq;
	return IBV_WC_RDMA_READ;
}

static unsigned int read_flags(struct ibv_cq_ex *cq)
{
	(void)cq;
	return IBV_WC_WITH_IMM;
}

/* clang-format off */
static uint32_t read_qp_num(struct ibv_cq_ex *cq) { return 10 + (uint32_t)cq->wr_id; }
static uint32_t read_src_qp(struct ibv_cq_ex *cq) { return 20 + (uint32_t)cq->wr_id; }
static uint32_t read_error(struct ibv_cq_ex *cq) { return 30 + (uint32_t)cq->wr_id; }
static uint32_t read_length(struct ibv_cq_ex *cq) { return 40 + (uint32_t)cq->wr_id; }
static __be32 read_imm(struct ibv_cq_ex *cq) { return 50 + (uint32_t)cq->wr_id; }
static uint32_t read_slid(struct ibv_cq_ex *cq) { return 60 + (uint32_t)cq->wr_id; }
static uint8_t read_sl(struct ibv_cq_ex *cq) { return 70 + (uint8_t)cq->wr_id; }
static uint8_t read_bits(struct ibv_cq_ex *cq) { return 80 + (uint8_t)cq->wr_id; }
static uint32_t read_tag(struct ibv_cq_ex *cq) { return 90 + (uint32_t)cq->wr_id; }
/* clang-format on */

static void *map_shared(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void begin_objects(void)
{
	struct ibv_context *context = &shared->context.context;

	memset(shared, 0, sizeof(*shared));
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	shared->object.qp.context = context; /* the context of any other object, too */
}

/* Channel 0 is the agent's, 1 that of a thread, 2 that of a child. */
static int begin_agent(void **state)
{
	size_t size = sizeof(*wire) + 3 * sizeof(struct channel);
	int fds[2];

	(void)state;
	shared = map_shared(sizeof(*shared));
	wire = map_shared(size);
	if (shared == MAP_FAILED || wire == MAP_FAILED || pipe2(fds, O_CLOEXEC))
		return -1;
	begin_objects();
	alive = fds[1];
	wire->alive = fds[0];
	agent = &wire->channels[0];
	fflush(NULL);
	agent_pid = fork();
	if (!agent_pid) {
		close(alive);
		process_agent_run(wire, 0);
	}
	return 0;
}

static int end_agent(void **state)
{
	int status;

	(void)state;
	close(alive);
	close(wire->alive);
	waitpid(agent_pid, &status, 0);
	munmap(shared, sizeof(*shared));
	return munmap(wire, sizeof(*wire) + 3 * sizeof(struct channel)) || WIFSIGNALED(status);
}

FIXTURE(begin_agent, end_agent);

/* Execute a command, and wait for its answer. */
static void run_command(struct channel *c, enum process_command command)
{
	c->command = command;
	process_store(c->asked, c->asked + 1);
	if (process_load(c->agent_sleeps))
		process_wake(&c->asked);
	while (process_load(c->answered) != c->asked) {
		process_store(c->we_sleep, 1);
		if (process_load(c->answered) != c->asked)
			process_sleep(&c->answered, c->asked - 1, 1000000);
	}
}

/* The same with arguments. */
#define RUN(command, ...)                                   \
	do {                                                \
		const uint64_t these[16] = { __VA_ARGS__ }; \
                                                            \
		memcpy(agent->args, these, sizeof(these));  \
		run_command(agent, command);                \
	} while (0)

#define W(pointer) ((uint64_t)(uintptr_t)(pointer))

static void call_verb(enum verb verb, int64_t ret)
{
	shared->ret = ret;
	agent->verb = verb;
	run_command(agent, PROCESS_CALL);
}

TEST(a_verb_is_called_with_its_arguments)
{
	(void)state;
	shared->error = 22;
	agent->args[0] = W(&shared->object);
	agent->args[1] = 5;
	agent->args[15] = 77;
	call_verb(VERB_modify_qp, 13);
	assert_int_equal(agent->ret, 13);
	assert_int_equal(agent->error, 22);
	assert_int_equal(agent->refused, 3);
	assert_int_equal(shared->args[0], W(&shared->object));
	assert_int_equal(shared->args[1], 5);
	assert_int_equal(shared->args[15], 77);
	assert_string_equal(shared->said, "ibv_modify_qp ");
}

TEST(a_device_is_passed_by_its_name)
{
	(void)state;
	strcpy(agent->device, "two");
	agent->args[0] = 1;
	call_verb(VERB_open_device, 0);
	assert_ptr_equal((void *)shared->args[0], &devices[1]);
	strcpy(agent->device, "one");
	call_verb(VERB_open_device, 0);
	assert_ptr_equal((void *)shared->args[0], &devices[0]);
	strcpy(agent->device, "on");
	call_verb(VERB_open_device, 0);
	assert_int_equal(shared->args[0], 0);
	agent->args[0] = W(&shared->context);
	call_verb(VERB_alloc_pd, 0);
	assert_int_equal(shared->args[0], W(&shared->context));
}

/* The number of bytes that were copied of an object of 0xaa. */
static size_t copied_bytes(const struct process_copy *copy)
{
	size_t n = 0;

	while (n < PROCESS_COPY && copy->bytes[n] == (char)0xaa)
		n++;
	for (size_t i = n; i < PROCESS_COPY; i++)
		assert_int_equal(copy->bytes[i], 0);
	return n;
}

static void check_copy(enum verb verb, enum object_kind kind, bool extended, bool builds,
		       size_t bytes)
{
	static const char none[PROCESS_COPY];
	struct process_copy *copy = &agent->copies[0];

	memset(shared->object.bytes, 0xaa, BYTES);
	memset(agent->args, 0, sizeof(agent->args));
	memcpy(copy->bytes, none, PROCESS_COPY);
	call_verb(verb, (int64_t)W(&shared->object));
	assert_int_equal(copy->real, W(&shared->object));
	assert_int_equal(copy->kind, kind);
	assert_int_equal(copy->extended, extended);
	assert_int_equal(copy->builds, builds);
	assert_int_equal(copied_bytes(copy), bytes);
}

TEST(a_created_object_is_copied)
{
	(void)state;
	check_copy(VERB_open_device, OBJECT_context, false, false, sizeof(struct ibv_context));
	check_copy(VERB_reg_mr, OBJECT_mr, false, false, sizeof(struct ibv_mr));
	check_copy(VERB_alloc_mw, OBJECT_mw, false, false, sizeof(struct ibv_mw));
	check_copy(VERB_create_comp_channel, OBJECT_comp_channel, false, false,
		   sizeof(struct ibv_comp_channel));
	check_copy(VERB_create_cq, OBJECT_cq, false, false, sizeof(struct ibv_cq));
	check_copy(VERB_create_cq_ex, OBJECT_cq, true, false, sizeof(struct ibv_cq_ex));
	check_copy(VERB_create_srq, OBJECT_srq, false, false, sizeof(struct ibv_srq));
	check_copy(VERB_create_qp, OBJECT_qp, false, false, sizeof(struct ibv_qp));
	check_copy(VERB_create_qp_ex, OBJECT_qp, true, true, BUILDER_SIZE);
	check_copy(VERB_create_wq, OBJECT_wq, false, false, sizeof(struct ibv_wq));
	check_copy(VERB_create_rwq_ind_table, OBJECT_rwq_ind_table, false, false,
		   sizeof(struct ibv_rwq_ind_table));
	check_copy(VERB_create_ah, OBJECT_ah, false, false, sizeof(struct ibv_ah));
	check_copy(VERB_alloc_pd, OBJECT_pd, false, false, sizeof(struct ibv_pd));
	check_copy(VERB_create_flow, OBJECT_flow, false, false, sizeof(struct ibv_flow));
	check_copy(VERB_open_xrcd, OBJECT_xrcd, false, false, sizeof(void *));
	shared->lacks = true;
	check_copy(VERB_create_qp_ex, OBJECT_qp, true, false, sizeof(struct ibv_qp));
}

TEST(objects_in_arguments_are_copied)
{
	(void)state;
	memset(shared->object.bytes, 0xaa, BYTES);
	agent->args[0] = W(&shared->context);
	call_verb(VERB_create_cq, 0); /* fails */
	assert_int_equal(agent->copies[0].real, 0);
	assert_int_equal(agent->copies[1].real, W(&shared->context));
	assert_int_equal(agent->copies[1].kind, OBJECT_context);
	assert_memory_equal(agent->copies[1].bytes, &shared->context, sizeof(struct ibv_context));
	assert_int_equal(agent->copies[2].real, 0); /* no channel */
	assert_int_equal(agent->copies[2].kind, OBJECT_comp_channel);
	agent->args[3] = W(&shared->object);
	call_verb(VERB_create_cq, (int64_t)W(&shared->window));
	assert_int_equal(agent->copies[0].real, W(&shared->window));
	assert_int_equal(agent->copies[2].real, W(&shared->object));
	assert_int_equal(copied_bytes(&agent->copies[2]), sizeof(struct ibv_comp_channel));
}

TEST(a_destroyed_object_is_not_copied)
{
	(void)state;
	agent->args[0] = W(&shared->object);
	call_verb(VERB_dereg_mr, EBUSY);
	assert_int_equal(agent->copies[1].real, W(&shared->object));
	assert_int_equal(agent->copies[1].kind, OBJECT_mr);
	call_verb(VERB_dereg_mr, 0);
	assert_int_equal(agent->copies[1].real, 0);
}

/* A list of sends that bind both windows, the second one after the request that is refused. */
static void bind_windows(void)
{
	for (int i = 0; i < MOST; i++)
		shared->sends[i] = (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
							 .next = &shared->sends[i + 1] };
	shared->sends[MOST - 1].next = NULL;
	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr *wr = &shared->sends[i];

		wr->opcode = IBV_WR_BIND_MW;
		wr->bind_mw.mw = &shared->window[i];
		wr->bind_mw.rkey = 5 + (uint32_t)i;
		shared->window[i].rkey = 1;
	}
}

TEST(requests_are_posted)
{
	(void)state;
	bind_windows();
	shared->error = 9;
	RUN(PROCESS_POST_SEND, W(&shared->object), W(shared->sends), 8);
	assert_int_equal(agent->ret, 0);
	assert_int_equal(agent->error, 9);
	assert_int_equal(agent->args[2], 0);
	assert_int_equal(shared->window[0].rkey, 5);
	assert_int_equal(shared->window[1].rkey, 6);
	bind_windows();
	shared->ret = ENOMEM;
	RUN(PROCESS_POST_SEND, W(&shared->object), W(shared->sends));
	assert_int_equal(agent->ret, ENOMEM);
	assert_int_equal(agent->args[2], 2);
	assert_int_equal(shared->window[0].rkey, 5);
	assert_int_equal(shared->window[1].rkey, 1);
}

static void check_recv(enum verb verb, const char *queue)
{
	agent->verb = verb;
	shared->ret = 0;
	RUN(PROCESS_POST_RECV, W(&shared->object), W(shared->recvs), 8);
	assert_string_equal(shared->said, queue);
	assert_int_equal(agent->ret, 0);
	assert_int_equal(agent->error, 4);
	assert_int_equal(agent->args[2], 0);
	shared->ret = EINVAL;
	RUN(PROCESS_POST_RECV, W(&shared->object), W(shared->recvs));
	assert_int_equal(agent->ret, EINVAL);
	assert_int_equal(agent->args[2], 3);
}

TEST(receives_are_posted_to_their_queue)
{
	(void)state;
	shared->error = 4;
	check_recv(VERB_post_recv, "qp");
	check_recv(VERB_post_srq_recv, "srq");
	shared->object.wq.post_recv = post_wq_recv;
	check_recv(VERB_post_wq_recv, "wq");
}

static void check_build(int ret, uint32_t n, bool complete, const char *said, uint32_t rkey)
{
	bind_windows();
	shared->ret = ret;
	RUN(PROCESS_BUILD, W(&shared->object), W(shared->sends), n, W(shared->bufs), complete);
	assert_int_equal(agent->ret, ret);
	assert_int_equal(agent->error, 11);
	assert_string_equal(shared->said, said);
	assert_int_equal(shared->window[0].rkey, rkey);
	assert_int_equal(shared->window[1].rkey, rkey == 1 ? 1 : rkey + 1);
}

TEST(requests_are_built)
{
	(void)state;
	shared->error = 11;
	check_build(0, MOST, true, "1 1 4 1 1", 5);
	check_build(0, 0, true, "1 1 0 1 1", 1);
	check_build(0, MOST, false, "1 1 4 1 0", 1);
	check_build(ENOMEM, MOST, true, "1 1 4 1 1", 1);
}

TEST(a_queue_is_polled_and_armed)
{
	(void)state;
	shared->error = 3;
	RUN(PROCESS_POLL, W(&shared->object), 2, W(shared->wc));
	assert_int_equal(agent->ret, 2);
	assert_int_equal(agent->error, 3);
	assert_int_equal(shared->wc[0].wr_id, 70);
	assert_int_equal(shared->wc[1].wr_id, 71);
	assert_int_equal(shared->wc[2].wr_id, 0);
	shared->error = 4;
	RUN(PROCESS_NOTIFY, W(&shared->object), 1);
	assert_int_equal(agent->ret, 11);
	assert_int_equal(agent->error, 4);
}

static void set_readers(bool all)
{
	struct ibv_cq_ex *cq = &shared->object.cq_ex;

	memset(cq, 0, sizeof(*cq));
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_qp_num = read_qp_num;
	cq->read_vendor_err = read_error;
	cq->read_opcode = read_opcode;
	cq->read_wc_flags = read_flags;
	if (!all)
		return;
	cq->read_src_qp = read_src_qp;
	cq->read_byte_len = read_length;
	cq->read_imm_data = read_imm;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_bits;
	cq->read_flow_tag = read_tag;
}

static void check_completion(const struct process_wc *read, const struct process_wc *wanted)
{
	assert_int_equal(read->flow_tag, wanted->flow_tag);
	assert_memory_equal(&read->wc, &wanted->wc, sizeof(wanted->wc));
}

TEST(an_iterator_is_read)
{
	struct process_wc first = { .flow_tag = 91,
				    .wc = { .wr_id = 1,
					    .opcode = IBV_WC_RDMA_READ,
					    .byte_len = 41,
					    .imm_data = 51,
					    .qp_num = 11,
					    .src_qp = 21,
					    .wc_flags = IBV_WC_WITH_IMM,
					    .slid = 61,
					    .sl = 71,
					    .dlid_path_bits = 81 } };
	const struct process_wc failed = { .wc = { .wr_id = 2,
						   .status = IBV_WC_REM_OP_ERR,
						   .vendor_err = 32,
						   .qp_num = 12,
						   .src_qp = 22 } };

	(void)state;
	set_readers(true);
	RUN(PROCESS_ITERATE, W(&shared->object), 2, W(shared->read));
	assert_int_equal(agent->ret, 2);
	assert_int_equal(shared->polls, 101);
	check_completion(&shared->read[0], &first);
	check_completion(&shared->read[1], &failed);
	assert_int_equal(shared->read[2].wc.wr_id, 0);
	RUN(PROCESS_ITERATE, W(&shared->object), MOST, W(shared->read));
	assert_int_equal(agent->ret, 3);
	assert_int_equal(shared->polls, 202);
	assert_int_equal(shared->read[2].wc.wr_id, 3);
	set_readers(false);
	RUN(PROCESS_ITERATE, W(&shared->object), 1, W(shared->read));
	first = (struct process_wc){ .wc = { .wr_id = 1,
					     .opcode = IBV_WC_RDMA_READ,
					     .qp_num = 11,
					     .wc_flags = IBV_WC_WITH_IMM } };
	check_completion(&shared->read[0], &first);
}

TEST(an_empty_iterator_is_not_ended)
{
	(void)state;
	set_readers(true);
	shared->ret = ENOENT;
	RUN(PROCESS_ITERATE, W(&shared->object), 2, W(shared->read));
	assert_int_equal(agent->ret, 0);
	shared->ret = EIO;
	RUN(PROCESS_ITERATE, W(&shared->object), 2, W(shared->read));
	assert_int_equal(agent->ret, -1);
	assert_int_equal(shared->polls, 2);
}

/* poll(2) ignores descriptor -1, and reports an invalid one. */
TEST(an_event_that_waits_is_seen)
{
	enum { NONE = -1, INVALID = INT_MAX };

	(void)state;
	shared->object.channel.fd = NONE;
	shared->context.context.async_fd = INVALID;
	RUN(PROCESS_LOOK, W(&shared->object), OBJECT_comp_channel);
	assert_int_equal(agent->ret, 0);
	RUN(PROCESS_LOOK, W(&shared->context), OBJECT_context);
	assert_int_equal(agent->ret, 1);
	shared->object.channel.fd = INVALID;
	shared->context.context.async_fd = NONE;
	RUN(PROCESS_LOOK, W(&shared->object), OBJECT_comp_channel);
	assert_int_equal(agent->ret, 1);
	RUN(PROCESS_LOOK, W(&shared->context), OBJECT_context);
	assert_int_equal(agent->ret, 0);
}

TEST(events_are_taken)
{
	struct ibv_async_event *event = (void *)shared->wc;

	(void)state;
	shared->ret = -1;
	shared->error = 11;
	RUN(PROCESS_CQ_EVENT, W(&shared->object));
	assert_int_equal(agent->ret, -1);
	assert_int_equal(agent->error, 11);
	assert_int_equal(agent->args[1], W(&shared->object));
	assert_int_equal(agent->args[2], W(shared->wc));
	shared->error = 12;
	RUN(PROCESS_ASYNC, W(&shared->context), W(event));
	assert_int_equal(agent->ret, -1);
	assert_int_equal(agent->error, 12);
	assert_int_equal(event->event_type, IBV_EVENT_COMM_EST);
	RUN(PROCESS_ACK_ASYNC, W(event));
	assert_string_equal(shared->said, "acknowledged 4");
}

TEST(faults_are_made)
{
	struct ibv_async_event *event = (void *)shared->wc;

	(void)state;
	event->event_type = IBV_EVENT_DEVICE_FATAL;
	strcpy(shared->object.bytes, "a rule");
	RUN(PROCESS_FAULT, W(&shared->object));
	assert_int_equal(agent->ret, 5);
	assert_string_equal(shared->said, "fault a rule");
	RUN(PROCESS_FAULT, 0);
	assert_string_equal(shared->said, "fault none");
	RUN(PROCESS_RAISE, W(&shared->context), W(event));
	assert_int_equal(agent->ret, 6);
	assert_string_equal(shared->said, "event 1 8");
	RUN(PROCESS_STRUCK, 0);
	assert_int_equal(agent->ret, 7);
	shared->lacks = true;
	RUN(PROCESS_FAULT, 0);
	assert_int_equal(agent->ret, EINVAL);
	RUN(PROCESS_RAISE, W(&shared->context), W(event));
	assert_int_equal(agent->ret, EINVAL);
	RUN(PROCESS_STRUCK, 0);
	assert_int_equal(agent->ret, 0);
}

TEST(memory_is_mapped_where_it_is_free)
{
	char *at = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to = shared->object.bytes;

	(void)state;
	munmap(at, 8192); /* free in both processes */
	RUN(PROCESS_MAP, W(at), 4096, PROT_READ | PROT_WRITE);
	assert_int_equal(agent->ret, 0);
	strcpy(to, "some bytes");
	RUN(PROCESS_WRITE, W(at + 5), 7, W(to));
	RUN(PROCESS_READ, W(at + 4), 11, W(to));
	assert_memory_equal(to, "\0some by\0\0\0", 11);
	RUN(PROCESS_MAP, W(at), 4096, PROT_READ | PROT_WRITE);
	assert_int_equal(agent->ret, -1);
	assert_int_equal(agent->error, EEXIST);
}

TEST(a_variable_is_set)
{
	char *at = shared->object.bytes;

	(void)state;
	strcpy(at, "AGENT");
	strcpy(at + 16, "one");
	RUN(PROCESS_SETENV, W(at), W(at + 16));
	assert_int_equal(agent->ret, 0);
	strcpy(at + 16, "two");
	RUN(PROCESS_SETENV, W(at), W(at + 16));
	call_verb(VERB_fork_init, 0);
	assert_string_equal(shared->said, "ibv_fork_init two");
	strcpy(at, "A=B");
	RUN(PROCESS_SETENV, W(at), W(at + 16));
	assert_int_equal(agent->ret, -1);
	assert_int_equal(agent->error, EINVAL);
}

TEST(a_child_is_forked_and_reaped)
{
	int pid;

	(void)state;
	RUN(PROCESS_FORK, 2);
	pid = (int)agent->ret;
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), 0);
	wire->channels[2].verb = VERB_fork_init;
	run_command(&wire->channels[2], PROCESS_CALL);
	assert_string_equal(shared->said, "ibv_fork_init ");
	wire->channels[2].args[0] = PROCESS_KILLED;
	run_command(&wire->channels[2], PROCESS_END);
	RUN(PROCESS_REAP, (uint64_t)pid);
	assert_int_equal(agent->ret, SIGKILL);
	assert_int_equal(kill(pid, 0), -1);
	RUN(PROCESS_REAP, (uint64_t)pid);
	assert_int_equal(agent->ret, -1);
}

TEST(a_thread_has_a_channel)
{
	struct channel *thread = &wire->channels[1];

	(void)state;
	RUN(PROCESS_START, 1);
	assert_int_equal(agent->ret, 0);
	thread->verb = VERB_fork_init;
	shared->ret = 8;
	run_command(thread, PROCESS_CALL);
	assert_int_equal(thread->ret, 8);
	thread->args[0] = PROCESS_EXIT;
	run_command(thread, PROCESS_END);
}
