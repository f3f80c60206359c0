/*
 * Times, with confidence
 *
 * Runs vary by chance, too: a run is one sample, however many requests it has. So one number per
 * run is compared, such as its median, as a logarithm. The standard error of the difference of the
 * means comes from a bootstrap over runs: each side is drawn anew from its own runs, many times. A
 * bootstrap of few runs is too narrow by sqrt((n - 1) / n), which is corrected, and the interval
 * has the width of Student's t for that number (Welch's degrees of freedom). Only the class of a
 * percentile is known, so the interval is wider by the class's width.
 *
 * One run per side says nothing about the spread between runs: there is no verdict.
 */
#include "analyzer/diff/times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/change.h"

enum {
	DRAWS = 2000,
	TIMED = 30,       /* requests that a run needs for a median */
	TIMED_FAR = 1000, /* the same, for a 99th percentile */
	ALWAYS = 3,       /* rows that are shown even if nothing changed: the most frequent */
	SIZE_TEXT = 32,
};

/* One number per run, as logarithms. */
struct sample {
	double *of[2];
	size_t n[2];
};

/* Of a percentile, at most. */
static const double class_width = 1.0 / HISTOGRAM_ROW;

/* Random numbers with a fixed seed: the bootstrap is the same each time. */
static uint64_t draw_number(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static double mean_of(const double *of, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += of[i];
	return sum / (double)n;
}

static double draw_mean(const double *of, size_t n, uint64_t *state)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += of[draw_number(state) % n];
	return sum / (double)n;
}

/* The variance of the mean of a side, by the bootstrap. */
static double vary_mean(const double *of, size_t n)
{
	double mean = mean_of(of, n), sum = 0;
	uint64_t state = 12345;

	for (int i = 0; i < DRAWS; i++) {
		double off = draw_mean(of, n, &state) - mean;

		sum += off * off;
	}
	return sum / DRAWS * (double)n / (double)(n - 1);
}

/* Student's t: 99 % are within it, with @df degrees of freedom. */
static double find_t(double df)
{
	static const struct {
		double df, t;
	} table[] = { { 1, 63.66 }, { 2, 9.925 }, { 3, 5.841 },  { 4, 4.604 },  { 5, 4.032 },
		      { 6, 3.707 }, { 8, 3.355 }, { 10, 3.169 }, { 15, 2.947 }, { 30, 2.750 } };
	size_t n = sizeof(table) / sizeof(table[0]), i = 1;

	while (i < n && table[i].df < df)
		i++;
	if (i == n)
		return table[n - 1].t;
	/* a line between two rows is above the curve, which makes the interval slightly wider */
	return table[i].t +
	       (table[i - 1].t - table[i].t) * (table[i].df - df) / (table[i].df - table[i - 1].df);
}

/* Half the width of the interval, as a logarithm. */
static double find_width(const struct sample *sample)
{
	double v[2], df = 0;

	for (int side = 0; side < 2; side++) {
		v[side] = vary_mean(sample->of[side], sample->n[side]);
		df += v[side] * v[side] / (double)(sample->n[side] - 1);
	}
	df = df > 0 ? (v[0] + v[1]) * (v[0] + v[1]) / df
		    : (double)(sample->n[0] + sample->n[1] - 2);
	return find_t(df) * sqrt(v[0] + v[1]);
}

/* @error: the factor by which a number may be wrong, minus 1. */
static void judge_sample(struct diff *diff, struct diff_change *change, const struct sample *sample,
			 int worse, double error)
{
	double by = mean_of(sample->of[1], sample->n[1]) - mean_of(sample->of[0], sample->n[0]);
	double width = find_width(sample) + log1p(error), near;

	change->has_bounds = true;
	change->low = 100 * expm1(by - width);
	change->high = 100 * expm1(by + width);
	if (change->low <= 0 && change->high >= 0) {
		change->verdict = DIFF_UNCLEAR;
		return;
	}
	/* even its near end is beyond the threshold */
	near = change->low > 0 ? change->low : change->high;
	change_judge(diff, change, near * worse);
}

static void add_sample(struct diff *diff, const char *what, enum diff_unit unit,
		       const struct sample *sample, int worse, double error)
{
	struct diff_change *change = change_add(diff, DIFF_TIME, what);

	if (!change)
		return;
	change->unit = unit;
	change->before = round(exp(mean_of(sample->of[0], sample->n[0])));
	change->after = round(exp(mean_of(sample->of[1], sample->n[1])));
	if (sample->n[0] > 1 && sample->n[1] > 1) {
		judge_sample(diff, change, sample, worse, error);
		return;
	}
	change->verdict = DIFF_UNCLEAR;
	snprintf(change->note, sizeof(change->note), "one run per side: timing is not judged");
}

static bool begin_sample(struct diff *diff, struct sample *sample)
{
	for (int side = 0; side < 2; side++) {
		sample->n[side] = diff->sides[side].n;
		sample->of[side] = calloc(sample->n[side], sizeof(double));
	}
	diff->no_memory |= !sample->of[0] || !sample->of[1];
	return !diff->no_memory;
}

static void end_sample(struct sample *sample)
{
	free(sample->of[0]);
	free(sample->of[1]);
}

/* A row of requests in all runs. */
struct row {
	unsigned int opcode, size;
	uint64_t timed; /* of the run that has the fewest */
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

	if (begin_sample(diff, &sample)) {
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
	end_sample(&sample);
}

/* Find the rows that all runs have, and mark the most frequent. Returns their number. */
static size_t find_rows(const struct diff *diff, struct row rows[PROFILE_OPCODES * PROFILE_SIZES])
{
	size_t n = 0;

	for (unsigned int i = 0; i < PROFILE_OPCODES * PROFILE_SIZES; i++) {
		struct row row = { i / PROFILE_SIZES, i % PROFILE_SIZES, 0, false };

		row.timed = count_timed(diff, &row);
		if (row.timed >= TIMED)
			rows[n++] = row;
	}
	for (int shown = 0; shown < ALWAYS; shown++) {
		struct row *most = NULL;

		for (size_t i = 0; i < n; i++)
			if (!rows[i].shown && (!most || rows[i].timed > most->timed))
				most = &rows[i];
		if (most)
			most->shown = true;
	}
	return n;
}

/* Requests per second, from the first post to the last completion. */
static void compare_rates(struct diff *diff)
{
	struct sample sample = { 0 };
	bool known = begin_sample(diff, &sample);

	for (int side = 0; side < 2 && known; side++)
		for (size_t i = 0; i < sample.n[side]; i++) {
			const struct profile *profile = diff->sides[side].runs[i]->profile;
			double ns = (double)profile->last_completion - (double)profile->first_post;

			known &= profile->send.requests >= TIMED && profile->first_post >= 0 &&
				 ns > 0 && !diff->sides[side].runs[i]->lossy &&
				 !profile->filtered && profile->one_of <= 1;
			if (known)
				sample.of[side][i] = log((double)profile->send.requests * 1e9 / ns);
		}
	if (known)
		add_sample(diff, "requests a second", DIFF_COUNT, &sample, -1, 0);
	end_sample(&sample);
}

void times_compare(struct diff *diff)
{
	struct row rows[PROFILE_OPCODES * PROFILE_SIZES];
	size_t n = find_rows(diff, rows);

	for (size_t i = 0; i < n && !diff->no_memory; i++) {
		compare_percentile(diff, &rows[i], 50);
		if (rows[i].timed >= TIMED_FAR && !diff->no_memory)
			compare_percentile(diff, &rows[i], 99);
	}
	if (!diff->no_memory)
		compare_rates(diff);
}
