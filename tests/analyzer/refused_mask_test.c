/* analyzer/model/refused_mask.c: bits of masks for which a call was refused */
#include "analyzer/model/refused_mask.h"

#include <errno.h>

#include "analyzer/model/model_state.h"
#include "tests/test.h"

typedef bool refusal(const struct refused *r, char *text, size_t size);

static const struct row {
	const char *name;
	refusal *refused;
	enum verb verb;
	int error;
	const char *args;
	const char *why; /* NULL: not known */
} rows[] = {
	{ "mask_of_a_qp", refused_explain_mask, VERB_create_qp_ex, EOPNOTSUPP,
	  "{\"context\":1,\"qp_init_attr_ex\":{\"comp_mask\":1515870811}}",
	  "comp_mask of qp_init_attr_ex has undefined bits, 0x5a5a5a00: was the structure set to "
	  "zero first?" },
	{ "mask_of_a_cq", refused_explain_mask, VERB_create_cq_ex, EINVAL,
	  "{\"context\":1,\"init_attr\":{\"comp_mask\":4097}}",
	  "comp_mask of init_attr has undefined bits, 0x1000: was the structure set to zero "
	  "first?" },
	{ "mask_of_a_domain", refused_explain_mask, VERB_alloc_parent_domain, EINVAL,
	  "{\"context\":1,\"attr\":{\"comp_mask\":32768}}",
	  "comp_mask of attr has undefined bits, 0x8000: was the structure set to zero first?" },
	{ "mask_of_defined_bits", refused_explain_mask, VERB_create_qp_ex, EINVAL,
	  "{\"context\":1,\"qp_init_attr_ex\":{\"comp_mask\":65}}", NULL },
	{ "mask_that_memory_ran_out_for", refused_explain_mask, VERB_create_qp_ex, ENOMEM,
	  "{\"context\":1,\"qp_init_attr_ex\":{\"comp_mask\":1515870811}}", NULL },
	{ "structure_without_a_mask", refused_explain_mask, VERB_create_qp, EINVAL,
	  "{\"pd\":1,\"qp_init_attr\":{\"sq_sig_all\":1515870811}}", NULL },
	{ "rereg_of_nothing", refused_explain_rereg, VERB_rereg_mr, EINVAL, "{\"flags\":0}",
	  "flags is 0" },
	{ "rereg_with_access_that_does_not_count", refused_explain_rereg, VERB_rereg_mr, EINVAL,
	  "{\"flags\":1,\"addr\":4096,\"length\":64,\"access\":1}",
	  "access is not 0, and flags lack IBV_REREG_MR_CHANGE_ACCESS" },
	{ "rereg_at_no_address", refused_explain_rereg, VERB_rereg_mr, EINVAL,
	  "{\"flags\":1,\"addr\":0,\"length\":64}",
	  "addr is 0, with IBV_REREG_MR_CHANGE_TRANSLATION" },
	{ "rereg_of_no_bytes", refused_explain_rereg, VERB_rereg_mr, EINVAL,
	  "{\"flags\":1,\"addr\":4096,\"length\":0}",
	  "length is 0, with IBV_REREG_MR_CHANGE_TRANSLATION" },
	{ "rereg_for_remote_writes_alone", refused_explain_rereg, VERB_rereg_mr, EINVAL,
	  "{\"flags\":4,\"access\":2}", "IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE" },
	{ "rereg_of_a_domain", refused_explain_rereg, VERB_rereg_mr, EINVAL,
	  "{\"flags\":2,\"addr\":0,\"length\":0,\"access\":0}", NULL },
};

static void expect_refusal(void **state)
{
	const struct row *row = *state;
	struct args *args = args_new(row->args, strlen(row->args));
	const struct call call = { .verb = row->verb, .args = args, .error = row->error };
	const struct trace_event event = { .kind = TRACE_CALL, .process = 1, .call = &call };
	const struct refused r = { .event = &event };
	char text[256];
	bool is = row->refused(&r, text, sizeof(text));

	args_unref(args);
	assert_int_equal(is, row->why != NULL);
	if (is)
		assert_string_equal(text, row->why);
}

TEST_ROWS(rows, expect_refusal);
