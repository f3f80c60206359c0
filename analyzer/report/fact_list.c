/*
 * The facts of the first screen as one list
 */
#include "analyzer/report/fact_list.h"

#include <errno.h>

#include "analyzer/report/sentence.h"
#include "core/wire/log.h"

static struct listed_fact add_fact(const struct report *report, const struct fact *fact,
				   struct text *says)
{
	struct listed_fact told = { .kind = fact->kind,
				    .event = fact->event,
				    .time = fact->time,
				    .process = fact->process,
				    .thread = fact->thread,
				    .verb = fact->verb,
				    .stack = fact->stack,
				    .count = fact->count,
				    .known = fact->known };

	sentence_put_fact(says, report->trace, fact);
	fingerprint_fact(report, fact, told.fingerprint);
	return told;
}

static struct listed_fact put_error(const struct report *report, const struct first_error *error,
				    struct text *says)
{
	struct listed_fact told = { .kind = FACT_ERROR,
				    .event = error->event,
				    .time = error->time,
				    .process = error->process,
				    .thread = error->event.thread,
				    .verb = VERB_COUNT,
				    .stack = error->request.stack,
				    .object = report_qp(error),
				    .count = 1,
				    .known = error->known };

	sentence_put_error(says, report->trace, error, facts_cause(report->findings->facts, error));
	fingerprint_error(report, error, told.fingerprint);
	return told;
}

int fact_list_each(const struct report *report,
		   int (*tell)(void *arg, const struct listed_fact *fact), void *arg)
{
	const struct facts *facts = report->findings->facts;
	const size_t n = facts->list.n;
	int err = 0;

	for (size_t i = 0; i < n + facts->errors.n && !err; i++) {
		struct text says = { 0 };
		struct listed_fact told;

		if (i < n && !facts->list.all[i].count)
			continue; /* taken back */
		told = i < n ? add_fact(report, &facts->list.all[i], &says)
			     : put_error(report, &facts->errors.all[i - n], &says);
		told.says = says.at;
		err = says.failed ? log_err(-ENOMEM, "report") : tell(arg, &told);
		text_fini(&says);
	}
	return err;
}
