/*
 * The collector: empties the rings of a session into a trace
 *
 * 	ring.0 --\
 * 	ring.1 ---> feeds, each in turn, a bounded share --> writer
 * 	ring.2 --/
 *
 * A feed ends when its ring is empty and its thread has closed it, or the thread or its process is
 * gone.
 *
 * Not here: finding rings (ring_search.c), reading one (feed.c), sampling threads (samples.c), when
 * to collect and when to end (recording.c), writing events (core/store).
 */
#include "cli/record/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/record/ring_search.h"
#include "cli/record/feed.h"
#include "cli/record/guests.h"
#include "cli/record/holding.h"
#include "cli/record/samples.h"
#include "cli/record/unrecorded.h"
#include "core/base/vec.h"
#include "core/wire/cut.h"
#include "core/wire/log.h"

enum {
	FLUSH_NS = 700000000, /* between commits */
	STEP_NS = 200000,     /* of the program's time: longest step when rings are read evenly */
	EVENT_NS = 100,       /* a thread does not make events faster for long */
	FAR_NS = 1000000000,  /* an event cannot be this much later than now */
	EVEN_NS = 20000000,   /* ns of our own time, filled with as many of these steps as fit */
	LAST_ROUNDS = 1000,   /* limit, while threads still write although the session is closed */
};

/* A process that has had a ring and has not ended. */
struct guest {
	pid_t pid;
	uint64_t start;
	bool foreign;        /* see struct feed */
	int watch;           /* guests_watch() */
	int reported_status; /* its status plus 1, if reported by its recorder; else 0 */
};

struct collector {
	struct session *session;
	int at; /* the session's directory */
	struct writer *writer;
	struct feed *feeds;
	unsigned int nfeeds;
	size_t feeds_size;
	struct holding holding;
	struct guest *guests;
	unsigned int nguests;
	size_t guests_size;
	unsigned int processes; /* guests so far */
	bool detached;          /* collector_detach() */
	struct ring_search search;
	struct samples samples;
	uint64_t flushed; /* CLOCK_MONOTONIC of the last commit */
	int64_t seen;     /* time of the trace: see collector_last_event() */
	/* approximate number of events between two calls of between() */
	uint64_t at_once;
	int (*between)(void *arg); /* NULL: rings are read one after the other */
	void *arg;
	uint64_t even; /* ticks: see collector_ordered_until() */
	pid_t child;   /* our own child, whose end waitpid() reports */
	bool child_ended;
	uint32_t unreadable; /* number of ring files that cannot be read */
	int child_status;
	int error;
};

/* The writer has failed: close the session, so that the program does not wait for us. */
static int fail_collecting(struct collector *c, int err)
{
	if (!c->error)
		c->error = err;
	atomic_store(&c->session->page->state, SESSION_CLOSED);
	return c->error;
}

static const struct guest *find_guest(const struct collector *c, pid_t pid)
{
	for (unsigned int i = 0; i < c->nguests; i++)
		if (c->guests[i].pid == pid)
			return &c->guests[i];
	return NULL;
}

/* The process with that pid, added if it is new; NULL if memory runs out. */
static const struct guest *get_guest(struct collector *c, pid_t pid)
{
	const struct guest *known = find_guest(c, pid);

	if (known)
		return known;
	if (vec_reserve(c->guests, c->guests_size, c->nguests + 1))
		return NULL;
	c->guests[c->nguests] = (struct guest){
		.pid = pid,
		.start = session_process_start(pid),
		.foreign = guests_is_foreign(pid, c->session),
		.watch = -1,
	};
	if (pid != c->child && !c->search.leftover && !c->guests[c->nguests].foreign)
		c->guests[c->nguests].watch = guests_watch(pid);
	c->processes++;
	return &c->guests[c->nguests++];
}

/* After exec() the threads of the old image have ended: end their rings. */
static void end_older_images(struct collector *c, pid_t pid, uint64_t image)
{
	for (unsigned int i = 0; i < c->nfeeds; i++)
		if (c->feeds[i].pid == pid && c->feeds[i].image != image)
			c->feeds[i].over = true;
}

/* Called by the search for rings: takes @ring, unless it fails. */
static int add_feed(void *arg, const struct ring *ring, uint32_t index)
{
	struct collector *c = arg;
	const struct guest *guest;
	struct ring_head head;
	struct feed feed;
	int err;

	feed_init(&feed, ring, index);
	feed_read_head(&feed, &head);
	guest = get_guest(c, feed.pid);
	if (!guest || vec_reserve(c->feeds, c->feeds_size, c->nfeeds + 1))
		return log_err(-ENOMEM, "start reading ring %u", index);
	feed.foreign = guest->foreign;
	feed.ring.holds = c->holding.on;
	end_older_images(c, feed.pid, feed.image);
	err = writer_begin_thread(c->writer, &head, &feed.thread);
	if (!err && ring->seq)
		err = writer_note_late_thread(c->writer, feed.thread, ring->seq);
	if (!err)
		c->feeds[c->nfeeds++] = feed;
	return err;
}

int collector_new(struct session *session, struct writer *writer, struct collector **ret_collector)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return log_err(-ENOMEM, "start the collector");
	c->at = session_open_dir(session);
	if (c->at < 0) {
		int err = log_err(c->at, "open the session %s", session->dir);

		free(c);
		return err;
	}
	cut_catch();
	ring_search_init(&c->search, session, c->at, add_feed, c);
	c->session = session;
	c->writer = writer;
	c->flushed = clock_monotonic();
	*ret_collector = c;
	return 0;
}

void collector_preserve_order(struct collector *c, uint64_t at_once, int (*between)(void *arg),
			      void *arg)
{
	c->at_once = at_once;
	c->between = between;
	c->arg = arg;
	c->even = clock_ticks(c->session->clock.kind);
}

uint64_t collector_ordered_until(const struct collector *c)
{
	return c->even;
}

/* Pass all events of the rings up to @ticks to the writer, and no later ones. */
static int drain_until(struct collector *c, uint64_t ticks)
{
	int err = 0;

	for (unsigned int i = 0; i < c->nfeeds && !err; i++) {
		bool empty = !feed_fill(&c->feeds[i]);

		while (!empty && !err)
			err = feed_drain(&c->feeds[i], c->writer, ticks, &empty);
	}
	return err;
}

int collector_drain_until(struct collector *c, uint64_t ticks)
{
	int err = c->error ?: ring_search_new_rings(&c->search);

	if (!err)
		err = drain_until(c, ticks);
	if (ticks > c->even)
		c->even = ticks;
	return err ? fail_collecting(c, err) : 0;
}

static uint64_t ticks_of(const struct clock *clock, uint64_t ns)
{
	return (ns << clock->shift) / clock->mult + 1;
}

static uint64_t next_ticks(struct collector *c)
{
	uint64_t first = UINT64_MAX;

	for (unsigned int i = 0; i < c->nfeeds; i++) {
		uint64_t ticks = feed_next(&c->feeds[i]);

		first = ticks < first ? ticks : first;
	}
	return first;
}

static int find_highest_fill(const struct collector *c)
{
	int fullest = 0;

	for (unsigned int i = 0; i < c->nfeeds; i++) {
		int percent = feed_fill(&c->feeds[i]);

		fullest = percent > fullest ? percent : fullest;
	}
	return fullest;
}

/*
 * The time, in ticks, in which the writing threads produce as many events as are read at once.
 */
static uint64_t choose_step(const struct collector *c)
{
	uint64_t threads = 0, step;

	for (unsigned int i = 0; i < c->nfeeds; i++)
		threads += feed_fill(&c->feeds[i]) > 0;
	step = c->at_once * EVENT_NS / (threads ? threads : 1);
	step = step < EVENT_NS ? EVENT_NS : step < STEP_NS ? step : STEP_NS;
	return ticks_of(&c->session->clock, step);
}

/*
 * Read all rings in the order of time. Events that cannot be read have impossible ticks, and are
 * read at once. @now is a time before the search for rings: a thread that created a ring later has
 * no older events.
 */
static int drain_evenly(struct collector *c, uint64_t now)
{
	const struct clock *clock = &c->session->clock;
	const uint64_t start = clock_monotonic();
	const uint64_t step = choose_step(c), far = ticks_of(clock, FAR_NS);
	int fullest = find_highest_fill(c), err = 0;

	while (!err && clock_monotonic() - start < EVEN_NS) {
		uint64_t first = next_ticks(c);
		uint64_t until = first < now - step ? first + step : now;

		/* a ring that was found late catches up at once */
		until = until > c->even ? until : c->even;
		/* an impossible time must not block its ring */
		err = drain_until(c, first != UINT64_MAX && first > now + far ? first : until);
		c->even = until;
		if (!err)
			err = c->between(c->arg);
		if (until >= now)
			break;
	}
	c->seen = clock_ns(clock, c->even);
	return err ? err : fullest;
}

int collector_drain(struct collector *c)
{
	const struct clock *clock = &c->session->clock;
	const uint64_t now = clock_ticks(clock->kind);
	int64_t seen = clock_ns(clock, now);
	int fullest = 0, err = c->error;

	if (!err)
		err = ring_search_new_rings(&c->search);
	if (!err && c->between) {
		fullest = drain_evenly(c, now);
		atomic_fetch_add_explicit(&c->session->page->rounds, 1, memory_order_relaxed);
		return fullest < 0 ? fail_collecting(c, fullest) : fullest;
	}
	for (unsigned int i = 0; i < c->nfeeds && !err; i++) {
		struct feed *feed = &c->feeds[i];
		int percent = feed_fill(feed);
		bool empty = true;

		if (!percent)
			continue;
		fullest = percent > fullest ? percent : fullest;
		err = feed_drain(feed, c->writer, UINT64_MAX, &empty);
		if (!empty && writer_last_stored(c->writer, feed->thread) < seen)
			seen = writer_last_stored(c->writer, feed->thread);
	}
	c->seen = seen;
	err = err ?: holding_commit(&c->holding, c->feeds, c->nfeeds, c->writer, c->at);
	atomic_fetch_add_explicit(&c->session->page->rounds, 1, memory_order_relaxed);
	return err ? fail_collecting(c, err) : fullest;
}

static int64_t now_of(const struct collector *c)
{
	const struct clock *clock = &c->session->clock;

	return clock_ns(clock, clock_ticks(clock->kind));
}

static int sample_threads(struct collector *c)
{
	return c->search.leftover
		       ? 0
		       : samples_sample_all(&c->samples, c->feeds, c->nfeeds, c->writer, now_of(c));
}

void collector_hold(struct collector *c)
{
	c->holding.on = true;
}

void collector_mark_positions(struct collector *c)
{
	holding_mark_positions(&c->holding, c->feeds, c->nfeeds);
}

static int end_feed(struct collector *c, struct feed *feed)
{
	struct ring_head head;
	int err = feed_report_stuck(feed, c->writer);

	feed_read_head(feed, &head);
	if (!err && !c->search.leftover)
		err = samples_end(&c->samples, feed, c->writer, now_of(c));
	if (!err)
		err = writer_end_thread(c->writer, feed->thread, &head);
	if (!c->search.leftover)
		holding_end_feed(&c->holding, feed, c->at);
	else
		ring_close(&feed->ring);
	return err;
}

static int end_feeds(struct collector *c)
{
	unsigned int left = 0;
	int err = 0;

	for (unsigned int i = 0; i < c->nfeeds; i++) {
		if (!err && feed_has_ended(&c->feeds[i]))
			err = end_feed(c, &c->feeds[i]);
		else
			c->feeds[left++] = c->feeds[i];
	}
	c->nfeeds = left;
	return err;
}

static bool has_feed(const struct collector *c, pid_t pid)
{
	for (unsigned int i = 0; i < c->nfeeds; i++)
		if (c->feeds[i].pid == pid)
			return true;
	return false;
}

/* Find threads that ended without closing their ring: killed, or ended by exec or _exit. */
static void find_gone_threads(struct collector *c)
{
	for (unsigned int i = 0; i < c->nfeeds; i++)
		if (feed_has_lost_thread(&c->feeds[i]))
			c->feeds[i].over = true;
}

static int end_guest(struct collector *c, const struct guest *guest)
{
	int status =
		guest->pid == c->child ? c->child_status : guests_status(guest->watch, guest->pid);
	int said = status == -1 && guest->reported_status ? guest->reported_status - 1 : status;
	const struct clock *clock = &c->session->clock;

	int64_t now = c->search.leftover ? 0 : clock_ns(clock, clock_ticks(clock->kind));

	return writer_end_process(c->writer, guest->pid, now, said);
}

static bool is_guest_alive(const struct collector *c, const struct guest *guest)
{
	if (c->search.leftover)
		return false;
	if (guest->foreign || c->detached)
		return true; /* as far as this process can see */
	if (guest->pid == c->child)
		return !c->child_ended;
	return session_process_alive(guest->pid, guest->start);
}

static void end_feeds_of(struct collector *c, pid_t pid)
{
	for (unsigned int i = 0; i < c->nfeeds; i++)
		if (c->feeds[i].pid == pid)
			c->feeds[i].over = true;
}

/* A process has ended when it is dead and its rings are read. */
static int end_guests(struct collector *c)
{
	unsigned int left = 0;
	int err = 0;

	for (unsigned int i = 0; i < c->nguests; i++) {
		struct guest guest = c->guests[i];
		bool lives = is_guest_alive(c, &guest);

		if (!lives)
			end_feeds_of(c, guest.pid);
		if (!lives && !has_feed(c, guest.pid) && !err)
			err = end_guest(c, &guest);
		else
			c->guests[left++] = guest;
	}
	c->nguests = left;
	return err;
}

/* Work that is not needed in each round. */
static int flush_writer(struct collector *c)
{
	uint64_t now = clock_monotonic();
	int err;

	if (now - c->flushed < FLUSH_NS)
		return 0;
	c->flushed = now;
	for (unsigned int i = 0; i < c->nfeeds; i++)
		feed_repair_head(&c->feeds[i]);
	find_gone_threads(c);
	err = ring_search_missing(&c->search);
	return err ? err : writer_flush(c->writer);
}

int collector_update(struct collector *c)
{
	int err = c->error;

	if (!err)
		err = ring_search_recent(&c->search);
	if (!err)
		err = end_feeds(c);
	if (!err)
		err = end_guests(c);
	if (!err)
		err = sample_threads(c);
	if (!err)
		err = flush_writer(c);
	holding_release(&c->holding, c->feeds, c->nfeeds, c->writer, c->at);
	return err ? fail_collecting(c, err) : 0;
}

int collector_write_losses(struct collector *c)
{
	int err = c->error;

	for (unsigned int i = 0; i < c->nfeeds && !err; i++)
		err = feed_report_lost(&c->feeds[i], c->writer);
	return err ? fail_collecting(c, err) : 0;
}

int collector_note_leftover(struct collector *c)
{
	return ring_search_leftover(&c->search);
}

void collector_detach(struct collector *c)
{
	c->detached = true;
}

void collector_note_child(struct collector *c, pid_t pid)
{
	c->child = pid;
}

void collector_note_ended(struct collector *c, int status)
{
	c->child_ended = true;
	c->child_status = status;
}

void collector_note_end(struct collector *c, pid_t pid, int status)
{
	for (unsigned int i = 0; i < c->nguests; i++)
		if (c->guests[i].pid == pid)
			c->guests[i].reported_status = status + 1;
}

int64_t collector_last_event(const struct collector *c)
{
	return c->seen;
}

bool collector_has_events(const struct collector *c)
{
	if (ring_search_waiting(&c->search))
		return !c->error;
	for (unsigned int i = 0; i < c->nfeeds && !c->error; i++)
		if (feed_fill(&c->feeds[i]))
			return true;
	return false;
}

bool collector_is_idle(const struct collector *c)
{
	return !c->nfeeds && !c->nguests && !c->search.nmissing;
}

int collector_note_session_gone(struct collector *c)
{
	const struct clock *clock = &c->session->clock;
	int err = c->error;

	if (!err)
		err = writer_note_session_gone(c->writer,
					       clock_ns(clock, clock_ticks(clock->kind)));
	return err ? fail_collecting(c, err) : 0;
}

bool collector_has_live_rings(const struct collector *c)
{
	for (unsigned int i = 0; i < c->nfeeds && !c->error; i++)
		if (!c->feeds[i].foreign)
			return true;
	return false;
}

static bool has_foreign_guest(const struct collector *c)
{
	for (unsigned int i = 0; i < c->nguests; i++)
		if (c->guests[i].foreign)
			return true;
	return false;
}

/*
 * Compares the process's pid in its own PID namespace, too, which must be read from a file.
 */
bool collector_has_guest(const struct collector *c, pid_t pid)
{
	const struct guest *guest = find_guest(c, pid);
	pid_t inner;

	if (guest && !guest->foreign)
		return true;
	if (!has_foreign_guest(c))
		return false;
	inner = guests_inner_pid(pid);
	guest = inner && inner != pid ? find_guest(c, inner) : NULL;
	return guest && guest->foreign;
}

bool collector_has_unreadable(const struct collector *c)
{
	return c->unreadable;
}

unsigned int collector_count_processes(const struct collector *c)
{
	return c->processes;
}

/* Threads that continue have stopped recording, or will at their next verb. */
static int end_all_feeds(struct collector *c)
{
	int err = 0;

	for (; c->nfeeds && !err; c->nfeeds--)
		err = end_feed(c, &c->feeds[c->nfeeds - 1]);
	return err;
}

bool collector_has_unrecordable(const struct collector *c)
{
	return atomic_load(&c->session->page->strangers) != 0;
}

int collector_finish(struct collector *c)
{
	int err;

	atomic_store(&c->session->page->state, SESSION_CLOSED);
	err = c->error ? 0 : ring_search_missing(&c->search);
	if (err)
		return fail_collecting(c, err);
	for (int round = 0; round < LAST_ROUNDS && (err = collector_drain(c)) > 0; round++)
		;
	if (!c->error)
		collector_update(c);
	err = c->error;
	if (!err && !c->search.leftover)
		err = writer_set_until(c->writer, now_of(c));
	if (!err)
		err = end_all_feeds(c);
	if (!err)
		err = end_guests(c);
	if (!err)
		err = unrecorded_report_threads(c->session, c->writer);
	if (!err)
		err = unrecorded_report_memory(c->session, c->writer);
	if (!err)
		err = unrecorded_report_rings(&c->search, c->writer, &c->unreadable);
	return err ? fail_collecting(c, err) : 0;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < c->nfeeds; i++)
		ring_close(&c->feeds[i].ring);
	for (unsigned int i = 0; i < c->nguests; i++)
		if (c->guests[i].watch >= 0)
			close(c->guests[i].watch);
	free(c->feeds);
	holding_fini(&c->holding);
	free(c->guests);
	samples_fini(&c->samples);
	ring_search_fini(&c->search);
	close(c->at);
	free(c);
}
