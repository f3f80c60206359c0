#include <string.h>

#include "analyzer/profile/histogram.h"
#include "cli/metrics.h"
#include "core/base/text.h"
#include "tests/test.h"

static const struct metric_label none[] = { { 0 } };

static void begin_family(struct metrics *metrics, struct text *text, const struct metric *metric)
{
	metrics->out = text;
	metrics_begin(metrics, metric);
	text_cut(text, 0);
}

TEST(family_says_what_it_is)
{
	struct text text = { 0 };
	struct metrics metrics = { .out = &text };

	metrics_begin(&metrics, &(struct metric){ "sent", METRIC_COUNTER, "bytes", "All of it." });
	metrics_end(&metrics);
	assert_string_equal(text.at, "# TYPE verbatim_sent_bytes counter\n"
				     "# UNIT verbatim_sent_bytes bytes\n"
				     "# HELP verbatim_sent_bytes All of it.\n"
				     "# EOF\n");
	text_fini(&text);
}

TEST(suffix_goes_with_the_type)
{
	static const struct {
		enum metric_type type;
		const char *sample;
	} cases[] = { { METRIC_COUNTER, "verbatim_x_total 7\n" },
		      { METRIC_GAUGE, "verbatim_x 7\n" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct text text = { 0 };
		struct metrics metrics;

		begin_family(&metrics, &text, &(struct metric){ "x", cases[i].type, NULL, "X." });
		metrics_count(&metrics, none, 7);
		assert_string_equal(text.at, cases[i].sample);
		text_fini(&text);
	}
}

TEST(labels_are_escaped)
{
	const struct metric_label labels[] = {
		{ "a", "say \"no\"" }, { "b", "\\" }, { "c", "x\ny\033" }, { "d", NULL }, { 0 }
	};
	struct text text = { 0 };
	struct metrics metrics;

	begin_family(&metrics, &text, &(struct metric){ "x", METRIC_GAUGE, NULL, "X." });
	metrics_count(&metrics, labels, UINT64_MAX);
	assert_string_equal(text.at,
			    "verbatim_x{a=\"say \\\"no\\\"\",b=\"\\\\\",c=\"x\\\\x0ay\\\\x1b\"} "
			    "18446744073709551615\n");
	text_fini(&text);
}

TEST(times_are_exact_seconds)
{
	struct text text = { 0 };
	struct metrics metrics;

	begin_family(&metrics, &text, &(struct metric){ "x", METRIC_GAUGE, "seconds", "X." });
	metrics_time(&metrics, none, 1);
	metrics_time(&metrics, none, INT64_MAX);
	assert_string_equal(text.at, "verbatim_x_seconds 0.000000001\n"
				     "verbatim_x_seconds 9223372036.854775807\n");
	text_fini(&text);
}

TEST(buckets_count_what_is_not_longer)
{
	const struct metric_label labels[] = { { "q", "1" }, { 0 } };
	struct histogram times = { 0 };
	struct text text = { 0 };
	struct metrics metrics;

	histogram_add(&times, 255);
	histogram_add(&times, 256);
	histogram_add(&times, 1ll << 40);
	begin_family(&metrics, &text, &(struct metric){ "x", METRIC_HISTOGRAM, "seconds", "X." });
	metrics_times(&metrics, labels, &times);
	assert_non_null(strstr(text.at, "_bucket{q=\"1\",le=\"0.000000255\"} 1\n"));
	assert_non_null(strstr(text.at, "_bucket{q=\"1\",le=\"0.000000511\"} 2\n"));
	assert_non_null(strstr(text.at, "_bucket{q=\"1\",le=\"17.179869183\"} 2\n"));
	assert_non_null(strstr(text.at, "_bucket{q=\"1\",le=\"+Inf\"} 3\n"));
	assert_non_null(strstr(text.at, "_count{q=\"1\"} 3\n"));
	assert_non_null(strstr(text.at, "_sum{q=\"1\"} 1099.511628287\n"));
	text_fini(&text);
	histogram_fini(&times);
}

TEST(nothing_timed_is_no_sample)
{
	struct histogram times = { 0 };
	struct text text = { 0 };
	struct metrics metrics;

	begin_family(&metrics, &text, &(struct metric){ "x", METRIC_SUMMARY, "seconds", "X." });
	metrics_times(&metrics, none, &times);
	metrics_times(&metrics, none, NULL);
	assert_int_equal(text.used, 0);
	text_fini(&text);
}
