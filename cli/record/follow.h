#pragma once
/*
 * Reading the trace while it is being written: one cursor behind the writer, in slices.
 *
 * The writer does not delete chunks that its reader has not read (writer_follow()), and waits for
 * one reader only: open one at a time. Called only by the writer's thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct writer;

/* All zero: closed. */
struct follow {
	struct writer *writer;
	struct trace *trace;
	struct cursor *cursor;
	bool more;            /* the cursor has more events */
	uint64_t extended_at; /* CLOCK_MONOTONIC */
	int64_t now;          /* time of the last event returned */
	int64_t to;           /* the cursor's limit */
};

/* From the first event that the trace has. 0 or -errno after log_err(). */
int follow_open(struct follow *follow, struct writer *writer);

/* The writer may delete chunks again. Accepts a closed @follow. */
void follow_close(struct follow *follow);

/* Continue with events up to @to; as cursor_extend(). */
int follow_extend(struct follow *follow, int64_t to);

/* 0 or -errno, which ends the slice. */
typedef int follow_visit(void *arg, const struct trace_event *event);

/*
 * Pass events to @visit, for a slice of time that began at @start (CLOCK_MONOTONIC), or until there
 * are no more. 1: there are more; 0 or -errno.
 */
int follow_for_slice(struct follow *follow, uint64_t start, follow_visit *visit, void *arg);
int follow_to_end(struct follow *follow, follow_visit *visit, void *arg);
