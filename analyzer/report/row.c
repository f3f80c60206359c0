/*
 * Facts and findings as rows of table `finding`
 */
#include "analyzer/report/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/sentence.h"
#include "analyzer/report/fact_list.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

struct stored_finding row_of_finding(const struct report *report, const struct finding *f,
				     char fingerprint[FINGERPRINT], struct text *says)
{
	struct trace_clock clock =
		trace_clock(report->trace, trace_part_of(report->trace, f->process));
	const struct rule *rule = &rules[f->rule];

	sentence_put_finding(says, f);
	return (struct stored_finding){ .rule = rule->id,
					.name = rule->name,
					.severity = rule_severity(finding_severity(f)),
					.event = trace_part_event(report->trace, f->event),
					.time = trace_clock_to_own_time(&clock, f->time),
					.process = trace_part_process(report->trace, f->process),
					.place = f->where,
					.object = f->object,
					.message = says->at,
					.fingerprint = report_fingerprint(report, f, fingerprint),
					.count = finding_times(f) };
}

static struct stored_finding row_of_fact(struct trace *trace, const struct listed_fact *fact)
{
	struct trace_clock clock = trace_clock(trace, trace_part_of(trace, fact->process));
	const struct fact_info *info = &fact_infos[fact->kind];

	return (struct stored_finding){
		.rule = info->name,
		.name = info->title,
		.severity = rule_severity(info->bad ? 'E' : 'I'),
		.event = trace_part_event(trace, fact->event),
		.time = trace_clock_to_own_time(&clock, fact->time),
		.process = trace_part_process(trace, fact->process),
		.place = fact->verb == VERB_COUNT ? NULL : verb_infos[fact->verb].name,
		.object = fact->object,
		.message = fact->says,
		.fingerprint = fact->fingerprint,
		.count = fact->count,
	};
}

/* The action for each row. */
struct row_callback {
	const struct report *report;
	size_t part;
	int (*take)(void *arg, const struct stored_finding *row);
	void *arg;
};

static int pass_fact(void *arg, const struct listed_fact *fact)
{
	const struct row_callback *taker = arg;
	const struct report *report = taker->report;
	struct stored_finding row = row_of_fact(report->trace, fact);

	if (fact->known || report->findings->facts->off[fact->kind] ||
	    trace_part_of(report->trace, fact->process) != taker->part)
		return 0;
	return taker->take(taker->arg, &row);
}

int row_for_each_fact(const struct report *report, size_t part,
		      int (*take)(void *arg, const struct stored_finding *row), void *arg)
{
	return fact_list_each(report, pass_fact, &(struct row_callback){ report, part, take, arg });
}

/* Append a copy of @row; its texts are copied, too, except constant ones. */
static int store_row(void *arg, const struct stored_finding *row)
{
	struct rows *rows = arg;
	struct stored_finding *kept = vec_push(rows->all, rows->n);

	if (!kept)
		return log_err(-ENOMEM, "findings");
	*kept = *row;
	kept->message = strdup(row->message ? row->message : "");
	kept->fingerprint = strdup(row->fingerprint);
	return kept->message && kept->fingerprint ? 0 : log_err(-ENOMEM, "findings");
}

int rows_init(struct rows *rows, const struct report *report, size_t part)
{
	const struct findings *findings = report->findings;
	int err;

	*rows = (struct rows){ 0 };
	err = row_for_each_fact(report, part, store_row, rows);
	for (size_t i = 0; i < findings->n && !err; i++) {
		char fingerprint[FINGERPRINT];
		struct text says = { 0 };
		struct stored_finding row =
			row_of_finding(report, findings->all[i], fingerprint, &says);

		if (!findings->all[i]->known &&
		    trace_part_of(report->trace, findings->all[i]->process) == part)
			err = store_row(rows, &row);
		text_fini(&says);
	}
	return err;
}

void rows_fini(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free((char *)rows->all[i].message);
		free((char *)rows->all[i].fingerprint);
	}
	free(rows->all);
	*rows = (struct rows){ 0 };
}
