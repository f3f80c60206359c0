#pragma once
/*
 * What the recorder could not observe: table `coverage`, which is complete when the recording has
 * ended.
 *
 * For one trace, not a joint one. Texts are borrowed until the callback returns. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;

/* Blind spots of one kind, summed up for each function. */
struct coverage_sum {
	const char *what;
	/* a provider's function that was called or imported directly; else NULL */
	const char *function;
	uint64_t times;
};

/* Call @each for each kind and function, in the order of names. 0 or -errno after log_err(). */
int coverage_visit_sums(struct trace *trace,
			void (*each)(void *arg, const struct coverage_sum *sum), void *arg);

/* A function of a provider that a process called directly. */
struct coverage_direct {
	uint32_t process;
	const char *function; /* NULL: the row is damaged */
	uint64_t times;
	struct event_id first; /* first call; 0:0: not known */
	int64_t time;          /* time of the first call, ns */
};

/*
 * Call @each for each process and function, in the order of the first calls. 0 or -errno after
 * log_err().
 */
int coverage_visit_direct_calls(struct trace *trace,
				void (*each)(void *arg, const struct coverage_direct *direct),
				void *arg);

/* May data verbs be missing because of blind spots, so that the trace lacks messages? */
bool coverage_hides_data(struct trace *trace);
