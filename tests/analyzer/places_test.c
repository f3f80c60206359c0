/* analyzer/report/places.c over stacks of "function" and "function:line". */
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/places.h"
#include "tests/test.h"

enum { WORD = 32 };

static struct places *places;
static char words[REPORT_FRAMES][WORD];

static int begin_places(void **state)
{
	(void)state;
	places = places_new(NULL, NULL);
	return !places;
}

static int end_places(void **state)
{
	(void)state;
	places_free(places);
	return 0;
}

FIXTURE(begin_places, end_places);

/* "function" has an offset, "function:12" a line, "@function" is one of the interpreter's. */
static struct symbol symbol_of(char *word)
{
	char *colon = strchr(word, ':');
	struct symbol symbol = { .function = word, .module = "app", .offset = 0x10 };

	if (colon) {
		*colon = '\0';
		symbol.file = !strncmp(word, "ibv_", 4) ? "verbs.h" : "a.c";
		symbol.line = atoi(colon + 1);
	}
	if (*word == '@')
		symbol.module = "python3.11";
	return symbol;
}

/* @stack: functions, the innermost first. */
static void put_row(uint32_t list, uint32_t id, const char *stack)
{
	struct symbol symbols[REPORT_FRAMES];
	unsigned int n = 0;

	for (const char *at = stack; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		assert_true(n < REPORT_FRAMES && length < WORD);
		memcpy(words[n], at, length);
		words[n][length] = '\0';
		symbols[n] = symbol_of(words[n]);
		n++;
		at += length;
	}
	places_put(places, list, id, symbols, n);
}

static const char *text_of(uint32_t id)
{
	return places_text(places, 0, id);
}

TEST(a_place_alone_is_its_line)
{
	put_row(0, 1, "send_post:12 reply:52 main:90");
	assert_string_equal(text_of(1), "send_post (a.c:12)");
	assert_null(text_of(2));
	assert_null(places_text(NULL, 0, 1));
}

/* As many frames as it takes, and no more. */
TEST(callers_tell_the_rows_of_a_helper_apart)
{
	put_row(0, 1, "send_post reply request_arrived main");
	put_row(0, 2, "send_post reply timer_fired main");
	put_row(0, 3, "send_post hello main");
	put_row(0, 4, "close_all main");
	assert_string_equal(text_of(1), "send_post < reply < request_arrived+0x10 (app)");
	assert_string_equal(text_of(2), "send_post < reply < timer_fired+0x10 (app)");
	assert_string_equal(text_of(3), "send_post < hello+0x10 (app)");
	assert_string_equal(text_of(4), "close_all+0x10 (app)");
}

TEST(lines_tell_calls_of_one_function_apart)
{
	put_row(0, 1, "send_post:12 reply:52 main:90");
	put_row(0, 2, "send_post:12 reply:77 main:90");
	put_row(0, 3, "send_post:20 reply:52 main:90");
	assert_string_equal(text_of(1), "send_post < reply (a.c:52)");
	assert_string_equal(text_of(2), "send_post < reply (a.c:77)");
	assert_string_equal(text_of(3), "send_post (a.c:20)");
}

/* The last frame has its line; if the others' lines matter, they have them, too. */
TEST(rows_that_would_read_alike_have_all_their_lines)
{
	put_row(0, 1, "send_post:12 reply:52 main:90");
	put_row(0, 2, "send_post:20 reply:52 main:90");
	put_row(0, 3, "send_post:12 hello:60 main:90");
	put_row(0, 4, "send_post:20 hello:60 main:90");
	assert_string_equal(text_of(1), "send_post (a.c:12) < reply (a.c:52)");
	assert_string_equal(text_of(4), "send_post (a.c:20) < hello (a.c:60)");
}

/* A recursion, and a stack that is the end of another. */
TEST(a_stack_within_another_is_shown_whole)
{
	put_row(0, 1, "put_tree main");
	put_row(0, 2, "put_tree put_tree main");
	assert_string_equal(text_of(1), "put_tree < main+0x10 (app)");
	assert_string_equal(text_of(2), "put_tree < put_tree+0x10 (app)");
}

TEST(the_same_place_in_two_processes_reads_alike)
{
	put_row(0, 1, "send_post:12 reply:52");
	put_row(0, 2, "send_post:12 reply:52");
	assert_string_equal(text_of(1), "send_post (a.c:12)");
	assert_string_equal(text_of(2), "send_post (a.c:12)");
}

TEST(rows_of_other_lists_do_not_count)
{
	put_row(0, 1, "send_post:12 reply:52");
	put_row(1, 2, "send_post:12 hello:60");
	assert_string_equal(text_of(1), "send_post (a.c:12)");
	put_row(0, 2, "send_post:12 hello:60");
	assert_string_equal(text_of(1), "send_post < reply (a.c:52)");
	assert_string_equal(places_text(places, 1, 2), "send_post (a.c:12)");
}

/* A build without optimisation has them as functions. */
TEST(functions_of_the_verbs_header_are_left_out)
{
	put_row(0, 1, "ibv_post_send:3342 send_post:12");
	put_row(0, 2, "ibv_post_send close_all");
	put_row(0, 3, "ibv_post_send:3342");
	assert_string_equal(text_of(1), "send_post (a.c:12)");
	assert_string_equal(text_of(2), "close_all+0x10 (app)");
	assert_string_equal(text_of(3), "ibv_post_send (verbs.h:3342)");
}

TEST(frames_of_python_are_reported_as_missing)
{
	put_row(0, 1, "__pyx_post_send @_PyEval_EvalFrame @run_eval main");
	put_row(0, 2, "__pyx_post_send @_PyEval_EvalFrame @run_vector main");
	put_row(0, 3, "@_PyEval_EvalFrame main");
	assert_string_equal(text_of(1), "__pyx_post_send+0x10 (app) < Python (its frames are not "
					"recorded)");
	assert_string_equal(text_of(2), text_of(1));
	assert_string_equal(text_of(3), "Python (its frames are not recorded)");
}

static void assert_fits(const char *place, size_t width, const char *wanted)
{
	char text[64];

	assert_string_equal(place_fit(place, width, text, sizeof(text)), wanted);
}

TEST(callers_in_the_middle_are_left_out_first)
{
	static const char place[] = "send_post < reply < arrived < served (a.c:7)";

	assert_fits(place, 44, place);
	assert_fits(place, 43, "send_post < ... < arrived < served (a.c:7)");
	assert_fits(place, 40, "send_post < ... < served (a.c:7)");
	assert_fits(place, 30, "... < served (a.c:7)");
	assert_fits(place, 10, "... < serv");
	assert_fits("send_post (a.c:12)", 9, "send_post");
}
