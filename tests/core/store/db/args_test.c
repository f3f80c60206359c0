#include <errno.h>
#include <infiniband/verbs.h>

#include "core/store/read/trace.h"
#include "tests/test.h"

static struct args *args;

static int setup(void **state)
{
	(void)state;
	return args_parse("{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"cap\":{\"max_send_wr\":16}},"
			  "\"sg_list\":[{\"lkey\":1},{\"lkey\":-2}],\"name\":\"mlx5_0\","
			  "\"none\":null,\"big\":-9223372036854775808}",
			  &args);
}

static int teardown(void **state)
{
	(void)state;
	args_free(args);
	return 0;
}

FIXTURE(setup, teardown);

TEST(numbers_are_found_by_path)
{
	int64_t value;

	assert_true(args_get(args, "attr.cap.max_send_wr", &value));
	assert_int_equal(value, 16);
	assert_true(args_get(args, "sg_list[1].lkey", &value));
	assert_int_equal(value, -2);
	assert_true(args_get(args, "big", &value));
	assert_int_equal(value, INT64_MIN);
}

TEST(enumerators_give_their_value)
{
	int64_t value;

	assert_true(args_get(args, "attr.qp_state", &value));
	assert_int_equal(value, IBV_QPS_RTS);
	assert_string_equal(args_text(args, "attr.qp_state"), "IBV_QPS_RTS");
}

TEST(what_is_not_there_is_false)
{
	static const char *const paths[] = { "no",
					     "attr.no",
					     "attr.qp_state.x",
					     "sg_list[2].lkey",
					     "sg_list[x]",
					     "sg_list",
					     "attr",
					     "none",
					     "name",
					     "attr..cap",
					     "sg_list[0",
					     "[0]" };
	int64_t value = 77;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_false(args_get(args, paths[i], &value));
	assert_int_equal(value, 77);
	assert_null(args_text(args, "attr.cap.max_send_wr"));
	assert_string_equal(args_text(args, "name"), "mlx5_0");
}

TEST(damaged_json_has_no_arguments)
{
	struct args *none;
	int64_t value;

	assert_int_equal(args_parse("{\"a\":1,\"b\":", &none), 0);
	assert_false(args_get(none, "a", &value));
	args_free(none);
}

TEST(null_is_an_empty_object)
{
	struct args *empty;
	int64_t value;

	assert_int_equal(args_parse(NULL, &empty), 0);
	assert_false(args_get(empty, "ret", &value));
	args_free(empty);
}
