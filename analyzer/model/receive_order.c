/*
 * What completed sends of one end show of the receives of the other
 *
 * 	sends	 m  m  w  m	messages 1 2 2 3; the last completes: 3 messages are done
 * 	receives r  r  r  r	the third of them was posted before that
 *
 * Events of the two ends may arrive in a slightly wrong order: either may come first.
 */
#include "analyzer/model/receive_order.h"

#include <stdlib.h>

#include "core/base/vec.h"

enum { AHEAD = 1 << 20 };

/*
 * Allocate memory for one more element after those from @first to @n. An empty array begins at 0
 * again.
 */
#define MAKE_ROOM(order, array, n, first, size)                                  \
	do {                                                                     \
		if ((first) == (n))                                              \
			(first) = (n) = 0;                                       \
		if ((n) - (first) >= AHEAD || vec_reserve(array, size, (n) + 1)) \
			(order)->broken = true;                                  \
	} while (0)

void receive_order_fini(struct receive_order *order)
{
	free(order->posted);
	free(order->sends);
	free(order->done);
}

void receive_order_add_receive(struct receive_order *order, int64_t time)
{
	MAKE_ROOM(order, order->posted, order->nposted, order->first_posted, order->posted_size);
	if (!order->broken)
		order->posted[order->nposted++] = time;
}

void receive_order_add_send(struct receive_order *order, struct event_id post, uint32_t index,
			    bool is_message)
{
	if (order->thread && order->thread != post.thread) /* their order is not known */
		order->broken = true;
	order->thread = post.thread;
	order->messages += is_message;
	MAKE_ROOM(order, order->sends, order->nsends, order->first_send, order->sends_size);
	if (!order->broken)
		order->sends[order->nsends++] = (struct order_send){ post, index, order->messages };
}

static bool is_send(const struct order_send *send, struct event_id post, uint32_t index)
{
	return send->post.thread == post.thread && send->post.n == post.n && send->index == index;
}

void receive_order_end_send(struct receive_order *order, struct event_id post, uint32_t index,
			    int64_t time)
{
	uint64_t messages = 0;
	size_t i = order->first_send;

	while (i < order->nsends && !is_send(&order->sends[i], post, index))
		i++;
	if (order->broken || i == order->nsends)
		return;
	messages = order->sends[i].messages;
	order->first_send = i + 1;
	if (!messages)
		return;
	MAKE_ROOM(order, order->done, order->ndone, order->first_done, order->done_size);
	if (!order->broken)
		order->done[order->ndone++] = (struct order_done){ messages, time };
}

bool receive_order_take_next(struct receive_order *order, int64_t *ret_posted, int64_t *ret_done)
{
	while (!order->broken && order->first_done < order->ndone) {
		const struct order_done *done = &order->done[order->first_done];
		uint64_t ahead = done->messages - 1 - order->before;

		if (done->messages <= order->before) { /* no new message was completed */
			order->first_done++;
			continue;
		}
		if (ahead >= order->nposted - order->first_posted)
			return false;
		*ret_posted = order->posted[order->first_posted + ahead];
		*ret_done = done->time;
		order->first_posted += ahead + 1;
		order->before += ahead + 1;
		order->first_done++;
		return true;
	}
	return false;
}
