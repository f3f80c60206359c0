/*
 * The metrics of a program that is still running
 *
 * 	verbatim_group_outstanding{device="mlx5_0",type="RC",process="1",rank="5",side="send"} 12
 *
 * Not here: the format (cli/metrics.c), where the text goes (metrics_out.c).
 */
#include "cli/record/live_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/lives.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/profile/pass.h"
#include "cli/metrics.h"
#include "cli/record/live_devices.h"
#include "cli/record/live_page.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/wire/desc.h"

enum { NAME = 64, NUMBER = 16 };

/* Queue pairs of one device, type and process. */
struct group {
	char device[NAME], process[NUMBER], rank[NUMBER];
	const char *type; /* "RC" */
	struct live_counts counts;
	uint64_t queues;                      /* alive */
	uint64_t outstanding[2], capacity[2]; /* sums over these queues: of sends, of receives */
	int64_t oldest;                       /* age of the oldest outstanding send, ns; 0: none */
	struct histogram latency;
};

struct groups {
	size_t n;
	struct group all[LIVE_GROUPS];
};

/* Groups */

/* The type of a queue pair; NULL: not known, as it was created and destroyed between two rounds. */
static const char *find_type(struct live_types *types, uint32_t object, const struct life *life)
{
	const char **place = vec_at(types->all, types->n, object);

	if (place && !*place && life && life->qp && life->kind == OBJECT_qp)
		*place = qp_type_name(life->qp->type);
	return place ? *place : NULL;
}

static void name_group(const struct live_now *now, const struct profile_queue *queue,
		       struct group *group)
{
	const struct process *process = trace_process(now->trace, queue->process);

	memset(group, 0, sizeof(*group));
	snprintf(group->device, NAME, "%s",
		 live_devices_name(now->devices, now->trace,
				   trace_object(now->trace, queue->object)));
	snprintf(group->process, NUMBER, "%u", queue->process);
	if (process && process->rank.launcher)
		snprintf(group->rank, NUMBER, "%d", process->rank.rank);
}

static struct group *find_group(struct groups *groups, const struct group *named)
{
	for (size_t i = 0; i < groups->n; i++) {
		struct group *each = &groups->all[i];

		if (!strcmp(each->process, named->process) &&
		    !strcmp(each->device, named->device) &&
		    !strcmp(each->type ? each->type : "", named->type ? named->type : ""))
			return each;
	}
	if (groups->n == LIVE_GROUPS)
		return &groups->all[LIVE_GROUPS - 1];
	groups->all[groups->n] = *named;
	if (groups->n == LIVE_GROUPS - 1) {
		struct group *others = &groups->all[groups->n];

		snprintf(others->device, NAME, "others");
		others->process[0] = others->rank[0] = '\0';
		others->type = NULL;
	}
	return &groups->all[groups->n++];
}

static void add_depth(struct group *group, const struct queue *queue, int side, int64_t time)
{
	const struct queue_request *oldest;

	if (!queue || queue->doubt)
		return;
	group->outstanding[side] += queue->outstanding;
	group->capacity[side] += queue->limits.given ? queue->limits.given : queue->limits.asked;
	oldest = !side && queue->outstanding ? queue_oldest(queue) : NULL;
	if (oldest && time - oldest->time > group->oldest)
		group->oldest = time - oldest->time;
}

static void add_queue(struct groups *groups, const struct live_now *now, struct live_types *types,
		      const struct profile_queue *queue)
{
	const struct object *object = trace_object(now->trace, queue->object);
	const struct life *life = object ? profiler_life(now->profiler, object) : NULL;
	struct group named, *group;
	uint64_t n = now->one_of;

	name_group(now, queue, &named);
	named.type = find_type(types, queue->object, life);
	group = find_group(groups, &named);
	group->counts.requests += n * queue->send.requests;
	group->counts.receives += n * queue->receive.requests;
	group->counts.sent += n * queue->sent;
	group->counts.received += n * queue->received;
	group->counts.completions +=
		n * (queue->send.completions + queue->receive.completions) + queue->errors;
	group->counts.errors += queue->errors;
	if (queue->latency && n == 1)
		histogram_merge(&group->latency, queue->latency);
	if (!life)
		return;
	group->queues++;
	add_depth(group, life->sq, 0, now->state->time);
	add_depth(group, life->rq, 1, now->state->time);
}

static void collect_groups(struct groups *groups, const struct live_now *now,
			   struct live_types *types)
{
	const struct profile *profile = profiler_profile(now->profiler);

	for (size_t i = 0; i < profile->nobjects; i++)
		if (profile->queues[i])
			add_queue(groups, now, types, profile->queues[i]);
}

enum member { COUNT, TIME, LATENCY };

/* clang-format off */
#define GROUP(type, name, unit, member, field, help) \
	{ { "group_" name, METRIC_##type, unit, help }, member, \
	  offsetof(struct group, field), NULL }
#define GROUP_SIDE(type, name, unit, member, field, side, help) \
	{ { "group_" name, METRIC_##type, unit, help }, member, \
	  offsetof(struct group, field), side }

/* A family with two sides is two rows. */
static const struct group_family {
	struct metric metric;
	enum member member;
	size_t at;
	const char *side;
} group_families[] = {
	GROUP(GAUGE, "queues", NULL, COUNT, queues, "Queue pairs, SRQs and WQs that exist."),
	GROUP_SIDE(COUNTER, "requests", NULL, COUNT, counts.requests, "send",
		   "Requests posted."),
	GROUP_SIDE(COUNTER, "requests", NULL, COUNT, counts.receives, "receive", ""),
	GROUP(COUNTER, "completions", NULL, COUNT, counts.completions, "Completions polled."),
	GROUP(COUNTER, "completion_errors", NULL, COUNT, counts.errors,
	      "Completions in error, including flushes."),
	GROUP(COUNTER, "sent", "bytes", COUNT, counts.sent, "Bytes sent."),
	GROUP(COUNTER, "received", "bytes", COUNT, counts.received, "Bytes received."),
	GROUP_SIDE(GAUGE, "outstanding", NULL, COUNT, outstanding[0], "send",
		   "Requests that are outstanding."),
	GROUP_SIDE(GAUGE, "outstanding", NULL, COUNT, outstanding[1], "receive", ""),
	GROUP_SIDE(GAUGE, "capacity", NULL, COUNT, capacity[0], "send",
		   "Requests that the queues can hold."),
	GROUP_SIDE(GAUGE, "capacity", NULL, COUNT, capacity[1], "receive", ""),
	GROUP(GAUGE, "oldest_request", "seconds", TIME, oldest,
	      "Age of the oldest outstanding request of a send queue; 0 if there is none."),
	GROUP(HISTOGRAM, "latency", "seconds", LATENCY, latency,
	      "Time from the post to the poll of the completion, for successful requests."),
};
/* clang-format on */

static void write_group(struct metrics *metrics, const struct group_family *family,
			const struct group *group)
{
	const void *at = (const char *)group + family->at;
	const struct metric_label labels[METRIC_LABELS + 1] = {
		{ "device", *group->device ? group->device : NULL },
		{ "type", group->type },
		{ "process", *group->process ? group->process : NULL },
		{ "rank", *group->rank ? group->rank : NULL },
		{ family->side ? "side" : NULL, family->side },
	};

	if (family->member == LATENCY)
		metrics_times(metrics, labels, at);
	else if (family->member == TIME)
		metrics_time(metrics, labels, *(const int64_t *)at);
	else
		metrics_count(metrics, labels, *(const uint64_t *)at);
}

static void write_groups(struct metrics *metrics, const struct groups *groups)
{
	const size_t n = sizeof(group_families) / sizeof(*group_families);

	for (size_t f = 0; f < n; f++) {
		const struct group_family *family = &group_families[f];

		if (*family->metric.help)
			metrics_begin(metrics, &family->metric);
		for (size_t i = 0; i < groups->n; i++)
			write_group(metrics, family, &groups->all[i]);
	}
}

/* The whole recording */

/* clang-format off */
#define WHOLE(type, name, unit, member, field, help) \
	{ { name, METRIC_##type, unit, help }, member, offsetof(struct numbers, field) }

struct numbers {
	uint64_t events, lost, bytes, processes, threads, regions, waits, sent, received,
		completions, failed, fatal, crashes, sampled;
	int64_t waited, behind;
};

static const struct {
	struct metric metric;
	enum member member;
	size_t at;
} whole_families[] = {
	WHOLE(COUNTER, "events", NULL, COUNT, events, "Events in the trace."),
	WHOLE(COUNTER, "lost_events", NULL, COUNT, lost,
	      "Events that should be in the trace, and are not."),
	WHOLE(GAUGE, "trace", "bytes", COUNT, bytes, "Size of the trace."),
	WHOLE(GAUGE, "behind", "seconds", TIME, behind,
	      "Time by which these values lag behind the recording."),
	WHOLE(GAUGE, "sampled_one_of", NULL, COUNT, sampled,
	      "One in this number of data verbs was recorded; above 1, counts are estimates."),
	WHOLE(GAUGE, "processes", NULL, COUNT, processes, "Processes that were recorded."),
	WHOLE(GAUGE, "threads", NULL, COUNT, threads, "Threads that were recorded."),
	WHOLE(GAUGE, "regions", NULL, COUNT, regions, "Memory regions that are registered."),
	WHOLE(COUNTER, "waits", NULL, COUNT, waits,
	      "How often the program waited for the recorder."),
	WHOLE(COUNTER, "waited", "seconds", TIME, waited,
	      "Time that the program waited for the recorder."),
	WHOLE(COUNTER, "completions", NULL, COUNT, completions, "Completions that were polled."),
	WHOLE(COUNTER, "sent", "bytes", COUNT, sent,
	      "Bytes sent: by sends and RDMA writes."),
	WHOLE(COUNTER, "received", "bytes", COUNT, received,
	      "Bytes received: by receives, RDMA reads and atomics."),
	WHOLE(COUNTER, "verbs_failed", NULL, COUNT, failed,
	      "Verbs that failed, except where programs expect it."),
	WHOLE(COUNTER, "fatal_events", NULL, COUNT, fatal,
	      "Asynchronous events that report an error."),
	WHOLE(COUNTER, "crashes", NULL, COUNT, crashes, "Processes that were killed by a signal."),
};
/* clang-format on */

static struct numbers sum_up(const struct live_now *now, const struct writer_alarms *alarms)
{
	const struct live_state *state = now->state;

	return (struct numbers){
		.events = state->events,
		.lost = state->lost,
		.bytes = state->bytes,
		.processes = state->processes,
		.threads = state->threads,
		.regions = state->regions,
		.waits = state->all.waits,
		.waited = state->all.waited_ns,
		.sent = state->all.data.sent,
		.received = state->all.data.received,
		.completions = state->all.data.completions,
		.failed = alarms->failed,
		.fatal = alarms->fatal,
		.crashes = alarms->crashes,
		.sampled = now->one_of,
		.behind = state->seen > state->time ? state->seen - state->time : 0,
	};
}

static void write_whole(struct metrics *metrics, const struct numbers *numbers)
{
	const struct metric_label none = { 0 };

	for (size_t i = 0; i < sizeof(whole_families) / sizeof(*whole_families); i++) {
		const void *at = (const char *)numbers + whole_families[i].at;

		metrics_begin(metrics, &whole_families[i].metric);
		if (whole_families[i].member == TIME)
			metrics_time(metrics, &none, *(const int64_t *)at);
		else
			metrics_count(metrics, &none, *(const uint64_t *)at);
	}
}

static void write_statuses(struct metrics *metrics, const struct writer_alarms *alarms)
{
	static const struct metric metric = { "completion_status", METRIC_COUNTER, NULL,
					      "Completions in error, by their status." };
	const struct enum_info *names = enum_find("ibv_wc_status");

	metrics_begin(metrics, &metric);
	for (int status = 0; status < WRITER_STATUSES; status++)
		if (alarms->statuses[status])
			metrics_count(
				metrics,
				(struct metric_label[]){
					{ "status", enum_name(names, status) ?: "others" }, { 0 } },
				alarms->statuses[status]);
}

static void write_verbs(struct metrics *metrics, const struct profile *profile)
{
	static const struct metric calls = { "verb_calls", METRIC_COUNTER, NULL,
					     "Calls of a verb." },
				   errors = { "verb_errors", METRIC_COUNTER, NULL,
					      "Calls of a verb that failed." };

	metrics_begin(metrics, &calls);
	for (int v = 0; v < VERB_COUNT; v++)
		if (profile->verbs[v].calls)
			metrics_count(
				metrics,
				(struct metric_label[]){ { "verb", verb_infos[v].name }, { 0 } },
				profile->verbs[v].calls);
	metrics_begin(metrics, &errors);
	for (int v = 0; v < VERB_COUNT; v++)
		if (profile->verbs[v].calls)
			metrics_count(
				metrics,
				(struct metric_label[]){ { "verb", verb_infos[v].name }, { 0 } },
				profile->verbs[v].errors);
}

static void write_findings(struct metrics *metrics, const uint64_t *findings)
{
	static const struct metric metric = { "findings", METRIC_COUNTER, NULL,
					      "Findings of the check." };
	static const char *const severities[] = { "error", "warning", "hazard" };

	if (!findings)
		return;
	metrics_begin(metrics, &metric);
	for (int i = 0; i < 3; i++)
		metrics_count(metrics,
			      (struct metric_label[]){ { "severity", severities[i] }, { 0 } },
			      findings[i]);
}

static void begin_metrics(struct metrics *metrics)
{
	static const struct metric metric = { "recording_info", METRIC_GAUGE, NULL,
					      "The version of the recorder." };

	metrics_begin(metrics, &metric);
	metrics_count(metrics, (struct metric_label[]){ { "version", VERBATIM_VERSION }, { 0 } },
		      1);
}

void live_metrics_begin(struct text *out)
{
	struct metrics metrics = { .out = out };

	begin_metrics(&metrics);
	metrics_end(&metrics);
}

void live_metrics_write(const struct live_now *now, const struct live_facts *facts,
			struct text *out)
{
	struct numbers numbers = sum_up(now, facts->alarms);
	struct metrics metrics = { .out = out };
	struct groups *groups = calloc(1, sizeof(*groups));

	if (!groups) {
		out->failed = true;
		return;
	}
	begin_metrics(&metrics);
	write_whole(&metrics, &numbers);
	write_statuses(&metrics, facts->alarms);
	write_verbs(&metrics, profiler_profile(now->profiler));
	write_findings(&metrics, facts->findings);
	collect_groups(groups, now, facts->types);
	write_groups(&metrics, groups);
	metrics_end(&metrics);
	for (size_t i = 0; i < groups->n; i++)
		histogram_fini(&groups->all[i].latency);
	free(groups);
}
