#include "core/store/db/args.h"
#include "core/store/db/args_walk.h"
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
	err = args_walk(&verb_infos[verb].args, args_root(a), args_root(b), "", note_value,
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
