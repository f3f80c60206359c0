#include <errno.h>
#include <infiniband/verbs.h>

#include "core/store/read/trace.h"
#include "tests/test.h"

static struct args *args;

static int make_args(void **state)
{
	static const char json[] =
		"{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"cap\":{\"max_send_wr\":16}},"
		"\"sg_list\":[{\"lkey\":1},{\"lkey\":-2}],\"name\":\"mlx5_0\","
		"\"none\":null,\"big\":-9223372036854775808}";

	(void)state;
	args = args_new(json, strlen(json));
	return !args;
}

static int free_args(void **state)
{
	(void)state;
	args_unref(args);
	return 0;
}

FIXTURE(make_args, free_args);

TEST(numbers_are_found_by_path)
{
	int64_t value;

	assert_true(args_get(args, "attr.cap.max_send_wr", &value));
	assert_int_equal(value, 16);
	assert_true(args_get(args, "sg_list[1].lkey", &value));
	assert_int_equal(value, -2);
	assert_true(args_get(args, "big", &value));
	assert_int_equal(value, INT64_MIN);
	assert_int_equal(args_number(args, "attr.cap.max_send_wr"), 16);
	assert_int_equal(args_number(args, "attr.cap.no"), 0);
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
	static const char json[] = "{\"a\":1,\"b\":";
	struct args *none = args_new(json, strlen(json));
	int64_t value;

	assert_int_equal(args_parse(none), 0);
	assert_false(args_get(none, "a", &value));
	assert_null(args_root(none));
	args_unref(none);
}

TEST(null_has_no_arguments)
{
	int64_t value;

	assert_int_equal(args_parse(NULL), 0);
	assert_false(args_get(NULL, "ret", &value));
	args_unref(args_ref(NULL));
}

TEST(the_last_reference_frees)
{
	struct args *two = args_ref(args);

	args_unref(two);
	assert_string_equal(args_text(args, "name"), "mlx5_0");
}
