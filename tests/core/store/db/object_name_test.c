#include "core/store/db/object_name.h"

#include <string.h>

#include "tests/test.h"

TEST(object_name_in_each_form)
{
	static const struct {
		const char *text, *trace, *name;
		uint32_t process;
	} cases[] = {
		{ "qp1", "", "qp1", 0 },
		{ "qp1/2", "", "qp1", 2 },
		{ "b.db:qp1/2", "b.db", "qp1", 2 },
		{ "b.db:mlx5_0", "b.db", "mlx5_0", 0 },
		{ "qp1/4294967295", "", "qp1", UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct object_name got;

		assert_true(object_name_read(cases[i].text, &got));
		assert_string_equal(got.trace, cases[i].trace);
		assert_string_equal(got.name, cases[i].name);
		assert_int_equal(got.process, cases[i].process);
	}
}

TEST(what_is_no_object_name_is_refused)
{
	static const char *const cases[] = {
		"",
		"/2",
		"qp1/",
		"qp1/x",
		"qp1/0",
		"qp1/-1",
		"qp1/2/3",
		"qp1/+2",
		":qp1",
		"b.db:",
		"qp1/4294967296",
		"qp1/99999999999999999999",
		"a-name-that-is-long.db:qp1",
		"a-name-of-more-than-sixty-three-characters-is-that-of-no-object-1",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct object_name got = { .process = 7 };

		assert_false(object_name_read(cases[i], &got));
		assert_int_equal(got.process, 7);
	}
}
