/*
 * What `verbatim check --format sarif` and --format junit have of facts and findings
 */
#include <errno.h>
#include <signal.h>

#include "analyzer/report/report.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

static char *text;

/* A domain that cannot be destroyed while it has a region; then the process is killed. */
static void tell_story(struct story *s)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_DEVICE_FATAL };

	story_begin(s);
	open_context(s);
	alloc_pd(s);
	reg_mr(s, &a_mr);
	dealloc_pd(s, EBUSY);
	story_do(s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
	story_exit(s, STORY_PID, SIGKILL);
	story_check(s, NULL);
}

static void report_story(struct story *s, int (*print)(const struct report *, int), int status)
{
	struct report report = { .path = "a.db", .trace = s->trace, .findings = s->findings };
	size_t size;

	free(text);
	report.out = open_memstream(&text, &size);
	assert_int_equal(print(&report, status), 0);
	fclose(report.out);
}

static void expect_text(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %.*s", part, 6000, text);
}

static void expect_none(const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in: %s", part, text);
}

static void end_report(struct story *s)
{
	free(text);
	text = NULL;
	story_end(s);
}

/* SARIF */

TEST(sarif_has_facts_as_results)
{
	char rule[64];
	struct story s;

	tell_story(&s);
	report_story(&s, report_sarif, 1);
	expect_text(
		"{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\","
		"\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"verbatim\",");
	expect_text("{\"ruleId\":\"failed-verb\",");
	snprintf(rule, sizeof(rule), "\"killed-process\",\"ruleIndex\":%d,\"level\":\"error\",",
		 RULE_COUNT + FACT_KILLED);
	expect_text(rule);
	expect_text(
		"\"level\":\"note\",\"message\":{\"text\":\"ibv_dealloc_pd(pd1) = EBUSY: pd1 is "
		"in use by mr1, created by thread 1 at 1:6\"},\"locations\":[{}],"
		"\"partialFingerprints\":{\"verbatim/v1\":\"");
	expect_text("\"},\"occurrenceCount\":1,\"properties\":{\"event\":\"1:8\",\"time\":9000,"
		    "\"process\":1,\"thread\":1}},{\"ruleId\":\"fatal-event\",");
	expect_text("\"message\":{\"text\":\"process 1 (app) by SIGKILL at 12.0 us, with 3 objects "
		    "alive; its last verb, ibv_get_async_event(), at 10.0 us\"}");
	expect_text(
		"\"properties\":{\"event\":\"1:10\",\"time\":12000,\"process\":1,\"thread\":0}}");
	expect_text("\"properties\":{\"trace\":\"a.db\",\"events\":11}}]}\n");
	end_report(&s);
}

TEST(sarif_has_findings_with_their_steps)
{
	struct story s;

	tell_story(&s);
	report_story(&s, report_sarif, 1);
	expect_text("{\"ruleId\":\"LIFE-003\",\"ruleIndex\":2,\"level\":\"error\",\"message\":"
		    "{\"text\":\"pd1 was not destroyed: ibv_dealloc_pd() returned 16 (Device or "
		    "resource busy), since mr1, created by thread 1 at 1:6, still depended on "
		    "it.\"},\"locations\":[{}],\"partialFingerprints\":{\"verbatim/v1\":\"");
	expect_text(
		"\"},\"occurrenceCount\":1,\"codeFlows\":[{\"threadFlows\":[{\"id\":"
		"\"thread 1\",\"locations\":[{\"location\":{\"message\":{\"text\":\"created at "
		"1:4 by ibv_alloc_pd()\"}},\"stack\":{\"frames\":[{\"location\":{}}]},"
		"\"executionOrder\":1,\"importance\":\"essential\"},{\"location\":{\"message\":"
		"{\"text\":\"blocked since at 1:6 by ibv_reg_mr()\"}},\"stack\":{\"frames\":"
		"[{\"location\":{}}]},\"executionOrder\":2,\"importance\":\"essential\"},"
		"{\"location\":{\"message\":{\"text\":\"destroy failed at 1:8 by "
		"ibv_dealloc_pd()\"}},\"stack\":{\"frames\":[{\"location\":{}}]},"
		"\"executionOrder\":3,\"importance\":\"essential\"}]}]}],\"properties\":"
		"{\"event\":\"1:8\",\"time\":8000,\"process\":1,\"thread\":1,\"object\":\"pd1\","
		"\"where\":\"ibv_dealloc_pd(): pd\"}}],");
	end_report(&s);
}

/* Steps of two threads are two flows, whose order goes over both. */
TEST(sarif_has_a_flow_for_each_thread)
{
	struct story s;
	struct finding *f;

	tell_story(&s);
	f = s.findings->all[0];
	f->steps[1].moment.id.thread = 7;
	report_story(&s, report_sarif, 1);
	expect_text("{\"id\":\"thread 1\",\"locations\":[{\"location\":{\"message\":{\"text\":"
		    "\"created at 1:4 by ibv_alloc_pd()\"}},\"stack\":{\"frames\":[{\"location\":"
		    "{}}]},\"executionOrder\":1,\"importance\":\"essential\"},{\"location\":"
		    "{\"message\":{\"text\":\"destroy failed");
	expect_text("\"executionOrder\":3,\"importance\":\"essential\"}]},{\"id\":\"thread 7\","
		    "\"locations\":[{\"location\":{\"message\":{\"text\":\"blocked since at 7:6 by "
		    "ibv_reg_mr()\"}},");
	expect_text("\"executionOrder\":2,\"importance\":\"essential\"}]}]}],");
	end_report(&s);
}

TEST(sarif_lists_rules_and_kinds_of_facts)
{
	struct story s;

	tell_story(&s);
	report_story(&s, report_sarif, 1);
	expect_text("\"rules\":[{\"id\":\"LIFE-001\",\"name\":\"use-after-destroy\","
		    "\"shortDescription\":{\"text\":\"A verb was given an object that had been "
		    "destroyed successfully,");
	expect_text("\"help\":{\"text\":\"The handle points to freed memory.");
	expect_text("\\u000a\\u000aSource: ibv_create_qp(3), ibv_reg_mr(3):");
	expect_text("\"defaultConfiguration\":{\"level\":\"error\"},\"properties\":{\"severity\":"
		    "\"E\",\"evidence\":\"cd\"}},{\"id\":\"LIFE-002\",");
	expect_text("\"defaultConfiguration\":{\"level\":\"warning\"},\"properties\":{\"severity\":"
		    "\"W\",");
	expect_text("{\"id\":\"failed-verb\",\"shortDescription\":{\"text\":\"failed verbs\"},"
		    "\"defaultConfiguration\":{\"level\":\"note\"}},{\"id\":\"hung-call\","
		    "\"shortDescription\":{\"text\":\"hung calls\"},\"defaultConfiguration\":"
		    "{\"level\":\"error\"}},");
	expect_text("],\"notifications\":[{\"id\":\"not-checked\",\"shortDescription\":{\"text\":"
		    "\"The trace has no evidence for a rule.\"}},{\"id\":\"checked-in-part\",");
	end_report(&s);
}

TEST(sarif_says_what_was_not_checked)
{
	struct story s;

	tell_story(&s);
	report_story(&s, report_sarif, 1);
	expect_text("\"invocations\":[{\"executionSuccessful\":true,\"exitCode\":1,"
		    "\"exitCodeDescription\":\"problems that are not muted\","
		    "\"ruleConfigurationOverrides\":[],\"toolExecutionNotifications\":[{"
		    "\"descriptor\":{\"id\":\"checked-in-part\",\"index\":1},\"associatedRule\":{"
		    "\"id\":\"LIFE-004\",\"index\":3},\"level\":\"note\",\"message\":{\"text\":"
		    "\"process 1 was killed by signal 9, and its objects with it\"}}]}],");
	s.findings->unchecked[0].partly = false;
	report_story(&s, report_sarif, 0);
	expect_text("\"exitCode\":0,\"exitCodeDescription\":\"no problems\",");
	expect_text("{\"descriptor\":{\"id\":\"not-checked\",\"index\":0},\"associatedRule\":{"
		    "\"id\":\"LIFE-004\",\"index\":3},\"level\":\"warning\",");
	end_report(&s);
}

TEST(sarif_says_what_is_muted)
{
	char overrides[256];
	struct story s;

	tell_story(&s);
	s.findings->off[2] = true;
	s.findings->facts->off[FACT_KILLED] = true;
	report_story(&s, report_sarif, 0);
	snprintf(
		overrides, sizeof(overrides),
		"\"ruleConfigurationOverrides\":[{\"descriptor\":{\"id\":\"LIFE-003\",\"index\":2},"
		"\"configuration\":{\"enabled\":false}},{\"descriptor\":{\"id\":"
		"\"killed-process\",\"index\":%d},\"configuration\":{\"enabled\":false}}],",
		RULE_COUNT + FACT_KILLED);
	expect_text(overrides);
	expect_none("\"ruleId\":\"killed-process\"");
	expect_text("\"ruleId\":\"fatal-event\"");
	end_report(&s);
}

TEST(sarif_lists_what_is_suppressed)
{
	static const char suppressed[] =
		"\"occurrenceCount\":1,\"suppressions\":[{\"kind\":\"external\",\"status\":"
		"\"accepted\"}],\"codeFlows\":";
	struct story s;

	tell_story(&s);
	report_story(&s, report_sarif, 1);
	expect_none("suppressions");
	s.findings->all[0]->known = FINDING_SUPPRESSED;
	report_story(&s, report_sarif, 0);
	expect_text(suppressed);
	end_report(&s);
}

/* JUnit */

TEST(junit_has_a_case_for_each_kind_of_facts_and_rule)
{
	struct story s;
	char head[128];

	tell_story(&s);
	report_story(&s, report_junit, 1);
	snprintf(head, sizeof(head),
		 "<testsuite name=\"a.db\" tests=\"%d\" failures=\"2\" errors=\"0\" skipped=\"0\" "
		 "time=\"0\">\n",
		 RULE_COUNT + FACT_COUNT);
	expect_text(head);
	expect_text("<property name=\"trace\" value=\"a.db\"/>\n");
	expect_text("<property name=\"events\" value=\"11\"/>\n"
		    "<property name=\"exit-status\" value=\"1\"/>\n");
	expect_text(
		"<testcase classname=\"verbatim.facts\" name=\"failed-verb\" time=\"0\">\n"
		"<system-out>1:8  ibv_dealloc_pd(pd1) = EBUSY: pd1 is in use by mr1, created by "
		"thread 1 at 1:6\n"
		"</system-out>\n"
		"</testcase>\n"
		"<testcase classname=\"verbatim.facts\" name=\"hung-call\" time=\"0\">\n"
		"</testcase>\n");
	expect_text(
		"<failure message=\"killed: 1\" type=\"error\">1:10  process 1 (app) by SIGKILL "
		"at 12.0 us, with 3 objects alive; its last verb, ibv_get_async_event(), at "
		"10.0 us\n"
		"</failure>\n");
	expect_text(
		"<testcase classname=\"verbatim.LIFE\" name=\"LIFE-003 destroy-with-children\" "
		"time=\"0\">\n"
		"<failure message=\"1 finding\" type=\"error\">\n"
		"E LIFE-003 destroy-with-children  1:8  8000 ns  process 1 (app, pid 100), thread "
		"1 (story)\n");
	expect_text(
		"<testcase classname=\"verbatim.LIFE\" name=\"LIFE-004 leak\" time=\"0\">\n"
		"<system-out>checked in part, because process 1 was killed by signal 9, and its "
		"objects with it\n"
		"</system-out>\n"
		"</testcase>\n");
	end_report(&s);
}

TEST(junit_skips_what_is_muted_or_was_not_checked)
{
	struct story s;

	tell_story(&s);
	s.findings->off[4] = true;
	s.findings->facts->off[FACT_KILLED] = true;
	s.findings->skip[3] = true;
	s.findings->unchecked[0].partly = false;
	free(s.findings->unchecked[0].because);
	s.findings->unchecked[0].because = strdup("it is <unknown>");
	report_story(&s, report_junit, 1);
	expect_text(" failures=\"1\" errors=\"0\" skipped=\"3\"");
	expect_text("name=\"killed-process\" time=\"0\">\n<skipped message=\"muted\"/>");
	expect_text("name=\"LIFE-005 stale-completion\" time=\"0\">\n"
		    "<skipped message=\"muted\"/>");
	expect_text("name=\"LIFE-004 leak\" time=\"0\">\n"
		    "<skipped message=\"it is &lt;unknown&gt;\"/>");
	end_report(&s);
}

TEST(junit_does_not_fail_for_what_is_known)
{
	struct story s;

	tell_story(&s);
	s.findings->all[0]->known = FINDING_SUPPRESSED;
	report_story(&s, report_junit, 1);
	expect_text(" failures=\"1\" ");
	expect_text("name=\"LIFE-003 destroy-with-children\" time=\"0\">\n</testcase>");
	end_report(&s);
}
