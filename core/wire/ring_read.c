/*
 * The reading side of one ring
 *
 * Nothing in the file is trusted: another process wrote it, and may write concurrently. So events
 * are copied in bulk, and only the copy is checked and used; each word of the head is read once.
 *
 * Unreadable data is skipped. Events are numbered: the next valid event after damage is recognised
 * by its own number and by that of its successor, and the numbers show how many events are missing.
 *
 * Not here: mapping the file (ring.c), switching areas (ring_area.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/wire/ring.h"
#include "core/wire/ring_priv.h"

enum { COPY = 16 << 10 }; /* bytes copied at a time; they fit into the first-level cache */

/* Map the next two pieces of a growing ring. */
static int map_pieces(struct ring *ring)
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

/* The number of copied bytes that were not read yet. */
static size_t count_copied(const struct ring *ring)
{
	const struct ring_copy *copy = ring->copy;

	return copy && ring->reserved - copy->from <= copy->to - copy->from
		       ? copy->to - ring->reserved
		       : 0;
}

static const struct event_head *next_copied_event(const struct ring *ring)
{
	return (const void *)(ring->copy->bytes + (ring->reserved - ring->copy->from));
}

/* Bytes of the events with consecutive numbers from this position on, ignoring the tail. */
static uint64_t follow_numbers(const struct ring *ring)
{
	uint64_t n = 0, end = ring->grows ? 0 : ring->mask + 1 - sizeof(struct event_head);

	for (uint32_t seq = ring->seq + 1; n < end; seq++) {
		const uint64_t *at =
			(const void *)(ring->data + ((ring->reserved + n) & ring->mask));
		/* the first word: words, type, flags and seq */
		uint64_t head = __atomic_load_n(at, __ATOMIC_ACQUIRE), words = head & UINT16_MAX;

		if (words * 8 < sizeof(struct event_head) || head >> 32 != seq ||
		    n + words * 8 > ring->room)
			break;
		n += words * 8;
	}
	return n;
}

/* Number of unread bytes according to the tail, or -EBADMSG if the tail is impossible. */
static int64_t count_unread_bytes(struct ring *ring)
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
		waiting = ring->room - ring->reserved; /* the file was truncated */
	if (waiting > ring->room || waiting < sizeof(struct event_head) || waiting % 8)
		waiting = follow_numbers(ring);
	if (!waiting)
		return -EBADMSG;
	if (ring->reserved >= ring->limit && map_pieces(ring))
		return -EBADMSG;
	return (int64_t)waiting;
}

/*
 * Copy the next @most bytes, or as many as are available. Returns 1; 0 if there are none; or
 * -errno.
 */
static int copy_out(struct ring *ring, uint64_t most)
{
	int64_t waiting = count_unread_bytes(ring);
	uint64_t n = waiting < (int64_t)most ? (uint64_t)waiting : most;

	if (waiting <= 0)
		return (int)waiting;
	if (!ring->copy)
		ring->copy = malloc(sizeof(*ring->copy));
	if (!ring->copy)
		return -ENOMEM;
	memcpy(ring->copy->bytes, ring->data + (ring->reserved & ring->mask), n);
	/* prevents the compiler from reading the original instead of the copy */
	atomic_signal_fence(memory_order_seq_cst);
	ring->copy->from = ring->reserved;
	ring->copy->to = ring->reserved + n;
	return 1;
}

/* Is the next event in the copy complete and valid? Returns its length in bytes, or -EBADMSG. */
static int check_next(const struct ring *ring)
{
	const struct event_head *event = next_copied_event(ring);
	size_t bytes = event->words * 8u;

	return bytes < sizeof(*event) || bytes > count_copied(ring) || !event->type ||
			       event->type >= EVENT_TYPES || event->seq != ring->seq + 1
		       ? -EBADMSG
		       : (int)bytes;
}

int ring_peek(struct ring *ring, const struct event_head **ret_event)
{
	int bytes = 1;

	if (count_copied(ring) < sizeof(**ret_event))
		bytes = copy_out(ring, COPY);
	/* the event continues after the copied part */
	if (bytes > 0 && next_copied_event(ring)->words * 8u > count_copied(ring))
		bytes = copy_out(ring, RING_EVENT_MAX);
	if (bytes > 0)
		bytes = check_next(ring);
	if (bytes <= 0) {
		drop_copy(ring);
		return bytes;
	}
	ring->unsure = 0;
	*ret_event = next_copied_event(ring);
	return bytes;
}

/*
 * If a valid event begins at byte @at of the copy: how many events are missing before it; 0: no
 * valid event. A plausible number is not sufficient: the event after it, if there is one, must have
 * the next number.
 */
static uint32_t count_missing(const struct ring *ring, uint64_t at, uint64_t waiting)
{
	const struct event_head *event = (const void *)(ring->copy->bytes + at), *next;
	uint64_t have = count_copied(ring), bytes = event->words * 8u;
	uint32_t missing = event->seq - (ring->seq + 1);

	if (bytes < sizeof(*event) || bytes > waiting - at || !event->type ||
	    event->type >= EVENT_TYPES || missing > at / sizeof(*event) + ring->unsure)
		return 0;
	if (at + bytes + sizeof(*next) > have)
		return at || ring->unsure ? missing : 0;
	next = (const void *)(ring->copy->bytes + at + bytes);
	return next->words * 8u >= sizeof(*next) && next->seq == event->seq + 1 ? missing : 0;
}

/* Skip unread data that the writer has overwritten, since a damaged head indicated free space. */
static uint64_t skip_overwritten(struct ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->head->tail, memory_order_acquire);
	uint64_t before = ring->odd_tail, bytes = tail - ring->reserved;

	ring->odd_tail = tail;
	/* with a plausible tail that has grown since the last check, nothing was overwritten */
	if (ring->grows || tail % 8 || bytes >> 63 || !before || tail == before ||
	    tail - before > ring->room || area_find(ring, tail))
		return 0;
	ring->reserved = tail;
	ring->unsure = INT32_MAX;
	return bytes;
}

/* Go to the next valid event in the copy, or else to the end of the copy. */
static uint32_t find_valid_event(struct ring *ring, uint64_t waiting)
{
	uint64_t have = count_copied(ring), at = 0;

	for (; at + sizeof(struct event_head) <= have; at += 8) {
		uint32_t missing = count_missing(ring, at, waiting);

		if (missing) {
			ring->reserved += at;
			ring->seq += missing;
			ring->unsure = 0;
			return missing;
		}
	}
	/* the last word may be the first of an event */
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
	       (waiting = count_unread_bytes(ring)) > 0) {
		err = copy_out(ring, RING_EVENT_MAX);
		if (err > 0)
			*ret_events = find_valid_event(ring, (uint64_t)waiting);
	}
	if (err == -ENOMEM)
		return err;
	if (*ret_events)
		return (int64_t)(ring->reserved - from);
	*ret_events = 1;
	if (ring->reserved == from && !skip_overwritten(ring))
		return 0;
	drop_copy(ring);
	ring->seq++;
	return (int64_t)(ring->reserved - from);
}

void ring_read_head(const struct ring *ring, struct ring_head *copy)
{
	/* pairs with the store in ring_drop(): with this count the times are valid */
	uint64_t dropped = atomic_load_explicit(&ring->head->dropped, memory_order_acquire);
	const uint64_t *from = (const void *)ring->head;
	uint64_t *to = (void *)copy;

	for (size_t i = 0; i < sizeof(*copy) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&copy->dropped, dropped, memory_order_relaxed);
}
