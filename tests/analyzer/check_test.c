/* analyzer/check.c, evidence.c and the reports over stored traces. */
#define STORY_OUTPUTS
#include <errno.h>

#include "core/store/open.h"
#include "analyzer/report/report.h"
#include "analyzer/rules/rule_hook.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

/* A use after destroy and a leak. */
static void make_mistakes(struct story *s)
{
	story_begin(s);
	open_context(s);
	create_cq(s);
	destroy_cq(s, 0);
	create_qp(s);
	story_exit(s, STORY_PID, 0);
}

static char *text_of(struct story *s, bool json)
{
	char *text = NULL;
	size_t size = 0;
	struct report report = { .out = open_memstream(&text, &size),
				 .trace = s->trace,
				 .path = "a \"trace\"",
				 .findings = s->findings };

	assert_int_equal(symbols_open(&report.symbols), 0);
	if (json)
		assert_int_equal(report_json(&report), 0);
	else
		assert_int_equal(report_text(&report), 0);
	symbols_close(report.symbols);
	fclose(report.out);
	return text;
}

TEST(a_muted_rule_finds_nothing)
{
	struct check_options options = { .mute = { [RULE_LIFE_001] = true } };
	struct story s;

	make_mistakes(&s);
	story_check(&s, &options);
	assert_int_equal(s.findings->rules[RULE_LIFE_001], 0);
	assert_int_equal(findings_count(s.findings, 'E'), 0);
	assert_int_not_equal(findings_count(s.findings, 'W'), 0);
	story_end(&s);
}

TEST(with_events_lost_nothing_is_checked_and_it_says_so)
{
	struct story s;
	char *text;

	make_mistakes(&s);
	s.threads[0].head.dropped = 3;
	s.threads[0].head.drop_first = s.threads[0].head.drop_last = s.now;
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	assert_int_equal(s.findings->nunchecked, RULE_COUNT);
	text = text_of(&s, false);
	assert_non_null(strstr(text, " rules not checked, because 3 events "
				     "were lost"));
	assert_non_null(strstr(text, "queue pairs in error (0 recorded, others may be missing)"));
	free(text);
	story_end(&s);
}

TEST(what_is_not_recorded_is_named)
{
	struct event_blind *blind;
	size_t looking = 0; /* rules that use posts */
	struct story s;

	for (int i = 0; i < RULE_COUNT; i++)
		looking += strchr(rules[i].evidence, 'd') != NULL;
	story_begin(&s);
	blind = (struct event_blind *)s.words;
	blind->what = BLIND_EXTENDED_QP;
	story_event(&s, 0, EVENT_BLIND, sizeof(*blind) / 8);
	story_check(&s, NULL);
	assert_int_equal(s.findings->nunchecked, looking);
	assert_true(s.findings->unchecked[0].partly);
	assert_non_null(strstr(s.findings->unchecked[0].because, "ibv_wr_*()"));
	story_end(&s);
}

/* Also in a copy made before the threads end, which record the number of filtered events. */
TEST(a_filter_is_reported_in_a_copy_too)
{
	struct writer_info info = { .command = "story", .device = "", .filter = "verb=post_send" };
	char path[sizeof(((struct story *)0)->path) + 2];
	struct story s;
	char *text;

	story_begin(&s);
	assert_int_equal(writer_finish(s.writer), 0);
	info.clock = &s.clock;
	assert_int_equal(writer_create(s.path, &info, &s.writer), 0);
	snprintf(path, sizeof(path), "%s.1", s.path);
	story_copy(&s, path);
	assert_int_equal(writer_finish(s.writer), 0);
	assert_int_equal(trace_open(path, &s.trace), 0);
	assert_int_equal(check_trace(s.trace, NULL, &s.findings), 0);
	text = text_of(&s, false);
	assert_non_null(strstr(text, "checked in part, because --filter verb=post_send left"));
	assert_non_null(strstr(text, "queue pairs in error (0 recorded, others may be missing)"));
	free(text);
	story_end(&s);
	unlink(path);
}

/* The objects that it made and destroyed are not known. */
TEST(a_vfork_child_with_verbs_leaves_nothing_to_check)
{
	struct event_blind *blind;
	struct story s;

	story_begin(&s);
	blind = (struct event_blind *)s.words;
	blind->what = BLIND_VFORK;
	story_event(&s, 0, EVENT_BLIND, sizeof(*blind) / 8);
	open_context(&s);
	alloc_pd(&s);
	dealloc_pd(&s, 0);
	dealloc_pd(&s, 0); /* another, which the child allocated */
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	assert_int_equal(s.findings->nunchecked, RULE_COUNT);
	assert_false(s.findings->unchecked[0].partly);
	assert_non_null(strstr(s.findings->unchecked[0].because, "vfork()"));
	story_end(&s);
}

TEST(an_empty_trace_is_not_checked)
{
	struct story s;
	char *text;

	story_begin(&s);
	story_check(&s, NULL);
	for (int rule = 0; rule < RULE_COUNT; rule++)
		assert_false(findings_checked(s.findings, (enum rule_id)rule));
	text = text_of(&s, false);
	assert_non_null(strstr(text, "EMPTY: no verb was recorded\n"));
	free(text);
	story_end(&s);
}

TEST(a_rule_is_checked_where_there_is_something_to_look_at)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_check(&s, NULL);
	assert_true(findings_checked(s.findings, RULE_LIFE_004));
	assert_false(findings_checked(s.findings, RULE_STATE_003));
	story_end(&s);
}

TEST(line_one_says_how_it_is)
{
	struct story s;
	char *text;

	make_mistakes(&s);
	story_check(&s, NULL);
	text = text_of(&s, false);
	assert_int_equal(strncmp(text, "a \"trace\": 1 process, ", 22), 0);
	assert_non_null(strstr(text, "0 lost"));
	assert_non_null(strstr(text, "BAD: 2 errors, 1 warning\n"));
	free(text);
	story_end(&s);
}

TEST(an_uncertain_request_is_marked_as_such)
{
	struct event_sge sge = { 0x7000, 64, 0x10 };
	struct story s;
	char *text;

	story_with_qp(&s);
	story_post(&s, 0, VERB_post_recv, &a_qp, 7, 0, sge);
	story_post(&s, 0, VERB_post_send, &a_qp, 7, IBV_WR_SEND, sge);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_LOC_PROT_ERR, a_qp.qp_num);
	story_check(&s, NULL);
	text = text_of(&s, false);
	assert_non_null(strstr(text, "\n  or receive of 64 bytes at 0x7000"));
	free(text);
	story_end(&s);
}

static unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* The first sentence on the first screen, all of it with the first finding of the rule. */
TEST(advice_is_given_once_a_rule)
{
	struct story s;
	char *text;

	make_mistakes(&s);
	story_check(&s, NULL);
	text = text_of(&s, false);
	assert_int_equal(count_of(text, "to do: Check the stack of the destroy"), 1);
	assert_int_equal(count_of(text, "to do:  Check the stack of the destroy"), 1);
	free(text);
	story_end(&s);
}

TEST(json_quotes)
{
	struct story s;
	char *text;

	make_mistakes(&s);
	story_check(&s, NULL);
	text = text_of(&s, true);
	assert_non_null(strstr(text, "\"trace\":\"a \\\"trace\\\"\""));
	assert_non_null(strstr(text, "\"rule\":\"LIFE-001\""));
	assert_non_null(strstr(text, "\"where\":\"ibv_create_qp(): qp_init_attr.send_cq\""));
	free(text);
	story_end(&s);
}

/* A call of the library inside a verb is not a use by the application. */
TEST(inner_calls_do_not_count)
{
	struct story_call outer;
	struct story s;

	story_begin(&s);
	open_context(&s);
	create_cq(&s);
	destroy_cq(&s, 0);
	outer = story_call(&s, 0, VERB_query_device, 30, W(&a_context), W(0));
	s.inner = true;
	destroy_cq(&s, 0);
	s.inner = false;
	story_return(&s, &outer, 0);
	story_finds_nothing(&s);
}

TEST(rules_are_found_by_id_and_name)
{
	assert_int_equal(rule_find("life-001"), RULE_LIFE_001);
	assert_int_equal(rule_find("leak"), RULE_LIFE_004);
	assert_int_equal(rule_find("LIFE-999"), -1);
}

/* An identifier is stable; a row says all that a reader needs, and looks at something. */
/* What makes the exit status 1 is chosen by --fail-on. */
TEST(the_least_severity_that_fails_is_chosen)
{
	static const struct {
		char fail_on;
		bool error, warning, hazard;
	} choices[] = { { 0, true, true, false },
			{ 'E', true, false, false },
			{ 'W', true, true, false },
			{ 'H', true, true, true } };
	struct findings findings = { 0 };

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		findings.fail_on = choices[i].fail_on;
		assert_int_equal(check_is_failure(&findings, 'E'), choices[i].error);
		assert_int_equal(check_is_failure(&findings, 'W'), choices[i].warning);
		assert_int_equal(check_is_failure(&findings, 'H'), choices[i].hazard);
		assert_false(check_is_failure(&findings, 'P'));
		assert_false(check_is_failure(&findings, 'I'));
	}
}

TEST(every_rule_is_whole)
{
	bool looks[RULE_COUNT] = { false }; /* the rules that have a function */

	for (int i = 0; i < RULE_COUNT; i++) {
		const struct rule *r = &rules[i];

		assert_int_equal(rule_find(r->id), i);
		assert_int_equal(rule_find(r->name), i);
		assert_non_null(strchr("EWHPI", r->severity));
		assert_true(strlen(r->means) > 20 && strlen(r->harm) > 20);
		assert_true(strlen(r->advice) > 20 && strlen(r->source) > 5);
	}
	for (size_t i = 0; i < rule_nhooks; i++)
		looks[rule_hooks[i].rule] = true;
	for (int i = 0; i < RULE_COUNT; i++)
		assert_true(looks[i]);
}
