/* analyzer/report/waits_text.c */
#include "analyzer/report/waits_text.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

TEST(processes_that_are_no_ranks_are_listed)
{
	static const uint32_t all[] = { 1, 2, 1, 2, 1 };
	struct text text = { 0 };
	struct story s;

	begin_story(&s);
	story_check(&s, NULL);
	waits_put_processes(&text, s.trace, all, 2);
	assert_string_equal(text.at, "process 1, process 2");
	text_cut(&text, 0);
	waits_put_processes(&text, s.trace, all, 5);
	assert_string_equal(text.at, "process 1, process 2, process 1 and 2 more");
	text_fini(&text);
	story_end(&s);
}

TEST(ranks_are_ranges)
{
	static const uint32_t one[] = { 1, 2 };
	struct text text = { 0 };
	struct story s;

	story_environ = "SLURM_PROCID=3";
	begin_story(&s);
	story_environ = "";
	story_check(&s, NULL);
	waits_put_processes(&text, s.trace, one, 2);
	assert_string_equal(text.at, "2 ranks: 3, 3");
	text_fini(&text);
	story_end(&s);
}

TEST(a_link_names_both_ends)
{
	const struct stall_link link = {
		.process = 1, .to = 2, .outstanding = 2, .since = 1000, .until = 41000
	};
	struct text text = { 0 };
	struct story s;

	begin_story(&s);
	story_check(&s, NULL);
	waits_put_link(&text, s.trace, &link);
	assert_string_equal(text.at, "process 1 a queue pair -> process 2 a queue pair: "
				     "2 receives, nothing has come for 40.0 us");
	text_fini(&text);
	story_end(&s);
}
