#pragma once
/*
 * Which queue pairs exchange datagrams.
 *
 * Not thread-safe.
 */
#include <stdint.h>

#include "core/store/read/trace.h"

struct model;
struct stalls_datagram;

/* The partner of a UD queue pair. */
struct stall_datagram {
	uint32_t process, qp; /* qp: object */
	uint64_t received;    /* datagrams that the partner has sent to it */
};

/* NULL: out of memory. */
struct stalls_datagram *stalls_datagram_new(void);

/* Accepts NULL. */
void stalls_datagram_free(struct stalls_datagram *datagrams);

/* The application has posted sends. */
void stalls_datagram_note_post(struct stalls_datagram *datagrams, struct model *model,
			       const struct trace_event *event);

/* Call @each for the partners of queue pair @qp (object), at most for the first 64. */
void stalls_datagram_visit(const struct stalls_datagram *datagrams, uint32_t qp,
			   void (*each)(void *arg, const struct stall_datagram *datagram),
			   void *arg);
