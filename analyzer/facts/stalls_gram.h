#pragma once
/*
 * Which queue pairs exchange datagrams.
 *
 * Not thread-safe.
 */
#include <stdint.h>

#include "core/store/read/trace.h"

struct model;
struct stalls_gram;

/* The partner of a UD queue pair. */
struct stall_gram {
	uint32_t process, qp; /* qp: object */
	uint64_t received;    /* datagrams that the partner has sent to it */
};

/* NULL: out of memory. */
struct stalls_gram *stalls_gram_new(void);

/* Accepts NULL. */
void stalls_gram_free(struct stalls_gram *grams);

/* The application has posted sends. */
void stalls_gram_post(struct stalls_gram *grams, struct model *model,
		      const struct trace_event *event);

/* Call @each for the partners of queue pair @qp (object), at most for the first 64. */
void stalls_gram_each(const struct stalls_gram *grams, uint32_t qp,
		      void (*each)(void *arg, const struct stall_gram *gram), void *arg);
