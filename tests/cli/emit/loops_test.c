/*
 * Loops in a sequence of statements, each a letter
 */
#include "cli/emit/loops.h"

#include <errno.h>

#include "tests/allocation.h"
#include "tests/test.h"

struct row {
	const char *name;
	const char *statements;
	const char *loops; /* as write_node() writes them */
};

/* clang-format off */
static const struct row rows[] = {
	{ "nothing_is_no_loop", "", "" },
	{ "different_statements_stay", "abc", "abc" },
	{ "the_same_in_a_row_is_a_loop", "aaaab", "(a)4b" },
	{ "a_stretch_that_comes_again_is_a_loop", "xabcabcabcy", "x(abc)3y" },
	{ "rounds_may_differ_in_an_inner_loop", "aaabaab", "((a)3,2b)2" },
	{ "a_statement_may_come_once_in_a_round", "aaababaabab", "((a)3,1,2,1b)4" },
	{ "a_loop_of_loops", "aabbaabbcaabbaabbc", "(((a)2,2,2,2(b)2,2,2,2)2,2c)2" },
	{ "the_longest_is_found_first", "ababababab" "c" "ababababab" "c", "((ab)5,5c)2" },
	{ "a_loop_takes_the_rounds_that_come_later",
	  "abcabcabc" "x" "abcabcabcabc", "(abc)3x(abc)4" },
	{ "rounds_go_to_the_innermost_loop",
	  "ababab" "c" "ababab" "c" "ababab" "c" "abababab" "c", "((ab)3,3,3,4c)4" },
	{ "what_may_be_a_round_is_not_the_end_of_an_outer_one",
	  "ababab" "a" "c" "ababab" "a" "c" "abababab" "a" "c" "ababab", "((ab)3,3,4ac)3(ab)3" },
	{ "what_was_held_is_not_lost", "abcabcabc" "ab" "d" "a" "b", "(abc)3abdab" },
};
/* clang-format on */

static void write_node(const struct node *node, struct text *text)
{
	struct numbers_at at = { 0 };
	int64_t rounds;

	if (!node->parts) {
		text_char(text, (char)node->text);
		return;
	}
	text_char(text, '(');
	for (size_t i = 0; i < node->nparts; i++)
		write_node(node->parts[i], text);
	text_char(text, ')');
	for (size_t i = 0; numbers_next(&node->rounds, &at, &rounds); i++)
		text_addf(text, i ? ",%d" : "%d", (int)rounds);
}

/* Each has its index as the n of its event, and the square of that as its value. */
static int add_statements(const char *statements, struct block *block)
{
	int err = 0;

	for (size_t i = 0; !err && statements[i]; i++) {
		const struct statement s = { .text = (unsigned char)statements[i],
					     .n = i,
					     .nvalues = 1 };

		err = loops_add(block, &s, &(int64_t){ (int64_t)(i * i) });
	}
	return err ? err : loops_finish(block);
}

static void make_loops(const char *statements, struct block *block)
{
	assert_int_equal(add_statements(statements, block), 0);
}

static void find_loops(void **state)
{
	const struct row *row = *state;
	struct block block = { 0 };
	struct text text = { 0 };

	make_loops(row->statements, &block);
	for (size_t i = 0; i < block.n; i++)
		write_node(block.at[i], &text);
	assert_string_equal(text.at ? text.at : "", row->loops);
	loops_fini(&block);
	text_fini(&text);
}
TEST_ROWS(rows, find_loops);

/* Sanitizers would find memory that is leaked or used after free. */
TEST(each_allocation_may_fail)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (long fails = 0, err = -ENOMEM; err; fails++) {
			struct block block = { 0 };

			allocation_begin(fails);
			err = add_statements(rows[i].statements, &block);
			assert_int_equal(err, allocation_end() ? -ENOMEM : 0);
			loops_fini(&block);
		}
}

struct visited {
	const char *statements;
	uint64_t next;
};

static void see_next(void *arg, const struct node *node, uint64_t n)
{
	struct visited *visited = arg;

	assert_int_equal(n, visited->next++);
	assert_int_equal(node->text, (unsigned char)visited->statements[n]);
}

/* The n of its node determines the value in each turn. */
static void check_values(const struct node *node)
{
	struct numbers_at n_at = { 0 }, at = { 0 };
	int64_t n, value;
	size_t turns = 0;

	for (size_t i = 0; i < node->nparts; i++)
		check_values(node->parts[i]);
	while (!node->parts && numbers_next(&node->values[0], &n_at, &n)) {
		assert_true(numbers_next(&node->values[1], &at, &value));
		assert_int_equal(value, n * n);
		turns++;
	}
	assert_int_equal(turns, node->nturns);
}

/* Pseudorandom sequences of three statements: executing the loops gives the sequence again. */
static void add_any(struct text *text, uint32_t seed)
{
	while (text->used < 400) {
		seed = seed * 1664525 + 1013904223;
		text_add(text, &"abcabbaababcacbbbb"[seed >> 28], 1 + (seed >> 20) % 3);
	}
}

TEST(each_turn_is_in_its_place)
{
	for (uint32_t seed = 0; seed < 300; seed++) {
		struct block block = { 0 };
		struct text text = { 0 };
		struct visited visited;

		add_any(&text, seed);
		visited = (struct visited){ text.at, 0 };
		make_loops(text.at, &block);
		for (size_t i = 0; i < block.n; i++) {
			loops_visit(block.at[i], see_next, &visited);
			check_values(block.at[i]);
		}
		assert_int_equal(visited.next, text.used);
		loops_fini(&block);
		text_fini(&text);
	}
}

/* Ten thousand rounds, in which the second statement occurs once or twice. */
TEST(memory_is_of_the_loop_and_not_of_its_rounds)
{
	struct block block = { 0 };
	size_t size = 0;

	for (uint64_t i = 0; i < 10000; i++) {
		for (uint32_t text = 1; text <= (i % 2 ? 3 : 4); text++)
			assert_int_equal(loops_add(&block,
						   &(struct statement){ .text = text < 3 ? text : 3,
									.n = i,
									.nvalues = 1 },
						   &(int64_t){ (int64_t)(i % 16) }),
					 0);
		if (i == 1000)
			size = loops_size(&block);
		assert_true(i <= 1000 || loops_size(&block) <= 2 * size);
	}
	assert_int_equal(loops_finish(&block), 0);
	assert_int_equal(block.n, 1);
	loops_fini(&block);
}

/* Loops for which the listing has no variables are not made. */
TEST(loops_are_not_too_deep)
{
	static const char *const levels[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
	struct text text = { 0 }, round = { 0 };
	struct block block = { 0 };

	text_addf(&text, "x");
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		text_fini(&round);
		text_addf(&round, "%s%s", text.at, levels[i]);
		text_cut(&text, 0);
		for (int j = 0; j < 3; j++)
			text_add(&text, round.at, round.used);
	}
	make_loops(text.at, &block);
	for (size_t i = 0; i < block.n; i++)
		assert_true(block.at[i]->depth <= LOOPS_DEEP);
	loops_fini(&block);
	text_fini(&text);
	text_fini(&round);
}
