#pragma once
/*
 * Descendants that still run after the program has ended: which of them the recording waits for.
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/record/collector.h"
#include "cli/record/guests.h"
#include "cli/record/progress.h"

struct descendants {
	const char *dir; /* the session's */
	const struct collector *collector;
	struct progress *progress;
	struct guests_moment since; /* of the program's begin */
	int64_t linger;             /* how long descendants without verbs are waited for, ns */
	uint64_t ended_at;          /* CLOCK_MONOTONIC: time of the program's end */
	bool asked;                 /* a signal has requested the end of the recording */
	bool late;  /* the request came after the program's end, and is not passed on */
	bool group; /* the process group got the signal, too */

	bool grow;           /* guests_grow_since() */
	uint64_t scanned_at; /* 0: look at once */
	uint64_t heard_at; /* when a descendant with verbs was last alive, or its end was noticed */
	bool reported;     /* it was reported that the recorder waits for descendants */
	unsigned int running;  /* by the last scan; */
	unsigned int recorded; /* running descendants that have called a verb */
	unsigned int awaited;  /* running descendants that the recording waits for */
	pid_t first;           /* pid of a running descendant, if possible of an awaited one */
};

/* How long the recorder may sleep until the next scan, in ns. */
uint64_t descendants_pause(const struct descendants *descendants);

/* Have all awaited descendants ended? Call it repeatedly once the program has ended. */
bool descendants_have_ended(struct descendants *descendants);

/* Report descendants that are left running; the recording is at its end. */
void descendants_report_left(struct descendants *descendants);
