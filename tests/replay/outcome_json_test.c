/*
 * The report of a replay as JSON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/report/outcome.h"
#include "tests/test.h"

static struct outcome *outcome;
static char *text;

static int make_outcome(void **state)
{
	(void)state;
	return outcome_new(&outcome);
}

static int free_outcome(void **state)
{
	(void)state;
	outcome_free(outcome);
	free(text);
	text = NULL;
	return 0;
}

FIXTURE(make_outcome, free_outcome);

static void print_json(void)
{
	size_t size;
	FILE *to = open_memstream(&text, &size);

	outcome_json(outcome, to);
	fclose(to);
}

/* Between @from and @to are the members whose lines those are. */
static void expect_lines(const char *from, const char *to, const char *wanted)
{
	const char *begin, *end;
	char *part;

	print_json();
	begin = strstr(text, from);
	end = begin ? strstr(begin, to) : NULL;
	assert_non_null(end);
	part = strndup(begin, (size_t)(end - begin));
	assert_string_equal(part, wanted);
	free(part);
}

TEST(a_replay_of_nothing)
{
	print_json();
	assert_string_equal(
		text,
		"{\n"
		"  \"trace\": \"\",\n"
		"  \"device\": \"\",\n"
		"  \"seconds\": {\"recorded\": 0.000000, \"compiled\": 0.000000, \"replayed\": "
		"0.000000},\n"
		"  \"longest_wait_ns\": 0,\n"
		"  \"counts\": {\"calls\": 0, \"posts\": 0, \"requests\": 0, \"polls\": 0, "
		"\"completions\": 0, \"payloads\": 0, \"notifies\": 0, \"events\": 0, "
		"\"unpolled\": 0, \"faults\": 0, \"seen\": 0, \"compiled\": 0},\n"
		"  \"calls\": {},\n"
		"  \"whole\": true,\n"
		"  \"left_out\": {\"posts\": 0, \"completions\": 0, \"calls\": 0},\n"
		"  \"lacking\": [],\n"
		"  \"divergences\": 0,\n"
		"  \"consequences\": 0,\n"
		"  \"classes\": {\"other\": 0, \"recorded-failure-succeeds\": 0, "
		"\"recorded-success-fails\": 0},\n"
		"  \"divergence\": [],\n"
		"  \"skipped\": [],\n"
		"  \"made\": {\"open_regions\": 0, \"peers\": []},\n"
		"  \"tolerated\": [],\n"
		"  \"tolerated_by\": [],\n"
		"  \"notes\": []\n"
		"}\n");
}

TEST(counts_and_calls_have_their_names)
{
	outcome_set_trace(outcome, "a\"b\n.db", NULL);
	outcome_set_device(outcome, "soft0");
	outcome_set_times(outcome, 1.5, 0.25, 2);
	for (int i = 0; i < OUTCOME_COUNTS; i++)
		if (i != OUTCOME_CALLS)
			outcome_count(outcome, (enum outcome_count)i, 10 + (uint64_t)i);
	outcome_count_call(outcome, VERB_alloc_pd);
	outcome_count_call(outcome, VERB_reg_mr);
	outcome_count_call(outcome, VERB_reg_mr);
	expect_lines("{", "  \"whole\"",
		     "{\n"
		     "  \"trace\": \"a\\\"b\\u000a.db\",\n"
		     "  \"device\": \"soft0\",\n"
		     "  \"seconds\": {\"recorded\": 1.500000, \"compiled\": 0.250000, "
		     "\"replayed\": 2.000000},\n"
		     "  \"longest_wait_ns\": 0,\n"
		     "  \"counts\": {\"calls\": 3, \"posts\": 11, \"requests\": 12, \"polls\": 13, "
		     "\"completions\": 14, \"payloads\": 15, \"notifies\": 16, \"events\": 17, "
		     "\"unpolled\": 18, \"faults\": 19, \"seen\": 20, \"compiled\": 21},\n"
		     "  \"calls\": {\"ibv_alloc_pd\": 1, \"ibv_reg_mr\": 2},\n");
}

TEST(divergences_have_their_members)
{
	outcome_relate_objects(outcome, 1, 2);
	outcome_relate_objects(outcome, 1, 3);
	outcome_add_divergence(outcome,
			       &(struct divergence){ .event = { 1, 60 },
						     .verb = VERB_poll_cq,
						     .field = "ret",
						     .recorded = "0",
						     .replayed = "1",
						     .class = DIVERGENCE_FAILED_RECORDED });
	for (uint32_t i = 1; i < 4; i++)
		outcome_add_divergence(outcome,
				       &(struct divergence){ .event = { 1, 60 + i },
							     .verb = VERB_post_send,
							     .field = "f",
							     .recorded = "A",
							     .replayed = "B",
							     .about = { 1, 50 },
							     .sender = { 2, 40 },
							     .object = i,
							     .breaks = true,
							     .class = DIVERGENCE_FAILED_REPLAYED });
	expect_lines("  \"divergences\"", "  \"skipped\"",
		     "  \"divergences\": 2,\n"
		     "  \"consequences\": 2,\n"
		     "  \"classes\": {\"other\": 0, \"recorded-failure-succeeds\": 1, "
		     "\"recorded-success-fails\": 1},\n"
		     "  \"divergence\": [\n"
		     "    {\"event\": \"1:60\", \"verb\": \"ibv_poll_cq\", \"field\": \"ret\", "
		     "\"recorded\": \"0\", \"replayed\": \"1\", \"class\": "
		     "\"recorded-failure-succeeds\", \"consequences\": 0, \"on\": []},\n"
		     "    {\"event\": \"1:61\", \"verb\": \"ibv_post_send\", \"field\": \"f\", "
		     "\"recorded\": \"A\", \"replayed\": \"B\", \"request\": \"1:50\", \"sender\": "
		     "\"2:40\", \"object\": \"object 1\", \"class\": \"recorded-success-fails\", "
		     "\"consequences\": 2, \"on\": [\"object 2\", \"object 3\"]}],\n");
}

TEST(what_was_left_out_has_its_reasons)
{
	outcome_note_skipped(outcome, (struct event_id){ 3, 10 }, VERB_post_send, 0,
			     "a \"reason\"");
	outcome_note_skipped(outcome, (struct event_id){ 3, 11 }, VERB_post_send, 0,
			     "a \"reason\"");
	outcome_note_skipped(outcome, (struct event_id){ 3, 12 }, VERB_poll_cq, 0, "another");
	outcome_note_gap(outcome, "a gap");
	outcome_note_gap(outcome, "a second");
	assert_int_equal(outcome_set_part(outcome, "until 1:60"), 0);
	outcome_stop(outcome, "ended by SIGTERM");
	expect_lines("  \"whole\"", "  \"divergences\"",
		     "  \"whole\": false,\n"
		     "  \"partial\": \"ended by SIGTERM\",\n"
		     "  \"part\": \"until 1:60\",\n"
		     "  \"left_out\": {\"posts\": 2, \"completions\": 1, \"calls\": 0},\n"
		     "  \"lacking\": [\"a gap\", \"a second\"],\n");
	free(text);
	expect_lines(
		"  \"skipped\"", "  \"made\"",
		"  \"skipped\": [\n"
		"    {\"first\": \"3:10\", \"verb\": \"ibv_post_send\", \"count\": 2, \"why\": "
		"\"a \\\"reason\\\"\"},\n"
		"    {\"first\": \"3:12\", \"verb\": \"ibv_poll_cq\", \"count\": 1, \"why\": "
		"\"another\"}],\n");
}

TEST(tolerated_differences_and_notes_are_lists)
{
	outcome_note_tolerated(outcome, "reason a");
	outcome_note_tolerated(outcome, "reason b");
	outcome_note_tolerated(outcome, "reason a");
	outcome_note(outcome, "note %d", 1);
	outcome_note(outcome, "note %d", 2);
	print_json();
	assert_string_equal(strstr(text, "  \"tolerated\""),
			    "  \"tolerated\": [\n"
			    "    {\"count\": 2, \"reason\": \"reason a\"},\n"
			    "    {\"count\": 1, \"reason\": \"reason b\"}],\n"
			    "  \"tolerated_by\": [],\n"
			    "  \"notes\": [\n"
			    "    \"note 1\",\n"
			    "    \"note 2\"]\n"
			    "}\n");
}
