#pragma once
/*
 * One ring of events: one writer, one reader, in a file that both map.
 *
 * The writer is a thread of the traced program, the reader the collector in another process; either
 * process may end at any moment. ring.c describes the file.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/event.h"

enum {
	RING_POLLS = 64, /* maximum poll counters of a thread */
	RING_POLLS_GONE = 1,
	RING_PAGE = 4096,
	RING_BYTES = 4 << 20, /* default; a power of two, at least RING_MIN */
	RING_MIN = 256 << 10,
	RING_NARROW = 32 << 10, /* first area of ring_create_narrow() */
	/*
	 * number of areas from RING_NARROW to RING_MAX, each four times as large as the one before
	 */
	RING_TURNS = 8,
	RING_EVENT_MAX = 64 << 10, /* longest event, bytes */
	RING_LINE = 64,            /* a processor's cache line */
	RING_AHEAD = 1024,         /* bytes: distance of ring_fetch_ahead() */
	RING_MAX = 1 << 30,
};

/*
 * A counter of a thread's empty polls of one CQ; the collector reads it, too. @cq is 0 if the entry
 * was never used, RING_POLLS_GONE if the CQ was destroyed and the count was written (EVENT_COUNT).
 */
struct ring_polls {
	_Atomic uint64_t cq;
	_Atomic uint64_t empty;
};

struct ring_head {
	uint64_t magic;
	uint32_t version;
	uint32_t index; /* index of the ring in its session */
	uint32_t pid;
	uint32_t tid;   /* tid of the thread that created the ring */
	uint64_t bytes; /* bytes of the data, a power of two; in a narrow ring, of its last area */
	_Atomic uint64_t ticks; /* ticks when it was created; stored last when a ring is set up */
	char comm[16];          /* name of the thread @tid */
	uint32_t grows;         /* set by ring_create_growing() */
	_Atomic uint32_t owner; /* tid of the thread that uses the ring, or used it last */
	uint64_t image;         /* identifies the program's image, which exec replaces */
	/* the owner has ended, and another thread may take the ring (EVENT_THREAD) */
	_Atomic uint32_t idle;
	/* ticks when the owner ended and no other thread takes the ring; else 0 */
	_Atomic uint64_t closed;
	/* ticks when the owner ended, whether or not another thread takes the ring */
	_Atomic uint64_t ended;
	uint64_t narrow; /* bytes of the first area; equal to bytes: the only one */
	/* written by the thread */
	_Alignas(64) _Atomic uint64_t tail; /* bytes committed since the start */
	_Atomic uint64_t dropped;           /* number of events that did not fit */
	_Atomic uint64_t drop_first;        /* ticks of the first and the last of these events */
	_Atomic uint64_t drop_last;
	_Atomic uint64_t filtered;  /* number of verbs that a filter excluded */
	_Atomic uint64_t uncounted; /* number of empty polls of CQs that have no counter */
	_Atomic uint64_t tapped;    /* number of the last event that a tap has received */
	/*
	 * part of @dropped: events of signal handlers that interrupted the writing of another event
	 */
	_Atomic uint64_t in_handlers;
	/* positions, in bytes since the start, where the next areas begin */
	_Atomic uint64_t turns[RING_TURNS];
	_Atomic uint32_t turned; /* number of valid elements of turns[] */
	/* record --strict: the data verb that the thread is in */
	_Atomic uint32_t inside_verb;
	_Atomic uint64_t inside; /* the QP, CQ or SRQ of that verb; 0: none */
	/* written by the collector */
	_Alignas(64) _Atomic uint64_t head; /* bytes consumed since the start */
	_Alignas(64) struct ring_polls polls[RING_POLLS];
};

_Static_assert(sizeof(struct ring_head) <= RING_PAGE, "the head is one page");

/* Data that a reader has copied from a ring but not consumed yet. */
struct ring_copy {
	uint64_t from, to; /* positions, like ring.reserved */
	_Alignas(8) uint8_t bytes[RING_EVENT_MAX];
};

struct ring {
	struct ring_head *head;
	uint8_t *data; /* mapped twice in a row: an event never wraps */
	uint64_t mask;
	/* bytes of the largest area, which is the last one of a narrow ring */
	uint64_t most;
	uint64_t offset;        /* offset of the current area in the file */
	uint32_t area;          /* index of the current area */
	uint64_t charged;       /* writer: bytes charged to the budget of its process */
	bool withheld;          /* writer: a larger charge was refused */
	uint64_t reserved;      /* writer: next free byte; reader: next byte to read */
	uint64_t limit;         /* writer: up to this position no ring_has_room() is needed; */
				/* reader of a growing ring: end of the first piece mapped */
	uint64_t room;          /* reader: maximum of bytes that may be unread */
	uint32_t seq;           /* number of the last event */
	int fd;                 /* reader: the file, if it must map more later; else 0 */
	bool grows;             /* reader: created by ring_create_growing() */
	bool holds;             /* reader: areas are not freed, since they may be read again */
	uint32_t unsure;        /* reader: by how much seq may be too low, after unreadable bytes */
	uint64_t odd_tail;      /* reader: the last value of tail that was impossible; else 0 */
	struct ring_copy *copy; /* reader: NULL while the ring is empty */
};

/*
 * Create the file @path, which must not exist, with mode 0600 and @bytes of data, and map it.
 * Returns 0 or -errno with *@ring untouched.
 */
int ring_create(struct ring *ring, const char *path, uint64_t bytes, uint32_t index,
		uint64_t image);

/*
 * The same for file @name in directory @at (core/wire/dir.h), with a first area of RING_NARROW;
 * ring_widen() continues in a larger one, up to @bytes. The file has its full length, but not all
 * of its memory is allocated.
 */
int ring_create_narrow(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		       uint64_t image);

/* Bytes of the next area; 0: the current area is the last. */
static inline uint64_t ring_next_area_bytes(const struct ring *ring)
{
	const uint64_t bytes = ring->mask + 1;

	return bytes >= ring->most ? 0 : bytes * 4 < ring->most ? bytes * 4 : ring->most;
}

/*
 * Continue in the next area of the narrow ring, file @name in directory @at, which is opened only
 * before Linux 5.14. All events must be committed, and earlier events must not be accessed any
 * more. Returns 0, or -errno with the ring unchanged.
 */
int ring_widen(struct ring *ring, int at, const char *name);

/*
 * Bytes of memory that the writer's ring uses: its head, and the areas that the reader has not
 * left.
 */
uint64_t ring_footprint(const struct ring *ring);

/* Create a ring in private memory of this process (and its children); only a tap reads it. */
int ring_create_alone(struct ring *ring, uint64_t bytes, uint32_t index);

/*
 * Create a ring that is not read during the recording: instead of waiting for space, its writer
 * extends the file by @bytes. ring_has_room() returns false after every @bytes; call ring_grow()
 * then.
 */
int ring_create_growing(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
			uint64_t image);

/*
 * Extend the growing ring, file @name in directory @at, and continue in its new part; earlier data
 * must not be accessed any more. Returns 0, or -errno: the disk is full, or the file was removed.
 */
int ring_grow(struct ring *ring, int at, const char *name);

/* Must the growing ring move on before @held more bytes are committed? */
static inline bool ring_must_move(const struct ring *ring, uint64_t held)
{
	return ring->reserved + held >=
	       atomic_load_explicit(&ring->head->head, memory_order_relaxed) + ring->mask + 1;
}

/* The thread has ended: truncate a growing ring's file to the used part. */
void ring_trim(struct ring *ring, int at, const char *name);

/*
 * Map an existing file for reading. Its contents are checked, not trusted. Returns 0; -ENOENT;
 * -EPROTO if it is not, or not yet, a ring of this version; or another -errno.
 */
int ring_open(struct ring *ring, const char *path);

/*
 * The same for file @name in directory @at (core/wire/dir.h). -EACCES: it belongs to another user.
 */
int ring_open_at(struct ring *ring, int at, const char *name);

/*
 * The same for a ring whose writer is dead; reading does not change the file. Reading starts at the
 * first event if that still exists, else at the first unread one; ring.seq is the number of events
 * before it.
 */
int ring_open_leftover(struct ring *ring, const char *path);
int ring_open_leftover_at(struct ring *ring, int at, const char *name);

/* Unmap; accepts a zeroed ring. */
void ring_close(struct ring *ring);

/* The writer is finished: unmap all but the head, which stays mapped until ring_close(). */
void ring_close_data(struct ring *ring);

/* Has the reader read everything that was written? */
static inline bool ring_is_read(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head->head, memory_order_relaxed) >=
	       atomic_load_explicit(&ring->head->tail, memory_order_relaxed);
}

/*
 * Is there space for @bytes? Sets ring->limit, up to which a writer may write without asking again,
 * at most a quarter of the ring.
 */
static inline bool ring_has_room(struct ring *ring, size_t bytes)
{
	/* pairs with the store in ring_consume() */
	uint64_t end =
		atomic_load_explicit(&ring->head->head, memory_order_acquire) + ring->mask + 1;
	uint64_t soon = ring->reserved + bytes + (ring->mask + 1) / 4;

	ring->limit = soon < end ? soon : end;
	return ring->reserved + bytes <= end;
}

/* The address of the next event; ring_has_room() must have returned true. */
static inline void *ring_next(struct ring *ring)
{
	return ring->data + (ring->reserved & ring->mask);
}

/* Prefetch a line for writing. If no memory is mapped there, nothing happens. */
static inline void ring_fetch_line(const void *at)
{
#ifdef __x86_64__
	/*
	 * the compiler's builtin, without -mprfchw, prefetches for reading: the line would be
	 * fetched twice
	 */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
	__builtin_prefetch(at, 1);
#endif
}

/*
 * An event is about to be written at @at: prefetch the lines that are RING_AHEAD farther on. The
 * reader's cache has them; if its processor is far away, a line takes 300 ns to arrive, so 16 lines
 * are in flight. A longer event already uses the whole bandwidth between the two processors, so
 * prefetching more of its lines would not help.
 */
static inline void ring_fetch_ahead(const void *at)
{
	ring_fetch_line((const char *)at + RING_AHEAD);
	ring_fetch_line((const char *)at + RING_AHEAD + RING_LINE);
}

/*
 * Number an event. If a signal handler leaves the writer by longjmp(), ring_repair() finds the
 * number in the event even if ring->seq does not count it yet.
 */
static inline void ring_number(struct ring *ring, struct event_head *event, size_t words)
{
	event->words = (uint16_t)words;
	event->seq = ring->seq + 1;
	atomic_signal_fence(memory_order_seq_cst);
	ring->seq++;
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * A longjmp() has left the writer between any two instructions: publish all events that have their
 * number, and continue after them.
 */
void ring_repair(struct ring *ring);

/* The event at ring_next() is complete, @words long: number it and publish it. */
static inline void ring_commit(struct ring *ring, struct event_head *event, size_t words)
{
	ring_number(ring, event, words);
	ring->reserved += words * 8;
	/* pairs with the load in ring_peek() */
	atomic_store_explicit(&ring->head->tail, ring->reserved, memory_order_release);
}

/* Was the ring's file truncated, so that it reads as zeros? Then the reader frees no more space. */
static inline bool ring_is_truncated(const struct ring *ring)
{
	return !ring->head->bytes;
}

/* Count an event that could not be written. */
void ring_drop(struct ring *ring, uint64_t ticks);

/*
 * The next committed event, in private memory of the reader, which the writer cannot change.
 * Returns its length in bytes, 0 if there is none, -ENOMEM, or -EBADMSG if the ring is damaged (an
 * impossible length, type or number): ring_skip() continues after the damage. The event is valid
 * until the next ring_peek(), ring_skip() or ring_close().
 */
int ring_peek(struct ring *ring, const struct event_head **ret_event);

/*
 * After -EBADMSG: skip unreadable data, up to the next valid event or to the end of the written
 * data. Returns the number of skipped bytes, and in *@ret_events the number of skipped events,
 * computed from the events' numbers, at least one. Returns 0 if only the tail is invalid: all
 * events were read, and the writer's next commit may repair it. Or -ENOMEM.
 */
int64_t ring_skip(struct ring *ring, uint32_t *ret_events);

/* Copy the head, reading each word once, for a reader that trusts none of them. */
void ring_read_head(const struct ring *ring, struct ring_head *copy);

/* Is the ring's head invalid, since the file was truncated, or the program has overwritten it? */
bool ring_is_damaged(const struct ring *ring);

/* Skip the event of @bytes that ring_peek() returned. */
static inline void ring_step(struct ring *ring, size_t bytes)
{
	ring->reserved += bytes;
	ring->seq++;
}

/* Free the space of the skipped events before position @to for the writer. */
static inline void ring_consume_to(struct ring *ring, uint64_t to)
{
	/* pairs with the load in ring_has_room() */
	atomic_store_explicit(&ring->head->head, to, memory_order_release);
}

/* Free the space of all skipped events for the writer. */
static inline void ring_consume(struct ring *ring)
{
	ring_consume_to(ring, ring->reserved);
}
