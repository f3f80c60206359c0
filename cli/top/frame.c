/*
 * The numbers of a recorder, as lines of a screen
 *
 * Rates are computed over the time between two publications, in trace time. So rates and latencies
 * are of about the last second; other numbers are totals.
 */
#include "cli/top/frame.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/profile/profile.h"
#include "cli/format.h"
#include "core/base/json.h"
#include "core/base/printable.h"

enum { CELL = 24, LATENCIES = 4 /* rows of latencies, if there are few lines */ };

const char *const frame_sorts[FRAME_SORTS] = { "traffic", "errors", "latency", "outstanding" };

static const char *const phases[] = {
	[LIVE_NONE] = "starting", [LIVE_BEHIND] = "catching up", [LIVE_RUNNING] = "recording",
	[LIVE_ENDED] = "ended",   [LIVE_FAILED] = "no numbers",
};

static const char *phase_name(uint32_t phase)
{
	return phase <= LIVE_FAILED ? phases[phase] : "?";
}

static double rate_of(const struct live_state *state, uint64_t n)
{
	return state->interval > 0 ? (double)n * 1e9 / (double)state->interval : 0;
}

/* 940, 12.3k, 4.56M: at most 5 columns */
static const char *short_number(double n, char text[CELL])
{
	static const char units[] = " kMGTPE";
	int unit = 0;

	for (; n >= 999.5 && units[unit + 1]; n /= 1000)
		unit++;
	if (!unit)
		snprintf(text, CELL, "%.0f", n);
	else
		snprintf(text, CELL, "%.*f%c", n < 9.995 ? 2 : n < 99.95 ? 1 : 0, n, units[unit]);
	return text;
}

static const char *short_count(uint64_t n, char text[CELL])
{
	return short_number((double)n, text);
}

/* Are all events that were recorded before the viewer attached still uncounted? */
static bool is_uncounted(const struct live_state *state)
{
	return state->phase == LIVE_BEHIND && state->time <= 0;
}

/* The total so far; "?" if it is not known. */
static const char *short_total(const struct live_state *state, uint64_t n, char text[CELL])
{
	if (is_uncounted(state))
		return "?";
	return short_count(n, text);
}

static const char *total_bytes(const struct live_state *state, uint64_t n, char text[FORMAT_TEXT])
{
	return is_uncounted(state) ? "?" : format_bytes(n, text);
}

/* Is the rate known? While nothing is counted yet it is unknown, not 0. */
static bool has_rate(const struct live_state *state)
{
	return state->phase != LIVE_BEHIND || state->interval > 0;
}

static const char *short_rate(const struct live_state *state, uint64_t n, char text[CELL])
{
	return has_rate(state) ? short_number(rate_of(state, n), text) : "?";
}

static const char *byte_rate(const struct live_state *state, uint64_t n, char text[FORMAT_TEXT])
{
	return has_rate(state) ? format_bytes((uint64_t)rate_of(state, n), text) : "?";
}

/* Add a line; NULL if the frame is full. */
static struct frame_line *next_line(struct screen_frame *frame, unsigned int rows)
{
	if (frame->n >= rows || frame->n >= FRAME_LINES)
		return NULL;
	return &frame->lines[frame->n++];
}

struct page {
	const struct live_state *state;
	struct screen_frame *frame;
	unsigned int columns, rows;
};

__attribute__((format(printf, 3, 4))) static void add_line(struct page *page, enum style style,
							   const char *format, ...)
{
	struct frame_line *line = next_line(page->frame, page->rows);
	va_list arguments;

	if (!line)
		return;
	line->style = style;
	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
	if (page->columns < FRAME_COLUMNS)
		line->text[page->columns] = '\0';
}

/* As much of foreign text as fits into @columns. */
static const char *fit_text(const char *text, size_t columns, char to[FRAME_COLUMNS + 1])
{
	size_t n = strlen(text);

	if (columns > FRAME_COLUMNS)
		columns = FRAME_COLUMNS;
	printable_text(to, FRAME_COLUMNS + 1, text, n < columns ? n : columns);
	for (char *at = to; *at; at++)
		if ((unsigned char)*at > 126)
			*at = '?';
	to[columns] = '\0';
	return to;
}

static void add_head(struct page *page, const char *trace, const char *command)
{
	const struct live_state *s = page->state;
	char text[FRAME_COLUMNS + 1], time[FORMAT_TEXT], behind[FORMAT_TEXT], what[80];

	format_time(s->time, time);
	if (s->phase == LIVE_BEHIND)
		snprintf(what, sizeof(what), "%s: %s behind", time,
			 format_time(s->seen - s->time, behind));
	else
		snprintf(what, sizeof(what), "%s, %s", time, phase_name(s->phase));
	fit_text(trace, 44, text);
	add_line(page, STYLE_HEAD, "verbatim top  %-44s %21s", text, what);
	add_line(page, STYLE_PLAIN, "%s", fit_text(command, page->columns, text));
	add_line(page, STYLE_PLAIN, "%s", "");
}

static void add_totals(struct page *page)
{
	const struct live_state *s = page->state;
	const struct live_counts *r = &s->since.data, *a = &s->all.data;
	char c[8][CELL], b[4][FORMAT_TEXT];

	add_line(page, STYLE_DIM, "%-11s %8s %8s %11s %11s %11s %7s %6s",
		 s->one_of > 1 ? "estimated" : "", "sends", "receives", "completions", "sent",
		 "received", "errors", "calls");
	add_line(page, STYLE_HEAD, "%-11s %8s %8s %11s %11s %11s %7s %6s", "a second",
		 short_rate(s, r->requests, c[0]), short_rate(s, r->receives, c[1]),
		 short_rate(s, r->completions, c[2]), byte_rate(s, r->sent, b[0]),
		 byte_rate(s, r->received, b[1]), short_rate(s, r->errors, c[3]),
		 short_rate(s, s->since.calls, c[4]));
	add_line(page, a->errors ? STYLE_ERROR : STYLE_PLAIN,
		 "%-11s %8s %8s %11s %11s %11s %7s %6s", "all", short_total(s, a->requests, c[0]),
		 short_total(s, a->receives, c[1]), short_total(s, a->completions, c[2]),
		 total_bytes(s, a->sent, b[0]), total_bytes(s, a->received, b[1]),
		 short_total(s, a->errors, c[3]), short_total(s, s->all.calls, c[4]));
}

static void add_rest(struct page *page)
{
	const struct live_state *s = page->state;
	const struct live_totals *a = &s->all;
	char c[4][CELL], b[FORMAT_TEXT], t[2][FORMAT_TEXT];

	add_line(page, STYLE_PLAIN, "%-11s %s process%s, %s thread%s, %s queue%s", "program",
		 short_total(s, s->processes, c[1]), s->processes == 1 ? "" : "es",
		 short_total(s, s->threads, c[2]), s->threads == 1 ? "" : "s",
		 short_total(s, s->queues_of_all, c[0]), s->queues_of_all == 1 ? "" : "s");
	add_line(page, STYLE_PLAIN, "%-11s %s regions, %s; %s a second; %s alive", "registered",
		 short_total(s, a->registered, c[0]), total_bytes(s, a->registered_bytes, b),
		 short_rate(s, s->since.registered, c[1]), short_total(s, s->regions, c[2]));
	add_line(page, a->failed || a->data.errors ? STYLE_ERROR : STYLE_PLAIN,
		 "%-11s %s verbs; %s completions, %s of them flushed", "failed",
		 short_total(s, a->failed, c[0]), short_total(s, a->data.errors, c[1]),
		 short_total(s, a->flushed, c[2]));
	add_line(page, s->lost ? STYLE_ERROR : STYLE_PLAIN,
		 "%-11s %s events, %s lost, %s; %s waits, %s, longest %s", "recorded",
		 short_count(s->events, c[0]), short_count(s->lost, c[1]),
		 format_bytes(s->bytes, b), short_total(s, a->waits, c[2]),
		 format_time(a->waited_ns, t[0]), format_time(s->waited_most, t[1]));
}

static void add_latencies(struct page *page)
{
	const struct live_state *s = page->state;
	char c[CELL], t[3][FORMAT_TEXT];
	uint32_t n = page->rows < 40 && s->nlatencies > LATENCIES ? LATENCIES : s->nlatencies;

	if (!n)
		return;
	add_line(page, STYLE_PLAIN, "%s", "");
	add_line(page, STYLE_DIM, "%-24s %8s %10s %10s %10s", "from post to poll", "requests",
		 "p50", "p99", "longest");
	for (uint32_t i = 0; i < n; i++) {
		const struct live_latency *l = &s->latencies[i];

		add_line(page, STYLE_PLAIN, "%-24s %8s %10s %10s %10s",
			 profile_opcode_name(l->opcode < PROFILE_OPCODES ? l->opcode
									 : PROFILE_OTHER),
			 short_count(l->count, c), format_time(l->half, t[0]),
			 format_time(l->most_of_all, t[1]), format_time(l->longest, t[2]));
	}
}

/* "12/128"; "?" if it is uncertain */
static const char *depth_text(const struct live_depth *depth, bool gone, char text[CELL])
{
	if (gone)
		snprintf(text, CELL, "-");
	else if (!depth->known)
		snprintf(text, CELL, "?");
	else if (depth->capacity)
		snprintf(text, CELL, "%u/%u", depth->outstanding, depth->capacity);
	else
		snprintf(text, CELL, "%u", depth->outstanding);
	return text;
}

static void add_queue(struct page *page, const struct live_queue *q)
{
	const struct live_state *s = page->state;
	char name[FRAME_COLUMNS + 1], c[2][CELL], d[2][CELL], b[FORMAT_TEXT], t[2][FORMAT_TEXT];

	add_line(page,
		 q->all.errors ? STYLE_ERROR
		 : q->gone     ? STYLE_DIM
			       : STYLE_PLAIN,
		 "%-8s %4u %6s %8s %8s %8s %11s %11s %5s", fit_text(q->name, 8, name), q->process,
		 short_rate(s, q->since.requests + q->since.receives, c[0]),
		 byte_rate(s, q->since.sent + q->since.received, b),
		 format_time(q->latency.half, t[0]), format_time(q->latency.most_of_all, t[1]),
		 depth_text(&q->send, q->gone, d[0]), depth_text(&q->receive, q->gone, d[1]),
		 short_count(q->all.errors, c[1]));
}

static uint64_t value_of(const struct live_queue *queue, enum frame_sort sort)
{
	switch (sort) {
	case FRAME_ERRORS:
		return queue->all.errors;
	case FRAME_LATENCY:
		return queue->latency.most_of_all < 0 ? 0 : (uint64_t)queue->latency.most_of_all;
	case FRAME_OUTSTANDING:
		return (uint64_t)queue->send.outstanding + queue->receive.outstanding;
	default:
		return 0;
	}
}

/* Sort the queues; equal ones remain in the recorder's order, by traffic. */
static void sort_queues(const struct live_state *state, enum frame_sort sort,
			const struct live_queue *order[LIVE_QUEUES])
{
	for (uint32_t i = 0; i < state->nqueues; i++) {
		uint32_t at = i;

		for (; at && value_of(order[at - 1], sort) < value_of(&state->queues[i], sort);
		     at--)
			order[at] = order[at - 1];
		order[at] = &state->queues[i];
	}
}

static void add_queues(struct page *page, enum frame_sort sort)
{
	const struct live_queue *order[LIVE_QUEUES];

	if (!page->state->nqueues)
		return;
	sort_queues(page->state, sort, order);
	add_line(page, STYLE_PLAIN, "%s", "");
	add_line(page, STYLE_DIM, "%-8s %4s %6s %8s %8s %8s %11s %11s %5s", "queue", "proc",
		 "post/s", "bytes/s", "p50", "p99", "sends out", "receives", "error");
	for (uint32_t i = 0; i < page->state->nqueues; i++)
		add_queue(page, order[i]);
}

void screen_frame_fill(const struct live_state *state, const char *trace, const char *command,
		       enum frame_sort sort, unsigned int columns, unsigned int rows,
		       struct screen_frame *ret_frame)
{
	struct page page = { state, ret_frame, columns, rows };

	ret_frame->n = 0;
	add_head(&page, trace, command);
	add_totals(&page);
	add_rest(&page);
	add_latencies(&page);
	add_queues(&page, sort);
}

/* JSON */

static void put_counts(struct json *json, const char *name, const struct live_counts *counts)
{
	json_open(json, name, '{');
	json_put_int(json, "requests", (int64_t)counts->requests);
	json_put_int(json, "receives", (int64_t)counts->receives);
	json_put_int(json, "completions", (int64_t)counts->completions);
	json_put_int(json, "errors", (int64_t)counts->errors);
	json_put_int(json, "sent_bytes", (int64_t)counts->sent);
	json_put_int(json, "received_bytes", (int64_t)counts->received);
	json_close(json, '}');
}

static void put_totals(struct json *json, const char *name, const struct live_totals *totals)
{
	json_open(json, name, '{');
	put_counts(json, "data", &totals->data);
	json_put_int(json, "flushed", (int64_t)totals->flushed);
	json_put_int(json, "calls", (int64_t)totals->calls);
	json_put_int(json, "failed_calls", (int64_t)totals->failed);
	json_put_int(json, "registered", (int64_t)totals->registered);
	json_put_int(json, "registered_bytes", (int64_t)totals->registered_bytes);
	json_put_int(json, "waits", (int64_t)totals->waits);
	json_put_int(json, "waited_ns", totals->waited_ns);
	json_close(json, '}');
}

static void put_latency(struct json *json, const struct live_latency *latency)
{
	json_put_int(json, "timed", (int64_t)latency->count);
	json_put_int(json, "p50_ns", latency->half);
	json_put_int(json, "p99_ns", latency->most_of_all);
	json_put_int(json, "max_ns", latency->longest);
}

static void put_depth(struct json *json, const char *name, const struct live_depth *depth)
{
	json_open(json, name, '{');
	json_put_bool(json, "known", depth->known);
	json_put_int(json, "outstanding", depth->outstanding);
	json_put_int(json, "capacity", depth->capacity);
	json_close(json, '}');
}

static void put_queue(struct json *json, const struct live_queue *queue)
{
	json_open(json, NULL, '{');
	json_put_text(json, "queue", queue->name);
	json_put_int(json, "process", queue->process);
	json_put_int(json, "number", queue->number);
	json_put_bool(json, "gone", queue->gone);
	put_counts(json, "all", &queue->all);
	put_counts(json, "since", &queue->since);
	put_depth(json, "send", &queue->send);
	put_depth(json, "receive", &queue->receive);
	put_latency(json, &queue->latency);
	json_close(json, '}');
}

void screen_frame_json(const struct live_state *state, const char *trace, const char *command,
		       struct text *to)
{
	struct json json = { .out = to };

	json_open(&json, NULL, '{');
	json_put_text(&json, "trace", trace);
	json_put_text(&json, "command", command);
	json_put_text(&json, "phase", phase_name(state->phase));
	json_put_int(&json, "one_of", state->one_of);
	json_put_int(&json, "time_ns", state->time);
	json_put_int(&json, "recorded_ns", state->seen);
	json_put_int(&json, "interval_ns", state->interval);
	json_put_int(&json, "events", (int64_t)state->events);
	json_put_int(&json, "lost", (int64_t)state->lost);
	json_put_int(&json, "bytes", (int64_t)state->bytes);
	json_put_int(&json, "processes", state->processes);
	json_put_int(&json, "threads", state->threads);
	json_put_int(&json, "regions_alive", (int64_t)state->regions);
	put_totals(&json, "all", &state->all);
	put_totals(&json, "since", &state->since);
	json_open(&json, "latencies", '[');
	for (uint32_t i = 0; i < state->nlatencies; i++) {
		uint32_t opcode = state->latencies[i].opcode;

		json_open(&json, NULL, '{');
		json_put_text(
			&json, "opcode",
			profile_opcode_name(opcode < PROFILE_OPCODES ? opcode : PROFILE_OTHER));
		put_latency(&json, &state->latencies[i]);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_put_int(&json, "queues_of_all", state->queues_of_all);
	json_open(&json, "queues", '[');
	for (uint32_t i = 0; i < state->nqueues; i++)
		put_queue(&json, &state->queues[i]);
	json_close(&json, ']');
	json_close(&json, '}');
	text_char(to, '\n');
}
