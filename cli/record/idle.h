#pragma once
/*
 * How long the recorder sleeps between two rounds of reading the rings.
 *
 * Not thread-safe; one struct idle.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/record/collector.h"

#define IDLE_FOREVER UINT64_MAX

struct idle {
	struct session *session;
	sigset_t signals;  /* signals that end a sleep, which consumes them */
	uint64_t pause;    /* ns */
	uint64_t heard_at; /* CLOCK_MONOTONIC: the last time a ring was not empty */
};

/* Blocks @signals, and sets handlers for them: call it after the program was started. */
void idle_start(struct idle *idle, struct session *session, const sigset_t *signals);

/*
 * Sleep, at most @most nanoseconds: shorter if the rings were fuller (@fullest, percent), longer if
 * nothing has come for a long time. A new ring, a ring that is a quarter full, or a signal
 * (@ret_signals) ends it early.
 */
void idle_wait(struct idle *idle, const struct collector *collector, int fullest, uint64_t most,
	       sigset_t *ret_signals);
