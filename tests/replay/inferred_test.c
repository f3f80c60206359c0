/*
 * Inferred properties of synthesized peers, as text and as JSON
 */
#include "replay/report/inferred.h"

#include <stdlib.h>

#include "tests/test.h"

static void expect_print(const struct inferred_list *list,
			 void (*print)(const struct inferred_list *, FILE *), const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	print(list, to);
	fclose(to);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(a_replay_with_all_ends_says_nothing)
{
	const struct inferred_list none = { .open = 3 };

	expect_print(&none, inferred_text, "");
	expect_print(&none, inferred_json, "  \"made\": {\"open_regions\": 3, \"peers\": []},\n");
}

TEST(one_of_each_has_no_plural)
{
	struct inferred one = { .address = "LID 1",
				.queue_pairs = 1,
				.receives = 1,
				.messages = 1,
				.placed = 1,
				.regions = 1,
				.nranges = 1 };

	expect_print(&(struct inferred_list){ &one, 1, 1 }, inferred_text,
		     "made 1 peer: 1 queue pair, 1 receive, 1 message, 1 region of 1 range "
		     "inferred\n"
		     "unknown: the destination of 1 write with immediate data\n"
		     "not reproducible: data that a synthesized peer wrote into 1 region of the "
		     "program, or read from it\n");
	one = (struct inferred){ .address = "LID 1" };
	expect_print(&(struct inferred_list){ &one, 1, 0 }, inferred_text,
		     "made 1 peer: 0 queue pairs, 0 receives, 0 messages inferred\n");
}

TEST(several_are_added_up)
{
	struct inferred_range ranges[] = { { 7, 2, 4096, 64 }, { 8, 4, 8192, 128 } };
	struct inferred two[] = { { "LID 1", 1, 1000, 30, 2, 1, ranges, 2 },
				  { "fe80::1", 2, 500, 40, 3, 4, NULL, 0 } };
	const struct inferred_list list = { two, 2, 5 };

	expect_print(&list, inferred_text,
		     "made 2 peers: 3 queue pairs, 1,500 receives, 70 messages, 5 regions of 2 "
		     "ranges inferred\n"
		     "unknown: the destination of 5 writes with immediate data\n"
		     "not reproducible: data that a synthesized peer wrote into 5 regions of the "
		     "program, or read from it\n");
	expect_print(&list, inferred_json,
		     "  \"made\": {\"open_regions\": 5, \"peers\": [\n"
		     "    {\"address\": \"LID 1\", \"queue_pairs\": 1, \"receives\": 1000, "
		     "\"messages\": 30, \"placed\": 2, \"regions\": 1, \"ranges\": [\n"
		     "      {\"rkey\": 7, \"access\": 2, \"start\": 4096, \"length\": 64},\n"
		     "      {\"rkey\": 8, \"access\": 4, \"start\": 8192, \"length\": 128}]},\n"
		     "    {\"address\": \"fe80::1\", \"queue_pairs\": 2, \"receives\": 500, "
		     "\"messages\": 40, \"placed\": 3, \"regions\": 4, \"ranges\": []}]},\n");
}
