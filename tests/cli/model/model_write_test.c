/*
 * cli/model/model_write.c: traffic as a text, and back
 */
#include <string.h>

#include "cli/model/model_text.h"
#include "replay/load/load_join.h"
#include "tests/replay/senders.h"

TEST(what_was_written_is_read_again)
{
	struct load load = { 0 }, again;
	struct load_totals before, after;
	struct text text = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_pattern(&load, LOAD_TREE_UP, 8, 4096);
	add_sender(&load, 0, 5, 50, 8);
	assert_int_equal(load_join(&load), 0);
	before = load_totals(&load);
	assert_int_equal(model_write(&load, "t.db", &text), 0);
	assert_non_null(strstr(text.at, "\nflow ring "));
	assert_non_null(strstr(text.at, "\nflow tree-up "));
	assert_non_null(strstr(text.at, "\nflow 0>5\n"));
	assert_non_null(strstr(text.at, "    send SEND 4k 100%\n"));
	assert_non_null(strstr(text.at, "    gap 1.00us 100%\n"));
	assert_int_equal(model_parse(text.at, "load.txt", &again), 0);
	after = load_totals(&again);
	assert_int_equal(after.senders, before.senders);
	assert_int_equal(after.requests, before.requests);
	assert_true(after.bytes == before.bytes);
	assert_int_equal(again.nclasses, load.nclasses);
	text_fini(&text);
	load_fini(&load);
	load_fini(&again);
}

TEST(equal_edges_are_written_once)
{
	struct load load = { 0 };
	struct text text = { 0 };

	for (int i = 0; i < 3; i++)
		add_sender(&load, 0, 1, 10, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(model_write(&load, "t.db", &text), 0);
	assert_non_null(strstr(text.at, "\nflow 0>1x3\n"));
	text_fini(&text);
	load_fini(&load);
}
