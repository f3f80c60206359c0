/* Requests and completions that a thread has in several places. */
#include "tests/test.h"

#include "cli/emit/repeated.h"

static const char send[] =
	"&(struct ibv_send_wr){ .wr_id = 0x2, .sg_list = &(struct ibv_sge){ 0 }, "
	".num_sge = 1, .opcode = IBV_WR_SEND }";

static struct repeated_texts repeated;
static struct text text;

static int end_repeated(void **state)
{
	(void)state;
	repeated_fini(&repeated);
	text_fini(&text);
	return 0;
}

FIXTURE(NULL, end_repeated);

TEST(the_outermost_request_is_found)
{
	size_t length;
	char call[256];

	snprintf(call, sizeof(call), "same(ibv_post_send(qp1, %s, &bad_send), 0);", send);
	assert_ptr_equal(repeated_find(call, &length), strstr(call, send));
	assert_int_equal(length, strlen(send));
	assert_null(repeated_find("ibv_modify_qp(qp1, &(struct ibv_qp_attr){ 0 }, 0);", &length));
}

TEST(what_comes_once_has_no_macro)
{
	assert_int_equal(repeated_count(&repeated, send), 0);
	assert_false(repeated_add(&repeated, send, &text));
}

TEST(a_short_one_has_no_macro)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(repeated_count(&repeated, "&(struct ibv_wc){ .wr_id = 0x2 }"), 0);
	assert_false(repeated_add(&repeated, "&(struct ibv_wc){ .wr_id = 0x2 }", &text));
}

TEST(the_macro_is_defined_once)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(repeated_count(&repeated, send), 0);
	for (int i = 0; i < 2; i++)
		assert_true(repeated_add(&repeated, send, &text));
	assert_string_equal(text.at, "SEND1SEND1");
	assert_string_equal(repeated.macros.at,
			    "#define SEND1 &(struct ibv_send_wr){ .wr_id = 0x2, "
			    ".sg_list = &(struct ibv_sge){ 0 }, \\\n"
			    "\t.num_sge = 1, .opcode = IBV_WR_SEND }\n");
}

TEST(the_next_thread_uses_the_macro_too)
{
	for (int i = 0; i < 2; i++)
		assert_int_equal(repeated_count(&repeated, send), 0);
	assert_true(repeated_add(&repeated, send, &text));
	repeated_restart(&repeated);
	assert_true(repeated_add(&repeated, send, &text));
	assert_int_equal(repeated.macros.used, 0);
}

TEST(many_different_ones_are_not_kept)
{
	char source[256];

	for (int i = 0; i < 20000; i++) {
		snprintf(source, sizeof(source), "&(struct ibv_wc){ .wr_id = %d }", i);
		assert_int_equal(repeated_count(&repeated, source), 0);
	}
	assert_true(repeated.nuses < 20000);
	assert_int_equal(repeated_count(&repeated, send), 0);
	assert_int_equal(repeated_count(&repeated, send), 0);
	assert_false(repeated_add(&repeated, send, &text));
}
