#pragma once
/*
 * Memory for what events point to, given back all at once.
 *
 * A block is reused; what does not fit there gets memory of its own. Zeroed it is empty.
 * One thread at a time.
 */
#include <stddef.h>

struct room_more;

struct room {
	char *at; /* 16-byte aligned */
	size_t used, size;
	struct room_more *more;
};

/* A block of @size bytes. 0 or -ENOMEM. */
int room_init(struct room *room, size_t size);

void room_fini(struct room *room);

/* Nothing of it is used any more. */
void room_clear(struct room *room);

/* Where the block is full; call room_take(). */
void *room_take_more(struct room *room, size_t bytes);

/* So many bytes, not zeroed; NULL without memory. */
static inline void *room_take(struct room *room, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	void *at = room->at + room->used;

	if (__builtin_expect(need > room->size - room->used, 0))
		return room_take_more(room, bytes);
	room->used += need;
	return at;
}
