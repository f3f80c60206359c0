#include "cli/dump/window.h"

#include "tests/test.h"

/* The threads of all lines in order; the event is a line of thread 1. */
struct lines {
	const char *threads; /* "2": a line of thread 2; "!": the event */
	const char *shown;   /* "x" for each that is in the window of 2 */
	unsigned int size;
};

static const struct lines cases[] = {
	{ "1111!1111", "  xxxxx  ", 5 },
	/* a thread that polls, and one that has few lines */
	{ "21111!1111211", "x  xxxxx  x  ", 7 },
	{ "2221!1222", " xxxxxxx ", 7 },
	{ "!", "x", 1 },
};

static uint32_t thread_of(char c)
{
	return c == '!' ? 1 : (uint32_t)(c - '0');
}

TEST(each_thread_has_its_lines)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct window w = { .context = 2 };

		for (const char *c = cases[i].threads; *c; c++)
			assert_int_equal(window_count(&w, thread_of(*c), *c == '!'), 0);
		assert_int_equal(window_size(&w), cases[i].size);
		for (size_t k = 0; cases[i].threads[k]; k++) {
			char c = cases[i].threads[k];

			assert_int_equal(window_has(&w, thread_of(c), c == '!'),
					 cases[i].shown[k] == 'x');
		}
		window_fini(&w);
	}
}

TEST(it_is_full_when_each_thread_has_enough_after_the_event)
{
	struct window w = { .context = 2 };

	assert_false(window_is_full(&w));
	assert_int_equal(window_count(&w, 1, false), 0);
	assert_int_equal(window_count(&w, 2, false), 0);
	assert_int_equal(window_count(&w, 2, true), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(window_count(&w, 1, false), 0);
	assert_false(window_is_full(&w));
	for (int i = 0; i < 2; i++)
		assert_int_equal(window_count(&w, 2, false), 0);
	assert_true(window_is_full(&w));
	/* a thread that was not counted is not in it */
	assert_false(window_has(&w, 3, false));
	assert_false(window_has(&w, 9, false));
	window_fini(&w);
}
