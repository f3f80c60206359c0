/*
 * The JSON of `verbatim stat` besides its tables: counters, from which shares can be computed, and
 * whole histograms
 */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/profile/cluster.h"
#include "cli/stat/stat_view.h"
#include "core/base/json.h"
#include "core/store/read/trace.h"

/* null for unknown values, which are negative. */
static void put_time(struct json *json, const char *name, int64_t ns)
{
	if (ns < 0)
		json_put_text(json, name, NULL);
	else
		json_put_int(json, name, ns);
}

static void put_percentiles(struct json *json, const struct histogram *h)
{
	json_put_uint(json, "timed", h->count);
	put_time(json, "mean_ns", histogram_mean(h));
	put_time(json, "min_ns", h->count ? (int64_t)h->least : -1);
	put_time(json, "p50_ns", histogram_percentile(h, 50));
	put_time(json, "p90_ns", histogram_percentile(h, 90));
	put_time(json, "p99_ns", histogram_percentile(h, 99));
	put_time(json, "p999_ns", histogram_percentile(h, 99.9));
	put_time(json, "max_ns", h->count ? (int64_t)h->max : -1);
}

/* Add [[from, to, count], ...] of all classes that are not empty. */
static void put_histogram(struct json *json, const char *name, const struct histogram *h)
{
	json_open(json, name, '[');
	for (unsigned int i = 0; i < HISTOGRAM_CLASSES; i++) {
		uint64_t from, to, n = histogram_count_class(h, i, &from, &to);

		if (!n)
			continue;
		json_open(json, NULL, '[');
		json_put_uint(json, NULL, from);
		json_put_uint(json, NULL, to);
		json_put_uint(json, NULL, n);
		json_close(json, ']');
	}
	json_close(json, ']');
}

/* The sums of the columns of table `verbs`. */
static void put_failed(struct json *json, const struct profile *profile)
{
	uint64_t failed = 0, unfinished = 0;

	for (int v = 0; v < VERB_COUNT; v++) {
		failed += profile->verbs[v].errors;
		unfinished += profile->verbs[v].unfinished;
	}
	json_put_uint(json, "failed", failed);
	json_put_uint(json, "unfinished", unfinished);
}

static void put_summary(struct json *json, const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	struct totals totals = trace_totals(view->trace);

	json_open(json, NULL, '{');
	json_put_int(json, "from_ns", profile->from);
	json_put_int(json, "to_ns", profile->to);
	put_time(json, "duration_ns", profile->duration);
	put_time(json, "first_post_ns", profile->first_post);
	put_time(json, "last_completion_ns", profile->last_completion);
	json_put_uint(json, "processes", totals.processes);
	json_put_uint(json, "threads", totals.threads);
	json_put_uint(json, "events", totals.events);
	json_put_uint(json, "verbs", profile->nverbs);
	put_failed(json, profile);
	json_put_uint(json, "completions", profile->completions);
	json_put_uint(json, "errors", profile->errors);
	json_put_uint(json, "flushed", profile->flushed);
	json_put_uint(json, "unmatched", profile->unmatched);
	json_put_uint(json, "lengthless", profile->lengthless);
	json_put_uint(json, "sent_bytes", profile->sent);
	json_put_uint(json, "received_bytes", profile->received);
	json_put_uint(json, "registered", profile->registered);
	json_put_uint(json, "registered_bytes", profile->registered_bytes);
	json_put_uint(json, "regions_alive", stat_regions(view));
	json_put_uint(json, "lost", totals.lost);
	json_put_uint(json, "overwritten", totals.overwritten);
	json_put_bool(json, "interrupted", trace_loss(view->trace).interrupted);
	json_put_bool(json, "filtered", profile->filtered);
	if (profile->whole_from == INT64_MIN)
		json_put_text(json, "whole_from_ns", NULL);
	else
		json_put_int(json, "whole_from_ns", profile->whole_from);
	json_put_text(json, "percentile_error", "at most 1/32 too high");
	json_close(json, '}');
}

static void put_waited(struct json *json, const struct stat_view *view)
{
	const struct profile_waited *waited = &view->profile->waited;
	char id[32];

	if (!waited->known) {
		json_put_text(json, NULL, NULL);
		return;
	}
	json_open(json, NULL, '{');
	json_put_uint(json, "times", waited->times);
	json_put_int(json, "total_ns", waited->ns);
	json_put_int(json, "longest_ns", waited->most);
	json_put_text(json, "longest", waited->times ? event_id_text(waited->worst, id) : NULL);
	json_put_uint(json, "full_times", waited->full);
	json_put_int(json, "full_ns", waited->full_ns);
	json_put_uint(json, "longer_times", waited->longer);
	json_put_int(json, "longer_ns", waited->longer_ns);
	json_put_uint(json, "threads", waited->threads);
	json_close(json, '}');
}

static void put_row(struct json *json, unsigned int opcode, unsigned int class,
		    const struct profile_requests *row)
{
	json_put_line(json, 4);
	json_open(json, NULL, '{');
	json_put_text(json, "opcode", profile_opcode_name(opcode));
	json_put_uint(json, "size_end", profile_size_end(class));
	json_put_uint(json, "least", row->least);
	json_put_uint(json, "most", row->most);
	json_put_uint(json, "posted", row->posted);
	json_put_uint(json, "completed", row->completed);
	json_put_uint(json, "bytes", row->bytes);
	json_put_uint(json, "inline", row->inlined);
	put_percentiles(json, &row->latency);
	put_histogram(json, "latency", &row->latency);
	json_close(json, '}');
}

static void put_requests(struct json *json, const struct stat_view *view)
{
	json_open(json, NULL, '[');
	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++)
			if (view->profile->requests[o][s])
				put_row(json, o, s, view->profile->requests[o][s]);
	json_close(json, ']');
}

static void put_posts(struct json *json, const char *name, const struct profile_posts *posts)
{
	json_put_line(json, 4);
	json_open(json, name, '{');
	json_put_uint(json, "posts", posts->posts);
	json_put_uint(json, "refused", posts->refused);
	json_put_uint(json, "requests", posts->requests);
	json_put_uint(json, "bytes", posts->bytes);
	json_put_uint(json, "judged", posts->judged);
	json_put_uint(json, "signalled", posts->signalled);
	json_put_uint(json, "fit_inline", posts->small);
	json_put_uint(json, "fit_and_inline", posts->small_inline);
	json_put_uint(json, "inline", posts->inlined);
	put_histogram(json, "requests_of_a_post", &posts->list);
	put_histogram(json, "signal_distance", &posts->distance);
	put_histogram(json, "gap_ns", &posts->gap);
	json_close(json, '}');
}

static void put_posting(struct json *json, const struct stat_view *view)
{
	const struct profile *profile = view->profile;
	struct histogram gaps = { 0 };

	json_open(json, NULL, '{');
	put_posts(json, "send", &profile->send);
	put_posts(json, "receive", &profile->receive);
	json_put_line(json, 4);
	json_put_uint(json, "polls", profile->polls);
	json_put_uint(json, "empty_polls", profile->empty);
	json_put_uint(json, "failed_polls", profile->failed_polls);
	put_histogram(json, "completions_of_a_poll", &profile->poll);
	profile_poll_gaps(profile, &gaps);
	put_histogram(json, "poll_gap_ns", &gaps);
	histogram_fini(&gaps);
	json_close(json, '}');
}

static void put_starved(struct json *json, const struct stat_view *view)
{
	struct profile_starved starved = profile_starved(view->profile);

	json_open(json, NULL, '{');
	json_put_uint(json, "messages", starved.messages);
	json_put_uint(json, "stalls", starved.stalls);
	json_put_int(json, "total_ns", starved.ns);
	json_put_int(json, "longest_ns", starved.longest);
	json_close(json, '}');
}

static void put_clusters(struct json *json, const struct stat_view *view)
{
	struct cluster clusters[CLUSTERS];
	size_t n = cluster_find(view->profile, clusters);

	json_open(json, NULL, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_put_text(json, "timer", "min_rnr_timer");
		json_put_uint(json, "value", clusters[i].code);
		json_put_int(json, "constant_ns", clusters[i].constant);
		json_put_uint(json, "times", clusters[i].times);
		json_put_uint(json, "requests", clusters[i].n);
		json_put_uint(json, "stalls", clusters[i].stalls);
		json_put_uint(json, "of", clusters[i].of);
		json_put_int(json, "from_ns", clusters[i].from);
		json_put_int(json, "to_ns", clusters[i].to);
		json_put_uint(json, "beside", clusters[i].beside);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_messages(struct json *json, const struct stat_view *view)
{
	const struct profile_messages *messages = &view->profile->messages;
	const struct {
		const char *name;
		const struct histogram *h;
	} rows[] = {
		{ "on_the_way_at_most", &messages->way },
		{ "in_the_cq_of_the_sender_at_least", &messages->lay_sent },
		{ "in_the_cq_of_the_receiver_at_least", &messages->lay_received },
	};

	json_open(json, NULL, '{');
	for (int i = 0; i < 3; i++) {
		json_put_line(json, 4);
		json_open(json, rows[i].name, '{');
		put_percentiles(json, rows[i].h);
		put_histogram(json, "times", rows[i].h);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_place(struct json *json, const struct stat_view *view,
		      const struct profile_place *place)
{
	const char *name = stat_place(view, place);

	json_put_line(json, 4);
	json_open(json, NULL, '{');
	json_put_text(json, "verb", verb_infos[place->verb].name);
	json_put_text(json, "place", *name ? name : NULL);
	json_put_uint(json, "stack", place->stack);
	json_put_uint(json, "calls", place->calls);
	json_put_uint(json, "errors", place->errors);
	json_put_int(json, "total_ns", place->ns);
	json_put_uint(json, "while_posting", place->posting);
	json_put_int(json, "while_posting_ns", place->posting_ns);
	json_put_uint(json, "bytes", place->bytes);
	json_put_uint(json, "posts", place->posts);
	json_put_uint(json, "requests", place->requests);
	json_put_uint(json, "judged", place->judged);
	json_put_uint(json, "signalled", place->signalled);
	json_put_uint(json, "fit_inline", place->small);
	json_put_uint(json, "fit_and_inline", place->small_inline);
	json_put_uint(json, "inline", place->inlined);
	json_close(json, '}');
}

static void put_places(struct json *json, const struct stat_view *view)
{
	static const enum verb_plane planes[] = { PLANE_DATA, PLANE_CONTROL };

	json_open(json, NULL, '[');
	for (int i = 0; i < 2; i++) {
		const struct profile_place **places;
		size_t n = stat_places(view->profile, planes[i], &places);

		for (size_t k = 0; k < n; k++)
			put_place(json, view, places[k]);
		free(places);
	}
	json_close(json, ']');
}

static void put_processes(struct json *json, const struct stat_view *view)
{
	json_open(json, NULL, '[');
	for (size_t i = 0; i < view->profile->nprocesses; i++) {
		const struct profile_process *process = &view->profile->processes[i];

		if (process->first < 0)
			continue;
		json_put_line(json, 4);
		json_open(json, NULL, '{');
		json_put_uint(json, "process", process->id);
		json_put_uint(json, "threads", process->threads);
		json_put_uint(json, "queues", process->queues);
		json_put_uint(json, "calls", process->calls);
		json_put_uint(json, "posts", process->posts);
		json_put_uint(json, "requests", process->requests);
		json_put_uint(json, "completions", process->completions);
		json_put_uint(json, "errors", process->errors);
		json_put_uint(json, "polls", process->polls);
		json_put_uint(json, "empty_polls", process->empty);
		json_put_uint(json, "sent_bytes", process->sent);
		json_put_uint(json, "received_bytes", process->received);
		json_put_int(json, "first_ns", process->first);
		json_put_int(json, "last_ns", process->last);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_threads(struct json *json, const struct stat_view *view)
{
	json_open(json, NULL, '[');
	for (size_t i = 0; i < view->profile->nthreads; i++) {
		const struct profile_thread *thread = &view->profile->threads[i];

		if (!thread->id)
			continue;
		json_put_line(json, 4);
		json_open(json, NULL, '{');
		json_put_uint(json, "thread", thread->id);
		json_put_uint(json, "process", thread->process);
		json_put_uint(json, "calls", thread->calls);
		json_put_int(json, "control_ns", thread->control_ns);
		json_put_uint(json, "posts", thread->posts);
		json_put_uint(json, "requests", thread->requests);
		json_put_uint(json, "completions", thread->completions);
		json_put_uint(json, "polls", thread->polls);
		json_put_uint(json, "empty_polls", thread->empty);
		json_put_uint(json, "waits", thread->waits);
		json_put_int(json, "waited_ns", thread->waited_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void stat_json(const struct stat_view *view)
{
	static const struct {
		const char *name;
		void (*put)(struct json *json, const struct stat_view *view);
	} members[] = {
		{ "summary", put_summary },     { "waited", put_waited },
		{ "requests", put_requests },   { "posting", put_posting },
		{ "clusters", put_clusters },   { "messages", put_messages },
		{ "starved", put_starved },     { "places", put_places },
		{ "processes", put_processes }, { "threads", put_threads },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		struct text text = { 0 };
		struct json json = { .out = &text, .spaced = true };

		members[i].put(&json, view);
		printf("  \"%s\": %s,\n", members[i].name,
		       text.used && !text.failed ? text.at : "null");
		text_fini(&text);
	}
}
