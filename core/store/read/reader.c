/*
 * The events of a trace, read ahead
 *
 *	reader's thread: cursor -> | batch | batch | batch | batch | -> reader_next()
 *	                                  `filled'  `empty'
 *
 * A batch has copies of its events and of what they point to, except what the
 * trace itself holds. Batches are reused in turn: one semaphore counts the filled ones,
 * and each batch has one that says that it is empty.
 *
 * Progress is told by reader_next(), whether it is the reading that takes long or what is
 * done with the events.
 */
#include "core/store/read/reader.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

enum { BATCHES = 4, BATCHES_MAX = 64, EVENTS = 256, BYTES = EVENTS * 320 };

struct batch {
	struct trace_event events[EVENTS];
	unsigned int count, calls;
	int last;    /* 1: there is another batch; else what cursor_next() said */
	char *bytes; /* what the events point to */
	size_t used, size;
	unsigned int left; /* events that are in use, and one until all were given */
	sem_t emptied;
};

struct reader {
	struct trace *trace;
	struct cursor *cursor;
	struct batch batches[BATCHES_MAX];
	unsigned int nbatches;
	sem_t filled;
	pthread_t thread;
	bool started, stop;
	bool kept;         /* reader_release() gives events back */
	unsigned int held; /* batches that were given, and have events in use */
	bool some;         /* batch has been filled: give_batch() */
	/* of reader_next() alone */
	unsigned int batch, at; /* the next event */
	bool holding;           /* the batch has been waited for */
	uint64_t events;        /* given before this batch */
	int64_t time;           /* of the last of them */
};

static size_t pad_size(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

/* Room must be there: measure_event(). */
static void *copy_bytes(struct batch *b, const void *from, size_t bytes)
{
	void *to = b->bytes + b->used;

	if (bytes)
		memcpy(to, from, bytes);
	b->used += pad_size(bytes);
	return to;
}

static size_t needed_by_post(const struct post *post)
{
	size_t need = pad_size(sizeof(*post)) + pad_size(post->nwr * sizeof(*post->wr));

	for (uint32_t i = 0; i < post->nwr; i++)
		need += pad_size(post->wr[i].nsge * sizeof(*post->wr[i].sge));
	return need;
}

static size_t measure_event(const struct trace_event *e)
{
	switch (e->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return pad_size(sizeof(*e->call)) + pad_size(args_size(e->call->args)) +
		       pad_size(args_size(e->call->out));
	case TRACE_POST:
		return needed_by_post(e->post);
	case TRACE_POLL:
		return pad_size(sizeof(*e->poll)) + pad_size(e->poll->nwc * sizeof(*e->poll->wc));
	case TRACE_NOTIFY:
		return pad_size(sizeof(*e->notify));
	default:
		return 0;
	}
}

/* Its arguments are not copied; they are parsed here, and not changed any more. */
static int copy_call(struct batch *b, struct trace_event *to)
{
	struct call *call = copy_bytes(b, to->call, sizeof(*call));
	int err = args_parse(call->args) ?: args_parse(call->out);

	call->args = args_ref(call->args);
	call->out = args_ref(call->out);
	to->call = call;
	b->calls++;
	return err;
}

static void copy_post(struct batch *b, struct trace_event *to)
{
	struct post *post = copy_bytes(b, to->post, sizeof(*post));
	struct wr *wr = copy_bytes(b, post->wr, post->nwr * sizeof(*wr));

	for (uint32_t i = 0; i < post->nwr; i++)
		wr[i].sge = copy_bytes(b, wr[i].sge, wr[i].nsge * sizeof(*wr[i].sge));
	post->wr = wr;
	to->post = post;
}

static void copy_poll(struct batch *b, struct trace_event *to)
{
	struct poll *poll = copy_bytes(b, to->poll, sizeof(*poll));

	poll->wc = copy_bytes(b, poll->wc, poll->nwc * sizeof(*poll->wc));
	to->poll = poll;
}

static int add_event(struct batch *b, const struct trace_event *e)
{
	struct trace_event *to = &b->events[b->count++];

	*to = *e;
	switch (e->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return copy_call(b, to);
	case TRACE_POST:
		copy_post(b, to);
		break;
	case TRACE_POLL:
		copy_poll(b, to);
		break;
	case TRACE_NOTIFY:
		to->notify = copy_bytes(b, e->notify, sizeof(*e->notify));
		break;
	default: /* the trace's own */
		break;
	}
	return 0;
}

/*
 * Most batches have no calls, and are not looked at: their lines are in the cache of the other
 * thread, and reading them back took half as long as all the rest.
 */
static void clear_batch(struct batch *b)
{
	for (unsigned int i = 0; b->calls && i < b->count; i++) {
		const struct trace_event *e = &b->events[i];

		if (e->kind != TRACE_CALL && e->kind != TRACE_RETURN)
			continue;
		args_unref(e->call->args);
		args_unref(e->call->out);
	}
	b->count = 0;
	b->calls = 0;
	b->used = 0;
}

/* Make room in an empty batch. */
static int reserve_bytes(struct batch *b, size_t need)
{
	char *more;

	if (need <= b->size)
		return 0;
	more = realloc(b->bytes, need);
	if (!more)
		return log_err(-ENOMEM, "read an event of %zu bytes", need);
	b->bytes = more;
	b->size = need;
	return 0;
}

/* From *@e on, which has been read; *@e is then the first of the next batch. */
static int fill_batch(struct cursor *cursor, struct batch *b, const struct trace_event **e)
{
	int more = 1;

	do {
		size_t need = measure_event(*e);

		if (b->count == EVENTS || (b->count && b->used + need > b->size))
			break;
		more = reserve_bytes(b, need);
		if (more < 0)
			break;
		more = add_event(b, *e) ?: cursor_next(cursor, e);
	} while (more > 0);
	return more;
}

/* The semaphore orders it, too, but ThreadSanitizer does not know sem_clockwait(). */
static void give_batch(struct reader *reader)
{
	/* pairs with the load in wait_for_batch() */
	__atomic_store_n(&reader->some, true, __ATOMIC_RELEASE);
	sem_post(&reader->filled);
}

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	const struct trace_event *e;
	int more = cursor_next(reader->cursor, &e);

	for (unsigned int i = 0;; i = (i + 1) % reader->nbatches) {
		struct batch *b = &reader->batches[i];

		while (sem_wait(&b->emptied))
			;
		if (__atomic_load_n(&reader->stop, __ATOMIC_RELAXED))
			return NULL;
		clear_batch(b);
		if (more > 0)
			more = fill_batch(reader->cursor, b, &e);
		/* pairs with the subtractions in release_events(), by way of the semaphore */
		__atomic_store_n(&b->left, b->count + 1, __ATOMIC_RELEASE);
		b->last = more > 0 ? 1 : more;
		give_batch(reader);
		if (more <= 0)
			return NULL;
	}
}

static void tell_progress(const struct reader *reader, uint64_t events, int64_t time)
{
	if (reader->trace->tell)
		reader->trace->tell(events, time);
}

static void wait_for_batch(struct reader *reader)
{
	struct timespec until;

	do {
		tell_progress(reader, reader->events, reader->time);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
	} while (sem_clockwait(&reader->filled, CLOCK_MONOTONIC, &until));
	/* pairs with the store in give_batch() */
	(void)__atomic_load_n(&reader->some, __ATOMIC_ACQUIRE);
}

static void release_events(struct reader *reader, struct batch *b, unsigned int n)
{
	/* pairs with the store in read_all() */
	if (__atomic_sub_fetch(&b->left, n, __ATOMIC_ACQ_REL))
		return;
	__atomic_sub_fetch(&reader->held, 1, __ATOMIC_RELAXED);
	sem_post(&b->emptied);
}

bool reader_is_short(const struct reader *reader)
{
	return __atomic_load_n(&reader->held, __ATOMIC_RELAXED) > reader->nbatches / 2;
}

void reader_release(struct reader *reader, const struct trace_event *event)
{
	size_t at = (size_t)((const char *)event - (const char *)reader->batches);

	release_events(reader, &reader->batches[at / sizeof(struct batch)], 1);
}

static void leave_batch(struct reader *reader, struct batch *b)
{
	if (b->count)
		reader->time = b->events[b->count - 1].time;
	reader->events += b->count;
	release_events(reader, b, reader->kept ? 1 : b->count + 1);
	reader->batch = (reader->batch + 1) % reader->nbatches;
}

int reader_next(struct reader *reader, const struct trace_event **ret_event)
{
	struct batch *b = &reader->batches[reader->batch];

	if (reader->holding && reader->at < b->count) {
		const struct trace_event *event = &b->events[reader->at++];

		if (event->kind >= TRACE_FORK) /* all that a process has may come and go with it */
			tell_progress(reader, reader->events + reader->at, event->time);
		*ret_event = event;
		return 1;
	}
	if (reader->holding && b->last <= 0)
		return b->last;
	if (reader->holding)
		leave_batch(reader, b);
	wait_for_batch(reader);
	__atomic_add_fetch(&reader->held, 1, __ATOMIC_RELAXED);
	reader->holding = true;
	reader->at = 0;
	return reader_next(reader, ret_event);
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
	for (unsigned int i = 0; i < BATCHES_MAX; i++)
		sem_init(&reader->batches[i].emptied, 0, 1);
	err = cursor_open(trace, &apart, &reader->cursor);
	for (unsigned int i = 0; i < nbatches && !err; i++)
		err = reserve_bytes(&reader->batches[i], BYTES);
	if (!err) {
		err = -pthread_create(&reader->thread, NULL, read_all, reader);
		if (err)
			log_err(err, "start a thread that reads the trace");
	}
	reader->started = !err;
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
		__atomic_store_n(&reader->stop, true, __ATOMIC_RELAXED);
		for (unsigned int i = 0; i < BATCHES_MAX; i++)
			sem_post(&reader->batches[i].emptied);
		pthread_join(reader->thread, NULL);
	}
	cursor_close(reader->cursor);
	for (unsigned int i = 0; i < BATCHES_MAX; i++) {
		clear_batch(&reader->batches[i]);
		free(reader->batches[i].bytes);
		sem_destroy(&reader->batches[i].emptied);
	}
	sem_destroy(&reader->filled);
	free(reader);
}
