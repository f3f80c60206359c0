/*
 * The C code of a thread's statements
 */
#include "cli/emit/listing.h"

#include <inttypes.h>

#include "tests/test.h"

static struct texts texts;
static struct block block;
static struct listing listing;
static struct skips skips;
static uint32_t awaited; /* the text of the event that the next statement waits for; 0: none */

static void store_number(void *of, uint32_t object, const char *index, struct text *text)
{
	(void)of;
	text_addf(text, "handle = kept%" PRIu32 "%s;\n\tput(handle);", object, index);
}

static int begin_listing(void **state)
{
	(void)state;
	skips = (struct skips){ 0 };
	listing = (struct listing){
		.texts = &texts, .thread = "3", .skips = &skips, .kept = store_number
	};
	awaited = 0;
	return 0;
}

static int end_listing(void **state)
{
	(void)state;
	loops_fini(&block);
	texts_fini(&texts);
	text_fini(&listing.text);
	text_fini(&listing.before);
	return 0;
}

FIXTURE(begin_listing, end_listing);

/* Statement @text of event 3:@n, with its numbers. */
#define ADD(n, text, ...)                                     \
	add_values(n, text, (const int64_t[]){ __VA_ARGS__ }, \
		   sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

static uint32_t add_values(uint64_t n, const char *text, const int64_t *values, size_t nvalues)
{
	struct statement s = { .text = texts_number(&texts, text),
			       .n = n,
			       .nvalues = (uint32_t)nvalues,
			       .coming = awaited };

	assert_int_equal(loops_add(&block, &s, values), 0);
	return s.text;
}

static void assert_listing(const char *before, const char *text)
{
	assert_int_equal(loops_finish(&block), 0);
	assert_int_equal(listing_add(&listing, &block), 0);
	assert_string_equal(listing.text.at, text);
	assert_string_equal(listing.before.at ? listing.before.at : "", before);
}

TEST(a_statement_alone_has_its_numbers)
{
	ADD(5, "call(" SLOT "n, a" SLOT "o, " SLOT "x, " SLOT "d);\nmore();", 64, 255, -7);
	ADD(6, "other(b" SLOT "o, " SLOT "x, c" SLOT "o, " SLOT "d);", 0, 0, -8, 0);
	assert_listing("", "\tcall(\"3:5\", a + 64, 0xff, -7);\n"
			   "\tmore();\n"
			   "\tother(b, 0, c - 8, 0);\n");
	assert_false(listing.has_loops || listing.has_steps || listing.has_waits);
}

TEST(numbers_of_a_loop_are_expressions_of_its_variable)
{
	for (int i = 0; i < 4; i++)
		ADD(10 + 2 * (uint64_t)i,
		    "call(" SLOT "n, a" SLOT "o, b" SLOT "o, c" SLOT "o, " SLOT "x, " SLOT
		    "d, " SLOT "d);",
		    64 * i, 8 - i, 7, 16 + 16 * i, -3 * i, 9);
	assert_listing("", "\tfor (long i = 0; i < 4; i++)\n"
			   "\t\tcall(at(\"3\", 10 + 2 * i), a + 64 * i, b + 8 - i, c + 7, "
			   "0x10 + 16 * i, -3 * i, 9);\n");
	assert_true(listing.has_loops);
	assert_false(listing.has_steps);
}

TEST(other_numbers_are_elements_of_a_table)
{
	const int64_t odd[] = { 5, 1, 8, INT64_MIN };

	for (int i = 0; i < 8; i++)
		ADD((uint64_t)i + 1, "call(" SLOT "d, a" SLOT "o, " SLOT "x,\nb" SLOT "o);",
		    odd[i % 4], i == 7, odd[i % 4], odd[i / 2]);
	assert_listing("\tstatic const int64_t table1[] = { 5, 1, 8, INT64_MIN };\n"
		       "\tstatic const int64_t table2[] = { 0, 0, 0, 0, 0, 0, 0, 1 };\n"
		       "\tstatic const int64_t table3[] = { 5, 5, 1, 1, 8, 8, INT64_MIN, "
		       "INT64_MIN };\n",
		       "\n"
		       "\t/* 3:1 to 3:8 */\n"
		       "\tfor (long i = 0; i < 8; i++)\n"
		       "\t\tcall(table1[i % 4], a + table2[i], (uint64_t)table1[i % 4],\n"
		       "\t\tb + table3[i]);\n"
		       "\n");
}

/* The first line has room for fewer elements, since it has the name of the table. */
TEST(a_long_table_has_several_lines)
{
	struct text before = { 0 };

	for (int i = 0; i < 36; i++)
		ADD((uint64_t)i + 1, "call(" SLOT "d);", i * i + 1000);
	text_addf(&before, "\tstatic const int64_t table1[] = {");
	for (int i = 0; i < 36; i++)
		text_addf(&before,
			  i == 8 || i == 20 || i == 32 ? "\n\t\t%d%s"
			  : i                          ? " %d%s"
						       : "\n\t\t%d%s",
			  i * i + 1000, i < 35 ? "," : "");
	text_addf(&before, "\n\t};\n");
	assert_listing(before.at, "\n"
				  "\t/* 3:1 to 3:36 */\n"
				  "\tfor (long i = 0; i < 36; i++)\n"
				  "\t\tcall(table1[i]);\n"
				  "\n");
	text_fini(&before);
}

/* Turns of an inner loop are counted over all rounds. */
TEST(numbers_in_two_loops_have_an_index_that_counts)
{
	uint64_t n = 0;

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 3; j++)
			ADD(++n, "inner(" SLOT "n, " SLOT "d);\nmore();", (i + j) * (i + j));
		ADD(++n, "outer(" SLOT "d);", 100 * i);
	}
	assert_listing("\tstatic const int64_t table1[] = "
		       "{ 0, 1, 4, 1, 4, 9, 4, 9, 16, 9, 16, 25 };\n",
		       "\n"
		       "\t/* 3:1 to 3:16 */\n"
		       "\tfor (long i = 0; i < 4; i++) {\n"
		       "\t\tfor (long j = 0; j < 3; j++) {\n"
		       "\t\t\tinner(at(\"3\", 1 + 4 * i + j), table1[turn1]);\n"
		       "\t\t\tmore();\n"
		       "\t\t\tturn1++;\n"
		       "\t\t}\n"
		       "\t\touter(100 * i);\n"
		       "\t}\n"
		       "\n");
	assert_int_equal(listing.nturns, 1);
}

TEST(rounds_that_differ_are_numbers_of_the_outer_loop)
{
	const int rounds[] = { 3, 5, 2, 4 };
	uint64_t n = 0;

	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < rounds[i]; j++)
			ADD(++n, "inner();", 0);
		ADD(++n, "outer();", 0);
	}
	assert_listing("\tstatic const int64_t table1[] = { 3, 5, 2, 4 };\n",
		       "\n"
		       "\t/* 3:1 to 3:18 */\n"
		       "\tfor (long i = 0; i < 4; i++) {\n"
		       "\t\tfor (long j = 0; j < table1[i]; j++)\n"
		       "\t\t\tinner();\n"
		       "\t\touter();\n"
		       "\t}\n"
		       "\n");
}

/* The most frequent step is in the code, the first and the seventh are others. */
TEST(events_at_irregular_distances_are_counted)
{
	const uint64_t n[] = { 5, 6, 9, 12, 15, 18, 25, 28, 31 };

	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
		ADD(n[i], "call(" SLOT "n);", 0);
	assert_listing("\tstatic const struct run runs1[] = {\n"
		       "\t\t{ 1, 0 }, { 1, -2 }, { 4, 0 }, { 1, 4 },\n"
		       "\t\t{ 2, 0 }\n"
		       "\t};\n",
		       "\n"
		       "\t/* 3:5 to 3:31 */\n"
		       "\tn = (struct numbers){ \"3\", 2, runs1, 0 };\n"
		       "\tfor (long i = 0; i < 9; i++)\n"
		       "\t\tcall(next(&n, 3));\n"
		       "\n");
	assert_true(listing.has_steps);
	assert_false(listing.has_waits || listing.has_loops);
}

/* An inner loop with one more round each time: the step of each event is constant. */
TEST(counted_events_with_fixed_steps_need_no_table)
{
	uint64_t n = 3;

	for (int i = 1; i < 5; i++) {
		for (int j = 0; j < 2 * i; j++)
			ADD(n++, "inner(" SLOT "n);", 0);
		ADD(n++, "outer(" SLOT "n);", 0);
		ADD(n - 1, "unnamed();", 0);
	}
	assert_listing("", "\n"
			   "\t/* 3:3 to 3:26 */\n"
			   "\tn = (struct numbers){ \"3\", 2, NULL, 0 };\n"
			   "\tfor (long i = 0; i < 4; i++) {\n"
			   "\t\tfor (long j = 0; j < 2 + 2 * i; j++)\n"
			   "\t\t\tinner(next(&n, 1));\n"
			   "\t\touter(next(&n, 1));\n"
			   "\t\tunnamed();\n"
			   "\t}\n"
			   "\n");
}

/* A wait before an event has that event's name; its own step is not counted. */
TEST(a_wait_names_the_event_after_it)
{
	const uint64_t n[] = { 5, 8, 11, 17, 20 };
	uint32_t event = texts_number(&texts, "call(" SLOT "n);");

	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++) {
		awaited = event;
		ADD(n[i], "wait(" SLOT "n);", 0);
		awaited = 0;
		ADD(n[i], "call(" SLOT "n);", 0);
	}
	assert_listing("\tstatic const struct run runs1[] = "
		       "{ { 3, 0 }, { 1, 3 }, { 1, 0 } };\n",
		       "\n"
		       "\t/* 3:5 to 3:20 */\n"
		       "\tn = (struct numbers){ \"3\", 2, runs1, 0 };\n"
		       "\tfor (long i = 0; i < 5; i++) {\n"
		       "\t\twait(coming(n, 3));\n"
		       "\t\tcall(next(&n, 3));\n"
		       "\t}\n"
		       "\n");
	assert_true(listing.has_waits);
}

TEST(numbers_of_objects_are_stored_by_lines_of_the_caller)
{
	ADD(4, "make();\n" OBJECT_KEPT "17;", 0);
	for (int i = 0; i < 3; i++)
		ADD(5, "make_all();\n" OBJECT_KEPT "20;" SLOT "d\nend();", 2 * i);
	assert_listing("", "\tmake();\n"
			   "\thandle = kept17;\n"
			   "\tput(handle);\n"
			   "\n"
			   "\t/* 3:5 to 3:5 */\n"
			   "\tfor (long i = 0; i < 3; i++) {\n"
			   "\t\tmake_all();\n"
			   "\t\thandle = kept20[2 * i];\n"
			   "\t\tput(handle);\n"
			   "\t\tend();\n"
			   "\t}\n"
			   "\n");
}

TEST(numbers_that_no_event_has_do_not_make_a_loop_irregular)
{
	skips = (struct skips){ .n = 1, .at = { 12 } };
	for (uint64_t n = 10; n < 16; n++)
		if (n != 12)
			ADD(skips_subtract(&skips, n), "call(" SLOT "n);\nmore();", 0);
	ADD(skips_subtract(&skips, 16), "last(" SLOT "n);", 0);
	assert_listing("", "\tfor (long i = 0; i < 5; i++) {\n"
			   "\t\tcall(at(\"3\", 10 + i));\n"
			   "\t\tmore();\n"
			   "\t}\n"
			   "\tlast(\"3:16\");\n");
	assert_false(listing.has_steps);
}

/*
 * The numbers of the completion are constant, and it occurs twice; another one differs in each
 * round.
 */
TEST(a_repeated_completion_becomes_a_macro)
{
	static const char text[] = "expect(" SLOT "n, &(struct ibv_wc){\n\t.wr_id = " SLOT "x, "
				   ".opcode = IBV_WC_RECV, .byte_len = " SLOT "d });";
	struct repeated_texts repeated = { 0 };

	listing.repeated = &repeated;
	ADD(1, text, 1, 64);
	ADD(2, "other();", 0);
	ADD(3, text, 1, 64);
	ADD(4, "another();", 0);
	ADD(5, text, 2, 64);
	assert_listing("", "\texpect(\"3:1\", RECEIVED1);\n"
			   "\tother();\n"
			   "\texpect(\"3:3\", RECEIVED1);\n"
			   "\tanother();\n"
			   "\texpect(\"3:5\", &(struct ibv_wc){\n"
			   "\t\t.wr_id = 0x2, .opcode = IBV_WC_RECV, .byte_len = 64 });\n");
	assert_string_equal(repeated.macros.at, "#define RECEIVED1 &(struct ibv_wc){ .wr_id = 0x1, "
						".opcode = IBV_WC_RECV, .byte_len = 64 }\n");
	repeated_fini(&repeated);
}
