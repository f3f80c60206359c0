#pragma once
/*
 * One ring of events: one writer, one reader, in a file that both map.
 *
 * The writer is a thread of the traced program, the reader the collector in
 * another process; either may vanish at any moment. See ring.c for the file.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/event.h"

enum {
	RING_POLLS = 64,            /* poll counters of a thread */
	RING_POLLS_GONE = 1,
	RING_PAGE = 4096,
	RING_BYTES = 4 << 20,       /* default; a power of two, at least RING_MIN */
	RING_MIN = 256 << 10,
	RING_NARROW = 32 << 10,     /* what ring_create_narrow() begins with */
	RING_TURNS = 8,             /* from RING_NARROW to RING_MAX, times four each */
	RING_EVENT_MAX = 64 << 10,  /* longest event, bytes */
	RING_MAX = 1 << 30,
};

/*
 * How often a thread found one CQ empty; read by the collector, too. @cq is 0
 * where the place was never used, RING_POLLS_GONE where the CQ is destroyed
 * and its count was written (EVENT_COUNT).
 */
struct ring_polls {
	_Atomic uint64_t cq;
	_Atomic uint64_t empty;
};

struct ring_head {
	uint64_t magic;
	uint32_t version;
	uint32_t index;  /* of the ring in its session */
	uint32_t pid;
	uint32_t tid;    /* of the thread that made it */
	uint64_t bytes;  /* of the data, a power of two; of a narrow ring what it may have at most */
	_Atomic uint64_t ticks; /* when it was made; the last that is written at first */
	char comm[16];   /* that thread's name */
	uint32_t grows;  /* ring_create_growing() */
	_Atomic uint32_t owner;  /* tid of the thread that has the ring now, or had it last */
	uint64_t image;  /* of the program: a process has another one after exec */
	_Atomic uint32_t idle;   /* its owner has ended, another may take over (EVENT_THREAD) */
	_Atomic uint64_t closed; /* ticks when the thread ended and none takes over; else 0 */
	uint64_t narrow; /* bytes of the first area; equal to bytes: there is no other */
	/* written by the thread */
	_Alignas(64) _Atomic uint64_t tail; /* bytes committed since the start */
	_Atomic uint64_t dropped;           /* events that found no room */
	_Atomic uint64_t drop_first;        /* ticks */
	_Atomic uint64_t drop_last;
	_Atomic uint64_t filtered;          /* verbs that a filter left out */
	_Atomic uint64_t uncounted;         /* empty polls of more CQs than there are counters */
	_Atomic uint64_t tapped;            /* number of the last event that a tap has seen */
	_Atomic uint64_t in_handlers;       /* of the dropped: of a signal handler, amid another event */
	_Atomic uint64_t turns[RING_TURNS]; /* bytes since the start where the next area begins */
	_Atomic uint32_t turned;            /* so many of them are valid */
	/* written by the collector */
	_Alignas(64) _Atomic uint64_t head; /* bytes consumed */
	_Alignas(64) struct ring_polls polls[RING_POLLS];
};

_Static_assert(sizeof(struct ring_head) <= RING_PAGE, "the head is one page");

/* What a reader has copied out of a ring, and not stepped over yet. */
struct ring_copy {
	uint64_t from, to;   /* as ring.reserved */
	_Alignas(8) uint8_t bytes[RING_EVENT_MAX];
};

struct ring {
	struct ring_head *head;
	uint8_t *data;       /* mapped twice in a row: an event never wraps */
	uint64_t mask;
	uint64_t most;       /* bytes that an area may have: of a narrow ring's last */
	uint64_t offset;     /* of the area in the file */
	uint32_t area;       /* its number */
	uint64_t charged;    /* writer: bytes that its process has accounted for it, */
	bool withheld;       /* and would not give it more */
	uint64_t reserved;   /* writer: next free byte; reader: next byte to read */
	uint64_t limit;      /* writer: reserved may grow to here without ring_room();
			      * reader: what is mapped is asked for up to here */
	uint64_t room;       /* reader: bytes that may wait */
	uint32_t seq;        /* of the last event */
	int fd;              /* reader that cannot map more without it: its file; else 0 */
	bool grows;          /* reader: ring_create_growing() */
	uint32_t unsure;     /* reader: seq may be so many behind: what was there could not be read */
	uint64_t odd_tail;   /* reader: the last that cannot be; 0: it can */
	struct ring_copy *copy; /* reader: NULL while there is nothing to be read */
};

/*
 * Make the file @path (0600, must not exist) with @bytes of data and map it.
 * Returns 0 or -errno with *@ring untouched.
 */
int ring_create(struct ring *ring, const char *path, uint64_t bytes, uint32_t index,
		uint64_t image);

/* The same for file @name in directory @at (core/wire/dir.h). */
int ring_create_at(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		   uint64_t image);

/*
 * The same with a first area of RING_NARROW; ring_widen() goes on in a larger
 * one, up to @bytes. The file has its whole length, but no memory behind it.
 */
int ring_create_narrow(struct ring *ring, int at, const char *name, uint64_t bytes, uint32_t index,
		       uint64_t image);

/* Bytes of the next area; 0: it is as wide as it may be. */
static inline uint64_t ring_wider(const struct ring *ring)
{
	const uint64_t bytes = ring->mask + 1;

	return bytes >= ring->most ? 0 : bytes * 4 < ring->most ? bytes * 4 : ring->most;
}

/*
 * Go on in the next area of the narrow ring, file @name in directory @at (asked
 * for before Linux 5.14 only): what was written before may not be touched any
 * more, and all of it is committed. Returns 0 or -errno with the ring as it was.
 */
int ring_widen(struct ring *ring, int at, const char *name);

/* Bytes of memory that the writer's ring has: its head, and the areas that the reader has not left. */
uint64_t ring_footprint(const struct ring *ring);

/* The same in memory of this process (and its children) only; nobody reads it but a tap. */
int ring_create_alone(struct ring *ring, uint64_t bytes, uint32_t index);

/*
 * The same for a ring that nobody empties: where another's writer waits, this
 * one's file becomes longer, by @bytes. What ring_room() says comes to an end
 * every @bytes; then ring_grow() is to be called.
 */
int ring_create_growing(struct ring *ring, int at, const char *name, uint64_t bytes,
			uint32_t index, uint64_t image);

/*
 * Make the growing ring, file @name in directory @at, longer and go on in its new part; what was
 * written before may not be touched any more. Returns 0 or -errno: the disk
 * is full, or the file is gone.
 */
int ring_grow(struct ring *ring, int at, const char *name);

/* Is there no room behind the @held bytes that are written, but not committed, until then? */
static inline bool ring_must_move(const struct ring *ring, uint64_t held)
{
	return ring->reserved + held >=
	       atomic_load_explicit(&ring->head->head, memory_order_relaxed) + ring->mask + 1;
}

/* The thread has ended: give back what was not used of a growing ring's file. */
void ring_trim(struct ring *ring, int at, const char *name);

/*
 * Map an existing file for reading. What it says is checked, not trusted.
 * Returns 0; -ENOENT; -EPROTO if it is not (yet) a ring of this version.
 */
int ring_open(struct ring *ring, const char *path);

/* The same for file @name in directory @at (core/wire/dir.h). -EACCES: it is another user's. */
int ring_open_at(struct ring *ring, int at, const char *name);

/*
 * The same for what a dead writer has left: the file stays as it is, whatever
 * is read. It is read from its first event where that is still there, else
 * from the first that nobody has read; ring.seq says how many were before it.
 */
int ring_open_leftover(struct ring *ring, const char *path);
int ring_open_leftover_at(struct ring *ring, int at, const char *name);

/* Unmap; accepts one that was never made. */
void ring_close(struct ring *ring);

/* The writer has written its last: only the head stays mapped, until ring_close(). */
void ring_close_data(struct ring *ring);

/* Has the reader read all that was written? */
static inline bool ring_is_read(const struct ring *ring)
{
	return atomic_load_explicit(&ring->head->head, memory_order_relaxed) >=
	       atomic_load_explicit(&ring->head->tail, memory_order_relaxed);
}

/* Is there room for @bytes, as far as was seen by the last look? No: ring_room() looks. */
static inline bool ring_fits(const struct ring *ring, size_t bytes)
{
	return __builtin_expect(ring->reserved + bytes <= ring->limit, 1);
}

/* Is there room for @bytes? After a quarter of the ring it is time for another look. */
static inline bool ring_room(struct ring *ring, size_t bytes)
{
	/* pairs with the store in ring_consume() */
	uint64_t end = atomic_load_explicit(&ring->head->head, memory_order_acquire) +
		       ring->mask + 1;
	uint64_t soon = ring->reserved + bytes + (ring->mask + 1) / 4;

	ring->limit = soon < end ? soon : end;
	return ring->reserved + bytes <= end;
}

/* Where the next event goes; ring_room() has said yes. */
static inline void *ring_next(struct ring *ring)
{
	return ring->data + (ring->reserved & ring->mask);
}

/* The event at ring_next() is whole and @words long: number it and let the reader see it. */
static inline void ring_commit(struct ring *ring, struct event_head *event, size_t words)
{
	event->words = (uint16_t)words;
	event->seq = ++ring->seq;
	ring->reserved += words * 8;
	/* pairs with the load in ring_peek() */
	atomic_store_explicit(&ring->head->tail, ring->reserved, memory_order_release);
}

/* Has its file been cut, so that zeros are in its place? Nobody gives room back then. */
static inline bool ring_is_gone(const struct ring *ring)
{
	return !ring->head->bytes;
}

/* Count an event that could not be written. */
void ring_drop(struct ring *ring, uint64_t ticks);

/*
 * The next committed event, in memory of the reader's own: what the writer does
 * to the ring meanwhile changes nothing in it. Returns its length in bytes, 0 if
 * there is none, -ENOMEM, or -EBADMSG where the ring is damaged (length, type or
 * number impossible): ring_skip() goes on behind it. The event stays until the
 * next ring_peek(), ring_skip() or ring_close().
 */
int ring_peek(struct ring *ring, const struct event_head **ret_event);

/*
 * After -EBADMSG: step over what cannot be read, to the next event that is
 * sound, or to all that is there by now. Returns how many bytes that is, and
 * the events that were there, as the numbers tell, at least one. 0: the tail
 * is none that can be; what is there has been read, and the writer's next
 * event may mend it. -ENOMEM.
 */
int64_t ring_skip(struct ring *ring, uint32_t *ret_events);

/* The head as it is now, each of its words read once, for a reader that believes none of them. */
void ring_read_head(const struct ring *ring, struct ring_head *copy);

/* Step over the event that ring_peek() returned with this length. */
static inline void ring_step(struct ring *ring, size_t bytes)
{
	ring->reserved += bytes;
	ring->seq++;
}

/* Give the room of all that was stepped over back to the writer. */
static inline void ring_consume(struct ring *ring)
{
	/* pairs with the load in ring_room() */
	atomic_store_explicit(&ring->head->head, ring->reserved, memory_order_release);
}
