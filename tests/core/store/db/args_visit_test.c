#include "core/store/db/args.h"
#include "core/store/db/args_visit.h"
#include "tests/test.h"

static char seen[512];

/* "path=value/other ", "-" if there is none. */
static int note_value(void *arg, const struct field_info *field, const char *path,
		      const struct json_node *value, const struct json_node *other)
{
	char a[32] = "-", b[32] = "-";
	size_t used = strlen(seen);
	int64_t number;

	(void)field;
	if (args_value(value, &number))
		snprintf(a, sizeof(a), "%d", (int)number);
	if (args_value(other, &number))
		snprintf(b, sizeof(b), "%d", (int)number);
	snprintf(seen + used, sizeof(seen) - used, "%s=%s/%s ", path, a, b);
	return arg && !strcmp(path, arg) ? -7 : 0;
}

static int walk_args(enum verb verb, const char *json, const char *other, const char *until)
{
	struct args *a = args_new(json, strlen(json));
	struct args *b = other ? args_new(other, strlen(other)) : NULL;
	int err;

	*seen = 0;
	err = args_visit_values(&verb_infos[verb].args, args_root(a), args_root(b), "", note_value,
				(void *)(uintptr_t)until);
	args_unref(a);
	args_unref(b);
	return err;
}

TEST(values_come_in_the_order_of_the_fields)
{
	assert_int_equal(walk_args(VERB_reg_mr, "{\"access\":3,\"pd\":1,\"addr\":2}", NULL, NULL),
			 0);
	assert_string_equal(seen, "pd=1/- addr=2/- access=3/- ");
}

TEST(structures_and_elements_have_their_paths)
{
	walk_args(VERB_query_gid_table,
		  "{\"entries\":[{\"gid\":{\"raw\":\"fe\"},\"port_num\":1},{\"port_num\":2}]}",
		  "{\"entries\":[{\"port_num\":4}]}", NULL);
	assert_string_equal(seen, "entries[0].gid.raw=-/- entries[0].port_num=1/4 "
				  "entries[1].port_num=2/- ");
}

TEST(a_value_behind_a_pointer_has_the_path_of_the_pointer)
{
	walk_args(VERB_query_pkey, "{\"port_num\":1,\"pkey\":5}", "{\"pkey\":6}", NULL);
	assert_string_equal(seen, "port_num=1/- pkey=5/6 ");
}

TEST(two_numbers_that_are_equal_are_skipped)
{
	walk_args(VERB_reg_mr, "{\"pd\":1,\"addr\":2}", "{\"pd\":1,\"addr\":3}", NULL);
	assert_string_equal(seen, "addr=2/3 ");
}

TEST(null_has_no_values)
{
	walk_args(VERB_modify_qp, "{\"qp\":1,\"attr\":null}", NULL, NULL);
	assert_string_equal(seen, "qp=1/- ");
}

TEST(a_visitor_ends_the_walk)
{
	assert_int_equal(walk_args(VERB_reg_mr, "{\"pd\":1,\"addr\":2,\"access\":3}", NULL, "addr"),
			 -7);
	assert_string_equal(seen, "pd=1/- addr=2/- ");
}

static void add_seen(const char *text)
{
	size_t used = strlen(seen);

	snprintf(seen + used, sizeof(seen) - used, "%s", text);
}

/* "name=value", "?" if it is not there, "!" after what has no descriptor */
static int print_value(void *arg, const struct args_place *place)
{
	char text[64];
	int64_t number;

	(void)arg;
	if (args_value(place->value, &number))
		snprintf(text, sizeof(text), "%s=%d", place->name ?: "", (int)number);
	else
		snprintf(text, sizeof(text), "%s=?", place->name ?: "");
	add_seen(text);
	add_seen(place->field ? " " : "! ");
	return 0;
}

static int open_value(void *arg, const struct args_place *place)
{
	add_seen(place->name ?: "");
	if (place->name && arg && !strcmp(place->name, arg)) {
		add_seen("(skipped) ");
		return ARGS_SKIP;
	}
	add_seen(place->value->kind == JSON_ARRAY ? "[ " : "{ ");
	return 0;
}

static int close_value(void *arg, const struct args_place *place)
{
	(void)arg;
	add_seen(place->value->kind == JSON_ARRAY ? "] " : "} ");
	return 0;
}

/* Argument @index of @verb. */
static const char *visit_arg(enum verb verb, int index, const char *json, bool unknown, bool absent,
			     const char *skip)
{
	const struct args_visitor visitor = { print_value, open_value, close_value, unknown,
					      absent };
	const struct field_info *field = &verb_infos[verb].args.fields[index];
	struct args *args = args_new(json, strlen(json));

	*seen = 0;
	assert_int_equal(
		args_visit(&visitor, (void *)(uintptr_t)skip, NULL, field, args_field(args, field)),
		0);
	args_unref(args);
	return seen;
}

TEST(structures_and_arrays_are_opened_and_closed)
{
	static const char json[] = "{\"entries\":[{\"port_num\":1,\"gid\":{\"raw\":\"fe\"}},"
				   "{\"new\":{\"a\":1},\"port_num\":2}]}";

	assert_string_equal(visit_arg(VERB_query_gid_table, 1, json, false, false, NULL),
			    "[ { gid{ raw=? } port_num=1 } { port_num=2 } ] ");
	assert_string_equal(visit_arg(VERB_query_gid_table, 1, json, true, false, NULL),
			    "[ { gid{ raw=? } port_num=1 } { port_num=2 new=?! } ] ");
	assert_string_equal(visit_arg(VERB_query_gid_table, 1, json, false, false, "gid"),
			    "[ { gid(skipped) port_num=1 } { port_num=2 } ] ");
}

TEST(what_the_arguments_lack_is_visited_on_request)
{
	static const char json[] = "{\"srq_attr\":{\"max_wr\":7}}";

	assert_string_equal(visit_arg(VERB_modify_srq, 1, json, false, false, NULL),
			    "{ max_wr=7 } ");
	assert_string_equal(visit_arg(VERB_modify_srq, 1, json, false, true, NULL),
			    "{ max_wr=7 max_sge=? srq_limit=? } ");
}

TEST(an_array_in_an_array_has_no_descriptor)
{
	assert_string_equal(
		visit_arg(VERB_query_gid_table, 1, "{\"entries\":[[1,2],3]}", true, false, NULL),
		"[ =?! =3 ] ");
}

TEST(a_field_has_the_last_part_of_a_name)
{
	const struct struct_info *attr = verb_infos[VERB_modify_qp].args.fields[1].type;

	for (unsigned int i = 0; i < attr->nfields; i++)
		assert_int_equal(args_is(&attr->fields[i], ARG(attr.dest_qp_num)),
				 !strcmp(attr->fields[i].name, "dest_qp_num"));
	assert_true(args_is(&verb_infos[VERB_query_port].args.fields[1], ARG(attr.port_num)));
}
