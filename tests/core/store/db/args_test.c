#include <errno.h>
#include <infiniband/verbs.h>

#include "core/store/db/args_walk.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "tests/test.h"

static struct args *args;

static int make_args(void **state)
{
	static const char json[] =
		"{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"cap\":{\"max_send_wr\":16}},"
		"\"entries\":[{\"port_num\":1,\"gid\":{\"raw\":\"fe80\"}},{\"port_num\":-2}],"
		"\"cq\":null,\"length\":-9223372036854775808,\"ret\":{\"name\":\"mlx5_0\"},"
		"\"context\":1,\"ah_attr\":3}";

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

TEST(numbers_are_found_by_name)
{
	int64_t value;

	assert_true(args_get(args, ARG(attr.cap.max_send_wr), &value));
	assert_int_equal(value, 16);
	assert_true(args_get(args, ARG(length), &value));
	assert_int_equal(value, INT64_MIN);
	assert_int_equal(args_number(args, ARG(attr.cap.max_send_wr)), 16);
	assert_int_equal(args_number(args, ARG(attr.cap.max_recv_wr)), 0);
}

TEST(elements_are_found_by_index)
{
	int64_t value;

	assert_true(args_get(args, ARG(entries.port_num), &value));
	assert_int_equal(value, 1);
	assert_true(args_get_at(args, ARG(entries.port_num), 1, &value));
	assert_int_equal(value, -2);
	assert_false(args_get_at(args, ARG(entries.port_num), 2, &value));
	assert_string_equal(args_text_at(args, ARG(entries.gid.raw), 0), "fe80");
	assert_null(args_text_at(args, ARG(entries.gid.raw), 1));
	/* a value that is not an array is used for any index */
	assert_true(args_get_at(args, ARG(context), 5, &value));
}

TEST(names_know_their_path)
{
	assert_string_equal(arg_path(ARG(attr.ah_attr.grh.dgid.raw)), "attr.ah_attr.grh.dgid.raw");
	assert_string_equal(arg_name(ARG(attr.ah_attr.grh.dgid.raw)), "raw");
	assert_string_equal(arg_path(ARG(attr)), "attr");
	assert_null(arg_path(ARG_NONE));
	for (enum arg arg = ARG_NONE + 1; arg < ARG_COUNT; arg++)
		assert_non_null(arg_path(arg));
}

TEST(enumerators_give_their_value)
{
	int64_t value;

	assert_true(args_get(args, ARG(attr.qp_state), &value));
	assert_int_equal(value, IBV_QPS_RTS);
	assert_string_equal(args_text(args, ARG(attr.qp_state)), "IBV_QPS_RTS");
}

TEST(what_is_not_there_is_false)
{
	static const enum arg not_there[] = {
		ARG_NONE,  ARG(pd), ARG(attr.port_num), ARG(ah_attr.dlid), ARG(entries),
		ARG(attr), ARG(cq), ARG(ret.name),
	};
	int64_t value = 77;

	for (size_t i = 0; i < sizeof(not_there) / sizeof(*not_there); i++)
		assert_false(args_get(args, not_there[i], &value));
	assert_int_equal(value, 77);
	assert_null(args_text(args, ARG(attr.cap.max_send_wr)));
	assert_string_equal(args_text(args, ARG(ret.name)), "mlx5_0");
}

TEST(a_member_is_found_in_any_structure_of_its_kind)
{
	static const char json[] = "{\"attr\":{\"alt_ah_attr\":{\"sl\":3,\"grh\":{}}}}";
	struct args *all = args_new(json, strlen(json));
	const struct json_node *path = args_find(all, ARG(attr.alt_ah_attr));

	assert_int_equal(args_member(path, ARG(attr.ah_attr.sl))->number, 3);
	assert_non_null(args_member(path, ARG(attr.ah_attr.grh)));
	assert_null(args_member(path, ARG(attr.ah_attr.dlid)));
	args_unref(all);
}

TEST(damaged_json_has_no_arguments)
{
	static const char json[] = "{\"pd\":1,\"addr\":";
	struct args *none = args_new(json, strlen(json));
	int64_t value;

	assert_int_equal(args_parse(none), 0);
	assert_false(args_get(none, ARG(pd), &value));
	assert_null(args_root(none));
	args_unref(none);
}

TEST(null_has_no_arguments)
{
	int64_t value;

	assert_int_equal(args_parse(NULL), 0);
	assert_false(args_get(NULL, ARG(ret), &value));
	args_unref(args_ref(NULL));
}

TEST(the_last_reference_frees)
{
	struct args *two = args_ref(args);

	args_unref(two);
	assert_string_equal(args_text(args, ARG(ret.name)), "mlx5_0");
}

/* The first text of a shape, others of it, another shape, and none. */
TEST(arguments_of_a_verb_are_parsed_whatever_those_before_were)
{
	static const struct {
		const char *json;
		uint64_t port;
	} rows[] = {
		{ "{\"ah_attr\":{\"port_num\":1}}", 1 },
		{ "{\"ah_attr\":{\"port_num\":255}}", 255 },
		{ "{\"ah_attr\":{\"port_num\":-3}}", (uint64_t)-3 },
		{ "{\"pd\":7,\"ah_attr\":{\"dlid\":4,\"port_num\":2}}", 2 },
		{ "{}", 0 },
		{ "{\"ah_attr\":{\"port_num\":4}}", 4 },
		{ "{\"ah_attr\":{\"port_num\":5}", 0 },
		{ "{\"ah_attr\":{\"port_num\":6}}", 6 },
	};

	log_silence(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct args *of =
			args_new_of(VERB_create_ah, ARGS_IN, rows[i].json, strlen(rows[i].json));

		assert_string_equal(args_json(of), rows[i].json);
		assert_int_equal(args_size(of), strlen(rows[i].json));
		args_unref(args_ref(of));
		assert_int_equal(args_number(of, ARG(ah_attr.port_num)), rows[i].port);
		args_unref(of);
	}
	log_silence(false);
}
