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
	uint32_t generation; /* generation of the process when the ring was created */
	uint32_t ringless;   /* generation in which no ring was available: it is not tried again */
	uint32_t depth;      /* number of verbs of this thread that have begun but not returned */
	const void *frame;   /* frame of the outermost of these verbs */
	uint32_t cm_depth;   /* number of calls of librdmacm that have begun but not returned */
	const void *cm_frame;
	/* the recorder is working, for example creating a ring: verbs are not recorded */
	bool busy;
	uint8_t ours; /* EVENT_OURS: the recorder itself calls verbs; else 0 */
	/* set from record_reserve() to record_commit(): a frame of the recorder */
	const void *writing;
	/* generation in which this thread created a child that shares its memory; else 0 */
	uint32_t vfork;
	uint32_t vfork_seq; /* number of the vfork() */
	pid_t vfork_child;  /* pid of the child whose verbs were reported */
	bool special;       /* there is a filter, or payload is captured */
	/* verbs that are not recorded; NULL: all are recorded */
	const struct session_filter *filter;
	uint32_t posts, polls; /* countdown to the next post and poll that --filter 1/N records */
	uint32_t chance;
	bool stuck;       /* the ring could not grow */
	uint64_t gave_up; /* 1 + the reader's position when a wait timed out; else 0 */
	uint64_t lap;     /* ring.reserved and ticks when the thread last began to fill the ring */
	uint64_t lap_ticks;
	const void *hold_frame; /* frame of the verb of the outermost held event */
	/* bytes after ring.reserved that are held until an outer event is published */
	uint64_t held;
	/* counts how often held events were published, so that their owner notices */
	uint32_t holds;
	const struct tap *tap; /* also gets this ring's events; or NULL */
	uint64_t tapped;       /* position, like ring.reserved, up to which the tap got events */
	struct ring ring;
	struct {
		uint64_t ticks; /* ticks of all waits of this thread */
		/* waits that no event has reported yet: */
		uint64_t begin, untold;
		uint32_t times, why;
	} waits;
};

extern __thread struct recorder recorder __attribute__((tls_model("initial-exec")));

/* Generations of a thread that no process has, not even one whose page was wiped to 0. */
#define RECORD_NO_RING (UINT32_MAX - 1)
#define RECORD_VFORKED (UINT32_MAX - 3) /* a child may run in its place (vfork.h) */

extern _Atomic uint32_t record_clock __attribute__((visibility("hidden"))); /* enum clock_kind */

/*
 * The process ends immediately: publish held events, and discard the event that was being written.
 */
void record_abandon(void);

/*
 * The slow path to a ring: join the session, create the ring. False: do not record. Defined in
 * start.c.
 */
CALLBACK(bool, record_start, (void));

/* Was the verb with frame @writer left by a jump? Defined in stack.c. */
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
 * Is there space for @bytes after the held events? If the session requires it, wait for space.
 * False: the event is dropped and counted. recorder.writing is set before the call, and after it if
 * it returns true; in between, signal handlers may write.
 */
bool record_make_room(size_t bytes);

/*
 * An event is already being written. False: this is a signal handler that has interrupted the
 * writing; its own event is dropped and counted. True: a longjmp() has left the writer, whose event
 * is discarded.
 */
bool record_take_over(void);

/*
 * A verb with @frame begins while an event is held: publish the held event if its verb is not
 * running any more.
 */
void record_end_hold(const void *frame);

/* Wake the collector, if it sleeps. */
void record_wake(void);

/*
 * Count an event that does not fit; record_drop_nested(): an event of a signal handler that
 * interrupted another event.
 */
void record_drop(void);
void record_drop_nested(void);

/*
 * Reserve space for an event of at most @bytes. NULL: the event is dropped and counted.
 * record_commit() or record_hold() must follow.
 */
static inline void *record_reserve(size_t bytes)
{
	uint64_t at;
	void *event;

	if (__builtin_expect(recorder.writing != NULL, 0) && !record_take_over())
		return NULL;
	/* from now on no signal handler uses the same space */
	recorder.writing = __builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	at = recorder.ring.reserved + recorder.held;
	if (__builtin_expect(at + bytes > recorder.ring.limit, 0)) {
		if (!record_make_room(bytes))
			return NULL;
		/* record_make_room() may have published held events */
		at = recorder.ring.reserved + recorder.held;
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
void record_pass_to_tap(void);

/* Commit an event after a held event: it is published with the held one, not before. */
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
		record_pass_to_tap();
}

/*
 * Publish all held events, finished or not. An event of a signal handler between the steps is
 * dropped and counted.
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
		record_pass_to_tap();
}

/* A held event: its verb is still running. */
struct held_event {
	uint32_t holds; /* value of recorder.holds when it was held */
	bool outer;     /* no other event was held before it */
};

/*
 * Give @event its position and number, but do not publish it yet: its verb is called after this,
 * and events of verbs that a signal handler calls meanwhile follow it. @frame is the frame of the
 * verb: if it does not exist any more, because of a longjmp() out of the verb, the event is not
 * held any more.
 */
static inline struct held_event record_hold(struct event_head *event, size_t bytes,
					    const void *frame)
{
	struct held_event hold;

	if (__builtin_expect(recorder.held != 0, 0))
		record_end_hold(frame);
	hold = (struct held_event){ recorder.holds, recorder.held == 0 };
	if (hold.outer)
		recorder.hold_frame = frame;
	record_commit_held(event, bytes);
	/* from here on, a signal handler of this thread writes after this event */
	atomic_signal_fence(memory_order_seq_cst);
	recorder.writing = NULL;
	return hold;
}

/*
 * May the event still be changed? Not if it was published because the ring was full, or if it
 * belongs to the parent.
 */
static inline bool record_held(struct held_event hold)
{
	return hold.holds == recorder.holds && recorder.generation == recording_generation();
}

/* The verb has returned: publish the event. It must not be accessed after that. */
static inline void record_release(struct held_event hold)
{
	if (hold.outer && record_held(hold))
		record_publish();
}

/*
 * The flags of an event that is written now. If the frame of the outer verb is below this one, a
 * jump has left that verb.
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

/* Report an operation that is not recorded. */
void record_report_blind(enum event_blind_what what, const void *object);

/* Write the result of fork @seq: the child @pid, or an error. */
void record_write_fork_result(uint32_t seq, pid_t pid, int error);

/*
 * With @unseen, requests may be posted or polled unseen: from now on, outstanding requests are not
 * known (payload.h).
 */
void record_set_unseen(bool unseen);
bool record_has_unseen(void);
