/*
 * Ids and their events
 *
 * An id has two numbers: a handle for the program, which is small and reused; and a serial for
 * messages. An incoming request immediately creates a new id in the listener's channel. The event
 * of the request reports this id to the program. Until the program accepts, other events of the id
 * cannot be delivered, and are dropped.
 */
#include "shim/soft/cm/cm_id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "shim/soft/cm/cm_channel.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"

enum { IDS = 1 << 16 }; /* limit of librdmacm's index */

static struct cm_id *ids[IDS];
static uint32_t high; /* indexes from here on were never used */
static uint32_t last_serial;

struct cm_name cm_id_name(const struct cm_id *id)
{
	return (struct cm_name){ segment_own->instance, segment_own->node, id->serial, { 0 } };
}

/* A sequence number of 24 bits. */
static uint32_t next_sequence_number(void)
{
	uint32_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		number = last_serial * 2654435761u;
	return number & 0xffffff;
}

static int take_handle(struct cm_id *id)
{
	uint32_t i;

	for (i = 0; i < high && ids[i]; i++)
		;
	if (i == IDS)
		return -ENOMEM;
	if (i == high)
		high++;
	id->handle = i;
	ids[i] = id;
	return 0;
}

static void join_channel(struct cm_id *id, struct cm_channel *channel)
{
	id->channel = channel;
	id->next = channel->ids;
	channel->ids = id;
}

static void leave_channel(struct cm_id *id)
{
	struct cm_id **p = &id->channel->ids;

	while (*p != id)
		p = &(*p)->next;
	*p = id->next;
}

int cm_id_new(struct cm_channel *channel, uint16_t ps, uint8_t qp_type, struct cm_id **ret_id)
{
	struct cm_id *id = calloc(1, sizeof(*id));
	int err;

	if (!id)
		return -ENOMEM;
	id->ps = ps;
	id->qp_type = qp_type;
	id->serial = ++last_serial;
	id->rq_psn = next_sequence_number();
	err = cm_wire_add_name(channel->number, id->serial);
	if (!err) {
		err = take_handle(id);
		if (err < 0)
			cm_wire_remove_name(id->serial);
	}
	if (err < 0) {
		free(id);
		return err;
	}
	join_channel(id, channel);
	*ret_id = id;
	return 0;
}

int cm_id_get(struct cm_channel *channel, uint32_t handle, struct cm_id **ret_id)
{
	if (handle >= high || !ids[handle])
		return -ENOENT;
	if (ids[handle]->channel != channel)
		return -EINVAL;
	*ret_id = ids[handle];
	return 0;
}

struct cm_id *cm_id_by_serial(uint32_t serial)
{
	uint32_t i;

	for (i = 0; i < high; i++)
		if (ids[i] && ids[i]->serial == serial)
			return ids[i];
	return NULL;
}

struct cm_id *cm_id_by_peer(const struct cm_name *peer)
{
	uint32_t i;

	for (i = 0; i < high; i++)
		if (ids[i] && ids[i]->peer.serial == peer->serial &&
		    cm_name_same_place(&ids[i]->peer, peer))
			return ids[i];
	return NULL;
}

struct cm_event *cm_id_event(struct cm_id *id, int type, int status)
{
	struct cm_event *event;

	event = id->uid ? calloc(1, sizeof(*event)) : NULL;
	if (!event)
		return NULL;
	event->id = id;
	event->resp.uid = id->uid;
	event->resp.id = id->handle;
	event->resp.event = type;
	event->resp.status = status;
	cm_channel_put(id->channel, event);
	return event;
}

struct cm_event *cm_id_take_event(struct cm_channel *from, const struct cm_id *id)
{
	struct cm_event **p, *event;

	for (p = &from->first; (event = *p); p = &event->next) {
		if (event->id != id && event->request != id)
			continue;
		*p = event->next;
		if (!event->next)
			from->last = p;
		return event;
	}
	return NULL;
}

void cm_id_request_done(const struct cm_event *event)
{
	struct cm_name name = cm_id_name(event->id);

	cm_port_note_accepted(event->id->port, &name);
}

void cm_id_free(struct cm_id *id)
{
	leave_channel(id);
	free(id);
}

void cm_id_drop_handle(struct cm_id *id)
{
	ids[id->handle] = NULL;
}

void cm_id_change_channel(struct cm_id *id, struct cm_channel *channel)
{
	leave_channel(id);
	join_channel(id, channel);
}

int cm_id_bind_port(struct cm_id *id)
{
	struct cm_port want = {
		.owner = cm_id_name(id),
		.addr = id->src,
		.ps = id->ps,
		.reuse = id->reuse,
		.afonly = id->afonly,
	};
	int err = cm_port_bind(&want, &id->port);

	if (err < 0)
		return err;
	id->src.port = want.addr.port;
	id->has_port = true;
	return 0;
}

void cm_id_forget(void)
{
	memset(ids, 0, high * sizeof(ids[0]));
	high = 0;
}
