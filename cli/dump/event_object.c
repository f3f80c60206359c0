/*
 * Finds the events that are about an object
 */
#include "cli/dump/event_object.h"

static bool poll_is_about(const struct poll *poll, uint32_t object)
{
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (poll->wc[i].qp == object)
			return true;
	return poll->object == object;
}

/* Does @value contain @number, at any depth? */
static bool has_number(const struct json_node *value, int64_t number)
{
	if (value->kind == JSON_INT)
		return value->number == number;
	for (const struct json_node *at = json_first(value); at; at = json_next(at))
		if (has_number(at, number))
			return true;
	return false;
}

/* Does an argument of the call hold the object's handle, at any depth? */
static bool call_names(struct trace *trace, const struct trace_event *event,
		       const struct object *object)
{
	const struct json_node *args = args_root(event->call->args);

	return args && has_number(args, (int64_t)object->handle) &&
	       trace_object_at(trace, event->process, object->kind, object->handle, event->time) ==
		       object;
}

bool event_concerns(struct trace *trace, const struct trace_event *event,
		    const struct object *object)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return event->call->object == object->id || call_names(trace, event, object);
	case TRACE_POST:
		return event->post->object == object->id;
	case TRACE_POLL:
		return poll_is_about(event->poll, object->id);
	case TRACE_NOTIFY:
		return event->notify->object == object->id;
	default:
		return false;
	}
}

static bool poll_failed(const struct poll *poll)
{
	for (uint32_t i = 0; i < poll->nwc; i++)
		if (poll->wc[i].status)
			return true;
	return poll->ret < 0;
}

bool event_failed(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return event->call->failed || event->call->end < 0;
	case TRACE_POST:
		return event->post->ret;
	case TRACE_POLL:
		return poll_failed(event->poll);
	case TRACE_NOTIFY:
		return event->notify->ret;
	default:
		return false;
	}
}

uint32_t event_find_stack(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return event->call->stack;
	case TRACE_FORK:
		return event->fork->stack;
	case TRACE_MEMORY:
		return event->memory->stack;
	case TRACE_MISUSE:
		return event->misuse->stack;
	case TRACE_POST:
		return event->post->stack;
	case TRACE_POLL:
		return event->poll->stack;
	default:
		return 0;
	}
}

uint32_t event_find_object(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return event->call->object;
	case TRACE_POST:
		return event->post->object;
	case TRACE_POLL:
		return event->poll->object;
	case TRACE_NOTIFY:
		return event->notify->object;
	default:
		return 0;
	}
}

uint32_t event_find_queue(const struct trace_event *event)
{
	if (event->kind == TRACE_POST)
		return event->post->object;
	return event->kind == TRACE_CALL || event->kind == TRACE_RETURN ? event->call->object : 0;
}

int call_error(const struct call *call)
{
	if (verb_infos[call->verb].fail == FAIL_NONZERO && call->ret > 0)
		return (int)call->ret;
	return call->error;
}
