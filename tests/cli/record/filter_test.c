#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/filter.h"
#include "core/wire/desc.h"
#include "tests/test.h"

static bool left_out(const struct session_filter *filter, const char *verb)
{
	int number = verb_find(verb);

	assert_true(number >= 0);
	return filter->left_out[number / 64] >> (number % 64) & 1;
}

static struct session_filter filter_of(const char *terms)
{
	struct session_filter filter = { 0 };
	char complaint[OPTIONS_COMPLAINT];

	assert_int_equal(filter_read(terms, &filter, complaint), 0);
	return filter;
}

TEST(planes_exclude_each_other)
{
	struct session_filter control = filter_of("plane=control"), data = filter_of("plane=data");

	assert_true(left_out(&control, "post_send"));
	assert_false(left_out(&control, "query_port"));
	assert_false(left_out(&data, "post_send"));
	assert_true(left_out(&data, "query_port"));
}

TEST(terms_narrow_each_other)
{
	struct session_filter filter =
		filter_of("verb=post_send+ibv_poll_cq,qp=17+0x12,1/8,device=a");

	assert_int_equal(filter.on, 1);
	assert_false(left_out(&filter, "post_send"));
	assert_false(left_out(&filter, "poll_cq"));
	assert_true(left_out(&filter, "post_recv"));
	assert_int_equal(filter.nqps, 2);
	assert_int_equal(filter.qps[1], 18);
	assert_int_equal(filter.one_of, 8);
	assert_string_equal(filter.device, "a");
}

TEST(commas_go_on_with_a_list)
{
	struct session_filter filter =
		filter_of("verb=post_send,ibv_poll_cq,qp=17,rc,1/8,device=a");

	assert_false(left_out(&filter, "poll_cq"));
	assert_true(left_out(&filter, "post_recv"));
	assert_int_equal(filter.nqps, 1);
	assert_int_equal(filter.qp_types, 1u << 2);
	assert_int_equal(filter.one_of, 8);
	assert_string_equal(filter.device, "a");
}

TEST(queue_pairs_go_by_place_and_type)
{
	struct session_filter filter = filter_of("qp=qp3+rc+DRIVER+7");

	assert_int_equal(filter.some_qps, 1);
	assert_int_equal(filter.nqps, 1);
	assert_int_equal(filter.qps[0], 7);
	assert_int_equal(filter.nnths, 1);
	assert_int_equal(filter.nths[0], 3);
	assert_int_equal(filter.qp_types, 1u << 2 | 1u << 31); /* IBV_QPT_RC is 2 */
}

/* As traces name it. */
TEST(a_queue_pair_with_its_process_is_refused_with_the_word_to_write)
{
	struct session_filter filter = { 0 };
	char complaint[OPTIONS_COMPLAINT] = "";

	assert_int_equal(filter_read("qp=rc+qp12/1,1/8", &filter, complaint), -EINVAL);
	assert_non_null(strstr(complaint, "'qp12/1'"));
	assert_non_null(strstr(complaint, "write qp12,"));
	assert_int_equal(filter_read("qp=qp7/x", &filter, complaint), -EINVAL);
	assert_null(strstr(complaint, "write qp7"));
}

TEST(parts_of_an_event_mean_the_event)
{
	struct session_filter built = filter_of("verb=wr_send"),
			      polled = filter_of("verb=next_poll");

	assert_false(left_out(&built, "wr_complete"));
	assert_false(left_out(&built, "wr_abort"));
	assert_true(left_out(&built, "poll_cq"));
	assert_false(left_out(&polled, "poll_cq"));
	assert_true(left_out(&polled, "wr_complete"));
}

TEST(no_terms_are_no_filter)
{
	struct session_filter filter = filter_of("");

	assert_int_equal(filter.on, 0);
}

TEST(wrong_term_leaves_the_filter_alone)
{
	static const char *const wrong[] = { "x",
					     "plane=x",
					     "verb=foo",
					     "qp=x",
					     "qp=16777216",
					     "qp=",
					     "qp=qp",
					     "qp=qp0",
					     "qp=xx",
					     "qp=-1",
					     "device=",
					     "1/0",
					     "1/x",
					     "qp=1,x",
					     ",",
					     "verb=",
					     "verb=+",
					     "qp=+",
					     "plane=control,plane=data",
					     "verb=poll_cq,verb=post_send",
					     "qp=1,qp=2",
					     "device=a,device=b",
					     "1/2,1/3" };
	struct session_filter filter = { .one_of = 77 };
	char complaint[OPTIONS_COMPLAINT];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		complaint[0] = '\0';
		assert_int_equal(filter_read(wrong[i], &filter, complaint), -EINVAL);
		assert_int_not_equal(complaint[0], '\0');
		assert_int_equal(filter.one_of, 77);
	}
}
