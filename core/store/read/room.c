/*
 * Memory for the data that events point to: one block, and a list of larger data
 */
#include "core/store/read/room.h"

#include <errno.h>
#include <stdlib.h>

struct room_block {
	struct room_block *next;
	max_align_t bytes[];
};

int room_init(struct room *room, size_t size)
{
	*room = (struct room){ .at = aligned_alloc(64, (size + 63) & ~(size_t)63), .size = size };
	return room->at ? 0 : -ENOMEM;
}

void room_clear(struct room *room)
{
	while (room->more) {
		struct room_block *more = room->more;

		room->more = more->next;
		free(more);
	}
	room->used = 0;
	room->clears++;
}

void room_fini(struct room *room)
{
	room_clear(room);
	free(room->at);
	*room = (struct room){ 0 };
}

void *room_take_separate(struct room *room, size_t bytes)
{
	struct room_block *more = malloc(sizeof(*more) + bytes);

	if (!more)
		return NULL;
	more->next = room->more;
	room->more = more;
	return more->bytes;
}
