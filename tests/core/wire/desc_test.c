#include "core/wire/desc.h"

#include <string.h>

#include "tests/test.h"

/* Two verbs may have one name: then the first is found. */
static void assert_found(const char *name, int verb)
{
	int found = verb_find(name);

	assert_in_range(found, 0, verb);
	assert_string_equal(verb_infos[found].name, verb_infos[verb].name);
}

TEST(verbs_are_found_by_their_names)
{
	for (int v = 0; v < VERB_COUNT; v++) {
		const char *name = verb_infos[v].name;

		assert_found(name, v);
		if (!strncmp(name, "ibv_", 4))
			assert_found(name + 4, v);
	}
}

TEST(other_names_are_no_verbs)
{
	static const char *const names[] = { "",      "ibv_",    "ibv_ibv_reg_mr",
					     "reg_m", "reg_mrs", "ibv_create_id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(verb_find(names[i]), -1);
}
