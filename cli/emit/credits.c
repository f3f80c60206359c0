/*
 * Free entries of queues
 */
#include "cli/emit/credits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/log.h"

/* A post of sends that are not all done. */
struct posted_sends {
	struct event_id id;
	uint64_t before; /* requests */
};

/* A send or receive queue, or an SRQ. */
struct queue_credits {
	uint32_t size;   /* requests; 0: not known */
	uint64_t posted; /* number of requests posted */
	/* struct order_place: the polls that freed the entries, one for each request */
	struct fifo made;
	struct fifo sends; /* struct posted_sends */
};

int credits_init(struct credits *credits, struct order *order)
{
	memset(credits, 0, sizeof(*credits));
	credits->order = order;
	credits->at = calloc(2 * ((size_t)order->program->nobjects + 1), sizeof(*credits->at));
	return credits->at ? 0 : log_err(-ENOMEM, "emit");
}

void credits_fini(struct credits *credits)
{
	for (size_t i = 0; credits->at && i < 2 * ((size_t)credits->order->program->nobjects + 1);
	     i++) {
		fifo_fini(&credits->at[i].made);
		fifo_fini(&credits->at[i].sends);
	}
	free(credits->at);
}

static struct queue_credits *find_credits(struct credits *credits, uint32_t queue, bool send)
{
	return &credits->at[2 * (size_t)queue + send];
}

void credits_set_size(struct credits *credits, uint32_t queue, bool send, uint64_t size)
{
	find_credits(credits, queue, send)->size = size < UINT32_MAX ? (uint32_t)size : 0;
}

static struct posted_sends *get_posted(const struct queue_credits *room, size_t i)
{
	return fifo_get(&room->sends, sizeof(struct posted_sends), room->sends.dropped + i);
}

/* The current event completes @requests. */
static int free_entries(struct credits *credits, struct queue_credits *room, uint64_t requests)
{
	while (fifo_count(&room->made) < requests && fifo_count(&room->made) < room->posted) {
		struct order_place *place = fifo_add(&room->made, sizeof(*place));

		if (!place)
			return log_err(-ENOMEM, "emit");
		*place = credits->order->now;
	}
	while (room->sends.n) { /* completed requests are not queried again */
		const struct posted_sends *next = get_posted(room, 1);

		if ((next ? next->before : room->posted) > fifo_count(&room->made))
			break;
		fifo_drop(&room->sends, room->sends.dropped + 1);
	}
	return 0;
}

int credits_reset(struct credits *credits, uint32_t queue)
{
	struct queue_credits *sends = find_credits(credits, queue, true);
	struct queue_credits *receives = find_credits(credits, queue, false);
	int err = free_entries(credits, sends, sends->posted);

	return err ? err : free_entries(credits, receives, receives->posted);
}

int credits_take(struct credits *credits, uint32_t queue, bool send, uint32_t requests)
{
	struct queue_credits *room = find_credits(credits, queue, send);
	struct posted_sends *posted = NULL;
	const struct order_place *made;
	uint64_t need;

	if (!room->size)
		return 0;
	if (send) {
		posted = fifo_add(&room->sends, sizeof(*posted));
		if (!posted)
			return log_err(-ENOMEM, "emit");
		*posted = (struct posted_sends){ credits->order->program->at, room->posted };
	}
	room->posted += requests;
	need = room->posted > room->size ? room->posted - room->size : 0;
	if (!need)
		return 0;
	made = fifo_get(&room->made, sizeof(*made), need - 1);
	fifo_drop(&room->made, need - 1); /* the next post needs at least as many */
	return made ? order_wait_for(credits->order, made) : 0;
}

/*
 * The number of requests completed when request @i of the post @id is done; 0: not known.
 */
static uint64_t count_done(const struct queue_credits *room, struct event_id id, uint32_t i)
{
	for (size_t at = 0; at < room->sends.n; at++) {
		const struct posted_sends *posted = get_posted(room, at);

		if (posted->id.thread == id.thread && posted->id.n == id.n)
			return posted->before + i + 1;
	}
	return 0;
}

int credits_give_back(struct credits *credits, uint32_t queue, bool send, struct event_id id,
		      uint32_t i)
{
	struct queue_credits *room = find_credits(credits, queue, send);
	bool known = send && id.thread && order_has_begun(credits->order, id);
	uint64_t done = known ? count_done(room, id, i) : fifo_count(&room->made) + 1;

	return room->size ? free_entries(credits, room, done) : 0;
}
