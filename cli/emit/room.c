/*
 * Room in queues
 */
#include "cli/emit/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

/* A post of sends that are not all done. */
struct posted {
	struct event_id id;
	uint64_t before; /* requests */
};

/* A send or receive queue, or an SRQ. */
struct room {
	uint32_t size;     /* requests; 0: not known */
	uint64_t posted;   /* number of requests posted */
	struct fifo made;  /* struct place: the polls that freed the cells, one for each request */
	struct fifo sends; /* struct posted */
};

int rooms_init(struct rooms *rooms, struct order *order)
{
	memset(rooms, 0, sizeof(*rooms));
	rooms->order = order;
	rooms->at = calloc(2 * ((size_t)order->program->nobjects + 1), sizeof(*rooms->at));
	return rooms->at ? 0 : log_err(-ENOMEM, "emit");
}

void rooms_fini(struct rooms *rooms)
{
	for (size_t i = 0; rooms->at && i < 2 * ((size_t)rooms->order->program->nobjects + 1);
	     i++) {
		fifo_fini(&rooms->at[i].made);
		fifo_fini(&rooms->at[i].sends);
	}
	free(rooms->at);
}

static struct room *find_room(struct rooms *rooms, uint32_t queue, bool send)
{
	return &rooms->at[2 * (size_t)queue + send];
}

void rooms_set_size(struct rooms *rooms, uint32_t queue, bool send, uint64_t size)
{
	find_room(rooms, queue, send)->size = size < UINT32_MAX ? (uint32_t)size : 0;
}

static struct posted *get_posted(const struct room *room, size_t i)
{
	return fifo_get(&room->sends, sizeof(struct posted), room->sends.dropped + i);
}

/* The current event completes @requests. */
static int free_entries(struct rooms *rooms, struct room *room, uint64_t requests)
{
	while (fifo_count(&room->made) < requests && fifo_count(&room->made) < room->posted) {
		struct place *place = fifo_add(&room->made, sizeof(*place));

		if (!place)
			return log_err(-ENOMEM, "emit");
		*place = rooms->order->now;
	}
	while (room->sends.n) { /* completed requests are not queried again */
		const struct posted *next = get_posted(room, 1);

		if ((next ? next->before : room->posted) > fifo_count(&room->made))
			break;
		fifo_drop(&room->sends, room->sends.dropped + 1);
	}
	return 0;
}

int rooms_reset(struct rooms *rooms, uint32_t queue)
{
	struct room *sends = find_room(rooms, queue, true);
	struct room *receives = find_room(rooms, queue, false);
	int err = free_entries(rooms, sends, sends->posted);

	return err ? err : free_entries(rooms, receives, receives->posted);
}

int rooms_take(struct rooms *rooms, uint32_t queue, bool send, uint32_t requests)
{
	struct room *room = find_room(rooms, queue, send);
	struct posted *posted = NULL;
	const struct place *made;
	uint64_t need;

	if (!room->size)
		return 0;
	if (send) {
		posted = fifo_add(&room->sends, sizeof(*posted));
		if (!posted)
			return log_err(-ENOMEM, "emit");
		*posted = (struct posted){ rooms->order->program->at, room->posted };
	}
	room->posted += requests;
	need = room->posted > room->size ? room->posted - room->size : 0;
	if (!need)
		return 0;
	made = fifo_get(&room->made, sizeof(*made), need - 1);
	fifo_drop(&room->made, need - 1); /* the next post needs at least as many */
	return made ? order_wait_for(rooms->order, made) : 0;
}

/*
 * The number of requests completed when request @i of the post @id is done; 0: not known.
 */
static uint64_t count_done(const struct room *room, struct event_id id, uint32_t i)
{
	for (size_t at = 0; at < room->sends.n; at++) {
		const struct posted *posted = get_posted(room, at);

		if (posted->id.thread == id.thread && posted->id.n == id.n)
			return posted->before + i + 1;
	}
	return 0;
}

int rooms_make(struct rooms *rooms, uint32_t queue, bool send, struct event_id id, uint32_t i)
{
	struct room *room = find_room(rooms, queue, send);
	bool known = send && id.thread && order_has_begun(rooms->order, id);
	uint64_t done = known ? count_done(room, id, i) : fifo_count(&room->made) + 1;

	return room->size ? free_entries(rooms, room, done) : 0;
}
