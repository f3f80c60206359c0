/*
 * The last line of a recording
 */
#include "cli/record/progress.h"

#include "core/base/text.h"
#include "tests/test.h"

TEST(end_names_what_failed)
{
	static const struct {
		struct writer_alarms alarms;
		const char *line;
	} rows[] = {
		{ { 0 }, NULL },
		{ { .failed = 1 }, "1 verb failed: verbatim check t.db" },
		{ { .failed = 5, .errors = 1 },
		  "5 verbs failed, 1 completion in error: verbatim check t.db" },
		{ { .errors = 2, .fatal = 1, .crashes = 3 },
		  "2 completions in error, 1 fatal event, 3 processes killed: verbatim check "
		  "t.db" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct text text = { 0 };

		assert_int_equal(progress_failures(&text, "t.db", &rows[i].alarms),
				 rows[i].line != NULL);
		if (rows[i].line)
			assert_string_equal(text.at, rows[i].line);
		text_fini(&text);
	}
}
