/*
 * The passes over a trace: the first ones collect facts, the last one generates statements
 */
#include "cli/emit/build.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/calls.h"
#include "cli/emit/traffic.h"
#include "core/wire/log.h"

static void learn_latency(struct program *program, const struct trace_event *event)
{
	for (uint32_t i = 0; event->kind == TRACE_POLL && i < event->poll->nwc; i++) {
		const struct wc *wc = &event->poll->wc[i];
		int64_t took = wc->request.thread ? event->time - wc->posted_at : 0;

		if (took > program->longest)
			program->longest = took;
	}
}

static int learn_event(struct maker *maker, const struct trace_event *event)
{
	int err = memory_learn(&maker->memory, maker->program, event);

	if (!err)
		err = links_learn(&maker->links, maker->program, event);
	learn_latency(maker->program, event);
	skips_learn(&maker->program->skips[event->id.thread], event);
	return err ? log_err(err, "emit") : 0;
}

/* Refuse a process that uses inherited objects of its parent: threads cannot do that. */
static int check_fork(const struct maker *maker, uint32_t object)
{
	const struct program *program = maker->program;
	const struct object *o = object ? trace_object(program->trace, object) : NULL;

	if (!o || o->process == program->process || o->kind == OBJECT_device)
		return 0;
	return program_refuse(program,
			      "process %u uses %s of process %u, inherited by a fork: the threads "
			      "of one program cannot do that",
			      program->process, o->name, o->process);
}

/* A damaged trace may name objects that are not in its table. */
static int check_objects(const struct program *program, const struct trace_event *event,
			 uint32_t object)
{
	bool known = object <= program->nobjects;

	for (uint32_t i = 0; event->kind == TRACE_POLL && i < event->poll->nwc; i++)
		known = known && event->poll->wc[i].qp <= program->nobjects;
	return known ? 0 : program_refuse(program, "names an object that the trace does not have");
}

/* Parse the arguments here: later, lack of memory would look like an unparsable value. */
static int parse_args(const struct trace_event *event)
{
	bool has_args = event->kind == TRACE_CALL || event->kind == TRACE_RETURN;
	int err = has_args ? args_parse(event->call->args) ?: args_parse(event->call->out) : 0;

	return err ? log_err(err, "emit") : 0;
}

static int make_statements(struct maker *maker, const struct trace_event *event);

/*
 * Processes that are killed
 *
 * A request that fails since its peer does not respond was posted before the peer's end, and some
 * of its messages may even have been received: only the acknowledgement was lost. A device cannot
 * be made to lose an acknowledgement. So the peer ends just before the first such request: its
 * later events are advanced to that time, up to the first message whose sender saw no
 * acknowledgement. The rest is left out.
 */

static const char unacknowledged[] = "the process was killed before it acknowledged a message";

/* Does the process have no more events, or was it killed after the request was posted? */
static bool was_killed(const struct maker *maker, uint32_t process)
{
	const struct process *p = trace_process(maker->program->trace, process);

	return maker->last[process] < maker->program->time ||
	       (p->ending && !strcmp(p->ending, "killed"));
}

static int leave_out_event(struct maker *maker, const struct trace_event *event)
{
	bool named = event->kind == TRACE_POST || event->kind == TRACE_POLL ||
		     event->kind == TRACE_NOTIFY || event->kind == TRACE_CALL;

	maker->program->at = event->id;
	return named ? program_leave_out(maker->program, verb_infos[trace_verb(event)].name,
					 unacknowledged)
		     : 0;
}

/*
 * Advance an event of a process that ends now. 1: done; 0: it and all later events are left out; or
 * -errno.
 */
static int advance_event(struct maker *maker, const struct trace_event *event)
{
	struct trace_event part = *event;
	struct poll poll;
	int err;

	if (event->kind == TRACE_POLL) {
		poll = *event->poll;
		poll.nwc = traffic_count_acknowledged(maker, event->poll);
		part.poll = &poll;
	}
	err = make_statements(maker, &part);
	if (err || event->kind != TRACE_POLL || poll.nwc == event->poll->nwc)
		return err ?: 1;
	return leave_out_event(maker, event);
}

/* Generate the events of @process from @time on. */
static int generate_rest(struct maker *maker, uint32_t process, int64_t time)
{
	const struct trace_filter filter = { .process = process, .from = time };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(maker->program->trace, &filter, &cursor), more = 1;

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		if (event->kind == TRACE_EXIT)
			continue;
		err = parse_args(event);
		if (!err && more)
			err = more = advance_event(maker, event);
		else if (!err)
			err = leave_out_event(maker, event);
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

static int end_process(struct maker *maker, uint32_t process)
{
	struct program *program = maker->program;
	const struct event_id at = program->at;
	uint32_t own = program->process;
	int64_t time = program->time;
	int err = 0;

	maker->advancing = true;
	if (maker->last[process] >= time)
		err = generate_rest(maker, process, time);
	maker->advancing = false;
	if (!err)
		err = calls_add_end(maker, process);
	program->at = at;
	program->process = own;
	program->time = time;
	return err;
}

static int end_silent_peer(struct maker *maker, const struct post *post)
{
	const struct program *program = maker->program;
	uint32_t peer = maker->order.peer[post->object];
	int err = 0;

	if (maker->advancing) /* two that were killed would wait for each other */
		return 0;
	for (uint32_t i = 0; !err && peer && post_is_send(post) && i < post->nwr; i++) {
		uint32_t process = trace_object(program->trace, peer)->process;

		if (links_find_status(&maker->links, program->at, i) == IBV_WC_RETRY_EXC_ERR &&
		    process != program->process && !maker->ended[process] &&
		    was_killed(maker, process))
			err = end_process(maker, process);
	}
	return err;
}

static int make_post(struct maker *maker, const struct post *post)
{
	int err = end_silent_peer(maker, post);

	return err ?: traffic_add_post(maker, post);
}

static int make_statements(struct maker *maker, const struct trace_event *event)
{
	struct program *program = maker->program;
	uint32_t object = event->kind == TRACE_CALL || event->kind == TRACE_RETURN
				  ? event->call->object
			  : event->kind == TRACE_POST   ? event->post->object
			  : event->kind == TRACE_POLL   ? event->poll->object
			  : event->kind == TRACE_NOTIFY ? event->notify->object
							: 0;
	int err;

	if (event->inner)
		return 0;
	if (event->kind == TRACE_EXIT)
		return calls_add_end(maker, event->process);
	if (maker->ended[event->process]) /* generate_rest() */
		return 0;
	program->at = event->id;
	program->process = event->process;
	program->time = event->time;
	err = check_objects(program, event, object);
	if (!err)
		err = check_fork(maker, object);
	if (err)
		return err;
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return calls_add(maker, event);
	case TRACE_POST:
		return make_post(maker, event->post);
	case TRACE_POLL:
		return traffic_add_poll(maker, event->poll);
	case TRACE_NOTIFY:
		return traffic_add_notify(maker, event->notify);
	default:
		return 0;
	}
}

static int read_all(struct maker *maker,
		    int (*take)(struct maker *maker, const struct trace_event *event))
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(maker->program->trace, NULL, &cursor);

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = parse_args(event) ?: take(maker, event);
		if (err)
			break;
	}
	cursor_close(cursor);
	return err;
}

/* Refuse a trace that lacks events: the program could not repeat them. */
static int check_whole(struct program *program)
{
	struct trace_loss loss = trace_loss(program->trace);
	const char *filter = trace_meta(program->trace, "filter");

	if (program->allow_partial)
		return 0;
	if (loss.events)
		return program_refuse_all("the trace lacks %llu events; --allow-partial generates "
					  "a program from the rest",
					  (unsigned long long)loss.events);
	if (trace_sampling_factor(program->trace) > 1)
		return program_refuse_all("only one of %u posts and polls was recorded",
					  trace_sampling_factor(program->trace));
	if (filter && *filter)
		return program_refuse_all("the trace was recorded with --filter; --allow-partial "
					  "generates a program from the rest");
	return 0;
}

/* Initialise a pass that makes statements. */
static int init_pass(struct maker *maker)
{
	const struct program *program = maker->program;
	int err = credits_init(&maker->credits, &maker->order);

	if (err)
		return err;
	maker->named = calloc(program->nobjects + 1, sizeof(*maker->named));
	maker->needed = calloc(program->nobjects + 1, sizeof(*maker->needed));
	maker->untold = calloc(program->nobjects + 1, sizeof(*maker->untold));
	maker->armed = calloc(program->nobjects + 1, sizeof(*maker->armed));
	maker->ended = calloc(program->nprocesses + 1, sizeof(*maker->ended));
	maker->sent = calloc(program->nobjects + 1, sizeof(*maker->sent));
	maker->received = calloc(program->nobjects + 1, sizeof(*maker->received));
	if (!maker->sent || !maker->received)
		return log_err(-ENOMEM, "emit");
	if (!maker->named || !maker->needed || !maker->untold || !maker->armed || !maker->ended)
		return log_err(-ENOMEM, "emit");
	return 0;
}

static void fini_pass(struct maker *maker)
{
	for (uint32_t i = 0; maker->named && maker->needed && i <= maker->program->nobjects; i++) {
		free(maker->named[i].objects);
		free(maker->needed[i].objects);
	}
	free(maker->named);
	free(maker->needed);
	free(maker->untold);
	free(maker->armed);
	free(maker->ended);
	free(maker->sent);
	free(maker->received);
	maker->sent = maker->received = NULL;
	if (maker->credits.order)
		credits_fini(&maker->credits);
	maker->named = maker->needed = NULL;
	maker->untold = NULL;
	maker->armed = maker->ended = NULL;
	maker->credits = (struct credits){ 0 };
}

/* Begin one more pass, and discard what the last one made. */
static int begin_next_pass(struct maker *maker)
{
	int err;

	fini_pass(maker);
	program_restart(maker->program);
	err = order_restart(&maker->order);
	return err ? err : init_pass(maker);
}

/* Do statements depend on later events? */
static bool needs_plan(const struct program *program)
{
	bool shared = program->nthreads > 1;

	for (uint32_t i = 1; !shared && i <= program->nobjects; i++)
		shared = trace_object(program->trace, i)->kind == OBJECT_srq;
	return shared;
}

/* Find which events are waited for and which SRQs starved before statements are made. */
static int plan_order(struct maker *maker)
{
	struct program *program = maker->program;
	bool again;
	int err;

	do {
		program->phrase.ignored = true;
		err = read_all(maker, make_statements);
		program->phrase.ignored = false;
		again = program->again;
		if (!err && again) {
			order_fini(&maker->order);
			err = order_init(&maker->order, program);
		}
		if (!err)
			err = begin_next_pass(maker);
	} while (!err && again);
	return err;
}

int build_program(struct maker *maker, struct program *program)
{
	int err = check_whole(program);

	maker->program = program;
	if (!err)
		err = order_init(&maker->order, program);
	if (err)
		return err;
	maker->last = calloc(program->nprocesses + 1, sizeof(*maker->last));
	if (!maker->last)
		return log_err(-ENOMEM, "emit");
	trace_last_times(program->trace, maker->last, program->nprocesses + 1);
	err = links_init(&maker->links, program);
	if (!err)
		err = read_all(maker, learn_event);
	if (!err && memory_finish(&maker->memory))
		err = log_err(-ENOMEM, "emit");
	if (!err)
		err = init_pass(maker);
	if (!err && needs_plan(program))
		err = plan_order(maker);
	if (!err)
		err = read_all(maker, make_statements);
	return err ? err : order_finish(&maker->order);
}

void build_fini(struct maker *maker)
{
	fini_pass(maker);
	order_fini(&maker->order);
	free(maker->last);
	memory_fini(&maker->memory);
	links_fini(&maker->links);
}
