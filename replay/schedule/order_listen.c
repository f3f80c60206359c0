/*
 * Connection requests that were sent before the listener existed
 *
 *	client: connect,  create queue pairs ...                     connect
 *	server:                              create, bind, listen
 *
 * The server's calls are moved before the first request. That is possible if the calls depend on
 * nothing else: the server creates its listener itself, no other thread of its process has events
 * meanwhile, and the process did not begin meanwhile. Otherwise they are not moved, and the request
 * is sent once the server listens (cm_call.c).
 */
#include "replay/schedule/order_listen.h"

static bool is_call(const struct trace_event *event)
{
	return event->kind == TRACE_CALL || event->kind == TRACE_RETURN;
}

/* Does the event have no effect on other threads? */
static bool is_private(const struct trace_event *event)
{
	if (!is_call(event))
		return false;
	switch (event->call->verb) {
	case VERB_rdma_listen:
	case VERB_rdma_bind_addr:
	case VERB_rdma_set_option:
	case VERB_rdma_destroy_id: /* of an identifier on which librdmacm tried an address */
	case VERB_rdma_destroy_event_channel:
	case VERB_rdma_freeaddrinfo:
		return true;
	default:
		return verb_infos[event->call->verb].effect == EFFECT_CREATE ||
		       verb_infos[event->call->verb].effect == EFFECT_QUERY;
	}
}

/* May the events from @from to @listen, of its thread, be moved before those of other threads? */
static bool may_move_earlier(const struct entry *from, const struct trace_event *listen)
{
	for (const struct entry *at = from; at->event != listen; at++) {
		const struct trace_event *event = at->event;

		if (event->kind == TRACE_FORK || event->kind == TRACE_EXIT)
			return false;
		if (event->id.thread == listen->id.thread ? !is_private(event)
							  : event->process == listen->process)
			return false;
	}
	return true;
}

unsigned int order_find_unheard(const struct entry *events, unsigned int count,
				const struct map *heard)
{
	const struct trace_event *listen = events[count - 1].event;
	uint64_t by;

	for (unsigned int i = 0; i < count; i++) {
		const struct trace_event *event = events[i].event;

		if (event->kind == TRACE_CALL && event->call->verb == VERB_rdma_connect &&
		    map_get(heard, event_key(event->id), &by) && by == event_key(listen->id))
			return may_move_earlier(&events[i], listen) ? i : count;
	}
	return count;
}
