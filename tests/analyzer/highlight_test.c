/*
 * Names in sentences
 */
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/highlight.h"
#include "core/base/style.h"
#include "tests/test.h"

TEST(names_are_found_by_their_shape)
{
	static const struct {
		const char *word, *name; /* NULL: none */
	} cases[] = {
		{ "1:42", "1:42" },
		{ "1:42[3],", "1:42[3]" },
		{ "(1:42)", "1:42" },
		{ "1:42:", "1:42" },
		{ "qp1", "qp1" },
		{ "qp12/2:", "qp12/2" },
		{ "mr1+0x40", "mr1" },
		{ "qp1's", "qp1" },
		{ "LIFE-001", "LIFE-001" },
		{ "cq2.", "cq2" },
		{ "f(qp3", "qp3" },
		{ "12:57:16", NULL },
		{ "qp", NULL },
		{ "qp1x", NULL },
		{ "LIFE-01", NULL },
		{ "LIFE-0011", NULL },
		{ "x1:42", NULL },
		{ "app.c:20", NULL },
		{ "qp1.c", NULL },
		{ "1:", NULL },
		{ ":1", NULL },
		{ "1:42[", "1:42" },
		{ "", NULL },
		{ "wr_id1", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t at, n = highlight_name(cases[i].word, strlen(cases[i].word), &at);

		if (!cases[i].name) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(n, strlen(cases[i].name));
		assert_memory_equal(cases[i].word + at, cases[i].name, n);
	}
}

static char *print_shown(const char *text)
{
	char *shown = NULL;
	size_t size;
	FILE *out = open_memstream(&shown, &size);

	highlight_text(out, text);
	fclose(out);
	return shown;
}

TEST(text_is_unchanged_but_for_colour)
{
	char *bare = print_shown(" qp1  of 1:2\033 "), *styled;

	style_enable(true);
	styled = print_shown(" qp1  of 1:2, \033[31m");
	style_enable(false);
	assert_string_equal(bare, " qp1  of 1:2\\x1b ");
	assert_string_equal(styled, " \033[36mqp1\033[0m  of \033[36m1:2\033[0m, \\x1b[31m");
	free(bare);
	free(styled);
}
