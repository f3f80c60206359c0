#pragma once
/*
 * A tap: a library in the program that gets the recorder's events
 *
 * libverbatim-lttng.so is a tap. It finds the functions tap_set_fn and tap_end_fn in libverbatim.so
 * by name with dlsym(): neither library is linked with the other.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/clock.h"
#include "core/wire/ring.h"

/*
 * The functions of a tap. The thread that owns the ring calls event() as soon as an event is
 * published; a signal handler may interrupt it and call it again. No lock, no allocation.
 */
struct tap {
	uint64_t fingerprint; /* verbs_fingerprint */
	void (*begin)(const struct ring_head *head, const struct clock *clock);
	void (*event)(const struct ring_head *head, const struct clock *clock,
		      const struct event_head *event);
	/* called when the thread or its process ends, possibly by another thread */
	void (*end)(const struct ring_head *head, const struct clock *clock);
};

#define TAP_SET     "verbatim_tap_set"
#define TAP_END     "verbatim_tap_end"
#define TAP_LIBRARY "libverbatim-lttng.so"

/*
 * Set the tap, before the process's first verb. False: the tap has another version, or there is a
 * tap already.
 */
typedef bool tap_set_fn(const struct tap *tap);

/* The process ends: call end() for each of its rings. */
typedef void tap_end_fn(void);
