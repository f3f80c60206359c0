/*
 * Room in queues
 */
#include "cli/emit/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/ids.h"
#include "core/wire/log.h"

int rooms_init(struct rooms *rooms, struct order *order)
{
	memset(rooms, 0, sizeof(*rooms));
	rooms->order = order;
	rooms->at = calloc(2 * ((size_t)order->program->nobjects + 1), sizeof(*rooms->at));
	return rooms->at ? 0 : log_err(-ENOMEM, "emit");
}

void rooms_fini(struct rooms *rooms)
{
	for (size_t i = 0; rooms->at && i < 2 * ((size_t)rooms->order->program->nobjects + 1); i++)
		free(rooms->at[i].made);
	free(rooms->at);
	map_fini(&rooms->posted);
}

static struct room *find_room(struct rooms *rooms, uint32_t queue, bool send)
{
	return &rooms->at[2 * (size_t)queue + send];
}

void rooms_set_size(struct rooms *rooms, uint32_t queue, bool send, uint64_t size)
{
	find_room(rooms, queue, send)->size = size < UINT32_MAX ? (uint32_t)size : 0;
}

/* So many requests are done by the current event. */
static int make_room(struct rooms *rooms, struct room *room, uint64_t requests)
{
	while (room->nmade < requests && room->nmade < room->posted) {
		struct place *place = vec_push(room->made, room->nmade);

		if (!place)
			return log_err(-ENOMEM, "emit");
		*place = rooms->order->now;
	}
	return 0;
}

int rooms_reset(struct rooms *rooms, uint32_t queue)
{
	struct room *sends = find_room(rooms, queue, true);
	struct room *receives = find_room(rooms, queue, false);
	int err = make_room(rooms, sends, sends->posted);

	return err ? err : make_room(rooms, receives, receives->posted);
}

int rooms_take(struct rooms *rooms, uint32_t queue, bool send, uint32_t requests)
{
	struct room *room = find_room(rooms, queue, send);
	uint64_t need;

	if (!room->size)
		return 0;
	if (send && map_put(&rooms->posted, event_key(rooms->order->program->at), room->posted))
		return log_err(-ENOMEM, "emit");
	room->posted += requests;
	need = room->posted > room->size ? room->posted - room->size : 0;
	return need && need <= room->nmade ? order_wait_for(rooms->order, &room->made[need - 1])
					   : 0;
}

int rooms_make(struct rooms *rooms, uint32_t queue, bool send, struct event_id id, uint32_t i)
{
	struct room *room = find_room(rooms, queue, send);
	uint64_t before, done = room->nmade + 1;

	if (send && id.thread && map_get(&rooms->posted, event_key(id), &before))
		done = before + i + 1;
	return room->size ? make_room(rooms, room, done) : 0;
}
