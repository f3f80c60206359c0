/*
 * analyzer/model/refused_make.c: why an object could not be made
 *
 * The device has two completion vectors, and the limits below.
 */
#include "analyzer/model/refused_make.h"

#include <errno.h>

#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/queue.h"
#include "tests/test.h"

static struct model model;
static struct device device = {
	.known = true,
	.max_qp_wr = 100,
	.max_sge = 10,
	.max_cqe = 200,
	.max_srq_wr = 50,
	.max_srq_sge = 5,
	.max_mr_size = 4096,
	.comp_vectors = 2,
};
static struct life context = { .kind = OBJECT_context, .device = &device };

typedef bool refusal(const struct refused *r, char *text, size_t size);

static const struct row {
	const char *name;
	refusal *refused;
	enum verb verb;
	const char *args;
	const char *why; /* NULL: not known */
} rows[] = {
	{ "qp_without_cqs", refused_explain_qp, VERB_create_qp, "{\"qp_init_attr\":{}}", "no CQ" },
	{ "qp_with_one_cq", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1}}", NULL },
	{ "qp_with_the_other_cq", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"recv_cq\":1}}", NULL },
	{ "qp_at_its_limits", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_send_wr\":100,\"max_recv_wr\":100,"
	  "\"max_send_sge\":10,\"max_recv_sge\":10}}}",
	  NULL },
	{ "qp_with_too_many_sends", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_send_wr\":101}}}",
	  "max_send_wr is 101, the device's max_qp_wr is 100" },
	{ "qp_with_too_many_send_buffers", refused_explain_qp, VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"send_cq\":1,\"cap\":{\"max_send_sge\":11}}}",
	  "max_send_sge is 11, the device's max_sge is 10" },
	{ "qp_with_too_many_receives", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_recv_wr\":101}}}",
	  "max_recv_wr is 101, the device's max_qp_wr is 100" },
	{ "qp_with_too_many_receive_buffers", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_recv_sge\":11}}}",
	  "max_recv_sge is 11, the device's max_sge is 10" },
	{ "qp_with_a_shared_queue", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"srq\":2,\"cap\":{\"max_recv_wr\":101,"
	  "\"max_recv_sge\":11}}}",
	  NULL },
	{ "qp_with_inline_data", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_inline_data\":512}}}",
	  "within the device's limits, except possibly max_inline_data 512, which has a limit that "
	  "cannot be queried" },
	{ "qp_without_inline_data", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"cap\":{\"max_inline_data\":0}}}", NULL },
	{ "qp_of_no_type", refused_explain_qp, VERB_create_qp,
	  "{\"qp_init_attr\":{\"send_cq\":1,\"qp_type\":0}}",
	  "qp_type is 0, which is not a value of enum ibv_qp_type" },
	{ "cq_that_holds_more", refused_explain_cq, VERB_resize_cq, "{\"cqe\":4}",
	  "cqe is 4, and more completions were in the queue" },
	{ "cq_without_entries", refused_explain_cq, VERB_create_cq, "{\"cqe\":0}", "cqe is 0" },
	{ "cq_with_one_entry", refused_explain_cq, VERB_create_cq, "{\"cqe\":1}", NULL },
	{ "cq_at_its_limit", refused_explain_cq, VERB_create_cq, "{\"cqe\":200,\"comp_vector\":1}",
	  NULL },
	{ "cq_beyond_its_limit", refused_explain_cq, VERB_create_cq,
	  "{\"cqe\":201,\"comp_vector\":0}", "cqe is 201, the device's max_cqe is 200" },
	{ "cq_ex_beyond_its_limit", refused_explain_cq, VERB_create_cq_ex,
	  "{\"init_attr\":{\"cqe\":201}}", "cqe is 201, the device's max_cqe is 200" },
	{ "cq_with_a_vector_too_many", refused_explain_cq, VERB_create_cq,
	  "{\"cqe\":1,\"comp_vector\":2}", "comp_vector is 2, the device has 2, from 0 on" },
	{ "cq_with_a_negative_vector", refused_explain_cq, VERB_create_cq_ex,
	  "{\"init_attr\":{\"cqe\":1,\"comp_vector\":-1}}",
	  "comp_vector is -1, the device has 2, from 0 on" },
	{ "connect_with_seven_retries", refused_explain_connect, VERB_rdma_connect,
	  "{\"conn_param\":{\"retry_count\":7,\"rnr_retry_count\":7}}", NULL },
	{ "connect_with_eight_retries", refused_explain_connect, VERB_rdma_connect,
	  "{\"conn_param\":{\"retry_count\":8,\"rnr_retry_count\":7}}",
	  "retry_count is 8, the maximum is 7" },
	{ "connect_with_eight_rnr_retries", refused_explain_connect, VERB_rdma_accept,
	  "{\"conn_param\":{\"retry_count\":7,\"rnr_retry_count\":8}}",
	  "rnr_retry_count is 8, the maximum is 7" },
	{ "fields_of_the_standard", refused_explain_fields, VERB_create_cq_ex,
	  "{\"init_attr\":{\"wc_flags\":127}}", NULL },
	{ "fields_one_beyond", refused_explain_fields, VERB_create_cq_ex,
	  "{\"init_attr\":{\"wc_flags\":128}}",
	  "wc_flags has IBV_WC_EX_WITH_COMPLETION_TIMESTAMP beyond IBV_WC_STANDARD_FLAGS" },
	{ "fields_two_beyond", refused_explain_fields, VERB_create_cq_ex,
	  "{\"init_attr\":{\"wc_flags\":385}}",
	  "wc_flags has IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_CVLAN beyond "
	  "IBV_WC_STANDARD_FLAGS" },
	{ "fields_that_are_none", refused_explain_fields, VERB_create_cq_ex,
	  "{\"init_attr\":{\"wc_flags\":4294967296}}", NULL },
	{ "srq_at_its_limits", refused_explain_srq, VERB_create_srq,
	  "{\"srq_init_attr\":{\"attr\":{\"max_wr\":50,\"max_sge\":5}}}", NULL },
	{ "srq_with_too_many_receives", refused_explain_srq, VERB_create_srq,
	  "{\"srq_init_attr\":{\"attr\":{\"max_wr\":51,\"max_sge\":5}}}",
	  "max_wr is 51, the device's max_srq_wr is 50" },
	{ "srq_with_too_many_buffers", refused_explain_srq, VERB_create_srq_ex,
	  "{\"srq_init_attr_ex\":{\"attr\":{\"max_wr\":50,\"max_sge\":6}}}",
	  "max_sge is 6, the device's max_srq_sge is 5" },
	{ "region_for_remote_writes_alone", refused_explain_access, VERB_reg_mr,
	  "{\"access\":2,\"length\":8}", "IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE" },
	{ "dmabuf_at_another_offset", refused_explain_dmabuf, VERB_reg_dmabuf_mr,
	  "{\"access\":1,\"length\":8,\"offset\":4096,\"iova\":65600}",
	  "offset is 0x1000 and iova 0x10040: they differ within a page, by 0x0 and 0x40" },
	{ "dmabuf_at_that_offset", refused_explain_dmabuf, VERB_reg_dmabuf_mr,
	  "{\"access\":1,\"length\":8,\"offset\":64,\"iova\":65600}", NULL },
	{ "device_memory_with_addresses", refused_explain_dm, VERB_reg_dm_mr,
	  "{\"dm\":7,\"dm_offset\":0,\"length\":64,\"access\":1}",
	  "IBV_ACCESS_ZERO_BASED is missing" },
	{ "device_memory_with_offsets", refused_explain_dm, VERB_reg_dm_mr,
	  "{\"dm\":7,\"length\":64,\"access\":33}", NULL },
	{ "dmabuf_for_remote_writes_alone", refused_explain_dmabuf, VERB_reg_dmabuf_mr,
	  "{\"access\":2,\"length\":8,\"offset\":64,\"iova\":65600}",
	  "IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE" },
	{ "region_for_atomics_alone", refused_explain_access, VERB_reg_mr,
	  "{\"access\":8,\"length\":8}",
	  "IBV_ACCESS_REMOTE_ATOMIC without IBV_ACCESS_LOCAL_WRITE" },
	{ "region_for_all", refused_explain_access, VERB_reg_mr, "{\"access\":15,\"length\":8}",
	  NULL },
	{ "region_to_be_read", refused_explain_access, VERB_reg_mr, "{\"access\":4,\"length\":8}",
	  NULL },
	{ "region_without_bytes", refused_explain_access, VERB_reg_mr,
	  "{\"access\":1,\"length\":0}", "length is 0" },
	{ "region_at_its_limit", refused_explain_access, VERB_reg_mr,
	  "{\"access\":1,\"length\":4096}", NULL },
	{ "region_beyond_its_limit", refused_explain_access, VERB_reg_mr,
	  "{\"access\":1,\"length\":4097}", "4097 bytes, the device's max_mr_size is 4096" },
	{ "region_without_arguments", refused_explain_access, VERB_reg_mr, "{}", NULL },
	{ "memory_to_be_read", refused_explain_memory, VERB_reg_mr,
	  "{\"addr\":4096,\"length\":16,\"access\":4}",
	  "0x1000 to 0x1010 cannot be pinned: it is not completely mapped, or it is GPU memory" },
	{ "memory_to_be_written", refused_explain_memory, VERB_reg_mr,
	  "{\"addr\":4096,\"length\":16,\"access\":1}",
	  "0x1000 to 0x1010 cannot be pinned: it is not completely mapped and writable, or it is "
	  "GPU memory" },
	{ "memory_without_its_length", refused_explain_memory, VERB_reg_mr, "{\"addr\":4096}",
	  NULL },
};

static const char *explain_refusal(const struct row *row, const struct life *object, char text[256])
{
	struct args *args = args_new(row->args, strlen(row->args));
	const struct call call = { .verb = row->verb, .args = args, .ret = EINVAL };
	const struct trace_event event = { .kind = TRACE_CALL, .process = 1, .call = &call };
	const struct refused r = { .model = &model, .event = &event, .object = object };
	bool is = row->refused(&r, text, 256);

	args_unref(args);
	return is ? text : NULL;
}

static void expect_refusal(void **state)
{
	const struct row *row = *state;
	char text[256];
	const char *why = explain_refusal(row, &context, text);

	if (row->why && why)
		assert_string_equal(why, row->why);
	else
		assert_ptr_equal(why, row->why);
}

TEST_ROWS(rows, expect_refusal);

TEST(device_memory_is_copied_in_words)
{
	static const struct row copies[] = {
		{ "", refused_explain_dm, VERB_memcpy_to_dm,
		  "{\"dm\":7,\"dm_offset\":0,\"length\":6}",
		  "dm_offset is 0, and length 6: both must be multiples of 4" },
		{ "", refused_explain_dm, VERB_memcpy_from_dm,
		  "{\"dm\":7,\"dm_offset\":2,\"length\":8}",
		  "dm_offset is 2, and length 8: both must be multiples of 4" },
		{ "", refused_explain_dm, VERB_memcpy_to_dm,
		  "{\"dm\":7,\"dm_offset\":8,\"length\":8}", NULL },
	};
	struct life *dm;
	char text[256];

	(void)state;
	assert_int_equal(lives_init(&model.lives), 0);
	assert_non_null(dm = lives_new(&model.lives));
	dm->kind = OBJECT_dm;
	dm->process = 1;
	dm->handle = 7;
	dm->bytes = 64;
	lives_add(&model.lives, dm);
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
		const char *why = explain_refusal(&copies[i], &context, text);

		if (copies[i].why && why)
			assert_string_equal(why, copies[i].why);
		else
			assert_ptr_equal(why, copies[i].why);
	}
	lives_fini(&model.lives);
}

/* What a device has is not the reason then. */
TEST(limits_that_are_not_known_refuse_nothing)
{
	const struct life unknown = { .kind = OBJECT_context };
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].why && strstr(rows[i].why, "the device")) {
			assert_null(explain_refusal(&rows[i], NULL, text));
			assert_null(explain_refusal(&rows[i], &unknown, text));
		}
	device.known = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].why && strstr(rows[i].why, "the device's"))
			assert_null(explain_refusal(&rows[i], &context, text));
	device.known = true;
	device.comp_vectors = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].why && strstr(rows[i].why, "the device has"))
			assert_null(explain_refusal(&rows[i], &context, text));
	device.comp_vectors = 2;
}

static const char *explain_no_room(const struct life *object, enum verb verb, uint32_t n,
				   char text[256])
{
	const struct post post = { .verb = verb, .nwr = n };
	const struct trace_event event = { .kind = TRACE_POST, .post = &post };
	const struct refused r = { .model = &model, .event = &event, .object = object };

	return refused_explain_full_queue(&r, text, 256) ? text : NULL;
}

TEST(a_queue_with_room_is_not_full)
{
	struct queue sq = { .send = true, .limits.given = 8, .outstanding = 5 };
	struct queue rq = { .limits.given = 4, .outstanding = 1 };
	struct life qp = { .kind = OBJECT_qp, .sq = &sq, .rq = &rq };
	char text[256];

	(void)state;
	sq.owner = rq.owner = &qp;
	snprintf(qp.name, sizeof(qp.name), "qp1");
	assert_string_equal(explain_no_room(&qp, VERB_post_send, 3, text),
			    "not a full queue: 5 of 8 sends of qp1 were outstanding; the device or "
			    "its library had no resources");
	assert_null(explain_no_room(&qp, VERB_post_send, 4, text));
	assert_string_equal(explain_no_room(&qp, VERB_post_recv, 3, text),
			    "not a full queue: 1 of 4 receives of qp1 were outstanding; the device "
			    "or its library had no resources");
	sq.doubt = 1;
	assert_null(explain_no_room(&qp, VERB_post_send, 1, text));
	sq.doubt = 0;
	sq.limits.given = 0;
	assert_null(explain_no_room(&qp, VERB_post_send, 1, text));
	rq.owner = NULL;
	assert_null(explain_no_room(&qp, VERB_post_recv, 1, text));
	qp.rq = NULL;
	assert_null(explain_no_room(&qp, VERB_post_recv, 1, text));
	assert_null(explain_no_room(NULL, VERB_post_recv, 1, text));
}

static const char *why_this_list(struct wr *wr, uint32_t n, char text[256])
{
	struct queue sq = { .send = true, .limits.given = 8 };
	struct life qp = { .kind = OBJECT_qp, .sq = &sq, .name = "qp1" };
	const struct post post = { .verb = VERB_post_send, .nwr = n, .wr = wr };
	const struct trace_event event = { .kind = TRACE_POST, .post = &post };
	const struct refused r = { .model = &model, .event = &event, .object = &qp };

	return refused_explain_list(&r, text, 256) ? text : NULL;
}

TEST(a_list_that_leads_back_to_its_begin)
{
	struct wr wr[12];
	char text[256];

	for (uint64_t i = 0; i < 12; i++)
		wr[i] = (struct wr){ .wr_id = i % 3 };
	assert_null(why_this_list(wr, 8, text));
	assert_string_equal(why_this_list(wr, 12, text),
			    "the list has no end: after 3 requests it begins again, since the next "
			    "of the last one is not NULL");
	wr[11].wr_id = 7;
	assert_null(why_this_list(wr, 12, text));
}
