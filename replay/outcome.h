#pragma once
/*
 * What a replay did, where it differed, and what it left out.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

enum { OUTCOME_PRINTED = 20 }; /* divergences and reasons in the text; all are counted */

enum outcome_count {
	OUTCOME_CALLS,    /* control verbs done again */
	OUTCOME_POSTS,    /* calls of ibv_post_send() and the like */
	OUTCOME_REQUESTS, /* work requests in them */
	OUTCOME_POLLS,
	OUTCOME_COMPLETIONS, /* recorded ones that were compared with one here */
	OUTCOME_PAYLOADS,    /* received contents that were compared with recorded ones */
	OUTCOME_NOTIFIES,
	OUTCOME_EVENTS,   /* completion and asynchronous events */
	OUTCOME_UNPOLLED, /* completions here that the recorded program did not ask for */
	OUTCOME_COUNTS,
};

struct divergence {
	struct event_id event;
	enum verb verb;
	const char *field;    /* path: "ret", "wc[0].status", "attr.qp_state" */
	const char *recorded; /* as text */
	const char *replayed;
	struct event_id about;  /* the post of the request; 0:0 if that does not help */
	struct event_id sender; /* the post of what was received; 0:0 likewise */
};

struct outcome;

int outcome_new(struct outcome **ret_outcome);

/* Accepts NULL. */
void outcome_free(struct outcome *outcome);

/* What was replayed, and on what; copied. */
void outcome_trace(struct outcome *outcome, const char *path);
void outcome_device(struct outcome *outcome, const char *names);

/* The devices are not the recorded ones: their limits may differ. */
void outcome_other_device(struct outcome *outcome);
bool outcome_is_other_device(const struct outcome *outcome);

void outcome_count(struct outcome *outcome, enum outcome_count what, uint64_t n);
void outcome_called(struct outcome *outcome, enum verb verb);

/* Keeps a copy. */
void outcome_divergence(struct outcome *outcome, const struct divergence *divergence);

/* The event was left out; @why is a sentence without its end. Copied. */
void outcome_skipped(struct outcome *outcome, struct event_id event, enum verb verb,
		     const char *why);

/* A note for the reader, printed once. */
void outcome_note(struct outcome *outcome, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A tolerated difference; @reason must stay valid. */
void outcome_tolerated(struct outcome *outcome, const char *reason);

void outcome_time(struct outcome *outcome, double recorded, double replayed);

uint64_t outcome_divergences(const struct outcome *outcome);

void outcome_text(const struct outcome *outcome, FILE *to);
void outcome_json(const struct outcome *outcome, FILE *to);
