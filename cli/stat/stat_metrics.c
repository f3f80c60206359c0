/*
 * `verbatim stat` as metrics of OpenMetrics
 *
 * All are rows of one table: the name of a family, the objects it has samples for, and the member
 * that is the value. Unknown values have no sample, never a zero.
 *
 * Not here: the format of a metric (metrics.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/metrics.h"
#include "cli/stat/stat_view.h"
#include "core/base/text.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* The objects for which a family has one sample each. */
enum sampled_object {
	OVER_RUN,     /* struct profile */
	OVER_TRACE,   /* struct whole_trace */
	OVER_SIDE,    /* struct profile_posts, of sends and of receives */
	OVER_REQUEST, /* struct profile_requests, by opcode and size; for receives no send opcode */
	OVER_PROCESS,
	OVER_THREAD,
	OVER_QUEUE,
	OVER_QUEUE_SIDE, /* struct profile_side */
	OVER_CQ,
	OVER_VERB,
	OVER_PLACE,
};

struct whole_trace {
	struct totals totals;
	bool interrupted;
};

enum member { U64, U32, FLAG, NS, TIMES, TIMES_AT };

struct family {
	struct metric metric;
	enum sampled_object over;
	enum member member;
	size_t at;
	bool (*known)(const void *row); /* NULL: always */
};

static bool waits_are_known(const void *row)
{
	return ((const struct profile *)row)->waited.known;
}

static bool duration_is_known(const void *row)
{
	return ((const struct profile *)row)->duration >= 0;
}

static bool depth_is_known(const void *row)
{
	const struct profile_side *side = row;

	return side->known && !side->doubt;
}

static bool has_capacity(const void *row)
{
	return ((const struct profile_side *)row)->capacity;
}

static bool bound_is_known(const void *row)
{
	const struct profile_cq *cq = row;

	return cq->known && !cq->doubt && !cq->shared;
}

static bool cq_has_capacity(const void *row)
{
	return ((const struct profile_cq *)row)->capacity;
}

/* clang-format off */
#define FAMILY(over, row, type, name, unit, member, field, known, help)   \
	{ { name, METRIC_##type, unit, help }, OVER_##over, member,       \
	  offsetof(struct row, field), known }

static const struct family families[] = {
	FAMILY(RUN, profile, GAUGE, "duration", "seconds", NS, duration, duration_is_known,
	       "Length of the part of the trace that is counted."),
	FAMILY(RUN, profile, GAUGE, "sampled_one_of", NULL, U32, one_of, NULL,
	       "One in this number of data verbs was recorded; above 1, counts are estimates."),
	FAMILY(RUN, profile, GAUGE, "filtered", NULL, FLAG, filtered, NULL,
	       "1 if events were left out by --filter."),
	FAMILY(TRACE, whole_trace, GAUGE, "interrupted", NULL, FLAG, interrupted, NULL,
	       "1 if the recorder died, and later events are missing."),
	FAMILY(TRACE, whole_trace, COUNTER, "events", NULL, U64, totals.events, NULL,
	       "Events in the whole trace, even if only a part is counted."),
	FAMILY(TRACE, whole_trace, COUNTER, "lost_events", NULL, U64, totals.lost, NULL,
	       "Events that should be in the trace, and are not."),
	FAMILY(TRACE, whole_trace, COUNTER, "overwritten_events", NULL, U64, totals.overwritten,
	       NULL, "Events that the flight recorder has deleted."),
	FAMILY(RUN, profile, COUNTER, "verbs", NULL, U64, nverbs, NULL,
	       "Calls of verbs that are counted, without empty polls."),
	FAMILY(RUN, profile, COUNTER, "waits", NULL, U64, waited.times, waits_are_known,
	       "How often the program waited for the recorder."),
	FAMILY(RUN, profile, COUNTER, "waited", "seconds", NS, waited.ns, waits_are_known,
	       "Time that the program waited for the recorder."),

	FAMILY(REQUEST, profile_requests, COUNTER, "requests_posted", NULL, U64, posted, NULL,
	       "Requests that a send queue accepted."),
	FAMILY(REQUEST, profile_requests, COUNTER, "requests_completed", NULL, U64, completed, NULL,
	       "Requests that completed with success; receives are counted under the operation of "
	       "the sender."),
	FAMILY(REQUEST, profile_requests, COUNTER, "requests", "bytes", U64, bytes, NULL,
	       "Bytes of the requests posted; for receives, of those completed."),
	FAMILY(REQUEST, profile_requests, COUNTER, "requests_inline", NULL, U64, inlined, NULL,
	       "Requests posted with IBV_SEND_INLINE."),
	FAMILY(REQUEST, profile_requests, HISTOGRAM, "request_latency",
	       "seconds", TIMES, latency, NULL,
	       "Time from the post to the poll of the completion, for successful requests."),
	FAMILY(RUN, profile, HISTOGRAM, "message_way", "seconds", TIMES, messages.way, NULL,
	       "Network time of messages with both ends recorded (upper bound)."),

	FAMILY(SIDE, profile_posts, COUNTER, "posts", NULL, U64, posts, NULL,
	       "Calls that post; each rings one doorbell."),
	FAMILY(SIDE, profile_posts, COUNTER, "posts_refused", NULL, U64, refused, NULL,
	       "Calls that post and failed."),
	FAMILY(SIDE, profile_posts, COUNTER, "posted_requests", NULL, U64, requests, NULL,
	       "Requests of all posts."),
	FAMILY(SIDE, profile_posts, COUNTER, "posted", "bytes", U64, bytes, NULL,
	       "Bytes of the requests of all posts."),
	FAMILY(SIDE, profile_posts, COUNTER, "requests_judged", NULL, U64, judged, NULL,
	       "Requests to queues whose creation is in the trace."),
	FAMILY(SIDE, profile_posts, COUNTER, "requests_signalled", NULL, U64, signalled, NULL,
	       "Signalled requests to queues whose creation is in the trace."),
	FAMILY(SIDE, profile_posts, COUNTER, "requests_fit_inline", NULL, U64, small, NULL,
	       "Requests that fit inline, to queues whose creation is in the trace."),
	FAMILY(SIDE, profile_posts, COUNTER, "requests_fit_and_inline",
	       NULL, U64, small_inline, NULL,
	       "Requests that were small enough to be sent inline, and were."),
	FAMILY(SIDE, profile_posts, HISTOGRAM, "post_gap", "seconds", TIMES, gap, NULL,
	       "Time between two posts to the same queue."),

	FAMILY(RUN, profile, COUNTER, "polls", NULL, U64, polls, NULL,
	       "Polls that returned completions."),
	FAMILY(RUN, profile, COUNTER, "polls_empty", NULL, U64, empty, NULL,
	       "Empty polls."),
	FAMILY(RUN, profile, COUNTER, "polls_failed", NULL, U64, failed_polls, NULL,
	       "Polls that failed."),
	FAMILY(RUN, profile, COUNTER, "completions", NULL, U64, completions, NULL,
	       "Completions that were polled."),
	FAMILY(RUN, profile, COUNTER, "completion_errors", NULL, U64, errors, NULL,
	       "Completions in error, including flushes."),
	FAMILY(RUN, profile, COUNTER, "completions_flushed", NULL, U64, flushed, NULL,
	       "Completions in error that are IBV_WC_WR_FLUSH_ERR."),
	FAMILY(RUN, profile, COUNTER, "completions_unmatched", NULL, U64, unmatched, NULL,
	       "Successful completions of unknown requests."),
	FAMILY(RUN, profile, COUNTER, "sent", "bytes", U64, sent, NULL,
	       "Bytes sent: by sends and RDMA writes."),
	FAMILY(RUN, profile, COUNTER, "received", "bytes", U64, received, NULL,
	       "Bytes received: by receives, RDMA reads and atomics."),
	FAMILY(RUN, profile, COUNTER, "registrations", NULL, U64, registered, NULL,
	       "Memory regions that were registered."),
	FAMILY(RUN, profile, COUNTER, "registered", "bytes", U64, registered_bytes, NULL,
	       "Bytes of the memory regions that were registered."),

	FAMILY(PROCESS, profile_process, COUNTER, "process_calls", NULL, U64, calls, NULL,
	       "Verbs that a process called."),
	FAMILY(PROCESS, profile_process, COUNTER, "process_requests", NULL, U64, requests, NULL,
	       "Requests that a process posted."),
	FAMILY(PROCESS, profile_process, COUNTER, "process_completions",
	       NULL, U64, completions, NULL,
	       "Completions that a process polled."),
	FAMILY(PROCESS, profile_process, COUNTER, "process_completion_errors",
	       NULL, U64, errors, NULL,
	       "Completions in error that a process polled."),
	FAMILY(PROCESS, profile_process, COUNTER, "process_sent", "bytes", U64, sent, NULL,
	       "Bytes that a process sent."),
	FAMILY(PROCESS, profile_process, COUNTER, "process_received", "bytes", U64, received, NULL,
	       "Bytes that a process received."),
	FAMILY(THREAD, profile_thread, COUNTER, "thread_calls", NULL, U64, calls, NULL,
	       "Verbs that a thread called."),
	FAMILY(THREAD, profile_thread, COUNTER, "thread_control", "seconds", NS, control_ns, NULL,
	       "Time of a thread in control verbs."),
	FAMILY(THREAD, profile_thread, COUNTER, "thread_polls_empty", NULL, U64, empty, NULL,
	       "Empty polls of a thread."),

	FAMILY(QUEUE_SIDE, profile_side, COUNTER, "queue_requests", NULL, U64, requests, NULL,
	       "Requests posted to a queue pair, SRQ or WQ."),
	FAMILY(QUEUE_SIDE, profile_side, COUNTER, "queue_completions", NULL, U64, completions, NULL,
	       "Successful completions of a queue."),
	FAMILY(QUEUE_SIDE, profile_side, GAUGE, "queue_high", NULL, U32, high, depth_is_known,
	       "Maximum number of outstanding requests."),
	FAMILY(QUEUE_SIDE, profile_side, GAUGE, "queue_capacity", NULL, U32, capacity, has_capacity,
	       "Capacity of the queue in requests."),
	FAMILY(QUEUE_SIDE, profile_side, COUNTER, "queue_empty",
	       "seconds", NS, depth.empty_ns, depth_is_known,
	       "Time without an outstanding request, between the first post and the last."),
	FAMILY(QUEUE, profile_queue, COUNTER, "queue_starved_messages",
	       NULL, U64, starved.messages, NULL,
	       "Messages to a queue pair that were posted before the receive that they consumed."),
	FAMILY(QUEUE, profile_queue, COUNTER, "queue_starved", "seconds", NS, starved.ns, NULL,
	       "Time that these messages waited for a receive."),
	FAMILY(QUEUE, profile_queue, COUNTER, "queue_completion_errors", NULL, U32, errors, NULL,
	       "Completions in error of a queue, including flushes."),
	FAMILY(QUEUE, profile_queue, COUNTER, "queue_sent", "bytes", U64, sent, NULL,
	       "Bytes sent by a queue."),
	FAMILY(QUEUE, profile_queue, COUNTER, "queue_received", "bytes", U64, received, NULL,
	       "Bytes received by a queue."),
	FAMILY(QUEUE, profile_queue, SUMMARY, "queue_latency", "seconds", TIMES_AT, latency, NULL,
	       "Latency of the requests of a send queue; quantiles are at most 1/32 too high."),

	FAMILY(CQ, profile_cq, COUNTER, "cq_polls", NULL, U64, polls, NULL,
	       "Polls of a completion queue that returned completions."),
	FAMILY(CQ, profile_cq, COUNTER, "cq_polls_empty", NULL, U64, empty, NULL,
	       "Empty polls of a completion queue."),
	FAMILY(CQ, profile_cq, COUNTER, "cq_completions", NULL, U64, completions, NULL,
	       "Completions polled from a completion queue."),
	FAMILY(CQ, profile_cq, SUMMARY, "cq_poll_gap", "seconds", TIMES, gap, NULL,
	       "Mean time from a poll that returned completions to the next poll."),
	FAMILY(CQ, profile_cq, GAUGE, "cq_high", NULL, U64, high, bound_is_known,
	       "Worst-case backlog of a completion queue."),
	FAMILY(CQ, profile_cq, GAUGE, "cq_capacity", NULL, U32, capacity, cq_has_capacity,
	       "Capacity of a completion queue."),

	FAMILY(VERB, profile_verb, COUNTER, "verb_calls", NULL, U64, calls, NULL,
	       "Calls of a verb."),
	FAMILY(VERB, profile_verb, COUNTER, "verb_errors", NULL, U64, errors, NULL,
	       "Calls of a verb that failed."),
	FAMILY(VERB, profile_verb, COUNTER, "verb_unfinished", NULL, U64, unfinished, NULL,
	       "Calls of a verb that never returned."),
	FAMILY(VERB, profile_verb, COUNTER, "verb_while_posting", NULL, U64, posting, NULL,
	       "Calls of a control verb by a thread between two of its posts to a send queue."),
	FAMILY(VERB, profile_verb, COUNTER, "verb_while_posting", "seconds", NS, posting_ns, NULL,
	       "Time in these calls."),
	FAMILY(VERB, profile_verb, SUMMARY, "verb", "seconds", TIMES_AT, times, NULL,
	       "Time in a control verb; quantiles are at most 1/32 too high."),

	FAMILY(PLACE, profile_place, COUNTER, "place_calls", NULL, U64, calls, NULL,
	       "Calls of a verb at a place in the code."),
	FAMILY(PLACE, profile_place, COUNTER, "place_errors", NULL, U64, errors, NULL,
	       "Calls of a verb at a place in the code that failed."),
	FAMILY(PLACE, profile_place, COUNTER, "place", "seconds", NS, ns, NULL,
	       "Time in control verbs at a place in the code."),
	FAMILY(PLACE, profile_place, COUNTER, "place_requests", NULL, U64, requests, NULL,
	       "Requests posted at a place in the code."),
	FAMILY(PLACE, profile_place, COUNTER, "place", "bytes", U64, bytes, NULL,
	       "Bytes registered or posted at a place in the code."),
};
/* clang-format on */

static const struct metric recording = { "recording_info", METRIC_GAUGE, NULL,
					 "The recorded command and the version of the recorder." };

/* A family that is being written. */
struct family_writer {
	struct metrics metrics;
	const struct stat_view *view;
	const struct family *family;
};

static void add_row(struct family_writer *w, const void *row, const struct metric_label *labels)
{
	const struct family *family = w->family;
	const void *at = (const char *)row + family->at;

	if (family->known && !family->known(row))
		return;
	switch (family->member) {
	case U64:
		metrics_count(&w->metrics, labels, *(const uint64_t *)at);
		break;
	case U32:
		metrics_count(&w->metrics, labels, *(const uint32_t *)at);
		break;
	case FLAG:
		metrics_count(&w->metrics, labels, *(const bool *)at);
		break;
	case NS:
		metrics_time(&w->metrics, labels, *(const int64_t *)at);
		break;
	case TIMES:
		metrics_times(&w->metrics, labels, at);
		break;
	case TIMES_AT:
		metrics_times(&w->metrics, labels, *(struct histogram *const *)at);
	}
}

static void add_run(struct family_writer *w)
{
	add_row(w, w->view->profile, (struct metric_label[]){ { 0 } });
}

static void add_trace(struct family_writer *w)
{
	struct whole_trace whole = { .totals = trace_totals(w->view->trace),
				     .interrupted = trace_loss(w->view->trace).interrupted };

	add_row(w, &whole, (struct metric_label[]){ { 0 } });
}

static void add_sides(struct family_writer *w)
{
	add_row(w, &w->view->profile->send, (struct metric_label[]){ { "side", "send" }, { 0 } });
	add_row(w, &w->view->profile->receive,
		(struct metric_label[]){ { "side", "receive" }, { 0 } });
}

/*
 * Is the family for sends only? Posted receives have no size, since their message has not arrived.
 */
static bool is_of_sends(const struct family *family)
{
	return family->at == offsetof(struct profile_requests, posted) ||
	       family->at == offsetof(struct profile_requests, inlined);
}

static void add_requests(struct family_writer *w)
{
	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++) {
			const struct profile_requests *row = w->view->profile->requests[o][s];
			char most[32] = "+Inf";

			if (!row || (o == PROFILE_RECEIVE && is_of_sends(w->family)))
				continue;
			if (s < PROFILE_SIZES - 1)
				snprintf(most, sizeof(most), "%" PRIu64, profile_size_end(s));
			add_row(w, row,
				(struct metric_label[]){ { "opcode", profile_opcode_name(o) },
							 { "size_most", most },
							 { 0 } });
		}
}

static void add_processes(struct family_writer *w)
{
	for (size_t i = 0; i < w->view->profile->nprocesses; i++) {
		const struct profile_process *process = &w->view->profile->processes[i];
		char id[16];

		snprintf(id, sizeof(id), "%u", process->id);
		if (process->first >= 0)
			add_row(w, process, (struct metric_label[]){ { "process", id }, { 0 } });
	}
}

static void add_threads(struct family_writer *w)
{
	for (size_t i = 0; i < w->view->profile->nthreads; i++) {
		const struct profile_thread *thread = &w->view->profile->threads[i];
		char process[16], id[16];

		snprintf(process, sizeof(process), "%u", thread->process);
		snprintf(id, sizeof(id), "%u", thread->id);
		if (thread->id)
			add_row(w, thread,
				(struct metric_label[]){
					{ "process", process }, { "thread", id }, { 0 } });
	}
}

/* @object is number @id of the trace; without a name only its number is written. */
static void add_object(struct family_writer *w, const void *row, uint32_t process_id, uint32_t id,
		       const char *label, const char *side)
{
	const struct object *object = trace_object(w->view->trace, id);
	char process[16], number[16];

	snprintf(process, sizeof(process), "%u", process_id);
	snprintf(number, sizeof(number), "%u", id);
	add_row(w, row,
		(struct metric_label[]){ { "process", process },
					 { label, object ? object->name : number },
					 { "object", number },
					 { side ? "side" : NULL, side },
					 { 0 } });
}

static void add_queues(struct family_writer *w)
{
	const struct profile *profile = w->view->profile;

	for (size_t i = 1; i < profile->nobjects; i++) {
		const struct profile_queue *queue = profile->queues[i];

		if (!queue)
			continue;
		if (w->family->over == OVER_QUEUE) {
			add_object(w, queue, queue->process, queue->object, "queue", NULL);
			continue;
		}
		add_object(w, &queue->send, queue->process, queue->object, "queue", "send");
		add_object(w, &queue->receive, queue->process, queue->object, "queue", "receive");
	}
}

static void add_cqs(struct family_writer *w)
{
	const struct profile *profile = w->view->profile;

	for (size_t i = 1; i < profile->nobjects; i++) {
		const struct profile_cq *cq = profile->cqs[i];

		if (cq && (cq->polls || cq->empty || cq->high))
			add_object(w, cq, cq->process, (uint32_t)i, "cq", NULL);
	}
}

static void add_verbs(struct family_writer *w)
{
	for (int v = 0; v < VERB_COUNT; v++) {
		const struct profile_verb *verb = &w->view->profile->verbs[v];

		if (verb->calls)
			add_row(w, verb,
				(struct metric_label[]){ { "verb", verb_infos[v].name }, { 0 } });
	}
}

/* Two stacks may end in the same line: the label with the stack separates them. */
static void add_place(struct family_writer *w, const struct profile_place *place)
{
	char stack[16];

	snprintf(stack, sizeof(stack), "%u", place->stack);
	add_row(w, place,
		(struct metric_label[]){ { "verb", verb_infos[place->verb].name },
					 { "place", stat_place(w->view, place) },
					 { "stack", stack },
					 { 0 } });
}

static void add_places(struct family_writer *w)
{
	for (size_t i = 0; i < w->view->profile->nplaces; i++)
		if (w->view->profile->places[i].calls)
			add_place(w, &w->view->profile->places[i]);
}

static void (*const adders[])(struct family_writer *w) = {
	[OVER_RUN] = add_run,          [OVER_TRACE] = add_trace,       [OVER_SIDE] = add_sides,
	[OVER_REQUEST] = add_requests, [OVER_PROCESS] = add_processes, [OVER_THREAD] = add_threads,
	[OVER_QUEUE] = add_queues,     [OVER_QUEUE_SIDE] = add_queues, [OVER_CQ] = add_cqs,
	[OVER_VERB] = add_verbs,       [OVER_PLACE] = add_places,
};

static void add_recording(struct metrics *metrics, struct trace *trace)
{
	metrics_begin(metrics, &recording);
	metrics_count(metrics,
		      (struct metric_label[]){ { "version", trace_meta(trace, "version") },
					       { "host", trace_meta(trace, "host") },
					       { "command", trace_meta(trace, "command") },
					       { "device", trace_meta(trace, "device") },
					       { 0 } },
		      1);
}

int stat_metrics(const struct stat_view *view)
{
	struct text text = { 0 };
	struct family_writer w = { .metrics = { .out = &text }, .view = view };
	int err = 0;

	add_recording(&w.metrics, view->trace);
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		w.family = &families[i];
		metrics_begin(&w.metrics, &w.family->metric);
		adders[w.family->over](&w);
	}
	metrics_end(&w.metrics);
	if (text.failed)
		err = log_err(-ENOMEM, "make the metrics");
	else
		fputs(text.at, stdout);
	text_fini(&text);
	return err;
}
