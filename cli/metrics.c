/*
 * Metrics in the text format of OpenMetrics 1.0
 *
 * 	# TYPE verbatim_sent_bytes counter
 * 	# UNIT verbatim_sent_bytes bytes
 * 	# HELP verbatim_sent_bytes What it is.
 * 	verbatim_sent_bytes_total{process="1"} 819200
 * 	# EOF
 *
 * A family is named verbatim_NAME_UNIT, its samples have a suffix that depends on the type. Text of
 * a program is first made printable, and its backslashes are then escaped as the format requires.
 *
 * Readers of the older text format, such as node_exporter's collector of files, must read it, too:
 * so no family has a type that the older format lacks, such as info.
 */
#include "cli/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "analyzer/profile/histogram.h"
#include "core/base/text.h"

enum { LEAST = 8, MOST = 34 }; /* buckets: powers of two, in ns */

static const struct {
	const char *name, *suffix;
} types[] = {
	[METRIC_COUNTER] = { "counter", "_total" },
	[METRIC_GAUGE] = { "gauge", "" },
	[METRIC_HISTOGRAM] = { "histogram", "" },
	[METRIC_SUMMARY] = { "summary", "" },
};

static void add_name(const struct metrics *metrics)
{
	const struct metric *metric = metrics->metric;

	text_addf(metrics->out, "verbatim_%s%s%s", metric->name, metric->unit ? "_" : "",
		  metric->unit ?: "");
}

static void add_about(const struct metrics *metrics, const char *what, const char *text)
{
	text_addf(metrics->out, "# %s ", what);
	add_name(metrics);
	text_addf(metrics->out, " %s\n", text);
}

void metrics_begin(struct metrics *metrics, const struct metric *metric)
{
	metrics->metric = metric;
	add_about(metrics, "TYPE", types[metric->type].name);
	if (metric->unit)
		add_about(metrics, "UNIT", metric->unit);
	add_about(metrics, "HELP", metric->help);
}

static void add_value(struct text *out, const char *value)
{
	struct text shown = { 0 };

	text_printable(&shown, value);
	for (size_t i = 0; i < shown.used; i++) {
		if (shown.at[i] == '\\' || shown.at[i] == '"')
			text_char(out, '\\');
		text_char(out, shown.at[i]);
	}
	out->failed = out->failed || shown.failed;
	text_fini(&shown);
}

/* A sample up to its value: its name, and in braces the labels, and then @name="@value". */
static void add_sample(const struct metrics *metrics, const char *suffix,
		       const struct metric_label *labels, const char *name, const char *value)
{
	const struct metric_label last = { name, value };
	struct text *out = metrics->out;
	bool any = false, end = false;

	add_name(metrics);
	text_addf(out, "%s", suffix);
	for (const struct metric_label *label = labels; !end; label++) {
		end = !label->name;
		if (end)
			label = &last;
		if (!label->name || !label->value)
			continue;
		text_addf(out, "%c%s=\"", any ? ',' : '{', label->name);
		add_value(out, label->value);
		text_char(out, '"');
		any = true;
	}
	text_addf(out, any ? "} " : " ");
}

static void add_seconds(struct text *out, uint64_t ns)
{
	text_addf(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

void metrics_count(struct metrics *metrics, const struct metric_label *labels, uint64_t value)
{
	add_sample(metrics, types[metrics->metric->type].suffix, labels, NULL, NULL);
	text_addf(metrics->out, "%" PRIu64 "\n", value);
}

void metrics_time(struct metrics *metrics, const struct metric_label *labels, int64_t ns)
{
	add_sample(metrics, types[metrics->metric->type].suffix, labels, NULL, NULL);
	add_seconds(metrics->out, ns > 0 ? (uint64_t)ns : 0);
}

/*
 * Classes of the histogram end just below powers of two, as the buckets do: so counts of buckets
 * are exact.
 */
static void add_buckets(const struct metrics *metrics, const struct metric_label *labels,
			const struct histogram *times)
{
	for (unsigned int power = LEAST; power <= MOST; power++) {
		uint64_t end = (1ull << power) - 1;
		char le[32];

		snprintf(le, sizeof(le), "%" PRIu64 ".%09" PRIu64, end / 1000000000,
			 end % 1000000000);
		add_sample(metrics, "_bucket", labels, "le", le);
		text_addf(metrics->out, "%" PRIu64 "\n", histogram_count_between(times, 0, end));
	}
	add_sample(metrics, "_bucket", labels, "le", "+Inf");
	text_addf(metrics->out, "%" PRIu64 "\n", times->count);
}

static void add_quantiles(const struct metrics *metrics, const struct metric_label *labels,
			  const struct histogram *times)
{
	static const struct {
		const char *text;
		double percent;
	} quantiles[] = { { "0.5", 50 }, { "0.9", 90 }, { "0.99", 99 } };

	for (int i = 0; i < 3; i++) {
		add_sample(metrics, "", labels, "quantile", quantiles[i].text);
		add_seconds(metrics->out,
			    (uint64_t)histogram_percentile(times, quantiles[i].percent));
	}
}

void metrics_times(struct metrics *metrics, const struct metric_label *labels,
		   const struct histogram *times)
{
	if (!times || !times->count)
		return;
	if (metrics->metric->type == METRIC_HISTOGRAM)
		add_buckets(metrics, labels, times);
	else
		add_quantiles(metrics, labels, times);
	add_sample(metrics, "_count", labels, NULL, NULL);
	text_addf(metrics->out, "%" PRIu64 "\n", times->count);
	add_sample(metrics, "_sum", labels, NULL, NULL);
	add_seconds(metrics->out, times->total);
}

void metrics_end(struct metrics *metrics)
{
	text_addf(metrics->out, "# EOF\n");
}
