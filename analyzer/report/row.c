/*
 * Findings as rows of table `finding`
 */
#include "analyzer/report/row.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/read/joint.h"
#include "core/wire/log.h"

struct stored_finding row_of(const struct report *report, const struct finding *f,
			     char fingerprint[FINGERPRINT])
{
	struct trace_clock clock =
		trace_clock(report->trace, trace_part_of(report->trace, f->process));
	const struct rule *rule = &rules[f->rule];

	return (struct stored_finding){ .rule = rule->id,
					.name = rule->name,
					.severity = rule_severity(rule->severity),
					.event = trace_part_event(report->trace, f->event),
					.time = trace_clock_back(&clock, f->time),
					.process = trace_part_process(report->trace, f->process),
					.place = f->where,
					.object = f->object,
					.message = f->says,
					.fingerprint = report_fingerprint(report, f, fingerprint),
					.count = finding_times(f) };
}

ssize_t row_all(const struct report *report, size_t part, struct stored_finding **ret_rows)
{
	const struct findings *findings = report->findings;
	struct stored_finding *rows = malloc((findings->n + 1) * (sizeof(*rows) + FINGERPRINT));
	char(*texts)[FINGERPRINT] = (void *)(rows + findings->n + 1);
	ssize_t n = 0;

	if (!rows)
		return log_err(-ENOMEM, "findings");
	for (size_t i = 0; i < findings->n; i++)
		if (!findings->all[i]->known &&
		    trace_part_of(report->trace, findings->all[i]->process) == part) {
			rows[n] = row_of(report, findings->all[i], texts[n]);
			n++;
		}
	*ret_rows = rows;
	return n;
}
