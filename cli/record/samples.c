/*
 * What each thread does, sampled ten times a second
 *
 *	ring	bytes committed, empty polls	--> verbs, polls or nothing
 *	/proc	state, wchan			of a thread that does nothing, more and more rarely
 *
 * A process that hangs may have polled a million times, and then been stopped: only its counters
 * over time show when it has polled last.
 */
#include "cli/record/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/proc_stat.h"
#include "core/base/read_file.h"
#include "core/base/vec.h"
#include "core/wire/clock.h"

enum { THREADS = 100 }; /* threads of which /proc is read in a round: 2 ms */

static const char verbs[] = "verbs", polls[] = "polls", nothing[] = "nothing";

void samples_fini(struct samples *samples)
{
	free(samples->threads);
	*samples = (struct samples){ 0 };
}

static uint64_t count_empty(const struct ring_head *head)
{
	uint64_t empty = 0;

	for (int i = 0; i < RING_POLLS; i++)
		empty += atomic_load_explicit(&head->polls[i].empty, memory_order_relaxed);
	return empty;
}

/* Read the kernel function in which a thread waits; "0": none, or not permitted. */
static void read_wchan(const char *path, char wchan[SAMPLES_WCHAN])
{
	char *text;
	size_t bytes;

	wchan[0] = '\0';
	if (read_file(path, &text, &bytes))
		return;
	if (strcmp(text, "0") != 0)
		snprintf(wchan, SAMPLES_WCHAN, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

void samples_read_proc(pid_t pid, pid_t tid, struct sample_seen *ret_seen)
{
	struct proc_stat stat;
	char path[64];

	ret_seen->state = 0;
	ret_seen->wchan[0] = '\0';
	if (!proc_stat_read(pid, tid, &stat))
		return;
	ret_seen->state = stat.state;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/wchan", (int)pid, (int)tid);
	if (ret_seen->state == 'S' || ret_seen->state == 'D')
		read_wchan(path, ret_seen->wchan);
}

/* Read /proc for this sample? For the first few, then at doubling intervals, up to SAMPLES_LOOK. */
static bool is_proc_read_due(unsigned int quiet)
{
	return quiet < SAMPLES_LOOK ? !(quiet & (quiet - 1)) || quiet < 4
				    : quiet % SAMPLES_LOOK == 0;
}

/*
 * Is /proc read for the thread, which does nothing? At most THREADS threads are read in a round: of
 * thousands of threads, those that are due and were not read are due in the next round, too.
 */
static bool is_due(struct samples *samples, struct sample_thread *thread)
{
	if (!is_proc_read_due(thread->quiet + 1)) {
		thread->quiet++;
		return false;
	}
	if (samples->looks >= THREADS)
		return false;
	samples->looks++;
	thread->quiet++;
	return true;
}

static void read_thread_sample(struct samples *samples, struct sample_thread *thread,
			       const struct feed *feed, struct sample_seen *ret_seen)
{
	const struct ring_head *head = feed->ring.head;
	uint64_t tail = atomic_load_explicit(&head->tail, memory_order_relaxed);
	uint64_t empty = count_empty(head);

	memset(ret_seen, 0, sizeof(*ret_seen));
	ret_seen->doing = tail != thread->tail ? verbs : empty != thread->empty ? polls : nothing;
	thread->tail = tail;
	thread->empty = empty;
	if (ret_seen->doing != nothing) {
		thread->quiet = 0;
		return;
	}
	if (feed->foreign || !is_due(samples, thread))
		*ret_seen = thread->seen.doing == nothing ? thread->seen : *ret_seen;
	else
		samples_read_proc(feed->pid, (pid_t)atomic_load(&head->owner), ret_seen);
}

static bool is_same(const struct sample_seen *a, const struct sample_seen *b)
{
	return a->doing == b->doing && a->state == b->state && !strcmp(a->wchan, b->wchan);
}

static int write_row(struct sample_thread *thread, uint32_t id, struct writer *writer)
{
	const struct sample_seen *seen = &thread->seen;
	const char state[2] = { seen->state };

	thread->written = *seen;
	if (thread->rows++ >= SAMPLES_ROWS)
		return 0;
	return writer_store_sample(writer, &(struct stored_sample){
						   .thread = id,
						   .time = thread->since,
						   .doing = seen->doing,
						   .state = seen->state ? state : NULL,
						   .wchan = seen->wchan[0] ? seen->wchan : NULL,
					   });
}

static int sample_feed(struct samples *samples, const struct feed *feed, struct writer *writer,
		       int64_t now)
{
	struct sample_thread *thread = vec_at(samples->threads, samples->n, feed->thread);
	struct sample_seen seen;
	bool known;

	if (!thread)
		return 0; /* if out of memory, there are fewer samples */
	known = thread->seen.doing;
	read_thread_sample(samples, thread, feed, &seen);
	if (!known || !is_same(&seen, &thread->seen)) {
		thread->seen = seen;
		thread->since = now;
		/* activity is certain at once */
		if (thread->written.doing != nothing || seen.doing == nothing)
			return 0;
	}
	return is_same(&seen, &thread->written) ? 0 : write_row(thread, feed->thread, writer);
}

int samples_end(struct samples *samples, const struct feed *feed, struct writer *writer,
		int64_t now)
{
	return feed->thread < samples->n && samples->threads[feed->thread].written.doing == nothing
		       ? sample_feed(samples, feed, writer, now)
		       : 0;
}

int samples_sample_all(struct samples *samples, const struct feed *feeds, unsigned int nfeeds,
		       struct writer *writer, int64_t now)
{
	uint64_t time = clock_monotonic();
	int err = 0;

	if (time - samples->taken < SAMPLES_NS)
		return 0;
	samples->taken = time;
	samples->looks = 0;
	for (unsigned int i = 0; i < nfeeds && !err; i++)
		if (!feeds[i].over)
			err = sample_feed(samples, &feeds[i], writer, now);
	return err;
}
