#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include "core/wire/event.h"
#include "replay/report/differ.h"
#include "replay/report/outcome.h"
#include "tests/test.h"

static const struct event_id here = { 3, 7 };

static struct outcome *make_outcome(void)
{
	struct outcome *outcome;

	assert_int_equal(outcome_new(&outcome), 0);
	return outcome;
}

/* The report's text; to be freed. */
static char *text_of(struct outcome *outcome)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	outcome_text(outcome, to);
	fclose(to);
	return text;
}

static void assert_says(struct outcome *outcome, const char *what)
{
	char *text = text_of(outcome);

	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

static int differ_json(struct outcome *outcome, struct event_id event, enum verb verb,
		       const char *recorded, const char *replayed)
{
	struct args *there = args_new(recorded, strlen(recorded));
	int err = differ_check_outputs(outcome, event, verb, 0, there, replayed);

	args_unref(there);
	return err;
}

static uint64_t count_differences(const char *verb, const char *recorded, const char *replayed)
{
	struct outcome *r = make_outcome();
	uint64_t n;

	assert_int_equal(differ_json(r, here, (enum verb)verb_find(verb), recorded, replayed), 0);
	n = outcome_divergences(r);
	outcome_free(r);
	return n;
}

TEST(what_is_the_same_does_not_diverge)
{
	const char *out = "{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\"}}";

	assert_int_equal(count_differences("query_qp", out, out), 0);
}

TEST(a_state_diverges)
{
	assert_int_equal(count_differences("query_qp", "{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\"}}",
					   "{\"attr\":{\"qp_state\":\"IBV_QPS_ERR\"}}"),
			 1);
}

TEST(numbers_of_the_device_are_tolerated)
{
	assert_int_equal(count_differences("reg_mr",
					   "{\"ret\":{\"lkey\":1,\"rkey\":2,\"length\":64}}",
					   "{\"ret\":{\"lkey\":3,\"rkey\":4,\"length\":64}}"),
			 0);
	assert_int_equal(count_differences("create_qp", "{\"ret\":{\"qp_num\":1,\"handle\":2}}",
					   "{\"ret\":{\"qp_num\":3,\"handle\":4}}"),
			 0);
}

/* Objects and addresses are not compared, what follows them is. */
TEST(numbers_behind_an_object_are_compared)
{
	static const char there[] =
		"{\"ret\":{\"context\":16,\"pd\":17,\"addr\":32,\"length\":64}}";
	static const char here_too[] =
		"{\"ret\":{\"context\":80,\"pd\":81,\"addr\":96,\"length\":64}}";
	static const char shorter[] =
		"{\"ret\":{\"context\":80,\"pd\":81,\"addr\":96,\"length\":32}}";

	assert_int_equal(count_differences("reg_mr", there, here_too), 0);
	assert_int_equal(count_differences("reg_mr", there, shorter), 1);
}

/* Devices return 0, or the requested value. */
TEST(receive_capacity_is_ignored_with_an_srq)
{
	static const char there[] = "{\"qp_init_attr\":{\"cap\":{\"max_recv_wr\":0}},"
				    "\"ret\":{\"srq\":%d}}";
	static const char now[] = "{\"qp_init_attr\":{\"cap\":{\"max_recv_wr\":16}},"
				  "\"ret\":{\"srq\":%d}}";
	char recorded[128], replayed[128];
	int srq;

	for (srq = 0; srq < 2; srq++) {
		snprintf(recorded, sizeof(recorded), there, srq);
		snprintf(replayed, sizeof(replayed), now, srq);
		assert_int_equal(count_differences("create_qp", recorded, replayed), !srq);
	}
}

TEST(keys_are_written_as_dump_writes_them)
{
	struct outcome *r = make_outcome();

	differ_json(r, here, VERB_query_qp, "{\"attr\":{\"qkey\":286331153}}",
		    "{\"attr\":{\"qkey\":17}}");
	assert_says(r, "attr.qkey: recorded 0x11111111, replayed 0x11");
	outcome_free(r);
}

TEST(the_length_of_a_region_diverges)
{
	assert_int_equal(count_differences("reg_mr", "{\"ret\":{\"length\":64}}",
					   "{\"ret\":{\"length\":65}}"),
			 1);
}

TEST(limits_of_another_device_are_tolerated_by_name)
{
	const char *there = "{\"device_attr\":{\"max_qp\":1,\"fw_ver\":\"a\"}}";
	const char *replayed = "{\"device_attr\":{\"max_qp\":2,\"fw_ver\":\"b\"}}";
	struct outcome *r = make_outcome();

	assert_int_equal(count_differences("query_device", there, replayed), 2);
	outcome_set_other_device(r);
	differ_json(r, here, VERB_query_device, there, replayed);
	assert_int_equal(outcome_divergences(r), 0);
	assert_says(r, "2 x attributes of the device");
	outcome_free(r);
}

static uint64_t count_results(enum verb verb, int64_t recorded, int64_t replayed, bool other)
{
	const struct call call = {
		.verb = verb, .ret = recorded, .error = 22, .failed = verb_failed(verb, recorded)
	};
	struct outcome *r = make_outcome();
	uint64_t n;

	if (other)
		outcome_set_other_device(r);
	differ_check_result(r, here, &call, replayed, 22);
	n = outcome_divergences(r);
	outcome_free(r);
	return n;
}

TEST(a_query_that_fails_on_one_side_diverges)
{
	static const enum verb verbs[] = {
		VERB_query_device, VERB_query_device_ex, VERB_query_port,      VERB_query_gid,
		VERB_query_gid_ex, VERB_query_pkey,      VERB_query_gid_table, VERB_get_pkey_index,
	};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		for (int other = 0; other < 2; other++) {
			assert_int_equal(count_results(verbs[i], 0, -1, other), 1);
			assert_int_equal(count_results(verbs[i], -1, 0, other), 1);
			assert_int_equal(count_results(verbs[i], -1, -1, other), 0);
			assert_int_equal(count_results(verbs[i], 0, 0, other), 0);
		}
}

TEST(a_verb_that_another_device_lacked_may_succeed)
{
	assert_int_equal(count_results(VERB_query_rt_values_ex, EOPNOTSUPP, 0, true), 0);
	assert_int_equal(count_results(VERB_query_rt_values_ex, EOPNOTSUPP, 0, false), 1);
	assert_int_equal(count_results(VERB_query_rt_values_ex, 0, EOPNOTSUPP, true), 1);
	assert_int_equal(count_results(VERB_query_rt_values_ex, EOPNOTSUPP, EINVAL, true), 0);
}

static uint64_t count_other_errors(bool other)
{
	const struct call call = { .verb = VERB_reg_dmabuf_mr, .error = EBADF, .failed = true };
	struct outcome *r = make_outcome();
	uint64_t n;

	if (other)
		outcome_set_other_device(r);
	differ_check_result(r, here, &call, 0, EOPNOTSUPP);
	n = outcome_divergences(r);
	outcome_free(r);
	return n;
}

TEST(another_device_may_take_no_dma_buffers)
{
	assert_int_equal(count_other_errors(true), 0);
	assert_int_equal(count_other_errors(false), 1);
}

TEST(an_index_may_be_another)
{
	assert_int_equal(count_results(VERB_get_pkey_index, 1, 2, false), 0);
	assert_int_equal(count_results(VERB_query_gid_table, 4, 8, false), 0);
}

/* Values that a device may choose are tolerated, values that it was given are not. */
/* clang-format off */
static const struct choice {
	const char *name, *verb, *there, *here;
	unsigned int same, other; /* divergences on the recorded device, and on another */
} choices[] = {
	{ "sequence_numbers", "query_qp", "{\"attr\":{\"rq_psn\":1,\"sq_psn\":2}}",
	  "{\"attr\":{\"rq_psn\":3,\"sq_psn\":4}}", 0, 0 },
	{ "a_timeout", "query_qp",
	  "{\"attr\":{\"timeout\":14}}", "{\"attr\":{\"timeout\":0}}", 1, 0 },
	{ "a_qkey", "query_qp", "{\"attr\":{\"qkey\":1}}", "{\"attr\":{\"qkey\":2}}", 1, 1 },
	{ "a_path_mtu", "query_qp", "{\"attr\":{\"path_mtu\":\"IBV_MTU_4096\"}}",
	  "{\"attr\":{\"path_mtu\":\"IBV_MTU_1024\"}}", 1, 0 },
	{ "an_address", "query_qp", "{\"attr\":{\"ah_attr\":{\"dlid\":1}}}",
	  "{\"attr\":{\"ah_attr\":{\"dlid\":2}}}", 0, 0 },
	{ "the_service_level_of_a_path", "query_qp", "{\"attr\":{\"ah_attr\":{\"sl\":1}}}",
	  "{\"attr\":{\"ah_attr\":{\"sl\":2}}}", 1, 0 },
	{ "a_message_size", "query_port", "{\"port_attr\":{\"max_msg_sz\":1}}",
	  "{\"port_attr\":{\"max_msg_sz\":2}}", 1, 0 },
	{ "the_type_of_a_window", "alloc_mw", "{\"ret\":{\"type\":\"IBV_MW_TYPE_1\"}}",
	  "{\"ret\":{\"type\":\"IBV_MW_TYPE_2\"}}", 1, 1 },
	{ "the_length_of_a_region", "rereg_mr",
	  "{\"mr\":{\"lkey\":1,\"length\":64}}", "{\"mr\":{\"lkey\":2,\"length\":65}}",
	  1, 1 },
	{ "a_gid", "query_gid", "{\"gid\":{\"raw\":\"fe80:0000:0000:0000:0000:0000:0000:0001\"}}",
	  "{\"gid\":{\"raw\":\"fe80:0000:0000:0000:0000:0000:0000:0002\"}}", 0, 0 },
	{ "a_service_level", "init_ah_from_wc", "{\"ah_attr\":{\"sl\":1,\"dlid\":1}}",
	  "{\"ah_attr\":{\"sl\":0,\"dlid\":2}}", 1, 0 },
};
/* clang-format on */

static void is_told_apart(void **state)
{
	const struct choice *row = *state;
	struct outcome *r = make_outcome();

	assert_int_equal(count_differences(row->verb, row->there, row->here), row->same);
	outcome_set_other_device(r);
	differ_json(r, here, (enum verb)verb_find(row->verb), row->there, row->here);
	assert_int_equal(outcome_divergences(r), row->other);
	outcome_free(r);
}
TEST_ROWS(choices, is_told_apart);

TEST(sizes_differ_on_another_device_only)
{
	const char *there = "{\"ret\":{\"cqe\":100}}", *replayed = "{\"ret\":{\"cqe\":127}}";
	struct outcome *r = make_outcome();

	differ_json(r, here, VERB_create_cq, there, replayed);
	assert_int_equal(outcome_divergences(r), 1);
	outcome_set_other_device(r);
	differ_json(r, here, VERB_create_cq, there, replayed);
	assert_int_equal(outcome_divergences(r), 1);
	outcome_free(r);
}

TEST(the_state_of_a_port_diverges_its_lid_does_not)
{
	assert_int_equal(
		count_differences("query_port",
				  "{\"port_attr\":{\"state\":\"IBV_PORT_ACTIVE\",\"lid\":1}}",
				  "{\"port_attr\":{\"state\":\"IBV_PORT_DOWN\",\"lid\":2}}"),
		1);
}

TEST(errno_is_named)
{
	const struct call call = { .verb = VERB_modify_qp, .ret = 0 };
	struct outcome *r = make_outcome();

	differ_check_result(r, here, &call, 22, 22);
	assert_says(r, "3:7 ibv_modify_qp: ret: recorded 0, replayed EINVAL (22)");
	outcome_free(r);
}

TEST(the_same_failure_does_not_diverge)
{
	const struct call call = { .verb = VERB_destroy_cq, .ret = 16, .failed = true };
	const struct call create = { .verb = VERB_create_cq, .error = 22, .failed = true };
	struct outcome *r = make_outcome();

	differ_check_result(r, here, &call, 16, 16);
	differ_check_result(r, here, &create, 0, 22);
	assert_int_equal(outcome_divergences(r), 0);
	differ_check_result(r, here, &create, 0, 12);
	assert_int_equal(outcome_divergences(r), 1);
	differ_check_result(r, here, &create, 0x1000, 0);
	assert_int_equal(outcome_divergences(r), 2);
	outcome_free(r);
}

static uint64_t count_completions(const struct wc *there, const struct ibv_wc *wc, uint64_t wr_id,
				  bool shared)
{
	struct differ_wc d = { .event = here,
			       .index = 2,
			       .there = there,
			       .here = wc,
			       .wr_id = wr_id,
			       .other = shared ? "shared" : NULL };
	struct outcome *r = make_outcome();
	uint64_t n;

	differ_check_completion(r, &d);
	n = outcome_divergences(r);
	outcome_free(r);
	return n;
}

TEST(equal_completions_do_not_diverge)
{
	const struct wc there = { .wr_id = 5,
				  .opcode = IBV_WC_RECV,
				  .byte_len = 64,
				  .qp_num = 1,
				  .imm = 7,
				  .wc_flags = IBV_WC_WITH_IMM };
	struct ibv_wc wc = { .wr_id = 99,
			     .opcode = IBV_WC_RECV,
			     .byte_len = 64,
			     .qp_num = 2,
			     .wc_flags = IBV_WC_WITH_IMM };

	wc.imm_data = htonl(7);
	assert_int_equal(count_completions(&there, &wc, 5, false), 0);
	wc.imm_data = htonl(8);
	assert_int_equal(count_completions(&there, &wc, 5, false), 1);
	wc.byte_len = 65;
	assert_int_equal(count_completions(&there, &wc, 5, false), 2);
}

TEST(a_flow_tag_is_compared_and_a_time_is_not)
{
	const struct wc there = { .parts = WC_FLOW_TAG | WC_TIMESTAMP | WC_WALLCLOCK,
				  .flow_tag = 7,
				  .timestamp = 1,
				  .wallclock = 2 };
	const struct ibv_wc wc = { 0 };
	struct differ_wc d = {
		.event = here, .there = &there, .here = &wc, .tagged = true, .flow_tag = 7
	};
	struct outcome *r = make_outcome();

	differ_check_completion(r, &d);
	d.flow_tag = 0; /* the rule is not here */
	differ_check_completion(r, &d);
	assert_int_equal(outcome_divergences(r), 0);
	d.flow_tag = 8;
	differ_check_completion(r, &d);
	assert_int_equal(outcome_divergences(r), 1);
	outcome_free(r);
}

TEST(of_an_error_only_status_and_wr_id_count)
{
	const struct wc there = { .wr_id = 5,
				  .status = IBV_WC_RETRY_EXC_ERR,
				  .opcode = 1,
				  .byte_len = 3,
				  .vendor_err = 1 };
	const struct ibv_wc wc = { .status = IBV_WC_RETRY_EXC_ERR,
				   .opcode = IBV_WC_RECV,
				   .byte_len = 9,
				   .vendor_err = 2 };

	assert_int_equal(count_completions(&there, &wc, 5, false), 0);
	assert_int_equal(count_completions(&there, &wc, 6, false), 1);
}

/* On RoCE the packet type, which depends on the GID. */
TEST(a_service_level_diverges_unless_it_is_the_kind_of_a_packet)
{
	const struct wc there = { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH, .sl = 10 };
	struct ibv_wc wc = { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH, .sl = 9 };
	struct differ_wc d = {
		.event = here,
		.verb = VERB_poll_cq,
		.type = IBV_QPT_UD,
		.there = &there,
		.here = &wc,
	};
	struct outcome *r = make_outcome();

	differ_check_completion(r, &d);
	assert_int_equal(outcome_divergences(r), 0);
	wc.sl = 3;
	differ_check_completion(r, &d);
	assert_int_equal(outcome_divergences(r), 1);
	wc.sl = 9;
	wc.wc_flags = 0;
	differ_check_completion(r, &d);
	assert_true(outcome_divergences(r) > 1);
	outcome_free(r);
}

TEST(a_status_diverges)
{
	const struct wc there = { .status = IBV_WC_WR_FLUSH_ERR };
	const struct ibv_wc wc = { .status = IBV_WC_SUCCESS };

	assert_int_equal(count_completions(&there, &wc, 0, false), 1);
}

TEST(a_shared_queue_may_give_another_request)
{
	const struct wc there = { .wr_id = 5, .opcode = IBV_WC_RECV };
	const struct ibv_wc wc = { .opcode = IBV_WC_RECV };

	assert_int_equal(count_completions(&there, &wc, 6, true), 0);
	assert_int_equal(count_completions(&there, &wc, 6, false), 1);
}

/* The length of a completion, in bytes: what a device need not report is tolerated. */
/* clang-format off */
static const struct length {
	const char *name;
	int opcode;
	uint32_t there, here, posted; /* recorded, replayed, and in the buffers of the request */
	unsigned int diverges;
} lengths[] = {
	{ "a_receive_that_is_longer",       IBV_WC_RECV,               64, 65, 128, 1 },
	{ "a_receive_that_is_as_long",      IBV_WC_RECV,               64, 64, 128, 0 },
	{ "an_immediate_that_is_shorter",   IBV_WC_RECV_RDMA_WITH_IMM, 64, 63, 128, 1 },
	{ "an_immediate_that_is_as_long",   IBV_WC_RECV_RDMA_WITH_IMM, 64, 64, 128, 0 },
	{ "a_read_that_is_longer",          IBV_WC_RDMA_READ,          64, 65, 128, 1 },
	{ "a_read_that_is_shorter",         IBV_WC_RDMA_READ,          64, 0,  64,  1 },
	{ "a_read_that_is_as_long",         IBV_WC_RDMA_READ,          64, 64, 64,  0 },
	{ "a_send_of_no_length_here",       IBV_WC_SEND,               64, 0,  64,  0 },
	{ "a_send_of_no_length_there",      IBV_WC_SEND,               0,  64, 64,  0 },
	{ "a_send_of_another_length",       IBV_WC_SEND,               64, 65, 65,  1 },
	{ "a_send_of_a_length_not_posted",  IBV_WC_SEND,               64, 65, 64,  0 },
	{ "a_send_of_no_known_length",      IBV_WC_SEND,               64, 65, 0,   0 },
	{ "a_write_of_another_length",      IBV_WC_RDMA_WRITE,         64, 32, 32,  1 },
	{ "an_atomic_of_no_length_there",   IBV_WC_COMP_SWAP,          0,  8,  8,   0 },
};
/* clang-format on */

static uint32_t read_no_length(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

static uint64_t count_lengths(const struct length *row, const struct ibv_cq_ex *ex)
{
	const struct wc there = { .opcode = row->opcode, .byte_len = row->there };
	const struct ibv_wc wc = { .opcode = (enum ibv_wc_opcode)row->opcode,
				   .byte_len = row->here };
	struct differ_wc d = {
		.event = here, .there = &there, .here = &wc, .length = row->posted, .ex = ex
	};
	struct outcome *r = make_outcome();
	uint64_t n;

	differ_check_completion(r, &d);
	n = outcome_divergences(r);
	outcome_free(r);
	return n;
}

static void length_is_compared(void **state)
{
	const struct ibv_cq_ex reads = { .read_byte_len = read_no_length }, none = { 0 };
	const struct length *row = *state;

	assert_int_equal(count_lengths(row, NULL), row->diverges);
	assert_int_equal(count_lengths(row, &reads), row->diverges);
	assert_int_equal(count_lengths(row, &none), 0); /* the program had not asked for it */
}
TEST_ROWS(lengths, length_is_compared);

TEST(twenty_are_printed_and_all_counted)
{
	const struct call call = { .verb = VERB_modify_qp, .ret = 0 };
	struct outcome *r = make_outcome();

	for (int i = 0; i < 25; i++)
		differ_check_result(r, here, &call, 22, 22);
	assert_says(r, "25 divergences (25 recorded successes fail in the replay)");
	assert_says(r, "and 5 more");
	outcome_free(r);
}

TEST(json_escapes_what_it_must)
{
	struct outcome *r = make_outcome();
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	outcome_set_trace(r, "a\"b\\c\n", NULL);
	outcome_json(r, to);
	fclose(to);
	assert_non_null(strstr(text, "\"a\\\"b\\\\c\\u000a\""));
	free(text);
	outcome_free(r);
}

/* The page has the reasons of the list, literally. */
TEST(every_reason_is_in_the_page)
{
	FILE *page = fopen("docs/REPLAY.md", "r");
	static char text[1 << 16];
	size_t n;

	if (!page)
		skip();
	n = fread(text, 1, sizeof(text) - 1, page);
	text[n] = '\0';
	fclose(page);
	for (const struct tolerance *t = tolerances; t->verb; t++)
		if (t->reason && !strstr(text, t->reason))
			fail_msg("docs/REPLAY.md does not say \"%s\"", t->reason);
}
