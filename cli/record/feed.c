/*
 * The reading side of one ring
 *
 * Not here: the list of rings, and when they are closed (collector.c).
 */
#include "cli/record/feed.h"

#include <errno.h>

#include "cli/record/guests.h"
#include "core/wire/log.h"

enum {
	SHARE_BYTES = 256 << 10, /* bytes of one ring before the next ring is read */
	CONSUME = 64 << 10,      /* bytes read before their space is returned to the program */
};

#define COUNT_MAX (1ull << 48) /* a thread would count for years */

void feed_init(struct feed *feed, const struct ring *ring, uint32_t index)
{
	struct ring_head head;

	ring_read_head(ring, &head);
	*feed = (struct feed){
		.ring = *ring,
		.index = index,
		.pid = (pid_t)head.pid,
		.image = head.image,
		.ticks = head.ticks,
		.freed = ring->reserved,
		.marked = ring->reserved,
	};
}

/* Check a count of a thread; a count that the thread cannot have reached is damage. */
static void check_count(_Atomic uint64_t *count, uint64_t otherwise)
{
	if (atomic_load_explicit(count, memory_order_relaxed) > COUNT_MAX)
		atomic_store_explicit(count, otherwise, memory_order_relaxed);
}

void feed_read_head(const struct feed *feed, struct ring_head *ret_head)
{
	ring_read_head(&feed->ring, ret_head);
	ret_head->index = feed->index;
	ret_head->pid = (uint32_t)feed->pid;
	ret_head->ticks = feed->ticks;
	check_count(&ret_head->dropped, feed->dropped);
	check_count(&ret_head->filtered, 0);
	check_count(&ret_head->uncounted, 0);
	check_count(&ret_head->in_handlers, 0);
}

int feed_report_lost(struct feed *feed, struct writer *writer)
{
	struct ring_head head;

	if (atomic_load_explicit(&feed->ring.head->dropped, memory_order_relaxed) == feed->dropped)
		return 0;
	feed_read_head(feed, &head);
	feed->dropped = head.dropped;
	return writer_note_lost_thread(writer, feed->thread, &head);
}

static int next_thread(struct feed *feed, struct writer *writer, const struct event_head *event)
{
	struct ring_head head;

	feed_read_head(feed, &head);
	feed->dropped = 0;
	return writer_next_thread(writer, &feed->thread, &head, event);
}

static uint64_t bytes_waiting(const struct feed *feed)
{
	/* pairs with the store in ring_commit() */
	return atomic_load_explicit(&feed->ring.head->tail, memory_order_acquire) -
	       feed->ring.reserved;
}

int feed_fill(const struct feed *feed)
{
	uint64_t mask = feed->ring.mask, bytes = bytes_waiting(feed);

	if (feed->stuck && bytes == feed->stuck)
		return 0;
	/* feed_drain() detects a damaged tail */
	return !bytes ? 0 : bytes > mask ? 100 : bytes * 100 < mask ? 1 : (int)(bytes * 100 / mask);
}

/* Report damage once for each ring; the amount is written to the trace at the end. */
static void report_damage(struct feed *feed)
{
	if (!feed->damaged)
		log_note("ring %u of process %d is damaged: the program has overwritten events; "
			 "unreadable events are counted in the trace",
			 feed->index, (int)feed->pid);
	feed->damaged = true;
}

/*
 * Skip an event that cannot be read. Returns its length, 0 if nothing can be done now, or -errno.
 */
static int64_t skip_damaged(struct feed *feed, struct writer *writer)
{
	uint32_t events;
	int64_t bytes = ring_skip(&feed->ring, &events);
	int err = 0;

	if (bytes < 0)
		return bytes;
	report_damage(feed);
	if (bytes)
		err = writer_note_damage(writer, feed->thread, (uint64_t)bytes, events);
	else
		feed->stuck = bytes_waiting(feed);
	return err ? err : bytes;
}

int feed_report_stuck(struct feed *feed, struct writer *writer)
{
	uint64_t bytes = bytes_waiting(feed);

	/* truncated before anything was read: nothing waits, and nothing is wrong */
	if (!feed->damaged && ring_is_damaged(&feed->ring)) {
		report_damage(feed);
		return writer_note_damage(writer, feed->thread, feed->ring.mask + 1, 1);
	}
	if (!feed->stuck || !bytes)
		return 0;
	/* the tail may be damaged, too, and have any value */
	if (!feed->ring.grows && bytes > feed->ring.most)
		bytes = feed->ring.most;
	return writer_note_damage(writer, feed->thread, bytes, 1);
}

static int pass_to_writer(struct feed *feed, struct writer *writer, const struct event_head *event,
			  int n)
{
	int err = event->type == EVENT_THREAD ? next_thread(feed, writer, event)
					      : writer_add_event(writer, feed->thread, event);

	if (err && err != -EBADMSG)
		return err;
	ring_step(&feed->ring, (size_t)n);
	return n;
}

/*
 * Return the space of the events that were read to the program, unless it must wait for a commit.
 */
static void consume_ring(struct feed *feed)
{
	if (feed->ring.holds)
		return;
	feed->freed = feed->ring.reserved;
	ring_consume(&feed->ring);
}

void feed_repair_head(struct feed *feed)
{
	/* pairs with nothing: only we write the word */
	if (atomic_load_explicit(&feed->ring.head->head, memory_order_relaxed) != feed->freed)
		ring_consume_to(&feed->ring, feed->freed);
}

int feed_percent_held(const struct feed *feed)
{
	uint64_t bytes = feed->ring.reserved - feed->freed, mask = feed->ring.mask;

	return bytes > mask ? 100 : (int)(bytes * 100 / mask);
}

void feed_mark_position(struct feed *feed)
{
	feed->marked = feed->ring.reserved;
}

void feed_release(struct feed *feed)
{
	if (feed->freed == feed->marked)
		return;
	feed->freed = feed->marked;
	ring_consume_to(&feed->ring, feed->freed);
}

uint64_t feed_next(struct feed *feed)
{
	const struct event_head *event;
	int n = feed_fill(feed) ? ring_peek(&feed->ring, &event) : 0;

	return !n ? UINT64_MAX : n > 0 ? event->ticks : 0;
}

int feed_drain(struct feed *feed, struct writer *writer, uint64_t until, bool *ret_empty)
{
	const struct event_head *event;
	uint64_t unread = 0;
	int64_t n = 1;

	feed->stuck = 0;
	for (uint64_t total = 0; total < SHARE_BYTES && n > 0; total += (uint64_t)n) {
		n = ring_peek(&feed->ring, &event);
		if (n > 0 && event->ticks > until)
			n = 0;
		if (n == -EBADMSG)
			n = skip_damaged(feed, writer);
		else if (n > 0)
			n = pass_to_writer(feed, writer, event, (int)n);
		if (n <= 0)
			break;
		unread += (uint64_t)n;
		if (unread >= CONSUME) {
			consume_ring(feed);
			unread = 0;
		}
	}
	consume_ring(feed);
	*ret_empty = n <= 0;
	if (n == -ENOMEM)
		return log_err((int)n, "copy ring %u", feed->index);
	return n < 0 ? (int)n : 0;
}

bool feed_has_ended(const struct feed *feed)
{
	/* load `closed' before `tail', to see all that was written before the ring was closed */
	bool closed = atomic_load_explicit(&feed->ring.head->closed, memory_order_acquire);

	return (closed || feed->over) && !feed_fill(feed);
}

/*
 * A thread that ends first marks its ring idle; another thread may take the ring before it is gone.
 */
bool feed_has_lost_thread(const struct feed *feed)
{
	const struct ring_head *head = feed->ring.head;
	pid_t tid;

	/* pairs with the stores in rings_release() and write_thread() */
	if (feed->foreign || atomic_load_explicit(&head->idle, memory_order_acquire))
		return false;
	tid = (pid_t)atomic_load(&head->owner);
	return !guests_has_thread(feed->pid, tid) &&
	       !atomic_load_explicit(&head->idle, memory_order_acquire) &&
	       tid == (pid_t)atomic_load(&head->owner);
}
