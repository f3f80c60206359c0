/*
 * Arguments and results of verbs as text: each kind of field
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "core/wire/codec.h"
#include "core/wire/event.h"
#include "shim/lttng/point.h"
#include "tests/test.h"

enum { WORDS = 512 };

static union {
	struct event_call call;
	struct event_return back;
	uint64_t words[WORDS];
} event;

static struct point point;

/* Encode a call, behind two frames of a stack, and make its text. */
static void encode_call(enum verb verb, const uint64_t *args, const struct payload_rule *rule)
{
	uint64_t *at = (uint64_t *)(&event.call + 1) + 2;
	struct codec_out out = { .words = at, .size = 256, .rule = rule };

	memset(&point, 0x55, sizeof(point));
	memset(&event, 0, sizeof(event));
	codec_put_args(&out, verb, args, DIR_IN);
	event.call.verb = (uint16_t)verb;
	event.call.nframes = 2;
	event.call.nargs = (typeof(event.call.nargs))out.used;
	point.event = &event.call.head;
	point.text[0] = '\0';
	text_of_call(&point);
}

static void encode_return(enum verb verb, const uint64_t *args, int64_t ret)
{
	struct codec_out out = { .words = (uint64_t *)(&event.back + 1), .size = 256, .ret = ret };

	memset(&point, 0, sizeof(point));
	memset(&event, 0, sizeof(event));
	codec_put_outputs(&out, verb, args);
	event.back.verb = (uint16_t)verb;
	event.back.nouts = (typeof(event.back.nouts))out.used;
	point.event = &event.back.head;
	text_of_return(&point);
}

TEST(numbers_are_in_their_places)
{
	const uint64_t args[16] = { 0x1000, 0x2000, 77, 5 };

	encode_call(VERB_reg_mr, args, NULL);
	assert_string_equal(point.text, "pd=0x1000, addr=0x2000, length=77, access=0x5");
	for (int i = 0; i < POINT_ARGS; i++)
		assert_int_equal(point.number[i], i < 4 ? args[i] : 0);
}

TEST(structures_are_in_brackets)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .qp_access_flags = 3,
				    .ah_attr = { .dlid = 9, .is_global = 0, .port_num = 1 } };
	const uint64_t args[16] = { 0x1000, (uintptr_t)&attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS };

	encode_call(VERB_modify_qp, args, NULL);
	assert_string_equal(point.text, "qp=0x1000, attr={qp_state=2, qp_access_flags=0x3}, "
					"attr_mask=0x9");
	assert_int_equal(point.number[0], 0x1000);
	assert_int_equal(point.number[1], 0);
	assert_int_equal(point.number[2], 9);
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.dgid.raw[15] = 0xab;
	((uint64_t *)args)[2] = IBV_QP_AV;
	encode_call(VERB_modify_qp, args, NULL);
	assert_string_equal(point.text,
			    "qp=0x1000, attr={ah_attr={grh={dgid={raw="
			    "000000000000000000000000000000ab}, flow_label=0, sgid_index=0, "
			    "hop_limit=0, traffic_class=0}, dlid=9, sl=0, src_path_bits=0, "
			    "static_rate=0, is_global=1, port_num=1}}, attr_mask=0x80");
	assert_int_equal(point.number[2], 0x80);
	assert_int_equal(point.number[3], 0);
}

TEST(null_is_named)
{
	const uint64_t args[16] = { 0x1000, 0, IBV_QP_STATE };

	encode_call(VERB_modify_qp, args, NULL);
	assert_string_equal(point.text, "qp=0x1000, attr=NULL, attr_mask=0x1");
}

TEST(elements_are_counted)
{
	struct ibv_sge sges[2] = { { 0x2000, 5, 6 }, { 0x3000, 7, 8 } };
	const uint64_t args[16] = { 0x1000, 1, 1, (uintptr_t)sges, 2 };

	encode_call(VERB_advise_mr, args, NULL);
	assert_string_equal(point.text, "pd=0x1000, advice=1, flags=1, sg_list=[2]{addr=8192, "
					"length=5, lkey=6}{addr=12288, length=7, lkey=8}, "
					"num_sges=2");
}

static void expect_private(const struct rdma_conn_param *param, const struct payload_rule *rule,
			   const char *data)
{
	const uint64_t args[16] = { 0x1000, (uintptr_t)param };
	char wanted[256];

	snprintf(wanted, sizeof(wanted),
		 "id=0x1000, conn_param={private_data=%s, private_data_len=5, "
		 "responder_resources=0, initiator_depth=0, flow_control=0, retry_count=0, "
		 "rnr_retry_count=0, srq=0, qp_num=0}",
		 data);
	encode_call(VERB_rdma_connect, args, rule);
	assert_string_equal(point.text, wanted);
}

TEST(private_data_has_a_length_a_hash_and_bytes)
{
	const struct payload_rule bytes = { 3, 7 }, hash = { PAYLOAD_HASH, 7 };
	const struct rdma_conn_param none = { .private_data_len = 5 };
	const struct rdma_conn_param some = { .private_data = "\001\xfeghi",
					      .private_data_len = 5 };

	expect_private(&some, NULL, "{length=5}");
	expect_private(&some, &bytes, "{length=5, bytes=01fe67}");
	expect_private(&some, &hash, "{length=5, hash=b835285753361d67}");
	expect_private(&none, &hash, "NULL");
}

TEST(results_are_those_of_the_verb_and_the_new_object)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 2, 3, 4, 5 } };
	struct ibv_qp qp = { .handle = 3, .qp_num = 17 };
	const uint64_t args[16] = { 0x1000, (uintptr_t)&init };

	encode_return(VERB_create_qp, args, (intptr_t)&qp);
	assert_string_equal(point.text,
			    "qp_init_attr={qp_context=0x0, send_cq=0x0, recv_cq=0x0, srq=0x0, "
			    "cap={max_send_wr=1, max_recv_wr=2, max_send_sge=3, max_recv_sge=4, "
			    "max_inline_data=5}, qp_type=0, sq_sig_all=0}, context=0x0, pd=0x0, "
			    "send_cq=0x0, recv_cq=0x0, srq=0x0, handle=3, qp_num=17, state=0, "
			    "qp_type=0");
	encode_return(VERB_dereg_mr, args, 0);
	assert_string_equal(point.text, "");
}

TEST(text_is_cut_where_its_room_ends)
{
	static const char begin[] = "device_attr={fw_ver=\"1.2\", node_guid=0, sys_image_guid=0, ";
	struct ibv_device_attr_ex attr = { .orig_attr.fw_ver = "1.2" };
	struct ibv_device_attr plain = { .fw_ver = "1.2", .phys_port_cnt = 3 };
	uint64_t args[16] = { 0x1000, (uintptr_t)&plain };

	encode_return(VERB_query_device, args, 0);
	assert_memory_equal(point.text, begin, strlen(begin));
	assert_string_equal(strrchr(point.text, ' '), " phys_port_cnt=3}");
	args[1] = 0;
	args[2] = (uintptr_t)&attr;
	args[3] = sizeof(attr);
	encode_return(VERB_query_device_ex, args, 0);
	assert_int_equal(strlen(point.text), POINT_TEXT - 1);
}
