#pragma once
/*
 * The recorder's state of a thread, and writing events into its ring.
 *
 * All functions are called by the thread itself, in the traced program: no lock, no allocation, no
 * system call once the thread has its ring. errno is preserved.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/clock.h"
#include "core/wire/ring.h"
#include "core/wire/tap.h"
#include "shim/trace/base/callback.h"
#include "shim/trace/ring/recording.h"

struct recorder {
	uint32_t generation; /* of the process when the ring was created */
	uint32_t ringless;   /* generation in which no ring was available: not tried again */
	uint32_t depth;      /* verbs of this thread that have begun and not returned */
	const void *frame;   /* of the outermost verb */
	uint32_t cm_depth;   /* the same for calls of librdmacm */
	const void *cm_frame;
	bool busy;    /* the ring is being created: verbs are not recorded meanwhile */
	uint8_t ours; /* EVENT_OURS: the recorder itself calls verbs; else 0 */
	/* between record_reserve() and record_commit(): a frame of the recorder */
	const void *writing;
	/* generation in which this thread created a child that shares its memory; or 0 */
	uint32_t vfork;
	uint32_t vfork_seq;                  /* the number of that fork */
	pid_t vfork_child;                   /* the child whose verbs were reported */
	bool special;                        /* there is a filter, or payload is captured */
	const struct session_filter *filter; /* verbs that are left out; NULL: none */
	uint32_t posts, polls;               /* countdown to the next one that 1/N records */
	uint32_t chance;
	bool stuck;       /* the ring could not grow */
	uint64_t gave_up; /* 1 + the reader's position when a wait timed out; or 0 */
	uint64_t lap;     /* ring.reserved and ticks when the thread last began to fill the ring */
	uint64_t lap_ticks;
	const void *hold_frame; /* of the outermost hold */
	uint64_t held;          /* bytes after ring.reserved that wait for an outer event */
	uint32_t holds;         /* counts published holds, so that their owner notices */
	const struct tap *tap;  /* gets this ring's events, too; or NULL */
	uint64_t tapped;        /* position up to which the tap got events, as ring.reserved */
	struct ring ring;
	struct {
		uint64_t ticks; /* of all waits of this thread */
		/* waits that no event has reported yet: */
		uint64_t begin, untold;
		uint32_t times, why;
	} waits;
};

extern __thread struct recorder recorder __attribute__((tls_model("initial-exec")));

/* Generations of a thread that differ from any process's, even from the 0 of a wiped page. */
#define RECORD_NO_RING (UINT32_MAX - 1)
#define RECORD_VFORKED (UINT32_MAX - 3) /* a child may be running in its place (vfork.h) */

extern _Atomic uint32_t record_clock __attribute__((visibility("hidden"))); /* enum clock_kind */

/*
 * The process ends immediately: publish held events, and forget the event that was being written.
 */
void record_abandon(void);

/* The slow path to a ring: join the session, create the ring. False: do not record. start.c. */
CALLBACK(bool, record_start, (void));

/* Was @writer, a frame of a verb of this thread, left by a jump? stack.c. */
CALLBACK(bool, record_is_left, (const void *writer));

static inline bool record_ready(void)
{
	uint32_t now = recording_generation();

	if (__builtin_expect(recorder.generation == now, 1))
		return true;
	return now != RECORDING_OFF && CALL_BACK(record_start)();
}

static inline uint64_t record_ticks(void)
{
	return clock_ticks(atomic_load_explicit(&record_clock, memory_order_relaxed));
}

/*
 * Is there space for @bytes after the held events? Waits for it, if the session says so; false: the
 * event is dropped and counted. recorder.writing is set before, and after it if true; signal
 * handlers may write meanwhile.
 */
bool record_room(size_t bytes);

/*
 * An event is being written. False: this is a signal handler that interrupted the writing, and its
 * event is dropped and counted. True: the writer was left by a longjmp(), and its event is
 * discarded.
 */
bool record_take_over(void);

/*
 * An event is held, and a verb with @frame begins: publish it if its own verb is not running any
 * more.
 */
void record_end_hold(const void *frame);

/* Wake the collector, if it sleeps. */
void record_wake(void);

/* Count an event that does not fit; or that of a signal handler that interrupted another event. */
void record_drop(void);
void record_drop_nested(void);

/*
 * Space for an event of at most @bytes; NULL: it is dropped, and counted. record_commit() or
 * record_hold() must follow.
 */
static inline void *record_reserve(size_t bytes)
{
	uint64_t at;
	void *event;

	if (__builtin_expect(recorder.writing != NULL, 0) && !record_take_over())
		return NULL;
	/* from now on no signal handler takes the same space */
	recorder.writing = __builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	at = recorder.ring.reserved + recorder.held;
	if (__builtin_expect(at + bytes > recorder.ring.limit, 0)) {
		if (!record_room(bytes))
			return NULL;
		at = recorder.ring.reserved + recorder.held; /* it may have been published */
	}
	event = recorder.ring.data + (at & recorder.ring.mask);
	ring_fetch_ahead(event);
	return event;
}

/*
 * Set recorder.writing to a frame of the caller, or NULL. While it is not NULL, events of signal
 * handlers are dropped and counted. Returns the previous value.
 */
static inline const void *record_set_writing(const void *frame)
{
	const void *before = recorder.writing;

	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = frame;
	atomic_signal_fence(memory_order_seq_cst);
	return before;
}

/* Pass newly published events to the tap. */
void record_tap(void);

/* An event inside a held one is published with it, not before. */
static inline void record_commit_held(struct event_head *event, size_t bytes)
{
	ring_number(&recorder.ring, event, bytes / 8);
	recorder.held += bytes;
}

static inline void record_commit(struct event_head *event, size_t words)
{
	if (__builtin_expect(recorder.held != 0, 0))
		record_commit_held(event, words * 8);
	else
		ring_commit(&recorder.ring, event, words);
	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = NULL;
	if (__builtin_expect(recorder.tap != NULL, 0))
		record_tap();
}

/*
 * Publish all held events, finished or not. An event of a signal handler between the steps would
 * have no place: it is dropped and counted.
 */
static inline void record_publish(void)
{
	const void *before = record_set_writing(__builtin_frame_address(0));

	recorder.ring.reserved += recorder.held;
	recorder.held = 0;
	recorder.holds++;
	/* pairs with the load in ring_peek() */
	atomic_store_explicit(&recorder.ring.head->tail, recorder.ring.reserved,
			      memory_order_release);
	record_set_writing(before);
	if (__builtin_expect(recorder.tap != NULL, 0))
		record_tap();
}

/* An event whose verb is still running. */
struct hold {
	uint32_t holds; /* recorder.holds at the time */
	bool outer;     /* nothing was held before it */
};

/*
 * Give @event its place and number, but do not publish it yet: the verb is still to be called, and
 * verbs called meanwhile (by a signal handler) come after it. @frame is the verb's: a hold whose
 * frame does not exist any more, as after a longjmp out of the verb, is over.
 */
static inline struct hold record_hold(struct event_head *event, size_t bytes, const void *frame)
{
	struct hold hold;

	if (__builtin_expect(recorder.held != 0, 0))
		record_end_hold(frame);
	hold = (struct hold){ recorder.holds, recorder.held == 0 };
	if (hold.outer)
		recorder.hold_frame = frame;
	record_commit_held(event, bytes);
	/* a signal handler of this thread finds the place taken */
	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = NULL;
	return hold;
}

/*
 * May the event still be written to? Not if the ring was full meanwhile, or now belongs to the
 * parent.
 */
static inline bool record_held(struct hold hold)
{
	return hold.holds == recorder.holds && recorder.generation == recording_generation();
}

/* The verb has returned: publish the event. It must not be accessed after that. */
static inline void record_release(struct hold hold)
{
	if (hold.outer && record_held(hold))
		record_publish();
}

/*
 * The flags of an event at this moment. If the frame of the outer verb is below, that verb was left
 * by a jump.
 */
static inline uint8_t record_flags(void)
{
	bool inner = recorder.depth && recorder.frame > __builtin_frame_address(0);

	return (uint8_t)((inner ? EVENT_INNER : 0) | recorder.ours);
}

static inline void record_head(struct event_head *head, enum event_type type, uint64_t ticks)
{
	head->type = (uint8_t)type;
	head->flags = record_flags();
	head->ticks = ticks;
}

/* Report something that is done but not recorded. */
void record_blind(enum event_blind_what what, const void *object);

/* Write the result of fork @seq: the child @pid, or an error. */
void record_spawned(uint32_t seq, pid_t pid, int error);

/*
 * Requests may be posted or polled without being seen: the outstanding ones are not known from now
 * on (payload.h).
 */
void record_set_unseen(bool unseen);
bool record_has_unseen(void);
