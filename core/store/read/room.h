#pragma once
/*
 * Memory for the data that events point to, freed all at once.
 *
 * The block is reused after room_clear(); data that does not fit into it gets separate memory. All
 * zero: empty. One thread at a time.
 */
#include <stddef.h>

struct room_block;

struct room {
	char *at; /* 16-byte aligned */
	size_t used, size;
	struct room_block *more;
	unsigned int clears; /* how often it was emptied */
};

/* Allocate a block of @size bytes. 0 or -ENOMEM. */
int room_init(struct room *room, size_t size);

void room_fini(struct room *room);

/* Empty the room: none of its memory is in use any more. */
void room_clear(struct room *room);

/* Slow path of room_take(), for a full block: call room_take() instead. */
void *room_take_separate(struct room *room, size_t bytes);

/* Memory for @bytes, not zeroed; NULL if out of memory. */
static inline void *room_take(struct room *room, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	void *at = room->at + room->used;

	if (__builtin_expect(need > room->size - room->used, 0))
		return room_take_separate(room, bytes);
	room->used += need;
	return at;
}
