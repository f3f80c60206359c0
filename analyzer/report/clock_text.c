/*
 * The clocks of several traces, described in one sentence each
 */
#include "analyzer/report/clock_text.h"

#include <inttypes.h>
#include <math.h>

#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/base/text.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"

/* A drift that is not significantly different from zero is not shown. */
static void add_drift(struct text *text, const struct trace_clock *clock)
{
	double fast = trace_clock_ppm(clock), error = clock->drift_error * 1e6;

	if (fabs(fast) > error)
		text_addf(text, " and %.1f +- %.1f ppm %s", fabs(fast), error,
			  fast < 0 ? "slow" : "fast");
}

static void add_estimate(struct text *text, const struct trace_clock *clock, int64_t ahead)
{
	char apart[32], error[32];

	text_addf(text, "its clock is %s %s", words_span(ahead < 0 ? -ahead : ahead, apart),
		  ahead < 0 ? "behind" : "ahead");
	add_drift(text, clock);
	text_addf(text, ", +- %s, ", words_span(clock->error, error));
}

static void add_clock(struct text *text, const char *name, const struct trace_clock clock,
		      int64_t ahead)
{
	text_addf(text, "%s: ", name);
	if (clock.source <= CLOCK_SAME)
		text_addf(text, "the same machine and clock, ");
	else if (clock.source == CLOCK_ESTIMATED)
		add_estimate(text, &clock, ahead);
	else if (clock.contradicts)
		text_addf(text, "its clock contradicts its messages: its queue pairs are not "
				"joined, ");
	if (clock.messages)
		text_addf(text, "from %" PRIu64 " message%s of ", clock.messages,
			  clock.messages == 1 ? "" : "s");
	if (clock.pairs)
		text_addf(text, "%u joined queue pair%s", clock.pairs, clock.pairs == 1 ? "" : "s");
	else if (clock.source <= CLOCK_SAME)
		text_addf(text, "no queue pair is joined with one of another trace");
	else if (clock.source == CLOCK_ASSUMED)
		text_addf(text, "no queue pair is joined with one of another trace, so the order "
				"of events is unknown");
}

void clock_text_add(struct text *text, const struct trace *trace, size_t i)
{
	if (trace_nmerged(trace))
		add_clock(text, trace_merged_name(trace, i), trace_merged_clock(trace, i),
			  trace_merged_ahead(trace, i));
	else
		add_clock(text, trace_part_name(trace, i), trace_clock(trace, i),
			  trace_clock_ahead(trace, i));
}
