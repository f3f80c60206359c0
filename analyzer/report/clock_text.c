/*
 * The clocks of several traces, described in one sentence each
 */
#include "analyzer/report/clock_text.h"

#include <errno.h>
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

	text_addf(text, "its clock is %s %s", words_format_span(ahead < 0 ? -ahead : ahead, apart),
		  ahead < 0 ? "behind" : "ahead");
	add_drift(text, clock);
	text_addf(text, ", +- %s, ", words_format_span(clock->error, error));
}

/* Traces whose clocks are described in one sentence */
struct clock_group {
	size_t first, second, n;  /* traces; @second if n > 1 */
	struct trace_clock clock; /* of the first */
	int64_t ahead;
};

static void add_messages(struct text *text, const struct trace_clock *clock)
{
	if (clock->messages)
		text_addf(text, "from %" PRIu64 " message%s of ", clock->messages,
			  clock->messages == 1 ? "" : "s");
	text_addf(text, "%u joined queue pair%s", clock->pairs, clock->pairs == 1 ? "" : "s");
}

static void add_clock(struct text *text, const struct clock_group *group)
{
	const struct trace_clock *clock = &group->clock;

	if (clock->source <= CLOCK_SAME)
		text_addf(text, "the same machine and clock, ");
	else if (clock->source == CLOCK_ESTIMATED)
		add_estimate(text, clock, group->ahead);
	else if (clock->contradicts)
		text_addf(text, "its clock contradicts its messages: its queue pairs are not "
				"joined, ");
	if (clock->pairs && group->n > 1)
		text_addf(text, "joined queue pairs in each");
	else if (clock->pairs)
		add_messages(text, clock);
	else if (clock->source <= CLOCK_SAME)
		text_addf(text, "no queue pair is joined with one of another trace");
	else if (clock->source == CLOCK_ESTIMATED)
		text_addf(text, "as in another trace of its machine");
	else
		text_addf(text, "no queue pair is joined with one of another trace, so the order "
				"of events is unknown");
}

static const char *find_name(const struct trace *trace, size_t i)
{
	return trace_nmerged(trace) ? trace_merged_name(trace, i) : trace_part_name(trace, i);
}

static void add_group(struct text *text, const struct trace *trace, const struct clock_group *group)
{
	text_addf(text, "%s", find_name(trace, group->first));
	if (group->n == 2)
		text_addf(text, " and %s", find_name(trace, group->second));
	else if (group->n > 2)
		text_addf(text, " and %zu more traces", group->n - 1);
	text_addf(text, ": ");
	add_clock(text, group);
}

static struct clock_group find_clock(const struct trace *trace, size_t i)
{
	struct clock_group group = { .first = i, .n = 1 };

	if (trace_nmerged(trace)) {
		group.clock = trace_merged_clock(trace, i);
		group.ahead = trace_merged_ahead(trace, i);
	} else {
		group.clock = trace_clock(trace, i);
		group.ahead = trace_clock_ahead(trace, i);
	}
	return group;
}

/* Estimates and contradictions have sentences of their own; all others are few. */
static bool are_alike(const struct trace_clock *a, const struct trace_clock *b)
{
	return a->source == b->source && a->source != CLOCK_ESTIMATED && !a->contradicts &&
	       !b->contradicts && !a->pairs == !b->pairs;
}

static void add_to_group(struct clock_group *group, size_t trace)
{
	if (group->n++ == 1)
		group->second = trace;
}

/* The groups in the order of their first traces: at most @max, and how many traces are in none. */
static size_t group_clocks(const struct trace *trace, size_t max, struct clock_group *groups,
			   size_t *ret_left)
{
	size_t n = trace_nmerged(trace) ?: trace_nparts(trace), ngroups = 0;

	*ret_left = 0;
	for (size_t i = 1; i < n; i++) {
		struct clock_group one = find_clock(trace, i);
		size_t k = 0;

		while (k < ngroups && !are_alike(&groups[k].clock, &one.clock))
			k++;
		if (k < ngroups)
			add_to_group(&groups[k], i);
		else if (ngroups < max)
			groups[ngroups++] = one;
		else
			++*ret_left;
	}
	return ngroups;
}

int clock_text_visit(const struct trace *trace, size_t max, clock_text_print print, void *arg)
{
	struct clock_group groups[CLOCK_TEXT_MOST];
	size_t n, left;
	struct text text = { 0 };
	int err;

	n = group_clocks(trace, max < CLOCK_TEXT_MOST ? max : CLOCK_TEXT_MOST, groups, &left);
	for (size_t i = 0; i < n; i++) {
		text_cut(&text, 0);
		add_group(&text, trace, &groups[i]);
		if (!text.failed)
			print(arg, &text, groups[i].clock.source);
	}
	if (left) {
		text_cut(&text, 0);
		text_addf(&text, "and %zu more trace%s", left, left == 1 ? "" : "s");
		if (!text.failed)
			print(arg, &text, CLOCK_SAME);
	}
	err = text.failed ? -ENOMEM : 0;
	text_fini(&text);
	return err;
}
