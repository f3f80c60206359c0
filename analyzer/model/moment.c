/*
 * An event, remembered after it has been processed
 */
#include "analyzer/model/moment.h"

struct moment moment_of(const struct trace_event *event)
{
	struct moment moment = {
		.id = event->id, .verb = VERB_COUNT, .process = event->process, .time = event->time
	};

	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		moment.verb = event->call->verb;
		moment.stack = event->call->stack;
		moment.time = event->call->begin;
		break;
	case TRACE_POST:
		moment.verb = event->post->verb;
		moment.stack = event->post->stack;
		break;
	case TRACE_POLL:
		moment.verb = event->poll->verb;
		moment.stack = event->poll->stack;
		break;
	case TRACE_MISUSE:
		moment.verb = event->misuse->verb;
		moment.stack = event->misuse->stack;
		break;
	case TRACE_FORK:
		moment.stack = event->fork->stack;
		break;
	case TRACE_MEMORY:
		moment.stack = event->memory->stack;
		break;
	default:
		break;
	}
	return moment;
}
