/*
 * Counting how often each thread polled each completion queue
 *
 * A thread counts its empty polls in its ring's head, with one counter for each CQ, and each poll
 * event has the value of the counter. The thread that destroys a CQ writes the counters of all
 * threads as events and clears them, since another CQ may get the same address. This event arrives
 * through another ring than the polls, possibly before them. So it only marks the counter as dead,
 * and later polls start a new life of the counter.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/write/writer_priv.h"
#include "core/wire/ring.h"

/* Limits, more than a program needs: its data must not exhaust the recorder's memory. */
enum { COUNTERS_MAX = 1 << 16, COUNTS_MAX = 1 << 20 };

#define EMPTY_MAX (1ull << 48) /* larger values are damage: counting them would take years */

static uint64_t limit_count(uint64_t empty)
{
	return empty <= EMPTY_MAX ? empty : 0;
}

/* Find or create the counter of @cq; NULL if out of memory, or if there are too many. */
static struct poll_counter *find_counter(struct thread_log *log, uint64_t cq)
{
	struct poll_counter *counter;

	if (log->counter < log->ncounters && log->counters[log->counter].cq == cq)
		return &log->counters[log->counter];
	for (log->counter = 0; log->counter < log->ncounters; log->counter++)
		if (log->counters[log->counter].cq == cq)
			return &log->counters[log->counter];
	counter = log->ncounters < COUNTERS_MAX
			  ? realloc(log->counters, (log->ncounters + 1) * sizeof(*counter))
			  : NULL;
	if (!counter)
		return NULL;
	log->counters = counter;
	counter += log->ncounters++;
	*counter = (struct poll_counter){ .cq = cq };
	return counter;
}

/* find_counter() has failed: polls of CQs above the limit are recorded, but not counted. */
static int fail_counter(struct writer *writer, const struct thread_log *log)
{
	return log->ncounters < COUNTERS_MAX ? writer_fail(writer, -ENOMEM) : writer->err;
}

static int store_counter(struct writer *writer, const struct thread_log *log,
			 struct poll_counter *counter)
{
	if (!counter->dirty)
		return 0;
	counter->dirty = false;
	return WRITER_RUN(writer, poll_count, "uiuuiiii", log->id, counter->cq, counter->life,
			  log->process, counter->polls, counter->completions,
			  counter->empty - counter->carried, counter->last);
}

static int begin_next_life(struct writer *writer, struct thread_log *log,
			   struct poll_counter *counter)
{
	int err = store_counter(writer, log, counter);

	*counter = (struct poll_counter){ .cq = counter->cq, .life = counter->life + 1 };
	return err;
}

int polls_count_event(struct writer *writer, struct thread_log *log, const struct event_poll *event,
		      int64_t time, uint64_t *ret_empty)
{
	struct poll_counter *counter = find_counter(log, event->cq);
	uint64_t empty = limit_count(event->empty);

	*ret_empty = 0;
	if (!counter)
		return fail_counter(writer, log);
	if (counter->dead && event->head.ticks > counter->died)
		begin_next_life(writer, log, counter);
	*ret_empty = empty - (empty >= counter->seen ? counter->seen : 0);
	counter->seen = empty;
	if (empty > counter->empty)
		counter->empty = empty;
	counter->polls++;
	counter->completions += event->nwc;
	counter->last = time;
	counter->dirty = true;
	return writer->err;
}

struct thread_log *polls_find_log(struct writer *writer, uint32_t ring, uint32_t tid)
{
	for (size_t i = writer->nlogs; i > 0; i--)
		if (writer->logs[i - 1] && writer->logs[i - 1]->ring == ring &&
		    writer->logs[i - 1]->tid == tid)
			return writer->logs[i - 1];
	return NULL;
}

/* Store the count of a thread whose ring was not read yet, until the thread is known. */
static int store_count(struct writer *writer, const struct event_count *event)
{
	struct event_count *more;

	if (writer->ncounts == COUNTS_MAX)
		return -EBADMSG;
	more = realloc(writer->counts, (writer->ncounts + 1) * sizeof(*more));
	if (!more)
		return writer_fail(writer, -ENOMEM);
	writer->counts = more;
	more[writer->ncounts++] = *event;
	return 0;
}

int polls_adopt(struct writer *writer, struct thread_log *log)
{
	size_t left = 0, n = writer->ncounts;

	for (size_t i = 0; i < n && !writer->err; i++) {
		struct event_count count = writer->counts[i];

		if (count.ring == log->ring && count.tid == log->tid)
			polls_note_destroyed(writer, &count, sizeof(count));
		else
			writer->counts[left++] = count;
	}
	writer->ncounts = left;
	return writer->err;
}

int polls_note_destroyed(struct writer *writer, const struct event_count *event, size_t bytes)
{
	struct poll_counter *counter;
	struct thread_log *log;

	if (bytes < sizeof(*event))
		return -EBADMSG;
	log = polls_find_log(writer, event->ring, event->tid);
	if (!log)
		return store_count(writer, event);
	counter = find_counter(log, event->cq);
	if (!counter)
		return fail_counter(writer, log);
	if (limit_count(event->empty) > counter->empty)
		counter->empty = event->empty;
	counter->dead = true;
	counter->died = event->head.ticks;
	counter->last = writer_time(writer, event->head.ticks, log->start);
	counter->dirty = true;
	return store_counter(writer, log, counter);
}

int polls_store_final(struct writer *writer, struct thread_log *log, const struct ring_head *head)
{
	for (int i = 0; i < RING_POLLS; i++) {
		uint64_t cq = atomic_load_explicit(&head->polls[i].cq, memory_order_relaxed);
		uint64_t empty = limit_count(
			atomic_load_explicit(&head->polls[i].empty, memory_order_relaxed));
		struct poll_counter *counter;

		if (cq <= RING_POLLS_GONE || !empty)
			continue;
		counter = find_counter(log, cq);
		if (!counter)
			return fail_counter(writer, log) ? writer->err : polls_flush(writer, log);
		if (counter->dead)
			begin_next_life(writer, log, counter);
		counter->empty = empty;
		counter->last = log->last;
		counter->dirty = true;
	}
	return polls_flush(writer, log);
}

void polls_carry(struct thread_log *log)
{
	for (size_t i = 0; i < log->ncounters; i++) {
		struct poll_counter *counter = &log->counters[i];

		counter->carried = counter->empty;
		counter->polls = counter->completions = 0;
		counter->dirty = false;
	}
}

void polls_forget(struct thread_log *log, int64_t time)
{
	size_t left = 0;

	for (size_t i = 0; i < log->ncounters; i++)
		if (!log->counters[i].dead || log->counters[i].last >= time)
			log->counters[left++] = log->counters[i];
	log->ncounters = left;
	log->counter = 0;
}

int polls_flush(struct writer *writer, struct thread_log *log)
{
	int err = 0;

	for (size_t i = 0; i < log->ncounters && !err; i++)
		err = store_counter(writer, log, &log->counters[i]);
	return err;
}
