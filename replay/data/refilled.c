/*
 * Buffers that were filled again before their message was sent
 *
 * The latest messages are in a ring, each with the number of the message that replaced it:
 *
 *	address -> number of the last message at it
 *	message -> number -> number of the next at its address, 0: none
 */
#include "replay/data/refilled.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/map.h"
#include "replay/state/state.h"

enum { REFILLS_STORED = 1 << 14 };

struct stored_refill {
	struct refill message;
	uint64_t next;
};

struct refilled {
	struct map at, number;
	uint64_t last; /* number; the first is 1 */
	struct stored_refill ring[REFILLS_STORED];
};

int refilled_new(struct refilled **ret_refilled)
{
	*ret_refilled = calloc(1, sizeof(**ret_refilled));
	return *ret_refilled ? 0 : -ENOMEM;
}

void refilled_free(struct refilled *f)
{
	if (!f)
		return;
	map_fini(&f->at);
	map_fini(&f->number);
	free(f);
}

static struct stored_refill *find_refill(struct refilled *f, uint64_t number)
{
	return number && number + REFILLS_STORED > f->last ? &f->ring[number % REFILLS_STORED]
							   : NULL;
}

int refilled_note(struct refilled *f, const void *at, struct refill message,
		  const struct replica_qp *sender)
{
	uint64_t before = 0;
	struct stored_refill *kept;

	map_get(&f->at, (uintptr_t)at, &before);
	kept = find_refill(f, before);
	if (kept && requests_has(&sender->sent, kept->message.event, kept->message.index))
		kept->next = f->last + 1;
	kept = &f->ring[++f->last % REFILLS_STORED];
	if (f->last > REFILLS_STORED)
		map_remove(&f->number, event_part_key(kept->message.event, kept->message.index));
	*kept = (struct stored_refill){ .message = message };
	return map_put(&f->at, (uintptr_t)at, f->last)
		       ?: map_put(&f->number, event_part_key(message.event, message.index),
				  f->last);
}

bool refilled_next(const struct refilled *f, struct refill *message)
{
	const struct stored_refill *kept;
	uint64_t number;

	if (!map_get(&f->number, event_part_key(message->event, message->index), &number))
		return false;
	kept = &f->ring[number % REFILLS_STORED];
	if (!kept->next || kept->next + REFILLS_STORED <= f->last)
		return false;
	*message = f->ring[kept->next % REFILLS_STORED].message;
	return true;
}
