#pragma once
/*
 * A tap: a library in the program that gets the recorder's events
 *
 * libverbatim-lttng.so is a tap. It finds tap_set_fn and tap_end_fn by name in libverbatim.so, with
 * dlsym(): neither library is linked with the other.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/clock.h"
#include "core/wire/ring.h"

/*
 * Called by the thread that owns the ring, as soon as an event is published; a signal handler may
 * call it in between. No lock, no allocation.
 */
struct tap {
	uint64_t fingerprint; /* verbs_fingerprint */
	void (*begin)(const struct ring_head *head, const struct clock *clock);
	void (*event)(const struct ring_head *head, const struct clock *clock,
		      const struct event_head *event);
	/* the thread, or its process, ends; may be called by another thread */
	void (*end)(const struct ring_head *head, const struct clock *clock);
};

#define TAP_SET     "verbatim_tap_set"
#define TAP_END     "verbatim_tap_end"
#define TAP_LIBRARY "libverbatim-lttng.so"

/*
 * Set the tap, before the process's first verb. False: another version, or there is a tap already.
 */
typedef bool tap_set_fn(const struct tap *tap);

/* The process ends: end() for each of its rings. */
typedef void tap_end_fn(void);
