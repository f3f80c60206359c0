#pragma once
/*
 * What a process waits for, concluded from the facts. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct facts;

/* The most certain and specific first: the first reason is the conclusion. */
enum reason_kind {
	REASON_DEADLOCK,
	REASON_DESTROY,
	REASON_LIMIT,
	REASON_LOST_WAKEUP,
	REASON_PEER_ENDED,
	REASON_NOT_READY,
	REASON_QUEUE_FULL,
	REASON_NEAR_LIMIT,
	REASON_STATE,
	REASON_CM_EVENT,
	REASON_NOT_POLLED,
	REASON_MESSAGE,
	REASON_EVENT,
	REASON_VERB,
	REASON_SLEEPS,
	REASON_RUNS,
	REASON_NOTHING,
	REASON_KINDS,
};

enum { REASON_TEXT = 400, REASONS_MAX = 64 };

struct reason {
	enum reason_kind kind;
	pid_t tid; /* the thread that waits; 0: it is not a single thread */
	char text[REASON_TEXT];
};

struct reasons {
	size_t n; /* at least one */
	struct reason at[REASONS_MAX];
};

void reasons_find(const struct facts *facts, struct reasons *ret_reasons);

/* For programs: "lost_wakeup". */
const char *reason_name(enum reason_kind kind);
