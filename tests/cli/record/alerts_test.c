/*
 * What commands, the journal and systemd are told about a recording: alerts_test.txt
 *
 * They are the test's: each prints what it gets.
 */
#include "cli/record/alerts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "cli/record/hooks.h"
#include "cli/record/service.h"
#include "cli/record/live_stats.h"
#include "core/store/db/finding.h"
#include "core/store/write/writer.h"
#include "tests/core/store/example.h"
#include "tests/test.h"
#include "tests/transcript.h"

static struct text out;
static bool has_journal, fires;
static uint64_t watchdog, now_ns;

static void put_facts(const struct hook_fact *facts)
{
	for (; facts->name; facts++)
		if (facts->text)
			text_addf(&out, "\t%s = '%s'\n", facts->name, facts->text);
		else
			text_addf(&out, "\t%s = %llu\n", facts->name,
				  (unsigned long long)facts->number);
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000),
				       .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

int hooks_new(struct hooks **ret_hooks)
{
	*ret_hooks = (struct hooks *)&out;
	return 0;
}

void hooks_free(struct hooks *hooks)
{
	assert_ptr_equal(hooks, &out);
}

bool hooks_fire(struct hooks *hooks, const char *command, const char *kind,
		const struct hook_fact *facts)
{
	assert_ptr_equal(hooks, &out);
	text_addf(&out, "command %s, kind '%s'\n", command ?: "none", kind);
	put_facts(facts);
	return fires;
}

void hooks_reap(struct hooks *hooks)
{
	assert_ptr_equal(hooks, &out);
	text_addf(&out, "commands are tended\n");
}

bool service_has_journal(void)
{
	return has_journal;
}

uint64_t service_watchdog_interval(void)
{
	return watchdog;
}

bool service_notify(const char *state)
{
	text_addf(&out, "systemd: '%s'\n", state);
	return true;
}

bool service_log(const char *path, int priority, const char *message, const struct hook_fact *facts)
{
	assert_string_equal(path, SERVICE_JOURNAL);
	text_addf(&out, "journal, priority %d: '%s', %s\n", priority, message, facts[0].text);
	return true;
}

static struct alerts *open_alerts(const char *on_error, const char *on_finding)
{
	const struct alerts_settings settings = { .on_error = on_error, .on_finding = on_finding };
	struct alerts *alerts;

	assert_int_equal(alerts_check(&settings), 0);
	assert_int_equal(alerts_new(&settings, "/x/trace.db", true, &alerts), 0);
	return alerts;
}

/* A failed call, two completions in error, and a crash. */
static void record_story(const char *on_error, const char *on_finding)
{
	struct alerts *alerts = open_alerts(on_error, on_finding);

	text_addf(&out, "== on error %s, journal %d, first in a minute %d\n", on_error ?: "nothing",
		  has_journal, fires);
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	alerts_attach(alerts, example.writer, NULL);
	example_story(&example);
	writer_end_process(example.writer, 200, 900000, 9);
	example_finish(&example);
	unlink(example.path);
	alerts_free(alerts);
}

static void show_alarms(void)
{
	for (int how = 0; how < 4; how++) {
		has_journal = how & 1;
		fires = how & 2;
		record_story("mail root", NULL);
	}
	record_story(NULL, "mail root");
	has_journal = false;
	record_story(NULL, "mail root");
}

static void show_findings(void)
{
	static const char *const severities[] = { "error", "warning", "hazard" };
	struct alerts *alerts;

	fires = true;
	alerts = open_alerts(NULL, "page me");
	text_addf(&out, "== findings\n");
	for (int i = 0; i < 3; i++) {
		struct stored_finding finding = { .rule = "LIFE-003",
						  .name = "destroy-with-children",
						  .severity = severities[i],
						  .event = { 2, 29 },
						  .time = i ? -1 : 400,
						  .process = 2 };

		if (i == 1) {
			finding.place = "ibv_dealloc_pd(): pd";
			finding.object = "pd1";
			finding.message = "pd1 was not destroyed";
			finding.fingerprint = "0123";
		}
		alerts_note_finding(alerts, &finding);
	}
	alerts_free(alerts);
}

/* The watchdog is fed three times in its time. */
static void show_service(void)
{
	static const uint64_t times[] = { 0, 9, 10, 19, 20, 29 };
	struct alerts *alerts;

	for (int with = 0; with < 2; with++) {
		now_ns = 1000;
		watchdog = with ? 30 : 0;
		alerts = open_alerts(NULL, NULL);
		text_addf(&out, "== watchdog %d, pause %llu\n", (int)watchdog,
			  (unsigned long long)alerts_pause(alerts));
		alerts_notify_ready(alerts);
		for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
			now_ns = 1000 + times[i];
			text_addf(&out, "at %d\n", (int)times[i]);
			alerts_update(alerts);
		}
		alerts_notify_stopping(alerts);
		alerts_free(alerts);
	}
}

TEST(alerts_are_those_of_the_transcript)
{
	show_alarms();
	show_findings();
	show_service();
	transcript_expect(__FILE__, &out);
}

TEST(free_accepts_null)
{
	alerts_free(NULL);
}

TEST(metrics_need_a_file_or_a_port)
{
	static const char *const wrong[] = { "", ":", ":x", ":65536", ":1234567" };
	static const char *const right[] = { ":0", ":65535" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(alerts_check(&(struct alerts_settings){ .metrics = wrong[i] }), 2);
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
		assert_int_equal(alerts_check(&(struct alerts_settings){ .metrics = right[i] }), 0);
}
