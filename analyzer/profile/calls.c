/*
 * Control verbs, as a profile counts them
 *
 * A call delays posts if its thread posts to a send queue before and after it: it is counted as one
 * "while posting" at the second post.
 */
#include "analyzer/profile/calls.h"

#include <stdlib.h>

#include "analyzer/profile/rows.h"
#include "analyzer/profile/place_table.h"
#include "core/base/vec.h"

enum { WITH_BYTE_LEN = 1 << 0 }; /* IBV_WC_EX_WITH_BYTE_LEN */

static bool is_registration(enum verb verb)
{
	return verb_infos[verb].effect == EFFECT_CREATE && verb_infos[verb].object == OBJECT_mr;
}

static void add_time(struct profiler *p, struct profile_verb *verb, int64_t took)
{
	if (!verb->times && !(verb->times = calloc(1, sizeof(*verb->times))))
		profiler_fail(p);
	if (verb->times)
		histogram_add(verb->times, took);
}

static void count_registered(struct profiler *p, const struct call *call,
			     struct profile_place *place)
{
	int64_t length = 0;

	if (call->failed || call->end < 0 || !is_registration(call->verb))
		return;
	if (!call->out || !args_get(call->out, ARG(ret.length), &length) || length < 0)
		length = 0;
	p->profile->registered++;
	p->profile->registered_bytes += (uint64_t)length;
	place->bytes += (uint64_t)length;
}

/* The attributes of an extended CQ are also read from calls outside of the part. */
void calls_note_cq(struct profiler *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct profile_cq *cq;
	int64_t flags;

	if (call->verb != VERB_create_cq_ex || call->failed || !call->object || !call->args ||
	    !args_get(call->args, ARG(init_attr.wc_flags), &flags) || flags & WITH_BYTE_LEN)
		return;
	cq = rows_get_cq(p, call->object, event->process);
	if (cq)
		cq->lengthless = true;
}

/* A later post may show that the call was made between two posts. */
static void remember_call(struct profiler *p, struct worker *worker, size_t place, int64_t took)
{
	struct pending_call *call;

	for (size_t i = 0; i < worker->npending; i++)
		if (worker->pending[i].place == place) {
			worker->pending[i].n++;
			profiler_add(&worker->pending[i].ns, took);
			return;
		}
	call = vec_push(worker->pending, worker->npending);
	if (!call) {
		profiler_fail(p);
		return;
	}
	*call = (struct pending_call){ .place = place, .n = 1, .ns = took };
}

void calls_note_post(struct profiler *p, struct worker *worker)
{
	worker->sent = true;
	for (size_t i = 0; i < worker->npending; i++) {
		const struct pending_call *call = &worker->pending[i];
		struct profile_place *place = &p->profile->places[call->place];

		place->posting += call->n;
		profiler_add(&place->posting_ns, call->ns);
		p->profile->verbs[place->verb].posting += call->n;
		profiler_add(&p->profile->verbs[place->verb].posting_ns, call->ns);
	}
	if (worker->npending) {
		free(worker->pending);
		worker->pending = NULL;
		worker->npending = 0;
	}
}

void calls_count(struct profiler *p, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct profile_verb *verb = &p->profile->verbs[call->verb];
	struct profile_thread *thread = rows_get_thread(p, event->id.thread, event->process);
	struct profile_process *process = rows_process(p, event->process);
	struct worker *worker = rows_get_worker(p, event->id.thread);
	size_t place = place_index(p, call->verb, call->stack, event->process);
	int64_t took = call->end < 0 ? 0 : call->end - call->begin;

	if (!thread || !process || !worker || place == SIZE_MAX)
		return;
	verb->calls++;
	verb->errors += call->failed;
	verb->unfinished += call->end < 0;
	if (call->end >= 0)
		add_time(p, verb, took);
	p->profile->places[place].calls++;
	p->profile->places[place].errors += call->failed;
	profiler_add(&p->profile->places[place].ns, took);
	count_registered(p, call, &p->profile->places[place]);
	process->calls++;
	thread->calls++;
	profiler_add(&thread->control_ns, took);
	if (worker->sent)
		remember_call(p, worker, place, took);
}
