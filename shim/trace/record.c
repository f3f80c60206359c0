/*
 * A ring for each thread, made at its first verb
 *
 * Nothing happens before a program calls a verb. Then the process joins the
 * session of VERBATIM_DIR, and each thread that calls a verb makes a ring.
 *
 *	generation page:  N while recording; wiped to 0 in a forked child
 *	                  (MADV_WIPEONFORK); RECORD_OFF when recording has ended
 *	recorder:         this thread's ring, with the generation it was made in
 *
 * Equal numbers: record. Anything else: record_start() finds out why. So one
 * load tells a child from its parent, and "off" costs the same as "on".
 *
 * An event whose verb is still running is held: it has its place, and what a
 * signal handler records meanwhile is put behind it; all of it is published
 * when the verb has returned. Should the ring fill up first, what is there is
 * published as it is.
 *
 * Not here: what events hold (call.c, post.c, poll.c, process.c).
 */
#include "shim/trace/record.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/session.h"
#include "shim/trace/builder.h"
#include "shim/trace/process.h"
#include "shim/trace/rings.h"
#include "shim/trace/tap.h"

enum {
	NO_RING = UINT32_MAX - 1,  /* a thread's own: not even the 0 of a wiped page fits */
	UNKNOWN = UINT32_MAX - 2,  /* nobody has asked yet whether this process is recorded */
	VFORKED = UINT32_MAX - 3,  /* a thread's own: a child may be running in its place */
	WAIT_NS = 50 * 1000,
	WAITS_BETWEEN_LOOKS = 2000, /* about 100 ms: is the collector alive? */
};

/* else the pid of the process whose thread is joining: after a fork not the child's */
enum process_state { PROCESS_NEW, PROCESS_READY = -1, PROCESS_OFF = -2 };

__thread struct recorder recorder __attribute__((tls_model("initial-exec"))) = {
	.generation = NO_RING,
	.ringless = NO_RING,
};

static _Atomic uint32_t not_recording = UNKNOWN;
_Atomic(_Atomic uint32_t *) record_page = &not_recording;
_Atomic uint32_t record_clock;

static struct session session;
static _Atomic uint32_t *generation_page;
static uint32_t last_generation;
static pid_t recorded_pid;
static _Atomic pid_t state; /* enum process_state */
static pthread_key_t thread_key;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Recording has ended for this process; what runs in other threads notices. */
static void turn_off(void)
{
	atomic_store(&state, PROCESS_OFF);
	*(generation_page ? generation_page : &not_recording) = RECORD_OFF;
}

void record_lock(void)
{
	pthread_mutex_lock(&lock);
}

void record_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static bool set_writing(bool on)
{
	bool before = recorder.writing;

	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = on;
	atomic_signal_fence(memory_order_seq_cst);
	return before;
}

/*
 * Everything that is held becomes visible, finished or not. Between the steps
 * a signal handler's event would find no right place: it is dropped and counted.
 */
static void publish_held(void)
{
	struct ring *ring = &recorder.ring;
	bool before = set_writing(true);

	ring->reserved += recorder.held;
	recorder.held = 0;
	recorder.holds++;
	/* pairs with the load in ring_peek() */
	atomic_store_explicit(&ring->head->tail, ring->reserved, memory_order_release);
	set_writing(before);
	if (recorder.tap)
		record_tap();
}

void record_tap(void)
{
	struct ring *ring = &recorder.ring;
	int saved = errno;

	while (recorder.tapped != ring->reserved) {
		const struct event_head *event =
			(const void *)(ring->data + (recorder.tapped & ring->mask));

		/* first, so that a signal handler goes on behind it */
		recorder.tapped += event->words * 8u;
		atomic_store_explicit(&ring->head->tapped, event->seq, memory_order_relaxed);
		recorder.tap->event(ring->head, &session.page->clock, event);
	}
	if (session_is_alone(&session))
		ring_consume(ring);
	errno = saved;
}

static void tap_one_end(struct ring_head *head, void *unused)
{
	(void)unused;
	tap_get()->end(head, &session.page->clock);
}

/* exit() in a signal handler may have interrupted who holds the lock. */
void verbatim_tap_end(void)
{
	if (!generation_page || !*generation_page || pthread_mutex_trylock(&lock))
		return;
	rings_each_locked(tap_one_end, NULL);
	record_unlock();
}

static void thread_end(void *unused)
{
	struct ring *ring = &recorder.ring;

	(void)unused;
	if (recorder.vfork)
		record_start(); /* nobody is in our place any more */
	builder_thread_end();
	if (!ring->head || recorder.generation != record_generation())
		return;
	recorder.busy = true; /* a signal handler's verb gets no new ring meanwhile */
	if (recorder.held)
		publish_held();
	recorder.generation = NO_RING;
	recorder.depth = 0;
	recorder.cm_depth = 0;
	if (recorder.tap)
		recorder.tap->end(ring->head, &session.page->clock);
	recorder.tap = NULL;
	rings_give(&session, ring, record_ticks());
	recorder.busy = false;
}

/* pthread_mutex_t survives fork only if nobody held it. Runs before those of process.c. */
static void before_fork(void)
{
	record_lock();
}

static void after_fork_parent(void)
{
	record_unlock();
}

static void after_fork_child(void)
{
	record_unlock();
	if (generation_page && *generation_page != RECORD_OFF)
		*generation_page = 0; /* where the kernel did not */
}

static int make_generation_page(void)
{
	void *page = mmap(NULL, RING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return -errno;
	madvise(page, RING_PAGE, MADV_WIPEONFORK);
	generation_page = page;
	return 0;
}

/* That of VERBATIM_DIR; without one a tap has its own. */
static bool find_session(void)
{
	const char *dir = getenv(SESSION_ENV);

	if (!dir || !*dir) {
		if (tap_get())
			session_alone(&session);
		return tap_get();
	}
	if (session_join_or_make(&session, dir))
		return false;
	if (session.page->lttng)
		tap_load();
	return true;
}

/* Once an image: what stays over fork. A fork may have cut it short: each step is one of its own. */
static bool join(void)
{
	static bool joined, key_made, watching;

	if (!joined && !find_session())
		return false;
	joined = true;
	if (!session_running(&session) || (!key_made && pthread_key_create(&thread_key, thread_end)))
		return false;
	key_made = true;
	atomic_store_explicit(&record_clock, session.page->clock.kind, memory_order_relaxed);
	if (!watching) {
		watching = true;
		process_watch_forks();
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
		process_announce_forks();
	}
	return !make_generation_page();
}

/* A new process: the first, or a child that goes on with its parent's image. */
static bool process_start(void)
{
	if (!generation_page && !join())
		return false;
	rings_forget();
	process_begin(recorded_pid);
	recorded_pid = getpid();
	*generation_page = ++last_generation;
	/* pairs with the load in record_generation() */
	atomic_store_explicit(&record_page, generation_page, memory_order_release);
	return true;
}

/* One thread does it, the others wait; false: this process is not recorded. */
static bool process_ready(void)
{
	pid_t me = getpid(), found;
	bool ok;

	do {
		while ((found = atomic_load(&state)) == me)
			sched_yield();
		if (found == PROCESS_OFF)
			return false;
		if (found == PROCESS_READY && *generation_page)
			return true;
	} while (!atomic_compare_exchange_strong(&state, &found, me));
	/* another thread may have been through with it before we came to the exchange */
	ok = (found == PROCESS_READY && *generation_page) || process_start();
	if (ok)
		atomic_store(&state, PROCESS_READY);
	else
		turn_off();
	return ok;
}

/* How many empty polls the thread before has counted: what is not gone is copied. */
static uint32_t take_polls(struct ring_head *head, struct ring_polls *copy)
{
	uint32_t n = 0;

	for (unsigned int i = 0; i < RING_POLLS; i++) {
		if (head->polls[i].cq > RING_POLLS_GONE && head->polls[i].empty) {
			copy[n].cq = head->polls[i].cq;
			copy[n++].empty = head->polls[i].empty;
		}
		head->polls[i].cq = 0;
		head->polls[i].empty = 0;
	}
	return n;
}

static void write_thread(struct event_thread *event)
{
	struct ring_head *head = recorder.ring.head;

	record_head(&event->head, EVENT_THREAD, record_ticks());
	event->tid = (uint32_t)gettid();
	prctl(PR_GET_NAME, event->comm);
	event->dropped = atomic_exchange(&head->dropped, 0);
	event->drop_first = head->drop_first;
	event->drop_last = head->drop_last;
	event->uncounted = atomic_exchange(&head->uncounted, 0);
	event->filtered = atomic_exchange(&head->filtered, 0);
	event->npolls = take_polls(head, (struct ring_polls *)(event + 1));
	head->owner = event->tid;
	record_commit(&event->head, sizeof(*event) / 8 + event->npolls * 2u);
	/* pairs with the load in find_gone_threads(): by then the thread is this one */
	atomic_store_explicit(&head->idle, 0, memory_order_release);
}

/* A ring of a thread that has ended. False: there is none, or it is full and must not wait. */
static bool take_over(void)
{
	const size_t bytes = sizeof(struct event_thread) + RING_POLLS * sizeof(struct ring_polls);
	struct event_thread *event = NULL;

	if (!rings_take(&recorder.ring))
		return false;
	if (session.page->on_full != ON_FULL_DROP || ring_room(&recorder.ring, bytes))
		event = record_reserve(bytes);
	if (!event) {
		recorder.stuck = false;
		rings_give(&session, &recorder.ring, record_ticks());
		return false;
	}
	record_lock(); /* nobody looks at the counters meanwhile */
	write_thread(event);
	record_unlock();
	return true;
}

static bool new_ring(void)
{
	struct ring_head *head;

	if (rings_make(&session, &recorder.ring))
		return false;
	head = recorder.ring.head;
	prctl(PR_GET_NAME, head->comm);
	/* pairs with the load in try_ring() */
	atomic_store_explicit(&head->ticks, record_ticks(), memory_order_release);
	return true;
}

static void begin_tap(void)
{
	recorder.tapped = recorder.ring.reserved;
	recorder.tap = tap_get();
	if (recorder.tap)
		recorder.tap->begin(recorder.ring.head, &session.page->clock);
}

static bool make_ring(void)
{
	/* after fork it is the parent's: this process has no use for it */
	ring_close(&recorder.ring);
	recorder.held = 0;
	recorder.holds++;
	recorder.depth = 0;
	recorder.cm_depth = 0;
	recorder.writing = false;
	recorder.stuck = false;
	recorder.tap = NULL;
	recorder.sieve = session.page->filter.on ? &session.page->filter : NULL;
	if (!take_over() && !new_ring())
		return false;
	pthread_setspecific(thread_key, &recorder);
	recorder.generation = record_generation();
	begin_tap();
	return true;
}

/* A handler's verbs would go unrecorded, and a signal ends posix_fallocate(); faults stay. */
static void block_signals(sigset_t *ret_before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, ret_before);
}

/* The thread goes on unrecorded; trying at each verb would cost it dearly. */
static void give_up_ring(void)
{
	recorder.ringless = record_generation();
	if (session_running(&session))
		atomic_fetch_add(&session.page->ringless, 1);
	else
		turn_off();
}

bool record_on(void)
{
	uint32_t now = record_generation();

	return now && now != RECORD_OFF && now != UNKNOWN;
}

void record_vfork(uint32_t seq)
{
	/* inside a verb its end must still find the ring: a child there is not noticed */
	if (!record_on() || recorder.generation != record_generation() || recorder.depth ||
	    recorder.held)
		return;
	recorder.vfork = recorder.generation;
	recorder.vfork_seq = seq;
	recorder.generation = VFORKED;
}

bool record_in_vfork(void)
{
	return recorder.vfork && recorder.vfork == record_generation() &&
	       (pid_t)recorder.ring.head->pid != getpid();
}

/* The child's verbs are not recorded; that they were called is, in its parent's ring. */
static void report_vfork(void)
{
	pid_t me = getpid();

	if (recorder.vfork_child == me)
		return;
	recorder.vfork_child = me;
	recorder.generation = recorder.vfork;
	record_blind(BLIND_VFORK, (void *)(uintptr_t)me);
	recorder.generation = VFORKED;
}

void record_vforked(pid_t pid)
{
	recorder.generation = recorder.vfork;
	process_spawned(recorder.vfork_seq, pid, 0);
	recorder.generation = VFORKED;
}

void record_shared(pid_t child)
{
	if (!recorder.vfork)
		return;
	recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	process_spawned(recorder.vfork_seq, child, 0);
	record_blind(BLIND_VFORK, (void *)(uintptr_t)child);
	recorder.ringless = recorder.generation;
	thread_end(NULL);
}

/* Is the ring this thread's again? */
static bool after_vfork(void)
{
	if (record_in_vfork()) {
		report_vfork();
		return false;
	}
	if (recorder.vfork == record_generation())
		recorder.generation = recorder.vfork;
	recorder.vfork = 0;
	return recorder.generation == record_generation();
}

void record_abandon(void)
{
	if (!record_on() || recorder.generation != record_generation())
		return;
	recorder.writing = false;
	if (recorder.held)
		publish_held();
}

bool record_start(void)
{
	int saved = errno, cancel;
	bool ok = false;
	sigset_t mask;

	if (recorder.vfork) {
		ok = after_vfork();
		errno = saved;
		if (ok || recorder.vfork)
			return ok;
	}
	if (recorder.busy || atomic_load_explicit(&state, memory_order_relaxed) == PROCESS_OFF ||
	    recorder.ringless == record_generation())
		return false;
	block_signals(&mask);
	recorder.busy = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (process_ready()) {
		ok = make_ring();
		if (ok)
			process_write();
		else
			give_up_ring();
	}
	pthread_setcancelstate(cancel, &cancel);
	recorder.busy = false;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	errno = saved;
	return ok;
}

void record_drop(void)
{
	ring_drop(&recorder.ring, record_ticks());
}

/* Reads /proc with open() and read(), which are cancellation points; the verb that waits may be none. */
static bool collector_died(void)
{
	struct session_page *page = session.page;
	bool alive;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	alive = session_process_alive((pid_t)page->collector, page->collector_start);
	pthread_setcancelstate(cancel, &cancel);
	if (!alive)
		atomic_store(&page->state, SESSION_ORPHAN);
	return !alive;
}

static void doze(void)
{
	struct timespec pause = { .tv_nsec = WAIT_NS };

	syscall(SYS_nanosleep, &pause, NULL); /* nanosleep() would be a cancellation point */
}

/*
 * Nobody empties the ring: its file becomes longer, with all signals blocked,
 * since one would end posix_fallocate(). What could not be had once is not
 * asked for again: it would cost a system call an event.
 */
static bool grow(void)
{
	struct ring *ring = &recorder.ring;
	char path[SESSION_PATH + 16];
	sigset_t mask;
	int cancel;

	if (!ring_must_move(ring, recorder.held))
		return true;
	if (recorder.held)
		publish_held();
	if (recorder.stuck || !session_running(&session))
		return false;
	block_signals(&mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	session_ring_path(&session, ring->head->index, path);
	recorder.stuck = !session_take(&session, ring->mask + 1) || ring_grow(ring, path);
	pthread_setcancelstate(cancel, &cancel);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	return !recorder.stuck;
}

/* The collector empties the ring, in time. */
static bool wait_for_room(size_t bytes)
{
	struct ring *ring = &recorder.ring;
	bool room = false;

	if (recorder.held)
		publish_held();
	for (unsigned int i = 1; session.page->on_full == ON_FULL_WAIT; i++) {
		room = ring_room(ring, bytes);
		if (room || !session_running(&session))
			break;
		if (i % WAITS_BETWEEN_LOOKS == 0 && collector_died())
			break;
		set_writing(false);
		doze();
		set_writing(true);
	}
	return room;
}

bool record_wait(size_t bytes)
{
	int saved = errno;
	bool room = session.page->on_full == ON_FULL_GROW ? grow() : wait_for_room(bytes);

	if (!room && !session_running(&session))
		turn_off();
	if (!room) {
		record_drop();
		set_writing(false);
	}
	errno = saved;
	return room;
}

void record_commit_held(struct event_head *event, size_t words)
{
	event->words = (uint16_t)words;
	event->seq = ++recorder.ring.seq;
	recorder.held += words * 8;
}

struct hold record_hold(struct event_head *event, size_t words, const void *frame)
{
	struct hold hold;

	/* the stack grows down: an outer frame lies above this one */
	if (recorder.held && recorder.hold_frame <= frame)
		publish_held();
	hold = (struct hold){ recorder.holds, recorder.held == 0 };
	if (hold.outer)
		recorder.hold_frame = frame;
	record_commit_held(event, words);
	/* a signal handler of this thread finds the place taken */
	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = false;
	return hold;
}

void record_release(struct hold hold)
{
	if (hold.outer && record_held(hold))
		publish_held();
}

void record_blind(enum event_blind_what what, const void *object)
{
	struct event_blind *event;

	if (!record_ready())
		return;
	event = record_reserve(sizeof(*event));
	if (!event)
		return;
	record_head(&event->head, EVENT_BLIND, record_ticks());
	event->what = what;
	event->pad = 0;
	event->object = (uint64_t)(uintptr_t)object;
	record_commit(&event->head, sizeof(*event) / 8);
}
