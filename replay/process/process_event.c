/*
 * Events of replayed processes: check, get, acknowledge, raise
 */
#include <poll.h>

#include "replay/device/dispatch.h"
#include "replay/process/process.h"
#include "replay/process/process_data.h"
#include "replay/process/process_priv.h"

static bool has_event(struct mirror *mirror)
{
	struct channel *c = process_data_begin(mirror);
	bool there;

	c->args[0] = mirror->real;
	c->args[1] = mirror->kind;
	there = !process_data_ask(c, PROCESS_LOOK) && c->ret;
	process_data_end(c);
	return there;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

bool process_has_cq_event(struct ibv_comp_channel *channel)
{
	struct mirror *mirror = mirror_of(channel);

	return mirror ? has_event(mirror) : is_readable(channel->fd);
}

bool process_has_async_event(struct ibv_context *context)
{
	struct mirror *mirror = mirror_of(context);

	return mirror ? has_event(mirror) : is_readable(context->async_fd);
}

int process_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			 void **ret_context)
{
	const struct mirror *mirror = mirror_of(channel);
	struct channel *c;
	int ret = -1;

	if (!mirror)
		return ibv_get_cq_event(channel, ret_cq, ret_context);
	c = process_data_begin(mirror);
	c->args[0] = mirror->real;
	if (!process_data_ask(c, PROCESS_CQ_EVENT)) {
		ret = (int)c->ret;
		*ret_cq = process_object(c, c->args[1]);
		*ret_context = (void *)(uintptr_t)c->args[2];
	}
	process_data_end(c);
	return ret;
}

/* Is the element of the event an object? For a port or the device it is a number. */
static bool is_about_object(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return false;
	default:
		return true;
	}
}

int process_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	const struct mirror *mirror = mirror_of(context);
	struct process_room room;
	struct channel *c;
	int ret = -1;

	if (!mirror)
		return ibv_get_async_event(context, event);
	c = process_data_begin(mirror);
	room = process_room_of(c);
	c->args[0] = mirror->real;
	c->args[1] = (uintptr_t)process_room_take(&room, sizeof(*event));
	if (!process_data_ask(c, PROCESS_ASYNC)) {
		ret = (int)c->ret;
		*event = *(struct ibv_async_event *)(uintptr_t)c->args[1];
		if (!ret && is_about_object(event->event_type))
			event->element.qp = process_object(c, (uintptr_t)event->element.qp);
	}
	process_data_end(c);
	return ret;
}

/* A copy of @event for the process, in @c's buffer; element NULL: the process does not have it. */
static uint64_t pack_event(struct channel *c, const struct ibv_async_event *event)
{
	struct process_room room = process_room_of(c);
	struct ibv_async_event *packed = process_room_take(&room, sizeof(*packed));

	*packed = *event;
	if (is_about_object(event->event_type))
		packed->element.qp = process_data_real(c, event->element.qp);
	return (uintptr_t)packed;
}

/* With --processes only events about an object are acknowledged: others are not counted. */
void process_ack_async_event(struct ibv_async_event *event)
{
	const struct mirror *mirror =
		is_about_object(event->event_type) ? mirror_of(event->element.qp) : NULL;
	struct channel *c;

	if (!mirror) {
		if (!processes_are_used())
			ibv_ack_async_event(event);
		return;
	}
	c = process_data_begin(mirror);
	c->args[0] = pack_event(c, event);
	process_data_ask(c, PROCESS_ACK_ASYNC);
	process_data_end(c);
}

void process_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	const uint64_t args[16] = { (uintptr_t)cq, n };

	if (mirror_of(cq))
		dispatch_call(VERB_ack_cq_events, args);
	else
		ibv_ack_cq_events(cq, n);
}

int process_raise(int (*raise)(struct ibv_context *context, const struct ibv_async_event *event),
		  struct ibv_context *context, const struct ibv_async_event *event)
{
	const struct mirror *mirror = mirror_of(context);
	const struct ibv_async_event *packed;
	struct channel *c;
	int ret;

	if (!mirror)
		return raise(context, event);
	c = process_data_begin(mirror);
	c->args[1] = pack_event(c, event);
	c->args[0] = mirror->real;
	packed = (const void *)(uintptr_t)c->args[1];
	if (is_about_object(event->event_type) && !packed->element.qp)
		ret = EINVAL;
	else
		ret = process_data_ask(c, PROCESS_RAISE) ? EINVAL : (int)c->ret;
	process_data_end(c);
	return ret;
}
