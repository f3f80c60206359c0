/*
 * The report of a replay as load
 */
#include "cli/replay/replay_load_report.h"

#include <infiniband/verbs.h>
#include <inttypes.h>
#include <string.h>

#include "cli/format.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/base/text.h"
#include "core/wire/desc.h"

static const char *status_name(int status)
{
	const char *name = enum_name(enum_find("ibv_wc_status"), status);

	return name && !strncmp(name, "IBV_WC_", 7) ? name + 7 : name ?: "?";
}

/* Seconds between two times, at least one nanosecond. */
static double seconds_of(int64_t ns)
{
	return ns > 0 ? (double)ns / 1e9 : 1e-9;
}

static int64_t planned_ns(const struct load_report *report)
{
	return (int64_t)((double)load_totals(report->load).end / report->pace);
}

static void print_verdict(const struct load_report *report, FILE *to)
{
	const struct load_result *r = &report->result;
	struct load_totals totals = load_totals(report->load);
	char n[FORMAT_TEXT], all[FORMAT_TEXT], time[FORMAT_TEXT];

	print_untrusted(to, report->name);
	if (r->errors) {
		fputs(": ", to);
		style_text(to, STYLE_ERROR, status_name(r->failure.status));
		fprintf(to, " from rank %u to rank %u at %s, of %s completion%s in error\n",
			r->failure.from, r->failure.to, format_time(r->failure.time, time),
			format_count(r->errors, n), r->errors == 1 ? "" : "s");
		return;
	}
	fputs(": ", to);
	style_text(to, r->issued == totals.requests ? STYLE_GOOD : STYLE_WARNING,
		   format_count(r->issued, n));
	if (r->issued < totals.requests)
		fprintf(to, " of %s", format_count(totals.requests, all));
	fprintf(to, " request%s, none failed%s\n", totals.requests == 1 ? "" : "s",
		r->late      ? "; ended by --deadline"
		: r->stopped ? "; ended by a signal"
			     : "");
}

static void print_rate(const char *what, double requests, double bytes, int64_t ns, FILE *to)
{
	char rate[FORMAT_TEXT], speed[FORMAT_TEXT], time[FORMAT_TEXT];
	double seconds = seconds_of(ns);

	fprintf(to, "  %-11s %s requests/s, %s/s, in %s\n", what,
		format_count((uint64_t)(requests / seconds), rate),
		format_bytes((uint64_t)(bytes / seconds), speed), format_time(ns, time));
}

static void print_lateness(const struct load_report *report, FILE *to)
{
	const struct histogram *late = &report->lateness;
	char p50[FORMAT_TEXT], p99[FORMAT_TEXT], most[FORMAT_TEXT], n[FORMAT_TEXT];

	if (!late->count)
		return;
	fprintf(to, "  lateness    p50 %s, p99 %s, max %s, of %s requests\n",
		format_time(histogram_percentile(late, 50), p50),
		format_time(histogram_percentile(late, 99), p99),
		format_time((int64_t)late->max, most), format_count(late->count, n));
}

static void print_load_details(const struct load_report *report, FILE *to)
{
	const struct load_result *r = &report->result;
	char n[FORMAT_TEXT], all[FORMAT_TEXT], time[FORMAT_TEXT];

	if (r->full)
		fprintf(to,
			"  delayed     %s request%s: send queue full, at most %s (rank %u to %u)\n",
			format_count(r->full, n), r->full == 1 ? "" : "s",
			format_time(r->full_longest, time), r->full_from, r->full_to);
	if (r->received < r->messages)
		fprintf(to, "  lost        %s of %s messages did not arrive\n",
			format_count(r->messages - r->received, n), format_count(r->messages, all));
	if (report->load->left_out)
		fprintf(to,
			"  left out    %s recorded requests that move no bytes, or use another "
			"transport than RC, UC or UD\n",
			format_count(report->load->left_out, n));
	if (report->load->dropped)
		fprintf(to, "  left out    %s requests of senders outside any pattern\n",
			format_count(report->load->dropped, n));
	if (report->load->outside)
		fprintf(to, "  inferred    messages of %u rank%s outside the trace\n",
			report->load->outside, report->load->outside == 1 ? "" : "s");
}

void load_report_text(const struct load_report *report, FILE *to)
{
	struct load_totals totals = load_totals(report->load);
	const struct load_result *r = &report->result;
	char senders[FORMAT_TEXT];

	print_verdict(report, to);
	fprintf(to, "  device      %s: %u ranks, %s senders\n", r->device, report->load->nranks,
		format_count(totals.senders, senders));
	print_rate("planned", (double)totals.requests, totals.bytes, planned_ns(report), to);
	if (r->issued)
		print_rate("issued", (double)r->issued, r->bytes, r->last - r->first, to);
	print_lateness(report, to);
	print_load_details(report, to);
}

static void put_result(struct json *json, const struct load_report *report)
{
	const struct load_result *r = &report->result;

	json_put_uint(json, "issued", r->issued);
	json_put_uint(json, "completed", r->completed);
	json_put_uint(json, "issued_bytes", (uint64_t)r->bytes);
	json_put_int(json, "issued_ns", r->last - r->first);
	json_put_uint(json, "messages", r->messages);
	json_put_uint(json, "received", r->received);
	json_put_uint(json, "queue_full", r->full);
	json_put_int(json, "queue_full_longest_ns", r->full_longest);
	json_put_uint(json, "errors", r->errors);
	json_put_text(json, "first_error", r->errors ? status_name(r->failure.status) : NULL);
	json_put_text(json, "partial",
		      r->late      ? "ended by --deadline"
		      : r->stopped ? "ended by a signal"
				   : NULL);
}

void load_report_json(const struct load_report *report, FILE *to)
{
	struct load_totals totals = load_totals(report->load);
	const struct histogram *late = &report->lateness;
	struct text text = { 0 };
	struct json json = { .out = &text, .spaced = true };

	json_open(&json, NULL, '{');
	json_put_text(&json, "load", report->name);
	json_put_text(&json, "device", report->result.device);
	json_put_uint(&json, "ranks", report->load->nranks);
	json_put_uint(&json, "outside", report->load->outside);
	json_put_uint(&json, "senders", totals.senders);
	json_put_uint(&json, "planned", totals.requests);
	json_put_uint(&json, "planned_bytes", (uint64_t)totals.bytes);
	json_put_int(&json, "planned_ns", planned_ns(report));
	put_result(&json, report);
	json_put_uint(&json, "in_time", late->count);
	json_put_int(&json, "issue_p50_ns", histogram_percentile(late, 50));
	json_put_int(&json, "issue_p99_ns", histogram_percentile(late, 99));
	json_put_uint(&json, "issue_max_ns", late->max);
	json_put_uint(&json, "left_out", report->load->left_out);
	json_put_uint(&json, "not_continued", report->load->dropped);
	json_close(&json, '}');
	if (!text.failed)
		fprintf(to, "%s\n", text.at);
	text_fini(&text);
}
