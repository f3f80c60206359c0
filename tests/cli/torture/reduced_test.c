/*
 * Which finding a reduced trace must keep.
 */
#include "cli/torture/reduced.h"

#include "tests/test.h"

TEST(rule_is_found_in_what_is_said)
{
	static const struct {
		const char *says, *rule;
	} cases[] = {
		{ "LIFE-004 ibv_alloc_pd() in clean_up (app.c:42)", "LIFE-004" },
		{ "SIGSEGV after ibv_destroy_cq() in clean_up; LIFE-002 ibv_destroy_cq(): cq",
		  "LIFE-002" },
		{ "COMPL-007 ibv_post_recv(): qp", "COMPL-007" },
		{ "SIGSEGV after ibv_reg_mr() in create_all (app.c:57)", NULL },
		{ "process 1 was at work; its last verb", NULL },
		{ "exit 0, as if nothing had failed", NULL },
		{ "", NULL },
	};
	char rule[16];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(reduced_find_rule(cases[i].says, rule), cases[i].rule != NULL);
		if (cases[i].rule)
			assert_string_equal(rule, cases[i].rule);
	}
}
