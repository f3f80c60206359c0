/*
 * Failures, counted while they are written
 *
 *	call that failed	unless programs expect it (core/wire/probe.h), or is an inner call
 *	post, poll that failed
 *	completion in error	unless flushed: another error explains it
 *	fatal event, process that was killed
 *
 * Verbs that failed are counted as `verbatim check` counts them, except for searches for the
 * largest inline size, whose failures it discounts. The arguments of a call are parsed only after
 * it has failed.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/store/db/args.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/probe.h"

enum { WC_SUCCESS = 0, WC_FLUSHED = 5 };

static void report_alarm(struct writer *writer, struct writer_alarm *alarm,
			 const struct thread_log *log, uint64_t n, int64_t time)
{
	if (!writer->on_alarm)
		return;
	alarm->thread = log->id;
	alarm->n = n;
	alarm->time = time;
	alarm->process = log->process;
	writer->on_alarm(writer->alarm_arg, alarm);
}

static const char *name_error(int error, char number[WRITER_ALARM_NAME])
{
	const char *name = strerrorname_np(error);

	snprintf(number, WRITER_ALARM_NAME, "%d", error);
	return name ? name : number;
}

static void fail_verb(struct writer *writer, const struct thread_log *log, enum verb verb,
		      int error, uint64_t n, int64_t time)
{
	char number[WRITER_ALARM_NAME];
	struct writer_alarm alarm = { .kind = ALARM_VERB,
				      .verb = verb_infos[verb].name,
				      .error = name_error(error, number) };

	writer->alarms.failed++;
	report_alarm(writer, &alarm, log, n, time);
}

/* Control verbs */

static bool get_argument(const void *call, const struct field_info *field, int64_t *ret_value)
{
	return args_value(args_field(call, field), ret_value);
}

static bool is_expected(const struct call_in_progress *call, int error)
{
	struct args *args = args_new(call->args, strlen(call->args));
	bool expected = probe_is_expected(call->verb, error, get_argument, args);

	args_unref(args);
	return expected;
}

void alarms_note_call(struct writer *writer, const struct thread_log *log,
		      const struct call_in_progress *call, const struct event_return *event,
		      int64_t time)
{
	bool is_errno = verb_infos[call->verb].fail == FAIL_NONZERO && event->ret > 0;
	int error = is_errno ? (int)event->ret : event->error;

	if (!verb_failed(call->verb, event->ret) || call->ours || call->depth ||
	    (call->args && is_expected(call, error)))
		return;
	fail_verb(writer, log, call->verb, error, call->n, time);
}

void alarms_note_event(struct writer *writer, const struct thread_log *log,
		       const struct call_in_progress *call, const char *type, int64_t time)
{
	struct writer_alarm alarm = { .kind = ALARM_EVENT, .error = type };

	if (!type || (!strstr(type, "FATAL") && !strstr(type, "ERR")))
		return;
	writer->alarms.fatal++;
	alarm.verb = verb_infos[call->verb].name;
	report_alarm(writer, &alarm, log, call->n, time);
}

/* The data path */

void alarms_note_post(struct writer *writer, const struct thread_log *log,
		      const struct event_post *event, uint64_t n, int64_t time)
{
	if (event->head.words * 8u < sizeof(*event) || event->verb >= VERB_COUNT || !event->ret ||
	    event->head.flags & (EVENT_PART | EVENT_INNER))
		return;
	fail_verb(writer, log, event->verb, event->ret, n, time);
}

static void fail_completion(struct writer *writer, const struct thread_log *log,
			    const struct event_wc *wc, uint64_t n, int64_t time)
{
	char number[WRITER_ALARM_NAME];
	const char *status = enum_name(enum_find("ibv_wc_status"), (int64_t)wc->status);
	struct writer_alarm alarm = { .kind = ALARM_COMPLETION,
				      .error = status ? status : number,
				      .qp_num = wc->qp_num,
				      .wr_id = wc->wr_id };

	snprintf(number, sizeof(number), "%u", wc->status);
	writer->alarms.errors++;
	report_alarm(writer, &alarm, log, n, time);
}

void alarms_note_poll(struct writer *writer, const struct thread_log *log,
		      const struct event_poll *poll, uint64_t n, int64_t time)
{
	const struct event_wc *wc = (const void *)(poll + 1);

	if (poll->ret < 0 && !(poll->head.flags & EVENT_INNER))
		fail_verb(writer, log, VERB_poll_cq, -poll->ret, n, time);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		uint32_t status = wc[i].status;

		if (status == WC_SUCCESS)
			continue;
		writer->alarms.statuses[status < WRITER_STATUSES ? status : WRITER_STATUSES - 1]++;
		if (status != WC_FLUSHED)
			fail_completion(writer, log, &wc[i], n, time);
	}
}

/* Processes */

void alarms_note_crash(struct writer *writer, uint32_t process, int signal, int64_t time)
{
	char name[WRITER_ALARM_NAME] = "killed";
	struct writer_alarm alarm = {
		.kind = ALARM_CRASH, .error = name, .process = process, .time = time
	};

	writer->alarms.crashes++;
	if (signal && sigabbrev_np(signal))
		snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(signal));
	if (writer->on_alarm)
		writer->on_alarm(writer->alarm_arg, &alarm);
}
