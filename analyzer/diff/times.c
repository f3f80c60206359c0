/*
 * Times, with confidence
 *
 * One number per run is compared, such as its median, with the confidence that sample.c gives. Only
 * the class of a percentile is known, so the interval is wider by the class's width.
 *
 * One run per side says nothing about the spread between runs: there is no verdict.
 */
#include "analyzer/diff/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/change.h"
#include "analyzer/diff/sample.h"

enum {
	MEDIAN_REQUESTS = 30, /* requests that a run needs for a median */
	P99_REQUESTS = 1000,  /* requests that a run needs for a 99th percentile */
	ROWS_SHOWN = 3,       /* rows that are shown even if nothing changed: the most frequent */
	SIZE_TEXT = 32,
};

/* The maximum relative error of a percentile. */
static const double class_width = 1.0 / HISTOGRAM_ROW;

/* @error: the factor by which a number may be wrong, minus 1. */
static void set_verdict(struct diff *diff, struct diff_change *change, const struct sample *sample,
			int worse, double error)
{
	double by = sample_mean(sample, 1) - sample_mean(sample, 0);
	double width = sample_width(sample) + log1p(error), near;

	change->has_bounds = true;
	change->low = 100 * expm1(by - width);
	change->high = 100 * expm1(by + width);
	if (change->low <= 0 && change->high >= 0) {
		change->verdict = DIFF_UNCLEAR;
		return;
	}
	/* a regression only if even the nearer bound of the interval exceeds the threshold */
	near = change->low > 0 ? change->low : change->high;
	change_set_verdict(diff, change, near * worse);
}

/* Returns the change; NULL if out of memory. */
static struct diff_change *add_sample(struct diff *diff, const char *what, enum diff_unit unit,
				      const struct sample *sample, int worse, double error)
{
	struct diff_change *change = change_add(diff, DIFF_TIME, what);

	if (!change)
		return NULL;
	change->unit = unit;
	change->before = round(exp(sample_mean(sample, 0)));
	change->after = round(exp(sample_mean(sample, 1)));
	if (sample->n[0] > 1 && sample->n[1] > 1) {
		set_verdict(diff, change, sample, worse, error);
		return change;
	}
	change->verdict = DIFF_UNCLEAR;
	snprintf(change->note, sizeof(change->note), "one run per side: timing is not judged");
	return change;
}

/* A row of requests in all runs. */
struct row {
	unsigned int opcode, size;
	uint64_t timed; /* timed requests of the run that has the fewest */
	bool shown;     /* whatever the result */
};

static const struct profile_requests *find_requests(const struct diff_run *run,
						    const struct row *row)
{
	return run->profile->requests[row->opcode][row->size];
}

/* At least 1, so that it has a logarithm. */
static double find_percentile(const struct diff_run *run, const struct row *row, double percent)
{
	return fmax(1, (double)histogram_percentile(&find_requests(run, row)->latency, percent));
}

static uint64_t count_timed(const struct diff *diff, const struct row *row)
{
	uint64_t least = UINT64_MAX;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct profile_requests *requests =
				find_requests(diff->sides[side].runs[i], row);
			uint64_t n = requests ? requests->latency.count : 0;

			least = n < least ? n : least;
		}
	return least;
}

/* "64 B", "<= 128 B" if sizes differ. */
static void name_size(const struct diff *diff, const struct row *row, char text[SIZE_TEXT])
{
	const struct profile_requests *first = find_requests(diff->sides[0].runs[0], row);
	bool one = true;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct profile_requests *its =
				find_requests(diff->sides[side].runs[i], row);

			one &= its->least == first->least && its->most == first->least;
		}
	if (one)
		snprintf(text, SIZE_TEXT, "%u B", first->least);
	else if (row->size == PROFILE_SIZES - 1)
		snprintf(text, SIZE_TEXT, "> 4 GiB");
	else
		snprintf(text, SIZE_TEXT, "<= %llu B",
			 (unsigned long long)profile_size_end(row->size));
}

static void compare_percentile(struct diff *diff, const struct row *row, double percent)
{
	struct sample sample = { 0 };
	char what[96], size[SIZE_TEXT];
	size_t before = diff->nchanges;

	if (sample_begin(diff, &sample)) {
		for (int side = 0; side < 2; side++)
			for (size_t i = 0; i < sample.n[side]; i++)
				sample.of[side][i] = log(
					find_percentile(diff->sides[side].runs[i], row, percent));
		name_size(diff, row, size);
		snprintf(what, sizeof(what), "%s %s p%g", profile_opcode_name(row->opcode), size,
			 percent);
		add_sample(diff, what, DIFF_NS, &sample, 1, class_width);
		if (!row->shown && diff->nchanges > before &&
		    diff->changes[before].verdict == DIFF_UNCLEAR)
			diff->nchanges = before; /* it owns no memory */
	}
	sample_end(&sample);
}

/* Find the rows that all runs have, and mark the most frequent. Returns their number. */
static size_t find_rows(const struct diff *diff, struct row rows[PROFILE_OPCODES * PROFILE_SIZES])
{
	size_t n = 0;

	for (unsigned int i = 0; i < PROFILE_OPCODES * PROFILE_SIZES; i++) {
		struct row row = { i / PROFILE_SIZES, i % PROFILE_SIZES, 0, false };

		row.timed = count_timed(diff, &row);
		if (row.timed >= MEDIAN_REQUESTS)
			rows[n++] = row;
	}
	for (int shown = 0; shown < ROWS_SHOWN; shown++) {
		struct row *most = NULL;

		for (size_t i = 0; i < n; i++)
			if (!rows[i].shown && (!most || rows[i].timed > most->timed))
				most = &rows[i];
		if (most)
			most->shown = true;
	}
	return n;
}

/*
 * With few runs, if the interval gives no verdict on the rate: is each run of one side slower than
 * each run of the other?
 */
static void set_verdict_of_few(struct diff *diff, struct diff_change *change,
			       const struct sample *sample)
{
	double between = sample_gap(sample);

	if (change->verdict != DIFF_UNCLEAR || between == 0 || sample->n[0] < 2 || sample->n[1] < 2)
		return;
	snprintf(change->note, sizeof(change->note),
		 "each run after is %s than each run before, by at least %.3g %%",
		 between < 0 ? "slower" : "faster", 100 * fabs(expm1(between)));
	if (sample_is_apart(sample))
		change_set_verdict(diff, change, -100 * expm1(between));
}

/* Requests per second, from the first post to the last completion. */
static void compare_rates(struct diff *diff)
{
	struct sample sample = { 0 };
	bool known = sample_begin(diff, &sample);
	struct diff_change *change = NULL;

	for (int side = 0; side < 2 && known; side++)
		for (size_t i = 0; i < sample.n[side]; i++) {
			const struct profile *profile = diff->sides[side].runs[i]->profile;
			double ns = (double)profile->last_completion - (double)profile->first_post;

			known &= profile->send.requests >= MEDIAN_REQUESTS &&
				 profile->first_post >= 0 && ns > 0 &&
				 !diff->sides[side].runs[i]->lossy && !profile->filtered &&
				 profile->one_of <= 1;
			if (known)
				sample.of[side][i] = log((double)profile->send.requests * 1e9 / ns);
		}
	if (known)
		change = add_sample(diff, "requests a second", DIFF_COUNT, &sample, -1, 0);
	if (change)
		set_verdict_of_few(diff, change, &sample);
	sample_end(&sample);
}

void times_compare(struct diff *diff)
{
	struct row rows[PROFILE_OPCODES * PROFILE_SIZES];
	size_t n = find_rows(diff, rows);

	for (size_t i = 0; i < n && !diff->no_memory; i++) {
		compare_percentile(diff, &rows[i], 50);
		if (rows[i].timed >= P99_REQUESTS && !diff->no_memory)
			compare_percentile(diff, &rows[i], 99);
	}
	if (!diff->no_memory)
		compare_rates(diff);
}
