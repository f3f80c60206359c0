/* analyzer/model/refused_missing.c: calls that lack something */
#include "analyzer/model/refused_missing.h"

#include <errno.h>

#include "analyzer/model/device.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "tests/test.h"

typedef bool refusal(const struct refused *r, char *text, size_t size);

static struct model model;

static const struct row {
	const char *name;
	refusal *refused;
	enum verb verb;
	const char *args;
	const char *why; /* NULL: not known */
} rows[] = {
	{ "no_device", refused_explain_null_object, VERB_open_device, "{\"device\":0}",
	  "device is NULL" },
	{ "device", refused_explain_null_object, VERB_open_device, "{\"device\":4096}", NULL },
	{ "device_unknown", refused_explain_null_object, VERB_open_device, "{}", NULL },
	{ "parent_of_nothing", refused_explain_null_pd, VERB_alloc_parent_domain,
	  "{\"attr\":{\"pd\":0}}", "attr.pd is NULL" },
	{ "parent", refused_explain_null_pd, VERB_alloc_parent_domain, "{\"attr\":{\"pd\":1}}",
	  NULL },
	{ "no_pd", refused_explain_extension, VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_RC\",\"comp_mask\":64}}",
	  "comp_mask lacks IBV_QP_INIT_ATTR_PD" },
	{ "no_domain", refused_explain_extension, VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_XRC_RECV\",\"comp_mask\":1}}",
	  "comp_mask lacks IBV_QP_INIT_ATTR_XRCD" },
	{ "reads_of_uc", refused_explain_extension, VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_UC\",\"comp_mask\":65,"
	  "\"send_ops_flags\":20}}",
	  "send_ops_flags has IBV_QP_EX_WITH_RDMA_READ, which IBV_QPT_UC does not support" },
	{ "reads_of_rc", refused_explain_extension, VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_RC\",\"comp_mask\":65,"
	  "\"send_ops_flags\":20}}",
	  NULL },
	{ "srq_without_its_domain", refused_explain_srq_parts, VERB_create_srq_ex,
	  "{\"srq_init_attr_ex\":{\"comp_mask\":11,\"srq_type\":\"IBV_SRQT_XRC\"}}",
	  "comp_mask lacks IBV_SRQ_INIT_ATTR_XRCD" },
	{ "srq_of_xrc", refused_explain_srq_parts, VERB_create_srq_ex,
	  "{\"srq_init_attr_ex\":{\"comp_mask\":15,\"srq_type\":\"IBV_SRQT_XRC\"}}", NULL },
	{ "srq_without_its_pd", refused_explain_srq_parts, VERB_create_srq_ex,
	  "{\"srq_init_attr_ex\":{\"comp_mask\":0}}", "comp_mask lacks IBV_SRQ_INIT_ATTR_PD" },
};

static void expect_refusal(void **state)
{
	const struct row *row = *state;
	struct args *args = args_new(row->args, strlen(row->args));
	const struct call call = { .verb = row->verb, .args = args, .error = EINVAL };
	const struct trace_event event = { .kind = TRACE_CALL, .process = 1, .call = &call };
	const struct refused r = { .model = &model, .event = &event };
	char text[256];
	bool is = row->refused(&r, text, sizeof(text));

	args_unref(args);
	assert_int_equal(is, row->why != NULL);
	if (is)
		assert_string_equal(text, row->why);
}

TEST_ROWS(rows, expect_refusal);

TEST(builders_that_were_not_requested)
{
	struct qp qp = { 0 };
	const struct life life = {
		.kind = OBJECT_qp, .qp = &qp, .created.id = { 1, 2 }, .name = "qp3"
	};
	const struct refused r = { .model = &model, .object = &life };
	char text[256];

	(void)state;
	assert_true(refused_explain_builders(&r, text, sizeof(text)));
	assert_string_equal(text, "qp3 was created without send_ops_flags and "
				  "IBV_QP_INIT_ATTR_SEND_OPS_FLAGS: it has no ibv_wr_*()");
	qp.has_send_ops = true;
	assert_false(refused_explain_builders(&r, text, sizeof(text)));
	qp = (struct qp){ .shared = true };
	assert_false(refused_explain_builders(&r, text, sizeof(text)));
}

/* If it was destroyed, that is the mistake. */
TEST(a_channel_whose_descriptor_was_closed)
{
	struct life life = { .kind = OBJECT_comp_channel,
			     .state = LIFE_LIVE,
			     .name = "comp_channel1" };
	const struct refused r = { .model = &model, .object = &life };
	char text[256];

	(void)state;
	assert_true(refused_explain_descriptor(&r, text, sizeof(text)));
	assert_non_null(strstr(text, "the file descriptor of comp_channel1 is closed"));
	life.state = LIFE_GONE;
	assert_false(refused_explain_descriptor(&r, text, sizeof(text)));
}
