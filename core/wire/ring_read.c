/*
 * The reading side of one ring
 *
 * Nothing in the file is trusted: another process wrote it, and may write while
 * it is read. So events are copied out in bulk, and checked and used in the copy
 * only; of the head each word is read once.
 *
 * What cannot be read is stepped over: events are numbered, so behind the damage
 * the next sound one is found by its number and its successor's, and the numbers
 * say how many are missing.
 *
 * Not here: how the file is mapped (ring.c), where the writer turned (ring_area.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/wire/ring.h"
#include "core/wire/ring_priv.h"

enum { COPY = 16 << 10 }; /* bytes that are copied at a time: they stay in the first cache */

/* The reader's next two pieces. */
static int move_on(struct ring *ring)
{
	int err = ring_move(ring, ring->fd, ring->limit, MAP_PRIVATE);

	ring->limit += ring->mask + 1;
	return err;
}

static void drop_copy(struct ring *ring)
{
	free(ring->copy);
	ring->copy = NULL;
}

/* Bytes of the copy that were not stepped over yet. */
static size_t copied(const struct ring *ring)
{
	const struct ring_copy *copy = ring->copy;

	return copy && ring->reserved - copy->from <= copy->to - copy->from ?
		       copy->to - ring->reserved : 0;
}

static const struct event_head *next_copied(const struct ring *ring)
{
	return (const void *)(ring->copy->bytes + (ring->reserved - ring->copy->from));
}

/* Bytes of the events that follow each other by their numbers, whatever the tail says. */
static uint64_t follow(const struct ring *ring)
{
	uint64_t n = 0, end = ring->grows ? 0 : ring->mask + 1 - sizeof(struct event_head);

	for (uint32_t seq = ring->seq + 1; n < end; seq++) {
		const uint64_t *at = (const void *)(ring->data + ((ring->reserved + n) & ring->mask));
		/* words, type, flags and seq */
		uint64_t head = __atomic_load_n(at, __ATOMIC_ACQUIRE), words = head & UINT16_MAX;

		if (words * 8 < sizeof(struct event_head) || head >> 32 != seq ||
		    n + words * 8 > ring->room)
			break;
		n += words * 8;
	}
	return n;
}

/* Bytes that wait, as the writer says, or -EBADMSG where that cannot be. */
static int64_t look_for_more(struct ring *ring)
{
	/* pairs with the store in ring_commit() */
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire), end = tail;
	uint64_t waiting;

	if (tail == ring->reserved)
		return 0;
	if (!ring->grows && area_find_end(ring, tail, &end))
		return -EBADMSG;
	waiting = end - ring->reserved;
	if (ring->grows && waiting > ring->room - ring->reserved)
		waiting = ring->room - ring->reserved; /* the file was cut */
	if (waiting > ring->room || waiting < sizeof(struct event_head) || waiting % 8)
		waiting = follow(ring);
	if (!waiting)
		return -EBADMSG;
	if (ring->reserved >= ring->limit && move_on(ring))
		return -EBADMSG;
	return (int64_t)waiting;
}

/* Copy the next @most bytes, or what there is of them. Returns 1, 0 if nothing waits, or -errno. */
static int copy_out(struct ring *ring, uint64_t most)
{
	int64_t waiting = look_for_more(ring);
	uint64_t n = waiting < (int64_t)most ? (uint64_t)waiting : most;

	if (waiting <= 0)
		return (int)waiting;
	if (!ring->copy)
		ring->copy = malloc(sizeof(*ring->copy));
	if (!ring->copy)
		return -ENOMEM;
	memcpy(ring->copy->bytes, ring->data + (ring->reserved & ring->mask), n);
	/* what is read from now on is the copy: the compiler may not look again, either */
	atomic_signal_fence(memory_order_seq_cst);
	ring->copy->from = ring->reserved;
	ring->copy->to = ring->reserved + n;
	return 1;
}

/* The next event, if the copy has one that is whole. Returns its length or -EBADMSG. */
static int check_next(const struct ring *ring)
{
	const struct event_head *event = next_copied(ring);
	size_t bytes = event->words * 8u;

	return bytes < sizeof(*event) || bytes > copied(ring) || !event->type ||
			       event->type >= EVENT_TYPES || event->seq != ring->seq + 1 ?
		       -EBADMSG :
		       (int)bytes;
}

int ring_peek(struct ring *ring, const struct event_head **ret_event)
{
	int bytes = 1;

	if (copied(ring) < sizeof(**ret_event))
		bytes = copy_out(ring, COPY);
	/* one that goes on behind what was copied */
	if (bytes > 0 && next_copied(ring)->words * 8u > copied(ring))
		bytes = copy_out(ring, RING_EVENT_MAX);
	if (bytes > 0)
		bytes = check_next(ring);
	if (bytes <= 0) {
		drop_copy(ring);
		return bytes;
	}
	ring->unsure = 0;
	*ret_event = next_copied(ring);
	return bytes;
}

/*
 * How many events are missing before the one at byte @at of the copy; 0: there
 * is none that is sound. A number that fits is not enough: the next one has to
 * follow it, where there is one.
 */
static uint32_t count_missing(const struct ring *ring, uint64_t at, uint64_t waiting)
{
	const struct event_head *event = (const void *)(ring->copy->bytes + at), *next;
	uint64_t have = copied(ring), bytes = event->words * 8u;
	uint32_t missing = event->seq - (ring->seq + 1);

	if (bytes < sizeof(*event) || bytes > waiting - at || !event->type ||
	    event->type >= EVENT_TYPES || missing > at / sizeof(*event) + ring->unsure)
		return 0;
	if (at + bytes + sizeof(*next) > have)
		return at || ring->unsure ? missing : 0;
	next = (const void *)(ring->copy->bytes + at + bytes);
	return next->words * 8u >= sizeof(*next) && next->seq == event->seq + 1 ? missing : 0;
}

/* The writer went over what was not read: it had been told of room that it did not have. */
static uint64_t catch_up(struct ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	uint64_t before = ring->odd_tail, bytes = tail - ring->reserved;

	ring->odd_tail = tail;
	/* a tail that was overwritten does not grow like one */
	if (ring->grows || tail % 8 || bytes >> 63 || !before || tail == before ||
	    tail - before > ring->room || area_find(ring, tail))
		return 0;
	ring->reserved = tail;
	ring->unsure = INT32_MAX;
	return bytes;
}

/* Go to the next event of the copy that is sound, or behind all of it. */
static uint32_t find_sound(struct ring *ring, uint64_t waiting)
{
	uint64_t have = copied(ring), at = 0;

	for (; at + sizeof(struct event_head) <= have; at += 8) {
		uint32_t missing = count_missing(ring, at, waiting);

		if (missing) {
			ring->reserved += at;
			ring->seq += missing;
			ring->unsure = 0;
			return missing;
		}
	}
	/* one may begin with the last word */
	ring->reserved += have < waiting ? at : have;
	ring->unsure += (uint32_t)(have / sizeof(struct event_head));
	return 0;
}

int64_t ring_skip(struct ring *ring, uint32_t *ret_events)
{
	uint64_t from = ring->reserved;
	int64_t waiting, err = 1;

	*ret_events = 0;
	while (!*ret_events && err > 0 && ring->reserved - from <= ring->room &&
	       (waiting = look_for_more(ring)) > 0) {
		err = copy_out(ring, RING_EVENT_MAX);
		if (err > 0)
			*ret_events = find_sound(ring, (uint64_t)waiting);
	}
	if (err == -ENOMEM)
		return err;
	if (*ret_events)
		return (int64_t)(ring->reserved - from);
	*ret_events = 1;
	if (ring->reserved == from && !catch_up(ring))
		return 0;
	drop_copy(ring);
	ring->seq++;
	return (int64_t)(ring->reserved - from);
}

void ring_read_head(const struct ring *ring, struct ring_head *copy)
{
	/* pairs with the store in ring_drop(): the times are there with the count */
	uint64_t dropped = atomic_load_explicit(&ring->head->dropped, memory_order_acquire);
	const uint64_t *from = (const void *)ring->head;
	uint64_t *to = (void *)copy;

	for (size_t i = 0; i < sizeof(*copy) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&copy->dropped, dropped, memory_order_relaxed);
}
