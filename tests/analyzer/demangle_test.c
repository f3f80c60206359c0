/* analyzer/report/demangle.c */
#include "analyzer/report/demangle.h"
#include "tests/test.h"

struct named {
	const char *name;
	const char *symbol, *shown;
};

/* clang-format off */
static const struct named named[] = {
	{ "a_c_function_is_itself", "post_writes", "post_writes" },
	{ "a_method", "_ZN6Server4postEi", "Server::post" },
	{ "a_template", "_ZN3net5QueueIiLm4EE4pushERKi", "net::Queue<int, 4ul>::push" },
	{ "a_clone", "_ZL6to_rtsv.constprop.0", "to_rts" },
	{ "rust_before_2021", "_ZN8rdma_app6client4post17h0123456789abcdefE",
	  "rdma_app::client::post" },
	{ "rust", "_RNvNtCs1234_7mycrate6client4post", "mycrate::client::post" },
	{ "d", "_D3app4postFiZv", "app.post(int)" },
	{ "what_only_begins_so", "_Zonk", "_Zonk" },
	{ "an_underscore_and_d", "_Done", "_Done" },
	{ "nothing", "", "" },
};
/* clang-format on */

static void shows_name(void **state)
{
	const struct named *row = *state;
	char text[128];

	demangle_name(row->symbol, text, sizeof(text));
	assert_string_equal(text, row->shown);
}

TEST_ROWS(named, shows_name);

TEST(an_alias_of_c_is_not_known)
{
	assert_true(demangle_knows("_ZN6Server4postEi"));
	assert_false(demangle_knows("__GI_exit"));
	assert_false(demangle_knows("post_writes"));
}

TEST(a_long_name_is_cut)
{
	char text[8];

	demangle_name("_ZN6Server4postEi", text, sizeof(text));
	assert_string_equal(text, "Server:");
}
