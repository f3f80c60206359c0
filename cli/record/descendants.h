#pragma once
/*
 * Descendants of the program that still run when it has ended itself: which of them the recording
 * waits for. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/record/collector.h"
#include "cli/record/progress.h"

struct descendants {
	const char *dir; /* the session's */
	const struct collector *collector;
	struct progress *progress;
	int64_t linger;    /* ns, for those that have called no verb */
	uint64_t ended_at; /* CLOCK_MONOTONIC: when the program had ended */
	bool asked;        /* a signal has asked the recording to end */
	bool late;         /* only after the program's end; then it is not passed on */
	bool group;        /* it reached our process group, too */

	uint64_t scanned_at;   /* 0: look at once */
	uint64_t heard_at;     /* when one was last alive that has called a verb */
	bool told;             /* that we wait */
	unsigned int running;  /* by the last look; */
	unsigned int recorded; /* of these, those that have called a verb, */
	unsigned int awaited;  /* and those that we wait for */
	pid_t first;           /* one of them; of the awaited if there are any */
};

/* How long the recorder may sleep until the next look, in ns. */
uint64_t descendants_pause(const struct descendants *descendants);

/* Is none left that is waited for? To be called again and again once the program has ended. */
bool descendants_over(struct descendants *descendants);

/* Say which are left running, if any; the recording is at its end. */
void descendants_tell_left(struct descendants *descendants);
