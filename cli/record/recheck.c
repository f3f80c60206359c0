/*
 * The check of a whole trace, after the check during its recording
 *
 * A finding may be wrong because of events that were lost later, posts that bypassed the recorder,
 * or events that came out of order. Findings that are already printed cannot be removed, so a
 * message lists those that no longer count. The output is that of `verbatim check`.
 */
#include "cli/record/recheck.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyzer/report/report.h"
#include "analyzer/report/row.h"
#include "cli/screen.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/open.h"
#include "core/store/save.h"
#include "core/wire/log.h"

enum { NAMED = 8 }; /* findings that are retracted by name */

int printed_list_add(struct printed_list *shown, const struct finding *finding)
{
	struct printed_finding *place = vec_push(shown->all, shown->n);

	if (!place)
		return log_err(-ENOMEM, "findings");
	*place = (struct printed_finding){ finding->rule, finding->event };
	return 0;
}

void printed_list_fini(struct printed_list *shown)
{
	free(shown->all);
	*shown = (struct printed_list){ 0 };
}

static bool is_found(const struct printed_finding *shown, const struct findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		const struct finding *f = findings->all[i];

		if (f->known == FINDING_NEW && f->rule == shown->rule &&
		    f->event.thread == shown->event.thread && f->event.n == shown->event.n)
			return true;
	}
	return false;
}

void printed_list_retract(const struct printed_list *shown, const struct findings *findings)
{
	struct text names = { 0 };
	size_t n = 0;
	char id[32];

	for (size_t i = 0; i < shown->n; i++) {
		if (is_found(&shown->all[i], findings))
			continue;
		if (n++ < NAMED)
			text_addf(&names, "%s%s at %s", n > 1 ? ", " : "",
				  rules[shown->all[i].rule].id,
				  event_id_text(shown->all[i].event, id));
	}
	if (n > NAMED)
		text_addf(&names, " and %zu more", n - NAMED);
	if (n)
		log_note("retracted, although it was printed above: %s; the whole trace does not "
			 "confirm it, since events are missing or came late",
			 names.failed ? "some findings" : names.at);
	text_fini(&names);
}

static int save_findings(const struct report *report)
{
	struct rows rows;
	int err = rows_init(&rows, report, 0);

	if (!err)
		err = trace_unlock(report->trace);
	if (!err)
		err = trace_save_findings(report->path, rows.all, rows.n);
	rows_fini(&rows);
	return err;
}

static int print_again(struct report *report, const struct printed_list *shown)
{
	char *text = NULL;
	size_t size;
	int err;

	report->out = open_memstream(&text, &size);
	if (!report->out)
		return log_err(-ENOMEM, "print findings");
	printed_list_retract(shown, report->findings);
	err = report_print_details(report);
	fputc('\n', report->out);
	if (!err)
		err = report_screen(report);
	fclose(report->out);
	if (text)
		screen_write(STDERR_FILENO, text, size);
	free(text);
	return err;
}

static int report_again(struct report *report, const struct check_settings *settings,
			const struct printed_list *shown, bool *ret_found)
{
	struct findings *findings;
	int err = check_trace(report->trace, &settings->check, &findings);

	if (err < 0)
		return err;
	report->findings = findings;
	suppressions_mark_findings(report->known, report);
	suppressions_mark_facts(report->known, report);
	err = print_again(report, shown);
	suppressions_report(report->known, findings);
	if (!err && settings->write_baseline)
		err = put_baseline(settings->write_baseline, report);
	if (!err)
		err = save_findings(report);
	*ret_found = check_is_bad(findings);
	findings_free(findings);
	return err;
}

int recheck_trace(const char *path, const struct check_settings *settings,
		  const struct printed_list *shown, bool *ret_found)
{
	struct report report = { .path = path, .full = settings->preset != PRESET_NONE };
	char complaint[KNOWN_COMPLAINT];
	int err = trace_open(path, &report.trace);

	if (err)
		return err;
	err = symbols_open(&report.symbols);
	if (!err &&
	    suppressions_open(settings->suppress, settings->baseline, complaint, &report.known))
		err = log_why(-EIO, "%s", complaint);
	if (!err)
		err = report_again(&report, settings, shown, ret_found);
	suppressions_close(report.known);
	symbols_close(report.symbols);
	trace_close(report.trace);
	return err;
}
