/*
 * The signals of a recording
 *
 * 	writer --> failure --+--> hooks: --on-error, --on-finding
 * 	check  --> finding --+--> journal, if standard error is connected to it
 * 	vitals --> numbers -----> metrics
 *
 * Each kind of failure or finding is a signal once a minute.
 */
#include "cli/record/alerts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "cli/record/hooks.h"
#include "cli/record/live_metrics.h"
#include "cli/record/metrics_out.h"
#include "cli/record/service.h"
#include "core/store/db/finding.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

struct alerts {
	struct alerts_settings set;
	const char *trace;
	struct writer *writer;
	struct hooks *hooks;
	struct metrics_out *out; /* NULL: no metrics */
	struct live_types types;
	uint64_t findings[3]; /* errors, warnings, hazards */
	bool journal;
	uint64_t watchdog, fed_at; /* ns */
};

int alerts_check(const struct alerts_settings *settings)
{
	return settings->metrics ? metrics_out_check(settings->metrics) : 0;
}

int alerts_new(const struct alerts_settings *settings, const char *trace, bool quiet,
	       struct alerts **ret_alerts)
{
	struct alerts *a = calloc(1, sizeof(*a));
	int err = a ? hooks_new(&a->hooks) : log_err(-ENOMEM, "record");

	if (!a)
		return err;
	a->set = *settings;
	a->trace = trace;
	a->journal = service_has_journal();
	a->watchdog = service_watchdog_interval();
	if (!err && settings->metrics)
		err = metrics_out_open(settings->metrics, quiet, &a->out);
	if (err) {
		alerts_free(a);
		return err;
	}
	*ret_alerts = a;
	return 0;
}

void alerts_free(struct alerts *a)
{
	if (!a)
		return;
	metrics_out_close(a->out);
	hooks_free(a->hooks);
	free(a->types.all);
	free(a);
}

/* Failures and findings */

static void raise_alert(struct alerts *a, const char *command, const char *kind, int priority,
			const char *message, const struct hook_fact *facts)
{
	if (hooks_fire(a->hooks, command, kind, facts) && a->journal)
		service_log(SERVICE_JOURNAL, priority, message, facts);
}

static const char *name_kind(const struct writer_alarm *alarm)
{
	switch (alarm->kind) {
	case ALARM_VERB:
		return "verb";
	case ALARM_COMPLETION:
		return "completion";
	case ALARM_EVENT:
		return "event";
	default:
		return "crash";
	}
}

static void report_writer_alarm(void *arg, const struct writer_alarm *alarm)
{
	struct alerts *a = arg;
	char event[40], kind[160], message[256];
	const struct hook_fact facts[] = {
		{ "kind", name_kind(alarm), 0 },
		{ "error", alarm->error, 0 },
		{ "verb", alarm->verb ? alarm->verb : "", 0 },
		{ "event", event, 0 },
		{ "time_ns", NULL, alarm->time > 0 ? (uint64_t)alarm->time : 0 },
		{ "process", NULL, alarm->process },
		{ "qp_num", NULL, alarm->qp_num },
		{ "wr_id", NULL, alarm->wr_id },
		{ "trace", a->trace, 0 },
		{ 0 },
	};

	snprintf(event, sizeof(event), "%u:%" PRIu64, alarm->thread, alarm->n);
	snprintf(kind, sizeof(kind), "%s %s %s", name_kind(alarm), facts[2].text, alarm->error);
	snprintf(message, sizeof(message), "%s%s%s of process %u at %s of %.100s", facts[2].text,
		 alarm->verb ? ": " : "", alarm->error, alarm->process, event, a->trace);
	raise_alert(a, a->set.on_error, kind, LOG_ERR, message, facts);
}

static int read_severity(const char *severity)
{
	return !strcmp(severity, "error") ? 0 : !strcmp(severity, "warning") ? 1 : 2;
}

void alerts_note_finding(void *arg, const struct stored_finding *f)
{
	struct alerts *a = arg;
	char event[40], kind[96];
	const struct hook_fact facts[] = {
		{ "kind", "finding", 0 },
		{ "rule", f->rule, 0 },
		{ "name", f->name, 0 },
		{ "severity", f->severity, 0 },
		{ "event", event, 0 },
		{ "time_ns", NULL, f->time > 0 ? (uint64_t)f->time : 0 },
		{ "process", NULL, f->process },
		{ "place", f->place ? f->place : "", 0 },
		{ "object", f->object ? f->object : "", 0 },
		{ "message", f->message ? f->message : "", 0 },
		{ "fingerprint", f->fingerprint ? f->fingerprint : "", 0 },
		{ "trace", a->trace, 0 },
		{ 0 },
	};

	a->findings[read_severity(f->severity)]++;
	snprintf(event, sizeof(event), "%u:%" PRIu64, f->event.thread, f->event.n);
	snprintf(kind, sizeof(kind), "finding %s", f->rule);
	raise_alert(a, a->set.on_finding, kind, read_severity(f->severity) ? LOG_WARNING : LOG_ERR,
		    facts[9].text, facts);
}

/* Numbers */

static void publish_metrics(void *arg, const struct live_now *now)
{
	struct alerts *a = arg;
	struct writer_alarms alarms = writer_alarms(a->writer);
	struct live_facts facts = { .alarms = &alarms,
				    .types = &a->types,
				    .findings = a->set.check ? a->findings : NULL };
	struct text text = { 0 };

	live_metrics_write(now, &facts, &text);
	metrics_out_put(a->out, &text);
	text_fini(&text);
}

void alerts_attach(struct alerts *a, struct writer *writer, struct live_stats *vitals)
{
	a->writer = writer;
	if (a->set.on_error || a->journal)
		writer_on_alarm(writer, report_writer_alarm, a);
	if (a->out)
		live_stats_each(vitals, publish_metrics, a);
}

/* systemd */

void alerts_notify_ready(struct alerts *a)
{
	service_notify("READY=1\nSTATUS=recording");
	a->fed_at = clock_monotonic();
}

void alerts_notify_stopping(struct alerts *a)
{
	(void)a;
	service_notify("STOPPING=1\nSTATUS=completing the trace");
}

void alerts_update(struct alerts *a)
{
	uint64_t now = clock_monotonic();

	hooks_reap(a->hooks);
	if (a->watchdog && now - a->fed_at >= a->watchdog / 3) {
		service_notify("WATCHDOG=1");
		a->fed_at = now;
	}
}

uint64_t alerts_pause(const struct alerts *a)
{
	return a->watchdog ? a->watchdog / 3 : UINT64_MAX;
}
