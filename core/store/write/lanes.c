/*
 * The threads of a trace being made
 *
 *	ring of a thread that ended -> ring of the next: two lanes, one after the other
 *
 * A lane has what is known of a thread: where it is, what it has not been
 * given back yet, and its events of the data plane that are no chunk yet.
 * An event's number in its lane is that in its ring less what came before.
 *
 * Not here: what an event is made into (writer.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

/* The greatest part of a lane: a trace may have millions of threads. */
static void free_batch(struct lane *lane)
{
	if (lane->batch)
		batch_fini(lane->batch);
	free(lane->batch);
	free(lane->sites);
	lane->batch = NULL;
	lane->sites = NULL;
	lane->nsites = 0;
}

void lanes_free(struct lane *lane)
{
	free_batch(lane);
	payloads_fini(&lane->payloads);
	calls_fini(lane);
	free(lane->counters);
	free(lane);
}

static struct lane *add_lane(struct writer *writer)
{
	struct lane *lane;

	if (vec_reserve(writer->lanes, writer->lanes_size, writer->nlanes + 1))
		return NULL;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return NULL;
	lane->batch = calloc(1, sizeof(*lane->batch));
	lane->payloads.seed = writer->payload_seed;
	if (!lane->batch) {
		free(lane);
		return NULL;
	}
	writer->lanes[writer->nlanes++] = lane;
	lane->id = (uint32_t)writer->nlanes;
	return lane;
}

int writer_thread(struct writer *writer, const struct ring_head *head, uint32_t *ret_thread)
{
	struct known_process *process;
	struct lane *lane;
	char comm[sizeof(head->comm) + 1];

	if (writer->err)
		return writer->err;
	lane = add_lane(writer);
	if (!lane)
		return writer_keep(writer, log_err(-ENOMEM, "take a thread"));
	lane->ring = head->index;
	lane->pid = (int)head->pid;
	lane->tid = head->tid;
	lane->start = head->ticks ? writer_time(writer, head->ticks, 0) : 0;
	lane->last = INT64_MIN;
	process = processes_of_pid(writer, lane->pid);
	if (process)
		lane->process = process->id;
	else if (processes_new(writer, lane->pid, lane->start, &lane->process))
		return writer->err;
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(head->comm), head->comm);
	if (WRITER_RUN(writer, thread, "uudti", lane->id, lane->process, (int)head->tid, comm,
		       lane->start))
		return writer->err;
	*ret_thread = lane->id;
	return polls_adopt(writer, lane);
}

int writer_began_late(struct writer *writer, uint32_t thread, uint64_t events)
{
	struct lane *lane = writer->lanes[thread - 1];

	lane->n = lane->missed = events;
	return 0;
}

int lanes_flush(struct writer *writer, struct lane *lane)
{
	struct batch *batch = lane->batch;
	uint32_t events = batch_events(batch);

	if (!events || batch->open)
		return 0;
	if (packer_pack(&writer->packer, batch))
		return writer_keep(writer, log_err(-ENOMEM, "pack %u events", events));
	if (WRITER_RUN(writer, chunk, "uiiiiub", lane->id, batch->first_n, batch->last_n,
		       batch->begin, batch->end, events, writer->packer.bytes, writer->packer.used))
		return writer->err;
	batch_clear(batch);
	writer->chunk_bytes += writer->packer.used;
	writer->kept += writer->packer.used;
	return 0;
}

int lanes_store(struct writer *writer, struct lane *lane)
{
	if (lanes_flush(writer, lane) || payloads_flush(writer, lane) ||
	    calls_flush(writer, lane) || polls_flush(writer, lane))
		return writer->err;
	if (!lane->batch->open)
		lane->settled = lane->n;
	if (lane->last > writer->last)
		writer->last = lane->last;
	return WRITER_RUN(writer, thread_is, "uiiu", lane->id, lane->n,
			  lane->last == INT64_MIN ? lane->start : lane->last, lane->process);
}

int writer_thread_lost(struct writer *writer, uint32_t thread, const struct ring_head *head)
{
	struct lane *lane = writer->lanes[thread - 1];

	/* pairs with the store in ring_drop() */
	uint64_t lost = atomic_load_explicit(&head->dropped, memory_order_acquire);
	uint64_t first = atomic_load_explicit(&head->drop_first, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&head->drop_last, memory_order_relaxed);

	if (lane->missed) { /* from the thread's begin on */
		first = head->ticks;
		last = lost ? last : lane->first_ticks;
		lost += lane->missed;
	}
	if (!lost || lost == lane->lost)
		return 0;
	writer->lost += lost - lane->lost;
	lane->lost = lost;
	lane->lost_first = writer_time(writer, first, lane->start);
	lane->lost_last = writer_time(writer, last, lane->lost_first);
	return writer_loss(writer, lane);
}

/* Events that are not there, but for no want of room. */
static int cover_events(struct writer *writer, struct lane *lane, uint64_t n, int64_t time,
			const char *what, uint64_t times, const char *why)
{
	char detail[64];

	if (!times)
		return 0;
	snprintf(detail, sizeof(detail), "%" PRIu64 " events %s", times, why);
	if (writer_cover(writer, lane, n, time, what, 0, detail))
		return writer->err;
	return WRITER_RUN(writer, coverage_times, "iz", sqlite3_last_insert_rowid(writer->db),
			  times);
}

/* What came before the recording of the thread. */
static int cover_late(struct writer *writer, struct lane *lane)
{
	return cover_events(writer, lane, lane->missed, lane->start, "late", lane->missed,
			    "before the first");
}

/* Verbs of signal handlers that came while an event was being written. */
static int cover_handlers(struct writer *writer, struct lane *lane, const struct ring_head *head)
{
	return cover_events(writer, lane, lane->n, lane->last, "handlers",
			    atomic_load_explicit(&head->in_handlers, memory_order_relaxed),
			    "of verbs in signal handlers");
}

/* A thread with more CQs than counters: which of them were found empty is not known. */
static int cover_uncounted(struct writer *writer, struct lane *lane, const struct ring_head *head)
{
	uint64_t n = atomic_load_explicit(&head->uncounted, memory_order_relaxed);
	char detail[64];

	if (!n)
		return 0;
	snprintf(detail, sizeof(detail), "%" PRIu64 " empty polls of more than %d CQs", n,
		 RING_POLLS);
	return writer_cover(writer, lane, lane->n, lane->last, "polls", 0, detail);
}

/* What the filter has left out: how much of it, by thread. */
static int cover_filtered(struct writer *writer, struct lane *lane, const struct ring_head *head)
{
	return cover_events(writer, lane, lane->n, lane->last, "filtered",
			    atomic_load_explicit(&head->filtered, memory_order_relaxed),
			    "that the filter left out");
}

int writer_thread_end(struct writer *writer, uint32_t thread, const struct ring_head *head)
{
	struct lane *lane = writer->lanes[thread - 1];

	if (writer->err || lane->ended)
		return writer->err;
	lane->ended = true;
	batch_close(lane->batch);
	if (writer_thread_lost(writer, thread, head) || cover_late(writer, lane) ||
	    cover_handlers(writer, lane, head) || cover_uncounted(writer, lane, head) ||
	    cover_filtered(writer, lane, head) || payloads_cover(writer, lane) ||
	    polls_final(writer, lane, head) || lanes_store(writer, lane))
		return writer->err;
	free_batch(lane);
	payloads_fini(&lane->payloads);
	calls_fini(lane);
	return 0;
}

int writer_next_thread(struct writer *writer, uint32_t *thread, const struct ring_head *head,
		       const struct event_head *event)
{
	const struct event_thread *next = (const void *)event;
	struct ring_head before = { 0 }, after = { .index = head->index, .pid = head->pid };
	struct ring_polls *polls = (void *)(uintptr_t)(next + 1);

	if (event->words * 8u < sizeof(*next) || next->npolls > RING_POLLS ||
	    next->npolls * sizeof(*polls) > event->words * 8u - sizeof(*next) ||
	    (next->dropped | next->in_handlers | next->uncounted | next->filtered) >> 48)
		return writer_event(writer, *thread, event); /* which counts it as damaged */
	before.dropped = next->dropped;
	before.drop_first = next->drop_first;
	before.drop_last = next->drop_last;
	before.in_handlers = next->in_handlers;
	before.uncounted = next->uncounted;
	before.filtered = next->filtered;
	before.ticks = head->ticks;
	memcpy(before.polls, polls, next->npolls * sizeof(*polls));
	after.tid = next->tid;
	after.ticks = event->ticks;
	memcpy(after.comm, next->comm, sizeof(after.comm));
	if (writer_thread_end(writer, *thread, &before) || writer_thread(writer, &after, thread))
		return writer->err;
	writer->lanes[*thread - 1]->base = event->seq - 1;
	return writer_event(writer, *thread, event);
}
