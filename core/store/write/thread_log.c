/*
 * The threads of a trace that is being written
 *
 *	ring of a thread that ended -> ring of the next: two logs, one after the other
 *
 * A log has the state of a thread: its position, its calls that have not returned, and its events
 * of the data plane that are not in a chunk yet. The number of an event is its number in the ring
 * minus the number of events of earlier threads of the ring.
 *
 * Not here: storing events (writer.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/vec.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"
#include "core/wire/ring.h"

#define WAIT_MOST_NS (24ull * 3600 * 1000000000) /* a longer wait is damage */

/* Free the batch of a log, its largest part, early: a trace may have millions of threads. */
static void free_batch(struct thread_log *log)
{
	if (log->batch)
		batch_fini(log->batch);
	free(log->batch);
	stacks_free_sites(log);
	log->batch = NULL;
}

void thread_log_free(struct thread_log *log)
{
	if (!log)
		return;
	free_batch(log);
	payloads_fini(&log->payloads);
	calls_fini(log);
	free(log->counters);
	free(log);
}

static struct thread_log *add_log(struct writer *writer)
{
	struct thread_log *log;

	if (vec_reserve(writer->logs, writer->logs_size, writer->nlogs + 1))
		return NULL;
	log = calloc(1, sizeof(*log));
	if (!log)
		return NULL;
	log->batch = calloc(1, sizeof(*log->batch));
	log->payloads.seed = writer->payload_seed;
	if (!log->batch) {
		free(log);
		return NULL;
	}
	writer->logs[writer->nlogs++] = log;
	log->id = (uint32_t)writer->nlogs;
	return log;
}

int writer_begin_thread(struct writer *writer, const struct ring_head *head, uint32_t *ret_thread)
{
	struct known_process *process;
	struct thread_log *log;
	char comm[sizeof(head->comm) + 1];

	if (writer->err)
		return writer->err;
	log = add_log(writer);
	if (!log)
		return writer_fail(writer, log_err(-ENOMEM, "add a thread"));
	log->ring = head->index;
	log->pid = (int)head->pid;
	log->tid = head->tid;
	log->start = head->ticks ? writer_time(writer, head->ticks, 0) : 0;
	log->last = INT64_MIN;
	process = processes_of_pid(writer, log->pid);
	if (process)
		log->process = process->id;
	else if (processes_new(writer, log->pid, log->start, &log->process))
		return writer->err;
	writer->processes[log->process - 1]->logs++;
	snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(head->comm), head->comm);
	if (WRITER_RUN(writer, thread, "uudti", log->id, log->process, (int)head->tid, comm,
		       log->start))
		return writer->err;
	*ret_thread = log->id;
	return polls_adopt(writer, log);
}

int writer_note_late_thread(struct writer *writer, uint32_t thread, uint64_t events)
{
	struct thread_log *log = writer->logs[thread - 1];

	log->n = log->settled = log->missed = events;
	return 0;
}

int thread_log_flush(struct writer *writer, struct thread_log *log)
{
	struct batch *batch = log->batch;
	uint32_t events = batch_events(batch);

	if (!events || batch->open)
		return 0;
	if (packer_pack(&writer->packer, batch))
		return writer_fail(writer, log_err(-ENOMEM, "pack %u events", events));
	if (WRITER_RUN(writer, chunk, "uiiiiub", log->id, batch->first_n, batch->last_n,
		       batch->begin, batch->end, events, writer->packer.bytes, writer->packer.used))
		return writer->err;
	batch_clear(batch);
	writer->chunk_bytes += writer->packer.used;
	writer->kept += writer->packer.used;
	return 0;
}

int thread_log_store(struct writer *writer, struct thread_log *log)
{
	if (thread_log_flush(writer, log) || payloads_flush(writer, log) ||
	    calls_flush(writer, log) || polls_flush(writer, log))
		return writer->err;
	if (!log->batch->open)
		log->settled = log->n;
	if (log->last > writer->last)
		writer->last = log->last;
	return WRITER_RUN(writer, thread_is, "uiiu", log->id, log->settled,
			  log->gone                ? log->gone
			  : log->last == INT64_MIN ? log->start
						   : log->last,
			  log->process);
}

uint64_t thread_logs_open(const struct writer *writer)
{
	uint64_t events = 0;

	for (size_t i = 0; i < writer->nlogs; i++)
		if (writer->logs[i] && writer->logs[i]->batch)
			events += batch_events(writer->logs[i]->batch);
	return events;
}

int writer_note_lost_thread(struct writer *writer, uint32_t thread, const struct ring_head *head)
{
	struct thread_log *log = writer->logs[thread - 1];

	/* pairs with the store in ring_drop() */
	uint64_t lost = atomic_load_explicit(&head->dropped, memory_order_acquire);
	uint64_t first = atomic_load_explicit(&head->drop_first, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&head->drop_last, memory_order_relaxed);

	if (log->missed) { /* the first events of the thread are missing */
		first = head->ticks;
		last = lost ? last : log->first_ticks;
		lost += log->missed;
	}
	if (!lost || lost == log->lost)
		return 0;
	writer->lost += lost - log->lost;
	log->lost = lost;
	log->lost_first = writer_time(writer, first, log->start);
	log->lost_last = writer_time(writer, last, log->lost_first);
	return writer_store_loss(writer, log);
}

int thread_log_note_wait(struct writer *writer, struct thread_log *log,
			 const struct event_waited *event, uint64_t n, int64_t time)
{
	static const char *const whys[WAITED_WHYS] = {
		[WAITED_ROOM] = "full",
		[WAITED_LONGER] = "longer",
	};
	const uint64_t begin = event->head.ticks;
	uint64_t ns;

	if (event->head.words * 8u < sizeof(*event) || event->why >= WAITED_WHYS || !event->times ||
	    event->ticks >> 62 || begin >> 62)
		return -EBADMSG;
	ns = (uint64_t)(clock_ns(&writer->clock, begin + event->ticks) -
			clock_ns(&writer->clock, begin));
	if (ns > WAIT_MOST_NS)
		return -EBADMSG;
	return WRITER_RUN(writer, waited, "uiuiiit", log->id, n, log->process, time, ns,
			  (int64_t)event->times, whys[event->why]);
}

/* Note missing events whose cause was not a full ring. */
static int cover_events(struct writer *writer, struct thread_log *log, uint64_t n, int64_t time,
			const char *what, uint64_t times, const char *why)
{
	char detail[64];

	if (!times)
		return 0;
	snprintf(detail, sizeof(detail), "%" PRIu64 " events %s", times, why);
	if (writer_cover(writer, log, n, time, what, 0, detail))
		return writer->err;
	return WRITER_RUN(writer, coverage_times, "iz", sqlite3_last_insert_rowid(writer->db),
			  times);
}

/* Note the events that the thread had before its recording began. */
static int cover_late_start(struct writer *writer, struct thread_log *log)
{
	return cover_events(writer, log, log->missed, log->start, "late", log->missed,
			    "before the first");
}

/* Note the verbs of signal handlers that interrupted the writing of an event. */
static int cover_handlers(struct writer *writer, struct thread_log *log,
			  const struct ring_head *head)
{
	return cover_events(writer, log, log->n, log->last, "handlers",
			    atomic_load_explicit(&head->in_handlers, memory_order_relaxed),
			    "of verbs in signal handlers");
}

/* Note that a thread has more CQs than counters: the empty polls of further CQs are not known. */
static int cover_uncounted(struct writer *writer, struct thread_log *log,
			   const struct ring_head *head)
{
	uint64_t n = atomic_load_explicit(&head->uncounted, memory_order_relaxed);
	char detail[64];

	if (!n)
		return 0;
	snprintf(detail, sizeof(detail), "%" PRIu64 " empty polls of more than %d CQs", n,
		 RING_POLLS);
	return writer_cover(writer, log, log->n, log->last, "polls", 0, detail);
}

/* Note how many events of the thread the filter has excluded. */
static int cover_filtered(struct writer *writer, struct thread_log *log,
			  const struct ring_head *head)
{
	return cover_events(writer, log, log->n, log->last, "filtered",
			    atomic_load_explicit(&head->filtered, memory_order_relaxed),
			    "that the filter left out");
}

/*
 * Note when the thread ended. The program can write to the ring's page: an end before the last
 * event is invalid.
 */
static void note_end(struct writer *writer, struct thread_log *log, const struct ring_head *head)
{
	uint64_t ticks = atomic_load_explicit(&head->ended, memory_order_relaxed);
	int64_t time = ticks ? writer_time(writer, ticks, INT64_MIN) : INT64_MIN;

	if (time > log->last)
		log->gone = time;
}

int writer_end_thread(struct writer *writer, uint32_t thread, const struct ring_head *head)
{
	struct thread_log *log = writer->logs[thread - 1];

	if (writer->err || log->ended)
		return writer->err;
	log->ended = true;
	note_end(writer, log, head);
	batch_close(log->batch);
	if (writer_note_lost_thread(writer, thread, head) || cover_late_start(writer, log) ||
	    cover_handlers(writer, log, head) || cover_uncounted(writer, log, head) ||
	    cover_filtered(writer, log, head) || payloads_note_missing(writer, log) ||
	    polls_store_final(writer, log, head) || thread_log_store(writer, log))
		return writer->err;
	free_batch(log);
	payloads_fini(&log->payloads);
	calls_fini(log);
	return 0;
}
