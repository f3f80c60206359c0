#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <infiniband/verbs.h>

#include "core/store/read/trace.h"

static struct args *args;

static int setup(void **state)
{
	(void)state;
	return args_parse("{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"cap\":{\"max_send_wr\":16}},"
			  "\"sg_list\":[{\"lkey\":1},{\"lkey\":-2}],\"name\":\"mlx5_0\","
			  "\"none\":null,\"big\":-9223372036854775808}", &args);
}

static int teardown(void **state)
{
	(void)state;
	args_free(args);
	return 0;
}

static void numbers_are_found_by_path(void **state)
{
	int64_t value;

	(void)state;
	assert_true(args_get(args, "attr.cap.max_send_wr", &value));
	assert_int_equal(value, 16);
	assert_true(args_get(args, "sg_list[1].lkey", &value));
	assert_int_equal(value, -2);
	assert_true(args_get(args, "big", &value));
	assert_int_equal(value, INT64_MIN);
}

static void enumerators_give_their_value(void **state)
{
	int64_t value;

	(void)state;
	assert_true(args_get(args, "attr.qp_state", &value));
	assert_int_equal(value, IBV_QPS_RTS);
	assert_string_equal(args_text(args, "attr.qp_state"), "IBV_QPS_RTS");
}

static void what_is_not_there_is_false(void **state)
{
	static const char *const paths[] = { "no", "attr.no", "attr.qp_state.x", "sg_list[2].lkey",
					     "sg_list[x]", "sg_list", "attr", "none", "name",
					     "attr..cap", "sg_list[0", "[0]" };
	int64_t value = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_false(args_get(args, paths[i], &value));
	assert_int_equal(value, 77);
	assert_null(args_text(args, "attr.cap.max_send_wr"));
	assert_string_equal(args_text(args, "name"), "mlx5_0");
}

static void damaged_json_has_no_arguments(void **state)
{
	struct args *none;
	int64_t value;

	(void)state;
	assert_int_equal(args_parse("{\"a\":1,\"b\":", &none), 0);
	assert_false(args_get(none, "a", &value));
	args_free(none);
}

static void null_is_an_empty_object(void **state)
{
	struct args *empty;
	int64_t value;

	(void)state;
	assert_int_equal(args_parse(NULL, &empty), 0);
	assert_false(args_get(empty, "ret", &value));
	args_free(empty);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_are_found_by_path),
		TEST(enumerators_give_their_value),
		TEST(what_is_not_there_is_false),
		TEST(damaged_json_has_no_arguments),
		TEST(null_is_an_empty_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
