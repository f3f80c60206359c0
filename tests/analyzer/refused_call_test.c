/* analyzer/model/refused_call.c: why librdmacm refused a call. */
#include <errno.h>
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

static struct rdma_event_channel channel = { .fd = 7 };
static struct rdma_cm_id an_id = { .channel = &channel, .verbs = &a_context };

static void begin_id(struct story *s)
{
	struct rdma_cm_id *id = &an_id;

	story_begin(s);
	open_context(s);
	alloc_pd(s);
	create_cq(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
}

static void refuse_call(struct story *s, enum verb verb, ...)
{
	struct story_call call;
	va_list list;

	va_start(list, verb);
	call = story_call_args(s, 0, verb, 5, list);
	va_end(list);
	story_fails(s, &call, (uint64_t)-1, EINVAL);
}

/* End it; the reason of the only failed verb, NULL: unknown. */
static void check_failure_reason(struct story *s, const char *because)
{
	const struct fact_list *facts;
	const struct fact *found = NULL;

	story_check(s, NULL);
	facts = &s->findings->facts->list;
	for (size_t i = 0; i < facts->n; i++)
		if (facts->all[i].kind == FACT_FAILED) {
			assert_null(found);
			found = &facts->all[i];
		}
	assert_non_null(found);
	if (because)
		assert_string_equal(found->because ? found->because : "", because);
	else
		assert_null(found->because);
	story_end(s);
}

static void bind_id(struct story *s)
{
	story_do(s, 0, VERB_rdma_bind_addr, 22, 0, W(&an_id), W(0));
}

TEST(a_port_space_that_there_is_not)
{
	struct rdma_cm_id *id = &an_id;
	struct story s;

	story_begin(&s);
	refuse_call(&s, VERB_rdma_create_id, W(&channel), W(&id), W(0), W(0x99));
	check_failure_reason(&s, "ps is 153, which is not a value of enum rdma_port_space");
	story_begin(&s);
	refuse_call(&s, VERB_rdma_create_id, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	check_failure_reason(&s, NULL);
}

TEST(a_queue_pair_of_an_identifier_without_a_device)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .qp_type = IBV_QPT_RC };
	struct story s;

	begin_id(&s);
	refuse_call(&s, VERB_rdma_create_qp, W(&an_id), W(&a_pd), W(&attr));
	check_failure_reason(
		&s, "cm_id1 has no device: neither rdma_resolve_addr() nor rdma_bind_addr() "
		    "was called");
	begin_id(&s);
	bind_id(&s);
	refuse_call(&s, VERB_rdma_create_qp, W(&an_id), W(&a_pd), W(&attr));
	check_failure_reason(&s, NULL);
}

TEST(an_identifier_that_listens_is_no_connection)
{
	static const enum verb verbs[] = { VERB_rdma_reject, VERB_rdma_disconnect,
					   VERB_rdma_accept };
	struct story s;

	for (int i = 0; i < 3; i++) {
		begin_id(&s);
		bind_id(&s);
		story_do(&s, 0, VERB_rdma_listen, 23, 0, W(&an_id), W(1));
		refuse_call(&s, verbs[i], W(&an_id), W(0), W(0));
		check_failure_reason(&s, "cm_id1 listens: use the identifier of its "
					 "RDMA_CM_EVENT_CONNECT_REQUEST");
		begin_id(&s);
		bind_id(&s);
		refuse_call(&s, verbs[i], W(&an_id), W(0), W(0));
		check_failure_reason(&s, NULL);
	}
}

TEST(an_identifier_of_datagrams_has_no_connected_queue_pair)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD };
	struct rdma_cm_id *id = &an_id;
	struct story s;

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr attr = { .qp_type = types[i] };

		begin_id(&s);
		story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
		story_do(&s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0),
			 W(RDMA_PS_UDP));
		bind_id(&s);
		refuse_call(&s, VERB_rdma_create_qp, W(&an_id), W(&a_pd), W(&attr));
		check_failure_reason(&s,
				     i ? NULL
				       : "qp_type is IBV_QPT_RC, and cm_id2 is of a port space of "
					 "datagrams: it takes IBV_QPT_UD; connections need "
					 "RDMA_PS_TCP or RDMA_PS_IB");
	}
}

static void no_such_address(const char *ip, const char *because)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct story_call call;
	struct story s;

	assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
	begin_id(&s);
	call = story_call(&s, 0, VERB_rdma_bind_addr, 5, W(&an_id), W(&at));
	story_fails(&s, &call, (uint64_t)-1, EADDRNOTAVAIL);
	check_failure_reason(&s, because);
}

TEST(an_address_in_the_byte_order_of_the_host)
{
	no_such_address("1.0.0.127", "1.0.0.127 is 127.0.0.1 with its bytes reversed: sin_addr is "
				     "in network byte order (htonl())");
	no_such_address("5.1.168.192", "5.1.168.192 is 192.168.1.5 with its bytes reversed: "
				       "sin_addr is in network byte order (htonl())");
	no_such_address("10.0.0.10", NULL);
	no_such_address("8.8.4.4", NULL);
}

static void route_id(struct story *s)
{
	static struct rdma_cm_event event;
	struct rdma_cm_event *got = &event;

	event = (struct rdma_cm_event){ .id = &an_id, .event = RDMA_CM_EVENT_ROUTE_RESOLVED };
	story_do(s, 0, VERB_rdma_get_cm_event, 23, 0, W(&channel), W(&got));
}

TEST(an_identifier_without_a_route)
{
	struct story s;

	begin_id(&s);
	bind_id(&s);
	refuse_call(&s, VERB_rdma_connect, W(&an_id), W(0), W(0));
	check_failure_reason(&s, "no RDMA_CM_EVENT_ROUTE_RESOLVED has come for cm_id1");
}

/* @before, if not VERB_COUNT, was called for an identifier of rdma_create_id(), and @verb fails. */
static void talk_twice(enum verb before, enum verb verb, const char *because)
{
	struct story s;

	begin_id(&s);
	bind_id(&s);
	route_id(&s);
	if (before != VERB_COUNT)
		story_do(&s, 0, before, 24, 0, W(&an_id), W(0), W(0));
	refuse_call(&s, verb, W(&an_id), W(0), W(0));
	check_failure_reason(&s, because);
}

/* A request for @number; the queue pair with the number of a_qp may be gone by the answer. */
static void answer_request(uint32_t number, bool gone, const char *because)
{
	static struct rdma_cm_id asked = { .channel = &channel, .verbs = &a_context };
	struct rdma_cm_event event = { .id = &asked,
				       .listen_id = &an_id,
				       .event = RDMA_CM_EVENT_CONNECT_REQUEST,
				       .param.conn.qp_num = number },
			     *got = &event;
	struct story s;

	begin_id(&s);
	bind_id(&s);
	create_qp(&s);
	story_do(&s, 0, VERB_rdma_get_cm_event, 23, 0, W(&channel), W(&got));
	if (gone)
		destroy_qp(&s, 0);
	refuse_call(&s, VERB_rdma_accept, W(&asked), W(0), W(0));
	check_failure_reason(&s, because);
}

TEST(a_request_whose_queue_pair_is_gone)
{
	char because[160];

	snprintf(because, sizeof(because),
		 "the peer gave up: the queue pair that asked, number 0x%x of process 1, was "
		 "destroyed at 1:18, 3000 ns earlier",
		 a_qp.qp_num);
	answer_request(a_qp.qp_num, true, because);
	answer_request(a_qp.qp_num, false, NULL);
	answer_request(a_qp.qp_num + 1, true, NULL);
}

TEST(an_identifier_that_was_answered_or_asked_before)
{
	talk_twice(VERB_rdma_reject, VERB_rdma_accept,
		   "cm_id1 was rejected by rdma_reject() at 1:16");
	talk_twice(VERB_rdma_accept, VERB_rdma_accept, "cm_id1 was already accepted at 1:16");
	talk_twice(VERB_rdma_accept, VERB_rdma_reject, "cm_id1 was already accepted at 1:16");
	talk_twice(VERB_rdma_accept, VERB_rdma_disconnect, NULL);
	talk_twice(VERB_rdma_disconnect, VERB_rdma_connect,
		   "cm_id1 was disconnected at 1:16: a new connection needs a new identifier");
	talk_twice(VERB_rdma_connect, VERB_rdma_connect,
		   "rdma_connect() was called for cm_id1 at 1:16: a second attempt needs a new "
		   "identifier");
	talk_twice(VERB_COUNT, VERB_rdma_connect, NULL);
}

/* What an identifier with a queue pair connects with, on a device with 16 and 8. */
static const struct of_connect {
	const char *name;
	enum verb verb;
	struct rdma_conn_param param;
	const char *because;
} of_connect[] = {
	{ "fits", VERB_rdma_connect, { .private_data_len = 56, .initiator_depth = 8 }, NULL },
	{ "private_data",
	  VERB_rdma_connect,
	  { .private_data_len = 57 },
	  "private_data_len is 57, and a request by RDMA_PS_TCP has room for 56" },
	{ "private_data_of_a_reply", VERB_rdma_accept, { .private_data_len = 196 }, NULL },
	{ "too_much_private_data_of_a_reply",
	  VERB_rdma_accept,
	  { .private_data_len = 197 },
	  "private_data_len is 197, and the reply has room for 196" },
	{ "depth",
	  VERB_rdma_connect,
	  { .initiator_depth = 9 },
	  "initiator_depth is 9, the device's max_qp_init_rd_atom is 8" },
	{ "resources",
	  VERB_rdma_accept,
	  { .responder_resources = 17 },
	  "responder_resources is 17, the device's max_qp_rd_atom is 16" },
	{ "as_many_as_there_are",
	  VERB_rdma_connect,
	  { .responder_resources = 255, .initiator_depth = 255 },
	  NULL },
};

static void connect_is_refused(void **state)
{
	static struct ibv_device_attr device = { .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 8 };
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC };
	const struct of_connect *row = *state;
	struct rdma_conn_param param = row->param;
	char data[256] = "";
	struct story_call call;
	struct story s;

	param.private_data = data;
	begin_id(&s);
	story_do(&s, 0, VERB_query_device, 40, 0, W(&a_context), W(&device));
	bind_id(&s);
	route_id(&s);
	call = story_call(&s, 0, VERB_rdma_create_qp, 26, W(&an_id), W(&a_pd), W(&attr));
	create_qp(&s);
	story_return(&s, &call, 0);
	refuse_call(&s, row->verb, W(&an_id), W(&param));
	check_failure_reason(&s, row->because);
}

TEST_ROWS(of_connect, connect_is_refused);

TEST(advice_for_a_region_that_is_not_on_demand)
{
	struct ibv_mr mr = { .context = &a_context,
			     .pd = &a_pd,
			     .addr = (void *)0x10000,
			     .length = 4096,
			     .lkey = 2 };
	struct ibv_sge sge = { .addr = 0x10000, .length = 4096, .lkey = 2 };
	struct story_call call;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &mr);
	call = story_call(&s, 0, VERB_advise_mr, 5, W(&a_pd), W(IBV_ADVISE_MR_ADVICE_PREFETCH),
			  W(0), W(&sge), W(1));
	story_fails(&s, &call, ENOENT, 0);
	check_failure_reason(&s, "sg_list[0].lkey is mr1 of pd1, which was registered without "
				 "IBV_ACCESS_ON_DEMAND at 1:6");
}

TEST(what_happens_once_to_an_identifier)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct story s;

	begin_id(&s);
	bind_id(&s);
	story_do(&s, 0, VERB_rdma_listen, 23, 0, W(&an_id), W(1));
	refuse_call(&s, VERB_rdma_listen, W(&an_id), W(1));
	check_failure_reason(&s, "cm_id1 already listens");
	begin_id(&s);
	refuse_call(&s, VERB_rdma_resolve_addr, W(&an_id), W(0), W(&to), W(1000));
	check_failure_reason(&s, NULL);
}
