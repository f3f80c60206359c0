/*
 * The events of a trace, read ahead
 *
 *	reader's thread: cursor -> | batch | batch | batch | batch | -> reader_next()
 *	                                  `filled'  `empty'
 *
 * If the cursor cannot open another connection to the file, there is no reader's thread, and
 * reader_next() fills a batch itself: its caller may be inside a statement of the trace's
 * connection (a virtual table), and another thread would wait for the end of that statement.
 *
 * A batch has copies of its events and of the data that they point to, except data owned by the
 * trace. One semaphore counts the filled batches, another the batches that may still be filled. The
 * batch that was emptied last is filled next, because it is still in the caches.
 *
 * reader_next() reports progress, so progress is visible whether reading the events or processing
 * them takes long.
 */
#include "core/store/read/reader.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/store/read/cursor_priv.h"
#include "core/store/read/room.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

enum {
	BATCHES = 8,
	BATCHES_MAX = 256,
	EVENTS = 256,
	BYTES = EVENTS * 320,
	/*
	 * bytes after which a batch is full; events that do not fit into the rest get separate
	 * memory
	 */
	FULL = BYTES - 1024,
	PREFETCH_EVENTS = 6, /* distance of prefetching, in events */
	/* polls of a semaphore before a thread sleeps, since a wake-up takes longer */
	SPINS = 200,
};

struct batch {
	struct trace_event events[EVENTS];
	unsigned int count;
	struct call *calls[EVENTS]; /* copies, which have references to their arguments */
	unsigned int ncalls;
	/* 1: another batch follows; else the result of cursor_next() at the end */
	int last;
	struct room room;  /* memory of the data to which the events point */
	unsigned int left; /* number of events in use, plus one until all of them were returned */
};

struct reader {
	struct trace *trace;
	struct cursor *cursor;
	struct batch batches[BATCHES_MAX];
	unsigned int nbatches;
	sem_t filled;
	/* counts batches that may be filled before one is released */
	sem_t ahead;
	struct batch *full[BATCHES_MAX]; /* in the order in which they were filled */
	pthread_mutex_t lock;            /* protects empty[] and stop */
	pthread_cond_t emptied;
	struct batch *empty[BATCHES_MAX];
	unsigned int nempty;
	pthread_t thread;
	bool started, stop;
	bool kept;         /* events stay valid until reader_release() */
	unsigned int held; /* number of batches that were returned, and have events in use */
	bool some;         /* a batch has been filled: post_batch() */
	/* the rest is used only by reader_next() */
	unsigned int batch, at; /* the next event: index @at of full[batch] */
	bool holding;           /* the semaphore of the current batch has been awaited */
	/* number of batches that were released without notifying the reader's thread */
	unsigned int nleft;
	uint64_t events; /* number of events returned before this batch */
	int64_t time;    /* time of the last of these events, ns */
};

static void *copy_bytes(struct batch *b, const void *from, size_t bytes)
{
	void *to = room_take(&b->room, bytes);

	if (to && bytes)
		memcpy(to, from, bytes);
	return to;
}

/*
 * Copy a call, but not its arguments, which are parsed now and do not change after that. The begin
 * and the return of a call are mostly next to each other, and share a copy.
 */
static int copy_call(struct batch *b, struct trace_event *to)
{
	struct call *call = b->ncalls ? b->calls[b->ncalls - 1] : NULL;
	int err;

	if (call && !memcmp(call, to->call, sizeof(*call))) {
		to->call = call;
		return 0;
	}
	call = copy_bytes(b, to->call, sizeof(*call));
	err = !call ? -ENOMEM : args_parse(call->args) ?: args_parse(call->out);
	if (!call)
		return err;
	call->args = args_ref(call->args);
	call->out = args_ref(call->out);
	b->calls[b->ncalls++] = call;
	to->call = call;
	return err;
}

static int copy_post(struct batch *b, struct trace_event *to)
{
	struct post *post = copy_bytes(b, to->post, sizeof(*post));
	struct wr *wr = post ? copy_bytes(b, post->wr, post->nwr * sizeof(*wr)) : NULL;
	bool copied = wr;

	for (uint32_t i = 0; wr && i < post->nwr; i++) {
		wr[i].sge = copy_bytes(b, wr[i].sge, wr[i].nsge * sizeof(*wr[i].sge));
		copied = copied && wr[i].sge;
	}
	if (!copied)
		return -ENOMEM;
	post->wr = wr;
	to->post = post;
	return 0;
}

static int copy_poll(struct batch *b, struct trace_event *to)
{
	struct poll *poll = copy_bytes(b, to->poll, sizeof(*poll));

	if (poll)
		poll->wc = copy_bytes(b, poll->wc, poll->nwc * sizeof(*poll->wc));
	to->poll = poll;
	return poll && poll->wc ? 0 : -ENOMEM;
}

/* Copy the data plane of a joint trace, whose memory belongs to the cursors. */
static int copy_data(struct batch *b, struct trace_event *to)
{
	switch (to->kind) {
	case TRACE_POST:
		return copy_post(b, to);
	case TRACE_POLL:
		return copy_poll(b, to);
	case TRACE_NOTIFY:
		to->notify = copy_bytes(b, to->notify, sizeof(*to->notify));
		return to->notify ? 0 : -ENOMEM;
	default: /* the data belongs to the trace */
		return 0;
	}
}

static int add_event(struct batch *b, const struct trace_event *e, bool copied)
{
	struct trace_event *to = &b->events[b->count++];
	int err = 0;

	*to = *e;
	if (e->kind == TRACE_CALL || e->kind == TRACE_RETURN)
		err = copy_call(b, to);
	else if (copied)
		err = copy_data(b, to);
	return err == -ENOMEM ? log_err(err, "read an event") : err;
}

/*
 * Empty a batch. The events of a batch without calls are not accessed: their cache lines are in the
 * processor of the other thread, and fetching them took half as long as all the rest.
 */
static void clear_batch(struct batch *b)
{
	for (unsigned int i = 0; i < b->ncalls; i++) {
		args_unref(b->calls[i]->args);
		args_unref(b->calls[i]->out);
	}
	b->count = 0;
	b->ncalls = 0;
	room_clear(&b->room);
}

/* Fill a batch from the cursor. Returns 1 if more events may follow. */
static int fill_batch(struct reader *reader, struct batch *b)
{
	bool copied = !cursor_use_room(reader->cursor, &b->room);
	const struct trace_event *e;
	int more = 1;

	while (more > 0 && b->count < EVENTS && b->room.used < FULL) {
		more = cursor_next(reader->cursor, &e);
		if (more > 0)
			more = add_event(b, e, copied) ?: 1;
	}
	return more;
}

static bool spin_on_semaphore(sem_t *sem)
{
	for (int i = 0; i < SPINS; i++) {
		if (!sem_trywait(sem))
			return true;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	return false;
}

/*
 * Pass on a filled batch. The semaphore alone orders the accesses; @some is for ThreadSanitizer,
 * which does not know sem_clockwait().
 */
static void post_batch(struct reader *reader)
{
	/* pairs with the load in wait_for_batch() */
	__atomic_store_n(&reader->some, true, __ATOMIC_RELEASE);
	sem_post(&reader->filled);
}

static void put_empty_batch(struct reader *reader, struct batch *b)
{
	pthread_mutex_lock(&reader->lock);
	reader->empty[reader->nempty++] = b;
	pthread_cond_signal(&reader->emptied);
	pthread_mutex_unlock(&reader->lock);
}

/* Wait for an empty batch. NULL: the reader must stop. */
static struct batch *take_empty_batch(struct reader *reader)
{
	struct batch *b = NULL;

	while (!spin_on_semaphore(&reader->ahead) && sem_wait(&reader->ahead))
		;
	pthread_mutex_lock(&reader->lock);
	while (!reader->nempty && !reader->stop)
		pthread_cond_wait(&reader->emptied, &reader->lock);
	if (!reader->stop)
		b = reader->empty[--reader->nempty];
	pthread_mutex_unlock(&reader->lock);
	return b;
}

/* Fill @b as batch number @i. Returns 1 if there may be more events. */
static int make_batch(struct reader *reader, struct batch *b, unsigned int i)
{
	int more;

	clear_batch(b);
	more = fill_batch(reader, b);
	b->left = b->count + 1;
	b->last = more > 0 ? 1 : more;
	reader->full[i] = b;
	return more;
}

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	struct batch *b;
	int more = 1;

	for (unsigned int i = 0; more > 0; i = (i + 1) % reader->nbatches) {
		b = take_empty_batch(reader);
		if (!b)
			break;
		more = make_batch(reader, b, i);
		post_batch(reader);
	}
	return NULL;
}

static void report_progress(const struct reader *reader, uint64_t events, int64_t time)
{
	if (reader->trace->tell)
		reader->trace->tell(events, time);
}

static void wait_for_batch(struct reader *reader)
{
	struct timespec until;

	report_progress(reader, reader->events, reader->time);
	while (!spin_on_semaphore(&reader->filled)) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		if (!sem_clockwait(&reader->filled, CLOCK_MONOTONIC, &until))
			break;
		report_progress(reader, reader->events, reader->time);
	}
	/* pairs with the store in post_batch() */
	(void)__atomic_load_n(&reader->some, __ATOMIC_ACQUIRE);
}

static void release_events(struct reader *reader, struct batch *b, unsigned int n)
{
	b->left -= n;
	if (b->left)
		return;
	reader->held--;
	put_empty_batch(reader, b);
}

bool reader_is_low_on_batches(const struct reader *reader)
{
	return reader->held > reader->nbatches / 2;
}

void reader_release(struct reader *reader, const struct trace_event *event)
{
	size_t at = (size_t)((const char *)event - (const char *)reader->batches);

	release_events(reader, &reader->batches[at / sizeof(struct batch)], 1);
}

static void retire_batch(struct reader *reader, struct batch *b)
{
	if (b->count)
		reader->time = b->events[b->count - 1].time;
	reader->events += b->count;
	release_events(reader, b, reader->kept ? 1 : b->count + 1);
	reader->batch = (reader->batch + 1) % reader->nbatches;
	if (++reader->nleft < BATCHES / 2) /* a wake-up costs both threads some us */
		return;
	for (; reader->nleft; reader->nleft--)
		sem_post(&reader->ahead);
}

/*
 * Prefetch events: the other thread has just written the batch, so it is in that processor's cache.
 */
static inline void prefetch_events(const struct batch *b, unsigned int at)
{
	uintptr_t ahead; /* address to prefetch, or 0 */

	if (at + PREFETCH_EVENTS >= b->count)
		return;
	ahead = (uintptr_t)b->events[at + PREFETCH_EVENTS].call;
	if (at + PREFETCH_EVENTS + 2 < b->count)
		__builtin_prefetch(&b->events[at + PREFETCH_EVENTS + 2]);
	for (int i = 0; i < 5; i++)
		__builtin_prefetch((const void *)(ahead + (uintptr_t)i * 64));
}

/* All events of the batch were returned: wait for the next batch. 1, 0 at the end, or -errno. */
static __attribute__((noinline)) int change_batch(struct reader *reader)
{
	struct batch *b = reader->holding ? reader->full[reader->batch] : NULL;

	if (b && b->last <= 0)
		return b->last;
	if (b)
		retire_batch(reader, b);
	if (reader->started) {
		wait_for_batch(reader);
	} else {
		report_progress(reader, reader->events, reader->time);
		make_batch(reader, reader->empty[--reader->nempty], reader->batch);
	}
	reader->held++;
	reader->holding = true;
	reader->at = 0;
	return 1;
}

/* Report progress before a process or a fork: its receiver may process all its events at once. */
static __attribute__((noinline)) void report_process(const struct reader *reader,
						     const struct trace_event *event)
{
	report_progress(reader, reader->events + reader->at, event->time);
}

int reader_next(struct reader *reader, const struct trace_event **ret_event)
{
	for (;;) {
		/*
		 * before this thread has waited for a batch, the other thread may still write to it
		 */
		struct batch *b = reader->holding ? reader->full[reader->batch] : NULL;
		const struct trace_event *event;
		int more;

		if (__builtin_expect(b && reader->at < b->count, 1)) {
			event = &b->events[reader->at++];
			prefetch_events(b, reader->at);
			*ret_event = event;
			if (event->kind >= TRACE_FORK)
				report_process(reader, event);
			return 1;
		}
		more = change_batch(reader);
		if (more <= 0)
			return more;
	}
}

static int start_thread(struct reader *reader)
{
	int err = -pthread_create(&reader->thread, NULL, read_all, reader);

	if (err)
		return log_err(err, "start a thread that reads the trace");
	reader->started = true;
	return 0;
}

static int open_reader(struct trace *trace, unsigned int nbatches, struct reader **ret_reader)
{
	static const struct trace_filter apart = { .apart = true };
	struct reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return log_err(-ENOMEM, "read the trace");
	reader->trace = trace;
	sem_init(&reader->filled, 0, 0);
	reader->nbatches = nbatches;
	sem_init(&reader->ahead, 0, BATCHES);
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->emptied, NULL);
	for (unsigned int i = 0; i < nbatches; i++)
		put_empty_batch(reader, &reader->batches[i]);
	err = cursor_open(trace, &apart, &reader->cursor);
	for (unsigned int i = 0; i < nbatches && !err; i++)
		if (room_init(&reader->batches[i].room, BYTES))
			err = log_err(-ENOMEM, "read the trace");
	if (!err && (reader->cursor->nown_dbs || reader->cursor->joint))
		err = start_thread(reader);
	if (err) {
		reader_close(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

int reader_open(struct trace *trace, struct reader **ret_reader)
{
	return open_reader(trace, BATCHES, ret_reader);
}

int reader_open_kept(struct trace *trace, struct reader **ret_reader)
{
	int err = open_reader(trace, BATCHES_MAX, ret_reader);

	if (!err)
		(*ret_reader)->kept = true;
	return err;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	if (reader->started) {
		pthread_mutex_lock(&reader->lock);
		reader->stop = true;
		pthread_cond_signal(&reader->emptied);
		pthread_mutex_unlock(&reader->lock);
		sem_post(&reader->ahead);
		pthread_join(reader->thread, NULL);
	}
	cursor_close(reader->cursor);
	for (unsigned int i = 0; i < BATCHES_MAX; i++) {
		clear_batch(&reader->batches[i]);
		room_fini(&reader->batches[i].room);
	}
	sem_destroy(&reader->filled);
	sem_destroy(&reader->ahead);
	pthread_cond_destroy(&reader->emptied);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}
