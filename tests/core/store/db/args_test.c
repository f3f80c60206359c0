#include <errno.h>
#include <infiniband/verbs.h>

#include "core/store/chunk/call_batch.h"
#include "core/store/chunk/call_block.h"
#include "core/store/db/args_visit.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "tests/test.h"

static struct args *args;
static struct call_batch *batch;
static struct call_shape shape;
static struct shapes_packer packer;
static struct call_block block;
static struct args_form *form;

static int make_args(void **state)
{
	static const char json[] =
		"{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"cap\":{\"max_send_wr\":16}},"
		"\"entries\":[{\"port_num\":1,\"gid\":{\"raw\":\"fe80\"}},{\"port_num\":-2}],"
		"\"cq\":null,\"length\":-9223372036854775808,\"ret\":{\"name\":\"mlx5_0\"},"
		"\"context\":1,\"ah_attr\":3}";

	(void)state;
	args = args_new(json, strlen(json));
	batch = call_batch_new();
	return !args || !batch;
}

static int free_args(void **state)
{
	(void)state;
	args_unref(args);
	args_form_free(form);
	form = NULL;
	call_batch_free(batch);
	call_block_fini(&block);
	call_shape_fini(&shape);
	shapes_packer_fini(&packer);
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

/* Arguments from the holes of a block's calls */

/* A block of calls with these arguments, and the form of the first. */
static void make_block(const char *const *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct call_row row = { .n = i + 1, .end_n = i + 1, .verb = "v", .args = all[i] };

		assert_int_equal(call_shape_read(&shape, &row), 0);
		assert_int_equal(call_batch_add(batch, &shape, &row), 0);
	}
	assert_int_equal(call_batch_pack(batch, &packer), 0);
	assert_int_equal(call_block_read(&block, packer.block.at, packer.block.used), 0);
}

static struct args *fill_call(uint32_t i)
{
	struct call_holes holes;

	if (!call_block_holes(&block, i, false, &holes))
		return NULL;
	if (!form)
		form = args_form_new(&holes);
	return form ? args_fill(form, &holes) : NULL;
}

static void assert_tree(const struct json_node *is, const struct json_node *was)
{
	assert_int_equal(is->kind, was->kind);
	assert_int_equal(is->count, was->count);
	assert_int_equal(is->next, was->next);
	assert_int_equal(is->name_length, was->name_length);
	if (was->name)
		assert_string_equal(is->name, was->name);
	if (was->kind == JSON_TEXT) {
		assert_string_equal(is->text, was->text);
		assert_int_equal(is->length, was->length);
		assert_int_equal(is->raw_length, was->raw_length);
		assert_memory_equal(is->raw, was->raw, was->raw_length);
	} else if (was->kind == JSON_INT || was->kind == JSON_BOOL) {
		assert_true(is->number == was->number);
	}
	for (is = json_first(is), was = json_first(was); was;
	     is = json_next(is), was = json_next(was))
		assert_tree(is, was);
}

/* Is the call filled, and does it then have the values and the text that it was made of? */
static bool is_filled(uint32_t i, const char *was)
{
	struct args *parsed = args_new(was, strlen(was)), *filled = fill_call(i);
	bool done = filled;

	assert_non_null(parsed);
	if (filled) {
		assert_tree(args_root(filled), args_root(parsed));
		assert_string_equal(args_json(filled), was);
		assert_int_equal(args_size(filled), strlen(was));
	}
	args_unref(filled);
	args_unref(parsed);
	return done;
}

TEST(values_are_those_of_the_text)
{
	static const char *const all[] = {
		"{\"qp\":1,\"attr\":{\"state\":\"INIT\",\"list\":[1,\"a\"]},\"no\":null,\"b\":true}",
		"{\"qp\":-9223372036854775807,\"attr\":{\"state\":\"\",\"list\":[0,\"long text\"]},"
		"\"no\":null,\"b\":true}",
		"{\"qp\":9223372036854775807,\"attr\":{\"state\":\"RTS\",\"list\":[-5,\"b\"]},"
		"\"no\":null,\"b\":true}",
	};

	make_block(all, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(is_filled(i, all[i]));
}

TEST(a_string_with_an_escape_is_left_to_the_parser)
{
	static const char *const all[] = { "{\"a\":\"plain\"}", "{\"a\":\"x\\\"y\"}",
					   "{\"a\":\"\xc3\xa4\"}", "{\"a\":\"more\"}" };

	make_block(all, 4);
	assert_true(is_filled(0, all[0]));
	assert_false(is_filled(1, all[1]));
	assert_false(is_filled(2, all[2]));
	assert_true(is_filled(3, all[3]));
}

TEST(a_number_without_a_hole_has_no_form)
{
	static const char *const all[] = { "{\"a\":18446744073709551615,\"b\":1}" };

	make_block(all, 1);
	assert_false(is_filled(0, all[0]));
}

TEST(a_text_that_is_not_json_has_no_form)
{
	static const char *const all[] = { "{\"a\":1,", "{\"a\":2,", "12" };

	make_block(all, 3);
	assert_null(fill_call(0));
	assert_null(fill_call(1));
	assert_null(fill_call(2));
}

TEST(filled_arguments_outlive_the_block_and_the_form)
{
	static const char *const all[] = { "{\"a\":\"text\",\"n\":7}" };
	struct args *filled;

	make_block(all, 1);
	filled = fill_call(0);
	args_form_free(form);
	form = NULL;
	call_block_fini(&block);
	assert_string_equal(args_json(filled), all[0]);
	args_unref(filled);
}
