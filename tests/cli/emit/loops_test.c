/*
 * Loops in a row of statements, each a letter
 */
#include "cli/emit/loops.h"

#include <stdlib.h>

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
};
/* clang-format on */

static void write_node(const struct script *script, const struct node *node, struct text *text)
{
	if (!node->parts) {
		text_char(text, (char)script->at[node->turns[0]].text);
		return;
	}
	text_char(text, '(');
	for (size_t i = 0; i < node->nparts; i++)
		write_node(script, node->parts[i], text);
	text_char(text, ')');
	for (size_t i = 0; i < node->nrounds; i++)
		text_addf(text, i ? ",%zu" : "%zu", node->rounds[i]);
}

static struct script make_script(const char *statements)
{
	struct script script = { .n = strlen(statements) };

	script.at = calloc(script.n + 1, sizeof(*script.at));
	assert_non_null(script.at);
	for (size_t i = 0; i < script.n; i++)
		script.at[i].text = (unsigned char)statements[i];
	return script;
}

static void find_loops(void **state)
{
	const struct row *row = *state;
	struct script script = make_script(row->statements);
	struct block block = { 0 };
	struct text text = { 0 };

	assert_int_equal(loops_find(&script, &block), 0);
	for (size_t i = 0; i < block.n; i++)
		write_node(&script, block.at[i], &text);
	assert_string_equal(text.at ? text.at : "", row->loops);
	loops_fini(&block);
	text_fini(&text);
	script_fini(&script);
}
TEST_ROWS(rows, find_loops);

/* What a loop does, turn by turn, is what was there, in its order. */
static void walk_node(const struct node *node, size_t *run, size_t *turn, size_t *next)
{
	(void)run;
	if (!node->parts) {
		assert_int_equal(node->turns[*turn], *next);
		++*next;
		return;
	}
	for (size_t round = 0; round < node->rounds[0]; round++)
		for (size_t i = 0; i < node->nparts; i++)
			walk_node(node->parts[i], run, &round, next);
}

TEST(each_turn_is_in_its_place)
{
	struct script script = make_script("abcabcabcabc");
	struct block block = { 0 };
	size_t run = 0, turn = 0, next = 0;

	assert_int_equal(loops_find(&script, &block), 0);
	assert_int_equal(block.n, 1);
	walk_node(block.at[0], &run, &turn, &next);
	assert_int_equal(next, 12);
	loops_fini(&block);
	script_fini(&script);
}
