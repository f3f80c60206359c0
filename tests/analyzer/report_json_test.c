/*
 * What `verbatim check --format json` has of facts and findings
 */
#include <errno.h>
#include <signal.h>

#include "analyzer/report/report.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

static char *text;

/* The story as JSON. */
static void report_story(struct story *s)
{
	struct report report = { .path = s->path };
	size_t size;

	story_check(s, NULL);
	report.trace = s->trace;
	report.findings = s->findings;
	report.out = open_memstream(&text, &size);
	assert_int_equal(report_json(&report), 0);
	fclose(report.out);
}

static void expect_json(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %.*s", part, 3000, text);
}

static void end_report(struct story *s)
{
	free(text);
	text = NULL;
	story_end(s);
}

TEST(a_story_without_facts_has_empty_lists)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	close_context(&s);
	report_story(&s);
	expect_json(
		"\"bad\":false,\"verbs\":2,\"failed\":0,\"unfinished\":0,\"completions\":0,"
		"\"completions_in_error\":0,\"flushed\":0,\"failed_verbs\":[],\"hung_calls\":[],"
		"\"killed_processes\":[],\"fatal_events\":[],\"failed_exits\":[],"
		"\"vain_waits\":[],\"long_waits\":[],\"muted_facts\":[],"
		"\"first_errors\":[],\"findings\":[],\"rules\":[");
	end_report(&s);
}

TEST(facts_have_their_events_and_processes)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_DEVICE_FATAL };
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &a_mr);
	dealloc_pd(&s, EBUSY);
	story_do(&s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
	story_exit(&s, STORY_PID, SIGKILL);
	report_story(&s);
	expect_json("\"bad\":true,\"verbs\":5,\"failed\":1,\"unfinished\":0,"
		    "\"completions\":0,\"completions_in_error\":0,\"flushed\":0,"
		    "\"failed_verbs\":[{\"event\":\"1:8\","
		    "\"time\":9000,\"process\":1,\"thread\":1,");
	expect_json("\"verb\":\"ibv_dealloc_pd\",\"what\":\"ibv_dealloc_pd(pd1)\","
		    "\"error\":\"EBUSY\",\"errno\":16,\"because\":\"pd1 is in use by mr1,"
		    " created by thread 1 at 1:6\",\"count\":1,\"processes\":[1],"
		    "\"stack\":[");
	expect_json("\"killed_processes\":[{\"event\":\"1:10\",\"time\":12000,"
		    "\"process\":1,\"thread\":0,\"verb\":\"ibv_get_async_event\","
		    "\"what\":null,\"signal\":9,\"live_objects\":3,\"last_verb\":10000,"
		    "\"waited_for\":null,\"count\":1,\"processes\":[1],");
	expect_json("\"fatal_events\":[{\"event\":\"1:10\",\"time\":11000,\"process\":1,"
		    "\"thread\":1,\"verb\":\"ibv_get_async_event\","
		    "\"what\":\"IBV_EVENT_DEVICE_FATAL\",\"type\":8,\"count\":1,"
		    "\"processes\":[1],");
	expect_json("\"findings\":[{\"rule\":\"LIFE-003\","
		    "\"name\":\"destroy-with-children\",\"severity\":\"error\","
		    "\"event\":\"1:8\",\"time\":8000,\"process\":1,\"thread\":1,"
		    "\"also_in\":[],\"where\":\"ibv_dealloc_pd(): pd\","
		    "\"object\":\"pd1\",");
	expect_json("\"steps\":[{\"what\":\"created\",\"event\":\"1:4\","
		    "\"verb\":\"ibv_alloc_pd\",\"process\":1,\"time\":4000,");
	expect_json("{\"what\":\"blocked since\",\"event\":\"1:6\","
		    "\"verb\":\"ibv_reg_mr\",\"process\":1,\"time\":6000,");
	expect_json("{\"what\":\"destroy failed\",\"event\":\"1:8\","
		    "\"verb\":\"ibv_dealloc_pd\",\"process\":1,\"time\":8000,");
	end_report(&s);
}
